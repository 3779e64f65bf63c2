"""Tables of one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mlptsym.tables.files import Content
from mlptsym.tables.table import Rows, Table
from mlptsym.validation import refuse

__all__ = ["json_table"]


class _TwiceError(ValueError):
    pass


@dataclass
class _Objects:
    """The objects of a file, of which only some members are kept: others may be long lists."""

    columns: Mapping[str, list[object]]
    names: dict[str, None] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)  # line, why


def json_table(content: Content, wanted: Iterable[str]) -> Table:
    """The objects of a file, of which the members in ``wanted`` can be read.

    ``pyarrow.json`` refuses a whole file for one damaged line, and for numbers and texts in one column: hence the
    standard library's reader.
    """
    found = _Objects({name: [] for name in wanted})
    last = 0
    for line, text in _lines(content.data):
        if text.strip():
            last = line
            _add(found, line, text)
    if not found.lines:
        first = found.faults[0][0]
        why = "each member once, " if found.faults[0][1] == "member twice" else ""
        refuse("trace", content.path, f"a file with one JSON object a line, {why}which line {first} is not")
    faults = found.faults
    if content.unterminated and faults and faults[-1] == (last, "not JSON"):
        faults = [*faults[:-1], (last, "cut off")]

    def read(names: Sequence[str]) -> Rows:
        cells = tuple(found.columns[name] for name in names)
        return Rows(cells, np.array(found.lines, dtype=np.int64), faults, list)

    return Table(tuple(found.names), found.lines[0], read)


def _lines(data: bytearray) -> Iterator[tuple[int, str]]:
    start, line = 0, 1
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield line, data[start:end].decode()
        start, line = end + 1, line + 1


def _add(found: _Objects, line: int, text: str) -> None:
    try:
        entry = json.loads(text, object_pairs_hook=_object)
    except _TwiceError:
        found.faults.append((line, "member twice"))
        return
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        found.faults.append((line, "not JSON"))
        return
    found.names.update(dict.fromkeys(entry))
    found.lines.append(line)
    for name, values in found.columns.items():
        values.append(entry.get(name))


def _object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        raise _TwiceError
    return entry
