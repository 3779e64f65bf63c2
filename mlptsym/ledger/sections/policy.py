"""Section 4.2, the policy: equations (8)–(14) and lemma 4.2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sympy as sp

from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import Claim, Equations, everything, folded, upward, written_out
from mlptsym.ledger.paper import printed
from mlptsym.ledger.paper.notation import F, J, c, t
from mlptsym.ledger.sections.waiting.pieces import completed_pieces, ends
from mlptsym.memory import memory_laws
from mlptsym.symbolic.algebra.induction import levels, peeled, total
from mlptsym.symbolic.algebra.symbols import age, arrival_rate, boundary, cost, preemption_cost, service
from mlptsym.symbolic.mean.response import level_terms
from mlptsym.symbolic.model.memory import MemoryFormulas, restore_cost_at
from mlptsym.symbolic.model.moments import Indicator, expectation, mean
from mlptsym.symbolic.policies.algorithm import (
    boundaries,
    completion_probability,
    effective_load,
    effective_size,
    piece,
)

Sum = Callable[[Callable[[Any], sp.Expr], int, int], sp.Expr]
wait = sp.Symbol("d_j", positive=True)


def term_by_term(term: Callable[[Any], sp.Expr], lower: int, upper: int) -> sp.Expr:
    """term(lower) + … + term(upper), zero if upper < lower."""
    return sp.Add(*(term(r) for r in range(lower, upper + 1)))


@entry(
    "sums-over-levels",
    "sums over levels with symbolic ends, folded and brought to common ends, are the sums term by term",
    r"\sum_{r=a}^{b}x_r = x_a + x_{a+1} + \dots + x_b",
    term_by_term,
    ("the last term left out", lambda term, a, b: term_by_term(term, a, b - 1)),
    ("one level later", lambda term, a, b: term_by_term(term, a + 1, b + 1)),
    source="beyond the paper; definition of what the proofs by induction are written in",
)
def check_sums(claim: Sum) -> Outcome:
    """The package's folded sums, and the same brought to common ends, written out for J = 7 and k = 11.

    Sums that begin and end before, at and after the common ends; sums within sums; terms that are zero by the
    conventions t_0 = c_0 = 0.
    """
    first, last = J + 2, J - 1
    ranges: list[tuple[Any, Any]] = [(1, J - 1), (1, J), (1, J - 3), (J + 1, levels), (J + 2, levels), (J + 4, levels)]
    ranges += [(2, 4), (J + 2, J), (3, 2)]
    numbers = {J: 7, levels: 11}  # far enough from both ends for every sum here
    terms: dict[str, Callable[[Any], sp.Expr]] = {
        "c_r": c,
        "c_{r−1} + t_{r−1}": lambda r: cost[r - 1] + boundary[r - 1],
    }
    # t_r Σ_{r ≤ s ≤ J} c_s, of which the last terms are sums of one and two terms
    nested = total(lambda r: boundary[r] * total(lambda s: cost[s], r, J, "s"), 1, J)
    stated = claim(lambda r: boundary[r] * claim(lambda s: cost[s], r, 7), 1, 7)
    compared = [("a sum within a sum", nested, first, last, stated)]
    for words, term in terms.items():
        for ends_here in ranges:
            start, stop = (int(sp.sympify(end, strict=True).subs(numbers)) for end in ends_here)
            here = f"Σ {words} from {ends_here[0]} to {ends_here[1]}"
            compared.append((here, total(term, *ends_here), first, last, claim(term, start, stop)))
        compared.append((f"Σ {words} from 3 on", total(term, 1, levels), sp.Integer(3), levels - 2, claim(term, 1, 11)))
    equations, common = [("t_2 + t_3 + t_4", sp.Add(*boundaries(2, 4)), claim(t, 2, 4))], True
    for words, found, begin, end, written in compared:
        brought = peeled(found, begin, end)
        sums = brought.atoms(sp.Sum)
        inner = {part for outer in sums for part in outer.function.atoms(sp.Sum)}
        common = common and all(_begins_and_ends(part, begin, end) for part in sums - inner)
        equations += [
            (words, _written(found.subs(numbers)), _written(written)),
            (f"{words}, at common ends", _written(brought.subs(numbers)), _written(written)),
        ]
    where = "every sum at common ends" if common else "a sum elsewhere than at common ends"
    return everything(equations, Outcome(common, where))


def _begins_and_ends(folded_sum: sp.Sum, first: sp.Expr, last: sp.Expr) -> bool:
    """Whether a sum stands at the common ends where it can, and is written out where the number of terms is known."""
    _, lower, upper = folded_sum.limits[0]
    near = [(end, common) for end, common in ((lower, first), (upper, last)) if (end - common).is_Integer]
    return all(end == common for end, common in near) and not (upper - lower).is_Integer


def _written(expression: sp.Expr) -> sp.Expr:
    return expression.doit().subs({boundary[0]: 0, cost[0]: 0})


@entry(
    "eq-8",
    "c_r = γ g(t_r), for any g",
    r"c_r = \gamma g(r\theta),\quad r = 1,\dots,k-1",
    lambda g, point: preemption_cost * g(point),
    ("(1 − γ) g", lambda g, point: (1 - preemption_cost) * g(point)),
    ("one level too early", lambda g, _: preemption_cost * g(t(J - 1))),
)
def check_restore_costs(claim: Callable[[Callable[[Any], Any], Any], sp.Expr]) -> Equations:
    """The package's c(a) at the boundaries, for an unknown g and for each of its memory laws."""
    growth = sp.Function("g")
    unknown = MemoryFormulas((), growth(age), (sp.S.Zero, sp.S.Zero))
    equations = [("an unknown g", claim(growth, t(J)), restore_cost_at(unknown).subs(age, t(J)))]
    for name, memory in memory_laws().items():
        law = memory.formulas()
        equations.append((name, claim(partial(_at, law.growth), t(J)), restore_cost_at(law).subs(age, t(J))))
    return equations


