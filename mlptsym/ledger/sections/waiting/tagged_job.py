"""The wait of a job that completes in level j: equations (23)–(25) and lemma 4.4."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sympy as sp

from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import Claim, Equations, everything, upward, written_out
from mlptsym.ledger.paper import printed
from mlptsym.ledger.paper.notation import F, J, c
from mlptsym.ledger.sections.waiting.merged_wait import wait
from mlptsym.ledger.sections.waiting.pieces import places, survivors_piece
from mlptsym.symbolic.algebra.symbols import arrival_rate
from mlptsym.symbolic.mean import waiting
from mlptsym.symbolic.mean.response import level_terms
from mlptsym.symbolic.policies.algorithm import service_before

before, interrupting = sp.symbols("a_before E_X", nonnegative=True)
Delay = Callable[[Any, Any, Any], sp.Expr]


def total_delay(d: sp.Expr, a: sp.Expr, x: sp.Expr) -> sp.Expr:
    """(23) in d_J, a_{j−1} and E[X_{j−1}]."""
    return (d + arrival_rate * a * x) / (1 - arrival_rate * x)


def delay_by_arrivals(d: sp.Expr, a: sp.Expr, x: sp.Expr) -> sp.Expr:
    """(24) in d_J, a_{j−1} and E[X_{j−1}]."""
    return arrival_rate * (d + a) * x / (1 - arrival_rate * x)


@entry(
    "eq-23",
    "d_j = (d_J + λ a_{j−1} E[X_{j−1}]) / (1 − λE[X_{j−1}]), with (24) and (25) on the way",
    r"d_j = \frac{d_J + \lambda a_{j-1}\mathbb E[X_{j-1}]}{1 - \lambda\mathbb E[X_{j-1}]}",
    total_delay,
    ("a_{j−1} left out", lambda d, a, x: total_delay(d, 0, x)),
    ("λ left out of the divisor", lambda d, a, x: (d + arrival_rate * a * x) / (1 - x)),
)
def check_total_delay(claim: Delay) -> Equations:
    """The root D of D = d_J + λ(D + a_{j−1}) E[X_{j−1}]: all arrivals until the last level begins go first."""
    derived = waiting.delay_with_new_arrivals(wait, before, interrupting)
    return [("total wait", claim(wait, before, interrupting), derived)]


@entry(
    "eq-23-a",
    "a_J = t_J + Σ_{r<J} c_r, the time given to a job before it reaches level J + 1",
    r"a_{j-1} = (j-1)\theta + \sum_{r=1}^{j-2}c_r",
    printed.before,
    ("sum up to j − 1", lambda j: printed.before(j) + c(j - 1)),
)
def check_before(claim: Callable[[Any], sp.Expr]) -> Equations:
    """a_J from the pieces of a job that survives them."""
    return upward(
        lambda j, _: claim(j + 1), "a_J", start=survivors_piece(1) / F(1), step=survivors_piece(J + 1) / F(J + 1)
    )


@entry(
    "eq-23-X",
    "E[X_J] = E[min(S, t_J)] + Σ_{r<J} c_r F̄(t_r), the time a new arrival takes ahead of a level-(J+1) job",
    r"\mathbb E[X_{j-1}] = \mathbb E[\min\{S,(j-1)\theta\}] + \sum_{r=1}^{j-2}c_r\bar F(r\theta)",
    printed.interrupting,
    ("sum up to j − 1", lambda j: printed.interrupting(j) + c(j - 1) * F(j - 1)),
    ("min(S, t_j)", lambda j: printed.interrupting(j + 1) - c(j - 1) * F(j - 1)),
)
def check_interrupting(claim: Callable[[Any], sp.Expr]) -> Equations:
    """E[X_J] from the pieces."""
    return upward(
        lambda j, _: claim(j + 1), "E[X_J]", start=level_terms(1).piece_mean, step=level_terms(J + 1).piece_mean
    )


@entry(
    "eq-23-written-out",
    "(23) for k = 1, 2, 3 and every j",
    r"d_j = \frac{d_J + \lambda a_{j-1}\mathbb E[X_{j-1}]}{1 - \lambda\mathbb E[X_{j-1}]}",
    printed.waiting_time,
    ("a_j for a_{j−1}", partial(printed.waiting_time, ahead=lambda j: printed.before(j + 1))),
    ("E[X_j] for E[X_{j−1}]", partial(printed.waiting_time, new=lambda j: printed.interrupting(j + 1))),
)
def check_waiting_time_written_out(claim: Claim) -> Outcome:
    """The printed d_j against the package's."""
    return written_out(claim, waiting.waiting_time, "d_j", places(1, 2, 3))


