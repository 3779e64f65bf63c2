"""The paper's numerical claims, one by one: its value, the package's from theory and from simulation, and a verdict.

A number is *reproduced* if the theory's value rounds to it; else it is *within the paper's simulation error* if it is as
close to the theory as a simulation of the paper's scale brings it, at a family-wise level of five per cent.  A statement
about a sweep is *reproduced* if it holds within a factor of two about the paper's own parameter, as the paper does not
print the ranges of its sweeps.  The range in which it does hold, of that of figure 10, is computed and given with it.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mlptsym.figures.base_load import at_load, best_name, capped_name
from mlptsym.figures.best_quanta import plateaus
from mlptsym.figures.parameter_sweeps import ParameterSweep
from mlptsym.ledger.entry import Entry, Method, Outcome, Variant
from mlptsym.ledger.paper.evidence import (
    BETA,
    GAMMA,
    LEVELS,
    LOADS,
    PREEMPTIONS,
    Estimate,
    Evidence,
    holding,
    monotone,
)
from mlptsym.numeric.laws import Exponential, LogNormal
from mlptsym.numeric.policies import FCFS, MLPT
from mlptsym.numeric.response import solve

__all__ = [
    "COLUMNS",
    "NOT_REPRODUCED",
    "REPRODUCED",
    "WITHIN_ERROR",
    "ClaimRow",
    "Finding",
    "PaperClaim",
    "as_entry",
    "entries",
    "paper_claims",
    "table",
    "to_csv",
]

REPRODUCED, WITHIN_ERROR, NOT_REPRODUCED = "reproduced", "within the paper's simulation error", "not reproduced"
COLUMNS = ("claim", "source", "paper", "theory", "simulation", "verdict", "reason")

LEVEL, GAINS = 0.05, 8
AN_ARGMIN = "none: an argument of a minimum, around which simulated means differ by less than their error"
FACTOR = 2.0
FLAT_RATIO = 1e-6
STANDARD_ERRORS = 3.0
Ranges = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Finding:
    """What the package says about a claim.

    Attributes
    ----------
    theory, simulation : str
        The package's values; where there is none, why.
    verdict : str
        Reproduced, within the paper's simulation error, or not reproduced.
    reason : str
        Why, and where the claim holds.
    """

    theory: str
    simulation: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class PaperClaim:
    """A claim of the paper, and how it is decided.

    Attributes
    ----------
    name, statement, latex, source : str
        As for an `Entry`.
    paper : str
        The paper's value, or its words.
    stated : Any
        The same for the computer.
    decide : callable
        What is stated ↦ `Finding`.
    verdict : str
        The verdict on record.
    variants : tuple of (str, Any)
        Other statements, which get another verdict.
    method : {"digits", "simulation"}
        Whether a simulation takes part in the verdict.
    """

    name: str
    statement: str
    latex: str
    source: str
    paper: str
    stated: Any
    decide: Callable[[Any], Finding]
    verdict: str
    variants: tuple[tuple[str, Any], ...]
    method: Method = "digits"


@dataclass(frozen=True)
class ClaimRow:
    """A row of the table, all text; the columns are those of `COLUMNS`."""

    claim: str
    source: str
    paper: str
    theory: str
    simulation: str
    verdict: str
    reason: str


# numbers


def judged(stated: float, unit: float, theory: float, samples: Sequence[float] = (), seeds: int = 1) -> tuple[str, str]:
    """Verdict on a number printed to a unit, and the reason.

    Parameters
    ----------
    stated, unit : float
        The number and the unit of its last digit.
    theory : float
        The exact value.
    samples : sequence of float
        One simulated value a seed; none if the number does not come from a simulation.
    seeds : int
        Of a simulation at the paper's scale, whose mean has the standard deviation of the samples over √seeds.
    """
    from scipy.special import stdtrit

    if abs(stated - theory) <= unit / 2 * (1 + 1e-9):
        return REPRODUCED, "the exact value rounds to the paper's"
    difference = f"the paper is {abs(stated - theory):.3g} {'above' if stated > theory else 'below'} the exact value"
    if not len(samples):
        return NOT_REPRODUCED, difference
    error = Estimate.of(samples).error * math.sqrt(len(samples) / seeds)
    allowed = -float(stdtrit(len(samples) - 1, LEVEL / 2 / GAINS))
    score = abs(stated - theory) / error
    words = f"{difference}, {score:.1f} standard errors of a simulation of its scale "
    words += f"({error:.2g}, from {len(samples)} traces; up to {allowed:.1f} is within)"
    return (WITHIN_ERROR if score <= allowed else NOT_REPRODUCED), words


def decide_base_load(evidence: Evidence, stated: float) -> Finding:
    """ρ₀ = λE[S] by (5), and λ times the mean service time of the simulated jobs."""
    queue = evidence.queue(6)
    mean = evidence.mean_of(queue.size, queue.service_time)
    verdict, reason = judged(stated, 1e-4, queue.base_load)
    measured = f"{queue.arrival_rate * mean.value:.5f} ± {queue.arrival_rate * mean.error:.5f}"
    return Finding(f"{queue.base_load:.8f}", measured, verdict, reason)


def decide_mean(evidence: Evidence, law: Exponential | LogNormal, stated: float) -> Finding:
    """E[L] of a law of figure 2."""
    sample = evidence.mean_of(law, lambda sizes: sizes)
    verdict, reason = judged(stated, 1.0, law.mean)
    if verdict != REPRODUCED and isinstance(law, LogNormal):
        location = math.log(stated) - law.sigma**2 / 2
        reason += f"; E[L] = {stated:g} takes a location of {location:.4f}, which rounds to the {law.mu:g} printed"
    return Finding(f"{law.mean:.6f}", f"{sample.value:.3f} ± {sample.error:.3f}", verdict, reason)


def decide_gain(evidence: Evidence, multiple: float, which: str, stated: float) -> Finding:
    """Gain over FCFS in per cent: Pollaczek–Khinchine and theorem 4.5; simulation on traces that both policies share."""
    exact, samples = 100 * evidence.gain(multiple, which), 100 * evidence.seed_gains[multiple, which]
    simulated = Estimate.of(samples[: evidence.seeds])
    verdict, reason = judged(stated, 0.1, exact, samples.tolist(), evidence.seeds)
    return Finding(f"{exact:.4f} %", f"{simulated.value:.2f} % ± {simulated.error:.2f} %", verdict, reason)


def decide_loss(evidence: Evidence, stated: float) -> Finding:
    """Percentage points that θ̂ loses against θ* at 6E[L], k = ∞."""
    gains = evidence.seed_gains
    exact = 100 * (evidence.gain(6, "∞") - evidence.gain(6, "rule"))
    samples = 100 * (gains[6, "∞"] - gains[6, "rule"])
    simulated = Estimate.of(samples[: evidence.seeds])
    verdict, reason = judged(stated, 0.1, exact, samples.tolist(), evidence.seeds)
    return Finding(f"{exact:.4f} points", f"{simulated.value:.2f} ± {simulated.error:.2f} points", verdict, reason)


# sweeps


def written(ranges: Ranges, symbol: str, limits: tuple[float, float]) -> str:
    """Where a claim holds, in words, of the range looked at."""
    where = f"the range {limits[0]:.6g} to {limits[1]:.6g} looked at"
    if covers(ranges, limits):
        return f"holds for {symbol} in all of {where}"
    spans = " and ".join(f"from {low:.6g} to {high:.6g}" for low, high in ranges)
    return f"holds for {symbol} {spans} of {where}" if ranges else f"holds nowhere in {where}"


def ordered(long: float, short: float, sign: int) -> bool:
    """Whether the first quantum is longer (1) or shorter (−1) than the second, by more than rounding."""
    return long > short * (1 + FLAT_RATIO) if sign > 0 else long < short * (1 - FLAT_RATIO)


def compared(evidence: Evidence, sweep: ParameterSweep, parameter: float) -> str:
    """θ*_∞ and θ*_2 at a value of the parameter."""
    short, long = (evidence.best(sweep.at(parameter), k).quantum / sweep.queue.size.mean for k in LEVELS)
    return f"θ*_∞ = {long:.4f} E[L], θ*_2 = {short:.4f} E[L]"


def about(value: float, limits: tuple[float, float]) -> tuple[float, float]:
    """Within a factor of two of the paper's value, inside the range looked at."""
    return max(value / FACTOR, limits[0]), min(value * FACTOR, limits[1])


