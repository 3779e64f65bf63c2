"""Derivatives of E[T]: against differences of the 50-digit reference, against each other, and at kinks."""

import dataclasses
import math

import numpy as np
import pytest
import reference
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import mlptsym as mq
from mlptsym.laws.base import SizeLaw
from mlptsym.numeric.mean.gradient import quantum_slopes, response_gradient
from mlptsym.symbolic.mean.gradient import boundary_slope, level_slopes, waiting_slopes
from mlptsym.symbolic.mean.level_integrals import piece_integrands
from mlptsym.symbolic.model.moments import Density
from mlptsym.validation import ParameterError

PARAMETERS = {
    "Exponential": (0.05,),
    "LogNormal": (2.6, 0.9),
    "Weibull": (0.6, 15.0),
    "Gamma": (0.5, 40.0),
    "Erlang": (3, 0.15),
    "HyperExponential": ([0.75, 0.25], [0.2, 0.02]),
    "Lomax": (3.5, 50.0),
    "Uniform": (3.0, 37.0),
    "Deterministic": (20.0,),
    "Empirical": ([3.0, 11.0, 11.0, 58.0],),
}
MEMORIES = {
    "linear": (mq.LinearMemory(0.8), reference.linear(0.8)),
    "affine": (mq.AffineMemory(5.0, 1.5), reference.affine(5.0, 1.5)),
    "saturating": (mq.SaturatingMemory(1.2, 31.0, 2.0), reference.saturating(1.2, 31.0, 2.0)),
}
MODEL = {"arrival_rate": 0.025, "slowdown_threshold": 27.0, "slowdown_factor": 0.6, "preemption_cost": 0.07}
INF = math.inf


def queues(law: str, memory: str = "linear") -> tuple[mq.Queue, reference.ReferenceQueue]:
    size = getattr(mq, law)(*PARAMETERS[law])
    numeric, growth = MEMORIES[memory]
    return (
        mq.Queue(size, memory=numeric, **MODEL),
        reference.ReferenceQueue(reference.moment_of(size), growth=growth, **MODEL),
    )


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("law", PARAMETERS)
def test_gradient_in_boundaries_matches_differences_of_the_reference(law: str, memory: str) -> None:
    queue, exact = queues(law, memory)
    boundaries = [7.0, 18.5, 33.0, 61.0]
    gradient = response_gradient(queue, np.array(boundaries)[:, None])
    scale = gradient.mean_response_time[0] / 20
    with reference.digits():
        for position in range(4):
            unit = [float(position == other) for other in range(4)]
            difference = float(reference.slope(exact, boundaries, unit))
            assert gradient.slopes[position, 0] == pytest.approx(difference, rel=1e-11, abs=1e-13 * scale)


@pytest.mark.parametrize(
    ("law", "levels", "quantum"),
    [(law, levels, quantum) for law in PARAMETERS for levels in (2, 5) for quantum in (6.4, 31.0)]
    # k = ∞ where the reference needs few levels
    + [
        (law, INF, 23.0)
        for law in ("Exponential", "Erlang", "HyperExponential", "Uniform", "Deterministic", "Empirical")
    ]
    + [("Weibull", INF, 160.0)],
)
def test_slope_in_the_quantum_matches_differences_of_the_reference(law: str, levels: float, quantum: float) -> None:
    queue, exact = queues(law)
    slopes = quantum_slopes(queue, np.array([quantum]), levels)
    with reference.digits():
        boundaries = reference.equal_boundaries(exact, quantum, levels, negligible=1e-22)
        numbers = [float(r) for r in range(1, len(boundaries) + 1)]
        difference = float(reference.slope(exact, [float(t) for t in boundaries], numbers))
    scale = slopes.mean_response_time[0] / quantum
    assert slopes.slope[0] == pytest.approx(difference, rel=3e-11, abs=3e-13 * scale)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("law", ["Lomax", "LogNormal", "Weibull"])
def test_slope_of_the_continued_sum_matches_differences_of_it(law: str, memory: str) -> None:
    """k = ∞ for laws whose far levels are added by the Euler–Maclaurin formula."""
    queue = dataclasses.replace(queues(law, memory)[0], arrival_rate=0.015)
    for quantum in (12.5, 35.0):
        slope = quantum_slopes(queue, np.array([quantum]), INF).slope[0]
        step = 1e-3 * quantum
        times = mq.mean_response_time(queue, mq.MLPT(quantum=quantum + step * np.arange(-3, 4), levels=INF))
        difference = times @ np.array([-1, 9, -45, 0, 45, -9, 1]) / 60 / step  # exact to the sixth power
        assert slope == pytest.approx(difference, abs=3e-9 * times[3] / quantum)


