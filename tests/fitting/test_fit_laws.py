"""Maximum likelihood: the parameters found are those of the greatest likelihood, with and without a cap."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import stats

import mlptsym as mq
from mlptsym import ParameterError
from mlptsym import likelihood as samples
from mlptsym.fitting.laws import FittedLaw, candidates, fit_laws, quantile_pairs
from mlptsym.laws import size_laws
from mlptsym.laws.base import SizeLaw
from mlptsym.likelihood import Sample

LAWS: dict[str, SizeLaw] = {name: size_laws()[name](*size_laws()[name].examples[0]) for name in candidates()} | {
    "Exponential": mq.Exponential(0.01),
    "Erlang": mq.Erlang(4, 0.02),  # with one stage it would be an exponential law
    "Lomax": mq.Lomax(2.5, 150.0),
    "HyperExponential": mq.HyperExponential([0.8, 0.2], [0.02, 0.002]),
}


COUNT = 1500


def drawn(name: str, count: int = COUNT) -> np.ndarray:
    return LAWS[name].sample(np.random.default_rng(sum(map(ord, name))), count)


def found(name: str, sizes: np.ndarray) -> FittedLaw:
    (fit,) = fit_laws(Sample.of(sizes), [name])
    return fit


def likelihood(law: SizeLaw, sizes: np.ndarray, cap: float = math.inf) -> float:
    """From the package's own densities and tails: another way than that of the fit, which takes SciPy's logarithms."""
    below = sizes[sizes < cap]
    capped = sizes.size - below.size
    return float(np.log(law.density(below)).sum()) + (capped * math.log(float(law.tail(cap))) if capped else 0.0)


def neighbours(law: SizeLaw) -> list[SizeLaw]:
    """The law with each parameter a little larger and smaller."""
    if isinstance(law, mq.HyperExponential):
        (p, _), (a, b) = law.probabilities, law.rates
        moved = [(p * f, a, b) for f in (0.997, 1.003)] + [(p, a * f, b) for f in (0.99, 1.01)]
        moved += [(p, a, b * f) for f in (0.99, 1.01)]
        return [mq.HyperExponential([q, 1 - q], [c, d]) for q, c, d in moved]
    names = [item.name for item in fields(law)]  # type: ignore[arg-type]
    changes = [(name, factor) for name in names if name != "stages" for factor in (0.995, 1.005)]
    return [replace(law, **{name: getattr(law, name) * factor}) for name, factor in changes]  # type: ignore[type-var]


@pytest.mark.parametrize("capped", [False, True], ids=["whole", "capped"])
@pytest.mark.parametrize("name", LAWS)
def test_no_law_beside_is_more_likely(name: str, capped: bool) -> None:
    """The likelihood is that of the package's densities, and has a maximum there."""
    sizes = drawn(name)
    cap = float(np.quantile(sizes, 0.95)) if capped else math.inf
    sizes = np.minimum(sizes, cap)
    fit = found(name, sizes)
    assert fit.log_likelihood == pytest.approx(likelihood(fit.law, sizes, cap), rel=1e-11)
    for law in neighbours(fit.law):
        assert likelihood(law, sizes, cap) < fit.log_likelihood


@pytest.mark.parametrize("capped", [False, True], ids=["whole", "capped"])
@pytest.mark.parametrize("name", LAWS)
def test_the_law_that_was_drawn_from_is_found(name: str, capped: bool) -> None:
    """Within five standard deviations of its tail at some points: a false alarm in a million at each."""
    sizes = drawn(name)
    cap = float(np.quantile(sizes, 0.9)) if capped else math.inf
    fit = found(name, np.minimum(sizes, cap))
    points = np.quantile(sizes, [0.1, 0.5, 0.8])
    tail = LAWS[name].tail(points)
    assert (np.abs(fit.law.tail(points) - tail) < 5 * np.sqrt(tail * (1 - tail) / COUNT)).all()
    assert fit.distance < stats.kstwo(COUNT).isf(1e-3) + (0.1 if capped else 0)


def test_scipy_finds_the_same() -> None:
    sizes = drawn("Gamma")
    shape, _, scale = stats.gamma.fit(sizes, floc=0)
    assert found("Gamma", sizes).law.parameters == pytest.approx((shape, scale), rel=1e-4)
    shape, _, scale = stats.weibull_min.fit(sizes, floc=0)
    assert found("Weibull", sizes).law.parameters == pytest.approx((shape, scale), rel=1e-3)


