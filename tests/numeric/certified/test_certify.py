"""The certified optimum: proved bounds that hold the best quantum's mean, and what is left open where none are proved."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mlptsym as mq
from mlptsym.numeric.certified import branch_and_bound as certify
from mlptsym.numeric.certified.branch_and_bound import Certificate, certified_minimum
from mlptsym.numeric.certified.enclosure import ORDER, Enclosure, working_precision
from mlptsym.numeric.certified.intervals import exact
from mlptsym.numeric.optimal.optimum import Optimum

SLOW = {"slowdown_factor": 0.5, "preemption_cost": 0.1}
QUEUES = {
    "lognormal": mq.Queue(mq.LogNormal(5.0, 0.9), 0.0036, 1335.1, slowdown_factor=0.39, preemption_cost=0.1),
    "exponential": mq.Queue(mq.Exponential(1.0), 0.6, 2.0, **SLOW),
    "gamma": mq.Queue(mq.Gamma(0.5, 2.0), 0.5, 3.0, **SLOW),
    "hyperexponential": mq.Queue(mq.HyperExponential([0.9, 0.1], [1.0, 0.1]), 0.3, 8.0, **SLOW),
    "uniform": mq.Queue(mq.Uniform(0.0, 4.0), 0.3, 3.0, **SLOW),
    "deterministic": mq.Queue(mq.Deterministic(2.0), 0.3, 1.0, **SLOW),
    "window": mq.Queue(mq.Gamma(0.5, 2.0), 0.6, 6.0, 0.7, preemption_cost=0.05, memory=mq.SaturatingMemory(1.0, 3.0)),
    "empirical": mq.Queue(
        mq.Empirical(np.round(np.random.default_rng(4).lognormal(0, 1, 12), 2)), 0.4, 2.0, 0.8, preemption_cost=0.05
    ),
}
INF = math.inf


def mean(queue: mq.Queue, quantum: Any, levels: float) -> Any:
    return mq.mean_response_time(queue, mq.MLPT(quantum=quantum, levels=levels))


def holds_tightly(best: Certificate | Optimum, value: float) -> bool:
    """Nothing open, and bounds within 1e-6 of each other around the value."""
    assert best.lower is not None and best.upper is not None
    return (
        best.open_quanta == ()
        and best.lower <= value <= best.upper * (1 + 1e-12)
        and value * (1 - 1.001e-6) < best.lower
        and best.upper < value * (1 + 1e-8)
    )


def is_open(certificate: Certificate, quanta: np.ndarray) -> np.ndarray:
    return np.any([(low <= quanta) & (quanta <= high) for low, high in certificate.open_quanta], axis=0)


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("threshold", [3.0, 6.0, 8.0])
def test_bounds_hold_the_minimum(levels: int, threshold: float) -> None:
    """At the paper's parameters: lower ≤ E[T(θ*)] ≤ upper within 1e-6, with nothing left open."""
    law = mq.LogNormal(5.0, 0.9)
    queue = mq.Queue(law, 0.0036, threshold * law.mean, slowdown_factor=0.39, preemption_cost=0.1)
    best = mq.optimal_quantum(queue, levels, certify=True)
    assert holds_tightly(best, best.mean_response_time)


@pytest.mark.parametrize("name", QUEUES)
def test_infinitely_many_levels(name: str) -> None:
    """k = ∞, smooth and at a kink, or FCFS: the same, with what is left out of the sums bounded."""
    best = mq.optimal_quantum(QUEUES[name], INF, certify=True)
    assert holds_tightly(best, best.mean_response_time)


# soundness: what is not so is not proved


@pytest.mark.parametrize(
    ("name", "levels", "factor"),
    [
        ("lognormal", 2, 0.97),
        ("gamma", 3, 1.2),
        ("hyperexponential", 2, 0.8),
        ("exponential", INF, 0.95),
        ("window", 3, 1.3),
        ("empirical", 2, 1.05),
        ("empirical", INF, 0.9),
    ],
)
def test_a_worse_quantum_leaves_the_better_ones_open(name: str, levels: float, factor: float) -> None:
    """All quanta with less than E[T] at the one that is given; those with two percent more are proved."""
    queue = QUEUES[name]
    best = mq.optimal_quantum(queue, levels)
    worse = min(best.quantum, 10 * queue.mean_service_time) * factor
    found = certified_minimum(queue, levels, worse)
    upper = min(mean(queue, worse, levels), best.fcfs)
    assert best.mean_response_time * (1 + 1e-5) < upper == pytest.approx(found.upper, rel=1e-8)
    assert found.lower == pytest.approx(queue.mean_service_time, rel=1e-14)
    quanta = np.append(queue.mean_service_time * np.geomspace(0.05, 100, 1500), best.quantum)
    times = mean(queue, quanta, levels)
    opened = is_open(found, quanta)
    assert opened[times < upper * (1 - 1e-6)].all()
    assert opened[-1]
    assert not opened[times > 1.02 * upper].any()


