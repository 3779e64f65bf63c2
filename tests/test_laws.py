"""The ten size laws: proofs of their closed forms, values against 50-digit quadrature, hazards, samplers, ranges."""

import math
from dataclasses import fields, replace
from functools import cache, lru_cache
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
import reference
import sympy as sp
from by_value import number
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

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
from mlptsym.symbolic.moments import Indicator
from mlptsym.symbolic.size_law import moment_defects, point, potential_defect
from mlptsym.validation import ParameterError

ORDERS = range(4)
EXAMPLES = {
    "Exponential": [Exponential(0.5)],
    "LogNormal": [LogNormal(5, 0.9), LogNormal(-0.5, 2.5)],
    "Weibull": [Weibull(0.6, 2.0), Weibull(1.7, 3.0)],
    "Gamma": [Gamma(0.4, 5.0), Gamma(3.5, 1.25)],
    "Erlang": [Erlang(1, 0.8), Erlang(4, 0.8), Erlang(300, 100.0)],
    "HyperExponential": [HyperExponential([0.875, 0.125], [2.0, 0.1]), HyperExponential([0.25, 0.25, 0.5], [1, 2, 8])],
    "Lomax": [Lomax(4.5, 10.0), Lomax(3.2, 0.5)],
    "Uniform": [Uniform(1.0, 7.0), Uniform(0, 3)],
    "Deterministic": [Deterministic(4.1)],
    "Empirical": [Empirical([0.3, 1.7, 2.9, 2.9, 11.3])],
}
ALL = [pytest.param(law, id=repr(law)) for laws in EXAMPLES.values() for law in laws]
CONTINUOUS = [case for case in ALL if not isinstance(case.values[0], (Deterministic, Empirical))]
UNBOUNDED = [case for case in CONTINUOUS if not isinstance(case.values[0], Uniform)]


def textbook_density(law):
    """f(x) of a continuous law as an mpmath function, written from its definition."""
    parameters = [mp.mpf(value) for value in law.parameters]
    match law:
        case Exponential():
            (rate,) = parameters
            return lambda x: rate * mp.exp(-rate * x)
        case LogNormal():
            mu, sigma = parameters
            return lambda x: mp.npdf((mp.log(x) - mu) / sigma) / (sigma * x)
        case Weibull():
            shape, scale = parameters
            return lambda x: shape / scale * (x / scale) ** (shape - 1) * mp.exp(-((x / scale) ** shape))
        case Gamma():
            shape, scale = parameters
            return lambda x: x ** (shape - 1) * mp.exp(-x / scale) / (mp.gamma(shape) * scale**shape)
        case Erlang():
            stages, rate = parameters
            return lambda x: rate**stages * x ** (stages - 1) * mp.exp(-rate * x) / mp.factorial(stages - 1)
        case HyperExponential():
            half = len(parameters) // 2
            phases = list(zip(parameters[:half], parameters[half:], strict=True))
            return lambda x: mp.fsum(p * rate * mp.exp(-rate * x) for p, rate in phases)
        case Lomax():
            shape, scale = parameters
            return lambda x: shape * scale**shape / (scale + x) ** (shape + 1)
        case Uniform():
            low, high = parameters
            return lambda x: 1 / (high - low) if low <= x < high else mp.mpf(0)
    raise AssertionError(law)


@lru_cache(maxsize=1)
def places(law, wide):
    """x and f(x) dx/dv at v, which is x or log x; remembered, for quadratures of all orders meet the same."""
    density = textbook_density(law)

    def at(v, _precision):
        x = mp.exp(v) if wide else v
        return x, density(x) * (x if wide else 1)

    return cache(at)


