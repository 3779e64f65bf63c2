"""Single changes to the source of the package, as a person might slip: operators, comparisons, numbers, dropped calls.

`sites` lists every place of a module that can be changed and what becomes of it; `tests/mutation_run.py` draws some of
them at random and asks whether the tests notice.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mutations import SWAPPED

OPERATORS = SWAPPED | {
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
PAIRS = [("min", "max"), ("minimum", "maximum"), ("any", "all"), ("floor", "ceil"), ("argmin", "argmax")]
TWINS = dict(PAIRS) | {two: one for one, two in PAIRS}


@dataclass(frozen=True)
class Change:
    """One change to one file.

    Attributes
    ----------
    path : str
        The file, from the root of the project.
    function : str
        Qualified name of the function or class it is in, or "module".
    line : int
        First line of what is changed.
    before, after : str
        What stands there, and what is put in its place.
    statement : str
        First line of the statement it is part of.
    start, end : int
        Where ``before`` stands in the file, in bytes.
    """

    path: str
    function: str
    line: int
    before: str
    after: str
    statement: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """How a survivor is listed: independent of line numbers."""
        before = " ".join(self.before.split())
        around = "" if self.statement.startswith(before) else f" in {self.statement}"
        return f"{self.path} {self.function}: {before} → {self.after}{around}"

    def applied(self, source: bytes) -> bytes:
        """The source of the file with the change made."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def sites(root: Path, path: Path) -> list[Change]:
    """Every change that can be made to one file of the package, in order."""
    source = path.read_bytes()
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    found = []
    for node, changed, function, statement in _changes(ast.parse(source)):
        start, end = offsets[node.lineno - 1] + node.col_offset, offsets[node.end_lineno - 1] + node.end_col_offset
        after = ast.unparse(changed)
        after = (
            f"({after})" if isinstance(changed, (ast.BinOp, ast.BoolOp, ast.IfExp, ast.Compare, ast.UnaryOp)) else after
        )
        first_line = ast.unparse(statement).partition("\n")[0]
        name, before = path.relative_to(root).as_posix(), source[start:end].decode()
        found.append(Change(name, function, node.lineno, before, after, first_line, start, end))
    return found


def _changes(tree: ast.Module) -> Iterator[tuple[ast.stmt | ast.expr, ast.AST, str, ast.AST]]:
    """Nodes that can be changed, what they become, and the function and statement they are in."""
    pending: list[tuple[ast.AST, str, ast.AST]] = [(tree, "", tree)]
    while pending:
        node, function, statement = pending.pop()
        statement = node if isinstance(node, ast.stmt) else statement
        if isinstance(node, (ast.expr, ast.stmt)):
            for changed in _changed(node):
                yield node, changed, function or "module", statement
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}" if function else node.name
        pending += [(child, function, statement) for child in reversed(list(_children(node)))]


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What is run of a node: no annotations, decorators, docstrings, texts of messages or imports for types."""
    match node:
        case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Raise():
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return
        case ast.Call(func=ast.Name(id="lru_cache")):
            return
    skipped = {"annotation", "returns", "decorator_list", "type_params"}
    for field, value in ast.iter_fields(node):
        if field in skipped or (isinstance(node, ast.AnnAssign) and field == "target"):
            continue
        for child in value if isinstance(value, list) else [value]:
            docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not docstring:
                yield child


def _changed(node: ast.stmt | ast.expr) -> Iterator[ast.AST]:
    """What a node may become."""
    altered = copy.deepcopy(node)
    match altered:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in OPERATORS:
            altered.op = OPERATORS[type(op)]()
        case ast.Compare(ops=[op]):
            altered.ops = [COMPARISONS[type(op)]()]
        case ast.BoolOp(op=op):
            altered.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            altered = operand
        case ast.Constant(value=bool() as value):
            altered.value = not value
        case ast.Constant(value=int() as value):
            altered.value = value + 1
        case ast.Constant(value=float() as value):
            # a tolerance of 1e-12 becomes one of 1e-6, other numbers a little more
            altered.value = value * 1.1 if 1e-3 <= value <= 1e3 else value**0.5 if value else 1.0
        case ast.IfExp():
            altered.body, altered.orelse = altered.orelse, altered.body
        case ast.Name(id=name) if name in TWINS:
            altered.id = TWINS[name]
        case ast.Attribute(attr=name) if name in TWINS:
            altered.attr = TWINS[name]
        case ast.Expr(value=ast.Call()):
            altered = ast.Pass()
        case _:
            return
    yield altered
