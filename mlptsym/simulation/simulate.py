"""Mean response times by simulation, and response times on given traces."""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym.numeric.gittins.capped import CappedGittins
from mlptsym.numeric.gittins.table import gittins_table
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.simulation.control import ControlPlan, adjusted, compile_control, control_plan
from mlptsym.simulation.gittins_kernel import RestoreLine, compile_gittins_kernel, run_gittins
from mlptsym.simulation.kernels import compile_kernels, level_visits, run
from mlptsym.simulation.streaming import Serve, in_pieces, mean_response_times
from mlptsym.simulation.traces import LARGEST, MOST_JOBS, PIECE, draw_pieces, draw_trace
from mlptsym.sweeps import on_cluster, sweep
from mlptsym.validation import flag, integer, number, refuse

__all__ = ["SimulationResult", "response_times", "simulate", "simulate_many"]

MOST_VISITS = 10**9
MOST_LEVELS = 10**7
MOST_SEEDS = 10**5
MOST_WORKERS = 1024
TASKS = 4  # for each worker and trace

Floats = NDArray[np.float64]
SimulatedPolicy = Policy | CappedGittins
Run = tuple[SimulatedPolicy, ControlPlan | None]
Measure = tuple[float, float, Floats | None]  # of a trace: mean response time, mean restore time, batches of controls


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
    controls : tuple of str
        With control variates, what they are.  The mean and its standard error are then those of
        `mlptsym.simulation.control.adjusted`; `seed_means` are as without.
    degrees_of_freedom : int or None
        ``seeds − 1``, those of Student's law in a confidence interval (`half_width`); ``None`` for a single seed.
    variance_reduction : float or None
        How many times smaller control variates make the estimated variance of the mean; ``None`` without them.
    """

    mean: float
    standard_error: float | None
    seed_means: Floats
    jobs: int
    warmup: int
    seeds: int
    root_seed: int
    seed_loads: Floats | None = None
    controls: tuple[str, ...] = ()
    degrees_of_freedom: int | None = None
    variance_reduction: float | None = None

    def half_width(self, confidence: float = 0.95) -> float:
        """Half the width of a confidence interval around `mean`; ``inf`` for a single seed.

        Parameters
        ----------
        confidence : float
            Probability that it covers the mean response time, in (0, 1).
        """
        level = number("confidence", confidence, above=0, below=1)
        if self.standard_error is None or self.degrees_of_freedom is None:
            return math.inf
        from scipy.special import stdtrit

        return self.standard_error * float(stdtrit(self.degrees_of_freedom, (1 + level) / 2))

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

    >>> from mlptsym import Exponential
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
    service_times = _service_times(queue, intrinsic)
    if isinstance(policy, CappedGittins):
        return _by_index(queue, policy, arrivals, service_times)[0]
    return _server(queue, policy, arrivals.size)(arrivals, service_times)


def simulate(
    queue: Queue,
    policy: SimulatedPolicy,
    jobs: int = 100_000,
    warmup: int = 20_000,
    seeds: int = 8,
    *,
    root_seed: int = 0,
    control: bool = False,
    workers: int | None = None,
) -> SimulationResult:
    """Mean response time by simulation of independent traces.

    Each seed lets `warmup` + `jobs` Poisson arrivals come to an empty queue and serves them all; the response times of
    the last `jobs` arrivals are averaged.  The answer does not depend on `workers`.  The traces are the same for every
    policy and every parameter of the queue other than its arrival rate and size law (`draw_trace`).

    An unstable queue has no mean response time, but every finite trace has one: the answer is finite, tells how far
    the backlog has grown by then, and grows with `jobs`.

    A trace of more than 2²⁰ jobs is drawn and served in pieces, one for each worker at a time: the memory needed does
    not grow with `jobs`, unless the queue is unstable.  `CappedGittins` and control variates hold whole traces.

    Parameters
    ----------
    queue : Queue
    policy : FCFS, MLPT or CappedGittins
    jobs : int
        Measured jobs of each seed, from 1 to 10⁸.
    warmup : int
        Jobs before them, which are served and not measured; at most 10⁸, and where whole traces are held, at most 10⁸
        jobs together with the measured ones.
    seeds : int
        Number of independent traces, from 1 to 10⁵.
    root_seed : int
        The number all traces derive from, >= 0.
    control : bool
        Whether to sharpen the mean with control variates: quantities of the same traces whose means are known exactly
        (`mlptsym.simulation.control`).  The variance of the mean is then 10 to 1000 times smaller.
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
        more than 10⁹ quanta or 10⁷ levels.  With ``control``, also where no honest standard error can be given
        (`control_plan`): for an unstable queue, other policies than FCFS and MLPT, sizes with too heavy a tail, and
        traces too short for the load.

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> queue = Queue(Exponential(1.0), arrival_rate=0.5)
    >>> result = simulate(queue, FCFS(), jobs=10_000, warmup=1_000, seeds=4)
    >>> abs(result.mean - 2.0) < 4 * result.standard_error  # 1/(μ − λ)
    True
    >>> sharper = simulate(queue, MLPT(quantum=1.0, levels=2), jobs=10_000, warmup=1_000, seeds=8, control=True)
    >>> sharper.variance_reduction > 100
    True
    """
    counts = (jobs, warmup, seeds)
    (result,) = simulate_many(queue, [policy], *counts, root_seed=root_seed, control=control, workers=workers)
    return result


def simulate_many(
    queue: Queue,
    policies: Iterable[SimulatedPolicy],
    jobs: int = 100_000,
    warmup: int = 20_000,
    seeds: int = 8,
    *,
    root_seed: int = 0,
    control: bool = False,
    workers: int | None = None,
) -> tuple[SimulationResult, ...]:
    """Mean response times of several policies on the same traces, each drawn once.

    Parameters
    ----------
    queue : Queue
    policies : iterable of FCFS, MLPT and CappedGittins
    jobs, warmup, seeds, root_seed, control, workers
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
    control = flag("control", control)
    jobs = integer("jobs", jobs, at_least=1, at_most=MOST_JOBS)
    whole = control or any(isinstance(policy, CappedGittins) for policy in chosen)
    warmup = integer("warmup", warmup, at_least=0, at_most=MOST_JOBS - jobs if whole else MOST_JOBS)
    seeds = integer("seeds", seeds, at_least=1, at_most=MOST_SEEDS)
    root_seed = integer("root_seed", root_seed, at_least=0)
    workers = _processors() if workers is None else integer("workers", workers, at_least=1, at_most=MOST_WORKERS)

    def draw(seed: int) -> tuple[Floats, Floats]:
        trace = draw_trace(queue.size, queue.arrival_rate, warmup + jobs, seed=seed, root_seed=root_seed)
        return trace.arrival_times, _service_times(queue, trace.sizes)

    plans = [control_plan(queue, policy, jobs, warmup, seeds) if control else None for policy in chosen]

    def measure(run: Run, arrival_times: Floats, service_times: Floats) -> Measure:
        policy, plan = run
        if isinstance(policy, CappedGittins):
            responses, overheads = _by_index(queue, policy, arrival_times, service_times)
            return float(responses[warmup:].mean()), float(overheads[warmup:].mean()), None
        if plan is not None:
            levels = _levels(queue, policy, service_times, service_times.size)
            responses, batches = plan.measure(arrival_times, service_times, *levels, lazy=policy.lazy)
            return float(responses[warmup:].mean()), math.nan, batches
        server = _server(queue, policy, warmup + jobs)
        (mean,) = mean_response_times(in_pieces(arrival_times, service_times), [server], jobs, warmup)
        return mean, math.nan, None

    def stream(seed: int, stopped: Callable[[], bool] = lambda: False) -> list[Measure]:
        drawn = draw_pieces(queue.size, queue.arrival_rate, warmup + jobs, seed=seed, root_seed=root_seed)
        trace = ((piece.arrival_times, _service_times(queue, piece.sizes)) for piece in drawn)
        servers = [_server(queue, policy, warmup + jobs) for policy in chosen if not isinstance(policy, CappedGittins)]
        means = mean_response_times(takewhile(lambda _: not stopped(), trace), servers, jobs, warmup)
        return [(mean, math.nan, None) for mean in means]

    if not chosen:
        return ()
    _compile(queue, chosen)
    if control:
        compile_control()
    runs = list(zip(chosen, plans, strict=True))
    if warmup + jobs > PIECE and not whole:
        rows = sweep(stream, range(seeds)) if on_cluster() else _streamed(stream, seeds, workers)
    elif on_cluster():
        rows = sweep(lambda seed: _measured(measure, runs, draw(seed)), range(seeds))
    else:
        rows = list(_in_parallel(draw, measure, runs, seeds, workers))
    results = []
    for (policy, plan), column in zip(runs, zip(*rows, strict=True), strict=True):
        means, overheads = np.array([measured[:2] for measured in column]).T
        loads = None
        if isinstance(policy, CappedGittins):
            loads = queue.base_load + queue.arrival_rate * overheads
            loads.flags.writeable = False
        result = _result(means.copy(), loads, jobs, warmup, root_seed)
        results.append(result if plan is None else _adjusted(result, plan, [batches for *_, batches in column]))
    return tuple(results)


