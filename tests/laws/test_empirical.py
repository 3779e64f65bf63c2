"""Empirical law: 50-digit reference, and what is its own: sums over a sample."""

import math
from collections.abc import Sequence

import mpmath as mp
import numpy as np
import pytest
from bad_values import SCALES
from hypothesis import strategies as st
from reference import LawReference, Moment

from mlptsym import Empirical, ParameterError


def moment(samples: Sequence[float]) -> Moment:
    values = [mp.mpf(float(value)) for value in samples]
    return lambda n, x: mp.fsum(value**n for value in values if value > x) / len(values)


REFERENCE = LawReference(moment)
AT_ZERO = [(Empirical([1.0, 2.0]), 0.0)]
EXTREME = st.one_of(
    st.builds(Empirical, st.lists(SCALES, min_size=1, max_size=5)),
    st.builds(Empirical, st.lists(st.integers(1, 9), min_size=1, max_size=9)),
)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "samples = "),
        ([1.0, -2.0], "samples = -2.0"),
        ([1.0, 0.0], "samples = 0.0"),
        ([1.0, math.nan], "samples = nan"),
        ([1.0, math.inf], "samples = inf"),
        (["a"], "samples = "),
        ("123", "samples = '123'"),
        ([[1.0, 2.0]], "samples = .* one-dimensional"),
        (1.0, "samples = 1.0 .* one-dimensional"),
        ([1e-31, 1.0], "samples = 1e-31"),
    ],
)
def test_samples_out_of_range(samples: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Empirical(samples)  # type: ignore[arg-type]


def test_at_the_atoms() -> None:
    law = Empirical([1.0, 2.0, 2.0, 7.0])
    assert law.density([0.5, 2.0, 7.0, 8.0]).tolist() == [0.0, math.inf, math.inf, 0.0]
    assert law.upper_moment(1, [0.0, 1.0, 6.9, 7.0]).tolist() == [3.0, 2.75, 1.75, 0.0]
    assert (law.atoms.tolist(), law.masses.tolist(), law.smooth) == ([1.0, 2.0, 7.0], [0.25, 0.5, 0.25], False)


def test_large_samples_keep_their_digits() -> None:
    """A million samples: their sums are right to the last digits, not to the square root of their number."""
    values = np.random.default_rng(5).lognormal(1.0, 1.5, 1_000_000)
    law = Empirical(values)
    for order in range(4):
        assert law.moment(order) == pytest.approx(math.fsum(values**order) / values.size, rel=4e-16)
    above = np.sort(values)[values.size // 3]
    assert law.upper_moment(1, above) == pytest.approx(math.fsum(values[values > above]) / values.size, rel=4e-16)