def covers(ranges: Ranges, span: tuple[float, float]) -> bool:
    """Whether one of the ranges contains a span."""
    return any(low <= span[0] and span[1] <= high for low, high in ranges)


def decide_threshold_order(evidence: Evidence, stated: float) -> Finding:
    """Whether θ*_∞ > θ*_2 for every stable ℓ_C up to a bound, printed to one decimal; the exact one is computed."""
    sweep = evidence.thresholds

    def longer(multiple: float) -> bool:
        short, long = (evidence.best(sweep.at(multiple), k).quantum for k in LEVELS)
        return ordered(long, short, 1)

    step = (sweep.high - sweep.low) / 16
    ranges = holding(longer, [sweep.low + step * place for place in range(17)])
    end = next((high for low, high in ranges if low == sweep.low), math.nan)
    right = abs(end - stated) <= 0.05
    reason = written(ranges, "ℓ_C/E[L]", (sweep.low, sweep.high))
    reason += f", which begins where the queue becomes stable; just above, {compared(evidence, sweep, end + 1e-3)}"
    return Finding(f"up to {end:.6g} E[L]", AN_ARGMIN, REPRODUCED if right else NOT_REPRODUCED, reason)


def decide_pinned(evidence: Evidence, name: str, stated: tuple[float, float]) -> Finding:
    """Whether θ*_2 = ℓ_C at 3E[L] over a given part of the sweep at least, the paper's parameter in it."""
    share, number = stated
    limits = evidence.sweep(3, name)
    span = plateaus(evidence.curve(3, name, 2)).get(int(number), (math.nan, math.nan))
    ranges: Ranges = (span,) if span[0] <= span[1] else ()
    value = BETA if name == "slowdown_factor" else GAMMA
    part = sum(high - low for low, high in ranges) / (limits.high - limits.low)
    right = covers(ranges, about(value, (limits.low, limits.high))) and part > share
    symbol = "β" if name == "slowdown_factor" else "γ"
    reason = written(ranges, symbol, (limits.low, limits.high))
    theory = f"θ*_2 = ℓ_C over {100 * part:.1f} % of the range"
    return Finding(theory, AN_ARGMIN, REPRODUCED if right else NOT_REPRODUCED, reason)


