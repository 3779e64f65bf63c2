"""Kinks and jumps of E[T] as one boundary moves: at steps of the density of S, and at point masses of S."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import Equations, is_positive
from mlptsym.ledger.sections.beyond.gradient import ADJOINTS, Levels, direct
from mlptsym.symbolic.algebra.symbols import arrival_rate, boundary, cost, service
from mlptsym.symbolic.mean.response import mean_response_time
from mlptsym.symbolic.model.moments import Density, UpperMoment

Kink = Callable[[Levels, int], sp.Expr]
Mass = Callable[[sp.Symbol, sp.Expr], tuple[sp.Expr, sp.Expr, sp.Expr]]


def kink(levels: Levels, index: int) -> sp.Expr:
    """d_{J+1} − d_J + c_J ξ_{J+1} + c_J² W: what a job that completes at t_J is spared, and the others by it."""
    piece, square = (ADJOINTS[name](levels, index + 1) for name in ("xi", "W"))
    return levels.wait(index + 1) - levels.wait(index) + cost[index] * piece + cost[index] ** 2 * square


@entry(
    "kink-boundary",
    "∂E[T]/∂t_J falls by d_{J+1} − d_J + c_Jξ_{J+1} + c_J²W for each unit of the density of S at t_J",
    r"\frac{\partial^2\,\mathbb E[T]}{\partial f_S(t_J)\,\partial t_J} = -(d_{J+1} - d_J + c_J\xi_{J+1} + c_J^2W)",
    kink,
    ("without the cost", lambda: _without_cost),
    ("E[T] rises with the density", lambda: _rising),
    source="beyond the paper; theorem 4.5",
)
def check_kink(claim: Kink) -> Outcome | Equations:
    """The coefficient of the density of S in ∂E[T]/∂t_J, by differentiating theorem 4.5 for two and three levels."""
    density = sp.Dummy("f", positive=True)
    levels = {count: Levels.of(count) for count in (2, 3)}

    def by_density(index: int, count: int) -> sp.Expr:
        return direct(index, count).subs(Density(boundary[index], service), density).diff(density)

    return (
        (
            f"∂E[T]/∂t_{index} in the density of S at t_{index}, k = {count}",
            by_density(index, count),
            -claim(levels[count], index),
        )
        for index, count in ((1, 2), (1, 3), (2, 3))
    )


def mass_at(mass: sp.Symbol, place: sp.Expr) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """What a mass at t adds to E[S^n ; S > t] when t is just below it, n = 0, 1, 2."""
    return mass, mass * place, mass * place**2


@entry(
    "jump-at-mass",
    "two levels: where S = t has a positive probability, E[T] falls to its value at t as the boundary comes to t",
    r"\lim_{u\uparrow t}\mathbb E[T(u)] > \mathbb E[T(t)]\ \text{if}\ P(S = t) > 0",
    mass_at,
    ("the mass counted as beyond t on both sides", lambda: _no_mass),
    ("its service left out", lambda: _tail_only),
    source="beyond the paper; theorem 4.5 for two levels",
)
def check_jump(claim: Mass) -> Outcome:
    """E[T] of two levels with the boundary just below a mass, less E[T] with the boundary at it.

    With F = P(S > t), D = E[(S − t)⁺], V = E[((S − t)⁺)²] and the moments m, n of min(S, t), all coefficients of the
    difference are positive once 1 − ρ just below is a symbol of its own.
    """
    mass, tail, excess, square, below, below_square = sp.symbols("p F D V m n", positive=True)
    spare = sp.Symbol("sigma", positive=True)
    t, c = boundary[1], cost[1]
    at = (tail, tail * t + excess, tail * t**2 + 2 * t * excess + square)
    added = claim(mass, t)
    totals = {UpperMoment(1, 0): below + excess, UpperMoment(2, 0): below_square + 2 * t * excess + square}

    def time(moments: tuple[sp.Expr, ...]) -> sp.Expr:
        place = {UpperMoment(order, t): moment for order, moment in enumerate(moments)}
        return mean_response_time(2).xreplace({**totals, **place})

    difference = time(tuple(sp.Add(*pair) for pair in zip(at, added, strict=True))) - time(at)
    # 1/λ = E[S^eff just below] + σ, so that every load is below one
    rate = 1 / (below + excess + c * (tail + mass) + spare)
    fraction = sp.cancel(sp.together(difference.subs(arrival_rate, rate)))
    holds = is_positive(fraction)
    return Outcome(
        holds, "all coefficients are positive" if holds else "not of one sign", (Step("difference", fraction),)
    )


def _without_cost(levels: Levels, index: int) -> sp.Expr:
    return levels.wait(index + 1) - levels.wait(index)


def _rising(levels: Levels, index: int) -> sp.Expr:
    return -kink(levels, index)


def _no_mass(mass: sp.Symbol, place: sp.Expr) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    del mass, place
    return sp.S.Zero, sp.S.Zero, sp.S.Zero


def _tail_only(mass: sp.Symbol, place: sp.Expr) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    del place
    return mass, sp.S.Zero, sp.S.Zero
