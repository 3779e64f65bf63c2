"""Figure 12: percentiles against the quantum."""

import math

import numpy as np
import pytest

import mlptsym as mq
from mlptsym.figures.percentiles import draw_percentiles
from mlptsym.studies.percentiles import _vertex, percentile_name, percentiles_by_quantum

QUEUE = mq.Queue(mq.Exponential(1.0), 0.5, 2.0, 0.5, 0.2)


def test_points_are_percentiles() -> None:
    """Every row is a quantile of its policy; kinks and the best quantum are among the points; lowest is lowest."""
    data = percentiles_by_quantum(QUEUE, [2], [1.5, 4.0], [0.5, 0.99])
    assert {row.panel for row in data.rows} == {"P50", "P99"}
    assert data.select(panel="P99", curve="FCFS")[0].y == mq.response_time_distribution(QUEUE, mq.FCFS()).quantile(0.99)
    curve = data.select(panel="P99", curve="MLPT-(θ, 2)")
    assert {1.5, 2.0, 4.0} <= {row.x for row in curve}
    assert [row.x for row in curve] == sorted(row.x for row in curve)
    for row in curve[::2]:
        policy = mq.MLPT(quantum=row.x, levels=2)
        assert row.y == mq.response_time_distribution(QUEUE, policy).quantile([0.5, 0.99])[1]
    lowest = data.select(panel="P99", curve="MLPT-(θ, 2): lowest")
    assert [row.y for row in lowest] == [min(row.y for row in curve)]
    best = mq.optimal_quantum(QUEUE, 2).quantum
    assert [row.x for row in data.select(panel="P50", curve="MLPT-(θ, 2): θ*")] == ([best] if 1.5 <= best <= 4 else [])
    figure = draw_percentiles(data, QUEUE)
    assert [axes.get_title() for axes in figure.axes] == ["P50 of the response time", "P99 of the response time"]


def test_unstable_quanta_are_infinite() -> None:
    queue = mq.Queue(mq.Exponential(1.0), 0.8, preemption_cost=1.0)
    data = percentiles_by_quantum(queue, [math.inf], [0.2, 30.0], [0.9])
    assert math.isinf(data.select(curve="MLPT-(θ, ∞)")[0].y)
    draw_percentiles(data, queue)


def test_names() -> None:
    assert [percentile_name(p) for p in (0.5, 0.999, 0.07)] == ["P50", "P99.9", "P7"]


def test_the_vertex_of_a_parabola() -> None:
    places = np.array([1.0, 2.0, 4.0, 8.0])
    assert _vertex(places, 5 + (np.log(places / 2.5)) ** 2) == pytest.approx([2.5])
    assert _vertex(places, places) == []
    assert _vertex(places, np.array([np.inf, 1.0, 2.0, 3.0])) == []
