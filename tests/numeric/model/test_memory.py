"""Memory growth g(a), eq. (1): values, slopes, bounding lines, and the age ℓ_C at which a capacity is reached."""

import math

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from mlptsym.numeric.model.memory import AffineMemory, LinearMemory, Memory, SaturatingMemory
from mlptsym.symbolic.algebra.symbols import age, preemption_cost
from mlptsym.symbolic.model.memory import MEMORY_LAWS, restore_cost_at
from mlptsym.validation import ParameterError

LAWS = [LinearMemory(), LinearMemory(3.75), AffineMemory(2.0, 0.5), AffineMemory(0), SaturatingMemory(1.5, 4.0, 2.0)]
AGES = np.array([0.0, 0.5, 4.0, 4.000001, 100.0])


def g(memory, a):
    """Eq. (1) with the growth each law states."""
    match memory:
        case LinearMemory(slope):
            return slope * a
        case AffineMemory(base, slope):
            return base + slope * a
        case SaturatingMemory(slope, window, base):
            return base + slope * min(a, window)
    raise AssertionError(memory)


@pytest.mark.parametrize("memory", LAWS, ids=repr)
def test_growth(memory):
    assert memory.growth(AGES) == pytest.approx([g(memory, a) for a in AGES], rel=1e-15)
    assert memory.growth(3).shape == ()
    assert memory.growth(np.ones((2, 3))).shape == (2, 3)
    assert memory.growth([1, 2]).dtype == float


@pytest.mark.parametrize("memory", LAWS, ids=repr)
def test_slope_is_the_right_derivative(memory):
    step = 1e-6
    expected = [(g(memory, a + step) - g(memory, a)) / step for a in AGES]
    assert memory.slope_at(AGES) == pytest.approx(expected, abs=1e-7)


def test_slope_at_the_bend():
    memory = SaturatingMemory(1.5, 4.0)
    assert memory.slope_at([np.nextafter(4, 0), 4.0, np.nextafter(4, 9)]).tolist() == [1.5, 0.0, 0.0]


@given(memory=st.sampled_from(LAWS), ages=st.lists(st.floats(0, 1e12), min_size=2, max_size=8))
def test_growth_never_falls_and_stays_below_its_line(memory, ages):
    ages = np.sort(ages)
    growth = memory.growth(ages)
    intercept, slope = memory.line
    assert (np.diff(growth) >= 0).all()
    assert (growth <= (intercept + slope * ages) * (1 + 1e-15)).all()
    beyond = ages[ages >= memory.smooth_from]
    assert memory.slope_at(beyond) == pytest.approx(np.full(beyond.shape, memory.slope_at(memory.smooth_from)))


@pytest.mark.parametrize("memory", LAWS, ids=repr)
def test_age_at_a_capacity(memory):
    """ℓ_C is where g reaches C: ℓ_C = C/α for linear growth."""
    for capacity in (0.5, 2.5, 7.9, 8.0):
        reached = memory.age_at(capacity)
        if g(memory, 0.0) >= capacity:
            assert reached == 0.0
        elif math.isinf(reached):
            assert g(memory, 1e300) < capacity
        else:
            assert g(memory, reached) == pytest.approx(capacity, rel=1e-15)
    assert LinearMemory(3.75).age_at(256.0) == 256.0 / 3.75


def test_a_bounded_memory_may_never_reach_the_capacity():
    memory = SaturatingMemory(slope=1.5, window=4.0, base=2.0)
    assert memory.age_at(8.0) == 4.0
    assert memory.age_at(8.0000001) == math.inf
    assert memory.line == (8.0, 0.0)


@pytest.mark.parametrize("name", sorted(MEMORY_LAWS))
def test_symbolic_laws(name):
    """The restore cost is c(a) = γ g(a), eq. (4); names and parameters are those of the numeric class."""
    law = MEMORY_LAWS[name]()
    assert sp.simplify(restore_cost_at(law) - preemption_cost * law.growth) == 0
    numeric = {memory.__class__.__name__: memory for memory in LAWS}[name]
    values = dict(zip(law.parameters, numeric.parameters, strict=True))
    for a in AGES:
        assert float(law.growth.subs(values).subs(age, a)) == pytest.approx(g(numeric, a), rel=1e-15)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LinearMemory(0), "slope = 0"),
        (lambda: LinearMemory(-1), "slope = -1"),
        (lambda: LinearMemory("1"), "slope = '1'"),
        (lambda: LinearMemory(math.inf), "slope = inf"),
        (lambda: AffineMemory(-1), "base = -1"),
        (lambda: AffineMemory(1, 0), "slope = 0"),
        (lambda: AffineMemory(math.nan), "base = nan"),
        (lambda: SaturatingMemory(1, 0), "window = 0"),
        (lambda: SaturatingMemory(0, 1), "slope = 0"),
        (lambda: SaturatingMemory(1, 1, -2), "base = -2"),
    ],
)
def test_parameters_out_of_range(build, message):
    with pytest.raises(ParameterError, match=message):
        build()


def test_laws_are_values():
    assert LinearMemory(2) == LinearMemory(2.0)
    assert hash(LinearMemory(2)) == hash(LinearMemory(2.0))
    assert LinearMemory(2) != AffineMemory(0, 2)
    assert all(isinstance(memory, Memory) for memory in LAWS)
