"""The Gittins index of section 4.1 with numbers: G(a) and Δ*(a) by a convex hull, for any size law and slowdown.

With x(t) = E[min(S, t)] and y(t) = P(S ≤ t), the efficiency J(a, Δ) is the slope of the chord from the point of age a
to that of age a + Δ.  So G(a) is the slope at a of the least concave curve above the part of the curve that lies
beyond a, and a + Δ*(a) is where that majorant leaves its tangent at a.  Running through a grid of ages from the last
to the first and keeping the edges of the majorant on a stack gives both for every age in linear time: an edge is put
on the stack for the cell before the age, and merged with its follower as long as it is not steeper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.compile import compiled
from mlptsym.compile.machine_code import machine_code
from mlptsym.numeric.gittins.atoms import atom_index
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.service_hazard import ServiceHazard, service_hazard

__all__ = ["GittinsIndex", "gittins_index", "index_of_law"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

TIE = 1e-12
AGREEMENT = 1e-11
ROUNDS = 4


@dataclass(frozen=True, eq=False)
class GittinsIndex:
    """Gittins index and optimal quantum; arrays of the shape of the ages.

    Attributes
    ----------
    index : array
        G(a) = sup over Δ > 0 of J(a, Δ), completions per unit of service time; ``inf`` where the hazard is.
    quantum : array
        Δ*(a), the largest Δ at which J(a, Δ) = G(a): 0 where G(a) is only the limit Δ → 0, and ``inf`` where it is
        the limit Δ → ∞ or every long Δ attains it.
    error : array
        Bound on the relative error of ``index``; see `gittins_index`.
    """

    index: Floats
    quantum: Floats
    error: Floats


def gittins_index(queue: Queue, ages: ArrayLike) -> GittinsIndex:
    """Gittins index and optimal quantum of jobs by their attained service.

    Parameters
    ----------
    queue : Queue
        Its size law and slowdown give the law of the service time S; nothing else of it is used.
    ages : array_like
        Attained service times a, >= 0, of any shape.

    Returns
    -------
    GittinsIndex

    Raises
    ------
    ParameterError
        If an age is negative or not finite, is one that no job can have (at or beyond the end of a bounded support),
        or is so large that P(S > a) < 10⁻²⁸⁰ (or the density is); or if E[S] is infinite.

    Notes
    -----
    *Closed case.*  Where the hazard falls on all of (a, ∞), J(a, ·), the mean of the hazard over (a, a + Δ) weighted
    with the tail, falls too: G(a) = h(a) and Δ* = 0 (lemma 4.1).  No grid is involved.

    *Point masses* (`Deterministic`, `Empirical`).  J(a, ·) falls between the atoms, so its maxima lie at atoms: these
    are the grid, and index and quantum are exact but for rounding.  A sample is taken for the law itself: the index
    grows without bound towards each of its values, however many there are.

    *Otherwise* the grid contains the given ages, about a thousand ages in geometric progression, the ends of the
    support, the age at which the slowdown sets in, and the ages where the hazard turns.  Then the hazard is monotone
    in every cell, and the curve y(x) lies between two polygons:

    - its own points, joined: every chord between them is a value of J, so the slope they give is at most G(a);
    - where the hazard rises the curve is convex and lies below the chord of its cell; where the hazard falls it is
      concave and lies below its tangents at both ends of the cell, whose slopes are hazards.  The hull of chords and
      tangents gives at least G(a).

    An optimum inside a cell is a point where h(a + Δ) = J(a, Δ).  It is solved for, to the last digits, and made a
    point of the grid; there the tangent is the optimal chord itself and the two polygons meet.  ``error`` is the
    relative distance between the two slopes that remains, plus an estimate of the rounding in the moments.  The bound
    is proved for hazards that turn nowhere but where a thousand ages show it, as those of all ten size laws do, which
    have at most one peak.

    A maximiser so far out that P(S > a + Δ) < 10⁻²⁸⁰ is given as ``inf``.

    Examples
    --------
    A log-normal job is served until its hazard, having passed its peak, is down at the index it started with.

    >>> from mlptsym import Exponential, LogNormal
    >>> queue = Queue(LogNormal(5, 0.9), arrival_rate=0.0036)
    >>> at_arrival = gittins_index(queue, 0.0)
    >>> hazard = queue.size.hazard(at_arrival.quantum)
    >>> bool(abs(hazard - at_arrival.index) < 1e-12 * hazard)
    True
    >>> constant = gittins_index(Queue(Exponential(0.5), arrival_rate=0.1), [0.0, 3.0])
    >>> constant.index.tolist(), constant.quantum.tolist()
    ([0.5, 0.5], [inf, inf])
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    law = service_hazard(queue)
    points = floats("ages", ages, finite=True)
    if law.bounded and (points >= law.end).any():
        validation.refuse("ages", float(points.max()), f"below {law.end:g}, the largest service time")
    if (points > law.last).any():
        reached = float(law.curve(np.array([law.last]))[0][0])
        validation.refuse("ages", float(points.max()), f"at most {law.last:g}, where P(S > age) is {reached:.0e}")
    return GittinsIndex(*(values.reshape(points.shape) for values in index_of_law(law, points.ravel())))


