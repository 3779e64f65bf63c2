"""From SymPy expressions to NumPy code: the only module that calls ``sympy.lambdify``.

`compile_expressions` returns a frozen `CompiledFunction` that knows its argument order.  What lambdify leaves open is
settled here: unknown functions are refused when the function is built, constants are broadcast, integers become
floats, and a branch of a Piecewise is evaluated at the points of that branch only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray
from scipy import special

from mlptsym.symbolic.moments import Indicator
from mlptsym.symbolic.special import GammaDensity, RegularizedUpperGamma, RelativeExponential

__all__ = [
    "CompiledFunction",
    "UnsupportedFunctionError",
    "compile_expressions",
]

Floats = NDArray[np.float64]


class UnsupportedFunctionError(TypeError):
    """An expression contains a function, or a symbol, that the numeric code does not know."""


def _functions() -> dict[type[sp.Basic], Callable[..., Any] | None]:
    """The functions that may occur, and what evaluates them; None where NumPy's own printer is right."""
    return {
        sp.exp: None,
        sp.log: None,
        sp.Min: None,
        sp.Max: None,
        sp.erfc: special.erfc,
        sp.erf: special.erf,
        sp.gamma: special.gamma,
        sp.loggamma: special.gammaln,
        sp.uppergamma: lambda shape, start: special.gamma(shape) * special.gammaincc(shape, start),
        RegularizedUpperGamma: special.gammaincc,
        RelativeExponential: special.exprel,
        GammaDensity: _gamma_density,
        Indicator: lambda variable, threshold: np.greater(variable, threshold).astype(float),
    }


def _gamma_density(shape: Floats, point: Floats) -> Floats:
    """z^(a−1) e^(−z)/Γ(a) from the deviance z/a − 1 − log(z/a), which keeps its digits where powers and Γ overflow.

    C. Loader, Fast and Accurate Computation of Binomial Probabilities (2000); Stirling's series: NIST DLMF 5.11.1.
    """
    ratio, excess = point / shape, (point - shape) / shape
    logarithm = np.where(np.abs(excess) < 0.5, np.log1p(np.maximum(excess, -0.5)), np.log(ratio))
    direct = special.gammaln(shape + 1) - (shape * np.log(shape) - shape + np.log(2 * np.pi * shape) / 2)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * shape**2)) / shape**2) / shape**2) / shape
    stirling = np.where(shape < 16, direct, series)
    return np.sqrt(shape / (2 * np.pi)) * np.exp(-shape * (excess - logarithm) - stirling - np.log(point))


@dataclass(frozen=True)
class CompiledFunction:
    """Numeric evaluation of one or more expressions.

    Attributes
    ----------
    arguments : tuple of str
        Names of the arguments, in call order.
    symbols : tuple of Symbol
        What each argument stands for in the expressions.
    expressions : tuple of Expr
        What is evaluated.

    Notes
    -----
    Calls take positional or named arguments, scalars or arrays that broadcast against each other, and return a tuple
    with one float array of the common shape for each expression.  What leaves the range of a float becomes infinite,
    zero or NaN without a warning: the caller decides what that means.
    """

    arguments: tuple[str, ...]
    symbols: tuple[sp.Basic, ...]
    expressions: tuple[sp.Expr, ...]
    _parts: tuple[_Part, ...] = field(repr=False, compare=False)

    def __call__(self, *values: ArrayLike, **named: ArrayLike) -> tuple[Floats, ...]:
        """Evaluate every expression; see the class."""
        whole = not named and len(values) == len(self.arguments)
        inputs = [np.asarray(value, dtype=float) for value in (values if whole else self._bind(values, named))]
        shapes = {value.shape for value in inputs} - {()}
        shape = np.broadcast_shapes(*shapes) if len(shapes) != 1 else shapes.pop()
        results: list[Floats] = [np.empty(0)] * len(self.expressions)
        with np.errstate(all="ignore"):
            if len(self._parts) == 1:
                return tuple(self._parts[0].evaluate(inputs, shape))
            for part in self._parts:
                for position, value in zip(part.positions, part.evaluate(inputs, shape), strict=True):
                    results[position] = value
        return tuple(results)

    def _bind(self, values: tuple[ArrayLike, ...], named: dict[str, ArrayLike]) -> list[ArrayLike]:
        by_name: dict[str, ArrayLike] = dict(zip(self.arguments, values, strict=False))
        wrong = sorted(name for name in named if name not in self.arguments or name in by_name)
        missing = [name for name in self.arguments if name not in by_name and name not in named]
        if len(values) > len(self.arguments) or wrong or missing:
            raise TypeError(
                f"takes the arguments {', '.join(self.arguments)}: {len(values)} positional values given, "
                f"missing {missing}, unknown or repeated {wrong}"
            )
        by_name.update(named)
        return [by_name[name] for name in self.arguments]

    def __reduce__(self) -> tuple[Any, ...]:
        return compile_expressions, (dict(zip(self.arguments, self.symbols, strict=True)), self.expressions)


