"""Alterations of the package's formulas, one at a time: signs, operations, whole numbers and exponents in the source.

`mutants` lists every alteration of a module; `applied` puts one into the running package, for every importer at once,
by exchanging the function's code.
"""

import ast
import contextlib
import copy
import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sympy.core.cache import clear_cache

SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


@dataclass(frozen=True)
class Mutant:
    """One altered function."""

    function: types.FunctionType
    code: types.CodeType
    description: str


def functions(module: types.ModuleType) -> Iterator[tuple[str, types.FunctionType, ast.FunctionDef]]:
    """Functions and methods a module defines, with their source."""
    tree = ast.parse(inspect.getsource(module))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, getattr(module, node.name), node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    found = vars(getattr(module, node.name))[inner.name]
                    found = getattr(found, "__func__", getattr(found, "fget", found))
                    if not found.__code__.co_freevars:
                        yield f"{node.name}.{inner.name}", found, inner


def mutants(module: types.ModuleType, skip: frozenset[str] = frozenset()) -> Iterator[Mutant]:
    """Every alteration of the functions of a module that are not skipped."""
    for name, function, definition in functions(module):
        if name in skip:
            continue
        for position, (_, description) in enumerate(_sites(definition)):
            altered = copy.deepcopy(definition)
            node, _ = list(_sites(altered))[position]
            _alter(node)
            yield Mutant(function, _compiled(altered, function), f"{name}: {description}")


def _sites(definition: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """What can be altered in a function, and how."""
    for statement in definition.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # the docstring
        yield from _inside(statement, statement)


def _inside(node: ast.AST, parent: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    match node:
        case ast.BinOp(op=op) if type(op) in SWAPPED:
            yield node, f"{SIGNS[type(op)]} → {SIGNS[SWAPPED[type(op)]]} in {ast.unparse(node)}"
        case ast.UnaryOp(op=ast.USub()):
            yield node, f"minus dropped in {ast.unparse(node)}"
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield node, f"{value} → {value + 1} in {ast.unparse(parent)}"
        case ast.Call(func=ast.Name(id="boundaries")):
            return  # more breakpoints than needed change no expectation
    for child in ast.iter_child_nodes(node):
        yield from _inside(child, node)


def _alter(node: Any) -> None:
    match node:
        case ast.BinOp():
            node.op = SWAPPED[type(node.op)]()
        case ast.UnaryOp():
            node.op = ast.UAdd()
        case ast.Constant():
            node.value += 1


def _compiled(definition: ast.FunctionDef, function: types.FunctionType) -> types.CodeType:
    definition.decorator_list = []
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    tree = ast.fix_missing_locations(ast.Module([future, definition], []))
    namespace: dict[str, Any] = {}
    exec(compile(tree, function.__code__.co_filename, "exec"), function.__globals__, namespace)  # noqa: S102
    return namespace[definition.name].__code__


@contextlib.contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The package with one formula altered."""
    original = mutant.function.__code__
    mutant.function.__code__ = mutant.code
    clear_cache()
    try:
        yield
    finally:
        mutant.function.__code__ = original
        clear_cache()
