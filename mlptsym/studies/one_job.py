"""Memory and rate of service of one job on the server, figure 1."""

from __future__ import annotations

import numpy as np

from mlptsym import validation
from mlptsym.numeric.model.queue import Queue
from mlptsym.studies.data import FigureData

__all__ = ["job_on_server"]


def job_on_server(queue: Queue, size: float, quantum: float, points: int = 50) -> FigureData:
    """Memory and rate of service of one job against its time on the server, restore costs apart.

    The job's size is greater than ℓ_C; it is preempted for the first time at ``quantum``, in units of service time.
    Panels are ``memory``, with g(a), and ``rate``, with the step from 1 to β at ℓ_C as two rows of one x; each has
    ``points`` on either side of ℓ_C.
    """
    validation.instance("queue", queue, Queue, "a Queue")
    points = validation.points("points", points)
    threshold, factor = queue.slowdown
    size = validation.number("size", size, above=validation.number("slowdown_threshold", threshold, above=0))
    whole = float(queue.service_time(size))
    quantum = validation.number("quantum", quantum, above=0, below=whole)
    ages = np.unique(np.concatenate([np.linspace(0, threshold, points), np.linspace(threshold, whole, points)]))
    data = FigureData().with_curve("memory", "g(a)", "theory", ages, queue.memory.growth(ages))
    data = data.with_curve("rate", "rate", "theory", [0, threshold, threshold, whole], [1, 1, factor, factor])
    for name, age in (("capacity", threshold), ("preemption", quantum)):
        data = data.with_curve("memory", name, "marker", age, queue.memory.growth(age))
    return data
