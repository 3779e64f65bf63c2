"""A discipline is one expression: everything derived from the piece, for the paper's and for one that moves state out."""

import pytest
import sympy as sp
from by_value import differ

from mlptsym.symbolic.algebra.symbols import boundary, cost, level, service, unload
from mlptsym.symbolic.distribution.moments import piece_moments, response_moments, served_moments
from mlptsym.symbolic.mean.gradient import boundary_slope, level_slopes, waiting_slopes
from mlptsym.symbolic.mean.response import carried_sums, level_terms, mean_response_time
from mlptsym.symbolic.mean.slowdown import mean_slowdown
from mlptsym.symbolic.mean.waiting import merged_wait_by_correction, merged_wait_by_pieces, waiting_time
from mlptsym.symbolic.model.moments import Indicator, expectation
from mlptsym.symbolic.policies.algorithm import boundaries, piece, service_before
from mlptsym.symbolic.policies.discipline import RESTORING, UNLOADING

K = 3
AT_ZERO = {boundary[0]: 0, cost[0]: 0, unload[0]: 0}


@pytest.mark.parametrize("needed", [1, 2, 3, 4, 5, 8, 31])
def test_a_literal_run_for_one_job(needed):
    """Four levels with boundaries 2, 4, 6: u_r is paid at the end of each quantum after which the job goes on."""
    expected, done, here = [], sp.Integer(0), 1
    while done < needed:
        served = min(needed, 2 * here if here < 4 else sp.oo) - done
        done, here = done + served, here + 1
        expected.append(sp.Rational(here - 2, 3) + served + (sp.Rational(here - 1, 7) if done < needed else 0))
    numbers = {service: sp.Integer(needed)}
    for r in range(1, 4):
        numbers |= {boundary[r]: sp.Integer(2 * r), cost[r]: sp.Rational(r, 3), unload[r]: sp.Rational(r, 7)}

    def value(expression):
        return expression.xreplace(numbers).replace(Indicator, lambda a, b: sp.Integer(bool(a > b)))

    stated = [value(piece(r, last=r == 4, discipline=UNLOADING)) for r in range(1, 5)]
    assert stated == expected + [0] * (4 - len(expected))
    assert value(service_before(len(expected), UNLOADING)) == sum(expected[:-1])


def test_parts_of_a_piece():
    """h + (S − t_{r−1}) when the job completes, h + (t_r − t_{r−1}) + u_r when it goes on."""
    r = level
    assert UNLOADING.before_service(r) == RESTORING.before_service(r) == cost[r - 1]
    assert (RESTORING.after_service(r), UNLOADING.after_service(r)) == (0, unload[r])
    assert sp.expand(UNLOADING.completing(r, last=True) - cost[r - 1] - service + boundary[r - 1]) == 0
    assert sp.expand(UNLOADING.passed(r) - RESTORING.passed(r) - unload[r]) == 0


@pytest.mark.parametrize(("index", "levels"), [(j, k) for k in range(1, 5) for j in range(1, k + 1)])
def test_both_routes_to_the_wait_agree(index, levels):
    """The paper's correction and the pieces share no step, and both contain the costs of the discipline."""
    one, other = (of(index, levels, UNLOADING) for of in (merged_wait_by_correction, merged_wait_by_pieces))
    assert other.has(unload) or levels == 1
    assert not differ(one, other)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_without_unloading_it_is_the_paper_s(levels):
    free = {unload[r]: 0 for r in range(1, levels)}
    for of in (mean_response_time, mean_slowdown):
        assert not differ(of(levels, UNLOADING).subs(free), of(levels))


def test_the_transform_has_the_mean_of_the_theorem():
    """E[T] by differentiating the transform at zero, a road that knows no waiting time."""
    total = sp.Add(*(response_moments(j, K, UNLOADING)[1] for j in range(1, K + 1)))
    assert not differ(total, mean_response_time(K, UNLOADING))


@pytest.mark.parametrize("index", [1, 2, 3])
def test_moments_of_a_piece(index):
    terms, points, last = piece_moments(UNLOADING), boundaries(1, 2), index == K
    here = piece(index, last=last, discipline=UNLOADING)
    end = sp.oo if last else boundary[index]
    start = boundary[index - 1] if index > 1 else sp.S.Zero
    (restore, _), (_, moved) = terms.costs
    values = dict(zip(terms.served[1:], served_moments(index, last=last), strict=True))
    values |= {
        terms.served[0]: expectation(Indicator(service, start), points),
        terms.passed: expectation(Indicator(service, end), points),
        terms.length: 0 if last else end - start,
        restore: cost[index - 1] if index > 1 else 0,
        moved: 0 if last else unload[index],
    }
    for n in (1, 2, 3):
        assert not differ(terms.piece[n - 1].xreplace(values), expectation(here**n, points))


