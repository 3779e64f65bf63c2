"""The wait d_J in the merged queue of levels 1 … j, and its correction O_J: equations (15), (16), (22) and lemma 4.3."""

from __future__ import annotations

from functools import partial

import sympy as sp

from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import Claim, Equations, downward, everything, identities, written_out
from mlptsym.ledger.paper import printed
from mlptsym.ledger.sections.waiting.merged_work import (
    lower_with_next_cost,
    merged_without_costs,
    remaining_unpaid,
    work_one_cost_more,
)
from mlptsym.ledger.sections.waiting.pieces import places, product_of_pieces, squares_growth
from mlptsym.symbolic.algebra.symbols import arrival_rate
from mlptsym.symbolic.mean import waiting

square, correction, wait, work, squares = sp.symbols("E_S2eff O_J d_J b_J W_J", positive=True)


def check_two_routes(claim: Claim) -> Outcome:
    """λE[(S^eff)²]/2 − O_J and λW_J/2 are both λE[X_k²]/2 at J = k, and have the same growth from J to J + 1."""
    return identities(
        downward(
            lambda j, k: sp.S.Zero if j == k else claim(j, k),
            "O_J, which is λ(W_k − W_J)/2 by the pieces",
            last=arrival_rate / 2 * squares_growth(last=True),
            step=arrival_rate / 2 * squares_growth(last=False),
        )
    )


def wait_by_pieces() -> sp.Expr:
    """d_J as the root of the balance of work, in b_J and W_J = E[(S^eff)²] − 2 O_J/λ."""
    balance = waiting.work_balance(wait, work, squares, sp.S.Zero)
    (root,) = sp.solve(balance, wait)
    return root.subs(squares, square - 2 * correction / arrival_rate)


OVERTAKEN = (
    ("v without c_{i−1}", lambda: partial(printed.overtaken, v=remaining_unpaid)),
    ("v_j for v_{j+1}", lambda: partial(printed.overtaken, v=lambda i, k: printed.remaining(i - 1, k))),
    ("c_r for c_{r−1} in the second sum", lambda: partial(printed.overtaken, lower=lower_with_next_cost)),
    ("no restore costs in (20)", lambda: partial(printed.overtaken, merged=merged_without_costs)),
    (
        "second sum left out",
        lambda: lambda j, k: sp.S.Zero if j == k else printed.merged_occupied(j) * printed.remaining(j + 1, k),
    ),
)


def printed_wait() -> sp.Expr:
    """(15) in b_J, E[(S^eff)²] and O_J."""
    return (arrival_rate * square / 2 - correction) / (1 - arrival_rate * work)


@entry(
    "eq-15",
    "d_J = (λE[(S^eff)²]/2 − O_J) / (1 − λ b_J)",
    r"d_J = \frac{\frac{\lambda}{2}\mathbb E[(S_k^{\mathrm{eff}})^2] - O_J}{1 - \lambda b_J}",
    printed_wait,
    ("E[(S^eff)²] not halved", lambda: (arrival_rate * square - correction) / (1 - arrival_rate * work)),
    ("O_J added", lambda: (arrival_rate * square / 2 + correction) / (1 - arrival_rate * work)),
    ("divisor 1 − b_J", lambda: (arrival_rate * square / 2 - correction) / (1 - work)),
)
def check_merged_wait(claim: sp.Expr) -> Equations:
    """The printed solution is the root of the balance of work, with W_J = E[(S^eff)²] − 2 O_J/λ by lemma 4.3."""
    return [("d_J of the piecewise route", claim, wait_by_pieces())]


@entry(
    "eq-15-written-out",
    "(15)–(18) and the wait by pieces agree for k = 1, 2, 3 and every j",
    r"d_J = \frac{\lambda}{2}\,\frac{\mathbb E[X_j^2] + \sum_{r>j}\mathbb E[Y_r^2]}{1 - \lambda\mathbb E[X_j]}",
    printed.merged_wait,
    ("no correction", partial(printed.merged_wait, correction=lambda j, k: sp.S.Zero)),
    ("b_J with one cost more", lambda: partial(printed.merged_wait, divisor=work_one_cost_more)),
    source="eqs. (15)–(18)",
)
def check_waits_written_out(claim: Claim) -> Outcome:
    """The printed d_J, the package's form of it, and its wait by pieces."""
    return everything(
        written_out(claim, waiting.merged_wait_by_correction, "d_J by the correction O_J", places(1, 2, 3)),
        written_out(claim, waiting.merged_wait_by_pieces, "d_J by pieces", places(1, 2, 3)),
    )


