"""Exact rational functions outside SymPy: quotients of python-flint's multivariate polynomials over the rationals.

An expression is read as a rational function of its atoms — symbols, indexed symbols, moments, folded sums — and an
identity is decided by the numerator of its difference.  Denominators are kept as factors and never multiplied out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import sympy as sp
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

Factors = tuple[tuple[Any, int], ...]


class TooLargeError(ArithmeticError):
    """A polynomial would grow beyond the number of terms allowed."""


def atoms_of(*expressions: sp.Expr) -> tuple[sp.Expr, ...]:
    """What the expressions are rational functions of, in an order that does not depend on hashes."""
    found: set[sp.Expr] = set()

    def visit(node: sp.Expr) -> None:
        if node.is_Add or node.is_Mul:
            for argument in node.args:
                visit(argument)
        elif node.is_Pow and node.exp.is_Integer:
            visit(node.base)
        elif not node.is_Rational:
            found.add(node)

    for expression in expressions:
        visit(sp.sympify(expression, strict=True))
    return tuple(sorted(found, key=sp.default_sort_key))


@dataclass(frozen=True)
class RationalFunction:
    """A numerator over a product of powers of polynomials, each with leading coefficient one."""

    numerator: Any
    denominator: Factors
    limit: int  # Largest number of terms, estimated before a product is formed

    def __add__(self, other: RationalFunction) -> RationalFunction:
        common = list(self.denominator)
        for factor, power in other.denominator:
            for position, (known, known_power) in enumerate(common):
                if known == factor:
                    common[position] = (known, max(power, known_power))
                    break
            else:
                common.append((factor, power))
        numerator = self._over(common) + other._over(common)
        return RationalFunction(numerator, tuple(common) if numerator != 0 else (), self.limit)

    def __mul__(self, other: RationalFunction) -> RationalFunction:
        powers = list(self.denominator)
        for factor, power in other.denominator:
            for position, (known, known_power) in enumerate(powers):
                if known == factor:
                    powers[position] = (known, power + known_power)
                    break
            else:
                powers.append((factor, power))
        return RationalFunction(self._product(self.numerator, other.numerator), tuple(powers), self.limit)

    def power(self, exponent: int) -> RationalFunction:
        """The function to a whole power; ZeroDivisionError for zero to a negative one."""
        if exponent < 0:
            return self._inverse().power(-exponent)
        return RationalFunction(
            self._power(self.numerator, exponent),
            tuple((factor, power * exponent) for factor, power in self.denominator) if exponent else (),
            self.limit,
        )

    @property
    def is_zero(self) -> bool:
        """Whether this is the zero function."""
        return bool(self.numerator == 0)

    def _inverse(self) -> RationalFunction:
        if self.is_zero:
            raise ZeroDivisionError("division by an expression that is identically zero")
        numerator = self.numerator.context().constant(1)
        for factor, power in self.denominator:
            numerator = self._product(numerator, self._power(factor, power))
        if self.numerator.is_constant():
            return RationalFunction(numerator / self.numerator.leading_coefficient(), (), self.limit)
        leading = self.numerator.leading_coefficient()
        return RationalFunction(numerator / leading, ((self.numerator / leading, 1),), self.limit)

    def _over(self, common: Iterable[tuple[Any, int]]) -> Any:
        """The numerator over a denominator that contains this one's."""
        numerator = self.numerator
        for factor, power in common:
            own = next((known_power for known, known_power in self.denominator if known == factor), 0)
            numerator = self._product(numerator, self._power(factor, power - own))
        return numerator

    def _product(self, left: Any, right: Any) -> Any:
        if len(left) * len(right) > self.limit:
            raise TooLargeError(f"a product of {len(left)} by {len(right)} terms")
        return left * right

    def _power(self, base: Any, exponent: int) -> Any:
        if exponent > 1 and len(base) > 1 and comb(len(base) + exponent - 1, exponent) > self.limit:
            raise TooLargeError(f"{len(base)} terms to the power {exponent}")
        return base**exponent


@dataclass(frozen=True)
class Atoms:
    """The generators of a field of rational functions, one for each atom of the expressions at hand."""

    generators: Mapping[sp.Expr, fmpq_mpoly]
    context: fmpq_mpoly_ctx
    limit: int

    @classmethod
    def of(cls, *expressions: sp.Expr, limit: int = 10**8) -> Atoms:
        """The field all the expressions lie in; ``limit`` bounds the work of one product, in terms."""
        atoms = atoms_of(*expressions)
        context = fmpq_mpoly_ctx.get([f"x{number}" for number in range(max(len(atoms), 1))], Ordering.degrevlex)
        return cls(dict(zip(atoms, context.gens(), strict=False)), context, limit)

    def read(self, expression: sp.Expr) -> RationalFunction:
        """The expression as a `RationalFunction`.

        Raises
        ------
        TooLargeError
            If a polynomial would exceed the limit.
        ZeroDivisionError
            If it divides by an expression that is identically zero.
        """
        if expression in self.generators:
            return self._polynomial(self.generators[expression])
        if expression.is_Rational:
            return self._polynomial(self.context.constant(fmpq(int(expression.p), int(expression.q))))
        if expression.is_Pow:
            return self.read(expression.base).power(int(expression.exp))
        result = self._polynomial(self.context.constant(1 if expression.is_Mul else 0))
        for argument in expression.args:
            part = self.read(argument)
            result = result * part if expression.is_Mul else result + part
        return result

    def _polynomial(self, polynomial: Any) -> RationalFunction:
        return RationalFunction(polynomial, (), self.limit)


def vanishes(expression: sp.Expr) -> bool:
    """Whether an expression is zero as a rational function of its atoms, decided by python-flint.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> vanishes(1 / (x - y) - (x + y) / (x**2 - y**2)), vanishes(1 / x - 1 / y)
    (True, False)
    """
    return Atoms.of(expression).read(sp.sympify(expression, strict=True)).is_zero
