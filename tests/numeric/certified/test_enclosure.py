"""E[T] in ball arithmetic: against 50 digits at points and on intervals, and its bounds against values near their ends."""

import math
from collections.abc import Iterator
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import reference

import mlptsym as mq
from mlptsym.numeric.certified import enclosure
from mlptsym.numeric.certified.enclosure import (
    ORDER,
    Enclosure,
    StraddlingError,
    UnstableError,
    constant,
    working_precision,
)
from mlptsym.numeric.certified.intervals import UndecidedError, exact
from mlptsym.numeric.levels.foreground import foreground_background_time
from mlptsym.numeric.mean.gradient import quantum_slopes
from mlptsym.numeric.optimal.optimum import _least_of_small_quanta

INF = math.inf
SLOW = {"slowdown_factor": 0.5, "preemption_cost": 0.1}
QUEUES = {
    "exponential": mq.Queue(mq.Exponential(1.0), 0.6, 2.0, **SLOW),
    "no slowdown": mq.Queue(mq.Exponential(1.0), 0.6, preemption_cost=0.1),
    "lognormal": mq.Queue(mq.LogNormal(0.2, 0.9), 0.3, 4.0, **SLOW),
    "weibull": mq.Queue(mq.Weibull(0.7, 1.0), 0.4, 3.0, **SLOW),
    "gamma": mq.Queue(mq.Gamma(0.5, 2.0), 0.5, 3.0, **SLOW),
    "erlang": mq.Queue(mq.Erlang(3, 2.0), 0.4, 1.0, **SLOW),
    "hyperexponential": mq.Queue(mq.HyperExponential([0.875, 0.125], [1.0, 0.1]), 0.3, 8.0, **SLOW),
    "lomax": mq.Queue(mq.Lomax(3.5, 2.0), 0.7, 5.0, **SLOW),
    "uniform": mq.Queue(mq.Uniform(0.5, 4.0), 0.25, 3.0, **SLOW),
    "deterministic": mq.Queue(mq.Deterministic(2.0), 0.2, 1.0, **SLOW),
    "empirical": mq.Queue(mq.Empirical([0.4, 1.7, 1.7, 2.9, 11.3]), 0.1, 2.0, **SLOW),
    "window": mq.Queue(
        mq.Gamma(0.5, 2.0), 0.6, 6.0, 0.7, preemption_cost=0.05, memory=mq.SaturatingMemory(1.0, 1.5, 0.25)
    ),
}


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with working_precision(), reference.digits():
        yield


def in_digits(queue: mq.Queue) -> reference.ReferenceQueue:
    """The same queue for the 50-digit formulas."""
    memory = queue.memory
    if isinstance(memory, mq.SaturatingMemory):
        growth = reference.saturating(memory.slope, memory.window, memory.base)
    else:
        growth = reference.affine(getattr(memory, "base", 0.0), memory.slope)
    law = reference.moment_of(queue.size)
    return reference.ReferenceQueue(
        law, queue.arrival_rate, growth, queue.slowdown_threshold, queue.slowdown_factor, queue.preemption_cost
    )


def expected(queue: mq.Queue, quantum: Any, levels: float) -> Any:
    """E[T] with 50 digits, as a ball."""
    exact_queue = in_digits(queue)
    # what is left out of infinitely many levels is below 1e-24
    boundaries = reference.equal_boundaries(exact_queue, quantum, levels, negligible=1e-26)
    return ball(reference.theorem(exact_queue, boundaries).mean_response_time)


def ball(number: Any) -> Any:
    from flint import arb

    return arb(mp.nstr(number, 50))


def near(value: Any, other: Any, relative: float = 1e-28) -> bool:
    """Whether two balls are proved to be this near to each other."""
    return bool(abs(value - other) <= abs(other) * relative)


def at_point(model: Enclosure, quantum: float, rows: int, *, closed: bool) -> tuple[Any, enclosure.Sums]:
    theta, corners = model.interval(exact(quantum), exact(quantum))
    return theta, model.sums(theta, corners, rows, closed=closed)


