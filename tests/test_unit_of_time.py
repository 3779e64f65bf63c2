"""Nothing depends on the unit of time: with every time a million times as long, or as short, answers scale with it.

Times scale like the unit, rates and indices like its inverse; loads, probabilities, gains and slopes of E[T] do not.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlptsym as mq
from mlptsym.laws.base import SizeLaw
from mlptsym.numeric.gittins.table import gittins_table
from mlptsym.numeric.levels.foreground import foreground_background_time
from mlptsym.numeric.mean.gradient import quantum_slopes, response_gradient
from mlptsym.simulation.simulate import simulate_many

UNITS = (2.0**-20, 1.0, 2.0**20)  # powers of two: most numbers scale without rounding, so that ties stay ties
INF = math.inf
LAWS: dict[str, Callable[[float], SizeLaw]] = {
    "lognormal": lambda unit: mq.LogNormal(1.0 + math.log(unit), 0.9),
    "lomax": lambda unit: mq.Lomax(4.6, 7.0 * unit),
    "uniform": lambda unit: mq.Uniform(1.0 * unit, 6.0 * unit),
    "empirical": lambda unit: mq.Empirical([size * unit for size in (1.0, 2.0, 2.0, 3.5, 9.0)]),
}
SMOOTH = ("lognormal", "lomax", "uniform")
MEMORIES: dict[str, Callable[[float], Any]] = {
    "affine": lambda unit: mq.AffineMemory(0.5 * unit, 1.0),
    "saturating": lambda unit: mq.SaturatingMemory(1.0, 7.0 * unit, 0.2 * unit),
}


def queue(law: str, unit: float, memory: str = "affine", gamma: float = 0.05) -> mq.Queue:
    size = LAWS[law](unit)
    return mq.Queue(size, 0.7 / (size.mean * 1.3), 8.0 * unit, 0.5, gamma, MEMORIES[memory](unit))


def in_this_unit(unit: float, **answers: Any) -> dict[str, Any]:
    """Answers in the unit of 1.0; a name says by its end to which power of time each belongs."""
    powers = {"time": 1, "square": 2, "rate": -1, "number": 0}
    return {name: np.asarray(value) / unit ** powers[name.rpartition("_")[2]] for name, value in answers.items()}


def check(ask: Callable[[float], dict[str, Any]], tolerance: float) -> None:
    """The same answers in every unit."""
    short, one, long = (in_this_unit(unit, **ask(unit)) for unit in UNITS)
    for name, expected in one.items():
        assert np.isfinite(expected).all()
        for other in (short, long):
            np.testing.assert_allclose(other[name], expected, rtol=tolerance, err_msg=name)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("levels", [2, 5, INF])
@pytest.mark.parametrize("law", LAWS)
def test_mean_and_table(law: str, levels: float, memory: str) -> None:
    def ask(unit: float) -> dict[str, Any]:
        here, policy = queue(law, unit, memory), mq.MLPT(quantum=2.2 * unit, levels=levels)
        table = mq.level_table(here, policy)
        rows = table.probability > 1e-9
        return {
            "mean_time": table.mean_response_time,
            "waiting_time": table.waiting_time[rows],
            "response_time": table.response_time[rows],
            "share_number": table.probability[rows],
            "load_number": mq.solve(here, policy).effective_load,
        }

    check(ask, 1e-11)


@pytest.mark.parametrize("levels", [2, 5, INF])
@pytest.mark.parametrize("law", SMOOTH)
def test_slopes(law: str, levels: float) -> None:
    def ask(unit: float) -> dict[str, Any]:
        here = queue(law, unit)
        slopes = quantum_slopes(here, np.array([1.7, 3.1, 12.0]) * unit, levels)
        gradient = response_gradient(here, np.array([[1.5], [4.0], [11.0]]) * unit)
        return {"mean_time": slopes.mean_response_time, "slope_number": slopes.slope, "each_number": gradient.slopes}

    check(ask, 1e-8)


@pytest.mark.parametrize("levels", [2, 4, INF])
@pytest.mark.parametrize("law", ["lognormal", "lomax", "empirical"])
def test_best_quantum(law: str, levels: float) -> None:
    def ask(unit: float) -> dict[str, Any]:
        best = mq.optimal_quantum(queue(law, unit, gamma=0.01), levels)
        return {"least_time": best.mean_response_time, "quantum_time": best.quantum, "gain_number": best.gain}

    check(ask, 1e-9)


@pytest.mark.parametrize("law", ["lognormal", "empirical"])
def test_certified_quantum(law: str) -> None:
    def ask(unit: float) -> dict[str, Any]:
        best = mq.optimal_quantum(queue(law, unit, gamma=0.01), 2, certify=True)
        assert best.open_quanta == ()
        return {"lower_time": best.lower, "upper_time": best.upper}

    check(ask, 1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_best_quanta(law: str) -> None:
    def ask(unit: float) -> dict[str, Any]:
        best = mq.optimal_quanta(queue(law, unit, gamma=0.01), 3)
        return {"least_time": best.mean_response_time, "each_time": best.boundaries}

    check(ask, 1e-6)  # a boundary is known to the square root of the rounding of E[T] where it is not a zero of a slope


def test_best_quantum_for_a_weighted_sum() -> None:
    def ask(unit: float) -> dict[str, Any]:
        best = mq.best_quantum_for(queue("lognormal", unit, gamma=0.01), 2, {"mean": 0.9, "p90": 0.1})
        return {"best_time": best.value}

    check(ask, 1e-6)


@pytest.mark.parametrize("law", ["lognormal", "uniform", "empirical"])  # E[1/S] is infinite for the fourth
def test_rule_of_thumb_and_slowdown(law: str) -> None:
    def ask(unit: float) -> dict[str, Any]:
        here = queue(law, unit)
        return {
            "rule_time": mq.rule_of_thumb(here, INF),
            "slowdown_number": mq.mean_slowdown(here, mq.MLPT(quantum=2.2 * unit, levels=3)),
            "limit_time": foreground_background_time(here),
        }

    check(ask, 1e-9)


@pytest.mark.parametrize("levels", [1, 2, INF])
@pytest.mark.parametrize("law", LAWS)
def test_distribution(law: str, levels: float) -> None:
    def ask(unit: float) -> dict[str, Any]:
        policy = mq.FCFS() if levels == 1 else mq.MLPT(quantum=2.2 * unit, levels=levels)
        found = mq.response_time_distribution(queue(law, unit), policy)
        return {
            "chances_number": found.cdf(np.array([2.0, 6.5, 40.0]) * unit),
            "quantiles_time": found.quantile([0.2, 0.9, 0.99]),
            "second_square": found.moment(2),
            "first_level_time": found.by_level[0].quantile(0.9),
        }

    check(ask, 1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_gittins_index(law: str) -> None:
    def ask(unit: float) -> dict[str, Any]:
        here = queue(law, unit)
        index = mq.gittins_index(here, np.array([0.0, 0.7, 3.0, 5.5]) * unit)
        table = gittins_table(here)
        return {"index_rate": index.index, "ranks_time": table.rank(np.array([0.3, 2.0, 6.0]) * unit)}

    check(ask, 1e-6)  # the table's tolerance


@pytest.mark.parametrize("law", LAWS)
def test_simulation_of_the_same_seed(law: str) -> None:
    """The same jobs in the same order."""

    def ask(unit: float) -> dict[str, Any]:
        here = queue(law, unit)
        quantum = 2.3 * unit
        policies = [mq.FCFS(), mq.MLPT(quantum=quantum, levels=3), mq.MLPT(quantum=quantum, levels=3, lazy=True)]
        results = simulate_many(here, [*policies, mq.CappedGittins(2)], jobs=3000, warmup=300, seeds=2)
        controlled = mq.simulate(here, policies[1], jobs=3000, warmup=300, seeds=4, control=True)
        return {
            **{f"mean_{place}_time": result.seed_means for place, result in enumerate(results)},
            "adjusted_time": controlled.mean,
            "error_time": controlled.standard_error,
        }

    check(ask, 1e-8)


@pytest.mark.parametrize("law", SMOOTH)
def test_terms_of_two_levels(law: str) -> None:
    def ask(unit: float) -> dict[str, Any]:
        terms = mq.two_level_terms(queue(law, unit), np.array([1.5, 2.5]) * unit)
        return {"A_number": terms.A, "B_time": terms.B, "ratio_rate": terms.ratio, "slope_number": terms.derivative}

    check(ask, 1e-9)
