"""Lemmas 4.3 and 4.4: eqs. (15)–(18), (22), (23) as printed, and a second route to the same waiting times.

The printed right-hand sides are transcribed here for equal quanta; the package derives its own for any boundaries.
"""

import pytest
import sympy as sp
from by_value import differ

from mlptsym.symbolic.algebra.symbols import arrival_rate as rate
from mlptsym.symbolic.algebra.symbols import boundary, quantum
from mlptsym.symbolic.algebra.symbols import cost as c
from mlptsym.symbolic.mean.waiting import (
    delay_with_new_arrivals,
    merged_wait_by_correction,
    merged_wait_by_pieces,
    merged_work,
    overtaken_residual,
    remaining_work,
    waiting_time,
    work_balance,
)
from mlptsym.symbolic.model.moments import UpperMoment, expectation, mean, tail
from mlptsym.symbolic.policies.algorithm import boundaries, effective_size, service_before

PAIRS = [(j, k) for k in range(1, 6) for j in range(1, k + 1)]


def equal(expression):
    """Boundaries t_r = rθ."""
    return expression.subs({boundary[r]: r * quantum for r in range(1, 7)})


def F(r):
    return tail(r * quantum)


def printed_v(i, k):
    """(18): E[S − (i−1)θ + Σ_{r=i−1}^{k−1} c_r 1{S > rθ} | S > (i−1)θ], c_0 = 0."""
    start = (i - 1) * quantum
    costs = sp.Add(*(c[r] * F(r) for r in range(max(i - 1, 1), k)))
    return (UpperMoment(1, start) - start * F(i - 1) + costs) / F(i - 1)


def printed_O(j, k):
    """(16): λF̄(jθ)(jθ + Σ_{r=1}^{j−1} c_r) v_{j+1} + λ Σ_{r=j+1}^{k−1} F̄(rθ)(θ + c_{r−1}) v_{r+1}; zero for j = k."""
    if j == k:
        return sp.S.Zero
    merged = rate * F(j) * (j * quantum + sp.Add(*(c[r] for r in range(1, j)))) * printed_v(j + 1, k)
    lower = (F(r) * (quantum + c[r - 1]) * printed_v(r + 1, k) for r in range(j + 1, k))
    return merged + rate * sp.Add(*lower)


def printed_served(j):
    """E[min(S, jθ)]."""
    return mean() - UpperMoment(1, j * quantum) + j * quantum * F(j) if j else sp.S.Zero


def printed_b(j, k):
    """(17): E[min(S, jθ)] + Σ_{r=1}^{j−1} c_r F̄(rθ) for j < k, E[S_k^eff] for j = k."""
    served = mean() if j == k else printed_served(j)
    return served + sp.Add(*(c[r] * F(r) for r in range(1, j)))


def printed_d_J(j, k):
    """(15): (λE[(S_k^eff)²]/2 − O_J)/(1 − λ b_J)."""
    square = equal(expectation(effective_size(k) ** 2, boundaries(1, k - 1)))
    return (rate * square / 2 - printed_O(j, k)) / (1 - rate * printed_b(j, k))


def printed_d(j, k):
    """(23): (d_J + λ a_{j−1} E[X_{j−1}])/(1 − λE[X_{j−1}])."""
    before = (j - 1) * quantum + sp.Add(*(c[r] for r in range(1, j - 1)))
    work = printed_served(j - 1) + sp.Add(*(c[r] * F(r) for r in range(1, j - 1)))
    return (printed_d_J(j, k) + rate * before * work) / (1 - rate * work)


@pytest.mark.parametrize(("i", "k"), [(i, k) for k in range(2, 6) for i in range(2, k + 1)])
def test_remaining_work(i, k):
    assert not differ(equal(remaining_work(i, k)), printed_v(i, k))


@pytest.mark.parametrize(("j", "k"), PAIRS)
def test_overtaken_residual(j, k):
    stated = equal(overtaken_residual(j, k))
    assert not differ(stated, printed_O(j, k))
    if j < k - 1:
        # the cost at the head of a piece is that of the level above: c_r in place of c_{r−1} is told apart
        wrong = printed_O(j, k).xreplace({c[r]: c[r + 1] for r in range(1, k)})
        assert differ(stated, wrong)


@pytest.mark.parametrize(("j", "k"), PAIRS)
def test_merged_work(j, k):
    assert not differ(equal(merged_work(j, k)), printed_b(j, k))


@pytest.mark.parametrize(("j", "k"), PAIRS)
def test_both_routes_give_the_same_wait(j, k):
    """d_J by eq. (15) and by the mean drift of the work V, for any boundaries."""
    by_correction, by_pieces = merged_wait_by_correction(j, k), merged_wait_by_pieces(j, k)
    assert not differ(by_correction, by_pieces)
    assert not differ(equal(by_correction), printed_d_J(j, k))
    if k <= 3:
        assert sp.cancel(by_correction - by_pieces) == 0


@pytest.mark.parametrize(("j", "k"), PAIRS)
def test_total_wait(j, k):
    assert not differ(equal(waiting_time(j, k)), printed_d(j, k))


@pytest.mark.parametrize("k", range(1, 6))
def test_ends_of_the_wait(k):
    """At j = 1 nothing delays a job further, so d_1 = d_J; at j = k the merged queue is P–K with effective sizes."""
    assert not differ(waiting_time(1, k), merged_wait_by_correction(1, k))
    square = expectation(effective_size(k) ** 2, boundaries(1, k - 1))
    assert not differ(merged_wait_by_pieces(k, k), rate * square / (2 * (1 - rate * merged_work(k, k))))


def test_delay_with_new_arrivals():
    """Eqs. (24), (25): D = d + λ (D + a) x."""
    d, a, x = sp.symbols("d a x", positive=True)
    total = delay_with_new_arrivals(d, a, x)
    assert sp.simplify(d + rate * (total + a) * x - total) == 0
    assert sp.simplify(total - (d + rate * a * x) / (1 - rate * x)) == 0


def test_mean_drift_of_the_work():
    """E[(V + X)² − V²] λ − 2 E[V] + λ Σ E[Y²]: zero at the Pollaczek–Khinchine work when nothing is below."""
    x, square = sp.symbols("x square", positive=True)
    work = rate * square / (2 * (1 - rate * x))
    assert sp.simplify(work_balance(work, x, square, sp.S.Zero)) == 0


def test_wait_does_not_change_when_lower_levels_are_cut_finer():
    """d_1 depends on lower levels through Σ E[Y_r²] alone: cutting a level without cost only lowers it."""
    two, three = merged_wait_by_pieces(1, 2), merged_wait_by_pieces(1, 3)
    cut = boundary[2] - boundary[1]
    free = {c[1]: sp.S.Zero, c[2]: sp.S.Zero}
    later = UpperMoment(1, boundary[2]) - boundary[2] * tail(boundary[2])  # E[(S − t_2)⁺]
    gain = rate * 2 * cut * later / (2 * (1 - rate * merged_work(1, 2)))
    assert not differ((two - three).xreplace(free), gain)


def test_service_before_is_what_the_printed_wait_uses():
    for j in range(1, 6):
        before = (j - 1) * quantum + sp.Add(*(c[r] for r in range(1, j - 1)))
        assert sp.expand(equal(service_before(j)) - before) == 0
