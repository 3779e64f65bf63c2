"""The notebook of the real traces: its conventions, its numbers run again, and the same on other traces."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import nbformat
import pytest
from fit_samples import DATA
from nbval_runs import run_nbval

from mlptsym.runtime import plan
from mlptsym.runtime.parameters import read_parameters

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "real_traces.ipynb"
REAL = ROOT.parent / "shared" / "traces"


def code_cells() -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]


def test_prose_comes_first_and_last_and_code_defines_nothing() -> None:
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert cells[0].cell_type == cells[-1].cell_type == "markdown"
    source = "\n".join(cell.source for cell in code_cells())
    assert len([line for line in source.splitlines() if line.strip()]) <= 60
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, definitions)]


def test_parameters_are_typed_explained_and_used() -> None:
    first, *others = code_cells()
    assert first.metadata.tags == ["parameters"]
    assert all(isinstance(statement, ast.AnnAssign) for statement in ast.parse(first.source).body)
    parameters = read_parameters(NOTEBOOK)
    assert [parameter.name for parameter in parameters.values() if not parameter.description] == []
    used = {
        node.id for node in ast.walk(ast.parse("\n".join(cell.source for cell in others))) if isinstance(node, ast.Name)
    }
    assert set(parameters) <= used


def test_it_is_stored_whole_and_names_no_place() -> None:
    cells = code_cells()
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert {output.output_type for cell in cells for output in cell.outputs} == {"stream", "display_data"}
    text = NOTEBOOK.read_text(encoding="utf-8")
    for place in (str(ROOT.parent), sys.prefix, str(Path.home()) + "/"):
        assert place not in text
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert json.loads(text)["metadata"] == {"kernelspec": kernel, "language_info": {"name": "python"}}


def test_it_is_no_figure() -> None:
    """`mlptsym figures` does not run it."""
    assert NOTEBOOK not in plan.find_notebooks(NOTEBOOK.parent).values()


@pytest.mark.long
class TestRun:
    def test_numbers_come_out_again(self, tmp_path: Path) -> None:
        """On the real traces where they are, with the outputs that are stored; elsewhere on samples, without."""
        folder = tmp_path / "main" / "notebooks"
        folder.mkdir(parents=True)
        text = NOTEBOOK.read_text(encoding="utf-8")
        options: tuple[str, ...] = ()
        if REAL.is_dir():
            (tmp_path / "shared").symlink_to(REAL.parent)
        else:
            for old, new in (
                ("../../shared/traces", DATA.as_posix()),
                ("20_000", "200"),
                ('[2, float(\\"inf\\")]', "[2]"),
            ):
                assert text.count(old) == 1
                text = text.replace(old, new)
            options = ("--nbval-lax",)
        copy = folder / NOTEBOOK.name
        copy.write_text(text, encoding="utf-8")
        outcome = run_nbval(copy, options=options)
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
        assert f"{len(code_cells())} passed" in outcome.stdout


@pytest.mark.skipif(not REAL.is_dir(), reason="the real traces are not beside this checkout")
def test_prose_says_what_the_outputs_say() -> None:
    printed = "".join(output.text for cell in code_cells() for output in cell.outputs if output.output_type == "stream")
    for words in ("6.5% less than FCFS", "gain -25.6%", "CV of the gaps 1.094", "15 times what the theory says"):
        assert words in printed
