"""What unequal quanta gain over equal ones, and where their boundaries lie, figure 13."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mlptsym import validation
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.optimal.unequal import OptimalQuanta, best_boundaries_by_level
from mlptsym.studies.data import FigureData

__all__ = ["GAIN", "QUANTA", "best_quanta", "gain_by_levels", "quanta_by_level", "threshold_name"]

GAIN = "gain over equal quanta"

QUANTA = "quanta"


def threshold_name(queue: Queue) -> str:
    """Name of the curve of a queue, by its ℓ_C in mean sizes.

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> threshold_name(Queue(Exponential(0.5), 0.1, slowdown_threshold=6.0, slowdown_factor=0.5))
    'ℓ_C = 3 E[L]'
    """
    validation.instance("queue", queue, Queue, "a Queue")
    return f"ℓ_C = {queue.slowdown[0] / queue.size.mean:.6g} E[L]"


def best_quanta(queue: Queue, levels: int) -> tuple[OptimalQuanta, ...]:
    """The best quanta for k = 2, …, ``levels``."""
    return tuple(best_boundaries_by_level(queue, levels))


def gain_by_levels(
    queue: Queue,
    chain: Sequence[OptimalQuanta],
    jobs: int = 100_000,
    warmup: int = 20_000,
    seeds: int = 8,
    root_seed: int = 0,
) -> FigureData:
    """Gain of the best unequal over the best equal quanta against k, in per cent, by theory and by simulation.

    Both policies run on the same traces, and the error is that of their ratio; the other arguments are those of
    `mlptsym.simulate`.
    """
    from mlptsym.simulation.simulate import simulate_many

    name = threshold_name(queue)
    for best in validation.sequence("chain", chain, "a sequence of what optimal_quanta returns"):
        validation.instance("chain", best, OptimalQuanta, "a sequence of what optimal_quanta returns")
    data = FigureData().with_curve(
        GAIN, name, "theory", [best.levels for best in chain], [100 * best.gain for best in chain]
    )
    policies = [policy for best in chain for policy in (best.policy, _equal(best))]
    runs = simulate_many(queue, policies, jobs, warmup, seeds, root_seed=root_seed)
    for best, unequal, equal in zip(chain, runs[::2], runs[1::2], strict=True):
        gains = 100 * (1 - unequal.seed_means / equal.seed_means)
        error = float(gains.std(ddof=1) / math.sqrt(seeds)) if seeds > 1 else None
        mean = float(gains.mean())
        data = data.with_curve(GAIN, name, "simulation", best.levels, mean, standard_error=error)
    return data


def _equal(best: OptimalQuanta) -> Policy:
    common = best.equal.quantum
    return MLPT(quantum=common, levels=best.levels) if 0 < common < math.inf else FCFS()


def quanta_by_level(queue: Queue, best: OptimalQuanta) -> FigureData:
    """Length of each quantum against its level, in mean sizes, and the best common quantum beside it.

    A boundary at ℓ_C is a marker too.
    """
    name, mean = threshold_name(queue), queue.size.mean
    validation.instance("best", best, OptimalQuanta, "what optimal_quanta returns")
    quanta = np.array(best.quanta) / mean
    level = np.arange(1, len(quanta) + 1)
    data = FigureData().with_curve(QUANTA, name, "theory", level, quanta)
    common = best.equal.quantum / mean
    if 0 < common < math.inf:
        data = data.with_curve(QUANTA, f"{name}, equal", "theory", [1, best.levels - 1], common)
    at_kink = np.array(best.kinks, dtype=bool)
    return data.with_curve(QUANTA, f"{name}: boundary at a kink", "marker", level[at_kink], quanta[at_kink])
