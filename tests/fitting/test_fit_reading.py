"""Traces are read as they are: layouts, formats, and every kind of damage counted or refused with its line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from fit_samples import DATA, SAMPLES
from hypothesis import given
from hypothesis import strategies as st

from mlptsym import ParameterError
from mlptsym.fitting.trace.reading import Dropped, RecordedTrace, find_traces, read_trace

REAL = Path(__file__).parents[3] / "shared" / "traces"
HEADER = "arrived,tokens\n"


def lines(count: int = 20, start: int = 0) -> list[str]:
    return [f"{place},{10 + place}" for place in range(start, start + count)]


def written(folder: Path, text: str | bytes, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def table(*rows: str, header: str = HEADER) -> str:
    return header + "\n".join(rows) + "\n"


def read(path: Path, **options: object) -> RecordedTrace:
    return read_trace(path, "tokens", "arrived", **options)  # type: ignore[arg-type]


# Layouts and formats -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_as_they_were_drawn(name: str) -> None:
    assert (DATA / name).read_bytes() == SAMPLES[name]().encode()


@pytest.mark.parametrize(
    ("name", "layout", "size", "time", "jobs"),
    [
        ("azure_sample.csv", "Azure", "GeneratedTokens", "TIMESTAMP", 1200),
        ("sharegpt_sample.csv", "ShareGPT", "num_decode_tokens", None, 1000),
        ("mooncake_sample.jsonl", "Mooncake", "output_length", "timestamp", 1000),
    ],
)
def test_layouts_are_recognised_by_their_columns(
    name: str, layout: str, size: str, time: str | None, jobs: int
) -> None:
    trace = read_trace(DATA / name)
    assert (trace.layout, trace.size_column, trace.time_column, trace.jobs) == (layout, size, time, jobs)
    assert trace.dropped == () and trace.rows == jobs
    assert (trace.times is None) == (time is None)


def test_mooncake_times_are_milliseconds() -> None:
    entries = [json.loads(line) for line in (DATA / "mooncake_sample.jsonl").read_text().splitlines()]
    times = np.array([entry["timestamp"] for entry in entries])
    np.testing.assert_allclose(read_trace(DATA / "mooncake_sample.jsonl").times, (times - times[0]) / 1000, rtol=1e-12)


def test_another_column_of_a_known_layout_can_be_asked_for() -> None:
    assert read_trace(DATA / "azure_sample.csv", "ContextTokens").sizes.max() > 3000


def test_every_format_gives_the_same(tmp_path: Path) -> None:
    text = table(*lines())
    objects = [{"arrived": place, "tokens": 10 + place} for place in range(20)]
    columns = {name: [entry[name] for entry in objects] for name in ("arrived", "tokens")}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "trace.parquet")
    paths = [
        written(tmp_path, text),
        written(tmp_path, gzip.compress(text.encode()), "trace.csv.gz"),
        written(tmp_path, text.replace(",", ";"), "semicolons.csv"),
        written(tmp_path, text.replace(",", "\t"), "tabs.csv"),
        written(tmp_path, text.replace("\n", "\r\n"), "crlf.csv"),
        written(tmp_path, text.replace("\n", "\r"), "cr.csv"),
        written(tmp_path, b"\xef\xbb\xbf" + text.encode(), "bom.csv"),
        written(tmp_path, text.replace("\n", "\n\n"), "blank.csv"),
        written(tmp_path, "\n".join(map(json.dumps, objects)) + "\n", "trace.jsonl"),
        tmp_path / "trace.parquet",
    ]
    for path in paths:
        trace = read(path)
        assert trace.sizes.tolist() == list(range(10, 30)), path.name
        assert trace.times.tolist() == list(range(20)), path.name
        assert trace.dropped == () and trace.rows == 20 and not trace.unterminated, path.name


@pytest.mark.parametrize(
    "written_as",
    ["2024-03-01 09:00:{:02}.5000000", "2024-03-01T09:00:{:02}.5Z", "2024-03-01 10:00:{:02}.500+01:00", "{}.5"],
)
def test_times_are_read(tmp_path: Path, written_as: str) -> None:
    rows = [f'"{written_as.format(place)}",5' for place in range(20)]
    assert read(written(tmp_path, table(*rows))).times.tolist() == list(range(20))


def test_parquet_timestamps_are_read(tmp_path: Path) -> None:
    stamps = np.datetime64("2024-03-01T09:00:00", "ns") + np.arange(20) * np.timedelta64(1_500_000_001, "ns")
    pyarrow.parquet.write_table(pa.table({"arrived": stamps, "tokens": np.arange(1, 21)}), tmp_path / "t.parquet")
    np.testing.assert_allclose(read(tmp_path / "t.parquet").times, 1.5 * np.arange(20), atol=2e-6)


@pytest.mark.parametrize(("unit", "scale"), [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)])
def test_units_of_time(tmp_path: Path, unit: str, scale: float) -> None:
    times = read(written(tmp_path, table(*lines())), time_unit=unit).times
    np.testing.assert_allclose(times, scale * np.arange(20), rtol=1e-12)


# Damage --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("5,", "size missing"),
        ("5,NaN", "size missing"),
        ("5,null", "size missing"),
        ("5,abc", "size unreadable"),
        ("5,1_0", "size unreadable"),
        ("5,0x10", "size unreadable"),
        ("5,-3", "size not positive"),
        ("5,0", "size not positive"),
        ("5,-inf", "size not positive"),
        ("5,inf", "size absurd"),
        ("5,1e300", "size absurd"),
        ("5,2000000000", "size absurd"),
        (",7", "time missing"),
        ("yesterday,7", "time unreadable"),
        ("2024-03-01 09:00:00,7", "time unreadable"),  # a date among numbers
        ("inf,7", "time unreadable"),
        ("5", "cells"),
        ("5,1,234", "cells"),  # a thousands separator without quotes
    ],
)
def test_a_damaged_row_is_dropped_and_counted(tmp_path: Path, row: str, fault: str) -> None:
    trace = read(written(tmp_path, table(*lines(10), row, *lines(10, 10))))
    assert trace.dropped == (Dropped(fault, 1, 12),)
    assert (trace.rows, trace.jobs) == (21, 20)
    assert trace.sizes.tolist() == list(range(10, 30))


def test_faults_are_counted_by_kind(tmp_path: Path) -> None:
    rows = [*lines(60), "1,", "2,-1", "3,-2"]
    assert read(written(tmp_path, table(*rows))).dropped == (
        Dropped("size missing", 1, 62),
        Dropped("size not positive", 2, 63),
    )


@pytest.mark.parametrize("cell", ['"1,234"', "1 234", "1'234", "1_234", '"1,234.0"'])
def test_thousands_separators_are_read_and_counted(tmp_path: Path, cell: str) -> None:
    trace = read(written(tmp_path, table(*lines(), f"20,{cell}")))
    assert trace.sizes[-1] == 1234 and trace.separated == 1 and trace.dropped == ()


def test_unsorted_and_simultaneous_arrivals(tmp_path: Path) -> None:
    """Sorted by time, rows of one time in the order of the file; both counted."""
    rows = [*lines(10), "3.5,100", "3.5,99", "12,7"]
    trace = read(written(tmp_path, table(*rows)))
    assert (trace.unsorted, trace.duplicates) == (1, 1)
    assert trace.times.tolist() == [0, 1, 2, 3, 3.5, 3.5, 4, 5, 6, 7, 8, 9, 12]
    assert trace.sizes.tolist() == [10, 11, 12, 13, 100, 99, 14, 15, 16, 17, 18, 19, 7]


@pytest.mark.parametrize(
    ("end", "dropped"),
    [
        ("20", (Dropped("cut off", 1, 22),)),
        ('20,"3', (Dropped("cut off", 1, 22),)),
        ("20,", (Dropped("size missing", 1, 22),)),
        ("20,3", ()),
    ],
)
def test_a_last_line_that_is_cut_off(tmp_path: Path, end: str, dropped: tuple[Dropped, ...]) -> None:
    trace = read(written(tmp_path, table(*lines()) + end))
    assert trace.dropped == dropped
    assert trace.unterminated


def test_damaged_json_lines(tmp_path: Path) -> None:
    good = [json.dumps({"arrived": place, "tokens": 5}) for place in range(50)]
    text = "\n".join([*good, "[1]", '{"arrived": 3, "tokens": true}', '{"arrived": 31}', '{"arrived": 32, "tok'])
    dropped = read_trace(written(tmp_path, text, "t.jsonl"), "tokens", "arrived", largest_size=10).dropped
    assert dropped == (
        Dropped("not JSON", 1, 51),
        Dropped("size unreadable", 1, 52),
        Dropped("size missing", 1, 53),
        Dropped("cut off", 1, 54),
    )


GZIP = gzip.compress(table(*lines(5000)).encode())


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "", "empty"),
        ("a.csv", "\n\n", "empty"),
        ("a.csv", HEADER, "at least 10 usable rows, not 0"),
        ("a.csv", table(*lines(9)), "at least 10 usable rows, not 9"),
        (
            "a.csv",
            table(*lines(17), "1,x", "2,y", "3,z"),
            "damaged, not 3 of 20; 3 have a size that is no number, the first in line 19",
        ),
        ("a.csv", table(*lines(), '21,"5', *lines(9)), "which ends in line 22"),
        ("a.csv", table(*lines()).encode() + b"9,\xff\n", "UTF-8, which line 22 is not"),
        ("a.csv", table(*lines(), header="tokens,tokens\n"), "the name of one column"),
        (
            "a.csv",
            table(*lines(), header="time,size\n"),
            "the name of one column of the trace (line 1 has: time, size)",
        ),
        ("a.csv.gz", GZIP[: len(GZIP) // 2], "damaged behind line"),
        ("a.csv.gz", b"\x1f\x8bnonsense", "damaged behind line 0"),
        ("a.jsonl", "nonsense\n", "line 1 is not"),
        ("a.jsonl", "[" * 10**5 + "\n", "line 1 is not"),
        ("a.parquet", "nonsense", "a whole parquet file"),
        ("a.parquet", "", "empty"),
        ("a.txt", table(*lines()), "whose name ends in .csv"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        read(written(tmp_path, content, name))
    assert words in str(refusal.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for path in (tmp_path / "absent.csv", tmp_path / "folder.csv", tmp_path / "nul\0.csv"):
        with pytest.raises(ParameterError, match="a file that can be read"):
            read_trace(path)
    with pytest.raises(ParameterError, match="size_column = None .* none of the known layouts"):
        read_trace(written(tmp_path, table(*lines())))
    with pytest.raises(ParameterError, match="time_unit"):
        read(written(tmp_path, table(*lines())), time_unit="h")


@given(content=st.binary(max_size=300), name=st.sampled_from(["f.csv", "f.jsonl", "f.csv.gz", "f.parquet"]))
def test_no_content_does_more_than_be_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    path = written(tmp_path_factory.getbasetemp(), b"arrived,tokens\n" * (name == "f.csv") + content, name)
    with pytest.raises(ParameterError):
        read(path)


def test_traces_of_a_folder_are_found(tmp_path: Path) -> None:
    assert list(find_traces(DATA)) == ["azure_sample.csv", "mooncake_sample.jsonl", "sharegpt_sample.csv"]
    with pytest.raises(ParameterError, match="trace_folder"):
        find_traces(tmp_path)


# Real traces ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not REAL.is_dir(), reason="the real traces are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "layout", "jobs", "mean", "cv", "maximum"),
    [
        ("azure-llm-2023-conv.csv", "Azure", 19_366, 211.1, 0.771, 1000),
        ("azure-llm-2023-code.csv", "Azure", 8_819, 27.9, 2.147, 1899),
        ("sharegpt-8k-lengths.csv", "ShareGPT", 30_731, 438.7, 0.605, 1024),
    ],
)
def test_real_traces(name: str, layout: str, jobs: int, mean: float, cv: float, maximum: float) -> None:
    """Facts that are known of them."""
    trace = read_trace(REAL / name)
    assert (trace.layout, trace.jobs, trace.rows, trace.sizes.max()) == (layout, jobs, jobs, maximum)
    assert round(float(trace.sizes.mean()), 1) == mean
    assert float(trace.sizes.std() / trace.sizes.mean()) == pytest.approx(cv, abs=6e-4)
    assert trace.unterminated == (layout == "Azure") and not trace.dropped
