"""What the drawings of the figures share: empty figures, curves from figure data, jumps, secondary axes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlptsym.figures.style import FONT, figure_size
from mlptsym.studies.data import FigureRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "columns",
    "draw_curve",
    "draw_points",
    "draw_threshold",
    "empty_figure",
    "legend_above",
    "mean_size_axis",
    "plain",
    "typeset",
]

Floats = NDArray[np.float64]

# The data name things in plain text; these parts of a name are set as mathematics.
_MATHEMATICS = {
    "A/B": "A(x)/B(x)",
    "h_L": "h_L(x)",
    "ℓ_C": r"\ell_C",
    "E[L]": r"\mathrm{E}[L]",
    "θ*": r"\theta^*",
    "θ̂": r"\hat{\theta}",
    "θ": r"\theta",
    "β": r"\beta",
    "γ": r"\gamma",
    "λ": r"\lambda",
    "k": "k",
    "C": "C",
    "∞": r"\infty",
}
_NAMES = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in _MATHEMATICS))


def typeset(name: str) -> str:
    r"""The name of a panel or curve with its symbols set as mathematics, as a label of matplotlib's.

    Examples
    --------
    >>> typeset("FCFS, ℓ_C = 3 E[L]")
    'FCFS, $\\ell_C$ = 3 $\\mathrm{E}[L]$'
    """
    return _NAMES.sub(lambda found: f"${_MATHEMATICS[found.group()]}$", plain(name).replace("$", r"\$"))


def plain(text: str) -> str:
    """A line of text in which each character that the font of the figures has not is replaced."""
    return "".join(letter if ord(letter) in _glyphs() else "�" for letter in text)


@cache
def _glyphs() -> frozenset[int]:
    """Characters that the font of the figures has."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(FONT)).get_charmap())


def empty_figure(width: str, height: float, panels: int = 1, **layout: Any) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side, made without pyplot, so that no window and no list of figures is involved.

    Width and height are those of `figure_size`, ``layout`` is that of `matplotlib.figure.Figure.subplots`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=figure_size(width, height))
    return figure, list(figure.subplots(1, panels, squeeze=False, **layout)[0])


def columns(rows: Iterable[FigureRow]) -> tuple[Floats, Floats, Floats]:
    """x, y and standard error (zero where there is none) of some rows.

    Examples
    --------
    >>> x, y, error = columns([FigureRow("", "T", "simulation", 1, 2, 0.5), FigureRow("", "T", "theory", 3, 4)])
    >>> x, error
    (array([1., 3.]), array([0.5, 0. ]))
    """
    table = np.array([(row.x, row.y, row.standard_error or 0.0) for row in rows], dtype=float).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def draw_curve(axes: Axes, rows: Iterable[FigureRow], style: Mapping[str, Any], **options: Any) -> None:
    """Draw a theory line, broken where a value is infinite and where the curve jumps.

    Two neighbouring rows with the same x are the limits from the left and from the right: they end one part of the
    line and start the next, and each gets a dot.
    """
    x, y, _ = columns(rows)
    jumps = np.flatnonzero((x[1:] == x[:-1]) & (y[1:] != y[:-1]))
    apart = np.insert(np.where(np.isfinite(y), y, np.nan), jumps + 1, np.nan)
    axes.plot(np.insert(x, jumps + 1, x[jumps]), apart, **style, **options)
    ends = np.concatenate([jumps, jumps + 1])
    dot = {"color": style["color"], "linestyle": "none", "marker": ".", "markersize": 4.0}
    axes.plot(x[ends], np.where(np.isfinite(y[ends]), y[ends], np.nan), **dot, zorder=options.get("zorder", 2.0))


def draw_points(axes: Axes, rows: Iterable[FigureRow], style: Mapping[str, Any], **options: Any) -> None:
    """Draw simulated means with error bars of one standard error."""
    x, y, error = columns(rows)
    axes.errorbar(x, y, yerr=error, **style, elinewidth=0.6, **options)


def draw_threshold(axes: Axes, threshold: float) -> None:
    """Mark ℓ_C by a dotted line over the whole height, if it lies within the axes."""
    low, high = axes.get_xlim()
    if low < threshold < high:
        axes.axvline(threshold, color="#7f7f7f", linestyle=":", linewidth=0.8, zorder=1.0)
        axes.annotate(
            r"$\ell_C$",
            (threshold, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -4),
            textcoords="offset points",
            va="top",
            color="#4d4d4d",
        )


def mean_size_axis(axes: Axes, mean_size: float, label: str) -> None:
    """A second x axis on top, in units of the mean size E[L], unless that is infinite."""
    if math.isinf(mean_size):
        return

    def in_mean_sizes(x: Any) -> Any:
        return x / mean_size

    def in_time(multiple: Any) -> Any:
        return multiple * mean_size

    above = axes.secondary_xaxis("top", functions=(in_mean_sizes, in_time))
    above.set_xlabel(label)
    axes.tick_params(axis="x", which="both", top=False)


def legend_above(figure: Figure, axes: Axes, rows: int) -> None:
    """One legend for the whole figure, above it, where it covers nothing."""
    handles, labels = axes.get_legend_handles_labels()
    options = {"ncols": -(-len(labels) // rows), "columnspacing": 1.2, "handlelength": 3.6}
    figure.legend(handles, labels, loc="outside upper center", **options)