def compile_expressions(arguments: dict[str, sp.Basic], expressions: Sequence[Any]) -> CompiledFunction:
    """Compile expressions to one NumPy function with common subexpressions shared.

    Parameters
    ----------
    arguments : dict of str to Symbol (or any expression that stands for an input, such as a folded ``UpperMoment``)
        Argument names in call order, and what they stand for.
    expressions : sequence of Expr
        What to evaluate; ``Piecewise`` may occur anywhere.

    Returns
    -------
    CompiledFunction

    Raises
    ------
    UnsupportedFunctionError
        If an expression contains a function without numeric code, or a symbol that is no argument.

    Examples
    --------
    >>> x = sp.Symbol("x", real=True)
    >>> reciprocal = compile_expressions({"x": x}, [sp.Piecewise((1 / x, x > 0), (0, True)), sp.S(2)])
    >>> [values.tolist() for values in reciprocal([0, 4])]
    [[0.0, 0.25], [2.0, 2.0]]
    """
    names, symbols = tuple(arguments), tuple(arguments.values())
    stand_ins = tuple(sp.Dummy(name, real=True) for name in names)
    exact = tuple(sp.sympify(expression, strict=True) for expression in expressions)
    inputs = dict(zip(symbols, stand_ins, strict=True))
    for expression in exact:
        _refuse_unknown(expression.xreplace(inputs), stand_ins)
    folded = [sp.piecewise_fold(_inert(expression).xreplace(inputs)) for expression in exact]
    groups: dict[tuple[sp.Basic, ...], list[int]] = {}
    for position, expression in enumerate(folded):
        groups.setdefault(_conditions(expression), []).append(position)
    parts = tuple(
        _Part.build(stand_ins, conditions, positions, [folded[position] for position in positions])
        for conditions, positions in groups.items()
    )
    return CompiledFunction(names, symbols, exact, parts)


def _conditions(expression: sp.Expr) -> tuple[sp.Basic, ...]:
    if isinstance(expression, sp.Piecewise):
        return tuple(condition for _, condition in expression.args)
    return (sp.true,)


def _refuse_unknown(expression: sp.Expr, stand_ins: tuple[sp.Dummy, ...]) -> None:
    known = tuple(_functions())
    strange = sorted(
        str(node)
        for node in expression.atoms(sp.Function, sp.Derivative, sp.Subs, sp.Integral, sp.Sum)
        if not isinstance(node, (*known, sp.Piecewise))
    )
    loose = sorted(str(symbol) for symbol in expression.free_symbols - set(stand_ins))
    if strange or loose:
        raise UnsupportedFunctionError(f"no numeric code for {', '.join(strange + loose)} in {expression}")


def _inert(expression: sp.Expr) -> sp.Expr:
    """The expression with special functions that no longer evaluate themselves.

    New names for the arguments, and sharing of subexpressions, may turn z into −(−z), and SymPy writes erfc(−z) as
    2 − erfc(z), which has no digits left in the tail.
    """
    for kind, code in _functions().items():
        if code is not None:
            expression = expression.replace(kind, sp.Function(kind.__name__))
    return expression


@dataclass(frozen=True)
class _Part:
    """The expressions that share one list of conditions, with one function for each branch."""

    positions: tuple[int, ...]
    conditions: tuple[Callable[..., Any], ...]
    branches: tuple[Callable[..., Any], ...]

    @classmethod
    def build(
        cls,
        stand_ins: tuple[sp.Dummy, ...],
        conditions: tuple[sp.Basic, ...],
        positions: Sequence[int],
        expressions: Sequence[sp.Expr],
    ) -> _Part:
        table = {kind.__name__: code for kind, code in _functions().items() if code is not None}
        modules: list[Any] = [table, "numpy"]
        branches = []
        for branch in range(len(conditions)):
            values = [e.args[branch][0] if isinstance(e, sp.Piecewise) else e for e in expressions]
            branches.append(sp.lambdify(stand_ins, values, modules=modules, cse=True))
        tests = tuple(_test(stand_ins, condition, modules) for condition in conditions)
        return cls(tuple(positions), tests, tuple(branches))

    def evaluate(self, inputs: list[Floats], shape: tuple[int, ...]) -> list[Floats]:
        if len(self.branches) == 1:
            return [_filled(value, shape) for value in self.branches[0](*inputs)]
        open_points = np.True_
        results: list[Floats] = []
        for test, branch in zip(self.conditions, self.branches, strict=True):
            here = open_points & test(*inputs)
            if here.all():
                return [_filled(value, shape) for value in branch(*inputs)]
            if not results:
                results = [np.zeros(shape) for _ in self.positions]
            if here.any():
                here = _wide(here, shape)
                selected = [_wide(value, shape)[here] if value.shape else value for value in inputs]
                for result, value in zip(results, branch(*selected), strict=True):
                    result[here] = value
            open_points = open_points & ~here
        return results


def _test(stand_ins: tuple[sp.Dummy, ...], condition: sp.Basic, modules: list[Any]) -> Callable[..., Any]:
    """A condition as a function of inputs that broadcast (code for a whole ``And`` would stack its parts)."""
    if not isinstance(condition, (sp.And, sp.Or)):
        tested: Callable[..., Any] = sp.lambdify(stand_ins, condition, modules=modules)
        return tested
    combined = np.logical_and if isinstance(condition, sp.And) else np.logical_or
    tests = [_test(stand_ins, part, modules) for part in condition.args]
    return lambda *inputs: reduce(combined, [test(*inputs) for test in tests])


def _wide(array: Any, shape: tuple[int, ...]) -> Any:
    return array if array.shape == shape else np.broadcast_to(array, shape)


def _filled(value: Any, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(value, dtype=float)
    return array if array.shape == shape else np.broadcast_to(array, shape).copy()
