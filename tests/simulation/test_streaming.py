"""A long trace, drawn and served in pieces, is the trace in one piece, and memory does not grow with it."""

import math
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mlptsym import (
    Deterministic,
    Exponential,
    HyperExponential,
    LogNormal,
)
from mlptsym.laws import size_laws
from mlptsym.laws.base import SizeLaw
from mlptsym.numeric.gittins.capped import CappedGittins
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.simulation import simulate as simulation
from mlptsym.simulation import streaming, traces
from mlptsym.simulation.simulate import response_times, simulate, simulate_many
from mlptsym.simulation.traces import draw_pieces, draw_trace
from mlptsym.validation import ParameterError

Floats = NDArray[np.float64]

PAPER = Queue(
    LogNormal(5, 0.9), arrival_rate=0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39, preemption_cost=0.1
)
LAWS = [law(*law.examples[0]) for law in size_laws().values()]
POLICIES = (
    FCFS(),
    *(MLPT(quantum=150.0, levels=levels, lazy=lazy) for levels in (1, 2, 5, math.inf) for lazy in (False, True)),
    MLPT(quanta=[200.0, 700.0]),
)


@pytest.fixture
def pieces_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def set_size(jobs: int) -> None:
        for module in (traces, streaming, simulation):
            monkeypatch.setattr(module, "PIECE", jobs)

    return set_size


def means_in_one_piece(queue: Queue, policy: Any, jobs: int, warmup: int, seeds: int) -> list[float]:
    """From the response time of every job of whole traces."""
    drawn = [draw_trace(queue.size, queue.arrival_rate, warmup + jobs, seed=seed) for seed in range(seeds)]
    every = [response_times(queue, policy, trace.arrival_times, trace.sizes) for trace in drawn]
    return [math.fsum(responses[warmup:]) / jobs for responses in every]


class TestTrace:
    @pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
    def test_pieces_are_the_trace(self, law: SizeLaw, pieces_of: Callable[[int], None]) -> None:
        pieces_of(64)
        whole = draw_trace(law, 0.3, 200, seed=2, root_seed=9)
        pieces = list(draw_pieces(law, 0.3, 200, seed=2, root_seed=9))
        assert [piece.sizes.size for piece in pieces] == [64, 64, 64, 8]
        for name in ("arrival_times", "sizes"):
            joined = np.concatenate([getattr(piece, name) for piece in pieces])
            np.testing.assert_array_equal(joined, getattr(whole, name))

    @pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
    def test_the_size_of_the_pieces_matters_for_hyperexponential_sizes_only(
        self, law: SizeLaw, pieces_of: Callable[[int], None]
    ) -> None:
        """They take two numbers each, drawn in two rows."""
        one = draw_trace(law, 0.3, 200, seed=2)
        pieces_of(64)
        several = draw_trace(law, 0.3, 200, seed=2)
        np.testing.assert_array_equal(one.arrival_times, several.arrival_times)
        assert np.array_equal(one.sizes, several.sizes) is not isinstance(law, HyperExponential)

    def test_no_trace_of_the_package_is_cut_that_has_two_to_the_twenty_jobs_or_fewer(self) -> None:
        assert traces.PIECE == 2**20

    def test_times_that_do_not_fit_are_refused_in_later_pieces_too(self, pieces_of: Callable[[int], None]) -> None:
        pieces_of(4)
        drawn = draw_pieces(Exponential(1.0), 1e-199, 100, seed=0)
        next(drawn)
        with pytest.raises(ParameterError, match=r"^arrival_rate = 1e-199 .* at least 1e-198 for 100 arrivals"):
            list(drawn)


