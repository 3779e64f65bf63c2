"""What a figure shows, as data: every point with its panel and curve, written as ``.csv`` in full precision."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from unicodedata import category

from mlptsym import validation
from mlptsym.validation import LARGEST, MOST_POINTS, ParameterError, choice, number, numbers, refuse

__all__ = ["COLUMNS", "KINDS", "FigureData", "FigureRow", "checked_data", "read_figure_data"]

COLUMNS = ("panel", "curve", "kind", "x", "y", "standard_error")
KINDS = ("theory", "simulation", "marker")


@dataclass(frozen=True)
class FigureRow:
    """One point of a figure.

    ``panel`` and ``curve`` say where it is drawn; a ``kind`` is "theory", "simulation" or "marker".  ``x`` and ``y``
    are in the units of the axes, infinite where the quantity is, never NaN; ``standard_error`` is that of y over the
    simulation's replications, or None.
    """

    panel: str
    curve: str
    kind: str
    x: float
    y: float
    standard_error: float | None = None

    def __post_init__(self) -> None:
        for name in ("panel", "curve"):
            _text(name, getattr(self, name))
        choice("kind", self.kind, KINDS)
        object.__setattr__(self, "x", number("x", self.x, infinite=True))
        object.__setattr__(self, "y", number("y", self.y, infinite=True))
        if self.standard_error is not None:
            error = number("standard_error", self.standard_error, at_least=0, infinite=True)
            object.__setattr__(self, "standard_error", error)


@dataclass(frozen=True)
class FigureData:
    """Every point of a figure, in the order of drawing.

    Examples
    --------
    >>> data = FigureData().with_curve("", "FCFS", "theory", [1, 2], [10.0, float("inf")])
    >>> data = data.with_curve("", "FCFS", "simulation", 1, 10.25, standard_error=0.5)
    >>> print(data.to_csv(), end="")
    panel,curve,kind,x,y,standard_error
    ,FCFS,theory,1.0,10.0,
    ,FCFS,theory,2.0,inf,
    ,FCFS,simulation,1.0,10.25,0.5
    """

    rows: tuple[FigureRow, ...] = ()

    def __post_init__(self) -> None:
        for row in validation.instance("rows", self.rows, tuple, "a tuple of FigureRow"):
            validation.instance("rows", row, FigureRow, "a tuple of FigureRow")

    def with_curve(
        self, panel: str, curve: str, kind: str, x: object, y: object, *, standard_error: object = None
    ) -> FigureData:
        """The same data with the points of one more curve, of one of `KINDS`; a single number stands for all points.

        Raises
        ------
        ParameterError
            If a value is NaN or no number, the lengths differ, or there are more than a million points.
        """
        given = {"x": x, "y": y} | ({} if standard_error is None else {"standard_error": standard_error})
        columns = {name: _column(name, values) for name, values in given.items()}
        length = max((len(values) for values in columns.values() if isinstance(values, tuple)), default=1)
        for name, values in columns.items():
            if isinstance(values, tuple) and len(values) != length:
                refuse(name, f"{len(values)} values", f"as long as the other columns ({length})")
        full = [values if isinstance(values, tuple) else (values,) * length for values in columns.values()]
        return FigureData((*self.rows, *(FigureRow(panel, curve, kind, *point) for point in zip(*full, strict=True))))

    def select(
        self, panel: str | None = None, curve: str | None = None, kind: str | None = None
    ) -> tuple[FigureRow, ...]:
        """The rows of one panel, curve or kind.

        Examples
        --------
        >>> [row.y for row in FigureData().with_curve("a", "FCFS", "theory", [1, 2], [3, 4]).select(panel="a")]
        [3.0, 4.0]
        """
        rows = self.rows
        for name, value in (("panel", panel), ("curve", curve), ("kind", kind)):
            if value is not None:
                wanted, of = _text(name, value), attrgetter(name)
                rows = tuple(row for row in rows if of(row) == wanted)
        return rows

    def to_csv(self) -> str:
        """The rows as text of comma-separated values, every number in full precision."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *map(attrgetter(*COLUMNS), self.rows)])
        return text.getvalue()


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or any(category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in value):
        refuse(name, value, "a line of text")
    return value


def _column(name: str, values: object) -> float | tuple[float, ...]:
    if getattr(values, "shape", None) == () or isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return number(name, values, infinite=True)
    items = values.tolist() if hasattr(values, "tolist") else values
    return numbers(name, items, infinite=True, minimum_length=0, maximum_length=10 * MOST_POINTS)


def checked_data(data: object, source: str, is_whole: Callable[[FigureData], bool]) -> FigureData:
    """Data for what is made of them, if they are those that a function of name ``source`` returns.

    Raises
    ------
    ParameterError
        If they are no figure data, a number is beyond 1e30 (y may be ``inf``), or they are not whole.
    """
    found = validation.instance("data", data, FigureData, f"what {source} returns")
    numbers = [(row.x, 0.0 if row.y == math.inf else row.y, row.standard_error or 0.0) for row in found.rows]
    if any(abs(value) > LARGEST for row in numbers for value in row) or not is_whole(found):
        refuse("data", data, f"what {source} returns")
    return found


def read_figure_data(path: str | os.PathLike[str]) -> FigureData:
    """The data of a ``.csv`` file that `save_figure` wrote, equal to those that were saved bit by bit.

    Raises
    ------
    ParameterError
        If the file cannot be read or is no figure data; the message names the line.
    """
    place = str(path)
    try:
        text = validation.path("path", path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ParameterError("path", place, "a readable file of figure data") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[FigureRow] = []
    try:
        if tuple(next(reader, ())) != COLUMNS:
            refuse(place, text.partition("\n")[0], "figure data with the columns " + ",".join(COLUMNS))
        for fields in reader:
            if len(fields) != len(COLUMNS):
                refuse("the row", ",".join(fields), f"{len(COLUMNS)} fields")
            panel, curve, kind, x, y, deviation = fields
            if "" in {x, y}:
                refuse("the row", ",".join(fields), "complete, with an x and a y")
            spread = None if deviation == "" else _written("standard_error", deviation)
            rows.append(FigureRow(panel, curve, kind, _written("x", x), _written("y", y), spread))
    except csv.Error as error:
        raise ParameterError(f"{place}, line {reader.line_num}", str(error), "comma-separated values") from error
    except ParameterError as error:
        if error.name == place:
            raise
        raise ParameterError(f"{place}, line {reader.line_num}: {error.name}", error.value, error.allowed) from error
    return FigureData(tuple(rows))


def _written(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        refuse(name, text, "a number")
    return value
