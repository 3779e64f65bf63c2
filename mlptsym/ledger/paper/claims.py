"""The paper's numerical claims, one by one: its value, the package's from theory and from simulation, and a verdict."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, fields
from functools import partial
from typing import Any

from mlptsym.ledger.entry import Entry, Outcome
from mlptsym.ledger.paper.evidence import Evidence
from mlptsym.ledger.paper.loads import load_claims
from mlptsym.ledger.paper.numbers import gain_claims, model_claims
from mlptsym.ledger.paper.sweeps import sweep_claims
from mlptsym.ledger.paper.verdicts import Finding, PaperClaim


@dataclass(frozen=True)
class ClaimRow:
    """A row of the table, all text."""

    claim: str
    source: str
    paper: str
    theory: str
    simulation: str
    verdict: str
    reason: str


COLUMNS = tuple(field.name for field in fields(ClaimRow))


def paper_claims(evidence: Evidence) -> tuple[PaperClaim, ...]:
    """The claims in the order of the paper; their numbers come from the evidence, when a claim is decided."""
    groups = (model_claims, gain_claims, load_claims, sweep_claims)
    return tuple(claim for group in groups for claim in group(evidence))


def check_claim(decide: Callable[[Any], Finding], verdict: str, stated: Any) -> Outcome:
    """The paper's value held against the package's: theory, simulation, and whether the verdict is the one on record."""
    found = decide(stated)
    evidence = f"{found.verdict}: theory {found.theory}; simulation {found.simulation}; {found.reason}"
    return Outcome(found.verdict == verdict, evidence)


def as_entry(claim: PaperClaim) -> Entry:
    """A claim as an entry of the ledger: it passes if its verdict is the one on record, and every variant gets another."""
    return Entry(
        claim.name,
        f"{claim.statement}: {claim.verdict}",
        claim.latex,
        claim.source,
        partial(_given, claim.stated),
        partial(check_claim, claim.decide, claim.verdict),
        {words: partial(_given, stated) for words, stated in claim.variants.items()},
        claim.method,
    )


def _given(stated: Any) -> Any:
    return stated


def entries() -> tuple[Entry, ...]:
    """Entries of this section; their numbers are computed once for all of them, when they are verified."""
    return tuple(map(as_entry, paper_claims(Evidence())))


def table(claims: Iterable[PaperClaim]) -> tuple[ClaimRow, ...]:
    """The claims with the package's values and verdicts."""
    return tuple(
        ClaimRow(claim.statement, claim.source, claim.paper, *astuple(claim.decide(claim.stated))) for claim in claims
    )


def to_csv(rows: Iterable[ClaimRow]) -> str:
    """The table as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(astuple, rows))
    return text.getvalue()
