"""The paper's numbers and its statements about single queues: means, base load, gains, stability, the limits of θ."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial

from mlptsym.laws.exponential import Exponential
from mlptsym.laws.log_normal import LogNormal
from mlptsym.ledger.paper.evidence import LEVELS, LOADS, PREEMPTIONS, VARIED, Estimate, Evidence, level_name
from mlptsym.ledger.paper.verdicts import NOT_REPRODUCED, REPRODUCED, WITHIN_ERROR, Finding, PaperClaim, judged
from mlptsym.numeric.mean.response import solve
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.studies.loads import at_load, capped_name

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


def decide_no_quantum(evidence: Evidence, stated: tuple[float, ...]) -> Finding:
    """E[T] with a quantum of 10⁻⁹ E[L], over that of FCFS, to which it is equal if it differs by less than 10⁻⁶."""
    queue = evidence.queue(6)
    fcfs = solve(queue, FCFS()).mean_response_time
    theory = {k: evidence.short_quanta[k][0] if k in evidence.short_quanta else math.inf for k in stated}
    if math.inf in stated:
        theory[math.inf] = (
            solve(queue, MLPT(quantum=1e-2 * queue.size.mean, levels=math.inf)).mean_response_time / fcfs - 1
        )
    right = all(abs(value) < 1e-6 for value in theory.values())
    simulated = "; ".join(
        f"k = {level_name(k)}: {estimate.value:+.1e} ± {estimate.error:.0e}"
        for k, (_, estimate) in evidence.short_quanta.items()
    )
    exact = "; ".join(f"k = {level_name(k)}: {value:+.1e}" for k, value in theory.items())
    reason = "for finite k and g(0) = 0, proved in limit-no-quantum; k = ∞ is unstable there, and g(0) > 0 adds costs"
    words = "E[T]/E[T of FCFS] − 1 at θ = 1e-9 E[L]"
    return Finding.of(f"{words}: {exact}", f"{words}: {simulated}", right, reason)


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
        f"γ = {cost:g}: ρ₀ < " + ", ".join(f"{value:.6f} (k = {level_name(k)})" for k, value in values.items())
        for cost, values in largest.items()
    )
    result = evidence.by_load[LOADS[-1]][-1]
    load = Estimate.of(result.seed_loads if result.seed_loads is not None else ())
    simulated = f"{capped_name(max(PREEMPTIONS))} at ρ₀ = {LOADS[-1]:g}, where FCFS is stable: "
    simulated += f"load {load.value:.4f} ± {load.error:.4f}"
    reason = "where preemption costs time, γ g(t_r) P(S > t_r) > 0 for some r; at no cost the region is that of FCFS"
    reason += " (smaller-region)"
    return Finding.of(theory, simulated, right, reason)


def decide_never_worse(evidence: Evidence, stated: float) -> Finding:
    """The least gain of θ* over FCFS in all sweeps and at high loads; it has to be at least what is stated."""
    sweeps = itertools.product((3, 8), VARIED, LEVELS)
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
    return Finding.of(
        f"least gain of {len(gains)} queues {100 * least:.4g} %",
        f"least gain {simulated.value:.2f} % ± {simulated.error:.2f} %",
        least >= stated,
        reason,
    )


def model_claims(evidence: Evidence) -> tuple[PaperClaim, ...]:
    """Of figure 2, and of sections 3 to 5 before the figures."""
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
            {"E[L] = 54": 54.0},
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
            {"E[L] = 52": 52.0},
        ),
        PaperClaim(
            "claim-smaller-region",
            "any policy that preempts with positive probability has a smaller stability region",
            r"\rho_k^{\mathrm{eff}} > \rho_0",
            "section 3",
            "smaller",
            (0.01, VARIED["γ"].value, 0.5),
            partial(decide_smaller_region, evidence),
            REPRODUCED,
            {"also without costs, γ = 0": (0.0, VARIED["γ"].value)},
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
            {"for k = ∞ too": (2.0, math.inf)},
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
            {"a gain of at least one per cent": 0.01},
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
            {"0.8234": 0.8234, "λE[L] = 0.8011": 0.8011},
        ),
    )


def gain_claims(evidence: Evidence) -> tuple[PaperClaim, ...]:
    """Of figures 6, 7 and 8."""
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
                {f"{wrong:g} %": wrong},
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
        {"4 points": 4.0},
        "simulation",
    )
    return (*claims[:3], loss, *claims[3:])
