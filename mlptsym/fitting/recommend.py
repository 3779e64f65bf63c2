"""The policy to use for a trace: theory for Poisson arrivals, simulation of them, and the trace itself beside both.

Sizes are in tokens, and the unit of time is that in which one token is served at rate one, so that λ is the number of
arrivals while one token is served.  How seconds become such units is a `TimeScale`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym.arrays import floats
from mlptsym.fitting.outcomes import Comparison, Outcome, QuantumSweep, Recommendation, Simulated, Tail
from mlptsym.fitting.scale import TimeScale
from mlptsym.fitting.trace.arrivals import arrival_times
from mlptsym.laws.empirical import Empirical
from mlptsym.likelihood import Sample
from mlptsym.numeric.mean.response import mean_response_time, solve
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.optimal.optimum import Optimum, optimal_quantum
from mlptsym.simulation.control import jobs_needed
from mlptsym.simulation.simulate import response_times
from mlptsym.simulation.traces import draw_trace
from mlptsym.validation import LARGEST, SMALLEST, ParameterError, instance, integer, numbers, refuse

__all__ = ["DEFAULT_LEVELS", "recommend"]

Floats = NDArray[np.float64]

DEFAULT_LEVELS = (2.0, 5.0, math.inf)
PERCENTILE = 0.99
AS_GOOD = (
    0.005  # means that differ by less are the same to whoever runs the server: the policy with fewer levels is taken
)
SEEDS, JOBS = 20, 50_000
MOST_WARMUP = 250_000
SWEPT = 48
MOST_OPTIMA = 20
TAILS = np.geomspace(0.5, 1e-3, 25)


def recommend(
    queue: Queue,
    scale: TimeScale,
    sizes: ArrayLike,
    times: ArrayLike | None,
    levels: Sequence[float] = DEFAULT_LEVELS,
    *,
    recorded: ArrayLike | None = None,
    seed: int = 0,
    jobs: int = JOBS,
) -> Recommendation:
    """The policy to use for a trace.

    Parameters
    ----------
    queue : Queue
        With the empirical law of the trace.
    scale : TimeScale
    sizes : array of float, shape (requests,)
    times : array of float, shape (requests,), or None
        Arrival times in seconds, as for `arrival_statistics`.
    levels : sequence of float
        Numbers of levels to look at, each >= 2 or ``inf``; at most 20 of them.
    recorded : array of float, shape (requests,), optional
        Arrival times as a coarse clock wrote them, if those in ``times`` are not they: simulated for comparison.
    seed : int
        Of the simulations.
    jobs : int
        Measured jobs of each of the twenty Poisson simulations.

    Returns
    -------
    Recommendation

    Raises
    ------
    ParameterError
        If a number is outside its range, or there are not as many sizes as times.
    """
    instance("queue", queue, Queue, "a Queue")
    instance("scale", scale, TimeScale, "what time_scale returns")
    sizes = _sizes(sizes)
    given = [
        None if one is None else arrival_times(name, one) for name, one in (("times", times), ("recorded", recorded))
    ]
    for one in given:
        if one is not None and one.size != sizes.size:
            refuse("sizes", sizes, f"as many numbers as there are times ({one.size})")
    seed = integer("root_seed", seed, at_least=0)
    jobs = integer("jobs", jobs, at_least=100, at_most=10**7)
    counts = numbers("levels", levels, at_least=2, infinite=True, maximum_length=MOST_OPTIMA)
    optima = tuple(optimal_quantum(queue, k) for k in counts)
    chosen: list[tuple[Policy, str]] = [(FCFS(), "fcfs")]
    chosen += [(_policy(queue, optimum), optimum.kind) for optimum in optima if optimum.kind != "fcfs"]
    warmup, settled = _warmup(queue, [policy for policy, _ in chosen], jobs)
    arrivals, as_recorded = (None if one is None else _in_units(one, scale.arrival_rate) for one in given)
    reference: Comparison | None = None
    comparisons: list[Comparison] = []
    for policy, kind in chosen:
        poisson = _poisson(queue, policy, seed, jobs, warmup)
        comparison = _compared(queue, policy, kind, sizes, arrivals, as_recorded, poisson, reference)
        reference = reference or comparison
        comparisons.append(comparison)
    recommended = _simplest(comparisons)
    swept = comparisons[recommended].policy.levels if recommended else optima[0].levels
    found = [comparison.policy.quantum for comparison in comparisons if isinstance(comparison.policy, MLPT)]
    sweep = _sweep(queue, swept, found, sizes, arrivals)
    simulated = Simulated(SEEDS, jobs, warmup, settled)
    return Recommendation(queue, scale, optima, tuple(comparisons), recommended, sweep, simulated)


def _sizes(sizes: ArrayLike) -> Floats:
    array = floats("sizes", sizes, above=0, finite=True)
    if array.ndim != 1 or not array.size or not SMALLEST <= array.min() <= array.max() <= LARGEST:
        refuse("sizes", sizes, f"a one-dimensional sequence of numbers from {SMALLEST:g} to {LARGEST:g}")
    return array


def _policy(queue: Queue, optimum: Optimum) -> MLPT:
    """The policy of an optimum; where E[T] falls towards θ → 0, the smallest size stands for it."""
    smallest = float(queue.service_time(queue.size.atoms[0])) if len(queue.size.atoms) else 1.0
    return MLPT(quantum=optimum.quantum or min(1.0, smallest), levels=optimum.levels)


def _in_units(times: Floats, arrival_rate: float) -> Floats:
    """Arrival times stretched to a rate of arrivals."""
    recorded = (times.size - 1) / (times[-1] - times[0])
    stretched: Floats = (times - times[0]) * (recorded / arrival_rate)
    return stretched


def _simplest(comparisons: Sequence[Comparison]) -> int:
    """The first policy as good as the best; they are in order of their levels."""
    means = [comparison.theory.mean for comparison in comparisons]
    order = sorted(range(len(means)), key=lambda place: comparisons[place].policy.levels)
    return next(place for place in order if means[place] <= min(means) * (1 + AS_GOOD) or math.isinf(min(means)))


def _compared(
    queue: Queue,
    policy: Policy,
    kind: str,
    sizes: Floats,
    arrivals: Floats | None,
    as_recorded: Floats | None,
    poisson: Outcome,
    reference: Comparison | None,
) -> Comparison:
    trace, recorded = (
        None if times is None else _measured(response_times(queue, policy, times, sizes))
        for times in (arrivals, as_recorded)
    )
    solution = solve(queue, policy)
    p99, tail = _theory(queue, policy, poisson.tail)
    theory = Outcome(float(solution.mean_response_time), poisson.p99 if p99 is None else p99, tail)
    fcfs = theory.mean if reference is None else reference.theory.mean
    trace_fcfs = trace if reference is None else reference.trace
    return Comparison(
        policy=policy,
        kind=kind,
        theory=theory,
        p99_source="simulation" if p99 is None else "theory",
        poisson=poisson,
        trace=trace,
        as_recorded=recorded,
        gain=_gain(theory.mean, fcfs),
        trace_gain=None if trace is None or trace_fcfs is None else _gain(trace.mean, trace_fcfs.mean),
        effective_load=float(solution.effective_load),
    )


def _measured(responses: Floats) -> Outcome:
    """Mean, percentile and tail of response times."""
    times = np.unique(np.quantile(responses, 1 - TAILS))
    above = 1 - np.searchsorted(np.sort(responses), times, side="right") / responses.size
    return Outcome(float(responses.mean()), float(np.quantile(responses, PERCENTILE)), Tail(times, above))


def _gain(mean: float, reference: float) -> float | None:
    return 1 - mean / reference if math.isfinite(mean) and math.isfinite(reference) else None


def _poisson(queue: Queue, policy: Policy, seed: int, jobs: int, warmup: int) -> Outcome:
    """Simulation of what the theory assumes.

    As many jobs as before the measured ones arrive after them, since without arrivals to wait for the last would be
    done too early.  The percentile is that of the jobs of all seeds together, since that of a single seed is biased
    where few of its busy periods are long.  Its standard error is the jackknife's, one seed left out at a time (Shao
    and Wu, A general theory for jackknife variance estimation, Annals of Statistics 17, 1989).
    """
    measured = []
    for number_of_trace in range(SEEDS):
        drawn = draw_trace(queue.size, queue.arrival_rate, jobs + 2 * warmup, seed=number_of_trace, root_seed=seed)
        measured.append(response_times(queue, policy, drawn.arrival_times, drawn.sizes)[warmup : warmup + jobs])
    table = np.array(measured)
    without = [float(np.quantile(np.delete(table, left_out, axis=0), PERCENTILE)) for left_out in range(SEEDS)]
    return replace(
        _measured(table.ravel()),
        standard_error=float(table.mean(axis=1).std(ddof=1)) / math.sqrt(SEEDS),
        p99_standard_error=float(np.std(without)) * math.sqrt(SEEDS - 1),
    )


def _warmup(queue: Queue, policies: Sequence[Policy], jobs: int) -> tuple[int, bool]:
    """Jobs before the measured ones, the same for all policies, and whether the queue is settled after them.

    A fifth of the measured ones, or as many as the slowest of the queues takes to forget that it was empty, but at most
    a quarter of a million.
    """
    if not queue.base_load < 1:
        return jobs // 5, False
    needed = max(jobs // 5, *(jobs_needed(queue, policy)[0] for policy in policies))
    return min(needed, max(jobs // 5, MOST_WARMUP)), needed <= max(jobs // 5, MOST_WARMUP)


def _theory(queue: Queue, policy: Policy, simulated: Tail | None) -> tuple[float | None, Tail | None]:
    """The 99th percentile and P(T > t) for Poisson arrivals; None where the distribution cannot be computed.

    Of more than 20 000 different sizes, neighbours are taken together (`Sample.grouped`): the work of an inversion
    grows with their number.
    """
    from mlptsym.numeric.distribution.percentiles import response_time_distribution

    try:
        distribution = response_time_distribution(_with_fewer_sizes(queue), policy)
        p99 = float(distribution.quantile(PERCENTILE))
        times = np.empty(0) if simulated is None else simulated.times
        return p99, Tail(times, 1 - np.asarray(distribution.cdf(times)))
    except (ParameterError, ArithmeticError):  # too many levels within such a time
        return None, None


def _with_fewer_sizes(queue: Queue) -> Queue:
    if not isinstance(queue.size, Empirical):
        return queue
    sample = Sample.of(queue.size.samples)
    grouped = sample.grouped()
    if grouped is sample:
        return queue
    values = np.repeat(grouped.values, grouped.counts)
    return replace(queue, size=Empirical(np.append(values, [sample.maximum] * sample.capped)))


def _sweep(queue: Queue, levels: float, found: list[float], sizes: Floats, arrivals: Floats | None) -> QuantumSweep:
    """Over quanta from a fifth of the mean service time to the largest service time, and those that were found."""
    largest = float(queue.service_time(sizes.max()))
    quanta = np.geomspace(0.2 * queue.mean_service_time, 1.05 * largest, SWEPT)
    if np.all(sizes == np.floor(sizes)):  # steps of E[T] are where a quantum ends with a whole token
        quanta = np.unique(queue.service_time(np.maximum(1.0, np.round(queue.size_at(quanta)))))
    quanta = np.union1d(quanta, found)
    theory = np.asarray(mean_response_time(queue, MLPT(quantum=quanta, levels=levels)))
    sweep = QuantumSweep(levels, quanta, theory, None, None, None)
    if arrivals is None:
        return sweep
    means = [
        float(response_times(queue, MLPT(quantum=float(quantum), levels=levels), arrivals, sizes).mean())
        for quantum in quanta
    ]
    fcfs = float(response_times(queue, FCFS(), arrivals, sizes).mean())
    place = int(np.argmin(means))
    best = (float(quanta[place]), means[place]) if means[place] < fcfs else (math.inf, fcfs)
    return replace(sweep, trace=np.array(means), best_quantum=best[0], best_mean=best[1])
