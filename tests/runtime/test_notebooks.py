"""The figure notebooks: their conventions, their numbers and pictures run again, and theory inside simulation."""

from __future__ import annotations

import ast
import base64
import io
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from matplotlib.testing.compare import compare_images
from nbval_runs import run_nbval
from PIL import Image
from scipy import stats

from mlptsym import FCFS, MLPT, LogNormal, Queue, mean_response_time
from mlptsym.figures import FigureData, read_figure_data, save_figure
from mlptsym.figures.quanta import draw_quanta
from mlptsym.runtime import plan
from mlptsym.runtime.parameters import OUTPUT_FOLDER, read_parameters
from mlptsym.simulation.simulate import simulate_many
from mlptsym.studies.quanta import level_name

NOTEBOOKS = plan.find_notebooks(plan.notebook_folder())
FIGURES = plan.notebook_folder().parent / "figures"
QUANTUM_FIGURES = ("fig06", "fig07", "fig08")

PICTURE_TOLERANCE = 0.5
"""Root mean square over all pixels and channels, of 255."""


def _code_cells(name: str) -> list[nbformat.NotebookNode]:
    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_is_a_notebook_for_every_figure() -> None:
    assert list(NOTEBOOKS)[:8] == [f"fig{number:02}" for number in range(1, 9)]


def test_figures_by_quantum_differ_in_threshold_and_name_alone() -> None:
    """They are three notebooks since each stores a run: its numbers, picture and reading."""
    first, *others = ([cell.source for cell in _code_cells(name)] for name in QUANTUM_FIGURES)
    for name, threshold, cells in zip(QUANTUM_FIGURES[1:], (3.0, 8.0), others, strict=True):
        expected = [cell.replace("threshold: float = 6.0", f"threshold: float = {threshold}") for cell in first]
        assert cells == [cell.replace('"fig06"', f'"{name}"') for cell in expected]


@pytest.mark.parametrize("name", NOTEBOOKS)
class TestConventions:
    def test_prose_comes_first_and_last(self, name: str) -> None:
        cells = nbformat.read(NOTEBOOKS[name], as_version=4).cells
        assert cells[0].cell_type == cells[-1].cell_type == "markdown"
        assert cells[0].source.startswith(f"# Figure {int(name[3:])}: ")

    def test_code_is_short_and_defines_nothing(self, name: str) -> None:
        sources = [cell.source for cell in _code_cells(name)]
        lines = [line for line in "\n".join(sources).splitlines() if line.strip() and not line.lstrip().startswith("#")]
        assert len(lines) <= 40
        definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        assert not [node for node in ast.walk(ast.parse("\n".join(sources))) if isinstance(node, definitions)]
        assert "%" not in {line.strip()[:1] for line in lines}  # no IPython commands

    def test_every_parameter_is_typed_explained_and_used(self, name: str) -> None:
        parameters = read_parameters(NOTEBOOKS[name])
        cells = _code_cells(name)
        assert cells[0].metadata.tags == ["parameters"]
        statements = ast.parse(cells[0].source).body
        assert all(isinstance(statement, ast.AnnAssign) for statement in statements)
        assert [parameter.name for parameter in parameters.values() if not parameter.description] == []
        assert parameters[OUTPUT_FOLDER].default == "../figures"
        others = ast.parse("\n".join(cell.source for cell in cells[1:]))
        used = {node.id for node in ast.walk(others) if isinstance(node, ast.Name)}
        assert set(parameters) <= used

    def test_stored_outputs_are_whole_and_name_no_place(self, name: str) -> None:
        cells = _code_cells(name)
        outputs = [output for cell in cells for output in cell.outputs]
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
        assert {output.output_type for output in outputs} == {"stream", "execute_result"}
        assert {output.name for output in outputs if output.output_type == "stream"} == {"stdout"}
        text = NOTEBOOKS[name].read_text(encoding="utf-8")
        for place in (str(FIGURES.parent), sys.prefix, str(Path.home()) + "/"):
            assert place not in text

    def test_metadata_are_those_of_any_machine(self, name: str) -> None:
        metadata = dict(json.loads(NOTEBOOKS[name].read_text(encoding="utf-8"))["metadata"])
        assert metadata.pop("mlptsym").keys() == {"cost"}
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        assert metadata == {"kernelspec": kernel, "language_info": {"name": "python"}}

    def test_stored_picture_is_the_committed_one(self, name: str) -> None:
        pictures = [
            output.data["image/png"]
            for cell in _code_cells(name)
            for output in cell.outputs
            if "image/png" in output.get("data", {})
        ]
        assert len(pictures) == 1
        shown, committed = (
            np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
            for content in (base64.b64decode(pictures[0]), (FIGURES / f"{name}.png").read_bytes())
        )
        assert np.array_equal(shown, committed)


# Run again -----------------------------------------------------------------------------------------------------------


def _in_one(names: Sequence[str]) -> nbformat.NotebookNode:
    """Notebooks one after the other, for one kernel: the names of one are gone before the next begins."""
    forget = nbformat.v4.new_code_cell("%reset -f", execution_count=1)
    cells = [nbformat.from_dict(cell) for name in names for cell in (*_code_cells(name), forget)]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    return nbformat.v4.new_notebook(cells=cells)


