"""Exponential law: 50-digit reference, and what is its own."""

import mpmath as mp
import pytest
from reference import LawReference, Moment

from mlptsym import Exponential, ParameterError


def moment(rate: float) -> Moment:
    rate = mp.mpf(rate)
    return lambda n, x: mp.gammainc(n + 1, rate * x) / rate**n


REFERENCE = LawReference(moment, lambda rate: lambda x: rate * mp.exp(-rate * x))
AT_ZERO = [(Exponential(0.5), 0.5)]


@pytest.mark.parametrize("rate", [0, -1, mp.nan, float("nan"), float("inf"), "1", True])
def test_rates_out_of_range(rate: object) -> None:
    with pytest.raises(ParameterError, match="rate = .* is not allowed"):
        Exponential(rate)  # type: ignore[arg-type]


def test_the_range_is_said() -> None:
    with pytest.raises(
        ParameterError, match="rate = 1e-31 is not allowed: it must be a finite number >= 1e-30 and <= 1e"
    ):
        Exponential(1e-31)