def decide_trend(evidence: Evidence, multiple: float, name: str, levels: tuple[float, ...], stated: int) -> Finding:
    """Whether θ* falls (−1) or rises (1) with β or γ, plateaus allowed."""
    sweep = evidence.sweep(multiple, name)
    value, symbol = (BETA, "β") if name == "slowdown_factor" else (GAMMA, "γ")
    curves = {k: evidence.curve(multiple, name, k) for k in levels}
    ranges = {k: monotone(found, stated) for k, found in curves.items()}
    right = all(covers(one, about(value, (sweep.low, sweep.high))) for one in ranges.values())
    reason = "; ".join(f"k = {_level(k)}: {written(one, symbol, (sweep.low, sweep.high))}" for k, one in ranges.items())
    ends = {
        k: (found[0].best.quantum / sweep.queue.size.mean, found[-1].best.quantum / sweep.queue.size.mean)
        for k, found in curves.items()
    }
    theory = "; ".join(f"θ*_{_level(k)} from {low:.4f} to {high:.4f} E[L]" for k, (low, high) in ends.items())
    return Finding(theory, AN_ARGMIN, REPRODUCED if right else NOT_REPRODUCED, reason)


def decide_plateau(evidence: Evidence, stated: int) -> Finding:
    """Whether θ*_∞ = ℓ_C/m over a part of either sweep at 3E[L], near the paper's parameters."""
    found = {}
    for name, symbol, value in (("slowdown_factor", "β", BETA), ("preemption_cost", "γ", GAMMA)):
        sweep = evidence.sweep(3, name)
        low, high = about(value, (sweep.low, sweep.high))
        span = plateaus(evidence.curve(3, name, math.inf)).get(stated, (math.nan, math.nan))
        found[symbol] = (span, max(span[0], low) < min(span[1], high))
    right = all(overlaps for _, overlaps in found.values())
    theory = "; ".join(f"{symbol} from {span[0]:.6g} to {span[1]:.6g}" for symbol, (span, _) in found.items())
    reason = "a kink of E[T] is the minimum there" if right else "no plateau near the paper's parameters"
    return Finding(f"plateau for {theory}", AN_ARGMIN, REPRODUCED if right else NOT_REPRODUCED, reason)


