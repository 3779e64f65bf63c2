"""Figure 14: what its data say, and that its simulated points are where the theory is."""

from pathlib import Path

import pytest

import mlptsym as mq
from mlptsym.studies.data import read_figure_data
from mlptsym.studies.lazy import ALONE, BY_COST, GAIN, lazy_by_cost, lazy_by_load

SIZE = mq.LogNormal(5, 0.9)
QUEUE = mq.Queue(SIZE, 0.0036, 6 * SIZE.mean, 0.39, 0.1)
STORED = Path(__file__).parents[2] / "figures" / "fig14.csv"


def test_the_largest_gain_is_marked_and_unstable_quanta_are_gaps() -> None:
    data = lazy_by_cost(QUEUE, [1.0], [0.1, 0.2, 1.0, 3.0])
    gains = [row.y for row in data.select(panel=BY_COST, kind="theory")]
    assert gains[2] == float("inf") and max(gains[:2] + gains[3:]) < 1
    (most,) = data.select(panel=BY_COST, kind="marker")
    assert (most.x, most.y) == (pytest.approx(0.1), gains[0])


def test_demotions_without_cost_fall_with_load_and_quantum() -> None:
    data = lazy_by_load(QUEUE, [0.1, 0.9], [0.5, 2.0])
    low, high = ([row.y for row in data.select(panel=ALONE, curve=f"base load {load}")] for load in (0.1, 0.9))
    assert 1 > low[0] > low[1] > high[0] > high[1] > 0


def test_simulated_points_are_where_the_theory_is() -> None:
    """Fifteen differences on common traces, Student's t with 7 degrees of freedom, false-alarm rate 1e-3 for all."""
    points = read_figure_data(STORED).select(panel=GAIN, kind="simulation")
    assert len(points) == 15
    for point in points:
        load = float(point.curve.removeprefix("base load "))
        (exact, *_) = lazy_by_load(QUEUE, [load], [point.x]).select(panel=GAIN, kind="theory")
        assert abs(point.y - exact.y) < 7.0 * point.standard_error
