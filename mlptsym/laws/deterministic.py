"""Deterministic law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mlptsym.arrays import floats
from mlptsym.laws.base import Floats, SizeLaw
from mlptsym.parameters import Magnitude

if TYPE_CHECKING:
    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["Deterministic"]


@dataclass(frozen=True)
class Deterministic(SizeLaw):
    """All sizes equal; the density and hazard are ``inf`` at the value and 0 elsewhere below it.

    Parameters
    ----------
    value : float
        > 0.
    """

    value: Magnitude
    examples = ((4.1,),)

    @classmethod
    def formulas(cls, *_: int) -> LawFormulas:
        """The law in SymPy's terms: moments step from value^n to zero, and the density is a point mass."""
        import sympy as sp

        from mlptsym.symbolic.model.moments import Indicator
        from mlptsym.symbolic.model.size_law import LawFormulas, point

        (value,) = cls.symbols()
        return LawFormulas(
            cls.__name__,
            (value,),
            sp.DiracDelta(point - value),
            lambda order: value**order * Indicator(value, point),
            lambda order: value**order,
            textbook=sp.DiracDelta(point - value),
            latex=r"P(L > x) = \mathbf 1\{v > x\}",
        )

    @property
    def upper_end(self) -> float:
        """The value."""
        return self.value

    @property
    def atoms(self) -> Floats:
        """The value."""
        return np.array([self.value])

    def density(self, x: ArrayLike) -> Floats:
        """``inf`` at the value, 0 elsewhere."""
        return np.where(floats("x", x) == self.value, math.inf, 0.0)

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        del generator
        return np.full(count, self.value)
