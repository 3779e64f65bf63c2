"""What a trace tells, as one page, one picture, or one mapping."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Callable
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlptsym import validation
from mlptsym.figures.style import paper_style
from mlptsym.files import write_whole
from mlptsym.fitting.arrivals import ArrivalStatistics
from mlptsym.fitting.fit import TraceFit, checked_fit, columns_in_words, policy_in_words, reading_notes
from mlptsym.fitting.laws import FittedLaw
from mlptsym.fitting.reading import FAULTS
from mlptsym.fitting.recommend import Comparison, Outcome, Simulated
from mlptsym.numeric.model.policies import Policy
from mlptsym.validation import ParameterError, readable, refuse

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["as_mapping", "check_name", "html_report", "in_time", "law_in_words", "verdict", "write_report"]

SUFFIXES = (".html", ".png")

STYLE = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #ccc }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .8rem 0 }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left; white-space: nowrap } th { font-weight: 600; vertical-align: bottom }
tr.best { font-weight: 600; background: #eef4fa }
.verdict { font-size: 1.15rem; border-left: .3rem solid #0072b2; padding: .4rem 1rem; background: #eef4fa }
.warnings { border-left: .3rem solid #d55e00; padding: .4rem 1rem; background: #fdf1e8 }
.warnings li { margin: .3rem 0 } .wide { overflow-x: auto }
svg { width: 100%; height: auto } small, .note { color: #555 }
@media print { body { font-size: 11px; margin: 0 } h2 { break-after: avoid } svg, table { break-inside: avoid } }
"""


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


def write_report(fit: TraceFit, path: str | os.PathLike[str]) -> Path:
    """Write the report, whole or not at all.

    Parameters
    ----------
    fit : TraceFit
    path : path
        Ending in ``.html`` (one page that needs no other file) or ``.png`` (one picture).

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ParameterError
        If the name has another ending, or the file cannot be written.
    """
    checked_fit(fit)
    target = check_name(path)
    content = html_report(fit) if target.suffix.lower() == ".html" else _picture(fit)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(target, content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError("out", str(path), f"a file that can be written ({reason})") from error


def check_name(path: str | os.PathLike[str]) -> Path:
    """The path of a report, if its name ends as one.

    Raises
    ------
    ParameterError
        If it does not.
    """
    target = validation.path("out", path, f"a file name that ends in {' or '.join(SUFFIXES)}")
    if target.suffix.lower() not in SUFFIXES:
        refuse("out", str(path), f"a file name that ends in {' or '.join(SUFFIXES)}")
    return target


def _picture(fit: TraceFit) -> bytes:
    from mlptsym.fitting.drawing import as_png, draw_everything

    lines = [_title(fit), verdict(fit), *_wrapped(fit.warnings)]
    return as_png(draw_everything(fit, "\n".join(lines)))


def _wrapped(sentences: tuple[str, ...]) -> list[str]:
    from textwrap import wrap

    return [line for sentence in sentences for line in wrap(f"! {sentence}", 150, subsequent_indent="   ")]


def _title(fit: TraceFit) -> str:
    trace = fit.trace
    return f"{readable(Path(trace.path).name)}: {trace.jobs:,} requests" + (
        f", {trace.layout} layout" if trace.layout else ""
    )


def html_report(fit: TraceFit) -> str:
    """The report as one HTML page with its pictures inside, which loads nothing."""
    from mlptsym.fitting.drawing import draw_arrivals, draw_response, draw_sizes

    checked_fit(fit)
    sections = [
        f"<p class='verdict'>{escape(verdict(fit))}</p>",
        _list("warnings", fit.warnings),
        "<h2>Policies</h2>",
        _policy_table(fit),
        _hindsight(fit),
        _embedded(draw_response(fit), "Mean response time against the quantum, and tail of the response time"),
        "<h2>Queue</h2>",
        _queue_table(fit),
        "<h2>Arrivals</h2>",
        _arrival_table(fit),
        ""
        if fit.arrivals is None
        else _embedded(draw_arrivals(fit), "Load over time, and gaps between arrivals beside exponential ones"),
        "<h2>Sizes</h2>",
        _size_table(fit),
        _law_table(fit),
        _embedded(draw_sizes(fit), "Histogram of the sizes with fitted laws, and their Q–Q plot"),
        "<h2>What was read</h2>",
        _reading_table(fit),
        _list("note", reading_notes(fit.trace)),
    ]
    title = escape(_title(fit))
    return (
        f"<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n<title>{title}</title>\n"
        f"<meta name='viewport' content='width=device-width'>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<h1>{title}</h1>\n" + "\n".join(filter(None, sections)) + "\n</body>\n</html>\n"
    )


def _embedded(figure: Figure, description: str) -> str:
    """A figure as SVG inside the page, its letters drawn, so that no font is needed, its names those of no other."""
    from matplotlib import rc_context

    picture = io.StringIO()
    with paper_style(), rc_context({"svg.fonttype": "path", "svg.hashsalt": description}):
        figure.savefig(picture, format="svg", metadata={"Date": None, "Creator": None})
    svg = picture.getvalue()
    svg = svg[svg.index("<svg") :]
    prefix = "".join(word[0] for word in description.split() if word[0].isalpha()).lower()
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)


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


def _list(kind: str, sentences: tuple[str, ...]) -> str:
    if not sentences:
        return ""
    return f"<ul class='{kind}'>\n" + "\n".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "\n</ul>"


def _policy_table(fit: TraceFit) -> str:
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


def _hindsight(fit: TraceFit) -> str:
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


def _queue_table(fit: TraceFit) -> str:
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


def _arrival_table(fit: TraceFit) -> str:
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


def _size_table(fit: TraceFit) -> str:
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


def _law_table(fit: TraceFit) -> str:
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


def _reading_table(fit: TraceFit) -> str:
    trace = fit.trace
    rows = [
        ["file", readable(trace.path)],
        ["layout", trace.layout or "none of the known ones"],
        *([name, words] for name, words in columns_in_words(trace)),
        ["rows, usable rows", f"{trace.rows:,}, {trace.jobs:,}"],
    ]
    return _table(["", ""], rows)
