"""Where the law of the service time and the restore cost are not smooth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlptsym.numeric.model.queue import Queue

__all__ = ["bends"]

Floats = NDArray[np.float64]


def bends(queue: Queue) -> Floats:
    """Attained service at which the density of S or the slope of the restore cost steps, increasing.

    Examples
    --------
    >>> from mlptsym import Uniform
    >>> bends(Queue(Uniform(1.0, 3.0), 0.1, slowdown_threshold=2.0, slowdown_factor=0.5)).tolist()
    [1.0, 2.0, 4.0]
    """
    ages = queue.service_time([queue.slowdown[0], *queue.size.density_jumps])
    window = queue.memory.smooth_from if queue.preemption_cost > 0 else 0.0
    found = np.unique(np.append(ages, window))
    return found[found > 0]
