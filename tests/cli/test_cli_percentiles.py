"""``mlptsym percentiles``: what it prints is what Python computes, and what it refuses it refuses in one line."""

import math

import numpy as np
import pytest
from test_cli import PAPER, PAPER_QUEUE, SMALL, THRICE, answer, refusal, run

import mlptsym as mq
from mlptsym.simulation.traces import draw_trace


@pytest.mark.parametrize(
    ("arguments", "policy"),
    [
        ([], mq.FCFS()),
        (["--levels", "2", "--quantum", "3x"], mq.MLPT(quantum=THRICE, levels=2)),
        (["--levels", "inf", "--quantum", "3x"], mq.MLPT(quantum=THRICE, levels=math.inf)),
        (["--quanta", "300,900"], mq.MLPT(quanta=[300, 900])),
    ],
)
def test_it_is_what_python_computes_to_the_last_digit(arguments: list[str], policy: mq.FCFS | mq.MLPT) -> None:
    printed = answer("percentiles", *PAPER, *arguments)
    exact = mq.response_time_distribution(PAPER_QUEUE, policy)
    chances = [0.5, 0.95, 0.99]
    assert printed["p"] == chances
    assert printed["quantile"] == exact.quantile(chances).tolist()
    assert printed["fcfs"] == mq.response_time_distribution(PAPER_QUEUE, mq.FCFS()).quantile(chances).tolist()
    assert printed["mean_response_time"] == exact.moment(1)
    assert printed["standard_deviation"] == math.sqrt(exact.moment(2) - exact.moment(1) ** 2)
    assert printed["effective_load"] == exact.solution.effective_load
    assert (printed["stable"], printed["slowdown_threshold"]) == (True, PAPER_QUEUE.slowdown_threshold)
    assert "reason" not in printed


def test_probabilities_are_chosen() -> None:
    printed = answer("percentiles", *SMALL, "--at", "0,0.9,1")
    assert printed["p"] == [0, 0.9, 1]
    assert printed["quantile"] == [0, pytest.approx(2 * math.log(10), rel=1e-9), None]


def test_percentiles_of_a_policy_are_its_own_and_not_those_of_fcfs() -> None:
    """MLPT against simulated response times, FCFS beside it against the M/M/1 formula: 1 − p = e^{−(μ − λ)t}."""
    chances = [0.5, 0.95, 0.99]
    printed = answer("percentiles", *SMALL, "--levels", "2", "--quantum", "1")
    assert printed["fcfs"] == pytest.approx([-2 * math.log(1 - p) for p in chances], rel=1e-9)
    trace = draw_trace(mq.Exponential(1), 0.5, 300_000, seed=1, root_seed=5)
    policy = mq.MLPT(quantum=1, levels=2)
    times = mq.response_times(mq.Queue(mq.Exponential(1), 0.5), policy, trace.arrival_times, trace.sizes)
    assert printed["quantile"] == pytest.approx(np.quantile(times, chances), rel=0.03)
    assert np.abs(np.log(np.divide(printed["quantile"], printed["fcfs"]))).min() > 0.05
    assert printed["mean_response_time"] == pytest.approx(times.mean(), rel=0.02)


def test_for_people() -> None:
    status, out, err = run("percentiles", *SMALL, "--levels", "2", "--quantum", "1", "--at", "0.99")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split(maxsplit=1) == ["policy", "MLPT, k = 2, quantum 1"]
    exact = mq.response_time_distribution(mq.Queue(mq.Exponential(1), 0.5), mq.MLPT(quantum=1, levels=2))
    assert lines[-1].split() == ["0.99", f"{exact.quantile(0.99):.6g}", "9.21034"]


def test_an_unstable_queue_is_a_valid_question() -> None:
    printed = answer("percentiles", *SMALL, "--rate", "1.1")
    assert printed["quantile"] == printed["fcfs"] == [None] * 3
    assert (printed["mean_response_time"], printed["standard_deviation"], printed["stable"]) == (None, None, False)
    assert "unstable" in printed["reason"]
    assert run("percentiles", *SMALL, "--rate", "1.1")[0] == 0


def test_an_infinite_mean_has_finite_percentiles() -> None:
    printed = answer("percentiles", "--size", "lomax:1.5,1", "--rate", "0.2", "--at", "0.9")
    assert printed["mean_response_time"] is None and printed["stable"] is True
    assert printed["quantile"][0] > 0
    assert "moment of order 2" in printed["reason"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--at", "95"], r"--at 95 "),
        (["--at", "0.5,-1"], r"--at "),
        (["--at", "nan"], r"--at "),
        (["--at", ""], r"--at "),
        (["--at", "0.5,,1"], r"--at "),
        (["--at", "0.9999999999"], r"--at "),
        (["--at", "__import__('os')"], r"--at "),
        (["--policy", "mlpt-lazy", "--levels", "2", "--quantum", "1"], r"--policy mlpt-lazy "),
        (["--policy", "capped-gittins"], r"--policy capped-gittins "),
        (
            ["--levels", "inf", "--quantum", "0.001"],
            r"--at 0.5,0.95,0.99: must be a probability whose quantile is at most 1.024",
        ),
    ],
)
def test_refusals_name_the_option(options: list[str], line: str) -> None:
    assert line.strip() in refusal("percentiles", *SMALL, *options)
