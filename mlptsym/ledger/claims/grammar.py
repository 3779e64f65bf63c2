"""The grammar of a claim ``EXPR == EXPR``: text to a tree, with a position for every refusal.  Nothing is evaluated here."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any, cast

from lark import Lark, UnexpectedCharacters, UnexpectedToken, v_args
from lark.exceptions import VisitError
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from mlptsym.ledger.claims.tree import LIMITS, Call, ClaimError, Literal, Name, Node, Power, Product, Sum, degree
from mlptsym.validation import instance

GRAMMAR = r"""
claim: _sum EQUALS _sum
_sum: sum | _product
sum: _product (("+" | "-") _product)+
_product: product | _factor
product: _factor (("*" | "/") _factor)+
_factor: signed | power | _atom
signed: ("+" | "-") _factor
power: _atom POWER ["-"] WHOLE
_atom: number | name | call | bracket
bracket: "(" _sum ")"
number: NUMBER
name: NAME
call: NAME "(" _sum ("," _sum)* ")" | NAME "[" _sum "]"

EQUALS: "=="
POWER: "^" | "**"
NUMBER: /([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?/
WHOLE: /[0-9]+(?![0-9.eE])/
NAME: /[A-Za-zα-ωℓΓΔΘΛΣΦΨΩ][A-Za-zα-ωℓΓΔΘΛΣΦΨΩ0-9_]*'?/
%ignore /[ \t\r\n]+/
"""
WORDS = {
    "$END": "the end of the claim",
    "NUMBER": "a number",
    "WHOLE": "a whole number",
    "NAME": "a name",
    "EQUALS": "==",
    "POWER": "^",
}


def parse(text: str) -> tuple[Node, Node]:
    """Both sides of a claim.

    Raises
    ------
    ClaimError
        With the position of the first thing that is not in the grammar, and what is allowed there; or beyond one of the
        `LIMITS`.

    Examples
    --------
    >>> left, right = parse("rho == lambda*E[S]")
    >>> left
    Name(position=0, name='rho')
    >>> parse("2 + import os")
    Traceback (most recent call last):
    mlptsym.ledger.claims.tree.ClaimError: position 12: expected ==, ^, (, *, +, -, / or [
    """
    instance("claim", text, str, "a text such as 'rho == lambda*E[S]'")
    if len(text) > LIMITS.characters:
        raise ClaimError(text, LIMITS.characters, f"a claim has at most {LIMITS.characters} characters")
    _refuse_depth(text)
    try:
        left, right = _Builder(text).transform(_parser().parse(text))
    except VisitError as error:
        raise error.orig_exc from None
    except UnexpectedCharacters as error:
        place = cast(int, error.pos_in_stream)
        raise ClaimError(text, place, f"{text[place]!r} has no meaning here") from None
    except UnexpectedToken as error:
        raise _refusal(text, error) from None
    return left, right


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, start="claim", parser="lalr", keep_all_tokens=True, propagate_positions=True)


def _refuse_depth(text: str) -> None:
    """Refuse brackets and signs too deep inside each other, before the functions that walk down the tree would be."""
    around: list[int] = []  # for each open bracket, the signs in front of it
    signs, previous = 0, "("
    for position, character in enumerate(text):
        if character in "([":
            around.append(signs)
            signs = 0
        elif character in ")]":
            signs = around.pop() if around else 0
        elif character in "+-" and previous in "([,=*/^+-":
            signs += 1
        elif character in "+-*/,=":
            signs = 0
        if len(around) + sum(around) + signs > LIMITS.depth:
            raise ClaimError(text, position, f"more than {LIMITS.depth} brackets or signs inside each other")
        if not character.isspace():
            previous = character


def _refusal(text: str, error: UnexpectedToken) -> ClaimError:
    """What cannot stand at a place, and what can."""
    at_end = error.token.type == "$END"
    position = len(text) if at_end else int(error.token.start_pos or 0)
    if error.token.type == "POWER" and "POWER" not in error.accepts and "EQUALS" in error.accepts:
        return ClaimError(text, position, "a power of a power needs brackets")
    signs = {terminal.name: terminal.pattern.value.replace("\\", "") for terminal in _parser().terminals}
    allowed = [word for name, word in WORDS.items() if name in error.accepts]
    allowed += sorted(signs[name] for name in error.accepts if name not in WORDS)
    *most, last = allowed
    return ClaimError(text, position, f"expected {', '.join(most)} or {last}" if most else f"expected {last}")


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Any, tuple[Node, Node]]):
    """From what the parser found to the nodes of the tree, one method for each rule."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def claim(self, _: Meta, children: list[Any]) -> tuple[Node, Node]:
        left, _, right = children
        return left, right

    def sum(self, meta: Meta, children: list[Any]) -> Node:
        signs = ["+", *map(str, children[1::2])]
        return Sum(meta.start_pos, tuple(zip(signs, children[::2], strict=True)))

    def signed(self, meta: Meta, children: list[Any]) -> Node:
        sign, factor = children
        return Sum(meta.start_pos, ((str(sign), factor),))

    def product(self, meta: Meta, children: list[Any]) -> Node:
        signs = [("*", meta.start_pos), *((str(sign), sign.start_pos) for sign in children[1::2])]
        return Product(
            meta.start_pos, tuple((*sign, factor) for sign, factor in zip(signs, children[::2], strict=True))
        )

    def power(self, _: Meta, children: list[Any]) -> Node:
        base, sign, minus, digits = children
        if len(digits) > 2 or int(digits) > LIMITS.exponent:
            raise ClaimError(self.text, digits.start_pos, f"an exponent is at most {LIMITS.exponent}")
        node = Power(sign.start_pos, base, int(f"{minus or ''}{digits}"))
        if degree(node) > LIMITS.degree:
            raise ClaimError(self.text, digits.start_pos, f"powers inside each other exceed {LIMITS.degree}")
        return node

    def bracket(self, _: Meta, children: list[Any]) -> Node:
        node: Node = children[1]
        return node

    def number(self, meta: Meta, children: list[Any]) -> Node:
        mantissa, _, exponent = children[0].lower().partition("e")
        if len(mantissa) > LIMITS.digits or len(exponent) > 3 or abs(int(exponent or "0")) > LIMITS.digits:
            raise ClaimError(self.text, meta.start_pos, f"a number has at most {LIMITS.digits} digits")
        return Literal(meta.start_pos, Fraction(mantissa) * Fraction(10) ** int(exponent or "0"))

    def name(self, meta: Meta, children: list[Any]) -> Node:
        return Name(meta.start_pos, str(children[0]))

    def call(self, meta: Meta, children: list[Any]) -> Node:
        name, opening, *rest = children
        return Call(meta.start_pos, str(name), tuple(rest[::2]), f"{opening}{rest[-1]}")
