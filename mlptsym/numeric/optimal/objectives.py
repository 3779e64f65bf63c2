"""The best quantum for other objectives than the mean: percentiles, the mean slowdown, and weighted sums."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlptsym import validation
from mlptsym.compile import compiled
from mlptsym.numeric.distribution.percentiles import response_time_distribution
from mlptsym.numeric.mean.response import level_table, solve
from mlptsym.numeric.model.breaks import breaks
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy, refuse_lazy
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.saturation import SaturationError
from mlptsym.numeric.model.service_measure import ServiceMeasure
from mlptsym.numeric.optimal.optimum import optimal_quantum

__all__ = ["Objective", "ObjectiveOptimum", "best_quantum_for", "mean_slowdown"]

Floats = NDArray[np.float64]

ALLOWED = (
    '"mean", "mean-slowdown", a percentile such as "p99" or "p99.9", or a mapping of these to weights > 0 such as '
    '{"mean": 0.7, "p99": 0.3}'
)
PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,6})?)")
RATIO = 1.2  # between neighbouring quanta of the first look
SHORTEST = 0.25  # the shortest quantum that is looked at, in mean service times
HARDLY_REACHED = 1e-4  # the longest: few jobs would be preempted
KINKS = 4
REFINED = 3
WITHIN = 0.03
PRECISION = 1e-5
TIE = 1e-9
LOG_PANEL = 0.5
SMALLEST_LOG = -690.0
GAUSS = 16


@dataclass(frozen=True)
class Objective:
    """A weighted sum of functionals of the response time.

    Attributes
    ----------
    weights : tuple of (str, float)
        Names with weights > 0; a percentile counts in units of time, the mean slowdown is a number.
    """

    weights: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, objective: object) -> Objective:
        """Read an objective.

        Raises
        ------
        ParameterError
            If it is none.

        Examples
        --------
        >>> Objective.of("p99").weights
        (('p99', 1.0),)
        """
        if not isinstance(objective, (str, Mapping)):
            validation.refuse("objective", objective, ALLOWED)
        given = {objective: 1.0} if isinstance(objective, str) else objective
        if not given:
            validation.refuse("objective", objective, ALLOWED)
        for name in given:
            percentile = PERCENTILE.fullmatch(name) if isinstance(name, str) else None
            if not (name in {"mean", "mean-slowdown"} or (percentile and float(percentile[1]) > 0)):
                validation.refuse("objective", objective, ALLOWED)
        return cls(tuple((str(name), validation.number("objective", w, above=0)) for name, w in given.items()))

    @property
    def percentiles(self) -> dict[str, float]:
        """The probabilities of the percentiles among the names."""
        return {name: float(name[1:]) / 100 for name, _ in self.weights if name[0] == "p"}

    def value(self, queue: Queue, policy: Policy) -> float:
        """The weighted sum; ``inf`` where the queue is unstable or a part infinite."""
        solution = solve(queue, policy)
        if not solution.stable:
            return math.inf
        parts = {"mean": float(solution.mean_response_time)}
        if any(name == "mean-slowdown" for name, _ in self.weights):
            parts["mean-slowdown"] = mean_slowdown(queue, policy)
        if self.percentiles:
            names, chances = zip(*self.percentiles.items(), strict=True)
            quantiles = response_time_distribution(queue, policy).quantile(np.array(chances))
            parts |= dict(zip(names, quantiles.tolist(), strict=True))
        return math.fsum(weight * parts[name] for name, weight in self.weights)


@dataclass(frozen=True)
class ObjectiveOptimum:
    """The quantum with the smallest value of an objective that was found.

    Attributes
    ----------
    quantum : float
        θ*, in units of service time; ``inf`` if FCFS is best.
    objective : tuple of (str, float)
        Names and weights.
    value : float
        Of the objective at θ*.
    kind : str
        "smooth", "kink" (θ* is q(ℓ_C)/m or another break of the law) or "fcfs".
    gain : float
        1 − value/value of FCFS.
    fcfs : float
        Value of FCFS.
    mean_response_time : float
        E[T] at θ*.
    levels : int or inf
        k.
    effective_load : float
        ρ^eff at θ*.
    best_for_mean : float
        The quantum that minimises E[T], for comparison; ``inf`` for FCFS.
    value_of_best_for_mean : float
        Value of the objective there; ``inf`` also where the queue is too close to saturation for it.
    """

    quantum: float
    objective: tuple[tuple[str, float], ...]
    value: float
    kind: str
    gain: float
    fcfs: float
    mean_response_time: float
    levels: float
    effective_load: float
    best_for_mean: float
    value_of_best_for_mean: float


def best_quantum_for(queue: Queue, levels: float = 2, objective: object = "p99") -> ObjectiveOptimum:
    """The quantum that minimises an objective under MLPT with k levels, FCFS (θ → ∞) included.

    Parameters
    ----------
    queue : Queue
        If it is unstable under FCFS, the answer is FCFS with an infinite value and no gain.
    levels : int or inf
        k >= 2.
    objective : str or mapping
        ``"mean"``, ``"mean-slowdown"`` (E[T/S]), a percentile such as ``"p95"`` or ``"p99.9"``, or a mapping of these
        to weights, whose weighted sum is meant.

    Returns
    -------
    ObjectiveOptimum

    Raises
    ------
    ParameterError
        If the objective is none of these or k out of range, or for a mean slowdown that is infinite whatever the
        policy, since E[1/S] is (as for exponential sizes).
    SaturationError
        If FCFS is too close to saturation for this objective.  A quantum that is, is as bad as an unstable one.

    Notes
    -----
    A search, not a proof: quanta from E[S]/4 to the age that one job in 10⁴ reaches, twenty percent apart, with the
    first breaks q(ℓ_C)/m and the quantum that is best for the mean; then the neighbourhoods of the three lowest, to
    1e-5.  The result is never worse than FCFS, than the quantum that is best for the mean, or than any quantum of the
    first look.  What may be missed is a minimum narrower than twenty percent of θ, or one beyond the range, where
    percentiles are close to those of FCFS for finite k and MLPT is unstable or nearly so for k = ∞ with restore costs.
    For ``"mean"`` alone the answer is that of `mlptsym.numeric.optimal.optimum.optimal_quantum`.

    Examples
    --------
    >>> from mlptsym import LogNormal
    >>> queue = Queue(LogNormal(5, 0.9), 0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39, preemption_cost=0.1)
    >>> best = best_quantum_for(queue, levels=2, objective="mean-slowdown")
    >>> best.quantum < best.best_for_mean
    True
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    queue.refuse_unloading("a best quantum")
    wanted = Objective.of(objective)
    k = validation.levels("levels", levels, at_least=2)
    names = {name for name, _ in wanted.weights}
    if "mean-slowdown" in names and math.isinf(reciprocal_means(queue, np.zeros(1), np.array([math.inf]))[0]):
        validation.refuse("objective", objective, "one without the mean slowdown, which is infinite for this size law")
    for_mean = optimal_quantum(queue, k)
    fcfs = wanted.value(queue, FCFS())
    tried: dict[float, float] = {math.inf: fcfs}

    def value(quantum: float) -> float:
        if quantum not in tried:
            try:
                tried[quantum] = wanted.value(queue, MLPT(quantum=quantum, levels=k))
            except SaturationError:
                tried[quantum] = math.inf
        return tried[quantum]

    mean_quantum = for_mean.quantum if for_mean.quantum > 0 else math.inf
    kinks = _kinks(queue, k)
    if queue.base_load < 1 and names == {"mean"}:
        value(mean_quantum)
    elif queue.base_load < 1:
        finite = [mean_quantum] if math.isfinite(mean_quantum) else []
        _search(value, np.unique(np.concatenate([_first_look(queue), kinks, finite])))
    quantum = min(tried, key=lambda place: (tried[place], -place))
    if tried[quantum] >= fcfs * (1 - TIE) or math.isinf(tried[quantum]):
        quantum = math.inf
    solution = solve(queue, FCFS() if math.isinf(quantum) else MLPT(quantum=quantum, levels=k))
    near = np.abs(kinks / quantum - 1).min(initial=1.0) < TIE
    return ObjectiveOptimum(
        quantum,
        wanted.weights,
        tried[quantum],
        "fcfs" if math.isinf(quantum) else "kink" if near else "smooth",
        0.0 if math.isinf(fcfs) else 1 - tried[quantum] / fcfs,
        fcfs,
        float(solution.mean_response_time),
        k,
        float(solution.effective_load),
        mean_quantum,
        value(mean_quantum),
    )


