"""The law of S = q(L) with exact numbers in place of its symbols, in digits or in balls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from mlptsym.symbolic.algebra.symbols import age, preemption_cost, size, slowdown_threshold
from mlptsym.symbolic.mean.two_levels import TwoLevelTerms
from mlptsym.symbolic.model.moments import UpperMoment, mean
from mlptsym.symbolic.model.service import (
    service_mean,
    service_rate,
    service_time,
    service_time_inverse,
    service_upper_moment,
)
from mlptsym.symbolic.model.size_law import LawFormulas, point

place = sp.Symbol("x", positive=True)


@dataclass(frozen=True)
class ServiceLaw:
    """A size law and its slowdown; ``slowed`` says on which side of ℓ_C a size x is read."""

    law: LawFormulas
    numbers: Mapping[sp.Expr, Any]  # of the law's parameters, ℓ_C, β and what else there is: λ, γ
    evaluate: Callable[[sp.Expr, Mapping[sp.Expr, Any]], Any]

    @property
    def mean_size(self) -> Any:
        """E[L]."""
        return self.evaluate(self.law.moment(1), self.numbers)

    @property
    def threshold(self) -> Any:
        """ℓ_C."""
        return self.numbers[slowdown_threshold]

    def service(self, x: Any) -> Any:
        """q(x)."""
        return self.evaluate(service_time(), {**self.numbers, size: x})

    def mean(self, order: int = 1) -> Any:
        """E[S^order]."""
        return self._in_sizes(service_mean(order), 0)

    def moment(self, order: int, x: Any, *, slowed: bool) -> Any:
        """E[S^order ; L > x]."""
        return self._in_sizes(service_upper_moment(order, place, slowed=slowed), x)

    def moment_of_service(self, order: int, t: Any) -> Any:
        """E[S^order ; S > t]."""
        x = self.evaluate(service_time_inverse(age), {**self.numbers, age: t})
        return self.moment(order, x, slowed=bool(t > self.threshold))

    def hazard(self, x: Any) -> Any:
        """h_L(x)."""
        return self.evaluate(self.law.density / self.law.closed_moment(0), {**self.numbers, point: x})

    def terms(self, terms: TwoLevelTerms, x: Any, *, slowed: bool) -> dict[sp.Expr, Any]:
        """The symbols of the package's A and B at a size x, for g(a) = a."""
        rates = [rate for rate, _ in service_rate().args]
        time, gamma = self.service(x), self.numbers[preemption_cost]
        return {
            **self.numbers,
            terms.service: time,
            terms.service_slope: self.evaluate(1 / rates[slowed], self.numbers),
            terms.restore: gamma * time,
            terms.restore_slope: gamma,
            terms.tail: self.moment(0, x, slowed=slowed),
            terms.first: self.moment(1, x, slowed=slowed),
            terms.second: self.moment(2, x, slowed=slowed),
            terms.hazard: self.hazard(x),
            mean(): self.mean(),
            mean(order=2): self.mean(2),
        }

    def _in_sizes(self, expression: sp.Expr, x: Any) -> Any:
        """An expression in moments of L at 0, at x and at ℓ_C."""
        numbers: dict[sp.Expr, Any] = {**self.numbers, place: x}
        for moment in expression.atoms(UpperMoment):
            order, at, _ = moment.args
            form = self.law.moment(int(order)) if at.is_zero else self.law.closed_moment(int(order))
            numbers[moment] = self.evaluate(form, {**self.numbers, point: numbers.get(at, 0)})
        return self.evaluate(expression, numbers)
