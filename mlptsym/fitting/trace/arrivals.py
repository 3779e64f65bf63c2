"""How the requests of a trace arrive: their rate, and how far they are from a Poisson process.

The theory takes arrivals to be Poisson: gaps between them exponential, independent of each other, at a constant rate.
Each of these has a test here, and a number that says how large the departure is, since in a long trace the smallest is
significant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym.arrays import floats
from mlptsym.validation import LARGEST, SMALLEST, integer, number, numbers, refuse

__all__ = [
    "ArrivalStatistics",
    "Departure",
    "arrival_statistics",
    "arrival_times",
    "dispersion_indices",
    "lewis_test",
    "ljung_box_test",
    "size_dependence",
]

Floats = NDArray[np.float64]

FEWEST_ARRIVALS = 10
WINDOWS = (10.0, 100.0, 1000.0)  # in mean gaps
FEWEST_WINDOWS = 8
LAGS = 20
MOST_WINDOWS, MOST_LAGS = 10**7, 1000
SIGNIFICANT = 1e-3
# Gap CVs and indices of dispersion (one for Poisson) that are close to Poisson, and far from it.
CLOSE, FAR = 1.25, 2.0


@dataclass(frozen=True)
class Departure:
    """The result of a test that the arrivals are Poisson: its statistic, and how likely one so large is if they are."""

    statistic: float
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether the p-value is below 0.001."""
        return self.p_value < SIGNIFICANT


