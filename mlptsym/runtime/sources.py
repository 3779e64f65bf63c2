"""Where the notebooks are that come with the package, and loading what reads notebooks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["project_folder", "without_address_parser"]

_ADDRESS_PARSER = "rfc3987_syntax"


def project_folder() -> Path:
    """The folder that holds ``notebooks`` and ``derivations``: a checkout, or the package as a wheel installs it.

    Examples
    --------
    >>> (project_folder() / "notebooks" / "fig01_model.ipynb").is_file()
    True
    """
    package = Path(__file__).absolute().parents[1]
    return package if (package / "notebooks").is_dir() else package.parent


@contextmanager
def without_address_parser() -> Iterator[None]:
    """Import nbformat within, and it is ready a second earlier.

    The schema checker it loads makes a parser of international web addresses, if it finds one, as it is imported.  The
    schema of notebooks has no such address.
    """
    found = _ADDRESS_PARSER in sys.modules
    sys.modules.setdefault(_ADDRESS_PARSER, None)  # type: ignore[arg-type]
    try:
        yield
    finally:
        if not found:
            del sys.modules[_ADDRESS_PARSER]
