"""What the package says about the paper's numerical claims: gains, best quanta over sweeps, loads; theory and simulation.

Everything is computed when it is first asked for, and kept in the object that was asked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym.laws.base import SizeLaw
from mlptsym.ledger.paper.parameters import PAPER
from mlptsym.numeric.gittins.capped import CappedGittins
from mlptsym.numeric.mean.response import mean_response_time
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.optimal.optimum import Optimum, optimal_quantum, rule_of_thumb
from mlptsym.simulation.simulate import SimulationResult, simulate_many
from mlptsym.simulation.traces import draw_trace
from mlptsym.studies.best_quanta import Found
from mlptsym.studies.loads import at_load
from mlptsym.studies.parameter_sweeps import ParameterSweep
from mlptsym.sweeps import parallel

LEVELS = (2, math.inf)
LOADS = (0.3, 0.5, 0.7, 0.9, 0.97)
"""Base loads ρ_0 of figure 9."""
PREEMPTIONS = (1, 2)
"""Preemptions a job of Capped Gittins may have: the policies of figure 9 have one more level."""


@dataclass(frozen=True)
class Varied:
    """A parameter that figure 10 varies."""

    name: str  # As in `Queue`
    value: float  # The paper's own
    # The range looked at: the paper does not print its own
    low: float
    high: float


VARIED = {
    "β": Varied("slowdown_factor", float(PAPER.slowdown_factor), 0.3, 1.0),
    "γ": Varied("preemption_cost", float(PAPER.preemption_cost), 0.01, 0.5),
}


@dataclass(frozen=True)
class Estimate:
    """A simulated value with its standard error over the seeds."""

    value: float
    error: float

    @classmethod
    def of(cls, samples: Iterable[float]) -> Estimate:
        """Mean and standard error of one value a seed."""
        values = np.array(list(samples))
        return cls(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(values.size))


@dataclass(frozen=True)
class Evidence:
    """Numbers about the queue of section 5, at a scale of simulation: the defaults are the paper's."""

    jobs: int = 100_000
    warmup: int = 20_000
    seeds: int = 8
    root_seed: int = 0

    def queue(self, multiple: float) -> Queue:
        """The queue with ℓ_C so many times E[L]."""
        return PAPER.queue(multiple)

    def simulated(self, queue: Queue, policies: Sequence[Any], repetitions: int = 1) -> tuple[SimulationResult, ...]:
        """Simulations at the scale, or with some times as many seeds."""
        seeds = repetitions * self.seeds
        return simulate_many(queue, policies, self.jobs, self.warmup, seeds, root_seed=self.root_seed)

    def mean_of(self, law: SizeLaw, measure: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Estimate:
        """Mean of a function of the sizes of the measured jobs."""
        traces = (
            draw_trace(law, float(PAPER.arrival_rate), self.warmup + self.jobs, seed=seed, root_seed=self.root_seed)
            for seed in range(self.seeds)
        )
        return Estimate.of(float(measure(trace.sizes[self.warmup :]).mean()) for trace in traces)

    # gains over FCFS

    @cached_property
    def optima(self) -> dict[tuple[float, float], Optimum]:
        """θ* by ℓ_C/E[L] and k."""
        return {(x, k): self.best(self.queue(x), k) for x in (3, 6, 8) for k in LEVELS}

    def policy(self, multiple: float, which: str) -> Policy:
        """MLPT with θ*, "2" or "∞" levels, or with θ̂ and infinitely many, "rule"."""
        if which == "rule":
            return MLPT(quantum=rule_of_thumb(self.queue(multiple), math.inf), levels=math.inf)
        best = self.optima[multiple, 2 if which == "2" else math.inf]
        return MLPT(quantum=best.quantum, levels=best.levels)

    def gain(self, multiple: float, which: str) -> float:
        """1 − E[T]/E[T of FCFS], by the theory."""
        queue = self.queue(multiple)
        mlpt, fcfs = (mean_response_time(queue, policy) for policy in (self.policy(multiple, which), FCFS()))
        return float(1 - mlpt / fcfs)

    @cached_property
    def best(self) -> Callable[[Queue, float], Optimum]:
        """θ* of a queue for k levels, each computed once."""
        return lru_cache(maxsize=None)(optimal_quantum)

    @cached_property
    def seed_gains(self) -> dict[tuple[float, str], NDArray[np.float64]]:
        """Gain of each seed, by ℓ_C/E[L] and policy, for four times as many seeds as the scale has.

        The first of them are the scale's own; all together tell how far a simulation at the scale is off.
        """
        gains: dict[tuple[float, str], NDArray[np.float64]] = {}
        for multiple, names in ((3, ("2", "∞")), (6, ("2", "∞", "rule")), (8, ("2", "∞"))):
            policies = [FCFS(), *(self.policy(multiple, name) for name in names)]
            base, *results = self.simulated(self.queue(multiple), policies, repetitions=4)
            for name, result in zip(names, results, strict=True):
                gains[multiple, name] = 1 - result.seed_means / base.seed_means
        return gains

    @cached_property
    def short_quanta(self) -> dict[float, tuple[float, Estimate]]:
        """By k: E[T] with a quantum of almost nothing over that of FCFS, less one; theory and simulation."""
        queue = self.queue(6)
        policies = [MLPT(quantum=1e-9 * PAPER.size.mean, levels=k) for k in (2, 5, 10)]
        base, *results = self.simulated(queue, [FCFS(), *policies])
        fcfs = mean_response_time(queue, FCFS())
        return {
            policy.levels: (
                mean_response_time(queue, policy) / fcfs - 1,
                Estimate.of(result.seed_means / base.seed_means - 1),
            )
            for policy, result in zip(policies, results, strict=True)
        }

    # loads, figure 9

    @cached_property
    def by_load(self) -> dict[float, tuple[SimulationResult, ...]]:
        """FCFS, MLPT-(θ*, 2), MLPT-(θ*, ∞), Capped Gittins(2) and (3), by base load."""
        found = {}
        for load in LOADS:
            queue = at_load(self.queue(6), load)
            optima = [optimal_quantum(queue, k) for k in LEVELS]
            best = [MLPT(quantum=one.quantum, levels=one.levels) for one in optima]
            found[load] = self.simulated(queue, [FCFS(), *best, *map(CappedGittins, PREEMPTIONS)])
        return found

    # sweeps, figure 10

    def sweep(self, multiple: float, symbol: str) -> ParameterSweep:
        """β or γ over the range of figure 10, at ℓ_C so many times E[L]."""
        varied = VARIED[symbol]
        return ParameterSweep(self.queue(multiple), varied.name, varied.low, varied.high)

    @cached_property
    def thresholds(self) -> ParameterSweep:
        """ℓ_C/E[L] from half a per cent above the limit of stability, ρ_0 = 1, to 12, where figure 10 ends."""
        from scipy.optimize import brentq

        limit = float(brentq(lambda multiple: self.queue(multiple).base_load - 1, 0.1, 12.0))
        return ParameterSweep(self.queue(6), "slowdown_threshold", 1.005 * limit, 12.0)

    @cached_property
    def curve(self) -> Callable[[float, str, float], tuple[Found, ...]]:
        """θ* over a sweep, by ℓ_C/E[L], the symbol that varies, and k; each computed once."""
        return lru_cache(maxsize=None)(self._swept)

    def _swept(self, multiple: float, symbol: str, levels: float) -> tuple[Found, ...]:
        with parallel(jobs=1):  # starting processes would take longer
            return self.sweep(multiple, symbol).best(levels, points=11)


def level_name(levels: float) -> str:
    """A number of levels for people."""
    return "∞" if math.isinf(levels) else f"{levels:g}"


def holding(relation: Callable[[float], bool], parameters: Iterable[float]) -> tuple[tuple[float, float], ...]:
    """Ranges of a parameter in which a relation holds; where it changes is found by bisection.

    Between two parameters at which the relation is the same it is taken not to change.

    Examples
    --------
    >>> ranges = holding(lambda x: x * x > 2, [0.0, 1.0, 2.0, 3.0])
    >>> [(round(low, 6), high) for low, high in ranges]
    [(1.414214, 3.0)]
    """
    known = [(parameter, relation(parameter)) for parameter in sorted(set(parameters))]
    ends = [known[0][0]] if known[0][1] else []
    for (low, before), (high, after) in itertools.pairwise(known):
        if before == after:
            continue
        inside, outside = (low, high) if before else (high, low)
        for _ in range(20):  # to a millionth of the step
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if relation(middle) else (inside, middle)
        ends.append(inside)
    if known[-1][1]:
        ends.append(known[-1][0])
    return tuple(zip(ends[::2], ends[1::2], strict=True))


def monotone(found: Sequence[Found], sign: int) -> tuple[tuple[float, float], ...]:
    """Ranges of the parameter in which θ* rises (sign 1) or falls (sign −1), or stays; FCFS is the longest quantum.

    A relative change of 1e-9 is rounding.
    """
    ranges: list[tuple[float, float]] = []
    for left, right in itertools.pairwise(found):
        before, after = left.best.quantum, right.best.quantum
        if not (before == after or sign * (after - before) > -1e-9 * before):
            continue
        if ranges and ranges[-1][1] == left.parameter:
            ranges[-1] = (ranges[-1][0], right.parameter)
        else:
            ranges.append((left.parameter, right.parameter))
    return tuple(ranges)
