"""Derivations and verdicts in a notebook: steps that SymPy has taken, typeset, and a table filled by the ledger.

SymPy's typesetting and the order of its terms differ from run to run, values do not.  Beside the typeset form, every
step therefore carries its value where each symbol is a fixed number derived from its name, as plain text: two runs are
compared by these values.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from mlptsym.ledger.entry import Refutation, Step, Verdict, verify_entries
from mlptsym.ledger.render.typesetting import in_latex
from mlptsym.numeric.model.queue import Queue
from mlptsym.symbolic.algebra.symbols import (
    arrival_rate,
    boundary,
    cost,
    preemption_cost,
    quantum,
    size,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.model.moments import Density, Indicator, UpperMoment
from mlptsym.symbolic.model.transforms import PartialTransform
from mlptsym.validation import instance, mapping, number, numbers, refuse


@dataclass(frozen=True)
class Derivation:
    """Steps of a derivation, typeset in a notebook."""

    steps: tuple[Step, ...]  # In the order in which they were taken

    def _repr_markdown_(self) -> str:
        return "\n\n".join(map(_typeset, self.steps))

    def __repr__(self) -> str:
        return "\n".join(
            step.operation if step.result is None else f"{step.operation}: {value(step.result)}" for step in self.steps
        )


def derivation(*steps: Step | tuple[str, Any]) -> Derivation:
    """Steps to show, each an operation in words and what it gave.

    Examples
    --------
    >>> from mlptsym.symbolic.model.moments import expectation
    >>> from mlptsym.symbolic.algebra.symbols import service
    >>> t = sp.Symbol("t", positive=True)
    >>> served = sp.Min(service, t)
    >>> derivation(("served in one quantum", served), ("its mean", expectation(served, [t])))
    served in one quantum: 0.554209933732
    its mean: -0.352269042211
    """
    allowed = "a Step, or a pair of an operation in words and what it gave"
    for step in steps:
        if not isinstance(step, Step) and len(instance("steps", step, tuple, allowed)) != 2:
            refuse("steps", step, allowed)
    return Derivation(tuple(step if isinstance(step, Step) else Step(*step) for step in steps))


def _typeset(step: Step) -> str:
    if step.result is None:
        return step.operation
    expression = sp.sympify(step.result, strict=True)
    if (
        isinstance(expression, sp.Equality) and len(in_latex(expression)) > 240
    ):  # characters, beyond which an equation is set on two lines
        sides: tuple[str, ...] = (in_latex(expression.lhs), f"= {in_latex(expression.rhs)}")
    else:
        sides = (in_latex(expression),)
    return "\n\n".join([f"{step.operation}:", *(f"$$\\displaystyle {side}$$" for side in sides)])


def value(expression: Any) -> str:
    """An expression, both sides of a relation or the members of a tuple, where every symbol is a number between 0 and 1 made of its name.

    Two forms of one expression have the same value, and two different expressions have different ones but for an
    accident.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> value((x + y) ** 2) == value(x**2 + 2 * x * y + y**2)
    True
    >>> value(sp.Eq(x, y))
    '0.177506820000 = 0.632765067327'
    """
    if isinstance(expression, Relational):
        sign = "=" if isinstance(expression, sp.Equality) else expression.rel_op
        return f"{value(expression.lhs)} {sign} {value(expression.rhs)}"
    if isinstance(expression, sp.Tuple):
        return ", ".join(map(value, expression))
    return str(_placed(sp.sympify(expression, strict=True)).evalf(12, maxn=200))


def _placed(expression: Any) -> Any:
    moments: tuple[type, ...] = (UpperMoment, PartialTransform, Density, Indicator)
    leaves = (sp.Symbol, sp.Indexed, AppliedUndef, sp.Derivative, sp.Subs, sp.Integral)
    if isinstance(expression, (*moments, *leaves)):
        return _number(str(expression))
    if isinstance(expression, sp.Sum):
        return _number(f"sum over {expression.limits}") * _placed(expression.function)
    if not expression.args:
        return expression
    arguments = [_placed(argument) for argument in expression.args]
    if expression.is_Pow and not arguments[1].is_Integer:
        # SymPy would look for exact roots of these long fractions
        arguments = [argument.evalf(36) for argument in arguments]
    return expression.func(*arguments)


def _number(name: str) -> sp.Rational:
    digest = int.from_bytes(hashlib.sha256(name.encode()).digest()[:12], "big")
    return sp.Rational(digest + 1, 2**96 + 2)


@dataclass(frozen=True)
class VerdictTable:
    """What the ledger's checks found, as the table "statement – how shown – result"."""

    verdicts: tuple[Verdict, ...]

    def _repr_markdown_(self) -> str:
        rows = (
            (f"**{verdict.entry.name}**  ${_in_table(verdict.entry.latex)}$", _how(verdict), verdict.result)
            for verdict in self.verdicts
        )
        return _table(("statement", "how shown", "result"), rows)

    def __repr__(self) -> str:
        return "\n".join(f"{verdict.entry.name}: {_how(verdict)}: {verdict.result}" for verdict in self.verdicts)


