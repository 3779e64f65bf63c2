"""The simulator does what Algorithm 1 says, job by job, and its averages are reproducible."""

import contextlib
import dataclasses
import inspect
import math
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import literal_simulator
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mlptsym import Deterministic, Exponential, LogNormal, Lomax
from mlptsym.compile.machine_code import machine_code
from mlptsym.memory.linear import LinearMemory
from mlptsym.memory.saturating import SaturatingMemory
from mlptsym.numeric.gittins.capped import CappedGittins
from mlptsym.numeric.mean.response import mean_response_time
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.simulation import kernels
from mlptsym.simulation.kernels import level_visits, run
from mlptsym.simulation.simulate import response_times, simulate, simulate_many
from mlptsym.simulation.traces import draw_trace, draw_traces
from mlptsym.validation import ParameterError

PAPER = Queue(
    LogNormal(5, 0.9), arrival_rate=0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39, preemption_cost=0.1
)


@dataclasses.dataclass(frozen=True)
class Case:
    """What the loop gets to see."""

    arrival_times: NDArray[np.float64]
    service_times: NDArray[np.float64]
    boundaries: NDArray[np.float64]
    costs: NDArray[np.float64]
    lazy: bool = False

    def simulated(self) -> NDArray[np.float64]:
        return run(self.arrival_times, self.service_times, self.boundaries, self.costs, lazy=self.lazy)

    def literal(self) -> NDArray[np.float64]:
        """In exact arithmetic, so that a tie is a tie."""
        arrays = (self.arrival_times, self.service_times, self.boundaries, self.costs)
        fractions = ([Fraction(value) for value in array.tolist()] for array in arrays)
        return np.array([float(t) for t in literal_simulator.response_times(*fractions, lazy=self.lazy)])


def case(gaps: list[float], services: list[float], quanta: list[float], costs: list[float], lazy: bool = False) -> Case:
    return Case(
        np.cumsum(gaps, dtype=float),
        np.array(services, dtype=float),
        np.cumsum(quanta, dtype=float),
        np.array(costs, dtype=float),
        lazy,
    )


@st.composite
def cases_on_a_grid(draw: st.DrawFn) -> Case:
    """Multiples of 1/4, where floats are exact: simultaneous arrivals, ties and services on a boundary are frequent."""
    jobs = draw(st.integers(0, 14))
    levels = draw(st.sampled_from([1, 2, 3, 4, 5, 6, math.inf]))
    services = draw(st.lists(st.integers(0, 14), min_size=jobs, max_size=jobs))
    if levels == math.inf:
        quanta = [draw(st.integers(1, 4))] * 14  # the last boundary is never reached
    else:
        quanta = draw(st.lists(st.integers(1, 6), min_size=levels - 1, max_size=levels - 1))
    costs = draw(st.one_of(st.just([0] * len(quanta)), st.lists(st.integers(0, 6), min_size=14, max_size=14)))
    gaps = draw(st.lists(st.one_of(st.just(0), st.integers(0, 12)), min_size=jobs, max_size=jobs))
    grid = [[value / 4 for value in values] for values in (gaps, services, quanta, costs[: len(quanta)])]
    return case(*grid, lazy=draw(st.booleans()))


def random_case(seed: int, jobs: int, load: float, *, start: float = 0.0) -> Case:
    generator = np.random.default_rng(seed)
    levels = generator.choice([1, 2, 3, 4, 6, 200])
    services = generator.lognormal(0.0, generator.uniform(0.3, 1.5), jobs)
    quanta = generator.uniform(0.2, 2.0, levels - 1) if generator.random() < 0.5 else np.full(levels - 1, 0.5)
    boundaries = np.cumsum(quanta)
    costs = generator.choice([0.0, 0.05, 0.5]) * boundaries
    work = services.sum() + sum(costs[: np.searchsorted(boundaries, service)].sum() for service in services)
    arrivals = start + np.cumsum(generator.exponential(work / jobs / load, jobs))
    return Case(arrivals, services, boundaries, costs, bool(generator.random() < 0.5))


