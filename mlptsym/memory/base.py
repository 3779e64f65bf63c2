"""What every memory law offers: g(a), its slope, a line above it, its breaks, and when a capacity is reached."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.compile import compiled
from mlptsym.parameters import Parametric

if TYPE_CHECKING:
    from mlptsym.symbolic.model.memory import MemoryFormulas

__all__ = ["MOST_BREAKS", "NO_BREAKS", "Breaks", "Memory"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Breaks:
    """Where a function of the attained service is not smooth, by kind; each array increases.

    Attributes
    ----------
    kinks : array
        Its slope steps.
    left_jumps : array
        It jumps to its value at the place, which is the limit from the right.
    right_jumps : array
        It jumps just behind the place, where its value is the limit from the left.
    """

    kinks: Floats
    left_jumps: Floats
    right_jumps: Floats

    @property
    def all(self) -> Floats:
        """Every place, increasing."""
        return np.unique(np.concatenate([self.kinks, self.left_jumps, self.right_jumps]))


MOST_BREAKS = 2**20
"""How many places of a kind are listed at most."""

NO_BREAKS: Floats = np.empty(0)
NO_BREAKS.flags.writeable = False


class Memory(Parametric):
    """A memory law g(a): state held at attained service a, non-decreasing; its subclasses are frozen dataclasses."""

    examples: ClassVar[tuple[tuple[Any, ...], ...]] = ()
    """Ordinary parameters, with which everything is tried in the tests."""

    @classmethod
    def formulas(cls) -> MemoryFormulas:
        """The law in SymPy's terms."""
        raise NotImplementedError

    @classmethod
    def keyword(cls) -> str:
        """The law's name on the command line."""
        return cls.__name__.removesuffix("Memory").lower()

    @property
    def parameters(self) -> tuple[float, ...]:
        """Parameter values in the order of the symbols of `formulas`."""
        return tuple(getattr(self, item.name) for item in fields(self))  # type: ignore[arg-type]

    def growth(self, ages: ArrayLike) -> Floats:
        """g(a), shape of ``ages``, in units of memory."""
        growth: Floats = self._evaluate("growth", a=floats("ages", ages)).growth
        return growth

    def slope_at(self, ages: ArrayLike) -> Floats:
        """dg/da, the right derivative at a kink; zero at a jump."""
        slope: Floats = self._evaluate("growth", a=floats("ages", ages)).slope
        return slope

    def _evaluate(self, wanted: str, **inputs: Floats) -> Any:
        law: Any = type(self)
        numbers = {item.name: np.float64(getattr(self, item.name)) for item in fields(law)}
        return compiled("mlptsym.symbolic.model.memory:memory_formula", law, wanted)(**inputs, **numbers)

    @cached_property
    def _shape(self) -> dict[str, float]:
        return {name: float(value) for name, value in self._evaluate("shape")._asdict().items()}

    @property
    def line(self) -> tuple[float, float]:
        """Intercept and slope of a line that bounds g from above."""
        return self._shape["intercept"], self._shape["slope"]

    @property
    def lag(self) -> float:
        """How far g may stay below its line beyond `linear_from`; zero where it is that line from there on."""
        return self._shape["lag"]

    @property
    def linear_from(self) -> float:
        """Age from which on g stays within `lag` of its line."""
        return self._shape["linear_from"]

    @property
    def step(self) -> float:
        """g jumps just behind each multiple of this age; 0 where it does not jump."""
        return self._shape["step"]

    def breaks(self, low: float = 0.0, high: float = math.inf) -> Breaks:
        """Where g is not smooth between two ages, both left out.

        Raises
        ------
        ParameterError
            If there are more than 2²⁰ such places.

        Examples
        --------
        >>> from mlptsym import PagedMemory, SaturatingMemory
        >>> PagedMemory(16.0).breaks(0.0, 50.0).right_jumps.tolist()
        [16.0, 32.0, 48.0]
        >>> SaturatingMemory(1.0, window=4096.0).breaks().kinks.tolist()
        [4096.0]
        """
        low = validation.number("low", low, at_least=0)
        high = validation.number("high", high, at_least=low, infinite=True)
        kink, step = self.linear_from, self.step
        kinks = np.array([kink]) if low < kink < high else NO_BREAKS
        if step == 0:
            return Breaks(kinks, NO_BREAKS, NO_BREAKS)
        if not (high - low) / step <= MOST_BREAKS:
            validation.refuse("high", high, f"at most {low + MOST_BREAKS * step:g} for the breaks of {self!r}")
        places = step * np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64)
        return Breaks(kinks, NO_BREAKS, places[(low < places) & (places < high)])

    def age_at(self, capacity: float) -> float:
        """Smallest age at which g reaches ``capacity``, > 0, or just behind which; ``inf`` if it never does (ℓ_C)."""
        return self._age_at(validation.number("capacity", capacity, above=0, infinite=True))

    def _age_at(self, capacity: float) -> float:
        raise NotImplementedError
