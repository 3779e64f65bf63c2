"""The parameters of a notebook: what they are called, of which type they are, and which values they take.

They stand in the code cell tagged ``parameters``, one a line, as ``name: type = default  # meaning, unit``.  Neither
the cell nor what a user gives is ever run: both are read as literals.  papermill's own inspection of the cell passes
over lines that it does not understand, and leaves defaults as texts.
"""

from __future__ import annotations

import ast
import difflib
import io
import json
import math
import tokenize
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mlptsym.validation import ParameterError, flag, instance, number, refuse

__all__ = [
    "OUTPUT_FOLDER",
    "Parameter",
    "check_value",
    "close_to",
    "known_parameter",
    "parameters_in",
    "parse_override",
    "read_notebook",
    "read_parameters",
]

OUTPUT_FOLDER = "output_folder"
"""The parameter every figure notebook has for the place of its files; the command sets it, not the user."""

_LONGEST = 100_000
"""Characters of a value given as a text."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a notebook, its type as annotated, and the comment beside it: meaning and unit."""

    name: str
    type: str
    default: Any
    description: str = ""


def read_notebook(path: Path) -> dict[str, Any]:
    """The content of a notebook file, as the JSON it is; a ParameterError if it cannot be read or is no notebook."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ParameterError("notebook", str(path), "a readable notebook file") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        refuse("notebook", str(path), "a notebook file with cells (format 4)")
    return notebook


def read_parameters(path: Path) -> dict[str, Parameter]:
    """The parameters of a notebook, in the order of its ``parameters`` cell; none if it has no such cell.

    Raises
    ------
    ParameterError
        If the file is no notebook, or its cell holds anything but ``name: type = default`` with a literal default.
    """
    for cell in read_notebook(path)["cells"]:
        if cell.get("cell_type") == "code" and "parameters" in cell.get("metadata", {}).get("tags", []):
            source = cell.get("source", "")
            try:
                return parameters_in(source if isinstance(source, str) else "".join(source))
            except ParameterError as error:
                raise ParameterError(f"{path.name}: {error.name}", error.value, error.allowed) from error
    return {}


def parameters_in(source: str) -> dict[str, Parameter]:
    """The parameters that the source of a ``parameters`` cell defines.

    Examples
    --------
    >>> parameters_in("rate: float = 1  # jobs per unit of time")
    {'rate': Parameter(name='rate', type='float', default=1.0, description='jobs per unit of time')}
    """
    try:
        statements = _python(source, "exec").body
        comments = {
            token.start[0]: token.string.lstrip("#").strip()
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT
        }
    except (SyntaxError, ValueError, tokenize.TokenError) as error:
        raise ParameterError("the parameters cell", str(error), "plain Python") from error
    parameters: dict[str, Parameter] = {}
    for statement in statements:
        match statement:
            case ast.Import() | ast.ImportFrom():
                continue
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                kind = ast.unparse(annotation)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                kind = ""
            case _:
                refuse("the parameters cell", ast.unparse(statement), "lines of the form name: type = value")
        if name in parameters:
            refuse("the parameters cell", name, "a parameter defined once")
        try:
            default = _literal(value)
        except ValueError as error:
            written = ast.get_source_segment(source, value)
            raise ParameterError(name, written, "a number, a text, True, False, inf or a list of these") from error
        kind = kind or _type_of(default)
        if kind not in _WORDS:
            refuse("the parameters cell", f"{name}: {kind}", "a parameter of type " + ", ".join(_WORDS))
        description = comments.get(statement.end_lineno or statement.lineno, "")
        parameter = Parameter(name, kind, default, description)
        parameters[name] = Parameter(name, kind, check_value(parameter, default), description)
    return parameters


def _type_of(value: object) -> str:
    if isinstance(value, list):
        types = {type(item).__name__ for item in value}
        if types == {"int", "float"}:
            types = {"float"}
        return f"list[{', '.join(sorted(types))}]"
    return type(value).__name__


def _python(source: str, mode: str) -> Any:
    with warnings.catch_warnings():  # Python's remarks on odd literals
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source, mode=mode)
        except (RecursionError, MemoryError) as error:
            raise SyntaxError("nested too deeply") from error


def _literal(node: ast.expr) -> Any:
    """The value of a literal, or of a list or tuple of literals; a ValueError for anything else."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_scalar(item) for item in node.elts]
    return _scalar(node)


def _scalar(node: ast.expr) -> float | int | str | bool:
    match node:
        case ast.Constant(value=bool() | str() as value):
            return value
        case ast.Constant(value=int() | float() as value) if value != math.inf:  # 1e999 is a slip, not infinity
            return value
        case (
            ast.Name(id="inf")
            | ast.Attribute(value=ast.Name(id="math"), attr="inf")
            | ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value="inf")], keywords=[])
        ):
            return math.inf
        case ast.UnaryOp(
            op=ast.UAdd() | ast.USub() as sign, operand=ast.Constant() | ast.Name() | ast.Attribute() as of
        ):
            value = _scalar(of)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return -value if isinstance(sign, ast.USub) else value
    raise ValueError("not a literal")


