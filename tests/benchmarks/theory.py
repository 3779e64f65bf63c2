"""E[T], its gradient, the best quantum and the Gittins index against direct ways to the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numba
import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy import special

import mlptsym as mq
from benchmarks.measure import Row, race, row
from mlptsym.laws import size_laws
from mlptsym.numeric.gittins.index import first_edges, gittins_index
from mlptsym.numeric.levels.remainder import remainder_bounds
from mlptsym.numeric.levels.sums import level_sums
from mlptsym.numeric.mean.gradient import response_gradient
from mlptsym.numeric.mean.response import REMAINDER
from mlptsym.symbolic.algebra.symbols import (
    arrival_rate,
    boundary,
    cost,
    preemption_cost,
    quantum,
    size,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.mean.response import mean_response_time as symbolic_response_time
from mlptsym.symbolic.model.moments import UpperMoment
from mlptsym.symbolic.model.service import service_time_inverse, service_upper_moment
from mlptsym.symbolic.model.size_law import point

Floats = NDArray[np.float64]

LAW = mq.LogNormal(5, 0.9)
QUEUE = mq.Queue(LAW, 0.0036, 6 * LAW.mean, slowdown_factor=0.39, preemption_cost=0.1)
BLOCK = 4096


def rows() -> Iterator[Row]:
    """Every row."""
    for levels in (2, 5, 10):
        for count in (1, 1_000, 10**5, 10**6):
            yield from finite_levels(levels, count)
    yield infinite_levels()
    yield best_quantum()
    yield gradient()
    yield from gittins()


# E[T] over many quanta -----------------------------------------------------------------------------------------------


def finite_levels(levels: int, count: int) -> Iterator[Row]:
    """E[T] over many quanta, against lambdify as it is, NumPy by hand, and the erfc calls alone."""
    quanta = np.linspace(0.3 * LAW.mean, 20 * LAW.mean, count) if count > 1 else np.array([3 * LAW.mean])
    policy = mq.MLPT(quantum=quanta if count > 1 else float(quanta[0]), levels=levels)
    straight = straight_lambdify(levels)
    arguments = erfc_arguments(np.arange(1.0, levels)[:, None] * quanta)
    ours = np.atleast_1d(mq.mean_response_time(QUEUE, policy))
    stable = np.isfinite(ours)
    for other in (straight(quanta), by_hand(QUEUE, quanta, levels)):
        np.testing.assert_allclose(other[stable], ours[stable], rtol=1e-10)
    loops = max(1, 20_000 // count)
    times = race(
        {
            "ours": lambda: [mq.mean_response_time(QUEUE, policy) for _ in range(loops)],
            "by hand": lambda: [by_hand(QUEUE, quanta, levels) for _ in range(loops)],
            "erfc": lambda: [special.erfc(block) for _ in range(loops) for block in arguments],
        }
    )
    times["straight"] = race({"straight": lambda: [straight(quanta) for _ in range(loops)]}, 1)["straight"]
    work = f"E[T] over {count:,} quanta, k = {levels}" if count > 1 else f"E[T], k = {levels}"
    yield row(work, "lambdify(cse=False)", times, "ours", "straight", None)
    yield row(work, "NumPy by hand, in the same blocks", times, "ours", "by hand", None)
    note = f"{times['ours'] / loops:.3g} s; three erfc calls a boundary, as many as moments of order 0, 1, 2 take"
    yield row(work, "the erfc calls alone (SciPy)", times, "ours", "erfc", None, note)


def straight_lambdify(levels: int) -> Callable[[Floats], Floats]:
    """Theorem 4.5 with the moments of the log-normal law put in, by lambdify as it comes."""
    law = size_laws()["LogNormal"].formulas()
    x = sp.Dummy("x", positive=True)

    def moment(order: int, at: sp.Expr) -> sp.Expr:
        return sp.Piecewise((law.moment(order), at <= 0), (law.closed_moment(order).subs(point, at), True))

    def of_size(expression: sp.Expr) -> sp.Expr:
        return expression.replace(lambda e: isinstance(e, UpperMoment), lambda e: moment(e.args[0], e.args[1]))

    def of_service(order: int, at: sp.Expr) -> sp.Expr:
        if at.is_zero:
            return of_size(service_upper_moment(order, sp.S.Zero, slowed=False))
        place = service_time_inverse(at)
        fast, slow = (of_size(service_upper_moment(order, x, slowed=slowed)).subs(x, place) for slowed in (False, True))
        return sp.Piecewise((fast, place <= slowdown_threshold), (slow, True))

    total = symbolic_response_time(levels)
    total = total.subs({cost[r]: preemption_cost * boundary[r] for r in range(1, levels)})
    total = total.subs({boundary[r]: r * quantum for r in range(1, levels)})
    total = total.replace(lambda e: isinstance(e, UpperMoment) and not e.has(size), lambda e: of_service(*e.args[:2]))
    threshold, factor = QUEUE.slowdown
    numbers = {slowdown_threshold: threshold, slowdown_factor: factor, preemption_cost: QUEUE.preemption_cost}
    numbers |= {arrival_rate: QUEUE.arrival_rate, **dict(zip(law.parameters, LAW.parameters, strict=True))}
    function = sp.lambdify(quantum, total.subs(numbers), ["scipy", "numpy"], cse=False)

    def evaluate(quanta: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(function(quanta))

    return evaluate


def by_hand(queue: mq.Queue, quanta: Floats, levels: int) -> Floats:
    """Theorem 4.5 as one would write it down for this law, block by block."""
    return np.concatenate(
        [_block_by_hand(queue, block, levels) for block in np.array_split(quanta, max(1, len(quanta) // BLOCK))]
    )


def _block_by_hand(queue: mq.Queue, quanta: Floats, levels: int) -> Floats:
    (threshold, factor), rate = queue.slowdown, queue.arrival_rate
    mu, sigma = queue.size.parameters

    def upper(x: Floats | float) -> list[Floats]:
        z = (np.log(x) - mu) / (sigma * math.sqrt(2))
        shift = sigma / math.sqrt(2)
        totals = [math.exp(n * mu + n * n * sigma * sigma / 2) / 2 for n in range(3)]
        return [total * special.erfc(z - n * shift) for n, total in enumerate(totals)]

    t = np.arange(1.0, levels)[:, None] * quanta
    x = np.minimum(t, threshold) + factor * np.maximum(t - threshold, 0)
    m, f = upper(x), upper(threshold)
    gap = 1 - 1 / factor
    served = [threshold * gap * m[0] + m[1] / factor, f[1] * (1 / factor - 1) + threshold * gap * f[0]]
    first = np.where(x <= threshold, m[1] + served[1], served[0])
    slow = threshold**2 * gap**2 * m[0] + 2 * threshold * gap / factor * m[1] + m[2] / factor**2
    fast = m[2] + threshold**2 * gap**2 * f[0] + 2 * threshold * gap / factor * f[1] + f[2] * (1 / factor**2 - 1)
    second = np.where(x <= threshold, fast, slow)
    mean, square = queue.mean_service_time, queue.service_moment(2)
    one = np.ones((1, quanta.size))
    tail = np.concatenate([one, m[0], 0 * one])
    first = np.concatenate([mean * one, first, 0 * one])
    second = np.concatenate([square * one, second, 0 * one])
    t = np.concatenate([0 * one, t])
    c = queue.preemption_cost * t
    p = tail[:-1] - tail[1:]
    end = np.concatenate([t[1:], 0 * one])
    head = c - t
    piece = first[:-1] - first[1:] + head * p + (end + head) * tail[1:]
    square = second[:-1] - second[1:] + 2 * head * (first[:-1] - first[1:]) + head**2 * p + (end + head) ** 2 * tail[1:]
    paid = np.cumsum(c, axis=0)
    before = t.copy()
    before[1:] += paid[:-1]
    work = np.cumsum(piece, axis=0)
    work_before = np.concatenate([0 * one, work[:-1]])
    crossings = np.cumsum(before * piece, axis=0)
    found = rate * (square.sum(axis=0) + 2 * crossings) / 2
    with np.errstate(all="ignore"):
        wait = (found / (1 - rate * work) + rate * before * work_before) / (1 - rate * work_before)
        time = work[-1] + (p * wait).sum(axis=0)
    return np.where(rate * work[-1] < 1, time, np.inf)


def erfc_arguments(boundaries: Floats) -> list[Floats]:
    """What the moments of order 0, 1 and 2 at these boundaries ask of erfc, in blocks."""
    mu, sigma = LAW.parameters
    z = (np.log(QUEUE.size_at(boundaries.ravel())) - mu) / (sigma * math.sqrt(2))
    return [block - n * sigma / math.sqrt(2) for n in range(3) for block in np.array_split(z, max(1, z.size // BLOCK))]


# k = ∞ ---------------------------------------------------------------------------------------------------------------


def infinite_levels() -> Row:
    """E[T] for k = ∞ against the erfc calls alone, as many as the levels need."""
    quanta = np.linspace(0.3 * LAW.mean, 20 * LAW.mean, 1000)
    policy = mq.MLPT(quantum=quanta, levels=math.inf)
    needed = levels_needed(quanta, np.isfinite(mq.mean_response_time(QUEUE, policy)))
    boundaries = np.concatenate(
        [np.arange(1.0, count + 1) * theta for count, theta in zip(needed, quanta, strict=True)]
    )
    arguments = erfc_arguments(boundaries)
    times = race(
        {
            "ours": lambda: mq.mean_response_time(QUEUE, policy),
            "erfc": lambda: [special.erfc(block) for block in arguments],
        }
    )
    note = f"{needed.sum():,} levels, the fewest with which the proved bound on the rest is below {REMAINDER:g} of E[T]"
    return row("E[T], k = ∞, 1,000 quanta", "the erfc calls alone (SciPy)", times, "ours", "erfc", None, note)


def levels_needed(quanta: Floats, stable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The fewest levels after which the bound on the rest is small enough, by bisection; none where unstable."""
    return np.array([_needed(theta) if can else 0 for theta, can in zip(quanta, stable, strict=True)])


