"""``mlptsym percentiles``: percentiles of the response time, by the theory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from mlptsym.cli.options import (
    Json,
    Levels,
    PolicyName,
    Quanta,
    Quantum,
    read_policy,
    with_queue,
)
from mlptsym.cli.output import checked, format_number, print_json, print_rows, print_table
from mlptsym.cli.theory import described, in_words, why_infinite
from mlptsym.parameters import read_number
from mlptsym.validation import number, refuse

if TYPE_CHECKING:
    from mlptsym.numeric.model.queue import Queue

__all__ = ["EXAMPLES", "percentiles"]

EXAMPLES = """\b
Examples:
  mlptsym percentiles --size lognormal:5,0.9 --rate 0.0036 --threshold 6x --beta 0.39 \\
      --gamma 0.1 --levels 2 --quantum 6x
  mlptsym percentiles --size empirical:sizes.csv:tokens --rate 0.002 --at 0.9,0.999 --json
"""


@with_queue
def percentiles(
    queue: Queue,
    policy: PolicyName = None,
    levels: Levels = None,
    quantum: Quantum = None,
    quanta: Quanta = None,
    p: Annotated[
        str,
        typer.Option("--at", metavar="P,...", help="Probabilities, each from 0 to 1: 0.99 is the 99th percentile."),
    ] = "0.5,0.95,0.99",
    json: Json = False,
) -> None:
    """Percentiles of the response time of a queue under FCFS or MLPT, by the theory."""
    from mlptsym.numeric.distribution.percentiles import response_time_distribution
    from mlptsym.numeric.model.policies import FCFS

    chosen = read_policy(queue, policy, levels, quantum, quanta)
    if chosen.lazy:
        refuse("policy", policy, "fcfs or mlpt here (mlpt-lazy can only be simulated)")
    chances = [number("p", read_number(part), at_least=0, at_most=1) for part in p.split(",")]
    distribution = response_time_distribution(queue, chosen)
    fcfs = distribution if isinstance(chosen, FCFS) else response_time_distribution(queue, FCFS())
    first, second = (distribution.moment(order) for order in (1, 2))
    answer = checked(
        {
            "p": chances,
            "quantile": distribution.quantile(chances),
            "fcfs": fcfs.quantile(chances),
            "mean_response_time": first,
            "standard_deviation": math.sqrt(second - first**2) if math.isfinite(second) else math.inf,
            "effective_load": distribution.solution.effective_load,
            "stable": distribution.stable,
            "base_load": queue.base_load,
            "mean_service_time": queue.mean_service_time,
            **described(queue, chosen),
        }
    )
    if not math.isfinite(first):
        answer["reason"] = why_infinite(queue, chosen, distribution.solution)
    if json:
        print_json(answer)
        return
    state = "" if distribution.stable else "un"
    print_rows(
        [
            ("policy", in_words(chosen)),
            ("mean response time", format_number(first)),
            *([("  because", str(answer["reason"]))] if "reason" in answer else []),
            ("standard deviation", format_number(answer["standard_deviation"])),
            ("effective load", f"{format_number(answer['effective_load'])} ({state}stable)"),
            ("slowdown threshold", format_number(answer["slowdown_threshold"])),
        ]
    )
    typer.echo()
    print_table({"probability": chances, "within": answer["quantile"], "under FCFS": answer["fcfs"]})
