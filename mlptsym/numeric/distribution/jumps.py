r"""The steps and kinks of the distribution of the response time, in closed form.

A job that finds the server idle, and during whose service only jobs arrive that need a whole number of fixed amounts
of work, waits for one of countably many times.  These atoms of the wait, convolved with the law of the last piece, are
all steps and kinks of the distribution function; they are taken out before a Fourier inversion and added afterwards.
What an arrival may find instead, the rest of one piece, has a density with jumps; against an atom of the last piece
it gives kinks, against a jump of its density jumps of the curvature.  These too are taken out (`Kinks`), and the
remainder is smooth enough not to ring.

Distribution of the time to serve y with new arrivals ahead: that n_i of them need x_i each and y + Σ n_i x_i = D is
reached then, and not before, has probability (y/D) Π_i (λ p_i D)^{n_i}/n_i! e^{−λ p_i D} (Kendall's identity; Takács
1967, Combinatorial Methods in the Theory of Stochastic Processes).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from mlptsym.numeric.distribution.inversion import Frequencies
from mlptsym.numeric.distribution.waiting_transform import Levels
from mlptsym.numeric.model.service_measure import DensitySingularities

__all__ = ["Arrivals", "Atoms", "Kinks", "arrivals_ahead", "atoms_of_wait", "kinked", "kinks_of", "last_piece"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

LIKELY = 1e-10  # atoms with less are left to the inversion
FEW = 64
MOST_COMBINATIONS = 2**15
MOST_REPEATS = 2**20
MOST_ATOMS = 4096
MOST_KINKS = 4096
NEGLIGIBLE = 1e-16
SAME = 1e-13
MOST_CELLS = 2**20
BEYOND = 1.1
RECENT = 0.3  # a kink earlier than this share of the horizon is far from the times of an octave
VISIBLE = 1e-10


def last_piece(levels: Levels, level: NDArray[np.int64], times: Floats) -> Floats:
    """P(c_{j−1} + S − t_{j−1} ≤ t ; J = j), with a level for each time of the last axis."""
    local = times - levels.cost[level]
    inside = np.minimum(levels.start[level] + np.maximum(local, 0.0), levels.end[level])
    return np.where(local < 0, 0.0, levels.reached[level] - levels.measure.tail(inside))


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Combinations of arrivals of fixed amounts of work."""

    rate: float  # Rate of the arrivals that go first: λ, or 0 where none does
    work: Floats  # Their total work Σ n_i x_i
    count: Floats  # Their number n = Σ n_i
    logarithm: Floats  # Σ_i log(p_i^{n_i}/n_i!)

    @classmethod
    def none(cls, rate: float = 0.0) -> Arrivals:
        """No arrivals."""
        return cls(rate, np.zeros(1), np.zeros(1), np.zeros(1))

    @classmethod
    def of_one_amount(cls, rate: float, service: float, amount: float, mass: float, latest: float) -> Arrivals:
        """Any likely number of arrivals of the same amount of work, until a time."""
        # the weights fall at least by this factor from one number to the next, as in the Borel distribution
        load = min(rate * mass * amount, 1.0)
        decay = load - 1 - math.log(load) if load > 0 else math.inf
        likely = -math.log(NEGLIGIBLE) / decay if decay > 0 else math.inf
        count = np.arange(min(max(0.0, (latest - service) / amount), likely, MOST_REPEATS) + 1)
        every = cls(rate, amount * count, count, count * math.log(mass) - gammaln(count + 1))
        return every.chosen(every.weight(service)[1] > NEGLIGIBLE)

    @classmethod
    def of_amounts(cls, rate: float, service: float, amounts: Floats, masses: Floats, latest: float) -> Arrivals:
        """Likely combinations of several amounts until a time."""
        amounts, which = np.unique(amounts, return_inverse=True)
        masses = np.bincount(which, masses).astype(float)
        here, last, repeats = cls.none(rate), np.zeros(1, dtype=np.int64), np.zeros(1)
        found = [here]
        while last.size and sum(item.count.size for item in found) < MOST_COMBINATIONS:
            row, added = np.nonzero(np.arange(len(amounts))[None, :] >= last[:, None])
            again = np.where((added == last[row]) & (here.count[row] > 0), repeats[row] + 1, 1.0)
            logarithm = here.logarithm[row] + np.log(masses[added]) - np.log(again)
            here = cls(rate, here.work[row] + amounts[added], here.count[row] + 1, logarithm)
            time, weight = here.weight(service)
            kept = (weight > LIKELY) & (time < latest)
            here, last, repeats = here.chosen(kept), added[kept], again[kept]
            found.append(here)
        joined = (np.concatenate([getattr(item, name) for item in found]) for name in ("work", "count", "logarithm"))
        return cls(rate, *joined)

    def chosen(self, kept: NDArray[np.bool_]) -> Arrivals:
        """Some of the combinations."""
        return Arrivals(self.rate, self.work[kept], self.count[kept], self.logarithm[kept])

    def weight(self, service: Floats | float, extra: Floats | float = 0.0, more: int = 0) -> tuple[Floats, Floats]:
        """Time D at which ``service`` is done and its probability, ``more`` other arrivals of work ``extra`` included.

        The probability is for arrivals of the other kinds that are certain: their own mass or density is left out.
        """
        time = service + extra + self.work
        count = self.count + more
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(time > 0, service / time, 1.0)
            arrived = np.where(count > 0, count * np.log(self.rate * time), 0.0)
        return time, share * np.exp(arrived + self.logarithm - self.rate * time)

    def slope(self, service: Floats | float) -> Floats:
        """Derivative of the logarithm of `weight` in ``service``."""
        time = service + self.work
        with np.errstate(divide="ignore", invalid="ignore"):
            slope: Floats = np.where(service > 0, 1 / service + (self.count - 1) / time, 0.0) - self.rate
        return slope


