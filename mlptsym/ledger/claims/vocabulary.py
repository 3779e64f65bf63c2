"""What a claim may speak of: the package's quantities by name, and expectations of pieces of S and L.

Two levels (boundary θ, linear memory) and general levels (boundaries t[1], t[2], …, costs c[1], c[2], …) are both
there; a claim uses the package's own formulas for whatever it names.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

import sympy as sp

from mlptsym.ledger.claims.grammar import Call, ClaimError, Literal, Name, Node, Power, Product, Sum
from mlptsym.symbolic import algorithm, response, waiting
from mlptsym.symbolic.moments import Density, Indicator, UpperMoment, expectation, mean, tail
from mlptsym.symbolic.service import service_time
from mlptsym.symbolic.symbols import (
    arrival_rate,
    attained,
    preemption_cost,
    quantum,
    restore_cost,
    service,
    size,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.two_levels import two_level_response_time, two_level_terms

__all__ = ["MOST_LEVELS", "Reader", "described"]

MOST_LEVELS = 4
MOST_TERMS = 300

lam, gamma, theta = arrival_rate, preemption_cost, quantum
slope, hazard = sp.Symbol("dq", positive=True), sp.Symbol("h_L", nonnegative=True)

SYMBOLS: dict[str, tuple[sp.Expr, str]] = {
    "lambda": (lam, "arrival rate λ"),
    "gamma": (gamma, "restore cost per unit of memory γ"),
    "beta": (slowdown_factor, "service rate beyond ℓ_C"),
    "theta": (theta, "the quantum of two levels, q(x)"),
    "ell_C": (slowdown_threshold, "slowdown threshold ℓ_C"),
    "dq": (slope, "q′(x)"),
    "h_L": (hazard, "hazard of L at x"),
}
ALIASES = {
    "λ": "lambda",
    "γ": "gamma",
    "β": "beta",
    "θ": "theta",
    "ℓ_C": "ell_C",
    "l_C": "ell_C",
    "q": "theta",
    "rho0": "rho_0",
    "ρ_0": "rho_0",
    "ρ_1": "rho_1",
    "ρ_2": "rho_2",
    "ρ": "rho",
    "d1": "d_1",
    "d2": "d_2",
    "rho1": "rho_1",
    "rho2": "rho_2",
}


def _at_quantum(expression: sp.Expr) -> sp.Expr:
    """A quantity of the package's two levels at θ, for linear memory."""
    return expression.subs({restore_cost(1): gamma * theta, attained(1): theta})


def _part(name: str) -> sp.Expr:
    """A, B or T′ of the package, with θ for q(x) and linear memory."""
    terms = two_level_terms()
    places = {
        terms.restore: gamma * theta,
        terms.restore_slope: gamma,
        terms.service_slope: slope,
        terms.hazard: hazard,
        terms.tail: tail(theta),
        terms.first: UpperMoment(1, theta),
        terms.second: UpperMoment(2, theta),
        terms.service: theta,
    }
    return getattr(terms, name).xreplace(places)


QUANTITIES: dict[str, tuple[Callable[[], sp.Expr], str]] = {
    "rho_0": (lambda: lam * mean(), "base load λE[S]"),
    "rho_1": (lambda: lam * _at_quantum(waiting.merged_work(1, 2)), "two levels: λE[S1]"),
    "rho_2": (
        lambda: _at_quantum(algorithm.effective_load(2) - lam * waiting.merged_work(1, 2)),
        "two levels: λF(theta)E[S2]",
    ),
    "rho": (lambda: _at_quantum(algorithm.effective_load(2)), "two levels: effective load"),
    "d_1": (lambda: _at_quantum(waiting.waiting_time(1, 2)), "two levels: wait of jobs that complete in level 1"),
    "d_2": (lambda: _at_quantum(waiting.waiting_time(2, 2)), "two levels: wait of the others"),
    "T": (two_level_response_time, "two levels: E[T(theta)]"),
    "A": (lambda: _part("A"), "two levels: A(x) of eq. (30)"),
    "B": (lambda: _part("B"), "two levels: B(x) of eq. (30)"),
    "T'": (lambda: _part("derivative"), "two levels: dT/dx"),
}


