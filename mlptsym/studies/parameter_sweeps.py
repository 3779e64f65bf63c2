"""The best quantum θ* and the rule of thumb θ̂ against ℓ_C, β and γ, figure 10; the plateaus of θ*, figure 11."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlptsym import validation
from mlptsym.numeric.model.queue import Queue
from mlptsym.studies.best_quanta import Found, best_quanta, plateaus, rules_of_thumb, threshold_of
from mlptsym.studies.data import FigureData, checked_data

__all__ = [
    "HIGHEST",
    "NAMES",
    "QUANTUM",
    "RATIO",
    "ParameterSweep",
    "best_curve",
    "best_quanta_by_parameter",
    "plateaus_by_threshold",
    "rule_curve",
    "summary",
]

NAMES = ("slowdown_threshold", "slowdown_factor", "preemption_cost")

HIGHEST = 13.0
"""Largest quantum that is drawn, in units of E[L]."""


@dataclass(frozen=True)
class ParameterSweep:
    """A queue with one parameter that takes all values from ``low`` to ``high``.

    Its ``name`` is "slowdown_threshold" (ℓ_C, in units of the mean size E[L]), "slowdown_factor" or "preemption_cost".

    Raises
    ------
    ParameterError
        If the name is another one, the range is empty, or it reaches below 0 or beyond 1e30.
    """

    queue: Queue
    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        validation.instance("queue", self.queue, Queue, "a Queue")
        validation.choice("name", self.name, NAMES)
        low = validation.number("low", self.low, at_least=0)
        validation.number("high", self.high, above=low, at_most=validation.LARGEST)

    def at(self, value: float) -> Queue:
        """The queue for a value of the parameter."""
        scale = self.queue.size.mean if self.name == "slowdown_threshold" else 1.0
        changes: dict[str, Any] = {self.name: scale * validation.number("value", value)}
        return replace(self.queue, **changes)

    def best(self, levels: float, points: int = 25) -> tuple[Found, ...]:
        """θ* over the range, as `best_quanta` has it."""
        highest = HIGHEST * self.queue.size.mean
        return best_quanta(self.at, levels, self.low, self.high, points, highest=highest)


def best_curve(levels: float) -> str:
    """Name of the curve of θ* for k levels.

    Examples
    --------
    >>> best_curve(2), best_curve(math.inf)
    ('θ*, k = 2', 'θ*, k = ∞')
    """
    return f"θ*, k = {_number(levels)}"


def rule_curve(levels: float) -> str:
    """Name of the curve of θ̂ for k levels."""
    return f"θ̂, k = {_number(levels)}"


def _number(levels: float) -> str:
    count = validation.levels("levels", levels)
    return "∞" if math.isinf(count) else f"{count:g}"


def best_quanta_by_parameter(
    sweeps: Mapping[str, ParameterSweep], levels: Sequence[float], points: int = 25
) -> FigureData:
    """θ* and θ̂ for several k against a parameter, in units of E[L], by panel.

    Curves ``θ*, k = 2``, …, ``θ̂, k = 2``, …, of ``points`` to begin with; ``inf`` where FCFS is best.  Where a curve
    jumps, both values are there with the same x.  The ends of plateaus are markers called ``θ*, k = 2: ℓ_C/1``, ….
    """
    data = FigureData()
    allowed = "a mapping of panels to ParameterSweep"
    levels = validation.level_counts("levels", levels, at_least=2)
    points = validation.points("points", points)
    for panel, sweep in validation.mapping("sweeps", sweeps, allowed).items():
        validation.instance("sweeps", sweep, ParameterSweep, allowed)
        mean = sweep.queue.size.mean
        for k in levels:
            found = sweep.best(k, points)
            data = data.with_curve(
                panel,
                best_curve(k),
                "theory",
                [one.parameter for one in found],
                [one.best.quantum / mean for one in found],
            )
            for number, ends in plateaus(found).items():
                heights = [threshold_of(sweep.at(end)) / number / mean for end in ends]
                data = data.with_curve(panel, f"{best_curve(k)}: ℓ_C/{number}", "marker", ends, heights)
        even = np.linspace(sweep.low, sweep.high, 3 * (points - 1) + 1).tolist()
        for k in levels:
            places, quanta = rules_of_thumb(sweep.at, k, even)
            data = data.with_curve(panel, rule_curve(k), "theory", places, [quantum / mean for quantum in quanta])
    return data


def summary(data: FigureData) -> tuple[str, ...]:
    """Plateaus and jumps in the data of `best_quanta_by_parameter`, a line each.

    Examples
    --------
    >>> data = FigureData().with_curve("(a)", "θ*, k = 2", "theory", [1, 2, 2, 3], [1, 2, 4, 4])
    >>> summary(data.with_curve("(a)", "θ*, k = 2: ℓ_C/1", "marker", [1, 2], [1, 2]))
    ('(a): θ*, k = 2: ℓ_C/1 from 1 to 2', '(a): θ*, k = 2 jumps at 2 from 2 to 4 E[L]')
    """
    lines = []
    data = checked_data(data, "best_quanta_by_parameter", _has_pairs)
    for panel in dict.fromkeys(row.panel for row in data.rows):
        ends = data.select(panel=panel, kind="marker")
        for first, last in zip(ends[::2], ends[1::2], strict=True):
            lines.append(f"{panel}: {first.curve} from {first.x:.8g} to {last.x:.8g}")
        for left, right in itertools.pairwise(data.select(panel=panel, kind="theory")):
            if left.curve == right.curve and left.x == right.x:
                lines.append(f"{panel}: {left.curve} jumps at {left.x:.8g} from {left.y:.8g} to {right.y:.8g} E[L]")
    return tuple(lines)


def _has_pairs(data: FigureData) -> bool:
    """Whether all plateaus have two ends."""
    return all(len(data.select(panel=panel, kind="marker")) % 2 == 0 for panel in {row.panel for row in data.rows})


QUANTUM, RATIO = "θ*/E[L]", "ℓ_C/θ*"


def plateaus_by_threshold(
    queue: Queue, costs: Sequence[float], low: float, high: float, points: int = 41
) -> tuple[FigureData, dict[float, tuple[Found, ...]]]:
    """θ* for k = ∞ against ℓ_C, in units of E[L], for several γ: as it is, and as the number of quanta up to ℓ_C.

    Panels ``θ*/E[L]`` and ``ℓ_C/θ*``, a curve ``γ = 0.1`` for each γ; the ends of the plateaus are markers.  Beside
    the data, what was found is returned by γ.
    """
    data = FigureData()
    validation.instance("queue", queue, Queue, "a Queue")
    by_cost: dict[float, tuple[Found, ...]] = {}
    for cost in validation.numbers("costs", costs, at_least=0, maximum_length=validation.MOST_CURVES):
        sweep = ParameterSweep(replace(queue, preemption_cost=cost), "slowdown_threshold", low, high)
        found = sweep.best(math.inf, points)
        by_cost[cost] = found
        name, mean = f"γ = {cost:g}", queue.size.mean
        x = [one.parameter for one in found]
        quanta = [one.best.quantum / mean for one in found]
        ratios = [one.threshold / one.best.quantum for one in found]
        data = data.with_curve(QUANTUM, name, "theory", x, quanta).with_curve(RATIO, name, "theory", x, ratios)
        for number, ends in plateaus(found).items():
            label = f"{name}: plateau {number}"
            data = data.with_curve(QUANTUM, label, "marker", ends, [end / number for end in ends])
            data = data.with_curve(RATIO, label, "marker", ends, number)
    return data, by_cost
