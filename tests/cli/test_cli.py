"""The command line: what it prints is what Python computes, and what it refuses it refuses in one line."""

import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_group

import mlptsym as mq
from mlptsym.cli import app, errors, main
from mlptsym.cli import options as cli_options
from mlptsym.cli.options import read_memory, read_size
from mlptsym.laws import size_laws
from mlptsym.memory import memory_laws

PAPER = ["--size", "lognormal:5,0.9", "--rate", "0.0036", "--threshold", "6x", "--beta", "0.39", "--gamma", "0.1"]
PAPER_LAW = mq.LogNormal(5, 0.9)
PAPER_QUEUE = mq.Queue(
    PAPER_LAW,
    arrival_rate=0.0036,
    slowdown_threshold=6 * PAPER_LAW.mean,
    slowdown_factor=0.39,
    preemption_cost=0.1,
)
MEMORY_SYNTAX = {law.keyword(): law.syntax() for law in memory_laws().values()}
SIZE_SYNTAX = {law.keyword(): law.syntax() for law in size_laws().values()}
THRICE = 3 * PAPER_LAW.mean
SMALL = ["--size", "exponential:1", "--rate", "0.5"]
PROMPTS = [*SMALL, "--memory", "affine:2,0.5", "--capacity", "4", "--beta", "0.5", "--gamma", "0.01"]
PROMPTS_QUEUE = mq.Queue(
    mq.Exponential(1),
    arrival_rate=0.5,
    memory=mq.AffineMemory(2, 0.5),
    capacity=4,
    slowdown_factor=0.5,
    preemption_cost=0.01,
)
FEW_JOBS = ["--jobs", "50", "--warmup", "5", "--seeds", "2", "--workers", "1"]


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a command."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = main(arguments)
    return status, out.getvalue(), err.getvalue()


def answer(*arguments: str) -> dict[str, object]:
    """The one JSON object that a command prints with ``--json``."""
    status, out, err = run(*arguments, "--json")
    assert (status, err) == (0, "")
    assert out.count("\n") == 1

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(out, parse_constant=refuse)


def refusal(*arguments: str) -> str:
    """The one line with which a command refuses its options."""
    status, out, err = run(*arguments)
    assert status == 2, (arguments, out)
    assert out == ""
    assert err.startswith("Error: ")
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1
    return err.removeprefix("Error: ").rstrip("\n")


# response ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "queue", "policy"),
    [
        (PAPER, PAPER_QUEUE, mq.FCFS()),
        ([*PAPER, "--policy", "fcfs"], PAPER_QUEUE, mq.FCFS()),
        ([*PAPER, "--levels", "2", "--quantum", "674"], PAPER_QUEUE, mq.MLPT(quantum=674.0, levels=2)),
        ([*PAPER, "--levels", "inf", "--quantum", "3x"], PAPER_QUEUE, mq.MLPT(quantum=THRICE, levels=math.inf)),
        ([*PAPER, "--levels", "1", "--quantum", "9"], PAPER_QUEUE, mq.MLPT(quantum=9, levels=1)),
        ([*PAPER, "--quanta", "300,500"], PAPER_QUEUE, mq.MLPT(quanta=[300, 500])),
        ([*PAPER, "--quanta", "300,2x", "--levels", "3"], PAPER_QUEUE, mq.MLPT(quanta=[300, 2 * PAPER_LAW.mean])),
        ([*PROMPTS, "--levels", "3", "--quantum", "0.5"], PROMPTS_QUEUE, mq.MLPT(quantum=0.5, levels=3)),
    ],
)
def test_response_is_what_python_computes_to_the_last_digit(
    arguments: list[str], queue: mq.Queue, policy: object
) -> None:
    printed = answer("response", *arguments)
    solution = mq.solve(queue, policy)
    for name in ("mean_response_time", "effective_load", "stable"):
        assert printed[name] == getattr(solution, name)
    for name in ("base_load", "mean_service_time"):
        assert printed[name] == getattr(queue, name)
    fcfs = mq.mean_response_time(queue, mq.FCFS())
    assert printed["fcfs"] == fcfs
    assert printed["gain"] == 1 - solution.mean_response_time / fcfs
    assert printed["levels"] == (None if policy.levels == math.inf else policy.levels)
    assert "reason" not in printed


def test_options_such_as_6x_are_resolved_in_the_answer() -> None:
    printed = answer("response", *PAPER, "--levels", "2", "--quantum", "3x")
    assert printed["slowdown_threshold"] == 6 * PAPER_LAW.mean
    assert printed["quantum"] == 3 * PAPER_LAW.mean
    assert answer("response", *SMALL)["slowdown_threshold"] is None  # infinite
    assert answer("response", *SMALL, "--threshold", "inf")["slowdown_threshold"] is None
    assert answer("response", *PAPER, "--quanta", "300,500")["quanta"] == [300, 500]


@pytest.mark.parametrize("levels", ["3", "inf"])
def test_by_level_is_the_level_table(levels: str) -> None:
    printed = answer("response", *PAPER, "--levels", levels, "--quantum", "300", "--by-level")
    table = mq.level_table(PAPER_QUEUE, mq.MLPT(quantum=300, levels=float(levels)))
    assert printed["by_level"] == {
        name: getattr(table, name).tolist() for name in ("level", "probability", "waiting_time", "response_time")
    } | {"last_is_open": False}
    assert len(printed["by_level"]["level"]) >= 3


