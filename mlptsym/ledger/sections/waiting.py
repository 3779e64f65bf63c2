"""Section 4.2, waiting: equations (15)–(25), lemmas 4.3 and 4.4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import sympy as sp

from mlptsym.ledger.entry import Entry, Outcome, Step
from mlptsym.ledger.exact.checks import Claim, Equation, downward, everything, identities, upward, written_out
from mlptsym.ledger.paper import printed
from mlptsym.ledger.paper.printed import F, c, t
from mlptsym.symbolic import waiting
from mlptsym.symbolic.algorithm import piece, service_before
from mlptsym.symbolic.induction import peeled, total
from mlptsym.symbolic.moments import Indicator, expectation
from mlptsym.symbolic.response import level_terms
from mlptsym.symbolic.symbols import arrival_rate, level, service

__all__ = ["entries"]

J = level


def ends(r: sp.Expr | int) -> list[sp.Expr]:
    """The boundaries of level r, 0 left out."""
    return [point for point in (t(r - 1), t(r)) if not point.is_zero]


def survivors_piece(r: sp.Expr | int) -> sp.Expr:
    """E[Y_r ; S > t_r]: what level r costs those who go on."""
    return expectation(piece(r) * Indicator(service, t(r)), ends(r))


# (15), (16), (22): the paper's correction against the pieces


def product_of_pieces(*, last: bool) -> sp.Expr:
    """E[X_J Y_{J+1}] = a_J E[Y_{J+1}]: X_J is a_J for every job that reaches level J + 1."""
    return printed.before(J + 1) * level_terms(J + 1, last=last).piece_mean


def check_overtaken(claim: Claim) -> Outcome:
    """O_J = λ Σ_{r>J} E[X_{r−1} Y_r], from the last level down."""
    return identities(
        downward(
            claim,
            "O_J",
            last=arrival_rate * product_of_pieces(last=True),
            step=arrival_rate * product_of_pieces(last=False),
        )
    )


def squares_growth(*, last: bool) -> sp.Expr:
    """W_{J+1} − W_J for W_J = E[X_J²] + Σ_{r>J} E[Y_r²], where X_J = a_J for those who reach level J + 1."""
    here, reached = piece(J + 1, last=last), Indicator(service, t(J))
    a = printed.before(J + 1)
    points = [t(J)] if last else ends(J + 1)
    return expectation(((a + here) ** 2 - a**2) * reached - here**2, points)


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


square, correction, wait, work, squares = sp.symbols("E_S2eff O_J d_J b_J W_J", positive=True)


def wait_by_pieces() -> sp.Expr:
    """d_J as the root of the balance of work, in b_J and W_J = E[(S^eff)²] − 2 O_J/λ."""
    balance = waiting.work_balance(wait, work, squares, sp.S.Zero)
    (root,) = sp.solve(balance, wait)
    return root.subs(squares, square - 2 * correction / arrival_rate)


def check_balance(claim: sp.Expr) -> Outcome:
    """The wait of the other route solves the paper's balance."""
    found = claim.subs(wait, wait_by_pieces())
    return identities([Equation("(22) at the d_J of the piecewise route", found, sp.S.Zero)])


def check_merged_wait(claim: sp.Expr) -> Outcome:
    """The printed solution is the root of the balance of work, with W_J = E[(S^eff)²] − 2 O_J/λ by lemma 4.3."""
    return identities([Equation("d_J of the piecewise route", claim, wait_by_pieces())])


def printed_wait() -> sp.Expr:
    """(15) in b_J, E[(S^eff)²] and O_J."""
    return (arrival_rate * square / 2 - correction) / (1 - arrival_rate * work)


def check_merged_queue(claim: Claim) -> Outcome:
    """The numerators of both routes for every J and k, then the quotient."""
    return everything(check_two_routes(claim), check_merged_wait(printed_wait()))


# (17), (19)


def check_merged_work(claim: Claim) -> Outcome:
    """b_J grows by E[Y_{J+1}] from each level to the next, up to E[S_k^eff] at the last."""
    return identities(
        upward(
            claim,
            "b_J",
            start=level_terms(1).piece_mean,
            step=level_terms(J + 1).piece_mean,
            last=level_terms(J + 1, last=True).piece_mean,
        )
    )


