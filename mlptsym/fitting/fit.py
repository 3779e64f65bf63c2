"""All that a trace tells, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlptsym.fitting.laws import FittedLaw, fit_laws
from mlptsym.fitting.outcomes import Recommendation
from mlptsym.fitting.recommend import DEFAULT_LEVELS, JOBS, recommend
from mlptsym.fitting.scale import time_scale
from mlptsym.fitting.trace.arrivals import (
    ArrivalStatistics,
    Departure,
    arrival_statistics,
    ljung_box_test,
    size_dependence,
)
from mlptsym.fitting.trace.clock import Clock, find_clock
from mlptsym.fitting.trace.reading import RecordedTrace
from mlptsym.fitting.words import of_arrivals, of_clock, of_policy, of_scale, of_sizes, of_units
from mlptsym.laws.empirical import Empirical
from mlptsym.likelihood import Sample
from mlptsym.memory.base import Memory
from mlptsym.memory.linear import LinearMemory
from mlptsym.numeric.model.queue import Queue
from mlptsym.validation import ParameterError, instance

__all__ = ["TraceFit", "checked_fit", "fit_trace"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TraceFit:
    """What a trace tells.

    Attributes
    ----------
    trace : RecordedTrace
    sample : Sample
    laws : tuple of FittedLaw
        Parametric laws, the best by AIC first; the recommendation rests on none of them, but on the sample itself.
    clock : Clock or None
        The coarse clock that has written the arrival times, if one has.
    times : array of float, shape (jobs,), or None
        Arrival times in seconds from the first, as tested and simulated: those of the trace, or where a coarse clock
        has written them, these spread over its ticks (`Clock.spread`).  None for a trace without times.
    arrivals, as_recorded : ArrivalStatistics or None
        Of these times, and of those of the trace where these are others.
    dependent_sizes : Departure
        Test that successive sizes are independent.
    rate_dependence : Departure or None
        Whether sizes depend on the rate of arrivals (`size_dependence`).
    recommendation : Recommendation
    warnings : tuple of str
        What the reader must know before believing the numbers, one sentence or two each.
    """

    trace: RecordedTrace
    sample: Sample
    laws: tuple[FittedLaw, ...]
    clock: Clock | None
    times: Floats | None
    arrivals: ArrivalStatistics | None
    as_recorded: ArrivalStatistics | None
    dependent_sizes: Departure
    rate_dependence: Departure | None
    recommendation: Recommendation
    warnings: tuple[str, ...]


def fit_trace(
    trace: RecordedTrace,
    *,
    tokens_per_second: float | None = None,
    arrival_rate: float | None = None,
    load: float | None = None,
    slowdown_threshold: float | None = None,
    slowdown_factor: float = 1.0,
    preemption_cost: float = 0.0,
    memory: Memory | None = None,
    capacity: float | None = None,
    levels: Sequence[float] = DEFAULT_LEVELS,
    seed: int = 0,
    jobs: int = JOBS,
) -> TraceFit:
    """Fit laws to a trace, test its arrivals, and recommend a policy.

    Parameters
    ----------
    trace : RecordedTrace
        From `read_trace`.
    tokens_per_second, arrival_rate, load
        How busy the server is: see `time_scale`.
    slowdown_threshold, slowdown_factor, preemption_cost, memory, capacity
        As in `Queue`, in tokens.
    levels, seed, jobs
        As in `recommend`.

    Returns
    -------
    TraceFit

    Raises
    ------
    ParameterError
        If a number is outside its range, or all requests of the trace have the same time.
    """
    instance("trace", trace, RecordedTrace, "a trace from read_trace")
    as_recorded = None if trace.times is None else _arrivals(trace)
    clock = None if trace.times is None else find_clock(trace.times)
    times = trace.times if trace.times is None or clock is None else clock.spread(trace.times)
    arrivals = as_recorded if times is None or clock is None else arrival_statistics(times)
    law = Empirical(trace.sizes)

    def queue_at(rate: float) -> Queue:
        growth = LinearMemory() if memory is None else memory
        return Queue(law, rate, slowdown_threshold, slowdown_factor, preemption_cost, growth, capacity)

    recorded = None if arrivals is None else arrivals.rate
    mean = queue_at(1.0).mean_service_time
    scale = time_scale(mean, recorded, tokens_per_second=tokens_per_second, arrival_rate=arrival_rate, load=load)
    queue = queue_at(scale.arrival_rate)
    recommendation = recommend(
        queue,
        scale,
        trace.sizes,
        times,
        levels,
        recorded=None if clock is None else trace.times,
        seed=seed,
        jobs=jobs,
    )
    sample = Sample.of(trace.sizes)
    laws = fit_laws(sample)
    dependence = ljung_box_test(trace.sizes)
    with_rate = None if times is None else size_dependence(times, trace.sizes)
    as_recorded = None if clock is None else as_recorded
    warnings = (
        *of_units(trace),
        *of_scale(scale, queue),
        *of_clock(clock, arrivals, as_recorded, recommendation.fcfs),
        *of_arrivals(arrivals, trace.unused),
        *of_sizes(trace, sample, laws, dependence, with_rate),
        *of_policy(recommendation),
    )
    return TraceFit(
        trace,
        sample,
        laws,
        clock,
        times,
        arrivals,
        as_recorded,
        dependence,
        with_rate,
        recommendation,
        warnings,
    )


def checked_fit(fit: object) -> TraceFit:
    """What `fit_trace` returned; anything else is refused."""
    return instance("fit", fit, TraceFit, "what fit_trace returns")


def _arrivals(trace: RecordedTrace) -> ArrivalStatistics:
    try:
        return arrival_statistics(trace.times)  # type: ignore[arg-type]
    except ParameterError as error:
        raise ParameterError("time_column", trace.time_column, f"a column of times that are {error.allowed}") from error
