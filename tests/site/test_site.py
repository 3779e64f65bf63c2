"""The site: every notebook a page, links that lead somewhere, and pages as a browser without a network shows them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

from mlptsym.cli import main
from mlptsym.site import build_site
from mlptsym.site.mathml import mathml
from mlptsym.validation import ParameterError

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(path for folder in ("derivations", "notebooks") for path in (ROOT / folder).glob("*.ipynb"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder with the site that the command makes, and what it prints."""
    folder = tmp_path_factory.mktemp("site") / "a b"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["site", "--out", str(folder)]) == 0
    return folder, printed.getvalue()


@pytest.fixture(scope="module")
def site(built: tuple[Path, str]) -> Path:
    return built[0]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, _Page]:
    return {
        path.relative_to(site).as_posix(): _Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
    }


class _Page(HTMLParser):
    """Addresses, names of elements and visible text outside of code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self._code = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"href", "src"}]
        self._code += tag in {"pre", "code", "title"}

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in {"pre", "code", "title"}

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.text += data


# What is written -----------------------------------------------------------------------------------------------------


def test_every_notebook_and_text_is_a_page_and_in_the_list(pages: dict[str, _Page]) -> None:
    texts = sorted((ROOT / "derivations").glob("*.md"))
    wanted = {path.relative_to(ROOT).with_suffix(".html").as_posix() for path in (*NOTEBOOKS, *texts)}
    assert set(pages) == {"index.html", *wanted}
    assert wanted <= set(pages["index.html"].addresses)


def test_pages_are_linked_in_the_order_of_reading(site: Path, pages: dict[str, _Page]) -> None:
    order = [address for address in pages["index.html"].addresses if address.endswith(".html")][1:]
    assert order[0] == "derivations/01_model.html"
    for before, after in pairwise(order):
        assert f'<a href="../{after}">next →</a>' in (site / before).read_text(encoding="utf-8")
        assert f'<a href="../{before}">← previous</a>' in (site / after).read_text(encoding="utf-8")


def test_links_stay_inside_and_lead_to_files(site: Path, pages: dict[str, _Page]) -> None:
    for name, page in pages.items():
        for address in page.addresses:
            scheme, host, path, *_ = urlsplit(address)
            assert scheme in {"", "data"}, (name, address[:80])
            assert not host
            assert scheme or not path or ((site / name).parent / unquote(path)).is_file(), (name, address)
            assert not path.endswith((".ipynb", ".md"))


def test_nothing_runs_and_nothing_is_fetched(site: Path, pages: dict[str, _Page]) -> None:
    assert not any({"script", "iframe", "object"} & set(page.tags) for page in pages.values())
    style = (site / "style.css").read_text(encoding="utf-8")
    assert re.findall(r"url\(([^)]{5})", style) == ['"data']
    assert "@import" not in style


def test_formulas_are_mathml_and_no_latex_is_left(pages: dict[str, _Page]) -> None:
    assert sum(page.tags.count("math") for page in pages.values()) > 1000
    for name, page in pages.items():
        assert not re.search(r"\$|\\[A-Za-z]", page.text), name


def test_outputs_are_shown(site: Path) -> None:
    for path in NOTEBOOKS:
        text = (site / path.relative_to(ROOT).with_suffix(".html")).read_text(encoding="utf-8")
        notebook = nbformat.read(path, as_version=4)
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert text.count("output_subarea") == len(outputs)
        assert text.count("data:image/png;base64,") == sum("image/png" in o.get("data", {}) for o in outputs)


def test_command_says_where_to_start(built: tuple[Path, str]) -> None:
    folder, printed = built
    count, _, place = printed.strip().partition(" pages; start at ")
    assert int(count) == len(list(folder.rglob("*.html"))) - 1
    assert Path(place) == folder / "index.html"


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").touch()
    assert main(["site", "--out", str(tmp_path / "taken")]) == 2
    assert capsys.readouterr().err.startswith("Error: --out ")


# Pages made for the test ---------------------------------------------------------------------------------------------


def _checkout(folder: Path, *cells: nbformat.NotebookNode) -> Path:
    """A folder like that of the project, with one notebook in each section."""
    for section in ("derivations", "notebooks"):
        (folder / section).mkdir(parents=True)
        title = nbformat.v4.new_markdown_cell("# A *title* with $x^2$")
        nbformat.write(nbformat.v4.new_notebook(cells=[title, *cells]), folder / section / "one.ipynb")
    return folder


def _body(folder: Path, *cells: nbformat.NotebookNode) -> str:
    build_site(folder / "site", _checkout(folder / "checkout", *cells))
    return (folder / "site" / "derivations" / "one.html").read_text(encoding="utf-8")


def test_links_to_notebooks_become_links_to_pages(tmp_path: Path) -> None:
    text = _body(tmp_path, nbformat.v4.new_markdown_cell("[a](../notebooks/one.ipynb#part) [b](https://x.org/y.ipynb)"))
    assert 'href="../notebooks/one.html#part"' in text
    assert 'href="https://x.org/y.ipynb"' in text


def test_latex_outputs_are_typeset(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("x")
    data = {"text/latex": r"$\displaystyle \alpha$", "text/plain": "alpha"}
    cell.outputs = [nbformat.v4.new_output("execute_result", data, execution_count=1)]
    text = _body(tmp_path, cell)
    assert "<mi>α</mi>" in text
    assert "alpha" not in text.partition("<main>")[2]


def test_dollars_in_code_are_no_formulas(tmp_path: Path) -> None:
    text = _body(tmp_path, nbformat.v4.new_markdown_cell("`$a$` costs"), nbformat.v4.new_code_cell('"$b$ and $c$"'))
    assert "<code>$a$</code>" in text
    assert text.partition("<main>")[2].count("<math") == 1  # that of the title


def test_a_formula_that_is_not_understood_names_its_notebook(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"one\.ipynb.*\\unheard is not understood"):
        _body(tmp_path, nbformat.v4.new_markdown_cell(r"$x + \unheard$"))


def test_without_notebooks_nothing_is_built(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="derivations.*they come with every installation"):
        build_site(tmp_path / "site", tmp_path)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("latex", "wanted"),
    [
        (r"\mathbb{E}[S]", "<mi>𝔼</mi>"),
        (r"\mathbb R", "<mi>ℝ</mi>"),
        (r"\mathbf{1}\{S > t\}", "<mn>𝟏</mn>"),
        (r"\mathrm{E}[L]", '<mi mathvariant="normal">E</mi>'),
        (r"\bar F", '<mover><mi>F</mi><mo stretchy="false">¯</mo></mover>'),
        (r"T'(x)", "<msup><mi>T</mi><mo>′</mo></msup>"),
        (r"a < b", "<mo>&lt;</mo>"),
        (r"a \Big\vert b", "|</mo>"),
        (r"\Bigl\{ x \Bigr\}", ">{</mo>"),
        (r"\begin{cases}1 & x\\ 2 & y\end{cases}", '<mtd style="text-align: left"><mn>1</mn></mtd>'),
    ],
)
def test_mathml(latex: str, wanted: str) -> None:
    assert wanted in mathml(latex)


def test_ends_of_a_displayed_sum_stand_below_and_above() -> None:
    assert "<munderover><mo>∑</mo>" in mathml(r"\sum_{r=1}^k c_r", block=True)
    assert "<msubsup><mo>∑</mo>" in mathml(r"\sum_{r=1}^k c_r")


def test_numbers_of_equations() -> None:
    assert mathml(r"x \tag{29}", block=True).endswith('</math><span class="number">(29)</span></div>')


@pytest.mark.parametrize("latex", [r"\unheard{x}", r"x^", r"\left( x"])
def test_what_is_not_understood_is_refused(latex: str) -> None:
    with pytest.raises(ValueError, match="not understood"):
        mathml(latex)


# In a browser --------------------------------------------------------------------------------------------------------

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1200,900",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files", "--enable-logging=stderr",
    "--virtual-time-budget=20000", "--dump-dom",
]  # fmt: skip

# Every page in a frame; what they look like becomes the title.
LOOK = """<!DOCTYPE html><meta charset="utf-8"><style>iframe { width: 1200px; height: 900px }</style><body>FRAMES<script>
const box = node => node.getBoundingClientRect();
const looked = frame => {
  const page = frame.contentDocument, view = frame.contentWindow;
  const maths = [...page.querySelectorAll("math")], fractions = [...page.querySelectorAll("mfrac")];
  const images = [...page.images];
  return {
    formulas: maths.length,
    empty: maths.filter(math => box(math).width < 2 || box(math).height < 2).length,
    untypeset: maths.filter(math => !view.getComputedStyle(math).display.includes("math")).length,
    flat: fractions.filter(part => box(part.children[0]).bottom > box(part.children[1]).top + 1).length,
    fractions: fractions.length,
    font: [...page.fonts].map(font => font.family.replaceAll("\\"", "") + " " + font.status),
    images: images.length,
    missing: images.filter(image => !image.complete || !image.naturalWidth || box(image).width < 100).length,
    wide: page.documentElement.scrollWidth > view.innerWidth,
    styled: view.getComputedStyle(page.body).margin === "0px",
    fetched: view.performance.getEntriesByType("resource").map(entry => entry.name),
  };
};
addEventListener("load", () => setTimeout(() => {
  const frames = [...document.querySelectorAll("iframe")];
  document.title = JSON.stringify(Object.fromEntries(frames.map(frame => [frame.getAttribute("src"), looked(frame)])));
}, 1000));
</script></body>"""


def _look(site: Path, profile: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """What each page looks like, and what the browser has to complain about."""
    if CHROMIUM is None:
        assert not os.environ.get("CI"), "Chromium is missing: it is what .ci/run installs"
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    addresses = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    page = site / "look.html"
    frames = "".join(f'<iframe src="{address}"></iframe>' for address in addresses)
    page.write_text(LOOK.replace("FRAMES", frames), encoding="utf-8")
    try:
        done = subprocess.run(
            [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", page.as_uri()],
            capture_output=True,
            encoding="utf-8",
            check=True,
            timeout=300,
        )
    finally:
        page.unlink()
    title = done.stdout.partition("<title>")[2].partition("</title>")[0]
    assert title, done.stderr[-2000:]
    found = json.loads(title.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    return found, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_site_in_a_browser_without_a_network(site: Path, pages: dict[str, _Page], tmp_path: Path) -> None:
    found, complaints = _look(site, tmp_path)
    assert complaints == []
    assert set(found) == set(pages)
    for name, page in found.items():
        assert page["styled"], name
        assert not page["wide"], name  # wide formulas and tables scroll inside the page
        assert page["empty"] == page["untypeset"] == page["flat"] == page["missing"] == 0, (name, page)
        assert page["formulas"] == 0 or page["font"] == ["STIX Two Math subset loaded"], (name, page)
        assert all(address.startswith(("file:", "data:")) for address in page["fetched"])
    assert all(found[name]["formulas"] > 10 for name in found if name.startswith("derivations/0"))
    assert all(found[name]["images"] for name in found if name.startswith("notebooks/"))
    assert sum(page["fractions"] for page in found.values()) > 100


def test_the_browser_sees_what_is_wrong(site: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(site, tmp_path / "site"))
    for page in broken.rglob("*/*.html"):
        page.unlink()
    (broken / "index.html").write_text(
        '<!DOCTYPE html><img src="nowhere.png"><math></math><script>console.error("wrong")</script>'
        '<math style="display: block"><mi>x</mi></math><p><mfrac><mn>1</mn><mn>2</mn></mfrac></p>'
        '<p style="width: 3000px">wide</p><script src="https://example.org/x.js"></script>',
        encoding="utf-8",
    )
    found, complaints = _look(broken, tmp_path / "profile")
    page = found["index.html"]
    assert page["empty"] == 1
    assert page["untypeset"] >= 1
    assert page["flat"] == page["missing"] == 1
    assert page["wide"]
    assert not page["styled"]
    assert any("wrong" in line for line in complaints)
    assert any("example.org" in address for address in page["fetched"])
