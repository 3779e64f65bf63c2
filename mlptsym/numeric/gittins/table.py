"""A table of the Gittins index for fast lookups, as a simulator needs them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.numeric.gittins.atoms import atom_index
from mlptsym.numeric.gittins.index import index_of_law
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.service_hazard import ServiceHazard, service_hazard

__all__ = ["GittinsTable", "gittins_table"]

Floats = NDArray[np.float64]

LAST_TAIL = 1e-40
MOST_HALVINGS = 40
SMALLEST_RANK = 1e-290  # below it an index is as good as infinite


@dataclass(frozen=True, eq=False)
class GittinsTable:
    """The rank 1/G(a), the mean service per completion under the best quantum, linear between the ages of a table.

    Attributes
    ----------
    ages : array
        Non-decreasing from 0; where the rank jumps the age stands twice, the left limit before the value.
    ranks : array
        1/G at these ages; the job of smallest rank has the highest index.  Beyond the last age the last rank holds.
        At the end of a bounded support that is 0: what is older than the law allows has the highest index.
    error : float
        Largest relative error of the ranks between the ages, measured in the middle of each interval, where that of
        a smooth function is largest; 0 for point masses, whose ranks are linear.
    """

    ages: Floats
    ranks: Floats
    error: float

    def rank(self, ages: ArrayLike) -> Floats:
        """1/G at some ages, shape of ``ages``."""
        points = floats("ages", ages)
        left = np.searchsorted(self.ages, points, side="right") - 1
        right = np.minimum(left + 1, self.ages.size - 1)
        width = self.ages[right] - self.ages[left]
        part = np.divide(points - self.ages[left], width, out=np.zeros(points.shape), where=width > 0)
        return self.ranks[left] + (self.ranks[right] - self.ranks[left]) * part


def gittins_table(queue: Queue, tolerance: float = 1e-6) -> GittinsTable:
    """Tabulate the Gittins index.

    Parameters
    ----------
    queue : Queue
        Its size law and slowdown give the law of the service time S.
    tolerance : float
        Relative error of 1/G between the ages of the table, >= 1e-9.  It does not hold below the age by which a job
        is complete with probability 10⁻¹², nor beyond the age where P(S > a) < 10⁻⁴⁰, the last of the table.

    Returns
    -------
    GittinsTable

    Raises
    ------
    ParameterError
        If the tolerance is out of range or E[S] is infinite.

    Examples
    --------
    A uniform job is best served to completion, which takes half of what is left to the end of the support.

    >>> from mlptsym import Uniform
    >>> table = gittins_table(Queue(Uniform(0, 2), arrival_rate=0.1))
    >>> table.rank([0.0, 1.0]).round(12).tolist()
    [1.0, 0.5]
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    tolerance = validation.number("tolerance", tolerance, at_least=1e-9, below=1)
    return _table(service_hazard(queue), tolerance)


@lru_cache(maxsize=32)
def _table(law: ServiceHazard, tolerance: float) -> GittinsTable:
    if law.atoms:
        pieces = atom_index(law)
        ages = np.append(np.column_stack([pieces.starts, pieces.stops]).ravel(), law.end)
        ranks = np.append(np.column_stack([pieces.rank_starts, pieces.rank_stops]).ravel(), 0.0)
        return GittinsTable(ages, ranks, 0.0)
    within = law.grid if law.bounded else law.grid[law.curve(law.grid)[0] >= LAST_TAIL]
    before = np.nextafter(law.jumps, 0.0)
    ages = np.unique(np.concatenate([within, law.breaks, before]))
    ranks = 1 / index_of_law(law, ages)[0]
    if law.bounded:
        ages, ranks = np.append(ages, law.end), np.append(ranks, 0.0)
    error = 0.0
    coarse = np.flatnonzero((ages[:-1] > 0) & (np.diff(ages) > 1e-12 * ages[1:]))
    for _ in range(MOST_HALVINGS):
        middle = (ages[coarse] + ages[coarse + 1]) / 2
        here = 1 / index_of_law(law, middle)[0]
        between = (ranks[coarse] + ranks[coarse + 1]) / 2
        distance = np.abs(between - here) / np.maximum(here, SMALLEST_RANK)
        far = distance > tolerance
        error = max(error, float(distance[~far].max(initial=0.0)))
        if not far.any():
            break
        halved = coarse[far]
        ages, ranks = np.insert(ages, halved + 1, middle[far]), np.insert(ranks, halved + 1, here[far])
        first = halved + np.arange(halved.size)
        coarse = np.sort(np.concatenate([first, first + 1]))
    else:
        error = max(error, float(distance.max()))
    ages[np.searchsorted(ages, before)] = law.jumps  # left limits
    return GittinsTable(ages, ranks, error)
