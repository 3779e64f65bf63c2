"""A client of Jupyter kernels that does not wait longer than it must.

jupyter_client's own waits for a fifth of a second without messages before it calls a kernel ready, twice for each
notebook that a kernel in use is given.
"""

from __future__ import annotations

import math
import time
from queue import Empty

from jupyter_client.asynchronous.client import AsyncKernelClient

__all__ = ["KernelClient"]

_PATIENCE = 1.0  # seconds for an answer, after which the kernel is looked at and asked again
_CONNECTED = 0.2  # seconds for what a connected kernel has published about an answer it has given


class KernelClient(AsyncKernelClient):
    """A client whose kernel is ready once it has answered a question, and published that it did.

    What is left of earlier messages stays in the channels: whoever executes code tells messages apart by what they
    belong to, as nbclient does.
    """

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait until code can be executed and what it publishes will arrive.

        Raises
        ------
        RuntimeError
            If the kernel has died, or is not ready after ``timeout`` seconds.
        """
        deadline = time.monotonic() + (math.inf if timeout is None else timeout)
        while True:
            question = self.kernel_info()
            try:
                await self._recv_reply(question, timeout=_PATIENCE)
            except TimeoutError:
                pass
            else:
                if await self._has_published(question):
                    return
            if not await self.is_alive():
                raise RuntimeError("the kernel died before it was ready")
            if time.monotonic() > deadline:
                raise RuntimeError(f"the kernel was not ready after {timeout:g} seconds")

    async def _has_published(self, question: str) -> bool:
        try:
            while True:
                message = await self.get_iopub_msg(timeout=_CONNECTED)
                if message["parent_header"].get("msg_id") == question:
                    return True
        except Empty:
            return False
