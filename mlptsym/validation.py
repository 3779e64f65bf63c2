"""The one place where a value given by a user is accepted or refused.

Python calls, command-line options, scenario files and notebook parameters all pass through these functions, so that
the same mistake gets the same sentence everywhere.  Only the standard library is imported.

Pydantic would refuse fractions and NumPy's numbers where it is strict, and take the text "1" and True for numbers where
it is not; its import takes as long as a single answer, and its messages would have to be worded here all the same.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, NoReturn, TypeVar

__all__ = [
    "LARGEST",
    "LONGEST",
    "SMALLEST",
    "ParameterError",
    "choice",
    "flag",
    "instance",
    "integer",
    "level_counts",
    "levels",
    "magnitude",
    "mapping",
    "number",
    "numbers",
    "path",
    "points",
    "readable",
    "refuse",
    "sequence",
]

Kind = TypeVar("Kind")

# Third powers of sizes, and products of a few of them, are to stay within the range of a double.
SMALLEST, LARGEST = 1e-30, 1e30

# Numbers in one sequence that is no array yet: more of them, or an endless iterator, would fill the memory.
LONGEST = 10**7

# Curves of one figure, and points of one curve.
MOST_CURVES, MOST_POINTS = 1000, 10**5

LONGEST_NAME, LONGEST_PATH = 255, 4095  # bytes


class ParameterError(ValueError):
    """A value outside its allowed range.

    Parameters
    ----------
    name : str
        The parameter as the user knows it.
    value : object
        What was given.
    allowed : str
        What would have been accepted, in words.

    Examples
    --------
    >>> raise ParameterError("arrival_rate", -1.0, "a finite number > 0")
    Traceback (most recent call last):
    mlptsym.validation.ParameterError: arrival_rate = -1.0 is not allowed: it must be a finite number > 0
    """

    def __init__(self, name: str, value: object, allowed: str) -> None:
        self.name = name
        self.value = value
        self.allowed = allowed
        super().__init__(f"{name} = {shown(value)} is not allowed: it must be {allowed}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.value, self.allowed)


def shown(value: object, width: int = 60) -> str:
    """``repr`` of a value on one line of bounded length."""
    try:
        text = repr(value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value)
    except Exception:  # a repr or item() that fails must not hide the message it belongs to
        text = f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def readable(path: str) -> str:
    r"""A path as people read it: in UTF-8 whatever the locale, bytes that are none as escapes.

    Examples
    --------
    >>> readable("gr\udcc3\udcb6\udcc3\udc9fe.csv"), readable("gr\udcf6\udcdfe.csv")
    ('größe.csv', 'gr\\xf6\\xdfe.csv')
    """
    return re.sub(
        "[\udc80-\udcff]+",
        lambda found: found.group().encode(errors="surrogateescape").decode(errors="backslashreplace"),
        path,
    )


def refuse(name: str, value: object, allowed: str) -> NoReturn:
    """Raise `ParameterError`."""
    raise ParameterError(name, value, allowed)


def number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    infinite: bool = False,
) -> float:
    """A real number in a range, as a float: of Python, NumPy or `fractions`.  Text, booleans and NaN are refused.

    ``above`` and ``below`` are open bounds, ``at_least`` and ``at_most`` closed ones.  Every error is a
    `ParameterError` with the name, the value and what is allowed, here and in all functions of this module.

    Examples
    --------
    >>> number("slowdown_factor", 1, above=0, at_most=1)
    1.0
    """
    allowed = _range_in_words(above, at_least, below, at_most, infinite)
    if isinstance(value, bool) or _is_numpy_truth(value):
        refuse(name, value, allowed)
    if not isinstance(value, Real):
        item = getattr(value, "item", None)
        if item is None or getattr(value, "shape", None) != ():
            refuse(name, value, allowed)
        value = item()
        if not isinstance(value, Real) or isinstance(value, bool):
            refuse(name, value, allowed)
    try:
        real = float(value)
    except (TypeError, ValueError, ArithmeticError):  # NumPy's time differences say that they are numbers
        refuse(name, value, allowed)
    if math.isnan(real) or (math.isinf(real) and not infinite):
        refuse(name, value, allowed)
    if (
        (above is not None and not real > above)
        or (at_least is not None and not real >= at_least)
        or (below is not None and not real < below)
        or (at_most is not None and not real <= at_most)
    ):
        refuse(name, value, allowed)
    return real


def _is_numpy_truth(value: object) -> bool:
    return type(value).__module__ == "numpy" and type(value).__name__ in {"bool", "bool_"}


def magnitude(name: str, value: object) -> float:
    """A size, scale or rate in any sensible unit: a number from 1e-30 to 1e30.

    Examples
    --------
    >>> magnitude("rate", 0.0)
    Traceback (most recent call last):
    mlptsym.validation.ParameterError: rate = 0.0 is not allowed: it must be a finite number >= 1e-30 and <= 1e+30
    """
    return number(name, value, at_least=SMALLEST, at_most=LARGEST)


def _range_in_words(
    above: float | None, at_least: float | None, below: float | None, at_most: float | None, infinite: bool
) -> str:
    parts = [
        f"{sign} {bound:g}"
        for sign, bound in ((">", above), (">=", at_least), ("<", below), ("<=", at_most))
        if bound is not None
    ]
    kind = "a number" if infinite else "a finite number"
    return f"{kind} {' and '.join(parts)}" if parts else kind


def integer(name: str, value: object, *, at_least: int, at_most: int | None = None) -> int:
    """A whole number in a range, as an int; ``3.0`` counts as whole.

    Examples
    --------
    >>> integer("seeds", 8, at_least=1)
    8
    """
    allowed = f"a whole number >= {at_least}" + (f" and <= {at_most}" if at_most is not None else "")
    try:
        real = number(name, value)
    except ParameterError:
        refuse(name, value, allowed)
    whole = int(value) if isinstance(value, int) else int(real)
    if whole != real and not isinstance(value, int):
        refuse(name, value, allowed)
    if whole < at_least or (at_most is not None and whole > at_most):
        refuse(name, value, allowed)
    return whole


def levels(name: str, value: object, *, at_least: int = 1) -> float:
    """A number of priority levels: a whole number, or ``math.inf``.

    Examples
    --------
    >>> levels("levels", math.inf), levels("levels", 2)
    (inf, 2)
    """
    allowed = f"a whole number >= {at_least} or inf"
    try:
        if math.isinf(number(name, value, at_least=at_least, infinite=True)):
            return math.inf
        return integer(name, value, at_least=at_least)
    except ParameterError:
        refuse(name, value, allowed)


def numbers(
    name: str,
    values: object,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    infinite: bool = False,
    minimum_length: int = 1,
    maximum_length: int = LONGEST,
) -> tuple[float, ...]:
    """A non-empty sequence of real numbers in a range, as a tuple of floats.

    Examples
    --------
    >>> numbers("quanta", [300, 500], above=0)
    (300.0, 500.0)
    """
    bounds = _range_in_words(above, at_least, None, at_most, infinite)
    allowed = f"a sequence of at least {minimum_length} numbers, each {bounds}"
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) or getattr(values, "shape", None) == ():
        refuse(name, values, allowed)
    try:
        items: Sequence[object] = list(islice(values, maximum_length + 1))
    except (TypeError, ValueError, ArithmeticError):  # an iterator that fails
        refuse(name, values, allowed)
    if len(items) < minimum_length:
        refuse(name, values, allowed)
    if len(items) > maximum_length:
        refuse(name, values, f"{allowed}, and at most {maximum_length} of them")
    return tuple(
        number(f"{name}[{position}]", item, above=above, at_least=at_least, at_most=at_most, infinite=infinite)
        for position, item in enumerate(items)
    )


def level_counts(name: str, values: object, *, at_least: int = 1) -> tuple[float, ...]:
    """Several numbers of priority levels, as one figure shows them."""
    found = numbers(name, values, at_least=at_least, infinite=True, maximum_length=MOST_CURVES)
    return tuple(levels(f"{name}[{place}]", value, at_least=at_least) for place, value in enumerate(found))


def points(name: str, value: object, *, at_least: int = 2) -> int:
    """A number of points of a curve, at most 100,000."""
    return integer(name, value, at_least=at_least, at_most=MOST_POINTS)


def choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """One word out of several."""
    if not isinstance(value, str) or value not in allowed:
        refuse(name, value, "one of " + ", ".join(allowed))
    return value


def flag(name: str, value: object) -> bool:
    """Yes or no: ``True`` or ``False``, also NumPy's; numbers and texts are neither.

    Examples
    --------
    >>> flag("certify", 1)
    Traceback (most recent call last):
    mlptsym.validation.ParameterError: certify = 1 is not allowed: it must be True or False
    """
    if not isinstance(value, bool) and not _is_numpy_truth(value):
        refuse(name, value, "True or False")
    return bool(value)


def instance(name: str, value: object, kind: type[Kind], allowed: str) -> Kind:
    """An object of a class."""
    if not isinstance(value, kind):
        refuse(name, value, allowed)
    return value


def mapping(name: str, value: object, allowed: str) -> Mapping[Any, Any]:
    """A mapping, such as a dictionary; ``allowed`` says of what."""
    if not isinstance(value, Mapping):
        refuse(name, value, allowed)
    return value


def sequence(name: str, value: object, allowed: str) -> Sequence[Any]:
    """A sequence, such as a list, that is no text; ``allowed`` says of what."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray)):
        refuse(name, value, allowed)
    return value


def path(name: str, value: object, allowed: str = "the name of a file") -> Path:
    """A path, which need not exist.

    Examples
    --------
    >>> path("out", "report.html").suffix
    '.html'
    """
    if not isinstance(value, (str, os.PathLike)):
        refuse(name, value, allowed)
    text = os.fspath(value)
    if not isinstance(text, str):
        refuse(name, value, allowed)
    if not text:  # pathlib takes it for the current folder
        refuse(name, text, allowed)
    if "\0" in text:
        refuse(name, text, f"{allowed}, without a null character")
    try:
        parts = [os.fsencode(part) for part in Path(text).parts]
    except UnicodeEncodeError:
        refuse(name, value, allowed)
    if sum(map(len, parts)) + len(parts) > LONGEST_PATH or max(map(len, parts), default=0) > LONGEST_NAME:
        limits = f"at most {LONGEST_NAME} bytes, and {LONGEST_PATH} with its folders"
        refuse(name, text, f"{allowed} (File name too long: {limits})")
    return Path(text)
