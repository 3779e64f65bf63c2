"""Section 4.2, the mean response time: equations (26)–(28) and theorem 4.5."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sympy as sp

from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import Claim, Equations, everything, upward, written_out
from mlptsym.ledger.paper import printed
from mlptsym.ledger.paper.notation import F, J, c, t
from mlptsym.ledger.sections import policy
from mlptsym.ledger.sections.waiting.pieces import completed_pieces, squares_growth
from mlptsym.ledger.sections.waiting.tagged_job import total_delay
from mlptsym.symbolic.algebra.induction import total
from mlptsym.symbolic.algebra.symbols import arrival_rate, service
from mlptsym.symbolic.mean.response import carried_sums, level_terms, mean_response_time, response_terms
from mlptsym.symbolic.mean.slowdown import mean_slowdown, reciprocal_mean, slowdown_in_level
from mlptsym.symbolic.mean.waiting import waiting_time
from mlptsym.symbolic.model.moments import Density, UpperMoment, expectation, mean

d = sp.IndexedBase("d", positive=True)
Added = Callable[[Any, Any, Any, Any], tuple[sp.Expr, sp.Expr]]
Slowdown = Callable[[Any, Any], sp.Expr]


@entry(
    "eq-26",
    "E[T] = E[S_k^eff] + Σ_j p_j d_j, for every k",
    r"\mathbb E[T_{\mathrm{MLPT}(\theta,k)}] = \mathbb E[S_k^{\mathrm{eff}}] + \sum_{j=1}^{k}p_jd_j",
    lambda: average,
    ("E[S] for E[S^eff]", lambda: average_without),
    ("d_k left out", lambda j, k: average(j, k) - (F(k - 1) * d[k] if j == k else 0)),
    source="eq. (26); E[S_k^eff] is (10), where the paper refers to (9)",
)
def check_average(claim: Claim) -> Equations:
    """Σ_j p_j E[T | J = j] up to level J, with unknown waits d_j, grows by p_{J+1} d_{J+1} and the completed pieces.

    Beside it, E[min(S, t_{J+1})] of the package, which is E[S] in the last level.
    """
    first = level_terms(1)
    terms = {last: level_terms(J + 1, last=last) for last in (False, True)}
    served = [
        ("E[min(S, t_{J+1})]", terms[False].served_mean, printed.served(J + 1)),
        ("E[S]", terms[True].served_mean, mean()),
    ]
    return [
        *served,
        *upward(
            claim,
            "Σ p_j E[T | J = j]",
            start=first.probability * d[1] + first.completed_service,
            step=terms[False].probability * d[J + 1] + completed_pieces(last=False),
            last=terms[True].probability * d[J + 1] + completed_pieces(last=True),
        ),
    ]


@entry(
    "eq-27",
    "E[T | J = j] = d_j + E[S | J = j] + Σ_{r<j} c_r",
    r"\mathbb E[T\mid J=j] = d_j + \mathbb E[S\mid J=j] + \sum_{r=1}^{j-1}c_r",
    lambda: policy.response_of_a_level,
    *policy.RESPONSE_VARIANTS,
    source="eq. (27), which is (14)",
)
def check_response_again(claim: Claim) -> Outcome:
    """Wait plus pieces of the jobs that complete in level j: a_J behind them and the piece up to S itself."""
    return policy.check_response_of_a_level(claim)


eq_28 = entry(
    "eq-28",
    "Σ p_j d_j + Σ p_j E[S | J = j] + Σ p_j Σ_{r<j} c_r = E[S] + Σ_{r<k} c_r F̄(t_r) + Σ p_j d_j, for every k",
    r"\sum_j p_jd_j + \sum_j p_j\mathbb E[S\mid J=j] + \sum_j p_j\sum_{r<j}c_r"
    r" = \mathbb E[S] + \sum_{r=1}^{k-1}c_r\bar F(r\theta) + \sum_j p_jd_j",
    lambda: average,
    ("costs up to c_j in every level", lambda j, k: average(j, k) + (c(k) * F(k) if j == k else 0)),
    ("partial sums without what is still to be paid", lambda: average_overpaid),
)(check_average.function)


@entry(
    "theorem-4.5",
    "E[T] = E[S_k^eff] + Σ_j p_j d_j with d_j of (23) and d_J of (15), for every k",
    r"\mathbb E[T] = \mathbb E[S_k^{\mathrm{eff}}] + \sum_{j=1}^{k}p_j\,"
    r"\frac{d_J + \lambda a_{j-1}\mathbb E[X_{j-1}]}{1-\lambda\mathbb E[X_{j-1}]}",
    lambda: average,
    ("E[S] for E[S^eff]", lambda: average_without),
)
def check_theorem(claim: Claim) -> Outcome:
    """The average over the levels for every k, with each wait d_j as it is summed for every j and k."""
    return everything(check_average(claim), check_by_level(wait_in_carried_sums()))


def average(j: Any, k: Any) -> sp.Expr:
    """(28): what is completed through level j < k, costs included, and Σ p d; E[S_k^eff] + Σ p d for j = k."""
    waits = total(lambda r: (F(r - 1) - F(r)) * d[r], 1, j if j != k else j - 1, "i")
    if j == k:
        return printed.effective_mean(k) + waits + F(k - 1) * d[k]
    paid = total(lambda r: c(r) * F(r), 1, j - 1) - F(j) * total(c, 1, j - 1)
    return mean() - UpperMoment(1, t(j)) + paid + waits


def average_without(j: Any, k: Any) -> sp.Expr:
    """(28) with E[S] in place of E[S_k^eff]."""
    return average(j, k) - (printed.effective_mean(k) - mean() if j == k else 0)


# the same sum level by level, as the numeric code carries it


def wait_in_carried_sums() -> sp.Expr:
    """(23) and (15) with E[X_J²] + Σ_{r>J} E[Y_r²] = squares + 2 crossings, in the symbols of `ResponseTerms`."""
    terms = response_terms()
    merged = arrival_rate * (terms.squares + 2 * terms.crossings) / 2 / (1 - arrival_rate * terms.work)
    return total_delay(merged, terms.before, terms.work_before)


@entry(
    "theorem-4.5-by-level",
    "d_j from sums carried from level to level: squares Σ E[Y_r²] and crossings Σ_{r≤j} a_{r−1} E[Y_r]",
    r"d_j = \frac{\frac{\lambda}{2}\,\frac{\sum_r\mathbb E[Y_r^2]+2\sum_{r\le j}a_{r-1}\mathbb E[Y_r]}"
    r"{1-\lambda\mathbb E[X_j]} + \lambda a_{j-1}\mathbb E[X_{j-1}]}{1-\lambda\mathbb E[X_{j-1}]}",
    wait_in_carried_sums,
    ("crossings not doubled", lambda: _altered(lambda terms: {terms.crossings: terms.crossings / 2})),
    ("a_{j−1} left out", lambda: _altered(lambda terms: {terms.before: 0})),
    ("X_j for X_{j−1}", lambda: _altered(lambda terms: {terms.work_before: terms.work})),
    source="theorem 4.5, rearranged for summation",
)
def check_by_level(claim: sp.Expr) -> Equations:
    """The d_j that is summed over levels, whole and split into weight and offset; squares grow by 2 a_J E[Y_{J+1}]."""
    terms = response_terms()
    crossing = {last: printed.before(J + 1) * level_terms(J + 1, last=last).piece_mean for last in (False, True)}
    return [
        ("d_j", terms.waiting, claim),
        ("squares · weight + offset", terms.squares * terms.weight + terms.offset, claim),
        ("W_{J+1} − W_J", squares_growth(last=False), 2 * crossing[False]),
        ("W_{J+1} − W_J, J + 1 = k", squares_growth(last=True), 2 * crossing[True]),
    ]


def added_by_parts(a: sp.Expr, cost: sp.Expr, end: sp.Expr, excess: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """What is added to the two sums at the end of a level so that the terms of a step do not cancel."""
    return a * excess, 2 * (cost - end) * excess


@entry(
    "theorem-4.5-carried",
    "both sums, summed by parts: U = Σ a E[Y] + a_J D_J and V = Σ E[Y²] − E[min(S, t_J)²] + 2(c_J − t_J) D_J",
    r"U_J = \sum_{r\le J}a_{r-1}\mathbb E[Y_r] + a_JD_J,\quad"
    r" V_J = \sum_{r\le J}\mathbb E[Y_r^2] - \mathbb E[\min(S,t_J)^2] + 2(c_J-t_J)D_J",
    added_by_parts,
    ("c_J left out of V", lambda a, cost, end, excess: added_by_parts(a, 0, end, excess)),
    ("D_J alone in U", lambda a, cost, end, excess: (excess, added_by_parts(a, cost, end, excess)[1])),
    source="theorem 4.5, rearranged for summation",
)
def check_carried(claim: Added) -> Outcome:
    """Steps and ends of the two carried sums, from their definitions, for J < k − 1 and into the last level.

    The steps contain F̄ and D at the boundaries only, so that no large moments cancel in them.
    """
    equations, small = [], True
    for last in (False, True):
        carried, terms = carried_sums(last=last), level_terms(J + 1, last=last)
        a = carried.before
        start, end = t(J), t(J + 1)
        known = {
            symbol: UpperMoment(1, point) - point * UpperMoment(0, point)
            for symbol, point in ((sp.Symbol("D_start", nonnegative=True), start), (carried.excess, end))
        }
        excess_start, excess_end = known.values()
        steps = (carried.crossing_step, carried.square_step)
        small = small and all(moment.args[0] == 0 for step in steps for moment in step.atoms(UpperMoment))
        at_start = claim(a, c(J), start, excess_start)
        at_end = claim(a + end - start + c(J), c(J + 1), end, excess_end) if not last else (sp.S.Zero, sp.S.Zero)
        squares = [
            mean(order=2) if point is None else expectation(sp.Min(service, point) ** 2, [point])
            for point in (start, None if last else end)
        ]
        words = "J + 1 = k" if last else "J + 1 < k"
        equations += [
            (
                f"U_{{J+1}} − U_J, {words}",
                carried.crossing_step.subs(known),
                a * terms.piece_mean + at_end[0] - at_start[0],
            ),
            (
                f"V_{{J+1}} − V_J, {words}",
                carried.square_step.subs(known),
                terms.piece_square - squares[1] + squares[0] + at_end[1] - at_start[1],
            ),
            (f"the sum less U_{{J+1}}, {words}", carried.crossing_end.subs(known), -at_end[0]),
            (f"the sum less V_{{J+1}}, {words}", carried.square_end.subs(known), squares[1] - at_end[1]),
        ]
    words = "steps in F̄ and D alone" if small else "a step contains a higher moment"
    return everything(equations, Outcome(small, words))


@entry(
    "theorem-4.5-written-out",
    "theorem 4.5 for k = 1, 2, 3, free in all moments, boundaries and costs",
    r"\mathbb E[T] = \mathbb E[S_k^{\mathrm{eff}}] + \sum_{j=1}^{k}p_jd_j",
    printed.response_time,
    ("E[S] for E[S^eff]", partial(printed.response_time, size=lambda _: mean())),
    ("F̄(t_j) for p_j", partial(printed.response_time, p=lambda j, k: F(j - 1))),
    ("d_J for d_j", partial(printed.response_time, d=printed.merged_wait)),
)
def check_theorem_written_out(claim: Callable[..., sp.Expr]) -> Outcome:
    """The printed E[T] against the package's: whole for one and two levels, then with the package's d_j in place."""
    return everything(
        written_out(lambda _, k: claim(k), lambda _, k: mean_response_time(k), "E[T]", [(1, 1), (2, 2)]),
        written_out(
            lambda _, k: claim(k, d=waiting_time), lambda _, k: mean_response_time(k), "E[T] given d_j", [(3, 3)]
        ),
    )


def slowdown_as_stated(waiting: sp.Expr, j: Any) -> sp.Expr:
    """(d_j + c_1 + … + c_{j−1}) as the share of E[T/S ; J = j] in E[1/S ; J = j]."""
    return waiting + printed.costs_before(j)


@entry(
    "mean-slowdown",
    "E[T/S] = 1 + Σ_j (d_j + c_1 + … + c_{j−1}) E[1/S ; J = j]",
    r"\mathbb E[T/S] = 1 + \sum_{j=1}^{k}\Bigl(d_j + \sum_{r=1}^{j-1}c_r\Bigr)\mathbb E[1/S;J=j]",
    slowdown_as_stated,
    ("no costs", lambda waiting, _: waiting),
    ("costs up to c_j", lambda waiting, j: waiting + printed.costs_before(j + 1)),
    source="beyond the paper; theorem 4.5 given the service time",
)
def check_slowdown(claim: Slowdown) -> Outcome | Equations:
    """E[T/S] of the package for unknown waits at each level of three, and for one and two levels with those of (23).

    Its division by S: E[p(S)/S ; a < S ≤ b] has the derivatives p(b) f(b)/b and −p(a) f(a)/a, and is zero for a = b.
    """
    a, b = sp.symbols("a b", positive=True)
    polynomial = sp.Add(*(sp.Symbol(f"p_{n}") * service**n for n in range(4)))
    divided = reciprocal_mean(polynomial, a, b)
    at = {end: polynomial.subs(service, end) / end * Density(end) for end in (a, b)}
    equations = [
        ("d/db E[p(S)/S ; a < S ≤ b]", divided.diff(b), at[b]),
        ("d/da E[p(S)/S ; a < S ≤ b]", divided.diff(a), -at[a]),
        ("E[p(S)/S ; a < S ≤ a]", divided.subs(b, a), sp.S.Zero),
    ]

    def stated(waiting: sp.Expr, j: int, k: int) -> sp.Expr:
        share = UpperMoment(-1, t(j - 1)) - UpperMoment(-1, sp.oo if j == k else t(j))
        return claim(waiting, j) * share + printed.probability(j, k)

    equations += [(f"E[T/S; J = {j}], k = 3", slowdown_in_level(d[j], j, 3), stated(d[j], j, 3)) for j in (1, 2, 3)]
    for k in (1, 2):
        whole = sp.Add(*(stated(printed.waiting_time(j, k), j, k) for j in range(1, k + 1)))
        equations.append((f"E[T/S], k = {k}", mean_slowdown(k), whole))
    return equations


def average_overpaid(j: Any, k: Any) -> sp.Expr:
    """(28) with Σ c_r F̄(t_r) for the jobs that have completed as well."""
    return average(j, k) + (0 if j == k else F(j) * total(c, 1, j - 1))


def _altered(replaced: Callable[[Any], dict[sp.Symbol, Any]]) -> sp.Expr:
    return wait_in_carried_sums().subs(replaced(response_terms()))