def check_work_variable(claim: Callable[[Any], sp.Expr]) -> Outcome:
    """Job by job, (19) grows by the piece of the next level; its expectation therefore grows as (17) does.

    A function of S that is a polynomial between boundaries is zero if its mean vanishes identically in the moments.
    """
    growth = peeled(claim(J + 1) - claim(J), J + 2, J - 1)
    outcome = identities(
        [
            Equation(
                "mean of (19) less the first piece, at j = 1", expectation(claim(1) - piece(1), ends(1)), sp.S.Zero
            ),
            Equation(
                "mean of the growth of (19) less the piece", expectation(growth - piece(J + 1), ends(J + 1)), sp.S.Zero
            ),
        ]
    )
    return replace(outcome, steps=(Step("(19), growth from J to J + 1", growth), *outcome.steps))


# (18), (20), (21), (23)–(25)


def check_remaining(claim: Claim) -> Outcome:
    """v_i F̄(t_{i−1}) = E[Y_i + … + Y_k], from the last level down."""
    return identities(
        downward(
            lambda i, k: claim(i + 1, k) * F(i),
            "v_{J+1} F̄(t_J)",
            last=level_terms(J + 1, last=True).piece_mean,
            step=level_terms(J + 1).piece_mean,
        )
    )


def check_merged_occupied(claim: Callable[[Any], sp.Expr]) -> Outcome:
    """λE[X_J ; S > t_J], level by level: survivors of level J + 1 have its piece behind them as well."""
    return identities(
        upward(
            lambda j, _: claim(j) / F(j),
            "(20) over F̄(t_J)",
            start=arrival_rate * survivors_piece(1) / F(1),
            step=arrival_rate * survivors_piece(J + 1) / F(J + 1),
        )
    )


def check_lower_occupied(claim: Callable[[Any], sp.Expr]) -> Outcome:
    """λE[Y_r ; S > t_r] at a symbolic r > 1."""
    r = J + 1
    return identities([Equation("(21) at r = J + 1", claim(r), arrival_rate * survivors_piece(r))])


def total_delay(d: sp.Expr, a: sp.Expr, x: sp.Expr) -> sp.Expr:
    """(23) in d_J, a_{j−1} and E[X_{j−1}]."""
    return (d + arrival_rate * a * x) / (1 - arrival_rate * x)


def delay_by_arrivals(d: sp.Expr, a: sp.Expr, x: sp.Expr) -> sp.Expr:
    """(24) in d_J, a_{j−1} and E[X_{j−1}]."""
    return arrival_rate * (d + a) * x / (1 - arrival_rate * x)


before, interrupting = sp.symbols("a_before E_X", nonnegative=True)
Delay = Callable[[Any, Any, Any], sp.Expr]


def check_total_delay(claim: Delay) -> Outcome:
    """The root D of D = d_J + λ(D + a_{j−1}) E[X_{j−1}]: all arrivals until the last level begins go first."""
    derived = waiting.delay_with_new_arrivals(wait, before, interrupting)
    return identities([Equation("total wait", claim(wait, before, interrupting), derived)])


def check_delay_by_arrivals(claim: Delay) -> Outcome:
    """The total wait less d_J."""
    derived = waiting.delay_with_new_arrivals(wait, before, interrupting) - wait
    return identities([Equation("wait for new arrivals", claim(wait, before, interrupting), derived)])


def check_job_wait(claim: tuple[Delay, Callable[[Any], sp.Expr], Callable[[Any], sp.Expr]]) -> Outcome:
    """The delay in free symbols, its two ingredients for every level by induction, and no delay for j = 1."""
    delay, ahead, new = claim
    return everything(
        check_total_delay(delay),
        check_before(ahead),
        check_interrupting(new),
        identities([Equation("d_1", delay(wait, ahead(1), new(1)), wait)]),
    )


def check_before(claim: Callable[[Any], sp.Expr]) -> Outcome:
    """a_J from the pieces of a job that survives them."""
    return identities(
        upward(
            lambda j, _: claim(j + 1),
            "a_J",
            start=survivors_piece(1) / F(1),
            step=survivors_piece(J + 1) / F(J + 1),
        )
    )


