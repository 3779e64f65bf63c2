"""Every formula of the package is altered, one place at a time, and the ledger sees it each time.

Each function of the symbolic half has each of its signs, operations, choices and whole numbers altered.  `make test` takes a few
places of every function; with MLPTSYM_ALL_MUTANTS set, all of them are taken (a few minutes).
"""

import importlib
import os
import pkgutil
from collections.abc import Iterator

import pytest
from mutations import Mutant, applied, mutants

from mlptsym import symbolic
from mlptsym.laws import HOMES
from mlptsym.ledger.entry import checked
from mlptsym.ledger.registry import select

PLACES = 1000 if os.environ.get("MLPTSYM_ALL_MUTANTS") else 1

# entries to ask for each module, those that refute most of its mutants first
WATCHED = {
    "algebra.symbols": ["eq-13", "eq-11"],
    "model.memory": ["eq-4", "eq-1"],
    "model.service": ["eq-3", "eq-5", "eq-2", "service-moments"],
    "model.moments": ["expectation", "upper-moments", "eq-5", "law-deterministic"],
    "policies.discipline": [
        *("eq-9-written-out", "unloading-size", "eq-16-written-out", "eq-23-a-written-out", "piece-moments"),
        *("level-integrals", "theorem-4.5-carried"),
    ],
    "policies.algorithm": [
        "eq-13",
        "eq-11",
        "eq-23-a-written-out",
        "eq-9-written-out",
        "eq-17-written-out",
        "eq-16-written-out",
    ],
    "mean.waiting": [
        *("eq-23", "eq-16-written-out", "eq-17-written-out", "eq-18-written-out", "eq-15"),
        *("eq-15-written-out", "eq-23-written-out"),
    ],
    "mean.response": [
        *("limit-one-level", "theorem-4.5-carried", "theorem-4.5-by-level", "eq-26", "theorem-4.5-written-out"),
        "limit-large-quantum",
    ],
    "mean.two_levels": ["eq-29", "A", "B", "eq-30", "jump"],
    "mean.many_levels": ["demotions", "overhead", "overhead-approximation", "eq-31"],
    "mean.gradient": ["gradient-quantum", "gradient-boundary"],
    "mean.level_integrals": ["level-integrals"],
    "policies.gittins": [
        "efficiency",
        "efficiency-slope",
        "gittins-candidates",
        "gittins-closed",
        "hazard-jump",
        "lemma-4.1",
    ],
    "algebra.special": ["special-functions"],
    "distribution.transform": ["transform-second-moment", "transform-second-moment-by-level", "transform-mean"],
    "distribution.moments": ["transform-second-moment", "transform-second-moment-by-level", "transform-mean"],
    "mean.slowdown": ["mean-slowdown"],
    "mean.lazy_stability": ["lazy-stability"],
    "mean.lazy_counts": ["lazy-three-first", "lazy-three-mean"],
    "mean.lazy_three": ["lazy-three-mlpt", "lazy-three-mean"],
    "mean.lazy": ["lazy-mean", "lazy-gain", "lazy-cycle", "lazy-alone-recursion", "lazy-alone"],
    "model.transforms": ["partial-transform", "transform-pieces"],
    "algebra.induction": ["sums-over-levels"],
    "mean.remainder": ["remainder-bounds"],
    "model.size_law": ["law-exponential", "law-uniform", "law-gamma"],
    **{home.removeprefix("mlptsym."): [f"law-{name.lower()}"] for name, home in HOMES.items()},
}
SLOW = {"algebra.special", "mean.gradient", "mean.level_integrals", "mean.lazy_counts", "mean.lazy_three"}
# entries about one function
OWN = {
    "algebra.symbols.unload_time": ["unloading-size"],
    "model.size_law.moment_defects": ["law-exponential", "law-lomax"],
    "model.size_law.antiderivative_defect": ["law-lomax"],
    "model.size_law._proved_form": ["law-deterministic", "law-exponential"],
    "model.size_law._limit": ["law-lomax", "law-uniform", "law-exponential", "law-lognormal"],
    "policies.algorithm.boundaries": ["sums-over-levels"],
    "mean.two_levels.two_level_terms": ["A", "B", "eq-30"],
    "mean.gradient.level_slopes": ["gradient-quantum"],
    "mean.gradient.boundary_slope": ["gradient-boundary"],
    "mean.gradient.service_density": ["service-density"],
    "model.transforms.PartialTransform.eval": ["partial-transform"],
    "model.transforms.PartialTransform.fdiff": ["partial-transform"],
    "model.transforms.transform": ["transform-pieces"],
    "distribution.transform.last_piece": ["transform-pieces"],
    "distribution.transform.transform_balance": ["transform-work"],
    "distribution.transform.work_found": ["transform-work"],
    "distribution.transform.busy_period": ["transform-busy-period", "transform-response"],
    "distribution.transform.stretching": ["transform-busy-period", "transform-response"],
    "distribution.transform.response_transform": ["transform-response"],
    "distribution.moments.served_moments": ["piece-moments"],
    "distribution.moments.piece_moments": ["piece-moments"],
}

