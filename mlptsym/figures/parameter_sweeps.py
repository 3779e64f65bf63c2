"""The best quantum θ* and the rule of thumb θ̂ against ℓ_C, β and γ, figure 10; the plateaus of θ*, figure 11."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlptsym import validation
from mlptsym.figures.drawing import checked_data, columns, draw_curve, empty_figure, legend_above, typeset
from mlptsym.figures.record import FigureData
from mlptsym.figures.style import figure_size, line_style, paper_style
from mlptsym.numeric.model.queue import Queue
from mlptsym.studies.best_quanta import Found, best_quanta, plateaus, rules_of_thumb, threshold_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "NAMES",
    "ParameterSweep",
    "best_curve",
    "best_quanta_by_parameter",
    "draw_best_quanta",
    "draw_plateaus",
    "plateaus_by_threshold",
    "rule_curve",
    "summary",
]

NAMES = ("slowdown_threshold", "slowdown_factor", "preemption_cost")
HIGHEST = 13.0
"""Largest quantum that is drawn, in units of E[L]."""

_AXES = {
    "slowdown_threshold": r"$\ell_C/\mathrm{E}[L]$",
    "slowdown_factor": r"slowdown factor $\beta$",
    "preemption_cost": r"preemption cost $\gamma$",
}
_GREY = "#8c8c8c"


@dataclass(frozen=True)
class ParameterSweep:
    """A queue with one parameter that takes all values of a range.

    Parameters
    ----------
    queue : Queue
        Its other parameters.
    name : {"slowdown_threshold", "slowdown_factor", "preemption_cost"}
        Which one; the threshold ℓ_C in units of the mean size E[L].
    low, high : float
        The range.

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
    """θ* and θ̂ for several k against a parameter, in units of E[L].

    Parameters
    ----------
    sweeps : mapping of str to ParameterSweep
        By panel.
    levels : sequence of int or inf
        The values of k.
    points : int
        Number of points of each curve to begin with.

    Returns
    -------
    FigureData
        Curves ``θ*, k = 2``, …, ``θ̂, k = 2``, …; ``inf`` where FCFS is best.  Where a curve jumps, both values are
        there with the same x.  The ends of plateaus are markers called ``θ*, k = 2: ℓ_C/1``, ….
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


def draw_best_quanta(data: FigureData, sweeps: Mapping[str, ParameterSweep]) -> Figure:
    """Draw the data of `best_quanta_by_parameter`: the first panel on the left, the others in two rows beside it.

    Parameters
    ----------
    data : FigureData
    sweeps : mapping of str to ParameterSweep
        As they were computed for: five, by panel.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    data = checked_data(data, "best_quanta_by_parameter", lambda found: bool(found.select(kind="theory")))
    allowed = "a mapping of five panels to ParameterSweep"
    if len(validation.mapping("sweeps", sweeps, allowed)) != 5:
        validation.refuse("sweeps", sweeps, allowed)
    for panel, sweep in sweeps.items():
        validation.instance("sweeps", panel, str, allowed)
        validation.instance("sweeps", sweep, ParameterSweep, allowed)
    with paper_style():
        figure = Figure(figsize=figure_size("page", 4.2))
        first, *others = sweeps
        mosaic: Any = [[first, others[0], others[1]], [first, others[2], others[3]]]
        panels = figure.subplot_mosaic(mosaic, width_ratios=(1.25, 1, 1))
        curves = list(dict.fromkeys(row.curve for row in data.select(kind="theory")))
        for panel, axes in panels.items():
            sweep = sweeps[panel]
            _draw_parts(axes, sweep, named=panel == first)
            for index, curve in enumerate(curves):
                rows = data.select(panel, curve, "theory")
                draw_curve(axes, rows, line_style(index), label=typeset(curve), zorder=2.0 + 0.1 * index)
            ends = [row for row in data.select(panel=panel, kind="marker") if row.x not in {sweep.low, sweep.high}]
            x, y, _ = columns(ends)
            axes.plot(
                x, y, linestyle="none", marker="o", markersize=2.6, color="white", markeredgecolor="black", zorder=3
            )
            _, heights, _ = columns(row for row in data.select(panel=panel, kind="theory") if row.y <= HIGHEST)
            axes.set(
                xlim=(sweep.low, sweep.high),
                ylim=(0, 1.12 * heights.max(initial=1.0)),
                xlabel=_AXES[sweep.name],
                ylabel=r"quantum$/\mathrm{E}[L]$" if panel in {first, others[0], others[2]} else "",
            )
            text = axes.text(0.5, 0.97, typeset(panel), transform=axes.transAxes, ha="center", va="top", zorder=4)
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0})
        legend_above(figure, panels[first], rows=1)
        return figure