def _at(growth: sp.Expr, point: sp.Expr) -> sp.Expr:
    return growth.subs(age, point)


def added_by_a_level() -> sp.Expr:
    """S_{k+1}^eff − S_k^eff at k = J: the last piece is cut in two."""
    return piece(J) + piece(J + 1, last=True) - piece(J, last=True)


@entry(
    "eq-9",
    "S_k^eff = S + Σ_{r<k} c_r 1{S > t_r}, for every k",
    r"S_k^{\mathrm{eff}} = S + \gamma\sum_{r=1}^{k-1} g(r\theta)\mathbf 1\{S>r\theta\}",
    printed.effective_size,
    ("c_{r−1} for c_r", lambda: size_with_shifted_costs),
    ("costs paid by every job", lambda k: service + printed.costs_before(k)),
)
def check_effective_size(claim: Callable[[Any], sp.Expr]) -> Equations:
    """Job by job: one level is S itself, and every further level adds what cutting the last piece adds.

    A function of S that is a polynomial between boundaries is zero if its mean vanishes identically in the moments.
    """
    growth = peeled(claim(J + 1) - claim(J), J + 2, J - 1)
    defect = expectation(growth - added_by_a_level(), ends(J))
    return [
        ("S_1^eff", claim(1), piece(1, last=True)),
        ("mean of S_{k+1}^eff − S_k^eff less what cutting the last piece adds", defect, sp.S.Zero),
        ("its mean", expectation(growth, ends(J)), c(J) * F(J)),
    ]


@entry(
    "eq-9-written-out",
    "(9) and its square for k = 1, 2, 3",
    r"S_k^{\mathrm{eff}} = Y_1 + \dots + Y_k",
    printed.effective_size,
    ("c_{r−1} for c_r", lambda: size_with_shifted_costs),
)
def check_effective_size_written_out(claim: Callable[[Any], sp.Expr]) -> Outcome:
    """The mean of the printed S_k^eff and of its square against those of the package's pieces."""

    def moments(size: Callable[[Any], sp.Expr], k: int) -> sp.Expr:
        points = [t(r) for r in range(1, k)]
        return expectation(size(k), points) + sp.Symbol("s") * expectation(size(k) ** 2, points)

    return written_out(
        lambda k, _: moments(claim, k),
        lambda k, _: moments(effective_size, k),
        "E[S^eff] + s E[(S^eff)²]",
        [(k, k) for k in (1, 2, 3)],
    )


@entry(
    "eq-10",
    "E[S_k^eff] = E[S] + Σ_{r<k} c_r F̄(t_r), for every k",
    r"\mathbb E[S_k^{\mathrm{eff}}] = \mathbb E[S] + \gamma\sum_{r=1}^{k-1} g(r\theta)\bar F(r\theta)",
    printed.effective_mean,
    ("sum up to k", lambda k: printed.effective_mean(k + 1)),
    ("c_{r−1} for c_r", lambda k: printed.effective_mean(k) - c(k - 1) * F(k - 1)),
)
def check_effective_mean(claim: Callable[[Any], sp.Expr]) -> Equations:
    """One level gives E[S], and each further level adds the mean of what cutting the last piece adds."""
    return upward(
        lambda k, _: claim(k),
        "E[S_k^eff]",
        start=level_terms(1, last=True).piece_mean,
        step=expectation(added_by_a_level(), ends(J)),
    )


