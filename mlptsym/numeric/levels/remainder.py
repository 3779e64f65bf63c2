"""What lies beyond the levels that are summed one by one: a proved bound for it, and its value by Euler–Maclaurin.

With infinitely many levels the first N are summed directly.  `remainder_bounds` bounds what the others add.  Where no
reasonable N makes it small (power-law tails, very small quanta), `continued_response_time` adds the levels beyond N
as integrals with end corrections: beyond ℓ_C and beyond the last kink of g every term is a smooth function of a real
level number.  A memory in steps is replaced there by a line, see `with_linear_memory`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from mlptsym.compile import compiled
from mlptsym.laws.base import SizeLaw
from mlptsym.memory.affine import AffineMemory
from mlptsym.numeric.levels.sums import LevelSums, LevelTotals
from mlptsym.numeric.model.queue import Queue

__all__ = [
    "Continued",
    "FarLevels",
    "Panels",
    "TailIntegrals",
    "continued_response_time",
    "far_levels",
    "first_levels",
    "is_continuable",
    "level_depth",
    "level_integral",
    "remainder_bounds",
    "with_linear_memory",
]

Floats = NDArray[np.float64]


# as many quanta at once as `level_depth` has room for, and a number of levels that stands for infinitely many
COLUMNS = 2**12
DEEPEST = 2.0**60


@dataclass(frozen=True)
class TailIntegrals:
    """∫_t^∞ u^n P(S > u) du for n = 0, 1, 2, and M_0 … M_3 at t."""

    moments: tuple[Floats, ...]
    mean: Floats
    first: Floats
    second: Floats

    @classmethod
    def at(cls, queue: Queue, t: Floats) -> TailIntegrals:
        """Integrals from t on, by parts from the upper partial moments of S."""
        moments = queue.service_moments(t)
        tail = moments[0]
        mean, first, second = (np.maximum(moments[n] - t**n * tail, 0.0) / n for n in range(1, 4))
        return cls(moments, mean, first, second)


def remainder_bounds(queue: Queue, quantum: Floats, totals: LevelTotals, end: Floats) -> tuple[Floats, Floats]:
    """Upper bounds of what the levels beyond t = Nθ add, for the sums of the first N of infinitely many equal levels.

    Parameters
    ----------
    queue : Queue
    quantum : array
        θ.
    totals : LevelTotals
        The sums over the first N levels.
    end : array
        t.

    Returns
    -------
    work, response_time : array
        What is missing in E[S^eff] and in E[T], at most; the latter is ``inf`` where the queue may be unstable.

    Notes
    -----
    A line i + s·u ≥ g(u) bounds the restore costs.  Each omitted sum is one of a non-increasing tail times a
    non-decreasing power, so its terms at t_r are bounded by integrals over (t_{r−1}, t_r) with the power one quantum
    later; the bounds are derived in `mlptsym.symbolic.mean.remainder.remainder`.
    """
    intercept, slope = queue.cost_line(quantum)
    work, times = compiled("mlptsym.symbolic.mean.remainder:remainder_formula", slope > 0)(
        arrival_rate=queue.arrival_rate,
        quantum=quantum,
        end=end,
        intercept=intercept,
        slope=slope,
        work=totals.effective_mean,
        squares=totals.squares,
        crossings=totals.crossings,
        weight=totals.weight,
        **{f"moment_{order}": moment for order, moment in enumerate(queue.service_moments(end))},
    )
    return work, np.where(queue.arrival_rate * (totals.effective_mean + work) < 1, times, np.inf)


def level_depth(queue: Queue, quanta: Floats, remainder: float) -> Floats:
    """Number of levels after which what is left of E[T], or of E[S^eff] if unstable, is below ``remainder`` of E[S].

    An estimate, usually too large, by the integrals of `remainder_bounds` on a grid of ages; close to the edge of
    stability it may be too small.
    """
    if math.isfinite(queue.size.upper_end):
        with np.errstate(over="ignore"):
            depth = np.ceil(float(queue.service_time(queue.size.upper_end)) / quanta * (1 + 1e-12))
        return depth.clip(1, DEEPEST)
    ages, tails = _tails_by_age(queue)
    with np.errstate(all="ignore"):  # what overflows is not small
        needed = [_least_age(queue, ages, tails, block, remainder) for block in _columns(quanta)]
        return np.ceil(np.concatenate(needed) / quanta).clip(4, DEEPEST)


def _columns(quanta: Floats) -> list[Floats]:
    """Quanta in parts for which there is room with a row for each age."""
    return np.split(quanta, range(COLUMNS, len(quanta), COLUMNS))


def _least_age(queue: Queue, ages: Floats, tails: TailIntegrals, quanta: Floats, remainder: float) -> Floats:
    """The least age beyond which little enough is left, for each quantum; ``inf`` if there is none."""
    mean, rate = queue.mean_service_time, queue.arrival_rate
    intercept, slope = queue.cost_line(quanta)
    tail, first, second, _ = tails.moments
    ahead, width = intercept + slope * quanta, quanta + intercept + slope * quanta
    spare = np.maximum(1 - queue.base_load, 1e-3)
    overhead = (ahead * tails.mean + (slope * tails.first if slope else 0.0)) / quanta
    squares = (width + slope * ages) ** 2 * tail + (
        width**2 * tails.mean + (2 * width * slope * tails.first + slope**2 * tails.second if slope else 0.0)
    ) / quanta
    before = first + (intercept * first + (slope * second / 2 if slope else 0.0)) / quanta
    rest = overhead + rate * (squares + mean * before + mean * (ages + slope * ages**2 / quanta) * tail) / spare**2
    # where the queue is unstable, by an integral from below, E[S^eff] is all that is asked for
    of_first = queue.service_moment(2) / 2 if slope else 0.0
    load = rate * (mean + ((intercept - slope * quanta) * mean + slope * of_first) / quanta - intercept)
    is_the_line = queue.memory.linear_from == queue.memory.lag == queue.unload_cost == 0
    unstable = (load > 1) & is_the_line
    small = np.where(unstable, overhead, rest) <= remainder * mean
    return np.where(small.any(axis=0), ages[np.argmax(small, axis=0), 0], np.inf)


@lru_cache(maxsize=64)
def _tails_by_age(queue: Queue) -> tuple[Floats, TailIntegrals]:
    """Ages at which `level_depth` looks, in a column, and what is left there."""
    ages = queue.mean_service_time * np.geomspace(1e-2, 1e12, 160)[:, None]
    return ages, TailIntegrals.at(queue, ages)


# Euler–Maclaurin over geometric panels

NODES = 20
PANEL_LENGTHS = math.log(4.0) / 2.0 ** (np.arange(18) / 2)
# logarithms of sizes over mean sizes at which a law is looked at, and coefficients that are nothing
REACH, UNRESOLVED = 40.0, 1e-14
NARROWEST = 3e-3
# parts of a third moment and of a sum that are nothing
NO_MOMENT, NOTHING = 1e-18, 1e-24
CONTINUED_FROM = 128
# end corrections B_{2i}/(2i)! of the Euler–Maclaurin formula (NIST DLMF 2.10.1)
CORRECTIONS = (1 / 12, -1 / 720, 1 / 30240)


@lru_cache(maxsize=1)
def _chebyshev() -> tuple[Floats, Floats, Floats]:
    """Nodes on [−1, 1], matrix of integrals from −1 to each node, and differentiation matrix.

    Trefethen, Spectral Methods in MATLAB (2000), ch. 6; the integrals are those of the interpolating polynomial.
    """
    nodes = -np.cos(np.pi * np.arange(NODES) / (NODES - 1))
    values = np.polynomial.chebyshev.chebvander(nodes, NODES - 1)
    integrals = np.empty((NODES, NODES))
    slopes = np.empty((NODES, NODES))
    for degree in range(NODES):
        unit = np.zeros(NODES)
        unit[degree] = 1.0
        integrals[:, degree] = np.polynomial.chebyshev.chebval(nodes, np.polynomial.chebyshev.chebint(unit, lbnd=-1))
        slopes[:, degree] = np.polynomial.chebyshev.chebval(nodes, np.polynomial.chebyshev.chebder(unit))
    inverse = np.linalg.inv(values)
    return nodes, integrals @ inverse, slopes @ inverse


@dataclass(frozen=True)
class Panels:
    """Real level numbers from N to very large, on panels of equal ratio with Chebyshev nodes in the logarithm.

    Values over them have the shape (…, panels, nodes) of ``level``.  Beyond the panels they go on as a power law, or
    are nothing.
    """

    level: Floats
    half: float
    power_law: bool

    @classmethod
    def starting_at(cls, first: float, last: float, length: float, *, power_law: bool) -> Panels:
        """Panels from a level number to at least another, each of a length in the logarithm."""
        return _panels(first, max(1, math.ceil(math.log(last / first) / length)), length / 2, power_law)

    @cached_property
    def _integrals(self) -> Floats:
        """∫ over each panel, as weights of the values at its nodes."""
        _, integrals, _ = _chebyshev()
        weights: Floats = self.half * integrals[-1] * self.level
        return weights

    @cached_property
    def _end_corrections(self) -> Floats:
        """v/2 + Σ B_{2i}/(2i)! d^{2i−1}v/dn^{2i−1} as a matrix from the values of a panel to those at its nodes."""
        _, _, slopes = _chebyshev()
        slope = slopes / self.half / self.level[:, :, None]
        derivative, total = slope, np.eye(NODES) / 2 + np.zeros_like(slope)
        for correction in CORRECTIONS:
            total += correction * derivative
            derivative = derivative @ slope @ slope
        return total

    @cached_property
    def _running_sums(self) -> Floats:
        """∫ from the start of a panel to each node and the end correction there: matrices for rows of values."""
        _, integrals, _ = _chebyshev()
        return (self.half * integrals * self.level[:, None, :] + self._end_corrections).swapaxes(-2, -1)

    def running_sum(self, values: Floats) -> Floats:
        """Σ of the values at whole levels after the first through each node's level, continued to real levels."""
        by_panel = np.moveaxis(values, -2, 0).reshape(len(self.level), -1, NODES)
        total: Floats = by_panel @ self._running_sums
        through = (by_panel @ self._integrals[:, :, None])[:-1]
        total[1:] += np.cumsum(through, axis=0)
        total -= total[:1, :, :1].copy()
        return np.moveaxis(total.reshape(len(self.level), *values.shape[:-2], NODES), 0, -2)

    def full_sum(self, values: Floats) -> Floats:
        """Σ of the values at all whole levels after the first."""
        total: Floats = np.einsum("...pn,pn->...", values, self._integrals)
        total = total - values[..., 0, :] @ self._end_corrections[0, 0]
        if not self.power_law:
            return total
        end, level = values[..., -1, -1], self.level[-1, -1]
        with np.errstate(all="ignore"):
            # in the logarithm of the level: dividing by the level itself may leave nothing
            power = -(values[..., -1, :] @ _chebyshev()[2][-1]) / self.half / end
            rest = np.where(power > 1, end * level / (power - 1), np.inf)
            # numbers so small have no digits to tell a power from
            nothing = np.abs(end) * level <= NOTHING * np.abs(total)
        sums: Floats = np.where(nothing, total, total + rest)
        return sums


