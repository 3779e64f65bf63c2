"""How far a batch has come: live lines on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["Progress", "in_words", "shown", "time_left"]


class Progress(Protocol):
    """What is told about the runs of a batch."""

    def started(self, name: str) -> None:
        """A run was handed to a processor."""

    def finished(self, name: str, state: str, seconds: float) -> None:
        """The results of a run are published."""


class _Silent:
    def started(self, name: str) -> None:
        pass

    def finished(self, name: str, state: str, seconds: float) -> None:
        pass


def time_left(durations: Sequence[float], left: int, at_once: int) -> float | None:
    """Seconds until everything is done, from the mean duration so far; None before the first run is done.

    Examples
    --------
    >>> time_left([10.0, 20.0], left=8, at_once=2)
    60.0
    """
    return sum(durations) / len(durations) * left / max(1, min(at_once, left)) if durations else None


def in_words(seconds: float) -> str:
    """A length of time.

    Examples
    --------
    >>> in_words(9.96), in_words(75), in_words(7260)
    ('10.0 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class _Count:
    """The runs that are under way and those that are over."""

    def __init__(self, total: int, at_once: int) -> None:
        self.total = total
        self.at_once = at_once
        self.running: dict[str, float] = {}
        self.durations: list[float] = []
        self.lock = threading.Lock()

    def started(self, name: str) -> None:
        with self.lock:
            self.running[name] = time.monotonic()

    def finished(self, name: str, state: str, seconds: float) -> None:
        with self.lock:
            self.running.pop(name, None)
            self.durations.append(seconds)
        self.tell(name, state, seconds)

    def tell(self, name: str, state: str, seconds: float) -> None:
        pass

    def summary(self) -> str:
        done = len(self.durations)
        left = time_left(self.durations, self.total - done, self.at_once)
        return f"{done}/{self.total}" + (f"  about {in_words(left)} left" if left else "")


class _Plain(_Count):
    def __init__(self, total: int, at_once: int, console: Console) -> None:
        super().__init__(total, at_once)
        self.console = console

    def tell(self, name: str, state: str, seconds: float) -> None:
        line = f"{name}  {state}  {in_words(seconds)}  [{self.summary()}]"
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


class _Live(_Count):
    def table(self) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        now = time.monotonic()
        with self.lock:
            for name, start in self.running.items():
                table.add_row(Text(name), Text("running", "cyan"), Text(in_words(now - start)))
            table.add_row(Text("total", "bold"), Text(self.summary()), Text(""))
        return table


@contextmanager
def shown(total: int, at_once: int, wanted: bool = True, console: Console | None = None) -> Iterator[Progress]:
    """Show the progress of so many runs, on standard output or a given console, while a ``with`` block lasts."""
    if not wanted or not total:
        yield _Silent()
        return
    from rich.console import Console

    console = console or Console()
    if not console.is_terminal:
        yield _Plain(total, at_once, console)
        return
    from rich.live import Live

    progress = _Live(total, at_once)
    with Live(console=console, get_renderable=progress.table, refresh_per_second=4):
        yield progress
