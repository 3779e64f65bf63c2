"""Two levels: eqs. (29), (30), appendix A as printed, the jump at ℓ_C, and T′ against 50-digit differences."""

import math

import mpmath as mp
import numpy as np
import pytest
import reference
import sympy as sp
from by_value import differ
from hypothesis import given
from hypothesis import strategies as st

from mlptsym import Deterministic, Exponential, LogNormal, Lomax, Uniform, Weibull
from mlptsym.memory.affine import AffineMemory
from mlptsym.memory.linear import LinearMemory
from mlptsym.memory.saturating import SaturatingMemory
from mlptsym.numeric.mean.response import mean_response_time, solve
from mlptsym.numeric.mean.two_levels import two_level_terms
from mlptsym.numeric.model.policies import MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.symbolic.algebra.symbols import arrival_rate as rate
from mlptsym.symbolic.algebra.symbols import preemption_cost as gamma
from mlptsym.symbolic.algebra.symbols import quantum as theta
from mlptsym.symbolic.algebra.symbols import slowdown_factor as beta
from mlptsym.symbolic.mean import two_levels as symbolic
from mlptsym.symbolic.model.moments import Density, UpperMoment, mean, tail
from mlptsym.validation import ParameterError


def printed(q, F, first, second):
    """The quantities of section 4.3 for θ = q, from F̄(θ), M_1(θ) and M_2(θ), with c(θ) = γθ."""
    served = mean() - first + q * F  # E[S_1], S_1 = min(S, θ)
    served_square = mean(order=2) - second + q**2 * F
    shift = (1 - gamma) * q  # S_2 = S − (1 − γ)θ given S > θ
    rest = first / F - shift
    rest_square = second / F - 2 * shift * first / F + shift**2
    effective_square = mean(order=2) + 2 * gamma * q * first + (gamma * q) ** 2 * F
    rho_1, rho_2 = rate * served, rate * F * rest
    rho = rho_1 + rho_2
    d_1 = rate * (served_square + F * rest_square) / (2 * (1 - rho_1))
    d_2 = (rate * effective_square / (2 * (1 - rho)) + rate * q * served) / (1 - rho_1)
    return {"S_2": rest, "rho_1": rho_1, "rho": rho, "d_1": d_1, "d_2": d_2}


def printed_A_and_B(q, slope, F, first, second, *, of_the_rest=None):
    """A(x), B(x) and Q(x) of appendix A; ``of_the_rest`` in place of E[S_2] in Q."""
    own = printed(q, F, first, second)
    rho, rho_1, d_1 = own["rho"], own["rho_1"], own["d_1"]
    common = rate * (1 + F * rho / (1 - rho)) / (1 - rho_1)
    Q = d_1 + q - (1 - gamma) * (own["S_2"] if of_the_rest is None else of_the_rest)
    A = slope * (common * Q + gamma + rho / (1 - rho) + rate * gamma * F / (1 - rho) ** 2 * (q + d_1))
    B = common * gamma**2 * q**2 / 2 + gamma * q + rho / (1 - rho) * (q + d_1)
    B += rate * gamma * F * q / (1 - rho) ** 2 * (q + d_1)
    return A, B


def test_mean_response_time():
    """Eq. (29): E[T(θ)] = E[S] + γθF̄(θ) + d_1 + F̄(θ) ρ/(1 − ρ) (θ + d_1)."""
    F, first, second = (UpperMoment(n, theta) for n in range(3))
    own = printed(theta, F, first, second)
    load = rate * (mean() + gamma * theta * F)
    assert not differ(own["rho"], load)
    total = mean() + gamma * theta * F + own["d_1"] + F * load / (1 - load) * (theta + own["d_1"])
    assert not differ(symbolic.two_level_response_time(), total)
    by_levels = mean() + gamma * theta * F + (1 - F) * own["d_1"] + F * own["d_2"]
    assert not differ(symbolic.two_level_response_time(), by_levels)


def paper_terms():
    """The package's A, B and derivative for c(θ) = γθ, in the symbols of its terms."""
    terms = symbolic.two_level_terms()
    costs = {terms.restore: gamma * terms.service, terms.restore_slope: gamma}
    return terms, [expression.subs(costs) for expression in (terms.A, terms.B, terms.derivative)]


