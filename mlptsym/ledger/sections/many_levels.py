"""Section 4.3, many levels: the overhead and its approximation, the rule of thumb (31)(32), and the kinks at ℓ_C/m."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import sympy as sp
from flint import arb, ctx
from sympy.polys.ring_series import rs_series_inversion

from mlptsym.laws.log_normal import LogNormal
from mlptsym.ledger.entry import Entry, Outcome, Step
from mlptsym.ledger.exact.checks import Equation, everything, identities, is_positive
from mlptsym.ledger.paper.printed import t
from mlptsym.ledger.paper.setting import Setting
from mlptsym.ledger.sections.policy import added_by_a_level
from mlptsym.ledger.sections.waiting import ends
from mlptsym.numeric.optimum import rule_of_thumb
from mlptsym.numeric.queue import Queue
from mlptsym.symbolic.many_levels import (
    demotions,
    overhead,
    overhead_leading_term,
    overhead_next_term,
    rule_of_thumb_quantum,
)
from mlptsym.symbolic.memory import linear, restore_cost_at
from mlptsym.symbolic.moments import UpperMoment, expectation, mean, tail
from mlptsym.symbolic.remembered import remembered
from mlptsym.symbolic.response import level_terms, response_terms
from mlptsym.symbolic.symbols import (
    age,
    arrival_rate,
    boundary,
    cost,
    level,
    preemption_cost,
    quantum,
    restore_cost,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.two_levels import two_level_response_time, two_level_terms

__all__ = ["entries"]

J, gamma, theta, lam, beta, ell_C = level, preemption_cost, quantum, arrival_rate, slowdown_factor, slowdown_threshold

# overhead


def check_demotions(claim: Callable[[sp.Expr], sp.Expr]) -> Outcome:
    """S = (n + u)θ, 0 < u ≤ 1, is demoted at rθ exactly for r = 1 … n; u = 1 is a job that needs n + 1 whole quanta."""
    n = sp.Symbol("n", integer=True, nonnegative=True)
    equations = []
    for part in (sp.Rational(1, 3), sp.Rational(1, 2), sp.S.One):
        service_time = (n + part) * theta
        equations += [
            Equation(f"N at S = (n + {part})θ", claim(service_time), n),
            Equation(f"the package's N at S = (n + {part})θ", demotions(service_time, theta), n),
        ]
    return identities(equations)


def check_overhead(claim: Callable[[sp.Expr], sp.Expr]) -> Outcome:
    """None without a demotion, and each demotion r adds the cost γ r θ of linear memory with slope one."""
    law = linear()
    unit = restore_cost_at(law).subs(law.parameters[0], 1)
    count = sp.Symbol("N", integer=True, nonnegative=True)
    return identities(
        [
            Equation("H at N = 0", claim(sp.S.Zero), sp.S.Zero),
            Equation("H(N + 1) − H(N)", claim(count + 1) - claim(count), unit.subs(age, (count + 1) * theta)),
            Equation("the package's H", overhead(count), claim(count)),
        ]
    )


def equal_quanta(expression: sp.Expr) -> sp.Expr:
    """t_r = rθ and c_r = γ r θ."""
    placed = expression.replace(
        lambda node: isinstance(node, sp.Indexed) and node.base == boundary, lambda node: node.indices[0] * theta
    )
    return placed.replace(
        lambda node: isinstance(node, sp.Indexed) and node.base == cost, lambda node: gamma * node.indices[0] * theta
    )


def check_overhead_mean(claim: Callable[[sp.Expr], sp.Expr]) -> Outcome:
    """The summand at r = J is what a further level adds to E[S^eff], and it is E of the package's H level by level."""
    added = equal_quanta(expectation(added_by_a_level(), ends(J)))
    by_count = sp.expand(overhead(J) - overhead(J - 1)) * tail(J * theta)
    return identities(
        [
            Equation("E[S_{J+1}^eff] − E[S_J^eff]", added, claim(J)),
            Equation("(H(J) − H(J − 1)) P(N ≥ J)", by_count, claim(J)),
        ]
    )


phi = sp.Function("phi")
u, r = sp.symbols("u r", nonnegative=True)


