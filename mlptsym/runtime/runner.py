"""Figures from notebooks: which there are, whether what is asked for can be run, and running them side by side.

Notebooks run in processes beside this one, each of which takes one after the other, in its output folder, on the
interpreter that runs this code.  Nothing of the user's Jupyter, IPython or matplotlib set-up takes part, so that the
same inputs give the same bytes everywhere.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from mlptsym.runtime.notebook_process import KERNEL, task_line
from mlptsym.runtime.parameters import (
    OUTPUT_FOLDER,
    check_value,
    close_to,
    known_parameter,
    parse_override,
    read_notebook,
    read_parameters,
)
from mlptsym.runtime.progress import shown_progress
from mlptsym.runtime.sources import project_folder
from mlptsym.validation import ParameterError, flag, instance, integer, path, refuse, sequence

__all__ = [
    "FigureRun",
    "FigureTask",
    "available_processors",
    "find_notebooks",
    "notebook_folder",
    "plan_figures",
    "run_figures",
    "run_tasks",
]

_PAUSE = 0.05  # seconds between two looks at the running processes
_PATIENCE = 3.0  # seconds an interrupted process has to end by itself


@dataclass(frozen=True)
class FigureTask:
    """A notebook to run, checked.

    Attributes
    ----------
    name : str
        The figure, such as ``fig06``.
    source : pathlib.Path
        Its notebook.
    out : pathlib.Path
        Where its files go.
    parameters : mapping
        What is set, beside the output folder.
    cost : float
        Relative duration, from the notebook's metadata (``{"mlptsym": {"cost": …}}``); the longest starts first.
    """

    name: str
    source: Path
    out: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 0.0


@dataclass(frozen=True)
class FigureRun:
    """How far a notebook has come.

    Attributes
    ----------
    name : str
        The figure.
    state : {"waiting", "running", "done", "failed"}
        ``run_figures`` returns the last two.
    seconds : float
        Elapsed time.
    notebook : pathlib.Path or None
        The executed notebook; for a failed one ``NAME.failed.ipynb``, or None if it did not even start.
    error : str or None
        The last line of the error.
    """

    name: str
    state: str = "waiting"
    seconds: float = 0.0
    notebook: Path | None = None
    error: str | None = None


def notebook_folder() -> Path:
    """The folder of the figure notebooks, which come with the package.

    Raises
    ------
    ParameterError
        If they were taken away.
    """
    folder = project_folder() / "notebooks"
    if not folder.is_dir():
        refuse("notebooks", str(folder), "a folder: the figure notebooks come with every installation of mlptsym")
    return folder


def find_notebooks(folder: Path) -> dict[str, Path]:
    """The figure notebooks ``figNN_….ipynb`` of a folder by name ``figNN``, in order.

    Raises
    ------
    ParameterError
        If there are none, or two of one name.
    """
    folder = path("notebooks", folder, "a folder with notebooks")
    notebooks: dict[str, Path] = {}
    for place in sorted(folder.absolute().glob("fig*.ipynb")):
        if match := re.fullmatch(r"(fig\d\d)_.*", place.stem):
            name = match.group(1)
            if name in notebooks:
                refuse("notebooks", str(folder), f"without two notebooks {name}: {notebooks[name].name}, {place.name}")
            notebooks[name] = place
    if not notebooks:
        refuse("notebooks", str(folder), "a folder with notebooks figNN_….ipynb")
    return notebooks


def available_processors() -> int:
    """Number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def plan_figures(
    names: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    parameters: Mapping[str, object] | Sequence[str] = (),
    notebooks: Path | None = None,
) -> tuple[FigureTask, ...]:
    """Check what is asked for, before anything runs.

    Parameters
    ----------
    names : sequence of str
        Figures, as ``fig06`` or by the notebook's file name; every one if empty.
    out : path, optional
        Where the files go; ``figures`` in the current folder when left out.
    parameters : mapping, or sequence of str
        Values, or texts ``name=value``; each must be a parameter of every notebook that is to run.
    notebooks : pathlib.Path, optional
        The folder of the notebooks.

    Returns
    -------
    tuple of FigureTask
        In the order asked for.

    Raises
    ------
    ParameterError
        If a figure or a parameter is unknown, or a value not of its parameter's type.
    """
    folder = notebook_folder() if notebooks is None else notebooks
    known = find_notebooks(folder)
    by_file = {place.stem: name for name, place in known.items()}
    chosen: dict[str, Path] = {}
    for asked in _texts("names", names) or known:
        name = by_file.get(Path(asked).name.removesuffix(".ipynb"), asked)
        if name not in known:
            refuse("figure", asked, "one of " + close_to(asked, list(known)))
        chosen[name] = known[name]
    target = path("out", "figures" if out is None else out, "a folder").absolute()
    if not isinstance(parameters, Mapping):
        parameters = _texts("parameters", parameters)
    return tuple(
        FigureTask(name, place, target, _values(name, place, parameters), _cost(place))
        for name, place in chosen.items()
    )


