"""``mlptsym verify``: the ledger, an entry's derivation, or a claim of one's own."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlptsym.ledger.entry import Entry, Verdict
    from mlptsym.ledger.paper.claims import ClaimRow

__all__ = ["EXAMPLES", "verify"]

FAILED = 1
NOT_READ = 2
UNDECIDED = 3
NARROWEST = 120  # columns of a table on a narrow terminal, which wraps them

EXAMPLES = """\b
Examples:
  mlptsym verify
  mlptsym verify eq-16 lemma-4.3 laws
  mlptsym verify claims
  mlptsym verify --show eq-16
  mlptsym verify --claim 'rho_2 == lambda*F(theta)*E[S2]'
"""


def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ENTRY ...]", help="Entries or sections to verify; all when none is named.", show_default=False
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="ENTRY", help="Show a statement and its derivation, in text and LaTeX.", show_default=False
        ),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(
            metavar="'EXPR == EXPR'", help="Prove or refute a formula of your own (see --names).", show_default=False
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With claims: also write the table, as .csv.", show_default=False),
    ] = None,
    list_names: Annotated[
        bool, typer.Option("--names", help="List what a claim may speak of, and all entries.", show_default=False)
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.", show_default=False)
    ] = False,
) -> None:
    """Prove the statements of the paper, and refute wrong variants of each.

    Ends with 0 if all is as stated, 1 if an entry fails or a claim is refuted, 2 if a claim cannot be read, 3 if it stays undecided.
    """
    from mlptsym.validation import path, refuse

    if (bool(names) + (show is not None) + (claim is not None) + list_names) > 1:
        refuse("names", names or show or claim, "given alone: ENTRY names, --show, --claim or --names")
    if table is not None and names != ["claims"]:
        refuse("table", table, "left out, except with claims alone")
    target = None if table is None else path("table", table)
    if target is not None and target.is_dir():
        refuse("table", table, "the name of a file, not of a folder")
    if list_names:
        status = _list(json=json)
    elif claim is not None:
        status = _decide(claim, json=json)
    elif show is not None:
        status = _show(show, json=json)
    elif names == ["claims"]:
        status = _claims(target, json=json)
    else:
        status = _verify(names or [], json=json)
    raise typer.Exit(status)


def _verify(names: Sequence[str], *, json: bool) -> int:
    from mlptsym.ledger.registry import select

    verdicts = _verified(select(names), quiet=json)
    passed = all(verdict.passed for verdict in verdicts)
    if json:
        _print_json({"passed": passed, "entries": [_plain(verdict) for verdict in verdicts]})
    else:
        _print_table(verdicts)
    return 0 if passed else FAILED


def _claims(path: Path | None, *, json: bool) -> int:
    """The paper's numerical claims as a table."""
    from mlptsym.ledger.paper.claims import COLUMNS, as_entry, paper_claims, table, to_csv
    from mlptsym.ledger.paper.evidence import Evidence

    claims = paper_claims(Evidence())
    verdicts = _verified(tuple(map(as_entry, claims)), quiet=json)
    passed = all(verdict.passed for verdict in verdicts)
    rows = table(claims)
    if path is not None:
        _write(path, to_csv(rows))
    if json:
        plain = [{name: getattr(row, name) for name in COLUMNS} for row in rows]
        _print_json({"passed": passed, "entries": [_plain(verdict) for verdict in verdicts], "claims": plain})
    else:
        _print_claims(rows)
        _print_outcome(verdicts)
    return 0 if passed else FAILED


def _write(path: Path, text: str) -> None:
    from mlptsym.files import write_whole
    from mlptsym.validation import ParameterError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise ParameterError("table", str(path), f"a file that can be written ({error.strerror})") from error


def _print_claims(rows: Sequence[ClaimRow]) -> None:
    """Claims with values and verdicts, each followed by its reason; then how many of each verdict."""
    from collections import Counter

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from mlptsym.ledger.paper.verdicts import NOT_REPRODUCED

    console = Console(width=max(Console().width, NARROWEST))
    shown = Table(box=None, padding=(0, 2, 1, 0))
    for column in ("claim", "paper", "theory", "simulation", "verdict and reason"):
        shown.add_column(column, overflow="fold")
    for row in rows:
        verdict = Text(row.verdict, style="bold red" if row.verdict == NOT_REPRODUCED else "green")
        claim = f"{row.claim} ({row.source})"
        cells = map(Text, (claim, row.paper, row.theory, row.simulation))
        shown.add_row(*cells, Text.assemble(verdict, f": {row.reason}"))
    console.print(shown)
    counts = Counter(row.verdict for row in rows)
    typer.echo(f"{len(rows)} claims: " + ", ".join(f"{number} {verdict}" for verdict, number in counts.items()))


def _verified(entries: Sequence[Entry], *, quiet: bool) -> list[Verdict]:
    """Verify entries, saying which one is at work where someone looks at a terminal."""
    from rich.console import Console

    from mlptsym.ledger.entry import verify_entries

    console = Console(stderr=True, quiet=quiet)
    with console.status("") as status:

        def announced() -> Iterator[Entry]:
            for number, entry in enumerate(entries, start=1):
                status.update(f"{number}/{len(entries)}  {entry.name}")
                yield entry

        return list(verify_entries(announced()))


