"""The means of MLPT′ with two levels, given the probability e that a demoted job is alone; what MLPT′ gains."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from mlptsym.laws.gamma import Gamma
from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import Equations, scores
from mlptsym.ledger.paper.notation import F, S, c, lam, t
from mlptsym.ledger.paper.printed import integral
from mlptsym.numeric.mean.lazy import LazyTerms, lazy_terms
from mlptsym.numeric.model.policies import MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.simulation.simulate import simulate
from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.mean import lazy
from mlptsym.symbolic.mean.response import mean_response_time
from mlptsym.symbolic.model.moments import UpperMoment, mean

FALSE_ALARM, SEEDS = 1e-4, 16
e, theta, cost = lazy.alone, t(1), c(1)


@dataclass(frozen=True)
class Stated:
    """The means as stated; wrong variants change a part."""

    last: sp.Expr = S - theta  # S_2, without cost
    in_level_1: sp.Expr = e  # the probability that the cost is waived, in d_1
    charged: sp.Expr = (S - theta + cost) ** 2 - (S - theta) ** 2  # what W² loses at a waived cost
    in_level_2: sp.Expr = e  # the probability of that, in E[W]

    def first_wait(self) -> sp.Expr:
        """d_1."""
        short = integral(S**2, sp.S.Zero, theta) + theta**2 * F(1)
        long = integral(sp.expand(self.last**2), theta)
        paid = integral(sp.expand((self.last + cost) ** 2), theta)
        squares = short + (1 - self.in_level_1) * paid + self.in_level_1 * long
        return lam * squares / (2 * (1 - lam * served()))

    def last_wait(self) -> sp.Expr:
        """d_2."""
        square = integral(S**2, sp.S.Zero) + 2 * cost * UpperMoment(1, theta) + cost**2 * F(1)
        waived = self.in_level_2 * integral(sp.expand(self.charged), theta)
        found = lam * (square - waived) / (2 * (1 - lam * (mean() + cost * F(1))))
        return (found + lam * served() * theta) / (1 - lam * served())


def served() -> sp.Expr:
    """E[min(S, θ)]."""
    return integral(S, sp.S.Zero, theta) + theta * F(1)


@entry(
    "lazy-mean",
    "MLPT′ with two levels, e the probability that a demoted job is alone: its means, and those of MLPT at e = 0 or c = 0",
    r"d_1 = \frac{\lambda(\mathbb E[X_1^2] + \bar F((1-e)\mathbb E[(S_2+c)^2] + e\,\mathbb E[S_2^2]))}"
    r"{2(1-\lambda\mathbb E[X_1])},\quad"
    r"\mathbb E[W] = \frac{\lambda\mathbb E[X^2] - \lambda\bar F e(2c\,\mathbb E[S_2]+c^2)}{2(1-\lambda\mathbb E[X])},"
    r"\quad d_2 = \frac{\mathbb E[W] + \lambda\mathbb E[X_1]\theta}{1-\lambda\mathbb E[X_1]}",
    Stated,
    ("no cost waived in W: only e of level 1", lambda: Stated(in_level_2=sp.S.Zero)),
    ("a waived cost never charged in W: it loses c, not (S_2 + c)² − S_2²", lambda: Stated(charged=cost**2)),
    ("e dropped in level 1", lambda: Stated(in_level_1=sp.S.Zero)),
    ("θ in place of S_2", lambda: Stated(last=theta)),
    source="beyond the paper; remark 1",
)
def check_mean(claim: Stated) -> Equations:
    """d_1 and d_2 from the balances of work, E[T] from them, and MLPT where no cost is waived, or there is none."""
    waits, whole = lazy.lazy_waits(), lazy.lazy_response_time()
    first, last = claim.first_wait(), claim.last_wait()
    return [
        ("d_1", waits.first, first),
        ("d_2", waits.last, last),
        ("E[T]", whole, mean() + cost * F(1) * (1 - e) + (1 - F(1)) * first + F(1) * last),
        ("e = 0: MLPT", whole.subs(e, 0), mean_response_time(2)),
        ("c = 0: MLPT", whole.subs(cost, 0), mean_response_time(2).subs(cost, 0)),
    ]


@dataclass(frozen=True)
class Gain:
    """E[T] of MLPT less that of MLPT′; wrong variants change a part."""

    delayed: sp.Expr = 1 - F(1) + F(1) / (1 - lam * (mean() + cost * F(1)))

    def value(self) -> sp.Expr:
        """For e given."""
        removed = 2 * cost * (UpperMoment(1, theta) - theta * F(1)) + cost**2 * F(1)
        return e * (cost * F(1) + lam * removed / (2 * (1 - lam * served())) * self.delayed)


@entry(
    "lazy-gain",
    "what MLPT′ gains over MLPT: the job's own cost, and λ(2cE[(S−θ)⁺] + c²F̄)/2 less residual work for all others",
    r"\mathbb E[T_{\mathrm{MLPT}}]-\mathbb E[T_{\mathrm{MLPT}'}] = e\left(c\bar F + \frac{\lambda(2c\,\mathbb E[(S-\theta)^+]"
    r"+c^2\bar F)}{2(1-\rho_1)}\Bigl(1-\bar F+\frac{\bar F}{1-\rho}\Bigr)\right)",
    Gain,
    ("no other job gains", lambda: Gain(sp.S.Zero)),
    ("all jobs gain as in level 1", lambda: Gain(sp.S.One)),
    source="beyond the paper; remark 1",
)
def check_gain(claim: Gain) -> Equations:
    """The difference of the two means, linear in e."""
    return [("gain", mean_response_time(2) - lazy.lazy_response_time(), claim.value())]


@entry(
    "lazy-large-quantum",
    "θ → ∞, linear g and E[S²] finite: nothing is gained, whatever e tends to",
    r"\lim_{\theta\to\infty}\bigl(\mathbb E[T_{\mathrm{MLPT}}]-\mathbb E[T_{\mathrm{MLPT}'}]\bigr) = 0",
    lambda: 1,
    ("costs that grow as θ²", lambda: 2),
    source="beyond the paper; remark 1",
)
def check_large_quantum(claim: int) -> Outcome:
    """The gain for each unit of e ≤ 1, with t² F̄(t) and t M_1(t), which are below M_2(t), as bounded parts of ε → 0.

    With θ = 1/η it is a quotient of polynomials in η and ε; the numerator vanishes at η = ε = 0, the denominator not.
    """
    far, epsilon, unit, *part = sp.symbols("eta epsilon gamma f_0 f_1", positive=True)
    moments = {F(1): epsilon * far**2 * part[0], UpperMoment(1, theta): epsilon * far * part[1]}
    gain = -sp.diff(lazy.lazy_response_time(), e).subs(moments | {UpperMoment(2, theta): epsilon})
    quotient = sp.fraction(sp.cancel(sp.together(gain.subs({cost: unit / far**claim, theta: 1 / far}))))
    numerator, denominator = (polynomial.subs({far: 0, epsilon: 0}) for polynomial in quotient)
    vanishes = bool(numerator == 0) and bool(denominator != 0)
    words = "the gain vanishes" if vanishes else "the gain does not vanish"
    return Outcome(vanishes, words, (Step("numerator and denominator", sp.Tuple(*quotient)),))


QUEUE, QUANTUM = Queue(Gamma(0.5, 2.0), 0.35, 1.5, 0.5, preemption_cost=0.5), 1.0


@cached
def simulated_gains() -> NDArray[np.float64]:
    """One for each seed."""
    policies = (MLPT(quantum=QUANTUM, levels=2, lazy=lazy) for lazy in (False, True))
    runs = (simulate(QUEUE, policy, jobs=30_000, warmup=3_000, seeds=SEEDS) for policy in policies)
    eager, waiving = (np.array(run.seed_means) for run in runs)
    gains: NDArray[np.float64] = eager - waiving
    return gains


@entry(
    "lazy-simulation",
    "what MLPT′ gains over MLPT on the same traces, two levels",
    r"\mathbb E[T_{\mathrm{MLPT}}]-\mathbb E[T_{\mathrm{MLPT}'}]",
    lambda terms, own: terms.gain,
    ("the job's own cost only", lambda terms, own: own),
    ("every cost waived", lambda terms, own: terms.gain / terms.alone),
    ("none waived", lambda terms, own: 0.0),
    source="beyond the paper; remark 1",
    method="simulation",
)
def check_simulation(claim: Callable[[LazyTerms, float], Any]) -> Outcome:
    """Differences on common traces."""
    gains = simulated_gains()
    terms = lazy_terms(QUEUE, QUANTUM)
    tail = float(QUEUE.service_moments(QUANTUM)[0])
    own = float(terms.alone * QUEUE.restore_cost(QUANTUM) * tail)
    error = float(gains.std(ddof=1)) / math.sqrt(len(gains))
    return scores([("gain", float(claim(terms, own)), float(gains.mean()), error)], FALSE_ALARM, len(gains) - 1)