def check_approximation(claim: tuple[sp.Expr, sp.Expr]) -> Outcome:
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
    return identities(
        [
            Equation("P_2 φ″ − (P_2 φ′ − P_2′ φ)′ − 2φ", remainder, sp.S.Zero),
            Equation("P_2 at both ends", start[0] - end[0], sp.S.Zero),
            Equation("P_2 at the ends, the coefficient of φ′", end[0] / 2, sp.Rational(1, 12)),
            Equation("P_2′ at the ends, the trapezium", (end[1] - start[1]) / 2, sp.S.One),
            Equation("φ(0)", product.subs(r, 0), sp.S.Zero),
            Equation("φ′(0)", slope, sp.S.One),
            Equation("leading term", leading, area),
            Equation("the package's leading term", overhead_leading_term(), leading),
            Equation("next term", following, -gamma * theta * end[0] / 2 * slope),
            Equation("the package's next term", overhead_next_term(), following),
        ]
    )


rate, survivors, x = sp.symbols("nu E_C x", positive=True)
part = sp.Symbol("v", nonnegative=True)


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


def check_exponential_overhead(claim: Callable[[sp.Expr], sp.Expr]) -> Outcome:
    """The geometric sums expanded in θ at fixed v: 1/θ, θ⁰ and θ¹ against leading, next and kink term."""
    expansion = exponential_overhead()
    # E[S²] of min(L, ℓ_C) + (L − ℓ_C)⁺/β, by its two exponential parts
    square = 2 / rate**2 - survivors * (2 * ell_C / rate + 2 / rate**2)
    square += survivors * (2 * ell_C / (rate * beta) + 2 / (rate * beta) ** 2)
    leading = overhead_leading_term().subs(mean(order=2), square) * theta / gamma
    following = (overhead_next_term() + claim(rate * survivors)) / gamma / theta
    return identities(
        [
            Equation("coefficient of 1/θ", expansion.coeff(x, -2) / rate**2, leading),
            Equation("coefficient of θ⁰", expansion.coeff(x, -1), sp.S.Zero),
            Equation("coefficient of θ", expansion.coeff(x, 0), following),
        ]
    )


@remembered
def leading_over_exact() -> arb:
    """γE[S²]/(2θ) over E[H_∞] at θ = 3E[L], ℓ_C = 6E[L]: 160 levels one by one, the rest bounded by an integral."""
    levels = 160
    with ctx.workprec(128):
        setting = Setting(arb(6))
        length = 3 * setting.mean_size
        total = sum((step * setting.moment(0, step * length) for step in range(1, levels + 1)), arb(0))
        end = levels * length
        tail_there, first, second = (setting.moment(n, end) for n in range(3))
        # Σ_{r>R} r F̄(rθ) ≤ ∫_{Rθ} (a + θ) F̄(a) da / θ²
        rest = ((second - end**2 * tail_there) / 2 + length * (first - end * tail_there)) / length**2
        return setting.mean_square / (2 * length**2) / (total + rest.union(arb(0)))


def check_overhead_at_optimum(claim: tuple[float, float]) -> Outcome:
    """The ratio of approximation and exact value in interval arithmetic, at the parameters of figure 6."""
    low, high = claim
    ratio = leading_over_exact()
    holds = bool(ratio > low) and bool(ratio < high)
    words = f"γE[S²]/(2θ) over E[H_∞] is {ratio.str(6, radius=False)}"
    return Outcome(holds, f"{words}, {'inside' if holds else 'outside'} [{low:g}, {high:g}]")


# rule of thumb

scale = sp.Symbol("s", positive=True)


def check_rule(claim: sp.Expr) -> Outcome:
    """The package's quantum, found as the balance of overhead against a linear penalty; its units; its numeric form.

    On another time scale, S → sS and λ → λ/s, the quantum must scale by s.
    """
    square = sp.expand((claim - mean()) ** 2)
    derived = sp.expand((rule_of_thumb_quantum() - mean()) ** 2)
    scaled = {mean(): scale * mean(), mean(order=2): scale**2 * mean(order=2), lam: lam / scale}
    outcome = identities(
        [
            Equation("(θ̂ − E[S])²", square, derived),
            Equation("(θ̂ − E[S])² on another time scale", square.subs(scaled, simultaneous=True), scale**2 * square),
        ]
    )
    # below saturation: λE[S] = 1/(1 + s)
    growth = sp.diff(square, gamma).subs(lam, 1 / (1 + scale) / mean())
    queue = paper_queue(8)
    values = {mean(): queue.service_moment(1), mean(order=2): queue.service_moment(2)}
    values |= {lam: queue.arrival_rate, gamma: queue.preemption_cost}
    stated = float(claim.subs(values))
    forms = (rule_of_thumb(queue, math.inf), float(rule_of_thumb_quantum().subs(values)))
    numeric = all(math.isclose(form, stated, rel_tol=1e-12) for form in forms)
    grows = is_positive(growth)
    words = f"θ̂ {'grows' if grows else 'does not grow'} with γ, the numeric layer's is {'the same' if numeric else 'another'}"
    return everything(outcome, Outcome(grows and numeric, words))


