"""Section 4.1: the efficiency J(a, Δ) and lemma 4.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import sympy as sp
from flint import arb, ctx

from mlptsym.laws import size_laws
from mlptsym.laws.log_normal import LogNormal
from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import Equations, everything
from mlptsym.ledger.exact.enclosure import ball, covered
from mlptsym.ledger.paper.parameters import PAPER
from mlptsym.ledger.paper.printed import integral
from mlptsym.symbolic.algebra.symbols import age, service, slowdown_factor
from mlptsym.symbolic.model.moments import tail
from mlptsym.symbolic.model.size_law import point
from mlptsym.symbolic.policies import gittins

a, quantum = age, gittins.quantum_symbol
b = a + quantum
hazard_a, gap = sp.symbols("h_a delta", positive=True)
costs = sp.Symbol("c_a", positive=True)
rate, shape, scale = (sp.Symbol(name, positive=True) for name in ("rate", "shape", "scale"))
below_one = 1 / (1 + gap)
weibull = below_one / scale * (a / scale) ** (below_one - 1)
Cases = Sequence[tuple[str, dict[str, sp.Expr], sp.Expr, sp.Expr]]


def served_as_printed() -> sp.Expr:
    """E[min{S − a, Δ} ; S > a]."""
    return integral(service - a, a, b) + quantum * tail(b)


def efficiency_as_printed() -> sp.Expr:
    """J(a, Δ) = P(S − a ≤ Δ | S > a) / E[min{S − a, Δ} | S > a]."""
    return (tail(a) - tail(b)) / served_as_printed()


@entry(
    "efficiency",
    "J(a, Δ) = P(S − a ≤ Δ | S > a) / E[min(S − a, Δ) | S > a]",
    r"J(a,\Delta) = \frac{P(S-a\le\Delta\mid S>a)}{\mathbb E[\min\{S-a,\Delta\}\mid S>a]}",
    efficiency_as_printed,
    ("min(S, Δ)", lambda: (tail(a) - tail(b)) / (integral(service, a, b) + quantum * tail(b))),
    ("P(S > a + Δ)", lambda: tail(b) / served_as_printed()),
    source="section 4.1",
)
def check_efficiency(claim: sp.Expr) -> Equations:
    """The package's J from the expectation operator."""
    return [("J(a, Δ)", claim, gittins.efficiency())]


@entry(
    "efficiency-slope",
    "∂J/∂Δ = F̄(a + Δ)/E[min(S − a, Δ) ; S > a] · (h(a + Δ) − J): J falls where it exceeds the hazard",
    r"\frac{\partial J}{\partial\Delta} = \frac{\bar F(a+\Delta)}{\mathbb E[\min\{S-a,\Delta\};S>a]}"
    r"\bigl(h(a+\Delta)-J(a,\Delta)\bigr)",
    lambda hazard, efficiency: hazard - efficiency,
    ("h(a) for h(a + Δ)", lambda hazard, efficiency: gittins.hazard(a) - efficiency),
    ("J − h", lambda hazard, efficiency: efficiency - hazard),
    source="section 4.1, behind lemma 4.1",
)
def check_slope(claim: Callable[[sp.Expr, sp.Expr], sp.Expr]) -> Equations:
    """Differentiate the package's J in Δ, by Leibniz."""
    efficiency = gittins.efficiency()
    expected = tail(b) / served_as_printed() * claim(gittins.hazard(b), efficiency)
    return [("∂J/∂Δ", efficiency.diff(quantum), expected)]


@dataclass(frozen=True)
class Claim:
    """Lemma 4.1 in pieces."""

    later: sp.Expr  # h(b) for b > a, by h(a) and a positive gap: h(a) − δ where the hazard decreases strictly
    index: str  # G(a): the hazard at ``a`` or at ``b``
    cost: sp.Expr  # c(a), what each swap costs


lemma = Claim(hazard_a - gap, "a", costs)


