"""Commands whose errors are one line that names the option, the value and what is allowed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from typer.core import TyperCommand
from typer.exceptions import TyperException

from mlptsym.laws import size_laws
from mlptsym.memory import memory_laws
from mlptsym.parameters import Parametric
from mlptsym.validation import ParameterError, shown

__all__ = ["Command", "RefusedOptionError", "one_line"]

_SAMPLES_OF = {"sizes": "size", "samples": "size", "lazy": "policy"}
_LONGEST_VALUE = 200


class RefusedOptionError(TyperException):
    """A value of an option that is not allowed; its message is the line to show."""

    exit_code = 2


class Command(TyperCommand):
    """A command that says which of its options a `ParameterError` is about.

    The arguments of a command's function bear the names of the library's parameters, so the option is the one of
    that name.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Help, in which laws are listed now that somebody asks: loading them takes NumPy."""
        kinds: dict[str, Callable[[], Mapping[str, type[Parametric]]]] = {
            "{size_laws}": size_laws,
            "{memory_laws}": memory_laws,
        }
        for parameter in self.params:
            for place, laws in kinds.items():
                text = getattr(parameter, "help", None)
                if text and place in text:
                    listed = ", ".join(law.syntax() for law in laws().values())
                    parameter.help = text.replace(place, listed)  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises
        ------
        RefusedOptionError
            If the library refuses a value, or the numbers given leave the range of floating-point arithmetic.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)  # an overflow is no answer
                return super().invoke(ctx)
        except ParameterError as error:
            raise RefusedOptionError(self._explained(error, ctx.params)) from error
        except (ArithmeticError, RuntimeWarning) as error:
            reason = one_line(str(error.args[-1] if error.args else type(error).__name__))
            raise RefusedOptionError(
                f"the numbers given are too large or too small to compute with ({reason})"
            ) from error

    def _explained(self, error: ParameterError, given: dict[str, Any]) -> str:
        name = error.name.partition("[")[0]
        name = _SAMPLES_OF.get(name, name)
        for parameter in self.params:
            value = given.get(str(parameter.name))
            if parameter.name == name and parameter.param_type_name == "option":
                return _sentence(parameter.opts[0], error.value if value in (None, []) else value, error.allowed)
            for text in _assignments(value):
                if text.partition("=")[0].strip() == name:
                    return _sentence(parameter.opts[0], text, error.allowed)
        return _sentence(name, error.value, error.allowed)


def _assignments(value: Any) -> Iterator[str]:
    """The texts NAME=VALUE among the values of an option that may be repeated."""
    if isinstance(value, list):
        yield from (text for text in value if isinstance(text, str) and "=" in text)


def _sentence(option: str, value: object, allowed: str) -> str:
    if value is None:
        return one_line(f"{option} is missing: must be {allowed}")
    return one_line(f"{option} {_spelled(value)}: must be {allowed}")


def _spelled(value: object) -> str:
    """A value as the user typed it, in quotes where its ends could not be seen."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and value.isprintable() and not any(map(str.isspace, value)) and value:
        return value if len(value) <= _LONGEST_VALUE else value[: _LONGEST_VALUE - 1] + "…"
    return shown(value, _LONGEST_VALUE)


def one_line(text: str) -> str:
    r"""A text on one line, control characters escaped.

    Examples
    --------
    >>> one_line("two\n lines, a bell \a")
    'two lines, a bell \\x07'
    """
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in " ".join(text.split())
    )
