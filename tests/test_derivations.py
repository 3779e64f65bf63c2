"""The derivations: their conventions, what they cover, and every step taken again and compared by value."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
import sympy as sp
from nbval_runs import run_nbval

from mlptsym import Gamma
from mlptsym.ledger.entry import METHODS
from mlptsym.ledger.registry import all_entries
from mlptsym.ledger.render.display import at_queue, derivation, refutations, value, verdicts
from mlptsym.numeric.mean.response import mean_response_time as numeric_response_time
from mlptsym.numeric.model.policies import MLPT
from mlptsym.numeric.model.queue import Queue
from mlptsym.runtime.parameters import read_parameters
from mlptsym.symbolic.algebra.symbols import arrival_rate, boundary, cost, level, service
from mlptsym.symbolic.mean.response import mean_response_time
from mlptsym.symbolic.model.moments import Indicator, UpperMoment, expectation, tail
from mlptsym.validation import ParameterError

FOLDER = Path(__file__).parents[1] / "derivations"
NOTEBOOKS = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}
TYPESET = Path(__file__).with_name("typeset.cfg")
SECOND_LOOKS = re.compile(r".*-(written-out|simulation|digits|carried)|law-.*|special-functions")
"""Entries that repeat another one by other means, and size laws, which the reader chooses."""


def _cells(name: str, kind: str = "code") -> list[nbformat.NotebookNode]:
    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def test_they_are_numbered_in_order() -> None:
    """Ten on the paper, and what goes beyond it."""
    assert [name[:3] for name in NOTEBOOKS] == [f"{number:02}_" for number in range(1, len(NOTEBOOKS) + 1)]
    assert len(NOTEBOOKS) >= 10


@pytest.mark.parametrize("name", NOTEBOOKS)
class TestConventions:
    def test_prose_comes_first_and_last(self, name: str) -> None:
        cells = nbformat.read(NOTEBOOKS[name], as_version=4).cells
        assert cells[0].cell_type == cells[-1].cell_type == "markdown"
        assert cells[0].source.startswith(f"# {int(name[:2])}. ")

    def test_prose_and_steps_alternate(self, name: str) -> None:
        kinds = "".join(cell.cell_type[0] for cell in nbformat.read(NOTEBOOKS[name], as_version=4).cells)
        assert re.fullmatch(r"mcc(m+c{1,2})+m", kinds)  # after parameters and imports two cells of code at most

    def test_cells_are_short_and_define_nothing(self, name: str) -> None:
        for cell in _cells(name):
            assert len([line for line in cell.source.splitlines() if line.strip()]) <= 26
            definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
            assert not [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, definitions)]

    def test_every_parameter_is_typed_explained_and_used(self, name: str) -> None:
        parameters = read_parameters(NOTEBOOKS[name])
        cells = _cells(name)
        assert cells[0].metadata.tags == ["parameters"]
        assert [parameter.name for parameter in parameters.values() if not parameter.description] == []
        others = ast.parse("\n".join(cell.source for cell in cells[1:]))
        used = {node.id for node in ast.walk(others) if isinstance(node, ast.Name)}
        assert set(parameters) <= used

    def test_stored_outputs_are_whole_and_name_no_place(self, name: str) -> None:
        cells = _cells(name)
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
        outputs = [output for cell in cells for output in cell.outputs]
        assert {output.output_type for output in outputs} <= {"stream", "execute_result"}
        assert {output.name for output in outputs if output.output_type == "stream"} <= {"stdout"}
        assert all(cell.outputs for cell in cells[2:])  # each step shows something
        text = NOTEBOOKS[name].read_text(encoding="utf-8")
        for place in (str(FOLDER.parent), sys.prefix, str(Path.home()) + "/"):
            assert place not in text

    def test_metadata_are_those_of_any_machine(self, name: str) -> None:
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        metadata = json.loads(NOTEBOOKS[name].read_text(encoding="utf-8"))["metadata"]
        assert metadata == {"kernelspec": kernel, "language_info": {"name": "python"}}

    def test_links_lead_somewhere(self, name: str) -> None:
        prose = "\n".join(cell.source for cell in _cells(name, "markdown"))
        links = re.findall(r"\]\(([^)]+)\)", prose)
        assert links
        assert all((FOLDER / link).is_file() for link in links)

    def test_last_table_is_the_ledgers_and_all_of_it_holds(self, name: str) -> None:
        last = _cells(name)[-1]
        assert last.source.startswith("verdicts(")
        head, _, *rows = last.outputs[0].data["text/markdown"].splitlines()
        assert head == "| statement | how shown | result |"
        assert len(rows) >= 3
        assert {row.rsplit("|", 2)[1].strip() for row in rows} <= set(METHODS.values())


def _shown(name: str) -> set[str]:
    """Ledger entries in the tables of a notebook."""
    tables = [cell.outputs[0].data for cell in _cells(name) if cell.source.startswith("verdicts(")]
    return set(re.findall(r"^\| \*\*([^*]+)\*\*", "\n".join(table["text/markdown"] for table in tables), re.MULTILINE))


def test_every_statement_of_the_ledger_is_in_a_notebook() -> None:
    shown = set().union(*map(_shown, NOTEBOOKS))
    of_the_paper = {name for name, entry in all_entries().items() if not entry.source.startswith("beyond the paper")}
    assert {name for name in of_the_paper if not SECOND_LOOKS.fullmatch(name)} <= shown <= set(all_entries())


def test_equations_are_where_they_are_looked_for() -> None:
    ranges = {"01": (1, 5), "02": (6, 7), "03": (8, 12), "04": (13, 22), "05": (23, 28), "06": (29, 29), "07": (30, 30)}
    ranges["08"] = (31, 32)
    for name in NOTEBOOKS:
        if name[:2] in ranges:
            first, last = ranges[name[:2]]
            assert {f"eq-{number}" for number in range(first, last + 1)} <= _shown(name)


# Run again -----------------------------------------------------------------------------------------------------------


def _in_one(names: Sequence[str]) -> nbformat.NotebookNode:
    """Notebooks one after the other, for one kernel: the names of one are gone before the next begins."""
    forget = nbformat.v4.new_code_cell("%reset -f", execution_count=1)
    cells = [nbformat.from_dict(cell) for name in names for cell in (*_cells(name), forget)]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.long
class TestRunAgain:
    def test_every_step_gives_the_same_value_again(self, tmp_path: Path) -> None:
        path, together = tmp_path / "derivations.ipynb", _in_one(list(NOTEBOOKS))
        nbformat.write(together, path)
        outcome = run_nbval(path, options=("--nbval-sanitize-with", str(TYPESET)))
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
        assert f" {len(together.cells)} passed" in outcome.stdout


class TestTheComparison:
    """Values count, typesetting does not."""

    cell = """\