class TestMeans:
    @pytest.mark.parametrize(("piece", "warmup"), [(100, 0), (128, 700), (1, 50), (999, 1000)])
    def test_means_are_those_of_whole_traces(self, piece: int, warmup: int, pieces_of: Callable[[int], None]) -> None:
        """Busy periods are cut by the pieces' ends, the warm-up ends within pieces and between them."""
        pieces_of(piece)
        results = simulate_many(PAPER, POLICIES, jobs=1000, warmup=warmup, seeds=2)
        for policy, result in zip(POLICIES, results, strict=True):
            expected = means_in_one_piece(PAPER, policy, 1000, warmup, 2)
            np.testing.assert_allclose(result.seed_means, expected, rtol=1e-12)

    @pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
    def test_means_are_those_of_whole_traces_for_every_law(
        self, law: SizeLaw, pieces_of: Callable[[int], None]
    ) -> None:
        pieces_of(500)
        queue = Queue(law, 0.6 / law.mean, preemption_cost=0.1)
        for policy in (MLPT(quantum=law.mean, levels=math.inf, lazy=True), MLPT(quanta=[0.5 * law.mean, 2 * law.mean])):
            result = simulate(queue, policy, jobs=5000, warmup=750, seeds=2)
            np.testing.assert_allclose(result.seed_means, means_in_one_piece(queue, policy, 5000, 750, 2), rtol=1e-12)

    @pytest.mark.parametrize("arrival_rate", [0.95, 1.0, 2.0])
    def test_busy_periods_longer_than_pieces(self, arrival_rate: float, pieces_of: Callable[[int], None]) -> None:
        pieces_of(50)
        queue = Queue(Exponential(1.0), arrival_rate, preemption_cost=0.01)
        policy = MLPT(quantum=1.0, levels=math.inf)
        result = simulate(queue, policy, jobs=9000, warmup=1000, seeds=2)
        np.testing.assert_allclose(result.seed_means, means_in_one_piece(queue, policy, 9000, 1000, 2), rtol=1e-12)

    def test_a_tie_of_a_departure_and_an_arrival_is_the_end_of_a_busy_period(self) -> None:
        """Jobs of size 1 at 0, 1, 2, …, each arriving as the one before leaves: none is served twice."""
        served = []

        def serve(arrival_times: Floats, service_times: Floats) -> Floats:
            served.append(arrival_times.tolist())
            return service_times

        pieces = [(np.arange(0.0, 3.0), np.ones(3)), (np.arange(3.0, 6.0), np.ones(3))]
        assert streaming.mean_response_times(pieces, [serve], jobs=6, warmup=0) == [1.0]
        assert served == [[0.0, 1.0, 2.0], [2.0, 3.0, 4.0, 5.0]]

    def test_an_endless_busy_period_is_served_a_few_times_only(self) -> None:
        served = []

        def serve(arrival_times: Floats, service_times: Floats) -> Floats:
            served.append(service_times.size)
            return np.full_like(arrival_times, math.inf) if arrival_times[-1] < 99.0 else service_times

        pieces = [(np.array([float(n)]), np.array([float(n)])) for n in range(100)]
        assert streaming.mean_response_times(pieces, [serve], jobs=50, warmup=50) == [74.5]
        assert served == [1, 2, 4, 8, 16, 32, 64, 100]

    def test_a_whole_trace_gives_the_very_same_means(self, pieces_of: Callable[[int], None]) -> None:
        """`CappedGittins` holds whole traces; the policies beside it get what they get alone."""
        pieces_of(300)
        few = {"jobs": 1000, "warmup": 350, "seeds": 2}
        beside, _ = simulate_many(PAPER, [POLICIES[6], CappedGittins(preemptions=1)], **few)
        assert beside.seed_means.tolist() == simulate(PAPER, POLICIES[6], **few).seed_means.tolist()

    def test_means_do_not_depend_on_the_number_of_workers(self, pieces_of: Callable[[int], None]) -> None:
        pieces_of(300)
        one, four = (simulate(PAPER, POLICIES[6], 1000, 350, 5, workers=workers) for workers in (1, 4))
        assert one.seed_means.tolist() == four.seed_means.tolist()

    def test_the_quanta_allowed_to_a_trace_are_shared_among_its_jobs(self, pieces_of: Callable[[int], None]) -> None:
        """10⁹ quanta for 2500 jobs are 4 · 10⁸ for 1000 of them; and no thread goes on after the refusal."""
        pieces_of(1000)
        before = threading.active_count()
        with pytest.raises(ParameterError, match=r"^quantum = 0.001 .* 1000 jobs take at most 4e\+08 quanta"):
            simulate(Queue(Deterministic(1000.0), 0.0005), MLPT(quantum=0.001, levels=math.inf), 2000, 500, 50)
        assert threading.active_count() == before


class TestMemory:
    def high_water(self, jobs: int, arrival_rate: float = 0.0036) -> int:
        queue = Queue(PAPER.size, arrival_rate, preemption_cost=0.1)
        tracemalloc.start()
        try:
            simulate_many(queue, [FCFS(), MLPT(quantum=600.0, levels=math.inf)], jobs, 0, 1, workers=1)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def test_memory_does_not_grow_with_the_trace(self, pieces_of: Callable[[int], None]) -> None:
        """Twenty times the jobs; 8 bytes kept of each would be seven times the memory."""
        pieces_of(2**13)
        self.high_water(2**14)
        few, many = self.high_water(2**15), self.high_water(20 * 2**15)
        assert many < 1.5 * few < 8 * 20 * 2**15 / 2

    def test_it_does_if_the_queue_is_unstable(self, pieces_of: Callable[[int], None]) -> None:
        pieces_of(2**13)
        assert self.high_water(20 * 2**13, arrival_rate=0.01) > 16 * 20 * 2**13
