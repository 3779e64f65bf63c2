"""The formula of theorem 4.5 against simulation, sharply enough to find an error of half a per cent.

A small version of ``tests/benchmarks/crosscheck.py``.
"""

import pytest
from benchmarks.crosscheck import Row, check, disagreements, points


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return check("fig06", points("fig06", chosen=True), 400_000, 32, chosen=True, workers=1)


def test_every_curve_of_figure_6_is_that_of_the_theory_at_its_best_quantum(rows: list[Row]) -> None:
    """A right formula fails with probability 10⁻⁴."""
    assert [row.curve for row in rows] == ["MLPT-(θ, 2)", "MLPT-(θ, 5)", "MLPT-(θ, 10)", "MLPT-(θ, ∞)"]
    assert disagreements(rows) == []


def test_the_half_width_is_at_most_a_fifth_of_a_per_cent(rows: list[Row]) -> None:
    assert all(row.half_width <= row.resolution for row in rows)


@pytest.mark.parametrize("error", [-0.005, 0.005])
def test_a_formula_that_is_half_a_per_cent_off_is_found_on_every_curve(rows: list[Row], error: float) -> None:
    assert disagreements(rows, error) == rows
