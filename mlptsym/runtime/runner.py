"""Running figure notebooks side by side, each on a kernel of its own."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from pathlib import Path

from mlptsym.runtime.plan import FigureRun, FigureTask, plan_figures
from mlptsym.runtime.progress import shown_progress
from mlptsym.runtime.sources import without_address_parser
from mlptsym.validation import ParameterError, flag, integer

__all__ = ["available_processors", "run_figures", "run_tasks"]


def available_processors() -> int:
    """Number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_figures(
    names: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    parameters: Mapping[str, object] | Sequence[str] = (),
    jobs: int | None = None,
    progress: bool = False,
    *,
    notebooks: Path | None = None,
) -> list[FigureRun]:
    """Run figure notebooks and write their pictures, data and executed notebooks.

    Parameters
    ----------
    names, out, parameters, notebooks
        As in `plan_figures`, which checks everything before anything runs.
    jobs : int, optional
        How many notebooks run at once; as many as there are processors when left out.
    progress : bool
        Whether standard output shows one line per notebook with its state and elapsed time.

    Returns
    -------
    list of FigureRun
        In the order asked for.  A notebook that fails does not stop the others.

    Raises
    ------
    ParameterError
        If something asked for is unknown or not allowed, or the output folder cannot be written.
    """
    tasks = plan_figures(names, out, parameters, notebooks)
    progress = flag("progress", progress)
    return run_tasks(tasks, available_processors() if jobs is None else jobs, progress)


def run_tasks(
    tasks: Sequence[FigureTask], jobs: int, progress: bool = False, *, stop: Callable[[], bool] = lambda: False
) -> list[FigureRun]:
    """Run checked notebooks, at most ``jobs`` at once, the longest first.

    An interrupt (Ctrl-C) ends every kernel before it goes on as ``KeyboardInterrupt``.  Where interrupts do not arrive,
    in threads, ``stop`` serves instead: it is asked many times a second, and once it says yes everything ends, and
    ``CancelledError`` is raised.
    """
    jobs = integer("jobs", jobs, at_least=1)
    for folder in {task.out for task in tasks}:
        _make_folder(folder)
    with without_address_parser():
        from mlptsym.runtime.execution import execute
        from mlptsym.runtime.kernels import Kernel, kernel_session
    longest_first = iter(sorted(range(len(tasks)), key=lambda place: -tasks[place].cost))
    begun: dict[int, float] = {}
    ended: dict[int, FigureRun] = {}

    def work() -> None:
        with Kernel(session) as kernel:
            for place in longest_first:  # one iterator for all threads
                if session.ended.is_set():
                    return
                begun[place] = time.monotonic()
                ended[place] = execute(tasks[place], kernel)

    def state(place: int) -> FigureRun:
        name = tasks[place].name
        running = FigureRun(name, "running", time.monotonic() - begun[place]) if place in begun else FigureRun(name)
        return ended.get(place, running)

    jobs = max(1, min(jobs, len(tasks)))
    with kernel_session() as session, shown_progress(progress) as show, ThreadPoolExecutor(jobs) as pool:
        workers = [pool.submit(work) for _ in range(jobs)]
        try:
            while wait(workers, timeout=0.05).not_done:
                show([state(place) for place in range(len(tasks))])
                _go_on(stop)
        except BaseException:
            session.end()  # what runs fails at once
            raise
        for worker in workers:
            worker.result()
        runs = [ended[place] for place in range(len(tasks))]
        show(runs)
    return runs


def _go_on(stop: Callable[[], bool]) -> None:
    if stop():
        raise CancelledError


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ParameterError("out", str(folder), f"a folder that can be written ({error.strerror})") from error
