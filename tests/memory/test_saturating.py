"""Memory with a window: 50-digit reference, the slope at the window, and capacities never reached."""

import math

import mpmath as mp
import numpy as np
from reference import Growth

from mlptsym import SaturatingMemory


def growth(slope: float, window: float, base: float = 0.0) -> Growth:
    return lambda a: mp.mpf(base) + mp.mpf(slope) * min(a, mp.mpf(window))


REFERENCE = growth


def test_slope_at_the_window() -> None:
    memory = SaturatingMemory(1.5, 4.0)
    assert memory.slope_at([np.nextafter(4, 0), 4.0, np.nextafter(4, 9)]).tolist() == [1.5, 0.0, 0.0]


def test_a_bounded_memory_may_never_reach_the_capacity() -> None:
    memory = SaturatingMemory(slope=1.5, window=4.0, base=2.0)
    assert memory.age_at(8.0) == 4.0
    assert memory.age_at(8.0000001) == math.inf
    assert memory.line == (8.0, 0.0)