import sympy as sp

from mlptsym.ledger.render.display import derivation

x = sp.Symbol("x")
derivation(("a square", sp.expand((x + 1) ** 2)))"""

    def test_another_order_of_terms_passes_and_another_value_fails(self, tmp_path: Path) -> None:
        number = value((sp.Symbol("x") + 1) ** 2)
        stored = (("1 + 2 x + x^{2}", number), ("x^{2} + 2 x + 1", number[:-1] + "9"))
        cells = []
        for count, (latex, text) in enumerate(stored, start=1):
            data = {"text/markdown": f"a square:\n\n$$\\displaystyle {latex}$$", "text/plain": f"a square: {text}"}
            cells.append(nbformat.v4.new_code_cell(self.cell, execution_count=count))
            cells[-1].outputs = [nbformat.v4.new_output("execute_result", data, execution_count=count)]
        path = tmp_path / "squares.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        outcome = run_nbval(path, options=("--nbval-sanitize-with", str(TYPESET)))
        assert "1 failed, 1 passed" in outcome.stdout
        assert re.search(r"FAILED \S+::Cell 1\b", outcome.stdout, re.MULTILINE)


# Changed by a reader -------------------------------------------------------------------------------------------------

CHANGED = {
    "size_law": "Gamma",
    "size_parameters": [0.7, 300.0],
    "memory_law": "AffineMemory",
    "memory_parameters": [50.0, 1.0],
    "gamma": 0.05,
    "beta": 0.6,
}


@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if "size_law" in read_parameters(NOTEBOOKS[name])])
def test_a_reader_can_change_law_and_cost(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Gamma sizes, another slowdown, and where the notebook leaves it open a prompt in memory: formula and code agree."""
    parameters, *steps, _ = (cell.source for cell in _cells(name))
    namespace: dict[str, Any] = {}
    exec(parameters, namespace)  # noqa: S102
    namespace |= {parameter: value for parameter, value in CHANGED.items() if parameter in namespace}
    for step in steps:
        exec(step, namespace)  # noqa: S102
    compared = re.findall(r"(\S+) by [^,]+, +(\S+) by ", capsys.readouterr().out)
    assert compared or name[:2] >= "10"
    stored = NOTEBOOKS[name].read_text(encoding="utf-8")
    for formula, other in compared:
        assert float(formula) == pytest.approx(float(other), rel=1e-4)  # one notebook compares with differences
        assert formula not in stored


