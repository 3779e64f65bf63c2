"""The Gittins index: J and its closed cases by SymPy, G and Δ* against a direct search, the table for lookups."""

import dataclasses
import math
import warnings
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import reference
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mlptsym import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Lomax,
    Uniform,
    Weibull,
)
from mlptsym.laws import size_laws
from mlptsym.laws.base import SizeLaw
from mlptsym.numeric.gittins import index as gittins
from mlptsym.numeric.gittins.index import first_edges, gittins_index
from mlptsym.numeric.gittins.table import gittins_table
from mlptsym.numeric.model import service_hazard
from mlptsym.numeric.model.queue import Queue
from mlptsym.symbolic.algebra.symbols import age, slowdown_factor
from mlptsym.symbolic.policies import gittins as symbolic
from mlptsym.validation import ParameterError

PAPER_LAW = LogNormal(5, 0.9)
CONTINUOUS = [
    PAPER_LAW,
    LogNormal(0, 0.4),
    LogNormal(1, 2.5),
    Exponential(0.5),
    Weibull(0.6, 1.0),
    Weibull(2.5, 2.0),
    Gamma(0.5, 1.0),
    Erlang(3, 1.0),
    HyperExponential([0.9, 0.1], [1.0, 0.05]),
    Lomax(1.5, 1.0),
    Uniform(1.0, 2.0),
    Uniform(0.0, 2.0),
]


def queue_of(law: SizeLaw, threshold: float | None = None, factor: float = 1.0) -> Queue:
    """A queue with ℓ_C in units of the mean size."""
    return Queue(law, 1e-3, None if threshold is None else threshold * law.mean, factor)


def small_ages(queue: Queue, *shares: float) -> np.ndarray:
    """Ages in units of E[S] that some job has."""
    ages = np.array(shares) * queue.mean_service_time
    return ages[queue.size.tail(queue.size_at(ages)) > 0]


class TestEfficiency:
    @pytest.mark.parametrize(("attained", "quantum"), [(0, 1), (sp.Rational(1, 2), 2), (3, sp.Rational(1, 10))])
    def test_it_is_what_its_definition_says(self, attained: Any, quantum: Any) -> None:
        """P(S − a ≤ Δ | S > a) / E[min{S − a, Δ} | S > a], both by quadrature, for an Erlang law."""
        law = size_laws()["Erlang"].formulas()
        values = dict(zip(law.parameters, (3, sp.Rational(4, 5)), strict=True))
        ours = symbolic.under_law(symbolic.efficiency(attained, quantum), law).subs(values)
        with mp.workdps(30):
            rate, a, end = mp.mpf(4) / 5, mp.mpf(attained), mp.mpf(attained) + mp.mpf(quantum)

            def density(s: Any) -> Any:
                return rate**3 * s**2 * mp.exp(-rate * s) / 2

            completed = mp.quad(density, [a, end])
            served = mp.quad(lambda s: (min(s, end) - a) * density(s), [a, end, end + 5, end + 20, mp.inf])
            assert abs(sp.N(ours, 25) / (completed / served) - 1) < 1e-20

    def test_it_is_a_mean_of_the_hazard(self) -> None:
        assert set(dataclasses.astuple(symbolic.efficiency_defects())) == {0}

    def test_the_hazard_falls_by_the_factor_of_the_slowdown(self) -> None:
        assert symbolic.hazard_jump() == slowdown_factor