def paper_queue(multiple: float) -> Queue:
    """The queue of section 5 with ℓ_C a multiple of E[L]."""
    size = LogNormal(5.0, 0.9)
    return Queue(size, 0.0036, slowdown_threshold=multiple * size.mean, slowdown_factor=0.39, preemption_cost=0.1)


def rule(factor: Any = 2) -> sp.Expr:
    """(31)."""
    return mean() + factor * sp.sqrt(gamma * mean(order=2) / (1 - lam * mean()))


Window = tuple[tuple[int, ...], tuple[int, ...]]
Jump = tuple[arb, arb, arb]


@remembered
def jumps() -> dict[int, Jump]:
    """A⁻/B⁻, h_L and A⁺/B⁺ at ℓ_C = 3E[L] … 8E[L]."""
    terms = two_level_terms()
    with ctx.workprec(160):
        return {ratio: Setting(arb(ratio)).jump(terms) for ratio in range(3, 9)}


def check_window(claim: Window) -> Outcome:
    """The jump condition A⁻/B⁻ < h_L < A⁺/B⁺ at the paper's parameters, in interval arithmetic, for ℓ_C = nE[L]."""
    inside, outside = claim
    strict = {ratio: bool(left < h) and bool(h < right) for ratio, (left, h, right) in jumps().items()}
    broken = {ratio: bool(left > h) or bool(h > right) for ratio, (left, h, right) in jumps().items()}
    holds = all(strict[ratio] for ratio in inside) and all(broken[ratio] for ratio in outside)
    # a little towards the middle of the window: at its ends rounding decides
    queues = {ratio: paper_queue(ratio * (1 + 1e-9 * (5 - ratio))) for ratio in jumps()}
    ruled = [ratio for ratio, queue in queues.items() if rule_of_thumb(queue, 2) == queue.slowdown_threshold]
    holds = holds and ruled == list(inside)
    steps = tuple(
        Step(f"ℓ_C = {ratio}E[L]: " + " , ".join(value.str(5, radius=False) for value in values))
        for ratio, values in jumps().items()
    )
    words = "a strict local minimum at ℓ_C = " + ", ".join(
        str(ratio) for ratio, is_strict in strict.items() if is_strict
    )
    return Outcome(holds, f"{words} E[L], of 3 … 8", steps)


# kinks

Effect = Callable[[str], sp.Expr]


def moved_down(expression: sp.Expr, at: sp.Expr) -> sp.Expr:
    """Derivative when mass of S moves from just above a point to just below it: M_n(t) loses t^n."""
    free = {UpperMoment(n, at): sp.Dummy(f"M_{n}") for n in range(3)}
    moved = expression.xreplace(free)
    change = -sp.Add(*(at**n * sp.diff(moved, free[UpperMoment(n, at)]) for n in range(3)))
    return change.xreplace({symbol: moment for moment, symbol in free.items()})


def effect(name: str) -> sp.Expr:
    """What mass moved below t_J changes: it completes in level J and never pays c_J."""
    return {
        "p_J": sp.S.One,
        "p_{J+1}": -sp.S.One,
        "E[Y_J]": sp.S.Zero,
        "E[Y_J²]": sp.S.Zero,
        "E[Y_{J+1}]": -restore_cost(J),
        "E[Y_{J+1}²]": -(restore_cost(J) ** 2),
    }[name]


