"""Both sides of a claim in quantities that no relation ties: moments of L, its density, β, ℓ_C, λ, γ and sizes.

S = q(L) ties the moments of S to those of L, θ = q(x) ties q′, the hazard and the density to each other.  What is true
because of such a tie is an identity of rational functions only once the tied quantities are written in free ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import sympy as sp

from mlptsym.ledger.claims.vocabulary import hazard, slope
from mlptsym.symbolic.algebra.symbols import boundary, quantum, service, size, slowdown_threshold
from mlptsym.symbolic.model.moments import Density, UpperMoment, tail
from mlptsym.symbolic.model.service import service_mean, service_rate, service_time, service_upper_moment


def in_free_quantities(*sides: sp.Expr) -> Iterator[tuple[sp.Expr, ...]]:
    """The sides once for each way in which θ and the boundaries t_r can lie before and beyond ℓ_C.

    A statement about queues is true if it is true in each of them: t_1 < t_2 < … are slowed from some r on, and θ is or
    is not.

    Examples
    --------
    >>> first = UpperMoment(1, 0)
    >>> (form,) = in_free_quantities(first - service_mean())
    >>> form[0].expand()
    0
    """
    joined = sp.Tuple(*sides)
    ends = sorted(
        (node for node in joined.atoms(sp.Indexed) if node.base == boundary), key=lambda node: node.indices[0]
    )
    cases = [[(end, number >= first) for number, end in enumerate(ends)] for first in range(len(ends) + 1)]
    at_quantum = [False, True] if joined.has(quantum, slope, hazard) else [False]
    for case, slowed in itertools.product(cases, at_quantum):
        places = dict([*case, (quantum, slowed)])
        yield tuple(joined.xreplace(_values(joined, places)).xreplace(_ages(places)))


def _size_at(end: sp.Expr) -> sp.Symbol:
    """The size x whose service takes until ``end``."""
    return sp.Symbol(f"x_{end}", positive=True)


def _served(end: sp.Expr, *, slowed: bool) -> sp.Expr:
    """q(x) on one side of ℓ_C."""
    x = _size_at(end)
    if not slowed:
        return x
    beyond = sp.Symbol("beyond", positive=True)
    return service_time(slowdown_threshold + beyond).subs(beyond, x - slowdown_threshold)


def _values(joined: sp.Tuple, places: dict[sp.Expr, bool]) -> dict[sp.Expr, sp.Expr]:
    """Moments and density of S, q′ and the hazard of L, in moments and the density of L."""
    fast, slow = (rate for rate, _ in service_rate().args)
    rate = {end: slow if slowed else fast for end, slowed in places.items()}
    at = _size_at(quantum)
    values = {slope: 1 / rate[quantum], hazard: Density(at, size) / tail(at, size)}
    for node in joined.atoms(UpperMoment):
        order, end, variable = node.args
        if variable == service:
            moment = (
                service_mean(order) if end.is_zero else service_upper_moment(order, _size_at(end), slowed=places[end])
            )
            values[node] = moment
    for node in joined.atoms(Density):
        end, variable = node.args
        if variable == service:
            values[node] = Density(_size_at(end), size) * rate[end]
    return values


def _ages(places: dict[sp.Expr, bool]) -> dict[sp.Expr, sp.Expr]:
    return {end: _served(end, slowed=slowed) for end, slowed in places.items()}
