"""The best quantum, FCFS included, and the paper's rule of thumb."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.compile import compiled
from mlptsym.numeric.levels.foreground import foreground_background_time
from mlptsym.numeric.levels.remainder import remainder_bounds
from mlptsym.numeric.levels.sums import level_sums
from mlptsym.numeric.mean.gradient import searched_slopes
from mlptsym.numeric.mean.lazy import gain_and_slope
from mlptsym.numeric.mean.response import mean_response_time, moments_needed, solve
from mlptsym.numeric.model.breaks import breaks
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.saturation import MEAN, refuse_saturated
from mlptsym.numeric.optimal.minima import Minimum, local_minima

if TYPE_CHECKING:
    from mlptsym.numeric.optimal.objectives import ObjectiveOptimum

__all__ = ["Optimum", "optimal_quantum", "rule_of_thumb"]

Floats = NDArray[np.float64]

# first quanta to look at: ratio of neighbours, near the mean service time and far from it
FINE, COARSE = 1.12, 1.5
# a law narrower than this (standard deviation over mean) shows its features only near mean/m
NARROW_LAW = 0.5
# jumps are all computed while there are no more than this, each counted with its levels
ALL_JUMPS, MOST_JUMPS = 4 * 10**6, 2 * 10**7
EARLY_KINKS = 4
LARGEST = 2**16
MOST_LEVELS = 2.0**19
HALVINGS = 12
FEW_LEVELS = 100
# the smallest quantum to look at when preemption is free, in mean service times
SMALLEST = 1e-3
# parts of E[T]: what the search leaves open, what counts as a tie with FCFS, what is listed as a local minimum
NEGLIGIBLE, TIE, WITHIN = 1e-11, 1e-12, 0.02
LISTED = 100
QUADRATURE = 1e-9  # the accuracy of the limit for θ → 0
# parts of θ: just left of a break, and just beyond the rounding of r · θ at a jump
LEFT, ABOVE = 1e-13, 2e-15


@dataclass(frozen=True)
class Optimum:
    """The quantum with the smallest mean response time.

    Attributes
    ----------
    quantum : float
        θ*, in units of service time; ``inf`` if FCFS is best, 0 if E[T] falls towards its limit for θ → 0 (possible for
        k = ∞ without preemption cost only).
    mean_response_time : float
        E[T] at θ*.
    kind : str
        "smooth" (dE[T]/dθ = 0), "kink" (a kink of E[T], or a jump down from the left), "fcfs", or "limit" (θ → 0).
    gain : float
        1 − E[T]/E[T of FCFS].
    fcfs : float
        E[T] of FCFS.
    size : float
        The intrinsic size x whose service time q(x) is θ*.
    local_minima : tuple of (float, float, str)
        Quantum, E[T] and kind of the local minima found, the best first, at most 100; those within two percent of the
        best are all found, but for kinks at quanta so short that there are hundreds of them, and further ones where
        they are seen.  FCFS is not listed.
    levels : int or inf
        k.
    effective_load : float
        ρ^eff at θ*.
    lower, upper : float or None
        Proved bounds of the minimum, if a certificate was asked for: within 1e-6 of each other unless some quanta are
        open.
    open_quanta : tuple of (float, float) or None
        Ranges of θ for which nothing could be proved; ``lower`` is then no more than E[S].
    """

    quantum: float
    mean_response_time: float
    kind: str
    gain: float
    fcfs: float
    size: float
    local_minima: tuple[tuple[float, float, str], ...]
    levels: float
    effective_load: float
    lower: float | None = None
    upper: float | None = None
    open_quanta: tuple[tuple[float, float], ...] | None = None


@overload
def optimal_quantum(
    queue: Queue, levels: float = 2, *, objective: Literal["mean"] = "mean", certify: bool = False, lazy: bool = False
) -> Optimum: ...


@overload
def optimal_quantum(
    queue: Queue, levels: float = 2, *, objective: str | Mapping[str, float], certify: bool = False, lazy: bool = False
) -> Optimum | ObjectiveOptimum: ...


def optimal_quantum(
    queue: Queue,
    levels: float = 2,
    *,
    objective: str | Mapping[str, float] = "mean",
    certify: bool = False,
    lazy: bool = False,
) -> Optimum | ObjectiveOptimum:
    """The quantum θ in (0, ∞) that minimises E[T] under MLPT with k levels, FCFS (θ → ∞) included.

    Parameters
    ----------
    queue : Queue
        If it is unstable under FCFS (and so under every policy), the answer is FCFS with an infinite mean and no gain.
    levels : int or inf
        k, from 2 to 2¹⁶, or infinitely many.
    objective : str or mapping of str to float
        What is to be small, E[T] if left out: a percentile of the response time such as ``"p99"``,
        ``"mean-slowdown"`` for E[T/S], or a weighted sum such as ``{"mean": 0.7, "p99": 0.3}``.
    certify : bool
        Enclose the minimum by interval arithmetic (`mlptsym.numeric.certified.branch_and_bound`); for the mean only.
    lazy : bool
        Under MLPT′, for two levels and the mean, without a certificate.

    Returns
    -------
    Optimum
        For another objective than the mean, the `ObjectiveOptimum` of
        `mlptsym.numeric.optimal.objectives.best_quantum_for`, which is found by a search and not claimed to be global.

    Raises
    ------
    ParameterError
        If k or the objective is not among these, or a certificate is asked for another objective.
    SaturationError
        If the load of FCFS or at the best quantum is above 1 − 1e-9: E[T] would have less than six digits (a best
        quantum where dE[T]/dθ = 0 is known to 1e-15/(1 − ρ)).

    Notes
    -----
    Minima lie where dE[T]/dθ, which is known exactly, changes sign from below to above (for k = 2 a crossing of A/B
    and the hazard, eq. (30)), or at kinks and jumps: t_r = rθ meets q(ℓ_C), the window of a saturating memory, or a
    size where the law has a jump of its density or a point mass.  With a point mass at s, E[T] falls at θ = q(s)/m,
    from where on these jobs complete in level m, and takes the lower value there, since a job that has attained
    exactly its service completes (S > t is strict).

    The search covers a range of θ outside of which nothing is better.  Beyond it E[T] ≥ E[S] + λE[min(S, θ)²]/(2(1 −
    λE[min(S, θ)])), which is d_1 without the later pieces and grows with θ.  Below it, for finite k, E[T] ≥ E[S] +
    P(S > (k−1)θ) λE[S²]/(2(1 − ρ₀)), as most jobs wait for their last level; for k = ∞ the sums over levels are bounded
    by integrals; if restore costs are zero, E[T] has come close to its limit there, which is compared.  Inside, every
    interval that may hold a minimum within two percent of the best is divided until dE[T]/dθ is almost linear across it
    and no break is left in it; this takes that no feature of a smooth law is narrower than the first intervals, twelve
    percent of θ, or a quarter of its standard deviation.  ``certify`` needs no such condition.

    With point masses all jumps are computed while there are at most 4·10⁶ of them, each counted with its levels: for
    k = 2 that makes the optimum exact up to two million different sizes.  Beyond, only jumps in intervals whose ends
    come near the best are looked at, and the result is that of a search, not a proof.

    Examples
    --------
    >>> from mlptsym import LogNormal
    >>> queue = Queue(LogNormal(5, 0.9), 0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39, preemption_cost=0.1)
    >>> best = optimal_quantum(queue, levels=2)
    >>> best.kind, best.quantum, round(best.gain, 4)
    ('kink', 1335.1, 0.2131)
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    queue.refuse_unloading("a best quantum")
    certify, lazy = validation.flag("certify", certify), validation.flag("lazy", lazy)
    if lazy and (objective != "mean" or certify or levels != 2):
        validation.refuse(
            "lazy", lazy, "False for other objectives than the mean, for more levels than two and for certificates"
        )
    if not isinstance(objective, str) or objective != "mean":
        if certify:
            validation.refuse("certify", certify, 'False for an objective other than "mean"')
        from mlptsym.numeric.optimal.objectives import best_quantum_for

        return best_quantum_for(queue, levels, objective)
    k = validation.levels("levels", levels, at_least=2)
    if LARGEST < k < math.inf:
        validation.refuse("levels", levels, f"a whole number >= 2 and <= {LARGEST}, or inf")
    best = _best(queue, k, lazy)
    if not certify:
        return best
    from mlptsym.numeric.certified.branch_and_bound import certified_minimum

    certificate = certified_minimum(queue, k, best.quantum)
    return replace(best, lower=certificate.lower, upper=certificate.upper, open_quanta=certificate.open_quanta)


