"""E[T]: its limits, where it is infinite, how it scales, tables by level, and every kind of input."""

import math

import mpmath as mp
import numpy as np
import pytest
import reference
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
from mlptsym.memory.affine import AffineMemory
from mlptsym.memory.linear import LinearMemory
from mlptsym.memory.saturating import SaturatingMemory
from mlptsym.numeric.mean.response import LEVEL_LIMIT, level_table, mean_response_time, moments_needed, solve
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.validation import ParameterError

SIZES = [
    Exponential(0.5),
    LogNormal(0.25, 0.9),
    Weibull(0.6, 2.0),
    Gamma(0.4, 5.0),
    Erlang(4, 2.0),
    HyperExponential([0.875, 0.125], [2.0, 0.1]),
    Lomax(4.5, 7.0),
    Uniform(0.5, 6.0),
    Deterministic(2.1),
    Empirical([0.3, 1.7, 2.9, 2.9, 11.3]),
]


def pollaczek_khinchine(queue):
    return queue.mean_service_time + queue.arrival_rate * queue.service_moment(2) / (2 * (1 - queue.base_load))


# --- limits


@pytest.mark.parametrize("size", SIZES, ids=repr)
def test_one_level_is_pollaczek_khinchine(size):
    """Lemma 3.1; restore costs are never paid."""
    for load in (0.05, 0.9, 0.999):
        unit = Queue(size, 1.0, 3.0, 0.5, 0.2)
        queue = Queue(size, load / unit.mean_service_time, 3.0, 0.5, 0.2)
        for policy in (FCFS(), MLPT(quantum=0.7, levels=1), MLPT(quantum=[0.7], levels=1)):
            solution = solve(queue, policy)
            # 1/(1 − ρ) amplifies the rounding of ρ
            assert solution.mean_response_time == pytest.approx(pollaczek_khinchine(queue), rel=1e-15 / (1 - load))
            assert solution.effective_load == pytest.approx(load, rel=1e-15)


@pytest.mark.parametrize("levels", [2, 7, math.inf])
@pytest.mark.parametrize("size", SIZES, ids=repr)
def test_long_quanta_are_fcfs(size, levels):
    """θ → ∞ gives P–K, up to the largest float."""
    queue = Queue(size, 0.6 / size.mean, preemption_cost=0.1)
    fcfs = mean_response_time(queue, FCFS())
    quanta = size.mean * np.array([1e3, 1e6, 1e12])
    errors = np.abs(mean_response_time(queue, MLPT(quantum=quanta, levels=levels)) / fcfs - 1)
    assert errors[2] < 1e-12
    assert (np.diff(errors) <= 1e-13).all()
    assert mean_response_time(queue, MLPT(quantum=1e308, levels=levels)) == pytest.approx(fcfs, rel=1e-12)


@pytest.mark.parametrize("levels", [2, 7])
@pytest.mark.parametrize("size", [size for size in SIZES if size.smooth], ids=repr)
def test_short_quanta_are_fcfs_for_finitely_many_levels(size, levels):
    """θ = 0 gives FCFS for finite k: all levels but the last are left at once, at no cost since g(0) = 0."""
    queue = Queue(size, 0.6 / size.mean, preemption_cost=0.1)
    fcfs = mean_response_time(queue, FCFS())
    assert mean_response_time(queue, MLPT(quantum=1e-300, levels=levels)) == pytest.approx(fcfs, rel=1e-12)
    assert mean_response_time(queue, MLPT(quantum=1e-15, levels=levels)) == pytest.approx(fcfs, rel=1e-4)


