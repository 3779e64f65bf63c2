"""The first two moments of the response time, from its transform and without it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sympy as sp

from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import Equations, agreement, everything, written_out
from mlptsym.ledger.exact.digits import DIGITS, value
from mlptsym.ledger.paper import printed
from mlptsym.ledger.paper.notation import F
from mlptsym.ledger.sections.beyond.distribution.pieces import MOST_LEVELS
from mlptsym.ledger.sections.waiting.tagged_job import total_delay
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, boundary, cost, restore_cost, service, unload_time
from mlptsym.symbolic.distribution.moments import moment_terms, piece_moments, response_moments, served_moments
from mlptsym.symbolic.distribution.transform import argument, response_transform, stretched
from mlptsym.symbolic.mean.response import mean_response_time
from mlptsym.symbolic.model.moments import Indicator, UpperMoment, expectation, tail
from mlptsym.symbolic.model.transforms import PartialTransform
from mlptsym.symbolic.policies.algorithm import boundaries, piece, service_before, work_through
from mlptsym.symbolic.policies.discipline import RESTORING, UNLOADING

_half = sp.Rational(1, 2)


cube = UpperMoment(3, 0)
Parts = tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...], tuple[sp.Expr, ...], sp.Expr, sp.Expr, tuple[sp.Expr, ...]]
ByParts = Callable[[Parts], tuple[sp.Expr, sp.Expr]]
Powers = Callable[[sp.Expr, sp.Expr], sp.Expr]


@entry(
    "transform-response",
    "the transform of T has E[T; J = j] and E[T²; J = j] as differences at 0, for exponential S and k = 3",
    r"\mathbb E[e^{-sT};J=j] = p_j - s\,\mathbb E[T;J=j] + \frac{s^2}{2}\mathbb E[T^2;J=j] - \dots",
    lambda: moments_by_parts,
    ("no new arrivals", lambda: _no_interruptions),
    ("half the variance of the busy period", lambda: partial(moments_by_parts, factor=_half)),
    source="beyond the paper",
    method="digits",
)
def check_transform(claim: ByParts) -> Outcome:
    """Divided differences of the transform at σ = ±10⁻³⁰ and 0, for exponential S with mean one and three levels.

    The equation of σ is linear in s, and gives s.
    """
    import mpmath

    place = {arrival_rate: sp.Rational(1, 3), boundary[1]: sp.S.One, boundary[2]: sp.Rational(5, 2)}
    place |= {cost[1]: sp.Rational(1, 10), cost[2]: sp.Rational(1, 4)}

    pairs = []
    with mpmath.workdps(3 * DIGITS):
        for j in range(1, MOST_LEVELS + 1):
            package = response_transform(j, MOST_LEVELS)
            stated = (*claim(parts_of(j, MOST_LEVELS)), printed.probability(j, MOST_LEVELS))
            whole, period, first, second, completed = (
                exponential(part).xreplace(place) for part in (package.expression, package.busy_period, *stated)
            )
            quotients = []
            for sigma in (mpmath.mpf(10) ** -30, -(mpmath.mpf(10) ** -30)):
                at_zero, at_one = (value(period, {argument: s, stretched: sigma}) for s in (0, 1))
                s = at_zero / (at_zero - at_one)
                quotients.append((s, (value(whole, {argument: s, stretched: sigma}) - value(completed)) / s))
            (right, rising), (left, falling) = quotients
            curvature = (rising - falling) / (right - left)
            pairs += [
                (f"E[T; J = {j}]", right * curvature - rising, value(first)),
                (f"E[T²; J = {j}]", 2 * curvature, value(second)),
            ]
        return agreement(pairs, DIGITS)


@entry(
    "transform-mean",
    "−d/ds of the transform of T at 0 is theorem 4.5",
    r"-\left.\frac{d}{ds}\right|_{s=0}\sum_{j=1}^{k}\mathbb E\left[e^{-\sigma_jV_j}\right]e^{-\sigma_ja_{j-1}}"
    r"\,\mathbb E\left[e^{-s(c_{j-1}+S-t_{j-1})};J=j\right] = \mathbb E[S_k^{\mathrm{eff}}]"
    r" + \sum_{j=1}^{k}p_jd_j",
    printed.response_time,
    ("E[S] for E[S^eff]", partial(printed.response_time, size=lambda _: UpperMoment(1, 0))),
    ("d_J for d_j", partial(printed.response_time, d=printed.merged_wait)),
    ("F̄(t_j) for p_j", partial(printed.response_time, p=lambda j, k: F(j - 1))),
    source="beyond the paper; theorem 4.5",
)
def check_mean(claim: Callable[..., sp.Expr]) -> Outcome:
    """−d/ds of the transform at 0, level by level for any level of any k, then all levels for k = 1, 2, 3.

    In any level the series of the transform, the σ in it differentiated implicitly, is that of p_j (d_j + a_{j−1}) and
    of the last piece, with the d_j of (23) and the d_J of the route of pieces.
    """
    slopes = {k: sp.Add(*(response_moments(j, k)[1] for j in range(1, k + 1))) for k in range(1, MOST_LEVELS + 1)}
    as_printed = written_out(lambda _, k: claim(k), lambda _, k: slopes[k], "−d/ds as printed", [(1, 1), (2, 2)])
    if not as_printed.holds:
        return as_printed
    terms = moment_terms()
    merged = arrival_rate * (terms.work[1] + terms.lower[1]) / (2 * (1 - arrival_rate * terms.work[0]))
    wait = total_delay(merged, terms.before, terms.interrupting[0])
    every = ("−d/ds, any level", terms.first, terms.probability * (wait + terms.before) + terms.end[0])
    whole = [
        (f"at s = 0, k = {k}", sp.Add(*(response_moments(j, k)[0] for j in range(1, k + 1))), sp.S.One) for k in slopes
    ]
    theorem = [(f"−d/ds and theorem 4.5, k = {k}", slopes[k], mean_response_time(k)) for k in slopes]
    return everything([every, *whole, *theorem], as_printed)


def takacs(cube: sp.Expr) -> sp.Expr:
    """E[T²] of FCFS: E[S²] + 2 E[S] E[W] + E[W²], E[W²] = 2 E[W]² + λ cube/(3(1 − ρ₀))."""
    mean, square = (UpperMoment(n, 0) for n in (1, 2))
    free = 1 - arrival_rate * mean
    wait = arrival_rate * square / (2 * free)
    return square + 2 * mean * wait + 2 * wait**2 + arrival_rate * cube / (3 * free)


@entry(
    "transform-second-moment",
    "d²/ds² of the transform at 0, under FCFS, is the second moment of Takács",
    r"\mathbb E[T^2] = \mathbb E[S^2]+2\mathbb E[S]\mathbb E[W]+2\mathbb E[W]^2"
    r"+\frac{\lambda\mathbb E[S^3]}{3(1-\rho_0)}",
    lambda: takacs(cube),
    ("E[S³] left out", lambda: takacs(sp.S.Zero)),
    ("2 in place of 3", lambda: takacs(cube * sp.Rational(3, 2))),
    ("E[S²]E[S] for E[S³]", lambda: takacs(UpperMoment(1, 0) * UpperMoment(2, 0))),
    source="beyond the paper; Takács 1962",
)
def check_second_moment(claim: sp.Expr) -> Equations:
    """The second derivative of the transform at 0 for one level."""
    return [("d²/ds² at 0, k = 1", response_moments(1, 1)[2], claim)]


def moments_by_parts(parts: Parts, factor: Any = 1) -> tuple[sp.Expr, sp.Expr]:
    """E[T ; J = j] and E[T² ; J = j] without a transform, from the moments in the order of `MomentTerms`.

    The work found is the sum of that of an M/G/1 queue of X_j (Takács 1962) and, with probability λΣE[Y_r]/(1 −
    λE[X_j]), of the rest of a piece, independent of it (Fuhrmann and Cooper 1985).  Time y becomes a busy period of
    mean y/(1 − λE[X_{j−1}]) and variance λyE[X_{j−1}²]/(1 − λE[X_{j−1}])³ (Conway, Maxwell and Miller 1967).

    ``factor`` multiplies the variance.
    """
    work, lower, interrupting, before, probability, end = parts
    free, open_share = 1 - arrival_rate * work[0], 1 - arrival_rate * interrupting[0]
    alone, rest = (arrival_rate * moments[1] / (2 * free) for moments in (work, lower))
    found = alone + rest + before
    square = 2 * alone**2 + 2 * alone * rest + arrival_rate * (work[2] + lower[2]) / (3 * free)
    square += 2 * before * (alone + rest) + before**2
    delay = found / open_share
    delay_square = square / open_share**2 + factor * arrival_rate * interrupting[1] * found / open_share**3
    return probability * delay + end[0], probability * delay_square + 2 * delay * end[0] + end[1]


def parts_of(j: int, k: int) -> Parts:
    """What `moments_by_parts` takes, for level j of k, in upper partial moments."""
    points = boundaries(1, k - 1)

    def moments(variable: sp.Expr, most: int) -> tuple[sp.Expr, ...]:
        return tuple(expectation(variable**n, points) for n in range(1, most + 1))

    lower = [moments(piece(r, last=r == k), 3) for r in range(j + 1, k + 1)]
    start, completed = attained(j - 1), attained(j, last=j == k)
    here = Indicator(service, start) - Indicator(service, completed)
    last = restore_cost(j - 1) + service - start
    return (
        moments(work_through(j, k), 3),
        tuple(sp.Add(*(found[n] for found in lower)) for n in range(3)),
        moments(work_through(j - 1, k), 2),
        printed.before(j),
        printed.probability(j, k),
        tuple(expectation(sp.expand(last**n) * here, points) for n in (1, 2)),
    )


@entry(
    "transform-second-moment-by-level",
    "d²/ds² of the transform at 0, for a job of any level, is the second moment of a busy period that begins "
    "with the work found",
    r"\mathbb E[T^2;J=j] = p_j\,\mathbb E[D^2]+2\,\mathbb E[D]\,\mathbb E[R;J=j]+\mathbb E[R^2;J=j],\quad"
    r"\mathbb E[D^2] = \frac{\mathbb E[(V+a_{j-1})^2]}{(1-\lambda\mathbb E[X_{j-1}])^2}"
    r"+\frac{\lambda\mathbb E[X_{j-1}^2]\,\mathbb E[V+a_{j-1}]}{(1-\lambda\mathbb E[X_{j-1}])^3}",
    moments_by_parts,
    ("the busy period without variance", partial(moments_by_parts, factor=0)),
    ("no new arrivals", lambda: _no_interruptions),
    ("the pieces of lower levels left out", lambda: _no_lower_pieces),
    source="beyond the paper; Takács 1962, Conway, Maxwell and Miller 1967, Fuhrmann and Cooper 1985",
)
def check_by_parts(claim: ByParts) -> Equations:
    """The series of the transform in the moments of any level, and written out for k = 1, 2."""
    terms = moment_terms()
    free = (terms.work, terms.lower, terms.interrupting, terms.before, terms.probability, terms.end)
    pairs = [("any level", claim(free), (terms.first, terms.second))]
    pairs += [
        (f"j = {j}, k = {k}", claim(parts_of(j, k)), response_moments(j, k)[1:]) for j, k in ((1, 1), (1, 2), (2, 2))
    ]
    return (
        (f"E[T^{n}; J = j], {words}", found[n - 1], stated[n - 1]) for words, stated, found in pairs for n in (1, 2)
    )


def exponential(expression: sp.Expr) -> sp.Expr:
    """Moments and transforms of exponential S with mean one, by the integrals of x^n e^{−x} and e^{−(1 + s)x}."""

    def moment(order: sp.Expr, start: sp.Expr, _: sp.Symbol) -> sp.Expr:
        return sp.factorial(order) * sp.exp(-start) * sp.Add(*(start**n / sp.factorial(n) for n in range(order + 1)))

    def folded(_: sp.Expr, at: sp.Expr, lower: sp.Expr, upper: sp.Expr, __: sp.Symbol) -> sp.Expr:
        ends = [sp.S.Zero if end is sp.oo else sp.exp(-(1 + at) * end) for end in (lower, upper)]
        return (ends[0] - ends[1]) / (1 + at)

    return expression.replace(UpperMoment, moment).replace(PartialTransform, folded)


@entry(
    "piece-moments",
    "moments of the piece of a level and of the work through it, from the moments of the service it gives",
    r"\mathbb E[Y_r^n] = \int_{t_{r-1}}^{t_r}(c_{r-1}+s-t_{r-1})^nf(s)\,ds"
    r" + (c_{r-1}+t_r-t_{r-1})^n\bar F(t_r)",
    lambda: sp.Add,
    ("no restore cost", lambda _, served: served),
    ("the cost twice", lambda restored, served: 2 * restored + served),
    source="beyond the paper; from eq. (8)",
)
def check_piece_moments(claim: Powers) -> Equations:
    """The package's moments of a piece and of the work through it, in moments of the service of a level, for k = 2.

    E[Y_r^n], n = 1, 2, 3, as integrals over S; E[X_r^n] − E[X_{r−1}^n] and, for the jobs that complete, E[Y_r^n ; J =
    r] by the expectation operator.  For the paper's discipline, and for one that moves state out at a demotion.
    """
    k, s, points = 2, service, boundaries(1, 1)
    equations = []
    for discipline, moved_out in ((RESTORING, sp.S.Zero), (UNLOADING, unload_time(1))):
        terms = piece_moments(discipline)
        for r in range(1, k + 1):
            last, words = r == k, f", {discipline.name}"
            start, end = attained(r - 1), attained(r, last=last)
            place = dict(zip(terms.served, (tail(start), *served_moments(r, last=last)), strict=True))
            place |= {terms.before: service_before(r, discipline), terms.passed: sp.S.Zero if last else tail(end)}
            place |= {terms.costs[0][0]: restore_cost(r - 1), terms.length: sp.S.Zero if last else end - start}
            place |= {pair[1]: unload_time(r) for pair in terms.costs[1:]}
            work = [work_through(index, k, discipline) for index in (r - 1, r)]
            here = Indicator(service, start) - Indicator(service, end)
            mine = piece(r, last=last, discipline=discipline)
            for n in range(1, 4):
                stated = printed.integral(sp.expand(claim(restore_cost(r - 1), s - start) ** n), start, end)
                stated += 0 if last else (claim(restore_cost(r - 1), end - start) + moved_out) ** n * tail(end)
                before, through = (expectation(sp.expand(part) ** n, points) for part in work)
                equations += [
                    (f"E[Y_{r}^{n}]{words}", terms.piece[n - 1].xreplace(place), stated),
                    (f"E[X_{r}^{n}] − E[X_{r - 1}^{n}]{words}", terms.work[n - 1].xreplace(place), through - before),
                ]
            for n in (1, 2):
                completed = expectation(mine**n * here, points)
                equations.append((f"E[Y_{r}^{n}; J = {r}]{words}", terms.end[n - 1].xreplace(place), completed))
    return equations


def _no_interruptions(parts: Parts) -> tuple[sp.Expr, sp.Expr]:
    return moments_by_parts((*parts[:2], (sp.S.Zero, sp.S.Zero), *parts[3:]))


def _no_lower_pieces(parts: Parts) -> tuple[sp.Expr, sp.Expr]:
    return moments_by_parts((parts[0], (sp.S.Zero,) * 3, *parts[2:]))