@dataclass(frozen=True)
class LevelFunction:
    """A quantity of level j of k; ``lowest`` and ``below`` bound j by ``lowest`` ≤ j ≤ k − ``below``."""

    formula: Callable[..., sp.Expr]
    meaning: str
    arity: int = 2
    lowest: int = 1
    below: int = 0


def _piece(j: int, k: int, power: int = 1) -> sp.Expr:
    return expectation(algorithm.piece(j, last=j == k) ** power, algorithm.boundaries(1, k - 1))


LEVEL_FUNCTIONS: dict[str, LevelFunction] = {
    "p": LevelFunction(lambda j, k: algorithm.completion_probability(j, last=j == k), "p_j, completes in level j"),
    "b": LevelFunction(waiting.merged_work, "b_J = E[X_j], work through level j"),
    "v": LevelFunction(waiting.remaining_work, "v_i, mean effective service still to come at level i", lowest=2),
    "O": LevelFunction(waiting.overtaken_residual, "O_J of eq. (16)"),
    "dJ": LevelFunction(waiting.merged_wait_by_correction, "d_J of eq. (15), by the correction O_J"),
    "W": LevelFunction(waiting.merged_wait_by_pieces, "d_J by the pieces"),
    "d": LevelFunction(waiting.waiting_time, "d_j of eq. (23)"),
    "Y": LevelFunction(_piece, "E[Y_j], piece in level j"),
    "Y2": LevelFunction(lambda j, k: _piece(j, k, 2), "E[Y_j^2]"),
    "a": LevelFunction(lambda j: algorithm.service_before(j + 1), "a_j, time given before level j + 1", arity=1),
    "ES": LevelFunction(
        lambda k: expectation(algorithm.effective_size(k), algorithm.boundaries(1, k - 1)), "E[S_k^eff]", arity=1
    ),
    "ES2": LevelFunction(
        lambda k: expectation(algorithm.effective_size(k) ** 2, algorithm.boundaries(1, k - 1)),
        "E[(S_k^eff)^2]",
        arity=1,
    ),
    "rho": LevelFunction(algorithm.effective_load, "ρ_k^eff", arity=1),
    "T": LevelFunction(response.mean_response_time, "E[T] with k levels", arity=1),
}

POINT_FUNCTIONS = {
    "F": "F(t) = P(S > t)",
    "f": "f(t), density of S",
    "M": "M(n, t) = E[S^n ; S > t], n = 0, 1, 2, 3",
    "F_L": "F_L(ell_C), P(L > ell_C)",
    "M_L": "M_L(n, ell_C) = E[L^n ; L > ell_C]",
}
INSIDE = "E[...] of S, S1 = min(S, theta), S2 = S - (1 - gamma)*theta given S > theta, L, q(L), min, max, above(t) = 1{S > t}"


def described() -> list[tuple[str, str]]:
    """Every name a claim may use, and its meaning."""
    rows = [(name, meaning) for name, (_, meaning) in SYMBOLS.items()]
    rows += [(f"t[r], c[r], r = 1 … {MOST_LEVELS - 1}", "boundary and restore cost of level r, free symbols")]
    rows += [(name, meaning) for name, (_, meaning) in QUANTITIES.items()]
    for name, function in LEVEL_FUNCTIONS.items():
        arguments = "(j, k)" if function.arity == 2 else "(j)" if name == "a" else "(k)"
        rows.append((name + arguments, function.meaning))
    rows += list(POINT_FUNCTIONS.items())
    rows.append(("E[...]", INSIDE.partition(" of ")[2]))
    return rows


@dataclass(frozen=True)
class _Inside:
    """What an expectation is taken of: which variable, and the breakpoints met so far."""

    variable: sp.Symbol
    conditioned: bool


