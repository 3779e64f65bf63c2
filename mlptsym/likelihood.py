"""Samples of sizes, some of them censored at a cap, and the parameters under which they are most likely.

Sizes at a cap are censored from the right: all that is known of such a job is that it would have been at least as
large. A sample counts here by its different values and how often each occurs, so that a million token counts cost no
more than the few thousand values among them.  Where nearly all of a great many sizes differ, the search for the
parameters takes neighbours together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym.arrays import floats
from mlptsym.validation import ParameterError, refuse

__all__ = ["HasLikelihood", "Sample", "improved", "log_likelihood", "root"]

Floats = NDArray[np.float64]

FEWEST_AT_CAP = 5
NEAR_THE_CAP = 0.9
CAP_FALSE_ALARM = 1e-3
MOST_VALUES = 20_000


class HasLikelihood(Protocol):
    """A law of sizes with a density."""

    def log_density(self, x: ArrayLike) -> Floats:
        """log f(x)."""

    def log_tail(self, x: ArrayLike) -> Floats:
        """log P(L > x)."""


Law = TypeVar("Law", bound=HasLikelihood)


@dataclass(frozen=True, eq=False)
class Sample:
    """Sizes by their different values.

    Attributes
    ----------
    values : array of float, shape (n,)
        Different sizes, increasing, without the cap.
    counts : array of int, shape (n,)
        How often each occurs.
    cap : float or None
        The size from which on sizes are censored; None if there is no sign of one.
    capped : int
        Sizes at the cap.
    at_maximum : int
        Sizes at the maximum, whether it is a cap or not.
    maximum : float
    """

    values: Floats
    counts: NDArray[np.int64]
    cap: float | None
    capped: int
    at_maximum: int
    maximum: float

    @classmethod
    def of(cls, sizes: ArrayLike) -> Sample:
        """The sample of an array of sizes.

        The maximum is taken for a cap if it occurs at least five times, and so often as would be seen once in a
        thousand times, were it as frequent as the mean of the values that occur in the uppermost tenth below it
        (Poisson counts).

        Examples
        --------
        >>> sample = Sample.of([3.0] * 4 + list(range(80, 100)) + [100.0] * 9)
        >>> sample.cap, sample.capped
        (100.0, 9)
        >>> Sample.of(range(1, 101)).cap is None
        True
        """
        from scipy.special import gammainc

        array = floats("sizes", sizes, above=0, finite=True)
        if array.ndim != 1 or not array.size:
            refuse("sizes", sizes, "a one-dimensional sequence of at least one number")
        values, counts = np.unique(array, return_counts=True)
        top = int(counts[-1])
        near = counts[:-1][values[:-1] >= NEAR_THE_CAP * values[-1]]
        usual = float(near.mean()) if near.size else 1.0
        unusual = top >= FEWEST_AT_CAP and float(gammainc(top, usual)) < CAP_FALSE_ALARM
        is_cap = unusual and len(values) > 2 and 2 * top < array.size
        maximum = float(values[-1])
        if is_cap:
            return cls(values[:-1], counts[:-1], maximum, top, top, maximum)
        return cls(values, counts, None, 0, top, maximum)

    def grouped(self) -> Sample:
        """The sample itself, or if more than 20 000 of its values differ, with neighbours replaced by their mean.

        The outermost hundredth of the values on either side stays as it is.  The sum of all sizes does not change.
        """
        if len(self.values) <= MOST_VALUES:
            return self
        first, last = len(self.values) // 100, len(self.values) - len(self.values) // 100
        between = np.linspace(first, last, MOST_VALUES, endpoint=False).astype(np.int64)
        starts = np.unique(np.concatenate([np.arange(first), between, np.arange(last, len(self.values))]))
        counts = np.add.reduceat(self.counts, starts)
        values = np.add.reduceat(self.values * self.counts, starts) / counts
        return replace(self, values=values, counts=counts)

    @property
    def observed(self) -> int:
        """Number of sizes that are known exactly."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """Number of sizes."""
        return self.observed + self.capped

    def total(self, function: Callable[[Floats], Floats]) -> float:
        """Sum of a function over all sizes, those at the cap with their value there."""
        return self.total_observed(function) + self.at_cap(function)

    def total_observed(self, function: Callable[[Floats], Floats]) -> float:
        """Sum of a function over the sizes that are known exactly."""
        return float(self.counts @ function(self.values))

    def at_cap(self, function: Callable[[Floats], Floats]) -> float:
        """Sum of a function over the sizes at the cap."""
        return 0.0 if self.cap is None else self.capped * float(function(np.array([self.cap]))[0])


def log_likelihood(sample: Sample, law: HasLikelihood) -> float:
    """Σ log f(L_i) + (number at the cap) log P(L > cap), with sizes as points of a continuous law."""
    return sample.total_observed(law.log_density) + sample.at_cap(law.log_tail)


def improved(sample: Sample, build: Callable[[Floats], Law], start: Sequence[float]) -> Law:
    """The law of greatest likelihood near some parameters, on scales where each may be any number."""
    from scipy.optimize import minimize

    def cost(parameters: Floats) -> float:
        try:
            likelihood = log_likelihood(sample, build(parameters))
        except (ParameterError, OverflowError):
            return math.inf
        return -likelihood if math.isfinite(likelihood) else math.inf

    if math.isinf(cost(np.asarray(start, dtype=np.float64))):
        refuse("start", start, "parameters of a law with a finite likelihood")
    found = minimize(
        cost,
        np.asarray(start, dtype=np.float64),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-9, "maxfev": 2000},
    )
    return build(found.x)


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of an increasing function on a logarithmic scale; an end of the range if there is none inside."""
    from scipy.optimize import brentq

    a, b = math.log(low), math.log(high)
    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    return math.exp(brentq(lambda log: function(math.exp(log)), a, b, xtol=1e-14, rtol=1e-14))
