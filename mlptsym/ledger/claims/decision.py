"""A user's own formula: proved, or refuted at an actual queue."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from mlptsym.ledger.claims.grammar import ClaimError, parse
from mlptsym.ledger.claims.vocabulary import MOST_LEVELS, Reader, hazard, slope
from mlptsym.ledger.exact.algebra import Atoms, TooLargeError
from mlptsym.symbolic.moments import Density, UpperMoment
from mlptsym.symbolic.symbols import (
    arrival_rate,
    attained,
    preemption_cost,
    quantum,
    restore_cost,
    size,
    slowdown_factor,
    slowdown_threshold,
)

__all__ = ["ClaimResult", "Counterexample", "decide"]

LARGEST_PRODUCT = 3 * 10**5
QUEUES = 12
DIGITS = 12


@dataclass(frozen=True)
class Counterexample:
    """A queue at which the sides of a claim differ.

    Attributes
    ----------
    queue : dict of str to str
        Its parameters.
    left, right : Fraction
        The two sides there, exactly.
    """

    queue: dict[str, str]
    left: Fraction
    right: Fraction

    @property
    def decimals(self) -> tuple[str, str]:
        """Both sides in twelve significant digits, or as many more as tell them apart.

        Examples
        --------
        >>> Counterexample({}, Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**14)).decimals
        ('0.33333333333333', '0.33333333333334')
        """
        apart = abs(self.left - self.right) / max(abs(self.left), abs(self.right))
        digits = max(DIGITS, math.floor(math.log10(apart.denominator) - math.log10(apart.numerator)))
        while (shown := (_decimal(self.left, digits), _decimal(self.right, digits)))[0] == shown[1]:
            digits += 1
        return shown


def _decimal(value: Fraction, digits: int) -> str:
    with decimal.localcontext(prec=digits):
        return f"{decimal.Decimal(value.numerator) / value.denominator:g}"


@dataclass(frozen=True)
class ClaimResult:
    """What became of a claim.

    Attributes
    ----------
    proved : bool
    left, right : Expr
        Both sides in the package's symbols.
    counterexample : Counterexample or None
        Where the claim is refuted; None for the rare one that is no identity but holds at every queue tried.
    """

    proved: bool
    left: sp.Expr
    right: sp.Expr
    counterexample: Counterexample | None


def decide(text: str) -> ClaimResult:
    """Prove or refute ``EXPR == EXPR``.

    First both sides are computed exactly at some queues.  Where they agree, the difference is reduced as a rational
    function of free symbols by python-flint: it is zero or it is not.

    Raises
    ------
    ClaimError
        If the claim is outside the grammar or the vocabulary, or too large to decide in bounded time.

    Examples
    --------
    >>> decide("T == E[S] + gamma*theta*F(theta) + d_1 + F(theta)*rho/(1-rho)*(theta + d_1)").proved
    True
    >>> decide("rho_0 == lambda*E[S^2]").counterexample is None
    False
    """
    left, right = (Reader(text).read(side) for side in parse(text))
    try:
        for queue in queues():
            values = [value for side in (left, right) if (value := queue.value(side)) is not None]
            if len(values) == 2 and values[0] != values[1]:
                max(map(float, values))  # refused below, if too large to be shown
                return ClaimResult(False, left, right, Counterexample(queue.described, *values))
        if left == right:
            return ClaimResult(True, left, right, None)
        atoms = Atoms.of(left, right, limit=LARGEST_PRODUCT)
        minus = atoms.read(sp.S.NegativeOne)
        return ClaimResult((atoms.read(left) + minus * atoms.read(right)).is_zero, left, right, None)
    except TooLargeError as error:
        raise ClaimError(text, 0, f"too large to decide ({error})") from None
    except (ZeroDivisionError, OverflowError):
        raise ClaimError(text, 0, "a side divides by zero, or its numbers are too large") from None


@dataclass(frozen=True)
class PiecewiseLaw:
    """A law with piecewise constant density, so that all moments are rational.

    Attributes
    ----------
    pieces : tuple of (Fraction, Fraction, Fraction)
        Lower end, upper end, density.
    """

    pieces: tuple[tuple[Fraction, Fraction, Fraction], ...]

    def density(self, at: Fraction) -> Fraction:
        """Density, from the right at a jump."""
        return next((density for low, high, density in self.pieces if low <= at < high), Fraction(0))

    def moment(self, order: int, above: Fraction) -> Fraction:
        """E[X^order ; X > above]."""
        total = Fraction(0)
        for low, high, density in self.pieces:
            start = max(low, above)
            if start < high:
                total += density * (high ** (order + 1) - start ** (order + 1)) / (order + 1)
        return total

    def slowed(self, threshold: Fraction, factor: Fraction) -> PiecewiseLaw:
        """The law of q(X): what lies beyond the threshold is stretched by 1/factor."""
        found = []
        for low, high, density in self.pieces:
            middle = min(max(low, threshold), high)
            if low < middle:
                found.append((low, middle, density))
            if middle < high:
                start, stop = (threshold + (end - threshold) / factor for end in (middle, high))
                found.append((start, stop, density * factor))
        return PiecewiseLaw(tuple(found))


@dataclass(frozen=True)
class ExactQueue:
    """A queue at which every atom of a claim is a rational number.

    Attributes
    ----------
    size, service : PiecewiseLaw
        Laws of L and of S = q(L).
    work : Fraction
        x, with θ = q(x).
    symbols : dict
        Values of the symbols, boundaries and costs.
    """

    size: PiecewiseLaw
    service: PiecewiseLaw
    symbols: dict[sp.Expr, Fraction]

    def value(self, expression: sp.Expr) -> Fraction | None:
        """The exact value of an expression; None where it divides by zero."""
        numbers = {atom: _rational(number) for atom, number in self.symbols.items()}
        for atom in expression.atoms(UpperMoment):
            order, at, variable = atom.args
            law = self.size if variable == size else self.service
            numbers[atom] = _rational(law.moment(int(order), self.symbols.get(at, Fraction(0))))
        for atom in expression.atoms(Density):
            numbers[atom] = _rational(self.service.density(self.symbols[atom.args[0]]))
        found = expression.xreplace(numbers)
        return Fraction(int(found.p), int(found.q)) if found.is_Rational else None

    @property
    def described(self) -> dict[str, str]:
        """Its parameters, for people."""
        low, high = self.size.pieces
        law = f"uniform on (0, {low[1]}) with probability {low[2] * low[1]}, else on ({high[0]}, {high[1]})"
        return {"L": law, **{str(symbol): str(number) for symbol, number in self.symbols.items()}}


def _rational(number: Fraction) -> sp.Rational:
    return sp.Rational(number.numerator, number.denominator)


def queues() -> Iterator[ExactQueue]:
    """Stable queues that differ in all parameters."""
    for number in range(QUEUES):
        share, width = Fraction(2 + number % 5, 7), Fraction(6 + number % 3)
        law = PiecewiseLaw(((Fraction(0), Fraction(2), share / 2), (Fraction(2), width, (1 - share) / (width - 2))))
        threshold, factor = Fraction(3 + number % 2), Fraction(1 + number % 3, 4)
        service = law.slowed(threshold, factor)
        gamma = Fraction(1 + number % 4, 10)
        work = Fraction(3 + 4 * number, 8) % (width - 1) + Fraction(1, 4)
        slow = work >= threshold
        length = threshold + (work - threshold) / factor if slow else work
        ends = [Fraction(3 * r + number % 4, 2) for r in range(1, MOST_LEVELS)]
        costs = [gamma * end + Fraction(number % 3, 5) for end in ends]
        spent = service.moment(1, Fraction(0)) + sum(costs) + gamma * length
        symbols: dict[sp.Expr, Fraction] = {
            arrival_rate: Fraction(1 + number % 3, 4) / spent,
            slowdown_factor: factor,
            preemption_cost: gamma,
            slowdown_threshold: threshold,
            quantum: length,
            slope: 1 / factor if slow else Fraction(1),
            hazard: law.density(work) / law.moment(0, work),
        }
        for r, (end, price) in enumerate(zip(ends, costs, strict=True), start=1):
            symbols |= {attained(r): end, restore_cost(r): price}
        yield ExactQueue(law, service, symbols)