def foreground_background(size, rate):
    """E[T] of foreground–background (Schrage 1967; Harchol-Balter 2013, section 30.3), an integral of its own.

    E[T(x)] = λ ∫_0^x t P(S > t) dt / (1 − ρ_x)² + x/(1 − ρ_x), ρ_x = λ ∫_0^x P(S > t) dt, then the mean over x.
    """
    moment = reference.moment_of(size)
    density = reference.density_of(size)
    rate, mean, second = mp.mpf(rate), moment(1, mp.mpf(0)), moment(2, mp.mpf(0))

    def at(x):
        # the two inner integrals are E[min(S, x)] and E[min(S, x)²]/2
        tail = moment(0, x)
        load = rate * (mean - moment(1, x) + x * tail)
        return rate * (second - moment(2, x) + x**2 * tail) / 2 / (1 - load) ** 2 + x / (1 - load)

    # over the logarithm of x
    return mp.quad(
        lambda v: at(size.mean * mp.exp(v)) * density(size.mean * mp.exp(v)) * size.mean * mp.exp(v),
        [-60, -10, -4, -1, 0, 1, 2, 4, 7],
    )


@pytest.mark.parametrize("size", [Weibull(0.6, 2.0), LogNormal(0.25, 0.9), Erlang(4, 2.0)], ids=repr)
def test_short_quanta_are_foreground_background(size):
    """γ = 0, β = 1, k = ∞, θ → 0: the limit, and the error of a quantum halves with it."""
    queue = Queue(size, 0.7 / size.mean)
    with mp.workdps(20):
        limit = float(foreground_background(size, queue.arrival_rate))
    quanta = size.mean / np.array([100.0, 200.0, 400.0, 800.0, 1600.0])
    times = mean_response_time(queue, MLPT(quantum=quanta, levels=math.inf))
    errors = times - limit
    assert abs(errors[-1]) > 1e-7 * limit  # far above the accuracy of either side
    assert errors[:-1] / errors[1:] == pytest.approx(2.0, abs=0.06)
    assert errors[-2] / errors[-1] == pytest.approx(2.0, abs=0.01)
    # with the first order taken off, what is left is of the second
    assert 2 * times[-1] - times[-2] == pytest.approx(limit, rel=1e-5)


def test_exponential_sizes_do_not_mind():
    """Every policy that knows no sizes and wastes no work has the mean of M/M/1 for exponential sizes."""
    with mp.workdps(20):
        assert float(foreground_background(Exponential(1.0), 0.75)) == pytest.approx(4.0, rel=1e-12)
    queue = Queue(Exponential(1.0), 0.75)
    for policy in (
        MLPT(quantum=0.3, levels=2),
        MLPT(quantum=1.7, levels=9),
        MLPT(quanta=[0.1, 2.0, 0.7]),
        MLPT(quantum=[1e-3, 0.01, 0.5, 3.0], levels=math.inf),
    ):
        assert mean_response_time(queue, policy) == pytest.approx(4.0, rel=1e-13)


@pytest.mark.parametrize("size", [Exponential(0.5), LogNormal(0.25, 0.9), Uniform(0.5, 6.0)], ids=repr)
def test_many_levels_become_infinitely_many(size):
    queue = Queue(size, 0.5 / size.mean, 3.0, 0.5, 0.02)
    levels = [2, 4, 8, 16, 64, 256, 4096]
    times = [mean_response_time(queue, MLPT(quantum=2.0, levels=k)) for k in levels]
    limit = mean_response_time(queue, MLPT(quantum=2.0, levels=math.inf))
    errors = np.abs(np.array(times) / limit - 1)
    assert errors[-1] < 1e-12
    assert errors[0] > 1e-4


def test_quanta_that_are_equal():
    queue = Queue(Gamma(0.4, 5.0), 0.3, 3.0, 0.5, 0.1)
    equal = mean_response_time(queue, MLPT(quantum=0.75, levels=5))
    assert mean_response_time(queue, MLPT(quanta=[0.75] * 4)) == pytest.approx(equal, rel=1e-15)
    assert mean_response_time(queue, MLPT(quanta=[0.75, 0.75, 1e300])) == pytest.approx(
        mean_response_time(queue, MLPT(quantum=0.75, levels=3)), rel=1e-13
    )


