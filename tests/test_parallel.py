"""Sweeps and batches on this machine and on a Dask cluster: the same results, and nothing lost with a worker.

The cluster is a scheduler and two workers, each a process of its own, on the loopback interface.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
import pytest
from batch_samples import DRAW, ROOT, SLEEP, command, notebook, outputs, runs, scenario_file, untrue, wait_for

from mlptsym import LogNormal
from mlptsym.batch import run_batch
from mlptsym.numeric.mean.response import mean_response_time
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.simulation.simulate import simulate_many
from mlptsym.sweeps import ClusterLostError, on_cluster, parallel, sweep, sweep_as_completed
from mlptsym.validation import ParameterError

QUEUE = Queue(LogNormal(5, 0.9), 0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39, preemption_cost=0.1)


@dataclass(frozen=True)
class Cluster:
    address: str
    folder: Path
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def worker(self) -> subprocess.Popen[bytes]:
        name = os.urandom(4).hex()
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1", "--name", name]
        place = ["--local-directory", str(self.folder / name)]
        worker = _started(self.folder / f"{name}.log", "worker", self.address, *options, *place)
        self.workers.append(worker)
        return worker


def _started(log: Path, *words: str, **settings: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "STARTED": str(log.parent)} | settings
    with log.open("wb") as file:
        command = [sys.executable, "-m", "dask", *words]
        return subprocess.Popen(command, stdout=file, stderr=file, env=environment, start_new_session=True)


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _cluster(folder: Path, **settings: str) -> Iterator[Cluster]:
    place = folder / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(place)]
    scheduler = _started(folder / "scheduler.log", "scheduler", *options, **settings)
    try:
        written = wait_for(lambda: place.exists() and place.read_text().rstrip().endswith("}"), 60)
        assert written, (folder / "scheduler.log").read_text()
        cluster = Cluster(json.loads(place.read_text())["address"], folder, scheduler)
        try:
            yield cluster
        finally:
            for worker in cluster.workers:
                _ended(worker)
    finally:
        _ended(scheduler)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with _cluster(tmp_path_factory.mktemp("cluster")) as found:
        for _ in range(2):
            found.worker()
        yield found


# Sweeps --------------------------------------------------------------------------------------------------------------

QUANTA = np.geomspace(50.0, 5000.0, 12).tolist()

SWEEPS: dict[str, tuple[Callable[[float], object], list[float]]] = {
    "quanta": (lambda theta: mean_response_time(QUEUE, MLPT(quantum=theta, levels=2)), QUANTA),
    "parameters": (
        lambda beta: min(
            float(mean_response_time(Queue(LogNormal(5, 0.9), 0.002, 1335.1, beta, 0.1), MLPT(quantum=theta, levels=2)))
            for theta in QUANTA
        ),
        [0.3, 0.39, 0.6],
    ),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_results_are_the_same_everywhere(name: str, cluster: Cluster) -> None:
    function, items = SWEEPS[name]
    expected = [function(item) for item in items]
    with parallel(dask=cluster.address):
        assert on_cluster()
        assert sweep(function, items) == expected
    assert not on_cluster()
    assert sweep(function, items, threads=True) == expected


def test_results_are_the_same_in_other_processes() -> None:
    def draw(seed: int) -> list[float]:
        return np.random.default_rng(seed).standard_normal(100).cumsum().tolist()

    with parallel(jobs=2):
        assert sweep(draw, range(20)) == [draw(seed) for seed in range(20)]


def test_where_it_runs(cluster: Cluster) -> None:
    def processes() -> set[int]:
        return set(sweep(lambda _item: os.getpid(), range(8)))

    assert os.getpid() not in processes()
    assert set(sweep(lambda _item: os.getpid(), range(4), threads=True)) == {os.getpid()}
    with parallel(dask=cluster.address):
        there = processes()
    assert len(there) == 2
    assert all("worker" in psutil.Process(process).cmdline() for process in there)
    with parallel(jobs=1):
        assert processes() == {os.getpid()}


def test_results_belong_to_their_items_whatever_comes_first() -> None:
    gate = threading.Event()

    def first_waits(item: int) -> int:
        if item == 0:
            gate.wait(20)
        else:
            gate.set()
        return 10 * item

    with parallel(jobs=2):
        completed = list(sweep_as_completed(first_waits, range(3), threads=True))
    assert sorted(completed) == [(0, 0), (1, 10), (2, 20)]
    assert completed[0][0] != 0
    gate.clear()
    with parallel(jobs=2):
        assert sweep(first_waits, range(3), threads=True) == [0, 10, 20]


def test_sweep_inside_a_sweep_does_not_multiply_processes(cluster: Cluster) -> None:
    def inner(_item: int) -> tuple[set[int], bool]:
        return {os.getpid(), *sweep(lambda _each: os.getpid(), range(3))}, on_cluster()

    for place in ({"jobs": 2}, {"dask": cluster.address}):
        with parallel(**place):  # type: ignore[arg-type]
            found = sweep(inner, range(4))
        assert [(len(processes), there) for processes, there in found] == [(1, False)] * 4


def test_seeds_of_a_simulation_go_to_the_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    policies = [FCFS(), MLPT(quantum=674.0, levels=2)]
    expected = simulate_many(QUEUE, policies, 500, 50, 3)
    monkeypatch.setattr("mlptsym.simulation.simulate.ThreadPoolExecutor", None)
    with parallel(dask=cluster.address):
        found = simulate_many(QUEUE, policies, 500, 50, 3)
    for there, here in zip(found, expected, strict=True):
        assert there.seed_means.tobytes() == here.seed_means.tobytes()
        assert (there.mean, there.standard_error) == (here.mean, here.standard_error)


def test_items_are_taken_when_there_is_room() -> None:
    taken = 0

    def slow(item: int) -> int:
        time.sleep(0.05)
        return item

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(100):
            taken += 1
            yield item

    results = sweep_as_completed(slow, items(), threads=True, jobs=2)
    next(results)
    results.close()
    assert taken < 20
    assert sweep(abs, []) == []


@pytest.mark.parametrize("threads", [True, False])
def test_exceptions_go_through(threads: bool) -> None:
    with pytest.raises(ZeroDivisionError):
        sweep(lambda item: 1 // item, [1, 0, 1], threads=threads)


def test_exceptions_come_back_from_the_cluster(cluster: Cluster) -> None:
    with parallel(dask=cluster.address), pytest.raises(ParameterError, match="quantum = -1"):
        sweep(lambda theta: mean_response_time(QUEUE, MLPT(quantum=theta, levels=2)), [10.0, -1.0])


def test_results_that_cannot_be_sent_are_refused() -> None:
    """The class of an iterator goes out of a process, and does not come into another."""
    with parallel(2), pytest.raises(ParameterError, match="^function = .* can be sent from process to process"):
        sweep(type, [iter([1.0])])


def test_what_cannot_be_sent_is_refused(cluster: Cluster) -> None:
    lock = threading.Lock()
    with parallel(dask=cluster.address):
        for function, items in (
            (lambda _item: lock.locked(), [1]),
            (str, [1, lock]),
            (lambda _item: threading.Lock(), [1]),
        ):
            with pytest.raises(ParameterError, match="^function = .* can be sent from process to process"):
                sweep(function, items)


def test_large_arguments_survive_the_worker_that_held_them(cluster: Cluster, tmp_path: Path) -> None:
    """A worker is killed by its own work, once; what it held comes again from here."""
    mark = tmp_path / "killed"
    worker = cluster.worker()
    process = worker.pid
    try:

        def work(values: np.ndarray) -> float:
            if os.getpid() == process and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return float(values.sum())

        arrays = [np.full(50_000, float(item)) for item in range(12)]
        with parallel(dask=cluster.address):
            assert wait_for(lambda: process in sweep(lambda _item: os.getpid(), range(12)), 30)
            assert sweep(work, arrays) == [50_000.0 * item for item in range(12)]
        assert mark.exists()
    finally:
        worker.kill()


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "two", math.nan])
def test_wrong_number_of_jobs(jobs: object) -> None:
    with pytest.raises(ParameterError, match=r"jobs = .* a whole number >= 1"), parallel(jobs):  # type: ignore[arg-type]
        pass


@pytest.mark.parametrize(
    "address",
    [
        "",
        "here",
        "tcp://",
        "127.0.0.1:8786",
        "nosuch://127.0.0.1:1",
        "tcp://127.0.0.1:1",
        "tcp://[::1]:99999",
        3,
        "é://a:1",
    ],
)
def test_no_scheduler_there(address: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlptsym.sweeps._PATIENCE", 0.3)
    refused = pytest.raises(ParameterError, match=r"dask = .* the address of a running Dask scheduler")
    with refused, parallel(dask=address):  # type: ignore[arg-type]
        pass


def test_scheduler_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _cluster(tmp_path) as empty:
        monkeypatch.setattr("mlptsym.sweeps._PATIENCE", 2.0)
        with pytest.raises(ParameterError, match="at least one worker"), parallel(dask=empty.address):
            pass


def test_cluster_with_other_code_is_refused(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlptsym.sweeps.fingerprint", lambda: str(os.getpid()))
    refused = pytest.raises(ParameterError, match="the same mlptsym and the same dependencies")
    with refused, parallel(dask=cluster.address):
        pass


LOST = {
    "KilledWorker": ("worker", {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}),
    "its last worker has been gone for 2 seconds": ("worker", {}),
    "Cancelled": ("scheduler", {}),
}
"""What is said of a cluster, by what of it is killed and how the scheduler is set: to give up at once, or as it comes."""


@pytest.mark.parametrize("reason", LOST)
def test_a_cluster_that_is_lost_is_no_reason_to_wait(
    reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work whose only worker dies is given up by the scheduler, or by us; nothing waits for it."""
    mark = tmp_path / "working"
    what, settings = LOST[reason]
    with _cluster(tmp_path, **settings) as doomed:
        worker = doomed.worker()

        def work(_item: int) -> None:
            mark.touch()
            time.sleep(600)

        def kill() -> None:
            assert wait_for(mark.exists, 60)
            (worker if what == "worker" else doomed.scheduler).kill()

        killer = threading.Thread(target=kill)
        killer.start()
        begin = time.monotonic()
        with parallel(dask=doomed.address):
            monkeypatch.setattr("mlptsym.sweeps._PATIENCE", 2.0)
            with pytest.raises(ClusterLostError, match=reason):
                sweep(work, range(2))
        killer.join()
        worker.kill()
        assert time.monotonic() - begin < 45