def _whole(name: str, value: object) -> int:
    real = number(name, value)
    if real != math.floor(real):
        refuse(name, value, "a whole number")
    return int(value) if isinstance(value, int) else int(real)


def _text(name: str, value: object) -> str:
    return str(instance(name, value, str, "a text").encode(), "utf-8")


def _number_in(text: str) -> float | str:
    """A number; the text if there is none in it, or one beyond the range of floats."""
    try:
        value = float(text)
    except ValueError:
        return text
    return text if math.isinf(value) and "inf" not in text.lower() else value


def _whole_in(text: str) -> float | str:
    try:
        return int(text)
    except ValueError:
        return _number_in(text)


def _truth_in(text: str) -> bool | str:
    return {"true": True, "false": False}.get(text.strip().lower(), text)


@dataclass(frozen=True)
class _Type:
    """What values of a type, and lists of them, are called; how one is checked, and read from a text."""

    one: str
    several: str
    check: Callable[[str, object], Any]
    read: Callable[[str], object]


_TYPES: Mapping[str, _Type] = {
    "float": _Type("a number or inf", "numbers such as [1, 2.5, inf]", partial(number, infinite=True), _number_in),
    "int": _Type("a whole number", "whole numbers such as [1, 2, 3]", _whole, _whole_in),
    "bool": _Type("true or false", "True and False", flag, _truth_in),
    "str": _Type("a text", "texts such as ['a', 'b']", _text, str),
}
_WORDS = {name: kind.one for name, kind in _TYPES.items()}
_WORDS |= {f"list[{name}]": f"a list of {kind.several}" for name, kind in _TYPES.items()}


def check_value(parameter: Parameter, value: object) -> Any:
    """A value for a parameter as a plain ``float``, ``int``, ``bool``, ``str`` or list of these.

    Python and NumPy numbers and fractions will do; for lists also tuples, ranges and one-dimensional arrays.

    Raises
    ------
    ParameterError
        If the value is of another type, NaN or an empty list.

    Examples
    --------
    >>> from fractions import Fraction
    >>> check_value(Parameter("gamma", "float", 0.1), Fraction(1, 4))
    0.25
    >>> check_value(Parameter("betas", "list[float]", [0.1]), (1, 2))
    [1.0, 2.0]
    """
    check = _TYPES[parameter.type.removeprefix("list[").removesuffix("]")].check
    try:
        if parameter.type in _TYPES:
            return check(parameter.name, value)
        items = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(items, (str, bytes, bytearray)) or not isinstance(items, Sequence) or len(items) == 0:
            refuse(parameter.name, value, "")
        return [check(parameter.name, item) for item in items]
    except (ParameterError, UnicodeEncodeError) as error:
        raise ParameterError(parameter.name, value, _WORDS[parameter.type]) from error


def parse_override(text: str, parameters: Mapping[str, Parameter], owner: str = "the notebook") -> tuple[str, Any]:
    """Name and value of a parameter given as ``name=value``.

    A ``float`` is a number or ``inf``; an ``int`` a whole number; a ``bool`` ``true`` or ``false``; a ``str`` the text
    as it stands; a list a Python list such as ``[1, 2.5, inf]`` or ``['a', 'b']``.  ``owner`` is whose parameters they
    are.

    Raises
    ------
    ParameterError
        If there is no such parameter, or the value is not of its type.

    Examples
    --------
    >>> parse_override("gamma=1e-3", {"gamma": Parameter("gamma", "float", 0.1)})
    ('gamma', 0.001)
    """
    name, equals, written = text.partition("=")
    name = name.strip()
    if not equals or not name:
        refuse("parameter", text, "of the form name=value")
    parameter = known_parameter(name, parameters, owner)
    allowed = _WORDS[parameter.type]
    try:
        if parameter.type in _TYPES:
            return name, check_value(parameter, _TYPES[parameter.type].read(written))
        if len(written) > _LONGEST:
            allowed += f", of at most {_LONGEST} characters"
            refuse(name, written, allowed)
        tree = _python(written.strip(), "eval").body
        if not isinstance(tree, ast.List):
            refuse(name, written, allowed)
        return name, check_value(parameter, _literal(tree))
    except (SyntaxError, ValueError) as error:  # a ParameterError is a ValueError
        raise ParameterError(name, written, allowed) from error


def known_parameter(name: str, parameters: Mapping[str, Parameter], owner: str = "the notebook") -> Parameter:
    """The parameter of that name, if a user may set it; a ParameterError that lists those there are if not."""
    if name == OUTPUT_FOLDER:
        refuse("parameter", name, "another one: the output folder is set by the command")
    if name not in parameters:
        settable = [known for known in parameters if known != OUTPUT_FOLDER]
        refuse("parameter", name, f"a parameter of {owner}: {close_to(name, settable)}")
    return parameters[name]


def close_to(word: str, known: Sequence[str]) -> str:
    """The known words, and which of them may be meant.

    Examples
    --------
    >>> close_to("gama", ["beta", "gamma"])
    'beta, gamma (did you mean gamma?)'
    """
    meant = difflib.get_close_matches(word, known, n=1)
    return (", ".join(known) or "it has none") + (f" (did you mean {meant[0]}?)" if meant else "")
