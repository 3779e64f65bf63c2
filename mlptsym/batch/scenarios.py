"""Scenario files: which notebooks to run with which parameters, read from YAML and checked as a whole.

Only YAML's structure is used.  What a plain value such as ``1e3``, ``yes`` or ``010`` means is decided by the type of
the parameter it is for, with the same rules as on the command line, and not by YAML's own, which many would not expect:
``1e3`` is a number, ``yes`` is a text and no truth value.  What stands in quotes is a text, and refused where a number
or a truth value belongs.  No object is ever made from a tag.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from mlptsym import validation
from mlptsym.batch.document import Items, Mistakes, Part, Table, Text, read_document
from mlptsym.batch.names import compared, folder_name, grid_name
from mlptsym.batch.ranges import check_range, known_ranges
from mlptsym.provenance import code_digest, digest, versions
from mlptsym.runtime.parameters import (
    OUTPUT_FOLDER,
    Parameter,
    check_value,
    close_to,
    known_parameter,
    parse_override,
    read_parameters,
)
from mlptsym.runtime.plan import FigureTask, notebook_folder, plan_figures
from mlptsym.validation import ParameterError, refuse

__all__ = ["BatchRun", "check_ranges", "read_scenarios"]

MOST_RUNS = 10_000  # of one file: grids multiply


@dataclass(frozen=True)
class BatchRun:
    """One notebook with one set of parameters.

    Attributes
    ----------
    scenario : str
        The scenario's name, with the values at this point of its grid if it has one: the name of the run's folder.
    figure : str
        Such as ``fig06``.
    notebook : str
        File name of the notebook.
    content : bytes
        All of the notebook, as it was when the scenarios were read.
    parameters : mapping of str to Parameter
        Every parameter of the notebook but the output folder, with its default.
    values : mapping
        What the scenario sets.
    code : str
        Digest of the package's code.
    cost : float
        Relative duration.
    lines : mapping of str to int
        Where the scenario file sets each of the values.
    """

    scenario: str
    figure: str
    notebook: str
    content: bytes
    parameters: Mapping[str, Parameter]
    values: Mapping[str, Any]
    code: str
    cost: float = 0.0
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Scenario and figure."""
        return f"{self.scenario}/{self.figure}"

    @property
    def settings(self) -> dict[str, Any]:
        """The value of every parameter, set or by default."""
        return {name: self.values.get(name, parameter.default) for name, parameter in self.parameters.items()}

    @property
    def inputs(self) -> str:
        """Digest of everything the outcome depends on: notebook, values, code, versions."""
        parts = [digest(self.content), self.settings, self.code, versions()]
        return digest(json.dumps(parts, sort_keys=True).encode())


def read_scenarios(path: Path, notebooks: Path | None = None) -> tuple[BatchRun, ...]:
    """The runs that a scenario file describes, in its order.

    Parameters
    ----------
    path : pathlib.Path
        A YAML file: ``scenarios`` is a list, and each entry has a ``name``, the ``notebooks`` to run, and
        ``parameters``.  A list of values for a parameter that takes one, or a list of lists for a parameter that takes
        a list, expands to a grid.
    notebooks : pathlib.Path, optional
        The folder of the notebooks.

    Returns
    -------
    tuple of BatchRun

    Raises
    ------
    ScenarioFileError
        With all mistakes: what is no YAML, unknown keys, notebooks and parameters, values of a wrong type, duplicate
        or unusable names.
    ParameterError
        If the file cannot be read.
    """
    path = validation.path("scenarios", path, "the name of a scenario file")
    mistakes = Mistakes(path.name)
    reader = _Reader(mistakes, notebook_folder() if notebooks is None else notebooks)
    runs = reader.runs(read_document(path, mistakes))
    if mistakes.found:
        mistakes.stop()
    return tuple(runs)


