"""Section 4.3 and appendix A, two levels: corollary 4.6, equations (29) and (30), A, B, Q and the jump at ℓ_C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import mpmath
import sympy as sp

from mlptsym.ledger.entry import Entry, Outcome, Step
from mlptsym.ledger.exact.checks import Equation, agreement, everything, identities, is_positive
from mlptsym.ledger.exact.digits import DIGITS, ServiceLaw, value
from mlptsym.symbolic.moments import Indicator, UpperMoment, expectation, mean, tail
from mlptsym.symbolic.symbols import arrival_rate, preemption_cost, quantum, restore_cost, service, slowdown_factor
from mlptsym.symbolic.two_levels import (
    TwoLevelTerms,
    jump_ratio,
    two_level_response_time,
    two_level_terms,
)
from mlptsym.symbolic.waiting import waiting_time

__all__ = ["entries"]

S, lam, gamma, beta, theta = service, arrival_rate, preemption_cost, slowdown_factor, quantum


@dataclass(frozen=True)
class TwoLevels:
    """The quantities the paper defines for two levels: S_1 = min(S, θ), and S_2 = S − (1 − γ)θ given S > θ."""

    theta: sp.Expr
    tail: sp.Expr
    mean: sp.Expr
    mean_1: sp.Expr
    mean_2: sp.Expr
    rho_1: sp.Expr
    rho: sp.Expr
    d_1: sp.Expr

    @property
    def Q(self) -> sp.Expr:  # the paper's name
        """Q = d_1 + q − (1 − γ)E[S_2]."""
        return self.d_1 + self.theta - (1 - gamma) * self.mean_2


def at_quantum() -> TwoLevels:
    """The quantities at the symbol θ, as corollary 4.6 defines them."""
    point, survivors = [theta], tail(theta)
    second = (S - (1 - gamma) * theta) * Indicator(S, theta)
    mean_1 = expectation(sp.Min(S, theta), point)
    square_1 = expectation(sp.Min(S, theta) ** 2, point)
    mean_2, square_2 = expectation(second, point) / survivors, expectation(second**2, point) / survivors
    return TwoLevels(
        theta,
        survivors,
        mean(),
        mean_1,
        mean_2,
        rho_1=lam * mean_1,
        rho=lam * mean() + lam * gamma * theta * survivors,
        d_1=lam * (square_1 + survivors * square_2) / (2 * (1 - lam * mean_1)),
    )


def at_size(terms: TwoLevelTerms) -> TwoLevels:
    """The same at θ = q(x), in the symbols of the package's derivative."""
    here = at_quantum()
    known = {
        UpperMoment(1, theta): terms.first,
        UpperMoment(2, theta): terms.second,
        tail(theta): terms.tail,
        theta: terms.service,
    }
    moved = {field.name: getattr(here, field.name) for field in fields(here)}
    for old, new in known.items():
        moved = {name: expression.subs(old, new) for name, expression in moved.items()}
    return TwoLevels(**moved)


def linear_cost(terms: TwoLevelTerms) -> dict[sp.Symbol, sp.Expr]:
    """c = γq and dc/dθ = γ, the paper's g(a) = a."""
    return {terms.restore: gamma * terms.service, terms.restore_slope: gamma}


Package = Callable[[], TwoLevelTerms]
spare, spare_1 = sp.symbols("sigma sigma_1", positive=True)


def with_spare_capacity(terms: TwoLevelTerms, *equations: Equation) -> list[Equation]:
    """The equations with E[S] and M_1(q) expressed by σ = 1 − ρ and σ_1 = 1 − ρ_1: every denominator is a monomial."""
    mean_there = (1 - spare) / lam - gamma * terms.service * terms.tail
    first = mean_there + terms.service * terms.tail - (1 - spare_1) / lam
    place = {terms.first: first, mean(): mean_there}

    def changed(expression: sp.Expr) -> sp.Expr:
        # 1/(1 − ρ) is found as a power of an expanded sum, which is then the symbol itself
        new = expression.subs(place)
        return new.replace(
            lambda node: node.is_Pow and node.exp.is_negative, lambda node: sp.expand(node.base) ** node.exp
        )

    return [Equation(equation.operation, changed(equation.left), changed(equation.right)) for equation in equations]


