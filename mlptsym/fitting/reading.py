"""Traces of requests: csv, csv.gz, jsonl and parquet files, damaged ones included.

A row that cannot be used is dropped and counted, with the line of the first of its kind; a file that cannot be trusted
as a whole is refused, with the line.  Nothing is repaired by guessing.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.validation import LARGEST, SMALLEST, ParameterError, choice, number, refuse

__all__ = ["FAULTS", "LAYOUTS", "TIME_UNITS", "Dropped", "Layout", "RecordedTrace", "find_traces", "read_trace"]

Floats = NDArray[np.float64]

LARGEST_SIZE = 1e9
FEWEST_ROWS = 10
MOST_DROPPED = 0.1
SHOWN = 60  # characters of a file that an error shows

SUFFIXES = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
DELIMITERS = ",;\t|"
MISSING = frozenset({"", "-", "na", "n/a", "nan", "none", "null"})
# 1,234 or 1 234 or 1'234 or 1_234: three digits behind each separator
_SEPARATED = re.compile(r"[+-]?\d{1,3}([,_ '\u00a0\u202f])\d{3}(?:\1\d{3})*(?:\.\d+)?")

FAULTS = {
    "cells": "a wrong number of cells",
    "cut off": "a last line that is cut off",
    "not JSON": "no JSON object",
    "size missing": "no size",
    "size unreadable": "a size that is no number",
    "size not positive": "a size of zero or below",
    "size absurd": "a size beyond the largest allowed, or next to nothing",
    "time missing": "no time",
    "time unreadable": "a time that cannot be read",
}
"""Why a row is dropped, in words."""


@dataclass(frozen=True)
class Layout:
    """Columns by which a known kind of trace is recognised, and what they mean.

    Attributes
    ----------
    name : str
    columns : frozenset of str
        All must be there.
    size, time : str, or None
        The column of the output lengths, and of the arrival times if there is one.
    time_unit : str
        Of times that are numbers: a key of `TIME_UNITS`.
    """

    name: str
    columns: frozenset[str]
    size: str
    time: str | None
    time_unit: str = "s"


LAYOUTS = (
    Layout("Azure", frozenset({"TIMESTAMP", "ContextTokens", "GeneratedTokens"}), "GeneratedTokens", "TIMESTAMP"),
    Layout("ShareGPT", frozenset({"num_prefill_tokens", "num_decode_tokens"}), "num_decode_tokens", None),
    Layout("Mooncake", frozenset({"timestamp", "input_length", "output_length"}), "output_length", "timestamp", "ms"),
)


@dataclass(frozen=True)
class Dropped:
    """Rows that were dropped for one reason: a key of `FAULTS`, how many, and the line (or row) of the first."""

    fault: str
    count: int
    first_line: int


@dataclass(frozen=True, eq=False)
class RecordedTrace:
    """The usable rows of a trace, in order of time.

    Attributes
    ----------
    path : str
    layout : str or None
        The layout recognised by its columns.
    size_column : str
    time_column : str or None
    sizes : array of float, shape (jobs,)
        As in the file; each > 0.
    times : array of float, shape (jobs,), or None
        Arrival times in seconds from the first, non-decreasing; None if the trace has none.
    rows : int
        Rows in the file, without its header and blank lines.
    dropped : tuple of Dropped
        In the order of the first of each.
    separated : int
        Numbers that were written with thousands separators.
    unsorted : int
        Rows with a time before that of the row above; they were sorted, rows of equal times in the order of the file.
    duplicates : int
        Arrivals at the very time of the one before; they are kept, as requests that came together.
    unterminated : bool
        Whether the file ends without a line end: its last value may be cut short, which cannot be seen.
    """

    path: str
    layout: str | None
    size_column: str
    time_column: str | None
    sizes: Floats
    times: Floats | None
    rows: int
    dropped: tuple[Dropped, ...] = ()
    separated: int = 0
    unsorted: int = 0
    duplicates: int = 0
    unterminated: bool = False

    @property
    def jobs(self) -> int:
        """Number of usable rows."""
        return self.sizes.size


@dataclass(frozen=True)
class _Row:
    """A row before its cells are understood; with a fault, they are not looked at."""

    line: int
    size: object = None
    time: object = None
    fault: str | None = None


@dataclass(frozen=True)
class _Columns:
    """Which columns are read."""

    layout: Layout | None
    size: str
    time: str | None


def read_trace(
    path: str | os.PathLike[str],
    size_column: str | None = None,
    time_column: str | None = None,
    *,
    time_unit: str | None = None,
    largest_size: float = LARGEST_SIZE,
) -> RecordedTrace:
    """Read a trace of requests.

    Parameters
    ----------
    path : path
        A table in UTF-8 with a header (``.csv``, ``.csv.gz``, separated by commas, semicolons, tabs or bars), one JSON
        object a line (``.jsonl``, ``.jsonl.gz``), or ``.parquet``.
    size_column, time_column : str, optional
        Columns of the sizes and arrival times.  Left out, those of the layout recognised (`LAYOUTS`); a trace of no
        known layout needs the first, and has no times without the second.
    time_unit : {"s", "ms", "us", "ns"}, optional
        Unit of times that are numbers: milliseconds for Mooncake, otherwise seconds, unless given.  Times may also be
        dates and times of ISO 8601 (UTC where they name no zone; read to the microsecond).
    largest_size : float
        Sizes beyond are dropped as absurd, and so are those below 1e-30; > 0 and <= 1e30.

    Returns
    -------
    RecordedTrace

    Raises
    ------
    ParameterError
        If the file cannot be read or is empty, a column is missing, more than a tenth of its rows, or all but ten,
        would be dropped; the message names the line.
    """
    unit = None if time_unit is None else choice("time_unit", time_unit, tuple(TIME_UNITS))
    limit = number("largest_size", largest_size, above=0, at_most=LARGEST)
    place = validation.path("trace", path, "a file that can be read, by its name")
    name = place.name.lower()
    if not name.endswith(SUFFIXES):
        refuse("trace", str(path), f"a file whose name ends in {', '.join(SUFFIXES)}")
    asked = (size_column, time_column)
    for option, column in zip(("size_column", "time_column"), asked, strict=True):
        if column is not None and not isinstance(column, str):
            refuse(option, column, "the name of a column of the trace")
    try:
        content = place.read_bytes()
    except OSError as error:
        raise ParameterError("trace", str(path), f"a file that can be read ({error.strerror})") from error
    if name.endswith(".parquet"):
        columns, rows = _parquet_rows(str(path), content, asked)
        unterminated = False
    else:
        text = _text(str(path), content)
        reader = _json_rows if ".jsonl" in name[-9:] else _csv_rows
        columns, rows = reader(str(path), text, asked)
        unterminated = not text.endswith(("\n", "\r"))
    return _understood(str(path), columns, rows, unit, limit, unterminated)


def find_traces(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Traces of a known layout in a folder, by file name.

    Raises
    ------
    ParameterError
        If there is no such folder, or no such trace in it.
    """
    found = {}
    for path in sorted(validation.path("trace_folder", folder, "the name of a folder").glob("*")):
        if path.name.lower().endswith(SUFFIXES):
            try:
                read_trace(path)
            except ParameterError:
                continue
            found[path.name] = path
    if not found:
        known = ", ".join(layout.name for layout in LAYOUTS)
        refuse("trace_folder", str(folder), f"a folder with traces of a known layout ({known})")
    return found


