"""Batches: what runs, what is skipped, what is left in the folder, and how the command ends.

Five kernels are started, four of them by the fixture `finished`; elsewhere a stand-in gives a run's files.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
import pyarrow.parquet
import pytest
from batch_samples import ROOT, command, notebook, notebooks, outputs, scenario_file, untrue, wait_for
from rich.console import Console

from mlptsym.batch import FolderInUseError, execution, lock, manifest, plan_batch, run_batch, running
from mlptsym.batch.execution import Outcome, Work, execute
from mlptsym.batch.gallery import entries, gallery
from mlptsym.batch.lock import locked
from mlptsym.batch.manifest import Record, check_folder, publish, read_manifest
from mlptsym.batch.progress import shown
from mlptsym.batch.running import Finished
from mlptsym.cli.batch import summary
from mlptsym.provenance import DEPENDENCIES, code_digest, source_revision, versions
from mlptsym.validation import ParameterError

SCENARIOS = """\
scenarios:
  - name: "größe & #1 100%"
    notebooks: fig01
    parameters: {gamma: [0.1, 10], levels: [2, inf]}
  - name: fails
    notebooks: [fig03, fig02]
"""

HEADER = "panel,curve,kind,x,y,standard_error\n"


# Kernels -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Finished:
    folder: Path
    scenarios: Path
    out: Path
    runs: dict[str, Finished]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> _Finished:
    base = tmp_path_factory.mktemp("batch") / "with späces {0}"
    folder = notebooks(base / "notebooks")
    scenarios = scenario_file(base / "scenarios.yaml", SCENARIOS)
    runs = run_batch(scenarios, base / "out", 2, notebooks=folder)
    return _Finished(folder, scenarios, base / "out", {run.name: run for run in runs})


POINTS = [f"größe & #1 100%-gamma={gamma}/fig01" for gamma in ("0.1", "10")]


def test_a_failing_notebook_stops_nothing(finished: _Finished) -> None:
    states = {name: run.state for name, run in finished.runs.items()}
    assert states == {**dict.fromkeys(POINTS, "done"), "fails/fig03": "failed", "fails/fig02": "done"}


def test_every_file_is_there_and_true_to_its_digest(finished: _Finished) -> None:
    names = {path.relative_to(finished.out).as_posix() for path in finished.out.rglob("*") if path.is_file()}
    kinds = ("csv", "png", "ipynb", "json")
    expected = {f"{point}.{kind}" for point in (*POINTS, "fails/fig02") for kind in kinds[:3]}
    expected |= {f"{point.rpartition('/')[0]}/manifest.json" for point in (*POINTS, "fails/")}
    expected |= {"fails/fig03.failed.ipynb", "manifest.json", "index.html", "results.csv", "results.parquet"}
    assert names - {".mlptsym/lock"} == expected
    assert untrue(finished.out) == []
    assert check_folder(finished.out) == (3 * 3 + 1 + 3, [])


def test_partial_notebook_says_so(finished: _Finished) -> None:
    run = finished.runs["fails/fig03"]
    assert run.error == "β = 2 is too large"
    assert run.notebook == finished.out / "fails" / "fig03.failed.ipynb"
    cells = nbformat.read(run.notebook, as_version=4).cells
    assert [cell.outputs[0].get("text") for cell in cells if cell.get("outputs")] == ["so far so good\n", None]


def test_manifest_tells_where_a_result_comes_from(finished: _Finished) -> None:
    folder = finished.out / "größe & #1 100%-gamma=10"
    about = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["records"]["fig01"]["about"]
    assert about["scenario"] == folder.name
    assert about["notebook"]["file"] == "fig01_draws.ipynb"
    assert about["parameters"]["gamma"] == {"type": "float", "value": 10.0, "given": True}
    assert about["parameters"]["levels"] == {"type": "list[float]", "value": [2.0, "inf"], "given": True}
    assert about["parameters"]["label"] == {"type": "str", "value": "T", "given": False}
    assert about["seeds"] == {"seeds": 8}
    assert about["versions"] == versions()
    assert set(DEPENDENCIES) < set(about["versions"])
    assert "missing" not in about["versions"].values()
    assert (about["code"], about["revision"]) == (code_digest(), source_revision())
    assert about["started"].endswith("+00:00")
    assert about["seconds"] > 0
    assert about["error"] is None
    assert str(finished.out) not in json.dumps(about, ensure_ascii=False)
    failed = json.loads((finished.out / "fails" / "manifest.json").read_text(encoding="utf-8"))["records"]["fig03"]
    assert (failed["state"], failed["about"]["error"]) == ("failed", "β = 2 is too large")


def test_parameters_arrive_in_the_notebook(finished: _Finished) -> None:
    folder = finished.out / "größe & #1 100%-gamma=10"
    assert (folder / "fig01.csv").read_text().splitlines()[1:] == [",T,theory,2.0,80.0,", ",T,theory,inf,80.0,"]
    executed = nbformat.read(folder / "fig01.ipynb", as_version=4)
    assert executed.cells[-1].outputs[0].text == "10.0 [2.0, inf]\n"


def test_one_tidy_table(finished: _Finished) -> None:
    with (finished.out / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    table = pyarrow.parquet.read_table(finished.out / "results.parquet").to_pylist()
    assert len(rows) == len(table) == 6
    columns = ["scenario", "figure", "panel", "curve", "kind", "x", "y", "standard_error"]
    assert list(rows[0]) == list(table[0]) == [*columns, "gamma", "levels", "seeds", "label"]
    for row, typed in zip(rows, table, strict=True):
        assert (row["scenario"], row["figure"]) == (typed["scenario"], typed["figure"])
        assert (float(row["x"]), float(row["y"]), float(row["gamma"])) == (typed["x"], typed["y"], typed["gamma"])
        assert typed["y"] == typed["gamma"] * typed["seeds"]
        assert (row["standard_error"], typed["standard_error"]) == ("", None)
        assert row["levels"] == str(typed["levels"])
    assert rows[-1]["levels"] == "[2.0, inf]"
    assert type(table[0]["seeds"]) is int


def test_nothing_to_do_is_known_quickly_and_without_heavy_libraries(finished: _Finished) -> None:
    program = (
        "import pathlib, sys, time\nbegin = time.process_time()\n"
        "from mlptsym.batch import run_batch\n"
        "runs = run_batch(*map(pathlib.Path, sys.argv[1:3]), notebooks=pathlib.Path(sys.argv[3]))\n"
        "heavy = {'sympy', 'numba', 'scipy', 'matplotlib', 'papermill', 'pyarrow', 'joblib', 'distributed'}\n"
        "print([run.state for run in runs], heavy & set(sys.modules), time.process_time() - begin < 1.5)"
    )
    scenarios = scenario_file(finished.folder.parent / "done.yaml", SCENARIOS.partition("  - name: fails")[0])
    before = outputs(finished.out)
    words = [sys.executable, "-c", program, *map(str, (scenarios, finished.out, finished.folder))]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == f"{['skipped'] * 2} set() True"
    assert outputs(finished.out) == before


def test_the_command_resumes_and_tells(finished: _Finished) -> None:
    """Only the failed run is run again, and the command ends with 1."""
    with command(finished.folder, finished.scenarios, "--out", finished.out) as process:
        text, errors = process.communicate(timeout=120)
    lines = text.splitlines()
    assert lines[0].startswith("fails/fig03  failed  ")
    assert lines[0].endswith("  [1/1]")
    assert lines[1:] == ["4 runs: 0 done, 3 skipped, 1 failed"]
    place = finished.out / "fails" / "fig03.failed.ipynb"
    assert errors.splitlines() == [f"Error: fails/fig03 failed: β = 2 is too large (see {place})"]
    assert process.returncode == 1


# The gallery in a browser --------------------------------------------------------------------------------------------

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOOK = """
<script>addEventListener("load", () => setTimeout(() => {
  const rows = [...document.querySelectorAll("tbody tr")];
  document.title = JSON.stringify({
    order: rows.map(row => [row.cells[1].innerText, row.cells[2].innerText]),
    pictures: [...document.images].map(image => image.naturalWidth),
    sorted: [...document.querySelectorAll("th[aria-sort]")].map(head => head.dataset.key),
    links: [...document.links].map(link => link.href),
    requests: performance.getEntriesByType("resource").map(entry => entry.name),
  });
  CLICK
}, 300));</script>
"""


def looked_at(page: Path, script: str, address: str = "") -> dict[str, list[object]]:
    """What a browser without a network makes of the page: the title its last script sets."""
    copy = page.with_name("looked at.html")
    text = page.read_text(encoding="utf-8").replace(' loading="lazy"', "")
    copy.write_text(text.replace("</body>", script + "</body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=5000"]
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={page.parent / '.mlptsym' / 'browser'}"]
    try:
        done = subprocess.run(
            [CHROMIUM, *options, *offline, "--dump-dom", copy.as_uri() + address],
            capture_output=True,
            encoding="utf-8",
            check=True,
            timeout=120,
        )
    finally:
        copy.unlink()
    title = done.stdout.partition("<title>")[2].partition("</title>")[0]
    return json.loads(title.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


def test_gallery_in_a_browser(finished: _Finished) -> None:
    if CHROMIUM is None:
        assert not os.environ.get("CI"), "Chromium is missing: it is what .ci/run installs"
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    page = finished.out / "index.html"
    plain = looked_at(page, LOOK.replace("CLICK", ""))
    names = [(scenario, figure) for scenario, _, figure in (point.rpartition("/") for point in POINTS)]
    everything = [("fails", "fig02"), ("fails", "fig03"), *names]
    assert [tuple(row) for row in plain["order"]] == everything
    assert plain["pictures"] == [2] * 3  # every picture is there; the failed run has none
    assert plain["sorted"] == []
    assert all(str(link).startswith("file:///") for link in (*plain["links"], *plain["requests"]))
    descending = looked_at(page, LOOK.replace("CLICK", ""), "#-gamma")
    assert descending["sorted"] == ["gamma"]
    assert tuple(descending["order"][0]) == names[1]  # 10 before 0.1: as numbers
    click = """document.querySelector('th[data-key=figure] button').click();
      setTimeout(() => { const rows = [...document.querySelectorAll("tbody tr")];
        document.title = JSON.stringify({ order: rows.map(row => row.cells[2].innerText) }); }, 100);"""
    assert looked_at(page, LOOK.replace("CLICK", click))["order"] == ["fig01", "fig01", "fig02", "fig03"]


# Without kernels -----------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with notebooks and a scenario file; runs give their parameters as a csv."""
    notebooks(tmp_path / "notebooks")
    scenario_file(
        tmp_path / "s.yaml", "scenarios:\n- {name: a, notebooks: [fig01, fig02], parameters: {gamma: [1, 2]}}\n"
    )
    monkeypatch.setattr(running, "execute", stand_in)
    return tmp_path


