"""Loops that NumPy cannot express, compiled by Numba and kept in its cache on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["machine_code"]


@cache
def machine_code(loop: Callable[..., Any], signature: str) -> Callable[..., Any]:
    """A loop over arrays as machine code that releases the interpreter's lock.

    It comes from Numba's cache on disk where there is a usable one.  A damaged cache is emptied and written again;
    without a place to write it, each process compiles anew (about a second).

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

    try:
        return build(on_disk=True)
    except Exception:  # what a damaged file raises is not foreseeable; an error of the loop itself comes back below
        with contextlib.suppress(Exception):
            damaged: Any = numba.njit(cache=True)(loop)
            damaged._cache.flush()
            return build(on_disk=True)
        return build(on_disk=False)
