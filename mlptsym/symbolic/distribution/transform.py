r"""The Laplace transform of the response time, from the same pieces as its mean.

Waiting
    Let V be the work that a level-j arrival finds ahead of it, as in `mlptsym.symbolic.mean.waiting`.  The mean drift
    of e^{−σV} is zero in steady state (`transform_balance`), which gives E[e^{−σV}].
New arrivals
    Until its last level begins, the job needs V + a_{j−1} of the server, and each arrival in the meantime puts
    X_{j−1} in front of it.  This stretches the time needed by busy periods of X_{j−1}: with B the busy period of one
    arrival, time y becomes e^{−yσ}, σ = s + λ(1 − E[e^{−sB}]), and E[e^{−sB}] = E[e^{−σX_{j−1}}].
The last piece
    c_{j−1} + S − t_{j−1} follows without interruption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, service
from mlptsym.symbolic.mean.waiting import linear_root
from mlptsym.symbolic.model.moments import Indicator, expectation
from mlptsym.symbolic.model.transforms import transform
from mlptsym.symbolic.policies.algorithm import boundaries, piece, service_before, work_through
from mlptsym.symbolic.policies.discipline import RESTORING, Discipline

argument = sp.Symbol("s", positive=True)
stretched = sp.Symbol("sigma", positive=True)


def transform_balance(found: sp.Expr, at: sp.Expr, idle: sp.Expr, work: sp.Expr, lower: Sequence[sp.Expr]) -> sp.Expr:
    """Mean drift of e^{−σV} in steady state, which is zero.

    ``found`` is E[e^{−σV}], by PASTA also what an arrival finds; ``at`` is σ, and e^{−σV} grows at rate σ e^{−σV} while
    V > 0 falls at rate one; ``idle`` is P(V = 0).  ``work`` is E[e^{−σX_j}] of the jump at an arrival, ``lower`` the
    E[e^{−σY_r}], r > j, with Y_r zero for jobs that do not reach level r: jumps from V = 0, each once per job.
    """
    return (
        at * (found - idle) + arrival_rate * found * (work - 1) + arrival_rate * sp.Add(*(jump - 1 for jump in lower))
    )


@cached
def work_found(index: int, levels: int, at: sp.Expr = stretched, discipline: Discipline = RESTORING) -> sp.Expr:
    """E[e^{−σV}] of the work V that a job of level ``index`` finds ahead of it: the root of `transform_balance`.

    The server is idle with probability 1 − ρ_k^eff (the work done for a job is S_k^eff, eq. (11)).
    """
    points = boundaries(1, levels - 1)
    found = sp.Dummy("V_transform", positive=True)
    idle = 1 - arrival_rate * expectation(work_through(levels, levels, discipline), points)
    lower = [
        transform(piece(r, last=r == levels, discipline=discipline), at, points) for r in range(index + 1, levels + 1)
    ]
    work = transform(work_through(index, levels, discipline), at, points)
    return linear_root(transform_balance(found, at, idle, work, lower), found)


def busy_period(
    index: int, levels: int, at: sp.Expr = argument, solution: sp.Expr = stretched, discipline: Discipline = RESTORING
) -> sp.Expr:
    """The equation of σ for a job of level ``index``, an expression that is zero: σ − s − λ(1 − E[e^{−σX_{j−1}}])."""
    interrupting = (
        transform(work_through(index - 1, levels, discipline), solution, boundaries(1, levels - 1))
        if index > 1
        else sp.S.One
    )
    return stretching(solution, at, interrupting)


def stretching(solution: sp.Expr, at: sp.Expr, interrupting: sp.Expr) -> sp.Expr:
    """Zero at the σ of s, given E[e^{−σX_{j−1}}]."""
    return solution - at - arrival_rate * (1 - interrupting)


def last_piece(index: int, levels: int, at: sp.Expr = argument, discipline: Discipline = RESTORING) -> sp.Expr:
    """E[e^{−s(c_{j−1} + S − t_{j−1})} ; J = j]: the uninterrupted end of the response time."""
    last = index == levels
    here = Indicator(service, attained(index - 1)) - Indicator(service, attained(index, last=last))
    return transform(discipline.completing(index, last=last), at, boundaries(1, levels - 1), event=here)


@dataclass(frozen=True)
class ResponseTransform:
    """E[e^{−sT} ; J = j], with the equation of the σ it contains."""

    expression: sp.Expr  # In `argument` s and `stretched` σ
    busy_period: sp.Expr  # Zero at the σ that belongs to s; the solution with Re σ > 0 for Re s > 0 is meant


def response_transform(index: int, levels: int, discipline: Discipline = RESTORING) -> ResponseTransform:
    """`ResponseTransform` of the jobs that complete in level ``index`` of ``levels``; FCFS is one level.

    Examples
    --------
    >>> load = arrival_rate * expectation(service, [])
    >>> service_transform = transform(service, argument, [])
    >>> pollaczek_khinchine = argument * (1 - load) / (argument - arrival_rate * (1 - service_transform))
    >>> fcfs = response_transform(1, 1).expression.subs(stretched, argument)
    >>> sp.simplify(fcfs - pollaczek_khinchine * service_transform)
    0
    """
    found = work_found(index, levels, discipline=discipline)
    waiting = found * sp.exp(-stretched * service_before(index, discipline))
    ahead = busy_period(index, levels, discipline=discipline)
    return ResponseTransform(waiting * last_piece(index, levels, discipline=discipline), ahead)