@pytest.mark.parametrize("load", [0.9, 0.999])
@pytest.mark.parametrize(
    "size",
    [mq.Weibull(2.28, 1.0), mq.Weibull(0.6, 1.0), mq.Exponential(1.0), mq.Gamma(4.0, 1.0), mq.LogNormal(0, 0.9)],
    ids=repr,
)
def test_infinitely_many_levels_near_the_edge_of_stability(size: SizeLaw, load: float) -> None:
    """The far levels as integrals against all of them one by one: a load that is off counts 1/(1 − ρ) times."""
    quanta, parts = size.mean * np.array([0.02, 0.04]), 1 + 1e-4 * (1 - load) * np.array([[-1], [0], [1]])
    unit = mq.Queue(size, 1e-3, 2.03 * size.mean, slowdown_factor=0.5, preemption_cost=1e-3)
    by_unit = mq.solve(unit, mq.MLPT(quantum=quanta[0], levels=INF)).effective_load
    queue = dataclasses.replace(unit, arrival_rate=1e-3 * load / by_unit)
    found, direct = quantum_slopes(queue, quanta, INF), mq.solve(queue, mq.MLPT(quantum=quanta * parts, levels=INF))
    times = direct.mean_response_time
    assert found.mean_response_time == pytest.approx(times[1], rel=2e-14 / (1 - load))
    assert found.slope == pytest.approx((times[2] - times[0]) / (quanta * (parts[2] - parts[0])), rel=1e-3)


def test_light_tails_do_not_go_on_as_power_laws() -> None:
    """Where the panels end, a light tail has left nothing but rounding, and E[T] and its slope are finite."""
    size = mq.Exponential(0.016895676195563984)
    queue = mq.Queue(size, 0.005882496549547589, 177.560221045646, 0.9809949645661633, 3.419657874068354e-05)
    quanta = np.append(size.mean * np.geomspace(3e-3, 3, 60), 3.730768198286425)
    found = [quantum_slopes(queue, [quantum], INF) for quantum in quanta]  # each with panels to an end of its own
    direct = mq.mean_response_time(queue, mq.MLPT(quantum=quanta, levels=INF))
    assert [float(one.mean_response_time[0]) for one in found] == pytest.approx(direct, rel=1e-13)
    assert all(np.isfinite(one.slope).all() for one in found)


@given(
    law=st.sampled_from([law for law in PARAMETERS if law not in ("Deterministic", "Empirical")]),
    memory=st.sampled_from(sorted(MEMORIES)),
    quantum=st.floats(2.0, 200.0),
    levels=st.integers(2, 12),
)
def test_forward_and_backward_pass_agree(law: str, memory: str, quantum: float, levels: int) -> None:
    queue, _ = queues(law, memory)
    numbers = np.arange(1.0, levels)[:, None]
    forward = quantum_slopes(queue, np.array([quantum]), levels)
    backward = response_gradient(queue, numbers * quantum)
    assert forward.mean_response_time[0] == backward.mean_response_time[0]
    if math.isfinite(forward.mean_response_time[0]):
        scale = forward.mean_response_time[0] / quantum
        assert forward.slope[0] == pytest.approx(float((numbers * backward.slopes).sum()), rel=1e-9, abs=1e-12 * scale)


def test_open_sums_have_the_derivative_of_the_sum() -> None:
    queue, _ = queues("LogNormal")
    boundaries = np.array([10.0, 25.0, 45.0])[:, None]
    step = 1e-5
    gradient = response_gradient(queue, boundaries, closed=False)
    for position in range(3):
        moved = step * (np.arange(3) == position)[:, None]
        above, below = (response_gradient(queue, boundaries + sign * moved, closed=False) for sign in (1, -1))
        difference = (above.mean_response_time - below.mean_response_time)[0] / (2 * step)
        assert gradient.slopes[position, 0] == pytest.approx(difference, abs=1e-7)


@pytest.mark.parametrize("side", ["left", "right"])
def test_one_sided_slopes_at_the_threshold_are_those_of_two_levels(side: str) -> None:
    queue, _ = queues("LogNormal")
    terms = mq.two_level_terms(queue, 27.0, side=side)
    slope = response_gradient(queue, np.array([[27.0]]), side=side).slopes[0, 0]
    speed = 1.0 if side == "left" else 0.6  # dx/dt
    assert slope * speed**-1 == pytest.approx(float(terms.derivative), rel=1e-12)


def test_the_slope_in_the_quantum_is_taken_from_the_right() -> None:
    queue, _ = queues("LogNormal")
    for levels, quantum in ((2, 27.0), (4, 9.0), (INF, 27.0 / 4)):
        at, right, left = quantum_slopes(queue, quantum * np.array([1, 1 + 1e-9, 1 - 1e-9]), levels).slope
        assert at == pytest.approx(right, abs=1e-6 * abs(right - left))
        assert abs(right - left) > 1e-4 * abs(right)


