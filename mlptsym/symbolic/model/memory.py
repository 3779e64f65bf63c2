"""Memory growth g(a): the state a job holds at attained service a, eq. (1), and the restore cost γ g(a), eqs. (4), (8).

Each function returns a `MemoryLaw`; a new one needs g as an expression in ``age`` and its growth line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp

from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import age, preemption_cost


@dataclass(frozen=True)
class MemoryLaw:
    """A non-decreasing g.

    Attributes
    ----------
    name : str
        The law's name.
    parameters : tuple of Symbol
        Its parameters, named as the fields of the numeric class of the same name.
    growth : Expr
        g(a) in the symbol ``age``.
    line : pair of Expr
        Intercept and slope of a line that bounds g from above; slope 0 where g is bounded.
    smooth_from : Expr
        Age from which on g is one polynomial.
    """

    name: str
    parameters: tuple[sp.Symbol, ...]
    growth: sp.Expr
    line: tuple[sp.Expr, sp.Expr]
    smooth_from: sp.Expr = sp.S.Zero


def linear() -> MemoryLaw:
    """g(a) = slope · a: the key–value cache of full attention, one entry for each token generated."""
    slope = sp.Symbol("slope", positive=True)
    return MemoryLaw("LinearMemory", (slope,), slope * age, (sp.S.Zero, slope))


def affine() -> MemoryLaw:
    """g(a) = base + slope · a: the cache of the prompt is there at age 0."""
    base, slope = sp.Symbol("base", nonnegative=True), sp.Symbol("slope", positive=True)
    return MemoryLaw("AffineMemory", (base, slope), base + slope * age, (base, slope))


def saturating() -> MemoryLaw:
    """g(a) = base + slope · min(a, window): sliding-window attention keeps the last tokens only."""
    base, slope = sp.Symbol("base", nonnegative=True), sp.Symbol("slope", positive=True)
    window = sp.Symbol("window", positive=True)
    return MemoryLaw(
        "SaturatingMemory",
        (slope, window, base),
        base + slope * sp.Min(age, window),
        (base + slope * window, sp.S.Zero),
        window,
    )


MEMORY_LAWS: dict[str, Callable[[], MemoryLaw]] = {
    "LinearMemory": linear,
    "AffineMemory": affine,
    "SaturatingMemory": saturating,
}


def restore_cost_at(law: MemoryLaw) -> sp.Expr:
    """c(a) = γ g(a), eq. (4), in the symbol ``age``."""
    return preemption_cost * law.growth


def growth_formula(law: str) -> Formula:
    """g(a) and dg/da from the right, of a memory law by name."""
    found = MEMORY_LAWS[law]()
    # a derivative of Min or Max brings steps, which SymPy takes to be 1/2 where they step
    slope = sp.diff(found.growth, age).replace(sp.Heaviside, lambda gap, _: _step_to_the_right(gap))
    numbers = {str(parameter): parameter for parameter in found.parameters}
    return Formula({**numbers, "a": age}, {"growth": found.growth, "slope": slope}, frozenset(numbers))


def _step_to_the_right(gap: sp.Expr) -> sp.Expr:
    """1{gap > 0}, and where the gap is zero its value just to the right."""
    after = gap >= 0 if sp.diff(gap, age).is_positive else gap > 0
    return sp.Piecewise((1, after), (0, True))


def shape_formula(law: str) -> Formula:
    """The bounding line, and the start of the last smooth part, of a memory law by name."""
    found = MEMORY_LAWS[law]()
    intercept, slope = found.line
    numbers = {str(parameter): parameter for parameter in found.parameters}
    outputs = {"intercept": intercept, "slope": slope, "smooth_from": found.smooth_from}
    return Formula(numbers, outputs, frozenset(numbers))
