"""Memory growth with numbers; see `mlptsym.symbolic.model.memory` for the expressions."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.compile import NumericFunction, compiled

__all__ = ["AffineMemory", "LinearMemory", "Memory", "SaturatingMemory"]

Floats = NDArray[np.float64]


class Memory:
    """A memory law g(a): state held at attained service a, non-decreasing."""

    @property
    def parameters(self) -> tuple[float, ...]:
        """Parameter values in the order of the symbolic law."""
        return tuple(getattr(self, item.name) for item in fields(self))  # type: ignore[arg-type]

    @cached_property
    def _numbers(self) -> dict[str, np.float64]:
        """Parameters by name, as formulas take them."""
        return {item.name: np.float64(getattr(self, item.name)) for item in fields(self)}  # type: ignore[arg-type]

    @property
    def _growth(self) -> NumericFunction:
        return compiled("mlptsym.symbolic.model.memory:growth_formula", type(self).__name__)

    def growth(self, ages: ArrayLike) -> Floats:
        """g(a), shape of ``ages``, in units of memory."""
        growth: Floats = self._growth(a=floats("ages", ages), **self._numbers).growth
        return growth

    def slope_at(self, ages: ArrayLike) -> Floats:
        """dg/da (the right derivative where g bends)."""
        slope: Floats = self._growth(a=floats("ages", ages), **self._numbers).slope
        return slope

    @cached_property
    def _shape(self) -> tuple[float, float, float]:
        shape = compiled("mlptsym.symbolic.model.memory:shape_formula", type(self).__name__)(**self._numbers)
        return float(shape.intercept), float(shape.slope), float(shape.smooth_from)

    @property
    def line(self) -> tuple[float, float]:
        """Intercept and slope of a line that bounds g from above."""
        return self._shape[:2]

    @property
    def smooth_from(self) -> float:
        """Age from which on g is one polynomial of degree at most one."""
        return self._shape[2]

    def age_at(self, capacity: float) -> float:
        """Smallest age at which g reaches ``capacity``, > 0; ``inf`` if it never does (the paper's ℓ_C)."""
        return self._age_at(validation.number("capacity", capacity, above=0, infinite=True))

    def _age_at(self, capacity: float) -> float:
        raise NotImplementedError


def _positive(memory: object, *names: str, at_least_zero: tuple[str, ...] = ()) -> None:
    for name in names:
        object.__setattr__(memory, name, validation.magnitude(name, getattr(memory, name)))
    for name in at_least_zero:
        object.__setattr__(
            memory, name, validation.number(name, getattr(memory, name), at_least=0, at_most=validation.LARGEST)
        )


@dataclass(frozen=True)
class LinearMemory(Memory):
    """g(a) = slope · a: one cache entry for every token generated.

    Parameters
    ----------
    slope : float
        The paper's α, memory per unit of attained service, > 0.

    Examples
    --------
    >>> round(LinearMemory(3.75).age_at(256), 4)
    68.2667
    """

    slope: float = 1.0

    def __post_init__(self) -> None:
        _positive(self, "slope")

    def _age_at(self, capacity: float) -> float:
        """C/α."""
        return capacity / self.slope


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

    base: float
    slope: float = 1.0

    def __post_init__(self) -> None:
        _positive(self, "slope", at_least_zero=("base",))

    def _age_at(self, capacity: float) -> float:
        """(C − base)/slope, or 0 if the prompt alone fills the memory."""
        return max(0.0, (capacity - self.base) / self.slope)


@dataclass(frozen=True)
class SaturatingMemory(Memory):
    """g(a) = base + slope · min(a, window): sliding-window attention.

    Parameters
    ----------
    slope : float
        Memory per unit of attained service, > 0.
    window : float
        Age from which on nothing is added, > 0.
    base : float
        Memory at age 0, >= 0.
    """

    slope: float
    window: float
    base: float = 0.0

    def __post_init__(self) -> None:
        _positive(self, "slope", "window", at_least_zero=("base",))

    def _age_at(self, capacity: float) -> float:
        """(C − base)/slope while that lies within the window, else ``inf``."""
        age = max(0.0, (capacity - self.base) / self.slope)
        return age if age <= self.window else math.inf
