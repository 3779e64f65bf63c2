"""Files appear under their names only when they are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlptsym.files import write_whole


def test_a_symbolic_link_stays_one_and_the_file_it_names_is_written(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    link, file = tmp_path / "report.html", tmp_path / "kept" / "report.html"
    link.symlink_to(Path("kept", "report.html"))
    for content in ("first", "second"):
        assert write_whole(link, content) == link
        assert link.is_symlink() and not file.is_symlink()
        assert file.read_text() == content
    assert [place.name for place in file.parent.iterdir()] == ["report.html"]


def test_interrupted_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_whole(tmp_path / "a.csv", b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert [item.name for item in tmp_path.iterdir()] == ["a.csv"]
    assert path.read_bytes() == b"old"
