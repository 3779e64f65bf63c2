"""The sum over levels of theorem 4.5, over arrays: rows are levels, columns are quanta (or any sets of boundaries).

Every number per level comes from an expression of `mlptsym.symbolic.response`, compiled; this module adds cumulative
sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlptsym.arrays import running_sum
from mlptsym.numeric.queue import Queue

if TYPE_CHECKING:
    from mlptsym.compile import CompiledFunction

__all__ = ["LevelSums", "LevelTotals", "level_sums", "response_time"]

Floats = NDArray[np.float64]


@lru_cache(maxsize=2)
def level_function(last: bool) -> CompiledFunction:
    """p_r, E[min(S, t_r)], E[S ; complete in r], and the steps of the carried sums, from the two ends of a level."""
    from mlptsym.compile import compile_expressions
    from mlptsym.symbolic.moments import UpperMoment
    from mlptsym.symbolic.response import carried_sums, level_terms
    from mlptsym.symbolic.symbols import attained, level, restore_cost

    start, end = attained(level), attained(level + 1)
    terms, carried = level_terms(level + 1, last=last), carried_sums(last=last)
    inputs = {
        "tail_start": UpperMoment(0, start),
        "tail_end": UpperMoment(0, end),
        "first_start": UpperMoment(1, start),
        "first_end": UpperMoment(1, end),
        "mean": UpperMoment(1, 0),
        "start": start,
        "end": end,
        "cost_start": restore_cost(level),
        "cost_end": restore_cost(level + 1),
        "before": carried.before,
        "excess": carried.excess,
    }
    values = [terms.probability, terms.served_mean, terms.completed_service]
    carried_values = [carried.crossing_step, carried.square_step, carried.crossing_end]
    return compile_expressions(inputs, values + carried_values)


@lru_cache(maxsize=2)
def square_end_function(last: bool) -> CompiledFunction:
    """What makes Σ E[Y_r²] of the sum carried through the levels, from their end."""
    from mlptsym.compile import compile_expressions
    from mlptsym.symbolic.moments import UpperMoment
    from mlptsym.symbolic.response import carried_sums
    from mlptsym.symbolic.symbols import attained, level, restore_cost

    end, carried = attained(level + 1), carried_sums(last=last)
    inputs = {
        "tail_end": UpperMoment(0, end),
        "second_end": UpperMoment(2, end),
        "second": UpperMoment(2, 0),
        "end": end,
        "cost_end": restore_cost(level + 1),
        "excess": carried.excess,
    }
    return compile_expressions(inputs, [carried.square_end])


@lru_cache(maxsize=1)
def waiting_function() -> CompiledFunction:
    """The two parts of d_j, weight and offset: d_j = squares · weight + offset."""
    from mlptsym.compile import compile_expressions
    from mlptsym.symbolic.response import response_terms
    from mlptsym.symbolic.symbols import arrival_rate

    terms = response_terms()
    inputs = {
        "arrival_rate": arrival_rate,
        "work_before": terms.work_before,
        "work": terms.work,
        "before": terms.before,
        "crossings": terms.crossings,
    }
    return compile_expressions(inputs, [terms.weight, terms.offset])


def response_time(effective_mean: Any, weight: Any, squares: Any, offset: Any) -> Any:
    """E[T], eq. (26), from the sums over all levels, see `LevelTotals`; of numbers or arrays."""
    return effective_mean + weight * squares + offset


@dataclass(frozen=True)
class LevelTotals:
    """What is left of the levels when all of them are summed; one value per column.

    Attributes
    ----------
    effective_mean : array
        E[S^eff] of the levels that are here.
    squares : array
        Σ_r E[Y_r²].
    crossings : array
        Σ_r a_{r−1} E[Y_r].
    weight, offset : array
        Σ_j p_j d_j = squares · weight + offset.
    """

    effective_mean: Floats
    squares: Floats
    crossings: Floats
    weight: Floats
    offset: Floats

    def mean_response_time(self) -> Floats:
        """E[T], eq. (26)."""
        total: Floats = response_time(self.effective_mean, self.weight, self.squares, self.offset)
        return total


@dataclass(frozen=True)
class LevelSums:
    """Theorem 4.5 level by level; arrays have a row for each level and a column for each set of boundaries.

    Attributes
    ----------
    probability : array
        p_j.
    weight, offset : array
        d_j = squares · weight + offset.
    completed_service : array
        E[S ; complete in level j].
    before, paid : array
        a_{j−1}, service and restore costs before level j, and the restore costs alone with that of level j, c_1 + … +
        c_{j−1}.
    work, crossings : array
        E[X_j] and Σ_{r≤j} a_{r−1} E[Y_r].
    squares : array, one value per column
        Σ_r E[Y_r²] over the levels that are here.
    tail, excess, cost : array
        P(S > t_r), E[(S − t_r)⁺] and c_r, with a row for each boundary t_0 = 0, t_1, …
    """

    probability: Floats
    weight: Floats
    offset: Floats
    completed_service: Floats
    before: Floats
    paid: Floats
    work: Floats
    crossings: Floats
    squares: Floats
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
    tail, first, second = _with_start(queue, boundaries, potential=not closed)
    edges = np.concatenate([np.zeros((1, columns)), boundaries])
    costs = queue.restore_cost(edges)
    costs[0] = 0.0
    excess = first - edges * tail

    rows = count + closed
    paid = running_sum(costs[:rows])
    before = edges[:rows].copy()
    before[1:] += paid[:-1]
    ends = (tail[:-1], tail[1:], first[:-1], first[1:], mean, edges[:-1], edges[1:], costs[:-1], costs[1:])
    steps = level_function(False)(*ends, before[:count], excess[1:])
    if closed:
        none = np.zeros(columns)
        end = (tail[-1], none, first[-1], none, mean, edges[-1], none, costs[-1], none, before[-1], none)
        last = level_function(True)(*end)
        steps = tuple(np.concatenate([above, final[None]]) for above, final in zip(steps, last, strict=True))
    probability, served, completed, crossing_step, square_step, crossing_end = steps

    work = served + running_sum(costs[:rows] * tail[:rows])
    crossings = running_sum(crossing_step) + crossing_end
    squares = running_sum(square_step)[-1]
    squares += square_end_function(closed)(tail[-1], second[-1], second[0], edges[-1], costs[-1], excess[-1])[0]
    work_before = np.concatenate([np.zeros((1, columns)), work[:-1]])
    weight, offset = waiting_function()(queue.arrival_rate, work_before, work, before, crossings)
    return LevelSums(
        probability, weight, offset, completed, before, paid, work, crossings, squares, tail, excess, costs
    )


def _with_start(queue: Queue, boundaries: Floats, *, potential: bool) -> tuple[Floats, Floats, Floats]:
    """M_0, M_1 and M_2 at 0 and at all boundaries."""
    columns = boundaries.shape[1]
    at_zero = queue.total_moments[potential][:3]
    here = queue.service_moments(boundaries, potential=potential)[:3]
    rows = [np.concatenate([np.full((1, columns), zero), m]) for zero, m in zip(at_zero, here, strict=True)]
    return rows[0], rows[1], rows[2]
