"""Infinitely many levels: the bound on what a finite sum leaves out, and the continuation where no sum ends."""

import math

import mpmath as mp
import numpy as np
import power_law
import pytest
import reference
from laws import test_lomax
from power_law import PowerLaw

from mlptsym import Erlang, Exponential, Gamma, HyperExponential, LogNormal, Lomax, Weibull
from mlptsym.memory.affine import AffineMemory
from mlptsym.memory.linear import LinearMemory
from mlptsym.memory.saturating import SaturatingMemory
from mlptsym.numeric.levels import remainder
from mlptsym.numeric.levels.remainder import Panels, TailIntegrals, remainder_bounds
from mlptsym.numeric.levels.sums import level_sums
from mlptsym.numeric.mean import response
from mlptsym.numeric.mean.response import mean_response_time, solve
from mlptsym.numeric.model.policies import MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.validation import ParameterError

LIGHT = [
    Exponential(1.0),
    LogNormal(0, 0.5),
    Weibull(0.7, 1.0),
    Weibull(5, 1),
    Gamma(0.3, 3.0),
    Erlang(4, 4.0),
    HyperExponential([0.9, 0.1], [2.0, 0.2]),
]
NARROW = [LogNormal(0, 0.1), LogNormal(0, 0.03), Erlang(300, 300.0), Weibull(40, 1)]
MEMORIES = [LinearMemory(), AffineMemory(0.3, 0.5), SaturatingMemory(1.0, 0.7, 0.3)]


def at_load(load, quantum, size, **arguments):
    """A queue with an effective load under infinitely many levels of a quantum."""
    unit = Queue(size, 1e-3, **arguments)
    return Queue(size, load * 1e-3 / solve(unit, MLPT(quantum=quantum, levels=math.inf)).effective_load, **arguments)


@pytest.mark.parametrize("size", [*LIGHT, Lomax(4.5, 3.0)], ids=repr)
def test_tail_integrals(size):
    """∫_t^∞ u^n P(S > u) du for n = 0, 1, 2, with a slowdown, against quadrature."""
    threshold, factor = 1.25, 0.5
    queue = Queue(size, 0.1, threshold, factor)
    exact = reference.ReferenceQueue(
        reference.moment_of(size),
        0.1,
        reference.linear(),
        threshold,
        factor,
    )
    for t in (0.5, 2.0, 5.0):
        tails = TailIntegrals.at(queue, np.array(t))
        with mp.workdps(20):
            for order, stated in enumerate((tails.mean, tails.first, tails.second)):
                end = 8 if isinstance(size, (Weibull, Erlang)) else 60
                splits = [t, *(s for s in (1.25, 4, 10, end) if s > t), mp.inf]
                expected = mp.quad(lambda u, n=order: u**n * exact.moment(0, u), splits)
                assert abs(stated - expected) <= 1e-8 * expected + 1e-15


@pytest.mark.parametrize("load", [1e-9, 0.8, 0.99])
@pytest.mark.parametrize("memory", MEMORIES, ids=repr)
@pytest.mark.parametrize("size", LIGHT, ids=repr)
def test_the_bound_bounds(size, memory, load):
    """What levels beyond N add is positive and below the bound, for every N; and the bound goes to zero.

    At the lowest load nothing is left of it but the missing work itself.
    """
    quantum = 0.3 * size.mean
    queue = at_load(
        load, quantum, size, preemption_cost=0.05, memory=memory, slowdown_threshold=1.5, slowdown_factor=0.7
    )
    whole = mean_response_time(queue, MLPT(quantum=quantum, levels=math.inf))
    bounds = []
    for levels in (4, 16, 64, 256, 1024):
        boundaries = quantum * np.arange(1.0, levels + 1)[:, None]
        sums = level_sums(queue, boundaries, closed=False)
        bound = remainder_bounds(queue, np.array([quantum]), sums.totals, boundaries[-1])[1][0]
        left_out = whole - sums.mean_response_time()[0]
        assert -1e-12 * whole <= left_out <= bound + 1e-12 * whole
        bounds.append(bound)
    assert bounds[-1] < 1e-6 * bounds[0]
    assert bounds == sorted(bounds, reverse=True)


