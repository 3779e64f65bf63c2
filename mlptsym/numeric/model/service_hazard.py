"""The law of the service time S by age: tail, first moment and hazard, and the ages where the hazard turns or jumps."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.compile import compiled
from mlptsym.numeric.model.queue import Queue

if TYPE_CHECKING:
    from mlptsym.laws.base import SizeLaw

__all__ = ["ServiceHazard", "service_hazard"]

Floats = NDArray[np.float64]

DEEPEST = 1e-280
GRID_POINTS = 1024


@lru_cache(maxsize=1)
def _gauss() -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss's rule with seven points on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(7)
    return (nodes + 1) / 2, weights / 2


@dataclass(frozen=True, eq=False)
class ServiceHazard:
    """The law of S = q(L) by age."""

    queue: Queue  # Its size law and slowdown are those of S
    atoms: bool  # Whether S takes finitely many values; the fields that describe the hazard are empty then
    end: float  # End of the support, or ``inf``
    last: float  # The end, or the age beyond which P(S > a) or the density is below 10⁻²⁸⁰
    breaks: Floats  # Ages from 0 on, between which the hazard is monotone and continuous
    falling: NDArray[np.bool_]  # Whether it falls after each of them
    jumps: Floats  # Those of them where it jumps
    grid: Floats  # Ages in geometric progression, dense over the bulk and the tail of S
    falling_from: float  # Age from which on the hazard falls for ever; ``inf`` if there is none

    @property
    def bounded(self) -> bool:
        """Whether the support is."""
        return math.isfinite(self.end)

    @cached_property
    def early(self) -> float:
        """Age below which differences of E[S ; S > a] lose digits to E[S]."""
        return 0.05 * self.queue.mean_service_time

    def curve(self, ages: Floats) -> tuple[Floats, Floats, Floats]:
        """P(S > a), E[S ; S > a] and the right limit of the hazard, at ages up to the last of an unbounded law."""
        size, (threshold, factor) = self.queue.size, self.queue.slowdown
        sizes = self.queue.size_at(ages)
        with np.errstate(over="ignore"):  # an infinite density at age 0
            density, tail, first = size.evaluate("hazard", sizes)
            if factor < 1:
                there = self.queue.size.partial_moments(np.asarray(threshold))
                (first,) = compiled("mlptsym.symbolic.model.service:service_moments_formula", 1)(
                    at_x_0=tail,
                    at_x_1=first,
                    at_threshold_0=there[0],
                    at_threshold_1=there[1],
                    x=sizes,
                    threshold=threshold,
                    factor=factor,
                )
            hazard = np.divide(density, tail, out=np.full(ages.shape, math.inf), where=tail > 0)
        return tail, first, hazard * np.where(sizes >= threshold, factor, 1.0)

    def hazard_before(self, ages: Floats) -> Floats:
        """Left limit of the hazard."""
        threshold, factor = self.queue.slowdown
        sizes = self.queue.size_at(ages)
        return self.queue.size.hazard(np.nextafter(sizes, 0.0)) * np.where(sizes > threshold, factor, 1.0)

    def near(self, ages: Floats, through: Floats) -> NDArray[np.bool_]:
        """Whether Gauss's rule is exact between two ages: not more than half as much again, and not past a jump."""
        smooth: NDArray[np.bool_] = np.searchsorted(self.jumps, ages, "right") == np.searchsorted(self.jumps, through)
        return smooth & (through <= 1.5 * ages)

    def integrated(self, ages: Floats, through: Floats) -> tuple[Floats, Floats]:
        """P(a < S ≤ b) and E[min(S, b) − a ; S > a] for ages near each other, where differences lose digits."""
        nodes, weights = _gauss()
        lengths = (through - ages)[:, None]
        tail, _, hazard = self.curve(ages[:, None] + lengths * nodes)
        return (lengths * tail * hazard) @ weights, (lengths * tail) @ weights


