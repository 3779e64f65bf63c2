"""Two levels: T′(x), A(x), B(x) and the hazard of L over arrays (eq. (30) and appendix A)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.compile import compiled
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.saturation import SLOPE, refuse_saturated

__all__ = ["TwoLevelTerms", "two_level_terms"]

Floats = NDArray[np.float64]

SMALLEST_TAIL = 1e-290


@dataclass(frozen=True)
class TwoLevelTerms:
    """The derivative of E[T] for two levels, T′(x) = P(L > x) (A(x) − B(x) h_L(x)), at θ = q(x).

    Attributes
    ----------
    A, B : array
        Eq. (30); both ``inf`` where the queue is unstable at this x.
    hazard : array
        h_L(x).
    derivative : array
        T′(x); ``inf`` where the queue is unstable.
    load : array
        ρ_2^eff at this x.
    """

    A: Floats
    B: Floats
    hazard: Floats
    derivative: Floats
    load: Floats

    @property
    def ratio(self) -> Floats:
        """A/B, which a minimum of E[T] crosses the hazard from below; ``inf`` where the queue is unstable."""
        infinite: Floats = np.full(self.A.shape, np.inf)
        return np.divide(self.A, self.B, out=infinite, where=(self.load < 1) & (self.B != 0))


def two_level_terms(queue: Queue, x: ArrayLike, *, side: str = "right") -> TwoLevelTerms:
    """A, B, hazard and derivative of E[T] for MLPT with two levels whose boundary is at the service time of size x.

    Parameters
    ----------
    queue : Queue
        With any memory law; the paper's A and B are those of ``LinearMemory(1.0)``.
    x : array_like
        Intrinsic sizes, > 0.
    side : {"right", "left"}
        Which one-sided slope to take of q at x = ℓ_C, where it steps from 1 to 1/β, and of g where it bends.

    Returns
    -------
    TwoLevelTerms
        Arrays of the shape of ``x``.

    Raises
    ------
    ParameterError
        If an x is not a positive finite number, or E[S²] is infinite.
    SaturationError
        If 1 − 1e-8 < ρ^eff < 1 at one of the x: the error of A, B and T′ would be above 1e-6 of their largest terms.

    Examples
    --------
    >>> from mlptsym import LogNormal
    >>> queue = Queue(LogNormal(5, 0.9), 0.0036, slowdown_threshold=600.0, slowdown_factor=0.5, preemption_cost=0.1)
    >>> left, right = (two_level_terms(queue, 600.0, side=side) for side in ("left", "right"))
    >>> round(float(right.ratio / left.ratio), 9)
    2.0
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    queue.refuse_unloading("A and B")
    validation.choice("side", side, ("left", "right"))
    points = np.minimum(floats("x", x, above=0, finite=True), queue.size.reach)
    if not queue.size.moment_limit > 2:
        validation.refuse("size", queue.size, "a law with a finite second moment, without which E[T] is infinite")
    threshold, factor = queue.slowdown
    slope = np.where(points >= threshold if side == "right" else points > threshold, 1 / factor, 1.0)
    service = queue.service_time(points)
    tail, first, second, _ = queue.service_moments(service)
    hazard = queue.size.hazard(points)
    # where nothing is left of the tail, what remains of a size that long is 1/hazard in the mean
    gone = tail < SMALLEST_TAIL
    above = service + np.divide(slope, hazard, out=np.zeros(points.shape), where=gone & (hazard > 0))
    left, first, second = (
        np.where(gone, SMALLEST_TAIL * above**n, moment) for n, moment in enumerate((tail, first, second))
    )
    place = service if side == "right" else np.nextafter(service, 0.0)
    mean, mean_square = queue.service_moment(1), queue.service_moment(2)
    restore = queue.restore_cost(service)
    with np.errstate(all="ignore"):  # unstable points are replaced below, and hazards may be infinite
        load = queue.arrival_rate * (mean + restore * tail)
        A, B, derivative = compiled("mlptsym.symbolic.mean.two_levels:two_level_formula")(
            arrival_rate=queue.arrival_rate,
            mean=mean,
            mean_square=mean_square,
            service=service,
            service_slope=slope,
            restore=restore,
            restore_slope=queue.preemption_cost * queue.memory.slope_at(place),
            tail=left,
            first=first,
            second=second,
            hazard=hazard,
        )
    refuse_saturated(queue, load, SLOPE)
    stable = load < 1
    A, B, derivative = (np.where(stable, values, np.inf) for values in (A, B, derivative))
    derivative = np.where(tail > 0, derivative, 0.0)
    return TwoLevelTerms(A, B, hazard, derivative, np.broadcast_to(load, points.shape))
