"""Fifty-digit values: a law with exact parameters, its slowdown, and the moments of S at points given by their size x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mpmath
import sympy as sp

from mlptsym.laws import size_laws
from mlptsym.symbolic.algebra.symbols import size, slowdown_factor, slowdown_threshold
from mlptsym.symbolic.model.moments import UpperMoment
from mlptsym.symbolic.model.service import service_mean, service_time, service_upper_moment
from mlptsym.symbolic.model.size_law import point

DIGITS = 50
place = sp.Symbol("x", positive=True)


def value(expression: sp.Expr, numbers: Mapping[sp.Expr, Any] | None = None) -> mpmath.mpf:
    """An expression as a number of mpmath's present precision, with numbers in place of its atoms."""
    exact = {atom: _sympified(number) for atom, number in (numbers or {}).items()}
    result = sp.sympify(expression, strict=True).xreplace(exact).evalf(mpmath.mp.dps, maxn=10 * mpmath.mp.dps)
    return mpmath.mpf(sp.Float(result, mpmath.mp.dps)._mpf_)


def _sympified(number: Any) -> sp.Expr:
    return sp.Float(number, mpmath.mp.dps) if isinstance(number, mpmath.mpf) else sp.sympify(number, strict=True)


@dataclass(frozen=True)
class ServiceLaw:
    """The law of S = q(L) for a law of L with exact parameters."""

    name: str  # The law's name
    parameters: tuple[Any, ...]
    # ℓ_C and β
    threshold: Any
    factor: Any

    def service(self, x: Any) -> mpmath.mpf:
        """q(x)."""
        return value(service_time(), {size: x, **self._slowdown})

    def slope(self, x: Any) -> mpmath.mpf:
        """q′(x) away from ℓ_C."""
        return value(1 / self.factor if x > self.threshold else sp.Integer(1))

    def moment(self, order: int, x: Any) -> mpmath.mpf:
        """E[S^order ; S > q(x)]."""
        return self._in_sizes(service_upper_moment(order, place, slowed=x >= self.threshold), x)

    def mean(self, order: int = 1) -> mpmath.mpf:
        """E[S^order]."""
        return self._in_sizes(service_mean(order), 0)

    def hazard(self, x: Any) -> mpmath.mpf:
        """h_L(x)."""
        return self._of_size(self._law.density, x) / self._of_size(self._law.closed_moment(0), x)

    @property
    def _law(self) -> Any:
        return size_laws()[self.name].formulas()

    @property
    def _slowdown(self) -> dict[sp.Expr, Any]:
        return {slowdown_threshold: self.threshold, slowdown_factor: self.factor}

    def _of_size(self, expression: sp.Expr, x: Any) -> mpmath.mpf:
        return value(expression, {**dict(zip(self._law.parameters, self.parameters, strict=True)), point: x})

    def _in_sizes(self, expression: sp.Expr, x: Any) -> mpmath.mpf:
        """An expression in moments of L at x and at ℓ_C."""
        numbers: dict[sp.Expr, Any] = {place: x, **self._slowdown}
        for moment in expression.atoms(UpperMoment):
            order, start, _ = moment.args
            at = numbers.get(start, start)
            form = self._law.closed_moment(int(order)) if at != 0 else self._law.moment(int(order))
            numbers[moment] = self._of_size(form, at)
        return value(expression, numbers)