def test_first_come_where_it_is_not_best() -> None:
    queue = QUEUES["empirical"]
    best = mq.optimal_quantum(queue, 2)
    found = certified_minimum(queue, 2, INF)
    assert found.upper == pytest.approx(best.fcfs, rel=1e-14)
    quanta = queue.mean_service_time * np.geomspace(0.05, 500, 500)
    assert is_open(found, quanta)[mean(queue, quanta, 2) < best.fcfs * (1 - 1e-6)].all()
    assert is_open(found, np.array([best.quantum])).all()


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        *((name, levels) for name in QUEUES for levels in (2, 3)),
        *((name, INF) for name in ("exponential", "gamma", "empirical")),
    ],
)
def test_an_interval_is_done_only_if_all_of_it_is_above(name: str, levels: float) -> None:
    """Against a target just above E[T] somewhere in the interval, and one that is a little below all of it."""
    queue = QUEUES[name]
    best = mq.optimal_quantum(queue, levels)
    places = queue.mean_service_time * np.array([0.9, 2.3])
    with working_precision():
        model = Enclosure(queue, levels)
        end = model.service_time(exact(min(queue.size.upper_end, 1e300)))
        for place in [*places, *([best.quantum] if best.kind == "smooth" else [])]:
            for width, margin in ((1e-7, 2e-6), (1e-3, 2e-6 if levels < INF else 1e-3)):
                low, high = exact(place), exact(place * (1 + width))
                if high >= end or any(low < age / n < high for age in model.breaks for n in range(1, 200)):
                    continue
                times = mean(queue, place * (1 + width * np.linspace(0, 1 - 1e-6, 32)), levels)
                assert np.isfinite(times).all()
                for time in {times[0], times[-1], times.min()}:
                    assert "done" not in outcomes(model, low, high, exact(time * (1 + 1e-9)))
                assert outcomes(model, low, high, exact(times.min() * (1 - margin)))[-1] == "done"


def outcomes(model: Enclosure, low: Any, high: Any, target: Any) -> list[str]:
    """What is said of an interval at each stage until it is not sent to a deeper one."""
    proof = certify._Proof(model, 1.0)
    found = []
    for stage in range(len(certify.DEPTHS)):
        found.append(proof._bounded(low, high, stage, target))
        if found[-1] != "deeper":
            break
    return found


