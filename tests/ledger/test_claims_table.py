"""The table of the paper's claims: complete, with verdicts that follow from the numbers and can be other ones."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.main import get_command

from mlptsym.cli.errors import Command
from mlptsym.cli.verify import verify
from mlptsym.ledger.entry import verify_entry
from mlptsym.ledger.paper import claims as module
from mlptsym.ledger.paper.claims import COLUMNS, as_entry, paper_claims, table
from mlptsym.ledger.paper.evidence import VARIED, Estimate, Evidence, holding, monotone
from mlptsym.ledger.paper.sweeps import ordered
from mlptsym.ledger.paper.verdicts import NOT_REPRODUCED, REPRODUCED, WITHIN_ERROR, judged
from mlptsym.ledger.registry import BY_NAME_ONLY, all_entries, select
from mlptsym.numeric.mean.response import mean_response_time
from mlptsym.numeric.model.policies import FCFS, MLPT
from mlptsym.numeric.optimal.optimum import Optimum, optimal_quantum
from mlptsym.studies.best_quanta import Found

COMMITTED = Path(__file__).parents[2] / "figures" / "claims.csv"
EVIDENCE = Evidence()  # computes nothing before it is asked
CLAIMS = {claim.name: claim for claim in paper_claims(EVIDENCE)}
# sweeps for many levels take ten seconds more: `mlptsym verify claims` has them all
SWEPT = ("claim-never", "claim-many", "claim-both", "claim-plateau", "claim-order")
LOADED = ("claim-smaller-region", "claim-gittins-passes", "claim-gittins-unstable", "claim-mlpt-stable")
QUICK = [name for name in CLAIMS if not name.startswith((*SWEPT, *LOADED))]
PRINTED = ("21.7 %", "32.2 %", "31.9 %", "46.6 %", "50.3 %", "14.9 %", "24.6 %", "0.8233", "53")


def committed() -> list[dict[str, str]]:
    with COMMITTED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_no_cell_of_the_committed_table_is_empty() -> None:
    rows = committed()
    assert tuple(rows[0]) == COLUMNS
    assert [(row["claim"], row["paper"]) for row in rows] == [(one.statement, one.paper) for one in CLAIMS.values()]
    assert all(cell.strip() for row in rows for cell in row.values())
    assert [row["verdict"] for row in rows] == [one.verdict for one in CLAIMS.values()]
    assert {row["verdict"] for row in rows} == {REPRODUCED, WITHIN_ERROR, NOT_REPRODUCED}
    assert Counter(row["paper"] for row in rows if row["paper"] in PRINTED) == Counter([*PRINTED, "53"])


@pytest.mark.parametrize("name", QUICK)
def test_claim_has_its_verdict_and_its_variants_have_another(name: str) -> None:
    verdict = verify_entry(as_entry(CLAIMS[name]))
    assert verdict.passed, (verdict.outcome, verdict.refutations)
    (row,) = table([CLAIMS[name]])
    (expected,) = [one for one in committed() if one["claim"] == row.claim]
    assert {column: getattr(row, column) for column in COLUMNS} == expected


def test_claims_about_high_loads_show_at_a_smaller_scale() -> None:
    claims = {claim.name: claim for claim in paper_claims(Evidence(jobs=20_000, warmup=4_000))}
    for name in LOADED:
        verdict = verify_entry(as_entry(claims[name]))
        assert verdict.passed, (verdict.outcome, verdict.refutations)


def test_a_claim_with_another_verdict_on_record_is_red() -> None:
    claim = CLAIMS["claim-mean-lognormal"]
    assert not verify_entry(as_entry(replace(claim, verdict=REPRODUCED))).passed
    assert verify_entry(as_entry(replace(claim, variants={"the same": claim.stated}))).result == "NOT REFUTED"


def test_gains_are_those_of_theory_and_of_paired_simulations() -> None:
    queue = EVIDENCE.queue(6)
    quantum = optimal_quantum(queue, 2).quantum
    fcfs, best = (mean_response_time(queue, policy) for policy in (FCFS(), MLPT(quantum=quantum, levels=2)))
    (row,) = table([CLAIMS["claim-gain-6-2"]])
    assert row.theory == f"{100 * (1 - best / fcfs):.4f} %" == "21.3063 %"
    small = Evidence(jobs=200, warmup=20, seeds=2, root_seed=3)
    base, result = small.simulated(queue, [FCFS(), MLPT(quantum=quantum, levels=2)], 4)
    assert small.seed_gains[6, "2"].tolist() == (1 - result.seed_means / base.seed_means).tolist()
    (own,) = small.simulated(queue, [FCFS()])
    assert own.seed_means.tolist() == base.seed_means[:2].tolist()


# verdicts


def test_a_number_is_judged_by_its_digits_and_by_the_scatter() -> None:
    samples = [9.0, 11.0, 9.5, 10.5] * 8
    error = np.std(samples, ddof=1) / math.sqrt(8)
    assert judged(10.2, 0.1, 10.24, samples, 8)[0] == REPRODUCED
    assert judged(10.2, 0.1, 10.26)[0] == NOT_REPRODUCED
    assert judged(10.0 + 2.8 * error, 0.1, 10.0, samples, 8)[0] == WITHIN_ERROR
    verdict, reason = judged(10.0 + 3.1 * error, 0.1, 10.0, samples, 8)
    assert verdict == NOT_REPRODUCED
    assert "3.1 standard errors" in reason
    assert judged(10.0 + 1.4 * error, 0.1, 10.0, samples, 32)[0] == WITHIN_ERROR
    assert judged(10.0 + 1.55 * error, 0.1, 10.0, samples, 32)[0] == NOT_REPRODUCED


def test_ranges_are_found_by_bisection() -> None:
    ranges = holding(lambda x: math.sin(x) > 0, np.linspace(0.5, 10, 15).tolist())
    assert ranges == ((0.5, pytest.approx(math.pi, abs=1e-6)), pytest.approx((2 * math.pi, 3 * math.pi), abs=1e-6))
    assert holding(lambda x: x > 20, [1.0, 2.0]) == ()


def test_monotone_ranges_end_where_the_quantum_turns() -> None:
    quanta = [5.0, 4.0, 4.0, 4.5, math.inf, math.inf]
    found = [
        Found(float(place), 1.0, Optimum(quantum, 1.0, "smooth", 0.0, 1.0, quantum, (), 2, 0.5))
        for place, quantum in enumerate(quanta)
    ]
    assert monotone(found, -1) == ((0.0, 2.0), (4.0, 5.0))
    assert monotone(found, 1) == ((1.0, 5.0),)


def test_fcfs_is_the_longest_quantum() -> None:
    assert ordered(math.inf, 3.0, 1)
    assert ordered(3.0, math.inf, -1)
    assert not ordered(math.inf, math.inf, 1)
    assert not ordered(3.0, 3.0 * (1 + 1e-9), -1)


def test_the_order_at_a_large_memory_changes_where_the_committed_table_says() -> None:
    """θ*_∞ < θ*_2 at 8E[L] up to γ = 0.252: just below it is the shorter one, just above the longer."""
    (row,) = [one for one in committed() if one["claim"].endswith("as γ varies")]
    end = float(row["reason"].split(" to ")[1].split()[0])
    assert 0.25 < end < 0.26
    for change, sign in ((-1e-5, -1), (1e-5, 1)):
        queue = replace(EVIDENCE.queue(8), preemption_cost=end + change)
        short, long = (optimal_quantum(queue, k).quantum for k in (2, math.inf))
        assert ordered(long, short, sign)
    assert end > 2 * VARIED["γ"].value


def test_an_estimate_is_mean_and_standard_error() -> None:
    assert Estimate.of([1.0, 2.0, 3.0]) == Estimate(2.0, pytest.approx(1 / math.sqrt(3)))


# in the ledger


def test_claims_are_verified_when_they_are_named() -> None:
    assert not {name for name in all_entries() if name.startswith("claim-")}
    assert [entry.name for entry in select(["claims"])] == list(CLAIMS)
    assert [entry.name for entry in select(["claim-base-load", "eq-6"])] == ["claim-base-load", "eq-6"]
    assert set(BY_NAME_ONLY) == {"claims"}
    for entry in select(["claims"]):
        assert entry.latex.count("{") == entry.latex.count("}")
        assert entry.variants


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """``mlptsym verify`` with three claims only."""
    few = tuple(CLAIMS[name] for name in ("claim-mean-lognormal", "claim-base-load", "claim-mean-exponential"))
    monkeypatch.setattr(module, "paper_claims", lambda _: few)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(cls=Command)(verify)

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            status = get_command(app).main(list(arguments), prog_name="verify", standalone_mode=False)
        except typer.exceptions.TyperException as error:
            status = error.exit_code
            print(error.format_message())
        captured = capsys.readouterr()
        return int(status or 0), captured.out, captured.err

    return call


def test_command_shows_the_table_and_writes_it(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("claims", "--table", str(tmp_path / "new" / "claims.csv"))
    assert status == 0
    assert "3 claims: 1 not reproduced, 2 reproduced" in out
    assert "3 entries, all passed" in out
    assert max(map(len, out.splitlines())) <= 120
    with (tmp_path / "new" / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    known = {row["claim"]: row for row in committed()}
    assert rows == [known[row["claim"]] for row in rows]


def test_command_gives_json(run: Run) -> None:
    status, out, err = run("claims", "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["passed"]
    assert [row["verdict"] for row in found["claims"]] == [NOT_REPRODUCED, REPRODUCED, REPRODUCED]
    assert len(found["entries"]) == 3


def test_a_table_of_something_else_is_refused(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("eq-6", "--table", "x.csv")
    assert status == 2
    assert "--table x.csv: must be left out, except with claims alone" in out
    (tmp_path / "file").touch()
    status, out, _ = run("claims", "--table", str(tmp_path / "file" / "claims.csv"))
    assert status == 2
    assert "a file that can be written" in out
