"""Loads next to one: the digits left in 1 − ρ, and the answers that are refused for want of them.

Every mean, slope and distribution of a queue contains 1/(1 − ρ), and ρ is known to about sixteen digits.  What is left
of them in 1 − ρ is left in the answer, so that an error is a constant over 1 − ρ.  The constants are those measured
against 50 digits, over all laws and loads from 0.999 to 1 − 1e-12, rounded up to a power of ten.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mlptsym.numeric.model.queue import Queue
from mlptsym.validation import ParameterError

__all__ = ["DISTRIBUTION", "MEAN", "SLOPE", "SaturationError", "refuse_saturated"]

MOST = 1e-6
"""The largest error that an answer may have from this cause."""

# times 1 − ρ: errors of E[T] and of the best quantum, relative; of slopes, relative to their largest terms; of
# probabilities, absolute
MEAN, SLOPE, DISTRIBUTION = 1e-15, 1e-14, 1e-13


class SaturationError(ParameterError):
    """A load below one, but so close to one that an answer would have less than six digits."""


def refuse_saturated(queue: Queue, loads: ArrayLike, error: float) -> None:
    """Refuse a load below one at which an answer would be wrong by more than 1e-6.

    Parameters
    ----------
    queue : Queue
    loads : float or array of float
        ρ^eff, eq. (11), under a policy.  From one on a queue is unstable, and NaN is left to others.
    error : float
        That of the answer times 1 − ρ: `MEAN`, `SLOPE` or `DISTRIBUTION`.

    Raises
    ------
    SaturationError
        If any of the loads is such.

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> refuse_saturated(Queue(Exponential(1.0), arrival_rate=1 - 1e-7), 1 - 1e-7, SLOPE)
    >>> refuse_saturated(Queue(Exponential(1.0), arrival_rate=1 - 1e-9), 1 - 1e-9, SLOPE)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    mlptsym.numeric.model.saturation.SaturationError: arrival_rate = ... at most 0.99999998 or at least ...: ...
    """
    near = np.atleast_1d(loads)
    closest = error / MOST
    lost = near[(near < 1) & (1 - near < closest)]
    if lost.size:
        load = float(lost[0])
        most, least = (queue.arrival_rate * (bound / load) for bound in (1 - 2 * closest, 1 + closest))
        raise SaturationError(
            "arrival_rate",
            queue.arrival_rate,
            f"at most {most:.12g} or at least {least:.12g} here: the load is 1 - {1 - load:.2g}, and closer to one "
            f"than {closest:g} fewer than six digits are right",
        )
