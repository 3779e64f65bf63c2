"""Linear memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlptsym.memory.base import Memory
from mlptsym.parameters import Magnitude

if TYPE_CHECKING:
    from mlptsym.symbolic.model.memory import MemoryFormulas

__all__ = ["LinearMemory"]


@dataclass(frozen=True)
class LinearMemory(Memory):
    """g(a) = slope · a: the key–value cache of full attention, one entry for each token generated.

    Parameters
    ----------
    slope : float
        The paper's α, memory per unit of attained service, > 0.

    Examples
    --------
    >>> round(LinearMemory(3.75).age_at(256), 4)
    68.2667
    """

    slope: Magnitude = 1.0
    examples = ((3.75,), (1.0,))

    @classmethod
    def formulas(cls) -> MemoryFormulas:
        """The law in SymPy's terms."""
        import sympy as sp

        from mlptsym.symbolic.algebra.symbols import age
        from mlptsym.symbolic.model.memory import MemoryFormulas

        (slope,) = cls.symbols()
        return MemoryFormulas((slope,), slope * age, (sp.S.Zero, slope))

    def _age_at(self, capacity: float) -> float:
        """C/α."""
        return capacity / self.slope
