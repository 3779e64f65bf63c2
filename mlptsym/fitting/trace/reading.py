"""Traces of requests: csv, csv.gz, jsonl and parquet files, pipes and standard input, damaged ones included.

A row that cannot be used is dropped and counted, with the line of the first of its kind; a file that cannot be trusted
as a whole is refused, with the line.  Nothing is repaired by guessing, and what had to be decided is said.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.fitting.trace.layouts import LAYOUTS, Columns, candidates, chosen_columns
from mlptsym.fitting.trace.units import DATE, TIME_UNITS, DecimalMark, Unit, decimal_mark, size_unit, time_unit
from mlptsym.tables.cells import Values, dates_in_digits, values_in
from mlptsym.tables.files import SUFFIXES, Content, read_content
from mlptsym.tables.json_lines import json_table
from mlptsym.tables.parquet import parquet_table
from mlptsym.tables.separated import csv_table
from mlptsym.tables.table import Rows, Table
from mlptsym.validation import LARGEST, SMALLEST, ParameterError, choice, number, refuse

__all__ = ["FAULTS", "Dropped", "RecordedTrace", "find_traces", "read_trace"]

Floats = NDArray[np.float64]

LARGEST_SIZE = 1e9
FEWEST_ROWS = 10
MOST_DROPPED = 0.1

FAULTS = {
    "cells": "a wrong number of cells",
    "cut off": "a last line that is cut off",
    "not JSON": "no JSON object",
    "member twice": "a JSON object in which a name is there twice",
    "size missing": "no size",
    "size unreadable": "a size that is no number",
    "size not positive": "a size of zero or below",
    "size absurd": "a size beyond the largest allowed, or next to nothing",
    "time missing": "no time",
    "time unreadable": "a time that cannot be read",
}
"""Why a row is dropped, in words."""


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
    time_unit : Unit or None
        Of the times in the file, and how it was decided; None if there are none.
    size_unit : Unit
    decimal : DecimalMark
        Of the numbers in the file.
    unused : tuple of str
        The other columns.
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
    time_unit: Unit | None = None
    size_unit: Unit = Unit("tokens", "assumed")  # noqa: RUF009 - it cannot be changed
    decimal: DecimalMark = DecimalMark(".", "assumed")  # noqa: RUF009
    unused: tuple[str, ...] = ()

    @property
    def jobs(self) -> int:
        """Number of usable rows."""
        return self.sizes.size


def read_trace(
    path: str | os.PathLike[str],
    size_column: str | None = None,
    time_column: str | None = None,
    *,
    time_unit: str | None = None,
    decimal: str | None = None,
    largest_size: float = LARGEST_SIZE,
) -> RecordedTrace:
    """Read a trace of requests.

    Parameters
    ----------
    path : path
        A table in UTF-8 with a header (``.csv``, ``.csv.gz``, separated by commas, semicolons, tabs or bars), one JSON
        object a line (``.jsonl``, ``.jsonl.gz``), or ``.parquet``.  A name without an ending, such as that of a pipe,
        may be any of these; ``-`` is standard input.
    size_column, time_column : str, optional
        Columns of the sizes and arrival times.  Left out, those of the layout recognised (`LAYOUTS`); a trace of no
        known layout needs the first, and has no times without the second.
    time_unit : {"s", "ms", "us", "ns"}, optional
        Unit of times that are numbers.  Left out, it is what the numbers, the layout or the column's name say,
        otherwise seconds, which is said.  Times may also be dates and times of ISO 8601 (UTC where they name no zone;
        read to the microsecond).
    decimal : {".", ","}, optional
        What stands before the tenths.  Left out, it is what the numbers themselves say.
    largest_size : float
        Sizes beyond are dropped as absurd, and so are those below 1e-30; > 0 and <= 1e30.

    Returns
    -------
    RecordedTrace

    Raises
    ------
    ParameterError
        If the file cannot be read or is empty, a column is missing, more than a tenth of its rows, or all but ten,
        would be dropped; the message names the line.  If the unit of the times or the decimal mark was not given, and
        cannot be told.
    """
    unit = None if time_unit is None else choice("time_unit", time_unit, tuple(TIME_UNITS))
    mark = None if decimal is None else choice("decimal", decimal, (".", ","))
    limit = number("largest_size", largest_size, above=0, at_most=LARGEST)
    for option, column in (("size_column", size_column), ("time_column", time_column)):
        if column is not None and not isinstance(column, str):
            refuse(option, column, "the name of a column of the trace")
    content = read_content(path)
    table = _table(content, candidates(size_column, time_column))
    columns = chosen_columns(content.path, table, size_column, time_column)
    rows = table.read(columns.read)
    return _understood(content, columns, rows, unit, decimal_mark(rows.cells, rows.separator, mark), limit)


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


def _table(content: Content, wanted: set[str]) -> Table:
    if content.kind == "csv":
        return csv_table(content)
    return json_table(content, wanted) if content.kind == "jsonl" else parquet_table(content)


def _understood(
    content: Content, columns: Columns, rows: Rows, given: str | None, decimal: DecimalMark, limit: float
) -> RecordedTrace:
    """Sizes and times of the rows that can be used, with a count of the others."""
    values = [values_in(cells, decimal.mark) for cells in rows.cells]
    reasons, unit, seconds = _size_faults(values[0], limit), None, None
    if columns.time is not None:
        sized = ~np.any([mask for _, mask in reasons], axis=0)
        unit, seconds = _seconds(columns, rows, values[1], sized, given)
        reasons += [("time missing", values[1].missing), ("time unreadable", np.isnan(seconds))]
    usable, faults = _sorted_out(rows.places, reasons)
    dropped = _dropped(rows, faults)
    total = rows.places.size + len(rows.faults)
    _check_whole(content.path, total, int(usable.sum()), dropped)
    size_array, time_array, unsorted, duplicates = values[0].numbers[usable], None, 0, 0
    if seconds is not None:
        raw = seconds[usable]
        unsorted = int((np.diff(raw) < 0).sum())
        order = np.argsort(raw, kind="stable")
        time_array, size_array = raw[order] - raw[order[0]], size_array[order]
        duplicates = int((np.diff(time_array) == 0).sum())
        time_array.flags.writeable = False
    size_array.flags.writeable = False
    return RecordedTrace(
        content.path,
        columns.layout.name if columns.layout else None,
        columns.size,
        columns.time,
        size_array,
        time_array,
        total,
        dropped,
        int(np.any([entry.separated[usable] for entry in values], axis=0).sum()),
        unsorted,
        duplicates,
        content.unterminated,
        unit,
        size_unit(columns, size_array),
        decimal,
        columns.unused,
    )


def _size_faults(sizes: Values, limit: float) -> list[tuple[str, NDArray[np.bool_]]]:
    """Reasons why there is no size, and the rows of which each is true."""
    return [
        ("size missing", sizes.missing),
        ("size unreadable", np.isnan(sizes.numbers)),
        ("size not positive", sizes.numbers <= 0),
        ("size absurd", (sizes.numbers > limit) | (sizes.numbers < SMALLEST)),
    ]


def _seconds(
    columns: Columns, rows: Rows, times: Values, sized: NDArray[np.bool_], given: str | None
) -> tuple[Unit, Floats]:
    """The unit of the times, and seconds from some moment, NaN where there are none: numbers or dates, not both."""
    numbers = ~np.isnan(times.numbers)
    if times.dated.sum() > numbers.sum():
        return Unit(DATE, "as they are written"), _since_first(times)
    readable = sized & (np.abs(times.numbers) <= LARGEST)
    unit = time_unit(columns, times.numbers[readable], given)
    if unit.name == DATE:
        return unit, _since_first(dates_in_digits(rows.cells[1]))
    seconds = times.numbers * TIME_UNITS[unit.name]
    seconds[~(np.abs(seconds) <= LARGEST)] = np.nan
    return unit, seconds


def _since_first(times: Values) -> Floats:
    """Seconds from the first date, exact to the microsecond."""
    first = times.dates[times.dated].min(initial=np.iinfo(np.int64).max)
    return np.where(times.dated, (times.dates - first) / 1e6, np.nan)


def _sorted_out(
    places: NDArray[np.int64], reasons: Sequence[tuple[str, NDArray[np.bool_]]]
) -> tuple[NDArray[np.bool_], list[tuple[int, int, str]]]:
    """Rows to which no reason applies; of others the place of the first, their number, and the first reason."""
    usable = np.ones(places.size, bool)
    faults = []
    for reason, mask in reasons:
        found = np.flatnonzero(usable & mask)
        if found.size:
            faults.append((int(places[found[0]]), found.size, reason))
            usable[found] = False
    return usable, faults


def _dropped(rows: Rows, faults: Sequence[tuple[int, int, str]]) -> tuple[Dropped, ...]:
    """Rows that are dropped, by reason, in the order of the first of each."""
    counts = Counter(fault for _, fault in rows.faults)
    first = {fault: place for place, fault in reversed(rows.faults)}
    ordered = sorted([*faults, *((first[fault], count, fault) for fault, count in counts.items())])
    lines = rows.lines_of([place for place, _, _ in ordered])
    return tuple(Dropped(fault, count, line) for line, (_, count, fault) in zip(lines, ordered, strict=True))


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
