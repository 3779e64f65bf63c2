"""The columns of published traces, and which columns of a trace are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlptsym.tables.table import Table
from mlptsym.validation import refuse

__all__ = ["LAYOUTS", "Columns", "Layout", "candidates", "chosen_columns"]

SHOWN = 60  # characters of a file that an error shows


@dataclass(frozen=True)
class Layout:
    """Columns by which a known kind of trace is recognised, and what they mean.

    Attributes
    ----------
    name : str
    columns : frozenset of str
        All must be there.
    size, time : str, or None
        The column of the output lengths, and of the arrival times if there is one.
    time_unit : str
        Of times that are numbers: a key of `TIME_UNITS`.
    whole : bool
        Whether times are whole numbers of that unit.
    """

    name: str
    columns: frozenset[str]
    size: str
    time: str | None
    time_unit: str = "s"
    whole: bool = False


LAYOUTS = (
    Layout("Azure", frozenset({"TIMESTAMP", "ContextTokens", "GeneratedTokens"}), "GeneratedTokens", "TIMESTAMP"),
    Layout("BurstGPT", frozenset({"Timestamp", "Request tokens", "Response tokens"}), "Response tokens", "Timestamp"),
    Layout(
        "Mooncake", frozenset({"timestamp", "input_length", "output_length"}), "output_length", "timestamp", "ms", True
    ),
    Layout(
        "Qwen-Bailian",
        frozenset({"timestamp", "input_length", "output_length", "chat_id", "turn"}),
        "output_length",
        "timestamp",
    ),
    Layout("ShareGPT", frozenset({"num_prefill_tokens", "num_decode_tokens"}), "num_decode_tokens", None),
    Layout(
        "Vidur", frozenset({"arrived_at", "num_prefill_tokens", "num_decode_tokens"}), "num_decode_tokens", "arrived_at"
    ),
)
"""A trace that fits several is of the one with the most columns."""


@dataclass(frozen=True)
class Columns:
    """Which columns of a trace are read, and which are there."""

    layout: Layout | None
    size: str
    time: str | None
    names: tuple[str, ...]

    @property
    def read(self) -> tuple[str, ...]:
        """The size's, and the time's if there is one."""
        return (self.size,) if self.time is None else (self.size, self.time)

    @property
    def unused(self) -> tuple[str, ...]:
        """The others."""
        return tuple(name for name in self.names if name not in self.read)


def candidates(size: str | None, time: str | None) -> set[str]:
    """Columns that `chosen_columns` may choose."""
    return {name for layout in LAYOUTS for name in (layout.size, layout.time) if name is not None} | {
        name.strip() for name in (size, time) if name is not None
    }


def chosen_columns(path: str, table: Table, size: str | None, time: str | None) -> Columns:
    """The columns to read: those asked for, or those of a known layout.

    Raises
    ------
    ParameterError
        If one is not there, or there twice, or nothing tells which holds the sizes.
    """
    names = table.names
    layout = max(
        (known for known in LAYOUTS if known.columns <= set(names)), key=lambda known: len(known.columns), default=None
    )
    known = _shortened(names)
    for option, name in (("size_column", size), ("time_column", time)):
        if name is not None and names.count(name.strip()) != 1:
            refuse(option, name, f"the name of one column of the trace (line {table.line} has: {known})")
    size, time = (None if name is None else name.strip() for name in (size, time))
    if layout is None:
        if size is None:
            layouts = ", ".join(entry.name for entry in LAYOUTS)
            refuse("size_column", None, f"given, as the trace has none of the known layouts ({layouts}) but: {known}")
        return Columns(None, size, time, names)
    columns = Columns(layout, size or layout.size, time or layout.time, names)
    for name in columns.read:
        if names.count(name) > 1:
            refuse("trace", path, f"a table with one column named {name}, not {names.count(name)} (line {table.line})")
    return columns


def _shortened(names: Sequence[str]) -> str:
    text = ", ".join(names)
    return (text if len(text) <= SHOWN else text[: SHOWN - 1] + "…") or "none"
