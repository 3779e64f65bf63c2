"""Symbolic expressions compared by value: at a fixed pseudo-random point, or for one concrete law by quadrature."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import mpmath as mp
import sympy as sp

from mlptsym.symbolic.model.moments import Density, UpperMoment

DIGITS = 30
LEAVES = (sp.Symbol, sp.Indexed, UpperMoment, Density)


def value(expression: Any, numbers: Mapping[Any, Any] | None = None) -> sp.Expr:
    """The expression where every leaf that is not in ``numbers`` is a rational in (0, 1) derived from its name."""
    point = {leaf: _number(str(leaf)) for leaf in _leaves(sp.sympify(expression))}
    return sp.sympify(expression).xreplace({**point, **(numbers or {})}).evalf(DIGITS + 10)


def differ(left: Any, right: Any, numbers: Mapping[Any, Any] | None = None) -> bool:
    """Whether two expressions differ in the first 30 digits at the point (relative to the larger of the two values)."""
    first, second = value(left, numbers), value(right, numbers)
    if not (first.is_number and second.is_number and first.is_finite and second.is_finite):
        raise ValueError(f"{left} and {right} do not both have a value: {first}, {second}")
    return bool(abs(first - second) > sp.Float(10, DIGITS) ** -DIGITS * max(abs(first), abs(second)))


def _leaves(expression: sp.Basic) -> set[sp.Basic]:
    if isinstance(expression, LEAVES):
        return {expression}
    return set().union(*(_leaves(argument) for argument in expression.args))


def _number(name: str) -> sp.Rational:
    digest = int.from_bytes(hashlib.sha256(name.encode()).digest()[:12], "big")
    return sp.Rational(digest + 1, 2**96 + 2)


# One concrete law, gamma with shape 5/2, for whichever variable an expression is about.


def density(s: Any) -> Any:
    return s ** mp.mpf("1.5") * mp.exp(-s) / mp.gamma(mp.mpf("2.5"))


def integral(function: Callable[[Any], Any], start: Any = 0, splits: Sequence[Any] = ()) -> Any:
    """∫ function(s) f(s) ds from ``start`` on, split where the function bends, each part with its own error estimate."""
    start = mp.mpf(start)
    ends = [start, *sorted(mp.mpf(split) for split in splits if split > start), mp.inf]
    total = mp.mpf(0)
    for low, high in pairwise(ends):
        part, error = mp.quad(lambda s: function(s) * density(s), [low, high], error=True)
        assert error < mp.mpf(10) ** (-mp.mp.dps + 10)
        total += part
    return total


@cache
def _moment(order: int, start: Any, digits: int) -> Any:
    return integral(lambda s: s**order, start)


def concrete(expression: Any, at: Mapping[Any, sp.Rational]) -> Any:
    """The expression with symbols and boundaries from ``at`` and every folded moment or density from the concrete law."""
    numbers: dict[Any, Any] = dict(at)
    for leaf in sp.sympify(expression).atoms(UpperMoment, Density):
        *order, point, _ = leaf.args
        start = number(point.xreplace(at))
        size = _moment(int(order[0]), start, mp.mp.dps) if order else density(start)
        numbers[leaf] = sp.Float(size, mp.mp.dps)
    return number(sp.sympify(expression).xreplace(numbers).evalf(mp.mp.dps))


def number(expression: Any) -> Any:
    """A SymPy number as one of mpmath's, exactly where it is rational."""
    if isinstance(expression, sp.Rational):
        return mp.mpf(expression.p) / expression.q
    return mp.mpf(sp.Float(expression, mp.mp.dps)._mpf_)
