"""Kernels for notebooks: this very interpreter, in an environment that is the same everywhere, and their end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop, run_sync

from mlptsym.runtime import guard
from mlptsym.runtime.sources import project_folder
from mlptsym.validation import ParameterError

__all__ = ["KERNEL", "Kernel", "Session", "environment", "kernel_session", "scratch_folder"]

KERNEL = "mlptsym"
"""Name of the kernelspec that `environment` writes into a scratch folder."""

# To reset collects all garbage.  What is left is there to stay and is looked at no more, and new objects seldom:
# reference counts free nearly all of them, and by default SymPy's caches would be walked through again and again.
_FORGET = (
    "get_ipython().reset(); __import__('gc').freeze(); __import__('gc').set_threshold(100_000, 20, 100); "
    "__import__('os').chdir({folder!r})"
)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder, with a path short enough for sockets in it where there is one."""
    try:
        usual = tempfile.gettempdir()
    except FileNotFoundError as error:
        raise ParameterError("TMPDIR", os.environ.get("TMPDIR"), "a folder that can be written") from error
    place = usual if len(os.fsencode(usual)) <= 60 or not os.access("/tmp", os.W_OK | os.X_OK) else "/tmp"  # noqa: S108
    with tempfile.TemporaryDirectory(prefix="mlptsym-", dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def environment(scratch: Path) -> dict[str, str]:
    """Environment of kernels: the user's, without what would make figures depend on the user.

    Nothing of the user's Jupyter, IPython or matplotlib set-up takes part.  The folder gets what stands in its place.
    """
    home = Path(os.path.expanduser("~"))  # noqa: PTH111, pathlib's raises where there is none
    usable = home.is_absolute() and home != home.parent and home.is_dir() and os.access(home, os.W_OK | os.X_OK)
    kept = {name: value for name, value in os.environ.items() if name not in {"MPLBACKEND", "PYTHONWARNINGS"}}
    paths = [str(Path(entry).absolute()) for entry in kept.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if (project_folder() / "pyproject.toml").is_file():
        paths.insert(0, str(project_folder()))  # a checkout need not be installed
    kernel = scratch / "jupyter" / "kernels" / KERNEL
    kernel.mkdir(parents=True)
    program = Path(__file__).with_name("kernel_app.py")
    command = [sys.executable, "-Xfrozen_modules=off", str(program), "-f", "{connection_file}"]
    specification = {"argv": command, "display_name": KERNEL, "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(specification), encoding="utf-8")
    places = ("PATH", "DATA_DIR", "CONFIG_DIR", "RUNTIME_DIR")
    jupyter = {f"JUPYTER_{place}": str(scratch / "jupyter") for place in places}
    (scratch / "matplotlibrc").touch()
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    return (
        one_thread
        | kept
        | jupyter
        | {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONSAFEPATH": "1",  # nothing is imported from the output folder
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
            "MATPLOTLIBRC": str(scratch / "matplotlibrc"),
            "HOME": str(home if usable else scratch),
        }
    )


@dataclass(frozen=True)
class Session:
    """Where kernels are started, by several threads at once, and what ends them.

    Everything that goes with the last kernel is in ``scratch``; ``watcher`` is the process of `mlptsym.runtime.guard`;
    ``ended`` is set once no kernel may start any more.
    """

    scratch: Path
    environment: Mapping[str, str]
    watcher: subprocess.Popen[bytes]
    ended: threading.Event = field(default_factory=threading.Event)

    def watch(self, process: int) -> None:
        """Have a process ended with the session."""
        assert self.watcher.stdin is not None  # noqa: S101
        self.watcher.stdin.write(f"{process}\n".encode())
        self.watcher.stdin.flush()

    def end(self) -> None:
        """End all kernels, in use or not, and whatever they have started."""
        self.ended.set()
        with suppress(OSError):
            self.watcher.stdin.close()  # type: ignore[union-attr]
        self.watcher.wait()


@contextmanager
def kernel_session() -> Iterator[Session]:
    """A session, which ends at the end of a ``with`` block or of this process, whichever comes first."""
    with scratch_folder() as scratch:
        command = [sys.executable, "-I", guard.__file__, str(scratch)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as watcher:  # noqa: S603
            session = Session(scratch, environment(scratch), watcher)
            try:
                yield session
            finally:
                session.end()


class Manager(AsyncKernelManager):
    """A manager that closes its clients: papermill leaves open that of a manager it was given."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.clients: list[Any] = []
        # As in kernel_app: by default what is not taken in time is lost beyond a thousand messages.
        self.context.setsockopt(zmq.RCVHWM, 0)

    @property
    def process(self) -> int:
        """Process id of the kernel."""
        return int(self.provisioner.pid)  # type: ignore[union-attr]

    def client(self, **options: Any) -> Any:
        """A client, to be closed by `close_clients`."""
        self.clients.append(super().client(**options))
        return self.clients[-1]

    def close_clients(self) -> None:
        """Close all clients."""
        while self.clients:
            self.clients.pop().stop_channels()

    async def execute(self, code: str) -> None:
        """Have the kernel execute some code, without any of its output."""
        self.close_clients()
        client = self.client()
        client.start_channels()
        await client.execute(code, silent=True, reply=True, timeout=60)
        self.close_clients()

    async def end(self) -> None:
        """End the kernel."""
        self.close_clients()
        await self.shutdown_kernel(now=True)


class Kernel:
    """A kernel that one thread runs one notebook after the other on.

    What one notebook has imported is ready for the next: with a kernel for each, ``mlptsym figures`` would take a third
    longer.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.folder = Path(tempfile.mkdtemp(dir=session.scratch))
        self.manager: Manager | None = None

    def ready(self, working_folder: Path) -> Manager:
        """What papermill reaches it by, without names of earlier notebooks; whether a new one starts shows later."""
        if self.manager is None:
            self._start(working_folder)
        else:
            code = _FORGET.format(folder=str(working_folder))
            run_sync(self.manager.execute)(code)
        assert self.manager is not None  # noqa: S101
        return self.manager

    def _start(self, working_folder: Path) -> None:
        connection = self.folder / "k.json"
        connection.unlink(missing_ok=True)
        # Sockets in a folder of one's own cannot be taken by another kernel that starts just then, as ports can.  Their
        # paths are limited to 104 bytes on macOS, 108 on Linux.
        short = sys.platform != "win32" and len(os.fsencode(connection)) <= 100
        manager = Manager(
            kernel_name=KERNEL,
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(self.session.scratch / "jupyter" / "kernels")]),
            transport="ipc" if short else "tcp",
            connection_file=str(connection),
        )
        with (self.folder / "log").open("wb") as log:
            own = {**self.session.environment, "IPYTHONDIR": str(self.folder / "ipython")}
            run_sync(manager.start_kernel)(cwd=str(working_folder), env=own, stdout=log, stderr=log)
        self.manager = manager
        self.session.watch(manager.process)

    def log(self) -> str:
        """What it has written that went into no notebook, such as why it could not start."""
        log = self.folder / "log"
        return log.read_text(encoding="utf-8", errors="replace").strip() if log.exists() else ""

    def end(self) -> None:
        """End it, and whatever it has started: the next notebook gets a new one."""
        manager, self.manager = self.manager, None
        if manager is not None:
            guard.end_with_children(manager.process)
            run_sync(manager.end)()

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        ensure_event_loop().close()
