"""The best quantum: against brute force, at known cases, at its own conditions, and to the digits it promises."""

import dataclasses
import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import mlptsym as mq
from mlptsym.numeric.levels.foreground import foreground_background_time
from mlptsym.numeric.mean.gradient import quantum_slopes
from mlptsym.numeric.model.breaks import breaks
from mlptsym.numeric.optimal import optimum
from mlptsym.numeric.optimal.minima import local_minima
from mlptsym.numeric.optimal.optimum import Optimum, optimal_quantum, rule_of_thumb

INF = math.inf
MEAN = mq.LogNormal(5, 0.9).mean


def paper(threshold: float, **changes: float) -> mq.Queue:
    """The paper's queue, with ℓ_C in mean sizes."""
    model = {"arrival_rate": 0.0036, "slowdown_factor": 0.39, "preemption_cost": 0.1, **changes}
    return mq.Queue(mq.LogNormal(5, 0.9), slowdown_threshold=threshold * MEAN, **model)


def mean(queue: mq.Queue, quantum: float, levels: float) -> float:
    return float(mq.mean_response_time(queue, mq.MLPT(quantum=quantum, levels=levels)))


# the paper's parameters


@pytest.mark.parametrize(
    ("threshold", "levels", "kind", "quantum", "gain"),
    [
        (3, 2, "kink", 3.0, 0.4532),
        (6, 2, "kink", 6.0, 0.2131),
        (8, 2, "smooth", 3.96567, 0.1457),
        (8, 3, "kink", 4.0, 0.1856),
        (3, INF, "smooth", 4.29859, 0.4838),
        (6, INF, "smooth", 3.03102, 0.3199),
        (8, INF, "smooth", 3.24158, 0.2450),
    ],
)
def test_optimum_at_the_papers_parameters(
    threshold: float, levels: float, kind: str, quantum: float, gain: float
) -> None:
    best = optimal_quantum(paper(threshold), levels)
    assert best.kind == kind
    assert best.quantum / MEAN == pytest.approx(quantum, abs=2e-5)
    assert best.gain == pytest.approx(gain, abs=5e-5)
    assert best.mean_response_time == mean(paper(threshold), best.quantum, levels)
    assert best.fcfs == mq.mean_response_time(paper(threshold), mq.FCFS())
    assert best.effective_load == mq.solve(paper(threshold), mq.MLPT(best.quantum, levels)).effective_load
    assert (best.levels, best.lower, best.upper, best.open_quanta) == (levels, None, None, None)


def test_a_kink_optimum_is_the_threshold_itself() -> None:
    queue = paper(6)
    assert optimal_quantum(queue, 2).quantum == queue.slowdown_threshold
    assert optimal_quantum(queue, 2).size == queue.slowdown_threshold


def test_two_levels_have_the_minimum_where_the_ratio_crosses_the_hazard() -> None:
    """Eq. (30) and the condition for ℓ_C: A/B below the hazard on its left and above on its right."""
    smooth = optimal_quantum(paper(8), 2)
    terms = mq.two_level_terms(paper(8), smooth.size * np.array([1 - 1e-9, 1, 1 + 1e-9]))
    assert terms.ratio[1] == pytest.approx(terms.hazard[1], rel=1e-10)
    assert terms.derivative[0] < 0 < terms.derivative[2]
    left, right = (mq.two_level_terms(paper(6), 6 * MEAN, side=side) for side in ("left", "right"))
    assert left.ratio < left.hazard
    assert right.hazard < right.ratio


# against brute force


