"""The options that describe a queue and a policy, and how their texts are read.

The arguments of a command bear the library's names for the same things, so that what the library refuses is known to be
an option (`mlptsym.cli.errors`).  Numbers are read by ``float`` alone.  A text that is none is handed on as it is, for
the library to refuse it and say what is allowed: ranges are stated in one place.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlptsym.laws import size_laws
from mlptsym.memory import memory_laws
from mlptsym.parameters import read_law, read_number
from mlptsym.validation import choice, number, refuse

if TYPE_CHECKING:
    from mlptsym.laws.base import SizeLaw
    from mlptsym.memory.base import Memory
    from mlptsym.numeric.gittins.capped import CappedGittins
    from mlptsym.numeric.model.policies import Policy
    from mlptsym.numeric.model.queue import Queue

__all__ = [
    "POLICIES",
    "ArrivalRate",
    "Capacity",
    "Json",
    "Levels",
    "MemoryLaw",
    "MinimumQuantum",
    "PolicyName",
    "PreemptionCost",
    "Preemptions",
    "Quanta",
    "Quantum",
    "Size",
    "SlowdownFactor",
    "SlowdownThreshold",
    "UnloadCost",
    "read_memory",
    "read_policy",
    "read_queue",
    "read_simulated_policy",
    "read_size",
    "scaled",
    "with_queue",
]

POLICIES = ("fcfs", "mlpt", "mlpt-lazy", "capped-gittins")

Size = Annotated[
    str,
    typer.Option(
        "--size",
        metavar="LAW",
        help="Law of the job sizes, in units of work (time at service rate one): {size_laws}",
    ),
]
ArrivalRate = Annotated[
    str, typer.Option("--rate", metavar="RATE", help="Poisson arrivals per unit of time, > 0 (lambda).")
]
SlowdownThreshold = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="WORK",
        help="Attained work from which on service is slow, >= 0: a number, 6x for six times the mean size, or inf for "
        "no slowdown, which is the default.",
        show_default=False,
    ),
]
SlowdownFactor = Annotated[
    str, typer.Option("--beta", metavar="FACTOR", help="Service rate beyond the threshold, > 0 and <= 1.")
]
PreemptionCost = Annotated[
    str,
    typer.Option("--gamma", metavar="COST", help="Time to restore one unit of memory after a preemption, >= 0."),
]
MemoryLaw = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="LAW",
        help="Memory held by a job against its attained service: {memory_laws}",
    ),
]
Capacity = Annotated[
    str | None,
    typer.Option(
        "--capacity",
        metavar="MEMORY",
        help="Memory at which service becomes slow, > 0; gives the threshold, in place of --threshold.",
        show_default=False,
    ),
]
UnloadCost = Annotated[
    str,
    typer.Option(
        "--unload-cost",
        metavar="COST",
        help="Time to move one unit of memory out at a preemption, >= 0; means, tables and simulation of mlpt know it.",
    ),
]
PolicyName = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="fcfs, mlpt, mlpt-lazy (no cost where nothing is overtaken; by theory for two or three levels), or in "
        "simulation only capped-gittins; mlpt if levels or quanta are given, otherwise fcfs.",
        show_default=False,
    ),
]
Levels = Annotated[
    str | None,
    typer.Option(
        "--levels",
        metavar="K",
        help="Number of priority levels, a whole number >= 1, or inf.",
        show_default=False,
    ),
]
Quantum = Annotated[
    str | None,
    typer.Option(
        "--quantum",
        metavar="TIME",
        help="Quantum of every level but the last, > 0, in units of service time: a number, or 3x for three times the "
        "mean size.",
        show_default=False,
    ),
]
Quanta = Annotated[
    str | None,
    typer.Option(
        "--quanta",
        metavar="TIME,...",
        help="Unequal quanta, one for each level but the last, in place of --quantum and --levels: 300,500 is three "
        "levels.",
        show_default=False,
    ),
]
Preemptions = Annotated[
    str | None,
    typer.Option(
        "--preemptions",
        metavar="N",
        help="With --policy capped-gittins: preemptions of each job at most, a whole number >= 0, or inf. The paper's "
        "Capped Gittins(k) has k - 1.",
        show_default=False,
    ),
]
MinimumQuantum = Annotated[
    str | None,
    typer.Option(
        "--minimum-quantum",
        metavar="TIME",
        help="With --policy capped-gittins: least quantum a job is assigned, > 0, in units of service time: a number, "
        "or 0.1x for a tenth of the mean size; a hundredth of the mean service time when left out.",
        show_default=False,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object, in full precision; an infinite value is null.",
        show_default=False,
    ),
]


def read_size(text: str) -> SizeLaw:
    """The size law that a text such as ``lognormal:5,0.9`` names.

    Examples
    --------
    >>> read_size("hyperexponential:0.9,0.1/1,0.05")
    HyperExponential(probabilities=(0.9, 0.1), rates=(1.0, 0.05))
    """
    return read_law("size", text, size_laws().values())  # type: ignore[no-any-return]


def read_memory(text: str) -> Memory:
    """The memory law that a text such as ``affine:512,1`` names.

    Examples
    --------
    >>> read_memory("saturating:1,4096")
    SaturatingMemory(slope=1.0, window=4096.0, base=0.0)
    """
    return read_law("memory", text, memory_laws().values())  # type: ignore[no-any-return]


def read_queue(
    size: Size,
    arrival_rate: ArrivalRate,
    slowdown_threshold: SlowdownThreshold = None,
    slowdown_factor: SlowdownFactor = "1",
    preemption_cost: PreemptionCost = "0",
    memory: MemoryLaw = "linear",
    capacity: Capacity = None,
    unload_cost: UnloadCost = "0",
) -> Queue:
    """The queue that the options describe, which stand here and nowhere else: see `with_queue`."""
    from mlptsym.numeric.model.queue import Queue

    law = read_size(size)
    return Queue(
        law,
        arrival_rate=read_number(arrival_rate),
        slowdown_threshold=None
        if slowdown_threshold is None
        else scaled("slowdown_threshold", slowdown_threshold, law),
        slowdown_factor=read_number(slowdown_factor),
        preemption_cost=read_number(preemption_cost),
        memory=read_memory(memory),
        capacity=None if capacity is None else read_number(capacity),
        unload_cost=read_number(unload_cost),
    )


def with_queue(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes a ``queue``, with the options of `read_queue` in its place."""

    def options_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
        found = inspect.signature(function, locals={"Queue": Any}, eval_str=True).parameters.items()
        return {name: option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, option in found}

    of_queue, own = options_of(read_queue), options_of(command)
    del own["queue"]

    @wraps(command)
    def run(**given: Any) -> None:
        queue = read_queue(**{name: given.pop(name) for name in of_queue})
        command(queue=queue, **given)

    signature = inspect.Signature([*of_queue.values(), *own.values()])
    run.__dict__["__signature__"], run.__annotations__ = signature, {}  # where Typer looks
    return run


