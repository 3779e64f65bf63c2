"""Limits of theorem 4.5: one level and large quanta (Pollaczek–Khinchine), vanishing quanta (FB, FCFS)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp

from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import Equations, everything
from mlptsym.ledger.paper.notation import J, gamma, lam, t
from mlptsym.symbolic.algebra.symbols import restore_cost, service
from mlptsym.symbolic.mean.response import fcfs_response_time, level_terms, mean_response_time, response_terms
from mlptsym.symbolic.model.moments import UpperMoment, expectation, mean, tail

Formula = Callable[[sp.Expr, sp.Expr], sp.Expr]
epsilon, far = sp.symbols("epsilon eta", positive=True)
age, width = sp.symbols("u h", positive=True)
shift = sp.Symbol("c_0", nonnegative=True)


def pollaczek_khinchine(first: sp.Expr, second: sp.Expr) -> sp.Expr:
    """Mean response time of an M/G/1 queue under FCFS (Kleinrock, Queueing Systems I, section 5.6)."""
    return first + lam * second / (2 * (1 - lam * first))


@entry(
    "limit-one-level",
    "k = 1: Pollaczek–Khinchine, E[T] = E[S] + λE[S²]/(2(1 − λE[S]))",
    r"\mathbb E[T] = \mathbb E[S] + \frac{\lambda\mathbb E[S^2]}{2(1-\lambda\mathbb E[S])}",
    pollaczek_khinchine,
    ("E[S²] not halved", lambda m, s: m + lam * s / (1 - lam * m)),
    ("E[S]² for E[S²]", lambda m, s: pollaczek_khinchine(m, m**2)),
    source="section 3; Kleinrock, Queueing Systems I, section 5.6",
)
def check_one_level(claim: Formula) -> Equations:
    """Theorem 4.5 with one level."""
    stated = claim(mean(), mean(order=2))
    return [("E[T], k = 1", mean_response_time(1), stated), ("the package's FCFS", fcfs_response_time(), stated)]


@dataclass(frozen=True)
class Vanishing:
    """How fast the moments beyond t = rθ fall: t² F̄(t), t M_1(t) ≤ M_2(t) = ε → 0 where E[S²] is finite."""

    formula: Formula
    cost_power: int = 1


@entry(
    "limit-large-quantum",
    "θ → ∞: Pollaczek–Khinchine for every finite k and linear g, if E[S²] is finite; so the best MLPT is never"
    " worse than FCFS",
    r"\lim_{\theta\to\infty}\mathbb E[T_{\mathrm{MLPT}(\theta,k)}]"
    r" = \mathbb E[S] + \frac{\lambda\mathbb E[S^2]}{2(1-\rho_0)}",
    lambda: Vanishing(pollaczek_khinchine),
    ("costs that grow as (rθ)²", lambda: Vanishing(pollaczek_khinchine, 2)),
    ("E[S²] not halved", lambda: Vanishing(lambda m, s: m + lam * s / (1 - lam * m))),
    source="section 4.2, after theorem 4.5",
)
def check_large_quantum(claim: Vanishing) -> Outcome:
    """Every term of level J + 1 ≥ 2 vanishes with ε, and level 1 alone gives Pollaczek–Khinchine, for every finite k.

    With θ = 1/η and F̄ = εη²f_0, M_1 = εηf_1, M_2 = εf_2 at each boundary, f_n bounded, a term vanishes as η, ε → 0 if
    it is a polynomial in η and ε without a constant.
    """
    order = claim.cost_power

    def placed(expression: sp.Expr) -> sp.Expr:
        result = expression
        for index in (J, J + 1):
            small = sp.symbols(f"f_0:3_{1 if index == J else 2}", positive=True)
            result = result.subs({UpperMoment(n, t(index)): epsilon * far ** (2 - n) * small[n] for n in range(3)})
            result = result.subs({t(index): index / far, restore_cost(index): gamma * (index / far) ** order})
        return sp.expand(result)

    before = sp.Symbol("alpha", positive=True) / far ** max(order, 1)  # a_J grows as t_J + Σ c_r, J fixed
    steps, holds = [], True
    for last in (False, True):
        terms = level_terms(J + 1, last=last)
        small_terms = {
            "E[Y_{J+1}]": terms.piece_mean,
            "E[Y_{J+1}²]": terms.piece_square,
            "p_{J+1} a_J": terms.probability * before,
            "a_J E[Y_{J+1}]": terms.piece_mean * before,
        }
        for words, term in small_terms.items():
            value = placed(term)
            polynomial = value.is_polynomial(far, epsilon) and value.subs({far: 0, epsilon: 0}) == 0
            holds = holds and bool(polynomial)
            steps.append(Step(f"{words}, {'J + 1 = k' if last else 'J + 1 < k'}", value))
    first = level_terms(1)
    waits = response_terms()
    limits = {
        waits.work: mean(),
        waits.squares: mean(order=2),
        **dict.fromkeys((waits.work_before, waits.before, waits.crossings), sp.S.Zero),
    }

    def at_infinity(expression: sp.Expr) -> sp.Expr:
        small = sp.symbols("f_0:3", positive=True)
        here = expression.subs({UpperMoment(n, t(1)): epsilon * far ** (2 - n) * small[n] for n in range(3)})
        return sp.expand(here.subs(t(1), 1 / far)).subs({far: 0, epsilon: 0})

    equations = [
        ("p_1", at_infinity(first.probability), sp.S.One),
        ("E[Y_1]", at_infinity(first.piece_mean), mean()),
        ("E[Y_1²]", at_infinity(first.piece_square), mean(order=2)),
        ("E[S] + d_1", mean() + waits.waiting.subs(limits), claim.formula(mean(), mean(order=2))),
    ]
    words = "lower levels vanish" if holds else "a term of the lower levels does not vanish"
    return everything(equations, Outcome(holds, words, tuple(steps)))


# foreground–background


def foreground_background(first: sp.Expr, second: sp.Expr) -> sp.Expr:
    """Mean response time of a job of size u under FB, from E[min(S, u)] and E[min(S, u)²] (Kleinrock, Queueing Systems II, section 4.6)."""
    load = lam * first
    return lam * second / (2 * (1 - load) ** 2) + age / (1 - load)


@entry(
    "limit-foreground-background",
    "γ = 0, β = 1, k = ∞, θ → 0: foreground–background",
    r"\mathbb E[T\mid S=u] = \frac{\lambda\mathbb E[\min(S,u)^2]}{2(1-\lambda\mathbb E[\min(S,u)])^2}"
    r" + \frac{u}{1-\lambda\mathbb E[\min(S,u)]}",
    foreground_background,
    ("divisor not squared", lambda m, s: (lam * s / 2 + age) / (1 - lam * m)),
    ("E[min(S, u)²] not halved", lambda m, s: foreground_background(m, 2 * s)),
    source="Kleinrock, Queueing Systems II, section 4.6",
)
def check_foreground_background(claim: Formula) -> Equations:
    """Levels of width h at the age u, without costs, as h → 0: E[Y]/h → F̄(u), E[Y²]/h → 0, a → u, X → E[min(S, u)].

    Σ a E[Y] becomes ∫ a F̄(a) da = E[min(S, u)²]/2, and d(u) + u is the response of a job of size u.
    """
    terms = level_terms(J + 1)
    # the level (u, u + h] without restore cost
    place = {t(J): age, t(J + 1): age + width, restore_cost(J): 0}
    at_zero = [
        sp.diff(value.subs(place), width).subs(width, 0).doit() for value in (terms.piece_mean, terms.piece_square)
    ]
    truncated = sp.Min(service, age)
    first, second = (expectation(truncated**n, [age]) for n in (1, 2))
    waits = response_terms()
    limit = {waits.work: first, waits.work_before: first, waits.before: age, waits.squares: 0}
    response = waits.waiting.subs({**limit, waits.crossings: second / 2}) + age
    return [
        ("E[Y]/h", at_zero[0], tail(age)),
        ("E[Y²]/h", at_zero[1], sp.S.Zero),
        ("d/du E[min(S, u)]", first.diff(age), tail(age)),
        ("d/du E[min(S, u)²]/2", second.diff(age) / 2, age * tail(age)),
        ("E[T | S = u]", response, claim(first, second)),
    ]


# θ → 0 with finitely many levels


def collapsed(expression: sp.Expr, cost: sp.Expr, levels: int) -> sp.Expr:
    """All boundaries at 0, all restore costs the same."""
    places = {t(r): sp.S.Zero for r in range(1, levels)} | {restore_cost(r): cost for r in range(1, levels)}
    return expression.subs(places).doit()


@entry(
    "limit-no-quantum",
    "θ → 0, g(0) = 0: FCFS, for every finite k",
    r"\lim_{\theta\to0}\mathbb E[T_{\mathrm{MLPT}(\theta,k)}] = \mathbb E[S] + \frac{\lambda\mathbb E[S^2]}{2(1-\rho_0)},"
    r"\quad k<\infty,\ g(0)=0",
    pollaczek_khinchine,
    ("E[S²] not halved", lambda m, s: m + lam * s / (1 - lam * m)),
    ("no wait", lambda m, s: m),
    source="section 4.2, after theorem 4.5; section 5, figure 6",
)
def check_no_quantum(claim: Formula) -> Equations:
    """g(0) = 0: levels of no length and no cost, for symbolic J; then the sums of theorem 4.5 with one piece left."""
    terms = level_terms(J + 1)
    place = {t(J): sp.S.Zero, t(J + 1): sp.S.Zero, restore_cost(J): sp.S.Zero}
    last = level_terms(J + 1, last=True)
    waits = response_terms()
    empty = dict.fromkeys((waits.work_before, waits.before, waits.crossings), sp.S.Zero)
    response = mean() + waits.waiting.subs({**empty, waits.work: mean(), waits.squares: mean(order=2)})
    return [
        ("p_{J+1}, J + 1 < k", terms.probability.subs(place), sp.S.Zero),
        ("E[Y_{J+1}], J + 1 < k", terms.piece_mean.subs(place), sp.S.Zero),
        ("E[Y_{J+1}²], J + 1 < k", terms.piece_square.subs(place), sp.S.Zero),
        ("p_k", last.probability.subs(place), sp.S.One),
        ("E[Y_k]", last.piece_mean.subs(place), mean()),
        ("E[Y_k²]", last.piece_square.subs(place), mean(order=2)),
        ("E[T]", response, claim(mean(), mean(order=2))),
        *((f"theorem 4.5, k = {k}", collapsed(mean_response_time(k), sp.S.Zero, k), response) for k in (2, 3)),
    ]


@entry(
    "limit-no-quantum-affine",
    "θ → 0, g(0) > 0: not FCFS of S. Two levels give FCFS of S + γg(0); three give FCFS of S + 2γg(0) and more",
    r"k=2:\ S\to S+\gamma g(0);\quad k=3:\ d_3 = \frac{\lambda\mathbb E[(S+2c_0)^2]/(2(1-\rho_3)) + \lambda c_0^2}"
    r"{1-\lambda c_0},\ c_0=\gamma g(0)",
    lambda: {2: longer(shift), 3: three_levels()},
    ("FCFS of S", lambda: {2: longer(0)}),
    ("three levels: FCFS of S + 2c_0", lambda: {3: longer(2 * shift)}),
    source="section 4.2, after theorem 4.5, where g(0) = 0 is taken for granted",
)
def check_no_quantum_with_cost(claim: dict[int, sp.Expr]) -> Equations:
    """g(0) > 0: the theorem for two and three levels of no length, each demotion at the cost c_0 = γg(0)."""
    return ((f"E[T], k = {k}", collapsed(mean_response_time(k), shift, k), stated) for k, stated in claim.items())


def longer(extra: Any, formula: Formula = pollaczek_khinchine) -> sp.Expr:
    """Pollaczek–Khinchine with every service time longer by a constant."""
    return formula(mean() + extra, mean(order=2) + 2 * extra * mean() + extra**2)


def three_levels() -> sp.Expr:
    """FCFS of S + 2c_0, whose wait is further prolonged by the pieces c_0 of later arrivals in level 2."""
    wait = longer(2 * shift) - mean() - 2 * shift
    return mean() + 2 * shift + (wait + lam * shift**2) / (1 - lam * shift)