def random_queue(generator: np.random.Generator, kind: int) -> mq.Queue:
    """A stable queue with one of the ten laws and one of the three memories."""

    def between(low: float, high: float) -> float:
        return float(np.exp(generator.uniform(np.log(low), np.log(high))))

    laws: list[Callable[[], mq.Exponential]] = [
        lambda: mq.Exponential(between(0.01, 10)),
        lambda: mq.LogNormal(generator.uniform(-2, 6), between(0.2, 1.8)),
        lambda: mq.Weibull(between(0.3, 3), between(0.1, 100)),
        lambda: mq.Gamma(between(0.1, 20), between(0.1, 100)),
        lambda: mq.Erlang(int(generator.integers(1, 30)), between(0.1, 10)),
        lambda: mq.HyperExponential(generator.dirichlet(np.ones(2)).tolist(), [between(0.001, 10), between(0.001, 10)]),
        lambda: mq.Lomax(generator.uniform(2.2, 6), between(0.1, 100)),
        lambda: mq.Uniform(low := between(0.1, 10), low + between(0.1, 20)),
        lambda: mq.Deterministic(between(0.1, 100)),
        lambda: mq.Empirical(
            np.round(np.exp(generator.normal(1, between(0.2, 2), generator.integers(1, 30))), 2) + 0.05
        ),
    ]
    law = laws[kind]()
    window = law.mean * generator.uniform(0.3, 6)
    memory = [
        mq.LinearMemory(generator.uniform(0.3, 2)),
        mq.AffineMemory(generator.uniform(0, 0.2) * law.mean, generator.uniform(0.3, 2)),
        mq.SaturatingMemory(generator.uniform(0.3, 2), window, generator.uniform(0, 0.1) * law.mean),
    ][generator.integers(3)]
    queue = mq.Queue(
        law,
        1.0,
        slowdown_threshold=law.mean * between(0.2, 12),
        slowdown_factor=generator.uniform(0.1, 1),
        preemption_cost=between(1e-2, 0.5),
        memory=memory,
    )
    return dataclasses.replace(queue, arrival_rate=generator.uniform(0.2, 0.97) / queue.mean_service_time)


def lowest_on_a_grid(queue: mq.Queue, levels: float, points: int) -> float:
    """The smallest E[T] over a geometric grid, all kinks and all jumps on it, and FCFS."""
    scale = queue.mean_service_time
    low = 0.1 * scale if levels == INF else 1e-3 * scale
    quanta = [np.geomspace(low, 1e3 * scale, points)]
    for place in breaks(queue).all:
        number = np.arange(1.0, min(levels - 1, place / low, 50) + 1)
        quanta.append(place / number * (1 + 3e-15))
    times = quantum_slopes(queue, np.unique(np.concatenate(quanta)), levels).mean_response_time
    return min(float(times.min()), mq.mean_response_time(queue, mq.FCFS()))


@pytest.mark.parametrize("levels", [2, 3, 5, INF])
@pytest.mark.parametrize("kind", range(10))
def test_never_beaten_by_a_grid_with_all_kinks(kind: int, levels: float) -> None:
    generator = np.random.default_rng([kind, int(min(levels, 99))])
    for _ in range(2):
        queue = random_queue(generator, kind)
        best = optimal_quantum(queue, levels)
        assert best.mean_response_time <= lowest_on_a_grid(queue, levels, 400) * (1 + 1e-9)
        if best.quantum < INF:
            assert best.mean_response_time == mean(queue, best.quantum, levels)
            assert best.gain == 1 - best.mean_response_time / best.fcfs > 0
        values = [value for _, value, _ in best.local_minima]
        assert values == sorted(values)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), kind=st.integers(0, 9), levels=st.sampled_from([2, 4, INF]))
def test_the_optimum_does_not_depend_on_the_unit_of_time(seed: int, kind: int, levels: float) -> None:
    queue = random_queue(np.random.default_rng(seed), kind)
    if isinstance(queue.size, (mq.Empirical, mq.LogNormal)):
        return  # their parameters do not scale exactly
    unit = 64.0  # a power of two scales every float exactly
    scaled = {"rate": 1 / unit, "scale": unit, "low": unit, "high": unit, "value": unit}
    changes = {name: getattr(queue.size, name) * factor for name, factor in scaled.items() if hasattr(queue.size, name)}
    if isinstance(queue.size, mq.HyperExponential):
        changes = {"rates": tuple(rate / unit for rate in queue.size.rates)}
    memory = dataclasses.replace(
        queue.memory,
        **{name: getattr(queue.memory, name) * unit for name in ("base", "window") if hasattr(queue.memory, name)},
    )
    other = dataclasses.replace(
        queue,
        size=dataclasses.replace(queue.size, **changes),
        arrival_rate=queue.arrival_rate / unit,
        slowdown_threshold=queue.slowdown_threshold * unit,
        memory=memory,
    )
    first, second = optimal_quantum(queue, levels), optimal_quantum(other, levels)
    assert first.kind == second.kind
    assert second.mean_response_time == pytest.approx(unit * first.mean_response_time, rel=1e-12)
    assert second.quantum == pytest.approx(unit * first.quantum, rel=1e-9)


