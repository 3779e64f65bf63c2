"""What only the queue itself can answer: stability, and waiting times against Algorithm 1, by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from mlptsym.laws.exponential import Exponential
from mlptsym.laws.gamma import Gamma
from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import scores
from mlptsym.ledger.paper import printed
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.simulation.simulate import response_times
from mlptsym.simulation.traces import draw_trace
from mlptsym.symbolic.algebra.symbols import arrival_rate, boundary, cost
from mlptsym.symbolic.model.moments import UpperMoment

FALSE_ALARM = 1e-4
"""Probability that a true statement is refuted by its simulations."""
JOBS, WARMUP, SEEDS = 100_000, 10_000, 16
"""Measured jobs of a simulation, jobs before them, and simulations: standard errors below one part in a hundred."""
Load = Callable[[Queue, Any], float]
Cases = list[tuple[Queue, Any]]
QUEUE = Queue(Gamma(0.5, 2.0), 0.35, slowdown_threshold=1.5, slowdown_factor=0.5, preemption_cost=0.5)
"""Sizes of mean one and squared coefficient of variation two; every boundary of the policies is passed by many jobs."""

# stability


def queue_at(rate: float) -> Queue:
    """Exponential sizes with mean one, half speed from 1 on, γ = 0.3: E[S] = 1.37."""
    return Queue(Exponential(1.0), rate, slowdown_threshold=1.0, slowdown_factor=0.5, preemption_cost=0.3)


def backlog_growth(queue: Queue, policy: Policy, seed: int, jobs: int) -> tuple[float, float]:
    """Work left when the last of a number of arrivals comes, over the time until then, and its standard error.

    In an unstable queue the work in the system grows as ρ − 1; the work that has arrived is a compound Poisson sum,
    so the error is √(λE[S_eff²]/t).  The effective sizes are those the same jobs have when each is alone.
    """
    trace = draw_trace(queue.size, queue.arrival_rate, jobs, seed=seed)
    end = trace.arrival_times[-1]
    eager = MLPT(quantum=policy.quantum, levels=policy.levels) if isinstance(policy, MLPT) else policy
    alone = response_times(queue, eager, 1e6 * np.arange(jobs), trace.sizes)
    busy = response_times(queue, policy, trace.arrival_times, trace.sizes) + trace.arrival_times
    return float(busy.max() / end - 1), math.sqrt(queue.arrival_rate * float(np.mean(alone**2)) / end)


without = [(queue_at(rate), FCFS()) for rate in (0.5, 0.9)]
few = [(queue_at(0.5), MLPT(quantum=0.5, levels=3)), (queue_at(0.7), MLPT(quantum=1.0, levels=3))]
many = [(queue_at(0.4), MLPT(quantum=1.0, levels=math.inf)), (queue_at(0.6), MLPT(quantum=0.5, levels=math.inf))]
lazy_2 = (queue_at(0.72), MLPT(quantum=1.0, levels=2, lazy=True))


@entry(
    "lemma-3.1",
    "without preemption the queue is stable exactly if ρ_0 = λE[S] < 1: beyond, work grows at the rate ρ_0 − 1",
    r"\text{stable} \iff \rho_0 = \lambda\mathbb E[S] < 1",
    lambda: base_load,
    ("λE[L] for ρ_0", lambda queue, _: queue.arrival_rate * queue.size.mean),
    ("all service at the rate β", lambda queue, _: queue.arrival_rate * queue.size.mean / queue.slowdown_factor),
    given=(without,),
    method="simulation",
)
@entry(
    "eq-12",
    "three levels: stable exactly if ρ_3^eff < 1, work grows at the rate ρ_3^eff − 1 beyond",
    r"\rho_k^{\mathrm{eff}} = \lambda\Bigl(\mathbb E[S] + \gamma\sum_{r=1}^{k-1}g(r\theta)\bar F(r\theta)\Bigr) < 1",
    lambda: effective_load,
    ("restore costs left out", lambda: base_load),
    ("one level less", lambda queue, policy: effective_load(queue, policy, policy.levels - 1)),
    ("one level more", lambda queue, policy: effective_load(queue, policy, policy.levels + 1)),
    given=(few,),
    method="simulation",
)
@entry(
    "lemma-4.2",
    "infinitely many levels: the queue is stable exactly if ρ^eff < 1, though ρ_0 < 1 in both cases",
    r"\text{stable} \iff \rho_\infty^{\mathrm{eff}} < 1",
    lambda: effective_load,
    ("restore costs left out", lambda: base_load),
    given=(many,),
    method="simulation",
)
def check_growth(cases: Cases, claim: Load, jobs: int = JOBS) -> Outcome:
    """The backlog grows at the rate max(ρ − 1, 0): two seeds for each case, on both sides of stability."""
    found = []
    for queue, policy in cases:
        load = claim(queue, policy)
        for seed in range(2):
            growth, error = backlog_growth(queue, policy, seed, jobs)
            words = f"growth at λ = {queue.arrival_rate:g}, {_named(policy)}"
            found.append((words, max(load - 1, 0.0), growth, error))
    return scores(found, FALSE_ALARM)


@entry(
    "lemma-4.2-lazy",
    "MLPT′ with two levels grows as MLPT does; with five its backlog grows less: its stability region is larger",
    r"k=2:\ \text{backlog of MLPT}' \sim (\rho_2^{\mathrm{eff}}-1)t",
    lambda: [lazy_2],
    ("the same with five levels", lambda: [(queue_at(0.7), MLPT(quantum=0.25, levels=5, lazy=True))]),
    source="remark 1; the paper has no stability condition for MLPT′",
    method="simulation",
)
def check_lazy(claim: Cases) -> Outcome:
    """Under MLPT′ the backlog grows at the rate ρ^eff − 1 of MLPT, costs being due at every demotion."""
    return check_growth(claim, effective_load, 5 * JOBS)


def _named(policy: Any) -> str:
    if isinstance(policy, FCFS):
        return "FCFS"
    return f"k = {policy.levels:g}, θ = {policy.quantum:g}{', lazy' if policy.lazy else ''}"


def base_load(queue: Queue, _: Any) -> float:
    """(6)."""
    return queue.arrival_rate * queue.mean_service_time


def effective_load(queue: Queue, policy: Any, levels: Any = None) -> float:
    """(11), the sum over levels cut where nothing is left."""
    most = 2000 if policy.levels == math.inf else int(policy.levels if levels is None else levels)
    ages = policy.quantum * np.arange(1, most)
    tails = queue.service_moments(ages)[0]
    return base_load(queue, policy) + queue.arrival_rate * queue.preemption_cost * float(np.sum(ages * tails))


# waiting times


def number(expression: sp.Expr, queue: Queue, quanta: tuple[float, ...]) -> float:
    """A printed formula at the boundaries, costs and moments of a queue."""
    ends = np.cumsum(quanta)
    values: dict[sp.Expr, float] = {arrival_rate: queue.arrival_rate}
    values |= {UpperMoment(n, 0): queue.service_moment(n) for n in (1, 2)}
    for r, end in enumerate(ends, start=1):
        values |= {UpperMoment(n, boundary[r]): float(queue.service_moments(end)[n]) for n in range(3)}
        values |= {cost[r]: float(queue.restore_cost(end)), boundary[r]: float(end)}
    return float(expression.xreplace(values))


def measured(policy: MLPT) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Response and service times of the measured jobs, one pair for each seed."""
    pairs = []
    for seed in range(SEEDS):
        trace = draw_trace(QUEUE.size, QUEUE.arrival_rate, WARMUP + JOBS, seed=seed)
        times = response_times(QUEUE, policy, trace.arrival_times, trace.sizes)
        pairs.append((times[WARMUP:], QUEUE.service_time(trace.sizes)[WARMUP:]))
    return pairs


