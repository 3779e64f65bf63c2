"""Drawing mean response times of FCFS against the arrival rate, figure 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlptsym import validation
from mlptsym.figures.drawing import columns, draw_curve, empty_figure, legend_above, typeset
from mlptsym.figures.style import line_style, paper_style
from mlptsym.studies.data import FigureData, checked_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["draw_arrivals"]


def draw_arrivals(data: FigureData, highest: float) -> Figure:
    """Draw the data of `response_by_arrival_rate`, up to the mean ``highest``, with dashed verticals at the limits."""
    from matplotlib.ticker import MaxNLocator

    data = checked_data(data, "response_by_arrival_rate", _is_whole)
    lowest = 0.8 * min(row.y for row in data.rows)
    highest = validation.number("highest", highest, above=lowest, at_most=validation.LARGEST)
    with paper_style():
        figure, (axes,) = empty_figure("column", 2.7)
        for index, curve in enumerate(dict.fromkeys(row.curve for row in data.rows)):
            (limit,), _, _ = columns(data.select(curve=curve, kind="marker"))
            style = line_style(index)
            label = rf"{typeset(curve)} ($\lambda < {limit:.5f}$)"
            draw_curve(axes, data.select(curve=curve, kind="theory"), style, label=label)
            axes.axvline(limit, color=style["color"], linestyle=(0, (4, 3)), linewidth=0.7, zorder=1.5)
        rates, _, _ = columns(data.select(kind="theory"))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(lambda rate, _position: f"{rate:g}")
        axes.set(
            xlim=(0, 1.04 * rates.max()),
            ylim=(lowest, highest),
            yscale="log",
            xlabel=r"arrival rate $\lambda$ (jobs per unit of time)",
            ylabel=r"mean response time $\mathrm{E}[T]$ (units of time)",
        )
        legend_above(figure, axes, rows=4)
        return figure


def _is_whole(data: FigureData) -> bool:
    """A curve and its limit for each name."""
    names = dict.fromkeys(row.curve for row in data.rows)
    pairs = [(data.select(curve=name, kind="theory"), data.select(curve=name, kind="marker")) for name in names]
    positive = all(row.x > 0 and row.y > 0 for row in data.rows)
    return bool(names) and positive and all(curve and len(limit) == 1 for curve, limit in pairs)
