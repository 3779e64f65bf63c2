"""Units of arrival times, decimal marks and columns: each decided by what the file says, said, or asked for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fit_samples import DATA

from mlptsym import ParameterError
from mlptsym.cli import main
from mlptsym.fitting.fit import fit_trace
from mlptsym.fitting.mapping import as_mapping
from mlptsym.fitting.trace.reading import RecordedTrace, read_trace
from mlptsym.fitting.words import columns_in_words

SECONDS = np.cumsum(np.random.default_rng(4).exponential(1 / 6, 40)).round(3)  # six a second


def trace(folder: Path, times: list[object], column: str = "arrived", **options: object) -> RecordedTrace:
    path = folder / "trace.csv"
    path.write_text(
        "\n".join([f"{column},tokens", *(f"{time},{5 + place}" for place, time in enumerate(times))]) + "\n"
    )
    return read_trace(path, "tokens", column, **options)  # type: ignore[arg-type]


def objects(folder: Path, times: list[object], **more: object) -> RecordedTrace:
    """In the columns that Mooncake and others share."""
    path = folder / "trace.jsonl"
    entries = [{"timestamp": time, "input_length": 500, "output_length": 90, "hash_ids": [7], **more} for time in times]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return read_trace(path)


def check_times(found: RecordedTrace) -> None:
    assert found.times is not None
    np.testing.assert_allclose(found.times, SECONDS - SECONDS[0], atol=2e-6)


# Layouts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "header", "row", "size", "time", "unused"),
    [
        ("Vidur", "arrived_at,num_prefill_tokens,num_decode_tokens", "{},300,{}", "num_decode_tokens", "arrived_at", ("num_prefill_tokens",)),
        ("ShareGPT", "num_prefill_tokens,num_decode_tokens", "300,{1}", "num_decode_tokens", None, ("num_prefill_tokens",)),
        ("BurstGPT", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type", "{},GPT-4,300,{},9,API log",
         "Response tokens", "Timestamp", ("Model", "Request tokens", "Total tokens", "Log Type")),
        ("Azure", "TIMESTAMP,ContextTokens,GeneratedTokens", "{},300,{}", "GeneratedTokens", "TIMESTAMP", ("ContextTokens",)),
    ],
)  # fmt: skip
def test_layouts_with_seconds(
    tmp_path: Path, layout: str, header: str, row: str, size: str, time: str | None, unused: tuple[str, ...]
) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("\n".join([header, *(row.format(value, 7) for value in SECONDS)]) + "\n")
    found = read_trace(path)
    assert (found.layout, found.size_column, found.time_column, found.unused) == (layout, size, time, unused)
    assert found.size_unit.in_words == f"tokens (the {layout} layout)"
    if time is not None:
        assert found.time_unit is not None and found.time_unit.in_words == f"seconds (the {layout} layout)"
        check_times(found)


def test_columns_that_tell_who_published_them_tell_the_unit(tmp_path: Path) -> None:
    """Qwen-Bailian's times are seconds, Mooncake's milliseconds, in columns of the same names."""
    found = objects(tmp_path, list(SECONDS), chat_id=7, turn=1)
    assert found.layout == "Qwen-Bailian" and found.time_unit is not None and found.time_unit.name == "s"
    check_times(found)
    found = objects(tmp_path, [round(1000 * time) for time in SECONDS])
    assert found.layout == "Mooncake" and found.time_unit is not None and found.time_unit.name == "ms"
    check_times(found)


def test_fractions_that_are_too_dense_for_milliseconds_are_seconds(tmp_path: Path) -> None:
    found = objects(tmp_path, list(SECONDS))
    assert found.time_unit is not None and found.time_unit.name == "s" and "fractions" in found.time_unit.basis
    check_times(found)


@pytest.mark.parametrize(
    ("times", "why"),
    [
        (list(1000 * SECONDS + 0.25), "the times have fractions, which those of the Mooncake layout have not"),
        ([place // 6 for place in range(40)], "the times would mean 6500 requests per second in milliseconds"),
    ],
)
def test_times_that_may_be_either_are_asked_for(tmp_path: Path, times: list[object], why: str) -> None:
    with pytest.raises(ParameterError, match=f"time_unit = None .* given, as {why}"):
        objects(tmp_path, times)
    path = tmp_path / "trace.jsonl"
    assert read_trace(path, time_unit="s").time_unit.basis == "given"  # type: ignore[union-attr]


# Times ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("arrival_ms", "ms"),
        ("arrivalMs", "ms"),
        ("time (us)", "us"),
        ("Zeit [ms]", "ms"),
        ("t-ns", "ns"),
        ("sent_seconds", "s"),
        ("start.sec", "s"),
    ],
)
def test_a_column_s_name_may_tell_the_unit(tmp_path: Path, column: str, unit: str) -> None:
    scale = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
    found = trace(tmp_path, [f"{scale * time:.3f}" for time in SECONDS], column)
    assert found.time_unit is not None
    assert (found.time_unit.name, found.time_unit.basis, found.time_unit.warning) == (unit, f"the name {column}", None)
    check_times(found)


@pytest.mark.parametrize("column", ["TIMES", "arrivals", "ms_since", "items", "columns"])
def test_a_name_that_only_ends_in_the_letters_tells_nothing(tmp_path: Path, column: str) -> None:
    """Without a hint it is seconds, and that this is assumed is a warning."""
    found = trace(tmp_path, list(SECONDS), column)
    assert found.time_unit is not None and (found.time_unit.name, found.time_unit.basis) == ("s", "assumed")
    assert "ASSUMED" in (found.time_unit.warning or "")
    check_times(found)


START = 1_700_158_501  # 2023-11-16 18:15:01 UTC


@pytest.mark.parametrize(("unit", "scale"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_numbers_since_1970(tmp_path: Path, unit: str, scale: int) -> None:
    milliseconds = [1000 * START + round(1000 * time) for time in SECONDS]
    numbers = [value * scale // 1000 if unit != "s" else value / 1000 for value in milliseconds]
    found = trace(tmp_path, numbers)
    assert found.time_unit is not None and found.time_unit.name == unit
    assert "2023-11-16 18:15:01 UTC" in found.time_unit.basis
    assert (found.time_unit.warning is None) == (unit == "s")  # seconds are what would be assumed
    check_times(found)
    other = "ns" if unit == "s" else "s"
    contradicted = trace(tmp_path, numbers, time_unit=other).time_unit
    assert contradicted is not None and contradicted.name == other and "since 1970" in (contradicted.warning or "")
    assert trace(tmp_path, numbers, time_unit=unit).time_unit.warning is None  # type: ignore[union-attr]


def test_numbers_since_1970_overrule_a_layout_and_a_name_with_a_warning(tmp_path: Path) -> None:
    for found in (
        objects(tmp_path, [START + place for place in range(40)]),
        trace(tmp_path, [START + place for place in range(40)], "arrived_ms"),
    ):
        assert found.time_unit is not None and found.time_unit.name == "s"
        assert "means milliseconds" in (found.time_unit.warning or "")
        assert found.times is not None and found.times.tolist() == list(range(40))


@pytest.mark.parametrize(
    ("dates", "times"),
    [
        ([20231116181501, 20231116181502.5, 20231116181601, *range(20231116182000, 20231116182010)],
         [0, 1.5, 60, *range(299, 309)]),
        ([202311161815, 202311161816, *range(202311162300, 202311162310)], [0, 60, *range(17100, 17700, 60)]),
        ([20231130, 20231201, *range(20240101, 20240111)], [0, 86400, *range(32 * 86400, 42 * 86400, 86400)]),
    ],
)  # fmt: skip
def test_dates_written_as_numbers(tmp_path: Path, dates: list[float], times: list[float]) -> None:
    found = trace(tmp_path, dates)
    assert found.time_unit is not None and found.time_unit.name == "date"
    assert f"{dates[0]} is 2023-11-" in (found.time_unit.warning or "")
    assert found.times is not None and found.times.tolist() == times and not found.dropped
    assert objects(tmp_path, dates).times.tolist() == times  # type: ignore[arg-type, union-attr]
    given = trace(tmp_path, dates, time_unit="ms").time_unit
    assert given is not None and given.name == "ms" and "dates written as numbers" in (given.warning or "")


def test_numbers_that_are_no_dates(tmp_path: Path) -> None:
    assert trace(tmp_path, list(range(20231116, 20231156))).time_unit.name == "s"  # type: ignore[union-attr]


def test_times_that_can_only_be_another_unit(tmp_path: Path) -> None:
    """Nanoseconds since the machine started, 40 of them an hour apart, are no seconds."""
    numbers: list[object] = [10**14 + 3_600 * 10**9 * place for place in range(40)]
    with pytest.raises(ParameterError, match="time_unit = None .* given, as the times would span 4.45e.06 years"):
        trace(tmp_path, numbers)
    given = trace(tmp_path, numbers, time_unit="s").time_unit
    assert given is not None and "span 4.45e+06 years" in (given.warning or "")
    assert trace(tmp_path, numbers, time_unit="ns").times[1] == 3600  # type: ignore[index]
    given = trace(tmp_path, list(SECONDS), time_unit="ns").time_unit
    rate = f"{39 / np.ptp(SECONDS) * 1e9:.3g} requests arrive per second"
    assert given is not None and rate in (given.warning or "")


# Sizes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
def test_sizes_that_can_be_no_tokens(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("duration\n" + "".join(f"{time}\n" for time in SECONDS))
    found = read_trace(path, "duration")
    assert found.size_unit.basis == "assumed"
    assert found.size_unit.warning is not None and "of 40 sizes are no whole numbers" in found.size_unit.warning
    assert found.size_unit.warning in fit_trace(found, levels=[2], jobs=100).warnings


# Decimal marks -------------------------------------------------------------------------------------------------------


def german(folder: Path, *cells: str, separator: str = ";", **options: object) -> RecordedTrace:
    path = folder / "trace.csv"
    quote = '"' if separator == "," else ""
    rows = [f"{quote}{cell}{quote}{separator}{5 + place}" for place, cell in enumerate(cells)]
    path.write_text("\n".join([f"Zeit{separator}Tokens", *rows]) + "\n")
    return read_trace(path, "Tokens", "Zeit", **options)  # type: ignore[arg-type]


COMMAS = [f"{place},{place}25" for place in range(1, 9)]  # 1,125 may be thousands
AS_NUMBERS = [place + place / 10 + 0.025 for place in range(1, 9)]


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
@pytest.mark.parametrize("mark", ["0,195", "12,5", "-0,5", "1.234,5", ",5"])
def test_a_comma_that_can_separate_no_thousands_is_a_decimal_comma(tmp_path: Path, mark: str, separator: str) -> None:
    cells = [mark] * 10
    found = german(tmp_path, *cells, separator=separator)
    assert (found.decimal.mark, found.decimal.basis) == (",", f"as in {mark}")
    assert ("decimal mark", f"a comma (as in {mark})") in columns_in_words(found)
    assert not found.dropped
    if separator == ";":
        found = german(tmp_path, mark, mark, *COMMAS)
        value = float(mark.replace(".", "").replace(",", "."))
        assert found.times is not None
        times = np.sort([value, value, *AS_NUMBERS])
        np.testing.assert_allclose(found.times, times - times[0], rtol=1e-12)


def test_commas_that_may_be_either_are_asked_for(tmp_path: Path) -> None:
    for separator, cells in ((";", COMMAS * 2), (",", [*COMMAS, "0,195", "0,2"])):
        with pytest.raises(ParameterError, match=r"decimal = None .*\(in 1,125 the comma may separate thousands"):
            german(tmp_path, *cells, separator=separator)
    assert german(tmp_path, *COMMAS * 2, decimal=",").times[-1] == pytest.approx(8.825 - 1.125)  # type: ignore[index]
    assert german(tmp_path, *COMMAS * 2, decimal=".").times[-1] == 8825 - 1125  # type: ignore[index]
    with pytest.raises(ParameterError, match="decimal = ';' .* one of ., ,"):
        german(tmp_path, *COMMAS, decimal=";")


def test_beside_decimal_points_commas_separate_thousands(tmp_path: Path) -> None:
    cells = ["1,234", "1,234.5", "1,300", "1500.5", "2,000", "3,000,000", "7", "8", "9", "10"]
    found = german(tmp_path, *cells)
    assert found.decimal.mark == "." and found.separated == 5
    assert found.times is not None and found.times[-1] == 3e6 - 7


def test_a_group_with_a_zero_in_front_is_no_thousands(tmp_path: Path) -> None:
    """Beside points it is nothing."""
    found = german(tmp_path, *[f"{place}.5" for place in range(20)], "0,195")
    assert [entry.fault for entry in found.dropped] == ["time unreadable"]


# What is said --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
def test_units_are_in_the_text_and_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fit", str(DATA / "mooncake_sample.jsonl"), "--load", "0.5", "--levels", "2", "--jobs", "200"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "timestamp, milliseconds (the Mooncake layout: whole milliseconds)" in text
    assert "output_length, tokens (the Mooncake layout)" in text
    assert "input_length, hash_ids" in text
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)["trace"]
    unit = {"name": "ms", "basis": "the Mooncake layout: whole milliseconds", "warning": None}
    assert answer["time_unit"] == unit
    assert answer["size_unit"] == {"name": "tokens", "basis": "the Mooncake layout", "warning": None}
    assert answer["decimal"] == {"mark": ".", "basis": "no number has a comma"}
    assert answer["unused"] == ["input_length", "hash_ids"]


@pytest.mark.usefixtures("quick")
def test_a_trace_without_times_names_the_columns_that_were_not_used() -> None:
    fit = fit_trace(read_trace(DATA / "sharegpt_sample.csv"), levels=[2], jobs=100)
    assert as_mapping(fit)["trace"]["time_unit"] is None
    words = "unless in a column not used (num_prefill_tokens, num_total_tokens, pd_ratio; --time-column names it)"
    assert any(words in sentence for sentence in fit.warnings)
