"""The simulator against C and against other simulators, on the same traces, answers compared before anything is timed."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mlptsym as mq
from benchmarks.measure import Row, race, row
from mlptsym.simulation.kernels import run
from mlptsym.simulation.simulate import simulate_many
from mlptsym.simulation.traces import draw_trace

Floats = NDArray[np.float64]

LAW = mq.LogNormal(5, 0.9)
QUEUE = mq.Queue(LAW, 0.0036, 6 * LAW.mean, slowdown_factor=0.39, preemption_cost=0.1)
JOBS = 120_000
LEVELS = (2, 5, 10, math.inf)
QUANTA = (0.3, 0.6, 1.0, 2.0, 3.0, 6.0, 10.0, 20.0)
# files in C, and how many traces one loop of them takes in turns
IN_TURNS = (
    *(("interleaved", together) for together in (2, 4, 8)),
    *(("branch_free", together) for together in (1, 2, 4, 8)),
)
HERE = Path(__file__).parent


def rows(peers_python: Path | None) -> Iterator[Row]:
    """Every row; those of other simulators if they are installed."""
    yield from against_c()
    yield from eight_seeds()
    yield two_workers()
    if peers_python is not None:
        yield from against_peers(peers_python)


# C -------------------------------------------------------------------------------------------------------------------


@cache
def compiled(name: str) -> ctypes.CDLL:
    """A file of C code as a library."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise SystemExit("gcc is missing: the reference in C cannot be compiled (Debian: apt-get install gcc)")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / f"{name}.so"
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, "-o", library, HERE / f"{name}.c"], check=True)
        return ctypes.CDLL(str(library))


def by_c(arrivals: Floats, service: Floats, boundaries: Floats, costs: Floats, *, lazy: bool = False) -> Floats:
    """Response times by the plain loop in C."""
    serve = compiled("reference").serve
    pointer = ctypes.c_void_p
    counted = [pointer, pointer, ctypes.c_long, pointer, pointer, pointer, ctypes.c_long, ctypes.c_int, pointer]
    serve.argtypes, serve.restype = counted, None
    response = np.empty_like(arrivals)
    levels = _levels(boundaries, costs)
    given = _addresses(arrivals, service)
    serve(*given, arrivals.size, *_addresses(*levels), costs.size + 1, lazy, *_addresses(response))
    return response


def by_interleaved_c(
    arrivals: Floats, service: Floats, boundaries: Floats, costs: Floats, together: int, name: str = "interleaved"
) -> Floats:
    """Response times of several traces, one a row, so many in turns by one loop, by that of a file in C."""
    serve = getattr(compiled(name), f"serve_{name}")
    pointer, long = ctypes.c_void_p, ctypes.c_long
    serve.argtypes, serve.restype = [*[pointer] * 2, *[long] * 2, *[pointer] * 3, long, pointer], None
    response = np.empty_like(arrivals)
    levels = _levels(boundaries, costs)
    for first in range(0, len(arrivals), together):
        here = slice(first, first + together)
        given = _addresses(arrivals[here], service[here])
        serve(*given, arrivals.shape[1], together, *_addresses(*levels), costs.size + 1, *_addresses(response[here]))
    return response


def _levels(boundaries: Floats, costs: Floats) -> tuple[Floats, Floats, Floats]:
    """Where each level starts and ends, and what is paid."""
    return (
        np.concatenate([[0.0], boundaries]),
        np.concatenate([boundaries, [math.inf]]),
        np.concatenate([[0.0], costs]),
    )


def _addresses(*arrays: Floats) -> list[int]:
    return [array.ctypes.data for array in arrays]


@cache
def traces(count: int, jobs: int = JOBS) -> list[tuple[Floats, Floats]]:
    """Arrival and service times."""
    drawn = [draw_trace(LAW, QUEUE.arrival_rate, jobs, seed=seed) for seed in range(count)]
    return [(trace.arrival_times, QUEUE.service_time(trace.sizes)) for trace in drawn]


def policy_arrays(levels: float, quantum: float, longest: float) -> tuple[Floats, Floats]:
    """Boundaries below the longest service time, and the costs at them."""
    if levels == 1:
        return np.empty(0), np.empty(0)
    boundaries = mq.MLPT(quantum=quantum * LAW.mean, levels=levels).boundaries(longest)
    return boundaries, QUEUE.restore_cost(boundaries)


