"""Drawing A/B and the hazard rate of L with their crossings, figures 3 to 5."""

from __future__ import annotations

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
    mean_size_axis,
    typeset,
)
from mlptsym.figures.style import line_style, paper_style
from mlptsym.studies.crossings import HAZARD
from mlptsym.studies.data import FigureData, checked_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["draw_hazard_crossings"]

_EDGED: Mapping[str, Any] = {"linestyle": "none", "color": "white", "markeredgecolor": "black"}

_MARKS: Mapping[str, Mapping[str, Any]] = {
    "minimum": {"marker": "v", "markersize": 5.5, **_EDGED},
    "maximum": {"marker": "^", "markersize": 5.5, **_EDGED},
    "jump minimum": {"marker": "*", "markersize": 8.0, **_EDGED},
}


def draw_hazard_crossings(data: FigureData, mean_size: float, thresholds: Mapping[str, float]) -> Figure:
    """Draw the data of `hazard_crossings`, one panel beside the other.

    ``mean_size`` is E[L], for the axis on top, and ``thresholds`` are the ℓ_C by panel.
    """
    data = checked_data(data, "hazard_crossings", _is_whole)
    mean_size = validation.magnitude("mean_size", mean_size)
    names = {row.panel for row in data.rows}
    if not names <= validation.mapping("thresholds", thresholds, "a mapping of panels to numbers").keys():
        validation.refuse("thresholds", thresholds, f"a mapping of all panels to numbers: {', '.join(sorted(names))}")
    for name in names:
        validation.number("thresholds", thresholds[name], at_least=0, infinite=True)
    with paper_style():
        panels = list(dict.fromkeys(row.panel for row in data.rows))
        curves = list(dict.fromkeys(row.curve for row in data.select(kind="theory")))
        figure, all_axes = empty_figure("page", 2.75, len(panels), sharey=True)
        for axes, panel in zip(all_axes, panels, strict=True):
            for index, curve in enumerate(curves):
                style = line_style(index)
                draw_curve(axes, data.select(panel, curve, "theory"), style, label=typeset(curve))
                # Crossings of several curves may lie in one place, ℓ_C: the first curve's mark is the largest.
                scale = 1 + 0.12 * (len(curves) - 1 - index)
                for kind, mark in _MARKS.items():
                    x, y, _ = columns(data.select(panel, f"{curve}: {kind}", "marker"))
                    own = {"color": style["color"], "markersize": scale * mark["markersize"]}
                    axes.plot(x, y, **{**mark, **own}, zorder=3)
            x, hazard, _ = columns(data.select(panel, HAZARD, "theory"))
            top = 1.8 * hazard.max(where=np.isfinite(hazard), initial=0.0)
            axes.set(xlim=(0, x[-1]), xlabel="$x$ (units of work)", ylim=(0, top or None))
            draw_threshold(axes, thresholds[panel])
            mean_size_axis(axes, mean_size, r"$x/\mathrm{E}[L]$")
            axes.text(0.97, 0.95, typeset(panel), transform=axes.transAxes, ha="right", va="top")
        first = all_axes[0]
        first.set_ylabel("rate ($10^{-3}$ per unit of time)")
        first.yaxis.set_major_formatter(lambda rate, _position: f"{1000 * rate:g}")
        for kind, mark in _MARKS.items():
            first.plot([], [], **mark, label=kind)
        legend_above(figure, first, rows=1 if len(curves) <= 2 else 2)
        return figure


def _is_whole(data: FigureData) -> bool:
    """A hazard rate in each panel."""
    curves = [data.select(panel, HAZARD, "theory") for panel in {row.panel for row in data.rows}]
    return bool(curves) and all(curve and curve[-1].x > 0 for curve in curves)
