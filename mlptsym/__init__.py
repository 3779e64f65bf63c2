"""mlptsym: derive, prove and compute the queueing results of "Queuing for Inference" (M/G^g/1_Cβ, MLPT-(θ, k)).

Names are loaded when they are first used, so that ``import mlptsym`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mlptsym.laws import HOMES as LAWS
from mlptsym.memory import HOMES as MEMORIES
from mlptsym.version import __version__ as __version__

if TYPE_CHECKING:
    from mlptsym.laws.deterministic import Deterministic
    from mlptsym.laws.empirical import Empirical
    from mlptsym.laws.erlang import Erlang
    from mlptsym.laws.exponential import Exponential
    from mlptsym.laws.gamma import Gamma
    from mlptsym.laws.hyper_exponential import HyperExponential
    from mlptsym.laws.log_normal import LogNormal
    from mlptsym.laws.lomax import Lomax
    from mlptsym.laws.uniform import Uniform
    from mlptsym.laws.weibull import Weibull
    from mlptsym.memory.affine import AffineMemory
    from mlptsym.memory.linear import LinearMemory
    from mlptsym.memory.paged import PagedMemory
    from mlptsym.memory.saturating import SaturatingMemory
    from mlptsym.numeric.distribution.percentiles import response_time_distribution
    from mlptsym.numeric.gittins.capped import CappedGittins
    from mlptsym.numeric.gittins.index import gittins_index
    from mlptsym.numeric.mean.lazy import lazy_terms
    from mlptsym.numeric.mean.lazy_three import lazy_three_terms
    from mlptsym.numeric.mean.response import level_table, mean_response_time, solve
    from mlptsym.numeric.mean.two_levels import two_level_terms
    from mlptsym.numeric.model.policies import FCFS, MLPT
    from mlptsym.numeric.model.queue import Queue
    from mlptsym.numeric.optimal.objectives import best_quantum_for, mean_slowdown
    from mlptsym.numeric.optimal.optimum import optimal_quantum, rule_of_thumb
    from mlptsym.numeric.optimal.unequal import optimal_quanta
    from mlptsym.simulation.simulate import response_times, simulate
    from mlptsym.sweeps import parallel
    from mlptsym.validation import ParameterError

__all__ = [
    "FCFS",
    "MLPT",
    "AffineMemory",
    "CappedGittins",
    "Deterministic",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "HyperExponential",
    "LinearMemory",
    "LogNormal",
    "Lomax",
    "PagedMemory",
    "ParameterError",
    "Queue",
    "SaturatingMemory",
    "Uniform",
    "Weibull",
    "best_quantum_for",
    "gittins_index",
    "lazy_terms",
    "lazy_three_terms",
    "level_table",
    "mean_response_time",
    "mean_slowdown",
    "optimal_quanta",
    "optimal_quantum",
    "parallel",
    "response_time_distribution",
    "response_times",
    "rule_of_thumb",
    "simulate",
    "solve",
    "two_level_terms",
]

_HOMES = {
    "mlptsym.numeric.gittins.capped": ("CappedGittins",),
    "mlptsym.numeric.distribution.percentiles": ("response_time_distribution",),
    "mlptsym.numeric.gittins.index": ("gittins_index",),
    "mlptsym.numeric.optimal.objectives": ("best_quantum_for", "mean_slowdown"),
    "mlptsym.numeric.optimal.optimum": ("optimal_quantum", "rule_of_thumb"),
    "mlptsym.numeric.model.policies": ("FCFS", "MLPT"),
    "mlptsym.numeric.model.queue": ("Queue",),
    "mlptsym.numeric.mean.lazy": ("lazy_terms",),
    "mlptsym.numeric.mean.lazy_three": ("lazy_three_terms",),
    "mlptsym.numeric.mean.response": ("level_table", "mean_response_time", "solve"),
    "mlptsym.numeric.mean.two_levels": ("two_level_terms",),
    "mlptsym.numeric.optimal.unequal": ("optimal_quanta",),
    "mlptsym.simulation.simulate": ("response_times", "simulate"),
    "mlptsym.sweeps": ("parallel",),
    "mlptsym.validation": ("ParameterError",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names} | LAWS | MEMORIES

__all__ += [name for name in [*LAWS, *MEMORIES] if name not in __all__]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'mlptsym' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
