"""Uniform law: 50-digit reference, and what is its own: a bounded support, at whose ends the density jumps."""

import math

import mpmath as mp
import pytest
from bad_values import SCALES
from hypothesis import strategies as st
from reference import LawReference, Moment

from mlptsym import ParameterError, Uniform


def moment(low: float, high: float) -> Moment:
    low, high = mp.mpf(low), mp.mpf(high)
    return lambda n, x: (
        mp.mpf(0) if x >= high else (high ** (n + 1) - max(x, low) ** (n + 1)) / ((n + 1) * (high - low))
    )


def density(low, high):
    return lambda x: 1 / (high - low) if low <= x < high else mp.mpf(0)


REFERENCE = LawReference(moment, density)
AT_ZERO = [(Uniform(0, 4), 0.25), (Uniform(1, 4), 0.0)]
EXTREME = st.builds(lambda low, width: Uniform(low * width, width), st.sampled_from([0, 1e-9, 0.5, 0.999999]), SCALES)


@pytest.mark.parametrize(
    ("low", "high", "message"), [(-1, 1, "low = -1"), (2, 2, "high = 2 .* > 2"), (3, 2, "high = 2 .* > 3")]
)
def test_parameters_out_of_range(low: float, high: float, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Uniform(low, high)


def test_ends() -> None:
    law = Uniform(1.0, 3.0)
    assert law.hazard([0.5, 1.0, 2.0, 3.0, 9.0]).tolist() == [0.0, 0.5, 1.0, math.inf, math.inf]
    assert law.tail([0.0, 1.0, 2.0, 3.0, 4.0]).tolist() == [1.0, 1.0, 0.5, 0.0, 0.0]
    assert (law.lower_end, law.upper_end, law.density_jumps, law.smooth) == (1.0, 3.0, (1.0, 3.0), False)
    assert Uniform(0, 3).density_jumps == (3.0,)
