"""The data of figure 14: what is drawn against what, by the theory and by simulation."""

import math

import numpy as np
import pytest

import mlptsym as mq
from mlptsym.studies.lazy import ALONE, BY_COST, GAIN, lazy_by_cost, lazy_by_load, lazy_simulated

QUEUE = mq.Queue(mq.LogNormal(2, 0.9), 0.01, 40.0, 0.5, 0.3)
MULTIPLES = [0.3, 0.8, 2.0]


def test_quanta_are_in_mean_sizes_and_gains_in_per_cent() -> None:
    data = lazy_by_load(QUEUE, [0.4], MULTIPLES)
    queue = mq.Queue(QUEUE.size, 0.4 / QUEUE.mean_service_time, 40.0, 0.5, 0.3)
    quanta = np.array(MULTIPLES) * QUEUE.size.mean
    alone, gains = data.select(panel=ALONE), data.select(panel=GAIN, kind="theory")
    assert [row.x for row in alone] == [row.x for row in gains] == pytest.approx(MULTIPLES)
    assert [row.y for row in alone] == pytest.approx(mq.lazy_terms(queue, quanta).alone)
    lazy, eager = (
        mq.mean_response_time(queue, mq.MLPT(quantum=quanta, levels=2, lazy=waits)) for waits in (True, False)
    )
    assert [row.y for row in gains] == pytest.approx(100 * (1 - lazy / eager), rel=1e-9)
    (most,) = data.select(panel=GAIN, kind="marker")
    assert (most.x, most.y) == max(((row.x, row.y) for row in gains), key=lambda point: point[1])


def test_costs_take_the_place_of_the_queues_own() -> None:
    """Where the queue is unstable the gain is infinite, and no marker is set if it is everywhere."""
    data = lazy_by_cost(QUEUE, [0.1, 1e6], MULTIPLES)
    queue = mq.Queue(QUEUE.size, 0.01, 40.0, 0.5, 0.1)
    terms = mq.lazy_terms(queue, np.array(MULTIPLES) * QUEUE.size.mean)
    rows = data.select(panel=BY_COST, kind="theory")
    assert [row.y for row in rows[:3]] == pytest.approx(100 * terms.gain / (terms.gain + terms.mean_response_time))
    assert all(math.isinf(row.y) for row in rows[3:])
    assert len(data.select(panel=BY_COST, kind="marker")) == 1


def test_simulated_gains_are_those_of_the_theory() -> None:
    """With a false-alarm rate of 1e-4: Student's t with 11 degrees of freedom, for two points."""
    point, other = lazy_simulated(QUEUE, [0.3], [0.5, 1.0], jobs=20_000, warmup=2_000, seeds=12).select(panel=GAIN)
    exact = lazy_by_load(QUEUE, [0.3], [0.5, 1.0]).select(panel=GAIN, kind="theory")
    for found, row in zip((point, other), exact, strict=True):
        assert found.x == pytest.approx(row.x)
        assert abs(found.y - row.y) < 5.9 * found.standard_error < 0.5 * row.y