def quadrature(law, order, start):
    """∫ x^n f(x) dx from ``start`` on, in pieces with an error estimate each; over log x where tails are heavy."""
    if isinstance(law, Deterministic):
        return mp.mpf(law.value) ** order * (start < law.value)
    if isinstance(law, Empirical):
        return mp.fsum(mp.mpf(float(s)) ** order for s in law.samples if s > start) / len(law.samples)
    middle = mp.log(law.mean)
    wide = isinstance(law, (LogNormal, Lomax)) or getattr(law, "shape", 1) < 1
    if wide:
        # what is left out below and above is less than 1e-45 of the whole
        low = mp.log(start) if start else middle - 300
        high = middle + 9
        if isinstance(law, Lomax):
            high = middle + 130 / (mp.mpf(law.shape) - order)
        if isinstance(law, LogNormal):
            high = law.mu + law.sigma * (15 + order * law.sigma)
        splits = [middle + step for step in (-100, -30, -6, -2, 0, 2, 5, 10, 30, 100)]
    else:
        low, splits, high = start, [law.mean * step for step in (0.02, 0.3, 1, 2, 4, 9)], mp.mpf(law.upper_end)
    if isinstance(law, Uniform):
        low = max(low, mp.mpf(law.low))
    place = places(law, wide)

    def integrand(v):
        x, density = place(v, mp.mp.prec)
        return x**order * density

    total = mp.mpf(0)
    for left, right in pairwise([low, *(split for split in splits if low < split < high), high]):
        part, error = mp.quad(integrand, [left, right], error=True)
        assert error < mp.mpf(10) ** -35 * law.moment(order)
        total += part
    return total


def reference_moment(law):
    name, parameters = type(law).__name__, law.parameters
    if isinstance(law, HyperExponential):
        return reference.hyperexponential(law.probabilities, law.rates)
    return reference.LAWS[name](parameters) if isinstance(law, Empirical) else reference.LAWS[name](*parameters)


def symbolic_law(law):
    """The symbolic law of a numeric one and its parameters as numbers, exact in 70 digits."""
    symbolic = law.formulas(*law.kind[1])
    return symbolic, dict(zip(symbolic.parameters, (sp.Float(p, 70) for p in law.parameters), strict=True))


def points(law):
    """Points from far below the mean to far in the tail."""
    inside = [law.mean * ratio for ratio in (1e-9, 0.04, 0.7, 1.0, 1.9, 6.0)]
    return [point for point in [0.0, *inside] if point < law.upper_end or not math.isinf(law.upper_end)]


def condition(law, order, x):
    """|d log E[L^n ; L > x]/d log x|: how much a rounding of x or of a parameter is amplified."""
    with mp.workdps(30):
        moment = reference_moment(law)(order, mp.mpf(x))
        return float(mp.mpf(x) ** (order + 1) * textbook_density(law)(mp.mpf(x)) / moment) if x else 0.0


# --- proofs


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", sorted(size_laws()))
def test_closed_forms_are_proved(name, order):
    """Derivative −x^n f(x), E[L^n] at the lower end (one for n = 0), zero at the upper end."""
    defects = moment_defects(size_laws()[name].formulas(), order)
    assert (defects.derivative, defects.start, defects.end) == (0, 0, 0)


@pytest.mark.parametrize("name", sorted(set(size_laws()) - {"Deterministic", "Empirical"}))
def test_wrong_closed_forms_are_caught(name):
    law = size_laws()[name].formulas()
    scale = law.parameters[-1]
    wrong = {
        "derivative": replace(law, closed_moment=lambda n: law.closed_moment(n) * (1 + point / scale) ** 0 * 2),
        "start": replace(law, moment=lambda n: law.moment(n) * 2),
        "end": replace(law, closed_moment=lambda n: law.closed_moment(n) + 1),
    }
    for part, changed in wrong.items():
        assert getattr(moment_defects(changed, 1), part) != 0


@pytest.mark.parametrize("name", ["Deterministic", "Empirical"])
def test_wrong_steps_are_caught(name):
    law = size_laws()[name].formulas()
    changed = replace(law, closed_moment=lambda n: 2 * law.closed_moment(n))
    assert moment_defects(changed, 1).derivative != 0
    assert moment_defects(replace(law, moment=lambda n: law.moment(n + 1)), 1).start != 0


@pytest.mark.parametrize("order", ORDERS)
def test_potential_of_the_power_law(order):
    """A function with the derivative −x^n f(x) that is finite for every shape, zero at zero."""
    law = size_laws()["Lomax"].formulas()
    assert potential_defect(law, order) == 0
    assert sp.simplify(law.potential(order).subs(point, 0)) == 0
    wrong = replace(law, potential=lambda n: law.potential(n) + point)
    assert potential_defect(wrong, order) != 0


def test_other_laws_have_no_potential():
    with pytest.raises(ValueError, match="Exponential has no potential"):
        potential_defect(size_laws()["Exponential"].formulas(), 2)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("shape", [1.25, 2.0, 3.0, 3.75])
