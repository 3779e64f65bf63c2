"""What Algorithm 1 does for one job: eqs. (8)–(11), (13), (17), (19) as printed, for any boundaries and costs."""

import pytest
import sympy as sp
from by_value import differ, value

from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, boundary, restore_cost
from mlptsym.symbolic.algebra.symbols import cost as c
from mlptsym.symbolic.algebra.symbols import service as S
from mlptsym.symbolic.model.moments import Indicator, UpperMoment, expectation, mean, tail
from mlptsym.symbolic.policies.algorithm import (
    boundaries,
    completion_probability,
    effective_load,
    effective_size,
    piece,
    service_before,
    work_through,
)

t = boundary
LEVELS = range(1, 6)


def job(expression, service):
    """An expression for a job with a given service time, with boundaries 2, 4, 6, … and costs 1/3, 2/3, ….."""
    numbers = {t[r]: sp.Integer(2 * r) for r in range(1, 6)} | {c[r]: sp.Rational(r, 3) for r in range(1, 6)}
    here = expression.xreplace({**numbers, S: sp.sympify(service)})
    return here.replace(Indicator, lambda a, b: sp.Integer(bool(a > b)))


def test_conventions():
    """t_0 = 0, t_k = ∞, and c_0 = 0 of eq. (8)."""
    assert (attained(0), attained(3, last=True), restore_cost(0)) == (0, sp.oo, 0)
    assert boundaries(1, 3) == [t[1], t[2], t[3]]
    assert boundaries(1, 0) == []


@pytest.mark.parametrize("service", [sp.Rational(1, 2), 2, sp.Rational(7, 3), 4, 5, 6, 8, 31])
def test_pieces_of_one_job(service):
    """A literal run of Algorithm 1 for one job with four levels: the piece of each level it visits."""
    expected, done, level = [], sp.Integer(0), 1
    while done < service:
        quantum_end = 2 * level if level < 4 else sp.oo
        restore = sp.Rational(level - 1, 3)
        served = min(service, quantum_end) - done
        expected.append(restore + served)
        done, level = done + served, level + 1
    stated = [job(piece(r, last=r == 4), service) for r in range(1, 5)]
    assert stated == expected + [0] * (4 - len(expected))
    assert [job(work_through(j, 4), service) for j in range(1, 5)] == [sum(stated[:j]) for j in range(1, 5)]


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("service", [1, 2, 3, 7, 50])
def test_effective_size(levels, service):
    """Eq. (9): S_k^eff = S + Σ_{r=1}^{k−1} c_r 1{S > t_r}."""
    printed = S + sp.Add(*(c[r] * Indicator(S, t[r]) for r in range(1, levels)))
    assert job(effective_size(levels), service) == job(printed, service)


@pytest.mark.parametrize("levels", LEVELS)
def test_effective_load(levels):
    """Eqs. (10), (11): ρ_k^eff = λ (E[S] + Σ c_r P(S > t_r))."""
    printed = arrival_rate * (mean() + sp.Add(*(c[r] * tail(t[r]) for r in range(1, levels))))
    assert sp.expand(effective_load(levels) - printed) == 0


@pytest.mark.parametrize("levels", LEVELS)
def test_second_moment_of_the_effective_size(levels):
    """E[(S_k^eff)²] by squaring eq. (9): 1{S > t_r} 1{S > t_s} = 1{S > t_max(r,s)}."""
    square = expectation(effective_size(levels) ** 2, boundaries(1, levels - 1))
    printed = mean(order=2)
    for r in range(1, levels):
        printed += 2 * c[r] * UpperMoment(1, t[r])
        printed += sp.Add(*(c[r] * c[s] * tail(t[max(r, s)]) for s in range(1, levels)))
    assert sp.expand(square - printed) == 0


@pytest.mark.parametrize("levels", LEVELS)
def test_completion_probabilities(levels):
    """Eq. (13): p_j = P(t_{j−1} < S ≤ t_j), p_k = P(S > t_{k−1}); they add up to one."""
    stated = [completion_probability(j, last=j == levels) for j in range(1, levels + 1)]
    ends = [0, *boundaries(1, levels - 1)]
    for j in range(1, levels):
        assert stated[j - 1] == tail(ends[j - 1]) - tail(ends[j])
    assert stated[-1] == tail(ends[-1])
    assert sp.Add(*stated) == 1


@pytest.mark.parametrize("levels", LEVELS)
def test_merged_size(levels):
    """Eqs. (17), (19): X_j = min(S, t_j) + Σ_{r=1}^{j−1} c_r 1{S > t_r} for j < k, and X_k = S_k^eff."""
    for j in range(1, levels):
        printed = sp.Min(S, t[j]) + sp.Add(*(c[r] * Indicator(S, t[r]) for r in range(1, j)))
        points = boundaries(1, levels - 1)
        difference = expectation((work_through(j, levels) - printed) ** 2, points)
        assert difference == 0, "equal with probability one"
    assert work_through(levels, levels) == effective_size(levels)


@pytest.mark.parametrize("index", range(1, 6))
def test_service_before_a_level(index):
    """Eq. (23): a_{j−1} = t_{j−1} + Σ_{r=1}^{j−2} c_r."""
    printed = attained(index - 1) + sp.Add(*(c[r] for r in range(1, index - 1)))
    assert sp.expand(service_before(index) - printed) == 0


def test_values_can_tell_two_pieces_apart():
    first, second = (expectation(piece(r, last=False), boundaries(1, 3)) for r in (2, 3))
    assert differ(first, second)
    assert value(first) == value(first)
