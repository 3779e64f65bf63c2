"""The distribution of the response time: percentiles of FCFS, and of MLPT with any number of levels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.numeric.distribution.inversion import Frequencies
from mlptsym.numeric.distribution.jumps import arrivals_ahead, atoms_of_wait, kinked, kinks_of, last_piece
from mlptsym.numeric.distribution.quantile_guess import guessed_quantiles
from mlptsym.numeric.distribution.response_moments import (
    LevelMoments,
    level_moments,
    second_moment,
    second_moment_needs,
)
from mlptsym.numeric.distribution.waiting_transform import Levels, LevelTransform, effort, level_transforms
from mlptsym.numeric.mean.response import Solution, solve
from mlptsym.numeric.model.policies import Policy, refuse_lazy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.saturation import DISTRIBUTION, refuse_saturated

__all__ = ["LevelDistribution", "ResponseTimeDistribution", "response_time_distribution"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

FEWEST_FREQUENCIES = 192
MOST_FREQUENCIES = 1536
# the error of all frequencies is at most about their difference from this share of them
SHARE, SETTLED = 2 / 3, 5e-9
PROBES = 24
NEAREST_TO_ONE = 1e-8
# probabilities that count as zero; the earliest time that is computed, in mean service times
NOTHING, EARLIEST = 1e-13, 1e-40
OCTAVE, FAR = 2.0, 1e30
OCCUPIED = 1e-12
BATCH = 2**20
MOST_POINTS = 4e6


def response_time_distribution(queue: Queue, policy: Policy) -> ResponseTimeDistribution:
    """Distribution of the response time in steady state.

    Parameters
    ----------
    queue : Queue
    policy : FCFS or MLPT
        With a single quantum or given quanta.

    Returns
    -------
    ResponseTimeDistribution

    Raises
    ------
    ParameterError
        For MLPT′ (``lazy=True``) and capped Gittins, which can only be simulated, and for an array of quanta.
    SaturationError
        If 1 − 1e-7 < ρ^eff < 1: the error of probabilities, 1e-13/(1 − ρ^eff) at most, would be above 1e-6.

    Notes
    -----
    The transform of T given the level in which a job completes is that of
    `mlptsym.symbolic.distribution.transform`: the work found by an arrival, stretched by the busy periods of new
    arrivals, and the last piece.  It is inverted by a Fourier series with one set of frequencies for each octave of
    times. What would make the series ring is taken out and added in closed form: all atoms of the wait, convolved
    with the law of the last piece (every step of the distribution function and every kink that comes with it), and
    the jumps of the density of the work found (`mlptsym.numeric.distribution.jumps`). The number of frequencies is
    doubled until two thirds of them give the same.

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> from mlptsym.numeric.model.policies import FCFS
    >>> distribution = response_time_distribution(Queue(Exponential(1.0), arrival_rate=0.5), FCFS())
    >>> round(distribution.quantile(0.99), 8), round(2 * math.log(100), 8)
    (9.21034037, 9.21034037)
    """
    solution = solve(queue, policy)
    refuse_lazy(policy, "a distribution")
    queue.refuse_unloading("a distribution")
    if np.ndim(solution.mean_response_time):
        validation.refuse("quantum", getattr(policy, "quantum", None), "a single number for a distribution")
    refuse_saturated(queue, solution.effective_load, DISTRIBUTION)
    return ResponseTimeDistribution(queue, policy, solution)


@dataclass(frozen=True, eq=False)
class ResponseTimeDistribution:
    """Distribution of the response time T of a queue under a policy.

    Attributes
    ----------
    queue : Queue
    policy : FCFS or MLPT
    solution : Solution
        Mean response time, effective load and stability.

    Notes
    -----
    The absolute error of `cdf` is below 1e-8, and usually below 1e-9, for size laws with a density and for laws of few
    atoms.  It is up to 1e-6 for laws of many atoms (`Empirical`), whose smallest steps are smoothed, up to 1e-7 where
    the density is much narrower than the mean (a standard deviation of one percent), and up to 1e-13/(1 − ρ^eff) where
    that is larger.  For power laws with k = ∞ see `truncation`.  An unstable queue has no steady state: its response
    time is infinite, `cdf` is zero and quantiles and moments are ``inf``.
    """

    queue: Queue
    policy: Policy
    solution: Solution
    _octaves: dict[int, _Octave] = field(default_factory=dict, repr=False)

    @property
    def stable(self) -> bool:
        """Whether the queue is stable."""
        return bool(self.solution.stable)

    @property
    def truncation(self) -> float:
        """Proved bound of the error from levels that are not told apart; zero but for power laws with k = ∞."""
        return self._levels.truncation if self.stable else 0.0

    def cdf(self, t: ArrayLike) -> Any:
        """P(T ≤ t), of the shape of ``t``.

        Parameters
        ----------
        t : float or array of float
            Times >= 0, in units of service at rate one; ``inf`` counts.

        Raises
        ------
        ParameterError
            If a time is negative or no number, or finite and beyond the latest one that is computed: 1e16 mean service
            times, or less if a job may enter more than 1024 levels by then; or if it is below 1e-40 mean service times
            and more than 1e-13 of all jobs are so short; or if the policy has so many levels, of which so many
            pieces of time have to be told apart, that this would take minutes.
        """
        return self._cdf(t, None)

    def quantile(self, p: ArrayLike) -> Any:
        """Smallest t with P(T ≤ t) ≥ p, of the shape of ``p``.

        Parameters
        ----------
        p : float or array of float
            Probabilities from 0 to 1 − 1e-8, or 1 (whose quantile is ``inf``).

        Raises
        ------
        ParameterError
            If a probability is outside this range, or its quantile at a time that `cdf` refuses.
        """
        return self._quantile(p, None)

    def moment(self, n: int) -> float:
        """E[T^n] for n = 1 or 2; ``inf`` where it is infinite."""
        if validation.integer("n", n, at_least=1, at_most=2) == 1 or not self.stable:
            return float(self.solution.mean_response_time)
        return second_moment(self.queue, self.policy)

    @cached_property
    def by_level(self) -> tuple[LevelDistribution, ...]:
        """Distributions given the level J in which a job completes, for levels with P(J = j) above 1e-12."""
        if not self.stable:
            return ()
        chances = self._levels.probability
        return tuple(
            LevelDistribution(self, int(position) + 1, float(chances[position]))
            for position in np.flatnonzero(chances > OCCUPIED)
        )

    # --- shared with the distributions by level

    @cached_property
    def _levels(self) -> Levels:
        return Levels.of(self.queue, self.policy, float(self.solution.effective_load))

    @cached_property
    def _longer(self) -> float:
        """P(S > latest time), a lower bound of P(T > latest time)."""
        return float(self._levels.measure.tail(np.array(self._levels.latest)))

    @cached_property
    def _level_moments(self) -> LevelMoments:
        ends = self._levels.end
        closed = bool(np.isinf(ends[-1]))
        return level_moments(self.queue, ends[:-1] if closed else ends, closed=closed)

    def _cdf(self, t: ArrayLike, level: int | None) -> Any:
        times = floats("t", t)
        flat = times.ravel()
        values = np.where(np.isinf(flat), 1.0, 0.0) if self.stable else np.zeros(flat.shape)
        inside = (flat > 0) & np.isfinite(flat)
        if self.stable and inside.any():
            # P(T ≤ t) ≤ P(S ≤ t)
            inside[inside] = 1 - self._levels.measure.tail(flat[inside]) > NOTHING
            early = inside & (flat < EARLIEST * self.queue.mean_service_time)
            if early.any():
                allowed = f"0, or at least {EARLIEST * self.queue.mean_service_time:.6g}, for this law"
                validation.refuse("t", float(flat[early][0]), allowed)
        if self.stable and inside.any():
            latest = self._levels.latest
            unknown = inside & (flat > latest)
            if not (unknown.any() and self._longer > NEAREST_TO_ONE):
                values[inside] = self._increasing(np.minimum(flat[inside], latest), level)
                unknown &= values < 1 - NEAREST_TO_ONE
            if unknown.any():
                validation.refuse("t", float(flat[unknown][0]), f"at most {latest:.6g} for this policy, or inf")
        return float(values[0]) if times.ndim == 0 else values.reshape(times.shape)

    def _increasing(self, times: Floats, level: int | None) -> Floats:
        """Values at positive times, made non-decreasing."""
        distinct, back = np.unique(times, return_inverse=True)
        _, exponents = np.frexp(distinct)
        values = np.empty(distinct.shape)
        for exponent in np.unique(exponents):
            here = exponents == exponent
            values[here] = self._octave(int(exponent)).values(distinct[here], level)
        return np.maximum.accumulate(np.clip(values, 0.0, 1.0))[back]

    def _octave(self, exponent: int) -> _Octave:
        if exponent not in self._octaves:
            horizon = min(math.ldexp(1.0, exponent), self._levels.latest)
            self._octaves[exponent] = _Octave.resolved(self._levels, horizon)
        return self._octaves[exponent]

    def _quantile(self, p: ArrayLike, level: int | None) -> Any:
        chances = floats("p", p)
        wrong = (chances > 1 - NEAREST_TO_ONE) & (chances != 1)
        if wrong.any():
            validation.refuse("p", float(chances[wrong].ravel()[0]), f"from 0 to 1 - {NEAREST_TO_ONE:g}, or 1")
        flat = chances.ravel()
        answer = np.where(flat > 0, math.inf, 0.0) if self.stable else np.full(flat.shape, math.inf)
        wanted = np.flatnonzero((flat > 0) & (flat < 1)) if self.stable else np.empty(0, dtype=np.int64)
        if wanted.size:
            latest = self._levels.latest
            far = flat[wanted] > 1 - self._longer if level is None else np.zeros(wanted.shape, dtype=bool)
            if not far.any():
                guess = guessed_quantiles(self.queue, self._levels, flat[wanted], level)
                answer[wanted] = _roots(lambda t: self._cdf(t, level), flat[wanted], guess, latest)
                far = np.isinf(answer[wanted])
            if far.any():
                allowed = f"a probability whose quantile is at most {latest:.6g} for this policy, or 1"
                validation.refuse("p", float(flat[wanted][far][0]), allowed)
        return float(answer[0]) if chances.ndim == 0 else answer.reshape(chances.shape)


@dataclass(frozen=True, eq=False)
class LevelDistribution:
    """Distribution of the response time of the jobs that complete in one level.

    Attributes
    ----------
    whole : ResponseTimeDistribution
    level : int
        j, from 1.
    probability : float
        p_j.

    Notes
    -----
    The absolute error of `cdf` is of the order of 1e-7.
    """

    whole: ResponseTimeDistribution
    level: int
    probability: float

    def cdf(self, t: ArrayLike) -> Any:
        """P(T ≤ t | J = j); see `ResponseTimeDistribution.cdf`."""
        return self.whole._cdf(t, self.level - 1)

    def quantile(self, p: ArrayLike) -> Any:
        """Smallest t with P(T ≤ t | J = j) ≥ p; see `ResponseTimeDistribution.quantile`."""
        return self.whole._quantile(p, self.level - 1)

    def moment(self, n: int) -> float:
        """E[T^n | J = j] for n = 1 or 2; ``inf`` where it is infinite."""
        order = validation.integer("n", n, at_least=1, at_most=2)
        whole = self.whole
        needed = 2 if order == 1 else 3
        if whole.policy.levels < math.inf and not whole.queue.size.moment_limit > needed:
            return math.inf
        if order == 1 and not math.isfinite(whole.solution.mean_response_time):
            return math.inf
        if order == 2 and not whole.queue.size.moment_limit > second_moment_needs(whole.queue, whole.policy):
            return math.inf
        moments = whole._level_moments
        total = moments.first if order == 1 else moments.second
        return float(total[self.level - 1] / moments.probability[self.level - 1])


@dataclass(frozen=True, eq=False)
class _Octave:
    """Everything that gives P(T ≤ t | J = j) for T/2 < t ≤ T.

    Attributes
    ----------
    levels : Levels
    frequencies : Frequencies
    visited : array
        The levels in which jobs complete by T; the following arrays count them from 0.
    remainders : array, shape (visited, frequencies)
        Transforms of what is left of P(T ≤ t | J = j) without steps and kinks.
    atom_owner, atom_time, atom_mass : array
        Atoms of the wait, with the level they belong to.
    kink_owner, kink_place, kink_height, kink_power : array
        Kinks, likewise.
    """

    levels: Levels
    frequencies: Frequencies
    visited: NDArray[np.int64]
    remainders: Complexes
    atom_owner: NDArray[np.int64]
    atom_time: Floats
    atom_mass: Floats
    kink_owner: NDArray[np.int64]
    kink_place: Floats
    kink_height: Floats
    kink_power: Floats

    @classmethod
    def of(cls, levels: Levels, frequencies: Frequencies) -> _Octave:
        """With a given set of frequencies."""
        return cls._from_transforms(levels, frequencies, level_transforms(levels, frequencies))

    @classmethod
    def _from_transforms(
        cls, levels: Levels, frequencies: Frequencies, transforms: Iterable[LevelTransform]
    ) -> _Octave:
        remainders, atoms, kinks, visited = [], [], [], []
        for here in transforms:
            arrivals = arrivals_ahead(levels, here.level, frequencies.horizon)
            atom = atoms_of_wait(levels, here.level, arrivals, frequencies.horizon)
            kink = kinks_of(levels, here.level, arrivals, frequencies)
            smooth = here.piece * (here.ahead - atom.transform(frequencies))
            remainders.append(smooth - kink.transform(frequencies))
            atoms.append(atom)
            kinks.append(kink)
            visited.append(here.level)
        none = [np.empty(0)]
        position = np.arange(len(visited))
        return cls(
            levels,
            frequencies,
            np.array(visited, dtype=np.int64),
            np.array(remainders).reshape(len(visited), frequencies.count),
            np.repeat(position, [atom.time.size for atom in atoms]),
            np.concatenate(none + [atom.time for atom in atoms]),
            np.concatenate(none + [atom.mass for atom in atoms]),
            np.repeat(position, [kink.place.size for kink in kinks]),
            np.concatenate(none + [kink.place for kink in kinks]),
            np.concatenate(none + [kink.height for kink in kinks]),
            np.concatenate(none + [kink.power for kink in kinks]),
        )

    @classmethod
    def resolved(cls, levels: Levels, horizon: float) -> _Octave:
        """With as many frequencies as it takes."""
        frequencies = Frequencies(horizon, FEWEST_FREQUENCIES)
        _refuse_effort(levels, frequencies)
        transforms = list(level_transforms(levels, frequencies))
        while True:
            octave = cls._from_transforms(levels, frequencies, transforms)
            if octave._unsettled() <= SETTLED or frequencies.count == MOST_FREQUENCIES:
                return octave
            _refuse_effort(levels, frequencies.above)
            above = level_transforms(levels, frequencies.above)
            transforms = [here.continued(further) for here, further in zip(transforms, above, strict=True)]
            frequencies = Frequencies(horizon, 2 * frequencies.count)

    def _unsettled(self) -> float:
        """Largest difference between a share of the frequencies and all, at even times and at the largest kinks."""
        horizon = self.frequencies.horizon
        weights = self.levels.probability[self.visited]
        size = np.abs(self.kink_height * weights[self.kink_owner])
        largest = self.kink_place[np.argsort(-size)[:PROBES]]
        beside = 3 / self.frequencies.highest
        times = np.concatenate([largest - beside, largest, largest + beside])
        times = times[(times > horizon / 2) & (times <= horizon)]
        times = np.append(times, horizon * (1 + np.arange(1, PROBES + 1) / PROBES) / 2)
        smooth = weights @ self.remainders
        differences = self.frequencies.invert(smooth, times) - self.frequencies.invert(smooth, times, SHARE)
        return float(np.abs(differences).max())

    def values(self, times: Floats, level: int | None) -> Floats:
        """P(T ≤ t), or P(T ≤ t | J = j)."""
        chances = self.levels.probability[self.visited]
        weights = chances if level is None else (self.visited == level).astype(float)
        total = self.frequencies.invert(weights @ self.remainders, times)
        step = max(1, BATCH // max(1, self.atom_time.size + self.kink_place.size))
        for begin in range(0, len(times), step):
            chunk = slice(begin, begin + step)
            total[chunk] += self._steps(times[chunk], weights) + self._kinks(times[chunk], weights)
        return total

    def _steps(self, times: Floats, weights: Floats) -> Floats:
        used = weights[self.atom_owner] > 0
        owner = self.atom_owner[used]
        level = self.visited[owner]
        pieces = last_piece(self.levels, level, np.subtract.outer(times, self.atom_time[used]))
        steps: Floats = pieces @ (self.atom_mass[used] * weights[owner] / self.levels.probability[level])
        return steps

    def _kinks(self, times: Floats, weights: Floats) -> Floats:
        since = np.subtract.outer(times, self.kink_place)
        values: Floats = kinked(since, self.kink_power, self.levels.arrival_rate) @ (
            self.kink_height * weights[self.kink_owner]
        )
        return values


def _refuse_effort(levels: Levels, frequencies: Frequencies) -> None:
    """Refuse an octave that would take minutes, before it is begun."""
    points = effort(levels, frequencies)
    if points > MOST_POINTS:
        validation.refuse(
            "levels",
            len(levels.start),
            f"fewer, or their quanta longer: the distribution at times near {frequencies.horizon:.3g} would take "
            f"{points:.2g} points of {len(levels.start)} levels, over {MOST_POINTS:.0e}",
        )


def _roots(cdf: Callable[[Floats], Any], chances: Floats, guess: Floats, longest: float) -> Floats:
    """Smallest t with cdf(t) ≥ p, 0 < p < 1, by Chandrupatla's method in a bracket; ``inf`` beyond the longest time.

    The bracket is the octave of the guess, since it costs far more to begin another octave than to halve one.
    """
    from scipy.optimize import elementwise

    low = np.ldexp(0.5, np.frexp(np.minimum(guess, longest))[1])
    high, stride = np.minimum(np.nextafter(2 * low, 0.0), longest), np.full(guess.shape, OCTAVE)
    below, above = cdf(low), cdf(high)
    while (outside := ((late := below >= chances) & (low > 0)) | (above < chances) & (high < longest)).any():
        low, high = (
            np.where(outside, np.where(late, np.where(stride < FAR, low / stride, 0.0), high), low),
            np.where(outside, np.where(late, low, np.minimum(high * stride, longest)), high),
        )
        stride = np.where(outside, stride**2, stride)
        below, above = cdf(low), cdf(high)

    def excess(times: Floats, p: Floats) -> Floats:
        values = cdf(times)
        difference: Floats = np.where(values >= p, 1.0, -1.0) * np.maximum(np.abs(values - p), 1e-300)
        return difference

    reached = above >= chances
    answer = np.full(chances.shape, math.inf)
    if reached.any():
        found = elementwise.find_root(
            excess, (low[reached], high[reached]), args=(chances[reached],), tolerances={"xrtol": 1e-13}
        )
        answer[reached] = found.bracket[1]
    return answer
