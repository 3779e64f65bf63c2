"""The tail of the service time S as points with weights, for integrals of functions that oscillate up to a known rate.

Transforms are computed from tails, ∫ e^{−sx} P(X > x) dx, rather than from densities: a tail is smoother, makes no
difference between discrete and continuous laws, and leaves nothing to cancel at small s.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.numeric.model.queue import Queue

__all__ = ["DensitySingularities", "ServiceMeasure", "chebyshev_basis", "thinned"]

Floats = NDArray[np.float64]

GAUSS = 16
THIN = 32
RADIANS = 16.0  # a panel holds at most this much phase: 16 Gauss and 32 Chebyshev nodes then leave errors below 1e-13
NEGLIGIBLE_TAIL = 1e-18
LONGEST = 1e200
PANEL_ERROR = 4e-15
MOST_HALVINGS = 200
ROUNDING = 1e-15  # relative, of a moment of L
MOST_PANELS = 2**14  # that are halved at once: ordinary laws take a few hundred in all
FEW_GAUSS = 4
SHORT = 64.0  # panels this many times shorter than 16 nodes can do need only four


@lru_cache(maxsize=2)
def _gauss(count: int) -> tuple[Floats, Floats]:
    rule: list[Floats] = [np.asarray(part, dtype=np.float64) for part in np.polynomial.legendre.leggauss(count)]
    return (rule[0] + 1) / 2, rule[1] / 2


@lru_cache(maxsize=4)
def _chebyshev(count: int) -> tuple[Floats, Floats]:
    """Nodes on [−1, 1], and the matrix from Chebyshev polynomials to the Lagrange polynomials of the nodes."""
    nodes: Floats = -np.cos(np.pi * (np.arange(count) + 0.5) / count)
    inverse: Floats = np.asarray(np.linalg.inv(np.polynomial.chebyshev.chebvander(nodes, count - 1)), dtype=np.float64)
    return nodes, inverse


def chebyshev_basis(count: int, points: Floats) -> tuple[Floats, Floats]:
    """Chebyshev nodes on [−1, 1], and their Lagrange polynomials at the points (a row for each point)."""
    nodes, coefficients = _chebyshev(count)
    return nodes, np.polynomial.chebyshev.chebvander(points, count - 1) @ coefficients


def thinned(points: Floats, weights: Floats, width: float) -> tuple[Floats, Floats]:
    """Fewer points with weights that give the same integral of any function smooth over ``width``.

    Cells of that width that hold more points than it takes are given Chebyshev nodes in their place, each with the
    integral of its Lagrange polynomial.

    Parameters
    ----------
    points, weights : array
        In any order.
    width : float
        Over this length the integrands have at most sixteen radians of phase.

    Returns
    -------
    (points, weights)
        In increasing order.
    """
    order = np.argsort(points, kind="stable")
    points, weights = points[order], weights[order]
    if len(points) <= THIN + GAUSS or points[0] == points[-1]:
        return points, weights
    # cells from the first point to the last: no node may lie where there is no measure
    span = points[-1] - points[0]
    cells = math.ceil(span / width)
    place = (points - points[0]) / span * cells
    cell, start, count = np.unique(np.minimum(place.astype(np.int64), cells - 1), return_index=True, return_counts=True)
    full = count > THIN + GAUSS
    if not full.any():
        return points, weights
    nodes, _ = _chebyshev(THIN)
    moved = []
    for block in _blocks(start[full], count[full]):
        index = np.concatenate([np.arange(first, first + size) for first, size in zip(*block, strict=True)])
        origin = np.minimum(place[index].astype(np.int64), cells - 1)
        _, basis = chebyshev_basis(THIN, 2 * (place[index] - origin) - 1)
        moved.append(np.add.reduceat(basis * weights[index, None], np.cumsum(block[1]) - block[1]))
    crowded = np.repeat(full, count)
    fresh = points[0] + (cell[full][:, None] + (nodes + 1) / 2) * (span / cells)
    merged = np.concatenate([points[~crowded], fresh.ravel()])
    order = np.argsort(merged, kind="stable")
    return merged[order], np.concatenate([weights[~crowded], np.concatenate(moved).ravel()])[order]


def _blocks(
    start: NDArray[np.int64], count: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Cells in blocks of about 2¹⁶ points."""
    block = np.cumsum(count) // 2**16
    for number in np.unique(block):
        yield start[block == number], count[block == number]