@lru_cache(maxsize=16)
def _panels(first: float, count: int, half: float, power_law: bool) -> Panels:
    """Panels of twice a half length; what is computed for them is kept."""
    nodes, _, _ = _chebyshev()
    start = math.log(first) + 2 * half * np.arange(count)
    level = np.exp(start[:, None] + half * (nodes[None, :] + 1))
    level[0, 0] = first
    return Panels(level, half, power_law)


@lru_cache(maxsize=1)
def _gauss() -> tuple[Floats, Floats]:
    # a level beyond N = 128 is so short beside its age that three points give every digit
    nodes, weights = np.polynomial.legendre.leggauss(3)
    return (nodes + 1) / 2, weights / 2


def level_integral(integrands: Callable[[Floats], tuple[Floats, ...]]) -> tuple[Floats, ...]:
    """Integrals over a level, from functions of the part of it, by Gauss–Legendre.

    Far out, differences of moments would lose all digits.
    """
    nodes, weights = _gauss()
    return tuple(values @ weights for values in integrands(nodes))


@dataclass(frozen=True)
class FarLevels:
    """Theorem 4.5 at real level numbers beyond those that are summed one by one, for m quanta."""

    panels: Panels  # The level numbers; arrays over them have the shape (m, panels, nodes)
    cost_slope: float  # dc/dt, constant there
    # p, E[Y] and E[Y²] of a level
    probability: Floats
    piece_mean: Floats
    piece_square: Floats
    # Their derivatives in θ
    probability_slope: Floats
    piece_mean_slope: Floats
    piece_square_slope: Floats
    # a, E[X] and Σ a E[Y], as in `LevelSums`
    before: Floats
    work: Floats
    crossings: Floats
    # E[S^eff] and Σ E[Y_r²] of all levels, near and far
    effective_mean: Floats
    squares: Floats


