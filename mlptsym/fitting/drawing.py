"""The pictures of a report: sizes, arrivals, the quantum, and the tail of the response time."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlptsym.figures.drawing import plain
from mlptsym.figures.saving import check_figure
from mlptsym.figures.style import figure_size, line_style, paper_style, point_style
from mlptsym.fitting.fit import TraceFit, checked_fit
from mlptsym.fitting.laws import quantile_pairs
from mlptsym.fitting.words import policy_in_words
from mlptsym.numeric.model.policies import MLPT
from mlptsym.validation import instance, refuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = ["as_png", "draw_arrivals", "draw_everything", "draw_response", "draw_sizes"]

Floats = NDArray[np.float64]

SHOWN_LAWS = 3
BINS = 60
LOAD_WINDOWS = 120
LARGEST_WHOLE = 2**52  # up to here there are halves between whole numbers
HEIGHT = 2.6
DOTS_PER_INCH = 200
GREY = "#bfbfbf"
LIMIT: Mapping[str, Any] = {"color": "#7f7f7f", "linestyle": ":", "linewidth": 0.9}


def draw_sizes(fit: TraceFit) -> Figure:
    """Histogram of the sizes with the best laws, and their Q–Q plot."""
    checked_fit(fit)
    figure, (left, right) = _pair()
    with paper_style():
        _histogram(fit, left)
        _quantiles(fit, right)
    return figure


def draw_arrivals(fit: TraceFit) -> Figure:
    """Work that arrives over time, and the gaps between arrivals beside exponential ones; for a trace with times."""
    _times(checked_fit(fit))
    figure, (left, right) = _pair()
    with paper_style():
        _offered_load(fit, left)
        _gaps(fit, right)
    return figure


def draw_response(fit: TraceFit) -> Figure:
    """Mean response time against the quantum, and the tail of the response time: theory, and what the trace says."""
    checked_fit(fit)
    figure, (left, right) = _pair()
    with paper_style():
        _sweep(fit, left)
        _tails(fit, right)
    return figure


def draw_everything(fit: TraceFit, heading: str) -> Figure:
    """All of these in one picture, below some lines of text."""
    from matplotlib.figure import Figure

    rows = 2 if checked_fit(fit).arrivals is None else 3
    instance("heading", heading, str, "some lines of text")
    lines = heading.split("\n")
    head = 0.2 + 0.135 * len(lines)
    with paper_style():
        figure = Figure(figsize=figure_size("page", rows * HEIGHT + head))
        parts: Any = figure.subfigures(2, 1, height_ratios=[head, rows * HEIGHT])
        top, bottom = parts[0], parts[1]
        shown = "\n".join(map(plain, lines))
        top.text(0.015, 0.98, shown, va="top", ha="left", fontsize=7.5, linespacing=1.3, parse_math=False)
        axes = bottom.subplots(rows, 2)
        _histogram(fit, axes[0, 0])
        _quantiles(fit, axes[0, 1])
        if fit.arrivals is not None:
            _offered_load(fit, axes[1, 0])
            _gaps(fit, axes[1, 1])
        _sweep(fit, axes[-1, 0])
        _tails(fit, axes[-1, 1])
    return figure


def as_png(figure: Figure) -> bytes:
    """A figure as the content of a PNG file, the same for the same figure."""
    picture = io.BytesIO()
    check_figure(figure)
    with paper_style():
        figure.savefig(picture, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return picture.getvalue()


def _pair() -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    with paper_style():
        figure = Figure(figsize=figure_size("page", HEIGHT))
        return figure, list(figure.subplots(1, 2))


def _unit(fit: TraceFit) -> tuple[float, str]:
    """By what times are multiplied, and the name of the unit they are in then."""
    speed = fit.recommendation.scale.tokens_per_second
    return (1.0, "token times") if speed is None else (1 / speed, "s")


def _times(fit: TraceFit) -> Floats:
    times = fit.times
    if times is None:
        refuse("fit", fit, "of a trace with arrival times")
    return times


def _histogram(fit: TraceFit, axes: Axes) -> None:
    """Part of the sizes for each factor e of size, so that areas on the logarithmic axis are probabilities."""
    sizes = fit.trace.sizes
    low, high = sizes.min(), sizes.max()
    edges = np.geomspace(low, high, BINS + 1)
    if np.all(sizes == np.floor(sizes)) and high < LARGEST_WHOLE:
        edges = np.unique(np.round(edges)) + 0.5  # between whole numbers, so that no bin is empty by rounding
        edges = np.insert(edges, 0, low - 0.5)
    elif low == high:
        edges = low * np.array([0.9, 1.1])
    widths = np.diff(np.log(edges))
    height = np.histogram(sizes, edges)[0] / sizes.size / widths
    axes.stairs(height, edges, fill=True, color=GREY, label="trace")
    for index, law in enumerate(fit.laws[:SHOWN_LAWS]):
        mass = -np.diff(law.law.tail(edges))
        axes.plot(np.sqrt(edges[1:] * edges[:-1]), mass / widths, **line_style(index), label=law.name)
    axes.set(xscale="log", xlabel="size (tokens)", ylabel="density of the log of the size", ylim=(0, None))
    axes.set_title("Sizes")
    axes.legend()


def _quantiles(fit: TraceFit, axes: Axes) -> None:
    sample = fit.sample
    for index, law in enumerate(fit.laws[:SHOWN_LAWS]):
        pairs = quantile_pairs(sample, law.law, 60)
        axes.plot(pairs.law, pairs.sample, **point_style(index), label=law.name)
    ends = [sample.values[0], sample.maximum]
    axes.plot(ends, ends, **LIMIT)
    axes.set(xscale="log", yscale="log", xlabel="quantile of the law (tokens)", ylabel="quantile of the trace (tokens)")
    axes.set_xlim(ends[0] / 3, None)
    axes.set_title("Q–Q plot: on the dotted line where a law fits")
    if fit.laws:
        axes.legend(loc="upper left")


def _offered_load(fit: TraceFit, axes: Axes) -> None:
    """Service time that arrives in each of many windows, over the length of the window."""
    times = _times(fit)
    queue, scale = fit.recommendation.queue, fit.recommendation.scale
    edges = np.linspace(0, times[-1], LOAD_WINDOWS + 1)
    work = np.histogram(times, edges, weights=queue.service_time(fit.trace.sizes))[0]
    stretch = scale.stretch or 1.0
    seconds = work / (scale.tokens_per_second or 1.0)
    load = seconds * stretch / np.diff(edges)
    minutes, unit = (60.0, "minutes") if times[-1] > 120 else (1.0, "seconds")
    axes.stairs(load, edges / minutes, color=line_style(0)["color"], label=f"windows of {edges[1]:.3g} s")
    axes.axhline(queue.base_load, **line_style(2), label=f"mean, {queue.base_load:.3g}")
    axes.axhline(1.0, **LIMIT)
    axes.set(xlabel=f"time in the trace ({unit})", ylabel="load that arrives", ylim=(0, 1.25 * max(load.max(), 1.0)))
    axes.set_xlim(0, edges[-1] / minutes)
    axes.set_title("Load: above the dotted line a backlog builds up")
    axes.legend(loc="upper left", ncols=2)


def _gaps(fit: TraceFit, axes: Axes) -> None:
    times = _times(fit)
    gaps = np.sort(np.diff(times)) * (times.size - 1) / times[-1]
    tail = 1 - np.arange(1, gaps.size + 1) / gaps.size
    places = np.unique(np.minimum(gaps.size - np.geomspace(1, gaps.size, 300).astype(int), gaps.size - 2))
    places = places[gaps[places] > 0]
    axes.plot(gaps[places], tail[places], **line_style(0), label="trace")
    poisson = np.linspace(0, math.log(gaps.size), 200)[1:]
    axes.plot(poisson, np.exp(-poisson), **line_style(1), label="Poisson")
    low = max(float(gaps[places].min(initial=1e-3)), 1e-4)
    axes.set(yscale="log", xscale="log", xlabel="gap between arrivals (in mean gaps)", ylabel="part of the gaps above")
    axes.set_xlim(low, 1.5 * max(gaps[-1], poisson[-1]))
    axes.set_ylim(0.5 / gaps.size, 1.6)
    axes.set_title("Gaps between arrivals")
    axes.legend(loc="lower left")


def _sweep(fit: TraceFit, axes: Axes) -> None:
    found = fit.recommendation
    sweep, (unit, name) = found.sweep, _unit(fit)
    curves = [("theory (Poisson)", sweep.theory, found.fcfs.theory.mean, 0)]
    if sweep.trace is not None and found.fcfs.trace is not None:
        curves.append(("trace", sweep.trace, found.fcfs.trace.mean, 1))
    finite = []
    for label, means, fcfs, index in curves:
        style = line_style(index)
        axes.plot(sweep.quanta, unit * np.where(np.isfinite(means), means, np.nan), **style, label=f"MLPT, {label}")
        finite += [*means[np.isfinite(means)].tolist(), *([fcfs] if math.isfinite(fcfs) else [])]
        if math.isfinite(fcfs):
            level: dict[str, Any] = {"color": style["color"], "linestyle": ":", "linewidth": 0.9}
            axes.axhline(unit * fcfs, **level, label=f"FCFS, {label}")
    best = found.best.policy
    if isinstance(best, MLPT) and best.levels == sweep.levels:
        axes.plot(best.quantum, unit * found.best.theory.mean, **point_style(2), label="recommended")
    if finite:
        low, high = unit * min(finite), unit * min(max(finite), 40 * min(finite))
        room = (high / low) ** 0.6
        axes.set(yscale="log", ylim=(low / 1.15, high * max(room, 1.6)))
    k = "∞" if math.isinf(sweep.levels) else f"{sweep.levels:g}"
    axes.set(xscale="log", xlabel="quantum (token times)", ylabel=f"mean response time ({name})")
    _few_ticks(axes.yaxis)
    axes.set_title(f"Mean response time against the quantum, k = {k}")
    axes.legend(loc="upper right", ncols=2)


def _few_ticks(axis: Axis) -> None:
    """Plain numbers where a logarithmic axis spans less than a decade or two."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_view_interval()
    if high < 30 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 3, 5) if high < 10 * low else (1, 3)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _tails(fit: TraceFit, axes: Axes) -> None:
    found = fit.recommendation
    unit, name = _unit(fit)
    policies = [found.fcfs] if found.best is found.fcfs else [found.fcfs, found.best]
    for place, comparison in enumerate(policies):
        words = "FCFS" if place == 0 else policy_in_words(comparison.policy).split(",")[0]
        drawn = (
            ("theory", comparison.theory.tail, line_style(2 * place)),
            ("Poisson", comparison.poisson.tail, point_style(2 * place) | {"markersize": 3.0}),
            ("trace", None if comparison.trace is None else comparison.trace.tail, line_style(2 * place + 1)),
        )
        for label, tail, style in drawn:
            if tail is not None:
                axes.plot(unit * tail.times, tail.probability, **style, label=f"{words}, {label}")
    axes.axhline(0.01, **LIMIT)
    axes.set(xscale="log", yscale="log", xlabel=f"response time ({name})", ylabel="part of the requests above")
    axes.set_ylim(3e-4, 0.9)
    _few_ticks(axes.xaxis)
    axes.set_title("Tail of the response time: P99 on the dotted line")
    axes.legend()
