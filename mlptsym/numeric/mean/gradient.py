"""E[T] with its exact derivatives: in every boundary between levels, and in a common quantum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.compile import compiled
from mlptsym.numeric.levels.remainder import (
    FarLevels,
    far_levels,
    first_levels,
    is_continuable,
    level_depth,
    with_linear_memory,
)
from mlptsym.numeric.levels.sums import LevelSums, level_sums
from mlptsym.numeric.mean.response import LEVEL_LIMIT, moments_needed
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.saturation import SLOPE, refuse_saturated

__all__ = ["QuantumSlopes", "ResponseGradient", "quantum_slopes", "response_gradient"]

Floats = NDArray[np.float64]

# how far off a boundary a one-sided density or slope is taken, in parts of it: more than the rounding of r · θ
ONE_SIDED = 1e-14
BLOCK_CELLS = 2**15
# beyond so many levels, the rest of them at once; it is as much work as about so many more
CONTINUED_BEYOND = 512
FAR_CELLS = 512
REMAINDER = 1e-15


def _service_density(queue: Queue, attained: Floats) -> Floats:
    """Density of S between its point masses."""
    x = queue.size_at(attained)
    density = queue.size.density(x)
    threshold, factor = queue.slowdown
    between = np.where(np.isfinite(density), density, 0.0)
    function = compiled("mlptsym.symbolic.mean.gradient:density_formula")
    found: Floats = function(x=x, threshold=threshold, factor=factor, density=between).density
    return found


def _cost_slope(queue: Queue, attained: Floats) -> Floats:
    return queue.preemption_cost * queue.memory.slope_at(attained)


def _shifted(boundaries: Floats, side: str) -> Floats:
    return boundaries * (1 + ONE_SIDED if side == "right" else 1 - ONE_SIDED)


# every boundary by itself


@dataclass(frozen=True)
class ResponseGradient:
    """E[T] with its derivatives; one column for each set of boundaries.

    Attributes
    ----------
    mean_response_time : array, shape (m,)
        E[T] of the levels that are here; ``inf`` where they are unstable.
    slopes : array, shape (n, m)
        ∂E[T]/∂t_r with the other boundaries held fixed; NaN where unstable.
    effective_load : array, shape (m,)
        ρ^eff of the levels that are here.
    """

    mean_response_time: Floats
    slopes: Floats
    effective_load: Floats


def response_gradient(
    queue: Queue, boundaries: ArrayLike, *, closed: bool = True, side: str = "right"
) -> ResponseGradient:
    """E[T] and its gradient in the boundaries t_1 < … < t_n, by one backward pass over the levels.

    Parameters
    ----------
    queue : Queue
        Where the size law has point masses, the derivative is that between them.
    boundaries : array, shape (n, m)
        One set of boundaries a column: increasing numbers > 0.
    closed : bool
        As in `level_sums`: whether a last level serves to completion. If not, value and gradient are those of the
        sums over the first n of infinitely many levels.
    side : {"right", "left"}
        Which one-sided derivative to give where E[T] has a kink, as at ℓ_C.

    Returns
    -------
    ResponseGradient

    Raises
    ------
    ParameterError
        If the boundaries are not such an array, or E[T] is infinite whatever they are.
    SaturationError
        If 1 − 1e-8 < ρ^eff < 1 for one of the columns: the error, 1e-14/(1 − ρ^eff) of the largest terms of a slope at
        most, would be above 1e-6.

    Notes
    -----
    The gradient in quanta θ_r = t_r − t_{r−1} is the reverse cumulative sum of the slopes.  The derivation is that of
    `mlptsym.symbolic.mean.gradient.boundary_slope`.

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> queue = Queue(Exponential(1.0), arrival_rate=0.5, preemption_cost=0.1)
    >>> gradient = response_gradient(queue, np.array([[1.0], [2.0]]))
    >>> above, below = (response_gradient(queue, np.array([[1.0], [2.0 + step]])) for step in (1e-6, -1e-6))
    >>> difference = (above.mean_response_time - below.mean_response_time) / 2e-6
    >>> bool(abs(gradient.slopes[1] - difference) < 1e-8)
    True
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    queue.refuse_unloading("slopes of E[T]")
    validation.choice("side", side, ("left", "right"))
    closed = validation.flag("closed", closed)
    boundaries = floats("boundaries", boundaries, above=0, finite=True)
    if boundaries.ndim != 2 or not len(boundaries) or (np.diff(boundaries, axis=0) < 0).any():
        validation.refuse(
            "boundaries", boundaries, "an array of two dimensions whose columns are increasing numbers > 0"
        )
    if not queue.size.moment_limit > moments_needed(queue, 2 if closed else math.inf):
        validation.refuse("queue", queue, "one with a finite mean response time, for a gradient")
    found = one_sided_gradient(queue, boundaries, np.full(boundaries.shape, side == "right"), closed=closed)
    refuse_saturated(queue, found.effective_load, SLOPE)
    return found


