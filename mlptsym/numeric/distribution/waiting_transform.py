r"""The transform of the response time by level at many complex points: `mlptsym.symbolic.distribution.transform`.

Levels are visited from the first to the last.  Level j needs the measures of X_{j−1}, of X_j, and of the pieces
Y_r, r > j, and each step moves one level from the last to the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlptsym.numeric.distribution.inversion import MARGIN, Frequencies, SlowFactor
from mlptsym.numeric.levels.remainder import TailIntegrals
from mlptsym.numeric.model.policies import Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.service_measure import (
    GAUSS,
    THIN,
    DensitySingularities,
    ServiceMeasure,
    chebyshev_basis,
    even_nodes,
    thinned,
)

__all__ = ["LevelTransform", "Levels", "effort", "level_transforms"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

MOST_LEVELS = 2**13
MOST_ACTIVE = 2**10
LONGEST = 1e16
SOLVED, NEARLY = 1e-13, 1e-8
MOST_STEPS = 200
# in `effort`, beside its points: kinks, and the equation of its busy periods
POINTS_OF_LEVEL = 3500
# levels whose length and cost differ by less than this part are alike; so many of them are taken together
ALIKE, MANY = 1e-11, 4


@dataclass(frozen=True, eq=False)
class Levels:
    """Numbers of each level that is told apart, and what is left beyond them."""

    measure: ServiceMeasure
    arrival_rate: float  # λ
    idle: float  # 1 − ρ^eff
    # t_{r−1} and t_r, the last one ``inf`` if that level runs to completion
    start: Floats
    end: Floats
    # c_{r−1} and a_{r−1}
    cost: Floats
    before: Floats
    # P(S > t_{r−1}) and P(S > t_r)
    reached: Floats
    passed: Floats
    # Σ P(S > t_{r−1}) over the levels beyond, which are taken for full quanta of the length of the first of them
    deep: float
    deep_width: float  # That length, restore cost included
    truncation: float  # Proved bound of the error that this makes in a distribution function

    @classmethod
    def of(cls, queue: Queue, policy: Policy, effective_load: float) -> Levels:
        """Levels of a stable queue.

        Notes
        -----
        Levels that hardly any job enters (probability below 1e-18) are left out.  For power laws at most 2¹³ levels
        are told apart; the others are only felt as the pieces Y_r that an arrival may find in service, with the
        measure λ Σ_r P(Y_r > y) dy.  Σ P(S > t_{r−1}) is E[(S − t_R)⁺]/θ up to P(S > t_R), and halfway between its
        bounds but for the curvature of the tail.  If costs do not grow, pieces are full quanta but for jobs that
        complete within, of measure P(S > t_R) at any y; if they grow, all pieces last longer than the times that are
        asked for (`latest`).  So the mass of the measure is off by at most 2 w λ P(S > t_R), w the length of the first
        piece beyond.  This is a change of the numerator of E[e^{−σV}], whose denominator is at least 1 − ρ^eff.
        Beside that the jobs that complete beyond are missing.
        """
        measure = ServiceMeasure.of(queue)
        infinite = policy.levels == math.inf
        quantum = float(policy.quantum) if infinite else math.inf  # type: ignore[union-attr]
        limit = min(measure.end, quantum * MOST_LEVELS)
        inner = policy.boundaries(limit)
        cut = infinite and limit < measure.end
        start = np.concatenate([[0.0], inner])
        end = np.concatenate([inner, [limit if cut else math.inf]])
        cost = queue.restore_cost(start)
        cost[0] = 0.0
        before = start + np.concatenate([[0.0], np.cumsum(cost)[:-1]])
        reached = measure.tail(start)
        passed = np.concatenate([reached[1:], measure.tail(end[-1:]) if cut else [0.0]])
        deep, width, truncation = 0.0, math.inf, 0.0
        if cut:
            tails = TailIntegrals.at(queue, np.array([limit]))
            width = float(quantum + queue.restore_cost(limit))
            deep = float(tails.mean[0] / quantum + passed[-1] / 2)
            truncation = float(passed[-1]) * (1 + 2 * width * queue.arrival_rate / (1 - effective_load))
        return cls(
            measure,
            queue.arrival_rate,
            1 - effective_load,
            start,
            end,
            cost,
            before,
            reached,
            passed,
            deep,
            width,
            truncation,
        )

    @cached_property
    def probability(self) -> Floats:
        """p_r."""
        return self.reached - self.passed

    @cached_property
    def singularities(self) -> DensitySingularities:
        """Where the density of S restricted to each level jumps (continuous laws)."""
        return self.measure.density_singularities(self.start, self.end)

    @cached_property
    def width(self) -> Floats:
        """Longest piece, c_{r−1} + t_r − t_{r−1}."""
        return self.cost + (self.end - self.start)

    def active(self, horizon: float) -> int:
        """Number of levels in which a job can complete within a time."""
        return int(np.count_nonzero(self.before + self.cost < horizon))

    @cached_property
    def latest(self) -> float:
        """The latest time for which the distribution is computed: until then a job enters at most 1024 levels."""
        latest = LONGEST * self.measure.queue.mean_service_time
        if len(self.before) > MOST_ACTIVE:
            latest = min(latest, float(self.before[MOST_ACTIVE] + self.cost[MOST_ACTIVE]))
        if self.deep and self.cost[-1] > self.cost[-2]:
            latest = min(latest, self.deep_width / MARGIN)
        return latest


@dataclass(frozen=True, eq=False)
class LevelTransform:
    """Transforms of one level at the points of `Frequencies`."""

    level: int  # Position of the level, from 0
    ahead: Complexes  # E[e^{−sD}] for the time D until the last piece begins, a_{j−1} included
    piece: Complexes  # ∫ e^{−st} P(c_{j−1} + S − t_{j−1} ≤ t | J = j) dt

    def continued(self, above: LevelTransform) -> LevelTransform:
        """With further frequencies."""
        ahead, piece = np.append(self.ahead, above.ahead), np.append(self.piece, above.piece)
        return LevelTransform(self.level, ahead, piece)


def effort(levels: Levels, frequencies: Frequencies) -> float:
    """What `level_transforms` and their inversion take, in points; about a microsecond each."""
    active = levels.active(frequencies.horizon)
    alone, _ = _alike(levels, _near(levels, frequencies))
    by_one = np.append(np.arange(active), alone)
    length = np.minimum(levels.end, levels.measure.end)[by_one] - levels.start[by_one]
    panels = np.ceil(np.minimum(length, MARGIN * frequencies.horizon) / frequencies.width)
    return float(np.maximum(panels, 1.0).sum() * GAUSS + active * POINTS_OF_LEVEL)


def level_transforms(levels: Levels, frequencies: Frequencies) -> Iterator[LevelTransform]:
    """Transforms of all levels in which jobs complete within the horizon.

    Notes
    -----
    With I_r(σ) = ∫ e^{−σy} P(Y_r > y) dy, the tails of all that a level-j job may find in service add up to
    K_j = λ(1 − E[e^{−σX_j}])/σ = λ Σ_{r≤j} e^{−σa_{r−1}} I_r and R_j = λ Σ_{r>j} I_r, with K_k(0) = ρ^eff.  The work
    found has the transform (1 − ρ^eff + R_j)/(1 − K_j), and the busy periods of X_{j−1} give σ = s + σK_{j−1}(σ).
    """
    rate, s = levels.arrival_rate, frequencies.points
    slow = _slow_factor(levels, frequencies)
    active = levels.active(frequencies.horizon)
    lower, work = slow.empty(), slow.empty()
    places, masses = _lower_tails(levels, frequencies)
    _add(lower, slow.weights(frequencies.exponentials(places), places, masses, 0.0))
    delta = np.zeros_like(s)
    for j, (places, masses) in enumerate(_piece_tails(levels, active, frequencies)):
        before, cost = levels.before[j], levels.cost[j]
        exponentials = frequencies.exponentials(places)
        if j:
            _add(lower, slow.weights(exponentials, places, masses, 0.0), -1)
            delta = _stretched(slow, work, rate, delta)
        _add(work, slow.weights(exponentials, places, masses, before))
        if not levels.probability[j] > 0:
            continue
        below, above = slow.values([lower, work], delta)
        found = (levels.idle + rate * below) / (1 - rate * above)
        served = np.where(places > cost, frequencies.faded(places, masses), 0.0)
        completed = levels.reached[j] * np.exp(-s * cost)
        if levels.passed[j] > 0:
            completed = completed - levels.passed[j] * np.exp(-s * levels.width[j])
        completed = completed / s - (served @ exponentials.view(float)).view(complex)
        yield LevelTransform(j, found * np.exp(-(s + delta) * before), completed / levels.probability[j])


def _add(total: Complexes, part: tuple[slice, Complexes], sign: int = 1) -> None:
    """Add the weights of a measure to a total, or take them off."""
    panel, weights = part
    total[:, panel] += weights if sign > 0 else -weights


def _piece_tails(levels: Levels, active: int, frequencies: Frequencies) -> list[tuple[Floats, Floats]]:
    """Points and weights of P(Y_r > y) dy, for each of the first levels, as far as it matters within the horizon."""
    reach = MARGIN * frequencies.horizon
    start = levels.start[:active]
    ages, masses, owner = levels.measure.nodes(start, np.minimum(levels.end[:active], start + reach), frequencies.width)
    splits = np.searchsorted(owner, np.arange(1, active))
    tails = []
    for r, (served, within) in enumerate(zip(np.split(ages, splits), np.split(masses, splits), strict=True)):
        restore, lengths = even_nodes(np.array([0.0, min(levels.cost[r], reach)]), frequencies.width)
        places, weights = thinned(served - start[r] + levels.cost[r], within, frequencies.width)
        tails.append((np.append(restore, places), np.append(lengths * levels.reached[r], weights)))
    return tails


def _lower_tails(levels: Levels, frequencies: Frequencies) -> tuple[Floats, Floats]:
    """Points and weights of Σ P(Y_r > y) dy over all levels but the first."""
    reach = MARGIN * frequencies.horizon
    alone, alike = _alike(levels, _near(levels, frequencies))
    places, masses = [np.empty(0)], [np.empty(0)]
    for group in alike:
        within, weights = _sum_of_tails(levels, group, frequencies)
        places.append(within + levels.cost[group[0]])
        masses.append(weights)
    if alone.size:
        start, cost = levels.start[alone], levels.cost[alone]
        end = np.minimum(levels.end[alone], start + reach)
        ages, weights, owner = levels.measure.nodes(start, end, frequencies.width)
        places.append(ages - start[owner] + cost[owner])
        masses.append(weights)
    # restore costs: Σ P(S > t_{r−1}) over the levels with a cost above y is a step function
    steps = np.minimum(np.append(levels.cost[1:], levels.deep_width if levels.deep else 0.0), reach)
    order = np.argsort(steps, kind="stable")
    heights = np.cumsum(np.append(levels.reached[1:], levels.deep)[order][::-1])[::-1]
    edges = np.append(0.0, steps[order])
    restore, lengths = even_nodes(edges, frequencies.width)
    places.append(restore)
    masses.append(lengths * heights[np.searchsorted(edges, restore, side="left") - 1])
    return thinned(np.concatenate(places), np.concatenate(masses), frequencies.width)


def _near(levels: Levels, frequencies: Frequencies) -> NDArray[np.int64]:
    """Levels but the first whose pieces have served something within the horizon."""
    return np.flatnonzero(levels.cost < MARGIN * frequencies.horizon)[1:]


def _alike(levels: Levels, near: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Levels to be taken one by one, and groups of levels of the same length and cost, each with a smooth tail."""
    length, cost = (levels.end - levels.start)[near], levels.cost[near]
    smooth = levels.measure.on_panels(levels.start[near], levels.end[near])
    with np.errstate(invalid="ignore"):  # the last level may be endless
        same = [np.abs(np.diff(values)) <= ALIKE * values[1:] for values in (length, cost)]
    runs = np.split(np.arange(len(near)), 1 + np.flatnonzero(~(same[0] & same[1] & smooth[1:] & smooth[:-1])))
    groups = [near[run] for run in runs if len(run) >= MANY]
    return np.setdiff1d(near, np.concatenate([near[:0], *groups]), assume_unique=True), groups


