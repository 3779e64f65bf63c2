"""How cost grows with the work: exponents of time in jobs, levels, grid points, and the memory of long simulations."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import mlptsym as mq
from benchmarks.measure import Row
from benchmarks.simulation import LAW, QUEUE, timed

# a process of its own, so that the high-water mark of memory is that of the simulation
SIMULATE = """
import json, re, sys, time
from pathlib import Path
import mlptsym as mq
law = mq.LogNormal(5, 0.9)
queue = mq.Queue(law, 0.0036, 6 * law.mean, slowdown_factor=0.39, preemption_cost=0.1)
policy = mq.MLPT(quantum=3 * law.mean, levels=float("inf"))
mq.simulate(queue, policy, 1000, 0, 1, workers=1)
begin = time.perf_counter()
mq.simulate(queue, policy, int(sys.argv[1]), 0, 1, workers=1)
seconds = time.perf_counter() - begin
# not ru_maxrss, which a process has from the one that started it
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps([seconds, int(peak[1]) / 1024]))
"""


def rows() -> Iterator[Row]:
    """Every row: the ratio is the exponent."""
    yield jobs()
    yield exponent(
        "E[T], levels 2⁴ … 2¹²",
        [2**n for n in range(4, 13, 2)],
        lambda k: mq.mean_response_time(QUEUE, mq.MLPT(quantum=np.full(256, 3 * LAW.mean), levels=int(k))),
    )
    yield exponent(
        "E[T], quanta 10⁴ … 10⁷, k = 2",
        [10**n for n in range(4, 8)],
        lambda n: mq.mean_response_time(QUEUE, mq.MLPT(quantum=np.linspace(1, 20, int(n)) * LAW.mean, levels=2)),
    )
    yield exponent(
        "Gittins index, ages 10³ … 10⁶",
        [10**n for n in range(3, 7)],
        lambda n: mq.gittins_index(QUEUE, np.linspace(0, 40 * LAW.mean, int(n))),
    )
    yield exponent(
        "θ* for k = ∞, empirical law of 10³ … 10⁶ samples, k = 2",
        [10**n for n in range(3, 7)],
        lambda n: mq.optimal_quantum(empirical(int(n)), 2),
    )


def empirical(samples: int) -> mq.Queue:
    """A sample of the law in place of the law."""
    size = mq.Empirical(LAW.sample(np.random.default_rng(1), samples))
    return mq.Queue(size, 0.0036, 6 * size.mean, slowdown_factor=0.39, preemption_cost=0.1)


def jobs() -> Row:
    """Time and memory of one simulation of 10⁴ to 10⁸ jobs."""
    counts = [10**n for n in range(4, 9)]
    done = [subprocess.run([sys.executable, "-c", SIMULATE, str(n)], check=True, capture_output=True) for n in counts]
    seconds, memory = zip(*(json.loads(process.stdout) for process in done), strict=True)
    used = ", ".join(f"{n:.0e}: {megabytes:.0f} MB" for n, megabytes in zip(counts, memory, strict=True))
    note = f"high-water mark of memory {used}"
    return Row(
        "simulation, 10⁴ … 10⁸ jobs, k = ∞", "exponent of time", slope(counts, seconds), seconds=seconds[-1], note=note
    )


def exponent(work: str, counts: Sequence[int], run: Callable[[int], object]) -> Row:
    """Slope of log time against log size, each size timed three times and the least taken."""
    run(counts[0])
    run(counts[-1])
    seconds = [min(timed(lambda n=n: run(n)) for _ in range(3)) for n in counts]
    note = ", ".join(f"{n:.0e}: {taken:.3g} s" for n, taken in zip(counts, seconds, strict=True))
    return Row(work, "exponent of time", slope(counts, seconds), seconds=seconds[-1], note=note)


def slope(counts: Sequence[float], seconds: Sequence[float]) -> float:
    """Least squares in logarithms."""
    return float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])