# (29)


def response_time(two: TwoLevels) -> sp.Expr:
    """(29), last line."""
    return (
        two.mean + gamma * two.theta * two.tail + two.d_1 + two.tail * two.rho / (1 - two.rho) * (two.theta + two.d_1)
    )


def check_response_time(claim: Callable[[TwoLevels], sp.Expr]) -> Outcome:
    """Theorem 4.5 for k = 2 and linear memory."""
    return identities([Equation("E[T(θ)]", claim(at_quantum()), two_level_response_time())])


def waits(two: TwoLevels) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """d_1, d_2 and ρ_1 + ρ_2 as corollary 4.6 prints them."""
    effective = S + gamma * theta * Indicator(S, theta)
    d_2 = (lam * expectation(effective**2, [theta]) / (2 * (1 - two.rho)) + lam * two.theta * two.mean_1) / (
        1 - two.rho_1
    )
    return two.d_1, d_2, two.rho_1 + lam * two.tail * two.mean_2


Waits = Callable[[TwoLevels], tuple[sp.Expr, sp.Expr, sp.Expr]]


def check_corollary(claim: Waits) -> Outcome:
    """The waits of theorem 4.5 for k = 2, the load as the sum of both levels', and the lines of (29) that use them."""
    two = at_quantum()
    d_1, d_2, load = claim(two)
    place = {restore_cost(1): gamma * theta, sp.IndexedBase("t", positive=True)[1]: theta}
    average = two.mean + gamma * theta * two.tail + (1 - two.tail) * d_1 + two.tail * d_2
    return identities(
        [
            Equation("d_1", d_1, waiting_time(1, 2).subs(place)),
            Equation("d_2", d_2, waiting_time(2, 2).subs(place)),
            Equation("ρ_1 + ρ_2", load, two.rho),
            Equation("second line of (29)", average, response_time(two)),
        ]
    )


# (30), appendix A


def part_A(two: TwoLevels, slope: sp.Expr, Q: sp.Expr | None = None) -> sp.Expr:  # the paper's name
    """A(x)."""
    Q = two.Q if Q is None else Q
    return slope * (
        lam * (1 + two.tail * two.rho / (1 - two.rho)) / (1 - two.rho_1) * Q
        + gamma
        + two.rho / (1 - two.rho)
        + lam * gamma * two.tail / (1 - two.rho) ** 2 * (two.theta + two.d_1)
    )


def part_B(two: TwoLevels) -> sp.Expr:
    """B(x)."""
    return (
        lam * (1 + two.tail * two.rho / (1 - two.rho)) / (1 - two.rho_1) * gamma**2 * two.theta**2 / 2
        + gamma * two.theta
        + two.rho / (1 - two.rho) * (two.theta + two.d_1)
        + lam * gamma * two.tail * two.theta / (1 - two.rho) ** 2 * (two.theta + two.d_1)
    )


Part = Callable[[TwoLevels, sp.Expr], sp.Expr]


def check_A(claim: Part) -> Outcome:
    """The part of the package's T′/F̄_L that is free of the hazard."""
    terms = two_level_terms()
    return identities(
        with_spare_capacity(
            terms, Equation("A", claim(at_size(terms), terms.service_slope), terms.A.subs(linear_cost(terms)))
        )
    )


def check_B(claim: Part) -> Outcome:
    """The coefficient of −h_L in the package's T′/F̄_L."""
    terms = two_level_terms()
    return identities(
        with_spare_capacity(
            terms, Equation("B", claim(at_size(terms), terms.service_slope), terms.B.subs(linear_cost(terms)))
        )
    )


