"""SimPy as its manual teaches it: every job is a process that asks a `PriorityResource` for the server."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy
from job import given, report, timed


def simulate(arrivals: list[float], pieces: list[list[float]]) -> list[float]:
    """Departure times."""
    env = simpy.Environment()
    server = simpy.PriorityResource(env, capacity=1)
    departures = [0.0] * len(arrivals)

    def one_job(number: int) -> Generator[Any, Any, None]:
        request = server.request(priority=0)
        for level, piece in enumerate(pieces[number], start=1):
            yield request
            yield env.timeout(piece)
            held = request
            if level < len(pieces[number]):  # asked for before the server is free, or a job of a lower level gets it
                request = server.request(priority=level)
            server.release(held)
        departures[number] = env.now

    def source() -> Generator[Any, Any, None]:
        for number, arrival in enumerate(arrivals):
            yield env.timeout(arrival - env.now)
            env.process(one_job(number))

    env.process(source())
    env.run()
    return departures


job, repeats = given()
pieces = job.pieces()
departures, seconds = timed(repeats, lambda: simulate(job.arrivals, pieces))
report("simpy", "a process for each job, PriorityResource", job.mean_response_time(departures), seconds)
