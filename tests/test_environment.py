"""The files that describe the environment agree with each other and with the imports; heavy imports wait."""

import ast
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import mlptsym

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LOCK_TEXT = (ROOT / "requirements.lock").read_text(encoding="utf-8")
CONDA_TEXT = (ROOT / "environment.yml").read_text(encoding="utf-8")

RUNTIME = {canonicalize_name(r.name): r for r in map(Requirement, PROJECT["dependencies"])}
DEVELOPMENT = {canonicalize_name(r.name): r for r in map(Requirement, PROJECT["optional-dependencies"]["dev"])}
DIRECT = RUNTIME | DEVELOPMENT
LOCKED = [Requirement(line) for line in LOCK_TEXT.splitlines() if line and not line.startswith("#")]
CONDA = yaml.safe_load(CONDA_TEXT)
CONDA_NAMES = {
    "jupyter_client": "jupyter-client",
    "jupyter_core": "jupyter-core",
    "matplotlib-base": "matplotlib",
}  # matplotlib without the Qt windows
HEAVY = {"sympy", "mpmath", "scipy", "matplotlib", "numba", "papermill", "nbclient", "nbconvert", "flint", "joblib"}


def locked_versions() -> dict[str, str]:
    return {canonicalize_name(r.name): str(r.specifier).removeprefix("==") for r in LOCKED}


def test_lock_holds_one_exact_version_for_each_name() -> None:
    assert all(re.fullmatch(r"==[^,*]+", str(r.specifier)) for r in LOCKED)
    names = [canonicalize_name(r.name) for r in LOCKED]
    assert names == sorted(set(names))


@pytest.mark.parametrize("name", DIRECT)
def test_locked_version_satisfies_pyproject(name: str) -> None:
    assert Version(locked_versions()[name]) in DIRECT[name].specifier


@pytest.mark.parametrize("name", DIRECT)
def test_installed_version_is_the_locked_one(name: str) -> None:
    assert metadata.version(name) == locked_versions()[name]


def test_dependencies_are_bounded_versions_without_addresses() -> None:
    assert all(r.specifier and r.url is None for r in DIRECT.values())
    assert not RUNTIME.keys() & DEVELOPMENT.keys()
    assert all(r.url is None for r in LOCKED)  # a pip option among them would not have been read as a requirement
    assert "://" not in LOCK_TEXT + CONDA_TEXT
    assert CONDA["channels"] == ["conda-forge", "nodefaults"]


def test_every_dependency_states_its_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    for name in RUNTIME:
        (line,) = (line for line in lines if re.match(rf'\s+"{name}[<>=]', line))
        assert re.search(r"#\s+\S+", line), line


def test_conda_pins_are_the_locked_versions() -> None:
    entries = [entry for entry in CONDA["dependencies"] if entry != "pip" and not str(entry).startswith("python>")]
    assert all(isinstance(entry, str) for entry in entries), "a pip: section overrides conda's pins unseen"
    pins = dict(entry.split("=") for entry in entries)
    assert {CONDA_NAMES.get(name, name): version for name, version in pins.items()} == {
        name: version for name, version in locked_versions().items() if name in DIRECT
    }


def test_python_versions_agree() -> None:
    (conda,) = (entry for entry in CONDA["dependencies"] if str(entry).startswith("python>"))
    conda_range = SpecifierSet(conda.removeprefix("python"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    tried = re.search(r"^PYTHONS := (.+)$", makefile, re.MULTILINE)[1].split()
    assert set(tried) == {f"3.{minor}" for minor in range(40) if f"3.{minor}" in conda_range}
    assert PROJECT["requires-python"] == f">={tried[-1]}"
    assert PYPROJECT["tool"]["mypy"]["python_version"] == tried[-1]


def needed(roots: dict[str, Requirement]) -> set[str]:
    """Names of all distributions the roots need in this interpreter, the roots included."""
    todo = list(roots.values())
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        wish = todo.pop()
        key = (canonicalize_name(wish.name), frozenset(wish.extras))
        if key in seen:
            continue
        seen.add(key)
        for text in metadata.requires(wish.name) or []:
            child = Requirement(text)
            if child.marker is None or any(child.marker.evaluate({"extra": extra}) for extra in {"", *wish.extras}):
                todo.append(child)
    return {name for name, _ in seen}


@pytest.mark.skipif((Path(sys.prefix) / "conda-meta").exists(), reason="conda chooses the indirect dependencies itself")
def test_lock_is_complete_and_has_nothing_else() -> None:
    locked_here = {canonicalize_name(r.name) for r in LOCKED if r.marker is None or r.marker.evaluate()}
    assert needed(DIRECT) == locked_here


def imported_by(folder: str) -> set[str]:
    """Top-level modules imported anywhere below a folder, the project's own and the standard library left out.

    The scripts for other simulators run in an environment of their own.
    """
    found = set()
    peers = ROOT / "tests" / "benchmarks" / "peers"
    for path in (path for path in (ROOT / folder).rglob("*.py") if peers not in path.parents):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.split(".")[0])
    own = {"mlptsym", *(path.stem for path in (ROOT / "tests").rglob("*"))}
    return found - own - set(sys.stdlib_module_names)


@pytest.mark.parametrize(("folder", "allowed"), [("mlptsym", RUNTIME), ("tests", DIRECT)])
def test_every_import_is_a_declared_dependency(folder: str, allowed: dict[str, Requirement]) -> None:
    origin = metadata.packages_distributions()
    imported = imported_by(folder)
    assert imported  # there is something to hold against the list
    undeclared = {
        module
        for module in imported
        if not {canonicalize_name(name) for name in origin.get(module, [])} & allowed.keys()
    }
    assert undeclared == set()


def test_packages_of_other_simulators_are_pinned() -> None:
    lines = (ROOT / "tests" / "benchmarks" / "peers.txt").read_text(encoding="utf-8").splitlines()
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert {"ciw", "line-solver", "most-queue", "simpy"} <= {canonicalize_name(wish.name) for wish in wanted}
    assert all(str(wish.specifier).startswith("==") for wish in wanted)


def test_console_script_is_callable() -> None:
    assert callable(pkgutil.resolve_name(PROJECT["scripts"]["mlptsym"]))


def test_citation_names_this_version_and_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == mlptsym.__version__ == metadata.version("mlptsym")
    assert citation["license"] == PROJECT["license"]
    (paper,) = citation["references"]
    assert paper["title"] == "Queuing for Inference: Dynamic Memory Footprints and Costly Preemption"


def heavy_after(statements: str) -> set[str]:
    """Heavy libraries that a fresh interpreter has loaded after running some statements."""
    code = f"{statements}\nimport json, sys\nprint(json.dumps([m for m in sys.modules if '.' not in m]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return HEAVY & set(json.loads(done.stdout.splitlines()[-1]))


HELP = """
import sys
from mlptsym.cli import main
sys.argv = ["mlptsym", "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""


@pytest.mark.parametrize("statements", ["import mlptsym", HELP], ids=["import", "help"])
def test_heavy_libraries_are_loaded_only_when_needed(statements: str) -> None:
    assert heavy_after(statements) == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert heavy_after("import mpmath") == {"mpmath"}
