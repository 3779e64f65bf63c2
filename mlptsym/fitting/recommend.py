"""The policy to use for a trace: theory for Poisson arrivals, simulation of them, and the trace itself beside both.

Sizes are in tokens, and the unit of time is that in which one token is served at rate one, so that λ is the number of
arrivals while one token is served.  How seconds become such units is a `TimeScale`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym.arrays import floats
from mlptsym.fitting.arrivals import arrival_times
from mlptsym.laws.empirical import Empirical
from mlptsym.likelihood import Sample
from mlptsym.numeric.mean.response import mean_response_time, solve
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.optimal.optimum import Optimum, optimal_quantum
from mlptsym.simulation.control import jobs_needed
from mlptsym.simulation.simulate import response_times
from mlptsym.simulation.traces import draw_trace
from mlptsym.validation import LARGEST, SMALLEST, ParameterError, instance, integer, magnitude, number, numbers, refuse

__all__ = [
    "DEFAULT_LEVELS",
    "DEFAULT_LOAD",
    "Comparison",
    "Outcome",
    "QuantumSweep",
    "Recommendation",
    "Simulated",
    "Tail",
    "TimeScale",
    "recommend",
    "time_scale",
]

Floats = NDArray[np.float64]

DEFAULT_LOAD = 0.8
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


@dataclass(frozen=True)
class TimeScale:
    """How the seconds of a trace become units of service time.

    Attributes
    ----------
    arrival_rate : float
        λ, arrivals per unit of service time.
    tokens_per_second : float or None
        Speed of the server: as given, or the one at which the trace's own times give λ; None if only λ is known.
    stretch : float or None
        How many times faster than recorded the requests arrive; None for a trace without times.
    assumed_load : float or None
        The base load, if it had to be assumed.
    """

    arrival_rate: float
    tokens_per_second: float | None
    stretch: float | None
    assumed_load: float | None = None

    def __post_init__(self) -> None:
        number("arrival_rate", self.arrival_rate, at_least=SMALLEST**2, at_most=LARGEST**2)
        for name in ("tokens_per_second", "stretch", "assumed_load"):
            if (value := getattr(self, name)) is not None:
                number(name, value, above=0)

    def seconds(self, units: float) -> float | None:
        """A time in seconds, if the speed is known."""
        time = number("units", units, at_least=0, infinite=True)
        return None if self.tokens_per_second is None else time / self.tokens_per_second


def time_scale(
    mean_service_time: float,
    recorded_rate: float | None,
    *,
    tokens_per_second: float | None = None,
    arrival_rate: float | None = None,
    load: float | None = None,
) -> TimeScale:
    """How seconds become units of service time.

    Parameters
    ----------
    mean_service_time : float
        E[S], in units of service time.
    recorded_rate : float or None
        Arrivals per second in the trace; None for a trace without times.
    tokens_per_second : float, optional
        Tokens that the server serves in a second at rate one.
    arrival_rate : float, optional
        Arrivals per second, or without ``tokens_per_second`` per unit of service time; in place of the trace's own.
    load : float, optional
        Base load ρ₀ from which the arrival rate follows; not together with ``arrival_rate``.

    Returns
    -------
    TimeScale
        Where a rate or load is given, the trace's times are stretched to it if the speed is given too; otherwise the
        speed follows from them.  Where neither the trace nor its reader says how busy the server is, a base load of 0.8
        is assumed.

    Raises
    ------
    ParameterError
        If a number is outside its range, or both rate and load are given.

    Examples
    --------
    >>> time_scale(200.0, 5.0, tokens_per_second=1250.0)
    TimeScale(arrival_rate=0.004, tokens_per_second=1250.0, stretch=1.0, assumed_load=None)
    >>> time_scale(200.0, 5.0, load=0.5)
    TimeScale(arrival_rate=0.0025, tokens_per_second=2000.0, stretch=1.0, assumed_load=None)
    >>> time_scale(200.0, 5.0, tokens_per_second=1250.0, load=0.5).stretch
    0.625
    """
    mean = magnitude("mean_service_time", mean_service_time)
    recorded = None if recorded_rate is None else magnitude("recorded_rate", recorded_rate)
    speed = None if tokens_per_second is None else magnitude("tokens_per_second", tokens_per_second)
    wanted = None if arrival_rate is None else number("arrival_rate", arrival_rate, above=0)
    busy = None if load is None else number("load", load, above=0, below=1)
    if wanted is not None and busy is not None:
        refuse("load", busy, "left out when a rate is given")
    assumed = None
    if wanted is None and busy is None and (speed is None or recorded_rate is None):
        assumed = busy = DEFAULT_LOAD
    if busy is not None:
        rate = busy / mean
    elif wanted is not None:
        rate = wanted / (speed or 1.0)
    else:
        rate = (recorded or 1.0) / (speed or 1.0)  # both are given
    if not SMALLEST**2 <= rate <= LARGEST**2:
        given = {"load": busy, "tokens_per_second": speed, "arrival_rate": wanted}
        name, value = next(item for item in given.items() if item[1] is not None)
        refuse(name, value, "such that between 1e-60 and 1e60 jobs arrive in a unit of service time")
    if recorded is None:
        return TimeScale(rate, speed, None, assumed)
    if speed is None:
        return TimeScale(rate, recorded / rate, 1.0, assumed)
    return TimeScale(rate, speed, rate * speed / recorded, assumed)


@dataclass(frozen=True, eq=False)
class Tail:
    """P(T > t) at some times t."""

    times: Floats
    probability: Floats


@dataclass(frozen=True, eq=False)
class Outcome:
    """Mean and 99th percentile of the response time, in units of service time.

    Attributes
    ----------
    mean, p99 : float
    tail : Tail or None
        From the median on; None where it could not be computed.
    standard_error, p99_standard_error : float or None
        Of a simulation, told from its seeds.
    """

    mean: float
    p99: float
    tail: Tail | None = None
    standard_error: float | None = None
    p99_standard_error: float | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """A policy by theory, in simulations of the Poisson arrivals it assumes, and with the trace's own arrivals.

    Attributes
    ----------
    policy : FCFS or MLPT
    kind : str
        As in `Optimum`; "fcfs" for FCFS.
    theory : Outcome
        Exact for Poisson arrivals and the empirical law.
    p99_source : str
        "theory"; or "simulation" where the distribution could not be computed, and the p99 is that of ``poisson``.
    poisson : Outcome
        Simulated: sizes drawn from the trace independently, Poisson arrivals.
    trace : Outcome or None
        Simulated: every request at its own time with its own size, the server empty at first, all requests counted.
        None for a trace without times.
    as_recorded : Outcome or None
        The same with the times that a coarse clock wrote, where those of ``trace`` are others.
    gain, trace_gain : float or None
        1 − E[T]/E[T of FCFS], by theory and on the trace.
    effective_load : float
    """

    policy: Policy
    kind: str
    theory: Outcome
    p99_source: str
    poisson: Outcome
    trace: Outcome | None
    as_recorded: Outcome | None
    gain: float | None
    trace_gain: float | None
    effective_load: float


@dataclass(frozen=True, eq=False)
class QuantumSweep:
    """Mean response time against the quantum for one number of levels, by theory and on the trace.

    Attributes
    ----------
    levels : float
    quanta, theory : array of float
    trace : array of float or None
    best_quantum, best_mean : float or None
        The best on the trace in hindsight, FCFS (``inf``) included.
    """

    levels: float
    quanta: Floats
    theory: Floats
    trace: Floats | None
    best_quantum: float | None
    best_mean: float | None


@dataclass(frozen=True)
class Simulated:
    """What the simulations of Poisson arrivals consist of.

    Attributes
    ----------
    seeds : int
        Independent traces, the same for each policy.
    jobs : int
        Measured jobs of each.
    warmup : int
        Jobs before these, and again after them, that are served but not measured.
    settled : bool
        Whether the queue forgets within the jobs before that it was empty at first.
    """

    seeds: int
    jobs: int
    warmup: int
    settled: bool


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What to do, and what it rests on.

    Attributes
    ----------
    queue : Queue
    scale : TimeScale
    optima : tuple of Optimum
        For each number of levels that was asked for.
    comparisons : tuple of Comparison
        FCFS, then the best quantum of each number of levels where one is better than FCFS.
    recommended : int
        Index of the policy to use: the one with the least mean by theory, or one of fewer levels (FCFS has one) whose
        mean is within half a per cent of it.
    sweep : QuantumSweep
        Over the quantum with the levels recommended, or with the first asked for if that is FCFS.
    simulated : Simulated
    """

    queue: Queue
    scale: TimeScale
    optima: tuple[Optimum, ...]
    comparisons: tuple[Comparison, ...]
    recommended: int
    sweep: QuantumSweep
    simulated: Simulated

    @property
    def fcfs(self) -> Comparison:
        """FCFS."""
        return self.comparisons[0]

    @property
    def best(self) -> Comparison:
        """The policy recommended."""
        return self.comparisons[self.recommended]

    @property
    def stable(self) -> bool:
        """Whether the base load is below one."""
        return self.queue.base_load < 1


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
