"""The work of the merged queue, what is still to come, and what occupies the server: equations (17)–(21)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sympy as sp

from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import Claim, Equations, downward, identities, upward, written_out
from mlptsym.ledger.paper import printed
from mlptsym.ledger.paper.notation import F, J, c, t
from mlptsym.ledger.sections.waiting.pieces import ends, places, survivors_piece
from mlptsym.symbolic.algebra.induction import peeled, total
from mlptsym.symbolic.algebra.symbols import arrival_rate, service
from mlptsym.symbolic.mean import waiting
from mlptsym.symbolic.mean.response import level_terms
from mlptsym.symbolic.model.moments import Indicator, expectation
from mlptsym.symbolic.policies.algorithm import piece


@entry(
    "eq-17",
    "b_J = E[min(S, t_J)] + Σ_{r<J} c_r F̄(t_r) for J < k, E[S_k^eff] for J = k",
    r"b_J = \begin{cases}\mathbb E[\min\{S, j\theta\}] + \sum_{r=1}^{j-1}c_r\bar F(r\theta) & j<k\\"
    r"\mathbb E[S_k^{\mathrm{eff}}] & j=k\end{cases}",
    printed.merged_work,
    ("sum up to j", lambda: work_one_cost_more),
    ("min(S, t_J) for j = k as well", lambda j, k: printed.merged_work(j, None)),
)
def check_merged_work(claim: Claim) -> Equations:
    """b_J grows by E[Y_{J+1}] from each level to the next, up to E[S_k^eff] at the last."""
    return upward(
        claim,
        "b_J",
        start=level_terms(1).piece_mean,
        step=level_terms(J + 1).piece_mean,
        last=level_terms(J + 1, last=True).piece_mean,
    )


@entry(
    "eq-17-written-out",
    "(17) for k = 1 … 4 and every j",
    r"b_J = \mathbb E[X_j]",
    printed.merged_work,
    ("sum up to j", lambda: work_one_cost_more),
)
def check_merged_work_written_out(claim: Claim) -> Outcome:
    """The printed b_J against the mean of the package's X_j."""
    return written_out(claim, waiting.merged_work, "b_J", places(1, 2, 3, 4))


@entry(
    "eq-18",
    "v_i = E[S − t_{i−1} + Σ_{r=i−1}^{k−1} c_r 1{S > t_r} | S > t_{i−1}], i = 2 … k",
    r"v_i = \mathbb E\Bigl[S-(i-1)\theta+\sum_{r=i-1}^{k-1}c_r\mathbf 1\{S>r\theta\}\,\Big|\,S>(i-1)\theta\Bigr]",
    printed.remaining,
    ("sum from r = i", lambda: remaining_unpaid),
    ("not conditioned on S > t_{i−1}", printed.remaining_mean),
)
def check_remaining(claim: Claim) -> Equations:
    """v_i F̄(t_{i−1}) = E[Y_i + … + Y_k], from the last level down."""
    return downward(
        lambda i, k: claim(i + 1, k) * F(i),
        "v_{J+1} F̄(t_J)",
        last=level_terms(J + 1, last=True).piece_mean,
        step=level_terms(J + 1).piece_mean,
    )


@entry(
    "eq-18-written-out",
    "(18) for k = 2, 3, 4 and every i",
    r"v_i = \mathbb E[Y_i + \dots + Y_k \mid S > t_{i-1}]",
    printed.remaining,
    ("sum from r = i", lambda: remaining_unpaid),
    ("v_{i+1} for v_i", lambda: remaining_shifted),
)
def check_remaining_written_out(claim: Claim) -> Outcome:
    """The printed v_i against the package's."""
    return written_out(
        lambda j, k: claim(j + 1, k), lambda j, k: waiting.remaining_work(j + 1, k), "v_{j+1}", places(2, 3, 4, below=1)
    )


