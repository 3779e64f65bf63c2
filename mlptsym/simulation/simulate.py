"""Mean response times by simulation, and response times on given traces."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym.numeric.capped import CappedGittins
from mlptsym.numeric.gittins_table import gittins_table
from mlptsym.numeric.policies import FCFS, MLPT, Policy
from mlptsym.numeric.queue import Queue
from mlptsym.simulation.gittins_kernel import RestoreLine, compile_gittins_kernel, run_gittins
from mlptsym.simulation.kernels import compile_kernels, level_visits, run
from mlptsym.simulation.traces import LARGEST, MOST_JOBS, draw_trace
from mlptsym.sweeps import on_cluster, sweep
from mlptsym.validation import integer, refuse

__all__ = ["SimulationResult", "response_times", "simulate", "simulate_many"]

MOST_VISITS = 10**9
MOST_LEVELS = 10**7
MOST_SEEDS = 10**5
MOST_WORKERS = 1024

Floats = NDArray[np.float64]
SimulatedPolicy = Policy | CappedGittins
Measure = tuple[float, float]  # mean response time and mean restore time of a trace


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """Simulated mean response time.

    Attributes
    ----------
    mean : float
        Mean over the seeds, in units of service at rate one.
    standard_error : float or None
        Standard deviation of the seeds' means (divisor ``seeds − 1``) over √seeds; ``None`` for a single seed, from
        which no error can be told.
    seed_means : array of float, shape (seeds,)
        Mean response time of the measured jobs of each seed.  Two policies simulated with the same `root_seed`, `jobs`
        and `warmup` met the same jobs: the differences of their `seed_means` scatter far less than either.
    jobs, warmup, seeds, root_seed : int
        As given.
    seed_loads : array of float, shape (seeds,), or None
        Load with restore times of each seed, ρ₀ + λ · (mean restore time of the measured jobs), where theory does not
        give it (`CappedGittins`); ``None`` for other policies, whose load `solve` has exactly.
    """

    mean: float
    standard_error: float | None
    seed_means: Floats
    jobs: int
    warmup: int
    seeds: int
    root_seed: int
    seed_loads: Floats | None = None

    @property
    def effective_load(self) -> float | None:
        """Measured load with restore times, or ``None`` (see `seed_loads`)."""
        return None if self.seed_loads is None else float(self.seed_loads.mean())

    @property
    def stable(self) -> bool | None:
        """Whether the measured load is below one by more than three of its standard errors; ``None`` without a load.

        A queue is stable if and only if the server, once busy all the time, does more work than arrives.  In an
        unstable one that state is soon reached, and the load measured after the warm-up is that of the busy server.
        The measured load scatters far less than the mean response time, as ρ₀ is known and only the restore times are
        sampled.  For a single seed, below one is all that is asked.
        """
        if self.seed_loads is None:
            return None
        load, seeds = float(self.seed_loads.mean()), self.seed_loads.size
        error = float(self.seed_loads.std(ddof=1)) / math.sqrt(seeds) if seeds > 1 else 0.0
        return load + 3 * error < 1


def response_times(queue: Queue, policy: SimulatedPolicy, arrival_times: ArrayLike, sizes: ArrayLike) -> Floats:
    """Response time of every job of a given trace.

    Algorithm 1 of the paper: strict priority between levels, FCFS inside a level, a quantum is never interrupted, an
    unfinished job is demoted at each boundary also when it is alone, and pays the cost of its preemption when it is
    next scheduled.  A job whose service time equals a boundary is complete there.  An arrival at the very instant of a
    decision is admitted before the decision is taken; jobs that arrive together are served in the order given.
    `CappedGittins` has rules of its own, stated there.

    Parameters
    ----------
    queue : Queue
        Its arrival rate is not used, and its size law only by `CappedGittins`, for the index.
    policy : FCFS, MLPT or CappedGittins
    arrival_times : array of float, shape (jobs,)
        Non-decreasing, not negative, in units of service at rate one.
    sizes : array of float, shape (jobs,)
        Intrinsic sizes L, in the same units, not negative.

    Returns
    -------
    array of float, shape (jobs,)
        Time from arrival to completion, in the order given.

    Raises
    ------
    ParameterError
        If a time or size is out of range (the message names its index), the lengths differ, or the policy would cut
        the jobs into more than 10⁹ quanta or 10⁷ levels.

    Examples
    --------
    The second job arrives while the first is served, and overtakes it at its demotion; the first then pays γ · 2.

    >>> from mlptsym.numeric.laws import Exponential
    >>> queue = Queue(Exponential(1.0), arrival_rate=0.5, preemption_cost=0.1)
    >>> response_times(queue, MLPT(quantum=2.0, levels=2), arrival_times=[0.0, 1.0], sizes=[3.0, 1.0])
    array([4.2, 2. ])
    """
    _checked(queue, policy)
    arrivals = _vector("arrival_times", arrival_times)
    intrinsic = _vector("sizes", sizes)
    if arrivals.size != intrinsic.size:
        refuse("sizes", sizes, f"as long as arrival_times: {arrivals.size} numbers, not {intrinsic.size}")
    early = np.flatnonzero(arrivals[1:] < arrivals[:-1])
    if early.size:
        index = int(early[0]) + 1
        refuse(f"arrival_times[{index}]", arrivals[index], f"at least the time before it, {arrivals[index - 1]}")
    if not arrivals.size:
        return np.empty(0)
    return _served(queue, policy, arrivals, _service_times(queue, intrinsic))[0]


def simulate(
    queue: Queue,
    policy: SimulatedPolicy,
    jobs: int = 100_000,
    warmup: int = 20_000,
    seeds: int = 8,
    *,
    root_seed: int = 0,
    workers: int | None = None,
) -> SimulationResult:
    """Mean response time by simulation of independent traces.

    Each seed lets `warmup` + `jobs` Poisson arrivals come to an empty queue and serves them all; the response times of
    the last `jobs` arrivals are averaged.  The answer does not depend on `workers`.  The traces are the same for every
    policy and every parameter of the queue other than its arrival rate and size law (`draw_trace`).

    An unstable queue has no mean response time, but every finite trace has one: the answer is finite, tells how far
    the backlog has grown by then, and grows with `jobs`.

    Parameters
    ----------
    queue : Queue
    policy : FCFS, MLPT or CappedGittins
    jobs : int
        Measured jobs of each seed, >= 1.
    warmup : int
        Jobs before them, which are served and not measured; at most 10⁸ jobs with the measured ones.
    seeds : int
        Number of independent traces, from 1 to 10⁵.
    root_seed : int
        The number all traces derive from, >= 0.
    workers : int, optional
        Threads; by default as many as there are processors.  Inside ``with mlptsym.parallel(dask=…)`` the seeds go to
        the cluster instead.

    Returns
    -------
    SimulationResult

    Raises
    ------
    ParameterError
        If a number is out of range, a drawn time or size exceeds 10²⁰⁰, or the policy would cut a trace into
        more than 10⁹ quanta or 10⁷ levels.

    Examples
    --------
    >>> from mlptsym.numeric.laws import Exponential
    >>> queue = Queue(Exponential(1.0), arrival_rate=0.5)
    >>> result = simulate(queue, FCFS(), jobs=10_000, warmup=1_000, seeds=4)
    >>> abs(result.mean - 2.0) < 4 * result.standard_error  # 1/(μ − λ)
    True
    """
    (result,) = simulate_many(queue, [policy], jobs, warmup, seeds, root_seed=root_seed, workers=workers)
    return result


def simulate_many(
    queue: Queue,
    policies: Iterable[SimulatedPolicy],
    jobs: int = 100_000,
    warmup: int = 20_000,
    seeds: int = 8,
    *,
    root_seed: int = 0,
    workers: int | None = None,
) -> tuple[SimulationResult, ...]:
    """Mean response times of several policies on the same traces, each drawn once.

    Parameters
    ----------
    queue : Queue
    policies : iterable of FCFS, MLPT and CappedGittins
    jobs, warmup, seeds, root_seed, workers
        As for `simulate`.

    Returns
    -------
    tuple of SimulationResult
        One for each policy, the same as `simulate` gives for it alone.

    Raises
    ------
    ParameterError
        As for `simulate`.
    """
    if not isinstance(policies, Iterable):
        refuse("policies", policies, "several policies, each CappedGittins, FCFS or MLPT")
    chosen = list(policies)
    _checked(queue, *chosen)
    jobs = integer("jobs", jobs, at_least=1, at_most=MOST_JOBS)
    warmup = integer("warmup", warmup, at_least=0, at_most=MOST_JOBS - jobs)
    seeds = integer("seeds", seeds, at_least=1, at_most=MOST_SEEDS)
    root_seed = integer("root_seed", root_seed, at_least=0)
    workers = _processors() if workers is None else integer("workers", workers, at_least=1, at_most=MOST_WORKERS)

    def draw(seed: int) -> tuple[Floats, Floats]:
        trace = draw_trace(queue.size, queue.arrival_rate, warmup + jobs, seed=seed, root_seed=root_seed)
        return trace.arrival_times, _service_times(queue, trace.sizes)

    def measure(policy: SimulatedPolicy, arrival_times: Floats, service_times: Floats) -> Measure:
        responses, overheads = _served(queue, policy, arrival_times, service_times)
        overhead = math.nan if overheads is None else float(overheads[warmup:].mean())
        return float(responses[warmup:].mean()), overhead

    if not chosen:
        return ()
    _compile(queue, chosen)
    if on_cluster():
        rows = sweep(lambda seed: _measured(measure, chosen, draw(seed)), range(seeds))
    else:
        rows = list(_in_parallel(draw, measure, chosen, seeds, workers))
    results = []
    for policy, column in zip(chosen, zip(*rows, strict=True), strict=True):
        means, overheads = np.array(column).T
        loads = None
        if isinstance(policy, CappedGittins):
            loads = queue.base_load + queue.arrival_rate * overheads
            loads.flags.writeable = False
        results.append(_result(means.copy(), loads, jobs, warmup, root_seed))
    return tuple(results)


def _measured(
    measure: Callable[[SimulatedPolicy, Floats, Floats], Measure],
    policies: Sequence[SimulatedPolicy],
    trace: tuple[Floats, Floats],
) -> list[Measure]:
    return [measure(policy, *trace) for policy in policies]


def _in_parallel(
    draw: Callable[[int], tuple[Floats, Floats]],
    measure: Callable[[SimulatedPolicy, Floats, Floats], Measure],
    policies: Sequence[SimulatedPolicy],
    seeds: int,
    workers: int,
) -> Iterator[list[Measure]]:
    """Measure every policy on every trace, in threads; give the measures of one trace after the other.

    Small quanta cost a hundred times as much as large ones, so each policy on each trace is a task of its own.  Traces
    are drawn, and kept, for as many seeds at a time as there are workers on either side of the one handed out.
    """
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            traces = deque(pool.submit(draw, seed) for seed in range(min(workers, seeds)))
            rows: deque[list[Future[Measure]]] = deque()
            for seed in range(seeds):
                trace = traces.popleft().result()
                rows.append([pool.submit(measure, policy, *trace) for policy in policies])
                if seed + workers < seeds:
                    traces.append(pool.submit(draw, seed + workers))
                if len(rows) > workers:
                    yield [measured.result() for measured in rows.popleft()]
            for row in rows:
                yield [measured.result() for measured in row]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _result(seed_means: Floats, seed_loads: Floats | None, jobs: int, warmup: int, root_seed: int) -> SimulationResult:
    """Mean and standard error over the seeds, safe from overflow."""
    seeds = seed_means.size
    scale = float(seed_means.max()) or 1.0
    scaled = seed_means / scale
    seed_means.flags.writeable = False
    return SimulationResult(
        mean=scale * float(scaled.mean()),
        standard_error=scale * float(scaled.std(ddof=1)) / math.sqrt(seeds) if seeds > 1 else None,
        seed_means=seed_means,
        jobs=jobs,
        warmup=warmup,
        seeds=seeds,
        root_seed=root_seed,
        seed_loads=seed_loads,
    )


def _served(
    queue: Queue, policy: SimulatedPolicy, arrival_times: Floats, service_times: Floats
) -> tuple[Floats, Floats | None]:
    """Response times, and restore times where they are measured."""
    if isinstance(policy, CappedGittins):
        return _by_index(queue, policy, arrival_times, service_times)
    return _response_times(queue, policy, arrival_times, service_times), None


def _by_index(
    queue: Queue, policy: CappedGittins, arrival_times: Floats, service_times: Floats
) -> tuple[Floats, Floats]:
    """Response and restore times under the Gittins index."""
    jobs, limit, quantum = service_times.size, float(service_times.max()), policy.quantum_for(queue)
    most = jobs * (min(policy.preemptions, limit / quantum + jobs) + 1)
    if most > MOST_VISITS and float(service_times.sum()) / quantum + 2 * jobs > MOST_VISITS:
        least = float(service_times.sum()) / (MOST_VISITS - 2 * jobs)
        refuse("minimum_quantum", quantum, f"at least {least:.3g}, for at most {MOST_VISITS:.0e} quanta of {jobs} jobs")
    with np.errstate(over="ignore", invalid="ignore"):
        line, cost = RestoreLine.of(queue), queue.restore_cost(limit)
    if not cost <= LARGEST:
        refuse("preemption_cost", queue.preemption_cost, f"at most {LARGEST:g} for the memory of the largest job")
    cap = policy.preemptions
    return run_gittins(
        arrival_times, service_times, gittins_table(queue), line, preemptions=cap, minimum_quantum=quantum
    )


def _response_times(queue: Queue, policy: Policy, arrival_times: Floats, service_times: Floats) -> Floats:
    """Response times for service times S; what would take too long is refused beforehand."""
    jobs, limit = service_times.size, float(service_times.max())
    if isinstance(policy, MLPT) and policy.quantum is not None:
        name, length = "quantum", policy.quantum
        if min(policy.levels - 1, limit / length) > MOST_LEVELS:
            refuse(name, length, f"at least {limit / MOST_LEVELS:.3g}: a job of service time {limit:.6g} is simulated")
    else:
        name, length = "quanta", getattr(policy, "quanta", ())
    with np.errstate(over="ignore", invalid="ignore"):
        boundaries = policy.boundaries(limit)
        costs = queue.restore_cost(boundaries)
    if not (costs <= LARGEST).all():
        refuse("preemption_cost", queue.preemption_cost, f"at most {LARGEST:g} for the memory at the last boundary")
    if jobs * (boundaries.size + 1) > MOST_VISITS and (visits := level_visits(service_times, boundaries)) > MOST_VISITS:
        refuse(name, length, f"so long that {jobs} jobs take at most {MOST_VISITS:.0e} quanta, not {visits:.2e}")
    return run(arrival_times, service_times, boundaries, costs, lazy=policy.lazy)


def _service_times(queue: Queue, sizes: Floats) -> Floats:
    """S = q(L), refused where sums over jobs might leave the range of a double."""
    with np.errstate(over="ignore", invalid="ignore"):
        service_times = np.ascontiguousarray(queue.service_time(sizes))
    large = np.flatnonzero(~(service_times <= LARGEST))
    if large.size:
        refuse(f"sizes[{large[0]}]", sizes[large[0]], f"a size with a service time of at most {LARGEST:g}")
    return service_times


def _vector(name: str, values: ArrayLike) -> Floats:
    """A one-dimensional array of numbers from 0 to `LARGEST`."""
    allowed = "a sequence of numbers"
    try:
        given = np.asarray(values)
    except ValueError:  # ragged
        refuse(name, values, allowed)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iuf"):
        refuse(name, values, allowed)
    vector = np.ascontiguousarray(given, dtype=float)
    wrong = np.flatnonzero(~((vector >= 0) & (vector <= LARGEST)))
    if wrong.size:
        refuse(f"{name}[{wrong[0]}]", given[wrong[0]], f"a number >= 0 and <= {LARGEST:g}")
    return vector


def _checked(queue: Queue, *policies: SimulatedPolicy) -> None:
    if not isinstance(queue, Queue):
        refuse("queue", queue, "a Queue")
    for policy in policies:
        if isinstance(policy, CappedGittins):
            gittins_table(queue)  # refuses a law without a mean
            continue
        if not isinstance(policy, (FCFS, MLPT)):
            refuse("policy", policy, "CappedGittins, FCFS or MLPT")
        policy.boundaries(0.0)  # refuses an array of quanta


def _compile(queue: Queue, policies: Sequence[SimulatedPolicy]) -> None:
    """Compile what is not compiled yet, before there are threads."""
    compile_kernels()
    if any(isinstance(policy, CappedGittins) for policy in policies):
        compile_gittins_kernel()
    queue.restore_cost(queue.service_time(np.zeros(1)))


def _processors() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
