"""Ends batches at every step or at random moments and looks at what is left.

A program of its own: it loads the package once and forks the batches, whose notebooks are stood in for by a function
that gives the same files in no time.  ``python killed_batches.py FOLDER MODE COUNT`` prints what it saw as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from batch_samples import notebooks, outputs, scenario_file, untrue

from mlptsym.batch import manifest, running
from mlptsym.batch.execution import Outcome, Work

SCENARIOS = """\
scenarios:
  - {{name: base, notebooks: [fig01, fig02], parameters: {{gamma: [0.1], seeds: {seeds}}}}}
  - {{name: more, notebooks: fig01, parameters: {{seeds: {seeds}}}}}
"""
VARIANTS = (8, 9)
SIZE = 60_000


def stand_in(work: Work, staging: Path, _stop: Callable[[], bool]) -> Outcome:
    """Files that depend on the parameters alone, after a while that does not."""
    part = staging / f"run-{os.urandom(4).hex()}"
    part.mkdir()
    (part / "unfinished").write_bytes(b"unfinished")
    time.sleep(0.01)
    seed = hashlib.sha256(json.dumps([work.figure, dict(work.values)]).encode()).digest()
    rows = f"panel,curve,kind,x,y,standard_error\n,T,theory,1.0,{seed[0]}.0,\n"
    contents = {f"{work.figure}.csv": rows.encode(), f"{work.figure}.svg": seed * (SIZE // len(seed))}
    (part / "unfinished").unlink()
    part.rmdir()
    return Outcome(None, contents, "2000-01-01T00:00:00+00:00", 0.0, "")


def batch(folder: Path, out: Path, variant: int = 0) -> None:
    """Run one of two batches that agree in all names and in no result."""
    running.run_batch(folder / f"{variant}.yaml", out, 2, notebooks=folder / "notebooks")


def forked(work: Callable[[], None]) -> int:
    """Start something in a child, which ends with 7 if that raises."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(7)
    os._exit(0)


def status(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def end_at_step(step: int, out: Path, work: Callable[[], None]) -> None:
    """Do something, but end without any clean-up when it is about to touch the output folder for the n-th time."""
    place, seen = str(out), 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        writes = event in {"os.rename", "os.remove", "os.mkdir", "os.rmdir"} or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if writes and str(arguments[0]).startswith(place):
            if seen == step:
                os._exit(9)
            seen += 1

    sys.addaudithook(watch)
    work()


def at_every_step(folder: Path, _count: int) -> dict[str, object]:
    """Run one batch over the results of another again and again, and end each a step later than the one before."""
    step, wrong = 0, []
    undisturbed, out = folder / "undisturbed", folder / "out"
    batch(folder, undisturbed)
    ended_whole = 0
    while ended_whole < 2:
        ended = partial(end_at_step, step, out, partial(batch, folder, out, step % 2))
        code = status(forked(ended))
        if code not in {0, 9}:
            raise SystemExit(f"step {step}: the batch ended with {code}")
        wrong += untrue(out) if out.exists() else []
        ended_whole = ended_whole + 1 if code == 0 else 0
        step += 1
    batch(folder, out)
    return {"kills": step - 2, "wrong": wrong, "same": outputs(out) == outputs(undisturbed), "left": left(out)}


def at_random(folder: Path, count: int) -> dict[str, object]:
    """Kill batches at random moments, going on where the last one ended; after one that did end, the other begins."""
    generator = random.Random(20)  # noqa: S311
    undisturbed = folder / "undisturbed"
    begin = time.monotonic()
    assert status(forked(partial(batch, folder, undisturbed))) == 0
    duration = time.monotonic() - begin
    out, kills, ended, wrong = folder / "out", 0, 0, []
    while kills < count:
        child = forked(partial(batch, folder, out, ended % 2))
        time.sleep(generator.uniform(0, duration))
        os.kill(child, signal.SIGKILL)
        code = status(child)
        if code not in {0, -signal.SIGKILL}:
            raise SystemExit(f"the batch ended with {code}")
        kills += code < 0
        ended += code == 0
        wrong += untrue(out) if out.exists() else []
    batch(folder, out)
    return {"kills": kills, "wrong": wrong, "same": outputs(out) == outputs(undisturbed), "left": left(out)}


def on_a_full_disk(folder: Path, _count: int) -> dict[str, object]:
    """No file may grow beyond a limit, as on a full disk; then there is room again."""
    undisturbed, out = folder / "undisturbed", folder / "out"
    batch(folder, undisturbed)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE // 2, SIZE // 2))
        try:
            batch(folder, out)
        except OSError as error:
            os._exit(3 if error.filename is not None else 4)

    code = status(forked(limited))
    wrong = untrue(out)
    batch(folder, out)
    return {"code": code, "wrong": wrong, "same": outputs(out) == outputs(undisturbed), "left": left(out)}


def left(out: Path) -> list[str]:
    return sorted(path.name for path in (out / manifest.STAGING).iterdir())


def main() -> None:
    folder, mode, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    notebooks(folder / "notebooks")
    for variant, seeds in enumerate(VARIANTS):
        scenario_file(folder / f"{variant}.yaml", SCENARIOS.format(seeds=seeds))
    running.execute = stand_in
    for library in ("filelock", "joblib", "pyarrow.parquet", "yaml"):
        import_module(library)  # once, here, and not in every child
    modes = {"steps": at_every_step, "random": at_random, "full": on_a_full_disk}
    sys.stdout.write(json.dumps(modes[mode](folder, count)))


if __name__ == "__main__":
    main()
