"""Tables of a trace, column by column, whatever the file: csv, one JSON object a line, or parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mlptsym.fitting.files import Content
from mlptsym.validation import ParameterError, refuse

__all__ = ["Cells", "Rows", "Table", "json_table", "parquet_table"]

Cells = Any
"""A column: a ``pyarrow`` array, or a list of whatever JSON holds."""

SHOWN = 60  # characters of a library's message that an error shows


@dataclass(frozen=True, eq=False)
class Rows:
    """Some columns of a table.

    Attributes
    ----------
    cells : tuple of Cells
        One for each column, without the rows that could not be taken apart.
    places : array of int
        The place of each of these rows among all.
    faults : sequence of (int, str)
        Places of the rows that could not be taken apart, and why: a key of `FAULTS`.
    lines_of : callable
        The lines in the file in which the rows at some places begin; places in increasing order.
    separator : str or None
        What separates the cells of a row, in a text.
    """

    cells: tuple[Cells, ...]
    places: NDArray[np.int64]
    faults: Sequence[tuple[int, str]]
    lines_of: Callable[[Sequence[int]], list[int]]
    separator: str | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A table whose columns are known, and are yet to be read.

    Attributes
    ----------
    names : tuple of str
        Of the columns, in the order of the file; one may be there twice.
    line : int
        Where they stand.
    read : callable
        Gives the `Rows` of some columns, each of a name that is there once.
    """

    names: tuple[str, ...]
    line: int
    read: Callable[[Sequence[str]], Rows]


# JSON ----------------------------------------------------------------------------------------------------------------


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
        refuse("trace", content.path, f"a file with one JSON object a line, which line {first} is not")
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


# Parquet -------------------------------------------------------------------------------------------------------------


def parquet_table(content: Content) -> Table:
    """The columns of a parquet file; its "lines" are rows."""
    import pyarrow as pa
    from pyarrow import parquet

    def damaged(error: Exception) -> NoReturn:
        why = str(error).splitlines()[0][:SHOWN]
        raise ParameterError("trace", content.path, f"a whole parquet file ({why})") from error

    try:
        file = parquet.ParquetFile(pa.BufferReader(pa.py_buffer(content.data)))
        names = tuple(file.schema_arrow.names)
    except (pa.ArrowException, OSError) as error:
        damaged(error)

    def read(wanted: Sequence[str]) -> Rows:
        try:
            table = file.read(columns=list(dict.fromkeys(wanted)))
            cells = tuple(table[name].combine_chunks() for name in wanted)
        except (pa.ArrowException, OSError) as error:
            damaged(error)
        return Rows(cells, np.arange(1, table.num_rows + 1), (), list)

    return Table(names, 1, read)
