"""A notebook executed by papermill, and what is kept of it: nothing that differs from run to run."""

from __future__ import annotations

import json
import logging
import shutil
import time
from pathlib import Path
from typing import Any

import papermill

from mlptsym.files import write_whole
from mlptsym.runtime.kernels import KERNEL, Kernel
from mlptsym.runtime.parameters import OUTPUT_FOLDER, read_notebook
from mlptsym.runtime.plan import FigureRun, FigureTask
from mlptsym.validation import ParameterError

__all__ = ["execute", "merge_streams"]

logging.getLogger("papermill").addHandler(logging.NullHandler())  # what matters of it comes as an exception


def execute(task: FigureTask, kernel: Kernel) -> FigureRun:
    """Execute a notebook; its working folder is that of its files, so that it names no folder of this machine.

    The executed notebook goes to ``NAME.ipynb``, one that failed as far as it came to ``NAME.failed.ipynb``; neither
    if the kernels were ended meanwhile.  After a failure the kernel is another.
    """
    begin = time.monotonic()
    target = task.out / f"{task.name}.ipynb"
    failed = target.with_suffix(".failed.ipynb")
    # papermill writes the name of what it reads into what it writes, also one that is no text.
    copied, executed = kernel.folder / "source.ipynb", kernel.folder / "executed.ipynb"
    error = written = None
    try:
        failed.unlink(missing_ok=True)
        executed.unlink(missing_ok=True)
        shutil.copyfile(task.source, copied)
        papermill.execute_notebook(
            _literal_path(copied),
            _literal_path(executed),
            {**task.parameters, OUTPUT_FOLDER: "."},
            kernel_name=KERNEL,
            language="python",
            progress_bar=False,
            start_timeout=180,
            iopub_timeout=180,
            record_timing=False,
            km=kernel.ready(task.out),
            on_cell_executed=merge_streams,
        )
    except papermill.PapermillExecutionError as problem:
        error = _last_line(f"{problem.ename}: {problem.evalue}")
    except Exception as problem:  # a kernel that died or never started: whatever it is, the other notebooks go on
        error = _last_line(f"{type(problem).__name__}: {problem}")
        error += f" ({_last_line(log)})" if (log := kernel.log()) else ""
    if error is not None:
        kernel.end()
    try:
        if executed.exists() and not kernel.session.ended.is_set():
            content = _without_run(read_notebook(executed), read_notebook(task.source))
            written = write_whole(target if error is None else failed, content)
    except (OSError, ParameterError) as problem:  # the disk is full, or it was ended while it was written
        error = error or _last_line(str(problem))
    return FigureRun(task.name, "done" if error is None else "failed", time.monotonic() - begin, written, error)


def _literal_path(path: Path) -> str:
    """A path as papermill, which reads it as a format string, takes it to mean just that path."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "an unknown error"


def merge_streams(cell: dict[str, Any], **_others: object) -> None:
    """Make one output of all that a cell has written to standard output, and one of all to standard error.

    nbclient does it too, in a time that grows with the square of what was written to one line: it adds piece to piece,
    and looks for the last carriage return of a line from each of its characters.  Here every piece is joined once.
    As there, a carriage return takes back what stands before it in its line, and standard output goes first where the
    two are neighbours.
    """
    outputs: list[dict[str, Any]] = []
    pieces: dict[str, list[str]] = {}
    for output in cell.get("outputs", []):
        if output["output_type"] != "stream":
            outputs.append(output)
            continue
        if output["name"] not in pieces:
            outputs.append(output)
        pieces.setdefault(output["name"], []).append(output["text"])
    for place, output in enumerate(outputs):
        if output["output_type"] == "stream":
            output["text"] = "\n".join(map(_as_shown, "".join(pieces[output["name"]]).split("\n")))
            if output["name"] == "stdout" and place and outputs[place - 1].get("name") == "stderr":
                outputs[place - 1 : place + 1] = output, outputs[place - 1]
    cell["outputs"] = outputs


def _as_shown(line: str) -> str:
    r"""A line without what a carriage return took back; one at its end takes nothing back.

    Examples
    --------
    >>> _as_shown("10 %\r20 %\r")
    '20 %\r'
    """
    end = "\r" if line.endswith("\r") else ""
    return line.removesuffix("\r").rpartition("\r")[2] + end


def _without_run(executed: dict[str, Any], original: dict[str, Any]) -> str:
    """The executed notebook without times, random cell names and whatever else one run leaves behind."""
    known = {cell["id"] for cell in original["cells"] if "id" in cell}
    cells = []
    for position, cell in enumerate(executed["cells"]):
        metadata = {key: value for key, value in cell["metadata"].items() if key != "papermill" and value != []}
        name = {} if cell.get("id") in known else {"id": f"executed-{position}"}
        cells.append({**cell, "metadata": metadata, **name})
    whole = executed | {"metadata": original.get("metadata", {}), "cells": cells}
    return json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
