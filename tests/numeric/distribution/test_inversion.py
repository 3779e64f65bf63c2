"""The parts of the numerical inversion: Fourier series, slow factors, the measure of S, and what is taken out first."""

import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from scipy import special

import mlptsym as mq
from mlptsym.numeric.distribution.inversion import Frequencies, SlowFactor
from mlptsym.numeric.distribution.jumps import Arrivals, Kinks, kinked
from mlptsym.numeric.distribution.response_moments import _limit, level_moments
from mlptsym.numeric.distribution.waiting_transform import Levels, _alike, _near, _sum_of_tails, level_transforms
from mlptsym.numeric.model.service_measure import ServiceMeasure, thinned
from mlptsym.symbolic.algebra.symbols import arrival_rate, boundary, cost
from mlptsym.symbolic.distribution.transform import argument, response_transform, stretched
from mlptsym.symbolic.model.moments import UpperMoment
from mlptsym.symbolic.model.transforms import PartialTransform

FEW, MANY = Frequencies(8.0, 192), Frequencies(8.0, 384)


class TestFrequencies:
    @pytest.mark.parametrize("stages", [1, 2, 5])
    def test_inversion_of_known_transforms(self, stages: int) -> None:
        times = np.linspace(4.01, 8, 50)
        found = FEW.invert(1 / FEW.points / (1 + FEW.points) ** stages, times)
        np.testing.assert_allclose(found, special.gammainc(stages, times), rtol=0, atol=1e-10)

    def test_half_the_frequencies_tell_the_error(self) -> None:
        """A kink at 6: the error there is about the difference, beside it far below, and both fall with the distance."""
        transform = np.exp(-6 * MANY.points) / MANY.points**2
        for distance, share, allowed in ((0.0, 1.1, 1e-2), (0.3, 0.1, 1e-3), (0.6, 1e-3, 1e-5)):
            times = 6 + np.array([-distance, distance])
            error = np.abs(MANY.invert(transform, times) - np.maximum(times - 6, 0)).max()
            estimate = np.abs(MANY.invert(transform, times) - MANY.invert(transform, times, 0.5)).max()
            assert error <= share * estimate and estimate < allowed

    @pytest.mark.parametrize("frequencies", [FEW, FEW.above])
    def test_exponentials(self, frequencies: Frequencies) -> None:
        x = np.array([0.0, 0.3, 9.0])
        expected = np.exp(-np.multiply.outer(x, frequencies.points))
        np.testing.assert_allclose(frequencies.exponentials(x), expected, rtol=0, atol=1e-13)

    def test_the_range_above_doubles_the_number(self) -> None:
        assert np.append(FEW.points, FEW.above.points).tolist() == MANY.points.tolist()
        assert FEW.above.highest == MANY.highest and FEW.above.above.count == 2 * FEW.above.count

    def test_fading_changes_nothing_up_to_the_horizon(self) -> None:
        x = np.linspace(0, 12, 100)
        faded = FEW.faded(x, np.ones(100))
        assert (faded[x <= 8] == 1).all() and (faded[x >= 10] == 0).all() and (np.diff(faded) <= 0).all()


class TestSlowFactor:
    def test_it_is_the_sum(self) -> None:
        """∫ e^{−(s+δ)x} dM and its derivative, for a δ of its own at every frequency."""
        generator = np.random.default_rng(7)
        points = np.sort(generator.uniform(0, 5, 40))
        masses = generator.uniform(size=40)
        delta = 1.4 * generator.uniform(-1, 1, 192) + 1j * generator.uniform(-0.2, 0.2, 192)
        slow = SlowFactor(FEW, 1.42, 6.0)
        total = slow.empty()
        where, weights = slow.weights(FEW.exponentials(points), points, masses, 0.5)
        total[:, where] += weights
        places = points + 0.5
        terms = np.exp(-np.multiply.outer(places, FEW.points + delta)) * masses[:, None]
        value, slope = slow.value_and_slope(total, delta)
        np.testing.assert_allclose(value, terms.sum(axis=0), rtol=0, atol=1e-11)
        np.testing.assert_allclose(slope, -(places[:, None] * terms).sum(axis=0), rtol=0, atol=1e-10)
        assert slow.panels > 1