def decide_order(evidence: Evidence, name: str, stated: int) -> Finding:
    """Whether θ*_∞ − θ*_2 has a sign over a sweep at 8E[L]."""
    sweep = evidence.sweep(8, name)
    value, symbol = (BETA, "β") if name == "slowdown_factor" else (GAMMA, "γ")

    def holds(parameter: float) -> bool:
        short, long = (evidence.best(sweep.at(parameter), k).quantum for k in LEVELS)
        return ordered(long, short, stated)

    limits = (sweep.low, sweep.high)
    ranges = holding(holds, (one.parameter for one in evidence.curve(8, name, math.inf)))
    right = covers(ranges, about(value, limits))
    reason = written(ranges, symbol, limits)
    if not covers(ranges, limits):
        reason += f"; at {symbol} = {sweep.high:g} {compared(evidence, sweep, sweep.high)}"
    theory = f"{compared(evidence, sweep, value)} at {symbol} = {value:g}"
    return Finding(theory, AN_ARGMIN, REPRODUCED if right else NOT_REPRODUCED, reason)


# loads

NO_FORMULA = "none: Capped Gittins has no formula"


def decide_passes(evidence: Evidence, stated: int) -> Finding:
    """Whether Capped Gittins is above (1) or below (−1) FCFS at base loads of 0.9 and more, by three standard errors."""
    right, texts = True, []
    first: dict[int, float] = {}
    for place, most in enumerate(PREEMPTIONS, start=3):
        for load, results in evidence.by_load.items():
            ratio = Estimate.of(100 * (results[place].seed_means / results[0].seed_means - 1))
            beyond = stated * ratio.value > STANDARD_ERRORS * ratio.error
            if beyond:
                first.setdefault(most, load)
            elif load >= 0.9:
                right = False
            else:
                first.pop(most, None)
            if load in {LOADS[0], 0.9}:
                texts.append(f"{capped_name(most)} at ρ₀ = {load:g}: {ratio.value:+.1f} % ± {ratio.error:.1f} %")
    side = "above" if stated > 0 else "below"
    starts = ", ".join(f"{capped_name(most)} from ρ₀ = {load:g}" for most, load in first.items()) or "neither"
    reason = f"{side} FCFS by three standard errors at the loads {', '.join(map(str, LOADS))}: {starts} on"
    return Finding(NO_FORMULA, "; ".join(texts), REPRODUCED if right else NOT_REPRODUCED, reason)


def decide_unstable(evidence: Evidence, stated: tuple[int, ...]) -> Finding:
    """Which caps are unstable at the highest load, by the measured load with restore times."""
    results = dict(zip(PREEMPTIONS, evidence.by_load[LOADS[-1]][3:], strict=True))
    unstable = tuple(most for most, result in results.items() if not result.stable)
    loads = {most: Estimate.of(result.seed_loads) for most, result in results.items() if result.seed_loads is not None}
    texts = [f"{capped_name(most)}: load {load.value:.4f} ± {load.error:.4f}" for most, load in loads.items()]
    reason = f"at ρ₀ = {LOADS[-1]:g} the measured load of {capped_name(max(PREEMPTIONS))} is "
    reason += "not below 1; with one preemption it is" if unstable == (2,) else "as shown"
    verdict = REPRODUCED if unstable == stated else NOT_REPRODUCED
    return Finding(NO_FORMULA, "; ".join(texts), verdict, reason)


