"""A size law in symbols: a density, and closed forms of the upper partial moments E[L^n ; L > x], with their proof.

The laws themselves stand in `mlptsym.laws`.  Closed forms are written so that they keep their digits in double
precision: sums of positive terms where there is a choice.  `moment_defects` is the proof obligation of every law: the
derivative of each closed form is −x^n f(x), its value at the lower end of the support is E[L^n] (one for n = 0), and
it vanishes at the upper end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.formula import Formula

point = sp.Symbol("x", nonnegative=True)


@dataclass(frozen=True)
class LawFormulas:
    """The formulas of a law of the intrinsic size L, in the symbols of its parameters."""

    name: str  # The law's name
    parameters: tuple[sp.Symbol, ...]  # Its parameters, named as the fields of the class of that name
    density: sp.Expr  # f(x) inside the support
    closed_moment: Callable[[int], sp.Expr]  # n ↦ E[L^n ; L > x] inside the support
    moment: Callable[[int], sp.Expr]  # n ↦ E[L^n], for those n where it is finite
    support: tuple[sp.Expr, sp.Expr] = (sp.S.Zero, sp.oo)  # The ends of the support
    moment_limit: sp.Expr = sp.oo  # E[L^n] is finite exactly for n below this (∞ for laws with all moments)
    # n ↦ a function with derivative −x^n f(x) that stays finite where E[L^n] is infinite; differences of it are
    # partial moments over an interval.  ``None`` where `closed_moment` serves.
    antiderivative: Callable[[int], sp.Expr] | None = None
    conditions: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()  # Relations between parameters that the proofs may use
    density_start: sp.Expr | None = None  # The limit of the density at 0 where substitution does not give it
    # The density as a textbook writes it, which the ledger holds against ``density``
    textbook: sp.Expr = field(kw_only=True)
    latex: str = field(kw_only=True)  # The same for readers

    def density_everywhere(self) -> sp.Expr:
        """f(x) for every x ≥ 0, with its right limit at the lower end of the support."""
        low, high = self.support
        if high is not sp.oo:
            return sp.Piecewise((sp.S.Zero, point < low), (self.density, point < high), (sp.S.Zero, True))
        start = self.density.subs(point, 0) if self.density_start is None else self.density_start
        return sp.Piecewise((start, point <= 0), (self.density, True))

    def upper_moment(self, order: int) -> sp.Expr:
        """E[L^order ; L > x] for every x ≥ 0."""
        low, high = self.support
        inside = (self.closed_moment(order), True if high is sp.oo else point < high)
        outside = () if high is sp.oo else ((sp.S.Zero, True),)
        return sp.Piecewise((self.moment(order), point <= low), inside, *outside)


def start_by_shape(shape: sp.Expr, scale: sp.Expr) -> sp.Expr:
    """Density at 0 of a law that behaves like x^(shape−1) there and is exponential for shape 1."""
    return sp.Piecewise((sp.oo, shape < 1), (1 / scale, sp.Eq(shape, 1)), (sp.S.Zero, True))


@dataclass(frozen=True)
class MomentDefects:
    """What must be zero for a closed-form moment to be right: the defects of its derivative and end values."""

    derivative: sp.Expr
    start: sp.Expr
    end: sp.Expr


def moment_defects(law: LawFormulas, order: int) -> MomentDefects:
    """Defects of the closed form of E[L^order ; L > x]; the form is right if and only if all three are zero.

    ``derivative`` is d/dx of the closed form plus x^n f(x); ``start`` its value at the lower end of the support less
    the stated moment (and, for order 0, less one); ``end`` its limit at the upper end.  A law whose moments are
    finite for some parameters only (Lomax) is checked at shape = order + ε for a symbolic ε > 0.
    """
    low, high = law.support
    conditions = dict(law.conditions)
    if law.moment_limit is not sp.oo:
        conditions[law.moment_limit] = order + sp.Symbol("epsilon", positive=True)
    closed, density, stated = (
        expression.subs(conditions) for expression in (law.closed_moment(order), law.density, law.moment(order))
    )
    return MomentDefects(
        derivative=_proved_form(sp.diff(closed, point) + point**order * density),
        start=_proved_form(_limit(closed, low, law) - (1 if order == 0 else stated)),
        end=_proved_form(_limit(closed, high, law)),
    )


def antiderivative_defect(law: LawFormulas, order: int) -> sp.Expr:
    """d/dx of the law's antiderivative, plus x^n f(x); zero if and only if its differences are partial moments."""
    if law.antiderivative is None:
        raise ValueError(f"{law.name} has no antiderivative beside its closed moments")
    return _proved_form((sp.diff(law.antiderivative(order), point) + point**order * law.density).doit())