def test_unstable_quanta_have_no_slope() -> None:
    queue = mq.Queue(mq.Exponential(1.0), arrival_rate=0.9, preemption_cost=1.0)
    slopes = quantum_slopes(queue, np.array([0.01, 50.0]), INF)
    assert slopes.mean_response_time[0] == math.inf
    assert math.isnan(slopes.slope[0])
    assert np.isfinite(slopes.slope[1])
    gradient = response_gradient(queue, np.array([[0.2, 50.0], [0.4, 100.0]]))
    assert np.isnan(gradient.slopes[:, 0]).all() == (gradient.effective_load[0] >= 1)


def test_more_levels_than_the_law_reaches_are_infinitely_many() -> None:
    queue, _ = queues("Exponential")
    quanta = np.array([15.0, 40.0])
    many, all_ = (quantum_slopes(queue, quanta, levels) for levels in (100_000, INF))
    assert many.mean_response_time == pytest.approx(all_.mean_response_time, rel=1e-13)
    assert many.slope == pytest.approx(all_.slope, rel=1e-10)


# the symbolic half


def test_the_slope_at_a_boundary_does_not_depend_on_what_the_next_level_does() -> None:
    assert sp.expand(boundary_slope().slope - boundary_slope(last=True).slope) == 0


def test_the_slope_at_a_boundary_is_linear_in_the_density() -> None:
    terms = boundary_slope()
    assert terms.slope.atoms(Density) == {terms.density}
    assert sp.Poly(terms.slope, terms.density).degree() == 1


def test_adjoint_of_the_wait_for_a_square_is_the_weight() -> None:
    slopes = waiting_slopes()
    assert sp.simplify(slopes.squares - slopes.terms.weight) == 0
    assert sp.simplify(slopes.crossings - 2 * slopes.terms.weight) == 0


def test_slopes_of_a_last_level_are_those_of_a_level_that_ends_at_infinity() -> None:
    open_, last = level_slopes(), level_slopes(last=True)
    for name in ("probability", "piece_mean", "piece_square"):
        assert sp.expand(getattr(open_, name).subs(open_.end_slope, 0) - getattr(last, name)) == 0


def test_integrals_over_a_level_are_its_terms() -> None:
    """For an exponential law both forms are elementary: p, E[Y] and E[Y²] of the level from (n−1)θ to nθ."""
    terms = piece_integrands()
    rate, cost = sp.Rational(1, 3), sp.Rational(2, 7)
    theta, number = sp.Rational(5, 2), 4
    start = (number - 1) * theta

    def integrated(expression: sp.Expr) -> sp.Expr:
        point = terms.point.subs({terms.number: number, "theta": theta}).subs(
            {symbol: theta for symbol in terms.point.free_symbols if symbol.name == "theta"}
        )
        values = {
            terms.tail: sp.exp(-rate * point),
            terms.density: rate * sp.exp(-rate * point),
            terms.start_tail: sp.exp(-rate * start),
            terms.costs[0][0]: cost,
        }
        quantum = {symbol: theta for symbol in expression.free_symbols if symbol.name == "theta"}
        return sp.integrate(expression.subs(values).subs(quantum), (terms.fraction, 0, 1))

    reached, gone = sp.exp(-rate * start), sp.exp(-rate * (start + theta))
    served = (reached - gone) / rate
    served_square = 2 * (served / rate - theta * gone / rate)
    assert sp.simplify(integrated(terms.probability) - (reached - gone)) == 0
    assert sp.simplify(integrated(terms.piece_mean) - served - cost * reached) == 0
    square = served_square + 2 * cost * served + cost**2 * reached
    assert sp.simplify(integrated(terms.piece_square) - square) == 0


@pytest.mark.parametrize("others", [[], [1.0], [1.0, 2e-8]])
def test_the_refusal_of_a_short_quantum_names_it_and_the_least_allowed(others: list[float]) -> None:
    queue = mq.Queue(mq.Uniform(0, 1), 0.1)
    with pytest.raises(ParameterError, match=r"^quanta = 1e-08 .* at least 2\.38e-07 here"):
        quantum_slopes(queue, np.array([*others, 1e-8]), INF)
    assert quantum_slopes(queue, np.array([1.0]), INF).mean_response_time[0] < INF


def test_a_gradient_needs_more_than_two_moments() -> None:
    """P(S > x) = (1 + x)⁻² has just not the second."""
    with pytest.raises(ParameterError, match="finite mean response time"):
        response_gradient(mq.Queue(mq.Lomax(2.0, 1.0), 0.1), np.array([[1.0]]))


def test_a_point_mass_just_beyond_a_multiple_of_the_quantum_completes_in_one_more_level() -> None:
    """By one rounding: it pays for it, here and in the sums."""
    queue = mq.Queue(mq.Deterministic(3.0), 0.1, preemption_cost=0.1)
    quantum = math.nextafter(1.0, 0.0)
    expected = mq.mean_response_time(queue, mq.MLPT(quantum, INF))
    assert quantum_slopes(queue, np.array([quantum]), INF).mean_response_time[0] == pytest.approx(expected, rel=1e-12)
    assert mq.mean_response_time(queue, mq.MLPT(1.0, INF)) < 0.97 * expected