class TestAlgorithmOne:
    @given(cases_on_a_grid())
    @example(case([0, 0, 0], [2, 2, 2], [1], [1]))
    @example(case([0, 1], [2, 1], [1], [3], lazy=True))
    def test_every_response_time_is_that_of_the_literal_version_ties_included(self, trace: Case) -> None:
        np.testing.assert_array_equal(trace.simulated(), trace.literal())

    @given(st.integers(0, 2**32), st.integers(1, 120), st.sampled_from([0.3, 0.8, 0.95, 1.0, 1.5]))
    def test_every_response_time_is_that_of_the_literal_version_without_ties(
        self, seed: int, jobs: int, load: float
    ) -> None:
        trace = random_case(seed, jobs, load)
        np.testing.assert_allclose(trace.simulated(), trace.literal(), rtol=1e-9)

    @pytest.mark.parametrize("seed", range(6))
    def test_rounding_does_not_grow_with_the_time_on_the_clock(self, seed: int) -> None:
        trace = random_case(seed, 2000, load=0.9, start=2.0**31)  # a time stamp of our days, in seconds
        np.testing.assert_allclose(trace.simulated(), trace.literal(), rtol=1e-9)

    def test_a_trace_worked_out_by_hand(self) -> None:
        """Quanta 1 and 1, costs 0.5 and 0.25; jobs A (3.0), B (1.0), C (2.5) arrive at 0, 0.5 and 4.

        A 0–1, demoted; B 1–2, complete; A pays 0.5, is served 2.5–3.5 and demoted (alone); pays 0.25, is served
        3.75–4.75, complete.  C, arrived at 4, 4.75–5.75; pays 0.5, 6.25–7.25; pays 0.25, 7.5–8.
        """
        trace = case([0, 0.5, 3.5], [3, 1, 2.5], [1, 1], [0.5, 0.25])
        assert trace.simulated().tolist() == [4.75, 1.5, 4.0]

    def test_the_same_trace_under_the_lazy_policy(self) -> None:
        """A pays for its first demotion, as B waits; A's second and both of C's find nobody (remark 1)."""
        trace = case([0, 0.5, 3.5], [3, 1, 2.5], [1, 1], [0.5, 0.25], lazy=True)
        assert trace.simulated().tolist() == [4.5, 1.5, 3.0]

    def test_a_service_time_on_a_boundary_is_complete_there(self) -> None:
        assert case([0], [2], [1, 1], [1, 100]).simulated().tolist() == [3.0]

    def test_an_arrival_at_the_instant_of_a_decision_comes_before_it(self) -> None:
        """The second job arrives as the first is demoted for the second time, and is served before it."""
        trace = case([0, 2], [3, 1], [1, 1], [0, 0])
        assert trace.simulated().tolist() == [4.0, 1.0]

    def test_an_arrival_at_the_instant_of_a_demotion_makes_it_cost(self) -> None:
        assert case([0, 1], [2, 1], [1], [5], lazy=True).simulated().tolist() == [8.0, 1.0]

    def test_without_boundaries_response_times_follow_lindley(self) -> None:
        generator = np.random.default_rng(1)
        gaps, services = generator.exponential(1.1, 5000), generator.exponential(1.0, 5000)
        waiting = [0.0]
        for gap, service in zip(gaps[1:], services[:-1], strict=True):
            waiting.append(max(0.0, waiting[-1] + service - gap))
        trace = case(gaps, services, [], [])
        np.testing.assert_allclose(trace.simulated(), np.array(waiting) + services, rtol=1e-9)

    def test_work_is_conserved(self) -> None:
        """The last departure of a busy period is its total work, costs included, whatever the order of service."""
        trace = random_case(3, 500, load=0.9)
        busy = Case(np.zeros(500), trace.service_times, np.array([0.5, 1.0, 3.0]), np.array([0.1, 0.2, 0.3]))
        crossed = trace.service_times[:, None] > busy.boundaries
        total = trace.service_times.sum() + (crossed * busy.costs).sum()
        assert busy.simulated().max() == pytest.approx(total, rel=1e-12)

    @given(cases_on_a_grid())
    def test_level_visits_are_the_quanta_served(self, trace: Case) -> None:
        served = sum(1 + sum(boundary < service for boundary in trace.boundaries) for service in trace.service_times)
        assert level_visits(trace.service_times, trace.boundaries) == served