# Batches -------------------------------------------------------------------------------------------------------------

WAIT = """\
import os, pathlib, time
place = pathlib.Path(os.environ.get("STARTED", "."))
if "STARTED" in os.environ:
    (place / f"{gamma}.{os.getpid()}.running").touch()
    time.sleep(1.0)"""


def test_batch_on_a_cluster_that_loses_a_worker(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs, one of which is lost with its worker, give the bytes that they give here."""
    monkeypatch.delenv("STARTED", raising=False)
    notebook(tmp_path / "notebooks", "fig01_draws", WAIT, DRAW)
    scenarios = scenario_file(
        tmp_path / "s.yaml", "scenarios:\n- {name: a, notebooks: fig01, parameters: {gamma: [1, 2]}}\n"
    )
    here = run_batch(scenarios, tmp_path / "here", 2, notebooks=tmp_path / "notebooks")
    assert [run.state for run in here] == ["done"] * 2
    lost: list[psutil.Process] = []

    def kill_one() -> None:
        assert wait_for(lambda: any(cluster.folder.glob("*.running")), 60)
        (mark, *_) = cluster.folder.glob("*.running")
        kernel = psutil.Process(int(mark.name.split(".")[-2]))
        alive = [worker for worker in cluster.workers if worker.poll() is None]
        (busy,) = (worker for worker in alive if kernel in psutil.Process(worker.pid).children(recursive=True))
        lost.extend([kernel, psutil.Process(busy.pid)])
        busy.kill()
        busy.wait()

    killer = threading.Thread(target=kill_one)
    killer.start()
    there = run_batch(scenarios, tmp_path / "there", dask=cluster.address, notebooks=tmp_path / "notebooks")
    killer.join()
    cluster.worker()
    assert len(lost) == 2
    assert [run.state for run in there] == ["done"] * 2
    assert len(list(cluster.folder.glob("*.running"))) >= 3  # one of them was run twice
    assert outputs(tmp_path / "there") == outputs(tmp_path / "here")
    assert untrue(tmp_path / "there") == []
    assert wait_for(lambda: not any(map(runs, lost)), 5)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_what_runs_on_the_cluster_ends_with_the_command(end: signal.Signals, cluster: Cluster, tmp_path: Path) -> None:
    notebook(tmp_path / "notebooks", "fig01_sleeps", SLEEP)
    scenarios = scenario_file(tmp_path / "s.yaml", "scenarios:\n- {name: a, notebooks: fig01}\n")
    for mark in cluster.folder.glob("*.started"):
        mark.unlink()
    words = [scenarios, "--out", tmp_path / "out", "--dask", cluster.address]
    with command(tmp_path / "notebooks", *words) as process:
        assert wait_for(lambda: any(cluster.folder.glob("*.started")), 60)
        (mark,) = cluster.folder.glob("*.started")
        started = [psutil.Process(int(number)) for number in mark.read_text().split()]
        os.kill(process.pid, end)
        _, errors = process.communicate(timeout=5)
    assert wait_for(lambda: not any(map(runs, started)), 5)
    if end == signal.SIGINT:
        assert process.returncode == 130
        assert errors == "Interrupted: what is in the folder is whole; the same command goes on from here.\n"
    with parallel(dask=cluster.address):
        assert sweep(abs, [-1, -2]) == [1, 2]  # the cluster is as it was
