"""Local minima below many starts at once, of a function whose slopes step where a coordinate is on a break."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Descended", "descended"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
OneSided = Callable[[Floats, Flags], tuple[Floats, Floats]]

ITERATIONS = 200
STEP = 1e-6  # of the differences, in logarithms
ON_BREAK = 1e-9  # a coordinate this near to a break, in parts of it, is on it
FAR = 1e9  # coordinates stay within this ratio of the breaks and the starts
LONGEST, SHORTEST = 1.0, 1e-12  # steps along one eigenvector, in logarithms
APART = 1e-3  # neighbours stay apart by this much, in logarithms
NEARER = 0.75  # and do not lose more of their distance in one step
FLAT = 1e-14  # where a step promises less, in parts of the value, the descent is over


@dataclass(frozen=True)
class Descended:
    """Where the descents have ended, one column for each."""

    points: Floats
    values: Floats
    free: Flags  # Which coordinates lie on no break


@dataclass(frozen=True)
class _Place:
    """Points with what is known of the function around them; the last axis is that of the descents."""

    points: Floats
    values: Floats
    slopes: Floats  # In the logarithms of the coordinates, to the side on which a coordinate may move
    hessian: Floats  # In these logarithms
    # The breaks between which a coordinate may move, equal to it where it is a minimum on a break
    low: Floats
    high: Floats

    def at(self, columns: NDArray[np.int64] | Flags) -> _Place:
        return _Place(*(getattr(self, name)[..., columns] for name in self.__dataclass_fields__))

    def put(self, columns: NDArray[np.int64], other: _Place) -> None:
        for name in self.__dataclass_fields__:
            getattr(self, name)[..., columns] = getattr(other, name)

    def steps(self, longest: Floats) -> Floats:
        """Newton's steps, downhill in every eigenvector of the Hessian, and no longer than this in any."""
        fixed = self.low == self.high
        slopes = np.where(fixed, 0.0, self.slopes)
        hessian = np.where(fixed[:, None] | fixed, np.eye(len(fixed))[..., None], self.hessian)
        curvature, axes = np.linalg.eigh(np.moveaxis(hessian, -1, 0))
        along = np.einsum("mij,im->mj", axes, slopes)
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = np.where(along == 0, 0.0, along / np.abs(curvature))
        lengths = np.clip(lengths, -longest[:, None], longest[:, None])
        return np.where(fixed, 0.0, -np.einsum("mij,mj->im", axes, lengths))

    def moved(self, steps: Floats) -> Floats:
        """The points after these steps, or as far along them as cells and neighbours allow."""
        if len(steps) > 1:
            gaps, lost = np.diff(np.log(self.points), axis=0), -np.diff(steps, axis=0)
            allowed = np.minimum(NEARER * gaps, np.maximum(gaps - APART, 0.0))
            with np.errstate(divide="ignore", invalid="ignore"):
                part = np.where(lost > allowed, allowed / lost, 1.0).min(axis=0)
            steps = steps * part
        return np.clip(self.points * np.exp(steps), self.low, self.high)


def descended(function: OneSided, starts: Floats, breaks: Floats) -> Descended:
    """Follow a function of increasing positive numbers down from several starts.

    Parameters
    ----------
    function : callable
        Of points, an array with a column for each, and of an array of the same shape which says where the derivative
        to the right is wanted; gives the values, and the slopes to these sides.  A value may be infinite.
    starts : array, shape (n, m)
        Where the function is finite; increasing in each column.
    breaks : array
        Where the slope in a coordinate steps, increasing.

    Returns
    -------
    Descended
        Local minima, or where two coordinates would meet or one would leave the range, on which they are stopped.

    Notes
    -----
    Newton's method in the logarithms, with the Hessian by differences of the slopes inside the cell between breaks.
    Negative curvature is taken as positive (Nocedal and Wright, Numerical Optimization, 2nd ed., section 3.4), and the
    step along each eigenvector is bounded by a length that shrinks when the function did not fall.  A coordinate is
    stopped by a break, where it is fixed if the function rises to both sides, and which it crosses otherwise.  One call
    of the function for each step serves all descents.

    Examples
    --------
    >>> def function(x, right):  # |x − 2| + (x − 3)²/4
    ...     return np.abs(x[0] - 2) + (x[0] - 3) ** 2 / 4, np.where((x > 2) | right & (x == 2), 1, -1) + (x - 3) / 2
    >>> descended(function, np.array([[0.1, 2.9]]), np.array([2.0])).points.tolist()
    [[2.0, 2.0]]
    """
    known = np.append(breaks, starts)
    edges = np.concatenate([[known.min() / FAR], breaks, [known.max() * FAR]])
    here = _place(function, starts, np.ones(starts.shape, dtype=bool), edges)
    longest = np.full(starts.shape[1], LONGEST)
    going = np.arange(starts.shape[1])
    for _ in range(ITERATIONS):
        now = here.at(going)
        points = now.moved(now.steps(longest[going]))
        steps = np.log(points / now.points)
        on = -(now.slopes * steps).sum(axis=0) > FLAT * np.abs(now.values)
        going, now, points, steps = going[on], now.at(on), points[:, on], steps[:, on]
        if not len(going):
            break
        there = _place(function, points, points >= now.points, edges)
        lower = there.values < now.values
        here.put(going[lower], there.at(lower))
        lengths = np.abs(steps).max(axis=0)
        longest[going] = np.where(
            lower, np.minimum(4 * longest[going], LONGEST), np.minimum(longest[going], lengths) / 4
        )
        going = going[longest[going] > SHORTEST]
    return Descended(here.points, here.values, ~_on_edge(here.points, edges)[0])


def _on_edge(points: Floats, edges: Floats) -> tuple[Flags, NDArray[np.int64]]:
    """Which points are on an edge, and the number of the next edge that is not below."""
    place = np.searchsorted(edges * (1 + ON_BREAK), points)
    place = place.clip(0, len(edges) - 1)
    on: Flags = points >= edges[place] * (1 - ON_BREAK)
    return on, place


def _place(function: OneSided, points: Floats, right: Flags, edges: Floats) -> _Place:
    """The function at points and around them; ``right`` is the side to look at first where one is on a break."""
    count, columns = points.shape
    on, place = _on_edge(points, edges)
    points = np.where(on, edges[place], points)
    below, above = edges[(place - 1).clip(0)], edges[place]
    # differences towards the farther end of the cell
    right = np.where(on, right, points * points < below * above)
    steps = np.where(right, STEP, -STEP)
    around = np.repeat(points[:, None], count + 2, axis=1)
    row = np.arange(count)
    around[row, row] *= np.exp(steps)
    sides = np.repeat(right[:, None], count + 2, axis=1)
    sides[:, -1] = ~right
    values, slopes = function(around.reshape(count, -1), sides.reshape(count, -1))
    values = values.reshape(count + 2, columns)[-1]
    slopes = slopes.reshape(around.shape) * around
    hessian = (slopes[:, :count] - slopes[:, [count]]) / steps
    hessian = (hessian + hessian.swapaxes(0, 1)) / 2
    one, other = slopes[:, -2], slopes[:, -1]
    to_right, to_left = np.where(right, one, other), np.where(right, other, one)
    rising = on & (place < len(edges) - 1) & (to_right < 0)
    falling = on & ~rising & (place > 0) & (to_left > 0)
    return _Place(
        points,
        values,
        np.where(falling, to_left, to_right),
        np.where(np.isfinite(hessian), hessian, 0.0),
        np.where(on & ~falling, points, below),
        np.where(rising, edges[(place + 1).clip(0, len(edges) - 1)], above),
    )
