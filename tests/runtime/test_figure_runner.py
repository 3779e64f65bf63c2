"""Running the figure notebooks: what is refused before anything runs, and what is there afterwards.

Eight kernels are started in all: four at once by the fixture `finished`, two one after the other by `reused`, two to be
ended before their time.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest
from PIL import Image
from rich.console import Console

from mlptsym.runtime import plan, runner
from mlptsym.runtime.kernels import environment, scratch_folder
from mlptsym.runtime.plan import FigureRun, FigureTask, find_notebooks, notebook_folder, plan_figures
from mlptsym.runtime.progress import shown_progress
from mlptsym.runtime.runner import run_figures
from mlptsym.validation import ParameterError

_CELL = 'gamma: float = 0.1  # cost\nlevels: list[float] = [2, 5]\noutput_folder: str = "../figures"'

_DRAW = """\
import matplotlib.pyplot as plt
from mlptsym.figures import FigureData, curve_style, paper_style, save_figure
with paper_style():
    figure, axes = plt.subplots()
    axes.plot(levels, [gamma, 1], label=r"$E[T]$", **curve_style(0))
    axes.legend()
data = FigureData().with_curve("", "T", "theory", levels, [gamma, 1])
files = save_figure(figure, data, NAME, output_folder)"""

_MANY = 3000
"""More writes than sockets keep as they come, which would lose some, and the message that the cell has ended."""

_REPORT = """\
import json, os, sys, time
from ipykernel.connect import get_connection_info
for line in range(3):
    print("line", line, flush=True)
    time.sleep(0.05)
