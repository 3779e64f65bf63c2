"""The M/G^g/1_Cβ queue, drawn: jobs and levels, and one job on the server, figure 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mlptsym.figures.drawing import columns, draw_curve
from mlptsym.figures.style import figure_size, line_style, paper_style
from mlptsym.studies.data import FigureData, checked_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


__all__ = ["draw_schematic"]

_GREY = "#7f7f7f"

_MEMORY = line_style(2)["color"]

_SLOW = line_style(1)["color"]

_BLACK_LINE: Mapping[str, Any] = {"color": "black", "linestyle": "-", "linewidth": 0.9}


def draw_schematic(data: FigureData) -> Figure:
    """Draw the queue with its levels, and the data of `job_on_server` against attained service."""
    from matplotlib.figure import Figure

    data = checked_data(data, "job_on_server", _is_whole)
    with paper_style():
        figure = Figure(figsize=figure_size("page", 2.45))
        panels = figure.subplot_mosaic(
            [["queue", "memory"], ["queue", "rate"]], width_ratios=(2.1, 1), height_ratios=(2.1, 1)
        )
        _draw_queue(panels["queue"])
        _draw_job(panels["memory"], panels["rate"], data)
        return figure


def _is_whole(data: FigureData) -> bool:
    """Both curves, and one place each for the capacity and the preemption."""
    curves = [data.select(panel=panel, kind="theory") for panel in ("memory", "rate")]
    marks = [data.select(curve=curve) for curve in ("capacity", "preemption")]
    positive = all(curve and curve[-1].x > 0 and 0 < curve[-1].y < math.inf for curve in curves)
    return positive and all(len(mark) == 1 and math.isfinite(mark[0].y) for mark in marks)


def _draw_queue(axes: Axes) -> None:
    """Arrivals, levels, the server with its memory, departures and the way back of a preempted job."""
    axes.set(xlim=(0, 9.2), ylim=(0, 4.75), aspect="equal")
    axes.set_axis_off()
    for level, y in (("Q_1", 3.9), ("Q_2", 2.9), ("Q_k", 1.2)):
        _draw_level(axes, level, y)
        axes.annotate("", (5.1, 2.75), (3.85, y), arrowprops=_arrow(color=_GREY))
    axes.text(2.75, 2.05, r"$\vdots$", ha="center", va="center")
    axes.annotate("", (1.9, 3.9), (0.1, 3.9), arrowprops=_arrow())
    axes.text(0.1, 4.05, "Poisson arrivals,\nrate $\\lambda$, size $L$", va="bottom")
    axes.annotate("", (1.45, 3.6), (1.45, 1.4), arrowprops=_arrow(color=_GREY))
    axes.text(1.35, 2.05, "priority", rotation=90, ha="right", va="center", color=_GREY)
    _draw_server(axes)
    axes.annotate("", (9.1, 2.75), (7.9, 2.75), arrowprops=_arrow())
    axes.text(8.5, 2.85, "done", ha="center", va="bottom")
    way_back = [(6.5, 1.5), (6.5, 0.45), (0.7, 0.45), (0.7, 1.2)]
    axes.plot(*zip(*way_back, strict=True), color=_SLOW, linestyle="--")
    for y in (1.2, 2.9):
        axes.plot([0.7, 0.7], [0.45, y], color=_SLOW, linestyle="--")
        axes.annotate("", (1.9, y), (0.7, y), arrowprops=_arrow(color=_SLOW, linestyle="--"))
    axes.text(
        3.6,
        0.37,
        r"preempted at attained service $a$: one level down, restore cost $c(a)=\gamma\,g(a)$",
        ha="center",
        va="top",
        color=_SLOW,
    )


def _draw_level(axes: Axes, name: str, y: float) -> None:
    axes.plot([2.0, 3.8, 3.8, 2.0], [y - 0.3, y - 0.3, y + 0.3, y + 0.3], **_BLACK_LINE)
    for x in (2.9, 3.2, 3.5):
        axes.plot([x, x], [y - 0.3, y + 0.3], **_BLACK_LINE)
    axes.text(2.45, y, f"${name}$", ha="center", va="center")


def _draw_server(axes: Axes) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((5.1, 1.5), 2.8, 2.7, facecolor="white", edgecolor="black", linewidth=1.1))
    axes.text(6.5, 4.28, "server, one job at a time", ha="center", va="bottom")
    axes.add_patch(Rectangle((5.6, 1.7), 0.55, 1.1, facecolor=_MEMORY, alpha=0.45))
    axes.add_patch(Rectangle((5.6, 1.7), 0.55, 2.1, fill=False, edgecolor="black"))
    axes.plot([5.5, 6.25], [3.35, 3.35], color="black", linestyle="--")
    axes.text(5.45, 3.35, "$C$", ha="right", va="center")
    axes.text(5.87, 2.25, "$g(a)$", ha="center", va="center")
    axes.annotate("", (5.87, 3.25), (5.87, 2.6), arrowprops=_arrow(color=_MEMORY))
    axes.text(6.3, 3.55, "rate $\\beta$ from\n$g(a)=C$ on", va="center", color=_SLOW)
    axes.text(6.3, 2.25, "rate 1 while\n$g(a)<C$", va="center")


def _arrow(**style: object) -> dict[str, object]:
    return {
        "arrowstyle": "-|>",
        "linewidth": 0.9,
        "shrinkA": 0,
        "shrinkB": 0,
        "mutation_scale": 8,
        "color": "black",
    } | style


def _draw_job(memory: Axes, rate: Axes, data: FigureData) -> None:
    """Memory and rate of service against attained service."""
    (threshold,), (capacity,), _ = columns(data.select(curve="capacity"))
    (quantum,), (held,), _ = columns(data.select(curve="preemption"))
    growth, steps = data.select(panel="memory", kind="theory"), data.select(panel="rate", kind="theory")
    whole, largest = growth[-1].x, growth[-1].y
    draw_curve(memory, growth, {"color": _MEMORY, "linestyle": "-"})
    memory.plot([0, threshold], [capacity, capacity], color="black", linestyle="--", linewidth=0.8)
    memory.plot([quantum], [held], marker="o", color=_SLOW, markersize=4)
    memory.annotate(
        "preempted here:\ncost $\\gamma\\,g(\\theta)$",
        (quantum, held),
        (0.42, 0.1),
        textcoords="axes fraction",
        va="bottom",
        color=_SLOW,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        arrowprops=_arrow(color=_SLOW, linewidth=0.6),
    )
    memory.set(ylabel="memory $g(a)$", ylim=(0, 1.08 * largest), yticks=[0, capacity], yticklabels=["0", "$C$"])
    draw_curve(rate, steps, {"color": _SLOW, "linestyle": "-"})
    rate.set(ylabel="rate", ylim=(0, 1.25), yticks=[0, steps[-1].y, 1], yticklabels=["0", r"$\beta$", "1"])
    rate.set_xlabel("attained service $a$ (time on the server)")
    for axes in (memory, rate):
        axes.set(xlim=(0, 1.04 * whole), xticks=[0, quantum, threshold, whole])
        axes.set_xticklabels(["0", r"$\theta$", r"$\ell_C$", "$S$"] if axes is rate else [])
        for age in (quantum, threshold, whole):
            axes.axvline(age, color=_GREY, linestyle=":", linewidth=0.8, zorder=1)
        axes.grid(False)
