"""What a level with equal quanta contributes, as integrals over the level, and the derivatives in θ."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import attained, level, quantum, service
from mlptsym.symbolic.policies.discipline import RESTORING, Discipline


@dataclass(frozen=True)
class PieceIntegrands:
    """p_n, E[Y_n] and E[Y_n²] of a level with equal quanta as integrals over the level, and their derivatives in θ.

    Differences of partial moments lose all digits at levels far out; these integrals over one quantum do not.
    """

    # The level n, a real number, and the part v of it, 0 < v < 1, over which is to be integrated
    number: sp.Symbol
    fraction: sp.Symbol
    # u = (n − 1 + v) θ and t_{n−1} = (n − 1) θ
    point: sp.Expr
    start: sp.Expr
    # Each cost of the discipline and its derivative in t, at t_{n−1} and at t_n
    costs: tuple[tuple[sp.Symbol, sp.Symbol], ...]
    cost_slopes: tuple[tuple[sp.Symbol, sp.Symbol], ...]
    # P(S > u), the density of S at u and its derivative there
    tail: sp.Symbol
    density: sp.Symbol
    density_slope: sp.Symbol
    # The first two at t_{n−1} and at t_n
    start_tail: sp.Symbol
    start_density: sp.Symbol
    end_tail: sp.Symbol
    end_density: sp.Symbol
    # Integrands
    probability: sp.Expr
    piece_mean: sp.Expr
    piece_square: sp.Expr
    # Their derivatives in θ for given n and v
    probability_slope: sp.Expr
    piece_mean_slope: sp.Expr
    piece_square_slope: sp.Expr


def piece_integrands(discipline: Discipline = RESTORING) -> PieceIntegrands:
    """`PieceIntegrands`; E[y(W)^m ; S > t] is y(0)^m P(S > t) and the integral of dy(w)^m/dw P(S > t + w) over (0, θ).

    W = min(S − t, θ) is the service in the level, and y(W) the piece; what follows the service of a job that goes on
    is added.

    Examples
    --------
    >>> terms = piece_integrands()
    >>> terms.piece_mean
    F_start*c_start + Fbar*theta
    """
    number, fraction = sp.symbols("n v", positive=True)
    names = sp.symbols("Fbar f df F_start f_start F_end f_end", real=True)
    survival, density, density_slope, start_tail, start_density, end_tail, end_density = names
    costs, cost_slopes = (
        tuple(sp.symbols(f"{mark}{family}_start {mark}{family}_end", real=True) for family in discipline.costs)
        for mark in ("", "d")
    )
    ends = ((number - 1) * quantum, number * quantum)
    point = (number - 1 + fraction) * quantum
    named = {attained(level - 1): ends[0], attained(level): ends[1]}
    for family, pair in zip(discipline.costs, costs, strict=True):
        named |= {family[level - 1]: pair[0], family[level]: pair[1]}
    served = sp.Dummy("w")
    here = sp.expand(discipline.completing(level).subs(named).subs(service, ends[0] + served))
    at_end = here.subs(served, quantum)
    gone_on = at_end + discipline.after_service(level).subs(named)

    def moment(order: int) -> sp.Expr:
        power = here**order
        within = (
            power.subs(served, 0) * start_tail
            + quantum * power.diff(served).subs(served, fraction * quantum) * survival
        )
        return sp.expand(within + sp.expand(gone_on**order - at_end**order) * end_tail)

    values = (quantum * density, moment(1), moment(2))
    rates = {
        quantum: sp.S.One,
        survival: -density * point.diff(quantum),
        density: density_slope * point.diff(quantum),
        start_tail: -start_density * ends[0].diff(quantum),
        end_tail: -end_density * ends[1].diff(quantum),
    }
    for pair, slopes_here in zip(costs, cost_slopes, strict=True):
        for cost, cost_slope, end in zip(pair, slopes_here, ends, strict=True):
            rates[cost] = cost_slope * end.diff(quantum)
    slopes = (sp.Add(*(value.diff(symbol) * rate for symbol, rate in rates.items())) for value in values)
    return PieceIntegrands(number, fraction, point, ends[0], costs, cost_slopes, *names, *values, *slopes)  # type: ignore[call-arg]


def piece_formula() -> Formula:
    """What is integrated over a level for p_n, E[Y_n] and E[Y_n²], and the derivatives of the three in θ."""
    terms = piece_integrands()
    names = ("number", "fraction", "tail", "density", "density_slope", "start_tail", "start_density")
    inputs = {name: getattr(terms, name) for name in names}
    inputs |= {"cost": terms.costs[0][0], "cost_slope": terms.cost_slopes[0][0]}
    values = ("probability", "piece_mean", "piece_square")
    outputs = {name: getattr(terms, name) for name in (*values, *(f"{name}_slope" for name in values))}
    return Formula({"quantum": quantum, **inputs}, outputs)