def against_c() -> Iterator[Row]:
    """One trace, every k, θ from 0.3 to 20 E[L]; the ratio is the geometric mean over θ, the note has the worst."""
    arrivals, service = traces(1)[0]
    for levels in LEVELS:
        ratios, seconds = [], []
        for quantum in QUANTA:
            arrays = arrivals, service, *policy_arrays(levels, quantum, service.max())
            # C adds up absolute times, up to 3·10⁷
            np.testing.assert_allclose(run(*arrays, lazy=False), by_c(*arrays), rtol=1e-9, atol=1e-4)
            times = race({"ours": lambda a=arrays: run(*a, lazy=False), "C": lambda a=arrays: by_c(*a)}, 11)
            ratios.append(times["C"] / times["ours"])
            seconds.append((times["ours"], times["C"]))
        name = "∞" if math.isinf(levels) else f"{levels:g}"
        worst = min(ratios)
        note = f"worst {worst:.2f} at θ = {QUANTA[ratios.index(worst)]:g} E[L], best {max(ratios):.2f}"
        ours, theirs = (sum(column) for column in zip(*seconds, strict=True))
        yield Row(
            f"MLPT simulation, 120k jobs, k = {name}", "C, plain loop", geometric_mean(ratios), 0.95, ours, theirs, note
        )


def eight_seeds() -> Iterator[Row]:
    """Eight traces on one core, also by C with several traces interleaved."""
    policies = ((2, 1.0), (10, 1.0), (math.inf, 3.0))
    longest = max(service.max() for _, service in traces(8))
    arrivals, service = (np.array(rows) for rows in zip(*traces(8), strict=True))
    ratios: dict[str, list[float]] = {}
    for levels, quantum in policies:
        arrays = policy_arrays(levels, quantum, longest)
        runners: dict[str, Callable[[], object]] = {
            "ours": lambda arrays=arrays: [run(*trace, *arrays, lazy=False) for trace in traces(8)],
            "C": lambda arrays=arrays: [by_c(*trace, *arrays) for trace in traces(8)],
        }
        plain = np.array([by_c(*trace, *arrays) for trace in traces(8)])
        for name, together in IN_TURNS:
            given = arrivals, service, *arrays, together, name
            runners[f"{name} {together}"] = lambda given=given: by_interleaved_c(*given)
            np.testing.assert_array_equal(by_interleaved_c(*given), plain)
        times = race(runners, 7)
        for name in times.keys() - {"C"}:
            ratios.setdefault(name, []).append(times["C"] / times[name])
    note = "open: see the page on speed in the README"
    yield Row("MLPT simulation, 8 seeds, one core", "C, plain loop", geometric_mean(ratios["ours"]), note=note)
    for name, together in IN_TURNS:
        found = ratios[f"{name} {together}"]
        note = "k = 2, 10 and ∞: " + ", ".join(f"{ratio:.2f}" for ratio in found)
        turns = f"{together} of 8 seeds interleaved" if together > 1 else "8 seeds"
        work = f"C, {turns}" + (", without branches" if name == "branch_free" else "")
        yield Row(work, "C, plain loop", geometric_mean(found), note=note)


def two_workers() -> Row:
    """All simulations of figure 6, by one thread and by two."""
    quanta = [0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8.5, 10, 11.5]
    policies = [mq.MLPT(quantum=x * LAW.mean, levels=k) for k in LEVELS for x in quanta]
    times = race(
        {
            "two": lambda: simulate_many(QUEUE, policies, 100_000, 20_000, 8, workers=2),
            "one": lambda: simulate_many(QUEUE, policies, 100_000, 20_000, 8, workers=1),
        }
    )
    return row("two threads on the simulations of figure 6", "one thread", times, "two", "one", 1.7)


# other simulators ----------------------------------------------------------------------------------------------------


def against_peers(python: Path) -> Iterator[Row]:
    """SimPy, Ciw, LINE and most-queue; one that answers wrongly is reported as wrong and not timed."""
    wanted = [
        ("simpy_process", 2, 3.0, 500.0),
        ("simpy_process", 5, 3.0, 500.0),
        ("simpy_server", 2, 3.0, 150.0),
        ("simpy_server", 5, 3.0, 150.0),
        ("ciw_levels", 2, 3.0, 800.0),
        ("ciw_levels", 3, 1.0, 800.0),
        ("ciw_levels", 5, 1.0, 800.0),
    ]
    for script, levels, quantum, at_least in wanted:
        yield _peer(python, script, levels, quantum, at_least)
    yield _fcfs_peer(python, "line_ldes", 5.0)
    yield _fcfs_peer(python, "most_queue_fcfs", None)
    yield _foreground(python)