def _needed(theta: float) -> int:
    low, high = 0, 2**15
    while high - low > 1:
        middle = (low + high) // 2
        boundaries = np.arange(1.0, middle + 1)[:, None] * theta
        totals = level_sums(QUEUE, boundaries, closed=False).totals
        _, rest = remainder_bounds(QUEUE, np.array([theta]), totals, boundaries[-1])
        enough = bool((rest <= REMAINDER * totals.mean_response_time())[0])
        low, high = (low, middle) if enough else (middle, high)
    return high


def best_quantum() -> Row:
    """θ* for k = ∞, all kinks looked at, against a grid."""
    grid = np.concatenate([np.linspace(0.5, 30, 20_000) * LAW.mean])
    times = race(
        {
            "ours": lambda: mq.optimal_quantum(QUEUE, math.inf),
            "grid": lambda: mq.mean_response_time(QUEUE, mq.MLPT(quantum=grid, levels=math.inf)),
        }
    )
    return row("θ*, k = ∞", "E[T] on a grid of 20,000 quanta", times, "ours", "grid", 20.0)


def gradient() -> Row:
    """The gradient of E[T] in nine quanta against finite differences."""
    boundaries = np.cumsum(np.linspace(2, 8, 9) * LAW.mean)[:, None]
    steps = np.concatenate([np.zeros((9, 1)), 1e-6 * LAW.mean * np.tril(np.ones((9, 9)))], axis=1)
    moved = np.diff(np.concatenate([np.zeros((1, 10)), boundaries + steps]), axis=0).T
    times = race(
        {
            "ours": lambda: response_gradient(QUEUE, boundaries),
            "differences": lambda: [mq.mean_response_time(QUEUE, mq.MLPT(quanta=quanta)) for quanta in moved],
        },
        25,
    )
    return row("gradient of E[T] in 9 quanta", "2-point differences", times, "ours", "differences", 3.0)


