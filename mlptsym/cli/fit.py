"""``mlptsym fit``: what a recorded trace tells, and the policy to use for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlptsym.cli.options import (
    Capacity,
    Json,
    MemoryLaw,
    PreemptionCost,
    SlowdownFactor,
    SlowdownThreshold,
    read_memory,
    scaled,
)
from mlptsym.cli.output import checked, print_json, print_rows
from mlptsym.parameters import read_number
from mlptsym.validation import readable

if TYPE_CHECKING:
    from mlptsym.fitting.fit import TraceFit

__all__ = ["EXAMPLES", "fit"]

EXAMPLES = """\b
Examples:
  mlptsym fit requests.csv --size-column tokens --time-column arrived --tokens-per-second 1500 \\
      --threshold 6x --beta 0.39 --gamma 0.1 --out report.html
  mlptsym fit azure-llm-2023-conv.csv --load 0.8 --threshold 3x --beta 0.39 --json
"""


def fit(
    trace: Annotated[
        str,
        typer.Argument(
            metavar="TRACE",
            help="File of requests: .csv, .csv.gz, .jsonl, .jsonl.gz or .parquet; a pipe, or - for standard input.",
        ),
    ],
    size_column: Annotated[
        str | None,
        typer.Option(
            "--size-column",
            metavar="NAME",
            help="Column of the sizes, in tokens; may be left out in known layouts (Azure, BurstGPT, Mooncake, "
            "Qwen-Bailian, ShareGPT, Vidur).",
            show_default=False,
        ),
    ] = None,
    time_column: Annotated[
        str | None,
        typer.Option(
            "--time-column",
            metavar="NAME",
            help="Column of the arrival times, numbers or ISO 8601 dates; may be left out in known layouts, or if "
            "there are none.",
            show_default=False,
        ),
    ] = None,
    time_unit: Annotated[
        str | None,
        typer.Option(
            "--time-unit",
            metavar="UNIT",
            help="Unit of times that are numbers: s, ms, us or ns. Left out, it is what the numbers, the layout or the "
            "column's name say, otherwise s, which is said.",
            show_default=False,
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            "--decimal",
            metavar="MARK",
            help="What stands before tenths: . or a comma. Left out, it is what the numbers say.",
            show_default=False,
        ),
    ] = None,
    tokens_per_second: Annotated[
        str | None,
        typer.Option(
            "--tokens-per-second",
            metavar="SPEED",
            help="Tokens the server serves in a second, > 0. Left out, it follows from the trace's times and --load.",
            show_default=False,
        ),
    ] = None,
    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            metavar="LOAD",
            help="Base load, > 0 and < 1. With --tokens-per-second the trace's times are stretched to it. 0.8 is "
            "assumed if nothing else tells how busy the server is.",
            show_default=False,
        ),
    ] = None,
    arrival_rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            help="In place of --load: arrivals per second with --tokens-per-second, otherwise per token served, > 0.",
            show_default=False,
        ),
    ] = None,
    slowdown_threshold: SlowdownThreshold = None,
    slowdown_factor: SlowdownFactor = "1",
    preemption_cost: PreemptionCost = "0",
    memory: MemoryLaw = "linear",
    capacity: Capacity = None,
    levels: Annotated[
        str,
        typer.Option(
            "--levels", metavar="K,...", help="Numbers of priority levels to look at, each a whole number >= 2, or inf."
        ),
    ] = "2,5,inf",
    largest_size: Annotated[
        str, typer.Option("--largest-size", metavar="SIZE", help="Larger sizes are dropped as absurd, > 0.")
    ] = "1e9",
    jobs: Annotated[
        str,
        typer.Option(
            "--jobs", metavar="N", help="Measured jobs of each of 20 simulations of Poisson arrivals, >= 100."
        ),
    ] = "50000",
    root_seed: Annotated[
        str, typer.Option("--seed", metavar="N", help="The number that the simulations derive from, >= 0.")
    ] = "0",
    out: Annotated[
        str | None,
        typer.Option(
            "--out", metavar="FILE", help="Report to write: one page (.html) or one picture (.png).", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Fit size laws to a trace of requests, test its arrivals, and recommend a policy."""
    from mlptsym.fitting.fit import fit_trace
    from mlptsym.fitting.mapping import as_mapping
    from mlptsym.fitting.report import check_name, write_report
    from mlptsym.fitting.trace.reading import read_trace
    from mlptsym.laws.empirical import Empirical

    if out is not None:
        check_name(out)
    growth = read_memory(memory)
    recorded = read_trace(
        trace,
        size_column,
        time_column,
        time_unit=time_unit,
        decimal=decimal,
        largest_size=read_number(largest_size),
    )
    threshold = None
    if slowdown_threshold is not None:
        threshold = scaled("slowdown_threshold", slowdown_threshold, Empirical(recorded.sizes))
    found = fit_trace(
        recorded,
        tokens_per_second=_optional(tokens_per_second),
        arrival_rate=_optional(arrival_rate),
        load=_optional(load),
        slowdown_threshold=threshold,
        slowdown_factor=read_number(slowdown_factor),
        preemption_cost=read_number(preemption_cost),
        memory=growth,
        capacity=_optional(capacity),
        levels=[read_number(part) for part in levels.split(",")],
        seed=read_number(root_seed),
        jobs=read_number(jobs),
    )
    answer = checked(as_mapping(found))
    written = None if out is None else str(write_report(found, out))
    if json:
        print_json(answer | {"report": written})
        return
    _print(found)
    if written is not None:
        typer.echo(f"\nreport: {readable(written)}")


