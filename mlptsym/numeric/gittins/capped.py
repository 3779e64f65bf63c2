"""The capped Gittins index policy, the paper's benchmark in figure 9 (simulation only)."""

from __future__ import annotations

from dataclasses import dataclass

from mlptsym import validation
from mlptsym.numeric.model.queue import Queue

__all__ = ["CappedGittins"]

SHARE_OF_MEAN = 0.01


@dataclass(frozen=True)
class CappedGittins:
    """Gittins index policy in which each job is preempted only so often; the paper's Capped Gittins(k), k − 1 times.

    Parameters
    ----------
    preemptions : int or inf
        Number of preemptions of each job at most, >= 0; 0 is FCFS, ``math.inf`` the policy without a cap.
    minimum_quantum : float, optional
        Least quantum a job is assigned, > 0, in units of service time; a hundredth of E[S] unless given.

    Notes
    -----
    *Decisions* are taken when a job arrives, completes, or has received its quantum.  The job with the highest index
    G(a) at its attained service a is served; the job in service counts among them.  Among equal indices the job in
    service goes on, and of the waiting jobs the earliest arrival is first.  Jobs that arrive at the instant of a
    decision are admitted before it; a job that completes at that instant is complete.

    *Quantum.*  At each decision the chosen job gets a quantum.  It ends at the first age, ``minimum_quantum`` or more
    beyond the present one, from which on the index is below that of the best waiting job, which is served then.  That
    is never before Δ*(a), as the index stays at or above G(a) during Δ*(a).  Where the hazard falls, Δ* = 0 and an
    exact quantum would be zero: two jobs that tie would swap without end (lemma 4.1).  There the minimum binds.  A
    smaller one changes little once it is small against E[S], as the cap bounds the number of swaps.

    *Preemption* at age a costs c(a) = γ g(a), which the server spends when the job is next scheduled, before its
    service.  An arrival during this restoration is a decision as well: if the job has a preemption left and a lower
    index than the newcomer, it is preempted again, and what has been restored is lost.

    *Cap.*  A job that has used up its preemptions is served to completion once it is scheduled.

    Examples
    --------
    >>> CappedGittins(preemptions=2).levels
    3
    """

    preemptions: float
    minimum_quantum: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "preemptions", validation.levels("preemptions", self.preemptions, at_least=0))
        if self.minimum_quantum is not None:
            quantum = validation.number("minimum_quantum", self.minimum_quantum, above=0)
            object.__setattr__(self, "minimum_quantum", quantum)

    @property
    def levels(self) -> float:
        """The paper's k: one more than the preemptions."""
        return self.preemptions + 1

    @property
    def lazy(self) -> bool:
        """Always: a job is preempted only for another one."""
        return True

    def quantum_for(self, queue: Queue) -> float:
        """The minimum quantum, in units of service time."""
        if not isinstance(queue, Queue):
            validation.refuse("queue", queue, "a Queue")
        return SHARE_OF_MEAN * queue.mean_service_time if self.minimum_quantum is None else self.minimum_quantum