# --- the answer is infinite


@pytest.mark.parametrize("load", [1.0 + 1e-9, 1.5, 1e6, 1e290])
@pytest.mark.parametrize("levels", [1, 2, 10, math.inf])
@pytest.mark.parametrize("size", SIZES, ids=repr)
def test_unstable(size, levels, load):
    """ρ^eff ≥ 1 is a valid question with the answer inf: never a negative number, NaN or a warning."""
    policy = MLPT(quantum=1.3, levels=levels)
    unit = solve(Queue(size, 1e-3, 3.0, 0.5, 0.1), policy)
    solution = solve(Queue(size, load * 1e-3 / unit.effective_load, 3.0, 0.5, 0.1), policy)
    assert solution.mean_response_time == math.inf
    assert solution.effective_load == pytest.approx(load, rel=1e-12)
    assert solution.stable is False


def test_preemption_shrinks_the_region_of_stability():
    """Stable under FCFS, unstable where quanta are short, infinite costs in the limit (lemma 4.2)."""
    queue = Queue(Exponential(1.0), 0.9, preemption_cost=0.2)
    quanta = np.array([0.001, 0.1, 1.0, 10.0])
    for levels in (2, math.inf):
        solution = solve(queue, MLPT(quantum=quanta, levels=levels))
        expected = 0.9 * (1 + 0.2 * np.array([_paid(theta, levels) for theta in quanta]))
        assert solution.effective_load == pytest.approx(expected, rel=1e-12)
        assert solution.stable.tolist() == (expected < 1).tolist()
        assert (solution.mean_response_time < math.inf).tolist() == solution.stable.tolist()
    assert solve(queue, FCFS()).stable


def _paid(theta, levels):
    """Σ rθ P(L > rθ) for exponential sizes of mean one."""
    if levels == 2:
        return theta * math.exp(-theta)
    return theta * math.exp(-theta) / (1 - math.exp(-theta)) ** 2


@pytest.mark.parametrize(
    ("shape", "levels", "gamma", "memory", "load_is_finite", "mean_is_finite"),
    [
        (1.0, 2, 0.0, LinearMemory(), False, False),
        (0.5, math.inf, 0.0, LinearMemory(), False, False),
        (1.1, 2, 0.0, LinearMemory(), True, False),
        (2.0, 5, 0.1, LinearMemory(), True, False),
        (2.05, 5, 0.1, LinearMemory(), True, True),
        (1.1, math.inf, 0.0, LinearMemory(), True, True),
        (2.0, math.inf, 0.0, AffineMemory(1.0), True, True),
        (1.1, math.inf, 0.01, SaturatingMemory(1.0, 2.0), True, True),
        (2.0, math.inf, 0.01, LinearMemory(), False, False),
        (2.1, math.inf, 0.01, LinearMemory(), True, False),
        (3.0, math.inf, 0.01, AffineMemory(1.0), True, False),
        (3.1, math.inf, 0.01, LinearMemory(), True, True),
    ],
)
def test_moments_that_are_needed(shape, levels, gamma, memory, load_is_finite, mean_is_finite):
    """Finite k: two moments.  k = ∞: one for bounded costs; for growing ones three, and two for the load."""
    queue = Queue(Lomax(shape, 1.0), 1e-3, 2.0, 0.5, gamma, memory)
    solution = solve(queue, MLPT(quantum=0.5, levels=levels))
    assert (solution.effective_load < math.inf, solution.mean_response_time < math.inf) == (
        load_is_finite,
        mean_is_finite,
    )
    assert solution.stable is load_is_finite
    assert mean_is_finite == (shape > moments_needed(queue, levels))