# to nine digits


@pytest.mark.parametrize(
    ("law", "parameters", "levels"),
    [
        ("LogNormal", (5, 0.9), 2),
        ("LogNormal", (5, 0.9), 4),
        ("Weibull", (0.6, 150.0), 3),
        ("Lomax", (3.5, 500.0), 2),
        ("HyperExponential", ([0.8, 0.2], [0.02, 0.0015]), INF),
    ],
)
def test_a_smooth_optimum_is_a_root_of_the_slope_to_nine_digits(law: str, parameters: tuple, levels: float) -> None:
    model = {"arrival_rate": 0.003, "slowdown_threshold": 2500.0, "slowdown_factor": 0.6, "preemption_cost": 0.1}
    size = getattr(mq, law)(*parameters)
    best = optimal_quantum(mq.Queue(size, **model), levels)
    assert best.kind == "smooth"
    queue = reference.ReferenceQueue(reference.moment_of(size), growth=reference.linear(1.0), **model)
    with reference.digits(40):
        count = len(reference.equal_boundaries(queue, best.quantum, levels, negligible=1e-16))

        def slope(quantum: mp.mpf) -> mp.mpf:
            step = quantum * mp.mpf(10) ** -13
            above, below = (
                reference.theorem(queue, [r * (quantum + sign * step) for r in range(1, count + 1)]).mean_response_time
                for sign in (1, -1)
            )
            return (above - below) / (2 * step)

        near = mp.mpf(best.quantum)
        assert slope(near * (1 - mp.mpf("1e-9"))) < 0 < slope(near * (1 + mp.mpf("1e-9")))


# FCFS, and where there is no minimum


def is_first_come(best: Optimum, time: float) -> bool:
    return (best.quantum, best.kind, best.gain, best.size, best.mean_response_time) == (INF, "fcfs", 0.0, INF, time)


@pytest.mark.parametrize("levels", [2, 3, INF])
@pytest.mark.parametrize(
    "law", [mq.Exponential(1.0), mq.Erlang(4, 2.0), mq.Deterministic(1.0), mq.Uniform(0.5, 1.5), mq.Weibull(2.0, 1.0)]
)
def test_fcfs_is_best_where_the_hazard_does_not_fall(law: mq.Exponential, levels: float) -> None:
    queue = mq.Queue(law, 0.7, preemption_cost=0.1)
    best = optimal_quantum(queue, levels)
    assert is_first_come(best, mq.mean_response_time(queue, mq.FCFS()))
    assert best.effective_load == queue.base_load


def test_two_levels_without_cost_are_never_better_than_fcfs_for_an_exponential_law() -> None:
    """All policies that do not look at sizes have one mean for this law; FCFS is the answer to a tie."""
    queue = mq.Queue(mq.Exponential(1.0), 0.7)
    assert is_first_come(optimal_quantum(queue, 2), mq.mean_response_time(queue, mq.FCFS()))
    assert is_first_come(optimal_quantum(queue, INF), mq.mean_response_time(queue, mq.FCFS()))


@pytest.mark.parametrize("levels", [2, INF])
def test_an_unstable_queue_has_no_optimum(levels: float) -> None:
    best = optimal_quantum(mq.Queue(mq.Exponential(1.0), 1.0), levels)
    assert is_first_come(best, INF)
    assert (best.fcfs, best.local_minima, best.effective_load) == (INF, (), 1.0)


