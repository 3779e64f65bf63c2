"""Memory with a window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlptsym.memory.base import Memory
from mlptsym.parameters import Magnitude, Weight

if TYPE_CHECKING:
    from mlptsym.symbolic.model.memory import MemoryFormulas

__all__ = ["SaturatingMemory"]


@dataclass(frozen=True)
class SaturatingMemory(Memory):
    """g(a) = base + slope · min(a, window): sliding-window attention keeps the last tokens only.

    Parameters
    ----------
    slope : float
        Memory per unit of attained service, > 0.
    window : float
        Age from which on nothing is added, > 0.
    base : float
        Memory at age 0, >= 0.
    """

    slope: Magnitude
    window: Magnitude
    base: Weight = 0.0
    examples = ((1.5, 4.0, 2.0),)

    @classmethod
    def formulas(cls) -> MemoryFormulas:
        """The law in SymPy's terms."""
        import sympy as sp

        from mlptsym.symbolic.algebra.symbols import age
        from mlptsym.symbolic.model.memory import MemoryFormulas

        slope, window, base = cls.symbols()
        growth = base + slope * sp.Min(age, window)
        line = (base + slope * window, sp.S.Zero)
        return MemoryFormulas((slope, window, base), growth, line, linear_from=window)

    def _age_at(self, capacity: float) -> float:
        """(C − base)/slope while that lies within the window, else ``inf``."""
        age = max(0.0, (capacity - self.base) / self.slope)
        return age if age <= self.window else math.inf
