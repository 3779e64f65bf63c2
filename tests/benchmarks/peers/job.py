"""What the peers share: reading the job they are given, timing it, and saying what came out.

Every script here is run as ``python NAME.py JOB.npz REPEATS`` by a Python of its own, which has ``peers.txt`` installed
and not this package, and prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np

Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Job:
    """A trace and a policy, as lists of Python numbers: no simulator written in Python is faster on arrays.

    Attributes
    ----------
    arrivals, service : list of float
        Time of arrival and service time of each job.
    boundaries : list of float
        Attained service t_1 < t_2 < … at which an unfinished job is demoted.
    costs : list of float
        Restore cost at the head of a piece in each level; the first is zero.
    warmup : int
        Jobs at the start that do not count.
    """

    arrivals: list[float]
    service: list[float]
    boundaries: list[float]
    costs: list[float]
    warmup: int

    def pieces(self) -> list[list[float]]:
        """For each job, the time the server spends on it in each level it sees."""
        starts = [0.0, *self.boundaries]
        cut: list[list[float]] = []
        for service in self.service:
            own: list[float] = []
            for start, end, cost in zip(starts, [*self.boundaries, np.inf], self.costs, strict=True):
                own.append(cost + (min(service, end) - start))
                if service <= end:
                    break
            cut.append(own)
        return cut

    def mean_response_time(self, departures: list[float]) -> float:
        """Mean of departure − arrival after the warm-up."""
        return float((np.array(departures) - np.array(self.arrivals))[self.warmup :].mean())


def given() -> tuple[Job, int]:
    """The job and the number of repeats of the command line."""
    with np.load(sys.argv[1]) as stored:
        arrays = [stored[name].astype(float).tolist() for name in ("arrivals", "service", "boundaries", "costs")]
        return Job(*arrays, warmup=int(stored["warmup"])), int(sys.argv[2])


@dataclass(frozen=True)
class Law:
    """The trace's law, for a peer that draws its own or computes: lognormal sizes, without slowdown, Poisson arrivals."""

    mu: float
    sigma: float
    arrival_rate: float

    def moments(self, orders: int) -> list[float]:
        """E[S], E[S²], …"""
        return [float(np.exp(n * self.mu + (n * self.sigma) ** 2 / 2)) for n in range(1, orders + 1)]


def given_law() -> Law:
    """The law of the command line's job, which then holds ``mu``, ``sigma`` and ``arrival_rate`` as well."""
    with np.load(sys.argv[1]) as stored:
        return Law(*(float(stored[name]) for name in ("mu", "sigma", "arrival_rate")))


def timed(repeats: int, run: Callable[[], Outcome]) -> tuple[Outcome, list[float]]:
    """The outcome of the last of ``repeats`` runs, and the seconds each took."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        outcome = run()
        seconds.append(time.perf_counter() - began)
    return outcome, seconds


def report(package: str, style: str, mean: float, seconds: list[float], **more: Any) -> None:
    """Print the result."""
    print(
        json.dumps({"peer": f"{package} {version(package)}", "style": style, "mean": mean, "seconds": seconds} | more)
    )
