r"""MLPT′ with three levels: its mean, exactly.

A job that ends its first piece goes on without cost if levels 1 and 2 hold no other job, and one that ends its second
piece if no other job is in the system.  Let e_1 and e_2 be the probabilities of that; neither depends on the pieces to
come.

How often costs are waived
    The first costs are counted in busy periods of levels 1 and 2 (`mlptsym.symbolic.mean.lazy_counts`), which begin
    with an arrival to an idle server or with the arrivals during a third piece; the second costs in busy cycles.  The
    rate of cycles depends linearly on both.
Means
    The waits in levels 1 and 2 are those of MLPT, with the waived costs in the drift of W², as for two levels.  While a
    job waits in level 3, first costs of others are waived nevertheless, because they look at levels 1 and 2 only.  It
    waits for the jobs that it found and that reach level 3, by Little's law in proportion to its own time; each begins
    one more busy period of levels 1 and 2 with its third piece.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, restore_cost
from mlptsym.symbolic.mean.lazy_counts import (
    ARRIVALS,
    THIRD,
    Count,
    Counts,
    Ends,
    counts,
    solved,
    symbols_after,
    with_and_without,
)
from mlptsym.symbolic.mean.waiting import delay_with_new_arrivals, linear_root, work_balance
from mlptsym.symbolic.model.moments import UpperMoment, expectation, mean, tail
from mlptsym.symbolic.policies.algorithm import (
    boundaries,
    completion_probability,
    effective_load,
    effective_size,
    piece,
    service_before,
    work_through,
)

_POINTS = boundaries(1, 2)
_FIRST_TWO = work_through(2, 3)  # X_2

ALONE = sp.symbols("e_1 e_2", nonnegative=True)
"""Probabilities that the cost after the first and after the second piece is waived."""


# the probabilities e_1 and e_2


WAIVED = sp.symbols("eta_1 eta_2", nonnegative=True)
"""e_r P(S > t_r), the mean number of waived costs for each arrival."""
IDLE = sp.Symbol("pi_0", nonnegative=True)
"""1 − ρ′, the probability that the server is idle."""


@dataclass(frozen=True)
class Begun:
    """A count from each beginning of a busy period of levels 1 and 2."""

    one: sp.Expr  # the arrival to an idle server
    free: sp.Expr  # the arrivals during a third piece without its cost
    charged: sp.Expr  # and with it

    @classmethod
    def of(cls, count: Count) -> Begun:
        """From the means over the arrivals."""
        return cls(count.of_one, *(count.over(ends) for ends in with_and_without(THIRD, 2)))

    @classmethod
    def named(cls, letter: str) -> Begun:
        """Symbols for them."""
        return cls(*sp.symbols([f"{letter}_{begin}" for begin in ("1", "f", "c")], nonnegative=True))

    def for_each_arrival(self) -> sp.Expr:
        """Of all beginnings, for each arrival to the system."""
        return self.one * IDLE + self.charged * (tail(attained(2)) - WAIVED[1]) + self.free * WAIVED[1]


BEGUN = {"waived": Begun.named("g"), "emptied": Begun.named("h"), "cycle": Begun.named("m")}
"""Symbols for what is counted of `Counts`."""


def load_paid() -> sp.Expr:
    """ρ′ = λ(E[S^eff] − Σ_r c_r e_r P(S > t_r))."""
    paid = expectation(effective_size(3), _POINTS) - sp.Add(*(restore_cost(r + 1) * WAIVED[r] for r in (0, 1)))
    return arrival_rate * paid


def waived_balances() -> tuple[sp.Expr, ...]:
    """Waived costs by level, and the idle time: each expression is zero, and linear in all three.

    Costs of level 3 are waived in busy cycles, which an arrival to an idle server begins.
    """
    first, second = BEGUN["waived"].for_each_arrival(), BEGUN["cycle"].one * IDLE
    return WAIVED[0] - first, WAIVED[1] - second, 1 - load_paid() - IDLE


# means, given how often costs are waived


LAST = sp.Symbol("last", nonnegative=True)
"""The probability that a job demoted from level 1 pays and is the last of level 2 when its second piece begins."""
AFTER = sp.symbols("after_free after_last after_others", nonnegative=True)
"""Mean numbers of costs waived until levels 1 and 2 are empty, after the demotion of a job from level 2: its second
piece was free, or it was the last of level 2, or others were in level 2."""
IN_THIRD = sp.Symbol("in_third", nonnegative=True)
"""The mean number of costs waived until levels 1 and 2 are empty, from the beginning of a third piece with its cost."""


@dataclass(frozen=True)
class Waits:
    """Mean times in the symbols for how often costs are waived."""

    first: sp.Expr  # d_1
    second: sp.Expr  # d_2
    third: sp.Expr  # d_3


def paid_square(level: int) -> sp.Expr:
    """E[Y_r²] of level r = ``level`` ≥ 2, whose cost is waived with probability e_{r−1} whatever the piece."""
    charged = piece(level, last=level == 3)
    free = charged.subs(restore_cost(level - 1), 0)
    alone = ALONE[level - 2]
    return (1 - alone) * expectation(charged**2, _POINTS) + alone * expectation(free**2, _POINTS)


def work_found() -> sp.Expr:
    """E[W], the work of levels 1 and 2 that a job finds if every later demotion is charged: the drift of W² is zero.

    W falls from Y_2 to Y_2 − c_1 where the first cost is waived, and jumps from 0 by a third piece.
    """
    found = sp.Dummy("W", positive=True)
    size, second = _FIRST_TWO, piece(2)
    waived = ALONE[0] * expectation(second**2 - second.subs(restore_cost(1), 0) ** 2, _POINTS)
    balance = work_balance(found, expectation(size, _POINTS), expectation(size**2, _POINTS), paid_square(3) - waived)
    return linear_root(balance, found)


def emptying_time(work: sp.Expr, waived: sp.Expr) -> sp.Expr:
    """Mean time until levels 1 and 2 are empty: their work, but for waived costs, falls at rate 1 − λE[X_2]."""
    return (work - restore_cost(1) * waived) / (1 - arrival_rate * expectation(_FIRST_TWO, _POINTS))


def after_demotion() -> sp.Expr:
    """The mean number of costs waived until levels 1 and 2 are empty, after the demotion of a job from level 2."""
    free, last, others = AFTER
    return ALONE[0] * free + LAST * last + (1 - ALONE[0] - LAST) * others


def time_to_third(second_wait: sp.Expr) -> sp.Expr:
    """Mean time from the arrival of a job that reaches level 3 to its third piece.

    At its demotion levels 1 and 2 hold the later arrivals, of which those before its second piece have had their first.
    Once they are empty, the jobs found that reach level 3 begin a third piece each, with its cost; of the arrivals in
    the time that is asked for, that is the share P(S > t_2) (Little's law).
    """
    began = attained(1) + second_wait
    own = attained(2) - attained(1) + (1 - ALONE[0]) * restore_cost(1)
    work, of_first = (expectation(size, _POINTS) for size in (_FIRST_TWO, piece(1)))
    left = arrival_rate * (began * (work - of_first) + own * work)
    third, waived = expectation(piece(3, last=True), _POINTS), tail(attained(2)) * IN_THIRD  # for each arrival
    until = sp.Dummy("until", positive=True)
    of_found = arrival_rate * until * (third + emptying_time(arrival_rate * third * work, waived))
    return linear_root(began + own + emptying_time(left, after_demotion()) + of_found - until, until)


@cached
def three_level_waits() -> Waits:
    """d_1 from the balance of work, d_2 from that of levels 1 and 2 and new arrivals, d_3 from Little's law."""
    wait = sp.Dummy("d", positive=True)
    first_mean, first_square = (expectation(piece(1) ** power, _POINTS) for power in (1, 2))
    first = linear_root(work_balance(wait, first_mean, first_square, paid_square(2) + paid_square(3)), wait)
    second = delay_with_new_arrivals(work_found(), service_before(2), first_mean)
    own = attained(2) + (1 - ALONE[0]) * restore_cost(1)
    return Waits(first, second, time_to_third(second) - own)


@cached
def three_level_response_time() -> sp.Expr:
    """E[T] of MLPT′ with three levels, in the symbols for how often costs are waived."""
    waits = three_level_waits()
    own = expectation(effective_size(3), _POINTS)
    own -= sp.Add(*(ALONE[r] * restore_cost(r + 1) * tail(attained(r + 1)) for r in (0, 1)))
    by_level = zip((1, 2, 3), (waits.first, waits.second, waits.third), strict=True)
    return own + sp.Add(*(completion_probability(level, last=level == 3) * wait for level, wait in by_level))


# for the numeric code


TIMES = {name: ARRIVALS[name] for name in ("arrival_rate", "first_end", "second_end", "first_cost", "second_cost")}
_MOMENTS = {
    "mean": mean(),
    "first_tail": tail(attained(1)),
    "second_tail": tail(attained(2)),
    "first_moment": UpperMoment(1, attained(1)),
    "second_moment": UpperMoment(1, attained(2)),
}


def loads_formula() -> Formula:
    """λE[X_2] of levels 1 and 2 alone, and ρ_3^eff, both with no cost waived."""
    outputs = {"of_two": arrival_rate * expectation(_FIRST_TWO, _POINTS), "of_three": effective_load(3)}
    return Formula(TIMES | _MOMENTS, outputs)


def waived_formula() -> Formula:
    """How often costs are waived and the last job of level 2 enters service, for each arrival; and counts for level 3.

    ``load`` is ρ′ where the server is never idle: the queue is stable exactly if it is below one.
    """
    each = counts()
    begun = {name: Begun.of(getattr(each, name).count) for name in BEGUN}
    values = {
        getattr(BEGUN[name], kind.name): getattr(begun[name], kind.name) for name in BEGUN for kind in fields(Begun)
    }
    solution = solved(waived_balances(), (*WAIVED, IDLE))
    never_idle = {IDLE: 0, WAIVED[1]: 0}
    outputs = {
        "waived_first": WAIVED[0],
        "waived_second": WAIVED[1],
        "emptied": BEGUN["emptied"].for_each_arrival(),
        "load": load_paid().subs(WAIVED[0], BEGUN["waived"].for_each_arrival()).subs(never_idle),
        "in_third": BEGUN["waived"].charged,
        "after_others": each.waived.after[1],
    }
    found = {name: form.subs(solution).xreplace(values) for name, form in outputs.items()}
    free, charged = with_and_without(Ends.during(attained(2) - attained(1)), 1)
    found |= {"after_free": each.waived.count.over(free), "after_last": each.waived.count.over(charged)}
    inputs = ARRIVALS | {"second_tail": tail(attained(2)), "mean": mean()}
    return Formula(inputs | symbols_after(*(getattr(each, field.name) for field in fields(Counts))), found)


def three_level_formula() -> Formula:
    """E[T] and the waits by level from how often costs are waived."""
    waits = three_level_waits()
    inputs = (
        TIMES
        | _MOMENTS
        | {
            "second": mean(order=2),
            "first_square": UpperMoment(2, attained(1)),
            "second_square": UpperMoment(2, attained(2)),
            "first_alone": ALONE[0],
            "second_alone": ALONE[1],
            "in_third": IN_THIRD,
            "last": LAST,
        }
    )
    inputs |= {str(symbol): symbol for symbol in AFTER}
    outputs = {
        "first_wait": waits.first,
        "second_wait": waits.second,
        "third_wait": waits.third,
        "response_time": three_level_response_time(),
    }
    return Formula(inputs, outputs, frozenset({"arrival_rate", "mean", "second"}))
