"""How figures look, and what they record."""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlptsym.figures.saving import save_figure
from mlptsym.figures.style import curve_style, figure_size, line_style, paper_parameters, paper_style, point_style
from mlptsym.provenance import code_digest
from mlptsym.studies.data import COLUMNS, KINDS, FigureData, FigureRow, read_figure_data
from mlptsym.validation import ParameterError

# Style ---------------------------------------------------------------------------------------------------------------


def test_import_is_light() -> None:
    program = (
        "import sys, mlptsym.figures, mlptsym.runtime.runner\n"
        "assert not {'matplotlib', 'papermill', 'nbformat', 'rich', 'typer'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_style_overrides_the_users_settings_and_gives_them_back() -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 31, "lines.dashed_pattern": [9, 9], "axes.facecolor": "red"}):
        with paper_style():
            inside = dict(mpl.rcParams)
        assert mpl.rcParams["font.size"] == 31
    expected = mpl.rcParamsDefault | paper_parameters() | {"font.family": ["STIXGeneral"]}
    ignored = mpl.style._STYLE_BLACKLIST | {"figure.figsize"}
    assert {name for name in inside if inside[name] != expected[name]} <= ignored
    assert tuple(inside["figure.figsize"]) == figure_size() == (3.4, pytest.approx(2.38))


def test_how_figures_look_is_part_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch runs again what was drawn in another style."""
    monkeypatch.setattr("mlptsym.provenance.__file__", str(tmp_path / "provenance.py"))
    digests = set()
    for size in (8, 9):
        (tmp_path / "paper.mplstyle").write_text(f"font.size: {size}")
        digests.add(code_digest())
    assert len(digests) == 2


def test_fonts_are_those_matplotlib_ships() -> None:
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties, findfont

    with paper_style():
        for style, weight in itertools.product(("normal", "italic"), ("normal", "bold")):
            found = findfont(FontProperties(style=style, weight=weight), fallback_to_default=False)
            assert Path(found).is_relative_to(mpl.get_data_path())
            assert "STIXGeneral" in Path(found).name


def _lab(linear: np.ndarray) -> np.ndarray:
    """CIE L*a*b* (D65) of a linear sRGB colour."""
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    xyz = to_xyz @ linear / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def _linear(colour: str) -> np.ndarray:
    encoded = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


# Machado, Oliveira and Fernandes (2009), severity 1.
_DEFICIENCIES = {
    "none": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize("deficiency", _DEFICIENCIES)
def test_colours_are_told_apart(deficiency: str) -> None:
    """At least 15 units of CIE 1976 colour difference between any two, for every kind of dichromacy."""
    seen = [
        _lab(np.clip(np.array(_DEFICIENCIES[deficiency]) @ _linear(curve_style(index)["color"]), 0, 1))
        for index in range(6)
    ]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


def test_colours_are_told_apart_in_grey() -> None:
    lightness = [_lab(_linear(curve_style(index)["color"]))[0] for index in range(6)]
    assert np.diff(lightness).min() > 8  # in the order of the curves
    assert lightness[-1] < 75  # still visible on white paper


def test_first_36_curves_all_differ() -> None:
    styles = [tuple(curve_style(index).values()) for index in range(36)]
    assert len(set(styles)) == 36
    for first, second in itertools.combinations(styles[:6], 2):
        assert all(a != b for a, b in zip(first, second, strict=True))


def test_lines_and_points_of_a_curve_share_its_colour() -> None:
    assert line_style(3)["color"] == point_style(3)["color"] == curve_style(3)["color"]
    assert line_style(3)["marker"] == point_style(3)["linestyle"] == "none"


@pytest.mark.parametrize("index", [-1, 1.5, "0", None, True, math.nan])
def test_curve_index_out_of_range(index: object) -> None:
    with pytest.raises(ParameterError, match="index"):
        curve_style(index)  # type: ignore[arg-type]


# Data ----------------------------------------------------------------------------------------------------------------

_REALS = st.floats(allow_nan=False)
_LABELS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=8)
_ROWS = st.builds(
    FigureRow,
    _LABELS,
    _LABELS,
    st.sampled_from(KINDS),
    _REALS,
    _REALS,
    st.none() | st.floats(min_value=0, allow_nan=False),
)


@given(st.lists(_ROWS, max_size=5))
def test_data_survive_the_file_bit_by_bit(tmp_path_factory: pytest.TempPathFactory, rows: list[FigureRow]) -> None:
    data = FigureData(tuple(rows))
    path = tmp_path_factory.getbasetemp() / f"round-{os.getpid()}.csv"
    path.write_bytes(data.to_csv().encode())
    again = read_figure_data(path)
    assert again == data
    assert repr(again) == repr(data)  # tells -0.0 from 0.0


def test_columns_and_numbers_of_the_file() -> None:
    data = (
        FigureData()
        .with_curve("a", "k = 2, θ*", "theory", np.array([1, 2]), [0.1, math.inf])
        .with_curve("a", "FCFS", "simulation", range(1, 3), (1, 2), standard_error=np.array([0.25, 0.5]))
        .with_curve("b", 'the "best"', "marker", np.float64(1 / 3), Fraction(1, 2))
    )
    rows = list(csv.reader(io.StringIO(data.to_csv())))
    assert tuple(rows[0]) == COLUMNS == ("panel", "curve", "kind", "x", "y", "standard_error")
    assert rows[1:] == [
        ["a", "k = 2, θ*", "theory", "1.0", "0.1", ""],
        ["a", "k = 2, θ*", "theory", "2.0", "inf", ""],
        ["a", "FCFS", "simulation", "1.0", "1.0", "0.25"],
        ["a", "FCFS", "simulation", "2.0", "2.0", "0.5"],
        ["b", 'the "best"', "marker", "0.3333333333333333", "0.5", ""],
    ]


def test_one_number_stands_for_every_point() -> None:
    rows = FigureData().with_curve("", "limit", "marker", 3, [0, 1], standard_error=2).rows
    assert [(row.x, row.y, row.standard_error) for row in rows] == [(3.0, 0.0, 2.0), (3.0, 1.0, 2.0)]


def test_a_curve_without_points_adds_no_row() -> None:
    assert FigureData().with_curve("", "unstable", "theory", [], []).rows == ()


def test_data_are_not_changed_in_place() -> None:
    data = FigureData().with_curve("", "a", "theory", 1, 1)
    data.with_curve("", "b", "theory", 2, 2)
    assert [row.curve for row in data.rows] == ["a"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("", "a", "theory", [1, 2], [1, math.nan]), None, r"y\[1\] = nan"),
        (("", "a", "theory", math.nan, 1), None, "x = nan"),
        (("", "a", "theory", [1, 2], [1, 2, 3]), None, "x = '2 values' .* as long as the other columns"),
        (("", "a", "theory", "12", 1), None, "x = '12'"),
        (("", "a", "theory", [[1, 2]], 1), None, r"x\[0\]"),
        (("", "a", "curve", 1, 1), None, "kind = 'curve' .* theory, simulation, marker"),
        (("", "a\nb", "theory", 1, 1), None, "curve"),
        ((1, "a", "theory", 1, 1), None, "panel"),
        (("", "a", "theory", 1, 1), -1.0, "standard_error = -1.0"),
        (("", "a", "theory", 1, 1), [math.nan], r"standard_error\[0\] = nan"),
    ],
)
def test_wrong_data(arguments: tuple[object, ...], error: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        FigureData().with_curve(*arguments, standard_error=error)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "columns panel,curve"),
        ("x,y\n1,2\n", "columns panel,curve"),
        (",".join(COLUMNS) + "\n,a,theory,1,2\n", "line 2.* 6 fields"),
        (",".join(COLUMNS) + "\n,a,theory,1,2,\n,a,theory,1,,\n", "line 3.* complete"),
        (",".join(COLUMNS) + "\n,a,theory,1,nan,\n", "line 2: y = 'nan'"),
        (",".join(COLUMNS) + "\n,a,theory,1,2,-1\n", "line 2: standard_error = -1.0"),
        (",".join(COLUMNS) + "\n,a,other,1,2,\n", "line 2: kind = 'other'"),
        (",".join(COLUMNS) + '\n,"a,theory,1,2,\n', "line 2"),
    ],
)
def test_wrong_file_names_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match=message):
        read_figure_data(path)


def test_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes(b"\xe9")
    for path in (tmp_path / "missing.csv", tmp_path, tmp_path / "latin.csv"):
        with pytest.raises(ParameterError, match="readable file of figure data"):
            read_figure_data(path)


# Files ---------------------------------------------------------------------------------------------------------------

_DRAWING = """
import sys
import matplotlib
matplotlib.use("agg")
from matplotlib import pyplot as plt
from mlptsym.figures import FigureData, curve_style, paper_style, point_style, save_figure

with paper_style():
    figure, panels = plt.subplots(1, 2, figsize=(7.0, 2.4))
    for axes in panels:
        axes.plot([1, 2, 3], [3, 1, 2], label=r"MLPT′-$(\\theta,\\infty)$", **curve_style(1))
        axes.errorbar([1, 2, 3], [3, 1, 2], yerr=0.1, **point_style(2))
        axes.fill_between([1, 2], [0, 1], [1, 2], hatch="//", alpha=0.3)
        axes.axvline(2.2, clip_on=True)
        axes.imshow([[0, 1], [1, 0]], extent=(2.5, 3, 2, 3), aspect="auto")
        axes.set_xlabel(r"quantum $\\theta$")
        axes.legend()
files = save_figure(figure, FigureData().with_curve("a", "b", "theory", [1, 2, 3], [3, 1, 2]), "fig01", sys.argv[1])
plt.close(figure)
"""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same figure drawn by two processes with other hash seeds and other user settings."""
    folders = tmp_path_factory.mktemp("one") / "a b" / "ü", tmp_path_factory.mktemp("two")
    settings = tmp_path_factory.mktemp("settings") / "matplotlibrc"
    settings.write_text(
        "font.size: 20\nsvg.fonttype: path\nsavefig.bbox: tight\naxes.grid: False\nlines.linewidth: 5\n"
    )
    for seed, folder, more in (("1", folders[0], {}), ("2", folders[1], {"MATPLOTLIBRC": str(settings)})):
        environment = os.environ | {"PYTHONHASHSEED": seed} | more
        subprocess.run([sys.executable, "-c", _DRAWING, str(folder)], check=True, env=environment)
    return folders


def test_same_figure_same_bytes(drawn: tuple[Path, Path]) -> None:
    one, two = drawn
    assert sorted(path.name for path in one.iterdir()) == ["fig01.csv", "fig01.pdf", "fig01.png", "fig01.svg"]
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes(), path.name


def test_files_are_what_their_names_say(drawn: tuple[Path, Path]) -> None:
    from PIL import Image

    folder, _ = drawn
    svg = ET.fromstring((folder / "fig01.svg").read_bytes())  # noqa: S314, our own file
    texts = ["".join("".join(node.itertext()).split()) for node in svg.iter("{http://www.w3.org/2000/svg}text")]
    letters = [sorted(text) for text in texts]  # text stays text; formulas in matplotlib's own order
    assert letters.count(sorted("quantumθ")) == letters.count(sorted("MLPT′-(θ,∞)")) == 2
    assert "2.8" in texts
    pdf = (folder / "fig01.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert b"/Type3" not in pdf  # fonts are embedded as TrueType
    assert b"CreationDate" not in pdf
    with Image.open(folder / "fig01.png") as picture:
        assert picture.size == (2100, 720)
        assert picture.info["dpi"] == (pytest.approx(300, abs=0.1), pytest.approx(300, abs=0.1))
    assert len(read_figure_data(folder / "fig01.csv").rows) == 3


@pytest.mark.parametrize("name", ["", "a/b", "..", ".fig", "fig 01", "fig01\n", "é", 1, None])
def test_names_that_cannot_name_a_file(tmp_path: Path, name: object) -> None:
    with pytest.raises(ParameterError, match="name"):
        save_figure(None, FigureData(), name, tmp_path)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match=r"^folder = .* can be written \(File exists\)"):
        save_figure(Figure(), FigureData(), "fig01", tmp_path / "file")
