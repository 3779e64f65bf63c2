"""Loads next to one: what is answered has six digits, and the rest is refused."""

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
import reference
from reference_queues import LAWS, loaded, queues

import mlptsym as mq
from mlptsym.numeric.mean.gradient import quantum_slopes, response_gradient
from mlptsym.numeric.model.saturation import SaturationError
from mlptsym.numeric.optimal.objectives import Objective, _first_look, best_quantum_for, mean_slowdown

Function = Callable[[mq.Queue], object]
TWO = mq.MLPT(quantum=1.0, levels=2)
# by how much ρ^eff has to stay below one
ANSWERS: dict[str, tuple[float, Function]] = {
    "mean": (1e-9, lambda queue: mq.mean_response_time(queue, TWO)),
    "mean of one of several quanta": (1e-9, lambda q: mq.solve(q, mq.MLPT(quantum=[1.0, 1e3], levels=2))),
    "k = ∞": (1e-9, lambda queue: mq.solve(queue, mq.MLPT(quantum=1.0, levels=math.inf))),
    "many levels": (1e-9, lambda queue: mq.solve(queue, mq.MLPT(quantum=1.0, levels=300))),
    "table": (1e-9, lambda queue: mq.level_table(queue, TWO)),
    "slowdown": (1e-9, lambda queue: mean_slowdown(queue, TWO)),
    "optimum": (1e-9, lambda queue: mq.optimal_quantum(queue, 2)),
    "unequal quanta": (1e-9, lambda queue: mq.optimal_quanta(queue, 3)),
    "rule of thumb": (1e-9, lambda queue: mq.rule_of_thumb(queue, math.inf)),
    "slope": (1e-8, lambda queue: quantum_slopes(queue, [1.0], 2)),
    "gradient": (1e-8, lambda queue: response_gradient(queue, [[1.0], [2.0]])),
    "A and B": (1e-8, lambda queue: mq.two_level_terms(queue, [1.0])),
    "distribution": (1e-7, lambda queue: mq.response_time_distribution(queue, TWO)),
    "percentile": (1e-7, lambda queue: best_quantum_for(queue, 2, "p99")),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_where_answers_end(name: str) -> None:
    """There is one just beyond the stated distance from one, none within it, and the queue is unstable from one on."""
    distance, answer = ANSWERS[name]
    size = mq.Gamma(4.0, 0.25)
    if name not in ("optimum", "unequal quanta", "percentile"):  # which take long for nothing here
        answer(mq.Queue(size, 1 - 1.01 * distance))
    for idle in (0.99 * distance, 1e-12, 2**-53):
        with pytest.raises(SaturationError, match=r"arrival_rate = .* at most 0\.9999\d* or at least 1.0000\d* here"):
            answer(mq.Queue(size, 1 - idle))
    if name != "table":  # of no steady state
        answer(mq.Queue(size, 1.0))


@pytest.mark.parametrize("law", LAWS)
def test_means_and_slopes_have_their_digits_to_the_end(law: str) -> None:
    """1e-15/(1 − ρ) and 1e-14/(1 − ρ), which is below 1e-6 up to the loads that are refused; and hardly less further."""
    turn = list(LAWS).index(law)
    quantum = 1.3 * queues(law, turn, 1.0)[0].mean_service_time
    policy = mq.MLPT(quantum=quantum, levels=4)
    errors = []
    for idle in (1e-7, 2e-8, 2e-9):
        queue, literal = loaded(law, turn, 1 - idle, policy)
        with reference.digits():
            exact = reference.theorem(literal, reference.equal_boundaries(literal, quantum, 4))
            left = 1 - exact.effective_load
            mean = mq.mean_response_time(queue, policy)
            errors.append(float(abs(mean / exact.mean_response_time - 1)))
            assert errors[-1] < 1e-15 / left
            if idle > 1e-8 and law not in ("Deterministic", "Empirical"):
                direction = [mp.mpf(r) for r in range(1, 4)]
                slope = reference.slope(literal, [r * quantum for r in range(1, 4)], direction)
                off = quantum_slopes(queue, np.array([quantum]), 4).slope[0] - slope
                assert abs(off) < 1e-14 / left * max(abs(slope), mean / quantum)
    assert max(errors) > 1e-13


def test_probabilities_have_their_digits_to_the_end() -> None:
    """Exponential sizes under FCFS: P(T > t) = e^{−(μ − λ) t}, at a mean response of nine million services."""
    idle = 1.1e-7
    found = mq.response_time_distribution(mq.Queue(mq.Exponential(1.0), 1 - idle), mq.FCFS())
    chances = np.array([0.1, 0.5, 0.9, 0.99])
    left = 1 - found.queue.base_load
    np.testing.assert_allclose(found.cdf(-np.log1p(-chances) / left), chances, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.quantile(chances[:3]), -np.log1p(-chances[:3]) / left, rtol=1e-5)


def test_no_quantile_contradicts_the_distribution_function() -> None:
    """A load of 1 − 1e-16, where the one said 5.9e56 and the other 1 at 1e56 and 0 from 3e56 on."""
    queue = mq.Queue(mq.Erlang(1000000, 1e-29), 1.1111109876543342e-41, 1e34, 1e-6)
    for policy in (mq.MLPT(quanta=(1e65, 1e5, 1e34, 1e41)), mq.FCFS()):
        with pytest.raises(SaturationError, match="the load is 1 - "):
            mq.response_time_distribution(queue, policy)


def test_a_search_passes_quanta_that_are_too_close() -> None:
    """As it passes those under which the queue is unstable."""
    size = mq.Gamma(4.0, 0.25)
    quantum = float(_first_look(mq.Queue(size, 0.5))[0])
    policy = mq.MLPT(quantum=quantum, levels=2)
    load = mq.solve(mq.Queue(size, 0.5, preemption_cost=0.2), policy).effective_load / 0.5
    queue = mq.Queue(size, (1 - 3e-8) / load, preemption_cost=0.2)
    with pytest.raises(SaturationError):
        Objective.of("p90").value(queue, policy)
    best = best_quantum_for(queue, 2, "p90")
    assert 0 < best.value <= best.fcfs < math.inf
    assert best.effective_load < 1 - 1e-3
