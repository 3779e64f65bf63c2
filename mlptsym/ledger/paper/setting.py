"""The queue of section 5 in interval arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import sympy as sp
from flint import arb, fmpq

from mlptsym.laws.log_normal import LogNormal
from mlptsym.ledger.exact.enclosure import ball
from mlptsym.ledger.paper.parameters import PAPER
from mlptsym.symbolic.algebra.symbols import (
    age,
    arrival_rate,
    preemption_cost,
    size,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.mean.two_levels import TwoLevelTerms
from mlptsym.symbolic.model.moments import UpperMoment, mean
from mlptsym.symbolic.model.service import service_mean, service_time_inverse, service_upper_moment
from mlptsym.symbolic.model.size_law import point

start = sp.Symbol("x", positive=True)


@dataclass(frozen=True)
class Setting:
    """The queue of section 5 with ℓ_C a multiple of E[L]."""

    multiple: arb  # ℓ_C/E[L]

    @cached_property
    def parameters(self) -> dict[sp.Expr, arb]:
        """λ, β, γ, ℓ_C and the parameters of the law."""
        mu, sigma = LogNormal.formulas().parameters
        law = {mu: _exact(PAPER.mu), sigma: _exact(PAPER.sigma)}
        return {
            **law,
            arrival_rate: _exact(PAPER.arrival_rate),
            slowdown_factor: _exact(PAPER.slowdown_factor),
            preemption_cost: _exact(PAPER.preemption_cost),
            slowdown_threshold: self.multiple * ball(LogNormal.formulas().moment(1), law),
        }

    @property
    def mean_size(self) -> arb:
        """E[L]."""
        return ball(LogNormal.formulas().moment(1), self.parameters)

    @property
    def threshold(self) -> arb:
        """ℓ_C."""
        return self.parameters[slowdown_threshold]

    @property
    def mean_service(self) -> arb:
        """E[S]."""
        return self._in_sizes(service_mean(), {})

    @property
    def mean_square(self) -> arb:
        """E[S²]."""
        return self._in_sizes(service_mean(2), {})

    def work(self, t: arb) -> arb:
        """q⁻¹(t)."""
        return ball(service_time_inverse(age), {**self.parameters, age: t})

    def service(self, x: arb, *, slowed: bool) -> arb:
        """q(x) on one side of ℓ_C."""
        ell_C, beta = self.threshold, self.parameters[slowdown_factor]
        return ell_C + (x - ell_C) / beta if slowed else x

    def moment(self, order: int, t: arb) -> arb:
        """E[S^order ; S > t]."""
        return self.moment_at(order, self.work(t), slowed=bool(t > self.threshold))

    def moment_at(self, order: int, x: arb, *, slowed: bool) -> arb:
        """E[S^order ; L > x], read on one side of ℓ_C."""
        return self._in_sizes(self._forms[order, slowed], {start: x})

    @cached_property
    def _forms(self) -> dict[tuple[int, bool], sp.Expr]:
        """M_n of S at q(x) in moments of L."""
        return {
            (order, slowed): service_upper_moment(order, start, slowed=slowed)
            for order in range(3)
            for slowed in (False, True)
        }

    @cached_property
    def _law_forms(self) -> dict[int, sp.Expr]:
        return {order: LogNormal.formulas().closed_moment(order) for order in range(3)}

    def hazard(self, x: arb) -> arb:
        """h_L(x)."""
        law = LogNormal.formulas()
        return ball(law.density / law.closed_moment(0), {**self.parameters, point: x})

    def terms(self, terms: TwoLevelTerms, x: arb, *, slowed: bool) -> dict[sp.Expr, arb]:
        """The symbols of the package's A and B at a size x, read on one side of ℓ_C."""
        service = self.service(x, slowed=slowed)
        gamma, beta = self.parameters[preemption_cost], self.parameters[slowdown_factor]
        return {
            **self.parameters,
            terms.service: service,
            terms.service_slope: 1 / beta if slowed else arb(1),
            terms.restore: gamma * service,
            terms.restore_slope: gamma,
            terms.tail: self.moment_at(0, x, slowed=slowed),
            terms.first: self.moment_at(1, x, slowed=slowed),
            terms.second: self.moment_at(2, x, slowed=slowed),
            terms.hazard: self.hazard(x),
            mean(): self.mean_service,
            mean(order=2): self.mean_square,
        }

    def jump(self, terms: TwoLevelTerms) -> tuple[arb, arb, arb]:
        """A⁻/B⁻, h_L and A⁺/B⁺ at ℓ_C."""
        left, right = (
            ball(terms.A, values) / ball(terms.B, values)
            for values in (self.terms(terms, self.threshold, slowed=slowed) for slowed in (False, True))
        )
        return left, self.hazard(self.threshold), right

    def _in_sizes(self, expression: sp.Expr, places: Mapping[sp.Expr, arb]) -> arb:
        """An expression in moments of L at the places given and at ℓ_C."""
        values: dict[sp.Expr, arb] = {**self.parameters, **places}
        for moment in expression.atoms(UpperMoment):
            order, at, _ = moment.args
            form = LogNormal.formulas().moment(int(order)) if at.is_zero else self._law_forms[int(order)]
            values[moment] = ball(form, {**self.parameters, point: values.get(at, arb(0))})
        return ball(expression, {**values, size: arb(0)})


def _exact(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))