print("warned", file=sys.stderr)
print(sys.executable == os.environ["EXPECTED"], sys.warnoptions, json.loads(get_connection_info())["transport"])"""


def _notebook(folder: Path, stem: str, *code: str, parameters: str = _CELL, cost: object = None) -> Path:
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    if cost is not None:
        notebook.metadata["mlptsym"] = {"cost": cost}
    first = nbformat.v4.new_code_cell(parameters, id="parameters")
    first.metadata["tags"] = ["parameters"]
    cells = [nbformat.v4.new_code_cell(source, id=f"code-{place}") for place, source in enumerate(code)]
    notebook.cells = [nbformat.v4.new_markdown_cell("# A figure", id="title"), first, *cells]
    path = folder / f"{stem}.ipynb"
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    return path


# Before anything runs ------------------------------------------------------------------------------------------------


@pytest.fixture
def notebooks(tmp_path: Path) -> Path:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    _notebook(folder, "fig01_model", cost=1)
    _notebook(folder, "fig02_load", parameters='gamma: float = 0.1\noutput_folder: str = "."', cost=3)
    _notebook(folder, "fig03_hazard", cost="much")
    (folder / "real_traces.ipynb").write_text("no figure")
    return folder


def test_every_notebook_by_default_in_order(notebooks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notebooks.parent)
    tasks = plan_figures(notebooks=notebooks)
    assert [task.name for task in tasks] == ["fig01", "fig02", "fig03"]
    assert {task.out for task in tasks} == {notebooks.parent / "figures"}
    assert [task.cost for task in tasks] == [1.0, 3.0, 0.0]
    assert not (notebooks.parent / "figures").exists()


def test_figures_are_known_by_number_and_by_file(notebooks: Path) -> None:
    asked = ["fig03", "fig01_model", "fig02_load.ipynb", "notebooks/fig03_hazard.ipynb"]
    assert [task.name for task in plan_figures(asked, notebooks=notebooks)] == ["fig03", "fig01", "fig02"]


@pytest.mark.parametrize("given", [["gamma=0.2"], {"gamma": np.float64(0.2)}])
def test_parameters_are_those_of_every_notebook(notebooks: Path, given: list[str] | dict[str, object]) -> None:
    values = [task.parameters for task in plan_figures(parameters=given, notebooks=notebooks)]
    assert values == [{"gamma": 0.2}] * 3
    assert all(type(value["gamma"]) is float for value in values)


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        (["fig10"], [], "figure = 'fig10' .* one of fig01, fig02, fig03"),
        (["figo1"], [], "did you mean fig01"),
        ([""], [], "figure = ''"),
        (["../fig01"], [], "figure"),
        (["fig01", "real_traces"], [], "figure = 'real_traces'"),
        ([], ["levels=[1,2]"], "parameter = 'levels' .* a parameter of fig02: gamma"),
        ([], {"levels": [1, 2]}, "parameter = 'levels' .* a parameter of fig02: gamma"),
        (["fig01"], ["gama=1"], r"parameter = 'gama' .* gamma, levels \(did you mean gamma\?\)"),
        (["fig01"], {"gama": 1}, "did you mean gamma"),
        (["fig01"], ["gamma=high"], "gamma = 'high' .* a number or inf"),
        (["fig01"], {"gamma": "0.2"}, "gamma = '0.2' .* a number or inf"),
        (["fig01"], {"levels": {1, 2}}, "levels = {1, 2} .* a list of numbers"),
        (["fig01"], ["gamma=1", "gamma=2"], "parameter = 'gamma=2' .* the only one for gamma"),
        (["fig01"], ["output_folder=/"], "output_folder"),
        (["fig01"], {"output_folder": "/"}, "output_folder"),
    ],
)
def test_refused_before_anything_runs(
    notebooks: Path, names: list[str], given: list[str] | dict[str, object], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        run_figures(names, notebooks.parent / "out", given, notebooks=notebooks)
    assert not (notebooks.parent / "out").exists()


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "two"])
def test_wrong_number_of_jobs(notebooks: Path, jobs: object) -> None:
    with pytest.raises(ParameterError, match=r"jobs = .* a whole number >= 1"):
        run_figures([], notebooks.parent / "out", jobs=jobs, notebooks=notebooks)  # type: ignore[arg-type]


def test_output_folder_that_cannot_be_made(notebooks: Path) -> None:
    (notebooks.parent / "file").touch()
    for out in (notebooks.parent / "file", notebooks.parent / "file" / "below"):
        with pytest.raises(ParameterError, match=r"out = .* a folder that can be written"):
            run_figures([], out, notebooks=notebooks)


def test_notebooks_that_cannot_be_figures(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"notebooks = .* figNN"):
        find_notebooks(tmp_path)
    _notebook(tmp_path, "fig01_a", parameters="gamma: float = 1")
    with pytest.raises(ParameterError, match="output_folder: str"):
        plan_figures(notebooks=tmp_path)
    _notebook(tmp_path, "fig01_b")
    with pytest.raises(ParameterError, match=r"two notebooks fig01: fig01_a.ipynb, fig01_b.ipynb"):
        plan_figures(notebooks=tmp_path)


def test_package_installed_without_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "project_folder", lambda: tmp_path)
    with pytest.raises(ParameterError, match=r"notebooks = .* come with every installation"):
        notebook_folder()


# Order, processes and progress ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_longest_first_and_no_more_at_once_than_asked(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each notebook ends once as many have begun as may run at once."""
    at_once = min(jobs, 4)
    started: list[str] = []
    busy: list[int] = [0]
    together, lock = threading.Barrier(at_once), threading.Lock()

    def execute(task: FigureTask, _kernels: object) -> FigureRun:
        with lock:
            started.append(task.name)
            busy.append(busy[-1] + 1)
        together.wait(20)
        with lock:
            busy.append(busy[-1] - 1)
        return FigureRun(task.name, "done")

    monkeypatch.setattr("mlptsym.runtime.execution.execute", execute)
    costs = {"fig01": 1.0, "fig02": 4.0, "fig03": 0.0, "fig04": 4.0}
    tasks = [FigureTask(name, tmp_path / name, tmp_path, {}, cost) for name, cost in costs.items()]
    assert [run.name for run in runner.run_tasks(tasks, jobs)] == list(costs)
    assert set(started[:at_once]) == set(["fig02", "fig04", "fig01", "fig03"][:at_once])
    assert max(busy) == at_once
    if jobs == 1:
        assert started == ["fig02", "fig04", "fig01", "fig03"]