def _cut(low: Floats, high: Floats, width: float) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Panels cut evenly so that none is longer than ``width``: their ends, and which panel each is part of."""
    parts = np.ceil((high - low) / width).astype(np.int64)
    panel = np.repeat(np.arange(len(low)), parts)
    step = (high - low)[panel] / parts[panel]
    position = np.arange(len(panel)) - (np.cumsum(parts) - parts)[panel]
    begin = low[panel] + step * position
    return begin, begin + step, panel


def even_nodes(edges: Floats, width: float) -> tuple[Floats, Floats]:
    """Points and weights for integrals over panels with increasing edges, cut so that none is longer than ``width``."""
    begin, end, _ = _cut(edges[:-1], edges[1:], width)
    nodes, weights = _gauss(GAUSS)
    length = (end - begin)[:, None]
    return (begin[:, None] + length * nodes).ravel(), (length * weights).ravel()


@dataclass(frozen=True, eq=False)
class ServiceMeasure:
    """The law of S of a queue."""

    queue: Queue  # Its size law and slowdown are those of S
    # Values of S with their probabilities for a discrete law, empty for a continuous one
    atoms: Floats
    masses: Floats
    edges: Floats  # Panels, from 0 to where nothing is left, on each of which 16 Gauss nodes integrate the tail
    kinks: Floats  # Ages inside (0, ∞) where the density of a continuous law jumps

    @classmethod
    def of(cls, queue: Queue) -> ServiceMeasure:
        """Prepare a queue's law; panels are halved until integrals of the tail are what its closed form gives."""
        return _prepared(Queue(queue.size, 1.0, *queue.slowdown))

    @classmethod
    def _of(cls, queue: Queue) -> ServiceMeasure:
        none = np.empty(0)
        if len(queue.size.atoms):
            atoms = queue.service_time(queue.size.atoms)
            return cls(queue, atoms, queue.size.masses, np.append(0.0, atoms), none)
        limit = float(queue.service_time(queue.size.upper_end)) if math.isfinite(queue.size.upper_end) else math.inf
        end = limit
        if math.isinf(limit):
            end = mean = queue.mean_service_time
            while end < LONGEST:
                tail, first = (float(moment) for moment in queue.service_moments(end)[:2])
                if max(tail, (first - end * tail) / mean) <= NEGLIGIBLE_TAIL:
                    break
                end *= 2
        corners = {*queue.service_time(queue.size.density_jumps).tolist(), limit}
        if queue.slowdown != (0.0, 1.0):
            corners.add(float(queue.service_time(queue.slowdown[0])))
        kinks = np.array(sorted(corner for corner in corners if 0 < corner < math.inf))
        law = cls(queue, none, none, none, kinks)
        start = np.unique(np.concatenate([[0.0], kinks[kinks < end], [end]]))
        return cls(queue, none, none, law._refined(start), kinks)

    def _refined(self, edges: Floats) -> Floats:
        done = [edges[-1:]]
        low, high = edges[:-1], edges[1:]
        for _ in range(MOST_HALVINGS):
            allowed = PANEL_ERROR * self.queue.mean_service_time + self._rounding(low)
            # a fall of the tail in the middle of a panel is integrated rightly by symmetry: that of one half is not
            wrong = self._error(low, high) > allowed
            wrong |= self._error(low, (low + high) / 2) > allowed
            done.append(low[~wrong])
            low, high = low[wrong], high[wrong]
            if not len(low):
                break
            if len(low) > MOST_PANELS:
                resolved = f"a law whose tail does not take {MOST_PANELS} panels to integrate"
                validation.refuse("size", self.queue.size, resolved)
            middle = (low + high) / 2
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        return np.sort(np.concatenate([*done, low]))

    def _rounding(self, ages: Floats) -> Floats:
        """What `_excess` may be off by because of slow service: L and ℓ_C over β, subtracted from each other."""
        threshold, factor = self.queue.slowdown
        tail, mean, _, _ = self.queue.size.partial_moments(np.maximum(self.queue.size_at(ages), threshold))
        lost: Floats = ROUNDING * (mean + threshold * tail) * (1 / factor - 1)
        return lost

    def _error(self, low: Floats, high: Floats) -> Floats:
        _, weights = self._panels(low, high, GAUSS)
        error: Floats = np.abs(weights.sum(axis=1) - (self._excess(low) - self._excess(high)))
        return error

    def _excess(self, ages: Floats) -> Floats:
        """E[(S − t)⁺]."""
        tail, mean = self.queue.service_moments(ages)[:2]
        return mean - ages * tail

    def _panels(self, low: Floats, high: Floats, count: int) -> tuple[Floats, Floats]:
        nodes, weights = _gauss(count)
        length = (high - low)[:, None]
        ages = low[:, None] + length * nodes
        return ages, self.tail(ages) * weights * length

    @property
    def discrete(self) -> bool:
        """Whether the law is one of atoms."""
        return len(self.atoms) > 0

    @property
    def end(self) -> float:
        """Age beyond which nothing is left."""
        return float(self.atoms[-1] if self.discrete else self.edges[-1])

    def tail(self, ages: Floats) -> Floats:
        """P(S > t)."""
        return self.queue.size.tail(self.queue.size_at(ages))

    def density(self, ages: Floats) -> Floats:
        """Density of S = q(L), that of L times the service rate, inside a level of a continuous law."""
        threshold, factor = self.queue.slowdown
        sizes = self.queue.size_at(ages)
        return self.queue.size.density(sizes) * np.where(sizes >= threshold, factor, 1.0)

    def on_panels(self, starts: Floats, ends: Floats) -> NDArray[np.bool_]:
        """Whether each level lies on one panel: the tail is smooth across it."""
        following = np.searchsorted(self.edges, starts, side="right")
        smooth: NDArray[np.bool_] = following == np.searchsorted(self.edges, ends, side="left")
        return smooth

    def nodes(self, starts: Floats, ends: Floats, width: float) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Points and weights for integrals against P(S > t) dt over levels.

        Parameters
        ----------
        starts, ends : array
            Level r is starts[r] < t <= ends[r]; levels do not overlap and are in increasing order.
        width : float
            Length over which the integrands turn by at most 16 radians.

        Returns
        -------
        (ages, weights, level)
            In increasing order of age.
        """
        edges = np.unique(np.concatenate([self.edges, starts, ends]))
        low, high = edges[:-1], edges[1:]
        level = np.searchsorted(starts, low, side="right") - 1
        inside = (level >= 0) & (low < np.minimum(ends, self.end)[level])
        low, high, level = low[inside], high[inside], level[inside]
        around = np.diff(self.edges)[np.searchsorted(self.edges, low, side="right") - 1]
        short = SHORT * (high - low) < (width if self.discrete else np.minimum(around, width))
        few, few_weights = self._panels(low[short], high[short], FEW_GAUSS)
        begin, end, panel = _cut(low[~short], high[~short], width)
        many, many_weights = self._panels(begin, end, GAUSS)
        owners = np.concatenate([np.repeat(level[short], FEW_GAUSS), np.repeat(level[~short][panel], GAUSS)])
        ages = np.concatenate([few.ravel(), many.ravel()])
        order = np.argsort(ages, kind="stable")
        return ages[order], np.concatenate([few_weights.ravel(), many_weights.ravel()])[order], owners[order]

    def density_singularities(self, starts: Floats, ends: Floats) -> DensitySingularities:
        """Where the density of S, restricted to one of the adjacent levels, jumps or is infinite, for all levels."""
        inner = self.kinks[(self.kinks > starts[0]) & (self.kinks < ends[-1]) & ~np.isin(self.kinks, starts)]
        level = np.searchsorted(starts, inner, side="right") - 1
        last = np.flatnonzero(np.isfinite(ends))
        ages = np.concatenate([starts, inner, ends[last]])
        owner = np.concatenate([np.arange(len(starts)), level, last])
        order = np.lexsort((ages, owner))
        ages, owner = ages[order], owner[order]
        room = 1e-9 * np.minimum(np.diff(np.unique(ages)).min(initial=math.inf), self.queue.mean_service_time)
        after = self.density(np.where(ages > 0, ages + room, 0.0))
        before = self.density(np.maximum(ages - room, 0.0))
        heights = np.where(ages < ends[owner], after, 0.0) - np.where(ages > starts[owner], before, 0.0)
        powers = np.zeros(ages.shape)
        if np.isinf(heights[0]):
            heights[0], powers[0] = self._start_of_density()
        return DensitySingularities(ages, heights, powers, owner)

    def _start_of_density(self) -> tuple[float, float]:
        """Height h and exponent e of a density that is h x^e/Γ(e + 1), −1 < e < 0, as x goes to 0."""
        near = np.array([1e-90, 1e-100]) * self.queue.mean_service_time
        density = self.density(near)
        exponent = float(np.log(density[0] / density[1]) / np.log(near[0] / near[1]))
        return float(density[1] * near[1] ** -exponent) * math.gamma(exponent + 1), exponent


@lru_cache(maxsize=4)
def _prepared(queue: Queue) -> ServiceMeasure:
    return ServiceMeasure._of(queue)


@dataclass(frozen=True, eq=False)
class DensitySingularities:
    """Terms h (x − age)₊^e/Γ(e + 1) that a density contains: jumps of height h for e = 0."""

    # Where, h and e
    ages: Floats
    heights: Floats
    powers: Floats
    owner: NDArray[np.int64]  # The level, counted from 0 and non-decreasing, to which the density is restricted

    def of_levels(self, first: int, stop: int) -> DensitySingularities:
        """Those of some levels."""
        part = slice(*np.searchsorted(self.owner, [first, stop]))
        return DensitySingularities(self.ages[part], self.heights[part], self.powers[part], self.owner[part])

    @property
    def least(self) -> float:
        """The least e."""
        return float(self.powers.min(initial=0.0))
