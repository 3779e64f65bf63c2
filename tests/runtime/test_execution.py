"""What is kept of an executed notebook: streams merged as nbclient does, in a time that grows as they do."""

from __future__ import annotations

from typing import Any

import pytest

from mlptsym.runtime.execution import merge_streams


def _written(name: str, *texts: str) -> list[dict[str, Any]]:
    return [{"output_type": "stream", "name": name, "text": text} for text in texts]


def _merged(*outputs: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and texts of merged outputs."""
    cell: dict[str, Any] = {"outputs": list(outputs)}
    merge_streams(cell)
    return [(output.get("name", output["output_type"]), output.get("text", "")) for output in cell["outputs"]]


PICTURE = {"output_type": "display_data", "data": {}}


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([], []),
        ([*_written("stdout", "a", "b\n"), PICTURE, *_written("stdout", "c")], [("stdout", "ab\nc"), PICTURE]),
        ([*_written("stderr", "x"), *_written("stdout", "a")], [("stdout", "a"), ("stderr", "x")]),
        ([*_written("stderr", "x"), PICTURE, *_written("stdout", "a")], [("stderr", "x"), PICTURE, ("stdout", "a")]),
        (_written("stdout", "10 %\r", "20 %\r30 %", "\nleft\r\n", "done\r"), [("stdout", "30 %\nleft\r\ndone\r")]),
    ],
)
def test_one_output_of_each_stream(outputs: list[dict[str, Any]], expected: list[Any]) -> None:
    assert _merged(*outputs) == [("display_data", "") if one is PICTURE else one for one in expected]


def test_ten_thousand_writes_are_joined_once() -> None:
    """No piece is added to what is there already, which would copy all of it again for each."""

    class Piece(str):
        copied = 0

        def __add__(self, other: str) -> str:
            Piece.copied += len(self) + len(other)
            return Piece(str(self) + other)

        __radd__ = __iadd__ = __add__

    assert Piece("a") + "b" == "ab" and Piece.copied == 2
    assert _merged(*_written("stdout", *[Piece("0123456789")] * 10_000)) == [("stdout", "0123456789" * 10_000)]
    assert Piece.copied == 2