class TestClosedCases:
    """Lemma 4.1: G = h and Δ* = 0 where the hazard falls; a constant hazard makes every Δ optimal."""

    def test_exponential(self) -> None:
        law = size_laws()["Exponential"].formulas()
        (rate,) = law.parameters
        assert symbolic.closed_index(law) == symbolic.ClosedIndex(rate, sp.oo)
        assert sp.simplify(symbolic.under_law(symbolic.efficiency(), law) - rate) == 0

    def test_lomax(self) -> None:
        law = size_laws()["Lomax"].formulas()
        shape, scale = law.parameters
        assert symbolic.closed_index(law) == symbolic.ClosedIndex(shape / (scale + age), sp.S.Zero)

    def test_weibull_of_a_shape_below_one(self) -> None:
        law, excess = size_laws()["Weibull"].formulas(), sp.Symbol("s", positive=True)
        shape, scale = law.parameters
        below = 1 / (1 + excess)
        found = symbolic.closed_index(law, {shape: below})
        assert found.quantum == 0
        assert sp.simplify(found.index / (below / scale * (age / scale) ** (below - 1)) - 1) == 0

    def test_mixture_of_two_different_exponentials(self) -> None:
        law, excess = size_laws()["HyperExponential"].formulas(2), sp.Symbol("s", positive=True)
        p, q, slow, fast = law.parameters
        found = symbolic.closed_index(law, {fast: slow + excess})
        assert found.quantum == 0
        start = (p * slow + q * (slow + excess)) / (p + q)
        assert sp.simplify(found.index.subs(age, 0) - start) == 0

    @pytest.mark.parametrize("name", ["Weibull", "Erlang", "LogNormal"])
    def test_nothing_is_claimed_of_other_hazards(self, name: str) -> None:
        with pytest.raises(ValueError, match="is not shown to be constant or to fall"):
            symbolic.closed_index(size_laws()[name].formulas())

    @pytest.mark.parametrize(
        "law",
        [Weibull(0.6, 2.0), Gamma(0.4, 1.0), HyperExponential([0.9, 0.1], [1.0, 0.05]), Lomax(1.2, 3.0)],
        ids=lambda law: type(law).__name__,
    )
    @pytest.mark.parametrize("threshold", [None, 1.3])
    def test_a_falling_hazard_is_the_index(self, law: SizeLaw, threshold: float | None) -> None:
        queue = queue_of(law, threshold, 0.4)
        ages = np.linspace(0.01, 20, 400) * law.mean
        found = gittins_index(queue, ages)
        beyond = ages >= (math.inf if threshold is None else threshold * law.mean)
        np.testing.assert_allclose(found.index, law.hazard(queue.size_at(ages)) * np.where(beyond, 0.4, 1), rtol=1e-13)
        assert (found.quantum == 0).all()

    def test_a_constant_hazard_is_the_index_and_every_quantum_optimal(self) -> None:
        found = gittins_index(queue_of(Exponential(0.5)), [0.0, 1.0, 50.0, 1200.0])
        assert found.index.tolist() == [0.5] * 4
        assert np.isinf(found.quantum).all()

    def test_an_exponential_job_is_served_to_the_slowdown(self) -> None:
        """All Δ up to ℓ_C are equally good, so Δ* reaches it; beyond, the constant hazard is β times as high."""
        found = gittins_index(queue_of(Exponential(0.5), 1.5, 0.4), [0.0, 2.0, np.nextafter(3, 0), 3.0, 9.0])
        np.testing.assert_allclose(found.index, [0.5, 0.5, 0.5, 0.2, 0.2], rtol=1e-14)
        np.testing.assert_allclose(found.quantum[:2], [3.0, 1.0], rtol=1e-14)
        assert np.isinf(found.quantum[3:]).all()

    @pytest.mark.parametrize("law", [Weibull(2.5, 2.0), Erlang(4, 1.0), Gamma(3.5, 2.0), Uniform(1, 2)])
    def test_with_a_rising_hazard_a_job_is_served_to_completion(self, law: SizeLaw) -> None:
        """G(a) = 1/E[S − a | S > a]."""
        queue = queue_of(law)
        ages = small_ages(queue, 0.0, 0.3, 0.9, 1.2, 1.32)
        found = gittins_index(queue, ages)
        tail, first, *_ = queue.service_moments(ages)
        np.testing.assert_allclose(found.index, tail / (first - ages * tail), rtol=1e-13)
        expected = law.upper_end - ages
        np.testing.assert_allclose(found.quantum, expected, rtol=1e-14)

    def test_an_age_at_which_the_density_is_infinite(self) -> None:
        found = gittins_index(queue_of(Weibull(0.5, 1.0)), 0.0)
        assert (float(found.index), float(found.quantum), found.index.shape) == (math.inf, 0.0, ())


