"""The derivative of E[T] in a size x with θ = q(x): equation (30), A, B and Q of appendix A."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import sympy as sp

from mlptsym.laws import size_laws
from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import Equations, agreement, everything, is_positive
from mlptsym.ledger.exact.digits import DIGITS, value
from mlptsym.ledger.exact.service_law import ServiceLaw
from mlptsym.ledger.paper.notation import beta, ell_C, gamma, lam, theta
from mlptsym.ledger.paper.parameters import PAPER
from mlptsym.ledger.sections.two_levels.corollary import response_time
from mlptsym.ledger.sections.two_levels.quantities import (
    TwoLevels,
    at_quantum,
    at_size,
    linear_cost,
    with_spare_capacity,
)
from mlptsym.symbolic.mean.two_levels import two_level_terms
from mlptsym.symbolic.model.moments import UpperMoment, mean

Part = Callable[[TwoLevels, sp.Expr], sp.Expr]


def part_A(two: TwoLevels, slope: sp.Expr, Q: sp.Expr | None = None) -> sp.Expr:  # the paper's name
    """A(x)."""
    Q = two.Q if Q is None else Q
    return slope * (
        two.first_factor * Q + gamma + two.odds + lam * gamma * two.tail / (1 - two.rho) ** 2 * (two.theta + two.d_1)
    )


def part_B(two: TwoLevels) -> sp.Expr:
    """B(x)."""
    return (
        two.first_factor * gamma**2 * two.theta**2 / 2
        + gamma * two.theta
        + two.odds * (two.theta + two.d_1)
        + lam * gamma * two.tail * two.theta / (1 - two.rho) ** 2 * (two.theta + two.d_1)
    )


@entry(
    "eq-30",
    "T′(x) = F̄_L(x) B(x) (A(x)/B(x) − h_L(x))",
    r"T'(x) = \bar F_L(x)B(x)\Bigl(\frac{A(x)}{B(x)} - h_L(x)\Bigr)",
    lambda: derivative,
    ("h_L added", lambda two, slope, hazard: derivative(two, slope, -hazard)),
    ("F̄_L left out", lambda two, slope, hazard: derivative(two, slope, hazard) / two.tail),
)
def check_derivative(claim: Callable[[TwoLevels, sp.Expr, sp.Symbol], sp.Expr]) -> Outcome:
    """Leibniz differentiation of (29) at θ = q(x), the density of S at q(x) times q′ being that of L at x."""
    terms = two_level_terms()
    found = terms.derivative.subs(linear_cost(terms))
    equations = with_spare_capacity(terms, ("T′(x)", claim(at_size(terms), terms.service_slope, terms.hazard), found))
    folded = terms.derivative.atoms(UpperMoment) <= {mean(), mean(order=2)}
    words = "no moments but E[S] and E[S²] beside the symbols" if folded else "a moment without its symbol"
    return everything(equations, Outcome(folded, words))


def _samples() -> dict[str, ServiceLaw]:
    """Two laws with ℓ_C = 500, at the paper's λ, β and γ."""
    fixed = {ell_C: sp.Integer(500), beta: sp.Rational(PAPER.slowdown_factor)}
    fixed |= {lam: sp.Rational(PAPER.arrival_rate), gamma: sp.Rational(PAPER.preemption_cost)}
    found = {}
    for name, parameters in (("LogNormal", (PAPER.mu, PAPER.sigma)), ("Gamma", (sp.Rational(7, 10), 240))):
        law = size_laws()[name].formulas()
        numbers = dict(zip(law.parameters, map(sp.Rational, parameters), strict=True))
        found[name] = ServiceLaw(law, fixed | numbers, value)
    return found


@entry(
    "eq-30-digits",
    "(30) is the derivative of (29), at x = 200 and 700 for two laws with ℓ_C = 500",
    r"T'(x) = \frac{d}{dx}\mathbb E[T(q(x))]",
    lambda: derivative,
    ("q′ left out of A", lambda two, slope, hazard: derivative(two, sp.S.One, hazard)),
    ("h_L added", lambda two, slope, hazard: derivative(two, slope, -hazard)),
    method="digits",
)
def check_derivative_digits(claim: Callable[[TwoLevels, sp.Expr, sp.Expr], sp.Expr]) -> Outcome:
    """(30) against mpmath's derivative of (29) in x, before and after ℓ_C = 500, at the paper's λ, β and γ."""
    terms = two_level_terms()
    printed = claim(at_size(terms), terms.service_slope, terms.hazard)
    time = response_time(at_quantum())
    pairs = []
    with mpmath.workdps(DIGITS + 10):
        for name, law in _samples().items():
            means = {mean(): law.mean(), mean(order=2): law.mean(2)}

            def response(x: mpmath.mpf, law: ServiceLaw = law, means: dict[sp.Expr, Any] = means) -> mpmath.mpf:
                here = {UpperMoment(n, theta): law.moment(n, x, slowed=x >= law.threshold) for n in range(3)}
                return value(time, {**law.numbers, **means, **here, theta: law.service(x)})

            for x in (sp.Integer(200), sp.Integer(700)):
                here = law.terms(terms, x, slowed=bool(x > law.threshold))
                pairs.append((f"T′({x}), {name}", value(printed, here), mpmath.diff(response, int(x))))
    return agreement(pairs, DIGITS)


