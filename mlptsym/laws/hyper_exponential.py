"""Hyperexponential law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from mlptsym.laws.base import Floats, SizeLaw
from mlptsym.laws.exponential import Exponential
from mlptsym.parameters import Range
from mlptsym.validation import LARGEST, SMALLEST, refuse

if TYPE_CHECKING:
    import sympy as sp

    from mlptsym.symbolic.size_law import LawFormulas

__all__ = ["HyperExponential"]

MOST_PHASES = 100  # the formula is built phase by phase


@dataclass(frozen=True)
class HyperExponential(SizeLaw):
    """Mixture of exponential laws.

    Parameters
    ----------
    probabilities : sequence of float
        Probability of each phase, > 0, adding up to one; at most 100 phases.
    rates : sequence of float
        Rate of each phase, > 0, as many.

    Examples
    --------
    >>> HyperExponential([0.9, 0.1], [1.0, 0.05]).mean
    2.9
    """

    probabilities: Annotated[tuple[float, ...], Range(above=0, at_most=1, longest=MOST_PHASES)]
    rates: Annotated[tuple[float, ...], Range(at_least=SMALLEST, at_most=LARGEST, longest=MOST_PHASES)]
    examples = (([0.875, 0.125], [2.0, 0.1]), ([0.25, 0.25, 0.5], [1, 2, 8]))
    written = "P1,P2,.../RATE1,RATE2,..."

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.rates) != len(self.probabilities):
            refuse("rates", self.rates, f"as many numbers as there are probabilities ({len(self.probabilities)})")
        total = math.fsum(self.probabilities)
        if abs(total - 1) > 1e-9:
            refuse("probabilities", self.probabilities, "numbers that add up to 1")
        object.__setattr__(self, "probabilities", tuple(p / total for p in self.probabilities))

    @classmethod
    def formulas(cls, phases: int = 2, *_: int) -> LawFormulas:
        """The law in SymPy's terms: every statement about it is the mixture of those about its phases."""
        import sympy as sp

        from mlptsym.symbolic.size_law import LawFormulas, point

        symbols = cls.symbols(phases)
        probabilities, rates = symbols[:phases], symbols[phases:]
        *others, last = probabilities
        single = Exponential.formulas()

        def mixture(of_phase: sp.Expr) -> sp.Expr:
            parts = zip(probabilities, rates, strict=True)
            return sp.Add(*(p * of_phase.subs(single.parameters[0], rate) for p, rate in parts))

        return LawFormulas(
            cls.__name__,
            (*probabilities, *rates),
            mixture(single.density),
            lambda order: mixture(single.closed_moment(order)),
            lambda order: mixture(single.moment(order)),
            conditions=((last, 1 - sp.Add(*others)),),
            textbook=sp.Add(*(p * nu * sp.exp(-nu * point) for p, nu in zip(probabilities, rates, strict=True))),
            latex=r"f(x) = \sum_ip_i\nu_ie^{-\nu_ix}",
        )

    def _deep_hazard(self, points: Floats) -> Floats:
        return np.full(points.shape, min(self.rates))

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        phase = np.searchsorted(np.cumsum(self.probabilities)[:-1], generator.random(count), side="right")
        sizes: Floats = generator.standard_exponential(count) / np.asarray(self.rates)[phase]
        return sizes
