"""Size laws fitted to a sample by maximum likelihood, compared by AIC, with the data of a Q–Q plot.

Sizes at a cap are censored from the right: all that is known of such a job is that it would have been at least as
large. A sample counts here by its different values and how often each occurs, so that a million token counts cost no
more than the few thousand values among them.  Where nearly all of a great many sizes differ, the search for the
parameters takes neighbours together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym.arrays import floats
from mlptsym.laws.base import SizeLaw
from mlptsym.laws.erlang import Erlang
from mlptsym.laws.exponential import Exponential
from mlptsym.laws.gamma import Gamma
from mlptsym.laws.hyper_exponential import HyperExponential
from mlptsym.laws.log_normal import LogNormal
from mlptsym.laws.lomax import Lomax
from mlptsym.laws.weibull import Weibull
from mlptsym.validation import SMALLEST, ParameterError, choice, instance, integer, refuse, sequence

__all__ = ["FittedLaw", "QuantilePairs", "Sample", "fit_laws", "quantile_pairs"]

Floats = NDArray[np.float64]
Law = TypeVar("Law", bound=SizeLaw)

FEWEST_AT_CAP = 5
NEAR_THE_CAP = 0.9
CAP_FALSE_ALARM = 1e-3
QUANTILES = 400
LOMAX_SHAPE = 1000.0  # the largest the law takes; beyond, it is exponential
SCALES = 60
MOST_VALUES = 20_000


@dataclass(frozen=True, eq=False)
class Sample:
    """Sizes by their different values.

    Attributes
    ----------
    values : array of float, shape (n,)
        Different sizes, increasing, without the cap.
    counts : array of int, shape (n,)
        How often each occurs.
    cap : float or None
        The size from which on sizes are censored; None if there is no sign of one.
    capped : int
        Sizes at the cap.
    at_maximum : int
        Sizes at the maximum, whether it is a cap or not.
    maximum : float
    """

    values: Floats
    counts: NDArray[np.int64]
    cap: float | None
    capped: int
    at_maximum: int
    maximum: float

    @classmethod
    def of(cls, sizes: ArrayLike) -> Sample:
        """The sample of an array of sizes.

        The maximum is taken for a cap if it occurs at least five times, and so often as would be seen once in a
        thousand times, were it as frequent as the mean of the values that occur in the uppermost tenth below it
        (Poisson counts).

        Examples
        --------
        >>> sample = Sample.of([3.0] * 4 + list(range(80, 100)) + [100.0] * 9)
        >>> sample.cap, sample.capped
        (100.0, 9)
        >>> Sample.of(range(1, 101)).cap is None
        True
        """
        from scipy.special import gammainc

        array = floats("sizes", sizes, above=0, finite=True)
        if array.ndim != 1 or not array.size:
            refuse("sizes", sizes, "a one-dimensional sequence of at least one number")
        values, counts = np.unique(array, return_counts=True)
        top = int(counts[-1])
        near = counts[:-1][values[:-1] >= NEAR_THE_CAP * values[-1]]
        usual = float(near.mean()) if near.size else 1.0
        unusual = top >= FEWEST_AT_CAP and float(gammainc(top, usual)) < CAP_FALSE_ALARM
        is_cap = unusual and len(values) > 2 and 2 * top < array.size
        maximum = float(values[-1])
        if is_cap:
            return cls(values[:-1], counts[:-1], maximum, top, top, maximum)
        return cls(values, counts, None, 0, top, maximum)

    def grouped(self) -> Sample:
        """The sample itself, or if more than 20 000 of its values differ, with neighbours replaced by their mean.

        The outermost hundredth of the values on either side stays as it is.  The sum of all sizes does not change.
        """
        if len(self.values) <= MOST_VALUES:
            return self
        first, last = len(self.values) // 100, len(self.values) - len(self.values) // 100
        between = np.linspace(first, last, MOST_VALUES, endpoint=False).astype(np.int64)
        starts = np.unique(np.concatenate([np.arange(first), between, np.arange(last, len(self.values))]))
        counts = np.add.reduceat(self.counts, starts)
        values = np.add.reduceat(self.values * self.counts, starts) / counts
        return replace(self, values=values, counts=counts)

    @property
    def observed(self) -> int:
        """Number of sizes that are known exactly."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """Number of sizes."""
        return self.observed + self.capped

    def total(self, function: Callable[[Floats], Floats]) -> float:
        """Sum of a function over all sizes, those at the cap with their value there."""
        return self.total_observed(function) + self.at_cap(function)

    def total_observed(self, function: Callable[[Floats], Floats]) -> float:
        """Sum of a function over the sizes that are known exactly."""
        return float(self.counts @ function(self.values))

    def at_cap(self, function: Callable[[Floats], Floats]) -> float:
        """Sum of a function over the sizes at the cap."""
        return 0.0 if self.cap is None else self.capped * float(function(np.array([self.cap]))[0])


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
    """Exponential, log-normal, Weibull, gamma, Erlang, Lomax and two-phase hyperexponential laws, the best first.

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
    Maxima in closed form or of one variable: exponential; log-normal, gamma and Erlang without a cap (Johnson, Kotz and
    Balakrishnan, Continuous Univariate Distributions I, chapters 14 and 17); Weibull (chapter 21) and Lomax, whose
    scale and shape follow from the other parameter also with a cap.  With a cap the remaining ones are improved from
    there by Nelder and Mead's method; the hyperexponential law is found by the EM algorithm and then improved.
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
    fits = [_fitted(sample, law) for law in _candidates(sample.grouped(), names)]
    return tuple(sorted(fits, key=lambda fit: fit.aic))


