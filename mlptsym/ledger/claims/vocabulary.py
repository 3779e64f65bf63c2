"""What a claim may speak of: the package's quantities by name, each by the package's own formula.

Two levels (boundary θ, linear memory) and general levels (boundaries t[1], t[2], …, costs c[1], c[2], …) are both
there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp
from sympy.printing.pretty.pretty_symbology import greek_unicode

from mlptsym.ledger.claims.tree import LIMITS
from mlptsym.symbolic.algebra.symbols import (
    arrival_rate,
    attained,
    preemption_cost,
    quantum,
    restore_cost,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.mean import response, waiting
from mlptsym.symbolic.mean.two_levels import two_level_response_time, two_level_terms
from mlptsym.symbolic.model.moments import UpperMoment, expectation, mean, tail
from mlptsym.symbolic.policies import algorithm

slope, hazard = sp.Symbol("dq", positive=True), sp.Symbol("h_L", nonnegative=True)

SYMBOLS: dict[str, tuple[sp.Symbol, str]] = {
    symbol.name: (symbol, meaning)
    for symbol, meaning in (
        (arrival_rate, "arrival rate λ"),
        (preemption_cost, "restore cost per unit of memory γ"),
        (slowdown_factor, "service rate beyond ℓ_C"),
        (quantum, "the quantum of two levels, q(x)"),
        (slowdown_threshold, "slowdown threshold ℓ_C"),
        (slope, "q′(x)"),
        (hazard, "hazard of L at x"),
    )
}
POINT_FUNCTIONS = {
    "F": "F(t) = P(S > t)",
    "f": "f(t), density of S",
    "M": "M(n, t) = E[S^n ; S > t], n = 0, 1, 2, 3",
    "F_L": "F_L(ell_C), P(L > ell_C)",
    "M_L": "M_L(n, ell_C) = E[L^n ; L > ell_C]",
}
INSIDE = {
    "S": "S",
    "S1": "S1 = min(S, theta)",
    "S2": "S2 = S - (1 - gamma)*theta given S > theta",
    "L": "L",
    "q": "q(L)",
    "min": "min",
    "max": "max",
    "above": "above(t) = 1{S > t}",
}
"""What is random, and stands inside E[...] only."""


def canonical(name: str) -> str:
    """A name as the tables have it: Greek letters by their names, an index after an underscore, q alone for theta.

    Examples
    --------
    >>> [canonical(name) for name in ("λ", "ρ_0", "rho0", "ℓ_C", "q", "E")]
    ['lambda', 'rho_0', 'rho_0', 'ell_C', 'theta', 'E']
    """
    letters = {letter: word for word, letter in greek_unicode.items()} | {"ℓ": "ell"}
    spelled = "".join(letters.get(character, character) for character in name)
    return {"q": "theta", "l_C": "ell_C"}.get(spelled, re.sub(r"^(rho|d)(\d+)$", r"\1_\2", spelled))


def _at_quantum(expression: sp.Expr) -> sp.Expr:
    """A quantity of the package's two levels at θ, for linear memory."""
    return expression.subs({restore_cost(1): preemption_cost * quantum, attained(1): quantum})


def _part(name: str) -> sp.Expr:
    """A, B or T′ of the package, with θ for q(x) and linear memory."""
    terms = two_level_terms()
    places = {
        terms.restore: preemption_cost * quantum,
        terms.restore_slope: preemption_cost,
        terms.service_slope: slope,
        terms.hazard: hazard,
        terms.tail: tail(quantum),
        terms.first: UpperMoment(1, quantum),
        terms.second: UpperMoment(2, quantum),
        terms.service: quantum,
    }
    return getattr(terms, name).xreplace(places)


def _load(levels: int) -> sp.Expr:
    """λE[X_1] of two levels or, for ``levels`` 2, the effective load."""
    return arrival_rate * waiting.merged_work(1, 2) if levels == 1 else algorithm.effective_load(2)


