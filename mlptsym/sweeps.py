"""Many independent calculations side by side: on the processors of this machine by joblib, or on a Dask cluster.

What is added is that a result belongs to its input whatever the order of completion, that a cluster which would compute
something else is refused, and that nothing waits for a cluster that is gone.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, TypeVar

from mlptsym.provenance import fingerprint
from mlptsym.validation import LONGEST, ParameterError, flag, instance, integer, refuse

__all__ = ["ClusterLostError", "on_cluster", "parallel", "scheduler_address", "sweep", "sweep_as_completed"]

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_WORKERS = 1024
SCHEDULER = "the address of a running Dask scheduler, such as tcp://10.0.0.1:8786"
_PATIENCE = 10.0
"""Seconds for a scheduler to answer, for a worker to join it, and for another worker after the last was lost."""
_SENDABLE = "one whose arguments and results can be sent from process to process"


class ClusterLostError(RuntimeError):
    """The cluster gave up on a calculation, or is gone; Dask's name for it is the reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the Dask cluster could not go on ({reason})")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason,)


@contextmanager
def parallel(jobs: int | None = None, *, dask: str | None = None) -> Iterator[None]:
    """Where the sweeps inside a ``with`` block run.

    The results are the same wherever they run, bit for bit: a calculation never depends on the others, nor on which
    process does it.  (Processors of different makes may round library functions differently; this cannot be seen from
    here.)

    Parameters
    ----------
    jobs : int, optional
        How many calculations run at once on this machine; as many as there are processors when left out.
    dask : str, optional
        Address of the scheduler of a running Dask cluster, such as ``"tcp://10.0.0.1:8786"``.  Its workers need the
        same version of mlptsym and of its dependencies.  A worker that is lost loses nothing: what it was doing is
        done again by another.  Where none is left, and none comes within ten seconds, a sweep ends with an error.

    Raises
    ------
    ParameterError
        If ``jobs`` is no whole number from 1 to 1024; if no scheduler answers at the address, it has no worker within
        ten seconds, or a worker has other code or other versions.

    Examples
    --------
    >>> import math
    >>> with parallel(jobs=2):
    ...     sweep(math.factorial, [3, 4, 5])
    [6, 24, 120]
    """
    chosen = None if jobs is None else integer("jobs", jobs, at_least=1, at_most=MOST_WORKERS)
    if dask is not None:
        with _connected(dask):
            yield
        return
    import joblib

    with joblib.parallel_config(n_jobs=chosen or -1):
        yield


def scheduler_address(dask: object) -> str:
    """A text that can be the address of a scheduler; whether one answers there shows later."""
    if not re.fullmatch(r"[a-z]+://[!-~]+:\d+", instance("dask", dask, str, SCHEDULER)):
        refuse("dask", dask, SCHEDULER)
    return str(dask)


@contextmanager
def _connected(address: str) -> Iterator[None]:
    """Make the cluster at an address the current one, after a look at whether it would compute the same."""
    import distributed

    address = scheduler_address(address)
    with _quiet_logs(), ThreadPoolExecutor(1) as elsewhere:  # a loop may be running here
        try:
            elsewhere.submit(asyncio.run, _answer(address)).result()
        except Exception as error:  # whatever it is that answers, or does not
            raise ParameterError("dask", address, SCHEDULER) from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # differing versions are looked at below, and refused
            connect: Any = distributed.Client
            client = connect(address, timeout=_PATIENCE, set_as_default=False)
        try:
            try:
                client.wait_for_workers(1, _PATIENCE)
            except TimeoutError as error:
                raise ParameterError("dask", address, f"{SCHEDULER}, which has at least one worker") from error
            try:
                found = set(client.run(fingerprint).values())
            except Exception as error:  # most likely the package is missing there
                raise ParameterError("dask", address, f"{SCHEDULER}, whose workers have mlptsym ({error})") from error
            if found != {fingerprint()}:
                allowed = f"{SCHEDULER}, whose workers have the same mlptsym and the same dependencies"
                refuse("dask", address, allowed)
            with client.as_current():
                yield
        finally:
            client.close(timeout=2)


async def _answer(address: str) -> None:
    """Wait for an answer of a scheduler: a client that gets none takes its time to end, and says so."""
    import distributed.core

    connect: Any = distributed.core.rpc
    settings: Any = distributed.Security
    security = settings().get_connection_args("client")
    async with asyncio.timeout(_PATIENCE), connect(address, timeout=_PATIENCE, connection_args=security) as scheduler:
        await scheduler.identity()


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Keep Dask's own tracebacks from the terminal: what matters of them comes as an exception."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in {"distributed", "tornado"}]
    loggers = [logger for logger in map(logging.getLogger, names) if not logger.disabled]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in loggers:
            logger.disabled = False


