"""The pass over levels in machine code: the same numbers as the arrays, for every law and memory that it serves."""

import math

import mpmath
import numba
import numpy as np
import pytest
import sympy as sp

import mlptsym as mq
from mlptsym.compile import UnsupportedFunctionError, compile_expressions, compile_point_function
from mlptsym.numeric import response
from mlptsym.numeric.laws import SIZE_LAWS, moments_function
from mlptsym.numeric.level_loop import LevelPass, has_level_loop
from mlptsym.numeric.levels import level_sums

INF = math.inf
MEMORIES = [mq.LinearMemory(1.5), mq.AffineMemory(0.5, 1.0), mq.SaturatingMemory(1.0, 2.5, 0.2)]
SERVED = {
    "Exponential": mq.Exponential(0.8),
    "LogNormal": mq.LogNormal(0.2, 0.9),
    "Weibull": mq.Weibull(0.7, 1.1),
    "Gamma": mq.Gamma(0.6, 2.0),
    "Erlang": mq.Erlang(3, 2.0),
    "HyperExponential": mq.HyperExponential([0.3, 0.7], [0.4, 3.0]),
    "Uniform": mq.Uniform(0.5, 3.0),
}


def queue_of(size, load=0.75, **changes):
    parameters = {"slowdown_threshold": 1.8, "slowdown_factor": 0.5, "preemption_cost": 0.03} | changes
    unit = mq.Queue(size, 1.0, **parameters)
    return mq.Queue(size, load / unit.mean_service_time, **parameters)


def both(monkeypatch, queue, policy):
    """By arrays, and in one pass."""
    found = []
    for cells in (10**12, 1):
        monkeypatch.setattr(response, "LOOP_CELLS", cells)
        found.append(mq.solve(queue, policy))
    return found


def test_laws_without_a_loop():
    """Power laws and point masses go by arrays."""
    assert {name for name, size in SERVED.items() if has_level_loop(queue_of(size))} == set(SERVED)
    others = [mq.Lomax(3.5, 2.0), mq.Deterministic(1.0), mq.Empirical([1.0, 2.0])]
    assert {type(size) for size in (*others, *SERVED.values())} == set(SIZE_LAWS.values())
    assert not any(has_level_loop(queue_of(size)) for size in others)


@pytest.mark.parametrize(
    ("name", "memory"),
    [("LogNormal", MEMORIES[0]), ("Gamma", MEMORIES[1]), ("Uniform", MEMORIES[2])],
    ids=repr,
)
def test_one_pass_agrees_with_arrays(monkeypatch, name, memory):
    """E[T] and ρ^eff for k = 2, 4 and ∞, with unstable quanta among them, and beyond the reach of the law."""
    queue = queue_of(SERVED[name], memory=memory)
    quanta = np.array([0.02, 0.1, 0.3, 0.9, 1.8, 2.5, 40.0, 1e9])
    for levels in (2, 4, INF):
        arrays, passed = both(monkeypatch, queue, mq.MLPT(quantum=quanta, levels=levels))
        np.testing.assert_allclose(passed.effective_load, arrays.effective_load, rtol=5e-13)
        np.testing.assert_allclose(passed.mean_response_time, arrays.mean_response_time, rtol=5e-13)
        assert (passed.stable == arrays.stable).all()
    free = queue_of(SERVED[name], slowdown_factor=1.0, preemption_cost=0.0)
    arrays, passed = both(monkeypatch, free, mq.MLPT(quantum=quanta[1:], levels=INF))
    np.testing.assert_allclose(passed.mean_response_time, arrays.mean_response_time, rtol=5e-13)


def test_unequal_quanta(monkeypatch):
    queue = queue_of(SERVED["LogNormal"])
    arrays, passed = both(monkeypatch, queue, mq.MLPT(quanta=[0.5, 1.5, 1.0]))
    assert passed.mean_response_time == pytest.approx(arrays.mean_response_time, rel=1e-14)


def test_a_wrong_step_would_show(monkeypatch):
    """The two ways share the expressions only: a slightly other queue is told apart."""
    queue, other = queue_of(SERVED["LogNormal"]), queue_of(SERVED["LogNormal"], preemption_cost=0.03 + 1e-11)
    monkeypatch.setattr(response, "LOOP_CELLS", 1)
    policy = mq.MLPT(quantum=[0.5, 1.0], levels=INF)
    one, two = (mq.mean_response_time(q, policy) for q in (queue, other))
    assert (np.abs(two / one - 1) > 5e-13).all()


def test_a_pass_goes_on_where_it_was():
    queue, quanta = queue_of(SERVED["Gamma"]), np.array([0.2, 0.5])
    counts = np.array([40, 25])
    at_once = LevelPass.start(queue, quanta).through(counts)
    in_parts = LevelPass.start(queue, quanta).through(np.array([7, 25])).through(counts)
    assert (at_once.state == in_parts.state).all()
    one = in_parts.of(np.array([1]))
    assert (one.quanta, one.done, one.end) == (0.5, 25, 12.5)
    sums = level_sums(queue, np.arange(1.0, 26)[:, None] * quanta[1:], closed=False)
    for name in ("effective_mean", "squares", "crossings", "weight", "offset"):
        assert getattr(one.totals(), name) == pytest.approx(getattr(sums.totals, name), rel=1e-13)


