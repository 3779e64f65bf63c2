"""Gamma law: 50-digit reference, and what is its own."""

import math

import mpmath as mp
import pytest
from reference import LawReference, Moment

from mlptsym import Gamma, ParameterError


def moment(shape: float, scale: float) -> Moment:
    shape, scale = mp.mpf(shape), mp.mpf(scale)
    return lambda n, x: scale**n * mp.gammainc(shape + n, x / scale) / mp.gamma(shape)


def density(shape, scale):
    return lambda x: x ** (shape - 1) * mp.exp(-x / scale) / (mp.gamma(shape) * scale**shape)


REFERENCE = LawReference(moment, density, wide=True)
AT_ZERO = [(Gamma(0.4, 5), math.inf), (Gamma(1, 4), 0.25), (Gamma(2, 5), 0.0)]


@pytest.mark.parametrize(("shape", "scale", "message"), [(-2, 1, "shape = -2"), (2, 0, "scale = 0")])
def test_parameters_out_of_range(shape: float, scale: float, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Gamma(shape, scale)