def decide_stays_stable(evidence: Evidence, stated: str) -> Finding:
    """The effective load (11) of MLPT at high base loads, with θ* for each load, or with that for λ = 0.0036 kept."""
    loads = (LOADS[-1], 0.99, 0.999)
    effective: dict[float, list[float]] = {}
    for k in LEVELS:
        fixed = evidence.optima[6, k].quantum
        effective[k] = []
        for load in loads:
            queue = at_load(evidence.queue(6), load)
            quantum = evidence.best(queue, k).quantum if stated == "θ* for each load" else fixed
            policy = MLPT(quantum=quantum, levels=k) if math.isfinite(quantum) else FCFS()
            effective[k].append(solve(queue, policy).effective_load)
    right = all(value < 1 for values in effective.values() for value in values)
    words = ", ".join(f"{load:g}" for load in loads)
    theory = "; ".join(
        f"{best_name(k)}: ρ^eff = {', '.join(f'{value:.6f}' for value in values)}" for k, values in effective.items()
    )
    results = evidence.by_load[LOADS[-1]]
    simulated = "; ".join(
        f"{best_name(k)}: E[T] = {result.mean:.0f} ± {result.standard_error or 0.0:.0f}"
        for k, result in zip(LEVELS, results[1:3], strict=True)
    )
    reason = f"with {stated}, at ρ₀ = {words}: ρ^eff {'stays below' if right else 'reaches'} 1"
    return Finding(
        f"{theory} at ρ₀ = {words}",
        f"{simulated} at ρ₀ = {LOADS[-1]:g}",
        REPRODUCED if right else NOT_REPRODUCED,
        reason,
    )


# statements


def decide_no_quantum(evidence: Evidence, stated: tuple[float, ...]) -> Finding:
    """E[T] with a quantum of 10⁻⁹ E[L], over that of FCFS."""
    queue = evidence.queue(6)
    fcfs = solve(queue, FCFS()).mean_response_time
    theory = {k: evidence.short_quanta[k][0] if k in evidence.short_quanta else math.inf for k in stated}
    if math.inf in stated:
        theory[math.inf] = (
            solve(queue, MLPT(quantum=1e-2 * queue.size.mean, levels=math.inf)).mean_response_time / fcfs - 1
        )
    right = all(abs(value) < FLAT_RATIO for value in theory.values())
    simulated = "; ".join(
        f"k = {_level(k)}: {estimate.value:+.1e} ± {estimate.error:.0e}"
        for k, (_, estimate) in evidence.short_quanta.items()
    )
    exact = "; ".join(f"k = {_level(k)}: {value:+.1e}" for k, value in theory.items())
    reason = "for finite k and g(0) = 0, proved in limit-no-quantum; k = ∞ is unstable there, and g(0) > 0 adds costs"
    words = "E[T]/E[T of FCFS] − 1 at θ = 1e-9 E[L]"
    return Finding(f"{words}: {exact}", f"{words}: {simulated}", REPRODUCED if right else NOT_REPRODUCED, reason)


def decide_smaller_region(evidence: Evidence, stated: tuple[float, ...]) -> Finding:
    """The largest stable base load of MLPT at θ = ℓ_C, 6E[L], for given γ: below one, or not."""
    largest = {}
    for cost in stated:
        queue = replace(evidence.queue(6), preemption_cost=cost)
        quantum = 6 * queue.size.mean
        largest[cost] = {
            k: queue.base_load / solve(queue, MLPT(quantum=quantum, levels=k)).effective_load for k in LEVELS
        }
    right = all(value < 1 - 1e-9 for values in largest.values() for value in values.values())
    theory = "; ".join(
        f"γ = {cost:g}: ρ₀ < " + ", ".join(f"{value:.6f} (k = {_level(k)})" for k, value in values.items())
        for cost, values in largest.items()
    )
    result = evidence.by_load[LOADS[-1]][-1]
    load = Estimate.of(result.seed_loads if result.seed_loads is not None else ())
    simulated = f"{capped_name(max(PREEMPTIONS))} at ρ₀ = {LOADS[-1]:g}, where FCFS is stable: "
    simulated += f"load {load.value:.4f} ± {load.error:.4f}"
    reason = "where preemption costs time, γ g(t_r) P(S > t_r) > 0 for some r; at no cost the region is that of FCFS"
    reason += " (smaller-region)"
    return Finding(theory, simulated, REPRODUCED if right else NOT_REPRODUCED, reason)


