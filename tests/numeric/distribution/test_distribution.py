"""The distribution of the response time: against 30 digits, closed forms, theorem 4.5 and simulation."""

import json
import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
import reference_response_times as literal
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import mlptsym as mq
from mlptsym.laws import size_laws
from mlptsym.laws.base import SizeLaw
from mlptsym.numeric.distribution import waiting_transform
from mlptsym.numeric.distribution.percentiles import ResponseTimeDistribution
from mlptsym.validation import ParameterError

distribution = mq.response_time_distribution
SIZE = mq.LogNormal(5, 0.9)
PAPER = mq.Queue(SIZE, 0.0036, 6 * SIZE.mean, 0.39, 0.1)
SLOWED = mq.Queue(mq.Exponential(1.0), 0.4, 1.5, 0.5, 0.1)
QUEUES: dict[str, tuple[mq.Queue, mq.FCFS | mq.MLPT]] = {
    "fcfs": (SLOWED, mq.FCFS()),
    "two levels": (mq.Queue(mq.Exponential(1.0), 0.7, preemption_cost=0.05), mq.MLPT(quantum=1.0, levels=2)),
    "unequal quanta": (SLOWED, mq.MLPT(quanta=[0.5, 1.5])),
    "ten levels": (mq.Queue(mq.Exponential(1.0), 0.6, preemption_cost=0.03), mq.MLPT(quantum=0.75, levels=10)),
    "two phases": (
        mq.Queue(mq.HyperExponential([0.9, 0.1], [2.0, 0.2]), 0.7, preemption_cost=0.1),
        mq.MLPT(quantum=1.0, levels=3),
    ),
    "uniform": (mq.Queue(mq.Uniform(0.5, 1.5), 0.7, preemption_cost=0.05), mq.MLPT(quantum=0.8, levels=2)),
    "deterministic": (mq.Queue(mq.Deterministic(3.0), 0.2, preemption_cost=0.08), mq.MLPT(quantum=1.25, levels=2)),
    "three atoms": (
        mq.Queue(mq.Empirical([0.5, 1.0, 2.0]), 0.5, preemption_cost=0.05 / 0.75),
        mq.MLPT(quantum=0.75, levels=2),
    ),
    "lognormal": (PAPER, mq.MLPT(quantum=6 * SIZE.mean, levels=2)),
}


class TestThirtyDigits:
    @pytest.mark.parametrize("name", QUEUES)
    def test_the_cdf(self, name: str) -> None:
        """To 1e-8, against the transform written out with mpmath and inverted there."""
        values = json.loads(literal.FILE.read_text())
        assert values.keys() == QUEUES.keys()
        times, expected = np.array([[time, float(value)] for time, value in values[name]]).T
        np.testing.assert_allclose(distribution(*QUEUES[name]).cdf(times), expected, rtol=0, atol=1e-8)

    @pytest.mark.parametrize(("name", "time"), [("fcfs", 0.5), ("two levels", 0.6)])
    def test_the_file_is_what_its_script_makes(self, name: str, time: float) -> None:
        case, times, _ = literal.cases()[name]
        stored = dict(json.loads(literal.FILE.read_text())[name])
        assert list(stored) == list(times)
        with mp.workdps(literal.DIGITS):
            assert abs(case.cdf(time, 30) - mp.mpf(stored[time])) < 1e-10

    def test_the_cases_are_the_same_queues(self) -> None:
        """ρ^eff and boundaries of the written-out cases are those of the package's queues."""
        for name, (case, _, _) in literal.cases().items():
            queue, policy = QUEUES[name]
            assert case.arrival_rate == queue.arrival_rate
            np.testing.assert_allclose([float(t) for t in case.boundaries], policy.boundaries(math.inf))
            np.testing.assert_allclose([float(c) for c in case.costs], queue.restore_cost(policy.boundaries(math.inf)))
            start = case.boundaries[0] if case.boundaries else 1.0
            tail = float(case.partial(mp.mpf(0), mp.mpf(start), mp.inf))
            assert abs(tail - float(queue.size.tail(queue.size_at(start)))) < 1e-10


