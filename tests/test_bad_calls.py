"""Values that nobody meant, given to every public function: a right answer or a clear error.

Never another exception, a warning, a NaN, or a hang.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from bad_values import (
    ANYTHING,
    FACTORS,
    MANY,
    REFUSED,
    TEXTS,
    Call,
    Later,
    check_call,
    examples,
    laid_out,
    outcome,
    policies,
    queues,
)
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import mlptsym as mq
from mlptsym.batch import ScenarioFileError, check_folder, plan_batch, read_scenarios, run_batch
from mlptsym.figures import run_figures
from mlptsym.fitting.drawing import as_png, draw_arrivals, draw_everything, draw_response, draw_sizes
from mlptsym.fitting.fit import TraceFit, checked_fit, fit_trace
from mlptsym.fitting.laws import fit_laws, quantile_pairs
from mlptsym.fitting.mapping import as_mapping, in_time, verdict
from mlptsym.fitting.recommend import recommend
from mlptsym.fitting.report import check_name, html_report, write_report
from mlptsym.fitting.report_tables import law_in_words
from mlptsym.fitting.scale import TimeScale, time_scale
from mlptsym.fitting.trace.arrivals import (
    arrival_statistics,
    arrival_times,
    dispersion_indices,
    lewis_test,
    ljung_box_test,
    size_dependence,
)
from mlptsym.fitting.trace.clock import Clock, find_clock
from mlptsym.fitting.trace.reading import RecordedTrace, find_traces, read_trace
from mlptsym.fitting.words import clock_in_words, columns_in_words, policy_in_words, reading_notes
from mlptsym.laws import size_laws
from mlptsym.laws.base import SizeLaw
from mlptsym.ledger.claims.decision import decide
from mlptsym.ledger.claims.grammar import parse
from mlptsym.ledger.claims.tree import ClaimError
from mlptsym.ledger.registry import select
from mlptsym.ledger.render.display import at_queue, derivation, refutations, verdicts
from mlptsym.likelihood import Sample
from mlptsym.memory import memory_laws
from mlptsym.memory.base import Memory
from mlptsym.numeric.certified.branch_and_bound import certified_minimum
from mlptsym.numeric.distribution.percentiles import LevelDistribution, ResponseTimeDistribution
from mlptsym.numeric.mean.gradient import quantum_slopes, response_gradient
from mlptsym.numeric.mean.response import LevelTable
from mlptsym.numeric.optimal.objectives import best_quantum_for, mean_slowdown
from mlptsym.numeric.optimal.unequal import best_boundaries_by_level
from mlptsym.runtime.plan import find_notebooks, plan_figures
from mlptsym.simulation.simulate import SimulationResult, simulate_many
from mlptsym.simulation.traces import draw_pieces, draw_trace, draw_traces
from mlptsym.site import build_site
from mlptsym.sweeps import scheduler_address, sweep
from mlptsym.symbolic.model.service import service_mean
from mlptsym.validation import ParameterError

DATA = Path(__file__).parent / "data"
NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
EXAMPLE = NOTEBOOKS / "example_scenarios.yaml"
QUEUE = mq.Queue(mq.Gamma(2.0, 0.5), 0.5, slowdown_threshold=2.0, slowdown_factor=0.5, preemption_cost=0.1)
DISCRETE = mq.Queue(mq.Empirical([1.0, 2.0, 4.0]), 0.2, preemption_cost=0.1)
MLPT = mq.MLPT(quantum=1.0, levels=3)
SAMPLE = Sample.of([1.0, 2.0, 3.0, 5.0, 8.0, 8.0])
TRACE = RecordedTrace("t.csv", None, "tokens", "arrived", np.arange(1.0, 13.0), np.arange(12.0) ** 2, 12)
CLOCK = Clock(step=1.0, offsets=(0.0,), width=0.01, ties=0.5)
TIMES, FIGURE = np.arange(12.0) ** 2, Figure()
GENERATOR = np.random.default_rng(1)


@cache
def _fit() -> TraceFit:
    return fit_trace(TRACE, levels=[2], jobs=100)


@cache
def _distribution() -> ResponseTimeDistribution:
    return mq.response_time_distribution(QUEUE, MLPT)


FIT = Later(_fit)
SCALE = Later(lambda: _fit().recommendation.scale)
DISTRIBUTION = Later(_distribution)
TABLE = Later(lambda: mq.level_table(QUEUE, MLPT))
LEVEL = Later(lambda: _distribution().by_level[0])
RESULT = Later(lambda: mq.simulate(QUEUE, MLPT, jobs=20, warmup=2, seeds=2))


def _by_name(*calls: Call) -> dict[str, Call]:
    return {f"{place}-{getattr(call.function, '__qualname__', 'call')}": call for place, call in enumerate(calls)}


@wraps(mq.parallel)
def _in_parallel(**words: Any) -> None:
    with mq.parallel(**words):
        pass


def _read(function: Callable[..., Any]) -> Callable[..., None]:
    """The function, whose own clear errors are looked at by tests of its own."""

    @wraps(function)
    def called(*words: Any, **named: Any) -> None:
        with contextlib.suppress(ScenarioFileError, ClaimError):
            function(*words, **named)

    return called


class _WouldRunError(Exception):
    """Everything was accepted."""


def _not_run(function: Callable[..., Any], place: str) -> Callable[..., None]:
    """The function, up to a place behind which it would run or write, before which it has refused what it refuses."""

    @wraps(function)
    def called(**words: Any) -> None:
        before = set(Path().iterdir())
        try:
            with mock.patch(place, side_effect=_WouldRunError):
                function(**words)
        except (_WouldRunError, ScenarioFileError):
            pass
        except ParameterError:
            assert set(Path().iterdir()) == before
            raise

    return called


@wraps(check_folder)
def _checked(out: Any) -> Any:
    Path("checked").mkdir(exist_ok=True)
    Path("checked", "manifest.json").write_text('{"format": 1, "records": {}}')
    return check_folder(out)


@wraps(draw_traces)
def _traces(**words: Any) -> list[Any]:
    return list(draw_traces(**words))


@wraps(draw_pieces)
def _pieces(**words: Any) -> Any:
    return next(draw_pieces(**words))


@wraps(best_boundaries_by_level)
def _boundaries(**words: Any) -> list[Any]:
    return list(best_boundaries_by_level(**words))


@wraps(verdicts)
def _verdicts(name: Any) -> Any:
    return verdicts(name)


@wraps(derivation)
def _derivation(step: Any) -> Any:
    return derivation(step)


SMALL_RUN = {"jobs": 30, "warmup": 3, "seeds": 2, "root_seed": 1, "control": False, "workers": 1}
COUNTS = st.one_of(st.integers(-2, 40), ANYTHING.filter(lambda value: not (type(value) is int and value > 40)))
FEW = dict.fromkeys(("jobs", "warmup", "seeds"), COUNTS)


def good_parameters(law: type[SizeLaw | Memory]) -> dict[str, Any]:
    return dict(zip(inspect.signature(law).parameters, law.examples[0], strict=True))


LAW_METHODS = [
    Call(method, words, 4)
    for law in (law(*law.examples[0]) for law in size_laws().values())
    for method, words in (
        (law.density, {"x": 1.0}), (law.tail, {"x": 1.0}), (law.hazard, {"x": 1.0}),
        (law.log_density, {"x": 1.0}), (law.log_tail, {"x": 1.0}), (law.quantile, {"probability": 0.5}),
        (law.moment, {"order": 1}),
        (law.upper_moment, {"order": 1, "x": 1.0}), (law.sample, {"generator": GENERATOR, "count": 2}),
    )
]  # fmt: skip
CALLS = _by_name(
    *(Call(law, good_parameters(law)) for law in (*size_laws().values(), *memory_laws().values())),
    *LAW_METHODS,
    *(
        Call(method, words)
        for memory in (law(*law.examples[0]) for law in memory_laws().values())
        for method, words in (
            (memory.growth, {"ages": 1.0}),
            (memory.slope_at, {"ages": 1.0}),
            (memory.age_at, {"capacity": 1.0}),
            (memory.breaks, {"low": 0.0, "high": 9.0}),
        )
    ),
    Call(
        mq.Queue,
        {
            "size": mq.Exponential(1.0),
            "arrival_rate": 0.5,
            "slowdown_threshold": 2.0,
            "slowdown_factor": 0.5,
            "preemption_cost": 0.1,
            "memory": mq.LinearMemory(),
            "capacity": None,
            "unload_cost": 0.0,
        },
        30,
    ),
    Call(QUEUE.service_time, {"sizes": 1.0}),
    Call(QUEUE.size_at, {"attained": 1.0}),
    Call(QUEUE.restore_cost, {"ages": 1.0}),
    Call(QUEUE.service_moments, {"attained": 1.0, "antiderivative": False}),
    Call(QUEUE.service_moment, {"order": 1}),
    Call(mq.MLPT, {"quantum": 1.0, "levels": 2, "lazy": False}),
    Call(mq.MLPT, {"quanta": [1.0, 2.0], "levels": 3, "lazy": False}, names=("quantum",)),
    Call(MLPT.boundaries, {"limit": 5.0}),
    Call(mq.MLPT(quanta=[1.0, 2.0]).boundaries, {"limit": 5.0}),
    Call(mq.FCFS().boundaries, {"limit": 5.0}),
    Call(mq.CappedGittins, {"preemptions": 1, "minimum_quantum": 0.1}),
    Call(mq.CappedGittins(1).quantum_for, {"queue": QUEUE}),
    Call(mq.mean_response_time, {"queue": QUEUE, "policy": MLPT}, names=("lazy", "quantum")),
    Call(mq.solve, {"queue": QUEUE, "policy": MLPT}, names=("lazy", "quantum")),
    Call(mq.level_table, {"queue": QUEUE, "policy": MLPT}, names=("lazy", "quantum")),
    Call(LevelTable.shortened, {"self": TABLE, "rows": 1}, fixed=("self",)),
    Call(mean_slowdown, {"queue": QUEUE, "policy": MLPT}, 20, names=("lazy", "quantum")),
    Call(mq.two_level_terms, {"queue": QUEUE, "x": 1.0, "side": "left"}),
    Call(mq.lazy_terms, {"queue": QUEUE, "quantum": 1.0}),
    Call(mq.lazy_terms, {"queue": DISCRETE, "quantum": 1.0}),
    Call(mq.lazy_three_terms, {"queue": QUEUE, "boundaries": [1.0, 2.0]}),
    Call(mq.lazy_three_terms, {"queue": DISCRETE, "boundaries": [1.0, 2.0]}),
    Call(mq.gittins_index, {"queue": QUEUE, "ages": 1.0}, 20),
    Call(mq.gittins_index, {"queue": DISCRETE, "ages": 1.0}),
    Call(mq.rule_of_thumb, {"queue": QUEUE, "levels": 2, "a": 3.0, "b": 7.0}),
    Call(mq.optimal_quantum, {"queue": DISCRETE, "levels": 2, "objective": "mean", "certify": False, "lazy": False}),
    Call(best_quantum_for, {"queue": DISCRETE, "levels": 2, "objective": "mean"}, 20),
    Call(mq.optimal_quanta, {"queue": DISCRETE, "levels": 3}, 20),
    Call(certified_minimum, {"queue": DISCRETE, "levels": 2, "quantum": 1.0}, 5),
    Call(quantum_slopes, {"queue": QUEUE, "quanta": [1.0, 2.0], "levels": math.inf, "remainder": 1e-9}),
    Call(response_gradient, {"queue": QUEUE, "boundaries": [[1.0], [2.0]], "closed": True, "side": "right"}),
    Call(mq.response_time_distribution, {"queue": QUEUE, "policy": MLPT}, names=("lazy", "quantum")),
    Call(ResponseTimeDistribution.cdf, {"self": DISTRIBUTION, "t": 1.0}, fixed=("self",)),
    Call(ResponseTimeDistribution.quantile, {"self": DISTRIBUTION, "p": 0.5}, fixed=("self",)),
    Call(ResponseTimeDistribution.moment, {"self": DISTRIBUTION, "n": 1}, fixed=("self",)),
    Call(LevelDistribution.cdf, {"self": LEVEL, "t": 1.0}, fixed=("self",)),
    Call(LevelDistribution.quantile, {"self": LEVEL, "p": 0.5}, fixed=("self",)),
    Call(LevelDistribution.moment, {"self": LEVEL, "n": 1}, fixed=("self",)),
    Call(mq.response_times, {"queue": QUEUE, "policy": MLPT, "arrival_times": [0.0, 1.0], "sizes": [1.0, 2.0]}, 30),
    Call(mq.simulate, {"queue": QUEUE, "policy": MLPT, **SMALL_RUN}, 20, instead=FEW),
    Call(mq.simulate, {"queue": QUEUE, "policy": mq.CappedGittins(1), **SMALL_RUN}, 20, instead=FEW),
    Call(mq.simulate, {"queue": QUEUE, "policy": MLPT, **SMALL_RUN, "jobs": 1000, "warmup": 100, "seeds": 8, "control": True}, 12,
         instead=FEW),
    Call(simulate_many, {"queue": QUEUE, "policies": [MLPT], **SMALL_RUN}, 12, names=("policy",), instead=FEW),
    Call(SimulationResult.half_width, {"self": RESULT, "confidence": 0.95}, fixed=("self",)),
    Call(draw_trace, {"size": mq.Exponential(1.0), "arrival_rate": 1.0, "jobs": 5, "seed": 1, "root_seed": 1},
         instead=FEW),
    Call(_traces, {"size": mq.Exponential(1.0), "arrival_rate": 1.0, "jobs": 5, "seeds": 2, "root_seed": 1}, instead=FEW),
    Call(Sample.of, {"sizes": [1.0, 2.0, 3.0]}),
    Call(fit_laws, {"sample": SAMPLE, "names": ["Exponential", "Weibull"]}),
    Call(quantile_pairs, {"sample": SAMPLE, "law": mq.Exponential(1.0), "count": 5}),
    Call(arrival_statistics, {"times": np.arange(12.0) ** 2}),
    Call(time_scale, {"mean_service_time": 200.0, "recorded_rate": 5.0, "tokens_per_second": 1250.0, "load": 0.5}),
    Call(time_scale, {"mean_service_time": 200.0, "recorded_rate": None, "arrival_rate": 0.004}),
    Call(read_trace, {"path": DATA / "azure_sample.csv", "size_column": None, "time_column": None, "time_unit": "s",
                      "decimal": ".", "largest_size": 1e9}, names=("trace",)),
    Call(find_traces, {"folder": DATA}, names=("trace_folder",)),
    Call(fit_trace, {"trace": TRACE, "load": 0.8, "levels": [2], "seed": 1, "jobs": 100, "slowdown_threshold": 300.0,
                     "slowdown_factor": 0.5, "preemption_cost": 0.1, "memory": mq.LinearMemory(), "capacity": None,
                     "tokens_per_second": None, "arrival_rate": None}, 6, names=("root_seed",)),
    Call(check_name, {"path": "report.html"}, names=("out",)),
    Call(arrival_times, {"name": "times", "times": TIMES}, fixed=("name",)),
    Call(dispersion_indices, {"times": TIMES, "windows": [1.0, 10.0]}, 30),
    Call(size_dependence, {"times": TIMES, "sizes": TIMES + 1, "window": 1.0}, 30),
    Call(lewis_test, {"gaps": TIMES}, 20),
    Call(ljung_box_test, {"values": TIMES, "lags": 2}, 20),
    Call(TimeScale, {"arrival_rate": 0.1, "tokens_per_second": 5.0, "stretch": 1.0, "assumed_load": None}),
    Call(TimeScale.seconds, {"self": SCALE, "units": 5.0}, fixed=("self",)),
    Call(recommend, {"queue": Later(lambda: _fit().recommendation.queue), "scale": SCALE, "sizes": TRACE.sizes, "times": TRACE.times, "recorded": TRACE.times,
                     "levels": [2], "seed": 1, "jobs": 100}, 6, names=("root_seed",)),
    Call(policy_in_words, {"policy": mq.FCFS()}),
    Call(reading_notes, {"trace": TRACE}),
    Call(columns_in_words, {"trace": TRACE}),
    Call(find_clock, {"times": TIMES}),
    Call(CLOCK.spread, {"times": TIMES, "seed": 1}),
    Call(clock_in_words, {"clock": CLOCK}),
    Call(law_in_words, {"law": Later(lambda: _fit().laws[0])}),
    Call(in_time, {"fit": FIT, "units": 5.0, "error": 0.5}),
    *(Call(function, {"fit": FIT}, 4) for function in (checked_fit, as_mapping, verdict)),
    *(Call(laid_out(function), {"fit": FIT}, 2) for function in (draw_arrivals, draw_response, draw_sizes)),
    Call(html_report, {"fit": FIT}, 1),
    Call(laid_out(draw_everything), {"fit": FIT, "heading": "a\nb"}, 4, instead={"heading": TEXTS | st.just("$x$ $")}),
    Call(as_png, {"figure": FIGURE}, 4),
    Call(write_report, {"fit": FIT, "path": "absent/report.html"}, 1, names=("out",)),
    Call(mq.simulate, {"queue": QUEUE, "policy": MLPT, "jobs": 1_100_000, "warmup": 10, "seeds": 1, "root_seed": 1,
                       "control": False, "workers": 1}, 6, fixed=("jobs",), instead={"seeds": COUNTS}),
    Call(_pieces, {"size": mq.Exponential(1.0), "arrival_rate": 1.0, "jobs": 5, "seed": 1, "root_seed": 1},
         instead=FEW),
    Call(_boundaries, {"queue": DISCRETE, "levels": 2}),
    Call(_read(read_scenarios), {"path": EXAMPLE, "notebooks": NOTEBOOKS}, names=("scenarios", "notebooks")),
    Call(_checked, {"out": "checked"}, names=("check",)),
    Call(_not_run(run_batch, "mlptsym.batch.running.locked"),
         {"scenarios": EXAMPLE, "out": "out", "jobs": 2, "dask": None, "force": True, "progress": False, "notebooks": NOTEBOOKS},
         fixed=("out",)),
    Call(_not_run(run_figures, "mlptsym.runtime.runner._make_folder"),
         {"names": ["fig01"], "out": "out", "parameters": {"gamma": 0.1}, "jobs": 2, "progress": False, "notebooks": NOTEBOOKS}, 15,
         names=("figure", "parameter", "gamma"), fixed=("out",)),
    Call(find_notebooks, {"folder": NOTEBOOKS}, names=("notebooks",)),
    Call(_not_run(build_site, "mlptsym.site.build._contents"), {"out": "site", "root": NOTEBOOKS.parent}, names=("notebooks",)),
    Call(_read(decide), {"text": "rho == lambda*E[S]"}, names=("claim",)),
    Call(_read(parse), {"text": "rho == lambda*E[S]"}, names=("claim",)),
    Call(select, {"names": ["eq-6"]}, names=("entry",)),
    Call(_verdicts, {"name": "eq-6"}, names=("entry",)),
    Call(refutations, {"name": "eq-6"}, names=("entry",)),
    Call(_derivation, {"step": ("a", 1)}, names=("steps",)),
    Call(at_queue, {"expression": Later(service_mean), "queue": QUEUE, "ends": [1.0, 2.0], "values": {}}, 30),
    Call(_read(plan_batch), {"scenarios": EXAMPLE, "out": "out", "force": False, "notebooks": None}, 15),
    Call(plan_figures, {"names": ["fig01"], "out": "out", "parameters": {"gamma": 0.1}, "notebooks": None}, 20,
         names=("figure", "parameter", "gamma", "trace_folder")),
    Call(sweep, {"function": type, "items": [1, -2], "threads": True}, 20,
         instead={"function": ANYTHING.filter(lambda value: not callable(value))}),
    Call(scheduler_address, {"dask": "tcp://127.0.0.1:8786"}),
    Call(_in_parallel, {"jobs": 1, "dask": None}, 20),
)  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_any_value_in_place_of_one_or_two_arguments(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_call(CALLS[name])


# Traces --------------------------------------------------------------------------------------------------------------

CELLS = st.one_of(
    st.floats().map(repr),
    st.integers(-(10**400), 10**400).map(str),
    st.integers(1, 900).map(str),
    st.sampled_from(
        ["", "1e308", "-1e308", "1e-320", "1,234", "nan", "2024-01-01T00:00:00Z", "0001-01-01", "9999-12-31"]
    ),
    TEXTS.filter(lambda text: text.isprintable() and '"' not in text),
)


def _trace_in(path: Path, content: bytes, **words: Any) -> Any:
    """The trace in a file, which is in order, or `REFUSED`."""
    path.write_bytes(content)
    names = ("trace", "size_column", "time_column", "time_unit", "decimal")
    trace = outcome(read_trace, {"path": path, "size_column": "tokens", **words}, names=names)
    if trace is not REFUSED:
        assert len(trace.sizes) >= 10
        assert ((trace.sizes >= 1e-30) & (trace.sizes <= 1e9)).all()
        assert trace.times is None or (np.isfinite(trace.times).all() and (np.diff(trace.times) >= 0).all())
    return trace


NAMES_IN_A_FIT = ("load", "time_column", "size", "queue", "quantum", "sizes", "arrival_times")


def _fitted(trace: Any) -> None:
    """Whatever could be read can be fitted, or says why not."""
    if trace is not REFUSED:
        words = {"trace": trace, "load": 0.8, "levels": [2], "jobs": 100, "preemption_cost": 0.1}
        outcome(fit_trace, words, 30.0, names=NAMES_IN_A_FIT)


@examples(12)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=10, max_size=14), st.booleans())
def test_any_cells_of_a_table(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], whole: bool
) -> None:
    lines = [f'"{time}","{size}"' for time, size in rows]
    content = "\n".join(["arrived,tokens", *lines]).encode("utf-8", "replace") + b"\n" * whole
    _fitted(_trace_in(tmp_path_factory.getbasetemp() / "cells.csv", content, time_column="arrived"))


NUMBERS_OF_A_TRACE = st.sampled_from([1e-300, 1e-30, 1e-29, 1e-3, 1.0, 2.0, 7.0, 512.0, 1e6, 1e9])
TIMES_OF_A_TRACE = st.sampled_from([-1e308, -1e300, -1.0, 0.0, 5e-324, 1e-300, 1.0, 2.0, 3.0, 1e9, 1e300, 1e308])


@examples(5)
@given(st.lists(NUMBERS_OF_A_TRACE, min_size=12, max_size=20), st.lists(TIMES_OF_A_TRACE, min_size=20, max_size=20))
def test_any_numbers_of_a_trace(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[float], times: list[float]
) -> None:
    lines = [f"{time!r},{size!r}" for time, size in zip(times, sizes, strict=False)]
    content = "\n".join(["arrived,tokens", *lines, ""]).encode()
    _fitted(_trace_in(tmp_path_factory.getbasetemp() / "numbers.csv", content, time_column="arrived"))


@example([7.0] * 12, [1.0] * 12, 0.8)
@examples(3)
@given(
    st.lists(st.sampled_from([1.0, 2.0, 7.0, 512.0, 1e9, 1e16, 1e-3, 1e-30, 1e-29]), min_size=12, max_size=40),
    st.lists(st.sampled_from([1.0, 60.0, 0.0, 1e-9, 1e-30, 1e9, 1e30]), min_size=12, max_size=12) | st.none(),
    st.sampled_from([0.8, 0.99, 1 - 2**-53, 1e-9, 1e-300]),
)
def test_extreme_traces_are_fitted_and_drawn(sizes: list[float], gaps: list[float] | None, load: float) -> None:
    times = None if gaps is None else np.cumsum(np.resize(gaps, len(sizes)))
    trace = RecordedTrace("t.csv", None, "tokens", "arrived", np.array(sizes), times, len(sizes))
    words = {"trace": trace, "load": load, "levels": [2], "jobs": 100, "preemption_cost": 0.1}
    fit = outcome(fit_trace, words, 30.0, names=NAMES_IN_A_FIT)
    if fit is not REFUSED:
        report = html_report if MANY > 1 else laid_out(draw_everything)
        assert outcome(report, {"fit": fit, **({} if MANY > 1 else {"heading": ""})}) is not REFUSED
        assert outcome(as_mapping, {"fit": fit}) is not REFUSED


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


@examples(15)
@given(st.lists(st.fixed_dictionaries({}, optional={"arrived": JSON, "tokens": JSON}) | JSON, min_size=10, max_size=12))
def test_any_objects_of_a_trace(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    content = "\n".join([*map(json.dumps, rows), ""]).encode()
    _trace_in(tmp_path_factory.getbasetemp() / "objects.jsonl", content, time_column="arrived")


@examples(20)
@given(
    st.sampled_from(["int64", "float16", "string", "binary", "bool", "date", "time", "us", "ns", "s", "list", "null", "decimal", "duration", "dictionary"]),
    st.sampled_from(["tokens", "arrived"]),
    st.integers(-(2**62), 2**62),
)  # fmt: skip
def test_any_column_of_a_parquet_file(
    tmp_path_factory: pytest.TempPathFactory, kind: str, place: str, number: int
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    made: dict[str, Callable[[], Any]] = {
        "string": lambda: pa.array([str(number)] * 12),
        "binary": lambda: pa.array([b"\xff"] * 12),
        "bool": lambda: pa.array([True] * 12),
        "date": lambda: pa.array([number % 2**31] * 12, type=pa.int32()).cast(pa.date32()),
        "time": lambda: pa.array([number % 86400] * 12, type=pa.int32()).cast(pa.time32("s")),
        "us": lambda: pa.array([number] * 12, type=pa.timestamp("us")),
        "ns": lambda: pa.array([number] * 12, type=pa.timestamp("ns", "UTC")),
        "s": lambda: pa.array([number % 2**50] * 12, type=pa.timestamp("s", "no/zone")),
        "list": lambda: pa.array([[number]] * 12),
        "null": lambda: pa.nulls(12),
        "decimal": lambda: pa.array([number] * 12, type=pa.int64()).cast(pa.decimal128(38, 0)),
        "duration": lambda: pa.array([number] * 12, type=pa.duration("ns")),
        "dictionary": lambda: pa.array([str(number)] * 12).dictionary_encode(),
        "float16": lambda: pa.array(np.full(12, number % 1000, dtype=np.float16)),
        "int64": lambda: pa.array([number] * 12),
    }
    columns = {"tokens": pa.array(range(1, 13)), "arrived": pa.array(range(12))} | {place: made[kind]()}
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink)
    _trace_in(tmp_path_factory.getbasetemp() / "any.parquet", sink.getvalue().to_pybytes(), time_column="arrived")


# Numbers that are allowed, and extreme -------------------------------------------------------------------------------

NAMES = ("quantum", "quanta", "levels", "size", "ages", "t", "p", "preemption_cost", "arrival_rate", "minimum_quantum")


@st.composite
def _queues_and_policies(draw: st.DrawFn) -> Any:
    queue = draw(queues())
    return None if queue is None else (queue, draw(policies(queue.size.mean)))


@examples(20)
@given(_queues_and_policies())
def test_extreme_numbers_in_the_theory(case: tuple[mq.Queue, Any] | None) -> None:
    """E[T] ≥ E[S] and ρ^eff ≥ ρ₀; the table by level adds up to the whole."""
    if case is None:
        return
    queue, policy = case
    words = {"queue": queue, "policy": policy}
    solution = outcome(mq.solve, words, 20.0, names=NAMES)
    if solution is REFUSED:
        return
    assert solution.effective_load >= queue.base_load * (1 - 1e-9)
    assert solution.mean_response_time >= queue.mean_service_time * (1 - 1e-9)
    assert solution.stable == (solution.effective_load < 1)
    assert solution.stable or math.isinf(solution.mean_response_time)
    table = outcome(mq.level_table, words, 20.0, names=NAMES)
    if table is not REFUSED:
        assert abs(table.probability.sum() - 1) < 1e-9
        whole = float(table.probability @ table.response_time)
        assert abs(whole - solution.mean_response_time) <= 1e-6 * solution.mean_response_time


@examples(12)
@given(queues(), FACTORS)
def test_extreme_numbers_in_the_terms_of_two_levels_and_the_index(queue: mq.Queue | None, factor: float) -> None:
    if queue is None:
        return
    mean = queue.size.mean if math.isfinite(queue.size.mean) else 1.0
    outcome(mq.two_level_terms, {"queue": queue, "x": mean * np.geomspace(1e-30, 1e30, 25)}, names=NAMES)
    outcome(mq.lazy_terms, {"queue": queue, "quantum": mean * np.geomspace(1e-30, 1e30, 25)}, names=NAMES)
    ends = mean * np.geomspace(1e-30, 1e30, 9)
    outcome(mq.lazy_three_terms, {"queue": queue, "boundaries": np.stack([ends, 3 * ends], axis=-1)}, names=NAMES)
    rule = outcome(mq.rule_of_thumb, {"queue": queue}, names=NAMES)
    assert rule is REFUSED or rule > 0
    index = outcome(mq.gittins_index, {"queue": queue, "ages": factor * mean}, names=NAMES)
    assert index is REFUSED or index.index >= 0


@examples(10)
@given(_queues_and_policies(), st.sampled_from([0, 1, 3, math.inf]), st.booleans())
def test_extreme_numbers_in_simulations(case: Any, preemptions: float, capped: bool) -> None:
    if case is None:
        return
    queue, policy = case
    chosen = mq.CappedGittins(preemptions) if capped else policy
    words = {"queue": queue, "policy": chosen, "jobs": 40, "warmup": 4, "seeds": 2, "workers": 1}
    result = outcome(mq.simulate, words, 20.0, names=NAMES)
    assert result is REFUSED or result.mean > 0


@pytest.mark.skipif(MANY == 1, reason="takes minutes: MLPTSYM_BAD_VALUES=10")
@examples(2)
@given(queues(), st.sampled_from([2, 3, math.inf]), _queues_and_policies())
def test_extreme_numbers_in_optima_and_distributions(queue: mq.Queue | None, levels: float, case: Any) -> None:
    """No optimum is above FCFS or the rule of thumb; distribution functions and quantiles rise."""
    if queue is not None:
        best = outcome(mq.optimal_quantum, {"queue": queue, "levels": levels}, 60.0, names=NAMES)
        fcfs = outcome(mq.mean_response_time, {"queue": queue, "policy": mq.FCFS()}, names=NAMES)
        if best is not REFUSED:
            assert queue.mean_service_time * (1 - 1e-9) <= best.mean_response_time <= fcfs * (1 + 1e-9)
            rule = mq.rule_of_thumb(queue, levels)
            if math.isfinite(rule):
                words = {"queue": queue, "policy": mq.MLPT(quantum=rule, levels=levels)}
                by_rule = outcome(mq.mean_response_time, words, 60.0, names=NAMES)
                assert by_rule is REFUSED or best.mean_response_time <= by_rule * (1 + 1e-9)
    if case is not None:
        words = dict(zip(("queue", "policy"), case, strict=True))
        distribution = outcome(mq.response_time_distribution, words, 60.0, names=NAMES)
        if distribution is not REFUSED:
            quantiles = outcome(distribution.quantile, {"p": [0.1, 0.5, 0.99]}, 60.0, names=NAMES)
            if quantiles is not REFUSED and distribution.stable:
                assert (np.diff(quantiles) >= 0).all()
                chances = outcome(distribution.cdf, {"t": quantiles}, 60.0, names=NAMES)
                assert chances is REFUSED or (chances >= np.array([0.1, 0.5, 0.99]) - 1e-6).all()