def _first_look(queue: Queue) -> Floats:
    """Quanta for the first look."""
    shortest = SHORTEST * queue.mean_service_time
    longest = 4 * shortest
    while queue.size.tail(queue.size_at(longest)) > HARDLY_REACHED:
        longest *= RATIO
    return np.geomspace(shortest, longest, math.ceil(math.log(longest / shortest) / math.log(RATIO)) + 1)


def _kinks(queue: Queue, levels: float) -> Floats:
    """The first quanta at which a boundary meets a kink of the law or of the costs."""
    numbers = np.arange(1.0, min(levels, KINKS + 1))
    places: Floats = (breaks(queue).kinks[:, None] / numbers).ravel()
    return places[(places > 0) & np.isfinite(places)]


def _search(value: Callable[[float], float], quanta: Floats) -> None:
    """Evaluate at all quanta, then minimise between the neighbours of the lowest."""
    from scipy.optimize import minimize_scalar

    values = np.array([value(float(quantum)) for quantum in quanta])
    padded = np.concatenate([[math.inf], values, [math.inf]])
    lowest = np.flatnonzero((values <= padded[:-2]) & (values <= padded[2:]) & np.isfinite(values))
    lowest = lowest[np.argsort(values[lowest], kind="stable")][:REFINED]
    for index in lowest[values[lowest] <= values.min() * (1 + WITHIN)]:
        for side in (index - 1, index + 1):
            if 0 <= side < len(quanta) and math.isfinite(values[side]):
                low, high = sorted((math.log(quanta[index]), math.log(quanta[side])))
                minimize_scalar(
                    lambda place: value(math.exp(float(place))),
                    bounds=(low, high),
                    method="bounded",
                    options={"xatol": PRECISION},
                )


