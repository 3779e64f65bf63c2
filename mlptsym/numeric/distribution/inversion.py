r"""Numerical inversion of Laplace transforms that contain a busy period.

Fourier series
    F(t) for 0 < t ≤ T from its transform at b + ikπ/T (Dubner and Abate 1968; Abate and Whitt 1992): with bT = 13, what
    is periodic with 2T enters with a factor e^{−26}.  The series is cut off smoothly rather than summed by Euler's
    method, so that one set of transform values serves all t of an octave T/2 < t ≤ T: F comes out exact but for
    features nearer to t than about 50 divided by the highest frequency.
Slow factors
    A job with new arrivals ahead needs transforms at s + δ(s), with |δ| ≤ 2λ.  In ∫ e^{−(s+δ)x} dM(x) only e^{−sx}
    oscillates fast, and s is the same for all measures M and levels.  As in Filon's quadrature, the slow factor
    e^{−δx} is replaced by its interpolation on panels, and the integrals of e^{−sx} times the Lagrange polynomials are
    computed once (`SlowFactor.weights`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlptsym.numeric.model.service_measure import RADIANS, chebyshev_basis

__all__ = ["Frequencies", "SlowFactor"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

ALIAS = 26.0  # e^{−26} = 5e-12
MARGIN = 1.25  # what lies beyond T may be changed at will; it is faded out up to 1.25 T
BLOCK = 16
ORDER = 16


def _fading(position: Floats) -> Floats:
    """A smooth step from 1 (to double precision) at 0 to 0 at 1."""
    from scipy.special import erfc

    step: Floats = 0.5 * erfc(5.9 * (2.0 * position - 1.0))
    return np.where(position <= 0, 1.0, np.where(position >= 1, 0.0, step))


def _powers(base: Complexes, count: int) -> Complexes:
    """The powers 0, …, ``count`` − 1 of numbers, a row for each, by squaring: to a few roundings for each doubling."""
    powers = np.ones((len(base), count), dtype=complex)
    known = 1
    while known < count:
        more = min(known, count - known)
        np.multiply(powers[:, :more], base[:, None], out=powers[:, known : known + more])
        base, known = base * base, known + more
    return powers


@dataclass(frozen=True)
class Frequencies:
    """The points of a Fourier inversion for times up to a horizon, or a range of them."""

    horizon: float  # T
    count: int  # Number of frequencies, a multiple of 16
    first: int = 0  # How many there are below these

    @property
    def damping(self) -> float:
        """B, the real part of all points."""
        return ALIAS / (2 * self.horizon)

    @property
    def highest(self) -> float:
        """The highest frequency."""
        return (self.first + self.count) * math.pi / self.horizon

    @property
    def width(self) -> float:
        """Length over which e^{−sx} turns by sixteen radians at the highest frequency."""
        return RADIANS / self.highest

    @cached_property
    def points(self) -> Complexes:
        """The points s, shape (count,)."""
        numbers = np.arange(self.first, self.first + self.count)
        return (self.damping + 1j * math.pi / self.horizon * numbers).astype(complex)

    @property
    def above(self) -> Frequencies:
        """The range above these that doubles their number from zero."""
        number = self.first + self.count
        return Frequencies(self.horizon, number, number)

    def exponentials(self, x: Floats) -> Complexes:
        """e^{−sx}, shape (len(x), count)."""
        step = 1j * math.pi / self.horizon
        coarse = _powers(np.exp(-step * BLOCK * x), self.count // BLOCK)
        coarse *= np.exp(-(self.damping + step * self.first) * x)[:, None]
        fine = _powers(np.exp(-step * x), BLOCK)
        product: Complexes = coarse[:, :, None] * fine[:, None, :]
        return product.reshape(len(x), self.count)

    def faded(self, x: Floats, weights: Floats) -> Floats:
        """Weights faded out beyond the horizon, which changes nothing at times up to it."""
        faded: Floats = weights * _fading((x / self.horizon - 1) / (MARGIN - 1))
        return faded

    def invert(self, values: Complexes, times: Floats, share: float = 1.0) -> Floats:
        """The functions of transforms at all points from zero.

        Parameters
        ----------
        values : array, shape (…, count)
            Transforms at `points`, of which ``first`` is zero.
        times : array, shape (n,)
            In (0, T].
        share : float
            Use only this share of the frequencies, for an estimate of the error.

        Returns
        -------
        array, shape (…, n)
        """
        weights = _fading(np.arange(self.count) / (1.1 * share * self.count))
        weights[0] /= 2
        weighted = values * weights
        turns = np.exp(1j * math.pi / self.horizon * np.multiply.outer(np.arange(self.count), times))
        sums = weighted.real @ turns.real - weighted.imag @ turns.imag
        functions: Floats = np.exp(self.damping * times) * sums / self.horizon
        return functions


@dataclass(frozen=True)
class SlowFactor:
    """Panels for the interpolation of e^{−δx} on 0 ≤ x ≤ 1.25 T, for |δ| up to a bound."""

    frequencies: Frequencies
    bound: float  # Upper bound of |δ|.  A panel is at most 4/bound long: 16 nodes then leave an error below 1e-13.
    end: float  # Upper end of all measures

    @cached_property
    def reach(self) -> float:
        """Upper end of the panels."""
        return min(self.end, MARGIN * self.frequencies.horizon)

    @cached_property
    def length(self) -> float:
        """Length of a panel."""
        return min(4 / self.bound, self.reach) if self.bound > 0 else self.reach

    @cached_property
    def panels(self) -> int:
        """Number of panels."""
        return math.ceil(self.reach / self.length)

    def empty(self) -> Complexes:
        """Weights of the zero measure, shape (frequencies, panels, 16)."""
        return np.zeros((self.frequencies.count, self.panels, ORDER), dtype=complex)

    def weights(self, exponentials: Complexes, points: Floats, masses: Floats, shift: float) -> tuple[slice, Complexes]:
        """Weights of the measure that sits at ``shift`` + ``points``.

        Parameters
        ----------
        exponentials : array
            `Frequencies.exponentials` of ``points``.
        points, masses : array
            In increasing order.
        shift : float

        Returns
        -------
        (slice, array)
            The panels it lies on, and its weights there.
        """
        places = points + shift
        first, last = np.searchsorted(places, [0.0, self.reach], side="right")
        if first == last:
            return slice(0, 0), np.empty((self.frequencies.count, 0, ORDER), dtype=complex)
        masses = self.frequencies.faded(places, masses)
        panel = np.minimum((places / self.length).astype(np.int64), self.panels - 1)
        ends = np.flatnonzero(np.diff(panel[first:last])) + first + 1
        low, high = int(panel[first]), int(panel[last - 1]) + 1
        weights = np.zeros((self.frequencies.count, high - low, ORDER), dtype=complex)
        used = slice(first, last)
        _, basis = chebyshev_basis(ORDER, 2 * (places[used] / self.length - panel[used]) - 1)
        basis *= masses[used, None]
        for begin, stop in zip([first, *ends], [*ends, last], strict=True):
            real = basis[begin - first : stop - first].T @ exponentials[begin:stop].view(float)
            weights[:, int(panel[begin]) - low] = real.view(complex).T
        if shift:
            weights *= np.exp(-self.frequencies.points * shift)[:, None, None]
        return slice(low, high), weights

    def values(self, totals: Sequence[Complexes], delta: Complexes) -> list[Complexes]:
        """∫ e^{−(s+δ)x} dM(x) for several measures M, at each frequency with its own δ."""
        stops = [self._stop(total) for total in totals]
        within, across = self._factors(delta, max(stops))
        return [
            ((total[:, :stop] @ within[:, :, None])[:, :, 0] * across[:, :stop]).sum(axis=1)
            for total, stop in zip(totals, stops, strict=True)
        ]

    def value_and_slope(self, total: Complexes, delta: Complexes) -> tuple[Complexes, Complexes]:
        """The same for one measure, and the derivative in δ."""
        stop = self._stop(total)
        within, across = self._factors(delta, stop)
        start = self.length * np.arange(stop)
        both = total[:, :stop] @ np.stack([within, within * self._places], axis=2)
        value, slope = both[:, :, 0], both[:, :, 1]
        return (value * across).sum(axis=1), -((slope + value * start) * across).sum(axis=1)

    def _stop(self, total: Complexes) -> int:
        """Number of panels up to the last one that is used."""
        used = np.flatnonzero(np.any(total[0] != 0, axis=1))
        return int(used[-1]) + 1 if used.size else 0

    @cached_property
    def _places(self) -> Floats:
        """The nodes of the first panel."""
        nodes, _ = chebyshev_basis(ORDER, np.empty(0))
        places: Floats = self.length * (nodes + 1) / 2
        return places

    def _factors(self, delta: Complexes, stop: int) -> tuple[Complexes, Complexes]:
        """e^{−δx} at the nodes of the first panel, which are symmetric about its middle, and at the panels' starts."""
        middle = self.length / 2
        rise = np.exp(np.multiply.outer(delta, self._places[ORDER // 2 :] - middle))
        within = np.concatenate([rise[:, ::-1], 1 / rise], axis=1) * np.exp(-middle * delta)[:, None]
        return within, _powers(np.exp(-self.length * delta), stop)
