"""The whole of ``make figures`` against what it cannot do without: kernels that start, and simulations at the speed of C."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat

from benchmarks.measure import Row
from benchmarks.simulation import by_c, policy_arrays, timed, traces
from mlptsym.figures.parameters import read_parameters
from mlptsym.figures.runner import FigureTask, find_notebooks, notebook_folder, plan_figures, run_figures, run_tasks

QUANTUM_FIGURES = ("fig06", "fig07", "fig08")


def rows() -> Iterator[Row]:
    """The one row."""
    cores = os.cpu_count() or 1
    notebooks = find_notebooks(notebook_folder())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ours = timed(lambda: run_figures(out=place / "figures"))
        tasks = plan_figures(out=place / "empty", notebooks=_empty(notebooks, place / "notebooks"))
        start = timed(lambda: _each_by_itself(tasks, cores))
    simulated = _simulations() / cores
    note = (
        f"kernels {start:.1f} s, simulation of figures 6 to 8 {simulated:.1f} s, on {cores} cores; within 2× is asked"
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


def _each_by_itself(tasks: Sequence[FigureTask], cores: int) -> None:
    """Each notebook on a kernel of its own, as many at once as there are cores."""
    with ThreadPoolExecutor(cores) as pool:
        runs = [run for (run,) in pool.map(lambda task: run_tasks([task], 1), tasks)]
    assert all(run.state == "done" for run in runs)


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
    """Seconds of the simulations of figures 6 to 8, one after the other, in C.

    Those of figure 9, of which Capped Gittins has no reference, and of figure 13 are not counted: the ratio comes out
    too low rather than too high.
    """
    total = 0.0
    for name in QUANTUM_FIGURES:
        values = {key: p.default for key, p in read_parameters(find_notebooks(notebook_folder())[name]).items()}
        for arrivals, service in traces(values["seeds"]):
            for levels in values["levels"]:
                for quantum in values["simulated"]:
                    arrays = arrivals, service, *policy_arrays(levels, quantum, service.max())
                    total += timed(lambda a=arrays: by_c(*a))
    return total
