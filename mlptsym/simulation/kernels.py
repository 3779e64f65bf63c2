"""Algorithm 1 of the paper as one loop over arrays, compiled to machine code.

The loop knows nothing of size laws, memory or policies: a policy has become the boundaries t_1 < t_2 < … of its levels
and a queue the cost c_r of a preemption at each of them.  FCFS is the case without boundaries.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["compile_kernels", "level_visits", "run"]

RENEWAL = 256


def _serve(
    arrival_times: NDArray[np.float64],
    service_times: NDArray[np.float64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    costs: NDArray[np.float64],
    lazy: bool,
    response_times: NDArray[np.float64],
) -> None:
    """Serve every job of a trace and write its response time.

    Levels count from 0 here: level i holds jobs of attained service ``starts[i]`` and serves them up to ``ends[i]``,
    at the price of ``costs[i]`` each time one of them is scheduled.

    - Level 0 holds the arrived jobs not yet served, in order of arrival: an index into the arrival times is its queue.
    - A lower level is a singly linked list, ``head[i] → follower[…] → tail[i]``.
    - The non-empty lower levels form a list themselves: ``lowest`` is the first (``levels`` if there is none) and
      ``above`` leads to the next.  The job in service comes from level 0 or from the lowest of them, so a demotion
      touches the first or second place of that list only, and no search is ever needed.
    - The paper's MLPT′ (``lazy``) waives the cost of a demotion that finds all levels up to the new one empty.  The
      same job's next quantum follows at once then, so a flag that lives for one decision is enough, and an arrival that
      comes first takes the waiver with it.
    - The clock runs from ``origin``, an arrival that found the system empty, and is moved to a later one every few
      hundred jobs.  So it stays exact to 10⁻¹⁶ of the time these jobs or their busy period take, whatever the length
      of the trace and wherever its times begin.
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
            now = max(now, arrival_times[job] - origin)
            if upcoming > renewal and lowest == levels and now == arrival_times[job] - origin:
                origin = arrival_times[job]
                now = 0.0
                renewal = upcoming + RENEWAL
        elif lowest < levels:
            level = lowest
            job = np.int64(head[level])
            overhead = 0.0 if waived else costs[level]
            if job == tail[level]:
                lowest = np.int64(above[level])
            else:
                head[level] = follower[job]
        else:
            break
        if service_times[job] > ends[level]:
            now += overhead + (ends[level] - starts[level])
            left = level
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


@functools.cache
def _compiled() -> Callable[..., None]:
    """`_serve` as machine code, from Numba's cache on disk where there is a usable one.

    A damaged cache is emptied and written again; without a place to write it, each process compiles anew (about a
    second).  The loop holds no Python object and releases the interpreter's lock, so traces run in parallel threads.
    """
    import numba

    given = numba.types.Array(numba.float64, 1, "C", readonly=True)
    result = numba.types.Array(numba.float64, 1, "C")
    signature = numba.void(given, given, given, given, given, numba.boolean, result)

    def build(*, cache: bool) -> Callable[..., None]:
        compiled: Callable[..., None] = numba.njit(signature, nogil=True, cache=cache)(_serve)
        return compiled

    try:
        return build(cache=True)
    except Exception:  # what a damaged file raises is not foreseeable; an error of the loop itself comes back below
        with contextlib.suppress(Exception):
            damaged: Any = numba.njit(cache=True)(_serve)
            damaged._cache.flush()
            return build(cache=True)
        return build(cache=False)


def compile_kernels() -> None:
    """Compile the loop, or load it, unless this process has done so."""
    _compiled()


def run(
    arrival_times: NDArray[np.float64],
    service_times: NDArray[np.float64],
    boundaries: NDArray[np.float64],
    costs: NDArray[np.float64],
    *,
    lazy: bool,
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

    Returns
    -------
    array of float, shape (jobs,)
        Time from arrival to completion.
    """
    response_times = np.empty(arrival_times.size)
    starts = np.concatenate(([0.0], boundaries))
    ends = np.concatenate((boundaries, [np.inf]))
    _compiled()(arrival_times, service_times, starts, ends, np.concatenate(([0.0], costs)), lazy, response_times)
    return response_times


def level_visits(service_times: NDArray[np.float64], boundaries: NDArray[np.float64]) -> int:
    """Number of quanta `run` would serve, which is known without running it.

    Examples
    --------
    >>> level_visits(np.array([0.5, 1.0, 2.5]), np.array([1.0, 2.0]))
    5
    """
    return service_times.size + int(np.searchsorted(boundaries, service_times, side="left").sum())
