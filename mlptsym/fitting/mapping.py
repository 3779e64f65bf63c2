"""What a trace tells, as one mapping of plain values, and its times and verdict in words."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mlptsym import validation
from mlptsym.fitting.fit import TraceFit, checked_fit
from mlptsym.fitting.outcomes import Comparison, Outcome
from mlptsym.fitting.trace.arrivals import ArrivalStatistics
from mlptsym.fitting.trace.reading import FAULTS
from mlptsym.fitting.words import policy_in_words
from mlptsym.numeric.model.policies import Policy

if TYPE_CHECKING:
    pass

__all__ = ["as_mapping", "in_time", "verdict"]


def in_time(fit: TraceFit, units: float, error: float | None = None) -> str:
    """A time in words: in seconds where the server's speed is known, otherwise in token times.

    An infinite one is ``inf``.  Its standard error, where it is given, stands behind it in per cent of it.
    """
    checked_fit(fit)
    if math.isinf(validation.number("units", units, at_least=0, infinite=True)):
        return "inf"
    if error is not None:
        share = validation.number("error", error, at_least=0, infinite=True) / (units or 1.0)
        return f"{in_time(fit, units)} ± {share:.1%}"
    seconds = fit.recommendation.scale.seconds(units)
    if seconds is None:
        return f"{units:,.1f} token times"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def verdict(fit: TraceFit) -> str:
    """The recommendation in a sentence or two."""
    found = checked_fit(fit).recommendation
    best, fcfs = found.best, found.fcfs
    if not found.stable:
        return f"The server is overloaded (base load {found.queue.base_load:.4g}): no policy keeps up."
    if best is fcfs:
        least = min(found.comparisons, key=lambda comparison: comparison.theory.mean)
        gain = 0.0 if least.gain is None else least.gain
        more = "" if least is fcfs else f": the best preemptive policy gains {gain:.2%}"
        return f"Use FCFS{more}. Mean {in_time(fit, best.theory.mean)}, P99 {in_time(fit, best.theory.p99)}."
    quantum = float(getattr(best.policy, "quantum", math.inf))
    seconds = found.scale.seconds(quantum)
    length = "" if seconds is None else f"{in_time(fit, quantum)} of service: "
    ends = f"({length}the first quantum ends after {float(found.queue.size_at(quantum)):.4g} tokens)"
    return (
        f"Use {policy_in_words(best.policy)} {ends}. Mean {in_time(fit, best.theory.mean)}, "
        f"{best.gain or 0:.1%} less than FCFS; P99 {in_time(fit, best.theory.p99)} "
        f"(FCFS {in_time(fit, fcfs.theory.p99)})." + _objection(best)
    )


def _objection(best: Comparison) -> str:
    if best.trace_gain is None or best.trace_gain >= 0:
        return ""
    return f" But with the trace's own arrivals the mean is {-best.trace_gain:.1%} MORE than under FCFS."


# One mapping ---------------------------------------------------------------------------------------------------------


def as_mapping(fit: TraceFit) -> dict[str, Any]:
    """Everything as plain values; times in units of service time, those of arrivals in seconds."""
    trace, found = checked_fit(fit).trace, fit.recommendation
    sizes = trace.sizes
    return {
        "trace": {
            **{name: getattr(trace, name) for name in ("path", "layout", "size_column", "time_column", "rows", "jobs")},
            "dropped": [asdict(entry) | {"reason": FAULTS[entry.fault]} for entry in trace.dropped],
            **{
                name: getattr(trace, name) for name in ("separated", "unsorted", "duplicates", "unterminated", "unused")
            },
            "size_unit": asdict(trace.size_unit),
            "time_unit": None if trace.time_unit is None else asdict(trace.time_unit),
            "decimal": asdict(trace.decimal),
        },
        "sizes": {
            "mean": float(sizes.mean()),
            "cv": float(sizes.std() / sizes.mean()),
            "maximum": fit.sample.maximum,
            "at_maximum": fit.sample.at_maximum,
            "cap": fit.sample.cap,
            "dependence": asdict(fit.dependent_sizes),
            "rate_dependence": None if fit.rate_dependence is None else asdict(fit.rate_dependence),
        },
        "laws": [
            {"name": law.name, "parameters": law.parameters}
            | {name: getattr(law, name) for name in ("log_likelihood", "aic", "distance", "beyond_maximum")}
            for law in fit.laws
        ],
        "clock": None if fit.clock is None else asdict(fit.clock),
        "arrivals": _arrivals_mapping(fit.arrivals),
        "arrivals_as_recorded": _arrivals_mapping(fit.as_recorded),
        **asdict(found.scale),
        **{
            name: getattr(found.queue, name)
            for name in ("slowdown_threshold", "slowdown_factor", "preemption_cost", "base_load", "mean_service_time")
        },
        "stable": found.stable,
        "simulation": asdict(found.simulated),
        "policies": [_policy_mapping(comparison) for comparison in found.comparisons],
        "recommended": _policy_mapping(found.best),
        "hindsight": None
        if found.sweep.trace is None
        else {
            "levels": found.sweep.levels,
            "quantum": found.sweep.best_quantum,
            "mean_response_time": found.sweep.best_mean,
        },
        "verdict": verdict(fit),
        "warnings": list(fit.warnings),
    }


def _arrivals_mapping(arrivals: ArrivalStatistics | None) -> dict[str, Any] | None:
    return None if arrivals is None else asdict(arrivals) | {"departure": arrivals.departure}


def _policy_mapping(comparison: Comparison) -> dict[str, Any]:
    policy = comparison.policy
    return {
        "policy": _name(policy),
        "levels": policy.levels,
        "quantum": getattr(policy, "quantum", None),
        "kind": comparison.kind,
        "effective_load": comparison.effective_load,
        "mean_response_time": comparison.theory.mean,
        "p99": comparison.theory.p99,
        "p99_source": comparison.p99_source,
        "gain": comparison.gain,
        "poisson": _outcome_mapping(comparison.poisson),
        "trace": None
        if comparison.trace is None
        else {"mean_response_time": comparison.trace.mean, "p99": comparison.trace.p99, "gain": comparison.trace_gain},
        "trace_as_recorded": None
        if comparison.as_recorded is None
        else {"mean_response_time": comparison.as_recorded.mean, "p99": comparison.as_recorded.p99},
    }


def _name(policy: Policy) -> str:
    return "fcfs" if policy.levels == 1 else "mlpt"


def _outcome_mapping(outcome: Outcome) -> dict[str, Any]:
    return {
        "mean_response_time": outcome.mean,
        "standard_error": outcome.standard_error,
        "p99": outcome.p99,
        "p99_standard_error": outcome.p99_standard_error,
    }


# One page ------------------------------------------------------------------------------------------------------------
