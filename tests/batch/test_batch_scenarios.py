"""Scenario files: what they describe, and what is refused, with its line, before anything runs."""

from __future__ import annotations

import math
import os
import re
import time
from pathlib import Path

import pytest
from batch_samples import notebook, notebooks, scenario_file

from mlptsym.batch.document import ScenarioFileError
from mlptsym.batch.names import compared, folder_name, grid_name, path_name
from mlptsym.batch.ranges import PLURALS, check_range, known_ranges
from mlptsym.batch.scenarios import BatchRun, check_ranges, read_scenarios
from mlptsym.runtime.parameters import OUTPUT_FOLDER, read_parameters
from mlptsym.runtime.plan import find_notebooks, notebook_folder
from mlptsym.validation import ParameterError

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return notebooks(tmp_path_factory.mktemp("notebooks"))


def read(folder: Path, text: str | bytes) -> tuple[BatchRun, ...]:
    path = folder / "scenarios.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_scenarios(path, folder)


def one(folder: Path, parameters: str) -> tuple[BatchRun, ...]:
    return read(folder, f"scenarios:\n- name: base\n  notebooks: fig01\n  parameters: {{{parameters}}}\n")


def messages(folder: Path, text: str | bytes) -> list[str]:
    with pytest.raises(ScenarioFileError) as caught:
        read(folder, text)
    assert "\n".join(caught.value.messages) == str(caught.value)
    return list(caught.value.messages)


# What a file describes -----------------------------------------------------------------------------------------------


def test_lists_expand_to_a_grid(folder: Path) -> None:
    runs = read(
        folder,
        "scenarios:\n- name: base\n  notebooks: [fig02, fig01_draws]\n"
        "  parameters:\n    seeds: 3\n    gamma: [0.05, 1e-3]\n    levels: [[2, .inf], [3]]\n",
    )
    names = [
        f"base-gamma={gamma}-levels={levels}/{figure}"
        for gamma in ("0.05", "0.001")
        for levels in ("2,inf", "3")
        for figure in ("fig02", "fig01")
    ]
    assert [run.name for run in runs] == names
    assert dict(runs[1].values) == {"seeds": 3, "gamma": 0.05, "levels": [2.0, math.inf]}
    assert runs[1].settings == {"seeds": 3, "gamma": 0.05, "levels": [2.0, math.inf], "label": "T"}
    assert runs[1].lines == {"seeds": 5, "gamma": 6, "levels": 7}
    assert [type(value) for value in runs[1].values.values()] == [int, float, list]


def test_a_list_is_one_value_for_a_parameter_that_takes_a_list(folder: Path) -> None:
    (run,) = one(folder, "levels: [2, 3]")
    assert (run.scenario, run.values["levels"]) == ("base", [2.0, 3.0])


def test_a_list_of_one_value_is_a_grid_that_can_grow(folder: Path) -> None:
    assert [run.scenario for run in one(folder, "gamma: [0.1]")] == ["base-gamma=0.1"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("gamma: 1e3", 1000.0),  # a text in YAML 1.1
        ("gamma: 010", 10.0),  # eight in YAML 1.1
        ("gamma: .inf", math.inf),
        ("gamma: inf", math.inf),
        ("gamma: 2", 2.0),
        ("gamma: !!float 2", 2.0),
        ("seeds: 1e1", 10),
        ("label: yes", "yes"),  # true in YAML 1.1
        ("label: 2026-01-01", "2026-01-01"),
        ("label: 'null'", "null"),
        ("label: =", "="),
        ("label: 0.10", "0.10"),
    ],
)
def test_plain_values_mean_what_the_command_line_would_make_of_them(folder: Path, written: str, value: object) -> None:
    (run,) = one(folder, written)
    (found,) = run.values.values()
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "plain", "value", "quoted", "wrong"),
    [
        ("float", "5", 5.0, ["'5'", '"inf"', '""', "|\n        5"], ["yes", "1,5", "'x'"]),
        ("int", "1e3", 1000, ["'8'", '"1e3"'], ["1e-3", "inf", "no"]),
        ("bool", "true", True, ["'true'", '"false"'], ["yes", "no", "on", "1"]),
        ("str", "5", "5", [], []),
        ("list[float]", "[5, .inf]", [5.0, math.inf], ["'[5]'", "['5']", '[5, "inf"]'], ["5", "[yes]"]),
        ("list[str]", "[yes, '5']", ["yes", "5"], [], ["yes"]),
    ],
)
def test_what_stands_in_quotes_is_a_text(
    kind: str, plain: str, value: object, quoted: list[str], wrong: list[str], tmp_path: Path
) -> None:
    """It is refused where a number or a truth value belongs, and the error says that it is for the quotes."""
    defaults = {"float": 1.0, "int": 1, "bool": False, "str": "a", "list[float]": [1.0], "list[str]": ["a"]}
    notebook(tmp_path, "fig01_a", parameters=f'p: {kind} = {defaults[kind]!r}\noutput_folder: str = ""')
    text = "scenarios:\n- name: a\n  notebooks: fig01\n  parameters:\n      p: {}\n"
    assert read(tmp_path, text.format(plain))[0].values == {"p": value}
    for written in quoted:
        (message,) = messages(tmp_path, text.format(written))
        assert re.search(r"line \d: p = .* is not allowed: it must be .*(quotes|list of)", message)
    for written in wrong:
        assert "p = " in messages(tmp_path, text.format(written))[0]
    if kind == "str":
        for written in ("'5'", '"5"', "5"):
            assert read(tmp_path, text.format(written))[0].values == {"p": "5"}


