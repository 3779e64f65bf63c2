"""The Laplace transform of the response time, symbolically: the operator, its pieces, and moments at s = 0."""

from itertools import pairwise

import mpmath as mp
import pytest
import sympy as sp
from by_value import density, differ

from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, boundary, cost, service
from mlptsym.symbolic.distribution.moments import moment_terms, piece_moments, response_moments, served_moments
from mlptsym.symbolic.distribution.transform import (
    argument,
    busy_period,
    last_piece,
    response_transform,
    stretched,
    work_found,
)
from mlptsym.symbolic.mean.response import mean_response_time
from mlptsym.symbolic.mean.waiting import merged_wait_by_pieces
from mlptsym.symbolic.model.moments import Density, Indicator, UpperMoment, expectation, tail
from mlptsym.symbolic.model.transforms import PartialTransform, transform
from mlptsym.symbolic.policies.algorithm import boundaries, completion_probability, effective_load, piece, work_through

POINT = {
    **{boundary[r]: sp.Rational(7 * r, 10) for r in (1, 2, 3)},
    **{cost[r]: sp.Rational(r, 20) for r in (1, 2, 3)},
    argument: sp.Rational(3, 7),
    stretched: sp.Rational(5, 7),
    arrival_rate: sp.Rational(1, 5),
}
ENDS = [mp.mpf(0), *(mp.mpf(7 * r) / 10 for r in (1, 2, 3)), mp.inf]


def by_quadrature(function: sp.Expr) -> mp.mpf:
    """E of a function of S with numbers for all other symbols, for the gamma law of shape 5/2."""
    compiled = sp.lambdify(
        service, function.xreplace(POINT).replace(Indicator, lambda s, t: sp.Heaviside(s - t, 0)), "mpmath"
    )
    return mp.fsum(mp.quad(lambda s: compiled(s) * density(s), [low, high]) for low, high in pairwise(ENDS))


def number(expression: sp.Expr) -> mp.mpf:
    """The value with each folded transform or moment from the gamma law of shape 5/2, whose transforms are known."""
    shape = mp.mpf("2.5")

    def partial(order: sp.Expr, s: sp.Expr, low: sp.Expr, high: sp.Expr) -> sp.Expr:
        n, rate = int(order), 1 + mp.mpf(str(sp.N(s, 30)))
        ends = (mp.inf if end is sp.oo else rate * mp.mpf(str(sp.N(end, 30))) for end in (low, high))
        return sp.Float(mp.gammainc(shape + n, *ends) / mp.gamma(shape) / rate ** (shape + n), 30)

    at = expression.xreplace(POINT)
    at = at.replace(PartialTransform, lambda n, s, a, b, _: partial(n, s, a, b))
    at = at.replace(UpperMoment, lambda n, a, _: partial(n, sp.S.Zero, a, sp.oo))
    return mp.mpf(str(sp.N(at, 25)))


def folded(expression: sp.Expr) -> sp.Expr:
    """Each folded transform as a symbol, so that two rational expressions in them can be compared by value."""
    atoms = sorted(expression.atoms(PartialTransform), key=str)
    return expression.xreplace({atom: sp.Symbol(f"P[{atom}]") for atom in atoms})


class TestTheOperator:
    @pytest.mark.parametrize("levels", [1, 2, 3, 4])
    def test_of_all_work_through_a_level_by_quadrature(self, levels: int) -> None:
        for index in range(1, levels + 1):
            work = work_through(index, levels)
            exact = by_quadrature(sp.exp(-argument * work))
            assert abs(number(transform(work, argument, boundaries(1, levels - 1))) / exact - 1) < 1e-12

    @pytest.mark.parametrize("index", [1, 2, 3])
    def test_of_a_piece_and_of_the_last_piece_by_quadrature(self, index: int) -> None:
        here = piece(index, last=index == 3)
        exact = by_quadrature(sp.exp(-argument * here))
        assert abs(number(transform(here, argument, boundaries(1, 2))) / exact - 1) < 1e-12
        end = Indicator(service, attained(index - 1)) - (Indicator(service, attained(index)) if index < 3 else 0)
        exact = by_quadrature(sp.exp(-argument * here) * end)
        assert abs(number(last_piece(index, 3)) / exact - 1) < 1e-12

    def test_refuses_what_it_cannot_transform(self) -> None:
        with pytest.raises(ValueError, match="not linear"):
            transform(service**2, argument, [])
        with pytest.raises(ValueError, match="not constant"):
            transform(service, argument, [], event=service)

    def test_at_zero_it_is_the_probability(self) -> None:
        assert transform(work_through(2, 3), sp.S.Zero, boundaries(1, 2)) == 1

    @pytest.mark.parametrize("position", [1, 2, 3])
    def test_derivatives_of_the_folded_transform(self, position: int) -> None:
        """In s, a and b, by differences of its values."""
        s, low, high = sp.symbols("s a b", positive=True)
        point = [sp.Rational(1, 3), sp.Rational(1, 2), sp.Rational(7, 4)]
        names = (s, low, high)
        at = dict(zip(names, point, strict=True))
        folded_transform = PartialTransform(1, s, low, high)
        slope = folded_transform.diff(names[position - 1]).xreplace(at)
        slope = slope.replace(Density, lambda x, _: sp.Float(density(mp.mpf(str(sp.N(x, 30)))), 30))
        step = sp.Rational(1, 10**6)
        up, down = (
            number(folded_transform.xreplace({**at, names[position - 1]: point[position - 1] + sign * step}))
            for sign in (1, -1)
        )
        assert abs(number(slope) - (up - down) / mp.mpf("2e-6")) < 1e-9


