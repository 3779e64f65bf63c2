"""Whatever ends a batch, and wherever it runs: what is in the folder is whole, and the next call goes on from there."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from batch_samples import DRAW, ROOT, SLEEP, command, notebook, outputs, runs, scenario_file, untrue, wait_for

from mlptsym.batch import check_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

KILLS = int(os.environ.get("MLPTSYM_KILLS", "0"))
"""How often batches are killed in earnest; `make soak` sets it."""


def killed(folder: Path, mode: str, count: int = 0) -> dict[str, object]:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    words = [sys.executable, "-W", "error", str(ROOT / "tests" / "killed_batches.py"), str(folder), mode, str(count)]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_batch_may_end_at_any_step(tmp_path: Path) -> None:
    found = killed(tmp_path, "steps")
    assert found.pop("kills") > 40
    assert found == {"wrong": [], "same": True, "left": ["lock"]}


def test_a_batch_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    count = max(20, 10 * KILLS)
    assert killed(tmp_path, "random", count) == {"kills": count, "wrong": [], "same": True, "left": ["lock"]}


def test_a_full_disk_leaves_what_is_whole(tmp_path: Path) -> None:
    assert killed(tmp_path, "full") == {"code": 3, "wrong": [], "same": True, "left": ["lock"]}


def test_full_disk_in_the_command_s_words(tmp_path: Path) -> None:
    notebook(tmp_path / "notebooks", "fig01_draws", DRAW)
    scenarios = scenario_file(tmp_path / "s.yaml", "scenarios:\n- {name: a, notebooks: fig01}\n")
    program = (
        "import errno, sys\nfrom mlptsym.batch import running\nfrom mlptsym.batch.execution import Outcome\n"
        "def full(*_):\n    raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "running.execute = lambda *_: Outcome(None, {'fig01.csv': b''})\nrunning.publish = full\n"
    )
    with command(tmp_path / "notebooks", scenarios, "--out", tmp_path / "out", before=program) as process:
        text, errors = process.communicate(timeout=60)
    assert (process.returncode, text) == (1, "")
    assert errors == f"Error: {tmp_path / 'out'}: No space left on device\n"


def test_killed_with_its_kernels_and_resumed(tmp_path: Path) -> None:
    """The real thing: the command and its kernels, killed at random moments."""
    notebook(tmp_path / "notebooks", "fig01_draws", DRAW)
    points = "[1, 2, 3]" if KILLS else "[1]"
    text = f"scenarios:\n- {{name: a, notebooks: fig01, parameters: {{gamma: {points}}}}}\n"
    scenarios = scenario_file(tmp_path / "s.yaml", text)
    generator = random.Random(5)  # noqa: S311

    def start(out: Path) -> subprocess.Popen[str]:
        return command(tmp_path / "notebooks", scenarios, "--out", out, "--jobs", "2")

    begin = time.monotonic()
    with start(tmp_path / "undisturbed") as process:
        assert process.wait(120) == 0
    duration = time.monotonic() - begin
    out = tmp_path / "out"
    kills = 0
    while kills < max(1, KILLS):
        with start(out) as process:
            time.sleep(duration * generator.uniform(0.3, 1.0))
            started = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            process.kill()
            process.communicate()
        kills += process.returncode == -signal.SIGKILL
        assert wait_for(lambda left=started: not any(map(runs, left)), 5)
        assert not out.exists() or untrue(out) == []
        if process.returncode == 0:
            for path in out.rglob("fig01.*"):
                path.unlink()
    with start(out) as process:
        assert process.wait(120) == 0
    assert outputs(out) == outputs(tmp_path / "undisturbed")
    assert check_folder(out)[1] == []


@pytest.mark.parametrize("group", [True, False], ids=["from the terminal", "to the command alone"])
def test_interrupt_ends_everything_within_five_seconds(group: bool, tmp_path: Path) -> None:
    notebook(tmp_path / "notebooks", "fig01_sleeps", SLEEP)
    count = 2 if group else 1
    text = f"scenarios:\n- {{name: a, notebooks: fig01, parameters: {{gamma: {list(range(1, 2 + count))}}}}}\n"
    scenarios = scenario_file(tmp_path / "s.yaml", text)
    environment = {"STARTED": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    words = [scenarios, "--out", tmp_path / "out", "--jobs", str(count)]
    with command(tmp_path / "notebooks", *words, environment=environment) as process:
        assert wait_for(lambda: len(list(tmp_path.glob("*.started"))) == count, 120)
        numbers = [int(number) for mark in tmp_path.glob("*.started") for number in mark.read_text().split()]
        started = [psutil.Process(number) for number in numbers]
        started += psutil.Process(process.pid).children(recursive=True)
        begin = time.monotonic()
        (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
        text, errors = process.communicate(timeout=10)
        assert time.monotonic() - begin < 5
    assert process.returncode == 130
    assert (text, errors) == ("", "Interrupted: what is in the folder is whole; the same command goes on from here.\n")
    assert wait_for(lambda: not any(map(runs, started)), 1)
    assert not list((tmp_path / "tmp").iterdir())
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".mlptsym"]
    assert [path.name for path in (tmp_path / "out" / ".mlptsym").iterdir()] == ["lock"]


def test_interrupt_ends_the_processes_of_a_sweep(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal, sys, time\nfrom mlptsym.sweeps import parallel, sweep\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # it is ignored by what runs in the background
        "def work(item, place=sys.argv[1]):\n"
        "    (pathlib.Path(place) / str(os.getpid())).touch()\n    time.sleep(600)\n"
        "try:\n    with parallel(jobs=2):\n        sweep(work, range(4))\n"
        "except KeyboardInterrupt:\n    sys.exit(130)\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert wait_for(lambda: len(list(tmp_path.iterdir())) == 2, 60)
        started = psutil.Process(process.pid).children(recursive=True)
        assert {int(path.name) for path in tmp_path.iterdir()} <= {child.pid for child in started}
        begin = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=10)
        assert time.monotonic() - begin < 5
    assert process.returncode == 130
    assert wait_for(lambda: not any(map(runs, started)), 2)


SIMULATE = """\
import mlptsym as mq
queue = mq.Queue(mq.Exponential(1.0), 0.5)
print(mq.simulate(queue, mq.FCFS(), jobs=100, warmup=0, seeds=2).mean > 0)"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="/proc is the folder that nobody can write to")
def test_hostile_surroundings(tmp_path: Path) -> None:
    """No home, no place for numba's cache, a read-only working folder, a kernelspec that points elsewhere, ASCII.

    The batch is on paths that no encoding spells, and has names that ASCII cannot spell.
    """
    base = tmp_path / os.fsdecode("mit Ümläuten {x} 'q' $HOME ".encode() + b"\xf6")
    notebook(base / "notebooks", "fig01_draws", SIMULATE, DRAW)
    scenarios = scenario_file(base / "szenarien.yaml", "scenarios:\n- {name: größe ∞, notebooks: fig01}\n")
    kernels = base / "jupyter" / "kernels" / "python3"
    kernels.mkdir(parents=True)
    specification = {"argv": ["/bin/false"], "display_name": "elsewhere", "language": "python"}
    (kernels / "kernel.json").write_text(json.dumps(specification))
    environment = {
        "HOME": "/proc/none",
        "XDG_CACHE_HOME": "/proc/none",
        "NUMBA_CACHE_DIR": "/proc/none",
        "JUPYTER_PATH": str(base / "jupyter"),
        "JUPYTER_DATA_DIR": str(base / "jupyter"),
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    for expected in ("1 runs: 1 done, 0 skipped, 0 failed", "1 runs: 0 done, 1 skipped, 0 failed"):
        words = [scenarios, "--out", base / "out"]
        with command(base / "notebooks", *words, environment=environment, cwd="/proc") as process:
            text, errors = process.communicate(timeout=180)
        assert (process.returncode, errors) == (0, "")
        assert text.splitlines()[-1] == expected
    assert (base / "out" / "größe ∞" / "fig01.csv").exists()
    assert untrue(base / "out") == []
    assert '"größe%20' not in (base / "out" / "index.html").read_text(encoding="utf-8")
    assert "gr%C3%B6%C3%9Fe%20%E2%88%9E/fig01.png" in (base / "out" / "index.html").read_text(encoding="utf-8")
    assert "größe ∞,fig01" in (base / "out" / "results.csv").read_text(encoding="utf-8")