def _best(queue: Queue, levels: float, lazy: bool) -> Optimum:
    """The optimum, without a certificate."""
    fcfs = mean_response_time(queue, FCFS())
    best = Optimum(math.inf, fcfs, "fcfs", 0.0, fcfs, math.inf, (), levels, queue.base_load)
    if not (queue.base_load < 1 and queue.size.moment_limit > moments_needed(queue, levels)):
        return best
    found = _search(queue, levels, fcfs, lazy)
    listed = tuple((minimum.at, minimum.value, "smooth" if minimum.smooth else "kink") for minimum in found)
    best = replace(best, local_minima=listed)
    if found and found[0].value < fcfs * (1 - TIE):
        quantum, kind = _exact(queue, levels, found[0], lazy), listed[0][2]
        solution = solve(queue, MLPT(quantum=quantum, levels=levels, lazy=lazy))
        best = replace(
            best,
            quantum=quantum,
            mean_response_time=solution.mean_response_time,
            kind=kind,
            size=float(queue.size_at(quantum)),
            local_minima=((quantum, solution.mean_response_time, kind), *listed[1:]),
            effective_load=solution.effective_load,
        )
    if levels == math.inf and queue.preemption_cost == 0:
        limit = foreground_background_time(queue)
        if limit < best.mean_response_time * (1 - QUADRATURE):
            best = replace(best, quantum=0.0, mean_response_time=limit, kind="limit", size=0.0)
            best = replace(best, effective_load=queue.base_load)
    return best if best.kind == "fcfs" else replace(best, gain=1 - best.mean_response_time / fcfs)


