"""Sources of compiled formulas, kept on disk: a fresh process then needs neither SymPy nor the derivation.

A source is found under a digest of all that it came from, so that a formula that is altered by one sign is another one.
A cache that cannot be read or written, or that others may write to, is done without.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from mlptsym.files import write_whole
from mlptsym.provenance import digest

__all__ = ["load", "store"]

LOCATION = "MLPTSYM_CACHE"
"""The environment variable that names the folder of the cache; if it is empty there is none."""

ORIGINS = ("symbolic", "laws", "memory", "compile", "parameters.py")
"""What the sources are made from, in the package."""

KEPT = 4
"""Of as many versions of all that, the sources are kept."""

Function = tuple[tuple[str, ...], tuple[str, ...], str]


def load(reference: str, choices: tuple[Any, ...]) -> Function | None:
    """Names of the inputs, names of the outputs and source of a formula; None if they are not here, or damaged."""
    file = _file(reference, choices)
    try:
        if file is None or not _is_mine(file.parent):
            return None
        checked, _, content = file.read_text(encoding="utf-8").partition("\n")
        if digest(content.encode()) != checked:
            return None
        inputs, outputs, source = json.loads(content)
        return tuple(inputs), tuple(outputs), source
    except (OSError, ValueError):
        return None


def store(reference: str, choices: tuple[Any, ...], function: Function) -> None:
    """Keep a formula's source for later processes."""
    file = _file(reference, choices)
    if file is None:
        return
    content = json.dumps(function)
    try:
        if not file.parent.exists():
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _forget_old(file.parent.parent)
        if _is_mine(file.parent):
            write_whole(file, f"{digest(content.encode())}\n{content}")
    except OSError:
        return


def _file(reference: str, choices: tuple[Any, ...]) -> Path | None:
    folder, described = _folder(), _described((reference, *choices))
    if folder is None or described is None:
        return None
    return folder / _version() / f"{digest(described.encode())}.json"


def _folder() -> Path | None:
    from platformdirs import user_cache_path

    named = os.environ.get(LOCATION)
    if named == "":
        return None
    return user_cache_path("mlptsym", appauthor=False) if named is None else Path(named)


@cache
def _version() -> str:
    """Digest of all that sources come from: derivations, compiler, and the versions of SymPy and of Python."""
    package = Path(__file__).parents[1]
    places = [package / origin for origin in ORIGINS]
    files = [path for place in places for path in (sorted(place.rglob("*.py")) if place.is_dir() else [place])]
    origins = [f"{path.relative_to(package).as_posix()} {digest(path.read_bytes())}" for path in files]
    versions = f"{sys.version_info[:3]} {metadata.version('sympy')}"
    return digest("\n".join([versions, *origins]).encode())


def _described(value: Any) -> str | None:
    """A text that tells choices from each other; None where there is none that would be the same in every process."""
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    if isinstance(value, tuple):
        parts = [_described(part) for part in value]
        return None if None in parts else f"({', '.join(map(str, parts))})"
    return repr(value) if value is None or isinstance(value, (str, int, float)) else None


def _is_mine(folder: Path) -> bool:
    """Whether nobody else may have written to a folder: its files are run."""
    found = folder.stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _forget_old(folder: Path) -> None:
    versions = sorted((path for path in folder.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for path in versions[:-KEPT]:
        shutil.rmtree(path, ignore_errors=True)