def service_hazard(queue: Queue) -> ServiceHazard:
    """The law of S of a queue.

    Raises
    ------
    ParameterError
        If E[S] is infinite.
    """
    threshold, factor = queue.slowdown
    return _described(Queue(queue.size, 1.0, threshold, factor))


@lru_cache(maxsize=32)
def _described(queue: Queue) -> ServiceHazard:
    size = queue.size
    if not size.moment_limit > 1:
        validation.refuse("size", size, "a law with a finite mean, without which E[S] is infinite")
    bounded = math.isfinite(size.upper_end)
    end = float(queue.service_time(size.upper_end)) if bounded else math.inf
    if len(size.atoms):
        none = np.empty(0)
        return ServiceHazard(queue, True, end, end, none, none.astype(bool), none, none, math.inf)
    last = size.upper_end if bounded else _largest_size(size, DEEPEST)
    first = _largest_size(size, 1 - 1e-12)
    sizes = np.concatenate([np.geomspace(1e-40 * first, first, 257)[:-1], np.geomspace(first, last, GRID_POINTS)])
    sizes = sizes[:-1] if bounded else sizes[(sizes < size.mean) | (size.density(sizes) >= DEEPEST)]
    last = last if bounded else float(sizes[-1])
    turns, falling = _turns(size, sizes)
    edges = [0.0, *turns]
    # with the density the hazard jumps, and that of S falls by the factor β at ℓ_C
    jumps = [jump for jump in sorted({*size.density_jumps, queue.slowdown[0]}) if 0 < jump < last]
    for jump in jumps:
        if jump not in edges:
            position = bisect.bisect(edges, jump)
            edges.insert(position, jump)
            falling.insert(position, falling[position - 1])
    breaks = queue.service_time(edges)
    rising = np.flatnonzero(~np.array(falling))
    settled = int(rising[-1]) + 1 if rising.size else 0
    return ServiceHazard(
        queue=queue,
        atoms=False,
        end=end,
        last=end if bounded else float(queue.service_time(last)),
        breaks=breaks,
        falling=np.array(falling),
        jumps=queue.service_time(jumps),
        grid=queue.service_time(sizes),
        falling_from=float(breaks[settled]) if settled < breaks.size else math.inf,
    )


def _largest_size(size: SizeLaw, level: float) -> float:
    """Largest size x with P(L > x) ≥ level, to six digits."""
    points = 2.0 ** np.arange(-800, 900)
    for turn in range(3):
        with np.errstate(all="ignore"):
            above = points[size.tail(points) >= level]
        start = float(above[-1]) if above.size else float(points[0])
        points = np.linspace(start, start + (points[1] - points[0] if turn else start), 1025)
    return start


def _turns(size: SizeLaw, sizes: Floats) -> tuple[list[float], list[bool]]:
    """Sizes at which the hazard of L turns, and whether it falls before, between and after them."""
    from scipy.optimize import minimize_scalar

    def signed_hazard(x: float, sign: float) -> float:
        return sign * float(size.hazard(x))

    values = np.minimum(size.hazard(sizes), np.finfo(float).max)
    steps = np.diff(values)
    steps[np.abs(steps) <= 1e-9 * np.maximum(values[1:], values[:-1])] = 0.0  # rounding, or constant
    moves = np.flatnonzero(steps)
    turns: list[float] = []
    falling = [bool(moves.size and steps[moves[0]] < 0)]
    for before, after in pairwise(moves.tolist()):
        if (steps[before] < 0) != (steps[after] < 0):
            low, high = float(sizes[before]), float(sizes[after + 1])
            sign = 1.0 if falling[-1] else -1.0
            turn = minimize_scalar(
                signed_hazard, args=(sign,), bounds=(low, high), options={"xatol": 1e-9 * (high - low)}
            )
            turns.append(float(turn.x))
            falling.append(not falling[-1])
    return turns, falling
