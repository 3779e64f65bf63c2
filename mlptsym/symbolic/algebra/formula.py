"""A formula with names: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True)
class Formula:
    """Named expressions in named inputs, from which code in any language can be made.

    Attributes
    ----------
    inputs : mapping of str to Symbol
        Or to any expression that stands for an input, such as a folded `UpperMoment`.
    outputs : mapping of str to Expr
        They contain nothing that varies but the inputs.
    numbers : set of str
        Inputs that are one number where the others are arrays: what depends on them alone is worth computing first.
    """

    inputs: Mapping[str, sp.Basic]
    outputs: Mapping[str, sp.Expr]
    numbers: frozenset[str] = frozenset()
