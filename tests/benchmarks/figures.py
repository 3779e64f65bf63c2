"""The whole of ``make figures`` against what it cannot do without: kernels that start, and simulations at the speed of C."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import nbformat

import mlptsym as mq
from benchmarks.measure import Row
from benchmarks.simulation import by_c, timed
from mlptsym.runtime.parameters import read_parameters
from mlptsym.runtime.plan import FigureTask, find_notebooks, notebook_folder, plan_figures
from mlptsym.runtime.runner import run_figures, run_tasks
from mlptsym.simulation.traces import draw_trace
from mlptsym.studies.loads import at_load
from mlptsym.studies.unequal import best_quanta

ROUNDS = 5


def rows() -> Iterator[Row]:
    """``make figures`` against our own workers with little to do, and against papermill with as little."""
    cores = os.cpu_count() or 1
    notebooks = find_notebooks(notebook_folder())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tasks = plan_figures(out=place / "empty", notebooks=_empty(notebooks, place / "notebooks"))
        seconds = [
            (
                timed(lambda: run_figures(out=place / "figures")),
                timed(lambda: _each_by_itself(tasks, cores)),
                timed(lambda: _by_papermill(place / "notebooks", cores)),
            )
            for _ in range(ROUNDS)
        ]
    ours, start, by_papermill = map(median, zip(*seconds, strict=True))
    simulated = _simulations() / cores
    note = (
        f"kernels {start:.1f} s, traces and simulation of figures 6 to 9 and 13 {simulated:.1f} s, on {cores} cores; "
        "within 2× is asked"
    )
    yield Row(
        f"make figures, all {len(notebooks)} figures",
        "a kernel for each that starts and imports, and simulation at C speed",
        (start + simulated) / ours,
        0.5,
        ours,
        start + simulated,
        note,
    )
    yield Row(
        f"make figures, all {len(notebooks)} figures",
        "papermill as it comes, for each with nothing but imports, and simulation at C speed",
        (by_papermill + simulated) / ours,
        seconds=ours,
        seconds_against=by_papermill + simulated,
        note=f"papermill {by_papermill:.1f} s",
    )


def _each_by_itself(tasks: Sequence[FigureTask], cores: int) -> None:
    """Each notebook on a kernel of its own, as many at once as there are cores."""
    with ThreadPoolExecutor(cores) as pool:
        runs = [run for (run,) in pool.map(lambda task: run_tasks([task], 1), tasks)]
    assert all(run.state == "done" for run in runs)


def _by_papermill(folder: Path, cores: int) -> None:
    """Each notebook by a papermill of its own, as many at once as there are cores."""

    def run(notebook: Path) -> None:
        command = [sys.executable, "-m", "papermill", "--no-progress-bar", "--kernel", "python3", "--cwd", folder]
        subprocess.run([*command, notebook, notebook.with_suffix(".done")], check=True, stderr=subprocess.DEVNULL)

    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(run, sorted(folder.glob("*.ipynb"))))


def _empty(notebooks: dict[str, Path], folder: Path) -> Path:
    """The same notebooks with nothing but parameters and imports, and a picture to save."""
    folder.mkdir()
    for path in notebooks.values():
        notebook = nbformat.read(path, as_version=4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        notebook.cells = code[:2]
        nbformat.write(notebook, folder / path.name)
    return folder


def _simulations() -> float:
    """Seconds of the simulations of the figures, one after the other, in C, with the traces drawn by NumPy.

    Capped Gittins in figure 9 and the runs at θ* in figures 6 to 8 are not counted: the ratio comes out too low rather
    than too high.
    """
    total = 0.0
    for queue, policies, values in _simulated():
        for seed in range(values["seeds"]):
            begin = time.perf_counter()
            trace = draw_trace(queue.size, queue.arrival_rate, values["jobs"] + values["warmup"], seed=seed)
            service = queue.service_time(trace.sizes)
            total += time.perf_counter() - begin
            for policy in policies:
                boundaries = policy.boundaries(service.max())
                arrays = trace.arrival_times, service, boundaries, queue.restore_cost(boundaries)
                total += timed(lambda a=arrays, lazy=policy.lazy: by_c(*a, lazy=lazy))
    return total


def _simulated() -> Iterator[tuple[mq.Queue, list[mq.MLPT], dict[str, Any]]]:
    """What figures 6 to 9 and 13 simulate, and with which parameters."""
    for name in ("fig06", "fig07", "fig08", "fig09", "fig13"):
        values = {key: p.default for key, p in read_parameters(find_notebooks(notebook_folder())[name]).items()}
        law = mq.LogNormal(values["mu"], values["sigma"])
        given = {"slowdown_factor": values["beta"], "preemption_cost": values["gamma"]}
        if name == "fig13":
            for threshold in values["thresholds"]:
                queue = mq.Queue(law, values["arrival_rate"], threshold * law.mean, **given)
                chain = best_quanta(queue, values["most_levels"])
                equal = (mq.MLPT(quantum=best.equal.quantum, levels=best.levels) for best in chain)
                yield queue, [*(mq.MLPT(quanta=best.quanta) for best in chain), *equal], values
        elif name == "fig09":
            for load in values["simulated"]:
                queue = at_load(mq.Queue(law, 0.001, values["threshold"] * law.mean, **given), load)
                found = (mq.optimal_quantum(queue, levels) for levels in values["levels"])
                best = [mq.MLPT(quantum=one.quantum, levels=one.levels) for one in found if one.kind != "fcfs"]
                yield queue, best, values
        else:
            queue = mq.Queue(law, values["arrival_rate"], values["threshold"] * law.mean, **given)
            quanta = [x * law.mean for x in values["simulated"]]
            policies = [mq.MLPT(quantum=quantum, levels=levels) for levels in values["levels"] for quantum in quanta]
            stable = [policy for policy in policies if math.isfinite(mq.mean_response_time(queue, policy))]
            lazy = [replace(policy, lazy=True) for policy in stable if policy.levels == math.inf]
            yield queue, stable + lazy, values