def check_kinks(claim: tuple[Effect, int]) -> Outcome:
    """A boundary t_J = Jθ at ℓ_C multiplies the density of S, which jumps from f_L to βf_L, by the effect on E[T].

    d_j grows with each of its four sums, all of which fall or stay, and d_J ≤ d_{J+1} since all four grow with the
    level: the effect is negative, so the slope of E[T] in θ jumps by (β − 1) f_L(ℓ_C) J · effect, upward.
    """
    change, direction = claim
    here, following = level_terms(J), level_terms(J + 1)
    found = {
        "p_J": here.probability,
        "p_{J+1}": following.probability,
        "E[Y_J]": here.piece_mean,
        "E[Y_J²]": here.piece_square,
        "E[Y_{J+1}]": following.piece_mean,
        "E[Y_{J+1}²]": following.piece_square,
    }
    effects = [Equation(f"effect on {name}", moved_down(value, t(J)), change(name)) for name, value in found.items()]
    # two levels: the effect on E[T] is −B of eq. (30), for any cost
    terms = two_level_terms()
    c = sp.Symbol("c", nonnegative=True)
    two = moved_down(two_level_response_time(c), theta)
    place = {
        terms.restore: c,
        terms.service: theta,
        terms.tail: tail(theta),
        terms.first: UpperMoment(1, theta),
        terms.second: UpperMoment(2, theta),
    }
    effects.append(Equation("effect on E[T] for two levels", two, -terms.B.subs(place)))
    waits = response_terms()
    # λX = x/(1 + x) with x free and positive: the loads of an arrival's rivals lie between 0 and 1
    odds = dict(zip((waits.work_before, waits.work), sp.symbols("x y", positive=True), strict=True))
    below_one = {symbol: odd / (1 + odd) / lam for symbol, odd in odds.items()}
    sums = (waits.squares, waits.crossings, waits.work, waits.work_before, waits.before)
    slopes = [sp.diff(waits.waiting, symbol).subs(below_one) for symbol in sums]
    rising = all(is_positive(slope.xreplace(_positive(slope))) for slope in slopes)
    steps = tuple(Step(f"∂d/∂{symbol}", slope) for symbol, slope in zip(sums, slopes, strict=True))
    gap = sp.Symbol("delta", positive=True)
    jump = direction * (1 - 1 / (1 + gap))
    upward = rising and is_positive(jump)
    words = "d_j grows with each sum" if rising else "a sum lowers d_j"
    return everything(
        identities(effects), Outcome(upward, f"{words}; the slope jumps {'up' if upward else 'down'}", steps)
    )


def _positive(expression: sp.Expr) -> dict[sp.Symbol, sp.Symbol]:
    """Symbols that are only known to be non-negative, taken as positive."""
    return {symbol: sp.Symbol(symbol.name, positive=True) for symbol in expression.free_symbols}