def stand_in(work: Work, _staging: Path, _stop: Callable[[], bool]) -> Outcome:
    data = HEADER + f",T,theory,1.0,{work.values.get('gamma', 0.0)},\n"
    return Outcome(None, {f"{work.figure}.csv": data.encode(), f"{work.figure}.ipynb": work.content})


def batch(place: Path, **options: object) -> list[str]:
    runs = run_batch(place / "s.yaml", place / "out", 2, notebooks=place / "notebooks", **options)
    return [run.state for run in runs]


def test_what_is_unchanged_is_skipped(place: Path) -> None:
    assert batch(place) == ["done"] * 4
    before = {path: path.stat().st_mtime_ns for path in (place / "out").rglob("*") if path.is_file()}
    assert batch(place) == ["skipped"] * 4
    after = {path: path.stat().st_mtime_ns for path in (place / "out").rglob("*") if path.is_file()}
    assert {path for path in before if before[path] != after[path]} <= {place / "out" / ".mlptsym" / "lock"}
    assert batch(place, force=True) == ["done"] * 4


def test_what_changed_is_run_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch(place)
    notebook(place / "notebooks", "fig02_draws", "1 + 1")
    assert batch(place) == ["skipped", "done"] * 2
    scenario_file(place / "s.yaml", "scenarios:\n- {name: a-gamma=1, notebooks: fig01, parameters: {gamma: 3}}\n")
    assert batch(place) == ["done"]
    assert "3.0" in (place / "out" / "a-gamma=1" / "fig01.csv").read_text()
    monkeypatch.setattr("mlptsym.batch.scenarios.versions", lambda: {"numpy": "99"})
    assert batch(place) == ["done"]
    monkeypatch.setattr("mlptsym.batch.scenarios.code_digest", lambda: "other")
    assert batch(place) == ["done"]
    assert batch(place) == ["skipped"]


