"""Beyond the paper: the transform of the response time, and the moments it gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sympy as sp

from mlptsym.ledger.entry import Entry, Outcome
from mlptsym.ledger.exact.checks import Equation, agreement, everything, identities, written_out
from mlptsym.ledger.exact.digits import DIGITS, value
from mlptsym.ledger.paper import printed
from mlptsym.ledger.sections.waiting import total_delay
from mlptsym.symbolic.algorithm import boundaries, effective_load, piece, work_through
from mlptsym.symbolic.moments import Density, Indicator, UpperMoment, expectation, tail
from mlptsym.symbolic.response import mean_response_time
from mlptsym.symbolic.symbols import arrival_rate, attained, boundary, cost, restore_cost, service
from mlptsym.symbolic.transform import (
    PartialTransform,
    argument,
    busy_period,
    last_piece,
    moment_terms,
    piece_moments,
    response_moments,
    response_transform,
    served_moments,
    stretched,
    transform,
    work_found,
)

__all__ = ["entries", "exponential"]

MOST_LEVELS = 3
Found = Callable[[sp.Expr, sp.Expr, sp.Expr], sp.Expr]
Slopes = Callable[[sp.Expr, sp.Expr], tuple[sp.Expr, sp.Expr]]


Kernel = Callable[[sp.Expr, sp.Expr, sp.Expr], sp.Expr]


def kernel(order: sp.Expr, at: sp.Expr, place: sp.Expr) -> sp.Expr:
    """x^n e^{−sx}."""
    return place**order * sp.exp(-at * place)


def check_partial_transform(claim: Kernel) -> Outcome:
    """What the package knows of E[S^n e^{−sS} ; a < S ≤ b], for any n, against ∫ x^n e^{−sx} f(x) dx over (a, b].

    Derivatives are those SymPy finds for the integral; the value at s = 0 has the same ones in a and b, and both
    are zero at a = b.
    """
    density, x = sp.Function("f"), sp.Symbol("x", positive=True)
    order = sp.Symbol("n", integer=True, positive=True)
    lower, upper = sp.symbols("a b", positive=True)

    def integral(n: sp.Expr, at: sp.Expr, start: sp.Expr, end: sp.Expr) -> sp.Expr:
        return sp.Integral(claim(n, at, x) * density(x), (x, start, end))

    def unfolded(expression: sp.Expr) -> sp.Expr:
        integrals = expression.replace(PartialTransform, lambda *arguments: integral(*arguments[:4]))
        return _number_outside(integrals.replace(Density, lambda at, _: density(at)))

    at_zero = PartialTransform(order, 0, lower, upper)
    ends = {upper: (upper, 1), lower: (lower, -1)}
    equations = [
        Equation(
            f"d/d{symbol} of the transform",
            unfolded(PartialTransform(order, argument, lower, upper).diff(symbol)),
            _number_outside(integral(order, argument, lower, upper).diff(symbol)),
        )
        for symbol in (argument, lower, upper)
    ]
    equations += [
        Equation(
            f"d/d{symbol} at s = 0", unfolded(at_zero.diff(symbol)), sign * claim(order, sp.S.Zero, end) * density(end)
        )
        for symbol, (end, sign) in ends.items()
    ]
    equations += [
        Equation(f"a = b at s = {at}", PartialTransform(order, at, upper, upper), sp.S.Zero) for at in (argument, 0)
    ]
    return identities(equations)


def _number_outside(expression: sp.Expr) -> sp.Expr:
    """Integrals without a number or two powers of one base in the integrand."""

    def moved(node: sp.Integral) -> sp.Expr:
        factor, rest = sp.powsimp(node.function).as_coeff_Mul()
        return factor * sp.Integral(rest, *node.limits)

    return expression.replace(lambda node: isinstance(node, sp.Integral), moved)


Pieces = dict[str, Callable[[int, int, sp.Expr], sp.Expr]]


def within(r: int, k: int, at: sp.Expr) -> sp.Expr:
    """E[e^{−σS} ; J = r]."""
    return PartialTransform(0, at, attained(r - 1), attained(r, last=r == k))


def through_as_stated(j: int, k: int, at: sp.Expr) -> sp.Expr:
    """E[e^{−σX_j}] by the level in which the job completes, or is left by level j."""
    done = sp.Add(*(sp.exp(-at * printed.costs_before(r)) * within(r, k, at) for r in range(1, j + 1)))
    going_on = 0 if j == k else sp.exp(-at * (attained(j) + printed.costs_before(j))) * tail(attained(j))
    return done + going_on


def piece_as_stated(r: int, k: int, at: sp.Expr) -> sp.Expr:
    """E[e^{−σY_r}], with Y_r zero for jobs that do not reach level r."""
    start, restored = attained(r - 1), restore_cost(r - 1)
    going_on = 0 if r == k else sp.exp(-at * (restored + attained(r) - start)) * tail(attained(r))
    return 1 - tail(start) + sp.exp(-at * (restored - start)) * within(r, k, at) + going_on


def end_as_stated(j: int, k: int, at: sp.Expr) -> sp.Expr:
    """E[e^{−s(c_{j−1} + S − t_{j−1})} ; J = j]."""
    return sp.exp(-at * (restore_cost(j - 1) - attained(j - 1))) * within(j, k, at)


PIECES: Pieces = {"X": through_as_stated, "Y": piece_as_stated, "end": end_as_stated}


def check_pieces(claim: Pieces) -> Outcome:
    """The package's transforms of X_j, of Y_j and of the last piece, which it forms interval by interval, k ≤ 3."""
    equations = []
    for k in range(1, MOST_LEVELS + 1):
        points = boundaries(1, k - 1)
        for j in range(1, k + 1):
            found = {
                "X": transform(work_through(j, k), stretched, points),
                "Y": transform(piece(j, last=j == k), stretched, points),
                "end": last_piece(j, k, stretched),
            }
            equations += [
                Equation(f"{name}, j = {j}, k = {k}", _in_symbols(found[name]), _in_symbols(stated(j, k, stretched)))
                for name, stated in claim.items()
            ]
    return identities(equations)


