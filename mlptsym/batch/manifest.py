"""What a folder of results holds: a manifest with the digest of every file, and the order in which files appear.

A set of files is landed in three steps: those files that would no longer be true to the manifest are removed, the
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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mlptsym.batch.names import path_name
from mlptsym.provenance import digest
from mlptsym.validation import ParameterError, path, refuse

__all__ = ["MANIFEST", "Record", "WORKSHOP", "check_folder", "is_whole", "land", "read_manifest", "result_folders"]

MANIFEST = "manifest.json"
WORKSHOP = ".mlptsym"
"""Folder inside the output folder for the lock and for files that are not finished."""

FORMAT = 1


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
    about : mapping
        Parameters, seeds, versions, source revision, time and the like, for people.
    """

    state: str
    inputs: str
    outputs: Mapping[str, str]
    about: Mapping[str, Any] = field(default_factory=dict)


def read_manifest(folder: Path) -> dict[str, Record]:
    """The records of a folder by name; none if it has no manifest.

    Raises
    ------
    ParameterError
        If there is a manifest that cannot be read, or that names files outside its folder.
    """
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ParameterError("manifest", str(path), f"a readable file ({error.strerror})") from error
    allowed = f"a manifest in format {FORMAT}"
    try:
        found = json.loads(content.decode())
        records = {str(name): Record(**record) for name, record in found["records"].items()}
        sound = found["format"] == FORMAT and all(map(_is_sound, records.values()))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ParameterError("manifest", str(path), allowed) from error
    if not sound:
        refuse("manifest", str(path), allowed)
    return records


def _is_sound(record: Any) -> bool:
    """Whether a record that was read is of the right types, and its outputs are plain file names."""
    texts = all(isinstance(text, str) for text in (record.state, record.inputs, *record.outputs.values()))
    plain = all(not {"/", "\\", "\0"} & set(name) and name not in {"", ".", "..", MANIFEST} for name in record.outputs)
    return texts and plain and isinstance(record.about, dict)


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


def land(folder: Path, name: str, record: Record, contents: Mapping[str, bytes], workshop: Path) -> Record:
    """Let the outputs of a run appear in a folder, in place of those of an earlier run of that name.

    Parameters
    ----------
    folder : pathlib.Path
        Where they go.
    name : str
        The run.
    record : Record
        What is known of it; the digests are added here.
    contents : mapping of str to bytes
        Its files.
    workshop : pathlib.Path
        A folder of the same file system for what is not finished.

    Returns
    -------
    Record
        With the digests.

    Raises
    ------
    OSError
        If the disk is full or the folder cannot be written; what was there before then is still true to its manifest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ready = {output: _prepared(workshop, content) for output, content in contents.items()}
    try:
        records = _known(folder)
        complete = Record(
            record.state,
            record.inputs,
            {output: digest(content) for output, content in sorted(contents.items())},
            record.about,
        )
        text = json.dumps(
            {
                "format": FORMAT,
                "records": {key: asdict(kept) for key, kept in sorted((records | {name: complete}).items())},
            },
            indent=1,
            ensure_ascii=False,
            allow_nan=False,
        )
        # An error may name a file whose name is no text: JSON escapes its bytes the same way.
        manifest = _prepared(workshop, text.encode(errors="backslashreplace") + b"\n")
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


def _known(folder: Path) -> dict[str, Record]:
    """The records of a folder; none if its manifest is damaged, which is then replaced."""
    try:
        return read_manifest(folder)
    except ParameterError:
        return {}


def _prepared(workshop: Path, content: bytes) -> Path:
    part = workshop / f"{secrets.token_hex(8)}.part"
    try:
        part.write_bytes(content)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part


def result_folders(out: Path) -> Iterator[Path]:
    """The folders below an output folder that have a manifest, in order."""
    for folder in sorted(out.iterdir()):
        if folder.name != WORKSHOP and (folder / MANIFEST).is_file():
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


def written(value: Any) -> Any:
    """A parameter's value as JSON can hold it: infinite numbers as the texts ``inf`` and ``-inf``.

    Examples
    --------
    >>> written([1.0, math.inf])
    [1.0, 'inf']
    """
    if isinstance(value, list):
        return [written(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value