_STATES = [
    [FigureRun("fig01"), FigureRun("fig02")],
    [FigureRun("fig01", "running", 0.01), FigureRun("fig02")],
    [FigureRun("fig01", "running", 1.0), FigureRun("fig02", "running")],
    [FigureRun("fig01", "done", 2.04), FigureRun("fig02", "failed", 1.0, None, "[bold]no[/]")],
]


def test_progress_in_plain_lines() -> None:
    text = io.StringIO()
    with shown_progress(console=Console(file=text, width=80)) as show:
        for runs in _STATES:
            show(runs)
    lines = ["fig01  running", "fig02  running", "fig01  done    2.0 s", "fig02  failed  1.0 s"]
    assert text.getvalue().splitlines() == lines


def test_progress_on_a_terminal_is_one_line_a_notebook() -> None:
    text = io.StringIO()
    console = Console(file=text, width=80, force_terminal=True, color_system=None, legacy_windows=False)
    with shown_progress(console=console) as show:
        for runs in _STATES:
            show(runs)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.getvalue()).splitlines()
    assert [line.split() for line in shown[-2:]] == [["fig01", "done", "2.0", "s"], ["fig02", "failed", "1.0", "s"]]


def test_no_progress_unless_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress(False) as show:
        show(_STATES[-1])
    assert capsys.readouterr() == ("", "")


# Running -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Finished:
    folder: Path
    out: Path
    scratch: Path
    runs: dict[str, FigureRun]

    def executed(self, name: str) -> nbformat.NotebookNode:
        notebook = self.runs[name].notebook
        assert notebook is not None
        return nbformat.read(notebook, as_version=4)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> _Finished:
    """Four notebooks run at once where much is in the way: odd paths, no home, other kernelspecs and settings."""
    base = tmp_path_factory.mktemp("run") / "nöte böoks {gamma} $HOME"
    folder, out, scratch = base / "notebooks", base / "öut {0}", tmp_path_factory.mktemp("tmp")
    for new in (folder, out):
        new.mkdir(parents=True)
    _notebook(folder, "fig01_one", 'NAME = "fig01"', _DRAW)
    writes = f"for number in range({_MANY}):\n    print(number, end=' ', flush=True)"
    _notebook(folder, "fig02_two", 'NAME = "fig02"', _DRAW, writes, _REPORT)
    _notebook(
        folder, "fig03_fails", 'print("so far so good")', 'raise ValueError("first\\nβ = 2 is too large\\n")', "1"
    )
    _notebook(folder, "fig04_dies", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    (out / "numpy.py").write_text("raise ImportError('imported from the output folder')")
    (out / "fig01.failed.ipynb").write_text("of an earlier run")
    (out / "fig03.ipynb").write_text("of an earlier run")
    kernels = base / "jupyter" / "kernels"
    for name in ("python3", "mlptsym"):
        (kernels / name).mkdir(parents=True)
        specification = {"argv": ["/bin/false"], "display_name": name, "language": "python"}
        (kernels / name / "kernel.json").write_text(json.dumps(specification))
    (base / "matplotlibrc").write_text("savefig.pad_inches: 3\nbackend: none of that name\n")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "EXPECTED": sys.executable,
            "HOME": str(base / "no home"),
            "JUPYTER_PATH": str(base / "jupyter"),
            "JUPYTER_DATA_DIR": str(base / "jupyter"),
            "MPLBACKEND": "no such backend",
            "MATPLOTLIBRC": str(base / "matplotlibrc"),
            "PYTHONWARNINGS": "error",
        }.items():
            patch.setenv(name, value)
        patch.setattr("tempfile.tempdir", str(scratch))
        runs = run_figures((), out, ["gamma=inf", "levels=[2, inf]"], jobs=4, notebooks=folder)
    return _Finished(folder, out, scratch, {run.name: run for run in runs})