def test_aic_counts_parameters() -> None:
    fits = {fit.name: fit for fit in fit_laws(Sample.of(drawn("HyperExponential")))}
    counts = {name: round((fit.aic + 2 * fit.log_likelihood) / 2) for name, fit in fits.items()}
    assert counts == {
        name: len(law.ranges()) + (name == "HyperExponential") for name, law in size_laws().items() if name in counts
    }
    assert counts["HyperExponential"] == 3
    aics = [fit.aic for fit in fits.values()]
    assert aics == sorted(aics)
    assert next(iter(fits)) == "HyperExponential"


def test_laws_that_come_down_to_the_exponential_are_left_out() -> None:
    """A sample less variable than exponential: no mixture and no power tail is better than one exponential law."""
    names = {fit.name for fit in fit_laws(Sample.of(drawn("Erlang")))}
    assert names >= {"Exponential", "LogNormal", "Weibull", "Gamma", "Erlang"}
    assert names.isdisjoint({"HyperExponential", "Lomax"})


def test_sizes_by_their_values_count_like_sizes() -> None:
    """Whole numbers occur many times; the fit is the same as of each alone, computed from the plain array."""
    sizes = np.ceil(drawn("LogNormal"))
    fit = found("LogNormal", sizes)
    logs = np.log(sizes)
    assert fit.law.parameters == pytest.approx((logs.mean(), logs.std()), rel=1e-12)


def test_many_different_sizes_are_grouped_without_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = drawn("Weibull", 20_000)
    whole = found("Weibull", sizes)
    monkeypatch.setattr(samples, "MOST_VALUES", 2000)
    grouped = Sample.of(sizes).grouped()
    assert len(grouped.values) == 2000 + 2 * 200
    assert grouped.size == 20_000
    assert grouped.total(lambda x: x) == pytest.approx(sizes.sum(), rel=1e-12)
    assert found("Weibull", sizes).law.parameters == pytest.approx(whole.law.parameters, rel=1e-5)


class TestCap:
    def test_sizes_that_pile_up_at_the_maximum_are_a_cap(self) -> None:
        sample = Sample.of(np.minimum(np.ceil(drawn("LogNormal")), 600))
        assert (sample.cap, sample.maximum) == (600, 600)
        assert sample.capped == sample.at_maximum == int((drawn("LogNormal") > 599).sum())
        assert sample.size == COUNT

    @pytest.mark.parametrize("sizes", [[5.0] * 10, [1.0] * 3 + [5.0] * 10, range(1, 101), [1, 2, 3, 7, 7, 7, 7]])
    def test_others_are_none(self, sizes: list[float]) -> None:
        assert Sample.of(list(sizes)).cap is None

    def test_a_cap_taken_for_sizes_would_be_seen(self) -> None:
        """Uncensored, the law of the capped sample is another one."""
        sizes = np.minimum(drawn("LogNormal"), np.quantile(drawn("LogNormal"), 0.9))
        wrong = mq.LogNormal(float(np.log(sizes).mean()), float(np.log(sizes).std()))
        right = found("LogNormal", sizes).law
        assert right.sigma == pytest.approx(0.9, rel=0.03)  # type: ignore[attr-defined]
        assert wrong.sigma < 0.83

    def test_what_a_law_puts_beyond_the_maximum(self) -> None:
        sizes = drawn("Exponential")
        fit = found("Exponential", sizes[sizes < 150])
        assert fit.beyond_maximum == pytest.approx((sizes < 150).sum() * float(fit.law.tail(sizes[sizes < 150].max())))
        assert fit.beyond_maximum > 50


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_are_those_of_the_law(name: str) -> None:
    """P(L > quantile) is one minus the probability, by the package's own tail."""
    sample = Sample.of(drawn(name))
    pairs = quantile_pairs(sample, LAWS[name], 50)
    np.testing.assert_allclose(LAWS[name].tail(pairs.law), 1 - pairs.probabilities, rtol=1e-9)
    assert (
        pairs.sample.tolist() == np.sort(drawn(name))[np.round(pairs.probabilities * COUNT - 0.5).astype(int)].tolist()
    )


def test_samples_without_a_law() -> None:
    assert fit_laws(Sample.of([3.0] * 20)) == ()
    for sizes in ([], [1.0, -1.0], [[1.0]], ["a"]):
        with pytest.raises(ParameterError, match="sizes"):
            Sample.of(sizes)  # type: ignore[arg-type]


@pytest.mark.parametrize("sizes", [[1.0] * 10 + [1e9], [1e-3, 1e9, 5.0], [1.0, 1.0 + 1e-9], list(range(1, 4))])
def test_strange_samples_get_finite_fits(sizes: list[float]) -> None:
    for fit in fit_laws(Sample.of(sizes)):
        assert math.isfinite(fit.aic) and 0 <= fit.distance <= 1
