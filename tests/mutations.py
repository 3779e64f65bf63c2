"""Alterations of the package's formulas, one at a time: signs, operations, choices, whole numbers, exponents.

`mutants` lists every alteration of a module; `applied` puts one into the running package, for every importer at once,
by exchanging the function's code.
"""

import ast
import contextlib
import copy
import inspect
import os
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sympy.core.cache import clear_cache

from mlptsym.compile import compiled

SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


@dataclass(frozen=True)
class Mutant:
    """One altered function: the place in its source at which it is altered, and how."""

    function: types.FunctionType
    definition: ast.FunctionDef
    position: int
    description: str

    @cached_property
    def code(self) -> types.CodeType:
        altered = copy.deepcopy(self.definition)
        node, _ = list(_sites(altered))[self.position]
        _alter(node)
        return _compiled(altered, self.function)


def functions(module: types.ModuleType) -> Iterator[tuple[str, types.FunctionType, ast.FunctionDef]]:
    """Functions and methods a module defines, with their source."""
    tree = ast.parse(inspect.getsource(module))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, inspect.unwrap(getattr(module, node.name)), node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    found = vars(getattr(module, node.name))[inner.name]
                    found = getattr(found, "__func__", getattr(found, "fget", found))
                    yield f"{node.name}.{inner.name}", found, inner


def mutants(module: types.ModuleType) -> Iterator[Mutant]:
    """Every alteration of the functions of a module."""
    for name, function, definition in functions(module):
        for position, (_, description) in enumerate(_sites(definition)):
            yield Mutant(function, definition, position, f"{name}: {description}")


def _sites(definition: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """What can be altered in a function, and how."""
    for statement in definition.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # the docstring
        yield from _inside(statement, statement)


def _inside(node: ast.AST, parent: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPPED:
            yield node, f"{SIGNS[type(op)]} → {SIGNS[SWAPPED[type(op)]]} in {ast.unparse(node)}"
        case ast.IfExp():
            yield node, f"branches exchanged in {ast.unparse(node)}"
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
        case ast.BinOp() | ast.AugAssign():
            node.op = SWAPPED[type(node.op)]()
        case ast.IfExp():
            node.body, node.orelse = node.orelse, node.body
        case ast.UnaryOp():
            node.op = ast.UAdd()
        case ast.Constant():
            node.value += 1


def _compiled(definition: ast.FunctionDef, function: types.FunctionType) -> types.CodeType:
    """The code of an altered function, with the free variables of the original, such as the class that super() names.

    They are made local to a function around it, which is compiled but never called.
    """
    definition.decorator_list = []
    names = function.__code__.co_freevars
    around = ast.parse("from __future__ import annotations\ndef around(): pass")
    # its own name is free only where a decorator or a class made it so
    lines = [f"{name} = None" for name in names] + ([] if definition.name in names else [f"global {definition.name}"])
    around.body[1].body = [*ast.parse("\n".join(lines)).body, definition]  # type: ignore[attr-defined]
    tree = ast.fix_missing_locations(around)
    code = compile(tree, function.__code__.co_filename, "exec")
    for name in ("around", definition.name):
        (code,) = (part for part in code.co_consts if isinstance(part, types.CodeType) and part.co_name == name)
    assert code.co_freevars == names
    return code


@contextlib.contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The package with one formula altered."""
    original, kept = mutant.function.__code__, os.environ.get("MLPTSYM_CACHE", "")
    mutant.function.__code__ = mutant.code
    os.environ["MLPTSYM_CACHE"] = ""  # what is compiled now belongs to no file
    clear_cache()
    compiled.cache_clear()
    try:
        yield
    finally:
        mutant.function.__code__ = original
        os.environ["MLPTSYM_CACHE"] = kept
        clear_cache()
        compiled.cache_clear()
