"""The certified optimum: proved bounds that hold the best quantum's mean, 1e-6 apart."""

import pytest

import mlptsym as mq


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
