"""Classes found by listing a folder: one in each module, which has the name of the class in small letters."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

__all__ = ["class_homes", "load_class"]


def class_homes(package: str, folder: str) -> dict[str, str]:
    """Names of the classes in a folder, in alphabetical order, and the module each is in; ``base.py`` has none.

    Examples
    --------
    >>> import mlptsym.laws
    >>> class_homes("mlptsym.laws", mlptsym.laws.__path__[0])["LogNormal"]
    'mlptsym.laws.log_normal'
    """
    modules = sorted(name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py"))  # noqa: PTH208 (pathlib takes longer to import than all that is imported here)
    return {
        "".join(map(str.capitalize, module.split("_"))): f"{package}.{module}"
        for module in modules
        if module not in {"__init__", "base"}
    }


def load_class(name: str, home: str) -> Any:
    """The class of a name from its module."""
    return getattr(import_module(home), name)
