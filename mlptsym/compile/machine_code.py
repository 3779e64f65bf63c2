"""Loops that NumPy cannot express, compiled by Numba and kept in its cache on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["machine_code"]

_LOCK = "mlptsym.lock"
_PATIENCE = 60.0  # seconds; no loop takes as long to compile


@cache
def machine_code(loop: Callable[..., Any], signature: str) -> Callable[..., Any]:
    """A loop over arrays as machine code that releases the interpreter's lock.

    It comes from Numba's cache on disk where there is a usable one.  Of several processes that need it at once while
    there is none, one fills the cache and the others wait.  A damaged cache is emptied and written again; without a
    place to write it, each process compiles anew (about a second).

    Parameters
    ----------
    loop : callable
        A function of the module level that Numba can compile.
    signature : str
        Its Numba signature, such as ``"void(float64[::1], int64)"``.

    Returns
    -------
    callable
        The compiled loop.
    """
    import numba

    def build(*, on_disk: bool) -> Callable[..., Any]:
        compiled: Callable[..., Any] = numba.njit(signature, nogil=True, cache=on_disk)(loop)
        return compiled

    # What a damaged file raises is not foreseeable; an error of the loop itself comes back below.
    with contextlib.suppress(Exception):
        cached: Any = numba.njit(cache=True)(loop)
        place = Path(cached.stats.cache_path)
        known = any(place.glob(f"*{loop.__name__}-*.nbi"))
        with contextlib.nullcontext() if known else _alone(place / _LOCK):
            try:
                return build(on_disk=True)
            except Exception:
                cached._cache.flush()
                return build(on_disk=True)
    return build(on_disk=False)


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Context that one process is in at a time, where files can be locked; a killed one leaves it as well."""
    import filelock

    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError, NotImplementedError):  # two caches written at once are mended
            held.enter_context(filelock.FileLock(lock, timeout=_PATIENCE))
        yield