def verdicts(*names: str) -> VerdictTable:
    """Run the checks of ledger entries on their statements (`mlptsym verify` runs them on wrong variants as well).

    Parameters
    ----------
    names : str
        Entries such as ``eq-16``, or sections of the ledger; a text may hold several, with spaces between them.

    Raises
    ------
    ParameterError
        If a name is unknown.

    Examples
    --------
    >>> verdicts("eq-6")
    eq-6: proof: identities reduced to 0 by SymPy and by flint: proved
    """
    from mlptsym.ledger.registry import select

    entries = select([name for text in names for name in instance("entry", text, str, "names of entries").split()])
    return VerdictTable(tuple(Verdict(entry, entry.check(entry.claim()), (), 0.0) for entry in entries))


@dataclass(frozen=True)
class RefutationTable:
    """What became of the wrong variants of a statement."""

    refutations: tuple[Refutation, ...]

    def _repr_markdown_(self) -> str:
        rows = ((one.description, _in_table(one.evidence), _word(one)) for one in self.refutations)
        return _table(("wrong variant", "what the check finds", "result"), rows)

    def __repr__(self) -> str:
        return "\n".join(f"{one.description}: {_word(one)}: {one.evidence}" for one in self.refutations)


def refutations(name: str) -> RefutationTable:
    """Run the check of a ledger entry on the wrong variants of its statement.

    Examples
    --------
    >>> [one.refuted for one in refutations("eq-6").refutations]
    [True, True]
    """
    from mlptsym.ledger.registry import select

    verdicts = [*verify_entries(select([name]))]
    if len(verdicts) != 1:
        refuse("entry", name, "one entry of the ledger, and not a section")
    return RefutationTable(verdicts[0].refutations)


def _how(verdict: Verdict) -> str:
    """Method and evidence, each kind of evidence once, without the number of identities."""
    parts = re.sub(r"\d+ identit(?:y|ies):", "identities", verdict.outcome.evidence).split("; ")
    return f"{verdict.entry.method}: {_in_table('; '.join(dict.fromkeys(parts)))}"


def _word(refutation: Refutation) -> str:
    return "refuted" if refutation.refuted else "NOT REFUTED"


def _in_table(text: str) -> str:
    """Text or LaTeX without the character that ends a cell."""
    return text.replace("|", r"\vert ")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def at_queue(
    expression: sp.Expr, queue: Queue, ends: Sequence[float] = (), values: Mapping[sp.Expr, float] | None = None
) -> float:
    """A derived formula as a number, for a given queue.

    Parameters
    ----------
    expression : Expr
        In λ, β, γ, ℓ_C, partial moments of S and L, boundaries t_r and restore costs c_r.
    queue : Queue
    ends : sequence of float
        t_1 < t_2 < …, attained service in units of time; with one of them, θ is t_1 as well.
    values : mapping, optional
        Values of further symbols.

    Examples
    --------
    >>> import mlptsym as mq
    >>> from mlptsym.symbolic.model.service import service_mean
    >>> queue = mq.Queue(mq.Exponential(0.5), arrival_rate=0.1, slowdown_threshold=3.0, slowdown_factor=0.4)
    >>> abs(at_queue(service_mean(), queue) - queue.mean_service_time) < 1e-12
    True
    """
    allowed = "a formula in the quantities of the model, the ends given and further symbols with values"
    threshold, factor = instance("queue", queue, Queue, "a Queue").slowdown
    queue.refuse_unloading("a value of a formula of the paper")
    ends = numbers("ends", ends, above=0, minimum_length=0, maximum_length=1000)
    further = {
        symbol: number("values", value, infinite=True)
        for symbol, value in mapping(
            "values", {} if values is None else values, "a mapping of symbols to numbers"
        ).items()
    }
    known: dict[sp.Expr, float] = {
        arrival_rate: queue.arrival_rate,
        preemption_cost: queue.preemption_cost,
        slowdown_threshold: threshold,
        slowdown_factor: factor,
        **further,
    }
    places = {boundary[r]: float(end) for r, end in enumerate(ends, start=1)}
    costs = {cost[r]: float(queue.restore_cost(end)) for r, end in enumerate(ends, start=1)}
    known |= places | costs | ({quantum: float(ends[0])} if len(ends) == 1 else {})

    def as_number(part: sp.Expr) -> float:
        found = sp.sympify(part.xreplace(known), strict=True)
        if found.free_symbols or not found.is_extended_real:
            refuse("expression", expression, allowed)
        return float(found)

    for moment in instance("expression", expression, sp.Expr, allowed).atoms(UpperMoment):
        order, at, variable = moment.args
        known[moment] = _moment(queue, int(order), as_number(at), of_size=variable == size)
    return as_number(expression)


def _moment(queue: Queue, order: int, place: float, *, of_size: bool) -> float:
    if of_size:
        return float(queue.size.upper_moment(order, place))
    return float(queue.service_moments(place)[order])