@entry(
    "A",
    "A = q′ [λ(1 + F̄_L ρ/(1 − ρ))/(1 − ρ_1) Q + γ + ρ/(1 − ρ) + λγF̄_L/(1 − ρ)² (q + d_1)]",
    r"A(x) = q'(x)\Bigl[\frac{\lambda\bigl(1+\bar F_L\frac{\rho}{1-\rho}\bigr)}{1-\rho_1}Q + \gamma"
    r" + \frac{\rho}{1-\rho} + \frac{\lambda\gamma\bar F_L}{(1-\rho)^2}(q+d_1)\Bigr]",
    part_A,
    ("1 − ρ for (1 − ρ)²", lambda: linear_in_spare_capacity),
    ("γ left out", lambda two, slope: part_A(two, slope) - slope * gamma),
    ("E[S²] for E[S_2] in Q", lambda two, slope: part_A(two, slope, square_for_mean(two))),
    ("q′ left out", lambda two, slope: part_A(two, sp.S.One)),
    source="appendix A",
)
def check_A(claim: Part) -> Equations:
    """The part of the package's T′/F̄_L that is free of the hazard."""
    terms = two_level_terms()
    return with_spare_capacity(
        terms, ("A", claim(at_size(terms), terms.service_slope), terms.A.subs(linear_cost(terms)))
    )


@entry(
    "B",
    "B = λ(1 + F̄_L ρ/(1 − ρ))/(1 − ρ_1) γ²q²/2 + γq + ρ/(1 − ρ) (q + d_1) + λγF̄_L q/(1 − ρ)² (q + d_1)",
    r"B(x) = \frac{\lambda\bigl(1+\bar F_L\frac{\rho}{1-\rho}\bigr)}{1-\rho_1}\frac{\gamma^2q^2}{2} + \gamma q"
    r" + \frac{\rho}{1-\rho}(q+d_1) + \frac{\lambda\gamma\bar F_Lq}{(1-\rho)^2}(q+d_1)",
    lambda two, slope: part_B(two),
    ("γ² for γ²/2", lambda two, _: part_B(two) + two.first_factor * gamma**2 * two.theta**2 / 2),
    ("times q′", lambda two, slope: slope * part_B(two)),
    ("γq left out", lambda two, slope: part_B(two) - gamma * two.theta),
    source="appendix A",
)
def check_B(claim: Part) -> Equations:
    """The coefficient of −h_L in the package's T′/F̄_L."""
    terms = two_level_terms()
    return with_spare_capacity(
        terms, ("B", claim(at_size(terms), terms.service_slope), terms.B.subs(linear_cost(terms)))
    )


@entry(
    "Q",
    "Q = d_1 + q − (1 − γ)E[S_2], with E[S_2] and not E[S²]",
    r"Q(x) = d_1 + q - (1-\gamma)\mathbb E[S_2]",
    lambda two: two.Q,
    ("E[S²] for E[S_2]", lambda: square_for_mean),
    ("γ for 1 − γ", lambda two: two.d_1 + two.theta - gamma * two.mean_2),
    ("q left out", lambda two: two.Q - two.theta),
    source="appendix A, where the print can be read as E[S²]",
)
def check_Q(claim: Callable[[TwoLevels], sp.Expr]) -> Equations:
    """What multiplies the first bracket of A, solved for from the package's A."""
    terms = two_level_terms()
    two, unknown = at_size(terms), sp.Symbol("Q")
    printed = part_A(two, terms.service_slope, unknown)
    rest = printed.subs(unknown, 0)
    solved = (terms.A.subs(linear_cost(terms)) - rest) / sp.diff(printed, unknown)
    return with_spare_capacity(terms, ("Q", claim(two), solved))


def derivative(two: TwoLevels, slope: sp.Expr, hazard: sp.Expr) -> sp.Expr:
    """(30)."""
    A, B = part_A(two, slope), part_B(two)
    return two.tail * B * (A / B - hazard)


@entry(
    "B-positive",
    "B(x) > 0 for x > 0 and 0 < ρ < 1",
    r"B(x) > 0",
    lambda two, slope: part_B(two),
    ("A(x) > 0", part_A),
    ("with −γq", lambda two, slope: part_B(two) - 2 * gamma * two.theta),
    source="section 4.3, after eq. (30)",
)
def check_positive(claim: Part) -> Outcome:
    """With ρ = ω/(1 + ω) and ρ_1 = ω_1/(1 + ω_1), ω and ω_1 free positive symbols, no coefficient is negative."""
    odds, odds_1, d_1, q, tail_here, slope = sp.symbols("omega omega_1 d_1 q Fbar qprime", positive=True)
    free = replace(at_quantum(), theta=q, tail=tail_here, rho=odds / (1 + odds), rho_1=odds_1 / (1 + odds_1), d_1=d_1)
    expression = claim(replace(free, mean_2=sp.Symbol("E_S2", positive=True)), slope)
    holds = is_positive(expression)
    steps = (Step("in ω = ρ/(1 − ρ) and ω_1 = ρ_1/(1 − ρ_1)", expression),)
    return everything(
        check_B(lambda two, _: part_B(two)),
        Outcome(holds, "all coefficients positive" if holds else "a coefficient is negative", steps),
    )


def linear_in_spare_capacity(two: TwoLevels, slope: sp.Expr) -> sp.Expr:
    """A with 1 − ρ in place of its square in the last term."""
    excess = two.odds / (1 - two.rho) * (two.theta + two.d_1)
    return part_A(two, slope) - slope * lam * gamma * two.tail * excess


def square_for_mean(two: TwoLevels) -> sp.Expr:
    """Q with E[S²] where the paper's print could be read so."""
    return two.d_1 + two.theta - (1 - gamma) * mean(order=2)