class TestClosedForms:
    @pytest.mark.parametrize("load", [0.05, 0.7, 0.99, 0.999])
    def test_exponential_sizes_under_fcfs(self, load: float) -> None:
        """P(T > t) = e^{−(μ − λ) t}."""
        result = distribution(mq.Queue(mq.Exponential(2.0), 2 * load), mq.FCFS())
        times = np.geomspace(1e-3, 30, 40) / (2 - 2 * load)
        np.testing.assert_allclose(result.cdf(times), -np.expm1(-(2 - 2 * load) * times), rtol=0, atol=1e-9)
        chances = np.array([0.01, 0.5, 0.99, 0.9999])
        np.testing.assert_allclose(result.quantile(chances), -np.log1p(-chances) / (2 - 2 * load), rtol=1e-6)
        assert result.moment(2) == pytest.approx(2 / (2 - 2 * load) ** 2, rel=1e-9)

    @pytest.mark.parametrize("law", [mq.Erlang(20, 20.0), mq.LogNormal(0, 0.1), mq.Uniform(0.5, 1.5)], ids=str)
    def test_heavy_traffic(self, law: mq.Erlang) -> None:
        """Near saturation T is exponential (Kingman), at times hundreds of times longer than any job."""
        policy = mq.MLPT(quantum=0.4, levels=2)
        unit = mq.solve(mq.Queue(law, 0.1, preemption_cost=0.5), policy).effective_load / 0.1
        result = distribution(mq.Queue(law, 0.999 / unit, preemption_cost=0.5), policy)
        chances = np.array([0.5, 0.9, 0.99])
        np.testing.assert_allclose(result.quantile(chances) / result.moment(1), -np.log1p(-chances), rtol=5e-3)

    @pytest.mark.parametrize("load", [0.3, 0.9])
    def test_deterministic_sizes_under_fcfs(self, load: float) -> None:
        """Erlang's formula for the wait, with its step at 0 and kink at D, from both sides."""
        result = distribution(mq.Queue(mq.Deterministic(3.0), load / 3), mq.FCFS())
        near = np.array([3.0, 6.0, 9.0, 12.0])
        times = np.concatenate([near * (1 - 1e-9), near, near * (1 + 1e-9), np.linspace(0.5, 80, 60)])

        def wait(t: float) -> float:
            if t < 0:
                return 0.0
            with mp.workdps(60):
                ages = [load * (n - mp.mpf(t) / 3) for n in range(int(t // 3) + 1)]
                return float(
                    (1 - mp.mpf(load)) * mp.fsum(a**n / mp.factorial(n) * mp.exp(-a) for n, a in enumerate(ages))
                )

        np.testing.assert_allclose(result.cdf(times), [wait(t - 3.0) for t in times], rtol=0, atol=1e-8)
        assert result.quantile([0.1 * (1 - load), 0.9 * (1 - load)]).tolist() == pytest.approx([3.0, 3.0], rel=1e-12)

    def test_steps_do_not_ring(self) -> None:
        """Nothing before the shortest response; there a step of P(no one present, no one comes in the first quantum)."""
        queue, policy = QUEUES["deterministic"]
        result, shortest = distribution(queue, policy), 3.1
        assert np.abs(result.cdf(shortest * np.linspace(0.5, 1 - 1e-9, 200))).max() < 1e-9
        height = (1 - 0.2 * 3.1) * math.exp(-0.2 * 1.25)
        assert result.cdf(shortest * (1 + 1e-12)) == pytest.approx(height, abs=1e-8)
        assert result.quantile(height * 0.5) == pytest.approx(shortest, rel=1e-12)

    @pytest.mark.parametrize("size", [mq.Uniform(0.5, 1.5), mq.Empirical([0.5, 1.0, 2.0])])
    def test_nothing_before_the_shortest_job(self, size: mq.Uniform | mq.Empirical) -> None:
        result = distribution(mq.Queue(size, 0.5, 1.0, 0.5, 0.05), mq.MLPT(quantum=0.3, levels=math.inf))
        assert np.abs(result.cdf(np.linspace(0.01, 0.5, 200) * (1 - 1e-9))).max() < 1e-9

    def test_sharper_sums_give_the_same_beside_kinks(self) -> None:
        """Around every kink of a uniform law, with eight times the frequencies that were found enough."""
        from mlptsym.numeric.distribution.inversion import Frequencies
        from mlptsym.numeric.distribution.percentiles import _Octave

        levels = distribution(*QUEUES["uniform"])._levels
        octave, fine = _Octave.resolved(levels, 4.0), _Octave.of(levels, Frequencies(4.0, 4096))
        kinks = fine.kink_place[fine.kink_place > 2.1]
        times = np.concatenate([kinks - 1e-3, kinks, kinks + 1e-3, np.linspace(2.01, 4, 300)])
        times = times[(times > 2) & (times <= 4)]
        assert octave.frequencies.count <= 1536 and kinks.size
        assert np.abs(octave.values(times, None) - fine.values(times, None)).max() < 5e-9

    def test_the_tail_of_a_power_law(self) -> None:
        """P(T > t) → λ/(1 − ρ) E[(S − t)⁺] (Pakes), at the quantile of 0.9999, far beyond the mean."""
        queue = mq.Queue(mq.Lomax(1.3, 0.3), 0.7)
        time = distribution(queue, mq.FCFS()).quantile(0.9999)
        assert 0.7 / 0.3 * (1 + time / 0.3) ** -0.3 == pytest.approx(1e-4, rel=1e-3)


def integral(result: ResponseTimeDistribution, weight: Callable[[float], float]) -> float:
    """∫ weight(t) P(T > t) dt, octave by octave."""
    ends = result.queue.mean_service_time * 2.0 ** np.arange(-12, 13)
    parts = [
        integrate.fixed_quad(lambda t: weight(t) * (1 - result.cdf(t)), low, high, n=40)[0]
        for low, high in zip(np.append(0, ends), ends, strict=False)
    ]
    return math.fsum(parts)


POLICIES = {
    "fcfs": mq.FCFS(),
    "two": mq.MLPT(quantum=6 * SIZE.mean, levels=2),
    "five": mq.MLPT(quantum=3 * SIZE.mean, levels=5),
    "infinite": mq.MLPT(quantum=3 * SIZE.mean, levels=math.inf),
    "unequal": mq.MLPT(quanta=[1.0 * SIZE.mean, 5 * SIZE.mean]),
}


class TestMoments:
    @pytest.mark.parametrize("name", ["two", "unequal"])
    def test_they_are_those_of_the_distribution(self, name: str) -> None:
        result = distribution(PAPER, POLICIES[name])
        assert integral(result, np.ones_like) == pytest.approx(mq.mean_response_time(PAPER, POLICIES[name]), rel=1e-5)
        assert integral(result, lambda t: 2 * t) == pytest.approx(result.moment(2), rel=1e-4)

    @pytest.mark.parametrize("name", POLICIES)
    def test_levels_add_up(self, name: str) -> None:
        result, table = distribution(PAPER, POLICIES[name]), mq.level_table(PAPER, POLICIES[name])
        assert result.moment(1) == table.mean_response_time
        shown = [(item.level, item.probability, item.moment(1)) for item in result.by_level if item.probability > 1e-9]
        expected = np.array([table.level, table.probability, table.response_time]).T
        np.testing.assert_allclose(shown, expected[table.probability > 1e-9], rtol=1e-6)
        second = math.fsum(item.probability * item.moment(2) for item in result.by_level)
        # levels of probability below 1e-12 have response times of millions
        assert second == pytest.approx(result.moment(2), rel=1e-6 if name != "infinite" else 1e-3)
        mixture = math.fsum(item.probability * item.cdf(2000.0) for item in result.by_level)
        assert mixture == pytest.approx(result.cdf(2000.0), abs=1e-8)

    def test_infinite_moments(self) -> None:
        queue = mq.Queue(mq.Lomax(2.5, 1.5), 0.7)
        assert math.isfinite(distribution(queue, mq.FCFS()).moment(1))
        assert distribution(queue, mq.FCFS()).moment(2) == math.inf
        assert distribution(mq.Queue(mq.Lomax(1.3, 0.3), 0.7), mq.FCFS()).moment(1) == math.inf

    def test_a_second_moment_that_infinitely_many_levels_make_finite(self) -> None:
        """Pieces are bounded, so that E[S²] is enough; many levels and infinitely many agree where both are finite."""
        queue = mq.Queue(mq.Lomax(4.5, 3.5), 0.7)
        many = distribution(queue, mq.MLPT(quantum=2.0, levels=3000)).moment(2)
        assert distribution(queue, mq.MLPT(quantum=2.0, levels=math.inf)).moment(2) == pytest.approx(many, rel=1e-4)


class TestSimulation:
    """20 seeds of 30,000 jobs: what share responds within the exact quantiles, and the mean square.

    Each statistic is the mean over the seeds, within 6.5 of its standard errors: Student's t with 19 degrees of freedom
    gives 3e-6 for each of the 20 comparisons, a false-alarm rate of 6e-5 for one choice of seeds (they are fixed).
    """

    CHANCES = np.array([0.5, 0.95, 0.99])
    LIMIT = float(stats.t.isf(1.6e-6, 19))
    QUEUE = mq.Queue(mq.Gamma(0.5, 2.0), 0.5, 1.5, 0.5, 0.05)
    CASES = (
        mq.FCFS(),
        mq.MLPT(quantum=0.5, levels=2),
        mq.MLPT(quantum=0.8, levels=5),
        mq.MLPT(quantum=0.8, levels=math.inf),
        mq.MLPT(quanta=[0.3, 1.5]),
    )

    @staticmethod
    def statistics(policy: mq.FCFS | mq.MLPT, quantiles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shares and mean squares, with their standard errors."""
        queue, rows = TestSimulation.QUEUE, []
        for seed in np.random.SeedSequence(2026).spawn(20):
            generator = np.random.default_rng(seed)
            arrivals = np.cumsum(generator.exponential(1 / queue.arrival_rate, 32_000))
            times = mq.response_times(queue, policy, arrivals, queue.size.sample(generator, 32_000))[2000:]
            rows.append([*(times[:, None] <= quantiles).mean(axis=0), (times**2).mean()])
        return np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / math.sqrt(20)

    @pytest.mark.parametrize("policy", CASES, ids=str)
    def test_quantiles_and_second_moments(self, policy: mq.FCFS | mq.MLPT) -> None:
        result = distribution(self.QUEUE, policy)
        mean, error = self.statistics(policy, result.quantile(self.CHANCES))
        assert (np.abs(mean - [*self.CHANCES, result.moment(2)]) < self.LIMIT * error).all()

    def test_it_tells_policies_apart(self) -> None:
        """The quantiles of a longer quantum, of dearer preemption and of FCFS are refuted."""
        dear = mq.Queue(mq.Gamma(0.5, 2.0), 0.5, 1.5, 0.5, 0.5)
        policy = mq.MLPT(quantum=0.5, levels=2)
        for queue, other in ((self.QUEUE, mq.MLPT(quantum=2.0, levels=2)), (dear, policy), (self.QUEUE, mq.FCFS())):
            mean, error = self.statistics(policy, distribution(queue, other).quantile(self.CHANCES))
            assert (np.abs(mean[:3] - self.CHANCES) > self.LIMIT * error[:3]).any()


class TestTruncation:
    def test_a_cut_is_within_its_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        queue, policy = mq.Queue(mq.Exponential(1.0), 0.6, preemption_cost=0.02), mq.MLPT(quantum=0.5, levels=math.inf)
        times = np.array([0.3, 0.4, 0.55])
        whole = distribution(queue, policy)
        exact = whole.cdf(times)
        monkeypatch.setattr(waiting_transform, "MOST_LEVELS", 24)
        cut = distribution(queue, policy)
        assert whole.truncation == 0
        assert 1e-9 < np.abs(cut.cdf(times) - exact).max() < cut.truncation < 1e-4
        with pytest.raises(ParameterError, match=r"^t = 2\.0 .* at most"):
            cut.cdf(2.0)

    def test_what_would_need_too_many_levels_is_refused_at_once(self) -> None:
        result = distribution(mq.Queue(mq.Lomax(2.5, 1.5), 0.7), mq.MLPT(quantum=0.001, levels=math.inf))
        with pytest.raises(ParameterError, match=r"^t = 100\.0 .* at most 1\.024"):
            result.cdf(100.0)
        with pytest.raises(ParameterError, match=r"^p = 0\.99 .* at most 1\.024"):
            result.quantile(0.99)
        assert result.cdf(math.inf) == 1


class TestUnstable:
    @pytest.mark.parametrize("policy", [mq.FCFS(), mq.MLPT(quantum=1.0, levels=3)])
    def test_it_has_no_finite_percentiles(self, policy: mq.FCFS | mq.MLPT) -> None:
        result = distribution(mq.Queue(mq.Exponential(1.0), 1.0, preemption_cost=0.1), policy)
        assert not result.stable
        assert result.quantile([0.0, 0.5, 1.0]).tolist() == [math.inf] * 3
        assert result.cdf([0.0, 5.0, math.inf]).tolist() == [0.0] * 3
        assert (result.moment(1), result.moment(2), result.by_level) == (math.inf, math.inf, ())


class TestArguments:
    result = distribution(mq.Queue(mq.Exponential(1.0), 0.5), mq.FCFS())

    def test_shapes(self) -> None:
        assert isinstance(self.result.cdf(1.0), float) and isinstance(self.result.quantile(0.5), float)
        assert self.result.cdf(np.ones((2, 3))).shape == (2, 3)
        assert self.result.quantile([[0.5], [0.9]]).shape == (2, 1)
        assert self.result.cdf([]).shape == (0,) and self.result.quantile([]).shape == (0,)

    def test_ends(self) -> None:
        assert self.result.cdf([0.0, math.inf, 1e300]).tolist() == [0.0, 1.0, 1.0]
        assert self.result.quantile([0.0, 1.0]).tolist() == [0.0, math.inf]

    @pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, 1 - 1e-9, "0.5", True, None, 50])
    def test_probabilities_out_of_range(self, p: object) -> None:
        with pytest.raises(ParameterError, match="^p = "):
            self.result.quantile(p)

    @pytest.mark.parametrize("t", [-1.0, math.nan, "1", None])
    def test_times_out_of_range(self, t: object) -> None:
        with pytest.raises(ParameterError, match="^t = "):
            self.result.cdf(t)

    @pytest.mark.parametrize("n", [0, 3, 1.5, True])
    def test_moments_out_of_range(self, n: object) -> None:
        with pytest.raises(ParameterError, match="^n = "):
            self.result.moment(n)

    def test_policies_without_a_distribution(self) -> None:
        with pytest.raises(ParameterError, match="^quantum = "):
            distribution(PAPER, mq.MLPT(quantum=[100.0, 200.0], levels=2))
        with pytest.raises(ParameterError):
            distribution(PAPER, mq.MLPT(quantum=100.0, levels=2, lazy=True))
        with pytest.raises(ParameterError):
            distribution(PAPER, mq.CappedGittins(preemptions=1))

    def test_what_would_take_minutes(self) -> None:
        """Said before it is begun: 8192 levels with a cost of their own each, that oscillate a hundred times."""
        size = mq.Weibull(0.16, 1000 / math.gamma(1 + 1 / 0.16))
        policy = mq.MLPT(quantum=185_000.0, levels=math.inf)
        result = distribution(mq.Queue(size, 0.8 / size.mean, preemption_cost=1e-9), policy)
        with pytest.raises(
            ParameterError, match=r"^levels = 8192 .* fewer, or their quanta longer: .* near 6\.55e\+04"
        ):
            result.cdf(50_000.0)
        assert not result._octaves
        without = distribution(mq.Queue(size, 0.8 / size.mean), policy)
        assert without.cdf(50_000.0) == pytest.approx(0.4208, abs=1e-4)


LAWS = st.sampled_from([law(*law.examples[0]) for law in size_laws().values()])


class TestRanges:
    @settings(max_examples=12, deadline=None, derandomize=True)
    @given(
        law=LAWS,
        load=st.floats(0.02, 0.98),
        quantum=st.floats(0.2, 5.0),
        levels=st.sampled_from([1, 2, 3, 6]),
        cost=st.sampled_from([0.0, 0.02, 0.3]),
        beta=st.sampled_from([1.0, 0.6]),
    )
    def test_it_is_a_distribution(
        self, law: SizeLaw, load: float, quantum: float, levels: int, cost: float, beta: float
    ) -> None:
        """Between 0 and 1, increasing, and quantiles are where the probability is reached."""
        queue = mq.Queue(law, load / law.mean, 2.0 * law.mean, beta, cost)
        result = distribution(queue, mq.MLPT(quantum=quantum * law.mean, levels=levels))
        chances = np.array([0.2, 0.9, 0.99])
        quantiles = result.quantile(chances)
        if not result.stable:
            assert np.isinf(quantiles).all()
            return
        assert (np.diff(quantiles) >= 0).all() and (quantiles > 0).all()
        assert (result.cdf(quantiles) >= chances).all()
        assert (result.cdf(quantiles * (1 - 1e-9)) <= chances + 1e-7).all()
        values = result.cdf(np.linspace(0.1, 1.2, 50) * quantiles[-1])
        assert (np.diff(values) >= 0).all() and values[0] >= 0 and values[-1] <= 1
        assert result.moment(2) >= result.moment(1) ** 2
