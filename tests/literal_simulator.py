"""Algorithm 1 of the paper, written down line by line: slow, and independent of the simulator it checks.

Works on any numbers that add and compare, so that fractions make it exact.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any


def response_times(
    arrival_times: Sequence[Any],
    service_times: Sequence[Any],
    boundaries: Sequence[Any],
    costs: Sequence[Any],
    lazy: bool = False,
    unload_costs: Sequence[Any] | None = None,
) -> list[Any]:
    """Response time of each job; boundary r and costs r are those of a demotion from level r to r + 1."""
    k = len(boundaries) + 1
    queues = {level: deque() for level in range(1, k + 1)}  # line 1
    still_to_come = deque(range(len(arrival_times)))
    attained = [0] * len(arrival_times)
    overhead = [0] * len(arrival_times)
    response = [None] * len(arrival_times)

    def admit(now: Any) -> None:
        while still_to_come and arrival_times[still_to_come[0]] <= now:
            queues[1].append(still_to_come.popleft())  # line 2

    now: Any = 0
    admit(now)
    while still_to_come or any(queues.values()):
        if not any(queues.values()):  # wait for the next arrival
            now = arrival_times[still_to_come[0]]
            admit(now)
        # line 3: the system is not empty
        i = min(level for level, queue in queues.items() if queue)  # line 4
        j = queues[i].popleft()  # line 5
        now = now + overhead[j]  # line 14, second half
        if i < k:  # line 7
            until = min(service_times[j], boundaries[i - 1])  # line 8
            now = now + until - attained[j]
            attained[j] = until
            if unload_costs is not None and until < service_times[j]:
                now = now + unload_costs[i - 1]  # beyond the paper: before anything else is served
            admit(now)
            if attained[j] == service_times[j]:  # line 9
                response[j] = now - arrival_times[j]  # line 10
            else:  # lines 11, 12
                alone = not any(queues[level] for level in range(1, i + 2))
                queues[i + 1].append(j)  # line 13
                overhead[j] = 0 if lazy and alone else costs[i - 1]  # line 14; remark 1
        else:
            now = now + service_times[j] - attained[j]  # line 18
            admit(now)
            response[j] = now - arrival_times[j]  # line 19
    return response
