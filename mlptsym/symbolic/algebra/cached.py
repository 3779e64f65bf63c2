"""Derivations that are asked for again and again are done once.

They are pure functions of expressions and whole numbers, and most of the time of a proof would go into repeating them:
each wrong variant of a statement is compared with the same derivation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from sympy.core.cache import CACHE, cacheit

P = ParamSpec("P")
R = TypeVar("R")


def cached(function: Callable[P, R]) -> Callable[P, R]:
    """The function with its values kept in SymPy's cache, which ``sympy.core.cache.clear_cache`` empties."""
    return cast(Callable[P, R], cacheit(function))


def forget() -> None:
    """Forget every derivation, so that the next one is from the formulas as they are now."""
    for kept in CACHE:
        if kept.__module__.startswith("mlptsym."):
            kept.cache_clear()