def test_infinite_moments() -> None:
    heavy = mq.Queue(mq.Lomax(1.8, 1.0), 0.5, preemption_cost=0.1)
    assert is_first_come(optimal_quantum(heavy, 2), INF)
    assert is_first_come(optimal_quantum(heavy, INF), INF)
    # E[S³] is infinite: restore costs that grow make k = ∞ infinite, FCFS stays finite
    less = mq.Queue(mq.Lomax(2.5, 1.0), 0.5, preemption_cost=0.1)
    assert is_first_come(optimal_quantum(less, INF), mq.mean_response_time(less, mq.FCFS()))
    assert optimal_quantum(less, 2).kind == "smooth"
    # bounded costs leave k = ∞ finite where FCFS is not
    bounded = dataclasses.replace(heavy, memory=mq.SaturatingMemory(1.0, 2.0))
    best = optimal_quantum(bounded, INF)
    assert (best.fcfs, best.gain) == (INF, 1.0)
    assert best.mean_response_time <= lowest_on_a_grid(bounded, INF, 300) * (1 + 1e-9) < INF


@pytest.mark.parametrize("law", [mq.LogNormal(0, 1.2), mq.Weibull(0.5, 1.0), mq.HyperExponential([0.9, 0.1], [2, 0.1])])
def test_free_preemption_has_a_limit_and_no_minimum(law: mq.LogNormal) -> None:
    """A falling hazard without preemption cost: the smaller the quantum the better, down to foreground–background."""
    queue = mq.Queue(law, 0.7 / law.mean)
    best = optimal_quantum(queue, INF)
    assert (best.quantum, best.kind, best.size) == (0.0, "limit", 0.0)
    assert best.mean_response_time < mean(queue, 0.01 * law.mean, INF) < mean(queue, 0.1 * law.mean, INF) < best.fcfs


@pytest.mark.parametrize(
    "law",
    [
        mq.LogNormal(0, 0.9),
        mq.LogNormal(0, 0.05),
        mq.Gamma(0.1, 3.0),
        mq.Erlang(300, 2.0),
        mq.Lomax(2.4, 2.0),
        mq.Uniform(1.0, 5.0),
        mq.Uniform(0.0, 5.0),
    ],
)
def test_foreground_background_is_the_limit_of_small_quanta(law: mq.LogNormal) -> None:
    queue = mq.Queue(law, 0.6 / law.mean, slowdown_threshold=1.3 * law.mean, slowdown_factor=0.7)
    quanta = queue.mean_service_time / np.array([200, 400, 800])
    times = quantum_slopes(queue, quanta, INF).mean_response_time
    extrapolated = times @ np.array([1, -6, 8]) / 3  # exact for a parabola in the quantum
    assert foreground_background_time(queue) == pytest.approx(extrapolated, rel=1e-6)


def test_foreground_background_with_point_masses() -> None:
    """Two sizes: the small job waits for small parts only; each large one is found behind all."""
    queue = mq.Queue(mq.Empirical([1.0, 1.0, 1.0, 5.0]), 0.2)
    work, square = 1.0, 1.0  # of min(S, 1)
    small = 1 + 0.2 * square / 2 / (1 - 0.2 * work) ** 2 + 0.2 * work / (1 - 0.2 * work)
    work, square = 2.0, 7.0
    large = 5 + 0.2 * square / 2 / (1 - 0.2 * work) ** 2 + 5 * 0.2 * work / (1 - 0.2 * work)
    assert foreground_background_time(queue) == pytest.approx(0.75 * small + 0.25 * large, rel=1e-14)


# point masses


