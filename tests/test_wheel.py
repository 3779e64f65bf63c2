"""The wheel, installed where there is no checkout: its commands have the notebooks and derivations with them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUIET = ("-q", "--disable-pip-version-check", "--no-input", "--no-deps")


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a new environment with the wheel; what that needs is borrowed from this one."""
    place = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip"]
    run(*pip, "wheel", *QUIET, "--no-build-isolation", "--wheel-dir", place, ROOT, cwd=place)
    run(sys.executable, "-m", "venv", "--without-pip", place / "env", cwd=place)
    python = place / "env" / "bin" / "python"
    (packages,) = (place / "env" / "lib").glob("python*/site-packages")
    # A folder that is named in a .pth file is searched, but its own .pth files, which lead to the checkout, are not read.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n" + sysconfig.get_path("platlib") + "\n")
    (place / "env" / "share").symlink_to(Path(sys.prefix) / "share")  # Jupyter's templates
    (wheel,) = place.glob("mlptsym-*.whl")
    run(*pip, "--python", python, "install", *QUIET, "--no-index", wheel, cwd=place)
    found = run(python, "-c", "import mlptsym; print(mlptsym.__file__)", cwd=place)
    assert Path(found.strip()).is_relative_to(packages)
    return python.parent


def test_figures_are_drawn_in_any_folder(commands: Path, tmp_path: Path) -> None:
    run(commands / "mlptsym", "figures", "fig01", cwd=tmp_path)
    drawn = {path.name: path for path in (tmp_path / "figures").iterdir()}
    assert drawn.keys() == {f"fig01.{kind}" for kind in ("svg", "pdf", "png", "csv", "ipynb")}
    assert drawn["fig01.csv"].read_bytes() == (ROOT / "figures" / "fig01.csv").read_bytes()


def test_the_site_has_every_page(commands: Path, tmp_path: Path) -> None:
    run(commands / "mlptsym", "site", cwd=tmp_path)
    pages = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.html")}
    sources = [path for folder in ("derivations", "notebooks") for path in (ROOT / folder).glob("*.[im][pd]*")]
    assert pages == {"index.html", *(path.relative_to(ROOT).with_suffix(".html").as_posix() for path in sources)}


def test_scenarios_find_their_notebooks(commands: Path, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("scenarios: [{name: a, notebooks: fig01}]")
    run(commands / "mlptsym", "batch", "one.yaml", "--dry-run", cwd=tmp_path)
