"""Algorithm 1 of the paper as one loop over arrays, compiled to machine code.

The loop knows nothing of size laws, memory or policies: a policy has become the boundaries t_1 < t_2 < … of its levels
and a queue the cost c_r of a preemption at each of them.  FCFS is the case without boundaries.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mlptsym.compile.machine_code import machine_code

__all__ = ["compile_kernels", "compile_observed", "level_visits", "run", "run_interrupted", "run_observed"]

RENEWAL = 256

Floats = NDArray[np.float64]


def _serve(
    arrival_times: NDArray[np.float64],
    service_times: NDArray[np.float64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    costs: NDArray[np.float64],
    whole: NDArray[np.float64],
    lazy: bool,
    response_times: NDArray[np.float64],
    first_waits: NDArray[np.float64] | None,
    areas: NDArray[np.float64] | None,
    progress: NDArray[np.float64] | None,
) -> None:
    """Serve every job of a trace and write its response time.

    Levels count from 0 here: level i holds jobs of attained service ``starts[i]`` and serves them up to ``ends[i]``,
    at the price of ``costs[i]`` each time one of them is scheduled; a quantum that does not complete its job takes
    ``whole[i]``, the service and what follows it.

    - Level 0 holds the arrived jobs not yet served, in order of arrival: an index into the arrival times is its queue.
    - A lower level is a singly linked list, ``head[i] → follower[…] → tail[i]``.
    - The non-empty lower levels form a list themselves: ``lowest`` is the first (``levels`` if there is none) and
      ``above`` leads to the next.  The job in service comes from level 0 or from the lowest of them, so a demotion
      touches the first or second place of that list only, and no search is ever needed.
    - The paper's MLPT′ (``lazy``) waives the cost of a demotion that finds all levels up to the new one empty.  The
      same job's next quantum follows at once then, so a flag that lives for one decision is enough, and an arrival that
      comes first takes the waiver with it.
    - Most jobs complete in level 0, where nothing but the clock changes: they take a short way.
    - The clock runs from ``origin``, an arrival that found the system empty, and is moved to a later one every few
      hundred jobs.  So it stays exact to 10⁻¹⁶ of the time these jobs or their busy period take, whatever the length
      of the trace and wherever its times begin.
    - What is not asked for is ``None``, and no part of the machine code: the time from each arrival to the job's first
      service in ``first_waits``; in ``areas``, at the last arrival before each quantum, what the quantum adds to the
      integral over time of the wait an arrival would have (its length times the wait at that arrival, for a job's
      first one, and half its square); and the service that arrivals leave the first job of each level with in
      ``progress``, where quanta are interrupted by them.
    """
    jobs = arrival_times.size
    levels = starts.size
    follower = np.empty(jobs, np.uint32)
    head = np.empty(levels, np.uint32)
    tail = np.empty(levels, np.uint32)
    above = np.empty(levels, np.uint32)
    lowest: int | np.int64 = levels
    job: int | np.int64
    level: int | np.int64
    upcoming = 0
    origin = 0.0
    now = 0.0
    renewal = 0
    waived: bool | np.bool = False
    while True:
        if upcoming < jobs and (lowest == levels or arrival_times[upcoming] - origin <= now):
            job = upcoming
            upcoming += 1
            level = 0
            overhead = 0.0
            arrived = arrival_times[job] - origin
            now = max(now, arrived)
            if first_waits is not None and areas is not None:
                first_waits[job] = now - arrived
                areas[job] = 0.0
            if upcoming > renewal and lowest == levels and now == arrived:
                origin = arrival_times[job]
                now = arrived = 0.0
                renewal = upcoming + RENEWAL
            if first_waits is None and service_times[job] <= ends[0]:
                now += service_times[job]
                response_times[job] = now - arrived
                waived = False
                continue
        elif lowest < levels:
            level = lowest
            job = np.int64(head[level])
            overhead = 0.0 if waived else costs[level]
            if progress is not None:
                left_over = overhead + min(ends[level], service_times[job]) - starts[level] - progress[level]
                if upcoming < jobs and arrival_times[upcoming] - origin < now + left_over:
                    progress[level] += arrival_times[upcoming] - origin - now
                    now = arrival_times[upcoming] - origin
                    continue
                overhead -= progress[level]
                progress[level] = 0.0
            if job == tail[level]:
                lowest = np.int64(above[level])
            else:
                head[level] = follower[job]
        else:
            break
        began = now
        left = level
        if service_times[job] > ends[level]:
            now += overhead + whole[level]
            level += 1
            waived = lazy and lowest > level
            following = np.int64(above[left]) if lowest == left else lowest
            if following == level:
                follower[tail[level]] = job
            else:
                head[level] = job
                above[level] = following
                if lowest == left:
                    above[left] = level
                else:
                    lowest = level
            tail[level] = job
        else:
            now += overhead + (service_times[job] - starts[level])
            response_times[job] = now - (arrival_times[job] - origin)
            waived = False
        if first_waits is not None and areas is not None:
            wait = first_waits[job] if left == 0 else 0.0
            areas[upcoming - 1] += (now - began) * (wait + (now - began) / 2)


_GIVEN, _WRITTEN = "Array(float64, 1, 'C', readonly=True)", "float64[::1]"
_HEAD = f"{', '.join([_GIVEN] * 6)}, boolean, {_WRITTEN}"


def _compiled() -> Callable[..., None]:
    """`_serve` as machine code: it holds no Python object, so traces run in parallel threads."""
    return machine_code(_serve, f"void({_HEAD}, none, none, none)")


def _compiled_observed() -> Callable[..., None]:
    return machine_code(_serve, f"void({_HEAD}, {_WRITTEN}, {_WRITTEN}, none)")


def _compiled_interrupted() -> Callable[..., None]:
    return machine_code(_serve, f"void({_HEAD}, none, none, {_WRITTEN})")


def compile_kernels() -> None:
    """Compile the loop, or load it, unless this process has done so."""
    _compiled()


def compile_observed() -> None:
    """The same for the loops of `run_observed` and `run_interrupted`."""
    _compiled_observed()
    _compiled_interrupted()


def run(
    arrival_times: NDArray[np.float64],
    service_times: NDArray[np.float64],
    boundaries: NDArray[np.float64],
    costs: NDArray[np.float64],
    *,
    lazy: bool,
    unload_costs: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Response time of every job under MLPT, in the order of arrival.

    Strict priority between levels, FCFS inside a level, quanta never interrupted (algorithm 1).  A job whose service
    time equals a boundary is complete there.  An arrival at the very instant of a decision is admitted before the
    decision is taken; jobs that arrive together are served in the order of the arrays.

    Parameters
    ----------
    arrival_times : array of float, shape (jobs,)
        Non-decreasing and not negative.
    service_times : array of float, shape (jobs,)
        Service requirement S of each job, not negative.
    boundaries : array of float, shape (levels - 1,)
        Attained service t_1 < t_2 < … at which an unfinished job is demoted; empty for FCFS.
    costs : array of float, shape (levels - 1,)
        c_r, the work to restore a job preempted at t_r, done when it is next scheduled.
    lazy : bool
        Whether the cost of a demotion is waived if the levels up to the new one are all empty (the paper's MLPT′).
    unload_costs : array of float, shape (levels - 1,), optional
        u_r, the work at the end of the quantum after which a job is preempted at t_r; not for ``lazy``.

    Returns
    -------
    array of float, shape (jobs,)
        Time from arrival to completion.
    """
    response_times = np.empty(arrival_times.size)
    levels = _levels(boundaries, costs, unload_costs)
    _compiled()(arrival_times, service_times, *levels, lazy, response_times, None, None, None)
    return response_times