def _score(words: str, predicted: float, samples: list[float]) -> tuple[str, float, float, float]:
    return words, predicted, float(np.mean(samples)), float(np.std(samples, ddof=1)) / math.sqrt(len(samples))


@entry(
    "eq-23-simulation",
    "mean wait d_j of the jobs that complete in level j = 1, 2, 3 of three",
    r"d_j,\quad j = 1, 2, 3",
    printed.waiting_time,
    ("d_J for d_j", printed.merged_wait),
    ("no a_{j−1}", partial(printed.waiting_time, ahead=lambda j: sp.S.Zero)),
    source="eqs. (15), (23)",
    method="simulation",
)
def check_waits_by_level(claim: Callable[[int, int], sp.Expr]) -> Outcome:
    """The printed d_j of each of three levels: response less service and restore costs of the jobs completed there."""
    quanta = (0.5, 0.7)
    ends = np.array([0.0, *np.cumsum(quanta), np.inf])
    costs = np.concatenate([[0.0, 0.0], QUEUE.restore_cost(np.cumsum(quanta))]).cumsum()
    pairs = measured(MLPT(quanta=quanta))
    found = []
    for j in (1, 2, 3):
        waits = []
        for response, work in pairs:
            here = (ends[j - 1] < work) & (work <= ends[j])
            waits.append(float(np.mean(response[here] - work[here]) - costs[j]))
        found.append(_score(f"d_{j}", number(claim(j, 3), QUEUE, quanta), waits))
    return scores(found, FALSE_ALARM, SEEDS - 1)


@entry(
    "theorem-4.5-simulation",
    "mean response time for two, three and four levels, equal and unequal quanta",
    r"\mathbb E[T_{\mathrm{MLPT}(\theta,k)}]",
    printed.response_time,
    ("E[S] for E[S^eff]", partial(printed.response_time, size=lambda _: UpperMoment(1, 0))),
    ("d_J for d_j", partial(printed.response_time, d=printed.merged_wait)),
    method="simulation",
)
def check_mean_response(claim: Callable[[int], sp.Expr]) -> Outcome:
    """The printed E[T] for two, three and four levels, unequal quanta among them."""
    found = []
    for quanta in ((1.0,), (0.5, 0.7), (0.4, 0.4, 0.4)):
        times = [float(response.mean()) for response, _ in measured(MLPT(quanta=quanta))]
        found.append(_score(f"E[T], quanta {quanta}", number(claim(len(quanta) + 1), QUEUE, quanta), times))
    return scores(found, FALSE_ALARM, SEEDS - 1)
