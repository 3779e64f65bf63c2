"""A YAML file as texts, lists and tables that know their line, and the mistakes that are found in it.

Nothing has a meaning yet, and no object is ever made from a tag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from mlptsym.validation import ParameterError, refuse

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node

__all__ = ["Items", "Mistakes", "Part", "ScenarioFileError", "Table", "Text", "read_document"]

LARGEST_FILE = 2**17  # bytes; lists expand to grids, so that more is not needed
MOST_MISTAKES = 50  # that are told


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


class Mistakes:
    """The mistakes found so far in a file, each once."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: dict[tuple[int, str], None] = {}

    def add(self, line: int, text: str) -> None:
        """Note a mistake; too many of them end the reading."""
        self.found[line, text] = None
        if len(self.found) >= MOST_MISTAKES:
            self.stop(f"{self.file}: there may be more mistakes than these {MOST_MISTAKES}")

    def end(self, line: int, text: str) -> NoReturn:
        """Note a mistake behind which nothing can be read."""
        self.add(line, text)
        self.stop()

    def stop(self, *last: str) -> NoReturn:
        """Raise a `ScenarioFileError` with all of them, by line."""
        in_order = sorted(self.found, key=lambda mistake: mistake[0])
        raise ScenarioFileError([*(f"{self.file}, line {line}: {text}" for line, text in in_order), *last])

    @contextmanager
    def noted(self, line: int) -> Iterator[None]:
        """Note a refused value and go on behind the block."""
        try:
            yield
        except ParameterError as error:
            self.add(line, str(error))


@dataclass(frozen=True)
class Text:
    """A value as it is written, and whether it stands in quotes (or in a block), which makes it a text."""

    line: int
    value: str
    quoted: bool

    @property
    def shown(self) -> object:
        """What a message says of it: None where nothing is written."""
        return self.value or (self.value if self.quoted else None)


@dataclass(frozen=True)
class Items:
    """A list."""

    line: int
    value: tuple[Part, ...]
    shown = "a list"


@dataclass(frozen=True)
class Table:
    """A mapping: for each key its line and its value."""

    line: int
    value: Mapping[str, tuple[int, Part]]
    shown = "a mapping"


Part = Text | Items | Table


def read_document(path: Path, mistakes: Mistakes) -> Part:
    """What a YAML file holds; `ScenarioFileError` if it is no YAML, `ParameterError` if it cannot be read."""
    import yaml

    text = _content(path, mistakes)
    line, reason = 1, "the file is empty: it must have a list of scenarios"
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = f"the character {chr(error.character)!a} is not allowed in YAML"
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        reason = "no valid YAML: " + ", ".join(part for part in (error.context, error.problem) if part)
    except RecursionError:
        reason = "no valid YAML: nested too deeply"
    except (ValueError, yaml.YAMLError) as error:
        reason = f"no valid YAML: {error}"
    else:
        if node is not None:
            return _part(node, mistakes, {})
    return mistakes.end(line, reason)


def _content(path: Path, mistakes: Mistakes) -> str:
    allowed = "a readable file"
    try:
        if path.exists() and not path.is_file():
            refuse("scenarios", str(path), f"{allowed}, no folder or device")
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ParameterError("scenarios", str(path), f"{allowed} ({error.strerror or error})") from error
    if len(content) > LARGEST_FILE:
        refuse("scenarios", str(path), f"a file of at most {LARGEST_FILE} bytes (lists expand to grids)")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return mistakes.end(content.count(b"\n", 0, error.start) + 1, "the file must be in UTF-8")


def _part(node: Node, mistakes: Mistakes, made: dict[int, Part | None]) -> Part:
    """A node and all below it; ``made`` has what aliases stand for, None for what is being made."""
    from yaml.nodes import MappingNode, ScalarNode

    line = node.start_mark.line + 1
    if id(node) in made:
        known = made[id(node)]
        if known is not None:
            return known
        mistakes.end(line, "no valid YAML: an alias inside what it stands for")
    made[id(node)] = None
    tags = ("str", "int", "float", "bool", "null", "timestamp", "merge", "value", "seq", "map")
    with mistakes.noted(line):
        if node.tag.removeprefix("tag:yaml.org,2002:") not in tags:
            refuse("tag", node.tag, "left out: values are texts, numbers and lists of these")
    if isinstance(node, ScalarNode):
        part: Part = Text(line, node.value, node.style is not None)
    elif isinstance(node, MappingNode):
        part = Table(line, _entries(node, mistakes, made))
    else:
        part = Items(line, tuple(_part(item, mistakes, made) for item in node.value))
    made[id(node)] = part
    return part


def _entries(node: MappingNode, mistakes: Mistakes, made: dict[int, Part | None]) -> Mapping[str, tuple[int, Part]]:
    from yaml.nodes import ScalarNode

    entries: dict[str, tuple[int, Part]] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, ScalarNode):
            mistakes.add(line, "a list or mapping as a key: it must be a mapping whose keys are words")
        elif key.value in entries:
            mistakes.add(line, f"{key.value} is already set in line {entries[key.value][0]}")
        else:
            _part(key, mistakes, made)  # for its tag
            entries[key.value] = line, _part(value, mistakes, made)
    return entries