# at a point


@pytest.mark.parametrize("levels", [2, 4])
@pytest.mark.parametrize("name", QUEUES)
def test_a_point_is_enclosed_to_28_digits(name: str, levels: int) -> None:
    """Finitely many levels, with the same from `least_response`, which knows lower bounds only; and FCFS."""
    queue = QUEUES[name]
    model = Enclosure(queue, levels)
    for quantum in (0.7, 1.7, 3.25):
        _, sums = at_point(model, quantum, levels - 1, closed=True)
        value = expected(queue, quantum, levels)
        assert near(constant(model.response(sums)), value)
        assert near(model.least_response(sums), value)
    assert near(model.fcfs(), ball(reference.theorem(in_digits(queue), []).mean_response_time))
    for order in range(4 if name != "lomax" else 3):
        assert near(model.totals[order], ball(in_digits(queue).moment(order, mp.mpf(0))))


@pytest.mark.parametrize(
    ("law", "memory"),
    [
        (mq.Exponential(1.0), mq.LinearMemory(2.0)),
        (mq.Erlang(3, 2.0), mq.AffineMemory(0.5, 0.5)),
        (mq.Exponential(1.0), mq.SaturatingMemory(1.0, 0.75, 0.25)),
    ],
)
def test_what_is_left_out_of_infinitely_many_levels(law: Any, memory: Any) -> None:
    """Between its bounds at any level, and these are near it where many levels of a short quantum are summed."""
    queue = mq.Queue(law, 0.4, 1.5, 0.8, preemption_cost=0.02, memory=memory)
    model = Enclosure(queue, INF)
    for quantum, rows, sharp in ((1.0, 3, None), (1.0, 8, None), (0.125, int(12 * law.mean / 0.125), 0.25)):
        theta, sums = at_point(model, quantum, rows, closed=False)
        assert not sums.complete
        missing = expected(queue, quantum, INF) - constant(model.response(sums))
        least, most = (constant(model.left_out(sums, theta, bound)) for bound in ("least", "most"))
        assert least < missing < most
        work = model.rate * constant(model.left_out(sums, theta, "most_work"))
        boundaries = reference.equal_boundaries(in_digits(queue), quantum, INF, negligible=1e-26)
        load = ball(reference.theorem(in_digits(queue), boundaries).effective_load)
        assert load < work
        assert model.rate * constant(sums.work[-1]) < load
        if sharp is not None:
            assert most < missing * (1 + sharp) and least > missing * (1 - sharp)
            assert work - load < sharp * (load - model.rate * constant(sums.work[-1]))


def test_a_law_that_ends_is_complete_where_it_ends() -> None:
    model = Enclosure(QUEUES["deterministic"], INF)
    _, sums = at_point(model, 1.0, 50, closed=False)
    assert sums.complete
    assert len(sums.probability) == 3  # q(2) = 1 + 1/0.5
    assert near(constant(model.response(sums)), expected(QUEUES["deterministic"], 1.0, 4))


# on an interval


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("name", QUEUES)
def test_an_interval_is_enclosed(name: str, levels: int) -> None:
    """Values and slopes at the ends and inside, by bounds of a percent for an interval of half a percent."""
    queue = QUEUES[name]
    model = Enclosure(queue, levels)
    low, high = 2.05, 2.06
    half = (exact(low) + exact(high)) / 2
    middle = model.sums(*model.interval(half, half), levels - 1, closed=True)
    theta, corners = model.interval(exact(low), exact(high))
    sums = model.sums(theta, corners, levels - 1, closed=True, middle=middle)
    whole = model.response(sums, middle)
    centre = model.response(middle)
    inside = [low, 2.0525, 2.055, 2.0575, high]
    values = [expected(queue, quantum, levels) for quantum in inside]
    slopes = quantum_slopes(queue, np.array(inside), levels).slope
    for quantum, value, slope in zip(inside, values, slopes, strict=True):
        assert whole[0].contains(value)
        step = exact(quantum) - half
        series = sum((centre[i] * step**i for i in range(1, ORDER)), centre[0])
        assert near(series, value, 1e-18)
        assert abs(slope - float(whole[1].mid())) <= float(whole[1].rad()) + 1e-10 * abs(slope)
    assert whole[0].rad() <= max(1.5 * (max(values) - min(values)), 0.01 * values[0])
    for order in range(ORDER + 1):
        assert whole[order].contains(centre[order])
    least = model.least_response(sums)
    assert all(least <= value for value in values)
    assert float(values[0] - least) < 0.05 * float(values[0])