def test_A_and_B():
    """Appendix A, and eq. (30): T′ = F̄_L (A − B h_L)."""
    terms, (A, B, derivative) = paper_terms()
    own_A, own_B = printed_A_and_B(terms.service, terms.service_slope, terms.tail, terms.first, terms.second)
    assert not differ(A, own_A)
    assert not differ(B, own_B)
    assert not differ(derivative, terms.tail * (own_A - own_B * terms.hazard))


def test_the_2_in_Q_is_an_index():
    """Read as E[S²], Q would give another A."""
    terms, (A, _, _) = paper_terms()
    place = (terms.service, terms.service_slope, terms.tail, terms.first, terms.second)
    misread, _ = printed_A_and_B(*place, of_the_rest=mean(order=2))
    assert differ(A, misread)


def test_derivative_is_linear_in_the_hazard_and_A_and_B_are_free_of_it():
    terms = symbolic.two_level_terms()
    assert not (terms.A.has(terms.hazard) or terms.B.has(terms.hazard) or terms.B.has(terms.service_slope))
    assert sp.simplify(sp.diff(terms.derivative, terms.hazard, 2)) == 0
    assert not differ(terms.A.subs(terms.service_slope, 2 * terms.service_slope), 2 * terms.A), "proportional to q′"


def test_jump_at_the_threshold():
    """A/B grows by the factor 1/β at ℓ_C, where q′ steps from 1 to 1/β."""
    assert sp.simplify(symbolic.jump_ratio() - 1 / beta) == 0


def test_derivative_follows_leibniz():
    """T′ from the symbolic theorem, with an explicit q, f and F̄ (exponential sizes, slow branch)."""
    x, threshold = sp.symbols("x threshold", positive=True)
    q = threshold + (x - threshold) / beta
    terms, (_, _, derivative) = paper_terms()
    explicit = symbolic.two_level_response_time().subs(theta, q).diff(x).doit()
    moments = {UpperMoment(n, q): symbol for n, symbol in ((1, terms.first), (2, terms.second))}
    moments |= {tail(q): terms.tail, Density(q): terms.hazard * terms.tail * beta}
    explicit = explicit.xreplace(moments)
    stated = derivative.subs({terms.service: q, terms.service_slope: 1 / beta})
    assert not differ(explicit, stated)


# --- numbers

MEMORIES = {
    "linear": (LinearMemory(1.0), reference.linear(1.0)),
    "affine": (AffineMemory(0.7, 1.3), reference.affine(0.7, 1.3)),
    "saturating": (SaturatingMemory(1.2, 2.0, 0.4), reference.saturating(1.2, 2.0, 0.4)),
}
SIZES = {
    "Exponential": Exponential(0.5),
    "LogNormal": LogNormal(0.25, 0.9),
    "Weibull": Weibull(0.6, 2.0),
    "Lomax": Lomax(3.4, 3.0),
    "Uniform": Uniform(0.5, 6.0),
}


@pytest.mark.parametrize("memory", sorted(MEMORIES))
@pytest.mark.parametrize("name", sorted(SIZES))
def test_derivative_against_differences_of_the_reference(name, memory):
    """T′(x) = F̄_L (A − B h_L), below, at and beyond ℓ_C, one-sided there, at 50 digits."""
    size, (numeric_memory, growth) = SIZES[name], MEMORIES[memory]
    threshold, factor, rate, cost = 2.125, 0.4, 0.15, 0.1
    queue = Queue(size, rate, threshold, factor, cost, numeric_memory)
    literal = reference.ReferenceQueue(reference.moment_of(size), rate, growth, threshold, factor, cost)
    points = [(0.3, "right"), (1.7, "left"), (2.125, "left"), (2.125, "right"), (4.5, "right")]
    with reference.digits():

        def response(x):
            return reference.theorem(literal, [literal.service_time(x)]).mean_response_time

        for x, side in points:
            terms = two_level_terms(queue, x, side=side)
            at = mp.mpf(x)
            slope = mp.diff(response, at, direction=1 if side == "right" else -1, h=mp.mpf(10) ** -25)
            scale = float(terms.A + terms.B * terms.hazard) * float(size.tail(x))
            assert abs(float(terms.derivative) - slope) < 2e-14 * scale
            told = float(size.tail(x)) * float(terms.A - terms.B * terms.hazard)
            assert told == pytest.approx(float(terms.derivative), abs=1e-14 * scale)
            assert float(terms.load) == pytest.approx(
                float(reference.theorem(literal, [literal.service_time(at)]).effective_load), rel=1e-14
            )


