"""A guess at quantiles of the response time, within its octave more often than not, for the price of a few moments."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from mlptsym.numeric.distribution.jumps import last_piece
from mlptsym.numeric.distribution.response_moments import level_moments
from mlptsym.numeric.distribution.waiting_transform import Levels
from mlptsym.numeric.model.queue import Queue

__all__ = ["guessed_quantiles"]

Floats = NDArray[np.float64]

# levels and sizes with less than these shares of 1 − p are left out: of the distribution, and of its moments
RARE, NEVER = 0.1, 1e-4
DEVIATIONS, SHORTEST, POINTS = 12.0, 1e-8, 256
NARROWEST = 1e-6


def guessed_quantiles(queue: Queue, levels: Levels, chances: Floats, level: int | None = None) -> Floats:
    """Roughly the smallest t with P(T ≤ t) ≥ p, or with P(T ≤ t | J = j) ≥ p.

    Parameters
    ----------
    queue : Queue
        A stable one.
    levels : Levels
        Of that queue.
    chances : array
        p, 0 < p < 1.
    level : int, optional
        Position of a level, from 0.

    Returns
    -------
    array
        In units of time, > 0.

    Notes
    -----
    Given the level in which a job completes, the time beyond the shortest possible is taken to be gamma distributed
    with its mean and variance, but no response to be shorter than its service.  The moments are those of sizes cut off
    where hardly any is left, and so are always finite.
    """
    gone = NEVER * (1 - float(chances.max()))
    ages = levels.measure.atoms if levels.measure.discrete else levels.measure.edges
    longest = float(ages[min(int(np.count_nonzero(levels.measure.tail(ages) > gone)), len(ages) - 1)])
    entered = int(np.count_nonzero(levels.start < longest))
    if level is not None:
        entered = max(entered, level + 1)
    ends = levels.end[:entered].copy()
    if math.isinf(ends[-1]):
        ends[-1] = max(longest, 2 * levels.start[entered - 1])
    moments = level_moments(queue, ends, closed=False)
    used = np.flatnonzero((levels.reached[:entered] > RARE / NEVER * gone) & (moments.probability > 0))
    weights = levels.probability
    if level is not None:
        used, weights = np.array([level]), weights / weights[level]
    probability = moments.probability[used]
    least = (levels.before + levels.cost)[used]
    whole = moments.first[used] / probability
    mean = np.maximum(whole - least, NARROWEST * whole)
    spread = np.maximum((moments.second[used] / probability - whole**2) / mean**2, NARROWEST**2)
    times = np.max(least + mean * (1 + DEVIATIONS * np.sqrt(spread))) * np.geomspace(SHORTEST, 1, POINTS)
    beyond = np.maximum(times[:, None] - least, 0.0)
    given_level = np.minimum(
        gammainc(1 / spread, beyond / (mean * spread)),
        last_piece(levels, used, times[:, None] - levels.before[used]) / levels.probability[used],
    )
    values = np.maximum.accumulate(given_level @ weights[used])
    guess: Floats = np.interp(chances, values, times)
    return guess
