"""The overhead H of demotions, its mean, and how good the paper's approximation of it is."""

from __future__ import annotations

import math
from collections.abc import Callable

import sympy as sp
from flint import arb, ctx
from sympy.polys.ring_series import rs_series_inversion

from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import Equations
from mlptsym.ledger.paper.notation import J, beta, ell_C, gamma, theta
from mlptsym.ledger.paper.setting import setting
from mlptsym.ledger.sections.policy import added_by_a_level
from mlptsym.ledger.sections.waiting.pieces import ends
from mlptsym.memory.linear import LinearMemory
from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.symbols import age, boundary, cost
from mlptsym.symbolic.mean.many_levels import demotions, overhead, overhead_leading_term, overhead_next_term
from mlptsym.symbolic.model.memory import restore_cost_at
from mlptsym.symbolic.model.moments import expectation, mean, tail

phi = sp.Function("phi")
u, r = sp.symbols("u r", nonnegative=True)
rate, survivors, x = sp.symbols("nu E_C x", positive=True)
part = sp.Symbol("v", nonnegative=True)


@entry(
    "demotions",
    "N = min(⌈S/θ⌉ − 1, k − 1): a job that needs exactly r quanta completes at the end of the last",
    r"N = \min\{\lceil S/\theta\rceil - 1,\ k-1\}",
    lambda service_time: sp.ceiling(service_time / theta) - 1,
    ("⌊S/θ⌋", lambda service_time: sp.floor(service_time / theta)),
    ("⌈S/θ⌉", lambda service_time: sp.ceiling(service_time / theta)),
    source="section 4.3, where N is a floor of S/θ",
)
def check_demotions(claim: Callable[[sp.Expr], sp.Expr]) -> Equations:
    """S = (n + u)θ, 0 < u ≤ 1, is demoted at rθ exactly for r = 1 … n; u = 1 is a job that needs n + 1 whole quanta."""
    n = sp.Symbol("n", integer=True, nonnegative=True)
    equations = []
    for part in (sp.Rational(1, 3), sp.Rational(1, 2), sp.S.One):
        service_time = (n + part) * theta
        equations += [
            (f"N at S = (n + {part})θ", claim(service_time), n),
            (f"the package's N at S = (n + {part})θ", demotions(service_time, theta), n),
        ]
    return equations


@entry(
    "overhead",
    "H_k(θ) = γθ N(N + 1)/2",
    r"H_k(\theta) = \gamma\theta\sum_{r=1}^Nr = \frac{\gamma\theta}{2}N(N+1)",
    lambda count: gamma * theta * count * (count + 1) / 2,
    ("N(N − 1)/2", lambda count: gamma * theta * count * (count - 1) / 2),
    ("not halved", lambda count: gamma * theta * count * (count + 1)),
    source="section 4.3",
)
def check_overhead(claim: Callable[[sp.Expr], sp.Expr]) -> Equations:
    """None without a demotion, and each demotion r adds the cost γ r θ of linear memory with slope one."""
    law = LinearMemory.formulas()
    unit = restore_cost_at(law).subs(law.parameters[0], 1)
    count = sp.Symbol("N", integer=True, nonnegative=True)
    return [
        ("H at N = 0", claim(sp.S.Zero), sp.S.Zero),
        ("H(N + 1) − H(N)", claim(count + 1) - claim(count), unit.subs(age, (count + 1) * theta)),
        ("the package's H", overhead(count), claim(count)),
    ]


def equal_quanta(expression: sp.Expr) -> sp.Expr:
    """t_r = rθ and c_r = γ r θ."""
    placed = expression.replace(
        lambda node: isinstance(node, sp.Indexed) and node.base == boundary, lambda node: node.indices[0] * theta
    )
    return placed.replace(
        lambda node: isinstance(node, sp.Indexed) and node.base == cost, lambda node: gamma * node.indices[0] * theta
    )


@entry(
    "overhead-mean",
    "E[H_∞(θ)] = γθ Σ_{r≥1} r F̄(rθ), term by term",
    r"\mathbb E[H_\infty(\theta)] = \gamma\theta\sum_{r=1}^\infty r\bar F(r\theta)",
    lambda step: gamma * theta * step * tail(step * theta),
    ("F̄((r − 1)θ)", lambda step: gamma * theta * step * tail((step - 1) * theta)),
    ("r left out", lambda step: gamma * theta * tail(step * theta)),
    source="section 4.3",
)
def check_overhead_mean(claim: Callable[[sp.Expr], sp.Expr]) -> Equations:
    """The summand at r = J is what a further level adds to E[S^eff], and it is E of the package's H level by level."""
    added = equal_quanta(expectation(added_by_a_level(), ends(J)))
    by_count = sp.expand(overhead(J) - overhead(J - 1)) * tail(J * theta)
    return [("E[S_{J+1}^eff] − E[S_J^eff]", added, claim(J)), ("(H(J) − H(J − 1)) P(N ≥ J)", by_count, claim(J))]


