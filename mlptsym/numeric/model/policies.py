"""Scheduling policies: FCFS and MLPT with equal or unequal quanta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.arrays import floats

__all__ = ["FCFS", "MLPT", "Policy"]

Floats = NDArray[np.float64]

MOST_BOUNDARIES = 2**26


@dataclass(frozen=True)
class FCFS:
    """First come, first served, without preemption: one level."""

    @property
    def lazy(self) -> bool:
        """Never a preemption, so never an avoidable one."""
        return False

    @property
    def levels(self) -> float:
        """One."""
        return 1

    def boundaries(self, limit: float) -> Floats:
        """No boundaries, below any limit."""
        del limit
        return np.empty(0)


@dataclass(frozen=True, eq=False)
class MLPT:
    """Multi-level priority thresholds, Algorithm 1.

    Give ``quantum`` and ``levels``, or ``quanta``.

    Parameters
    ----------
    quantum : float or array of float, optional
        Quantum θ of every level, > 0, in units of service time.  An array asks for one answer per quantum
        (theory only).
    levels : int or inf, optional
        Number k of levels, >= 1; ``math.inf`` for a policy that demotes for ever.
    quanta : sequence of float, optional
        Quanta θ_1, …, θ_{k−1} of the levels above the last, each > 0.
    lazy : bool
        The paper's MLPT′: no restore cost when levels 1 … i+1 are empty at the demotion from level i.  With more than
        three levels for simulation only.

    Examples
    --------
    >>> MLPT(quantum=10.0, levels=4).boundaries(100.0)
    array([10., 20., 30.])
    >>> MLPT(quanta=[10, 5]).levels
    3
    """

    quantum: Any = None
    levels: Any = math.nan
    quanta: Any = None
    lazy: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "lazy", validation.flag("lazy", self.lazy))
        if (self.quantum is None) == (self.quanta is None):
            validation.refuse("quantum", self.quantum, "given together with levels, or left out if quanta are given")
        if self.quanta is not None:
            quanta = validation.numbers("quanta", self.quanta, above=0)
            given = not (isinstance(self.levels, float) and math.isnan(self.levels))
            if given and validation.levels("levels", self.levels) != len(quanta) + 1:
                validation.refuse("levels", self.levels, f"left out, or {len(quanta) + 1} as quanta give")
            object.__setattr__(self, "quanta", quanta)
            object.__setattr__(self, "levels", len(quanta) + 1)
        else:
            if isinstance(self.levels, float) and math.isnan(self.levels):
                validation.refuse("levels", None, "a whole number >= 1 or inf, given together with quantum")
            object.__setattr__(self, "levels", validation.levels("levels", self.levels))
            object.__setattr__(self, "quantum", _quantum(self.quantum))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MLPT)
            and (self.levels, self.quanta, self.lazy) == (other.levels, other.quanta, other.lazy)
            and np.array_equal(self.quantum, other.quantum)
        )

    def __hash__(self) -> int:
        quantum = self.quantum if self.quantum is None else np.asarray(self.quantum).tobytes()
        return hash((quantum, self.levels, self.quanta, self.lazy))

    def boundaries(self, limit: float) -> Floats:
        """Boundaries t_1 < t_2 < … below ``limit``, at most k − 1 of them, for a single quantum or quanta."""
        limit = validation.number("limit", limit, at_least=0, infinite=True)
        if self.quanta is not None:
            with np.errstate(over="ignore"):
                ends: Floats = np.cumsum(self.quanta)
            return ends[ends < limit]
        if not isinstance(self.quantum, float):
            validation.refuse("quantum", self.quantum, "a single number here")
        if self.levels == 1 or not limit > self.quantum:
            return np.empty(0)
        count = min(limit / self.quantum + 1, self.levels - 1)
        if count > MOST_BOUNDARIES:
            allowed = f"at least {limit / MOST_BOUNDARIES:.3g}, for at most {MOST_BOUNDARIES} boundaries"
            validation.refuse("quantum", self.quantum, allowed)
        with np.errstate(over="ignore"):
            ends = self.quantum * np.arange(1.0, int(count) + 1)
        return ends[ends < limit]


def _quantum(value: Any) -> float | Floats:
    array = floats("quantum", value, above=0, finite=True)
    if array.ndim == 0:
        return float(array)
    if array.size == 0:
        validation.refuse("quantum", value, "a finite number > 0, or an array of at least one such")
    array = array.copy()
    array.flags.writeable = False
    return array


Policy = FCFS | MLPT


def refuse_lazy(policy: Policy, what: str) -> None:
    """Refuse MLPT′ where the theory has no answer: for all but the mean with two or three levels."""
    if policy.lazy and policy.levels > 1:
        validation.refuse("lazy", True, f"False for {what} (MLPT′ can only be simulated there)")
