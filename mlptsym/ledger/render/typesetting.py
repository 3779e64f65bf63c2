"""Formulas as LaTeX, as people write them: 1 − ρ below the line rather than ρ − 1, and no sum that begins with a minus."""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.core.relational import Relational
from sympy.printing.latex import LatexPrinter


def in_latex(expression: Any) -> str:
    r"""An expression as LaTeX.

    Examples
    --------
    >>> load, wait = sp.symbols("rho d_1")
    >>> in_latex(-load * wait / (load - 1))
    '\\frac{d_{1} \\rho}{1 - \\rho}'
    """
    expression = readable(sp.sympify(expression, strict=True))
    words = {symbol: rf"\operatorname{{{symbol}}}" for symbol in expression.free_symbols if _is_word(symbol.name)}
    return str(_Latex({"symbol_names": words}).doprint(expression))


def readable(expression: Any) -> Any:
    """The same expression with the signs of denominators turned where their constant term is negative.

    Examples
    --------
    >>> load = sp.Symbol("rho")
    >>> readable((load - 2) / (load - 1) ** 3)
    (2 - rho)/(1 - rho)**3
    """
    if isinstance(expression, (Relational, sp.Tuple)):
        sides = [readable(side) for side in expression.args]
        evaluated = {"evaluate": False} if isinstance(expression, Relational) else {}
        return expression.func(*sides, **evaluated)
    return expression.replace(_is_turned, _turned).replace(_is_negative_product, _with_sign_inside)


def _is_turned(node: sp.Basic) -> bool:
    """Whether this is a sum with a negative constant term, in a denominator."""
    if not (node.is_Pow and node.exp.is_Integer and node.exp.is_negative and node.base.is_Add):
        return False
    constant, _ = node.base.as_coeff_Add()
    return bool(constant.is_negative)


def _turned(node: sp.Pow) -> sp.Expr:
    return (-1) ** node.exp * (-node.base) ** node.exp


def _is_negative_product(node: sp.Basic) -> bool:
    return bool(node.is_Mul and node.as_coeff_Mul()[0].is_negative and _mostly_negative(node))


def _with_sign_inside(node: sp.Mul) -> sp.Expr:
    bracket = _mostly_negative(node)[0]
    return -(node / bracket) * -bracket


def _mostly_negative(product: sp.Mul) -> list[sp.Expr]:
    """Factors that are sums at least half of whose terms have a minus."""
    sums = [factor for factor in product.args if factor.is_Add]
    return [total for total in sums if 2 * sum(map(_has_minus, total.args)) >= len(total.args)]


def _has_minus(term: sp.Expr) -> bool:
    return bool(term.as_coeff_Mul()[0].is_negative)


def _is_word(name: str) -> bool:
    """Whether LaTeX would set a name as a product of letters."""
    return len(name) > 1 and name.isalpha() and sp.latex(sp.Symbol(name)) == name


class _Latex(LatexPrinter):  # type: ignore[misc]  # SymPy is untyped
    """SymPy's LaTeX, in a sum the terms with a minus last."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return sorted(super()._as_ordered_terms(expr, order=order), key=_has_minus)