@entry(
    "overhead-approximation",
    "E[H_∞] = γE[S²]/(2θ) − γθ/12 − ½γθ ∫ P_2 φ″: the approximation is too large, by γθ/12 at first",
    r"\mathbb E[H_\infty] = \frac{\gamma\mathbb E[S^2]}{2\theta} - \frac{\gamma\theta}{12}"
    r" - \frac{\gamma\theta}{2}\int_0^\infty P_2(r)\varphi''(r)\,dr,\quad \varphi(r)=r\bar F(r\theta)",
    lambda: (gamma * mean(order=2) / (2 * theta), -gamma * theta / 12),
    ("E[S²] not halved", lambda: (gamma * mean(order=2) / theta, -gamma * theta / 12)),
    ("+γθ/12", lambda: (gamma * mean(order=2) / (2 * theta), gamma * theta / 12)),
    ("−γθ/6", lambda: (gamma * mean(order=2) / (2 * theta), -gamma * theta / 6)),
    source="section 4.3; Euler–Maclaurin as in NIST DLMF 2.10.1",
)
def check_approximation(claim: tuple[sp.Expr, sp.Expr]) -> Equations:
    """Euler–Maclaurin for φ(r) = r F̄(rθ), with its remainder −½ ∫ P_2(r) φ″(r) dr, P_2(u) = u² − u + 1/6 on [0, 1].

    On one cell, P_2 φ″ is the derivative of P_2 φ′ − P_2′ φ plus 2φ; its ends give the trapezium and φ′/12.
    Summed over the cells, Σ_{r≥1} φ(r) = ∫ φ − φ(0)/2 − φ′(0)/12 − ½ ∫ P_2 φ″, and φ(0) = 0, φ′(0) = 1.
    """
    kernel = u**2 - u + sp.Rational(1, 6)
    boundary_term = kernel * phi(u).diff(u) - kernel.diff(u) * phi(u)
    remainder = kernel * phi(u).diff(u, 2) - boundary_term.diff(u) - 2 * phi(u)
    start, end = ((kernel.subs(u, place), kernel.diff(u).subs(u, place)) for place in (0, 1))
    product = r * tail(r * theta)
    slope = product.diff(r).subs(r, 0)
    leading, following = claim
    # ∫ r F̄(rθ) dr = E[∫_0^{S/θ} r dr] = E[S²]/(2θ²)
    area = gamma * theta * mean(order=2) / (2 * theta**2)
    return [
        ("P_2 φ″ − (P_2 φ′ − P_2′ φ)′ − 2φ", remainder, sp.S.Zero),
        ("P_2 at both ends", start[0] - end[0], sp.S.Zero),
        ("P_2 at the ends, the coefficient of φ′", end[0] / 2, sp.Rational(1, 12)),
        ("P_2′ at the ends, the trapezium", (end[1] - start[1]) / 2, sp.S.One),
        ("φ(0)", product.subs(r, 0), sp.S.Zero),
        ("φ′(0)", slope, sp.S.One),
        ("leading term", leading, area),
        ("the package's leading term", overhead_leading_term(), leading),
        ("next term", following, -gamma * theta * end[0] / 2 * slope),
        ("the package's next term", overhead_next_term(), following),
    ]


def kink_term(density: sp.Expr) -> sp.Expr:
    """What the jump of the density of S at ℓ_C adds: −½γθ P_2(v) (1 − β) ℓ_C f_L(ℓ_C), v the fraction of ℓ_C/θ."""
    return -gamma * theta * (1 - beta) * ell_C * density * (part**2 - part + sp.Rational(1, 6)) / 2


def _geometric() -> sp.Expr:
    """X/(1 − X) = 1/(e^x − 1) of X = e^{−x}, through x⁴: the reciprocal of the series of (e^x − 1)/x, over x."""
    series, variable = sp.ring("x", sp.QQ)
    quotient = sum((sp.QQ(1, math.factorial(n + 1)) * variable**n for n in range(6)), series.zero)
    return rs_series_inversion(quotient, variable, 6).as_expr(x) / x


