"""Memory growth g(a): the state a job holds at attained service a, eq. (1), and the restore cost γ g(a), eqs. (4), (8).

The laws themselves are classes of `mlptsym.memory`, each with its `MemoryFormulas`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import age, preemption_cost

__all__ = ["MemoryFormulas", "memory_formula", "restore_cost_at"]


@dataclass(frozen=True)
class MemoryFormulas:
    """A non-decreasing g, below a line and, beyond some age, not far below it."""

    parameters: tuple[sp.Symbol, ...]
    """Named as the fields of the numeric class of the same name."""

    growth: sp.Expr
    """g(a) in the symbol ``age``."""

    line: tuple[sp.Expr, sp.Expr]
    """Intercept and slope of a line that bounds g from above; slope 0 where g is bounded."""

    linear_from: sp.Expr = sp.S.Zero
    """Age from which on g is within ``lag`` of that line; g has a kink there unless it is 0."""

    lag: sp.Expr = sp.S.Zero
    """How far below the line g may stay there."""

    step: sp.Expr = sp.S.Zero
    """g jumps just behind each multiple of this age; 0 where it does not jump."""


def restore_cost_at(law: MemoryFormulas) -> sp.Expr:
    """c(a) = γ g(a), eq. (4), in the symbol ``age``."""
    return preemption_cost * law.growth


def memory_formula(law: Any, wanted: str) -> Formula:
    """Formulas of a class of memory laws in its parameters.

    ``wanted`` is "growth" for g(a) and dg/da from the right in the age a as well, or "shape" for the bounding line, and
    where and how g differs from it.
    """
    found = law.formulas()
    inputs: dict[str, sp.Expr] = {str(parameter): parameter for parameter in found.parameters}
    numbers = frozenset(inputs)
    if wanted == "shape":
        outputs = dict(zip(("intercept", "slope"), found.line, strict=True))
        outputs |= {name: getattr(found, name) for name in ("linear_from", "lag", "step")}
    else:
        # between its jumps a ceiling is constant, and SymPy has no derivative of it
        between = found.growth.replace(sp.ceiling, lambda _: sp.Dummy())
        # a derivative of Min or Max brings steps, which SymPy takes to be 1/2 where they step
        slope = sp.diff(between, age).replace(sp.Heaviside, lambda gap, _: _step_to_the_right(gap))
        inputs, outputs = inputs | {"a": age}, {"growth": found.growth, "slope": slope}
    return Formula(inputs, outputs, numbers)


def _step_to_the_right(gap: sp.Expr) -> sp.Expr:
    """1{gap > 0}, and where the gap is zero its value just to the right."""
    after = gap >= 0 if sp.diff(gap, age).is_positive else gap > 0
    return sp.Piecewise((1, after), (0, True))