def test_no_bound_where_the_rest_may_be_unstable():
    queue = Queue(Exponential(1.0), 0.9, preemption_cost=0.1)
    boundaries = np.array([[0.1], [0.2]])
    sums = level_sums(queue, boundaries, closed=False)
    assert queue.arrival_rate * sums.effective_mean[0] < 1
    _, bound = remainder_bounds(queue, np.array([0.1]), sums.totals, boundaries[-1])
    assert bound.tolist() == [math.inf]


@pytest.mark.parametrize("arguments", [{}, {"slowdown_threshold": 0.05, "slowdown_factor": 0.5}], ids=["fast", "slow"])
@pytest.mark.parametrize("memory", [LinearMemory(), SaturatingMemory(1.0, 0.05, 0.3)], ids=["linear", "saturating"])
@pytest.mark.parametrize("size", [*LIGHT, *NARROW], ids=repr)
def test_continuation_is_the_direct_sum(size, memory, arguments, monkeypatch):
    """Euler–Maclaurin against adding up all levels, at a quantum where both are possible."""
    quantum = size.mean / 1500
    queue = at_load(0.8, quantum, size, preemption_cost=2e-4, memory=memory, **arguments)
    policy = MLPT(quantum=quantum, levels=math.inf)
    direct = solve(queue, policy)
    monkeypatch.setattr(response, "DIRECT_LEVELS", 100)
    continued = solve(queue, policy)
    assert continued.mean_response_time == pytest.approx(direct.mean_response_time, rel=1e-12)
    assert continued.effective_load == pytest.approx(direct.effective_load, rel=1e-13)


@pytest.mark.parametrize("memory", [LinearMemory(), SaturatingMemory(1.0, 0.05, 0.3)], ids=["linear", "saturating"])
@pytest.mark.parametrize(("sigma", "parts"), [(0.9, 10), (1.05, 2)])
def test_long_panels_continue_as_the_direct_sum(sigma, parts, memory, monkeypatch):
    """Laws wide enough for panels twice as long: the same sum of levels, and no law among them that has short panels."""
    size = LogNormal(0, sigma)
    quantum = size.mean / parts
    queue = at_load(
        0.8, quantum, size, slowdown_threshold=3 * size.mean, slowdown_factor=0.4, preemption_cost=1e-2, memory=memory
    )
    policy = MLPT(quantum=quantum, levels=math.inf)
    assert remainder._panel_length(size) == math.log(4) > remainder._panel_length(Exponential(1.0))
    assert remainder.level_depth(queue, np.array([quantum]), response.REMAINDER) < response.DIRECT_LEVELS
    direct = solve(queue, policy)
    monkeypatch.setattr(response, "DIRECT_LEVELS", 100)
    continued = solve(queue, policy)
    assert continued.mean_response_time != direct.mean_response_time
    assert continued.mean_response_time == pytest.approx(direct.mean_response_time, rel=2e-14)
    assert continued.effective_load == pytest.approx(direct.effective_load, rel=2e-14)


@pytest.mark.parametrize("first", [128, 300])
def test_sums_over_panels_are_direct_sums(first):
    """Running and full sums of smooth terms: powers n^−s, and an exponential that ends in subnormal numbers."""
    panels = Panels.starting_at(first, 1e5, math.log(2), power_law=True)
    ends = panels.level[:, -1]
    whole = np.round(ends)
    for shape in (2.5, 4.0):
        running = panels.running_sum(panels.level**-shape)
        direct = [mp.zeta(shape, first + 1) - mp.zeta(shape, int(end) + 1) for end in whole]
        assert running[:, -1] == pytest.approx([float(value) for value in direct], rel=1e-13)
        assert panels.full_sum(panels.level**-shape) == pytest.approx(float(mp.zeta(shape, first + 1)), rel=1e-13)
    decay = 745.0 / ends[-1]
    values = np.exp(-decay * panels.level)
    values[-1, -1] = -5e-324  # as rounding may leave it
    direct = math.exp(-decay * (first + 1)) / -math.expm1(-decay)
    assert panels.full_sum(np.stack([values, 2 * values])) == pytest.approx([direct, 2 * direct], rel=1e-13)


