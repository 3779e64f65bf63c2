"""Every size law: proofs of its closed forms, values against 50-digit quadrature, hazards, samplers, ranges."""

import math
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
import reference
import sympy as sp
from bad_values import LAWS as EXTREME_LAWS
from by_value import number
from hypothesis import given
from hypothesis import strategies as st
from reference import density_of, law_reference, moment_of
from scipy import stats

from mlptsym import Empirical, Exponential, Lomax, ParameterError
from mlptsym.laws import HOMES, size_laws
from mlptsym.laws.base import SizeLaw
from mlptsym.parameters import read_law
from mlptsym.symbolic.model.moments import Indicator
from mlptsym.symbolic.model.size_law import antiderivative_defect, moment_defects, point

ORDERS = range(4)
EXAMPLES = [law(*parameters) for law in size_laws().values() for parameters in law.examples]
ALL = [pytest.param(law, id=repr(law)) for law in EXAMPLES]
CONTINUOUS = [case for case in ALL if density_of(case.values[0])]
UNBOUNDED = [case for case in CONTINUOUS if math.isinf(case.values[0].upper_end)]
OF_ATOMS = [law.__name__ for law in size_laws().values() if len(law(*law.examples[0]).atoms)]


@lru_cache(maxsize=1)
def places(law, wide):
    """x and f(x) dx/dv at v, which is x or log x; remembered, for quadratures of all orders meet the same."""
    density = density_of(law)

    def at(v, _precision):
        x = mp.exp(v) if wide else v
        return x, density(x) * (x if wide else 1)

    return cache(at)


def quadrature(law, order, start):
    """∫ x^n f(x) dx from ``start`` on, in pieces with an error estimate each; over log x where tails are heavy."""
    if len(law.atoms):
        masses = [Fraction(mass).limit_denominator(1000) for mass in law.masses.tolist()]
        atoms = zip(map(mp.mpf, law.atoms.tolist()), masses, strict=True)
        return mp.fsum(atom**order * mass.numerator / mass.denominator for atom, mass in atoms if atom > start)
    middle, how = mp.log(law.mean), law_reference(law)
    if how.wide:
        # what is left out below and above is less than 1e-45 of the whole
        low = mp.log(start) if start else middle - 300
        high = how.furthest(law, order) if how.furthest else middle + 9
        splits = [middle + step for step in (-100, -30, -6, -2, 0, 2, 5, 10, 30, 100)]
    else:
        low, high = max(start, mp.mpf(law.lower_end)), mp.mpf(law.upper_end)
        splits = [law.mean * step for step in (0.02, 0.3, 1, 2, 4, 9)]
    place = places(law, how.wide)

    def integrand(v):
        x, density = place(v, mp.mp.prec)
        return x**order * density

    total = mp.mpf(0)
    for left, right in pairwise([low, *(split for split in splits if low < split < high), high]):
        part, error = mp.quad(integrand, [left, right], error=True)
        assert error < mp.mpf(10) ** -35 * law.moment(order)
        total += part
    return total


def formulas_of(law):
    """A law's formulas and its parameters as numbers, exact in 70 digits."""
    kind, lengths = law.kind
    formulas = kind.formulas(*lengths)
    return formulas, dict(zip(formulas.parameters, (sp.Float(p, 70) for p in law.parameters), strict=True))


def points(law):
    """Points from far below the mean to far in the tail."""
    inside = [law.mean * ratio for ratio in (1e-9, 0.04, 0.7, 1.0, 1.9, 6.0)]
    return [point for point in [0.0, *inside] if point < law.upper_end or not math.isinf(law.upper_end)]


def condition(law, order, x):
    """|d log E[L^n ; L > x]/d log x|: how much a rounding of x or of a parameter is amplified."""
    with mp.workdps(30):
        moment = moment_of(law)(order, mp.mpf(x))
        return float(mp.mpf(x) ** (order + 1) * density_of(law)(mp.mpf(x)) / moment) if x else 0.0


# --- proofs


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", sorted(size_laws()))
def test_closed_forms_are_proved(name, order):
    """Derivative −x^n f(x), E[L^n] at the lower end (one for n = 0), zero at the upper end."""
    defects = moment_defects(size_laws()[name].formulas(), order)
    assert (defects.derivative, defects.start, defects.end) == (0, 0, 0)


@pytest.mark.parametrize("name", sorted(set(size_laws()) - set(OF_ATOMS)))
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


@pytest.mark.parametrize("name", OF_ATOMS)
def test_wrong_steps_are_caught(name):
    law = size_laws()[name].formulas()
    changed = replace(law, closed_moment=lambda n: 2 * law.closed_moment(n))
    assert moment_defects(changed, 1).derivative != 0
    assert moment_defects(replace(law, moment=lambda n: law.moment(n + 1)), 1).start != 0


def test_other_laws_have_no_potential():
    with pytest.raises(ValueError, match="Exponential has no antiderivative"):
        antiderivative_defect(size_laws()["Exponential"].formulas(), 2)


# --- values


@pytest.mark.parametrize("law", ALL)
def test_closed_forms_against_quadrature(law):
    """At 50 digits; and the reference's own forms, which the tests of E[T] rest on."""
    symbolic, numbers = formulas_of(law)
    independent = moment_of(law)
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
    independent = moment_of(law)
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
    density = density_of(law)
    for x in points(law)[1:]:
        with reference.digits(30):
            expected = density(mp.mpf(x))
            slope = abs(mp.diff(lambda s: mp.log(density(s)), mp.mpf(x)) * x) if expected else 0
        if expected > 1e-290:
            assert abs(float(law.density(x)) - expected) <= 1e-14 * (1 + float(slope)) * expected