def check_Q(claim: Callable[[TwoLevels], sp.Expr]) -> Outcome:
    """What multiplies the first bracket of A, solved for from the package's A."""
    terms = two_level_terms()
    two, unknown = at_size(terms), sp.Symbol("Q")
    printed = part_A(two, terms.service_slope, unknown)
    rest = printed.subs(unknown, 0)
    solved = (terms.A.subs(linear_cost(terms)) - rest) / sp.diff(printed, unknown)
    return identities(with_spare_capacity(terms, Equation("Q", claim(two), solved)))


def check_derivative(claim: Callable[[TwoLevels, sp.Expr, sp.Symbol], sp.Expr]) -> Outcome:
    """Leibniz differentiation of (29) at θ = q(x), the density of S at q(x) times q′ being that of L at x."""
    terms = two_level_terms()
    found = terms.derivative.subs(linear_cost(terms))
    outcome = identities(
        with_spare_capacity(terms, Equation("T′(x)", claim(at_size(terms), terms.service_slope, terms.hazard), found))
    )
    folded = terms.derivative.atoms(UpperMoment) <= {mean(), mean(order=2)}
    words = "no moments but E[S] and E[S²] beside the symbols" if folded else "a moment without its symbol"
    return everything(outcome, Outcome(folded, words))


def derivative(two: TwoLevels, slope: sp.Expr, hazard: sp.Expr) -> sp.Expr:
    """(30)."""
    A, B = part_A(two, slope), part_B(two)
    return two.tail * B * (A / B - hazard)


# the jump


def check_jump(claim: sp.Expr) -> Outcome:
    """The package's ratio of A/B across ℓ_C, and that nothing but the factor q′ of A jumps."""
    terms = two_level_terms()
    place = linear_cost(terms)
    slope = terms.service_slope
    left, right = (part_A(at_size(terms), value) / part_B(at_size(terms)) for value in (sp.S.One, 1 / beta))
    return identities(
        [
            Equation("the package's ratio for any cost", jump_ratio(), claim),
            Equation("A⁺/B⁺", right, claim * left),
            Equation("A/q′ does not change with q′", sp.diff((terms.A / slope).subs(place), slope), sp.S.Zero),
            Equation("B does not change with q′", sp.diff(terms.B, slope), sp.S.Zero),
        ]
    )


ratio, gap, part, survivors, hazard = sp.symbols("r delta B_part Fbar h", positive=True)


def check_strict_minimum(claim: tuple[sp.Expr, sp.Expr, sp.Expr]) -> Outcome:
    """T′ = F̄_L(A − B h) with A = B · (A/B): its sign on either side where A⁻/B⁻, h and A⁺/B⁺ are as stated, B > 0."""
    below, here, above = claim
    terms = two_level_terms()
    form = survivors * part * (ratio - hazard)
    derived = {ratio: terms.A / terms.B, part: terms.B, survivors: terms.tail, hazard: terms.hazard}
    outcome = identities([Equation("T′ = F̄_L B (A/B − h)", terms.derivative, form.subs(derived, simultaneous=True))])
    left, right = (form.subs({ratio: value, hazard: here}, simultaneous=True) for value in (below, above))
    falls, rises = is_positive(-left), is_positive(right)
    words = f"T′ {'< 0' if falls else 'not < 0'} before ℓ_C, {'> 0' if rises else 'not > 0'} after it"
    steps = (Step("T′ before ℓ_C", sp.expand(left)), Step("T′ after ℓ_C", sp.expand(right)))
    return everything(outcome, Outcome(falls and rises, words, steps))


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


def check_kink(claim: Callable[[sp.Expr, sp.Expr, sp.Expr], sp.Expr]) -> Outcome:
    """dT/dθ = T′(x)/q′(x) with the slopes q′ = 1 before and 1/β after ℓ_C; the jump is positive as B is."""
    terms = two_level_terms()
    slope = terms.derivative / terms.service_slope
    before, after = (slope.subs(terms.service_slope, value) for value in (sp.S.One, 1 / beta))
    jump = claim(terms.tail, terms.B, terms.hazard)
    form = claim(survivors, part, hazard).subs(beta, 1 / (1 + gap))
    upward = is_positive(form)
    return everything(
        identities([Equation("jump of dT/dθ at ℓ_C, any cost", after - before, jump)]),
        Outcome(upward, "the slope jumps up" if upward else "the slope does not jump up", (Step("jump", form),)),
    )


