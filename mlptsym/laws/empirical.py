"""The law of a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from mlptsym.arrays import floats, running_sum
from mlptsym.laws.base import HIGHEST_ORDER, Floats, SizeLaw
from mlptsym.laws.deterministic import Deterministic
from mlptsym.tables.cells import values_in
from mlptsym.tables.files import read_content
from mlptsym.tables.separated import csv_table
from mlptsym.validation import LARGEST, SMALLEST, ParameterError, refuse

if TYPE_CHECKING:
    import sympy as sp

    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["Empirical"]

LONGEST_SHOWN = 200  # characters of a file that an error shows


@dataclass(frozen=True, eq=False)
class Empirical(SizeLaw):
    """The law of a sample: each value with the same probability; moments are exact sums over the sample.

    Parameters
    ----------
    samples : array_like
        At least one size, each finite and > 0.

    Examples
    --------
    >>> law = Empirical([1.0, 2.0, 2.0, 7.0])
    >>> law.mean, law.tail([0, 2, 7]).tolist(), law.atoms.tolist(), law.masses.tolist()
    (3.0, [1.0, 0.25, 0.0], [1.0, 2.0, 7.0], [0.25, 0.5, 0.25])
    """

    samples: Floats
    examples = (([0.3, 1.7, 2.9, 2.9, 11.3],),)
    written = "FILE.csv:COLUMN"

    def __post_init__(self) -> None:
        allowed = f"a one-dimensional sequence of at least one number, each >= {SMALLEST:g} and <= {LARGEST:g}"
        values = np.sort(floats("samples", self.samples, above=0, finite=True), axis=None)
        if np.ndim(self.samples) != 1 or values.size == 0:
            refuse("samples", self.samples, allowed)
        if not SMALLEST <= values[0] <= values[-1] <= LARGEST:
            refuse("samples", values[0] if values[0] < SMALLEST else values[-1], allowed)
        values.flags.writeable = False
        suffix = np.zeros((values.size + 1, HIGHEST_ORDER + 1))
        suffix[:-1] = running_sum(values[::-1, None] ** np.arange(HIGHEST_ORDER + 1))[::-1] / values.size
        object.__setattr__(self, "samples", values)
        object.__setattr__(self, "_suffix", suffix)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empirical) and np.array_equal(self.samples, other.samples)

    def __hash__(self) -> int:
        return hash(self.samples.tobytes())

    def __repr__(self) -> str:
        return f"Empirical({self.samples.size} samples, mean {self.mean:g})"

    @classmethod
    def formulas(cls, count: int = 3, *_: int) -> LawFormulas:
        """The law in SymPy's terms: a mixture of ``count`` deterministic laws."""
        import sympy as sp

        from mlptsym.symbolic.model.size_law import LawFormulas, point

        values = sp.symbols(f"sample_0:{count}", positive=True)
        single = Deterministic.formulas()

        def mixture(of_sample: sp.Expr) -> sp.Expr:
            return sp.Add(*(of_sample.subs(single.parameters[0], value) for value in values)) / count

        return LawFormulas(
            cls.__name__,
            values,
            mixture(single.density),
            lambda order: mixture(single.closed_moment(order)),
            lambda order: mixture(single.moment(order)),
            textbook=sp.Add(*(sp.DiracDelta(point - value) / count for value in values)),
            latex=r"P(L > x) = \frac1n\sum_i\mathbf 1\{v_i > x\}",
        )

    @classmethod
    def from_text(cls, option: str, text: str) -> Self:
        """The sample in a column of a file of comma-separated values."""
        path, column = _file_and_column(option, text)
        try:
            return cls(_sizes(path, column.strip()))
        except ParameterError as error:
            raise ParameterError(option, text, f"{cls.syntax()} with {error.allowed}") from error

    @property
    def upper_end(self) -> float:
        """The largest sample."""
        return float(self.samples[-1])

    @property
    def atoms(self) -> Floats:
        """The different samples."""
        distinct: Floats = self.samples[np.append(True, np.diff(self.samples) > 0)]
        return distinct

    @property
    def masses(self) -> Floats:
        """How often each different sample occurs, over their number."""
        return np.unique(self.samples, return_counts=True)[1] / self.samples.size

    def density(self, x: ArrayLike) -> Floats:
        """``inf`` at each sample, 0 elsewhere."""
        points = floats("x", x)
        position = np.minimum(np.searchsorted(self.samples, points), self.samples.size - 1)
        return np.where(self.samples[position] == points, math.inf, 0.0)

    def partial_moments(self, x: Floats, *, antiderivative: bool = False) -> tuple[Floats, ...]:
        """Sums over the samples above ``x``, from suffix sums of the sorted sample."""
        del antiderivative  # every moment of a sample is finite
        above = np.searchsorted(self.samples, x, side="right")
        suffix: Floats = self._suffix  # type: ignore[attr-defined]
        return tuple(np.asarray(suffix[above, order]) for order in range(HIGHEST_ORDER + 1))

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return generator.choice(self.samples, count)


def _file_and_column(option: str, text: str) -> tuple[Path, str]:
    """``FILE.csv:COLUMN`` taken apart; both may contain colons, and the longest file name that exists is meant."""
    pieces = text.partition(":")[2].split(":")
    splits = [(":".join(pieces[:cut]), ":".join(pieces[cut:])) for cut in range(len(pieces) - 1, 0, -1)]
    found = next(((Path(name), column) for name, column in splits if column and _is_file(name)), None)
    if found is None:
        refuse(option, text, Empirical.syntax() + (" with a file that exists" if splits else ""))
    return found


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # a name too long, a null character
        return False


def _sizes(path: Path, column: str) -> Floats:
    """The numbers in a column of a file of comma-separated values with a header; blank lines do not count."""
    table = csv_table(read_content(path, "csv"), b",")
    if table.names.count(column) != 1:
        known = ", ".join(table.names)[:LONGEST_SHOWN]
        refuse("column", column, f"one column of that name in the file ({known})")
    rows = table.read([column])
    for place, _ in rows.faults:
        refuse("row", place, f"as many cells in each row as in its header, unlike line {rows.lines_of([place])[0]}")
    values = values_in(rows.cells[0])
    if not values.numbers.size:
        refuse("column", column, "at least one line of values below its header")
    fits = (values.numbers >= SMALLEST) & (values.numbers <= LARGEST) & ~values.separated
    if not fits.all():
        place = int(fits.argmin())
        cell = str(rows.cells[0][place].as_py())[:LONGEST_SHOWN]
        line = rows.lines_of([int(rows.places[place])])[0]
        allowed = f"a column in which each cell is a number >= {SMALLEST:g} and <= {LARGEST:g}"
        refuse("column", column, f"{allowed}, not {cell!r} as in line {line}")
    return values.numbers
