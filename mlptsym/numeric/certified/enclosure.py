"""E[T] in ball arithmetic from the symbolic expressions: a ball at a quantum, a Taylor series over an interval.

Every parameter is the exact number that its float is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from mlptsym.laws.base import HIGHEST_ORDER
from mlptsym.laws.empirical import Empirical
from mlptsym.numeric.certified.intervals import SampleMoments, Walker, exact
from mlptsym.numeric.model.breaks import breaks
from mlptsym.numeric.model.queue import Queue
from mlptsym.symbolic.algebra.symbols import (
    age,
    arrival_rate,
    attained,
    level,
    preemption_cost,
    quantum,
    restore_cost,
    size,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.mean.remainder import remainder
from mlptsym.symbolic.mean.response import fcfs_response_time, level_terms, response_terms
from mlptsym.symbolic.model.memory import restore_cost_at
from mlptsym.symbolic.model.moments import UpperMoment
from mlptsym.symbolic.model.service import service_time, service_time_inverse, service_upper_moment
from mlptsym.symbolic.model.size_law import point

__all__ = ["ORDER", "Enclosure", "StraddlingError", "Sums", "UnstableError", "constant", "working_precision"]

PRECISION = 128
ORDERS = HIGHEST_ORDER + 1
ORDER = 10  # of the Taylor series in θ
GRID = 400


class UnstableError(ArithmeticError):
    """The effective load is at least one on all of an interval."""


class StraddlingError(ArithmeticError):
    """The effective load is not proved to be on one side of one."""


@contextmanager
def working_precision() -> Iterator[None]:
    """Precision of the balls and length of the series while the block runs."""
    from flint import ctx

    before = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = PRECISION, ORDER + 1
    try:
        yield
    finally:
        ctx.prec, ctx.cap = before


class _Around:
    """What is known of a quantity from its series at the middle of an interval.

    The natural enclosure of a sum of differences over an interval is far too wide.  Its series at the middle, with the
    last coefficient enclosed on the interval, gives all earlier coefficients on the interval again, and sharply.
    """

    def __init__(self, low: Any, high: Any) -> None:
        from flint import arb, arb_poly

        half = arb((high - low) / 2)
        self.step = arb_poly([(-half).union(half), 1])
        self.last = list(self.step**ORDER)

    def sharpened(self, on_interval: Any, at_middle: Any) -> Any:
        """The series on the interval, by what the series at the middle says about it."""
        from flint import arb, arb_poly, arb_series

        if not (isinstance(on_interval, arb_series) and isinstance(at_middle, arb_series)):
            return on_interval
        shifted = arb_poly([at_middle[i] for i in range(ORDER)])(self.step)
        error = on_interval[ORDER]
        known = [shifted[i] + error * self.last[i] for i in range(ORDER)]
        sharper = [
            there if there.rad() < on_interval[i].rad() or not on_interval[i].is_finite() else on_interval[i]
            for i, there in enumerate(known)
        ]
        return arb_series([*(arb(value) for value in sharper), error])


@dataclass(frozen=True)
class Sums:
    """The levels one by one: p_j and what d_j is made of, and the sums at their end."""

    probability: list[Any]
    work_before: list[Any]
    work: list[Any]
    before: list[Any]
    crossings: list[Any]
    squares_through: list[Any]
    corners: tuple[Any, ...]
    end: Any
    end_corners: tuple[Any, ...]
    before_end: Any
    complete: bool

    @property
    def squares(self) -> Any:
        """Σ E[Y_r²] of all levels here."""
        return self.squares_through[-1]


class Enclosure:
    """E[T] of a queue as balls and series."""

    def __init__(self, queue: Queue, levels: float) -> None:
        from flint import arb

        self.queue, self.levels = queue, levels
        law_size, memory = queue.size, queue.memory
        kind, lengths = law_size.kind
        law = None if kind is Empirical else kind.formulas(*lengths)
        memory_law = memory.formulas()
        threshold, factor = queue.slowdown
        self.is_slowed = (threshold, factor) != (0.0, 1.0)
        memory_values = [getattr(memory, item.name) for item in fields(memory)]  # type: ignore[arg-type]
        numbers = {
            arrival_rate: queue.arrival_rate,
            slowdown_threshold: threshold,
            slowdown_factor: factor,
            preemption_cost: queue.preemption_cost,
            **({} if law is None else dict(zip(law.parameters, law_size.parameters, strict=True))),
            **dict(zip(memory_law.parameters, memory_values, strict=True)),
        }
        names = list(numbers)
        self._exact = [exact(value) for value in numbers.values()]
        self._balls = [arb(value) for value in self._exact]
        self.rate, self.threshold = self._balls[0], self._exact[1]
        places = Walker([memory_law.linear_from, memory_law.step], names).exactly(self._exact)
        self.window: Any
        self.step: Any
        self.window, self.step = (place if place > 0 else None for place in places)

        start, end = attained(level), attained(level + 1)
        at_size = [UpperMoment(n, point, size) for n in range(ORDERS)]
        at_threshold = [UpperMoment(n, slowdown_threshold, size) for n in range(ORDERS)]
        self._size_at = Walker([service_time_inverse(age)], [*names, age])
        self._service_time = Walker([service_time()], [*names, size])
        self._cost = Walker([restore_cost_at(memory_law)], [*names, age])
        # a level needs orders 0 … 2, what is left out the third as well
        self._size_moments: dict[int, Walker | SampleMoments]
        if law is None:
            samples = SampleMoments(law_size.parameters, ORDERS)
            self._size_moments, totals = dict.fromkeys((3, ORDERS), samples), samples.totals()
        else:
            self._size_moments = {
                orders: Walker([law.upper_moment(n) for n in range(orders)], [*names, point]) for orders in (3, ORDERS)
            }
            totals = Walker([law.moment(n) for n in range(ORDERS)], names).at(self._balls)
        self._of_service = {
            (orders, slowed): Walker(
                [service_upper_moment(n, point, slowed=slowed) for n in range(orders)],
                [*names, point, *at_size[:orders], *at_threshold],
            )
            for orders in (3, ORDERS)
            for slowed in (False, True)
        }
        ends = [*(UpperMoment(n, start) for n in range(3)), *(UpperMoment(n, end) for n in range(3))]
        self._level = {}
        for last in (False, True):
            terms = level_terms(level + 1, last=last)
            self._level[last] = Walker(
                [terms.probability, terms.piece_mean, terms.piece_square], [start, restore_cost(level), end, *ends]
            )
        carried_terms = response_terms()
        inputs = [
            arrival_rate,
            carried_terms.work_before,
            carried_terms.work,
            carried_terms.before,
            carried_terms.squares,
            carried_terms.crossings,
        ]
        self._waiting, self._weight = (
            Walker([value], inputs) for value in (carried_terms.waiting, carried_terms.weight)
        )
        whole = [UpperMoment(n, 0) for n in range(ORDERS)]
        self._fcfs = Walker([fcfs_response_time()], [arrival_rate, *whole])
        left = remainder()
        carried = [left.work, left.squares, left.crossings, left.before, left.weight]
        at_end = [UpperMoment(n, start) for n in range(ORDERS)]
        inputs = [arrival_rate, quantum, start, left.intercept, left.slope, *carried, *at_end]
        self._left_out = {name: Walker([getattr(left, name)], inputs) for name in ("most_work", "most", "least")}
        line = Walker([preemption_cost * value for value in memory_law.line], names)
        self._line = line.at(self._balls)
        at_threshold_inputs = self._with(self._balls[1], (self.threshold,) * 3)
        self._at_threshold = self._size_moments[ORDERS].at(*at_threshold_inputs) if self.is_slowed else []
        self.totals = totals
        if self.is_slowed:
            zero = arb(0)
            self.totals = self._of_service[ORDERS, False].at([*self._balls, zero, *totals, *self._at_threshold])

    def _with(self, ball: Any, corners: tuple[Any, ...]) -> tuple[list[Any], Any]:
        """All constants and one more input, as balls and at the corners."""
        return [*self._balls, ball], tuple([*self._exact, corner] for corner in corners)

    # θ on an interval

    def interval(self, low: Any, high: Any) -> tuple[Any, tuple[Any, ...]]:
        """θ as a series about every point of an interval at once, and its exact corners."""
        from flint import arb, arb_series

        return arb_series([arb(low).union(arb(high)), 1]), (low, (low + high) / 2, high)

    def moments(self, t: Any, corners: tuple[Any, ...], orders: int = 3) -> list[Any]:
        """M_0, M_1, … of S at an attained service."""
        inputs, exact_inputs = self._with(t, corners)
        (x,) = self._size_at.at(inputs, exact_inputs)
        x_corners = tuple(self._size_at.exactly(corner)[0] for corner in exact_inputs)
        here = self._size_moments[orders].at(*self._with(x, x_corners))[:orders]
        if not self.is_slowed:
            return here
        slowed = bool(x_corners[1] > self.threshold)
        return self._of_service[orders, slowed].at([*self._balls, x, *here, *self._at_threshold])

    def sums(
        self, theta: Any, corners: tuple[Any, ...], rows: int, *, closed: bool, middle: Sums | None = None
    ) -> Sums:
        """Levels 1 … rows, and one more to completion if closed; sharpened by the same at the middle, if given."""
        from flint import arb

        zero = arb(0)
        start = cost = work = squares = crossings = paid = before = zero
        moments, start_corners = self.totals, corners
        probability, works_before, works, befores, all_crossings, all_squares = [], [], [], [], [], []
        complete = False
        around = _Around(corners[0], corners[2])
        for number in range(1, rows + 1 + closed):
            last = number == rows + 1
            end, end_corners, after = zero, corners, [zero] * 3
            if not last:
                end, end_corners = theta * number, tuple(corner * number for corner in corners)
                after = self.moments(end, end_corners)
            here, piece_mean, piece_square = self._level[last].at([start, cost, end, *moments[:3], *after[:3]])
            works_before.append(work)
            befores.append(before)
            work, squares, crossings = work + piece_mean, squares + piece_square, crossings + before * piece_mean
            if middle is not None:
                index = number - 1
                here = around.sharpened(here, middle.probability[index])
                work = around.sharpened(work, middle.work[index])
                squares = around.sharpened(squares, middle.squares_through[index])
                crossings = around.sharpened(crossings, middle.crossings[index])
            all_squares.append(squares)
            works.append(work)
            probability.append(here)
            all_crossings.append(crossings)
            complete = last or is_zero(after[0])
            if complete:
                break
            start, start_corners, moments, before = end, end_corners, after, end + paid
            (cost,) = self._cost.at(*self._with(end, end_corners))
            paid = paid + cost
        return Sums(
            probability,
            works_before,
            works,
            befores,
            all_crossings,
            all_squares,
            corners,
            start,
            start_corners,
            before,
            complete,
        )

    def _level_inputs(self, sums: Sums, index: int) -> list[Any]:
        return [
            self.rate,
            sums.work_before[index],
            sums.work[index],
            sums.before[index],
            sums.squares,
            sums.crossings[index],
        ]

    def _mean_of(self, walker: Walker, sums: Sums, middle: Sums | None = None) -> Any:
        """Σ p_j times an expression of the waiting time."""
        around = None if middle is None else _Around(sums.corners[0], sums.corners[2])
        spare = 1 - self.rate * constant(sums.work[-1])
        if not spare > 0:
            raise UnstableError if spare < 0 else StraddlingError
        total = sums.work[-1] * 0
        for index, probability in enumerate(sums.probability):
            (value,) = walker.at(self._level_inputs(sums, index))
            if around is not None and middle is not None:
                value = around.sharpened(value, walker.at(self._level_inputs(middle, index))[0])
            total = total + probability * value
        return total

    def response(self, sums: Sums, middle: Sums | None = None) -> Any:
        """E[S^eff] + Σ p_j d_j of the levels that are here."""
        return sums.work[-1] + self._mean_of(self._waiting, sums, middle)

    def left_out(self, sums: Sums, theta: Any, name: str, middle: Sums | None = None) -> Any:
        """A bound of what the levels beyond these add; see `mlptsym.symbolic.mean.remainder`."""
        weight = self._mean_of(self._weight, sums, middle)
        carried = [sums.work[-1], sums.squares, sums.crossings[-1], sums.before_end, weight]
        moments = self.moments(sums.end, sums.end_corners, ORDERS)
        return self._left_out[name].at([self.rate, theta, sums.end, *self._line, *carried, *moments])[0]

    def least_response(self, sums: Sums) -> Any:
        """A lower bound of E[T] wherever the queue is stable, from lower bounds of everything that makes it grow."""
        from flint import arb

        total = constant(sums.work[-1]).lower()
        if self.rate * total >= 1:
            raise UnstableError
        for index, probability in enumerate(sums.probability):
            inputs = [constant(value).lower() for value in self._level_inputs(sums, index)]
            total = total + constant(probability).lower().max(arb(0)) * self._waiting.at(inputs)[0]
        return total.lower()

    # without the levels one by one

    def fcfs(self) -> Any:
        """E[T] of FCFS."""
        return self._fcfs.at([self.rate, *self.totals])[0]

    def from_above(self, theta: Any) -> Any:
        """A bound of E[T] from below for this quantum and all larger ones: d_1 without the later pieces."""
        series, corners = self.interval(theta, theta)
        first = self.sums(series, corners, 1, closed=False)
        return (self.totals[1] + constant(self._waiting.at(self._level_inputs(first, 0))[0])).lower()

    def from_below(self, theta: Any) -> Any:
        """The same for this quantum and all smaller ones, for finite k: most jobs wait as under FCFS or longer."""
        last = theta * int(self.levels - 1)
        series, corners = self.interval(last, last)
        tail = constant(self.moments(series, corners)[0])
        return (self.totals[1] + tail * (self.fcfs() - self.totals[1])).lower()

    @cached_property
    def _grid(self) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Ages, and P(S > s), E[min(S, s)] and E[min(S, s)²] at each."""
        from flint import arb

        mean = self.queue.mean_service_time
        ages = [exact(age_) for age_ in (mean * np.geomspace(1e-6, 1e4, GRID)).tolist()]
        zero = arb(0)
        places, tails, served, squares = [exact(0.0)], [arb(1)], [zero], [zero]
        for age_ in ages:
            tail, *_ = moments = [constant(moment) for moment in self.moments(arb(age_), (age_,) * 3)]
            if not (tail.is_finite() and moments[2].is_finite()):
                break
            _, piece_mean, piece_square = self._level[False].at([zero, zero, arb(age_), *self.totals[:3], *moments])
            places.append(age_)
            tails.append(tail)
            served.append(piece_mean)
            squares.append(piece_square)
            if tail == 0:
                break
        return places, tails, served, squares

    def from_small(self, theta: Any) -> Any | None:
        """A bound of E[T] from below for this quantum and all smaller ones, for k = ∞; None if all are unstable.

        A job of size S completes in a level j with t_{j−1} ≥ S − θ and t_j ≥ S.  With any grid of ages, X_j ≥ E[min(S,
        t_j)] + (1/θ) ∫_θ^{t_j} c(u − θ) P(S > u) du, a_{j−1} ≥ t_{j−1} + (1/θ) ∫_0^{S−2θ} c, and E[X_j²] ≥ E[min(S,
        t_j)²] are bounded from below at the age below S; all of them fall with θ.
        """
        from flint import arb

        places, tails, served, squares = self._grid
        quantum_ball = arb(theta)
        costs = [self._cost.at(*self._with(arb(place), (place,) * 3))[0] for place in places]
        later = [bisect_right(places, place - theta) - 1 for place in places]  # the grid point below s − θ
        work, paid = [arb(0)], [arb(0)]
        for index in range(len(places) - 1):
            overhead = costs[later[index]] if places[index] >= theta else arb(0)
            more = served[index + 1] - served[index]
            work.append((work[-1] + more + overhead * more / quantum_ball).lower())
            paid.append((paid[-1] + costs[index] * arb(places[index + 1] - places[index])).lower())
        if self.rate * work[-1] >= 1:
            return None
        total = work[-1]
        for index, place in enumerate(places):
            following = tails[index + 1] if index + 1 < len(places) else arb(0)
            probability = (tails[index] - following).lower().max(arb(0))
            start = max(later[index], 0)
            beyond_two = max(bisect_right(places, place - 2 * theta) - 1, 0)
            before = arb(max(place - theta, exact(0.0))) + paid[beyond_two] / quantum_ball
            inputs = [self.rate, work[start], work[index], before, squares[index].lower(), arb(0)]
            total = total + probability * self._waiting.at(inputs)[0]
        return total.lower()

    @cached_property
    def breaks(self) -> list[Any]:
        """Attained service where S or c is not smooth, exactly, increasing."""
        places = [exact(value) for value in (*self.queue.size.density_jumps, *self.queue.size.atoms)]
        if self.is_slowed:
            places.append(self.threshold)
        ages = [self.service_time(place) for place in places]
        if self.queue.preemption_cost > 0:
            ages += [] if self.window is None else [self.window]
            count = 0 if self.step is None else len(breaks(self.queue).right_jumps)
            ages += [self.step * number for number in range(1, count + 1)]
        return sorted({age_ for age_ in ages if age_ > 0})

    def service_time(self, place: Any) -> Any:
        """Service time of a size, exactly."""
        return self._service_time.exactly([*self._exact, place])[0]


def constant(value: Any) -> Any:
    """The ball of a series, or the ball itself."""
    from flint import arb, arb_series

    if isinstance(value, arb_series):
        return value[0]
    return value if isinstance(value, arb) else arb(value)


def is_zero(value: Any) -> bool:
    from flint import arb_series

    if isinstance(value, arb_series):
        return all(value[i] == 0 for i in range(ORDER + 1))
    return bool(value == 0)
