"""MLPT′ with three levels: a Markov chain at the ends of pieces, the counts word for word at 25 digits, limits, simulation."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
import reference
import sympy as sp
from reference_lazy import Three
from reference_queues import LAWS, loaded, queues
from test_lazy import DIGITS, Literal

import mlptsym as mq
from mlptsym.ledger.sections.beyond.lazy.chain_three import ThreeSizes, by_chain_of_three


@pytest.mark.parametrize(("rate", "unit"), [("1/20", "2/5"), ("1/20", "0"), ("1/25", "5/2")])
def test_agreement_with_a_markov_chain(rate: str, unit: str) -> None:
    """e_1, e_2 and E[T] of sizes that complete one in each level; what the chain leaves out is below 1e-9."""
    cost = sp.Rational(unit)
    chain = ThreeSizes(sp.Rational(rate), (cost, 2 * cost))
    queue = mq.Queue(mq.Empirical([0.5] * 5 + [1.6] * 3 + [3.4] * 2), float(chain.rate), preemption_cost=float(cost))
    terms = mq.lazy_three_terms(queue, [1.0, 2.0])
    assert (*terms.alone, terms.mean_response_time) == pytest.approx(by_chain_of_three(chain), rel=1e-9)


def literal_three(literal: reference.ReferenceQueue, law: object, ends: tuple[float, float]) -> Three:
    """The transforms from the tail at Gauss nodes between its corners, at 18 digits."""
    of_two = Literal(literal, law, ends[0])
    low, high = map(mp.mpf, ends)
    before, after = of_two.tail, literal.moment(0, high)
    corners = [literal.service_time(mp.mpf(x)) for x in (*law.atoms, *law.density_jumps) if math.isfinite(x)]
    corners += [literal.service_time(mp.mpf(x)) for x in [literal.slowdown_threshold] if math.isfinite(x)]
    reach = high + 45 * (1 + literal.moment(1, mp.mpf(0)) * of_two.rate / after) / of_two.rate / after
    middle, third = of_two.nodes(low, high, corners), of_two.nodes(high, reach, corners)

    def completing(z: mp.mpf) -> mp.mpf:
        parts = mp.fsum(w * mp.exp(-z * y) for y, w in middle)
        return 1 - (z * parts + mp.exp(-z * (high - low)) * after) / before

    def last(z: mp.mpf) -> mp.mpf:
        return 1 - z * mp.fsum(w * mp.exp(-z * y) for y, w in third) / after

    costs = (literal.cost(low), literal.cost(high))
    return Three(of_two.rate, (low, high), costs, of_two.short, completing, last, literal.moment)


@pytest.mark.parametrize("law_name", sorted(set(LAWS) - {"Deterministic"}))
def test_agreement_with_the_literal_evaluation(law_name: str) -> None:
    """E[T], waits and e to 1e-12, or 1e-15/(1 − ρ) where that is larger; loads, quanta and memories go round."""
    turn = sorted(LAWS).index(law_name)
    first, ratio, load = [(0.3, 2.0, 0.5), (1.2, 1.5, 0.9), (0.6, 4.0, 0.05)][turn % 3]
    # all pieces must be possible for bounded sizes
    first, ratio = {"Empirical": (0.2, 4.0), "Uniform": (0.8, 1.4)}.get(law_name, (first, ratio))
    t_1 = first * queues(law_name, turn, 1.0)[0].mean_service_time
    ends = (t_1, ratio * t_1)
    queue, literal = loaded(law_name, turn, load, mq.MLPT(quanta=[t_1, ends[1] - t_1]))
    terms = mq.lazy_three_terms(queue, ends)
    with mp.workdps(DIGITS):
        *found, mean = literal_three(literal, queue.size, ends).answer()
        allowed = max(1e-12, 1e-15 / (1 - load))
        for here, exact in zip((*terms.alone, *terms.waits), found, strict=True):
            assert abs(here / exact - 1) < 10 * allowed, (here, exact)
        assert abs(terms.mean_response_time / mean - 1) < allowed


@pytest.mark.parametrize("law_name", LAWS)
def test_what_a_mean_must_be(law_name: str) -> None:
    """Over eight orders of θ, loads up to 1 − 1e-8: 0 ≤ e ≤ 1, e_2 below e^{−λθ}, E[T] and the load at most those of MLPT."""
    mean = queues(law_name, 1, 1.0)[0].mean_service_time
    for load in (1e-6, 0.5, 0.95, 1 - 1e-8):
        quanta = mean * np.geomspace(1e-5, 1e3, 9)
        queue, _ = loaded(law_name, 1, load, mq.MLPT(quantum=0.7 * mean, levels=3))
        eager, lazy = (mq.solve(queue, mq.MLPT(quantum=quanta, levels=3, lazy=waits)) for waits in (False, True))
        terms = mq.lazy_three_terms(queue, np.stack([quanta, 2 * quanta], axis=-1))
        assert (lazy.effective_load <= eager.effective_load * (1 + 1e-15)).all()
        assert (terms.alone >= 0).all()
        assert (terms.alone <= np.exp(-queue.arrival_rate * quanta)[:, None] * (1 + 1e-9)).all()
        both = np.isfinite(lazy.mean_response_time) & np.isfinite(eager.mean_response_time)
        error = max(1e-12, 1e-15 / (1 - load))
        assert (lazy.mean_response_time[both] <= eager.mean_response_time[both] * (1 + error)).all()
        assert not (np.isfinite(eager.mean_response_time) & ~np.isfinite(lazy.mean_response_time)).any()


def test_by_level() -> None:
    """Rows of a table sum to E[T], and count the share of costs that is paid."""
    queue = mq.Queue(mq.LogNormal(5, 0.9), 0.0036, 1335.1, 0.39, 0.1)
    table = mq.level_table(queue, mq.MLPT(quanta=[300.0, 500.0], lazy=True))
    assert (table.probability * table.response_time).sum() == pytest.approx(table.mean_response_time, rel=1e-13)
    assert table.waiting_time.tolist() == mq.lazy_three_terms(queue, [300.0, 800.0]).waits.tolist()


def test_limits() -> None:
    """No cost: MLPT.  A boundary that no job passes: MLPT′ with two levels, or FCFS."""
    free = mq.Queue(mq.Gamma(0.4, 5.0), 0.3)
    quanta = np.geomspace(0.01, 100, 9)
    eager, lazy = (
        mq.mean_response_time(free, mq.MLPT(quantum=quanta, levels=3, lazy=waits)) for waits in (False, True)
    )
    np.testing.assert_allclose(lazy, eager, rtol=1e-13)
    queue = mq.Queue(mq.Uniform(0, 3), 0.4, preemption_cost=0.3)
    of_two = mq.mean_response_time(queue, mq.MLPT(quantum=1.2, levels=2, lazy=True))
    assert mq.lazy_three_terms(queue, [1.2, 3.5]).mean_response_time == pytest.approx(of_two, rel=1e-14)
    fcfs = mq.mean_response_time(queue, mq.FCFS())
    assert mq.lazy_three_terms(queue, [3.0, 3.5]).mean_response_time == pytest.approx(fcfs, rel=1e-14)


def test_sizes_that_all_reach_level_3_or_none_that_ends_in_level_2() -> None:
    """φ = α where no demoted job completes in level 2: what the chain gives, with a part of the sizes moved there."""
    queue = mq.Queue(mq.Empirical([0.5, 3.4]), 0.1, preemption_cost=0.4)
    near = mq.Queue(mq.Empirical([0.5] * 5000 + [1.5] + [3.4] * 4999), 0.1, preemption_cost=0.4)
    here, there = (mq.lazy_three_terms(one, [1.0, 2.0]) for one in (queue, near))
    assert here.mean_response_time == pytest.approx(there.mean_response_time, rel=5e-4)
    assert here.alone.tolist() == pytest.approx(there.alone.tolist(), rel=5e-4)
    all_long = mq.lazy_three_terms(mq.Queue(mq.Deterministic(3.0), 0.1, preemption_cost=0.4), [1.0, 2.0])
    assert np.isfinite(all_long.mean_response_time) and (all_long.alone > 0.5).all()


def test_simulation_agrees_in_heavy_traffic() -> None:
    """Where MLPT is almost unstable, and E[T] of MLPT′ is about half as large: false-alarm rate 1e-4."""
    queue, policy = mq.Queue(mq.Exponential(1.0), 0.58, preemption_cost=1.0), mq.MLPT(quantum=0.8, levels=3, lazy=True)
    exact, eager = mq.mean_response_time(queue, policy), mq.mean_response_time(queue, mq.MLPT(quantum=0.8, levels=3))
    means = np.array(mq.simulate(queue, policy, jobs=100_000, warmup=10_000, seeds=12).seed_means)
    error = means.std(ddof=1) / math.sqrt(len(means))
    assert abs(means.mean() - exact) < 5.7 * error < (eager - exact) / 2


def test_stable_beyond_the_load_without_waived_costs() -> None:
    queue = mq.Queue(mq.Exponential(1.0), 0.6, preemption_cost=1.0)
    eager, lazy = (mq.solve(queue, mq.MLPT(quantum=0.8, levels=3, lazy=waits)) for waits in (False, True))
    assert eager.effective_load > 1.009 and not eager.stable and lazy.effective_load < 0.99 and lazy.stable


@pytest.mark.parametrize("boundaries", [[1.0], 1.0, [2.0, 1.0], [0.0, 1.0], [1.0, math.inf], [1.0, 2.0, 3.0]])
def test_boundaries_that_are_none(boundaries: object) -> None:
    with pytest.raises(mq.ParameterError, match="boundaries"):
        mq.lazy_three_terms(mq.Queue(mq.Exponential(1.0), 0.5), boundaries)