def _measured(
    measure: Callable[[Run, Floats, Floats], Measure], runs: Sequence[Run], trace: tuple[Floats, Floats]
) -> list[Measure]:
    return [measure(run, *trace) for run in runs]


def _in_parallel(
    draw: Callable[[int], tuple[Floats, Floats]],
    measure: Callable[[Run, Floats, Floats], Measure],
    runs: Sequence[Run],
    seeds: int,
    workers: int,
) -> Iterator[list[Measure]]:
    """Measure every policy on every trace, in threads; give the measures of one trace after the other.

    Small quanta cost a hundred times as much as large ones, so the policies are dealt out like cards to several tasks
    for each worker.  Traces are drawn, and kept, for as many seeds at a time as there are workers on either side of the
    one handed out.
    """
    tasks, stopped = min(len(runs), TASKS * workers), threading.Event()

    def hand(first: int, trace: tuple[Floats, Floats]) -> list[Measure]:
        return [measure(run, *trace) for run in runs[first::tasks] if not stopped.is_set()]

    def row(hands: Sequence[Future[list[Measure]]]) -> list[Measure]:
        dealt = [hand.result() for hand in hands]
        return [dealt[place % tasks][place // tasks] for place in range(len(runs))]

    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            traces = deque(pool.submit(draw, seed) for seed in range(min(workers, seeds)))
            rows: deque[list[Future[list[Measure]]]] = deque()
            for seed in range(seeds):
                trace = traces.popleft().result()
                rows.append([pool.submit(hand, first, trace) for first in range(tasks)])
                if seed + workers < seeds:
                    traces.append(pool.submit(draw, seed + workers))
                if len(rows) > workers:
                    yield row(rows.popleft())
            for hands in rows:
                yield row(hands)
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _streamed(
    stream: Callable[[int, Callable[[], bool]], list[Measure]], seeds: int, workers: int
) -> list[list[Measure]]:
    """Measure every policy on the traces as they are drawn, each trace in a thread; an error ends them all."""
    stopped = threading.Event()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            return list(pool.map(lambda seed: stream(seed, stopped.is_set), range(seeds)))
        finally:
            stopped.set()


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
        degrees_of_freedom=seeds - 1 if seeds > 1 else None,
    )


def _adjusted(plain: SimulationResult, plan: ControlPlan, batches: Sequence[Floats | None]) -> SimulationResult:
    """The result with what the controls make of it."""
    sharper = adjusted(np.array(batches))
    reduction = math.inf
    if sharper.standard_error > 0 and plain.standard_error is not None:
        reduction = (plain.standard_error / sharper.standard_error) ** 2
    return replace(
        plain,
        mean=sharper.mean,
        standard_error=sharper.standard_error,
        controls=plan.names,
        degrees_of_freedom=sharper.degrees_of_freedom,
        variance_reduction=reduction,
    )


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


def _server(queue: Queue, policy: Policy, jobs: int) -> Serve:
    """What gives response times for service times S, on a part of a trace of so many jobs."""

    def serve(arrival_times: Floats, service_times: Floats) -> Floats:
        boundaries, costs = _levels(queue, policy, service_times, jobs)
        unload = queue.unload_cost * queue.memory.growth(boundaries) if queue.unload_cost > 0 else None
        return run(arrival_times, service_times, boundaries, costs, lazy=policy.lazy, unload_costs=unload)

    return serve


def _levels(queue: Queue, policy: Policy, service_times: Floats, trace_jobs: int) -> tuple[Floats, Floats]:
    """Boundaries that a part of a trace may reach, and the restore costs there; what would take too long is refused."""
    jobs, limit = service_times.size, float(service_times.max())
    most = MOST_VISITS * jobs / trace_jobs
    if isinstance(policy, MLPT) and policy.quantum is not None:
        name, length = "quantum", policy.quantum
        if min(policy.levels - 1, limit / length) > MOST_LEVELS:
            refuse(name, length, f"at least {limit / MOST_LEVELS:.3g}: a job of service time {limit:.6g} is simulated")
    else:
        name, length = "quanta", getattr(policy, "quanta", ())
    with np.errstate(over="ignore", invalid="ignore"):
        boundaries = policy.boundaries(limit)
        costs = queue.restore_cost(boundaries)
        unload = queue.unload_cost * queue.memory.growth(boundaries)
    if not (costs + unload <= LARGEST).all():
        refuse("preemption_cost", queue.preemption_cost, f"at most {LARGEST:g} for the memory at the last boundary")
    if jobs * (boundaries.size + 1) > most and (visits := level_visits(service_times, boundaries)) > most:
        refuse(name, length, f"so long that {jobs} jobs take at most {most:.0e} quanta, not {visits:.2e}")
    return boundaries, costs


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
            queue.refuse_unloading("capped Gittins")
            gittins_table(queue)  # refuses a law without a mean
            continue
        if not isinstance(policy, (FCFS, MLPT)):
            refuse("policy", policy, "CappedGittins, FCFS or MLPT")
        policy.boundaries(0.0)  # refuses an array of quanta
        if policy.lazy:
            queue.refuse_unloading("MLPT′, which decides at the end of a quantum whether anything is moved")


def _compile(queue: Queue, policies: Sequence[SimulatedPolicy]) -> None:
    """Compile what is not compiled yet, before there are threads."""
    compile_kernels()
    if any(isinstance(policy, CappedGittins) for policy in policies):
        compile_gittins_kernel()
    queue.restore_cost(queue.service_time(np.zeros(1)))


def _processors() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
