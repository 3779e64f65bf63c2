"""Waiting times under MLPT: lemmas 4.3 and 4.4, each from the balance that states it, by two independent routes.

Paper's route
    The merged levels 1 … j hold λ d_J waiting jobs (Little, PASTA) with mean work b_J each, and the job in service
    leaves the residual λ E[(S_k^eff)²]/2 of a queue that is never interrupted, less the part O_J that the tagged job
    may overtake (eqs. (15)–(22)).
Route of piecewise work
    Let V be the work that a level-j arrival finds ahead of it: that of the merged levels, plus the rest of a piece of
    a lower level.  V falls at rate one while positive, jumps by X_j at arrivals, and by Y_r, r > j, from zero once
    for each job that reaches level r.  The mean drift of V² is zero in steady state, which gives E[V] = d_J.

The first is the statement of the paper, the second shares no step with it.  The numeric code uses the second: it
contains no difference of large numbers, and stays finite where E[(S_k^eff)²] does not.
"""

from __future__ import annotations

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, service
from mlptsym.symbolic.model.moments import Indicator, expectation, tail
from mlptsym.symbolic.policies.algorithm import boundaries, effective_size, piece, service_before, work_through
from mlptsym.symbolic.policies.discipline import RESTORING, Discipline


def merged_work(index: int, levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """b_J = E[X_j], the mean work the merged levels 1 … ``index`` do for a job, eq. (17)."""
    return expectation(work_through(index, levels, discipline), boundaries(1, levels - 1))


def remaining_work(index: int, levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """v_i, the mean effective service still to come for a job about to enter level ``index`` ≥ 2, eq. (18).

    It contains c_{index−1} and is the conditional mean of Y_index + … + Y_k given S > t_{index−1}.
    """
    ahead = sp.Add(*(piece(r, last=r == levels, discipline=discipline) for r in range(index, levels + 1)))
    return expectation(ahead, boundaries(1, levels - 1)) / tail(attained(index - 1))


def overtaken_residual(index: int, levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """O_J, the residual effective service that a tagged job of level ``index`` need not wait for, eq. (16).

    The merged levels work on a job that will go on with probability (20), level r > j with probability (21); what
    such a job has left after its present piece is v of the next level.  For j = k nothing can be overtaken and O_J is
    zero, so that v_{k+1}, which the paper leaves undefined, never occurs.
    """
    if index == levels:
        return sp.S.Zero
    terms = [
        arrival_rate
        * expectation(
            work_through(index, levels, discipline) * Indicator(service, attained(index)), boundaries(1, levels - 1)
        )
        * remaining_work(index + 1, levels, discipline)
    ]
    for r in range(index + 1, levels):
        occupied = arrival_rate * tail(attained(r)) * discipline.passed(r)
        terms.append(occupied * remaining_work(r + 1, levels, discipline))
    return sp.Add(*terms)


def merged_wait_by_correction(index: int, levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """d_J by the paper's route: the solution of eq. (22), which is eq. (15)."""
    wait = sp.Dummy("d_J", positive=True)
    residual = arrival_rate * expectation(effective_size(levels, discipline) ** 2, boundaries(1, levels - 1)) / 2
    balance = (
        arrival_rate * wait * merged_work(index, levels, discipline)
        + residual
        - overtaken_residual(index, levels, discipline)
        - wait
    )
    return linear_root(balance, wait)


def work_balance(wait: sp.Expr, work_mean: sp.Expr, work_square: sp.Expr, lower_squares: sp.Expr) -> sp.Expr:
    """Mean drift of V² in steady state, which is zero; ``wait`` is E[V], the mean work found by an arrival (PASTA).

    V jumps by X_j at arrivals, E[(V + X)² − V²] = 2 E[V] E[X] + E[X²], and from 0 by Y_r, r > j, once per job; it is
    zero for jobs that do not reach level r.  ``lower_squares`` is Σ_{r>j} E[Y_r²].
    """
    return -2 * wait + arrival_rate * (2 * wait * work_mean + work_square) + arrival_rate * lower_squares


@cached
def merged_wait_by_pieces(index: int, levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """d_J by the route of piecewise work: the root of `work_balance`."""
    wait = sp.Dummy("d_J", positive=True)
    points = boundaries(1, levels - 1)
    lower = sp.Add(
        *(
            expectation(piece(r, last=r == levels, discipline=discipline) ** 2, points)
            for r in range(index + 1, levels + 1)
        )
    )
    work = work_through(index, levels, discipline)
    return linear_root(work_balance(wait, expectation(work, points), expectation(work**2, points), lower), wait)


def delay_with_new_arrivals(wait: sp.Expr, before: sp.Expr, interrupting: sp.Expr) -> sp.Expr:
    """Total wait of a job that finds ``wait`` ahead, eqs. (23)–(25).

    Until its last level begins the job is served for ``before`` = a_{j−1}, and every arrival in the meantime goes
    first with mean work ``interrupting`` = E[X_{j−1}].  The total wait D therefore satisfies D = wait + λ (D +
    before) E[X_{j−1}].
    """
    total = sp.Dummy("D", positive=True)
    return linear_root(wait + arrival_rate * (total + before) * interrupting - total, total)


@cached
def waiting_time(index: int, levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """d_j, the mean total waiting time of a job that completes in level ``index`` of ``levels``, eq. (23)."""
    interrupting = merged_work(index - 1, levels, discipline)
    return delay_with_new_arrivals(
        merged_wait_by_pieces(index, levels, discipline), service_before(index, discipline), interrupting
    )


def linear_root(linear: sp.Expr, unknown: sp.Symbol) -> sp.Expr:
    """Solve a linear equation without expanding it."""
    slope = sp.diff(linear, unknown)
    if slope.has(unknown):
        raise ValueError(f"{linear} is not linear in {unknown}")
    return -linear.subs(unknown, 0) / slope
