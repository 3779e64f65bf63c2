"""Mean response time of FCFS against the arrival rate, up to the limit of stability, figure 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mlptsym import validation
from mlptsym.compile import compiled
from mlptsym.figures.drawing import checked_data, columns, draw_curve, empty_figure, legend_above, typeset
from mlptsym.figures.record import FigureData
from mlptsym.figures.style import line_style, paper_style
from mlptsym.numeric.mean.response import mean_response_time
from mlptsym.numeric.model.policies import FCFS
from mlptsym.numeric.model.queue import Queue

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["draw_arrivals", "response_by_arrival_rate"]

_SMALLEST_LOAD = 1e-6
_SMALLEST_MARGIN = 1e-3


def response_by_arrival_rate(queues: Mapping[str, Queue], points: int = 200) -> FigureData:
    """Pollaczek–Khinchine mean response time against λ, with the stability limit 1/E[S] of lemma 3.1.

    Parameters
    ----------
    queues : mapping of str to Queue
        By name of the curve; their own arrival rates are not used.
    points : int
        Number of arrival rates for each curve; 1 − ρ₀ falls from 1 to 0.001 in equal ratios.

    Returns
    -------
    FigureData
        The curves, and for each a marker at its limit, where the mean is ``inf``.
    """
    loads = 1 - np.geomspace(1, _SMALLEST_MARGIN, validation.points("points", points))
    loads[0] = _SMALLEST_LOAD
    data = FigureData()
    for name, queue in validation.mapping("queues", queues, "a mapping of names to queues").items():
        validation.instance("queues", queue, Queue, "a mapping of names to queues")
        limit = 1 / queue.mean_service_time
        rates = limit * loads
        # in one call, after the theory had its say on whether it can be told at the highest rate
        mean_response_time(replace(queue, arrival_rate=float(rates[-1])), FCFS())
        (times,) = compiled("mlptsym.symbolic.mean.response:pollaczek_khinchine_formula")(
            arrival_rate=rates, mean=queue.mean_service_time, second=queue.service_moment(2)
        )
        data = data.with_curve("", name, "theory", rates, times).with_curve("", name, "marker", limit, np.inf)
    return data


def draw_arrivals(data: FigureData, highest: float) -> Figure:
    """Draw the data of `response_by_arrival_rate`.

    Parameters
    ----------
    data : FigureData
    highest : float
        Upper end of the (logarithmic) axis of the mean response time, > 0.

    Returns
    -------
    matplotlib.figure.Figure
        Dashed verticals stand at the limits of stability.
    """
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