def test_an_interval_around_a_break_is_not_decided() -> None:
    for name, low, high in (("exponential", 1.99, 2.01), ("empirical", 1.69, 1.71), ("window", 1.49, 1.51)):
        model = Enclosure(QUEUES[name], 3)
        with pytest.raises(UndecidedError):
            model.sums(*model.interval(exact(low), exact(high)), 2, closed=True)


def test_breaks_are_exact_and_in_order() -> None:
    """ℓ_C and what lies beyond it in units of service, the window if preemption costs, ends of a density, masses."""
    half = exact(0.5)
    slowed = [exact(0.4), exact(1.7), exact(2.0), 2 + (exact(2.9) - 2) / half, 2 + (exact(11.3) - 2) / half]
    assert Enclosure(QUEUES["empirical"], 2).breaks == slowed
    assert Enclosure(QUEUES["uniform"], 2).breaks == [half, exact(3.0), exact(5.0)]
    assert Enclosure(QUEUES["window"], 2).breaks == [exact(1.5), exact(6.0)]
    assert Enclosure(QUEUES["no slowdown"], 2).breaks == []
    free = mq.Queue(mq.Gamma(0.5, 2.0), 0.6, 6.0, 0.7, memory=mq.SaturatingMemory(1.0, 1.5))
    assert Enclosure(free, 2).breaks == [exact(6.0)]


def test_both_sides_of_the_edge_of_stability_are_told_apart() -> None:
    queue = mq.Queue(mq.Exponential(1.0), 0.6, preemption_cost=1.0)
    model = Enclosure(queue, 3)

    def response(low: float, high: float) -> Any:
        return model.response(model.sums(*model.interval(exact(low), exact(high)), 2, closed=True))

    # E[S^eff] = 1 + γ(θe^{−θ} + 2θe^{−2θ}), which falls where it is 1/λ
    edge = float(mp.findroot(lambda t: 0.6 * (1 + t * mp.exp(-t) + 2 * t * mp.exp(-2 * t)) - 1, 0.7))
    with pytest.raises(UnstableError):
        response(0.98 * edge, 0.9801 * edge)
    with pytest.raises(StraddlingError):
        response(0.9999 * edge, 1.0001 * edge)
    sums = model.sums(*model.interval(exact(0.9999 * edge), exact(1.0001 * edge)), 2, closed=True)
    least, value = model.least_response(sums), expected(queue, 1.0001 * edge, 3)
    assert 10 < least < value
    assert near(constant(response(1.0001 * edge, 1.0001 * edge)), value, 1e-24)


# without the levels one by one


@pytest.mark.parametrize("name", QUEUES)
def test_bound_for_large_quanta(name: str) -> None:
    """E[S] + λE[min(S, θ)²]/(2(1 − λE[min(S, θ)])): a lower bound from θ on, that comes to FCFS."""
    queue, levels = QUEUES[name], 3
    model, exact_queue = Enclosure(queue, levels), in_digits(QUEUES[name])
    for quantum in (0.3, 2.0, 7.0, 20.0):
        whole, beyond = ([exact_queue.moment(n, mp.mpf(t)) for n in range(3)] for t in (0, quantum))
        served = whole[1] - beyond[1] + mp.mpf(quantum) * beyond[0]
        square = whole[2] - beyond[2] + mp.mpf(quantum) ** 2 * beyond[0]
        rate = mp.mpf(queue.arrival_rate)
        bound = model.from_above(exact(quantum))
        assert near(bound, ball(whole[1] + rate * square / 2 / (1 - rate * served)))
        later = mq.mean_response_time(queue, mq.MLPT(quantum=quantum * np.geomspace(1, 50, 30), levels=levels))
        assert float(bound) <= later.min() * (1 + 1e-12)
    assert near(model.from_above(exact(1e4)), model.fcfs(), 1e-2 if name == "lomax" else 1e-12)


