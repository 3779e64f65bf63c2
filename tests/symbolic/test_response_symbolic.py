"""Theorem 4.5, eqs. (14), (26)–(28), for k = 1 … 5, and its steps from one level to the next for a symbolic level."""

import mpmath as mp
import pytest
import reference
import sympy as sp
from by_value import concrete, density, differ, number
from laws import test_gamma

from mlptsym.symbolic.algebra.symbols import arrival_rate as rate
from mlptsym.symbolic.algebra.symbols import attained, boundary, level, restore_cost
from mlptsym.symbolic.algebra.symbols import cost as c
from mlptsym.symbolic.mean.response import (
    carried_sums,
    fcfs_response_time,
    level_terms,
    mean_response_time,
    response_terms,
)
from mlptsym.symbolic.mean.waiting import merged_wait_by_correction, merged_work, waiting_time
from mlptsym.symbolic.model.moments import UpperMoment, expectation, mean, tail
from mlptsym.symbolic.policies.algorithm import boundaries, completion_probability, effective_size, piece, work_through

K = 4  # levels of the sums that are written out


def excess(r):
    """D_r = E[(S − t_r)⁺]; zero beyond the last level."""
    return UpperMoment(1, attained(r)) - attained(r) * tail(attained(r))


def test_fcfs_is_pollaczek_khinchine():
    """Lemma 3.1: E[T] = E[S] + λE[S²]/(2(1 − ρ₀))."""
    assert not differ(fcfs_response_time(), mean() + rate * mean(order=2) / (2 * (1 - rate * mean())))


@pytest.mark.parametrize("k", range(1, 6))
def test_mean_response_time(k):
    """Eqs. (26), (28): E[S_k^eff] + Σ p_j d_j, with d_j of eq. (23) made from the paper's d_J."""
    ends = [sp.S.Zero, *boundaries(1, k - 1)]
    total = expectation(effective_size(k), boundaries(1, k - 1))
    for j in range(1, k + 1):
        p = tail(ends[j - 1]) - (tail(ends[j]) if j < k else 0)
        before = ends[j - 1] + sp.Add(*(c[r] for r in range(1, j - 1)))
        work = merged_work(j - 1, k) if j > 1 else 0
        total += p * (merged_wait_by_correction(j, k) + rate * before * work) / (1 - rate * work)
    assert not differ(mean_response_time(k), total)


@pytest.mark.parametrize("k", range(1, 5))
def test_mean_response_time_for_a_concrete_law(k):
    """The symbolic theorem with the moments of one law is what the literal numeric transcription gives."""
    ends = [sp.Rational(3, 4), sp.Rational(8, 5), sp.Rational(7, 2)][: k - 1]
    gamma, load = sp.Rational(1, 8), sp.Rational(1, 5)
    at = {boundary[r]: end for r, end in enumerate(ends, 1)}
    at |= {c[r]: gamma * end for r, end in enumerate(ends, 1)} | {rate: load}
    with mp.workdps(reference.DIGITS):
        queue = reference.ReferenceQueue(
            test_gamma.moment(2.5, 1.0), 0.2, reference.linear(), preemption_cost=float(gamma)
        )
        assert abs(queue.size_moment(0, mp.mpf(1)) - mp.quad(density, [1, mp.inf])) < 1e-30
        literal = reference.theorem(queue, [number(end) for end in ends])
        stated = concrete(mean_response_time(k).subs(rate, sp.Rational(0.2)), at)
        assert abs(stated / literal.mean_response_time - 1) < 1e-30


@pytest.mark.parametrize("k", range(1, 6))
def test_without_levels_that_matter(k):
    """If nobody is longer than t_1, the answer is that of FCFS."""
    nobody = {UpperMoment(n, boundary[r]): sp.S.Zero for n in range(3) for r in range(1, k)}
    assert not differ(mean_response_time(k).xreplace(nobody), fcfs_response_time())


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("index", [1, 3, level + 1])
def test_level_terms(index, last):
    terms = level_terms(index, last=last)
    start, end = attained(index - 1), attained(index, last=last)
    above, below = tail(start), tail(end)
    cost = restore_cost(index - 1)
    start_excess, end_excess = excess(index - 1), sp.S.Zero if last else excess(index)
    assert terms.probability == above - below
    assert not differ(terms.piece_mean, cost * above + start_excess - end_excess)
    assert not differ(terms.completed_service, UpperMoment(1, start) - UpperMoment(1, end))
    assert not differ(terms.served_mean, mean() - end_excess)
    inside = UpperMoment(2, start) - UpperMoment(2, end) - 2 * start * (UpperMoment(1, start) - UpperMoment(1, end))
    inside += start**2 * (above - below) + (0 if last else (end - start) ** 2 * below)  # E[(min(S, t_r) − t_{r−1})⁺²]
    square = cost**2 * above + 2 * cost * (start_excess - end_excess) + inside
    assert not differ(terms.piece_square, square)


