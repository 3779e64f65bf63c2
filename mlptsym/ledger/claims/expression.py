"""From the tree of a claim to an expression in the package's symbols."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from math import comb, prod
from typing import NoReturn

import sympy as sp

from mlptsym.ledger.claims.tree import LIMITS, Call, ClaimError, Literal, Name, Node, Power, Product, Sum, parts
from mlptsym.ledger.claims.vocabulary import (
    EVERY_NAME,
    INSIDE,
    LEVEL_FUNCTIONS,
    POINT_FUNCTIONS,
    QUANTITIES,
    SYMBOLS,
    canonical,
)
from mlptsym.symbolic.algebra.symbols import (
    attained,
    preemption_cost,
    quantum,
    restore_cost,
    service,
    size,
    slowdown_threshold,
)
from mlptsym.symbolic.model.moments import Density, Indicator, UpperMoment, expectation, tail
from mlptsym.symbolic.model.service import service_time


@dataclass(frozen=True)
class _Inside:
    """What an expectation is taken of: S or L, and whether given S > θ."""

    variable: sp.Symbol
    conditioned: bool


class Reader:
    """From the tree of a claim to an expression in the package's symbols; the text of the claim is for messages."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._spent = 0
        self._quantity = cache(lambda name: QUANTITIES[name][0]())
        self._level_function = cache(lambda name, *indices: LEVEL_FUNCTIONS[name].formula(*indices))

    def refuse(self, node: Node, reason: str) -> NoReturn:
        """Raise a ClaimError at a node."""
        raise ClaimError(self.text, node.position, reason)

    def read(self, node: Node) -> sp.Expr:
        """The expression of a tree.

        Raises
        ------
        ClaimError
            If a name is unknown or out of place, or an index out of range.
        """
        match node:
            case Name():
                return self._name(node)
            case Call():
                return self._call(node)
            case _:
                return self._combined(node, self.read)

    def _combined(self, node: Node, read: Callable[[Node], sp.Expr]) -> sp.Expr:
        """Numbers, sums, products and powers, whose parts ``read`` reads."""
        match node:
            case Literal(value=value):
                return sp.Rational(value.numerator, value.denominator)
            case Sum(terms=terms):
                return sp.Add(*(read(term) if sign == "+" else -read(term) for sign, term in terms))
            case Product(factors=factors):
                result = sp.S.One
                for sign, position, factor in factors:
                    value = read(factor)
                    if sign == "/" and value.is_zero:
                        raise ClaimError(self.text, position, "division by zero")
                    result *= value if sign == "*" else 1 / value
                return result
            case Power(base=base, exponent=exponent):
                value = read(base)
                if value.is_zero and exponent < 0:
                    self.refuse(node, "division by zero")
                return value**exponent
        self.refuse(node, "not understood here")

    def _name(self, node: Name) -> sp.Expr:
        name = canonical(node.name)
        if name in SYMBOLS:
            return SYMBOLS[name][0]
        if name in QUANTITIES:
            return self._quantity(name)
        if name in {"S", "L", "S1", "S2"}:
            self.refuse(node, f"{name} is random: write E[...] of it")
        if name in EVERY_NAME:
            self.refuse(node, f"{node.name} needs arguments")
        self._unknown(node)

    def _unknown(self, node: Name | Call) -> NoReturn:
        close = difflib.get_close_matches(canonical(node.name), EVERY_NAME, n=3)
        hint = f"; close: {', '.join(close)}" if close else ""
        self.refuse(node, f"{node.name} is no known name{hint}")

    def _call(self, node: Call) -> sp.Expr:
        if node.name == "E" and node.bracket == "[]":
            return self._expectation(node)
        if node.name in {"t", "c"}:
            index = self._index(node, 0, 1, LIMITS.levels - 1)
            return attained(index) if node.name == "t" else restore_cost(index)
        if node.name in POINT_FUNCTIONS:
            return self._of_point(node)
        if node.name in LEVEL_FUNCTIONS:
            return self._of_levels(node)
        if node.name in INSIDE:
            self.refuse(node, f"{node.name} has a meaning inside E[...] only")
        if canonical(node.name) in (*SYMBOLS, *QUANTITIES):
            self.refuse(node, f"{node.name} takes no arguments")
        self._unknown(node)

    def _index(self, node: Call, place: int, low: int, high: int) -> int:
        argument = node.arguments[place]
        if not isinstance(argument, Literal) or argument.value.denominator != 1:
            self.refuse(argument, "expected a whole number")
        value = int(argument.value)
        if not low <= value <= high:
            self.refuse(argument, f"{node.name} has indices from {low} to {high} here")
        return value

    def _of_levels(self, node: Call) -> sp.Expr:
        function = LEVEL_FUNCTIONS[node.name]
        arity = len(function.arguments)
        if len(node.arguments) != arity:
            self.refuse(node, f"{node.name} takes {arity} argument{'s' if arity > 1 else ''}")
        most = LIMITS.levels - 1 if function.arguments == "j" else LIMITS.levels
        last = self._index(node, arity - 1, function.lowest, most)
        indices = (last,) if arity == 1 else (self._index(node, 0, function.lowest, last), last)
        return self._level_function(node.name, *indices)

    def _of_point(self, node: Call) -> sp.Expr:
        moment = node.name.startswith("M")
        variable = size if node.name.endswith("_L") else service
        if len(node.arguments) != (2 if moment else 1):
            self.refuse(node, POINT_FUNCTIONS[node.name])
        order = self._index(node, 0, 0, 3) if moment else 0
        place = self._point(node.arguments[-1], variable)
        return Density(place) if node.name == "f" else UpperMoment(order, place, variable)

    def _point(self, node: Node, variable: sp.Symbol) -> sp.Expr:
        """A breakpoint: theta or t[r] for S, ell_C for L, or 0."""
        if isinstance(node, Literal) and node.value == 0:
            return sp.S.Zero
        if isinstance(node, (Name, Call)):
            value = self.read(node)
            allowed = [slowdown_threshold] if variable == size else [quantum, *map(attained, range(1, LIMITS.levels))]
            if value in allowed:
                return value
        self.refuse(node, "expected ell_C or 0" if variable == size else "expected theta, t[r] or 0")

    def _expectation(self, node: Call) -> sp.Expr:
        """E[...] by the package's operator; given S > θ if S2 occurs."""
        (argument,) = node.arguments
        random = set(_random_names(argument))
        of_size = bool(random & {"L", "q"})
        if of_size and random & {"S", "S1", "S2"}:
            self.refuse(node, "S and L cannot stand in one expectation: S is q(L)")
        inside = _Inside(size if of_size else service, "S2" in random)
        self._spent += _terms(argument)
        if self._spent > LIMITS.terms:
            self.refuse(node, f"more than {LIMITS.terms} terms inside expectations")
        expression = self._random(argument, inside)
        points = self._breakpoints(node, expression, inside)
        if inside.conditioned:
            return expectation(expression * Indicator(service, quantum), points) / tail(quantum)
        return expectation(expression, points, inside.variable)

    def _random(self, node: Node, inside: _Inside) -> sp.Expr:
        """An expression in a random variable."""
        match node:
            case Name(name="S" | "L"):
                return inside.variable
            case Name(name="S1"):
                return sp.Min(service, quantum)
            case Name(name="S2"):
                return service - (1 - preemption_cost) * quantum
            case Call(name="q", arguments=(Name(name="L"),)):
                return service_time()
            case Call(name="min" | "max" as kind, arguments=(Name(name="S" | "L"), place)):
                function = sp.Min if kind == "min" else sp.Max
                return function(inside.variable, self._point(place, inside.variable))
            case Call(name="above", arguments=(place,)):
                return Indicator(inside.variable, self._point(place, inside.variable))
            case Call(name="min" | "max" | "above" | "q" as kind):
                wanted = {"above": "above(t)", "q": "q(L)"}.get(kind, f"{kind}(S, t)")
                self.refuse(node, f"expected {wanted}")
            case Name(name=name) if canonical(name) in SYMBOLS:
                return self.read(node)
            case Call(name="t" | "c"):
                return self.read(node)
            case Name() | Call():
                self.refuse(node, f"{node.name} cannot stand inside E[...]")
            case Product(factors=factors):
                for sign, _, factor in factors:
                    if sign == "/" and any(_random_names(factor)):
                        self.refuse(factor, "no division by a random quantity")
            case Power(base=base, exponent=exponent) if exponent < 0 and any(_random_names(base)):
                self.refuse(node, "no division by a random quantity")
        return self._combined(node, lambda part: self._random(part, inside))

    def _breakpoints(self, node: Call, expression: sp.Expr, inside: _Inside) -> list[sp.Expr]:
        """The points at which the expression changes, in order; θ and t[r] have none."""
        if inside.variable == size:
            return [slowdown_threshold]
        used = {point for piece in expression.atoms(sp.Min, sp.Max, Indicator) for point in piece.args}
        chosen = [point for point in map(attained, range(1, LIMITS.levels)) if point in used]
        if quantum in used or inside.conditioned:
            if chosen:
                self.refuse(node, "theta and t[r] cannot stand in one expectation: their order is not known")
            return [quantum]
        return chosen


def _random_names(node: Node) -> Iterator[str]:
    """The names of random quantities in a tree; q alone is θ, and not random."""
    match node:
        case Name(name="S" | "S1" | "S2" | "L") | Call(name="q" | "min" | "max" | "above"):
            yield node.name
    for part in parts(node):
        yield from _random_names(part)


def _terms(node: Node) -> int:
    """How many terms an expression has when it is multiplied out, at most."""
    match node:
        case Sum():
            return sum(map(_terms, parts(node)))
        case Product():
            return min(prod(map(_terms, parts(node))), LIMITS.terms + 1)
        case Power(base=base, exponent=exponent):
            return min(comb(_terms(base) + abs(exponent) - 1, abs(exponent)), LIMITS.terms + 1) if exponent else 1
        case Name(name="S2") | Call(name="q"):
            return 3
        case _:
            return 1