def read_policy(
    queue: Queue, policy: str | None, levels: str | None, quantum: str | None, quanta: str | None
) -> Policy:
    """The policy that the options describe: MLPT if levels or quanta are given, otherwise FCFS, unless it is named."""
    from mlptsym.numeric.model.policies import FCFS, MLPT

    given = {
        name: text for name, text in (("levels", levels), ("quantum", quantum), ("quanta", quanta)) if text is not None
    }
    name = choice("policy", policy or ("mlpt" if given else "fcfs"), POLICIES)
    if name == "capped-gittins":
        refuse("policy", policy, "fcfs or mlpt here (capped-gittins can only be simulated)")
    if name == "fcfs":
        _check_left_out(given, name)
        return FCFS()
    lazy = name == "mlpt-lazy"
    count = {} if levels is None else {"levels": read_number(levels)}
    if quanta is not None:
        if quantum is not None:
            refuse("quantum", quantum, "left out when --quanta is given")
        return MLPT(quanta=[scaled("quanta", part, queue.size) for part in quanta.split(",")], lazy=lazy, **count)
    if quantum is None:
        refuse("quantum", None, "a finite number > 0, together with --levels; or --quanta instead")
    return MLPT(quantum=number("quantum", scaled("quantum", quantum, queue.size), above=0), lazy=lazy, **count)


def read_simulated_policy(
    queue: Queue,
    policy: str | None,
    levels: str | None,
    quantum: str | None,
    quanta: str | None,
    preemptions: str | None,
    minimum_quantum: str | None,
) -> Policy | CappedGittins:
    """The policy that the options describe, those that can only be simulated among them."""
    from mlptsym.numeric.gittins.capped import CappedGittins

    own = {"preemptions": preemptions, "minimum_quantum": minimum_quantum}
    if policy != "capped-gittins":
        for name, text in own.items():
            if text is not None:
                refuse(name, text, "left out without --policy capped-gittins")
        return read_policy(queue, policy, levels, quantum, quanta)
    _check_left_out({"levels": levels, "quantum": quantum, "quanta": quanta}, policy)
    if preemptions is None:
        refuse("preemptions", None, "a whole number >= 0 or inf, with --policy capped-gittins")
    least = None if minimum_quantum is None else scaled("minimum_quantum", minimum_quantum, queue.size)
    return CappedGittins(read_number(preemptions), minimum_quantum=least)


def _check_left_out(options: Mapping[str, str | None], policy: str) -> None:
    for name, text in options.items():
        if text is not None:
            refuse(name, text, f"left out with --policy {policy}")


def scaled(name: str, text: str, law: SizeLaw) -> Any:
    """A number, or with an ``x`` behind it the mean size times that number."""
    factor = read_number(text[:-1]) if text.endswith(("x", "X")) else text
    if isinstance(factor, str):
        return read_number(text)
    if math.isinf(law.mean):
        refuse(name, text, "a number without x: the mean size is infinite")
    try:
        return factor * law.mean
    except OverflowError:  # an int beyond the range of floats
        return text
