"""Timing side by side, and what is reported of it."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Row", "race", "row"]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    work, against : str
        What was measured, and what it was measured against.
    ratio : float
        How many times as fast the work is, or what ``unit`` says.
    at_least : float or None
        The ratio to reach; None where the row only informs.
    seconds, seconds_against : float
        Medians.
    note : str
        What the reader should know.
    """

    work: str
    against: str
    ratio: float
    at_least: float | None = None
    seconds: float = math.nan
    seconds_against: float = math.nan
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the ratio is reached, where there is one to reach."""
        return self.at_least is None or self.ratio >= self.at_least


def race(runners: Mapping[str, Callable[[], object]], repeats: int = 5) -> dict[str, float]:
    """Median wall time of each, taken in turns so that what disturbs the machine disturbs all of them.

    Each is called once before the clock runs.
    """
    times: dict[str, list[float]] = {name: [] for name in runners}
    for run in runners.values():
        run()
    for _ in range(repeats):
        for name, run in runners.items():
            begin = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(taken) for name, taken in times.items()}


def row(
    work: str, against: str, times: Mapping[str, float], ours: str, theirs: str, at_least: float | None, note: str = ""
) -> Row:
    """The row of a race between two."""
    return Row(work, against, times[theirs] / times[ours], at_least, times[ours], times[theirs], note)
