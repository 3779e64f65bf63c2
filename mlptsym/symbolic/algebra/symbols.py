"""The paper's symbols, made once with their assumptions.

Boundaries and restore costs are indexed families, so that one expression serves level 3 of 5 as well as level J of k:
``boundary[r]`` is t_r, the attained service at which a job leaves level r, ``cost[r]`` is c_r, the cost of bringing
it back, and ``unload[r]`` is u_r, that of taking it out, zero in the paper.  `attained`, `restore_cost` and
`unload_time` add the conventions t_0 = 0, c_0 = u_0 = 0 and, for a last level, t_k = ∞.
"""

from __future__ import annotations

import sympy as sp

service = sp.Symbol("S", positive=True)
size = sp.Symbol("L", positive=True)
age = sp.Symbol("a", nonnegative=True)
arrival_rate = sp.Symbol("lambda", positive=True)
slowdown_factor = sp.Symbol("beta", positive=True)
slowdown_threshold = sp.Symbol("ell_C", positive=True)
preemption_cost = sp.Symbol("gamma", nonnegative=True)
unload_cost = sp.Symbol("eta", nonnegative=True)
quantum = sp.Symbol("theta", positive=True)
level = sp.Symbol("J", integer=True, positive=True)
boundary = sp.IndexedBase("t", positive=True)
cost = sp.IndexedBase("c", nonnegative=True)
unload = sp.IndexedBase("u", nonnegative=True)


def attained(index: sp.Expr | int, *, last: bool = False) -> sp.Expr:
    """Attained service at which a job leaves level ``index``: t_index, with t_0 = 0 and ∞ for the last level."""
    if last:
        return sp.oo
    position = sp.sympify(index, strict=True)
    return sp.S.Zero if position.is_zero else boundary[position]


def restore_cost(index: sp.Expr | int) -> sp.Expr:
    """Cost c_index due after the demotion from level ``index``, with c_0 = 0 (eq. (8))."""
    position = sp.sympify(index, strict=True)
    return sp.S.Zero if position.is_zero else cost[position]


def unload_time(index: sp.Expr | int) -> sp.Expr:
    """Time u_index to move a job's state out at its demotion from level ``index``, with u_0 = 0; not in the paper."""
    position = sp.sympify(index, strict=True)
    return sp.S.Zero if position.is_zero else unload[position]