@entry(
    "lemma-4.1",
    "strictly decreasing hazard: G(a) = h(a), Δ*(a) = 0, and tied jobs swap at unbounded cost if c(a) > 0",
    r"h\ \text{strictly decreasing}\Rightarrow G(a)=h(a),\ \Delta^*(a)=0,\ \lim_{\Delta\to0}\frac{w}{\Delta}c(a)=\infty",
    lambda: lemma,
    ("increasing hazard", lambda: replace(lemma, later=hazard_a + gap)),
    ("constant hazard", lambda: replace(lemma, later=hazard_a)),
    ("G(a) = h(a + Δ)", lambda: replace(lemma, index="b")),
    ("c(a) = 0", lambda: replace(lemma, cost=sp.S.Zero)),
)
def check_lemma(claim: Claim) -> Outcome:
    """h(a)E[min(S − a, Δ) ; S > a] − P(a < S ≤ a + Δ) is 0 at Δ = 0 and grows as F̄(b)(h(a) − h(b)), b = a + Δ.

    So J < h(a) for every Δ > 0 where the hazard falls strictly.  The supremum h(a) is approached as Δ → 0 and not
    attained, Δ* = 0, and two tied jobs share a window w of service by w/Δ swaps, each at the cost c(a).
    """
    completed, served = gittins.completed(), gittins.served()
    excess = gittins.hazard(a) * served - completed
    growth = tail(b) * (gittins.hazard(a) - gittins.hazard(b))
    limit = (completed.diff(quantum) / served.diff(quantum)).subs(quantum, 0)
    index = gittins.hazard(a) if claim.index == "a" else gittins.hazard(b)
    equations = [
        ("h(a) · served − completed at Δ = 0", excess.subs(quantum, 0), sp.S.Zero),
        ("its slope in Δ", excess.diff(quantum), growth),
        ("G(a) = J(a, 0⁺), by l'Hôpital", limit, index),
    ]
    difference = sp.expand(hazard_a - claim.later)
    decreasing = bool(difference.is_positive)
    window = sp.Symbol("w", positive=True)
    overhead = sp.limit(claim.cost * window / quantum, quantum, 0, "+")
    steps = (Step("h(a) − h(b)", difference), Step("overhead of sharing a window w as Δ → 0", overhead))
    words = (
        f"J {'<' if decreasing else 'not <'} h(a) for Δ > 0, overhead {'unbounded' if overhead is sp.oo else 'bounded'}"
    )
    return everything(equations, Outcome(decreasing and overhead is sp.oo, words, steps))


@entry(
    "gittins-candidates",
    "G(a) is h(a), h(a + Δ) at a stationary Δ, or F̄(a)/E[S − a ; S > a]",
    r"G(a)\in\Bigl\{h(a),\ h(a+\Delta^*),\ \frac{\bar F(a)}{\mathbb E[S-a;S>a]}\Bigr\}",
    lambda: (gittins.hazard(a), gittins.hazard(b), tail(a) / integral(service - a, a)),
    ("E[S ; S > a] in the last", lambda: (gittins.hazard(a), gittins.hazard(b), tail(a) / integral(service, a))),
    ("h(a) where J is stationary", lambda: (gittins.hazard(a), gittins.hazard(a), tail(a) / integral(service - a, a))),
    source="section 4.1",
)
def check_candidates(claim: tuple[sp.Expr, sp.Expr, sp.Expr]) -> Equations:
    """The values among which the supremum over Δ is, and the package's own list of what must vanish for that."""
    found = gittins.GittinsIndex(a).candidates()
    words = ("J as Δ → 0", "J where it is stationary", "J as Δ → ∞")
    return [
        *((name, value, stated) for name, value, stated in zip(words, found, claim, strict=True)),
        *(
            (f"defect of J as a mean of the hazard: {name}", defect, sp.S.Zero)
            for name, defect in vars(gittins.efficiency_defects()).items()
        ),
    ]