@dataclass(frozen=True, eq=False)
class Atoms:
    """Atoms of the time D until the last piece of a level begins."""

    time: Floats
    mass: Floats

    def transform(self, frequencies: Frequencies) -> Complexes:
        """Σ mass · e^{−s·time}."""
        transform: Complexes = self.mass @ frequencies.exponentials(self.time)
        return transform


@dataclass(frozen=True, eq=False)
class Kinks:
    """Terms height · (t − place)₊^m/m! · e^{−decay (t − place)}: kinks for m = 1, jumps of the curvature for m = 2."""

    # m, the power, is between 1 and 2 where a density is infinite
    place: Floats
    height: Floats
    power: Floats
    decay: float

    def transform(self, frequencies: Frequencies) -> Complexes:
        """The Laplace transform."""
        total = np.zeros(frequencies.count, dtype=complex)
        for power in np.unique(self.power):
            here = self.power == power
            numerator = self.height[here] @ frequencies.exponentials(self.place[here])
            total += numerator / (frequencies.points + self.decay) ** (power + 1)
        return total


def kinked(since: Floats, power: Floats, decay: float) -> Floats:
    """t₊^m/m! · e^{−decay t}, the function that `Kinks` are made of."""
    after = np.maximum(since, 0.0)
    function: Floats = after**power * np.exp(-decay * after - gammaln(power + 1))
    return function


def arrivals_ahead(levels: Levels, level: int, horizon: float) -> Arrivals:
    """Combinations of arrivals of X_{j−1}: the most it can be, a_{j−1}, and all its values if they are few."""
    service, rate, latest = levels.before[level], levels.arrival_rate, BEYOND * horizon
    if level == 0:
        return Arrivals.none()
    amounts, masses = _discrete_work(levels, level)
    if 0 < len(amounts) <= FEW:
        amounts, masses = np.append(amounts, service), np.append(masses, levels.reached[level])
        return Arrivals.of_amounts(rate, service, amounts, masses, latest)
    return Arrivals.of_one_amount(rate, service, service, levels.reached[level], latest)


