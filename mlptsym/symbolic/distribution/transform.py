r"""The Laplace transform of the response time, from the same pieces as its mean.

Waiting
    Let V be the work that a level-j arrival finds ahead of it, as in `mlptsym.symbolic.mean.waiting`.  The mean drift
    of e^{−σV} is zero in steady state (`transform_balance`), which gives E[e^{−σV}].
New arrivals
    Until its last level begins, the job needs V + a_{j−1} of the server, and each arrival in the meantime puts
    X_{j−1} in front of it.  This stretches the time needed by busy periods of X_{j−1}: with B the busy period of one
    arrival, time y becomes e^{−yσ}, σ = s + λ(1 − E[e^{−sB}]), and E[e^{−sB}] = E[e^{−σX_{j−1}}].
The last piece
    c_{j−1} + S − t_{j−1} follows without interruption.

With σ known implicitly only, moments come from power series: the balance and the busy period are differentiated at
zero (`response_moments`).  E[T] so found is theorem 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import sympy as sp
from sympy.core.function import ArgumentIndexError

from mlptsym.symbolic.algebra.cached import remembered
from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, level, service
from mlptsym.symbolic.mean.waiting import linear_root
from mlptsym.symbolic.model.moments import Density, Indicator, UpperMoment, expectation, on_interval
from mlptsym.symbolic.policies.algorithm import boundaries, piece, service_before, work_through
from mlptsym.symbolic.policies.discipline import RESTORING, Discipline

__all__ = [
    "MomentTerms",
    "PartialTransform",
    "PieceMoments",
    "ResponseTransform",
    "argument",
    "busy_period",
    "last_piece",
    "moment_terms",
    "piece_moments",
    "piece_moments_formula",
    "response_moments",
    "response_moments_formula",
    "response_transform",
    "served_formula",
    "served_moments",
    "stretched",
    "transform",
    "transform_balance",
    "work_found",
]

argument = sp.Symbol("s", positive=True)
stretched = sp.Symbol("sigma", positive=True)

Series = list[sp.Expr]


class PartialTransform(sp.Function):
    r"""Partial transform ``PartialTransform(n, s, a, b, variable)`` = E[variable^n e^{−s·variable} ; a < variable ≤ b].

    It stays folded; what SymPy knows of it is its derivatives, and that it is M_n(a) − M_n(b) at s = 0.

    Examples
    --------
    >>> t = sp.Symbol("t", positive=True)
    >>> PartialTransform(0, argument, 0, t).diff(argument)
    -PartialTransform(1, s, 0, t, S)
    >>> PartialTransform(1, 0, 0, t)
    UpperMoment(1, 0, S) - UpperMoment(1, t, S)
    """

    def __new__(
        cls, order: Any, point: Any, lower: Any, upper: Any, variable: sp.Symbol = service, **options: Any
    ) -> sp.Expr:
        return super().__new__(cls, order, point, lower, upper, variable, **options)

    @classmethod
    def eval(
        cls, order: sp.Expr, point: sp.Expr, lower: sp.Expr, upper: sp.Expr, variable: sp.Symbol
    ) -> sp.Expr | None:
        if lower == upper:
            return sp.S.Zero
        if point.is_zero:
            return UpperMoment(order, lower, variable) - UpperMoment(order, upper, variable)
        return None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        order, point, lower, upper, variable = self.args
        if argindex == 2:
            return -self.func(order + 1, point, lower, upper, variable)
        if argindex not in {3, 4}:
            raise ArgumentIndexError(self, argindex)
        end, sign = (lower, -1) if argindex == 3 else (upper, 1)
        return sign * end**order * sp.exp(-point * end) * Density(end, variable)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        order, point, lower, upper, variable = self.args
        name, s, a, b = (printer._print(item) for item in (variable, point, lower, upper))
        power = "" if order.is_zero else name if order == 1 else f"{name}^{{{printer._print(order)}}}"
        event = (
            ""
            if (lower, upper) == (sp.S.Zero, sp.oo)
            else rf";\, {a} < {name}" + ("" if upper is sp.oo else rf" \le {b}")
        )
        body = rf"\mathbb{{E}}\left[{power} e^{{-\left({s}\right) {name}}}{event}\right]"
        return body if exp is None else rf"{body}^{{{exp}}}"


def transform(
    expression: Any, at: Any, breakpoints: Sequence[Any], *, event: Any = 1, variable: sp.Symbol = service
) -> sp.Expr:
    r"""Laplace transform E[event · e^{−at·X}] of a piecewise linear function X of a random variable.

    Parameters
    ----------
    expression : Expr
        X, linear in the variable between breakpoints: made of the variable, ``Min``/``Max`` and `Indicator`\ s.
    at : Expr
        The argument of the transform.
    breakpoints : sequence of Expr
        As for `expectation`: all points where X or the event changes, in increasing order, 0 and ∞ left out.
    event : Expr
        A factor that is constant between breakpoints, such as an `Indicator`.
    variable : Symbol
        The random variable, S unless given.

    Returns
    -------
    Expr
        A linear combination of `PartialTransform`\ s, and of `UpperMoment`\ s where X is constant.

    Raises
    ------
    ValueError
        If X is not linear, or the event not constant, between breakpoints.

    Examples
    --------
    >>> t = sp.Symbol("t", positive=True)
    >>> transform(sp.Min(service, t), argument, [t])
    PartialTransform(0, s, 0, t, S) + exp(-s*t)*UpperMoment(0, t, S)
    """
    points = (
        sp.S.Zero,
        *(sp.sympify(point, strict=True) for point in breakpoints if sp.sympify(point, strict=True) is not sp.oo),
        sp.oo,
    )
    result = sp.S.Zero
    for position, (lower, upper) in enumerate(pairwise(points)):
        here, weight = (
            on_interval(sp.sympify(part, strict=True), points, position, variable) for part in (expression, event)
        )
        slope = sp.diff(here, variable)
        if slope.has(variable) or weight.has(variable):
            raise ValueError(f"{here} is not linear, or {weight} not constant, in {variable} on ({lower}, {upper})")
        offset = sp.expand(here - slope * variable)
        result += weight * sp.exp(-at * offset) * PartialTransform(0, at * slope, lower, upper, variable)
    return result


def transform_balance(found: sp.Expr, at: sp.Expr, idle: sp.Expr, work: sp.Expr, lower: Sequence[sp.Expr]) -> sp.Expr:
    """Mean drift of e^{−σV} in steady state, which is zero.

    Parameters
    ----------
    found : Expr
        E[e^{−σV}], by PASTA also what an arrival finds.
    at : Expr
        σ; e^{−σV} grows at rate σ e^{−σV} while V > 0 falls at rate one.
    idle : Expr
        P(V = 0): the probability that the server is idle.
    work : Expr
        E[e^{−σX_j}], of the jump at an arrival: the mean of e^{−σ(V+X)} − e^{−σV} is E[e^{−σV}] (E[e^{−σX}] − 1).
    lower : sequence of Expr
        E[e^{−σY_r}] for r > j, with Y_r zero for jobs that do not reach level r: jumps from V = 0, each once per job.
    """
    return (
        at * (found - idle) + arrival_rate * found * (work - 1) + arrival_rate * sp.Add(*(jump - 1 for jump in lower))
    )


@remembered
def work_found(index: int, levels: int, at: sp.Expr = stretched, discipline: Discipline = RESTORING) -> sp.Expr:
    """E[e^{−σV}] of the work V that a job of level ``index`` finds ahead of it: the root of `transform_balance`.

    The server is idle with probability 1 − ρ_k^eff (the work done for a job is S_k^eff, eq. (11)).
    """
    points = boundaries(1, levels - 1)
    found = sp.Dummy("V_transform", positive=True)
    idle = 1 - arrival_rate * expectation(work_through(levels, levels, discipline), points)
    lower = [
        transform(piece(r, last=r == levels, discipline=discipline), at, points) for r in range(index + 1, levels + 1)
    ]
    work = transform(work_through(index, levels, discipline), at, points)
    return linear_root(transform_balance(found, at, idle, work, lower), found)


def busy_period(
    index: int,
    levels: int,
    at: sp.Expr = argument,
    solution: sp.Expr = stretched,
    discipline: Discipline = RESTORING,
) -> sp.Expr:
    """The equation of σ for a job of level ``index``, an expression that is zero: σ − s − λ(1 − E[e^{−σX_{j−1}}])."""
    interrupting = (
        transform(work_through(index - 1, levels, discipline), solution, boundaries(1, levels - 1))
        if index > 1
        else sp.S.One
    )
    return _stretching(solution, at, interrupting)


def _stretching(solution: sp.Expr, at: sp.Expr, interrupting: sp.Expr) -> sp.Expr:
    """Zero at the σ of s, given E[e^{−σX_{j−1}}]."""
    return solution - at - arrival_rate * (1 - interrupting)


def last_piece(index: int, levels: int, at: sp.Expr = argument, discipline: Discipline = RESTORING) -> sp.Expr:
    """E[e^{−s(c_{j−1} + S − t_{j−1})} ; J = j]: the uninterrupted end of the response time."""
    last = index == levels
    here = Indicator(service, attained(index - 1)) - Indicator(service, attained(index, last=last))
    return transform(discipline.completing(index, last=last), at, boundaries(1, levels - 1), event=here)


@dataclass(frozen=True)
class ResponseTransform:
    """E[e^{−sT} ; J = j], with the equation of the σ it contains.

    Attributes
    ----------
    expression : Expr
        In `argument` s and `stretched` σ.
    busy_period : Expr
        Zero at the σ that belongs to s; the solution with Re σ > 0 for Re s > 0 is meant.
    """

    expression: sp.Expr
    busy_period: sp.Expr


def response_transform(index: int, levels: int, discipline: Discipline = RESTORING) -> ResponseTransform:
    """`ResponseTransform` of the jobs that complete in level ``index`` of ``levels``; FCFS is one level.

    Examples
    --------
    >>> load = arrival_rate * UpperMoment(1, 0)
    >>> service_transform = PartialTransform(0, argument, 0, sp.oo)
    >>> pollaczek_khinchine = argument * (1 - load) / (argument - arrival_rate * (1 - service_transform))
    >>> fcfs = response_transform(1, 1).expression.subs(stretched, argument)
    >>> sp.simplify(fcfs - pollaczek_khinchine * service_transform)
    0
    """
    found = work_found(index, levels, discipline=discipline)
    waiting = found * sp.exp(-stretched * service_before(index, discipline))
    ahead = busy_period(index, levels, discipline=discipline)
    return ResponseTransform(waiting * last_piece(index, levels, discipline=discipline), ahead)


# --- moments: power series at s = 0


@dataclass(frozen=True)
class MomentTerms:
    """E[T^n ; J = j] for n = 1, 2 in the moments of what T is made of; all other attributes are the symbols.

    Attributes
    ----------
    work : tuple of Symbol
        E[X_j^n], n = 1, 2, 3.
    lower : tuple of Symbol
        Σ_{r>j} E[Y_r^n], n = 1, 2, 3.
    interrupting : tuple of Symbol
        E[X_{j−1}^n], n = 1, 2.
    before : Symbol
        a_{j−1}.
    probability : Symbol
        p_j.
    end : tuple of Symbol
        E[(c_{j−1} + S − t_{j−1})^n ; J = j], n = 1, 2.
    first, second : Expr
        E[T ; J = j] and E[T² ; J = j].
    """

    work: tuple[sp.Symbol, ...]
    lower: tuple[sp.Symbol, ...]
    interrupting: tuple[sp.Symbol, ...]
    before: sp.Symbol
    probability: sp.Symbol
    end: tuple[sp.Symbol, ...]
    first: sp.Expr
    second: sp.Expr


def moment_terms() -> MomentTerms:
    """`MomentTerms` of any level, from the series of its transform."""
    work, lower = (sp.symbols(f"{name}_1:4", nonnegative=True) for name in ("X", "Y"))
    interrupting = sp.symbols("Z_1:3", nonnegative=True)
    before, probability = sp.symbols("a_before p", nonnegative=True)
    end = sp.symbols("R_1:3", nonnegative=True)
    _, first, second = _moments(
        _with_moments(sp.S.One, work),
        _with_moments(sp.S.Zero, lower),
        _with_moments(sp.S.One, interrupting),
        before,
        _with_moments(probability, end),
    )
    return MomentTerms(work, lower, interrupting, before, probability, end, first, second)


@remembered
def response_moments(index: int, levels: int, discipline: Discipline = RESTORING) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """E[T^n ; J = j], n = 0, 1, 2, by differentiating the transform at s = 0, σ implicitly.

    Examples
    --------
    >>> probability, mean_response_time, _ = response_moments(1, 1)
    >>> waiting = arrival_rate * UpperMoment(2, 0) / (2 * (1 - arrival_rate * UpperMoment(1, 0)))
    >>> probability, sp.simplify(mean_response_time - UpperMoment(1, 0) - waiting)
    (1, 0)
    """
    points = boundaries(1, levels - 1)
    lower = (
        transform(piece(r, last=r == levels, discipline=discipline), argument, points) - 1
        for r in range(index + 1, levels + 1)
    )
    interrupting = transform(work_through(index - 1, levels, discipline), argument, points) if index > 1 else sp.S.One
    return _moments(
        _series(transform(work_through(index, levels, discipline), argument, points), 3),
        _series(sp.Add(*lower), 3),
        _series(interrupting, 2),
        service_before(index, discipline),
        _series(last_piece(index, levels, discipline=discipline), 2),
    )


def _moments(
    work: Series, lower: Series, interrupting: Series, before: sp.Expr, end: Series
) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """E[T^n ; J = j], n = 0, 1, 2, from power series in s of the transforms that make up the response time."""
    idle = 1 + arrival_rate * (work[1] + lower[1])  # 1 − ρ^eff: first coefficients are minus the means
    found = sp.Dummy("V_transform", positive=True)
    power = [sp.S.One, argument, argument**2, argument**3]
    balance = transform_balance(found, argument, idle, _value(work, power), [_value(lower, power) + 1])
    # the balance vanishes to first order at zero, with or without V
    jumps, drift = (
        _series(sp.cancel(part / argument), 2) for part in (balance.subs(found, 0), -sp.diff(balance, found))
    )
    waiting = _product(_quotient(jumps, drift), _series(sp.exp(-argument * before), 2))
    sigma = _implicit(interrupting)
    composed = [
        waiting[0],
        waiting[1] * sigma[1],
        waiting[1] * sigma[2] + waiting[2] * sigma[1] ** 2,
    ]
    total = _product(composed, end)
    return total[0], -total[1], 2 * total[2]


def _implicit(interrupting: Series) -> Series:
    """Coefficients of σ(s) through s²: its equation is differentiated at s = 0 and solved for one after the other."""
    coefficients: Series = [sp.S.Zero]
    for order in (1, 2):
        unknown = sp.Dummy("sigma")
        path = _value([*coefficients, unknown], [argument**n for n in range(order + 1)])
        equation = _stretching(path, argument, _value(interrupting, [sp.S.One, path, path**2]))
        coefficients.append(linear_root(sp.diff(equation, argument, order).subs(argument, 0), unknown))
    return coefficients


def _series(expression: sp.Expr, order: int) -> Series:
    """Taylor coefficients in `argument` at zero."""
    derivatives = [expression]
    for _ in range(order):
        derivatives.append(sp.diff(derivatives[-1], argument))
    return [sp.expand(item.subs(argument, 0)) / sp.factorial(n) for n, item in enumerate(derivatives)]


def _with_moments(start: sp.Expr, moments: Sequence[sp.Expr]) -> Series:
    """Coefficients of a transform with given value at zero and moments."""
    return [start, *((-1) ** n * moment / sp.factorial(n) for n, moment in enumerate(moments, start=1))]


def _value(coefficients: Series, powers: Sequence[sp.Expr]) -> sp.Expr:
    return sp.Add(*(coefficient * power for coefficient, power in zip(coefficients, powers, strict=True)))


def _product(left: Series, right: Series) -> Series:
    """The product of two series that are known to the same order, to that order."""
    orders = (n for n, _ in enumerate(zip(left, right, strict=True)))
    return [sp.Add(*(left[i] * right[n - i] for i in range(n + 1))) for n in orders]


def _quotient(left: Series, right: Series) -> Series:
    result: Series = []
    for n in range(len(left)):
        known = sp.Add(*(result[i] * right[n - i] for i in range(n)))
        result.append((left[n] - known) / right[0])
    return result


# --- what the numeric code needs of each level


def served_moments(index: sp.Expr | int, *, last: bool = False) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """E[W^n ; S > t_{r−1}], n = 1, 2, 3, for the service W = min(S, t_r) − t_{r−1} in level ``index`` (or symbolic).

    Examples
    --------
    >>> served_moments(1, last=True)
    (UpperMoment(1, 0, S), UpperMoment(2, 0, S), UpperMoment(3, 0, S))
    """
    start, end = attained(index - 1), attained(index, last=last)
    points = [point for point in (start, end) if point is not sp.oo and not point.is_zero]
    served = (service if last else sp.Min(service, end)) - start
    first, second, third = (expectation(served**n * Indicator(service, start), points) for n in (1, 2, 3))
    return first, second, third


@dataclass(frozen=True)
class PieceMoments:
    """Moments of the piece of any level r.

    Attributes
    ----------
    served : tuple of Symbol
        P(S > t_{r−1}) and E[W^n ; S > t_{r−1}], n = 1, 2, 3, see `served_moments`.
    passed, length, before : Symbol
        P(S > t_r), t_r − t_{r−1} and a_{r−1}.  For a level that runs to completion P(S > t_r) is zero.
    costs : tuple of Symbol
        Those at t_{r−1} and at t_r, of each cost of the discipline.
    piece : tuple of Expr
        E[Y_r^n], n = 1, 2, 3.
    work : tuple of Expr
        What the piece adds to E[X_r^n]: E[(a_{r−1} + Y_r)^n − a_{r−1}^n ; S > t_{r−1}], since a job in level r has
        received exactly a_{r−1} before.
    end : tuple of Expr
        E[Y_r^n ; J = r], n = 1, 2.
    """

    served: tuple[sp.Symbol, ...]
    passed: sp.Symbol
    length: sp.Symbol
    before: sp.Symbol
    costs: tuple[tuple[sp.Symbol, sp.Symbol], ...]
    piece: tuple[sp.Expr, ...]
    work: tuple[sp.Expr, ...]
    end: tuple[sp.Expr, ...]


def piece_moments(discipline: Discipline = RESTORING) -> PieceMoments:
    """`PieceMoments`, by expanding powers of the piece in the service W."""
    served = sp.symbols("W_0:4", nonnegative=True)
    passed, length, before = sp.symbols("passed length a_before", nonnegative=True)
    costs = tuple(sp.symbols(f"{family}_start {family}_end", nonnegative=True) for family in discipline.costs)
    service_here = sp.Symbol("W", nonnegative=True)
    start = attained(level - 1)
    named = {attained(level): start + length}
    for family, ends in zip(discipline.costs, costs, strict=True):
        named |= dict(zip((family[level - 1], family[level]), ends, strict=True))

    def mean_of(n: int, moments: Sequence[sp.Expr], done: sp.Expr = sp.S.Zero) -> sp.Expr:
        """E[(done + Y)^n − done^n], with what follows the service for jobs that go on unless all complete."""
        terms = sp.Poly(sp.expand((done + here) ** n - done**n), service_here).terms()
        within = sp.Add(*(coefficient * moments[power] for (power,), coefficient in terms))
        return (
            within
            if moments is completed
            else within + passed * sp.expand((done + gone_on) ** n - (done + at_end) ** n)
        )

    here = sp.expand(discipline.completing(level).subs(named).subs(service, start + service_here))
    at_end = here.subs(service_here, length)
    gone_on = sp.expand(at_end + discipline.after_service(level).subs(named))
    completed = [moment - length**n * passed for n, moment in enumerate(served)]
    return PieceMoments(
        served,
        passed,
        length,
        before,
        costs,
        piece=tuple(mean_of(n, served) for n in (1, 2, 3)),
        work=tuple(mean_of(n, served, before) for n in (1, 2, 3)),
        end=tuple(mean_of(n, completed) for n in (1, 2)),
    )


def served_formula(last: bool) -> Formula:
    """E[W^n ; S > t_{r−1}] of the service W in a level, from the moments at its two ends."""
    start, end = attained(level), attained(level + 1)
    inputs = {f"{name}_{n}": UpperMoment(n, at) for name, at in (("start", start), ("end", end)) for n in range(4)}
    moments = served_moments(level + 1, last=last)
    outputs = {f"served_{n}": moment for n, moment in enumerate(moments, start=1)}
    return Formula({**inputs, "start": start, "end": end}, outputs)


def piece_moments_formula() -> Formula:
    """E[Y_r^n], what they add to E[X_r^n], and E[Y_r^n ; J = r], from the moments of the service in a level."""
    terms = piece_moments()
    inputs = {f"served_{n}": symbol for n, symbol in enumerate(terms.served)}
    inputs |= {name: getattr(terms, name) for name in ("passed", "length", "before")}
    inputs["cost"] = terms.costs[0][0]
    return Formula(inputs, {k: v for name in ("piece", "work", "end") for k, v in _numbered(terms, name).items()})


def response_moments_formula() -> Formula:
    """E[T ; J = j] and E[T² ; J = j]."""
    terms = moment_terms()
    inputs = {k: v for name in ("work", "lower", "interrupting", "end") for k, v in _numbered(terms, name).items()}
    inputs |= {"arrival_rate": arrival_rate, "before": terms.before, "probability": terms.probability}
    return Formula(inputs, {"first": terms.first, "second": terms.second}, frozenset({"arrival_rate"}))


def _numbered(terms: Any, name: str) -> dict[str, sp.Expr]:
    return {f"{name}_{n}": part for n, part in enumerate(getattr(terms, name), start=1)}