# Cells ---------------------------------------------------------------------------------------------------------------


def _understood(
    path: str, columns: _Columns, rows: Iterable[_Row], unit: str | None, limit: float, unterminated: bool
) -> RecordedTrace:
    """Sizes and times of the rows that can be used, with a count of the others."""
    sizes: list[float] = []
    times: list[float] = []
    faults: dict[str, list[int]] = {}
    scale = TIME_UNITS[unit or (columns.layout.time_unit if columns.layout else "s")]
    separated = total = 0
    dated: bool | None = None
    for row in rows:
        total += 1
        fault, size, time = row.fault, 0.0, 0.0
        if fault is None:
            size, fault = _size(row.size, limit)
        if fault is None and columns.time is not None:
            time, is_date, fault = _time(row.time, scale)
            if fault is None:
                dated = is_date if dated is None else dated
                fault = None if dated == is_date else "time unreadable"
        if fault is not None:
            faults.setdefault(fault, []).append(row.line)
            continue
        separated += any(isinstance(cell, str) and _SEPARATED.fullmatch(cell.strip()) for cell in (row.size, row.time))
        sizes.append(size)
        if columns.time is not None:
            times.append(time)
    dropped = tuple(Dropped(fault, len(lines), lines[0]) for fault, lines in faults.items())
    _check_whole(path, total, len(sizes), dropped)
    size_array = np.array(sizes)
    time_array, unsorted, duplicates = None, 0, 0
    if columns.time is not None:
        raw = np.array(times)
        unsorted = int((np.diff(raw) < 0).sum())
        order = np.argsort(raw, kind="stable")
        time_array, size_array = raw[order] - raw[order[0]], size_array[order]
        duplicates = int((np.diff(time_array) == 0).sum())
        time_array.flags.writeable = False
    size_array.flags.writeable = False
    return RecordedTrace(
        path,
        columns.layout.name if columns.layout else None,
        columns.size,
        columns.time,
        size_array,
        time_array,
        total,
        dropped,
        separated,
        unsorted,
        duplicates,
        unterminated,
    )


