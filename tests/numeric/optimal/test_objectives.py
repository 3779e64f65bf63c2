"""The best quantum for percentiles, the mean slowdown and weighted sums, and the mean slowdown itself."""

import math

import numpy as np
import pytest
import sympy as sp
from by_value import differ
from scipy import stats

import mlptsym as mq
from mlptsym.numeric.optimal.objectives import Objective, best_quantum_for, mean_slowdown, reciprocal_means
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, restore_cost, service
from mlptsym.symbolic.mean.slowdown import mean_slowdown as symbolic_slowdown
from mlptsym.symbolic.mean.slowdown import reciprocal_mean
from mlptsym.symbolic.mean.waiting import waiting_time
from mlptsym.symbolic.model.moments import UpperMoment
from mlptsym.validation import ParameterError

SIZE = mq.LogNormal(5, 0.9)
PAPER = mq.Queue(SIZE, 0.0036, 6 * SIZE.mean, 0.39, 0.1)
SMALL = mq.Queue(mq.Gamma(2.5, 0.4), 0.5, 1.5, 0.5, 0.05)


class TestMeanSlowdown:
    def test_fcfs(self) -> None:
        """E[T/S] = 1 + E[W] E[1/S]: the wait does not depend on the job's own size."""
        wait = arrival_rate * UpperMoment(2, 0) / (2 * (1 - arrival_rate * UpperMoment(1, 0)))
        assert not differ(symbolic_slowdown(1), 1 + wait * UpperMoment(-1, 0))

    def test_every_level_pays_its_wait_and_its_costs(self) -> None:
        """E[T/S] = 1 + Σ_j (d_j + c_1 + … + c_{j−1}) E[1/S ; J = j]."""
        total: sp.Expr = sp.S.One
        for j in (1, 2, 3):
            paid = sum((restore_cost(r) for r in range(1, j)), sp.S.Zero)
            here = UpperMoment(-1, attained(j - 1)) - UpperMoment(-1, attained(j, last=j == 3))
            total += (waiting_time(j, 3) + paid) * here
        assert not differ(symbolic_slowdown(3), total)

    def test_division_lowers_the_order(self) -> None:
        low, high = sp.symbols("a b", positive=True)
        found = reciprocal_mean(5 * service**2 + 2, low, high)
        expected = 5 * (UpperMoment(1, low) - UpperMoment(1, high)) + 2 * (UpperMoment(-1, low) - UpperMoment(-1, high))
        assert sp.expand(found - expected) == 0

    @pytest.mark.parametrize(
        ("law", "exact"),
        [
            (mq.LogNormal(0.3, 0.9), math.exp(-0.3 + 0.405)),
            (mq.LogNormal(0.0, 0.02), math.exp(0.0002)),
            (mq.Gamma(1.2, 0.5), 1 / (0.5 * 0.2)),
            (mq.Erlang(4, 2.0), 2 / 3),
            (mq.Uniform(0.5, 1.5), math.log(3)),
            (mq.Deterministic(4.0), 0.25),
            (mq.Empirical([1.0, 2.0, 2.0, 4.0]), (1 + 0.5 + 0.5 + 0.25) / 4),
        ],
        ids=str,
    )
    def test_reciprocal_means(self, law: mq.LogNormal, exact: float) -> None:
        """E[1/S] in closed form, as a whole and as the sum over bands."""
        start = law.mean * np.array([0.0, 0.7, 1.0, 2.5])
        parts = reciprocal_means(mq.Queue(law, 0.01), start, np.append(start[1:], math.inf))
        assert parts.sum() == pytest.approx(exact, rel=1e-11)
        whole = reciprocal_means(mq.Queue(law, 0.01), np.zeros(1), np.array([math.inf]))
        assert whole[0] == pytest.approx(exact, rel=1e-11)

    @pytest.mark.parametrize("law", [mq.Exponential(1.0), mq.Gamma(0.9, 1.0), mq.Uniform(0, 1), mq.Lomax(3.0, 1.0)])
    def test_small_jobs_make_it_infinite(self, law: mq.Exponential) -> None:
        queue = mq.Queue(law, 0.1)
        assert mean_slowdown(queue, mq.MLPT(quantum=1.0, levels=2)) == math.inf
        with pytest.raises(ParameterError, match="^objective = "):
            best_quantum_for(queue, 2, "mean-slowdown")

    @pytest.mark.parametrize(
        "policy",
        [
            mq.FCFS(),
            mq.MLPT(quantum=0.7, levels=2),
            mq.MLPT(quanta=[0.4, 0.9]),
            mq.MLPT(quantum=0.7, levels=math.inf),
        ],
        ids=str,
    )
    def test_simulation(self, policy: mq.FCFS | mq.MLPT) -> None:
        """Mean of T/S over 16 seeds of 20,000 jobs, by Student's t; a false alarm in one choice of seeds in 10⁵."""
        means = []
        for seed in np.random.SeedSequence(7).spawn(16):
            generator = np.random.default_rng(seed)
            arrivals = np.cumsum(generator.exponential(1 / SMALL.arrival_rate, 21_000))
            sizes = SMALL.size.sample(generator, 21_000)
            times = mq.response_times(SMALL, policy, arrivals, sizes)
            means.append((times / SMALL.service_time(sizes))[1000:].mean())
        score = (np.mean(means) - mean_slowdown(SMALL, policy)) / (np.std(means, ddof=1) / 4)
        assert abs(score) < stats.t.isf(1e-5 / 8, 15)
        wrong = (np.mean(means) - 1.15 * mean_slowdown(SMALL, policy)) / (np.std(means, ddof=1) / 4)
        assert abs(wrong) > stats.t.isf(1e-5 / 8, 15)

    def test_unstable(self) -> None:
        assert mean_slowdown(mq.Queue(mq.Gamma(2.5, 0.4), 1.1), mq.FCFS()) == math.inf