@pytest.mark.parametrize("levels", [2, 5])
@pytest.mark.parametrize("name", QUEUES)
def test_bound_for_small_quanta_of_few_levels(name: str, levels: int) -> None:
    """E[S] + P(S > (k − 1)θ)(E[T of FCFS] − E[S]): a lower bound up to θ, that comes to FCFS."""
    queue = QUEUES[name]
    model, exact_queue = Enclosure(queue, levels), in_digits(QUEUES[name])
    fcfs = reference.theorem(exact_queue, []).mean_response_time
    first = exact_queue.moment(1, mp.mpf(0))
    for quantum in (1e-3, 0.3, 1.1):
        bound = model.from_below(exact(quantum))
        last = (levels - 1) * mp.mpf(quantum)
        assert near(bound, ball(first + exact_queue.moment(0, last) * (fcfs - first)))
        smaller = mq.mean_response_time(queue, mq.MLPT(quantum=quantum * np.geomspace(1e-3, 1, 30), levels=levels))
        assert float(bound) <= smaller.min() * (1 + 1e-12)


@pytest.mark.parametrize(
    ("law", "memory", "shares"),
    [
        (mq.Exponential(1.0), mq.LinearMemory(), (0.860, 0.864)),
        (mq.Exponential(1.0), mq.SaturatingMemory(1.0, 0.75, 0.25), (0.890, 0.879)),
        (mq.Uniform(0.5, 2.5), mq.LinearMemory(), (0.719, 0.761)),
        (mq.Empirical([0.4, 0.7, 1.7, 2.9]), mq.LinearMemory(), (0.626, 0.802)),
    ],
)
def test_bound_for_small_quanta_of_infinitely_many_levels(law: Any, memory: Any, shares: tuple[float, float]) -> None:
    """A lower bound up to θ, these parts of E[T] at θ itself, and the same as the search's on another grid of ages."""
    queue = mq.Queue(law, 0.4, 1.5, 0.8, preemption_cost=0.02, memory=memory)
    model = Enclosure(queue, INF)
    in_search = _least_of_small_quanta(queue)
    for quantum, share in zip((0.1, 0.3), shares, strict=True):
        bound = float(model.from_small(exact(quantum)))
        smaller = mq.mean_response_time(queue, mq.MLPT(quantum=quantum * np.geomspace(0.1, 1, 12), levels=INF))
        assert share * smaller[-1] <= bound <= smaller.min()
        assert in_search(quantum) <= smaller.min()
        assert in_search(quantum) == pytest.approx(bound, rel=0.02 if law.smooth else 0.07)
    assert model.from_small(exact(1e-4)) is None
    assert in_search(1e-4) == INF


@pytest.mark.parametrize(
    ("law", "share"),
    [(mq.Exponential(1.0), 0.959), (mq.LogNormal(0.0, 1.0), 0.965), (mq.Empirical([0.5, 0.5, 2.0, 6.0]), 0.91)],
)
def test_bound_for_small_quanta_without_cost(law: Any, share: float) -> None:
    """It comes near the limit for θ → 0, foreground–background."""
    queue = mq.Queue(law, 0.6 / law.mean)
    limit = foreground_background_time(queue)
    bound = float(Enclosure(queue, INF).from_small(exact(law.mean * 1e-6)))
    assert share * limit < bound < limit
    assert _least_of_small_quanta(queue)(law.mean * 1e-6) == pytest.approx(bound, rel=0.02 if law.smooth else 0.07)
