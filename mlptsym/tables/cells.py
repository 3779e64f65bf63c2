"""Numbers and dates in the cells of a column, and why there are none."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym.tables.table import Cells

__all__ = ["Values", "date_in", "dates_in_digits", "number_in", "texts", "values_in"]

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

MISSING = ("", "-", "na", "n/a", "nan", "none", "null")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Texts that Arrow reads as Python does; all others go through `number_in` and `date_in`, one by one.
PLAIN = r"^[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,2})?$"
DATE = r"^(?:19[7-9]\d|20\d\d|21\d\d)-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?"
ZONE = r"(?:Z|[+-]\d\d:\d\d)$"

DAY_IN_DIGITS = r"^(\d{4})(\d\d)(\d\d)((?:\d{4}|\d{6})?(?:\.\d*)?)$"

# Three digits behind each separator, and no zero in front: 1,234 or 1 234 or 1'234 or 1_234.
_SEPARATED = {
    decimal: re.compile(
        rf"[+-]?[1-9]\d{{0,2}}([{other}_ '\u00a0\u202f])\d{{3}}(?:\1\d{{3}})*(?:{re.escape(decimal)}\d+)?"
    )
    for decimal, other in ((".", ","), (",", "."))
}


@dataclass(frozen=True, eq=False)
class Values:
    """What the cells of a column hold; in each row at most one of the masks is true.

    Attributes
    ----------
    numbers : array of float
        NaN where a cell holds none.
    dates : array of int
        Microseconds since 1970.
    dated, missing, separated : array of bool
        Whether a cell holds a date, or nothing; whether its number was written with thousands separators.
    """

    numbers: Floats
    dates: NDArray[np.int64]
    dated: Truths
    missing: Truths
    separated: Truths


def number_in(text: str, decimal: str = ".") -> float | None:
    """The number that a text holds; None for anything else.

    Examples
    --------
    >>> number_in("1,234"), number_in(" 7.5 "), number_in("1,23"), number_in("0,195"), number_in("1_0")
    (1234.0, 7.5, None, None, None)
    >>> number_in("0,195", ","), number_in("1.234,5", ","), number_in("1.5", ",")
    (0.195, 1234.5, None)
    """
    stripped = text.strip()
    if _SEPARATED[decimal].fullmatch(stripped):
        stripped = re.sub(rf"[^\d{decimal}+-]", "", stripped)
    elif "_" in stripped or (decimal == "," and "." in stripped):
        return None
    try:
        return float(stripped.replace(",", ".") if decimal == "," else stripped)
    except ValueError:
        return None


def date_in(text: str) -> int | None:
    """Microseconds from 1970 to a date of ISO 8601, in UTC where it names no zone; None for anything else.

    Examples
    --------
    >>> date_in("1970-01-01 00:00:01.5"), date_in("1970-01-01T01:00:00+01:00"), date_in("yesterday")
    (1500000, 0, None)
    """
    try:
        return _microseconds(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None


def _microseconds(date: datetime) -> int:
    return ((date if date.tzinfo else date.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)


def _is_missing(cell: object) -> bool:
    """Whether a cell says that it holds nothing."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def texts(cells: Cells) -> Any:
    """The cells that are texts, as an Arrow array of strings; in a column of texts, all of them."""
    import pyarrow as pa

    if isinstance(cells, list):
        return pa.array([cell for cell in cells if isinstance(cell, str)], pa.string())
    return cells if pa.types.is_string(cells.type) else pa.array([], pa.string())


def values_in(cells: Cells, decimal: str = ".") -> Values:
    """What the cells of a column hold."""
    import pyarrow as pa

    count = len(cells)
    found = Values(np.full(count, np.nan), np.zeros(count, np.int64), *(np.zeros(count, bool) for _ in range(3)))
    if isinstance(cells, list):
        _one_by_one(found, range(count), cells, decimal)
        return found
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_large_string(cells.type) or pa.types.is_string_view(cells.type):
        cells = cells.cast(pa.string())
    if pa.types.is_string(cells.type):
        _texts(found, cells, decimal)
    elif pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
        found.numbers[:] = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        found.missing[:] = np.isnan(found.numbers)
    elif pa.types.is_timestamp(cells.type):
        found.missing[:] = cells.is_null().to_numpy(zero_copy_only=False)
        found.dated[:] = ~found.missing
        counts = cells.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).fill_null(0)
        found.dates[:] = counts.to_numpy(zero_copy_only=False)
    else:
        _one_by_one(found, range(count), _as_list(cells), decimal)
    return found


