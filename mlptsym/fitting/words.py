"""What was found in a trace, and what to beware of, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mlptsym.fitting.laws import FittedLaw
from mlptsym.fitting.outcomes import Comparison, Recommendation
from mlptsym.fitting.scale import TimeScale
from mlptsym.fitting.trace.arrivals import (
    ArrivalStatistics,
    Departure,
)
from mlptsym.fitting.trace.clock import Clock
from mlptsym.fitting.trace.reading import FAULTS, RecordedTrace
from mlptsym.likelihood import Sample
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.validation import instance

Floats = NDArray[np.float64]

DOMINANT = 0.01  # a size, or a gap, that makes up so much of the whole is pointed out
LONGEST_GAP = 0.2
FEW = 1000
MANY_BEYOND = 10.0
POOR_FIT = 0.05
EXACT = 1e-3  # of a step: rounding


def policy_in_words(policy: Policy) -> str:
    """A policy in a few words.

    Examples
    --------
    >>> from mlptsym.numeric.model.policies import MLPT
    >>> policy_in_words(MLPT(quantum=300.0, levels=math.inf))
    'MLPT, k = ∞, θ = 300'
    """
    if isinstance(policy, FCFS):
        return "FCFS"
    allowed = "FCFS, or MLPT with a single quantum"
    instance("policy", instance("policy", policy, MLPT, allowed).quantum, float, allowed)
    return f"MLPT, k = {'∞' if math.isinf(policy.levels) else policy.levels}, θ = {policy.quantum:.6g}"


def reading_notes(trace: RecordedTrace) -> tuple[str, ...]:
    """What was found wrong with a trace while reading it, a sentence each."""
    instance("trace", trace, RecordedTrace, "a trace from read_trace")
    notes = [
        f"{entry.count:,} {'row' if entry.count == 1 else 'rows'} dropped: {FAULTS[entry.fault]} "
        f"(first in line {entry.first_line})"
        for entry in trace.dropped
    ]
    if trace.separated:
        notes.append(f"{trace.separated:,} rows hold numbers written with thousands separators")
    if trace.unsorted:
        notes.append(f"{trace.unsorted:,} rows came before the row above them in time: sorted")
    if trace.duplicates:
        notes.append(f"{trace.duplicates:,} requests arrived at the very time of another: kept")
    if trace.unterminated:
        notes.append("the file has no line end at its end: should its last value be cut short, that cannot be seen")
    return tuple(notes)


def columns_in_words(trace: RecordedTrace) -> list[tuple[str, str]]:
    """The columns of sizes and times with their units, how these were decided, and what was not used."""
    instance("trace", trace, RecordedTrace, "a trace from read_trace")
    time = "none" if trace.time_column is None else trace.time_column
    return [
        ("sizes are", f"{trace.size_column}, {trace.size_unit.in_words}"),
        ("times are", time if trace.time_unit is None else f"{time}, {trace.time_unit.in_words}"),
        *([("decimal mark", f"a comma ({trace.decimal.basis})")] if trace.decimal.mark == "," else []),
        *([("not used", ", ".join(trace.unused))] if trace.unused else []),
    ]


def of_units(trace: RecordedTrace) -> list[str]:
    """What to beware of in the units."""
    units = [unit.warning for unit in (trace.size_unit, trace.time_unit) if unit is not None]
    return [warning for warning in units if warning is not None]


def of_scale(scale: TimeScale, queue: Queue) -> list[str]:
    """What to beware of in how busy the server is."""
    found = []
    if scale.assumed_load is not None:
        speed = scale.tokens_per_second
        follows = (
            f"{scale.arrival_rate:.4g} arrivals per token served"
            if speed is None
            else f"a server of {speed:,.4g} tokens per second"
            if scale.stretch == 1.0
            else f"{scale.arrival_rate * speed:.4g} requests per second"
        )
        found.append(
            f"The load is ASSUMED: how busy the server is was not given, so the base load was set to "
            f"{scale.assumed_load:g}, which means {follows}."
        )
    if scale.stretch is not None and abs(scale.stretch - 1) > 1e-9:
        found.append(f"Arrivals were stretched: requests arrive {scale.stretch:.4g} times as fast as recorded.")
    if queue.base_load >= 1:
        found.append(
            f"OVERLOADED: the base load is {queue.base_load:.4g}, so the queue grows for ever under every policy. "
            "Means below are infinite, or those of a backlog that keeps growing."
        )
    return found


def clock_in_words(clock: Clock) -> str:
    """What a coarse clock has done to arrival times.

    Examples
    --------
    >>> clock_in_words(Clock(step=1.0, offsets=(0.0,), width=0.01, ties=0.88))
    'times lie on a grid of 1 s, within 0.005 s, and 88% of the requests share theirs with the one before'
    """
    step = instance("clock", clock, Clock, "what find_clock returns").step
    grids = len(clock.offsets)
    place = f"times lie on {'a grid' if grids == 1 else f'{grids} grids'} of {step:.6g} s"
    within = "" if clock.width <= EXACT else f", within {clock.width * step / grids / 2:.1g} s,"
    return f"{place}{within} and {clock.ties:.0%} of the requests share theirs with the one before"


def of_clock(
    clock: Clock | None,
    arrivals: ArrivalStatistics | None,
    as_recorded: ArrivalStatistics | None,
    fcfs: Comparison,
) -> list[str]:
    """What to beware of in the clock of the trace."""
    if clock is None or arrivals is None or as_recorded is None or fcfs.trace is None or fcfs.as_recorded is None:
        return []
    longer = fcfs.as_recorded.mean / fcfs.trace.mean
    said = (
        f"The clock of the trace is COARSE: {clock_in_words(clock)}. This is taken to be the clock's doing, not "
        f"requests that came together: each was moved to a random place of its {clock.step:.6g} s, in the same order, "
        "before arrivals were tested and simulated. The gaps have a coefficient of variation of "
        f"{arrivals.gap_cv:.3g}, as recorded {as_recorded.gap_cv:.3g}; with the times as recorded the mean response "
        f"time under FCFS is {longer:.3g} times as long."
    )
    return [said]


def of_arrivals(arrivals: ArrivalStatistics | None, unused: Sequence[str]) -> list[str]:
    """What to beware of in the arrivals."""
    if arrivals is None:
        others = f", unless in a column not used ({', '.join(unused)}; --time-column names it)" if unused else ""
        return [f"The trace has no arrival times{others}: the theory's Poisson arrivals could not be tested."]
    found = []
    if arrivals.departure != "none":
        worst = max((index for _, index in arrivals.dispersion), default=math.nan)
        numbers = f"the gaps have a coefficient of variation of {arrivals.gap_cv:.3g} instead of 1"
        if math.isfinite(worst):
            numbers += f", and counts in windows an index of dispersion of up to {worst:.3g} instead of 1"
        far = {
            "strong": "The arrivals are NOT POISSON, by far",
            "mild": "The arrivals are not quite Poisson",
        }[arrivals.departure]
        found.append(f"{far}: {numbers}. The theory assumes Poisson arrivals; see what that costs on the trace itself.")
    if arrivals.largest_gap > LONGEST_GAP and arrivals.arrivals > FEW / 10:
        found.append(f"One gap makes up {arrivals.largest_gap:.0%} of the whole time: a wrong time, or a break?")
    return found


def of_sizes(
    trace: RecordedTrace,
    sample: Sample,
    laws: Sequence[FittedLaw],
    dependence: Departure,
    with_rate: Departure | None,
) -> list[str]:
    """What to beware of in the sizes."""
    found = []
    if trace.jobs < FEW:
        found.append(f"Only {trace.jobs} requests: percentiles and means of so few are rough.")
    share = sample.maximum / float(trace.sizes.sum())
    if share > DOMINANT and trace.jobs >= FEW / 10:
        found.append(f"The largest size, {sample.maximum:g}, makes up {share:.1%} of all work: a wrong size?")
    if sample.cap is not None:
        found.append(
            f"Sizes are capped: {sample.capped:,} of {sample.size:,} ({sample.capped / sample.size:.2%}) are exactly "
            f"{sample.cap:g}. Parametric laws are fitted with these censored from the right and reach beyond the cap."
        )
    elif laws and laws[0].beyond_maximum > MANY_BEYOND:
        found.append(
            f"Sizes are cut off: none exceeds {sample.maximum:g}, beyond which the best-fitting law "
            f"({laws[0].name}) would put {laws[0].beyond_maximum:,.0f} of {sample.size:,}."
        )
    if laws and laws[0].distance > POOR_FIT:
        found.append(
            f"No parametric law fits: the best by AIC ({laws[0].name}) is off by {laws[0].distance:.1%} in its "
            "distribution function. The recommendation does not use it, but the sizes themselves."
        )
    if dependence.significant:
        found.append("Successive sizes are not independent, as the theory assumes (Ljung–Box test on their ranks).")
    if with_rate is not None and with_rate.significant:
        kind = "larger" if with_rate.statistic > 0 else "smaller"
        found.append(
            f"Requests are {kind} when more of them arrive: rank correlation {with_rate.statistic:.2f} between the "
            "number and the mean size of the requests in a window. The theory takes sizes to be independent of "
            "arrivals."
        )
    return found


def of_policy(recommendation: Recommendation) -> list[str]:
    """What to beware of in the policy that is recommended."""
    found: list[str] = []
    best, fcfs = recommendation.best, recommendation.fcfs
    if not recommendation.stable:
        return found
    if not recommendation.simulated.settled:
        found.append(
            f"At this load the simulated queue has not settled after {recommendation.simulated.warmup:,} requests: the "
            "means and percentiles of the Poisson simulation may be too low by more than their standard errors say."
        )
    if best is not fcfs and best.theory.p99 > 1.01 * fcfs.theory.p99:
        found.append(
            f"The 99th percentile gets WORSE: by {best.theory.p99 / fcfs.theory.p99 - 1:.0%} against FCFS, while the "
            f"mean improves by {best.gain or 0:.1%}."
        )
    if best.trace is not None and fcfs.trace is not None:
        if best is not fcfs and best.trace.p99 > 1.01 * fcfs.trace.p99:
            found.append(
                f"On the trace itself the 99th percentile gets WORSE: by {best.trace.p99 / fcfs.trace.p99 - 1:.0%} "
                "against FCFS."
            )
        ratio = best.trace.mean / best.theory.mean
        if not 0.8 < ratio < 1.25:
            found.append(
                f"With the trace's own arrivals the mean response time is {ratio:.3g} times what the theory says for "
                "Poisson arrivals at the same rate."
            )
        if best.trace_gain is not None and best is not fcfs and best.trace_gain < 0:
            found.append(f"On the trace itself the recommended policy is WORSE than FCFS, by {-best.trace_gain:.1%}.")
    return found
