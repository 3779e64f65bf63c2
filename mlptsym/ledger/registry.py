"""The ledger as a whole: its sections in the order of the paper, selection by name, and verification."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import ModuleType

from mlptsym.ledger import sections
from mlptsym.ledger.entry import Check, Entry
from mlptsym.ledger.paper import claims
from mlptsym.ledger.sections import beyond
from mlptsym.modules import modules_below
from mlptsym.validation import instance, refuse, sequence

Section = Callable[[], tuple[Entry, ...]]
BY_NAME_ONLY: dict[str, Section] = {"claims": claims.entries}
"""Sections that take longer, and are verified when they are named."""


def _sections() -> dict[str, Section]:
    """The sections of the ledger by name, in their reading order."""
    found = modules_below(sections.__name__, sections.__path__[0]) | modules_below(beyond.__name__, beyond.__path__[0])
    del found[beyond.__name__.rpartition(".")[2]]
    named = {name.replace("_", "-"): partial(_entries_of, modules) for name, modules in found.items()}
    order = {name: place for place, name in enumerate(sections.READING_ORDER)}
    return {name: named[name] for name in sorted(named, key=lambda name: order.get(name, len(order)))}


def _entries_of(modules: Iterable[ModuleType]) -> tuple[Entry, ...]:
    """What the checks of these modules decide, in their order, and what their functions ``entries`` make."""
    found: list[Entry] = []
    for module in modules:
        checks = [one for one in vars(module).values() if isinstance(one, Check)]
        found += [entry for one in checks if one.function.__module__ == module.__name__ for entry in one.entries]
        found += module.entries() if hasattr(module, "entries") else ()
    return tuple(found)


SECTIONS = _sections()


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