def _discrete_work(levels: Levels, level: int) -> tuple[Floats, Floats]:
    """Values of X_{j−1} below a_{j−1} with their probabilities, for a discrete law."""
    measure = levels.measure
    if not measure.discrete:
        return np.empty(0), np.empty(0)
    below = measure.atoms <= levels.start[level]
    entered = np.searchsorted(levels.start, measure.atoms[below], side="left") - 1
    paid = levels.before[entered] + levels.cost[entered] - levels.start[entered]
    return measure.atoms[below] + paid, measure.masses[below]


def atoms_of_wait(levels: Levels, level: int, arrivals: Arrivals, horizon: float) -> Atoms:
    """Atoms of D: the server is idle, and every arrival takes a fixed amount of work."""
    time, weight = arrivals.weight(levels.before[level])
    mass = levels.idle * weight
    kept = np.flatnonzero((mass > LIKELY) & (time < BEYOND * horizon))
    kept = kept[np.argsort(-mass[kept], kind="stable")[:MOST_ATOMS]]
    return Atoms(time[kept], mass[kept])


def kinks_of(levels: Levels, level: int, arrivals: Arrivals, frequencies: Frequencies) -> Kinks:
    """Kinks of P(T ≤ t | J = j) near the octave below the horizon that the atoms of D do not account for."""
    horizon = frequencies.horizon
    own = _last_piece(levels, level)
    steepest = np.abs(own.heights).max(initial=0.0) / levels.probability[level]
    wait = Terms.none()
    if steepest > 0:
        scale = VISIBLE / steepest * frequencies.highest ** (2 + own.least)
        wait = _terms_of_wait(levels, level, arrivals, lambda power: scale * frequencies.highest**power)
    place = np.add.outer(wait.time + levels.cost[level], own.ages - levels.start[level])
    height = np.multiply.outer(wait.height, own.heights / levels.probability[level])
    power = np.add.outer(wait.power, own.powers) + 2
    kept = (place > RECENT * horizon) & (place < BEYOND * horizon)
    kept &= np.abs(height) > VISIBLE * frequencies.highest**power
    place, height, power = _merged(place[kept], height[kept], power[kept])
    largest = np.argsort(-np.abs(height) * frequencies.highest**-power, kind="stable")[:MOST_KINKS]
    return Kinks(place[largest], height[largest], power[largest], levels.arrival_rate)


