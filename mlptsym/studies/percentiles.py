"""Percentiles of the response time against the quantum, figure 12."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.numeric.distribution.percentiles import response_time_distribution
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.saturation import SaturationError
from mlptsym.numeric.optimal.optimum import optimal_quantum
from mlptsym.studies.data import FigureData
from mlptsym.studies.quanta import level_name

__all__ = ["FOR_MEAN", "LOWEST", "percentile_name", "percentiles_by_quantum"]

Floats = NDArray[np.float64]

LOWEST, FOR_MEAN = "lowest", "θ*"


def percentile_name(probability: float) -> str:
    """Name of a percentile.

    Examples
    --------
    >>> percentile_name(0.5), percentile_name(0.999)
    ('P50', 'P99.9')
    """
    return f"P{100 * validation.number('probability', probability, at_least=0, at_most=1):.10g}"


def percentiles_by_quantum(
    queue: Queue, levels: Sequence[float], quanta: Sequence[float], probabilities: Sequence[float]
) -> FigureData:
    """Percentiles of MLPT-(θ, k) for several k, and of FCFS, against θ, one panel for each probability.

    To the quanta, in units of service time, the kinks q(ℓ_C)/m, m = 1, 2, 3, between them and the quantum that is best
    for the mean are added.  Curves are ``inf`` where a policy is unstable.  For each k there are markers ``: θ*``, at
    the quantum that is best for the mean, and ``: lowest``, the lowest point of the curve, for which the vertex of the
    parabola through three neighbours is tried as well.
    """
    validation.instance("queue", queue, Queue, "a Queue")
    levels = validation.level_counts("levels", levels, at_least=2)
    chosen = np.unique(validation.numbers("quanta", quanta, above=0, maximum_length=validation.MOST_POINTS))
    chances = np.asarray(
        validation.numbers("probabilities", probabilities, above=0, at_most=1, maximum_length=validation.MOST_CURVES)
    )
    panels = [percentile_name(chance) for chance in chances]
    data = FigureData()
    fcfs = response_time_distribution(queue, FCFS()).quantile(chances)
    for panel, value in zip(panels, fcfs, strict=True):
        data = data.with_curve(panel, "FCFS", "theory", [chosen[0], chosen[-1]], value)
    kink = float(queue.service_time(queue.slowdown[0]))
    for k in levels:
        best = optimal_quantum(queue, k).quantum
        places = np.append(kink / np.arange(1, min(k, 4)), best)
        places = np.unique(np.append(chosen, places[(places >= chosen[0]) & (places <= chosen[-1])]))
        values = np.array([_quantiles(queue, k, place, chances) for place in places])
        vertices = np.unique([vertex for column in values.T for vertex in _vertex(places, column)])
        if vertices.size:
            values = np.vstack([values, [_quantiles(queue, k, place, chances) for place in vertices]])
            places = np.append(places, vertices)
        order = np.argsort(places)
        places, values = places[order], values[order]
        for panel, column in zip(panels, values.T, strict=True):
            data = data.with_curve(panel, level_name(k), "theory", places, column)
            if best in places:
                height = column[np.flatnonzero(places == best)]
                data = data.with_curve(panel, f"{level_name(k)}: {FOR_MEAN}", "marker", [best], height)
            lowest = int(np.argmin(column))
            if math.isfinite(column[lowest]):
                name = f"{level_name(k)}: {LOWEST}"
                data = data.with_curve(panel, name, "marker", places[lowest], column[lowest])
    return data


def _quantiles(queue: Queue, levels: float, quantum: float, chances: Floats) -> Floats:
    """The quantiles; ``inf`` where the queue is unstable, or so close to it that they cannot be told."""
    policy = MLPT(quantum=float(quantum), levels=levels)
    try:
        quantiles: Floats = response_time_distribution(queue, policy).quantile(chances)
    except SaturationError:
        return np.full(chances.shape, math.inf)
    return quantiles


def _vertex(places: Floats, values: Floats) -> list[float]:
    """Where the parabola through the lowest point and its neighbours is lowest, in the logarithm of the quantum."""
    middle = int(np.argmin(values))
    around = slice(middle - 1, middle + 2)
    if not 0 < middle < len(places) - 1 or not np.isfinite(values[around]).all():
        return []
    logs = np.log(places[around] / places[middle])
    square, slope, _ = np.polyfit(logs, values[around] / values[middle], 2)
    return [float(places[middle] * math.exp(-slope / (2 * square)))] if square > 0 and slope != 0 else []