def test_laws_too_narrow_to_continue_are_summed_or_refused():
    size = LogNormal(0, 0.001)
    queue = Queue(size, 0.5)
    # nearly deterministic: the work of a quantum's delay, as for size one exactly
    assert math.isfinite(mean_response_time(queue, MLPT(quantum=1e-4, levels=math.inf)))
    with pytest.raises(
        ParameterError, match=r"quantum = 1e-08 is not allowed: it must be at least .* levels are summed"
    ):
        mean_response_time(queue, MLPT(quantum=1e-8, levels=math.inf))


# shape, effective load, quantum, γ, memory, and the relative error allowed: the stated one is 1e-9 for shapes from 1.05
POWER_LAWS = [
    (1.05, 0.5, 1.0, 0.0, LinearMemory(), 1e-9),  # E[S²] infinite, E[T] finite for k = ∞
    (1.5, 0.8, 0.3, 0.05, SaturatingMemory(1.0, 3.0, 0.2), 1e-12),
    (1.9, 0.9, 2.0, 0.1, SaturatingMemory(1.0, 3.0, 0.2), 1e-12),
    (2.2, 0.999, 0.3, 0.0, LinearMemory(), 1e-12),
    (3.05, 0.9, 5.0, 0.1, LinearMemory(), 1e-11),
    (4.5, 0.95, 1.0, 0.05, AffineMemory(0.3, 1.0), 1e-12),
]


@pytest.mark.parametrize(("shape", "load", "quantum", "gamma", "memory", "tolerance"), POWER_LAWS)
def test_power_laws(shape, load, quantum, gamma, memory, tolerance):
    """k = ∞ with the tail (1 + x/s)^−α, against zeta functions and the formula of Abel and Plana."""
    scale = shape - 1
    queue = at_load(load, quantum, Lomax(shape, scale), preemption_cost=gamma, memory=memory)
    line = [gamma * getattr(memory, name, 0.0) for name in ("base", "slope")]
    exact = PowerLaw(shape, scale, queue.arrival_rate, quantum, *line, getattr(memory, "window", math.inf))
    solution = solve(queue, MLPT(quantum=quantum, levels=math.inf))
    assert abs(solution.mean_response_time / exact.mean_response_time() - 1) < tolerance
    assert abs(solution.effective_load / (queue.arrival_rate * exact.sums[3]) - 1) < 1e-13


@pytest.mark.parametrize(("shape", "gamma"), [(2.0, 0.0), (3.0, 0.0), (4.0, 0.1)])
def test_whole_shapes_are_no_exception(shape, gamma):
    """Where the closed forms have poles, E[T] is as smooth in the shape as elsewhere."""
    policy = MLPT(quantum=1.0, levels=math.inf)
    below, at, above = (
        mean_response_time(Queue(Lomax(shape + step, shape), 0.3, preemption_cost=gamma), policy)
        for step in (-1e-6, 0, 1e-6)
    )
    assert at == pytest.approx((below + above) / 2, rel=1e-10)
    assert below > at > above


def test_reference_for_power_laws():
    """Against the printed formulas with very many levels, for a tail that falls fast enough."""
    exact = PowerLaw(9.0, 8.0, 0.5, 20.0, 0.02, 0.1, 50.0)
    queue = reference.ReferenceQueue(
        test_lomax.moment(9.0, 8.0), 0.5, reference.saturating(0.1, 50.0, 0.02), preemption_cost=1.0
    )
    with mp.workdps(40):
        literal = reference.theorem(queue, [20 * mp.mpf(r) for r in range(1, 1500)])
        assert abs(exact.mean_response_time() / literal.mean_response_time - 1) < 1e-15


def test_expansion_of_the_zeta_function():
    with mp.workdps(25):
        for s, a in ((1.5, 40), (0.5, 41.5), (-1.25, 45), (3, mp.mpc(40, 7))):
            assert abs(power_law.hurwitz_zeta(mp.mpf(s), mp.mpmathify(a)) / mp.zeta(s, a) - 1) < 1e-24