def _asked(python: Path, script: str, repeats: int, **arrays: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.npz"
        mu, sigma = LAW.parameters
        np.savez(job, **arrays, mu=mu, sigma=sigma, arrival_rate=QUEUE.arrival_rate)
        command = [python, HERE / "peers" / f"{script}.py", job, str(repeats)]
        done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _peer(python: Path, script: str, levels: int, quantum: float, at_least: float) -> Row:
    warmup = 20_000
    arrivals, service = traces(1)[0]
    boundaries, costs = policy_arrays(levels, quantum, service.max())
    given = {"arrivals": arrivals, "service": service, "boundaries": boundaries, "warmup": warmup}
    answer = _asked(python, script, 3, **given, costs=np.concatenate([[0.0], costs]))
    mean = float(run(arrivals, service, boundaries, costs, lazy=False)[warmup:].mean())
    work, against = f"MLPT simulation, 120k jobs, k = {levels}", f"{answer['peer']}, {answer['style']}"
    off = answer["mean"] / mean - 1
    if abs(off) > 1e-9:
        return Row(work, against, math.nan, None, note=f"answers wrongly: its mean is off by {off:+.3%} on this trace")
    ours = race({"ours": lambda: run(arrivals, service, boundaries, costs, lazy=False)}, 11)["ours"]
    theirs = float(np.median(answer["seconds"]))
    return Row(work, against, theirs / ours, at_least, ours, theirs, f"means agree to {abs(off):.0e}")


def _fcfs_peer(python: Path, script: str, at_least: float | None) -> Row:
    """FCFS without slowdown: sizes are service times."""
    trace = draw_trace(LAW, QUEUE.arrival_rate, JOBS, seed=0)
    none = np.empty(0)
    given = {
        "arrivals": trace.arrival_times,
        "service": trace.sizes,
        "boundaries": none,
        "costs": np.zeros(1),
        "warmup": 0,
    }
    answer = _asked(python, script, 5, **given)
    mean = float(run(trace.arrival_times, trace.sizes, none, none, lazy=False).mean())
    against = f"{answer['peer']}, {answer['style']}"
    work = "FCFS simulation, 120k jobs, random numbers included"
    off = answer["mean"] / mean - 1
    if abs(off) > 1e-9:
        return Row(work, against, math.nan, None, note=f"answers wrongly: its mean is off by {off:+.3%} on this trace")
    queue = mq.Queue(LAW, QUEUE.arrival_rate)
    seeds = iter(range(10**6))
    ours = race({"ours": lambda: mq.simulate(queue, mq.FCFS(), JOBS, 0, 1, root_seed=next(seeds), workers=1)}, 11)[
        "ours"
    ]
    theirs = float(np.median(answer["seconds"]))
    note = "its random numbers are not included" if at_least is None else f"means on one trace agree to {abs(off):.0e}"
    return Row(work, against, theirs / ours, at_least, ours, theirs, note)


def _foreground(python: Path) -> Row:
    """LINE's analytic value for foreground–background against the limit of small quanta."""
    queue = mq.Queue(LAW, QUEUE.arrival_rate)
    ours = mq.optimal_quantum(queue, math.inf)
    trace = draw_trace(LAW, QUEUE.arrival_rate, 1000, seed=0)
    none = np.empty(0)
    given = {
        "arrivals": trace.arrival_times,
        "service": trace.sizes,
        "boundaries": none,
        "costs": np.zeros(1),
        "warmup": 0,
    }
    answer = _asked(python, "line_fb", 1, **given)
    ratio = answer["mean"] / ours.mean_response_time
    note = f"its value is {answer['mean']:.2f}, the limit of E[T] for θ → 0 is {ours.mean_response_time:.2f}"
    verdict = "agrees" if abs(ratio - 1) < 1e-6 else "answers wrongly"
    return Row(
        "foreground–background mean of the log-normal law", answer["peer"], math.nan, None, note=f"{verdict}: {note}"
    )


def timed(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
