"""The step from expressions to numbers: each known trap of generated code has its test here."""

import math
import pickle

import numpy as np
import pytest
import sympy as sp
from scipy import special

from mlptsym.compile import compile_formula, compiled
from mlptsym.compile.source import UnsupportedFunctionError
from mlptsym.laws import size_laws
from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.special import GammaDensity, RegularizedUpperGamma, RelativeExponential
from mlptsym.symbolic.model.moments import Indicator, UpperMoment
from mlptsym.symbolic.model.size_law import point

x, y = sp.symbols("x y", real=True)
a = sp.Symbol("a", positive=True)


def function_of(inputs, *expressions, numbers=()):
    outputs = {f"value_{position}": expression for position, expression in enumerate(expressions)}
    return compile_formula(Formula(inputs, outputs, frozenset(numbers)))


def one(expression, *values):
    """The value of a single expression in its symbols, in the order of their names, whichever of them are numbers."""
    names = {str(symbol): symbol for symbol in sorted(expression.free_symbols, key=str)}
    found = [
        function_of(names, expression, numbers=list(names)[:count])(**dict(zip(names, values, strict=True))).value_0
        for count in range(len(names) + 1)
    ]
    for other in found:
        np.testing.assert_allclose(other, found[0], rtol=1e-13)
    return found[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (1 / sp.uppergamma(a, x), 1 / (special.gamma(2.5) * special.gammaincc(2.5, 1.2))),
        (x / sp.uppergamma(a, x) ** 2, 1.2 / (special.gamma(2.5) * special.gammaincc(2.5, 1.2)) ** 2),
        (x ** -sp.uppergamma(a, x), 1.2 ** -(special.gamma(2.5) * special.gammaincc(2.5, 1.2))),
        (1 / RegularizedUpperGamma(a, x), 1 / special.gammaincc(2.5, 1.2)),
        (1 / GammaDensity(a, x), special.gamma(2.5) / (1.2**1.5 * math.exp(-1.2))),
        (2 / sp.gamma(a) - x, 2 / special.gamma(2.5) - 1.2),
        (1 / sp.loggamma(a * x), 1 / special.gammaln(3.0)),
        (-sp.erfc(x) / a, -special.erfc(1.2) / 2.5),
        (sp.erf(x * a), special.erf(3.0)),
    ],
)
def test_special_functions_keep_their_parentheses(expression, expected):
    assert one(expression, 2.5, 1.2) == pytest.approx(expected, rel=1e-14)


def test_values_of_the_trap_itself():
    """1/Γ(2.5, 1.2) is 0.950, not the 1.680 of a product without parentheses."""
    assert round(float(one(1 / sp.uppergamma(a, x), 2.5, 1.2)), 3) == 0.95


def test_incomplete_gamma_does_not_overflow():
    """exp(y) Γ(5/2, y) is small, and Γ(400, y) is not representable where Q(400, y) is."""
    assert one(RegularizedUpperGamma(a, x), 400.0, 390.0) == pytest.approx(special.gammaincc(400.0, 390.0))
    assert one(GammaDensity(a, x), 400.0, 390.0) == pytest.approx(0.0180, abs=1e-3)
    assert np.isfinite(one(GammaDensity(a, x), 1e6, 1e6))


def test_relative_exponential():
    """(e^z − 1)/z through z = 0."""
    points = [-700.0, -1.0, -1e-20, 0.0, 1e-20, 1e-9, 1.0]
    expected = [1 / 700, 1 - math.exp(-1), 1.0, 1.0, 1.0, 1 + 5e-10, math.e - 1]
    assert one(RelativeExponential(x), points) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    "function", [RegularizedUpperGamma(sp.Rational(5, 2), a), RelativeExponential(a), GammaDensity(3, a)]
)
def test_folded_functions_know_their_derivatives_and_values(function):
    point = sp.Rational(4, 3)
    explicit = function.doit()
    assert abs((function.diff(a) - explicit.diff(a)).doit().subs(a, point).evalf(30)) < 1e-28
    assert abs(function.subs(a, point).evalf(30) - explicit.subs(a, point).evalf(30)) < 1e-28
    with pytest.raises(sp.core.function.ArgumentIndexError):
        function.fdiff(len(function.args) + 1)
    assert type(function).__name__ not in sp.latex(function**2)


def test_known_values_of_folded_functions():
    assert RegularizedUpperGamma(a, 0) == 1
    assert RegularizedUpperGamma(a, sp.oo) == 0
    assert RelativeExponential(0) == 1
    assert RelativeExponential(sp.Float("1e-40")).evalf(30) == pytest.approx(1.0, abs=1e-30)