def check_interrupting(claim: Callable[[Any], sp.Expr]) -> Outcome:
    """E[X_J] from the pieces."""
    return identities(
        upward(lambda j, _: claim(j + 1), "E[X_J]", start=level_terms(1).piece_mean, step=level_terms(J + 1).piece_mean)
    )


# the same, written out for numbers of levels


def places(*counts: int, below: int = 0) -> list[tuple[int, int]]:
    """All levels j = 1 … k − ``below`` of each number k of levels."""
    return [(j, k) for k in counts for j in range(1, k + 1 - below)]


def check_waits_written_out(claim: Claim) -> Outcome:
    """The printed d_J, the package's form of it, and its wait by pieces."""
    return everything(
        written_out(claim, waiting.merged_wait_by_correction, "d_J by the correction O_J", places(1, 2, 3)),
        written_out(claim, waiting.merged_wait_by_pieces, "d_J by pieces", places(1, 2, 3)),
    )


def check_waiting_time_written_out(claim: Claim) -> Outcome:
    """The printed d_j against the package's."""
    return written_out(claim, waiting.waiting_time, "d_j", places(1, 2, 3))


def check_overtaken_written_out(claim: Claim) -> Outcome:
    """The printed O_J against the package's, which multiplies the random pieces out; none for j = k."""
    return written_out(claim, waiting.overtaken_residual, "O_J", places(2, 3, 4))


def check_merged_work_written_out(claim: Claim) -> Outcome:
    """The printed b_J against the mean of the package's X_j."""
    return written_out(claim, waiting.merged_work, "b_J", places(1, 2, 3, 4))


def check_remaining_written_out(claim: Claim) -> Outcome:
    """The printed v_i against the package's."""
    return written_out(
        lambda j, k: claim(j + 1, k), lambda j, k: waiting.remaining_work(j + 1, k), "v_{j+1}", places(2, 3, 4, below=1)
    )


def check_before_written_out(claim: Callable[[Any], sp.Expr]) -> Outcome:
    """The printed a_{j−1} against the package's."""
    return written_out(lambda j, _: claim(j), lambda j, _: service_before(j), "a_{j−1}", places(4))


def check_last_level(claim: Claim) -> Outcome:
    """For j = k the merged queue is one FCFS queue of effective sizes, whose wait is λE[(S^eff)²]/2 over 1 − ρ^eff."""
    return written_out(
        lambda j, k: printed.merged_wait(j, k, correction=claim),
        waiting.merged_wait_by_pieces,
        "d_k",
        [(1, 1), (2, 2), (3, 3)],
    )


def overtaken_as_printed(j: int, k: int) -> sp.Expr:
    """(16) taken at its word for j = k, with the boundary t_k = kθ and v_{k+1} as (18) would continue."""
    return printed.merged_occupied(j) * printed.remaining(j + 1, k)


# wrong variants


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


OVERTAKEN = {
    "v without c_{i−1}": lambda: partial(printed.overtaken, v=remaining_unpaid),
    "v_j for v_{j+1}": lambda: partial(printed.overtaken, v=lambda i, k: printed.remaining(i - 1, k)),
    "c_r for c_{r−1} in the second sum": lambda: partial(printed.overtaken, lower=lower_with_next_cost),
    "no restore costs in (20)": lambda: partial(printed.overtaken, merged=merged_without_costs),
    "second sum left out": lambda: (
        lambda j, k: sp.S.Zero if j == k else printed.merged_occupied(j) * printed.remaining(j + 1, k)
    ),
}


