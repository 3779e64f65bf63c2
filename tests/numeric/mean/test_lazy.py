"""MLPT′ with two levels: the fixed point and the means at 25 digits from tails alone, limits, and simulation."""

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
import reference
from mpmath.calculus.quadrature import GaussLegendre
from reference_queues import LAWS, loaded, queues

import mlptsym as mq

DIGITS = 18
RULE = GaussLegendre(mp.mp).calc_nodes(4, 80)
LOADS = (0.05, 0.5, 0.9, 0.999)
QUANTA = (0.1, 1.0, 4.0)  # of E[S]


class Literal:
    """E[T] word for word from its derivation: transforms from the tail at Gauss nodes between its corners, at 18 digits."""

    def __init__(self, literal: reference.ReferenceQueue, law: object, theta: float) -> None:
        self.queue, self.theta, self.rate = literal, mp.mpf(theta), mp.mpf(literal.arrival_rate)
        corners = [literal.service_time(mp.mpf(x)) for x in (*law.atoms, *law.density_jumps) if math.isfinite(x)]
        if math.isfinite(literal.slowdown_threshold):
            corners.append(literal.service_time(mp.mpf(literal.slowdown_threshold)))
        self.tail = literal.moment(0, self.theta)
        reach = self.theta + 45 * (1 + literal.moment(1, mp.mpf(0)) * self.rate / self.tail) / self.rate / self.tail
        self.first = self.nodes(mp.mpf(0), self.theta, corners)
        self.second = self.nodes(self.theta, reach, corners)

    def nodes(self, start, end, corners):
        """Lengths of the piece, with their weights against P(S > t) dt."""
        grid = [start + (end - start) * mp.mpf(2) ** -n for n in range(1, 44)]
        panels = pairwise(sorted({start, end, *(c for c in (*corners, *grid) if start < c < end)}))
        middles = (((low + high) / 2, (high - low) / 2) for low, high in panels)
        places = [(middle + half * x, half * w) for middle, half in middles for x, w in RULE]
        return [(t - start, w * self.queue.moment(0, t)) for t, w in places]

    def short(self, z):
        """E[e^{−zS} ; S ≤ θ]."""
        return 1 - mp.exp(-z * self.theta) * self.tail - z * mp.fsum(w * mp.exp(-z * y) for y, w in self.first)

    def last(self, z):
        """E[e^{−z S_2}]."""
        return 1 - z * mp.fsum(w * mp.exp(-z * y) for y, w in self.second) / self.tail

    def answer(self):
        """e, d_1, d_2, E[T]."""
        lam, theta, F = self.rate, self.theta, self.tail
        c = self.queue.cost(theta)
        # α = E[e^{−λ(1−α)S} ; S ≤ θ]: secants of a convex function, from below
        before, alpha = mp.mpf(0), self.short(lam)
        gap = self.short(lam)
        while abs(alpha - before) > mp.mpf(10) ** (2 - DIGITS):
            now = self.short(lam * (1 - alpha)) - alpha
            before, alpha, gap = alpha, alpha - now * (alpha - before) / (now - gap), now
        z = lam * (1 - alpha)
        kappa = F * mp.exp(-lam * theta) / self.short(lam)
        beta_1 = kappa * alpha
        a_w, p_w = self.last(z), self.last(lam)
        a_s, p_s = mp.exp(-z * c) * a_w, mp.exp(-lam * c) * p_w
        b_w, b_s = kappa * (a_w - p_w), kappa * (a_s - p_s)
        # g^w = b_w (1 + g^w) + (1 − a_w − b_w) g^s,  g^s = b_s (1 + g^w) + (1 − a_s − b_s) g^s
        g_w, g_s = mp.lu_solve(mp.matrix([[1 - b_w, -(1 - a_w - b_w)], [-b_s, a_s + b_s]]), mp.matrix([b_w, b_s]))
        m = beta_1 * (1 + g_w) + (1 - alpha - beta_1) * g_s
        mean, second = self.queue.moment(1, mp.mpf(0)), self.queue.moment(2, mp.mpf(0))
        first_theta, second_theta = self.queue.moment(1, theta), self.queue.moment(2, theta)
        # F̄ e = m (1 − λ(E[S] + cF̄(1 − e)))
        e = m * (1 - lam * (mean + c * F)) / (F - m * lam * c * F)
        x_1, x_1_square = mean - first_theta + theta * F, second - second_theta + theta**2 * F
        s_2, s_2_square = first_theta - theta * F, second_theta - 2 * theta * first_theta + theta**2 * F  # times F̄
        charged_square = s_2_square + 2 * c * s_2 + c**2 * F
        d_1 = lam * (x_1_square + (1 - e) * charged_square + e * s_2_square) / (2 * (1 - lam * x_1))
        full_square = second + 2 * c * first_theta + c**2 * F
        found = lam * (full_square - e * (2 * c * s_2 + c**2 * F)) / (2 * (1 - lam * (mean + c * F)))
        d_2 = (found + lam * x_1 * theta) / (1 - lam * x_1)
        return e, d_1, d_2, mean + c * F * (1 - e) + (1 - F) * d_1 + F * d_2