@pytest.mark.parametrize("work", [0, 24])
def test_what_is_left_when_the_work_is_over_is_open(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest quanta come first: what is open begins where small quanta are bounded at once."""
    queue = QUEUES["gamma"]
    best = mq.optimal_quantum(queue, 3)
    monkeypatch.setattr(certify, "WORK", work)
    found = certified_minimum(queue, 3, best.quantum)
    assert found.lower == pytest.approx(queue.mean_service_time, rel=1e-14)
    assert found.upper == pytest.approx(best.mean_response_time, rel=1e-12)
    ((low, high),) = found.open_quanta
    assert low < queue.mean_service_time / 8
    assert (high > 8 * queue.mean_service_time) == (work == 0)
    assert high > best.quantum
    outside = np.append(low * np.array([0.1, 0.5, 0.999]), high * np.array([1.001, 2, 5, 100]))
    assert (mean(queue, outside, 3) > best.mean_response_time).all()


def test_hundreds_of_different_sizes_are_proved() -> None:
    sizes = np.round(np.random.default_rng(1).lognormal(5, 0.9, 600), 3)
    assert len(np.unique(sizes)) == 600
    queue = mq.Queue(mq.Empirical(sizes), 0.0036, 6 * sizes.mean(), slowdown_factor=0.39, preemption_cost=0.1)
    best = mq.optimal_quantum(queue, 2, certify=True)
    assert best.kind == "kink"
    assert holds_tightly(best, best.mean_response_time)


def test_of_too_many_intervals_the_smallest_quanta_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = QUEUES["empirical"]
    monkeypatch.setattr(certify, "MOST_PIECES", 5)
    best = mq.optimal_quantum(queue, 4, certify=True)
    assert best.lower == pytest.approx(queue.mean_service_time, rel=1e-14)
    assert best.upper == pytest.approx(best.mean_response_time, rel=1e-12)
    ages = np.append(queue.service_time(queue.size.atoms), queue.slowdown_threshold)
    cuts = np.unique((ages[:, None] / np.array([1, 2, 3])).round(12))
    assert best.open_quanta is not None
    low, high = best.open_quanta[0]
    assert high == pytest.approx(cuts[-5], rel=1e-12)
    assert low < queue.mean_service_time / 4


def test_what_is_not_tried_is_open() -> None:
    """More levels than are summed, and a limit for θ → 0 that the bounds for small quanta do not reach."""
    queue = mq.Queue(mq.Exponential(1.0), 0.5)
    everything = ((0.0, INF),)
    many = certified_minimum(queue, certify.MOST_LEVELS + 1, INF)
    assert many.open_quanta == everything
    assert (many.lower, many.upper) == pytest.approx((1.0, 2.0), rel=1e-15)
    two = mq.Queue(mq.Empirical([1.0] * 8 + [92.0]), 0.05)
    limit = certified_minimum(two, INF, 0.0)
    assert limit.open_quanta == everything
    assert limit.lower == pytest.approx(two.mean_service_time, rel=1e-14)
    assert limit.upper == pytest.approx(mean(two, two.mean_service_time / 64, INF), rel=1e-12)
    assert limit.upper < 0.6 * mq.mean_response_time(two, mq.FCFS())


def test_what_needs_no_search() -> None:
    """Unstable under FCFS; E[T] infinite for every quantum, with FCFS finite or not."""
    assert certified_minimum(mq.Queue(mq.Exponential(1.0), 1.0), 2, 3.0) == Certificate(INF, INF, ())
    heavy = mq.Queue(mq.Lomax(1.8, 1.0), 0.5, preemption_cost=0.1)
    assert certified_minimum(heavy, INF, INF) == Certificate(INF, INF, ())
    less = mq.Queue(mq.Lomax(2.5, 1.0), 0.5, preemption_cost=0.1)
    best = certified_minimum(less, INF, INF)
    assert best.open_quanta == ()
    assert Fraction(best.lower) < Fraction(5, 3) < Fraction(best.upper)
    assert best.upper - best.lower < 1e-15


def test_the_bounds_are_outside_of_the_value() -> None:
    """M/M/1: E[T] = 1/(1 − ρ) under FCFS, which is best where preemption costs and memory has nothing to gain."""
    queue = mq.Queue(mq.Exponential(1.0), 0.75, preemption_cost=0.1)
    found = certified_minimum(queue, 2, INF)
    assert found.open_quanta == ()
    assert found.lower < 4.0 < found.upper
    assert found.upper - 4 < 1e-14
    assert 4 - found.lower == pytest.approx(4e-6, rel=1e-6)


def test_open_ranges_are_joined() -> None:
    assert certify._joined([(4.0, 5.0), (1.0, 2.0), (2.0, 3.0), (1.5, 1.75)]) == ((1.0, 3.0), (4.0, 5.0))


def test_a_quantum_that_stands_for_a_break_is_tried_at_the_break() -> None:
    """A third of 0.3 is not a float: at the one below it, and not at the break, jobs of size 0.3 take a fourth level."""
    queue = mq.Queue(mq.Empirical([0.1, 0.3, 0.3, 40.0]), 0.05, preemption_cost=0.01)
    below = math.nextafter(0.3 / 3, 0.0)
    with working_precision():
        upper = certify._Proof(Enclosure(queue, 5), below)._upper(None)
    assert float(upper) == pytest.approx(mean(queue, 0.1 * (1 + 1e-13), 5), rel=1e-9)
    assert mean(queue, 0.1 * (1 - 1e-13), 5) > float(upper) * (1 + 1e-3)


# the last step: a function on an interval by its series


@pytest.mark.parametrize("error", [0.0, 1e-3])
def test_a_series_is_above_what_it_is_above(error: float) -> None:
    """1 + (x − 0.3)² − x⁵/100 ± error · x¹⁰ on (−1, 1)."""
    from flint import arb, arb_series

    x = np.linspace(-1, 1, 200_001)
    least = float((1 + (x - 0.3) ** 2 - x**5 / 100 - error * np.abs(x) ** ORDER).min())
    with working_precision():
        coefficients = [arb("1.09"), arb("-0.6"), arb(1), 0, 0, arb("-0.01")]
        centre = arb_series(coefficients, ORDER + 1)
        whole = arb_series([*coefficients, *[0] * (ORDER - 6), arb(0, error)], ORDER + 1)
        half = exact(1.0)
        # the error is taken as the largest on the whole interval
        below = exact((least if error == 0 else least - error) - 1e-9)
        assert certify._is_above(centre, whole, half, below)
        assert not certify._is_above(centre, whole, half, exact(least + 1e-9))
        for bump in (-1.0, 1.0):  # least at an end
            slanted = arb_series([arb(2), arb(bump)], ORDER + 1)
            nothing = arb_series([arb(2), arb(bump), *[0] * (ORDER - 2), arb(0, error)], ORDER + 1)
            assert certify._is_above(slanted, nothing, half, exact(1 - error - 1e-9))
            assert not certify._is_above(slanted, nothing, half, exact(1 - error + 1e-9))