@pytest.mark.parametrize("damage", ["change", "remove", "manifest", "no manifest", "format"])
def test_what_is_damaged_is_found_and_made_again(place: Path, damage: str) -> None:
    batch(place)
    good = outputs(place / "out")
    folder = place / "out" / "a-gamma=1"
    listing = folder / "manifest.json"
    match damage:
        case "change":
            (folder / "fig01.csv").write_text("1")
            assert check_folder(place / "out")[1] == [str(Path("a-gamma=1", "fig01.csv")) + ": changed"]
        case "remove":
            (folder / "fig01.csv").unlink()
            assert check_folder(place / "out")[1] == [str(Path("a-gamma=1", "fig01.csv")) + ": missing"]
        case "manifest":
            listing.write_text("{")
            assert check_folder(place / "out")[1] == [str(Path("a-gamma=1", "manifest.json")) + ": damaged"]
        case "no manifest":
            listing.unlink()
        case "format":
            listing.write_text(listing.read_text().replace('"format": 1', '"format": 2'))
    states = batch(place)
    assert states == (["done", "skipped"] if damage in {"change", "remove"} else ["done"] * 2) + ["skipped"] * 2
    assert outputs(place / "out") == good
    assert untrue(place / "out") == []


def test_an_edit_of_the_gallery_is_found(place: Path) -> None:
    batch(place)
    good = outputs(place / "out")
    (place / "out" / "index.html").write_text("edited")
    assert check_folder(place / "out")[1] == ["index.html: changed"]
    assert batch(place) == ["skipped"] * 4
    assert outputs(place / "out") == good


