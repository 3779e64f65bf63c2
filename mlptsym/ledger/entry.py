"""What a ledger entry is, and what happens when it is verified."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal

Method = Literal["proof", "enclosure", "digits", "simulation"]

METHODS: dict[Method, str] = {
    "proof": "proved",
    "enclosure": "enclosed",
    "digits": "agrees",
    "simulation": "consistent",
}
BROKEN = "the check broke off"


@dataclass(frozen=True)
class Step:
    """One step of a derivation: what is done, and what it gives."""

    operation: str  # In words
    result: Any = None  # A SymPy expression, or None where the words are all


@dataclass(frozen=True)
class Outcome:
    """What a check found about one statement."""

    holds: bool
    evidence: str  # One line: what was computed, and with which result
    steps: tuple[Step, ...] = ()  # The derivation the check went through


@dataclass(frozen=True)
class Entry:
    """A statement, the check that decides it, and wrong statements that the same check refutes."""

    name: str  # Such as ``eq-16``
    statement: str  # In words and plain text
    latex: str  # The formula as the paper prints it, or as it should read
    source: str  # Where it stands in the paper, or in a book
    claim: Callable[[], Any]  # Builds the statement under test, transcribed from the paper
    check: Callable[[Any], Outcome]  # statement ↦ `Outcome`; it derives its side from the package's own formulas
    # Wrong forms of the statement, at least one: in words, what is altered; and what builds the altered statement
    variants: Mapping[str, Callable[[], Any]]
    # *proof*: identities reduced to zero with free symbols; *enclosure*: inequalities in interval arithmetic on a
    # stated box; *digits*: agreement to 50 digits at stated points; *simulation*: a z-score with a stated false-alarm
    # rate
    method: Method = "proof"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"{self.name}: {self.method!r} is no method")
        if not self.variants:
            raise ValueError(f"{self.name} has no wrong variant that its check would have to refute")


@dataclass(frozen=True)
class Check:
    """A function that decides statements, called as the function is, with the entries it decides."""

    function: Callable[..., Any]
    entries: tuple[Entry, ...] = ()

    def __call__(self, *arguments: Any) -> Outcome:
        """What the function finds about a claim, the last argument."""
        from mlptsym.ledger.exact.checks import identities

        found = self.function(*arguments)
        return found if isinstance(found, Outcome) else identities(found)


def entry(
    name: str,
    statement: str,
    latex: str,
    claim: Any,
    *variants: tuple[str, Any],
    source: str = "",
    method: Method = "proof",
    given: tuple[Any, ...] = (),
) -> Callable[[Callable[..., Any]], Check]:
    """Make the function below the check of an entry; it returns an `Outcome`, or equations that have to hold.

    A claim is given itself, or as a function or class that makes it without arguments.  ``variants``
    are wrong ones: what is altered, in words, and the altered claim.  ``given`` goes in front of the claim.  The source
    is read from the name where this begins with that of an equation, a lemma, a corollary or a theorem.
    """

    def decided(function: Callable[..., Any]) -> Check:
        check = function if isinstance(function, Check) else Check(function)

        @wraps(check.function)
        def decide(stated: Any) -> Outcome:
            return check(*given, stated)

        wrong = {words: _maker(variant) for words, variant in variants}
        made = Entry(name, statement, latex, source or _source(name), _maker(claim), decide, wrong, method)
        return Check(check.function, (made, *check.entries))

    return decided


def _maker(claim: Any) -> Callable[[], Any]:
    if inspect.isroutine(claim) or inspect.isclass(claim):
        required = (one.default is one.empty for one in inspect.signature(claim).parameters.values())
        return (lambda: claim) if any(required) else claim
    return lambda: claim


def _source(name: str) -> str:
    """As the paper has it: ``eq-16`` and ``eq-16-written-out`` are eq. (16)."""
    kind, number, *_ = name.split("-")
    return f"eq. ({number})" if kind == "eq" else f"{kind} {number}"


@dataclass(frozen=True)
class Refutation:
    """What became of a wrong variant."""

    description: str
    refuted: bool
    evidence: str


@dataclass(frozen=True)
class Verdict:
    """The result of an entry."""

    entry: Entry
    outcome: Outcome
    refutations: tuple[Refutation, ...]
    seconds: float  # Processor time

    @property
    def passed(self) -> bool:
        """Whether the statement holds and every wrong variant was refuted."""
        return self.outcome.holds and all(refutation.refuted for refutation in self.refutations)

    @property
    def result(self) -> str:
        """One or two words for the table."""
        if not self.outcome.holds:
            return "FAILED"
        return METHODS[self.entry.method] if self.passed else "NOT REFUTED"


def checked(entry: Entry) -> Outcome:
    """What the check finds about the statement itself; a check that breaks off has not shown it."""
    return _tried(entry.check, entry.claim)


def verify_entries(entries: Iterable[Entry]) -> Iterator[Verdict]:
    """Check the statement of each entry, then each of its wrong variants; what was derived before is not used.

    A check that breaks off has shown nothing: neither that the statement holds nor that a variant fails.  What one entry
    derives, later ones use; its seconds are counted where it is derived.
    """
    from mlptsym.symbolic.algebra.cached import forget

    forget()
    for entry in entries:
        start = time.process_time()
        outcome = checked(entry)
        refutations = []
        for description, variant in entry.variants.items():
            found = _tried(entry.check, variant)
            broken = found.evidence.startswith(BROKEN)
            refutations.append(Refutation(description, not found.holds and not broken, found.evidence))
        yield Verdict(entry, outcome, tuple(refutations), time.process_time() - start)


def verify_entry(entry: Entry) -> Verdict:
    """The verdict on one entry."""
    (verdict,) = verify_entries([entry])
    return verdict


def _tried(check: Callable[[Any], Outcome], claim: Callable[[], Any]) -> Outcome:
    try:
        return check(claim())
    except Exception as error:  # an altered formula may fail anywhere; whatever happens is reported as a failure
        return Outcome(False, f"{BROKEN}: {type(error).__name__}: {error}")