def _texts(name: str, values: object) -> Sequence[str]:
    return [instance(name, value, str, "a text") for value in sequence(name, values, "a sequence of texts")]


def _values(figure: str, path: Path, given: Mapping[str, object] | Sequence[str]) -> dict[str, Any]:
    parameters = read_parameters(path)
    if OUTPUT_FOLDER not in parameters or parameters[OUTPUT_FOLDER].type != "str":
        refuse("notebook", str(path), f"a notebook with a parameter {OUTPUT_FOLDER}: str")
    if isinstance(given, Mapping):
        return {name: check_value(known_parameter(name, parameters, figure), value) for name, value in given.items()}
    values: dict[str, Any] = {}
    for text in given:
        name, value = parse_override(text, parameters, figure)
        if name in values:
            refuse("parameter", text, f"the only one for {name}")
        values[name] = value
    return values


def _cost(path: Path) -> float:
    metadata = read_notebook(path).get("metadata", {})
    cost = metadata.get("mlptsym", {}).get("cost", 0.0)
    return float(cost) if isinstance(cost, (int, float)) and math.isfinite(cost) else 0.0


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

    An interrupt (Ctrl-C) ends every kernel and process before it goes on as ``KeyboardInterrupt``.  Where interrupts do
    not arrive, in threads, ``stop`` serves instead: it is asked many times a second, and once it says yes everything
    ends in the same way.

    Raises
    ------
    ParameterError
        If ``jobs`` is no whole number from 1, or an output folder cannot be written.
    CancelledError
        If ``stop`` said yes.
    """
    jobs = integer("jobs", jobs, at_least=1)
    for folder in {task.out for task in tasks}:
        _make_folder(folder)
    runs = [FigureRun(task.name) for task in tasks]
    waiting = deque(sorted(range(len(tasks)), key=lambda place: -tasks[place].cost))
    workers: list[_Worker] = []
    running: dict[int, _Worker] = {}
    with _scratch_folder() as scratch, shown_progress(progress) as show:
        environment = _environment(scratch)
        try:
            show(runs)
            workers.extend(_Worker(scratch / str(place), environment) for place in range(min(jobs, len(tasks))))
            while waiting or running:
                if stop():
                    raise CancelledError
                while waiting and len(running) < jobs:
                    idle = [worker for worker in workers if worker not in running.values() and not worker.ended]
                    if not idle:
                        idle.append(_Worker(scratch / str(len(workers)), environment))
                        workers.extend(idle)
                    place = waiting.popleft()
                    running[place] = idle[0]
                    idle[0].start(tasks[place])
                for place, worker in list(running.items()):
                    runs[place] = worker.state()
                    if runs[place].state != "running":
                        del running[place]
                show(runs)
                if running:
                    time.sleep(_PAUSE)
        finally:
            _end(workers)
    return runs


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ParameterError("out", str(folder), f"a folder that can be written ({error.strerror})") from error


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """A temporary folder with a path short enough for sockets, where there is one."""
    try:
        usual = tempfile.gettempdir()
    except FileNotFoundError as error:
        raise ParameterError("TMPDIR", os.environ.get("TMPDIR"), "a folder that can be written") from error
    place = usual if len(os.fsencode(usual)) <= 70 or not os.access("/tmp", os.W_OK | os.X_OK) else "/tmp"  # noqa: S108
    with tempfile.TemporaryDirectory(prefix="mlptsym-", dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _environment(scratch: Path) -> dict[str, str]:
    """Environment of the notebooks' processes: the user's, without what would make figures depend on the user."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111, pathlib's raises where there is none
    usable = home.is_absolute() and home != home.parent and home.is_dir() and os.access(home, os.W_OK | os.X_OK)
    kept = {name: value for name, value in os.environ.items() if name not in {"MPLBACKEND", "PYTHONWARNINGS"}}
    paths = [str(Path(entry).absolute()) for entry in kept.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if (project_folder() / "pyproject.toml").is_file():
        paths.insert(0, str(project_folder()))  # a checkout need not be installed
    kernel = scratch / "jupyter" / "kernels" / KERNEL
    kernel.mkdir(parents=True)
    command = [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    specification = {"argv": command, "display_name": KERNEL, "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(specification), encoding="utf-8")
    places = ("PATH", "DATA_DIR", "CONFIG_DIR", "RUNTIME_DIR")
    jupyter = {f"JUPYTER_{place}": str(scratch / "jupyter") for place in places}
    (scratch / "matplotlibrc").touch()
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    return (
        one_thread
        | kept
        | jupyter
        | {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONSAFEPATH": "1",  # nothing is imported from the output folder
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
            "MATPLOTLIBRC": str(scratch / "matplotlibrc"),
            "HOME": str(home if usable else scratch),
        }
    )


class _Worker:
    """A process of `mlptsym.runtime.notebook_process`, which runs one notebook after the other."""

    def __init__(self, scratch: Path, environment: Mapping[str, str]) -> None:
        self.log = scratch / "log"
        scratch.mkdir()
        program = "import sys; from mlptsym.runtime.notebook_process import main; main(sys.argv[1:])"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", program, str(scratch)],
                env={**environment, "IPYTHONDIR": str(scratch / "ipython")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches this process alone, which then ends them in order
            )
        self.answers: SimpleQueue[bytes] = SimpleQueue()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        self.ended = False

    def _listen(self) -> None:
        assert self.process.stdout is not None  # noqa: S101
        with self.process.stdout as channel:
            for line in channel:
                self.answers.put(line)
        self.answers.put(b"")

    def start(self, task: FigureTask) -> None:
        """Give it a notebook."""
        self.task, self.begin = task, time.monotonic()
        self.target = task.out / f"{task.name}.ipynb"
        self.failed = self.target.with_suffix(".failed.ipynb")
        self.failed.unlink(missing_ok=True)
        # The working folder will be the output folder, so that an executed notebook names no folder of this machine.
        parameters = {**task.parameters, OUTPUT_FOLDER: "."}
        assert self.process.stdin is not None  # noqa: S101
        with suppress(BrokenPipeError):
            self.process.stdin.write(task_line(task.source, self.target, parameters))
            self.process.stdin.flush()

    def state(self) -> FigureRun:
        """What became of its notebook so far."""
        run = FigureRun(self.task.name, "running", time.monotonic() - self.begin)
        try:
            answer = self.answers.get_nowait()
        except Empty:
            return run
        if answer:
            error = json.loads(answer)["error"]
        else:
            self.ended = True
            log = self.log.read_text(encoding="utf-8", errors="replace").strip()
            error = f"its process ended early, with code {self.process.wait()}"
            error += f": {log.splitlines()[-1]}" if log else ""
        if error is None:
            return replace(run, state="done", notebook=self.target)
        return replace(run, state="failed", error=error, notebook=self.failed if self.failed.exists() else None)


def _end(workers: Sequence[_Worker]) -> None:
    """End processes: their input closes, they end their kernels; what is left after a while is killed."""
    for worker in workers:
        with suppress(OSError):
            worker.process.stdin.close()  # type: ignore[union-attr]
    deadline = time.monotonic() + _PATIENCE
    for worker in workers:
        try:
            worker.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
        worker.listener.join()
