"""Weibull law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np

from mlptsym.laws.base import Floats, SizeLaw
from mlptsym.likelihood import root
from mlptsym.parameters import Magnitude, Range

if TYPE_CHECKING:
    import sympy as sp

    from mlptsym.likelihood import Sample
    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["Weibull"]


@dataclass(frozen=True)
class Weibull(SizeLaw):
    """Weibull law with tail exp(−(x/scale)^shape).

    Parameters
    ----------
    shape : float
        From 0.05 to 1e6; below one the hazard falls.
    scale : float
        > 0.
    """

    shape: Annotated[float, Range(at_least=0.05, at_most=1e6)]
    scale: Magnitude
    examples = ((0.6, 2.0), (1.7, 3.0))

    @classmethod
    def formulas(cls, *_: int) -> LawFormulas:
        """The law in SymPy's terms."""
        import sympy as sp

        from mlptsym.symbolic.algebra.special import RegularizedUpperGamma
        from mlptsym.symbolic.model.size_law import LawFormulas, point, start_by_shape

        shape, scale = cls.symbols()
        ratio = point / scale

        def moment(order: int) -> sp.Expr:
            return scale**order * sp.gamma(1 + order / shape)

        def closed_moment(order: int) -> sp.Expr:
            if order == 0:
                return sp.exp(-(ratio**shape))
            return moment(order) * RegularizedUpperGamma(1 + order / shape, ratio**shape)

        return LawFormulas(
            cls.__name__,
            (shape, scale),
            shape / scale * ratio ** (shape - 1) * sp.exp(-(ratio**shape)),
            closed_moment,
            moment,
            density_start=start_by_shape(shape, scale),
            textbook=shape * point ** (shape - 1) / scale**shape * sp.exp(-((point / scale) ** shape)),
            latex=r"f(x) = \frac ks\Bigl(\frac xs\Bigr)^{k-1}e^{-(x/s)^k}",
        )

    @classmethod
    def most_likely(cls, sample: Sample) -> Self:
        """The shape a solves Σ x^a log x/Σ x^a = 1/a + mean of log x over the sizes known exactly; also with a cap."""
        mean_log = sample.total_observed(np.log) / sample.observed
        largest = sample.maximum

        def excess(shape: float) -> float:
            weights = sample.total(lambda x: (x / largest) ** shape)
            return sample.total(lambda x: (x / largest) ** shape * np.log(x)) / weights - 1 / shape - mean_log

        shape = root(excess, 1e-3, 1e6)
        mean_power = sample.total(lambda x: (x / largest) ** shape) / sample.observed
        return cls(shape, largest * mean_power ** (1 / shape))

    def _deep_hazard(self, points: Floats) -> Floats:
        return self.shape / self.scale * (points / self.scale) ** (self.shape - 1)

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return self.scale * generator.standard_exponential(count) ** (1 / self.shape)