@entry(
    "eq-23-a-written-out",
    "a_{j−1} for j = 1 … 4",
    r"a_{j-1} = (j-1)\theta + \sum_{r=1}^{j-2}c_r",
    printed.before,
    ("sum up to j − 1", lambda j: printed.before(j) + c(j - 1)),
)
def check_before_written_out(claim: Callable[[Any], sp.Expr]) -> Outcome:
    """The printed a_{j−1} against the package's."""
    return written_out(lambda j, _: claim(j), lambda j, _: service_before(j), "a_{j−1}", places(4))


@entry(
    "eq-24",
    "new arrivals delay a j-job by λ(d_J + a_{j−1}) E[X_{j−1}] / (1 − λE[X_{j−1}])",
    r"\frac{\lambda(d_J + a_{j-1})\mathbb E[X_{j-1}]}{1 - \lambda\mathbb E[X_{j-1}]}",
    delay_by_arrivals,
    ("arrivals during d_J only", lambda d, a, x: delay_by_arrivals(d, 0, x)),
    ("no busy periods, only the arrivals themselves", lambda d, a, x: arrival_rate * (d + a) * x),
)
def check_delay_by_arrivals(claim: Delay) -> Equations:
    """The total wait less d_J."""
    derived = waiting.delay_with_new_arrivals(wait, before, interrupting) - wait
    return [("wait for new arrivals", claim(wait, before, interrupting), derived)]


eq_25 = entry(
    "eq-25",
    "d_j = d_J + λ(d_J + a_{j−1}) E[X_{j−1}] / (1 − λE[X_{j−1}])",
    r"d_j = d_J + \frac{\lambda(d_J + a_{j-1})\mathbb E[X_{j-1}]}{1 - \lambda\mathbb E[X_{j-1}]}",
    lambda d, a, x: d + delay_by_arrivals(d, a, x),
    ("d_J left out", delay_by_arrivals),
    ("λ left out", lambda d, a, x: d + delay_by_arrivals(d, a, x) / arrival_rate),
)(check_total_delay.function)


@entry(
    "lemma-4.4",
    "(23) follows from the mean wait d_J and the busy periods of X_{j−1}; d_1 = d_J",
    r"d_j = \frac{d_J + \lambda a_{j-1}\mathbb E[X_{j-1}]}{1 - \lambda\mathbb E[X_{j-1}]},\quad d_1 = d_J",
    (total_delay, printed.before, printed.interrupting),
    ("a_{j−1} left out", (lambda d, a, x: total_delay(d, 0, x), printed.before, printed.interrupting)),
    ("a_{j−1} with c_{j−1}", (total_delay, lambda j: printed.before(j) + c(j - 1), printed.interrupting)),
    ("E[X_{j−1}] without costs", (total_delay, printed.before, lambda j: printed.served(j - 1))),
)
def check_job_wait(claim: tuple[Delay, Callable[[Any], sp.Expr], Callable[[Any], sp.Expr]]) -> Outcome:
    """The delay in free symbols, its two ingredients for every level by induction, and no delay for j = 1."""
    delay, ahead, new = claim
    return everything(
        check_total_delay(delay),
        check_before(ahead),
        check_interrupting(new),
        [("d_1", delay(wait, ahead(1), new(1)), wait)],
    )
