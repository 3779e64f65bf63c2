"""``mlptsym response`` and ``mlptsym optimize``: mean response times and the best quantum, by the theory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

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
from mlptsym.parameters import read_number
from mlptsym.validation import choice, refuse

if TYPE_CHECKING:
    from mlptsym.numeric.mean.response import Solution
    from mlptsym.numeric.model.policies import Policy
    from mlptsym.numeric.model.queue import Queue

__all__ = ["described", "in_words", "optimize", "response", "why_infinite"]

LONGEST_TABLE = 40


@with_queue
def response(
    queue: Queue,
    policy: PolicyName = None,
    levels: Levels = None,
    quantum: Quantum = None,
    quanta: Quanta = None,
    by_level: Annotated[
        bool,
        typer.Option(
            "--by-level",
            help="Also the share of jobs that complete in each level, their waiting and their response time.",
            show_default=False,
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Mean response time of a queue under FCFS, MLPT, or lazy MLPT with two or three levels, by the theory."""
    from mlptsym.numeric.mean.response import level_table, solve
    from mlptsym.numeric.model.policies import FCFS

    chosen = read_policy(queue, policy, levels, quantum, quanta)
    if chosen.lazy and chosen.levels > 3:
        refuse("policy", policy, "fcfs or mlpt with more than three levels (their mlpt-lazy can only be simulated)")
    solution = solve(queue, chosen)
    fcfs = solve(queue, FCFS()).mean_response_time
    answer = checked(
        {
            "mean_response_time": solution.mean_response_time,
            "effective_load": solution.effective_load,
            "stable": solution.stable,
            "base_load": queue.base_load,
            "mean_service_time": queue.mean_service_time,
            "fcfs": fcfs,
            "gain": _gain(solution.mean_response_time, fcfs),
            **_against_mlpt(queue, chosen),
            **described(queue, chosen),
        }
    )
    finite = math.isfinite(solution.mean_response_time)
    table = level_table(queue, chosen) if by_level and finite else None
    if not finite:
        answer["reason"] = why_infinite(queue, chosen, solution)
    if json:
        columns = ("level", "probability", "waiting_time", "response_time", "last_is_open")
        if by_level:
            answer["by_level"] = None if table is None else {name: getattr(table, name) for name in columns}
        print_json(answer)
        return
    print_rows(
        [
            ("policy", in_words(chosen)),
            ("mean response time", format_number(solution.mean_response_time)),
            *([] if finite else [("  because", str(answer["reason"]))]),
            ("under FCFS", format_number(fcfs)),
            ("gain over FCFS", _per_cent(answer["gain"])),
            *([("under MLPT", format_number(answer["mlpt"]))] if chosen.lazy else []),
            *([("demotions without cost", ", ".join(map(_per_cent, answer["alone"])))] if chosen.lazy else []),
            ("effective load", f"{format_number(solution.effective_load)} ({'' if solution.stable else 'un'}stable)"),
            ("base load", format_number(queue.base_load)),
            ("mean service time", format_number(queue.mean_service_time)),
            ("slowdown threshold", format_number(answer["slowdown_threshold"])),
        ]
    )
    if table is not None:
        typer.echo()
        shown = table.shortened(LONGEST_TABLE)
        names = [str(level) for level in shown.level.tolist()]
        if shown.last_is_open:
            names[-1] += " and beyond"
        print_table(
            {
                "level": names,
                "share of jobs": shown.probability,
                "waiting time": shown.waiting_time,
                "response time": shown.response_time,
            }
        )
        if len(shown.level) < len(table.level):
            typer.echo("(--json has every level)")