@dataclass(frozen=True)
class ArrivalStatistics:
    """Rate of arrivals and departures from Poisson.

    Attributes
    ----------
    arrivals : int
    span : float
        Seconds from the first arrival to the last.
    rate : float
        Gaps over span, per second.
    gap_cv : float
        Standard deviation over mean of the gaps: one for Poisson, larger for bursts.
    dispersion : tuple of (float, float)
        Window in seconds, and variance over mean of the number of arrivals in such windows: one for Poisson.  A value
        that grows with the window is a rate that changes.
    exponential_gaps : Departure
        Lewis's test that gaps are exponential.
    independent_gaps : Departure
        Ljung and Box's test on the ranks of the gaps.
    simultaneous : float
        Part of the gaps that are zero.
    largest_gap : float
        The largest gap as a part of the span.
    """

    arrivals: int
    span: float
    rate: float
    gap_cv: float
    dispersion: tuple[tuple[float, float], ...]
    exponential_gaps: Departure
    independent_gaps: Departure
    simultaneous: float
    largest_gap: float

    @property
    def departure(self) -> str:
        """How far from Poisson: "none", "mild" or "strong".

        "strong" if the gaps' CV or an index of dispersion is beyond 2 or below 1/2, whatever the cause; "none" if no
        test is significant and all of these are between 0.8 and 1.25; otherwise "mild".  A number that differs from one
        by less than three standard deviations of what Poisson arrivals give (1/√gaps for the CV, √(2/(windows − 1)) for
        an index) does not count.
        """
        numbers = [(self.gap_cv, math.sqrt(1 / (self.arrivals - 1)))]
        numbers += [(index, math.sqrt(2 / (self.span // window - 1))) for window, index in self.dispersion]
        telling = [value for value, deviation in numbers if abs(value - 1) > 3 * deviation]
        furthest = max((max(value, 1 / value if value > 0 else math.inf) for value in telling), default=1.0)
        if furthest > FAR:
            return "strong"
        tests = (self.exponential_gaps, self.independent_gaps)
        return "mild" if furthest > CLOSE or any(test.significant for test in tests) else "none"


def arrival_statistics(times: ArrayLike) -> ArrivalStatistics:
    """Rate and departures from Poisson of arrival times.

    Parameters
    ----------
    times : array of float, shape (arrivals,)
        In seconds, non-decreasing.

    Raises
    ------
    ParameterError
        If there are fewer than ten, they decrease, or they are all the same.

    Examples
    --------
    >>> poisson = np.cumsum(np.random.default_rng(2).exponential(0.5, 5000))
    >>> statistics = arrival_statistics(poisson)
    >>> round(statistics.rate, 2), round(statistics.gap_cv, 2), statistics.departure
    (2.03, 0.99, 'none')
    """
    array = arrival_times("times", times)
    gaps = np.diff(array)
    span = float(array[-1] - array[0])
    mean = span / gaps.size
    return ArrivalStatistics(
        arrivals=array.size,
        span=span,
        rate=1 / mean,
        gap_cv=float(gaps.std()) / mean,
        dispersion=dispersion_indices(array, [multiple * mean for multiple in WINDOWS]),
        exponential_gaps=lewis_test(gaps),
        independent_gaps=ljung_box_test(gaps),
        simultaneous=float((gaps == 0).mean()),
        largest_gap=float(gaps.max()) / span,
    )


def arrival_times(name: str, times: ArrayLike) -> Floats:
    """Arrival times as an array, if they are as `arrival_statistics` needs them.

    Raises
    ------
    ParameterError
        If they are not.
    """
    array = _amounts(name, times, FEWEST_ARRIVALS)
    if (np.diff(array) < 0).any():
        refuse(name, times, "non-decreasing")
    if not array[-1] - array[0] >= SMALLEST * (array.size - 1):
        refuse(name, float(array[0]), "not the same for every request, nor almost so")
    return array


def _amounts(name: str, values: ArrayLike, fewest: int) -> Floats:
    array = floats(name, values, finite=True)
    if array.ndim != 1 or array.size < fewest:
        refuse(name, values, f"a one-dimensional sequence of at least {fewest} numbers")
    if array.max() > LARGEST:
        refuse(name, float(array.max()), f"numbers of at most {LARGEST:g}")
    return array


def dispersion_indices(times: ArrayLike, windows: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Variance over mean of the number of arrivals in windows of one length, for each length that fits eight times.

    Parameters
    ----------
    times : array of float, shape (arrivals,)
        As for `arrival_statistics`.
    windows : sequence of float
        Lengths in the unit of the times; at most ten million of each fit.

    Raises
    ------
    ParameterError
        If a time or a length is outside its range.

    Examples
    --------
    >>> dispersion_indices(np.arange(0.5, 1000.0), [10.0, 500.0])
    ((10.0, 0.0),)
    """
    times = arrival_times("times", times)
    span = float(times[-1] - times[0])
    found = []
    for window in numbers("windows", windows, at_least=span / MOST_WINDOWS, minimum_length=0):
        whole = int(span // window)
        if whole >= FEWEST_WINDOWS:
            places = ((times - times[0]) / window).astype(np.int64)
            counts = np.bincount(places[places < whole], minlength=whole)
            found.append((window, float(counts.var(ddof=1) / counts.mean())))
    return tuple(found)


def size_dependence(times: ArrayLike, sizes: ArrayLike, window: float = WINDOWS[1]) -> Departure | None:
    """Whether requests are larger or smaller when more of them arrive, which the theory takes them not to be.

    Spearman's correlation between the number of arrivals in windows and the mean size there, and its p-value; windows
    of 100 mean gaps, None if fewer than eight fit or one of the two never changes.

    Parameters
    ----------
    times : array of float, shape (requests,)
        As for `arrival_statistics`.
    sizes : array of float, shape (requests,)
    window : float
        In mean gaps; at most ten million of them fit.

    Raises
    ------
    ParameterError
        If a number is outside its range, or there are not as many sizes as times.

    Examples
    --------
    >>> times, sizes = np.repeat(np.arange(40.0), [50, 150] * 20), np.repeat([5.0, 2.0] * 20, [50, 150] * 20)
    >>> round(size_dependence(times, sizes, window=100.0).statistic, 3)
    -1.0
    """
    from scipy.stats import spearmanr

    times = arrival_times("times", times)
    sizes = _amounts("sizes", sizes, 1)
    if sizes.size != times.size:
        refuse("sizes", sizes, f"as many numbers as there are times ({times.size})")
    window = number("window", window, at_least=(times.size - 1) / MOST_WINDOWS, at_most=LARGEST)
    length = window * float(times[-1] - times[0]) / (times.size - 1)
    whole = int((times[-1] - times[0]) // length)
    places = ((times - times[0]) / length).astype(np.int64)
    counts = np.bincount(places, minlength=whole)[:whole]
    work = np.bincount(places, weights=sizes, minlength=whole)[:whole]
    means = work[counts > 0] / counts[counts > 0]
    counts = counts[counts > 0]
    if counts.size < FEWEST_WINDOWS or np.ptp(counts) == 0 or np.ptp(means) == 0:
        return None
    correlation, p_value = spearmanr(counts, means)
    return Departure(float(correlation), float(p_value))


def lewis_test(gaps: ArrayLike) -> Departure:
    """Lewis's test that gaps are independent and exponential, whatever their rate.

    With the gaps in increasing order, G_(1) ≤ … ≤ G_(n), the normalised spacings (n+1−j)(G_(j) − G_(j−1)) are again
    independent and exponential, so their partial sums over their total are ordered uniform numbers: Kolmogorov and
    Smirnov's test, with nothing estimated (Durbin 1961; Lewis 1965; Kim and Whitt, Choosing arrival process models for
    service systems, 2014).

    Raises
    ------
    ParameterError
        If there are fewer than two gaps, one is negative or infinite, or the largest is below 1e-30.
    """
    from scipy.stats import kstest

    ordered = np.sort(_amounts("gaps", gaps, 2))
    if not ordered[-1] >= SMALLEST:
        refuse("gaps", gaps, "not all zero, nor almost so")
    spacings = np.diff(ordered, prepend=0.0) * np.arange(ordered.size, 0, -1)
    sums = np.cumsum(spacings)
    result = kstest(sums[:-1] / sums[-1], "uniform", method="asymp")
    return Departure(float(result.statistic), float(result.pvalue))


def ljung_box_test(values: ArrayLike, lags: int = LAGS) -> Departure:
    """Ljung and Box's test that values are independent, on their ranks, so that a heavy tail does not matter.

    Q = n(n+2) Σ r_h²/(n−h) over ``lags`` lags, fewer for short traces, is χ² with as many degrees of freedom.

    Raises
    ------
    ParameterError
        If a value is negative, infinite or NaN, or ``lags`` is no whole number from 1 to 1000.
    """
    from scipy.stats import chi2, rankdata

    ranks = rankdata(_amounts("values", values, 1))
    lags = integer("lags", lags, at_least=1, at_most=MOST_LAGS)
    centred = ranks - ranks.mean()
    total, count = float(centred @ centred), centred.size
    lags = min(lags, count // 5)
    if total == 0 or lags < 1:
        return Departure(0.0, 1.0)
    correlations = np.array([float(centred[:-lag] @ centred[lag:]) / total for lag in range(1, lags + 1)])
    statistic = count * (count + 2) * float((correlations**2 / (count - np.arange(1, lags + 1))).sum())
    return Departure(statistic, float(chi2.sf(statistic, lags)))
