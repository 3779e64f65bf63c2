"""Figures from notebooks: which there are, and whether what is asked for can be run."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlptsym.runtime.parameters import (
    OUTPUT_FOLDER,
    check_value,
    close_to,
    known_parameter,
    parse_override,
    read_notebook,
    read_parameters,
)
from mlptsym.runtime.sources import project_folder
from mlptsym.validation import instance, path, refuse, sequence

__all__ = ["FigureRun", "FigureTask", "find_notebooks", "notebook_folder", "plan_figures"]


@dataclass(frozen=True)
class FigureTask:
    """A notebook to run, checked.

    ``parameters`` are what is set, beside the output folder; ``cost`` is a relative duration, from the notebook's
    metadata (``{"mlptsym": {"cost": …}}``): the longest starts first.
    """

    name: str
    source: Path
    out: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 0.0


@dataclass(frozen=True)
class FigureRun:
    """How far the notebook of a figure has come: "waiting", "running", "done" or "failed".

    ``notebook`` is the executed one, for a failed one ``NAME.failed.ipynb``, or None if there is none; ``error`` is
    the last line of the error.
    """

    name: str
    state: str = "waiting"
    seconds: float = 0.0
    notebook: Path | None = None
    error: str | None = None


def notebook_folder() -> Path:
    """The folder of the figure notebooks, which come with the package.

    Raises
    ------
    ParameterError
        If they were taken away.
    """
    folder = project_folder() / "notebooks"
    if not folder.is_dir():
        refuse("notebooks", str(folder), "a folder: the figure notebooks come with every installation of mlptsym")
    return folder


def find_notebooks(folder: Path) -> dict[str, Path]:
    """The figure notebooks ``figNN_….ipynb`` of a folder by name ``figNN``, in order.

    Raises
    ------
    ParameterError
        If there are none, or two of one name.
    """
    folder = path("notebooks", folder, "a folder with notebooks")
    notebooks: dict[str, Path] = {}
    for place in sorted(folder.absolute().glob("fig*.ipynb")):
        if match := re.fullmatch(r"(fig\d\d)_.*", place.stem):
            name = match.group(1)
            if name in notebooks:
                refuse("notebooks", str(folder), f"without two notebooks {name}: {notebooks[name].name}, {place.name}")
            notebooks[name] = place
    if not notebooks:
        refuse("notebooks", str(folder), "a folder with notebooks figNN_….ipynb")
    return notebooks


def plan_figures(
    names: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    parameters: Mapping[str, object] | Sequence[str] = (),
    notebooks: Path | None = None,
) -> tuple[FigureTask, ...]:
    """Check what is asked for, before anything runs.

    Parameters
    ----------
    names : sequence of str
        Figures, as ``fig06`` or by the notebook's file name; every one if empty.
    out : path, optional
        Where the files go; ``figures`` in the current folder when left out.
    parameters : mapping, or sequence of str
        Values, or texts ``name=value``; each must be a parameter of every notebook that is to run.
    notebooks : pathlib.Path, optional
        The folder of the notebooks.

    Raises
    ------
    ParameterError
        If a figure or a parameter is unknown, or a value not of its parameter's type.
    """
    folder = notebook_folder() if notebooks is None else notebooks
    known = find_notebooks(folder)
    by_file = {place.stem: name for name, place in known.items()}
    chosen: dict[str, Path] = {}
    for asked in _texts("names", names) or known:
        name = by_file.get(Path(asked).name.removesuffix(".ipynb"), asked)
        if name not in known:
            refuse("figure", asked, "one of " + close_to(asked, list(known)))
        chosen[name] = known[name]
    target = path("out", "figures" if out is None else out, "a folder").absolute()
    if not isinstance(parameters, Mapping):
        parameters = _texts("parameters", parameters)
    return tuple(
        FigureTask(name, place, target, _values(name, place, parameters), _cost(place))
        for name, place in chosen.items()
    )


def _texts(name: str, values: object) -> Sequence[str]:
    return [instance(name, value, str, "a text") for value in sequence(name, values, "a sequence of texts")]


def _values(figure: str, path: Path, given: Mapping[str, object] | Sequence[str]) -> dict[str, Any]:
    parameters = read_parameters(path)
    if OUTPUT_FOLDER not in parameters or parameters[OUTPUT_FOLDER].type != "str":
        refuse("notebook", str(path), f"a notebook with a parameter {OUTPUT_FOLDER}: str")
    if isinstance(given, Mapping):
        return {name: check_value(known_parameter(name, parameters, figure), value) for name, value in given.items()}
    values: dict[str, Any] = {}
    for text in given:
        name, value = parse_override(text, parameters, figure)
        if name in values:
            refuse("parameter", text, f"the only one for {name}")
        values[name] = value
    return values


def _cost(path: Path) -> float:
    metadata = read_notebook(path).get("metadata", {})
    cost = metadata.get("mlptsym", {}).get("cost", 0.0)
    return float(cost) if isinstance(cost, (int, float)) and math.isfinite(cost) else 0.0
