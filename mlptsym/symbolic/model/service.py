"""From intrinsic size to service time: equations (1)–(3), (5) and the partial moments of S = q(L).

A job works at rate one until its attained work reaches the slowdown threshold ℓ_C and at rate β from there on, so a
size L takes the service time S = q(L).  `service_upper_moment` writes M_n of S in M_n of L on each side of ℓ_C.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import age, size, slowdown_factor, slowdown_threshold
from mlptsym.symbolic.model.moments import Indicator, UpperMoment, expectation


def service_rate(attained_work: sp.Expr = age) -> sp.Expr:
    """Rate of service at a given attained work, eq. (2): one below ℓ_C, β from ℓ_C on."""
    return sp.Piecewise((1, attained_work < slowdown_threshold), (slowdown_factor, True))


@cached
def service_time(work: sp.Expr = size) -> sp.Expr:
    """Service time q(work) of an intrinsic size, eq. (3): the reciprocal of the service rate, integrated over the work.

    Examples
    --------
    >>> service_time().subs({size: 5, slowdown_threshold: 2, slowdown_factor: sp.Rational(1, 4)})
    14
    """
    spans = (sp.S.Zero, sp.Min(work, slowdown_threshold)), (slowdown_threshold, sp.Max(work, slowdown_threshold))
    rates = (rate for rate, _ in service_rate().args)
    parts = (sp.integrate(1 / rate, (age, *span)) for rate, span in zip(rates, spans, strict=True))
    return sp.expand(sp.Add(*parts))


def service_time_inverse(attained: sp.Expr) -> sp.Expr:
    """Intrinsic size q⁻¹(attained) that takes a given service time.

    Examples
    --------
    >>> round_trip = service_time_inverse(service_time())
    >>> round_trip.subs({size: 5, slowdown_threshold: 2, slowdown_factor: sp.Rational(1, 4)})
    5
    """
    fast, slow = (rate for rate, _ in service_rate().args)
    return fast * sp.Min(attained, slowdown_threshold) + slow * (
        sp.Max(attained, slowdown_threshold) - slowdown_threshold
    )


@cached
def service_upper_moment(order: int, point: sp.Expr, *, slowed: bool) -> sp.Expr:
    """Upper partial moment E[q(L)^order ; L > point] in upper partial moments of L.

    Parameters
    ----------
    order : int
        Power of the service time.
    point : Expr
        An intrinsic size x; the moment is that of S at t = q(x).
    slowed : bool
        Whether x lies beyond the slowdown threshold ℓ_C (both forms agree at ℓ_C).

    Examples
    --------
    >>> x = sp.Symbol("x", positive=True)
    >>> served = slowdown_threshold * UpperMoment(0, x, size) * (1 - 1 / slowdown_factor)
    >>> sp.expand(service_upper_moment(1, x, slowed=True) - served)
    UpperMoment(1, x, L)/beta
    """
    breakpoints = [slowdown_threshold, point] if slowed else [point, slowdown_threshold]
    return expectation(service_time() ** order * Indicator(size, point), breakpoints, size)


def service_mean(order: int = 1) -> sp.Expr:
    """Moment E[S^order] of the service time in partial moments of L; eq. (5) for order 1."""
    return expectation(service_time() ** order, [slowdown_threshold], size)


def excess_mean() -> sp.Expr:
    """E[(L − ℓ_C)⁺], the work that is done at the slow rate, as in eq. (5) and (7)."""
    return UpperMoment(1, slowdown_threshold, size) - slowdown_threshold * UpperMoment(0, slowdown_threshold, size)


def _moments_of_size(orders: Sequence[int], x: sp.Symbol) -> dict[str, sp.Expr]:
    here = {f"at_x_{order}": UpperMoment(order, x, size) for order in orders}
    return here | {f"at_threshold_{order}": UpperMoment(order, slowdown_threshold, size) for order in orders}


def service_time_formula() -> Formula:
    """q, eq. (3), written so that rounding does not move ℓ_C itself."""
    time = sp.collect(service_time(), 1 / slowdown_factor)
    inputs = {"threshold": slowdown_threshold, "factor": slowdown_factor, "size": size}
    return Formula(inputs, {"service_time": time}, frozenset({"threshold", "factor"}))


def size_formula() -> Formula:
    """q⁻¹."""
    inputs = {"threshold": slowdown_threshold, "factor": slowdown_factor, "attained": age}
    return Formula(inputs, {"size": service_time_inverse(age)}, frozenset({"threshold", "factor"}))


def service_moments_formula(*orders: int) -> Formula:
    """M_n of S at q(x) for these n, from those of L at x and at ℓ_C up to the highest n."""
    x = sp.Dummy("x", nonnegative=True)
    lower = _moments_of_size(range(max(orders) + 1), x)
    inputs = {**lower, "x": x, "threshold": slowdown_threshold, "factor": slowdown_factor}
    outputs = {
        f"moment_{order}": sp.Piecewise(
            (service_upper_moment(order, x, slowed=False), x <= slowdown_threshold),
            (service_upper_moment(order, x, slowed=True), True),
        )
        for order in orders
    }
    numbers = {name for name in lower if "threshold" in name} | {"threshold", "factor"}
    return Formula(inputs, outputs, frozenset(numbers))