def one_sided_gradient(
    queue: Queue, boundaries: Floats, right: NDArray[np.bool_], *, closed: bool = True
) -> ResponseGradient:
    """`response_gradient` of arguments that are known to be right, each derivative on a side of its own.

    For searches: next to a load of one values have as many digits as are left.
    """
    with np.errstate(all="ignore"):  # unstable columns are replaced below
        sums = level_sums(queue, boundaries, closed=closed)
        slopes = _boundary_slopes(queue, boundaries, sums, right, closed=closed)
        times = sums.mean_response_time()
    load = queue.arrival_rate * sums.effective_mean
    stable = load < 1
    return ResponseGradient(np.where(stable, times, np.inf), np.where(stable, slopes, np.nan), load)


def _boundary_slopes(
    queue: Queue, boundaries: Floats, sums: LevelSums, right: NDArray[np.bool_], *, closed: bool
) -> Floats:
    count, columns = boundaries.shape
    zero = np.zeros((1, columns))
    work_before = np.concatenate([zero, sums.work[:-1]])
    parts = compiled("mlptsym.symbolic.mean.gradient:waiting_adjoints_formula")(
        arrival_rate=queue.arrival_rate,
        work_before=work_before,
        work=sums.work,
        before=sums.before,
        squares=sums.squares,
        crossings=sums.crossings,
    )
    by_work_before, by_work, by_before, by_crossings = (sums.probability * part for part in parts)
    piece = _piece_means(sums)
    crossing_adjoint = _from_here_on(by_crossings)
    piece_adjoint = 1 + _from_here_on(by_work) + _from_here_on(by_work_before) - by_work_before
    piece_adjoint += sums.before * crossing_adjoint
    before_adjoint = crossing_adjoint * piece + by_before
    square_adjoint = (sums.probability * sums.weight).sum(axis=0)

    # one row a boundary; beyond the levels that are here nothing has an adjoint and nothing is paid
    cost = sums.cost[1:] if closed else np.concatenate([sums.cost[1:-1], zero])
    waiting, piece_adjoint, before_adjoint, later, piece = (
        np.concatenate([rows, zero, zero])
        for rows in (sums.waiting(), piece_adjoint, before_adjoint, _from_here_on(before_adjoint), piece)
    )
    here, following, second = (slice(step, step + count) for step in range(3))
    shifted = np.where(right, _shifted(boundaries, "right"), _shifted(boundaries, "left"))
    slopes: Floats = compiled("mlptsym.symbolic.mean.gradient:boundary_formula")(
        start=np.concatenate([zero, boundaries[:-1]]),
        here=boundaries,
        cost_before=sums.cost[:-1],
        cost=cost,
        cost_slope=_cost_slope(queue, shifted),
        tail=sums.tail[1:],
        density=_service_density(queue, shifted),
        waiting=waiting[here],
        waiting_next=waiting[following],
        piece_adjoint=piece_adjoint[here],
        piece_adjoint_next=piece_adjoint[following],
        square_adjoint=square_adjoint,
        before_adjoint=before_adjoint[following],
        later_adjoint=later[second],
        piece_next=piece[following],
    ).slope
    return slopes


