"""Mean response times of a trace that comes in pieces, in memory that does not grow with the trace.

An arrival that finds the queue empty begins the trace anew, whatever the policy.  So a piece is served as if it ended
the trace; what precedes the last such arrival is then final, and the busy period it begins is served again together
with the next piece.  The loop that serves knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlptsym.simulation.traces import PIECE

__all__ = ["in_pieces", "mean_response_times"]

Floats = NDArray[np.float64]
Piece = tuple[Floats, Floats]  # arrival times, service times
Serve = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, eq=False)
class _Progress:
    """How far a trace is served: jobs that are, sum of the response times measured, and what has come and is not.

    The first `busy` jobs not served are a busy period whose end has not come yet.
    """

    jobs: int = 0
    total: float = 0.0
    pieces: tuple[Piece, ...] = ()
    busy: int = 0


def mean_response_times(pieces: Iterable[Piece], servers: Sequence[Serve], jobs: int, warmup: int) -> list[float]:
    """Mean response time of the last `jobs` jobs of a trace, for each of several servers.

    The memory needed is that of a few pieces and of the longest busy period; the whole trace if a queue is unstable.
    The mean is that of the trace in one piece but for rounding.

    Parameters
    ----------
    pieces : iterable of pairs of arrays
        Arrival times and service times of all `warmup` + `jobs` jobs, piece by piece.
    servers : sequence of callable
        Each gives the response times of a trace, from its arrival times and service times.  When it is empty, the
        next arrival must find it as the first one did.
    jobs, warmup : int
        Jobs measured, and jobs before them.

    Returns
    -------
    list of float

    Examples
    --------
    Two servers, one twice as fast, and jobs that do not wait:

    >>> pieces = [(np.array([0.0, 5.0]), np.array([2.0, 4.0])), (np.array([20.0]), np.array([6.0]))]
    >>> servers = [lambda arrival_times, service_times: service_times, lambda _, service_times: service_times / 2]
    >>> mean_response_times(pieces, servers, jobs=2, warmup=1)
    [5.0, 2.5]
    """
    states = [_Progress() for _ in servers]
    for piece in pieces:
        states = [_advanced(state, piece, serve, jobs, warmup) for state, serve in zip(states, servers, strict=True)]
    return [state.total / jobs for state in states]


def in_pieces(arrival_times: Floats, service_times: Floats) -> Iterator[Piece]:
    """A trace as `draw_pieces` would give it."""
    for begin in range(0, arrival_times.size, PIECE):
        yield arrival_times[begin : begin + PIECE], service_times[begin : begin + PIECE]


def _advanced(state: _Progress, piece: Piece, serve: Serve, jobs: int, warmup: int) -> _Progress:
    """The progress with one piece more.

    A busy period is not served again before as much has come as there was of it: however long it gets, the work is
    less than three times that of the trace in one piece.
    """
    pieces = (*state.pieces, piece)
    come = sum(arrival_times.size for arrival_times, _ in pieces)
    ended = state.jobs + come == warmup + jobs
    if come < 2 * state.busy and not ended:
        return replace(state, pieces=pieces)
    arrival_times, service_times = pieces[0] if len(pieces) == 1 else map(np.concatenate, zip(*pieces, strict=True))
    responses = serve(arrival_times, service_times)
    final = come if ended else _last_to_find_it_empty(arrival_times, responses)
    measured = responses[max(warmup - state.jobs, 0) : final]
    return _Progress(state.jobs + final, state.total + float(measured.sum()), _without(pieces, final), come - final)


def _last_to_find_it_empty(arrival_times: Floats, responses: Floats) -> int:
    """The last job that arrived when all before it had left."""
    left = arrival_times + responses
    np.maximum.accumulate(left, out=left)
    empty = np.flatnonzero(left[:-1] <= arrival_times[1:])
    return int(empty[-1]) + 1 if empty.size else 0


def _without(pieces: Sequence[Piece], count: int) -> tuple[Piece, ...]:
    """All but the first `count` jobs; views, as servers share the pieces."""
    kept = []
    for arrival_times, service_times in pieces:
        if count < arrival_times.size:
            kept.append((arrival_times[count:], service_times[count:]))
        count = max(count - arrival_times.size, 0)
    return tuple(kept)
