"""Every public name is thrown bad values at, or stands in a list here with the reason why not.

Public is what an ``__all__`` names, in a module without one every name that begins with a letter, and every public method
of such a class, if it takes arguments.  A name is covered by a `Call` of test_bad_calls or test_bad_figures: of itself, or of what wraps it.
The lists below hold the rest: modules whose names only the package itself calls, with values it has checked before; and
single names of modules that users call.  What a notebook imports can be in no list of modules.
"""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
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

EXPRESSIONS = "takes and gives SymPy expressions, which refuse what is none in words of their own"
CHECKED = "works on queues, policies and arrays that the functions in front of it have checked"
ENTRIES = "statements of the ledger and the means to prove them: a user names them, and does not call them"
ARGUMENTS = "test_bad_options throws texts at every option of every command"
PLUMBING = {
    "mlptsym.cli": ARGUMENTS,
    "mlptsym.symbolic": EXPRESSIONS,
    "mlptsym.compile": EXPRESSIONS,
    "mlptsym.modules": "lists the modules of the package's own folders",
    "mlptsym.parameters": ARGUMENTS,
    "mlptsym.validation": "the checks themselves, see test_validation",
    "mlptsym.provenance": "digests of bytes",
    "mlptsym.ledger": ENTRIES,
    "mlptsym.arrays": "checks arrays itself, for the functions in front of it",
    **dict.fromkeys(
        (
            f"mlptsym.numeric.{name}"
            for name in (
                "model.breaks", "model.service_hazard", "model.service_measure", "levels", "certified.enclosure",
                "certified.intervals", "distribution.inversion", "distribution.jumps", "distribution.response_moments",
                "distribution.waiting_transform", "gittins.atoms", "gittins.table", "optimal.minima",
            )
        ),
        CHECKED,
    ),
    **dict.fromkeys(
        (f"mlptsym.fitting.{name}" for name in ("layouts", "units")),
        "a step of read_trace, which checks first",
    ),
    "mlptsym.tables": "reads files for read_trace and Empirical; test_fit_reading and test_fit_sources damage them",
    "mlptsym.simulation.control": CHECKED,
    "mlptsym.simulation.gittins_kernel": CHECKED,
    "mlptsym.simulation.kernels": CHECKED,
    "mlptsym.simulation.streaming": CHECKED,
    "mlptsym.figures.drawing": "draws on matplotlib's axes what the drawing of a whole figure has checked",
    **dict.fromkeys(
        (f"mlptsym.runtime.{name}" for name in ("execution", "guard", "kernel_app", "kernels")), "runs the tasks that run_tasks has checked"
    ),
    "mlptsym.runtime.parameters": "what plan_figures and read_scenarios check notebooks and their parameters with",
    "mlptsym.runtime.progress": "shows the progress of runs that are planned",
    "mlptsym.site.mathml": "typesets the formulas of notebooks that are stored",
    "mlptsym.site.rendering": "typesets the formulas of notebooks that are stored",
    **dict.fromkeys(
        (
            f"mlptsym.batch.{name}"
            for name in ("collected", "document", "execution", "gallery", "lock", "names", "progress", "ranges")
        ),
        "runs, collects and shows what plan_batch has checked",
    ),
}  # fmt: skip
"""Modules and packages, with the reason why no user calls what is in them."""

