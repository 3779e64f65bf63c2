"""The best unequal quanta: against a search that knows nothing of derivatives, and by the conditions of a minimum."""

import math
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import differential_evolution

import mlptsym as mq
from mlptsym.laws.base import SizeLaw
from mlptsym.numeric.mean.gradient import response_gradient
from mlptsym.numeric.optimal.unequal import OptimalQuanta, _Problem, _Reached, best_boundaries_by_level, optimal_quanta

SIZE = mq.LogNormal(5, 0.9)
MEAN = SIZE.mean


def paper(threshold: float) -> mq.Queue:
    return mq.Queue(SIZE, 0.0036, slowdown_threshold=threshold * MEAN, slowdown_factor=0.39, preemption_cost=0.1)


def at_load(load: float, size: SizeLaw, **parameters: object) -> mq.Queue:
    unit = mq.Queue(size, 1.0, **parameters)
    return mq.Queue(size, load / unit.mean_service_time, **parameters)


SLOW = {"slowdown_factor": 0.4, "preemption_cost": 0.05}
QUEUES = {
    "exponential": at_load(0.9, mq.Exponential(2.0), slowdown_threshold=1.5, **SLOW),
    "lognormal": at_load(0.8, mq.LogNormal(1.0, 1.2), slowdown_threshold=9.0, **SLOW),
    "weibull": at_load(0.7, mq.Weibull(0.5, 3.0), slowdown_threshold=8.0, **SLOW),
    "gamma": at_load(0.95, mq.Gamma(0.4, 5.0), slowdown_threshold=4.0, **SLOW),
    "erlang": at_load(0.9, mq.Erlang(4, 2.0), slowdown_threshold=3.0, **SLOW),
    "hyperexponential": at_load(0.8, mq.HyperExponential([0.9, 0.1], [1.0, 0.05]), slowdown_threshold=6.0, **SLOW),
    "lomax": at_load(0.6, mq.Lomax(2.5, 3.0), slowdown_threshold=5.0, **SLOW),
    "uniform": at_load(0.9, mq.Uniform(0.0, 10.0), slowdown_threshold=4.0, **SLOW),
    "deterministic": at_load(0.9, mq.Deterministic(3.0), slowdown_threshold=2.0, **SLOW),
    "empirical": at_load(0.85, mq.Empirical([1.0, 1.0, 1.5, 2.0, 4.0, 30.0]), slowdown_threshold=10.0, **SLOW),
    "window": at_load(
        0.8, mq.LogNormal(1.0, 1.2), slowdown_threshold=9.0, memory=mq.SaturatingMemory(1.0, 6.0, 0.5), **SLOW
    ),
}


@lru_cache
def best_of_four(name: str) -> OptimalQuanta:
    return optimal_quanta(QUEUES[name], 4)


@pytest.mark.parametrize("name", QUEUES)
def test_no_set_of_boundaries_found_by_random_search_is_better(name: str) -> None:
    queue, best = QUEUES[name], best_of_four(name)

    def response_time(logs: np.ndarray) -> np.ndarray:
        boundaries = queue.mean_service_time * np.exp(np.sort(logs, axis=0))
        found = response_gradient(queue, boundaries).mean_response_time
        return np.where(np.isfinite(found), found / best.fcfs, 1e3)

    search = differential_evolution(
        response_time,
        [(-4, 6)] * 3,
        vectorized=True,
        updating="deferred",
        maxiter=120,
        tol=0,
        rng=7,
        polish=False,
    )
    assert best.mean_response_time <= search.fun * best.fcfs * (1 + 1e-9)
    assert best.mean_response_time == pytest.approx(search.fun * best.fcfs, rel=3e-3)  # the search comes near


@pytest.mark.parametrize("name", [name for name in QUEUES if name not in {"deterministic", "empirical"}])
def test_conditions_of_a_minimum(name: str) -> None:
    """∂E[T]/∂t_r is zero, or at a kink negative on the left and positive on the right."""
    queue, best = QUEUES[name], best_of_four(name)
    boundaries = np.array(best.boundaries)[:, None]
    if not best.quanta:
        assert best.mean_response_time == best.fcfs == best.equal.mean_response_time
        return
    left, right = (response_gradient(queue, boundaries, side=side).slopes[:, 0] for side in ("left", "right"))
    scale = best.mean_response_time / boundaries[:, 0]
    for at_kink, before, after in zip(best.kinks, left / scale, right / scale, strict=True):
        if at_kink:
            assert before < 0 < after
        else:
            assert abs(after) < 1e-11
    value = mq.mean_response_time(queue, best.policy)
    assert best.mean_response_time == value
    assert mq.level_table(queue, best.policy).mean_response_time == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("threshold", [3, 6, 8])
def test_more_levels_and_freer_quanta_are_never_worse(threshold: float) -> None:
    chain = list(best_boundaries_by_level(paper(threshold), 4))
    assert [best.levels for best in chain] == [2, 3, 4]
    times = [best.mean_response_time for best in chain]
    assert times == sorted(times, reverse=True)
    for best in chain:
        assert best.mean_response_time <= best.equal.mean_response_time * (1 + 1e-15)
        assert best.gain == pytest.approx(1 - best.mean_response_time / best.equal.mean_response_time, abs=1e-15)
    assert chain[0].mean_response_time == pytest.approx(chain[0].equal.mean_response_time, rel=1e-13)
    assert chain[0].quanta[0] == pytest.approx(chain[0].equal.quantum, rel=1e-9)
    assert chain[-1] == optimal_quanta(paper(threshold), 4)


