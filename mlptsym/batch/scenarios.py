"""Scenario files: which notebooks to run with which parameters, read from YAML and checked as a whole.

Only YAML's structure is used.  What a plain value such as ``1e3``, ``yes`` or ``010`` means is decided by the type of
the parameter it is for, with the same rules as on the command line, and not by YAML's own, which many would not expect:
``1e3`` is a number, ``yes`` is a text and no truth value.  What stands in quotes is a text, and refused where a number
or a truth value belongs.  No object is ever made from a tag.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from mlptsym import validation
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

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

__all__ = ["BatchRun", "ScenarioFileError", "check_ranges", "read_scenarios"]

LARGEST_FILE = 2**17
MOST_RUNS = 10_000
MOST_MESSAGES = 50

_TAGS = {"str", "int", "float", "bool", "null", "timestamp", "merge", "value", "seq", "map"}
_NOTHING = {"", "~", "null", "Null", "NULL"}
_INFINITY = {".inf": "inf", "+.inf": "inf", "-.inf": "-inf"}
_KEYS = ("name", "notebooks", "parameters")


class ScenarioFileError(ValueError):
    """Everything that is wrong with a scenario file.

    Attributes
    ----------
    messages : tuple of str
        One sentence for each mistake, with the line it is in.
    """

    def __init__(self, messages: Sequence[str]) -> None:
        self.messages = tuple(messages)
        super().__init__("\n".join(self.messages))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.messages,)


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


class _Messages:
    """The mistakes found so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: dict[str, None] = {}  # in order, each once

    def add(self, line: int, text: str) -> None:
        self.found[f"{self.file}, line {line}: {text}"] = None
        if len(self.found) >= MOST_MESSAGES:
            self.found[f"{self.file}: there may be more mistakes than these {MOST_MESSAGES}"] = None
            self.stop()

    def stop(self) -> NoReturn:
        raise ScenarioFileError(list(self.found))

    @contextmanager
    def noted(self, node: Node) -> Iterator[None]:
        """Note a refused value and go on behind the block."""
        try:
            yield
        except ParameterError as error:
            self.add(_line(node), str(error))


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


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
    root = _composed(path)
    messages = _Messages(path.name)
    folder = notebook_folder() if notebooks is None else notebooks
    entries = _entries(root, messages)
    known_notebooks = _Notebooks(folder)
    names = _Names()
    runs: list[BatchRun] = []
    for entry in entries:
        runs += _runs(entry, known_notebooks, names, messages, MOST_RUNS - len(runs))
    if messages.found:
        messages.stop()
    return tuple(runs)


def check_ranges(path: Path, runs: Sequence[BatchRun]) -> None:
    """Refuse values that the library would refuse when the notebooks run.

    Raises
    ------
    ScenarioFileError
        With all of them.
    """
    ranges = known_ranges()
    messages = _Messages(path.name)
    for run in runs:
        for name, value in run.values.items():
            try:
                check_range(name, value, ranges)
            except ParameterError as error:
                messages.add(run.lines[name], str(error))
    if messages.found:
        messages.stop()


def _composed(path: Path) -> Node:
    """The nodes of the file, as yet without meaning."""
    import yaml

    text = _content(path)
    messages = _Messages(path.name)
    node: Node | None = None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            messages.add(1, "the file is empty: it must have a list of scenarios")
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        messages.add(line, f"the character {chr(error.character)!a} is not allowed in YAML")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        messages.add(mark.line + 1 if mark else 1, f"no valid YAML: {reason}")
    except (RecursionError, ValueError, yaml.YAMLError) as error:
        messages.add(1, f"no valid YAML: {'nested too deeply' if isinstance(error, RecursionError) else error}")
    return messages.stop() if node is None else node


def _content(path: Path) -> str:
    allowed = "a readable file"
    try:
        regular = path.is_file() or not path.exists()
        content = b""
        if regular:
            with path.open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError("scenarios", str(path), f"{allowed} ({reason})") from error
    if not regular:
        refuse("scenarios", str(path), f"{allowed}, no folder or device")
    if len(content) > LARGEST_FILE:
        refuse("scenarios", str(path), f"a file of at most {LARGEST_FILE} bytes (lists expand to grids)")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ScenarioFileError([f"{path.name}, line {line}: the file must be in UTF-8"]) from error


