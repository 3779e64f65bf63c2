"""Beyond the paper: the transform of the response time, and the moments it gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import sympy as sp

from mlptsym.ledger import printed
from mlptsym.ledger.checks import Equation, everything, identities, written_out
from mlptsym.ledger.entry import Entry, Outcome, Variant
from mlptsym.ledger.waiting import total_delay
from mlptsym.symbolic.algorithm import boundaries, effective_load, piece, work_through
from mlptsym.symbolic.moments import UpperMoment, expectation, tail
from mlptsym.symbolic.response import mean_response_time
from mlptsym.symbolic.symbols import arrival_rate, attained
from mlptsym.symbolic.transform import (
    PartialTransform,
    argument,
    busy_period,
    moment_terms,
    response_moments,
    stretched,
    transform,
    work_found,
)

__all__ = ["entries"]

MOST_LEVELS = 3
Found = Callable[[sp.Expr, sp.Expr, sp.Expr], sp.Expr]
Slopes = Callable[[sp.Expr, sp.Expr], tuple[sp.Expr, sp.Expr]]


def _in_symbols(expression: sp.Expr) -> sp.Expr:
    """Every exponential and every folded transform as a symbol of its own."""
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
            for n, value in ((2, second), (1, first)):
                slope = slope.subs(sp.Derivative(solution, (argument, n)), value)
            at_zero = slope.subs(solution, 0).subs(argument, 0)
            equations.append(Equation(f"σ of level {j}, derivative {order}", at_zero, sp.S.Zero))
    return identities(equations)


Moments = Callable[[int, int], tuple[sp.Expr, sp.Expr, sp.Expr]]


def check_mean(moments: Moments, claim: Callable[..., sp.Expr]) -> Outcome:
    """−d/ds of the transform at 0, level by level for any level of any k, then all levels for k = 1, 2, 3.

    In any level the series of the transform, the σ in it differentiated implicitly, is that of p_j (d_j + a_{j−1}) and
    of the last piece, with the d_j of (23) and the d_J of the route of pieces.
    """
    slopes = {k: sp.Add(*(moments(j, k)[1] for j in range(1, k + 1))) for k in range(1, MOST_LEVELS + 1)}
    as_printed = written_out(lambda _, k: claim(k), lambda _, k: slopes[k], "−d/ds as printed", [(1, 1), (2, 2)])
    if not as_printed.holds:
        return as_printed
    terms = moment_terms()
    merged = arrival_rate * (terms.work[1] + terms.lower[1]) / (2 * (1 - arrival_rate * terms.work[0]))
    wait = total_delay(merged, terms.before, terms.interrupting[0])
    every = Equation("−d/ds, any level", terms.first, terms.probability * (wait + terms.before) + terms.end[0])
    whole = [
        Equation(f"at s = 0, k = {k}", sp.Add(*(moments(j, k)[0] for j in range(1, k + 1))), sp.S.One) for k in slopes
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


def _altered(change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Found:
    return lambda *arguments: found_as_stated(*change(arguments))


def entries() -> tuple[Entry, ...]:
    """Entries of this section."""
    cube = UpperMoment(3, 0)
    return (
        Entry(
            "transform-work",
            "transform of the work that a level-j arrival finds, from the balance of e^{−σV}",
            r"\mathbb E[e^{-\sigma V}] = \frac{1-\rho^{\mathrm{eff}} + \sum_{r>j}\lambda"
            r"\left(\bar F(t_{r-1})-\tilde Y_r(\sigma)\right)/\sigma}{1-\lambda\left(1-\tilde X_j(\sigma)\right)/\sigma}",
            "beyond the paper; lemma 4.3 is its mean",
            "proof",
            lambda: found_as_stated,
            check_work_found,
            (
                Variant("pieces of lower levels left out", lambda: _altered(lambda a: (a[0], sp.S.Zero, a[2]))),
                Variant("1 in place of 1 − ρ^eff", lambda: _altered(lambda a: (sp.S.One, *a[1:]))),
                Variant("lower pieces counted twice", lambda: _altered(lambda a: (a[0], 2 * a[1], a[2]))),
            ),
        ),
        Entry(
            "transform-busy-period",
            "σ = s + λ(1 − E[e^{−σX_{j−1}}]) has σ′(0) = 1/(1 − λE[X_{j−1}]) and "
            "σ″(0) = −λE[X_{j−1}²]/(1 − λE[X_{j−1}])³",
            r"\sigma = s+\lambda\left(1-\tilde X_{j-1}(\sigma)\right),\quad \sigma'(0) = \frac{1}"
            r"{1-\lambda\mathbb E[X_{j-1}]},\quad \sigma''(0) = -\frac{\lambda\mathbb E[X_{j-1}^2]}"
            r"{(1-\lambda\mathbb E[X_{j-1}])^3}",
            "beyond the paper; the busy period of Takács",
            "proof",
            lambda: slopes_as_stated,
            check_busy_period,
            (
                Variant(
                    "1 − λE[X] squared in σ″",
                    lambda: lambda m, q: (slopes_as_stated(m, q)[0], -arrival_rate * q / (1 - arrival_rate * m) ** 2),
                ),
                Variant("E[X]² for E[X²]", lambda: lambda m, q: slopes_as_stated(m, m**2)),
                Variant("1 + λE[X]", lambda: lambda m, q: slopes_as_stated(-m, q)),
            ),
        ),
        Entry(
            "transform-mean",
            "−d/ds of the transform of T at 0 is theorem 4.5",
            r"-\left.\frac{d}{ds}\right|_{s=0}\sum_{j=1}^{k}\mathbb E\left[e^{-\sigma_jV_j}\right]e^{-\sigma_ja_{j-1}}"
            r"\,\mathbb E\left[e^{-s(c_{j-1}+S-t_{j-1})};J=j\right] = \mathbb E[S_k^{\mathrm{eff}}]"
            r" + \sum_{j=1}^{k}p_jd_j",
            "beyond the paper; theorem 4.5",
            "proof",
            lambda: printed.response_time,
            partial(check_mean, cache(response_moments)),
            (
                Variant("E[S] for E[S^eff]", lambda: partial(printed.response_time, size=lambda _: UpperMoment(1, 0))),
                Variant("d_J for d_j", lambda: partial(printed.response_time, d=printed.merged_wait)),
                Variant("F̄(t_j) for p_j", lambda: partial(printed.response_time, p=lambda j, k: printed.F(j - 1))),
            ),
        ),
        Entry(
            "transform-second-moment",
            "d²/ds² of the transform at 0, under FCFS, is the second moment of Takács",
            r"\mathbb E[T^2] = \mathbb E[S^2]+2\mathbb E[S]\mathbb E[W]+2\mathbb E[W]^2"
            r"+\frac{\lambda\mathbb E[S^3]}{3(1-\rho_0)}",
            "beyond the paper; Takács 1962",
            "proof",
            lambda: takacs(cube),
            check_second_moment,
            (
                Variant("E[S³] left out", lambda: takacs(sp.S.Zero)),
                Variant("2 in place of 3", lambda: takacs(cube * sp.Rational(3, 2))),
                Variant("E[S²]E[S] for E[S³]", lambda: takacs(UpperMoment(1, 0) * UpperMoment(2, 0))),
            ),
        ),
    )
