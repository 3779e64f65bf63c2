r"""MLPT′ with three levels: what is counted until levels 1 and 2 are empty.

A job that ends its first piece goes on without cost if levels 1 and 2 hold no other job.  Between the moments when
level 2 becomes empty the number n of jobs in level 1 is a random walk, and whatever is counted until both levels are
empty is a combination of three functions of n: 1 − α^n, (α^n − 0^n)/α and (φ^n − α^n)/(φ − α).  Here α is the
probability that a busy period of level 1 that one job begins has no demotion, and φ that none of the jobs that it
demotes, each served with its cost, is demoted once more.

The first demotion leaves nobody, and the second piece is free; or somebody, and then level 2 becomes empty when the
last of its jobs enters service, with its cost.  (Their pieces are alike, so that it does not matter which is the last.)
So each count solves two linear equations, for its means over the arrivals during a piece without and with its cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import sympy as sp

from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.special import RelativeExponential
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, restore_cost
from mlptsym.symbolic.mean.lazy import CYCLE
from mlptsym.symbolic.mean.waiting import linear_root
from mlptsym.symbolic.model.moments import tail

PASSING = sp.Symbol("psi", nonnegative=True)
"""1 − φ, the probability that a busy period of level 1 leads to a demotion from level 2, if all costs are paid."""

_DEMOTING = CYCLE.demoting  # 1 − α


@dataclass(frozen=True)
class Ends:
    """Means over the number A of arrivals during a piece of service, on an event."""

    busy: sp.Expr  # E[1 − α^A]
    single: sp.Expr  # E[(α^A − 0^A)/α]
    between: sp.Expr  # E[(φ^A − α^A)/(φ − α)]
    none: sp.Expr  # P(A = 0)
    total: sp.Expr = sp.S.One  # the probability of the event

    @property
    def quiet(self) -> sp.Expr:
        """E[α^A]."""
        return self.total - self.busy

    @classmethod
    def named(cls, name: str, total: sp.Expr = sp.S.One) -> Ends:
        """Symbols that stand for the means."""
        busy, single, between, none = sp.symbols(
            [f"{name}_{field.name}" for field in fields(cls)[:-1]], nonnegative=True
        )
        return cls(busy, single, between, none, total)

    @classmethod
    def during(cls, time: sp.Expr) -> Ends:
        """In a time of constant length."""
        return cls(
            arrival_rate * _DEMOTING * time * RelativeExponential(-arrival_rate * _DEMOTING * time),
            _difference(_DEMOTING, sp.S.One, time),
            _difference(PASSING, _DEMOTING, time),
            quiet_time(sp.S.One, time),
        )

    def __add__(self, other: Ends) -> Ends:
        """On either of two events that exclude each other."""
        return Ends(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def __mul__(self, chance: sp.Expr) -> Ends:
        """On an event that has this probability and is independent."""
        return Ends(*(getattr(self, field.name) * chance for field in fields(self)))

    def after(self, cost: sp.Expr) -> Ends:
        """With a cost before the piece, in which others arrive."""
        paid = Ends.during(cost)
        return Ends(
            self.busy * paid.quiet + self.total * paid.busy,
            self.single * paid.quiet + self.none * paid.single,
            self.between * quiet_time(PASSING, cost) + self.quiet * paid.between,
            self.none * paid.none,
            self.total,
        )


def quiet_time(others: sp.Expr, time: sp.Expr) -> sp.Expr:
    """E[u^A] of the arrivals in a time, u = 1 − ``others``."""
    return sp.exp(-arrival_rate * others * time)


def _difference(near: sp.Expr, far: sp.Expr, time: sp.Expr) -> sp.Expr:
    """(E[u^A] − E[v^A])/(u − v) of the arrivals in a time, u = 1 − near and v = 1 − far."""
    return arrival_rate * time * quiet_time(near, time) * RelativeExponential(arrival_rate * (near - far) * time)


@dataclass(frozen=True)
class Count:
    """A function of the number n of jobs in level 1, by its parts of 1 − α^n, (α^n − 0^n)/α and (φ^n − α^n)/(φ − α)."""

    busy: sp.Expr = sp.S.Zero
    single: sp.Expr = sp.S.Zero
    between: sp.Expr = sp.S.Zero

    def __add__(self, other: Count) -> Count:
        return Count(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def __mul__(self, factor: sp.Expr | int) -> Count:
        return Count(*(getattr(self, field.name) * factor for field in fields(self)))

    def over(self, ends: Ends) -> sp.Expr:
        """Its mean for n = A."""
        return self.busy * ends.busy + self.single * ends.single + self.between * ends.between

    @property
    def of_one(self) -> sp.Expr:
        """Its value for n = 1."""
        return self.busy * _DEMOTING + self.single + self.between


def solved(equations: Sequence[sp.Expr], unknown: Sequence[sp.Symbol]) -> dict[sp.Symbol, sp.Expr]:
    """The solution of linear equations, expressions that are zero."""
    matrix, right = sp.linear_eq_to_matrix(equations, unknown)
    return dict(zip(unknown, matrix.LUsolve(right), strict=True))


@dataclass(frozen=True)
class Renewal:
    """x_n = base + free·E[x_A] + charged·E[x_A′], A and A′ the arrivals during a piece without and with its cost."""

    name: str
    base: Count
    free: Count
    charged: Count
    ends: tuple[Ends, Ends]

    @property
    def after(self) -> tuple[sp.Symbol, sp.Symbol]:
        """Symbols for E[x_A] and E[x_A′]."""
        free, charged = (sp.Symbol(f"{self.name}_after_{kind}", nonnegative=True) for kind in ("free", "charged"))
        return free, charged

    @property
    def count(self) -> Count:
        """x_n, in these symbols."""
        count: Count = self.base + self.free * self.after[0] + self.charged * self.after[1]
        return count

    def solution(self) -> dict[str, sp.Expr]:
        """What the symbols stand for: two linear equations."""
        parts = sp.symbols("b_w b_s f_w f_s c_w c_s")
        equations = [
            b + f * self.after[0] + c * self.after[1] - x
            for b, f, c, x in zip(parts[:2], parts[2:4], parts[4:], self.after, strict=True)
        ]
        found = solved(equations, self.after)
        means = [count.over(ends) for count in (self.base, self.free, self.charged) for ends in self.ends]
        return {str(x): found[x].xreplace(dict(zip(parts, means, strict=True))) for x in self.after}


def first_demotion(others: sp.Expr) -> sp.Expr:
    """ν in E[u^m ; a demotion] = ν (u^n − α^n)/(u − α): n jobs in level 1, of which the first demotion leaves m.

    One step from n = 1, where the right-hand side is ν: the job is demoted and leaves its arrivals, or completes.

    Parameters
    ----------
    others : Expr
        1 − u.
    """
    weight, completing = sp.Dummy("nu", positive=True), sp.Symbol(_completing(others), nonnegative=True)
    at_once = tail(attained(1)) * quiet_time(others, attained(1))
    return linear_root(at_once + weight * completing - weight, weight)


def _completing(others: sp.Expr) -> str:
    """Name of E[(u^A − α^A)/(u − α)] over the first piece of a job that completes in it."""
    return "first_single" if others == 1 else "first_between"


@dataclass(frozen=True)
class Counts:
    """What happens until levels 1 and 2 are empty, from n jobs in level 1 and none in level 2; and in a cycle."""

    waived: Renewal  # costs waived after a first piece
    emptied: Renewal  # times at which the last job of level 2 enters service with its cost
    passed_alone: Renewal  # the probability of a first demotion from level 2 which leaves levels 1 and 2 empty
    passed: Renewal  # that of any demotion from level 2
    cycle: Renewal  # costs waived after a second piece until the system is empty, from an empty level 3


GOING_ON = sp.Symbol("going_on", nonnegative=True)
"""P(S > t_2 | S > t_1)."""
COMPLETING, THIRD = Ends.named("second", 1 - GOING_ON), Ends.named("third")
"""Of a second piece in which the job completes, given that it has one, and of a third, both without their costs."""


def with_and_without(ends: Ends, level: int) -> tuple[Ends, Ends]:
    """Of a free piece and of one with the cost c_level."""
    return ends, ends.after(restore_cost(level))


def _full_second() -> Ends:
    """Of a second piece that ends in a demotion."""
    demoted: Ends = Ends.during(attained(2) - attained(1)) * GOING_ON
    return demoted


def whole_second() -> Ends:
    """Of a second piece without its cost, given that there is one."""
    return COMPLETING + _full_second()


def counts() -> Counts:
    """All counts, in α, φ and means over the arrivals in the pieces."""
    alone, held = first_demotion(sp.S.One), first_demotion(PASSING)
    nobody = Count(single=alone)  # the first demotion leaves nobody
    somebody = Count(busy=sp.S.One) + nobody * -1
    emptying = Count(between=held) + nobody * -1  # somebody, and level 2 becomes empty before a demotion from it
    second = with_and_without(whole_second(), 1)
    completing = with_and_without(COMPLETING, 1)
    free, charged = (ends.none for ends in with_and_without(_full_second(), 1))
    # 1 − (α^n + nobody · E[1 − passed] + emptying · E[1 − passed]), the means after a job that completes
    demotion = Count(busy=sp.S.One) + (nobody + emptying) * -COMPLETING.total
    passed_alone = Renewal("alone", nobody * free + emptying * charged, nobody, emptying, completing)
    passed = Renewal("passed", demotion, nobody, emptying, completing)
    others = passed.count + passed_alone.count * -1
    return Counts(
        Renewal("waived", nobody, nobody, somebody, second),
        Renewal("emptied", somebody, nobody, somebody, second),
        passed_alone,
        passed,
        Renewal("cycle", passed_alone.count, passed_alone.count, others, with_and_without(THIRD, 2)),
    )


# for the numeric code


def passing_formula() -> Formula:
    """Right-hand side of the equation for ψ = 1 − φ, and its slope in ψ.

    A busy period of level 1 leads to no demotion from level 2 if that of its first job does not: the job completes, or
    it is demoted and completes in level 2, and no arrival during its pieces leads to one either.
    """
    first, second, first_slope, second_slope = sp.symbols("first second first_slope second_slope", nonnegative=True)
    paid = quiet_time(PASSING, attained(1) + restore_cost(1))
    demoted = tail(attained(1)) * (1 - paid * (COMPLETING.total - second))
    value = first + demoted
    slope = sp.diff(value, PASSING) + first_slope * sp.diff(value, first) + second_slope * sp.diff(value, second)
    names = ("arrival_rate", "first_end", "first_cost", "first_tail", "going_on", "passing")
    inputs = {name: ARRIVALS[name] for name in names}
    means = {str(symbol): symbol for symbol in (first, second, first_slope, second_slope)}
    return Formula(inputs | means, {"value": value, "slope": slope})


_MEANS = tuple(field.name for field in fields(Ends))[:-1]
_TIMES = {
    "arrival_rate": arrival_rate,
    "first_end": attained(1),
    "second_end": attained(2),
    "first_cost": restore_cost(1),
    "second_cost": restore_cost(2),
}


ARRIVALS = (
    _TIMES
    | {"first_tail": tail(attained(1)), "demoting": _DEMOTING, "passing": PASSING, "going_on": GOING_ON}
    | {_completing(u): sp.Symbol(_completing(u), nonnegative=True) for u in (sp.S.One, PASSING)}
    | {f"second_{name}": getattr(COMPLETING, name) for name in _MEANS}
    | {f"third_{name}": getattr(THIRD, name) for name in _MEANS}
)


def symbols_after(*renewals: Renewal) -> dict[str, sp.Symbol]:
    """The symbols for the means of some counts after a piece, by their names."""
    return {str(symbol): symbol for renewal in renewals for symbol in renewal.after}


def second_formula() -> Formula:
    """Means of the counts after a second piece."""
    each = counts()
    found = [renewal.solution() for renewal in (each.waived, each.emptied, each.passed_alone, each.passed)]
    return Formula(ARRIVALS, {name: value for part in found for name, value in part.items()})


def third_formula() -> Formula:
    """Means of the count of a cycle after a third piece."""
    each = counts()
    return Formula(
        ARRIVALS | symbols_after(each.waived, each.emptied, each.passed_alone, each.passed), each.cycle.solution()
    )