def decide_never_worse(evidence: Evidence, stated: float) -> Finding:
    """The least gain of θ* over FCFS in all sweeps and at high loads; it has to be at least what is stated."""
    sweeps = itertools.product((3, 8), ("slowdown_factor", "preemption_cost"), LEVELS)
    optima = [one.best for sweep in sweeps for one in evidence.curve(*sweep)]
    optima += evidence.optima.values()
    extremes = (at_load(evidence.queue(6), 0.999), replace(evidence.queue(3), preemption_cost=1.0))
    optima += [evidence.best(queue, k) for queue in extremes for k in LEVELS]
    gains = [1 - best.mean_response_time / best.fcfs for best in optima]
    least = min(gains)
    simulated = min(
        (Estimate.of(100 * values[: evidence.seeds]) for values in evidence.seed_gains.values()),
        key=lambda one: one.value,
    )
    reason = "FCFS is the limit θ → ∞ (limit-large-quantum), so the infimum over θ is never above it; "
    reason += f"FCFS is best, and no finite quantum, for {sum(best.kind == 'fcfs' for best in optima)} of these queues"
    return Finding(
        f"least gain of {len(gains)} queues {100 * least:.4g} %",
        f"least gain {simulated.value:.2f} % ± {simulated.error:.2f} %",
        REPRODUCED if least >= stated else NOT_REPRODUCED,
        reason,
    )


def _level(levels: float) -> str:
    return "∞" if math.isinf(levels) else f"{levels:g}"


# all of them


def paper_claims(evidence: Evidence) -> tuple[PaperClaim, ...]:
    """The claims in the order of the paper.

    Parameters
    ----------
    evidence : Evidence
        Where the package's numbers come from; they are computed when a claim is decided.
    """
    return (*_model_claims(evidence), *_gain_claims(evidence), *_load_claims(evidence), *_sweep_claims(evidence))


def _model_claims(evidence: Evidence) -> tuple[PaperClaim, ...]:
    exponential, lognormal = Exponential(1 / 53), LogNormal(3.1, 1.3)
    return (
        PaperClaim(
            "claim-mean-exponential",
            "E[L] = 53 for Exp(1/53)",
            r"\mathbb E[L] = 53",
            "figure 2",
            "53",
            53.0,
            partial(decide_mean, evidence, exponential),
            REPRODUCED,
            (("E[L] = 54", 54.0),),
        ),
        PaperClaim(
            "claim-mean-lognormal",
            "E[L] = 53 for LogNorm(3.1, 1.3)",
            r"\mathbb E[L] = e^{3.1 + 1.3^2/2} = 53",
            "figure 2",
            "53",
            53.0,
            partial(decide_mean, evidence, lognormal),
            NOT_REPRODUCED,
            (("E[L] = 52", 52.0),),
        ),
        PaperClaim(
            "claim-smaller-region",
            "any policy that preempts with positive probability has a smaller stability region",
            r"\rho_k^{\mathrm{eff}} > \rho_0",
            "section 3",
            "smaller",
            (0.01, GAMMA, 0.5),
            partial(decide_smaller_region, evidence),
            REPRODUCED,
            (("also without costs, γ = 0", (0.0, GAMMA)),),
        ),
        PaperClaim(
            "claim-no-quantum",
            "at θ = 0 MLPT-(θ, k) is FCFS, for finite k",
            r"\lim_{\theta\to0}\mathbb E[T_{\mathrm{MLPT}(\theta,k)}] = \mathbb E[T_{\mathrm{FCFS}}]",
            "section 4.2; section 5, figure 6",
            "FCFS",
            (2.0, 5.0, 10.0),
            partial(decide_no_quantum, evidence),
            REPRODUCED,
            (("for k = ∞ too", (2.0, math.inf)),),
            "simulation",
        ),
        PaperClaim(
            "claim-never-worse",
            "MLPT-(θ*, k) has a smaller or equal mean response time than FCFS",
            r"\mathbb E[T_{\mathrm{MLPT}(\theta^*,k)}] \le \mathbb E[T_{\mathrm{FCFS}}]",
            "section 4.2",
            "gain of at least 0",
            0.0,
            partial(decide_never_worse, evidence),
            REPRODUCED,
            (("a gain of at least one per cent", 0.01),),
        ),
        PaperClaim(
            "claim-base-load",
            "ρ₀ ≈ 0.8233 at ℓ_C = 6E[L]",
            r"\rho_0 = \lambda\mathbb E[S] \approx 0.8233",
            "section 5",
            "0.8233",
            0.8233,
            partial(decide_base_load, evidence),
            REPRODUCED,
            (("0.8234", 0.8234), ("λE[L] = 0.8011", 0.8011)),
        ),
    )