QUANTITIES: dict[str, tuple[Callable[[], sp.Expr], str]] = {
    "rho_0": (lambda: arrival_rate * mean(), "base load λE[S]"),
    "rho_1": (lambda: _at_quantum(_load(1)), "two levels: λE[S1]"),
    "rho_2": (lambda: _at_quantum(_load(2) - _load(1)), "two levels: λF(theta)E[S2]"),
    "rho": (lambda: _at_quantum(_load(2)), "two levels: effective load"),
    "d_1": (lambda: _at_quantum(waiting.waiting_time(1, 2)), "two levels: wait of jobs that complete in level 1"),
    "d_2": (lambda: _at_quantum(waiting.waiting_time(2, 2)), "two levels: wait of the others"),
    "T": (two_level_response_time, "two levels: E[T(theta)]"),
    "A": (lambda: _part("A"), "two levels: A(x) of eq. (30)"),
    "B": (lambda: _part("B"), "two levels: B(x) of eq. (30)"),
    "T'": (lambda: _part("derivative"), "two levels: dT/dx"),
}


@dataclass(frozen=True)
class LevelFunction:
    """A quantity of levels."""

    formula: Callable[..., sp.Expr]  # Of whole numbers
    # Their names: ``jk`` for level j of k, ``k`` for all k levels, ``j`` for a level of any number of them
    arguments: str
    meaning: str
    lowest: int = 1  # The least j and k


def _of_levels(random: sp.Expr, k: int) -> sp.Expr:
    return expectation(random, algorithm.boundaries(1, k - 1))


def _piece(j: int, k: int, power: int = 1) -> sp.Expr:
    return _of_levels(algorithm.piece(j, last=j == k) ** power, k)


LEVEL_FUNCTIONS: dict[str, LevelFunction] = {
    "p": LevelFunction(
        lambda j, k: algorithm.completion_probability(j, last=j == k), "jk", "p_j, completes in level j"
    ),
    "b": LevelFunction(waiting.merged_work, "jk", "b_J = E[X_j], work through level j"),
    "v": LevelFunction(waiting.remaining_work, "jk", "v_i, mean effective service still to come at level i", lowest=2),
    "O": LevelFunction(waiting.overtaken_residual, "jk", "O_J of eq. (16)"),
    "dJ": LevelFunction(waiting.merged_wait_by_correction, "jk", "d_J of eq. (15), by the correction O_J"),
    "W": LevelFunction(waiting.merged_wait_by_pieces, "jk", "d_J by the pieces"),
    "d": LevelFunction(waiting.waiting_time, "jk", "d_j of eq. (23)"),
    "Y": LevelFunction(_piece, "jk", "E[Y_j], piece in level j"),
    "Y2": LevelFunction(lambda j, k: _piece(j, k, 2), "jk", "E[Y_j^2]"),
    "a": LevelFunction(lambda j: algorithm.service_before(j + 1), "j", "a_j, time given before level j + 1"),
    "ES": LevelFunction(lambda k: _of_levels(algorithm.effective_size(k), k), "k", "E[S_k^eff]"),
    "ES2": LevelFunction(lambda k: _of_levels(algorithm.effective_size(k) ** 2, k), "k", "E[(S_k^eff)^2]"),
    "rho": LevelFunction(algorithm.effective_load, "k", "ρ_k^eff"),
    "T": LevelFunction(response.mean_response_time, "k", "E[T] with k levels"),
}


EVERY_NAME = (*SYMBOLS, *QUANTITIES, *LEVEL_FUNCTIONS, *POINT_FUNCTIONS, *INSIDE, "E", "t", "c")


def described() -> list[tuple[str, str]]:
    """Every name a claim may use, and its meaning."""
    return [
        *((name, meaning) for name, (_, meaning) in SYMBOLS.items()),
        (f"t[r], c[r], r = 1 … {LIMITS.levels - 1}", "boundary and restore cost of level r, free symbols"),
        *((name, meaning) for name, (_, meaning) in QUANTITIES.items()),
        *((f"{name}({', '.join(one.arguments)})", one.meaning) for name, one in LEVEL_FUNCTIONS.items()),
        *POINT_FUNCTIONS.items(),
        ("E[...]", ", ".join(INSIDE.values())),
    ]