# Gittins -------------------------------------------------------------------------------------------------------------


@numba.njit
def _direct_supremum(completed: Floats, served: Floats, index: Floats) -> None:
    for start in range(completed.size - 1):
        best = 0.0
        for end in range(start + 1, completed.size):
            ratio = (completed[end] - completed[start]) / (served[end] - served[start])
            best = max(best, ratio)
        index[start] = best


def gittins() -> Iterator[Row]:
    """The Gittins index on 16,000 ages against the supremum over all of them."""
    ages = np.linspace(0.0, 40 * LAW.mean, 16_001)
    tail, first, _, _ = QUEUE.service_moments(ages)
    served, completed = QUEUE.mean_service_time - first + ages * tail, 1 - tail
    index = np.zeros_like(ages)
    left = tail[:-1]
    cells = np.diff(served) / left, np.diff(completed) / left, tail[1:] / left
    _direct_supremum(completed, served, index)
    edge_served, edge_completed, _ = first_edges(*cells)
    np.testing.assert_allclose(edge_completed / edge_served, index[:-1], rtol=1e-9)
    times = race(
        {
            "hull": lambda: first_edges(*cells),
            "whole": lambda: gittins_index(QUEUE, ages[:-1]),
            "direct": lambda: _direct_supremum(completed, served, index),
        }
    )
    against = "direct supremum in numba"
    note = "same grid, same numbers"
    yield row("Gittins index on 16,000 ages: the hull", against, times, "hull", "direct", 500.0, note)
    note = "with the optima between the ages found, and its error bounded, which the supremum has not"
    yield row("Gittins index on 16,000 ages: gittins_index", against, times, "whole", "direct", None, note)
