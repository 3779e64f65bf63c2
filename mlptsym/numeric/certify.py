"""A proof that no quantum is better: branch and bound over θ in ball arithmetic.

E[T] is evaluated from the expressions of `mlptsym.symbolic` by `mlptsym.numeric.intervals`, as a Taylor series in θ
about the middle of an interval, whose last coefficient is enclosed over the whole of it.  Every parameter is the exact
number that its float is.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from mlptsym.numeric.breaks import density_steps, point_masses
from mlptsym.numeric.gradient import level_depth
from mlptsym.numeric.intervals import UndecidedError, Walker, exact
from mlptsym.numeric.laws import HIGHEST_ORDER, Empirical
from mlptsym.numeric.queue import Queue
from mlptsym.symbolic.laws import LAWS, point
from mlptsym.symbolic.memory import MEMORY_LAWS, restore_cost_at
from mlptsym.symbolic.moments import UpperMoment
from mlptsym.symbolic.remainder import remainder
from mlptsym.symbolic.response import fcfs_response_time, level_terms, response_terms
from mlptsym.symbolic.service import service_time, service_time_inverse, service_upper_moment
from mlptsym.symbolic.symbols import (
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

__all__ = ["Certificate", "certified_minimum"]

PRECISION = 128
ORDERS = HIGHEST_ORDER + 1
ORDER = 10
PARTS = 4_000  # of an interval on which a polynomial is bounded
TOLERANCE = 1e-6
# levels for k = ∞ by what may be left out, tried one after the other, and at most FEW · 5^i of them
DEPTHS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
FEW = 12
MOST_LEVELS = 20_000
MOST_PIECES = 3_000
GRID = 400
WORK = 300_000  # levels evaluated, about two minutes
FIRST_RATIO = 1.25
NARROW = 1e-8
FAR, SMALL = 2.0**200, 2.0**20


class _UnstableError(ArithmeticError):
    """The effective load is at least one on all of an interval."""


class _StraddlingError(ArithmeticError):
    """The effective load is not proved to be on one side of one."""


@dataclass(frozen=True)
class Certificate:
    """Proved bounds of the smallest E[T] over all quanta and FCFS.

    Attributes
    ----------
    lower, upper : float
        The minimum lies between them.
    open_quanta : tuple of (float, float)
        Ranges of θ on which nothing better than E[S] could be proved, because of the work it takes or because the
        bounds do not reach there; if there are any, ``lower`` is E[S] and the enclosure says nothing.
    """

    lower: float
    upper: float
    open_quanta: tuple[tuple[float, float], ...]


@contextmanager
def _precision() -> Iterator[None]:
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
class _Sums:
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


class _Model:
    """E[T] of a queue as balls and series."""

    def __init__(self, queue: Queue, levels: float) -> None:
        from flint import arb

        self.queue, self.levels = queue, levels
        law_size, memory = queue.size, queue.memory
        phases = (law_size.samples.size,) if isinstance(law_size, Empirical) else law_size.phases
        law = LAWS[type(law_size).__name__](*phases)
        memory_law = MEMORY_LAWS[type(memory).__name__]()
        threshold, factor = queue.slowdown
        self.is_slowed = (threshold, factor) != (0.0, 1.0)
        memory_values = [getattr(memory, item.name) for item in fields(memory)]  # type: ignore[arg-type]
        numbers = {
            arrival_rate: queue.arrival_rate,
            slowdown_threshold: threshold,
            slowdown_factor: factor,
            preemption_cost: queue.preemption_cost,
            **dict(zip(law.parameters, law_size.parameters, strict=True)),
            **dict(zip(memory_law.parameters, memory_values, strict=True)),
        }
        names = list(numbers)
        self._exact = [exact(value) for value in numbers.values()]
        self._balls = [arb(value) for value in self._exact]
        self.rate, self.threshold = self._balls[0], self._exact[1]
        self.window = None if memory_law.smooth_from.is_zero else self._exact[names.index(memory_law.smooth_from)]

        start, end = attained(level), attained(level + 1)
        at_size = [UpperMoment(n, point, size) for n in range(ORDERS)]
        at_threshold = [UpperMoment(n, slowdown_threshold, size) for n in range(ORDERS)]
        self._size_at = Walker([service_time_inverse(age)], [*names, age])
        self._service_time = Walker([service_time()], [*names, size])
        self._cost = Walker([restore_cost_at(memory_law)], [*names, age])
        # a level needs orders 0 … 2, what is left out the third as well
        self._size_moments = {
            orders: Walker([law.upper_moment(n) for n in range(orders)], [*names, point]) for orders in (3, ORDERS)
        }
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
        totals = Walker([law.moment(n) for n in range(ORDERS)], names).at(self._balls)
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
        here = self._size_moments[orders].at(*self._with(x, x_corners))
        if not self.is_slowed:
            return here
        slowed = bool(x_corners[1] > self.threshold)
        return self._of_service[orders, slowed].at([*self._balls, x, *here, *self._at_threshold])

    def sums(
        self, theta: Any, corners: tuple[Any, ...], rows: int, *, closed: bool, middle: _Sums | None = None
    ) -> _Sums:
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
            complete = last or _is_zero(after[0])
            if complete:
                break
            start, start_corners, moments, before = end, end_corners, after, end + paid
            (cost,) = self._cost.at(*self._with(end, end_corners))
            paid = paid + cost
        return _Sums(
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

    def _level_inputs(self, sums: _Sums, index: int) -> list[Any]:
        return [
            self.rate,
            sums.work_before[index],
            sums.work[index],
            sums.before[index],
            sums.squares,
            sums.crossings[index],
        ]

    def _mean_of(self, walker: Walker, sums: _Sums, middle: _Sums | None = None) -> Any:
        """Σ p_j times an expression of the waiting time."""
        around = None if middle is None else _Around(sums.corners[0], sums.corners[2])
        spare = 1 - self.rate * _constant(sums.work[-1])
        if not spare > 0:
            raise _UnstableError if spare < 0 else _StraddlingError
        total = sums.work[-1] * 0
        for index, probability in enumerate(sums.probability):
            (value,) = walker.at(self._level_inputs(sums, index))
            if around is not None and middle is not None:
                value = around.sharpened(value, walker.at(self._level_inputs(middle, index))[0])
            total = total + probability * value
        return total

    def response(self, sums: _Sums, middle: _Sums | None = None) -> Any:
        """E[S^eff] + Σ p_j d_j of the levels that are here."""
        return sums.work[-1] + self._mean_of(self._waiting, sums, middle)

    def left_out(self, sums: _Sums, theta: Any, name: str, middle: _Sums | None = None) -> Any:
        """A bound of what the levels beyond these add; see `mlptsym.symbolic.remainder`."""
        weight = self._mean_of(self._weight, sums, middle)
        carried = [sums.work[-1], sums.squares, sums.crossings[-1], sums.before_end, weight]
        moments = self.moments(sums.end, sums.end_corners, ORDERS)
        return self._left_out[name].at([self.rate, theta, sums.end, *self._line, *carried, *moments])[0]

    def least_response(self, sums: _Sums) -> Any:
        """A lower bound of E[T] wherever the queue is stable, from lower bounds of everything that makes it grow."""
        from flint import arb

        total = _constant(sums.work[-1]).lower()
        if self.rate * total >= 1:
            raise _UnstableError
        for index, probability in enumerate(sums.probability):
            inputs = [_constant(value).lower() for value in self._level_inputs(sums, index)]
            total = total + _constant(probability).lower().max(arb(0)) * self._waiting.at(inputs)[0]
        return total.lower()

    # without the levels one by one

    def fcfs(self) -> Any:
        """E[T] of FCFS."""
        return self._fcfs.at([self.rate, *self.totals])[0]

    def from_above(self, theta: Any) -> Any:
        """A bound of E[T] from below for this quantum and all larger ones: d_1 without the later pieces."""
        series, corners = self.interval(theta, theta)
        first = self.sums(series, corners, 1, closed=False)
        return (self.totals[1] + _constant(self._waiting.at(self._level_inputs(first, 0))[0])).lower()

    def from_below(self, theta: Any) -> Any:
        """The same for this quantum and all smaller ones, for finite k: most jobs wait as under FCFS or longer."""
        last = theta * int(self.levels - 1)
        series, corners = self.interval(last, last)
        tail = _constant(self.moments(series, corners)[0])
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
            tail, *_ = moments = self.moments(arb(age_), (age_,) * 3)
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

    def breaks(self) -> list[Any]:
        """Attained service where S or c is not smooth, exactly."""
        places = [exact(value) for value in (*density_steps(self.queue.size), *point_masses(self.queue.size))]
        if self.is_slowed:
            places.append(self.threshold)
        ages = [self.service_time(place) for place in places]
        if self.queue.preemption_cost > 0 and self.window is not None:
            ages.append(self.window)
        return sorted({age_ for age_ in ages if age_ > 0})

    def service_time(self, place: Any) -> Any:
        """Service time of a size, exactly."""
        return self._service_time.exactly([*self._exact, place])[0]


def _constant(value: Any) -> Any:
    """The ball of a series, or the ball itself."""
    from flint import arb, arb_series

    if isinstance(value, arb_series):
        return value[0]
    return value if isinstance(value, arb) else arb(value)


def _is_zero(value: Any) -> bool:
    from flint import arb_series

    if isinstance(value, arb_series):
        return all(value[i] == 0 for i in range(ORDER + 1))
    return bool(value == 0)


def certified_minimum(queue: Queue, levels: float, quantum: float) -> Certificate:
    """Enclose the smallest E[T] over all quanta θ in (0, ∞) and FCFS.

    Parameters
    ----------
    queue : Queue
        Stable under FCFS, with finite E[T] for some θ.
    levels : int or inf
        k >= 2.
    quantum : float
        A quantum at which E[T] is believed to be smallest, ``inf`` for FCFS; it gives the upper bound.

    Returns
    -------
    Certificate
        With an enclosure of relative width 1e-6 if no range of θ is left open.

    Notes
    -----
    Upper bound: E[T] at the quantum, for k = ∞ with the bound of `mlptsym.symbolic.remainder` on the levels left out.
    Lower bound, on a partition of (0, ∞):

    - large θ: E[T] ≥ E[S] + λE[min(S, θ)²]/(2(1 − λE[min(S, θ)])), which grows with θ;
    - small θ: for finite k, E[T] ≥ E[S] + P(S > (k−1)θ)(E[T of FCFS] − E[S]), which falls with θ; for k = ∞ the sum
      over levels is bounded by integrals over ages on a grid;
    - between, on intervals that no break θ = b/m divides (b: ℓ_C, ends of the density, point masses, the window of the
      memory): by a Taylor series of order 10, and for k = ∞ with as many levels as it takes.
    """
    with _precision():
        return _Proof(_Model(queue, levels), quantum).certificate()


@dataclass
class _Proof:
    """The branch and bound."""

    model: _Model
    quantum: float
    work: int = 0
    open_quanta: list[tuple[float, float]] = field(default_factory=list)

    def certificate(self) -> Certificate:
        model = self.model
        fcfs = model.fcfs() if model.queue.size.moment_limit > 2 else None
        upper = self._upper(fcfs)
        if upper is None:
            return Certificate(float(model.totals[1].lower()), math.inf, ((0.0, math.inf),))
        target = (upper * (1 - exact(TOLERANCE))).lower()
        low, high = self._range(target)
        if low < high:
            self._search(low, high, target)
        if self.open_quanta:
            return Certificate(_below(model.totals[1]), _above(upper), _joined(self.open_quanta))
        return Certificate(_below(target), _above(upper), ())

    def _upper(self, fcfs: Any) -> Any | None:
        """A proved upper bound of the minimum."""
        found = [] if fcfs is None else [fcfs.upper()]
        for theta in self._places():
            series, corners = self.model.interval(theta, theta)
            try:
                value = self._value(series, corners)
            except ArithmeticError:
                continue
            if value is not None and value.is_finite():
                found.append(value.upper())
        if not found:
            return None
        best = found[0]
        for value in found[1:]:
            best = best.min(value)
        return best

    def _places(self) -> Iterator[Any]:
        """The quantum, and the break it stands for, which as a float it may miss by rounding."""
        if not (0 < self.quantum < math.inf):
            return
        theta = exact(self.quantum)
        yield theta
        for age_ in self.model.breaks():
            number = round(float(age_.p) / float(age_.q) / self.quantum)
            if 1 <= number < self.model.levels and abs(age_ / number - theta) < theta * exact(1e-12):
                yield age_ / number

    def _value(self, theta: Any, corners: tuple[Any, ...]) -> Any | None:
        """E[T] at a point, enclosed, with what is left out bounded."""
        model = self.model
        if model.levels < math.inf:
            return _constant(model.response(model.sums(theta, corners, int(model.levels) - 1, closed=True)))
        rows = self._rows(corners, 2)
        while True:
            sums = model.sums(theta, corners, rows, closed=False)
            value = _constant(model.response(sums))
            if sums.complete:
                return value
            bound = _constant(model.left_out(sums, theta, "most"))
            load = model.rate * _constant(model.left_out(sums, theta, "most_work"))
            least = _constant(model.left_out(sums, theta, "least")) if self._on_line(sums, corners) else bound * 0
            if load < 1 and bound - least < value * exact(TOLERANCE / 100):
                return value + bound
            rows *= 2
            if rows > MOST_LEVELS:
                return value + bound if load < 1 else None

    def _on_line(self, sums: _Sums, corners: tuple[Any, ...]) -> bool:
        """Whether restore costs are on their bounding line from t_{N−1} on."""
        window = self.model.window
        return window is None or bool(corners[0] * (len(sums.probability) - 1) >= window)

    def _rows(self, corners: tuple[Any, ...], stage: int) -> int:
        """How many levels to sum one by one for k = ∞, the more the higher the stage."""
        window = 0.0 if self.model.window is None else _number(self.model.window / corners[0])
        needed = level_depth(self.model.queue, np.array([_number(corners[1])]), DEPTHS[stage])[0]
        return int(min(max(needed, 3), max(FEW * 5**stage, window + FEW)))

    def _range(self, target: Any) -> tuple[Any, Any]:
        """Where large and small quanta end that need no branching; what cannot be told is left open."""
        model = self.model
        mean = exact(model.queue.mean_service_time)
        upper_end = model.queue.size.upper_end
        end = model.service_time(exact(upper_end)) if math.isfinite(upper_end) else None
        high = mean if not 0 < self.quantum < math.inf else max(mean, exact(self.quantum))
        while True:
            high *= 2
            if end is not None and high >= end:
                high = end  # no job is preempted from here on
                break
            bound = model.from_above(high)
            if bound >= target:
                break
            if high > mean * exact(FAR):
                self.open_quanta.append((_number(high), math.inf))
                break
        low = high
        while True:
            low /= 2
            bound = model.from_small(low) if model.levels == math.inf else model.from_below(low)
            if bound is None or bound >= target:
                break
            if low * exact(FAR if model.levels < math.inf else SMALL) < mean:
                self.open_quanta.append((0.0, _number(low)))
                break
        if model.levels == math.inf:
            # each level that need not be summed one by one saves work
            step = low / 2
            for _ in range(4):
                bound = model.from_small(low + step)
                low, step = (low + step if bound is None or bound >= target else low), step / 2
        return low, high

    def _search(self, low: Any, high: Any, target: Any) -> None:
        """Bound E[T] on all of an interval of θ."""
        pending = [(*piece, 0) for piece in self._pieces(low, high)]
        while pending:
            left, right, stage = pending.pop()
            if self.work > WORK:
                self.open_quanta.append((_number(left), _number(right)))
                continue
            outcome = self._bounded(left, right, stage, target)
            if outcome == "deeper":
                pending.append((left, right, stage + 1))
            elif outcome == "divide":
                middle = (left + right) / 2
                pending += [(left, middle, stage), (middle, right, stage)]
            elif outcome == "open":
                self.open_quanta.append((_number(left), _number(right)))

    def _pieces(self, low: Any, high: Any) -> Iterator[tuple[Any, Any]]:
        """Intervals of moderate ratio without a break inside, the smallest quanta first."""
        breaks = self.model.breaks()
        most = min(self.model.levels - 1, 2 * MOST_PIECES)
        cuts = sorted(
            {low, high}
            | {
                age_ / number
                for age_ in breaks
                for number in range(1, int(min(most, _number(age_ / low))) + 1)
                if low < age_ / number < high
            }
        )
        if len(cuts) > MOST_PIECES:
            cuts = cuts[-MOST_PIECES:]
            self.open_quanta.append((_number(low), _number(cuts[0])))
        for left, right in itertools.pairwise(cuts):
            count = math.ceil(math.log(_number(right / left)) / math.log(FIRST_RATIO))
            ratio = exact((_number(right / left)) ** (1 / max(count, 1)))
            edges = [left * ratio**step for step in range(count)] if count > 1 else [left]
            edges = [*edges, right] if edges[-1] < right else [*edges[:-1], right]
            yield from itertools.pairwise(edges)

    def _bounded(self, low: Any, high: Any, stage: int, target: Any) -> str:
        """Whether E[T] is proved to be above the target on an interval, or what to do about it."""
        model = self.model
        infinite = model.levels == math.inf
        narrow = bool(high - low < low * exact(NARROW))
        middle = (low + high) / 2
        corners = (low, middle, high)
        rows = self._rows(corners, stage) if infinite else int(model.levels) - 1
        try:
            theta, place = model.interval(middle, middle)
            centre, sums = self._lower_series(theta, place, rows)
            if not centre[0].lower() >= target and infinite and stage + 1 < len(DEPTHS):
                return "deeper"
            theta, place = model.interval(low, high)
            whole, _ = self._lower_series(theta, place, rows, sums)
        except (_UnstableError, _StraddlingError):
            return self._by_least(low, high, rows, target, narrow)
        except UndecidedError:
            return "open" if narrow else "divide"
        if _constant(whole).lower() >= target or _is_above(centre, whole, (high - low) / 2, target):
            return "done"
        return "open" if narrow else "divide"

    def _lower_series(
        self, theta: Any, corners: tuple[Any, ...], rows: int, middle: _Sums | None = None
    ) -> tuple[Any, _Sums]:
        """E[T] as a series in θ, or for k = ∞ a lower bound of it as one."""
        model = self.model
        closed = model.levels < math.inf
        sums = model.sums(theta, corners, rows, closed=closed, middle=middle)
        self.work += len(sums.probability)
        total = model.response(sums, middle)
        if not closed and not sums.complete and self._on_line(sums, corners):
            total = total + model.left_out(sums, theta, "least", middle)
        return total, sums

    def _by_least(self, low: Any, high: Any, rows: int, target: Any, narrow: bool) -> str:
        """The interval is beyond the edge of stability, or reaches it, where E[T] is large."""
        model = self.model
        closed = model.levels < math.inf
        middle = model.sums(*model.interval((low + high) / 2, (low + high) / 2), rows, closed=closed)
        sums = model.sums(*model.interval(low, high), rows, closed=closed, middle=middle)
        self.work += 2 * len(sums.probability)
        try:
            if model.least_response(sums) >= target:
                return "done"
        except _UnstableError:
            return "done"
        return "open" if narrow else "divide"


def _is_above(centre: Any, whole: Any, half: Any, target: Any) -> bool:
    """Whether a function is above the target on an interval, by its series at the middle and on all of it."""
    from flint import arb, arb_poly

    radius = arb(half)
    polynomial = arb_poly([centre[i] for i in range(ORDER)])
    error = (whole[ORDER] * arb(0).union(radius) ** ORDER).abs_upper()
    slope = polynomial.derivative()
    curvature = slope.derivative()
    pending = [(-half, half)]
    for _ in range(PARTS):
        if not pending:
            return True
        low, high = pending.pop()
        place, part = arb((low + high) / 2), arb((high - low) / 2)
        around = arb(low).union(arb(high))
        least = polynomial(place) - abs(slope(place)) * part - error
        least = least + (curvature(around) * arb(0).union(part**2) / 2).lower()
        if not least >= target:
            middle = (low + high) / 2
            pending += [(low, middle), (middle, high)]
    return not pending


def _number(value: Any) -> float:
    from flint import arb

    return float(arb(value).mid())


def _below(value: Any) -> float:
    return math.nextafter(float(value.lower()), -math.inf)


def _above(value: Any) -> float:
    return math.nextafter(float(value.upper()), math.inf)


def _joined(ranges: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Ranges in order, neighbours made one."""
    joined: list[tuple[float, float]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] * (1 + 1e-12):
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)
