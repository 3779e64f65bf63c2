"""most-queue: its FCFS simulator on the trace, and its analytic means (P–K, foreground–background) for the law.

It has no lognormal distribution of its own: the trace takes the place of its random numbers, the moments and the
density that of a distribution's name.  Its priority queues have no job change its class, so there are no levels.
(The file cannot be called most_queue.py: it would be imported in place of the package.)
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

import numpy as np
from job import Job, given, given_law, report, timed
from most_queue.sim.base import QsSim
from most_queue.theory.fifo.mg1 import MG1Calc
from most_queue.theory.srpt.mg1_fb import MG1FbCalc
from most_queue.theory.srpt.utils import upper_bound
from scipy.stats import lognorm


class Replayed:
    """What stands where a distribution of random numbers does."""

    def __init__(self, values: list[float]) -> None:
        self.values: Iterator[float] = iter([*values, float("inf")])

    def generate(self) -> float:
        return next(self.values)


class Recording(QsSim):
    """The simulator, keeping the departure times besides its moments; FCFS, so that they are in order of arrival."""

    def __init__(self, job: Job) -> None:
        super().__init__(1)
        self.departures: list[float] = []
        self.set_sources(1.0, "M")
        self.set_servers(1.0, "M")
        self.source = Replayed(np.diff(job.arrivals, prepend=0.0).tolist())
        self.arrival_time = self.source.generate()
        self.servers[0].dist = Replayed(job.service)

    def _after_serving(self, channel: int, task: object = None, is_network: bool = False) -> None:
        self.departures.append(self.ttek)


job, repeats = given()
law = given_law()
if job.boundaries:
    raise SystemExit("most_queue_fcfs.py: a job without boundaries is needed")
simulators = iter([Recording(job) for _ in range(repeats)])


def simulate() -> list[float]:
    simulator = next(simulators)
    simulator.run(len(job.arrivals))
    return simulator.departures


with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    departures, seconds = timed(repeats, simulate)

first_come = MG1Calc()
first_come.set_sources(law.arrival_rate)
first_come.set_servers(law.moments(3))

size = lognorm(s=law.sigma, scale=np.exp(law.mu))
foreground = MG1FbCalc()
foreground.set_sources(law.arrival_rate)
foreground.pdf_fn, foreground.cdf_fn, foreground.b = size.pdf, size.cdf, law.moments(3)
foreground.x_max = upper_bound(size.cdf)
foreground.is_servers_set = True

report(
    "most-queue",
    "QsSim, FCFS, without random numbers",
    job.mean_response_time(departures),
    seconds,
    pollaczek_khinchine=first_come.get_v(1)[0],
    foreground_background=foreground.run().v[0],
)
