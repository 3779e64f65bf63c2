"""How a claim of the paper is judged: reproduced, within the paper's simulation error, or not reproduced.

A number is *reproduced* if the theory's value rounds to it; else it is *within the paper's simulation error* if it is as
close to the theory as a simulation of the paper's scale brings it, at a family-wise level of five per cent.  A statement
about a sweep is *reproduced* if it holds within a factor of two about the paper's own parameter, as the paper does not
print the ranges of its sweeps.  The range in which it does hold, of that of figure 10, is computed and given with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlptsym.ledger.entry import Method
from mlptsym.ledger.paper.evidence import Estimate

REPRODUCED, WITHIN_ERROR, NOT_REPRODUCED = "reproduced", "within the paper's simulation error", "not reproduced"


@dataclass(frozen=True)
class Finding:
    """What the package says about a claim."""

    # The package's values; where there is none, why
    theory: str
    simulation: str
    verdict: str  # Reproduced, within the paper's simulation error, or not reproduced
    reason: str  # Why, and where the claim holds

    @classmethod
    def of(cls, theory: str, simulation: str, right: bool, reason: str) -> Finding:
        """What was found about a statement that holds or does not."""
        return cls(theory, simulation, REPRODUCED if right else NOT_REPRODUCED, reason)


@dataclass(frozen=True)
class PaperClaim:
    """A claim of the paper, and how it is decided."""

    # As for an `Entry`
    name: str
    statement: str
    latex: str
    source: str
    paper: str  # The paper's value, or its words
    stated: Any  # The same for the computer
    decide: Callable[[Any], Finding]  # What is stated ↦ `Finding`
    verdict: str  # The verdict on record
    variants: Mapping[str, Any]  # Other statements, in words and for the computer, which get another verdict
    method: Method = "digits"  # Whether a simulation takes part in the verdict


def judged(stated: float, unit: float, theory: float, samples: Sequence[float] = (), seeds: int = 1) -> tuple[str, str]:
    """Verdict on a number printed to a unit (of its last digit), and the reason.

    ``samples`` has one simulated value a seed, none if the number does not come from a simulation; ``seeds`` are those of
    a simulation at the paper's scale, whose mean has the standard deviation of the samples over √seeds.
    """
    from scipy.special import stdtrit

    if abs(stated - theory) <= unit / 2 * (1 + 1e-9):
        return REPRODUCED, "the exact value rounds to the paper's"
    difference = f"the paper is {abs(stated - theory):.3g} {'above' if stated > theory else 'below'} the exact value"
    if not len(samples):
        return NOT_REPRODUCED, difference
    error = Estimate.of(samples).error * math.sqrt(len(samples) / seeds)
    # with probability 0.05 any of the paper's eight simulated numbers is refused though its simulation was right
    allowed = -float(stdtrit(len(samples) - 1, 0.05 / 2 / 8))
    score = abs(stated - theory) / error
    words = f"{difference}, {score:.1f} standard errors of a simulation of its scale "
    words += f"({error:.2g}, from {len(samples)} traces; up to {allowed:.1f} is within)"
    return (WITHIN_ERROR if score <= allowed else NOT_REPRODUCED), words
