"""SimPy with as few events as the model needs: one source, one server, a deque for each level."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

import simpy
from job import given, report, timed


def simulate(arrivals: list[float], pieces: list[list[float]], levels: int) -> list[float]:
    """Departure times."""
    env = simpy.Environment()
    waiting: list[deque[int]] = [deque() for _ in range(levels)]
    departures = [0.0] * len(arrivals)
    arrived = env.event()

    def source() -> Generator[Any, Any, None]:
        for number, arrival in enumerate(arrivals):
            yield env.timeout(arrival - env.now)
            waiting[0].append(number)
            if not arrived.triggered:
                arrived.succeed()

    def server() -> Generator[Any, Any, None]:
        nonlocal arrived
        while True:
            level = next((level for level, queue in enumerate(waiting) if queue), None)
            if level is None:
                arrived = env.event()
                yield arrived
                continue
            number = waiting[level].popleft()
            yield env.timeout(pieces[number][level])
            if level + 1 < len(pieces[number]):
                waiting[level + 1].append(number)
            else:
                departures[number] = env.now

    env.process(source())
    env.process(server())
    env.run()
    return departures


job, repeats = given()
pieces = job.pieces()
levels = max(map(len, pieces))
departures, seconds = timed(repeats, lambda: simulate(job.arrivals, pieces, levels))
report("simpy", "one server process, a deque for each level", job.mean_response_time(departures), seconds)
