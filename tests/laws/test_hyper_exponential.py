"""Hyperexponential law: 50-digit reference, and what is its own."""

from collections.abc import Sequence

import mpmath as mp
import pytest
from bad_values import SCALES
from hypothesis import strategies as st
from reference import LawReference, Moment

from laws.test_exponential import moment as exponential
from mlptsym import HyperExponential, ParameterError


def moment(probabilities: Sequence[float], rates: Sequence[float]) -> Moment:
    phases = [exponential(rate) for rate in rates]
    weights = [mp.mpf(p) for p in probabilities]
    return lambda n, x: mp.fsum(p * phase(n, x) for p, phase in zip(weights, phases, strict=True)) / mp.fsum(weights)


def density(probabilities, rates):
    phases = list(zip(probabilities, rates, strict=True))
    return lambda x: mp.fsum(p * rate * mp.exp(-rate * x) for p, rate in phases)


REFERENCE = LawReference(moment, density)
AT_ZERO = [(HyperExponential([0.5, 0.5], [1, 3]), 2.0)]
EXTREME = st.one_of(
    st.builds(HyperExponential, st.sampled_from([[0.9, 0.1], [0.25, 0.75]]), st.tuples(SCALES, SCALES)),
    st.builds(HyperExponential, st.just([1 - 1e-12, 1e-12]), st.just([1.0, 1e-9])),
)


@pytest.mark.parametrize(
    ("probabilities", "rates", "message"),
    [
        ([0.5, 0.4], [1, 2], "probabilities = .* add up to 1"),
        ([0.5, 0.5], [1], "rates = .* as many numbers as there are probabilities"),
        ([1.5, -0.5], [1, 2], r"probabilities\[0\] = 1.5"),
        ([], [], "probabilities = "),
        ([0.5, 0.5], [1, 0], r"rates\[1\] = 0"),
        ("ab", [1, 0], "probabilities = 'ab'"),
    ],
)
def test_parameters_out_of_range(probabilities: Sequence[float], rates: Sequence[float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        HyperExponential(probabilities, rates)  # type: ignore[arg-type]