def test_a_run_that_fails_leaves_nothing_of_the_run_before(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch(place)
    scenario_file(place / "s.yaml", "scenarios:\n- {name: a-gamma=1, notebooks: fig01, parameters: {gamma: 3}}\n")
    failure = Outcome("ValueError: no", {"fig01.failed.ipynb": b"{}"})
    monkeypatch.setattr(running, "execute", lambda *_: failure)
    runs = run_batch(place / "s.yaml", place / "out", 1, notebooks=place / "notebooks")
    folder = place / "out" / "a-gamma=1"
    assert [(run.state, run.error, run.notebook) for run in runs] == [
        ("failed", "ValueError: no", folder / "fig01.failed.ipynb")
    ]
    names = {"fig01.failed.ipynb", "fig02.csv", "fig02.ipynb", "manifest.json"}
    assert {path.name for path in folder.iterdir()} == names
    assert untrue(place / "out") == []
    monkeypatch.setattr(running, "execute", stand_in)
    assert batch(place) == ["done"]
    assert not (folder / "fig01.failed.ipynb").exists()


def test_results_of_earlier_batches_stay_in_the_gallery(place: Path) -> None:
    batch(place)
    scenario_file(place / "s.yaml", "scenarios:\n- {name: b, notebooks: fig01, parameters: {label: '<script>'}}\n")
    batch(place)
    names = [f"{entry.scenario}/{entry.figure}" for entry in entries(place / "out")]
    assert names == ["a-gamma=1/fig01", "a-gamma=1/fig02", "a-gamma=2/fig01", "a-gamma=2/fig02", "b/fig01"]
    assert "<script>" not in gallery(entries(place / "out")).partition("</table>")[0]


def test_files_outside_the_manifest_are_left_alone(place: Path) -> None:
    batch(place)
    note = place / "out" / "a-gamma=1" / "notes.txt"
    note.write_text("mine")
    assert batch(place, force=True) == ["done"] * 4
    assert note.read_text() == "mine"
    assert check_folder(place / "out")[1] == []


def test_plan_looks_and_does_nothing(place: Path) -> None:
    def states(**options: bool) -> list[str]:
        plan = plan_batch(place / "s.yaml", place / "out", notebooks=place / "notebooks", **options)
        return [state for _, state in plan]

    assert states() == ["new"] * 4
    assert not (place / "out").exists()
    batch(place)
    assert states() == ["unchanged"] * 4
    assert states(force=True) == ["forced"] * 4
    notebook(place / "notebooks", "fig01_draws", "2")
    assert states() == ["changed", "unchanged"] * 2


def test_longest_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = []
    original = running.read_scenarios

    def with_costs(*given: Path) -> tuple[object, ...]:
        return tuple(replace(run, cost=cost) for run, cost in zip(original(*given), (1, 4, 0, 4), strict=True))

    def noted(work: Work, *_: object) -> Outcome:
        order.append((work.figure, work.values["gamma"]))
        return Outcome(None, {})

    monkeypatch.setattr(running, "read_scenarios", with_costs)
    monkeypatch.setattr(running, "execute", noted)
    runs = run_batch(place / "s.yaml", place / "out", 1, notebooks=place / "notebooks")
    assert order == [("fig02", 1.0), ("fig02", 2.0), ("fig01", 1.0), ("fig01", 2.0)]
    assert [run.name for run in runs] == [
        f"a-gamma={gamma}/{figure}" for gamma in (1, 2) for figure in ("fig01", "fig02")
    ]


def test_no_more_at_once_than_asked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy, most, guard = 0, 0, threading.Lock()

    def counted(work: Work, *given: object) -> Outcome:
        nonlocal busy, most
        with guard:
            busy += 1
            most = max(most, busy)
        time.sleep(0.05)
        with guard:
            busy -= 1
        return stand_in(work, *given)

    monkeypatch.setattr(running, "execute", counted)
    assert batch(place) == ["done"] * 4
    assert most == 2


def test_order_of_completion_does_not_show(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch(place)

    def slow_first(work: Work, *given: object) -> Outcome:
        time.sleep(0.2 if (work.figure, work.values["gamma"]) == ("fig01", 1.0) else 0)
        return stand_in(work, *given)

    monkeypatch.setattr(running, "execute", slow_first)
    run_batch(place / "s.yaml", place / "other", 2, notebooks=place / "notebooks")
    assert outputs(place / "other") == outputs(place / "out")


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "two", float("nan")])
def test_wrong_number_of_jobs(place: Path, jobs: object) -> None:
    with pytest.raises(ParameterError, match=r"jobs = .* a whole number >= 1"):
        run_batch(place / "s.yaml", place / "out", jobs, notebooks=place / "notebooks")  # type: ignore[arg-type]
    assert not (place / "out").exists()