def test_an_unstable_queue_is_a_valid_question() -> None:
    printed = answer("response", *PAPER, "--rate", "0.0045", "--levels", "2", "--quantum", "3x", "--by-level")
    assert printed["mean_response_time"] is None
    assert printed["stable"] is False
    assert printed["effective_load"] > 1
    assert printed["gain"] is None
    assert printed["by_level"] is None
    assert "unstable" in printed["reason"]
    status, out, err = run("response", *PAPER, "--rate", "0.0045", "--by-level")
    assert (status, err) == (0, "")
    assert "unstable" in out


def test_a_stable_queue_with_an_infinite_mean_says_why() -> None:
    printed = answer("response", "--size", "lomax:1.5,1", "--rate", "0.1", "--by-level")
    assert printed["mean_response_time"] is None
    assert printed["stable"] is True
    assert "order 2" in printed["reason"]
    everlasting = answer("response", "--size", "lomax:1.5,1", "--rate", "0.1", "--levels", "inf", "--quantum", "1x")
    assert everlasting["mean_response_time"] > 0  # finite, though FCFS has an infinite mean
    assert everlasting["fcfs"] is None
    assert everlasting["gain"] == 1
    no_mean = answer("response", "--size", "lomax:1,1", "--rate", "0.1")
    assert (no_mean["mean_service_time"], no_mean["base_load"], no_mean["stable"]) == (None, None, False)


def test_the_table_for_people() -> None:
    status, out, err = run("response", *PAPER, "--levels", "inf", "--quantum", "3x", "--by-level")
    assert (status, err) == (0, "")
    rows = dict(line.split("  ", 1) for line in out.splitlines()[:8])
    printed = answer("response", *PAPER, "--levels", "inf", "--quantum", "3x")
    assert float(rows["mean response time"]) == pytest.approx(printed["mean_response_time"], rel=1e-5)
    assert float(rows["base load"]) == pytest.approx(0.8233, abs=5e-5)  # the paper's value at 6 E[L]
    assert float(rows["gain over FCFS"].rstrip(" %")) == pytest.approx(100 * printed["gain"], rel=1e-2)
    assert "(stable)" in rows["effective load"]
    table = out.split("\n\n")[1].splitlines()
    assert table[0].split() == ["level", "share", "of", "jobs", "waiting", "time", "response", "time"]
    assert table[1].split()[0] == "1"
    assert table[-2].split()[:3] == ["40", "and", "beyond"]
    assert "--json has every level" in table[-1]
    shares = [float(line.split()[-3]) for line in table[1:-1]]
    assert sum(shares) == pytest.approx(1.0, abs=1e-5)
    assert len(table) < 60


# optimize ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", ["2", "inf"])
def test_optimize_is_what_python_computes_to_the_last_digit(levels: str) -> None:
    printed = answer("optimize", *PAPER, "--levels", levels)
    optimum = mq.optimal_quantum(PAPER_QUEUE, levels=float(levels))
    for name in ("quantum", "mean_response_time", "kind", "gain", "fcfs"):
        assert printed[name] == getattr(optimum, name)
    assert {item.name for item in fields(optimum)} <= printed.keys()
    rule = mq.rule_of_thumb(PAPER_QUEUE, levels=float(levels))
    assert printed["rule_of_thumb"] == rule
    assert printed["rule_of_thumb_mean_response_time"] == mq.mean_response_time(
        PAPER_QUEUE, mq.MLPT(quantum=rule, levels=float(levels))
    )
    assert printed["stable"] is True


def test_optimize_takes_the_constants_of_the_rule_of_thumb() -> None:
    within = answer("optimize", *PAPER, "--levels", "2")
    beyond = answer("optimize", *PAPER, "--levels", "2", "--a", "1", "--b", "5")
    assert within["rule_of_thumb"] == pytest.approx(6 * PAPER_LAW.mean)
    assert beyond["rule_of_thumb"] == mq.rule_of_thumb(PAPER_QUEUE, levels=2, a=1, b=5) != within["rule_of_thumb"]


def test_optimize_for_an_unstable_queue() -> None:
    printed = answer("optimize", *PAPER, "--rate", "0.0045", "--levels", "2")
    assert printed["stable"] is False
    assert printed["mean_response_time"] is None
    assert run("optimize", *PAPER, "--rate", "0.0045", "--levels", "2")[0] == 0


def test_optimize_with_quanta_of_their_own() -> None:
    printed = answer("optimize", *PAPER, "--levels", "3", "--unequal")
    best = mq.optimal_quanta(PAPER_QUEUE, 3)
    own = printed["unequal"]
    assert own["quanta"] == list(best.quanta)
    assert own["mean_response_time"] == best.mean_response_time < printed["mean_response_time"]
    assert own["gain"] == best.gain
    assert "unequal" not in answer("optimize", *PAPER, "--levels", "3")
    status, out, _ = run("optimize", *PAPER, "--levels", "3", "--unequal")
    assert status == 0
    assert re.search(r"^best unequal quanta +[\d.]+, [\d.]+$", out, re.MULTILINE)
    assert refusal("optimize", *PAPER, "--levels", "inf", "--unequal").startswith(
        "--levels inf: must be a whole number"
    )


def test_optimize_for_another_objective() -> None:
    weights = {"mean": 1.0, "mean-slowdown": 100.0}
    printed = answer("optimize", *PAPER, "--levels", "2", "--objective", "mean=1,mean-slowdown=100")
    best = mq.optimal_quantum(PAPER_QUEUE, 2, objective=weights)
    for name in ("quantum", "value", "kind", "gain", "best_for_mean"):
        assert printed[name] == getattr(best, name)
    assert printed["objective"] == weights
    status, out, _ = run("optimize", *PAPER, "--levels", "2", "--objective", "mean-slowdown")
    assert status == 0
    assert re.search(r"^mean-slowdown +[\d.]+$", out, re.MULTILINE)