def _from_here_on(rows: Floats) -> Floats:
    """Sum of each row and all that follow."""
    sums: Floats = np.cumsum(rows[::-1], axis=0)[::-1]
    return sums


def _piece_means(sums: LevelSums) -> Floats:
    """E[Y_j]."""
    after = np.concatenate([sums.excess[1:], np.zeros((1, sums.excess.shape[1]))])
    means: Floats = (sums.cost * sums.tail + sums.excess - after)[: len(sums.probability)]
    return means


# a common quantum


@dataclass(frozen=True)
class QuantumSlopes:
    """E[T], dE[T]/dθ and ρ^eff, one value for each quantum; ``inf``, NaN and a load where unstable or infinite."""

    mean_response_time: Floats
    slope: Floats
    effective_load: Floats


def quantum_slopes(queue: Queue, quanta: ArrayLike, levels: float, *, remainder: float = REMAINDER) -> QuantumSlopes:
    """E[T] and its derivative in the common quantum θ; the derivative from the right at a kink.

    Parameters
    ----------
    queue : Queue
        Where the size law has point masses, the derivative is that between them.
    quanta : array, shape (m,)
        Values of θ, in units of service time.
    levels : int or inf
        k.
    remainder : float
        For k = ∞, and for a k beyond the reach of the law, what may be left out of the sum over levels, relative to
        E[T]: an estimate, not a bound.  Where this takes many levels the rest is added by an Euler–Maclaurin formula.

    Returns
    -------
    QuantumSlopes

    Raises
    ------
    ParameterError
        If a value is outside its range, or a quantum so small that more than 2²² levels would have to be summed.
    SaturationError
        If 1 − 1e-8 < ρ^eff < 1 for one of the quanta, as for `response_gradient`.

    Examples
    --------
    >>> from mlptsym import LogNormal
    >>> queue = Queue(LogNormal(5, 0.9), 0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39, preemption_cost=0.1)
    >>> quantum_slopes(queue, np.array([600.0, 750.0]), math.inf).slope.round(4).tolist()
    [-0.2499, 0.0488]
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    queue.refuse_unloading("slopes of E[T]")
    levels = validation.levels("levels", levels, at_least=2)
    remainder = validation.number("remainder", remainder, above=0, below=1)
    quanta = floats("quanta", quanta, above=0, finite=True)
    if quanta.ndim != 1:
        validation.refuse("quanta", quanta, "a sequence of numbers > 0")
    found = searched_slopes(queue, quanta, levels, remainder)
    if queue.size.moment_limit > moments_needed(queue, levels):
        refuse_saturated(queue, found.effective_load, SLOPE)
    return found


def searched_slopes(queue: Queue, quanta: Floats, levels: float, remainder: float = REMAINDER) -> QuantumSlopes:
    """`quantum_slopes` of arguments that are known to be right, for searches.

    Next to a load of one values have as many digits as are left.
    """
    # a quantum that nobody outlives is as good as any longer one
    quanta = np.minimum(quanta, queue.furthest)
    times, slopes, loads = (np.full(len(quanta), value) for value in (np.inf, np.nan, np.nan))
    if not queue.size.moment_limit > moments_needed(queue, levels):
        return QuantumSlopes(times, slopes, loads)
    depth, closed = np.full(len(quanta), levels - 1), np.full(len(quanta), levels < math.inf)
    if levels > CONTINUED_BEYOND:
        needed = level_depth(queue, quanta, remainder)
        closed = needed > levels - 1
        depth = np.minimum(depth, needed)
    continued = ~closed & (depth > CONTINUED_BEYOND) & (levels == math.inf)
    continued &= continued.any() and is_continuable(queue.size)
    deepest = np.where(continued, 0.0, depth)
    if deepest.max(initial=0.0) > LEVEL_LIMIT:
        least = quanta[np.argmax(deepest)] * deepest.max() / LEVEL_LIMIT
        allowed = f"at least {least:.3g} here (at most {LEVEL_LIMIT} levels are summed)"
        validation.refuse("quanta", float(quanta[np.argmax(deepest)]), allowed)
    with np.errstate(all="ignore"):  # unstable columns are replaced below
        if continued.any():
            first = first_levels(queue, quanta)
            for block in _blocks(first + FAR_CELLS, np.flatnonzero(continued)):
                times[block], slopes[block], loads[block] = _continued(queue, quanta[block], first[block].max())
        for group in (closed, ~closed & ~continued):
            for block in _blocks(depth, np.flatnonzero(group)):
                rows = np.arange(1.0, depth[block].max() + 1)[:, None]
                found = _direct(queue, rows * quanta[block], bool(closed[block[0]]))
                times[block], slopes[block], loads[block] = found
    stable = loads < 1
    return QuantumSlopes(np.where(stable, times, np.inf), np.where(stable, slopes, np.nan), loads)


def _blocks(depth: Floats, indices: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Quanta of similar depth together, so many at a time that the arrays stay in the cache."""
    pending = indices[np.argsort(depth[indices], kind="stable")]
    while len(pending):
        cells = depth[pending] * np.arange(1, len(pending) + 1)
        width = max(1, int(np.searchsorted(cells, BLOCK_CELLS, side="right")))
        yield pending[:width]
        pending = pending[width:]


