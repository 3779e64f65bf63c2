"""Log-normal law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np

from mlptsym.laws.base import Floats, SizeLaw
from mlptsym.likelihood import improved
from mlptsym.parameters import Range

if TYPE_CHECKING:
    import sympy as sp

    from mlptsym.likelihood import Sample
    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["LogNormal"]


@dataclass(frozen=True)
class LogNormal(SizeLaw):
    """Log-normal law: log L is normal.

    Parameters
    ----------
    mu : float
        Mean of log L, from −69 to 69.
    sigma : float
        Standard deviation of log L, from 1e-6 to 10.

    Examples
    --------
    >>> round(LogNormal(5, 0.9).mean, 4)
    222.5162
    """

    mu: Annotated[float, Range(at_least=-69, at_most=69)]
    sigma: Annotated[float, Range(at_least=1e-6, at_most=10)]
    examples = ((5, 0.9), (-0.5, 2.5))

    @classmethod
    def formulas(cls, *_: int) -> LawFormulas:
        """The law in SymPy's terms."""
        import sympy as sp

        from mlptsym.symbolic.model.size_law import LawFormulas, point

        mu, sigma = cls.symbols()

        def moment(order: int) -> sp.Expr:
            return sp.exp(order * mu + order**2 * sigma**2 / 2)

        return LawFormulas(
            cls.__name__,
            (mu, sigma),
            sp.exp(-((sp.log(point) - mu) ** 2) / (2 * sigma**2)) / (point * sigma * sp.sqrt(2 * sp.pi)),
            lambda order: moment(order) * sp.erfc((sp.log(point) - mu - order * sigma**2) / (sigma * sp.sqrt(2))) / 2,
            moment,
            density_start=sp.S.Zero,
            textbook=sp.exp(-(((sp.log(point) - mu) / sigma) ** 2) / 2) / (sp.sqrt(2 * sp.pi) * sigma * point),
            latex=r"f(x) = \frac{1}{x\sigma\sqrt{2\pi}}\exp\Bigl(-\frac{(\log x-\mu)^2}{2\sigma^2}\Bigr)",
        )

    @classmethod
    def most_likely(cls, sample: Sample) -> Self:
        """Mean and standard deviation of the logarithms; with a cap, a search from there."""
        mean = sample.total(np.log) / sample.size
        deviation = math.sqrt(sample.total(lambda x: (np.log(x) - mean) ** 2) / sample.size)
        if sample.cap is None:
            return cls(mean, deviation)
        return improved(sample, lambda p: cls(float(p[0]), math.exp(p[1])), [mean, math.log(deviation)])

    def _deep_hazard(self, points: Floats) -> Floats:
        from scipy.special import erfcx

        depth = (np.log(np.maximum(points, 1e-300)) - self.mu) / (self.sigma * math.sqrt(2))
        with np.errstate(divide="ignore"):
            return math.sqrt(2 / math.pi) / (np.maximum(points, 1e-300) * self.sigma * erfcx(depth))

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return np.exp(self.mu + self.sigma * generator.standard_normal(count))
