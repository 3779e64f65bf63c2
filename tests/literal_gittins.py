"""The capped Gittins index policy, written down event by event: slow, and independent of the simulator it checks.

Times may be fractions, which makes the arithmetic exact.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class Job:
    number: int
    service_time: Any
    attained: Any = 0
    preempted: int = 0
    overhead: Any = 0
    rank: Any = None
    response: Any = None

    @property
    def order(self) -> tuple[Any, int]:
        return self.rank, self.number


@dataclass
class Table:
    """Ranks 1/G, linear between ages; an age that stands twice is a jump."""

    ages: Sequence[Any]
    ranks: Sequence[Any]

    def rank(self, age: Any) -> Any:
        last = max(i for i, here in enumerate(self.ages) if here <= age)
        if last == len(self.ages) - 1:
            return self.ranks[last]
        low, high = self.ages[last], self.ages[last + 1]
        return self.ranks[last] + (self.ranks[last + 1] - self.ranks[last]) * ((age - low) / (high - low))

    def falls_behind(self, start: Any, bound: Any) -> tuple[Any, Any]:
        """First age from ``start`` on, from which on the rank is above a bound, and the rank there."""
        if self.rank(start) > bound:
            return start, self.rank(start)
        for i in range(1, len(self.ages)):
            if self.ages[i] > start and self.ranks[i] > bound:
                low, high = self.ages[i - 1], self.ages[i]
                if low == high:
                    return high, self.ranks[i]
                part = (bound - self.ranks[i - 1]) / (self.ranks[i] - self.ranks[i - 1])
                return max(start, low + (high - low) * part), bound
        return math.inf, None


def simulated(
    arrival_times: Sequence[Any],
    service_times: Sequence[Any],
    table: Table,
    cost: Callable[[Any], Any],
    preemptions: float,
    minimum_quantum: Any,
) -> tuple[list[Any], list[Any]]:
    """Response time of each job, and the time spent on restoring it."""
    jobs = [Job(number, service) for number, service in enumerate(service_times)]
    coming = list(zip(arrival_times, jobs, strict=True))
    waiting: list[Job] = []
    now: Any = 0

    def admit() -> None:
        while coming and coming[0][0] <= now:
            job = coming.pop(0)[1]
            job.rank = table.rank(0)
            waiting.append(job)

    def preempt(job: Job, rank: Any) -> None:
        job.preempted += 1
        job.rank = rank
        waiting.append(job)

    overtaken: tuple[Job, Any] | None = None
    while True:
        admit()
        if not waiting:
            if not coming:
                return [job.response for job in jobs], [job.overhead for job in jobs]
            now = coming[0][0]
            continue
        job = min(waiting, key=lambda waiting_job: waiting_job.order)
        waiting.remove(job)
        if overtaken is not None:
            preempt(*overtaken)
            overtaken = None
        may_be_preempted = job.preempted < preemptions

        # restoration, which an arrival may end
        restored = now + cost(job.attained) if job.preempted else now
        lost = False
        while job.preempted and coming and coming[0][0] <= restored and not lost:
            job.overhead += coming[0][0] - now
            now = coming[0][0]
            admit()
            lost = may_be_preempted and min(waiting, key=lambda other: other.order).rank < job.rank
        if lost:
            preempt(job, job.rank)
            continue
        job.overhead += restored - now
        now = restored

        # service, which an arrival or the end of a quantum may end
        in_service = True
        while in_service:
            admit()
            completion = now + (job.service_time - job.attained)
            best = min((other.rank for other in waiting), default=math.inf)
            age_behind, rank_behind = math.inf, None
            if may_be_preempted and waiting:
                age_behind, rank_behind = table.falls_behind(job.attained + minimum_quantum, best)
            end = now + (age_behind - job.attained)
            arrival = coming[0][0] if coming else math.inf
            if arrival < min(completion, end):
                job.attained += arrival - now
                now = arrival
                admit()
                best = min(other.rank for other in waiting)
                if may_be_preempted and best < table.rank(job.attained):
                    preempt(job, table.rank(job.attained))
                    in_service = False
            elif completion <= end:
                now = completion
                job.response = now - arrival_times[job.number]
                in_service = False
            else:
                now = end
                job.attained = age_behind
                overtaken = (job, rank_behind)
                in_service = False