# What the notebooks show with -----------------------------------------------------------------------------------------


class TestValue:
    def test_forms_of_one_expression_share_it(self) -> None:
        t = boundary[level + 1]
        folded = sp.Sum(cost[sp.Symbol("r")] * (1 + tail(t)), (sp.Symbol("r"), 1, level))
        for left, right in (
            ((t + cost[1]) ** 2, t**2 + 2 * t * cost[1] + cost[1] ** 2),
            (folded, sp.expand(folded)),
            (Indicator(service, t) * (1 + t), Indicator(service, t) + t * Indicator(service, t)),
            (sp.sqrt(8) * t ** sp.Rational(1, 3), 2 * sp.sqrt(2) * sp.cbrt(t)),
        ):
            assert value(left) == value(right)

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            (boundary[1], boundary[2]),
            (tail(boundary[1]), UpperMoment(1, boundary[1])),
            (
                sp.Sum(cost[sp.Symbol("r")], (sp.Symbol("r"), 1, 3 * level)),
                sp.Sum(cost[sp.Symbol("r")], (sp.Symbol("r"), 1, level)),
            ),
            (sp.Min(service, boundary[1]), sp.Max(service, boundary[1])),
            (sp.Eq(service, 1), sp.Eq(service, 2)),
            (sp.Tuple(service, 1), sp.Tuple(1, service)),
        ],
    )
    def test_different_expressions_do_not(self, left: sp.Basic, right: sp.Basic) -> None:
        assert value(left) != value(right)

    def test_it_is_exact_zero_where_terms_cancel(self) -> None:
        assert value((service + 1) ** 2 - service**2 - 2 * service - 1) == "0"


class TestShown:
    def test_a_step_is_typeset_with_words_and_formula(self) -> None:
        shown = derivation(("its mean", expectation(sp.Min(service, boundary[1]), [boundary[1]])))
        words, formula = shown._repr_markdown_().split("\n\n")
        assert words == "its mean:"
        assert formula.startswith(r"$$\displaystyle ")
        assert r"\mathbb{E}[S]" in formula

    def test_names_of_several_letters_are_set_as_words(self) -> None:
        assert r"\operatorname{slope}" in derivation(("law", sp.Symbol("slope") * service))._repr_markdown_()

    def test_a_long_equation_takes_two_lines(self) -> None:
        long = sp.Add(*(tail(boundary[r]) ** r for r in range(1, 20)))
        assert derivation(("equal", sp.Eq(long, service)))._repr_markdown_().count(r"$$\displaystyle") == 2

    def test_a_failing_check_shows_in_the_table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert repr(verdicts("eq-6")).endswith(": proved")
        monkeypatch.setattr("mlptsym.ledger.sections.model.effective_load", lambda levels: sp.Symbol("rho") * levels)
        assert repr(verdicts("eq-6")).endswith(": FAILED")

    def test_a_check_that_refutes_nothing_shows_in_the_table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "NOT REFUTED" not in repr(refutations("eq-6"))
        monkeypatch.setattr("mlptsym.ledger.exact.checks.reduces_to_zero", lambda _: True)
        monkeypatch.setattr("mlptsym.ledger.exact.checks.vanishes", lambda _: True)
        assert repr(refutations("eq-6")).count("NOT REFUTED") == 2

    def test_an_unknown_entry_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="eq-99"):
            verdicts("eq-1 eq-99")

    def test_tables_have_one_row_a_line_and_three_cells(self) -> None:
        for table in (verdicts("eq-18 kink-two-levels"), refutations("eq-16")):
            assert {line.count("|") for line in table._repr_markdown_().splitlines()} == {4}


def test_a_formula_has_its_value_at_a_queue() -> None:
    queue = Queue(Gamma(0.7, 1.3), 0.4, slowdown_threshold=1.1, slowdown_factor=0.5, preemption_cost=0.2)
    expected = numeric_response_time(queue, MLPT(quanta=[0.4, 0.9]))
    assert at_queue(mean_response_time(3), queue, [0.4, 1.3]) == pytest.approx(expected, rel=1e-12)
    assert at_queue(mean_response_time(3), queue, [0.4, 1.2]) != pytest.approx(expected, rel=1e-6)
    assert at_queue(arrival_rate, queue) == queue.arrival_rate
    assert at_queue(UpperMoment(1, boundary[1]), queue, [0.4]) == queue.service_moments(0.4)[1]
    with pytest.raises(ParameterError, match="the ends given"):
        at_queue(mean_response_time(3), queue, [0.4])
