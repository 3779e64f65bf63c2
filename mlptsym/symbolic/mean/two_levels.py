"""Two levels: corollary 4.6, its derivative, A and B of appendix A, and the jump at ℓ_C (eqs. (29), (30)).

The boundary is put at θ = q(x), the service time of an intrinsic size x, so that the tail of S at θ is that of L at
x. Differentiating theorem 4.5 for k = 2 in x by the rules of calculus (the partial moments bring the density of S, by
Leibniz) gives an expression linear in the hazard of L, and its two coefficients are A and B.  The restore cost is a
general c(θ) = γ g(θ); the paper's forms are those for g(θ) = θ.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import (
    arrival_rate,
    attained,
    preemption_cost,
    quantum,
    restore_cost,
    slowdown_factor,
)
from mlptsym.symbolic.mean.response import mean_response_time
from mlptsym.symbolic.model.moments import Density, UpperMoment, mean, tail


def two_level_response_time(restore: sp.Expr | None = None) -> sp.Expr:
    """E[T(θ)] for two levels with the boundary at the symbol ``quantum``, eq. (29); c(θ) is γθ unless given."""
    due = preemption_cost * quantum if restore is None else restore
    return mean_response_time(2).subs({restore_cost(1): due, attained(1): quantum})


@dataclass(frozen=True)
class TwoLevelTerms:
    """T′(x) and its parts, as expressions in the symbols held here."""

    # q(x) and q′(x), one-sided at ℓ_C
    service: sp.Symbol
    service_slope: sp.Symbol
    # c(θ) and dc/dθ at θ = q(x)
    restore: sp.Symbol
    restore_slope: sp.Symbol
    # F̄_L(x) and h_L(x)
    tail: sp.Symbol
    hazard: sp.Symbol
    # M_1 and M_2 of S at q(x)
    first: sp.Symbol
    second: sp.Symbol
    # The terms of eq. (30), T′ = F̄_L (A − B h_L), in the symbols above, λ, E[S] and E[S²].
    A: sp.Expr
    B: sp.Expr
    derivative: sp.Expr  # T′(x)


@cached
def two_level_terms() -> TwoLevelTerms:
    """Differentiate T(x) = E[T(q(x))] and collect A and B from the result.

    Examples
    --------
    >>> terms = two_level_terms()
    >>> sp.simplify(terms.derivative - terms.tail * (terms.A - terms.B * terms.hazard))
    0
    """
    x = sp.Dummy("x", positive=True)
    q, c = sp.Function("q", positive=True), sp.Function("c", positive=True)
    service, service_slope, restore, restore_slope = sp.symbols("q dq c dc", nonnegative=True)
    survival, hazard, first, second = sp.symbols("Fbar h M_1 M_2", nonnegative=True)

    derivative = two_level_response_time(c(quantum)).subs(quantum, q(x)).diff(x).doit()
    at_point = {
        # the density of S at q(x), times q′(x), is that of L at x
        Density(q(x)): hazard * survival / q(x).diff(x),
        tail(q(x)): survival,
        UpperMoment(1, q(x)): first,
        UpperMoment(2, q(x)): second,
    }
    slope_of_c = sp.Subs(sp.Derivative(c(quantum), quantum), quantum, q(x)).doit()
    names = {slope_of_c: restore_slope, c(q(x)): restore, q(x).diff(x): service_slope, q(x): service}
    for old, new in {**at_point, **names}.items():
        derivative = derivative.subs(old, new)
    per_survivor = derivative / survival
    A = sp.expand(per_survivor.subs(hazard, 0), deep=False)
    B = -sp.diff(per_survivor, hazard)
    return TwoLevelTerms(
        service, service_slope, restore, restore_slope, survival, hazard, first, second, A, B, derivative
    )


def jump_ratio() -> sp.Expr:
    """(A/B at ℓ_C⁺) / (A/B at ℓ_C⁻): q′ steps from 1 to 1/β there, everything else is continuous.

    Examples
    --------
    >>> sp.simplify(jump_ratio() * slowdown_factor)
    1
    """
    terms = two_level_terms()
    ratio = terms.A / terms.B
    return sp.factor_terms(ratio.subs(terms.service_slope, 1 / slowdown_factor) / ratio.subs(terms.service_slope, 1))


def two_level_formula() -> Formula:
    """A, B and T′(x)."""
    terms = two_level_terms()
    names = ("service", "service_slope", "restore", "restore_slope", "tail", "first", "second", "hazard")
    inputs = {"arrival_rate": arrival_rate, "mean": mean(), "mean_square": mean(order=2)}
    outputs = {"A": terms.A, "B": terms.B, "derivative": terms.tail * (terms.A - terms.B * terms.hazard)}
    numbers = frozenset(inputs)
    return Formula({**inputs, **{name: getattr(terms, name) for name in names}}, outputs, numbers)
