"""Gamma law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np

from mlptsym.laws.base import Floats, SizeLaw
from mlptsym.likelihood import improved, root
from mlptsym.parameters import Magnitude, Range

if TYPE_CHECKING:
    import sympy as sp

    from mlptsym.likelihood import Sample
    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["Gamma"]


@dataclass(frozen=True)
class Gamma(SizeLaw):
    """Gamma law with density proportional to x^(shape−1) exp(−x/scale).

    Parameters
    ----------
    shape : float
        From 1e-3 to 1e6.
    scale : float
        > 0; the mean is shape·scale.
    """

    shape: Annotated[float, Range(at_least=1e-3, at_most=1e6)]
    scale: Magnitude
    examples = ((0.4, 5.0), (3.5, 1.25))

    @classmethod
    def formulas(cls, *_: int) -> LawFormulas:
        """The law in SymPy's terms."""
        import sympy as sp

        from mlptsym.symbolic.algebra.special import GammaDensity, RegularizedUpperGamma
        from mlptsym.symbolic.model.size_law import LawFormulas, point, start_by_shape

        shape, scale = cls.symbols()

        def moment(order: int) -> sp.Expr:
            return sp.Mul(*(scale * shape + i * scale for i in range(order)))

        return LawFormulas(
            cls.__name__,
            (shape, scale),
            GammaDensity(shape, point / scale) / scale,
            lambda order: moment(order) * RegularizedUpperGamma(shape + order, point / scale),
            moment,
            density_start=start_by_shape(shape, scale),
            textbook=point ** (shape - 1) * sp.exp(-point / scale) / (sp.gamma(shape) * scale**shape),
            latex=r"f(x) = \frac{x^{k-1}e^{-x/s}}{\Gamma(k)s^k}",
        )

    @classmethod
    def most_likely(cls, sample: Sample) -> Self:
        """The shape a solves log a − ψ(a) = log of the mean − mean of the log; with a cap, a search from there."""
        from scipy.special import digamma

        mean = sample.total(lambda x: x) / sample.size
        gap = math.log(mean) - sample.total(np.log) / sample.size
        shape = root(lambda a: gap - math.log(a) + float(digamma(a)), 1e-8, 1e12)
        if sample.cap is None:
            return cls(shape, mean / shape)
        start = [math.log(shape), math.log(mean / shape)]
        return improved(sample, lambda p: cls(math.exp(p[0]), math.exp(p[1])), start)

    def _deep_hazard(self, points: Floats) -> Floats:
        return gamma_hazard(self.shape, points / self.scale) / self.scale

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return self.scale * generator.standard_gamma(self.shape, count)


def gamma_hazard(shape: float, scaled: Floats, depth: int = 200) -> Floats:
    """z^(a−1) e^(−z)/Γ(a, z) for z far above a, by Legendre's continued fraction (NIST DLMF 8.9.2)."""
    scaled = np.minimum(scaled, 1e300)  # where it is infinite the quotient is 1 all the same
    fraction = scaled + 2 * depth + 1 - shape
    for step in range(depth, 0, -1):
        fraction = scaled + 2 * step - 1 - shape - step * (step - shape) / fraction
    return fraction / scaled
