"""Tables of cells between separators, read by ``pyarrow.csv``.

What that library lacks, and is done here: it finds no separator; it takes a quotation that is never closed, or that
goes on behind its end, for a cell, in which rows after it are lost without a word; and it knows no lines, only rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from mlptsym.tables.files import LONGEST_LINE, Content, line_at
from mlptsym.tables.table import Rows, Table
from mlptsym.validation import ParameterError, refuse

__all__ = ["csv_table"]

SEPARATORS = b",;\t|"
SHOWN = 60  # characters of a library's message that an error shows
Pattern = re.Pattern[bytes]


def csv_table(content: Content, separators: bytes = SEPARATORS) -> Table:
    """The columns of a table with a header, its cells separated by commas, semicolons, tabs or bars.

    Raises
    ------
    ParameterError
        If it has no header, or a quotation is not closed or goes on behind its end.
    """
    path, data = content.path, content.data
    separator = _separator(data, separators)
    cell = _cell(separator)
    row = _row(cell, separator)
    header = next((found for found in row.finditer(data) if found.group().strip(separator + b' "\t\r\n')), None)
    end = _well_formed(row, data) if b'"' in data else len(data)
    if header is None or header.end() > end:
        refuse("trace", path, f"a table with a header, which line {line_at(data, min(end, len(data) - 1))} is not")
    if re.search(rb"[\r\n]", data[end:]):
        why = "a quotation is not closed, or goes on behind its end"
        refuse("trace", path, f"a table that can be read, which ends in line {line_at(data, end)} ({why})")
    start = header.end()
    names = _header(header.group(), cell, separator)

    def read(wanted: Sequence[str]) -> Rows:
        take = [names.index(name) for name in wanted]
        return _rows(content, row, separator.decode(), len(names), take, start, end)

    return Table(names, line_at(data, header.start()), read)


def _separator(data: bytearray, known: bytes) -> bytes:
    """What separates the cells: there most often in the first line, and as often in the next."""
    lines = [re.sub(rb'"[^"]*"', b"", found.group()) for found in islice(re.finditer(rb"[^\r\n]*\S[^\r\n]*", data), 2)]
    counts = {mark: [line.count(mark) for line in lines] for mark in (known[i : i + 1] for i in range(len(known)))}
    return max(counts, key=lambda mark: (0 < counts[mark][0] == counts[mark][-1], counts[mark][0]))


def _cell(separator: bytes) -> bytes:
    """The pattern of a cell: in quotation marks, or beginning with something else."""
    mark = re.escape(separator)
    return rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"\r\n' + mark + rb"][^\r\n" + mark + rb"]*+|)"


def _row(cell: bytes, separator: bytes) -> Pattern:
    """A row with its line end."""
    mark = re.escape(separator)
    return re.compile(rb"(?!\Z)" + cell + rb"(?:" + mark + cell + rb")*+(?:\r\n|[\r\n]|\Z)")


def _well_formed(row: Pattern, data: bytearray) -> int:
    """Where the first row begins that is none, or the end."""
    found = re.match(rb"(?:" + row.pattern + rb")*+", data)
    return 0 if found is None else found.end()


def _table(path: str, data: memoryview, width: int, take: Sequence[int], separator: str, bad: Any) -> Any:
    """The cells of some columns as texts; rows of another width are handed to ``bad``."""
    import pyarrow as pa
    from pyarrow import csv

    places = [f"f{place}" for place in range(width)]
    reading = csv.ReadOptions(
        use_threads=False,  # otherwise rows have no numbers
        block_size=LONGEST_LINE,
        column_names=places,
    )
    parsing = csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=bad)
    columns = {places[place]: pa.string() for place in take}
    converting = csv.ConvertOptions(
        column_types=columns,
        include_columns=list(columns),
        check_utf8=False,  # it was checked
        strings_can_be_null=False,
    )
    try:
        return csv.read_csv(pa.BufferReader(pa.py_buffer(data)), reading, parsing, converting)
    except (pa.ArrowException, OSError) as error:
        why = str(error).splitlines()[0][:SHOWN]
        raise ParameterError("trace", path, f"a table that can be read ({why})") from error


def _header(text: bytes, cell: bytes, separator: bytes) -> tuple[str, ...]:
    cells = re.findall(rb"(?:\A|" + re.escape(separator) + rb")(" + cell + rb")", text.strip(b"\r\n"))
    return tuple(
        (name[1:-1].replace(b'""', b'"') if name.startswith(b'"') else name).decode().strip() for name in cells
    )


def _rows(
    content: Content, row: Pattern, separator: str, width: int, take: Sequence[int], start: int, end: int
) -> Rows:
    data = content.data
    odd: list[tuple[int, int, bool]] = []  # place of a row of another width, its cells, whether all of them are blank

    def bad(found: Any) -> str:
        odd.append((found.number - 1, found.actual_columns, not found.text.strip(separator + ' "\t\r\n')))
        return "skip"

    body = memoryview(data)[start:end]
    empty = not re.search(rb"[^\r\n]", body)
    table = None if empty else _table(content.path, body, width, take, separator, bad)
    total = len(odd) + (0 if table is None else table.num_rows)
    faults = []
    for place, cells, blank in odd:
        cut = content.unterminated and end == len(data) and place == total - 1 and cells < width
        faults += [] if blank else [(place, "cut off" if cut else "cells")]
    if end < len(data):  # the last row, its quotation open
        faults.append((total, "cut off"))

    def lines_of(places: Sequence[int]) -> list[int]:
        starts = (found.start() for found in row.finditer(data, start, end) if found.group()[0] not in b"\r\n")
        wanted, last = set(places), max(places, default=-1)
        found = [where for place, where in enumerate(islice(starts, last + 1)) if place in wanted]
        return [line_at(data, where) for where in (*found, end)][: len(wanted)]

    columns = tuple([] if table is None else table[f"f{place}"].combine_chunks() for place in take)
    usable = np.delete(np.arange(total), [place for place, _, _ in odd])
    return Rows(columns, usable, faults, lines_of, separator)
