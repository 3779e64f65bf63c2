"""Disciplines: state that is moved out at a cost, against the derivation, a literal simulation, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import literal_simulator
import mpmath as mp
import numpy as np
import pytest
import reference
import sympy as sp
import test_bad_calls
from by_value import concrete

import mlptsym as mq
from mlptsym import ParameterError
from mlptsym.simulation.kernels import run
from mlptsym.symbolic.algebra.symbols import arrival_rate, boundary, cost, unload
from mlptsym.symbolic.mean.response import mean_response_time
from mlptsym.symbolic.mean.waiting import waiting_time
from mlptsym.symbolic.policies.algorithm import effective_load
from mlptsym.symbolic.policies.discipline import UNLOADING

GAMMA, UNLOAD = 0.125, 0.0625
QUEUE = mq.Queue(mq.Gamma(2.5, 1.0), 0.2, preemption_cost=GAMMA, unload_cost=UNLOAD)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_means_are_those_of_the_derivation(k: int) -> None:
    """E[T], ρ^eff and d_j of the discipline's own pieces, with 50 digits."""
    ends = [sp.Rational(3, 4), sp.Rational(8, 5), sp.Rational(7, 2)][: k - 1]
    at = {boundary[r]: end for r, end in enumerate(ends, 1)} | {arrival_rate: sp.Rational(1, 5)}
    at |= {
        family[r]: factor * end
        for family, factor in ((cost, sp.Rational(1, 8)), (unload, sp.Rational(1, 16)))
        for r, end in enumerate(ends, 1)
    }
    policy = mq.MLPT(quanta=np.diff([0.0, *map(float, ends)])) if ends else mq.FCFS()
    with mp.workdps(reference.DIGITS):
        times = concrete(mean_response_time(k, UNLOADING), at)
        load = concrete(effective_load(k, UNLOADING), at)
        waits = [concrete(waiting_time(j, k, UNLOADING), at) for j in range(1, k + 1)]
    solution, table = mq.solve(QUEUE, policy), mq.level_table(QUEUE, policy)
    assert solution.mean_response_time == pytest.approx(float(times), rel=1e-13)
    assert solution.effective_load == pytest.approx(float(load), rel=1e-13)
    assert table.waiting_time == pytest.approx([float(wait) for wait in waits], rel=1e-12)
    assert table.probability @ table.response_time == pytest.approx(float(times), rel=1e-12)


@pytest.mark.parametrize(
    "memory", [mq.LinearMemory(), mq.SaturatingMemory(1.0, 2.0, 0.5), mq.PagedMemory(0.9)], ids=repr
)
def test_infinitely_many_levels_are_the_limit_of_many(memory: Any) -> None:
    queue = mq.Queue(mq.Gamma(2.0, 0.5), 0.4, 2.0, 0.5, 0.05, memory, unload_cost=0.03)
    endless, many = (mq.solve(queue, mq.MLPT(quantum=0.3, levels=levels)) for levels in (math.inf, 400))
    assert endless.mean_response_time == pytest.approx(many.mean_response_time, rel=1e-11)
    assert endless.effective_load == pytest.approx(many.effective_load, rel=1e-12)


def test_a_bound_of_the_levels_left_out_is_one() -> None:
    """Few levels and the bound are above all levels, whose sum is above the few."""
    from mlptsym.numeric.levels.remainder import remainder_bounds
    from mlptsym.numeric.levels.sums import level_sums

    queue = mq.Queue(mq.Gamma(2.0, 0.5), 0.4, preemption_cost=0.05, unload_cost=0.03)
    quanta = np.array([0.3, 0.8, 2.0])
    exact = mq.mean_response_time(queue, mq.MLPT(quantum=quanta, levels=math.inf))
    for rows in (2, 5, 9):
        ends = np.arange(1.0, rows + 1)[:, None] * quanta
        totals = level_sums(queue, ends, closed=False).totals
        _, rest = remainder_bounds(queue, quanta, totals, ends[-1])
        assert (totals.mean_response_time() < exact).all()
        assert (totals.mean_response_time() + rest > exact).all()


def test_every_response_time_is_that_of_the_literal_version() -> None:
    """Job by job, on traces with idle periods and ties."""
    generator = np.random.default_rng(5)
    arrivals = np.cumsum(generator.integers(0, 4, 400)).astype(float)
    sizes = generator.integers(1, 9, 400) / 2
    boundaries, costs, moved_out = [1.0, 2.0, 3.5], [0.25, 0.5, 0.75], [0.125, 0.25, 0.5]
    literal = literal_simulator.response_times(
        arrivals.tolist(), sizes.tolist(), boundaries, costs, unload_costs=moved_out
    )
    found = run(arrivals, sizes, np.array(boundaries), np.array(costs), lazy=False, unload_costs=np.array(moved_out))
    np.testing.assert_allclose(found, literal, rtol=1e-12)
    without = run(arrivals, sizes, np.array(boundaries), np.array(costs), lazy=False)
    assert (found != without).any()


@pytest.mark.parametrize("levels", [2, 5, math.inf])
def test_simulation_agrees(levels: float) -> None:
    """Five standard errors: a false alarm in 1.7e6 tests."""
    policy = mq.MLPT(quantum=0.9, levels=levels)
    result = mq.simulate(QUEUE, policy, jobs=40_000, warmup=4_000, seeds=24)
    assert abs(result.mean - mq.mean_response_time(QUEUE, policy)) < 5 * result.standard_error
    assert mq.mean_response_time(QUEUE, policy) > 1.01 * mq.mean_response_time(replace(QUEUE, unload_cost=0.0), policy)


def test_without_the_cost_nothing_changes() -> None:
    plain = mq.Queue(mq.Gamma(2.5, 1.0), 0.2, preemption_cost=GAMMA)
    assert plain == replace(QUEUE, unload_cost=0.0)
    assert plain.discipline == "restoring"


# the answers of these are about sizes, arrivals or FCFS alone, or the policy that the call is made with is
INDEPENDENT = {"gittins_index", "gittins_table", "quantum_for", "foreground_background_time"}
SUPPORTED = {"mean_response_time", "solve", "level_table", "simulate", "simulate_many", "response_times"}


@pytest.mark.parametrize(
    "call", [call for call in test_bad_calls.CALLS.values() if isinstance(call.good.get("queue"), mq.Queue)],
    ids=lambda call: call.function.__qualname__,
)  # fmt: skip
def test_what_takes_a_queue_knows_the_cost_or_refuses_it(call: Any) -> None:
    """No answer is that of the paper's discipline."""
    name = call.function.__qualname__.rpartition(".")[2]
    good = {key: value.make() if hasattr(value, "make") else value for key, value in call.good.items()}
    good["queue"] = replace(good["queue"], unload_cost=0.25)
    if name in INDEPENDENT:
        return
    paper = {"policy": mq.MLPT(quantum=0.7, levels=3), "policies": [mq.MLPT(quantum=0.7, levels=3)], "control": False}
    if name in SUPPORTED:
        call.function(**good | {key: value for key, value in paper.items() if key in good})
        return
    with pytest.raises(ParameterError, match=r"unload_cost = 0\.25 .* 0 for"):
        call.function(**good)