# As every function whose name ends in "_formula", these say what is compiled: the ledger does not read them, and
# tests/compile/test_formulas.py alters them instead.
COMPILED_ONLY = {"_step_to_the_right", "_numbered", "logarithm", "_unfolded"}

# alterations that change nothing, or nothing that is a formula
HARMLESS = {
    # layout
    "*._latex: *",
    # times or divided by a rate of one; B does not depend on q′
    "hazard_jump: / → * in after / before",
    "jump_ratio: / → * in terms.A / terms.B",
    # no piece names the boundary at its end but in min(S, t_r)
    "piece_moments: + → - in start + length",
    # symbols that are made once, when the module is imported
    "*.named: *",
    # the order in which terms are collected
    "level_slopes: * → / in tail(end) * end_slope",
    # not harmless: with these SymPy may come to no end
    "Lomax.formulas: * → / in length * RelativeExponential((power - shape) * length)",
    "Lomax.formulas: * → / in coefficient * moment(power)",
    # a coefficient of which only counts whether it is zero
    "_proved_form: + → - in explicit.subs(mass, 0) + explicit.expand().coeff(mass).subs(inside, location) * mass",
    "_proved_form: * → / in explicit.expand().coeff(mass).subs(inside, location) * mass",
    # how a limit is found: when substitution will do, and in which variable
    "_limit: 0 → 1 in sp.log(0)",
    "_limit: branches exchanged in '+' if end.is_zero else '-'",
    "_limit: minus dropped in -1",
    "_limit: - → + in stretched - 1",
    "_limit: 1 → 2 in stretched - 1",
}


def harmless(description: str) -> bool:
    name, _, alteration = description.partition(": ")
    for pattern in HARMLESS:
        where, _, what = pattern.partition(": ")
        fits = where in ("*", name) or (where.startswith("*.") and name.endswith(where[1:]))
        if fits and what in ("*", alteration):
            return True
    return False


def chosen(module: str) -> Iterator[Mutant]:
    """A few mutants of each function of a module, spread over it."""
    by_function: dict[str, list[Mutant]] = {}
    of_law = module.startswith("laws.")
    for mutant in mutants(importlib.import_module(f"mlptsym.{module if of_law else f'symbolic.{module}'}")):
        name = mutant.description.partition(":")[0]
        if name.endswith("_formula") or name in COMPILED_ONLY:
            continue
        if not harmless(mutant.description) and (name.endswith(".formulas") or not of_law):
            by_function.setdefault(name, []).append(mutant)
    places = max(1, PLACES // 2) if module in SLOW else PLACES
    for found in by_function.values():
        step = max(1, -(-len(found) // places))
        yield from found[::step]


@pytest.mark.parametrize(
    ("module", "mutant"),
    [
        pytest.param(module, mutant, id=f"{module}.{mutant.description}")
        for module in WATCHED
        for mutant in chosen(module)
    ],
)
def test_an_altered_formula_fails_an_entry(module: str, mutant: Mutant) -> None:
    function = f"{module}.{mutant.description.partition(':')[0]}"
    with applied(mutant):
        try:
            entries = select(OWN.get(function, WATCHED[module]))
        except Exception:  # the ledger cannot even be set up
            return
        assert not all(checked(entry).holds for entry in entries)


def test_a_formula_is_as_it_was_afterwards() -> None:
    """What fails above passes without an alteration: test_ledger verifies every entry."""
    mutant = next(chosen("model.memory"))
    original = mutant.function.__code__
    with applied(mutant):
        assert mutant.function.__code__ is mutant.code
    assert mutant.function.__code__ is original


def test_every_module_of_formulas_is_altered() -> None:
    found = pkgutil.walk_packages(symbolic.__path__, "mlptsym.symbolic.")
    names = {module.name.removeprefix("mlptsym.symbolic.") for module in found if not module.ispkg}
    formulas = {module for module in WATCHED if not module.startswith("laws.")}
    assert names == {*formulas, "algebra.cached", "algebra.formula"}  # the modules without a formula
    for module in WATCHED:
        assert list(chosen(module))
