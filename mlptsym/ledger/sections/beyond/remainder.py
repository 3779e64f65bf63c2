"""Infinitely many levels: bounds of what the levels beyond some J add, as formulas and against sums of the levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy as sp
from flint import arb, ctx

from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import Equations
from mlptsym.ledger.exact.enclosure import ball
from mlptsym.ledger.paper.notation import J, lam, t, theta
from mlptsym.ledger.paper.printed import integral
from mlptsym.ledger.sections.beyond.distribution.response import exponential
from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.symbols import service
from mlptsym.symbolic.mean.remainder import Remainder, remainder
from mlptsym.symbolic.model.moments import Density, UpperMoment, tail

u = sp.Symbol("u", positive=True)
RATE, INTERCEPT, SLOPE = sp.Rational(1, 3), sp.Rational(1, 20), sp.Rational(1, 10)
"""λ, and the restore cost as a line in age, at which the sums are enclosed."""
SUMMED_LEVELS = 400
"""Levels added one by one; at the shortest quantum, a quarter of the mean size, e^{−100} of the jobs go beyond them."""


def over_ages(polynomial: sp.Expr, start: sp.Expr) -> sp.Expr:
    """∫ p(u) P(S > u) du over (start, ∞) by parts: each power u^n gives E[S^{n+1} − start^{n+1} ; S > start]/(n + 1)."""
    terms = sp.Poly(sp.expand(polynomial), u).terms()
    parts = (
        coefficient * (UpperMoment(n + 1, start) - start ** (n + 1) * tail(start)) / (n + 1)
        for (n,), coefficient in terms
    )
    return sp.Add(*parts)


@dataclass(frozen=True)
class Side:
    """A bound, from above or from below, of each sum over the levels beyond J."""

    work: sp.Expr  # Of E[S^eff] − E[X_J]
    squares: sp.Expr  # Of Σ_{r>J} E[Y_r²]
    before: sp.Expr  # Of Σ_{j>J} p_j a_{j−1}
    late: sp.Expr  # Of Σ_{j>J} p_j d_j


def _late(terms: Remainder, squares: sp.Expr, before: sp.Expr, work: sp.Expr, own: sp.Expr) -> sp.Expr:
    """Σ_{j>J} p_j d_j if d_j = (λ(Q + 2Z_J + 2 a_{j−1} own)/2 + λ a_{j−1} work (1 − λ work))/(1 − λ work)²."""
    constant = lam * (terms.squares + squares + 2 * terms.crossings) / 2 * tail(t(J))
    return (constant + lam * before * own + lam * before * work * (1 - lam * work)) / (1 - lam * work) ** 2


def above(terms: Remainder, first: Any = 1, shift: Any = 1) -> Side:
    """Bounds from above; ``first`` of the first term of each sum over r ≥ J, and costs ``shift`` quanta later."""

    def cost(age: sp.Expr) -> sp.Expr:
        return terms.intercept + terms.slope * age

    at, later = tail(t(J)), cost(u + shift * theta)
    work = over_ages(sp.S.One, t(J)) + first * cost(t(J)) * at + over_ages(later, t(J)) / theta
    squares = first * (theta + cost(t(J))) ** 2 * at + over_ages((theta + later) ** 2, t(J)) / theta
    paid = terms.intercept * service + terms.slope * service**2 / 2
    before = integral(service + paid / theta, t(J))
    return Side(work, squares, before, _late(terms, squares, before, terms.work + work, work))


def below(terms: Remainder, shift: Any = -1) -> Side:
    """Bounds from below, with costs a quantum earlier; the sums of costs before a level are integrals over ages."""

    def cost(age: sp.Expr) -> sp.Expr:
        return terms.intercept + terms.slope * age

    work = over_ages(sp.S.One, t(J)) + over_ages(cost(u + shift * theta), t(J)) / theta
    squares = over_ages((theta + cost(u + shift * theta)) ** 2, t(J)) / theta - theta**2 * tail(t(J))
    start, end = t(J) - theta, service - 2 * theta
    paid = terms.intercept * (end - start) + terms.slope * (end**2 - start**2) / 2
    before = integral(sp.expand(terms.before + service - theta - t(J) + paid / theta), t(J))
    return Side(work, squares, before, _late(terms, squares, before, terms.work, sp.S.Zero))


Bounds = tuple[Callable[[Remainder], Side], Callable[[Remainder], Side]]


def missing(side: Side, terms: Remainder) -> sp.Expr:
    """What the levels beyond J add to E[T]: more work, more squares for the waits of levels through J, and their own."""
    return side.work + side.squares * terms.weight + side.late


@entry(
    "remainder-bounds",
    "bounds of what the levels beyond J add to E[T], sums over levels replaced by integrals over ages",
    r"\sum_{r\ge J}c_r\bar F(t_r) \le c_J\bar F(t_J)+\frac1\theta\int_{t_J}^\infty"
    r"(\kappa_0+\kappa_1(u+\theta))\bar F(u)\,du",
    (above, below),
    ("without the first term", (partial(above, first=0), below)),
    ("costs at their own age", (above, partial(below, shift=0))),
    source="beyond the paper; theorem 4.5 for k = ∞",
)
def check_formulas(claim: Bounds) -> Equations:
    """The package's bounds against those stated, and the integrals in them: −p(u) P(S > u) is their derivative."""
    terms, start = remainder(), sp.Symbol("a", positive=True)
    most, least = (side(terms) for side in claim)
    coefficients = sp.symbols("p_0:4")
    polynomial = sp.Add(*(coefficient * u**n for n, coefficient in enumerate(coefficients)))
    slope = over_ages(polynomial, start).diff(start).subs(Density(start), sp.Symbol("f"))
    return [
        ("d/da ∫_a^∞ p(u) P(S > u) du", slope, -polynomial.subs(u, start) * tail(start)),
        ("the bound of E[S^eff]", terms.most_work, terms.work + most.work),
        ("the bound from above", terms.most, missing(most, terms)),
        ("the bound from below", terms.least, missing(least, terms)),
    ]


