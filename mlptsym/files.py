"""Files that appear under their names only when they are whole."""

from __future__ import annotations

import secrets
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes | str) -> Path:
    """Write a file so that at every moment it is either absent, as it was before, or whole.

    Parameters
    ----------
    path : pathlib.Path
        The file; a symbolic link stays one, and the file it names is written.
    content : bytes or str
        All of it; a text goes as UTF-8, whatever the locale, and half a character in it as its escape.

    Returns
    -------
    pathlib.Path
        The same path.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind.
    """
    file = path.resolve()
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        part.write_bytes(content.encode(errors="backslashreplace") if isinstance(content, str) else content)
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path
