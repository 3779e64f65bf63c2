"""The expectation operator and the folded moments M_n(t) = E[S^n ; S > t], against quadrature for a concrete law."""

import mpmath as mp
import pytest
import sympy as sp
from by_value import concrete, differ, integral, number
from sympy.core.function import ArgumentIndexError

from mlptsym.symbolic.algebra.symbols import service as S
from mlptsym.symbolic.algebra.symbols import size as L
from mlptsym.symbolic.model.moments import Density, Indicator, UpperMoment, expectation, mean, tail

t1, t2, t3 = POINTS = sp.symbols("t1:4", positive=True)
c = sp.Symbol("c", nonnegative=True)
AT = {t1: sp.Rational(7, 10), t2: sp.Rational(19, 10), t3: sp.Rational(31, 10), c: sp.Rational(2, 7)}
PIECEWISE_POLYNOMIALS = {
    "constant": sp.Integer(3),
    "polynomial": 2 + c * S + S**3,
    "min": sp.Min(S, t2),
    "max": sp.Max(S, t2),
    "indicator": Indicator(S, t1),
    "square of min": sp.Min(S, t2) ** 2,
    "cube of a positive part": sp.Max(S - t1, 0) ** 3,
    "product of indicators": Indicator(S, t1) * Indicator(S, t3),
    "power of an indicator": Indicator(S, t2) ** 5,
    "piece of level 2": (c + sp.Min(S, t2) - t1) * Indicator(S, t1),
    "square of a piece": ((c + sp.Min(S, t2) - t1) * Indicator(S, t1)) ** 2,
    "sum of pieces, squared": (sp.Min(S, t1) + c * Indicator(S, t2) + sp.Max(t3, S)) ** 2,
    "min of max": sp.Min(sp.Max(S, t1), t3),
    "three arguments": sp.Min(S, t1) * sp.Max(S, t2, t3),
    "slope other than one": sp.Min(S / 2, t1 / 2) + sp.Max(3 * S - 3 * t3, 0),
    "falling": sp.Max(t2 - S, 0) ** 2,
    "indicator of a falling argument": Indicator(t2 - S, 0) * S,
    "indicator times power": S**2 * Indicator(S, t3),
}


@pytest.mark.parametrize("name", sorted(PIECEWISE_POLYNOMIALS))
def test_expectation_is_the_integral_against_the_density(name):
    expression = PIECEWISE_POLYNOMIALS[name]
    result = sp.sympify(expectation(expression, POINTS))
    # Min, Max and Indicator are what Python makes of them, not the package
    words = {"Min": min, "Max": max, "Indicator": lambda value, point: mp.mpf(value > point)}
    exact = sp.lambdify(S, expression.xreplace(AT), modules=[words, "mpmath"])

    with mp.workdps(30):
        expected = integral(exact, splits=[number(AT[t]) for t in POINTS])
        assert abs(concrete(result, AT) / expected - 1) < 1e-25


def test_expectation_is_linear_in_folded_moments_at_the_breakpoints():
    result = expectation((c + sp.Min(S, t2) - t1) ** 2 * Indicator(S, t1), POINTS)
    assert {moment.args[1] for moment in result.atoms(UpperMoment)} <= {sp.S.Zero, *POINTS}
    assert not result.xreplace(dict.fromkeys(result.atoms(UpperMoment), sp.S.Zero))


def test_breakpoints_where_nothing_changes_do_no_harm():
    for expression in (sp.Min(S, t2), Indicator(S, t2) * S, S**2):
        assert not differ(expectation(expression, POINTS), expectation(expression, [t2]))


def test_order_of_the_breakpoints_is_used():
    assert expectation(sp.Min(t1, t2, t3) * S, POINTS) == t1 * mean()
    assert expectation(Indicator(t2, t1) * S + Indicator(t1, t3), POINTS) == mean()


def test_expectation_for_another_variable():
    result = expectation(Indicator(L, t1) * L, [t1], L)
    assert result == UpperMoment(1, t1, L)
    # and S is then a constant like any other
    assert expectation(S * L, [], L) == S * UpperMoment(1, 0, L)


@pytest.mark.parametrize(
    ("expression", "breakpoints", "message"),
    [
        (sp.Min(S, t2), [t1], "not among the breakpoints"),
        (Indicator(S, t3), [t1, t2], "not among the breakpoints"),
        (sp.Min(2 * S, t2), [t2], "not among the breakpoints"),
        (sp.Min(c * S, t2), [t2], "not decided"),
        (sp.Min(t1, c) * S, [t1], "not decided"),
        (Indicator(t1, t2) * S, [t1], "not decided"),
        (sp.Min(S**2, t2), [t2], "not decided"),
        (sp.exp(-S), [], "no polynomial"),
        (sp.sqrt(S), [], "no polynomial"),
        (1 / S, [], "no polynomial"),
        (sp.Abs(S - t1), [t1], "no polynomial"),
        (sp.Piecewise((S, t1 > S), (t1, True)), [t1], "no polynomial"),
        (sp.Function("g")(S), [], "no polynomial"),
    ],
)
def test_expectation_refuses_what_it_cannot_integrate(expression, breakpoints, message):
    with pytest.raises(ValueError, match=message):
        expectation(expression, breakpoints)


def test_known_values_of_the_folded_moment():
    assert (UpperMoment(0, 0), tail(0)) == (1, 1)
    assert [UpperMoment(n, sp.oo) for n in range(4)] == [0, 0, 0, 0]
    assert mean() == UpperMoment(1, 0, S)
    assert mean(L, 2) == UpperMoment(2, 0, L)
    assert mean() != mean(L)


@pytest.mark.parametrize("order", range(4))
def test_derivative_of_the_folded_moment(order):
    """d/dt E[S^n ; S > t] = −t^n f(t), by finite differences of quadratures."""
    with mp.workdps(30):
        slope = mp.diff(lambda t: integral(lambda s: s**order, t), number(AT[t1]))
        assert abs(concrete(UpperMoment(order, t1).diff(t1), AT) / slope - 1) < 1e-10


def test_derivative_of_the_folded_moment_follows_the_chain_rule():
    q = sp.Function("q")
    assert UpperMoment(2, q(t1)).diff(t1) == -(q(t1) ** 2) * Density(q(t1)) * q(t1).diff(t1)
    with pytest.raises(ArgumentIndexError):
        UpperMoment(sp.Symbol("n"), t1).fdiff(1)


def test_indicator_is_open_at_its_point():
    """A job that needs exactly t completes there: 1{S > t} is zero at S = t."""
    one, two = sp.Integer(1), sp.Integer(2)
    assert Indicator(S, 0) == 1
    assert Indicator(S, sp.oo) == 0
    assert Indicator(S, t1) ** 3 == Indicator(S, t1)
    assert expectation(Indicator(S, t1), [t1]) == tail(t1)
    assert Indicator(one, two).args == (one, two)  # stays folded: whether S > t is the integrator's business


def test_moments_render():
    for expression in (tail(t1), mean(), mean(order=2), UpperMoment(2, t1), mean(L), Density(t1), Indicator(S, t1)):
        for text in (sp.latex(expression), sp.latex(expression**2)):
            assert "Moment" not in text
            assert "Indicator" not in text
            assert "Density" not in text
