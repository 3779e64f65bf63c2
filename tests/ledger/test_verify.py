"""``mlptsym verify`` as it is typed: table, JSON, derivations, claims, refusals and exit statuses."""

import json
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable

import pytest
import typer
from mutations import applied, mutants
from typer.main import get_command

from mlptsym.cli.errors import Command
from mlptsym.cli.verify import verify
from mlptsym.ledger import registry
from mlptsym.ledger.claims import decision
from mlptsym.ledger.claims.queues import queues
from mlptsym.ledger.entry import Entry, Outcome
from mlptsym.symbolic.policies import discipline

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command alone, in this process: exit status, standard output, standard error."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(cls=Command)(verify)

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            status = get_command(app).main(list(arguments), prog_name="verify", standalone_mode=False)
        except typer.exceptions.TyperException as error:
            status = error.exit_code
            print(f"Error: {error.format_message()}", file=sys.stderr)
        captured = capsys.readouterr()
        return int(status or 0), captured.out, captured.err

    return call


# the ledger


def test_table_of_chosen_entries(run: Run) -> None:
    status, out, _ = run("eq-16", "eq-6")
    assert status == 0
    header, *rows = out.splitlines()
    assert header.split() == ["entry", "statement", "method", "result", "variants", "seconds"]
    assert [row.split()[0] for row in rows if row.startswith("eq-")] == ["eq-16", "eq-6"]
    assert "proved" in out
    assert "5/5 refuted" in out
    assert "2 entries, all passed" in rows[-1]
    width = max(sum(not unicodedata.combining(character) for character in line) for line in out.splitlines())
    assert width <= 120


def test_a_section_by_its_name(run: Run) -> None:
    status, out, _ = run("gittins", "--json")
    assert status == 0
    assert [entry["name"] for entry in json.loads(out)["entries"]][:2] == ["efficiency", "efficiency-slope"]


def test_json_is_one_object_and_nothing_else(run: Run) -> None:
    status, out, err = run("eq-22", "--json")
    assert status == 0
    assert err == ""
    found = json.loads(out)
    assert found["passed"] is True
    (entry,) = found["entries"]
    assert entry["name"] == "eq-22"
    assert (entry["method"], entry["result"], entry["passed"]) == ("proof", "proved", True)
    assert entry["latex"].startswith("d_J")
    assert {variant["refuted"] for variant in entry["variants"]} == {True}
    assert entry["seconds"] >= 0


@pytest.mark.parametrize(("name", "close"), [("eq-42", "eq-4"), ("lemma43", "lemma-4.3"), ("theorem", "theorem-4.5")])
def test_unknown_entries_are_refused_with_close_ones(run: Run, name: str, close: str) -> None:
    for option in ((), ("--show",)):
        status, out, err = run(*option, name)
        assert status == 2
        assert out == ""
        assert name in err
        assert close in err
        assert len(err.splitlines()) == 1


def broken_ledger(monkeypatch: pytest.MonkeyPatch, *, holds: bool, refutes: bool) -> None:
    entry = Entry(
        "eq-0",
        "a statement",
        "x",
        "nowhere",
        lambda: holds,
        lambda claim: Outcome(claim, "as told"),
        {"a wrong variant": lambda: not refutes},
    )
    monkeypatch.setitem(registry.SECTIONS, "broken", lambda: (entry,))


@pytest.mark.parametrize(("holds", "refutes", "word"), [(False, True, "FAILED"), (True, False, "NOT REFUTED")])
def test_ends_with_one_if_anything_is_red(
    run: Run, monkeypatch: pytest.MonkeyPatch, holds: bool, refutes: bool, word: str
) -> None:
    broken_ledger(monkeypatch, holds=holds, refutes=refutes)
    status, out, _ = run("eq-0", "eq-6")
    assert status == 1
    assert word in out
    assert "1 failed: eq-0" in out
    status, out, _ = run("eq-0", "--json")
    assert status == 1
    assert json.loads(out)["passed"] is False
    status, _, _ = run("--show", "eq-0")
    assert status == 1


def test_an_altered_formula_of_the_package_turns_it_red(run: Run) -> None:
    cost_sign = next(mutant for mutant in mutants(discipline) if "cost" in mutant.description)
    with applied(cost_sign):
        status, out, _ = run("eq-16", "eq-9", "theorem-4.5")
    assert status == 1
    assert "3 failed" in out
    assert run("eq-16")[0] == 0


# derivations


def test_show_has_statement_derivation_and_latex(run: Run) -> None:
    status, out, _ = run("--show", "eq-16")
    assert status == 0
    assert "eq-16  (eq. (16))" in out
    assert "1. O_J at J = k − 1" in out
    assert "2. O_J, growth from J + 1 down to J" in out
    assert out.count("LaTeX:") == 3
    assert "Wrong variants:" in out


