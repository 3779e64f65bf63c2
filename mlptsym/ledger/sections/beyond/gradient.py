"""The gradient of E[T] in the boundaries: adjoints passed back over the levels, against the derivative of theorem 4.5."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import sympy as sp

from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import Equations
from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.symbols import (
    boundary,
    cost,
    level,
    quantum,
    size,
    slowdown_factor,
    slowdown_threshold,
    unload,
)
from mlptsym.symbolic.mean.gradient import (
    BoundarySlope,
    WaitingSlopes,
    boundary_slope,
    level_slopes,
    service_density,
    waiting_slopes,
)
from mlptsym.symbolic.mean.level_integrals import PieceIntegrands, piece_integrands
from mlptsym.symbolic.mean.response import level_terms, mean_response_time
from mlptsym.symbolic.model import service as slowdown
from mlptsym.symbolic.model.moments import Density, tail
from mlptsym.symbolic.policies.algorithm import service_before
from mlptsym.symbolic.policies.discipline import RESTORING, UNLOADING, Discipline

AT_ZERO = {boundary[0]: 0, cost[0]: 0, unload[0]: 0}
kappa = sp.Symbol("kappa", nonnegative=True)
Chain = Callable[[WaitingSlopes, dict[str, sp.Expr]], sp.Expr]
Integrands = Callable[[PieceIntegrands], tuple[sp.Expr, sp.Expr, sp.Expr]]


@dataclass(frozen=True)
class Levels:
    """What k levels of a discipline contribute, each by its number, and their sums as the waiting times need them."""

    slopes: WaitingSlopes
    probability: dict[int, sp.Expr]
    piece: dict[int, sp.Expr]
    before: dict[int, sp.Expr]
    sums: dict[int, dict[sp.Symbol, sp.Expr]]

    @classmethod
    def of(cls, count: int, discipline: Discipline = RESTORING) -> Levels:
        """The package's terms of ``count`` levels."""
        numbers = range(1, count + 1)
        terms = {r: level_terms(sp.Integer(r), last=r == count, discipline=discipline) for r in numbers}
        piece = {r: term.piece_mean for r, term in terms.items()}
        before = {r: service_before(r, discipline) for r in terms}
        squares = sp.Add(*(term.piece_square for term in terms.values()))
        slopes = waiting_slopes()
        sums = {
            j: {
                slopes.terms.work_before: sp.Add(*(piece[r] for r in terms if r < j)),
                slopes.terms.work: sp.Add(*(piece[r] for r in terms if r <= j)),
                slopes.terms.before: before[j],
                slopes.terms.squares: squares,
                slopes.terms.crossings: sp.Add(*(before[r] * piece[r] for r in terms if r <= j)),
            }
            for j in terms
        }
        return cls(slopes, {r: term.probability for r, term in terms.items()}, piece, before, sums)

    def wait(self, j: int) -> sp.Expr:
        """d_j."""
        return self.slopes.terms.waiting.xreplace(self.sums[j])

    def effect(self, quantity: str, first: int, last: int | None = None) -> sp.Expr:
        """Σ_j p_j ∂d_j/∂(quantity) for levels j from the first to the last."""
        slope = getattr(self.slopes, quantity)
        chosen = (j for j in self.sums if first <= j <= (len(self.sums) if last is None else last))
        return sp.Add(*(self.probability[j] * slope.xreplace(self.sums[j]) for j in chosen))


Adjoint = Callable[[Levels, int], sp.Expr]


def square_adjoint(levels: Levels, _: int) -> sp.Expr:
    """W = Σ_j p_j ∂d_j/∂Q."""
    return levels.effect("squares", 1)


def piece_adjoint(levels: Levels, r: int) -> sp.Expr:
    """ξ_r = 1 + Σ_{j≥r} p_j ∂d_j/∂E[X_j] + Σ_{j>r} p_j ∂d_j/∂E[X_{j−1}] + a_{r−1} Σ_{j≥r} p_j ∂d_j/∂Z_j."""
    by_work = levels.effect("work", r) + levels.effect("work_before", r + 1)
    return 1 + by_work + levels.before[r] * levels.effect("crossings", r)


def before_adjoint(levels: Levels, r: int) -> sp.Expr:
    """α_r = E[Y_r] Σ_{j≥r} p_j ∂d_j/∂Z_j + p_r ∂d_r/∂a_{r−1}."""
    return levels.piece[r] * levels.effect("crossings", r) + levels.effect("before", r, r)


