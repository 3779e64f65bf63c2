"""Weibull law: 50-digit reference, and what is its own."""

import math

import mpmath as mp
import pytest
from reference import LawReference, Moment

from mlptsym import ParameterError, Weibull


def moment(shape: float, scale: float) -> Moment:
    shape, scale = mp.mpf(shape), mp.mpf(scale)
    return lambda n, x: scale**n * mp.gammainc(1 + n / shape, (x / scale) ** shape)


def density(shape, scale):
    return lambda x: shape / scale * (x / scale) ** (shape - 1) * mp.exp(-((x / scale) ** shape))


REFERENCE = LawReference(moment, density, wide=True)
AT_ZERO = [(Weibull(0.6, 2), math.inf), (Weibull(1, 2), 0.5), (Weibull(1.7, 2), 0.0)]


@pytest.mark.parametrize(("shape", "scale", "message"), [(0, 1, "shape = 0"), (1, -1, "scale = -1")])
def test_parameters_out_of_range(shape: float, scale: float, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Weibull(shape, scale)