@dataclass(frozen=True)
class _Slopes:
    """Derivatives in θ of p_j, E[X_j], a_{j−1} and Z_j, one row a level, and of Q = Σ E[Y_r²]."""

    probability: Floats
    piece_mean: Floats
    work: Floats
    before: Floats
    crossings: Floats
    squares: Floats


def _near_slopes(queue: Queue, boundaries: Floats, sums: LevelSums) -> _Slopes:
    """Forward pass over levels whose boundaries are t_r = rθ."""
    count, columns = boundaries.shape
    rows = len(sums.probability)
    zero = np.zeros((1, columns))
    number = np.arange(count + 1.0)[:, None]
    edges, shifted = np.concatenate([zero, boundaries]), _shifted(boundaries, "right")
    density = np.concatenate([zero, _service_density(queue, shifted)])
    cost_slope = np.concatenate([zero, _cost_slope(queue, shifted)])
    piece = _piece_means(sums)
    steps = compiled("mlptsym.symbolic.mean.gradient:level_slopes_formula", False)(
        start=edges[:-1],
        end=edges[1:],
        start_slope=number[:-1],
        end_slope=number[1:],
        cost=sums.cost[:-1],
        cost_slope=cost_slope[:-1],
        tail_start=sums.tail[:-1],
        tail_end=sums.tail[1:],
        density_start=density[:-1],
        density_end=density[1:],
        piece=piece[:count],
    )
    if rows > count:
        final = compiled("mlptsym.symbolic.mean.gradient:level_slopes_formula", True)(
            start=edges[-1],
            end=0.0,
            start_slope=number[-1],
            end_slope=0.0,
            cost=sums.cost[-1],
            cost_slope=cost_slope[-1],
            tail_start=sums.tail[-1],
            tail_end=0.0,
            density_start=density[-1],
            density_end=0.0,
            piece=piece[-1],
        )
        steps = tuple(np.concatenate([step, row[None]]) for step, row in zip(steps, final, strict=True))
    probability, piece_mean, piece_square = steps
    before = number[:rows] + zero
    before[1:] += np.cumsum((number * cost_slope)[: rows - 1], axis=0)
    crossing = before * piece + sums.before * piece_mean
    return _Slopes(
        probability,
        piece_mean,
        np.cumsum(piece_mean, axis=0),
        before,
        np.cumsum(crossing, axis=0),
        piece_square.sum(axis=0),
    )


