"""The kinks of E[T] where a boundary is at ℓ_C."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import everything, is_positive
from mlptsym.ledger.paper.notation import J, lam, t, theta
from mlptsym.symbolic.algebra.symbols import restore_cost
from mlptsym.symbolic.mean.response import level_terms, response_terms
from mlptsym.symbolic.mean.two_levels import two_level_response_time, two_level_terms
from mlptsym.symbolic.model.moments import UpperMoment, tail

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


@entry(
    "kink-many-levels",
    "at θ = ℓ_C/m, m < k, the slope of E[T] jumps up, for every k and m: kinks that can be minima, never maxima",
    r"T'(\theta)\Big|_{(\ell_C/m)^-}^{(\ell_C/m)^+} = (1-\beta)\,f_L(\ell_C)\,m\,B_m > 0",
    (effect, 1),
    ("mass below t_J still pays c_J", lambda: (_still_paying, 1)),
    ("the slope jumps down", lambda: (effect, -1)),
    source="section 4.3; the paper has k = 2 only",
)
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
    effects = [(f"effect on {name}", moved_down(value, t(J)), change(name)) for name, value in found.items()]
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
    effects.append(("effect on E[T] for two levels", two, -terms.B.subs(place)))
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
    return everything(effects, Outcome(upward, f"{words}; the slope jumps {'up' if upward else 'down'}", steps))


def _positive(expression: sp.Expr) -> dict[sp.Symbol, sp.Symbol]:
    """Symbols that are only known to be non-negative, taken as positive."""
    return {symbol: sp.Symbol(symbol.name, positive=True) for symbol in expression.free_symbols}


def _still_paying(name: str) -> sp.Expr:
    return sp.S.Zero if name.startswith("E[Y") else effect(name)
