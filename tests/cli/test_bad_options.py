"""Any text behind any option of any command: an answer, or one line of error that says what is wrong.

Never a traceback, a warning, a NaN, or a hang; and nothing of it is run.
"""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bad_values import TEXTS, examples
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_group

from mlptsym.batch import running
from mlptsym.batch.execution import Outcome
from mlptsym.cli import app, main
from mlptsym.figures import FigureData
from mlptsym.laws import size_laws
from mlptsym.ledger.paper import claims as paper_claims
from mlptsym.memory import memory_laws
from mlptsym.runtime import runner
from mlptsym.site import build

SECONDS = 20.0
COMBINED = ("the numbers given are too large or too small", "queue Queue(", "there is not enough memory")
"""What an error may speak of in place of one option: several of them together."""

NUMBERS = st.one_of(
    st.floats().map(repr),
    st.integers(-3, 70).map(str),
    st.integers(-(10**30), 10**30).map(str),
    st.sampled_from(
        ["1e400", "-1e400", "1e-400", "5e-324", "0x10", "1_0", "１２", "0" * 4999 + "1", "9" * 5000, "1/2"]
    ),
)
LISTS = st.lists(NUMBERS, min_size=1, max_size=4).map(",".join)
WORDS = st.one_of(
    TEXTS,
    NUMBERS,
    LISTS,
    NUMBERS.map("{}x".format),
    st.builds(
        "{}:{}".format,
        st.sampled_from([*map(str.lower, size_laws()), *(law.keyword() for law in memory_laws().values())]),
        LISTS | TEXTS,
    ),
    st.builds(
        "{}={}".format, st.sampled_from(["mean", "p99", "mean-slowdown", "gamma", "levels", ""]), NUMBERS | TEXTS
    ),
    st.sampled_from(["mlpt", "fcfs", "mlpt-lazy", "capped-gittins", "p99", "p0", "p100", "mean-slowdown", "claims"]),
    st.text("0123456789.,:/xe+-_ inf", max_size=12),
)
# Numbers of jobs and the like that are allowed and large take their time.
COUNTS = WORDS.filter(lambda text: not (text.strip().lstrip("0").isdecimal() and len(text.strip().lstrip("0")) > 3))
# Allowed names of files are those of files in an empty folder.
NAMES = WORDS.filter(lambda text: "/" not in text and text.strip(".") == text)


@dataclass(frozen=True)
class Use:
    """A command in good order, and options of which one is replaced or added."""

    words: Sequence[str]
    options: Mapping[str, st.SearchStrategy[str]]
    tried: int = 10
    json: bool = True
    flags: Sequence[str] = field(default=())


def _any(*names: str) -> dict[str, st.SearchStrategy[str]]:
    return dict.fromkeys(names, WORDS)


SMALL = ["--size", "deterministic:2", "--rate", "0.2", "--gamma", "0.1"]
MODEL = ("--size", "--rate", "--threshold", "--beta", "--gamma", "--memory", "--capacity", "--unload-cost")
POLICY = ("--policy", "--levels", "--quantum", "--quanta")
RUN = dict.fromkeys(("--jobs", "--warmup", "--seeds", "--seed", "--workers"), COUNTS)
FEW = ["--jobs", "20", "--warmup", "2", "--seeds", "2", "--workers", "1"]
TRACE = "\n".join(
    ["TIMESTAMP,ContextTokens,GeneratedTokens", *(f"{place**2},1,{place + 1}" for place in range(12)), ""]
)
DATA = FigureData().with_curve("", "T", "theory", [1, 2], [3, 4])
USES = {
    "response": Use(["response", *SMALL, "--levels", "2", "--quantum", "1"], _any(*MODEL, *POLICY), flags=["--by-level"]),
    "percentiles": Use(["percentiles", *SMALL, "--levels", "2", "--quantum", "1"], _any(*MODEL, *POLICY, "--at")),
    "optimize": Use(["optimize", *SMALL, "--levels", "2"], _any(*MODEL, "--policy", "--levels", "--a", "--b", "--objective")),
    "optimize-more": Use(
        ["optimize", *SMALL, "--levels", "2"], _any(*MODEL, "--levels", "--objective"), 10,
        flags=["--unequal", "--certify"],
    ),
    "objective": Use(["optimize", *SMALL, "--levels", "2", "--objective", "mean-slowdown"], _any(*MODEL, "--levels"), 10),
    "simulate": Use(
        ["simulate", *SMALL, "--levels", "2", "--quantum", "1", *FEW],
        {**_any(*MODEL, *POLICY, "--preemptions", "--minimum-quantum"), **RUN},
        flags=["--control"],
    ),
    "control": Use(
        ["simulate", *SMALL, "--levels", "2", "--quantum", "1", "--jobs", "900", "--warmup", "100", "--control"],
        {**_any(*MODEL, *POLICY), **RUN},
    ),
    "capped": Use(
        ["simulate", *SMALL, "--policy", "capped-gittins", "--preemptions", "1", *FEW],
        {**_any(*MODEL, *POLICY, "--preemptions", "--minimum-quantum"), **RUN},
        20,
    ),
    "fit": Use(
        ["fit", "t.csv", "--levels", "2", "--jobs", "100"],
        {
            **_any("--size-column", "--time-column", "--time-unit", "--decimal", "--tokens-per-second", "--load", "--rate"),
            **_any("--threshold", "--beta", "--gamma", "--memory", "--capacity", "--levels", "--largest-size", "--seed"),
            "--jobs": COUNTS,
            "--out": NAMES,
        },
        5,
    ),
    "fit-any": Use(["fit"], {"": NAMES}),
    "verify": Use(["verify"], {"": WORDS.filter(lambda text: text != "claims")}),
    "show": Use(["verify"], _any("--show")),
    "claim": Use(["verify"], _any("--claim"), json=False),
    "table": Use(["verify", "eq-16"], {"--table": NAMES}),
    "claims": Use(["verify", "claims"], {"--table": NAMES}),
    "names": Use(["verify", "--names"], {"": WORDS, **_any("--show", "--claim", "--table")}, 6, flags=["--names"]),
    "figures": Use(["figures"], {"": WORDS, "--jobs": WORDS, "--parameter": WORDS, "--out": NAMES}, json=False),
    "parameter": Use(["figures", "fig06"], _any("--parameter"), 20, json=False),
    "site": Use(["site"], {"--out": NAMES}, 4, json=False),
    "batch": Use(["batch"], {"": NAMES, "--check": NAMES}, json=False),
    "dry": Use(["batch", "s.yaml", "--dry-run"], {"--out": NAMES, "--jobs": COUNTS, "--check": NAMES}, json=False,
               flags=["--force", "--dry-run"]),
    "run": Use(["batch", "s.yaml"], {"--jobs": COUNTS, "--out": NAMES}, 8, json=False, flags=["--force"]),
    "dask": Use(
        ["batch", "s.yaml"], {"--dask": WORDS.filter(lambda text: not re.search(r":\d+$", text))}, json=False
    ),
}  # fmt: skip


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a command."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = main(arguments)
    return status, out.getvalue(), err.getvalue()


