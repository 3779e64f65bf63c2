"""Gittins index of a service time that takes finitely many values: exact, and piecewise linear in the reciprocal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mlptsym.compile.machine_code import machine_code
from mlptsym.numeric.model.service_hazard import ServiceHazard

__all__ = ["AtomIndex", "atom_index"]

Floats = NDArray[np.float64]

TIE = 1e-12


def _segments(
    atoms: Floats, tails: Floats, starts: Floats, stops: Floats, rank_starts: Floats, rank_stops: Floats, ends: Floats
) -> int:
    """Index and end of the quantum at all ages, from the last to the first.

    Between two atoms 1/G is the least of functions that are linear in the age, one for each edge of the hull beyond
    the next atom.  Segments over which it is one of them are written in the order of falling ages; their number is
    returned, at most twice that of the atoms.  The hull is that of `mlptsym.numeric.gittins.index`.
    """
    count = 0
    top = atoms.size
    served = np.empty(top)
    completed = np.empty(top)
    survived = np.empty(top)
    end = np.empty(top)
    for atom in range(atoms.size - 1, -1, -1):
        before = tails[atom - 1] if atom else 1.0
        width = atoms[atom] - (atoms[atom - 1] if atom else 0.0)
        a, f, r, e = 0.0, (before - tails[atom]) / before, tails[atom] / before, atoms[atom]
        done = 0.0  # how far before the atom the segments have come
        while True:
            merges = top < atoms.size and f * served[top] <= completed[top] * (a + width) * (1.0 + TIE)
            until = min(width, max(done, f * served[top] / completed[top] - a)) if merges else width
            starts[count], stops[count], ends[count] = atoms[atom] - until, atoms[atom] - done, e
            rank_starts[count], rank_stops[count] = (a + until) / f, (a + done) / f
            count += 1
            if not merges:
                break
            done = until
            a += r * served[top]
            f += r * completed[top]
            r *= survived[top]
            e = end[top]
            top += 1
        top -= 1
        served[top], completed[top], survived[top], end[top] = a + width, f, r, e
    return count


@dataclass(frozen=True, eq=False)
class AtomIndex:
    """Segments of [0, end) on which 1/G is linear in the age and the quantum ends at one age."""

    starts: Floats
    stops: Floats
    rank_starts: Floats
    rank_stops: Floats
    ends: Floats

    def at(self, ages: Floats) -> tuple[Floats, Floats, Floats]:
        """Index, quantum and a bound on the relative error: the sums have that many terms, all positive."""
        # a switch between two maximisers belongs to the longer quantum, an atom to the ages after it
        keys = np.where(self.stops == self.ends, np.nextafter(self.stops, 0.0), self.stops)
        piece = np.searchsorted(keys, ages)
        width = self.stops[piece] - self.starts[piece]
        part = np.divide(self.stops[piece] - ages, width, out=np.zeros(ages.size), where=width > 0)
        rank = self.rank_stops[piece] + (self.rank_starts[piece] - self.rank_stops[piece]) * part
        error = np.full(ages.size, (4 + self.starts.size) * np.finfo(float).eps)
        return 1 / rank, self.ends[piece] - ages, error


@lru_cache(maxsize=32)
def atom_index(law: ServiceHazard) -> AtomIndex:
    """The index of a law of finitely many values."""
    size = law.queue.size
    sizes = np.unique(np.asarray(size.parameters))
    atoms = law.queue.service_time(sizes)
    buffers = np.empty((5, 2 * atoms.size))
    loop = machine_code(_segments, f"int64({', '.join(['float64[::1]'] * 7)})")
    count = loop(atoms, size.tail(sizes), *buffers)
    return AtomIndex(*(values[:count][::-1].copy() for values in buffers))
