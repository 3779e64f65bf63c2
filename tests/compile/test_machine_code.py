"""Compiled loops come from Numba's cache, and do without where it is damaged or cannot be written."""

import errno
import threading
from pathlib import Path
from typing import Any

import filelock
import numba.core.caching
import numpy as np
import pytest

from mlptsym.compile import machine_code as module
from mlptsym.compile.machine_code import machine_code
from mlptsym.numeric.gittins import index as gittins


def compiled() -> Any:
    return machine_code.__wrapped__(gittins._hull, gittins._HULL_SIGNATURE)


def works(loop: Any) -> bool:
    """Two cells of which the second is the steeper: one edge."""
    served, completed = np.array([1.0, 1.0]), np.array([0.25, 0.5])
    edge_served, edge_completed, last = np.empty(2), np.empty(2), np.empty(2, np.int64)
    loop(served, completed, 1 - completed, edge_served, edge_completed, last)
    return (edge_served.tolist(), edge_completed.tolist(), last.tolist()) == ([1.75, 1.0], [0.625, 0.5], [1, 1])


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))


def test_the_second_time_it_is_loaded() -> None:
    assert compiled().stats.cache_misses
    assert compiled().stats.cache_hits
    assert works(compiled())


def lock_of(folder: Path) -> filelock.BaseFileLock:
    """The lock of the cache, once something has been compiled."""
    (place,) = {path.parent for path in folder.rglob("*.nbi")}
    return filelock.FileLock(place / module._LOCK, thread_local=False)


def test_one_fills_the_cache_while_others_wait(tmp_path: Path) -> None:
    compiled()
    found: list[Any] = []
    with lock_of(tmp_path):
        for path in [*tmp_path.rglob("*.nb[ci]")]:
            path.unlink()
        waiting = threading.Thread(target=lambda: found.append(compiled()))
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
        assert not list(tmp_path.rglob("*.nb[ci]"))
    waiting.join(30)
    assert found[0].stats.cache_misses
    assert works(found[0])
    assert compiled().stats.cache_hits


def test_a_lock_that_is_never_released_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled()
    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    with lock_of(tmp_path):
        for path in [*tmp_path.rglob("*.nb[ci]")]:
            path.unlink()
        assert works(compiled())


def test_a_filled_cache_is_not_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled()
    monkeypatch.delattr(module, "_alone")
    assert compiled().stats.cache_hits


def test_a_cache_that_cannot_be_locked_serves(tmp_path: Path) -> None:
    compiled()
    lock = Path(lock_of(tmp_path).lock_file)
    lock.unlink(missing_ok=True)
    lock.mkdir()
    assert compiled().stats.cache_hits


@pytest.mark.parametrize("content", [b"", b"\x80\x05garbage", None], ids=["empty", "garbage", "truncated"])
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_cache_is_mended(suffix: str, content: bytes | None, tmp_path: Path) -> None:
    compiled()
    (file,) = tmp_path.rglob(f"*.{suffix}")
    file.write_bytes(file.read_bytes()[:-100] if content is None else content)
    mended = compiled()
    assert not mended.stats.cache_hits
    assert works(mended)
    assert compiled().stats.cache_hits


@pytest.mark.parametrize("obstacle", ["no folder", "full disk"])
def test_nowhere_to_write_a_cache(obstacle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if obstacle == "no folder":
        monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    else:
        monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "_open_for_write", fail)
    assert works(compiled())