# Runs ----------------------------------------------------------------------------------------------------------------


def _work(**changes: object) -> Work:
    return replace(Work("fig01", "fig01_a.ipynb", b"", {}, code_digest(), versions()), **changes)


@pytest.mark.parametrize("changes", [{"code": "other"}, {"versions": {"python": "2.7"}}])
def test_other_code_is_not_run(changes: dict[str, object], tmp_path: Path) -> None:
    outcome = execute(_work(**changes), tmp_path)
    assert outcome.error == "the code or the libraries are not those the batch began with"
    assert not outcome.contents
    assert not list(tmp_path.iterdir())


def _executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]) -> Outcome:
    def run_tasks(tasks: list[object], *_: object, **__: object) -> list[object]:
        (task,) = tasks
        task.out.mkdir()
        write(task.out)
        (task.out / "fig01.ipynb").write_text("executed")
        return [Finished("fig01", "done")]

    monkeypatch.setattr(execution, "run_tasks", run_tasks)
    return execute(_work(), tmp_path)


def test_files_are_named_after_their_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(out: Path) -> None:
        for name in ("fig01.csv", "claims.csv", ".hidden", "manifest.json"):
            (out / name).write_text(HEADER)
        (out / "folder").mkdir()
        (out / "link.csv").symlink_to("/etc/passwd")

    outcome = _executed(tmp_path, monkeypatch, write)
    assert outcome.error is None
    assert sorted(outcome.contents) == ["fig01.claims.csv", "fig01.csv", "fig01.ipynb", "fig01.manifest.json"]