def test_differences_of_potentials_are_partial_moments(shape, order):
    """E[L^n ; x < L ≤ y], also at shapes where E[L^n] is infinite and where the closed form has a pole."""
    law = Lomax(shape, 2.0)
    edges = np.array([0.5, 3.0])
    low, high = law.partial_moments(edges, potential=True)[order]
    with mp.workdps(30):
        part = mp.quad(lambda x: x**order * textbook_density(law)(x), [0.5, 1.0, 3.0])
    assert low - high == pytest.approx(float(part), rel=1e-13)


# --- values


@pytest.mark.parametrize("law", ALL)
def test_closed_forms_against_quadrature(law):
    """At 50 digits; and the reference's own forms, which the tests of E[T] rest on."""
    symbolic, numbers = symbolic_law(law)
    independent = reference_moment(law)
    with reference.digits():
        for ratio, order in ((0, 1), (0, 3), (0.5, 2), (1.75, 0), (1.75, 1), (1.75, 2), (1.75, 3)):
            x = ratio * law.mean
            if order >= law.moment_limit:
                continue
            expected = quadrature(law, order, mp.mpf(x))
            closed = symbolic.upper_moment(order).subs(numbers).subs(point, sp.Float(x, 70)).doit()
            stated = number(closed.replace(Indicator, lambda a, b: sp.Integer(bool(a > b))).evalf(50))
            assert abs(stated - expected) <= mp.mpf(10) ** -35 * expected
            assert abs(independent(order, mp.mpf(x)) - expected) <= mp.mpf(10) ** -35 * expected


@pytest.mark.parametrize("law", ALL)
def test_moments_in_double_precision(law):
    """Relative error of a few units in the last place, times the condition of the moment in x."""
    independent = reference_moment(law)
    for x in points(law):
        for order in (n for n in ORDERS if n < law.moment_limit):
            with reference.digits(30):
                expected = independent(order, mp.mpf(x))
            if 0 < expected < 1e-290 * law.moment(order):
                continue  # beyond the range of a double
            amplified = condition(law, order, x) if law.smooth else 1.0
            tolerance = 1e-14 * (1 + amplified / 10)
            assert abs(float(law.upper_moment(order, x)) - expected) <= tolerance * expected
            if order == 0:
                assert law.tail(x) == law.upper_moment(0, x)
    assert [law.moment(n) for n in ORDERS] == [float(law.upper_moment(n, 0.0)) for n in ORDERS]
    assert law.mean == law.moment(1)


@pytest.mark.parametrize("law", CONTINUOUS)
def test_density_in_double_precision(law):
    density = textbook_density(law)
    for x in points(law)[1:]:
        with reference.digits(30):
            expected = density(mp.mpf(x))
            slope = abs(mp.diff(lambda s: mp.log(density(s)), mp.mpf(x)) * x) if expected else 0
        if expected > 1e-290:
            assert abs(float(law.density(x)) - expected) <= 1e-14 * (1 + float(slope)) * expected


@pytest.mark.parametrize(
    ("law", "at_zero"),
    [
        (Exponential(0.5), 0.5),
        (LogNormal(0, 1), 0.0),
        (Weibull(0.6, 2), math.inf),
        (Weibull(1, 2), 0.5),
        (Weibull(1.7, 2), 0.0),
        (Gamma(0.4, 5), math.inf),
        (Gamma(1, 4), 0.25),
        (Gamma(2, 5), 0.0),
        (Erlang(1, 0.8), 0.8),
        (Erlang(2, 0.8), 0.0),
        (HyperExponential([0.5, 0.5], [1, 3]), 2.0),
        (Lomax(3, 2), 1.5),
        (Uniform(0, 4), 0.25),
        (Uniform(1, 4), 0.0),
        (Deterministic(1), 0.0),
    ],
)
def test_density_at_zero(law, at_zero):
    assert law.density(0.0) == at_zero
    assert law.hazard(0.0) == at_zero