def entries() -> tuple[Entry, ...]:
    """Entries of this section, in the order of the paper."""
    return (
        Entry(
            "demotions",
            "N = min(⌈S/θ⌉ − 1, k − 1): a job that needs exactly r quanta completes at the end of the last",
            r"N = \min\{\lceil S/\theta\rceil - 1,\ k-1\}",
            "section 4.3, where N is a floor of S/θ",
            lambda: lambda service_time: sp.ceiling(service_time / theta) - 1,
            check_demotions,
            {
                "⌊S/θ⌋": lambda: lambda service_time: sp.floor(service_time / theta),
                "⌈S/θ⌉": lambda: lambda service_time: sp.ceiling(service_time / theta),
            },
        ),
        Entry(
            "overhead",
            "H_k(θ) = γθ N(N + 1)/2",
            r"H_k(\theta) = \gamma\theta\sum_{r=1}^Nr = \frac{\gamma\theta}{2}N(N+1)",
            "section 4.3",
            lambda: lambda count: gamma * theta * count * (count + 1) / 2,
            check_overhead,
            {
                "N(N − 1)/2": lambda: lambda count: gamma * theta * count * (count - 1) / 2,
                "not halved": lambda: lambda count: gamma * theta * count * (count + 1),
            },
        ),
        Entry(
            "overhead-mean",
            "E[H_∞(θ)] = γθ Σ_{r≥1} r F̄(rθ), term by term",
            r"\mathbb E[H_\infty(\theta)] = \gamma\theta\sum_{r=1}^\infty r\bar F(r\theta)",
            "section 4.3",
            lambda: lambda step: gamma * theta * step * tail(step * theta),
            check_overhead_mean,
            {
                "F̄((r − 1)θ)": lambda: lambda step: gamma * theta * step * tail((step - 1) * theta),
                "r left out": lambda: lambda step: gamma * theta * tail(step * theta),
            },
        ),
        Entry(
            "overhead-approximation",
            "E[H_∞] = γE[S²]/(2θ) − γθ/12 − ½γθ ∫ P_2 φ″: the approximation is too large, by γθ/12 at first",
            r"\mathbb E[H_\infty] = \frac{\gamma\mathbb E[S^2]}{2\theta} - \frac{\gamma\theta}{12}"
            r" - \frac{\gamma\theta}{2}\int_0^\infty P_2(r)\varphi''(r)\,dr,\quad \varphi(r)=r\bar F(r\theta)",
            "section 4.3; Euler–Maclaurin as in NIST DLMF 2.10.1",
            lambda: (gamma * mean(order=2) / (2 * theta), -gamma * theta / 12),
            check_approximation,
            {
                "E[S²] not halved": lambda: (gamma * mean(order=2) / theta, -gamma * theta / 12),
                "+γθ/12": lambda: (gamma * mean(order=2) / (2 * theta), gamma * theta / 12),
                "−γθ/6": lambda: (gamma * mean(order=2) / (2 * theta), -gamma * theta / 6),
            },
        ),
        Entry(
            "overhead-kink",
            "at ℓ_C the density of S jumps, and −½γθ P_2(v)(1 − β) ℓ_C f_L(ℓ_C) is added, v the fraction of ℓ_C/θ;"
            " shown for exponential L, all ν, β, ℓ_C and v",
            r"-\frac{\gamma\theta}{2}\Bigl(v^2-v+\frac16\Bigr)(1-\beta)\,\ell_Cf_L(\ell_C),\quad v = \{\ell_C/\theta\}",
            "section 4.3; the error the paper does not state",
            lambda: kink_term,
            check_exponential_overhead,
            {
                "no such term": lambda: lambda density: sp.S.Zero,
                "β for 1 − β": lambda: lambda density: kink_term(density) * beta / (1 - beta),
                "opposite sign": lambda: lambda density: -kink_term(density),
            },
        ),
        Entry(
            "overhead-at-optimum",
            "near the best quantum, θ = 3E[L] at ℓ_C = 6E[L], the approximation is 1.4 times E[H_∞]",
            r"1.39 < \frac{\gamma\mathbb E[S^2]/(2\theta)}{\mathbb E[H_\infty]} < 1.43,\quad \theta = 3\mathbb E[L]",
            "section 4.3 at the parameters of figure 6",
            lambda: (1.39, 1.43),
            check_overhead_at_optimum,
            {"within 10 %": lambda: (0.9, 1.1), "twice": lambda: (1.9, 2.1)},
            method="enclosure",
        ),
        Entry(
            "eq-31",
            "θ̂ = E[S] + 2 √(γE[S²]/(1 − ρ_0)): E[S] plus the balance of E[H_∞]/(1 − ρ_0) against a penalty θ/8",
            r"\hat\theta = \mathbb E[S] + 2\sqrt{\frac{\gamma\mathbb E[S^2]}{1-\rho_0}}",
            "eq. (31), empirical in the paper; shown are its units and the balance it is",
            rule,
            check_rule,
            {
                "without the square root": lambda: mean() + 2 * gamma * mean(order=2) / (1 - lam * mean()),
                "factor 1": lambda: rule(1),
                "E[S]² for E[S²]": lambda: rule().subs(mean(order=2), mean() ** 2),
            },
        ),
        Entry(
            "eq-32",
            "θ̂ = ℓ_C for k = 2 and 3 ≤ ℓ_C/E[L] ≤ 7: there ℓ_C is a strict local minimum, at 8E[L] it is not",
            r"\hat\theta = \ell_C\ \text{if } k=2,\ a\le\ell_C/\mathbb E[L]\le b;\quad a=3,\ b=7",
            "eq. (32) at the paper's λ, β, γ",
            lambda: ((3, 4, 5, 6, 7), (8,)),
            check_window,
            {"b = 8": lambda: ((3, 4, 5, 6, 7, 8), ()), "b = 6": lambda: ((3, 4, 5, 6), (7, 8))},
            method="enclosure",
        ),
        Entry(
            "kink-many-levels",
            "at θ = ℓ_C/m, m < k, the slope of E[T] jumps up, for every k and m: kinks that can be minima, never maxima",
            r"T'(\theta)\Big|_{(\ell_C/m)^-}^{(\ell_C/m)^+} = (1-\beta)\,f_L(\ell_C)\,m\,B_m > 0",
            "section 4.3; the paper has k = 2 only",
            lambda: (effect, 1),
            check_kinks,
            {"mass below t_J still pays c_J": lambda: (_still_paying, 1), "the slope jumps down": lambda: (effect, -1)},
        ),
    )


def _still_paying(name: str) -> sp.Expr:
    return sp.S.Zero if name.startswith("E[Y") else effect(name)
