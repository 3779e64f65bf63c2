"""Control variates: what is known exactly of a simulated trace sharpens the mean response time measured on it.

Each control is a quantity whose mean in steady state is known without the theory of MLPT: by the law of the sizes, by
Pollaczek and Khinchine, or because the size of a job and the arrivals to come are independent of the past, whatever the
server does.  So a wrong formula is not confirmed, and a wrong simulation not corrected, by its own controls.

Literature: Asmussen and Glynn, *Stochastic Simulation* (2007), section V.2; Lavenberg and Welch, *A perspective on the
use of control variables*, Management Science 27 (1981) 322–335; Bell and McCaffrey, *Bias reduction in
standard errors for linear regression with multi-stage samples*, Survey Methodology 28 (2002) 169–181; Kleinrock,
*Queueing Systems* II (1976), section 4.7, for levels whose quanta are interrupted by arrivals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlptsym.compile.machine_code import machine_code
from mlptsym.numeric.mean.response import moments_needed, solve
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.simulation.kernels import compile_observed, run_interrupted, run_observed
from mlptsym.validation import refuse

__all__ = ["CONTROLS", "Adjusted", "ControlPlan", "adjusted", "compile_control", "control_plan", "jobs_needed"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CONTROLS = (
    "wait under FCFS",
    "response time with interrupted quanta",
    "square of the service time",
    "wait less its integral over time",
    "wait times service time",
    "service time",
    "interarrival time",
    "squares of the later quanta",
    "wait for first quanta alone",
    "wait times first quantum",
    "wait of the jobs beyond the first quantum",
    "share of the jobs beyond the first quantum",
)
"""The controls, in the order in which they are taken; see `control_plan`."""

_OF_FCFS = range(2, 7)

RAREST = 1e-9  # share of the jobs that pass the last boundary of the queue with interrupted quanta
MOST_BOUNDARIES = 1000
FEWEST_CROSSINGS = 1000
FEWEST_SEEDS = 4
FEWEST_JOBS = 1000
WARMUP_RELAXATIONS, MEASURED_RELAXATIONS = 4, 20
BATCHES, BATCHES_OF_A_CONTROL = 80, 5  # few and long batches, in which most of what begins also ends
SHORTEST_BATCH = 50
CONSTANT = 1e-9  # a control that varies less, in units of its usual size, is rounding


@dataclass(frozen=True, eq=False)
class ControlPlan:
    """The controls of one policy in one queue."""

    chosen: tuple[int, ...]  # Which of `CONTROLS`
    means: Floats  # The known mean of each of `CONTROLS` (of no meaning where it is not chosen)
    units: Floats  # The usual size of each
    # Those of the queue with interrupted quanta; empty where only the controls of FCFS are chosen
    boundaries: Floats
    costs: Floats
    first_end: float  # Where the policy's first quantum ends; ``inf`` for FCFS
    centres: Floats  # E[S], E[min(S, t_1)] and P(S > t_1)
    arrival_rate: float  # λ
    edges: Integers  # First job of each batch of measured jobs, and the length of the trace

    @property
    def names(self) -> tuple[str, ...]:
        """What the chosen controls are."""
        return tuple(CONTROLS[index] for index in self.chosen)

    def measure(
        self, arrival_times: Floats, service_times: Floats, boundaries: Floats, costs: Floats, *, lazy: bool
    ) -> tuple[Floats, Floats]:
        """Serve a trace.

        Parameters
        ----------
        arrival_times, service_times, boundaries, costs, lazy
            As in `mlptsym.simulation.kernels.run`.

        Returns
        -------
        response_times : array of float, shape (jobs,)
        batches : array of float, shape (batches, 1 + controls)
            Mean over the jobs of each batch: response time, and each chosen control less its known mean, in its unit.
        """
        responses, waits, areas = run_observed(arrival_times, service_times, boundaries, costs, lazy=lazy)
        interrupted = responses
        if self.boundaries.size:
            interrupted = run_interrupted(arrival_times, service_times, self.boundaries, self.costs)
        sums = np.zeros((self.edges.size - 1, 1 + len(CONTROLS)))
        ends = np.append(self.boundaries, np.inf)
        trace = (arrival_times, service_times, responses, interrupted, waits, areas)
        known = (ends, self.costs, self.first_end, self.centres, self.arrival_rate, self.edges)
        machine_code(_observe, _SIGNATURE)(*trace, *known, sums)
        batches = sums / np.diff(self.edges)[:, None]
        batches[:, 1:] = (batches[:, 1:] - self.means) / self.units
        return responses, batches[:, [0, *(1 + index for index in self.chosen)]]


def control_plan(queue: Queue, policy: object, jobs: int, warmup: int, seeds: int) -> ControlPlan:
    """Choose the controls by rule, or refuse where no honest standard error can be had.

    Parameters
    ----------
    queue : Queue
    policy : FCFS or MLPT
    jobs, warmup, seeds : int
        As in `mlptsym.simulation.simulate.simulate`.

    Returns
    -------
    ControlPlan

    Raises
    ------
    ParameterError
        For another policy, an unstable queue, sizes without the moments needed, or too few seeds, measured jobs or
        jobs before them.

    Notes
    -----
    With w the time from a job's arrival to its first service, and V(t) the wait an arrival at t would have, the
    controls are

    - from the trace: interarrival time, S, S², the number of jobs beyond the first boundary, and Σ_{r>1} Y_r², Y_r
      being what a job is served in level r, the restore cost at its head included;
    - by Pollaczek and Khinchine, λE[X²]/(2(1 − λE[X])): the wait under FCFS with X = S, and with X = min(S, t_1);
    - the response time where arrivals interrupt every quantum but the first, at no cost.  A job that completes in
      level j is then done when all it finds of the levels up to j, and its own service and costs, are done, and
      whatever of the levels up to j − 1 arrives meanwhile: E[T; J = j] = (p_j λE[X_j²]/(2(1 − λE[X_j])) + E[S^eff;
      J = j])/(1 − λE[X_{j−1}]), X_j being what a job is served up to level j;
    - with mean zero, as a size is independent of the jobs before: w(S − E[S]), w(min(S, t_1) − E[min(S, t_1)]) and
      w(1{S > t_1} − P(S > t_1));
    - with mean zero, as arrivals are Poisson: w_{n+1} − λ∫V(t) dt from arrival n to arrival n + 1.

    Which: all of them, as far as five batches for each go; only the third to seventh of `CONTROLS`, for FCFS itself,
    whose own wait would leave nothing to measure, and where fewer than 1000 jobs are expected to pass the first
    boundary, which is too few to tell how the policy differs from FCFS.  The queue with interrupted quanta has the
    boundaries that at least one job in 10⁹ passes, but at most 1000, and a last level that serves to completion.

    The variance of a mean of n waits is of the order 1/n only if E[S⁴] is finite, and that of n response times with
    E[S³] in their mean, where restore costs grow with the levels, if E[S⁶] is: such moments are asked for.  A queue
    forgets that it was empty in about 2λ²E[S^eff²]/(1 − ρ)² arrivals, the relaxation time of reflected Brownian motion
    with its drift and variance; four times as many must pass before the measured jobs, and these be twenty times as
    many.
    """
    queue.refuse_unloading("control variates")
    if not isinstance(policy, (FCFS, MLPT)):
        refuse("policy", policy, "FCFS or MLPT with control variates")
    order = max(4, 2 * moments_needed(queue, policy.levels))
    if not queue.size.moment_limit > order:
        refuse("control", True, f"False where E[L^{order}] is infinite: no standard error tells how such means scatter")
    boundaries = _frequent_boundaries(queue, policy)
    relaxation = _relaxation(queue, policy, boundaries)
    if seeds < FEWEST_SEEDS:
        refuse("seeds", seeds, f"at least {FEWEST_SEEDS} with control variates")
    for name, given, needed in zip(("warmup", "jobs"), (warmup, jobs), _needed(relaxation), strict=True):
        if given < needed:
            refuse(name, given, f"at least {needed} with control variates at this load")
    if boundaries.size and seeds * jobs * float(queue.service_moments(boundaries[0])[0]) < FEWEST_CROSSINGS:
        boundaries = boundaries[:0]
    costs = queue.restore_cost(boundaries)
    known = _Known.of(queue, boundaries, costs)
    count = int(min(math.ceil(BATCHES / seeds), jobs // max(SHORTEST_BATCH, relaxation)))
    means = known.controls(queue)
    candidates = range(len(CONTROLS)) if boundaries.size else _OF_FCFS
    return ControlPlan(
        chosen=tuple(candidates)[: seeds * count // BATCHES_OF_A_CONTROL],
        means=means,
        units=_units(means, known),
        boundaries=boundaries,
        costs=costs,
        first_end=_first_end(policy),
        centres=np.array([queue.mean_service_time, known.work[0], known.beyond_first]),
        arrival_rate=queue.arrival_rate,
        edges=np.linspace(warmup, warmup + jobs, count + 1).round().astype(np.int64),
    )


def jobs_needed(queue: Queue, policy: FCFS | MLPT) -> tuple[int, int]:
    """Fewest jobs before the measured ones, and fewest measured jobs of each seed, with control variates.

    Raises
    ------
    ParameterError
        If the queue is unstable.

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> jobs_needed(Queue(Exponential(1.0), arrival_rate=0.85), FCFS())
    (514, 2569)
    """
    queue.refuse_unloading("an estimate of how many jobs are needed")
    return _needed(_relaxation(queue, policy, _frequent_boundaries(queue, policy)))


def _needed(relaxation: float) -> tuple[int, int]:
    return math.ceil(WARMUP_RELAXATIONS * relaxation), max(FEWEST_JOBS, math.ceil(MEASURED_RELAXATIONS * relaxation))


def _relaxation(queue: Queue, policy: FCFS | MLPT, boundaries: Floats) -> float:
    """Number of arrivals in which the queue forgets its state."""
    load = solve(queue, policy if isinstance(policy, FCFS) else replace(policy, lazy=False)).effective_load
    if not load < 1:
        refuse("control", True, f"False for an unstable queue (load with restore costs {load:.6g})")
    square = float(_Known.of(queue, boundaries, queue.restore_cost(boundaries)).work_square[-1])
    return 2 * queue.arrival_rate**2 * square / float(1 - load) ** 2


@dataclass(frozen=True)
class Adjusted:
    """A mean with what the controls tell of its error taken off."""

    mean: float
    standard_error: float
    degrees_of_freedom: int  # Of Student's law, for confidence intervals


def adjusted(batches: Floats) -> Adjusted:
    """Mean response time by regression on the controls.

    The intercept of the least-squares line over all batches, and its standard error CR2 of Bell and McCaffrey.  It is
    told from the seeds, which are independent, and not from the batches of one, which are not; it is unbiased where all
    batches scatter alike, and consistent where they do not, as when one of them holds a giant job.

    Parameters
    ----------
    batches : array of float, shape (seeds, batches, 1 + controls)
        As from `ControlPlan.measure`.
    """
    rows = batches.reshape(-1, batches.shape[-1])
    unit = float(rows[:, 0].max()) or 1.0
    spread = rows[:, 1:].std(axis=0)
    controls = rows[:, 1:][:, spread > CONSTANT] / spread[spread > CONSTANT]
    design = np.column_stack((np.ones(len(rows)), controls))
    left, singular, right = np.linalg.svd(design, full_matrices=False)
    rank = int(np.count_nonzero(singular > CONSTANT * singular[0]))
    left, singular, right = left[:, :rank], singular[:rank], right[:rank]
    response = rows[:, 0] / unit
    residuals = response - left @ (left.T @ response)
    weights = left @ (right[:, 0] / singular)  # the intercept is the sum of the responses with these weights
    seeds, count = batches.shape[:2]
    basis = left.reshape(seeds, count, rank)
    kept, directions = np.linalg.eigh(np.eye(count) - basis @ basis.transpose(0, 2, 1))
    whitened = np.einsum("sij,si->sj", directions, residuals.reshape(seeds, count)) / np.sqrt(
        np.maximum(kept, CONSTANT)
    )
    parts = np.einsum("si,sij,sj->s", weights.reshape(seeds, count), directions, whitened)
    error = math.sqrt(float((parts**2).sum()))
    return Adjusted(unit * float(weights @ response), unit * error, seeds - 1)


def compile_control() -> None:
    """Compile the loops, or load them, unless this process has done so."""
    compile_observed()
    machine_code(_observe, _SIGNATURE)


def _first_end(policy: FCFS | MLPT) -> float:
    """t_1."""
    if isinstance(policy, FCFS) or policy.levels == 1:
        return math.inf
    return float(policy.quantum if policy.quanta is None else policy.quanta[0])


def _frequent_boundaries(queue: Queue, policy: FCFS | MLPT) -> Floats:
    """The boundaries that some jobs pass, and not too few."""
    if isinstance(policy, FCFS):
        return np.empty(0)
    ages = queue.mean_service_time * 2.0 ** np.arange(-60.0, 200.0, 0.1)
    limit = float(ages[np.count_nonzero(queue.service_moments(ages)[0] >= RAREST)])
    if policy.quanta is None:
        policy = replace(policy, levels=min(policy.levels, MOST_BOUNDARIES + 1))
    return policy.boundaries(limit)[:MOST_BOUNDARIES]


@dataclass(frozen=True, eq=False)
class _Known:
    """Exact means for levels with boundaries t_1 < … < t_K, the last serving to completion."""

    # P(J = j) and E[S^eff; J = j]
    probability: Floats
    completed: Floats
    # E[X_j] and E[X_j²]
    work: Floats
    work_square: Floats
    later_squares: float  # Σ_{r>1} E[Y_r²]
    beyond_first: float  # P(S > t_1), 0 without boundaries

    @classmethod
    def of(cls, queue: Queue, boundaries: Floats, costs: Floats) -> _Known:
        upper = np.array(queue.service_moments(np.concatenate(([0.0], boundaries)))[:3])  # E[S^n; S > t_r]
        within = upper - np.append(upper[:, 1:], np.zeros((3, 1)), axis=1)  # E[S^n; t_r < S <= t_{r+1}]
        tail = upper[0, 1:]
        paid = np.concatenate(([0.0], np.cumsum(costs)))  # c_1 + … + c_r
        attained = np.append(boundaries + paid[:-1], 0.0)  # what a job has been served when it leaves level r
        left = np.append(tail, 0.0)
        completed, completed_square = _powers(within, paid)
        _, in_quantum = _powers(within[:, 1:], costs - boundaries)
        full = np.diff(boundaries) + costs[:-1]
        return cls(
            probability=within[0],
            completed=completed,
            work=np.cumsum(completed) + attained * left,
            work_square=np.cumsum(completed_square) + attained**2 * left,
            later_squares=float(in_quantum.sum() + (full**2 * tail[1:]).sum()),
            beyond_first=float(tail[0]) if tail.size else 0.0,
        )

    def controls(self, queue: Queue) -> Floats:
        """Means of `CONTROLS`."""
        rate = queue.arrival_rate
        square = queue.service_moment(2)
        waits = rate * self.work_square / (2 * (1 - rate * self.work))
        before = np.concatenate(([0.0], self.work[:-1]))
        interrupted = float(((self.probability * waits + self.completed) / (1 - rate * before)).sum())
        fcfs = rate * square / (2 * (1 - queue.base_load))
        known = [fcfs, interrupted, square, 0.0, 0.0, queue.mean_service_time, 1 / rate, self.later_squares]
        return np.array([*known, waits[0], 0.0, 0.0, self.beyond_first])


def _units(means: Floats, known: _Known) -> Floats:
    """The size of each of `CONTROLS`: its mean, or that of its factors where the mean is zero."""
    wait, size = means[0], means[5]
    units = means.copy()
    units[[3, 4, 9, 10, 11]] = wait, wait * size, wait * float(known.work[0]), wait, 1.0
    return np.where(units > 0, units, 1.0)


def _powers(moments: Floats, added: Floats) -> tuple[Floats, Floats]:
    """E[(S + a)^n; A], n = 1 and 2, from E[S^n; A], n = 0 … 2."""
    zeroth, first, second = moments
    return first + added * zeroth, second + 2 * added * first + added**2 * zeroth


def _observe(
    arrival_times: Floats,
    service_times: Floats,
    responses: Floats,
    interrupted: Floats,
    waits: Floats,
    areas: Floats,
    ends: Floats,
    costs: Floats,
    first_end: float,
    centres: Floats,
    arrival_rate: float,
    edges: Integers,
    sums: Floats,
) -> None:
    """Sum the response times and `CONTROLS` over each batch of jobs; ``ends`` are the boundaries, then ``inf``."""
    jobs = arrival_times.size
    row = np.zeros(sums.shape[1])
    batch = 0
    by_size = 0.0  # waits under FCFS
    by_quantum = 0.0
    size = 0.0
    quantum = 0.0
    before = arrival_times[0]
    for job in range(jobs):
        gap = arrival_times[job] - before
        before = arrival_times[job]
        by_size = max(by_size + size - gap, 0.0)
        by_quantum = max(by_quantum + quantum - gap, 0.0)
        size = service_times[job]
        quantum = min(size, first_end)
        squares = 0.0
        level = 0
        while size > ends[level]:
            piece = min(size, ends[level + 1]) - ends[level] + costs[level]
            squares += piece * piece
            level += 1
        if job < edges[0]:
            continue
        wait = waits[job]
        beyond = 1.0 if size > first_end else 0.0
        row[0] += responses[job]
        row[1] += by_size
        row[2] += interrupted[job]
        row[3] += size * size
        if job + 1 < jobs:
            following = waits[job + 1]
            integral = areas[job] + (wait - following) * (wait + following) / 2
            row[4] += following - arrival_rate * integral
        row[5] += wait * (size - centres[0])
        row[6] += size
        row[7] += gap
        row[8] += squares
        row[9] += by_quantum
        row[10] += wait * (quantum - centres[1])
        row[11] += wait * (beyond - centres[2])
        row[12] += beyond
        if job + 1 == edges[batch + 1]:
            sums[batch] = row
            row[:] = 0.0
            batch += 1


_GIVEN = "Array(float64, 1, 'C', readonly=True)"
_SIGNATURE = (
    f"void({', '.join([_GIVEN] * 8)}, float64, {_GIVEN}, float64, Array(int64, 1, 'C', readonly=True), float64[:, ::1])"
)
