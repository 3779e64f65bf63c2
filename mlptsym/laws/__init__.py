"""Size laws, one module each: parameters with their ranges, formulas, sampler, where the law is not smooth, examples.

A module that is put into this folder is a law of the package: nothing else lists the laws.  Its class is named as the
module is, and the command line calls it by that name in small letters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlptsym.modules import class_homes, load_class

if TYPE_CHECKING:
    from mlptsym.laws.base import SizeLaw

__all__ = ["HOMES", "size_laws"]

HOMES = class_homes(__name__, __path__[0])
"""Name of each law, and its module, of which none is imported yet."""


def size_laws() -> dict[str, type[SizeLaw]]:
    """Every size law by its name.

    Examples
    --------
    >>> size_laws()["Exponential"](0.5).mean
    2.0
    """
    return {name: load_class(name, home) for name, home in HOMES.items()}