@pytest.mark.parametrize("law", UNBOUNDED)
def test_hazard_into_the_far_tail(law):
    """f/F̄ also where F̄ is far below the smallest float."""
    density, moment = textbook_density(law), reference_moment(law)
    for depth in (0.1, 1.0, 10.0, 100.0, 1e4, 1e8):
        x = law.mean * depth
        with reference.digits():
            tail = moment(0, mp.mpf(x))
            if tail == 0 or mp.log10(tail) < -1e7:
                continue  # beyond what mpmath holds
            expected = density(mp.mpf(x)) / tail
        error = abs(float(law.hazard(x)) / expected - 1)
        assert error <= 1e-14 * (5 + condition(law, 0, x) / 10 if tail > 1e-290 else 10)


def test_lognormal_tail_far_out():
    """37 standard deviations: P(L > x) is of order 1e-300, and a rewriting of erfc(−z) would have left nothing."""
    law = LogNormal(5, 0.9)
    for deviations in (5, 20, 30, 37):
        x = math.exp(5 + 0.9 * deviations)
        with reference.digits(30):
            exact = [reference_moment(law)(n, mp.mpf(x)) for n in ORDERS]
        for order in ORDERS:
            # the condition of the tail in z is about z² here
            assert abs(float(law.upper_moment(order, x)) / exact[order] - 1) < 1e-15 * (10 + deviations**2)
    x = math.exp(5 + 0.9 * 40)
    with reference.digits(30):
        second, hazard = reference_moment(law)(2, mp.mpf(x)), textbook_density(law)(x) / reference_moment(law)(0, x)
    assert float(law.upper_moment(2, x)) == pytest.approx(float(second), rel=2e-12)
    assert float(law.hazard(x)) == pytest.approx(float(hazard), rel=1e-12)


def test_bounded_laws_at_their_ends():
    law = Uniform(1.0, 3.0)
    assert law.hazard([0.5, 1.0, 2.0, 3.0, 9.0]).tolist() == [0.0, 0.5, 1.0, math.inf, math.inf]
    assert law.tail([0.0, 1.0, 2.0, 3.0, 4.0]).tolist() == [1.0, 1.0, 0.5, 0.0, 0.0]
    law = Deterministic(2.0)
    assert law.tail([1.0, 2.0, 3.0]).tolist() == [1.0, 0.0, 0.0]
    assert law.density([1.0, 2.0, 3.0]).tolist() == [0.0, math.inf, 0.0]
    assert law.hazard([1.0, 2.0, 3.0]).tolist() == [0.0, math.inf, math.inf]
    law = Empirical([1.0, 2.0, 2.0, 7.0])
    assert law.density([0.5, 2.0, 7.0, 8.0]).tolist() == [0.0, math.inf, math.inf, 0.0]
    assert law.upper_moment(1, [0.0, 1.0, 6.9, 7.0]).tolist() == [3.0, 2.75, 1.75, 0.0]


def test_infinite_moments():
    """E[L^n] of a Lomax law is finite for n below the shape only."""
    for shape in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5):
        law = Lomax(shape, 2.0)
        assert law.moment_limit == shape
        for order in ORDERS:
            values = law.upper_moment(order, [0.0, 1.0, 1e6])
            assert np.isfinite(values).all() if order < shape else (values == math.inf).all()
    assert Lomax(2.5, 2.0).mean == pytest.approx(2.0 / 1.5, rel=1e-15)


def test_power_law_beyond_the_range_of_its_closed_form():
    law = Lomax(1.5, 2.0)
    x = np.array([1e80, 1e95, 1e150, 1e300])
    assert law.tail(x) == pytest.approx((x / 2) ** -1.5, rel=1e-12)
    assert law.upper_moment(1, x) == pytest.approx(3 * x * (x / 2) ** -1.5, rel=1e-12)