MUTATIONS = {
    "restore cost lost": ("0.0 if waived else costs[level]", "0.0"),
    "restore cost of the level left": ("0.0 if waived else costs[level]", "0.0 if waived else costs[level - 1]"),
    "restore cost not waived": ("0.0 if waived else costs[level]", "costs[level]"),
    "restore cost forgotten at completion": ("now += overhead + (service", "now += (service"),
    "restore cost forgotten at demotion": ("now += overhead + whole", "now += whole"),
    "arrivals admitted after the decision": ("origin <= now", "origin < now"),
    "waived although jobs wait": ("lazy and lowest > level", "lazy"),
    "waived although a job waits in the new level": ("lowest > level", "lowest >= level"),
    "waived although a job has come between": ("            waived = False\n", "            pass\n"),
    "waived for all": ("waived = lazy and", "waived = True and"),
    "demoted at the boundary although complete": ("service_times[job] > ends", "service_times[job] >= ends"),
    "last in, first out": (
        "follower[tail[level]] = job",
        "follower[job] = head[level]; head[level] = job; job = tail[level]",
    ),
    "lower levels first": ("lowest == levels or arrival_times", "lowest == levels and arrival_times"),
    "level not emptied": ("if job == tail[level]:", "if False:"),
    "level emptied too early": ("if job == tail[level]:", "if True:"),
    "second level lost": ("above[left] = level", "pass"),
    "levels above the new one lost": ("above[level] = following", "above[level] = levels"),
    "server runs ahead of arrivals": ("max(now, arrived)", "now"),
    "waiver kept by a job that completes at once": (
        "response_times[job] = now - arrived\n                waived = False",
        "response_times[job] = now - arrived",
    ),
    "clock moved while work is left": ("lowest == levels and now == arrived", "True"),
}


def interpreted(original: str, mutated: str) -> Callable[..., None]:
    """The simulator's loop as Python runs it, with one change, ended by force if it does not end."""
    source = textwrap.dedent(inspect.getsource(kernels._serve))
    assert original in source
    source = source.replace(original, mutated).replace("while True:", "for _ in range(2000):")
    scope = {**vars(kernels), "RENEWAL": 2}
    exec(source, scope)  # noqa: S102 - the package's own source

    def loop(*arguments: Any) -> None:
        named = inspect.signature(scope["_serve"]).bind(*arguments).arguments
        named["response_times"][:] = np.nan
        with contextlib.suppress(IndexError, OverflowError):  # a fault like any other
            scope["_serve"](*arguments)

    return loop


