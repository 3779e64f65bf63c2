"""The capped Gittins policy does what its rules say, job by job; lemma 4.1 shows when the cap is taken away."""

import dataclasses
import math
from fractions import Fraction
from typing import Any

import literal_gittins
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mlptsym import Empirical, Exponential, HyperExponential, LogNormal, Lomax, Uniform, Weibull
from mlptsym.laws.base import SizeLaw
from mlptsym.memory.affine import AffineMemory
from mlptsym.memory.linear import LinearMemory
from mlptsym.memory.saturating import SaturatingMemory
from mlptsym.numeric.gittins.capped import CappedGittins
from mlptsym.numeric.gittins.table import GittinsTable, gittins_table
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.simulation.gittins_kernel import RestoreLine, run_gittins
from mlptsym.simulation.simulate import response_times, simulate, simulate_many
from mlptsym.validation import ParameterError

SIZE = LogNormal(5, 0.9)
PAPER = Queue(SIZE, 0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39, preemption_cost=0.1)
LINEAR_RANK = Queue(Lomax(2.0, 2.0), arrival_rate=0.1, preemption_cost=0.5)  # 1/G(a) = 1 + a/2, c(a) = a/2


def at_load(load: float, queue: Queue = PAPER) -> Queue:
    return dataclasses.replace(queue, arrival_rate=load / queue.mean_service_time)


