"""Where A/B crosses the hazard rate of L: two-level MLPT, eq. (30), figures 3 to 5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.numeric.mean.two_levels import two_level_terms
from mlptsym.numeric.model.queue import Queue
from mlptsym.studies.data import FigureData

__all__ = ["HAZARD", "Crossing", "crossings", "hazard_crossings"]

Floats = NDArray[np.float64]

HAZARD = "h_L"

GRID = 600
"""Intervals searched for a change of sign, on either side of ℓ_C."""


@dataclass(frozen=True)
class Crossing:
    """A place where A/B crosses h_L, and so a stationary point or a kink of E[T].

    Its ``size`` x is in units of work; ``hazard`` is h_L(x), its height.  A ``kind`` is "minimum" (from below to
    above), "maximum" (from above to below) or "jump minimum" (from below to above by the jump at ℓ_C).
    """

    size: float
    hazard: float
    kind: str


def crossings(queue: Queue, longest: float) -> tuple[Crossing, ...]:
    """Every crossing of A/B and h_L at sizes up to ``longest``, in order.

    T′ has the sign of A/B − h_L.  Its zeros on either side of ℓ_C are searched on a grid and then solved for; at ℓ_C
    the signs of the one-sided derivatives tell.  Where a range of unstable sizes begins or ends nothing is crossed.

    Examples
    --------
    >>> from mlptsym import LogNormal
    >>> size = LogNormal(5, 0.9)
    >>> queue = Queue(size, 0.0036, 8 * size.mean, slowdown_factor=0.39, preemption_cost=0.1)
    >>> [(crossing.kind, round(crossing.size / size.mean, 2)) for crossing in crossings(queue, 12 * size.mean)]
    [('maximum', 0.39), ('minimum', 3.97)]
    """
    validation.instance("queue", queue, Queue, "a Queue")
    longest = validation.magnitude("longest", longest)
    kink, _ = queue.slowdown
    if not 0 < kink < longest:
        return _smooth_crossings(queue, 0.0, longest)
    before, after = (float(two_level_terms(queue, kink, side=side).derivative) for side in ("left", "right"))
    hazard = float(queue.size.hazard(np.float64(kink)))
    jump = (Crossing(kink, hazard, "jump minimum"),) if before < 0 < after else ()
    return _smooth_crossings(queue, 0.0, kink) + jump + _smooth_crossings(queue, kink, longest)


def _smooth_crossings(queue: Queue, low: float, high: float) -> tuple[Crossing, ...]:
    from scipy.optimize import brentq

    def excess(x: Any) -> Any:
        """A − B h_L: unlike T′, not flat where the tail of L is small."""
        terms = two_level_terms(queue, x)
        return np.where(terms.load < 1, terms.A, np.nan) - np.where(terms.load < 1, terms.B, np.nan) * terms.hazard

    inside = low + (high - low) * (np.arange(GRID) + 0.5) / GRID
    signs = np.sign(excess(inside))
    found = []
    for place in np.flatnonzero(signs[1:] * signs[:-1] < 0):
        size = float(brentq(excess, inside[place], inside[place + 1], xtol=1e-12 * high, rtol=1e-14))
        kind = "minimum" if signs[place] < 0 else "maximum"
        found.append(Crossing(size, float(queue.size.hazard(size)), kind))
    return tuple(found)


def hazard_crossings(panels: Mapping[str, Mapping[str, Queue]], longest: float, points: int = 150) -> FigureData:
    """A/B of several queues and the hazard rate of their size law against x, with every crossing.

    The queues are given by panel and by label; those of one panel have one size law.  There are ``points`` on each
    side of ℓ_C, up to ``longest``, in units of work.  The curve of a label has ℓ_C twice where A/B jumps, with the
    limits from the left and from the right, and is ``inf`` where the queue is unstable.  Markers are called after the
    curve and the kind of the crossing, as in ``A/B: jump minimum``.
    """
    data = FigureData()
    allowed = "a mapping of panels to mappings of labels to queues"
    points = validation.points("points", points)
    for panel, queues in validation.mapping("panels", panels, allowed).items():
        for label, queue in validation.mapping("panels", queues, allowed).items():
            validation.instance("panels", queue, Queue, allowed)
            x, ratio, hazard = _curves(queue, validation.magnitude("longest", longest), points)
            if not data.select(panel=panel):
                data = data.with_curve(panel, HAZARD, "theory", x, hazard)
            data = data.with_curve(panel, label, "theory", x, ratio)
            for crossing in crossings(queue, longest):
                name = f"{label}: {crossing.kind}"
                data = data.with_curve(panel, name, "marker", crossing.size, crossing.hazard)
    return data


def _curves(queue: Queue, longest: float, points: int) -> tuple[Floats, Floats, Floats]:
    """x, A/B and h_L, with ℓ_C twice where it lies inside."""
    kink, _ = queue.slowdown
    steps = np.arange(1, points + 1) / points  # ends in one exactly, so that ℓ_C comes twice
    dense_near_zero = steps**2
    if not 0 < kink < longest:
        x = longest * dense_near_zero
        return x, two_level_terms(queue, x).ratio, queue.size.hazard(x)
    below = kink * dense_near_zero
    above = kink + (longest - kink) * np.insert(steps, 0, 0.0)
    ratios = [two_level_terms(queue, x, side=side).ratio for x, side in ((below, "left"), (above, "right"))]
    x = np.concatenate([below, above])
    return x, np.concatenate(ratios), queue.size.hazard(x)
