"""Values of expressions with fifty digits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mpmath
import sympy as sp

DIGITS = 50


def value(expression: sp.Expr, numbers: Mapping[sp.Expr, Any] | None = None) -> mpmath.mpf:
    """An expression as a number of mpmath's present precision, with numbers in place of its atoms."""
    exact = {atom: _sympified(number) for atom, number in (numbers or {}).items()}
    result = sp.sympify(expression, strict=True).xreplace(exact).evalf(mpmath.mp.dps, maxn=10 * mpmath.mp.dps)
    return mpmath.mpf(sp.Float(result, mpmath.mp.dps)._mpf_)


def _sympified(number: Any) -> sp.Expr:
    return sp.Float(number, mpmath.mp.dps) if isinstance(number, mpmath.mpf) else sp.sympify(number, strict=True)