@pytest.mark.parametrize("levels", [2, 3, 5, INF])
@pytest.mark.parametrize(
    "samples", [[1.0, 1.0, 1.0, 9.0], [0.1, 0.3, 0.7, 0.7, 2.9], [0.29, 0.31, 4.1, 4.1, 4.3, 30.0], [2.0, 7.0]]
)
def test_point_masses_are_searched_one_by_one(samples: list[float], levels: float) -> None:
    queue = mq.Queue(
        mq.Empirical(samples), 0.6 / np.mean(samples), preemption_cost=0.05, slowdown_threshold=3.0, slowdown_factor=0.8
    )
    best = optimal_quantum(queue, levels)
    assert best.mean_response_time <= lowest_on_a_grid(queue, levels, 4000) * (1 + 1e-12)
    if best.quantum < INF:
        assert best.mean_response_time == mean(queue, best.quantum, levels)


def test_the_lower_value_at_a_jump_is_attained() -> None:
    """A job that has attained exactly its service completes, so E[T] is continuous from the right at θ = s/m."""
    queue = mq.Queue(mq.Empirical([1.0, 1.0, 1.0, 9.0]), 0.2, preemption_cost=0.05)
    for levels in (2, 4, INF):
        at, left, right = (mean(queue, quantum, levels) for quantum in (1.0, 1 - 1e-9, 1 + 1e-9))
        assert at == pytest.approx(right, rel=1e-7)
        assert at < left * (1 - 1e-3)
    best = optimal_quantum(queue, 2)
    assert (best.quantum, best.kind) == (1.0, "kink")


def test_a_tenth_of_three_is_not_missed_by_rounding() -> None:
    """0.3/3 is not 0.1 in binary; whichever is returned, the jobs of size 0.3 complete in their level."""
    queue = mq.Queue(mq.Empirical([0.1, 0.3, 0.3, 40.0]), 0.05, preemption_cost=0.01)
    best = optimal_quantum(queue, INF)
    later = mean(queue, best.quantum * (1 + 1e-12), INF)
    assert best.mean_response_time == pytest.approx(later, rel=1e-9)


def test_the_empirical_optimum_of_two_levels_is_exact() -> None:
    generator = np.random.default_rng(11)
    samples = np.round(np.exp(generator.normal(0, 1.2, 300)), 3) + 0.001
    queue = mq.Queue(mq.Empirical(samples), 0.5 / samples.mean(), preemption_cost=0.1)
    best = optimal_quantum(queue, 2)
    places = np.unique(samples)
    inside = (places[:-1, None] + np.linspace(0, 1, 21)[:-1] * np.diff(places)[:, None]).ravel()
    times = mq.mean_response_time(queue, mq.MLPT(quantum=np.concatenate([inside, places]), levels=2))
    assert best.mean_response_time <= times.min() * (1 + 1e-14)


@pytest.mark.parametrize(
    ("levels", "mass", "others", "counts", "rate"),
    [
        (4, 6.239196710975288, (1.928087928958852, 145.86637796995646), (8, 3, 1), 0.06319963374415967),
        (7, 3.4048196248639555, (0.5515550013010592, 111.44921717408535), (8, 3, 2), 0.05051892953969541),
        (8, 7.957474117081809, (0.9901878899647701, 117.05926242644034), (5, 1, 3), 0.018474964398602294),
    ],
)
def test_the_best_jump_is_reached_where_rounding_falls_short_of_it(levels, mass, others, counts, rate) -> None:
    """Jobs of size b complete in level m = k − 1 at θ = b/m, but not at that quotient as a double: m·fl(b/m) < b."""
    m = levels - 1
    assert m * (mass / m) < mass
    sizes = np.repeat([others[0], mass, others[1]], counts)
    queue = mq.Queue(mq.Empirical(sizes), rate)
    best = optimal_quantum(queue, levels)
    assert best.kind == "kink"
    assert best.quantum == pytest.approx(mass / m, rel=1e-14)
    assert m * best.quantum >= mass
    short, at, beyond = (
        mq.mean_response_time(queue, mq.MLPT(quantum=quantum, levels=levels))
        for quantum in (mass / m, best.quantum, mass / m * (1 + 1e-9))
    )
    assert best.mean_response_time == at == pytest.approx(beyond, rel=1e-7)
    assert short > at * 1.001


