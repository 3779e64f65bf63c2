"""Mean response times: Pollaczek–Khinchine for FCFS, theorem 4.5 for MLPT with any number of levels."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.numeric.levels.remainder import (
    Continued,
    continued_response_time,
    first_levels,
    is_continuable,
    level_depth,
    remainder_bounds,
    with_linear_memory,
)
from mlptsym.numeric.levels.sums import level_sums
from mlptsym.numeric.mean.lazy import lazy_terms
from mlptsym.numeric.mean.lazy_three import lazy_three_terms
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy, refuse_lazy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.saturation import MEAN, refuse_saturated

__all__ = ["LevelTable", "Solution", "level_table", "mean_response_time", "moments_needed", "solve"]

Floats = NDArray[np.float64]

BLOCK_CELLS = 2**15
# part of the jobs that a table by level need not tell
UNTOLD = 1e-12
# of infinitely many levels, in mean service times: shorter ones leave the range of a double
SHORTEST = 1e-100
REMAINDER = 1e-13
CONTINUED = 1e-9  # what levels taken as integrals may be off by, relative to E[T]
DIRECT_LEVELS, LONGEST_TABLE = 2**18, 2**20
LEVEL_LIMIT = 2**22
CELL_LIMIT = 2**28
LEAST_SHAPE = 1.05


def moments_needed(queue: Queue, levels: float) -> int:
    """Order of the highest moment of the service time that must be finite for E[T] to be.

    Parameters
    ----------
    queue : Queue
    levels : int or inf
        k.

    Returns
    -------
    int
        2 for finite k; for k = ∞, 3 if restore costs grow without bound and 1 otherwise.

    Notes
    -----
    d_1 = λ Σ_r E[Y_r²] / (2(1 − λE[X_1])), and every other term of theorem 4.5 is finite when this one and E[S^eff]
    are. For finite k the last piece is what is left of S beyond t_{k−1}, so the sum is finite exactly if E[S²] is.
    For k = ∞ a piece is at most θ of service plus c_{r−1}, reached with probability P(S > t_{r−1}): bounded costs
    give Σ_r E[Y_r²] ≤ (θ + c)² Σ_r P(S > t_{r−1}) ≤ (θ + c)² (1 + E[S]/θ), and costs that grow linearly give Σ_r c_r²
    P(S > t_r), which is of the order of γ²E[S³]/(3θ).  In both cases Σ p_j d_j is finite too, since d_j grows no
    faster than a_{j−1} + Σ_{r≤j} a_{r−1}E[Y_r], with a_{j−1} of order S or γS²/(2θ) and the sum of order at most S^2
    times the tail's missing moment.  S = q(L) is linear in L far out, so the moments of S are finite exactly when
    those of L are.
    """
    if levels < math.inf:
        return 2
    _, slope = queue.memory.line
    return 3 if queue.preemption_cost + queue.unload_cost > 0 and slope > 0 else 1


def mean_response_time(queue: Queue, policy: Policy) -> Any:
    """Mean response time E[T] in steady state.

    Parameters
    ----------
    queue : Queue
    policy : FCFS or MLPT
        With an array of quanta in ``MLPT(quantum=…)``, an array comes back.

    Returns
    -------
    float or array
        In units of time; ``inf`` where the queue is unstable (ρ^eff ≥ 1) or the mean is infinite.

    Raises
    ------
    ParameterError
        For MLPT′ (``lazy=True``) with more than three levels, which only simulation answers, and for work beyond a
        stated limit: more than 2²² levels for one quantum, or 2²⁸ levels in all.
    SaturationError
        Where 1 − 1e-9 < ρ^eff < 1: the relative error, 1e-15/(1 − ρ^eff) at most, would be above 1e-6.

    Notes
    -----
    Finite k: theorem 4.5, eqs. (26)–(28), and `mlptsym.symbolic.mean.lazy` and ``lazy_three`` for MLPT′ with two and
    three levels.  k = ∞: levels are summed until the proved bound on the rest is below 1e-13 of the answer; where that
    may take more than 2¹⁸ levels, and for power-law tails, where it cannot be reached, the rest is added by an
    Euler–Maclaurin formula with a relative error below 1e-9 (usually 1e-12).  Power laws with a
    shape below 1.05, whose levels beyond 1e120 still count, are refused.

    Examples
    --------
    >>> import math
    >>> from mlptsym import Exponential
    >>> queue = Queue(Exponential(1.0), arrival_rate=0.5)
    >>> mean_response_time(queue, FCFS())
    2.0
    >>> round(mean_response_time(queue, MLPT(quantum=0.01, levels=math.inf)), 12)
    2.0
    """
    return solve(queue, policy).mean_response_time


@dataclass(frozen=True)
class Solution:
    """Answer of the theory for a queue and a policy.

    Attributes
    ----------
    mean_response_time : float or array
        E[T], ``inf`` if unstable or infinite.
    effective_load : float or array
        ρ^eff = λE[S^eff], eq. (11); under MLPT′ that of a server that is never idle, which is what decides stability:
        with two levels no cost is waived then, with three some are.
    stable : bool or array of bool
        Whether ρ^eff < 1 (lemmas 3.1 and 4.2).
    """

    mean_response_time: Any
    effective_load: Any
    stable: Any


def solve(queue: Queue, policy: Policy) -> Solution:
    """Mean response time, effective load and stability; see `mean_response_time` for limits and errors.

    Examples
    --------
    >>> from mlptsym import Deterministic
    >>> queue = Queue(Deterministic(4.0), arrival_rate=0.2, preemption_cost=0.1)
    >>> round(solve(queue, MLPT(quantum=1.0, levels=math.inf)).effective_load, 12)
    0.92
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    if not isinstance(policy, (FCFS, MLPT)):
        validation.refuse("policy", policy, "FCFS or MLPT (other policies can only be simulated)")
    if policy.levels > 3:
        refuse_lazy(policy, "more than three levels")
    quanta = np.asarray(policy.quantum if isinstance(policy, MLPT) and policy.quanta is None else 1.0, dtype=float)
    if policy.levels == math.inf:
        times, loads = _infinite(queue, quanta.ravel())
    else:
        times, loads = _finite(queue, _unit_boundaries(policy), quanta.ravel())
    if policy.lazy and policy.levels > 1:
        times, loads = _waived(queue, _scaled(queue, _unit_boundaries(policy), quanta.ravel()), loads)
    _refuse_lost(queue, policy, times, loads)
    if quanta.ndim == 0:
        return Solution(float(times[0]), float(loads[0]), bool(loads[0] < 1))
    shaped = [values.reshape(quanta.shape) for values in (times, loads)]
    return Solution(shaped[0], shaped[1], shaped[1] < 1)


