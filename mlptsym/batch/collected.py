"""The data of all figures of an output folder in one tidy table, as csv and as Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlptsym.batch.names import path_name
from mlptsym.studies.data import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

    from mlptsym.batch.gallery import Entry

__all__ = ["tables"]

_FIXED = ("scenario", "figure", *COLUMNS)
_NUMBERS = COLUMNS[3:]


def tables(out: Path, entries: Sequence[Entry]) -> dict[str, bytes]:
    """``results.csv`` and ``results.parquet``: one row a point of a curve, with every parameter of its run."""
    types = _column_types(entries)
    return {"results.csv": _as_csv(out, entries, types), "results.parquet": _as_parquet(out, entries, types)}


def _column_types(entries: Iterable[Entry]) -> dict[str, str]:
    """Parameters in order with the type that holds the values of every run."""
    types: dict[str, str] = {}
    for entry in entries:
        for name, parameter in entry.parameters.items():
            both = {types.get(name, parameter.type), parameter.type}
            common = {"int", "float"}, {"list[int]", "list[float]"}
            wider = next((min(pair - {"int", "list[int]"}) for pair in common if both == pair), "str")
            types[name] = both.pop() if len(both) == 1 else wider
    return types


def _heading(name: str) -> str:
    return f"parameter {name}" if name in _FIXED else name


def _points(out: Path, entry: Entry) -> Iterator[list[str]]:
    """The rows of a figure's data, as texts."""
    path = out / path_name(entry.scenario) / f"{entry.figure}.csv"
    if path.name in entry.outputs:
        with path.open(encoding="utf-8", newline="") as file:
            yield from list(csv.reader(file))[1:]


def _as_csv(out: Path, entries: Sequence[Entry], types: Mapping[str, str]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_FIXED, *map(_heading, types)])
    for entry in entries:
        values = [_spelled(_converted(entry, name, kind)) for name, kind in types.items()]
        writer.writerows([entry.scenario, entry.figure, *point, *values] for point in _points(out, entry))
    return text.getvalue().encode()


def _converted(entry: Entry, name: str, kind: str) -> Any:
    """The value of a parameter in its column; None where the notebook has no such parameter."""
    if name not in entry.parameters:
        return None
    value = entry.parameters[name].value
    if kind == "str" and not isinstance(value, str):
        return json.dumps(value)
    if kind == "float":
        return float(value)
    return [float(item) for item in value] if kind == "list[float]" else value


def _spelled(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else repr(value)


def _as_parquet(out: Path, entries: Sequence[Entry], types: Mapping[str, str]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    plain: dict[str, pa.DataType] = {"float": pa.float64(), "int": pa.int64(), "bool": pa.bool_(), "str": pa.string()}
    arrow = {name: plain[kind] for name, kind in types.items() if kind in plain}
    arrow |= {name: pa.list_(plain[kind[5:-1]]) for name, kind in types.items() if kind not in plain}
    schema = pa.schema(
        [(name, pa.float64() if name in _NUMBERS else pa.string()) for name in _FIXED]
        + [(_heading(name), arrow[name]) for name in types]
    )
    content = io.BytesIO()
    with parquet.ParquetWriter(content, schema) as writer:
        for entry in entries:
            points = list(_points(out, entry))
            if not points:
                continue
            columns: list[Sequence[Any]] = [[entry.scenario] * len(points), [entry.figure] * len(points)]
            for name, texts in zip(COLUMNS, zip(*points, strict=True), strict=True):
                columns.append([float(text) if text else None for text in texts] if name in _NUMBERS else texts)
            columns += [[_converted(entry, name, kind)] * len(points) for name, kind in types.items()]
            arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return content.getvalue()
