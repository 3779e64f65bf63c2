"""Where a trace comes from, and how its text is taken apart: pipes, endless files, quotations, long cells."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlptsym import ParameterError
from mlptsym.fitting.trace.reading import Dropped, RecordedTrace, read_trace
from mlptsym.tables import files
from mlptsym.tables.cells import date_in, number_in, values_in

TEXT = "arrived,tokens\n" + "".join(f"{place},{10 + place}\n" for place in range(20))
OBJECTS = "".join(json.dumps({"arrived": place, "tokens": 10 + place}) + "\n" for place in range(20))


def parquet() -> bytes:
    target = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"arrived": range(20), "tokens": range(10, 30)}), target)
    return target.getvalue()


def read(path: Path | str) -> RecordedTrace:
    return read_trace(path, "tokens", "arrived")


def check(trace: RecordedTrace) -> None:
    assert trace.sizes.tolist() == list(range(10, 30)) and not trace.dropped
    assert trace.times is not None and trace.times.tolist() == list(range(20))


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "trace.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# Pipes ---------------------------------------------------------------------------------------------------------------

CONTENTS = [TEXT.encode(), OBJECTS.encode(), parquet(), gzip.compress(TEXT.encode()), gzip.compress(OBJECTS.encode())]
KINDS = ["csv", "jsonl", "parquet", "csv.gz", "jsonl.gz"]


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
@pytest.mark.parametrize("content", CONTENTS, ids=KINDS)
def test_a_named_pipe(tmp_path: Path, content: bytes) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[content])
    writer.start()
    check(read(pipe))
    writer.join()


PROGRAM = """\
import sys
from mlptsym.fitting.trace.reading import read_trace
trace = read_trace(sys.argv[1], "tokens", "arrived")
print(trace.path, trace.sizes.sum(), trace.times[-1])"""


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="/dev/stdin")
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
@pytest.mark.parametrize("content", CONTENTS[1:3], ids=KINDS[1:3])
def test_standard_input(name: str, content: bytes) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, name], input=content, capture_output=True, check=False)
    assert (done.stdout.decode(), done.stderr.decode()) == (f"{name} {sum(range(10, 30)):.1f} 19.0\n", "")


def test_standard_input_that_is_closed() -> None:
    words = ["sh", "-c", f'exec "{sys.executable}" -m mlptsym fit - <&-']
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: trace -: must be a file that can be read (Bad file descriptor)\n"


# Endless -------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="/dev/zero")
def test_a_file_without_a_line_end_is_refused_early(tmp_path: Path) -> None:
    path = tmp_path / "zero.csv"
    path.symlink_to("/dev/zero")
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match="lines of at most 16,777,216 bytes, which line 1 is not"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (TEXT.encode() + b"x" * 3000, "lines of at most 1,000 bytes, which line 22 is not"),
        (TEXT.encode() * 100, "a file of at most 10,000 bytes"),
        (TEXT.encode() + b"5,\xe9\n" + TEXT.encode() * 100, "text in UTF-8, which line 22 is not"),
    ],
)
def test_what_is_read_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, words: str, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(files, "PIECE", 100)
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    monkeypatch.setattr(files, "LARGEST_CONTENT", 10_000)
    with pytest.raises(ParameterError, match=words):
        read(written(tmp_path, pack(content)))


def test_pieces_may_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a character of several bytes, between the two of a line end."""
    text = "arrived,tokens,prompt\r\n" + "".join(f"{place},{10 + place},é∞\r\n" for place in range(20))
    for piece in range(1, 12):
        monkeypatch.setattr(files, "PIECE", piece)
        check(read(written(tmp_path, text)))


# Cells ---------------------------------------------------------------------------------------------------------------


def test_a_long_cell_is_a_cell(tmp_path: Path) -> None:
    """Of 150 KB, and of more than a megabyte, in quotation marks with line ends or without."""
    for prompt in ("x" * 150_000, '"' + 'say ""hi"",\n' * 200_000 + '"'):
        rows = [f"{place},{prompt if place == 3 else 'short'},{10 + place}" for place in range(20)]
        check(read(written(tmp_path, "\n".join(["arrived,prompt,tokens", *rows, ""]))))


def test_quotations(tmp_path: Path) -> None:
    rows = [f'"{place}","a ""quoted"" word, and a\r\nline",{10 + place}' for place in range(20)]
    check(read(written(tmp_path, "\n".join(['"arrived",prompt,"tokens"', *rows, ""]))))
    rows = [f'{place},a 5" disk and "more" of it,{10 + place}' for place in range(20)]
    check(read(written(tmp_path, "\n".join(["arrived,prompt,tokens", *rows, ""]))))