@dataclasses.dataclass(frozen=True)
class Case:
    """What the loop gets to see."""

    arrival_times: NDArray[np.float64]
    service_times: NDArray[np.float64]
    table: GittinsTable
    line: RestoreLine
    preemptions: float
    minimum_quantum: float

    def simulated(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        policy = {"preemptions": self.preemptions, "minimum_quantum": self.minimum_quantum}
        return run_gittins(self.arrival_times, self.service_times, self.table, self.line, **policy)

    def literal(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """In exact arithmetic, so that a tie is a tie."""
        start, slope, kink, later = (Fraction(value) for value in dataclasses.astuple(self.line))

        def cost(age: Fraction) -> Fraction:
            return start + slope * min(age, kink) + later * max(age - kink, 0)

        found = literal_gittins.simulated(
            _fractions(self.arrival_times),
            _fractions(self.service_times),
            literal_gittins.Table(_fractions(self.table.ages), _fractions(self.table.ranks)),
            cost,
            self.preemptions,
            Fraction(self.minimum_quantum),
        )
        responses, overheads = (np.array([float(value) for value in values]) for values in found)
        return responses, overheads


def _fractions(values: NDArray[np.float64]) -> list[Fraction]:
    return [Fraction(value) for value in values.tolist()]


@st.composite
def cases_on_a_grid(draw: st.DrawFn) -> Case:
    """Multiples of 1/4 and an index that goes in steps: floats are exact, and ties of every kind are frequent."""

    def quarters(low: int, high: int, count: int) -> NDArray[np.float64]:
        return np.array(draw(st.lists(st.integers(low, high), min_size=count, max_size=count)), dtype=float) / 4

    jobs, steps = draw(st.integers(0, 12)), draw(st.integers(1, 6))
    ages = np.concatenate([[0.0], np.repeat(np.cumsum(quarters(1, 5, steps)), 2)])
    ranks = np.repeat(quarters(0, 5, steps + 1), 2)[: ages.size]
    line = RestoreLine(*quarters(0, 3, 4).tolist())
    return Case(
        np.cumsum(quarters(0, 6, jobs)),
        quarters(0, 14, jobs),
        GittinsTable(ages, ranks, 0.0),
        line,
        draw(st.sampled_from([0, 1, 2, 3, math.inf])),
        draw(st.sampled_from([0.25, 0.5, 1.0])),
    )


def random_case(seed: int, jobs: int, *, start: float = 0.0) -> Case:
    """An index that is linear between random ages, mostly falling with the age, so that jobs overtake each other."""
    generator = np.random.default_rng(seed)
    count = generator.integers(3, 10)
    ages = np.concatenate([[0.0], np.cumsum(generator.exponential(0.5, count - 1))])
    ranks = generator.uniform(0.5, 3.0, count)
    services = generator.lognormal(0.0, 1.0, jobs)
    return Case(
        start + np.cumsum(generator.exponential(services.mean() / generator.choice([0.5, 0.8, 1.2]), jobs)),
        services,
        GittinsTable(ages, np.sort(ranks) if generator.random() < 0.7 else ranks, 0.0),
        RestoreLine(0.0, 0.1, 1.0, 0.02),
        float(generator.choice([0, 1, 2, 3, math.inf])),
        float(generator.choice([0.02, 0.1, 0.5])),
    )


class TestRules:
    @settings(max_examples=120)
    @given(cases_on_a_grid())
    def test_every_job_fares_as_in_the_literal_version_ties_included(self, trace: Case) -> None:
        for ours, literal in zip(trace.simulated(), trace.literal(), strict=True):
            np.testing.assert_array_equal(ours, literal)

    @settings(max_examples=100)
    @given(st.integers(0, 2**32), st.integers(1, 30))
    def test_every_job_fares_as_in_the_literal_version_between_the_ages_of_a_table(self, seed: int, jobs: int) -> None:
        trace = random_case(seed, jobs)
        for ours, literal in zip(trace.simulated(), trace.literal(), strict=True):
            np.testing.assert_allclose(ours, literal, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("seed", range(5))
    def test_rounding_does_not_grow_with_the_time_on_the_clock(self, seed: int) -> None:
        trace = random_case(seed, 60, start=2.0**31)
        for ours, literal in zip(trace.simulated(), trace.literal(), strict=True):
            np.testing.assert_allclose(ours, literal, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("preemptions", [1, 2, math.inf])
    def test_the_index_of_the_paper_s_jobs_reaches_the_loop(self, preemptions: float) -> None:
        generator = np.random.default_rng(8)
        sizes = SIZE.sample(generator, 25)
        arrivals = np.cumsum(generator.exponential(200.0, 25))
        ours = response_times(PAPER, CappedGittins(preemptions, minimum_quantum=20.0), arrivals, sizes)
        line = RestoreLine(0.0, 0.0, 0.0, 0.1)
        trace = Case(arrivals, PAPER.service_time(sizes), gittins_table(PAPER), line, preemptions, 20.0)
        np.testing.assert_allclose(ours, trace.literal()[0], rtol=1e-9)

    def test_a_trace_worked_out_by_hand(self) -> None:
        """Jobs A (3), B (2), C (0.5) arrive at 0, 1, 6; quanta are at least 1/4; rank 1 + a/2 and cost a/2 at age a.

        B overtakes A at 1.  At 2 both have age 1, and B, about to fall behind A, is preempted.  A pays 1/2 and is
        complete at 4.5; B pays 1/2 and is complete at 6, when C comes.
        """
        ours = response_times(LINEAR_RANK, CappedGittins(1, 0.25), [0, 1, 6], [3, 2, 0.5])
        np.testing.assert_allclose(ours, [4.5, 5.0, 0.5], rtol=1e-12)

    def test_the_same_trace_with_two_preemptions(self) -> None:
        """At 2 A pays 1/2 and gets 1/4; B pays 1/2 and gets 1/4; both have used up theirs.

        A pays 5/8 from 3.5 on and is complete at 5.875; B pays 5/8 and, C notwithstanding, is complete at 7.25.
        """
        ours = response_times(LINEAR_RANK, CappedGittins(2, 0.25), [0, 1, 6], [3, 2, 0.5])
        np.testing.assert_allclose(ours, [5.875, 6.25, 1.75], rtol=1e-12)

    def test_a_restoration_that_an_arrival_ends_is_lost(self) -> None:
        """A (3) at 0, B (0.5) at 1, C (0.5) at 1.6: A, preempted at age 1, is restored from 1.5 on, 1/2 in all.

        C ends that at 1.6.  The whole 1/2 is due again from 2.1 on, and A is complete at 4.6.  With one preemption
        only, A is not to be preempted again: it is complete at 4, and C at 4.5.
        """
        times, sizes = [0, 1, 1.6], [3, 0.5, 0.5]
        np.testing.assert_allclose(
            response_times(LINEAR_RANK, CappedGittins(2, 0.25), times, sizes), [4.6, 0.5, 0.5], rtol=1e-12
        )
        np.testing.assert_allclose(
            response_times(LINEAR_RANK, CappedGittins(1, 0.25), times, sizes), [4.0, 0.5, 2.9], rtol=1e-12
        )

    @pytest.mark.parametrize("preemptions", [0, 2, math.inf])
    @pytest.mark.parametrize(
        "law", [Exponential(1.0), Weibull(2.0, 1.0), Uniform(0.5, 2.0)], ids=lambda law: type(law).__name__
    )
    def test_where_the_index_never_falls_it_is_fcfs(self, law: SizeLaw, preemptions: float) -> None:
        self._same_as_fcfs(Queue(law, 0.8 / law.mean, preemption_cost=0.3), CappedGittins(preemptions))

    def test_without_preemptions_it_is_fcfs(self) -> None:
        self._same_as_fcfs(PAPER, CappedGittins(0))

    def _same_as_fcfs(self, queue: Queue, policy: CappedGittins) -> None:
        ours, fcfs = simulate_many(queue, [policy, FCFS()], jobs=5_000, warmup=0, seeds=2)
        np.testing.assert_allclose(ours.seed_means, fcfs.seed_means, rtol=1e-12)
        assert ours.seed_loads is not None
        np.testing.assert_allclose(ours.seed_loads, queue.base_load, rtol=1e-12)

    @pytest.mark.parametrize(
        ("memory", "cost"),
        [
            (LinearMemory(3.0), 1.5 * 1.0),
            (AffineMemory(2.0, 3.0), 0.5 * 5.0),
            (SaturatingMemory(3.0, 0.25, 2.0), 0.5 * 2.75),
            (SaturatingMemory(3.0, 4.0, 2.0), 0.5 * 5.0),
        ],
        ids=repr,
    )
    def test_the_memory_law_sets_the_price(self, memory: Any, cost: float) -> None:
        """A (3), preempted at age 1 by B (0.5), pays γ g(1) with γ = 1/2."""
        queue = dataclasses.replace(LINEAR_RANK, memory=memory)
        ours = response_times(queue, CappedGittins(1), [0, 1], [3, 0.5])
        np.testing.assert_allclose(ours, [3.5 + cost, 0.5], rtol=1e-12)

    def test_jobs_larger_than_the_law_allows_are_served_to_completion(self) -> None:
        queue = Queue(Empirical([1.0, 1.0, 5.0]), 0.1, preemption_cost=0.1)
        assert response_times(queue, CappedGittins(3), [0.0, 6.0], [9.0, 1.0]).tolist() == [9.0, 4.0]

    def test_no_jobs_and_jobs_of_no_size(self) -> None:
        assert response_times(PAPER, CappedGittins(1), [], []).shape == (0,)
        assert response_times(PAPER, CappedGittins(1), [1.0, 1.0], [0.0, 0.0]).tolist() == [0.0, 0.0]


class TestLemma41:
    """Two jobs of a strictly falling hazard that tie swap without end as the quantum goes to zero."""

    def overhead(self, preemptions: float, quantum: float) -> float:
        """Two jobs of service time 3, the second at 1: what is spent on restoring them."""
        ends = np.array([0.0, 1.0]) + response_times(
            LINEAR_RANK, CappedGittins(preemptions, quantum), [0.0, 1.0], [3.0, 3.0]
        )
        return float(ends.max()) - 6.0

    def test_without_a_cap_the_overhead_grows_as_one_over_the_quantum(self) -> None:
        """Each job pays a/2 at the ages 1, 1 + q, 1 + 2q, … below 3: together the sum of all these ages."""
        for steps in (8, 32, 128, 512, 2048):
            ages = 1 + 2 * np.arange(steps) / steps
            assert self.overhead(math.inf, 2 / steps) == pytest.approx(ages.sum(), rel=1e-6)
        assert self.overhead(math.inf, 2 / 2048) > 4000

    @pytest.mark.parametrize("preemptions", [1, 2, 5])
    def test_with_a_cap_it_stays_bounded(self, preemptions: int) -> None:
        overheads = [self.overhead(preemptions, quantum) for quantum in (1e-2, 1e-4, 1e-6)]
        assert max(overheads) <= 2 * preemptions * 0.5 * 3
        assert overheads[1] == pytest.approx(overheads[2], rel=1e-3)
        assert overheads[2] == pytest.approx(preemptions, rel=1e-4)  # all of them at age 1

    def test_a_whole_queue_becomes_unstable(self) -> None:
        """At a base load of 0.5 the load with restore times passes one, and goes on growing as quanta shrink."""
        loads = []
        for share in (0.05, 0.005, 0.0005):
            policy = CappedGittins(math.inf, minimum_quantum=share * PAPER.mean_service_time)
            result = simulate(at_load(0.5), policy, jobs=2_000, warmup=500, seeds=2)
            loads.append(result.effective_load)
        assert loads[0] < loads[1] < loads[2]
        assert loads[2] > 1
        assert not result.stable


class TestStatistics:
    def test_with_a_falling_hazard_and_free_preemption_it_is_foreground_background(self) -> None:
        """So is MLPT with many levels of a small quantum; on the same jobs the means agree to 1 %."""
        size = HyperExponential([0.9, 0.1], [1.0, 0.1])
        queue = Queue(size, 0.8 / size.mean)
        quantum = 0.02 * size.mean
        policies = [CappedGittins(math.inf, quantum), MLPT(quantum=quantum, levels=math.inf), FCFS()]
        index, levels, fcfs = simulate_many(queue, policies, jobs=20_000, warmup=5_000, seeds=4)
        np.testing.assert_allclose(index.seed_means, levels.seed_means, rtol=0.01)
        assert index.mean < 0.7 * fcfs.mean

    def test_with_free_preemption_nothing_is_better(self) -> None:
        """Gittins' theorem, on the paper's sizes, where foreground–background is not optimal: by more than 4 errors."""
        queue = at_load(0.8, Queue(SIZE, 1.0))
        mean = queue.mean_service_time
        policies = [
            CappedGittins(math.inf),
            MLPT(quantum=0.05 * mean, levels=math.inf),
            MLPT(quantum=1.5 * mean, levels=math.inf),
            MLPT(quantum=2.0 * mean, levels=2),
            FCFS(),
        ]
        best, *others = simulate_many(queue, policies, jobs=40_000, warmup=5_000, seeds=8)
        for other in others:
            gain = other.seed_means - best.seed_means
            assert gain.mean() > 4 * gain.std(ddof=1) / math.sqrt(8)

    def test_the_answer_does_not_depend_on_threads_or_company(self) -> None:
        policies = [CappedGittins(1), MLPT(quantum=600.0, levels=2), CappedGittins(2), FCFS()]
        together = simulate_many(PAPER, policies, jobs=3_000, warmup=500, seeds=3, workers=4)
        for policy, result in zip(policies, together, strict=True):
            alone = simulate(PAPER, policy, jobs=3_000, warmup=500, seeds=3, workers=1)
            np.testing.assert_array_equal(result.seed_means, alone.seed_means)
            if isinstance(policy, CappedGittins):
                np.testing.assert_array_equal(result.seed_loads, alone.seed_loads)
            else:
                assert (result.seed_loads, result.effective_load, result.stable) == (None, None, None)

    def test_an_unstable_queue_is_told_from_a_stable_one(self) -> None:
        """Figure 9: two preemptions at a base load of 0.97 are too many, one is not; both loads are known to 2e-4."""
        verdicts = {}
        for load in (0.8233, 0.97, 1.02):
            for preemptions in (1, 2):
                result = simulate(at_load(load), CappedGittins(preemptions), jobs=50_000, warmup=20_000, seeds=4)
                assert result.effective_load is not None
                assert result.effective_load > load
                verdicts[load, preemptions] = (result.stable, round(result.effective_load, 2))
        assert verdicts == {
            (0.8233, 1): (True, 0.84),
            (0.8233, 2): (True, 0.86),
            (0.97, 1): (True, 1.0),
            (0.97, 2): (False, 1.02),
            (1.02, 1): (False, 1.05),
            (1.02, 2): (False, 1.07),
        }

    def test_the_verdict_is_that_of_the_growth_of_the_backlog(self) -> None:
        """Where it says unstable, four times as many jobs wait about four times as long; where stable, they do not."""
        growth = {}
        for preemptions in (1, 3):
            policy, queue = CappedGittins(preemptions), at_load(0.93)
            short, long = (simulate(queue, policy, jobs=jobs, warmup=20_000, seeds=4) for jobs in (60_000, 240_000))
            assert short.stable is long.stable is (preemptions == 1)
            growth[preemptions] = long.mean / short.mean
        assert growth[1] < 1.5
        assert growth[3] > 2

    def test_a_single_seed_has_a_verdict(self) -> None:
        assert simulate(PAPER, CappedGittins(1), jobs=5_000, warmup=1_000, seeds=1).stable is True
        assert simulate(at_load(1.1), CappedGittins(1), jobs=5_000, warmup=1_000, seeds=1).stable is False

    def test_the_minimum_quantum_is_a_hundredth_of_the_mean_and_matters_little(self) -> None:
        default = CappedGittins(2)
        mean = PAPER.mean_service_time
        assert default.quantum_for(PAPER) == pytest.approx(0.01 * mean)
        results = simulate_many(PAPER, [default, CappedGittins(2, 0.001 * mean)], jobs=20_000, warmup=5_000, seeds=4)
        assert results[0].mean == pytest.approx(results[1].mean, rel=0.02)


class TestPolicy:
    def test_it_is_a_value(self) -> None:
        assert CappedGittins(2) == CappedGittins(2.0)
        assert (CappedGittins(2).levels, CappedGittins(math.inf).levels) == (3, math.inf)
        assert len({CappedGittins(1), CappedGittins(1), CappedGittins(1, 3.0)}) == 2

    @pytest.mark.parametrize("preemptions", [-1, 1.5, math.nan, "2", None, True])
    def test_preemptions_are_whole(self, preemptions: Any) -> None:
        with pytest.raises(ParameterError, match="preemptions"):
            CappedGittins(preemptions)

    @pytest.mark.parametrize("quantum", [0.0, -1.0, math.inf, math.nan, "1"])
    def test_the_minimum_quantum_is_positive(self, quantum: Any) -> None:
        with pytest.raises(ParameterError, match="minimum_quantum"):
            CappedGittins(1, quantum)

    def test_what_would_not_end_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="minimum_quantum = 1e-12 is not allowed: it must be at least"):
            simulate(PAPER, CappedGittins(math.inf, 1e-12), jobs=1000, warmup=0, seeds=1)

    def test_a_law_without_a_mean_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="finite mean"):
            simulate(Queue(Lomax(0.9, 1.0), 0.1), CappedGittins(1), jobs=10, warmup=0, seeds=1)
