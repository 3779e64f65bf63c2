"""Many independent calculations side by side: on the processors of this machine, or on a Dask cluster.

Everything here is joblib's; what is added is that a result belongs to its input whatever the order of completion, and
that a cluster which would compute something else is refused.
"""

from __future__ import annotations

import logging
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from mlptsym.provenance import fingerprint
from mlptsym.validation import LONGEST, ParameterError, flag, instance, integer, refuse

__all__ = ["ClusterLostError", "on_cluster", "parallel", "scheduler_address", "sweep", "sweep_as_completed"]

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_WORKERS = 1024
SCHEDULER = "the address of a running Dask scheduler, such as tcp://10.0.0.1:8786"
_PATIENCE = 10.0  # seconds for a scheduler to answer, and for workers to join it
_FEWEST_THREADS = 2  # with one, joblib would leave the cluster alone and work here


class ClusterLostError(RuntimeError):
    """The cluster gave up on a calculation, or is gone.

    Parameters
    ----------
    reason : str
        Dask's name for it.
    """

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
        done again by another.

    Raises
    ------
    ParameterError
        If ``jobs`` is no whole number from 1 to 1024; if no scheduler answers at the address, its workers do not have
        two threads between them within ten seconds, or a worker has other code or other versions.

    Examples
    --------
    >>> import math
    >>> with parallel(jobs=2):
    ...     sweep(math.factorial, [3, 4, 5])
    [6, 24, 120]
    """
    import joblib

    chosen = None if jobs is None else integer("jobs", jobs, at_least=1, at_most=MOST_WORKERS)
    if dask is None:
        with joblib.parallel_config(n_jobs=-1 if chosen is None else chosen):
            yield
        return
    with _connected(dask) as client, joblib.parallel_config("dask", client=client, wait_for_workers_timeout=_PATIENCE):
        yield


def scheduler_address(dask: object) -> str:
    """A text that can be the address of a scheduler; whether one answers there shows later.

    Raises
    ------
    ParameterError
        If it is none.
    """
    if not re.fullmatch(r"[a-z]+://[!-~]+:\d+", instance("dask", dask, str, SCHEDULER)):
        refuse("dask", dask, SCHEDULER)
    return str(dask)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    allowed = SCHEDULER
    address = scheduler_address(address)
    import distributed

    connect: Any = distributed.Client
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # differing versions are looked at below, and refused
            client = connect(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ParameterError("dask", address, allowed) from error
    try:
        deadline = time.monotonic() + _PATIENCE
        while sum(client.ncores().values()) < _FEWEST_THREADS:
            if time.monotonic() > deadline:
                refuse("dask", address, f"{allowed}, whose workers have at least {_FEWEST_THREADS} threads in all")
            time.sleep(0.05)
        try:
            found = set(client.run(fingerprint).values())
        except Exception as error:  # most likely the package is missing there
            raise ParameterError("dask", address, f"{allowed}, whose workers have mlptsym ({error})") from error
        if found != {fingerprint()}:
            refuse("dask", address, f"{allowed}, whose workers have the same mlptsym and the same dependencies")
        with _quiet_logs():
            yield client
    finally:
        with _quiet_logs():
            client.close(timeout=2)


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


def on_cluster() -> bool:
    """Whether sweeps run in other places than this machine's processors, with nothing shared but what is handed over.

    Examples
    --------
    >>> on_cluster()
    False
    """
    if "joblib" not in sys.modules:
        return False  # `parallel` would have loaded it
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "supports_sharedmem", False)


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
    if on_cluster():
        _check_sendable(function, todo)
    results = dict(sweep_as_completed(function, todo, threads=threads))
    return [results[place] for place in range(len(results))]


def _check_sendable(function: object, items: Iterable[object]) -> None:
    """Refuse what cannot be pickled: joblib would wait for ever for an answer from the cluster."""
    import cloudpickle

    for name, value in (("function", function), *((f"items[{place}]", item) for place, item in enumerate(items))):
        try:
            cloudpickle.dumps(value)
        except Exception as error:  # what an object raises that will not be pickled is its own affair
            raise ParameterError(name, value, f"something that can be sent to another process ({error})") from error


def sweep_as_completed(
    function: Callable[[Item], Result], items: Iterable[Item], *, threads: bool = False, jobs: int | None = None
) -> Iterator[tuple[int, Result]]:
    """Place and result of every item, as they become ready.

    Parameters
    ----------
    function, items, threads
        As for `sweep`.  An item is taken when there is room to work on it, and not before.
    jobs : int, optional
        How many at once at most; what `parallel` says when left out.

    Yields
    ------
    tuple of int and result

    Raises
    ------
    ParameterError
        If an argument or a result cannot be sent from one process to another.
    ClusterLostError
        If the cluster gives up or is gone.
    """
    import joblib
    from joblib.parallel import get_active_backend

    backend, given = get_active_backend()
    work = joblib.Parallel(
        n_jobs=jobs or given or -1,
        prefer="threads" if threads else None,
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch=jobs or "n_jobs",
    )
    lost = _watched(getattr(backend, "client", None), work)
    results = work(joblib.delayed(_placed)(function, (place, item)) for place, item in enumerate(items))
    try:
        for placed in results:  # noqa: UP028, so that `close` is called below if the loop ends early
            yield placed
        if lost:
            raise ClusterLostError(lost[0])  # noqa: TRY301
    except BrokenProcessPool as error:
        if "un-serialize" not in str(error):
            raise
        allowed = "one whose arguments and results can be sent from process to process"
        raise ParameterError("function", function, allowed) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "distributed":
            raise
        raise ClusterLostError(type(error).__name__) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that some results were not used
            results.close()


def _watched(client: Any, work: Any) -> list[str]:
    """Reasons why the cluster gave up on a calculation, in a list that fills as that happens, which ends the work.

    Exceptions of the calculation itself are results.  What goes wrong around it, such as the loss of worker after
    worker, joblib would not notice, and wait for ever.
    """
    lost: list[str] = []
    if client is None:
        return lost
    submit = type(client).submit

    def watch(future: Any) -> None:
        if future.status == "error":
            lost.append(type(future.exception()).__name__)
            work._aborting = True

    def submitted(*words: Any, **options: Any) -> Any:
        future = submit(client, *words, **options)
        future.add_done_callback(watch)
        return future

    client.submit = submitted
    return lost


def _placed(function: Callable[[Item], Result], placed: tuple[int, Item]) -> tuple[int, Result]:
    """The result with its place; sweeps inside the function run one after the other.

    Place and item come as one tuple because the Dask backend hands over large arguments by way of one worker's memory,
    where they would be lost with that worker; tuples it leaves alone.
    """
    import joblib

    place, item = placed
    with joblib.parallel_config("sequential"):
        return place, function(item)
