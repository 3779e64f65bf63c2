"""The queue: service times and their moments against the reference, eqs. (3), (5), ℓ_C from a capacity, bad input."""

import math
import pickle
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
import reference

from mlptsym import Deterministic, Empirical, Exponential, Gamma, LogNormal, Lomax, Uniform, Weibull
from mlptsym.memory.affine import AffineMemory
from mlptsym.memory.linear import LinearMemory
from mlptsym.memory.saturating import SaturatingMemory
from mlptsym.numeric.model.queue import Queue
from mlptsym.validation import ParameterError

THRESHOLD, FACTOR = 2.25, 0.4
SIZES = [
    Exponential(0.5),
    LogNormal(0.25, 0.9),
    Weibull(0.6, 2.0),
    Gamma(0.4, 5.0),
    Lomax(3.4, 3.0),
    Uniform(0.5, 6.0),
    Deterministic(4.0),
    Empirical([0.5, 2.25, 9.0]),
]


def literal(size, threshold=THRESHOLD, factor=FACTOR):
    return reference.ReferenceQueue(reference.moment_of(size), 0.1, reference.linear(), threshold, factor)


@pytest.mark.parametrize("size", SIZES, ids=repr)
def test_moments_of_the_service_time(size):
    """E[S^n ; S > t] on both sides of ℓ_C and at it; E[S] is eq. (5)."""
    queue, exact = Queue(size, 0.1, THRESHOLD, FACTOR), literal(size)
    attained = np.array([0.0, 0.3, 2.0, THRESHOLD, 3.5, 12.0])
    moments = queue.service_moments(attained)
    for order in (n for n in range(4) if n < size.moment_limit):
        for t, stated in zip(attained, moments[order], strict=True):
            with reference.digits(30):
                expected = exact.moment(order, mp.mpf(t))
                whole = exact.moment(order, mp.mpf(0))
            assert abs(stated - expected) <= 2e-14 * expected + 1e-16 * whole
        assert queue.service_moment(order) == pytest.approx(float(whole), rel=1e-14)
    assert queue.mean_service_time == queue.service_moment(1)
    assert queue.base_load == 0.1 * queue.service_moment(1)
    if size.moment_limit < 4:
        assert (queue.service_moments(attained)[3] == math.inf).all() == (size.moment_limit <= 3)


def test_mean_service_time_of_the_paper():
    """ρ₀ = 0.8233 at ℓ_C = 6 E[L]."""
    size = LogNormal(5, 0.9)
    queue = Queue(size, 0.0036, 6 * size.mean, 0.39)
    excess = size.upper_moment(1, 6 * size.mean) - 6 * size.mean * size.tail(6 * size.mean)
    assert queue.mean_service_time == pytest.approx(size.mean + (1 / 0.39 - 1) * float(excess), rel=1e-14)
    assert round(queue.base_load, 4) == 0.8233


def test_service_time_and_its_inverse():
    queue = Queue(Exponential(1.0), 0.1, THRESHOLD, FACTOR)
    sizes = np.array([0.0, 1.0, THRESHOLD, 4.25, 1e6])
    expected = sizes + (1 / FACTOR - 1) * np.maximum(sizes - THRESHOLD, 0)
    assert queue.service_time(sizes) == pytest.approx(expected, rel=1e-15)
    assert queue.size_at(queue.service_time(sizes)) == pytest.approx(sizes, rel=1e-15)


@pytest.mark.parametrize(
    "queue",
    [
        Queue(Exponential(1.0), 0.1),
        Queue(Exponential(1.0), 0.1, math.inf, 0.4),
        Queue(Exponential(1.0), 0.1, 2.0, 1.0),
        Queue(Exponential(1.0), 0.1, 1e6, 0.4),  # nobody is that long
        Queue(Uniform(0, 1), 0.1, 1.0, 0.4),
    ],
    ids=repr,
)
def test_no_slowdown(queue):
    assert queue.slowdown == (0.0, 1.0)
    assert queue.service_time([0.0, 3.0, 1e9]).tolist() == [0.0, 3.0, 1e9]
    assert queue.mean_service_time == queue.size.mean


def test_slowdown_from_the_start():
    queue = Queue(Exponential(1.0), 0.1, 0.0, 0.25)
    assert queue.mean_service_time == pytest.approx(4.0, rel=1e-15)
    assert queue.service_moment(2) == pytest.approx(32.0, rel=1e-15)


