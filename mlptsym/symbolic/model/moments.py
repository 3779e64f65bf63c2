r"""Upper partial moments M_n(t) = E[S^n ; S > t], and an expectation operator that produces them.

Everything the theory asks of a service time S is M_0, M_1 and M_2 at the boundaries.  `expectation` integrates a
piecewise polynomial of S against the density of S: between two neighbouring breakpoints the polynomial is one
expression, and the fundamental theorem of calculus gives each power as a difference of two `UpperMoment`\ s.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import sympy as sp
from sympy.core.function import ArgumentIndexError

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.symbols import service


class Density(sp.Function):
    """Density f of a random variable at a point: ``Density(t, variable)``; the variable is S unless given."""

    def __new__(cls, point: Any, variable: sp.Symbol = service, **options: Any) -> sp.Expr:
        return super().__new__(cls, point, variable, **options)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        point, variable = (printer._print(argument) for argument in self.args)
        body = rf"f_{{{variable}}}\left({point}\right)"
        return body if exp is None else rf"{body}^{{{exp}}}"


class UpperMoment(sp.Function):
    """Upper partial moment ``UpperMoment(n, t, variable)`` = E[variable^n ; variable > t]; of S unless told otherwise.

    It stays folded; what SymPy knows of it is M_0(0) = 1, M_n(∞) = 0 and d/dt M_n(t) = −t^n f(t).

    Examples
    --------
    >>> import sympy as sp
    >>> t = sp.Symbol("t", positive=True)
    >>> UpperMoment(1, t).diff(t)
    -t*Density(t, S)
    >>> UpperMoment(0, 0), UpperMoment(2, sp.oo)
    (1, 0)
    """

    def __new__(cls, order: Any, point: Any, variable: sp.Symbol = service, **options: Any) -> sp.Expr:
        return super().__new__(cls, order, point, variable, **options)

    @classmethod
    def eval(cls, order: sp.Expr, point: sp.Expr, variable: sp.Symbol) -> sp.Expr | None:
        if point is sp.oo:
            return sp.S.Zero
        if order.is_zero and point.is_zero:
            return sp.S.One
        return None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        order, point, variable = self.args
        if argindex != 2:
            raise ArgumentIndexError(self, argindex)
        return -(point**order) * Density(point, variable)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        order, point, variable = self.args
        mark = "" if variable == service else f"^{{{printer._print(variable)}}}"
        if order.is_zero:
            body = rf"\bar F{mark}\left({printer._print(point)}\right)"
        elif point.is_zero:
            power = "" if order == 1 else f"^{{{printer._print(order)}}}"
            body = rf"\mathbb{{E}}[{printer._print(variable)}{power}]"
        else:
            body = rf"M_{{{printer._print(order)}}}{mark}\left({printer._print(point)}\right)"
        return body if exp is None else rf"\left({body}\right)^{{{exp}}}"


class Indicator(sp.Function):
    """``Indicator(variable, t)`` = 1{variable > t}: zero at t itself, where a job that needs exactly t completes."""

    nargs = 2

    @classmethod
    def eval(cls, variable: sp.Expr, point: sp.Expr) -> sp.Expr | None:
        if point.is_zero and variable.is_positive:
            return sp.S.One
        return sp.S.Zero if point is sp.oo else None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        variable, point = self.args
        at_point = sp.DiracDelta(variable - point)
        return at_point if argindex == 1 else -at_point

    def _eval_power(self, exponent: sp.Expr) -> sp.Expr | None:
        return self if exponent.is_positive else None

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return rf"\mathbf{{1}}\{{{printer._print(self.args[0])} > {printer._print(self.args[1])}\}}"


def tail(point: Any, variable: sp.Symbol = service) -> sp.Expr:
    """Tail probability P(variable > point) = M_0(point)."""
    return UpperMoment(0, point, variable)


def mean(variable: sp.Symbol = service, order: int = 1) -> sp.Expr:
    """Moment E[variable^order] = M_order(0)."""
    return UpperMoment(order, 0, variable)


def expectation(expression: Any, breakpoints: Sequence[Any], variable: sp.Symbol = service) -> sp.Expr:
    r"""Expectation of a piecewise polynomial of a random variable, in upper partial moments.

    Parameters
    ----------
    expression : Expr
        A polynomial in the variable, in ``Min``/``Max`` of terms linear in it, and in `Indicator`\ s of it.
    breakpoints : sequence of Expr
        All points where the expression changes, in increasing order, 0 and ∞ left out.  Their order is an assumption
        of the caller (t_1 < t_2 < …) and is never guessed.
    variable : Symbol
        The random variable, S unless given.

    Returns
    -------
    Expr
        A linear combination of `UpperMoment`\ s at 0 and at the breakpoints.

    Raises
    ------
    ValueError
        If the expression changes at a point that is no breakpoint, or is no polynomial between breakpoints.

    Examples
    --------
    >>> import sympy as sp
    >>> t = sp.Symbol("t", positive=True)
    >>> expectation(sp.Min(service, t), [t]) == mean() - UpperMoment(1, t) + t * tail(t)
    True
    >>> expectation(Indicator(service, t) * (service - t), [t]) == UpperMoment(1, t) - t * tail(t)
    True
    """
    points = (
        sp.S.Zero,
        *(sp.sympify(point, strict=True) for point in breakpoints if sp.sympify(point, strict=True) is not sp.oo),
        sp.oo,
    )
    return _expectation(sp.sympify(expression, strict=True), points, variable)


@cached
def _expectation(expression: sp.Expr, points: tuple[sp.Expr, ...], variable: sp.Symbol) -> sp.Expr:
    result = sp.S.Zero
    for lower, upper in pairwise(points):
        here = on_interval(expression, points, points.index(lower), variable)
        try:
            polynomial = sp.Poly(sp.expand(here), variable)
        except sp.PolynomialError as error:
            raise ValueError(f"{here} is no polynomial in {variable} on ({lower}, {upper})") from error
        for (power,), coefficient in polynomial.terms():
            if coefficient.has(variable):
                raise ValueError(f"{here} is no polynomial in {variable} on ({lower}, {upper})")
            integral = UpperMoment(power, lower, variable) - UpperMoment(power, upper, variable)
            result += coefficient * integral
    return sp.expand(result)


def on_interval(expression: sp.Expr, points: tuple[sp.Expr, ...], position: int, variable: sp.Symbol) -> sp.Expr:
    """The expression as it reads while points[position] < variable <= points[position + 1]."""
    if not expression.args or not expression.has(sp.Min, sp.Max, Indicator):
        return expression
    arguments = [on_interval(argument, points, position, variable) for argument in expression.args]
    if isinstance(expression, (sp.Min, sp.Max)):
        best = arguments[0]
        for other in arguments[1:]:
            larger = _is_positive(other - best, points, position, variable)
            best = other if larger == isinstance(expression, sp.Max) else best
        return best
    if isinstance(expression, Indicator):
        return sp.S.One if _is_positive(arguments[0] - arguments[1], points, position, variable) else sp.S.Zero
    return expression.func(*arguments)


def _is_positive(difference: sp.Expr, points: tuple[sp.Expr, ...], position: int, variable: sp.Symbol) -> bool:
    """Sign, on one interval, of a difference that is linear in the variable with its root at a breakpoint."""
    slope = sp.diff(difference, variable)
    _, *inner, _ = points
    if slope.is_zero:
        positive = sp.expand(difference.xreplace(_ordered(points))).is_positive
        if positive is not None:
            return bool(positive)
    if slope.is_zero or not slope.is_number:
        raise ValueError(f"the sign of {difference} is not decided by the breakpoints {inner}")
    root = sp.expand(variable - difference / slope)
    if root not in points:
        raise ValueError(f"the expression changes at {root}, which is not among the breakpoints {inner}")
    return bool(slope > 0) == (points.index(root) <= position)


def _ordered(points: tuple[sp.Expr, ...]) -> dict[sp.Expr, sp.Expr]:
    """The breakpoints as sums of positive steps, which tells SymPy their order."""
    named = [point for point in points if point.is_Symbol or isinstance(point, sp.Indexed)]
    steps = (sp.Dummy(positive=True) for _ in named)
    return dict(zip(named, accumulate(steps), strict=True))