def _sum_of_tails(levels: Levels, group: NDArray[np.int64], frequencies: Frequencies) -> tuple[Floats, Floats]:
    """Points and weights of Σ P(S > t_{r−1} + y) dy over alike levels, from its interpolation across their length."""
    start = levels.start[group]
    length = min(float((levels.end[group] - start).min()), MARGIN * frequencies.horizon)
    points, weights = even_nodes(np.array([0.0, length]), frequencies.width)
    nodes, basis = chebyshev_basis(THIN, 2 * points / length - 1)
    within = length * (nodes + 1) / 2
    tails = sum(levels.measure.tail(np.add.outer(part, within)).sum(axis=0) for part in _parts(start))
    return points, weights * (basis @ tails)


def _parts(start: Floats) -> list[Floats]:
    """In parts that stay in the cache."""
    return np.array_split(start, 1 + len(start) // THIN**2)


def _slow_factor(levels: Levels, frequencies: Frequencies) -> SlowFactor:
    """Panels for |δ| = λ|1 − E[e^{−sB}]| ≤ λ min(2, |s| E[B]), with E[B] ≤ E[S^eff]/(1 − ρ^eff)."""
    active = levels.active(frequencies.horizon)
    load = 1 - levels.idle
    bound = min(2 * levels.arrival_rate, float(np.abs(frequencies.points[-1])) * load / levels.idle)
    return SlowFactor(frequencies, bound if active > 1 else 0.0, _end(levels, active))


def _end(levels: Levels, active: int) -> float:
    """Upper end of the measures of X_j and of all pieces."""
    rest = levels.measure.end - levels.start
    work = (levels.before + levels.cost + rest)[:active]
    piece = np.minimum(levels.width, levels.cost + rest)
    deep = levels.deep_width if math.isfinite(levels.deep_width) else 0.0
    return 1.001 * float(max(work.max(), piece.max(), deep))


def _stretched(slow: SlowFactor, work: Complexes, rate: float, delta: Complexes) -> Complexes:
    """δ of σ = s + δ, δ = σK_{j−1}(σ), by Newton's method from the solution of the level before.

    The right-hand side, λ(1 − E[e^{−σX_{j−1}}]), contracts by ρ_{j−1} < 1 in the right half-plane, so it is used for a
    step where Newton's step has not brought the two sides nearer.
    """
    s = slow.frequencies.points
    last, contracted = np.full(s.shape, math.inf), delta
    for _ in range(MOST_STEPS):
        value, slope = slow.value_and_slope(work, delta)
        image = (s + delta) * rate * value
        error = np.abs(image - delta)
        if error.max() <= SOLVED * rate:
            break
        last_step = error.max() <= NEARLY * rate
        nearer = error < last
        newton = delta + (image - delta) / (1 - rate * (value + (s + delta) * slope))
        contracted = np.where(nearer, image, contracted)
        last = np.where(nearer, error, math.inf)
        delta = np.where(nearer, newton, contracted)
        if last_step and nearer.all():  # Newton squares the error
            break
    return delta
