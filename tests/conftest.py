"""Settings every test shares; made before NumPy, matplotlib or Jupyter are imported."""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ["MPLBACKEND"] = "Agg"  # no window, no display server
os.environ["JUPYTER_PLATFORM_DIRS"] = "1"  # jupyter_core warns about its old folders otherwise
# One thread for each process: sums keep their order, and the workers share two cores.
for library in ("OMP", "OPENBLAS", "MKL", "VECLIB", "BLIS"):
    os.environ[f"{library}_NUM_THREADS"] = "1"
os.environ.setdefault("SYMPY_CACHE_SIZE", "20000")  # of each function; SymPy's 1000 makes it derive much twice
# Reference counts free nearly all; Python's default has all of SymPy's caches walked through for what little is left.
gc.set_threshold(100_000, 20, 100)
# What is compiled is kept for this run alone, and shared by its workers and the commands they start.
if "MLPTSYM_CACHE" not in os.environ:
    os.environ["MLPTSYM_CACHE"] = tempfile.mkdtemp(prefix="mlptsym-")
    atexit.register(shutil.rmtree, os.environ["MLPTSYM_CACHE"], ignore_errors=True)
# Commands shown to users are run as written: `mlptsym` is the one beside the running interpreter.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

collect_ignore = ["benchmarks"]  # run by `make bench`, some of it in another environment

settings.register_profile(
    "deterministic",
    derandomize=True,  # the same examples in every run
    deadline=None,  # a busy machine is not a failure
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],  # it looks at the clock as well
)
settings.load_profile("deterministic")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, so that no worker is left with it at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """What collecting has made stays to the end, and is looked at no more."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits without what takes most of the time: no distribution of the response time (percentiles are simulated then),
    and no law but one."""
    from mlptsym.fitting.laws import fit_laws

    monkeypatch.setattr("mlptsym.fitting.recommend._theory", lambda *_: (None, None))
    monkeypatch.setattr("mlptsym.fitting.fit.fit_laws", lambda sizes: fit_laws(sizes, ["Exponential"]))
