"""The pages for readers beside the derivations: the glossary names what exists, the bibliography what is cited."""

import ast
import dataclasses
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import sympy as sp

import mlptsym
from mlptsym.symbolic.algebra import symbols

ROOT = Path(__file__).parents[1]
PAGES = {
    name: (ROOT / "derivations" / f"{name}.md").read_text(encoding="utf-8") for name in ("glossary", "bibliography")
}
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGES["glossary"].splitlines()
    if line.startswith("| ") and not line.startswith("| Symbol")
]


def named(column: int) -> list[str]:
    """The code names in a column of the glossary."""
    return [name for row in ROWS for name in re.findall(r"`([^`]+)`", row[column])]


def test_every_symbol_is_in_the_glossary() -> None:
    known = {name.removeprefix("algebra.symbols.") for name in named(3)}
    here = {name for name, value in vars(symbols).items() if isinstance(value, sp.Basic) or inspect.isfunction(value)}
    assert here and here <= known


@pytest.mark.parametrize("name", sorted({*named(3)}))
def test_every_formula_of_the_glossary_exists(name: str) -> None:
    module, _, last = name.rpartition(".")
    assert hasattr(import_module(f"mlptsym.symbolic.{module}"), last)


@pytest.mark.parametrize("name", sorted({*named(4)}))
def test_every_number_of_the_glossary_exists(name: str) -> None:
    holder: Any = mlptsym
    for part in name.split("."):
        fields = {field.name for field in dataclasses.fields(holder)} if dataclasses.is_dataclass(holder) else set()
        assert part in fields or hasattr(holder, part)
        holder = getattr(holder, part, None)


# the bibliography

AUTHORS = {
    author: line
    for line in PAGES["bibliography"].splitlines()
    if line.startswith("| ") and not line.startswith("| Work")
    for author in re.findall(r"[A-Z][\w]+", line.partition(", *")[0])
}
NAME = r"[A-Z][a-zá]+(?:[A-Z][a-zá]+)?"
CITED = re.compile(
    rf"\b(?P<authors>{NAME}(?:(?:, | and ){NAME})*)"
    r"(?:,? \(?(?P<year>1[89]\d\d|20[0-2]\d)\b"  # Durbin 1961
    r"|, (?:\*[A-Z]|[A-Z]\w+ (?:and )?[A-Z])[\w -]*"  # Kleinrock, Queueing Systems; Bell and McCaffrey, *Bias reduction
    r"|['’]s (?:rule|method|test|sampler)\b)"  # Chandrupatla's method
)
NO_WORK = {"Python", "Gauss", "Newton", "Student", "Smirnov", "Aitken", "Filon", "Euler", "Chebyshev"}
"""Names of what every textbook has."""


def texts() -> Iterator[tuple[str, str]]:
    """Docstrings, other strings and comments of every module, each with its spaces made one."""
    for path in sorted(Path(mlptsym.__path__[0]).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        strings = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        comments = " ".join(token.string.strip("# ") for token in tokens if token.type == tokenize.COMMENT)
        for text in (*(string for string in strings if isinstance(string, str)), comments):
            yield path.name, re.sub(r"\s+", " ", text)


def citations(text: str) -> Iterator[tuple[list[str], str | None]]:
    for found in CITED.finditer(text):
        authors = re.findall(NAME, found["authors"])
        if not NO_WORK & {*authors}:
            yield authors, found["year"]


def test_every_citation_is_in_the_bibliography() -> None:
    missing = {
        (place, *authors)
        for place, text in texts()
        for authors, year in citations(text)
        if not any(author in AUTHORS and (year is None or f"({year})" in PAGES["bibliography"]) for author in authors)
    }
    assert not missing


def test_every_work_of_the_bibliography_is_cited() -> None:
    everything = " ".join(text for _, text in texts())
    assert [author for author in AUTHORS if author not in everything] == []


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        ("(Durbin 1961; Lewis 1965)", ["Durbin", "Lewis"]),
        ("in Kleinrock, Queueing Systems I", ["Kleinrock"]),
        ("Bell and McCaffrey, *Bias reduction* (2002)", ["Bell"]),
        ("by Chandrupatla's method", ["Chandrupatla"]),
        ("Newton's method", []),
    ],
)
def test_a_citation_is_seen(text: str, authors: list[str]) -> None:
    assert [names[0] for names, _ in citations(text)] == authors