def with_linear_memory(queue: Queue, part: float = 0.5) -> Queue:
    """The queue itself, or where g does not become linear one whose g is the line that much of its lag below the top.

    With a part of 0 and of 1 this bounds restore costs from above and from below.
    """
    memory = queue.memory
    if memory.lag == 0:
        return queue
    intercept, slope = memory.line
    line = AffineMemory(intercept - part * memory.lag, slope)
    threshold, factor = queue.slowdown_threshold, queue.slowdown_factor
    return Queue(queue.size, queue.arrival_rate, threshold, factor, queue.preemption_cost, line)


def far_levels(queue: Queue, quanta: Floats, sums: LevelSums) -> FarLevels:
    """`FarLevels` after the N levels of ``sums``, N at least that of `first_levels`; memory must be linear there."""
    first = float(len(sums.probability))
    last = max(_last_level(queue, float(quanta.min())), 4 * first)
    power_law = math.isfinite(queue.size.moment_limit)
    panels = Panels.starting_at(first, last, _panel_length(queue.size), power_law=power_law)
    theta = quanta[:, None, None]
    start = (panels.level - 1) * theta
    cost = queue.restore_cost(start)
    cost_slope = queue.preemption_cost * float(queue.memory.slope_at(start[0, -1, -1]))
    start_tail, start_density, _ = _service_law(queue, start)

    def integrands(fraction: Floats) -> tuple[Floats, ...]:
        tail, density, slope = _service_law(queue, start[..., None] + theta[..., None] * fraction)
        return tuple(
            compiled("mlptsym.symbolic.mean.level_integrals:piece_formula")(
                quantum=theta[..., None],
                number=panels.level[..., None],
                fraction=fraction,
                cost=cost[..., None],
                cost_slope=cost_slope,
                tail=tail,
                density=density,
                density_slope=slope,
                start_tail=start_tail[..., None],
                start_density=start_density[..., None],
            )
        )

    probability, piece_mean, piece_square, *slopes = level_integral(integrands)
    before = start + _running_cost(sums.before, quanta, cost, panels.level)
    work, crossings = panels.running_sum(np.stack([piece_mean, before * piece_mean]))
    all_work, squares = panels.full_sum(np.stack([piece_mean, piece_square]))
    work_here = sums.work[-1]
    return FarLevels(  # type: ignore[call-arg]  # the slopes are five
        panels,
        cost_slope,
        probability,
        piece_mean,
        piece_square,
        *slopes,
        before,
        work_here[:, None, None] + work,
        sums.crossings[-1][:, None, None] + crossings,
        work_here + all_work,
        sums.squares + squares,
    )


