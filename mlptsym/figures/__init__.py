"""Figures: their style, their data and files, and the notebooks that draw them.

Nothing heavy is imported here: matplotlib and papermill are loaded when a figure is made or a notebook run.
"""

from __future__ import annotations

from mlptsym.figures.saving import save_figure
from mlptsym.figures.style import (
    COLUMN_WIDTH,
    PAGE_WIDTH,
    curve_style,
    figure_size,
    line_style,
    paper_parameters,
    paper_style,
    point_style,
)
from mlptsym.runtime.plan import FigureRun
from mlptsym.runtime.runner import run_figures
from mlptsym.studies.data import FigureData, FigureRow, read_figure_data

__all__ = [
    "COLUMN_WIDTH",
    "PAGE_WIDTH",
    "FigureData",
    "FigureRow",
    "FigureRun",
    "curve_style",
    "figure_size",
    "line_style",
    "paper_parameters",
    "paper_style",
    "point_style",
    "read_figure_data",
    "run_figures",
    "save_figure",
]
