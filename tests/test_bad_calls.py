"""Values that nobody meant, given to every public function: a right answer or a clear error.

Never another exception, a warning, a NaN, or a hang.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_values import ANYTHING, REFUSED, examples, outcome
from hypothesis import given
from hypothesis import strategies as st

import mlptsym as mq
from mlptsym.fitting.arrivals import arrival_statistics
from mlptsym.fitting.fit import fit_trace
from mlptsym.fitting.laws import Sample, fit_laws, quantile_pairs
from mlptsym.fitting.reading import find_traces, read_trace
from mlptsym.fitting.recommend import time_scale
from mlptsym.fitting.report import write_report
from mlptsym.numeric.certify import certified_minimum
from mlptsym.numeric.gradient import quantum_slopes, response_gradient
from mlptsym.numeric.objectives import best_quantum_for, mean_slowdown
from mlptsym.simulation.simulate import simulate_many
from mlptsym.simulation.traces import draw_trace, draw_traces
from mlptsym.sweeps import sweep

DATA = Path(__file__).parent / "data"
QUEUE = mq.Queue(mq.Gamma(2.0, 0.5), 0.5, slowdown_threshold=2.0, slowdown_factor=0.5, preemption_cost=0.1)
DISCRETE = mq.Queue(mq.Empirical([1.0, 2.0, 4.0]), 0.2, preemption_cost=0.1)
MLPT = mq.MLPT(quantum=1.0, levels=3)
DISTRIBUTION = mq.response_time_distribution(QUEUE, MLPT)
RESULT = mq.simulate(QUEUE, MLPT, jobs=20, warmup=2, seeds=2)
SAMPLE = Sample.of([1.0, 2.0, 3.0, 5.0, 8.0, 8.0])
TRACE = read_trace(DATA / "azure_sample.csv")
FIT = fit_trace(TRACE, levels=[2], jobs=100)
GENERATOR = np.random.default_rng(1)


@dataclass(frozen=True)
class Call:
    """A function with arguments that are good, of which some are replaced."""

    function: Callable[..., Any]
    good: Mapping[str, Any]
    tried: int = 40
    fixed: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    instead: Mapping[str, st.SearchStrategy[Any]] = field(default_factory=dict)


def _by_name(*calls: Call) -> dict[str, Call]:
    return {f"{place}-{getattr(call.function, '__qualname__', 'call')}": call for place, call in enumerate(calls)}


SMALL_RUN = {"jobs": 30, "warmup": 3, "seeds": 2, "root_seed": 1, "control": False, "workers": 1}
COUNTS = st.one_of(st.integers(-2, 40), ANYTHING.filter(lambda value: not (type(value) is int and value > 40)))
FEW = dict.fromkeys(("jobs", "warmup", "seeds"), COUNTS)
LAW_METHODS = [
    Call(method, words, 15)
    for law in (mq.Exponential(1.0), mq.LogNormal(1, 1), mq.Weibull(0.5, 1), mq.Gamma(0.5, 1), mq.Erlang(2, 1),
                mq.HyperExponential([0.5, 0.5], [1, 2]), mq.Lomax(1.5, 1), mq.Uniform(0, 1), mq.Deterministic(1),
                mq.Empirical([1, 2]))
    for method, words in (
        (law.density, {"x": 1.0}), (law.tail, {"x": 1.0}), (law.hazard, {"x": 1.0}), (law.moment, {"order": 1}),
        (law.upper_moment, {"order": 1, "x": 1.0}), (law.sample, {"generator": GENERATOR, "count": 2}),
    )
]  # fmt: skip
CALLS = _by_name(
    Call(mq.Exponential, {"rate": 1.0}),
    Call(mq.LogNormal, {"mu": 1.0, "sigma": 1.0}),
    Call(mq.Weibull, {"shape": 1.0, "scale": 1.0}),
    Call(mq.Gamma, {"shape": 1.0, "scale": 1.0}),
    Call(mq.Erlang, {"stages": 2, "rate": 1.0}),
    Call(mq.HyperExponential, {"probabilities": [0.5, 0.5], "rates": [1.0, 2.0]}),
    Call(mq.Lomax, {"shape": 2.0, "scale": 1.0}),
    Call(mq.Uniform, {"low": 1.0, "high": 2.0}),
    Call(mq.Deterministic, {"value": 1.0}),
    Call(mq.Empirical, {"samples": [1.0, 2.0]}),
    Call(mq.LinearMemory, {"slope": 1.0}),
    Call(mq.AffineMemory, {"base": 1.0, "slope": 1.0}),
    Call(mq.SaturatingMemory, {"slope": 1.0, "window": 1.0, "base": 0.0}),
    *LAW_METHODS,
    *(
        Call(method, words)
        for memory in (mq.LinearMemory(2.0), mq.AffineMemory(1.0, 2.0), mq.SaturatingMemory(1.0, 2.0, 3.0))
        for method, words in (
            (memory.growth, {"ages": 1.0}),
            (memory.slope_at, {"ages": 1.0}),
            (memory.age_at, {"capacity": 1.0}),
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
        },
        100,
    ),
    Call(QUEUE.service_time, {"sizes": 1.0}),
    Call(QUEUE.size_at, {"attained": 1.0}),
    Call(QUEUE.restore_cost, {"ages": 1.0}),
    Call(QUEUE.service_moments, {"attained": 1.0}),
    Call(QUEUE.service_moment, {"order": 1}),
    Call(mq.MLPT, {"quantum": 1.0, "levels": 2, "lazy": False}),
    Call(mq.MLPT, {"quanta": [1.0, 2.0], "levels": 3, "lazy": False}),
    Call(MLPT.boundaries, {"limit": 5.0}),
    Call(mq.MLPT(quanta=[1.0, 2.0]).boundaries, {"limit": 5.0}),
    Call(mq.FCFS().boundaries, {"limit": 5.0}),
    Call(mq.CappedGittins, {"preemptions": 1, "minimum_quantum": 0.1}),
    Call(mq.CappedGittins(1).quantum_for, {"queue": QUEUE}),
    Call(mq.mean_response_time, {"queue": QUEUE, "policy": MLPT}),
    Call(mq.solve, {"queue": QUEUE, "policy": MLPT}),
    Call(mq.level_table, {"queue": QUEUE, "policy": MLPT}),
    Call(mean_slowdown, {"queue": QUEUE, "policy": MLPT}, 20),
    Call(mq.two_level_terms, {"queue": QUEUE, "x": 1.0, "side": "left"}),
    Call(mq.gittins_index, {"queue": QUEUE, "ages": 1.0}, 20),
    Call(mq.gittins_index, {"queue": DISCRETE, "ages": 1.0}),
    Call(mq.rule_of_thumb, {"queue": QUEUE, "levels": 2, "a": 3.0, "b": 7.0}),
    Call(mq.optimal_quantum, {"queue": DISCRETE, "levels": 2, "objective": "mean", "certify": False}),
    Call(best_quantum_for, {"queue": DISCRETE, "levels": 2, "objective": "mean"}, 20),
    Call(mq.optimal_quanta, {"queue": DISCRETE, "levels": 3}, 20),
    Call(certified_minimum, {"queue": DISCRETE, "levels": 2, "quantum": 1.0}, 12),
    Call(quantum_slopes, {"queue": QUEUE, "quanta": [1.0, 2.0], "levels": 2}),
    Call(response_gradient, {"queue": QUEUE, "boundaries": [[1.0], [2.0]], "closed": True, "side": "right"}),
    Call(mq.response_time_distribution, {"queue": QUEUE, "policy": MLPT}),
    Call(DISTRIBUTION.cdf, {"t": 1.0}),
    Call(DISTRIBUTION.quantile, {"p": 0.5}),
    Call(DISTRIBUTION.moment, {"n": 1}),
    Call(DISTRIBUTION.by_level[0].cdf, {"t": 1.0}),
    Call(DISTRIBUTION.by_level[0].quantile, {"p": 0.5}),
    Call(DISTRIBUTION.by_level[0].moment, {"n": 1}),
    Call(mq.response_times, {"queue": QUEUE, "policy": MLPT, "arrival_times": [0.0, 1.0], "sizes": [1.0, 2.0]}, 80),
    Call(mq.simulate, {"queue": QUEUE, "policy": MLPT, **SMALL_RUN}, 60, instead=FEW),
    Call(mq.simulate, {"queue": QUEUE, "policy": mq.CappedGittins(1), **SMALL_RUN}, 60, instead=FEW),
    Call(mq.simulate, {"queue": QUEUE, "policy": MLPT, **SMALL_RUN, "jobs": 4000, "seeds": 8, "control": True}, 60,
         instead=FEW),
    Call(simulate_many, {"queue": QUEUE, "policies": [MLPT], **SMALL_RUN}, 40, names=("policy",), instead=FEW),
    Call(RESULT.half_width, {"confidence": 0.95}),
    Call(draw_trace, {"size": mq.Exponential(1.0), "arrival_rate": 1.0, "jobs": 5, "seed": 1, "root_seed": 1},
         instead=FEW),
    Call(lambda **words: list(draw_traces(**words)),
         {"size": mq.Exponential(1.0), "arrival_rate": 1.0, "jobs": 5, "seeds": 2, "root_seed": 1}, instead=FEW),
    Call(Sample.of, {"sizes": [1.0, 2.0, 3.0]}),
    Call(fit_laws, {"sample": SAMPLE, "names": ["Exponential", "Weibull"]}),
    Call(quantile_pairs, {"sample": SAMPLE, "law": mq.Exponential(1.0), "count": 5}),
    Call(arrival_statistics, {"times": np.arange(12.0) ** 2}),
    Call(time_scale, {"mean_service_time": 200.0, "recorded_rate": 5.0, "tokens_per_second": 1250.0, "load": 0.5}),
    Call(read_trace, {"path": DATA / "azure_sample.csv", "size_column": None, "time_column": None, "time_unit": "s",
                      "largest_size": 1e9}, names=("trace",)),
    Call(find_traces, {"folder": DATA}, names=("trace_folder",)),
    Call(fit_trace, {"trace": TRACE, "load": 0.8, "levels": [2], "seed": 1, "jobs": 100, "slowdown_threshold": 300.0,
                     "slowdown_factor": 0.5, "preemption_cost": 0.1, "memory": mq.LinearMemory(), "capacity": None,
                     "tokens_per_second": None, "arrival_rate": None}, 12, names=("root_seed",)),
    Call(write_report, {"fit": FIT, "path": "absent/report.html"}, 12, names=("out",)),
    Call(sweep, {"function": type, "items": [1, -2], "threads": True}, 20,
         instead={"function": ANYTHING.filter(lambda value: not callable(value))}),
    Call(lambda **words: mq.parallel(**words).__enter__(), {"jobs": 1, "dask": None}, 20),
)  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_any_value_in_place_of_one_or_two_arguments(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = CALLS[name]
    monkeypatch.chdir(tmp_path)
    places = st.lists(st.sampled_from(sorted(call.good)), min_size=1, max_size=2, unique=True)
    replaced = places.flatmap(lambda names: st.fixed_dictionaries({n: call.instead.get(n, ANYTHING) for n in names}))

    @examples(call.tried)
    @given(replaced)
    def check(others: dict[str, Any]) -> None:
        outcome(call.function, {**call.good, **others}, names=call.names)

    assert outcome(call.function, call.good) is not REFUSED
    check()