def _service_law(queue: Queue, attained: Floats) -> tuple[Floats, Floats, Floats]:
    """Tail, density and its derivative of S beyond q(ℓ_C), for a smooth size law."""
    size, (_, factor) = queue.size, queue.slowdown
    x = queue.size_at(attained)
    tail, density, slope = size.evaluate("smooth", x)
    there = tail > 0
    return tail, np.where(there, density * factor, 0.0), np.where(there, slope * factor**2, 0.0)


def _running_cost(before: Floats, quanta: Floats, cost: Floats, level: Floats) -> Floats:
    """c_1 + … + c_{n−2}, exactly: costs are linear in the level from the first far level on."""
    first = level[0, 0]
    steps = level - first
    paid = (before[-1] - quanta * (first - 1))[:, None, None]
    growth = (cost[..., -1:, -1:] - cost[..., :1, :1]) / steps[-1, -1]
    running: Floats = paid + steps * cost[..., :1, :1] + growth * steps * (steps - 1) / 2
    return running


def _spread(size: SizeLaw) -> float:
    """Standard deviation over mean, which is about the standard deviation of the logarithm where it is small."""
    return math.sqrt(max(size.moment(2) / size.mean**2 - 1, 0.0))


@lru_cache(maxsize=64)
def _panel_length(size: SizeLaw) -> float:
    """The longest of some lengths of panels on which the nodes resolve the law."""
    lengths: list[float] = PANEL_LENGTHS.tolist()
    return next((length for length in lengths if _is_resolved(size, length)), lengths[-1])


