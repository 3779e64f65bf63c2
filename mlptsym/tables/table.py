"""What every kind of table comes to: names of columns, and the cells of some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cells", "Rows", "Table"]

Cells = Any
"""A column: a ``pyarrow`` array, or a list of whatever JSON holds."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Some columns of a table.

    Attributes
    ----------
    cells : tuple of Cells
        One for each column, without the rows that could not be taken apart.
    places : array of int
        The place of each of these rows among all.
    faults : sequence of (int, str)
        Places of the rows that could not be taken apart, and why.
    lines_of : callable
        The lines in the file in which the rows at some places begin; places in increasing order.
    separator : str or None
        What separates the cells of a row, in a text.
    """

    cells: tuple[Cells, ...]
    places: NDArray[np.int64]
    faults: Sequence[tuple[int, str]]
    lines_of: Callable[[Sequence[int]], list[int]]
    separator: str | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A table whose columns are known, and are yet to be read.

    Attributes
    ----------
    names : tuple of str
        Of the columns, in the order of the file; one may be there twice.
    line : int
        Where they stand.
    read : callable
        Gives the `Rows` of some columns, each of a name that is there once.
    """

    names: tuple[str, ...]
    line: int
    read: Callable[[Sequence[str]], Rows]