def _optional(text: str | None) -> Any:
    return None if text is None else read_number(text)


def _print(found: TraceFit) -> None:
    """The recommendation, its numbers, and what to know before believing them."""
    from mlptsym.fitting.mapping import verdict
    from mlptsym.fitting.report_tables import law_in_words
    from mlptsym.fitting.words import clock_in_words, columns_in_words, policy_in_words, reading_notes

    result, trace = found.recommendation, found.trace
    best = found.laws[0] if found.laws else None
    rows = [
        ("requests", f"{trace.jobs:,} of {trace.rows:,} rows" + (f" ({trace.layout} layout)" if trace.layout else "")),
        *(("  note", note) for note in reading_notes(trace)),
        *((f"  {name}", words) for name, words in columns_in_words(trace)),
        ("sizes", f"mean {trace.sizes.mean():.6g}, CV {trace.sizes.std() / trace.sizes.mean():.4g}"),
        ("best-fitting law", "-" if best is None else f"{law_in_words(best)} (off by {best.distance:.1%})"),
    ]
    if found.clock is not None:
        rows.append(("coarse clock", clock_in_words(found.clock)))
    for name, arrivals in (("arrivals", found.arrivals), ("arrivals, as recorded", found.as_recorded)):
        if arrivals is not None:
            rows.append((name, f"{arrivals.rate:.6g} per second, CV of gaps {arrivals.gap_cv:.4g}"))
            rows.append(("  departure from Poisson", arrivals.departure))
    rows.append(("base load", f"{result.queue.base_load:.6g}"))
    for comparison in result.comparisons:
        rows.append((policy_in_words(comparison.policy), ""))
        rows.append(("  theory", _numbers(found, comparison.theory, comparison.gain)))
        rows.append(("  Poisson simulation", _numbers(found, comparison.poisson, None)))
        if comparison.trace is not None:
            rows.append(("  trace", _numbers(found, comparison.trace, comparison.trace_gain)))
        if comparison.as_recorded is not None:
            rows.append(("  trace, as recorded", _numbers(found, comparison.as_recorded, None)))
    print_rows([(name, value) for name, value in rows])
    typer.echo()
    for sentence in found.warnings:
        typer.echo(f"WARNING: {sentence}")
    typer.echo(verdict(found))


def _numbers(found: TraceFit, outcome: Any, gain: float | None) -> str:
    from mlptsym.fitting.mapping import in_time

    mean = in_time(found, outcome.mean, outcome.standard_error)
    words = f"mean {mean}, P99 {in_time(found, outcome.p99, outcome.p99_standard_error)}"
    return words if gain is None or math.isclose(gain, 0.0, abs_tol=1e-15) else f"{words}, gain {gain:.1%}"