def test_data_that_are_none_fail_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(out: Path) -> None:
        (out / "fig01.csv").write_text(HEADER + ",T,theory,1,nan,\n")

    outcome = _executed(tmp_path, monkeypatch, write)
    assert outcome.error is not None
    assert outcome.error.startswith("fig01.csv is no figure data: ")
    assert outcome.contents == {"fig01.failed.ipynb": b"executed"}


def test_code_that_changes_during_a_run_fails_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = code_digest()
    monkeypatch.setattr(execution, "code_digest", iter((work, "edited")).__next__)
    outcome = _executed(tmp_path, monkeypatch, lambda _out: None)
    assert outcome.error == "the code was changed during the run"
    assert outcome.contents == {"fig01.failed.ipynb": b"executed"}


# Manifests and locks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../victim", "/etc/victim", "a\\b", "..", "", "manifest.json", "a\0b"])
def test_a_manifest_that_names_other_files_is_refused(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "a"
    folder.mkdir(parents=True)
    (tmp_path / "out" / "victim").write_text("keep")
    record = {"state": "done", "inputs": "", "outputs": {name: "0" * 64}, "about": {}}
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "records": {"fig01": record}}))
    with pytest.raises(ParameterError, match="a manifest in format 1"):
        read_manifest(folder)
    publish(folder, "fig01", Record("done", "", {}), {"fig01.csv": b"new"}, folder)
    assert (tmp_path / "out" / "victim").read_text() == "keep"


@pytest.mark.parametrize(
    "content", ["", "[]", "null", "{}", '{"format": 1, "records": {"a": 1}}', "[" * 100_000, "\xff"]
)
def test_damaged_manifests(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content, encoding="latin-1")
    with pytest.raises(ParameterError, match="a manifest in format 1"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "about",
    [
        {"parameters": 3},
        {"parameters": {"gamma": 3}},
        {"parameters": {"gamma": {"type": "float", "value": [], "given": True}}},
        {"parameters": {"gamma": {"type": "complex", "value": 1, "given": True}}},
        {"scenario": {}},
    ],
)
def test_a_manifest_whose_parameters_are_damaged_is_refused_and_the_gallery_does_without(
    about: object, tmp_path: Path
) -> None:
    folder = tmp_path / "base"
    publish(folder, "fig01", Record("done", "", {}), {"fig01.csv": b"data"}, tmp_path)
    assert len(entries(tmp_path)) == 1
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["records"]["fig01"]["about"] = about
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert entries(tmp_path) == []
    with pytest.raises(ParameterError, match=r"^manifest = .* a manifest in format 1$"):
        read_manifest(folder)


