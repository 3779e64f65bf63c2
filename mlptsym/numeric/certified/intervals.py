"""Evaluation of SymPy expressions in ball arithmetic: with `arb` balls, or Taylor series whose coefficients are balls.

Expressions are walked, not rewritten, so that what is enclosed is what the rest of the package derives.  Branches
(``Piecewise``, ``Min``, ``Max``, `Indicator`) are decided in exact rational arithmetic: all conditions of the package
compare quantities that are monotone in θ and rational in the parameters, so that a sign which is the same at both ends
of an interval of θ holds on all of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import sympy as sp

from mlptsym.symbolic.algebra.special import RegularizedUpperGamma
from mlptsym.symbolic.model.moments import Indicator

__all__ = ["SampleMoments", "UndecidedError", "Walker", "exact"]

# a ball, a series of balls, or an exact rational number
Value = Any
# the exact values of the inputs at the lower end, in the middle and at the upper end of an interval
Corners = tuple[Sequence[Value], Sequence[Value], Sequence[Value]]


class UndecidedError(ArithmeticError):
    """A branch that is not the same on the whole interval."""


def exact(value: float) -> Any:
    """The rational number that a float is."""
    from flint import fmpq

    fraction = Fraction(value)
    return fmpq(fraction.numerator, fraction.denominator)


class _Run:
    """One evaluation: inputs, their exact corners, and the nodes known so far."""

    __slots__ = ("corners", "known", "points", "values")

    def __init__(self, values: Sequence[Value], corners: Corners | None, count: int) -> None:
        self.values, self.corners = values, corners
        self.known: list[Value] = [None] * count
        self.points: tuple[_Run, ...] = ()


Step = Callable[[_Run], Value]


class Walker:
    """Evaluation of expressions, in the order of their inputs; what they share is evaluated once.

    Parameters
    ----------
    expressions : sequence of Expr
        What to evaluate.
    inputs : sequence of Expr
        Symbols, or folded functions that stand for an input.
    """

    def __init__(self, expressions: Sequence[Any], inputs: Sequence[sp.Basic]) -> None:
        self._positions = {node: position for position, node in enumerate(inputs)}
        self._steps: dict[sp.Basic, Step] = {}
        self._outputs = [self._step(sp.sympify(expression, strict=True)) for expression in expressions]

    def at(self, values: Sequence[Value], corners: Corners | None = None) -> list[Value]:
        """The values; ``corners`` are needed where branches are to be decided.

        Raises
        ------
        UndecidedError
            If a branch changes inside the interval.
        """
        run = _Run(values, corners, len(self._steps))
        return [step(run) for step in self._outputs]

    def exactly(self, values: Sequence[Value]) -> list[Value]:
        """The values at rational inputs, of expressions that are piecewise rational."""
        return self.at(values, (values, values, values))

    def _step(self, node: sp.Basic) -> Step:
        if node not in self._steps:
            compute = self._compute(node)
            index = len(self._steps)

            def step(run: _Run) -> Value:
                value = run.known[index]
                if value is None:
                    value = run.known[index] = compute(run)
                return value

            self._steps[node] = step
        return self._steps[node]

    def _compute(self, node: sp.Basic) -> Step:
        """How a node is computed from what it is made of."""
        if node in self._positions:
            position = self._positions[node]
            return lambda run: run.values[position]
        if node.is_Rational:
            constant = _rational(node)
            return lambda _run: constant
        if node is sp.pi:
            return lambda _run: _pi()
        if isinstance(node, sp.Piecewise):
            return self._branches(node)
        parts = [self._step(argument) for argument in node.args]
        if isinstance(node, sp.ceiling):
            return self._ceiling(*parts)
        if isinstance(node, (sp.Min, sp.Max, Indicator)):
            return self._decision(node, *parts)
        if isinstance(node, sp.Add):
            first, *others = parts

            def add(run: _Run) -> Value:
                total = first(run)
                for part in others:
                    total = total + part(run)
                return total

            return add
        if isinstance(node, sp.Mul):
            first, *others = parts

            def multiply(run: _Run) -> Value:
                total = first(run)
                for part in others:
                    total = total * part(run)
                return total

            return multiply
        operation = _operation(node)
        if len(parts) == 1:
            (only,) = parts
            return lambda run: operation(only(run))
        left, right = parts
        return lambda run: operation(left(run), right(run))

    def _branches(self, node: sp.Piecewise) -> Step:
        branches = []
        for expression, condition in node.args:
            sides = () if condition is sp.true else tuple(self._step(side) for side in condition.args)
            branches.append((self._step(expression), sides, HOLDS.get(condition.func)))

        def choose(run: _Run) -> Value:
            for value, sides, holds in branches:
                if not sides or (holds is not None and holds(_sign(sides[0], sides[1], run))):
                    return value(run)
            raise UndecidedError(f"no branch of {node} applies")

        return choose

    def _decision(self, node: sp.Basic, left: Step, right: Step) -> Step:
        if isinstance(node, Indicator):
            one, zero = _rational(sp.S.One), _rational(sp.S.Zero)
            return lambda run: one if _sign(left, right, run) > 0 else zero
        smaller = isinstance(node, sp.Min)
        return lambda run: (left if (_sign(left, right, run) <= 0) == smaller else right)(run)

    def _ceiling(self, part: Step) -> Step:
        """The ceiling of what is inside an interval; at its lower end the limit from above is meant."""

        def ceiling(run: _Run) -> Value:
            low, inside, high = (part(point) for point in _points(run))
            whole = inside.ceil()
            if high > whole or (low < whole - 1 if low < high else low.ceil() != whole):
                raise UndecidedError("a ceiling jumps inside the interval")
            return whole

        return ceiling


class SampleMoments:
    """Upper partial moments M_0, M_1, … of equally likely samples: sums over those that are larger, found by bisection.

    The law's SymPy expressions have a term for each sample, which takes too long for more than a few hundred.

    Parameters
    ----------
    samples : iterable of float
        Increasing.
    orders : int
        How many moments.
    """

    def __init__(self, samples: Iterable[float], orders: int) -> None:
        self._samples = [exact(sample) for sample in samples]
        count = len(self._samples)
        # sums over the largest 0, 1, … samples
        self._sums = [
            list(accumulate((sample**n / count for sample in reversed(self._samples)), initial=exact(0.0)))
            for n in range(orders)
        ]

    def totals(self) -> list[Value]:
        """The moments of all samples."""
        from flint import arb

        return [arb(sums[-1]) for sums in self._sums]

    def at(self, _values: Sequence[Value], corners: Corners) -> list[Value]:
        """As `Walker.at`, with the point as the last of the inputs."""
        from flint import arb

        low, inside, high = (corner[-1] for corner in corners)
        if low < high and bisect_right(self._samples, low) < bisect_left(self._samples, high):
            raise UndecidedError("a sample inside the interval")
        larger = len(self._samples) - bisect_right(self._samples, inside)
        return [arb(sums[larger]) for sums in self._sums]


def _points(run: _Run) -> tuple[_Run, ...]:
    """The evaluations at the exact corners."""
    if run.corners is None:
        raise UndecidedError("a branch without exact inputs")
    if not run.points:
        count = len(run.known)
        run.points = tuple(_Run(corner, (corner, corner, corner), count) for corner in run.corners)
        for point in run.points:
            point.points = (point, point, point)
    return run.points


def _sign(left: Step, right: Step, run: _Run) -> int:
    """Sign of left − right inside the interval; it may be zero at an end."""
    at_low, inside, at_high = (left(point) - right(point) for point in _points(run))
    sign = int(inside > 0) - int(inside < 0)
    if at_low * sign < 0 or at_high * sign < 0 or (sign == 0 and (at_low != 0 or at_high != 0)):
        raise UndecidedError("a branch changes inside the interval")
    return sign


HOLDS: dict[Any, Callable[[int], bool]] = {
    sp.StrictLessThan: lambda sign: sign < 0,
    sp.LessThan: lambda sign: sign <= 0,
    sp.StrictGreaterThan: lambda sign: sign > 0,
    sp.GreaterThan: lambda sign: sign >= 0,
}


def _rational(node: sp.Rational) -> Any:
    from flint import fmpq

    return fmpq(int(node.p), int(node.q))


def _pi() -> Any:
    from flint import arb

    return arb.pi()


def _ball(value: Value) -> Value:
    """A ball or series; rational numbers are exact otherwise."""
    from flint import arb, fmpq

    return arb(value) if isinstance(value, fmpq) else value


def _operation(node: sp.Basic) -> Callable[..., Value]:
    """What a function or power does with the values of its arguments."""
    match node:
        case sp.Pow():
            if node.exp.is_Integer:
                whole = int(node.exp)
                return lambda base, _exponent: base**whole
            if node.exp == sp.S.Half:
                return lambda base, _exponent: _ball(base).sqrt()
            return lambda base, exponent: _ball(base) ** _ball(exponent)
        case sp.exp():
            return lambda argument: _ball(argument).exp()
        case sp.log():
            return lambda argument: _ball(argument).log()
        case sp.erfc():
            return lambda argument: _ball(argument).erfc()
        case sp.gamma():
            return lambda argument: _ball(argument).gamma()
        case sp.loggamma():
            return lambda argument: _ball(argument).lgamma()
        case RegularizedUpperGamma():
            return lambda shape, point: _upper_gamma(_ball(shape), _ball(point))
    raise TypeError(f"no ball arithmetic for {node.func}")


def _upper_gamma(shape: Value, point: Value) -> Value:
    """Q(a, z): falling in z, so that its values at both ends of a ball enclose it; its derivative is elementary."""
    from flint import arb, arb_series

    is_series = isinstance(point, arb_series)
    constant = point[0] if is_series else point
    ends = [arb(end).gamma_upper(shape, 1) for end in (constant.lower(), constant.upper())]
    value = ends[0].union(ends[1])
    if not is_series:
        return value
    slope = -((point.log() * (shape - 1) - point - shape.lgamma()).exp()) * point.derivative()
    return slope.integral() + value