def check_ranges(path: Path, runs: Sequence[BatchRun]) -> None:
    """Refuse values that the library would refuse when the notebooks run.

    Raises
    ------
    ScenarioFileError
        With all of them.
    """
    ranges = known_ranges()
    mistakes = Mistakes(path.name)
    for run in runs:
        for name, value in run.values.items():
            try:
                check_range(name, value, ranges)
            except ParameterError as error:
                mistakes.add(run.lines[name], str(error))
    if mistakes.found:
        mistakes.stop()


# The structure is checked here in 25 lines.  Pydantic, which reads the manifests, needs more: its messages name neither
# the line nor what is allowed, so that each kind has to be worded and placed; of two equal keys it sees one; and from a
# scenario with one mistake it makes no object, against whose notebooks the parameters could be held, so that not all
# mistakes could be told at once.  Of values it takes "yes" for true and refuses "1e3" as a whole number.
class _Reader:
    """What the scenarios of a file share: their notebooks, each read once, and the names that are taken."""

    def __init__(self, mistakes: Mistakes, folder: Path) -> None:
        self.mistakes, self.folder, self.code = mistakes, folder, code_digest()
        self.known: dict[str, _Notebook] = {}
        self.names: dict[str, int] = {}

    def runs(self, root: Part) -> list[BatchRun]:
        """The runs of all scenarios."""
        found: list[BatchRun] = []
        top = self.table("key", root, ("scenarios",), ("scenarios",))
        for entry in self.items("scenarios", top["scenarios"][1]) if "scenarios" in top else []:
            found += self.scenario(entry, MOST_RUNS - len(found))
        return found

    def table(
        self, what: str, part: Part, allowed: Sequence[str] = (), needed: Sequence[str] = ()
    ) -> Mapping[str, tuple[int, Part]]:
        """Keys with their lines and values; unknown ones and those that are missing are noted."""
        with self.mistakes.noted(part.line):
            if not isinstance(part, Table):
                refuse(what, part.shown, "a mapping, with lines 'key: value'")
            for key, (line, _) in part.value.items():
                with self.mistakes.noted(line):
                    if allowed and key not in allowed:
                        refuse(what, key, "one of " + close_to(key, allowed))
            for key in needed:
                if key not in part.value:
                    self.mistakes.add(
                        part.line, f"{key} is missing: it must stand here, as one of {', '.join(allowed)}"
                    )
            return part.value
        return {}

    def items(self, what: str, part: Part) -> Sequence[Part]:
        """Items of a list, which is not empty."""
        with self.mistakes.noted(part.line):
            if not isinstance(part, Items) or not part.value:
                refuse(what, part.shown, "a list with at least one entry")
            return part.value
        return ()

    def name(self, name: str, line: int) -> str:
        """A name that no other scenario has."""
        usable = folder_name("name", name)
        known = self.names.setdefault(compared(usable), line)
        if known != line:
            refuse("name", name, f"another one than that in line {known}")
        return usable

    def notebooks(self, part: Part) -> list[_Notebook]:
        """The notebooks that a scenario names."""
        chosen: list[_Notebook] = []
        for item in [part] if isinstance(part, Text) else self.items("notebooks", part):
            with self.mistakes.noted(item.line):
                asked = _text("notebooks", item)
                if asked not in self.known:
                    (task,) = plan_figures([asked], ".", {}, self.folder)
                    parameters = read_parameters(task.source)
                    del parameters[OUTPUT_FOLDER]
                    self.known[asked] = _Notebook(task, task.source.read_bytes(), parameters)
                if self.known[asked].task.name in [known.task.name for known in chosen]:
                    refuse("notebooks", self.known[asked].task.name, "a list with each notebook once")
                chosen.append(self.known[asked])
        return chosen

    def scenario(self, entry: Part, most: int) -> Iterator[BatchRun]:
        """The runs of one scenario; none if something is wrong with it."""
        before = len(self.mistakes.found)
        keys = self.table("key", entry, ("name", "notebooks", "parameters"), ("name", "notebooks"))
        name, line = "unnamed", entry.line
        if "name" in keys:
            line = keys["name"][1].line
            with self.mistakes.noted(line):
                name = self.name(_text("name", keys["name"][1]), line)
        chosen = self.notebooks(keys["notebooks"][1]) if "notebooks" in keys else []
        given = self.table("parameters", keys["parameters"][1]) if "parameters" in keys else {}
        values: dict[str, Sequence[Any]] = {}
        grid: list[str] = []
        for parameter, (place, part) in given.items():
            with self.mistakes.noted(place):
                found = [known_parameter(parameter, one.parameters, one.task.name) for one in chosen]
                if len({kind.type for kind in found}) > 1:
                    refuse("parameter", parameter, "one of the same type in all notebooks of the scenario")
                for kind in found[:1]:
                    is_grid = _is_grid(kind, part)
                    values[parameter] = self.choices(kind, part) if is_grid else [_value(kind, part)]
                    grid += [parameter] * is_grid
        if prod(map(len, values.values())) * max(1, len(chosen)) > most:
            self.mistakes.end(entry.line, f"too many runs: a file may have {MOST_RUNS} in all")
        if len(self.mistakes.found) > before:
            return
        lines = {parameter: part.line for parameter, (_, part) in given.items()}
        for combination in product(*values.values()):
            point = dict(zip(values, combination, strict=True))
            with self.mistakes.noted(line):
                place_in_grid = {parameter: point[parameter] for parameter in grid}
                scenario = self.name(grid_name(name, place_in_grid), line) if grid else name
                for one in chosen:
                    yield BatchRun(
                        scenario, one.task.name, one.task.source.name, one.content, one.parameters, point, self.code,
                        one.task.cost, lines,
                    )  # fmt: skip

    def choices(self, parameter: Parameter, part: Part) -> Sequence[Any]:
        """The values of a grid."""
        found: dict[str, Any] = {}
        for item in self.items(parameter.name, part):
            with self.mistakes.noted(item.line):
                value = _value(parameter, item)
                if repr(value) in found:
                    refuse(parameter.name, value, "a list without repetitions: each value is a run of its own")
                found[repr(value)] = value
        return list(found.values())