def test_infinitely_many_levels_tame_an_infinite_variance():
    """With Lomax sizes of shape 1.5, k = 2, 10, 100, … is infinite and k = ∞ is not."""
    queue = Queue(Lomax(1.5, 1.0), 0.2)
    assert mean_response_time(queue, FCFS()) == math.inf
    assert mean_response_time(queue, MLPT(quantum=1.0, levels=1000)) == math.inf
    assert mean_response_time(queue, MLPT(quantum=1.0, levels=math.inf)) < 10


# --- shapes and tables


@pytest.mark.parametrize("levels", [2, 5, math.inf])
def test_arrays_of_quanta(levels):
    """One answer per quantum, the same as one by one, in the shape of the array."""
    queue = Queue(LogNormal(0.25, 0.9), 0.3, 3.0, 0.5, 0.1)
    quanta = np.array([[0.5, 2.0, 0.1], [30.0, 0.7, 1e9]])
    together = solve(queue, MLPT(quantum=quanta, levels=levels))
    for index in np.ndindex(quanta.shape):
        alone = solve(queue, MLPT(quantum=quanta[index], levels=levels))
        assert together.mean_response_time[index] == pytest.approx(alone.mean_response_time, rel=1e-13)
        assert together.effective_load[index] == pytest.approx(alone.effective_load, rel=1e-13)
        assert together.stable[index] == alone.stable
        assert isinstance(alone.mean_response_time, float)
        assert isinstance(alone.stable, bool)
    assert np.array_equal(mean_response_time(queue, MLPT(quantum=quanta, levels=levels)), together.mean_response_time)


@pytest.mark.parametrize("levels", [1, 2, 6, math.inf])
@pytest.mark.parametrize("size", SIZES, ids=repr)
def test_table_by_level(size, levels):
    """p_j, d_j and E[T | J = j] of the printed formulas; Σ p_j E[T | J = j] = E[T]."""
    queue = Queue(size, 0.4 / size.mean, 3.0, 0.5, 0.05, AffineMemory(0.2, 0.5))
    quantum = 1.9 * size.mean
    table = level_table(queue, MLPT(quantum=quantum, levels=levels))
    literal = reference.ReferenceQueue(
        reference.moment_of(size), queue.arrival_rate, reference.affine(0.2, 0.5), 3.0, 0.5, 0.05
    )
    assert (np.diff(table.level) > 0).all()
    assert (table.probability > 0).all()
    assert table.mean_response_time == mean_response_time(queue, MLPT(quantum=quantum, levels=levels))
    assert table.probability.sum() == pytest.approx(1.0, rel=1e-12)
    assert (table.probability * table.response_time).sum() == pytest.approx(table.mean_response_time, rel=1e-11)
    if levels == math.inf and isinstance(size, (Lomax, LogNormal, Weibull, Gamma)):
        return  # thousands of levels at 50 digits
    with reference.digits():
        exact = reference.theorem(literal, reference.equal_boundaries(literal, quantum, levels))
        for row, level in enumerate(table.level.tolist()):
            if table.probability[row] < 1e-12:
                continue
            assert abs(table.probability[row] / exact.p[level - 1] - 1) < 1e-11
            assert abs(table.waiting_time[row] / exact.d[level - 1] - 1) < 1e-11
            assert abs(table.response_time[row] / exact.response[level - 1] - 1) < 1e-11


@pytest.mark.parametrize("gamma", [0.0, 1e-4])
@pytest.mark.parametrize(("shape", "quantum"), [(2.6, 1e-3), (4.5, 1e-4)])
def test_the_last_row_holds_all_further_levels(shape, quantum, gamma):
    """Σ p_j E[T | J = j] = E[T] where levels do not end; in the tail of a power law E[T | J = j] grows as j or j²."""
    queue = Queue(Lomax(shape, 1.0), 0.5 / Lomax(shape, 1.0).mean, preemption_cost=gamma)
    if gamma > 0:
        queue = Queue(queue.size, queue.arrival_rate, preemption_cost=gamma, memory=SaturatingMemory(1.0, 1.0))
    table = level_table(queue, MLPT(quantum=quantum, levels=math.inf))
    assert table.last_is_open
    assert table.probability[-1] == pytest.approx(float(queue.size.tail(quantum * 2**20)), rel=1e-12)
    assert table.probability[-1] > 1e-12
    assert table.probability.sum() == pytest.approx(1.0, rel=1e-12)
    assert (table.probability * table.response_time).sum() == pytest.approx(table.mean_response_time, rel=1e-12)
    # E[S | S > x] / x = shape/(shape − 1), and here waiting grows in proportion to x
    for column in (table.waiting_time, table.response_time):
        assert column[-1] / column[-2] == pytest.approx(shape / (shape - 1), rel=3e-3)


