"""The options that describe a queue and a policy, and how their texts are read.

The arguments of a command bear the library's names for the same things, so that what the library refuses is known to be
an option (`mlptsym.cli.errors`).  Numbers are read by ``float`` alone.  A text that is none is handed on as it is, for
the library to refuse it and say what is allowed: ranges are stated in one place.
"""

from __future__ import annotations

import csv
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlptsym.validation import ParameterError, choice, magnitude, number, refuse

if TYPE_CHECKING:
    from mlptsym.numeric.capped import CappedGittins
    from mlptsym.numeric.laws import SizeLaw
    from mlptsym.numeric.memory import Memory
    from mlptsym.numeric.policies import Policy
    from mlptsym.numeric.queue import Queue

__all__ = [
    "MEMORY_SYNTAX",
    "POLICIES",
    "SIZE_SYNTAX",
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
    "read_memory",
    "read_number",
    "read_policy",
    "read_queue",
    "read_simulated_policy",
    "read_size",
    "scaled",
    "with_queue",
]

SIZE_SYNTAX: Mapping[str, str] = {
    "exponential": "exponential:RATE",
    "lognormal": "lognormal:MU,SIGMA",
    "weibull": "weibull:SHAPE,SCALE",
    "gamma": "gamma:SHAPE,SCALE",
    "erlang": "erlang:STAGES,RATE",
    "hyperexponential": "hyperexponential:P1,P2,.../RATE1,RATE2,...",
    "lomax": "lomax:SHAPE,SCALE",
    "uniform": "uniform:LOW,HIGH",
    "deterministic": "deterministic:VALUE",
    "empirical": "empirical:FILE.csv:COLUMN",
}
MEMORY_SYNTAX: Mapping[str, str] = {
    "linear": "linear[:SLOPE]",
    "affine": "affine:BASE[,SLOPE]",
    "saturating": "saturating:SLOPE,WINDOW[,BASE]",
}
LONGEST = 200  # characters of a file that an error shows
POLICIES = ("fcfs", "mlpt", "mlpt-lazy", "capped-gittins")