def run_observed(
    arrival_times: Floats, service_times: Floats, boundaries: Floats, costs: Floats, *, lazy: bool
) -> tuple[Floats, Floats, Floats]:
    """`run`, and what the server does before and between the arrivals.

    Returns
    -------
    response_times, first_waits : array of float, shape (jobs,)
        Time from arrival to completion, and to the first service.
    areas : array of float, shape (jobs,)
        With V(t) the time an arrival at t would wait for its first service, w_n its value at arrival n: the integral
        of V from arrival n to the next is ``areas[n]`` + (w_n² − w_{n+1}²)/2, whatever the policy.
    """
    response_times, first_waits, areas = np.empty((3, arrival_times.size))  # in one piece, which malloc reuses
    levels = _levels(boundaries, costs)
    _compiled_observed()(arrival_times, service_times, *levels, lazy, response_times, first_waits, areas, None)
    return response_times, first_waits, areas


def run_interrupted(arrival_times: Floats, service_times: Floats, boundaries: Floats, costs: Floats) -> Floats:
    """`run` with every quantum but a job's first interrupted by arrivals, and resumed at no cost after them."""
    response_times = np.empty(arrival_times.size)
    levels = _levels(boundaries, costs)
    progress = np.zeros(levels[0].size)
    _compiled_interrupted()(arrival_times, service_times, *levels, False, response_times, None, None, progress)
    return response_times


def _levels(
    boundaries: Floats, costs: Floats, unload_costs: Floats | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Attained service at the start and end of each level, the cost due at its start, and a whole quantum of it."""
    zero = np.zeros(1)
    starts, ends = np.concatenate((zero, boundaries)), np.concatenate((boundaries, [np.inf]))
    whole = ends - starts
    if unload_costs is not None:
        whole[:-1] += unload_costs
    return starts, ends, np.concatenate((zero, costs)), whole


def level_visits(service_times: NDArray[np.float64], boundaries: NDArray[np.float64]) -> int:
    """Number of quanta `run` would serve, which is known without running it.

    Examples
    --------
    >>> level_visits(np.array([0.5, 1.0, 2.5]), np.array([1.0, 2.0]))
    5
    """
    return service_times.size + int(np.searchsorted(boundaries, service_times, side="left").sum())
