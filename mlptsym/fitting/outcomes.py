"""What a recommendation rests on: policies by theory, in simulations, and on the trace itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlptsym.fitting.scale import TimeScale
from mlptsym.numeric.model.policies import Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.optimal.optimum import Optimum

__all__ = ["Comparison", "Outcome", "QuantumSweep", "Recommendation", "Simulated", "Tail"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tail:
    """P(T > t) at some times t."""

    times: Floats
    probability: Floats


@dataclass(frozen=True, eq=False)
class Outcome:
    """Mean and 99th percentile of the response time, in units of service time.

    Attributes
    ----------
    mean, p99 : float
    tail : Tail or None
        From the median on; None where it could not be computed.
    standard_error, p99_standard_error : float or None
        Of a simulation, told from its seeds.
    """

    mean: float
    p99: float
    tail: Tail | None = None
    standard_error: float | None = None
    p99_standard_error: float | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """A policy by theory, in simulations of the Poisson arrivals it assumes, and with the trace's own arrivals.

    Attributes
    ----------
    policy : FCFS or MLPT
    kind : str
        As in `Optimum`; "fcfs" for FCFS.
    theory : Outcome
        Exact for Poisson arrivals and the empirical law.
    p99_source : str
        "theory"; or "simulation" where the distribution could not be computed, and the p99 is that of ``poisson``.
    poisson : Outcome
        Simulated: sizes drawn from the trace independently, Poisson arrivals.
    trace : Outcome or None
        Simulated: every request at its own time with its own size, the server empty at first, all requests counted.
        None for a trace without times.
    as_recorded : Outcome or None
        The same with the times that a coarse clock wrote, where those of ``trace`` are others.
    gain, trace_gain : float or None
        1 − E[T]/E[T of FCFS], by theory and on the trace.
    effective_load : float
    """

    policy: Policy
    kind: str
    theory: Outcome
    p99_source: str
    poisson: Outcome
    trace: Outcome | None
    as_recorded: Outcome | None
    gain: float | None
    trace_gain: float | None
    effective_load: float


@dataclass(frozen=True, eq=False)
class QuantumSweep:
    """Mean response time against the quantum for one number of levels, by theory and on the trace.

    Attributes
    ----------
    levels : float
    quanta, theory : array of float
    trace : array of float or None
    best_quantum, best_mean : float or None
        The best on the trace in hindsight, FCFS (``inf``) included.
    """

    levels: float
    quanta: Floats
    theory: Floats
    trace: Floats | None
    best_quantum: float | None
    best_mean: float | None


@dataclass(frozen=True)
class Simulated:
    """What the simulations of Poisson arrivals consist of.

    Attributes
    ----------
    seeds : int
        Independent traces, the same for each policy.
    jobs : int
        Measured jobs of each.
    warmup : int
        Jobs before these, and again after them, that are served but not measured.
    settled : bool
        Whether the queue forgets within the jobs before that it was empty at first.
    """

    seeds: int
    jobs: int
    warmup: int
    settled: bool


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What to do, and what it rests on.

    Attributes
    ----------
    queue : Queue
    scale : TimeScale
    optima : tuple of Optimum
        For each number of levels that was asked for.
    comparisons : tuple of Comparison
        FCFS, then the best quantum of each number of levels where one is better than FCFS.
    recommended : int
        Index of the policy to use: the one with the least mean by theory, or one of fewer levels (FCFS has one) whose
        mean is within half a per cent of it.
    sweep : QuantumSweep
        Over the quantum with the levels recommended, or with the first asked for if that is FCFS.
    simulated : Simulated
    """

    queue: Queue
    scale: TimeScale
    optima: tuple[Optimum, ...]
    comparisons: tuple[Comparison, ...]
    recommended: int
    sweep: QuantumSweep
    simulated: Simulated

    @property
    def fcfs(self) -> Comparison:
        """FCFS."""
        return self.comparisons[0]

    @property
    def best(self) -> Comparison:
        """The policy recommended."""
        return self.comparisons[self.recommended]

    @property
    def stable(self) -> bool:
        """Whether the base load is below one."""
        return self.queue.base_load < 1