@pytest.mark.parametrize("last", [False, True])
def test_step_of_the_carried_sums(last):
    """U and V, put together again, are Σ a_{r−1} E[Y_r] and Σ E[Y_r²] of one level more."""
    sums, terms = carried_sums(last=last, discipline=UNLOADING), level_terms(level + 1, last=last, discipline=UNLOADING)

    def excess(r):
        point = boundary[r]
        return expectation(sp.Max(service - point, 0), [point])

    before = sums.before
    start = {sp.Symbol("D_start", nonnegative=True): excess(level), sums.excess: 0 if last else excess(level + 1)}
    crossing = (sums.crossing_step + sums.crossing_end).xreplace(start)
    assert not differ(crossing + before * excess(level), before * terms.piece_mean)
    square_before = expectation(sp.Min(service, boundary[level]) ** 2, [boundary[level]])
    ahead = 2 * (cost[level] - boundary[level]) * excess(level)
    square = (sums.square_step + sums.square_end).xreplace(start)
    assert not differ(square - square_before + ahead, terms.piece_square)


def test_slopes_of_a_level():
    """Derivatives along t_{r−1} and t_r, the costs moving with the boundary at which they arise."""
    t, s = sp.Dummy("t", positive=True), sp.Dummy("s", positive=True)
    found, terms = level_slopes(discipline=UNLOADING), level_terms(level, discipline=UNLOADING)
    (restore, _), (_, moved) = found.cost_slopes
    costs = {cost[level - 1]: sp.Function("c")(t), unload[level]: sp.Function("u")(s)}
    rates = {sp.Function("c")(t).diff(t): restore, sp.Function("u")(s).diff(s): moved}
    back = {function: here for here, function in costs.items()} | {t: boundary[level - 1], s: boundary[level]}
    for name in ("probability", "piece_mean", "piece_square"):
        freed = getattr(terms, name).subs(costs).subs({boundary[level - 1]: t, boundary[level]: s})
        direct = found.start_slope * freed.diff(t) + found.end_slope * freed.diff(s)
        stated = getattr(found, name).subs(found.piece, terms.piece_mean)
        assert not differ(stated, direct.subs(rates).subs(back))


def test_gradient():
    """∂E[T]/∂t_1 and ∂E[T]/∂t_2 for three levels, at adjoints, against the derivative of the theorem itself."""
    t, slopes = sp.Dummy("t", positive=True), sp.symbols("dc_here du_here", nonnegative=True)
    terms, waits = boundary_slope(discipline=UNLOADING), waiting_slopes()
    levels = {r: level_terms(sp.Integer(r), last=r == K, discipline=UNLOADING) for r in range(1, K + 1)}
    before = {r: service_before(r, UNLOADING) for r in levels}
    squares = sp.Add(*(term.piece_square for term in levels.values()))
    sums = {
        j: {
            waits.terms.work_before: sp.Add(*(levels[r].piece_mean for r in levels if r < j)),
            waits.terms.work: sp.Add(*(levels[r].piece_mean for r in levels if r <= j)),
            waits.terms.before: before[j],
            waits.terms.squares: squares,
            waits.terms.crossings: sp.Add(*(before[r] * levels[r].piece_mean for r in levels if r <= j)),
        }
        for j in levels
    }
    for j in levels:
        assert not differ(waits.terms.waiting.xreplace(sums[j]), waiting_time(j, K, UNLOADING))

    def effect(name, first, last=K):
        slope, chosen = getattr(waits, name), range(first, last + 1)
        return sp.Add(*(levels[j].probability * slope.xreplace(sums[j]) for j in chosen))

    def before_adjoint(r):
        return levels[r].piece_mean * effect("crossings", r) + effect("before", r, r)

    def piece_adjoint(r):
        return 1 + effect("work", r) + effect("work_before", r + 1) + before[r] * effect("crossings", r)

    for index in range(1, K):
        place = {
            terms.waiting: waits.terms.waiting.xreplace(sums[index]),
            terms.waiting_next: waits.terms.waiting.xreplace(sums[index + 1]),
            terms.piece_adjoint: piece_adjoint(index),
            terms.piece_adjoint_next: piece_adjoint(index + 1),
            terms.square_adjoint: effect("squares", 1),
            terms.before_adjoint: before_adjoint(index + 1),
            terms.later_adjoint: sp.Add(*(before_adjoint(j) for j in range(index + 2, K + 1))),
            terms.piece_next: levels[index + 1].piece_mean,
        }
        by_adjoints = terms.slope.subs(level, index).subs(AT_ZERO).xreplace(place)
        functions = {cost[index]: sp.Function("c")(t), unload[index]: sp.Function("u")(t)}
        freed = mean_response_time(K, UNLOADING).subs(functions).subs(boundary[index], t).diff(t)
        rates = {function.diff(t): slope for function, slope in zip(functions.values(), slopes, strict=True)}
        back = {function: here for here, function in functions.items()}
        assert not differ(by_adjoints, freed.subs(rates).subs(back).subs(t, boundary[index]))
