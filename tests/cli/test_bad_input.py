"""Scenario files, names, notebook parameters and options that nobody meant: a right answer or a clear refusal.

Never a traceback, a warning (they are errors here), a hang, or anything run that a user wrote.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import sys
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from batch_samples import notebook
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mlptsym.batch.document import ScenarioFileError
from mlptsym.batch.manifest import Record, publish, read_manifest
from mlptsym.batch.names import folder_name, grid_name, path_name
from mlptsym.batch.scenarios import BatchRun, check_ranges, read_scenarios
from mlptsym.runtime.parameters import Parameter, check_value, parse_override
from mlptsym.validation import ParameterError

PARAMETERS = """\
gamma: float = 0.1
betas: list[float] = [0.3]
seeds: int = 8
label: str = "T"
flag: bool = False
output_folder: str = ".\""""

NUMBERS = st.one_of(
    st.integers(),
    st.integers(min_value=-(10**400), max_value=10**400),
    st.floats(),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1e308, math.inf, -math.inf, math.nan, 10**30, -1]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=20)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SECONDS = 10.0
"""For one file of less than 128 KiB; the slowest known, all opening brackets, takes two."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("bad")
    notebook(found, "fig01_all", parameters=PARAMETERS)
    return found


def outcome(folder: Path, content: bytes) -> tuple[tuple[BatchRun, ...], list[str]]:
    """Runs, or the reasons why there are none."""
    path = folder / "scenarios.yaml"
    path.write_bytes(content)
    begin = time.monotonic()
    try:
        runs = read_scenarios(path, folder)
        check_ranges(path, runs)
    except ScenarioFileError as error:
        runs, reasons = (), list(error.messages)
    else:
        reasons = []
    assert time.monotonic() - begin < SECONDS
    assert bool(runs) != bool(reasons)
    for reason in reasons:
        assert re.match(r"scenarios\.yaml(, line [1-9]\d*)?: ", reason), reason
        assert len(reason.splitlines()) == 1
        assert len(reason) < 2000
    return runs, reasons


def _is_one_line(error: ParameterError) -> None:
    assert len(str(error).splitlines()) == 1


# Scenario files ------------------------------------------------------------------------------------------------------


@given(
    content=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")))
)
@example(content=b"%TAG ! tag:yaml.org,2002:python/ \n--- !object/apply:os.getcwd []")
@example(content=b"? ? ? ?")
@example(content=b"&a *a")
@example(content=b"scenarios: &a {scenarios: *a}")
@example(content=b"\xff\xfe")
@example(content=b"\xef\xbb\xbf")
@example(content="\u2028: \u2029".encode())
@example(content=b"- !!set {a}")
@example(content=b"!!binary aGk=")
@example(content=b"scenarios: |\n  [1]")
def test_any_bytes(content: bytes, folder: Path) -> None:
    runs, reasons = outcome(folder, content)
    assert reasons
    assert not runs


@given(name=VALUES, notebooks=VALUES, parameters=VALUES, more=st.dictionaries(st.text(max_size=5), VALUES, max_size=1))
def test_any_values_where_others_belong(
    name: object, notebooks: object, parameters: object, more: dict[str, object], folder: Path
) -> None:
    entry = {"name": name, "notebooks": notebooks, "parameters": parameters, **more}
    try:
        text = yaml.safe_dump({"scenarios": [entry]}, allow_unicode=True)
        content = text.encode()
    except UnicodeEncodeError:
        assume(False)
    outcome(folder, content)


PLAIN = st.one_of(NUMBERS, st.booleans(), st.none(), st.text(max_size=12))


@given(values=st.fixed_dictionaries({}, optional=dict.fromkeys(["gamma", "seeds", "label", "flag"], PLAIN | st.lists(PLAIN, max_size=3))))  # fmt: skip
def test_any_values_of_parameters(values: dict[str, object], folder: Path) -> None:
    """What is accepted is of the parameter's type and in its range."""
    try:
        content = yaml.safe_dump({"scenarios": [{"name": "a", "notebooks": "fig01", "parameters": values}]}).encode()
    except UnicodeEncodeError:
        assume(False)
    runs, _ = outcome(folder, content)
    for run in runs:
        for name, kind in (("gamma", float), ("seeds", int), ("label", str), ("flag", bool)):
            assert type(run.settings[name]) is kind
        assert 0 <= run.settings["gamma"] < math.inf
        assert 1 <= run.settings["seeds"] <= 10**5
        given_values = values.get("gamma", 0.1)
        assert run.settings["gamma"] in map(float, given_values if isinstance(given_values, list) else [given_values])