RESULT = "made by the package: what a function returns, or the error it raises"
NAMES = {
    **dict.fromkeys(
        (
            "mlptsym.batch.manifest.About", "mlptsym.batch.manifest.Setting", "mlptsym.batch.manifest.Record", "mlptsym.batch.running.Finished", "mlptsym.batch.scenarios.BatchRun",
            "mlptsym.batch.document.ScenarioFileError", "mlptsym.studies.best_quanta.Found",
            "mlptsym.studies.crossings.Crossing", "mlptsym.runtime.plan.FigureRun", "mlptsym.runtime.plan.FigureTask",
            "mlptsym.site.build.Source", "mlptsym.fitting.arrivals.ArrivalStatistics",
            "mlptsym.fitting.arrivals.Departure", "mlptsym.fitting.clock.Clock", "mlptsym.fitting.fit.TraceFit",
            "mlptsym.fitting.laws.FittedLaw",
            "mlptsym.fitting.laws.QuantilePairs", "mlptsym.likelihood.Sample", "mlptsym.fitting.reading.Dropped",
            "mlptsym.fitting.reading.RecordedTrace",
            "mlptsym.fitting.recommend.Comparison", "mlptsym.fitting.recommend.Outcome",
            "mlptsym.fitting.recommend.QuantumSweep", "mlptsym.fitting.recommend.Recommendation", "mlptsym.fitting.recommend.Simulated",
            "mlptsym.fitting.recommend.Tail", "mlptsym.numeric.certified.branch_and_bound.Certificate",
            "mlptsym.numeric.optimal.descent.Descended",
            "mlptsym.numeric.distribution.percentiles.LevelDistribution", "mlptsym.numeric.distribution.percentiles.ResponseTimeDistribution",
            "mlptsym.numeric.gittins.index.GittinsIndex", "mlptsym.numeric.mean.gradient.QuantumSlopes",
            "mlptsym.numeric.mean.gradient.ResponseGradient", "mlptsym.numeric.optimal.objectives.ObjectiveOptimum",
            "mlptsym.numeric.optimal.optimum.Optimum", "mlptsym.numeric.mean.response.LevelTable", "mlptsym.numeric.mean.response.Solution",
            "mlptsym.numeric.model.saturation.SaturationError", "mlptsym.numeric.mean.lazy.LazyTerms", "mlptsym.numeric.mean.two_levels.TwoLevelTerms", "mlptsym.numeric.optimal.unequal.OptimalQuanta",
            "mlptsym.simulation.simulate.SimulationResult", "mlptsym.simulation.traces.Trace",
            "mlptsym.sweeps.ClusterLostError",
        ),
        RESULT,
    ),
    "mlptsym.laws.base.SizeLaw.evaluate": CHECKED,
    "mlptsym.studies.data.checked_data": "the check of what the drawings get",
    **dict.fromkeys(
        ("mlptsym.batch.manifest.is_whole", "mlptsym.batch.manifest.publish", "mlptsym.batch.manifest.read_manifest",
         "mlptsym.batch.manifest.result_folders", "mlptsym.batch.scenarios.check_ranges",
         "mlptsym.figures.saving.check_figure", "mlptsym.files.write_whole", "mlptsym.runtime.runner.run_tasks",
         "mlptsym.site.build.find_sources", "mlptsym.sweeps.sweep_as_completed"),
        "a step of run_batch, run_figures, build_site or save_figure, which check first",
    ),
    **dict.fromkeys(
        ("mlptsym.likelihood.Sample.total", "mlptsym.likelihood.Sample.total_observed",
         "mlptsym.likelihood.Sample.at_cap", "mlptsym.numeric.gittins.index.index_of_law",
         "mlptsym.numeric.optimal.descent.descended", "mlptsym.numeric.distribution.quantile_guess.guessed_quantiles",
         "mlptsym.numeric.levels.remainder.level_depth",
         "mlptsym.numeric.mean.response.moments_needed", "mlptsym.numeric.model.saturation.refuse_saturated",
         "mlptsym.numeric.mean.lazy.gain_and_slope"),
        CHECKED,
    ),
    **{
        f"{law.__module__}.{law.__name__}.{method}": CHECKED
        for law in (SizeLaw, *size_laws().values())
        for method in ("evaluate", "formulas", "from_text", "most_likely", "partial_moments")
        if method in vars(law)
    },
    "mlptsym.likelihood.improved": CHECKED,
    **{f"mlptsym.numeric.model.queue.Queue.{name}": CHECKED for name in ("cost_line", "costs", "refuse_unloading")},
    "mlptsym.memory.base.Breaks": RESULT,
    "mlptsym.likelihood.HasLikelihood": "what a law has to have",
    "mlptsym.likelihood.HasLikelihood.log_density": "what a law has to have",
    "mlptsym.likelihood.HasLikelihood.log_tail": "what a law has to have",
    "mlptsym.likelihood.log_likelihood": CHECKED,
    "mlptsym.likelihood.root": CHECKED,
    "mlptsym.laws.base.SizeLaw": "the base of the size laws",
    "mlptsym.memory.base.Memory": "the base of the memory laws",
    "mlptsym.numeric.optimal.objectives.Objective": "made by best_quantum_for of what it is given",
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
    return any(module == known or module.startswith(f"{known}.") for known in PLUMBING)


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
        name for name, module in public().items() if not (name in COVERED or name in NAMES or _is_plumbing(module))
    ]
    assert missing == [], "add a Call to test_bad_calls.py, or a reason to this file"


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
