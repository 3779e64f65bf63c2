"""Draws the package from its imports: a box for each part, an arrow to each part it stands on.

    python tests/architecture.py     # writes docs/architecture.svg, and the table of docs/architecture.md

Parts are the layers of `test_layers`.  An arrow that follows from others is left out (transitive reduction); a part
stands one row above the highest of those it imports.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from html import escape

from test_layers import FRONT_DOOR, LAYERS, PACKAGE, imports, layer_of, modules

PAGE = PACKAGE.parent / "docs" / "architecture.md"
DRAWING = PAGE.with_suffix(".svg")
START, END = "<!-- made by tests/architecture.py -->", "<!-- end -->"
WIDTH, ROW, BOX, GAP, MARGIN = 1180, 74, 30, 14, 20  # pixels: picture, distance of rows, boxes, between them, around
TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#444"/></marker></defs>'
)
LETTER = 7.3  # width of a letter at the size of the text, in pixels


def needed() -> dict[str, set[str]]:
    """For each part of the package, those it imports."""
    found: dict[str, set[str]] = {layer: set() for layer in LAYERS}
    for path, module, is_package in modules():
        here = layer_of(module.split(".")[1:])
        if module in FRONT_DOOR or here is None:
            continue
        for _, name in imports(ast.parse(path.read_text(encoding="utf-8")), module, is_package):
            top, *parts = name.split(".")
            there = layer_of(parts) if top == "mlptsym" else None
            if there not in (None, here):
                found[here].add(there)
    return found


def reduced(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Without the edges that follow from others."""
    below: dict[str, set[str]] = {}
    for part in LAYERS:  # what is imported comes first
        below[part] = set(edges[part]).union(*(below[other] for other in edges[part]))
    return {
        part: {other for other in direct if not any(other in below[between] for between in direct)}
        for part, direct in edges.items()
    }


def rows(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Parts by row, the lowest first; in a row in the order of where the parts below them stand."""
    height: dict[str, int] = {}
    for part in LAYERS:
        height[part] = 1 + max((height[other] for other in edges[part]), default=-1)
    found: list[list[str]] = [[] for _ in range(1 + max(height.values()))]
    for part in LAYERS:
        found[height[part]].append(part)
    place: dict[str, float] = {}
    for row in found:
        row.sort(key=lambda part: sum(place[o] for o in edges[part]) / len(edges[part]) if edges[part] else 0.5)
        place |= {part: (position + 0.5) / len(row) for position, part in enumerate(row)}
    return found


def about(part: str) -> str:
    """The first sentence of a part's docstring."""
    path = PACKAGE.joinpath(*part.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).partition(".  ")[0].rstrip(".")


def places(table: Sequence[Sequence[str]]) -> dict[str, tuple[float, float, float]]:
    """Left edge, top and width of each box."""
    found = {}
    for number, row in enumerate(reversed(table)):
        widths = [LETTER * len(part) + 18 for part in row]
        free = (WIDTH - 2 * MARGIN - sum(widths)) / len(row)
        left = MARGIN + free / 2
        for part, width in zip(row, widths, strict=True):
            found[part] = (left, MARGIN + number * ROW, width)
            left += width + free
    return found


def drawing(edges: Mapping[str, set[str]]) -> str:
    """The picture, as SVG."""
    table = rows(edges)
    boxes = places(table)
    height = 2 * MARGIN + (len(table) - 1) * ROW + BOX
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="12">',
        "<title>Parts of mlptsym; an arrow leads to what a part imports</title>",
        TIP,
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for part, others in reduced(edges).items():
        left, top, width = boxes[part]
        for other in sorted(others):
            at, under, span = boxes[other]
            lines.append(
                f'<path d="M{left + width / 2:.0f} {top + BOX}L{at + span / 2:.0f} {under}" stroke="#444" fill="none" '
                'marker-end="url(#tip)"/>'
            )
    for part, (left, top, width) in boxes.items():
        lines.append(
            f'<g><title>{escape(about(part))}</title><rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{BOX}" '
            'rx="4" fill="#f3f3f3" stroke="#222"/>'
            f'<text x="{left + width / 2:.0f}" y="{top + 19}" text-anchor="middle">{escape(part)}</text></g>'
        )
    return "\n".join([*lines, "</svg>", ""])


def page(text: str) -> str:
    """The page, with the table of the parts as they are now."""
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    table = ["| part | what it does |", "|---|---|", *(f"| `{part}` | {about(part)} |" for part in reversed(LAYERS))]
    return "\n".join([f"{head}{START}", *table, f"{END}{tail}"])


if __name__ == "__main__":
    DRAWING.write_text(drawing(needed()), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
