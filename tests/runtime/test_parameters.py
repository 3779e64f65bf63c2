"""How a notebook's parameters are read, and what is given for them."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlptsym.runtime.parameters import Parameter, check_value, parameters_in, parse_override, read_parameters
from mlptsym.validation import ParameterError

_CELL = """\
import math
arrival_rate: float = 0.0036  # jobs per unit of time
levels: list[float] = [2, 5, 10, math.inf]
seeds: int = 8  # independent replications
lazy: bool = False
size: str = "lognormal:5,0.9"  # law of the intrinsic size
laws: list[str] = ["exponential:1", 'lognormal:5,0.9']
shift: float = -1  # a negative number
unlimited = float("inf")
output_folder: str = "../figures"
"""
_KNOWN = parameters_in(_CELL)


def test_cell_is_read() -> None:
    assert {name: (known.type, known.default) for name, known in _KNOWN.items()} == {
        "arrival_rate": ("float", 0.0036),
        "levels": ("list[float]", [2.0, 5.0, 10.0, math.inf]),
        "seeds": ("int", 8),
        "lazy": ("bool", False),
        "size": ("str", "lognormal:5,0.9"),
        "laws": ("list[str]", ["exponential:1", "lognormal:5,0.9"]),
        "shift": ("float", -1.0),
        "unlimited": ("float", math.inf),
        "output_folder": ("str", "../figures"),
    }
    assert isinstance(_KNOWN["shift"].default, float)
    assert _KNOWN["arrival_rate"].description == "jobs per unit of time"
    assert _KNOWN["lazy"].description == ""


@pytest.mark.parametrize(
    "cell",
    [
        "x: float = (",
        "x: float = 1 + 1",
        "x: float = open('leak', 'w')",
        "x: float = __import__('os').sep",
        "x: float = 1e999",
        "x: int = 1.5",
        "x: bool = 1",
        "x: str = 1",
        "x: float = 'a'",
        "x: complex = 1",
        "x: dict = {}",
        "x: list[float] = [[1]]",
        "x: list[float] = []",
        "x = [1, 'a']",
        "x = None",
        "x: float",
        "x = y = 1",
        "x = 1\nx = 2",
        "print(1)",
        "def f(): pass",
        "%matplotlib inline",
        "x: float = " + "-" * 100_000 + "1",
        "x: float = " + "[" * 5000,
        "x = '\0'",
    ],
)
def test_cells_that_are_no_parameters(cell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError):
        parameters_in(cell)
    assert not list(tmp_path.iterdir())  # nothing was run


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"cells": 1}', "[" * 100_000])
def test_files_that_are_no_notebooks(tmp_path: Path, content: str) -> None:
    path = tmp_path / "fig01_a.ipynb"
    path.write_text(content)
    with pytest.raises(ParameterError, match="notebook"):
        read_parameters(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("arrival_rate=1e-3", 1e-3),
        ("arrival_rate=2", 2.0),
        ("arrival_rate= inf", math.inf),
        ("shift=-inf", -math.inf),
        ("seeds=12", 12),
        ("seeds=1e3", 1000),
        ("seeds=8.0", 8),
        ("lazy=True", True),
        ("lazy=false", False),
        ("size=lognormal:3.1,1.3", "lognormal:3.1,1.3"),
        ("size=a=b", "a=b"),
        ("size=", ""),
        ('size="; import os', '"; import os'),
        ("levels=[1,2,3]", [1.0, 2.0, 3.0]),
        ("levels=[2, inf, -1.5, math.inf]", [2.0, math.inf, -1.5, math.inf]),
        ("laws=['a', \"b,c\"]", ["a", "b,c"]),
        (" seeds =1", 1),
    ],
)
def test_overrides(text: str, value: object) -> None:
    name, given = parse_override(text, _KNOWN)
    assert name == text.partition("=")[0].strip()
    assert given == value
    assert type(given) is type(value)
    if isinstance(value, list):
        assert [type(item) for item in given] == [type(item) for item in value]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arrival_rate=fast", "arrival_rate = 'fast' .* a number or inf"),
        ("arrival_rate=nan", "arrival_rate = 'nan'"),
        ("arrival_rate=1e999", "arrival_rate = '1e999'"),
        ("arrival_rate=", "arrival_rate = ''"),
        ("arrival_rate=1+1", "arrival_rate"),
        ("arrival_rate=[1]", "arrival_rate"),
        ("arrival_rate=0x10", "arrival_rate"),
        ("seeds=1.5", "seeds = '1.5' .* a whole number"),
        ("seeds=inf", "seeds"),
        ("seeds=True", "seeds"),
        ("seeds=" + "9" * 5000, "seeds"),
        ("lazy=1", "lazy = '1' .* true or false"),
        ("size=\udcff", "size"),
        ("levels=1", "levels = '1' .* a list of numbers"),
        ("levels=[]", "levels"),
        ("levels=[1", "levels"),
        ("levels=[[1]]", "levels"),
        ("levels=['1']", "levels"),
        ("levels=[nan]", "levels"),
        ("levels=[1e999]", "levels"),
        ("levels=[open('leak','w')]", "levels"),
        ("levels=__import__('os').getcwd()", "levels"),
        ("levels=[x for x in range(3)]", "levels"),
        ("levels=(1, 2)", "levels"),
        ("levels=[" + "-" * 90_000 + "1]", "levels"),
        ("levels=" + "[" * 90_000, "levels"),
        ("levels=[" + "1," * 100_000 + "1]", "100000 characters"),
        ("laws=[1]", "laws"),
        ("arrivalrate=1", "parameter = 'arrivalrate' .* a parameter of fig06: .*did you mean arrival_rate"),
        ("nothing_like_it=1", "parameter = 'nothing_like_it'"),
        ("gamma", "name=value"),
        ("=1", "name=value"),
        ("", "name=value"),
        ("output_folder=/", "the output folder is set by the command"),
    ],
)
def test_refused_overrides(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=message) as caught:
        parse_override(text, _KNOWN, "fig06")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())  # nothing was run


@given(st.floats(allow_nan=False))
def test_every_float_arrives_exactly(value: float) -> None:
    assert repr(parse_override(f"arrival_rate={value!r}", _KNOWN)[1]) == repr(value)


_PLAIN = {"float": float, "int": int, "bool": bool, "str": str}


@given(st.sampled_from(sorted(_KNOWN)), st.text() | st.text("[]0123456789.,+-e'\" infaT(){}:*", max_size=12))
def test_any_text_is_a_value_of_the_type_or_refused(name: str, text: str) -> None:
    try:
        given_name, value = parse_override(f"{name}={text}", _KNOWN)
    except ParameterError:
        return
    assert given_name == name
    if not isinstance(value, list):
        assert type(value) is _PLAIN[_KNOWN[name].type]
        assert value == value  # noqa: PLR0124, not NaN
    else:
        assert {type(item) for item in value} == {_PLAIN[_KNOWN[name].type[5:-1]]}


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        ("float", np.float32(0.5), 0.5),
        ("float", np.int64(3), 3.0),
        ("float", np.array(2.5), 2.5),
        ("float", Fraction(1, 4), 0.25),
        ("float", 3, 3.0),
        ("int", np.int64(3), 3),
        ("int", np.float64(3.0), 3),
        ("int", 10**20, 10**20),
        ("bool", np.True_, True),
        ("str", np.str_("a"), "a"),
        ("list[float]", (1, Fraction(1, 2)), [1.0, 0.5]),
        ("list[float]", np.array([1, 2]), [1.0, 2.0]),
        ("list[int]", range(3), [0, 1, 2]),
        ("list[str]", ("a",), ["a"]),
    ],
)
def test_python_values_arrive_as_what_they_are(kind: str, value: object, plain: object) -> None:
    arrived = check_value(Parameter("x", kind, None), value)
    assert arrived == plain
    assert type(arrived) is type(plain)
    if isinstance(plain, list):
        assert [type(item) for item in arrived] == [type(item) for item in plain]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("float", "1"),
        ("float", True),
        ("float", math.nan),
        ("float", None),
        ("float", 1j),
        ("float", [1.0]),
        ("float", 10**400),
        ("int", 2.5),
        ("int", math.inf),
        ("int", np.bool_(True)),
        ("bool", 1),
        ("bool", "true"),
        ("str", 1),
        ("str", b"a"),
        ("list[float]", "12"),
        ("list[float]", 1.0),
        ("list[float]", {1.0}),
        ("list[float]", {1.0: 2}),
        ("list[float]", np.array([[1.0]])),
        ("list[float]", np.array(1.0)),
        ("list[float]", [1, "a"]),
        ("list[float]", []),
        ("list[str]", ["a", 1]),
    ],
)
def test_python_values_of_another_type(kind: str, value: object) -> None:
    with pytest.raises(ParameterError, match=r"^x = "):
        check_value(Parameter("x", kind, None), value)