@pytest.mark.parametrize("objective", ["", "p100", "p0", "fast", "mean=", "mean=-1", "mean=1,mean=2", "=1", "p99=x"])
def test_optimize_refuses_other_objectives(objective: str) -> None:
    assert refusal("optimize", *SMALL, "--levels", "2", "--objective", objective).startswith("--objective ")


def test_optimize_says_which_quanta_are_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["optimize", *SMALL, "--gamma", "0.1", "--levels", "2", "--certify"]
    assert "proved to lie within" in run(*words)[1]
    assert "not proved" not in run(*words)[1]
    monkeypatch.setattr("mlptsym.numeric.certified.branch_and_bound.WORK", 0)
    ((low, high),) = answer(*words)["open_quanta"]
    row = next(line for line in run(*words)[1].splitlines() if "not proved for quanta" in line)
    assert row.split(maxsplit=4)[4] == f"{low:.6g} to {high:.6g}, so that E[S] is the lower bound"


def test_lazy_mlpt_with_three_levels_is_answered_as_mlpt_is() -> None:
    """E[T], E[T] of MLPT, both probabilities, and the table by level."""
    lazy = ["--policy", "mlpt-lazy", "--quanta", "1x,2x"]
    printed = answer("response", *PAPER, *lazy, "--by-level")
    mean = PAPER_QUEUE.size.mean
    terms = mq.lazy_three_terms(PAPER_QUEUE, [mean, 3 * mean])
    assert (printed["mean_response_time"], printed["effective_load"]) == (terms.mean_response_time, terms.load)
    assert printed["alone"] == terms.alone.tolist()
    assert printed["mlpt"] == mq.mean_response_time(PAPER_QUEUE, mq.MLPT(quanta=[mean, 2 * mean]))
    assert printed["by_level"]["waiting_time"] == terms.waits.tolist()
    _, out, _ = run("response", *PAPER, *lazy)
    assert re.search(r"demotions without cost  \d+(\.\d+)? %, \d+(\.\d+)? %\n", out)


def test_optimize_certifies_the_mean_only() -> None:
    words = refusal("optimize", *SMALL, "--levels", "2", "--objective", "p99", "--certify")
    assert words == "--objective p99: must be mean, with --certify and --unequal"


def test_lazy_mlpt_with_two_levels_is_answered_as_mlpt_is() -> None:
    """E[T], E[T] of MLPT and e; the table by level; the best quantum; more levels and certificates are refused."""
    lazy = ["--policy", "mlpt-lazy", "--levels", "2"]
    printed = answer("response", *PAPER, *lazy, "--quantum", "3x", "--by-level")
    terms = mq.lazy_terms(PAPER_QUEUE, THRICE)
    assert printed["mean_response_time"] == terms.mean_response_time
    assert printed["alone"] == [terms.alone]
    assert printed["mlpt"] == mq.mean_response_time(PAPER_QUEUE, mq.MLPT(quantum=THRICE, levels=2))
    assert printed["by_level"]["waiting_time"] == [terms.first_wait, terms.last_wait]
    _, out, _ = run("response", *PAPER, *lazy, "--quantum", "3x")
    assert "demotions without cost  2.6 %" in out
    best = answer("optimize", *PAPER, *lazy)
    assert (best["quantum"], best["kind"]) == (PAPER_QUEUE.slowdown_threshold, "kink")
    assert best["mean_response_time"] == mq.lazy_terms(PAPER_QUEUE, best["quantum"]).mean_response_time
    for more in (["--levels", "3"], ["--levels", "2", "--certify"], ["--levels", "2", "--objective", "p99"]):
        assert refusal("optimize", *PAPER, "--policy", "mlpt-lazy", *more).startswith(
            "--policy mlpt-lazy: must be mlpt"
        )


def test_optimize_for_people() -> None:
    status, out, err = run("optimize", *PAPER, "--levels", "2")
    assert (status, err) == (0, "")
    rows = dict(line.split("  ", 1) for line in out.splitlines() if not line.startswith(" "))
    assert rows["best quantum"].split() == ["1335.1", "(kink)"]
    assert rows["mean response time"].strip() == "1447.08"


# simulate ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "policy"),
    [
        ([], mq.FCFS()),
        (["--levels", "2", "--quantum", "3x"], mq.MLPT(quantum=THRICE, levels=2)),
        (["--policy", "mlpt-lazy", "--levels", "inf", "--quantum", "3x"], mq.MLPT(THRICE, math.inf, lazy=True)),
        (["--policy", "mlpt-lazy", "--levels", "2", "--quantum", "3x"], mq.MLPT(THRICE, 2, lazy=True)),
    ],
)
def test_simulate_is_what_python_computes_to_the_last_digit(arguments: list[str], policy: object) -> None:
    counts = ["--jobs", "2000", "--warmup", "1e2", "--seeds", "3", "--seed", "7"]
    printed = answer("simulate", *PAPER, *arguments, *counts)
    result = mq.simulate(PAPER_QUEUE, policy, jobs=2000, warmup=100, seeds=3, root_seed=7)
    assert printed["mean"] == result.mean
    assert printed["standard_error"] == result.standard_error
    assert printed["seed_means"] == result.seed_means.tolist()
    assert [printed[name] for name in ("jobs", "warmup", "seeds", "root_seed")] == [2000, 100, 3, 7]
    assert printed == answer("simulate", *PAPER, *arguments, *counts, "--workers", "2")
    if policy.lazy and policy.levels > 2:
        assert (printed["mean_response_time"], printed["z"]) == (None, None)
        assert "only be simulated" in printed["reason"]
    else:
        exact = mq.mean_response_time(PAPER_QUEUE, policy)
        assert printed["mean_response_time"] == exact
        assert printed["z"] == (result.mean - exact) / result.standard_error