# (30) by numerical differentiation

SAMPLES = (
    ServiceLaw("LogNormal", (sp.Integer(5), sp.Rational(9, 10)), sp.Integer(500), sp.Rational(39, 100)),
    ServiceLaw("Gamma", (sp.Rational(7, 10), sp.Integer(240)), sp.Integer(500), sp.Rational(39, 100)),
)
SETTING: dict[sp.Expr, Any] = {lam: sp.Rational(36, 10000), gamma: sp.Rational(1, 10)}


def check_derivative_digits(claim: Callable[[TwoLevels, sp.Expr, sp.Expr], sp.Expr]) -> Outcome:
    """(30) against mpmath's derivative of (29) in x, before and after ℓ_C = 500, at the paper's λ, β and γ."""
    terms = two_level_terms()
    printed = claim(at_size(terms), terms.service_slope, terms.hazard)
    time = response_time(at_quantum())
    pairs = []
    with mpmath.workdps(DIGITS + 10):
        for law in SAMPLES:
            fixed = SETTING | {mean(): law.mean(), mean(order=2): law.mean(2)}

            def response(x: mpmath.mpf, law: ServiceLaw = law, fixed: dict[sp.Expr, Any] = fixed) -> mpmath.mpf:
                here = {UpperMoment(n, theta): law.moment(n, x) for n in range(3)}
                return value(time, fixed | here | {theta: law.service(x)})

            for x in (sp.Integer(200), sp.Integer(700)):
                here = {
                    terms.tail: law.moment(0, x),
                    terms.first: law.moment(1, x),
                    terms.second: law.moment(2, x),
                    terms.service: law.service(x),
                    terms.service_slope: law.slope(x),
                    terms.hazard: law.hazard(x),
                }
                pairs.append((f"T′({x}), {law.name}", value(printed, fixed | here), mpmath.diff(response, int(x))))
    return agreement(pairs, DIGITS)


# entries


def square_for_mean(two: TwoLevels) -> sp.Expr:
    """Q with E[S²] where the paper's print could be read so."""
    return two.d_1 + two.theta - (1 - gamma) * mean(order=2)


