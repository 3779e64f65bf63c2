"""Arrival times that a coarse clock has written: found, and spread over what the clock could not tell apart.

A clock that ticks once in a second writes eight arrivals as one time; taken literally they would be a burst.  Such
times lie on a grid, or near it where stamps are taken a little late, or on several grids of one step where the logs of
several machines were merged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym.fitting.trace.arrivals import arrival_times
from mlptsym.validation import integer

__all__ = ["Clock", "find_clock"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

EXAMINED = 2**14  # arrivals in the spectrum
MOST_BINS = 2**22
BINS = 128  # of the phases
HOLE = 2  # so many empty bins do not part two grids
OFF_GRID = 0.02  # part of the arrivals that may lie elsewhere
WIDEST = 0.1  # part of a step within which the arrivals of all grids lie
MOST_GRIDS = 8
NARROWEST = 1e-6
DISTINGUISHED = 1000.0  # places of a grid in a step
PEAK, NEAR_PEAK = 0.5, 0.8
CHANCE = 1e-6  # that arrivals at random lie so close to a grid
# a step below this many mean gaps, over the square root of the number of arrivals, is too short for any test to see
TELLING = 1.0
FINE = 0.25  # in mean gaps: below it, ties that the clock does not explain are requests that came together
BEYOND, SHORT = 3.0, 0.1  # more, or fewer, times as many ties as arrivals at random would give are not the clock's


@dataclass(frozen=True)
class Clock:
    """The grid on which arrival times lie.

    Attributes
    ----------
    step : float
        In the unit of the times.
    offsets : tuple of float
        Of each grid, from the first arrival, in steps from 0 to 1: one, or several for merged clocks.
    width : float
        Part of a step within which the times lie, those around all grids together.
    ties : float
        Part of the arrivals that share their tick with the one before.
    """

    step: float
    offsets: tuple[float, ...]
    width: float
    ties: float

    def spread(self, times: ArrayLike, seed: int = 0) -> Floats:
        """The times, each moved to a random place of the step that begins at its tick, and put into order again.

        Parameters
        ----------
        times : array of float, shape (arrivals,)
            Those in which the clock was found.
        seed : int
            Of the places.

        Returns
        -------
        array of float, shape (arrivals,)
            From the first on, non-decreasing: the order of the arrivals stays.

        Raises
        ------
        ParameterError
            If the times are not as `mlptsym.fitting.trace.arrivals.arrival_statistics` needs them, or the seed is
            negative.
        """
        recorded = arrival_times("times", times)
        random = np.random.default_rng(integer("seed", seed, at_least=0))
        grid, tick = _ticks(recorded, self)
        places = np.sort(self.step * (tick + np.array(self.offsets)[grid] + random.random(recorded.size)))
        spread: Floats = places - places[0]
        return spread


def find_clock(times: ArrayLike) -> Clock | None:
    """The clock that has written arrival times, if it is so coarse that tests would see it; None otherwise.

    Parameters
    ----------
    times : array of float, shape (arrivals,)
        As for `mlptsym.fitting.trace.arrivals.arrival_statistics`.

    Returns
    -------
    Clock or None

    Raises
    ------
    ParameterError
        If there are fewer than ten times, they decrease, or they are all the same.

    Notes
    -----
    Candidates for the step are the smallest gap, and the largest peak in the spectrum of the arrivals with its first
    subharmonics; of those near whose grids all arrivals lie, that with the fewest ticks in a unit of time.  As many
    arrivals must share a tick as arrivals at random would, within a factor of ten: a regular stream has a grid and no
    ties.  If the step is short against the mean gap, they must not be three times as many as the ticks that follow upon
    each other let expect: batches on a fine clock have many ties and few such neighbours.

    Examples
    --------
    >>> poisson = np.cumsum(np.random.default_rng(1).exponential(1 / 8, 1000))
    >>> find_clock(np.floor(poisson)).step
    1.0
    >>> find_clock(poisson) is None
    True
    """
    recorded = arrival_times("times", times)
    from_first: Floats = recorded - recorded[0]
    return _found(from_first)


def _found(times: Floats) -> Clock | None:
    some = times[:EXAMINED]
    shortest = TELLING * float(times[-1]) / (times.size - 1) / math.sqrt(times.size)
    candidates = [_followed(some, frequency, 16) for frequency in _of_smallest_gap(some, shortest)]
    candidates += [_grids(some, frequency) for frequency in _of_spectrum(some)]
    found = [clock for clock in candidates if clock is not None and clock.step > shortest]
    if not found:
        return None
    best = min(found, key=lambda clock: _description(some, clock))
    clock = _followed(times, 1 / best.step, some.size)
    return clock if clock is not None and _tells(times, clock) else None


def _of_smallest_gap(times: Floats, shortest: float) -> list[float]:
    """The step is the smallest gap between different times, rounding aside."""
    gaps = np.diff(times)
    gaps = gaps[gaps > 1e-3 * shortest]
    return [1 / float(gaps.min())] if gaps.size else []


def _of_spectrum(times: Floats) -> list[float]:
    """The lowest of the large peaks in the spectrum of the arrivals, and its subharmonics.

    Of two grids together, the larger peaks are at multiples of the frequency of their ticks.
    """
    span, bins = float(times[-1]), _bins(times.size)
    if not span > 0:
        return []
    places = np.minimum((times / span * bins).astype(np.int64), bins - 1)
    spectrum = np.abs(np.fft.rfft(np.bincount(places, minlength=bins)))[: bins // 4] / times.size
    spectrum[:MOST_GRIDS] = 0.0
    peak = float(spectrum.max())
    if peak < PEAK:
        return []
    first = int(np.argmax(spectrum >= NEAR_PEAK * peak))
    first += int(np.argmax(spectrum[first : first + 2]))
    return [_sharpened(times, first / span / divisor, 1 / span / divisor) for divisor in range(1, MOST_GRIDS + 1)]


def _sharpened(times: Floats, frequency: float, reach: float) -> float:
    """The frequency within ``reach`` at which the phases lie most closely together."""
    for _ in range(2):
        tried = np.linspace(frequency - reach, frequency + reach, 41)
        frequency = float(tried[np.argmax([(_histogram(times * one % 1.0) ** 2).sum() for one in tried])])
        reach /= 20
    return frequency


def _followed(times: Floats, frequency: float, count: int) -> Clock | None:
    """The grids of ``count`` arrivals, then of more and more of them as the step gets to be known better."""
    while (clock := _grids(times[:count], frequency)) is not None and count < times.size:
        frequency, count = 1 / clock.step, 4 * count
    return clock


def _bins(count: int) -> int:
    """Of time, in the spectrum: four in a step that tests can just see."""
    return int(min(2 ** math.ceil(math.log2(4 / TELLING * count**1.5)), MOST_BINS))


def _histogram(phases: Floats) -> Integers:
    return np.bincount(np.minimum((phases * BINS).astype(np.int64), BINS - 1), minlength=BINS)


def _grids(times: Floats, frequency: float) -> Clock | None:
    """The grids of one step near which all arrivals lie, if they do; their step is that of the least squares."""
    phases = times * frequency % 1.0
    counts = _histogram(phases)
    rarest = np.argsort(counts, kind="stable")
    taken = np.sort(rarest[np.cumsum(counts[rarest]) > OFF_GRID * times.size])
    parted = np.flatnonzero(np.diff(taken, append=taken[0] + BINS) > HOLE + 1)
    if not 0 < parted.size <= MOST_GRIDS:
        return None
    firsts, lasts = taken[(np.roll(parted, 1) + 1) % taken.size], taken[parted]
    widths = (lasts - firsts) % BINS + 1
    if widths.sum() > WIDEST * BINS:
        return None
    rough = Clock(1 / frequency, tuple(((firsts + widths / 2) / BINS).tolist()), 0.0, 0.0)
    grid, tick = _ticks(times, rough)
    number = np.bincount(grid, minlength=firsts.size)
    if not number.all():
        return None
    middle = [np.bincount(grid, values, firsts.size) / number for values in (times, tick)]
    from_middle = tick - middle[1][grid]
    square = float((from_middle**2).sum())
    if not square > 0:
        return None
    step = float((from_middle * (times - middle[0][grid])).sum()) / square
    offsets = middle[0] / step - middle[1]
    off = np.abs(times / step - tick - offsets[grid])
    width = 2 * float(np.quantile(off, 1 - OFF_GRID)) * firsts.size
    clock = Clock(step, tuple(sorted((offsets % 1.0).tolist())), max(width, NARROWEST), 0.0)
    return replace(clock, ties=1 - _occupied(times, clock).size / times.size)


def _ticks(times: Floats, clock: Clock) -> tuple[Integers, Floats]:
    """Number of the nearest grid, and of the tick on it, for each time."""
    turns = ((times - times[0]) / clock.step)[:, None] - np.array(clock.offsets)
    ticks = np.round(turns)
    grid = np.abs(turns - ticks).argmin(axis=1)
    return grid, np.take_along_axis(ticks, grid[:, None], axis=1)[:, 0]


def _occupied(times: Floats, clock: Clock) -> Floats:
    """Numbers of the ticks with arrivals, those of one grid after those of another."""
    grid, tick = _ticks(times, clock)
    return np.unique(grid * (tick.max() + 2) + tick)


def _description(times: Floats, clock: Clock) -> float:
    """Length of a description of the times by their ticks, up to a constant: which, and where the grids lie."""
    grids = len(clock.offsets)
    return _occupied(times, clock).size * math.log(grids / clock.step) + grids * math.log(DISTINGUISHED)


def _tells(times: Floats, clock: Clock) -> bool:
    """Whether the arrivals lie on these grids for no other reason than the clock, and share ticks because of it."""
    grids = len(clock.offsets)
    occupied = _occupied(times, clock)
    looked_at = math.log(MOST_GRIDS * _bins(times.size))
    if (occupied.size - 2 * grids) * -math.log(clock.width) < looked_at - math.log(CHANCE):
        return False
    ties = times.size - occupied.size
    shared = clock.step * (times.size - 1) / float(times[-1]) / grids  # arrivals in a step, on each grid
    if ties < SHORT * times.size * (1 + math.expm1(-shared) / shared):
        return False
    if shared * grids >= FINE:
        return True
    neighbours = int((np.diff(occupied) == 1).sum()) / occupied.size
    mean = -math.log1p(-neighbours)
    expected = occupied.size * (mean / neighbours - 1) if neighbours else 0.0
    return ties < BEYOND * expected + 5 * math.sqrt(expected) + 5