@entry(
    "gittins-closed",
    "exponential: G = rate, Δ* = ∞; Lomax: G = shape/(a + scale), Δ* = 0; Weibull of shape < 1: G = h, Δ* = 0",
    r"G(a) = h(a),\quad \Delta^*(a) = \infty\ \text{if } h \text{ is constant},\ 0\ \text{if it falls}",
    lambda: (
        ("Exponential", {}, rate, sp.oo),
        ("Lomax", {}, shape / (a + scale), sp.S.Zero),
        ("Weibull", {"shape": below_one}, weibull, sp.S.Zero),
    ),
    ("exponential with Δ* = 0", lambda: (("Exponential", {}, rate, sp.S.Zero),)),
    ("Lomax with the index at age 0", lambda: (("Lomax", {}, shape / scale, sp.S.Zero),)),
    source="section 4.1, closed cases",
)
def check_closed_cases(claim: Cases) -> Outcome:
    """The package's closed index and quantum, and J itself for the law with a constant hazard."""
    equations, quanta = [], True
    uniform = size_laws()["Uniform"].formulas()
    low, high = uniform.parameters
    try:
        gittins.closed_index(uniform, {high: low + sp.Symbol("w", positive=True)})
    except ValueError:
        rising = "not for a rising hazard (uniform)"
    else:
        return Outcome(False, "a rising hazard is given an index")
    for name, assumed, index, best in claim:
        law = size_laws()[name].formulas()
        given = {symbol: assumed[symbol.name] for symbol in law.parameters if symbol.name in assumed}
        found = gittins.closed_index(law, given)
        equations.append((f"G(a) over its value as stated, {name}", sp.simplify(found.index / index), sp.S.One))
        quanta = quanta and found.quantum == best
        if best is sp.oo:
            everywhere = gittins.under_law(gittins.efficiency(), law)
            equations.append((f"J(a, Δ), {name}", sp.simplify(everywhere), index))
    return everything(equations, Outcome(quanta, f"Δ* as stated, {rising}" if quanta else "another Δ*"))


@entry(
    "hazard-jump",
    "the hazard of S falls by the factor β at ℓ_C: the slowdown alone makes an exponential L a falling hazard",
    r"h_S(\ell_C^+) = \beta\,h_S(\ell_C^-)",
    lambda: slowdown_factor,
    ("1/β", lambda: 1 / slowdown_factor),
    ("no jump", lambda: sp.S.One),
    source="from eq. (3), for lemma 4.1",
)
def check_hazard_jump(claim: sp.Expr) -> Equations:
    """The package's ratio of hazards of S after and before ℓ_C."""
    return [("h_S(ℓ_C⁺)/h_S(ℓ_C⁻)", gittins.hazard_jump(), claim)]


@entry(
    "lemma-4.1-lognormal",
    "the paper's own sizes, log-normal (5, 0.9), have a hazard that rises up to x = 110 at least: lemma 4.1 does"
    " not apply at low ages",
    r"h_L'(x) > 0,\quad 1\le x\le 110",
    lambda: (1, arb(1), arb(110)),
    ("falling there", lambda: (-1, arb(1), arb(110))),
    ("rising up to 400", lambda: (1, arb(1), arb(400))),
    source="section 5 against lemma 4.1",
    method="enclosure",
)
@entry(
    "lemma-4.1-lognormal-tail",
    "beyond x = 125 the same hazard falls (shown up to 10⁵): there lemma 4.1 applies",
    r"h_L'(x) < 0,\quad 125\le x\le 10^5",
    lambda: (-1, arb(125), arb(10**5)),
    ("from 100 on", lambda: (-1, arb(100), arb(10**5))),
    source="section 5 against lemma 4.1",
    method="enclosure",
)
def check_lognormal_hazard(claim: tuple[int, arb, arb]) -> Outcome:
    """Sign of dh/dx of the package's log-normal law (5, 0.9) on a box, by bisection in interval arithmetic."""
    sign, low, high = claim
    law = LogNormal.formulas()
    mu, sigma = law.parameters
    values = {mu: sp.Rational(PAPER.mu), sigma: sp.Rational(PAPER.sigma)}
    hazard = law.density / law.closed_moment(0)
    form = (hazard * point - (sp.log(point) - mu + sigma**2) / sigma**2).subs(values)
    derivative = (law.density.diff(point) / law.density + hazard) * point
    same = sp.simplify(derivative.subs(values) - form) == 0
    with ctx.workprec(128):
        holds, boxes = covered(lambda x: sign * ball(form, {point: x}), low, high)
    words = f"dh/dx {'>' if sign > 0 else '<'} 0 for {float(low):g} ≤ x ≤ {float(high):g}"
    found = f"{words}: enclosed on {boxes} intervals" if holds else f"{words}: not so"
    return Outcome(holds and same, found, (Step("x · d(log h)/dx", form),))
