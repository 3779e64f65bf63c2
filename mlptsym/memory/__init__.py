"""Memory laws, one module each: how much state a job holds at an attained service, with ranges, formulas, examples.

A module that is put into this folder is a memory law of the package: nothing else lists them.  The class in
``linear.py`` is ``LinearMemory``, and the command line calls it ``linear``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlptsym.modules import class_homes, load_class

if TYPE_CHECKING:
    from mlptsym.memory.base import Memory

__all__ = ["HOMES", "memory_laws"]

HOMES = class_homes(__name__, __path__[0], suffix="Memory")
"""Name of each law, and its module, of which none is imported yet."""


def memory_laws() -> dict[str, type[Memory]]:
    """Every memory law by its name.

    Examples
    --------
    >>> memory_laws()["LinearMemory"](3.75).age_at(256.0) == 256.0 / 3.75
    True
    """
    return {name: load_class(name, home) for name, home in HOMES.items()}
