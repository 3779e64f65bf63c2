"""Service time S = q(L), eqs. (1)–(3) and (5), and the partial moments of S, against quadrature for a concrete law."""

import itertools

import mpmath as mp
import pytest
import sympy as sp
from by_value import concrete, differ, integral, number

from mlptsym.symbolic.algebra.symbols import age
from mlptsym.symbolic.algebra.symbols import size as L
from mlptsym.symbolic.algebra.symbols import slowdown_factor as beta
from mlptsym.symbolic.algebra.symbols import slowdown_threshold as threshold
from mlptsym.symbolic.model.moments import Density, UpperMoment
from mlptsym.symbolic.model.service import (
    excess_mean,
    service_mean,
    service_rate,
    service_time,
    service_time_inverse,
    service_upper_moment,
)

x = sp.Symbol("x", positive=True)
AT = {threshold: sp.Rational(19, 10), beta: sp.Rational(39, 100)}
LENGTHS = [sp.Rational(n, 10) for n in (1, 12, 19, 20, 57)]


def q(length):
    """Eq. (3) as printed: S = L + (1/β − 1)(L − ℓ_C)⁺."""
    return length + (1 / number(AT[beta]) - 1) * max(length - number(AT[threshold]), 0)


def test_rate_is_slow_from_the_threshold_on():
    """Eq. (2): rate 1 while M < C, β once M ≥ C."""
    rates = [service_rate().xreplace({**AT, age: a}) for a in (0, sp.Rational(189, 100), AT[threshold], 5)]
    assert rates == [1, 1, AT[beta], AT[beta]]


@pytest.mark.parametrize("length", LENGTHS)
def test_service_time_is_the_time_the_work_takes(length):
    """Eq. (3), and the same as the integral of 1/rate over the work."""
    stated = number(service_time().xreplace({**AT, L: length}))
    assert stated == pytest.approx(q(number(length)), rel=1e-14)
    rate = {False: mp.mpf(1), True: number(AT[beta])}
    ends = [0, *(end for end in [number(AT[threshold])] if end < number(length)), number(length)]
    time = sum(mp.quad(lambda a: 1 / rate[a >= number(AT[threshold])], pair) for pair in itertools.pairwise(ends))
    assert stated == pytest.approx(time, rel=1e-13)


@pytest.mark.parametrize("length", LENGTHS)
def test_inverse_undoes_the_service_time(length):
    there = service_time(length).xreplace(AT)
    assert service_time_inverse(there).xreplace(AT) == length
    back = service_time_inverse(length).xreplace(AT)
    assert service_time(back).xreplace(AT) == length


def test_mean_service_time():
    """Eq. (5) as printed: E[S] = E[L] + (1/β − 1) ∫ (ℓ − ℓ_C) f_L(ℓ) dℓ from ℓ_C on."""
    with mp.workdps(30):
        start = number(AT[threshold])
        excess = integral(lambda s: s - start, start)
        assert abs(concrete(excess_mean(), AT) / excess - 1) < 1e-25
        printed = integral(lambda s: s) + (1 / number(AT[beta]) - 1) * excess
        assert abs(concrete(service_mean(), AT) / printed - 1) < 1e-25
    assert not differ(service_mean(), UpperMoment(1, 0, L) + (1 / beta - 1) * excess_mean())


@pytest.mark.parametrize("order", range(4))
def test_service_moment(order):
    with mp.workdps(30):
        expected = integral(lambda s: q(s) ** order, splits=[number(AT[threshold])])
        assert abs(concrete(service_mean(order), AT) / expected - 1) < 1e-25


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("length", LENGTHS)
def test_upper_moment_of_the_service_time(order, length):
    """E[S^n ; S > q(x)] on each side of ℓ_C."""
    stated = service_upper_moment(order, x, slowed=length > AT[threshold])
    with mp.workdps(30):
        expected = integral(lambda s: q(s) ** order, number(length), [number(AT[threshold])])
        assert abs(concrete(stated, {**AT, x: length}) / expected - 1) < 1e-25


@pytest.mark.parametrize("order", range(4))
def test_upper_moment_is_continuous_at_the_threshold(order):
    below, above = (service_upper_moment(order, x, slowed=slowed).subs(x, threshold) for slowed in (False, True))
    assert not differ(below, above)
    # away from it the two forms are different functions
    assert order == 0 or differ(*(service_upper_moment(order, x, slowed=slowed) for slowed in (False, True)))


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("slowed", [False, True])
def test_upper_moment_falls_with_the_density_of_the_size(order, slowed):
    """d/dx E[S^n ; L > x] = −q(x)^n f_L(x)."""
    service = threshold + (x - threshold) / beta if slowed else x
    assert not differ(service_upper_moment(order, x, slowed=slowed).diff(x), -(service**order) * Density(x, L))
