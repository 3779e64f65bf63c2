"""MLPT′ with three levels: what its first demotion leaves, its exact mean against a Markov chain, and MLPT as a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import mpmath
import sympy as sp

from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import Equations, agreement
from mlptsym.ledger.exact.digits import value
from mlptsym.ledger.paper.notation import F, c, lam, t
from mlptsym.ledger.sections.beyond.lazy.chain_three import ThreeSizes, by_chain_of_three
from mlptsym.symbolic.mean import lazy_counts, lazy_three
from mlptsym.symbolic.mean.lazy import CYCLE, quiet
from mlptsym.symbolic.mean.lazy_counts import COMPLETING, GOING_ON, PASSING, THIRD, Ends
from mlptsym.symbolic.mean.lazy_three import AFTER, ALONE, BEGUN, IDLE, IN_THIRD, LAST, WAIVED
from mlptsym.symbolic.mean.response import mean_response_time
from mlptsym.symbolic.model.moments import UpperMoment

DIGITS = 9
SIZES = ThreeSizes(sp.Rational(1, 20), (sp.Rational(1, 2), sp.Integer(1)))
MEANS = ("busy", "single", "between", "none")
FIRST = Ends.named("first")


@dataclass(frozen=True)
class Parts:
    """E[u^m ; a demotion] = of_u u^n + of_alpha α^n, over ν."""

    of_u: sp.Expr
    of_alpha: sp.Expr


OTHERS = 1 - PASSING
"""u, for which φ is taken here."""


@entry(
    "lazy-three-first",
    "from n jobs in level 1, the first demotion leaves m others with E[u^m ; a demotion] = ν(u^n − α^n)/(u − α)",
    r"\nu = \frac{\bar F(t_1)e^{-\lambda(1-u)t_1}}{1-\mathbb E[(u^A-\alpha^A)/(u-\alpha);S\le t_1]}",
    lambda: Parts(1 / (OTHERS - quiet), -1 / (OTHERS - quiet)),
    ("a demotion from no job", lambda: Parts(1 / (OTHERS - quiet), sp.S.Zero)),
    ("over 1 − α", lambda: Parts(1 / (1 - quiet), -1 / (1 - quiet))),
    source="beyond the paper; remark 1",
)
def check_first(claim: Parts) -> Equations:
    """One step from n jobs: the first is demoted and leaves n − 1 + A, or completes and leaves them.

    α^n solves it without the first, by α = E[α^A ; S ≤ t_1]; the parts of u^n, over u^(n−1), decide the other term.
    """
    completing = sp.Symbol("q", positive=True)  # E[u^A ; S ≤ t_1]
    weight = lazy_counts.first_demotion(PASSING)
    weight = weight.subs(sp.Symbol("first_between", nonnegative=True), (completing - quiet) / (OTHERS - quiet))
    at_once = F(1) * sp.exp(-lam * PASSING * t(1))
    return [
        ("parts of u^n", weight * claim.of_u * OTHERS, at_once + weight * claim.of_u * completing),
        ("from no job", claim.of_u + claim.of_alpha, sp.S.Zero),
    ]


NOTHING_WAIVED: dict[sp.Expr, sp.Expr] = dict.fromkeys((*ALONE, *AFTER, IN_THIRD, LAST), sp.S.Zero)


@entry(
    "lazy-three-mlpt",
    "three levels and no waived cost: the waits by Little's law are those of theorem 4.5; and so they are if costs are zero",
    r"e_1=e_2=0:\ \mathbb E[T_{\mathrm{MLPT}'}]=\mathbb E[T_{\mathrm{MLPT}}];\qquad "
    r"c_1=c_2=0:\ \mathbb E[T_{\mathrm{MLPT}'}]=\mathbb E[T_{\mathrm{MLPT}}]",
    lambda: (NOTHING_WAIVED, {c(1): 0, c(2): 0}),
    ("later costs waived all the same", lambda: (dict.fromkeys(ALONE, sp.S.Zero), {c(1): 0, c(2): 0})),
    ("whatever the second cost", lambda: (NOTHING_WAIVED, {c(1): 0})),
    source="beyond the paper; remark 1",
)
def check_mlpt(claim: tuple[Mapping[sp.Expr, sp.Expr], Mapping[sp.Expr, sp.Expr]]) -> Equations:
    """Theorem 4.5 has d_3 from work and its square, the package from the jobs found, in proportion to the time itself."""
    package, theorem = lazy_three.three_level_response_time(), mean_response_time(3)
    waived, free = claim
    return [
        ("no cost waived", package.subs(waived), theorem),
        ("no cost", package.subs(free), theorem.subs(free)),
    ]


@dataclass(frozen=True)
class Read:
    """What is put in place of parts of the argument."""

    counts: Mapping[sp.Expr, sp.Expr] = field(default_factory=dict)
    means: Mapping[sp.Expr, sp.Expr] = field(default_factory=dict)


def of_others() -> Read:
    """All jobs demoted from level 2 leave others in it."""
    return Read(means=dict.fromkeys(AFTER, AFTER[-1]))


@entry(
    "lazy-three-mean",
    "three levels: e_1, e_2 and E[T] are those of a Markov chain of the jobs at the ends of pieces, to nine digits",
    r"e_1\bar F(t_1),\ e_2\bar F(t_2),\ \mathbb E[T]",
    Read,
    (
        "first costs are not waived after a third piece",
        lambda: Read({BEGUN["waived"].free: 0, BEGUN["waived"].charged: 0}),
    ),
    ("the second cost is waived as often as the first", lambda: Read(means={ALONE[1]: ALONE[0]})),
    (
        "no cost is waived while a job waits in level 3",
        lambda: Read(means=dict.fromkeys((*AFTER, IN_THIRD), sp.S.Zero)),
    ),
    ("a demotion from level 2 always leaves others there", of_others),
    source="beyond the paper; remark 1",
    method="digits",
)
def check_three(claim: Read) -> Outcome:
    """Sizes 1/2, 8/5 and 17/5, of which one completes in each level; quanta of 1, λ = 1/20, γ = 1/2."""
    with mpmath.workdps(30):
        found = evaluated(claim)
        chain = by_chain_of_three(SIZES)
        return agreement(
            [(word, *pair) for word, *pair in zip(("e_1", "e_2", "E[T]"), found, chain, strict=True)], DIGITS
        )


def evaluated(claim: Read) -> tuple[Any, ...]:
    """e_1, e_2 and E[T] of the package at the sizes of the chain."""
    known = dict(_queue())

    def now(expression: sp.Expr) -> Any:
        return value(expression, known)

    known |= {CYCLE.demoting: 1 - _root(1), PASSING: 1 - _root(2)}
    (short, middle, long), (of_short, of_middle, of_long) = SIZES.sizes, SIZES.masses
    within = {
        COMPLETING: Ends.during(middle - 1) * (of_middle / (of_middle + of_long)),
        THIRD: Ends.during(long - 2),
        FIRST: Ends.during(short) * of_short,
    }
    known |= {getattr(names, part): now(getattr(ends, part)) for names, ends in within.items() for part in MEANS}
    each = lazy_counts.counts()
    for renewal in (each.waived, each.emptied, each.passed_alone, each.passed, each.cycle):
        known |= {symbol: now(renewal.solution()[str(symbol)]) for symbol in renewal.after}
    for name, symbols in BEGUN.items():
        begun = lazy_three.Begun.of(getattr(each, name).count)
        known |= {getattr(symbols, kind.name): now(getattr(begun, kind.name)) for kind in fields(begun)}
    balances = [form.subs(claim.counts) for form in lazy_three.waived_balances()]
    solution = lazy_counts.solved(balances, (*WAIVED, IDLE))
    known |= {symbol: now(form) for symbol, form in solution.items()}
    emptied = now(BEGUN["emptied"].for_each_arrival())
    known |= {ALONE[0]: now(WAIVED[0] / F(1)), ALONE[1]: now(WAIVED[1] / F(2)), LAST: emptied / now(F(1))}
    known |= {IN_THIRD: now(BEGUN["waived"].charged)}
    free = Ends.during(t(2) - t(1))
    forms = (each.waived.count.over(free), each.waived.count.over(free.after(c(1))), each.waived.after[1])
    known |= {symbol: now(form) for symbol, form in zip(AFTER, forms, strict=True)}
    mean_time = lazy_three.three_level_response_time().subs(claim.means)
    return known[ALONE[0]], known[ALONE[1]], now(mean_time)


def _queue() -> Mapping[sp.Expr, Any]:
    """Rate, boundaries and costs, and the moments of the sizes beyond each boundary."""
    ends = (sp.S.Zero, t(1), t(2))
    values = {lam: SIZES.rate, t(1): sp.S.One, t(2): sp.Integer(2), c(1): SIZES.costs[0], c(2): SIZES.costs[1]}
    moments = {
        UpperMoment(order, end): sp.Add(*(p * x**order for x, p in SIZES.atoms if x > level))
        for order in range(3)
        for level, end in enumerate(ends)
    }
    return values | moments | {GOING_ON: moments[F(2)] / moments[F(1)]}


def _root(levels: int) -> Any:
    """α, or φ for two levels, by its equation, which contracts by the load of as many levels."""
    (short, of_short), (middle, of_middle), _ = SIZES.atoms
    exponents = [(of_short, short), (of_middle, middle + SIZES.costs[0])][:levels]
    root = mpmath.mpf(0)
    for _ in range(80):
        root = mpmath.fsum(value(p) * mpmath.exp(-value(SIZES.rate * work) * (1 - root)) for p, work in exponents)
    return root
