"""An entry as text: its statement, its derivation step by step, and the variants its check refutes; formulas in LaTeX too."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

from sympy.printing.str import StrPrinter

from mlptsym.ledger.entry import Entry, Verdict
from mlptsym.ledger.render.typesetting import in_latex


class _Text(StrPrinter):  # type: ignore[misc]  # SymPy is untyped
    """SymPy's text with the names of claims: F(t), M(n, t), E[S^n], f(t), above(t)."""

    def _print_UpperMoment(self, node: Any) -> str:  # SymPy's dispatch by class name
        order, point, variable = node.args
        mark = "" if variable.name == "S" else f"_{variable}"
        if point.is_zero and not order.is_zero:
            return f"E[{variable}]" if order == 1 else f"E[{variable}^{order}]"
        place = self._print(point)
        return f"F{mark}({place})" if order.is_zero else f"M{mark}({order}, {place})"

    def _print_Density(self, node: Any) -> str:
        point, variable = node.args
        return f"f{'' if variable.name == 'S' else f'_{variable}'}({self._print(point)})"

    def _print_Indicator(self, node: Any) -> str:
        return f"1{{{self._print(node.args[0])} > {self._print(node.args[1])}}}"

    def _print_Equality(self, node: Any) -> str:
        return f"{self._print(node.lhs)} = {self._print(node.rhs)}"

    def _print_Sum(self, node: Any) -> str:
        index, lower, upper = node.limits[0]
        return f"sum({self._print(node.function)}, {index} = {lower} .. {upper})"


def in_text(expression: Any) -> str:
    """An expression as text.

    Examples
    --------
    >>> from mlptsym.symbolic.mean.response import level_terms
    >>> in_text(level_terms(1).piece_mean)
    'F(t[1])*t[1] + E[S] - M(1, t[1])'
    """
    return str(_Text({"order": None}).doprint(expression)).replace("**", "^")


def explanation(entry: Entry) -> str:
    """What the check does, in words."""
    check = entry.check.func if isinstance(entry.check, partial) else entry.check
    return inspect.getdoc(check) or ""


def shown(verdict: Verdict) -> Iterator[str]:
    """The lines of an entry that has been verified."""
    entry = verdict.entry
    yield f"{entry.name}  ({entry.source})"
    yield f"  {entry.statement}"
    yield f"  LaTeX: {entry.latex}"
    yield ""
    yield f"{verdict.result}, by {entry.method}: {verdict.outcome.evidence}"
    yield from (f"  {line}" for line in explanation(entry).splitlines())
    for number, step in enumerate(verdict.outcome.steps, start=1):
        yield ""
        yield f"{number}. {step.operation}"
        if step.result is not None:
            yield f"   {in_text(step.result)}"
            yield f"   LaTeX: {in_latex(step.result)}"
    yield ""
    yield "Wrong variants:"
    for refutation in verdict.refutations:
        word = "refuted" if refutation.refuted else "NOT REFUTED"
        yield f"  {refutation.description}: {word}. {refutation.evidence}"
