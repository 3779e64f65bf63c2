"""The sum over levels of theorem 4.5 in one pass of machine code, for very many quanta or levels.

It evaluates the same expressions as `mlptsym.numeric.levels`, but keeps the numbers of one level in registers where
that keeps them in arrays: several times faster, after a few seconds of compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym.numeric.laws import SizeLaw, moments_function
from mlptsym.numeric.levels import LevelTotals, level_function, square_end_function, waiting_function
from mlptsym.numeric.memory import growth_function
from mlptsym.numeric.queue import Queue, service_functions, service_moments_function

__all__ = ["LevelPass", "finite_totals", "has_level_loop"]

Floats = NDArray[np.float64]


@lru_cache(maxsize=256)
def _moments_at_point(law: str, phases: tuple[int, ...]) -> Any | None:
    """Tail and first upper moment of a law at one point, or None if they take functions without machine code."""
    from mlptsym.compile import UnsupportedFunctionError, compile_point_function

    function = moments_function(law, phases, potential=False)
    try:
        return compile_point_function(function, function.arguments[:-1], count=2)
    except UnsupportedFunctionError:
        return None


def has_level_loop(queue: Queue) -> bool:
    """Whether the moments of the size law can be had in machine code.

    Examples
    --------
    >>> from mlptsym.numeric.laws import LogNormal, Lomax
    >>> has_level_loop(Queue(LogNormal(5, 0.9), 0.0036)), has_level_loop(Queue(Lomax(3.0, 1.0), 0.1))
    (True, False)
    """
    as_is = type(queue.size).partial_moments is SizeLaw.partial_moments
    return as_is and _moments_at_point(type(queue.size).__name__, queue.size.phases) is not None


@lru_cache(maxsize=64)
def _loops(law: str, phases: tuple[int, ...], memory: str) -> tuple[Callable[..., None], Callable[..., None]]:
    """The pass over all of finitely many levels of each column, and that over the next of infinitely many."""
    import numba

    from mlptsym.compile import compile_point_function

    moments: Any = _moments_at_point(law, phases)
    size_at = compile_point_function(service_functions()[1]).evaluate
    names = service_moments_function().arguments
    service = compile_point_function(service_moments_function(), [n for n in names if "at_x" not in n and n != "x"], 2)
    growing = growth_function(memory)
    growth = compile_point_function(growing, growing.arguments[:-1], 1)
    step = compile_point_function(level_function(False)).evaluate
    last_step = compile_point_function(level_function(True)).evaluate
    waiting = compile_point_function(waiting_function()).evaluate
    moments_of, moments_at = moments.prepare, moments.evaluate
    service_of, service_at = service.prepare, service.evaluate
    growth_of, growth_at = growth.prepare, growth.evaluate

    def constants(parameters: Any, memory_parameters: Any, at_threshold: Any, threshold: Any, factor: Any) -> Any:
        """What stays the same in all levels."""
        of_law, of_memory = moments_of(*parameters), growth_of(*memory_parameters)
        return of_law, service_of(*at_threshold, threshold, factor), of_memory

    def next_level(
        end: Any, carried: Any, known: Any, reach: Any, slowdown: Any, mean: Any, rate: Any, cost_of: Any
    ) -> Any:
        start, tail, first, cost, paid, overhead, work, crossing_sum, _, square_sum, weight, offset = carried
        of_law, of_service, of_memory = known
        threshold, factor, slowed = slowdown
        x = size_at(threshold, factor, end)[0]
        tail_end, first_end = 0.0, 0.0
        if x < reach:
            tail_end, first_end = moments_at(of_law, x)
        if slowed:
            tail_end, first_end = service_at(of_service, tail_end, first_end, 0.0, 0.0, x)
        cost_end = cost_of * growth_at(of_memory, end)[0]
        before = start + paid
        probability, served, _, crossing_step, square_step, crossing_end = step(
            tail, tail_end, first, first_end, mean, start, end, cost, cost_end, before, first_end - end * tail_end
        )
        overhead += cost * tail
        work_before, work = work, served + overhead
        crossing_sum += crossing_step
        crossings = crossing_sum + crossing_end
        square_sum += square_step
        own_weight, own_offset = waiting(rate, work_before, work, before, crossings)
        weight += probability * own_weight
        offset += probability * own_offset
        paid += cost
        sums = (paid, overhead, work, crossing_sum, crossings, square_sum, weight, offset)
        return (end, tail_end, first_end, cost_end, *sums)

    def last_level(carried: Any, mean: Any, rate: Any) -> Any:
        start, tail, first, cost, paid, overhead, work, crossing_sum, _, square_sum, weight, offset = carried
        before = start + paid
        probability, served, _, crossing_step, square_step, crossing_end = last_step(
            tail, 0.0, first, 0.0, mean, start, 0.0, cost, 0.0, before, 0.0
        )
        work_before, work = work, served + overhead + cost * tail
        crossings = crossing_sum + crossing_step + crossing_end
        own_weight, own_offset = waiting(rate, work_before, work, before, crossings)
        weight, offset = weight + probability * own_weight, offset + probability * own_offset
        return work, crossings, square_sum + square_step, weight, offset

    inlined = numba.njit(error_model="numpy", forceinline=True)
    constants_, next_level_, last_level_ = inlined(constants), inlined(next_level), inlined(last_level)

    def all_levels(
        quanta: Any, unit_boundaries: Any, furthest: Any, given: Any, slowdown: Any, environment: Any, sums: Any
    ) -> None:
        known = constants_(*given)
        reach, mean, rate, cost_of = environment
        for column in range(quanta.size):
            carried = (0.0, 1.0, mean, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            for row in range(unit_boundaries.size):
                end = min(unit_boundaries[row] * quanta[column], furthest)
                carried = next_level_(end, carried, known, reach, slowdown, mean, rate, cost_of)
            work, crossings, squares, weight, offset = last_level_(carried, mean, rate)
            sums[0, column], sums[1, column], sums[2, column] = work, crossings, squares
            sums[3, column], sums[4, column] = weight, offset

    def further_levels(
        quanta: Any, done: Any, counts: Any, furthest: Any, given: Any, slowdown: Any, environment: Any, state: Any
    ) -> None:
        known = constants_(*given)
        reach, mean, rate, cost_of = environment
        for column in range(quanta.size):
            s = state[column]
            carried = (s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11])
            for row in range(done[column], counts[column]):
                end = min((row + 1.0) * quanta[column], furthest)
                carried = next_level_(end, carried, known, reach, slowdown, mean, rate, cost_of)
            for place in range(12):
                s[place] = carried[place]

    compiled = numba.njit(nogil=True, error_model="numpy")
    return compiled(all_levels), compiled(further_levels)


def _inputs(queue: Queue) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[float, ...]]:
    """What the loops are told of a queue."""
    threshold, factor = queue.slowdown
    at_threshold = tuple(float(moment) for moment in queue.moments_at_threshold[False])
    parameters = tuple(map(float, queue.size.parameters))
    given = (parameters, tuple(map(float, queue.memory.parameters)), at_threshold, threshold, factor)
    slowdown = (threshold, factor, (threshold, factor) != (0.0, 1.0))
    environment = (float(queue.size.reach), queue.mean_service_time, queue.arrival_rate, queue.preemption_cost)
    return given, slowdown, environment


def _loops_of(queue: Queue) -> tuple[Callable[..., None], Callable[..., None]]:
    return _loops(type(queue.size).__name__, queue.size.phases, type(queue.memory).__name__)


def _furthest(queue: Queue) -> float:
    """An age that nobody reaches in double precision, where all boundaries beyond it are put."""
    return 2 * float(queue.service_time(queue.size.reach))


def finite_totals(queue: Queue, unit_boundaries: Floats, quanta: Floats) -> LevelTotals:
    """What `mlptsym.numeric.levels.level_sums` sums to for finitely many levels.

    Parameters
    ----------
    queue : Queue
        One for which `has_level_loop`.
    unit_boundaries : array
        t_1, …, t_{k−1} in units of the quantum, at least one.
    quanta : array, shape (m,)
        One for each column.

    Returns
    -------
    LevelTotals
        Of an unstable column without a meaning.
    """
    sums = np.empty((5, len(quanta)))
    _loops_of(queue)[0](quanta, unit_boundaries, _furthest(queue), *_inputs(queue), sums)
    work, crossings, squares, weight, offset = sums
    no = np.nan  # nothing depends on what is beyond the last level
    squares += square_end_function(True)(no, no, float(queue.total_moments[False][2]), no, no, no)[0]
    return LevelTotals(work, squares, crossings, weight, offset)


@dataclass(frozen=True)
class LevelPass:
    """The sums over the first of infinitely many levels of each column, which can go on from where they are.

    Attributes
    ----------
    queue : Queue
        One for which `has_level_loop`.
    quanta : array, shape (m,)
        One for each column.
    done : array of int, shape (m,)
        Levels summed so far.
    state : array, shape (m, 12)
        What the loop carries from level to level.
    """

    queue: Queue
    quanta: Floats
    done: NDArray[np.int64]
    state: Floats

    @classmethod
    def start(cls, queue: Queue, quanta: Floats) -> LevelPass:
        """Before the first level."""
        state = np.zeros((len(quanta), 12))
        state[:, 1], state[:, 2] = 1.0, queue.mean_service_time
        return cls(queue, quanta, np.zeros(len(quanta), dtype=np.int64), state)

    def of(self, columns: NDArray[np.int64]) -> LevelPass:
        """Some of the columns, by themselves."""
        return LevelPass(self.queue, self.quanta[columns], self.done[columns], self.state[columns])

    def through(self, counts: NDArray[np.int64]) -> LevelPass:
        """The sums through further levels, ``counts`` in all for each column."""
        state = self.state.copy()
        further = _loops_of(self.queue)[1]
        further(self.quanta, self.done, counts, _furthest(self.queue), *_inputs(self.queue), state)
        return LevelPass(self.queue, self.quanta, counts, state)

    @property
    def end(self) -> Floats:
        """Attained service at the end of the last level summed."""
        end: Floats = self.state[:, 0]
        return end

    def totals(self) -> LevelTotals:
        """What `mlptsym.numeric.levels.level_sums` sums to; of an unstable column it has no meaning."""
        work, crossings, squares, weight, offset = self.state.T[[6, 8, 9, 10, 11]]
        tail, first, second, _ = self.queue.service_moments(self.end, potential=True)
        cost = self.queue.restore_cost(self.end)
        total = float(self.queue.total_moments[True][2])
        squares += square_end_function(False)(tail, second, total, self.end, cost, first - self.end * tail)[0]
        return LevelTotals(work, squares, crossings, weight, offset)
