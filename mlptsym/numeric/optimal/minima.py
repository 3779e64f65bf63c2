"""All local minima of a function of one variable whose slope, kinks and jumps are known.

The function is smooth between breaks.  It is sampled with its slope, and intervals that may hold a minimum near the
best one found are divided until no break is left inside and the slope is almost linear across them.  A sign change of
the slope is then read off a Chebyshev interpolant of the slope, and the value there off its integral.  Where the
interpolant has not converged, the place is confirmed by the signs on both sides of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["Curve", "Minimum", "local_minima"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
# (points, whether the left limit is meant) ↦ values, slopes
Curve = Callable[[Floats, Flags], tuple[Floats, Floats]]

ROUNDS = 60
BREAKS_AT_ONCE = 256
LISTED_BREAKS = 32
FEW = 4
NARROW = 1e-7  # intervals shorter than this part of their place are not divided further
ALMOST_LINEAR = 0.3
# a slope that is a parabola is monotone while the curvature is within 1/6 of its change; half of that
MONOTONE = 1 / 12
ROUNDING = 1e-13
NODES = 12
CONVERGED = 1e-10  # last coefficients, as part of the largest: the root is then off by a thousandth of that
SHORT = 1e-7  # half the length, as part of the place, across which a slope is linear to all digits


@dataclass(frozen=True)
class Minimum:
    """A local minimum: where, how low, and whether the function is smooth there."""

    at: float
    value: float
    smooth: bool


@dataclass(frozen=True)
class _Samples:
    """Points with value and slope on both sides, which differ at breaks only."""

    at: Floats
    value: Floats
    slope: Floats
    value_left: Floats
    slope_left: Floats
    is_break: Flags

    @classmethod
    def take(cls, curve: Curve, at: Floats, is_break: Flags) -> _Samples:
        left = np.zeros(len(at) + int(is_break.sum()), dtype=bool)
        left[len(at) :] = True
        values, slopes = curve(np.concatenate([at, at[is_break]]), left)
        value, slope = values[: len(at)], slopes[: len(at)]
        value_left, slope_left = value.copy(), slope.copy()
        value_left[is_break], slope_left[is_break] = values[len(at) :], slopes[len(at) :]
        return cls(at, value, slope, value_left, slope_left, is_break)

    def merged(self, more: _Samples) -> _Samples:
        columns = [np.concatenate([getattr(self, f.name), getattr(more, f.name)]) for f in fields(self)]
        order = np.argsort(columns[0], kind="stable")
        return _Samples(*(column[order] for column in columns))


def local_minima(
    curve: Curve, start: Floats, breaks: Floats, *, jumps: bool, within: float, most: int
) -> list[Minimum]:
    """Local minima inside the range of ``start``, the lowest first.

    Parameters
    ----------
    curve : callable
        The function: values > 0, which may be ``inf``, and slopes, one-sided at breaks.  At a jump it takes the lower
        of both limits.
    start : array
        First points, increasing, so dense that every feature of the smooth parts shows.
    breaks : array
        All kinks and jumps, increasing; those among ``start`` are recognised.
    jumps : bool
        Whether there are jumps.
    within : float
        Local minima that are higher than the lowest by more than this part of it may be missing.
    most : int
        Number of points after which no further are taken.

    Returns
    -------
    list of Minimum
    """
    samples = _Samples.take(curve, start, np.isin(start, breaks))
    for _ in range(ROUNDS):
        lower = np.minimum(samples.value, samples.value_left)
        finite = lower[np.isfinite(lower)]
        if not len(finite) or len(samples.at) > most:
            break
        at, is_break = _refinement(samples, breaks, float(finite.min()), jumps=jumps, within=within)
        if not len(at):
            break
        samples = samples.merged(_Samples.take(curve, at, is_break))
    lower = np.minimum(samples.value, samples.value_left)
    lowest = int(np.argmin(lower))
    best = float(lower[lowest])
    found = _at_breaks(samples) + _between_samples(curve, samples, best * (1 + within))
    inside = 0 < lowest < len(samples.at) - 1
    if inside and np.isfinite(best) and not any(minimum.value <= best for minimum in found):
        # where the search was cut short
        found.append(Minimum(float(samples.at[lowest]), best, smooth=False))
    return sorted(found, key=lambda minimum: (minimum.value, minimum.at))


def _refinement(samples: _Samples, breaks: Floats, best: float, *, jumps: bool, within: float) -> tuple[Floats, Flags]:
    """Where to look next, and which of these points are breaks."""
    ceiling = best * (1 + within)
    low, high = samples.at[:-1], samples.at[1:]
    value_low, value_high = samples.value[:-1], samples.value_left[1:]
    slope_low, slope_high = samples.slope[:-1], samples.slope_left[1:]
    width = high - low
    with np.errstate(invalid="ignore"):
        steep, flat = (pick(np.abs(slope_low), np.abs(slope_high)) for pick in (np.maximum, np.minimum))
        change = value_high - value_low
        curvature = np.abs(change / width - (slope_low + slope_high) / 2)
        # a slope that is linear up to the curvature, or monotone, keeps its sign or changes it once
        settled = curvature <= ALMOST_LINEAR * np.where(slope_low * slope_high > 0, flat, steep)
        settled |= curvature <= MONOTONE * np.abs(slope_high - slope_low)
        settled |= curvature * width <= ROUNDING * np.abs(value_low)
        # how far it may go below both ends: a turn by the tangents, a wiggle by the curvature; small jumps add up
        turn = np.where((slope_low < 0) & (slope_high > 0), flat, 0.0)
        lowest = np.minimum(value_low, value_high) - width * (turn + curvature / 2 + steep / 10)
        if jumps:
            lowest -= np.abs(change)
        # the edge of stability, with a function that falls towards it
        towards_edge = np.isinf(value_low) & (slope_high > 0) & (value_high - width * slope_high <= ceiling)
        towards_edge |= np.isinf(value_high) & (slope_low < 0) & (value_low + width * slope_low <= ceiling)
        towards_edge &= width > 1e-3 * high
    first, last = np.searchsorted(breaks, low, side="right"), np.searchsorted(breaks, high, side="left")
    unseen = np.maximum(last - first, 0)
    with np.errstate(invalid="ignore"):
        wanted = (lowest <= ceiling) & np.isfinite(change)
        # breaks are the closer the smaller they are: only the largest are wanted for the list of minima alone
        breaks_wanted = wanted & ((last > len(breaks) - LISTED_BREAKS) | (lowest <= best))
    with_breaks = np.flatnonzero(breaks_wanted & (unseen > 0))
    divided = np.flatnonzero((wanted & (unseen == 0) & ~settled & (width > NARROW * high)) | towards_edge)
    picked = [
        breaks[first[i] + np.unique(np.linspace(0, unseen[i] - 1, min(unseen[i], BREAKS_AT_ONCE)).astype(int))]
        for i in with_breaks
    ]
    here = np.concatenate([*picked, np.empty(0)])
    # a few points take hardly longer than one
    parts = np.array([0.25, 0.5, 0.75] if len(divided) <= FEW else [0.5])
    between = np.add.outer(low[divided], np.zeros(len(parts))) + np.multiply.outer(width[divided], parts)
    at = np.concatenate([here, between.ravel()])
    order = np.argsort(at, kind="stable")
    return at[order], (np.arange(len(at)) < len(here))[order]


def _at_breaks(samples: _Samples) -> list[Minimum]:
    """Breaks that the function falls to and rises from."""
    lower = np.minimum(samples.value, samples.value_left)
    with np.errstate(invalid="ignore"):
        falls = (samples.value_left > lower) | (samples.slope_left < 0)
        rises = (samples.value > lower) | (samples.slope >= 0)
        lowest = samples.is_break & np.isfinite(lower) & falls & rises
    return [Minimum(float(samples.at[i]), float(lower[i]), smooth=False) for i in np.flatnonzero(lowest)]


def _between_samples(curve: Curve, samples: _Samples, ceiling: float) -> list[Minimum]:
    """Smooth minima that may lie below the ceiling: the slope changes sign between neighbouring samples."""
    with np.errstate(invalid="ignore"):
        turns = (samples.slope[:-1] <= 0) & (samples.slope_left[1:] > 0)
        fall = np.diff(samples.at) * np.minimum(-samples.slope[:-1], samples.slope_left[1:])
        brackets = np.flatnonzero(turns & (np.minimum(samples.value[:-1], samples.value_left[1:]) - fall <= ceiling))
    if not len(brackets):
        return []
    low, high = samples.at[brackets], samples.at[brackets + 1]
    nodes, to_coefficients = _interpolation()
    inner = ((low + high) / 2)[:, None] + ((high - low) / 2)[:, None] * nodes[1:-1]
    _, slopes = curve(inner.ravel(), np.zeros(inner.size, dtype=bool))
    table = np.column_stack([samples.slope[brackets], slopes.reshape(inner.shape), samples.slope_left[brackets + 1]])
    half = (high - low) / 2
    with np.errstate(invalid="ignore"):  # next to an edge of stability
        series = table @ to_coefficients.T
        places = np.array([_upward_root(row) for row in series])
        values = samples.value[brackets] + half * _integral(series, places)
    at = (low + high) / 2 + half * places
    size = np.abs(series)
    doubtful = ~(size[:, -2:].max(axis=1) <= CONVERGED * size.max(axis=1))
    if doubtful.any():
        at[doubtful], values[doubtful] = _confirmed(curve, at[doubtful], low[doubtful], high[doubtful])
    return [Minimum(float(x), float(value), smooth=True) for x, value in zip(at, values, strict=True)]


@lru_cache(maxsize=1)
def _interpolation() -> tuple[Floats, Floats]:
    """Chebyshev points on [−1, 1] and the matrix from values there to coefficients."""
    nodes: Floats = -np.cos(np.pi * np.arange(NODES) / (NODES - 1))
    inverse = np.linalg.inv(np.polynomial.chebyshev.chebvander(nodes, NODES - 1))
    return nodes, np.asarray(inverse, dtype=np.float64)


def _integral(series: Floats, places: Floats) -> Floats:
    """Integrals of Chebyshev series, one a row, from −1 to a place of each."""
    rows = zip(series, places, strict=True)
    chebyshev = np.polynomial.chebyshev
    return np.array([chebyshev.chebval(place, chebyshev.chebint(row, lbnd=-1)) for row, place in rows])


def _upward_root(coefficients: Floats) -> float:
    """A place in [−1, 1] where a Chebyshev series that goes from negative to positive does so; a guess, if need be."""
    if not np.isfinite(coefficients).all():
        return 0.0
    # the highest coefficient of a slope that is linear may be zero, and roots are found by dividing by it
    series = np.polynomial.chebyshev.chebtrim(coefficients)
    roots = np.polynomial.chebyshev.chebroots(series)
    slope = np.polynomial.chebyshev.chebval(roots, np.polynomial.chebyshev.chebder(series))
    real = (np.abs(roots.imag) < 1e-8) & (np.abs(roots.real) <= 1) & (slope.real > 0)
    if real.any():
        return float(roots[real].real[0])
    negative = coefficients @ np.where(np.arange(NODES) % 2, -1.0, 1.0)
    positive = coefficients.sum()
    return float((negative + positive) / (negative - positive))


def _confirmed(curve: Curve, guesses: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Places between ``low`` and ``high`` where the slope changes sign, from guesses, and the values there.

    The sign is seen to change inside a short interval around each place; across it the slope is linear to all digits.
    A guess that is off is replaced by bisection.
    """
    low, high, at = low.copy(), high.copy(), guesses.copy()
    values = np.full(len(at), np.nan)
    pending = np.arange(len(at))
    while len(pending):
        margin = SHORT * high[pending]
        points = np.stack([at[pending] - margin, at[pending], at[pending] + margin])
        points = points.clip(low[pending], high[pending])
        flat = curve(points.ravel(), np.zeros(points.size, dtype=bool))
        value, slope = (part.reshape(points.shape) for part in flat)
        values[pending] = value[1]
        for point, negative in zip(points, slope < 0, strict=True):
            low[pending[negative]] = np.maximum(low[pending[negative]], point[negative])
            high[pending[~negative]] = np.minimum(high[pending[~negative]], point[~negative])
        seen = (slope[0] < 0) & (slope[2] >= 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            root = points[0] - slope[0] * (points[2] - points[0]) / (slope[2] - slope[0])
        middle = (low[pending] + high[pending]) / 2
        at[pending] = np.where(seen, root, middle)
        pending = pending[~seen & (high[pending] - low[pending] > 1e-15 * middle)]
    return at, values
