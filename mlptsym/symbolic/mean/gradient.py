"""Derivatives of E[T] in the boundaries t_1, …, t_{k−1}, for any number of levels.

Both passes of differentiation over the levels are here, each as the step of one level.

Forward, for one direction of change such as t_r = rθ: `level_slopes` differentiates what a level contributes, and
`waiting_slopes` the waiting time in the sums carried from level to level.

Backward, for all boundaries at once: the adjoint of a carried quantity is the derivative of E[T] in it with the
boundaries held fixed, and `boundary_slope` differentiates in t_J what levels J and J + 1 contribute at these adjoints.
With d_j a function of E[X_{j−1}], E[X_j], a_{j−1}, Q = Σ E[Y_r²] and Z_j = Σ_{r≤j} a_{r−1} E[Y_r]:

- Q has the adjoint W = Σ_j p_j ∂d_j/∂Q;
- a term of Z added in level r has ζ_r = Σ_{j≥r} p_j ∂d_j/∂Z_j;
- E[Y_r] has ξ_r = 1 + Σ_{j≥r} p_j ∂d_j/∂E[X_j] + Σ_{j>r} p_j ∂d_j/∂E[X_{j−1}] + a_{r−1} ζ_r;
- a_{r−1} has α_r = ζ_r E[Y_r] + p_r ∂d_r/∂a_{r−1};
- what level r adds to every later a has Σ_{j>r} α_j: α_{J+1} + χ_J for r = J, and χ_J = Σ_{j≥J+2} α_j for r = J + 1.

Costs are functions of the boundary at which they arise, and move with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import (
    age,
    arrival_rate,
    attained,
    level,
    restore_cost,
    size,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.mean.response import ResponseTerms, level_terms, response_terms
from mlptsym.symbolic.model.moments import Density, UpperMoment, tail
from mlptsym.symbolic.model.service import service_rate
from mlptsym.symbolic.policies.discipline import RESTORING, Discipline


@dataclass(frozen=True)
class WaitingSlopes:
    """Partial derivatives of d_j in the sums it is made of, in the symbols of ``terms``."""

    terms: ResponseTerms  # d_j and its symbols
    # ∂d_j/∂E[X_{j−1}], ∂d_j/∂E[X_j], ∂d_j/∂a_{j−1}, ∂d_j/∂Q and ∂d_j/∂Z_j
    work_before: sp.Expr
    work: sp.Expr
    before: sp.Expr
    squares: sp.Expr
    crossings: sp.Expr


def waiting_slopes() -> WaitingSlopes:
    """`WaitingSlopes`, by differentiating the waiting time of `response_terms`."""
    terms = response_terms()
    inputs = (terms.work_before, terms.work, terms.before, terms.squares, terms.crossings)
    return WaitingSlopes(terms, *(sp.factor(sp.diff(terms.waiting, quantity)) for quantity in inputs))


@dataclass(frozen=True)
class LevelSlopes:
    """Derivative of what level J contributes, along a change of both its ends."""

    # Rates of change of t_{J−1} and t_J: J − 1 and J for the derivative in a common quantum
    start_slope: sp.Symbol
    end_slope: sp.Symbol
    # For each cost of the discipline its derivative in t, at t_{J−1} and at t_J
    cost_slopes: tuple[tuple[sp.Symbol, sp.Symbol], ...]
    piece: sp.Symbol  # E[Y_J]
    # Derivatives of p_J, E[Y_J] and E[Y_J²], in the symbols above, t_{J−1}, t_J, the costs, P(S > t) and the density
    # of S at both ends
    probability: sp.Expr
    piece_mean: sp.Expr
    piece_square: sp.Expr


@cached
def level_slopes(*, last: bool = False, discipline: Discipline = RESTORING) -> LevelSlopes:
    """`LevelSlopes`, by Leibniz: the partial moments bring the density at the ends; ``last`` if t_J = ∞."""
    start_slope, end_slope = sp.symbols("dt_start dt_end", real=True)
    piece = sp.Symbol("Y", nonnegative=True)
    terms = level_terms(level, last=last, discipline=discipline)
    start, end = (_MovingBoundary.of(level - 1 + step, discipline, name) for step, name in enumerate(("start", "end")))

    def along(expression: sp.Expr) -> sp.Expr:
        slope = start_slope * start.slope(expression)
        return sp.expand(slope if last else slope + end_slope * end.slope(expression))

    # E[Y_J] is at hand where these are used, and has more digits than the moments it is made of
    moment = UpperMoment(1, attained(level - 1))
    ((known,),) = sp.linsolve([terms.piece_mean - piece], [moment])
    beyond = tail(attained(level, last=last))
    square = sp.collect(sp.expand(along(terms.piece_square).subs(moment, known)), beyond * end_slope)
    return LevelSlopes(
        start_slope,
        end_slope,
        tuple(zip(start.cost_slopes, end.cost_slopes, strict=True)),
        piece,
        along(terms.probability),
        along(terms.piece_mean),
        square,
    )


@dataclass(frozen=True)
class _MovingBoundary:
    """Differentiation in one boundary t_r, of which the costs that arise there are functions."""

    index: sp.Expr
    costs: tuple[sp.Indexed, ...]
    cost_slopes: tuple[sp.Symbol, ...]

    @classmethod
    def of(cls, index: sp.Expr, discipline: Discipline, name: str) -> _MovingBoundary:
        costs = tuple(family[index] for family in discipline.costs)
        slopes = tuple(sp.Symbol(f"d{family}_{name}", nonnegative=True) for family in discipline.costs)
        return cls(index, costs, slopes)

    def slope(self, expression: sp.Expr) -> sp.Expr:
        at = sp.Dummy("t", positive=True)
        moving = {here: sp.Function(str(here.base), nonnegative=True)(at) for here in self.costs}
        slope = expression.subs({**moving, attained(self.index): at}).diff(at)
        for (here, function), rate in zip(moving.items(), self.cost_slopes, strict=True):
            slope = slope.subs(function.diff(at), rate).subs(function, here)
        return slope.subs(at, attained(self.index))


@dataclass(frozen=True)
class BoundarySlope:
    """∂E[T]/∂t_J in the quantities of the two levels that meet at t_J and in adjoints."""

    # d_J and d_{J+1}
    waiting: sp.Symbol
    waiting_next: sp.Symbol
    # ξ_J and ξ_{J+1}
    piece_adjoint: sp.Symbol
    piece_adjoint_next: sp.Symbol
    # W, α_{J+1} and χ_J
    square_adjoint: sp.Symbol
    before_adjoint: sp.Symbol
    later_adjoint: sp.Symbol
    cost_slopes: tuple[sp.Symbol, ...]  # The derivative in t, at t_J, of each cost of the discipline
    piece_next: sp.Symbol  # E[Y_{J+1}]
    density: sp.Expr  # The density of S at t_J, in which the slope is linear
    # ∂E[T]/∂t_J; beside the symbols above it contains t_{J−1}, t_J, the costs there, P(S > t_J) and the density
    slope: sp.Expr


@cached
def boundary_slope(*, last: bool = False, discipline: Discipline = RESTORING) -> BoundarySlope:
    """Differentiate what levels J and J + 1 contribute, at the adjoints of what they pass on, in t_J.

    If level J + 1 serves to completion (``last``), the result is the same expression.

    Examples
    --------
    >>> sp.expand(boundary_slope().slope - boundary_slope(last=True).slope)
    0
    """
    adjoints = sp.symbols("d_J d_next xi_J xi_next W alpha_next chi_J", real=True)
    waiting, waiting_next, piece_adjoint, piece_adjoint_next, square_adjoint, before_adjoint, later_adjoint = adjoints
    piece_next, moving = sp.Symbol("Y_next", nonnegative=True), _MovingBoundary.of(level, discipline, "here")
    above, below = (level_terms(level + step, last=last and step == 1, discipline=discipline) for step in (0, 1))
    passed_on = (
        above.probability * waiting
        + below.probability * waiting_next
        + above.piece_mean * piece_adjoint
        + below.piece_mean * piece_adjoint_next
        + (above.piece_square + below.piece_square) * square_adjoint
        + discipline.passed(level) * (before_adjoint + later_adjoint)
        + discipline.passed(level + 1) * later_adjoint  # none has an adjoint beyond a last level
    )
    slope = moving.slope(passed_on)
    moment = UpperMoment(1, attained(level))
    ((known,),) = sp.linsolve([below.piece_mean - piece_next], [moment])
    density = Density(attained(level))
    slope = sp.collect(sp.expand(slope.subs(moment, known)), [density, tail(attained(level)), square_adjoint])
    return BoundarySlope(*adjoints, moving.cost_slopes, piece_next, density, slope)  # type: ignore[call-arg]  # seven adjoints


def service_density(point: sp.Expr) -> sp.Expr:
    """Density of S = q(L) at q(point): that of L over q′, which is the reciprocal of the service rate.

    Examples
    --------
    >>> from mlptsym.symbolic.algebra.symbols import slowdown_threshold
    >>> service_density(slowdown_threshold) / Density(slowdown_threshold, size)
    beta
    """
    return Density(point, size) * service_rate(point)


def _waiting_inputs(terms: ResponseTerms) -> dict[str, sp.Basic]:
    names = ("work_before", "work", "before", "squares", "crossings")
    return {"arrival_rate": arrival_rate, **{name: getattr(terms, name) for name in names}}


def waiting_adjoints_formula() -> Formula:
    """The partial derivatives of d_j in the sums it is made of."""
    slopes = waiting_slopes()
    outputs = {name: getattr(slopes, name) for name in ("work_before", "work", "before", "crossings")}
    return Formula(_waiting_inputs(slopes.terms), outputs, frozenset({"arrival_rate"}))


def waiting_slope_formula() -> Formula:
    """d_j, and its derivative along given derivatives of the sums it is made of."""
    slopes = waiting_slopes()
    inputs = _waiting_inputs(slopes.terms)
    along = {name: sp.Dummy(f"{name}_slope", real=True) for name in inputs if name != "arrival_rate"}
    total = sp.Add(*(getattr(slopes, name) * symbol for name, symbol in along.items()))
    inputs |= {f"{name}_slope": symbol for name, symbol in along.items()}
    return Formula(inputs, {"waiting": slopes.terms.waiting, "slope": total}, frozenset({"arrival_rate"}))


def boundary_formula() -> Formula:
    """∂E[T]/∂t_J."""
    terms = boundary_slope()
    inputs = {
        "start": attained(level - 1),
        "here": attained(level),
        "cost_before": restore_cost(level - 1),
        "cost": restore_cost(level),
        "cost_slope": terms.cost_slopes[0],
        "tail": tail(attained(level)),
        "density": terms.density,
        "waiting": terms.waiting,
        "waiting_next": terms.waiting_next,
        "piece_adjoint": terms.piece_adjoint,
        "piece_adjoint_next": terms.piece_adjoint_next,
        "square_adjoint": terms.square_adjoint,
        "before_adjoint": terms.before_adjoint,
        "later_adjoint": terms.later_adjoint,
        "piece_next": terms.piece_next,
    }
    return Formula(inputs, {"slope": terms.slope})


def level_slopes_formula(last: bool) -> Formula:
    """Derivatives of p_j, E[Y_j] and E[Y_j²] along changes of the ends of level j."""
    terms = level_slopes(last=last)
    start, end = attained(level - 1), attained(level)
    inputs = {
        "start": start,
        "end": end,
        "start_slope": terms.start_slope,
        "end_slope": terms.end_slope,
        "cost": restore_cost(level - 1),
        "cost_slope": terms.cost_slopes[0][0],
        "tail_start": tail(start),
        "tail_end": tail(end),
        "density_start": Density(start),
        "density_end": Density(end),
        "piece": terms.piece,
    }
    names = ("probability", "piece_mean", "piece_square")
    return Formula(inputs, {name: getattr(terms, name) for name in names})


def density_formula() -> Formula:
    """Density of S at q(x) from that of L at x."""
    inputs = {"x": age, "threshold": slowdown_threshold, "factor": slowdown_factor, "density": Density(age, size)}
    return Formula(inputs, {"density": service_density(age)}, frozenset({"threshold", "factor"}))
