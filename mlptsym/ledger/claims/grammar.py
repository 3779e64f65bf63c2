"""The grammar of a claim ``EXPR == EXPR``: characters to tokens, tokens to a tree, with a position for every refusal.

::

    claim   = sum "==" sum
    sum     = product { ("+" | "-") product }
    product = factor { ("*" | "/") factor }
    factor  = ("+" | "-") factor | power
    power   = atom [ ("^" | "**") [ "-" ] whole-number ]
    atom    = number | name [ "(" sum { "," sum } ")" | "[" sum "]" ] | "(" sum ")"

Nothing else is understood, and nothing is evaluated here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from mlptsym.validation import instance

__all__ = ["Call", "ClaimError", "Literal", "Name", "Node", "Power", "Product", "Sum", "parse"]

LONGEST = 2000
MOST_DIGITS = 40
LARGEST_EXPONENT = 30
LARGEST_DEGREE = 64
DEEPEST = 40

LETTER = "A-Za-zαβγδεζηθικλμνξπρστυφχψωℓΓΔΘΛΣΦΨΩ"
TOKEN = re.compile(
    rf"""
    (?P<number> (?: [0-9]+ (?: \. [0-9]* )? | \. [0-9]+ ) (?: [eE] [+-]? [0-9]+ )? )
    | (?P<name> [{LETTER}] [{LETTER}0-9_]* '? )
    | (?P<symbol> == | \*\* | [-+*/^(),\[\]] )
    | (?P<space> [ \t\r\n]+ )
    """,
    re.VERBOSE,
)


class ClaimError(ValueError):
    """A claim that is outside the grammar or the vocabulary.

    Attributes
    ----------
    text : str
        The claim.
    position : int
        Where, counted from 0.
    reason : str
        What is wrong there.
    """

    def __init__(self, text: str, position: int, reason: str) -> None:
        self.text, self.position, self.reason = text, position, reason
        super().__init__(f"position {position + 1}: {reason}")


@dataclass(frozen=True)
class Literal:
    """An exact number."""

    position: int
    value: Fraction


@dataclass(frozen=True)
class Name:
    """A name alone."""

    position: int
    name: str


@dataclass(frozen=True)
class Call:
    """A name with arguments in round or square brackets."""

    position: int
    name: str
    arguments: tuple[Node, ...]
    bracket: str


@dataclass(frozen=True)
class Sum:
    """Terms, each with its sign ``+`` or ``-``."""

    position: int
    terms: tuple[tuple[str, Node], ...]


@dataclass(frozen=True)
class Product:
    """Factors, each with its sign ``*`` or ``/`` and the position of that sign."""

    position: int
    factors: tuple[tuple[str, int, Node], ...]


@dataclass(frozen=True)
class Power:
    """An expression to a whole power."""

    position: int
    base: Node
    exponent: int


Node = Literal | Name | Call | Sum | Product | Power


@dataclass(frozen=True)
class Token:
    """A piece of the text: ``number``, ``name``, ``symbol`` or ``end``."""

    kind: str
    text: str
    position: int


def tokens(text: str) -> Iterator[Token]:
    """The pieces of a claim, an ``end`` behind them."""
    if len(text) > LONGEST:
        raise ClaimError(text, LONGEST, f"a claim has at most {LONGEST} characters")
    position = 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise ClaimError(text, position, f"{text[position]!r} has no meaning here")
        if match.lastgroup != "space":
            yield Token(str(match.lastgroup), match.group(), position)
        position = match.end()
    yield Token("end", "", len(text))


def parse(text: str) -> tuple[Node, Node]:
    """Both sides of a claim.

    Raises
    ------
    ClaimError
        With the position of the first thing that is not in the grammar, or beyond a limit: 2000 characters, 40
        brackets inside each other, 40 digits, exponents of 30, powers of powers of 64.

    Examples
    --------
    >>> left, right = parse("rho == lambda*E[S]")
    >>> left
    Name(position=0, name='rho')
    >>> parse("2 + import os")
    Traceback (most recent call last):
    mlptsym.ledger.claims.grammar.ClaimError: position 12: expected ==
    """
    parser = _Parser(instance("claim", text, str, "a text such as 'rho == lambda*E[S]'"))
    left = parser.sum(1)
    parser.expect("==")
    right = parser.sum(1)
    if parser.next.kind != "end":
        parser.refuse("expected the end of the claim")
    return left, right


class _Parser:
    """Recursive descent, one method for each rule; ``depth`` counts open brackets and signs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(tokens(text))
        self.index = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.index]

    def refuse(self, reason: str, position: int | None = None) -> NoReturn:
        raise ClaimError(self.text, self.next.position if position is None else position, reason)

    def take(self, *signs: str) -> Token | None:
        token = self.next
        if token.kind != "symbol" or token.text not in signs:
            return None
        self.index += 1
        return token

    def expect(self, sign: str) -> None:
        if self.take(sign) is None:
            self.refuse(f"expected {sign}")

    def sum(self, depth: int) -> Node:
        if depth > DEEPEST:
            self.refuse(f"more than {DEEPEST} brackets or signs inside each other")
        position = self.next.position
        terms = [("+", self.product(depth))]
        while sign := self.take("+", "-"):
            terms.append((sign.text, self.product(depth)))
        return terms[0][1] if len(terms) == 1 else Sum(position, tuple(terms))

    def product(self, depth: int) -> Node:
        position = self.next.position
        factors = [("*", position, self.factor(depth))]
        while sign := self.take("*", "/"):
            factors.append((sign.text, sign.position, self.factor(depth)))
        return factors[0][2] if len(factors) == 1 else Product(position, tuple(factors))

    def factor(self, depth: int) -> Node:
        if depth > DEEPEST:
            self.refuse(f"more than {DEEPEST} brackets or signs inside each other")
        if sign := self.take("+", "-"):
            return Sum(sign.position, ((sign.text, self.factor(depth + 1)),))
        return self.power(depth)

    def power(self, depth: int) -> Node:
        base = self.atom(depth)
        sign = self.take("^", "**")
        if sign is None:
            return base
        negative = self.take("-") is not None
        token = self.next
        if token.kind != "number" or not token.text.isdecimal():
            self.refuse("expected a whole number as exponent")
        self.index += 1
        if len(token.text) > 2 or int(token.text) > LARGEST_EXPONENT:
            self.refuse(f"an exponent is at most {LARGEST_EXPONENT}", token.position)
        if self.next.kind == "symbol" and self.next.text in {"^", "**"}:
            self.refuse("a power of a power needs brackets")
        exponent = int(token.text)
        if _degree(base) * max(exponent, 1) > LARGEST_DEGREE:
            self.refuse(f"powers inside each other exceed {LARGEST_DEGREE}", token.position)
        return Power(sign.position, base, -exponent if negative else exponent)

    def atom(self, depth: int) -> Node:
        token = self.next
        if token.kind == "number":
            self.index += 1
            return Literal(token.position, self._exact(token))
        if token.kind == "name":
            self.index += 1
            return self._named(token, depth)
        if self.take("("):
            node = self.sum(depth + 1)
            self.expect(")")
            return node
        self.refuse("expected a number, a name or a bracket")

    def _named(self, token: Token, depth: int) -> Node:
        if self.take("["):
            argument = self.sum(depth + 1)
            self.expect("]")
            return Call(token.position, token.text, (argument,), "[]")
        if self.take("("):
            arguments = [self.sum(depth + 1)]
            while self.take(","):
                arguments.append(self.sum(depth + 1))
            self.expect(")")
            return Call(token.position, token.text, tuple(arguments), "()")
        return Name(token.position, token.text)

    def _exact(self, token: Token) -> Fraction:
        mantissa, _, exponent = token.text.lower().partition("e")
        if len(mantissa) > MOST_DIGITS or len(exponent) > 3 or abs(int(exponent or "0")) > MOST_DIGITS:
            self.refuse(f"a number has at most {MOST_DIGITS} digits", token.position)
        return Fraction(mantissa) * Fraction(10) ** int(exponent or "0")


def _degree(node: Node) -> int:
    """Product of the exponents inside each other, at most."""
    match node:
        case Power(base=base, exponent=exponent):
            return _degree(base) * max(abs(exponent), 1)
        case Sum(terms=terms):
            return max(_degree(term) for _, term in terms)
        case Product(factors=factors):
            return max(_degree(factor) for *_, factor in factors)
        case Call(arguments=arguments):
            return max(_degree(argument) for argument in arguments)
        case _:
            return 1