@dataclass(frozen=True)
class Summed:
    """Sums over the levels beyond J, and what is known at J, in interval arithmetic."""

    beyond: dict[str, arb]  # The sums `Side` names, and as ``whole`` what is missing in E[T]
    at: dict[str, arb]  # The sums through J by their names in `Remainder`


@cached
def summed(quantum_length: sp.Rational, through: int) -> Summed:
    """`Summed` for exponential S with mean one, level by level, with theorem 4.5 as the sum Σ p_j d_j(Q).

    What lies beyond the last level is between zero and its first term over 1 − ρ: terms are e^{−rθ} times a polynomial
    in r of degree three at most without negative coefficients, so that each is at most ρ = e^{−θ} (r + 1)³/r³ times
    the one before.
    """
    length, lam_, kappa_0, kappa_1 = (ball(number, {}) for number in (quantum_length, RATE, INTERCEPT, SLOPE))
    one, x = arb(1), (-length).exp()
    close = one / (one - x * (one + one / (SUMMED_LEVELS - 2)) ** 3)
    probability, piece, square, before = [], [], [], []
    reached, paid = one, arb(0)
    for r in range(1, SUMMED_LEVELS + 2):
        cost = kappa_0 + kappa_1 * length * (r - 1) if r > 1 else arb(0)
        left = one - x
        probability.append(left * reached)
        piece.append((cost + left) * reached)
        square.append((cost**2 + 2 * cost * left + 2 * (left - length * x)) * reached)
        before.append(length * (r - 1) + paid)
        reached, paid = reached * x, paid + cost

    def total(terms: list[arb], start: int = 0) -> arb:
        return sum(terms[start:SUMMED_LEVELS], arb(0)) + arb(0).union(terms[SUMMED_LEVELS] * close)

    crossing = [a * y for a, y in zip(before, piece, strict=True)]
    all_work, squares, crossings = total(piece), total(square), total(crossing)
    work, crossed = [arb(0)], [arb(0)]
    for y, crossing_here in zip(piece, crossing, strict=True):
        work.append(work[-1] + y)
        crossed.append(crossed[-1] + crossing_here)

    def wait(j: int, q: arb) -> arb:
        """d_j; beyond the levels summed, at most this."""
        last = j > SUMMED_LEVELS
        x_before, x_here, z = (all_work, all_work, crossings) if last else (work[j - 1], work[j], crossed[j])
        merged = lam_ * (q + 2 * z) / 2 / (one - lam_ * x_here)
        return (merged + lam_ * before[j - 1] * x_before) / (one - lam_ * x_before)

    waits = [p * wait(j, squares) for j, p in enumerate(probability, 1)]
    known = sum(square[:through], arb(0))
    waits_known = sum((p * wait(j, known) for j, p in enumerate(probability[:through], 1)), arb(0))
    weight = sum(
        (probability[j] * lam_ / 2 / (one - lam_ * work[j]) / (one - lam_ * work[j + 1]) for j in range(through)),
        arb(0),
    )
    beyond = {
        "work": total(piece, through),
        "squares": total(square, through),
        "before": total([p * a for p, a in zip(probability, before, strict=True)], through),
        "late": total(waits, through),
        "whole": all_work + total(waits) - work[through] - waits_known,
    }
    at = {"work": work[through], "squares": known, "crossings": crossed[through], "before": before[through]}
    return Summed(beyond, {**at, "weight": weight})


@entry(
    "remainder-encloses",
    "they enclose the sums over infinitely many levels, for exponential S and θ from a quarter to three means",
    r"\text{least} < \mathbb E[T_\infty] - \mathbb E[X_J] - \sum_{j\le J}p_jd_j(Q_J) < \text{most}",
    (above, below),
    ("without the first term", (partial(above, first=0), below)),
    ("a quantum later from below", (above, partial(below, shift=1))),
    source="beyond the paper; theorem 4.5 for k = ∞",
    method="enclosure",
)
def check_sums(claim: Bounds) -> Outcome:
    """Every sum over the levels beyond J between its bounds, for exponential S with mean one and several quanta."""
    terms, steps, outside = remainder(), [], []
    sides = [side(terms) for side in claim]
    with ctx.workprec(256):
        # from J = 2 on, as the cost before level 1 is not on the line
        quarter = sp.Rational(1, 4)
        for length, through in ((quarter, 2), (quarter, 8), (sp.S.One, 2), (sp.Integer(3), 2)):
            sums = summed(length, through)
            exact = {t(J): length * through, theta: length, lam: RATE, terms.intercept: INTERCEPT, terms.slope: SLOPE}
            known = {getattr(terms, name): number for name, number in sums.at.items()}
            for name, value in sums.beyond.items():
                most, least = (
                    ball(
                        exponential((missing(side, terms) if name == "whole" else getattr(side, name)).subs(exact)),
                        known,
                    )
                    for side in sides
                )
                shown = " < ".join(number.str(6, radius=False) for number in (least, value, most))
                steps.append(Step(f"{name} beyond level {through}, θ = {length}: {shown}"))
                if not (least < value < most):
                    outside.append(steps[-1].operation)
    words = f"not so: {outside[0]}" if outside else "all between their bounds"
    return Outcome(not outside, f"{len(steps)} sums over infinitely many levels: {words}", tuple(steps))
