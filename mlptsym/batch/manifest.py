"""What a folder of results holds: a manifest with the digest of every file, and the order in which files appear.

A set of files is published in three steps: those files that would no longer be true to the manifest are removed, the
manifest that describes the new ones takes its place, the new files take theirs.  Each step is a rename or a removal, so
at every moment, whatever ends the process, a file is either absent or whole and true to its digest, and what is absent
is known to be.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from mlptsym.batch.names import path_name
from mlptsym.provenance import digest
from mlptsym.validation import ParameterError, path

__all__ = [
    "MANIFEST",
    "STAGING",
    "About",
    "Record",
    "Setting",
    "check_folder",
    "is_whole",
    "publish",
    "read_manifest",
    "result_folders",
]

MANIFEST = "manifest.json"
STAGING = ".mlptsym"
"""Folder inside the output folder for the lock and for files that are not finished."""


def _file_name(name: str) -> str:
    if {"/", "\\", "\0"} & set(name) or name in {"", ".", "..", MANIFEST}:
        raise ValueError("no plain file name")
    return name


_PLAIN: Mapping[str, type] = {"float": float, "int": int, "bool": bool, "str": str}


@dataclass(frozen=True)
class Setting:
    """The value of a parameter in one run: its type as in the notebook, and whether the scenario sets it."""

    type: str
    value: Any
    given: bool

    def __post_init__(self) -> None:
        plain: Any = _PLAIN.get(self.type.removeprefix("list[").removesuffix("]"))
        if plain is None:
            raise ValueError("no type of a parameter")
        kind = TypeAdapter(list[plain] if self.type.startswith("list[") else plain)
        object.__setattr__(self, "value", kind.validate_python(self.value))  # which reads "inf" as a float


@dataclass(frozen=True)
class About:
    """What a manifest tells of a run beside its files, for people and for the gallery; ``seconds`` are its duration."""

    scenario: str = ""
    notebook: Mapping[str, str] | None = None
    parameters: Mapping[str, Setting] | None = None
    seeds: Mapping[str, Any] | None = None
    versions: Mapping[str, str] | None = None
    code: str = ""
    revision: str | None = None
    platform: str = ""
    started: str = ""
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True)
class Record:
    """What is known of one run, or of the files that are made from all runs.

    Attributes
    ----------
    state : {"done", "failed"}
        A failed run's only output is the notebook as far as it came.
    inputs : str
        Digest of everything the outputs depend on.
    outputs : mapping of str to str
        SHA-256 by file name.
    about : About
        Where it comes from.
    """

    state: Literal["done", "failed"]
    inputs: str
    outputs: Mapping[Annotated[str, AfterValidator(_file_name)], str]
    about: About = About()


@dataclass(frozen=True)
class _Manifest:
    format: Literal[1]
    records: Mapping[str, Record]


def read_manifest(folder: Path) -> Mapping[str, Record]:
    """The records of a folder by name; none if it has no manifest.

    Raises
    ------
    ParameterError
        If there is a manifest that cannot be read, or that names files outside its folder.
    """
    path = folder / MANIFEST
    try:
        return TypeAdapter(_Manifest).validate_json(path.read_bytes()).records
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ParameterError("manifest", str(path), f"a readable file ({error.strerror})") from error
    except ValidationError as error:
        raise ParameterError("manifest", str(path), "a manifest in format 1") from error


def file_digest(path: Path) -> str | None:
    """SHA-256 of a file; None if there is none or it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def is_whole(folder: Path, record: Record) -> bool:
    """Whether every output is there and true to its digest."""
    return all(file_digest(folder / path_name(name)) == known for name, known in record.outputs.items())


def publish(folder: Path, name: str, record: Record, contents: Mapping[str, bytes], staging: Path) -> Record:
    """Let the files of a run appear in a folder, in place of those of an earlier run of that name.

    ``staging`` is a folder of the same file system for what is not finished.  The record is returned with the digests
    of the files.  After an `OSError`, the disk being full perhaps, what was there before is still true to its manifest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ready = {output: _prepared(staging, content) for output, content in contents.items()}
    try:
        records = _known(folder)
        complete = replace(record, outputs={output: digest(content) for output, content in sorted(contents.items())})
        every = {key: asdict(kept) for key, kept in sorted({**records, name: complete}.items())}
        text = json.dumps(_as_json({"format": 1, "records": every}), indent=1, ensure_ascii=False, allow_nan=False)
        # An error may name a file whose name is no text: JSON escapes its bytes the same way.
        manifest = _prepared(staging, text.encode(errors="backslashreplace") + b"\n")
        former = records[name].outputs if name in records else {}
        for output in {*former, *complete.outputs}:
            place = folder / path_name(output)
            if file_digest(place) != complete.outputs.get(output):
                place.unlink(missing_ok=True)
        manifest.replace(folder / MANIFEST)
        for output, part in ready.items():
            part.replace(folder / path_name(output))
    except BaseException:
        for part in ready.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)
        raise
    return complete


def _known(folder: Path) -> Mapping[str, Record]:
    """The records of a folder; none if its manifest is damaged, which is then replaced."""
    try:
        return read_manifest(folder)
    except ParameterError:
        return {}


def _prepared(staging: Path, content: bytes) -> Path:
    part = staging / f"{secrets.token_hex(8)}.part"
    try:
        part.write_bytes(content)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part


def result_folders(out: Path) -> Iterator[Path]:
    """The folders below an output folder that have a manifest, in order."""
    for folder in sorted(out.iterdir()):
        if folder.name != STAGING and (folder / MANIFEST).is_file():
            yield folder


def check_folder(out: Path) -> tuple[int, list[str]]:
    """Hold every file of an output folder against its digest.

    Parameters
    ----------
    out : pathlib.Path
        What a batch wrote.

    Returns
    -------
    int, list of str
        The number of files that are as they should be, and what is not.

    Raises
    ------
    ParameterError
        If it is no folder, or has no results.
    """
    out = path("check", out, "a folder with the results of a batch")
    folders = [*result_folders(out), *([out] if (out / MANIFEST).is_file() else [])] if out.is_dir() else []
    if not folders:
        raise ParameterError("check", str(out), "a folder with the results of a batch")
    good, problems = 0, []
    for folder in folders:
        place = folder.relative_to(out)
        try:
            records = read_manifest(folder)
        except ParameterError:
            problems.append(f"{place / MANIFEST}: damaged")
            continue
        for record in records.values():
            for name, known in record.outputs.items():
                found = file_digest(folder / path_name(name))
                good += found == known
                if found != known:
                    problems.append(f"{place / name}: {'missing' if found is None else 'changed'}")
    return good, problems


def _as_json(value: Any) -> Any:
    """A value as JSON can hold it: infinite numbers as the texts ``inf`` and ``-inf``.

    Examples
    --------
    >>> _as_json([1.0, math.inf])
    [1.0, 'inf']
    """
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value