def test_numeric_jump_and_strict_minimum():
    """ℓ_C is a strict local minimum where A/B < h_L on its left and h_L < A/B on its right."""
    threshold = 600.0
    queue = Queue(LogNormal(5, 0.9), 0.0036, threshold, 0.39, 0.1)
    left, right = (two_level_terms(queue, threshold, side=side) for side in ("left", "right"))
    assert float(right.ratio / left.ratio) == pytest.approx(1 / 0.39, rel=1e-13)
    assert left.ratio < left.hazard < right.ratio
    times = mean_response_time(queue, MLPT(quantum=threshold * np.array([0.99, 1.0, 1.01]), levels=2))
    assert times[1] < times[0]
    assert times[1] < times[2]


def test_terms_keep_the_shape_of_x():
    queue = Queue(Exponential(1.0), 0.5, preemption_cost=0.1)
    terms = two_level_terms(queue, np.full((2, 3), 1.5))
    assert {field.shape for field in (terms.A, terms.B, terms.hazard, terms.derivative, terms.load, terms.ratio)} == {
        (2, 3)
    }
    assert two_level_terms(queue, []).A.shape == (0,)


def test_unstable_points_are_infinite():
    queue = Queue(Exponential(1.0), 0.99, preemption_cost=0.5)
    terms = two_level_terms(queue, np.array([0.001, 1.0, 60.0]))
    stable = solve(queue, MLPT(quantum=np.array([0.001, 1.0, 60.0]), levels=2)).stable
    assert stable.tolist() == [True, False, True]
    for values in (terms.A, terms.B, terms.derivative, terms.ratio):
        assert np.isfinite(values).tolist() == [True, False, True]
        assert values[1] == math.inf


@pytest.mark.parametrize("x", [0.0, -1.0, math.nan, math.inf, "1", [1.0, None], [1.0, -2.0]])
def test_bad_x_is_refused(x):
    with pytest.raises(ParameterError, match="x = "):
        two_level_terms(Queue(Exponential(1.0), 0.5), x)


def test_other_refusals():
    with pytest.raises(ParameterError, match="side = 'middle'"):
        two_level_terms(Queue(Exponential(1.0), 0.5), 1.0, side="middle")
    with pytest.raises(ParameterError, match="second moment"):
        two_level_terms(Queue(Lomax(1.9, 1.0), 0.1), 1.0)


@given(
    size=st.sampled_from([Exponential(1.0), LogNormal(5, 0.9), Lomax(2.1, 1.0), Uniform(0, 1), Deterministic(2.0)]),
    x=st.floats(1e-300, 1e300),
    rate=st.floats(1e-300, 1e3),
    threshold=st.one_of(st.none(), st.floats(0, 1e300)),
    factor=st.floats(1e-6, 1),
    cost=st.floats(0, 1e6),
    side=st.sampled_from(["left", "right"]),
)
def test_no_input_gives_nan(size, x, rate, threshold, factor, cost, side):
    terms = two_level_terms(Queue(size, rate, threshold, factor, cost), x, side=side)
    for values in (terms.A, terms.B, terms.hazard, terms.derivative, terms.load, terms.ratio):
        assert not np.isnan(values).any()


@pytest.mark.parametrize("window", [0.25, 0.5, 2.0])
def test_the_left_side_of_a_kink_of_the_memory_is_that_just_below(window: float) -> None:
    """At the window, where g stops growing, the slope of g to each side is the one taken."""
    queue = Queue(Exponential(1.0), 0.3, preemption_cost=0.2, memory=SaturatingMemory(1.0, window=window))
    for side, beside in (("left", 1 - 1e-9), ("right", 1 + 1e-9)):
        there, near = (two_level_terms(queue, place, side=side) for place in (window, window * beside))
        assert float(there.derivative) == pytest.approx(float(near.derivative), rel=1e-6)
    left, right = (two_level_terms(queue, window, side=side).derivative for side in ("left", "right"))
    assert abs(float(left) - float(right)) > 1e-3