@entry(
    "eq-19",
    "X_J = min(S, t_J) + Σ_{r<J} c_r 1{S > t_r}; b_J is its expectation, which (19) leaves out",
    r"b_J = \mathbb E\Bigl[\min\{S, j\theta\} + \sum_{r=1}^{j-1}c_r\mathbf 1\{S>r\theta\}\Bigr]",
    printed.work,
    ("sum up to j", lambda j: printed.work(j) + c(j) * Indicator(service, t(j))),
    ("costs paid by every job", lambda j: sp.Min(service, t(j)) + total(c, 1, j - 1)),
)
def check_work_variable(claim: Callable[[Any], sp.Expr]) -> Outcome:
    """Job by job, (19) grows by the piece of the next level; its expectation therefore grows as (17) does.

    A function of S that is a polynomial between boundaries is zero if its mean vanishes identically in the moments.
    """
    growth = peeled(claim(J + 1) - claim(J), J + 2, J - 1)
    outcome = identities(
        [
            ("mean of (19) less the first piece, at j = 1", expectation(claim(1) - piece(1), ends(1)), sp.S.Zero),
            ("mean of the growth of (19) less the piece", expectation(growth - piece(J + 1), ends(J + 1)), sp.S.Zero),
        ]
    )
    return replace(outcome, steps=(Step("(19), growth from J to J + 1", growth), *outcome.steps))


@entry(
    "eq-20",
    "the merged levels serve a job that will go on with probability λF̄(t_J)(t_J + Σ_{r<J} c_r)",
    r"\lambda\bar F(j\theta)\Bigl(j\theta + \sum_{r=1}^{j-1}c_r\Bigr)",
    printed.merged_occupied,
    ("no restore costs", lambda: merged_without_costs),
    ("sum up to j", lambda j: printed.merged_occupied(j) + arrival_rate * F(j) * c(j)),
)
def check_merged_occupied(claim: Callable[[Any], sp.Expr]) -> Equations:
    """λE[X_J ; S > t_J], level by level: survivors of level J + 1 have its piece behind them as well."""
    return upward(
        lambda j, _: claim(j) / F(j),
        "(20) over F̄(t_J)",
        start=arrival_rate * survivors_piece(1) / F(1),
        step=arrival_rate * survivors_piece(J + 1) / F(J + 1),
    )


@entry(
    "eq-21",
    "level r > J serves a job that will go on with probability λF̄(t_r)(θ_r + c_{r−1})",
    r"\lambda\bar F(r\theta)(\theta + c_{r-1})",
    printed.lower_occupied,
    ("c_r for c_{r−1}", lambda: lower_with_next_cost),
    ("F̄(t_{r−1}) for F̄(t_r)", lambda r: printed.lower_occupied(r) * F(r - 1) / F(r)),
)
def check_lower_occupied(claim: Callable[[Any], sp.Expr]) -> Equations:
    """λE[Y_r ; S > t_r] at a symbolic r > 1."""
    r = J + 1
    return [("(21) at r = J + 1", claim(r), arrival_rate * survivors_piece(r))]


def remaining_unpaid(i: Any, k: Any) -> sp.Expr:
    """v_i without the cost c_{i−1} of coming back."""
    return printed.remaining(i, k) - c(i - 1)


def remaining_shifted(i: Any, k: Any) -> sp.Expr:
    """v_{i+1} for v_i, except for the last."""
    return printed.remaining(i, k) if i == k else printed.remaining(i + 1, k)


def lower_with_next_cost(r: Any) -> sp.Expr:
    """(21) with c_r for c_{r−1}."""
    return arrival_rate * F(r) * (printed.quantum(r) + c(r))


def merged_without_costs(j: Any) -> sp.Expr:
    """(20) without the restore costs."""
    return arrival_rate * F(j) * t(j)


def work_one_cost_more(j: Any, k: Any) -> sp.Expr:
    """(17) with the sum up to j."""
    return printed.merged_work(j, k) + (0 if j == k else c(j) * F(j))
