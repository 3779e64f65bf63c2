"""Descents to local minima: of functions whose minima are known, smooth, on kinks and beyond them."""

import numpy as np
import pytest

from mlptsym.numeric.optimal.descent import descended

Floats = np.ndarray


def sign(x: Floats, there: float, right: Floats) -> Floats:
    """One-sided slope of |x − there|."""
    return np.where((x > there) | (right & (x == there)), 1.0, -1.0)


def test_newton_converges_in_logarithms() -> None:
    """Σ (log x_i − log c_i)² with mixed terms, from far away: exact to the square of the last step."""
    centre = np.array([0.3, 2.0, 11.0])
    matrix = np.array([[2.0, -0.9, 0.1], [-0.9, 1.0, 0.2], [0.1, 0.2, 0.5]])

    def function(x: Floats, right: Floats) -> tuple[Floats, Floats]:
        away = np.log(x / centre[:, None])
        return 1 + np.einsum("im,ij,jm->m", away, matrix, away) / 2, matrix @ away / x

    starts = np.array([[1e-3, 1.0, 5e3], [0.3, 2.0, 11.0], [1.0, 1.1, 1.2]]).T
    found = descended(function, starts, np.empty(0))
    assert found.points == pytest.approx(np.repeat(centre[:, None], 3, axis=1), rel=1e-6)
    assert found.values == pytest.approx(1.0, abs=1e-13)
    assert found.free.all()


@pytest.mark.parametrize("weight", [0.5, 0.999, 1.001, 3.0])
def test_a_kink_holds_what_is_not_pulled_off_it(weight: float) -> None:
    """|x − 2| + w (x − 3)²/2 has its minimum at 2 for w ≤ 1, and at 3 − 1/w beyond; the other coordinate is smooth."""

    def function(x: Floats, right: Floats) -> tuple[Floats, Floats]:
        values = np.abs(x[0] - 2) + weight * (x[0] - 3) ** 2 / 2 + (x[1] - 5 - x[0] / 10) ** 2
        away = x[1] - 5 - x[0] / 10
        return values, np.stack([sign(x[0], 2.0, right[0]) + weight * (x[0] - 3) - away / 5, 2 * away])

    starts = np.array([[0.01, 0.02], [2.0, 2.5], [1.0, 70.0], [30.0, 31.0], [2.9, 4.0]]).T
    found = descended(function, starts, np.array([2.0]))
    least = 2.0 if weight < 1 else 3 - 1 / weight
    assert found.points[0] == pytest.approx(least, rel=0 if weight < 1 else 1e-6)
    assert found.points[1] == pytest.approx(5 + least / 10, rel=1e-6)
    assert (found.free[0] == (weight > 1)).all()
    assert found.free[1].all()


def test_a_minimum_may_be_far_from_all_starts_and_breaks() -> None:
    """As a first boundary of a ten-millionth of the mean is, where the density of sizes is infinite at zero."""

    def function(x: Floats, right: Floats) -> tuple[Floats, Floats]:
        away = np.log(x / 1e-7)
        return 1 + (away[0] / 10) ** 2, away / 50 / x

    found = descended(function, np.array([[1.0, 30.0]]), np.array([2.0]))
    assert found.points == pytest.approx(1e-7, rel=1e-6)
    assert found.free.all()


def test_a_kink_that_falls_to_both_sides_is_left() -> None:
    def function(x: Floats, right: Floats) -> tuple[Floats, Floats]:
        away = np.log(x[0] / 2)
        return away**2 - np.abs(x[0] - 2) / 4, (2 * away / x[0] - sign(x[0], 2.0, right[0]) / 4)[None]

    found = descended(function, np.array([[2.0, 1.0, 2.1]]), np.array([2.0]))
    _, slopes = function(found.points, np.ones((1, 3), dtype=bool))
    assert np.abs(slopes).max() < 1e-6
    assert (found.points != 2).all()
    assert (found.points[0] > 2).tolist() == [True, False, True]


def test_each_start_finds_its_own_minimum() -> None:
    def function(x: Floats, right: Floats) -> tuple[Floats, Floats]:
        log = np.log(x[0])
        return 2 + np.cos(3 * log) + log**2 / 50, ((-3 * np.sin(3 * log) + log / 25) / x[0])[None]

    starts = np.exp(np.linspace(-5, 5, 40))[None]
    found = descended(function, starts, np.array([1.0, 2.0]))
    values, slopes = function(found.points, np.ones(starts.shape, dtype=bool))
    assert np.abs(slopes * found.points).max() < 1e-6
    assert (values == found.values).all()
    assert (values <= function(starts, starts > 0)[0]).all()
    assert len(np.unique(np.round(np.log(found.points), 4))) == 6
    assert (np.abs(np.log(found.points / starts)) < 2 * np.pi / 3).all()  # steps do not lead beyond the next maximum


def test_what_is_infinite_is_not_entered() -> None:
    """x − log(x − 1), infinite up to 1, least at 2."""

    def function(x: Floats, right: Floats) -> tuple[Floats, Floats]:
        inside = np.where(x > 1, x - 1, np.nan)
        return np.where(x[0] > 1, x[0] - np.log(inside[0]), np.inf), 1 - 1 / inside

    found = descended(function, np.array([[1 + 1e-9, 1.5, 400.0]]), np.empty(0))
    assert found.points[0] == pytest.approx(2.0, rel=1e-6)


def test_neighbours_that_attract_each_other_do_not_meet() -> None:
    def function(x: Floats, right: Floats) -> tuple[Floats, Floats]:
        low, high = np.log(x)
        return (low - high) ** 2 + (low - 1) ** 2 + 5, np.stack([4 * low - 2 * high - 2, 2 * (high - low)]) / x

    found = descended(function, np.array([[1.0, 9.0], [5.0, 5.1]]).T, np.array([4.0]))
    gaps = np.diff(np.log(found.points), axis=0)
    assert (gaps > 0.9e-3).all()
    assert (gaps < 0.02).all()


def test_a_flat_function_is_left_alone() -> None:
    starts = np.array([[1.0, 2.0], [3.0, 3.0]])
    found = descended(lambda x, right: (np.ones(x.shape[1]), np.zeros_like(x)), starts, np.array([2.0]))
    assert (found.points == starts).all()
    assert found.free.tolist() == [[True, False], [True, True]]


def test_a_quadratic_takes_a_single_step_of_newton() -> None:
    """(log x − 0.3)² + (log x − 0.3)(log y − 1.5)/2 + (log y − 1.5)² from close by: two further looks confirm it."""
    looks = []

    def function(x: Floats, right: Floats) -> tuple[Floats, Floats]:
        looks.append(x.shape)
        one, other = np.log(x) - np.array([0.3, 1.5])[:, None]
        return 1 + one**2 + one * other / 2 + other**2, np.stack([2 * one + other / 2, 2 * other + one / 2]) / x

    found = descended(function, np.exp([[0.5], [1.4]]), np.empty(0))
    assert np.log(found.points[:, 0]) == pytest.approx([0.3, 1.5], abs=1e-6)
    assert len(looks) <= 3