def test_show_as_json(run: Run) -> None:
    status, out, err = run("--show", "Q", "--json")
    assert (status, err) == (0, "")
    (entry,) = json.loads(out)["entries"]
    assert entry["steps"][0]["operation"] == "Q"
    assert entry["steps"][0]["latex"].count("=") >= 1
    assert entry["derivation"]


# claims


def test_a_true_claim(run: Run) -> None:
    status, out, err = run("--claim", "rho == rho_1 + rho_2")
    assert (status, err) == (0, "")
    assert out.startswith("proved")


def test_a_false_claim_is_refuted_by_numbers(run: Run) -> None:
    status, out, _ = run("--claim", "rho == rho_1 - rho_2")
    assert status == 1
    assert out.startswith("refuted: left ")
    assert "lambda = " in out
    status, out, err = run("--claim", "rho == rho_1 - rho_2", "--json")
    assert (status, err) == (1, "")
    found = json.loads(out)
    assert found["result"] == "refuted"
    assert found["counterexample"]["left"] != found["counterexample"]["right"]


@pytest.mark.parametrize(("factor", "digits"), [("1 + 1/10^18", 19), ("1 - 1/10^30/10^30", 60), ("2", 12)])
def test_a_refuted_claim_is_shown_with_digits_that_tell_its_sides_apart(run: Run, factor: str, digits: int) -> None:
    """Twelve at least, and as many as a difference of one part in 10^18 or 10^60 takes, give or take the leading one."""
    _, out, _ = run("--claim", f"rho == ({factor})*rho")
    found = re.match(r"refuted: left 0\.(\d+), right 0\.(\d+) at", out)
    assert found is not None
    left, right = found.groups()
    assert left != right
    assert digits - 1 <= max(len(left.lstrip("0")), len(right.lstrip("0"))) <= digits + 1
    _, out, _ = run("--claim", f"rho == ({factor})*rho", "--json")
    assert json.loads(out)["counterexample"]["decimals"] == [f"0.{left}", f"0.{right}"]


def test_a_claim_that_stays_undecided_ends_with_three(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision, "queues", lambda *_: iter([next(queues())]))
    status, out, err = run("--claim", "gamma == 1/10")
    assert (status, err) == (3, "")
    assert out.startswith("undecided: ")
    status, out, _ = run("--claim", "gamma == 1/10", "--json")
    assert status == 3
    assert json.loads(out) == {"result": "undecided", "counterexample": None}


def test_what_is_true_because_of_the_slowdown_is_proved(run: Run) -> None:
    status, out, _ = run("--claim", "E[S] == E[q(L)]")
    assert status == 0
    assert out.startswith("proved: with S = q(L)")


@pytest.mark.parametrize(
    ("claim", "position"),
    [("__import__('os').system('true') == 0", 1), ("rho = 1", 5), ("lamda == 1", 1), ("", 1), ("1 ==\x00 1", 5)],
)
def test_what_cannot_be_read_ends_with_two_and_its_position(run: Run, claim: str, position: int) -> None:
    status, out, err = run("--claim", claim)
    assert (status, out) == (2, "")
    assert err.startswith(f"Error: --claim: position {position}: ")
    assert err.isprintable() or all(line.isprintable() for line in err.splitlines())
    status, out, err = run("--claim", claim, "--json")
    assert (status, err) == (2, "")
    assert json.loads(out)["position"] == position


def test_names_of_claims_and_entries(run: Run) -> None:
    status, out, _ = run("--names")
    assert status == 0
    assert "d(j, k)" in out
    assert "limits: limit-one-level" in out
    status, out, _ = run("--names", "--json")
    assert "eq-16" in json.loads(out)["sections"]["waiting"]


@pytest.mark.parametrize(
    "arguments", [("eq-6", "--claim", "1 == 1"), ("--show", "eq-6", "--names"), ("eq-6", "--show", "Q")]
)
def test_one_thing_at_a_time(run: Run, arguments: tuple[str, ...]) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert "given alone" in err


def test_help_does_not_load_the_ledger() -> None:
    program = "import sys, mlptsym.cli.verify; sys.exit('sympy' in sys.modules or 'flint' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.skipif(shutil.which("mlptsym") is None, reason="the command is not installed")
def test_the_installed_command() -> None:
    done = subprocess.run(
        ["mlptsym", "verify", "--claim", "E[S] == E[S^2]"], check=False, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 1
    assert done.stdout.startswith("refuted")
    assert done.stderr == ""
