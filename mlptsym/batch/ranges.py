"""The ranges of the notebooks' parameters, as the library itself states them.

A notebook hands its parameters to the library, which refuses what is out of range, but only when it runs.  Here the
same parts of the library are asked beforehand, each with one parameter and harmless values for the others, so that no
range is written down a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mlptsym.validation import ParameterError, integer, number

__all__ = ["PLURALS", "check_range", "known_ranges"]

PLURALS: Mapping[str, str] = {
    "beta_range": "beta",
    "betas": "beta",
    "costs": "cost",
    "gamma_range": "gamma",
    "gammas": "gamma",
    "loads": "load",
    "probabilities": "probability",
    "quanta_range": "quantum",
    "shortest": "quantum",
    "simulated": "quantum",
    "threshold_range": "threshold",
    "thresholds": "threshold",
}
"""Parameters that list values of another."""


def known_ranges() -> Mapping[str, Callable[[Any], object]]:
    """By parameter, a function that refuses a value out of range with a `ParameterError`."""
    from mlptsym.laws.exponential import Exponential
    from mlptsym.laws.log_normal import LogNormal
    from mlptsym.memory.linear import LinearMemory
    from mlptsym.numeric.gittins.capped import CappedGittins
    from mlptsym.numeric.model.policies import MLPT
    from mlptsym.numeric.model.queue import Queue
    from mlptsym.numeric.optimal.unequal import LARGEST as MOST_UNEQUAL_LEVELS
    from mlptsym.simulation.simulate import simulate_many

    queue = partial(Queue, Exponential(1.0))
    simulation = partial(simulate_many, queue(0.5), ())
    return {
        "alpha": LinearMemory,
        "arrival_rate": queue,
        "beta": lambda value: queue(0.5, slowdown_factor=value),
        "capacity": lambda value: queue(0.5, capacity=value),
        "cost": lambda value: number("cost", value, above=0),
        "exponential_mean": lambda value: number("mean", value, above=0),
        "gamma": lambda value: queue(0.5, preemption_cost=value),
        "highest": lambda value: number("highest", value, above=0),
        "jobs": lambda value: simulation(jobs=value, warmup=0),
        "levels": lambda value: MLPT(quantum=1.0, levels=value),
        "load": lambda value: number("load", value, above=0, at_most=1),
        "longest": lambda value: number("longest", value, above=0),
        "lowest": lambda value: number("lowest", value, above=0),
        "mean_size": lambda value: number("mean_size", value, above=0),
        "most_levels": lambda value: integer("most_levels", value, at_least=2, at_most=MOST_UNEQUAL_LEVELS),
        "mu": lambda value: LogNormal(value, 1.0),
        "points": lambda value: integer("points", value, at_least=2),
        "preemptions": CappedGittins,
        "probability": lambda value: number("probability", value, above=0, below=1),
        "processes": lambda value: integer("processes", value, at_least=1),
        "quantum": lambda value: MLPT(quantum=value, levels=2),
        "root_seed": lambda value: simulation(root_seed=value),
        "seeds": lambda value: simulation(seeds=value),
        "sigma": lambda value: LogNormal(0.0, value),
        "size": lambda value: number("size", value, above=0),
        "threshold": lambda value: queue(0.5, slowdown_threshold=value),
        "warmup": lambda value: simulation(jobs=1, warmup=value),
    }


def check_range(name: str, value: Any, ranges: Mapping[str, Callable[[Any], object]]) -> None:
    """Refuse a value, or one item of a list, that the library would refuse; a parameter without a known range passes.

    Examples
    --------
    >>> check_range("gammas", [0.1, -0.2], known_ranges())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    mlptsym.validation.ParameterError: gammas = -0.2 is not allowed: it must be a finite number >= 0...
    """
    allowed = ranges.get(PLURALS.get(name, name))
    if allowed is None:
        return
    for item in value if isinstance(value, list) else [value]:
        try:
            allowed(item)
        except ParameterError as error:
            raise ParameterError(name, item, error.allowed) from error