def _fitted(sample: Sample, law: SizeLaw) -> FittedLaw:
    likelihood = _log_likelihood(sample, law)
    count = 2 * len(law.rates) - 1 if isinstance(law, HyperExponential) else len(law.ranges())
    beyond = sample.size * float(np.exp(_log_tail(law, np.array([sample.maximum]))[0]))
    return FittedLaw(law, likelihood, 2 * count - 2 * likelihood, _distance(sample, law), beyond)


def _candidates(sample: Sample, names: Sequence[str] | None) -> Iterator[SizeLaw]:
    """The laws of greatest likelihood, those that have one."""
    methods: dict[str, Callable[[Sample], SizeLaw | None]] = {
        "Exponential": _exponential,
        "LogNormal": _lognormal,
        "Weibull": _weibull,
        "Gamma": _gamma,
        "Erlang": _erlang,
        "Lomax": _lomax,
        "HyperExponential": _hyperexponential,
    }
    for name in methods if names is None else names:
        find = methods[choice("names", name, tuple(methods))]
        try:
            law = find(sample)
        except ParameterError:  # the best parameters are out of the range in which the law can be computed
            continue
        if law is not None:
            yield law


# Likelihood ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _scipy(law: SizeLaw) -> Any:
    """SciPy's distribution of a law other than the hyperexponential: its logarithms do not underflow."""
    from scipy import stats

    match law:
        case Exponential():
            return stats.expon(scale=1 / law.rate)
        case LogNormal():
            return stats.lognorm(law.sigma, scale=math.exp(law.mu))
        case Weibull():
            return stats.weibull_min(law.shape, scale=law.scale)
        case Gamma():
            return stats.gamma(law.shape, scale=law.scale)
        case Erlang():
            return stats.gamma(law.stages, scale=1 / law.rate)
        case Lomax():
            return stats.lomax(law.shape, scale=law.scale)
        case _:
            raise ParameterError("law", law, "a law that fit_laws fits")


def _log_mixture(law: HyperExponential, x: Floats, powers: int) -> Floats:
    """Log of Σ p μ^powers exp(−μx): the density for one, the tail for none."""
    from scipy.special import logsumexp

    rates = np.asarray(law.rates)
    logs: Floats = logsumexp(np.log(law.probabilities) + powers * np.log(rates) - np.multiply.outer(x, rates), axis=-1)
    return logs


def _log_density(law: SizeLaw, x: Floats) -> Floats:
    return _log_mixture(law, x, 1) if isinstance(law, HyperExponential) else np.asarray(_scipy(law).logpdf(x))


def _log_tail(law: SizeLaw, x: Floats) -> Floats:
    return _log_mixture(law, x, 0) if isinstance(law, HyperExponential) else np.asarray(_scipy(law).logsf(x))


def _log_likelihood(sample: Sample, law: SizeLaw) -> float:
    return sample.total_observed(lambda x: _log_density(law, x)) + sample.at_cap(lambda x: _log_tail(law, x))


