"""Every memory law, eq. (1): values, slopes, lines, breaks, the age ℓ_C at which a capacity is reached, and E[T]."""

import math
from dataclasses import fields

import mpmath as mp
import numpy as np
import pytest
import reference
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import mlptsym as mq
from mlptsym import ParameterError
from mlptsym.memory import memory_laws
from mlptsym.memory.base import Memory
from mlptsym.parameters import read_law
from mlptsym.symbolic.algebra.symbols import age, preemption_cost
from mlptsym.symbolic.model.memory import restore_cost_at

LAWS = [law(*parameters) for law in memory_laws().values() for parameters in law.examples]
ALL = pytest.mark.parametrize("memory", LAWS, ids=repr)
AGES = np.array([0.0, 0.5, 4.0, 4.000001, 100.0])


@ALL
def test_growth(memory: Memory) -> None:
    g = reference.growth_of(memory)
    assert memory.growth(AGES) == pytest.approx([float(g(mp.mpf(a))) for a in AGES], rel=1e-15)
    assert memory.growth(3).shape == ()
    assert memory.growth(np.ones((2, 3))).shape == (2, 3)
    assert memory.growth([1, 2]).dtype == float


@ALL
def test_formulas_are_those_of_the_numbers(memory: Memory) -> None:
    """The restore cost is c(a) = γ g(a), eq. (4)."""
    law, g = memory.formulas(), reference.growth_of(memory)
    assert sp.simplify(restore_cost_at(law) - preemption_cost * law.growth) == 0
    assert [str(symbol) for symbol in law.parameters] == [item.name for item in fields(memory)]
    values = dict(zip(law.parameters, memory.parameters, strict=True))
    for a in AGES:
        assert float(law.growth.subs(values).subs(age, a)) == pytest.approx(float(g(mp.mpf(a))), rel=1e-15)


@ALL
def test_slope_is_the_right_derivative(memory: Memory) -> None:
    g, step = reference.growth_of(memory), mp.mpf(10) ** -9
    jumps = memory.breaks(high=200.0).right_jumps
    ages = np.setdiff1d(AGES, jumps)
    with reference.digits():
        expected = [float((g(mp.mpf(a) + step) - g(mp.mpf(a))) / step) for a in ages if a > 0]
    assert memory.slope_at(ages[ages > 0]) == pytest.approx(expected, abs=1e-7)


@ALL
@given(ages=st.lists(st.floats(0, 1e12), min_size=2, max_size=8))
def test_growth_never_falls_and_stays_near_its_line(memory: Memory, ages: list[float]) -> None:
    places = np.sort(ages)
    growth, (intercept, slope) = memory.growth(places), memory.line
    line = intercept + slope * places
    assert (np.diff(growth) >= 0).all()
    assert (growth <= line * (1 + 1e-15)).all()
    far = places >= memory.linear_from
    assert (growth[far] >= (line[far] - memory.lag) * (1 - 1e-12) - 1e-12).all()


@ALL
def test_breaks_are_all_and_of_their_kind(memory: Memory) -> None:
    """On a fine grid g is linear between neighbours but for those around a break."""
    low, high, step = 0.4, 12.3, 0.01
    found, places = memory.breaks(low, high), np.arange(low, high, step)
    growth = memory.growth(places)
    bent = np.abs(np.diff(growth, 2)) > 1e-9
    near = [np.abs(places[1:-1] - place).min() for place in found.all]
    assert all(distance < step for distance in near)
    assert all(np.abs(found.all - place).min() < 2 * step for place in places[1:-1][bent])
    assert all(((low < each) & (each < high) & (np.diff(each, prepend=low) > 0)).all() for each in (found.all,))
    for place in found.right_jumps:
        before, at, behind = memory.growth(place * np.array([1 - 1e-9, 1.0, 1 + 1e-9]))
        assert behind > at + 1e-6
        assert at == pytest.approx(before, rel=1e-8)
    for place in found.kinks:
        before, behind = memory.slope_at(place * np.array([1 - 1e-9, 1 + 1e-9]))
        assert before != behind
    assert len(found.left_jumps) == 0