def index_of_law(law: ServiceHazard, points: Floats) -> tuple[Floats, Floats, Floats]:
    """Index, quantum and error at ages that are known to be allowed, in any order."""
    if law.atoms:
        return atom_index(law).at(points)
    ages, back = np.unique(points, return_inverse=True)
    tail, _, index = law.curve(ages)
    quantum, error = np.zeros(ages.size), _rounding(tail)
    until = int(np.searchsorted(ages, law.falling_from))
    if until:
        index[:until], quantum[:until], error[:until] = _by_hulls(law, ages[:until])
    return index[back], quantum[back], error[back]


def _rounding(tail: Floats) -> Floats:
    """Relative error of densities and moments: of the special functions, and of their arguments far out."""
    return (16.0 - np.log(tail)) * float(np.finfo(float).eps)


def _chord(
    age: ArrayLike, quantum: ArrayLike, tail: ArrayLike, tail_end: ArrayLike, first: ArrayLike, first_end: ArrayLike
) -> tuple[Floats, Floats]:
    """P(a < S ≤ b) and E[min(S, b) − a ; S > a], numerator and denominator of J."""
    moments = {"tail_start": tail, "tail_end": tail_end, "first_start": first, "first_end": first_end}
    chord = compiled("mlptsym.symbolic.policies.gittins:chord_formula")(age=age, quantum=quantum, **moments)
    return chord.completed, chord.served


def _hull(
    served: Floats, completed: Floats, survived: Floats, edge_served: Floats, edge_completed: Floats, last: Integers
) -> None:
    """First edge of the majorant from the start of every edge of a polygon.

    An edge is what a job that has survived to its start meets in it: mean service, probability of completion and of
    survival.  Two edges are merged while the first is not steeper than the second; as every quantity is a sum of
    positive terms relative to the survivors, nothing cancels however far out in the tail.  A relative difference of
    slopes below `TIE` is rounding: the edges of a constant hazard are one.
    """
    top = served.size
    stacked = np.empty((top, 3))
    end = np.empty(top, np.int64)
    for cell in range(served.size - 1, -1, -1):
        a, f, r, e = served[cell], completed[cell], survived[cell], cell
        while top < served.size and f * stacked[top, 0] <= stacked[top, 1] * a * (1.0 + TIE):
            a += r * stacked[top, 0]
            f += r * stacked[top, 1]
            r *= stacked[top, 2]
            e = end[top]
            top += 1
        top -= 1
        stacked[top, 0], stacked[top, 1], stacked[top, 2], end[top] = a, f, r, e
        edge_served[cell], edge_completed[cell], last[cell] = a, f, e


_HULL_SIGNATURE = "void(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], int64[::1])"


def first_edges(served: Floats, completed: Floats, survived: Floats) -> tuple[Floats, Floats, Integers]:
    """Mean service and probability of completion in the first edge from each edge of a polygon, and its last edge."""
    edge_served, edge_completed, last = np.empty(served.size), np.empty(served.size), np.empty(served.size, np.int64)
    loop = machine_code(_hull, _HULL_SIGNATURE)
    loop(served, completed, survived, edge_served, edge_completed, last)
    return edge_served, edge_completed, last


@dataclass(frozen=True, eq=False)
class _Grid:
    """Ages in increasing order, with tail, first moment and hazard of S there."""

    law: ServiceHazard
    ages: Floats
    tail: Floats
    first: Floats
    hazard: Floats

    @classmethod
    def at(cls, law: ServiceHazard, ages: Floats) -> _Grid:
        return cls(law, ages, *law.curve(ages))

    def and_at(self, ages: Floats) -> _Grid:
        """The grid with some ages more."""
        more = np.setdiff1d(ages, self.ages)
        order = np.argsort(np.concatenate([self.ages, more]), kind="stable")
        old = (self.ages, self.tail, self.first, self.hazard)
        new = (more, *self.law.curve(more))
        return _Grid(self.law, *(np.concatenate(pair)[order] for pair in zip(old, new, strict=True)))


