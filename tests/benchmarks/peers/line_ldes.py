"""LINE's discrete-event simulator LDES, the native program in its wheel: M/G/1 FCFS with lognormal sizes.

The trace is replayed for the mean, which is over all jobs, as LDES cannot be told how many to leave out: the job must
have no warm-up, and no boundaries.  For the timing the program draws its own numbers from the trace's law, as many jobs,
and the seconds are those it states itself: without its start, the model file and LINE's Python side of the call.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import line_solver
import numpy as np
from job import given, given_law, report, timed
from line_solver import Exp, Lognormal, Network, OpenClass, Queue, Replayer, SchedStrategy, Sink, Source
from line_solver.io.linemodel_io import save_model

PROGRAM = Path(line_solver.__file__).parent / "bin" / "ldes"


def model(arrival: Any, service: Any) -> Network:
    network = Network("M/G/1")
    source, queue, sink = Source(network, "source"), Queue(network, "queue", SchedStrategy.FCFS), Sink(network, "sink")
    jobs = OpenClass(network, "jobs")
    source.set_arrival(jobs, arrival)
    queue.set_service(jobs, service)
    network.link(Network.serial_routing(source, queue, sink))
    return network


def replayed(times: list[float], path: Path) -> Replayer:
    path.write_text("\n".join(map(repr, times)))
    return Replayer(str(path))


def simulate(folder: Path, name: str, jobs: int, seed: int) -> tuple[float, float]:
    """Mean response time of all jobs, and the seconds of the simulation by the program's own clock."""
    result = folder / "result.json"
    # no confidence interval and no search for the end of the warm-up, for a fair comparison of speed
    options = ["--samples", str(jobs), "--seed", str(seed), "--tranfilter", "none", "--cimethod", "none"]
    subprocess.run([PROGRAM, "solve", folder / name, "-o", result, *options], check=True, capture_output=True)
    outcome = json.loads(result.read_text())
    return outcome["metrics"]["RN"][1][0], outcome["runtime"]


job, repeats = given()
law = given_law()
if job.boundaries or job.warmup:
    raise SystemExit("line_ldes.py: a job without boundaries and warm-up is needed")
if not PROGRAM.exists():
    raise SystemExit("line_ldes.py: line-solver's wheel for this platform has no native LDES")
jobs = len(job.arrivals)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    gaps = replayed(np.diff(job.arrivals, prepend=0.0).tolist(), folder / "gaps.txt")
    save_model(model(gaps, replayed(job.service, folder / "service.txt")), str(folder / "replayed.json"))
    mean, _ = simulate(folder, "replayed.json", jobs, seed=1)
    save_model(model(Exp(law.arrival_rate), Lognormal(law.mu, law.sigma)), str(folder / "drawn.json"))
    drawn = []
    seeds = iter(range(1, repeats + 1))
    _, calls = timed(repeats, lambda: drawn.append(simulate(folder, "drawn.json", jobs, next(seeds))))
report(
    "line-solver",
    "LDES, native, FCFS, random numbers included",
    mean,
    [seconds for _, seconds in drawn],
    call_seconds=calls,
    drawn_means=[own for own, _ in drawn],
)