def test_the_far_tail_survives_shared_subexpressions():
    """Sharing negates arguments, and erfc(−z) must not become 2 − erfc(z), which has no digits left in the tail."""
    mu, sigma = size_laws()["LogNormal"].formulas().parameters
    moments = [size_laws()["LogNormal"].formulas().closed_moment(order) for order in range(4)]
    function = function_of({"mu": mu, "sigma": sigma, "x": point}, *moments, numbers=["mu", "sigma"])
    deviations = np.array([0.0, 5.0, 20.0, 36.0])
    for order, values in enumerate(function(mu=5.0, sigma=0.9, x=np.exp(5 + 0.9 * deviations))):
        whole = math.exp(5 * order + 0.405 * order**2)
        expected = whole * special.erfc((deviations - 0.9 * order) / math.sqrt(2)) / 2
        assert values == pytest.approx(expected, rel=1e-12, abs=0)


def test_untaken_branches_are_not_evaluated():
    safe = sp.Piecewise((1 / x, x > 0), (sp.log(1 - x), x > -1), (0, True))
    assert one(safe, 0.0) == 0.0
    assert one(safe, [-5, -0.5, 0, 4]).tolist() == [0.0, math.log(1.5), 0.0, 0.25]
    assert one(safe, np.array([[-5, 0], [4, 8]])).tolist() == [[0.0, 0.0], [0.25, 0.125]]


def test_piecewise_inside_an_expression_and_with_several_arguments():
    step = 1 + y * sp.Piecewise((x, x < y), (y / x, True))
    assert one(step, [[0.0], [4.0]], [1.0, 2.0]).tolist() == [[1.0, 1.0], [1.25, 2.0]]
    # no branch is taken by a number between the conditions: zero, and no warning
    assert one(sp.Piecewise((1 / x, x > 1), (2 / x, x < 0)), [0.0, 0.5, 2.0]).tolist() == [0.0, 0.0, 0.5]


def test_expressions_with_different_conditions_share_one_call():
    first = sp.Piecewise((x, x < 1), (1, True))
    second = sp.Piecewise((0, x < 2), (x**2, True))
    values = function_of({"x": x}, first, sp.Integer(7), second, x + 1)(x=[0.5, 3.0])
    assert [value.tolist() for value in values] == [[0.5, 1.0], [7.0, 7.0], [0.0, 9.0], [1.5, 4.0]]


def test_conditions_joined_by_and_or():
    inside = sp.Piecewise((1, sp.And(x > 0, x < 2)), (2, sp.Or(x < -1, x > 5)), (3, True))
    assert one(inside, [-2.0, 0.0, 1.0, 2.0, 9.0]).tolist() == [2.0, 3.0, 1.0, 3.0, 2.0]
    mixed = sp.Piecewise((1, sp.And(x > 0, y < 2)), (3, True))
    assert one(mixed, [[1.0], [-1.0]], [0.0, 5.0]).tolist() == [[1.0, 3.0], [3.0, 3.0]]


def test_minimum_of_arrays_of_different_shapes():
    assert one(sp.Min(x, y) + sp.Max(x, 1), [[0.0], [3.0]], [1.0, 2.0]).tolist() == [[1.0, 1.0], [4.0, 5.0]]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_constants_take_the_common_shape(shape):
    zero, two, same = function_of({"x": x, "y": y}, sp.S.Zero, sp.Rational(4, 2), x)(x=np.ones(shape), y=1.0)
    for value, expected in ((zero, 0.0), (two, 2.0), (same, 1.0)):
        assert isinstance(value, np.ndarray)
        assert value.shape == shape
        assert (value == expected).all()
        np.add(value, 1, out=value)  # an array of its own, not a view that several results share
    assert (zero == 1).all()


def test_integers_become_floats():
    """A whole number to a negative power raises in NumPy."""
    assert one(x**-2, np.array([1, 2, 4])).tolist() == [1.0, 0.25, 0.0625]
    assert one(x**-1, 4) == 0.25
    assert one(x * y, 2, np.arange(3)).dtype == float


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        (sp.Function("f")(x), r"f\("),
        (sp.besselj(0, x), "besselj"),
        (sp.sin(x), "sin"),
        (UpperMoment(1, a), "UpperMoment"),
        (sp.Derivative(sp.Function("f")(x), x), "Derivative|f"),
        (sp.Integral(sp.exp(x**2), x), "Integral"),
        (x + a, "a"),
        (sp.Piecewise((sp.Function("f")(x), x > 0), (0, True)), r"f\("),
        (sp.Heaviside(x), "Heaviside"),
        (sp.DiracDelta(x), "DiracDelta"),
    ],
)
def test_unknown_functions_and_loose_symbols_are_refused_when_built(expression, named):
    with pytest.raises(UnsupportedFunctionError, match=named):
        function_of({"x": x}, expression)