class TestTheComparison:
    """The comparison with the literal version tells a loop with a fault from the right one."""

    cases = tuple(random_case(seed, 40, load=0.9) for seed in range(12)) + tuple(
        case(gaps.tolist(), services.tolist(), [1, 1, 1], [1, 1, 2], lazy)
        for seed in range(12)
        for lazy in (False, True)
        for gaps, services in [np.random.default_rng(seed).integers(0, (9, 5), (20, 2)).T]
    )

    def disagreements(self, original: str, mutated: str, monkeypatch: pytest.MonkeyPatch) -> int:
        loop = interpreted(original, mutated)
        monkeypatch.setattr(kernels, "_compiled", lambda: loop)
        return sum(not np.allclose(trace.simulated(), trace.literal(), rtol=1e-9, atol=0) for trace in self.cases)

    def test_finds_no_fault_in_the_loop_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.disagreements("", "", monkeypatch) == 0

    @pytest.mark.parametrize(("original", "mutated"), MUTATIONS.values(), ids=MUTATIONS)
    def test_finds(self, original: str, mutated: str, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.disagreements(original, mutated, monkeypatch) > 0


class TestTraces:
    def test_streams_are_those_of_spawned_seed_sequences(self) -> None:
        for trace, sequence in zip(
            draw_traces(Exponential(2.0), 0.5, jobs=50, seeds=3, root_seed=7),
            np.random.SeedSequence(7).spawn(3),
            strict=True,
        ):
            arrivals, sizes = (np.random.default_rng(child) for child in sequence.spawn(2))
            np.testing.assert_array_equal(trace.arrival_times, np.cumsum(arrivals.standard_exponential(50)) / 0.5)
            np.testing.assert_array_equal(trace.sizes, Exponential(2.0).sample(sizes, 50))

    def test_a_trace_does_not_depend_on_how_many_are_drawn(self) -> None:
        few, many = (list(draw_traces(LogNormal(0, 1), 1.0, jobs=9, seeds=seeds)) for seeds in (2, 5))
        for one, other in zip(few, many, strict=False):
            np.testing.assert_array_equal(one.arrival_times, other.arrival_times)
            np.testing.assert_array_equal(one.sizes, other.sizes)

    def test_arrival_rates_differ_by_a_scale_of_time_only(self) -> None:
        slow, fast = (draw_trace(Exponential(1.0), rate, 100, seed=3) for rate in (0.25, 1.0))
        np.testing.assert_array_equal(slow.arrival_times, 4 * fast.arrival_times)
        np.testing.assert_array_equal(slow.sizes, fast.sizes)

    def test_arrivals_and_sizes_differ_between_seeds_and_from_each_other(self) -> None:
        traces = list(draw_traces(Exponential(1.0), 1.0, jobs=20, seeds=2))
        streams = [t for trace in traces for t in (np.diff(trace.arrival_times, prepend=0), trace.sizes)]
        assert len({stream[0] for stream in streams}) == 4

    def test_arrays_are_read_only(self) -> None:
        trace = draw_trace(Exponential(1.0), 1.0, 5, seed=0)
        with pytest.raises(ValueError, match="read-only"):
            trace.sizes[0] = 1.0

    def test_what_does_not_fit_is_refused(self) -> None:
        with pytest.raises(ParameterError, match=r"^arrival_rate = 1e-300 .* at least 1e-199 for 10 arrivals"):
            draw_trace(Exponential(1.0), 1e-300, 10, seed=0)
        with pytest.raises(ParameterError, match=r"^size = Lomax.*tail is too heavy"):
            draw_trace(Lomax(0.01, 1.0), 1.0, 1000, seed=0)


FEW = {"jobs": 2000, "warmup": 500, "seeds": 5}
POLICIES = (
    FCFS(),
    MLPT(quantum=150.0, levels=math.inf),
    MLPT(quantum=150.0, levels=math.inf, lazy=True),
    MLPT(quanta=[200.0, 700.0]),
)


class TestSimulate:
    def test_a_seed_mean_is_the_mean_over_the_jobs_after_the_warm_up(self) -> None:
        for policy, result in zip(POLICIES, simulate_many(PAPER, POLICIES, **FEW), strict=True):
            for trace, mean in zip(
                draw_traces(PAPER.size, PAPER.arrival_rate, jobs=2500, seeds=5), result.seed_means, strict=True
            ):
                jobs = response_times(PAPER, policy, trace.arrival_times, trace.sizes)
                assert mean == pytest.approx(math.fsum(jobs[500:]) / 2000, rel=1e-14)

    def test_mean_and_standard_error_are_those_of_the_seed_means(self) -> None:
        result = simulate(PAPER, POLICIES[1], **FEW, root_seed=3)
        assert result.mean == pytest.approx(np.mean(result.seed_means), rel=1e-15)
        assert result.standard_error == pytest.approx(np.std(result.seed_means, ddof=1) / math.sqrt(5), rel=1e-14)
        assert (result.jobs, result.warmup, result.seeds, result.root_seed) == (2000, 500, 5, 3)

    def test_results_do_not_depend_on_the_number_of_workers(self) -> None:
        for one, two, many in zip(
            *(simulate_many(PAPER, POLICIES, **FEW, workers=workers) for workers in (1, 2, 9)), strict=True
        ):
            assert one.seed_means.tolist() == two.seed_means.tolist() == many.seed_means.tolist()
            assert (one.mean, one.standard_error) == (two.mean, two.standard_error) == (many.mean, many.standard_error)

    def test_results_do_not_depend_on_the_number_of_seeds_or_on_other_policies(self) -> None:
        together = simulate_many(PAPER, POLICIES, **FEW)
        for policy, result in zip(POLICIES, together, strict=True):
            alone = simulate(PAPER, policy, jobs=2000, warmup=500, seeds=3)
            assert alone.seed_means.tolist() == result.seed_means[:3].tolist()

    def test_root_seeds_give_different_traces(self) -> None:
        first, second = (simulate(PAPER, FCFS(), **FEW, root_seed=seed) for seed in (0, 1))
        assert not set(first.seed_means.tolist()) & set(second.seed_means.tolist())

    def test_one_seed_tells_no_error(self) -> None:
        result = simulate(PAPER, FCFS(), jobs=100, warmup=0, seeds=1)
        assert result.standard_error is None
        assert result.mean == result.seed_means[0]

    def test_no_policies_no_results(self) -> None:
        assert simulate_many(PAPER, []) == ()

    def test_constant_response_times_have_no_error(self) -> None:
        result = simulate(Queue(Deterministic(1.0), arrival_rate=1e-5), FCFS(), jobs=50, warmup=5, seeds=4)
        assert result.mean == pytest.approx(1.0, rel=1e-9)
        assert result.standard_error == pytest.approx(0.0, abs=1e-9)

    def test_costs_follow_the_memory_of_the_queue(self) -> None:
        """g(a) = 3 + 2 min(a, 5), γ = 0.1: costs 0.1 · 7, 0.1 · 11 and 0.1 · 13 at 2, 4 and 6."""
        queue = Queue(
            Exponential(1.0), 0.1, preemption_cost=0.1, memory=SaturatingMemory(slope=2.0, window=5.0, base=3.0)
        )
        policy = MLPT(quantum=2.0, levels=math.inf)
        assert response_times(queue, policy, [0], [7]) == pytest.approx(7 + 0.7 + 1.1 + 1.3, rel=1e-12)
        assert response_times(queue, dataclasses.replace(policy, lazy=True), [0], [7]) == pytest.approx(7, rel=1e-12)

    def test_service_slows_down_beyond_the_threshold(self) -> None:
        """Eq. (3): S = 10 + 5 / 0.5 = 20, so that a quantum of 8 ends at 8 and 16."""
        queue = Queue(Exponential(1.0), 0.1, slowdown_threshold=10, slowdown_factor=0.5, preemption_cost=1.0)
        assert response_times(queue, FCFS(), [0], [15]) == pytest.approx(20, rel=1e-12)
        assert response_times(queue, MLPT(quantum=8.0, levels=9), [0], [15]) == pytest.approx(44, rel=1e-12)

    def test_an_unstable_queue_gives_a_finite_answer_that_grows_with_the_trace(self) -> None:
        queue = Queue(Exponential(1.0), arrival_rate=2.0)
        short, long = (simulate(queue, FCFS(), jobs=jobs, warmup=0, seeds=4).mean for jobs in (1000, 10_000))
        assert 5 * short < long < math.inf
        assert mean_response_time(queue, FCFS()) == math.inf

    def test_overload_by_restore_costs_is_simulated_to_the_end(self) -> None:
        result = simulate(PAPER, MLPT(quantum=20.0, levels=math.inf), jobs=1000, warmup=0, seeds=2)
        assert math.isfinite(result.mean)


class TestAgainstTheory:
    """Thirty fixed seeds; |z| < 5 would fail a correct simulator with probability 3 · 10⁻⁵ (Student, 29 degrees)."""

    @pytest.mark.parametrize("arrival_rate", [0.3, 0.7])
    def test_exponential_fcfs_gives_one_over_mu_minus_lambda(self, arrival_rate: float) -> None:
        queue = Queue(Exponential(1.0), arrival_rate)
        result = simulate(queue, FCFS(), jobs=50_000, warmup=2_000, seeds=30)
        assert result.standard_error is not None
        assert result.standard_error < 0.005 * result.mean
        assert abs(result.mean - 1 / (1 - arrival_rate)) < 5 * result.standard_error

    @pytest.mark.parametrize(
        "policy",
        [
            FCFS(),
            MLPT(quantum=300.0, levels=2),
            MLPT(quantum=300.0, levels=math.inf),
            MLPT(quanta=[150.0, 400.0, 900.0]),
        ],
        ids=["fcfs", "two levels", "infinitely many levels", "unequal quanta"],
    )
    def test_mlpt_gives_the_mean_of_theorem_4_5(self, policy: Policy) -> None:
        queue = dataclasses.replace(PAPER, arrival_rate=0.0025)
        result = simulate(queue, policy, jobs=50_000, warmup=2_000, seeds=30)
        assert result.standard_error is not None
        assert result.standard_error < 0.01 * result.mean
        assert abs(result.mean - mean_response_time(queue, policy)) < 5 * result.standard_error

    def test_waived_costs_shorten_the_mean(self) -> None:
        eager, lazy = simulate_many(PAPER, POLICIES[1:3], **FEW)
        assert (lazy.seed_means < eager.seed_means).all()


class TestRefusals:
    @pytest.mark.parametrize(
        ("arrival_times", "sizes", "message"),
        [
            ([0, 1, 0.5], [1, 1, 1], r"^arrival_times\[2\] = 0.5 .* at least the time before it, 1.0"),
            ([0, 1], [1, -1], r"^sizes\[1\] = -1 .* >= 0"),
            ([0, -1], [1, 1], r"^arrival_times\[1\] = -1"),
            ([0, math.nan], [1, 1], r"^arrival_times\[1\] = nan"),
            ([0, 1], [math.inf, 1], r"^sizes\[0\] = inf"),
            ([0, 1], [1], r"^sizes = \[1\] .* 2 numbers, not 1"),
            ([[0, 1]], [1, 2], r"^arrival_times = .* a sequence of numbers"),
            ([0, 1], [[1], [1, 2]], r"^sizes = .* a sequence of numbers"),
            (["0", "1"], [1, 2], r"^arrival_times = .* a sequence of numbers"),
            ([True], [1], r"^arrival_times = .* a sequence of numbers"),
            ([0], [1e201], r"^sizes\[0\] = 1e\+201 .* <= 1e\+200"),
            (0.0, 1.0, r"^arrival_times = 0.0 .* a sequence of numbers"),
        ],
    )
    def test_a_bad_trace_is_named_by_index(self, arrival_times: Any, sizes: Any, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            response_times(PAPER, FCFS(), arrival_times, sizes)

    def test_a_service_time_out_of_range_is_named_by_index(self) -> None:
        queue = Queue(Exponential(1.0), 1.0, slowdown_threshold=1.0, slowdown_factor=1e-10)
        with pytest.raises(ParameterError, match=r"^sizes\[1\] = 1e\+195 .* service time of at most 1e\+200"):
            response_times(queue, FCFS(), [0, 1], [1, 1e195])

    def test_an_empty_trace_is_no_mistake(self) -> None:
        assert response_times(PAPER, FCFS(), [], []).shape == (0,)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"jobs": 0}, r"^jobs = 0 "),
            ({"jobs": 10.5}, r"^jobs = 10.5 "),
            ({"jobs": 10**9}, r"^jobs = 1000000000 .* <= 100000000"),
            ({"warmup": -1}, r"^warmup = -1 "),
            ({"warmup": 10**8 + 1}, r"^warmup = 100000001 .* <= 100000000"),
            ({"jobs": 10**8, "warmup": 1, "control": True}, r"^warmup = 1 .* <= 0"),
            ({"jobs": 10**8, "warmup": 1, "policy": CappedGittins(2)}, r"^warmup = 1 .* <= 0"),
            ({"seeds": 0}, r"^seeds = 0 "),
            ({"root_seed": -1}, r"^root_seed = -1 "),
            ({"workers": 0}, r"^workers = 0 "),
            ({"workers": "two"}, r"^workers = 'two' "),
            ({"policy": "fcfs"}, r"^policy = 'fcfs' .* FCFS or MLPT"),
            ({"policy": MLPT(quantum=np.array([1.0, 2.0]), levels=2)}, r"^quantum = .* a single number"),
            ({"queue": LogNormal(0, 1)}, r"^queue = LogNormal"),
        ],
    )
    def test_a_bad_argument_is_named(self, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            simulate(**{"queue": PAPER, "policy": FCFS(), **FEW, **arguments})

    def test_policies_must_be_several(self) -> None:
        with pytest.raises(ParameterError, match=r"^policies = FCFS"):
            simulate_many(PAPER, FCFS(), **FEW)  # type: ignore[arg-type]

    @pytest.mark.parametrize("levels", [10**9, math.inf])
    @pytest.mark.parametrize("quantum", [1e-5, 1e-300, 5e-324])
    def test_a_quantum_that_makes_too_many_levels_is_refused_at_once(self, quantum: float, levels: float) -> None:
        with pytest.raises(ParameterError, match=rf"^quantum = {quantum!r} .* a job of service time"):
            simulate(PAPER, MLPT(quantum=quantum, levels=levels), **FEW)

    def test_a_quantum_that_makes_too_many_quanta_is_refused_at_once(self) -> None:
        with pytest.raises(ParameterError, match=r"^quantum = 0.001 .* 2500 jobs take at most 1e\+09 quanta"):
            simulate(Queue(Deterministic(1000.0), 0.0005), MLPT(quantum=0.001, levels=math.inf), **FEW)

    def test_quanta_that_make_too_many_are_refused_at_once(self) -> None:
        with pytest.raises(ParameterError, match=r"^quanta = \(0.001, .* 2500 jobs take at most 1e\+09 quanta"):
            simulate(Queue(Deterministic(1000.0), 0.0005), MLPT(quanta=[0.001] * 500_000), **FEW)

    def test_a_small_quantum_with_few_levels_is_simulated(self) -> None:
        assert simulate(PAPER, MLPT(quantum=1e-300, levels=3), **FEW).mean > 0

    def test_a_cost_out_of_range_is_refused(self) -> None:
        with pytest.raises(ParameterError, match=r"^preemption_cost = 1e\+250"):
            Queue(Exponential(1.0), 1.0, preemption_cost=1e250)

    def test_a_memory_out_of_range_is_refused(self) -> None:
        with pytest.raises(ParameterError, match=r"^slope = 1e\+300"):
            LinearMemory(1e300)

    def test_an_error_in_a_thread_leaves_no_thread_behind(self) -> None:
        before = threading.active_count()
        with pytest.raises(ParameterError):
            simulate_many(PAPER, [FCFS(), MLPT(quantum=1e-9, levels=math.inf)], jobs=1000, warmup=0, seeds=100)
        assert threading.active_count() == before


class TestCompilation:
    """What becomes of a damaged cache, or of none, is for test_machine_code."""

    @pytest.fixture(autouse=True)
    def _as_in_a_new_process(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
        monkeypatch.setattr(kernels, "machine_code", machine_code.__wrapped__)

    def test_the_loop_is_loaded_from_the_cache(self) -> None:
        assert kernels._compiled().stats.cache_misses
        assert kernels._compiled().stats.cache_hits

    def test_numba_is_imported_when_it_is_needed(self) -> None:
        code = "import mlptsym.simulation.simulate, sys; sys.exit('numba' in sys.modules)"
        root = Path(__file__).parents[2]
        subprocess.run([sys.executable, "-c", code], check=True, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