def test_good_notebooks_leave_all_their_files(finished: _Finished) -> None:
    for name in ("fig01", "fig02"):
        run = finished.runs[name]
        assert (run.state, run.error, run.notebook) == ("done", None, finished.out / f"{name}.ipynb")
        assert run.seconds > 0
    here = {path.name for path in finished.out.iterdir()} - {"numpy.py"}
    good = {f"{name}.{kind}" for name in ("fig01", "fig02") for kind in ("svg", "pdf", "png", "csv", "ipynb")}
    assert here == good | {"fig03.ipynb", "fig03.failed.ipynb", "fig04.failed.ipynb"}  # nothing else, nothing partial
    assert (finished.out / "fig01.csv").read_text().splitlines()[1] == ",T,theory,2.0,inf,"


def test_processes_at_once_give_the_same_bytes(finished: _Finished) -> None:
    for kind in ("svg", "pdf", "png", "csv"):
        assert (finished.out / f"fig01.{kind}").read_bytes() == (finished.out / f"fig02.{kind}").read_bytes(), kind
    one, two = (json.loads((finished.out / f"{name}.ipynb").read_text(encoding="utf-8")) for name in ("fig01", "fig02"))
    assert one["metadata"] == two["metadata"]
    assert one["cells"][4] == two["cells"][4]  # the picture included
    (shown,) = (output["data"]["image/png"] for output in one["cells"][4]["outputs"])
    with Image.open(io.BytesIO(base64.b64decode(shown))) as picture:
        assert picture.width == pytest.approx(3.4 * 150, rel=0.1)  # the user's margins play no part


def test_executed_notebook_holds_nothing_of_one_run(finished: _Finished) -> None:
    notebook = finished.executed("fig02")
    nbformat.validate(notebook)
    source = nbformat.read(finished.folder / "fig02_two.ipynb", as_version=4)
    assert notebook.metadata == source.metadata
    assert [cell.id for cell in notebook.cells] == [
        "title",
        "parameters",
        "executed-2",
        *(f"code-{number}" for number in range(4)),
    ]
    assert [cell.execution_count for cell in notebook.cells[1:]] == [1, 2, 3, 4, 5, 6]
    tags = [{"tags": ["parameters"]}, {"tags": ["injected-parameters"]}]
    assert [cell.metadata for cell in notebook.cells] == [{}, *tags, {}, {}, {}, {}]
    text = (finished.out / "fig02.ipynb").read_text(encoding="utf-8")
    for place in (finished.out, finished.folder, finished.scratch, Path(sys.prefix)):
        assert json.dumps(str(place), ensure_ascii=False)[1:-1] not in text


def test_parameters_arrive(finished: _Finished) -> None:
    values: dict[str, object] = {}
    exec(finished.executed("fig01").cells[2].source, values)  # noqa: S102, what papermill wrote
    assert (values["gamma"], values["levels"]) == (float("inf"), [2.0, float("inf")])
    assert values["output_folder"] == "."


def test_kernel_is_this_interpreter_and_says_nothing_of_its_own(finished: _Finished) -> None:
    outputs = finished.executed("fig02").cells[-1].outputs
    assert [(output.name, output.text) for output in outputs] == [
        ("stdout", "line 0\nline 1\nline 2\nTrue [] ipc\n"),
        ("stderr", "warned\n"),
    ]


def test_nothing_that_a_cell_writes_is_lost(finished: _Finished) -> None:
    (output,) = finished.executed("fig02").cells[-2].outputs
    assert output.text.split() == list(map(str, range(_MANY)))


def test_failed_notebook_is_kept_under_another_name(finished: _Finished) -> None:
    run = finished.runs["fig03"]
    assert (run.state, run.error) == ("failed", "β = 2 is too large")
    assert run.notebook == finished.out / "fig03.failed.ipynb"
    cells = [cell for cell in finished.executed("fig03").cells if cell.id.startswith("code-")]
    assert cells[0].outputs[0].text == "so far so good\n"
    assert cells[1].outputs[0].ename == "ValueError"
    assert cells[2].execution_count is None
    assert (finished.out / "fig03.ipynb").read_text() == "of an earlier run"


