"""Notebooks executed one after the other in a process of its own, on one kernel.

`mlptsym.runtime.runner` starts these processes.  Each notebook comes as a line of JSON on standard input, and a line of
JSON on standard output says how it went.  When standard input closes, because all is done or the starting process has
ended or was interrupted, the kernel and whatever it started are ended too.

A kernel that has run a notebook is given the next one, after it has forgotten the names of the last: what the package
has imported, derived and compiled by then is ready.  After a failure the next notebook gets a new kernel.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from mlptsym.files import write_whole
from mlptsym.runtime.parameters import read_notebook
from mlptsym.runtime.sources import without_address_parser
from mlptsym.validation import ParameterError

__all__ = ["KERNEL", "Kernel", "execute", "main", "task_line"]

KERNEL = "mlptsym"
"""Name of the kernelspec in the scratch folder, which runs this very interpreter."""

_CLIENT = "mlptsym.runtime.kernel_client.KernelClient"
_OF_ONE_RUN = ("papermill", "execution")

# A socket's path is limited to 104 bytes on macOS, 108 on Linux.
_LONGEST_SOCKET_PATH = 100

# To reset collects all garbage.  What is left is there to stay and is looked at no more, and new objects seldom:
# reference counts free nearly all of them, and by default SymPy's caches would be walked through again and again.
_FRESH = (
    "get_ipython().reset(); __import__('gc').freeze(); __import__('gc').set_threshold(100_000, 20, 100); "
    "__import__('os').chdir({folder!r})"
)
_SECONDS_TO_START = 180


def main(arguments: Sequence[str]) -> None:
    """Execute notebooks until standard input closes.

    Parameters
    ----------
    arguments : sequence of str
        A scratch folder for this process alone, in the one that `mlptsym.runtime.runner` has prepared.

    Notes
    -----
    A line of input is that of `task_line`; a line of output is an object with ``error``.
    """
    (scratch,) = map(Path, arguments)
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(lines, scratch), daemon=True).start()
    # The kernel inherits standard output, so the report gets a channel of its own and the rest goes to the log.
    report = os.dup(1)
    os.dup2(2, 1)
    kernel = Kernel(scratch)
    with without_address_parser():
        kernel.start()
        import papermill  # noqa: F401, while the kernel starts

    while True:
        task = json.loads(lines.get())
        source, target = (Path(os.fsdecode(task[name].encode("latin-1"))) for name in ("source", "target"))
        error = execute(source, target, task["parameters"], kernel)
        os.write(report, json.dumps({"error": error}).encode() + b"\n")


def task_line(source: Path, target: Path, parameters: Mapping[str, Any]) -> bytes:
    """What tells a process to execute a notebook, as in `execute`.

    Paths go as their bytes: the process may have another encoding of file names than the one that starts it.
    """
    places = {name: os.fsencode(path).decode("latin-1") for name, path in (("source", source), ("target", target))}
    return json.dumps({**places, "parameters": parameters}).encode() + b"\n"


def _listen(lines: SimpleQueue[bytes], scratch: Path) -> None:
    """Pass on the lines of standard input; end everything when it closes."""
    with os.fdopen(0, "rb", closefd=False) as channel:
        for line in channel:
            lines.put(line)
    import psutil  # type: ignore[import-untyped]

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
    shutil.rmtree(scratch.parent, ignore_errors=True)
    os._exit(1)


@dataclass
class Kernel:
    """A kernel for one notebook after the other.

    Attributes
    ----------
    scratch : pathlib.Path
        Where its connection files go.
    started : int
        How many kernels have been made so far.
    manager : jupyter_client.AsyncKernelManager or None
        That of the kernel in use.
    """

    scratch: Path
    started: int = 0
    manager: Any = None

    def start(self) -> None:
        """Start a kernel, without waiting for it, unless there is one."""
        from jupyter_client.manager import AsyncKernelManager
        from nbclient.util import run_sync

        if self.manager is not None:
            return
        connection = self.scratch / f"k{self.started}.json"
        self.started += 1
        # Sockets in a folder of one's own cannot be taken by another kernel that starts just then, as ports can.
        short = sys.platform != "win32" and len(os.fsencode(connection)) <= _LONGEST_SOCKET_PATH
        transport = "ipc" if short else "tcp"
        self.manager = AsyncKernelManager(
            kernel_name=KERNEL, transport=transport, connection_file=str(connection), client_class=_CLIENT
        )
        run_sync(self.manager.start_kernel)(cwd=str(self.scratch))

    def ready(self, folder: Path) -> Any:
        """The manager of a kernel without names of earlier notebooks, with a working folder."""
        from nbclient.util import run_sync

        self.start()
        run_sync(self._prepare)(folder)
        return self.manager

    async def _prepare(self, folder: Path) -> None:
        client = self.manager.client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=_SECONDS_TO_START)
            await client.execute(_FRESH.format(folder=str(folder)), silent=True, reply=True, timeout=_SECONDS_TO_START)
        finally:
            client.stop_channels()

    def discard(self) -> None:
        """End the kernel: the next notebook gets a new one."""
        from nbclient.util import run_sync

        manager, self.manager = self.manager, None
        if manager is not None and manager.has_kernel:
            run_sync(manager.shutdown_kernel)(now=True)


def execute(source: Path, target: Path, parameters: Mapping[str, Any], kernel: Kernel) -> str | None:
    """Execute a notebook and keep the result, without what differs from run to run.

    Parameters
    ----------
    source : pathlib.Path
        The notebook; it stays as it is.
    target : pathlib.Path
        Where the executed notebook goes; its folder is the working folder, so that it names no folder of this machine.
        One that failed goes to ``….failed.ipynb`` beside it instead.
    parameters : mapping
        Values for its ``parameters`` cell.
    kernel : Kernel
        What runs it.

    Returns
    -------
    str or None
        The last line of the error that ended it; None if all went well.
    """
    import papermill

    # papermill writes the name of what it reads into what it writes, also one that is no text.
    copied, partial = kernel.scratch / "source.ipynb", kernel.scratch / "notebook.ipynb"
    partial.unlink(missing_ok=True)
    failed = target.with_suffix(".failed.ipynb")
    error = None
    try:
        shutil.copyfile(source, copied)
        papermill.execute_notebook(
            _literal_path(copied),
            _literal_path(partial),
            parameters,
            kernel_name=KERNEL,
            language="python",
            progress_bar=False,
            start_timeout=_SECONDS_TO_START,
            iopub_timeout=180,
            coalesce_streams=True,
            record_timing=False,
            km=kernel.ready(target.parent),
        )
    except papermill.PapermillExecutionError as problem:
        error = _last_line(f"{problem.ename}: {problem.evalue}")
    except Exception as problem:  # a kernel that died or never started: whatever it is, the other notebooks go on
        error = _last_line(f"{type(problem).__name__}: {problem}")
    if error is not None:
        kernel.discard()
    try:
        if partial.exists():
            executed = _without_run(read_notebook(partial), read_notebook(source))
            content = json.dumps(executed, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
            write_whole(target if error is None else failed, content)
    except OSError as problem:
        error = error or f"{target}: {problem.strerror}"
    except ParameterError as problem:  # it was ended while it was written
        error = error or str(problem)
    return error


def _literal_path(path: Path) -> str:
    """A path as papermill, which reads it as a format string, takes it to mean just that path."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "an unknown error"


def _without_run(executed: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    """The executed notebook without times, random cell names and whatever else one run leaves behind."""
    known = {cell["id"] for cell in original["cells"] if "id" in cell}
    cells = [
        cell
        | {
            "metadata": {
                key: value for key, value in cell["metadata"].items() if key not in _OF_ONE_RUN and value != []
            }
        }
        | ({"id": f"executed-{position}"} if cell.get("id") not in known else {})
        for position, cell in enumerate(executed["cells"])
    ]
    return executed | {"metadata": original.get("metadata", {}), "cells": cells}
