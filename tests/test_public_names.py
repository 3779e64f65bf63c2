"""Every public name is thrown bad values at, or stands in a list here with the reason why not.

Public is what an ``__all__`` names, in a module without one every name that begins with a letter, and every public method
of such a class, if it takes arguments.  A name is covered by a `Call` of test_bad_calls or test_bad_figures: of itself, or of what wraps it.
The lists below hold the rest: modules whose names only the package itself calls, with values it has checked before; and
single names of modules that users call.  What a notebook imports can be in no list of modules.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import test_bad_calls
import test_bad_figures

import mlptsym
from mlptsym.laws import size_laws
from mlptsym.laws.base import SizeLaw

ROOT = Path(__file__).parents[1]

CHECKED = "works on queues, policies and arrays that the functions in front of it have checked"
STEP = "a step of run_batch, run_figures, build_site or save_figure, which check first"
PLUMBING = {
    "mlptsym.cli": "test_bad_options throws texts at every option of every command",
    "mlptsym.symbolic": "takes and gives SymPy expressions, which refuse what is none in words of their own",
    "mlptsym.compile": "takes SymPy expressions, as mlptsym.symbolic",
    "mlptsym.validation": "the checks themselves, see test_validation",
    "mlptsym.fitting.report_tables": "the parts of a report, which write_report checks",
    "mlptsym.ledger": "statements and the means to prove them: a user names them, and does not call them",
    **dict.fromkeys((f"mlptsym.batch.{name}" for name in ("document", "lock", "manifest")), STEP),
}
"""Packages, with the reason why no bad values are thrown at what is in them."""

NAMES = {
    "mlptsym.laws.base.SizeLaw.evaluate": CHECKED,
    "mlptsym.studies.data.checked_data": "the check of what the drawings get",
    **dict.fromkeys(
        ("mlptsym.batch.scenarios.check_ranges",
         "mlptsym.figures.saving.check_figure", "mlptsym.runtime.runner.run_tasks",
         "mlptsym.site.build.find_sources", "mlptsym.sweeps.sweep_as_completed"),
        STEP,
    ),
    **dict.fromkeys(
        ("mlptsym.likelihood.Sample.total", "mlptsym.likelihood.Sample.total_observed",
         "mlptsym.likelihood.Sample.at_cap", "mlptsym.numeric.gittins.index.index_of_law",
         "mlptsym.numeric.mean.response.moments_needed",
         *(f"mlptsym.numeric.mean.lazy.{name}" for name in ("gain_and_slope", "piece_means", "largest_root"))),
        CHECKED,
    ),
    **{
        f"{law.__module__}.{law.__name__}.{method}": CHECKED
        for law in (SizeLaw, *size_laws().values())
        for method in ("evaluate", "formulas", "from_text", "most_likely", "partial_moments")
        if method in vars(law)
    },
    "mlptsym.likelihood.improved": CHECKED,
    **{
        f"mlptsym.fitting.words.of_{name}": "what fit_trace warns of"
        for name in ("arrivals", "clock", "policy", "scale", "sizes", "units")
    },
    **{f"mlptsym.numeric.model.queue.Queue.{name}": CHECKED for name in ("cost_line", "costs", "refuse_unloading")},
    "mlptsym.likelihood.HasLikelihood": "what a law has to have",
    "mlptsym.likelihood.HasLikelihood.log_density": "what a law has to have",
    "mlptsym.likelihood.HasLikelihood.log_tail": "what a law has to have",
    "mlptsym.likelihood.log_likelihood": CHECKED,
    "mlptsym.likelihood.root": CHECKED,
    "mlptsym.laws.base.SizeLaw": "the base of the size laws",
    "mlptsym.memory.base.Memory": "the base of the memory laws",
    "mlptsym.numeric.optimal.objectives.Objective.of": "made by best_quantum_for of what it is given",
    "mlptsym.numeric.optimal.objectives.Objective.value": CHECKED,
}  # fmt: skip
"""Single names, with the reason why no bad values are thrown at them."""


def _called(function: Callable[..., Any]) -> str:
    inner = inspect.unwrap(function)
    inner = getattr(inner, "__func__", inner)
    return f"{inner.__module__}.{inner.__qualname__}"


COVERED = {_called(call.function) for call in (*test_bad_calls.CALLS.values(), *test_bad_figures.CALLS)}


def _takes_arguments(function: Any) -> bool:
    return any(name != "self" for name in inspect.signature(function).parameters)


def _with_methods(value: Any, name: str) -> Iterator[str]:
    if not inspect.isclass(value):
        yield from [name] if _takes_arguments(value) else []
        return
    yield from [name] if _takes_arguments(value.__init__) else []
    for method, written in vars(value).items():
        plain = getattr(written, "__func__", written)
        if not method.startswith("_") and inspect.isfunction(plain) and _takes_arguments(getattr(value, method)):
            yield f"{name}.{method}"


@cache
def public() -> dict[str, str]:
    """Every public callable with arguments, by full name, with its module."""
    found = {}
    for module in pkgutil.walk_packages(mlptsym.__path__, "mlptsym."):
        home = import_module(module.name)
        for name in getattr(home, "__all__", [one for one in vars(home) if not one.startswith("_")]):
            value = getattr(home, name)
            if callable(value) and getattr(value, "__module__", None) == module.name:
                found |= dict.fromkeys(_with_methods(value, f"{module.name}.{name}"), module.name)
    return found


def _is_plumbing(module: str) -> bool:
    """Whether no user calls what is in a module: it is excepted, or no name of it is exported, shown or called.

    One name of a module that is exported by a package, imported by a notebook or has a `Call` brings in all others.
    """
    excepted = any(module == known or module.startswith(f"{known}.") for known in PLUMBING)
    return excepted or module not in facing()


@cache
def facing() -> set[str]:
    """The modules of which users call something."""
    packages = [module.name for module in pkgutil.walk_packages(mlptsym.__path__, "mlptsym.") if module.ispkg]
    found = {name.rpartition(".")[0] for name in imported_by_notebooks()}
    for home in map(import_module, ["mlptsym", *packages]):
        found |= {getattr(getattr(home, name), "__module__", "") for name in getattr(home, "__all__", ())}
    return found | {inspect.unwrap(call.function).__module__ for call in test_bad_calls.CALLS.values()}


def _is_result(name: str) -> bool:
    """Whether it is a record or an error that the package makes: a dataclass or exception the package does not name."""
    module, _, last = name.rpartition(".")
    value = getattr(import_module(module), last, None) if module in sys.modules else None
    made = inspect.isclass(value) and (dataclasses.is_dataclass(value) or issubclass(value, Exception))
    return made and last not in mlptsym.__all__


def imported_by_notebooks() -> set[str]:
    """Full names of what the notebooks import from the package."""
    names = set()
    for path in [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("derivations/*.ipynb")]:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"]) if cell["cell_type"] == "code" else ""
            for module, listed in re.findall(r"^from (mlptsym[\w.]*) import (\([^)]*\)|.*)", source, re.MULTILINE):
                for name in re.findall(r"(\w+)(?: as \w+)?,?", listed.strip("()")):
                    value = getattr(import_module(module), name, None)
                    if inspect.isroutine(value) or inspect.isclass(value):
                        names.add(f"{value.__module__}.{name}")
    return names


def test_every_public_name_is_thrown_bad_values_at_or_excepted() -> None:
    missing = [
        name
        for name, module in public().items()
        if not (name in COVERED or name in NAMES or _is_plumbing(module) or _is_result(name))
    ]
    assert missing == [], "add a Call to test_bad_calls.py, or a reason to this file"


def test_every_parameter_of_a_signature_is_given_in_some_call() -> None:
    """Which replaces it, so that no new argument of a function, and no new field of a dataclass, can be forgotten."""
    given: dict[str, set[str]] = {}
    known = {}
    for call in (*test_bad_calls.CALLS.values(), *test_bad_figures.CALLS):
        name = _called(call.function)
        given.setdefault(name, set()).update(call.good)
        found = inspect.signature(inspect.unwrap(call.function)).parameters.values()
        known[name] = {one.name for one in found if one.kind is not one.VAR_POSITIONAL and one.name != "self"}
    assert {name: words - given[name] for name, words in known.items() if words - given[name]} == {}


def test_what_notebooks_import_is_thrown_bad_values_at() -> None:
    imported = {name for name in imported_by_notebooks() if not name.startswith("mlptsym.symbolic.")}
    assert len(imported) > 50
    covered = COVERED | {name.rpartition(".")[0] for name in COVERED}  # a class is covered with one of its methods
    assert imported & public().keys() - covered == set()


@pytest.mark.parametrize("name", [*PLUMBING, *NAMES])
def test_no_exception_is_out_of_date(name: str) -> None:
    """What is excepted exists, and no Call has it."""
    assert name not in COVERED
    assert name in public() if name in NAMES else any(module.startswith(name) for module in public().values())


@pytest.mark.parametrize("name", mlptsym.__all__)
def test_names_of_the_package_are_those_of_its_modules(name: str) -> None:
    value = getattr(mlptsym, name)
    assert value is getattr(import_module(value.__module__), name)


def test_what_computes_an_objective_is_named_by_the_package() -> None:
    """As is `optimal_quantum` for the mean response time."""
    assert {"best_quantum_for", "mean_slowdown"} <= set(mlptsym.__all__)
