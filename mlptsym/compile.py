"""From SymPy expressions to NumPy code and machine code: the only module that calls ``sympy.lambdify``.

`compile_expressions` returns a frozen `CompiledFunction` that knows its argument order.  What lambdify leaves open is
settled here: unknown functions are refused when the function is built, constants are broadcast, integers become
floats, and a branch of a Piecewise is evaluated at the points of that branch only.

`compile_point_function` makes the same expressions a function of single numbers that a compiled loop can call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray
from scipy import special

from mlptsym.symbolic.moments import Indicator
from mlptsym.symbolic.special import GammaDensity, RegularizedUpperGamma, RelativeExponential

__all__ = [
    "CompiledFunction",
    "PointFunction",
    "UnsupportedFunctionError",
    "compile_expressions",
    "compile_point_function",
    "point_choice",
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
class PointFunction:
    """Expressions as machine code for one point, to be called inside a loop that Numba compiles.

    Attributes
    ----------
    prepare : callable
        Of the fixed arguments, in their order: a tuple of all that depends on nothing else, computed once.
    evaluate : callable
        Of that tuple, unless nothing is fixed, and the other arguments, in their order: a tuple with the value of each
        expression.
    """

    prepare: Callable[..., Any]
    evaluate: Callable[..., Any]


def compile_point_function(
    function: CompiledFunction, fixed: Sequence[str] = (), count: int | None = None
) -> PointFunction:
    """The same expressions as machine code for single numbers.

    Parameters
    ----------
    function : CompiledFunction
    fixed : sequence of str
        Names of arguments that stay the same while others vary.
    count : int, optional
        How many of the expressions are wanted, the first ones; all if left out.

    Returns
    -------
    PointFunction
        What overflows or is divided by zero comes out as IEEE 754 has it, as in NumPy.  Every branch of a Piecewise is
        evaluated, and without jumps, so that a loop over points may be vectorised.

    Raises
    ------
    UnsupportedFunctionError
        If an expression contains a function that has no machine code.

    Examples
    --------
    >>> x, y = sp.symbols("x y", positive=True)
    >>> both = compile_expressions({"x": x, "y": y}, [sp.exp(x) * y, sp.log(y)])
    >>> function = compile_point_function(both, fixed=["x"])
    >>> function.evaluate(function.prepare(0.0), 1.0)
    (1.0, 0.0)
    """
    import numba

    stand_ins = {name: sp.Dummy(name, real=True) for name in function.arguments}
    inputs = dict(zip(function.symbols, stand_ins.values(), strict=True))
    exact = [expression.xreplace(inputs) for expression in function.expressions[:count]]
    for expression in exact:
        strange = expression.atoms(sp.Function) - expression.atoms(*_POINT_FUNCTIONS, sp.Piecewise)
        if strange:
            raise UnsupportedFunctionError(f"no machine code for {', '.join(sorted(map(str, strange)))}")
    shared, results = sp.cse([_inert(expression) for expression in exact], symbols=sp.numbered_symbols(cls=sp.Dummy))
    constant = [stand_ins[name] for name in fixed]
    varying = [stand_in for name, stand_in in stand_ins.items() if name not in fixed]
    once, each = _apart(shared, results, constant)
    prepared = tuple(constant) + tuple(symbol for symbol, _ in once)
    steps, values = each
    used = set().union(*(expression.atoms(*_POINT_FUNCTIONS) for expression in exact))
    table = {type(f).__name__: _point_function(name) for f in used if (name := _POINT_FUNCTIONS[type(f)]) is not None}
    table[_CHOICE.__name__] = point_choice()
    steps, values = [(symbol, _chosen(step)) for symbol, step in steps], tuple(map(_chosen, values))
    inputs_each = [prepared, *varying] if prepared else varying
    prepare = sp.lambdify(constant, prepared, modules=[table, "math"], cse=lambda _: (once, prepared))
    evaluate = sp.lambdify(inputs_each, values, modules=[table, "math"], cse=lambda _: (steps, values))
    options: dict[str, Any] = {"error_model": "numpy", "forceinline": True, "no_cfunc_wrapper": True}
    return PointFunction(numba.njit(**options)(prepare), numba.njit(**options)(evaluate))


_POINT_FUNCTIONS: dict[type[sp.Basic], str | None] = {
    sp.exp: None,
    sp.log: None,
    sp.Min: None,
    sp.Max: None,
    sp.erfc: "erfc",
    sp.erf: "erf",
    sp.gamma: "gamma",
    sp.loggamma: "gammaln",
    RegularizedUpperGamma: "gammaincc",
}
"""Names in SciPy's interface for machine code; None for what Python's ``math`` or the language has itself."""


_CHOICE = sp.Function("choice")


def _chosen(expression: sp.Basic) -> sp.Basic:
    """The expression with choices between values in place of Piecewise."""

    def choice(piecewise: sp.Piecewise) -> sp.Expr:
        value = sp.nan
        for branch, condition in reversed(piecewise.args):
            value = branch if condition == sp.true else _CHOICE(condition, branch, value)
        return value

    return expression.replace(lambda part: isinstance(part, sp.Piecewise), choice)


@cache
def point_choice() -> Any:
    """What `compile_point_function` makes a Piecewise of: one of two numbers that are both evaluated."""
    from numba import types
    from numba.extending import intrinsic

    def choice(_: Any, condition: Any, one: Any, other: Any) -> Any:
        del condition, one, other  # the names of the operands

        def code(_: Any, builder: Any, __: Any, operands: Any) -> Any:
            return builder.select(*operands)

        return types.float64(types.boolean, types.float64, types.float64), code

    return intrinsic(choice)


@cache
def _erfc() -> Any:
    """erfc by arithmetic alone: a loop around it is vectorised, which one that calls SciPy's cannot be.

    For x ≥ 0 it is e^(−x²) P/(1 + 2x) with a polynomial P; see `_scaled_erfc`.  With n the
    whole number next to x²/ln 2, e^(−x²) = 2^(−n) e^(n ln 2 − x²), where the square is the sum of two numbers (T. J.
    Dekker, A Floating-Point Technique for Extending the Available Precision, 1971) and so is ln 2.  The relative
    error is below 7e-16 as far as erfc is a normal number.
    """
    import mpmath
    import numba

    options: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    inlined = numba.njit(forceinline=True, **options)
    x = sp.Symbol("x")

    def polynomial(*fit: Any) -> Any:
        coefficients = [sp.Float(value, 17) for value in _fitted_polynomial(*fit)]
        return inlined(sp.lambdify(x, sp.horner(sp.Poly(coefficients, x)), "math"))

    furthest = 28.0  # beyond, erfc is less than the least double
    scaled = polynomial(_scaled_erfc, (-1.0, (furthest - 4) / (furthest + 4)), 22)
    exponential = polynomial(mpmath.exp, (-0.35, 0.35), 11)
    choice, powers = point_choice(), 0.5 ** np.arange(1200.0)
    log_high = round(math.log(2) * 2**40) / 2**40  # of so few digits that its multiples are exact
    with mpmath.workdps(40):
        log_low = float(mpmath.log(2) - log_high)
    per_unit = 1 / math.log(2)

    def erfc(x: Any) -> Any:
        size = choice(abs(x) < furthest, abs(x), furthest)
        high = size * 134217729.0
        high -= high - size
        low = size - high
        square = size * size
        rest = ((high * high - square) + 2 * high * low) + low * low
        halvings = np.int32(square * per_unit + 0.5)
        power = exponential((halvings * log_high - square) + (halvings * log_low - rest)) * powers[np.uint32(halvings)]
        tail = power * scaled((size - 4) / (size + 4)) / (1 + 2 * size)
        return choice(np.isnan(x), x, choice(x >= 0, tail, 2 - tail))

    return inlined(erfc)


def _fitted_polynomial(function: Callable[[Any], Any], ends: tuple[float, float], degree: int) -> list[float]:
    """Coefficients, the highest power first, of the polynomial that meets a function of mpmath at Chebyshev's nodes.

    Examples
    --------
    >>> _fitted_polynomial(lambda x: 2 * x**2 - 1, (-1.0, 1.0), 2)
    [2.0, 0.0, -1.0]
    """
    import mpmath

    with mpmath.workdps(40):
        return [float(mpmath.chop(c, 1e-30)) for c in mpmath.chebyfit(function, list(ends), degree + 1)]


def _scaled_erfc(position: Any) -> Any:
    """(1 + 2x) e^(x²) erfc(x) at x = 4 (1 + position)/(1 − position), for mpmath.

    From x = 0 to ∞, which is position from −1 to 1, it stays between 1 and 1.3, and a polynomial follows it (M. M.
    Shepherd and J. G. Laframboise, Chebyshev Approximation of (1 + 2x) exp(x²) erfc x in 0 ≤ x < ∞, 1981).
    """
    import mpmath

    x = 4 * (1 + position) / (1 - position)
    return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)


def _point_function(name: str) -> Any:
    """Machine code of a function in SciPy's interface."""
    return _erfc() if name == "erfc" else _scipy_function(name)


