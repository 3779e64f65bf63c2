"""Control variates: their means are right, the mean they give is unbiased, and its standard error is honest."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from mlptsym import Deterministic, Empirical, Exponential, LogNormal, Lomax, Uniform, Weibull
from mlptsym.numeric.gittins.capped import CappedGittins
from mlptsym.numeric.levels.sums import level_sums
from mlptsym.numeric.mean.response import mean_response_time
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.simulation import control
from mlptsym.simulation.control import CONTROLS, adjusted, compile_control, control_plan, jobs_needed
from mlptsym.simulation.kernels import run_interrupted, run_observed
from mlptsym.simulation.simulate import simulate, simulate_many
from mlptsym.simulation.traces import draw_trace
from mlptsym.validation import ParameterError

QUEUE = Queue(Exponential(1.0), 0.7, slowdown_threshold=1.5, slowdown_factor=0.8, preemption_cost=0.1)
HEAVY = Queue(Weibull(0.5, 0.5), 0.6, preemption_cost=0.1)
FEW = {"jobs": 4000, "warmup": 500, "seeds": 8}
POLICY = MLPT(quanta=[0.5, 0.7, 1.5])


def literal_lindley(arrival_times: Any, services: Any) -> list[float]:
    waits = [0.0]
    for gap, service in zip(np.diff(arrival_times), services[:-1], strict=True):
        waits.append(max(waits[-1] + service - gap, 0.0))
    return waits


class TestObservation:
    """What the server does is seen as it is, job by job."""

    trace = draw_trace(QUEUE.size, QUEUE.arrival_rate, 400, seed=5)
    services = QUEUE.service_time(trace.sizes)
    boundaries = POLICY.boundaries(math.inf)
    costs = QUEUE.restore_cost(boundaries)

    def test_the_integral_of_the_wait_is_that_of_the_times_the_server_is_not_free_for_an_arrival(self) -> None:
        """∫V dt between arrivals against a fine sum: V(t) is the first wait of a job of size zero put in at t."""
        arrivals = self.trace.arrival_times
        _, waits, areas = run_observed(arrivals, self.services, self.boundaries, self.costs, lazy=False)
        for job in (20, 57, 133, 250, 251):
            times = np.linspace(arrivals[job], arrivals[job + 1], 401)[1:-1]
            middle = []
            for time in times:
                put = np.insert(arrivals, job + 1, time), np.insert(self.services, job + 1, 0.0)
                middle.append(run_observed(*put, self.boundaries, self.costs, lazy=False)[1][job + 1])
            step = times[1] - times[0]
            first = min(self.services[job], self.boundaries[0])
            ends = waits[job] + first, waits[job + 1]
            sampled = step * (sum(middle) + sum(ends) / 2)
            integral = areas[job] + (waits[job] ** 2 - waits[job + 1] ** 2) / 2
            assert integral == pytest.approx(sampled, rel=0.02, abs=2 * step * self.boundaries[-1])

    def test_interrupted_quanta_keep_the_work_of_the_first_levels_that_of_a_queue_of_their_own(self) -> None:
        """A job that completes in the first level waits as under FCFS with sizes min(S, t_1)."""
        responses = run_interrupted(self.trace.arrival_times, self.services, self.boundaries, self.costs)
        first = np.minimum(self.services, self.boundaries[0])
        waits = literal_lindley(self.trace.arrival_times, first)
        short = self.services <= self.boundaries[0]
        np.testing.assert_allclose(responses[short], (np.array(waits) + self.services)[short], rtol=1e-9)

    def test_no_later_job_delays_an_interrupted_one_by_more_than_what_is_before_its_level(self) -> None:
        """The level-j work of a queue with interrupted quanta does not depend on the sizes beyond t_j."""
        long = self.services > self.boundaries[1]
        grown = np.where(long, self.services + 100.0, self.services)
        run = [
            run_interrupted(self.trace.arrival_times, s, self.boundaries, self.costs) for s in (self.services, grown)
        ]
        np.testing.assert_allclose(run[0][~long], run[1][~long], rtol=1e-9)

    def test_batches_are_means_of_what_the_controls_say(self) -> None:
        compile_control()
        plan = control_plan(QUEUE, POLICY, 4000, 500, 8)
        plan = dataclasses.replace(plan, edges=np.array([10, 200, 400]), chosen=tuple(range(len(CONTROLS))))
        arrivals, services = self.trace.arrival_times, self.services
        responses, batches = plan.measure(arrivals, services, self.boundaries, self.costs, lazy=False)
        _, waits, areas = run_observed(arrivals, services, self.boundaries, self.costs, lazy=False)
        first = np.minimum(services, 0.5)
        edges = np.concatenate((self.boundaries, [np.inf]))
        pieces = [
            np.where(services > start, np.minimum(services, end) - start + cost, 0.0)
            for start, end, cost in zip(edges[:-1], edges[1:], self.costs, strict=True)
        ]
        integrals = areas[:-1] + (waits[:-1] ** 2 - waits[1:] ** 2) / 2
        expected = [
            literal_lindley(arrivals, services),
            run_interrupted(arrivals, services, self.boundaries, self.costs),
            services**2,
            np.append(waits[1:] - QUEUE.arrival_rate * integrals, 0.0),
            waits * (services - QUEUE.mean_service_time),
            services,
            np.diff(arrivals, prepend=0.0),
            sum(piece**2 for piece in pieces),
            literal_lindley(arrivals, first),
            waits * (first - plan.centres[1]),
            waits * ((services > 0.5) - plan.centres[2]),
            services > 0.5,
        ]
        for column, values in enumerate(expected):
            known = (np.asarray(values, dtype=float) - plan.means[column]) / plan.units[column]
            found = [known[10:200].mean(), known[200:].mean()]
            np.testing.assert_allclose(batches[:, 1 + column], found, rtol=1e-8, atol=1e-12, err_msg=CONTROLS[column])
        np.testing.assert_allclose(batches[:, 0], [responses[10:200].mean(), responses[200:].mean()], rtol=1e-12)


class TestKnownMeans:
    @pytest.mark.parametrize("queue", [QUEUE, HEAVY, Queue(Uniform(0.5, 2.0), 0.5, preemption_cost=0.2)])
    def test_moments_of_the_work_through_the_levels_are_those_of_a_large_sample(self, queue: Queue) -> None:
        """Against a sample of two million sizes, job by job."""
        boundaries = POLICY.boundaries(math.inf)
        costs = queue.restore_cost(boundaries)
        known = control._Known.of(queue, boundaries, costs)
        sample = draw_trace(queue.size, 1.0, 2_000_000, seed=0).sizes
        services = queue.service_time(sample)
        paid = np.concatenate(([0.0], np.cumsum(costs)))
        level = np.searchsorted(boundaries, services)
        assert known.probability == pytest.approx(np.bincount(level, minlength=4) / services.size, abs=2e-3)
        for j in range(4):
            end = boundaries[j] if j < 3 else np.inf
            work = np.minimum(services, end) + paid[np.minimum(level, j)]
            assert known.work[j] == pytest.approx(work.mean(), rel=5e-3)
            assert known.work_square[j] == pytest.approx((work**2).mean(), rel=2e-2)

    def test_they_agree_with_the_sums_of_the_theory(self) -> None:
        boundaries = POLICY.boundaries(math.inf)
        known = control._Known.of(QUEUE, boundaries, QUEUE.restore_cost(boundaries))
        sums = level_sums(QUEUE, boundaries[:, None], closed=True)
        np.testing.assert_allclose(known.work, sums.work[:, 0], rtol=1e-12)
        first_square = known.work_square[0]
        assert known.later_squares + first_square == pytest.approx(float(sums.squares[0]), rel=1e-12)

    @pytest.mark.parametrize(
        "policy", [POLICY, MLPT(quantum=0.8, levels=math.inf), MLPT(quantum=1.0, levels=2, lazy=True)]
    )
    def test_every_control_has_the_mean_it_is_said_to_have(self, policy: Policy) -> None:
        """Mean over 64 seeds, |z| < 5: twelve controls fail by chance with probability below 10⁻⁴ (Student)."""
        plan = control_plan(QUEUE, policy, 20_000, 2000, 64)
        plan = dataclasses.replace(plan, chosen=tuple(range(len(CONTROLS))), edges=np.array([2000, 22_000]))
        compile_control()
        rows = []
        for seed in range(64):
            trace = draw_trace(QUEUE.size, QUEUE.arrival_rate, 22_000, seed=seed)
            services = QUEUE.service_time(trace.sizes)
            boundaries = policy.boundaries(float(services.max()))
            levels = boundaries, QUEUE.restore_cost(boundaries)
            rows.append(plan.measure(trace.arrival_times, services, *levels, lazy=policy.lazy)[1][0, 1:])
        table = np.array(rows)
        z = table.mean(axis=0) / (table.std(axis=0, ddof=1) / 8)
        assert (np.abs(z) < 5).all(), dict(zip(CONTROLS, z.round(1), strict=True))


class TestAdjusted:
    def test_what_the_controls_explain_is_gone(self) -> None:
        generator = np.random.default_rng(0)
        controls = generator.standard_normal((100, 4, 3))
        noise = generator.standard_normal((100, 4))
        table = np.concatenate(((7 + controls @ [1.0, -2.0, 3.0] + 1e-3 * noise)[..., None], controls), axis=2)
        result = adjusted(table)
        assert abs(result.mean - 7) < 5 * result.standard_error
        assert result.standard_error == pytest.approx(1e-3 / math.sqrt(400), rel=0.3)
        assert result.degrees_of_freedom == 99

    def test_without_controls_it_is_the_mean_of_the_seeds_with_its_usual_error(self) -> None:
        table = np.random.default_rng(1).exponential(size=(5, 16, 1))
        result = adjusted(table)
        assert result.mean == pytest.approx(table.mean(), rel=1e-12)
        assert result.standard_error == pytest.approx(table.mean(axis=1).std(ddof=1) / math.sqrt(5), rel=1e-9)

    def test_constant_and_repeated_controls_count_as_one_or_none(self) -> None:
        table = np.random.default_rng(2).exponential(size=(5, 16, 2))
        more = np.concatenate((table, table[..., 1:], np.full((5, 16, 1), 1e-17)), axis=2)
        assert dataclasses.astuple(adjusted(more)) == pytest.approx(dataclasses.astuple(adjusted(table)), rel=1e-9)


class TestSimulate:
    def test_without_control_nothing_changes(self) -> None:
        plain, sharp = (simulate(QUEUE, POLICY, **FEW, control=control) for control in (False, True))
        assert plain.seed_means.tolist() == sharp.seed_means.tolist()
        assert (plain.controls, plain.variance_reduction) == ((), None)
        assert plain.half_width() == pytest.approx(2.364624 * plain.standard_error, rel=1e-6)
        assert len(sharp.controls) == len(CONTROLS)
        assert sharp.variance_reduction == pytest.approx((plain.standard_error / sharp.standard_error) ** 2)

    def test_the_answer_does_not_depend_on_workers_or_on_other_policies(self) -> None:
        alone = simulate(QUEUE, POLICY, **FEW, control=True, workers=1)
        together = simulate_many(QUEUE, [FCFS(), POLICY], **FEW, control=True, workers=3)[1]
        assert (alone.mean, alone.standard_error) == (together.mean, together.standard_error)

    @pytest.mark.parametrize(
        ("queue", "policy", "least"),
        [
            (QUEUE, MLPT(quantum=1.0, levels=2), 100),
            (QUEUE, MLPT(quantum=1.0, levels=math.inf), 50),
            (HEAVY, MLPT(quantum=1.0, levels=5), 30),
            (Queue(Empirical([0.3, 0.5, 4.0]), 0.4, preemption_cost=0.1), MLPT(quantum=1.0, levels=2), 10),
            (QUEUE, FCFS(), 20),
        ],
    )
    def test_the_mean_is_that_of_the_theory_and_much_sharper(self, queue: Queue, policy: Policy, least: float) -> None:
        """|z| < 7 with 7 degrees of freedom: by chance with probability 2 · 10⁻⁴."""
        result = simulate(queue, policy, jobs=20_000, warmup=2000, seeds=8, control=True)
        assert result.variance_reduction is not None and result.variance_reduction > least
        assert abs(result.mean - mean_response_time(queue, policy)) < 7 * result.standard_error

    def test_fcfs_is_not_its_own_control(self) -> None:
        rare = MLPT(quantum=15.0, levels=2)  # one job in a million goes on to the second level
        for policy in (FCFS(), rare):
            result = simulate(QUEUE, policy, **FEW, control=True)
            assert not set(result.controls) & set(CONTROLS[:2])
            assert result.standard_error > 0

    def test_constant_sizes(self) -> None:
        result = simulate(Queue(Deterministic(1.0), 0.5), FCFS(), **FEW, control=True)
        assert abs(result.mean - 1.5) < 7 * result.standard_error

    def test_an_interval_of_95_percent_covers_the_mean_that_often(self) -> None:
        """200 root seeds, a heavy-tailed law: where 93 to 97 % are covered, 173 to 200 are, but for a probability 2 · 10⁻³."""
        policy = MLPT(quantum=1.0, levels=3)
        exact = mean_response_time(HEAVY, policy)
        covered = 0
        for root_seed in range(200):
            result = simulate(HEAVY, policy, 5000, 1000, 8, root_seed=root_seed, control=True, workers=1)
            covered += abs(result.mean - exact) <= result.half_width()
        assert 173 <= covered < 200


class TestRefusals:
    @pytest.mark.parametrize(
        ("queue", "policy", "arguments", "message"),
        [
            (QUEUE, CappedGittins(1), {}, r"^policy = .* FCFS or MLPT with control variates"),
            (
                dataclasses.replace(QUEUE, arrival_rate=1.2),
                POLICY,
                {},
                r"^control = True .* False for an unstable queue",
            ),
            (Queue(Lomax(4.0, 3.0), 0.5), POLICY, {}, r"^control = True .* False where E\[L\^4\] is infinite"),
            (
                Queue(Lomax(6.0, 5.0), 0.5, preemption_cost=0.1),
                MLPT(quantum=1.0, levels=math.inf),
                {},
                r"^control = True .* False where E\[L\^6\] is infinite",
            ),
            (QUEUE, POLICY, {"seeds": 3}, r"^seeds = 3 .* at least 4"),
            (QUEUE, POLICY, {"warmup": 10}, r"^warmup = 10 .* at least \d+ with control variates"),
            (QUEUE, POLICY, {"jobs": 900}, r"^jobs = 900 .* at least \d+ with control variates"),
            (QUEUE, POLICY, {"control": 1}, r"^control = 1 .* True or False"),
        ],
    )
    def test_no_error_is_given_where_none_would_be_honest(
        self, queue: Queue, policy: Any, arguments: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ParameterError, match=message):
            simulate(queue, policy, **{**FEW, "control": True, **arguments})

    def test_the_jobs_asked_for_are_enough(self) -> None:
        queue = Queue(LogNormal(0, 1), 0.55)
        warmup, jobs = jobs_needed(queue, FCFS())
        assert simulate(queue, FCFS(), jobs, warmup, 4, control=True).mean > 0
        with pytest.raises(ParameterError, match="^warmup"):
            simulate(queue, FCFS(), jobs, warmup - 1, 4, control=True)

    def test_a_confidence_is_a_probability(self) -> None:
        with pytest.raises(ParameterError, match=r"^confidence = 95"):
            simulate(QUEUE, FCFS(), **FEW).half_width(95)
