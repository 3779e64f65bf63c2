"""One line per notebook: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from mlptsym.runtime.plan import FigureRun

__all__ = ["shown_progress"]

_STYLES = {"waiting": "dim", "running": "cyan", "done": "green", "failed": "bold red"}


@contextmanager
def shown_progress(
    wanted: bool = True, console: Console | None = None
) -> Iterator[Callable[[Sequence[FigureRun]], None]]:
    """A function that shows the state of every notebook each time it is called: on standard output, or not at all."""
    if not wanted:
        yield lambda _runs: None
        return
    from rich.console import Console

    console = console or Console()
    if not console.is_terminal:
        yield _plain(console)
        return
    from rich.live import Live

    with Live(console=console, refresh_per_second=8) as live:
        yield lambda runs: live.update(_table(runs))


def _plain(console: Console) -> Callable[[Sequence[FigureRun]], None]:
    seen: dict[str, str] = {}

    def show(runs: Sequence[FigureRun]) -> None:
        for run in runs:
            if run.state not in ("waiting", seen.get(run.name)):
                seen[run.name] = run.state
                console.print(f"{run.name}  {run.state:8}{_time(run)}".rstrip(), markup=False, highlight=False)

    return show


def _table(runs: Sequence[FigureRun]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for run in runs:
        table.add_row(run.name, f"[{_STYLES[run.state]}]{run.state}[/]", _time(run))
    return table


def _time(run: FigureRun) -> str:
    return "" if run.state == "waiting" or (run.state == "running" and run.seconds < 0.05) else f"{run.seconds:.1f} s"
