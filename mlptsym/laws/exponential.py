"""Exponential law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from mlptsym.laws.base import Floats, SizeLaw
from mlptsym.parameters import Magnitude

if TYPE_CHECKING:
    import sympy as sp

    from mlptsym.likelihood import Sample
    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["Exponential"]


@dataclass(frozen=True)
class Exponential(SizeLaw):
    """Exponential law with density rate·exp(−rate·x).

    Parameters
    ----------
    rate : float
        Rate, > 0; the mean is 1/rate.

    Examples
    --------
    >>> law = Exponential(rate=0.5)
    >>> law.mean, float(law.hazard(7.0))
    (2.0, 0.5)
    """

    rate: Magnitude
    examples = ((0.5,),)

    @classmethod
    def formulas(cls, *_: int) -> LawFormulas:
        """The law in SymPy's terms."""
        import sympy as sp

        from mlptsym.symbolic.model.size_law import LawFormulas, point

        (rate,) = cls.symbols()

        def closed_moment(order: int) -> sp.Expr:
            # Γ(n+1, z) = n! e^{−z} Σ_{i≤n} z^i/i!
            scaled = rate * point
            series = sp.Add(*(scaled**i * sp.factorial(order) / sp.factorial(i) for i in range(order + 1)))
            return sp.exp(-scaled) * series / rate**order

        return LawFormulas(
            cls.__name__,
            (rate,),
            rate * sp.exp(-rate * point),
            closed_moment,
            lambda order: sp.factorial(order) / rate**order,
            textbook=rate * sp.exp(-rate * point),
            latex=r"f(x) = \nu e^{-\nu x}",
        )

    @classmethod
    def most_likely(cls, sample: Sample) -> Self:
        """The rate is the number of sizes known exactly over the total of all sizes."""
        return cls(sample.observed / sample.total(lambda x: x))

    def _deep_hazard(self, points: Floats) -> Floats:
        return np.full(points.shape, self.rate)

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return generator.standard_exponential(count) / self.rate