def _print_table(verdicts: Sequence[Verdict]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=max(Console().width, NARROWEST))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("entry", no_wrap=True)
    table.add_column("statement")
    table.add_column("method", no_wrap=True)
    table.add_column("result", no_wrap=True)
    table.add_column("variants", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for verdict in verdicts:
        refuted = sum(refutation.refuted for refutation in verdict.refutations)
        table.add_row(
            verdict.entry.name,
            Text(verdict.entry.statement),
            verdict.entry.method,
            Text(verdict.result, style="green" if verdict.passed else "bold red"),
            f"{refuted}/{len(verdict.refutations)} refuted",
            f"{verdict.seconds:.2f}",
        )
    console.print(table)
    _print_outcome(verdicts)


def _print_outcome(verdicts: Sequence[Verdict]) -> None:
    """What failed, and a summary."""
    for verdict in verdicts:
        if not verdict.outcome.holds:
            typer.echo(f"{verdict.entry.name} failed: {verdict.outcome.evidence}")
        for refutation in verdict.refutations:
            if not refutation.refuted:
                typer.echo(f"{verdict.entry.name} does not refute '{refutation.description}': {refutation.evidence}")
    failed = [verdict.entry.name for verdict in verdicts if not verdict.passed]
    seconds = sum(verdict.seconds for verdict in verdicts)
    outcome = f"{len(failed)} failed: {', '.join(failed)}" if failed else "all passed"
    typer.echo(f"{len(verdicts)} entries, {outcome}, {seconds:.1f} s of processor time")


def _plain(verdict: Verdict) -> dict[str, Any]:
    return {
        "name": verdict.entry.name,
        "statement": verdict.entry.statement,
        "latex": verdict.entry.latex,
        "source": verdict.entry.source,
        "method": verdict.entry.method,
        "result": verdict.result,
        "passed": verdict.passed,
        "evidence": verdict.outcome.evidence,
        "variants": [
            {"description": one.description, "refuted": one.refuted, "evidence": one.evidence}
            for one in verdict.refutations
        ],
        "seconds": round(verdict.seconds, 3),
    }


def _show(name: str, *, json: bool) -> int:
    from mlptsym.ledger.registry import all_entries, select
    from mlptsym.ledger.render.show import explanation, in_text, shown
    from mlptsym.ledger.render.typesetting import in_latex
    from mlptsym.validation import ParameterError

    entries = all_entries()
    try:
        chosen = (entries[name],) if name in entries else select([name])
    except ParameterError as error:
        raise ParameterError("show", name, error.allowed) from error
    verdicts = _verified(chosen, quiet=json)
    if json:
        described = [
            _plain(verdict)
            | {
                "derivation": explanation(verdict.entry),
                "steps": [
                    {
                        "operation": step.operation,
                        "text": None if step.result is None else in_text(step.result),
                        "latex": None if step.result is None else in_latex(step.result),
                    }
                    for step in verdict.outcome.steps
                ],
            }
            for verdict in verdicts
        ]
        _print_json({"passed": all(verdict.passed for verdict in verdicts), "entries": described})
    else:
        typer.echo("\n\n".join("\n".join(shown(verdict)) for verdict in verdicts))
    return 0 if all(verdict.passed for verdict in verdicts) else FAILED


def _decide(claim: str, *, json: bool) -> int:
    from mlptsym.ledger.claims.decision import decide
    from mlptsym.ledger.claims.tree import ClaimError

    try:
        result = decide(claim)
    except ClaimError as error:
        if json:
            _print_json({"result": "not read", "position": error.position + 1, "reason": error.reason})
        else:
            _print_refusal(error)
        return NOT_READ
    example = result.counterexample
    if json:
        _print_json(
            {
                "result": result.verdict,
                "counterexample": None
                if example is None
                else {
                    "queue": example.queue,
                    "left": float(example.left),
                    "right": float(example.right),
                    "decimals": example.decimals,
                },
            }
        )
    elif example is None:
        typer.echo(f"{result.verdict}: {result.method}")
    else:
        left, right = example.decimals
        typer.echo(f"refuted: left {left}, right {right} at the queue with")
        for name, value in example.queue.items():
            typer.echo(f"  {name} = {value}")
    return {"proved": 0, "refuted": FAILED, "undecided": UNDECIDED}[result.verdict]


def _print_refusal(error: Any) -> None:
    """One line with the position, then the place in the claim."""
    from mlptsym.cli.errors import one_line

    typer.echo(f"Error: --claim: position {error.position + 1}: {one_line(error.reason)}", err=True)
    start = max(0, error.position - 30)
    typer.echo(
        f"  {one_line(error.text[start : error.position])} <here> {one_line(error.text[error.position :][:30])}",
        err=True,
    )


def _list(*, json: bool) -> int:
    from mlptsym.ledger.claims.vocabulary import described
    from mlptsym.ledger.registry import BY_NAME_ONLY, SECTIONS

    names = dict(described())
    sections = {name: [entry.name for entry in entries()] for name, entries in (SECTIONS | BY_NAME_ONLY).items()}
    if json:
        _print_json({"claims": names, "sections": sections})
        return 0
    typer.echo("What a claim may speak of (numbers are exact; + - * / ^ and brackets; exponents are whole numbers):")
    width = max(map(len, names))
    for name, meaning in names.items():
        typer.echo(f"  {name:<{width}}  {meaning}")
    typer.echo("Entries by section:")
    for section, entries in sections.items():
        typer.echo(f"  {section}: {', '.join(entries)}")
    return 0


def _print_json(values: dict[str, Any]) -> None:
    typer.echo(json_format.dumps(values, ensure_ascii=False))
