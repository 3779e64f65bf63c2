"""The guess that the search for a quantile starts from."""

import math

import numpy as np
import pytest
from scipy import stats

import mlptsym as mq
from mlptsym.numeric.distribution.quantile_guess import guessed_quantiles

CHANCES = np.array([0.5, 0.95, 0.99])
SIZE = mq.LogNormal(5, 0.9)


def guess(queue: mq.Queue, policy: mq.FCFS | mq.MLPT, level: int | None = None) -> np.ndarray:
    return guessed_quantiles(queue, mq.response_time_distribution(queue, policy)._levels, CHANCES, level)


def test_an_exponential_response_is_a_gamma_one() -> None:
    """With exponential sizes under FCFS the gamma law is the right one."""
    np.testing.assert_allclose(guess(mq.Queue(mq.Exponential(1.0), 0.5), mq.FCFS()), -2 * np.log1p(-CHANCES), rtol=0.01)


@pytest.mark.parametrize("levels", [2, math.inf])
def test_near_the_quantile(levels: float) -> None:
    """Within a tenth in the tail and within an octave at the median, also of one level."""
    queue, policy = mq.Queue(SIZE, 0.0036, 6 * SIZE.mean, 0.39, 0.1), mq.MLPT(quantum=3 * SIZE.mean, levels=levels)
    ratio = guess(queue, policy) / mq.response_time_distribution(queue, policy).quantile(CHANCES)
    assert 0.5 < ratio[0] < 2 and np.all(np.abs(ratio[1:] - 1) < 0.1)
    second = mq.response_time_distribution(queue, policy).by_level[1]
    assert np.all(np.abs(np.log2(guess(queue, policy, 1) / second.quantile(CHANCES))) < 1)


def test_no_response_is_shorter_than_its_service() -> None:
    """Without load the guess is the quantile of the size, also where the wait has hardly any probability."""
    law = mq.Weibull(0.5, 1.0)
    sizes = stats.weibull_min(0.5).ppf(CHANCES)
    found = guess(mq.Queue(law, 1e-6), mq.FCFS())
    assert np.all(found >= sizes) and np.all(found < 2 * sizes)


@pytest.mark.parametrize("policy", [mq.FCFS(), mq.MLPT(quantum=1.0, levels=2), mq.MLPT(quantum=1.0, levels=math.inf)])
@pytest.mark.parametrize("law", [mq.Lomax(1.3, 0.3), mq.Deterministic(1.0), mq.Empirical([0.5, 1.0, 2.0])], ids=str)
def test_positive_and_finite_for_laws_without_moments_or_density(law: mq.Lomax, policy: mq.MLPT) -> None:
    found = guess(mq.Queue(law, 0.5 / law.mean), policy)
    assert np.all(np.isfinite(found)) and np.all(found > 0) and np.all(np.diff(found) >= 0)
