"""Disciplines: what the server does for a job in one level, as a random variable of its service time S.

A discipline is one expression, the piece Y_r, and the costs it contains.  All that the theory asks about a level is
derived from the piece: its moments, what it comes to for a job that goes on or completes, the time before a level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp

from mlptsym.symbolic.algebra.symbols import attained, cost, restore_cost, service, unload, unload_time
from mlptsym.symbolic.model.moments import Indicator, on_interval


@dataclass(frozen=True)
class Discipline:
    """Levels served in order of priority, each in pieces that are not interrupted.

    Attributes
    ----------
    name : str
        Which discipline it is.
    costs : tuple of IndexedBase
        The costs in its pieces; each is a function of the boundary t_r at which it arises.
    cost_names : tuple of str
        What the numeric code calls them.
    work : callable
        Of r and the boundary t_r (∞ for the last level): the time that the server gives to a job which enters level r.
    """

    name: str
    costs: tuple[sp.IndexedBase, ...]
    cost_names: tuple[str, ...]
    work: Callable[[sp.Expr | int, sp.Expr], sp.Expr]

    def piece(self, index: sp.Expr | int, *, last: bool = False) -> sp.Expr:
        """Y_r, the uninterrupted time the server gives a job in level ``index``, zero if the job does not reach it.

        Examples
        --------
        >>> RESTORING.piece(1, last=True)
        S
        """
        return self.work(index, attained(index, last=last)) * Indicator(service, attained(index - 1))

    def completing(self, index: sp.Expr | int, *, last: bool = False) -> sp.Expr:
        """The piece of a job that completes in level ``index``, t_{r−1} < S ≤ t_r.

        Examples
        --------
        >>> RESTORING.completing(2)
        S + c[1] - t[1]
        """
        return self._where(index, attained(index - 1), last=last)

    def passed(self, index: sp.Expr | int) -> sp.Expr:
        """The piece of a job that goes on, S > t_r: all its time in level ``index``.

        Examples
        --------
        >>> RESTORING.passed(2), UNLOADING.passed(2)
        (c[1] - t[1] + t[2], c[1] - t[1] + t[2] + u[2])
        """
        return self._where(index, attained(index), last=False)

    def costs_at(self, index: sp.Expr, end: str) -> dict[str, sp.Expr]:
        """Its costs at t_r by their names, with a word behind that says at which end of a level.

        Examples
        --------
        >>> UNLOADING.costs_at(2, "start")
        {'cost_start': c[2], 'unload_start': u[2]}
        """
        return {f"{name}_{end}": family[index] for name, family in zip(self.cost_names, self.costs, strict=True)}

    def before_service(self, index: sp.Expr | int, *, last: bool = False) -> sp.Expr:
        """The part of the piece that precedes the service: c_{r−1}."""
        return sp.expand(self.completing(index, last=last) - service + attained(index - 1))

    def after_service(self, index: sp.Expr | int) -> sp.Expr:
        """The part of the piece that follows the service of a job that goes on.

        Examples
        --------
        >>> RESTORING.after_service(2), UNLOADING.after_service(2)
        (0, u[2])
        """
        return sp.expand(self.passed(index) - self.completing(index).subs(service, attained(index)))

    def _where(self, index: sp.Expr | int, lower: sp.Expr, *, last: bool) -> sp.Expr:
        """The piece for S in the interval that begins at ``lower``."""
        ends = [attained(index - 1), attained(index, last=last)]
        points = tuple(dict.fromkeys([sp.S.Zero, *ends, sp.oo]))
        return sp.expand(on_interval(self.piece(index, last=last), points, points.index(lower), service))


def _served(index: sp.Expr | int, end: sp.Expr) -> sp.Expr:
    """min(S, t_r) − t_{r−1}."""
    return (service if end is sp.oo else sp.Min(service, end)) - attained(index - 1)


def _restoring(index: sp.Expr | int, end: sp.Expr) -> sp.Expr:
    return restore_cost(index - 1) + _served(index, end)


def _unloading(index: sp.Expr | int, end: sp.Expr) -> sp.Expr:
    return _restoring(index, end) + unload_time(index) * Indicator(service, end)


RESTORING = Discipline("restoring", (cost,), ("cost",), _restoring)
"""The paper's, eq. (8): a job that was demoted has its state brought back at the head of its next piece."""

UNLOADING = Discipline("unloading", (cost, unload), ("cost", "unload"), _unloading)
"""State is also moved out, which the server does at the end of the quantum after which a job is demoted."""

DISCIPLINES = {discipline.name: discipline for discipline in (RESTORING, UNLOADING)}