@given(value=st.floats(allow_nan=False))
def test_numbers_arrive_bit_by_bit(value: float, folder: Path) -> None:
    path = folder / "scenarios.yaml"
    path.write_text(f"scenarios:\n- {{name: a, notebooks: fig01, parameters: {{betas: [{value!r}, 1]}}}}\n")
    (run,) = read_scenarios(path, folder)
    assert json.dumps(run.values["betas"]) == json.dumps([value, 1.0])


# Names ---------------------------------------------------------------------------------------------------------------


@given(name=st.text(max_size=250))
@example(name="COM¹.txt")
@example(name="a\u0301" * 60)
@example(name="\u1e9b\u0323")
def test_a_name_is_refused_or_names_a_folder(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    try:
        usable = folder_name("name", name)
    except ParameterError as error:
        _is_one_line(error)
        return
    base = tmp_path_factory.getbasetemp() / "names"
    made = base / path_name(usable)
    made.mkdir(parents=True)
    try:
        assert [path.name for path in base.iterdir()] == [usable]
        assert folder_name("name", usable) == usable
        assert made.parent == base
    finally:
        made.rmdir()


@given(values=st.dictionaries(st.sampled_from(["gamma", "levels", "label"]), st.floats() | st.text() | st.lists(st.floats(), max_size=9) | st.booleans()))  # fmt: skip
def test_grid_names_are_usable(values: dict[str, Any]) -> None:
    name = grid_name("base", values)
    assert folder_name("name", name) == name


# Parameters of notebooks ---------------------------------------------------------------------------------------------

ACCEPTED = [
    ("float", np.float64(0.1), 0.1),
    ("float", np.float32(0.5), 0.5),
    ("float", np.int64(3), 3.0),
    ("float", np.array(2.5), 2.5),
    ("float", Fraction(1, 4), 0.25),
    ("float", 3, 3.0),
    ("float", math.inf, math.inf),
    ("int", np.int64(3), 3),
    ("int", np.uint8(255), 255),
    ("int", 3.0, 3),
    ("int", Fraction(6, 2), 3),
    ("int", 10**30, 10**30),
    ("bool", np.bool_(True), True),
    ("list[float]", (1, Fraction(1, 2)), [1.0, 0.5]),
    ("list[float]", np.array([1, 2]), [1.0, 2.0]),
    ("list[float]", [np.float64(1), math.inf], [1.0, math.inf]),
    ("list[int]", range(3), [0, 1, 2]),
    ("list[bool]", np.array([True, False]), [True, False]),
    ("list[str]", ("a", "b"), ["a", "b"]),
    ("str", "__import__('os').getcwd()", "__import__('os').getcwd()"),
    ("str", 'quo"te\\ \n{x}', 'quo"te\\ \n{x}'),
]
REFUSED = [
    (
        "float",
        [True, np.bool_(True), "0.1", None, math.nan, np.float64("nan"), 1j, Decimal("0.1"), [1.0], (), {}, 10**400],
    ),
    ("int", [1.5, Fraction(1, 2), np.float64(0.5), math.inf, "3", True, np.array([1, 2]), 1 + 0j]),
    ("bool", [1, 0, "true", None, np.int64(1), [True]]),
    ("str", [1, None, b"a", ["a"], "\ud800", np.float64(1)]),
    (
        "list[float]",
        [1.0, "12", [], (), np.array([]), [[1.0]], np.eye(2), {1.0}, {1.0: 2}, iter([1.0]), [None], [math.nan]],
    ),
    ("list[int]", [[1.5], [True], np.array([0.5]), b"12"]),
]


def arrived(value: object) -> object:
    """A value as a notebook gets it: through JSON, and then as Python that papermill writes."""
    from papermill.translators import PythonTranslator

    code = PythonTranslator.codify({"x": json.loads(json.dumps({"x": value}))["x"]})
    (assigned,) = (line for line in code.splitlines() if line.startswith("x = "))
    text = assigned.removeprefix("x = ").replace("float('inf')", "1e999").replace("float('-inf')", "-1e999")
    return ast.literal_eval(text)


@pytest.mark.parametrize(("kind", "value", "expected"), ACCEPTED)
def test_numbers_of_other_libraries_arrive_as_the_numbers_they_are(kind: str, value: object, expected: object) -> None:
    plain = check_value(Parameter("x", kind, None), value)
    assert plain == expected
    assert type(plain) is type(expected)
    there = arrived(plain)
    assert there == expected
    assert type(there) is type(expected)
    if isinstance(there, list):
        assert list(map(type, there)) == list(map(type, expected))  # type: ignore[call-overload]


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in REFUSED for value in values])
def test_what_is_no_such_value_is_refused(kind: str, value: object) -> None:
    with pytest.raises(ParameterError, match=r"^x = "):
        check_value(Parameter("x", kind, None), value)


