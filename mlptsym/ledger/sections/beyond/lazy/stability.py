"""The stability region of MLPT′ with three levels, against the growth of its backlog beyond."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from mlptsym.laws.exponential import Exponential
from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import scores
from mlptsym.ledger.exact.digits import value
from mlptsym.ledger.paper.notation import c, lam, t
from mlptsym.ledger.sections.beyond.distribution.response import exponential
from mlptsym.ledger.sections.simulation import backlog_growth
from mlptsym.numeric.model.policies import MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.symbolic.mean import lazy
from mlptsym.symbolic.mean.lazy_stability import saturated_alone, saturated_load

JOBS, SEEDS, FALSE_ALARM = 500_000, 4, 1e-4


@entry(
    "lazy-stability",
    "MLPT′ with three levels is stable if its load with level 3 never empty is below one: beyond, work grows at its excess",
    r"\rho_3' = \lambda\bigl(\mathbb E[S] + c_1\bar F(t_1)(1-e_1) + c_2\bar F(t_2)\bigr)",
    lambda: saturated_alone,
    ("ρ_3^eff of eq. (12)", lambda: lambda: sp.S.Zero),
    ("the cost of level 2 never paid", lambda: lambda: sp.S.One),
    source="beyond the paper; remark 1",
    method="simulation",
)
def check_stability(claim: Callable[[], sp.Expr]) -> Outcome:
    """Exponential sizes with mean one, θ = 4/5, λ = 7/10, γ = 1: the growth of the backlog less ρ_3′ − 1."""
    alpha = sp.Float(0, 30)
    for _ in range(100):  # contracts by the load of level 1
        alpha -= sp.Float(str(value(_exponential(lazy.quiet_balance()), {lazy.quiet: alpha})), 30)
    alone = value(_exponential(claim()), {lazy.quiet: alpha})
    load = float(value(_exponential(saturated_load()), {lazy.alone: alone}))
    queue, policy = Queue(Exponential(1.0), 0.7, preemption_cost=1.0), MLPT(quantum=0.8, levels=3, lazy=True)
    found = [(f"seed {seed}", load - 1, *backlog_growth(queue, policy, seed, JOBS)) for seed in range(SEEDS)]
    return scores(found, FALSE_ALARM)


def _exponential(expression: sp.Expr) -> sp.Expr:
    """For S with P(S > t) = e^{−t}, at the rate, quanta and costs of the check."""
    quantum = sp.Rational(4, 5)
    placed = {lam: sp.Rational(7, 10), t(1): quantum, t(2): 2 * quantum, c(1): quantum, c(2): 2 * quantum}
    return exponential(expression.subs(placed))