def test_kernel_that_dies_is_a_failure(finished: _Finished) -> None:
    run = finished.runs["fig04"]
    assert (run.state, run.error) == ("failed", "DeadKernelError: Kernel died")
    assert run.notebook == finished.out / "fig04.failed.ipynb"


def test_nothing_is_left_behind(finished: _Finished) -> None:
    assert not list(finished.scratch.iterdir())
    assert not [
        process for process in psutil.Process().children(recursive=True) if "ipykernel" in str(process.cmdline())
    ]


@pytest.fixture(scope="module")
def reused(tmp_path_factory: pytest.TempPathFactory) -> list[FigureRun]:
    """Four notebooks one after the other, each with a folder of its own; the second fails."""
    base = tmp_path_factory.mktemp("reused")
    tasks = []
    for number, last in enumerate(["left = 1", "import no_such_module", "left = 3", "left = 4"]):
        report = "import os, json\nprint(json.dumps([os.getpid(), os.getcwd(), 'left' in dir(), gamma]))"
        source = _notebook(base, f"fig0{number}", report, last)
        tasks.append(FigureTask(f"fig0{number}", source, base / str(number), {"gamma": float(number)}, -number))
    return runner.run_tasks(tasks, jobs=1)


def _cells(run: FigureRun) -> list[nbformat.NotebookNode]:
    """Parameters, those given, a report, the last cell."""
    assert run.notebook is not None
    cells = [cell for cell in nbformat.read(run.notebook, as_version=4).cells if cell.cell_type == "code"]
    return cells[-4:]


def test_a_kernel_takes_one_notebook_after_the_other(reused: list[FigureRun]) -> None:
    assert [run.state for run in reused] == ["done", "failed", "done", "done"]
    assert reused[1].error == "ModuleNotFoundError: No module named 'no_such_module'"
    processes, folders, left, gammas = zip(*(json.loads(_cells(run)[2].outputs[0].text) for run in reused), strict=True)
    assert processes[0] == processes[1] != processes[2] == processes[3]  # a new one after the failure
    assert [Path(folder).name for folder in folders] == ["0", "1", "2", "3"]
    assert left == (False, False, False, False)
    assert gammas == (0.0, 1.0, 2.0, 3.0)


def test_a_kernel_used_again_counts_its_cells_from_one(reused: list[FigureRun]) -> None:
    for run in reused:
        assert [cell.execution_count for cell in _cells(run)] == [1, 2, 3, 4]


def test_kernel_that_cannot_even_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, out = tmp_path / "notebooks", tmp_path / "out"
    folder.mkdir()
    (tmp_path / "ipykernel.py").write_text("import no_such_module")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    _notebook(folder, "fig01_a")
    out.mkdir()
    (out / "fig01.failed.ipynb").write_text("of an earlier run")
    (run,) = run_figures([], out, jobs=1, notebooks=folder)
    error = "RuntimeError: Kernel died before replying to kernel_info (ModuleNotFoundError: No module named 'no_such_module')"
    assert replace(run, seconds=0.0) == FigureRun("fig01", "failed", 0.0, out / "fig01.failed.ipynb", error)
    assert [cell.execution_count for cell in _cells(run)] == [None] * 2


