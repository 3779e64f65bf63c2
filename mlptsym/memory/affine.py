"""Affine memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlptsym.memory.base import Memory
from mlptsym.parameters import Magnitude, Weight

if TYPE_CHECKING:
    from mlptsym.symbolic.model.memory import MemoryFormulas

__all__ = ["AffineMemory"]


@dataclass(frozen=True)
class AffineMemory(Memory):
    """g(a) = base + slope · a: the cache of the prompt is there at age 0.

    Parameters
    ----------
    base : float
        Memory of the prompt, >= 0.
    slope : float
        Memory per unit of attained service, > 0.
    """

    base: Weight
    slope: Magnitude = 1.0
    examples = ((2.0, 0.5), (0.0, 1.0))

    @classmethod
    def formulas(cls) -> MemoryFormulas:
        """The law in SymPy's terms."""
        from mlptsym.symbolic.algebra.symbols import age
        from mlptsym.symbolic.model.memory import MemoryFormulas

        base, slope = cls.symbols()
        return MemoryFormulas((base, slope), base + slope * age, (base, slope))

    def _age_at(self, capacity: float) -> float:
        """(C − base)/slope, or 0 if the prompt alone fills the memory."""
        return max(0.0, (capacity - self.base) / self.slope)