def dates_in_digits(cells: Cells) -> Values:
    """Dates that are written as numbers of 8, 12 or 14 digits, such as 20231116181501, also with a fraction."""
    import pyarrow as pa
    from pyarrow import compute

    whole = cells if isinstance(cells, list) else cells.to_pylist()
    written = [str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip() for cell in whole]
    array = compute.replace_substring_regex(pa.array(written, pa.string()), DAY_IN_DIGITS, r"\1-\2-\3 \4")
    for pattern, text in (
        (r" (\d\d)(\d\d)(\d\d(?:\.\d+)?)(?:\.0*)?$", r" \1:\2:\3"),
        (r" (\d\d)(\d\d)(?:\.0*)?$", r" \1:\2:00"),
        (r" (?:\.0*)?$", " 00:00:00"),
    ):
        array = compute.replace_substring_regex(array, pattern, text)
    return values_in(array)


def _texts(found: Values, cells: Any, decimal: str) -> None:
    import pyarrow as pa
    from pyarrow import compute

    cells = compute.utf8_trim_whitespace(cells.fill_null(""))
    left = ~_read(
        found.numbers,
        cells,
        PLAIN if decimal == "." else PLAIN.replace(r"\.", ","),
        lambda plain: (plain if decimal == "." else compute.replace_substring(plain, ",", ".")).cast(pa.float64()),
    )
    for pattern, zone in ((DATE + "$", None), (DATE + ZONE, "UTC")):
        if not left.any():
            return
        dated = _read(found.dates, cells, pattern, partial(_microseconds_in, zone=zone), left)
        found.dated[dated] = True
        left &= ~dated
    places = np.flatnonzero(left)
    _one_by_one(found, places, cells.take(pa.array(places)).to_pylist(), decimal)


def _read(
    target: NDArray[Any], cells: Any, pattern: str, read: Callable[[Any], Any], among: Truths | None = None
) -> Truths:
    """Read the texts of a pattern all at once into an array; which these are, none if one of them cannot be read."""
    import pyarrow as pa
    from pyarrow import compute

    fits: Truths = compute.match_substring_regex(cells, pattern).to_numpy(zero_copy_only=False)
    if among is not None:
        fits = fits & among
    try:
        target[fits] = read(cells.filter(pa.array(fits))).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:  # such as the 30th of February
        fits = np.zeros(len(cells), bool)
    return fits


def _microseconds_in(dates: Any, zone: str | None) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    return compute.divide(dates.cast(pa.timestamp("ns", zone)).cast(pa.int64()), 1000)


def _one_by_one(
    found: Values, places: Sequence[int] | NDArray[np.int64], cells: Sequence[object], decimal: str
) -> None:
    for place, cell in zip(places, cells, strict=True):
        if _is_missing(cell):
            found.missing[place] = True
            continue
        number = _number(cell, decimal)
        if number is not None and not math.isnan(number):
            found.numbers[place] = number
            found.separated[place] = isinstance(cell, str) and bool(_SEPARATED[decimal].fullmatch(cell.strip()))
            continue
        date = _date(cell)
        if date is not None:
            found.dates[place], found.dated[place] = date, True


def _number(cell: object, decimal: str) -> float | None:
    if isinstance(cell, str):
        return number_in(cell, decimal)
    if isinstance(cell, (bool, datetime)):
        return None
    try:
        return float(cell)  # type: ignore[arg-type]  # whatever a file holds
    except (TypeError, ValueError, OverflowError):
        return None


def _date(cell: object) -> int | None:
    if isinstance(cell, datetime):
        return _microseconds(cell)
    return date_in(str(cell)) if not isinstance(cell, (bool, float, int, list, dict)) else None


def _as_list(cells: Any) -> list[object]:
    """Values of a column of another kind; a cell that Python cannot hold becomes a text that is no number."""
    try:
        values: list[object] = cells.to_pylist()
    except (ValueError, OverflowError, KeyError):
        values = [_cell(scalar) for scalar in cells]
    return values


def _cell(scalar: Any) -> object:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, KeyError):
        return "unreadable"
