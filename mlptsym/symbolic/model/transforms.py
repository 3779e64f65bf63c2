"""Partial Laplace transforms E[S^n e^{−sS} ; a < S ≤ b], and an operator that produces them from pieces of service."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import sympy as sp
from sympy.core.function import ArgumentIndexError

from mlptsym.symbolic.algebra.symbols import service
from mlptsym.symbolic.model.moments import Density, UpperMoment, on_interval


class PartialTransform(sp.Function):
    r"""Partial transform ``PartialTransform(n, s, a, b, variable)`` = E[variable^n e^{−s·variable} ; a < variable ≤ b].

    It stays folded; what SymPy knows of it is its derivatives, and that it is M_n(a) − M_n(b) at s = 0.

    Examples
    --------
    >>> s, t = sp.symbols("s t", positive=True)
    >>> PartialTransform(0, s, 0, t).diff(s)
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

    Between breakpoints (as for `expectation`) X is linear in the variable, and the event, such as an `Indicator`, is
    constant.  It is a linear combination of `PartialTransform`\ s, and of `UpperMoment`\ s where X is constant.

    Raises
    ------
    ValueError
        If X is not linear, or the event not constant, between breakpoints.

    Examples
    --------
    >>> s, t = sp.symbols("s t", positive=True)
    >>> transform(sp.Min(service, t), s, [t])
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
