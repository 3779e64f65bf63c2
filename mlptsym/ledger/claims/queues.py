"""Queues at which every quantity of a claim is a rational number, and a claim is refuted exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from mlptsym.ledger.claims.tree import LIMITS
from mlptsym.ledger.claims.vocabulary import hazard, slope
from mlptsym.symbolic.algebra.symbols import (
    arrival_rate,
    attained,
    preemption_cost,
    quantum,
    restore_cost,
    size,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.model.moments import Density, UpperMoment


@dataclass(frozen=True)
class PiecewiseLaw:
    """A law with piecewise constant density, so that all moments are rational."""

    pieces: tuple[tuple[Fraction, Fraction, Fraction], ...]  # Lower end, upper end, density

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
    """A queue at which every atom of a claim is a rational number."""

    size: PiecewiseLaw
    service: PiecewiseLaw
    symbols: dict[sp.Expr, Fraction]  # Values of the symbols, boundaries and costs

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


def queues(first: int = 0, last: int = 12) -> Iterator[ExactQueue]:
    """Stable queues that differ in all parameters; in any twelve, θ and the t_r lie before ℓ_C and beyond it."""
    for number in range(first, last):
        share, width = Fraction(2 + number % 5, 7), Fraction(6 + number % 3)
        law = PiecewiseLaw(((Fraction(0), Fraction(2), share / 2), (Fraction(2), width, (1 - share) / (width - 2))))
        threshold, factor = Fraction(3 + number % 2), Fraction(1 + number % 3, 4)
        service = law.slowed(threshold, factor)
        gamma = Fraction(1 + number % 4, 10) + Fraction(number // 12, 97)
        work = Fraction(3 + 4 * number, 8) % (width - 1) + Fraction(1, 4)
        slow = work >= threshold
        length = threshold + (work - threshold) / factor if slow else work
        ends = [Fraction(3 * r + number % 4, 2) for r in range(1, LIMITS.levels)]
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
        for r, (end, due) in enumerate(zip(ends, costs, strict=True), start=1):
            symbols |= {attained(r): end, restore_cost(r): due}
        yield ExactQueue(law, service, symbols)