@pytest.mark.parametrize("what", ["missing", "empty", "file"])
def test_check_needs_results(what: str, tmp_path: Path) -> None:
    folder = tmp_path / what
    if what == "empty":
        folder.mkdir()
    elif what == "file":
        folder.touch()
    with pytest.raises(ParameterError, match=r"check = .* a folder with the results of a batch"):
        check_folder(folder)


def test_only_one_holds_a_folder(tmp_path: Path) -> None:
    with locked(tmp_path / "out"):
        who = rf"out is being written by process {os.getpid()} of .* since 20\d\d-"
        with pytest.raises(FolderInUseError, match=who), locked(tmp_path / "out"):
            pass
        (tmp_path / "out" / ".mlptsym" / "holder.json").write_text("{")
        with pytest.raises(FolderInUseError, match="by another command"), locked(tmp_path / "out"):
            pass
    with locked(tmp_path / "out") as staging:
        (staging / "left.part").touch()
        (staging / "run-1").mkdir()
        (staging / "run-1" / "file").touch()
    with locked(tmp_path / "out") as staging:
        assert {path.name for path in staging.iterdir()} == {"lock", "holder.json"}


def test_the_holder_has_a_name_where_the_system_knows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr(lock.getpass, "getuser", unknown)
    assert lock._me()["user"] == f"user {os.getuid()}"


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(ParameterError, match=r"out = .* a folder that can be written"), locked(out):
            pass


def test_second_command_says_who_writes_and_ends_3(place: Path) -> None:
    with locked(place / "out"), command(place / "notebooks", place / "s.yaml", "--out", place / "out") as process:
        text, errors = process.communicate(timeout=60)
    assert (process.returncode, text) == (3, "")
    assert errors.startswith(f"Error: {place / 'out'} is being written by process {os.getpid()} of ")
    assert len(errors.splitlines()) == 1
    assert not (place / "out" / "index.html").exists()


# Progress ------------------------------------------------------------------------------------------------------------


def test_progress_in_plain_lines() -> None:
    text = io.StringIO()
    with shown(3, 2, console=Console(file=text, width=40)) as show:
        show.started("a long name of a scenario/fig01")
        show.finished("a long name of a scenario/fig01", "done", 90.0)
        show.started("[bold]b/fig02")
        show.finished("[bold]b/fig02", "failed", 30.0)
    assert text.getvalue().splitlines() == [
        "a long name of a scenario/fig01  done  1 min 30 s  [1/3  about 1 min 30 s left]",
        "[bold]b/fig02  failed  30.0 s  [2/3  about 1 min 0 s left]",
    ]


def test_progress_on_a_terminal_is_a_line_for_each_running_notebook() -> None:
    text = io.StringIO()
    console = Console(file=text, width=80, force_terminal=True, color_system=None, legacy_windows=False)
    with shown(3, 2, console=console) as show:
        show.started("a/fig01")
        show.started("b/fig02")
        assert wait_for(lambda: "b/fig02" in text.getvalue(), 10)
        show.finished("a/fig01", "done", 10.0)
        assert wait_for(lambda: "about 10.0 s left" in text.getvalue(), 10)
        assert "running" in text.getvalue()


def test_no_progress_unless_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(3, 2, wanted=False) as show:
        show.started("a")
        show.finished("a", "done", 1.0)
    assert capsys.readouterr() == ("", "")


def test_summary() -> None:
    assert summary([Finished("a", "done"), Finished("b", "skipped"), Finished("c", "failed")]) == (
        "3 runs: 1 done, 1 skipped, 1 failed"
    )


# The command ---------------------------------------------------------------------------------------------------------


