"""Drawing what unequal quanta gain, and where their boundaries lie, figure 13."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlptsym import validation
from mlptsym.figures.drawing import columns, draw_curve, draw_points, empty_figure, legend_above, typeset
from mlptsym.figures.style import curve_style, line_style, paper_style, point_style
from mlptsym.studies.data import FigureData, checked_data
from mlptsym.studies.unequal import GAIN, QUANTA

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["draw_unequal"]


def draw_unequal(data: FigureData, names: Sequence[str]) -> Figure:
    """Draw the data of `gain_by_levels` and `quanta_by_level` for several queues, whose curves have these names."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    allowed = "a sequence of at least one name of a curve in the data"
    if not validation.sequence("names", names, allowed):
        validation.refuse("names", names, allowed)
    data = checked_data(data, "gain_by_levels", lambda found: all(0 < row.y < math.inf for row in found.select(QUANTA)))
    for name in names:
        validation.choice("names", name, sorted({row.curve for row in data.rows}))
    with paper_style():
        figure, (left, right) = empty_figure("page", 2.9, 2)
        for index, name in enumerate(names):
            draw_curve(left, data.select(panel=GAIN, curve=name, kind="theory"), line_style(index))
            draw_points(left, data.select(panel=GAIN, curve=name, kind="simulation"), point_style(index), zorder=2.2)
            style = curve_style(index)
            left.plot([], [], **style, markerfacecolor="white", label=typeset(name))
            x, y, _ = columns(data.select(panel=QUANTA, curve=name))
            right.plot(x, y, **style, markerfacecolor="white")
            draw_curve(
                right, data.select(panel=QUANTA, curve=f"{name}, equal"), {**line_style(index), "linewidth": 0.5}
            )
            x, y, _ = columns(data.select(panel=QUANTA, curve=f"{name}: boundary at a kink"))
            right.plot(x, y, linestyle="none", marker=style["marker"], color=style["color"], zorder=3)
        left.set(xlabel="number of levels $k$", ylabel="gain over the best equal quanta (%)")
        left.set_ylim(bottom=min(0.0, left.get_ylim()[0]))
        right.set(xlabel="level $r$", ylabel=r"quantum $\theta_r$ (units of $\mathrm{E}[L]$)", yscale="log")
        right.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        right.yaxis.set_major_formatter("{x:g}")
        right.yaxis.set_minor_formatter(NullFormatter())
        for axes in (left, right):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend_above(figure, left, 1)
    return figure