def entries() -> tuple[Entry, ...]:
    """Entries of this section, in the order of the paper."""
    return (
        Entry(
            "eq-15",
            "d_J = (λE[(S^eff)²]/2 − O_J) / (1 − λ b_J)",
            r"d_J = \frac{\frac{\lambda}{2}\mathbb E[(S_k^{\mathrm{eff}})^2] - O_J}{1 - \lambda b_J}",
            "eq. (15)",
            printed_wait,
            check_merged_wait,
            {
                "E[(S^eff)²] not halved": lambda: (arrival_rate * square - correction) / (1 - arrival_rate * work),
                "O_J added": lambda: (arrival_rate * square / 2 + correction) / (1 - arrival_rate * work),
                "divisor 1 − b_J": lambda: (arrival_rate * square / 2 - correction) / (1 - work),
            },
        ),
        Entry(
            "eq-15-written-out",
            "(15)–(18) and the wait by pieces agree for k = 1, 2, 3 and every j",
            r"d_J = \frac{\lambda}{2}\,\frac{\mathbb E[X_j^2] + \sum_{r>j}\mathbb E[Y_r^2]}{1 - \lambda\mathbb E[X_j]}",
            "eqs. (15)–(18)",
            lambda: printed.merged_wait,
            check_waits_written_out,
            {
                "no correction": lambda: partial(printed.merged_wait, correction=lambda j, k: sp.S.Zero),
                "b_J with one cost more": lambda: partial(printed.merged_wait, divisor=work_one_cost_more),
            },
        ),
        Entry(
            "eq-16",
            "O_J = λF̄(t_J)(t_J + Σ_{r<J} c_r) v_{J+1} + λ Σ_{r=J+1}^{k−1} F̄(t_r)(θ_r + c_{r−1}) v_{r+1}, all J < k",
            r"O_J = \lambda\bar F(j\theta)\Bigl(j\theta + \sum_{r=1}^{j-1}c_r\Bigr)v_{j+1}"
            r" + \lambda\sum_{r=j+1}^{k-1}\bar F(r\theta)(\theta + c_{r-1})v_{r+1}",
            "eq. (16)",
            lambda: printed.overtaken,
            check_overtaken,
            OVERTAKEN,
        ),
        Entry(
            "eq-16-written-out",
            "(16) for k = 2, 3, 4 and every j",
            r"O_J = \lambda\sum_{r>j}\mathbb E[X_{r-1}Y_r]",
            "eq. (16)",
            lambda: printed.overtaken,
            check_overtaken_written_out,
            OVERTAKEN,
        ),
        Entry(
            "eq-16-last-level",
            "for j = k nothing is overtaken: O_J = 0, and v_{k+1} never occurs",
            r"O_k = 0",
            "eq. (16) at j = k, where the paper leaves v_{k+1} undefined",
            lambda: printed.overtaken,
            check_last_level,
            {"(16) taken at its word, with F̄(kθ) v_{k+1}": lambda: overtaken_as_printed},
        ),
        Entry(
            "eq-17",
            "b_J = E[min(S, t_J)] + Σ_{r<J} c_r F̄(t_r) for J < k, E[S_k^eff] for J = k",
            r"b_J = \begin{cases}\mathbb E[\min\{S, j\theta\}] + \sum_{r=1}^{j-1}c_r\bar F(r\theta) & j<k\\"
            r"\mathbb E[S_k^{\mathrm{eff}}] & j=k\end{cases}",
            "eq. (17)",
            lambda: printed.merged_work,
            check_merged_work,
            {
                "sum up to j": lambda: work_one_cost_more,
                "min(S, t_J) for j = k as well": lambda: lambda j, k: printed.merged_work(j, None),
            },
        ),
        Entry(
            "eq-17-written-out",
            "(17) for k = 1 … 4 and every j",
            r"b_J = \mathbb E[X_j]",
            "eq. (17)",
            lambda: printed.merged_work,
            check_merged_work_written_out,
            {"sum up to j": lambda: work_one_cost_more},
        ),
        Entry(
            "eq-18",
            "v_i = E[S − t_{i−1} + Σ_{r=i−1}^{k−1} c_r 1{S > t_r} | S > t_{i−1}], i = 2 … k",
            r"v_i = \mathbb E\Bigl[S-(i-1)\theta+\sum_{r=i-1}^{k-1}c_r\mathbf 1\{S>r\theta\}\,\Big|\,S>(i-1)\theta\Bigr]",
            "eq. (18)",
            lambda: printed.remaining,
            check_remaining,
            {
                "sum from r = i": lambda: remaining_unpaid,
                "not conditioned on S > t_{i−1}": lambda: printed.remaining_mean,
            },
        ),
        Entry(
            "eq-18-written-out",
            "(18) for k = 2, 3, 4 and every i",
            r"v_i = \mathbb E[Y_i + \dots + Y_k \mid S > t_{i-1}]",
            "eq. (18)",
            lambda: printed.remaining,
            check_remaining_written_out,
            {"sum from r = i": lambda: remaining_unpaid, "v_{i+1} for v_i": lambda: remaining_shifted},
        ),
        Entry(
            "eq-19",
            "X_J = min(S, t_J) + Σ_{r<J} c_r 1{S > t_r}; b_J is its expectation, which (19) leaves out",
            r"b_J = \mathbb E\Bigl[\min\{S, j\theta\} + \sum_{r=1}^{j-1}c_r\mathbf 1\{S>r\theta\}\Bigr]",
            "eq. (19)",
            lambda: printed.work,
            check_work_variable,
            {
                "sum up to j": lambda: lambda j: printed.work(j) + c(j) * Indicator(service, t(j)),
                "costs paid by every job": lambda: lambda j: sp.Min(service, t(j)) + total(c, 1, j - 1),
            },
        ),
        Entry(
            "eq-20",
            "the merged levels serve a job that will go on with probability λF̄(t_J)(t_J + Σ_{r<J} c_r)",
            r"\lambda\bar F(j\theta)\Bigl(j\theta + \sum_{r=1}^{j-1}c_r\Bigr)",
            "eq. (20)",
            lambda: printed.merged_occupied,
            check_merged_occupied,
            {
                "no restore costs": lambda: merged_without_costs,
                "sum up to j": lambda: lambda j: printed.merged_occupied(j) + arrival_rate * F(j) * c(j),
            },
        ),
        Entry(
            "eq-21",
            "level r > J serves a job that will go on with probability λF̄(t_r)(θ_r + c_{r−1})",
            r"\lambda\bar F(r\theta)(\theta + c_{r-1})",
            "eq. (21)",
            lambda: printed.lower_occupied,
            check_lower_occupied,
            {
                "c_r for c_{r−1}": lambda: lower_with_next_cost,
                "F̄(t_{r−1}) for F̄(t_r)": lambda: lambda r: printed.lower_occupied(r) * F(r - 1) / F(r),
            },
        ),
        Entry(
            "eq-22",
            "d_J = λ d_J b_J + λE[(S^eff)²]/2 − O_J",
            r"d_J = \lambda d_J b_J + \frac{\lambda}{2}\mathbb E[(S_k^{\mathrm{eff}})^2] - O_J",
            "eq. (22)",
            lambda: arrival_rate * wait * work + arrival_rate * square / 2 - correction - wait,
            check_balance,
            {
                "O_J not taken off": lambda: arrival_rate * wait * work + arrival_rate * square / 2 - wait,
                "λ d_J twice": lambda: 2 * arrival_rate * wait * work + arrival_rate * square / 2 - correction - wait,
            },
        ),
        Entry(
            "lemma-4.3",
            "the correction O_J and the piecewise work give the same d_J for every J and k",
            r"\lambda\mathbb E[(S_k^{\mathrm{eff}})^2] - 2O_J"
            r" = \lambda\Bigl(\mathbb E[X_J^2] + \sum_{r>J}\mathbb E[Y_r^2]\Bigr)",
            "lemma 4.3",
            lambda: printed.overtaken,
            check_merged_queue,
            OVERTAKEN,
        ),
        Entry(
            "eq-23",
            "d_j = (d_J + λ a_{j−1} E[X_{j−1}]) / (1 − λE[X_{j−1}]), with (24) and (25) on the way",
            r"d_j = \frac{d_J + \lambda a_{j-1}\mathbb E[X_{j-1}]}{1 - \lambda\mathbb E[X_{j-1}]}",
            "eq. (23)",
            lambda: total_delay,
            check_total_delay,
            {
                "a_{j−1} left out": lambda: lambda d, a, x: total_delay(d, 0, x),
                "λ left out of the divisor": lambda: lambda d, a, x: (d + arrival_rate * a * x) / (1 - x),
            },
        ),
        Entry(
            "eq-23-a",
            "a_J = t_J + Σ_{r<J} c_r, the time given to a job before it reaches level J + 1",
            r"a_{j-1} = (j-1)\theta + \sum_{r=1}^{j-2}c_r",
            "eq. (23)",
            lambda: printed.before,
            check_before,
            {"sum up to j − 1": lambda: lambda j: printed.before(j) + c(j - 1)},
        ),
        Entry(
            "eq-23-X",
            "E[X_J] = E[min(S, t_J)] + Σ_{r<J} c_r F̄(t_r), the time a new arrival takes ahead of a level-(J+1) job",
            r"\mathbb E[X_{j-1}] = \mathbb E[\min\{S,(j-1)\theta\}] + \sum_{r=1}^{j-2}c_r\bar F(r\theta)",
            "eq. (23)",
            lambda: printed.interrupting,
            check_interrupting,
            {
                "sum up to j − 1": lambda: lambda j: printed.interrupting(j) + c(j - 1) * F(j - 1),
                "min(S, t_j)": lambda: lambda j: printed.interrupting(j + 1) - c(j - 1) * F(j - 1),
            },
        ),
        Entry(
            "eq-23-written-out",
            "(23) for k = 1, 2, 3 and every j",
            r"d_j = \frac{d_J + \lambda a_{j-1}\mathbb E[X_{j-1}]}{1 - \lambda\mathbb E[X_{j-1}]}",
            "eq. (23)",
            lambda: printed.waiting_time,
            check_waiting_time_written_out,
            {
                "a_j for a_{j−1}": lambda: partial(printed.waiting_time, ahead=lambda j: printed.before(j + 1)),
                "E[X_j] for E[X_{j−1}]": lambda: partial(
                    printed.waiting_time, new=lambda j: printed.interrupting(j + 1)
                ),
            },
        ),
        Entry(
            "eq-23-a-written-out",
            "a_{j−1} for j = 1 … 4",
            r"a_{j-1} = (j-1)\theta + \sum_{r=1}^{j-2}c_r",
            "eq. (23)",
            lambda: printed.before,
            check_before_written_out,
            {"sum up to j − 1": lambda: lambda j: printed.before(j) + c(j - 1)},
        ),
        Entry(
            "eq-24",
            "new arrivals delay a j-job by λ(d_J + a_{j−1}) E[X_{j−1}] / (1 − λE[X_{j−1}])",
            r"\frac{\lambda(d_J + a_{j-1})\mathbb E[X_{j-1}]}{1 - \lambda\mathbb E[X_{j-1}]}",
            "eq. (24)",
            lambda: delay_by_arrivals,
            check_delay_by_arrivals,
            {
                "arrivals during d_J only": lambda: lambda d, a, x: delay_by_arrivals(d, 0, x),
                "no busy periods, only the arrivals themselves": lambda: lambda d, a, x: arrival_rate * (d + a) * x,
            },
        ),
        Entry(
            "eq-25",
            "d_j = d_J + λ(d_J + a_{j−1}) E[X_{j−1}] / (1 − λE[X_{j−1}])",
            r"d_j = d_J + \frac{\lambda(d_J + a_{j-1})\mathbb E[X_{j-1}]}{1 - \lambda\mathbb E[X_{j-1}]}",
            "eq. (25)",
            lambda: lambda d, a, x: d + delay_by_arrivals(d, a, x),
            check_total_delay,
            {
                "d_J left out": lambda: delay_by_arrivals,
                "λ left out": lambda: lambda d, a, x: d + delay_by_arrivals(d, a, x) / arrival_rate,
            },
        ),
        Entry(
            "lemma-4.4",
            "(23) follows from the mean wait d_J and the busy periods of X_{j−1}; d_1 = d_J",
            r"d_j = \frac{d_J + \lambda a_{j-1}\mathbb E[X_{j-1}]}{1 - \lambda\mathbb E[X_{j-1}]},\quad d_1 = d_J",
            "lemma 4.4",
            lambda: (total_delay, printed.before, printed.interrupting),
            check_job_wait,
            {
                "a_{j−1} left out": lambda: (
                    lambda d, a, x: total_delay(d, 0, x),
                    printed.before,
                    printed.interrupting,
                ),
                "a_{j−1} with c_{j−1}": lambda: (
                    total_delay,
                    lambda j: printed.before(j) + c(j - 1),
                    printed.interrupting,
                ),
                "E[X_{j−1}] without costs": lambda: (total_delay, printed.before, lambda j: printed.served(j - 1)),
            },
        ),
    )