def _call(place: Path, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    import typer
    from typer.testing import CliRunner

    from mlptsym.cli.batch import batch
    from mlptsym.cli.errors import Command

    monkeypatch.setattr("mlptsym.batch.scenarios.notebook_folder", lambda: place / "notebooks")
    monkeypatch.chdir(place)
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command(cls=Command)(batch)
    result = CliRunner().invoke(app, list(arguments), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value or result.exit_code, result.stdout, result.stderr


def test_command_from_dry_run_to_check(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*arguments: str) -> tuple[int, str, str]:
        return _call(place, *arguments, monkeypatch=monkeypatch)

    code, text, _ = call("s.yaml", "--dry-run")
    assert (code, text.splitlines()[0], text.splitlines()[-1]) == (
        0,
        "run   a-gamma=1/fig01  (new)",
        "4 runs: 4 to run, 0 to skip",
    )
    assert not (place / "s").exists()
    code, text, _ = call("s.yaml")
    assert (code, text.splitlines()[-1]) == (0, "4 runs: 4 done, 0 skipped, 0 failed")
    assert call("s.yaml") == (0, "4 runs: 0 done, 4 skipped, 0 failed\n", "")
    assert call("s.yaml", "--dry-run")[1].splitlines()[0] == "skip  a-gamma=1/fig01  (unchanged)"
    assert call("s.yaml", "--force", "--jobs", "1")[1].splitlines()[-1] == "4 runs: 4 done, 0 skipped, 0 failed"
    assert call("--check", "s") == (0, "11 files: 11 as they should be, 0 not\n", "")
    (place / "s" / "a-gamma=2" / "fig01.csv").write_text("changed")
    assert call("--check", "s") == (
        1,
        "11 files: 10 as they should be, 1 not\n",
        f"Error: {Path('a-gamma=2', 'fig01.csv')}: changed\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "scenarios is missing: must be a scenario file"),
        (["none.yaml"], "scenarios none.yaml: must be a readable file (No such file or directory)"),
        (["s.yaml", "--check", "out"], "--check out: must be given alone"),
        (["--check", "none"], "--check none: must be a folder with the results of a batch"),
        (["s.yaml", "--jobs", "0"], "--jobs 0: must be a whole number >= 1"),
        (["s.yaml", "--out", "s.yaml"], "--out s.yaml: must be a folder that can be written"),
        (["s.yaml", "--dask", "here"], "--dask here: must be the address of a running Dask scheduler"),
        (["s.yaml", "--dask", "tcp://127.0.0.1:1"], "--dask tcp://127.0.0.1:1: must be the address of a running Dask"),
    ],
)
def test_command_refuses(place: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlptsym.cli.errors import RefusedOptionError

    monkeypatch.setattr("mlptsym.sweeps._PATIENCE", 0.5)
    with pytest.raises(RefusedOptionError) as caught:
        _call(place, *arguments, monkeypatch=monkeypatch)
    assert str(caught.value.format_message()).startswith(message)
    assert caught.value.exit_code == 2


def test_command_tells_every_mistake_of_the_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "scenarios:\n- {name: a, notebooks: fig09}\n- {name: b, notebooks: fig01, parameters: {gamma: [1, -1]}}\n"
    scenario_file(place / "s.yaml", text)
    code, _, errors = _call(place, "s.yaml", monkeypatch=monkeypatch)
    assert (code, len(errors.splitlines())) == (2, 1)
    scenario_file(place / "s.yaml", text.replace("fig09", "fig02"))
    code, text, errors = _call(place, "s.yaml", "--dry-run", monkeypatch=monkeypatch)
    assert (code, text, len(errors.splitlines())) == (2, "", 1)
    assert errors.startswith("Error: s.yaml, line 3: gamma = -1.0 is not allowed: it must be a finite number >= 0")
    assert not (place / "s").exists()


def test_manifest_names_are_those_of_the_package() -> None:
    assert (manifest.MANIFEST, manifest.STAGING) == ("manifest.json", ".mlptsym")