def test_a_shortened_table_sums_to_the_same():
    """Rows taken together have the mean over the jobs in them."""
    queue = Queue(Exponential(1.0), 0.5, preemption_cost=0.1)
    table = level_table(queue, MLPT(quantum=0.5, levels=9))
    short = table.shortened(4)
    assert (short.level.tolist(), short.last_is_open) == ([1, 2, 3, 4], True)
    assert short.probability[-1] == pytest.approx(math.exp(-1.5), rel=1e-13)
    for name in ("waiting_time", "response_time"):
        whole, parts = (getattr(each, name) for each in (table, short))
        assert parts[:3].tolist() == whole[:3].tolist()
        assert parts[-1] == pytest.approx(np.average(whole[3:], weights=table.probability[3:]), rel=1e-13)
    assert table.shortened(9) is table


def test_levels_where_nobody_completes_are_left_out():
    table = level_table(Queue(Empirical([1.0, 5.5]), 0.1), MLPT(quantum=1.0, levels=math.inf))
    assert table.level.tolist() == [1, 6]
    table = level_table(Queue(Deterministic(4.0), 0.1), MLPT(quanta=[1.0, 1.0, 1.0, 1.0, 1.0]))
    assert table.level.tolist() == [4]  # a job that needs exactly 4 completes at the end of level 4
    assert level_table(Queue(Exponential(1.0), 0.5), FCFS()).waiting_time.tolist() == [1.0]


# --- how E[T] depends on its arguments

MODERATE = st.floats(0.05, 20.0)


@given(
    size=st.sampled_from(SIZES),
    load=st.floats(0.05, 0.95),
    quantum=MODERATE,
    levels=st.sampled_from([1, 2, 5, math.inf]),
    exponent=st.integers(-12, 12),
)
def test_the_unit_of_time_does_not_matter(size, load, quantum, levels, exponent):
    """Sizes, quanta and ℓ_C in another unit, λ in its inverse: E[T] in that unit."""
    unit = 2.0**exponent
    scaled = {
        Exponential: lambda: Exponential(0.5 / unit),
        LogNormal: lambda: LogNormal(0.25 + math.log(unit), 0.9),
        Weibull: lambda: Weibull(0.6, 2.0 * unit),
        Gamma: lambda: Gamma(0.4, 5.0 * unit),
        Erlang: lambda: Erlang(4, 2.0 / unit),
        HyperExponential: lambda: HyperExponential([0.875, 0.125], [2.0 / unit, 0.1 / unit]),
        Lomax: lambda: Lomax(4.5, 7.0 * unit),
        Uniform: lambda: Uniform(0.5 * unit, 6.0 * unit),
        Deterministic: lambda: Deterministic(2.1 * unit),
        Empirical: lambda: Empirical(np.array(size.parameters) * unit),
    }[type(size)]()
    rate = load / (size.mean * 2)
    here = Queue(size, rate, 3.0, 0.5, 0.02)
    there = Queue(scaled, rate / unit, 3.0 * unit, 0.5, 0.02)
    first = mean_response_time(here, MLPT(quantum=quantum, levels=levels))
    second = mean_response_time(there, MLPT(quantum=quantum * unit, levels=levels))
    load = solve(here, MLPT(quantum=quantum, levels=levels)).effective_load
    if load < 1 - 1e-6:
        assert second / unit == pytest.approx(first, rel=1e-11 / (1 - load))


