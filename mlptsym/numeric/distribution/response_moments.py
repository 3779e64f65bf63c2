"""Moments of the response time by level, from the series of its transform."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlptsym.compile import compiled
from mlptsym.numeric.model.policies import Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.service_measure import ServiceMeasure

__all__ = ["LevelMoments", "level_moments", "second_moment", "second_moment_needs"]

Floats = NDArray[np.float64]

FIRST_LEVELS = 64
MOST_LEVELS = 2**17
SETTLED = 1e-13
FAR = 8.0
GAUSS = 16


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
    moments = np.array(
        [np.broadcast_to(m, edges.shape) for m in queue.service_moments(edges, antiderivative=not closed)]
    )
    served = _served(moments[:, :-1], moments[:, 1:], edges[:-1], edges[1:], last=False)
    far = _far_levels(queue, edges)
    served[:, far] = _integrated(queue, edges[:-1][far], np.diff(edges)[far])
    passed, length = moments[0, 1:], np.diff(edges)
    if closed:
        last = _served(moments[:, -1:], np.zeros((4, 1)), edges[-1:], np.zeros(1), last=True)
        served = np.concatenate([served, last], axis=1)
        passed, length = np.append(passed, 0.0), np.append(length, 0.0)
    count = len(passed)
    reached, before = moments[0, :count], before[:count]
    terms = compiled("mlptsym.symbolic.distribution.moments:piece_moments_formula")(
        served_0=reached,
        **_numbered("served", served),
        passed=passed,
        length=length,
        cost=costs[:count],
        before=before,
    )
    pieces = np.array([terms.piece_1, terms.piece_2, terms.piece_3])
    work = np.cumsum([terms.work_1, terms.work_2, terms.work_3], axis=1)
    lower = np.cumsum(pieces[:, ::-1], axis=1)[:, ::-1] - pieces
    interrupting = np.concatenate([np.zeros((2, 1)), work[:2, :-1]], axis=1)
    probability = reached - passed
    moments_of_level = compiled("mlptsym.symbolic.distribution.moments:response_moments_formula")(
        **_numbered("work", work),
        **_numbered("lower", lower),
        **_numbered("interrupting", interrupting),
        end_1=terms.end_1,
        end_2=terms.end_2,
        arrival_rate=queue.arrival_rate,
        before=before,
        probability=probability,
    )
    return LevelMoments(probability, moments_of_level.first, moments_of_level.second)


def _served(start_moments: Floats, end_moments: Floats, start: Floats, end: Floats, *, last: bool) -> Floats:
    """E[W^n ; S > t_{r−1}], n = 1, 2, 3, of the service W in a level, a row for each n."""
    moments = {f"start_{n}": moment for n, moment in enumerate(start_moments)}
    moments |= {f"end_{n}": moment for n, moment in enumerate(end_moments)}
    served = compiled("mlptsym.symbolic.distribution.moments:served_formula", last)
    return np.array(served(**moments, start=start, end=end))


def _numbered(name: str, rows: Floats) -> dict[str, Floats]:
    return {f"{name}_{n}": row for n, row in enumerate(rows, start=1)}


def _far_levels(queue: Queue, edges: Floats) -> NDArray[np.bool_]:
    """Levels far out, in which the tail is smooth: differences of moments have few digits there."""
    if not queue.size.smooth:
        return np.zeros(len(edges) - 1, dtype=bool)
    far = edges[:-1] >= FAR * np.diff(edges)
    far[far] = ServiceMeasure.of(queue).on_panels(edges[:-1][far], edges[1:][far])
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
        second_difference = np.diff(steps)
        with np.errstate(divide="ignore", invalid="ignore"):
            next_best = best[2:] - np.where(second_difference == 0, 0.0, steps[1:] ** 2 / second_difference)
        if len(next_best) < 2 or not abs(next_best[-1] - next_best[-2]) < abs(best[-1] - best[-2]):
            break
        best = next_best
    return float(best[-1])
