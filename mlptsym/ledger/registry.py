"""The ledger as a whole: its sections in the order of the paper, selection by name, and verification."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from mlptsym.ledger.entry import Entry
from mlptsym.ledger.paper import claims as paper_claims
from mlptsym.ledger.sections import (
    breaks,
    distribution,
    errata,
    gittins,
    gradient,
    laws,
    limits,
    many_levels,
    model,
    policy,
    remainder,
    response,
    simulated,
    two_levels,
    waiting,
)
from mlptsym.validation import instance, refuse, sequence

__all__ = ["BY_NAME_ONLY", "SECTIONS", "all_entries", "select"]

SECTIONS: dict[str, Callable[[], tuple[Entry, ...]]] = {
    "model": model.entries,
    "gittins": gittins.entries,
    "policy": policy.entries,
    "waiting": waiting.entries,
    "response": response.entries,
    "two-levels": two_levels.entries,
    "many-levels": many_levels.entries,
    "remainder": remainder.entries,
    "gradient": gradient.entries,
    "breaks": breaks.entries,
    "limits": limits.entries,
    "distribution": distribution.entries,
    "laws": laws.entries,
    "simulation": simulated.entries,
    "errata": errata.entries,
}
BY_NAME_ONLY: dict[str, Callable[[], tuple[Entry, ...]]] = {"claims": paper_claims.entries}
"""Sections that take longer, and are verified when they are named."""


def all_entries() -> dict[str, Entry]:
    """Every entry by its name, in the order of the ledger.

    Examples
    --------
    >>> entries = all_entries()
    >>> entries["eq-16"].source
    'eq. (16)'
    """
    found: dict[str, Entry] = {}
    for section in SECTIONS.values():
        for entry in section():
            if entry.name in found or entry.name in SECTIONS:
                raise ValueError(f"two entries are named {entry.name}")
            found[entry.name] = entry
    return found


def select(names: Sequence[str] = ()) -> tuple[Entry, ...]:
    """The entries of these names, or of the sections of these names; all but `BY_NAME_ONLY` if there are none.

    Raises
    ------
    ParameterError
        If a name is unknown; the message has close ones.

    Examples
    --------
    >>> [entry.name for entry in select(["eq-16", "gittins"])][:2]
    ['eq-16', 'efficiency']
    """
    known = all_entries()
    if not sequence("names", names, "a sequence of names of entries and sections"):
        return tuple(known.values())
    sections = SECTIONS | BY_NAME_ONLY
    known |= {entry.name: entry for section in BY_NAME_ONLY.values() for entry in section()}
    chosen: dict[str, Entry] = {}
    for name in names:
        instance("entry", name, str, "an entry or section of the ledger")
        if name in sections:
            chosen |= {entry.name: entry for entry in sections[name]()}
        elif name in known:
            chosen[name] = known[name]
        else:
            every = {known_name.lower(): known_name for known_name in (*known, *sections)}
            close = [every[match] for match in difflib.get_close_matches(name.lower(), every, n=4, cutoff=0.5)]
            hint = f"close: {', '.join(close)}" if close else f"a section is one of {', '.join(sections)}"
            refuse("entry", name, f"an entry or section of the ledger ({hint})")
    return tuple(chosen.values())