@pytest.mark.parametrize(
    ("law", "at_zero"), [case for home in HOMES.values() for case in reference.law_tests(home).AT_ZERO], ids=repr
)
def test_density_at_zero(law, at_zero):
    assert law.density(0.0) == at_zero
    assert law.hazard(0.0) == at_zero


@pytest.mark.parametrize("law", UNBOUNDED)
def test_hazard_into_the_far_tail(law):
    """f/F̄ also where F̄ is far below the smallest float."""
    density, moment = density_of(law), moment_of(law)
    for depth in (0.1, 1.0, 10.0, 100.0, 1e4, 1e8, 1e12, 1e18):
        x = law.mean * depth
        with reference.digits():
            tail = moment(0, mp.mpf(x))
            assert tail > 0
            expected = density(mp.mpf(x)) / tail
        error = abs(float(law.hazard(x)) / expected - 1)
        # some formulas go by log x, which is rounded to a part of itself
        amplified = condition(law, 0, x) * (1 + abs(math.log(x))) / 10
        assert error <= 1e-14 * (5 + amplified if tail > 1e-290 else 10)


# --- interface


@pytest.mark.parametrize("law", ALL)
def test_symbols_are_the_parameters(law):
    symbols, values = formulas_of(law)[0].parameters, law.parameters
    assert len(symbols) == len(values)
    if not law.kind[1]:
        assert [str(symbol) for symbol in symbols] == [item.name for item in fields(law)]
        assert values == tuple(getattr(law, item.name) for item in fields(law))


@pytest.mark.parametrize("law", [law for law in EXAMPLES if not isinstance(law, Empirical)], ids=repr)
def test_written_on_the_command_line(law):
    """Numbers in the order of the parameters; sequences of them one after the other, with a slash between."""
    values = reference.arguments(law)
    sequences = values if isinstance(values[0], tuple) else [values]
    numbers = "/".join(",".join(map(repr, sequence)) for sequence in sequences)
    assert read_law("size", f"{type(law).__name__.upper()}:{numbers}", size_laws().values()) == law


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


@given(law=EXTREME_LAWS, x=st.lists(st.one_of(st.floats(0, 1e308), st.floats(0, 10)), min_size=1, max_size=6))
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
        if math.isinf(law.moment_limit):  # a power law goes on
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
    if not len(law.atoms):
        assert stats.kstest(sample, lambda x: 1 - law.tail(x)).pvalue > 1e-7
    else:
        values, counts = np.unique(sample, return_counts=True)
        assert np.array_equal(values, law.atoms)
        assert (np.abs(counts - COUNT * law.masses) <= 5.5 * np.sqrt(COUNT * law.masses * (1 - law.masses))).all()
    for order in (1, 2):
        if not 2 * order < law.moment_limit or (order == 2 and law.moment_limit < math.inf):
            continue
        with reference.digits(30):
            moment = moment_of(law)
            spread = float(mp.sqrt(moment(2 * order, mp.mpf(0)) - moment(order, mp.mpf(0)) ** 2))
        assert abs(np.mean(sample**order) - law.moment(order)) <= 5.5 * spread / math.sqrt(COUNT) + 1e-12


@pytest.mark.parametrize("law", ALL)
def test_samples_depend_on_the_generator_alone(law):
    first, again, other = (law.sample(np.random.default_rng(seed), 5) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert len(law.atoms) or not np.array_equal(first, other)


@pytest.mark.parametrize("law", ALL)
def test_quantiles(law):
    """The least size with at least the probability below or at it."""
    chances = np.array([1e-9, 0.2, 0.5, 0.8, 1 - 1e-9])
    sizes = law.quantile(chances)
    if len(law.atoms):
        assert (1 - law.tail(sizes) >= chances - 1e-15).all()
        assert (1 - law.tail(np.nextafter(sizes, 0)) < chances).all()
    else:
        np.testing.assert_allclose(law.tail(sizes), 1 - chances, rtol=1e-6, atol=1e-15)
        np.testing.assert_allclose(law.tail(sizes[1:4]), 1 - chances[1:4], rtol=1e-12)
    assert law.quantile([0, 1]).tolist() == [law.atoms[0] if len(law.atoms) else law.lower_end, law.upper_end]


@pytest.mark.parametrize("law", CONTINUOUS)
def test_logarithms_into_the_far_tail(law):
    """log f and log P(L > x), also where neither is a float; absolute errors count in a likelihood."""
    density, moment = density_of(law), moment_of(law)
    for depth in (1e-6, 0.3, 1.0, 4.0, 40.0, 1e3):
        x = law.mean * depth
        with reference.digits(30):
            exact_density, exact_tail = density(mp.mpf(x)), moment(0, mp.mpf(x))
            logs = [float(mp.log(value)) if value else -math.inf for value in (exact_density, exact_tail)]
        assert float(law.log_density(x)) == pytest.approx(logs[0], rel=1e-13, abs=1e-12)
        assert float(law.log_tail(x)) == pytest.approx(logs[1], rel=1e-13, abs=1e-12)


def test_the_base_class_has_no_sampler():
    with pytest.raises(NotImplementedError):
        SizeLaw().sample(np.random.default_rng(0), 1)