@pytest.mark.parametrize(
    ("memory", "capacity", "threshold"),
    [
        (LinearMemory(3.75), 256.0, 256.0 / 3.75),
        (AffineMemory(64.0, 2.0), 256.0, 96.0),
        (AffineMemory(300.0, 2.0), 256.0, 0.0),  # the prompt alone fills the memory
        (SaturatingMemory(2.0, 100.0, 64.0), 256.0, 96.0),
        (SaturatingMemory(2.0, 50.0, 64.0), 256.0, math.inf),  # a window that never fills it
    ],
    ids=repr,
)
def test_capacity_gives_the_threshold(memory, capacity, threshold):
    """ℓ_C is the service at which the memory reaches C."""
    queue = Queue(Exponential(0.01), 1e-3, capacity=capacity, memory=memory, slowdown_factor=0.5)
    assert queue.slowdown_threshold == threshold
    assert queue == Queue(Exponential(0.01), 1e-3, threshold, 0.5, memory=memory, capacity=capacity)


def test_capacity_and_another_threshold_contradict():
    with pytest.raises(ParameterError, match=r"slowdown_threshold = 50 .* left out when capacity is given \(64 here\)"):
        Queue(Exponential(1.0), 0.1, slowdown_threshold=50, memory=LinearMemory(4.0), capacity=256.0)


def test_restore_cost():
    """c(a) = γ g(a), eq. (4)."""
    queue = Queue(Exponential(1.0), 0.1, preemption_cost=0.25, memory=AffineMemory(2.0, 4.0))
    assert queue.restore_cost([0.0, 1.0, 2.5]).tolist() == [0.5, 1.5, 3.0]


def test_potentials_differ_by_partial_moments():
    queue = Queue(Lomax(2.5, 3.0), 0.1, THRESHOLD, FACTOR)
    attained = np.array([0.5, 2.0, 4.0])
    ordinary, antiderivative = queue.service_moments(attained), queue.service_moments(attained, antiderivative=True)
    assert np.diff(antiderivative[2]) == pytest.approx(np.diff(ordinary[2]), rel=1e-12)
    assert np.isfinite(antiderivative[3]).all()
    assert (ordinary[3] == math.inf).all()


def test_queues_are_values():
    queue = Queue(LogNormal(5, 0.9), 0.0036, 600, 0.39, 0.1)
    assert queue.mean_service_time > 0  # what has been computed once
    again = pickle.loads(pickle.dumps(queue))  # noqa: S301 (its own bytes)
    assert again == queue == replace(queue)
    assert hash(again) == hash(queue)
    assert again.mean_service_time == queue.mean_service_time
    assert replace(queue, arrival_rate=0.001).base_load == 0.001 * queue.mean_service_time
    with pytest.raises(AttributeError):
        queue.arrival_rate = 1.0


def changed(**arguments):
    return Queue(**({"size": Exponential(1.0), "arrival_rate": 0.5} | arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 3.0}, r"size = 3.0 .* a size law such as LogNormal\(5, 0.9\)"),
        ({"size": Exponential}, "size = "),
        ({"arrival_rate": 0}, "arrival_rate = 0 .* finite number > 0"),
        ({"arrival_rate": -0.1}, "arrival_rate = -0.1"),
        ({"arrival_rate": math.nan}, "arrival_rate = nan"),
        ({"arrival_rate": math.inf}, "arrival_rate = inf"),
        ({"arrival_rate": "0.5"}, "arrival_rate = '0.5'"),
        ({"arrival_rate": None}, "arrival_rate = None"),
        ({"arrival_rate": 10**400}, "arrival_rate = 1000"),
        ({"arrival_rate": np.array([0.5, 0.6])}, "arrival_rate = array"),
        ({"slowdown_threshold": -1}, "slowdown_threshold = -1 .* a number >= 0"),
        ({"slowdown_threshold": math.nan}, "slowdown_threshold = nan"),
        ({"slowdown_factor": 0}, "slowdown_factor = 0 .* <= 1"),
        ({"slowdown_factor": 1.01}, "slowdown_factor = 1.01"),
        ({"slowdown_factor": -0.5}, "slowdown_factor = -0.5"),
        ({"preemption_cost": -1e-9}, "preemption_cost = -1e-09"),
        ({"preemption_cost": math.inf}, "preemption_cost = inf"),
        ({"memory": 1.0}, r"memory = 1.0 .* a memory law such as LinearMemory\(1.0\)"),
        ({"capacity": 0}, "capacity = 0"),
        ({"capacity": math.inf}, "capacity = inf"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ParameterError, match=message):
        changed(**arguments)


@pytest.mark.parametrize("values", ["abc", None, [1.0, "2"], [math.nan], -1.0])
def test_ages_and_sizes_that_are_none(values):
    queue = changed(preemption_cost=0.1)
    for method in (queue.service_time, queue.size_at, queue.restore_cost, queue.service_moments):
        with pytest.raises(ParameterError):
            method(values)


@pytest.mark.parametrize("order", [-1, 4, 0.5, "1"])
def test_orders_out_of_range(order):
    with pytest.raises(ParameterError, match="order = "):
        changed().service_moment(order)