def test_lines_of_faults_are_those_of_the_file(tmp_path: Path) -> None:
    """Rows over several lines, blank lines, and a separator alone, which is no row."""
    good = "".join(f'{place},"two\nlines",5\n' for place in range(30))
    text = "arrived,prompt,tokens\n\n" + good + '\n , ,,\n7,"a\n\nb",x\n\r\n8,9\n10,11,-12\n'
    assert read(written(tmp_path, text)).dropped == (
        Dropped("size unreadable", 1, 65),
        Dropped("cells", 1, 69),
        Dropped("size not positive", 1, 70),
    )


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ('1,"text,7', 4),  # the next quotation mark closes it, in the row below
        ('1,"te"xt,7', 4),
        ('1,"",""x"",7', 4),
    ],
)
def test_a_quotation_that_swallows_rows_is_refused(tmp_path: Path, row: str, line: int) -> None:
    rows = ["1,a,5", "2,b,6", row, '2,"text,8', *(f"{place},a,5" for place in range(20))]
    with pytest.raises(ParameterError, match=f"ends in line {line} .a quotation is not closed, or goes on behind its"):
        read(written(tmp_path, "\n".join(["arrived,prompt,tokens", *rows, ""])))


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Zeit, in s;Tokens", "{}.5;{}"),  # as many commas as semicolons in the header, in rows none
        ('"a, b, c";tokens', "{}.5;{}"),
        ("a,tokens", '{}.5,"{}"'),
        ("a|tokens;", "{}.5|{}"),
    ],
)
def test_the_separator_is_that_of_the_rows(tmp_path: Path, header: str, row: str) -> None:
    lines = [header, *(row.format(place, 10 + place) for place in range(20))]
    name = header.replace('"', "").replace(";", "|").split("|")[-1 if header[-1] != ";" else 1].split(",")[-1]
    name += ";" * header.endswith(";")
    assert read_trace(written(tmp_path, "\n".join([*lines, ""])), name).sizes.tolist() == list(range(10, 30))


def test_a_member_that_is_there_twice(tmp_path: Path) -> None:
    """Neither is taken: the row is dropped and counted."""
    path = tmp_path / "trace.jsonl"
    path.write_text(OBJECTS + '{"arrived": 20, "tokens": 1, "tokens": 2}\n{"arrived": 21, "x": {"y": 1, "y": 2}}\n')
    trace = read(path)
    assert trace.dropped == (Dropped("member twice", 2, 21),)
    assert trace.sizes.sum() == sum(range(10, 30))


# Values --------------------------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.decimals(allow_nan=False).map(str),
    st.from_regex(r"[+-]?[0-9]{0,4}[.,]?[0-9]{0,4}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.text("0123456789.,+-eE_ '", max_size=8),
)
DATES = st.builds(
    "{}{}{}".format,
    st.datetimes(datetime(1890, 1, 1), datetime(2240, 1, 1)).map(lambda date: date.isoformat(" ")),
    st.sampled_from(["", "0", "000"]),
    st.sampled_from(["", "Z", "+01:00", "-11:30"]),
)
BAD_DATES = st.from_regex(
    r"20[0-9]{2}-[0-3][0-9]-[0-3][0-9][T ][0-3][0-9]:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z?", fullmatch=True
)


@given(st.lists(NUMBERS | DATES | BAD_DATES, max_size=6), st.sampled_from([".", ","]))
def test_cells_read_together_are_those_read_one_by_one(cells: list[str], decimal: str) -> None:
    """Arrow's numbers and dates are Python's, to the last bit and to the microsecond."""
    found = values_in(pa.array(cells, pa.string()), decimal)
    for place, cell in enumerate(cells):
        number, date = number_in(cell, decimal), date_in(cell)
        if found.missing[place]:
            assert cell.strip().lower() in {"", "-", "nan"}
        elif number is not None and number == number:  # noqa: PLR0124 - no NaN
            assert found.numbers[place] == number and not found.dated[place]
        else:
            assert np.isnan(found.numbers[place])
            assert (found.dates[place], found.dated[place]) == ((0, False) if date is None else (date, True))


def test_columns_of_every_type() -> None:
    """Of a parquet file: what holds numbers or dates is read, and nothing else."""
    moment = datetime(2024, 3, 1, 9, tzinfo=UTC)
    stamp = round(moment.timestamp() * 1e6)
    for array in (
        pa.array([5, None], pa.int8()),
        pa.array([5.0, np.nan]),
        pa.array(["5", None], pa.large_string()),
        pa.array(["5", ""]).dictionary_encode(),
        pa.array([5, None], pa.decimal128(5, 2)),
    ):
        found = values_in(array)
        assert found.numbers[0] == 5 and found.missing.tolist() == [False, True], array.type
    for kind in (pa.timestamp("s"), pa.timestamp("ns", "Europe/Paris"), pa.timestamp("us")):
        found = values_in(pa.array([moment, None], kind))
        assert found.dates[0] == stamp and found.dated.tolist() == [True, False] and found.missing[1], kind
    assert values_in(pa.array([moment.date()])).dates[0] == stamp - 9 * 3600 * 10**6
    for odd in (pa.array([True]), pa.array([[5]]), pa.array([{"a": 5}]), pa.array([b"\xff"])):
        found = values_in(odd)
        assert np.isnan(found.numbers).all() and not found.dated.any() and not found.missing.any(), odd.type
