"""What control variates bring: variance times time against plain replication, and how sharply theory is checked by them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mlptsym as mq
from benchmarks import crosscheck
from benchmarks.measure import Row, race
from benchmarks.simulation import timed
from mlptsym.simulation.simulate import SimulationResult

JOBS, WARMUP, SEEDS = 100_000, 20_000, 32
LIMIT = 60.0


def rows() -> Iterator[Row]:
    """Every row."""
    short = mq.MLPT(quantum=crosscheck.SIZE.mean, levels=2)
    yield efficiency("figure 6, k = 2, θ = E[L]", crosscheck.queue_of("fig06"), short, 30.0)
    for figure in crosscheck.THRESHOLDS:
        queue = crosscheck.queue_of(figure)
        for levels in (2, 5, 10, math.inf):
            best = mq.optimal_quantum(queue, levels).quantum
            name = f"figure {int(figure[3:])}, k = {'∞' if math.isinf(levels) else levels}"
            yield efficiency(f"{name}, θ*", queue, mq.MLPT(quantum=best, levels=levels), 10.0)
        lazy = mq.MLPT(quantum=mq.optimal_quantum(queue, math.inf).quantum, levels=math.inf, lazy=True)
        yield efficiency(f"figure {int(figure[3:])}, MLPT′, k = ∞, θ*", queue, lazy, 10.0)
    yield resolution()


def efficiency(work: str, queue: mq.Queue, policy: mq.MLPT, at_least: float) -> Row:
    """Variance times time of plain replication over that of control variates, on the same traces."""

    def simulate(control: bool, seeds: int) -> SimulationResult:
        return mq.simulate(queue, policy, JOBS, WARMUP, seeds, control=control, workers=1)

    reduction = simulate(True, SEEDS).variance_reduction or math.nan
    times = race({"plain": lambda: simulate(False, 8), "control": lambda: simulate(True, 8)})
    ratio = reduction * times["plain"] / times["control"]
    note = f"variance alone {reduction:.0f}, estimated from {SEEDS} traces"
    return Row(work, "plain replication, variance × time", ratio, at_least, times["control"], times["plain"], note)


def resolution() -> Row:
    """The cross-check of figures 6 to 8: seconds it may take over those it takes; fails if anything is amiss."""
    found: list[crosscheck.Row] = []
    seconds = timed(lambda: found.extend(crosscheck.run()))
    wrong, unresolved = crosscheck.disagreements(found), crosscheck.unresolved(found)
    chosen, others = ([row.half_width for row in found if row.chosen is kind] for kind in (True, False))
    note = (
        f"{len(found)} points, {len(wrong)} disagree, {len(unresolved)} not resolved; half-widths (95 %) up to "
        f"{max(chosen):.3%} at the best quanta, {max(others):.2%} elsewhere; {seconds:.0f} s"
    )
    ratio = LIMIT / seconds if not wrong and not unresolved else 0.0
    return Row("cross-check of figures 6 to 8, two threads", f"{LIMIT:.0f} s", ratio, 1.0, seconds, LIMIT, note)
