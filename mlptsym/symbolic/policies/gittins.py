"""The Gittins index of section 4.1: efficiency J(a, Δ), index G(a), and the cases in which both have a closed form.

A job of age a (attained service) that is given a quantum Δ completes within it with some probability and takes some
time; J is the ratio of the two means and G(a) = sup over Δ > 0 of J(a, Δ).  Everything is written in the upper partial
moments of the service time S, so a size law enters by its closed moments (`under_law`) and the slowdown by S = q(L).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import age, service, slowdown_threshold
from mlptsym.symbolic.model.moments import Density, Indicator, UpperMoment, expectation, tail
from mlptsym.symbolic.model.service import service_time_inverse
from mlptsym.symbolic.model.size_law import LawFormulas, point

quantum_symbol = sp.Symbol("Delta", positive=True)


def completed(attained: sp.Expr = age, quantum: sp.Expr = quantum_symbol) -> sp.Expr:
    """P(a < S ≤ a + Δ), the numerator of J times P(S > a).

    Examples
    --------
    >>> completed() == tail(age) - tail(age + quantum_symbol)
    True
    """
    through = attained + quantum
    return expectation(Indicator(service, attained) - Indicator(service, through), [attained, through])


def served(attained: sp.Expr = age, quantum: sp.Expr = quantum_symbol) -> sp.Expr:
    """E[min(S − a, Δ) ; S > a], the denominator of J times P(S > a)."""
    given = Indicator(service, attained) * sp.Min(service - attained, quantum)
    return expectation(given, [attained, attained + quantum])


def efficiency(attained: sp.Expr = age, quantum: sp.Expr = quantum_symbol) -> sp.Expr:
    """J(a, Δ) = P(S − a ≤ Δ | S > a) / E[min(S − a, Δ) | S > a]."""
    return completed(attained, quantum) / served(attained, quantum)


def hazard(attained: sp.Expr = age) -> sp.Expr:
    """h(a) = f(a) / P(S > a)."""
    return Density(attained) / tail(attained)


class GittinsIndex(sp.Function):
    """The Gittins index G(a) = sup over Δ > 0 of J(a, Δ), a function of the age that stays folded.

    SymPy has no supremum; `candidates` gives the values among which it is: the two ends Δ → 0 and Δ → ∞, and J at a
    zero of its slope, where J(a, Δ) = h(a + Δ) (`efficiency_defects` proves it).
    """

    nargs = 1

    def candidates(self) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
        """lim J as Δ → 0, J at a stationary Δ written as a hazard, and lim J as Δ → ∞.

        Examples
        --------
        >>> first, _, last = GittinsIndex(age).candidates()
        >>> first == hazard(), last == tail(age) / (UpperMoment(1, age) - age * tail(age))
        (True, True)
        """
        (attained,) = self.args
        slopes = [part(attained).diff(quantum_symbol) for part in (completed, served)]
        at_once = (slopes[0] / slopes[1]).subs(quantum_symbol, 0)
        never = expectation(Indicator(service, attained) * (service - attained), [attained])
        return at_once, hazard(attained + quantum_symbol), tail(attained) / never

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        (attained,) = (printer._print(argument) for argument in self.args)
        body = rf"\sup_{{\Delta > 0}} J\left({attained}, \Delta\right)"
        return body if exp is None else rf"\left({body}\right)^{{{exp}}}"


@dataclass(frozen=True)
class EfficiencyDefects:
    """Expressions that are all zero: J is the mean of the hazard over (a, a + Δ), weighted with the tail."""

    # ∂/∂Δ of numerator and denominator, less h(a + Δ) P(S > a + Δ) and P(S > a + Δ)
    completed_slope: sp.Expr
    served_slope: sp.Expr
    # Numerator and denominator at Δ = 0.  With the two slopes: J = ∫ h P(S > t) dt / ∫ P(S > t) dt over (a, a + Δ).
    completed_start: sp.Expr
    served_start: sp.Expr
    # ∂J/∂Δ, less P(S > a + Δ) (h(a + Δ) − J) / E[min(S − a, Δ) ; S > a].  Hence J(a, Δ) = h(a + Δ) wherever J is
    # stationary, and where h falls strictly on (a, ∞), J, a mean of larger values, falls in Δ.
    slope: sp.Expr
    # lim J as Δ → 0, less h(a).  So G(a) = h(a) and Δ*(a) = 0 if the hazard falls strictly from a on (lemma 4.1).
    start: sp.Expr


def efficiency_defects() -> EfficiencyDefects:
    """Prove by differentiation that J is a weighted mean of the hazard.

    Examples
    --------
    >>> import dataclasses
    >>> set(dataclasses.astuple(efficiency_defects()))
    {0}
    """
    through = age + quantum_symbol
    numerator, denominator, J = completed(), served(), efficiency()
    rising = tail(through) * (hazard(through) - J) / denominator
    return EfficiencyDefects(
        sp.simplify(numerator.diff(quantum_symbol) - hazard(through) * tail(through)),
        sp.simplify(denominator.diff(quantum_symbol) - tail(through)),
        numerator.subs(quantum_symbol, 0),
        sp.expand(denominator.subs(quantum_symbol, 0)),
        sp.simplify(J.diff(quantum_symbol) - rising),
        sp.simplify(GittinsIndex(age).candidates()[0] - hazard()),
    )


def under_law(expression: sp.Expr, law: LawFormulas) -> sp.Expr:
    """An expression in moments and densities of S, for S of a given law (no slowdown: S = L, inside the support)."""

    def moment(order: sp.Expr, at: sp.Expr, _: sp.Symbol) -> sp.Expr:
        return law.closed_moment(int(order)).subs(point, at)

    return expression.replace(UpperMoment, moment).replace(Density, lambda at, _: law.density.subs(point, at))


@dataclass(frozen=True)
class ClosedIndex:
    """Index and quantum in closed form."""

    index: sp.Expr  # G(a) = h(a), a function of ``age``
    quantum: sp.Expr  # Δ*(a): ∞ where the hazard is constant and 0 where it falls strictly


def closed_index(law: LawFormulas, assuming: Mapping[sp.Symbol, sp.Expr] | None = None) -> ClosedIndex:
    """Gittins index of a law whose hazard SymPy proves constant, or strictly falling on the whole support.

    S has the law (no slowdown).  ``assuming`` has parameters written so that a condition on them holds, such as
    ``{shape: 1/(1 + s)}`` with s > 0 for a shape below one.

    Raises
    ------
    ValueError
        If neither can be shown.

    Examples
    --------
    >>> from mlptsym.laws import size_laws
    >>> closed_index(size_laws()["Exponential"].formulas())
    ClosedIndex(index=rate, quantum=oo)
    >>> closed_index(size_laws()["Lomax"].formulas()).index
    shape/(a + scale)
    """
    x = sp.Dummy("x", positive=True)
    given = dict(assuming or {})
    survival = law.closed_moment(0).subs(given).subs(point, x)
    density = law.density.subs(given).subs(point, x)
    rate = sp.simplify(density / survival)
    slope = sp.factor(sp.simplify(rate.diff(x)))
    if slope.is_zero:
        return ClosedIndex(rate.subs(x, age), sp.oo)
    if slope.is_negative:
        return ClosedIndex(rate.subs(x, age), sp.S.Zero)
    raise ValueError(f"the hazard of {law.name}, {rate}, is not shown to be constant or to fall strictly")


def hazard_jump() -> sp.Expr:
    """h_S just after the slowdown sets in, over h_S just before: the rate at which work is done steps from 1 to β.

    The hazard of S at t is that of L at q⁻¹(t) times the slope of q⁻¹, and h_L is continuous.

    Examples
    --------
    >>> hazard_jump()
    beta
    """
    step = sp.Dummy("u", positive=True)
    before = -service_time_inverse(slowdown_threshold - step).diff(step)
    after = service_time_inverse(slowdown_threshold + step).diff(step)
    return sp.simplify(after / before)


def chord_formula() -> Formula:
    """P(a < S ≤ b) and E[min(S, b) − a ; S > a], numerator and denominator of J."""
    through = age + quantum_symbol
    inputs = {
        "age": age,
        "quantum": quantum_symbol,
        "tail_start": tail(age),
        "tail_end": tail(through),
        "first_start": UpperMoment(1, age),
        "first_end": UpperMoment(1, through),
    }
    return Formula(inputs, {"completed": completed(), "served": served()})