@with_queue
def optimize(
    queue: Queue,
    levels: Annotated[
        str, typer.Option("--levels", metavar="K", help="Number of priority levels, a whole number >= 2, or inf.")
    ],
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME", help="mlpt, or with two levels mlpt-lazy (see `response`).")
    ] = "mlpt",
    certify: Annotated[
        bool,
        typer.Option(
            "--certify",
            help="Also prove a lower and an upper bound of the least mean response time, by interval arithmetic.",
            show_default=False,
        ),
    ] = False,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            metavar="NAME",
            help="What is to be small: mean, mean-slowdown, a percentile such as p99, or a weighted sum such as "
            "mean=0.7,p99=0.3.",
        ),
    ] = "mean",
    unequal: Annotated[
        bool,
        typer.Option(
            "--unequal",
            help="Also the best quanta if every level may have its own; for a finite number of levels.",
            show_default=False,
        ),
    ] = False,
    a: Annotated[
        str,
        typer.Option(
            "--a",
            metavar="RATIO",
            help="With two levels, the rule of thumb is the threshold if this is from a to b mean sizes.",
        ),
    ] = "3",
    b: Annotated[str, typer.Option("--b", metavar="RATIO", help="See --a.")] = "7",
    json: Json = False,
) -> None:
    """Quantum with the least mean response time under MLPT, and the rule of thumb for it."""
    from mlptsym.numeric.mean.response import mean_response_time
    from mlptsym.numeric.model.policies import MLPT
    from mlptsym.numeric.optimal.optimum import optimal_quantum, rule_of_thumb
    from mlptsym.numeric.optimal.unequal import optimal_quanta

    count = read_number(levels)
    lazy = choice("policy", policy, ("mlpt", "mlpt-lazy")) == "mlpt-lazy"
    if lazy and (count != 2 or certify or unequal or objective != "mean"):
        refuse("policy", policy, "mlpt but for the mean with two levels, without --certify and --unequal")
    if objective != "mean":
        if certify or unequal:
            refuse("objective", objective, "mean, with --certify and --unequal")
        _other_objective(queue, count, read_objective(objective), json=json)
        return
    rule = rule_of_thumb(queue, count, a=read_number(a), b=read_number(b))
    by_rule = (
        mean_response_time(queue, MLPT(quantum=rule, levels=count, lazy=lazy)) if math.isfinite(rule) else math.inf
    )
    optimum = optimal_quantum(queue, count, certify=certify, lazy=lazy)
    own = optimal_quanta(queue, count) if unequal else None
    stable = queue.base_load < 1
    answer = checked(
        {
            **{item.name: getattr(optimum, item.name) for item in fields(optimum)},
            "stable": stable,
            "base_load": queue.base_load,
            "rule_of_thumb": rule,
            "rule_of_thumb_mean_response_time": by_rule,
            "slowdown_threshold": queue.slowdown_threshold,
        }
    )
    if own is not None:
        names = (item.name for item in fields(own) if item.name != "equal")
        answer["unequal"] = checked({name: getattr(own, name) for name in names})
    if json:
        print_json(answer)
        return
    gain = _gain(by_rule, optimum.fcfs)
    rows = [
        ("best quantum", f"{format_number(optimum.quantum)} ({optimum.kind})"),
        ("mean response time", format_number(optimum.mean_response_time)),
    ]
    if certify:
        bounds = (f"{bound:.10g}" for bound in (optimum.lower, optimum.upper) if bound is not None)
        rows.append(("  proved to lie within", ", ".join(bounds)))
    if optimum.open_quanta:
        rows.append(("  not proved for quanta", f"{_ranges(optimum.open_quanta)}, so that E[S] is the lower bound"))
    if own is not None:
        rows += [
            ("best unequal quanta", ", ".join(map(format_number, own.quanta)) or "none (fcfs)"),
            ("  mean response time", format_number(own.mean_response_time)),
            ("  gain over the best quantum", _per_cent(own.gain)),
        ]
    rows += [
        ("under FCFS", format_number(optimum.fcfs)),
        ("gain over FCFS", _per_cent(optimum.gain)),
        ("rule of thumb", format_number(rule)),
        ("  gain over FCFS", _per_cent(gain)),
        ("effective load", f"{format_number(optimum.effective_load)} ({'' if stable else 'un'}stable)"),
        ("base load", format_number(queue.base_load)),
        ("slowdown threshold", format_number(answer["slowdown_threshold"])),
    ]
    print_rows(rows)


def _other_objective(queue: Queue, levels: float, objective: str | dict[str, float], *, json: bool) -> None:
    from mlptsym.numeric.optimal.objectives import best_quantum_for

    best = best_quantum_for(queue, levels, objective)
    answer = checked(
        {
            **{item.name: getattr(best, item.name) for item in fields(best)},
            "objective": dict(best.objective),
            "stable": queue.base_load < 1,
            "base_load": queue.base_load,
            "slowdown_threshold": queue.slowdown_threshold,
        }
    )
    if json:
        print_json(answer)
        return
    names = " + ".join(name if weight == 1 else f"{weight:g} {name}" for name, weight in best.objective)
    print_rows(
        [
            ("best quantum", f"{format_number(best.quantum)} ({best.kind}; found by a search)"),
            (names, format_number(best.value)),
            ("under FCFS", format_number(best.fcfs)),
            ("gain over FCFS", _per_cent(best.gain)),
            ("mean response time", format_number(best.mean_response_time)),
            ("quantum best for the mean", format_number(best.best_for_mean)),
            (f"  {names} there", format_number(best.value_of_best_for_mean)),
            ("base load", format_number(queue.base_load)),
            ("slowdown threshold", format_number(answer["slowdown_threshold"])),
        ]
    )