PRINTED_GAINS: tuple[tuple[float, str, float, float], ...] = (
    (6, "2", 21.7, 24.0),
    (6, "∞", 32.2, 36.0),
    (6, "rule", 31.9, 36.0),
    (3, "2", 46.6, 40.0),
    (3, "∞", 50.3, 40.0),
    (8, "2", 14.9, 18.0),
    (8, "∞", 24.6, 28.0),
)
"""ℓ_C/E[L], the policy, the gain the paper prints, in per cent, and one that the check has to refuse."""


def _gain_claims(evidence: Evidence) -> tuple[PaperClaim, ...]:
    claims = []
    for multiple, which, stated, wrong in PRINTED_GAINS:
        policy = "MLPT-(θ̂, ∞)" if which == "rule" else f"MLPT-(θ*, {which})"
        claims.append(
            PaperClaim(
                f"claim-gain-{multiple:g}-{which if which != '∞' else 'inf'}",
                f"{policy} is {stated:g} % below FCFS at ℓ_C = {multiple:g}E[L]",
                r"1 - \mathbb E[T]/\mathbb E[T_{\mathrm{FCFS}}] = " + f"{stated / 100:g}",
                "section 5, figure " + {6: "6", 3: "7", 8: "8"}[int(multiple)],
                f"{stated:g} %",
                stated,
                partial(decide_gain, evidence, multiple, which),
                WITHIN_ERROR,
                ((f"{wrong:g} %", wrong),),
                "simulation",
            )
        )
    loss = PaperClaim(
        "claim-rule-loss",
        "θ̂ is 0.3 percentage points below the gain at θ*, k = ∞, ℓ_C = 6E[L]",
        r"\text{gain}(\theta^*) - \text{gain}(\hat\theta) = 0.003",
        "section 5, figure 6",
        "0.3 points",
        0.3,
        partial(decide_loss, evidence),
        WITHIN_ERROR,
        (("4 points", 4.0),),
        "simulation",
    )
    return (*claims[:3], loss, *claims[3:])


def _load_claims(evidence: Evidence) -> tuple[PaperClaim, ...]:
    return (
        PaperClaim(
            "claim-gittins-passes",
            "the mean response time of Capped Gittins surges with the load and passes that of FCFS",
            r"\mathbb E[T_{\mathrm{CG}(k)}] > \mathbb E[T_{\mathrm{FCFS}}]",
            "section 5, figure 9",
            "above FCFS at high load",
            1,
            partial(decide_passes, evidence),
            REPRODUCED,
            (("below FCFS at high load", -1),),
            "simulation",
        ),
        PaperClaim(
            "claim-gittins-unstable",
            "Capped Gittins(3) is unstable at the highest load, Capped Gittins(2) is not",
            r"\rho_0 + \lambda\mathbb E[\text{restore time}] \ge 1",
            "section 5, figure 9",
            "last point of Capped Gittins(3) omitted",
            (2,),
            partial(decide_unstable, evidence),
            REPRODUCED,
            (("both unstable", (1, 2)), ("neither unstable", ())),
            "simulation",
        ),
        PaperClaim(
            "claim-mlpt-stable",
            "MLPT-(θ*, 2) and MLPT-(θ*, ∞) remain stable under heavy loads",
            r"\rho_k^{\mathrm{eff}}(\theta^*) < 1",
            "section 5, figure 9",
            "stable",
            "θ* for each load",
            partial(decide_stays_stable, evidence),
            REPRODUCED,
            (("with θ* for λ = 0.0036 at every load", "θ* for λ = 0.0036"),),
        ),
    )


