"""What is found by listing a folder: modules, or classes, one in each module, which has its name in small letters."""

from __future__ import annotations

import os
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

__all__ = ["class_homes", "load_class", "modules_below"]


def class_homes(package: str, folder: str, suffix: str = "") -> dict[str, str]:
    """Names of the classes in a folder, in alphabetical order, and the module each is in; ``base.py`` has none.

    The name is that of the module in capitals, and the suffix.

    Examples
    --------
    >>> import mlptsym.laws
    >>> class_homes("mlptsym.laws", mlptsym.laws.__path__[0])["LogNormal"]
    'mlptsym.laws.log_normal'
    """
    modules = sorted(name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py"))  # noqa: PTH208 (pathlib takes longer to import than all that is imported here)
    return {
        "".join(map(str.capitalize, module.split("_"))) + suffix: f"{package}.{module}"
        for module in modules
        if module not in {"__init__", "base"}
    }


def load_class(name: str, home: str) -> Any:
    """The class of a name from its module."""
    return getattr(import_module(home), name)


def modules_below(package: str, folder: str) -> dict[str, tuple[ModuleType, ...]]:
    """Modules of a folder by name, each alone; those of a folder inside it together, by the name of that folder.

    Examples
    --------
    >>> import mlptsym.ledger
    >>> found = modules_below("mlptsym.ledger", mlptsym.ledger.__path__[0])
    >>> found["entry"][0].__name__
    'mlptsym.ledger.entry'
    >>> [module.__name__.removeprefix("mlptsym.ledger.exact.") for module in found["exact"]]
    ['algebra', 'checks', 'digits', 'enclosure', 'service_law']
    """
    found: dict[str, tuple[ModuleType, ...]] = {}
    for module in sorted(iter_modules([folder]), key=lambda one: one.name):
        name = f"{package}.{module.name}"
        inside = modules_below(name, os.path.join(folder, module.name)) if module.ispkg else {}  # noqa: PTH118 (as above)
        modules = [one for group in inside.values() for one in group] if module.ispkg else [import_module(name)]
        found[module.name] = tuple(modules)
    return found
