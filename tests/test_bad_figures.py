"""Values that nobody meant, given to the functions behind the figures: as in test_bad_calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bad_values import ANYTHING, Call, Later, check_call, laid_out
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
from mlptsym.figures.arrivals import draw_arrivals
from mlptsym.figures.crossings import draw_hazard_crossings
from mlptsym.figures.lazy import draw_lazy
from mlptsym.figures.loads import draw_loads
from mlptsym.figures.parameter_sweeps import draw_best_quanta, draw_plateaus
from mlptsym.figures.percentiles import draw_percentiles
from mlptsym.figures.quanta import draw_quanta
from mlptsym.figures.schematic import draw_schematic
from mlptsym.figures.unequal import draw_unequal
from mlptsym.studies.arrivals import response_by_arrival_rate
from mlptsym.studies.best_quanta import best_quanta, jumps, piece, plateaus, rules_of_thumb, threshold_of
from mlptsym.studies.crossings import crossings, hazard_crossings
from mlptsym.studies.lazy import lazy_by_cost, lazy_by_load, lazy_simulated
from mlptsym.studies.loads import at_load, best_name, capped_name, simulation_by_load, theory_by_load
from mlptsym.studies.one_job import job_on_server
from mlptsym.studies.parameter_sweeps import (
    QUANTUM,
    RATIO,
    ParameterSweep,
    best_curve,
    best_quanta_by_parameter,
    plateaus_by_threshold,
    rule_curve,
    summary,
)
from mlptsym.studies.percentiles import percentile_name, percentiles_by_quantum
from mlptsym.studies.quanta import level_name, optima_by_quantum, simulation_by_quantum, theory_by_quantum
from mlptsym.studies.unequal import best_quanta as best_unequal_quanta
from mlptsym.studies.unequal import gain_by_levels, quanta_by_level, threshold_name

QUEUE = mq.Queue(mq.Exponential(1.0), 0.5, slowdown_threshold=2.0, slowdown_factor=0.5, preemption_cost=0.1)
SWEEP = ParameterSweep(QUEUE, "preemption_cost", 0.1, 0.2)
FIGURES = Path(__file__).parents[1] / "figures"
DATA = FigureData().with_curve("", "FCFS", "theory", [1, 2], [3, 4])
RUN = {"jobs": 30, "warmup": 3, "seeds": 2, "root_seed": 1}
SMALL = dict.fromkeys((*RUN, "points"), st.one_of(st.integers(-2, 12), ANYTHING.filter(lambda v: type(v) is not int)))


@cache
def _chain() -> Any:
    return best_unequal_quanta(QUEUE, 2)


@cache
def _found() -> Any:
    return best_quanta(SWEEP.at, 2, 0.1, 0.2, points=2)


CHAIN, FOUND = Later(_chain), Later(_found)
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
    Call(lazy_by_load, {"queue": QUEUE, "loads": [0.5], "multiples": [0.5, 1.0]}),
    Call(lazy_by_cost, {"queue": QUEUE, "costs": [0.1], "multiples": [0.5, 1.0]}),
    Call(lazy_simulated, {"queue": QUEUE, "loads": [0.5], "multiples": [1.0], **RUN}, 8, instead=SMALL),
    Call(best_unequal_quanta, {"queue": QUEUE, "levels": 2}),
    Call(gain_by_levels, {"queue": QUEUE, "chain": CHAIN, **RUN}, 8, instead=SMALL),
    Call(quanta_by_level, {"queue": QUEUE, "best": Later(lambda: _chain()[0])}),
    Call(FigureData, {"rows": DATA.rows}),
    Call(SWEEP.best, {"levels": 2, "points": 2}, 6),
    Call(best_curve, {"levels": 2}),
    Call(rule_curve, {"levels": 2}),
    Call(jumps, {"found": FOUND}),
    Call(plateaus, {"found": FOUND}),
    Call(piece, {"found": Later(lambda: _found()[0])}),
    Call(threshold_of, {"queue": QUEUE}),
]  # fmt: skip

# Drawings: of anything, of the data of other figures, and of their own with a row lost or changed ----------------------

PANELS = ["(a)", "(b)", "(c)", "(d)", "(e)"]


@cache
def _drawn() -> dict[str, FigureData]:
    """Data that each drawing is made for."""
    best, lines = FigureData(), FigureData()
    for panel in PANELS:
        best = best.with_curve(panel, "θ*, k = 2", "theory", [0.1, 0.15, 0.15, 0.2], [2, 2, 3, math.inf])
        best = best.with_curve(panel, "θ*, k = 2: ℓ_C/1", "marker", [0.1, 0.15], 2)
    for panel in (QUANTUM, RATIO):
        lines = lines.with_curve(panel, "γ = 0.1", "theory", [1, 2, 3], [1, 2, 2.5])
        lines = lines.with_curve(panel, "γ = 0.1: plateau 1", "marker", [1, 2], [1, 2])
    loads = theory_by_load(QUEUE, [0.5, 0.9], [2])
    loads = loads.with_curve("", "G", "simulation", [0.5, 0.9], [3, 4], standard_error=0.1)
    quanta = FigureData(theory_by_quantum(QUEUE, [2], 5.0, 4).rows + optima_by_quantum(QUEUE, [2]).rows)
    gains = quanta_by_level(QUEUE, _chain()[0])
    return {
        "arrivals": response_by_arrival_rate({"a": QUEUE}, 3),
        "crossings": hazard_crossings({"a": {"A/B": QUEUE}}, 5.0, 3),
        "quanta": quanta.with_curve("", "FCFS", "simulation", 5.0, 3.0, standard_error=0.1),
        "best": best,
        "plateaus": lines,
        "percentiles": percentiles_by_quantum(QUEUE, [2], [1.0, 2.0], [0.5]),
        "loads": loads.with_curve("", "G: left out, unstable, load 2", "marker", 0.95, math.inf),
        "schematic": job_on_server(QUEUE, 4.0, 1.0, 3),
        "lazy": FigureData(
            lazy_by_load(QUEUE, [0.2, 0.5], [0.5, 1.0, 2.0]).rows + lazy_by_cost(QUEUE, [0.1], [0.5, 1.0, 2.0]).rows
        ),
        "unequal": gains.with_curve("gain over equal quanta", threshold_name(QUEUE), "theory", [2, 3], [0, 1]),
    }


LENGTHS = st.sampled_from([0.0, 1e-30, 0.5, 1.0, 1e30, 1e300, -1.0, math.inf, -math.inf])
NAMES = st.sampled_from(["", "FCFS", "θ*, k = 2: ℓ_C/x", ": plateau x", "h_L", "$", r"$\frac$", "k = 数", "."])
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "panel": NAMES, "curve": NAMES, "kind": st.sampled_from(["theory", "simulation", "marker"]), "x": LENGTHS,
        "y": LENGTHS, "standard_error": LENGTHS.filter(lambda error: error >= 0),
    },
)  # fmt: skip


def _altered(data: FigureData) -> st.SearchStrategy[FigureData]:
    """The data with a row changed, or without some rows."""
    places = st.integers(0, len(data.rows) - 1)
    changed = st.builds(
        lambda at, words: (*data.rows[:at], replace(data.rows[at], **words), *data.rows[at + 1 :]), places, CHANGES
    )
    lost = st.builds(lambda at, count: data.rows[:at] + data.rows[at + count :], places, st.integers(1, len(data.rows)))
    return st.one_of(changed, changed, lost).map(FigureData)


def _drawing(draw: Callable[..., Any], name: str, tried: int = 8, **good: Any) -> Call:
    def others() -> st.SearchStrategy[Any]:
        altered = _altered(_drawn()[name])
        return st.one_of(altered, altered, st.sampled_from([FigureData(), *_drawn().values()]), ANYTHING)

    data = Later(lambda: _drawn()[name])
    return Call(laid_out(draw), {"data": data, **good}, tried, instead={"data": st.deferred(others)})


DRAWINGS = [
    _drawing(draw_arrivals, "arrivals", highest=1e5),
    _drawing(draw_hazard_crossings, "crossings", mean_size=1.0, thresholds={"a": 2.0}),
    _drawing(draw_quanta, "quanta", queue=QUEUE),
    _drawing(draw_best_quanta, "best", sweeps=dict.fromkeys(PANELS, SWEEP)),
    _drawing(draw_plateaus, "plateaus"),
    _drawing(draw_percentiles, "percentiles", queue=QUEUE),
    _drawing(draw_loads, "loads"),
    _drawing(draw_schematic, "schematic"),
    _drawing(draw_lazy, "lazy"),
    _drawing(draw_unequal, "unequal", names=(threshold_name(QUEUE),)),
    Call(summary, {"data": Later(lambda: _drawn()["best"])},
         instead={"data": st.deferred(lambda: st.one_of(_altered(_drawn()["best"]), ANYTHING))}),
]  # fmt: skip
CALLS += DRAWINGS


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.function.__qualname__)
def test_any_value_in_place_of_one_or_two_arguments(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_call(call)