def direct_search(queue: Queue, attained: float) -> tuple[Any, Any]:
    """G(a) and Δ* by evaluating J with 40 digits at many Δ and narrowing the best bracket; Δ* is good to 1e-12."""
    size = reference.moment_of(queue.size)
    threshold, factor = queue.slowdown
    slow = {"slowdown_threshold": threshold, "slowdown_factor": factor} if factor < 1 else {}
    other = reference.ReferenceQueue(size, queue.arrival_rate, reference.linear(), **slow)
    a, mean = mp.mpf(attained), mp.mpf(queue.mean_service_time)
    end = mp.inf if math.isinf(queue.size.upper_end) else other.service_time(mp.mpf(queue.size.upper_end))
    tail, excess = other.moment(0, a), other.moment(1, a) - a * other.moment(0, a)

    def efficiency(through: Any) -> Any:
        if through >= end:
            return tail / excess
        here = other.moment(0, through)
        return (tail - here) / (excess - other.moment(1, through) + through * here)

    grid = {a + mean * mp.mpf(10) ** mp.mpf(power) for power in np.linspace(-4, 3, 57)}
    special = {end, mp.mpf(threshold), mp.mpf(getattr(queue.size, "low", 0.0))}
    points = sorted(point for point in grid | special if a < point <= end)
    values = [efficiency(point) for point in points]
    at_once = efficiency(a + mean * mp.mpf(10) ** -20)
    top = max(values)
    if at_once > top * (1 + mp.mpf(10) ** -15):
        return at_once, mp.mpf(0)
    best = max(i for i, value in enumerate(values) if value > top * (1 - mp.mpf(10) ** -30))
    if points[best] == end or best == len(points) - 1:
        return values[best], points[best] - a
    low, high = points[best - 1] if best else a, points[best + 1]
    for _ in range(80):  # ternary search on each side of the best point, which may be a kink
        third = (min(high, points[best + 1]) - low) / 3
        if efficiency(low + third) < efficiency(high - third):
            low += third
        else:
            high -= third
    solved = efficiency((low + high) / 2)
    if solved > top * (1 + mp.mpf(10) ** -25):
        return solved, (low + high) / 2 - a
    return top, points[best] - a


class TestAgainstADirectSearch:
    @pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
    @pytest.mark.parametrize("slowdown", [(None, 1.0), (0.3, 0.39), (2.5, 0.6)], ids=str)
    def test_index_and_quantum(self, law: SizeLaw, slowdown: tuple[float | None, float]) -> None:
        queue = queue_of(law, *slowdown)
        ages = small_ages(queue, 0.0, 0.25, 0.9, 3.0)
        found = gittins_index(queue, ages)
        assert (found.error < 5e-12).all()
        for attained, index, quantum, error in zip(ages, found.index, found.quantum, found.error, strict=True):
            with mp.workdps(40):
                if attained == 0 and math.isinf(index):
                    continue  # the closed case of an infinite density
                best, where = direct_search(queue, float(attained))
                assert abs(mp.mpf(float(index)) / best - 1) <= error + 1e-14, (attained, index, best)
                if where in {0, mp.inf}:
                    assert quantum == float(where), attained
                else:
                    assert abs(mp.mpf(float(quantum)) / where - 1) < 1e-9, (attained, quantum, where)

    @settings(max_examples=40)
    @given(
        law=st.sampled_from(CONTINUOUS),
        threshold=st.one_of(st.none(), st.floats(0.0, 4.0)),
        factor=st.floats(0.05, 1.0),
        shares=st.lists(st.floats(0.0, 5.0), min_size=1, max_size=6),
    )
    def test_no_quantum_of_a_dense_grid_is_better(
        self, law: SizeLaw, threshold: float | None, factor: float, shares: list[float]
    ) -> None:
        queue = queue_of(law, threshold, factor)
        ages = small_ages(queue, *shares)
        found = gittins_index(queue, ages)
        end = min(float(queue.service_time(law.upper_end)), 50 * queue.mean_service_time)
        for attained, index, quantum, error in zip(ages, found.index, found.quantum, found.error, strict=True):
            quanta = np.geomspace(1e-3 * (end - attained), end - attained, 4001)
            if 0 < quantum < math.inf:
                quanta = np.append(quanta, quantum)
            (tail, first, *_), (tails, firsts, *_) = (
                queue.service_moments(np.asarray(t)) for t in (attained, attained + quanta)
            )
            completed, served = tail - tails, first - attained * tail - firsts + (attained + quanta) * tails
            efficiencies = completed / served
            noise = 1e-13 * (1 / completed + first / served) * efficiencies
            assert (efficiencies <= index * (1 + error) + noise).all()
            if 1e-3 * (end - attained) < quantum < math.inf:
                assert abs(efficiencies[-1] - index) <= error * index + noise[-1]

    @settings(max_examples=60)
    @given(st.lists(st.tuples(st.floats(1e-3, 10), st.floats(1e-6, 0.999)), min_size=1, max_size=40))
    def test_the_hull_is_the_largest_chord_of_any_polygon(self, cells: list[tuple[float, float]]) -> None:
        served, completed = np.array(cells).T.copy()
        edge_served, edge_completed, last = first_edges(served, completed, 1 - completed)
        for start in range(len(cells)):
            alive = np.cumprod(np.append(1.0, 1 - completed[start:-1]))
            slopes = np.cumsum(alive * completed[start:]) / np.cumsum(alive * served[start:])
            slope = edge_completed[start] / edge_served[start]
            np.testing.assert_allclose(slope, slopes.max(), rtol=2e-12)
            assert slopes[last[start] - start] >= slopes.max() * (1 - 4e-12)


