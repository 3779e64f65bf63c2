"""The paper's own parameters, section 5, exactly: L log-normal, λ, β and γ; ℓ_C is a multiple of E[L] there."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mlptsym.laws.log_normal import LogNormal
from mlptsym.numeric.model.queue import Queue


@dataclass(frozen=True)
class PaperParameters:
    """What the paper holds fixed in section 5."""

    # Of the log-normal law of L; E[L] is the unit of ℓ_C and θ there
    mu: Fraction = Fraction(5)
    sigma: Fraction = Fraction(9, 10)
    # λ, β and γ
    arrival_rate: Fraction = Fraction(36, 10000)
    slowdown_factor: Fraction = Fraction(39, 100)
    preemption_cost: Fraction = Fraction(1, 10)

    @property
    def size(self) -> LogNormal:
        """The law of L."""
        return LogNormal(float(self.mu), float(self.sigma))

    def queue(self, multiple: float) -> Queue:
        """The queue with ℓ_C so many times E[L]."""
        size = self.size
        return Queue(
            size,
            float(self.arrival_rate),
            slowdown_threshold=multiple * size.mean,
            slowdown_factor=float(self.slowdown_factor),
            preemption_cost=float(self.preemption_cost),
        )


PAPER = PaperParameters()