def test_no_parser_of_addresses_is_made() -> None:
    """Jupyter's schema checker is there, without the parser of addresses that would take a second to import."""
    program = "import sys; from mlptsym.runtime.runner import run_tasks; run_tasks([], 1); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "jsonschema" in done.stdout.split()
    assert "lark" not in done.stdout.split()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_everything_ends_with_the_command(tmp_path: Path, end: signal.Signals) -> None:
    folder, out = tmp_path / "notebooks", tmp_path / "out"
    folder.mkdir()
    sleeper = (
        "import os, pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "pathlib.Path('part').write_text(f'{os.getpid()} {child.pid}')\n"
        "pathlib.Path('part').rename('started')\n"
        "time.sleep(600)"
    )
    _notebook(folder, "fig01_sleeps", sleeper)
    program = (
        "import pathlib, signal, sys, tempfile, typer\n"
        "from mlptsym.cli.figures import figures\n"
        "from mlptsym.runtime import plan\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "plan.notebook_folder = lambda: pathlib.Path(sys.argv[1])\n"
        "tempfile.tempdir = sys.argv[3]\n"
        "app = typer.Typer()\n"
        "app.command()(figures)\n"
        "app(['--out', sys.argv[2]])\n"
    )
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    startup = tmp_path / "home" / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("import os; os._exit(3)")
    environment = os.environ | {"HOME": str(tmp_path / "home")}
    command = [sys.executable, "-c", program, str(folder), str(out), str(scratch)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=environment, start_new_session=True) as process:
        assert _wait_for((out / "started").exists, 60)
        started = [psutil.Process(int(number)) for number in (out / "started").read_text().split()]
        processes = [*started, *psutil.Process(process.pid).children(recursive=True)]
        begin = time.monotonic()
        os.killpg(process.pid, end)  # as a terminal does
        _, error = process.communicate(timeout=10)
        assert time.monotonic() - begin < 5
    if end == signal.SIGINT:
        assert process.returncode == 130
        assert error == "Interrupted: what is in the folder is whole, the rest was not written.\n"
    assert len(processes) >= 3
    assert _wait_for(lambda: not any(map(_runs, processes)), 3)
    assert _wait_for(lambda: not list(scratch.iterdir()), 3)
    assert [path.name for path in out.iterdir()] == ["started"]


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


# The command ---------------------------------------------------------------------------------------------------------


def _command(arguments: list[str]) -> tuple[int, str, str]:
    import typer
    from typer.testing import CliRunner

    from mlptsym.cli.figures import figures

    app = typer.Typer()
    app.command()(figures)
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_command_passes_everything_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []

    def run(*given: object, **named: object) -> list[FigureRun]:
        calls.append((given, named))
        return [FigureRun("fig06", "done", 1.0, tmp_path / "fig06.ipynb")]

    monkeypatch.setattr(runner, "run_figures", run)
    assert _command(["fig06", "fig07", "-p", "gamma=0.2", "-p", "x=[1]", "--out", "a b", "--jobs", "3"]) == (0, "", "")
    assert _command([]) == (0, "", "")
    assert calls == [
        ((["fig06", "fig07"], Path("a b"), ["gamma=0.2", "x=[1]"], 3), {"progress": True}),
        (((), None, (), None), {"progress": True}),
    ]


def test_command_ends_1_after_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "fig02.failed.ipynb"
    runs = [
        FigureRun("fig01", "done", 1.0, tmp_path / "fig01.ipynb"),
        FigureRun("fig02", "failed", 1.0, place, "ValueError: no"),
        FigureRun("fig03", "failed", 1.0, None, "gone"),
    ]
    monkeypatch.setattr(runner, "run_figures", lambda *_, **__: runs)
    code, _, error = _command([])
    assert code == 1
    assert error.splitlines() == [
        f"Error: fig02 failed: ValueError: no (see {place})",
        "Error: fig03 failed: gone",
    ]


def test_command_leaves_refusals_to_its_caller(notebooks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "notebook_folder", lambda: notebooks)
    with pytest.raises(ParameterError, match="figure = 'fig77'"):
        _command(["fig77"])


def test_unusable_home_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, home in enumerate((str(tmp_path), str(tmp_path / "missing"), "", "/")):
        scratch = tmp_path / f"scratch-{place}"
        scratch.mkdir()
        monkeypatch.setenv("HOME", home)
        assert environment(scratch)["HOME"] == (home if place == 0 else str(scratch))


def test_scratch_folder_leaves_room_for_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("long" * 20)
    long.mkdir()
    for place in (tmp_path, long):
        monkeypatch.setattr("tempfile.tempdir", str(place))
        with scratch_folder() as scratch:
            assert len(os.fsencode(scratch / "99" / "k-ipc-5")) <= 100
            assert scratch.is_dir()
        assert not scratch.exists()


def test_relative_import_paths_keep_their_meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["lib", "", "/abs"]))
    assert environment(tmp_path)["PYTHONPATH"].split(os.pathsep)[-2:] == [str(tmp_path / "lib"), "/abs"]
