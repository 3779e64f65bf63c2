"""What a trace tells, as one page, one picture, or one mapping."""

from __future__ import annotations

import io
import os
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from mlptsym import validation
from mlptsym.figures.style import paper_style
from mlptsym.files import write_whole
from mlptsym.fitting.fit import TraceFit, checked_fit
from mlptsym.fitting.mapping import verdict
from mlptsym.fitting.report_tables import (
    arrival_table,
    hindsight,
    law_table,
    listed,
    policy_table,
    queue_table,
    reading_table,
    size_table,
)
from mlptsym.fitting.words import reading_notes
from mlptsym.validation import ParameterError, readable, refuse

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_name", "html_report", "write_report"]

SUFFIXES = (".html", ".png")

STYLE = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #ccc }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .8rem 0 }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left; white-space: nowrap } th { font-weight: 600; vertical-align: bottom }
tr.best { font-weight: 600; background: #eef4fa }
.verdict { font-size: 1.15rem; border-left: .3rem solid #0072b2; padding: .4rem 1rem; background: #eef4fa }
.warnings { border-left: .3rem solid #d55e00; padding: .4rem 1rem; background: #fdf1e8 }
.warnings li { margin: .3rem 0 } .wide { overflow-x: auto }
svg { width: 100%; height: auto } small, .note { color: #555 }
@media print { body { font-size: 11px; margin: 0 } h2 { break-after: avoid } svg, table { break-inside: avoid } }
"""


def write_report(fit: TraceFit, path: str | os.PathLike[str]) -> Path:
    """Write the report, whole or not at all.

    Parameters
    ----------
    fit : TraceFit
    path : path
        Ending in ``.html`` (one page that needs no other file) or ``.png`` (one picture).

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ParameterError
        If the name has another ending, or the file cannot be written.
    """
    checked_fit(fit)
    target = check_name(path)
    content = html_report(fit) if target.suffix.lower() == ".html" else _picture(fit)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(target, content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError("out", str(path), f"a file that can be written ({reason})") from error


def check_name(path: str | os.PathLike[str]) -> Path:
    """The path of a report, if its name ends as one.

    Raises
    ------
    ParameterError
        If it does not.
    """
    target = validation.path("out", path, f"a file name that ends in {' or '.join(SUFFIXES)}")
    if target.suffix.lower() not in SUFFIXES:
        refuse("out", str(path), f"a file name that ends in {' or '.join(SUFFIXES)}")
    return target


def _picture(fit: TraceFit) -> bytes:
    from mlptsym.fitting.drawing import as_png, draw_everything

    lines = [_title(fit), verdict(fit), *_wrapped(fit.warnings)]
    return as_png(draw_everything(fit, "\n".join(lines)))


def _wrapped(sentences: tuple[str, ...]) -> list[str]:
    from textwrap import wrap

    return [line for sentence in sentences for line in wrap(f"! {sentence}", 150, subsequent_indent="   ")]


def _title(fit: TraceFit) -> str:
    trace = fit.trace
    return f"{readable(Path(trace.path).name)}: {trace.jobs:,} requests" + (
        f", {trace.layout} layout" if trace.layout else ""
    )


def html_report(fit: TraceFit) -> str:
    """The report as one HTML page with its pictures inside, which loads nothing."""
    from mlptsym.fitting.drawing import draw_arrivals, draw_response, draw_sizes

    checked_fit(fit)
    sections = [
        f"<p class='verdict'>{escape(verdict(fit))}</p>",
        listed("warnings", fit.warnings),
        "<h2>Policies</h2>",
        policy_table(fit),
        hindsight(fit),
        _embedded(draw_response(fit), "Mean response time against the quantum, and tail of the response time"),
        "<h2>Queue</h2>",
        queue_table(fit),
        "<h2>Arrivals</h2>",
        arrival_table(fit),
        ""
        if fit.arrivals is None
        else _embedded(draw_arrivals(fit), "Load over time, and gaps between arrivals beside exponential ones"),
        "<h2>Sizes</h2>",
        size_table(fit),
        law_table(fit),
        _embedded(draw_sizes(fit), "Histogram of the sizes with fitted laws, and their Q–Q plot"),
        "<h2>What was read</h2>",
        reading_table(fit),
        listed("note", reading_notes(fit.trace)),
    ]
    title = escape(_title(fit))
    return (
        f"<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n<title>{title}</title>\n"
        f"<meta name='viewport' content='width=device-width'>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<h1>{title}</h1>\n" + "\n".join(filter(None, sections)) + "\n</body>\n</html>\n"
    )


def _embedded(figure: Figure, description: str) -> str:
    """A figure as SVG inside the page, its letters drawn, so that no font is needed, its names those of no other."""
    from matplotlib import rc_context

    picture = io.StringIO()
    with paper_style(), rc_context({"svg.fonttype": "path", "svg.hashsalt": description}):
        figure.savefig(picture, format="svg", metadata={"Date": None, "Creator": None})
    svg = picture.getvalue()
    svg = svg[svg.index("<svg") :]
    prefix = "".join(word[0] for word in description.split() if word[0].isalpha()).lower()
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
