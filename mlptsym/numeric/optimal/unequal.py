"""The best boundaries between levels when every quantum may be chosen by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.numeric.levels.sums import level_sums
from mlptsym.numeric.mean.gradient import ResponseGradient, one_sided_gradient
from mlptsym.numeric.mean.response import mean_response_time, solve
from mlptsym.numeric.model.breaks import breaks
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.optimal.descent import descended
from mlptsym.numeric.optimal.optimum import Optimum, optimal_quantum

__all__ = ["OptimalQuanta", "best_boundaries_by_level", "optimal_quanta"]

Floats = NDArray[np.float64]

LARGEST = 64
EQUAL_STARTS = 3  # local minima over a common quantum to start from
DESCENTS = 12  # of these starts and of the insertions, the best so many are followed down
ON_BREAK = 1e-9
POLISHES, STEP = 8, 1e-6
ROUNDS = 30  # of coordinate descent over point masses
CANDIDATES = 2_000
TIE = 1e-12


@dataclass(frozen=True)
class OptimalQuanta:
    """The quanta with the smallest mean response time found.

    Attributes
    ----------
    quanta : tuple of float
        θ_1, …, in units of service time; at most k − 1 of them, fewer where a further level does not pay, none where
        FCFS is best.
    boundaries : tuple of float
        t_r = θ_1 + … + θ_r.
    kinks : tuple of bool
        Which boundaries lie on a break of E[T]: ℓ_C, an end of the density, the window of the memory, or a point mass.
    mean_response_time : float
        E[T] with these quanta.
    equal : Optimum
        The best common quantum for the same k, FCFS included.
    gain : float
        1 − E[T]/E[T of the best common quantum], never negative.
    fcfs : float
        E[T] of FCFS.
    levels : int
        k, the number of levels allowed.
    effective_load : float
        ρ^eff with these quanta.
    """

    quanta: tuple[float, ...]
    boundaries: tuple[float, ...]
    kinks: tuple[bool, ...]
    mean_response_time: float
    equal: Optimum
    gain: float
    fcfs: float
    levels: int
    effective_load: float

    @property
    def policy(self) -> Policy:
        """The policy with these quanta."""
        return MLPT(quanta=self.quanta) if self.quanta else FCFS()


def optimal_quanta(queue: Queue, levels: int = 3) -> OptimalQuanta:
    """The quanta θ_1, …, θ_{k−1} that minimise E[T] under MLPT with at most k levels.

    Parameters
    ----------
    queue : Queue
    levels : int
        k, from 2 to 64.

    Returns
    -------
    OptimalQuanta
        Never worse than the best common quantum, which is one of the starts, nor than the best with fewer levels.

    Raises
    ------
    ParameterError
        If k is not among these.

    Notes
    -----
    In the boundaries t_r, E[T] is smooth but for kinks at t_r = ℓ_C (and the other breaks of
    `mlptsym.numeric.model.breaks.breaks`), each in one coordinate only.  Level after level is added: starts for k are
    the best boundaries for k − 1 with one more boundary in each gap or on a break, and the best common quanta.  The
    most promising of them are followed down together, with the exact gradient (`mlptsym.numeric.optimal.descent`); a
    boundary that reaches a break stays there if E[T] rises to both sides of it, and otherwise crosses it.  At the end
    Newton's method makes the gradient zero, to the last digits, in all boundaries that are not on a break.

    With point masses E[T] jumps at them; then one boundary after the other is set to the best of the masses (of 2,000
    of them at a time, where there are more), until none can be improved alone.

    The result is a local minimum, the best of those reached.  Unlike that of `optimal_quantum`, it is not claimed to be
    global for k > 2.

    Examples
    --------
    >>> from mlptsym import LogNormal
    >>> queue = Queue(LogNormal(5, 0.9), 0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39, preemption_cost=0.1)
    >>> best = optimal_quanta(queue, levels=3)
    >>> [round(quantum, 1) for quantum in best.quanta], f"{best.gain:.2%}"
    ([838.2, 1600.9], '0.85%')
    """
    *_, best = best_boundaries_by_level(queue, levels)
    return best


def best_boundaries_by_level(queue: Queue, levels: int) -> Iterator[OptimalQuanta]:
    """`optimal_quanta` for k = 2, 3, …, ``levels``, each of which starts from the one before."""
    validation.instance("queue", queue, Queue, "a Queue")
    queue.refuse_unloading("best quanta")
    levels = validation.integer("levels", levels, at_least=2, at_most=LARGEST)
    fcfs = mean_response_time(queue, FCFS())
    problem = _Problem.of(queue, fcfs) if math.isfinite(fcfs) else None
    boundaries, value = np.empty(0), fcfs
    for k in range(2, levels + 1):
        equal = optimal_quantum(queue, k)
        if problem is not None:
            # where the last level did not pay, one more in a gap has been tried
            starts = _common(equal) + (_with_one_more(boundaries, queue) if len(boundaries) == k - 2 else [])
            lower = problem.lower(starts, value * (1 - TIE)) if starts else None
            boundaries, value = (boundaries, value) if lower is None else lower
            if equal.mean_response_time < value * (1 + TIE) and 0 < equal.quantum < math.inf:
                boundaries, value = _common(equal)[0], equal.mean_response_time
        yield _result(queue, k, boundaries, equal)


def _common(equal: Optimum) -> list[Floats]:
    quanta = [quantum for quantum, *_ in equal.local_minima[:EQUAL_STARTS]]
    return [quantum * np.arange(1.0, equal.levels) for quantum in quanta]


def _with_one_more(boundaries: Floats, queue: Queue) -> list[Floats]:
    """The boundaries with another in each gap, before the first and beyond the last, and on each break."""
    if len(boundaries):
        edges = np.concatenate([[boundaries[0] / 4], boundaries, [4 * boundaries[-1]]])
        inside = np.sqrt(edges[:-1] * edges[1:])
    else:
        inside = queue.mean_service_time * np.array([0.5, 1.0, 2.0, 4.0, 8.0])
    kinks = [there for there in breaks(queue).kinks if math.isfinite(there) and not _on(boundaries, there)]
    return [np.sort(np.append(boundaries, new)) for new in [*inside, *kinks]]


def _on(places: Floats, there: float) -> bool:
    return bool(np.isclose(places, there, rtol=ON_BREAK, atol=0).any())


def _result(queue: Queue, levels: int, boundaries: Floats, equal: Optimum) -> OptimalQuanta:
    places = breaks(queue).all
    quanta = _quanta(boundaries)
    policy = MLPT(quanta=quanta) if quanta else FCFS()
    solution = solve(queue, policy)
    best = equal.mean_response_time
    return OptimalQuanta(
        quanta,
        tuple(np.cumsum(quanta).tolist()),
        tuple(_on(places, there) for there in boundaries.tolist()),
        solution.mean_response_time,
        equal,
        max(1 - solution.mean_response_time / best, 0.0) if math.isfinite(best) else 0.0,
        equal.fcfs,
        levels,
        solution.effective_load,
    )


def _quanta(boundaries: Floats) -> tuple[float, ...]:
    """Quanta whose running sums are not below the boundaries: a job of exactly that size completes."""
    quanta, reached = [], 0.0
    for there in boundaries.tolist():
        quantum = there - reached
        while reached + quantum < there:
            quantum = math.nextafter(quantum, math.inf)
        quanta.append(quantum)
        reached += quantum
    return tuple(quanta)


@dataclass(frozen=True)
class _Reached:
    """Where a descent has ended: boundaries, E[T], and which of the boundaries lie where E[T] is smooth in them."""

    boundaries: Floats
    value: float
    free: NDArray[np.bool_]


@dataclass(frozen=True)
class _Problem:
    """E[T] as a function of the boundaries.

    Attributes
    ----------
    queue : Queue
    scale : float
        E[T] of FCFS.
    kinks, jumps : array
        Attained service at which E[T] has kinks, and at which it jumps, increasing.
    """

    queue: Queue
    scale: float
    kinks: Floats
    jumps: Floats

    @classmethod
    def of(cls, queue: Queue, fcfs: float) -> _Problem:
        found = breaks(queue)
        jumps = np.union1d(found.left_jumps, found.right_jumps)
        return cls(queue, fcfs, found.kinks[np.isfinite(found.kinks)], jumps)

    def values(self, boundaries: Floats) -> Floats:
        """E[T], one for each column of boundaries."""
        with np.errstate(all="ignore"):  # unstable columns are replaced
            totals = level_sums(self.queue, boundaries, closed=True).totals
            times = totals.mean_response_time()
        return np.where(self.queue.arrival_rate * totals.effective_mean < 1, times, np.inf)

    def gradient(self, boundaries: Floats) -> ResponseGradient:
        """E[T] and its gradient from the right, one for each column of boundaries."""
        return one_sided_gradient(self.queue, boundaries, np.ones(boundaries.shape, dtype=bool))

    def at(self, boundaries: Floats) -> tuple[float, Floats]:
        """E[T] and its gradient at one set of boundaries."""
        found = self.gradient(boundaries[:, None])
        return float(found.mean_response_time[0]), found.slopes[:, 0]

    def lower(self, starts: Sequence[Floats], than: float) -> tuple[Floats, float] | None:
        """The lowest of the local minima below the most promising starts, and E[T] there, if it is below ``than``."""
        columns = np.stack(starts, axis=1)
        values = self.values(columns)
        most = min(DESCENTS, np.isfinite(values).sum())
        promising = columns[:, np.argsort(values, kind="stable")[:most]]
        if not promising.size:
            return None
        # between point masses E[T] falls or rises throughout, between jumps of the cost it may turn
        reached = [self._lowest_jump(promising)] if len(self.jumps) else []
        if not len(self.queue.size.atoms):
            reached.append(self._lowest(promising))
        lowest = min(reached, key=lambda one: one.value)
        if not lowest.value < than:
            return None
        there = self._polished(lowest)
        return there, float(self.values(there[:, None])[0])

    # smooth between breaks

    def _lowest(self, starts: Floats) -> _Reached:
        """The lowest of the local minima below these starts, one in each column."""

        def function(boundaries: Floats, right: NDArray[np.bool_]) -> tuple[Floats, Floats]:
            found = one_sided_gradient(self.queue, boundaries, right)
            return found.mean_response_time, found.slopes

        found = descended(function, starts, self.kinks)
        lowest = int(np.argmin(found.values))
        return _Reached(found.points[:, lowest], float(found.values[lowest]), found.free[:, lowest])

    def _polished(self, reached: _Reached) -> Floats:
        """Newton's method in the free boundaries, with the Hessian by differences of the exact gradient."""
        best, free = reached.boundaries, np.flatnonzero(reached.free)
        if not len(free):
            return best
        value, slopes = self.at(best)
        slopes = slopes[free]
        for _ in range(POLISHES):
            steps = STEP * best[free]
            moved = np.repeat(best[:, None], 2 * len(free), axis=1)
            moved[free, np.arange(len(free))] += steps
            moved[free, len(free) + np.arange(len(free))] -= steps
            around = self.gradient(moved).slopes[free]
            hessian = (around[:, : len(free)] - around[:, len(free) :]) / (2 * steps)
            if not np.isfinite(hessian).all() or np.linalg.eigvalsh((hessian + hessian.T) / 2)[0] <= 0:
                break
            nearer = best.copy()
            nearer[free] -= np.linalg.solve((hessian + hessian.T) / 2, slopes)
            if not (nearer[0] > 0 and (np.diff(nearer) > 0).all()):
                break
            there, closer = self.at(nearer)
            closer = closer[free]
            # a step too long may end where E[T] is flat, and higher
            if not (there <= value * (1 + TIE) and np.abs(closer).max() < np.abs(slopes).max()):
                break
            best, value, slopes = nearer, there, closer
        return best

    # jumps

    def _lowest_jump(self, starts: Floats) -> _Reached:
        return min(map(self._over_jumps, starts.T), key=lambda reached: reached.value)

    def _over_jumps(self, start: Floats) -> _Reached:
        """One boundary after the other to the best jump, until none can be improved alone."""
        places = np.union1d(self.jumps, self.kinks)
        boundaries, best = start, float(self.values(start[:, None])[0])
        for _ in range(ROUNDS):
            before = best
            for row in range(len(boundaries)):
                low = boundaries[row - 1] if row else 0.0
                high = boundaries[row + 1] if row + 1 < len(boundaries) else math.inf
                allowed = places[(places > low) & (places < high)]
                while len(allowed):
                    chosen = allowed[np.unique(np.linspace(0, len(allowed) - 1, CANDIDATES).astype(int))]
                    columns = np.repeat(boundaries[:, None], len(chosen), axis=1)
                    columns[row] = chosen
                    values = self.values(columns)
                    lowest = int(np.argmin(values))
                    if values[lowest] < best:
                        boundaries, best = columns[:, lowest].copy(), float(values[lowest])
                    if len(chosen) == len(allowed):
                        break
                    near = chosen[max(lowest - 1, 0) : lowest + 2]
                    allowed = allowed[(allowed >= near[0]) & (allowed <= near[-1])]
            if best >= before * (1 - TIE):
                break
        return _Reached(boundaries, best, np.zeros(len(boundaries), dtype=bool))
