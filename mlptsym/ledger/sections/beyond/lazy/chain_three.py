"""MLPT′ with three levels as a Markov chain of the jobs at the ends of pieces, for three sizes: another road to E[T]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import sympy as sp
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve

from mlptsym.symbolic.algebra.cached import cached

State = tuple[int, int, int, int]
"""Jobs in the three levels, and how many free pieces a job goes on with: one that ended its first piece, or its second."""


@dataclass(frozen=True)
class ThreeSizes:
    """Sizes of which one completes in each level, where the first two quanta are 1.

    With two jobs more in each level, E[T] changes by less than 10⁻⁹ of itself.
    """

    rate: sp.Rational
    costs: tuple[sp.Rational, sp.Rational]
    sizes: tuple[sp.Rational, ...] = (sp.Rational(1, 2), sp.Rational(8, 5), sp.Rational(17, 5))
    masses: tuple[sp.Rational, ...] = (sp.Rational(1, 2), sp.Rational(3, 10), sp.Rational(1, 5))
    most: tuple[int, int, int] = (10, 9, 14)  # jobs in each level

    @property
    def atoms(self) -> tuple[tuple[sp.Rational, sp.Rational], ...]:
        """Sizes and their probabilities."""
        return tuple(zip(self.sizes, self.masses, strict=True))


@dataclass(frozen=True)
class Piece:
    """One way in which the next piece may go."""

    chance: float
    length: float
    after: tuple[
        State, State
    ]  # the state at its end if nobody arrives, and if one does; each further one is in level 1
    demoted: int = 0  # from which level


def pieces(sizes: ThreeSizes, state: State) -> Iterator[Piece]:
    """What the server does next."""
    first, second, third, free = state
    if not (first or second or third or free):
        yield Piece(1.0, 0.0, ((1, 0, 0, 0), (2, 0, 0, 0)))
        return
    level = 1 + free if free else 1 if first else 2 if second else 3
    cost = 0.0 if free or level == 1 else float(sizes.costs[level - 2])
    others = [first, second, third]
    if not free:
        others[level - 1] -= 1
    completing = float(sizes.masses[level - 1] / sum(sizes.masses[level - 1 :]))
    yield Piece(completing, cost + float(sizes.sizes[level - 1] - (level - 1)), (_state(others, 0), _state(others, 1)))
    if level < 3:
        ends = []
        for arrived in (0, 1):
            alone = not any((others[0] + arrived, *others[1 : level + 1]))
            waiting = [*others[:level], others[level] + (not alone), *others[level + 1 :]]
            ends.append(_state(waiting, arrived, level * alone))
        yield Piece(1 - completing, cost + 1.0, (ends[0], ends[1]), level)


def _state(others: list[int], arrived: int, free: int = 0) -> State:
    return others[0] + arrived, others[1], others[2], free


@cached
def by_chain_of_three(sizes: ThreeSizes) -> tuple[float, float, float]:
    """e_1, e_2 and E[T], the last by Little's law from the time that the jobs of each state are there."""
    states: list[State] = [
        (i, j, k, 0) for i in range(sizes.most[0]) for j in range(sizes.most[1]) for k in range(sizes.most[2])
    ]
    states += [(0, 0, k, 1) for k in range(sizes.most[2])] + [(0, 0, 0, 2)]
    rate = float(sizes.rate)
    place = {state: number for number, state in enumerate(states)}
    moves = np.zeros((len(states), len(states)))
    length, held, demoted = np.zeros(len(states)), np.zeros(len(states)), np.zeros((3, len(states)))
    for state, here in place.items():
        jobs = sum(state[:3]) + (state[3] > 0)
        length[here] = 0.0 if jobs else 1 / rate
        for way in pieces(sizes, state):
            expected = rate * way.length
            length[here] += way.chance * way.length
            held[here] += way.chance * (jobs * way.length + expected * way.length / 2)
            demoted[way.demoted, here] += way.chance
            for arrived in range(sizes.most[0]):
                target = way.after[0] if not arrived else (way.after[1][0] + arrived - 1, *way.after[1][1:])
                if target in place:
                    moves[place[target], here] += (
                        way.chance * math.exp(-expected) * expected**arrived / math.factorial(arrived)
                    )
    balance = moves - np.eye(len(states))
    balance[0] = 1.0
    law = spsolve(csc_array(balance), np.eye(len(states))[0])
    alone = [law[[place[state] for state in states if state[3] == r]].sum() / (demoted[r] @ law) for r in (1, 2)]
    return float(alone[0]), float(alone[1]), float((law @ held) / (law @ length) / rate)
