"""Memory in pages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlptsym.memory.base import Memory
from mlptsym.parameters import Magnitude

if TYPE_CHECKING:
    from mlptsym.symbolic.model.memory import MemoryFormulas

__all__ = ["PagedMemory"]


@dataclass(frozen=True)
class PagedMemory(Memory):
    """g(a) = block · ⌈a/block⌉: a key–value cache in blocks, of which the last need not be full.

    Parameters
    ----------
    block : float
        Size of a block, in units of attained service and of memory alike, > 0.

    Notes
    -----
    As vLLM allocates a cache: W. Kwon and others, Efficient Memory Management for Large Language Model Serving with
    PagedAttention, SOSP 2023.

    Examples
    --------
    >>> PagedMemory(16.0).growth([0.0, 1.0, 16.0, 17.0]).tolist()
    [0.0, 16.0, 16.0, 32.0]
    """

    block: Magnitude
    examples = ((1.25,),)

    @classmethod
    def formulas(cls) -> MemoryFormulas:
        """The law in SymPy's terms."""
        import sympy as sp

        from mlptsym.symbolic.algebra.symbols import age
        from mlptsym.symbolic.model.memory import MemoryFormulas

        (block,) = cls.symbols()
        return MemoryFormulas((block,), block * sp.ceiling(age / block), (block, sp.S.One), lag=block, step=block)

    def _age_at(self, capacity: float) -> float:
        """The end of the last block but one that the capacity takes."""
        return self.block * (math.ceil(capacity / self.block) - 1) if math.isfinite(capacity) else math.inf
