"""Deterministic law: 50-digit reference, and what is its own: an atom."""

import math

import mpmath as mp
import pytest
from reference import LawReference, Moment

from mlptsym import Deterministic, ParameterError


def moment(value: float) -> Moment:
    value = mp.mpf(value)
    return lambda n, x: value**n if x < value else mp.mpf(0)


REFERENCE = LawReference(moment)
AT_ZERO = [(Deterministic(1), 0.0)]


def test_a_value_out_of_range() -> None:
    with pytest.raises(ParameterError, match="value = 0"):
        Deterministic(0)


def test_at_the_atom() -> None:
    law = Deterministic(2.0)
    assert law.tail([1.0, 2.0, 3.0]).tolist() == [1.0, 0.0, 0.0]
    assert law.density([1.0, 2.0, 3.0]).tolist() == [0.0, math.inf, 0.0]
    assert law.hazard([1.0, 2.0, 3.0]).tolist() == [0.0, math.inf, math.inf]
    assert (law.atoms.tolist(), law.masses.tolist(), law.smooth) == ([2.0], [1.0], False)
