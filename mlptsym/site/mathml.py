"""LaTeX as MathML Core, the part of MathML that browsers typeset themselves, without a script.

latex2mathml does the conversion; what it writes in older MathML is brought into the present form: letters of another
alphabet are characters of their own, and the ends of a displayed sum stand below and above it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from xml.etree.ElementTree import Element, tostring

__all__ = ["mathml"]

_ALPHABETS = {"bold": "MATHEMATICAL BOLD", "double-struck": "MATHEMATICAL DOUBLE-STRUCK"}
_RETAGGED = {"′": "mo", "∞": "mi"}
_LARGE_OPERATORS = "∑∏⋃⋂"
# those that latex2mathml leaves as they are behind \big, \Big, …
_DELIMITERS = {r"\{": "{", r"\}": "}", r"\lbrace": "{", r"\rbrace": "}", r"\vert": "|", r"\lvert": "|", r"\rvert": "|"}
_NAMED = ("inf", "lim", "max", "min", "sup")


def mathml(latex: str, *, block: bool = False) -> str:
    r"""A formula as a ``math`` element, on a line of its own if it is a ``block``.

    It has no dollar signs; one ``\tag{…}`` is put at the right margin.

    Raises
    ------
    ValueError
        If the formula contains a command that is not understood.

    Examples
    --------
    >>> mathml("x + 1")
    '<math><mrow><mi>x</mi><mo>+</mo><mn>1</mn></mrow></math>'
    >>> "𝔼" in mathml(r"\mathbb E[S]")
    True
    """
    from latex2mathml.converter import convert_to_element

    body, tag = _without_tag(latex)
    try:
        element = convert_to_element(body)
    except Exception as error:  # the library's errors have no common base
        raise ValueError(f"not understood as LaTeX: {latex} ({type(error).__name__})") from error
    element.attrib = {"display": "block"} if block else {}
    for node in element.iter():
        node.text = html.unescape(node.text or "")
        if node.tag == "mo" and (code := _DELIMITERS.get(node.text)):
            node.text = code
        if node.text.startswith("\\"):
            raise ValueError(f"{node.text} is not understood in {latex}")
    for node in element.iter():
        _modernise(node, block=block)
    text = tostring(element, encoding="unicode")
    if not block:
        return text
    number = f'<span class="number">({html.escape(tag)})</span>' if tag else ""
    return f'<div class="formula">{text}{number}</div>'


def _without_tag(latex: str) -> tuple[str, str]:
    # latex2mathml reads \mathrm{E}, unlike \mathrm E, as a plain letter
    latex = re.sub(r"\\mathrm\{(\w)\}", r"\\mathrm \1 ", latex)
    found = re.search(r"\\tag\{([^}]*)\}", latex)
    return (latex, "") if found is None else (latex[: found.start()] + latex[found.end() :], found.group(1))


def _modernise(node: Element, *, block: bool) -> None:
    if node.get("mathvariant") in _ALPHABETS:
        alphabet = _ALPHABETS[node.attrib.pop("mathvariant")]
        node.text = "".join(_letter(character, alphabet) for character in node.text or "")
    base = node[0] if len(node) else None
    if block and base is not None and base.tag == "mo" and base.text in (*_LARGE_OPERATORS, *_NAMED):
        node.tag = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}.get(node.tag, node.tag)
    if node.text in _RETAGGED:
        node.tag = _RETAGGED[node.text]
    if node.tag == "mo" and node.text == "¯":
        node.set("stretchy", "false")
    if node.tag == "mtd" and (side := node.attrib.pop("columnalign", None)):
        node.set("style", f"text-align: {side}")


def _letter(character: str, alphabet: str) -> str:
    """A letter or digit in an alphabet; some double-struck capitals are older than the alphabet and named otherwise."""
    kind = "DIGIT" if character.isdigit() else "CAPITAL" if character.isupper() else "SMALL"
    name = unicodedata.name(character).removeprefix("DIGIT ").rpartition(" ")[2]
    for candidate in (f"{alphabet} {kind} {name}", f"DOUBLE-STRUCK {kind} {name}"):
        try:
            return unicodedata.lookup(candidate)
        except KeyError:
            continue
    return character
