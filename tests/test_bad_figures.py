"""Values that nobody meant, given to the functions behind the figures: as in test_bad_calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_values import ANYTHING, Call, check_call
from hypothesis import strategies as st
from matplotlib.figure import Figure

import mlptsym as mq
from mlptsym.figures import (
    FigureData,
    FigureRow,
    curve_style,
    figure_size,
    line_style,
    point_style,
    read_figure_data,
    save_figure,
)
from mlptsym.figures.arrivals import response_by_arrival_rate
from mlptsym.figures.base_load import at_load, best_name, capped_name, simulation_by_load, theory_by_load
from mlptsym.figures.best_quanta import best_quanta, rules_of_thumb
from mlptsym.figures.crossings import crossings, hazard_crossings
from mlptsym.figures.parameter_sweeps import ParameterSweep, best_quanta_by_parameter, plateaus_by_threshold
from mlptsym.figures.percentiles import percentile_name, percentiles_by_quantum
from mlptsym.figures.quanta import level_name, optima_by_quantum, simulation_by_quantum, theory_by_quantum
from mlptsym.figures.schematic import job_on_server
from mlptsym.figures.unequal import best_quanta as best_unequal_quanta
from mlptsym.figures.unequal import gain_by_levels, quanta_by_level, threshold_name

QUEUE = mq.Queue(mq.Exponential(1.0), 0.5, slowdown_threshold=2.0, slowdown_factor=0.5, preemption_cost=0.1)
CHAIN = best_unequal_quanta(QUEUE, 2)
SWEEP = ParameterSweep(QUEUE, "preemption_cost", 0.1, 0.2)
FIGURES = Path(__file__).parents[1] / "figures"
DATA = FigureData().with_curve("", "FCFS", "theory", [1, 2], [3, 4])
RUN = {"jobs": 30, "warmup": 3, "seeds": 2, "root_seed": 1}
SMALL = dict.fromkeys((*RUN, "points"), st.one_of(st.integers(-2, 12), ANYTHING.filter(lambda v: type(v) is not int)))
CALLS = [
    Call(curve_style, {"index": 1}),
    Call(line_style, {"index": 1}),
    Call(point_style, {"index": 1}),
    Call(figure_size, {"width": "page", "height": 2.0}),
    Call(FigureData().with_curve, {"panel": "", "curve": "a", "kind": "theory", "x": [1, 2], "y": 3, "standard_error": 1}),
    Call(DATA.select, {"panel": "", "curve": "FCFS", "kind": "theory"}),
    Call(FigureRow, {"panel": "", "curve": "a", "kind": "theory", "x": 1.0, "y": 2.0, "standard_error": None}),
    Call(read_figure_data, {"path": FIGURES / "fig01.csv"}),
    Call(save_figure, {"figure": Figure(), "data": DATA, "name": "a", "folder": "."}, 6),
    Call(response_by_arrival_rate, {"queues": {"a": QUEUE}, "points": 3}, instead=SMALL),
    Call(at_load, {"queue": QUEUE, "load": 0.5}),
    Call(best_name, {"levels": 2}),
    Call(capped_name, {"preemptions": 2}),
    Call(level_name, {"levels": 2}),
    Call(percentile_name, {"probability": 0.5}),
    Call(threshold_name, {"queue": QUEUE}),
    Call(theory_by_load, {"queue": QUEUE, "loads": [0.5], "levels": [2]}),
    Call(simulation_by_load, {"queue": QUEUE, "loads": [0.5], "levels": [2], "preemptions": [1], **RUN}, 8, instead=SMALL),
    Call(best_quanta, {"queue_at": SWEEP.at, "levels": 2, "low": 0.1, "high": 0.2, "points": 2, "highest": 9.0}, 8,
         fixed=("queue_at",), names=("preemption_cost",)),
    Call(rules_of_thumb, {"queue_at": SWEEP.at, "levels": 2, "parameters": [0.1, 0.2]}, fixed=("queue_at",), names=("preemption_cost",)),
    Call(crossings, {"queue": QUEUE, "longest": 5.0}),
    Call(hazard_crossings, {"panels": {"a": {"b": QUEUE}}, "longest": 5.0, "points": 5}),
    Call(ParameterSweep, {"queue": QUEUE, "name": "preemption_cost", "low": 0.1, "high": 0.2}),
    Call(SWEEP.at, {"value": 0.1}, names=("preemption_cost",)),
    Call(best_quanta_by_parameter, {"sweeps": {"a": SWEEP}, "levels": [2], "points": 2}, 8),
    Call(plateaus_by_threshold, {"queue": QUEUE, "costs": [0.1], "low": 1.0, "high": 1.1, "points": 2}, 5),
    Call(percentiles_by_quantum, {"queue": QUEUE, "levels": [2], "quanta": [1.0], "probabilities": [0.5]}, 5),
    Call(theory_by_quantum, {"queue": QUEUE, "levels": [2], "longest": 5.0, "points": 5}),
    Call(simulation_by_quantum, {"queue": QUEUE, "levels": [2], "quanta": [1.0], **RUN}, 8, instead=SMALL),
    Call(optima_by_quantum, {"queue": QUEUE, "levels": [2]}),
    Call(job_on_server, {"queue": QUEUE, "size": 4.0, "quantum": 1.0, "points": 5}),
    Call(best_unequal_quanta, {"queue": QUEUE, "levels": 2}),
    Call(gain_by_levels, {"queue": QUEUE, "chain": CHAIN, **RUN}, 8, instead=SMALL),
    Call(quanta_by_level, {"queue": QUEUE, "best": CHAIN[0]}),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.function.__qualname__)
def test_any_value_in_place_of_one_or_two_arguments(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_call(call)
