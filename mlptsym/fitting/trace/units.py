"""The units of arrival times and sizes, how each was decided, and the decimal mark of numbers.

A unit that was given is used, and so is one that the numbers or further columns leave no doubt of; nothing is decided
in silence, and where two readings are as good as each other the option to give is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym.fitting.trace.layouts import Columns
from mlptsym.tables.cells import texts
from mlptsym.tables.table import Cells
from mlptsym.validation import ParameterError, refuse

__all__ = ["DATE", "TIME_UNITS", "DecimalMark", "Unit", "decimal_mark", "size_unit", "time_unit"]

Floats = NDArray[np.float64]

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
IN_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
DATE = "date"

# Numbers of seconds from 1970 to 2000 and to 2100: thousands of them, or thousandths, lie in no other's range.
SINCE_1970 = (946_684_800.0, 4_102_444_800.0)
LONGEST_SPAN = 100 * 365.25 * 86_400  # seconds; no trace is a century long
HIGHEST_RATE = 1000.0  # requests per second of one server
MOST_RATE = 1e6  # requests per second of anything

# A unit at the end of a column's name: arrival_ms, "time (us)", startedMs.
_NAMED = re.compile(
    r"(?:[\s_.\-(\[/]|(?-i:(?<=[a-z])(?=[A-Z])))(?:(?P<s>s|secs?|seconds?)|(?P<ms>ms|msecs?|millis|milliseconds?)"
    r"|(?P<us>[uµμ]s|usecs?|micros|microseconds?)|(?P<ns>ns|nsecs?|nanos|nanoseconds?))[)\]]?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Unit:
    """A unit and how it was decided.

    Attributes
    ----------
    name : str
        A key of `TIME_UNITS`, ``date`` or ``tokens``.
    basis : str
        Why this one.
    warning : str or None
        What the reader must know of it, in a sentence.
    """

    name: str
    basis: str
    warning: str | None = None

    @property
    def in_words(self) -> str:
        """Unit and basis.

        Examples
        --------
        >>> Unit("ms", "given").in_words
        'milliseconds (given)'
        """
        return f"{IN_WORDS.get(self.name, 'dates and times' if self.name == DATE else self.name)} ({self.basis})"


# Times ---------------------------------------------------------------------------------------------------------------


def time_unit(columns: Columns, times: Floats, given: str | None) -> Unit:
    """The unit of times that are numbers.

    Parameters
    ----------
    columns : Columns
    times : array of float
        Finite, as they are in the file.
    given : str or None
        By the user.

    Raises
    ------
    ParameterError
        If it was not given, and either nothing or too much tells it.
    """
    dates = _as_dates(times)
    since = next((unit for unit in TIME_UNITS if _since_1970(times, unit)), None)
    if given is not None:
        return Unit(given, "given", _objection(times, given, dates, since))
    if dates is not None:
        return Unit(
            DATE, f"numbers that are dates: {dates}", f"The times are read as dates written as numbers: {dates}."
        )
    named, basis = _told(columns, times)
    if since is not None:
        why = f"numbers since 1970: the first is {_first(times, since)}"
        contradiction = named is not None and named != since
        if since == "s" and not contradiction:
            return Unit(since, why)
        other = f", though {basis} means {IN_WORDS[named]}" if contradiction and named is not None else ""
        warning = (
            f"The times are read as {IN_WORDS[since]} since 1970, the first of them {_first(times, since)}{other}."
        )
        return Unit(since, why, warning)
    unit = named or "s"
    span = float(np.ptp(times)) * TIME_UNITS[unit] if times.size else 0.0
    if span > LONGEST_SPAN:
        years = span / LONGEST_SPAN * 100
        refuse("time_unit", None, f"given, as the times would span {years:.3g} years in {IN_WORDS[unit]}")
    if named is not None:
        return Unit(named, basis)
    return Unit(
        unit,
        "assumed",
        f"The unit of the arrival times is ASSUMED: nothing tells it, so the numbers in {columns.time} were taken for "
        f"{IN_WORDS[unit]} (--time-unit gives another).",
    )


def _told(columns: Columns, times: Floats) -> tuple[str | None, str]:
    """What layout or name of the column say, and which of the two."""
    layout, column = columns.layout, columns.time or ""
    if layout is not None and column == layout.time:
        unit, basis = layout.time_unit, f"the {layout.name} layout"
        if not layout.whole:
            return unit, basis
        return _of_whole(times, unit, basis)
    found = _NAMED.search(column)
    if found is None or found.lastgroup is None:
        return None, ""
    return found.lastgroup, f"the name {column}"


def _of_whole(times: Floats, unit: str, basis: str) -> tuple[str, str]:
    """The unit of a layout whose times are whole numbers, if they are, and not too dense; if neither, seconds."""
    fractions = bool((times % 1 != 0).any())
    span = float(np.ptp(times)) * TIME_UNITS[unit] if times.size else 0.0
    dense = times.size - 1 > HIGHEST_RATE * span > 0
    if not fractions and not dense:
        return unit, f"{basis}: whole {IN_WORDS[unit]}"
    rate = f"{(times.size - 1) / span:.4g} requests per second" if span > 0 else "all requests at once"
    if fractions and dense:  # a thousandth of the rate is what such a trace has
        return "s", f"times have fractions, and {rate} in {IN_WORDS[unit]}, which {basis} means"
    why = f"have fractions, which those of {basis} have not" if fractions else f"would mean {rate} in {IN_WORDS[unit]}"
    raise ParameterError("time_unit", None, f"given, as the times {why}")


def _since_1970(times: Floats, unit: str) -> bool:
    least, most = (limit / TIME_UNITS[unit] for limit in SINCE_1970)
    return times.size > 0 and bool(times.min() >= least and times.max() <= most)


def _first(times: Floats, unit: str) -> str:
    return f"{datetime.fromtimestamp(float(times.min()) * TIME_UNITS[unit], UTC):%Y-%m-%d %H:%M:%S} UTC"


def _as_dates(times: Floats) -> str | None:
    """How the first would read if all were dates written as numbers, of 8, 12 or 14 digits: 20231116181501."""
    if not times.size:
        return None
    whole = np.floor(times)
    for digits in (8, 12, 14) if (whole == times).all() else (14,):
        if not (whole.min() >= 10.0 ** (digits - 1) and whole.max() < 10.0**digits):
            continue
        parts = [whole // 10 ** (digits - place) % 10**width for place, width in ((4, 4), (6, 2), (8, 2))]
        parts += [whole // 10 ** (digits - place) % 100 for place in range(10, digits + 1, 2)]
        limits = ((1900, 2100), (1, 12), (1, 31), (0, 23), (0, 59), (0, 59))
        if all(((low <= part) & (part <= high)).all() for part, (low, high) in zip(parts, limits, strict=False)):
            year, month, day, *clock = (int(part[0]) for part in parts)
            date = f"{year}-{month:02}-{day:02}" + (f" {':'.join(f'{part:02}' for part in clock)}" if clock else "")
            return f"{whole[0]:.0f} is {date}"
    return None


def _objection(times: Floats, unit: str, dates: str | None, since: str | None) -> str | None:
    """What the numbers say against a unit that was given."""
    words = IN_WORDS[unit]
    if dates is not None:
        return f"The times were said to be {words}, but look like dates written as numbers: {dates}."
    if since is not None and since != unit:
        return (
            f"The times were said to be {words}, but look like {IN_WORDS[since]} since 1970, the first of them "
            f"{_first(times, since)}."
        )
    span = float(np.ptp(times)) * TIME_UNITS[unit] if times.size else 0.0
    if span > LONGEST_SPAN:
        return f"The times were said to be {words}, in which they span {span / LONGEST_SPAN * 100:.3g} years."
    if span > 0 and (times.size - 1) / span > MOST_RATE:
        return f"The times were said to be {words}, in which {(times.size - 1) / span:.3g} requests arrive per second."
    return None


# Sizes ---------------------------------------------------------------------------------------------------------------


def size_unit(columns: Columns, sizes: Floats) -> Unit:
    """Tokens, and why; with a warning where they cannot be."""
    if columns.layout is not None and columns.size in columns.layout.columns:
        basis = f"the {columns.layout.name} layout"
    elif "token" in columns.size.lower():
        basis = f"the name {columns.size}"
    else:
        basis = "assumed"
    parts = int((sizes % 1 != 0).sum())
    if not parts:
        return Unit("tokens", basis)
    return Unit(
        "tokens",
        basis,
        f"{parts:,} of {sizes.size:,} sizes are no whole numbers, as numbers of tokens would be: what is said of "
        f"tokens holds for the unit of {columns.size}.",
    )


# Decimal marks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DecimalMark:
    """What stands between units and tenths, and how that was decided."""

    mark: str
    basis: str


# Numbers with a decimal comma, those of them whose comma may separate thousands, and the same with points.
_COMMA = r"^[+-]?\d*,\d+(?:[eE][+-]?\d+)?$|^[+-]?[1-9]\d{0,2}(?:[. ']\d{3})+,\d+$"
_COMMA_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_POINT = r"^[+-]?\d*\.\d+(?:[eE][+-]?\d+)?$|^[+-]?[1-9]\d{0,2}(?:,\d{3})+\.\d+$|^[+-]?[1-9]\d{0,2}(?:,\d{3}){2,}$"
_POINT_THOUSANDS = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"


def decimal_mark(columns: Sequence[Cells], separator: str | None, given: str | None) -> DecimalMark:
    """Whether a comma in a number is a decimal comma, or separates thousands.

    ``0,195`` and ``12,5`` can only be the first, ``1,234.5`` only the second.  ``1,234`` may be either; alone it is
    thousands, as it always is beside points, but not in a file whose cells semicolons separate.

    Raises
    ------
    ParameterError
        If it may be either, and was not given.
    """
    from pyarrow import compute

    if given is not None:
        return DecimalMark(given, "given")
    cells = [compute.utf8_trim_whitespace(texts(column).fill_null("")) for column in columns]
    if not any(compute.any(compute.match_substring(column, ",")).as_py() for column in cells):
        return DecimalMark(".", "no number has a comma")
    commas, a_comma = _count(cells, _COMMA, _COMMA_THOUSANDS)
    points, a_point = _count(cells, _POINT, _POINT_THOUSANDS)
    either, an_either = _count(cells, _COMMA_THOUSANDS)
    if commas > points and (separator == ";" or not either):
        return DecimalMark(",", f"as in {a_comma}")
    if either and commas + (separator == ";") > points:
        hint = f"in {a_comma} it does not" if commas else "semicolons separate the cells"
        refuse("decimal", None, f"given, as , or . (in {an_either} the comma may separate thousands, but {hint})")
    basis = f"as in {a_point}" if points else "commas separate thousands" if either else "no number has a comma"
    return DecimalMark(".", basis)


def _count(cells: Sequence[Any], pattern: str, without: str = r"\A\z.") -> tuple[int, str | None]:
    """How many texts fit one pattern and not the other, and the first that does."""
    from pyarrow import compute

    count, first = 0, None
    for column in cells:
        fits = compute.and_not(
            compute.match_substring_regex(column, pattern), compute.match_substring_regex(column, without)
        )
        found = column.filter(fits)
        count += len(found)
        first = found[0].as_py() if first is None and len(found) else first
    return count, first