def _scipy_function(name: str) -> Any:
    """SciPy's own function of floats, which gives what its ufunc of the same name gives."""
    import ctypes

    from numba.extending import get_cython_function_address
    from scipy.special import cython_special

    # some names are compiled for complex numbers too, as variant 0
    symbol = name if name in cython_special.__pyx_capi__ else f"__pyx_fuse_1{name}"
    arity = 2 if name == "gammaincc" else 1
    address = get_cython_function_address("scipy.special.cython_special", symbol)
    return ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * arity)(address)


_Steps = list[tuple[sp.Symbol, sp.Expr]]


def _apart(
    shared: _Steps, results: Sequence[sp.Expr], constant: Sequence[sp.Symbol]
) -> tuple[_Steps, tuple[_Steps, tuple[sp.Expr, ...]]]:
    """Steps that depend on constants only, and the steps and results that are left when those are known."""
    known = set(constant)
    once: _Steps = []
    rest: _Steps = []
    named: dict[sp.Expr, sp.Symbol] = {}
    for symbol, step in shared:
        if step.free_symbols <= known:
            known.add(symbol)
            once.append((symbol, step))
        else:
            rest.append((symbol, step))

    def name(part: sp.Expr) -> sp.Expr:
        return part if part.is_Symbol or part.is_number else named.setdefault(part, sp.Dummy("constant", real=True))

    def reduced(expression: sp.Basic) -> sp.Basic:
        if not expression.args or not expression.free_symbols:
            return expression
        if expression.free_symbols <= known and isinstance(expression, sp.Expr):
            return name(expression)
        if isinstance(expression, (sp.Add, sp.Mul)):
            here = [part for part in expression.args if part.free_symbols <= known]
            others = [reduced(part) for part in expression.args if not part.free_symbols <= known]
            return expression.func(name(expression.func(*here)), *others) if here else expression.func(*others)
        return expression.func(*map(reduced, expression.args))

    each = [(symbol, reduced(step)) for symbol, step in rest]
    values = tuple(reduced(result) for result in results)
    return once + [(symbol, part) for part, symbol in named.items()], (each, values)


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
