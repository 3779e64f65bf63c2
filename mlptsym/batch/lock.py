"""One command at a time writes to an output folder."""

from __future__ import annotations

import getpass
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlptsym.batch.manifest import STAGING
from mlptsym.files import write_whole
from mlptsym.validation import ParameterError

__all__ = ["FolderInUseError", "locked"]


class FolderInUseError(RuntimeError):
    """Another command writes to the folder."""


@contextmanager
def locked(out: Path) -> Iterator[Path]:
    """Lock an output folder, made if it is missing, for the time of a ``with`` block.

    The lock is the operating system's: it ends with the process, however that ends.  The block gets a folder inside it
    for files that are not finished, empty at first.

    Raises
    ------
    FolderInUseError
        If another command has locked it; the message says which.
    ParameterError
        If the folder cannot be made or written.
    """
    import filelock

    staging = out / STAGING
    holder = staging / "holder.json"
    try:
        staging.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(staging / "lock", timeout=0, thread_local=False)
        lock.acquire()
    except filelock.Timeout:
        raise FolderInUseError(f"{out} is being written by {_who(holder)}") from None
    except OSError as error:
        raise ParameterError("out", str(out), f"a folder that can be written ({error.strerror or error})") from error
    try:
        for left in staging.iterdir():  # by a command that was killed
            if left.name not in {"lock", holder.name}:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        write_whole(holder, json.dumps(_me()).encode())
        yield staging
    except OSError as error:
        if error.filename is None:
            error.filename = str(out)
        raise
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release()


def _me() -> dict[str, Any]:
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):
        user = f"user {os.getuid()}" if hasattr(os, "getuid") else "somebody"
    return {
        "process": os.getpid(),
        "user": user,
        "machine": platform.node(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(Path(word).name if place == 0 else word for place, word in enumerate(sys.argv)),
    }


def _who(holder: Path) -> str:
    try:
        known = json.loads(holder.read_bytes())
        return (
            f"process {known['process']} of {known['user']} on {known['machine']} since {known['since']}: "
            f"{known['command']}"
        )
    except (OSError, ValueError, KeyError, TypeError):
        return "another command"  # which has not yet written its name
