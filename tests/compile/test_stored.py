"""Sources of compiled formulas on disk: another formula has another place, and a cache that is of no use is done without."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mlptsym
from mlptsym.compile import stored
from mlptsym.compile.record import compiled
from mlptsym.compile.stored import load, store

PACKAGE = Path(mlptsym.__file__).parent
REFERENCE = "mlptsym.symbolic.model.service:service_time_formula"
FUNCTION = (("x",), ("y",), "def evaluate(*, x):\n    return (x,)\n")
# E[T] of a queue with restore costs, and whether SymPy was needed
ASK = """
import sys
import mlptsym as mq
queue = mq.Queue(mq.Exponential(1.0), 0.5, 1.5, 0.5, 0.1)
print(mq.mean_response_time(queue, mq.MLPT(quantum=1.0, levels=3)), "sympy" in sys.modules)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLPTSYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def answer(package: Path, cache: Path) -> tuple[float, bool]:
    """What a fresh process answers with a copy of the package."""
    environment = os.environ | {"PYTHONPATH": str(package.parent), "MLPTSYM_CACHE": str(cache)}
    words = [sys.executable, "-c", ASK]
    done = subprocess.run(words, env=environment, cwd=package.parent, capture_output=True, text=True, check=True)
    value, loaded = done.stdout.split()
    return float(value), loaded == "True"


def copied(place: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", "ledger", "figures", "site", "batch")
    return Path(shutil.copytree(PACKAGE, place / "mlptsym", ignore=ignored))


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.json"))


def test_a_second_process_needs_no_sympy_and_an_altered_sign_is_another_formula(tmp_path: Path) -> None:
    """The sign of the restore cost in the piece that the discipline states."""
    package, cache = copied(tmp_path), tmp_path / "cache"
    first = answer(package, cache)
    known = files(cache)
    assert first[1]
    assert answer(package, cache) == (first[0], False)
    assert files(cache) == known
    discipline = package / "symbolic" / "policies" / "discipline.py"
    text = discipline.read_text(encoding="utf-8")
    right, wrong = "return restore_cost(index - 1) + ", "return -restore_cost(index - 1) + "
    assert text.count(right) == 1
    discipline.write_text(text.replace(right, wrong), encoding="utf-8")
    altered = answer(package, cache)
    assert altered[1]
    assert abs(altered[0] / first[0] - 1) > 0.01
    assert {path.parent for path in files(cache)} > {path.parent for path in known}
    discipline.write_text(text, encoding="utf-8")
    assert answer(package, cache) == (first[0], False)


def test_what_was_kept_is_found(folder: Path) -> None:
    store(REFERENCE, (2, "a", True, int), FUNCTION)
    assert load(REFERENCE, (2, "a", True, int)) == FUNCTION
    for others in ((2, "a", True, float), (2, "a", False, int), (3, "a", True, int), ((2, "a"), True, int), ()):
        assert load(REFERENCE, others) is None
    assert load(REFERENCE + "_", (2, "a", True, int)) is None


def test_a_damaged_file_is_made_again(folder: Path) -> None:
    compiled.cache_clear()
    expected = compiled(REFERENCE)(size=3.0, threshold=2.0, factor=0.5)
    (file,) = files(folder)
    whole = file.read_bytes()
    for content in (b"", whole[:-9], whole.replace(b"factor", b"factory"), b"\xff\xfe", json.dumps(FUNCTION).encode()):
        file.write_bytes(content)
        assert load(REFERENCE, ()) is None
        compiled.cache_clear()
        assert compiled(REFERENCE)(size=3.0, threshold=2.0, factor=0.5) == expected
        assert file.read_bytes() == whole


def test_a_folder_that_others_may_write_to_is_not_used(folder: Path) -> None:
    store(REFERENCE, (), FUNCTION)
    assert load(REFERENCE, ()) == FUNCTION
    (place,) = (path for path in folder.iterdir() if path.is_dir())
    assert place.stat().st_mode & 0o777 == 0o700
    for mode in (0o720, 0o702):
        place.chmod(mode)
        assert load(REFERENCE, ()) is None


def test_where_nothing_can_be_kept_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for named in ("", str(tmp_path / "file"), str(tmp_path / "file" / "below"), "/proc/nowhere"):
        monkeypatch.setenv("MLPTSYM_CACHE", named)
        store(REFERENCE, (), FUNCTION)
        assert load(REFERENCE, ()) is None
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_is_not_the_same_in_every_process_is_not_kept(folder: Path) -> None:
    store(REFERENCE, (object(),), FUNCTION)
    assert files(folder) == []


def test_old_versions_are_forgotten(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        monkeypatch.setattr(stored, "_version", lambda number=number: f"version{number}")
        store(REFERENCE, (), FUNCTION)
        (folder / f"version{number}").touch()
        os.utime(folder / f"version{number}", (number, number))
    assert sorted(path.name for path in folder.iterdir()) == ["version3", "version4", "version5", "version6"]
