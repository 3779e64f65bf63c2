"""Which code and which libraries a result comes from.  Only the standard library is imported."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

from mlptsym.version import __version__

__all__ = ["DEPENDENCIES", "code_digest", "digest", "fingerprint", "source_revision", "versions"]

DEPENDENCIES = (
    "ipykernel",
    "joblib",
    "matplotlib",
    "mpmath",
    "nbclient",
    "nbformat",
    "numba",
    "numpy",
    "papermill",
    "python-flint",
    "scipy",
    "sympy",
)
"""The libraries whose version may show in a number, a picture or an executed notebook."""

# They decide what is computed and where it goes, not what comes out.
_WITHOUT_INFLUENCE = ("batch", "cli", "ledger")


def digest(content: bytes) -> str:
    """SHA-256 of some bytes, in hexadecimal digits.

    Examples
    --------
    >>> digest(b"")[:12]
    'e3b0c44298fc'
    """
    return hashlib.sha256(content).hexdigest()


def code_digest() -> str:
    """Digest of the package's own code as it is now, as far as results depend on it."""
    package = Path(__file__).parent
    kinds = ("*.py", "*.mplstyle")  # the second is how figures look
    files = {path.relative_to(package).as_posix(): path for kind in kinds for path in package.rglob(kind)}
    listed = [
        f"{digest(path.read_bytes())} {name}"
        for name, path in sorted(files.items())
        if name.split("/")[0] not in _WITHOUT_INFLUENCE
    ]
    return digest("\n".join(listed).encode())


@cache
def versions() -> dict[str, str]:
    """Versions of Python, of mlptsym and of what it computes and draws with, by name."""
    found = {"python": platform.python_version(), "mlptsym": __version__}
    for name in DEPENDENCIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


@cache
def fingerprint() -> str:
    """One digest of the code and all versions: processes that have it in common compute the same."""
    return digest(json.dumps([code_digest(), versions()], sort_keys=True).encode())


@cache
def source_revision() -> str | None:
    """The commit that is checked out, with ``-modified`` behind it if files differ from it; None outside a checkout."""
    root = Path(__file__).parents[1]
    if not (root / ".git").exists():
        return None

    def git(*words: str) -> str | None:
        command = ["git", "-C", str(root), "--no-optional-locks", *words]
        try:
            done = subprocess.run(command, capture_output=True, timeout=10, check=True, stdin=subprocess.DEVNULL)  # noqa: S603
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.decode(errors="replace").strip()

    revision = git("rev-parse", "HEAD")
    if revision is None:
        return None
    return f"{revision}-modified" if git("status", "--porcelain", "--untracked-files=no") != "" else revision
