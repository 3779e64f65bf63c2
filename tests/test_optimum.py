"""The best quantum: never beaten by a dense grid, stationary or at a kink, and the rule of thumb of eqs. (31), (32)."""

import math

import numpy as np
import pytest

import mlptsym as mq
from mlptsym.numeric.gradient import quantum_slopes

LAWS = (
    mq.Exponential(0.5),
    mq.LogNormal(5.0, 0.9),
    mq.Weibull(0.6, 3.0),
    mq.Gamma(0.4, 5.0),
    mq.Erlang(4, 0.5),
    mq.HyperExponential([0.9, 0.1], [1.0, 0.05]),
    mq.Lomax(4.5, 7.0),
    mq.Uniform(1.0, 5.0),
    mq.Deterministic(3.0),
    mq.Empirical([0.5, 1.0, 2.0, 2.0, 9.0, 30.0]),
)


def paper(threshold: float) -> mq.Queue:
    law = mq.LogNormal(5.0, 0.9)
    return mq.Queue(law, 0.0036, threshold * law.mean, slowdown_factor=0.39, preemption_cost=0.1)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("levels", [2, 3, 5, math.inf])
def test_no_quantum_of_a_dense_grid_is_better(law: object, levels: float) -> None:
    """Hundreds of quanta and the kinks of the first levels, at two loads: not better by 1e-9 relative."""
    for load, gamma in ((0.6, 0.05), (0.9, 0.01)):
        rate = load / mq.Queue(law, 1.0, 1.7 * law.mean, 0.5).base_load
        queue = mq.Queue(law, rate, 1.7 * law.mean, 0.5, gamma)
        best = mq.optimal_quantum(queue, levels)
        mean = queue.mean_service_time
        kinks = 1.7 * law.mean / np.arange(1, min(levels, 9))
        lowest, count = (0.5, 300) if levels == math.inf else (1e-3, 2000)
        quanta = np.sort(np.concatenate([np.geomspace(lowest, 60, count) * mean, kinks]))
        others = mq.mean_response_time(queue, mq.MLPT(quantum=quanta, levels=levels))
        assert best.mean_response_time <= others.min() * (1 + 1e-9)
        assert best.mean_response_time <= mq.mean_response_time(queue, mq.FCFS()) * (1 + 1e-12)
        if math.isfinite(best.quantum):
            attained = mq.mean_response_time(queue, mq.MLPT(quantum=best.quantum, levels=levels))
            assert attained == pytest.approx(best.mean_response_time, rel=1e-12)


@pytest.mark.parametrize(("threshold", "levels"), [(8, 2), (6, 5), (6, 10), (6, math.inf), (3, math.inf)])
def test_a_smooth_minimum_is_exact_to_nine_digits(threshold: float, levels: float) -> None:
    """dE[T]/dθ changes sign within 1e-9 of θ*."""
    queue = paper(threshold)
    best = mq.optimal_quantum(queue, levels)
    assert best.kind == "smooth"
    below, above = quantum_slopes(queue, best.quantum * np.array([1 - 1e-9, 1 + 1e-9]), levels).slope
    assert below < 0 < above


@pytest.mark.parametrize("threshold", [3, 6])
def test_a_kink_is_found_exactly(threshold: float) -> None:
    """With a small memory the best quantum of two levels is ℓ_C itself, where A/B jumps over the hazard."""
    queue = paper(threshold)
    best = mq.optimal_quantum(queue, 2)
    assert best.kind == "kink"
    assert best.quantum == queue.slowdown_threshold
    left, right = (mq.two_level_terms(queue, best.size, side=side) for side in ("left", "right"))
    assert left.ratio < left.hazard < right.ratio


def test_without_a_gain_the_answer_is_fcfs() -> None:
    """All sizes equal: preemption only costs."""
    best = mq.optimal_quantum(mq.Queue(mq.Deterministic(3.0), 0.2, preemption_cost=0.1), 2)
    assert (best.kind, best.quantum, best.gain) == ("fcfs", math.inf, 0.0)


def test_rule_of_thumb() -> None:
    """θ̂ = E[S] + 2 √(γE[S²]/(1 − ρ₀)), eq. (31), and ℓ_C for k = 2 with 3 ≤ ℓ_C/E[L] ≤ 7, ends included, eq. (32)."""
    queue = paper(6)
    plain = queue.mean_service_time + 2 * math.sqrt(0.1 * queue.service_moment(2) / (1 - queue.base_load))
    assert mq.rule_of_thumb(queue, math.inf) == pytest.approx(plain, rel=1e-14)
    for threshold in (3, 6, 7):
        assert mq.rule_of_thumb(paper(threshold), 2) == paper(threshold).slowdown_threshold
    for threshold in (2.99, 7.01):
        assert mq.rule_of_thumb(paper(threshold), 2) != paper(threshold).slowdown_threshold
    assert mq.rule_of_thumb(queue, 2, a=6.5) == pytest.approx(plain, rel=1e-14)


@pytest.mark.parametrize("levels", [0, 1, 2.5, math.nan, "two", -math.inf])
def test_levels_out_of_range_are_refused(levels: object) -> None:
    with pytest.raises(mq.ParameterError, match="levels"):
        mq.optimal_quantum(paper(6), levels)