def _in_symbols(expression: sp.Expr) -> sp.Expr:
    """Every exponential and every folded transform as a symbol of its own."""
    expression = expression.replace(sp.exp, lambda exponent: sp.exp(sp.expand(exponent)))
    nodes = sorted(expression.atoms(PartialTransform, sp.exp), key=sp.default_sort_key)
    return expression.xreplace({node: sp.Symbol(f"P[{node}]", positive=True) for node in nodes})


def found_as_stated(idle: sp.Expr, lower: sp.Expr, work: sp.Expr) -> sp.Expr:
    """E[e^{−σV}] in 1 − ρ^eff, Σ_{r>j} (P(S > t_{r−1}) − Ỹ_r) and E[e^{−σX_j}]."""
    return (idle + arrival_rate * lower / stretched) / (1 - arrival_rate * (1 - work) / stretched)


def check_work_found(claim: Found) -> Outcome:
    """The root of the balance of e^{−σV} for every level of one, two and three, with the transforms written out.

    Ỹ_r is the transform of the piece on the event that the job reaches level r, which leaves no constant at σ = ∞.
    """
    equations = []
    for k in range(1, MOST_LEVELS + 1):
        points = boundaries(1, k - 1)
        for j in range(1, k + 1):
            lower = sp.S.Zero
            for r in range(j + 1, k + 1):
                missed = 1 - tail(attained(r - 1))  # jobs that do not reach level r, for which Y_r is zero
                reached = transform(piece(r, last=r == k), stretched, points) - missed
                lower += tail(attained(r - 1)) - reached
            stated = claim(1 - effective_load(k), lower, transform(work_through(j, k), stretched, points))
            equations.append(
                Equation(f"E[e^(−σV)], j = {j}, k = {k}", _in_symbols(work_found(j, k)), _in_symbols(stated))
            )
    return identities(equations)


