"""The drawing and the table of the parts are those of the package as it is."""

import architecture


def test_drawing_shows_the_imports_as_they_are() -> None:
    assert architecture.DRAWING.read_text(encoding="utf-8") == architecture.drawing(architecture.needed())


def test_table_lists_the_parts_as_they_are() -> None:
    text = architecture.PAGE.read_text(encoding="utf-8")
    assert architecture.page(text) == text


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    edges = {part: set() for part in architecture.LAYERS} | {"cli": {"batch", "laws"}, "batch": {"laws"}}
    assert architecture.reduced(edges)["cli"] == {"batch"}
    assert architecture.reduced(edges)["batch"] == {"laws"}