@dataclass(frozen=True, eq=False)
class _Hulls:
    """Cells of a grid and the majorants of its inner and outer polygon; arrays with one entry per cell.

    ``at_start`` and ``at_end`` are the one-sided hazards inside the cell; ``served`` and ``completed`` what a job that
    has survived to its start meets in it, and ``edge_served``, ``edge_completed``, ``last`` the same for the first edge
    of the inner majorant from there, and the cell where this ends.  ``bound`` is the slope of the outer majorant, and
    ``rounding`` the relative error of the inner one's.
    """

    grid: _Grid
    ends: Floats
    at_start: Floats
    at_end: Floats
    falling: Flags
    served: Floats
    completed: Floats
    edge_served: Floats
    edge_completed: Floats
    last: Integers
    bound: Floats
    rounding: Floats

    @classmethod
    def of(cls, grid: _Grid) -> _Hulls:
        law, starts, tail, first, at_start = grid.law, grid.ages, grid.tail, grid.first, grid.hazard
        ends = np.append(starts[1:], law.end)
        tail_end, first_end = np.append(tail[1:], 0.0), np.append(first[1:], 0.0)
        lengths = ends - starts
        finite = np.where(np.isfinite(lengths), lengths, 0.0)  # nobody survives the last cell: its length has no weight
        completed, served = _chord(starts, finite, tail, tail_end, first, first_end)
        # at ages far below E[S], moments differ by less than their rounding
        early = ends <= law.early
        local = early & law.near(starts, ends)
        completed[local], served[local] = law.integrated(starts[local], ends[local])

        falling = law.falling[np.searchsorted(law.breaks, starts, side="right") - 1]
        final = law.end if law.bounded else 1e6 * law.last
        at_end = np.append(at_start[1:], law.hazard_before(np.array([final])))
        at_end[np.searchsorted(ends, law.breaks[1:])] = law.hazard_before(law.breaks[1:])
        lowest = np.where(falling, np.minimum(at_start, at_end), at_start)
        highest = np.where(falling, at_start, np.maximum(at_start, at_end))

        survived = tail_end / tail
        with np.errstate(divide="ignore", invalid="ignore"):
            # where a cell is so short that differences are noise, the hazards at its ends know better
            served = np.clip(served / tail, finite * survived, lengths)
            completed = np.clip(completed / tail, lowest * served, highest * served)
            completed[-1] = 1.0
            served[-1] = np.clip(served[-1], 1.0 / highest[-1], 1.0 / lowest[-1])
        edge_served, edge_completed, last = first_edges(served, completed, survived)
        outer = _outer_polygon(served, completed, survived, at_start, lowest, falling)
        bound_served, bound_completed, _ = first_edges(*outer)
        with np.errstate(divide="ignore", over="ignore"):
            bound = (bound_completed / bound_served)[::2]
            noise = 1 / edge_completed + (first / tail + starts) / edge_served
        noise[early[last]] = 1.0
        rounding = _rounding(tail)
        within = np.divide(highest, lowest, out=np.full(last.size, math.inf), where=lowest > 0) - 1
        within[last > np.arange(last.size)] = math.inf
        rounding = np.minimum(rounding * noise, rounding + within)
        edges = (edge_served, edge_completed, last)
        return cls(grid, ends, at_start, at_end, falling, served, completed, *edges, bound, rounding)

    def way(self, cells: Integers, last: Integers, target: Integers) -> tuple[Floats, Floats]:
        """Completions and service of a job from the start of a cell through its first edge, to the start of ``target``.

        This is the last cell of the edge or the one that follows.
        """
        part = np.where(target == last, self.grid.tail[last] / self.grid.tail[cells], 0.0)
        completed = self.edge_completed[cells] - part * self.completed[last]
        return completed, self.edge_served[cells] - part * self.served[last]

    def from_ages(self, ages: Floats) -> tuple[Floats, Floats, Floats]:
        """Index, relative distance of the outer bound and rounding at some ages of the grid."""
        cells = np.searchsorted(self.grid.ages, ages)
        with np.errstate(divide="ignore"):
            slope = self.edge_completed[cells] / self.edge_served[cells]
        index = np.maximum(slope, self.at_start[cells])
        ratio = np.divide(self.bound[cells], index, out=np.ones(ages.size), where=np.isfinite(index))
        return index, ratio - 1, self.rounding[cells]


def _outer_polygon(
    served: Floats, completed: Floats, survived: Floats, at_start: Floats, at_end: Floats, falling: Flags
) -> tuple[Floats, Floats, Floats]:
    """Two edges per cell: the tangents at its ends where the hazard falls, else nothing and the chord."""
    first_served, first_completed = np.zeros(served.size), np.zeros(served.size)
    bent = falling & (at_start > at_end)
    bent[-1] = False
    start, end, a, f = at_start[bent], at_end[bent], served[bent], completed[bent]
    first_served[bent] = np.clip((f - end * a) / (start - end), 0.0, a)
    first_completed[bent] = np.clip(f - end * (a - first_served[bent]), 0.0, f)
    left = 1.0 - first_completed
    edges = np.empty((3, 2 * served.size))
    edges[:, ::2] = first_served, first_completed, left
    edges[:, 1::2] = (served - first_served) / left, (completed - first_completed) / left, survived / left
    if falling[-1]:  # beyond the grid: below the tangent at its end
        edges[0, -1] = min(edges[0, -1], 1.0 / at_start[-1])
    return edges[0], edges[1], edges[2]


