"""The capped Gittins index policy as one loop over arrays, compiled to machine code.

The loop knows nothing of size laws or memory: the index has become a table of ranks 1/G that are linear between its
ages, and the restore cost a line with one kink.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlptsym.compile.machine_code import machine_code
from mlptsym.numeric.gittins.table import GittinsTable
from mlptsym.numeric.model.queue import Queue
from mlptsym.validation import refuse

__all__ = ["RestoreLine", "compile_gittins_kernel", "run_gittins"]

Floats = NDArray[np.float64]

RENEWAL = 256
# cells of ages, of less than 1/64 of the mean service time each; the least mean is 2^−900
CELLS, FINE, SMALLEST = 2**12, 7, -900


@dataclass(frozen=True)
class RestoreLine:
    """Restore cost by age: ``start + slope · a`` up to the age ``kink``, and the slope ``later`` from there on."""

    start: float
    slope: float
    kink: float
    later: float

    @classmethod
    def of(cls, queue: Queue) -> RestoreLine:
        """The restore cost of a queue, whose memory law must be linear up to `Memory.linear_from` and beyond."""
        kink = queue.memory.linear_from
        start, middle, end = (float(cost) for cost in queue.restore_cost([0.0, kink / 2, kink]))
        if queue.preemption_cost > 0 and (queue.memory.lag > 0 or abs(2 * middle - start - end) > 1e-12 * end):
            refuse("memory", queue.memory, "linear up to one age and from there on, for this policy")
        later = queue.preemption_cost * float(queue.memory.slope_at(kink))
        return cls(start, (end - start) / kink if kink > 0 else 0.0, kink, later)


def _serve(
    arrival_times: Floats,
    service_times: Floats,
    ages: Floats,
    ranks: Floats,
    largest: Floats,
    rises: NDArray[np.int64],
    starts: NDArray[np.int64],
    cell: float,
    line: Floats,
    most_preemptions: float,
    minimum_quantum: float,
    response_times: Floats,
    overheads: Floats,
) -> None:
    """Serve every job of a trace, and write its response time and the time spent on restoring it.

    - Jobs not started yet share the rank of age 0 and are served in order of arrival: two indices into the arrival
      times are their queue.  Preempted jobs wait in a heap ordered by rank, then arrival.
    - ``largest`` is a binary tree of maxima over the ranks of the table: root at 1, children of i at 2i and 2i + 1,
      leaves in the second half.  Climbing and descending it finds the first table age of a rank above a bound.
    - ``rises`` has for each table age the first one from there on whose rank is above that of age 0, or their number.
    - ``starts`` has for each cell of ages, c to c + 1 times the length ``cell``, the first table age beyond its begin;
      the length is a power of two, so that no rounding puts an age into another cell.
    - The clock runs from ``origin``, an arrival that found the system empty, and is moved to a later one now and then,
      so that it stays exact whatever the length of the trace.
    """
    jobs = arrival_times.size
    leaves = largest.size // 2
    attained = np.zeros(jobs)
    preemptions = np.zeros(jobs)
    overheads[:] = 0.0
    heap = [(0.0, 0) for _ in range(0)]
    unstarted = 0  # first job not started
    arrived = 0  # first job not arrived
    origin = 0.0
    now = 0.0
    renewal = 0
    overtaken = -1  # preempted at the end of its quantum; waits once another job has been chosen
    behind = 0.0  # its rank

    def first_beyond(age: float) -> int:
        low, high = starts[-1], ages.size
        if age / cell < starts.size - 1:
            place = int(age / cell)
            low, high = starts[place], starts[place + 1]
        while low < high:
            middle = (low + high) // 2
            if ages[middle] <= age:
                low = middle + 1
            else:
                high = middle
        return int(low)

    while True:
        while arrived < jobs and arrival_times[arrived] - origin <= now:
            arrived += 1
        if unstarted == arrived and len(heap) == 0:
            if arrived == jobs:
                return
            now = arrival_times[arrived] - origin
            if arrived >= renewal:
                origin = arrival_times[arrived]
                now = 0.0
                renewal = arrived + RENEWAL
            continue

        # the job of smallest rank, the earliest of those that tie
        resumed = len(heap) > 0 and (unstarted == arrived or heap[0] < (ranks[0], unstarted))
        rank = ranks[0]
        if resumed:
            rank, job = heapq.heappop(heap)
        else:
            job = unstarted
            unstarted += 1
        if overtaken >= 0:
            heapq.heappush(heap, (behind, overtaken))
            overtaken = -1

        age = attained[job]
        capped = preemptions[job] >= most_preemptions
        if resumed:
            restored = now + line[0] + line[1] * min(age, line[2]) + line[3] * max(age - line[2], 0.0)
            if not capped and rank > ranks[0] and arrived < jobs and arrival_times[arrived] - origin <= restored:
                # an arrival of smaller rank ends the restoration, which is lost
                overheads[job] += arrival_times[arrived] - origin - now
                now = arrival_times[arrived] - origin
                preemptions[job] += 1
                heapq.heappush(heap, (rank, job))
                continue
            overheads[job] += restored - now
            now = restored
        if capped:
            now += service_times[job] - age
            response_times[job] = now - (arrival_times[job] - origin)
            continue

        while True:  # one quantum after the other, until the job is complete or preempted
            while arrived < jobs and arrival_times[arrived] - origin <= now:
                arrived += 1
            best = heap[0][0] if len(heap) > 0 else np.inf
            if unstarted < arrived:
                best = min(best, ranks[0])
            # the quantum ends where the rank rises above the best that waits
            end = np.inf
            at_end = best
            if best < np.inf:
                end = age + minimum_quantum
                right = first_beyond(end)
                here = ranks[right - 1]
                if right < ages.size:
                    here += (ranks[right] - here) * ((end - ages[right - 1]) / (ages[right] - ages[right - 1]))
                if here > best:
                    at_end = here
                elif right == ages.size:
                    end = np.inf
                else:
                    if best == ranks[0]:
                        right = rises[right]
                    else:
                        node = right + leaves
                        while largest[node] <= best and node > 0:
                            while node % 2 == 1:
                                node //= 2
                            node = node + 1 if node > 0 else 0
                        while 0 < node < leaves:
                            node = 2 * node if largest[2 * node] > best else 2 * node + 1
                        right = node - leaves if node > 0 else ages.size
                    if right == ages.size:
                        end = np.inf
                    else:
                        low = ranks[right - 1]
                        part = (best - low) / (ranks[right] - low)
                        end = max(end, ages[right - 1] + (ages[right] - ages[right - 1]) * part)
                        if ages[right] == ages[right - 1]:
                            at_end = ranks[right]
                        elif len(heap) > 0 and heap[0][0] == best:
                            # two jobs that tie have one age: rounding must not decide between them from now on
                            twin = attained[heap[0][1]]
                            if abs(end - twin) <= 1e-9 * twin and twin > age:
                                end = twin
            until = min(end, service_times[job])
            if arrived < jobs and arrival_times[arrived] - origin < now + (until - age):
                # an arrival is a decision
                age += arrival_times[arrived] - origin - now
                now = arrival_times[arrived] - origin
                right = first_beyond(age)
                rank = ranks[right - 1]
                if right < ages.size:
                    rank += (ranks[right] - rank) * ((age - ages[right - 1]) / (ages[right] - ages[right - 1]))
                if rank > ranks[0]:  # and no job that waits has a smaller rank: it would not have been preempted
                    attained[job] = age
                    preemptions[job] += 1
                    heapq.heappush(heap, (rank, job))
                    break
            elif until == service_times[job]:
                now += until - age
                response_times[job] = now - (arrival_times[job] - origin)
                break
            else:
                now += until - age
                attained[job] = until
                preemptions[job] += 1
                overtaken = job
                behind = at_end
                break


_GIVEN, _WRITTEN = "Array(float64, 1, 'C', readonly=True)", "float64[::1]"
_PLACES = "Array(int64, 1, 'C', readonly=True)"
_ARGUMENTS = [*[_GIVEN] * 5, *[_PLACES] * 2, "float64", _GIVEN, "float64", "float64", *[_WRITTEN] * 2]
_SIGNATURE = f"void({', '.join(_ARGUMENTS)})"


def compile_gittins_kernel() -> None:
    """Compile the loop, or load it, unless this process has done so."""
    machine_code(_serve, _SIGNATURE)


def run_gittins(
    arrival_times: Floats,
    service_times: Floats,
    table: GittinsTable,
    line: RestoreLine,
    *,
    preemptions: float,
    minimum_quantum: float,
) -> tuple[Floats, Floats]:
    """Response time and restore time of every job under `CappedGittins`, in the order of arrival.

    Parameters
    ----------
    arrival_times : array of float, shape (jobs,)
        Non-decreasing and not negative.
    service_times : array of float, shape (jobs,)
        Service requirement S of each job, not negative.
    table : GittinsTable
        The index by age.
    line : RestoreLine
        The restore cost by age.
    preemptions : float
        How often each job may be preempted: a whole number or ``inf``.
    minimum_quantum : float
        Least service assigned at a decision, > 0.

    Returns
    -------
    response_times, overheads : arrays of float, shape (jobs,)
        Time from arrival to completion, and the part of it that the server spent on restoring the job.
    """
    leaves = 1 << (table.ranks.size - 1).bit_length()
    largest = np.full(2 * leaves, -np.inf)
    largest[leaves : leaves + table.ranks.size] = table.ranks
    start = leaves
    while start > 1:
        largest[start // 2 : start] = largest[start : 2 * start].reshape(-1, 2).max(axis=1)
        start //= 2
    above = np.flatnonzero(table.ranks > table.ranks[0])
    rises = np.append(above, table.ranks.size)[np.searchsorted(above, np.arange(table.ranks.size))]
    mean = float(service_times.mean()) if service_times.size else 0.0
    cell = math.ldexp(1.0, max(math.frexp(mean)[1], SMALLEST) - FINE)
    starts = np.searchsorted(table.ages, cell * np.arange(CELLS + 1), side="right")
    line_with_kink = np.array([line.start, line.slope, line.kink, line.later])
    response_times, overheads = np.empty(arrival_times.size), np.empty(arrival_times.size)
    loop = machine_code(_serve, _SIGNATURE)
    policy = (float(preemptions), float(minimum_quantum))
    ranks = (table.ages, table.ranks, largest, rises, starts, cell)
    loop(arrival_times, service_times, *ranks, line_with_kink, *policy, response_times, overheads)
    return response_times, overheads
