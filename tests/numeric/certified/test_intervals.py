"""Expressions in ball arithmetic: values and series of every function, branches, and moments of a sample."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest
import sympy as sp
from flint import arb, arb_series, fmpq

from mlptsym.numeric.certified.enclosure import ORDER, working_precision
from mlptsym.numeric.certified.intervals import SampleMoments, UndecidedError, Walker, exact
from mlptsym.symbolic.algebra.special import RegularizedUpperGamma
from mlptsym.symbolic.model.moments import Indicator

X, Y = sp.symbols("x y", positive=True)


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with working_precision(), mp.workdps(60):
        yield


def test_floats_are_the_numbers_they_are() -> None:
    assert exact(0.1) == fmpq(*Fraction(0.1).as_integer_ratio()) != fmpq(1, 10)


FUNCTIONS = {
    "power": (X**3 - X**-2 / 7, lambda x: x**3 - x**-2 / 7),
    "root": (sp.sqrt(X) * 2, lambda x: 2 * mp.sqrt(x)),
    "shape": (X ** sp.Rational(3, 10), lambda x: x ** (mp.mpf(3) / 10)),
    "exponential": (sp.exp(-X) + sp.pi, lambda x: mp.exp(-x) + mp.pi),
    "logarithm": (sp.log(X) * X, lambda x: mp.log(x) * x),
    "erfc": (sp.erfc(X / 2), lambda x: mp.erfc(x / 2)),
    "gamma": (sp.gamma(X), mp.gamma),
    "loggamma": (sp.loggamma(X), mp.loggamma),
    "upper gamma": (
        RegularizedUpperGamma(sp.Rational(7, 3), X),
        lambda x: mp.gammainc(mp.mpf(7) / 3, x, regularized=True),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    """At a point to 30 digits, with all derivatives of the series; on an interval, an enclosure that is not wide."""
    expression, reference = FUNCTIONS[name]
    walker = Walker([expression], [X])
    (value,) = walker.at([arb(exact(1.75))])
    (series,) = walker.at([arb_series([arb(exact(1.75)), 1])])
    for order, coefficient in enumerate(mp.taylor(reference, mp.mpf(1.75), 4)):
        expected = arb(mp.nstr(coefficient, 45))
        assert abs(series[order] - expected) < 1e-30 * (1 + abs(expected))
        if order == 0:
            assert abs(value - expected) < 1e-30
    low, high = exact(1.75), exact(1.7501)
    (around,) = walker.at([arb_series([arb(low).union(arb(high)), 1])])
    ends = [arb(mp.nstr(reference(mp.mpf(end)), 45)) for end in (1.75, 1.7501)]
    assert all(around[0].contains(end) for end in ends)
    assert around[0].rad() < 1e-3
    assert around[1].contains(series[1])
    assert around[ORDER].contains(series[ORDER])


def test_what_is_no_ball_arithmetic_is_refused() -> None:
    with pytest.raises(TypeError, match="tanh"):
        Walker([sp.tanh(X)], [X])


# branches


def at(expression: Any, low: float, high: float) -> Any:
    """Value in the middle of an interval, of a function of x that may branch inside."""
    corners = tuple([exact(x)] for x in (low, (low + high) / 2, high))
    return Walker([expression], [X]).at([corners[1][0]], corners)[0]


# the function, and its values in the middle of (0.5, 1.5), (1, 2), (2, 3) and (2.5, 3.5)
BRANCHES = {
    "min": (sp.Min(X, 2), [1.0, 1.5, 2.0, 2.0]),
    "max": (sp.Max(X, 2), [2.0, 2.0, 2.5, 3.0]),
    "indicator": (Indicator(X, 2), [0.0, 0.0, 1.0, 1.0]),
    "strict": (sp.Piecewise((5, X < 2), (7, True)), [5.0, 5.0, 7.0, 7.0]),
    "weak": (sp.Piecewise((5, X <= 2), (7, True)), [5.0, 5.0, 7.0, 7.0]),
    "other side": (sp.Piecewise((5, X > 2), (7, True)), [7.0, 7.0, 5.0, 5.0]),
    "other side, weak": (sp.Piecewise((5, X >= 2), (7, True)), [7.0, 7.0, 5.0, 5.0]),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_is_what_it_is_inside(name: str) -> None:
    """An end may be on the border; with the border inside nothing is decided."""
    expression, values = BRANCHES[name]
    for low, value in zip((0.5, 1.0, 2.0, 2.5), values, strict=True):
        assert at(expression, low, low + 1) == exact(value)
    for low, high in ((1.0, 3.0), (1.0, 2.5), (1.5, 3.0)):
        with pytest.raises(UndecidedError):
            at(expression, low, high)


def test_a_point_on_a_border() -> None:
    for name, expected in {"min": 2, "max": 2, "indicator": 0, "strict": 7, "weak": 5, "other side": 7}.items():
        assert at(BRANCHES[name][0], 2.0, 2.0) == expected
    assert at(BRANCHES["other side, weak"][0], 2.0, 2.0) == 5


def test_no_branch_without_exact_inputs_or_without_a_branch() -> None:
    with pytest.raises(UndecidedError, match="exact inputs"):
        Walker([sp.Min(X, 2)], [X]).at([arb(1)])
    with pytest.raises(UndecidedError, match="no branch"):
        at(sp.Piecewise((5, X < 2)), 3.0, 4.0)


def test_folded_functions_may_be_inputs_and_what_is_shared_is_evaluated_once() -> None:
    folded = sp.Function("f")(X)
    first, second = Walker([folded * Y, folded + X], [X, Y, folded]).exactly([fmpq(2), fmpq(3), fmpq(5)])
    assert (first, second) == (15, 7)


# samples


def test_moments_of_a_sample() -> None:
    sample = [0.5, 2.0, 2.0, 7.5]
    moments = SampleMoments(sample, 4)
    assert moments.totals() == [1, 3, arb(exact(16.125)), arb(exact(109.5))]

    def over(low: float, high: float) -> list[Any]:
        corners = tuple([exact(9.0), exact(x)] for x in (low, (low + high) / 2, high))
        return moments.at([], corners)

    for low, high, larger in (
        (0.0, 0.0, sample),
        (0.1, 0.5, sample),
        (0.5, 0.5, sample[1:]),
        (0.5, 2.0, sample[1:]),
        (2.0, 7.5, sample[3:]),
        (7.5, 7.5, []),
        (8.0, 9.0, []),
    ):
        assert over(low, high) == [arb(sum((exact(x) ** n for x in larger), fmpq(0)) / 4) for n in range(4)]
    for low, high in ((0.4, 0.6), (1.0, 2.1), (7.0, 8.0), (0.1, 9.0)):
        with pytest.raises(UndecidedError):
            over(low, high)