@pytest.mark.parametrize("law_name", LAWS)
def test_agreement_with_the_literal_evaluation(law_name: str) -> None:
    """E[T], d_1, d_2 and e to 1e-12, or 1e-15/(1 − ρ_2^eff) where that is larger; loads and memories go round."""
    for turn, in_means in enumerate(QUANTA):
        theta = in_means * queues(law_name, turn, 1.0)[0].mean_service_time
        policy = mq.MLPT(quantum=theta, levels=2)
        load = LOADS[(turn + len(law_name)) % len(LOADS)]
        queue, literal = loaded(law_name, turn, load, policy)
        terms = mq.lazy_terms(queue, theta)
        with mp.workdps(DIGITS):
            if not 0 < literal.moment(0, mp.mpf(theta)) < 1:
                continue  # see the test of sizes that are all demoted
            e, d_1, d_2, mean = Literal(literal, queue.size, theta).answer()
            allowed = max(1e-12, 1e-15 / (1 - load))
            assert abs(terms.alone / e - 1) < 10 * allowed, (in_means, load)
            assert abs(terms.first_wait / d_1 - 1) < allowed
            assert abs(terms.last_wait / d_2 - 1) < allowed
            assert abs(terms.mean_response_time / mean - 1) < allowed, (in_means, load)
            assert abs(terms.charged / (1 - e) - 1) < 10 * allowed


def test_sizes_that_are_all_demoted() -> None:
    """S = s > θ: α = 0, β_1 = e^{−λθ}, and only single arrivals can be alone: E[β_A] = β_1 P(A = 1)."""
    lam, theta, s, c = 0.15, 1.0, 3.0, 0.2
    queue = mq.Queue(mq.Deterministic(s), lam, preemption_cost=c)
    beta = math.exp(-lam * theta)
    (a_w, b_w), (a_s, b_s) = (
        (math.exp(-lam * x), beta * lam * x * math.exp(-lam * x)) for x in (s - theta, s - theta + c)
    )
    g_w, g_s = np.linalg.solve([[1 - b_w, -(1 - a_w - b_w)], [-b_s, a_s + b_s]], [b_w, b_s])
    m = beta * (1 + g_w) + (1 - beta) * g_s
    e = m * (1 - lam * (s + c)) / (1 - m * lam * c)
    assert mq.lazy_terms(queue, theta).alone == pytest.approx(e, rel=1e-14)


def test_the_values_that_are_known() -> None:
    """Simulated to four figures in the course of the derivation; E[T] of MLPT′, of MLPT, and e."""
    size = mq.LogNormal(5, 0.9)
    rows = (
        (6, 1.0, 1978.498, 1983.415, 0.1008),
        (6, 3.0, 1498.831, 1499.657, 0.0260),
        (6, 6.0, 1447.012, 1447.078, 0.0026),
        (3, 1.5, 3914.671, 3917.899, 0.0374),
    )
    for threshold, quantum, lazy, eager, alone in rows:
        queue = mq.Queue(size, 0.0036, threshold * size.mean, 0.39, 0.1)
        policy = {"quantum": quantum * size.mean, "levels": 2}
        assert mq.mean_response_time(queue, mq.MLPT(**policy, lazy=True)) == pytest.approx(lazy, abs=6e-4)
        assert mq.mean_response_time(queue, mq.MLPT(**policy)) == pytest.approx(eager, abs=6e-4)
        assert mq.lazy_terms(queue, policy["quantum"]).alone == pytest.approx(alone, abs=6e-5)


