"""MLPT′ with two levels: how often its cost is waived, and its mean response time (`mlptsym.symbolic.mean.lazy`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.compile import compiled
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.saturation import MEAN, refuse_saturated
from mlptsym.numeric.model.service_measure import ServiceMeasure, even_nodes

Floats = NDArray[np.float64]

MOST_STEPS = 200
STEP, LEFT = 1e-5, 1e-13
"""Parts of θ: half the length of a difference, and just left of a break."""
FIRST_CUT, RATIO, LARGEST = 8.0, 1.4, 1e200
"""Panels of e^{−λy}: the first ends at 8/λ, each further one is 1.4 times as far, so that no panel of e^{−zy}, z ≤ λ,
that counts has an exponent larger than 16."""


@dataclass(frozen=True)
class LazyTerms:
    """MLPT′ with two levels, arrays of the shape of the quanta.

    Attributes
    ----------
    alone : array
        e, the probability that a demoted job finds no other in the system, so that its cost is waived; 0 where the
        queue is unstable.
    first_wait, last_wait : array
        d_1 and d_2, mean waiting times of the jobs that complete in level 1 and in level 2; ``inf`` where the queue is
        unstable or E[S²] is infinite, like the next two.
    mean_response_time : array
        E[T].
    gain : array
        E[T] of MLPT less that of MLPT′.
    busy : array
        ρ′ = λ(E[S] + cF̄(θ)(1 − e)), the probability that the server is busy; 1 where the queue is unstable.
    charged : array
        1 − e, to all its digits.
    """

    alone: Floats
    first_wait: Floats
    last_wait: Floats
    mean_response_time: Floats
    gain: Floats
    busy: Floats
    charged: Floats


def lazy_terms(queue: Queue, quantum: ArrayLike) -> LazyTerms:
    """How often MLPT′ with two levels waives the cost, and what it gains by it.

    Parameters
    ----------
    queue : Queue
    quantum : array_like
        θ, > 0, in units of service time.

    Returns
    -------
    LazyTerms

    Raises
    ------
    ParameterError
        If a quantum is not a positive finite number.
    SaturationError
        Where 1 − 1e-9 < ρ_2^eff < 1.

    Notes
    -----
    Beyond the paper; remark 1 has simulations only.  MLPT′ with two levels is stable exactly if MLPT is, eq. (12).

    Examples
    --------
    >>> from mlptsym import LogNormal
    >>> queue = Queue(LogNormal(5, 0.9), 0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39, preemption_cost=0.1)
    >>> terms = lazy_terms(queue, [222.5, 667.5])
    >>> terms.alone.round(4).tolist(), terms.gain.round(2).tolist()
    ([0.1008, 0.026], [4.92, 0.83])
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    queue.refuse_unloading("MLPT′")
    quanta = floats("quantum", quantum, above=0, finite=True)
    points = np.minimum(quanta.ravel(), queue.furthest)
    tail, first_moment, _, _ = queue.service_moments(points)
    cost = queue.restore_cost(points)
    loads = queue.arrival_rate * (queue.mean_service_time + cost * tail)
    refuse_saturated(queue, loads, MEAN)
    stable = loads < 1
    alone, charged = np.zeros(points.shape), np.ones(points.shape)
    if stable.any():
        alone[stable], charged[stable] = _alone(queue, points[stable], tail[stable], cost[stable])
    with np.errstate(all="ignore"):  # unstable quanta are replaced below
        first, last, mean, busy, gain = compiled("mlptsym.symbolic.mean.lazy:lazy_formula")(
            arrival_rate=queue.arrival_rate,
            mean=queue.mean_service_time,
            second=queue.service_moment(2),
            tail=tail,
            first_moment=first_moment,
            end=points,
            cost=cost,
            alone=alone,
            charged=charged,
        )
    finite = stable & (queue.size.moment_limit > 2)
    infinite = (np.where(finite, values, np.inf) for values in (first, last, mean, gain))
    values = (alone, *infinite, np.where(stable, busy, 1.0), charged)
    return LazyTerms(*(np.broadcast_to(value, points.shape).reshape(quanta.shape) for value in values))