@given(
    size=st.sampled_from(SIZES),
    rates=st.tuples(st.floats(1e-4, 0.3), st.floats(1e-4, 0.3)),
    costs=st.tuples(st.floats(0, 0.2), st.floats(0, 0.2)),
    quantum=MODERATE,
    levels=st.sampled_from([1, 2, 5, math.inf]),
)
def test_more_arrivals_and_higher_costs_take_longer(size, rates, costs, quantum, levels):
    policy = MLPT(quantum=quantum, levels=levels)
    slow, fast = (
        Queue(size, rate, preemption_cost=cost) for rate, cost in zip(sorted(rates), sorted(costs), strict=True)
    )
    assert mean_response_time(slow, policy) <= mean_response_time(fast, policy) * (1 + 1e-12)
    assert mean_response_time(slow, policy) >= slow.mean_service_time * (1 - 1e-12)


# --- every kind of input


@pytest.mark.parametrize(
    ("queue", "policy", "message"),
    [
        ("queue", FCFS(), "queue = 'queue' .* a Queue"),
        (Queue(Exponential(1.0), 0.5), "fcfs", "policy = 'fcfs' .* FCFS or MLPT"),
        (Queue(Exponential(1.0), 0.5), FCFS, "policy = "),
        (Queue(Exponential(1.0), 0.5), MLPT(quantum=1.0, levels=4, lazy=True), "lazy = True .* only be simulated"),
        (
            Queue(Exponential(1.0), 0.5),
            MLPT(quantum=1.0, levels=10**9),
            f"levels = 1000000000 .* at most {LEVEL_LIMIT}",
        ),
        (Queue(Uniform(0, 1), 0.5), MLPT(quantum=1e-9, levels=math.inf), "quantum = 1e-09 .* at least 2.38e-07 here"),
        (Queue(Lomax(1.04, 1.0), 1e-3), MLPT(quantum=1.0, levels=math.inf), "size = .* a finite moment of order 1.05"),
        (Queue(Exponential(1.0), 0.5, 1.0, 0.5), MLPT(quantum=1e-12, levels=math.inf), "quantum = 1e-12 .* at least"),
        (
            Queue(Uniform(0, 1), 0.5),
            MLPT(quantum=np.full(2000, 1e-6), levels=math.inf),
            r"quantum = .* fewer or larger numbers: 2e\+09 levels in all",
        ),
    ],
)
def test_refusals(queue, policy, message):
    with pytest.raises(ParameterError, match=message):
        solve(queue, policy)


@pytest.mark.parametrize(
    ("queue", "policy", "message"),
    [
        (Queue(Exponential(1.0), 2.0), FCFS(), r"policy = .* a finite mean \(effective load 2 here\)"),
        (Queue(Lomax(1.5, 1.0), 0.1), MLPT(quantum=1.0, levels=2), r"policy = .* a finite mean"),
        (Queue(Exponential(1.0), 0.5), MLPT(quantum=[1.0, 2.0], levels=2), "quantum = .* a single number"),
    ],
)
def test_tables_that_are_refused(queue, policy, message):
    with pytest.raises(ParameterError, match=message):
        level_table(queue, policy)


def wide(low=-30.0, high=30.0):
    """Magnitudes over many powers of ten, and everyday ones."""
    return st.one_of(st.floats(low, high).map(lambda exponent: 10.0**exponent), st.floats(0.01, 100.0))


