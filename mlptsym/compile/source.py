"""Python source from a formula, for NumPy.

What the printers of SymPy leave open is settled here: unknown functions are refused, special functions do not
evaluate themselves, whole powers are products, and what depends on numbers alone is computed before it meets an
array.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from mlptsym.compile.functions import NUMPY
from mlptsym.symbolic.algebra.formula import Formula

__all__ = ["UnsupportedFunctionError", "numpy_source"]

OPERATORS = {
    sp.StrictLessThan: "<",
    sp.LessThan: "<=",
    sp.StrictGreaterThan: ">",
    sp.GreaterThan: ">=",
    sp.Equality: "==",
    sp.Unequality: "!=",
}
ATOM = re.compile(r"[\w.]+|\w+\([^()]*\)")  # a name, a number without a sign, or a call
HELPERS = {
    "square": "numpy:square",
    "sqrt": "numpy:sqrt",
    "power": "numpy:power",
    "inf": "numpy:inf",
    "nan": "numpy:nan",
    "logical_and": "numpy:logical_and",
    "logical_or": "numpy:logical_or",
    "whole_power": "mlptsym.compile.functions:whole_power",
    "choose": "mlptsym.compile.functions:choose",
}


class UnsupportedFunctionError(TypeError):
    """A formula contains a function, or a symbol, that the numeric code does not know."""


def numpy_source(formula: Formula) -> str:
    """Source of a module with one function ``evaluate``, of named inputs, which returns a tuple of the outputs.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> print(numpy_source(Formula({"x": x, "y": y}, {"value": sp.exp(x - y) * (x - y) ** 3})))
    from mlptsym.compile.functions import whole_power as _whole_power
    from numpy import exp as _exp
    <BLANKLINE>
    def evaluate(*, x, y):
        _0 = x - y
        return (_whole_power(_0, 3)*_exp(_0),)
    <BLANKLINE>
    """
    wrong = [name for name in formula.inputs if not name.isidentifier() or keyword.iskeyword(name) or name[0] == "_"]
    if wrong:
        raise ValueError(f"{', '.join(wrong)}: an input must have the name of a variable")
    stand_ins = {name: sp.Dummy(name, real=True) for name in formula.inputs}
    known = dict(zip(formula.inputs.values(), stand_ins.values(), strict=True))
    outputs = []
    for expression in formula.outputs.values():
        exact = sp.sympify(expression, strict=True).xreplace(known)
        _refuse_unknown(exact, set(stand_ins.values()))
        outputs.append(sp.piecewise_fold(_inert(exact)))
    printer = _Printer(
        {symbol: name for name, symbol in stand_ins.items()}, {stand_ins[name] for name in formula.numbers}
    )
    body, functions = _body(printer, tuple(formula.inputs), outputs)
    imports = []
    for name in sorted(printer.used, key=list({**HELPERS, **NUMPY}).index):
        module, _, attribute = {**HELPERS, **NUMPY}[name].partition(":")
        imports.append(f"from {module} import {attribute} as _{name}")
    head = [*imports, ""] if imports else []
    return "\n".join([*head, *functions, f"def evaluate(*, {', '.join(formula.inputs)}):", *body, ""])


def _body(printer: _Printer, names: tuple[str, ...], outputs: Sequence[sp.Expr]) -> tuple[list[str], list[str]]:
    """Lines of the function, and of those it calls: for each list of conditions, a test and the values of each case."""
    groups: dict[tuple[sp.Basic, ...], list[int]] = {}
    for position, expression in enumerate(outputs):
        cases = expression.args if isinstance(expression, sp.Piecewise) else ()
        groups.setdefault(tuple(condition for _, condition in cases), []).append(position)
    body: list[str] = []
    functions: list[str] = []
    results = [""] * len(outputs)
    plain = groups.pop((), [])
    shared, values = printer.lines([outputs[position] for position in plain])
    body += shared
    for position, value in zip(plain, values, strict=True):
        results[position] = value
    inputs = ", ".join(names)
    for number, (conditions, positions) in enumerate(groups.items()):
        pairs = []
        for case, condition in enumerate(conditions):
            test = "None" if condition == sp.true else f"_test_{number}_{case}"
            branch = f"_case_{number}_{case}"
            if condition != sp.true:
                functions += [f"def {test}({inputs}):", f"    return {printer.text(condition)}", ""]
            lines, values = printer.lines([outputs[position].args[case][0] for position in positions])
            functions += [f"def {branch}({inputs}):", *lines, f"    return ({', '.join(values)},)", ""]
            pairs.append(f"({test}, {branch})")
        chosen = [f"_chosen_{position}" for position in positions]
        printer.used.add("choose")
        body.append(f"    {', '.join(chosen)}, = _choose(({inputs},), ({', '.join(pairs)},))")
        for position, name in zip(positions, chosen, strict=True):
            results[position] = name
    return [*body, f"    return ({', '.join(results)},)"], functions


def _refuse_unknown(expression: sp.Expr, known: set[sp.Dummy]) -> None:
    strange = sorted(
        str(node)
        for node in expression.atoms(sp.Function, sp.Derivative, sp.Subs, sp.Integral, sp.Sum)
        if type(node).__name__ not in NUMPY and not isinstance(node, sp.Piecewise)
    )
    loose = sorted(str(symbol) for symbol in expression.free_symbols - known)
    if strange or loose:
        raise UnsupportedFunctionError(f"no numeric code for {', '.join(strange + loose)} in {expression}")


def _inert(expression: sp.Expr) -> sp.Expr:
    """The expression with functions that no longer evaluate themselves.

    New names for the inputs, and sharing of subexpressions, may turn z into −(−z), and SymPy writes erfc(−z) as
    2 − erfc(z), which has no digits left in the tail.
    """
    for kind in {type(node) for node in expression.atoms(sp.Function)} - {sp.exp, sp.log, sp.Min, sp.Max, sp.Piecewise}:
        expression = expression.replace(kind, sp.Function(kind.__name__))
    return expression


@dataclass
class _Printer:
    """Expressions as text.

    Attributes
    ----------
    names : dict of Symbol to str
        What the inputs are called.
    numbers : set of Symbol
        Those that are one number.
    used : set of str
        Functions met so far.
    """

    names: dict[sp.Symbol, str]
    numbers: set[sp.Symbol]

    def __post_init__(self) -> None:
        self.used: set[str] = set()

    def lines(self, expressions: Sequence[sp.Expr]) -> tuple[list[str], list[str]]:
        """Assignments of what the expressions share, and the text of each."""
        if not expressions:
            return [], []
        shared, results = sp.cse(expressions, symbols=sp.numbered_symbols("_", cls=sp.Dummy), order="none")
        lines = []
        for number, (symbol, step) in enumerate(shared):
            lines.append(f"    _{number} = {self.text(step)}")
            self.names[symbol] = f"_{number}"
            if step.free_symbols <= self.numbers:
                self.numbers.add(symbol)
        return lines, [self.text(result) for result in results]

    def text(self, expression: sp.Basic) -> str:
        """An expression, without parentheses around it."""
        if expression in self.names:
            return self.names[expression]
        if expression.is_number:
            return self._number(expression)
        if isinstance(expression, sp.Add):
            return self._sum(expression)
        if isinstance(expression, sp.Mul):
            return self._product(expression)
        if isinstance(expression, sp.Pow):
            return self._power(expression)
        if isinstance(expression, (sp.And, sp.Or)):
            return self._nested("logical_and" if isinstance(expression, sp.And) else "logical_or", expression.args)
        if type(expression) in OPERATORS:
            left, right = (self._part(side) for side in expression.args)
            return f"{left} {OPERATORS[type(expression)]} {right}"
        name = type(expression).__name__
        if name in ("Min", "Max"):
            return self._nested(name, expression.args)
        return self._call(name, *map(self.text, expression.args))

    def _part(self, expression: sp.Basic) -> str:
        """An expression as an operand."""
        text = self.text(expression)
        return text if ATOM.fullmatch(text) else f"({text})"

    def _call(self, name: str, *arguments: str) -> str:
        self.used.add(name)
        return f"_{name}({', '.join(arguments)})"

    def _nested(self, name: str, arguments: Sequence[sp.Basic]) -> str:
        """A function of two, of more than two; numbers first."""
        ordered = sorted(arguments, key=lambda part: (not self._is_number(part), sp.default_sort_key(part)))
        text = self.text(ordered[0])
        for argument in ordered[1:]:
            text = self._call(name, self.text(argument), text)
        return text

    def _number(self, number: sp.Expr) -> str:
        if number in (sp.oo, sp.nan):
            name = "inf" if number is sp.oo else "nan"
            self.used.add(name)
            return f"_{name}"
        return repr(float(number))

    def _is_number(self, expression: sp.Basic) -> bool:
        return bool(expression.free_symbols <= self.numbers)

    def _sum(self, expression: sp.Expr) -> str:
        """Arrays first, then all numbers as one."""
        fixed = [term for term in expression.args if self._is_number(term)]
        varying = [term for term in expression.args if not self._is_number(term)]
        if fixed and varying:
            minus, number = _sign(sp.Add(*fixed))
            if not minus and all(_sign(term)[0] for term in varying):
                return f"{self._part(number)} - {self._terms([-term for term in varying], '-')}"
            return f"{self._terms(varying)} {'-' if minus else '+'} {self._part(number)}"
        return self._terms(expression.args)

    def _terms(self, terms: Sequence[sp.Expr], plus: str = "+") -> str:
        """Terms, those with a minus sign last."""
        signed = sorted(map(_sign, terms), key=lambda pair: (pair[0], sp.default_sort_key(pair[1])))
        (minus, first), *others = signed
        text = f"-{self._part(first)}" if minus else self._part(first)
        return text + "".join(f" {'-' if minus else plus} {self._part(term)}" for minus, term in others)

    def _product(self, expression: sp.Expr) -> str:
        above: dict[bool, list[str]] = {True: [], False: []}
        below: dict[bool, list[str]] = {True: [], False: []}
        coefficient, factors = expression.as_coeff_mul()
        minus = bool(coefficient < 0)
        if abs(coefficient) != 1:
            above[True].append(self._number(abs(coefficient)))
        for factor in factors:
            fixed = self._is_number(factor)
            base, exponent = factor.as_base_exp() if isinstance(factor, sp.Pow) else (factor, sp.S.One)
            if exponent.is_number and exponent.is_negative:
                below[fixed].append(self._part(base**-exponent))
            else:
                above[fixed].append(self._part(factor))
        number = _quotient(above[True], below[True])
        if number and (above[False] or below[False]):
            number = number if len(above[True]) == 1 and not below[True] else f"({number})"
            number = f"-{number}" if minus else number
            return _quotient([number, *above[False]], below[False])
        text = _quotient(above[True] + above[False], below[True] + below[False])
        return f"-{text}" if minus and text.isidentifier() else f"-({text})" if minus else text

    def _power(self, expression: sp.Expr) -> str:
        base, exponent = expression.as_base_exp()
        if exponent.is_Rational and exponent.is_negative:
            return f"1.0/{self._part(base**-exponent)}"
        if exponent == sp.S.Half:
            return self._call("sqrt", self.text(base))
        if exponent == 2:
            return self._call("square", self.text(base))
        if exponent.is_Integer:
            return self._call("whole_power", self.text(base), str(int(exponent)))
        return self._call("power", self.text(base), self.text(exponent))


def _sign(term: sp.Expr) -> tuple[bool, Any]:
    """Whether a term has a minus sign, and the term without it."""
    coefficient, _ = term.as_coeff_Mul()
    minus = bool(coefficient.is_negative)
    return minus, -term if minus else term


def _quotient(above: Sequence[str], below: Sequence[str]) -> str:
    if not below:
        return "*".join(above)
    divisor = below[0] if len(below) == 1 else f"({'*'.join(below)})"
    return f"{'*'.join(above) or '1.0'}/{divisor}"
