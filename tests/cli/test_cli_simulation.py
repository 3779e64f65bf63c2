"""``mlptsym simulate`` with the capped Gittins index: what Python computes, and refusals where it has no meaning."""

from __future__ import annotations

import io
import json
import math
from contextlib import redirect_stderr, redirect_stdout

import pytest

import mlptsym as mq
from mlptsym.cli import main

MODEL = ["--size", "lognormal:5,0.9", "--rate", "0.0036", "--threshold", "6x", "--beta", "0.39", "--gamma", "0.1"]
COUNTS = ["--jobs", "300", "--warmup", "50", "--seeds", "2", "--seed", "3"]
CAPPED = ["--policy", "capped-gittins"]
LAW = mq.LogNormal(5, 0.9)
QUEUE = mq.Queue(LAW, 0.0036, 6 * LAW.mean, slowdown_factor=0.39, preemption_cost=0.1)


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = main(arguments)
    return status, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("options", "policy"),
    [
        (["--preemptions", "0"], mq.CappedGittins(0)),
        (["--preemptions", "2"], mq.CappedGittins(2)),
        (["--preemptions", "inf", "--minimum-quantum", "0.2x"], mq.CappedGittins(math.inf, 0.2 * LAW.mean)),
        (["--preemptions", "1", "--minimum-quantum", "30"], mq.CappedGittins(1, 30.0)),
    ],
)
def test_it_is_what_python_computes_to_the_last_digit(options: list[str], policy: mq.CappedGittins) -> None:
    status, out, err = run("simulate", *MODEL, *CAPPED, *options, *COUNTS, "--json")
    assert (status, err) == (0, "")
    printed = json.loads(out)
    result = mq.simulate(QUEUE, policy, jobs=300, warmup=50, seeds=2, root_seed=3)
    assert printed["seed_means"] == result.seed_means.tolist()
    assert printed["seed_loads"] == result.seed_loads.tolist()
    assert (printed["mean"], printed["standard_error"]) == (result.mean, result.standard_error)
    assert (printed["effective_load"], printed["stable"]) == (result.effective_load, result.stable)
    assert printed["preemptions"] == (None if math.isinf(policy.preemptions) else policy.preemptions)
    assert printed["minimum_quantum"] == policy.quantum_for(QUEUE)
    assert (printed["mean_response_time"], printed["z"]) == (None, None)
    assert "only be simulated" in printed["reason"]


def test_for_people_and_where_it_is_unstable() -> None:
    status, out, err = run("simulate", *MODEL, *CAPPED, "--preemptions", "2", *COUNTS)
    assert (status, err) == (0, "")
    assert "capped Gittins index, preemptions of each job <= 2, quanta >= 2.28683" in out
    assert "unstable" not in out
    overloaded = ["--size", "exponential:1", "--rate", "1.5"]
    status, out, _ = run("simulate", *overloaded, *CAPPED, "--preemptions", "1", *COUNTS)
    assert status == 0
    assert "the queue is unstable: its measured load is 1.5" in out


@pytest.mark.parametrize(
    ("command", "options", "line"),
    [
        (
            "response",
            CAPPED,
            "--policy capped-gittins: must be fcfs or mlpt here (capped-gittins can only be simulated)",
        ),
        (
            "response",
            [*CAPPED, "--levels", "2", "--quantum", "3"],
            "--policy capped-gittins: must be fcfs or mlpt here (capped-gittins can only be simulated)",
        ),
        (
            "simulate",
            CAPPED,
            "--preemptions is missing: must be a whole number >= 0 or inf, with --policy capped-gittins",
        ),
        (
            "simulate",
            [*CAPPED, "--preemptions", "1", "--levels", "2"],
            "--levels 2: must be left out with --policy capped-gittins",
        ),
        (
            "simulate",
            [*CAPPED, "--preemptions", "1", "--quanta", "3,4"],
            "--quanta 3,4: must be left out with --policy capped-gittins",
        ),
        ("simulate", ["--preemptions", "1"], "--preemptions 1: must be left out without --policy capped-gittins"),
        (
            "simulate",
            ["--policy", "mlpt", "--minimum-quantum", "1"],
            "--minimum-quantum 1: must be left out without --policy capped-gittins",
        ),
        ("simulate", [*CAPPED, "--preemptions", "-1"], "--preemptions -1: must be a whole number >= 0 or inf"),
        ("simulate", [*CAPPED, "--preemptions", "two"], "--preemptions two: must be a whole number >= 0 or inf"),
        (
            "simulate",
            [*CAPPED, "--preemptions", "1", "--minimum-quantum", "0x"],
            "--minimum-quantum 0x: must be a finite number > 0",
        ),
        (
            "simulate",
            [*CAPPED, "--preemptions", "inf", "--minimum-quantum", "1e-9", *COUNTS],
            "--minimum-quantum 1e-9: must be at least 7.27e-05, for at most 1e+09 quanta of 350 jobs",
        ),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_line(command: str, options: list[str], line: str) -> None:
    status, out, err = run(command, *MODEL, *options)
    assert (status, out) == (2, "")
    assert err.splitlines() == [f"Error: {line}"]