class TestServiceMeasure:
    @pytest.mark.parametrize(
        "law",
        [
            mq.LogNormal(0, 0.9),
            mq.Weibull(0.5, 0.5),
            mq.Lomax(2.5, 1.5),
            mq.Uniform(0.5, 1.5),
            mq.Empirical([0.5, 1.0, 2.0]),
            mq.Deterministic(1.0),
        ],
        ids=str,
    )
    def test_integrals_of_the_tail(self, law: mq.LogNormal) -> None:
        """∫ P(S > t) dt over levels, from the partial moments of S."""
        queue = mq.Queue(law, 0.1, 1.5, 0.5, 0.1)
        measure = ServiceMeasure.of(queue)
        starts = 0.3 * np.arange(12)
        ends = np.append(starts[1:], 10.0)
        _, weights, level = measure.nodes(starts, ends, 0.7)
        excess = [float(m[1] - t * m[0]) for t in [*starts, 10.0] for m in [queue.service_moments(t)]]
        found = np.bincount(level, weights, minlength=12)
        np.testing.assert_allclose(found, -np.diff(excess), rtol=0, atol=1e-12)

    def test_thinning_keeps_smooth_integrals(self) -> None:
        points = np.random.default_rng(3).uniform(0, 10, 3000)
        weights = np.random.default_rng(4).uniform(size=3000)
        fewer, lighter = thinned(points, weights, 2.0)
        assert len(fewer) < 400 and (np.diff(fewer) >= 0).all()
        for s in (0.1, 0.1 + 8j):
            exact = (weights * np.exp(-s * points)).sum()
            assert abs((lighter * np.exp(-s * fewer)).sum() - exact) < 1e-11 * weights.sum()

    def test_thinning_stays_within_the_points(self) -> None:
        """Also where a cell could be far longer than the range of the points."""
        points = np.linspace(1.0, 2.0, 200)
        fewer, lighter = thinned(points, np.full(200, 0.005), 1e6)
        assert len(fewer) == 32 and fewer[0] > 1 and fewer[-1] < 2
        assert lighter @ fewer**5 == pytest.approx((0.005 * points**5).sum(), rel=1e-12)

    @pytest.mark.parametrize("law", [mq.Gamma(0.3, 1.0), mq.Weibull(0.5, 2.0)], ids=str)
    def test_a_density_that_is_infinite_at_zero(self, law: mq.Gamma) -> None:
        found = ServiceMeasure.of(mq.Queue(law, 0.1)).density_singularities(np.zeros(1), np.array([np.inf]))
        shape, scale = (0.3, 1.0) if isinstance(law, mq.Gamma) else (0.5, 2.0)
        at_zero = scale**-shape * (1 if isinstance(law, mq.Gamma) else shape * special.gamma(shape))
        assert found.powers[0] == pytest.approx(shape - 1) and found.heights[0] == pytest.approx(at_zero)


class TestWhatIsTakenOut:
    def test_arrivals_of_one_amount_add_up(self) -> None:
        """Borel and Tanner: the time to serve 2 with arrivals of 0.5 at rate 1.2 is finite, and has mean 2/(1 − 0.6)."""
        time, weight = Arrivals.of_one_amount(1.2, 2.0, 0.5, 1.0, 400.0).weight(2.0)
        assert weight.sum() == pytest.approx(1, abs=1e-9)
        assert weight @ time == pytest.approx(5, abs=1e-6)

    def test_arrivals_of_several_amounts_add_up(self) -> None:
        """The same with amounts 0.5 and 1, one of them given twice, and the second moment of Takács."""
        amounts, masses = np.array([0.5, 1.0, 0.5]), np.array([0.3, 0.4, 0.3])
        time, weight = Arrivals.of_amounts(0.5, 2.0, amounts, masses, 60.0).weight(2.0)
        load, square = 0.5 * (0.6 * 0.5 + 0.4), 0.5 * (0.6 * 0.25 + 0.4)
        assert weight.sum() == pytest.approx(1, abs=1e-6)
        assert weight @ time == pytest.approx(2 / (1 - load), abs=1e-5)
        variance = weight @ time**2 - (weight @ time) ** 2
        assert variance == pytest.approx(2 * square / (1 - load) ** 3, rel=1e-4)

    def test_a_load_near_one_is_no_endless_list(self) -> None:
        assert Arrivals.of_one_amount(0.9, 1.0, 1.0, 1.0, 1e12).count.size < 10_000

    def test_bends_have_their_transforms(self) -> None:
        """Powers 1, 1.4 and 2, inverted at a distance from the kinks."""
        shape = Kinks(np.array([4.5, 5.0, 4.2]), np.array([0.3, -0.2, 0.5]), np.array([1.0, 1.4, 2.0]), 0.7)
        times = np.array([7.0, 7.5, 8.0])
        exact = (kinked(times[:, None] - shape.place, shape.power, 0.7) * shape.height).sum(axis=1)
        np.testing.assert_allclose(MANY.invert(shape.transform(MANY), times), exact, rtol=0, atol=1e-8)