def _near_waiting_slope(
    queue: Queue, sums: LevelSums, slopes: _Slopes, squares: Floats, squares_slope: Floats
) -> Floats:
    """Derivative of Σ_j p_j d_j over the levels of ``sums``, for Q and its derivative over all levels."""
    zero = np.zeros((1, sums.work.shape[1]))
    waiting, waiting_slope = compiled("mlptsym.symbolic.mean.gradient:waiting_slope_formula")(
        arrival_rate=queue.arrival_rate,
        work_before=np.concatenate([zero, sums.work[:-1]]),
        work=sums.work,
        before=sums.before,
        squares=squares,
        crossings=sums.crossings,
        work_before_slope=np.concatenate([zero, slopes.work[:-1]]),
        work_slope=slopes.work,
        before_slope=slopes.before,
        squares_slope=squares_slope,
        crossings_slope=slopes.crossings,
    )
    slope: Floats = (slopes.probability * waiting + sums.probability * waiting_slope).sum(axis=0)
    return slope


def _direct(queue: Queue, boundaries: Floats, closed: bool) -> tuple[Floats, Floats, Floats]:
    """E[T], dE[T]/dθ and ρ^eff of the levels that are here."""
    sums = level_sums(queue, boundaries, closed=closed)
    slopes = _near_slopes(queue, boundaries, sums)
    slope = slopes.work[-1] + _near_waiting_slope(queue, sums, slopes, sums.squares, slopes.squares)
    return sums.mean_response_time(), slope, queue.arrival_rate * sums.effective_mean


def _continued(queue: Queue, quanta: Floats, rows: float) -> tuple[Floats, Floats, Floats]:
    """E[T], dE[T]/dθ and ρ^eff for k = ∞ with the levels beyond the first few by Euler–Maclaurin."""
    boundaries = np.arange(1.0, rows + 1)[:, None] * quanta
    sums = level_sums(queue, boundaries, closed=False)
    near = _near_slopes(queue, boundaries, sums)
    far = far_levels(with_linear_memory(queue), quanta, sums)
    panels = far.panels
    work, before, crossings = _far_slopes(near, far)
    work_slope, squares_slope = panels.full_sum(np.stack([far.piece_mean_slope, far.piece_square_slope]))
    work_slope += near.work[-1]
    squares_slope += near.squares
    waiting, waiting_slope = compiled("mlptsym.symbolic.mean.gradient:waiting_slope_formula")(
        arrival_rate=queue.arrival_rate,
        work_before=far.work - far.piece_mean,
        work=far.work,
        before=far.before,
        squares=far.squares[:, None, None],
        crossings=far.crossings,
        work_before_slope=work - far.piece_mean_slope,
        work_slope=work,
        before_slope=before,
        squares_slope=squares_slope[:, None, None],
        crossings_slope=crossings,
    )
    beyond_slope = far.probability_slope * waiting + far.probability * waiting_slope
    beyond, beyond_slope = panels.full_sum(np.stack([far.probability * waiting, beyond_slope]))
    times = far.effective_mean + (sums.probability * sums.waiting(far.squares)).sum(axis=0) + beyond
    slopes = work_slope + _near_waiting_slope(queue, sums, near, far.squares, squares_slope) + beyond_slope
    return times, slopes, queue.arrival_rate * far.effective_mean


def _far_slopes(near: _Slopes, far: FarLevels) -> tuple[Floats, Floats, Floats]:
    """Derivatives in θ of E[X], a and Z at the real level numbers of ``far``."""
    level, panels = far.panels.level, far.panels
    first = level[0, 0]
    # c_r is r dc/dt for each unit of θ, and dc/dt is constant from here on
    steps, rate = level - first, far.cost_slope
    paid = (near.before[-1] - (first - 1))[:, None, None] + rate * steps * (first - 1 + (steps - 1) / 2)
    before = level - 1 + paid
    crossing = before * far.piece_mean + far.before * far.piece_mean_slope
    work, crossings = panels.running_sum(np.stack([far.piece_mean_slope, crossing]))
    return near.work[-1][:, None, None] + work, before, near.crossings[-1][:, None, None] + crossings