@pytest.mark.parametrize("last", [False, True])
def test_step_of_the_carried_sums(last):
    """U_{J+1} − U_J and V_{J+1} − V_J as they are defined, for a symbolic level J."""
    sums, terms = carried_sums(last=last), level_terms(level + 1, last=last)
    start, end, cost, next_cost = attained(level), attained(level + 1), restore_cost(level), restore_cost(level + 1)
    here, after = excess(level), sp.S.Zero if last else excess(level + 1)
    numbers = {sums.excess: after}

    def capped_square(point):
        return mean(order=2) - UpperMoment(2, point) + point**2 * tail(point)

    added_before = sums.before * here
    added_after = sp.S.Zero if last else (sums.before + end - start + cost) * after
    crossings = sums.before * terms.piece_mean + added_after - added_before
    assert not differ(sums.crossing_step.xreplace(numbers), crossings)
    assert not differ(sums.crossing_end.xreplace(numbers), -added_after)

    square_after = mean(order=2) if last else capped_square(end)
    added_after = sp.S.Zero if last else 2 * (next_cost - end) * after
    squares = terms.piece_square - square_after + capped_square(start) + added_after - 2 * (cost - start) * here
    assert not differ(sums.square_step.xreplace(numbers), squares)
    assert not differ(sums.square_end.xreplace(numbers), square_after - added_after)


def test_steps_hold_no_second_moment():
    """What is summed over many levels is free of differences of second moments."""
    for last in (False, True):
        sums = carried_sums(last=last)
        for step in (sums.crossing_step, sums.square_step):
            assert not {moment for moment in step.atoms(UpperMoment) if moment.args[0] != 0}


@pytest.mark.parametrize("last_level", range(1, K + 1))
def test_telescoped_sums_are_the_direct_sums(last_level):
    """Σ_{r≤j} a_{r−1} E[Y_r] and Σ_{r≤j} E[Y_r²], from the steps, for every j ≤ k."""
    crossings, squares, before = sp.S.Zero, sp.S.Zero, sp.S.Zero
    direct_crossings, direct_squares = sp.S.Zero, sp.S.Zero
    for index in range(1, last_level + 1):
        last = index == K
        sums = carried_sums(last=last)
        step = {sums.before: before, sums.excess: sp.S.Zero if last else excess(index)}

        def here(expression, index=index, step=step):
            at_level = expression.subs(level, index - 1).subs({boundary[0]: sp.S.Zero, c[0]: sp.S.Zero})
            return at_level.subs(dict(step.items()))

        crossings, squares = crossings + here(sums.crossing_step), squares + here(sums.square_step)
        points = boundaries(1, K - 1)
        direct_crossings += before * expectation(piece(index, last=last), points)
        direct_squares += expectation(piece(index, last=last) ** 2, points)
        assert not differ(crossings + here(sums.crossing_end), direct_crossings)
        assert not differ(squares + here(sums.square_end), direct_squares)
        before += attained(index) - attained(index - 1) + restore_cost(index - 1)


@pytest.mark.parametrize("j", range(1, K + 1))
def test_wait_from_the_carried_sums(j):
    """d_j = squares · weight + offset, with the sums written out, is eq. (23)."""
    terms, points = response_terms(), boundaries(1, K - 1)
    pieces = [piece(r, last=r == K) for r in range(1, K + 1)]
    befores = [attained(r) + sp.Add(*(restore_cost(i) for i in range(r))) for r in range(j)]
    numbers = {
        terms.work: expectation(work_through(j, K), points),
        terms.work_before: expectation(work_through(j - 1, K), points) if j > 1 else sp.S.Zero,
        terms.before: befores[-1],
        terms.squares: sp.Add(*(expectation(part**2, points) for part in pieces)),
        terms.crossings: sp.Add(*(a * expectation(part, points) for a, part in zip(befores, pieces, strict=False))),
    }
    assert not differ(terms.waiting.xreplace(numbers), waiting_time(j, K))
    assert sp.simplify(terms.squares * terms.weight + terms.offset - terms.waiting) == 0
    assert not (terms.weight.has(terms.squares) or terms.offset.has(terms.squares))


def test_levels_add_up_to_the_theorem():
    points = boundaries(1, K - 1)
    total = sp.Add(*(level_terms(r, last=r == K).piece_mean for r in range(1, K + 1)))
    assert not differ(total, expectation(effective_size(K), points))
    total += sp.Add(*(completion_probability(j, last=j == K) * waiting_time(j, K) for j in range(1, K + 1)))
    assert not differ(total, mean_response_time(K))
