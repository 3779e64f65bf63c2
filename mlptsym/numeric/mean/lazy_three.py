"""MLPT′ with three levels: how often its costs are waived, and its mean (`mlptsym.symbolic.mean.lazy_three`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.compile import compiled
from mlptsym.numeric.mean.lazy import largest_root, piece_means
from mlptsym.numeric.model.queue import Queue
from mlptsym.numeric.model.saturation import MEAN, refuse_saturated
from mlptsym.numeric.model.service_measure import ServiceMeasure

__all__ = ["LazyThreeTerms", "lazy_three_terms"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LazyThreeTerms:
    """MLPT′ with three levels, arrays of the shape of the boundaries but for their last axis.

    Attributes
    ----------
    alone : array, shape (…, 2)
        e_1 and e_2, the probabilities that the cost after the first and after the second piece is waived; 0 where the
        queue is unstable.
    waits : array, shape (…, 3)
        d_1, d_2 and d_3, mean waiting times of the jobs that complete in each level; ``inf`` where the queue is
        unstable or E[S²] is infinite, like the next.
    mean_response_time : array
        E[T].
    load : array
        ρ′ where the server is never idle, which is below one exactly if the queue is stable; at most ρ_3^eff, eq. (12).
    """

    alone: Floats
    waits: Floats
    mean_response_time: Floats
    load: Floats


def lazy_three_terms(queue: Queue, boundaries: ArrayLike) -> LazyThreeTerms:
    """How often MLPT′ with three levels waives its costs, and its mean.

    Parameters
    ----------
    queue : Queue
    boundaries : array_like, shape (…, 2)
        t_1 ≤ t_2, attained service at the ends of the first two quanta, > 0, in units of service time.

    Returns
    -------
    LazyThreeTerms

    Raises
    ------
    ParameterError
        If a boundary is not a positive finite number, or there are not two, in order.
    SaturationError
        Where 1 − 1e-9 < ``load`` < 1.

    Notes
    -----
    Beyond the paper; remark 1 has simulations only.  Mean and stability region are exact; the latter is larger than
    that of eq. (12).

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> queue = Queue(Exponential(1.0), 0.5, preemption_cost=0.2)
    >>> terms = lazy_three_terms(queue, [0.5, 1.0])
    >>> terms.alone.round(4).tolist(), round(float(terms.mean_response_time), 4)
    ([0.5227, 0.4047], 2.3622)
    """
    if not isinstance(queue, Queue):
        validation.refuse("queue", queue, "a Queue")
    queue.refuse_unloading("MLPT′")
    ends = floats("boundaries", boundaries, above=0, finite=True)
    if ends.ndim == 0 or ends.shape[-1] != 2 or not (ends[..., 0] <= ends[..., 1]).all():
        validation.refuse(
            "boundaries", boundaries, "an array whose last axis holds two numbers, the second not below the first"
        )
    found = _terms(queue, np.minimum(ends.reshape(-1, 2), queue.furthest))
    return LazyThreeTerms(*(part.reshape(ends.shape[:-1] + part.shape[1:]) for part in found))


def _terms(queue: Queue, ends: Floats) -> tuple[Floats, ...]:
    """The attributes of `LazyThreeTerms`, for rows of two boundaries."""
    tails, moments, squares, _ = queue.service_moments(ends)
    costs = queue.restore_cost(ends)
    times = {"arrival_rate": queue.arrival_rate} | _by_boundary(end=ends, cost=costs)
    of_size = {"mean": queue.mean_service_time} | _by_boundary(tail=tails, moment=moments)
    two, loads = _formula("three:loads", **times, **of_size)
    alone, waits, responses = np.zeros(ends.shape), np.full((len(ends), 3), np.inf), np.full(len(ends), np.inf)
    emptied = two < 1  # levels 1 and 2 become empty again and again
    if not emptied.any():
        return alone, waits, responses, loads
    if not emptied.all():
        found = _terms(queue, ends[emptied])
        for whole, part in zip((alone, waits, responses, loads), found, strict=True):
            whole[emptied] = part
        return alone, waits, responses, loads
    arrivals = times | {"first_tail": tails[:, 0]} | _arrivals(queue, ends, costs, tails)
    means = arrivals | _formula("counts:second", **arrivals)._asdict()
    means |= _formula("counts:third", **means)._asdict()
    counted = _formula("three:waived", **means, second_tail=tails[:, 1], mean=queue.mean_service_time)._asdict()
    loads = counted.pop("load")
    refuse_saturated(queue, loads, MEAN)
    stable = loads < 1
    waived = np.stack([counted.pop("waived_first"), counted.pop("waived_second")], axis=1)
    alone, last = _shares(waived, tails), _shares(counted.pop("emptied"), tails[:, 0])
    found = _formula(
        "three:three_level",
        **times,
        **of_size,
        **_by_boundary(square=squares, alone=alone),
        **counted,
        second=queue.service_moment(2),
        last=last,
    )
    finite = (stable & (queue.size.moment_limit > 2))[:, None]
    waits, responses = np.where(finite, np.stack(found[:3], axis=1), np.inf), np.where(finite[:, 0], found[3], np.inf)
    return np.where(stable[:, None], alone, 0.0), waits, responses, loads


def _formula(name: str, **values: Any) -> Any:
    module, _, function = name.partition(":")
    return compiled(f"mlptsym.symbolic.mean.lazy_{module}:{function}_formula")(**values)


def _by_boundary(**columns: Floats) -> dict[str, Floats]:
    """Both columns of each array, by their names."""
    return {f"{place}_{name}": values[:, n] for name, values in columns.items() for n, place in enumerate(_PLACES)}


_PLACES = ("first", "second")


def _shares(parts: Floats, tails: Floats) -> Floats:
    """Of the jobs that pass a boundary; zero where none does."""
    return np.divide(parts, tails, out=np.zeros(tails.shape), where=tails > 0)


def _arrivals(queue: Queue, ends: Floats, costs: Floats, tails: Floats) -> dict[str, Floats]:
    """1 − α, 1 − φ, and means over the arrivals during the pieces without their costs, for each row."""
    measure = ServiceMeasure.of(queue)
    rows = [_row(queue, measure, *row) for row in zip(ends, costs, tails, strict=True)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _row(queue: Queue, measure: ServiceMeasure, ends: Floats, costs: Floats, tails: Floats) -> dict[str, float]:
    first = piece_means(measure, queue, 0.0, ends[0], 1.0)
    second = piece_means(measure, queue, ends[0], ends[1], tails[0])
    third = piece_means(measure, queue, ends[1], np.inf, tails[1])
    going_on = float(tails[1] / tails[0]) if tails[0] > 0 else 0.0
    demoting = largest_root(lambda at: (tails[0] + first(at, "busy"), first(at, "change")))

    def passing_step(at: float) -> tuple[float, float]:
        found = _formula(
            "counts:passing",
            arrival_rate=queue.arrival_rate,
            first_end=ends[0],
            first_cost=costs[0],
            first_tail=tails[0],
            going_on=going_on,
            passing=at,
            first=first(at, "busy"),
            second=second(at, "busy"),
            first_slope=first(at, "change"),
            second_slope=second(at, "change"),
        )
        return float(found.value), float(found.slope)

    passing = largest_root(passing_step)
    found = {"demoting": demoting, "passing": passing, "going_on": going_on}
    found |= {"first_single": first(demoting, "between"), "first_between": first(passing, "between", demoting)}
    for name, means, total in (("second", second, 1 - going_on), ("third", third, 1.0)):
        found |= {
            f"{name}_busy": means(demoting, "busy"),
            f"{name}_single": means(demoting, "between"),
            f"{name}_between": means(passing, "between", demoting),
            f"{name}_none": total - means(demoting, "any"),
        }
    return found