def _by_hulls(law: ServiceHazard, ages: Floats) -> tuple[Floats, Floats, Floats]:
    """Hulls; then, until inner and outer slopes agree, the optima inside cells made points of the grid, and hulls."""
    hulls = _Hulls.of(_Grid.at(law, np.unique(np.concatenate([law.grid, law.breaks, ages]))))
    index, distance, rounding = hulls.from_ages(ages)
    quantum, pending, tangent = np.empty(ages.size), np.arange(ages.size), np.zeros(ages.size, dtype=bool)
    for _ in range(ROUNDS):
        quantum[pending], tangent[pending] = _quanta(hulls, ages[pending], index[pending])
        solved = pending[tangent[pending]]
        if not solved.size:
            break
        hulls = _Hulls.of(hulls.grid.and_at(ages[solved] + quantum[solved]))
        index, distance, rounding = hulls.from_ages(ages)
        pending = np.flatnonzero(distance > AGREEMENT)
    # a chord that is short against the age loses digits as a difference of moments, and as a sum of cells
    through = ages + quantum
    short = np.flatnonzero((quantum > 1e-12 * ages) & law.near(ages, through))
    if short.size:
        completed, served = law.integrated(ages[short], through[short])
        distance[short] += index[short] / (completed / served) - 1
        index[short], rounding[short] = completed / served, _rounding(law.curve(ages[short])[0])
    return index, quantum, np.maximum(distance, 0.0) + rounding


def _quanta(hulls: _Hulls, ages: Floats, index: Floats) -> tuple[Floats, Flags]:
    """Optimal quanta from some ages of the grid, and whether they end inside a cell."""
    cells = np.searchsorted(hulls.grid.ages, ages)
    last = hulls.last[cells]
    following = np.minimum(last + 1, hulls.ends.size - 1)
    quantum = hulls.ends[last] - ages
    # J(a, ·) is largest at the end of `last` among the ages of the grid; its slope has the sign of h − J
    back = np.isfinite(hulls.ends[last]) & hulls.falling[last] & (hulls.at_end[last] < index)
    ahead = ~back & (following > last) & hulls.falling[following] & (hulls.at_start[following] > index)
    quantum[back & (last == cells)] = 0.0
    quantum[ahead & np.isinf(hulls.ends[following])] = math.inf
    wanted = np.flatnonzero((back & (last > cells)) | (ahead & np.isfinite(hulls.ends[following])))
    tangent = np.zeros(ages.size, dtype=bool)
    if wanted.size:
        target = np.where(back, last, following)[wanted]
        low, high = hulls.grid.ages[target], hulls.ends[target]
        way = hulls.way(cells[wanted], last[wanted], target)
        found, through = _stationary(hulls.grid.law, ages[wanted], low, high, *way)
        tangent[wanted] = found
        quantum[wanted[found]] = (through - ages[wanted])[found]
    return quantum, tangent


def _stationary(
    law: ServiceHazard, ages: Floats, low: Floats, high: Floats, completed: Floats, served: Floats
) -> tuple[Flags, Floats]:
    """Ages b between low and high where h(b) = J(a, b − a), and whether there is one.

    ``completed`` and ``served`` are numerator and denominator of J on the way from a to low.
    """
    from scipy.optimize import elementwise

    def excess(
        through: Floats, age: Floats, tail: Floats, first: Floats, low: Floats, completed: Floats, served: Floats
    ) -> Floats:
        tail_end, first_end, hazard = law.curve(through)
        numerator, denominator = _chord(age, through - age, tail, tail_end, first, first_end)
        near = law.near(age, through)
        if near.any():
            numerator[near], denominator[near] = law.integrated(age[near], through[near])
        early = ~near & (through <= law.early) & law.near(low, through)
        if early.any():
            more = law.integrated(low[early], through[early])
            numerator[early], denominator[early] = completed[early] + more[0], served[early] + more[1]
        return hazard * denominator - numerator

    tail, first, _ = law.curve(ages)
    given = (ages, tail, first, low, completed * tail, served * tail)
    root = elementwise.find_root(excess, (low, high), args=given, tolerances={"xrtol": 1e-14})
    return root.success, root.x