def mean_slowdown(queue: Queue, policy: Policy) -> float:
    """E[T/S], the mean over jobs of response time over service time.

    Parameters
    ----------
    queue : Queue
    policy : FCFS or MLPT
        With one quantum or given quanta, and not lazy.

    Returns
    -------
    float
        A number without unit, >= 1; ``inf`` in an unstable queue, or where E[1/S] is infinite.

    Raises
    ------
    ParameterError
        For another policy, or an array of quanta.

    Examples
    --------
    >>> from mlptsym import Deterministic
    >>> round(mean_slowdown(Queue(Deterministic(2.0), arrival_rate=0.25), FCFS()), 12)
    1.5
    """
    solution = solve(queue, policy)
    refuse_lazy(policy, "a mean slowdown")
    queue.refuse_unloading("a mean slowdown")
    if np.ndim(solution.mean_response_time):
        validation.refuse("quantum", policy.quantum, "a single number here")  # type: ignore[union-attr]
    if not math.isfinite(solution.mean_response_time):
        return math.inf
    table = level_table(queue, policy)
    if table.last_is_open:
        allowed = f"so long that the first {table.level[-2]} levels hold all jobs, for a mean slowdown"
        validation.refuse("quantum", policy.quantum, allowed)  # type: ignore[union-attr]
    if policy.levels < math.inf:
        inner = policy.boundaries(math.inf)
    else:
        inner = float(policy.quantum) * np.arange(1.0, table.level[-1] + 1)  # type: ignore[union-attr]
    edges = np.concatenate([[0.0], inner, [math.inf]])
    start, end = edges[table.level - 1], edges[table.level]
    paid = np.append(0.0, np.cumsum(queue.restore_cost(inner)))[table.level - 1]
    reciprocal = reciprocal_means(queue, start, end)
    if np.isinf(reciprocal).any():
        return math.inf
    delay = table.waiting_time + paid
    in_level = compiled("mlptsym.symbolic.mean.slowdown:slowdown_formula")(
        delay=delay,
        start_reciprocal=reciprocal,
        end_reciprocal=0.0,
        start_tail=table.probability,
        end_tail=0.0,
    )
    return float(in_level.slowdown.sum())


def reciprocal_means(queue: Queue, start: Floats, end: Floats) -> Floats:
    """E[1/S ; start < S ≤ end] for adjacent increasing bands.

    Notes
    -----
    For a law with a density, ∫ f(x) d(log x) by Gauss–Legendre on panels of the logarithm, which no power of x at
    0 can spoil: E[1/S] is infinite where the part below 1e-300 is not negligible.
    """
    measure = ServiceMeasure.of(queue)
    if measure.discrete:
        band = np.searchsorted(start, measure.atoms, side="left") - 1
        inside = (band >= 0) & (measure.atoms <= end[band])
        return np.bincount(band[inside], (measure.masses / measure.atoms)[inside], minlength=len(start)).astype(float)
    ends = np.concatenate([start, end, measure.edges])
    ends = np.log(ends[(ends > 0) & (ends < measure.end)])
    last = math.log(measure.end)
    logs = np.unique(np.concatenate([ends, np.arange(SMALLEST_LOG, last, LOG_PANEL), [last]]))
    nodes, weights = np.polynomial.legendre.leggauss(GAUSS)
    half = np.diff(logs)[:, None] / 2
    place = (logs[:-1, None] + logs[1:, None]) / 2 + half * nodes
    parts = (measure.density(np.exp(place)) * weights * half).sum(axis=1)
    if parts[0] > TIE * LOG_PANEL * parts.sum():
        return np.where(start == 0, math.inf, 0.0)
    middle = np.exp((logs[:-1] + logs[1:]) / 2)
    band = np.searchsorted(start, middle, side="right") - 1
    inside = (band >= 0) & (middle < end[band])
    return np.bincount(band[inside], parts[inside], minlength=len(start)).astype(float)