@dataclass(frozen=True)
class _Notebook:
    """A notebook that scenarios name, with its parameters but the output folder."""

    task: FigureTask
    content: bytes
    parameters: Mapping[str, Parameter]


def _text(what: str, part: Part) -> str:
    if not isinstance(part, Text) or _is_nothing(part):
        refuse(what, part.shown, "a text")
    return part.value


def _is_nothing(text: Text) -> bool:
    return not text.quoted and text.value.lower() in {"", "~", "null"}


def _is_grid(parameter: Parameter, part: Part) -> bool:
    """Whether a list is a grid of values, and not itself the value of a parameter that takes a list."""
    takes_list = parameter.type.startswith("list[")
    return isinstance(part, Items) and (not takes_list or any(isinstance(item, Items) for item in part.value))


def _value(parameter: Parameter, part: Part) -> Any:
    """The value of the parameter's type that is written, by the same rules as on the command line."""
    allowed = f"a value of type {parameter.type}"
    if isinstance(part, Items) and parameter.type.startswith("list["):
        item = Parameter(parameter.name, parameter.type[5:-1], None)
        return check_value(parameter, [_value(item, one) for one in part.value])
    if not isinstance(part, Text) or _is_nothing(part):
        refuse(parameter.name, part.shown, allowed)
    if part.quoted and parameter.type != "str":
        refuse(parameter.name, part.value, f"{allowed} without quotes: what stands in quotes is a text")
    written = part.value
    if parameter.type in {"float", "int"}:  # YAML's own way to write infinity
        written = {".inf": "inf", "+.inf": "inf", "-.inf": "-inf"}.get(written.lower(), written)
    return parse_override(f"{parameter.name}={written}", {parameter.name: parameter})[1]