def test_simulate_without_an_error_or_a_theory() -> None:
    single = answer("simulate", *SMALL, "--jobs", "50", "--warmup", "0", "--seeds", "1")
    assert (single["standard_error"], single["z"]) == (None, None)
    assert single["mean_response_time"] == 2
    unstable = answer("simulate", *SMALL, "--rate", "2", *FEW_JOBS)
    assert (unstable["mean_response_time"], unstable["z"], unstable["stable"]) == (None, None, False)
    assert unstable["mean"] > 0
    assert "unstable" in unstable["reason"]


def test_simulate_for_people() -> None:
    status, out, err = run("simulate", *SMALL, *FEW_JOBS)
    assert (status, err) == (0, "")
    rows = dict(line.split("  ", 1) for line in out.splitlines())
    assert rows["policy"].strip() == "FCFS"
    assert rows["by the theory"].strip() == "2"
    assert "2 seeds" in rows["standard error"]
    assert "single seed" in run("simulate", *SMALL, "--jobs", "9", "--warmup", "0", "--seeds", "1")[1]
    assert "unstable" in run("simulate", *SMALL, "--rate", "2", *FEW_JOBS)[1]


# What the options take -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("exponential:0.5", mq.Exponential(0.5)),
        ("LogNormal:-1e0, +.9", mq.LogNormal(-1, 0.9)),
        ("erlang:3.0,0.1", mq.Erlang(3, 0.1)),
        ("hyperexponential:0.9,0.1/1,0.05", mq.HyperExponential([0.9, 0.1], [1, 0.05])),
        ("hyperexponential:1/2", mq.HyperExponential([1], [2])),
    ],
)
def test_size_laws(text: str, law: object) -> None:
    assert read_size(text) == law


def test_the_syntax_of_a_law_names_its_parameters() -> None:
    shown = run("response", "--help")[1]
    for law in size_laws().values():
        assert f"{law.__name__.lower()}:" in shown
        parameters = law.written or ",".join(item.name.upper() for item in fields(law))  # type: ignore[arg-type]
        assert SIZE_SYNTAX[law.__name__.lower()] == f"{law.__name__.lower()}:{parameters}"


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("linear", mq.LinearMemory()),
        ("linear:3.75", mq.LinearMemory(3.75)),
        ("affine:512", mq.AffineMemory(512)),
        ("affine:512,2", mq.AffineMemory(512, 2)),
        ("saturating:1,4096", mq.SaturatingMemory(1, 4096)),
        ("saturating:1,4096,512", mq.SaturatingMemory(1, 4096, 512)),
    ],
)
def test_memory_laws(text: str, memory: object) -> None:
    assert read_memory(text) == memory
    assert text.partition(":")[0] in MEMORY_SYNTAX


@pytest.mark.parametrize(
    ("name", "column", "content"),
    [
        ("sizes.csv", "tokens", "tokens\n3\n1\n2\n"),
        ("sizes.csv", "tokens", "time,tokens\r\n0,3\r\n1,1\r\n\r\n2,2"),
        ("sizes.csv", "tokens", "\ufefftokens,time\n3,0\n1e0,1\n 2 ,2\n"),
        ("sizes.csv", "out: tokens, all", 'time,"out: tokens, all"\n0,"3"\n1,1\n2,2\n'),
        ("my sizes: a:b.csv", "tökens", "tökens\n3\n1\n2\n"),
        ("sizes.txt", "tokens", "prompt,tokens\n" + 150_000 * "x" + ",3\na;b,1\n,2\n"),
    ],
)
def test_empirical_sizes(tmp_path: Path, name: str, column: str, content: str) -> None:
    place = tmp_path / name
    place.write_bytes(content.encode())
    law = read_size(f"empirical:{place}:{column}")
    assert law == mq.Empirical([3, 1, 2])
    printed = answer("response", "--size", f"empirical:{place}:{column}", "--rate", "0.1")
    assert printed["mean_response_time"] == mq.mean_response_time(mq.Queue(law, 0.1), mq.FCFS())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"tokens\n3\nfour\n", "'four' as in line 3"),
        (b"tokens\n3\n-4\n", "'-4' as in line 3"),
        (b"tokens\n0\n", "'0' as in line 2"),
        (b"tokens\n3\nnan\n", "'nan' as in line 3"),
        (b"tokens\n\n\ninf\n", "'inf' as in line 4"),
        (b'tokens\n"1,234"\n', "'1,234' as in line 2"),
        (b"a,tokens\n3,1\n4\n", "as many cells in each row as in its header, unlike line 3"),
        (b"a,tokens\n3,1\n4,2,3\n", "unlike line 3"),
        (b"tokens\n3\n1_0\n", "'1_0' as in line 3"),
        (b"tokens\n__import__('os')\n", "as in line 2"),
        (b"tokens\n", "at least one line"),
        (b"a,b\n1,2\n", "one column of that name in the file (a, b)"),
        (b"tokens,tokens\n1,2\n", "one column of that name"),
        (b"", "is empty"),
        (b"tokens\n\xff\xfe\n", "text in UTF-8, which line 2 is not"),
        (b"tokens\n3\x00\n", "line 2"),
        (b'tokens\n"3\n', "line 2"),
        (b"tokens\n" + b"3" * 200_000, "line 2"),
        (b"tokens\n" + b"3" * (2**24 + 1), "lines of at most 16,777,216 bytes, which line 2 is not"),
    ],
)
def test_a_bad_file_of_sizes_is_refused_with_its_line(tmp_path: Path, content: bytes, says: str) -> None:
    place = tmp_path / "sizes.csv"
    place.write_bytes(content)
    line = refusal("response", "--size", f"empirical:{place}:tokens", "--rate", "0.1")
    assert line.startswith("--size empirical:")
    assert says in line