def _draw_parts(axes: Axes, sweep: ParameterSweep, *, named: bool) -> None:
    """Thin lines at ℓ_C, ℓ_C/2 and ℓ_C/3, in units of E[L], named near their right ends."""
    ends = np.array([sweep.low, sweep.high])
    thresholds = np.array([threshold_of(sweep.at(end)) for end in ends.tolist()]) / sweep.queue.size.mean
    for number in (1, 2, 3):
        axes.plot(ends, thresholds / number, color=_GREY, linewidth=0.5, linestyle=(0, (4, 2)), zorder=1.2)
        if named:
            name = r"$\ell_C$" if number == 1 else rf"$\ell_C/{number}$"
            place = (ends[-1], thresholds[-1] / number)
            axes.annotate(name, place, (-3, 3), textcoords="offset points", ha="right", va="bottom", color="#595959")


# plateaus

QUANTUM, RATIO = "θ*/E[L]", "ℓ_C/θ*"


def plateaus_by_threshold(
    queue: Queue, costs: Sequence[float], low: float, high: float, points: int = 41
) -> tuple[FigureData, dict[float, tuple[Found, ...]]]:
    """θ* for k = ∞ against ℓ_C, for several γ: as it is, and as the number of quanta up to ℓ_C.

    Parameters
    ----------
    queue : Queue
        Its ℓ_C and γ are not used.
    costs : sequence of float
        The values of γ, each >= 0.
    low, high : float
        Range of ℓ_C, in units of E[L].
    points : int
        Number of points of each curve to begin with.

    Returns
    -------
    data : FigureData
        Panels ``θ*/E[L]`` and ``ℓ_C/θ*``, a curve ``γ = 0.1`` for each γ; the ends of the plateaus are markers.
    found : dict of float to tuple of Found
        By γ.
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


def draw_plateaus(data: FigureData) -> Figure:
    """Draw the data of `plateaus_by_threshold`, θ* on the left and ℓ_C/θ* on the right.

    Parameters
    ----------
    data : FigureData

    Returns
    -------
    matplotlib.figure.Figure
        On the plateaus the lines are thick.
    """
    data = checked_data(data, "plateaus_by_threshold", _is_whole)
    with paper_style():
        figure, (left, right) = empty_figure("page", 3.0, 2)
        for axes, panel in ((left, QUANTUM), (right, RATIO)):
            curves = list(dict.fromkeys(row.curve for row in data.select(panel, kind="theory")))
            for index, curve in enumerate(curves):
                style = line_style(index)
                draw_curve(axes, data.select(panel, curve, "theory"), style, label=typeset(curve))
                for number in _numbers(data, panel, curve):
                    x, y, _ = columns(data.select(panel, f"{curve}: plateau {number}", "marker"))
                    axes.plot(
                        x,
                        y,
                        color=style["color"],
                        linestyle="-",
                        linewidth=3.2,
                        alpha=0.35,
                        solid_capstyle="butt",
                        zorder=1.8,
                    )
            x, y, _ = columns(row for row in data.select(panel, kind="theory") if row.y <= HIGHEST)
            axes.set(xlim=(x.min(), x.max()), ylim=(0, 1.05 * y.max()), xlabel=_AXES["slowdown_threshold"])
        left.set_ylabel(r"best quantum $\theta^*/\mathrm{E}[L]$, $k = \infty$")
        right.set_ylabel(r"quanta up to the slowdown, $\ell_C/\theta^*$")
        low, high = left.get_xlim()
        for number in range(1, math.ceil(right.get_ylim()[1])):
            left.plot([low, high], [low / number, high / number], color=_GREY, linewidth=0.4, linestyle=":", zorder=1.2)
        right.set_yticks(range(math.ceil(right.get_ylim()[1])))
        legend_above(figure, left, rows=1)
        return figure


def _is_whole(data: FigureData) -> bool:
    """In both panels curves over a range, some of them low enough to be drawn, and plateaus that are numbered."""
    lines = [data.select(panel, kind="theory") for panel in (QUANTUM, RATIO)]
    ranges = all(len({row.x for row in line if row.y <= HIGHEST}) > 1 for line in lines)
    named = all(re.fullmatch(r".*: plateau [0-9]+", row.curve) for row in data.select(kind="marker"))
    return ranges and named and all(row.y > 0 for row in data.rows)


def _numbers(data: FigureData, panel: str, curve: str) -> list[int]:
    names = dict.fromkeys(row.curve for row in data.select(panel, kind="marker"))
    return [int(name.rpartition(" ")[2]) for name in names if name.startswith(f"{curve}: plateau ")]
