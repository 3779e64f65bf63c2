"""Affine memory: 50-digit reference, and the prompt that fills a server by itself."""

import mpmath as mp
from reference import Growth

from mlptsym import AffineMemory


def growth(base: float, slope: float = 1.0) -> Growth:
    return lambda a: mp.mpf(base) + mp.mpf(slope) * a


REFERENCE = growth


def test_the_prompt_alone_may_fill_the_memory() -> None:
    assert AffineMemory(300.0, 2.0).age_at(256.0) == 0.0
