"""Imports inside the package run one way, and the symbolic half stays free of numerics."""

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mlptsym"
LAYERS = [
    "version",
    "validation",
    "modules",
    "provenance",
    "files",
    "parameters",
    "arrays",
    "symbolic.algebra",
    "symbolic.model",
    "symbolic.policies",
    "symbolic.mean",
    "symbolic.distribution",
    "compile",
    "tables",
    "likelihood",
    "memory",
    "laws",
    "sweeps",
    "numeric.model",
    "numeric.levels",
    "numeric.mean",
    "numeric.gittins",
    "numeric.distribution",
    "numeric.certified",
    "numeric.optimal",
    "simulation",
    "runtime",
    "studies",
    "figures",
    "site",
    "fitting",
    "ledger",
    "batch",
    "cli",
]
FRONT_DOOR = {"mlptsym", "mlptsym.__main__"}  # the lazy front door and `python -m mlptsym` may reach every layer
NOT_SYMBOLIC = {"numpy", "scipy", "numba", "matplotlib"}


def imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported, at the top or inside functions, by statement or by call."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                base = package[: len(package) - node.level + 1] if node.level else []
                source = ".".join([*base, *([node.module] if node.module else [])])
                yield from ((node.lineno, f"{source}.{alias.name}") for alias in node.names)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in {"import_module", "__import__"}:
                match node.args:
                    case [ast.Constant(value=str(target))]:
                        yield node.lineno, target
                    case _:
                        yield node.lineno, "<computed>"
            case ast.Call(func=ast.Name(id="compiled"), args=[ast.Constant(value=str(reference)), *_]):
                yield node.lineno, reference.replace(":", ".")


def layer_of(parts: Sequence[str]) -> str | None:
    """The layer of a module or of a name in it, from its dotted parts below the package; None where it has none."""
    return next((layer for layer in LAYERS if layer.split(".") == list(parts[: layer.count(".") + 1])), None)


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield node.lineno, name
            case ast.alias(name=name):
                yield node.lineno, name.split(".")[-1]


def violations(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """What a module does that its layer may not, one sentence each."""
    if module in FRONT_DOOR:
        return []
    layer = layer_of(module.split(".")[1:])
    tree = ast.parse(source)
    if layer is None:
        return [f"{module} is in no layer"] if not is_package or list(imports(tree, module, is_package)) else []
    found = []
    for line, name in imports(tree, module, is_package):
        top, _, rest = name.partition(".")
        target = layer_of(rest.split("."))
        if name == "<computed>" and (layer == "compile" or module == "mlptsym.modules"):
            continue  # what loads formulas, and the classes of a folder, by their names
        if name == "<computed>":
            found.append(f"{module}:{line} imports by a computed name")
        elif top == "mlptsym" and target is None:
            found.append(f"{module}:{line} imports {name} through the front door")
        elif top == "mlptsym" and target is not None and LAYERS.index(target) > LAYERS.index(layer):
            found.append(f"{module}:{line} imports {name} from a layer above")
        elif layer.startswith("symbolic.") and top in NOT_SYMBOLIC:
            found.append(f"{module}:{line} imports {name} into the symbolic half")
        elif layer == "validation" and top != "mlptsym" and top not in sys.stdlib_module_names:
            found.append(f"{module}:{line} imports {name}, not in the standard library")
    found += [f"{module}:{line} uses lambdify" for line, name in identifiers(tree) if name == "lambdify"]
    return found


def modules() -> list[tuple[Path, str, bool]]:
    rows = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        rows.append((path, ".".join(parts[:-1] if is_package else parts), is_package))
    return rows


@pytest.mark.parametrize(("path", "module", "is_package"), [pytest.param(*row, id=row[1]) for row in modules()])
def test_module_keeps_to_its_layer(path: Path, module: str, is_package: bool) -> None:
    assert violations(path.read_text(encoding="utf-8"), module, is_package=is_package) == []


def test_every_layer_is_looked_at() -> None:
    seen = {layer_of(module.split(".")[1:]) for _, module, _ in modules() if module not in FRONT_DOOR}
    assert seen - {None} == set(LAYERS)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mlptsym.symbolic.model.moments", "import numpy as np"),
        ("mlptsym.symbolic.model.moments", "from scipy.special import erfc"),
        ("mlptsym.symbolic.model.moments", "def late():\n    import matplotlib.pyplot"),
        ("mlptsym.symbolic.model.moments", "from mlptsym.numeric import response"),
        ("mlptsym.symbolic.model.moments", "from ...numeric.mean.response import mean_response_time"),
        ("mlptsym.symbolic.model.moments", "from ... import numeric"),
        ("mlptsym.symbolic.model.moments", "import importlib\nimportlib.import_module('mlptsym.numeric')"),
        ("mlptsym.symbolic.model.moments", "from importlib import import_module\nimport_module(name)"),
        ("mlptsym.numeric.mean.response", "from mlptsym import simulate"),
        ("mlptsym.numeric.mean.response", "import mlptsym"),
        ("mlptsym.numeric.mean.response", "def late():\n    from mlptsym.simulation import simulate"),
        ("mlptsym.numeric.mean.response", "from sympy import lambdify"),
        ("mlptsym.compile", "import sympy as sp\nf = sp.lambdify(x, y)"),
        ("mlptsym.symbolic.model.moments", "compiled('mlptsym.numeric.mean.response:solve')"),
        ("mlptsym.figures.style", "from mlptsym.cli import main"),
        ("mlptsym.ledger.entries", "import mlptsym.cli"),
        ("mlptsym.validation", "import numpy"),
        ("mlptsym.validation", "from mlptsym.symbolic import symbols"),
        ("mlptsym.helpers", ""),
    ],
)
def test_a_violation_is_found(module: str, source: str) -> None:
    assert len(violations(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "is_package", "count"),
    [
        ("mlptsym.numeric", True, 1),
        ("mlptsym.numeric.mean.response", False, 1),
        ("mlptsym.numeric.levels.sums", True, 0),
    ],
)
def test_two_dots_are_counted_from_the_package(module: str, is_package: bool, count: int) -> None:
    assert len(violations("from ..cli import main", module, is_package=is_package)) == count


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mlptsym.numeric.mean.response", "import numpy\nfrom mlptsym.compile import build\nfrom . import laws"),
        (
            "mlptsym.symbolic.model.moments",
            '"""Never calls lambdify."""\nimport sympy\nfrom mlptsym.validation import number',
        ),
        ("mlptsym.compile", "import importlib\nimportlib.import_module(name)"),
        ("mlptsym.cli", "from mlptsym.version import __version__"),
        ("mlptsym.batch", "from mlptsym.figures import run"),
        ("mlptsym", "from mlptsym.numeric import response"),
    ],
)
def test_what_is_allowed_passes(module: str, source: str) -> None:
    assert violations(source, module) == []