class TestTheDerivation:
    @pytest.mark.parametrize("levels", [1, 2, 3])
    def test_work_found_is_the_printed_transform(self, levels: int) -> None:
        """[(1 − ρ) + Σ_{r>j} λ(P(S > t_{r−1}) − Ỹ_r)/σ] / [1 − λ(1 − X̃_j)/σ], not solved for."""
        points = boundaries(1, levels - 1)
        for index in range(1, levels + 1):
            lower = sum(
                arrival_rate * (1 - transform(piece(r, last=r == levels), stretched, points)) / stretched
                for r in range(index + 1, levels + 1)
            )
            work = transform(work_through(index, levels), stretched, points)
            printed = (1 - effective_load(levels) + lower) / (1 - arrival_rate * (1 - work) / stretched)
            assert not differ(folded(work_found(index, levels)), folded(printed))

    def test_the_mean_of_the_work_found_is_that_of_lemma_4_3(self) -> None:
        """−d/dσ at 0, numerically, against the root of the balance of V²."""
        for index in (1, 2, 3):
            steps = [sp.Rational(1, 10**4) * n for n in (1, 2)]
            values = [number(work_found(index, 3, at=step)) for step in steps]
            slope = (4 * (1 - values[0]) - (1 - values[1])) / 2 * 10**4
            assert abs(slope / number(merged_wait_by_pieces(index, 3)) - 1) < 1e-6

    def test_nothing_interrupts_the_first_level(self) -> None:
        assert sp.expand(busy_period(1, 3) - (stretched - argument)) == 0

    def test_the_busy_period_vanishes_at_zero(self) -> None:
        assert busy_period(3, 3).subs({argument: 0, stretched: 0}) == 0

    def test_fcfs_is_pollaczek_khinchine(self) -> None:
        whole = PartialTransform(0, argument, 0, sp.oo)
        load = arrival_rate * UpperMoment(1, 0)
        known = (1 - load) * argument / (argument - arrival_rate * (1 - whole)) * whole
        assert sp.simplify(response_transform(1, 1).expression.subs(stretched, argument) - known) == 0


class TestMoments:
    @pytest.mark.parametrize("levels", [1, 2, 3])
    def test_the_first_moment_is_theorem_4_5(self, levels: int) -> None:
        levels_moments = [response_moments(index, levels) for index in range(1, levels + 1)]
        assert sp.expand(sum(moments[0] for moments in levels_moments)) == 1
        for index, moments in enumerate(levels_moments, start=1):
            assert not differ(moments[0], completion_probability(index, last=index == levels))
        assert not differ(sum(moments[1] for moments in levels_moments), mean_response_time(levels))

    def test_the_second_moment_of_fcfs(self) -> None:
        """E[T²] = E[S²] + 2 E[S] E[W] + E[W²], E[W²] = 2 E[W]² + λE[S³]/(3(1 − ρ)) (Takács)."""
        first, second, third = (UpperMoment(n, 0) for n in (1, 2, 3))
        wait = arrival_rate * second / (2 * (1 - arrival_rate * first))
        wait_square = 2 * wait**2 + arrival_rate * third / (3 * (1 - arrival_rate * first))
        assert not differ(response_moments(1, 1)[2], second + 2 * first * wait + wait_square)

    @pytest.mark.parametrize("index", [1, 2, 3])
    def test_the_terms_by_level_are_the_moments(self, index: int) -> None:
        """What the numeric code evaluates, with the moments of pieces written out, for three levels."""
        terms, points = moment_terms(), boundaries(1, 2)
        pieces = [piece(r, last=r == 3) for r in (1, 2, 3)]
        end = Indicator(service, attained(index - 1)) - (Indicator(service, attained(index)) if index < 3 else 0)
        values = {symbol: expectation(work_through(index, 3) ** n, points) for n, symbol in enumerate(terms.work, 1)}
        for n, symbol in enumerate(terms.lower, 1):
            values[symbol] = sum((expectation(item**n, points) for item in pieces[index:]), sp.S.Zero)
        for n, symbol in enumerate(terms.interrupting, 1):
            values[symbol] = expectation(work_through(index - 1, 3) ** n, points) if index > 1 else sp.S.Zero
        values[terms.before] = (boundary[index - 1] if index > 1 else 0) + (cost[1] if index > 2 else 0)
        values[terms.probability] = expectation(end, points)
        for n, symbol in enumerate(terms.end, 1):
            values[symbol] = expectation(pieces[index - 1] ** n * end, points)
        _, first, second = response_moments(index, 3)
        assert not differ(terms.first.xreplace(values), first)
        assert not differ(terms.second.xreplace(values), second)

    @pytest.mark.parametrize("index", [1, 2, 3])
    def test_moments_of_a_piece(self, index: int) -> None:
        terms, points, last = piece_moments(), boundaries(1, 2), index == 3
        start, finish = attained(index - 1), attained(index, last=last)
        before = work_through(index - 1, 3) if index > 1 else sp.S.Zero
        restored = cost[index - 1] if index > 1 else sp.S.Zero
        values = {
            terms.served[0]: tail(start),
            **dict(zip(terms.served[1:], served_moments(index, last=last), strict=True)),
            terms.passed: tail(finish),
            terms.length: 0 if last else finish - start,
            terms.costs[0][0]: restored,
            terms.before: (boundary[index - 1] if index > 1 else 0) + (cost[1] if index > 2 else 0),
        }
        here = piece(index, last=last)
        inside = Indicator(service, start) - (0 if last else Indicator(service, finish))
        for n in (1, 2, 3):
            assert not differ(terms.piece[n - 1].xreplace(values), expectation(here**n, points))
            added = expectation((before + here) ** n, points) - expectation(before**n, points)
            assert not differ(terms.work[n - 1].xreplace(values), added)
        for n in (1, 2):
            assert not differ(terms.end[n - 1].xreplace(values), expectation(here**n * inside, points))
