"""What commands print: one JSON object, or lines of words and numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import typer

__all__ = ["checked", "format_number", "print_json", "print_rows", "print_table"]


def print_json(values: Mapping[str, Any]) -> None:
    """One JSON object on one line of standard output, floats in full precision, ``null`` for what is infinite."""
    typer.echo(json.dumps(_plain(values)))


def checked(values: dict[str, Any]) -> dict[str, Any]:
    """The values; an `ArithmeticError` if a NaN is among them."""
    _plain(values)
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        raise ArithmeticError("the answer is not a number")
    return None if isinstance(value, float) and math.isinf(value) else value


def format_number(value: float) -> str:
    """A number for people: six digits.

    Examples
    --------
    >>> format_number(1838.874217), format_number(0.1), format_number(float("inf"))
    ('1838.87', '0.1', 'inf')
    """
    return f"{value:.6g}"


def print_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Names and values, the values in one column."""
    pairs = list(rows)
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        typer.echo(f"{name:<{width}}  {value}")


def print_table(columns: Mapping[str, Any]) -> None:
    """Numbers, and texts as they stand, in columns below their names."""
    cells = [
        [name, *(value if isinstance(value, str) else format_number(value) for value in column)]
        for name, column in columns.items()
    ]
    widths = [max(map(len, column)) for column in cells]
    for row in zip(*cells, strict=True):
        typer.echo("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
