"""Random single changes to the code, one at a time: which ones do the tests not notice?

    python tests/mutation_run.py --changes 600 --workers 2

The whole suite is run once under coverage, to learn which tests execute which lines and how long each takes.  Then
each change is made in a copy of the project, and the tests that execute the changed line (of a module's constant: a
line that names it) are run there, quickest first, until one fails.  What is left at the end is tried once more with all
tests of the files that those are in, or that are named like the module: they may run it in another process.  A change that no test notices must stand in
`tests/mutation_survivors` with the reason why it changes nothing that could be noticed; otherwise the run fails.
Results are kept as they come in the work folder, and a run that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from code_mutations import Change, sites

ROOT = Path(__file__).parents[1]
FOLDERS = ("symbolic", "compile", "numeric", "laws", "memory", "simulation", "studies", "fitting", "figures", "batch")
SURVIVORS = ROOT / "tests" / "mutation_survivors"
NOT_COPIED = (".git", ".venv", ".bench", "__pycache__", ".*_cache", ".hypothesis", "build", "dist")


def changes(count: int, seed: int, folders: Iterable[str]) -> list[Change]:
    """So many of all changes to the files of some folders: those whose names have the lowest digests.

    A change that is drawn today is drawn again as long as its line stands, whatever else is edited.
    """
    files = sorted(path for folder in folders for path in (ROOT / "mlptsym" / folder).rglob("*.py"))
    possible = [change for path in files for change in sites(ROOT, path)]
    return sorted(possible, key=lambda change: hashlib.sha256(f"{seed} {change.name}".encode()).digest())[:count]


def pytest_in(folder: Path, words: list[str], seconds: float | None = None, **variables: str) -> int:
    """Exit code of pytest in a copy of the project; 1 if it takes longer."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    with (
        (folder / "pytest.log").open("wb") as log,
        subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as process,
    ):
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return 1


def copied(place: Path) -> Path:
    """A copy of the project as it stands in the work tree."""
    shutil.copytree(ROOT, place, ignore=shutil.ignore_patterns(*NOT_COPIED), dirs_exist_ok=True)
    return place


def learned(work: Path, workers: int, tests: list[str]) -> tuple[dict[str, dict[int, list[str]]], dict[str, float]]:
    """Tests by file and line of the package, and how long each takes; from one run of the suite."""
    known = work / "coverage.json"
    if not known.exists():
        copy, parts = copied(work / "whole"), work / "parts"
        parts.mkdir(exist_ok=True)
        words = ["-n", str(workers), "--dist", "loadscope", "-p", "mutation_coverage", *tests]
        paths = os.pathsep.join([str(copy), str(copy / "tests")])
        pytest_in(copy, words, MLPTSYM_COVERAGE=str(parts), PYTHONPATH=paths)
        lines: dict[str, dict[str, list[str]]] = {}
        seconds: dict[str, float] = {}
        for part in sorted(parts.glob("*.json")):
            found = json.loads(part.read_text(encoding="utf-8"))
            seconds |= found["seconds"]
            for file, by_line in found["lines"].items():
                for line, names in by_line.items():
                    lines.setdefault(file, {}).setdefault(line, []).extend(names)
        known.write_text(json.dumps({"lines": lines, "seconds": seconds}), encoding="utf-8")
    stored = json.loads(known.read_text(encoding="utf-8"))
    by_line = {file: {int(line): tests for line, tests in rows.items()} for file, rows in stored["lines"].items()}
    return by_line, stored["seconds"]


def watching(change: Change, lines: dict[str, dict[int, list[str]]], seconds: dict[str, float]) -> list[list[str]]:
    """Tests to run for a change, in rounds: those that execute the line, and all in the files that should know."""
    places = {(change.path, change.line)}
    if change.function == "module" and (constant := re.match(r"[A-Z_0-9]+\b", change.statement)):
        places |= naming(constant[0])
    here = [
        test
        for test in {test for path, line in places for test in lines.get(path, {}).get(line, [])}
        if test in seconds
    ]
    stem = Path(change.path).stem
    files = {test.partition("::")[0] for test in here}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if stem in path.stem or f".{stem} import" in path.read_text(encoding="utf-8"):
            files.add(path.relative_to(ROOT).as_posix())
    further = [test for test in seconds if test.partition("::")[0] in files and test not in set(here)]
    return [sorted(tests, key=seconds.__getitem__) for tests in (here, further)]


