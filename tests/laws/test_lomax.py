"""Lomax law: 50-digit reference, and what is its own: infinite moments, and antiderivatives in their place."""

import math
from dataclasses import replace
from math import comb

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from bad_values import SCALES
from hypothesis import strategies as st
from reference import LawReference, Moment

from mlptsym import Lomax, ParameterError
from mlptsym.symbolic.model.size_law import antiderivative_defect, point


def moment(shape: float, scale: float) -> Moment:
    shape, scale = mp.mpf(shape), mp.mpf(scale)

    def upper(n, x):
        # u = 1/(1 + L/scale) has the density shape·u^(shape−1) on (0, 1), and L = scale (1 − u)/u
        if n >= shape:
            return mp.inf
        u = scale / (x + scale)
        powers = (comb(n, i) * (-1) ** i * u ** (shape - n + i) / (shape - n + i) for i in range(n + 1))
        return scale**n * shape * mp.fsum(powers)

    return upper


def density(shape, scale):
    return lambda x: shape * scale**shape / (scale + x) ** (shape + 1)


REFERENCE = LawReference(
    moment, density, wide=True, furthest=lambda law, order: mp.log(law.mean) + 130 / (mp.mpf(law.shape) - order)
)
AT_ZERO = [(Lomax(3, 2), 1.5)]
EXTREME = st.builds(Lomax, st.sampled_from([0.01, 0.9, 1, 1.02, 1.1, 2, 2.0001, 2.5, 3, 3.1, 1000]), SCALES)


@pytest.mark.parametrize(("shape", "scale", "message"), [(0, 1, "shape = 0"), (2, 0, "scale = 0")])
def test_parameters_out_of_range(shape: float, scale: float, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Lomax(shape, scale)


@pytest.mark.parametrize("order", range(4))
def test_potential_of_the_power_law(order: int) -> None:
    """A function with the derivative −x^n f(x) that is finite for every shape, zero at zero."""
    law = Lomax.formulas()
    assert antiderivative_defect(law, order) == 0
    assert sp.simplify(law.antiderivative(order).subs(point, 0)) == 0
    wrong = replace(law, antiderivative=lambda n: law.antiderivative(n) + point)
    assert antiderivative_defect(wrong, order) != 0


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("shape", [1.25, 2.0, 3.0, 3.75])
def test_differences_of_potentials_are_partial_moments(shape: float, order: int) -> None:
    """E[L^n ; x < L ≤ y], also at shapes where E[L^n] is infinite and where the closed form has a pole."""
    law = Lomax(shape, 2.0)
    low, high = law.partial_moments(np.array([0.5, 3.0]), antiderivative=True)[order]
    with mp.workdps(30):
        part = mp.quad(lambda x: x**order * density(mp.mpf(shape), mp.mpf(2))(x), [0.5, 1.0, 3.0])
    assert low - high == pytest.approx(float(part), rel=1e-13)


def test_infinite_moments() -> None:
    """E[L^n] is finite for n below the shape only."""
    for shape in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5):
        law = Lomax(shape, 2.0)
        assert law.moment_limit == shape
        for order in range(4):
            values = law.upper_moment(order, [0.0, 1.0, 1e6])
            assert np.isfinite(values).all() if order < shape else (values == math.inf).all()
    assert Lomax(2.5, 2.0).mean == pytest.approx(2.0 / 1.5, rel=1e-15)


def test_beyond_the_range_of_the_closed_form() -> None:
    law = Lomax(1.5, 2.0)
    x = np.array([1e80, 1e95, 1e150, 1e300])
    assert law.tail(x) == pytest.approx((x / 2) ** -1.5, rel=1e-12)
    assert law.upper_moment(1, x) == pytest.approx(3 * x * (x / 2) ** -1.5, rel=1e-12)
