"""One run: a notebook with its parameters in, files out.

A run may take place in a thread of the command or on another machine.  Nothing is shared with it: it gets the notebook,
and gives back the contents of the files.
"""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlptsym.provenance import code_digest, versions
from mlptsym.runtime.plan import FigureTask
from mlptsym.runtime.runner import run_tasks
from mlptsym.studies.data import read_figure_data
from mlptsym.validation import ParameterError

__all__ = ["Outcome", "Work", "execute", "execute_on_cluster"]


@dataclass(frozen=True)
class Work:
    """What a run needs: the notebook, the parameters that are set, and the code and versions it is to run with."""

    figure: str
    notebook: str
    content: bytes
    values: Mapping[str, Any]
    code: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Outcome:
    """What came of a run: its files (of a failed one the notebook as far as it came), when, how long, and where."""

    error: str | None
    contents: Mapping[str, bytes] = field(default_factory=dict)
    started: str = ""
    seconds: float = 0.0
    platform: str = ""


def execute(work: Work, staging: Path | None = None, stop: Callable[[], bool] = lambda: False) -> Outcome:
    """Run a notebook in a process of its own; also what goes wrong is an outcome, so that other runs go on.

    A folder for it is made in ``staging``, or among the system's temporary files.  ``stop`` is asked many times a
    second whether the run is to end, which raises a `CancelledError`.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    begin = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(dir=staging, prefix="run-", ignore_cleanup_errors=True) as place:
            error, contents = _executed(work, Path(place).absolute(), stop)
    except (OSError, ParameterError) as problem:
        error, contents = f"{type(problem).__name__}: {problem}", {}
    where = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return Outcome(error, contents, started, round(time.monotonic() - begin, 3), where)


def _executed(work: Work, place: Path, stop: Callable[[], bool]) -> tuple[str | None, dict[str, bytes]]:
    if not _same_code(work):
        return "the code or the libraries are not those the batch began with", {}
    source, out = place / "notebook" / work.notebook, place / "out"
    source.parent.mkdir()
    source.write_bytes(work.content)
    (run,) = run_tasks([FigureTask(work.figure, source, out, work.values)], 1, stop=stop)
    contents = {path.name: path.read_bytes() for path in sorted(out.iterdir()) if _is_output(path)}
    failed = {name: content for name, content in contents.items() if name.endswith(".failed.ipynb")}
    if run.error is not None:
        return run.error, failed
    notebook = contents.pop(f"{work.figure}.ipynb")
    kept = {f"{work.figure}.failed.ipynb": notebook}
    if not _same_code(work):
        return "the code was changed during the run", kept
    data = out / f"{work.figure}.csv"
    try:
        if data.exists():
            read_figure_data(data)
    except ParameterError as problem:
        return f"{data.name} is no figure data: {problem.name} = {problem.value!r}", kept
    contents[f"{work.figure}.ipynb"] = notebook
    return None, {_named_after(work.figure, name): content for name, content in contents.items()}


def _same_code(work: Work) -> bool:
    return (code_digest(), versions()) == (work.code, work.versions)


def _is_output(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not path.name.startswith(".") and path.name.isprintable()


def _named_after(figure: str, name: str) -> str:
    """A file's name, with the figure's in front where it is not, so that no two figures of a folder share a file.

    Examples
    --------
    >>> _named_after("fig10", "fig10.svg"), _named_after("fig10", "claims.csv")
    ('fig10.svg', 'fig10.claims.csv')
    """
    return name if name.startswith(f"{figure}.") else f"{figure}.{name}"


def execute_on_cluster(work: Work) -> Outcome:
    """Run a notebook on a Dask worker; it ends when the cluster no longer wants it.

    That is when the batch was interrupted, or its process is gone.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def unwanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state not in {"executing", "long-running"}

    try:
        return execute(work, None, unwanted)
    except CancelledError:
        return Outcome("cancelled")