def naming(constant: str) -> set[tuple[str, int]]:
    """Files and lines of the package that name a constant."""
    found = set()
    for path in sorted((ROOT / "mlptsym").rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(rf"\b{constant}\b", line):
                found.add((path.relative_to(ROOT).as_posix(), number))
    return found


def noticed(change: Change, copy: Path, tests: list[str], seconds: dict[str, float]) -> bool:
    """Whether one of some tests fails in a copy of the project with the change."""
    if not tests:
        return False
    target, wanted = copy / change.path, copy / "tests.json"
    original = target.read_bytes()
    target.write_bytes(change.applied(original))
    try:
        wanted.write_text(json.dumps(tests), encoding="utf-8")
        files = sorted({test.partition("::")[0] for test in tests})
        limit = 60 + 5 * sum(seconds[test] for test in tests)
        words = ["-x", "-p", "mutation_coverage", *files]
        paths = os.pathsep.join([str(copy), str(copy / "tests")])
        return pytest_in(copy, words, limit, MLPTSYM_WANTED=str(wanted), PYTHONPATH=paths) != 0
    finally:
        target.write_bytes(original)


def excused() -> dict[str, str]:
    """Survivors that change nothing that could be noticed, with the reason: lines "name  # reason", a file a folder."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(SURVIVORS.glob("*.txt"))]
    rows = [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]
    return {name: reason for name, _, reason in (row.partition("  # ") for row in rows)}


def main() -> int:
    """Run the changes; the exit code is 1 if one is not noticed and not excused."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--changes", type=int, default=600, help="how many changes are drawn")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other changes")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="changes tried at once")
    parser.add_argument("--folders", nargs="+", default=FOLDERS, help="folders of the package")
    parser.add_argument("--work", type=Path, help="folder for copies and results; a temporary one unless given")
    parser.add_argument("--tests", nargs="+", default=[], help="what pytest is given; the whole suite unless given")
    given = parser.parse_args()
    work = given.work or Path(tempfile.mkdtemp(prefix="mutations-"))
    work.mkdir(parents=True, exist_ok=True)
    lines, seconds = learned(work, given.workers, given.tests)
    drawn = changes(given.changes, given.seed, given.folders)
    results = work / "results.jsonl"
    done = dict(map(json.loads, results.read_text(encoding="utf-8").splitlines())) if results.exists() else {}
    copies: SimpleQueue[Path] = SimpleQueue()
    for worker in range(given.workers):
        copies.put(copied(work / f"copy{worker}"))

    def tried(change: Change, number: int) -> bool:
        key = f"{number} {change.name}"
        if key not in done:
            copy = copies.get()
            try:
                done[key] = noticed(change, copy, watching(change, lines, seconds)[number], seconds)
            finally:
                copies.put(copy)
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, done[key]]) + "\n")
        return done[key]

    excuses = excused()
    left = [change for change in drawn if change.name not in excuses]
    with ThreadPoolExecutor(given.workers) as pool:
        for number, words in enumerate(("not noticed where it is executed", "not noticed")):
            found = pool.map(tried, left, [number] * len(left))
            left = [change for change, seen in zip(left, found, strict=True) if not seen]
            sys.stdout.writelines(f"{words}: {change.name}\n" for change in left)
            sys.stdout.flush()
    sys.stdout.write(
        f"{len(drawn)} changes, {sum(change.name in excuses for change in drawn)} that cannot be noticed, "
        f"{len(left)} of the others not noticed (work folder: {work})\n"
    )
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
