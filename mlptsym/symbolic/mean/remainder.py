"""Bounds for infinitely many levels with equal quanta, as expressions in upper partial moments of S.

All of them compare a sum over levels with an integral over ages: restore costs do not fall with age, tails do not
rise.  A line bounds the restore costs, c(u) ≤ κ₀ + κ₁u.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, level, quantum, service
from mlptsym.symbolic.model.moments import Indicator, UpperMoment, expectation, tail


@dataclass(frozen=True)
class Remainder:
    """Bounds of what the levels beyond J add, in M_0 … M_3 of S at t = t_J = Jθ."""

    # κ₀ and κ₁
    intercept: sp.Symbol
    slope: sp.Symbol
    # E[X_J], Σ_{r≤J} E[Y_r²], Σ_{r≤J} a_{r−1} E[Y_r], and a_J
    work: sp.Symbol
    squares: sp.Symbol
    crossings: sp.Symbol
    before: sp.Symbol
    weight: sp.Symbol  # Σ_{j≤J} p_j ∂d_j/∂Q, by which E[T] grows with a further square
    most_work: sp.Expr  # Upper bound of E[S^eff]
    most: sp.Expr  # Upper bound of what is missing in E[T], where λ times `most_work` is below one
    least: sp.Expr  # Lower bound of the same, in a stable queue, if the restore costs are on the line from t_{J−1} on


def remainder() -> Remainder:
    """`Remainder`.

    Notes
    -----
    What is missing is E[S^eff] − E[X_J], the missing part of Q = Σ E[Y_r²] times W_J, and Σ_{j>J} p_j d_j.

    - E[S^eff] − E[X_J] = E[(S − t)⁺] + Σ_{r≥J} c_r P(S > t_r).  For t_{r−1} < u < t_r, c_r P(S > t_r) ≤ (κ₀ + κ₁(u
      + θ)) P(S > u), and for t_r < u < t_{r+1} it is at least (κ₀ + κ₁(u − θ)) P(S > u): integrals over u, divided by
      θ, bound the sum, from above with its first term added.
    - By the same argument with (θ + c_{r−1})² P(S > t_{r−1}) ≥ E[Y_r²] and, as E[(min(S, t_r) − t_{r−1})² ; S >
      t_{r−1}] ≥ θ² P(S > t_r), Σ_{r>J} E[Y_r²] ≥ (1/θ) ∫_t^∞ (θ + κ₀ + κ₁(u − θ))² P(S > u) du − θ² P(S > t).
    - With X = E[S^eff], for j > J: d_j ≤ (λ(Q + 2Z_J + 2 a_{j−1}(X − E[X_J]))/2 + λ a_{j−1}X (1 − λX))/(1 − λX)²,
      since Z_j ≤ Z_J + a_{j−1}(X − E[X_J]); on S > t_{j−1}, a_{j−1} ≤ S + (κ₀S + κ₁S²/2)/θ.  And d_j is at least the
      same with E[X_J] for X; there a_{j−1} ≥ a_J + S − θ − t + (1/θ) ∫ (κ₀ + κ₁u) du over (t − θ, S − 2θ).
    """
    names = sp.symbols("kappa_0 kappa_1 X_J Q_J Z_J a_J W_J", nonnegative=True)
    intercept, slope, work, squares, crossings, before, weight = names
    end, later = attained(level), sp.Dummy("u", positive=True)

    def cost(at: sp.Expr) -> sp.Expr:
        return intercept + slope * at

    def beyond(polynomial: sp.Expr) -> sp.Expr:
        return expectation(sp.expand(polynomial) * Indicator(service, end), [end])

    def between(polynomial: sp.Expr, low: sp.Expr, high: sp.Expr) -> sp.Expr:
        """∫ of a polynomial in u."""
        antiderivative = sp.Poly(polynomial, later).integrate().as_expr()
        return antiderivative.subs(later, high) - antiderivative.subs(later, low)

    def integral(polynomial: sp.Expr) -> sp.Expr:
        """∫_t^∞ of a polynomial in u times P(S > u), by exchanging the integrals."""
        return beyond(between(polynomial, end, service))

    def late(work: sp.Expr, squares: sp.Expr, before: sp.Expr, own_work: sp.Expr) -> sp.Expr:
        known = arrival_rate * (squares + 2 * crossings) / 2 * tail(end)
        spare = 1 - arrival_rate * work
        return (known + arrival_rate * before * (own_work + work * spare)) / spare**2

    most_work = integral(sp.S.One) + cost(end) * tail(end) + integral(cost(later + quantum)) / quantum
    most_squares = (quantum + cost(end)) ** 2 * tail(end) + integral((quantum + cost(later + quantum)) ** 2) / quantum
    most_before = beyond(service + between(cost(later), sp.S.Zero, service) / quantum)
    most_late = late(work + most_work, squares + most_squares, most_before, most_work)

    least_work = integral(sp.S.One) + integral(cost(later - quantum)) / quantum
    least_squares = integral((quantum + cost(later - quantum)) ** 2) / quantum - quantum**2 * tail(end)
    paid = between(cost(later), end - quantum, service - 2 * quantum) / quantum
    least_before = beyond(before + service - quantum - end + paid)
    least_late = late(work, squares + least_squares, least_before, sp.S.Zero)
    return Remainder(  # type: ignore[call-arg]  # the names are those of its symbols
        *names,
        work + most_work,
        most_work + most_squares * weight + most_late,
        least_work + least_squares * weight + least_late,
    )


def remainder_formula(growing: bool) -> Formula:
    """Bounds of what is missing in E[S^eff] and in E[T], for restore costs that grow or stay within a constant."""
    terms, end = remainder(), attained(level)
    inputs = {
        "arrival_rate": arrival_rate,
        "quantum": quantum,
        "end": end,
        "intercept": terms.intercept,
        "slope": terms.slope,
        "work": terms.work,
        "squares": terms.squares,
        "crossings": terms.crossings,
        "weight": terms.weight,
        **{f"moment_{order}": UpperMoment(order, end) for order in range(4)},
    }
    outputs = {"work": terms.most_work - terms.work, "response_time": terms.most}
    if not growing:  # no moment above the first is left, which may be infinite
        outputs = {name: bound.subs(terms.slope, 0) for name, bound in outputs.items()}
    return Formula(inputs, outputs, frozenset({"arrival_rate", "intercept", "slope"}))
