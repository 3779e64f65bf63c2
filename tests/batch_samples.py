"""Small notebooks, scenario files and a command that knows them, for the tests of batches."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import psutil

ROOT = Path(__file__).parents[1]

PARAMETERS = """\
gamma: float = 0.1  # cost
levels: list[float] = [2, 5]  # k
seeds: int = 8  # traces
label: str = "T"
output_folder: str = ".\""""

# No picture library: a kernel that has little to load is quick.
DRAW = """\
import base64, math, pathlib
from mlptsym.figures import FigureData
data = FigureData().with_curve("", label, "theory", levels, [gamma * seeds] * len(levels))
folder = pathlib.Path(output_folder)
(folder / f"{NAME}.csv").write_text(data.to_csv())
picture = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVQI12NgAAEAAAUAAQeIGGMAAAAASUVORK5CYII="
(folder / f"{NAME}.png").write_bytes(base64.b64decode(picture))
print(gamma, levels)"""

SLEEP = """\
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
place = pathlib.Path(os.environ["STARTED"]) / f"{os.getpid()}"
place.with_suffix(".part").write_text(f"{os.getpid()} {child.pid}")
place.with_suffix(".part").rename(place.with_suffix(".started"))
time.sleep(600)"""

# `mlptsym batch` with another folder of notebooks, as a program of its own.
COMMAND = """\
import os, pathlib, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored by what runs in the background
from mlptsym.batch import running, scenarios
from mlptsym.cli.batch import batch
from mlptsym.cli import app, main
from mlptsym.cli.errors import Command
scenarios.notebook_folder = lambda: pathlib.Path(os.fsdecode(os.environb[b"SAMPLE_NOTEBOOKS"]))
if all(command.callback is not batch for command in app.registered_commands):
    app.command(cls=Command)(batch)
sys.exit(main(["batch", *sys.argv[1:]]))
"""


def notebook(folder: Path, stem: str, *code: str, parameters: str = PARAMETERS) -> Path:
    """A notebook with a parameters cell and some code cells."""
    content = nbformat.v4.new_notebook()
    content.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    first = nbformat.v4.new_code_cell(parameters, id="parameters")
    first.metadata["tags"] = ["parameters"]
    name = f"NAME = {stem.partition('_')[0]!r}"
    cells = [nbformat.v4.new_code_cell(source, id=f"code-{place}") for place, source in enumerate((name, *code))]
    content.cells = [first, *cells]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}.ipynb"
    path.write_text(nbformat.writes(content), encoding="utf-8")
    return path


def notebooks(folder: Path) -> Path:
    """Two notebooks that draw, one that fails, one that does not end by itself."""
    notebook(folder, "fig01_draws", DRAW)
    notebook(folder, "fig02_draws", DRAW)
    notebook(folder, "fig03_fails", 'print("so far so good")', 'raise ValueError("first\\nβ = 2 is too large\\n")')
    notebook(folder, "fig04_sleeps", SLEEP)
    return folder


def scenario_file(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def command(
    folder: Path,
    *arguments: str | Path,
    environment: dict[str, str] | None = None,
    before: str = "",
    **options: object,
) -> subprocess.Popen[str]:
    """Start ``mlptsym batch`` with the notebooks of a folder; ``before`` is done first."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = os.environ | {"SAMPLE_NOTEBOOKS": str(folder), "PYTHONPATH": paths} | (environment or {})
    return subprocess.Popen(
        [sys.executable, "-c", before + COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=given,
        start_new_session=True,  # what a terminal sends goes to this group, not to the tests
        **options,
    )


def untrue(out: Path) -> list[str]:
    """Files of an output folder that are not listed with their digest: none, at whatever moment one looks.

    Written apart from the code that is tested.
    """
    wrong = []
    for path in sorted(out.rglob("*")):
        if path.is_dir() or ".mlptsym" in path.relative_to(out).parts:
            continue
        place = path.parent / "manifest.json"
        records = json.loads(place.read_text(encoding="utf-8"))["records"] if place.exists() else {}
        known = [record["outputs"].get(path.name) for record in records.values()]
        if path != place and hashlib.sha256(path.read_bytes()).hexdigest() not in known:
            wrong.append(str(path.relative_to(out)))
    return wrong


def outputs(out: Path) -> dict[str, bytes]:
    """Every result of a batch, without the manifests, which hold times."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "manifest.json" and ".mlptsym" not in path.relative_to(out).parts
    }


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