def _merged(place: Floats, height: Floats, power: Floats) -> tuple[Floats, Floats, Floats]:
    """Kinks with those added up that are of the same power and in the same place but for rounding."""
    order = np.lexsort((place, power))
    place, height, power = place[order], height[order], power[order]
    apart = (np.diff(place) > SAME * place[1:]) | (np.diff(power) != 0)
    first = np.flatnonzero(np.concatenate([[True], apart])) if place.size else np.empty(0, dtype=np.int64)
    return place[first], np.add.reduceat(height, first) if place.size else height, power[first]


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms height · (x − time)₊^e/Γ(e + 1) · e^{−λ(x − time)} of a density; ``power`` is e."""

    time: Floats
    height: Floats
    power: Floats

    @classmethod
    def none(cls) -> Terms:
        """No terms."""
        return cls(np.empty(0), np.empty(0), np.empty(0))


def _terms_of_wait(levels: Levels, level: int, arrivals: Arrivals, visible: Callable[[Floats], Floats]) -> Terms:
    """Terms of the density of D: all of order e < 1, and for a discrete law of order 1 as well.

    They come from the rest of one piece in V, and from one arrival that takes an amount of work other than those of
    ``arrivals``.  For a discrete law the next order comes from the rests of two pieces in V and from the change of the
    weights after a jump.
    """
    service, rate = levels.before[level], levels.arrival_rate
    (places, jumps), lower = _tail_jumps(levels, level)
    residual = Terms(
        np.append(places, lower[0]),
        rate * np.append(levels.idle * jumps, lower[1]),
        np.zeros(len(places) + len(lower[0])),
    )
    work = _work_singularities(levels, level)
    work = Terms(work.time, levels.idle * work.height, work.power)
    parts = [_spread(arrivals, service, residual, visible), _spread(arrivals, service, work, visible, more=1)]
    if levels.measure.discrete:
        both = Terms(
            np.add.outer(places, residual.time).ravel(),
            np.multiply.outer(rate * jumps, residual.height).ravel(),
            np.ones(len(places) * len(residual.time)),
        )
        after = Terms(residual.time, residual.height, np.ones(len(residual.time)))
        parts += [_spread(arrivals, service, both, visible), _spread(arrivals, service, after, visible, decay=rate)]
    return Terms(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("time", "height", "power")))


def _spread(
    arrivals: Arrivals,
    service: float,
    terms: Terms,
    visible: Callable[[Floats], Floats],
    *,
    more: int = 0,
    decay: float | None = None,
) -> Terms:
    """Terms of D from those of the service asked for, or (``more`` = 1) from those of one further arrival.

    With a decay, what the weights change after a jump: the kink of `kinked` is t (1 − decay · t), which is brought to
    theirs.
    """
    strength = np.abs(terms.height)
    order = np.argsort(-strength, kind="stable")[: max(1, MOST_CELLS // max(1, arrivals.count.size))]
    order = order[strength[order] > visible(terms.power[order])]
    place, height, power = (values[order, None] for values in (terms.time, terms.height, terms.power))
    asked = service if more else service + place
    time, weight = arrivals.weight(asked, place if more else 0.0, more)
    height = height * weight
    if decay is not None:
        height = height * (arrivals.slope(asked) + 2 * decay)
    kept = np.abs(height) > visible(power)
    return Terms(time[kept], height[kept], np.broadcast_to(power, kept.shape)[kept])


def _last_piece(levels: Levels, level: int) -> DensitySingularities:
    """Jumps of the density of S within a level; for a discrete law its atoms, of power −1, if they are few."""
    measure = levels.measure
    if not measure.discrete:
        return levels.singularities.of_levels(level, level + 1)
    here = (measure.atoms > levels.start[level]) & (measure.atoms <= levels.end[level])
    if len(measure.atoms) > FEW:
        here[:] = False
    ages = measure.atoms[here]
    return DensitySingularities(ages, measure.masses[here], np.full(ages.shape, -1.0), np.full(ages.shape, level))


def _tail_jumps(levels: Levels, level: int) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Places and heights of the jumps of P(X_j > x) and of Σ_{r>j} P(Y_r > x)."""
    measure, below = levels.measure, slice(level + 1, None)
    end = levels.before[level] + levels.width[level]
    places = [np.array([0.0, end]), np.append(levels.width[below], [0.0, levels.deep_width])]
    heights = [
        np.array([1.0, -levels.passed[level]]),
        np.append(-levels.passed[below], [levels.reached[below].sum() + levels.deep, -levels.deep]),
    ]
    if measure.discrete:
        entered = np.searchsorted(levels.start, measure.atoms, side="left") - 1
        piece = measure.atoms - levels.start[entered] + levels.cost[entered]
        upper = entered <= level
        places = [
            np.append(places[0], (piece + levels.before[entered])[upper]),
            np.append(places[1], piece[~upper]),
        ]
        heights = [np.append(heights[0], -measure.masses[upper]), np.append(heights[1], -measure.masses[~upper])]
    finite = [np.isfinite(place) & (height != 0) for place, height in zip(places, heights, strict=True)]
    work, lower = ((p[kept], h[kept]) for p, h, kept in zip(places, heights, finite, strict=True))
    return work, _merged(*lower, np.zeros(lower[0].shape))[:2]  # many levels have the same width


def _work_singularities(levels: Levels, level: int) -> Terms:
    """Terms of the density of X_{j−1} below a_{j−1}."""
    if levels.measure.discrete or level == 0:
        return Terms.none()
    above = levels.singularities.of_levels(0, level)
    shift = (levels.cost + levels.before - levels.start)[above.owner]
    return Terms(above.ages + shift, above.heights, above.powers)