def test_anchors_may_share_parameters(folder: Path) -> None:
    runs = read(
        folder,
        "scenarios:\n- {name: a, notebooks: fig01, parameters: &shared {gamma: 1}}\n"
        "- {name: b, notebooks: fig02, parameters: *shared}\n",
    )
    assert [(run.name, run.values["gamma"]) for run in runs] == [("a/fig01", 1.0), ("b/fig02", 1.0)]


def test_inputs_are_everything_a_result_depends_on(folder: Path, tmp_path: Path) -> None:
    (base,) = one(folder, "gamma: 0.1")
    assert one(folder, "gamma: 1e-1")[0].inputs == base.inputs
    assert one(folder, "")[0].inputs == base.inputs  # the default, written out or not
    other = notebook(tmp_path, "fig01_draws", "1")
    (changed,) = one(other.parent, "gamma: 0.1")
    assert len({base.inputs, one(folder, "gamma: 0.2")[0].inputs, changed.inputs}) == 3


def test_example_of_the_documentation_is_24_runs_in_range() -> None:
    path = notebook_folder() / "example_scenarios.yaml"
    runs = read_scenarios(path)
    assert len(runs) == 24
    check_ranges(path, runs)


# What is refused -----------------------------------------------------------------------------------------------------


def test_everything_wrong_is_told_at_once_with_its_line(folder: Path) -> None:
    text = """\
scenarios:
  - name: con
    notebooks: [fig01, fig01, fig99, ~]
  - name: first
    notebooks: fig01
    parameters:
      gama: 1
      gamma: high
      seeds: [1, 1.5, 2, 2]
      levels: 3
      label: "x"
      label: "y"
  - name: FIRST
    colour: red
  - name: third
    notebooks: [fig01, fig02]
    parameters: [gamma]
"""
    found = messages(folder, text)
    expected = [
        (2, "name = 'con' is not allowed: it must be a name that is not reserved"),
        (3, "notebooks = 'fig01' is not allowed: it must be a list with each notebook once"),
        (3, "figure = 'fig99' is not allowed: it must be one of fig01, fig02, fig03, fig04"),
        (3, "notebooks = '~' is not allowed: it must be a text"),
        (7, "parameter = 'gama' is not allowed: it must be a parameter of fig01: gamma, levels, seeds, label "),
        (8, "gamma = 'high' is not allowed: it must be a number or inf"),
        (9, "seeds = '1.5' is not allowed: it must be a whole number"),
        (9, "seeds = 2 is not allowed: it must be a list without repetitions"),
        (10, "levels = '3' is not allowed: it must be a list of numbers"),
        (12, "label is already set in line 11"),
        (13, "notebooks is missing"),
        (13, "name = 'FIRST' is not allowed: it must be another one than that in line 4"),
        (14, "key = 'colour' is not allowed: it must be one of name, notebooks, parameters"),
        (17, "parameters = 'a list' is not allowed: it must be a mapping"),
    ]
    assert len(found) == len(expected)
    for message, (line, start) in zip(found, expected, strict=True):
        assert message.startswith(f"scenarios.yaml, line {line}: {start}")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("gamma: yes", "gamma = 'yes'"),
        ("gamma: '0.1'", "gamma = '0.1'"),  # in quotes it is a text
        ("gamma: .nan", "gamma = '.nan'"),
        ("gamma: nan", "gamma = 'nan'"),
        ("gamma: 1:30", "gamma = '1:30'"),  # ninety in YAML 1.1
        ("gamma: 1e999", "gamma = '1e999'"),
        ("gamma: 1 2", "gamma = '1 2'"),
        ("gamma:", "gamma = None"),
        ("gamma: null", "gamma = 'null'"),
        ("gamma: {a: 1}", "gamma = 'a mapping'"),
        ("gamma: []", "gamma = 'a list'"),
        ("gamma: [[1]]", "gamma = 'a list'"),
        ("gamma: [0.1, 0.10]", "without repetitions"),
        ("levels: []", r"levels = \[\]"),
        ("levels: [[]]", r"levels = \[\]"),
        ("levels: [2, [3]]", r"levels = '2'|levels = 2"),
        ("levels: [2, nan]", "levels = 'nan'"),
        ("seeds: true", "seeds = 'true'"),
        ("seeds: 9" + "9" * 400 + ".5", "seeds = '9999"),
        ("label: [a, [b]]", "label = 'a list'"),
        ("output_folder: /", "output_folder"),
        ("<<: {gamma: 1}", "parameter = '<<'"),
        ("? [a] : 1", "a mapping whose keys are words"),
        ("gamma: !!python/name:os.system ''", "tag"),
        ("gamma: !own 1", "tag = '!own'"),
    ],
)
def test_values_that_are_refused(folder: Path, written: str, message: str) -> None:
    with pytest.raises(ScenarioFileError, match=rf"^scenarios.yaml, line 4: .*{message}"):
        one(folder, written)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "line 1: the file is empty"),
        (b"# nothing\n", "line 1: the file is empty"),
        (b"3", "line 1: key = '3' is not allowed: it must be a mapping"),
        (b"a: 1", "line 1: key = 'a' is not allowed: it must be one of scenarios"),
        (b"{}", "line 1: scenarios is missing"),
        (b"scenarios:\n", "line 1: scenarios = None is not allowed: it must be a list with at least one entry"),
        (b"scenarios: []\n", "line 1: scenarios = 'a list'"),
        (b"scenarios:\n- 3\n", "line 2: key = '3' is not allowed: it must be a mapping"),
        (b"scenarios:\n\t- name: a\n", r"line 2: no valid YAML: .*'\\t'"),
        (b"scenarios:\n- name: a\n   notebooks: b\n", "line 3: no valid YAML"),
        (b"a: 1\n---\nb: 2\n", "line 2: no valid YAML"),
        (b"scenarios: *unknown\n", "line 1: no valid YAML: .*undefined alias"),
        (b"scenarios:\n- &a [*a]\n", "line 2: no valid YAML: an alias inside what it stands for"),
        (b"# \xfc\nscenarios: []\n", "line 1: the file must be in UTF-8"),
        ("scenarios:\n- name: größe".encode("latin-1"), "line 2: the file must be in UTF-8"),
        ("scenarios: []".encode("utf-16"), "line 1: the file must be in UTF-8"),
        (b"scenarios:\n- name: \x00\n", r"line 2: the character '\\x00' is not allowed"),
        (b"%YAML 9.9\n---\na: 1", "line 1: no valid YAML"),
        (b"[" * 600, "line 1: no valid YAML: nested too deeply"),
        (b"scenarios: !!int [1]", "line 1: "),
    ],
)
def test_files_that_are_refused(folder: Path, text: bytes, message: str) -> None:
    with pytest.raises(ScenarioFileError, match=rf"^scenarios.yaml, {message}"):
        read(folder, text)


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_other_editors_files_are_read(folder: Path, ending: str) -> None:
    text = ending.join(["scenarios:", "- name: größe", "  notebooks: fig01", ""])
    assert read(folder, b"\xef\xbb\xbf" + text.encode())[0].scenario == "größe"