def test_large_samples_keep_their_digits():
    """A million samples: their sums are right to the last digits, not to the square root of their number."""
    values = np.random.default_rng(5).lognormal(1.0, 1.5, 1_000_000)
    law = Empirical(values)
    for order in ORDERS:
        assert law.moment(order) == pytest.approx(math.fsum(values**order) / values.size, rel=4e-16)
    above = np.sort(values)[values.size // 3]
    assert law.upper_moment(1, above) == pytest.approx(math.fsum(values[values > above]) / values.size, rel=4e-16)


# --- interface


@pytest.mark.parametrize("law", ALL)
def test_symbols_are_the_parameters(law):
    symbols, values = law.formulas(*law.kind[1]).parameters, law.parameters
    assert len(symbols) == len(values)
    if not law.kind[1]:
        assert [str(symbol) for symbol in symbols] == [item.name for item in fields(law)]
        assert values == tuple(getattr(law, item.name) for item in fields(law))


@pytest.mark.parametrize("law", ALL)
def test_shapes(law):
    for function in (law.density, law.tail, law.hazard, lambda x: law.upper_moment(2, x)):
        for x in (1.0, np.float64(1.0), [1, 2], np.ones((2, 3)), np.empty(0)):
            result = function(x)
            assert isinstance(result, np.ndarray)
            assert result.shape == np.shape(x)
            assert result.dtype == float
        assert function(1) == function(1.0)


@pytest.mark.parametrize("law", ALL)
def test_equality_and_hash(law):
    assert law == replace(law) if not isinstance(law, Empirical) else law == Empirical(law.samples)
    assert hash(law) == hash(replace(law) if not isinstance(law, Empirical) else Empirical(law.samples))
    assert law != Exponential(77.0)


@pytest.mark.parametrize("x", [-1.0, math.nan, "1", None, [1, "a"], [[1], [1, 2]], True, 1j])
def test_points_that_are_no_sizes(x):
    for law in (Exponential(1.0), Lomax(2, 1), Empirical([1.0])):
        for function in (law.density, law.tail, law.hazard):
            with pytest.raises(ParameterError, match="x = "):
                function(x)


@pytest.mark.parametrize("order", [-1, 4, 1.5, "1", math.nan, None])
def test_orders_out_of_range(order):
    with pytest.raises(ParameterError, match=r"order = .* a whole number >= 0 and <= 3"):
        Exponential(1.0).upper_moment(order, 1.0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Exponential(0), "rate = 0 is not allowed"),
        (lambda: Exponential(-1), "rate = -1 is not allowed"),
        (lambda: Exponential(math.nan), "rate = nan is not allowed"),
        (lambda: Exponential(math.inf), "rate = inf is not allowed"),
        (lambda: Exponential("1"), "rate = '1' is not allowed"),
        (lambda: Exponential(True), "rate = True is not allowed"),
        (lambda: Exponential(1e-31), "rate = 1e-31 is not allowed: it must be a finite number >= 1e-30 and <= 1e"),
        (lambda: LogNormal(math.inf, 1), "mu = inf"),
        (lambda: LogNormal(0, 0), "sigma = 0"),
        (lambda: LogNormal(0, 50), "sigma = 50"),
        (lambda: Weibull(0, 1), "shape = 0"),
        (lambda: Weibull(1, -1), "scale = -1"),
        (lambda: Gamma(-2, 1), "shape = -2"),
        (lambda: Gamma(2, 0), "scale = 0"),
        (lambda: Erlang(0, 1), "stages = 0"),
        (lambda: Erlang(1.5, 1), "stages = 1.5"),
        (lambda: Erlang(2, 0), "rate = 0"),
        (lambda: HyperExponential([0.5, 0.4], [1, 2]), "probabilities = .* add up to 1"),
        (lambda: HyperExponential([0.5, 0.5], [1]), "rates = .* as many numbers as there are probabilities"),
        (lambda: HyperExponential([1.5, -0.5], [1, 2]), r"probabilities\[0\] = 1.5"),
        (lambda: HyperExponential([], []), "probabilities = "),
        (lambda: HyperExponential([0.5, 0.5], [1, 0]), r"rates\[1\] = 0"),
        (lambda: HyperExponential("ab", [1, 0]), "probabilities = 'ab'"),
        (lambda: Lomax(0, 1), "shape = 0"),
        (lambda: Lomax(2, 0), "scale = 0"),
        (lambda: Uniform(-1, 1), "low = -1"),
        (lambda: Uniform(2, 2), "high = 2 .* > 2"),
        (lambda: Uniform(3, 2), "high = 2 .* > 3"),
        (lambda: Deterministic(0), "value = 0"),
        (lambda: Empirical([]), "samples = "),
        (lambda: Empirical([1.0, -2.0]), "samples = -2.0"),
        (lambda: Empirical([1.0, 0.0]), "samples = 0.0"),
        (lambda: Empirical([1.0, math.nan]), "samples = nan"),
        (lambda: Empirical([1.0, math.inf]), "samples = inf"),
        (lambda: Empirical(["a"]), "samples = "),
        (lambda: Empirical("123"), "samples = '123'"),
        (lambda: Empirical([[1.0, 2.0]]), "samples = .* one-dimensional"),
        (lambda: Empirical(1.0), "samples = 1.0 .* one-dimensional"),
        (lambda: Empirical([1e-31, 1.0]), "samples = 1e-31"),
    ],
)
def test_parameters_out_of_range(build, message):
    with pytest.raises(ParameterError, match=message):
        build()


