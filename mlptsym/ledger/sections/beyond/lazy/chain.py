"""MLPT′ with two levels as a Markov chain of the jobs at the ends of pieces, for two sizes: an independent road to e."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp
from flint import arb, arb_mat, ctx

from mlptsym.symbolic.algebra.cached import cached


@dataclass(frozen=True)
class Chain:
    """Two sizes, of which θ = 1 lets the smaller complete.

    With ten jobs more in level 1 and ten in level 2, e changes by less than 10⁻³⁵.
    """

    sizes: tuple[sp.Rational, sp.Rational]
    longer: sp.Rational  # F̄
    rate: sp.Rational
    cost: sp.Rational
    most_first: int = 34  # jobs in level 1
    most_last: int = 44  # and in level 2
    bits: int = 256


CHAIN = Chain((sp.Rational(1, 2), sp.Integer(3)), sp.Rational(1, 4), sp.Rational(1, 8), sp.Rational(1, 5))


@cached
def by_chain(chain: Chain) -> Any:
    """e, from the stationary law of the numbers (n_1, n_2) of jobs in the levels at the ends of pieces.

    n_2 grows or falls by one at a time, so that the law at n_2 + 1 is that at n_2 times a matrix, found from the largest
    n_2 down (Neuts, Matrix-Geometric Solutions in Stochastic Models, section 1.2).  The last of the states with n_2 = 0
    is that before a free piece, which nothing else leads to.
    """
    size = chain.most_first
    with ctx.workprec(chain.bits):
        local, up, down = (arb_mat(size, size) for _ in range(3))
        empty, up_from_empty, down_to_empty = (
            arb_mat(size + 1, size + 1),
            arb_mat(size + 1, size),
            arb_mat(size, size + 1),
        )
        short, long = chain.sizes
        by_time = [arrivals(chain, time) for time in (short, sp.S.One, chain.cost + long - 1, long - 1)]
        for arrived, (completing, demoted, charged, free) in enumerate(zip(*by_time, strict=True)):
            down[0, arrived] = down_to_empty[0, arrived] = charged
            empty[size, arrived] = free
            for first in range(size):
                left = max(first, 1) - 1 + arrived
                if left >= size:
                    continue
                stays, goes = completing * rational(1 - chain.longer), demoted * rational(chain.longer)
                empty[first, left] += stays
                if left > 0:
                    up_from_empty[first, left] += goes
                else:
                    empty[first, size] += goes
                if first > 0:
                    local[first, left] += stays
                    up[first, left] += goes
        one, ratio = unit(size), arb_mat(size, size)
        for _ in range(chain.most_last):
            inverse = (one - local - ratio * down).inv()
            ratio = up * inverse
        first_ratio = up_from_empty * inverse
        balance = (unit(size + 1) - empty - first_ratio * down_to_empty).transpose()
        for state in range(size + 1):
            balance[0, state] = state == size  # the law in units of its probability of a free piece
        target = arb_mat(size + 1, 1)
        target[0, 0] = 1
        law = balance.solve(target).transpose()
        others = law * first_ratio * (one - ratio).inv()
        first_pieces = sum((others[0, first] for first in range(1, size)), arb(0))
        first_pieces += sum((law[0, first] for first in range(size)), arb(0))
        return 1 / (first_pieces * rational(chain.longer))


def unit(size: int) -> arb_mat:
    """The unit matrix."""
    return arb_mat([[int(i == j) for j in range(size)] for i in range(size)])


def arrivals(chain: Chain, time: sp.Rational) -> list[arb]:
    """Probabilities of 0, 1, … arrivals in a time."""
    expected = rational(chain.rate * time)
    weights = [(-expected).exp()]
    for number in range(1, chain.most_first):
        weights.append(weights[-1] * expected / number)
    return weights


def rational(number: sp.Rational) -> arb:
    """As a ball."""
    return arb(int(number.p)) / int(number.q)