@entry(
    "eq-11",
    "ρ_k^eff = λ(E[S] + Σ_{r<k} c_r F̄(t_r)), for every k",
    r"\rho_k^{\mathrm{eff}} = \lambda\Bigl(\mathbb E[S] + \gamma\sum_{r=1}^{k-1} g(r\theta)\bar F(r\theta)\Bigr)",
    lambda k: arrival_rate * printed.effective_mean(k),
    ("without λ", printed.effective_mean),
    ("sum up to k", lambda k: arrival_rate * printed.effective_mean(k + 1)),
)
def check_effective_load(claim: Callable[[Any], sp.Expr]) -> Outcome:
    """λ times the mean that grows level by level, then the package's load for k = 1 … 4."""
    return everything(
        upward(
            lambda k, _: claim(k),
            "ρ_k^eff",
            start=arrival_rate * level_terms(1, last=True).piece_mean,
            step=arrival_rate * expectation(added_by_a_level(), ends(J)),
        ),
        written_out(lambda k, _: claim(k), lambda k, _: effective_load(k), "ρ_k^eff", [(k, k) for k in range(1, 5)]),
    )


@entry(
    "eq-13",
    "p_j = P(t_{j−1} < S ≤ t_j) for j < k, p_k = P(S > t_{k−1})",
    r"p_j = \begin{cases}\Pr((j-1)\theta < S \le j\theta) & j<k\\ \Pr(S>(k-1)\theta) & j=k\end{cases}",
    printed.probability,
    ("one level too late", lambda j, k: printed.probability(j + 1, k)),
    ("p_k like the others", lambda j, k: F(j - 1) - F(j)),
)
def check_probabilities(claim: Claim) -> Equations:
    """The package's p_j at a symbolic level and at the last one, and P(S ≤ t_J) as their sum up to J."""
    return [
        ("p_{J+1}, J + 1 < k", claim(J + 1, levels), completion_probability(J + 1)),
        ("p_{J+1}, J + 1 = k", claim(J + 1, J + 1), completion_probability(J + 1, last=True)),
        (
            "P(t_J < S ≤ t_{J+1})",
            claim(J + 1, levels),
            expectation(Indicator(service, t(J)) - Indicator(service, t(J + 1)), ends(J + 1)),
        ),
        ("p_1 + (1 − p_1) for two levels", claim(1, 2) + claim(2, 2), sp.S.One),
    ]


def size_with_shifted_costs(k: Any) -> sp.Expr:
    """(9) with c_{r−1} paid at t_r."""
    return service + total(lambda r: c(r - 1) * Indicator(service, t(r)), 1, k - 1)


RESPONSE_VARIANTS = (
    ("costs up to c_j", lambda: partial(response_of_a_level, costs=lambda j: printed.costs_before(j + 1))),
    ("E[S] for E[S | J = j]", lambda: lambda j, k: wait + mean() + printed.costs_before(j)),
    ("no restore costs", lambda: partial(response_of_a_level, costs=lambda j: sp.S.Zero)),
)


@entry(
    "eq-14",
    "E[T | J = j] = d_j + E[S | J = j] + Σ_{r<j} c_r, for every j and for j = k",
    r"\mathbb E[T\mid J=j] = d_j + \mathbb E[S\mid J=j] + \sum_{r=1}^{j-1}c_r",
    lambda: response_of_a_level,
    *RESPONSE_VARIANTS,
)
def check_response_of_a_level(claim: Callable[[Any, Any], sp.Expr]) -> Equations:
    """Wait plus pieces of the jobs that complete in level j: a_J behind them and the piece up to S itself."""
    equations = []
    for last in (False, True):
        k = J + 1 if last else levels
        p = level_terms(J + 1, last=last).probability
        words = "E[T | J = j] p_j, j < k" if not last else "E[T | J = k] p_k"
        equations.append((words, folded(claim(J + 1, k)) * p, folded(wait * p + completed_pieces(last=last))))
    return equations


def response_of_a_level(j: Any, k: Any, costs: Callable[[Any], sp.Expr] = printed.costs_before) -> sp.Expr:
    """(14)."""
    completed = level_terms(j, last=j == k).completed_service
    return wait + completed / printed.probability(j, k) + costs(j)