KINDS = st.sampled_from(["float", "int", "bool", "str", "list[float]", "list[int]", "list[str]", "list[bool]"])


@given(kind=KINDS, value=VALUES | st.fractions() | st.decimals() | st.complex_numbers() | st.binary(max_size=5) | st.tuples(NUMBERS, NUMBERS))  # fmt: skip
def test_a_parameter_arrives_as_it_is_or_is_refused(kind: str, value: object) -> None:
    try:
        plain = check_value(Parameter("x", kind, None), value)
    except ParameterError:
        return
    there = arrived(plain)
    assert there == plain
    items = there if kind.startswith("list") else [there]
    types = {"float": float, "int": int, "bool": bool, "str": str}
    assert {type(item) for item in items} == {types[kind.removeprefix("list[").removesuffix("]")]}  # type: ignore[union-attr]


@given(kind=KINDS, text=st.text(max_size=40) | NUMBERS.map(repr) | VALUES.map(repr))
@example(kind="list[float]", text="[" * 5000)
@example(kind="list[str]", text="[f'{__import__(\"os\").getcwd()}']")
@example(kind="list[float]", text="[x for x in (1,)]")
@example(kind="float", text="__import__('math').pi")
def test_any_text_given_for_a_parameter(kind: str, text: str) -> None:
    parameter = Parameter("x", kind, None)
    try:
        name, value = parse_override(f"x={text}", {"x": parameter})
    except ParameterError as error:
        _is_one_line(error)
        return
    assert name == "x"
    assert check_value(parameter, value) == value


# Manifests -----------------------------------------------------------------------------------------------------------


