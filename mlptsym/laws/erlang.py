"""Erlang law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np

from mlptsym.laws.base import Floats, SizeLaw
from mlptsym.laws.gamma import Gamma, gamma_hazard
from mlptsym.likelihood import improved, log_likelihood
from mlptsym.parameters import Magnitude, Range

if TYPE_CHECKING:
    from mlptsym.likelihood import Sample
    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["Erlang"]


@dataclass(frozen=True)
class Erlang(SizeLaw):
    """Erlang law: the sum of exponential stages of one rate, which is a gamma law.

    Parameters
    ----------
    stages : int
        Number of stages, from 1 to a million.
    rate : float
        Rate of each stage, > 0; the mean is stages/rate.
    """

    stages: Annotated[int, Range(at_least=1, at_most=10**6, whole=True)]
    rate: Magnitude
    examples = ((1, 0.8), (4, 0.8), (300, 100.0))

    @classmethod
    def formulas(cls, *_: int) -> LawFormulas:
        """The law in SymPy's terms."""
        import sympy as sp

        from mlptsym.symbolic.model.size_law import LawFormulas, point, start_by_shape

        stages, rate = cls.symbols()
        gamma = Gamma.formulas()
        shape, scale = gamma.parameters
        as_gamma = {shape: stages, scale: 1 / rate}
        return LawFormulas(
            cls.__name__,
            (stages, rate),
            gamma.density.subs(as_gamma),
            lambda order: gamma.closed_moment(order).subs(as_gamma),
            lambda order: gamma.moment(order).subs(as_gamma),
            density_start=start_by_shape(stages, 1 / rate),
            textbook=rate**stages * point ** (stages - 1) * sp.exp(-rate * point) / sp.gamma(stages),
            latex=r"f(x) = \frac{\nu^mx^{m-1}e^{-\nu x}}{(m-1)!}",
        )

    @classmethod
    def most_likely(cls, sample: Sample) -> Self | None:
        """The better of the numbers of stages beside the gamma law's shape, in which the likelihood has one maximum.

        None if that is one stage, which is the exponential law.
        """
        gamma = Gamma.most_likely(sample)
        laws = [
            cls._of_stages(sample, stages, stages / gamma.mean)
            for stages in sorted({max(1, math.floor(gamma.shape)), math.ceil(gamma.shape)})
        ]
        best = max(laws, key=partial(log_likelihood, sample))
        return None if best.stages == 1 else best

    @classmethod
    def _of_stages(cls, sample: Sample, stages: int, rate: float) -> Self:
        if sample.cap is None:
            return cls(stages, rate)
        return improved(sample, lambda p: cls(stages, math.exp(p[0])), [math.log(rate)])

    def _deep_hazard(self, points: Floats) -> Floats:
        return gamma_hazard(self.stages, points * self.rate) * self.rate

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return generator.standard_gamma(self.stages, count) / self.rate
