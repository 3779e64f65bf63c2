"""The sentences with which bad values are refused, and what counts as good."""

import itertools
import math
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlptsym import validation
from mlptsym.validation import ParameterError, choice, flag, integer, levels, magnitude, number, numbers, path


def test_the_error_is_a_value_error_that_names_value_and_range():
    error = ParameterError("arrival_rate", -1.0, "a finite number > 0")
    assert isinstance(error, ValueError)
    assert str(error) == "arrival_rate = -1.0 is not allowed: it must be a finite number > 0"
    assert (error.name, error.value, error.allowed) == ("arrival_rate", -1.0, "a finite number > 0")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (its own bytes)
    assert (str(again), again.args) == (str(error), error.args)


class Unprintable:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize("value", ["x" * 10_000, "two\nlines", list(range(10**5)), Unprintable(), np.zeros((50, 50))])
def test_messages_stay_on_one_line(value):
    with pytest.raises(ParameterError) as caught:
        number("rate", value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize(
    "value", [1, 1.0, np.float32(1), np.int8(1), np.array(1.0), np.uint64(1), Fraction(1), True + 0]
)
def test_real_numbers_of_every_kind(value):
    result = number("rate", value, above=0)
    assert result == 1.0
    assert type(result) is float


@pytest.mark.parametrize(
    "value",
    [
        "1",
        b"1",
        None,
        True,
        np.True_,
        1 + 0j,
        [1.0],
        (),
        {},
        object(),
        math.nan,
        np.nan,
        np.array([1.0]),
        np.str_("1"),
        10**400,
    ],
)
def test_what_is_no_number(value):
    with pytest.raises(ParameterError, match="rate = "):
        number("rate", value)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "words"),
    [
        ({"above": 0}, [1e-300, 5], [0, -1, math.inf], "a finite number > 0"),
        ({"at_least": 0}, [0, 5], [-1e-300, math.inf], "a finite number >= 0"),
        ({"above": 0, "at_most": 1}, [1e-9, 1], [0, 1.0000001], "a finite number > 0 and <= 1"),
        ({"below": 2}, [-1e300, 1.999], [2, 3], "a finite number < 2"),
        ({"at_least": 0, "infinite": True}, [0, math.inf], [-1, -math.inf], "a number >= 0"),
        ({}, [-5, 1e308], [math.inf, -math.inf], "a finite number"),
        ({"infinite": True}, [-math.inf], [math.nan], "a number"),
    ],
)
def test_ranges(bounds, inside, outside, words):
    for value in inside:
        assert number("x", value, **bounds) == value
    for value in outside:
        with pytest.raises(ParameterError) as caught:
            number("x", value, **bounds)
        assert caught.value.allowed == words


def test_magnitudes():
    assert magnitude("rate", 1e-30) == 1e-30
    for value in (0, -1, 9e-31, 1.1e30, math.inf):
        with pytest.raises(ParameterError, match=r">= 1e-30 and <= 1e\+30"):
            magnitude("rate", value)


@pytest.mark.parametrize(
    ("value", "whole"), [(3, 3), (3.0, 3), (np.int64(3), 3), (np.float64(3), 3), (2**60 + 1, 2**60 + 1)]
)
def test_whole_numbers(value, whole):
    result = integer("seeds", value, at_least=1)
    assert result == whole
    assert type(result) is int


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None, True, math.nan, math.inf, "1e3"])
def test_what_is_no_whole_number(value):
    with pytest.raises(ParameterError, match=r"seeds = .* a whole number >= 1$"):
        integer("seeds", value, at_least=1)


def test_bounded_whole_numbers():
    assert integer("order", 3, at_least=0, at_most=3) == 3
    with pytest.raises(ParameterError, match="a whole number >= 0 and <= 3"):
        integer("order", 4, at_least=0, at_most=3)


def test_numbers_of_levels():
    assert levels("levels", math.inf) == math.inf
    assert levels("levels", np.inf) == math.inf
    assert type(levels("levels", 2.0)) is int
    for value in (0, -math.inf, 1.5, math.nan, "inf", None, True):
        with pytest.raises(ParameterError, match=r"levels = .* a whole number >= 1 or inf"):
            levels("levels", value)
    with pytest.raises(ParameterError, match="a whole number >= 2 or inf"):
        levels("levels", 1, at_least=2)


@pytest.mark.parametrize("values", [[1, 2], (1, 2), np.array([1, 2]), {1: "a", 2: "b"}, iter([1, 2]), range(1, 3)])
def test_sequences(values):
    assert numbers("quanta", values, above=0) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "quanta = "),
        ("12", "quanta = '12'"),
        (b"12", "quanta = b'12'"),
        (5, "quanta = 5"),
        (np.array(5.0), r"quanta = 5.0"),
        (None, "quanta = None"),
        ([1, 0], r"quanta\[1\] = 0"),
        ([1, "2"], r"quanta\[1\] = '2'"),
        ([[1], [2]], r"quanta\[0\] = \[1\]"),
        ([1, math.nan], r"quanta\[1\] = nan"),
    ],
)
def test_sequences_that_are_refused(values, message):
    with pytest.raises(ParameterError, match=message):
        numbers("quanta", values, above=0)


def test_shortest_sequence():
    with pytest.raises(ParameterError, match="at least 2 numbers"):
        numbers("values", [1.0], minimum_length=2)


def test_choices():
    assert choice("side", "left", ("left", "right")) == "left"
    for value in ("middle", None, 1, ["left"], b"left"):
        with pytest.raises(ParameterError, match=r"side = .* one of left, right"):
            choice("side", value, ("left", "right"))


@given(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.binary(),
        st.lists(st.floats()),
        st.complex_numbers(),
    )
)
def test_any_value_is_accepted_or_refused_in_one_line(value):
    for check in (
        lambda: number("x", value, above=0, infinite=True),
        lambda: integer("x", value, at_least=0),
        lambda: levels("x", value),
        lambda: numbers("x", value),
        lambda: magnitude("x", value),
        lambda: choice("x", value, ("a",)),
    ):
        try:
            result = check()
        except ParameterError as error:
            assert "\n" not in str(error)
            assert str(error).startswith("x")
        else:
            assert not (isinstance(result, float) and math.isnan(result))


def test_sequences_without_end_are_refused():
    with pytest.raises(ParameterError, match=r"quanta = .* at most 5 of them"):
        numbers("quanta", itertools.count(1), above=0, maximum_length=5)


def test_yes_and_no():
    assert [flag("x", value) for value in (True, False, np.True_)] == [True, False, True]
    for value in (0, 1, "True", None, np.array([True]), 1.0):
        with pytest.raises(ParameterError, match=r"x = .* True or False"):
            flag("x", value)


def test_paths():
    assert path("out", "a/b.csv") == path("out", Path("a", "b.csv")) == Path("a/b.csv")
    for value in (None, 1, b"a", "", "nul\0", "\ud800", "a" * 256, "a/" * 3000, ["a"]):
        with pytest.raises(ParameterError, match=r"^out = .* the name of a file"):
            path("out", value)


def test_what_says_that_it_is_a_number_and_is_none():
    with pytest.raises(ParameterError, match=r"^x = .* a finite number"):
        number("x", np.timedelta64(3, "s"))


def test_only_the_standard_library_is_needed():
    assert not {"numpy", "sympy"} & set(vars(validation))