def _assert_same_data(actual: FigureData, expected: FigureData) -> None:
    names, values = (
        [
            [(row.panel, row.curve, row.kind, row.standard_error is None) for row in data.rows]
            for data in (actual, expected)
        ],
        [[(row.x, row.y, row.standard_error or 0.0) for row in data.rows] for data in (actual, expected)],
    )
    assert names[0] == names[1]
    np.testing.assert_allclose(*values, rtol=1e-9)


@pytest.mark.long
class TestRunAgain:
    def test_numbers_data_and_pictures_come_out_again(self, tmp_path: Path) -> None:
        (tmp_path / "notebooks").mkdir()
        path, together = tmp_path / "notebooks" / "figures.ipynb", _in_one(list(NOTEBOOKS))
        nbformat.write(together, path)
        outcome = run_nbval(path)
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
        assert f" {len(together.cells)} passed" in outcome.stdout
        new = tmp_path / "figures"
        kinds = ("svg", "pdf", "png", "csv")
        assert {path.name for path in new.iterdir()} == {f"{name}.{kind}" for name in NOTEBOOKS for kind in kinds}
        for name in NOTEBOOKS:
            csv, png = f"{name}.csv", f"{name}.png"
            _assert_same_data(read_figure_data(new / csv), read_figure_data(FIGURES / csv))
            assert compare_images(str(FIGURES / png), str(new / png), PICTURE_TOLERANCE) is None


class TestTheComparison:
    """The tools above see what they are there to see."""

    def test_nbval_sees_a_changed_digit(self, tmp_path: Path) -> None:
        (tmp_path / "notebooks").mkdir()
        copy = tmp_path / "notebooks" / NOTEBOOKS["fig01"].name
        text = NOTEBOOKS["fig01"].read_text(encoding="utf-8")
        assert text.count("= 1263.653846") == 1
        copy.write_text(text.replace("= 1263.653846", "= 1263.653847"), encoding="utf-8")
        outcome = run_nbval(copy)
        assert outcome.returncode == 1
        assert "1 failed" in outcome.stdout

    def test_data_that_differ_in_the_ninth_digit_differ(self) -> None:
        data = read_figure_data(FIGURES / "fig06.csv")
        last = data.rows[-1]
        _assert_same_data(data, data)
        with pytest.raises(AssertionError):
            _assert_same_data(FigureData((*data.rows[:-1], replace(last, y=last.y * (1 + 3e-9)))), data)
        with pytest.raises(AssertionError):
            _assert_same_data(FigureData(data.rows[:-1]), data)

    def test_a_picture_with_one_moved_point_is_another_picture(self, tmp_path: Path) -> None:
        queue, _ = _queue_and_parameters("fig06")
        data = read_figure_data(FIGURES / "fig06.csv")
        committed = str(FIGURES / "fig06.png")
        same = save_figure(draw_quanta(data, queue), data, "same", tmp_path)["png"]
        assert compare_images(committed, str(same), PICTURE_TOLERANCE) is None
        place = next(place for place, row in enumerate(data.rows) if row.kind == "simulation")
        moved = replace(data.rows[place], y=data.rows[place].y + 100.0)
        other = FigureData((*data.rows[:place], moved, *data.rows[place + 1 :]))
        changed = save_figure(draw_quanta(other, queue), other, "changed", tmp_path)["png"]
        assert "Error: Image files did not match" in str(compare_images(committed, str(changed), PICTURE_TOLERANCE))


# Theory inside simulation --------------------------------------------------------------------------------------------

FALSE_ALARM_RATE = 1e-3
"""Of each of the tests below, were their seed means normal."""


@lru_cache
def _queue_and_parameters(name: str) -> tuple[Queue, dict[str, Any]]:
    values = {key: parameter.default for key, parameter in read_parameters(NOTEBOOKS[name]).items()}
    size = LogNormal(values["mu"], values["sigma"])
    queue = Queue(size, values["arrival_rate"], values["threshold"] * size.mean, values["beta"], values["gamma"])
    return queue, values