WIDE_SIZES = st.one_of(
    st.builds(Exponential, wide()),
    st.builds(LogNormal, st.floats(-69, 69), st.one_of(st.floats(1e-6, 10), st.floats(0.2, 3))),
    st.builds(Weibull, st.one_of(st.floats(0.05, 1e6), st.floats(0.3, 4)), wide()),
    st.builds(Gamma, st.one_of(st.floats(1e-3, 1e6), st.floats(0.3, 4)), wide()),
    st.builds(Erlang, st.integers(1, 10**6), wide()),
    st.builds(lambda first, second: HyperExponential([0.25, 0.75], [first, second]), wide(), wide()),
    st.builds(Lomax, st.one_of(st.floats(0.01, 1e3), st.floats(1.05, 5)), wide()),
    st.builds(lambda low, ratio: Uniform(low, low * (1 + ratio)), wide(-30, 20), wide(-6, 9)),
    st.builds(Deterministic, wide()),
    st.builds(Empirical, st.lists(wide(), min_size=1, max_size=4)),
)
WIDE_MEMORIES = st.one_of(
    st.builds(LinearMemory, wide()),
    st.builds(AffineMemory, wide(), wide()),
    st.builds(SaturatingMemory, wide(), wide(), wide()),
)
WIDE_POLICIES = st.one_of(
    st.just(FCFS()),
    st.builds(lambda q, k: MLPT(quantum=q, levels=k), wide(-300, 300), st.sampled_from([1, 2, 3, 50, 1000, math.inf])),
    st.builds(
        lambda q, k: MLPT(quantum=q, levels=k), st.lists(wide(), min_size=1, max_size=3), st.sampled_from([2, math.inf])
    ),
    st.builds(lambda quanta: MLPT(quanta=quanta), st.lists(wide(-300, 300), min_size=1, max_size=4)),
)


@settings(max_examples=250, deadline=60_000)  # a minute for one example is a hang
@given(
    size=WIDE_SIZES,
    load=wide(-290, 270),
    threshold=st.one_of(st.none(), st.just(0.0), wide(-300, 300)),
    factor=st.one_of(st.just(1.0), st.floats(1e-30, 1)),
    cost=st.one_of(st.just(0.0), wide()),
    memory=WIDE_MEMORIES,
    policy=WIDE_POLICIES,
)
def test_any_queue_and_policy_gets_a_number_or_one_clear_line(size, load, threshold, factor, cost, memory, policy):
    """No NaN, warning, negative number or hang, over 60 powers of ten for sizes and 600 for loads and quanta."""
    scale = size.mean if size.moment_limit > 1 else 1.0
    rate = min(max(load / scale, 1e-300), 1e300)
    queue = Queue(size, rate, threshold, factor, cost, memory)
    try:
        solution = solve(queue, policy)
    except ParameterError as error:
        assert str(error).startswith(("quantum", "queue", "size", "arrival_rate"))
        return
    times, loads = (np.asarray(values) for values in (solution.mean_response_time, solution.effective_load))
    assert not np.isnan(times).any()
    assert not np.isnan(loads).any()
    assert (loads > 0).all()
    assert np.array_equal(np.asarray(solution.stable), loads < 1)
    assert (np.isfinite(times) <= (loads < 1)).all()
    assert (times >= queue.mean_service_time * (1 - 1e-9)).all()


def test_load_of_an_unstable_queue_with_infinitely_many_levels_is_summed_to_its_end() -> None:
    """Eq. (11), ρ^eff = λ (E[S] + Σ c(rθ) P(S > rθ)), where the levels beyond the first ones still count."""
    size = LogNormal(5, 0.9)
    queue = Queue(size, 0.0036, 6 * size.mean, slowdown_factor=0.39, preemption_cost=0.1)
    quanta = np.array([20.0, 60.0, 150.0])
    loads = solve(queue, MLPT(quantum=quanta, levels=math.inf)).effective_load
    for quantum, load in zip(quanta, loads, strict=True):
        ages = quantum * np.arange(1, 100_000)
        paid = math.fsum(0.1 * ages * size.tail(queue.size_at(ages)))
        assert load > 1
        assert load == pytest.approx(0.0036 * (queue.mean_service_time + paid), rel=1e-13)