@cached
def _proved_form(expression: sp.Expr) -> sp.Expr:
    """The expression with point masses evaluated, logarithms of positive quantities split, and simplified."""
    inside = sp.Dummy("x", positive=True)
    explicit = expression.subs(point, inside).doit()
    for mass in explicit.atoms(sp.DiracDelta):
        (location,) = sp.solve(mass.args[0], inside)
        explicit = explicit.subs(mass, 0) + explicit.expand().coeff(mass).subs(inside, location) * mass
    terms = sp.expand(sp.expand_log(sp.expand(explicit).rewrite(sp.exp), force=True))
    return sp.simplify(sp.together(terms))


@cached
def _limit(expression: sp.Expr, end: sp.Expr, law: LawFormulas) -> sp.Expr:
    """One-sided limit at an end of the support, by substitution where the expression is continuous there."""
    value = expression.subs(point, end)
    if not value.has(sp.nan, sp.zoo, sp.oo, sp.log(0)):
        return value
    stretched = sp.Dummy("v", positive=True)
    if law.moment_limit is sp.oo:
        return sp.limit(expression.subs(point, stretched), stretched, end, "+" if end.is_zero else "-")
    # powers of one variable, each of which SymPy takes to its limit; in one piece it returns ∞ for x^(−ε)
    scale = law.parameters[-1]
    powers = sp.expand(sp.powsimp(sp.expand(expression.subs(point, scale * (stretched - 1))), force=True))
    return sp.Add(*(sp.limit(term, stretched, end) for term in sp.Add.make_args(powers)))


def logarithm(expression: sp.Expr) -> sp.Expr:
    """Logarithm of a positive expression, in a form that is finite where the expression is too small for a float.

    Examples
    --------
    >>> a, b = sp.symbols("a b", positive=True)
    >>> logarithm(a * sp.exp(-b))
    -b + log(a)
    """
    if isinstance(expression, sp.Add):  # relative to the largest term
        terms = [logarithm(term) for term in expression.args]
        largest = sp.Max(*terms)
        return largest + sp.log(sp.Add(*(sp.exp(term - largest) for term in terms)))
    logs = sp.expand_log(sp.log(sp.powsimp(expression.doit())), force=True)
    # for whole numbers SymPy itself would go back from log Γ to the logarithm of a factorial
    factorials = {
        part: sp.loggamma(*part.args[0].args, evaluate=False)
        for part in logs.atoms(sp.log)
        if part.args[0].func is sp.gamma
    }
    return logs.xreplace(factorials)


def law_formula(law: Any, lengths: tuple[int, ...], wanted: str, *orders: int) -> Formula:
    """Formulas of a law in its parameters and x.

    Parameters
    ----------
    law : type
        A size law of `mlptsym.laws`.
    lengths : tuple of int
        How many numbers a parameter that is a sequence has.
    wanted : str
        ``moments``: E[L^n ; L > x]; ``antiderivatives``: the same with the antiderivative for n ≥ 2; ``density``:
        f(x) everywhere; ``hazard``: f(x) and the first two moments in one, so that they share what they have in
        common; ``smooth``: tail, density and its derivative inside the support.
    orders : int
        n, for the first two.
    """
    formulas: LawFormulas = law.formulas(*lengths)
    moment, antiderivative = formulas.upper_moment, formulas.antiderivative or formulas.upper_moment
    outputs = {
        "moments": lambda: {f"moment_{n}": moment(n) for n in orders},
        "antiderivatives": lambda: {f"moment_{n}": (moment if n < 2 else antiderivative)(n) for n in orders},
        "density": lambda: {"density": formulas.density_everywhere()},
        "hazard": lambda: {"density": formulas.density_everywhere(), "tail": moment(0), "first": moment(1)},
        "log_density": lambda: {"log_density": logarithm(formulas.density)},
        "smooth": lambda: {
            "tail": formulas.closed_moment(0),
            "density": formulas.density,
            "slope": sp.diff(formulas.density, point),
        },
    }[wanted]()
    numbers = {str(parameter): parameter for parameter in formulas.parameters}
    return Formula({**numbers, "x": point}, outputs, frozenset(numbers))
