"""Policies as values: what they accept, and the boundaries they stand for."""

import math

import numpy as np
import pytest

from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.validation import ParameterError


def test_fcfs_is_one_level():
    policy = FCFS()
    assert (policy.levels, policy.lazy) == (1, False)
    assert policy.boundaries(1e9).shape == (0,)
    assert policy == FCFS()


def test_equal_quanta():
    policy = MLPT(quantum=10, levels=4)
    assert (policy.quantum, policy.levels, policy.quanta, policy.lazy) == (10.0, 4, None, False)
    assert policy.boundaries(math.inf).tolist() == [10.0, 20.0, 30.0]
    assert policy.boundaries(20.0).tolist() == [10.0]  # nobody is longer than 20, so nobody gets beyond 20
    assert policy.boundaries(5.0).shape == (0,)
    assert MLPT(quantum=10, levels=1).boundaries(math.inf).shape == (0,)


def test_infinitely_many_levels():
    policy = MLPT(quantum=0.5, levels=math.inf)
    assert policy.boundaries(2.2).tolist() == [0.5, 1.0, 1.5, 2.0]
    with pytest.raises(ParameterError, match="quantum = 0.5"):
        policy.boundaries(math.inf)
    with pytest.raises(ParameterError, match="at least 1.49e-08"):
        MLPT(quantum=1e-300, levels=math.inf).boundaries(1.0)


def test_unequal_quanta():
    policy = MLPT(quanta=[300, 500.0])
    assert (policy.quanta, policy.levels, policy.quantum) == ((300.0, 500.0), 3, None)
    assert policy.boundaries(math.inf).tolist() == [300.0, 800.0]
    assert policy.boundaries(800.0).tolist() == [300.0]
    assert MLPT(quanta=np.array([1.0]), levels=2) == MLPT(quanta=(1,))


def test_boundaries_beyond_the_range_of_a_float():
    assert MLPT(quantum=1e308, levels=5).boundaries(math.inf).tolist() == [1e308]
    assert MLPT(quanta=[1e308, 1e308]).boundaries(math.inf).tolist() == [1e308]


def test_array_of_quanta():
    quanta = np.array([1.0, 2.0])
    policy = MLPT(quantum=quanta, levels=2)
    quanta[0] = 9.0
    assert policy.quantum.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        policy.quantum[0] = 5.0
    with pytest.raises(ParameterError, match="quantum = .* a single number here"):
        policy.boundaries(10.0)


def test_equality_and_hash():
    same = [MLPT(quantum=3, levels=2), MLPT(quantum=3.0, levels=2.0), MLPT(quantum=np.float64(3), levels=2)]
    assert all(policy == same[0] and hash(policy) == hash(same[0]) for policy in same)
    others = [
        MLPT(quantum=3, levels=3),
        MLPT(quantum=4, levels=2),
        MLPT(quanta=[3]),
        MLPT(quantum=3, levels=2, lazy=True),
        MLPT(quantum=[3.0, 4.0], levels=2),
        FCFS(),
    ]
    assert all(policy != same[0] for policy in others)
    assert MLPT(quantum=[1.0, 2.0], levels=2) == MLPT(quantum=np.array([1, 2]), levels=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "quantum = None .* given together with levels"),
        ({"quantum": 1.0}, "levels = None .* given together with quantum"),
        ({"quantum": 1.0, "quanta": [1.0]}, "quantum = 1.0"),
        ({"levels": 2}, "quantum = None"),
        ({"quantum": 0.0, "levels": 2}, "quantum = 0.0 .* finite number > 0"),
        ({"quantum": -1.0, "levels": 2}, "quantum = -1.0"),
        ({"quantum": math.nan, "levels": 2}, "quantum = nan"),
        ({"quantum": math.inf, "levels": 2}, "quantum = inf"),
        ({"quantum": "5", "levels": 2}, "quantum = '5'"),
        ({"quantum": ["5"], "levels": 2}, r"quantum = \['5'\]"),
        ({"quantum": True, "levels": 2}, "quantum = True"),
        ({"quantum": [], "levels": 2}, r"quantum = \[\]"),
        ({"quantum": [1.0, -2.0], "levels": 2}, "quantum = -2.0"),
        ({"quantum": [1.0, math.nan], "levels": 2}, "quantum = nan"),
        ({"quantum": [[1.0], [1.0, 2.0]], "levels": 2}, "quantum = "),
        ({"quantum": 1.0, "levels": 0}, "levels = 0 .* a whole number >= 1 or inf"),
        ({"quantum": 1.0, "levels": 1.5}, "levels = 1.5"),
        ({"quantum": 1.0, "levels": -math.inf}, "levels = -inf"),
        ({"quantum": 1.0, "levels": "2"}, "levels = '2'"),
        ({"quantum": 1.0, "levels": True}, "levels = True"),
        ({"quantum": 1.0, "levels": None}, "levels = None"),
        ({"quanta": []}, "quanta = "),
        ({"quanta": [1.0, 0.0]}, r"quanta\[1\] = 0.0"),
        ({"quanta": [1.0, math.inf]}, r"quanta\[1\] = inf"),
        ({"quanta": "12"}, "quanta = '12'"),
        ({"quanta": 5.0}, "quanta = 5.0"),
        ({"quanta": [1.0, 2.0], "levels": 2}, "levels = 2 .* left out, or 3"),
        ({"quantum": 1.0, "levels": 2, "lazy": 1}, "lazy = 1 .* True or False"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ParameterError, match=message):
        MLPT(**arguments)
