"""Moments of the response time by level, from the series of its transform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlptsym.numeric.policies import Policy
from mlptsym.numeric.queue import Queue

if TYPE_CHECKING:
    from mlptsym.compile import CompiledFunction

__all__ = ["LevelMoments", "level_moments", "second_moment", "second_moment_needs"]

Floats = NDArray[np.float64]

FIRST_LEVELS = 64
MOST_LEVELS = 2**17
SETTLED = 1e-13
FAR = 8.0
GAUSS = 16


@lru_cache(maxsize=2)
def _served_function(last: bool) -> CompiledFunction:
    """E[W^n ; S > t_{r−1}] of the service W in a level, from the moments at its two ends."""
    from mlptsym.compile import compile_expressions
    from mlptsym.symbolic.moments import UpperMoment
    from mlptsym.symbolic.symbols import attained, level
    from mlptsym.symbolic.transform import served_moments

    start, end = attained(level), attained(level + 1)
    inputs = {f"start_{n}": UpperMoment(n, start) for n in range(4)}
    inputs |= {f"end_{n}": UpperMoment(n, end) for n in range(4)}
    return compile_expressions({**inputs, "start": start, "end": end}, served_moments(level + 1, last=last))


@lru_cache(maxsize=1)
def _piece_function() -> CompiledFunction:
    """E[Y_r^n], what they add to E[X_r^n], and E[Y_r^n ; J = r], from the moments of the service in a level."""
    from mlptsym.compile import compile_expressions
    from mlptsym.symbolic.transform import piece_moments

    terms = piece_moments()
    symbols = [*terms.served, terms.passed, terms.length, terms.cost, terms.before]
    return compile_expressions({str(symbol): symbol for symbol in symbols}, [*terms.piece, *terms.work, *terms.end])


@lru_cache(maxsize=1)
def _moment_function() -> CompiledFunction:
    """E[T ; J = j] and E[T² ; J = j]."""
    from mlptsym.compile import compile_expressions
    from mlptsym.symbolic.symbols import arrival_rate
    from mlptsym.symbolic.transform import moment_terms

    terms = moment_terms()
    symbols = [*terms.work, *terms.lower, *terms.interrupting, terms.before, terms.probability, *terms.end]
    inputs = {str(symbol): symbol for symbol in [arrival_rate, *symbols]}
    return compile_expressions(inputs, [terms.first, terms.second])


@dataclass(frozen=True, eq=False)
class LevelMoments:
    """p_j, E[T ; J = j] and E[T² ; J = j] for each level."""

    probability: Floats
    first: Floats
    second: Floats


def second_moment_needs(queue: Queue, policy: Policy) -> int:
    """Order of the highest moment of S that must be finite for E[T²] to be.

    Notes
    -----
    E[T²] contains Σ_{r>j} E[Y_r³].  For finite k the last piece is what is left of S beyond t_{k−1}: the order is 3.
    For k = ∞ pieces are bounded if costs are, and E[T²] ≥ E[S²] needs order 2, which is also enough, a_{j−1} being of
    the order of S; if costs grow linearly, a_{j−1} is of order S², and E[a_{j−1}²] needs order 4.
    """
    if policy.levels < math.inf:
        return 3
    return 4 if queue.preemption_cost > 0 and queue.memory.line[1] > 0 else 2


def level_moments(queue: Queue, boundaries: Floats, *, closed: bool) -> LevelMoments:
    """Moments for the levels between boundaries, with a last level to completion if ``closed``."""
    edges = np.concatenate([[0.0], boundaries])
    costs = queue.restore_cost(edges)
    costs[0] = 0.0
    before = edges + np.concatenate([[0.0], np.cumsum(costs)[:-1]])
    moments = np.array([np.broadcast_to(m, edges.shape) for m in queue.service_moments(edges, potential=not closed)])
    served = np.array(_served_function(False)(*moments[:, :-1], *moments[:, 1:], edges[:-1], edges[1:]))
    far = _far_levels(queue, edges)
    served[:, far] = _integrated(queue, edges[:-1][far], np.diff(edges)[far])
    passed, length = moments[0, 1:], np.diff(edges)
    if closed:
        last = _served_function(True)(*moments[:, -1], *np.zeros(4), edges[-1], 0.0)
        served = np.concatenate([served, np.array(last)[:, None]], axis=1)
        passed, length = np.append(passed, 0.0), np.append(length, 0.0)
    count = len(passed)
    reached, before = moments[0, :count], before[:count]
    rows = np.array(_piece_function()(reached, *served, passed, length, costs[:count], before))
    pieces, work, end = rows[:3], np.cumsum(rows[3:6], axis=1), rows[6:]
    lower = np.cumsum(pieces[:, ::-1], axis=1)[:, ::-1] - pieces
    interrupting = np.concatenate([np.zeros((2, 1)), work[:2, :-1]], axis=1)
    probability = reached - passed
    first, second = _moment_function()(queue.arrival_rate, *work, *lower, *interrupting, before, probability, *end)
    return LevelMoments(probability, first, second)


def _far_levels(queue: Queue, edges: Floats) -> NDArray[np.bool_]:
    """Levels far out, in which the tail is smooth: differences of moments have few digits there."""
    if not queue.size.smooth:
        return np.zeros(len(edges) - 1, dtype=bool)
    bend = float(queue.service_time(queue.slowdown[0]))
    far: NDArray[np.bool_] = edges[:-1] >= np.maximum(FAR * np.diff(edges), bend)
    return far


def _integrated(queue: Queue, start: Floats, length: Floats) -> Floats:
    """E[W^n ; S > t], n = 1, 2, 3, as ∫ n w^{n−1} P(S > t + w) dw over a level."""
    nodes, weights = np.polynomial.legendre.leggauss(GAUSS)
    place = length[:, None] * (nodes + 1) / 2
    tail = queue.size.tail(queue.size_at(start[:, None] + place)) * weights * length[:, None] / 2
    return np.array([(n * place ** (n - 1) * tail).sum(axis=1) for n in (1, 2, 3)])


def second_moment(queue: Queue, policy: Policy) -> float:
    """E[T²] of a stable queue; ``inf`` where it is infinite.

    With infinitely many levels the sum is doubled in length until it no longer changes; sums that would need more
    than 2¹⁷ levels (power laws) are continued by Aitken’s rule, applied to the doublings.
    """
    if not queue.size.moment_limit > second_moment_needs(queue, policy):
        return math.inf
    if policy.levels < math.inf:
        return float(level_moments(queue, _reached(queue, policy), closed=True).second.sum())
    quantum = float(policy.quantum)  # type: ignore[union-attr]
    count, sums = FIRST_LEVELS, [0.0]
    while True:
        sums.append(float(level_moments(queue, quantum * np.arange(1.0, count + 1), closed=False).second.sum()))
        if abs(sums[-1] - sums[-2]) <= SETTLED * sums[-1] and queue.size.tail(queue.size_at(quantum * count)) < 1e-6:
            return sums[-1]
        if count >= MOST_LEVELS:
            return _limit(np.array(sums[2:]))
        count *= 2


def _reached(queue: Queue, policy: Policy) -> Floats:
    """The finitely many boundaries that a job may reach."""
    ends = policy.boundaries(math.inf)
    return ends[queue.size.tail(queue.size_at(ends)) > 0]


def _limit(sums: Floats) -> float:
    """Limit of a sequence whose error is a sum of geometric sequences: Aitken's rule, repeated while it helps."""
    best = sums
    while len(best) >= 3:
        steps = np.diff(best)
        bend = np.diff(steps)
        with np.errstate(divide="ignore", invalid="ignore"):
            next_best = best[2:] - np.where(bend == 0, 0.0, steps[1:] ** 2 / bend)
        if len(next_best) < 2 or not abs(next_best[-1] - next_best[-2]) < abs(best[-1] - best[-2]):
            break
        best = next_best
    return float(best[-1])