def test_many_point_masses_and_levels_still_give_an_answer() -> None:
    samples = np.exp(np.random.default_rng(3).normal(5, 0.9, 100_000))
    queue = mq.Queue(
        mq.Empirical(samples), 0.0036, slowdown_threshold=6 * MEAN, slowdown_factor=0.39, preemption_cost=0.1
    )
    best, smooth = optimal_quantum(queue, INF), optimal_quantum(paper(6), INF)
    assert best.mean_response_time <= mean(queue, smooth.quantum, INF)
    assert best.gain == pytest.approx(smooth.gain, abs=0.03)


# the list of local minima


def test_every_listed_minimum_is_one_and_the_best_comes_first() -> None:
    queue = paper(3, preemption_cost=0.02)
    for levels in (3, 5, INF):
        best = optimal_quantum(queue, levels)
        assert best.local_minima[0] == (best.quantum, best.mean_response_time, best.kind)
        for quantum, value, kind in best.local_minima:
            assert kind in {"smooth", "kink"}
            around = quantum_slopes(queue, quantum * np.array([1 - 1e-6, 1, 1 + 1e-6]), levels)
            assert around.mean_response_time[1] == pytest.approx(value, rel=1e-12)
            assert around.slope[0] < 0 < around.slope[2]


def test_both_minima_of_a_double_well_are_listed() -> None:
    """Two scales far apart give k = 2 two minima; which is lower depends on the weights."""
    law = mq.HyperExponential([0.9, 0.09, 0.01], [1.0, 0.02, 0.0004])
    queue = mq.Queue(law, 0.6 / law.mean, preemption_cost=0.001)
    best = optimal_quantum(queue, 2)
    quanta = np.geomspace(0.01, 1e5, 4000)
    times = quantum_slopes(queue, quanta, 2).mean_response_time
    wells = [i for i in range(1, 3999) if times[i] < times[i - 1] and times[i] < times[i + 1]]
    listed = [quantum for quantum, _, _ in best.local_minima]
    near = [i for i in wells if times[i] < 1.02 * best.mean_response_time]
    for i in near:
        assert any(quanta[i - 1] < quantum < quanta[i + 1] for quantum in listed)


def test_many_finite_levels_come_to_the_infinite_answer() -> None:
    many, all_ = optimal_quantum(paper(6), 3000), optimal_quantum(paper(6), INF)
    assert many.quantum == pytest.approx(all_.quantum, rel=1e-9)
    assert many.mean_response_time == pytest.approx(all_.mean_response_time, rel=1e-12)


# the search itself


