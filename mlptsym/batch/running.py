"""A batch: what there is to do, doing it side by side, and what is left when it ends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlptsym.batch.collected import tables
from mlptsym.batch.execution import Outcome, Work, execute, execute_on_cluster
from mlptsym.batch.gallery import entries, gallery
from mlptsym.batch.lock import locked
from mlptsym.batch.manifest import About, Record, Setting, is_whole, publish, read_manifest, result_folders
from mlptsym.batch.names import path_name
from mlptsym.batch.progress import Progress, shown
from mlptsym.batch.scenarios import BatchRun, check_ranges, read_scenarios
from mlptsym.provenance import digest, source_revision, versions
from mlptsym.runtime.runner import available_processors
from mlptsym.sweeps import MOST_WORKERS, on_cluster, parallel, scheduler_address, sweep_as_completed
from mlptsym.validation import ParameterError, flag, integer, path

__all__ = ["Finished", "plan_batch", "run_batch"]

_PATIENCE = 4.5  # seconds for interrupted runs to end their processes
_WHOLE = "batch"


@dataclass(frozen=True)
class Finished:
    """How one run of a batch ended.

    Attributes
    ----------
    name : str
        Scenario and figure.
    state : {"done", "skipped", "failed"}
        Skipped are runs whose outputs are there and whose inputs have not changed.
    seconds : float
        How long it took.
    error : str or None
        The last line of what went wrong.
    notebook : pathlib.Path or None
        Of a failed run, the notebook as far as it came.
    """

    name: str
    state: str
    seconds: float = 0.0
    error: str | None = None
    notebook: Path | None = None


def plan_batch(
    scenarios: Path, out: Path, *, force: bool = False, notebooks: Path | None = None
) -> list[tuple[BatchRun, str]]:
    """Check a scenario file as a whole and compare it with what is in the output folder, which is left as it is.

    Parameters
    ----------
    scenarios : pathlib.Path
        The scenario file, see `read_scenarios`.
    out : pathlib.Path
        The output folder; it need not exist.
    force : bool
        Whether unchanged runs are run again.
    notebooks : pathlib.Path, optional
        The folder of the notebooks.

    Returns
    -------
    list of (BatchRun, str)
        Each run with ``"new"``, ``"changed"``, ``"failed before"``, ``"forced"`` or ``"unchanged"``.

    Raises
    ------
    ScenarioFileError
        With everything that is wrong with the file.
    ParameterError
        If a path or ``force`` is none.
    """
    out = path("out", out, "the name of a folder")
    force = flag("force", force)
    scenarios = path("scenarios", scenarios, "the name of a scenario file")
    runs = read_scenarios(scenarios, notebooks)
    known = _Known(out)
    plan = [(run, known.state(run)) for run in runs]
    # What ran before was in range, and asking the library takes a second.
    check_ranges(scenarios, [run for run, state in plan if state != "unchanged"])
    return [(run, "forced" if force and state == "unchanged" else state) for run, state in plan]


class _Known:
    """The manifests of an output folder, each read once."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.manifests: dict[str, Mapping[str, Record]] = {}

    def record(self, run: BatchRun) -> Record | None:
        if run.scenario not in self.manifests:
            try:
                self.manifests[run.scenario] = read_manifest(self.out / path_name(run.scenario))
            except ParameterError:  # damaged: everything in the folder is run again
                self.manifests[run.scenario] = {}
        return self.manifests[run.scenario].get(run.figure)

    def state(self, run: BatchRun) -> str:
        record = self.record(run)
        if record is None:
            return "new"
        if record.state != "done":
            return "failed before"
        return "unchanged" if record.inputs == run.inputs else "changed"

    def is_whole(self, run: BatchRun) -> bool:
        record = self.record(run)
        return record is not None and is_whole(self.out / path_name(run.scenario), record)