def _check_whole(path: str, total: int, usable: int, dropped: Sequence[Dropped]) -> None:
    """Refuse a trace of which too little is left."""
    lost = total - usable
    worst = max(dropped, key=lambda entry: entry.count, default=None)
    why = f"; {worst.count} have {FAULTS[worst.fault]}, the first in line {worst.first_line}" if worst else ""
    if lost > MOST_DROPPED * total:
        refuse(
            "trace", path, f"a trace with at most {MOST_DROPPED:.0%} of its rows damaged, not {lost} of {total}{why}"
        )
    if usable < FEWEST_ROWS:
        refuse("trace", path, f"a trace with at least {FEWEST_ROWS} usable rows, not {usable}{why}")


def _number(cell: object) -> float | None:
    """The number that a cell holds; None for anything else.

    Examples
    --------
    >>> _number("1,234"), _number(" 7.5 "), _number("1,23"), _number("1_0"), _number(True)
    (1234.0, 7.5, None, None, None)
    """
    if isinstance(cell, str):
        text = cell.strip()
        if _SEPARATED.fullmatch(text):
            text = re.sub(r"[^\d.+-]", "", text)
        elif "_" in text:
            return None
        try:
            return float(text)
        except ValueError:
            return None
    if cell is None or isinstance(cell, (bool, datetime)):
        return None
    try:
        return float(cell)  # type: ignore[arg-type]  # whatever a parquet file holds
    except (TypeError, ValueError, OverflowError):
        return None


def _is_missing(cell: object) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _size(cell: object, limit: float) -> tuple[float, str | None]:
    """Size, or why there is none."""
    if _is_missing(cell):
        return 0.0, "size missing"
    value = _number(cell)
    if value is None or math.isnan(value):
        return 0.0, "size unreadable"
    if value <= 0:
        return 0.0, "size not positive"
    return (value, None) if SMALLEST <= value <= limit else (0.0, "size absurd")


def _time(cell: object, scale: float) -> tuple[float, bool, str | None]:
    """Seconds, whether they came from a date, or why there are none."""
    if _is_missing(cell):
        return 0.0, False, "time missing"
    value = _number(cell)
    if value is not None:
        return (value * scale, False, None) if abs(value * scale) <= LARGEST else (0.0, False, "time unreadable")
    try:
        date = cell if isinstance(cell, datetime) else datetime.fromisoformat(str(cell).strip())
        zoned = date if date.tzinfo else date.replace(tzinfo=UTC)
        return zoned.timestamp(), True, None
    except (ValueError, OverflowError):
        return 0.0, False, "time unreadable"


# Files ---------------------------------------------------------------------------------------------------------------


def _text(path: str, content: bytes) -> str:
    """A file of text, unpacked if it is packed, without a byte-order mark."""
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            lines = _unpacked(content).count(b"\n")
            raise ParameterError(
                "trace", path, f"a whole gzip file; this one is damaged behind line {lines}"
            ) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ParameterError("trace", path, f"text in UTF-8, which line {line} is not") from error
    if not text.strip():
        refuse("trace", path, "a trace; this file is empty: there is no header in line 1")
    return text


def _unpacked(content: bytes) -> bytes:
    """As much of a damaged gzip file as can be unpacked."""
    try:
        return zlib.decompressobj(wbits=31).decompress(content)
    except zlib.error:
        return b""


def _chosen(path: str, names: Sequence[str], asked: tuple[str | None, str | None], line: int = 1) -> _Columns:
    """The columns to read: those asked for, or those of a known layout."""
    layout = next((known for known in LAYOUTS if known.columns <= set(names)), None)
    known = ", ".join(names)[:SHOWN] or "none"
    for option, name in zip(("size_column", "time_column"), asked, strict=True):
        if name is not None and names.count(name.strip()) != 1:
            refuse(option, name, f"the name of one column of the trace (line {line} has: {known})")
    size, time = (None if name is None else name.strip() for name in asked)
    if layout is None:
        if size is None:
            layouts = ", ".join(entry.name for entry in LAYOUTS)
            refuse("size_column", None, f"given, as the trace has none of the known layouts ({layouts}) but: {known}")
        return _Columns(None, size, time)
    columns = _Columns(layout, size or layout.size, time or layout.time)
    for name in filter(None, (columns.size, columns.time)):
        if names.count(name) > 1:
            refuse("trace", path, f"a table with one column named {name}, not {names.count(name)} (line {line})")
    return columns