def test_folded_moments_may_stand_for_inputs():
    moment = UpperMoment(1, a)
    function = function_of({"first": moment, "t": a}, moment - a)
    assert function(first=3.0, t=1.0).value_0 == 2.0
    # other moments of the same symbol are not known by that
    with pytest.raises(UnsupportedFunctionError):
        function_of({"first": moment, "t": a}, UpperMoment(2, a))


def test_indicator_is_zero_at_its_point():
    assert one(Indicator(x, y), [0.5, 1.0, 1.5], 1.0).tolist() == [0.0, 0.0, 1.0]


def test_inputs_and_outputs_are_known_by_name():
    function = compile_formula(Formula({"first": x, "second": y}, {"less": x - 2 * y, "more": x + 2 * y}))
    assert function.inputs == ("first", "second")
    assert function.outputs == ("less", "more")
    record = function(second=1.0, first=5.0)
    assert (record.less, record.more) == (3.0, 7.0)
    for named in ({"first": 1.0}, {"first": 1.0, "second": 1.0, "third": 1.0}, {}):
        with pytest.raises(TypeError, match="takes the inputs first, second"):
            function(**named)


@pytest.mark.parametrize("name", ["lambda", "two words", "_0", "1x", ""])
def test_a_name_that_no_variable_can_have_is_refused(name):
    with pytest.raises(ValueError, match="name of a variable"):
        function_of({name: x}, x)


def test_names_of_functions_do_no_harm():
    function = function_of({"exp": y, "np": x}, sp.exp(x) + y)
    assert function(np=0.0, exp=1.0).value_0 == 2.0


def test_numbers_are_computed_before_they_meet_arrays():
    """One multiplication and one addition of arrays, however SymPy orders the factors."""
    function = function_of({"x": x, "y": y, "a": a}, a * x * y / 3 + a - y, numbers=["a", "y"])
    assert "((0.3333333333333333*a*y)*x) + (a - y)" in function.source.replace("y*a", "a*y")


@pytest.mark.parametrize(
    "expression",
    [
        a - x - y,
        a - 3 - x * (y - x),
        -a * x / (3 * y) - 1,
        x / (2 * a) - a / y,
        -((x + y) ** 2) - x * (y + 1) ** 3,
        x**-5 / y**2,
        2 * a ** sp.Rational(3, 2) / sp.sqrt(a + 1),
        (x - y) ** 4 * (x + y) ** -1,
        -(x + y) * sp.exp(-x),
        1 - sp.Max(x, 2 * y, a) * sp.Min(x, y),
        sp.pi * a**x,
    ],
)
def test_signs_and_quotients(expression):
    """Whatever SymPy makes of signs, powers and quotients, the code has the value of the expression."""
    inputs = {"a": a, "x": x, "y": y}
    values = {"a": 0.7, "x": 1.3, "y": 0.4}
    expected = float(expression.subs({inputs[name]: sp.Rational(str(value)) for name, value in values.items()}))
    for numbers in ([], ["a"], ["a", "x"], ["x", "y"], ["a", "x", "y"]):
        assert function_of(inputs, expression, numbers=numbers)(**values).value_0 == pytest.approx(expected, rel=1e-14)


def test_compiled_functions_pickle():
    expressions = [sp.Piecewise((RegularizedUpperGamma(2, a), a > 1), (0, True)), a**2]
    function = function_of({"a": a}, *expressions)
    again = pickle.loads(pickle.dumps(function))  # noqa: S301 (its own bytes)
    assert again == function
    assert [value.tolist() for value in again(a=[0.5, 2.0])] == [value.tolist() for value in function(a=[0.5, 2.0])]


def test_compiled_functions_are_frozen():
    with pytest.raises(AttributeError):
        function_of({"x": x}, x).inputs = ("y",)


def test_formulas_of_the_symbolic_half_are_compiled_once():
    level = compiled("mlptsym.symbolic.mean.response:level_formula", "restoring")
    assert compiled("mlptsym.symbolic.mean.response:level_formula", "restoring") is level
    assert level.outputs[0] == "probability"


def test_out_of_range_is_quiet():
    values = function_of({"x": x}, sp.exp(x), 1 / x, sp.log(x), x**3)(x=[1e300, 0.0])
    assert [value.tolist() for value in values] == [
        [math.inf, 1.0],
        [1e-300, math.inf],
        [math.log(1e300), -math.inf],
        [math.inf, 0.0],
    ]
