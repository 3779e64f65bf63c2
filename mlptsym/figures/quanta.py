"""Drawing mean response times against the quantum, figures 6 to 8."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mlptsym import validation
from mlptsym.figures.drawing import (
    columns,
    draw_curve,
    draw_points,
    draw_threshold,
    empty_figure,
    legend_above,
    mean_size_axis,
    typeset,
)
from mlptsym.figures.style import curve_style, line_style, paper_style, point_style
from mlptsym.numeric.model.queue import Queue
from mlptsym.studies.data import FigureData, checked_data
from mlptsym.studies.quanta import CEILING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["draw_quanta"]

_MARKS: Mapping[str, Mapping[str, Any]] = {
    "θ*": {"marker": "*", "markersize": 8.0, "color": "white", "markeredgecolor": "black"},
    "θ̂": {"marker": "|", "markersize": 11.0, "color": "black", "markeredgewidth": 1.6},
}


def draw_quanta(data: FigureData, queue: Queue) -> Figure:
    """Draw the data of `theory_by_quantum`, `simulation_by_quantum` and `optima_by_quantum` together.

    Lines are theory, points with error bars of one standard error simulation; ℓ_C and E[L] are those of the queue.
    """
    data = checked_data(data, "theory_by_quantum", _is_whole)
    validation.instance("queue", queue, Queue, "a Queue")
    with paper_style():
        figure, (axes,) = empty_figure("page", 3.3)
        curves = dict.fromkeys(row.curve for kind in ("theory", "simulation") for row in data.select(kind=kind))
        for index, curve in enumerate(curves):
            theory, points = (data.select(curve=curve, kind=kind) for kind in ("theory", "simulation"))
            draw_curve(axes, theory, line_style(index))
            draw_points(axes, points, point_style(index), zorder=2.2)
            drawn = curve_style(index) | ({} if theory else {"linestyle": "none"}) | ({} if points else {"marker": ""})
            axes.plot([], [], **drawn, markerfacecolor="white", label=typeset(curve))
            for name, mark in _MARKS.items():
                x, y, _ = columns(data.select(curve=f"{curve}: {name}"))
                axes.plot(x, y, linestyle="none", **{**mark, "color": drawn["color"]}, zorder=3)
        for name, mark in _MARKS.items():
            axes.plot([], [], linestyle="none", **mark, label=typeset(name))
        fcfs = data.select(curve="FCFS", kind="theory")
        _, times, errors = columns(row for row in data.rows if math.isfinite(row.y))
        if times.size:
            top = CEILING * fcfs[0].y
            axes.set_ylim(0.97 * (times - errors).min(), top if math.isfinite(top) else 3 * times.min())
        else:
            axes.text(0.5, 0.5, "unstable for every quantum", transform=axes.transAxes, ha="center")
            axes.set_yticks([])
        axes.set(
            xlim=(0, fcfs[-1].x),
            xlabel=r"quantum $\theta$ (units of time)",
            ylabel=r"mean response time $\mathrm{E}[T]$ (units of time)",
        )
        draw_threshold(axes, float(queue.service_time(queue.slowdown[0])))
        mean_size_axis(axes, queue.size.mean, r"$\theta/\mathrm{E}[L]$")
        legend_above(figure, axes, rows=2)
        return figure


def _is_whole(data: FigureData) -> bool:
    """FCFS over a range of quanta, beside whatever there is."""
    fcfs = data.select(curve="FCFS", kind="theory")
    return bool(fcfs) and fcfs[-1].x > 0 and all(row.y > 0 for row in data.rows)
