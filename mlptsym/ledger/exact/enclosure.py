"""Interval arithmetic: SymPy expressions in balls of python-flint, and inequalities on a box by bisection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp
from flint import arb, fmpq

from mlptsym.symbolic.algebra.special import RegularizedUpperGamma

FUNCTIONS: dict[Any, Callable[..., arb]] = {
    sp.exp: arb.exp,
    sp.log: arb.log,
    sp.erfc: arb.erfc,
    sp.erf: arb.erf,
    sp.gamma: arb.gamma,
    sp.loggamma: arb.lgamma,
    sp.Min: lambda *values: _fold(arb.min, values),
    sp.Max: lambda *values: _fold(arb.max, values),
    RegularizedUpperGamma: lambda shape, start: start.gamma_upper(shape, regularized=1),
}


def _fold(operation: Callable[[arb, arb], arb], values: tuple[arb, ...]) -> arb:
    result = values[0]
    for other in values[1:]:
        result = operation(result, other)
    return result


def ball(expression: sp.Expr, values: Mapping[sp.Expr, arb]) -> arb:
    """A ball that contains the expression's value for all values of its atoms in the given balls.

    Raises
    ------
    ValueError
        If the expression contains something this module cannot enclose.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> ball(x**2 - x, {x: arb(3)}) == 6
    True
    """
    if expression in values:
        return arb(values[expression])
    if expression.is_Rational:
        return arb(fmpq(int(expression.p), int(expression.q)))
    if expression is sp.pi:
        return arb.pi()
    arguments = [ball(argument, values) for argument in expression.args]
    if expression.is_Add:
        return sum(arguments, arb(0))
    if expression.is_Mul:
        product = arb(1)
        for argument in arguments:
            product *= argument
        return product
    if expression.is_Pow:
        _base, exponent = expression.args
        if exponent.is_Integer:
            return arguments[0] ** int(exponent)
        return arguments[0].sqrt() if exponent == sp.Rational(1, 2) else (arguments[1] * arguments[0].log()).exp()
    if expression.func in FUNCTIONS:
        return FUNCTIONS[expression.func](*arguments)
    raise ValueError(f"{expression} cannot be enclosed")


def hull(low: arb, high: arb) -> arb:
    """The smallest ball around two."""
    return low.union(high)


def covered(function: Callable[[arb], arb], low: arb, high: arb, most: int = 20_000) -> tuple[bool, int]:
    """Whether a function is positive on an interval, shown by bisection, and the number of intervals looked at.

    The answer is no as soon as it is not positive on some interval as a whole, or where bisection needs more than
    ``most`` intervals.

    Examples
    --------
    >>> covered(lambda x: x * x - x + 1, arb(-2), arb(2))[0], covered(lambda x: x * x - x, arb(-2), arb(2))[0]
    (True, False)
    """
    pending, looked = [(low, high)], 0
    while pending:
        start, stop = pending.pop()
        looked += 1
        value = function(hull(start, stop))
        if value > 0:
            continue
        middle = (start + stop) / 2
        middle = arb(middle.mid())
        if looked > most or function(middle) <= 0 or not (start < middle < stop):
            return False, looked
        pending += [(start, middle), (middle, stop)]
    return True, looked
