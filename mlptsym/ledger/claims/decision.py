"""A user's own formula: proved, refuted at an actual queue, or left undecided."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import sympy as sp

from mlptsym.ledger.claims.expression import Reader
from mlptsym.ledger.claims.grammar import parse
from mlptsym.ledger.claims.independent import in_free_quantities
from mlptsym.ledger.claims.queues import queues
from mlptsym.ledger.claims.tree import LIMITS, ClaimError
from mlptsym.ledger.exact.algebra import Atoms, TooLargeError


@dataclass(frozen=True)
class Counterexample:
    """A queue at which the sides of a claim differ."""

    queue: dict[str, str]  # Its parameters
    # The two sides there, exactly
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
        digits = max(12, math.floor(math.log10(apart.denominator) - math.log10(apart.numerator)))
        while (shown := (_decimal(self.left, digits), _decimal(self.right, digits)))[0] == shown[1]:
            digits += 1
        return shown


def _decimal(value: Fraction, digits: int) -> str:
    with decimal.localcontext(prec=digits):
        return f"{decimal.Decimal(value.numerator) / value.denominator:g}"


@dataclass(frozen=True)
class ClaimResult:
    """What became of a claim."""

    # *Refuted* is only what has a counterexample.  *Undecided* is the rare claim that holds at every queue tried and
    # yet is no identity, neither as it stands nor in moments of L.
    verdict: Literal["proved", "refuted", "undecided"]
    method: str  # How it was decided, in words
    # Both sides in the package's symbols
    left: sp.Expr
    right: sp.Expr
    counterexample: Counterexample | None = None  # Where the claim is refuted

    @property
    def proved(self) -> bool:
        """Whether the claim is true of every queue."""
        return self.verdict == "proved"


def decide(text: str) -> ClaimResult:
    """Prove or refute ``EXPR == EXPR``.

    First both sides are computed exactly at some queues: where they differ, the claim is refuted.  Else their difference
    is reduced as a rational function of free symbols by python-flint; then once more with S = q(L) and θ = q(x) written
    out in moments and the density of L, which proves what is true because of the slowdown.  What is no identity in
    either form is tried at further queues.

    Raises
    ------
    ClaimError
        If the claim is outside the grammar or the vocabulary, or too large to decide in bounded time.

    Examples
    --------
    >>> decide("T == E[S] + gamma*theta*F(theta) + d_1 + F(theta)*rho/(1-rho)*(theta + d_1)").verdict
    'proved'
    >>> decide("E[S] == E[q(L)]").verdict
    'proved'
    >>> decide("rho_0 == lambda*E[S^2]").counterexample is None
    False
    """
    left, right = (Reader(text).read(side) for side in parse(text))
    try:
        if example := _counterexample(left, right, 0, 12):
            return ClaimResult("refuted", "exact values at a queue", left, right, example)
        for method, forms in _forms(left, right):
            if all(one == other or _is_identity(one, other) for one, other in forms):
                return ClaimResult("proved", method, left, right)
        if example := _counterexample(left, right, 12, 60):
            return ClaimResult("refuted", "exact values at a queue", left, right, example)
        return ClaimResult("undecided", "no identity was found, and no queue at which the sides differ", left, right)
    except TooLargeError as error:
        raise ClaimError(text, 0, f"too large to decide ({error})") from None
    except (ZeroDivisionError, OverflowError):
        raise ClaimError(text, 0, "a side divides by zero, or its numbers are too large") from None


def _counterexample(left: sp.Expr, right: sp.Expr, first: int, last: int) -> Counterexample | None:
    """A queue at which the sides differ; ZeroDivisionError if they have values together at none."""
    compared = False
    for queue in queues(first, last):
        values = [value for side in (left, right) if (value := queue.value(side)) is not None]
        compared = compared or len(values) == 2
        if len(values) == 2 and values[0] != values[1]:
            max(map(float, values))  # refused by the caller, if too large to be shown
            return Counterexample(queue.described, *values)
    if not compared:
        raise ZeroDivisionError
    return None


def _forms(left: sp.Expr, right: sp.Expr) -> Iterator[tuple[str, Iterator[tuple[sp.Expr, ...]]]]:
    """Ways to write both sides: a claim is true if they are identical in each form of one of these ways."""
    yield "the difference of both sides is zero as a rational function of free symbols", iter([(left, right)])
    words = "with S = q(L) and θ = q(x), the difference of both sides is zero as a rational function of moments of L"
    yield words, in_free_quantities(left, right)


def _is_identity(left: sp.Expr, right: sp.Expr) -> bool:
    """Whether both sides are one rational function of their atoms."""
    atoms = Atoms.of(left, right, limit=LIMITS.product)
    return (atoms.read(left) + atoms.read(sp.S.NegativeOne) * atoms.read(right)).is_zero
