"""``mlptsym simulate``: mean response times by simulation, with the theory beside them."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlptsym.cli.options import (
    Json,
    Levels,
    MinimumQuantum,
    PolicyName,
    Preemptions,
    Quanta,
    Quantum,
    read_simulated_policy,
    with_queue,
)
from mlptsym.cli.output import checked, format_number, print_json, print_rows
from mlptsym.cli.theory import described, in_words, why_infinite
from mlptsym.parameters import read_number
from mlptsym.validation import ParameterError

if TYPE_CHECKING:
    from mlptsym.numeric.model.queue import Queue
    from mlptsym.simulation.simulate import SimulatedPolicy, SimulationResult

__all__ = ["simulate"]

_OF_CONTROL = ("controls", "degrees_of_freedom", "variance_reduction")


@with_queue
def simulate(
    queue: Queue,
    policy: PolicyName = None,
    levels: Levels = None,
    quantum: Quantum = None,
    quanta: Quanta = None,
    preemptions: Preemptions = None,
    minimum_quantum: MinimumQuantum = None,
    jobs: Annotated[str, typer.Option("--jobs", metavar="N", help="Measured jobs of each seed, >= 1.")] = "100000",
    warmup: Annotated[
        str, typer.Option("--warmup", metavar="N", help="Jobs before them, served but not measured, >= 0.")
    ] = "20000",
    seeds: Annotated[str, typer.Option("--seeds", metavar="N", help="Independent traces, >= 1.")] = "8",
    root_seed: Annotated[
        str, typer.Option("--seed", metavar="N", help="The number that all traces derive from, >= 0.")
    ] = "0",
    control: Annotated[
        bool, typer.Option("--control", help="Sharpen the mean with control variates, of exactly known means.")
    ] = False,
    workers: Annotated[
        str | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="Threads, one a processor when left out; the answer does not depend on it.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Mean response time of a queue under FCFS, MLPT, lazy MLPT or the capped Gittins index, by simulation."""
    from mlptsym.simulation.simulate import simulate as run

    chosen = read_simulated_policy(queue, policy, levels, quantum, quanta, preemptions, minimum_quantum)
    with _ended_by_interrupt():
        result = run(
            queue,
            chosen,
            read_number(jobs),
            read_number(warmup),
            read_number(seeds),
            root_seed=read_number(root_seed),
            control=control,
            workers=None if workers is None else read_number(workers),
        )
    theory = checked(_theory(queue, chosen, result))
    if json:
        names = [item.name for item in fields(result) if control or item.name not in _OF_CONTROL]
        simulated = {name: getattr(result, name) for name in names}
        print_json(simulated | theory | _described(queue, chosen))
        return
    error = result.standard_error
    rows = [
        ("policy", _in_words(queue, chosen)),
        ("simulated mean response time", format_number(result.mean)),
        ("standard error", "- (a single seed)" if error is None else f"{format_number(error)} ({result.seeds} seeds)"),
    ]
    if result.variance_reduction is not None:
        rows.append(
            ("variance reduced by", f"{format_number(result.variance_reduction)} with {len(result.controls)} controls")
        )
    if theory["mean_response_time"] is not None:
        rows.append(("by the theory", format_number(theory["mean_response_time"])))
    if theory["z"] is not None:
        rows.append(("difference in standard errors", f"{theory['z']:+.2f}"))
    if "reason" in theory:
        rows.append(("without a finite theory", theory["reason"]))
    print_rows(rows)


@contextmanager
def _ended_by_interrupt() -> Iterator[None]:
    """Ctrl-C ends the process at once: threads in machine code cannot be interrupted, and nothing needs tidying up."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _theory(queue: Queue, policy: SimulatedPolicy, result: SimulationResult) -> dict[str, Any]:
    """The exact mean beside the simulated one, and how many standard errors lie between; None where there is none."""
    from mlptsym.numeric.gittins.capped import CappedGittins
    from mlptsym.numeric.mean.response import solve

    nothing = {"mean_response_time": None, "z": None}
    if isinstance(policy, CappedGittins):
        loads = {"effective_load": result.effective_load, "stable": result.stable}
        reason = "the capped Gittins index (capped-gittins) can only be simulated"
        if not result.stable:
            reason += f"; the queue is unstable: its measured load is {format_number(loads['effective_load'] or 0.0)}"
        return nothing | loads | {"reason": reason}
    if policy.lazy and policy.levels > 3:
        return nothing | {"reason": "mlpt-lazy with more than three levels can only be simulated"}
    try:
        solution = solve(queue, policy)
    except ParameterError as refusal:
        return nothing | {"reason": f"{refusal.name} must be {refusal.allowed}"}
    exact, error = solution.mean_response_time, result.standard_error
    loads = {"effective_load": solution.effective_load, "stable": solution.stable}
    if math.isinf(exact):
        return nothing | loads | {"reason": why_infinite(queue, policy, solution)}
    return {"mean_response_time": exact, "z": (result.mean - exact) / error if error else None, **loads}


def _described(queue: Queue, policy: SimulatedPolicy) -> dict[str, Any]:
    """What was asked, in numbers."""
    from mlptsym.numeric.gittins.capped import CappedGittins

    if not isinstance(policy, CappedGittins):
        return described(queue, policy)
    names = {"preemptions": policy.preemptions, "minimum_quantum": policy.quantum_for(queue)}
    return names | {"slowdown_threshold": queue.slowdown_threshold}


def _in_words(queue: Queue, policy: SimulatedPolicy) -> str:
    """A policy on one line."""
    from mlptsym.numeric.gittins.capped import CappedGittins

    if not isinstance(policy, CappedGittins):
        return in_words(policy)
    quantum = format_number(policy.quantum_for(queue))
    return f"capped Gittins index, preemptions of each job <= {policy.preemptions}, quanta >= {quantum}"