def test_a_missing_or_unreadable_file_of_sizes_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "none.csv", tmp_path, Path("/dev/zero"), tmp_path / ("long" * 2000), "nul\0.csv"):
        assert "a file that exists" in refusal("response", "--size", f"empirical:{place}:tokens", "--rate", "0.1")
    for text in ("empirical", "empirical:", "empirical:sizes.csv", "empirical:sizes.csv:", "empirical::"):
        assert "empirical:FILE.csv:COLUMN" in refusal("response", "--size", text, "--rate", "0.1")


MIXTURE = SIZE_SYNTAX["hyperexponential"]


# What is refused -----------------------------------------------------------------------------------------------------


def allowed(call: Callable[[], object]) -> str:
    """What Python says is allowed when it refuses the same."""
    with pytest.raises(mq.ParameterError) as caught:
        call()
    return caught.value.allowed


def queue_with(**given: object) -> Callable[[], mq.Queue]:
    return lambda: mq.Queue(mq.Exponential(1), **({"arrival_rate": 0.5} | given))


@pytest.mark.parametrize(
    ("option", "name", "texts"),
    [
        ("--rate", "arrival_rate", ["0", "-1", "abc", "nan", "inf", "1e999", "2x", "1/2", "1,5", "0x10", "١/٢"]),
        ("--threshold", "slowdown_threshold", ["-1", "six", "-6x", "nanx", "x", "nan", "-inf", "6y", "1xx"]),
        ("--beta", "slowdown_factor", ["0", "1.0001", "-1", "nan", "inf", "half"]),
        ("--gamma", "preemption_cost", ["-0.1", "nan", "inf", "none"]),
        ("--capacity", "capacity", ["0", "-1", "inf", "nan", "6x", "full"]),
    ],
)
def test_a_number_out_of_range_is_refused_as_in_python(option: str, name: str, texts: list[str]) -> None:
    for text in texts:
        says = allowed(queue_with(**{name: text}))
        assert refusal("response", *SMALL, option, text) == f"{option} {text}: must be {says}"
        assert refusal("response", *SMALL, f"{option}={text}") == f"{option} {text}: must be {says}"
    assert says.startswith(("a number", "a finite number"))


def test_a_value_is_quoted_where_its_ends_could_not_be_seen() -> None:
    for text, shown in (("", "''"), ("1 2", "'1 2'"), ("1\n2", r"'1\n2'"), ("\x1b[31m", r"'\x1b[31m'"), ("½", "½")):
        assert refusal("response", *SMALL, "--rate", text).startswith(f"--rate {shown}: must be a finite number")


@pytest.mark.parametrize(
    ("text", "syntax", "law"),
    [
        ("pareto:1,2", " | ".join(SIZE_SYNTAX.values()), None),
        ("", " | ".join(SIZE_SYNTAX.values()), None),
        ("lognormal", "lognormal:MU,SIGMA", None),
        ("lognormal:5", "lognormal:MU,SIGMA", None),
        ("lognormal:5,1,2", "lognormal:MU,SIGMA", None),
        ("lognormal:5,0", "lognormal:MU,SIGMA with sigma ", lambda: mq.LogNormal(5, 0)),
        ("lognormal:5,", "lognormal:MU,SIGMA with sigma ", lambda: mq.LogNormal(5, "")),
        ("lognormal:five,1", "lognormal:MU,SIGMA with mu ", lambda: mq.LogNormal("five", 1)),
        ("exponential:0", "exponential:RATE with rate ", lambda: mq.Exponential(0)),
        ("exponential:", "exponential:RATE with rate ", lambda: mq.Exponential("")),
        ("erlang:2.5,1", "erlang:STAGES,RATE with stages ", lambda: mq.Erlang(2.5, 1)),
        ("uniform:2,1", "uniform:LOW,HIGH with high ", lambda: mq.Uniform(2, 1)),
        ("hyperexponential:0.5,0.5", MIXTURE, None),
        ("hyperexponential:0.5/1/2", MIXTURE, None),
        (
            "hyperexponential:0.5,0.6/1,2",
            f"{MIXTURE} with probabilities ",
            lambda: mq.HyperExponential([0.5, 0.6], [1, 2]),
        ),
        ("hyperexponential:1/2,3", f"{MIXTURE} with rates ", lambda: mq.HyperExponential([1], [2, 3])),
        ("hyperexponential:1/-2", f"{MIXTURE} with rates[0] ", lambda: mq.HyperExponential([1], [-2])),
    ],
)
def test_a_size_law_is_refused_with_its_syntax(text: str, syntax: str, law: Callable[[], object] | None) -> None:
    line = refusal("response", "--size", text, "--rate", "1")
    head = "one of " if "|" in syntax else ""
    assert line == f"--size {text or repr(text)}: must be {head}{syntax}{allowed(law) if law else ''}"


