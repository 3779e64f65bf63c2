"""Where the law of the service time and the restore cost are not smooth."""

from __future__ import annotations

import numpy as np

from mlptsym.memory.base import NO_BREAKS, Breaks
from mlptsym.numeric.model.queue import Queue

__all__ = ["breaks"]

NEARLY_ALL = 1 - 1e-9
MOST_JUMPS = 2**12


def breaks(queue: Queue) -> Breaks:
    """Attained service > 0 at which E[T] is not smooth in a boundary between levels.

    It has a kink where the density of S or the slope of the restore cost steps, falls at a point mass of S, where these
    jobs complete, and rises just behind a jump of the restore cost.  Of endless jumps of the cost those are listed that
    more than 1e-9 of the jobs meet, and of these the first 4096: shorter steps hardly differ from a line.

    Examples
    --------
    >>> from mlptsym import Uniform
    >>> breaks(Queue(Uniform(1.0, 3.0), 0.1, slowdown_threshold=2.0, slowdown_factor=0.5)).kinks.tolist()
    [1.0, 2.0, 4.0]
    """
    kinks = queue.service_time([queue.slowdown[0], *queue.size.density_jumps])
    masses = queue.service_time(queue.size.atoms)
    jumps = NO_BREAKS
    if queue.preemption_cost > 0:
        memory = queue.memory
        kinks = np.append(kinks, memory.linear_from)
        if memory.step > 0:
            nearly_all = float(queue.service_time(queue.size.quantile(NEARLY_ALL)))
            jumps = memory.breaks(high=min(nearly_all, (MOST_JUMPS + 0.5) * memory.step)).right_jumps
    return Breaks(np.unique(kinks[kinks > 0]), masses, jumps)
