"""Cells of a notebook as HTML, by nbconvert, with formulas as MathML."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import nbformat
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from traitlets.config import Config

from mlptsym.site.mathml import mathml

__all__ = ["Renderer"]


class _MarkdownRenderer(IPythonRenderer):
    """Markdown with formulas as MathML, and links to notebooks as links to their pages."""

    def inline_math(self, body: str) -> str:
        return mathml(body)

    def block_math(self, body: str) -> str:
        return mathml(body, block=True)

    def latex_environment(self, name: str, body: str) -> str:
        return mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", block=True)

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return super().link(text, re.sub(r"^(?!\w+:)([^#]+)\.(ipynb|md)(?=#|$)", r"\1.html", url), title)


class Renderer:
    """Turns notebooks into the body of a page."""

    def __init__(self) -> None:
        config = Config()
        config.TemplateExporter.exclude_input_prompt = True
        config.TemplateExporter.exclude_output_prompt = True
        config.NbConvertBase.display_data_priority = [
            "text/html",
            "text/markdown",
            "image/svg+xml",
            "text/latex",
            "image/png",
            "image/jpeg",
            "text/plain",
        ]
        self._exporter = HTMLExporter(template_name="basic", config=config)  # type: ignore[no-untyped-call]
        self._exporter.register_filter("markdown2html", self.markdown)  # type: ignore[no-untyped-call]

    def markdown(self, source: str) -> str:
        """Markdown as HTML."""
        renderer = _MarkdownRenderer(escape=False, exclude_anchor_links=True)
        return MarkdownWithMath(renderer=renderer).render(source)

    def cells(self, cells: Sequence[dict[str, Any]]) -> str:
        """Cells with their stored outputs as HTML; a ValueError if there is a formula that is not understood."""
        notebook = {"cells": [_typeset(cell) for cell in cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        node = nbformat.reads(json.dumps(notebook), as_version=4)  # type: ignore[no-untyped-call]
        text, _ = self._exporter.from_notebook_node(node)
        return str(text)

    def code_style(self) -> str:
        """The style sheet of highlighted code."""
        empty = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
        _, resources = self._exporter.from_notebook_node(empty)
        return "\n".join(resources["inlining"]["css"])


def _typeset(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell whose LaTeX outputs are Markdown with formulas."""
    if "outputs" not in cell:
        return cell
    return cell | {"outputs": [_as_markdown(output) for output in cell["outputs"]]}


def _as_markdown(output: dict[str, Any]) -> dict[str, Any]:
    data = output.get("data", {})
    if "text/latex" not in data:
        return output
    return output | {"data": {"text/markdown": data["text/latex"], **data}}
