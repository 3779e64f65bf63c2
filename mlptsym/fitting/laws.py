"""Size laws fitted to a sample by maximum likelihood, compared by AIC, with the data of a Q–Q plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym.laws import size_laws
from mlptsym.laws.base import SizeLaw
from mlptsym.likelihood import Sample, log_likelihood
from mlptsym.validation import ParameterError, choice, instance, integer, sequence

__all__ = ["FittedLaw", "QuantilePairs", "candidates", "fit_laws", "quantile_pairs"]

Floats = NDArray[np.float64]

QUANTILES = 400  # points of a Q–Q plot: more cannot be told apart


@dataclass(frozen=True)
class FittedLaw:
    """A law with the parameters of greatest likelihood.

    Attributes
    ----------
    law : SizeLaw
    log_likelihood : float
        Σ log f(L_i) + (number at the cap) log P(L > cap), with sizes as points of a continuous law.
    aic : float
        2 · (number of parameters) − 2 · log-likelihood.
    distance : float
        Largest difference between the distribution functions of sample and law, below the cap (Kolmogorov–Smirnov).
    beyond_maximum : float
        How many sizes of such a sample the law would put beyond its maximum.
    """

    law: SizeLaw
    log_likelihood: float
    aic: float
    distance: float
    beyond_maximum: float

    @property
    def name(self) -> str:
        """The law's name."""
        return type(self.law).__name__

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters by name."""
        return {name: getattr(self.law, name) for name in self.law.ranges()}


def fit_laws(sample: Sample, names: Sequence[str] | None = None) -> tuple[FittedLaw, ...]:
    """The size laws with a density on (0, ∞) without a jump, each as likely as can be, the best first.

    Parameters
    ----------
    sample : Sample
    names : sequence of str, optional
        Only these laws.

    Returns
    -------
    tuple of FittedLaw
        In order of AIC.  A law is left out where its likelihood has no maximum: all of them for a sample of a single
        value; and where it would be the exponential law, that is for a hyperexponential law of one phase, an Erlang law
        of one stage and Lomax in the limit.

    Notes
    -----
    How each is found is said by its ``most_likely``: in closed form, from an equation in one variable (Johnson, Kotz
    and Balakrishnan, Continuous Univariate Distributions I), or by a search; a hyperexponential law has two phases.
    Parameters are those of `Sample.grouped`; likelihood and distance are of the whole sample.

    Examples
    --------
    >>> sizes = np.random.default_rng(1).lognormal(5, 0.9, 4000)
    >>> best, *_ = fit_laws(Sample.of(sizes))
    >>> best.name, round(best.law.mu, 2), round(best.law.sigma, 2)
    ('LogNormal', 4.99, 0.9)
    """
    instance("sample", sample, Sample, "a Sample")
    if names is not None:
        sequence("names", names, "a sequence of names of laws")
    if len(sample.values) + (sample.cap is not None) < 2 or len(sample.values) < 2:
        return ()
    fits = [_fitted(sample, law) for law in _most_likely(sample.grouped(), names)]
    return tuple(sorted(fits, key=lambda fit: fit.aic))


def _fitted(sample: Sample, law: SizeLaw) -> FittedLaw:
    likelihood = log_likelihood(sample, law)
    beyond = sample.size * float(np.exp(law.log_tail(sample.maximum)))
    return FittedLaw(law, likelihood, 2 * law.freedom - 2 * likelihood, _distance(sample, law), beyond)


def candidates() -> tuple[str, ...]:
    """Names of the laws that are fitted: those with a density on (0, ∞) without a jump."""
    return tuple(name for name, law in size_laws().items() if law(*law.examples[0]).smooth)


def _most_likely(sample: Sample, names: Sequence[str] | None) -> Iterator[SizeLaw]:
    """The laws of greatest likelihood, those that have one."""
    for name in candidates() if names is None else names:
        law = size_laws()[choice("names", name, candidates())]
        try:
            found = law.most_likely(sample)
        except ParameterError:  # the best parameters are out of the range in which the law can be computed
            continue
        if found is not None:
            yield found


def _distance(sample: Sample, law: SizeLaw) -> float:
    below = np.append(0, np.cumsum(sample.counts)) / sample.size
    ours = -np.expm1(law.log_tail(sample.values))
    return float(np.maximum(np.abs(ours - below[:-1]), np.abs(ours - below[1:])).max())


@dataclass(frozen=True, eq=False)
class QuantilePairs:
    """The data of a Q–Q plot: quantiles of the sample and of a law at the same probabilities (i − ½)/n."""

    probabilities: Floats
    sample: Floats
    law: Floats


def quantile_pairs(sample: Sample, law: SizeLaw, count: int = QUANTILES) -> QuantilePairs:
    """Quantiles of a sample beside those of a law, at ``count`` ranks or all of them; below the cap, if there is one.

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> pairs = quantile_pairs(Sample.of([1.0, 2.0, 4.0]), Exponential(0.5))
    >>> pairs.probabilities.round(3).tolist(), pairs.sample.tolist(), pairs.law.round(3).tolist()
    ([0.167, 0.5, 0.833], [1.0, 2.0, 4.0], [0.365, 1.386, 3.584])
    """
    instance("sample", sample, Sample, "a Sample")
    instance("law", law, SizeLaw, "a size law such as LogNormal(5, 0.9)")
    count = integer("count", count, at_least=1)
    ranks = np.unique(np.linspace(1, sample.observed, min(count, sample.observed)).astype(np.int64))
    ends = np.cumsum(sample.counts)
    values = sample.values[np.searchsorted(ends, ranks)]
    probabilities = (ranks - 0.5) / sample.size
    return QuantilePairs(probabilities, values, law.quantile(probabilities))
