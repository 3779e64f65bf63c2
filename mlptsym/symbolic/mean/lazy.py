r"""MLPT′ with two levels: its mean, exactly (remark 1 of the paper, which has simulations only).

A demoted job goes on at once and without cost if no other job is in the system.  Let e be the probability of that.

Means given e
    Whether the job is alone depends on the past and on the arrivals during its first piece only, and so is independent
    of its last piece.  Level 1 is that of MLPT with a last piece whose cost is waived with probability e.  In level 2
    let W be the work found if every demotion still to come is charged: for the job that finds it this is what it has
    to wait for, as its own presence makes each of them pay.  W jumps by X_2 at arrivals, falls at rate one, and falls
    at once by the cost where it is waived.  The mean drifts of W and of W² are zero.
The probability e
    Between a moment with n jobs in level 1 and none in level 2, and the next demotion, the number of jobs in level 1 is
    a random walk.  It ends at zero without a demotion with probability α^n, and in a demotion that leaves no other
    job with probability β_n = α^{n−1}β_1.  After any demotion the next such moment is the end of a last piece: at once
    if the job is alone; else, when the second queue has been emptied, of one with its cost.  This gives the mean number
    of waived costs in a busy cycle by two linear equations, and e by the rate of cycles, which e itself determines.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.special import RelativeExponential
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, restore_cost, service
from mlptsym.symbolic.mean.waiting import delay_with_new_arrivals, linear_root, work_balance
from mlptsym.symbolic.model.moments import Indicator, UpperMoment, expectation, mean, tail
from mlptsym.symbolic.model.transforms import transform
from mlptsym.symbolic.policies.algorithm import boundaries, effective_size, piece, service_before, work_through

alone = sp.Symbol("e", nonnegative=True)
"""e, the probability that a demoted job finds no other in the system."""
quiet = sp.Symbol("alpha", nonnegative=True)
"""α, the probability that a busy period of level 1 that one job begins ends without a demotion."""

_POINTS = boundaries(1, 1)
_GOES_ON = Indicator(service, attained(1))
_FIRST, _LAST = piece(1), piece(2, last=True)
_FREE = _LAST.subs(restore_cost(1), 0)


# means given e


def work_drift(found: sp.Expr, *, power: int) -> sp.Expr:
    """Mean drift of W (then ``found`` is the probability that W > 0) or of W² (then it is E[W]); it is zero."""
    size = effective_size(2)
    waived = alone * expectation(_LAST**power - _FREE**power, _POINTS)
    if power == 1:
        return -found + arrival_rate * (expectation(size, _POINTS) - waived)
    return work_balance(found, expectation(size, _POINTS), expectation(size**2, _POINTS), -waived)


def busy_probability() -> sp.Expr:
    """ρ′, the probability that the server is busy: the root of the drift of W."""
    busy = sp.Dummy("busy", positive=True)
    return linear_root(work_drift(busy, power=1), busy)


@dataclass(frozen=True)
class Waits:
    """Mean waiting times given e."""

    first: sp.Expr  # d_1
    found: sp.Expr  # E[W]
    last: sp.Expr  # d_2


@cached
def lazy_waits() -> Waits:
    """d_1 from the balance of work with a last piece that may be free, d_2 from the drift of W² and new arrivals."""
    wait = sp.Dummy("d", positive=True)
    first_mean, first_square = (expectation(_FIRST**power, _POINTS) for power in (1, 2))
    last_square = (1 - alone) * expectation(_LAST**2, _POINTS) + alone * expectation(_FREE**2, _POINTS)
    first = linear_root(work_balance(wait, first_mean, first_square, last_square), wait)
    found = linear_root(work_drift(wait, power=2), wait)
    interrupting = expectation(work_through(1, 2), _POINTS)
    return Waits(first, found, delay_with_new_arrivals(found, service_before(2), interrupting))


@cached
def lazy_response_time() -> sp.Expr:
    """E[T] of MLPT′ with two levels, given e."""
    waits = lazy_waits()
    own = (1 - alone) * expectation(effective_size(2), _POINTS) + alone * expectation(_FIRST + _FREE, _POINTS)
    return own + (1 - tail(attained(1))) * waits.first + tail(attained(1)) * waits.last


# the probability e


@dataclass(frozen=True)
class Arrivals:
    """What the number A of arrivals during a piece of service comes to."""

    quiet: sp.Expr  # E[α^A], which counts A = 0 in
    none: sp.Expr  # P(A = 0)

    @property
    def single(self) -> sp.Expr:
        """E[α^{A−1} ; A ≥ 1]; β_1 times this is E[β_A]."""
        return (self.quiet - self.none) / quiet


def arrivals_in(work: sp.Expr, event: sp.Expr) -> Arrivals:
    """Of Poisson arrivals while ``work`` is done, on an event: E[z^A] = E[e^{−λ(1−z)·work}]."""
    at = (arrival_rate * (1 - quiet), arrival_rate)
    return Arrivals(*(transform(work, rate, _POINTS, event=event) for rate in at))


def arrivals_while_completing() -> Arrivals:
    """In the first piece of a job, on the event that it completes in it."""
    return arrivals_in(_FIRST, 1 - _GOES_ON)


def arrivals_in_last(*, waived: bool) -> Arrivals:
    """In a last piece, given that there is one."""
    found = arrivals_in(_FREE if waived else _LAST, _GOES_ON)
    return Arrivals(found.quiet / tail(attained(1)), found.none / tail(attained(1)))


def quiet_balance() -> sp.Expr:
    """α = E[α^A ; S ≤ t_1], an expression that is zero; α is its least root."""
    return quiet - arrivals_while_completing().quiet


def alone_recursion(first: sp.Expr, following: sp.Expr) -> sp.Expr:
    """One step from n = 1, zero: the job is demoted and leaves nobody, or completes and leaves A jobs.

    ``first`` is β_1, ``following`` is β_n/α^{n−1} of the numbers it may leave.
    """
    at_once = transform(_FIRST, arrival_rate, _POINTS, event=_GOES_ON)
    return -first + at_once + following * arrivals_while_completing().single


@cached
def first_alone() -> sp.Expr:
    """β_1, with β_n = α^{n−1}β_1."""
    beta = sp.Dummy("beta_1", positive=True)
    return linear_root(alone_recursion(beta, beta), beta)


def waived_recursion(quiet_end: sp.Expr, no_other: sp.Expr, after_free: sp.Expr, after_charged: sp.Expr) -> sp.Expr:
    """g, the mean number of costs still to be waived in a cycle, from what ends the present work of level 1.

    No demotion, with probability ``quiet_end``; one that leaves nobody, with probability ``no_other``, and then g^w
    more after the free last piece; or one that leaves somebody, and then g^s after a last piece with its cost.
    """
    return no_other * (1 + after_free) + (1 - quiet_end - no_other) * after_charged


@dataclass(frozen=True)
class Cycle:
    """Symbols for what decides the number of costs waived in a busy cycle."""

    demoting: sp.Symbol  # 1 − α
    first: sp.Symbol  # β_1
    # `Arrivals.quiet` and `Arrivals.single` of a last piece without and with its cost
    quiet_free: sp.Symbol
    single_free: sp.Symbol
    quiet_charged: sp.Symbol
    single_charged: sp.Symbol


CYCLE = Cycle(*sp.symbols("omega beta_1 a_w b_w a_s b_s", nonnegative=True))


@cached
def waived_in_cycle() -> sp.Expr:
    """m = g_1, for the one job that begins a cycle, in the symbols of ``CYCLE``: two linear equations give g^w and g^s.

    Examples
    --------
    >>> a_w, b_w, a_s, b_s = CYCLE.quiet_free, CYCLE.single_free, CYCLE.quiet_charged, CYCLE.single_charged
    >>> ended = a_s * (1 - CYCLE.first * b_w) + CYCLE.first * a_w * b_s
    >>> sp.simplify(waived_in_cycle() * ended - CYCLE.first * (a_s + CYCLE.demoting * b_s))
    0
    """
    return sp.factor(waived_recursion(1 - CYCLE.demoting, CYCLE.first, *waived_after()))


def waived_after() -> tuple[sp.Expr, sp.Expr]:
    """g^w and g^s, after the end of a piece without and with its cost, in the symbols of ``CYCLE``."""
    after = sp.symbols("g_w g_s", nonnegative=True)
    ends = ((CYCLE.quiet_free, CYCLE.single_free), (CYCLE.quiet_charged, CYCLE.single_charged))
    equations = [
        waived_recursion(quiet_end, CYCLE.first * single, *after) - value
        for (quiet_end, single), value in zip(ends, after, strict=True)
    ]
    (values,) = sp.solve(equations, after, dict=True)
    return values[after[0]], values[after[1]]


def alone_balance(waived: sp.Expr) -> sp.Expr:
    """Waived costs by demotions and by cycles, F̄e − (1 − ρ′)m per arrival: zero, and linear in e."""
    return tail(attained(1)) * alone - (1 - busy_probability()) * waived


@cached
def alone_probability() -> sp.Expr:
    """e, in λ, α, the cost, and partial moments and transforms of S."""
    free, charged = (arrivals_in_last(waived=waived) for waived in (True, False))
    values = {
        CYCLE.demoting: 1 - quiet,
        CYCLE.first: first_alone(),
        CYCLE.quiet_free: free.quiet,
        CYCLE.single_free: free.single,
        CYCLE.quiet_charged: charged.quiet,
        CYCLE.single_charged: charged.single,
    }
    return linear_root(alone_balance(waived_in_cycle()), alone).xreplace(values)


# for the numeric code, without differences of nearly equal numbers


def arrivals_formula() -> Formula:
    """Functions of the length y of a piece whose means are needed, and their slopes in y.

    With u = 1 − ``demoting`` and v = 1 − ``beside``, A the arrivals in y: the means of 1 − u^A and its slope in 1 − u,
    of (u^A − v^A)/(u − v), and of 1{A ≥ 1}.
    """
    length, demoting, beside = sp.Symbol("y", nonnegative=True), CYCLE.demoting, sp.Symbol("beside", nonnegative=True)
    exponent = arrival_rate * demoting * length
    busy = exponent * RelativeExponential(-exponent)
    further = arrival_rate * (demoting - beside) * length
    between = arrival_rate * length * sp.exp(-exponent) * RelativeExponential(further)
    any_arrival = arrival_rate * length * RelativeExponential(-arrival_rate * length)
    plain = {"between": _unfolded(between), "busy": _unfolded(busy), "any": _unfolded(any_arrival)}
    slopes = {name: sp.diff(form, length) for name, form in plain.items()}
    # the slope of E[(u^A − v^A)/(u − v)] is λ(E[u^A] − (1 − v) times itself)
    falling = arrival_rate * beside
    slopes["between"] = sp.simplify(slopes["between"] + falling * plain["between"]) - falling * between
    by_demoting = sp.diff(plain["busy"], demoting)
    outputs = {
        "busy": busy,
        "busy_slope": slopes["busy"],
        "change": by_demoting,
        "change_slope": sp.diff(by_demoting, length),
        "between": between,
        "between_slope": slopes["between"],
        "any": any_arrival,
        "any_slope": slopes["any"],
    }
    inputs = {"arrival_rate": arrival_rate, "demoting": demoting, "beside": beside, "length": length}
    return Formula(inputs, outputs, frozenset({"arrival_rate", "demoting", "beside"}))


def _unfolded(expression: sp.Expr) -> sp.Expr:
    return expression.replace(RelativeExponential, lambda z: (sp.exp(z) - 1) / z).simplify()


def alone_formula() -> Formula:
    """e and 1 − e from means over the pieces: neither loses digits where it is small.

    Arrivals in the cost and in the service that follows it are independent, so that a_s = e^{−λωc} a_w and
    b_s = e^{−λωc} (b_w + P(A = 0) times the mean for the cost alone); m depends on their ratio only.
    """
    cost, end, left = restore_cost(1), attained(1), tail(attained(1))
    busy, none, completing = sp.symbols("busy none completing", nonnegative=True)
    in_cost, first, missed = (sp.Dummy(name, nonnegative=True) for name in ("in_cost", "first", "missed"))
    same = {
        CYCLE.quiet_charged: CYCLE.quiet_free,
        CYCLE.single_charged: CYCLE.single_free + in_cost,
        CYCLE.first: left * first,
    }
    e = linear_root(alone_balance(waived_in_cycle().subs(same)), alone)
    numerator, denominator = sp.fraction(sp.factor(e))
    shares = {"alone": numerator, "charged": sp.expand((denominator - numerator).subs(first, 1 - missed))}
    full = arrival_rate * cost
    values = {
        first: sp.exp(-arrival_rate * end) / (1 - completing),
        missed: (arrival_rate * end * RelativeExponential(-arrival_rate * end) - completing) / (1 - completing),
        in_cost: none * full * RelativeExponential((CYCLE.demoting - 1) * full),
        CYCLE.quiet_free: 1 - busy,
    }
    inputs = {
        "arrival_rate": arrival_rate,
        "mean": mean(),
        "tail": left,
        "end": end,
        "cost": cost,
        "demoting": CYCLE.demoting,
        "completing_single": completing,
        "last_busy": busy,
        "last_single": CYCLE.single_free,
        "last_none": none,
    }
    outputs = {name: (part / denominator).xreplace(values) for name, part in shares.items()}
    return Formula(inputs, outputs, frozenset({"arrival_rate", "mean"}))


def lazy_formula() -> Formula:
    """E[T], the waits by level, ρ′, and what is gained over MLPT, from e and 1 − e."""
    charged = sp.Symbol("charged", nonnegative=True)
    inputs = {
        "arrival_rate": arrival_rate,
        "mean": mean(),
        "second": mean(order=2),
        "tail": tail(attained(1)),
        "first_moment": UpperMoment(1, attained(1)),
        "end": attained(1),
        "cost": restore_cost(1),
        "alone": alone,
        "charged": charged,
    }
    waits = lazy_waits()

    def collected(expression: sp.Expr) -> sp.Expr:
        """In 1 − e, each numerator a sum in which the second partial moment cancels."""
        numerator, denominator = sp.fraction(sp.together(expression.subs(alone, 1 - charged)))
        return sp.expand(numerator) / denominator

    found, first = collected(waits.found), collected(waits.first)
    wait = sp.Dummy("W", positive=True)
    last = delay_with_new_arrivals(wait, service_before(2), expectation(_FIRST, _POINTS)).subs(wait, found)
    own = expectation(_FIRST + _FREE, _POINTS) + charged * restore_cost(1) * tail(attained(1))
    outputs = {
        "first_wait": first,
        "last_wait": last,
        "response_time": own + (1 - tail(attained(1))) * first + tail(attained(1)) * last,
        "busy": busy_probability(),
        "gain": -alone * sp.diff(lazy_response_time(), alone),
    }
    return Formula(inputs, outputs, frozenset({"arrival_rate", "mean", "second"}))
