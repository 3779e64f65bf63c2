"""The sum over levels of theorem 4.5, over arrays: rows are levels, columns are quanta (or any sets of boundaries).

Every number per level comes from an expression of `mlptsym.symbolic.mean.response`, compiled; this module adds
cumulative sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym.arrays import running_sum
from mlptsym.compile import compiled
from mlptsym.numeric.model.queue import Queue

__all__ = ["LevelSums", "LevelTotals", "level_sums", "response_time"]

Floats = NDArray[np.float64]


def response_time(effective_mean: Any, weight: Any, squares: Any, offset: Any) -> Any:
    """E[T], eq. (26), from the sums over all levels, see `LevelTotals`; of numbers or arrays."""
    return effective_mean + weight * squares + offset


@dataclass(frozen=True)
class LevelTotals:
    """What is left of the levels when all of them are summed; one value per column."""

    effective_mean: Floats  # E[S^eff] of the levels that are here
    squares: Floats  # Σ_r E[Y_r²]
    crossings: Floats  # Σ_r a_{r−1} E[Y_r]
    # Σ_j p_j d_j = squares · weight + offset
    weight: Floats
    offset: Floats

    def mean_response_time(self) -> Floats:
        """E[T], eq. (26)."""
        total: Floats = response_time(self.effective_mean, self.weight, self.squares, self.offset)
        return total


@dataclass(frozen=True)
class LevelSums:
    """Theorem 4.5 level by level; arrays have a row for each level and a column for each set of boundaries."""

    probability: Floats  # p_j
    # d_j = squares · weight + offset
    weight: Floats
    offset: Floats
    completed_service: Floats  # E[S ; complete in level j]
    # a_{j−1}, service and restore costs before level j, and the restore costs alone with that of level j, c_1 + … +
    # c_{j−1}
    before: Floats
    paid: Floats
    # E[X_j] and Σ_{r≤j} a_{r−1} E[Y_r]
    work: Floats
    crossings: Floats
    squares: Floats  # Σ_r E[Y_r²] over the levels that are here
    # P(S > t_r), E[(S − t_r)⁺] and c_r, with a row for each boundary t_0 = 0, t_1, …
    tail: Floats
    excess: Floats
    cost: Floats

    @property
    def effective_mean(self) -> Floats:
        """E[S^eff] of the levels that are here."""
        mean: Floats = self.work[-1]
        return mean

    def waiting(self, squares: Floats | None = None) -> Floats:
        """d_j."""
        return (self.squares if squares is None else squares) * self.weight + self.offset

    @property
    def totals(self) -> LevelTotals:
        """The sums over all levels that are here."""
        weight, offset = (running_sum(self.probability * part)[-1] for part in (self.weight, self.offset))
        return LevelTotals(self.effective_mean, self.squares, self.crossings[-1], weight, offset)

    def mean_response_time(self) -> Floats:
        """E[T], eq. (26), one value per column."""
        return self.totals.mean_response_time()


def level_sums(queue: Queue, boundaries: Floats, *, closed: bool) -> LevelSums:
    """Evaluate the levels between boundaries.

    Parameters
    ----------
    queue : Queue
    boundaries : array, shape (n, m)
        Increasing boundaries t_1 … t_n in each of m columns.
    closed : bool
        Whether a last level beyond t_n serves to completion (finite k = n + 1); otherwise the n levels are the first
        of infinitely many, and what comes after them is left out.

    Returns
    -------
    LevelSums
        With n + 1 rows if closed, else n.
    """
    count, columns = boundaries.shape
    mean = queue.service_moment(1)
    tail, first, second = _with_start(queue, boundaries, antiderivative=not closed)
    edges = np.concatenate([np.zeros((1, columns)), boundaries])
    costs = queue.costs(edges)
    excess = first - edges * tail

    rows = count + closed
    at_ends = {f"{name}_start": values[:rows] for name, values in costs.items()}
    at_ends |= {f"{name}_end": _ends(values, rows) for name, values in costs.items()}
    added = compiled("mlptsym.symbolic.mean.response:level_costs_formula", queue.discipline)(
        tail_start=tail[:rows], tail_end=_ends(tail, rows), **at_ends
    )
    gone_on = np.zeros_like(added.gone_on)
    gone_on[1:] = running_sum(added.gone_on[:-1])
    before, paid = edges[:rows] + gone_on, gone_on + added.ahead
    level = compiled("mlptsym.symbolic.mean.response:level_formula", queue.discipline)(
        tail_start=tail[:rows],
        tail_end=_ends(tail, rows),
        first_end=_ends(first, rows),
        mean=mean,
        start=edges[:rows],
        end=_ends(edges, rows),
        before=before,
        excess=_ends(excess, rows),
        **at_ends,
    )
    completed = compiled("mlptsym.symbolic.mean.response:completed_formula")(
        first_start=first[:rows], first_end=_ends(first, rows)
    ).completed_service
    work, restore = level.served_mean + running_sum(added.mean), costs["cost"]
    crossings = running_sum(level.crossing_step) + level.crossing_end
    squares = running_sum(level.square_step)[-1]
    # nothing is left after a level that serves to completion
    left = (np.zeros(columns),) * 3 if closed else (tail[-1], second[-1], excess[-1])
    squares += compiled("mlptsym.symbolic.mean.response:square_end_formula")(
        tail_end=left[0],
        second_end=left[1],
        second=second[0],
        end=edges[-1],
        cost_end=costs["cost"][-1],
        excess=left[2],
    ).square_end
    work_before = np.concatenate([np.zeros((1, columns)), work[:-1]])
    weight, offset = compiled("mlptsym.symbolic.mean.response:waiting_formula")(
        arrival_rate=queue.arrival_rate, work_before=work_before, work=work, before=before, crossings=crossings
    )
    return LevelSums(
        level.probability, weight, offset, completed, before, paid, work, crossings, squares, tail, excess, restore
    )


def _ends(edges: Floats, rows: int) -> Floats:
    """Values at the end of each level; nothing is left after one that serves to completion."""
    return edges[1:] if len(edges) > rows else np.concatenate([edges[1:], np.zeros_like(edges[:1])])


def _with_start(queue: Queue, boundaries: Floats, *, antiderivative: bool) -> tuple[Floats, Floats, Floats]:
    """M_0, M_1 and M_2 at 0 and at all boundaries."""
    columns = boundaries.shape[1]
    at_zero = queue.total_moments[antiderivative][:3]
    here = queue.service_moments(boundaries, antiderivative=antiderivative)[:3]
    rows = [np.concatenate([np.full((1, columns), zero), m]) for zero, m in zip(at_zero, here, strict=True)]
    return rows[0], rows[1], rows[2]
