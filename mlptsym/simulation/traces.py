"""Arrival times and job sizes, drawn once and shared by every policy and parameter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlptsym.laws.base import SizeLaw
from mlptsym.validation import integer, number, refuse

__all__ = ["Trace", "draw_pieces", "draw_trace", "draw_traces"]

PIECE = 2**20
MOST_JOBS = 10**8
LARGEST = 1e200


@dataclass(frozen=True, eq=False)
class Trace:
    """What arrives at the queue: when, and how large.

    Attributes
    ----------
    arrival_times : array of float, shape (jobs,)
        Non-decreasing, in units of service at rate one; read-only.
    sizes : array of float, shape (jobs,)
        Intrinsic sizes L, in the same units; read-only.
    """

    arrival_times: NDArray[np.float64]
    sizes: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("arrival_times", "sizes"):
            view = getattr(self, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)


def draw_trace(size: SizeLaw, arrival_rate: float, jobs: int, *, seed: int, root_seed: int = 0) -> Trace:
    """Trace number `seed` of those that belong to `root_seed`.

    A trace has two random streams of its own, ``SeedSequence(root_seed).spawn(seed + 1)[seed].spawn(2)``.  The first
    gives unit-exponential interarrival times, divided by the arrival rate; the second gives the sizes, 2²⁰ at a time
    (of consequence only for laws that draw several numbers for a size, such as `HyperExponential`).  Hence two
    arrival rates see the same arrivals on another time scale, two size laws the same arrival times, and a trace does
    not depend on how many others are drawn.

    Parameters
    ----------
    size : SizeLaw
        Law of the intrinsic sizes L.
    arrival_rate : float
        Rate of the Poisson arrivals.
    jobs : int
        Length of the trace.
    seed : int
        Number of the trace, from 0.
    root_seed : int
        The number all traces derive from.

    Returns
    -------
    Trace

    Raises
    ------
    ParameterError
        If a number is out of range, or a drawn time or size exceeds 10²⁰⁰.
    """
    jobs = integer("jobs", jobs, at_least=1, at_most=MOST_JOBS)
    whole = np.empty((2, jobs))
    begin = 0
    for piece in draw_pieces(size, arrival_rate, jobs, seed=seed, root_seed=root_seed):
        end = begin + piece.sizes.size
        whole[:, begin:end] = piece.arrival_times, piece.sizes
        begin = end
    return Trace(*whole)


def draw_pieces(size: SizeLaw, arrival_rate: float, jobs: int, *, seed: int, root_seed: int = 0) -> Iterator[Trace]:
    """`draw_trace`, 2²⁰ jobs at a time: a trace that need not fit into memory.

    Parameters
    ----------
    size, arrival_rate, jobs, seed, root_seed
        As for `draw_trace`, and any number of jobs.

    Yields
    ------
    Trace
        Its arrival times go on where those of the one before ended.

    Raises
    ------
    ParameterError
        As for `draw_trace`.
    """
    if not isinstance(size, SizeLaw):
        refuse("size", size, "a size law such as LogNormal(5, 0.9)")
    arrival_rate = number("arrival_rate", arrival_rate, above=0)
    jobs = integer("jobs", jobs, at_least=1)
    seed = integer("seed", seed, at_least=0)
    root_seed = integer("root_seed", root_seed, at_least=0)
    streams = np.random.SeedSequence(root_seed, spawn_key=(seed,)).spawn(2)
    arrivals, sizes = (np.random.default_rng(stream) for stream in streams)
    elapsed = 0.0
    for begin in range(0, jobs, PIECE):
        count = min(PIECE, jobs - begin)
        gaps = arrivals.standard_exponential(count)
        gaps[0] += elapsed
        times = np.cumsum(gaps, out=gaps)
        elapsed = times[-1]
        with np.errstate(over="ignore"):  # what has overflown is refused below
            arrival_times, drawn = times / arrival_rate, size.sample(sizes, count)
        if not arrival_times[-1] <= LARGEST:
            refuse("arrival_rate", arrival_rate, f"at least {jobs / LARGEST:.3g} for {jobs} arrivals")
        if not drawn.max() <= LARGEST:
            limit = f"at most {LARGEST:g}; this one's tail is too heavy to simulate"
            refuse("size", size, f"a law whose samples are {limit}")
        yield Trace(arrival_times, drawn)


def draw_traces(size: SizeLaw, arrival_rate: float, jobs: int, seeds: int, root_seed: int = 0) -> Iterator[Trace]:
    """Traces 0, 1, …, `seeds` − 1 of `root_seed`, one at a time (see `draw_trace`).

    Examples
    --------
    >>> from mlptsym import Exponential
    >>> [trace.sizes.round(3).tolist() for trace in draw_traces(Exponential(1.0), 0.5, jobs=3, seeds=2)]
    [[0.299, 1.501, 0.286], [1.037, 3.497, 3.823]]
    """
    count = integer("seeds", seeds, at_least=1)
    return (draw_trace(size, arrival_rate, jobs, seed=seed, root_seed=root_seed) for seed in range(count))
