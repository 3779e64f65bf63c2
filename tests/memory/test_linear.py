"""Linear memory: 50-digit reference."""

import mpmath as mp
from reference import Growth


def growth(slope: float) -> Growth:
    return lambda a: mp.mpf(slope) * a


REFERENCE = growth