Size = Annotated[
    str,
    typer.Option(
        "--size",
        metavar="LAW",
        help="Law of the job sizes, in units of work (time at service rate one): " + ", ".join(SIZE_SYNTAX.values()),
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
        help="Memory held by a job against its attained service: " + ", ".join(MEMORY_SYNTAX.values()),
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
PolicyName = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="fcfs, mlpt, or in simulation only mlpt-lazy (no cost where nothing is overtaken) and capped-gittins; "
        "mlpt if levels or quanta are given, otherwise fcfs.",
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


def read_number(text: str) -> Any:
    """The number that a text is, an int where it is written as one; any other text as it stands.

    Examples
    --------
    >>> read_number("1e3"), read_number("8"), read_number("inf"), read_number("2+2")
    (1000.0, 8, inf, '2+2')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read_size(text: str) -> SizeLaw:
    """The size law that a text such as ``lognormal:5,0.9`` names.

    Raises
    ------
    ParameterError
        If the law, the number of its parameters, one of their values, or the file of samples is not as it must be.

    Examples
    --------
    >>> read_size("hyperexponential:0.9,0.1/1,0.05")
    HyperExponential(probabilities=(0.9, 0.1), rates=(1.0, 0.05))
    """
    from mlptsym.numeric.laws import SIZE_LAWS

    name, colon, rest = text.partition(":")
    name = name.strip().lower()
    if name not in SIZE_SYNTAX:
        refuse("size", text, "one of " + " | ".join(SIZE_SYNTAX.values()))
    if name == "empirical":
        return _empirical(text, rest)
    law: Any = SIZE_LAWS[name]
    parts: Sequence[Any] = _numbers(rest) if colon else []
    if name == "hyperexponential":
        parts = [_numbers(group) for group in rest.split("/")]
    return _built("size", text, SIZE_SYNTAX[name], law, parts)  # type: ignore[no-any-return]


def read_memory(text: str) -> Memory:
    """The memory law that a text such as ``affine:512,1`` names.

    Raises
    ------
    ParameterError
        If the law, the number of its parameters or one of their values is not as it must be.

    Examples
    --------
    >>> read_memory("saturating:1,4096")
    SaturatingMemory(slope=1.0, window=4096.0, base=0.0)
    """
    from mlptsym.numeric.memory import AffineMemory, LinearMemory, SaturatingMemory

    laws = {"linear": LinearMemory, "affine": AffineMemory, "saturating": SaturatingMemory}
    name, colon, rest = text.partition(":")
    name = name.strip().lower()
    if name not in laws:
        refuse("memory", text, "one of " + " | ".join(MEMORY_SYNTAX.values()))
    parts = _numbers(rest) if colon else []
    return _built("memory", text, MEMORY_SYNTAX[name], laws[name], parts)  # type: ignore[no-any-return]


def read_queue(
    size: Size,
    arrival_rate: ArrivalRate,
    slowdown_threshold: SlowdownThreshold = None,
    slowdown_factor: SlowdownFactor = "1",
    preemption_cost: PreemptionCost = "0",
    memory: MemoryLaw = "linear",
    capacity: Capacity = None,
) -> Queue:
    """The queue that the options describe, which stand here and nowhere else: see `with_queue`.

    Raises
    ------
    ParameterError
        If a text is not what its option takes.
    """
    from mlptsym.numeric.queue import Queue

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
    """The policy that the options describe: MLPT if levels or quanta are given, otherwise FCFS, unless it is named.

    Raises
    ------
    ParameterError
        If a text is not what its option takes, or the options do not go together.
    """
    from mlptsym.numeric.policies import FCFS, MLPT

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
    """The policy that the options describe, those that can only be simulated among them.

    Raises
    ------
    ParameterError
        If a text is not what its option takes, or the options do not go together.
    """
    from mlptsym.numeric.capped import CappedGittins

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


def _numbers(text: str) -> list[Any]:
    return [read_number(part) for part in text.split(",")]


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


def _built(name: str, text: str, syntax: str, law: Any, parts: Sequence[Any]) -> Any:
    """A law from its parameters, with an error that names the option."""
    least = sum(item.default is MISSING for item in fields(law))
    if not least <= len(parts) <= len(fields(law)):
        refuse(name, text, syntax)
    try:
        return law(*parts)
    except ParameterError as error:
        raise ParameterError(name, text, f"{syntax} with {error.name} {error.allowed}") from error


def _empirical(text: str, place: str) -> SizeLaw:
    import numpy as np

    from mlptsym.numeric.laws import Empirical

    cells = _read_column(text, *_file_and_column(text, place))
    try:
        return Empirical(np.array([float(cell) for _, cell in cells]))
    except ValueError as error:
        for line, cell in cells:
            _check_cell(text, cell, line)
        raise ParameterError("size", text, SIZE_SYNTAX["empirical"]) from error


def _file_and_column(text: str, place: str) -> tuple[Path, str]:
    """``FILE.csv:COLUMN`` taken apart; both may contain colons, and the longest file name that exists is meant."""
    pieces = place.split(":")
    splits = [(":".join(pieces[:cut]), ":".join(pieces[cut:])) for cut in range(len(pieces) - 1, 0, -1)]
    found = next(((Path(name), column) for name, column in splits if column and _is_file(name)), None)
    if found is None:
        refuse("size", text, SIZE_SYNTAX["empirical"] + (" with a file that exists" if splits else ""))
    return found


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # a name too long, a null character
        return False


def _read_column(text: str, path: Path, column: str) -> list[tuple[int, str]]:
    """Lines and cells in a column of a file of comma-separated values with a header; blank lines do not count."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            header = [name.strip() for name in next(rows, [])]
            if header.count(column.strip()) != 1:
                known = ", ".join(header)[:LONGEST] or "it is empty"
                refuse("size", text, f"{SIZE_SYNTAX['empirical']} with one column of that name in the file ({known})")
            position = header.index(column.strip())
            cells = [(rows.line_num, row[position] if position < len(row) else "") for row in rows if row]
    except OSError as error:
        raise ParameterError("size", text, f"a file that can be read ({error.strerror})") from error
    except (csv.Error, UnicodeDecodeError) as error:
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"line {rows.line_num}: {error}"
        raise ParameterError("size", text, f"a file of comma-separated values in UTF-8 ({reason})") from error
    if not cells:
        refuse("size", text, "a file with at least one line of values below its header")
    return cells


def _check_cell(text: str, cell: str, line: int) -> None:
    try:
        magnitude("size", read_number(cell))
    except ParameterError as error:
        allowed = f"a column in which each cell is {error.allowed}, not {cell[:LONGEST]!r} as in line {line}"
        raise ParameterError("size", text, allowed) from error
