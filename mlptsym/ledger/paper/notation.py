"""The paper's letters for the package's symbols, in which the statements under test are written."""

from __future__ import annotations

from typing import Any

import sympy as sp

from mlptsym.symbolic.algebra.symbols import (
    arrival_rate,
    attained,
    level,
    preemption_cost,
    quantum,
    restore_cost,
    service,
    size,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.model.moments import tail

S, L, J = service, size, level
lam, theta, gamma = arrival_rate, quantum, preemption_cost
beta, ell_C = slowdown_factor, slowdown_threshold
t, c = attained, restore_cost


def F(r: Any) -> sp.Expr:  # the paper's name
    """F̄(t_r) = P(S > t_r)."""
    return tail(t(r))