def run_batch(
    scenarios: Path,
    out: Path,
    jobs: int | None = None,
    *,
    dask: str | None = None,
    force: bool = False,
    progress: bool = False,
    notebooks: Path | None = None,
) -> list[Finished]:
    """Run every scenario whose results are not there yet.

    Parameters
    ----------
    scenarios, out, force, notebooks
        As for `plan_batch`, which checks everything before anything runs.
    jobs : int, optional
        How many notebooks run at once; one for each processor, here or of the cluster, when left out.
    dask : str, optional
        Scheduler of the Dask cluster that runs them, see `mlptsym.parallel`; this machine when left out.
    progress : bool
        Whether standard output shows how far it has come.

    Returns
    -------
    list of Finished
        In the order of the file.  A run that fails does not stop the others.

    Raises
    ------
    ScenarioFileError, ParameterError
        If anything asked for is not allowed.
    FolderInUseError
        If another command writes to the output folder.
    ClusterLostError
        If the Dask cluster gives up or is gone; what is published is there.
    OSError
        If a file cannot be written, the disk being full perhaps; what is in the folder is whole.
    """
    chosen = None if jobs is None else integer("jobs", jobs, at_least=1, at_most=MOST_WORKERS)
    dask = None if dask is None else scheduler_address(dask)
    progress = flag("progress", progress)
    out = path("out", out, "the name of a folder")
    plan = plan_batch(scenarios, out, force=force, notebooks=notebooks)
    with locked(out) as staging:
        known = _Known(out)
        finished: dict[int, Finished] = {}
        for place, (run, state) in enumerate(plan):
            if state == "unchanged" and known.is_whole(run):
                finished[place] = Finished(run.name, "skipped")
        todo = sorted(set(range(len(plan))) - finished.keys(), key=lambda place: -plan[place][0].cost)
        if todo:
            with parallel(chosen, dask=dask) if dask is not None else nullcontext():
                ends = _published([plan[place][0] for place in todo], out, staging, chosen, progress)
                finished |= {todo[place]: end for place, end in ends}
        _collect(out, staging)
    return [finished[place] for place in range(len(plan))]


def _published(
    runs: Sequence[BatchRun], out: Path, staging: Path, jobs: int | None, progress: bool
) -> Iterator[tuple[int, Finished]]:
    """Run everything and let the outputs appear, each as soon as it is ready."""
    cluster = on_cluster()
    at_once = jobs or (len(runs) if cluster else available_processors())
    with _stoppable() as stop, shown(len(runs), at_once, progress) as show:
        function = execute_on_cluster if cluster else stop.executor(staging)
        works = (_handed_out(run, show) for run in runs)
        for place, outcome in sweep_as_completed(function, works, threads=True, jobs=jobs):
            end = _publish(runs[place], outcome, out, staging)
            show.finished(end.name, end.state, end.seconds)
            yield place, end


def _handed_out(run: BatchRun, show: Progress) -> Work:
    show.started(run.name)
    return Work(run.figure, run.notebook, run.content, dict(run.values), run.code, versions())


class _Stop:
    """Ends the runs in this process's threads, to which interrupts do not come."""

    def __init__(self) -> None:
        self.wanted = threading.Event()
        self.running: set[object] = set()

    def executor(self, staging: Path) -> Callable[[Work], Outcome]:
        def run(work: Work) -> Outcome:
            token = object()
            self.running.add(token)
            try:
                return execute(work, staging, self.wanted.is_set)
            finally:
                self.running.discard(token)

        return run


@contextmanager
def _stoppable() -> Iterator[_Stop]:
    stop = _Stop()
    try:
        yield stop
    finally:
        stop.wanted.set()
        deadline = time.monotonic() + _PATIENCE
        while stop.running and time.monotonic() < deadline:
            time.sleep(0.01)


def _publish(run: BatchRun, outcome: Outcome, out: Path, staging: Path) -> Finished:
    folder = out / path_name(run.scenario)
    about = About(
        scenario=run.scenario,
        notebook={"file": run.notebook, "digest": digest(run.content)},
        parameters={
            name: Setting(run.parameters[name].type, value, name in run.values) for name, value in run.settings.items()
        },
        seeds={name: value for name, value in run.settings.items() if name in ("seeds", "root_seed")},
        versions=versions(),
        code=run.code,
        revision=source_revision(),
        platform=outcome.platform,
        started=outcome.started,
        seconds=outcome.seconds,
        error=outcome.error,
    )
    state: Literal["done", "failed"] = "done" if outcome.error is None else "failed"
    record = publish(folder, run.figure, Record(state, run.inputs, {}, about), outcome.contents, staging)
    partial = next((folder / path_name(name) for name in record.outputs), None) if state == "failed" else None
    return Finished(run.name, state, outcome.seconds, outcome.error, partial)


def _collect(out: Path, staging: Path) -> None:
    """Make the gallery and the tables anew, unless they are those of the runs that are there."""
    here = Path(__file__).parent
    code = [digest(path.read_bytes()) for path in sorted(here.glob("*.py"))]
    manifests = {}
    for folder in result_folders(out):
        try:
            records = read_manifest(folder)
        except ParameterError:
            continue
        manifests[folder.name] = [[name, record.inputs, dict(record.outputs)] for name, record in records.items()]
    inputs = digest(json.dumps([code, manifests]).encode())
    try:
        record = read_manifest(out).get(_WHOLE)
    except ParameterError:
        record = None
    if record is not None and record.inputs == inputs and is_whole(out, record):
        return
    found = entries(out)
    contents = {"index.html": gallery(found).encode(errors="backslashreplace"), **tables(out, found)}
    publish(out, _WHOLE, Record("done", inputs, {}), contents, staging)
