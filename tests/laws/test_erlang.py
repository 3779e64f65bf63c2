"""Erlang law: 50-digit reference, and what is its own."""

import mpmath as mp
import pytest
from reference import LawReference, Moment

from mlptsym import Erlang, ParameterError


def moment(stages: int, rate: float) -> Moment:
    rate = mp.mpf(rate)

    def upper(n, x):
        # a Poisson process of this rate has fewer than stages + n points in (0, x)
        points = mp.fsum((rate * x) ** i / mp.factorial(i) for i in range(stages + n))
        return mp.rf(stages, n) / rate**n * mp.exp(-rate * x) * points

    return upper


def density(stages, rate):
    return lambda x: rate**stages * x ** (stages - 1) * mp.exp(-rate * x) / mp.factorial(stages - 1)


REFERENCE = LawReference(moment, density)
AT_ZERO = [(Erlang(1, 0.8), 0.8), (Erlang(2, 0.8), 0.0)]


@pytest.mark.parametrize(
    ("stages", "rate", "message"), [(0, 1, "stages = 0"), (1.5, 1, "stages = 1.5"), (2, 0, "rate = 0")]
)
def test_parameters_out_of_range(stages: int, rate: float, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Erlang(stages, rate)
