"""Departures of arrivals from Poisson: none is found where there is none, and each kind where it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fit_samples import DATA
from scipy import stats

from mlptsym import ParameterError
from mlptsym.fitting.trace.arrivals import (
    Departure,
    arrival_statistics,
    dispersion_indices,
    lewis_test,
    ljung_box_test,
    size_dependence,
)
from mlptsym.fitting.trace.reading import read_trace

REAL = Path(__file__).parents[3] / "shared" / "traces"


def poisson(seed: int, count: int = 3000) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).exponential(0.5, count))


def bursty(seed: int) -> np.ndarray:
    """Gaps of two sizes, independent."""
    generator = np.random.default_rng(seed)
    return np.cumsum(generator.exponential(np.where(generator.random(3000) < 0.1, 5.0, 0.1)))


def changing(seed: int) -> np.ndarray:
    """Poisson with a rate that changes slowly by a factor of three."""
    times = poisson(seed)
    return times + 0.45 * times[-1] / (2 * np.pi) * np.sin(2 * np.pi * times / times[-1])


def test_poisson_arrivals_pass() -> None:
    """Of 100 Poisson processes each test rejects one in a thousand: more than three departures happen once in 10⁵."""
    assert sum(arrival_statistics(poisson(seed)).departure != "none" for seed in range(100)) <= 3


@pytest.mark.parametrize("test", [lewis_test, ljung_box_test])
def test_p_values_are_uniform_for_poisson_arrivals(test: Callable[[np.ndarray], Departure]) -> None:
    """Kolmogorov and Smirnov's test of 200 p-values, false alarm in a thousand."""
    values = [test(np.diff(poisson(seed, 1500))).p_value for seed in range(200)]
    assert stats.kstest(values, "uniform").pvalue > 1e-3


def test_bursts_are_found() -> None:
    statistics = arrival_statistics(bursty(1))
    assert statistics.departure == "strong"
    assert statistics.gap_cv > 2
    assert statistics.exponential_gaps.significant
    assert not statistics.independent_gaps.significant  # the gaps are independent, only not exponential


def test_a_changing_rate_is_found() -> None:
    """In the counts of long windows and in the dependence of the gaps, while their CV is near one."""
    statistics = arrival_statistics(changing(1))
    assert statistics.departure == "strong"
    assert statistics.gap_cv < 1.25
    indices = dict(statistics.dispersion)
    assert max(indices) == max(indices, key=indices.__getitem__)
    assert statistics.independent_gaps.significant


def test_regular_arrivals_are_found() -> None:
    statistics = arrival_statistics(np.arange(500.0))
    assert statistics.departure == "strong"
    assert statistics.gap_cv == 0
    assert statistics.exponential_gaps.significant


def test_numbers_by_hand() -> None:
    times = np.array([0.0, 1.0, 1.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0, 11.0])
    statistics = arrival_statistics(times)
    gaps = np.diff(times)
    assert (statistics.arrivals, statistics.span) == (10, 11.0)
    assert statistics.rate == pytest.approx(9 / 11)
    assert statistics.gap_cv == pytest.approx(gaps.std() / gaps.mean())
    assert statistics.simultaneous == pytest.approx(1 / 9)
    assert statistics.largest_gap == pytest.approx(3 / 11)


def test_index_of_dispersion_by_hand() -> None:
    """Counts 3, 1, 3, 1, 3, 1, 3, 1 in windows of 10: variance 8/7, mean 2."""
    times = [10.0 * window + place for window in range(8) for place in ([0, 3, 6] if window % 2 == 0 else [5])]
    assert dispersion_indices(np.array([*times, 80.0]), [10.0]) == ((10.0, pytest.approx(8 / 7 / 2)),)


def test_lewis_spacings_by_hand() -> None:
    """Gaps 1, 2, 4: spacings 3, 2, 2 of 7, so the uniform numbers are 3/7 and 5/7, at most 3/7 from their distribution."""
    assert lewis_test(np.array([2.0, 4.0, 1.0])).statistic == pytest.approx(3 / 7)


def test_ljung_box_by_hand() -> None:
    """One lag: n(n+2) r₁²/(n−1) for the ranks 1 … n, whose first autocorrelation is known."""
    ranks = np.arange(7.0)
    centred = ranks - 3
    correlation = (centred[1:] @ centred[:-1]) / (centred @ centred)
    result = ljung_box_test(np.exp(ranks), lags=1)
    assert result.statistic == pytest.approx(7 * 9 * correlation**2 / 6)
    assert result.p_value == pytest.approx(stats.chi2(1).sf(result.statistic))


def test_sizes_that_depend_on_the_rate_are_found() -> None:
    """Larger while fewer arrive; with the same sizes in another order there is nothing to find."""
    times, generator = changing(1), np.random.default_rng(5)
    rate = 1 / np.gradient(times)
    sizes = generator.exponential(np.convolve(1 / rate, np.ones(200) / 200, mode="same"))
    found = size_dependence(times, sizes)
    assert found is not None and found.significant and found.statistic < -0.5
    none = size_dependence(times, generator.permutation(sizes))
    assert none is not None and not none.significant
    assert size_dependence(times[:500], sizes[:500]) is None
    assert size_dependence(times, np.ones(3000)) is None


@pytest.mark.parametrize("times", [[1.0] * 20, [*range(20), 5], range(5), [[0.0, 1.0]], ["a"] * 20])
def test_what_is_no_trace_of_arrivals_is_refused(times: list[float]) -> None:
    with pytest.raises(ParameterError, match="times"):
        arrival_statistics(list(times))


def test_samples() -> None:
    assert arrival_statistics(read_trace(DATA / "mooncake_sample.jsonl").times).departure == "none"  # type: ignore[arg-type]
    assert arrival_statistics(read_trace(DATA / "azure_sample.csv").times).departure == "strong"  # type: ignore[arg-type]


@pytest.mark.skipif(not REAL.is_dir(), reason="the real traces are not beside this checkout")
def test_real_arrivals() -> None:
    """Both Azure traces are far from Poisson: code by its gaps, conversations by a rate that changes."""
    code, conversations = (
        arrival_statistics(read_trace(REAL / f"azure-llm-2023-{name}.csv").times)  # type: ignore[arg-type]
        for name in ("code", "conv")
    )
    assert code.gap_cv == pytest.approx(13.15, abs=0.01)
    assert conversations.gap_cv == pytest.approx(1.094, abs=0.001)
    assert code.departure == conversations.departure == "strong"
