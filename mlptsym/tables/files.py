"""The bytes of a table, from a file, a pipe or standard input: unpacked, known to be text in UTF-8, and bounded."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from mlptsym import validation
from mlptsym.validation import ParameterError, refuse

__all__ = ["LONGEST_LINE", "SUFFIXES", "Content", "line_at", "read_content"]

SUFFIXES = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")

# What is not refused before: an endless pipe without a line end, and one with many.
LONGEST_LINE, LARGEST_CONTENT = 2**24, 2**30  # bytes
PIECE = 2**20


@dataclass(frozen=True, eq=False)
class Content:
    """What a file holds.

    Attributes
    ----------
    path : str
        As it was given.
    kind : {"csv", "jsonl", "parquet"}
    data : bytearray
        Text in UTF-8 without a byte-order mark and with more than white space in it, unless it is parquet.
    """

    path: str
    kind: str
    data: bytearray

    @property
    def unterminated(self) -> bool:
        """Whether a text ends without a line end, so that its last value may be cut short."""
        return self.kind != "parquet" and not self.data.endswith((b"\n", b"\r"))


def read_content(path: str | os.PathLike[str], kind: str | None = None) -> Content:
    """All of a file, or of standard input where its name is ``-``.

    What kind it is of, where that is not given, the name's ending says; where there is none, as for a pipe, the first
    bytes do.

    Raises
    ------
    ParameterError
        If it cannot be read, is empty, no text in UTF-8, a damaged gzip file, larger than a gigabyte, or has a line of
        more than 16 megabytes.
    """
    place = validation.path("trace", path, "a file that can be read, by its name")
    name = place.name.lower()
    if kind is None and place.suffix:
        if not name.endswith(SUFFIXES):
            refuse("trace", str(path), f"a file whose name ends in {', '.join(SUFFIXES)}")
        kind = next(suffix[1:] for suffix in (".csv", ".jsonl", ".parquet") if suffix in name[-9:])
    try:
        with _opened(place) as stream:
            content = _read(str(path), stream, kind)
    except OSError as error:
        raise ParameterError("trace", str(path), f"a file that can be read ({error.strerror or error})") from error
    if not re.search(rb"\S", content.data):
        refuse("trace", str(path), "a table; this file is empty: there is no header in line 1")
    return content


@contextmanager
def _opened(place: Path) -> Iterator[BufferedReader]:
    if str(place) == "-":
        with open(0, "rb", closefd=False) as stream:
            yield stream
    else:
        with place.open("rb") as stream:
            yield stream


def _read(path: str, stream: BufferedReader, kind: str | None) -> Content:
    data = bytearray()
    checked = 0
    for piece in _unpacked(path, stream, data):
        data += piece
        kind = kind or _kind_of(data)
        if len(data) > LARGEST_CONTENT:
            refuse("trace", path, f"a file of at most {LARGEST_CONTENT:,} bytes")
        if kind != "parquet":
            checked = _checked(path, data, checked)
            if len(data) - checked > LONGEST_LINE:
                where = line_at(data, checked)
                refuse("trace", path, f"text with lines of at most {LONGEST_LINE:,} bytes, which line {where} is not")
    if kind != "parquet":
        _check_text(path, data, checked, len(data))
        if data.startswith(b"\xef\xbb\xbf"):  # a byte-order mark
            del data[:3]
    return Content(path, kind or "csv", data)


def _unpacked(path: str, stream: BufferedReader, so_far: bytearray) -> Iterator[bytes]:
    """The pieces of a file, unpacked if it is packed."""
    if stream.peek(2)[:2] != b"\x1f\x8b":
        yield from iter(lambda: stream.read(PIECE), b"")
        return
    try:
        with gzip.GzipFile(fileobj=stream) as packed:
            # A damaged file gives what is in front of the damage in small pieces only.
            yield from iter(lambda: packed.read1(PIECE), b"")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        where = line_at(so_far, len(so_far)) - 1
        raise ParameterError("trace", path, f"a whole gzip file; this one is damaged behind line {where}") from error


def _kind_of(data: bytearray) -> str:
    if data.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if re.match(rb"(?:\xef\xbb\xbf)?\s*[{\[]", data) else "csv"


def _checked(path: str, data: bytearray, start: int) -> int:
    """Where the last whole line ends, up to which the data is text."""
    end = 1 + max(data.rfind(b"\n", start), data.rfind(b"\r", start))
    if end <= start:
        return start
    _check_text(path, data, start, end)
    return end


def _check_text(path: str, data: bytearray, start: int, end: int) -> None:
    try:
        data[start:end].decode()
    except UnicodeDecodeError as error:
        where = line_at(data, start + error.start)
        raise ParameterError("trace", path, f"text in UTF-8, which line {where} is not") from error


def line_at(data: bytearray, position: int) -> int:
    r"""The number of the line a position is in, from one; lines end with ``\n``, ``\r`` or both.

    Examples
    --------
    >>> line_at(bytearray(b"a\r\nb\rc\nd"), 7)
    4
    """
    ends = [data.count(end, 0, position) for end in (b"\n", b"\r", b"\r\n")]
    return 1 + ends[0] + ends[1] - ends[2]
