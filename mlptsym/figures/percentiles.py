"""Percentiles of the response time against the quantum, figure 12."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.figures.drawing import (
    checked_data,
    columns,
    draw_curve,
    draw_threshold,
    empty_figure,
    legend_above,
    typeset,
)
from mlptsym.figures.quanta import level_name
from mlptsym.figures.record import FigureData
from mlptsym.figures.style import line_style, paper_style
from mlptsym.numeric.distribution.percentiles import response_time_distribution
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.saturation import SaturationError
from mlptsym.numeric.optimal.optimum import optimal_quantum

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_percentiles", "percentile_name", "percentiles_by_quantum"]

Floats = NDArray[np.float64]

FAINTEST = 1.5
"""Highest percentile that is drawn, in units of that of FCFS."""

LOWEST, FOR_MEAN = "lowest", "θ*"
_MARKS: Mapping[str, Mapping[str, Any]] = {
    FOR_MEAN: {"marker": "*", "markersize": 8.0, "color": "white", "markeredgecolor": "black"},
    LOWEST: {"marker": "o", "markersize": 5.0, "markerfacecolor": "white", "color": "black", "markeredgewidth": 1.2},
}


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
    """Percentiles of MLPT-(θ, k) for several k, and of FCFS, against θ.

    Parameters
    ----------
    queue : Queue
    levels : sequence of int or inf
        The values of k.
    quanta : sequence of float
        Quanta in units of service time, each > 0; the kinks q(ℓ_C)/m, m = 1, 2, 3, between them and the quantum that
        is best for the mean are added.
    probabilities : sequence of float
        One panel each.

    Returns
    -------
    FigureData
        Panels ``P50``, …; curves ``FCFS``, ``MLPT-(θ, 2)``, …, ``inf`` where a policy is unstable; and for each k the
        markers ``: θ*``, at the quantum that is best for the mean, and ``: lowest``, the lowest point of the curve, for
        which the vertex of the parabola through three neighbours is tried as well.
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


def draw_percentiles(data: FigureData, queue: Queue) -> Figure:
    """Draw the data of `percentiles_by_quantum`, one panel for each percentile.

    Parameters
    ----------
    data : FigureData
    queue : Queue
        The queue they were computed for, for its ℓ_C and E[L].

    Returns
    -------
    matplotlib.figure.Figure
    """
    data = checked_data(data, "percentiles_by_quantum for two or more quanta", _is_whole)
    validation.instance("queue", queue, Queue, "a Queue")
    with paper_style():
        panels = list(dict.fromkeys(row.panel for row in data.rows))
        figure, all_axes = empty_figure("page", 2.7, panels=len(panels))
        curves = list(dict.fromkeys(row.curve for row in data.select(kind="theory")))
        mean_size = queue.size.mean
        for panel, axes in zip(panels, all_axes, strict=True):
            fcfs = data.select(panel=panel, curve="FCFS")
            for index, curve in enumerate(curves):
                style = line_style(index)
                draw_curve(axes, data.select(panel=panel, curve=curve, kind="theory"), style)
                axes.plot([], [], **style, label=typeset(curve))
                for name, mark in _MARKS.items():
                    x, y, _ = columns(data.select(panel=panel, curve=f"{curve}: {name}"))
                    axes.plot(x, y, linestyle="none", **{**mark, "color": style["color"]}, zorder=3)
            for name, mark in _MARKS.items():
                label = "lowest point" if name == LOWEST else r"$\theta^*$, best for the mean"
                axes.plot([], [], linestyle="none", **mark, label=label)
            finite = np.array([row.y for row in data.select(panel=panel) if math.isfinite(row.y)])
            if finite.size:
                axes.set_ylim(0.9 * finite.min(), min(FAINTEST * fcfs[0].y, 1.12 * finite.max()))
            ticks = [t for t in (1, 2, 3, 6, 12) if fcfs[0].x <= t * mean_size <= fcfs[-1].x * (1 + 1e-9)]
            axes.set_xscale("log")
            axes.set_xticks([t * mean_size for t in ticks], [str(t) for t in ticks])
            axes.set_xticks([], minor=True)
            axes.set(
                xlim=(fcfs[0].x, fcfs[-1].x),
                xlabel=r"quantum $\theta/\mathrm{E}[L]$",
                title=f"{panel} of the response time",
            )
            draw_threshold(axes, float(queue.service_time(queue.slowdown[0])))
        all_axes[0].set_ylabel("percentile (units of time)")
        legend_above(figure, all_axes[0], rows=1)
        return figure


def _is_whole(data: FigureData) -> bool:
    """FCFS over a range of quanta in each panel."""
    curves = [data.select(panel=panel, curve="FCFS") for panel in {row.panel for row in data.rows}]
    ranges = all(curve and 0 < curve[0].x < curve[-1].x for curve in curves)
    return bool(curves) and ranges and all(row.x > 0 and row.y > 0 for row in data.rows)
