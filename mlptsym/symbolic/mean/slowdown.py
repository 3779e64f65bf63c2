"""The mean slowdown E[T/S]: the response time relative to the service time.

Given the level j in which a job completes, the time D until its last piece begins depends on the work found and on
other arrivals alone, so it is independent of S.  T = D + c_{j−1} + S − t_{j−1} divided by S then has a mean that needs
one moment more, E[1/S; J = j], which is `UpperMoment` of order −1.
"""

from __future__ import annotations

import sympy as sp

from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import attained, service
from mlptsym.symbolic.mean.waiting import waiting_time
from mlptsym.symbolic.model.moments import UpperMoment
from mlptsym.symbolic.policies.algorithm import service_before
from mlptsym.symbolic.policies.discipline import RESTORING, Discipline


def reciprocal_mean(polynomial: sp.Expr, lower: sp.Expr, upper: sp.Expr) -> sp.Expr:
    """E[polynomial(S)/S ; lower < S ≤ upper], by the moments of one order less.

    Examples
    --------
    >>> t = sp.Symbol("t", positive=True)
    >>> reciprocal_mean(3 + service, t, sp.oo)
    3*UpperMoment(-1, t, S) + UpperMoment(0, t, S)
    """
    # folded moments name S, but do not vary with it
    folded = {moment: sp.Dummy() for moment in polynomial.atoms(UpperMoment)}
    terms = sp.Poly(polynomial.xreplace(folded), service).terms()
    mean = sp.Add(
        *(
            coefficient * (UpperMoment(power - 1, lower) - UpperMoment(power - 1, upper))
            for (power,), coefficient in terms
        )
    )
    return mean.xreplace({symbol: moment for moment, symbol in folded.items()})


def slowdown_in_level(wait: sp.Expr, index: int, levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """E[T/S ; J = j] for a job of level ``index`` that waits ``wait`` = d_j on average.

    Examples
    --------
    >>> slowdown_in_level(sp.Symbol("d"), 1, 1)
    d*UpperMoment(-1, 0, S) + 1
    """
    last = index == levels
    response = wait + service_before(index, discipline) + discipline.completing(index, last=last)
    return sp.expand(reciprocal_mean(sp.expand(response), attained(index - 1), attained(index, last=last)))


def mean_slowdown(levels: int, discipline: Discipline = RESTORING) -> sp.Expr:
    """E[T/S] of MLPT with ``levels`` levels; FCFS is one level."""
    waits = {index: waiting_time(index, levels, discipline) for index in range(1, levels + 1)}
    return sp.Add(*(slowdown_in_level(wait, index, levels, discipline) for index, wait in waits.items()))


def slowdown_formula() -> Formula:
    """E[T/S ; J = j], from the delay until the last piece, p_j and E[1/S ; J = j]."""
    delay, start, end = sp.symbols("delay start end", positive=True)
    mean = reciprocal_mean(delay + service, start, end)
    inputs = {
        f"{name}_{order}": UpperMoment(n, at)
        for order, n in (("reciprocal", -1), ("tail", 0))
        for name, at in (("start", start), ("end", end))
    }
    return Formula({"delay": delay, **inputs}, {"slowdown": mean})