@pytest.mark.parametrize(
    ("text", "syntax", "law"),
    [
        ("quadratic:1", "one of " + " | ".join(MEMORY_SYNTAX.values()), None),
        ("affine", "affine:BASE[,SLOPE]", None),
        ("linear:1,2", "linear[:SLOPE]", None),
        ("linear:0", "linear[:SLOPE] with slope ", lambda: mq.LinearMemory(0)),
        ("saturating:1,-2", "saturating:SLOPE,WINDOW[,BASE] with window ", lambda: mq.SaturatingMemory(1, -2)),
    ],
)
def test_a_memory_law_is_refused_with_its_syntax(text: str, syntax: str, law: Callable[[], object] | None) -> None:
    line = refusal("response", *SMALL, "--memory", text)
    assert line == f"--memory {text}: must be {syntax}{allowed(law) if law else ''}"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--capacity 4 --threshold 5", "--threshold 5: must be left out when capacity is given (4 here)"),
        ("--levels 0 --quantum 1", "--levels 0: must be a whole number >= 1 or inf"),
        ("--levels 2.5 --quantum 1", "--levels 2.5: must be a whole number >= 1 or inf"),
        ("--levels many --quantum 1", "--levels many: must be a whole number >= 1 or inf"),
        ("--levels -inf --quantum 1", "--levels -inf: must be a whole number >= 1 or inf"),
        ("--quantum 1", "--levels is missing: must be a whole number >= 1 or inf, given together with quantum"),
        (
            "--levels 2",
            "--quantum is missing: must be a finite number > 0, together with --levels; or --quanta instead",
        ),
        ("--levels 2 --quantum 0", "--quantum 0: must be a finite number > 0"),
        ("--levels 2 --quantum -3x", "--quantum -3x: must be a finite number > 0"),
        ("--levels 2 --quantum infx", "--quantum infx: must be a finite number > 0"),
        ("--levels 2 --quantum inf", "--quantum inf: must be a finite number > 0"),
        ("--levels 2 --quantum 1,2", "--quantum 1,2: must be a finite number > 0"),
        ("--quanta 300,-1", "--quanta 300,-1: must be a finite number > 0"),
        ("--quanta 300,", "--quanta 300,: must be a finite number > 0"),
        ("--quanta 1 --quantum 1", "--quantum 1: must be left out when --quanta is given"),
        ("--quanta 1,2 --levels 2", "--levels 2: must be left out, or 3 as quanta give"),
        ("--policy srpt", "--policy srpt: must be one of fcfs, mlpt, mlpt-lazy, capped-gittins"),
        ("--policy fcfs --levels 2", "--levels 2: must be left out with --policy fcfs"),
        (
            "--policy mlpt-lazy --levels 4 --quantum 1",
            "--policy mlpt-lazy: must be fcfs or mlpt with more than three levels (their mlpt-lazy can only be simulated)",
        ),
    ],
)
def test_a_policy_is_refused(arguments: str, line: str) -> None:
    assert refusal("response", *SMALL, *arguments.split()) == line


def test_a_quantum_that_would_take_too_long_is_refused() -> None:
    queue, policy = mq.Queue(mq.Deterministic(1), 0.1), mq.MLPT(quantum=1e-9, levels=math.inf)
    says = allowed(lambda: mq.solve(queue, policy))
    model = ["--size", "deterministic:1", "--rate", "0.1", "--levels", "inf", "--quantum", "1e-9"]
    assert refusal("response", *model) == f"--quantum 1e-9: must be {says}"


def test_a_multiple_of_an_infinite_mean_is_refused() -> None:
    line = refusal("response", "--size", "lomax:0.9,1", "--rate", "0.1", "--threshold", "6x")
    assert line == "--threshold 6x: must be a number without x: the mean size is infinite"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--jobs", "0"], "--jobs 0: must be a whole number >= 1 and <= 100000000"),
        (["--jobs", "1.5"], "--jobs 1.5: must be a whole number >= 1 and <= 100000000"),
        (["--jobs", "1e300"], "--jobs 1e300: must be a whole number >= 1 and <= 100000000"),
        (["--jobs", "9" * 5000], f"--jobs {'9' * 199}…: must be a whole number >= 1 and <= 100000000"),
        (["--warmup", "-1"], "--warmup -1: must be a whole number >= 0 and <= 100000000"),
        (["--seeds", "none"], "--seeds none: must be a whole number >= 1 and <= 100000"),
        (["--seed", "-5"], "--seed -5: must be a whole number >= 0"),
        (["--workers", "0"], "--workers 0: must be a whole number >= 1 and <= 1024"),
        (["--rate", "1e-300"], "--rate 1e-300: must be at least 1.2e-195 for 120000 arrivals"),
    ],
)
def test_simulate_refuses_counts(arguments: list[str], line: str) -> None:
    assert refusal("simulate", *SMALL, *arguments) == line


def test_simulate_refuses_sizes_it_cannot_add_up() -> None:
    line = refusal("simulate", "--size", "lomax:0.01,1", "--rate", "1", *FEW_JOBS)
    assert line.startswith("--size lomax:0.01,1: must be a law whose samples are at most 1e+200")


def test_optimize_refuses() -> None:
    assert refusal("optimize", *SMALL, "--levels", "1") == "--levels 1: must be a whole number >= 2 or inf"
    assert refusal("optimize", *SMALL, "--levels", "2", "--a", "x") == "--a x: must be a number >= 0"
    assert refusal("optimize", *SMALL, "--levels", "2", "--b", "2") == "--b 2: must be a number >= 3"
    assert refusal("optimize", *SMALL).startswith("Missing option '--levels'")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing command. (see mlptsym --help)"),
        (["respond"], "'response'"),
        (["response"], "Missing option '--size'. (see mlptsym response --help)"),
        (["response", "--size"], "'--size' requires an argument"),
        (["response", *SMALL, "--threshhold", "3"], "--threshold"),
        (["response", *SMALL, "extra"], "extra"),
        (["response", *SMALL, "--json=yes"], "--json"),
        (["figures", "--jobs", "many"], "--jobs"),
        (["--json"], "--json"),
        (["two\nlines"], "two"),
        (["response", *SMALL, "--a\x1b[31mred", "1"], "red"),
    ],
)
def test_a_wrong_word_is_refused_in_one_line(arguments: list[str], says: str) -> None:
    line = refusal(*arguments)
    assert says in line
    assert line.isprintable()