@pytest.mark.parametrize("law_name", LAWS)
def test_what_a_mean_must_be(law_name: str) -> None:
    """Over nine orders of θ and loads up to 1 − 1e-8: 0 ≤ e ≤ 1, E[T] below that of MLPT by the gain, rows that sum up."""
    mean = queues(law_name, 1, 1.0)[0].mean_service_time
    for load in (1e-6, 0.3, 0.95, 1 - 1e-8):
        quanta = mean * np.geomspace(1e-5, 1e4, 19)
        queue, _ = loaded(law_name, 1, load, mq.MLPT(quantum=0.7 * mean, levels=2))
        eager = mq.solve(queue, mq.MLPT(quantum=quanta, levels=2))
        lazy = mq.solve(queue, mq.MLPT(quantum=quanta, levels=2, lazy=True))
        terms = mq.lazy_terms(queue, quanta)
        assert (lazy.effective_load == eager.effective_load).all() and (lazy.stable == eager.stable).all()
        assert ((terms.alone >= 0) & (terms.alone <= 1) & (terms.charged >= 0)).all()
        np.testing.assert_allclose(terms.alone + terms.charged, 1, rtol=1e-13)
        stable = eager.stable
        assert np.isinf(lazy.mean_response_time[~stable]).all()
        if math.isfinite(queue.size.moment_limit) and queue.size.moment_limit <= 2:
            continue
        difference = eager.mean_response_time[stable] - lazy.mean_response_time[stable]
        error = max(1e-12, 1e-15 / (1 - load)) * eager.mean_response_time[stable]
        assert (np.abs(difference - terms.gain[stable]) <= 2 * error).all()


def test_by_level() -> None:
    """Rows of a table sum to E[T], and the last one counts the share of costs that is paid."""
    queue = mq.Queue(mq.LogNormal(5, 0.9), 0.0036, 1335.1, 0.39, 0.1)
    table = mq.level_table(queue, mq.MLPT(quanta=[300.0], lazy=True))
    assert (table.probability * table.response_time).sum() == pytest.approx(table.mean_response_time, rel=1e-13)
    terms = mq.lazy_terms(queue, 300.0)
    assert table.waiting_time.tolist() == [terms.first_wait, terms.last_wait]


def test_one_level_is_fcfs_and_four_are_refused() -> None:
    queue = mq.Queue(mq.Exponential(1.0), 0.5, preemption_cost=0.1)
    fcfs = mq.mean_response_time(queue, mq.FCFS())
    assert mq.mean_response_time(queue, mq.MLPT(quantum=1.0, levels=1, lazy=True)) == fcfs
    for levels in (4, math.inf):
        with pytest.raises(mq.ParameterError, match="lazy = True .*more than three levels"):
            mq.solve(queue, mq.MLPT(quantum=1.0, levels=levels, lazy=True))
    for asked in (mq.mean_slowdown, mq.response_time_distribution):
        with pytest.raises(mq.ParameterError, match="lazy = True"):
            asked(queue, mq.MLPT(quantum=1.0, levels=2, lazy=True))


def test_limits() -> None:
    """No cost: MLPT.  θ → 0, where the cost goes, and θ → ∞: FCFS."""
    free = mq.Queue(mq.Gamma(0.4, 5.0), 0.3)
    quanta = np.geomspace(0.01, 100, 9)
    policies = [mq.MLPT(quantum=quanta, levels=2, lazy=lazy) for lazy in (False, True)]
    eager, lazy = (mq.mean_response_time(free, policy) for policy in policies)
    np.testing.assert_allclose(lazy, eager, rtol=1e-14)
    queue = mq.Queue(mq.Gamma(3.5, 1.25), 0.15, preemption_cost=0.3)
    fcfs = mq.mean_response_time(queue, mq.FCFS())
    for quantum in (1e-9, 1e9):
        assert mq.mean_response_time(queue, mq.MLPT(quantum=quantum, levels=2, lazy=True)) == pytest.approx(
            fcfs, rel=1e-8
        )


def test_simulation_agrees() -> None:
    """On common traces, false-alarm rate 1e-4: E[T] of both policies and their difference."""
    queue = mq.Queue(mq.Exponential(1.0), 0.45, 1.0, 0.5, 0.4)
    policies = [mq.MLPT(quantum=0.8, levels=2, lazy=lazy) for lazy in (True, False)]
    lazy, eager = (mq.simulate(queue, policy, jobs=30_000, warmup=3_000, seeds=12) for policy in policies)
    gains = np.array(eager.seed_means) - np.array(lazy.seed_means)
    terms = mq.lazy_terms(queue, 0.8)
    bound = 5.7  # of Student's t with 11 degrees of freedom, for the two together
    assert abs(lazy.mean - terms.mean_response_time) < bound * lazy.standard_error
    assert abs(gains.mean() - terms.gain) < bound * gains.std(ddof=1) / math.sqrt(len(gains))
    assert gains.mean() > 20 * gains.std(ddof=1) / math.sqrt(len(gains))