def _cluster() -> Any:
    """The client of the cluster that sweeps run on; None if they run here."""
    if "distributed" not in sys.modules:
        return None  # `parallel` would have loaded it
    import distributed

    clients: Any = distributed.Client
    try:
        return clients.current(allow_global=False)
    except ValueError:
        return None


def on_cluster() -> bool:
    """Whether sweeps run on other machines, with nothing shared but what is handed over."""
    return _cluster() is not None


def sweep(function: Callable[[Item], Result], items: Iterable[Item], *, threads: bool = False) -> list[Result]:
    """``function`` of every item, side by side.

    Parameters
    ----------
    function : callable
        Of one argument, and of nothing else: what it gives must not depend on the process it runs in.
    items : iterable
        The arguments: quanta, seeds, queues, …
    threads : bool
        Whether threads serve as well as processes, because the function waits or releases the interpreter's lock.

    Returns
    -------
    list
        The results in the order of the items.  An exception of the function goes through.

    Raises
    ------
    ParameterError
        If there is no function, no items or too many (10⁷), or one of them, or a result, cannot be sent to another
        process.
    ClusterLostError
        If the cluster gives up or is gone.

    Examples
    --------
    >>> sweep(abs, [-1, 2, -3], threads=True)
    [1, 2, 3]
    """
    if not callable(function):
        refuse("function", function, "a function of one argument")
    if not isinstance(items, Iterable):
        refuse("items", items, "the arguments, one after the other")
    threads = flag("threads", threads)
    todo = list(islice(items, LONGEST + 1))
    if len(todo) > LONGEST:
        refuse("items", items, f"at most {LONGEST} arguments")
    results = dict(sweep_as_completed(function, todo, threads=threads))
    return [results[place] for place in range(len(todo))]


def sweep_as_completed(
    function: Callable[[Item], Result], items: Iterable[Item], *, threads: bool = False, jobs: int | None = None
) -> Iterator[tuple[int, Result]]:
    """Place and result of every item, as they become ready: see `sweep`, which has the errors too.

    An item is taken when there is room to work on it, and not before: at most ``jobs`` at once, or what `parallel`
    says.
    """
    numbered = enumerate(items)
    client = _cluster()
    return _here(function, numbered, threads, jobs) if client is None else _there(client, function, numbered, jobs)


def _here(
    function: Callable[[Item], Result], items: Iterable[tuple[int, Item]], threads: bool, jobs: int | None
) -> Iterator[tuple[int, Result]]:
    """`sweep_as_completed` on this machine, by joblib."""
    import joblib
    from joblib.parallel import get_active_backend

    work = joblib.Parallel(
        n_jobs=jobs or get_active_backend()[1] or -1,
        prefer="threads" if threads else None,
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch=jobs or "n_jobs",
    )
    results = work(joblib.delayed(_placed)(function, place, item) for place, item in items)
    try:
        for placed in results:  # noqa: UP028, so that `close` is called below if the loop ends early
            yield placed
    except BrokenProcessPool as error:
        if "un-serialize" not in str(error):
            raise
        raise ParameterError("function", function, _SENDABLE) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that some results were not used
            results.close()


def _there(
    client: Any, function: Callable[[Item], Result], items: Iterable[tuple[int, Item]], jobs: int | None
) -> Iterator[tuple[int, Result]]:
    """`sweep_as_completed` on a cluster, by Dask: joblib would not notice that it gave up, and wait for ever."""
    running: set[Any] = set()
    items = iter(items)
    try:
        while True:
            room = max(1, jobs or sum(client.ncores().values())) - len(running)
            for place, item in islice(items, max(0, room)):
                try:
                    running.add(client.submit(_placed, function, place, item, pure=False))
                except TypeError as error:
                    raise ParameterError("function", function, _SENDABLE) from error
            if not running:
                return
            for future in _completed(client, running):
                running.discard(future)
                try:
                    placed = future.result()
                except Exception as error:
                    if future.status == "finished":  # but what it came to does not arrive
                        raise ParameterError("function", function, _SENDABLE) from error
                    raise
                yield placed
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "distributed":
            raise
        raise ClusterLostError(type(error).__name__) from error
    finally:
        client.cancel(list(running))


def _completed(client: Any, futures: set[Any]) -> set[Any]:
    """Those of a cluster's calculations that are complete, at least one."""
    import distributed

    wait: Any = distributed.wait
    alone = time.monotonic()
    while True:
        with suppress(TimeoutError):
            done: set[Any] = wait(futures, timeout=1.0, return_when="FIRST_COMPLETED").done
            return done
        if client.ncores():
            alone = time.monotonic()
        elif time.monotonic() > alone + _PATIENCE:
            raise ClusterLostError(f"its last worker has been gone for {_PATIENCE:g} seconds")


def _placed(function: Callable[[Item], Result], place: int, item: Item) -> tuple[int, Result]:
    """The result with its place; sweeps inside the function run one after the other."""
    import joblib

    with joblib.parallel_config("sequential"):
        return place, function(item)