@entry(
    "eq-16",
    "O_J = λF̄(t_J)(t_J + Σ_{r<J} c_r) v_{J+1} + λ Σ_{r=J+1}^{k−1} F̄(t_r)(θ_r + c_{r−1}) v_{r+1}, all J < k",
    r"O_J = \lambda\bar F(j\theta)\Bigl(j\theta + \sum_{r=1}^{j-1}c_r\Bigr)v_{j+1}"
    r" + \lambda\sum_{r=j+1}^{k-1}\bar F(r\theta)(\theta + c_{r-1})v_{r+1}",
    printed.overtaken,
    *OVERTAKEN,
)
def check_overtaken(claim: Claim) -> Equations:
    """O_J = λ Σ_{r>J} E[X_{r−1} Y_r], from the last level down."""
    return downward(
        claim,
        "O_J",
        last=arrival_rate * product_of_pieces(last=True),
        step=arrival_rate * product_of_pieces(last=False),
    )


@entry(
    "eq-16-written-out",
    "(16) for k = 2, 3, 4 and every j",
    r"O_J = \lambda\sum_{r>j}\mathbb E[X_{r-1}Y_r]",
    printed.overtaken,
    *OVERTAKEN,
)
def check_overtaken_written_out(claim: Claim) -> Outcome:
    """The printed O_J against the package's, which multiplies the random pieces out; none for j = k."""
    return written_out(claim, waiting.overtaken_residual, "O_J", places(2, 3, 4))


@entry(
    "eq-16-last-level",
    "for j = k nothing is overtaken: O_J = 0, and v_{k+1} never occurs",
    r"O_k = 0",
    printed.overtaken,
    ("(16) taken at its word, with F̄(kθ) v_{k+1}", lambda: overtaken_as_printed),
    source="eq. (16) at j = k, where the paper leaves v_{k+1} undefined",
)
def check_last_level(claim: Claim) -> Outcome:
    """For j = k the merged queue is one FCFS queue of effective sizes, whose wait is λE[(S^eff)²]/2 over 1 − ρ^eff."""
    return written_out(
        lambda j, k: printed.merged_wait(j, k, correction=claim),
        waiting.merged_wait_by_pieces,
        "d_k",
        [(1, 1), (2, 2), (3, 3)],
    )


@entry(
    "eq-22",
    "d_J = λ d_J b_J + λE[(S^eff)²]/2 − O_J",
    r"d_J = \lambda d_J b_J + \frac{\lambda}{2}\mathbb E[(S_k^{\mathrm{eff}})^2] - O_J",
    lambda: arrival_rate * wait * work + arrival_rate * square / 2 - correction - wait,
    ("O_J not taken off", lambda: arrival_rate * wait * work + arrival_rate * square / 2 - wait),
    ("λ d_J twice", lambda: 2 * arrival_rate * wait * work + arrival_rate * square / 2 - correction - wait),
)
def check_balance(claim: sp.Expr) -> Equations:
    """The wait of the other route solves the paper's balance."""
    found = claim.subs(wait, wait_by_pieces())
    return [("(22) at the d_J of the piecewise route", found, sp.S.Zero)]


@entry(
    "lemma-4.3",
    "the correction O_J and the piecewise work give the same d_J for every J and k",
    r"\lambda\mathbb E[(S_k^{\mathrm{eff}})^2] - 2O_J"
    r" = \lambda\Bigl(\mathbb E[X_J^2] + \sum_{r>J}\mathbb E[Y_r^2]\Bigr)",
    printed.overtaken,
    *OVERTAKEN,
)
def check_merged_queue(claim: Claim) -> Outcome:
    """The numerators of both routes for every J and k, then the quotient."""
    return everything(check_two_routes(claim), check_merged_wait(printed_wait()))


def overtaken_as_printed(j: int, k: int) -> sp.Expr:
    """(16) taken at its word for j = k, with the boundary t_k = kθ and v_{k+1} as (18) would continue."""
    return printed.merged_occupied(j) * printed.remaining(j + 1, k)
