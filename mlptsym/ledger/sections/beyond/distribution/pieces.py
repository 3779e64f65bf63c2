"""Transforms of pieces of service, of the work found and of busy periods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import Equations
from mlptsym.ledger.paper import printed
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, cost, restore_cost
from mlptsym.symbolic.distribution.transform import argument, busy_period, last_piece, stretched, work_found
from mlptsym.symbolic.model.moments import Density, expectation, tail
from mlptsym.symbolic.model.transforms import PartialTransform, transform
from mlptsym.symbolic.policies.algorithm import boundaries, effective_load, piece, work_through

MOST_LEVELS = 3
"""Numbers k of levels up to which transforms are written out: with three there is a level between first and last."""


Found = Callable[[sp.Expr, sp.Expr, sp.Expr], sp.Expr]


Slopes = Callable[[sp.Expr, sp.Expr], tuple[sp.Expr, sp.Expr]]


Kernel = Callable[[sp.Expr, sp.Expr, sp.Expr], sp.Expr]
Pieces = dict[str, Callable[[int, int, sp.Expr], sp.Expr]]


def kernel(order: sp.Expr, at: sp.Expr, place: sp.Expr) -> sp.Expr:
    """x^n e^{−sx}."""
    return place**order * sp.exp(-at * place)


@entry(
    "partial-transform",
    "E[S^n e^{−sS} ; a < S ≤ b]: its derivatives in s, a and b, and its value at s = 0",
    r"\mathbb E\left[S^ne^{-sS};a<S\le b\right] = \int_a^bx^ne^{-sx}f(x)\,dx",
    kernel,
    ("e^{sx}", lambda n, at, x: kernel(n, -at, x)),
    ("one power more", lambda n, at, x: kernel(n + 1, at, x)),
    source="beyond the paper; definition of what the transform of T is written in",
)
def check_partial_transform(claim: Kernel) -> Outcome | Equations:
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
        (
            f"d/d{symbol} of the transform",
            unfolded(PartialTransform(order, argument, lower, upper).diff(symbol)),
            _number_outside(integral(order, argument, lower, upper).diff(symbol)),
        )
        for symbol in (argument, lower, upper)
    ]
    equations += [
        (f"d/d{symbol} at s = 0", unfolded(at_zero.diff(symbol)), sign * claim(order, sp.S.Zero, end) * density(end))
        for symbol, (end, sign) in ends.items()
    ]
    equations += [(f"a = b at s = {at}", PartialTransform(order, at, upper, upper), sp.S.Zero) for at in (argument, 0)]
    return equations


def _number_outside(expression: sp.Expr) -> sp.Expr:
    """Integrals without a number or two powers of one base in the integrand."""

    def moved(node: sp.Integral) -> sp.Expr:
        factor, rest = sp.powsimp(node.function).as_coeff_Mul()
        return factor * sp.Integral(rest, *node.limits)

    return expression.replace(lambda node: isinstance(node, sp.Integral), moved)


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


@entry(
    "transform-pieces",
    "transforms of the work X_j, of the piece Y_r and of the last piece, level by level",
    r"\mathbb E[e^{-\sigma X_j}] = \sum_{r=1}^je^{-\sigma(c_1+\dots+c_{r-1})}\,\mathbb E[e^{-\sigma S};J=r]"
    r" + e^{-\sigma(t_j+c_1+\dots+c_{j-1})}\bar F(t_j)",
    lambda: PIECES,
    ("c_r of the level itself", lambda: {**PIECES, "X": _cost_too_early}),
    ("no piece for jobs that go on", lambda: {**PIECES, "Y": lambda r, _, at: piece_as_stated(r, r, at)}),
    ("t_{j−1} not taken off", lambda: {**PIECES, "end": within}),
    source="beyond the paper; from eqs. (8) and (19)",
)
def check_pieces(claim: Pieces) -> Equations:
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
                (f"{name}, j = {j}, k = {k}", _in_symbols(found[name]), _in_symbols(stated(j, k, stretched)))
                for name, stated in claim.items()
            ]
    return equations


def _in_symbols(expression: sp.Expr) -> sp.Expr:
    """Every exponential and every folded transform as a symbol of its own."""
    expression = expression.replace(sp.exp, lambda exponent: sp.exp(sp.expand(exponent)))
    nodes = sorted(expression.atoms(PartialTransform, sp.exp), key=sp.default_sort_key)
    return expression.xreplace({node: sp.Symbol(f"P[{node}]", positive=True) for node in nodes})


def found_as_stated(idle: sp.Expr, lower: sp.Expr, work: sp.Expr) -> sp.Expr:
    """E[e^{−σV}] in 1 − ρ^eff, Σ_{r>j} (P(S > t_{r−1}) − Ỹ_r) and E[e^{−σX_j}]."""
    return (idle + arrival_rate * lower / stretched) / (1 - arrival_rate * (1 - work) / stretched)


@entry(
    "transform-work",
    "transform of the work that a level-j arrival finds, from the balance of e^{−σV}",
    r"\mathbb E[e^{-\sigma V}] = \frac{1-\rho^{\mathrm{eff}} + \sum_{r>j}\lambda"
    r"\left(\bar F(t_{r-1})-\tilde Y_r(\sigma)\right)/\sigma}{1-\lambda\left(1-\tilde X_j(\sigma)\right)/\sigma}",
    found_as_stated,
    ("pieces of lower levels left out", lambda: _altered(lambda a: (a[0], sp.S.Zero, a[2]))),
    ("1 in place of 1 − ρ^eff", lambda: _altered(lambda a: (sp.S.One, *a[1:]))),
    ("lower pieces counted twice", lambda: _altered(lambda a: (a[0], 2 * a[1], a[2]))),
    source="beyond the paper; lemma 4.3 is its mean",
)
def check_work_found(claim: Found) -> Equations:
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
            equations.append((f"E[e^(−σV)], j = {j}, k = {k}", _in_symbols(work_found(j, k)), _in_symbols(stated)))
    return equations


def slopes_as_stated(mean: sp.Expr, square: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """σ′(0) and σ″(0) in E[X_{j−1}] and E[X_{j−1}²]."""
    free = 1 - arrival_rate * mean
    return 1 / free, -arrival_rate * square / free**3


@entry(
    "transform-busy-period",
    "σ = s + λ(1 − E[e^{−σX_{j−1}}]) has σ′(0) = 1/(1 − λE[X_{j−1}]) and σ″(0) = −λE[X_{j−1}²]/(1 − λE[X_{j−1}])³",
    r"\sigma = s+\lambda\left(1-\tilde X_{j-1}(\sigma)\right),\quad \sigma'(0) = \frac{1}"
    r"{1-\lambda\mathbb E[X_{j-1}]},\quad \sigma''(0) = -\frac{\lambda\mathbb E[X_{j-1}^2]}"
    r"{(1-\lambda\mathbb E[X_{j-1}])^3}",
    slopes_as_stated,
    (
        "1 − λE[X] squared in σ″",
        lambda m, q: (slopes_as_stated(m, q)[0], -arrival_rate * q / (1 - arrival_rate * m) ** 2),
    ),
    ("E[X]² for E[X²]", lambda m, q: slopes_as_stated(m, m**2)),
    ("1 + λE[X]", lambda m, q: slopes_as_stated(-m, q)),
    source="beyond the paper; the busy period of Takács",
)
def check_busy_period(claim: Slopes) -> Equations:
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
            equations.append((f"σ of level {j}, derivative {order}", at_zero, sp.S.Zero))
    return equations


def _altered(change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Found:
    return lambda *arguments: found_as_stated(*change(arguments))


def _cost_too_early(j: int, k: int, at: sp.Expr) -> sp.Expr:
    shifted = {cost[r]: cost[r + 1] for r in range(1, k)}
    return through_as_stated(j, k, at).subs(shifted, simultaneous=True)
