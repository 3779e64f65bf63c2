"""Drawing mean response times against the base load, figure 9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlptsym.figures.drawing import columns, draw_curve, draw_points, empty_figure, legend_above, typeset
from mlptsym.figures.style import curve_style, line_style, paper_style, point_style
from mlptsym.studies.data import FigureData, checked_data
from mlptsym.studies.loads import LEFT_OUT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


__all__ = ["draw_loads"]

ARROW: Mapping[str, Any] = {"linestyle": "none", "marker": r"$\uparrow$", "markersize": 9.0}


def draw_loads(data: FigureData) -> Figure:
    """Draw the data of `theory_by_load` and `simulation_by_load` together.

    Lines are theory, points with error bars of one standard error simulation; points of a policy that has no theory
    are joined by thin lines, for the eye.  An arrow at the upper edge stands where a policy is unstable, several side
    by side.
    """
    data = checked_data(data, "theory_by_load", lambda found: all(row.y > 0 for row in found.rows))
    with paper_style():
        figure, (axes,) = empty_figure("page", 3.3)
        unstable: dict[int, set[float]] = {}
        names = dict.fromkeys(row.curve for kind in ("theory", "simulation") for row in data.select(kind=kind))
        for index, name in enumerate(names):
            theory, points = (data.select(curve=name, kind=kind) for kind in ("theory", "simulation"))
            draw_curve(axes, theory, line_style(index))
            if not theory:
                x, y, _ = columns(points)
                axes.plot(x, y, **{**line_style(index), "linewidth": 0.6}, zorder=2.1)
            draw_points(axes, points, point_style(index), zorder=2.2)
            drawn = curve_style(index) | ({} if points else {"marker": ""})
            axes.plot([], [], **drawn, markerfacecolor="white", label=typeset(name))
            left_out = f"{name}: {LEFT_OUT}"
            unstable[index] = {row.x for row in data.select(kind="marker") if row.curve.startswith(left_out)}
        for load in sorted(set().union(*unstable.values())):
            _draw_unstable(axes, load, [curve_style(index)["color"] for index in unstable if load in unstable[index]])
        axes.margins(x=0.03)
        axes.set(
            yscale="log",
            xlabel=r"base load $\rho_0 = \lambda\,\mathrm{E}[S]$",
            ylabel=r"mean response time $\mathrm{E}[T]$ (units of time)",
        )
        if any(unstable.values()):
            axes.plot([], [], **ARROW, color="black", label="unstable")
            low, high = axes.get_ylim()
            axes.set_ylim(low, high * (high / low) ** 0.15)  # no curve runs through the arrows
        legend_above(figure, axes, rows=1)
        return figure


def _draw_unstable(axes: Axes, load: float, colors: Sequence[Any]) -> None:
    """Arrows side by side towards the upper edge, one a policy: there is no height to draw a point at."""
    from matplotlib.transforms import offset_copy

    axes.update_datalim([(load, 1.0)], updatey=False)
    for place, color in enumerate(colors):
        points = 6.0 * (place - (len(colors) - 1) / 2)
        where = offset_copy(axes.get_xaxis_transform(), axes.get_figure(root=True), x=points, units="points")
        axes.plot([load], [0.94], **ARROW, color=color, transform=where)