@lru_cache
def _drawn_points(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simulated mean, its standard error and the theory's mean, at every point of a figure that theory speaks of."""
    queue, values = _queue_and_parameters(name)
    data = read_figure_data(FIGURES / f"{name}.csv")
    points = [(row, mean_response_time(queue, FCFS())) for row in data.select(curve="FCFS", kind="simulation")]
    for k in values["levels"]:
        rows = data.select(curve=level_name(k), kind="simulation")
        theory = mean_response_time(queue, MLPT(quantum=[row.x for row in rows], levels=k))
        points += zip(rows, theory, strict=True)
    columns = np.array([(row.y, row.standard_error, theory) for row, theory in points])
    return columns[:, 0], columns[:, 1], columns[:, 2]


def _deviations(factor: float = 1.0) -> np.ndarray:
    """Standardised deviations of all drawn points of figures 6 to 8 from the theory times a factor."""
    parts = [(mean - factor * theory) / error for mean, error, theory in map(_drawn_points, QUANTUM_FIGURES)]
    return np.concatenate(parts)


class TestDrawnPoints:
    """Points that are drawn, from eight seeds each: Student's t with 7 degrees of freedom."""

    student = stats.t(7)

    def _largest_allowed(self, count: int) -> float:
        """Bonferroni: one of ``count`` points is outside with the false-alarm rate at most."""
        return float(self.student.isf(FALSE_ALARM_RATE / (2 * count)))

    def _mean_allowed(self) -> float:
        """Bound that the mean of |z| passes with the false-alarm rate at most, however the points depend.

        The quantile of a sum is at most its expected shortfall, and that is at most the sum of those of the terms.
        """
        quantile = self.student.isf(FALSE_ALARM_RATE / 2)
        return float(2 * self.student.pdf(quantile) * (7 + quantile**2) / 6 / FALSE_ALARM_RATE)

    def test_the_bound_on_the_mean_is_the_expected_shortfall(self) -> None:
        tail = self.student.expect(lambda t: t, lb=float(self.student.isf(FALSE_ALARM_RATE / 2)))
        assert self._mean_allowed() == pytest.approx(2 * tail / FALSE_ALARM_RATE, rel=1e-6)

    def test_every_policy_has_a_dozen_points(self) -> None:
        for name in QUANTUM_FIGURES:
            queue, values = _queue_and_parameters(name)
            data = read_figure_data(FIGURES / f"{name}.csv")
            highest = 1.35 * mean_response_time(queue, FCFS())
            for curve in [*map(level_name, values["levels"]), "MLPT′-(θ, ∞)"]:
                points = data.select(curve=curve, kind="simulation")
                assert 11 <= len(points) <= 16, (name, curve)
            assert all(row.y < 1.2 * highest for row in data.select(kind="simulation"))

    def test_every_point_is_where_the_theory_is(self) -> None:
        deviations = np.abs(_deviations())
        assert deviations.max() < self._largest_allowed(deviations.size)
        assert deviations.mean() < self._mean_allowed()

    @pytest.mark.parametrize("factor", [0.89, 1.11])
    def test_a_theory_that_is_wrong_by_eleven_per_cent_would_be_found(self, factor: float) -> None:
        deviations = np.abs(_deviations(factor))
        assert deviations.mean() > self._mean_allowed()


SHARP_SEEDS = 100
SHARP_POLICIES = {2: (0.5, 3.0, 6.0), 5: (2.0, 4.0), 10: (3.0, 5.0), math.inf: (3.0, 4.0, 8.0)}
"""Quanta in units of E[L], by k."""


@lru_cache
def _sharp_simulation(name: str) -> tuple[list[MLPT], np.ndarray, np.ndarray]:
    """Policies, their seed means, and the relative deviations of FCFS on the same traces from its known mean."""
    queue, values = _queue_and_parameters(name)
    policies = [
        MLPT(quantum=multiple * queue.size.mean, levels=k)
        for k, quanta in SHARP_POLICIES.items()
        for multiple in quanta
    ]
    results = simulate_many(
        queue, [FCFS(), *policies], values["jobs"], values["warmup"], SHARP_SEEDS, root_seed=20, workers=1
    )
    base, *means = (result.seed_means for result in results)
    return policies, np.array(means), base / mean_response_time(queue, FCFS()) - 1


@pytest.mark.parametrize("name", QUANTUM_FIGURES)
class TestSharply:
    """The same queues with more seeds, freed of most of their noise by FCFS, whose mean is known.

    A seed's deviation from theory, in units of it, less 0.7 times that of FCFS on the same trace, has mean zero if the
    theory is right, and a half to a fifth of the scatter.  The factor is fixed beforehand, so that Student's t applies.
    """

    def _deviations(self, name: str, **changes: float) -> np.ndarray:
        """|t| of every policy, from the theory of a queue with changed parameters."""
        policies, means, base = _sharp_simulation(name)
        queue = replace(_queue_and_parameters(name)[0], **changes)
        theory = np.array([mean_response_time(queue, policy) for policy in policies])
        remaining = means / theory[:, None] - 1 - 0.7 * base
        return np.abs(remaining.mean(axis=1)) / remaining.std(axis=1, ddof=1) * math.sqrt(SHARP_SEEDS)

    def _allowed(self) -> float:
        """Bonferroni over the policies of one figure."""
        count = sum(map(len, SHARP_POLICIES.values()))
        return float(stats.t(SHARP_SEEDS - 1).isf(FALSE_ALARM_RATE / (2 * count)))

    def test_theory_is_inside_a_sharper_simulation(self, name: str) -> None:
        assert self._deviations(name).max() < self._allowed()

    @pytest.mark.parametrize(
        "changes",
        [{"preemption_cost": 0.09}, {"preemption_cost": 0.11}, {"arrival_rate": 0.00359}, {"slowdown_factor": 0.4}],
        ids=str,
    )
    def test_small_mistakes_would_be_found(self, name: str, changes: dict[str, float]) -> None:
        assert self._deviations(name, **changes).max() > self._allowed()