def _check_tag(node: Node) -> None:
    tag = str(node.tag)
    if tag.removeprefix("tag:yaml.org,2002:") not in _TAGS:
        refuse("tag", tag, "left out: values are texts, numbers and lists of these")


def _mapping(what: str, node: Node, allowed: Sequence[str] | None, messages: _Messages) -> dict[str, tuple[Node, Node]]:
    """Keys of a mapping with their nodes; what is wrong with them is noted."""
    from yaml.nodes import MappingNode, ScalarNode

    entries: dict[str, tuple[Node, Node]] = {}
    with messages.noted(node):
        _check_tag(node)
        if not isinstance(node, MappingNode):
            refuse(what, _shown(node), "a mapping, with lines 'key: value'")
        for key, value in node.value:
            with messages.noted(key):
                _check_tag(key)
                if not isinstance(key, ScalarNode):
                    refuse(what, _shown(key), "a mapping whose keys are words")
                if allowed is not None and key.value not in allowed:
                    refuse(what, key.value, "one of " + close_to(key.value, allowed))
                if key.value in entries:
                    messages.add(_line(key), f"{key.value} is already set in line {_line(entries[key.value][0])}")
                entries.setdefault(key.value, (key, value))
    return entries


def _shown(node: Node) -> object:
    from yaml.nodes import ScalarNode, SequenceNode

    if isinstance(node, ScalarNode):
        return node.value
    return "a list" if isinstance(node, SequenceNode) else "a mapping"


def _items(what: str, node: Node, messages: _Messages) -> list[Node]:
    """Items of a list; what is wrong with it is noted."""
    from yaml.nodes import SequenceNode

    found: list[Node] = []
    with messages.noted(node):
        _check_tag(node)
        if not isinstance(node, SequenceNode) or not node.value:
            refuse(what, _shown(node), "a list with at least one entry")
        found += node.value
    return found


def _entries(root: Node, messages: _Messages) -> list[Node]:
    top = _mapping("key", root, ("scenarios",), messages)
    if "scenarios" in top:
        return _items("scenarios", top["scenarios"][1], messages)
    if not messages.found:
        messages.add(_line(root), "scenarios is missing: the file must have a list of scenarios")
    return []


class _Notebooks:
    """The notebooks of a folder, each read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code = code_digest()
        self.known: dict[str, tuple[FigureTask, bytes, dict[str, Parameter]]] = {}

    def find(self, asked: str) -> tuple[FigureTask, bytes, dict[str, Parameter]]:
        if asked not in self.known:
            (task,) = plan_figures([asked], ".", {}, self.folder)
            parameters = read_parameters(task.source)
            del parameters[OUTPUT_FOLDER]
            self.known[asked] = task, task.source.read_bytes(), parameters
        return self.known[asked]


class _Names:
    """The names that are taken, and where."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}

    def take(self, name: str, line: int) -> str:
        usable = folder_name("name", name)
        known = self.lines.setdefault(compared(usable), line)
        if known != line:
            refuse("name", name, f"another one than that in line {known}")
        return usable


def _runs(entry: Node, notebooks: _Notebooks, names: _Names, messages: _Messages, most: int) -> Iterator[BatchRun]:
    """The runs of one scenario; none if something is wrong with it."""
    before = len(messages.found)
    keys = _mapping("key", entry, _KEYS, messages)
    if len(messages.found) > before and not keys:
        return
    for missing in {"name", "notebooks"} - keys.keys():
        messages.add(_line(entry), f"{missing} is missing: a scenario has {', '.join(_KEYS)}")
    name, place = "unnamed", entry
    if "name" in keys:
        place = keys["name"][1]
        with messages.noted(place):
            name = names.take(_text("name", place), _line(place))
    chosen = _chosen(keys["notebooks"][1], notebooks, messages) if "notebooks" in keys else {}
    given = _mapping("parameters", keys["parameters"][1], None, messages) if "parameters" in keys else {}
    grid: dict[str, list[Any]] = {}
    single: dict[str, Any] = {}
    for parameter, (key, value) in given.items():
        with messages.noted(key):
            found = [known_parameter(parameter, known, figure) for figure, (_, _, known) in chosen.items()]
            if len({kind.type for kind in found}) > 1:
                refuse("parameter", parameter, "one of the same type in all notebooks of the scenario")
            for kind in found[:1]:
                choices, is_grid = _choices(kind, value, messages)
                if is_grid:
                    grid[parameter] = choices
                elif choices:
                    single[parameter] = choices[0]
    points = prod(map(len, grid.values()))
    if points * max(1, len(chosen)) > most:
        messages.add(_line(entry), f"too many runs: a file may have {MOST_RUNS} in all")
        messages.stop()
    if len(messages.found) > before:
        return
    lines = {parameter: _line(value) for parameter, (_, value) in given.items()}
    for combination in product(*grid.values()):
        point = dict(zip(grid, combination, strict=True))
        with messages.noted(place):
            scenario = names.take(grid_name(name, point), _line(place)) if grid else name
            for task, content, known in chosen.values():
                values = {parameter: (single | point)[parameter] for parameter in given}
                yield BatchRun(
                    scenario, task.name, task.source.name, content, known, values, notebooks.code, task.cost, lines
                )


