"""The site: a page for every notebook as it is stored, in the order of reading, and a page that lists them."""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from mlptsym.files import write_whole
from mlptsym.runtime.parameters import read_notebook
from mlptsym.runtime.sources import project_folder, without_address_parser
from mlptsym.validation import ParameterError, path, refuse

if TYPE_CHECKING:
    from mlptsym.site.rendering import Renderer

__all__ = ["Source", "build_site", "find_sources"]

SECTIONS = {"derivations": "Derivations", "notebooks": "Figures"}
"""Folders whose notebooks become pages, and what they are called."""

STYLE = Path(__file__).with_name("style.css")
FONT = Path(__file__).parent / "font" / "STIXTwoMath-subset.woff2"

INTRODUCTION = """\
# mlptsym

The queue $M/G^g/1_{C\\beta}$ and the policy MLPT-$(\\theta, k)$ of the paper "Queuing for Inference: Dynamic Memory
Footprints and Costly Preemption": every formula derived by computer algebra and checked, every figure drawn again.
"""

PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}style.css">
</head>
<body>
<header><nav><a class="home" href="${root}index.html">mlptsym</a>$links</nav></header>
<main>
$body
</main>
</body>
</html>
""")


@dataclass(frozen=True)
class Source:
    """A notebook or a Markdown file that becomes a page of a section; its cells are in notebook format 4."""

    path: Path
    section: str
    cells: Sequence[dict[str, Any]]

    @property
    def address(self) -> str:
        """Where the page is, relative to the site."""
        return f"{self.section}/{self.path.stem}.html"

    @property
    def title(self) -> str:
        """The first heading, in Markdown."""
        for cell in self.cells:
            if found := re.search(r"^# (.+)$", _text(cell), re.MULTILINE):
                return found.group(1).strip()
        return self.path.stem


def _text(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def find_sources(root: Path) -> tuple[Source, ...]:
    """Notebooks and Markdown pages of each section's folder, by name; a ParameterError if one has no notebook."""
    sources: list[Source] = []
    for section in SECTIONS:
        folder = path("root", root, "a folder") / section
        notebooks = sorted(folder.glob("*.ipynb"))
        if not notebooks:
            refuse("notebooks", section, "a folder with notebooks: they come with every installation of mlptsym")
        sources += [Source(place, section, read_notebook(place)["cells"]) for place in notebooks]
        sources += [
            Source(place, section, [_markdown_cell(place.read_text(encoding="utf-8"))])
            for place in sorted(folder.glob("*.md"))
        ]
    return tuple(sources)


def _markdown_cell(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": "page", "metadata": {}, "source": text}


def build_site(out: str | os.PathLike[str] = "site", root: Path | None = None) -> list[Path]:
    """Write the site.

    Nothing is run: the pages show the outputs that are stored in the notebooks.

    Parameters
    ----------
    out : path
        Its folder.  The pages keep the folders of the notebooks, and links between notebooks lead to pages.
    root : pathlib.Path, optional
        What holds the folders ``derivations`` and ``notebooks``; those of this package when left out.

    Returns
    -------
    list of pathlib.Path
        The pages, the list of them first.

    Raises
    ------
    ParameterError
        If there are no notebooks, one holds a formula that cannot be typeset, or the folder cannot be written.
    """
    with without_address_parser():
        from mlptsym.site.rendering import Renderer

    target = path("out", out, "the name of a folder").absolute()
    sources = find_sources(project_folder() if root is None else root)
    try:
        for section in SECTIONS:
            (target / section).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(out, error) from error
    renderer = Renderer()
    pages = {"index.html": _page(INTRODUCTION, _contents(sources, renderer), "", "")}
    for before, source, after in zip([None, *sources], sources, [*sources[1:], None], strict=False):
        try:
            body = renderer.cells(source.cells)
        except ValueError as error:
            name = f"{source.section}/{source.path.name}"
            raise ParameterError("notebook", name, f"one whose formulas can be typeset: {error}") from error
        links = _link(before, "← previous") + _link(after, "next →")
        pages[source.address] = _page(f"# {source.title}", body, "../", links)
    try:
        for address, content in {**pages, "style.css": _style(renderer)}.items():
            write_whole(target / address, content)
    except OSError as error:
        raise _cannot_write(out, error) from error
    return [target / address for address in pages]


def _cannot_write(out: str | os.PathLike[str], error: OSError) -> ParameterError:
    return ParameterError("out", str(out), f"a folder that can be written ({error.strerror})")


def _contents(sources: Sequence[Source], renderer: Renderer) -> str:
    """The introduction and a list of the pages."""
    lines = [INTRODUCTION]
    for section, name in SECTIONS.items():
        lines.append(f"\n## {name}\n")
        lines += [f"- [{source.title}]({source.address})" for source in sources if source.section == section]
    return renderer.markdown("\n".join(lines))


def _link(source: Source | None, words: str) -> str:
    return "" if source is None else f'<a href="../{source.address}">{words}</a>'


def _page(heading: str, body: str, root: str, links: str) -> str:
    title = re.sub(r"[$\\{}]", "", heading.splitlines()[0].removeprefix("# "))
    return PAGE.substitute(title=html.escape(title), root=root, links=links, body=body)


def _style(renderer: Renderer) -> str:
    """One style sheet, the font of the formulas inside it, so that a browser need not fetch it from another file."""
    font = base64.b64encode(FONT.read_bytes()).decode()
    face = f'@font-face {{ font-family: "STIX Two Math subset"; src: url("data:font/woff2;base64,{font}"); }}\n'
    return face + STYLE.read_text(encoding="utf-8") + renderer.code_style()
