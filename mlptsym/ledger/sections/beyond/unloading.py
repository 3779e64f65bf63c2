"""A discipline beside the paper's: state is also moved out, at the end of the quantum after which a job is demoted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import sympy as sp

from mlptsym.ledger.entry import entry
from mlptsym.ledger.exact.checks import Equations
from mlptsym.symbolic.algebra.symbols import attained, cost, restore_cost, service, unload, unload_time
from mlptsym.symbolic.distribution.moments import response_moments
from mlptsym.symbolic.mean.response import mean_response_time
from mlptsym.symbolic.mean.waiting import merged_wait_by_correction, merged_wait_by_pieces
from mlptsym.symbolic.model.moments import Indicator, expectation, mean, tail
from mlptsym.symbolic.policies.algorithm import boundaries, effective_size
from mlptsym.symbolic.policies.discipline import UNLOADING, Discipline


@entry(
    "unloading-size",
    "a job that is demoted from level r pays u_r there and c_r at its return",
    r"\mathbb E[S_k^{\mathrm{eff}}] = \mathbb E[S] + \sum_{r=1}^{k-1}(c_r + u_r)\bar F(t_r)",
    lambda r: (cost[r] + unload[r]) * tail(attained(r)),
    ("without moving out", lambda r: cost[r] * tail(attained(r))),
    ("paid by all who reach the level", lambda r: cost[r] * tail(attained(r)) + unload[r] * tail(attained(r - 1))),
    ("the cost of the level above", lambda r: (restore_cost(r - 1) + unload[r]) * tail(attained(r))),
    source="beyond the paper; eq. (9)",
)
def check_size(claim: Callable[[int], sp.Expr]) -> Equations:
    """E[S_k^eff] for k = 1 … 4, written out, and by the expectation operator from the pieces."""
    return (
        (
            f"E[S_k^eff] for k = {k}",
            mean() + sp.Add(*(claim(r) for r in range(1, k))),
            expectation(effective_size(k, UNLOADING), boundaries(1, k - 1)),
        )
        for k in range(1, 5)
    )


@entry(
    "unloading-wait",
    "the two roads to d_J, correction and pieces, agree where state is also moved out",
    r"d_J = \frac{\lambda}{2}\,\frac{\mathbb E[X_J^2] + \sum_{r>J}\mathbb E[Y_r^2]}{1 - \lambda\mathbb E[X_J]},"
    r"\quad Y_r = \bigl(c_{r-1} + \min(S, t_r) - t_{r-1} + u_r\mathbf 1\{S > t_r\}\bigr)\mathbf 1\{S > t_{r-1}\}",
    lambda: UNLOADING,
    ("paid by all who reach the level", lambda: _altered(_paid_by_all)),
    ("at the head of the next piece", lambda: _altered(_at_the_head)),
    source="beyond the paper; eqs. (15)–(22)",
)
def check_wait(claim: Discipline) -> Equations:
    """d_J by the paper's correction for the discipline stated, and by the pieces of the package's, for k = 2 and 3."""
    return (
        (f"d_{j} for k = {k}", merged_wait_by_correction(j, k, claim), merged_wait_by_pieces(j, k, UNLOADING))
        for j, k in ((1, 2), (2, 2), (1, 3), (2, 3), (3, 3))
    )


@entry(
    "unloading-mean",
    "E[T] where state is also moved out is that of its transform, and the paper's at no cost of moving out",
    r"\mathbb E[T] = \mathbb E[S_k^{\mathrm{eff}}] + \sum_j p_jd_j",
    lambda: UNLOADING,
    ("paid by all who reach the level", lambda: _altered(_paid_by_all)),
    ("at the head of the next piece", lambda: _altered(_at_the_head)),
    source="beyond the paper; theorem 4.5",
)
def check_mean(claim: Discipline) -> Equations:
    """E[T] by theorem 4.5 for the discipline stated, and by the transform of the package's, for k = 2."""
    by_transform = sp.Add(*(response_moments(j, 2, UNLOADING)[1] for j in (1, 2)))
    free = {unload[1]: 0}
    return [
        ("E[T] for k = 2", mean_response_time(2, claim), by_transform),
        ("without a cost of moving out", mean_response_time(2, claim).subs(free), mean_response_time(2)),
    ]


def _altered(work: Callable[[sp.Expr | int, sp.Expr], sp.Expr]) -> Discipline:
    """The discipline with other pieces."""
    return replace(UNLOADING, work=work)


def _paid_by_all(index: sp.Expr | int, end: sp.Expr) -> sp.Expr:
    """State moved out whether the job goes on or completes."""
    return UNLOADING.work(index, end) + (0 if end is sp.oo else unload_time(index) * (1 - Indicator(service, end)))


def _at_the_head(index: sp.Expr | int, end: sp.Expr) -> sp.Expr:
    """State moved out at the head of the next piece, together with the restoring."""
    return UNLOADING.work(index, end) - unload_time(index) * Indicator(service, end) + unload_time(index - 1)