def gain_and_slope(queue: Queue, quanta: Floats, breaks: Floats) -> tuple[Floats, Floats]:
    """`LazyTerms.gain` and its slope in θ; both zero where the gain is infinite.

    The slope is a difference over 2e-5 of θ, or less, so that no break lies inside: its error is 1e-10 of gain/θ.

    Parameters
    ----------
    queue : Queue
    quanta : array
        A quantum at a break is on the right of it.
    breaks : array
        Kinks and jumps of E[T], increasing.
    """
    place = np.searchsorted(breaks, quanta, side="right")
    ends = np.concatenate([[0.0], breaks, [np.inf]])
    low = np.maximum(quanta * (1 - STEP), ends[place])
    high = np.minimum(quanta * (1 + STEP), ends[place + 1] * (1 - LEFT))
    here, before, after = np.split(lazy_terms(queue, np.concatenate([quanta, low, high])).gain, 3)
    finite = np.isfinite(here) & np.isfinite(before) & np.isfinite(after) & (high > low)
    slope = np.zeros(quanta.shape)
    np.divide(after - before, high - low, out=slope, where=finite)
    return np.where(np.isfinite(here), here, 0.0), slope


def _alone(queue: Queue, quanta: Floats, tail: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """e and 1 − e."""
    measure = ServiceMeasure.of(queue)
    means = {name: np.empty(quanta.shape) for name in ("demoting", "completing_single", "last_busy", "last_single")}
    means["last_none"] = np.empty(quanta.shape)
    for place, (quantum, left) in enumerate(zip(quanta, tail, strict=True)):
        first = piece_means(measure, queue, 0.0, quantum, 1.0)
        last = piece_means(measure, queue, quantum, np.inf, left)
        demoting = largest_root(lambda at: (left + first(at, "busy"), first(at, "change")))  # noqa: B023
        means["demoting"][place] = demoting
        means["completing_single"][place] = first(demoting, "between")
        means["last_busy"][place] = last(demoting, "busy")
        means["last_single"][place] = last(demoting, "between")
        means["last_none"][place] = 1 - last(demoting, "any")
    shares = compiled("mlptsym.symbolic.mean.lazy:alone_formula")(
        arrival_rate=queue.arrival_rate, mean=queue.mean_service_time, tail=tail, end=quanta, cost=cost, **means
    )
    return shares.alone, shares.charged


Means = Callable[..., float]
"""(demoting, name, beside=1) to one of the means of `arrivals_formula`."""


def piece_means(measure: ServiceMeasure, queue: Queue, start: float, end: float, reached: float) -> Means:
    """Means of the functions of `arrivals_formula` over the service of a piece of the jobs that complete in it.

    By parts: E[h(S − a) ; a < S ≤ b] = ∫_a^b h′(t − a) P(S > t) dt − h(b − a) P(S > b) for h(0) = 0, over P(S > a).
    """
    formula = compiled("mlptsym.symbolic.mean.lazy:arrivals_formula")
    rate = queue.arrival_rate
    if measure.discrete:
        inside = (measure.atoms > start) & (measure.atoms <= end)
        lengths, masses = measure.atoms[inside] - start, measure.masses[inside]

        def over_atoms(demoting: float, name: str, beside: float = 1.0) -> float:
            values = getattr(formula(arrival_rate=rate, demoting=demoting, beside=beside, length=lengths), name)
            return float(values @ masses) / reached if reached > 0 else 0.0

        return over_atoms
    furthest = min(end, measure.end)
    if furthest <= start or not reached > 0:
        return lambda *_: 0.0
    cuts = FIRST_CUT / rate * RATIO ** np.arange(np.log(max(LARGEST * rate, 1.0)) / np.log(RATIO))
    inner = np.concatenate([measure.edges, start + cuts])
    edges = np.unique(np.concatenate([[start, furthest], inner[(inner > start) & (inner < furthest)]]))
    ages, weights = even_nodes(edges, furthest)
    weights = weights * measure.tail(ages) / reached
    lengths = np.append(ages - start, end - start if end < np.inf else 0.0)
    passed = float(measure.tail(np.asarray(end))) / reached if end < np.inf else 0.0

    def by_parts(demoting: float, name: str, beside: float = 1.0) -> float:
        found = formula(arrival_rate=rate, demoting=demoting, beside=beside, length=lengths)
        return float(getattr(found, f"{name}_slope")[:-1] @ weights - getattr(found, name)[-1] * passed)

    return by_parts


def largest_root(function: Callable[[float], tuple[float, float]]) -> float:
    """The largest root of x = f(x) for an increasing, concave f with f(0) ≥ 0 and f(1) ≤ 1; ``function`` is (f, f′).

    Newton's steps from 1 fall towards it.
    """
    root = 1.0
    for _ in range(MOST_STEPS):
        value, slope = function(root)
        step = (root - value) / (1 - slope)
        if not step > 0:
            break
        root -= step
        if step <= 1e-16 * root:
            break
    return root
