"""Algorithm 1 for one job: the pieces in which MLPT serves it, and their sums (eqs. (8)–(11), (13), (17), (19)).

A job that enters level r has attained t_{r−1}; `mlptsym.symbolic.policies.discipline` says what its piece Y_r is,
which is never interrupted.  X_j = Y_1 + … + Y_j is all that is done for a job through level j, and S_k^eff = X_k is
the effective size.  A job reaches level r if and only if S > t_{r−1}.
"""

from __future__ import annotations

import sympy as sp

from mlptsym.symbolic.algebra.symbols import arrival_rate, attained
from mlptsym.symbolic.model.moments import expectation, tail
from mlptsym.symbolic.policies.discipline import RESTORING, Discipline


def boundaries(first: sp.Expr | int, final: sp.Expr | int) -> list[sp.Expr]:
    """The increasing boundaries t_first, …, t_final, for a whole number of them."""
    return [attained(first + step) for step in range(int(sp.sympify(final - first)) + 1)]


def piece(index: sp.Expr | int, *, last: bool = False, discipline: Discipline = RESTORING) -> sp.Expr:
    """Y_r, the uninterrupted time the server gives a job in level ``index``, restore cost included.

    Examples
    --------
    >>> piece(1, last=True)
    S
    """
    return discipline.piece(index, last=last)


def work_through(index: int, levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """X_j, all the time given to a job in levels 1 … ``index`` of ``levels`` (the random variable of eq. (19))."""
    return sp.Add(*(piece(r, last=r == levels, discipline=discipline) for r in range(1, index + 1)))


def effective_size(levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """S_k^eff = X_k; it equals S + Σ c_r 1{S > t_r}, eq. (9)."""
    return work_through(levels, levels, discipline)


def effective_load(levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """ρ_k^eff = λ E[S_k^eff], eq. (11); the queue is stable if and only if it is below one, eq. (12)."""
    return arrival_rate * expectation(effective_size(levels, discipline), boundaries(1, levels - 1))


def completion_probability(index: sp.Expr | int, *, last: bool = False) -> sp.Expr:
    """p_j, the probability that a job completes in level ``index``, eq. (13)."""
    return tail(attained(index - 1)) - tail(attained(index, last=last))


def service_before(index: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """a_{j−1}: time given to a job before level ``index`` if it reaches that level, t_{j−1} + c_1 + … + c_{j−2}.

    It is what X_{j−1} comes to on the event S > t_{j−1}.

    Examples
    --------
    >>> service_before(3)
    c[1] + t[2]
    """
    return sp.expand(sp.Add(*(discipline.passed(r) for r in range(1, index))))
