"""Drawing percentiles of the response time against the quantum, figure 12."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlptsym import validation
from mlptsym.figures.drawing import (
    columns,
    draw_curve,
    draw_threshold,
    empty_figure,
    legend_above,
    typeset,
)
from mlptsym.figures.style import line_style, paper_style
from mlptsym.numeric.model.queue import Queue
from mlptsym.studies.data import FigureData, checked_data
from mlptsym.studies.percentiles import FOR_MEAN, LOWEST

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["draw_percentiles"]

FAINTEST = 1.5
"""Highest percentile that is drawn, in units of that of FCFS."""

_MARKS: Mapping[str, Mapping[str, Any]] = {
    FOR_MEAN: {"marker": "*", "markersize": 8.0, "color": "white", "markeredgecolor": "black"},
    LOWEST: {"marker": "o", "markersize": 5.0, "markerfacecolor": "white", "color": "black", "markeredgewidth": 1.2},
}


def draw_percentiles(data: FigureData, queue: Queue) -> Figure:
    """Draw the data of `percentiles_by_quantum`, one panel for each percentile; ℓ_C and E[L] are those of the queue."""
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