def _csv_rows(path: str, text: str, asked: tuple[str | None, str | None]) -> tuple[_Columns, Iterator[_Row]]:
    first = next(line for line in io.StringIO(text, newline="") if line.strip())
    delimiter = max(DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    try:
        header = next(row for row in reader if any(cell.strip() for cell in row))
    except (csv.Error, StopIteration) as error:
        raise ParameterError("trace", path, f"a table with a header, which line 1 is not ({error})") from error
    names = [name.strip() for name in header]
    columns = _chosen(path, names, asked, reader.line_num)
    last = sum(1 for _ in io.StringIO(text, newline=""))
    whole = text.endswith(("\n", "\r"))
    return columns, _csv_body(path, reader, names, columns, last, whole)


def _csv_body(path: str, reader: Any, names: list[str], columns: _Columns, last: int, whole: bool) -> Iterator[_Row]:
    size, time = names.index(columns.size), None if columns.time is None else names.index(columns.time)
    width = len(names)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if line < last or whole:
                refuse("trace", path, f"a table that can be read, which ends in line {line} ({error})")
            yield _Row(line, fault="cut off")
            return
        if len(row) == width:
            yield _Row(line, row[size], None if time is None else row[time])
        elif any(cell.strip() for cell in row):
            cut = reader.line_num >= last and not whole and len(row) < width
            yield _Row(line, fault="cut off" if cut else "cells")


def _json_rows(path: str, text: str, asked: tuple[str | None, str | None]) -> tuple[_Columns, Iterator[_Row]]:
    lines = [(place, line) for place, line in enumerate(text.split("\n"), start=1) if line.strip()]
    entries = [(place, _json_object(line)) for place, line in lines]
    first = next(((place, entry) for place, entry in entries if entry is not None), None)
    if first is None:
        refuse("trace", path, f"a file with one JSON object a line, which line {lines[0][0]} is not")
    names = list(dict.fromkeys(name for _, entry in entries if entry is not None for name in entry))
    columns = _chosen(path, names, asked, first[0])

    def rows() -> Iterator[_Row]:
        for place, entry in entries:
            if entry is None:
                cut = place == lines[-1][0] and not text.endswith("\n")
                yield _Row(place, fault="cut off" if cut else "not JSON")
            else:
                yield _Row(place, entry.get(columns.size), entry.get(columns.time) if columns.time else None)

    return columns, rows()


def _json_object(line: str) -> dict[str, object] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _parquet_rows(path: str, content: bytes, asked: tuple[str | None, str | None]) -> tuple[_Columns, Iterator[_Row]]:
    import pyarrow as pa
    from pyarrow import parquet

    if not content:
        refuse("trace", path, "a trace; this file is empty")

    def damaged(error: Exception) -> NoReturn:
        raise ParameterError("trace", path, f"a whole parquet file ({str(error).splitlines()[0][:SHOWN]})") from error

    try:
        file = parquet.ParquetFile(pa.BufferReader(content))
        names = list(file.schema_arrow.names)
    except (pa.ArrowException, OSError) as error:
        damaged(error)
    columns = _chosen(path, names, asked)
    try:
        table = file.read(columns=list(dict.fromkeys(filter(None, (columns.size, columns.time)))))
        cells = [None if name is None else _cells(table[name]) for name in (columns.size, columns.time)]
    except (pa.ArrowException, OSError) as error:
        damaged(error)
    sizes, times = cells[0] or [], cells[1]
    rows = (_Row(place + 1, size, times[place] if times else None) for place, size in enumerate(sizes))
    return columns, rows


def _cells(column: Any) -> list[object]:
    """Values of a parquet column; times finer than microseconds lose what is finer."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    try:
        values: list[object] = column.to_pylist()
    except (ValueError, OverflowError, KeyError):  # a year that Python does not know, or a time zone
        values = [_cell(scalar) for scalar in column]
    return values


def _cell(scalar: Any) -> object:
    """The value of a cell, or a text that is no number and no time."""
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, KeyError):
        return "unreadable"
