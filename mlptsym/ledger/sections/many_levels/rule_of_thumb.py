"""The rule of thumb: equations (31) and (32)."""

from __future__ import annotations

import math
from typing import Any

import sympy as sp
from flint import arb, ctx

from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import everything, is_positive
from mlptsym.ledger.exact.enclosure import ball
from mlptsym.ledger.exact.service_law import ServiceLaw
from mlptsym.ledger.paper.notation import gamma, lam
from mlptsym.ledger.paper.parameters import PAPER
from mlptsym.ledger.paper.setting import setting
from mlptsym.numeric.optimal.optimum import rule_of_thumb
from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.mean.many_levels import rule_of_thumb_quantum
from mlptsym.symbolic.mean.two_levels import TwoLevelTerms, two_level_terms
from mlptsym.symbolic.model.moments import mean

scale = sp.Symbol("s", positive=True)
Window = tuple[tuple[int, ...], tuple[int, ...]]
Jump = tuple[arb, arb, arb]


def rule(factor: Any = 2) -> sp.Expr:
    """(31)."""
    return mean() + factor * sp.sqrt(gamma * mean(order=2) / (1 - lam * mean()))


@entry(
    "eq-31",
    "θ̂ = E[S] + 2 √(γE[S²]/(1 − ρ_0)): E[S] plus the balance of E[H_∞]/(1 − ρ_0) against a penalty θ/8",
    r"\hat\theta = \mathbb E[S] + 2\sqrt{\frac{\gamma\mathbb E[S^2]}{1-\rho_0}}",
    rule,
    ("without the square root", lambda: mean() + 2 * gamma * mean(order=2) / (1 - lam * mean())),
    ("factor 1", lambda: rule(1)),
    ("E[S]² for E[S²]", lambda: rule().subs(mean(order=2), mean() ** 2)),
    source="eq. (31), empirical in the paper; shown are its units and the balance it is",
)
def check_rule(claim: sp.Expr) -> Outcome:
    """The package's quantum, found as the balance of overhead against a linear penalty; its units; its numeric form.

    On another time scale, S → sS and λ → λ/s, the quantum must scale by s.
    """
    square = sp.expand((claim - mean()) ** 2)
    derived = sp.expand((rule_of_thumb_quantum() - mean()) ** 2)
    scaled = {mean(): scale * mean(), mean(order=2): scale**2 * mean(order=2), lam: lam / scale}
    equations = [
        ("(θ̂ − E[S])²", square, derived),
        ("(θ̂ − E[S])² on another time scale", square.subs(scaled, simultaneous=True), scale**2 * square),
    ]
    # below saturation: λE[S] = 1/(1 + s)
    growth = sp.diff(square, gamma).subs(lam, 1 / (1 + scale) / mean())
    queue = PAPER.queue(8)
    values = {mean(): queue.service_moment(1), mean(order=2): queue.service_moment(2)}
    values |= {lam: queue.arrival_rate, gamma: queue.preemption_cost}
    stated = float(claim.subs(values))
    forms = (rule_of_thumb(queue, math.inf), float(rule_of_thumb_quantum().subs(values)))
    numeric = all(math.isclose(form, stated, rel_tol=1e-12) for form in forms)
    grows = is_positive(growth)
    words = f"θ̂ {'grows' if grows else 'does not grow'} with γ, the numeric layer's is {'the same' if numeric else 'another'}"
    return everything(equations, Outcome(grows and numeric, words))


def _jump(law: ServiceLaw, terms: TwoLevelTerms) -> Jump:
    sides = [law.terms(terms, law.threshold, slowed=slowed) for slowed in (False, True)]
    left, right = (ball(terms.A, values) / ball(terms.B, values) for values in sides)
    return left, law.hazard(law.threshold), right


@cached
def jumps() -> dict[int, Jump]:
    """A⁻/B⁻, h_L and A⁺/B⁺ at ℓ_C = 3E[L] … 8E[L]."""
    terms = two_level_terms()
    with ctx.workprec(160):
        return {ratio: _jump(setting(arb(ratio)), terms) for ratio in range(3, 9)}


@entry(
    "eq-32",
    "θ̂ = ℓ_C for k = 2 and 3 ≤ ℓ_C/E[L] ≤ 7: there ℓ_C is a strict local minimum, at 8E[L] it is not",
    r"\hat\theta = \ell_C\ \text{if } k=2,\ a\le\ell_C/\mathbb E[L]\le b;\quad a=3,\ b=7",
    ((3, 4, 5, 6, 7), (8,)),
    ("b = 8", ((3, 4, 5, 6, 7, 8), ())),
    ("b = 6", ((3, 4, 5, 6), (7, 8))),
    source="eq. (32) at the paper's λ, β, γ",
    method="enclosure",
)
def check_window(claim: Window) -> Outcome:
    """The jump condition A⁻/B⁻ < h_L < A⁺/B⁺ at the paper's parameters, in interval arithmetic, for ℓ_C = nE[L]."""
    inside, outside = claim
    strict = {ratio: bool(left < h) and bool(h < right) for ratio, (left, h, right) in jumps().items()}
    broken = {ratio: bool(left > h) or bool(h > right) for ratio, (left, h, right) in jumps().items()}
    holds = all(strict[ratio] for ratio in inside) and all(broken[ratio] for ratio in outside)
    # a little towards the middle of the window: at its ends rounding decides
    queues = {ratio: PAPER.queue(ratio * (1 + 1e-9 * (5 - ratio))) for ratio in jumps()}
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