def test_unreadable_files(folder: Path, tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    large.write_bytes(b"#" * 200_000)
    reasons = {
        tmp_path / "none.yaml": "No such file",
        tmp_path: "no folder or device",
        pipe: "no folder or device",
        Path("/dev/zero"): "no folder or device",
        large: "at most 131072 bytes",
        tmp_path / ("long" * 100): "File name too long",
        Path("nul\0l"): "null",
    }
    for path, reason in reasons.items():
        with pytest.raises(ParameterError, match=f"scenarios = .*{reason}"):
            read_scenarios(path, folder)


def test_too_much_is_refused_in_time(folder: Path) -> None:
    grid = "[" + ",".join(str(value) for value in range(300)) + "]"
    square = f"gamma: {grid}, seeds: {grid}"
    bomb = "scenarios:\n- &b {name: a, notebooks: fig01, parameters: {" + square + "}}\n" + "- *b\n" * 10_000
    wide = "scenarios:\n" + "- {}\n" * 20_000
    begin = time.monotonic()
    with pytest.raises(ScenarioFileError, match="line 2: too many runs: a file may have 10000 in all"):
        one(folder, square)
    assert "too many runs" in messages(folder, bomb)[-1]
    assert messages(folder, wide)[-1] == "scenarios.yaml: there may be more mistakes than these 50"
    assert time.monotonic() - begin < 30


def test_parameters_must_be_those_of_every_notebook(tmp_path: Path) -> None:
    notebook(tmp_path, "fig01_a", parameters='gamma: float = 1\noutput_folder: str = ""')
    notebook(tmp_path, "fig02_b", parameters='gamma: int = 1\nbeta: float = 1\noutput_folder: str = ""')
    text = "scenarios:\n- name: a\n  notebooks: [fig01, fig02]\n  parameters:\n    beta: 1\n    gamma: 1\n"
    unknown, differing = messages(tmp_path, text)
    assert unknown.startswith(
        "scenarios.yaml, line 5: parameter = 'beta' is not allowed: it must be a parameter of fig01"
    )
    assert differing.startswith(
        "scenarios.yaml, line 6: parameter = 'gamma' is not allowed: it must be one of the same type"
    )


# Ranges --------------------------------------------------------------------------------------------------------------


def figure_parameters() -> dict[str, dict[str, object]]:
    return {
        name: {key: known for key, known in read_parameters(path).items() if key != OUTPUT_FOLDER}
        for name, path in find_notebooks(notebook_folder()).items()
    }


def test_every_number_of_every_notebook_has_a_range_that_holds_its_default() -> None:
    ranges = known_ranges()
    for figure, parameters in figure_parameters().items():
        for name, parameter in parameters.items():
            if "float" in parameter.type or "int" in parameter.type:
                assert PLURALS.get(name, name) in ranges, f"{figure}: {name} needs a range in mlptsym/batch/ranges.py"
                check_range(name, parameter.default, ranges)


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("alpha", [1e-9, 3.75], [0.0, -1.0, math.inf]),
        ("arrival_rate", [1e-9, 2.0], [0.0, -1.0, math.inf]),
        ("beta", [1e-9, 1.0], [0.0, 1.0000001, -1.0, math.inf]),
        ("betas", [[0.3, 1.0]], [[0.3, 1.1]]),
        ("capacity", [1.0], [0.0, -1.0]),
        ("gamma", [0.0, 7.0], [-1e-9, math.inf]),
        ("gammas", [[0.0]], [[0.1, -0.1]]),
        ("threshold", [0.0, math.inf], [-1.0]),
        ("thresholds", [[3.0, math.inf]], [[-3.0]]),
        ("levels", [[1.0, 2.0, math.inf]], [[0.0], [2.5], [-math.inf]]),
        ("simulated", [[0.2, 1]], [[0.0], [-1.0]]),
        ("quantum", [1e-9], [0.0]),
        ("sigma", [0.9], [0.0, -1.0, math.inf]),
        ("mu", [-5.0, 5.0], [math.inf]),
        ("jobs", [1, 100_000], [0, -1, 10**12]),
        ("warmup", [0, 1000], [-1, 10**12]),
        ("seeds", [1, 8], [0, 10**9]),
        ("root_seed", [0, 10**30], [-1]),
        ("lowest", [0.3], [0.0, -1.0]),
        ("most_levels", [2, 64], [1, 65]),
        ("points", [2, 100], [1, -3]),
        ("preemptions", [[0, 2]], [[-1], [0.5]]),
        ("probabilities", [[0.5, 0.99]], [[0.0], [0.5, 1.0]]),
        ("processes", [1, 2], [0]),
        ("beta_range", [[0.3, 1.0]], [[0.3, 1.1]]),
        ("loads", [[0.1, 1.0]], [[0.0], [1.1]]),
        ("costs", [[0.1, 1.0]], [[0.0], [-1.0]]),
        ("quanta_range", [[0.1, 10.0]], [[0.0, 1.0]]),
        ("longest", [12.0], [0.0, math.inf]),
    ],
)
def test_ranges_are_the_library_s(name: str, inside: list[object], outside: list[object]) -> None:
    ranges = known_ranges()
    for value in inside:
        check_range(name, value, ranges)
    for value in outside:
        with pytest.raises(ParameterError, match=f"^{name} = "):
            check_range(name, value, ranges)


