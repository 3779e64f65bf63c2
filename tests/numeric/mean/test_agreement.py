"""Theorem 4.5 in double precision against the printed formulas at 50 digits, over the ranges that are promised.

Every law meets every number of levels and every quantum; loads, memory laws and the slowdown go round.  The reference
is `reference.theorem`, which shares nothing with the package.
"""

import math
from itertools import count

import mpmath as mp
import numpy as np
import pytest
import reference
from reference_queues import LAWS, loaded, queues

import mlptsym as mq

LEVELS = (1, 2, 3, 5, 10, 50, math.inf)
MOST_LEVELS = 1500
LOADS = (0.05, 0.5, 0.9, 0.99, 0.999)
QUANTA = (1 / 20, 0.3, 1.0, 5.0, 40.0)  # of E[S]


@pytest.mark.parametrize("law_name", LAWS)
@pytest.mark.parametrize("levels", LEVELS)
def test_agreement_with_fifty_digits(law_name: str, levels: float) -> None:
    """1e-12 relative, or 1e-15/(1 − ρ^eff) where the problem's own condition makes that larger."""
    turns = count(LEVELS.index(levels))
    for quantum_in_means, turn in zip(QUANTA, turns, strict=False):
        if levels == math.inf and math.isfinite(LAWS[law_name].moment_limit):
            continue  # no sum of levels ends: see the last test
        quantum = quantum_in_means * queues(law_name, turn, 1.0)[0].mean_service_time
        policy = mq.MLPT(quantum=quantum, levels=levels)
        queue, literal = loaded(law_name, turn, LOADS[turn % len(LOADS)], policy)
        with reference.digits():
            boundaries = reference.equal_boundaries(literal, quantum, levels)
            if len(boundaries) > MOST_LEVELS:
                continue  # at 50 digits; small quanta are held against Euler–Maclaurin elsewhere
            exact = reference.theorem(literal, boundaries)
            error = abs(mq.mean_response_time(queue, policy) / exact.mean_response_time - 1)
            allowed = max(mp.mpf("1e-12"), mp.mpf("1e-15") / (1 - exact.effective_load))
            assert error < allowed, (quantum_in_means, LOADS[turn % len(LOADS)], float(error))


@pytest.mark.parametrize("law_name", LAWS)
def test_agreement_by_level_for_unequal_quanta(law_name: str) -> None:
    """p_j, d_j and E[T | J = j] for three unequal quanta."""
    mean = queues(law_name, 1, 1.0)[0].mean_service_time
    policy = mq.MLPT(quanta=[0.2 * mean, 0.7 * mean, 0.4 * mean])
    queue, literal = loaded(law_name, 1, 0.8, policy)
    table = mq.level_table(queue, policy)
    with reference.digits():
        exact = reference.theorem(literal, [mp.mpf(b) for b in np.cumsum(policy.quanta).tolist()])
        for position, level in enumerate(table.level):
            for ours, theirs in ((table.probability, exact.p), (table.waiting_time, exact.d)):
                assert abs(ours[position] / theirs[level - 1] - 1) < 1e-11
            assert abs(table.response_time[position] / exact.response[level - 1] - 1) < 1e-11
        assert abs(table.mean_response_time / exact.mean_response_time - 1) < 1e-12


@pytest.mark.parametrize("law_name", ["Exponential", "LogNormal", "Lomax", "Uniform"])
@pytest.mark.parametrize("levels", [2, 5, math.inf])
def test_unstable_is_inf(law_name: str, levels: float) -> None:
    """A load of 1.001 gives inf and says unstable."""
    policy = mq.MLPT(quantum=0.8 * queues(law_name, 1, 1.0)[0].mean_service_time, levels=levels)
    solution = mq.solve(loaded(law_name, 1, 1.001, policy)[0], policy)
    assert solution.mean_response_time == math.inf
    assert not solution.stable