class Bathtub(service_hazard.ServiceHazard):
    """Half the jobs exponential with rate 5, half Erlang(6, 3): a hazard that falls, then rises."""

    def curve(self, ages: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        laws = (Exponential(5.0), Erlang(6, 3.0))
        tail, first = (sum(law.upper_moment(order, ages) for law in laws) / 2 for order in (0, 1))
        density = sum(law.density(ages) for law in laws) / 2
        return tail, first, density / tail

    def hazard_before(self, ages: np.ndarray) -> np.ndarray:
        return np.where(ages > self.last, 3.0, self.curve(np.minimum(ages, self.last))[2])


class TestAHazardThatFallsAndRises:
    """None of the ten laws has one; the hull takes it as it comes."""

    @pytest.fixture
    def law(self) -> service_hazard.ServiceHazard:
        none, grid = np.empty(0), np.geomspace(1e-6, 60, 800)
        hazard = Bathtub(queue_of(Exponential(1.0)), False, math.inf, 60.0, none, none, none, none, 0.0).curve
        dense = np.linspace(0, 3, 300_001)
        turn = float(dense[hazard(dense)[2].argmin()])
        return Bathtub(
            queue_of(Exponential(0.9)),  # of about the same mean
            False,
            math.inf,
            60.0,
            np.array([0.0, turn]),
            np.array([True, False]),
            none,
            grid,
            math.inf,
        )

    def test_the_index_is_the_hazard_at_first_and_then_that_of_service_to_completion(
        self, law: service_hazard.ServiceHazard
    ) -> None:
        ages = np.linspace(0, 3, 31)
        index, quantum, error = gittins.index_of_law(law, ages)
        tail, first, hazard = law.curve(ages)
        through = np.geomspace(1e-4, 50, 4_000)
        for at, attained in enumerate(ages):
            tails, firsts, _ = law.curve(attained + through)
            served = first[at] - attained * tail[at] - firsts + (attained + through) * tails
            best = max(hazard[at], ((tail[at] - tails) / served).max(), tail[at] / (first[at] - attained * tail[at]))
            assert index[at] == pytest.approx(best, rel=1e-9)
        at_once = quantum == 0
        np.testing.assert_allclose(index[at_once], hazard[at_once], rtol=1e-13)
        assert (np.isinf(quantum) == ~at_once).all()
        assert 1 < at_once.sum() < 15
        assert at_once[0]
        assert error.max() < 1e-10


class TestStatedError:
    """The distance between inner and outer hull bounds what a coarse grid gets wrong."""

    @pytest.mark.parametrize("slowdown", [(None, 1.0), (0.45, 0.6)], ids=str)
    @pytest.mark.parametrize("law", [PAPER_LAW, LogNormal(0, 0.4), LogNormal(1, 1.5)], ids=repr)
    def test_without_the_optima_inside_cells(
        self, law: SizeLaw, slowdown: tuple[float | None, float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queue = queue_of(law, *slowdown)
        ages = small_ages(queue, *np.linspace(0, 0.6, 40))
        exact = gittins_index(queue, ages)
        monkeypatch.setattr(gittins, "ROUNDS", 0)
        monkeypatch.setattr(service_hazard, "GRID_POINTS", 60)
        service_hazard._described.cache_clear()
        rough = gittins_index(queue, ages)
        service_hazard._described.cache_clear()
        missing = 1 - rough.index / exact.index
        assert missing.max() > 1e-8
        assert (missing >= -1e-12).all()
        assert (missing <= rough.error + exact.error).all()
        assert rough.error.max() < 1000 * missing.max()


class TestShape:
    """What the index of every law and slowdown does."""

    @pytest.mark.parametrize("slowdown", [(None, 1.0), (0.4, 0.5), (6.0, 0.39)], ids=str)
    def test_a_quantum_ends_where_the_hazard_is_down_at_the_index_or_jumps(
        self, slowdown: tuple[float | None, float]
    ) -> None:
        queue = queue_of(PAPER_LAW, *slowdown)
        ages = np.linspace(0, 116, 500)  # the hazard of L peaks at 117.46
        found = gittins_index(queue, ages)
        through = ages + found.quantum
        threshold = queue.slowdown[0]
        slowed = through >= threshold * (1 - 1e-12)
        after = PAPER_LAW.hazard(queue.size_at(through)) * np.where(slowed, queue.slowdown[1], 1.0)
        kink = np.abs(through - threshold) < 1e-9 * through
        np.testing.assert_allclose(after[~kink], found.index[~kink], rtol=1e-12)
        assert (after[kink] < found.index[kink]).all()
        assert kink.any() == (slowdown[0] == 0.4)

    @settings(max_examples=20)
    @given(
        law=st.sampled_from(CONTINUOUS),
        threshold=st.one_of(st.none(), st.floats(0.0, 4.0)),
        factor=st.floats(0.05, 1.0),
        share=st.floats(0.0, 3.0),
    )
    def test_during_its_quantum_a_job_never_falls_below_the_index_it_started_with(
        self, law: SizeLaw, threshold: float | None, factor: float, share: float
    ) -> None:
        """So a quantum that ends where the index falls below another job's is never shorter than Δ*."""
        queue = queue_of(law, threshold, factor)
        ages = small_ages(queue, share)
        found = gittins_index(queue, ages)
        for attained, index, quantum in zip(ages, found.index, found.quantum, strict=True):
            limit = min(quantum, float(queue.service_time(law.upper_end)) - attained, 5 * queue.mean_service_time)
            later = gittins_index(queue, attained + limit * np.linspace(0, 0.999, 20)) if limit > 0 else found
            assert (later.index >= index * (1 - 1e-11)).all()

    def test_the_index_does_not_depend_on_the_other_ages_asked_for(self) -> None:
        queue = queue_of(PAPER_LAW, 2.0, 0.39)
        dense = np.linspace(0, 1000, 16_000)
        together = gittins_index(queue, dense)
        alone = gittins_index(queue, dense[[0, 100, 1500, 4321]])
        for name in ("index", "quantum"):
            np.testing.assert_allclose(getattr(together, name)[[0, 100, 1500, 4321]], getattr(alone, name), rtol=1e-11)
        assert together.error.max() < 1e-10

    def test_ages_that_differ_in_the_last_digit_only(self) -> None:
        start = 100.0
        ages = start + np.arange(64) * np.spacing(start)
        found = gittins_index(queue_of(PAPER_LAW), ages)
        np.testing.assert_allclose(found.index, found.index[0], rtol=1e-13)
        np.testing.assert_allclose(found.quantum, found.quantum[0], rtol=1e-12)

    def test_ages_come_in_any_order_and_shape(self) -> None:
        queue = queue_of(PAPER_LAW)
        square = gittins_index(queue, [[300.0, 0.0], [50.0, 300.0]])
        for row, column, attained in ((0, 0, 300.0), (0, 1, 0.0), (1, 0, 50.0), (1, 1, 300.0)):
            single = gittins_index(queue, attained)
            np.testing.assert_allclose(square.index[row, column], single.index, rtol=1e-13)
            np.testing.assert_allclose(square.quantum[row, column], single.quantum, rtol=1e-11)
        assert gittins_index(queue, []).index.shape == (0,)

    def test_units_do_not_matter(self) -> None:
        ages = np.array([0.0, 20.0, 90.0, 500.0])
        plain = gittins_index(queue_of(PAPER_LAW, 1.5, 0.5), ages)
        scaled = gittins_index(queue_of(LogNormal(5 + 20 * math.log(10), 0.9), 1.5, 0.5), ages * 1e20)
        np.testing.assert_allclose(scaled.index * 1e20, plain.index, rtol=1e-11)
        np.testing.assert_allclose(scaled.quantum, plain.quantum * 1e20, rtol=1e-9)

    @pytest.mark.parametrize(
        "law",
        [
            LogNormal(0, 10),
            LogNormal(-69, 1e-6),
            Weibull(0.05, 1e-30),
            Weibull(1e6, 1e30),
            Gamma(1e-3, 1.0),
            Gamma(1e6, 1.0),
            Erlang(10**5, 1.0),
            Lomax(1.01, 1.0),
            HyperExponential([0.5, 0.5], [1e-30, 1e30]),
            Uniform(0.999e30, 1e30),
        ],
        ids=repr,
    )
    @pytest.mark.parametrize("factor", [1.0, 1e-30])
    def test_extreme_laws_give_finite_errors_and_no_warning(self, law: SizeLaw, factor: float) -> None:
        queue = queue_of(law, 0.7, factor)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = gittins_index(queue, np.array([0.0, 1e-3, 0.5, 0.99]) * law.mean)
        assert (found.index > 0).all()
        assert (found.quantum >= 0).all()
        assert ((found.error >= 0) & (found.error < 1e-9)).all()


class TestPointMasses:
    @settings(max_examples=60)
    @given(
        samples=st.lists(st.integers(1, 12), min_size=1, max_size=12),
        threshold=st.one_of(st.none(), st.integers(0, 8)),
        share=st.integers(0, 47),
    )
    def test_exactly_the_best_sample_to_wait_for(self, samples: list[int], threshold: int | None, share: int) -> None:
        """In rational arithmetic, with β = 1/4, so that all service times and ties are exact."""
        queue = Queue(Empirical(samples), 1.0, None if threshold is None else threshold, 0.25)
        ell, rate = (threshold, 4) if threshold is not None else (0, 1)
        times = [Fraction(min(s, ell) + rate * max(s - ell, 0)) if rate > 1 else Fraction(s) for s in samples]
        attained = Fraction(share, 48) * max(times)
        left = [t for t in times if t > attained]
        efficiency = {
            end: Fraction(sum(t <= end for t in left)) / sum(min(t, end) - attained for t in left) for end in left
        }
        best = max(efficiency.values())
        through = max(end for end, value in efficiency.items() if value == best)
        found = gittins_index(queue, float(attained))
        assert abs(float(found.index) / float(best) - 1) <= float(found.error) + 1e-15
        assert float(found.quantum) == pytest.approx(float(through - attained), rel=1e-12)

    def test_a_known_size_is_waited_for(self) -> None:
        found = gittins_index(queue_of(Deterministic(4.0)), [0.0, 3.0])
        assert (found.index.tolist(), found.quantum.tolist()) == ([0.25, 1.0], [4.0, 1.0])

    def test_of_two_equally_good_quanta_the_longer(self) -> None:
        """Sizes 1 and 3: J(0, 1) = J(0, 3) = 1/2."""
        found = gittins_index(Queue(Empirical([1, 3]), 0.1), [0.0, 0.5, 1.0])
        np.testing.assert_allclose(found.index, [0.5, 1.0, 0.5], rtol=1e-15)
        np.testing.assert_allclose(found.quantum, [3.0, 0.5, 2.0], rtol=1e-15)

    def test_a_large_sample_has_the_index_of_its_law_at_arrival_and_more_between_its_values(self) -> None:
        """The sample is taken for the law: when its next values are close, a short quantum is worth much."""
        sizes = Erlang(3, 1.0).sample(np.random.default_rng(5), 200_000)
        ages = np.array([0.0, 1.0, 3.0])
        ratio = (
            gittins_index(Queue(Empirical(sizes), 0.1), ages).index
            / gittins_index(queue_of(Erlang(3, 1.0)), ages).index
        )
        assert abs(ratio[0] - 1) < 0.01  # 1/E[S], the mean within 4 standard errors
        assert (ratio > 0.99).all()


class TestTable:
    @pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
    @pytest.mark.parametrize("slowdown", [(None, 1.0), (0.7, 0.39)], ids=str)
    def test_it_keeps_its_error(self, law: SizeLaw, slowdown: tuple[float | None, float]) -> None:
        queue = queue_of(law, *slowdown)
        table = gittins_table(queue)
        generator = np.random.default_rng(3)
        ages = queue.service_time(law.sample(generator, 500)) * generator.uniform(0, 1, 500)
        assert table.error <= 1e-6
        np.testing.assert_allclose(table.rank(ages) * gittins_index(queue, ages).index, 1, rtol=2e-6)

    def test_a_jump_has_both_its_values(self) -> None:
        table = gittins_table(queue_of(Exponential(0.5), 1.5, 0.4))
        np.testing.assert_allclose(table.rank([np.nextafter(3, 0), 3.0]), [2.0, 5.0], rtol=1e-12)
        assert (table.ages == 3.0).sum() == 2
        assert (np.diff(table.ages) >= 0).all()

    def test_a_jump_where_the_support_begins(self) -> None:
        queue = queue_of(Uniform(1.0, 2.0), 0.7, 0.39)
        ages = np.linspace(0, 2.0, 41)
        np.testing.assert_allclose(gittins_table(queue).rank(ages) * gittins_index(queue, ages).index, 1, rtol=2e-6)

    def test_what_is_older_than_the_law_allows_comes_first(self) -> None:
        for law in (Uniform(0, 2), Deterministic(2.0), Empirical([1, 2, 2])):
            assert gittins_table(queue_of(law)).rank([2.0, 17.0]).tolist() == [0.0, 0.0]

    def test_point_masses_are_exact(self) -> None:
        queue = Queue(Empirical([1.0, 1.5, 2.0, 7.0, 7.0]), 0.1)
        ages = np.linspace(0, 6.99, 200)
        np.testing.assert_allclose(gittins_table(queue).rank(ages) * gittins_index(queue, ages).index, 1, rtol=1e-13)

    def test_a_finer_table_when_asked(self) -> None:
        queue = queue_of(PAPER_LAW, 6.0, 0.39)
        coarse, fine = gittins_table(queue, 1e-4), gittins_table(queue, 1e-8)
        ages = np.linspace(1, 3000, 997)
        exact = 1 / gittins_index(queue, ages).index
        assert 1e-7 < np.abs(coarse.rank(ages) / exact - 1).max() < 2e-4
        assert np.abs(fine.rank(ages) / exact - 1).max() < 2e-8


class TestRefusals:
    @pytest.mark.parametrize(
        ("law", "ages", "allowed"),
        [
            (PAPER_LAW, -1.0, ">= 0"),
            (PAPER_LAW, [1.0, math.nan], ">= 0"),
            (PAPER_LAW, math.inf, "finite"),
            (PAPER_LAW, "young", "number"),
            (Uniform(0, 2), [0.0, 2.0], "below 2, the largest service time"),
            (Deterministic(3), 3.0, "below 3, the largest service time"),
            (Empirical([1, 4]), 5.0, "below 4, the largest service time"),
            (Exponential(1.0), [1.0, 700.0], "where P.S > age. is 1e-280"),
        ],
    )
    def test_ages_that_no_job_has(self, law: SizeLaw, ages: Any, allowed: str) -> None:
        with pytest.raises(ParameterError, match=f"ages.*{allowed}"):
            gittins_index(queue_of(law), ages)

    def test_a_law_without_a_mean(self) -> None:
        for call in (lambda q: gittins_index(q, 1.0), gittins_table):
            with pytest.raises(ParameterError, match="finite mean"):
                call(Queue(Lomax(1.0, 1.0), 0.1))

    def test_what_is_no_queue(self) -> None:
        for call in (lambda q: gittins_index(q, 1.0), gittins_table):
            with pytest.raises(ParameterError, match="a Queue"):
                call(PAPER_LAW)

    @pytest.mark.parametrize("tolerance", [0.0, 1.0, math.nan, "1e-6"])
    def test_a_tolerance_out_of_range(self, tolerance: Any) -> None:
        with pytest.raises(ParameterError, match="tolerance"):
            gittins_table(queue_of(PAPER_LAW), tolerance)
