"""The files of a figure: ``.svg``, ``.pdf``, ``.png``, and the ``.csv`` of its points.

The same figure gives the same bytes at every run, and a file appears under its name only when it is whole.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mlptsym import validation
from mlptsym.files import write_whole
from mlptsym.studies.data import FigureData
from mlptsym.validation import ParameterError, refuse

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_figure", "save_figure"]

# Dates and versions would make the bytes differ from run to run and from one release of matplotlib to the next.
_METADATA: Mapping[str, Mapping[str, None]] = MappingProxyType(
    {
        "png": {"Software": None},  # first, while what the layout has found out about the same texts is at hand
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
)

# In two thirds of the time of zlib's usual level, for a tenth of the size.
_OPTIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"png": {"pil_kwargs": {"compress_level": 3}}})

# Whoever looks at an SVG may not have the font it was set in: these have nearly the same widths.
_SIMILAR_FONTS = b"'STIXGeneral', 'STIX Two Text', 'Times New Roman', 'Liberation Serif', Times, serif"


def save_figure(figure: Figure, data: FigureData, name: str, folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Write a figure and its data, each file whole or not at all.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The picture.
    data : FigureData
        Its points.
    name : str
        Name of the files, without suffix: letters, digits, ``_``, ``-`` and ``.``.
    folder : path
        Where they go; made if it is missing.

    Returns
    -------
    dict of str to pathlib.Path
        The files by kind: ``"svg"``, ``"pdf"``, ``"png"`` (300 dots per inch) and ``"csv"``.

    Raises
    ------
    ParameterError
        If the name cannot name a file, or the folder cannot be made or written.
    """
    from mlptsym.figures.style import paper_style

    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", validation.instance("name", name, str, "a file name")):
        refuse("name", name, "a file name of letters, digits, '_', '-' and '.'")
    check_figure(figure)
    validation.instance("data", data, FigureData, "a FigureData")
    contents = {"csv": data.to_csv().encode()}
    with paper_style(), _laid_out(figure):
        for kind, metadata in _METADATA.items():
            picture = io.BytesIO()
            figure.savefig(picture, format=kind, metadata=dict(metadata), **_OPTIONS.get(kind, {}))
            contents[kind] = picture.getvalue()
    contents["svg"] = contents["svg"].replace(b"'STIXGeneral'", _SIMILAR_FONTS)
    target = validation.path("folder", folder, "the name of a folder")
    try:
        target.mkdir(parents=True, exist_ok=True)
        return {kind: write_whole(target / f"{name}.{kind}", contents[kind]) for kind in (*_METADATA, "csv")}
    except OSError as error:
        raise ParameterError("folder", str(folder), f"a folder that can be written ({error.strerror})") from error


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Context in which a figure keeps the layout of its PNG: with its engine it is drawn twice for each format.

    The canvas of the PNG serves the layout too, so that texts are measured once for both.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    engine, canvas = figure.get_layout_engine(), figure.canvas
    FigureCanvasAgg(figure)
    try:
        if engine is not None:
            usual, figure.dpi = figure.dpi, mpl.rcParams["savefig.dpi"]
            try:
                engine.execute(figure)
            finally:
                figure.dpi = usual
        with mpl.rc_context({"figure.constrained_layout.use": False}):  # the engine of a figure that has none
            figure.set_layout_engine(None)
            try:
                yield
            finally:
                figure.set_layout_engine(engine)
    finally:
        figure.set_canvas(canvas)


def check_figure(figure: object) -> None:
    """Refuse what matplotlib has not drawn."""
    from matplotlib.figure import Figure

    validation.instance("figure", figure, Figure, "a matplotlib figure")