class Reader:
    """From the tree of a claim to an expression in the package's symbols.

    Parameters
    ----------
    text : str
        The claim, for messages.
    """

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
        name = ALIASES.get(node.name, node.name)
        if name in SYMBOLS:
            return SYMBOLS[name][0]
        if name in QUANTITIES:
            return self._quantity(name)
        if name in {"S", "L", "S1", "S2"}:
            self.refuse(node, f"{name} is random: write E[...] of it")
        if name in LEVEL_FUNCTIONS or name in POINT_FUNCTIONS or name in {"t", "c", "E"}:
            self.refuse(node, f"{node.name} needs arguments")
        self._unknown(node)

    def _unknown(self, node: Name | Call) -> NoReturn:
        known = [*SYMBOLS, *ALIASES, *QUANTITIES, *LEVEL_FUNCTIONS, *POINT_FUNCTIONS, "E", "t", "c", "min", "above"]
        close = difflib.get_close_matches(node.name, known, n=3)
        hint = f"; close: {', '.join(close)}" if close else ""
        self.refuse(node, f"{node.name} is no known name{hint}")

    def _call(self, node: Call) -> sp.Expr:
        if node.name == "E" and node.bracket == "[]":
            return self._expectation(node)
        if node.name in {"t", "c"}:
            index = self._index(node.arguments, node, 1, MOST_LEVELS - 1)
            return attained(index) if node.name == "t" else restore_cost(index)
        if node.name in POINT_FUNCTIONS:
            return self._of_point(node)
        if node.name in LEVEL_FUNCTIONS:
            return self._of_levels(node)
        if node.name in {"min", "max", "above", "q"}:
            self.refuse(node, f"{node.name} has a meaning inside E[...] only")
        if ALIASES.get(node.name, node.name) in SYMBOLS or node.name in QUANTITIES:
            self.refuse(node, f"{node.name} takes no arguments")
        self._unknown(node)

    def _index(self, arguments: tuple[Node, ...], node: Call, low: int, high: int, position: int = 0) -> int:
        if len(arguments) <= position:
            self.refuse(node, f"{node.name} needs more arguments")
        argument = arguments[position]
        if not isinstance(argument, Literal) or argument.value.denominator != 1:
            self.refuse(argument, "expected a whole number")
        value = int(argument.value)
        if not low <= value <= high:
            self.refuse(argument, f"{node.name} has indices from {low} to {high} here")
        return value

    def _of_levels(self, node: Call) -> sp.Expr:
        function = LEVEL_FUNCTIONS[node.name]
        if len(node.arguments) != function.arity:
            self.refuse(node, f"{node.name} takes {function.arity} argument{'s' if function.arity > 1 else ''}")
        if function.arity == 1:
            high = MOST_LEVELS - 1 if node.name == "a" else MOST_LEVELS
            return self._level_function(node.name, self._index(node.arguments, node, 1, high))
        k = self._index(node.arguments, node, function.lowest, MOST_LEVELS, 1)
        return self._level_function(node.name, self._index(node.arguments, node, function.lowest, k), k)

    def _of_point(self, node: Call) -> sp.Expr:
        moment, of_size = node.name.startswith("M"), node.name.endswith("_L")
        if len(node.arguments) != (2 if moment else 1):
            self.refuse(node, f"{POINT_FUNCTIONS[node.name]}")
        order = self._index(node.arguments, node, 0, 3) if moment else 0
        place = self._point(node.arguments[-1], size if of_size else service)
        variable = size if of_size else service
        return Density(place) if node.name == "f" else UpperMoment(order, place, variable)

    def _point(self, node: Node, variable: sp.Symbol) -> sp.Expr:
        """A breakpoint: theta or t[r] for S, ell_C for L, or 0."""
        if isinstance(node, Literal) and node.value == 0:
            return sp.S.Zero
        if isinstance(node, (Name, Call)):
            value = self.read(node)
            allowed = [slowdown_threshold] if variable == size else [theta, *map(attained, range(1, MOST_LEVELS))]
            if value in allowed:
                return value
        self.refuse(node, "expected ell_C or 0" if variable == size else "expected theta, t[r] or 0")

    def _expectation(self, node: Call) -> sp.Expr:
        """E[...] by the package's operator; given S > θ if S2 occurs."""
        (argument,) = node.arguments
        names = set(_names(argument))
        if {"L", "q"} & names and {"S", "S1", "S2"} & names:
            self.refuse(node, "S and L cannot stand in one expectation: S is q(L)")
        inside = _Inside(size if {"L", "q"} & names else service, "S2" in names)
        self._spent += _terms(argument)
        if self._spent > MOST_TERMS:
            self.refuse(node, f"more than {MOST_TERMS} terms inside expectations")
        expression = self._random(argument, inside)
        points = self._breakpoints(node, expression, inside)
        if inside.conditioned:
            return expectation(expression * Indicator(service, theta), points) / tail(theta)
        return expectation(expression, points, inside.variable)

    def _random(self, node: Node, inside: _Inside) -> sp.Expr:
        """An expression in a random variable."""
        match node:
            case Name(name="S" | "L"):
                return inside.variable
            case Name(name="S1"):
                return sp.Min(service, theta)
            case Name(name="S2"):
                return service - (1 - gamma) * theta
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
            case Name(name=name) if ALIASES.get(name, name) in SYMBOLS:
                return self.read(node)
            case Call(name="t" | "c"):
                return self.read(node)
            case Name() | Call():
                self.refuse(node, f"{node.name} cannot stand inside E[...]")
            case Product(factors=factors):
                for sign, _, factor in factors:
                    if sign == "/" and set(_names(factor)) & {"S", "S1", "S2", "L", "q", "min", "max", "above"}:
                        self.refuse(factor, "no division by a random quantity")
            case Power(base=base, exponent=exponent) if exponent < 0:
                if set(_names(base)) & {"S", "S1", "S2", "L", "q", "min", "max", "above"}:
                    self.refuse(node, "no division by a random quantity")
        return self._combined(node, lambda part: self._random(part, inside))

    def _breakpoints(self, node: Call, expression: sp.Expr, inside: _Inside) -> list[sp.Expr]:
        """The points at which the expression changes, in order; θ and t[r] have none."""
        if inside.variable == size:
            return [slowdown_threshold]
        ordered = [attained(r) for r in range(1, MOST_LEVELS)]
        used = {point for piece in expression.atoms(sp.Min, sp.Max, Indicator) for point in piece.args}
        chosen = [point for point in ordered if point in used]
        if theta in used or inside.conditioned:
            if chosen:
                self.refuse(node, "theta and t[r] cannot stand in one expectation: their order is not known")
            return [theta]
        return chosen


def _names(node: Node) -> list[str]:
    match node:
        case Name(name=name):
            return [name]
        case Call(name=name, arguments=arguments):
            return [name, *(inner for argument in arguments for inner in _names(argument))]
        case Sum(terms=terms):
            return [name for _, term in terms for name in _names(term)]
        case Product(factors=factors):
            return [name for *_, factor in factors for name in _names(factor)]
        case Power(base=base):
            return _names(base)
        case _:
            return []


def _terms(node: Node) -> int:
    """How many terms an expression has when it is multiplied out, at most."""
    from math import comb

    match node:
        case Sum(terms=terms):
            return sum(_terms(term) for _, term in terms)
        case Product(factors=factors):
            result = 1
            for *_, factor in factors:
                result *= _terms(factor)
            return min(result, MOST_TERMS + 1)
        case Power(base=base, exponent=exponent):
            return min(comb(_terms(base) + abs(exponent) - 1, abs(exponent)), MOST_TERMS + 1) if exponent else 1
        case Name(name="S2") | Call(name="q"):
            return 3
        case _:
            return 1