def cost_adjoint(levels: Levels, r: int) -> sp.Expr:
    """χ_r = Σ_{j≥r+2} α_j."""
    return sp.Add(*(before_adjoint(levels, j) for j in levels.sums if j >= r + 2))


ADJOINTS: dict[str, Adjoint] = {"W": square_adjoint, "xi": piece_adjoint, "alpha": before_adjoint, "chi": cost_adjoint}


def by_adjoints(terms: BoundarySlope, adjoints: dict[str, Adjoint], index: int, levels: Levels) -> sp.Expr:
    """The package's ∂E[T]/∂t_J at the adjoints stated."""
    place = {
        terms.waiting: levels.wait(index),
        terms.waiting_next: levels.wait(index + 1),
        terms.piece_adjoint: adjoints["xi"](levels, index),
        terms.piece_adjoint_next: adjoints["xi"](levels, index + 1),
        terms.square_adjoint: adjoints["W"](levels, index),
        terms.before_adjoint: adjoints["alpha"](levels, index + 1),
        terms.later_adjoint: adjoints["chi"](levels, index),
        terms.piece_next: levels.piece[index + 1],
    }
    return terms.slope.subs(level, index).subs(AT_ZERO).xreplace(place)


@cached
def direct(index: int, count: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """The derivative of theorem 4.5 for k levels as t_J moves, and the costs at t_J with it."""
    t = sp.Dummy("t", positive=True)
    costs = {family[index]: sp.Function(str(family), nonnegative=True)(t) for family in discipline.costs}
    slope = mean_response_time(count, discipline).subs(costs).subs({boundary[index]: t}).diff(t)
    rates = boundary_slope(discipline=discipline).cost_slopes
    slope = slope.subs({cost.diff(t): rate for cost, rate in zip(costs.values(), rates, strict=True)})
    return slope.subs({cost: here for here, cost in costs.items()}).subs(t, boundary[index])


@entry(
    "gradient-boundary",
    "the derivative of E[T] in a boundary, by adjoints passed back over the levels, is that of theorem 4.5",
    r"\frac{\partial\,\mathbb E[T]}{\partial t_J} = \frac{\partial}{\partial t_J}\Bigl(\sum_{r=J}^{J+1}\bigl(p_rd_r"
    r" + \xi_r\mathbb E[Y_r] + W\mathbb E[Y_r^2]\bigr) + \alpha_{J+1}a_J + \chi_Ja_{J+1}\Bigr)",
    lambda: ADJOINTS,
    ("no adjoint of E[X_{j−1}]", lambda: {**ADJOINTS, "xi": partial(_without, "work_before")}),
    ("no adjoint of the crossings", lambda: {**ADJOINTS, "xi": partial(_without, "crossings")}),
    ("χ from level J + 1 on", lambda: {**ADJOINTS, "chi": lambda all_, r: cost_adjoint(all_, r - 1)}),
    source="beyond the paper; theorem 4.5",
)
def check_gradient(claim: dict[str, Adjoint]) -> Equations:
    """Each boundary of two and of three levels: adjoints times what the two levels at t_J pass on, and d/dt_J itself."""
    return (
        (
            f"∂E[T]/∂t_{index} for k = {count}, {discipline.name}",
            by_adjoints(boundary_slope(discipline=discipline), claim, index, Levels.of(count, discipline)),
            direct(index, count, discipline),
        )
        for discipline, boundaries in ((RESTORING, ((1, 2), (1, 3), (2, 3))), (UNLOADING, ((1, 3), (2, 3))))
        for index, count in boundaries
    )


# a common quantum, all boundaries moving


def chain(slopes: WaitingSlopes, rates: dict[str, sp.Expr]) -> sp.Expr:
    """dd_j/dθ by the chain rule over the sums d_j is made of."""
    return sp.Add(*(getattr(slopes, name) * rate for name, rate in rates.items()))


def along_quantum(claim: Chain, levels: Levels) -> sp.Expr:
    """dE[T]/dθ at t_r = rθ, c_r = κt_r, from the package's slopes of each level."""
    count = len(levels.sums)
    found = {r: level_slopes(last=r == count) for r in levels.sums}
    place = {
        r: {
            terms.start_slope: r - 1,
            terms.end_slope: r,
            terms.cost_slopes[0][0]: kappa,
            terms.piece: levels.piece[r],
            level: r,
        }
        for r, terms in found.items()
    }
    mean, square, probability = (
        {r: getattr(terms, name).subs(place[r]).subs(AT_ZERO) for r, terms in found.items()}
        for name in ("piece_mean", "piece_square", "probability")
    )
    before = {r: r - 1 + kappa * sp.Rational((r - 2) * (r - 1), 2) for r in found}
    total = sp.Add(*mean.values())
    for j in found:
        rates = {
            "work_before": sp.Add(*(mean[r] for r in found if r < j)),
            "work": sp.Add(*(mean[r] for r in found if r <= j)),
            "before": before[j],
            "squares": sp.Add(*square.values()),
            "crossings": sp.Add(*(before[r] * levels.piece[r] + levels.before[r] * mean[r] for r in found if r <= j)),
        }
        total += probability[j] * levels.wait(j)
        total += levels.probability[j] * claim(levels.slopes, rates).xreplace(levels.sums[j])
    return total.xreplace(_equal_quanta(count))


def _equal_quanta(count: int) -> dict[sp.Expr, sp.Expr]:
    costs = {cost[r]: kappa * r * quantum for r in range(1, count)}
    return costs | {boundary[r]: r * quantum for r in range(1, count)}


@entry(
    "gradient-quantum",
    "the derivative of E[T] in a common quantum, put together level by level, is that of theorem 4.5",
    r"\frac{d\,\mathbb E[T]}{d\theta} = \sum_r\frac{d\,\mathbb E[Y_r]}{d\theta}"
    r" + \sum_j\Bigl(\frac{dp_j}{d\theta}d_j + p_j\frac{dd_j}{d\theta}\Bigr)",
    chain,
    ("the squares held fixed", lambda: partial(_holding, "squares")),
    ("a_{j−1} held fixed", lambda: partial(_holding, "before")),
    source="beyond the paper; theorem 4.5",
)
def check_quantum(claim: Chain) -> Equations:
    """Three levels: theorem 4.5 at t_r = rθ differentiated in θ, and the levels' slopes put together."""
    by_levels = along_quantum(claim, Levels.of(3))
    whole = mean_response_time(3).xreplace(_equal_quanta(3)).diff(quantum)
    return [("dE[T]/dθ for k = 3", by_levels, whole)]


# one level as an integral


def over_a_level(terms: PieceIntegrands) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """Integrands of p_n, E[Y_n] and E[Y_n²] over the part v of a level; those who go on have their state moved out."""
    head, foot = terms.costs[0][0], terms.costs[1][1]
    served, whole = head + terms.fraction * quantum, head + quantum
    return (
        quantum * terms.density,
        quantum * terms.tail + head * terms.start_tail + foot * terms.end_tail,
        2 * served * quantum * terms.tail
        + head**2 * terms.start_tail
        + ((whole + foot) ** 2 - whole**2) * terms.end_tail,
    )


@entry(
    "level-integrals",
    "p_n, E[Y_n] and E[Y_n²] of equal quanta as integrals over the level, and their derivatives in θ",
    r"\mathbb E[Y_n^2] = \int_0^1\bigl(2(c+v\theta)\,\theta\bar F((n-1+v)\theta)"
    r" + c^2\bar F((n-1)\theta)\bigr)dv",
    over_a_level,
    ("without the restore cost", lambda: partial(_with_cost, 0, sp.S.Zero)),
    ("the restore cost of the next level", lambda: partial(_with_cost, 0, quantum)),
    ("state is moved out at no cost", lambda: partial(_with_cost, 1, sp.S.Zero)),
    source="beyond the paper; how far levels keep their digits",
)
def check_level_integrals(claim: Integrands) -> Outcome | Equations:
    """A level cut at the part v has the stated integrand as its growth in v, with its value at v = 0, its head, added.

    What follows the service of those who go on is compared by itself, at the end of the level.  Then the package's
    derivatives in θ against those of the same expressions with everything a function of θ, for costs that are lines
    and any density.  Without moving state out, the same with its cost zero.
    """
    terms, plain = piece_integrands(UNLOADING), piece_integrands(RESTORING)
    stated = claim(terms)
    here, start, end = level_terms(level, discipline=UNLOADING), boundary[level - 1], boundary[level]
    density, finish = sp.Function("f"), terms.number * quantum
    (head, _), (_, foot) = terms.costs
    names = {
        density(terms.point): terms.density,
        density(terms.start): terms.start_density,
        density(finish): terms.end_density,
        tail(terms.point): terms.tail,
        tail(terms.start): terms.start_tail,
        tail(finish): terms.end_tail,
        cost[level - 1]: head,
        unload[level]: foot,
    }

    def named(expression: sp.Expr) -> sp.Expr:
        return expression.replace(Density, lambda point, _: density(point)).xreplace(names)

    equations = []
    cuts = {"p": here.probability, "E[Y]": here.piece_mean, "E[Y²]": here.piece_square}
    found = (terms.probability, terms.piece_mean, terms.piece_square)
    slopes = (terms.probability_slope, terms.piece_mean_slope, terms.piece_square_slope)
    intercept, slope = sp.symbols("kappa_0 kappa_1", nonnegative=True)
    line = {head: intercept + slope * terms.start, terms.cost_slopes[0][0]: slope}
    line |= {foot: intercept + 2 * slope * finish, terms.cost_slopes[1][1]: 2 * slope}
    functions = {symbol: function for function, symbol in names.items() if symbol not in (head, foot)} | line
    derived = {terms.point: terms.density_slope}
    for (words, cut), integrand, package, package_slope in zip(cuts.items(), stated, found, slopes, strict=True):
        served = cut.subs(unload[level], 0)
        placed = served.subs({start: terms.start, end: terms.point})
        growth = placed.diff(terms.fraction) + placed.subs(terms.fraction, 0)
        moved_out = sp.expand(cut - served).subs({start: terms.start, end: finish})
        along = integrand.xreplace(functions).diff(quantum).replace(sp.Subs, lambda _, __, at: derived[at[0]])
        equations += [
            (f"integrand of {words}", integrand, named(growth + moved_out)),
            (f"the package's integrand of {words}", package, integrand),
            (f"derivative of {words} in θ", package_slope.xreplace(line), named(along)),
        ]
    free = dict.fromkeys((foot, terms.cost_slopes[1][1]), sp.S.Zero)
    for name in ("piece_mean", "piece_square", "piece_mean_slope", "piece_square_slope"):
        equations.append((f"{name} in the paper", getattr(plain, name), getattr(terms, name).xreplace(free)))
    return equations


@entry(
    "service-density",
    "the density of S = q(L) at q(x) is that of L at x times the service rate",
    r"f_S(q(x)) = \mu(x)\,f_L(x)",
    lambda density, rate: density * rate,
    ("divided by the rate", lambda density, rate: density / rate),
    ("the density of L", lambda density, _: density),
    source="beyond the paper; from eqs. (2) and (3)",
)
def check_service_density(claim: Callable[[sp.Expr, sp.Expr], sp.Expr]) -> Equations:
    """d/dx E[S^n ; S > q(x)] = −q(x)^n f_S(q(x)) q′(x) before and beyond ℓ_C, with q′ as the growth of q over one unit."""
    x, step = sp.symbols("x delta", positive=True)
    sides = {
        "before ℓ_C": ({slowdown_threshold: x + 1 + step}, sp.S.One, False),
        "beyond ℓ_C": ({x: slowdown_threshold + step}, slowdown_factor, True),
    }
    equations = []
    for words, (side, rate, slowed) in sides.items():
        stated = claim(Density(x, size), rate).subs(side)
        time, later = (slowdown.service_time(work).subs(side) for work in (x, x + 1))
        equations.append((f"the package's density {words}", service_density(x).subs(side), stated))
        for n in range(3):
            slope = slowdown.service_upper_moment(n, x, slowed=slowed).diff(x).subs(side)
            equations.append((f"dM_{n}/dx {words}", slope, -(time**n) * stated * (later - time)))
    return equations


def _with_cost(which: int, added: sp.Expr, terms: PieceIntegrands) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """The integrands with another restore cost (0) or another cost of moving out (1): zero, or with something added."""
    cost_here = terms.costs[which][which]
    other = cost_here + added if added else added
    first, second, third = (integrand.subs(cost_here, other) for integrand in over_a_level(terms))
    return first, second, third


def _without(quantity: str, levels: Levels, r: int) -> sp.Expr:
    """ξ_r without one of its parts."""
    first = r + 1 if quantity == "work_before" else r
    factor = levels.before[r] if quantity == "crossings" else 1
    return piece_adjoint(levels, r) - factor * levels.effect(quantity, first)


def _holding(quantity: str, slopes: WaitingSlopes, rates: dict[str, sp.Expr]) -> sp.Expr:
    """The chain rule without one of its terms."""
    return chain(slopes, {**rates, quantity: sp.S.Zero})