MAGNITUDES = st.floats(1e-30, 1e30)
ANY_LAW = st.one_of(
    st.builds(Exponential, MAGNITUDES),
    st.builds(LogNormal, st.floats(-69, 69), st.floats(1e-6, 10)),
    st.builds(Weibull, st.floats(0.05, 1e6), MAGNITUDES),
    st.builds(Gamma, st.floats(1e-3, 1e6), MAGNITUDES),
    st.builds(Erlang, st.integers(1, 10**6), MAGNITUDES),
    st.builds(lambda rates: HyperExponential([0.25, 0.75], rates), st.tuples(MAGNITUDES, MAGNITUDES)),
    st.builds(Lomax, st.floats(0.01, 1e3), MAGNITUDES),
    st.builds(lambda low, width: Uniform(low, low + width), st.floats(0, 4e29), st.floats(4e29, 5e29)),
    st.builds(Deterministic, MAGNITUDES),
    st.builds(Empirical, st.lists(MAGNITUDES, min_size=1, max_size=5)),
)


@given(law=ANY_LAW, x=st.lists(st.one_of(st.floats(0, 1e308), st.floats(0, 10)), min_size=1, max_size=6))
def test_every_law_is_well_behaved_everywhere(law, x):
    """No NaN and no warning for any size; moments fall from E[L^n] to zero; the law reaches as far as it says."""
    x = np.sort(np.array(x))
    assert not np.isnan(law.density(x)).any()
    assert (law.density(x) >= 0).all()
    assert not np.isnan(law.hazard(x)).any()
    for order in ORDERS:
        values = law.upper_moment(order, np.concatenate([[0.0], x]))
        assert not np.isnan(values).any()
        finite = np.isfinite(values[0])
        assert not finite or (np.diff(values) <= 1e-12 * values[0]).all()
        if not isinstance(law, Lomax):
            assert law.upper_moment(order, law.reach) == 0.0


# --- samplers

COUNT = 200_000


@pytest.mark.parametrize("law", ALL)
def test_sampler(law):
    """Kolmogorov–Smirnov, and mean and second moment within 5.5 standard errors where these are finite.

    With another seed, a right sampler would fail each of these checks with probability below 1e-7.
    """
    sample = law.sample(np.random.default_rng(20), COUNT)
    assert sample.shape == (COUNT,)
    assert (sample > 0).all()
    if law.smooth or isinstance(law, Uniform):
        assert stats.kstest(sample, lambda x: 1 - law.tail(x)).pvalue > 1e-7
    else:
        values, counts = np.unique(sample, return_counts=True)
        expected = np.array([np.mean(np.asarray(law.parameters) == value) for value in values])
        assert np.array_equal(values, np.unique(law.parameters))
        assert (np.abs(counts - COUNT * expected) <= 5.5 * np.sqrt(COUNT * expected * (1 - expected))).all()
    for order in (1, 2):
        if not 2 * order < law.moment_limit or (order == 2 and law.moment_limit < math.inf):
            continue
        with reference.digits(30):
            moment = reference_moment(law)
            spread = float(mp.sqrt(moment(2 * order, mp.mpf(0)) - moment(order, mp.mpf(0)) ** 2))
        assert abs(np.mean(sample**order) - law.moment(order)) <= 5.5 * spread / math.sqrt(COUNT) + 1e-12


@pytest.mark.parametrize("law", ALL)
def test_samples_depend_on_the_generator_alone(law):
    first, again, other = (law.sample(np.random.default_rng(seed), 5) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert isinstance(law, (Deterministic, Empirical)) or not np.array_equal(first, other)


def test_the_base_class_has_no_sampler():
    with pytest.raises(NotImplementedError):
        SizeLaw().sample(np.random.default_rng(0), 1)
