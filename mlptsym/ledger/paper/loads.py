"""The paper's statements about high loads, figure 9: Capped Gittins passes FCFS and becomes unstable, MLPT does not."""

from __future__ import annotations

import math
from functools import partial

from mlptsym.ledger.paper.evidence import LEVELS, LOADS, PREEMPTIONS, Estimate, Evidence
from mlptsym.ledger.paper.verdicts import REPRODUCED, Finding, PaperClaim
from mlptsym.numeric.mean.response import solve
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.studies.loads import at_load, best_name, capped_name

NO_FORMULA = "none: Capped Gittins has no formula"


def decide_passes(evidence: Evidence, stated: int) -> Finding:
    """Whether Capped Gittins is above (1) or below (−1) FCFS at base loads of 0.9 and more, by three standard errors."""
    right, texts = True, []
    first: dict[int, float] = {}
    for place, most in enumerate(PREEMPTIONS, start=3):
        for load, results in evidence.by_load.items():
            ratio = Estimate.of(100 * (results[place].seed_means / results[0].seed_means - 1))
            beyond = stated * ratio.value > 3 * ratio.error
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
    return Finding.of(NO_FORMULA, "; ".join(texts), right, reason)


def decide_unstable(evidence: Evidence, stated: tuple[int, ...]) -> Finding:
    """Which caps are unstable at the highest load, by the measured load with restore times."""
    results = dict(zip(PREEMPTIONS, evidence.by_load[LOADS[-1]][3:], strict=True))
    unstable = tuple(most for most, result in results.items() if not result.stable)
    loads = {most: Estimate.of(result.seed_loads) for most, result in results.items() if result.seed_loads is not None}
    texts = [f"{capped_name(most)}: load {load.value:.4f} ± {load.error:.4f}" for most, load in loads.items()]
    reason = f"at ρ₀ = {LOADS[-1]:g} the measured load of {capped_name(max(PREEMPTIONS))} is "
    reason += "not below 1; with one preemption it is" if unstable == (2,) else "as shown"
    return Finding.of(NO_FORMULA, "; ".join(texts), unstable == stated, reason)


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
    return Finding.of(f"{theory} at ρ₀ = {words}", f"{simulated} at ρ₀ = {LOADS[-1]:g}", right, reason)


def load_claims(evidence: Evidence) -> tuple[PaperClaim, ...]:
    """In the order of the paper."""
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
            {"below FCFS at high load": -1},
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
            {"both unstable": (1, 2), "neither unstable": ()},
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
            {"with θ* for λ = 0.0036 at every load": "θ* for λ = 0.0036"},
        ),
    )