class TestTransforms:
    """What the numeric code assembles from tails is the derived transform."""

    # nothing to speak of is faded out beyond
    @pytest.mark.parametrize("frequencies", [Frequencies(400.0, 192), Frequencies(400.0, 192, 384)])
    def test_level_by_level(self, frequencies: Frequencies) -> None:
        queue = mq.Queue(mq.Exponential(1.0), 0.4, preemption_cost=0.1)
        policy = mq.MLPT(quanta=[0.5, 1.5])
        levels = Levels.of(queue, policy, mq.solve(queue, policy).effective_load)
        numbers = {arrival_rate: mp.mpf(0.4), boundary[1]: mp.mpf(0.5), boundary[2]: mp.mpf(2)}
        numbers |= {cost[1]: mp.mpf(0.5) * mp.mpf(0.1), cost[2]: 2 * mp.mpf(0.1)}

        def partial(order: int, s: object, low: object, high: object) -> object:
            assert order == 0
            return (mp.exp(-(1 + s) * low) - (0 if mp.isinf(high) else mp.exp(-(1 + s) * high))) / (1 + s)

        def moment(order: int, at: object) -> object:
            return mp.gammainc(order + 1, at)

        def evaluated(expression: sp.Expr) -> object:
            """As a function of s and σ."""
            plain = expression.replace(PartialTransform, lambda n, s, a, b, _: sp.Function("partial")(n, s, a, b))
            plain = plain.replace(UpperMoment, lambda n, a, _: sp.Function("moment")(n, a))
            symbols = {name: sp.Symbol(f"x{i}") for i, name in enumerate(numbers)}
            function = sp.lambdify(
                [argument, stretched, *symbols.values()],
                plain.xreplace(symbols),
                [{"partial": partial, "moment": moment}, "mpmath"],
            )
            return lambda s, sigma: function(s, sigma, *numbers.values())

        for here in level_transforms(levels, frequencies):
            derived = response_transform(here.level + 1, 3)
            expression, equation = evaluated(derived.expression), evaluated(derived.busy_period)
            for index in (0, 1, 7, 60, 191):
                s = mp.mpmathify(complex(frequencies.points[index]))
                sigma = s
                for _ in range(80):  # the equation's right-hand side contracts by the load of the levels before
                    sigma -= equation(s, sigma)
                exact = complex(expression(s, sigma))
                found = here.ahead * here.piece * frequencies.points * levels.probability[here.level]
                assert abs(found[index] - exact) < 1e-12

    @pytest.mark.parametrize(
        ("law", "policy", "memory"),
        [
            (mq.Exponential(1.0), mq.MLPT(quantum=0.7, levels=math.inf), mq.LinearMemory()),
            (mq.LogNormal(0, 0.9), mq.MLPT(quantum=0.4, levels=500), mq.SaturatingMemory(1.0, 2.0)),
            (mq.LogNormal(0, 0.02), mq.MLPT(quantum=0.1, levels=math.inf), mq.AffineMemory(1.0, 0.1)),
            (mq.Uniform(0.5, 9.5), mq.MLPT(quantum=0.25, levels=math.inf), mq.SaturatingMemory(1.0, 1.0)),
            (mq.Empirical([0.5, 1.0, 6.0, 6.0, 40.0]), mq.MLPT(quantum=0.75, levels=60), mq.SaturatingMemory(1.0, 1.0)),
        ],
        ids=str,
    )
    def test_alike_levels_are_taken_together(
        self, law: mq.Exponential, policy: mq.MLPT, memory: mq.LinearMemory
    ) -> None:
        """Σ ∫ e^{−sy} P(S > t + y) dy of levels of the same length and cost is that of each."""
        queue = mq.Queue(
            law, 0.3 / law.mean, 3 * law.mean, 0.7, 0.02 if isinstance(memory, mq.SaturatingMemory) else 0.0, memory
        )
        levels = Levels.of(queue, policy, mq.solve(queue, policy).effective_load)
        frequencies = Frequencies(20 * law.mean, 384)
        near = _near(levels, frequencies)
        alone, alike = _alike(levels, near)
        assert alike and sorted([*alone, *np.concatenate(alike)]) == near.tolist()
        for group in alike:
            places, masses = _sum_of_tails(levels, group, frequencies)
            ages, weights, owner = levels.measure.nodes(levels.start[group], levels.end[group], frequencies.width)
            one_by_one = weights @ frequencies.exponentials(ages - levels.start[group][owner])
            np.testing.assert_allclose(
                masses @ frequencies.exponentials(places), one_by_one, rtol=0, atol=1e-14 * max(masses.sum(), 1)
            )


