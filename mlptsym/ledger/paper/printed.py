"""The paper's formulas for k levels as they are printed, for any boundaries t_1 < … < t_{k−1} in place of θ, …, (k−1)θ.

These are the statements under test: nothing here is derived, and nothing outside the ledger uses it.  Each works for
numbers and for symbolic levels.  Arguments that name another formula are there for wrong variants to replace it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from mlptsym.ledger.paper.notation import F, c, t
from mlptsym.symbolic.algebra.induction import total
from mlptsym.symbolic.algebra.symbols import arrival_rate, service
from mlptsym.symbolic.model.moments import Indicator, UpperMoment, expectation, mean
from mlptsym.symbolic.policies.algorithm import boundaries

Level = Any
Formula = Callable[..., sp.Expr]


def quantum(r: Level) -> sp.Expr:
    """θ_r = t_r − t_{r−1}."""
    return t(r) - t(r - 1)


def integral(polynomial: sp.Expr, lower: sp.Expr, upper: sp.Expr = sp.oo, variable: sp.Symbol = service) -> sp.Expr:
    """∫ p(s) f(s) ds over (lower, upper], power by power: ∫ s^n f = M_n(lower) − M_n(upper)."""
    return sp.Add(
        *(
            coefficient * (UpperMoment(power, lower, variable) - UpperMoment(power, upper, variable))
            for (power,), coefficient in sp.Poly(polynomial, variable).terms()
        )
    )


def effective_size(k: Level) -> sp.Expr:
    """(9)."""
    return service + total(lambda r: c(r) * Indicator(service, t(r)), 1, k - 1)


def effective_mean(k: Level) -> sp.Expr:
    """(10)."""
    return mean() + total(lambda r: c(r) * F(r), 1, k - 1)


def probability(j: Level, k: Level) -> sp.Expr:
    """(13)."""
    return F(j - 1) if j == k else F(j - 1) - F(j)


def costs_before(j: Level) -> sp.Expr:
    """Σ_{r=1}^{j−1} c_r, as in (14) and (27)."""
    return total(c, 1, j - 1)


def served(j: Level) -> sp.Expr:
    """E[min{S, t_j}]."""
    return expectation(sp.Min(service, t(j)), [t(j)])


def work(j: Level) -> sp.Expr:
    """The random variable of (19)."""
    return sp.Min(service, t(j)) + total(lambda r: c(r) * Indicator(service, t(r)), 1, j - 1)


def merged_work(j: Level, k: Level) -> sp.Expr:
    """b_J, (17)."""
    return effective_mean(k) if j == k else served(j) + total(lambda r: c(r) * F(r), 1, j - 1)


def remaining_mean(i: Level, k: Level) -> sp.Expr:
    """v_i F̄(t_{i−1}), the expectation in (18) before it is conditioned on S > t_{i−1}."""
    return UpperMoment(1, t(i - 1)) - t(i - 1) * F(i - 1) + total(lambda r: c(r) * F(r), i - 1, k - 1, "s")


def remaining(i: Level, k: Level) -> sp.Expr:
    """v_i, (18)."""
    return remaining_mean(i, k) / F(i - 1)


def merged_occupied(j: Level) -> sp.Expr:
    """(20)."""
    return arrival_rate * F(j) * (t(j) + costs_before(j))


def lower_occupied(r: Level) -> sp.Expr:
    """(21)."""
    return arrival_rate * F(r) * (quantum(r) + c(r - 1))


def overtaken(
    j: Level, k: Level, v: Formula = remaining, merged: Formula = merged_occupied, lower: Formula = lower_occupied
) -> sp.Expr:
    """O_J, (16), for j < k; nothing is overtaken for j = k."""
    if j == k:
        return sp.S.Zero
    return merged(j) * v(j + 1, k) + total(lambda r: lower(r) * v(r + 1, k), j + 1, k - 1)


def merged_wait(j: Level, k: Level, correction: Formula = overtaken, divisor: Formula = merged_work) -> sp.Expr:
    """d_J, (15), for numbers j and k."""
    square = expectation(effective_size(k) ** 2, boundaries(1, k - 1))
    return (arrival_rate * square / 2 - correction(j, k)) / (1 - arrival_rate * divisor(j, k))


def before(j: Level) -> sp.Expr:
    """a_{j−1}, (23)."""
    return t(j - 1) + total(c, 1, j - 2)


def interrupting(j: Level) -> sp.Expr:
    """E[X_{j−1}], (23)."""
    return served(j - 1) + total(lambda r: c(r) * F(r), 1, j - 2)


def waiting_time(j: Level, k: Level, ahead: Formula = before, new: Formula = interrupting) -> sp.Expr:
    """d_j, (23), for numbers j and k."""
    if j == 1:
        return merged_wait(j, k)
    return (merged_wait(j, k) + arrival_rate * ahead(j) * new(j)) / (1 - arrival_rate * new(j))


def response_time(
    k: Level, size: Formula = effective_mean, p: Formula = probability, d: Formula = waiting_time
) -> sp.Expr:
    """E[T], (26)."""
    return size(k) + sp.Add(*(p(j, k) * d(j, k) for j in range(1, k + 1)))