def entries() -> tuple[Entry, ...]:
    """Entries of this section, in the order of the paper."""
    return (
        Entry(
            "eq-29",
            "E[T(θ)] = E[S] + γθF̄(θ) + d_1 + F̄(θ) ρ/(1 − ρ) (θ + d_1)",
            r"\mathbb E[T(\theta)] = \mathbb E[S] + \gamma\theta\bar F(\theta) + d_1"
            r" + \bar F(\theta)\frac{\rho}{1-\rho}(\theta+d_1)",
            "eq. (29)",
            lambda: response_time,
            check_response_time,
            {
                "1 − γ for γ": lambda: lambda two: response_time(two) + (1 - 2 * gamma) * theta * two.tail,
                "ρ_1 for ρ": lambda: lambda two: response_time(replace(two, rho=two.rho_1)),
                "θ left out of the last bracket": lambda: (
                    lambda two: response_time(two) - two.tail * two.rho / (1 - two.rho) * theta
                ),
            },
        ),
        Entry(
            "corollary-4.6",
            "d_1 = λ(E[S_1²] + F̄(θ)E[S_2²]) / (2(1 − ρ_1)), d_2 = (λE[(S_2^eff)²]/(2(1 − ρ)) + λθE[S_1]) / (1 − ρ_1)",
            r"d_1 = \frac{\lambda(\mathbb E[S_1^2]+\bar F(\theta)\mathbb E[S_2^2])}{2(1-\rho_1)},\quad"
            r" d_2 = \frac{\frac{\lambda\mathbb E[(S_2^{\mathrm{eff}})^2]}{2(1-\rho)}+\lambda\theta\mathbb E[S_1]}{1-\rho_1}",
            "corollary 4.6",
            lambda: waits,
            check_corollary,
            {"d_2 without λθE[S_1]": lambda: wait_without_arrivals, "ρ_2 without F̄(θ)": lambda: load_without_tail},
        ),
        Entry(
            "eq-30",
            "T′(x) = F̄_L(x) B(x) (A(x)/B(x) − h_L(x))",
            r"T'(x) = \bar F_L(x)B(x)\Bigl(\frac{A(x)}{B(x)} - h_L(x)\Bigr)",
            "eq. (30)",
            lambda: derivative,
            check_derivative,
            {
                "h_L added": lambda: lambda two, slope, hazard: derivative(two, slope, -hazard),
                "F̄_L left out": lambda: lambda two, slope, hazard: derivative(two, slope, hazard) / two.tail,
            },
        ),
        Entry(
            "eq-30-digits",
            "(30) is the derivative of (29), at x = 200 and 700 for two laws with ℓ_C = 500",
            r"T'(x) = \frac{d}{dx}\mathbb E[T(q(x))]",
            "eq. (30)",
            lambda: derivative,
            check_derivative_digits,
            {
                "q′ left out of A": lambda: lambda two, slope, hazard: derivative(two, sp.S.One, hazard),
                "h_L added": lambda: lambda two, slope, hazard: derivative(two, slope, -hazard),
            },
            method="digits",
        ),
        Entry(
            "A",
            "A = q′ [λ(1 + F̄_L ρ/(1 − ρ))/(1 − ρ_1) Q + γ + ρ/(1 − ρ) + λγF̄_L/(1 − ρ)² (q + d_1)]",
            r"A(x) = q'(x)\Bigl[\frac{\lambda\bigl(1+\bar F_L\frac{\rho}{1-\rho}\bigr)}{1-\rho_1}Q + \gamma"
            r" + \frac{\rho}{1-\rho} + \frac{\lambda\gamma\bar F_L}{(1-\rho)^2}(q+d_1)\Bigr]",
            "appendix A",
            lambda: part_A,
            check_A,
            {
                "1 − ρ for (1 − ρ)²": lambda: (
                    lambda two, slope: (
                        part_A(two, slope)
                        - slope * lam * gamma * two.tail * two.rho / (1 - two.rho) ** 2 * (two.theta + two.d_1)
                    )
                ),
                "γ left out": lambda: lambda two, slope: part_A(two, slope) - slope * gamma,
                "E[S²] for E[S_2] in Q": lambda: lambda two, slope: part_A(two, slope, square_for_mean(two)),
                "q′ left out": lambda: lambda two, slope: part_A(two, sp.S.One),
            },
        ),
        Entry(
            "B",
            "B = λ(1 + F̄_L ρ/(1 − ρ))/(1 − ρ_1) γ²q²/2 + γq + ρ/(1 − ρ) (q + d_1) + λγF̄_L q/(1 − ρ)² (q + d_1)",
            r"B(x) = \frac{\lambda\bigl(1+\bar F_L\frac{\rho}{1-\rho}\bigr)}{1-\rho_1}\frac{\gamma^2q^2}{2} + \gamma q"
            r" + \frac{\rho}{1-\rho}(q+d_1) + \frac{\lambda\gamma\bar F_Lq}{(1-\rho)^2}(q+d_1)",
            "appendix A",
            lambda: lambda two, slope: part_B(two),
            check_B,
            {
                "γ² for γ²/2": lambda: (
                    lambda two, slope: (
                        part_B(two)
                        + (
                            lam
                            * (1 + two.tail * two.rho / (1 - two.rho))
                            / (1 - two.rho_1)
                            * gamma**2
                            * two.theta**2
                            / 2
                        )
                    )
                ),
                "times q′": lambda: lambda two, slope: slope * part_B(two),
                "γq left out": lambda: lambda two, slope: part_B(two) - gamma * two.theta,
            },
        ),
        Entry(
            "Q",
            "Q = d_1 + q − (1 − γ)E[S_2], with E[S_2] and not E[S²]",
            r"Q(x) = d_1 + q - (1-\gamma)\mathbb E[S_2]",
            "appendix A, where the print can be read as E[S²]",
            lambda: lambda two: two.Q,
            check_Q,
            {
                "E[S²] for E[S_2]": lambda: square_for_mean,
                "γ for 1 − γ": lambda: lambda two: two.d_1 + two.theta - gamma * two.mean_2,
                "q left out": lambda: lambda two: two.Q - two.theta,
            },
        ),
        Entry(
            "B-positive",
            "B(x) > 0 for x > 0 and 0 < ρ < 1",
            r"B(x) > 0",
            "section 4.3, after eq. (30)",
            lambda: lambda two, slope: part_B(two),
            check_positive,
            {"A(x) > 0": lambda: part_A, "with −γq": lambda: lambda two, slope: part_B(two) - 2 * gamma * two.theta},
        ),
        Entry(
            "jump",
            "A/B jumps by the factor 1/β at ℓ_C: q′ goes from 1 to 1/β, A/q′ and B are continuous",
            r"\frac{A(\ell_C^+)}{B(\ell_C^+)} = \frac1\beta\,\frac{A(\ell_C^-)}{B(\ell_C^-)}",
            "section 4.3, after eq. (30)",
            lambda: 1 / beta,
            check_jump,
            {"β for 1/β": lambda: beta, "1 − β": lambda: 1 - beta},
        ),
        Entry(
            "jump-minimum",
            "ℓ_C is a strict local minimum if A(ℓ_C⁻)/B(ℓ_C⁻) < h_L(ℓ_C) < A(ℓ_C⁺)/B(ℓ_C⁺)",
            r"\frac{A(\ell_C^-)}{B(\ell_C^-)} < h_L(\ell_C) < \frac{A(\ell_C^+)}{B(\ell_C^+)}",
            "section 4.3, after eq. (30)",
            lambda: (ratio, ratio + gap, ratio + 2 * gap),
            check_strict_minimum,
            {
                "A⁻/B⁻ > h > A⁺/B⁺": lambda: (ratio + 2 * gap, ratio + gap, ratio),
                "h above both": lambda: (ratio, ratio + 2 * gap, ratio + gap),
                "h below both": lambda: (ratio + gap, ratio, ratio + 2 * gap),
            },
        ),
        Entry(
            "kink-two-levels",
            "at θ = ℓ_C the slope dT/dθ jumps up, by (1 − β) F̄_L B h_L: a kink that can be a minimum, never a maximum",
            r"T'(\theta)\Big|_{\ell_C^-}^{\ell_C^+} = (1-\beta)\bar F_L(\ell_C)B(\ell_C)h_L(\ell_C) > 0",
            "section 4.3; the paper has the jump of A/B only",
            lambda: lambda survivors, B, hazard: (1 - beta) * survivors * B * hazard,
            check_kink,
            {
                "1/β − 1 for 1 − β": lambda: lambda survivors, B, hazard: (1 / beta - 1) * survivors * B * hazard,
                "downward": lambda: lambda survivors, B, hazard: (beta - 1) * survivors * B * hazard,
            },
        ),
    )


def wait_without_arrivals(two: TwoLevels) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """Corollary 4.6 with d_2 of the jobs found only."""
    d_1, d_2, load = waits(two)
    return d_1, d_2 - lam * two.theta * two.mean_1 / (1 - two.rho_1), load


def load_without_tail(two: TwoLevels) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """Corollary 4.6 with ρ_2 = λE[S_2]."""
    d_1, d_2, _ = waits(two)
    return d_1, d_2, two.rho_1 + lam * two.mean_2
