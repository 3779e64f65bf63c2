"""The look of every figure: sizes, fonts and curves for a two-column paper.

Matplotlib is imported when a style is asked for, and its global settings stay as they are.  Only fonts that matplotlib
ships are used, so that the same figure gives the same bytes on every machine.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
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

_SETTINGS = Path(__file__).with_name("paper.mplstyle")

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
    8.0
    """
    from matplotlib import rc_params_from_file
    from matplotlib.rcsetup import cycler

    cycle = cycler(color=_COLOURS) + cycler(linestyle=_LINE_STYLES)
    stated: Any = rc_params_from_file(_SETTINGS, fail_on_error=True, use_default_template=False)
    return {**stated, "figure.figsize": figure_size(), "axes.prop_cycle": cycle}


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