def _text(what: str, node: Node) -> str:
    from yaml.nodes import ScalarNode

    _check_tag(node)
    if not isinstance(node, ScalarNode) or (node.style is None and node.value in _NOTHING):
        refuse(what, _shown(node), "a text")
    return str(node.value)


def _chosen(
    node: Node, notebooks: _Notebooks, messages: _Messages
) -> dict[str, tuple[FigureTask, bytes, dict[str, Parameter]]]:
    from yaml.nodes import ScalarNode

    chosen: dict[str, tuple[FigureTask, bytes, dict[str, Parameter]]] = {}
    for item in [node] if isinstance(node, ScalarNode) else _items("notebooks", node, messages):
        with messages.noted(item):
            found = notebooks.find(_text("notebooks", item))
            if found[0].name in chosen:
                refuse("notebooks", found[0].name, "a list with each notebook once")
            chosen[found[0].name] = found
    return chosen


def _choices(parameter: Parameter, node: Node, messages: _Messages) -> tuple[list[Any], bool]:
    """The values given for a parameter, and whether they are a grid."""
    from yaml.nodes import ScalarNode, SequenceNode

    takes_list = parameter.type.startswith("list[")
    if isinstance(node, ScalarNode) and not takes_list:
        return [_value(parameter, node)], False
    _check_tag(node)
    if not isinstance(node, SequenceNode) or not node.value:
        check_value(parameter, [] if isinstance(node, SequenceNode) else _shown(node))  # says what is allowed
        refuse(parameter.name, _shown(node), f"a value of type {parameter.type}")
    of_lists = [isinstance(item, SequenceNode) for item in node.value]
    if takes_list and not any(of_lists):
        return [_value(parameter, node)], False
    choices: dict[str, Any] = {}
    for item in node.value:
        with messages.noted(item):
            value = _value(parameter, item)
            if repr(value) in choices:
                refuse(parameter.name, _plain(item), "a list without repetitions: each value is a run of its own")
            choices[repr(value)] = value
    return list(choices.values()), True


def _value(parameter: Parameter, node: Node) -> Any:
    from yaml.nodes import ScalarNode, SequenceNode

    if isinstance(node, ScalarNode):
        return _scalar(parameter, node)
    _check_tag(node)
    if not isinstance(node, SequenceNode) or not parameter.type.startswith("list["):
        refuse(parameter.name, _shown(node), f"a value of type {parameter.type}")
    item = Parameter(parameter.name, parameter.type.removeprefix("list[").removesuffix("]"), None)
    return check_value(parameter, [_value(item, part) for part in node.value])


def _scalar(parameter: Parameter, node: ScalarNode) -> Any:
    _check_tag(node)
    text = node.value
    if node.style is not None and parameter.type != "str":
        refuse(
            parameter.name, text, f"a value of type {parameter.type} without quotes: what stands in quotes is a text"
        )
    if node.style is not None:
        return check_value(parameter, text)
    if text in _NOTHING:
        refuse(parameter.name, text or None, f"a value of type {parameter.type}")
    if parameter.type in {"float", "int"}:
        text = _INFINITY.get(text.lower(), text)
    return parse_override(f"{parameter.name}={text}", {parameter.name: parameter})[1]


def _plain(node: MappingNode | SequenceNode | ScalarNode) -> object:
    from yaml.nodes import ScalarNode

    return node.value if isinstance(node, ScalarNode) else [_plain(item) for item in node.value]