def exponential_overhead() -> sp.Expr:
    """E[H_∞]/(γθ) for exponential L with rate ν and ℓ_C = (n + v)θ, expanded in x = νθ; E_C is exp(−νℓ_C).

    With X = e^{−x}: Σ_{r>n} r X^r = X^n (g + n κ), κ = Σ X^r = X/(1 − X), g = Σ r X^r = −dκ/dx.  Levels through n see
    the rate ν, those beyond it βν, and X^n = E_C e^{xv}.  Terms beyond x⁰ are incomplete.
    """
    kappa = _geometric()
    g = -kappa.diff(x)
    n = rate * ell_C / x - part

    def beyond(factor: sp.Expr) -> sp.Expr:
        stretched = g.subs(x, factor * x) + n * kappa.subs(x, factor * x)
        return survivors * sp.Add(*((factor * x * part) ** i / sp.factorial(i) for i in range(6))) * stretched

    return sp.expand(g - beyond(sp.S.One) + beyond(beta))


@entry(
    "overhead-kink",
    "at ℓ_C the density of S jumps, and −½γθ P_2(v)(1 − β) ℓ_C f_L(ℓ_C) is added, v the fraction of ℓ_C/θ;"
    " shown for exponential L, all ν, β, ℓ_C and v",
    r"-\frac{\gamma\theta}{2}\Bigl(v^2-v+\frac16\Bigr)(1-\beta)\,\ell_Cf_L(\ell_C),\quad v = \{\ell_C/\theta\}",
    kink_term,
    ("no such term", lambda density: sp.S.Zero),
    ("β for 1 − β", lambda density: kink_term(density) * beta / (1 - beta)),
    ("opposite sign", lambda density: -kink_term(density)),
    source="section 4.3; the error the paper does not state",
)
def check_exponential_overhead(claim: Callable[[sp.Expr], sp.Expr]) -> Equations:
    """The geometric sums expanded in θ at fixed v: 1/θ, θ⁰ and θ¹ against leading, next and kink term."""
    expansion = exponential_overhead()
    # E[S²] of min(L, ℓ_C) + (L − ℓ_C)⁺/β, by its two exponential parts
    square = 2 / rate**2 - survivors * (2 * ell_C / rate + 2 / rate**2)
    square += survivors * (2 * ell_C / (rate * beta) + 2 / (rate * beta) ** 2)
    leading = overhead_leading_term().subs(mean(order=2), square) * theta / gamma
    following = (overhead_next_term() + claim(rate * survivors)) / gamma / theta
    return [
        ("coefficient of 1/θ", expansion.coeff(x, -2) / rate**2, leading),
        ("coefficient of θ⁰", expansion.coeff(x, -1), sp.S.Zero),
        ("coefficient of θ", expansion.coeff(x, 0), following),
    ]


@cached
def leading_over_exact() -> arb:
    """γE[S²]/(2θ) over E[H_∞] at θ = 3E[L], ℓ_C = 6E[L]: 160 levels one by one, the rest bounded by an integral."""
    levels = 160
    with ctx.workprec(128):
        law = setting(arb(6))
        length = 3 * law.mean_size
        total = sum((step * law.moment_of_service(0, step * length) for step in range(1, levels + 1)), arb(0))
        end = levels * length
        tail_there, first, second = (law.moment_of_service(n, end) for n in range(3))
        # Σ_{r>R} r F̄(rθ) ≤ ∫_{Rθ} (a + θ) F̄(a) da / θ²
        rest = ((second - end**2 * tail_there) / 2 + length * (first - end * tail_there)) / length**2
        ratio: arb = law.mean(2) / (2 * length**2) / (total + rest.union(arb(0)))
        return ratio


@entry(
    "overhead-at-optimum",
    "near the best quantum, θ = 3E[L] at ℓ_C = 6E[L], the approximation is 1.4 times E[H_∞]",
    r"1.39 < \frac{\gamma\mathbb E[S^2]/(2\theta)}{\mathbb E[H_\infty]} < 1.43,\quad \theta = 3\mathbb E[L]",
    (1.39, 1.43),
    ("within 10 %", (0.9, 1.1)),
    ("twice", (1.9, 2.1)),
    source="section 4.3 at the parameters of figure 6",
    method="enclosure",
)
def check_overhead_at_optimum(claim: tuple[float, float]) -> Outcome:
    """The ratio of approximation and exact value in interval arithmetic, at the parameters of figure 6."""
    low, high = claim
    ratio = leading_over_exact()
    holds = bool(ratio > low) and bool(ratio < high)
    words = f"γE[S²]/(2θ) over E[H_∞] is {ratio.str(6, radius=False)}"
    return Outcome(holds, f"{words}, {'inside' if holds else 'outside'} [{low:g}, {high:g}]")
