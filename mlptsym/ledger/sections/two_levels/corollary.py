"""The mean response time of two levels: equation (29) and corollary 4.6."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import sympy as sp

from mlptsym.ledger.entry import entry
from mlptsym.ledger.exact.checks import Equations
from mlptsym.ledger.paper.notation import S, gamma, lam, theta
from mlptsym.ledger.sections.two_levels.quantities import TwoLevels, at_quantum
from mlptsym.symbolic.algebra.symbols import restore_cost
from mlptsym.symbolic.mean.two_levels import two_level_response_time
from mlptsym.symbolic.mean.waiting import waiting_time
from mlptsym.symbolic.model.moments import Indicator, expectation

Waits = Callable[[TwoLevels], tuple[sp.Expr, sp.Expr, sp.Expr]]


def response_time(two: TwoLevels) -> sp.Expr:
    """(29), last line."""
    return two.mean + gamma * two.theta * two.tail + two.d_1 + two.tail * two.odds * (two.theta + two.d_1)


@entry(
    "eq-29",
    "E[T(θ)] = E[S] + γθF̄(θ) + d_1 + F̄(θ) ρ/(1 − ρ) (θ + d_1)",
    r"\mathbb E[T(\theta)] = \mathbb E[S] + \gamma\theta\bar F(\theta) + d_1"
    r" + \bar F(\theta)\frac{\rho}{1-\rho}(\theta+d_1)",
    response_time,
    ("1 − γ for γ", lambda two: response_time(two) + (1 - 2 * gamma) * theta * two.tail),
    ("ρ_1 for ρ", lambda two: response_time(replace(two, rho=two.rho_1))),
    ("θ left out of the last bracket", lambda two: response_time(two) - two.tail * two.odds * theta),
)
def check_response_time(claim: Callable[[TwoLevels], sp.Expr]) -> Equations:
    """Theorem 4.5 for k = 2 and linear memory."""
    return [("E[T(θ)]", claim(at_quantum()), two_level_response_time())]


def waits(two: TwoLevels) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """d_1, d_2 and ρ_1 + ρ_2 as corollary 4.6 prints them."""
    effective = S + gamma * theta * Indicator(S, theta)
    d_2 = (lam * expectation(effective**2, [theta]) / (2 * (1 - two.rho)) + lam * two.theta * two.mean_1) / (
        1 - two.rho_1
    )
    return two.d_1, d_2, two.rho_1 + lam * two.tail * two.mean_2


@entry(
    "corollary-4.6",
    "d_1 = λ(E[S_1²] + F̄(θ)E[S_2²]) / (2(1 − ρ_1)), d_2 = (λE[(S_2^eff)²]/(2(1 − ρ)) + λθE[S_1]) / (1 − ρ_1)",
    r"d_1 = \frac{\lambda(\mathbb E[S_1^2]+\bar F(\theta)\mathbb E[S_2^2])}{2(1-\rho_1)},\quad"
    r" d_2 = \frac{\frac{\lambda\mathbb E[(S_2^{\mathrm{eff}})^2]}{2(1-\rho)}+\lambda\theta\mathbb E[S_1]}{1-\rho_1}",
    waits,
    ("d_2 without λθE[S_1]", lambda: wait_without_arrivals),
    ("ρ_2 without F̄(θ)", lambda: load_without_tail),
)
def check_corollary(claim: Waits) -> Equations:
    """The waits of theorem 4.5 for k = 2, the load as the sum of both levels', and the lines of (29) that use them."""
    two = at_quantum()
    d_1, d_2, load = claim(two)
    place = {restore_cost(1): gamma * theta, sp.IndexedBase("t", positive=True)[1]: theta}
    average = two.mean + gamma * theta * two.tail + (1 - two.tail) * d_1 + two.tail * d_2
    return [
        ("d_1", d_1, waiting_time(1, 2).subs(place)),
        ("d_2", d_2, waiting_time(2, 2).subs(place)),
        ("ρ_1 + ρ_2", load, two.rho),
        ("second line of (29)", average, response_time(two)),
    ]


def wait_without_arrivals(two: TwoLevels) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """Corollary 4.6 with d_2 of the jobs found only."""
    d_1, d_2, load = waits(two)
    return d_1, d_2 - lam * two.theta * two.mean_1 / (1 - two.rho_1), load


def load_without_tail(two: TwoLevels) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """Corollary 4.6 with ρ_2 = λE[S_2]."""
    d_1, d_2, _ = waits(two)
    return d_1, d_2, two.rho_1 + lam * two.mean_2
