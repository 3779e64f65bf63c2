"""What lies beyond the levels that are summed one by one: a proved bound for it, and its value by Euler–Maclaurin.

With infinitely many levels the first N are summed directly.  `remainder_bound` bounds what the others add.  Where no
reasonable N makes it small (power-law tails, very small quanta), `continued_response_time` adds the levels beyond N
as integrals with end corrections: beyond ℓ_C and beyond the last bend of g every term is a smooth function of a real
level number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mlptsym.numeric.levels import LevelSums, waiting_function
from mlptsym.numeric.queue import Queue

__all__ = ["Continued", "TailIntegrals", "continued_response_time", "remainder_bound"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TailIntegrals:
    """∫_t^∞ u^n P(S > u) du for n = 0, 1, 2, and M_0 … M_3 at t."""

    moments: tuple[Floats, ...]
    mean: Floats
    first: Floats
    second: Floats

    @classmethod
    def at(cls, queue: Queue, t: Floats) -> TailIntegrals:
        """Integrals from t on, by parts from the upper partial moments of S."""
        moments = queue.service_moments(t)
        tail = moments[0]
        mean, first, second = (np.maximum(moments[n] - t**n * tail, 0.0) / n for n in range(1, 4))
        return cls(moments, mean, first, second)


def remainder_bound(queue: Queue, quantum: Floats, sums: LevelSums, t: Floats, tails: TailIntegrals) -> Floats:
    """Upper bound of what levels beyond t = Nθ add to E[T], for the sums of the first N levels.

    Notes
    -----
    With a line i + s·u ≥ g(u), c(u) ≤ κ₀ + κ₁u for κ₀ = γi, κ₁ = γs.  Each omitted sum is one of a non-increasing
    tail times a non-decreasing power, so its terms at t_r are bounded by integrals over (t_{r−1}, t_r) with the power
    one quantum later:

    - Σ_{r>N} c_r P(S > t_r) ≤ (1/θ) ∫_t^∞ (κ₀ + κ₁(u + θ)) P(S > u) du;
    - Σ_{r>N} E[Y_r²] ≤ (θ + c_N)² P(S > t) + (1/θ) ∫_t^∞ (θ + κ₀ + κ₁(u + θ))² P(S > u) du;
    - Σ_{j>N} p_j d_j with d_j ≤ (λ(squares + 2Z_N)/2 + λ a_{j−1}(X + X(1 − ρ)))/(1 − ρ)², since Z_j ≤ Z_N + a_{j−1}X,
      and a_{j−1} ≤ S + (κ₀S + κ₁S²/2)/θ on S > t_{j−1}.

    The first adds to E[S^eff], the second to squares, which the answer multiplies by Σ p_j weight_j.
    """
    intercept, slope = (queue.preemption_cost * value for value in queue.memory.line)
    rate = queue.arrival_rate
    tail, first, second, _ = tails.moments
    ahead = intercept + slope * quantum
    overhead = (ahead * tails.mean + (slope * tails.first if slope else 0.0)) / quantum
    width = quantum + ahead
    squares = (quantum + intercept + slope * t) ** 2 * tail + (
        width**2 * tails.mean + (2 * width * slope * tails.first + slope**2 * tails.second if slope else 0.0)
    ) / quantum
    before = first + (intercept * first + (slope * second / 2 if slope else 0.0)) / quantum
    work = sums.effective_mean + overhead
    spare = 1 - rate * work
    known = rate / 2 * (sums.squares + squares + 2 * sums.crossings[-1]) * tail
    with np.errstate(divide="ignore", invalid="ignore"):
        late = (known + rate * work * before * (1 + spare)) / spare**2
        weight = (sums.probability * sums.weight).sum(axis=0)
        total = overhead + squares * weight + late
    return np.where(spare > 0, total, np.inf)


# Euler–Maclaurin over geometric panels

NODES = 20
PANEL_RATIO = 2.0
LAST_LEVEL = 2.0**400
# end corrections B_{2i}/(2i)! of the Euler–Maclaurin formula (NIST DLMF 2.10.1)
CORRECTIONS = (1 / 12, -1 / 720, 1 / 30240)


@lru_cache(maxsize=1)
def _chebyshev() -> tuple[Floats, Floats, Floats]:
    """Nodes on [−1, 1], matrix of integrals from −1 to each node, and differentiation matrix.

    Trefethen, Spectral Methods in MATLAB (2000), ch. 6; the integrals are those of the interpolating polynomial.
    """
    nodes = -np.cos(np.pi * np.arange(NODES) / (NODES - 1))
    values = np.polynomial.chebyshev.chebvander(nodes, NODES - 1)
    integrals = np.empty((NODES, NODES))
    slopes = np.empty((NODES, NODES))
    for degree in range(NODES):
        unit = np.zeros(NODES)
        unit[degree] = 1.0
        integrals[:, degree] = np.polynomial.chebyshev.chebval(nodes, np.polynomial.chebyshev.chebint(unit, lbnd=-1))
        slopes[:, degree] = np.polynomial.chebyshev.chebval(nodes, np.polynomial.chebyshev.chebder(unit))
    inverse = np.linalg.inv(values)
    return nodes, integrals @ inverse, slopes @ inverse


@dataclass(frozen=True)
class _Panels:
    """Real level numbers from N to very large, on panels of equal ratio with Chebyshev nodes in the logarithm."""

    level: Floats
    half: float

    @classmethod
    def starting_at(cls, first: float, last: float) -> _Panels:
        count = max(1, int(np.ceil(np.log(last / first) / np.log(PANEL_RATIO))))
        half = np.log(PANEL_RATIO) / 2
        nodes, _, _ = _chebyshev()
        start = np.log(first) + 2 * half * np.arange(count)
        level = np.exp(start[:, None] + half * (nodes[None, :] + 1))
        level[0, 0] = first
        return cls(level, half)

    def running_integral(self, values: Floats) -> Floats:
        """∫ from the first level to each node."""
        _, integrals, _ = _chebyshev()
        within = (values * self.level) @ integrals.T * self.half
        before = np.concatenate([[0.0], np.cumsum(within[:-1, -1])])
        return within + before[:, None]

    def slope(self, values: Floats) -> Floats:
        """Derivative in the level at each node."""
        _, _, slopes = _chebyshev()
        return (values @ slopes.T) / self.half / self.level

    def running_sum(self, values: Floats) -> Floats:
        """Σ of the values at whole levels after the first through each node's level, continued to real levels."""
        total = self.running_integral(values) + (values - values[0, 0]) / 2
        for correction, derivative in zip(CORRECTIONS, self._odd_derivatives(values), strict=True):
            total += correction * (derivative - derivative[0, 0])
        return total

    def full_sum(self, values: Floats) -> float:
        """Σ of the values at all whole levels after the first: the end is continued as the power law it has become."""
        total = self.running_integral(values)[-1, -1] - values[0, 0] / 2
        for correction, derivative in zip(CORRECTIONS, self._odd_derivatives(values), strict=True):
            total -= correction * derivative[0, 0]
        end, level = values[-1, -1], self.level[-1, -1]
        if end != 0.0:
            power = -level * self.slope(values)[-1, -1] / end
            total += end * level / (power - 1) if power > 1 else np.inf
        return float(total)

    def _odd_derivatives(self, values: Floats) -> list[Floats]:
        derivatives = [self.slope(values)]
        while len(derivatives) < len(CORRECTIONS):
            derivatives.append(self.slope(self.slope(derivatives[-1])))
        return derivatives