class TestObjectives:
    @pytest.mark.parametrize("objective", ["p99", {"mean-slowdown": 1.0, "mean": 0.01}], ids=str)
    def test_no_quantum_of_a_grid_is_better(self, objective: object) -> None:
        best, wanted = best_quantum_for(PAPER, 2, objective), Objective.of(objective)
        assert best.value == wanted.value(PAPER, mq.MLPT(quantum=best.quantum, levels=2))
        assert best.fcfs == wanted.value(PAPER, mq.FCFS())
        assert best.gain == 1 - best.value / best.fcfs
        for quantum in SIZE.mean * np.array([1.0, 2.5, 4.0, 9.0]):
            assert wanted.value(PAPER, mq.MLPT(quantum=float(quantum), levels=2)) >= best.value * (1 - 1e-9)
        # the quantum that is best for the mean is another
        assert best.best_for_mean == mq.optimal_quantum(PAPER, 2).quantum == 6 * SIZE.mean
        assert best.value < 0.99 * best.value_of_best_for_mean
        assert abs(best.quantum / best.best_for_mean - 1) > 0.1

    def test_the_mean_is_the_exact_optimum(self) -> None:
        exact = mq.optimal_quantum(PAPER, 2)
        best = best_quantum_for(PAPER, 2, "mean")
        assert (best.quantum, best.value, best.kind) == (exact.quantum, exact.mean_response_time, exact.kind)
        assert best.value == best.mean_response_time and best.effective_load == exact.effective_load

    def test_a_weighted_sum_is_the_sum(self) -> None:
        policy = mq.MLPT(quantum=300.0, levels=3)
        parts = [Objective.of(name).value(PAPER, policy) for name in ("mean", "p95", "mean-slowdown")]
        mixed = Objective.of({"mean": 0.5, "p95": 2, "mean-slowdown": 100.0}).value(PAPER, policy)
        assert mixed == pytest.approx(0.5 * parts[0] + 2 * parts[1] + 100 * parts[2], rel=1e-12)
        assert parts[1] == mq.response_time_distribution(PAPER, policy).quantile(0.95)

    def test_an_unstable_queue(self) -> None:
        best = best_quantum_for(mq.Queue(mq.Exponential(1.0), 1.5), 2, "p99")
        assert (best.quantum, best.value, best.kind, best.gain) == (math.inf, math.inf, "fcfs", 0.0)

    def test_where_preemption_is_too_dear_fcfs_is_best(self) -> None:
        best = best_quantum_for(mq.Queue(mq.Erlang(20, 20.0), 0.7, preemption_cost=1.0), 2, "p95")
        assert best.kind == "fcfs" and best.value == best.fcfs and best.gain == 0

    @pytest.mark.parametrize(
        "objective",
        [
            *("p0", "p100", "p99.9999999", "P99", "99", "median", "", None, 99, ["p99"], {}),
            *({"p99": 0}, {"p99": -1}, {"p99": math.nan}, {"p99": "1"}, {"worst": 1.0}, {1: 1.0}),
        ],
        ids=str,
    )
    def test_what_is_no_objective(self, objective: object) -> None:
        with pytest.raises(ParameterError, match="^objective = "):
            best_quantum_for(PAPER, 2, objective)

    @pytest.mark.parametrize("levels", [1, 2.5, "2", -1])
    def test_levels(self, levels: object) -> None:
        with pytest.raises(ParameterError, match="^levels = "):
            best_quantum_for(PAPER, levels, "p99")


def test_optimal_quantum_takes_an_objective() -> None:
    queue = mq.Queue(mq.LogNormal(0.0, 1.0), 0.4, preemption_cost=0.05)
    assert mq.optimal_quantum(queue, 2, objective="mean-slowdown") == best_quantum_for(queue, 2, "mean-slowdown")
    assert mq.optimal_quantum(queue, 2, objective="mean") == mq.optimal_quantum(queue, 2)
    with pytest.raises(mq.ParameterError, match="certify"):
        mq.optimal_quantum(queue, 2, objective="p99", certify=True)
    with pytest.raises(mq.ParameterError, match="objective"):
        mq.optimal_quantum(queue, 2, objective="fast")