def test_too_many_breaks_are_refused() -> None:
    with pytest.raises(ParameterError, match="high = inf"):
        mq.PagedMemory(1.0).breaks()


@ALL
def test_age_at_a_capacity(memory: Memory) -> None:
    """ℓ_C is where g reaches C, or just behind where; before it g is below."""
    g = reference.growth_of(memory)
    for capacity in (0.5, 2.5, 7.9, 8.0):
        reached = memory.age_at(capacity)
        if math.isinf(reached):
            assert g(mp.mpf(10) ** 300) < capacity
            continue
        assert float(g(mp.mpf(reached) * (1 + mp.mpf(10) ** -9) + mp.mpf(10) ** -9)) >= capacity * (1 - 1e-12)
        if reached > 0:
            assert float(g(mp.mpf(reached) * (1 - mp.mpf(10) ** -9))) < capacity


@ALL
def test_written_on_the_command_line(memory: Memory) -> None:
    text = f"{memory.keyword()}:{','.join(map(repr, memory.parameters))}"
    assert read_law("memory", text, memory_laws().values()) == memory
    assert memory.syntax().startswith(memory.keyword())


@ALL
@pytest.mark.parametrize("levels", [2, 3, 12, math.inf])
def test_mean_response_time_against_fifty_digits(memory: Memory, levels: float) -> None:
    """Theorem 4.5 with costs γ g(t_r), for a law whose levels end soon."""
    queue = mq.Queue(mq.Gamma(2.0, 0.5), 0.5, 2.0, 0.5, 0.02, memory)
    policy = mq.MLPT(quantum=0.7, levels=levels)
    literal = reference.ReferenceQueue(
        reference.moment_of(queue.size), 0.5, reference.growth_of(memory), 2.0, 0.5, 0.02
    )
    with reference.digits():
        exact = reference.theorem(literal, reference.equal_boundaries(literal, 0.7, levels))
    found = mq.solve(queue, policy)
    assert found.effective_load == pytest.approx(float(exact.effective_load), rel=1e-13)
    assert found.mean_response_time == pytest.approx(float(exact.mean_response_time), rel=1e-12)


@ALL
def test_simulation_agrees(memory: Memory) -> None:
    """Mean of MLPT at the ends of quanta; six standard errors, a false alarm in 5e8 tests."""
    queue = mq.Queue(mq.Gamma(2.0, 0.5), 0.5, 2.0, 0.5, 0.05, memory)
    policy = mq.MLPT(quantum=0.7, levels=4)
    result = mq.simulate(queue, policy, jobs=20_000, warmup=2_000, seeds=30, control=True)
    assert abs(result.mean - mq.mean_response_time(queue, policy)) < 6 * result.standard_error


@ALL
def test_percentiles_agree_with_the_mean(memory: Memory) -> None:
    """∫ P(T > t) dt = E[T], by levels of a distribution that meets every jump of the costs."""
    queue = mq.Queue(mq.Gamma(2.0, 0.5), 0.5, 2.0, 0.5, 0.05, memory)
    found = mq.response_time_distribution(queue, mq.MLPT(quantum=0.7, levels=4))
    times = np.concatenate([np.linspace(0.0, 40.0, 4001), np.geomspace(40.0, 4e3, 1000)[1:]])
    mean = np.trapezoid(1 - found.cdf(times), times)
    assert mean == pytest.approx(found.solution.mean_response_time, rel=2e-5)


@pytest.mark.parametrize("law", memory_laws().values(), ids=str)
def test_parameters_out_of_range(law: type[Memory]) -> None:
    good = dict(zip(law.ranges(), law.examples[0], strict=True))
    for name, allowed in law.ranges().items():
        for bad in (-1, "1", math.nan, math.inf, *([] if allowed.at_least == 0 else [0])):
            with pytest.raises(ParameterError, match=f"^{name} = "):
                law(**good | {name: bad})


def test_laws_are_values() -> None:
    assert mq.LinearMemory(2) == mq.LinearMemory(2.0)
    assert hash(mq.LinearMemory(2)) == hash(mq.LinearMemory(2.0))
    assert mq.LinearMemory(2) != mq.AffineMemory(0, 2)
