"""The certified optimum: proved bounds that hold the best quantum's mean, 1e-6 apart."""

import math

import pytest

import mlptsym as mq

SLOW = {"slowdown_factor": 0.5, "preemption_cost": 0.1}
QUEUES = {
    "lognormal": mq.Queue(mq.LogNormal(5.0, 0.9), 0.0036, 1335.1, slowdown_factor=0.39, preemption_cost=0.1),
    "exponential": mq.Queue(mq.Exponential(1.0), 0.6, 2.0, **SLOW),
    "gamma": mq.Queue(mq.Gamma(0.5, 2.0), 0.5, 3.0, **SLOW),
    "hyperexponential": mq.Queue(mq.HyperExponential([0.9, 0.1], [1.0, 0.1]), 0.3, 8.0, **SLOW),
    "uniform": mq.Queue(mq.Uniform(0.0, 4.0), 0.3, 3.0, **SLOW),
    "deterministic": mq.Queue(mq.Deterministic(2.0), 0.3, 1.0, **SLOW),
}


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("threshold", [3.0, 6.0, 8.0])
def test_bounds_hold_the_minimum(levels: int, threshold: float) -> None:
    """At the paper's parameters: lower ≤ E[T(θ*)] ≤ upper within 1e-6, with nothing left open."""
    law = mq.LogNormal(5.0, 0.9)
    queue = mq.Queue(law, 0.0036, threshold * law.mean, slowdown_factor=0.39, preemption_cost=0.1)
    best = mq.optimal_quantum(queue, levels, certify=True)
    assert best.open_quanta == ()
    assert best.lower is not None
    assert best.upper is not None
    assert best.lower <= best.mean_response_time <= best.upper * (1 + 1e-12)
    assert best.upper - best.lower <= 1.001e-6 * best.upper


@pytest.mark.parametrize("name", QUEUES)
def test_infinitely_many_levels(name: str) -> None:
    """k = ∞, smooth and at a kink, or FCFS: the same, with what is left out of the sums bounded."""
    best = mq.optimal_quantum(QUEUES[name], math.inf, certify=True)
    assert best.open_quanta == ()
    assert best.lower is not None
    assert best.upper is not None
    assert best.lower <= best.mean_response_time <= best.upper * (1 + 1e-12)
    assert best.upper - best.lower <= 1.001e-6 * best.upper
