"""Hyperexponential law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np

from mlptsym.laws.base import Floats, SizeLaw
from mlptsym.laws.exponential import Exponential
from mlptsym.likelihood import improved, log_likelihood
from mlptsym.parameters import Range
from mlptsym.validation import LARGEST, SMALLEST, refuse

if TYPE_CHECKING:
    import sympy as sp

    from mlptsym.likelihood import Sample
    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["HyperExponential"]

MOST_PHASES = 100  # the formula is built phase by phase


@dataclass(frozen=True)
class HyperExponential(SizeLaw):
    """Mixture of exponential laws.

    Parameters
    ----------
    probabilities : sequence of float
        Probability of each phase, > 0, adding up to one; at most 100 phases.
    rates : sequence of float
        Rate of each phase, > 0, as many.

    Examples
    --------
    >>> HyperExponential([0.9, 0.1], [1.0, 0.05]).mean
    2.9
    """

    probabilities: Annotated[tuple[float, ...], Range(above=0, at_most=1, longest=MOST_PHASES)]
    rates: Annotated[tuple[float, ...], Range(at_least=SMALLEST, at_most=LARGEST, longest=MOST_PHASES)]
    examples = (([0.875, 0.125], [2.0, 0.1]), ([0.25, 0.25, 0.5], [1, 2, 8]))
    written = "P1,P2,.../RATE1,RATE2,..."

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.rates) != len(self.probabilities):
            refuse("rates", self.rates, f"as many numbers as there are probabilities ({len(self.probabilities)})")
        total = math.fsum(self.probabilities)
        if abs(total - 1) > 1e-9:
            refuse("probabilities", self.probabilities, "numbers that add up to 1")
        object.__setattr__(self, "probabilities", tuple(p / total for p in self.probabilities))

    @classmethod
    def formulas(cls, phases: int = 2, *_: int) -> LawFormulas:
        """The law in SymPy's terms: every statement about it is the mixture of those about its phases."""
        import sympy as sp

        from mlptsym.symbolic.model.size_law import LawFormulas, point

        symbols = cls.symbols(phases)
        probabilities, rates = symbols[:phases], symbols[phases:]
        *others, last = probabilities
        single = Exponential.formulas()

        def mixture(of_phase: sp.Expr) -> sp.Expr:
            parts = zip(probabilities, rates, strict=True)
            return sp.Add(*(p * of_phase.subs(single.parameters[0], rate) for p, rate in parts))

        return LawFormulas(
            cls.__name__,
            (*probabilities, *rates),
            mixture(single.density),
            lambda order: mixture(single.closed_moment(order)),
            lambda order: mixture(single.moment(order)),
            conditions=((last, 1 - sp.Add(*others)),),
            textbook=sp.Add(*(p * nu * sp.exp(-nu * point) for p, nu in zip(probabilities, rates, strict=True))),
            latex=r"f(x) = \sum_ip_i\nu_ie^{-\nu_ix}",
        )

    @classmethod
    def most_likely(cls, sample: Sample) -> Self | None:
        """Two phases, by the EM algorithm from three starts, then a search; None if one phase does as well."""
        mean = sample.total(lambda x: x) / sample.observed
        starts = [(0.5, 0.5 / mean, 2 / mean), (0.9, 1 / (0.5 * mean), 0.1 / mean), (0.2, 1 / (0.2 * mean), 0.8 / mean)]
        best = max((cls._two_phases(sample, *start) for start in starts), key=partial(log_likelihood, sample))
        gained = log_likelihood(sample, best) - log_likelihood(sample, Exponential.most_likely(sample))
        return best if gained > 1e-6 * sample.size and min(best.probabilities) > 1e-6 else None

    @classmethod
    def _two_phases(cls, sample: Sample, probability: float, first: float, second: float) -> Self:
        """EM, then Nelder and Mead's method, which ends where EM only creeps."""
        law = cls((probability, 1 - probability), (first, second))
        for _ in range(30):
            law = law._em_step(sample)
        start = [math.log(law.probabilities[0] / law.probabilities[1]), *np.log(law.rates)]

        def build(p: Floats) -> Any:
            share = 1 / (1 + math.exp(-float(p[0])))
            return cls((share, 1 - share), (math.exp(p[1]), math.exp(p[2])))

        found: Self = improved(sample, build, start)
        return found

    def _em_step(self, sample: Sample) -> Self:
        """Shares of the phases in each size by Bayes, then the best law for them; one at the cap has a rest of 1/μ."""
        rates = np.asarray(self.rates)
        log_weights = np.log(self.probabilities) + np.log(rates) - np.multiply.outer(sample.values, rates)
        shares = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        shares *= (sample.counts / shares.sum(axis=1))[:, None]
        jobs, work = shares.sum(axis=0), sample.values @ shares
        if sample.cap is not None:
            log_tails = np.log(self.probabilities) - sample.cap * rates
            tails = np.exp(log_tails - log_tails.max())
            capped = sample.capped * tails / tails.sum()
            jobs, work = jobs + capped, work + capped * (sample.cap + 1 / rates)
        shares_of_phases = np.clip(jobs / jobs.sum(), 1e-12, None)
        new_rates = np.clip(jobs / np.maximum(work, SMALLEST), 1e-29, 1e29)
        probabilities = (shares_of_phases / shares_of_phases.sum()).tolist()
        return type(self)(tuple(probabilities), tuple(new_rates.tolist()))

    @property
    def freedom(self) -> int:
        """The probabilities add up to one."""
        return len(self.parameters) - 1

    def _deep_hazard(self, points: Floats) -> Floats:
        return np.full(points.shape, min(self.rates))

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        phase = np.searchsorted(np.cumsum(self.probabilities)[:-1], generator.random(count), side="right")
        sizes: Floats = generator.standard_exponential(count) / np.asarray(self.rates)[phase]
        return sizes