def _distance(sample: Sample, law: SizeLaw) -> float:
    below = np.append(0, np.cumsum(sample.counts)) / sample.size
    ours = -np.expm1(_log_tail(law, sample.values))
    return float(np.maximum(np.abs(ours - below[:-1]), np.abs(ours - below[1:])).max())


# Laws ----------------------------------------------------------------------------------------------------------------


def _improved(sample: Sample, build: Callable[[Floats], Law], start: Sequence[float]) -> Law:
    """The law of greatest likelihood near some parameters, on scales where each may be any number."""
    from scipy.optimize import minimize

    def cost(parameters: Floats) -> float:
        try:
            likelihood = _log_likelihood(sample, build(parameters))
        except (ParameterError, OverflowError):
            return math.inf
        return -likelihood if math.isfinite(likelihood) else math.inf

    if math.isinf(cost(np.asarray(start, dtype=np.float64))):
        refuse("start", start, "parameters of a law with a finite likelihood")
    found = minimize(
        cost,
        np.asarray(start, dtype=np.float64),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-9, "maxfev": 2000},
    )
    return build(found.x)


def _exponential(sample: Sample) -> Exponential:
    """The rate is the number of sizes known exactly over the total of all sizes."""
    return Exponential(sample.observed / sample.total(lambda x: x))


def _lognormal(sample: Sample) -> SizeLaw:
    mean = sample.total(np.log) / sample.size
    deviation = math.sqrt(sample.total(lambda x: (np.log(x) - mean) ** 2) / sample.size)
    if sample.cap is None:
        return LogNormal(mean, deviation)
    return _improved(sample, lambda p: LogNormal(float(p[0]), math.exp(p[1])), [mean, math.log(deviation)])


def _weibull(sample: Sample) -> SizeLaw:
    """The shape a solves Σ x^a log x / Σ x^a = 1/a + mean of log x over the sizes known exactly."""
    mean_log = sample.total_observed(np.log) / sample.observed
    largest = sample.maximum

    def excess(shape: float) -> float:
        weights = sample.total(lambda x: (x / largest) ** shape)
        return sample.total(lambda x: (x / largest) ** shape * np.log(x)) / weights - 1 / shape - mean_log

    shape = _root(excess, 1e-3, 1e6)
    mean_power = sample.total(lambda x: (x / largest) ** shape) / sample.observed
    return Weibull(shape, largest * mean_power ** (1 / shape))


def _gamma_shape(sample: Sample) -> float:
    """Shape a without a cap: log a − ψ(a) = log of the mean − mean of the log."""
    from scipy.special import digamma

    gap = math.log(sample.total(lambda x: x) / sample.size) - sample.total(np.log) / sample.size
    return _root(lambda a: gap - math.log(a) + float(digamma(a)), 1e-8, 1e12)


def _gamma(sample: Sample) -> Gamma:
    shape, mean = _gamma_shape(sample), sample.total(lambda x: x) / sample.size
    if sample.cap is None:
        return Gamma(shape, mean / shape)
    start = [math.log(shape), math.log(mean / shape)]
    return _improved(sample, lambda p: Gamma(math.exp(p[0]), math.exp(p[1])), start)


def _erlang(sample: Sample) -> SizeLaw | None:
    """The better of the numbers of stages beside the gamma law's shape, in which the likelihood has one maximum."""
    gamma = _gamma(sample)
    mean = gamma.mean
    laws: list[SizeLaw] = []
    for stages in sorted({max(1, math.floor(gamma.shape)), math.ceil(gamma.shape)}):
        if sample.cap is None:
            laws.append(Erlang(stages, stages / mean))
        else:
            laws.append(_erlang_with_cap(sample, stages, stages / mean))
    best = max(laws, key=lambda law: _log_likelihood(sample, law))
    return None if best.parameters[0] == 1 else best


def _erlang_with_cap(sample: Sample, stages: int, rate: float) -> SizeLaw:
    return _improved(sample, lambda p: Erlang(stages, math.exp(p[0])), [math.log(rate)])


