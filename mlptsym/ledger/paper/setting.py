"""The queue of section 5 in interval arithmetic."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp
from flint import arb, fmpq

from mlptsym.laws.log_normal import LogNormal
from mlptsym.ledger.exact.enclosure import ball
from mlptsym.ledger.exact.service_law import ServiceLaw
from mlptsym.ledger.paper.parameters import PAPER
from mlptsym.symbolic.algebra.symbols import arrival_rate, preemption_cost, slowdown_factor, slowdown_threshold


def setting(multiple: arb) -> ServiceLaw:
    """The queue of section 5 with ℓ_C a multiple of E[L]."""
    law = LogNormal.formulas()
    numbers: dict[sp.Expr, arb] = dict(zip(law.parameters, map(_exact, (PAPER.mu, PAPER.sigma)), strict=True))
    numbers[slowdown_threshold] = multiple * ball(law.moment(1), numbers)
    numbers[slowdown_factor] = _exact(PAPER.slowdown_factor)
    numbers |= {arrival_rate: _exact(PAPER.arrival_rate), preemption_cost: _exact(PAPER.preemption_cost)}
    return ServiceLaw(law, numbers, ball)


def _exact(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))