def test_minima_of_a_function_with_kinks_and_jumps() -> None:
    """1 + |x − 1.8|/2 + (sin 3x)/5, which falls by 1/10 at x = 4.6: one kink, one jump, smooth minima at cos 3x = −5/6."""

    def curve(points: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        beyond = np.where(left, points > 4.6, points >= 4.6)
        side = np.where(left, points > 1.8, points >= 1.8)
        value = 1 + np.abs(points - 1.8) / 2 + np.sin(3 * points) / 5 - beyond / 10
        return value, np.where(side, 0.5, -0.5) + 0.6 * np.cos(3 * points)

    breaks = np.array([1.8, 4.6])
    found = local_minima(curve, np.linspace(0.1, 7, 30), breaks, jumps=True, within=100.0, most=10**5)
    turn = math.acos(5 / 6)
    smooth = [(math.pi + turn + 2 * math.pi * turns) / 3 for turns in range(1, 4)]
    expected = sorted([1.8, 4.6, *(place for place in smooth if place < 7)])
    assert sorted(minimum.at for minimum in found) == pytest.approx(expected, rel=1e-13)
    assert {minimum.at for minimum in found if not minimum.smooth} == {1.8, 4.6}
    assert [minimum.value for minimum in found] == sorted(minimum.value for minimum in found)


@pytest.mark.parametrize("hole", [math.nan, math.inf])
def test_a_minimum_beside_a_hole(hole: float) -> None:
    """(x − 2)² + 1, whose slope cannot be had for 2.1 < x < 2.6, as beside an edge of stability."""

    def curve(points: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 1 + (points - 2) ** 2, np.where((points > 2.1) & (points < 2.6), hole, 2 * (points - 2))

    (found,) = local_minima(curve, np.array([0.5, 3.0]), np.empty(0), jumps=False, within=1.0, most=10**5)
    assert found.at == pytest.approx(2.0, rel=1e-13) and found.smooth


# the rule of thumb


def test_rule_of_thumb() -> None:
    """Eqs. (31) and (32)."""
    queue = paper(6)
    by_formula = queue.mean_service_time + 2 * math.sqrt(0.1 * queue.service_moment(2) / (1 - queue.base_load))
    assert rule_of_thumb(queue) == queue.slowdown_threshold
    assert rule_of_thumb(queue, INF) == rule_of_thumb(queue, 3) == by_formula
    assert rule_of_thumb(queue, 2, a=6.5) == rule_of_thumb(queue, 2, b=5.5) == by_formula
    assert rule_of_thumb(queue, 2, a=0, b=INF) == queue.slowdown_threshold
    assert rule_of_thumb(paper(8)) == pytest.approx(3.448 * MEAN, rel=1e-3)
    free = dataclasses.replace(queue, preemption_cost=0.0)
    assert rule_of_thumb(free, INF) == free.mean_service_time
    no_slowdown = mq.Queue(mq.Exponential(1.0), 0.5, slowdown_threshold=5.0, preemption_cost=0.25)
    assert rule_of_thumb(no_slowdown) == 3.0
    assert rule_of_thumb(mq.Queue(mq.Exponential(1.0), 2.0)) == INF
    assert rule_of_thumb(mq.Queue(mq.Lomax(1.5, 1.0), 0.1)) == INF


# errors


@pytest.mark.parametrize("levels", [1, 0, -2, 2.5, math.nan, "2", None, True, 2**17, -INF])
def test_impossible_levels_are_refused(levels: object) -> None:
    with pytest.raises(mq.ParameterError, match="levels"):
        optimal_quantum(paper(6), levels)  # type: ignore[arg-type]
    if levels != 2**17:
        with pytest.raises(mq.ParameterError, match="levels"):
            rule_of_thumb(paper(6), levels)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"a": -1.0}, "a"),
        ({"a": 5.0, "b": 4.0}, "b"),
        ({"a": math.nan}, "a"),
        ({"b": "7"}, "b"),
        ({"a": INF, "b": 8}, "b"),
    ],
)
def test_impossible_constants_are_refused(changes: dict, name: str) -> None:
    with pytest.raises(mq.ParameterError, match=f"^{name} = "):
        rule_of_thumb(paper(6), 2, **changes)


def test_what_is_no_queue_is_refused() -> None:
    for call in (optimal_quantum, rule_of_thumb):
        with pytest.raises(mq.ParameterError, match="queue"):
            call("queue")


@pytest.mark.parametrize(
    "queue",
    [
        mq.Queue(mq.LogNormal(5, 0.9), 0.002, 4450.0, 0.39, 0.3),
        mq.Queue(mq.Empirical([0.5, 0.5, 1.2, 3.0, 9.0]), 0.2, preemption_cost=0.2),
        mq.Queue(mq.Uniform(1.0, 2.0), 0.3, preemption_cost=0.4),
    ],
)
def test_the_best_quantum_of_lazy_mlpt(queue: mq.Queue) -> None:
    """Nothing on a fine grid is below it, FCFS neither; it is close to the grid's least."""
    best = optimal_quantum(queue, lazy=True)
    edges = queue.service_time(queue.size.atoms)
    quanta = np.union1d(queue.mean_service_time * np.geomspace(0.01, 100, 1500), edges)
    times = mq.mean_response_time(queue, mq.MLPT(quantum=quanta, levels=2, lazy=True))
    least = min(times.min(), best.fcfs)
    assert best.mean_response_time <= least * (1 + 1e-12)
    assert best.mean_response_time == pytest.approx(least, rel=1e-4)
    if math.isfinite(best.quantum):
        assert best.mean_response_time == mq.mean_response_time(
            queue, mq.MLPT(quantum=best.quantum, levels=2, lazy=True)
        )


