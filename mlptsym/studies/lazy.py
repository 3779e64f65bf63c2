"""How often MLPT′ with two levels waives its cost, and what that gains, figure 14."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.numeric.mean.lazy import lazy_terms
from mlptsym.numeric.model.policies import MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.studies.data import FigureData

ALONE, GAIN, BY_COST = "demotions without cost", "gain by load", "gain by cost"


def lazy_by_load(queue: Queue, loads: Any, multiples: Any) -> FigureData:
    """e, and the gain of MLPT′ over MLPT in per cent of E[T], against the quantum in mean sizes, a curve a base load.

    The largest gain is a marker.
    """
    validation.instance("queue", queue, Queue, "a Queue")
    data, quanta = FigureData(), _quanta(queue, multiples)
    for load in validation.numbers("loads", loads, above=0, at_most=1):
        here = replace(queue, arrival_rate=load / queue.mean_service_time)
        name = _load_name(load)
        terms = lazy_terms(here, quanta)
        data = data.with_curve(ALONE, name, "theory", quanta / queue.size.mean, terms.alone)
        data = _with_gain(data, GAIN, name, here, quanta)
    return data


def lazy_by_cost(queue: Queue, costs: Any, multiples: Any) -> FigureData:
    """The gain of MLPT′ over MLPT against the quantum, a curve a cost γ; the largest gain is a marker."""
    validation.instance("queue", queue, Queue, "a Queue")
    data, quanta = FigureData(), _quanta(queue, multiples)
    for cost in validation.numbers("costs", costs, above=0):
        data = _with_gain(data, BY_COST, f"γ = {cost:g}", replace(queue, preemption_cost=cost), quanta)
    return data


def lazy_simulated(
    queue: Queue,
    loads: Any,
    multiples: Any,
    jobs: int = 100_000,
    warmup: int = 20_000,
    seeds: int = 8,
    root_seed: int = 0,
) -> FigureData:
    """The gain by load in simulation, both policies on the same traces; other arguments are those of `simulate`."""
    from mlptsym.simulation.simulate import simulate_many

    validation.instance("queue", queue, Queue, "a Queue")
    data, quanta = FigureData(), _quanta(queue, multiples)
    for load in validation.numbers("loads", loads, above=0, at_most=1):
        here = replace(queue, arrival_rate=load / queue.mean_service_time)
        policies = [MLPT(quantum=float(quantum), levels=2, lazy=lazy) for quantum in quanta for lazy in (False, True)]
        runs = simulate_many(here, policies, jobs, warmup, seeds, root_seed=root_seed)
        for quantum, eager, lazy in zip(quanta, runs[::2], runs[1::2], strict=True):
            gains = 100 * (1 - lazy.seed_means / eager.seed_means)
            error = float(gains.std(ddof=1) / math.sqrt(seeds)) if seeds > 1 else None
            place, mean = float(quantum) / queue.size.mean, float(gains.mean())
            data = data.with_curve(GAIN, _load_name(load), "simulation", place, mean, standard_error=error)
    return data


def _load_name(load: float) -> str:
    return f"base load {load:g}"


def _quanta(queue: Queue, multiples: Any) -> NDArray[np.float64]:
    return np.array(validation.numbers("multiples", multiples, above=0)) * queue.size.mean


def _with_gain(data: FigureData, panel: str, name: str, queue: Queue, quanta: NDArray[np.float64]) -> FigureData:
    terms = lazy_terms(queue, quanta)
    stable = np.isfinite(terms.gain)
    gain = np.full(quanta.shape, math.inf)
    gain[stable] = 100 * terms.gain[stable] / (terms.gain + terms.mean_response_time)[stable]
    places = quanta / queue.size.mean
    data = data.with_curve(panel, name, "theory", places, gain)
    most = int(np.where(stable, gain, -1.0).argmax())
    return data.with_curve(panel, name, "marker", places[most], gain[most]) if stable.any() else data
