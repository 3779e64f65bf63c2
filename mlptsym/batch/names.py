"""Names of folders that work on every system, and how parameter values are spelled in them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from unicodedata import normalize

from mlptsym.provenance import digest
from mlptsym.validation import refuse

__all__ = ["compared", "folder_name", "grid_name", "path_name"]

LONGEST = 180
"""Bytes of a folder's name; with the files' own names it stays below the 255 of usual file systems."""

_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])\s*(\..*)?")
_OWN = {"manifest.json", "index.html", "results.csv", "results.parquet"}


def folder_name(name: str, value: str) -> str:
    """A name under which a folder can be made anywhere, in Unicode's composed form.

    Refused are names that are empty, too long or reserved, that have a character some file system forbids, that begin
    with ``.`` or ``-``, or that end with a dot or space; ``name`` is what the name is called in the message.

    Examples
    --------
    >>> folder_name("name", "β = 0.39")
    'β = 0.39'
    >>> folder_name("name", "con.txt")
    Traceback (most recent call last):
    mlptsym.validation.ParameterError: name = 'con.txt' is not allowed: it must be a name that is not reserved
    """
    try:
        composed = normalize("NFC", value)
        length = len(composed.encode())
    except UnicodeEncodeError:
        refuse(name, value, "a text in UTF-8")
    if not composed or composed != composed.strip():
        refuse(name, value, "a name without spaces at its ends")
    if length > LONGEST:
        refuse(name, value, f"a name of at most {LONGEST} bytes, not {length}")
    if not composed.isprintable() or set(composed) & set('<>:"/\\|?*'):
        refuse(name, value, 'a name of printable characters other than < > : " / \\ | ? *')
    if composed[0] in ".-" or composed[-1] == ".":
        refuse(name, value, "a name that neither begins with '.' or '-' nor ends with '.'")
    if _RESERVED.fullmatch(composed) or composed.lower() in _OWN:
        refuse(name, value, "a name that is not reserved")
    return composed


def compared(name: str) -> str:
    """What two names have in common that some file system cannot tell apart.

    Examples
    --------
    >>> compared("Straße") == compared("STRASSE")
    True
    """
    return normalize("NFC", normalize("NFKC", name).casefold())


def path_name(name: str) -> str:
    """A name as the operating system has to be given it to be stored in UTF-8, whatever the locale.

    Examples
    --------
    >>> path_name("base")
    'base'
    """
    return os.fsdecode(name.encode())


def grid_name(name: str, values: Mapping[str, Any]) -> str:
    """The name of one point of a grid; a text or list that would not do in a name is replaced by a digest.

    Examples
    --------
    >>> grid_name("base", {"gamma": 0.05, "levels": [2.0, float("inf")]})
    'base-gamma=0.05-levels=2,inf'
    """
    return "-".join([name, *(f"{parameter}={_spelled(value)}" for parameter, value in values.items())])


def _spelled(value: Any) -> str:
    if isinstance(value, list):
        text = ",".join(_spelled(item) for item in value)
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, float):
        text = repr(value).removesuffix(".0")
    else:
        text = str(value)
    short = len(text) <= 40 and re.fullmatch(r"[\w.,+-]*[\w+]", text, re.ASCII)
    return text if short else "#" + digest(repr(value).encode())[:8]
