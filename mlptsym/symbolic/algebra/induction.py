"""Sums over levels with symbolic ends, for statements about all levels at once.

A statement about every level J of any number k of levels is proved by its difference between J and J + 1.  Sums whose
ends depend on J and k stay folded; `peeled` brings them to common ends, so that in a difference they cancel and a few
explicit terms are left.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from mlptsym.symbolic.algebra.symbols import boundary, cost

levels = sp.Symbol("k", integer=True, positive=True)


def total(term: Callable[[sp.Expr], sp.Expr], lower: sp.Expr | int, upper: sp.Expr | int, index: str = "r") -> sp.Expr:
    """Σ term(r) for r from ``lower`` to ``upper``; written out where the number of terms is known, zero if none.

    ``index`` names that of a folded sum; nested sums need different ones.

    Examples
    --------
    >>> total(lambda r: cost[r], 1, 3)
    c[1] + c[2] + c[3]
    >>> total(lambda r: cost[r], 1, levels)
    Sum(c[r], (r, 1, k))
    """
    count = sp.sympify(upper, strict=True) - lower + 1
    if count.is_Integer:
        return sp.Add(*(term(sp.sympify(lower, strict=True) + step) for step in range(max(int(count), 0))))
    r = sp.Symbol(index, integer=True, positive=True)
    return sp.Sum(term(r), (r, lower, upper))


def peeled(expression: sp.Expr, first: sp.Expr, last: sp.Expr) -> sp.Expr:
    """The same expression, with every sum over levels that can begin at ``first`` or end at ``last`` doing so.

    A sum that begins a known number of terms before or after ``first`` gets these terms split off or added on, and
    likewise at its end.  Sums inside the terms split off are treated in the same way.

    Examples
    --------
    >>> from mlptsym.symbolic.algebra.symbols import level
    >>> growth = total(lambda r: cost[r], 1, level + 1) - total(lambda r: cost[r], 1, level)
    >>> peeled(growth, level, level)
    c[J + 1]
    """
    if not isinstance(expression, sp.Basic) or not expression.has(sp.Sum):
        return expression
    if not isinstance(expression, sp.Sum):
        return expression.func(*(peeled(argument, first, last) for argument in expression.args))
    term, (index, lower, upper) = expression.function, expression.limits[0]

    def at(position: sp.Expr) -> sp.Expr:
        here = term.subs(index, position).subs({boundary[0]: 0, cost[0]: 0})
        return peeled(here, first, last)

    def terms(start: sp.Expr, stop: sp.Expr) -> sp.Expr:
        """Signed sum for start ≤ r < stop; terms for stop ≤ r < start count as negative."""
        count = int(stop - start)
        if count >= 0:
            return sp.Add(*(at(start + step) for step in range(count)))
        return -terms(stop, start)

    if (upper - lower).is_Integer:
        return terms(lower, upper + 1)
    split = sp.S.Zero
    if (first - lower).is_Integer:
        split += terms(lower, first)
        lower = first
    if (upper - last).is_Integer:
        split += terms(last + 1, upper + 1)
        upper = last
    return split + sp.Sum(term, (index, lower, upper))
