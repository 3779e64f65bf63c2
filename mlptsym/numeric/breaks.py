"""Where the law of the service time and the restore cost are not smooth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlptsym.numeric.laws import Deterministic, Empirical, SizeLaw, Uniform
from mlptsym.numeric.queue import Queue

__all__ = ["bends", "density_steps", "point_masses"]

Floats = NDArray[np.float64]


def point_masses(size: SizeLaw) -> Floats:
    """Sizes with positive probability, increasing.

    Examples
    --------
    >>> point_masses(Empirical([3.0, 1.0, 3.0])).tolist()
    [1.0, 3.0]
    """
    if isinstance(size, Deterministic):
        return np.array([size.value])
    if isinstance(size, Empirical):
        distinct: Floats = size.samples[np.append(True, np.diff(size.samples) > 0)]
        return distinct
    return np.empty(0)


def density_steps(size: SizeLaw) -> tuple[float, ...]:
    """Sizes > 0 at which the density steps, increasing."""
    return tuple(step for step in (size.low, size.high) if step > 0) if isinstance(size, Uniform) else ()


def bends(queue: Queue) -> Floats:
    """Attained service at which the density of S or the slope of the restore cost steps, increasing.

    Examples
    --------
    >>> bends(Queue(Uniform(1.0, 3.0), 0.1, slowdown_threshold=2.0, slowdown_factor=0.5)).tolist()
    [1.0, 2.0, 4.0]
    """
    ages = queue.service_time([queue.slowdown[0], *density_steps(queue.size)])
    window = queue.memory.smooth_from if queue.preemption_cost > 0 else 0.0
    found = np.unique(np.append(ages, window))
    return found[found > 0]
