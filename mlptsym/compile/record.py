"""Functions of named numbers that return a record of named numbers."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym.compile.stored import load, store

if TYPE_CHECKING:
    from mlptsym.symbolic.algebra.formula import Formula

__all__ = ["NumericFunction", "compile_formula", "compiled"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumericFunction:
    """A formula that evaluates numbers and arrays."""

    # Names
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    source: str  # The Python code that is run
    # The code itself, for callers that know what they pass: NumPy floats or arrays, under an `numpy.errstate` of
    # their own.  It returns a record too, with what does not depend on an array as a number.
    evaluate: Callable[..., Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, inputs: tuple[str, ...], outputs: tuple[str, ...], source: str) -> NumericFunction:
        """The function that a source defines."""
        space: dict[str, Any] = {}
        exec(compile(source, "<formula>", "exec"), space)  # noqa: S102 (what numpy_source wrote)
        record, values = _record(outputs)._make, space["evaluate"]
        return cls(inputs, outputs, source, lambda **named: record(values(**named)))

    def __call__(self, **named: ArrayLike) -> Any:
        """A record of float arrays of the common shape of all inputs.

        What leaves the range of a float becomes infinite, zero or NaN without a warning: the caller decides what that
        means.

        Raises
        ------
        TypeError
            If an input is missing or unknown.
        """
        if named.keys() != set(self.inputs):
            given = ", ".join(sorted(named)) or "nothing"
            raise TypeError(f"takes the inputs {', '.join(self.inputs)}: given {given}")
        arrays = {name: np.asarray(value, dtype=float)[()] for name, value in named.items()}
        shapes = {value.shape for value in arrays.values()} - {()}
        shape = np.broadcast_shapes(*shapes) if len(shapes) != 1 else shapes.pop()
        with np.errstate(all="ignore"):
            values = self.evaluate(**arrays)
        return type(values)._make(_filled(value, shape) for value in values)

    def __reduce__(self) -> tuple[Any, ...]:
        return NumericFunction.of, (self.inputs, self.outputs, self.source)


@cache
def _record(names: tuple[str, ...]) -> Any:
    return namedtuple("Record", names)


def _filled(value: Any, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(value, dtype=float)
    return array if array.shape == shape else np.broadcast_to(array, shape).copy()


def compile_formula(formula: Formula) -> NumericFunction:
    """The function that evaluates a formula.

    Raises
    ------
    UnsupportedFunctionError
        If it contains a function without numeric code, or a symbol that is no input.

    Examples
    --------
    >>> import sympy as sp
    >>> from mlptsym.symbolic.algebra.formula import Formula
    >>> x = sp.Symbol("x", real=True)
    >>> both = compile_formula(Formula({"x": x}, {"part": sp.Piecewise((1 / x, x > 0), (0, True)), "two": sp.S(2)}))
    >>> both(x=[0, 4])
    Record(part=array([0.  , 0.25]), two=array([2., 2.]))
    """
    from mlptsym.compile.source import numpy_source

    return NumericFunction.of(tuple(formula.inputs), tuple(formula.outputs), numpy_source(formula))


@lru_cache(maxsize=512)
def compiled(reference: str, *choices: Any) -> NumericFunction:
    """The function of a formula that a function of the symbolic half returns, or has returned to an earlier process.

    Parameters
    ----------
    reference : str
        Where that function is, such as ``"mlptsym.symbolic.mean.response:level_step"``; it is imported when needed.
    choices : hashable
        Its arguments.
    """
    known = load(reference, choices)
    if known is not None:
        return NumericFunction.of(*known)
    module, _, name = reference.partition(":")
    function = compile_formula(getattr(import_module(module), name)(*choices))
    store(reference, choices, (function.inputs, function.outputs, function.source))
    return function
