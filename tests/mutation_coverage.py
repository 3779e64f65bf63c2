"""pytest plugin of `tests/mutation_run.py`: learns which test executes which line, or runs given tests in their order."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECONDS: dict[str, float] = {}
FAILED: set[str] = set()

if "MLPTSYM_COVERAGE" in os.environ:
    import coverage

    MEASURED: coverage.Coverage | None = coverage.Coverage(
        data_file=None, source=[str(ROOT / "mlptsym")], config_file=False, messages=False
    )
    MEASURED.start()
    MEASURED.switch_context("import")
else:
    MEASURED = None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Given tests only, in the order given."""
    if wanted := os.environ.get("MLPTSYM_WANTED"):
        place = {test: number for number, test in enumerate(json.loads(Path(wanted).read_text(encoding="utf-8")))}
        items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What is executed from now on belongs to this test."""
    if MEASURED:
        MEASURED.switch_context(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """How long a test took, and whether it is of use."""
    SECONDS[report.nodeid] = SECONDS.get(report.nodeid, 0.0) + report.duration
    if not report.passed:
        FAILED.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """One file for each process."""
    if MEASURED is None or not SECONDS:
        return
    MEASURED.stop()
    data = MEASURED.get_data()
    lines: dict[str, dict[int, list[str]]] = {}
    for file in data.measured_files():
        by_line = data.contexts_by_lineno(file)
        name = Path(file).relative_to(ROOT).as_posix()
        lines[name] = {line: sorted(set(tests) - {""}) for line, tests in by_line.items()}
    seconds = {test: time for test, time in SECONDS.items() if test not in FAILED}
    place = Path(os.environ["MLPTSYM_COVERAGE"]) / f"{os.getpid()}.json"
    place.write_text(json.dumps({"lines": lines, "seconds": seconds}), encoding="utf-8")
    sys.stdout.flush()
