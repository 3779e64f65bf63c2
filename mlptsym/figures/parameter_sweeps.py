"""Drawing best quanta against a parameter, figure 10, and their plateaus, figure 11."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlptsym import validation
from mlptsym.figures.drawing import columns, draw_curve, empty_figure, legend_above, typeset
from mlptsym.figures.style import figure_size, line_style, paper_style
from mlptsym.studies.best_quanta import threshold_of
from mlptsym.studies.data import FigureData, checked_data
from mlptsym.studies.parameter_sweeps import HIGHEST, QUANTUM, RATIO, ParameterSweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


__all__ = ["draw_best_quanta", "draw_plateaus"]

_AXES = {
    "slowdown_threshold": r"$\ell_C/\mathrm{E}[L]$",
    "slowdown_factor": r"slowdown factor $\beta$",
    "preemption_cost": r"preemption cost $\gamma$",
}

_GREY = "#8c8c8c"


def draw_best_quanta(data: FigureData, sweeps: Mapping[str, ParameterSweep]) -> Figure:
    """Draw the data of `best_quanta_by_parameter` for five sweeps: the first on the left, the others beside it."""
    from matplotlib.figure import Figure

    data = checked_data(data, "best_quanta_by_parameter", lambda found: bool(found.select(kind="theory")))
    allowed = "a mapping of five panels to ParameterSweep"
    if len(validation.mapping("sweeps", sweeps, allowed)) != 5:
        validation.refuse("sweeps", sweeps, allowed)
    for panel, sweep in sweeps.items():
        validation.instance("sweeps", panel, str, allowed)
        validation.instance("sweeps", sweep, ParameterSweep, allowed)
    with paper_style():
        figure = Figure(figsize=figure_size("page", 4.2))
        first, *others = sweeps
        mosaic: Any = [[first, others[0], others[1]], [first, others[2], others[3]]]
        panels = figure.subplot_mosaic(mosaic, width_ratios=(1.25, 1, 1))
        curves = list(dict.fromkeys(row.curve for row in data.select(kind="theory")))
        for panel, axes in panels.items():
            sweep = sweeps[panel]
            _draw_parts(axes, sweep, named=panel == first)
            for index, curve in enumerate(curves):
                rows = data.select(panel, curve, "theory")
                draw_curve(axes, rows, line_style(index), label=typeset(curve), zorder=2.0 + 0.1 * index)
            ends = [row for row in data.select(panel=panel, kind="marker") if row.x not in {sweep.low, sweep.high}]
            x, y, _ = columns(ends)
            axes.plot(
                x, y, linestyle="none", marker="o", markersize=2.6, color="white", markeredgecolor="black", zorder=3
            )
            _, heights, _ = columns(row for row in data.select(panel=panel, kind="theory") if row.y <= HIGHEST)
            axes.set(
                xlim=(sweep.low, sweep.high),
                ylim=(0, 1.12 * heights.max(initial=1.0)),
                xlabel=_AXES[sweep.name],
                ylabel=r"quantum$/\mathrm{E}[L]$" if panel in {first, others[0], others[2]} else "",
            )
            text = axes.text(0.5, 0.97, typeset(panel), transform=axes.transAxes, ha="center", va="top", zorder=4)
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0})
        legend_above(figure, panels[first], rows=1)
        return figure


def _draw_parts(axes: Axes, sweep: ParameterSweep, *, named: bool) -> None:
    """Thin lines at ℓ_C, ℓ_C/2 and ℓ_C/3, in units of E[L], named near their right ends."""
    ends = np.array([sweep.low, sweep.high])
    thresholds = np.array([threshold_of(sweep.at(end)) for end in ends.tolist()]) / sweep.queue.size.mean
    for number in (1, 2, 3):
        axes.plot(ends, thresholds / number, color=_GREY, linewidth=0.5, linestyle=(0, (4, 2)), zorder=1.2)
        if named:
            name = r"$\ell_C$" if number == 1 else rf"$\ell_C/{number}$"
            place = (ends[-1], thresholds[-1] / number)
            axes.annotate(name, place, (-3, 3), textcoords="offset points", ha="right", va="bottom", color="#595959")


def draw_plateaus(data: FigureData) -> Figure:
    """Draw the data of `plateaus_by_threshold`, θ* on the left and ℓ_C/θ* on the right; on plateaus lines are thick."""
    data = checked_data(data, "plateaus_by_threshold", _is_whole)
    with paper_style():
        figure, (left, right) = empty_figure("page", 3.0, 2)
        for axes, panel in ((left, QUANTUM), (right, RATIO)):
            curves = list(dict.fromkeys(row.curve for row in data.select(panel, kind="theory")))
            for index, curve in enumerate(curves):
                style = line_style(index)
                draw_curve(axes, data.select(panel, curve, "theory"), style, label=typeset(curve))
                for number in _numbers(data, panel, curve):
                    x, y, _ = columns(data.select(panel, f"{curve}: plateau {number}", "marker"))
                    axes.plot(
                        x,
                        y,
                        color=style["color"],
                        linestyle="-",
                        linewidth=3.2,
                        alpha=0.35,
                        solid_capstyle="butt",
                        zorder=1.8,
                    )
            x, y, _ = columns(row for row in data.select(panel, kind="theory") if row.y <= HIGHEST)
            axes.set(xlim=(x.min(), x.max()), ylim=(0, 1.05 * y.max()), xlabel=_AXES["slowdown_threshold"])
        left.set_ylabel(r"best quantum $\theta^*/\mathrm{E}[L]$, $k = \infty$")
        right.set_ylabel(r"quanta up to the slowdown, $\ell_C/\theta^*$")
        low, high = left.get_xlim()
        for number in range(1, math.ceil(right.get_ylim()[1])):
            left.plot([low, high], [low / number, high / number], color=_GREY, linewidth=0.4, linestyle=":", zorder=1.2)
        right.set_yticks(range(math.ceil(right.get_ylim()[1])))
        legend_above(figure, left, rows=1)
        return figure


def _is_whole(data: FigureData) -> bool:
    """In both panels curves over a range, some of them low enough to be drawn, and plateaus that are numbered."""
    lines = [data.select(panel, kind="theory") for panel in (QUANTUM, RATIO)]
    ranges = all(len({row.x for row in line if row.y <= HIGHEST}) > 1 for line in lines)
    named = all(re.fullmatch(r".*: plateau [0-9]+", row.curve) for row in data.select(kind="marker"))
    return ranges and named and all(row.y > 0 for row in data.rows)


def _numbers(data: FigureData, panel: str, curve: str) -> list[int]:
    names = dict.fromkeys(row.curve for row in data.select(panel, kind="marker"))
    return [int(name.rpartition(" ")[2]) for name in names if name.startswith(f"{curve}: plateau ")]
