"""Mean response time against the base load: FCFS, MLPT with the best quantum and Capped Gittins, figure 9."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mlptsym import validation
from mlptsym.numeric.gittins.capped import CappedGittins
from mlptsym.numeric.mean.response import mean_response_time
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.optimal.optimum import optimal_quantum
from mlptsym.studies.data import FigureData

if TYPE_CHECKING:
    from mlptsym.simulation.simulate import SimulatedPolicy


__all__ = ["LEFT_OUT", "at_load", "best_name", "capped_name", "simulation_by_load", "theory_by_load"]

LEFT_OUT = "left out, unstable"


def at_load(queue: Queue, load: float) -> Queue:
    """The same queue with the arrival rate that gives a base load ρ₀ = λE[S], which from one on is not below one.

    Raises
    ------
    ParameterError
        If the load is not > 0.
    """
    validation.instance("queue", queue, Queue, "a Queue")
    wanted = validation.number("load", load, above=0)
    rate = wanted / queue.mean_service_time
    if wanted >= 1 > rate * queue.mean_service_time:
        rate = math.nextafter(rate, math.inf)
    return replace(queue, arrival_rate=rate)


def best_name(levels: float) -> str:
    """Name of the curve of MLPT with k levels and the best quantum, such as ``MLPT-(θ*, ∞)``."""
    count = validation.levels("levels", levels)
    return f"MLPT-(θ*, {'∞' if math.isinf(count) else f'{count:g}'})"


def capped_name(preemptions: float) -> str:
    """The paper's name of the Gittins index policy with at most so many preemptions of each job.

    Examples
    --------
    >>> capped_name(1)
    'Capped Gittins(2)'
    """
    most = validation.levels("preemptions", preemptions, at_least=0)
    return f"Capped Gittins({'∞' if math.isinf(most) else f'{most + 1:g}'})"


def theory_by_load(queue: Queue, loads: Sequence[float], levels: Sequence[float]) -> FigureData:
    """E[T] of FCFS, and of MLPT with the best quantum for several k, against the base load ρ₀.

    Curves ``FCFS``, ``MLPT-(θ*, 2)``, …; ``inf`` from ρ₀ = 1 on.
    """
    chosen = validation.numbers("loads", loads, above=0, maximum_length=validation.MOST_POINTS)
    levels = validation.level_counts("levels", levels, at_least=2)
    queues = [at_load(queue, load) for load in chosen]
    data = FigureData().with_curve("", "FCFS", "theory", chosen, [mean_response_time(one, FCFS()) for one in queues])
    for k in levels:
        times = [optimal_quantum(one, k).mean_response_time for one in queues]
        data = data.with_curve("", best_name(k), "theory", chosen, times)
    return data


def simulation_by_load(
    queue: Queue,
    loads: Sequence[float],
    levels: Sequence[float],
    preemptions: Sequence[float],
    jobs: int = 100_000,
    warmup: int = 20_000,
    seeds: int = 8,
    root_seed: int = 0,
) -> FigureData:
    """Simulated mean response times of FCFS, MLPT with the best quantum and Capped Gittins, on the same traces.

    An unstable policy has no mean response time, though every finite trace has one.  Where one is found to be unstable
    — MLPT by its effective load, Capped Gittins by the measured load (`SimulationResult.stable`) — there is no point.
    Instead a marker with an infinite y says so, as in ``Capped Gittins(3): left out, unstable, measured load 1.0204``.
    A k whose best quantum is that of FCFS is simulated as FCFS.  The other arguments are those of `mlptsym.simulate`.
    """
    from mlptsym.simulation.simulate import simulate_many

    chosen = validation.numbers("loads", loads, above=0, maximum_length=validation.MOST_POINTS)
    levels = validation.level_counts("levels", levels, at_least=2)
    preemptions = validation.level_counts("preemptions", preemptions, at_least=0)
    names = ["FCFS", *map(best_name, levels), *map(capped_name, preemptions)]
    points: dict[str, FigureData] = {name: FigureData() for name in names}
    for load in chosen:
        here = at_load(queue, load)
        optima = [optimal_quantum(here, k) for k in levels]
        policies: list[SimulatedPolicy] = [FCFS()]
        policies += [
            MLPT(quantum=best.quantum, levels=best.levels) if 0 < best.quantum < math.inf else FCFS() for best in optima
        ]
        policies += [CappedGittins(most) for most in preemptions]
        known = [here.base_load, *(best.effective_load for best in optima), *(math.nan for _ in preemptions)]
        results = simulate_many(here, policies, jobs, warmup, seeds, root_seed=root_seed)
        for name, exact, result in zip(names, known, results, strict=True):
            measured = result.effective_load
            if exact < 1 if measured is None else result.stable:
                points[name] = points[name].with_curve(
                    "", name, "simulation", load, result.mean, standard_error=result.standard_error
                )
            else:
                value = f"load {exact:.4f}" if measured is None else f"measured load {measured:.4f}"
                points[name] = points[name].with_curve("", f"{name}: {LEFT_OUT}, {value}", "marker", load, math.inf)
    return FigureData(tuple(row for name in names for row in points[name].rows))