def read_objective(text: str) -> str | dict[str, float]:
    """An objective by its name, or weights by names.

    Examples
    --------
    >>> read_objective("p99"), read_objective("mean=0.7,p99=0.3")
    ('p99', {'mean': 0.7, 'p99': 0.3})
    """
    if "=" not in text:
        return text
    pairs = [part.partition("=") for part in text.split(",")]
    weights = {name.strip(): read_number(weight) for name, _, weight in pairs}
    if len(weights) < len(pairs):
        refuse("objective", text, "weights for different names")
    return weights


def _ranges(ranges: Sequence[tuple[float, float]], most: int = 3) -> str:
    """The widest of some ranges, in order, and how many more there are.

    Examples
    --------
    >>> _ranges([(0, 1), (2, 9), (10, 11.5), (12, 13)]), _ranges([(700, math.inf)])
    ('0 to 1, 2 to 9, 10 to 11.5 and 1 more', '700 to inf')
    """
    widest = sorted(sorted(ranges, key=lambda ends: ends[0] - ends[1])[:most])
    text = ", ".join(f"{format_number(low)} to {format_number(high)}" for low, high in widest)
    return text if len(ranges) <= most else f"{text} and {len(ranges) - most} more"


def _per_cent(gain: float | None) -> str:
    return "-" if gain is None else f"{100 * gain:.3g} %"


def _gain(mean: float, fcfs: float) -> float | None:
    """1 − E[T]/E[T of FCFS], None where E[T] is infinite."""
    return None if math.isinf(mean) else 1 - mean / fcfs


def _against_mlpt(queue: Queue, policy: Policy) -> dict[str, Any]:
    """Under MLPT′: E[T] of MLPT, and the probabilities that a job demoted from each level pays nothing."""
    from dataclasses import replace

    from mlptsym.numeric.mean.lazy import lazy_terms
    from mlptsym.numeric.mean.lazy_three import lazy_three_terms
    from mlptsym.numeric.mean.response import mean_response_time
    from mlptsym.numeric.model.policies import FCFS

    if isinstance(policy, FCFS) or not policy.lazy:
        return {}
    ends = policy.boundaries(math.inf)
    alone = (lazy_three_terms if len(ends) == 2 else lazy_terms)(queue, ends).alone if len(ends) else ends
    return {"mlpt": mean_response_time(queue, replace(policy, lazy=False)), "alone": alone.tolist()}


def described(queue: Queue, policy: Policy) -> dict[str, Any]:
    """What was asked, in numbers: options such as ``6x`` are resolved here."""
    quanta = {name: value for name in ("quantum", "quanta") if (value := getattr(policy, name, None)) is not None}
    return {"levels": policy.levels, **quanta, "slowdown_threshold": queue.slowdown_threshold}


def in_words(policy: Policy) -> str:
    """A policy on one line.

    Examples
    --------
    >>> from mlptsym.numeric.model.policies import MLPT
    >>> in_words(MLPT(quanta=[300, 500]))
    'MLPT, k = 3, quanta 300, 500'
    """
    from mlptsym.numeric.model.policies import FCFS

    if isinstance(policy, FCFS):
        return "FCFS"
    if policy.quanta is None:
        length = f"quantum {format_number(policy.quantum)}"
    else:
        length = "quanta " + ", ".join(map(format_number, policy.quanta))
    return f"{'lazy ' if policy.lazy else ''}MLPT, k = {policy.levels}, {length}"


def why_infinite(queue: Queue, policy: Policy, solution: Solution) -> str:
    """Why there is no finite mean response time."""
    from mlptsym.numeric.mean.response import moments_needed

    if not solution.stable:
        return f"the queue is unstable: its effective load is {format_number(solution.effective_load)}, not below 1"
    order = moments_needed(queue, policy.levels)
    return f"the queue is stable, but a finite mean needs a finite moment of order {order} of the job sizes"