def test_a_parameter_of_a_notebook_is_named_with_its_option(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlptsym.runtime import runner

    def refuse(*_: object, **__: object) -> None:
        raise mq.ParameterError("gamma", "abc", "a number or inf")

    monkeypatch.setattr(runner, "run_figures", refuse)
    assert refusal("figures", "-p", "beta=1", "-p", "gamma=abc") == "--parameter gamma=abc: must be a number or inf"


def test_the_option_is_the_argument_of_the_same_name() -> None:
    """Every name under which the library refuses a number of a queue, a policy or a simulation is an argument."""
    from inspect import signature

    from mlptsym.cli.simulation import simulate

    names = {item.name for kind in (mq.Queue, mq.MLPT, mq.CappedGittins) for item in fields(kind)}
    names |= set(signature(mq.simulate).parameters) - {"queue"}
    assert {errors._SAMPLES_OF.get(name, name) for name in names} <= set(signature(simulate).parameters)


# Anything a user can type --------------------------------------------------------------------------------------------

COMMANDS = {
    "response": [*SMALL, "--gamma", "0.1", "--levels", "2", "--quantum", "1"],
    "optimize": [*SMALL, "--gamma", "0.1", "--levels", "2"],
    "simulate": [*SMALL, "--gamma", "0.1", "--levels", "2", "--quantum", "1", *FEW_JOBS],
    "percentiles": [*SMALL, "--gamma", "0.1", "--levels", "2", "--quantum", "1"],
}
MODEL = ["--size", "--rate", "--threshold", "--beta", "--gamma", "--memory", "--capacity"]
POLICY = ["--policy", "--levels", "--quantum", "--quanta"]
COUNTS = ["--jobs", "--warmup", "--seeds", "--seed", "--workers"]
TAKES = {
    "response": MODEL + POLICY,
    "optimize": [*MODEL, "--levels", "--a", "--b", "--objective"],
    "percentiles": [*MODEL, *POLICY, "--at"],
    "simulate": [*MODEL, *POLICY, "--preemptions", "--minimum-quantum", *COUNTS],
}
OPTIONS = st.sampled_from([(command, option) for command, options in TAKES.items() for option in options])
NUMBERS = st.floats().map(repr) | st.integers().map(str) | st.floats(1e-3, 1e3).map("{:g}".format)
LAWS = st.sampled_from([*SIZE_SYNTAX, *MEMORY_SYNTAX])
WORDS = st.one_of(
    st.text(max_size=20),
    st.text("0123456789.,:/xe+-_ inf", max_size=12),
    st.builds("{}:{}".format, LAWS, st.text(max_size=12)),
    st.builds("{}:{}".format, LAWS, st.lists(NUMBERS, min_size=1, max_size=3).map(",".join)),
    st.builds("{}x".format, NUMBERS),
    NUMBERS,
)


def check_any(command: str, option: str, value: str, *more: str) -> None:
    """Whatever stands behind an option: a JSON object and 0, or one line that names the option and 2."""
    arguments = [command, *COMMANDS[command], option, value, *more, "--json"]
    begin = time.monotonic()
    status, out, err = run(*arguments)
    assert time.monotonic() - begin < 20
    if status == 0:
        assert err == ""
        json.loads(out, parse_constant=lambda constant: pytest.fail(f"{constant} in {out}"))
    else:
        assert status == 2
        assert out == ""
        assert err.startswith("Error: ")
        assert err.count("\n") == 1
        assert len(err.splitlines()) == 1


@given(OPTIONS, WORDS.filter(lambda text: not (text.strip().isdecimal() and len(text) > 4)))
def test_any_text_behind_any_option(place: tuple[str, str], text: str) -> None:
    check_any(*place, text)


ORDINARY = st.sampled_from(["0.01", "0.3", "1", "2", "2.5", "3", "100"])
ORDINARY_LAWS = st.one_of(
    st.builds("{}:{}".format, st.sampled_from(["exponential", "deterministic"]), ORDINARY),
    st.builds("lognormal:{},{}".format, ORDINARY.filter(lambda mu: mu != "100"), st.sampled_from(["0.1", "0.9", "2"])),
    st.builds("{}:{},{}".format, st.sampled_from(["weibull", "gamma"]), st.sampled_from(["0.3", "1", "3"]), ORDINARY),
    st.builds("lomax:{},{}".format, st.sampled_from(["0.5", "1", "1.5", "2", "2.5", "3", "3.5"]), ORDINARY),
    st.builds("erlang:{},{}".format, st.sampled_from(["1", "2", "20"]), ORDINARY),
    st.builds("hyperexponential:0.9,0.1/{},{}".format, ORDINARY, ORDINARY),
    st.builds("uniform:0,{}".format, ORDINARY),
)


@given(
    size=ORDINARY_LAWS,
    threshold=st.sampled_from(["0", "3", "0.5x", "6x", "inf"]),
    beta=st.sampled_from(["0.01", "0.39", "1"]),
    gamma=st.sampled_from(["0", "0.1", "2"]),
    rate=st.sampled_from(["0.001", "0.1", "3"]),
    policy=st.sampled_from(["", "--levels 2 --quantum 3", "--levels inf --quantum 2", "--quanta 1,1,5"]),
)
def test_ordinary_numbers_are_never_refused(
    size: str, threshold: str, beta: str, gamma: str, rate: str, policy: str
) -> None:
    if size.startswith("lomax:0.5") and threshold.endswith("x"):
        threshold = "3"  # there is no mean size
    model = ["--size", size, "--rate", rate, "--threshold", threshold, "--beta", beta, "--gamma", gamma]
    printed = answer("response", *model, *policy.split())
    mean = printed["mean_response_time"]
    if mean is None:
        assert printed["reason"]
    else:
        assert printed["stable"]
        assert mean >= printed["mean_service_time"] * (1 - 1e-12)
    if printed["stable"]:
        assert printed["effective_load"] >= printed["base_load"] * (1 - 1e-12)


def test_numbers_beyond_floating_point_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for trouble in (
        lambda: np.exp(np.float64(1e5)),
        lambda: np.log(np.zeros(1)),
        lambda: math.exp(1e5),
        lambda: 1 / 0.0,
    ):
        monkeypatch.setattr(cli_options, "read_size", lambda _, trouble=trouble: trouble())
        assert refusal("response", *SMALL).startswith("the numbers given are too large or too small to compute with (")
    monkeypatch.undo()
    monkeypatch.setattr(mq.Queue, "base_load", math.nan)
    for form in ([], ["--json"]):
        assert "(the answer is not a number)" in refusal("response", *SMALL, *form)


ALL = ["response", "optimize", "percentiles", "simulate", "fit", "verify"]


@given(st.sampled_from(ALL), st.lists(st.text(max_size=10), min_size=1, max_size=5))
def test_any_words(command: str, words: list[str]) -> None:
    status, out, err = run(command, *words)
    if status:
        assert (status, out, len(err.splitlines())) == (2, "", 1)


EVIL = [
    "__import__('os').mkdir('made')",
    "{__import__('os').mkdir('made')}",
    "$(mkdir made)",
    "`mkdir made`",
    "; mkdir made",
    "!!python/object/apply:os.mkdir ['made']",
    "1 if not __import__('os').mkdir('made') else 2",
]


def test_nothing_is_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    evil = cycle(EVIL)
    for command, names in TAKES.items():
        for option in names:
            for form in ("{}", "lognormal:5,{}", "linear:{}", "empirical:{}:a", "{}x", "1,{}"):
                refusal(command, *COMMANDS[command], option, form.replace("{}", next(evil)))
    assert list(tmp_path.iterdir()) == []


# The process ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [[], ["response"], ["optimize"], ["simulate"], ["figures"]])
def test_help(command: list[str]) -> None:
    status, out, err = run(*command, "--help")
    assert (status, err) == (0, "")
    assert out.startswith(f"Usage: {' '.join(['mlptsym', *command])} ")
    if command in (["response"], ["optimize"], ["simulate"]):
        assert all(f"  {option} " in out for option in TAKES[command[0]])
        examples = out.partition("Examples:\n")[2].replace("\\\n", " ").split("mlptsym ")[1:]
        assert len(examples) >= 2
        for line in examples:
            if "FILE" not in line and "sizes.csv" not in line and command != ["simulate"]:
                assert run(*line.split())[0] == 0, line


def test_version() -> None:
    assert run("--version") == (0, f"mlptsym {mq.__version__}\n", "")


def test_errors_of_the_system_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, status, line in (
        (MemoryError(), 1, "Error: there is not enough memory for this\n"),
        (OSError(28, "No space left on device"), 1, "Error: output: No space left on device\n"),
        (PermissionError(13, "Permission denied", "a\nb"), 1, "Error: a b: Permission denied\n"),
        (KeyboardInterrupt(), 130, ""),
    ):

        def fail(*_: object, error: BaseException = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(cli_options, "read_size", fail)
        assert run("response", *SMALL) == (status, "", line)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals")
def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-m", "mlptsym", "response", "--help"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 1


# One of each way to print: the parser itself, plain lines, JSON, and Rich's tables.
PRINTING = [
    "--version",
    "optimize --help",
    "verify --names",
    "response --size exponential:1 --rate 0.5 --json",
    "verify eq-16",
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("words", PRINTING)
def test_an_answer_that_cannot_be_written_is_an_error(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "mlptsym", *words.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "Error: output: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="closed files")
def test_a_closed_output_is_an_error_of_every_command() -> None:
    line = "Error: standard output is closed: it must be open for the answer\n"
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m mlptsym --version >&-"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, line)
    for command in get_group(app).commands:
        with redirect_stdout(None), redirect_stderr(io.StringIO()) as err:
            assert (main([command, "--help"]), err.getvalue()) == (1, line)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals")
def test_a_terminal_that_cannot_show_a_character_is_no_error() -> None:
    command = [sys.executable, "-m", "mlptsym", "response", "--size", "λ€\udcff", "--rate", "1"]
    done = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "latin-1"}, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(rb"Error: --size '\u03bb\u20ac\udcff': must be one of ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals")
@pytest.mark.parametrize(("function", "jobs"), [("_in_parallel", 1_000_000), ("_streamed", 5_000_000)])
def test_interrupt_ends_a_simulation_at_once(function: str, jobs: int) -> None:
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from mlptsym.simulation import simulate as module\n"
        f"before = module.{function}\n"
        "def after(*arguments):\n"
        "    print('started', flush=True)\n"
        "    return before(*arguments)\n"
        f"module.{function} = after\n"
        "from mlptsym.cli import main; sys.exit(main())"
    )
    counts = ["--jobs", str(jobs), "--seeds", "1000", "--levels", "inf", "--quantum", "0.05"]
    command = [sys.executable, "-c", program, "simulate", *SMALL, *counts]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        never_begun = threading.Timer(60, process.kill)
        never_begun.start()
        assert process.stdout.readline() == b"started\n"
        never_begun.cancel()
        time.sleep(1)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        assert time.monotonic() - begin < 5
    assert (process.returncode, out, error) == (130, b"", b"")


def test_numpy_is_loaded_when_it_is_needed() -> None:
    program = "import sys; from mlptsym.cli import main; main(['--help']); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 0
    assert np.__name__ in sys.modules  # as it is here