def _waived(queue: Queue, ends: Floats, loads: Floats) -> tuple[Floats, Floats]:
    """E[T] of MLPT′ with boundaries in rows, and the load that decides its stability."""
    if len(ends) == 1:
        return lazy_terms(queue, ends[0]).mean_response_time, loads
    terms = lazy_three_terms(queue, ends.T)
    return terms.mean_response_time, terms.load


def _refuse_lost(queue: Queue, policy: Policy, times: Floats, loads: Floats) -> None:
    """Refuse a finite mean whose digits are lost: the load is next to one, or something has overflowed."""
    infinite = queue.size.moment_limit <= moments_needed(queue, policy.levels)
    if not infinite:
        refuse_saturated(queue, loads, MEAN)
    without_answer = loads[~np.isfinite(times)]
    if np.isnan(without_answer).any() or not (infinite or (without_answer >= 1).all()):
        validation.refuse("queue", queue, "of sizes, rates and costs whose products stay below 1e308")


def _unit_boundaries(policy: Policy) -> Floats:
    """Boundaries of a policy with finitely many levels, in units of its quantum."""
    if isinstance(policy, MLPT) and policy.quanta is not None:
        return policy.boundaries(math.inf)
    if policy.levels > LEVEL_LIMIT:
        validation.refuse("levels", policy.levels, f"at most {LEVEL_LIMIT}, or inf")
    return np.arange(1.0, policy.levels)