@pytest.mark.parametrize("sigma", [0.3, 0.01, 0.001, 1e-4])
@pytest.mark.parametrize("quantum", [0.0999, 0.03])
def test_moments_by_level_of_a_law_narrower_than_a_level(sigma: float, quantum: float) -> None:
    """E[T | J = j] by the series of the transform is that of theorem 4.5, also where the tail falls within a level."""
    queue = mq.Queue(mq.LogNormal(0, sigma), 0.5, preemption_cost=0.01)
    policy = mq.MLPT(quantum=quantum, levels=200)
    table, moments = mq.level_table(queue, policy), level_moments(queue, policy.boundaries(math.inf), closed=True)
    told = table.level - 1
    np.testing.assert_allclose(moments.first[told], table.probability * table.response_time, rtol=0, atol=1e-9)


def test_panels_of_a_law_that_falls_in_the_middle_of_one() -> None:
    """By symmetry 16 nodes on (0, 2) integrate the tail of a narrow law about 1 rightly, and nothing else."""
    measure = ServiceMeasure.of(mq.Queue(mq.LogNormal(0, 0.001), 0.5))
    ages, weights, _ = measure.nodes(np.array([0.0]), np.array([measure.end]), 1.0)
    assert weights @ ages == pytest.approx(math.exp(2e-6) / 2, rel=1e-13)


@pytest.mark.parametrize("unit", [1.0, 1e-14, 1e20])
@pytest.mark.parametrize("slow", [1e-6, 1e-12])
def test_slow_service_takes_few_panels(slow: float, unit: float) -> None:
    """Far below the mean, E[(S − t)⁺] is a difference of sizes over β: its rounding is no reason to halve a panel."""
    size = mq.LogNormal(-34.5 + math.log(unit), 0.1778279410038923)
    law = ServiceMeasure.of(mq.Queue(size, 1.0, 2.1 * size.mean, slow))
    assert len(law.edges) < 300
    ages, weights, _ = law.nodes(np.array([0.0]), np.array([law.end]), law.end)
    assert weights.sum() == pytest.approx(law.queue.mean_service_time, rel=1e-12)
    second = law.queue.service_moments(0.0)[2]
    assert 2 * (weights * ages).sum() == pytest.approx(float(second), rel=1e-10)


def test_aitken_continues_sums_of_geometric_errors() -> None:
    sums = np.array([1 - 0.5**n - 0.2 * 0.3**n for n in range(1, 12)])
    assert _limit(sums) == pytest.approx(1, abs=1e-9)
    assert math.isfinite(_limit(np.ones(5)))
