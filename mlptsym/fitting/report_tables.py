"""The tables of a report."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from mlptsym import validation
from mlptsym.fitting.fit import TraceFit
from mlptsym.fitting.laws import FittedLaw
from mlptsym.fitting.outcomes import Simulated
from mlptsym.fitting.trace.arrivals import ArrivalStatistics
from mlptsym.fitting.words import columns_in_words, policy_in_words
from mlptsym.validation import readable

if TYPE_CHECKING:
    pass

from mlptsym.fitting.mapping import in_time


def _table(header: list[str], rows: list[list[str]], best: int | None = None) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = [
        ("<tr class='best'>" if place == best else "<tr>")
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>"
        for place, row in enumerate(rows)
    ]
    body = "\n".join(lines)
    top = f"<thead><tr>{head}</tr></thead>\n" if any(header) else ""
    return f"<div class='wide'><table>\n{top}<tbody>\n{body}\n</tbody></table></div>"


def listed(kind: str, sentences: tuple[str, ...]) -> str:
    """Sentences as a list of HTML, or nothing."""
    if not sentences:
        return ""
    return f"<ul class='{kind}'>\n" + "\n".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "\n</ul>"


def policy_table(fit: TraceFit) -> str:
    """Policies by theory, in simulation and on the trace."""
    found = fit.recommendation
    with_trace = found.fcfs.trace is not None
    header = [
        "policy",
        "mean, theory",
        "gain over FCFS",
        "P99, theory",
        "mean, Poisson simulation",
        "P99, Poisson simulation",
    ]
    header += ["mean, trace", "gain, trace", "P99, trace"] if with_trace else []
    header += ["mean, trace as recorded", "P99, trace as recorded"] if fit.clock is not None else []
    rows = []
    for comparison in found.comparisons:
        theory, poisson, trace = comparison.theory, comparison.poisson, comparison.trace
        simulated = comparison.p99_source == "simulation"
        row = [
            policy_in_words(comparison.policy),
            in_time(fit, theory.mean),
            _per_cent(comparison.gain),
            in_time(fit, theory.p99) + (" (simulated)" if simulated else ""),
            in_time(fit, poisson.mean, poisson.standard_error),
            in_time(fit, poisson.p99, poisson.p99_standard_error),
        ]
        if trace is not None:
            row += [in_time(fit, trace.mean), _per_cent(comparison.trace_gain), in_time(fit, trace.p99)]
        if (recorded := comparison.as_recorded) is not None:
            row += [in_time(fit, recorded.mean), in_time(fit, recorded.p99)]
        rows.append(row)
    return _table(header, rows, found.recommended) + (
        "<p class='note'>Theory and Poisson simulation: Poisson arrivals at the trace's rate, sizes independent with "
        "the law of the trace. Trace: every request at its own time with its own size, the server empty at first. "
        f"Standard errors behind ±. {_simulation_in_words(found.simulated)} A token time is the time in which "
        "one token is served at rate one; θ is in token "
        "times.</p>"
    )


def _simulation_in_words(simulated: Simulated) -> str:
    return (
        f"Poisson simulation: {simulated.seeds} traces of {simulated.jobs:,} requests, with {simulated.warmup:,} more "
        "before and after them that are not counted; percentiles are those of all traces together."
    )


def _per_cent(gain: float | None) -> str:
    return "-" if gain is None else f"{gain:.1%}"


def hindsight(fit: TraceFit) -> str:
    """The quantum that would have been best for the trace itself."""
    found = fit.recommendation
    sweep = found.sweep
    if sweep.best_mean is None or sweep.best_quantum is None or found.best.trace is None:
        return ""
    lost = found.best.trace.mean / sweep.best_mean - 1
    policy = "FCFS" if math.isinf(sweep.best_quantum) else f"θ = {sweep.best_quantum:g}"
    k = "∞" if math.isinf(sweep.levels) else f"{sweep.levels:g}"
    return (
        f"<p>What the Poisson assumption costs: with k = {k} the best on this very trace, in hindsight, is "
        f"{escape(policy)} with a mean of {escape(in_time(fit, sweep.best_mean))}; the policy recommended by theory is "
        f"{lost:.1%} above it.</p>"
    )


def queue_table(fit: TraceFit) -> str:
    """The queue that was assumed."""
    queue, scale = fit.recommendation.queue, fit.recommendation.scale
    speed = scale.tokens_per_second
    rows = [
        ["base load ρ₀", f"{queue.base_load:.4g}"],
        ["arrivals per token time, λ", f"{queue.arrival_rate:.6g}"],
        ["tokens served per second at rate one", "not known" if speed is None else f"{speed:,.6g}"],
        ["mean service time, in token times", f"{queue.mean_service_time:,.2f}"],
        ["slowdown threshold ℓ_C, in tokens", f"{queue.slowdown_threshold:,.6g}"],
        ["slowdown factor β", f"{queue.slowdown_factor:g}"],
        ["preemption cost γ", f"{queue.preemption_cost:g}"],
    ]
    return _table(["", ""], rows)


def arrival_table(fit: TraceFit) -> str:
    """How the requests arrive, and how far that is from Poisson."""
    columns = [one for one in (fit.arrivals, fit.as_recorded) if one is not None]
    if not columns:
        return "<p>The trace has no arrival times.</p>"

    def row(name: str, shown: Callable[[ArrivalStatistics], str], poisson: str) -> list[str]:
        return [name, *map(shown, columns), poisson]

    rows = [
        row("requests per second", lambda one: f"{one.rate:.4g}", ""),
        row("length of the trace, in seconds", lambda one: f"{one.span:,.1f}", ""),
        row("coefficient of variation of the gaps", lambda one: f"{one.gap_cv:.3g}", "1"),
        *(
            [f"index of dispersion, windows of {found[0][0]:.3g} s", *(f"{index:.3g}" for _, index in found), "1"]
            for found in zip(*(one.dispersion for one in columns), strict=False)
        ),
        row("p-value: gaps are exponential (Lewis)", lambda one: f"{one.exponential_gaps.p_value:.2g}", "above 0.001"),
        row(
            "p-value: gaps are independent (Ljung–Box on ranks)",
            lambda one: f"{one.independent_gaps.p_value:.2g}",
            "above 0.001",
        ),
        row("gaps of zero", lambda one: f"{one.simultaneous:.2%}", "0"),
        row("departure from Poisson", lambda one: one.departure, "none"),
    ]
    return _table(["", *(["trace"] if len(columns) == 1 else ["spread", "as recorded"]), "Poisson"], rows)


def size_table(fit: TraceFit) -> str:
    """Quantities of the sizes."""
    import numpy as np

    sizes, sample = fit.trace.sizes, fit.sample
    quantiles = np.quantile(sizes, [0.5, 0.95, 0.99])
    share = f"{sample.at_maximum:,} ({sample.at_maximum / sample.size:.2%})"
    rows = [
        ["mean size", f"{sizes.mean():,.2f}"],
        ["coefficient of variation", f"{sizes.std() / sizes.mean():.3f}"],
        ["median, P95, P99", ", ".join(f"{value:,.6g}" for value in quantiles)],
        ["maximum", f"{sample.maximum:,.6g}"],
        ["requests of that size", share + (", a cap" if sample.cap is not None else "")],
        ["p-value: sizes are independent (Ljung–Box on ranks)", f"{fit.dependent_sizes.p_value:.2g}"],
        [
            "rank correlation with the number of arrivals",
            "-" if fit.rate_dependence is None else f"{fit.rate_dependence.statistic:.2f}",
        ],
    ]
    return _table(["", ""], rows)


def law_table(fit: TraceFit) -> str:
    """The laws that were fitted, the best first."""
    if not fit.laws:
        return "<p>All sizes are the same: there is no law to fit.</p>"
    least = fit.laws[0].aic
    rows = [
        [
            law.name,
            _parameters(law),
            f"{law.aic - least:,.1f}",
            f"{law.distance:.1%}",
        ]
        for law in fit.laws
    ]
    header = [
        "law, by maximum likelihood",
        "parameters",
        "AIC above the least",
        "largest difference of distribution functions",
    ]
    return _table(header, rows)


def law_in_words(law: FittedLaw) -> str:
    """A fitted law with its parameters to four digits."""
    validation.instance("law", law, FittedLaw, "one of what fit_laws returns")
    return f"{law.name}, {_parameters(law)}"


def _parameters(law: FittedLaw) -> str:
    return ", ".join(f"{name} {_parameter(value)}" for name, value in law.parameters.items())


def _parameter(value: object) -> str:
    if isinstance(value, tuple):
        return " / ".join(f"{part:.4g}" for part in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def reading_table(fit: TraceFit) -> str:
    """What was read from the file, and how."""
    trace = fit.trace
    rows = [
        ["file", readable(trace.path)],
        ["layout", trace.layout or "none of the known ones"],
        *([name, words] for name, words in columns_in_words(trace)),
        ["rows, usable rows", f"{trace.rows:,}, {trace.jobs:,}"],
    ]
    return _table(["", ""], rows)
