"""A process beside the one that runs notebooks, which ends kernels and all they have started once that one has gone.

It is run by its path, with a folder as its argument, and is told the process of each kernel, a line each, on standard
input.  When that closes, because all is done or the process that runs the notebooks has ended, however it did, what is
left of the kernels is ended and the folder removed.  jupyter_client ends a kernel alone, and cannot once its own
process was killed; a kernel that misses its parent ends itself, but not what it has started.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress

import psutil  # type: ignore[import-untyped]

__all__ = ["end_with_children"]


def end_with_children(process: int | psutil.Process) -> None:
    """End a process, or that of a number, and all it has started."""
    with suppress(psutil.Error):
        process = psutil.Process(process) if isinstance(process, int) else process
        for one in [*process.children(recursive=True), process]:
            with suppress(psutil.Error):
                one.kill()


def _watch(folder: str) -> None:
    kernels = []
    for line in sys.stdin:
        with suppress(psutil.Error):
            kernels.append(psutil.Process(int(line)))
    for kernel in kernels:
        end_with_children(kernel)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _watch(sys.argv[1])
