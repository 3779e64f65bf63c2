"""Moments of the response time: power series of its transform at s = 0, and of the pieces it is made of.

With σ known implicitly only, the balance of `mlptsym.symbolic.distribution.transform` and its busy period are
differentiated at zero.  E[T] so found is theorem 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, level, service
from mlptsym.symbolic.distribution.transform import argument, last_piece, stretching, transform_balance
from mlptsym.symbolic.mean.waiting import linear_root
from mlptsym.symbolic.model.moments import Indicator, UpperMoment, expectation
from mlptsym.symbolic.model.transforms import transform
from mlptsym.symbolic.policies.algorithm import boundaries, piece, service_before, work_through
from mlptsym.symbolic.policies.discipline import RESTORING, Discipline

Series = list[sp.Expr]


@dataclass(frozen=True)
class MomentTerms:
    """E[T^n ; J = j] for n = 1, 2 in the moments of what T is made of; all other attributes are the symbols."""

    work: tuple[sp.Symbol, ...]  # E[X_j^n], n = 1, 2, 3
    lower: tuple[sp.Symbol, ...]  # Σ_{r>j} E[Y_r^n], n = 1, 2, 3
    interrupting: tuple[sp.Symbol, ...]  # E[X_{j−1}^n], n = 1, 2
    before: sp.Symbol  # a_{j−1}
    probability: sp.Symbol  # p_j
    end: tuple[sp.Symbol, ...]  # E[(c_{j−1} + S − t_{j−1})^n ; J = j], n = 1, 2
    # E[T ; J = j] and E[T² ; J = j]
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


@cached
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
    composed = [waiting[0], waiting[1] * sigma[1], waiting[1] * sigma[2] + waiting[2] * sigma[1] ** 2]
    total = _product(composed, end)
    return total[0], -total[1], 2 * total[2]


def _implicit(interrupting: Series) -> Series:
    """Coefficients of σ(s) through s²: its equation is differentiated at s = 0 and solved for one after the other."""
    coefficients: Series = [sp.S.Zero]
    for order in (1, 2):
        unknown = sp.Dummy("sigma")
        path = _value([*coefficients, unknown], [argument**n for n in range(order + 1)])
        equation = stretching(path, argument, _value(interrupting, [sp.S.One, path, path**2]))
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
    """Moments of the piece of any level r."""

    served: tuple[sp.Symbol, ...]  # P(S > t_{r−1}) and E[W^n ; S > t_{r−1}], n = 1, 2, 3, see `served_moments`
    # P(S > t_r), t_r − t_{r−1} and a_{r−1}.  For a level that runs to completion P(S > t_r) is zero.
    passed: sp.Symbol
    length: sp.Symbol
    before: sp.Symbol
    costs: tuple[tuple[sp.Symbol, sp.Symbol], ...]  # Those at t_{r−1} and at t_r, of each cost of the discipline
    piece: tuple[sp.Expr, ...]  # E[Y_r^n], n = 1, 2, 3
    # What the piece adds to E[X_r^n]: E[(a_{r−1} + Y_r)^n − a_{r−1}^n ; S > t_{r−1}], since a job in level r has
    # received exactly a_{r−1} before
    work: tuple[sp.Expr, ...]
    end: tuple[sp.Expr, ...]  # E[Y_r^n ; J = r], n = 1, 2


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
