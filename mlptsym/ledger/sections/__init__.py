"""The entries of the ledger: each section is a module of this folder, or a folder of modules, and found by listing it.

The folder `beyond` is no section: what is in it are sections.
"""

from __future__ import annotations

READING_ORDER = (
    *("model", "gittins", "policy", "waiting", "response", "two-levels", "many-levels", "remainder", "gradient"),
    *("unloading", "lazy", "breaks", "limits", "distribution", "laws", "simulation", "errata"),
)
"""Sections in the order of the argument; any other follows by its name."""
