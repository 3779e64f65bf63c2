"""One notebook executed in a process of its own.

`mlptsym.figures.runner` starts these processes, with the output folder as their working folder.  The parameters come as
a line of JSON on standard input, which then stays open: when it closes, because the starting process has ended or was
interrupted, the kernel and whatever it started are ended too.  JSON on standard output says how it went.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mlptsym.figures.parameters import read_notebook
from mlptsym.figures.record import write_whole

__all__ = ["KERNEL", "execute", "main"]

KERNEL = "mlptsym"
"""Name of the kernelspec in the scratch folder, which runs this very interpreter."""

_OF_ONE_RUN = ("papermill", "execution")

# A socket's path is limited to 104 bytes on macOS, 108 on Linux.
_LONGEST_SOCKET_PATH = 100


def main(arguments: Sequence[str]) -> None:
    """Execute a notebook and report on standard output.

    Parameters
    ----------
    arguments : sequence of str
        The notebook, where the executed one goes, and a scratch folder, as in `execute`.
    """
    source, target, scratch = map(Path, arguments)
    parameters = json.loads(_first_line(0))
    threading.Thread(target=_end_with_input, args=(scratch,), daemon=True).start()
    # The kernel inherits standard output, so the report gets a channel of its own and the rest goes to the log.
    report = os.dup(1)
    os.dup2(2, 1)
    error = execute(source, target, parameters, scratch)
    os.write(report, json.dumps({"error": error}).encode())


def _first_line(descriptor: int) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return bytes(line)


def _end_with_input(scratch: Path) -> None:
    while os.read(0, 1):
        pass
    import psutil  # type: ignore[import-untyped]

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
    shutil.rmtree(scratch.parent, ignore_errors=True)
    os._exit(1)


def execute(source: Path, target: Path, parameters: Mapping[str, Any], scratch: Path) -> str | None:
    """Execute a notebook and keep the result, without what differs from run to run.

    Parameters
    ----------
    source : pathlib.Path
        The notebook; it stays as it is.
    target : pathlib.Path
        Where the executed notebook goes.  One that failed goes to ``….failed.ipynb`` beside it instead.
    parameters : mapping
        Values for its ``parameters`` cell.
    scratch : pathlib.Path
        A folder for this run alone, which `mlptsym.figures.runner` has prepared.

    Returns
    -------
    str or None
        The last line of the error that ended it; None if all went well.
    """
    import papermill
    from traitlets.config import Config

    partial = scratch / "notebook.ipynb"
    connection = scratch / "k.json"
    # Sockets in a folder of one's own cannot be taken by another kernel that starts at the same moment, as ports can.
    short = sys.platform != "win32" and len(os.fsencode(connection)) <= _LONGEST_SOCKET_PATH
    manager = {"transport": "ipc" if short else "tcp", "connection_file": str(connection)}
    failed = target.with_suffix(".failed.ipynb")
    error = None
    try:
        papermill.execute_notebook(
            _literal_path(source),
            _literal_path(partial),
            parameters,
            kernel_name=KERNEL,
            language="python",
            progress_bar=False,
            start_timeout=180,
            iopub_timeout=180,
            coalesce_streams=True,
            record_timing=False,
            config=Config({"KernelManager": manager}),
        )
    except papermill.PapermillExecutionError as problem:
        error = _last_line(f"{problem.ename}: {problem.evalue}")
    except Exception as problem:  # a kernel that died or never started: whatever it is, the other notebooks go on
        error = _last_line(f"{type(problem).__name__}: {problem}")
    try:
        if partial.exists():
            executed = _without_run(read_notebook(partial), read_notebook(source))
            content = json.dumps(executed, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
            write_whole(target if error is None else failed, content.encode())
    except OSError as problem:
        error = error or f"{target}: {problem.strerror}"
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