def _lomax(sample: Sample) -> SizeLaw | None:
    """With scale s the best shape is (number known exactly) / Σ log(1 + x/s)."""
    from scipy.optimize import minimize_scalar

    mean = sample.total(lambda x: x) / sample.observed

    def law(log_scale: float) -> Lomax | None:
        scale = mean * math.exp(log_scale)
        shape = sample.observed / sample.total(lambda x: np.log1p(x / scale))
        return Lomax(shape, scale) if shape < LOMAX_SHAPE else None

    def cost(log_scale: float) -> float:
        here = law(log_scale)
        return math.inf if here is None else -_log_likelihood(sample, here)

    scales = np.linspace(math.log(1e-4), math.log(0.999 * LOMAX_SHAPE), SCALES)
    place = int(np.argmin([cost(float(scale)) for scale in scales]))
    if place == SCALES - 1:
        return None
    bounds = (scales[max(place - 1, 0)], scales[place + 1])
    return law(float(minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x))


def _hyperexponential(sample: Sample) -> SizeLaw | None:
    """Two phases, by the EM algorithm from three starts, sped up by squared steps; None if one phase does as well."""
    mean = sample.total(lambda x: x) / sample.observed
    starts = [(0.5, 0.5 / mean, 2 / mean), (0.9, 1 / (0.5 * mean), 0.1 / mean), (0.2, 1 / (0.2 * mean), 0.8 / mean)]
    best = max((_two_phases(sample, *start) for start in starts), key=lambda law: _log_likelihood(sample, law))
    gained = _log_likelihood(sample, best) - _log_likelihood(sample, _exponential(sample))
    return best if gained > 1e-6 * sample.size and min(best.probabilities) > 1e-6 else None


def _two_phases(sample: Sample, probability: float, first: float, second: float) -> HyperExponential:
    """EM, then Nelder and Mead's method, which ends where EM only creeps."""
    law = HyperExponential((probability, 1 - probability), (first, second))
    for _ in range(30):
        law = _em_step(sample, law)
    start = [math.log(law.probabilities[0] / law.probabilities[1]), *np.log(law.rates)]

    def build(p: Floats) -> HyperExponential:
        share = 1 / (1 + math.exp(-float(p[0])))
        return HyperExponential((share, 1 - share), (math.exp(p[1]), math.exp(p[2])))

    return _improved(sample, build, start)


def _em_step(sample: Sample, law: HyperExponential) -> HyperExponential:
    """Responsibilities of the phases by Bayes, then the best law for them; a size at the cap has a mean rest of 1/μ."""
    rates = np.asarray(law.rates)
    log_weights = np.log(law.probabilities) + np.log(rates) - np.multiply.outer(sample.values, rates)
    shares = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    shares *= (sample.counts / shares.sum(axis=1))[:, None]
    jobs, work = shares.sum(axis=0), sample.values @ shares
    if sample.cap is not None:
        log_tails = np.log(law.probabilities) - sample.cap * rates
        tails = np.exp(log_tails - log_tails.max())
        capped = sample.capped * tails / tails.sum()
        jobs, work = jobs + capped, work + capped * (sample.cap + 1 / rates)
    shares_of_phases = np.clip(jobs / jobs.sum(), 1e-12, None)
    new_rates = np.clip(jobs / np.maximum(work, SMALLEST), 1e-29, 1e29)
    return HyperExponential(tuple((shares_of_phases / shares_of_phases.sum()).tolist()), tuple(new_rates.tolist()))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of an increasing function on a logarithmic scale; an end of the range if there is none inside."""
    from scipy.optimize import brentq

    a, b = math.log(low), math.log(high)
    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    return math.exp(brentq(lambda log: function(math.exp(log)), a, b, xtol=1e-14, rtol=1e-14))


# Quantiles -----------------------------------------------------------------------------------------------------------


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
    return QuantilePairs(probabilities, values, _quantiles(law, probabilities))


def _quantiles(law: SizeLaw, probabilities: Floats) -> Floats:
    if not isinstance(law, HyperExponential):
        return np.asarray(_scipy(law).ppf(probabilities))
    from scipy.optimize import elementwise

    solver: Any = elementwise.find_root  # its type allows no further arguments
    logs = np.log1p(-probabilities)
    most = -logs / min(law.rates)  # the tail is below that of the slowest phase
    found: Floats = solver(
        lambda x, log: _log_mixture(law, x, 0) - log, (np.zeros_like(most), most * 1.001), args=(logs,)
    ).x
    return found