def slopes_as_stated(mean: sp.Expr, square: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """σ′(0) and σ″(0) in E[X_{j−1}] and E[X_{j−1}²]."""
    free = 1 - arrival_rate * mean
    return 1 / free, -arrival_rate * square / free**3


def check_busy_period(claim: Slopes) -> Outcome:
    """The equation of σ differentiated twice along its solution, at s = σ = 0, for the levels of three."""
    equations = []
    for j in range(1, MOST_LEVELS + 1):
        equation = busy_period(j, MOST_LEVELS)
        work = work_through(j - 1, MOST_LEVELS)
        mean, square = (expectation(work**n, boundaries(1, MOST_LEVELS - 1)) for n in (1, 2))
        solution = sp.Function("sigma")(argument)
        along = equation.subs(stretched, solution)
        first, second = claim(mean, square)
        for order in (1, 2):
            slope = sp.diff(along, argument, order)
            for n, known in ((2, second), (1, first)):
                slope = slope.subs(sp.Derivative(solution, (argument, n)), known)
            at_zero = slope.subs(solution, 0).subs(argument, 0)
            equations.append(Equation(f"σ of level {j}, derivative {order}", at_zero, sp.S.Zero))
    return identities(equations)


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
    every = Equation("−d/ds, any level", terms.first, terms.probability * (wait + terms.before) + terms.end[0])
    whole = [
        Equation(f"at s = 0, k = {k}", sp.Add(*(response_moments(j, k)[0] for j in range(1, k + 1))), sp.S.One)
        for k in slopes
    ]
    theorem = [Equation(f"−d/ds and theorem 4.5, k = {k}", slopes[k], mean_response_time(k)) for k in slopes]
    return everything(identities([every, *whole, *theorem]), as_printed)


def takacs(cube: sp.Expr) -> sp.Expr:
    """E[T²] of FCFS: E[S²] + 2 E[S] E[W] + E[W²], E[W²] = 2 E[W]² + λ cube/(3(1 − ρ₀))."""
    mean, square = (UpperMoment(n, 0) for n in (1, 2))
    free = 1 - arrival_rate * mean
    wait = arrival_rate * square / (2 * free)
    return square + 2 * mean * wait + 2 * wait**2 + arrival_rate * cube / (3 * free)


def check_second_moment(claim: sp.Expr) -> Outcome:
    """The second derivative of the transform at 0 for one level."""
    return identities([Equation("d²/ds² at 0, k = 1", response_moments(1, 1)[2], claim)])


Parts = tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...], tuple[sp.Expr, ...], sp.Expr, sp.Expr, tuple[sp.Expr, ...]]
ByParts = Callable[[Parts], tuple[sp.Expr, sp.Expr]]


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


