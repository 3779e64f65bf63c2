"""What jumps at ℓ_C: A/B, and the slope of E[T]."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import Equations, everything, is_positive
from mlptsym.ledger.paper.notation import beta
from mlptsym.ledger.sections.two_levels.derivative import part_A, part_B
from mlptsym.ledger.sections.two_levels.quantities import at_size, linear_cost
from mlptsym.symbolic.mean.two_levels import jump_ratio, two_level_terms

ratio, gap, part, survivors, hazard = sp.symbols("r delta B_part Fbar h", positive=True)


@entry(
    "jump",
    "A/B jumps by the factor 1/β at ℓ_C: q′ goes from 1 to 1/β, A/q′ and B are continuous",
    r"\frac{A(\ell_C^+)}{B(\ell_C^+)} = \frac1\beta\,\frac{A(\ell_C^-)}{B(\ell_C^-)}",
    lambda: 1 / beta,
    ("β for 1/β", lambda: beta),
    ("1 − β", lambda: 1 - beta),
    source="section 4.3, after eq. (30)",
)
def check_jump(claim: sp.Expr) -> Equations:
    """The package's ratio of A/B across ℓ_C, and that nothing but the factor q′ of A jumps."""
    terms = two_level_terms()
    place = linear_cost(terms)
    slope = terms.service_slope
    left, right = (part_A(at_size(terms), value) / part_B(at_size(terms)) for value in (sp.S.One, 1 / beta))
    return [
        ("the package's ratio for any cost", jump_ratio(), claim),
        ("A⁺/B⁺", right, claim * left),
        ("A/q′ does not change with q′", sp.diff((terms.A / slope).subs(place), slope), sp.S.Zero),
        ("B does not change with q′", sp.diff(terms.B, slope), sp.S.Zero),
    ]


@entry(
    "jump-minimum",
    "ℓ_C is a strict local minimum if A(ℓ_C⁻)/B(ℓ_C⁻) < h_L(ℓ_C) < A(ℓ_C⁺)/B(ℓ_C⁺)",
    r"\frac{A(\ell_C^-)}{B(\ell_C^-)} < h_L(\ell_C) < \frac{A(\ell_C^+)}{B(\ell_C^+)}",
    lambda: (ratio, ratio + gap, ratio + 2 * gap),
    ("A⁻/B⁻ > h > A⁺/B⁺", lambda: (ratio + 2 * gap, ratio + gap, ratio)),
    ("h above both", lambda: (ratio, ratio + 2 * gap, ratio + gap)),
    ("h below both", lambda: (ratio + gap, ratio, ratio + 2 * gap)),
    source="section 4.3, after eq. (30)",
)
def check_strict_minimum(claim: tuple[sp.Expr, sp.Expr, sp.Expr]) -> Outcome:
    """T′ = F̄_L(A − B h) with A = B · (A/B): its sign on either side where A⁻/B⁻, h and A⁺/B⁺ are as stated, B > 0."""
    below, here, above = claim
    terms = two_level_terms()
    form = survivors * part * (ratio - hazard)
    derived = {ratio: terms.A / terms.B, part: terms.B, survivors: terms.tail, hazard: terms.hazard}
    equations = [("T′ = F̄_L B (A/B − h)", terms.derivative, form.subs(derived, simultaneous=True))]
    left, right = (form.subs({ratio: value, hazard: here}, simultaneous=True) for value in (below, above))
    falls, rises = is_positive(-left), is_positive(right)
    words = f"T′ {'< 0' if falls else 'not < 0'} before ℓ_C, {'> 0' if rises else 'not > 0'} after it"
    steps = (Step("T′ before ℓ_C", sp.expand(left)), Step("T′ after ℓ_C", sp.expand(right)))
    return everything(equations, Outcome(falls and rises, words, steps))


@entry(
    "kink-two-levels",
    "at θ = ℓ_C the slope dT/dθ jumps up, by (1 − β) F̄_L B h_L: a kink that can be a minimum, never a maximum",
    r"T'(\theta)\Big|_{\ell_C^-}^{\ell_C^+} = (1-\beta)\bar F_L(\ell_C)B(\ell_C)h_L(\ell_C) > 0",
    lambda survivors, B, hazard: (1 - beta) * survivors * B * hazard,
    ("1/β − 1 for 1 − β", lambda survivors, B, hazard: (1 / beta - 1) * survivors * B * hazard),
    ("downward", lambda survivors, B, hazard: (beta - 1) * survivors * B * hazard),
    source="section 4.3; the paper has the jump of A/B only",
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
        [("jump of dT/dθ at ℓ_C, any cost", after - before, jump)],
        Outcome(upward, "the slope jumps up" if upward else "the slope does not jump up", (Step("jump", form),)),
    )
