"""Mean response time of MLPT against the quantum: theory, simulation and the best quantum, figures 6 to 8."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.numeric.mean.gradient import quantum_slopes
from mlptsym.numeric.mean.response import mean_response_time, solve
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.optimal.optimum import optimal_quantum, rule_of_thumb
from mlptsym.studies.data import FigureData

__all__ = ["CEILING", "level_name", "optima_by_quantum", "simulation_by_quantum", "theory_by_quantum"]

Floats = NDArray[np.float64]

CEILING = 1.35
"""Highest mean response time that is drawn and simulated, in units of that of FCFS."""

FEW = 50
"""So many levels show that a queue with far too short quanta is unstable."""

_LAZY = "MLPT′-(θ, ∞)"

_HALVINGS = 12


def level_name(levels: float) -> str:
    """Name of the curve of MLPT with k levels.

    Examples
    --------
    >>> level_name(2.0), level_name(math.inf)
    ('MLPT-(θ, 2)', 'MLPT-(θ, ∞)')
    """
    count = validation.levels("levels", levels)
    return f"MLPT-(θ, {'∞' if math.isinf(count) else f'{count:g}'})"


def theory_by_quantum(queue: Queue, levels: Sequence[float], longest: float, points: int = 240) -> FigureData:
    """E[T] of MLPT-(θ, k) for several k, and of FCFS, against θ up to ``longest``, in units of service time.

    The kinks of the curves and quanta towards the ends of the ranges in which a policy is stable are added.  Curves
    ``FCFS``, ``MLPT-(θ, 2)``, …, ``MLPT-(θ, ∞)``; ``inf`` where a policy is unstable.
    """
    validation.instance("queue", queue, Queue, "a Queue")
    levels = validation.level_counts("levels", levels)
    longest = validation.magnitude("longest", longest)
    points = validation.points("points", points)
    fcfs = mean_response_time(queue, FCFS())
    data = FigureData().with_curve("", "FCFS", "theory", [0.0, longest], fcfs)
    even = longest * (np.arange(1, points + 1) / points)
    near_zero = even[0] * np.arange(1, 10) / 10
    kink = float(queue.service_time(queue.slowdown[0]))
    for k in levels:
        kinks = kink / np.arange(1, min(k, 13))
        quanta = np.unique(np.concatenate([near_zero, even, kinks[(kinks > even[0]) & (kinks < longest)]]))
        quanta, times = _to_the_edges(queue, k, quanta)
        data = data.with_curve("", level_name(k), "theory", quanta, times)
    return data


def _to_the_edges(queue: Queue, levels: float, quanta: Floats) -> tuple[Floats, Floats]:
    """E[T] at the quanta, and at others that halve their way to the edges of stability."""
    times = _times(queue, levels, quanta)
    for _ in range(_HALVINGS):
        stable = np.isfinite(times)
        edges = np.flatnonzero(stable[1:] != stable[:-1])
        if not len(edges):
            break
        between = (quanta[edges] + quanta[edges + 1]) / 2
        quanta = np.insert(quanta, edges + 1, between)
        times = np.insert(times, edges + 1, _times(queue, levels, between))
    return quanta, times


def _times(queue: Queue, levels: float, quanta: Floats) -> Floats:
    """E[T]; for k = ∞ short quanta, which have the most levels by far, are known to be unstable by longer ones.

    A job that is cut at all multiples of θ is also cut at the first few multiples of mθ: where these make the queue
    unstable, θ does.
    """
    stable = np.ones(quanta.shape, dtype=bool)
    if levels == math.inf:
        with np.errstate(over="ignore"):  # also where the mean is infinite
            multiples = np.clip(np.floor(queue.mean_service_time / quanta / 2), 1, 1e200) * quanta
        stable = solve(queue, MLPT(quantum=multiples, levels=FEW)).stable
    times = np.full(quanta.shape, math.inf)
    if stable.any() and levels == math.inf:
        times[stable] = quantum_slopes(queue, quanta[stable], levels).mean_response_time
    elif stable.any():
        times[stable] = mean_response_time(queue, MLPT(quantum=quanta[stable], levels=levels))
    return times


def simulation_by_quantum(
    queue: Queue,
    levels: Sequence[float],
    quanta: Iterable[float],
    jobs: int = 100_000,
    warmup: int = 20_000,
    seeds: int = 8,
    root_seed: int = 0,
) -> FigureData:
    """Simulated mean response times of MLPT-(θ, k) for several k, of MLPT′-(θ, ∞) and of FCFS, all on the same traces.

    A quantum is simulated where the theory's mean is at most 1.35 times that of FCFS: closer to the edge of stability
    no trace of this length is near its steady state.  The other arguments are those of `mlptsym.simulate`.
    """
    from mlptsym.simulation.simulate import simulate_many

    validation.instance("queue", queue, Queue, "a Queue")
    levels = validation.level_counts("levels", levels)
    chosen = np.unique(validation.numbers("quanta", quanta, above=0, maximum_length=validation.MOST_POINTS))
    highest = CEILING * mean_response_time(queue, FCFS())
    if math.isinf(highest):
        return FigureData()
    runs: list[tuple[str, float, Policy]] = [("FCFS", float(chosen[-1]), FCFS())]
    for name, k, lazy in [*((level_name(k), k, False) for k in levels), (_LAZY, math.inf, True)]:
        shown = chosen[_times(queue, k, chosen) <= highest]
        runs += [(name, quantum, MLPT(quantum=quantum, levels=k, lazy=lazy)) for quantum in map(float, shown)]
    results = simulate_many(queue, [policy for *_, policy in runs], jobs, warmup, seeds, root_seed=root_seed)
    data = FigureData()
    for (name, quantum, _), result in zip(runs, results, strict=True):
        error = result.standard_error
        data = data.with_curve("", name, "simulation", quantum, result.mean, standard_error=error)
    return data


def optima_by_quantum(queue: Queue, levels: Sequence[float]) -> FigureData:
    """The best quantum θ* and the rule of thumb θ̂ for several k, each with its mean response time, as markers.

    There is no θ* where no quantum is best, since FCFS is better or every smaller quantum is, and no θ̂ where the rule
    gives no stable quantum.
    """
    data = FigureData()
    validation.instance("queue", queue, Queue, "a Queue")
    for k in validation.level_counts("levels", levels, at_least=2):
        best = optimal_quantum(queue, k)
        rule = rule_of_thumb(queue, k)
        if 0 < best.quantum < math.inf:
            data = data.with_curve("", f"{level_name(k)}: θ*", "marker", best.quantum, best.mean_response_time)
        if 0 < rule < math.inf and math.isfinite(time := mean_response_time(queue, MLPT(quantum=rule, levels=k))):
            data = data.with_curve("", f"{level_name(k)}: θ̂", "marker", rule, time)
    return data
