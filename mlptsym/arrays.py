"""Arrays that users give, and cumulative sums that keep their digits."""

from __future__ import annotations

from collections.abc import Sized
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation

__all__ = ["floats", "running_sum"]

Floats = NDArray[np.float64]


def floats(name: str, values: Any, *, above: float | None = None, finite: bool = False) -> Floats:
    """A number or an array of numbers as an array of floats, each >= 0 (or > ``above``).

    Examples
    --------
    >>> floats("x", [1, 2.5]).tolist()
    [1.0, 2.5]
    >>> floats("x", [1, -2])
    Traceback (most recent call last):
    mlptsym.validation.ParameterError: x = -2.0 is not allowed: it must be a number >= 0, or an array of such
    """
    bound = ">= 0" if above is None else f"> {above:g}"
    allowed = f"a {'finite ' if finite else ''}number {bound}, or an array of such"
    plain = type(values) is np.ndarray and values.dtype == np.float64
    array: Floats = values.copy() if plain else _as_floats(name, values, allowed)
    right = array >= 0 if above is None else array > above
    if finite:
        right &= np.isfinite(array)
    if not right.all():
        validation.refuse(name, float(array[~right][0]), allowed)
    return array


def _as_floats(name: str, values: Any, allowed: str) -> Floats:
    """Numbers of any kind as floats, of which the range is not looked at."""
    if not isinstance(values, np.ndarray) and isinstance(values, Sized) and len(values) > validation.LONGEST:
        validation.refuse(name, values, f"{allowed}, as a NumPy array where there are over {validation.LONGEST}")
    if np.ma.is_masked(values):
        validation.refuse(name, values, f"{allowed}, none of them masked")
    try:
        array = np.asarray(values)
        numeric = array.dtype.kind in "iuf" or (
            array.dtype.kind == "O" and all(isinstance(v, Real) and not isinstance(v, bool) for v in array.ravel())
        )
        with np.errstate(over="ignore"):
            as_floats: Floats | None = array.astype(float) if numeric else None
    except (TypeError, ValueError, OverflowError):
        as_floats = None
    if as_floats is None:
        validation.refuse(name, values, allowed)
    return as_floats


def running_sum(terms: Floats) -> Floats:
    """Cumulative sums along the first axis, about as accurate as if added up with twice the digits.

    Each addition of ``cumsum`` has a rounding error that is itself a double, which Knuth's two-sum recovers (Higham,
    Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.3); their sum is added to the result.

    Examples
    --------
    >>> bool(running_sum(np.array([1.0, 1e-16, 1e-16, 1e-16]))[-1] > 1)
    True
    """
    sums = np.cumsum(terms, axis=0)
    before = np.zeros_like(sums)
    before[1:] = sums[:-1]
    added = sums - before
    errors = (before - (sums - added)) + (terms - added)
    return sums + np.cumsum(errors, axis=0)