@given(content=st.one_of(st.binary(max_size=200), VALUES.map(lambda value: json.dumps(value).encode())))
def test_any_manifest(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.getbasetemp() / "manifests"
    place.mkdir(exist_ok=True)
    (place / "manifest.json").write_bytes(content)
    with pytest.raises(ParameterError, match="a manifest in format 1"):
        read_manifest(place)
    publish(place, "fig01", Record("done", "", {}), {"fig01.csv": b"new"}, place)
    assert list(read_manifest(place)) == ["fig01"]


# Nothing is run ------------------------------------------------------------------------------------------------------

TRICKS = [
    "__import__('os').system('touch {canary}')",
    "exec(\"open('{canary}','w')\")",
    "[open('{canary}','w')]",
    "$(touch {canary})",
    "`touch {canary}`",
    "; touch {canary}",
    "| touch {canary}",
    "lambda: open('{canary}','w')",
    "lognormal:__import__('os').system('touch {canary}'),1",
    "empirical:|touch {canary}:x",
    "{{().__class__.__base__.__subclasses__()}}",
    "tcp://127.0.0.1:1;touch {canary}",
    "%c%s%n",
    "\x1b]0;title\x07",
]
TAGGED = [
    "!!python/object/apply:os.system ['touch {canary}']",
    "!!python/object/new:os.system ['touch {canary}']",
    "!!python/name:os.system ''",
    "!!python/module:os ''",
    "!!python/object/apply:subprocess.Popen [['touch', '{canary}']]",
    "!!python/object/new:type {{args: [z, !!python/tuple [], {{}}]}}",
    "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch {canary}']",
]
PLACES = [
    "{0}",
    "scenarios: {0}",
    "scenarios: [{{name: {0}, notebooks: fig01}}]",
    "scenarios: [{{name: a, notebooks: {0}}}]",
    "scenarios: [{{name: a, notebooks: fig01, parameters: {0}}}]",
    "scenarios: [{{name: a, notebooks: fig01, parameters: {{gamma: {0}}}}}]",
    "scenarios: [{{name: a, notebooks: fig01, parameters: {{betas: [{0}]}}}}]",
    "scenarios: [{{name: a, notebooks: fig01, parameters: {{? {0} : 1}}}}]",
]
COMMANDS = [
    ["response", "--size", "TRICK", "--rate", "0.1"],
    ["response", "--size", "exponential:1", "--rate", "TRICK"],
    ["response", "--size", "exponential:1", "--rate", "0.1", "--threshold", "TRICK"],
    ["response", "--size", "exponential:1", "--rate", "0.1", "--quantum", "TRICK", "--levels", "2"],
    ["response", "--size", "exponential:1", "--rate", "0.1", "--quanta", "TRICK"],
    ["response", "--size", "exponential:1", "--rate", "0.1", "--memory", "TRICK"],
    ["optimize", "--size", "exponential:1", "--rate", "0.1", "--levels", "TRICK"],
    ["simulate", "--size", "exponential:1", "--rate", "0.1", "--seeds", "TRICK"],
    ["figures", "TRICK"],
    ["figures", "fig06", "-p", "TRICK"],
    ["figures", "fig06", "-p", "gamma=TRICK"],
    ["figures", "fig06", "-p", "levels=TRICK"],
    ["batch", "TRICK"],
    ["batch", "--check", "TRICK"],
    ["batch", "none.yaml", "--out", "TRICK"],
    ["batch", "s.yaml", "--dask", "TRICK"],
]


class _Watch:
    """Notes programs that are started and objects that are unpickled; a hook cannot be taken off again."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []

    def __call__(self, event: str, _arguments: tuple[object, ...]) -> None:
        if self.on and event in {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class"}:
            self.seen.append(event)


@pytest.fixture(scope="module")
def hook() -> _Watch:
    watch = _Watch()
    sys.addaudithook(watch)
    return watch


@pytest.fixture
def watched(hook: _Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    hook.seen.clear()
    hook.on = True
    yield tmp_path / "canary"
    hook.on = False
    assert hook.seen == []
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[-2:]))
def test_options_are_not_run(words: list[str], watched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from mlptsym.cli import main

    (watched.parent / "s.yaml").write_text("scenarios:\n- {name: a, notebooks: fig02}\n")
    for trick in TRICKS:
        text = trick.format(canary=watched)
        assert main([word.replace("TRICK", text) for word in words]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert len(printed.err.splitlines()) == 1
        assert printed.err.rstrip("\n").isprintable()


def test_the_watch_sees_what_it_is_for(hook: _Watch) -> None:
    hook.seen.clear()
    hook.on = True
    os.system("true")  # noqa: S605
    hook.on = False
    assert hook.seen == ["os.system"]


def test_scenario_files_are_not_run(watched: Path, folder: Path) -> None:
    for trick in (*TRICKS, *TAGGED):
        text = trick.format(canary=watched)
        written = text if trick in TAGGED else json.dumps(text)
        for place in PLACES:
            runs, reasons = outcome(folder, place.format(written).encode())
            assert reasons or [run.scenario for run in runs] == [text]  # at most a name, and no more than that


@pytest.mark.parametrize("trick", TRICKS)
def test_a_text_for_a_text_stays_one(trick: str, watched: Path, folder: Path) -> None:
    from papermill.translators import PythonTranslator

    text = trick.format(canary=watched)
    content = f"scenarios: [{{name: a, notebooks: fig01, parameters: {{label: {json.dumps(text)}}}}}]"
    (run,) = outcome(folder, content.encode())[0]
    assert run.values["label"] == text
    assert ast.literal_eval(PythonTranslator.translate(text)) == text