def test_values_out_of_range_are_refused_with_their_line(folder: Path) -> None:
    text = (
        "scenarios:\n- name: a\n  notebooks: [fig01, fig02]\n  parameters:\n    gamma: [0.1, -0.2]\n    seeds: 0\n"
        "- name: b\n  notebooks: fig01\n  parameters: {levels: [2, 2.5]}\n"
    )
    runs = read(folder, text)
    with pytest.raises(ScenarioFileError) as caught:
        check_ranges(Path("s.yaml"), runs)
    assert [message.partition(" is not")[0] for message in caught.value.messages] == [
        "s.yaml, line 5: gamma = -0.2",
        "s.yaml, line 6: seeds = 0",
        "s.yaml, line 9: levels = 2.5",
    ]


# Names ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["base", "β = 0.39", "größe", "a.b", "x" * 180, "1e3", "日本", "aux-1", "a,b+c=(d)"])
def test_usable_names(name: str, tmp_path: Path) -> None:
    assert folder_name("name", name) == name
    (tmp_path / path_name(name)).mkdir()


UNUSABLE = {
    "empty or cut": ["", " ", " a", "a ", "a.", "é" * 91, "x" * 181],
    "paths": [".", "..", "../up", "a/b", "a\\b", ".hidden", ".mlptsym", "-rf"],
    "characters": ["a:b", "a|b", "a?", "*", "a\nb", "a\0b", "a\tb", "a\x1b[31m", "a\u202eb", "a\u200bb", "\ud800"],
    "reserved": ["con", "CON", "Con.txt", "nul", "aux ", "PRN.", "com1", "LPT9.csv", "COM¹"],
    "taken": ["manifest.json", "index.html", "Results.CSV"],
}