def check_by_parts(claim: ByParts) -> Outcome:
    """The series of the transform in the moments of any level, and written out for k = 1, 2."""
    terms = moment_terms()
    free = (terms.work, terms.lower, terms.interrupting, terms.before, terms.probability, terms.end)
    pairs = [("any level", claim(free), (terms.first, terms.second))]
    pairs += [
        (f"j = {j}, k = {k}", claim(parts_of(j, k)), response_moments(j, k)[1:]) for j, k in ((1, 1), (1, 2), (2, 2))
    ]
    return identities(
        Equation(f"E[T^{n}; J = j], {words}", found[n - 1], stated[n - 1])
        for words, stated, found in pairs
        for n in (1, 2)
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
            bend = (rising - falling) / (right - left)
            pairs += [
                (f"E[T; J = {j}]", right * bend - rising, value(first)),
                (f"E[T²; J = {j}]", 2 * bend, value(second)),
            ]
        return agreement(pairs, DIGITS)


def exponential(expression: sp.Expr) -> sp.Expr:
    """Moments and transforms of exponential S with mean one, by the integrals of x^n e^{−x} and e^{−(1 + s)x}."""

    def moment(order: sp.Expr, start: sp.Expr, _: sp.Symbol) -> sp.Expr:
        return sp.factorial(order) * sp.exp(-start) * sp.Add(*(start**n / sp.factorial(n) for n in range(order + 1)))

    def folded(_: sp.Expr, at: sp.Expr, lower: sp.Expr, upper: sp.Expr, __: sp.Symbol) -> sp.Expr:
        ends = [sp.S.Zero if end is sp.oo else sp.exp(-(1 + at) * end) for end in (lower, upper)]
        return (ends[0] - ends[1]) / (1 + at)

    return expression.replace(UpperMoment, moment).replace(PartialTransform, folded)


Powers = Callable[[sp.Expr, sp.Expr], sp.Expr]


def check_piece_moments(claim: Powers) -> Outcome:
    """The package's moments of a piece and of the work through it, in moments of the service of a level, for k = 2.

    E[Y_r^n], n = 1, 2, 3, as integrals over S; E[X_r^n] − E[X_{r−1}^n] and, for the jobs that complete, E[Y_r^n ; J =
    r] by the expectation operator.
    """
    terms, k, s = piece_moments(), 2, service
    equations = []
    for r in range(1, k + 1):
        last = r == k
        start, end = attained(r - 1), attained(r, last=last)
        left_over = sp.S.Zero if last else tail(end)
        place = dict(zip(terms.served, (tail(start), *served_moments(r, last=last)), strict=True))
        place |= {terms.cost: restore_cost(r - 1), terms.before: printed.before(r), terms.passed: left_over}
        place[terms.length] = sp.S.Zero if last else end - start
        work = [work_through(index, k) for index in (r - 1, r)]
        here = Indicator(service, start) - Indicator(service, end)
        for n in range(1, 4):
            stated = printed.integral(sp.expand(claim(restore_cost(r - 1), s - start) ** n), start, end)
            stated += 0 if last else claim(restore_cost(r - 1), end - start) ** n * tail(end)
            before, through = (expectation(sp.expand(part) ** n, boundaries(1, k - 1)) for part in work)
            equations += [
                Equation(f"E[Y_{r}^{n}]", terms.piece[n - 1].xreplace(place), stated),
                Equation(f"E[X_{r}^{n}] − E[X_{r - 1}^{n}]", terms.work[n - 1].xreplace(place), through - before),
            ]
        for n in (1, 2):
            completed = expectation(piece(r, last=last) ** n * here, boundaries(1, k - 1))
            equations.append(Equation(f"E[Y_{r}^{n}; J = {r}]", terms.end[n - 1].xreplace(place), completed))
    return identities(equations)


def _altered(change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Found:
    return lambda *arguments: found_as_stated(*change(arguments))


def entries() -> tuple[Entry, ...]:
    """Entries of this section."""
    cube = UpperMoment(3, 0)
    return (
        Entry(
            "partial-transform",
            "E[S^n e^{−sS} ; a < S ≤ b]: its derivatives in s, a and b, and its value at s = 0",
            r"\mathbb E\left[S^ne^{-sS};a<S\le b\right] = \int_a^bx^ne^{-sx}f(x)\,dx",
            "beyond the paper; definition of what the transform of T is written in",
            lambda: kernel,
            check_partial_transform,
            {
                "e^{sx}": lambda: lambda n, at, x: kernel(n, -at, x),
                "one power more": lambda: lambda n, at, x: kernel(n + 1, at, x),
            },
        ),
        Entry(
            "transform-pieces",
            "transforms of the work X_j, of the piece Y_r and of the last piece, level by level",
            r"\mathbb E[e^{-\sigma X_j}] = \sum_{r=1}^je^{-\sigma(c_1+\dots+c_{r-1})}\,\mathbb E[e^{-\sigma S};J=r]"
            r" + e^{-\sigma(t_j+c_1+\dots+c_{j-1})}\bar F(t_j)",
            "beyond the paper; from eqs. (8) and (19)",
            lambda: PIECES,
            check_pieces,
            {
                "c_r of the level itself": lambda: {**PIECES, "X": _cost_too_early},
                "no piece for jobs that go on": lambda: {**PIECES, "Y": lambda r, _, at: piece_as_stated(r, r, at)},
                "t_{j−1} not taken off": lambda: {**PIECES, "end": within},
            },
        ),
        Entry(
            "transform-response",
            "the transform of T has E[T; J = j] and E[T²; J = j] as differences at 0, for exponential S and k = 3",
            r"\mathbb E[e^{-sT};J=j] = p_j - s\,\mathbb E[T;J=j] + \frac{s^2}{2}\mathbb E[T^2;J=j] - \dots",
            "beyond the paper",
            lambda: moments_by_parts,
            check_transform,
            {
                "no new arrivals": lambda: _no_interruptions,
                "half the variance of the busy period": lambda: partial(moments_by_parts, factor=_half),
            },
            method="digits",
        ),
        Entry(
            "transform-work",
            "transform of the work that a level-j arrival finds, from the balance of e^{−σV}",
            r"\mathbb E[e^{-\sigma V}] = \frac{1-\rho^{\mathrm{eff}} + \sum_{r>j}\lambda"
            r"\left(\bar F(t_{r-1})-\tilde Y_r(\sigma)\right)/\sigma}{1-\lambda\left(1-\tilde X_j(\sigma)\right)/\sigma}",
            "beyond the paper; lemma 4.3 is its mean",
            lambda: found_as_stated,
            check_work_found,
            {
                "pieces of lower levels left out": lambda: _altered(lambda a: (a[0], sp.S.Zero, a[2])),
                "1 in place of 1 − ρ^eff": lambda: _altered(lambda a: (sp.S.One, *a[1:])),
                "lower pieces counted twice": lambda: _altered(lambda a: (a[0], 2 * a[1], a[2])),
            },
        ),
        Entry(
            "transform-busy-period",
            "σ = s + λ(1 − E[e^{−σX_{j−1}}]) has σ′(0) = 1/(1 − λE[X_{j−1}]) and "
            "σ″(0) = −λE[X_{j−1}²]/(1 − λE[X_{j−1}])³",
            r"\sigma = s+\lambda\left(1-\tilde X_{j-1}(\sigma)\right),\quad \sigma'(0) = \frac{1}"
            r"{1-\lambda\mathbb E[X_{j-1}]},\quad \sigma''(0) = -\frac{\lambda\mathbb E[X_{j-1}^2]}"
            r"{(1-\lambda\mathbb E[X_{j-1}])^3}",
            "beyond the paper; the busy period of Takács",
            lambda: slopes_as_stated,
            check_busy_period,
            {
                "1 − λE[X] squared in σ″": lambda: (
                    lambda m, q: (slopes_as_stated(m, q)[0], -arrival_rate * q / (1 - arrival_rate * m) ** 2)
                ),
                "E[X]² for E[X²]": lambda: lambda m, q: slopes_as_stated(m, m**2),
                "1 + λE[X]": lambda: lambda m, q: slopes_as_stated(-m, q),
            },
        ),
        Entry(
            "transform-mean",
            "−d/ds of the transform of T at 0 is theorem 4.5",
            r"-\left.\frac{d}{ds}\right|_{s=0}\sum_{j=1}^{k}\mathbb E\left[e^{-\sigma_jV_j}\right]e^{-\sigma_ja_{j-1}}"
            r"\,\mathbb E\left[e^{-s(c_{j-1}+S-t_{j-1})};J=j\right] = \mathbb E[S_k^{\mathrm{eff}}]"
            r" + \sum_{j=1}^{k}p_jd_j",
            "beyond the paper; theorem 4.5",
            lambda: printed.response_time,
            check_mean,
            {
                "E[S] for E[S^eff]": lambda: partial(printed.response_time, size=lambda _: UpperMoment(1, 0)),
                "d_J for d_j": lambda: partial(printed.response_time, d=printed.merged_wait),
                "F̄(t_j) for p_j": lambda: partial(printed.response_time, p=lambda j, k: printed.F(j - 1)),
            },
        ),
        Entry(
            "transform-second-moment",
            "d²/ds² of the transform at 0, under FCFS, is the second moment of Takács",
            r"\mathbb E[T^2] = \mathbb E[S^2]+2\mathbb E[S]\mathbb E[W]+2\mathbb E[W]^2"
            r"+\frac{\lambda\mathbb E[S^3]}{3(1-\rho_0)}",
            "beyond the paper; Takács 1962",
            lambda: takacs(cube),
            check_second_moment,
            {
                "E[S³] left out": lambda: takacs(sp.S.Zero),
                "2 in place of 3": lambda: takacs(cube * sp.Rational(3, 2)),
                "E[S²]E[S] for E[S³]": lambda: takacs(UpperMoment(1, 0) * UpperMoment(2, 0)),
            },
        ),
        Entry(
            "transform-second-moment-by-level",
            "d²/ds² of the transform at 0, for a job of any level, is the second moment of a busy period that begins "
            "with the work found",
            r"\mathbb E[T^2;J=j] = p_j\,\mathbb E[D^2]+2\,\mathbb E[D]\,\mathbb E[R;J=j]+\mathbb E[R^2;J=j],\quad"
            r"\mathbb E[D^2] = \frac{\mathbb E[(V+a_{j-1})^2]}{(1-\lambda\mathbb E[X_{j-1}])^2}"
            r"+\frac{\lambda\mathbb E[X_{j-1}^2]\,\mathbb E[V+a_{j-1}]}{(1-\lambda\mathbb E[X_{j-1}])^3}",
            "beyond the paper; Takács 1962, Conway, Maxwell and Miller 1967, Fuhrmann and Cooper 1985",
            lambda: moments_by_parts,
            check_by_parts,
            {
                "the busy period without variance": lambda: partial(moments_by_parts, factor=0),
                "no new arrivals": lambda: _no_interruptions,
                "the pieces of lower levels left out": lambda: _no_lower_pieces,
            },
        ),
        Entry(
            "piece-moments",
            "moments of the piece of a level and of the work through it, from the moments of the service it gives",
            r"\mathbb E[Y_r^n] = \int_{t_{r-1}}^{t_r}(c_{r-1}+s-t_{r-1})^nf(s)\,ds"
            r" + (c_{r-1}+t_r-t_{r-1})^n\bar F(t_r)",
            "beyond the paper; from eq. (8)",
            lambda: sp.Add,
            check_piece_moments,
            {
                "no restore cost": lambda: lambda _, served: served,
                "the cost twice": lambda: lambda restored, served: 2 * restored + served,
            },
        ),
    )


_half = sp.Rational(1, 2)


def _cost_too_early(j: int, k: int, at: sp.Expr) -> sp.Expr:
    shifted = {cost[r]: cost[r + 1] for r in range(1, k)}
    return through_as_stated(j, k, at).subs(shifted, simultaneous=True)


def _no_interruptions(parts: Parts) -> tuple[sp.Expr, sp.Expr]:
    return moments_by_parts((*parts[:2], (sp.S.Zero, sp.S.Zero), *parts[3:]))


def _no_lower_pieces(parts: Parts) -> tuple[sp.Expr, sp.Expr]:
    return moments_by_parts((parts[0], (sp.S.Zero,) * 3, *parts[2:]))