def _is_resolved(size: SizeLaw, length: float) -> bool:
    """Whether the last Chebyshev coefficients of what makes up first and third moments vanish on panels of a length."""
    nodes, _, _ = _chebyshev()
    starts = math.log(size.mean) + np.arange(-REACH, REACH, length)
    x = np.exp(starts[:, None] + length * (nodes + 1) / 2)
    with np.errstate(all="ignore"):
        tail, density, slope = size.evaluate("smooth", x)
        values = np.stack([x**order * part for order in (1, 3) for part in (tail, x * density, x**2 * slope)])
        values /= np.abs(values).max(axis=(1, 2), keepdims=True)
    to_last = np.linalg.inv(np.polynomial.chebyshev.chebvander(nodes, NODES - 1))[-2:]
    return bool((np.abs(values @ to_last.T) <= UNRESOLVED).all())


def is_continuable(size: SizeLaw) -> bool:
    """Whether `far_levels` resolves the law: smooth, and not so narrow that the panels would be too many."""
    return size.smooth and _spread(size) > NARROWEST


def _last_level(queue: Queue, quantum: float) -> float:
    """Where the panels end: beyond it the terms of a power-law tail are powers, any other tail is nothing.

    Of Σ p_j d_j, the terms fall like n^−s for a shape s and bounded costs, faster otherwise, and the next power in them
    is smaller by n^(1−s).  What the continuation by one power gets wrong is the product of the two, n^(2−2s).
    """
    if math.isfinite(queue.size.moment_limit):
        return 10 ** min(max(8 / (queue.size.moment_limit - 1), 20.0), 120.0) * max(
            queue.mean_service_time / quantum, 1.0
        )
    return _without_third_moment(queue) / quantum


@lru_cache(maxsize=64)
def _without_third_moment(queue: Queue) -> float:
    """Attained service beyond which nothing is left of E[S³]."""
    ages = queue.mean_service_time * 2.0 ** np.arange(0.0, 600.0)
    third = queue.service_moments(ages)[3]
    return float(ages[np.argmax(~(third > NO_MOMENT * queue.service_moment(3)))])


def first_levels(queue: Queue, quanta: Floats) -> Floats:
    """How many levels to sum one by one, for each quantum, before `far_levels` may begin."""
    least = math.ceil(CONTINUED_FROM * max(1.0, math.log(2.0) / _panel_length(queue.size)))
    threshold = float(queue.service_time(queue.slowdown[0]))
    linear_from = max(threshold, queue.memory.linear_from if queue.preemption_cost > 0 else 0.0)
    levels: Floats = np.maximum(least, np.ceil(linear_from / quanta) + 2)
    return levels


@dataclass(frozen=True)
class Continued:
    """E[T], E[S^eff] and Σ_r E[Y_r²] over infinitely many levels."""

    mean_response_time: float
    effective_mean: float
    squares: float


def continued_response_time(queue: Queue, quantum: float, sums: LevelSums) -> Continued:
    """E[T] with infinitely many equal quanta: the levels of ``sums`` one by one, all others by Euler–Maclaurin.

    Parameters
    ----------
    queue : Queue
        With a smooth size law.
    quantum : float
        θ.
    sums : LevelSums
        The first N levels (one column), N from `first_levels`.

    Returns
    -------
    Continued
        E[T] is ``inf`` if the effective load reaches one.

    Notes
    -----
    Relative error below 1e-9 for shapes at least 0.05 above the last infinite moment, as measured against 50-digit
    sums; usually below 1e-12.
    """
    far = far_levels(queue, np.array([quantum]), sums)
    weight, offset = compiled("mlptsym.symbolic.mean.response:waiting_formula")(
        arrival_rate=queue.arrival_rate,
        work_before=far.work - far.piece_mean,
        work=far.work,
        before=far.before,
        crossings=far.crossings,
    )
    near_weight, near_offset = ((sums.probability * part).sum(axis=0) for part in (sums.weight, sums.offset))
    waiting = far.squares * (near_weight + far.panels.full_sum(far.probability * weight))
    waiting += near_offset + far.panels.full_sum(far.probability * offset)
    effective = float(far.effective_mean[0])
    stable = queue.arrival_rate * effective < 1
    return Continued(effective + float(waiting[0]) if stable else math.inf, effective, float(far.squares[0]))