def check(use: Use, arguments: Sequence[str], mentioned: str) -> None:
    """An answer and 0 (1 for one that is no), or one line of error and 2."""
    begin = time.process_time()
    status, out, err = run(*arguments)
    assert time.process_time() - begin < SECONDS
    assert status in (0, 1, 2), (status, err)
    assert "Traceback" not in out + err
    if status < 2:
        assert err == ""
        if "--json" in arguments:
            json.loads(out, parse_constant=lambda constant: pytest.fail(f"{constant} in {out}"))
        return
    lines = err.rstrip("\n").split("\n")
    assert lines[0].startswith("Error: ")
    assert all(map(str.isprintable, lines)), err
    assert len(lines) == (2 if lines[0].startswith("Error: --claim") else 1), err
    assert len(lines[0]) < 1200
    options = {mentioned, *(name for name in use.options if name), *(w for w in arguments if w.startswith("--"))}
    assert any(name in lines[0] for name in (*options, *COMBINED)), err


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in; notebooks are looked at, and not run."""
    (tmp_path / "s.yaml").write_text("scenarios:\n- {name: a, notebooks: fig02}\n")
    (tmp_path / "t.csv").write_text(TRACE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        runner, "run_tasks", lambda tasks, jobs, *_, **__: runner.integer("jobs", jobs, at_least=1) and []
    )
    monkeypatch.setattr(build, "find_sources", lambda *_: [])
    monkeypatch.setattr(running, "execute", lambda *_: Outcome(None, {"fig02.csv": DATA.to_csv().encode()}))
    monkeypatch.setattr(paper_claims, "paper_claims", lambda _: ())
    return tmp_path


@pytest.mark.parametrize("name", USES)
def test_any_text_behind_any_option(name: str, quiet: Path) -> None:
    use = USES[name]
    options = {**use.options, **dict.fromkeys(use.flags, WORDS)}  # a flag takes no text
    chosen = st.sampled_from(sorted(options)).flatmap(lambda option: st.tuples(st.just(option), options[option]))

    @examples(use.tried)
    @given(chosen, st.lists(st.sampled_from(sorted(use.flags)), max_size=2) if use.flags else st.just([]))
    def tried(place: tuple[str, str], flags: list[str]) -> None:
        option, text = place
        given_text = [f"{option}={text}"] if option else ["--", text]
        words = [*use.words, *flags, *(["--json"] if use.json else []), *given_text]
        check(use, words, option or "")

    tried()


def test_every_option_and_argument_of_every_command_is_tried() -> None:
    """Those of the commands themselves, so that no new one can be forgotten."""
    tried: dict[str, set[str]] = {}
    for use in USES.values():
        tried.setdefault(use.words[0], set()).update(use.options, use.flags, ["--json"] if use.json else [])
    for name, command in get_group(app).commands.items():
        known = {option.opts[0] if option.param_type_name == "option" else "" for option in command.params}
        assert known - tried[name] == set(), name
