"""The best quantum against a parameter of the queue, with its plateaus and jumps resolved, figures 10 and 11."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mlptsym import validation
from mlptsym.numeric.mean.gradient import quantum_slopes
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.optimal.optimum import Optimum, optimal_quantum, rule_of_thumb
from mlptsym.sweeps import sweep

__all__ = ["Found", "best_quanta", "jumps", "piece", "plateaus", "rules_of_thumb", "threshold_of"]


@dataclass(frozen=True)
class _Resolution:
    """How closely θ* is followed over a range of a parameter."""

    rounds: int = 10  # halvings, at most, of an interval in which something happens
    steep: float = 0.06  # largest step of θ* between neighbouring points of one smooth piece, as part of it
    near: float = 0.03  # largest step of θ*, as part of it, along which a local minimum is followed
    left: float = 1e-13  # just left of a kink, as part of θ
    on_kink: float = 1e-6  # what a best quantum may be off a kink and still be it, as part of θ


_RESOLUTION = _Resolution()

QueueAt = Callable[[float], Queue]


@dataclass(frozen=True)
class Found:
    """The best quantum at one value of the parameter.

    ``threshold`` is ℓ_C, of which θ* is a whole part at the kinks, 0 if there is no slowdown; ``meeting`` tells
    whether two pieces of the curve meet here.
    """

    parameter: float
    threshold: float
    best: Optimum
    meeting: bool = False


def threshold_of(queue: Queue) -> float:
    """ℓ_C, also where β = 1; 0 if it is infinite."""
    threshold = validation.instance("queue", queue, Queue, "a Queue").slowdown_threshold
    return 0.0 if threshold is None or math.isinf(threshold) else threshold


def piece(found: Found) -> tuple[str, int]:
    """Which piece of the curve of θ* this is: the kind of θ*, and the number of whole quanta up to ℓ_C.

    The kink ℓ_C/m has the number m, and so has what lies between ℓ_C/(m + 1) and ℓ_C/m, where it is smooth.

    Examples
    --------
    >>> from mlptsym import LogNormal
    >>> size = LogNormal(5, 0.9)
    >>> queue = Queue(size, 0.0036, 6 * size.mean, slowdown_factor=0.39, preemption_cost=0.1)
    >>> [piece(Found(6.0, queue.slowdown_threshold, optimal_quantum(queue, k))) for k in (2, math.inf)]
    [('kink', 1), ('smooth', 1)]
    """
    best = validation.instance("found", found, Found, "one of what best_quanta returns").best
    if best.kind not in {"smooth", "kink"}:
        return best.kind, 0
    ratio = min(found.threshold / best.quantum, best.levels - 1)
    return best.kind, round(ratio) if best.kind == "kink" else math.floor(ratio)


def best_quanta(
    queue_at: QueueAt, levels: float, low: float, high: float, points: int = 25, *, highest: float = math.inf
) -> tuple[Found, ...]:
    """θ* over a range of a parameter: on a grid, and at the places where it passes from one piece to another.

    Parameters
    ----------
    queue_at : callable
        The queue for a value of the parameter.
    levels : int or inf
        k.
    low, high : float
        The range.
    points : int
        Number of points to begin with, evenly spaced, at least 2.
    highest : float
        Steep parts get more points up to this θ*, in units of service time.

    Returns
    -------
    tuple of Found
        In order.  Where a plateau θ* = ℓ_C/m begins or ends there is a point, exact to rounding: there a one-sided
        derivative of E[T] at the kink is zero.  Where θ* jumps, the parameter for which both quanta have the same E[T]
        comes twice.
    """
    levels = validation.levels("levels", levels, at_least=2)
    low = validation.number("low", low)
    high = validation.number("high", high, above=low)
    highest = validation.number("highest", highest, above=0, infinite=True)
    grid = np.linspace(low, high, validation.points("points", points)).tolist()
    found = _solved(queue_at, levels, grid)
    for _ in range(_RESOLUTION.rounds):
        more: list[Found] = []
        middles: list[float] = []
        for left, right in _neighbours(found):
            if _unresolved(left, right):
                between = _meeting(queue_at, levels, left, right)
                more += between
                middles += [] if between else [(left.parameter + right.parameter) / 2]
            elif _steep(left, right, highest):
                middles.append((left.parameter + right.parameter) / 2)
        if not more and not middles:
            break
        # stable, so that the two points of a jump keep their order
        found = sorted([*found, *more, *_solved(queue_at, levels, middles)], key=lambda one: one.parameter)
    return tuple(found)


def _solved(queue_at: QueueAt, levels: float, parameters: Iterable[float]) -> list[Found]:
    chosen = list(parameters)
    queues = [queue_at(parameter) for parameter in chosen]
    optima = sweep(partial(optimal_quantum, levels=levels), queues) if queues else []
    return [
        Found(parameter, threshold_of(queue), best)
        for parameter, queue, best in zip(chosen, queues, optima, strict=True)
    ]


def _neighbours(found: Sequence[Found]) -> Iterator[tuple[Found, Found]]:
    return itertools.pairwise(found)


def _unresolved(left: Found, right: Found) -> bool:
    """Whether θ* passes from one piece to another in between."""
    if piece(left) == piece(right) or left.parameter == right.parameter:
        return False
    return not ((left.meeting or right.meeting) and _adjacent(left, right))


def _adjacent(one: Found, other: Found) -> bool:
    """Whether one is a kink and the other on the smooth piece below or above."""
    (kind, number), (_, beside) = sorted((piece(one), piece(other)))
    return {one.best.kind, other.best.kind} == {"kink", "smooth"} and kind == "kink" and beside in {number, number - 1}


def _steep(left: Found, right: Found, highest: float) -> bool:
    """Whether a smooth piece needs another point here; between kinks θ* is proportional to ℓ_C."""
    if left.parameter == right.parameter or left.best.kind == right.best.kind != "smooth":
        return False
    low, high = sorted(min(one.best.quantum, highest) for one in (left, right))
    return high > low * (1 + _RESOLUTION.steep)


def _meeting(queue_at: QueueAt, levels: float, left: Found, right: Found) -> list[Found]:
    """Where the pieces of two neighbours meet: one point at the end of a plateau, two at a jump, none if not found."""
    return _plateau_end(queue_at, levels, left, right) or _jump(queue_at, levels, left, right)


def _plateau_end(queue_at: QueueAt, levels: float, left: Found, right: Found) -> list[Found]:
    """Where the derivative of E[T] at the kink, on the side of the smooth piece, is zero."""
    from scipy.optimize import brentq

    if not _adjacent(left, right):
        return []
    (_, number), (_, beside) = sorted((piece(left), piece(right)))
    shift = 1 - _RESOLUTION.left if beside == number else 1.0

    def slope(parameter: float) -> float:
        queue = queue_at(parameter)
        quantum = threshold_of(queue) / number * shift
        return float(quantum_slopes(queue, np.array([quantum]), levels).slope[0])

    low, high = left.parameter, right.parameter
    if not slope(low) * slope(high) < 0:
        return []
    (here,) = _solved(queue_at, levels, [float(brentq(slope, low, high, xtol=1e-13 * abs(high), rtol=1e-14))])
    quantum = here.threshold / number
    if not abs(here.best.quantum / quantum - 1) < _RESOLUTION.on_kink:
        return []
    return [replace(here, best=replace(here.best, quantum=quantum, kind="kink"), meeting=True)]


def _jump(queue_at: QueueAt, levels: float, left: Found, right: Found) -> list[Found]:
    """The two best quanta where E[T] of the one overtakes that of the other."""
    from scipy.optimize import brentq

    def excess(here: Found) -> float:
        return _branch(here, left)[1] - _branch(here, right)[1]

    def excess_at(parameter: float) -> float:
        (here,) = _solved(queue_at, levels, [parameter])
        return excess(here)

    if not excess(left) < 0 < excess(right):
        return []
    low, high = left.parameter, right.parameter
    (here,) = _solved(queue_at, levels, [float(brentq(excess_at, low, high, xtol=1e-13 * abs(high), rtol=1e-14))])
    sides = []
    for neighbour in (left, right):
        quantum, time, kind = _branch(here, neighbour)
        sides.append(replace(here, best=replace(here.best, quantum=quantum, mean_response_time=time, kind=kind)))
    return [replace(side, meeting=True) for side in sides]


def _branch(here: Found, like: Found) -> tuple[float, float, str]:
    """The local minimum, or FCFS, that continues the best quantum of a neighbour; NaN if there is none."""
    if math.isinf(like.best.quantum):
        return math.inf, here.best.fcfs, "fcfs"
    scale = here.threshold / like.threshold if like.best.kind == "kink" else 1.0
    expected = like.best.quantum * scale
    near = [
        one
        for one in here.best.local_minima
        if abs(one[0] / expected - 1) < _RESOLUTION.near and one[2] == like.best.kind
    ]
    return min(near, key=lambda one: abs(one[0] - expected), default=(math.nan, math.nan, ""))


def plateaus(found: Sequence[Found]) -> dict[int, tuple[float, float]]:
    """First and last parameter at which θ* = ℓ_C/m, by m."""
    by_number: dict[int, list[float]] = {}
    for one in _checked(found):
        kind, number = piece(one)
        if kind == "kink":
            by_number.setdefault(number, []).append(one.parameter)
    return {number: (min(there), max(there)) for number, there in sorted(by_number.items())}


def jumps(found: Sequence[Found]) -> tuple[tuple[float, float, float], ...]:
    """Parameter, θ* before and θ* after, of each jump."""
    return tuple(
        (left.parameter, left.best.quantum, right.best.quantum)
        for left, right in _neighbours(_checked(found))
        if left.parameter == right.parameter
    )


def _checked(found: Sequence[Found]) -> Sequence[Found]:
    allowed = "what best_quanta returns"
    return [validation.instance("found", one, Found, allowed) for one in validation.sequence("found", found, allowed)]


def rules_of_thumb(
    queue_at: QueueAt, levels: float, parameters: Iterable[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """θ̂ against a parameter, in order; where it jumps between eqs. (31) and (32), the parameter comes twice."""
    places: list[float] = []
    quanta: list[float] = []
    last: tuple[float, bool] | None = None
    levels = validation.levels("levels", levels, at_least=2)
    for parameter in validation.numbers("parameters", parameters, maximum_length=10 * validation.MOST_POINTS):
        rule, general = _rules(queue_at, levels, parameter)
        here = (parameter, rule != general)
        if last is not None and last[1] != here[1]:
            inside, outside = (last[0], here[0]) if last[1] else (here[0], last[0])
            while (middle := (inside + outside) / 2) not in {inside, outside}:
                rule_there, general_there = _rules(queue_at, levels, middle)
                inside, outside = (middle, outside) if rule_there != general_there else (inside, middle)
            sides = _rules(queue_at, levels, inside)
            places += [inside, inside]
            quanta += sides if inside < outside else sides[::-1]
        places.append(parameter)
        quanta.append(rule)
        last = here
    return tuple(places), tuple(quanta)


def _rules(queue_at: QueueAt, levels: float, parameter: float) -> tuple[float, float]:
    """θ̂, and what eq. (31) gives: they differ where θ̂ is ℓ_C, eq. (32)."""
    queue = queue_at(parameter)
    general = rule_of_thumb(queue, math.inf)
    return (general if math.isinf(levels) else rule_of_thumb(queue, levels)), general
