"""The limit of MLPT for ever smaller quanta when preemption is free: foreground–background scheduling."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mlptsym.compile import compiled
from mlptsym.numeric.model.queue import Queue

__all__ = ["foreground_background_time"]

Floats = NDArray[np.float64]

NODES = 16
LONGEST_PANEL = 0.5


def foreground_background_time(queue: Queue) -> float:
    """E[T] of the job with the least attained service first, preempted without cost.

    Parameters
    ----------
    queue : Queue
        Its restore costs are left out; stable, with finite E[S].

    Returns
    -------
    float
        E[T], to about 1e-10.

    Notes
    -----
    The limit θ → 0 of theorem 4.5 with k = ∞ and γ = 0: a job of service time t has a = t ahead of its end, X_{j−1} and
    X_j both become min(S, t), and pieces lose their squares.

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> round(foreground_background_time(Queue(Exponential(1.0), arrival_rate=0.5)), 10)
    2.0
    """
    if len(queue.size.atoms):
        return float((queue.size.masses * _time_of(queue, queue.size.atoms)).sum())
    edges = _panels(queue)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (nodes + 1)
    return float((half * weights * queue.size.density(x) * _time_of(queue, x)).sum())


def _time_of(queue: Queue, sizes: Floats) -> Floats:
    """Mean response time of a job of each size."""
    attained = queue.service_time(sizes)
    tail, first, second, _ = queue.service_moments(attained, antiderivative=True)
    _, mean, square, _ = queue.total_moments[True]
    work = mean - first + attained * tail
    work_square = square - second + attained**2 * tail
    weight, offset = compiled("mlptsym.symbolic.mean.response:waiting_formula")(
        arrival_rate=queue.arrival_rate, work_before=work, work=work, before=attained, crossings=0.0
    )
    times: Floats = attained + work_square * weight + offset
    return times


def _panels(queue: Queue) -> Floats:
    """Ends of intervals of sizes on each of which the density is resolved."""
    size, threshold = queue.size, queue.slowdown[0]
    if math.isfinite(size.upper_end):
        inner = np.linspace(size.lower_end, size.upper_end, 33)
        return np.unique(np.append(inner, np.clip(threshold, inner[0], inner[-1])))
    spread = math.sqrt(max(size.moment(2) / size.mean**2 - 1, 0.0)) if size.moment_limit > 2 else 1.0
    length = min(LONGEST_PANEL, spread)
    low, high = size.mean * 1e-60, min(size.reach, size.mean * 1e60)
    coarse = size.mean * np.exp(np.arange(math.log(low / size.mean), math.log(high / size.mean), LONGEST_PANEL))
    fine = size.mean * np.exp(length * np.linspace(-40, 40, 81))
    edges = np.concatenate([[0.0, low], coarse, fine, [high], [threshold] if threshold > 0 else []])
    return np.unique(edges[edges <= high])
