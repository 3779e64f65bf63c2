"""``index.html``: all figures of an output folder with their parameters, in a page that needs no network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mlptsym.batch.manifest import Setting, read_manifest, result_folders
from mlptsym.validation import ParameterError

__all__ = ["Entry", "entries", "gallery"]

_KINDS = ("svg", "pdf", "png", "csv", "ipynb", "failed.ipynb")


@dataclass(frozen=True)
class Entry:
    """A run that is in the output folder: its parameters, its file names, and of a failed one the error."""

    scenario: str
    figure: str
    state: str
    error: str | None
    parameters: Mapping[str, Setting]
    outputs: tuple[str, ...]


def entries(out: Path) -> list[Entry]:
    """Every run of an output folder, by scenario and figure; folders whose manifest is damaged are left out."""
    found = []
    for folder in result_folders(out):
        with suppress(ParameterError):
            for figure, record in read_manifest(folder).items():
                about = record.about
                name = about.scenario or folder.name
                found.append(
                    Entry(name, figure, record.state, about.error, about.parameters or {}, tuple(record.outputs))
                )
    return found


def gallery(found: Sequence[Entry]) -> str:
    """The page: HTML that links pictures and data by relative paths.

    A heading sorts by its column, and the address with ``#gamma`` or ``#-gamma`` behind it opens sorted.
    """
    given = dict.fromkeys(name for entry in found for name, known in entry.parameters.items() if known.given)
    headings = "".join(_heading(name, name) for name in ("scenario", "figure", *given, "state"))
    rows = "\n".join(_row(entry, list(given)) for entry in found)
    failed = sum(entry.state != "done" for entry in found)
    count = f"{len(found)} figures" + (f", {failed} of them failed" if failed else "")
    return _PAGE.format(count=count, headings=headings, rows=rows)


def _heading(key: str, label: str) -> str:
    return f'<th scope="col" data-key="{escape(key)}"><button type="button">{escape(label)}</button></th>'


def _row(entry: Entry, given: Sequence[str]) -> str:
    folder = quote(entry.scenario)
    files = {kind: f"{folder}/{quote(f'{entry.figure}.{kind}')}" for kind in _KINDS}
    present = {kind: place for kind, place in files.items() if f"{entry.figure}.{kind}" in entry.outputs}
    name = escape(f"{entry.figure}, {entry.scenario}")
    if "png" in present:
        large = present.get("svg", present["png"])
        picture = f'<a href="{large}"><img src="{present["png"]}" alt="{name}" loading="lazy"></a>'
    else:
        picture = f'<span class="error">{escape(entry.error or "no picture")}</span>'
    links = " ".join(f'<a href="{place}">{kind}</a>' for kind, place in present.items())
    every = "".join(
        f"<dt>{escape(key)}</dt><dd>{escape(_spelled(known.value))}</dd>" for key, known in entry.parameters.items()
    )
    cells = [_cell(entry.scenario), _cell(entry.figure)]
    cells += [_cell(entry.parameters[key].value) if key in entry.parameters else "<td></td>" for key in given]
    details = f"<details><summary>parameters</summary><dl>{every}</dl></details>"
    return (
        f'<tr class="{escape(entry.state)}"><td>{picture}</td>{"".join(cells)}{_cell(entry.state)}'
        f"<td>{links}{details}</td></tr>"
    )


def _cell(value: Any) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    sort = "Infinity" if value == math.inf else "-Infinity" if value == -math.inf else _spelled(value)
    return f'<td data-value="{escape(sort)}"{" class=number" if number else ""}>{escape(_spelled(value))}</td>'


def _spelled(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_spelled, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "∞" if value == math.inf else "−∞" if value == -math.inf else repr(value).removesuffix(".0")
    return str(value)


_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{count}</title>
<style>
:root {{ color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif }}
body {{ margin: 1.5rem }}
h1 {{ font-size: 1.2rem; font-weight: 600 }}
table {{ border-collapse: collapse }}
th, td {{ padding: .4rem .8rem; text-align: left; vertical-align: top; border-bottom: 1px solid #8886 }}
th {{ position: sticky; top: 0; background: Canvas }}
th button {{ all: unset; cursor: pointer; font-weight: 600 }}
th button:focus-visible {{ outline: 2px solid Highlight }}
th[aria-sort=ascending] button::after {{ content: " ▲" }}
th[aria-sort=descending] button::after {{ content: " ▼" }}
img {{ width: 22rem; max-width: 40vw; background: white; display: block }}
.number {{ text-align: right; font-variant-numeric: tabular-nums }}
.error {{ color: #c22; display: block; max-width: 22rem; overflow-wrap: anywhere }}
dl {{ display: grid; grid-template-columns: auto auto; gap: 0 .8rem; margin: .3rem 0; max-width: 24rem }}
dt {{ font-weight: 600 }}
dd {{ margin: 0; overflow-wrap: anywhere }}
</style>
</head>
<body>
<h1>{count}</h1>
<table>
<thead><tr><th scope="col">picture</th>{headings}<th scope="col">files</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
<script>
const heads = [...document.querySelectorAll("th")];
const body = document.querySelector("tbody");
function sort(key, descending) {{
  const column = heads.findIndex(head => head.dataset.key === key);
  if (column < 0) return;
  const value = row => row.cells[column].dataset.value;
  const compare = (a, b) => {{
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    const both = a !== "" && b !== "" && !isNaN(a) && !isNaN(b);
    const order = both ? (a === b ? 0 : a - b) : a.localeCompare(b, "en", {{ numeric: true }});
    return descending ? -order : order;
  }};
  body.append(...[...body.rows].sort((a, b) => compare(value(a), value(b))));
  heads.forEach((head, place) =>
    place === column ? head.setAttribute("aria-sort", descending ? "descending" : "ascending")
                     : head.removeAttribute("aria-sort"));
}}
function sortAsAddressed() {{
  const wanted = decodeURIComponent(location.hash.slice(1));
  wanted.startsWith("-") ? sort(wanted.slice(1), true) : sort(wanted, false);
}}
heads.filter(head => head.dataset.key).forEach(head => head.firstChild.addEventListener("click", () => {{
  const turned = head.getAttribute("aria-sort") === "ascending";
  location.hash = (turned ? "-" : "") + encodeURIComponent(head.dataset.key);
}}));
addEventListener("hashchange", sortAsAddressed);
sortAsAddressed();
</script>
</body>
</html>
"""