@pytest.mark.parametrize("name", [name for names in UNUSABLE.values() for name in names])
def test_unusable_names(name: str) -> None:
    with pytest.raises(ParameterError, match=r"^name = "):
        folder_name("name", name)


def test_names_that_a_file_system_could_take_for_the_same() -> None:
    assert folder_name("name", "e\u0301") == "\u00e9"
    assert len({compared(name) for name in ("É", "é", "e\u0301", "E\u0301")}) == 1
    assert len({compared(name) for name in ("ﬁ", "fi", "FI")}) == 1


def test_grid_names_are_short_and_plain() -> None:
    name = grid_name("base", {"label": "../x", "list": [float(value) for value in range(100)], "flag": True, "n": 1e22})
    assert folder_name("name", name) == name
    assert re.fullmatch(r"base-label=#\w{8}-list=#\w{8}-flag=true-n=1e\+22", name)


def test_unusable_grid_names_are_told(folder: Path) -> None:
    text = f"scenarios:\n- name: {'x' * 175}\n  notebooks: fig01\n  parameters: {{gamma: [0.1, 0.2]}}\n"
    assert "line 2: name = 'xxxx" in messages(folder, text)[0]


def test_two_scenarios_must_not_meet_in_one_folder(folder: Path) -> None:
    text = (
        "scenarios:\n- {name: a-gamma=0.1, notebooks: fig01}\n"
        "- {name: a, notebooks: fig01, parameters: {gamma: [0.1, 0.2]}}\n"
    )
    assert messages(folder, text) == [
        "scenarios.yaml, line 3: name = 'a-gamma=0.1' is not allowed: it must be another one than that in line 2"
    ]


def test_names_are_stored_in_utf8_whatever_the_locale(tmp_path: Path) -> None:
    path = scenario_file(tmp_path / "s.yaml", "")
    assert os.fsencode(path.with_name(path_name("größe"))).endswith("größe".encode())