def test_lazy_is_refused_where_it_has_no_answer() -> None:
    queue = mq.Queue(mq.Exponential(1.0), 0.5)
    for arguments in ({"levels": 3}, {"certify": True}, {"objective": "p99"}):
        with pytest.raises(mq.ParameterError, match="lazy = True"):
            optimal_quantum(queue, lazy=True, **arguments)


@pytest.mark.parametrize("threshold", [16.0, 18.0])
def test_a_gain_of_less_than_a_millionth_is_found(threshold: float) -> None:
    """Few exponential jobs live to see the slowdown, but to make these wait is worth it."""
    queue = mq.Queue(mq.Exponential(1.0), 0.5, slowdown_threshold=threshold, slowdown_factor=0.3)
    best = optimal_quantum(queue, 2)
    assert (best.kind, best.quantum) == ("kink", threshold)
    assert 1e-7 < best.gain < 1e-5
    assert best.gain == pytest.approx(1 - mean(queue, threshold, 2) / best.fcfs, rel=1e-6)


def test_the_first_quanta_of_a_search_scale_with_the_unit_of_time() -> None:
    def first(unit: float) -> np.ndarray:
        queue = mq.Queue(mq.LogNormal(math.log(unit), 1.0), 0.3 / unit)
        return optimum._first_quanta(queue, 3, 1e-3 * unit, 1e3 * unit) / unit

    assert first(1e-3) == pytest.approx(first(1.0), rel=1e-9)
    assert first(1e3) == pytest.approx(first(1.0), rel=1e-9)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_bound_for_small_quanta_is_below_all_of_these(unit: float) -> None:
    """It holds for its own quantum and for every smaller one, and comes near where the costs matter."""
    queue = mq.Queue(mq.LogNormal(math.log(unit), 1.0), 0.3 / unit, preemption_cost=0.02)
    least = optimum._least_of_small_quanta(queue)
    for quantum in (0.05 * unit, 0.2 * unit, unit):
        bound = least(quantum)
        assert queue.mean_service_time <= bound
        assert all(bound <= mean(queue, part * quantum, INF) for part in (1.0, 0.9, 0.5))


def test_a_kink_beside_a_steep_rise_is_found() -> None:
    """|x − 1.02| falls slowly and rises a hundred times as fast, to far above all that is looked for."""

    def curve(points: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slope = np.where(np.where(left, points > 1.02, points >= 1.02), 100.0, -1.0)
        return 1 + slope * (points - 1.02), slope

    found = local_minima(curve, np.array([0.5, 1.0, 2.0]), np.array([1.02]), jumps=False, within=0.02, most=10**5)
    assert [(minimum.at, minimum.smooth) for minimum in found] == [(1.02, False)]


def test_a_search_cut_short_lists_its_lowest_point() -> None:
    """The second of three points, between which the function jumps unseen."""

    def curve(points: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.interp(points, [1.0, 2.0, 3.0], [2.0, 1.0, 3.0]), np.full(points.shape, -1.0)

    found = local_minima(curve, np.array([1.0, 2.0, 3.0]), np.empty(0), jumps=True, within=0.02, most=2)
    assert [(minimum.at, minimum.value) for minimum in found] == [(2.0, 1.0)]


def test_a_smooth_minimum_at_a_first_point_is_smooth() -> None:
    """Where the slope is exactly zero at a point of the search, no kink is claimed."""

    def curve(points: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 1 + (points - 1) ** 2, 2 * (points - 1)

    (found,) = local_minima(curve, np.array([0.5, 1.0, 1.5]), np.empty(0), jumps=False, within=0.1, most=10**5)
    assert (found.at, found.value, found.smooth) == (1.0, 1.0, True)