def _search(queue: Queue, levels: float, fcfs: float, lazy: bool) -> list[Minimum]:
    """Local minima of E[T] over all quanta that can matter, the lowest first."""

    def curve(points: Floats, left: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        quanta = np.where(left, points * (1 - LEFT), points)
        result = searched_slopes(queue, quanta, levels)
        gain, gain_slope = gain_and_slope(queue, quanta, both) if lazy else (0.0, 0.0)
        return result.mean_response_time - gain, result.slope - gain_slope

    low, high = _range(queue, levels, fcfs)
    if not low < high:
        return []
    kinks, jumps, depth = _breaks(queue, levels, low, high)
    all_jumps = len(jumps) * depth <= ALL_JUMPS
    both = np.union1d(kinks, jumps)
    start = [_first_quanta(queue, levels, low, high), kinks[-EARLY_KINKS:], jumps if all_jumps else np.empty(0)]
    start_quanta = np.unique(np.concatenate(start))
    most = len(start_quanta) + int(ALL_JUMPS / depth)
    return local_minima(curve, start_quanta, both, jumps=len(jumps) > 0, within=WITHIN, most=most)[:LISTED]


def _range(queue: Queue, levels: float, fcfs: float) -> tuple[float, float]:
    """Quanta outside of which E[T] is not below the best one inside, or FCFS, by more than rounding."""
    mean, rate = queue.mean_service_time, queue.arrival_rate
    ages = mean * np.geomspace(1e-30, 1e30, 401)
    tail, first, second, _ = queue.service_moments(ages, antiderivative=True)
    best = fcfs
    if levels == math.inf:
        edges = breaks(queue).kinks
        tried = np.append(mean * np.array([1.0, 3.0, 10.0]), edges[edges > mean])
        best = min(fcfs, float(_at_most(queue, np.minimum(tried, queue.furthest)).min()))
    served = mean - first + ages * tail
    served_square = queue.total_moments[True][2] - second + ages**2 * tail
    from_above = mean + rate * served_square / (2 * (1 - rate * served))
    high = ages[np.argmax(np.append(from_above[:-1] >= best * (1 - NEGLIGIBLE), True))]
    if levels < math.inf:
        from_below = mean + tail * (fcfs - mean)
        low = ages[np.flatnonzero(from_below >= best * (1 - NEGLIGIBLE)).max(initial=0)] / (levels - 1)
        return float(low), float(high)
    last_kink = breaks(queue).kinks.max(initial=0.0)
    deepest = max(SMALLEST * mean if queue.preemption_cost == 0 else 0.0, last_kink / MOST_LEVELS)
    small, large = 1e-9 * mean, mean
    least = _least_of_small_quanta(queue)
    for _ in range(HALVINGS):
        middle = math.sqrt(small * large)
        small, large = (middle, large) if least(middle) >= best * (1 - NEGLIGIBLE) else (small, middle)
    return max(small, deepest), float(high)


def _at_most(queue: Queue, quanta: Floats) -> Floats:
    """Upper bounds of E[T] for k = ∞, from a few levels and what the others add at most."""
    boundaries = np.arange(1.0, FEW_LEVELS + 1)[:, None] * quanta
    with np.errstate(all="ignore"):  # unstable columns are infinite by their bound
        totals = level_sums(queue, boundaries, closed=False).totals
        _, rest = remainder_bounds(queue, quanta, totals, boundaries[-1])
        times = totals.mean_response_time() + rest
    return np.where(times > 0, times, math.inf)


def _least_of_small_quanta(queue: Queue) -> Callable[[float], float]:
    """A function of θ below E[T] for this and all smaller quanta, for k = ∞.

    As `Enclosure.from_small` of `mlptsym.numeric.certified.enclosure`, where it is derived.
    """
    ages = np.append(0.0, queue.mean_service_time * np.geomspace(1e-4, 1e5, 260))
    tail, first, second, _ = queue.service_moments(ages, antiderivative=True)
    served = queue.mean_service_time - first + ages * tail
    square = queue.total_moments[True][2] - second + ages**2 * tail
    costs = queue.restore_cost(ages)
    paid = np.append(0.0, np.cumsum(costs[:-1] * np.diff(ages)))
    probability = -np.diff(tail, append=0.0)

    def least(quantum: float) -> float:
        one, two = (np.searchsorted(ages, ages - n * quantum, side="right").clip(1) - 1 for n in (1, 2))
        overhead = np.where(ages >= quantum, costs[one], 0.0)[:-1] / quantum
        work = np.append(0.0, np.cumsum(np.diff(served) * (1 + overhead)))
        if queue.arrival_rate * work[-1] >= 1:
            return math.inf
        before = np.maximum(ages - quantum, 0.0) + paid[two] / quantum
        weight, offset = compiled("mlptsym.symbolic.mean.response:waiting_formula")(
            arrival_rate=queue.arrival_rate, work_before=work[one], work=work, before=before, crossings=0.0
        )
        return float(work[-1] + (probability * (square * weight + offset)).sum())

    return least


def _first_quanta(queue: Queue, levels: float, low: float, high: float) -> Floats:
    """Quanta so close that no feature of a smooth law falls between them."""
    mean = queue.mean_service_time
    steps = min(levels - 1, 4.0)
    fine = (max(low, 0.2 * mean / steps), min(high, 12 * mean))
    quanta = [_geometric(low, fine[0], COARSE), _geometric(*fine, FINE), _geometric(fine[1], high, COARSE)]
    size = queue.size
    if size.smooth and size.moment_limit > 2:
        _, centre, square, _ = size.partial_moments(np.zeros(1))
        deviation = np.sqrt(np.maximum(square - centre**2, 0.0))
        if deviation < NARROW_LAW * centre:
            near = centre + deviation * np.linspace(-6.0, 6.0, 49)
            features = queue.service_time(near[near > 0])
            quanta += [features / m for m in range(1, int(steps) + 1)]
    together = np.concatenate([*quanta, [low, high]])
    return np.unique(together[(together >= low) & (together <= high)])


def _geometric(low: float, high: float, ratio: float) -> Floats:
    return np.geomspace(low, high, math.ceil(math.log(high / low) / math.log(ratio)) + 1) if low < high else np.empty(0)


def _breaks(queue: Queue, levels: float, low: float, high: float) -> tuple[Floats, Floats, float]:
    """Kinks and jumps of E[T] between ``low`` and ``high``, and how many levels a jump takes to compute, at most."""
    found = breaks(queue)
    kinks = [kink / _numbers(kink, levels, low) for kink in found.kinks]
    # a little more than mass/m, so that mθ is not below the mass by rounding; jumps of the cost between both sides
    shifts = (ABOVE, found.left_jumps), (LEFT / 2, found.right_jumps)
    last = max((float(places[-1]) for _, places in shifts if len(places)), default=low)
    jumps: list[Floats] = []
    count = 0
    for number in _numbers(last, levels, low) if last > low else ():
        for shift, places in shifts:
            there = places[(places >= number * low) & (places <= number * high)] / number * (1 + shift)
            count += len(there)
            jumps.append(there)
        if count > MOST_JUMPS:
            break
    sorted_kinks, sorted_jumps = (np.unique(np.concatenate([*parts, np.empty(0)])) for parts in (kinks, jumps))
    inside = (sorted_kinks > low) & (sorted_kinks < high)
    return sorted_kinks[inside], sorted_jumps, min(levels, last / low)


def _numbers(place: float, levels: float, low: float) -> Floats:
    """The m for which place/m can be a break."""
    return np.arange(1.0, min(levels - 1, place / low, MOST_LEVELS) + 1)


def _exact(queue: Queue, levels: float, minimum: Minimum, lazy: bool) -> float:
    """The quantum of a minimum; at a jump, place/m itself if rounding does not put it on the wrong side."""
    found = breaks(queue)
    places = np.union1d(found.left_jumps, found.right_jumps)
    if minimum.smooth or not len(places):
        return minimum.at
    number = np.arange(1.0, min(levels - 1, MOST_LEVELS, round(float(places[-1]) / minimum.at)) + 1)
    place = np.searchsorted(places, number * minimum.at * (1 - LEFT)).clip(0, len(places) - 1)
    quotients = places[place] / number
    close = quotients[np.abs(quotients - minimum.at) <= LEFT * minimum.at]
    for quotient in close.tolist():
        if mean_response_time(queue, MLPT(quantum=quotient, levels=levels, lazy=lazy)) <= minimum.value * (1 + 1e-14):
            return float(quotient)
    return minimum.at


def rule_of_thumb(queue: Queue, levels: float = 2, *, a: float = 3.0, b: float = 7.0) -> float:
    """The paper's rule of thumb for the quantum, eqs. (31) and (32).

    Parameters
    ----------
    queue : Queue
    levels : int or inf
        k >= 2.
    a, b : float
        For k = 2 the rule is ℓ_C where a ≤ ℓ_C/E[L] ≤ b; 0 <= a <= b.

    Returns
    -------
    float
        θ̂ = E[S] + 2 √(γE[S²]/(1 − ρ₀)) in units of service time, or ℓ_C; ``inf`` if the queue is unstable under FCFS or
        E[S²] is infinite.

    Raises
    ------
    ParameterError
        If k, a or b is outside its range.
    SaturationError
        If 1 − 1e-9 < ρ₀ < 1: θ̂ would have less than six digits.

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> rule_of_thumb(Queue(Exponential(1.0), arrival_rate=0.5, preemption_cost=0.25))
    3.0
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    queue.refuse_unloading("the rule of thumb")
    k = validation.levels("levels", levels, at_least=2)
    low = validation.number("a", a, at_least=0, infinite=True)
    high = validation.number("b", b, at_least=low, infinite=True)
    threshold, factor = queue.slowdown
    # three times the mean, divided by the mean, may come out below three
    ratio, rounding = threshold / queue.size.mean, 1e-12
    if k == 2 and factor < 1 and threshold > 0 and low * (1 - rounding) <= ratio <= high * (1 + rounding):
        return float(queue.service_time(threshold))
    if not (queue.base_load < 1 and queue.size.moment_limit > 2):
        return math.inf
    refuse_saturated(queue, queue.base_load, MEAN)
    rule = compiled("mlptsym.symbolic.mean.many_levels:rule_of_thumb_formula")(
        mean=queue.mean_service_time,
        second=queue.service_moment(2),
        arrival_rate=queue.arrival_rate,
        preemption_cost=queue.preemption_cost,
    )
    return float(rule.quantum)
