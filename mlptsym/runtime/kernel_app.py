"""IPython's kernel, which loses nothing of what a cell writes; run by its path."""

from __future__ import annotations

from typing import Any

import zmq
from ipykernel.kernelapp import IPKernelApp

__all__ = ["KernelApp"]


class KernelApp(IPKernelApp):
    """A kernel that keeps what has not been read yet.

    By default it keeps a thousand messages and drops what a cell writes beyond, and with it the message that the cell
    has ended, for which whoever runs the notebook then waits.
    """

    def init_iopub(self, context: Any) -> None:
        """Make the socket for outputs, without a limit on what waits in it."""
        context.setsockopt(zmq.SNDHWM, 0)
        super().init_iopub(context)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    KernelApp.launch_instance()