def _scaled(queue: Queue, unit_boundaries: Floats, quanta: Floats) -> Floats:
    """Boundaries, one column for each quantum, none far beyond the age that nobody reaches in double precision."""
    return np.minimum(unit_boundaries[:, None] * quanta[None, :], queue.furthest)


def _finite(queue: Queue, unit_boundaries: Floats, quanta: Floats) -> tuple[Floats, Floats]:
    """E[T] and ρ^eff for finitely many levels, one value per quantum."""
    rows = len(unit_boundaries) + 1
    _refuse_work(quanta, np.full(len(quanta), float(rows)))
    times, loads = np.full(len(quanta), np.inf), np.full(len(quanta), np.inf)
    if not queue.size.moment_limit > 1:
        return times, loads
    finite = queue.size.moment_limit > moments_needed(queue, rows)
    width = max(1, BLOCK_CELLS // rows)
    for start in range(0, len(quanta), width):
        block = slice(start, start + width)
        with np.errstate(all="ignore"):  # columns beyond stability are replaced below
            totals = level_sums(queue, _scaled(queue, unit_boundaries, quanta[block]), closed=True).totals
            loads[block] = queue.arrival_rate * totals.effective_mean
            times[block] = totals.mean_response_time() if finite else np.inf
    return _stable(times, loads), loads


def _stable(times: Floats, loads: Floats) -> Floats:
    """E[T] where the queue is stable, else ``inf``."""
    return np.where(loads < 1, times, np.inf)


def _infinite(queue: Queue, quanta: Floats) -> tuple[Floats, Floats]:
    """E[T] and ρ^eff for infinitely many equal levels, one value per quantum."""
    times, loads = np.full(len(quanta), np.inf), np.full(len(quanta), np.inf)
    needed = moments_needed(queue, math.inf)
    growing = needed == 3
    if not queue.size.moment_limit > (2 if growing else 1):
        return times, loads  # E[S^eff] itself is infinite
    if queue.size.moment_limit < LEAST_SHAPE:
        allowed = f"a law with a finite moment of order {LEAST_SHAPE:g}, for infinitely many levels"
        validation.refuse("size", queue.size, allowed)
    quanta = _scaled(queue, np.ones(1), quanta)[0]
    tiny = quanta < SHORTEST * queue.mean_service_time
    if tiny.any():
        allowed = f"at least {SHORTEST:g} mean service times, for infinitely many levels"
        validation.refuse("quantum", float(quanta[tiny][0]), allowed)
    levels = level_depth(queue, quanta, REMAINDER)
    continuable = is_continuable(queue.size)
    pending = np.argsort(levels, kind="stable")
    rows = levels.copy()
    while len(pending):
        deep = continuable & (levels[pending] > DIRECT_LEVELS)
        for index in pending[deep]:
            answer = _continued(queue, float(quanta[index]))
            times[index], loads[index] = answer.mean_response_time, queue.arrival_rate * answer.effective_mean
        pending = pending[~deep]
        _refuse_work(quanta[pending], levels[pending])
        cells = rows[pending] * np.arange(1, len(pending) + 1)
        width = max(1, int(np.searchsorted(cells, BLOCK_CELLS, side="right")))
        block, pending = pending[:width], pending[width:]
        if len(block):
            times[block], loads[block], enough = _direct(queue, quanta[block], int(rows[block].max()))
            again = block[~enough]
            rows[again] *= 2
            levels[again] = np.maximum(levels[again], rows[again])
            pending = np.concatenate([again, pending])
    if not queue.size.moment_limit > needed:
        times[:] = np.inf
    return _stable(times, loads), loads


def _direct(queue: Queue, quanta: Floats, rows: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """E[T], ρ^eff and whether what is left out is negligible, for the first ``rows`` levels of infinitely many."""
    with np.errstate(all="ignore"):  # columns beyond stability are replaced by the caller
        boundaries = _scaled(queue, np.arange(1.0, rows + 1), quanta)
        sums = level_sums(queue, boundaries, closed=False)
        of_load, rest = remainder_bounds(queue, quanta, sums.totals, boundaries[-1])
        loads = queue.arrival_rate * sums.effective_mean
        times = sums.mean_response_time()
    enough = np.where(loads < 1, rest <= REMAINDER * times, ~(of_load > REMAINDER * sums.effective_mean))
    return times, loads, enough


def _continued(queue: Queue, quantum: float) -> Continued:
    """The answer with the levels beyond the first few by Euler–Maclaurin.

    A memory in steps is taken between two lines there, and so many levels before are summed that the lines agree.
    """
    queue.refuse_unloading("infinitely many levels and a tail as heavy, or quanta as short, as this")
    rows = first_levels(queue, np.array([quantum]))
    while True:
        _refuse_work(np.array([quantum]), rows)
        with np.errstate(all="ignore"):
            sums = level_sums(queue, np.arange(1.0, rows[0] + 1)[:, None] * quantum, closed=False)
            most = continued_response_time(with_linear_memory(queue, 0.0), quantum, sums)
            if queue.memory.lag == 0:
                return most
            least = continued_response_time(with_linear_memory(queue, 1.0), quantum, sums)
        apart = most.mean_response_time / least.mean_response_time - 1
        if apart < 2 * CONTINUED or queue.arrival_rate * least.effective_mean >= 1:
            return Continued(*((one + other) / 2 for one, other in zip(astuple(least), astuple(most), strict=True)))
        if 4 * rows[0] > LEVEL_LIMIT:
            allowed = "one that becomes linear, for infinitely many levels and a tail as heavy as this"
            validation.refuse("memory", queue.memory, allowed)
        rows = 4 * rows


def _refuse_work(quanta: Floats, levels: Floats) -> None:
    """Refuse more levels than fit into a gigabyte at once, or than are summed in a few minutes."""
    deepest, total = levels.max(initial=0.0), levels.sum()
    if deepest > LEVEL_LIMIT:
        quantum = float(quanta[np.argmax(levels)])
        least = quantum * deepest / LEVEL_LIMIT
        validation.refuse("quantum", quantum, f"at least {least:.3g} here (at most {LEVEL_LIMIT} levels are summed)")
    if total > CELL_LIMIT:
        validation.refuse("quantum", quanta, f"fewer or larger numbers: {total:.3g} levels in all, over {CELL_LIMIT}")


@dataclass(frozen=True)
class LevelTable:
    """Waiting and response times by the level in which a job completes; levels where none completes are left out.

    The rows sum to the whole: the probabilities to one, and their products with ``response_time`` to E[T].

    Attributes
    ----------
    level : array of int
        j.
    probability : array
        p_j, eq. (13).
    waiting_time : array
        d_j, eq. (23).
    response_time : array
        E[T | J = j], eqs. (14), (27).
    mean_response_time : float
        E[T].
    last_is_open : bool
        Whether the last row stands for its level and all further ones together, of infinitely many.
    """

    level: NDArray[np.int64]
    probability: Floats
    waiting_time: Floats
    response_time: Floats
    mean_response_time: float
    last_is_open: bool = False

    def shortened(self, rows: int) -> LevelTable:
        """The same with at most so many rows, >= 1, of which the last then stands for all levels it takes together.

        Examples
        --------
        >>> from mlptsym import Exponential
        >>> table = level_table(Queue(Exponential(1.0), arrival_rate=0.5), MLPT(quantum=0.5, levels=9))
        >>> short = table.shortened(3)
        >>> short.level.tolist(), short.last_is_open, round(float(short.probability.sum()), 12)
        ([1, 2, 3], True, 1.0)
        """
        rows = validation.integer("rows", rows, at_least=1)
        if len(self.level) <= rows:
            return self
        last = slice(rows - 1, None)
        share = self.probability[last].sum()
        waiting, response = (
            np.append(column[: rows - 1], (self.probability[last] * column[last]).sum() / share)
            for column in (self.waiting_time, self.response_time)
        )
        probability = np.append(self.probability[: rows - 1], share)
        return LevelTable(self.level[:rows], probability, waiting, response, self.mean_response_time, True)


def level_table(queue: Queue, policy: Policy) -> LevelTable:
    """`LevelTable` of a stable queue under a policy with one quantum or given quanta.

    With infinitely many levels the table ends where the levels left out cannot be told from zero, or after 2²⁰ levels
    with one row for all others.

    Raises
    ------
    ParameterError
        If the queue is unstable or the mean infinite (there is no steady state to describe), or for an array of quanta.

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> table = level_table(Queue(Exponential(1.0), arrival_rate=0.5), MLPT(quantum=1.0, levels=2))
    >>> table.level.tolist(), bool(table.waiting_time[0] < table.waiting_time[1])
    ([1, 2], True)
    """
    solution = solve(queue, policy)
    quantum = policy.quantum if isinstance(policy, MLPT) and policy.quanta is None else 1.0
    if np.ndim(solution.mean_response_time):
        validation.refuse("quantum", quantum, "a single number for a table by level")
    if not math.isfinite(solution.mean_response_time):
        validation.refuse(
            "policy", policy, f"one with a finite mean (effective load {solution.effective_load:.6g} here)"
        )
    closed = policy.levels < math.inf
    if closed:
        ends = _scaled(queue, _unit_boundaries(policy), np.array([quantum]))[:, 0]
    else:
        rows = int(level_depth(queue, np.array([quantum]), REMAINDER / 100)[0])
        ends = _scaled(queue, np.arange(1.0, min(rows, LONGEST_TABLE) + 1), np.array([quantum]))[:, 0]
    sums = level_sums(queue, ends[:, None], closed=closed)
    beyond = not closed and is_continuable(queue.size) and len(ends) == LONGEST_TABLE
    squares = np.array([_continued(queue, quantum).squares]) if beyond else sums.squares
    occupied = sums.probability[:, 0] > 0
    waits, costs = sums.waiting(squares), sums.paid
    if policy.lazy and closed and len(ends) == 1:
        terms = lazy_terms(queue, ends)
        waits, costs = np.array([terms.first_wait, terms.last_wait]), costs * terms.charged
    elif policy.lazy and closed and len(ends):
        of_three = lazy_three_terms(queue, ends)
        paid_after = np.append(1.0, 1 - of_three.alone)[:, None]
        waits, costs = of_three.waits[:, None], np.cumsum(np.diff(costs, axis=0, prepend=0.0) * paid_after, axis=0)
    probability, waiting, completed, paid = (
        column[occupied, 0] for column in (sums.probability, waits, sums.completed_service, costs)
    )
    level, response = np.flatnonzero(occupied) + 1, waiting + completed / probability + paid
    rest = 0.0 if closed else float(queue.service_moments(ends[-1])[0])
    is_open = rest > UNTOLD
    if is_open:
        level, served = np.append(level, len(ends) + 1), solution.effective_load / queue.arrival_rate
        in_rest = (solution.mean_response_time - (probability * response).sum()) / rest
        work_in_rest = (served - (probability * (response - waiting)).sum()) / rest
        response, waiting = np.append(response, in_rest), np.append(waiting, in_rest - work_in_rest)
        probability = np.append(probability, rest)
    return LevelTable(level, probability, waiting, response, solution.mean_response_time, is_open)
