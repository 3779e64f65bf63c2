"""A proof that no quantum is better: branch and bound over θ in ball arithmetic."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlptsym import validation
from mlptsym.numeric.certified.enclosure import (
    ORDER,
    Enclosure,
    StraddlingError,
    Sums,
    UnstableError,
    constant,
    working_precision,
)
from mlptsym.numeric.certified.intervals import UndecidedError, exact
from mlptsym.numeric.levels.remainder import level_depth
from mlptsym.numeric.mean.response import moments_needed
from mlptsym.numeric.model.queue import Queue

__all__ = ["Certificate", "certified_minimum"]

PARTS = 4_000  # of an interval on which a polynomial is bounded
TOLERANCE = 1e-6
# levels for k = ∞ by what may be left out, tried one after the other, and at most FEW · 5^i of them
DEPTHS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
FEW = 12
MOST_LEVELS = 20_000
MOST_PIECES = 30_000
WORK = 300_000  # levels evaluated, about two minutes
FIRST_RATIO = 1.25
# parts of θ: what is not divided further, and what is not where E[T] seems to be below the target
NARROW, FINE = 1e-8, 1e-2
FAR, SMALL = 2.0**200, 2.0**20


@dataclass(frozen=True)
class Certificate:
    """Proved bounds of the smallest E[T] over all quanta and FCFS.

    Attributes
    ----------
    lower, upper : float
        The minimum lies between them.
    open_quanta : tuple of (float, float)
        Ranges of θ on which E[T] is not proved to be above ``upper`` less 1e-6 of it, because of the work that takes or
        because the bounds do not reach there; if there are any, ``lower`` is the trivial bound E[S].
    """

    lower: float
    upper: float
    open_quanta: tuple[tuple[float, float], ...]


def certified_minimum(queue: Queue, levels: float, quantum: float) -> Certificate:
    """Enclose the smallest E[T] over all quanta θ in (0, ∞) and FCFS.

    Parameters
    ----------
    queue : Queue
    levels : int or inf
        k >= 2.
    quantum : float
        A quantum at which E[T] is believed to be smallest, >= 0, ``inf`` for FCFS; it gives the upper bound.

    Returns
    -------
    Certificate
        With an enclosure of relative width 1e-6 if no range of θ is left open; both bounds are ``inf`` if the queue is
        proved unstable under FCFS, and so under every policy, or if E[T] is infinite for want of moments.

    Notes
    -----
    Upper bound: E[T] at the quantum, for k = ∞ with the bound of `mlptsym.symbolic.mean.remainder` on the levels left
    out.  Where E[T] turns out to be smaller elsewhere, these quanta stay open.
    Lower bound, on a partition of (0, ∞):

    - large θ: E[T] ≥ E[S] + λE[min(S, θ)²]/(2(1 − λE[min(S, θ)])), which grows with θ;
    - small θ: for finite k, E[T] ≥ E[S] + P(S > (k−1)θ)(E[T of FCFS] − E[S]), which falls with θ; for k = ∞ the sum
      over levels is bounded by integrals over ages on a grid;
    - between, on intervals that no break θ = b/m divides (b: ℓ_C, ends of the density, point masses, the window of the
      memory, jumps of the restore costs): by a Taylor series of order 10, and for k = ∞ with as many levels as it
      takes; there restore costs that jump in every level leave everything open.
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    queue.refuse_unloading("a certificate")
    levels = validation.levels("levels", levels, at_least=2)
    quantum = validation.number("quantum", quantum, at_least=0, infinite=True)
    everything = ((0.0, math.inf),)
    with working_precision():
        model = Enclosure(queue, levels)
        if model.rate * model.totals[1] >= 1:
            return Certificate(math.inf, math.inf, ())
        if not model.rate * model.totals[1] < 1:
            return Certificate(_below(model.totals[1]), math.inf, everything)
        fcfs = model.fcfs() if queue.size.moment_limit > 2 else None
        if not queue.size.moment_limit > moments_needed(queue, levels):  # E[T] is infinite for every quantum
            return Certificate(math.inf, math.inf, ()) if fcfs is None else Certificate(_below(fcfs), _above(fcfs), ())
        endless = levels == math.inf and model.step is not None  # restore costs that jump in every level
        if endless or MOST_LEVELS < levels < math.inf:
            return Certificate(_below(model.totals[1]), math.inf if fcfs is None else _above(fcfs), everything)
        return _Proof(model, quantum).certificate(fcfs)


