"""Drawing how often MLPT′ with two levels waives its cost, and what that gains, figure 14."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlptsym.figures.drawing import columns, draw_curve, draw_points, empty_figure, legend_above, typeset
from mlptsym.figures.style import curve_style, line_style, paper_style, point_style
from mlptsym.studies.data import FigureData, checked_data
from mlptsym.studies.lazy import ALONE, BY_COST, GAIN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = {
    ALONE: "demotions without cost, $e$",
    GAIN: r"gain over MLPT (% of $\mathrm{E}[T]$)",
    BY_COST: r"gain over MLPT (% of $\mathrm{E}[T]$)",
}


def draw_lazy(data: FigureData) -> Figure:
    """Draw the data of `lazy_by_load`, `lazy_simulated` and `lazy_by_cost`."""
    data = checked_data(data, "lazy_by_load", _is_whole)
    with paper_style():
        figure, panels = empty_figure("page", 2.7, 3)
        for axes, (panel, label) in zip(panels, PANELS.items(), strict=True):
            for index, name in enumerate(dict.fromkeys(row.curve for row in data.select(panel=panel))):
                draw_curve(axes, data.select(panel=panel, curve=name, kind="theory"), line_style(index))
                draw_points(axes, data.select(panel=panel, curve=name, kind="simulation"), point_style(index))
                style = curve_style(index)
                x, y, _ = columns(data.select(panel=panel, curve=name, kind="marker"))
                axes.plot(x, y, linestyle="none", marker="v", markersize=4, color=style["color"], zorder=3)
                axes.plot([], [], **line_style(index), label=typeset(name))
            axes.set(xscale="log", xlabel=r"quantum $\theta$ (units of $\mathrm{E}[L]$)", ylabel=label)
            axes.set_ylim(bottom=0.0)
            axes.xaxis.set_major_formatter("{x:g}")
        panels[-1].legend(loc="upper right", frameon=False)
        legend_above(figure, panels[0], 1)
    return figure


def _is_whole(data: FigureData) -> bool:
    """Every panel has a curve, of shares and gains that a line or a point can show."""
    lines = all(any(row.y < math.inf for row in data.select(panel=panel, kind="theory")) for panel in PANELS)
    return lines and all(
        row.x > 0 and (row.y >= 0 or row.kind == "simulation") and (row.y < math.inf or row.kind == "theory")
        for row in data.rows
    )
