"""Figures 10 and 11: θ* against a parameter, with the ends of plateaus and the places of jumps where they are."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from mlptsym import MLPT, LogNormal, ParameterError, Queue, mean_response_time, parallel, rule_of_thumb
from mlptsym.figures import read_figure_data
from mlptsym.figures.parameter_sweeps import draw_best_quanta, draw_plateaus
from mlptsym.numeric.mean.gradient import quantum_slopes
from mlptsym.numeric.optimal.optimum import optimal_quantum
from mlptsym.runtime import plan
from mlptsym.studies.best_quanta import Found, best_quanta, jumps, piece, plateaus, rules_of_thumb
from mlptsym.studies.parameter_sweeps import ParameterSweep, best_quanta_by_parameter, plateaus_by_threshold

FIGURES = plan.notebook_folder().parent / "figures"
LAW = LogNormal(5, 0.9)
SMALL, LARGE = (Queue(LAW, 0.0036, x * LAW.mean, slowdown_factor=0.39, preemption_cost=0.1) for x in (3, 8))
BY_THRESHOLD = ParameterSweep(SMALL, "slowdown_threshold", 2.2, 7.5)


@pytest.fixture(scope="module")
def two_levels() -> tuple[Found, ...]:
    with parallel(jobs=1):
        return BY_THRESHOLD.best(2, 8)


@pytest.fixture(scope="module")
def many_levels() -> tuple[Found, ...]:
    with parallel(jobs=1):
        return ParameterSweep(SMALL, "slowdown_threshold", 3.0, 7.2).best(math.inf, 7)


def test_every_point_is_the_best_quantum(two_levels: tuple[Found, ...]) -> None:
    for one in two_levels[::3]:
        queue = BY_THRESHOLD.at(one.parameter)
        here = mean_response_time(queue, MLPT(quantum=one.best.quantum, levels=2))
        quanta = np.geomspace(0.05, 40, 300) * LAW.mean
        assert here <= mean_response_time(queue, MLPT(quantum=quanta, levels=2)).min() * (1 + 1e-12)
        assert here == pytest.approx(one.best.mean_response_time, rel=1e-12)
    assert [one.parameter for one in two_levels] == sorted(one.parameter for one in two_levels)


def test_a_plateau_ends_where_a_one_sided_slope_is_zero(many_levels: tuple[Found, ...]) -> None:
    """And an optimum a little further on is no longer the kink, while one a little before is."""
    found = plateaus(many_levels)
    assert list(found) == [1, 2]
    for number, ends in found.items():
        for end, outward in zip(ends, (-1, 1), strict=True):
            queue = BY_THRESHOLD.at(end)
            kink = end * LAW.mean / number
            slopes = quantum_slopes(queue, kink * np.array([1 - 1e-13, 1.0]), math.inf).slope
            assert np.abs(slopes).min() < 1e-8 * np.abs(slopes).max()
            for step, pinned in ((-1e-3, True), (1e-3, False)):
                there = BY_THRESHOLD.at(end + outward * step)
                ratio = there.slowdown_threshold / optimal_quantum(there, math.inf).quantum
                assert (abs(ratio - number) < 1e-9) == pinned


def test_at_a_jump_both_quanta_are_equally_good(two_levels: tuple[Found, ...]) -> None:
    found = jumps(two_levels)
    assert [round(place, 6) for place, *_ in found] == [2.513557, 6.777953]
    for place, *quanta in found:
        times = mean_response_time(BY_THRESHOLD.at(place), MLPT(quantum=quanta, levels=2))
        assert times[0] == pytest.approx(times[1], rel=1e-12)
        assert max(quanta) > 1.3 * min(quanta)
        for side, quantum in zip((-1e-6, 1e-6), quanta, strict=True):
            assert optimal_quantum(BY_THRESHOLD.at(place + side), 2).quantum == pytest.approx(quantum, rel=1e-3)


def test_no_line_is_drawn_across_a_jump(two_levels: tuple[Found, ...], many_levels: tuple[Found, ...]) -> None:
    """Between neighbours at different parameters θ* is continuous: its piece is the same, or they meet."""
    for found in (two_levels, many_levels):
        for left, right in itertools.pairwise(found):
            if left.parameter != right.parameter:
                assert piece(left) == piece(right) or left.meeting or right.meeting
                if left.best.kind == right.best.kind == "smooth":
                    assert max(left.best.quantum, right.best.quantum) < 1.07 * min(
                        left.best.quantum, right.best.quantum
                    )


def test_where_fcfs_is_best_the_quantum_is_infinite() -> None:
    sweep = ParameterSweep(SMALL, "preemption_cost", 0.6, 1.2)
    with parallel(jobs=1):
        found = sweep.best(2, 3)
    assert piece(found[-1]) == ("fcfs", 0)
    ((place, before, after),) = jumps(found)
    assert before < after == math.inf
    queue = sweep.at(place)
    best = mean_response_time(queue, MLPT(quantum=before, levels=2))
    assert best == pytest.approx(optimal_quantum(queue, 2).fcfs, rel=1e-12)


def test_without_slowdown_there_is_no_plateau() -> None:
    with parallel(jobs=1):
        found = best_quanta(lambda cost: Queue(LAW, 0.0036, preemption_cost=cost), 2, 0.05, 0.1, 2)
    assert plateaus(found) == {}
    assert {piece(one) for one in found} == {("smooth", 0)}


def test_the_rule_of_thumb_jumps_at_the_ends_of_its_range() -> None:
    sweep = ParameterSweep(SMALL, "slowdown_threshold", 2.0, 8.0)
    places, quanta = rules_of_thumb(sweep.at, 2, [2.0, 4.0, 8.0])
    assert places == pytest.approx([2, 3, 3, 4, 7, 7, 8], rel=1e-11)
    expected = [rule_of_thumb(sweep.at(x), k) for x, k in zip(places, (2, math.inf, 2, 2, 2, math.inf, 2), strict=True)]
    assert quanta == pytest.approx(expected, rel=1e-11)
    assert rules_of_thumb(sweep.at, math.inf, [2.0, 8.0])[0] == (2.0, 8.0)


def test_a_sweep_is_refused_where_it_has_no_meaning() -> None:
    with pytest.raises(ParameterError, match="name = 'arrival_rate'"):
        ParameterSweep(SMALL, "arrival_rate", 0.1, 0.2)
    with pytest.raises(ParameterError, match="high = 0.1"):
        ParameterSweep(SMALL, "preemption_cost", 0.2, 0.1)


@pytest.mark.parametrize("queue", [SMALL, LARGE], ids=["small", "large"])
def test_data_and_drawing(queue: Queue) -> None:
    sweeps = {letter: ParameterSweep(queue, "slowdown_factor", 0.39, 0.6) for letter in "abcde"}
    with parallel(jobs=1):
        data = best_quanta_by_parameter({"a": sweeps["a"]}, [2], 2)
    assert {row.curve for row in data.select(kind="theory")} == {"θ*, k = 2", "θ̂, k = 2"}
    figure = draw_best_quanta(data, sweeps)
    assert len(figure.axes) == 5
    with pytest.raises(ParameterError, match="five panels"):
        draw_best_quanta(data, {"a": sweeps["a"]})


def test_plateaus_are_whole_numbers_of_quanta() -> None:
    with parallel(jobs=1):
        data, found = plateaus_by_threshold(SMALL, [0.1], 3.2, 5.0, 3)
    assert set(found) == {0.1}
    ends = data.select("ℓ_C/θ*", kind="marker")
    assert [row.y for row in ends] == [1, 1]
    assert [row.x for row in ends] == pytest.approx([3.4689886, 4.5979914], abs=1e-6)
    assert len(draw_plateaus(data).axes) == 2


def test_committed_curves_have_their_plateaus_exactly() -> None:
    """Every marked point of figures 10 and 11 lies on ℓ_C/m, and so do the points of the curve in between."""
    data = read_figure_data(FIGURES / "fig10.csv")
    panel = next(row.panel for row in data.rows)
    ends = data.select(panel, "θ*, k = ∞: ℓ_C/2", "marker")
    assert [row.y for row in ends] == pytest.approx([row.x / 2 for row in ends], rel=1e-14)
    between = [row for row in data.select(panel, "θ*, k = ∞") if ends[0].x <= row.x <= ends[1].x]
    assert len(between) >= 3
    assert [row.y for row in between] == pytest.approx([row.x / 2 for row in between], rel=1e-13)
