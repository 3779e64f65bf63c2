"""The look of every figure: sizes, fonts and curves for a two-column paper.

Matplotlib is imported when a style is asked for, and its global settings stay as they are.  Only fonts that matplotlib
ships are used, so that the same figure gives the same bytes on every machine.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from mlptsym.validation import choice, integer

__all__ = [
    "COLUMN_WIDTH",
    "PAGE_WIDTH",
    "curve_style",
    "figure_size",
    "line_style",
    "paper_parameters",
    "paper_style",
    "point_style",
]

COLUMN_WIDTH = 3.4
"""Width of one column, in inches."""

PAGE_WIDTH = 7.0
"""Width of both columns, in inches."""

FONT = "STIXGeneral"

# Ordered by lightness (L* = 0, 32, 46, 54, 64, 72): the curves stay apart in grey and for colour-blind readers.
_COLOURS = ("#000000", "#882255", "#0072B2", "#D55E00", "#44AA99", "#DDAA33")
_LINE_STYLES = (
    "-",
    (0, (5.0, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6.0, 1.5, 1.2, 1.5)),
    (0, (11.0, 3.0)),
    (0, (6.0, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P")


def paper_parameters() -> dict[str, Any]:
    """Matplotlib's ``rcParams`` of the paper style; what is not named here keeps matplotlib's own default.

    Examples
    --------
    >>> paper_parameters()["font.size"]
    8
    """
    return {
        "figure.figsize": figure_size(),
        "figure.dpi": 150,
        "figure.constrained_layout.use": True,
        "figure.constrained_layout.h_pad": 0.02,
        "figure.constrained_layout.w_pad": 0.02,
        "savefig.dpi": 300,
        "font.family": FONT,
        "mathtext.fontset": "stix",
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "legend.fontsize": 7,
        "figure.titlesize": 8,
        "axes.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#d9d9d9",
        "grid.linewidth": 0.4,
        "lines.linewidth": 1.1,
        "lines.markersize": 3.5,
        "lines.markeredgewidth": 0.6,
        "errorbar.capsize": 1.5,
        "xtick.direction": "in",
        "ytick.direction": "in",
        "xtick.top": True,
        "ytick.right": True,
        "xtick.major.width": 0.5,
        "ytick.major.width": 0.5,
        "xtick.minor.width": 0.4,
        "ytick.minor.width": 0.4,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "xtick.minor.size": 1.5,
        "ytick.minor.size": 1.5,
        "legend.frameon": True,
        "legend.framealpha": 0.9,
        "legend.edgecolor": "#bfbfbf",
        "legend.fancybox": False,
        "legend.handlelength": 2.6,
        "legend.borderpad": 0.35,
        "legend.labelspacing": 0.3,
        "patch.linewidth": 0.6,
        "svg.fonttype": "none",
        "svg.hashsalt": "mlptsym",
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "axes.prop_cycle": _cycle(),
    }


def _cycle() -> Any:
    from matplotlib.rcsetup import cycler

    return cycler(color=_COLOURS) + cycler(linestyle=_LINE_STYLES)


def paper_style() -> AbstractContextManager[None]:
    """Context in which figures are made and saved in the paper's style, ``with paper_style(): …``.

    The user's own matplotlib settings count for nothing inside and are back afterwards.

    Examples
    --------
    >>> import matplotlib
    >>> before = matplotlib.rcParams["font.size"]
    >>> with paper_style():
    ...     matplotlib.rcParams["font.size"]
    8.0
    >>> matplotlib.rcParams["font.size"] == before
    True
    """
    import matplotlib.style

    return matplotlib.style.context(paper_parameters(), after_reset=True)


def figure_size(width: str = "column", height: float | None = None) -> tuple[float, float]:
    """Width and height, in inches, of a figure that fills one column (3.4 in) or both, ``"page"`` (7 in).

    Examples
    --------
    >>> figure_size("page", 2.5)
    (7.0, 2.5)
    """
    inches = COLUMN_WIDTH if choice("width", width, ("column", "page")) == "column" else PAGE_WIDTH
    return inches, 0.7 * COLUMN_WIDTH if height is None else height


def curve_style(index: int) -> dict[str, Any]:
    """Colour, line style and marker of a figure's curve of a number from 0, as `matplotlib.axes.Axes.plot` takes them.

    Six colours that differ in lightness, each with a line style and a marker of its own; beyond six, colours come again
    with other line styles and markers, so that the first 36 curves all differ.

    Examples
    --------
    >>> curve_style(0)
    {'color': '#000000', 'linestyle': '-', 'marker': 'o'}
    """
    turn, place = divmod(integer("index", index, at_least=0), len(_COLOURS))
    shape = (place + turn) % len(_COLOURS)
    return {"color": _COLOURS[place], "linestyle": _LINE_STYLES[shape], "marker": _MARKERS[shape]}


def line_style(index: int) -> dict[str, Any]:
    """Style of a curve drawn as a line without markers (theory)."""
    return curve_style(index) | {"marker": "none"}


def point_style(index: int) -> dict[str, Any]:
    """Style of the same curve drawn as hollow points without a line (simulation)."""
    return curve_style(index) | {"linestyle": "none", "markerfacecolor": "white"}