def test_a_boundary_stays_at_the_threshold() -> None:
    """At ℓ_C = 3 E[L] the first boundary is ℓ_C for every k; at 6 E[L] none for k = 3, the second for k = 6."""
    three = list(best_boundaries_by_level(paper(3), 4))
    assert all(best.kinks[0] and not any(best.kinks[1:]) for best in three)
    assert all(best.boundaries[0] == 3 * MEAN for best in three)
    six = {best.levels: best for best in best_boundaries_by_level(paper(6), 6)}
    assert six[2].kinks == (True,)
    assert six[3].kinks == (False, False)
    assert six[6].kinks == (False, True, False, False, False)


def test_a_boundary_on_the_threshold_is_tried() -> None:
    """With three boundaries in the gaps all descents here end at a minimum that is 0.3 % higher."""
    queue = at_load(
        0.87, SIZE, slowdown_threshold=159.0, slowdown_factor=0.387, preemption_cost=0.0266, memory=mq.LinearMemory()
    )
    best = optimal_quanta(queue, 4)
    grid = np.stack([np.full(30, 159.0), np.linspace(1000, 1600, 30), np.linspace(2300, 3700, 30)])
    found = response_gradient(queue, grid).mean_response_time
    assert best.kinks == (True, False, False)
    assert best.mean_response_time < found.min() < best.mean_response_time * 1.001


def test_the_last_steps_of_a_descent_do_not_lead_up() -> None:
    """From here Newton's method would go to a quantum forty times longer: E[T] is flatter there, and higher."""
    queue = mq.Queue(mq.LogNormal(5, 0.9), 0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39, preemption_cost=0.1)
    problem = _Problem.of(queue, mq.mean_response_time(queue, mq.FCFS()))
    start = np.array([1228.6828570727257])
    value, _ = problem.at(start)
    reached = problem._polished(_Reached(start, value, np.array([True])))
    assert problem.at(reached)[0] <= value


def test_simulation_agrees_that_it_is_better() -> None:
    """Common random numbers: the difference to the best common quantum, its sign and size; false alarm below 1e-4."""
    queue = paper(3)
    best = optimal_quanta(queue, 4)
    policies = [best.policy, mq.MLPT(quantum=best.equal.quantum, levels=4)]
    unequal, equal = (mq.simulate(queue, policy, jobs=50_000, warmup=10_000, seeds=12) for policy in policies)
    differences = np.array(equal.seed_means) - np.array(unequal.seed_means)
    error = differences.std(ddof=1) / math.sqrt(len(differences))
    expected = best.equal.mean_response_time - best.mean_response_time
    assert differences.mean() > 4.4 * error  # t with 11 degrees of freedom: 5e-4 one-sided at most by chance
    assert abs(differences.mean() - expected) < 6.5 * error


def test_jobs_of_the_size_of_a_point_mass_complete() -> None:
    """Quanta add up to no less than the boundary they stand for."""
    queue, best = QUEUES["empirical"], best_of_four("empirical")
    masses = np.unique(queue.service_time([1.0, 1.5, 2.0, 4.0, 30.0]))
    assert all(best.kinks)
    for there in np.cumsum(best.quanta):
        nearest = masses[np.argmin(np.abs(masses - there))]
        assert nearest <= there <= nearest * (1 + 1e-15)


def test_where_first_come_is_best() -> None:
    best = best_of_four("deterministic")
    assert (best.quanta, best.kinks, best.gain, best.policy) == ((), (), 0.0, mq.FCFS())
    assert best.mean_response_time == best.fcfs


def test_an_unstable_queue_has_no_quanta() -> None:
    best = optimal_quanta(mq.Queue(mq.Exponential(1.0), 2.0), 3)
    assert (best.quanta, best.mean_response_time, best.gain) == ((), math.inf, 0.0)


@settings(max_examples=5)
@given(
    shape=st.floats(0.3, 3),
    load=st.floats(0.05, 0.99),
    threshold=st.floats(0.1, 30),
    factor=st.floats(0.05, 1),
    cost=st.floats(0, 1),
    levels=st.integers(2, 4),
)
def test_any_queue_has_an_answer(
    shape: float, load: float, threshold: float, factor: float, cost: float, levels: int
) -> None:
    queue = at_load(
        load, mq.Gamma(shape, 1 / shape), slowdown_threshold=threshold, slowdown_factor=factor, preemption_cost=cost
    )
    best = optimal_quanta(queue, levels)
    assert best.mean_response_time <= min(best.equal.mean_response_time, best.fcfs) * (1 + 1e-12)
    assert len(best.quanta) < levels
    assert all(quantum > 0 for quantum in best.quanta)
    assert 0 <= best.gain < 1


@pytest.mark.parametrize("levels", [1, 0, 65, 2.5, math.inf, math.nan, "3", None, True])
def test_impossible_levels_are_refused(levels: object) -> None:
    with pytest.raises(mq.ParameterError, match="levels"):
        optimal_quanta(paper(6), levels)


def test_what_is_no_queue_is_refused() -> None:
    with pytest.raises(mq.ParameterError, match="queue"):
        optimal_quanta("queue", 3)


def test_polishing_makes_the_gradient_zero_from_nearby() -> None:
    """From a thousandth beside the best two boundaries, both slopes become zero to rounding."""
    queue = mq.Queue(mq.LogNormal(5, 0.9), 0.0036, preemption_cost=0.1)
    best = optimal_quanta(queue, 3)
    start = np.array(best.boundaries) * [1.001, 0.999]
    problem = _Problem.of(queue, best.fcfs)
    reached = problem._polished(_Reached(start, problem.at(start)[0], np.array([True, True])))
    value, slopes = problem.at(reached)
    assert np.abs(slopes * reached / value).max() < 1e-13
    assert reached == pytest.approx(best.boundaries, rel=1e-9)