@dataclass
class _Proof:
    """The branch and bound."""

    model: Enclosure
    quantum: float
    work: int = 0
    open_quanta: list[tuple[float, float]] = field(default_factory=list)

    def certificate(self, fcfs: Any | None) -> Certificate:
        """Of the smallest E[T], with that of FCFS if it is finite."""
        model = self.model
        upper = self._upper(fcfs)
        if upper is None:
            return Certificate(_below(model.totals[1]), math.inf, ((0.0, math.inf),))
        if self.quantum == 0:  # the minimum is a limit, which no bound for small quanta reaches
            return Certificate(_below(model.totals[1]), _above(upper), ((0.0, math.inf),))
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
        if self.quantum == math.inf:
            return
        theta = exact(self.quantum or self.model.queue.mean_service_time / 64)
        yield theta
        for age_ in self.model.breaks:
            number = round(_number(age_ / theta))
            if 1 <= number < self.model.levels and abs(age_ / number - theta) < theta * exact(1e-12):
                yield age_ / number

    def _value(self, theta: Any, corners: tuple[Any, ...]) -> Any | None:
        """E[T] at a point, enclosed from above, with what is left out bounded."""
        rows = self._rows(corners, 2)
        while True:
            least, sums = self._lower_series(theta, corners, rows)
            most = self._most(sums, theta)
            close = most is not None and most - constant(least) < most * exact(TOLERANCE / 1000)
            if sums.complete or close or 2 * rows > MOST_LEVELS:
                return most
            rows *= 2

    def _most(self, sums: Sums, theta: Any) -> Any | None:
        """E[T] at a point, with the most that the levels left out may add; None if with these it may be infinite."""
        model = self.model
        value = constant(model.response(sums))
        if sums.complete:
            return value
        load = model.rate * constant(model.left_out(sums, theta, "most_work"))
        return value + constant(model.left_out(sums, theta, "most")) if load < 1 else None

    def _on_line(self, sums: Sums, corners: tuple[Any, ...]) -> bool:
        """Whether restore costs are on their bounding line from t_{N−1} on."""
        window = self.model.window
        return window is None or bool(corners[0] * (len(sums.probability) - 1) >= window)

    def _rows(self, corners: tuple[Any, ...], stage: int) -> int:
        """How many levels to sum one by one: all before the last, or for k = ∞ the more the higher the stage."""
        if self.model.levels < math.inf:
            return int(self.model.levels) - 1
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
        breaks, cuts, least = self.model.breaks, [high], low
        for number in itertools.count(1):
            if number >= self.model.levels or not breaks or breaks[-1] <= least * number:
                break
            inside = breaks[bisect_right(breaks, least * number) : bisect_left(breaks, high * number)]
            cuts += [age_ / number for age_ in inside]
            if len(cuts) > 2 * MOST_PIECES:
                cuts = sorted(set(cuts))[-MOST_PIECES:]
                least = cuts[0]
        cuts = sorted({low, *cuts})[-MOST_PIECES:]
        if cuts[0] > low:
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
        narrow = bool(high - low < low * exact(NARROW))
        middle = (low + high) / 2
        corners = (low, middle, high)
        rows = self._rows(corners, stage)
        try:
            theta, place = model.interval(middle, middle)
            centre, sums = self._lower_series(theta, place, rows)
            if not centre[0].lower() >= target:
                most = None if sums.complete else self._most(sums, theta)
                if not sums.complete and stage + 1 < len(DEPTHS) and (most is None or most >= target):
                    return "deeper"
                # nothing that holds the middle can be proved
                return "open" if high - low < low * exact(FINE) else "divide"
            theta, place = model.interval(low, high)
            whole, _ = self._lower_series(theta, place, rows, sums)
        except (UnstableError, StraddlingError):
            return self._by_least(low, high, rows, target, narrow)
        except UndecidedError:
            return "open" if narrow else "divide"
        if constant(whole).lower() >= target or _is_above(centre, whole, (high - low) / 2, target):
            return "done"
        return "open" if narrow else "divide"

    def _lower_series(
        self, theta: Any, corners: tuple[Any, ...], rows: int, middle: Sums | None = None
    ) -> tuple[Any, Sums]:
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
        except UnstableError:
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