def _sweep_claims(evidence: Evidence) -> tuple[PaperClaim, ...]:
    factor, cost = "slowdown_factor", "preemption_cost"
    many, both = (math.inf,), tuple(LEVELS)
    falls, rises = ("fall", "with β", factor, -1), ("rise", "with γ", cost, 1)
    trends = tuple(
        PaperClaim(
            f"claim-{'many' if levels == many else 'both'}-{verb}-{multiple}",
            f"{f'θ*_∞ {verb}s' if levels == many else f'θ*_2 and θ*_∞ {verb}'} {along} at ℓ_C = {multiple}E[L]",
            r"\theta^*_\infty" + (r",\ \theta^*_2" if levels == both else "") + rf"\ \text{{{verb} {along[:4]}}}",
            "appendix B, figure 10",
            f"{verb} {along}",
            sign,
            partial(decide_trend, evidence, multiple, name, levels),
            REPRODUCED,
            (("the other way", -sign),),
        )
        for multiple, levels in ((3, many), (8, both))
        for verb, along, name, sign in (falls, rises)
    )
    orders = tuple(
        PaperClaim(
            f"claim-order-{symbol}-8",
            f"θ*_∞ is below θ*_2 at ℓ_C = 8E[L], as {letter} varies",
            r"\theta^*_\infty < \theta^*_2",
            "appendix B, figure 10",
            "below",
            -1,
            partial(decide_order, evidence, name),
            REPRODUCED,
            (("above", 1),),
        )
        for symbol, letter, name in (("beta", "β", factor), ("gamma", "γ", cost))
    )
    return (
        PaperClaim(
            "claim-order-threshold",
            "θ*_∞ > θ*_2 for ℓ_C < 3.5E[L]",
            r"\theta^*_\infty > \theta^*_2,\quad \ell_C < 3.5\,\mathbb E[L]",
            "appendix B, figure 10a",
            "up to 3.5 E[L]",
            3.5,
            partial(decide_threshold_order, evidence),
            REPRODUCED,
            (("up to 4 E[L]", 4.0), ("up to 3 E[L]", 3.0)),
        ),
        PaperClaim(
            "claim-pinned-gamma-3",
            "θ*_2 = ℓ_C at ℓ_C = 3E[L] throughout the γ sweep",
            r"\theta^*_2 = \ell_C",
            "appendix B, figure 10c",
            "the whole sweep",
            (0.5, 1),
            partial(decide_pinned, evidence, cost),
            REPRODUCED,
            (("θ*_2 = ℓ_C/2", (0.5, 2)),),
        ),
        PaperClaim(
            "claim-pinned-beta-3",
            "θ*_2 = ℓ_C at ℓ_C = 3E[L] over most of the β sweep",
            r"\theta^*_2 = \ell_C",
            "appendix B, figure 10b",
            "most of the sweep",
            (0.5, 1),
            partial(decide_pinned, evidence, factor),
            REPRODUCED,
            (("nine tenths of it", (0.9, 1)),),
        ),
        *trends[:2],
        PaperClaim(
            "claim-plateau-3",
            "θ*_∞ has a plateau at ℓ_C over part of each sweep at ℓ_C = 3E[L]",
            r"\theta^*_\infty = \ell_C",
            "appendix B, figures 10b and 10c",
            "a plateau at ℓ_C",
            1,
            partial(decide_plateau, evidence),
            REPRODUCED,
            (("a plateau at ℓ_C/2", 2),),
        ),
        *trends[2:],
        *orders,
    )


def check_claim(decide: Callable[[Any], Finding], verdict: str, stated: Any) -> Outcome:
    """The paper's value held against the package's: theory, simulation, and whether the verdict is the one on record."""
    found = decide(stated)
    evidence = f"{found.verdict}: theory {found.theory}; simulation {found.simulation}; {found.reason}"
    return Outcome(found.verdict == verdict, evidence)


def as_entry(claim: PaperClaim) -> Entry:
    """A claim as an entry of the ledger: green if its verdict is the one on record, and every variant gets another."""
    variants = tuple(Variant(words, partial(_given, stated)) for words, stated in claim.variants)
    statement = f"{claim.statement}: {claim.verdict}"
    check = partial(check_claim, claim.decide, claim.verdict)
    given = partial(_given, claim.stated)
    return Entry(claim.name, statement, claim.latex, claim.source, claim.method, given, check, variants)


def _given(stated: Any) -> Any:
    return stated


def entries() -> tuple[Entry, ...]:
    """Entries of this section; their numbers are computed once for all of them, when they are verified."""
    return tuple(map(as_entry, paper_claims(Evidence())))


def table(claims: Iterable[PaperClaim]) -> tuple[ClaimRow, ...]:
    """The claims with the package's values and verdicts."""
    rows = []
    for claim in claims:
        found = claim.decide(claim.stated)
        rows.append(
            ClaimRow(
                claim.statement, claim.source, claim.paper, found.theory, found.simulation, found.verdict, found.reason
            )
        )
    return tuple(rows)


def to_csv(rows: Iterable[ClaimRow]) -> str:
    """The table as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([getattr(row, name) for name in COLUMNS] for row in rows)
    return text.getvalue()
