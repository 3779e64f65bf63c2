"""The sum over levels of theorem 4.5 in one pass of machine code, for very many quanta or levels.

It evaluates the same expressions as `mlptsym.numeric.levels`, but takes a block of columns from level to level where
that keeps all levels in arrays.  A block stays in the cache, and every step of it is one loop over contiguous numbers,
which LLVM vectorises: several times faster, after a few seconds of compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym.numeric.laws import SizeLaw, moments_function
from mlptsym.numeric.levels import (
    LevelTotals,
    level_function,
    response_time,
    square_end_function,
    waiting_function,
)
from mlptsym.numeric.memory import growth_function
from mlptsym.numeric.queue import Queue, service_functions, service_moments_function

__all__ = ["LevelPass", "finite_response_times", "has_level_loop"]

Floats = NDArray[np.float64]

# a block of columns takes each step together, in vectors and in cache; it has a row for each number of a column: those
# carried from level to level, and those at the end of the next one
WIDTH, CARRIED, NUMBERS = 256, 12, 16
ROWS = range(0, NUMBERS * WIDTH, WIDTH)
START, TAIL, FIRST, COST, PAID, OVERHEAD, WORK, CROSSING_SUM, CROSSINGS, SQUARES, WEIGHT, OFFSET = ROWS[:CARRIED]
END, SIZE, TAIL_END, FIRST_END = ROWS[CARRIED:]


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
def _loops(law: str, phases: tuple[int, ...], memory: str) -> tuple[Callable[..., Any], ...]:
    """The pass over all of finitely many levels, that over the next of infinitely many, and what both need to know."""
    import numba

    from mlptsym.compile import compile_point_function, point_choice

    moments: Any = _moments_at_point(law, phases)
    size_at = compile_point_function(service_functions()[1]).evaluate
    names = service_moments_function().arguments
    service = compile_point_function(service_moments_function(), [n for n in names if "at_x" not in n and n != "x"], 2)
    growing = growth_function(memory)
    growth = compile_point_function(growing, growing.arguments[:-1], 1)
    step = compile_point_function(level_function(False)).evaluate
    last_step = compile_point_function(level_function(True)).evaluate
    waiting = compile_point_function(waiting_function()).evaluate
    choice = point_choice()
    moments_at, service_at, growth_at = moments.evaluate, service.evaluate, growth.evaluate

    def next_levels(columns: Any, block: Any, known: Any, slowdown: Any, environment: Any) -> None:
        """One level of each of the first columns."""
        of_law, of_service, of_memory = known
        threshold, factor, slowed = slowdown
        reach, mean, rate, cost_of = environment
        for i in range(columns):
            block[SIZE + i] = size_at(threshold, factor, block[END + i])[0]
        for i in range(columns):
            tail, first = moments_at(of_law, block[SIZE + i])
            within = block[SIZE + i] < reach
            block[TAIL_END + i], block[FIRST_END + i] = choice(within, tail, 0.0), choice(within, first, 0.0)
        for i in range(columns):
            start, end = block[START + i], block[END + i]
            tail, tail_end, first, first_end = (
                block[TAIL + i],
                block[TAIL_END + i],
                block[FIRST + i],
                block[FIRST_END + i],
            )
            cost, before = block[COST + i], start + block[PAID + i]
            if slowed:
                tail_end, first_end = service_at(of_service, tail_end, first_end, 0.0, 0.0, block[SIZE + i])
            cost_end = cost_of * growth_at(of_memory, end)[0]
            probability, served, _, crossing_step, square_step, crossing_end = step(
                tail, tail_end, first, first_end, mean, start, end, cost, cost_end, before, first_end - end * tail_end
            )
            overhead, crossing_sum = block[OVERHEAD + i] + cost * tail, block[CROSSING_SUM + i] + crossing_step
            work, crossings = served + overhead, crossing_sum + crossing_end
            weight, offset = waiting(rate, block[WORK + i], work, before, crossings)
            block[START + i], block[TAIL + i], block[FIRST + i], block[COST + i] = end, tail_end, first_end, cost_end
            block[PAID + i] += cost
            block[OVERHEAD + i], block[WORK + i] = overhead, work
            block[CROSSING_SUM + i], block[CROSSINGS + i] = crossing_sum, crossings
            block[SQUARES + i] += square_step
            block[WEIGHT + i] += probability * weight
            block[OFFSET + i] += probability * offset

    def last_levels(columns: Any, block: Any, environment: Any) -> None:
        """The level that runs to completion, of each of the first columns."""
        _, mean, rate, _ = environment
        for i in range(columns):
            start, tail, first = block[START + i], block[TAIL + i], block[FIRST + i]
            cost, before = block[COST + i], start + block[PAID + i]
            probability, served, _, crossing_step, square_step, crossing_end = last_step(
                tail, 0.0, first, 0.0, mean, start, 0.0, cost, 0.0, before, 0.0
            )
            work = served + (block[OVERHEAD + i] + cost * tail)
            crossings = block[CROSSING_SUM + i] + crossing_step + crossing_end
            weight, offset = waiting(rate, block[WORK + i], work, before, crossings)
            block[WORK + i] = work
            block[SQUARES + i] += square_step
            block[WEIGHT + i] += probability * weight
            block[OFFSET + i] += probability * offset

    options: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    helper = numba.njit(**options)
    next_levels_, last_levels_, total = helper(next_levels), helper(last_levels), helper(response_time)

    def all_levels(
        quanta: Any,
        unit_boundaries: Any,
        square_end: Any,
        furthest: Any,
        known: Any,
        slowdown: Any,
        environment: Any,
        times: Any,
        effective_means: Any,
    ) -> None:
        _, mean, _, _ = environment
        block = np.empty(NUMBERS * WIDTH)
        for begin in range(0, quanta.size, WIDTH):
            columns = min(WIDTH, quanta.size - begin)
            block[:] = 0.0
            block[TAIL : TAIL + WIDTH], block[FIRST : FIRST + WIDTH] = 1.0, mean
            for row in range(unit_boundaries.size):
                for i in range(columns):
                    block[END + i] = min(unit_boundaries[row] * quanta[begin + i], furthest)
                next_levels_(columns, block, known, slowdown, environment)
            last_levels_(columns, block, environment)
            for i in range(columns):
                effective_means[begin + i] = block[WORK + i]
                squares = block[SQUARES + i] + square_end
                times[begin + i] = total(block[WORK + i], block[WEIGHT + i], squares, block[OFFSET + i])

    def further_levels(
        order: Any,
        quanta: Any,
        done: Any,
        counts: Any,
        furthest: Any,
        known: Any,
        slowdown: Any,
        environment: Any,
        state: Any,
    ) -> None:
        block, quantum, number = np.empty(NUMBERS * WIDTH), np.empty(WIDTH), np.empty(WIDTH)
        for begin in range(0, quanta.size, WIDTH):
            here = order[begin : begin + WIDTH]
            going = here.size
            for i in range(here.size):
                quantum[i], number[i] = quanta[here[i]], done[here[i]]
                for place in range(CARRIED):
                    block[place * WIDTH + i] = state[here[i], place]
            for row in range(counts[here[0]] - done[here[0]]):
                while counts[here[going - 1]] - done[here[going - 1]] <= row:
                    going -= 1
                for i in range(going):
                    block[END + i] = min((number[i] + (row + 1.0)) * quantum[i], furthest)
                next_levels_(going, block, known, slowdown, environment)
            for i in range(here.size):
                for place in range(CARRIED):
                    state[here[i], place] = block[place * WIDTH + i]

    def constants(*fixed: Any) -> tuple[Any, ...]:
        """What stays the same in all levels, of the law, the slowdown and the memory."""
        return tuple(part.prepare(*values) for part, values in zip((moments, service, growth), fixed, strict=True))

    compiled = numba.njit(nogil=True, error_model="numpy")
    return compiled(all_levels), compiled(further_levels), constants


def _loops_of(queue: Queue) -> tuple[Callable[..., None], Callable[..., None], tuple[Any, ...]]:
    """The two loops, and what they are told of a queue."""
    threshold, factor = queue.slowdown
    all_levels, further_levels, constants = _loops(
        type(queue.size).__name__, queue.size.phases, type(queue.memory).__name__
    )
    at_threshold = (float(moment) for moment in queue.moments_at_threshold[False])
    known = constants(
        map(float, queue.size.parameters), (*at_threshold, threshold, factor), map(float, queue.memory.parameters)
    )
    slowdown = (threshold, factor, (threshold, factor) != (0.0, 1.0))
    environment = (float(queue.size.reach), queue.mean_service_time, queue.arrival_rate, queue.preemption_cost)
    return all_levels, further_levels, (queue.furthest, known, slowdown, environment)


def finite_response_times(queue: Queue, unit_boundaries: Floats, quanta: Floats) -> tuple[Floats, Floats]:
    """E[T] and E[S^eff] for finitely many levels.

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
    times, effective_means : array, shape (m,)
        E[T] of an unstable column has no meaning.
    """
    times, effective_means = np.empty(len(quanta)), np.empty(len(quanta))
    no = np.nan  # nothing depends on what is beyond the last level
    square_end = float(square_end_function(True)(no, no, queue.service_moment(2), no, no, no)[0])
    all_levels, _, told = _loops_of(queue)
    all_levels(quanta, unit_boundaries, square_end, *told, times, effective_means)
    return times, effective_means


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
        state = np.zeros((len(quanta), CARRIED))
        state[:, TAIL // WIDTH], state[:, FIRST // WIDTH] = 1.0, queue.mean_service_time
        return cls(queue, quanta, np.zeros(len(quanta), dtype=np.int64), state)

    def of(self, columns: NDArray[np.int64]) -> LevelPass:
        """Some of the columns, by themselves."""
        return LevelPass(self.queue, self.quanta[columns], self.done[columns], self.state[columns])

    def through(self, counts: NDArray[np.int64]) -> LevelPass:
        """The sums through further levels, ``counts`` in all for each column."""
        state = self.state.copy()
        _, further_levels, told = _loops_of(self.queue)
        order = np.argsort(self.done - counts, kind="stable")  # those that go on longest first
        further_levels(order, self.quanta, self.done, counts, *told, state)
        return LevelPass(self.queue, self.quanta, counts, state)

    @property
    def end(self) -> Floats:
        """Attained service at the end of the last level summed."""
        end: Floats = self.state[:, 0]
        return end

    def totals(self) -> LevelTotals:
        """What `mlptsym.numeric.levels.level_sums` sums to; of an unstable column it has no meaning."""
        work, crossings, squares, weight, offset = (
            self.state[:, row // WIDTH] for row in (WORK, CROSSINGS, SQUARES, WEIGHT, OFFSET)
        )
        tail, first, second, _ = self.queue.service_moments(self.end, potential=True)
        cost = self.queue.restore_cost(self.end)
        total = float(self.queue.total_moments[True][2])
        rest = square_end_function(False)(tail, second, total, self.end, cost, first - self.end * tail)[0]
        return LevelTotals(work, squares + rest, crossings, weight, offset)
