"""Figure 9: curves and points are what theory and simulation give one by one, and no unstable point is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlptsym import (
    FCFS,
    MLPT,
    CappedGittins,
    Deterministic,
    Exponential,
    LogNormal,
    ParameterError,
    Queue,
    mean_response_time,
    simulate,
)
from mlptsym.figures import FigureData, read_figure_data
from mlptsym.figures.loads import draw_loads
from mlptsym.numeric.optimal.optimum import optimal_quantum
from mlptsym.runtime import plan
from mlptsym.studies.loads import at_load, best_name, simulation_by_load, theory_by_load

LAW = LogNormal(5, 0.9)
QUEUE = Queue(LAW, 0.001, 6 * LAW.mean, slowdown_factor=0.39, preemption_cost=0.1)
COMMITTED = plan.notebook_folder().parent / "figures" / "fig09.csv"


def test_a_load_gives_the_arrival_rate() -> None:
    assert at_load(QUEUE, 0.7).base_load == pytest.approx(0.7, rel=1e-14)
    with pytest.raises(ParameterError, match="load = 0"):
        at_load(QUEUE, 0)
    assert Queue(Deterministic(1.9), 1 / 1.9).base_load < 1 <= at_load(Queue(Deterministic(1.9), 0.1), 1.0).base_load


def test_theory_is_the_best_quantum_at_every_load() -> None:
    data = theory_by_load(QUEUE, [0.4, 0.9], [2])
    for load in (0.4, 0.9):
        queue = at_load(QUEUE, load)
        (fcfs,) = [row.y for row in data.select(curve="FCFS") if row.x == load]
        (best,) = [row.y for row in data.select(curve="MLPT-(θ*, 2)") if row.x == load]
        assert fcfs == mean_response_time(queue, FCFS())
        quanta = np.geomspace(0.01, 100, 400) * LAW.mean
        assert best <= mean_response_time(queue, MLPT(quantum=quanta, levels=2)).min()
    assert math.isinf(theory_by_load(QUEUE, [1.0], [2]).select(curve=best_name(2))[0].y)


def test_points_are_those_of_single_simulations() -> None:
    counts = {"jobs": 300, "warmup": 50, "seeds": 2, "root_seed": 5}
    data = simulation_by_load(QUEUE, [0.5], [math.inf], [1], **counts)
    queue = at_load(QUEUE, 0.5)
    quantum = optimal_quantum(queue, math.inf).quantum
    policies = [FCFS(), MLPT(quantum=quantum, levels=math.inf), CappedGittins(1)]
    assert [row.curve for row in data.rows] == ["FCFS", "MLPT-(θ*, ∞)", "Capped Gittins(2)"]
    for row, policy in zip(data.rows, policies, strict=True):
        result = simulate(queue, policy, **counts)
        assert (row.x, row.y, row.standard_error) == (0.5, result.mean, result.standard_error)


def test_an_unstable_point_is_left_out_with_a_note() -> None:
    """No mean at a load beyond one, whose trace has a finite one, and none for a cap that brings the load to one."""
    costly = Queue(Exponential(1.0), 0.5, preemption_cost=0.5)
    data = simulation_by_load(costly, [0.5, 0.9, 1.1], [2], [3], jobs=2000, warmup=500, seeds=4)
    assert [row.x for row in data.select(curve="FCFS")] == [0.5, 0.9]
    markers = data.select(kind="marker")
    assert {row.y for row in markers} == {math.inf}
    assert (markers[0].curve, markers[0].x) == ("FCFS: left out, unstable, load 1.1000", 1.1)
    left_out = [row for row in markers if row.curve.startswith("Capped Gittins(4): left out, unstable, measured load ")]
    assert {row.x for row in left_out} >= {1.1}
    assert all(float(row.curve.rpartition(" ")[2]) > 0.95 for row in left_out)
    drawn = {row.x for row in data.select(curve="Capped Gittins(4)", kind="simulation")}
    assert drawn | {row.x for row in left_out} == {0.5, 0.9, 1.1}
    figure = draw_loads(data)
    (axes,) = figure.axes
    figure.canvas.draw()
    assert "unstable" in {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    arrows = [line for line in axes.lines if line.get_marker() == r"$\uparrow$" and len(line.get_xdata())]
    assert sorted(line.get_xdata()[0] for line in arrows) == sorted(row.x for row in markers)
    places = np.vstack([line.get_transform().transform(line.get_xydata()) for line in arrows])
    assert len(np.unique(places.round(6), axis=0)) == len(markers)  # side by side, where one load has several
    assert all(axes.bbox.contains(*place) for place in places)
    curves = [line for line in axes.lines if line not in arrows]
    heights = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in curves])
    assert heights[np.isfinite(heights)].max() <= max(row.y for row in data.rows if math.isfinite(row.y)) * 1.5


@pytest.mark.parametrize("load", [0.6, 0.9])
def test_the_curves_fill_the_axes_where_nothing_is_unstable(load: float) -> None:
    """No room for arrows that are not there, nor for loads that were not asked for: nine tenths of both lengths."""
    axes = draw_loads(theory_by_load(QUEUE, np.linspace(0.3, load, 5), [2])).axes[0]
    drawn = np.vstack([axes.transData.transform(line.get_xydata()) for line in axes.lines if len(line.get_xdata())])
    assert (np.ptp(drawn, axis=0) > 0.9 * axes.bbox.size).all()


def test_what_is_committed_leaves_out_the_point_the_paper_leaves_out() -> None:
    data = read_figure_data(COMMITTED)
    (note,) = data.select(kind="marker")
    assert note.curve.startswith("Capped Gittins(3): left out, unstable, measured load 1.0")
    assert (note.x, note.y) == (0.97, math.inf)
    points = {row.curve: row.y for row in data.select(kind="simulation") if row.x == 0.97}
    assert points.keys() == {"FCFS", "MLPT-(θ*, 2)", "MLPT-(θ*, ∞)", "Capped Gittins(2)"}
    assert points["Capped Gittins(2)"] == pytest.approx(63145, abs=1)


def test_nothing_to_draw_is_drawn() -> None:
    assert draw_loads(FigureData()).axes