@lru_cache(maxsize=1)
def _gauss() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(8)
    return (nodes + 1) / 2, weights / 2


@dataclass(frozen=True)
class Continued:
    """E[T], E[S^eff] and Σ_r E[Y_r²] over infinitely many levels."""

    mean_response_time: float
    effective_mean: float
    squares: float


def continued_response_time(queue: Queue, quantum: float, sums: LevelSums) -> Continued:
    """E[T] with infinitely many equal quanta: the levels of ``sums`` one by one, all others by Euler–Maclaurin.

    Parameters
    ----------
    queue : Queue
        With a smooth size law.
    quantum : float
        θ.
    sums : LevelSums
        The first N levels (one column); Nθ lies beyond q(ℓ_C) and the last bend of g, and N ≥ 128.

    Returns
    -------
    Continued
        E[T] is ``inf`` if the effective load reaches one.

    Notes
    -----
    Relative error below 1e-9 for shapes at least 0.05 above the last infinite moment, as measured against 50-digit
    sums; usually below 1e-12.
    """
    first = float(len(sums.probability))
    last = min(LAST_LEVEL, 1e120 / quantum) if np.isinf(queue.size.upper_end) else LAST_LEVEL
    panels = _Panels.starting_at(first, max(last, 4 * first))
    level = panels.level
    t = level * quantum
    rate, column = queue.arrival_rate, 0
    _, factor = queue.slowdown

    # pieces by Gauss–Legendre over one quantum: differences of moments would lose all digits far out
    nodes, weights = _gauss()
    inner = t[..., None] - quantum + quantum * nodes
    x = queue.size_at(inner)
    tail = queue.size.partial_moments(x)[0]
    density = queue.size.density(x) * factor
    served = quantum * (tail * weights).sum(axis=-1)
    served_square = 2 * quantum**2 * (tail * nodes * weights).sum(axis=-1)
    probability = quantum * (density * weights).sum(axis=-1)
    reached = queue.size.partial_moments(queue.size_at(t - quantum))[0]
    cost = queue.restore_cost(t - quantum)
    piece_mean = served + cost * reached
    piece_square = served_square + 2 * cost * served + cost**2 * reached

    # costs are linear in the level from here on, so their running sum is exact
    slope = float(queue.restore_cost(quantum * (first + 1)) - queue.restore_cost(quantum * first))
    paid_first = float(sums.before[-1, column]) - quantum * (first - 1)  # c_1 + … + c_{N−2}
    steps = level - first
    first_cost = float(queue.restore_cost(quantum * (first - 1)))
    paid = paid_first + steps * first_cost + slope * steps * (steps - 1) / 2
    before = t - quantum + paid

    rest = panels.full_sum(piece_mean)
    work_here = float(sums.work[-1, column])
    work = work_here + panels.running_sum(piece_mean)
    crossings = float(sums.crossings[-1, column]) + panels.running_sum(before * piece_mean)
    squares = float(sums.squares[column]) + panels.full_sum(piece_square)
    weight, offset = waiting_function()(rate, work - piece_mean, work, before, crossings)
    waiting = squares * (
        float((sums.probability * sums.weight).sum(axis=0)[column]) + panels.full_sum(probability * weight)
    )
    waiting += float((sums.probability * sums.offset).sum(axis=0)[column]) + panels.full_sum(probability * offset)
    effective = work_here + rest
    return Continued(effective + waiting if rate * effective < 1 else float("inf"), effective, squares)
