"""Uniform law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from mlptsym.laws.base import Floats, SizeLaw
from mlptsym.parameters import Range
from mlptsym.validation import LARGEST, number

if TYPE_CHECKING:
    import sympy as sp

    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["Uniform"]


@dataclass(frozen=True)
class Uniform(SizeLaw):
    """Uniform law.

    Parameters
    ----------
    low, high : float
        Ends of the support, 0 <= low < high.
    """

    low: Annotated[float, Range(at_least=0)]
    high: Annotated[float, Range(above=0, at_most=LARGEST)]
    examples = ((1.0, 7.0), (0, 3))

    def __post_init__(self) -> None:
        number("high", self.high, above=self.ranges()["low"].checked("low", self.low), at_most=LARGEST)
        super().__post_init__()

    @classmethod
    def formulas(cls, *_: int) -> LawFormulas:
        """The law in SymPy's terms."""
        import sympy as sp

        from mlptsym.symbolic.model.size_law import LawFormulas, point

        low, high = cls.symbols()

        def moment_from(order: int, start: sp.Expr) -> sp.Expr:
            # (high^{n+1} − start^{n+1})/(n+1) divided by the width, as a product and a sum of positive terms
            powers = sp.Add(*(high**i * start ** (order - i) for i in range(order + 1)))
            return (high - start) / (high - low) * powers / (order + 1)

        return LawFormulas(
            cls.__name__,
            (low, high),
            1 / (high - low),
            lambda order: moment_from(order, point),
            lambda order: moment_from(order, low),
            support=(low, high),
            textbook=1 / (high - low),
            latex=r"f(x) = \frac{1}{b-a},\quad a<x<b",
        )

    @property
    def lower_end(self) -> float:
        """``low``."""
        return self.low

    @property
    def upper_end(self) -> float:
        """``high``."""
        return self.high

    @property
    def density_jumps(self) -> tuple[float, ...]:
        """Both ends, but zero."""
        return tuple(end for end in (self.low, self.high) if end > 0)

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        # (0, 1] rather than [0, 1): a size is never zero
        return self.high - (self.high - self.low) * generator.random(count)
