"""Memory growth with numbers; see `mlptsym.symbolic.memory` for the expressions."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats

if TYPE_CHECKING:
    import sympy as sp

    from mlptsym.compile import CompiledFunction

__all__ = ["AffineMemory", "LinearMemory", "Memory", "SaturatingMemory"]

Floats = NDArray[np.float64]


@lru_cache(maxsize=16)
def growth_function(name: str) -> CompiledFunction:
    """g(a) and dg/da from the right."""
    import sympy as sp

    from mlptsym.compile import compile_expressions
    from mlptsym.symbolic.memory import MEMORY_LAWS
    from mlptsym.symbolic.symbols import age

    law = MEMORY_LAWS[name]()
    # a derivative of Min or Max brings steps, which SymPy takes to be 1/2 where they step
    slope = sp.diff(law.growth, age).replace(sp.Heaviside, lambda gap, _: _step_to_the_right(gap, age))
    return compile_expressions({**{str(p): p for p in law.parameters}, "a": age}, [law.growth, slope])


@lru_cache(maxsize=16)
def _shape_function(name: str) -> CompiledFunction:
    """The bounding line, and the start of the last smooth part."""
    from mlptsym.compile import compile_expressions
    from mlptsym.symbolic.memory import MEMORY_LAWS

    law = MEMORY_LAWS[name]()
    return compile_expressions({str(p): p for p in law.parameters}, [*law.line, law.smooth_from])


def _step_to_the_right(gap: sp.Expr, age: sp.Symbol) -> sp.Expr:
    """1{gap > 0}, and where the gap is zero its value just to the right."""
    import sympy as sp

    after = gap >= 0 if sp.diff(gap, age).is_positive else gap > 0
    return sp.Piecewise((1, after), (0, True))


class Memory:
    """A memory law g(a): state held at attained service a, non-decreasing."""

    @property
    def parameters(self) -> tuple[float, ...]:
        """Parameter values in the order of the symbolic law."""
        return tuple(getattr(self, item.name) for item in fields(self))  # type: ignore[arg-type]

    def growth(self, ages: ArrayLike) -> Floats:
        """g(a), shape of ``ages``, in units of memory."""
        return growth_function(type(self).__name__)(*self.parameters, floats("ages", ages))[0]

    def slope_at(self, ages: ArrayLike) -> Floats:
        """dg/da (the right derivative where g bends)."""
        return growth_function(type(self).__name__)(*self.parameters, floats("ages", ages))[1]

    @cached_property
    def _shape(self) -> tuple[float, float, float]:
        intercept, slope, smooth_from = _shape_function(type(self).__name__)(*self.parameters)
        return float(intercept), float(slope), float(smooth_from)

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