class PowerLaw:
    """k = ∞ with S ∼ Lomax(α, s), no slowdown and c(a) = γa, by Hurwitz zeta functions at 30 digits.

    With b = s/θ, P(S > rθ) = b^α (r + b)^−α, so every sum over levels through J is a difference of zeta functions; the
    outer sum Σ p_j d_j is left to an Euler–Maclaurin summation by mpmath.
    """

    def __init__(self, alpha: float, scale: float, rate: float, gamma: float, quantum: float) -> None:
        self.alpha, self.scale, self.rate, self.gamma, self.theta = map(mp.mpf, (alpha, scale, rate, gamma, quantum))

    def tail(self, r: int) -> mp.mpf:
        return (1 + r * self.theta / self.scale) ** -self.alpha

    def power_sum(self, power: int, start: int) -> mp.mpf:
        """Σ_{r≥start} r^power P(S > rθ)."""
        b = self.scale / self.theta
        terms = (
            mp.binomial(power, i) * (-b) ** (power - i) * mp.zeta(self.alpha - i, start + b) for i in range(power + 1)
        )
        return b**self.alpha * mp.fsum(terms)

    def excess_sum(self, start: int) -> mp.mpf:
        """Σ_{r≥start} E[(S − rθ)⁺]."""
        b = self.scale / self.theta
        return b**self.alpha * self.theta / (self.alpha - 1) * mp.zeta(self.alpha - 1, start + b)

    def mean_response_time(self) -> mp.mpf:
        lam, g, theta = self.rate, self.gamma, self.theta
        mean = self.scale / (self.alpha - 1)
        second = 2 * self.scale**2 / ((self.alpha - 1) * (self.alpha - 2))
        effective = mean + g * theta * self.power_sum(1, 1)
        # Σ E[Y_r²] = E[S²] − 2θΣD_r + 2Σ(c_r − c_{r−1})D_r + Σc_r²P(S > rθ)
        squares = second + 2 * (g - 1) * theta * self.excess_sum(1) + (g * theta) ** 2 * self.power_sum(2, 1)
        levels = 4000
        tails = [self.tail(r) for r in range(levels + 1)]
        excesses = [tail * (r * theta + self.scale) / (self.alpha - 1) for r, tail in enumerate(tails)]
        work, crossings, total = mp.mpf(0), mp.mpf(0), effective
        terms = []
        for j in range(1, levels + 1):
            start, before = (j - 1) * theta, (j - 1) * theta + g * theta * (j - 2) * (j - 1) / 2 if j > 1 else mp.mpf(0)
            piece = excesses[j - 1] - excesses[j] + g * start * tails[j - 1]
            crossings += before * piece
            work_before, work = work, work + piece
            merged = lam / 2 * (squares + 2 * crossings) / (1 - lam * work)
            waiting = (merged + lam * before * work_before) / (1 - lam * work_before)
            terms.append((tails[j - 1] - tails[j]) * waiting)
        total += mp.fsum(terms)
        # the rest behaves like j^(1−α)(c_0 + c_1/j + …): fitted to partial sums by Richardson's extrapolation
        partial, sums = mp.mpf(0), {}
        for j, term in enumerate(terms, 1):
            partial += term
            sums[j] = partial
        points = [levels >> i for i in range(7)][::-1]
        matrix = mp.matrix(len(points), len(points))
        values = mp.matrix(len(points), 1)
        for row, n in enumerate(points):
            matrix[row, 0] = 1
            for column in range(1, len(points)):
                matrix[row, column] = (n + self.scale / theta) ** (2 - self.alpha - (column - 1))
            values[row] = sums[n]
        return effective + mp.lu_solve(matrix, values)[0]


@pytest.mark.parametrize(("alpha", "gamma"), [(5.5, 0.05), (4.5, 0.02), (3.6, 0.02)])
def test_power_law_with_infinitely_many_levels(alpha: float, gamma: float) -> None:
    """Where no sum ends: the stated 1e-9, against zeta functions and an extrapolated sum."""
    law = mq.Lomax(alpha, alpha - 1)
    for quantum in (0.5, 2.0):
        queue = mq.Queue(law, 0.6, preemption_cost=gamma)
        ours = mq.mean_response_time(queue, mq.MLPT(quantum=quantum, levels=math.inf))
        with mp.workdps(30):
            theirs = PowerLaw(alpha, alpha - 1, 0.6, gamma, quantum).mean_response_time()
            assert abs(ours / theirs - 1) < 1e-9, float(ours / theirs - 1)
