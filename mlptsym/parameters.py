"""Parameters of a law as fields of a dataclass: from their types come checks, symbols and the command line's syntax."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, get_type_hints

from mlptsym import validation
from mlptsym.validation import LARGEST, SMALLEST, ParameterError, refuse

if TYPE_CHECKING:
    import sympy as sp

__all__ = ["Magnitude", "Parametric", "Range", "Weight", "read_law", "read_number", "read_numbers"]


@dataclass(frozen=True)
class Range:
    """What a parameter may be: a number, a whole number, or a sequence of numbers, each within bounds.

    Attributes
    ----------
    above, at_least, at_most : float, optional
        Open and closed bounds.
    whole : bool
        Whether only whole numbers are allowed.
    longest : int, optional
        For a sequence: how many numbers it has at most.
    """

    above: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    whole: bool = False
    longest: int | None = None

    def checked(self, name: str, value: object) -> Any:
        """The value as a float, an int or a tuple of floats; `ParameterError` if it is not allowed."""
        above, at_least, at_most = self.above, self.at_least, self.at_most
        if self.longest is not None:
            return validation.numbers(
                name, value, above=above, at_least=at_least, at_most=at_most, maximum_length=self.longest
            )
        if self.whole:
            most = None if at_most is None else int(at_most)
            return validation.integer(name, value, at_least=int(at_least or 0), at_most=most)
        return validation.number(name, value, above=above, at_least=at_least, at_most=at_most)

    def symbols(self, name: str, count: int) -> tuple[sp.Symbol, ...]:
        """One symbol of that name with the assumptions of the range; for a sequence, ``count`` of them."""
        import sympy as sp

        is_positive = self.above == 0 or (self.at_least is not None and self.at_least > 0)
        sign = "positive" if is_positive else "nonnegative" if self.at_least == 0 else "real"
        names = [name]
        if self.longest is not None:  # of rates, the first is rate_0
            one = name[:-3] + "y" if name.endswith("ies") else name.removesuffix("s")
            names = [f"{one}_{number}" for number in range(count)]
        return tuple(sp.Symbol(each, **{sign: True}, **({"integer": True} if self.whole else {})) for each in names)


Magnitude = Annotated[float, Range(at_least=SMALLEST, at_most=LARGEST)]
"""A size, scale or rate in any sensible unit."""


Weight = Annotated[float, Range(at_least=0, at_most=LARGEST)]
"""As a magnitude, or zero."""


class Parametric:
    """A frozen dataclass whose fields are annotated with their `Range`."""

    written: ClassVar[str | None] = None
    """How the parameters are written on the command line, where it does not follow from their names."""

    def __post_init__(self) -> None:
        for name, allowed in self.ranges().items():
            object.__setattr__(self, name, allowed.checked(name, getattr(self, name)))

    @classmethod
    def ranges(cls) -> Mapping[str, Range]:
        """Range of each field that has one."""
        law: Any = cls
        return _ranges(law)

    @classmethod
    def keyword(cls) -> str:
        """The law's name on the command line."""
        return cls.__name__.lower()

    @classmethod
    def syntax(cls) -> str:
        """What the command line takes, such as ``lognormal:MU,SIGMA``; what may be left out stands in brackets."""
        if cls.written is not None:
            return f"{cls.keyword()}:{cls.written}"
        text = cls.keyword()
        for position, item in enumerate(fields(cls)):  # type: ignore[arg-type]
            more = ("," if position else ":") + item.name.upper()
            text += more if item.default is MISSING else f"[{more}]"
        return text

    @classmethod
    def from_text(cls, option: str, text: str) -> Self:
        """The law that an option's text such as ``lognormal:5,0.9`` describes, which names this class.

        Sequences of numbers are separated by slashes.
        """
        _, colon, rest = text.partition(":")
        parts: Sequence[Any] = read_numbers(rest) if colon else []
        if any(allowed.longest is not None for allowed in cls.ranges().values()):
            parts = [read_numbers(group) for group in rest.split("/")]
        items = fields(cls)  # type: ignore[arg-type]
        if not sum(item.default is MISSING for item in items) <= len(parts) <= len(items):
            refuse(option, text, cls.syntax())
        try:
            return cls(*parts)
        except ParameterError as error:
            raise ParameterError(option, text, f"{cls.syntax()} with {error.name} {error.allowed}") from error

    @classmethod
    def symbols(cls, count: int = 1) -> tuple[sp.Symbol, ...]:
        """A symbol for each parameter, in order, with the assumptions of its range; ``count`` for each sequence."""
        return tuple(symbol for name, allowed in cls.ranges().items() for symbol in allowed.symbols(name, count))


@cache
def _ranges(law: type[Parametric]) -> Mapping[str, Range]:
    hints = get_type_hints(law, include_extras=True)
    found = {item.name: getattr(hints[item.name], "__metadata__", ()) for item in fields(law)}  # type: ignore[arg-type]
    return {name: metadata[0] for name, metadata in found.items() if metadata}


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


def read_numbers(text: str) -> list[Any]:
    """Numbers separated by commas; what is none stays text."""
    return [read_number(part) for part in text.split(",")]


def read_law(option: str, text: str, laws: Iterable[type[Parametric]]) -> Any:
    """The law that a text such as ``lognormal:5,0.9`` names."""
    name = text.partition(":")[0].strip().lower()
    for law in laws:
        if law.keyword() == name:
            return law.from_text(option, text)
    return refuse(option, text, "one of " + " | ".join(law.syntax() for law in laws))
