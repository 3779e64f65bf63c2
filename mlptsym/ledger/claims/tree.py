"""The tree of a claim: what its text says, before any name has a meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Limits:
    """How large a claim may be, so that reading it and deciding it take bounded time."""

    characters: int = 2000  # Length of the text
    digits: int = 40  # Digits of a number before its exponent, and the largest power of ten in that
    exponent: int = 30  # The largest exponent, positive or negative
    degree: int = 64  # The largest product of exponents inside each other
    depth: int = 40  # Brackets and signs inside each other
    levels: int = 4  # The largest k: the formulas of five levels take minutes
    terms: int = 300  # Terms of all expectations, multiplied out: each is integrated between its breakpoints
    product: int = 3 * 10**5  # Terms of a product of polynomials: some seconds


LIMITS = Limits()


class ClaimError(ValueError):
    """A claim that is outside the grammar or the vocabulary: its text, the position, from 0, and the reason."""

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


def parts(node: Node) -> tuple[Node, ...]:
    """The nodes right below a node."""
    match node:
        case Call(arguments=arguments):
            return arguments
        case Sum(terms=terms):
            return tuple(term for _, term in terms)
        case Product(factors=factors):
            return tuple(factor for *_, factor in factors)
        case Power(base=base):
            return (base,)
        case _:
            return ()


def names(node: Node) -> Iterator[str]:
    """Every name in a tree."""
    if isinstance(node, (Name, Call)):
        yield node.name
    for part in parts(node):
        yield from names(part)


def degree(node: Node) -> int:
    """The largest product of exponents inside each other."""
    own = max(abs(node.exponent), 1) if isinstance(node, Power) else 1
    return own * max(map(degree, parts(node)), default=1)