@pytest.mark.parametrize("name", SERVED)
def test_point_functions_are_the_array_functions(name):
    size = SERVED[name]
    arrays = moments_function(name, size.phases, potential=False)
    point = compile_point_function(arrays, arrays.arguments[:-1])
    constants = point.prepare(*map(float, size.parameters))
    for x in (0.0, 1e-9, 0.7, 1.9, 2.999, 8.0):
        expected = [float(value) for value in arrays(*size.parameters, x)]
        assert point.evaluate(constants, x) == pytest.approx(expected, rel=1e-14, abs=1e-300)


def test_point_functions_keep_the_far_tail():
    """erfc of an argument whose sign sharing turns round: no 2 − erfc(z)."""
    x, y = sp.symbols("x y", positive=True)
    function = compile_point_function(compile_expressions({"x": x, "y": y}, [sp.erfc(-(x - y)), sp.erfc(y - x)]))
    assert function.evaluate(1.0, 21.0) == pytest.approx([5.395865611607901e-176] * 2, rel=1e-13)


def test_the_error_function_has_its_last_digits():
    """erfc in a vectorised loop, against 30 digits: near 0, on both sides, and as far out as it is a normal number."""
    x = sp.Symbol("x", real=True)
    erfc = compile_point_function(compile_expressions({"x": x}, [sp.erfc(x)])).evaluate

    @numba.njit
    def evaluate(points, values):
        for i in range(points.size):
            values[i] = erfc(points[i])[0]

    points = np.concatenate([np.linspace(-6.5, 6.5, 701), np.linspace(6.5, 26.5, 401), np.geomspace(1e-300, 1, 101)])
    values = np.empty_like(points)
    evaluate(points, values)
    with mpmath.workdps(30):
        errors = [float(value / mpmath.erfc(point) - 1) for point, value in zip(points, values, strict=True)]
    assert np.abs(errors).max() < 7e-16
    ends, values = np.array([-INF, -1e300, -0.0, 0.0, 26.6, 28.0, 1e300, INF, math.nan]), np.empty(9)
    evaluate(ends, values)
    assert values == pytest.approx([2, 2, 1, 1, 1.08851258854e-309, 0, 0, 0, math.nan], rel=1e-9, abs=0, nan_ok=True)


@pytest.mark.parametrize("columns", [1, 256, 300])
def test_blocks_of_columns(monkeypatch, columns):
    """Whole blocks and parts of them, with quanta in no order that take very different numbers of levels."""
    queue, generator = queue_of(SERVED["LogNormal"]), np.random.default_rng(columns)
    quanta = generator.permutation(np.geomspace(0.6, 20, columns))
    for levels in (3, INF):
        arrays, passed = both(monkeypatch, queue, mq.MLPT(quantum=quanta, levels=levels))
        np.testing.assert_allclose(passed.effective_load, arrays.effective_load, rtol=5e-13)
        np.testing.assert_allclose(passed.mean_response_time, arrays.mean_response_time, rtol=5e-13)


def test_conditions_choose_without_jumps():
    """A Piecewise in a point function: the first condition that holds, or NaN, and no trace of the other branches."""
    x = sp.Symbol("x", real=True)
    steps = sp.Piecewise((1 / x, x < 0), (sp.log(x), x > 2), (sp.S(3), x <= 1))
    evaluate = compile_point_function(compile_expressions({"x": x}, [steps])).evaluate
    found = [evaluate(value)[0] for value in (-4.0, 0.0, 1.0, 1.5, math.e)]
    assert found == pytest.approx([-0.25, 3.0, 3.0, math.nan, 1.0], nan_ok=True)


def test_constants_are_computed_once():
    x, y = sp.symbols("x y", positive=True)
    both_ = compile_expressions({"x": x, "y": y}, [sp.exp(x) * y + sp.log(x), x + sp.Max(y, 2)])
    function = compile_point_function(both_, fixed=["x"])
    assert function.evaluate(function.prepare(2.0), 3.0) == pytest.approx([math.exp(2) * 3 + math.log(2), 5.0])
    only = compile_point_function(both_, count=1)
    assert only.evaluate(2.0, 3.0) == pytest.approx([math.exp(2) * 3 + math.log(2)])


def test_division_by_zero_gives_infinity():
    x = sp.Symbol("x", real=True)
    function = compile_point_function(compile_expressions({"x": x}, [1 / x]))
    assert function.evaluate(0.0) == (INF,)


def test_functions_without_machine_code_are_refused():
    law = mq.Deterministic(1.0)
    with pytest.raises(UnsupportedFunctionError, match="Indicator"):
        compile_point_function(moments_function("Deterministic", law.phases, potential=False))
