"""The ledger: every entry passed, every statement of the paper there, and no check that cannot fail."""

import inspect
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpq
from hypothesis import assume, given
from hypothesis import strategies as st
from sympy.core.cache import CACHE

from mlptsym import Gamma, LogNormal
from mlptsym.laws import HOMES
from mlptsym.ledger import sections
from mlptsym.ledger.entry import METHODS, Entry, Outcome, Step, verify_entries, verify_entry
from mlptsym.ledger.exact import checks
from mlptsym.ledger.exact.algebra import Atoms, TooLargeError, atoms_of, vanishes
from mlptsym.ledger.exact.checks import agreement, everything, identities, is_positive, scores
from mlptsym.ledger.exact.digits import value
from mlptsym.ledger.exact.enclosure import ball, covered
from mlptsym.ledger.exact.service_law import ServiceLaw
from mlptsym.ledger.paper.setting import setting
from mlptsym.ledger.registry import SECTIONS, all_entries, select
from mlptsym.ledger.render.display import value as as_number
from mlptsym.ledger.render.show import explanation, in_text, shown
from mlptsym.ledger.render.typesetting import in_latex, readable
from mlptsym.modules import modules_below
from mlptsym.numeric.mean.two_levels import two_level_terms as numeric_terms
from mlptsym.numeric.model.queue import Queue
from mlptsym.symbolic.algebra.cached import forget
from mlptsym.symbolic.algebra.induction import levels, peeled, total
from mlptsym.symbolic.algebra.symbols import (
    arrival_rate,
    boundary,
    cost,
    level,
    preemption_cost,
    slowdown_factor,
    slowdown_threshold,
)
from mlptsym.symbolic.mean.many_levels import rule_of_thumb_quantum
from mlptsym.symbolic.mean.two_levels import two_level_terms
from mlptsym.symbolic.model.moments import UpperMoment, mean
from mlptsym.validation import ParameterError

ENTRIES = all_entries()
NEEDED = {
    *(f"eq-{number}" for number in range(1, 33)),
    *("A", "B", "Q", "B-positive", "jump", "jump-minimum", "kink-two-levels", "kink-many-levels"),
    *("lemma-3.1", "lemma-4.1", "lemma-4.2", "lemma-4.3", "lemma-4.4", "theorem-4.5", "corollary-4.6"),
    *("limit-one-level", "limit-large-quantum", "limit-foreground-background", "overhead-approximation"),
    *(f"law-{name.lower()}" for name in HOMES),
}
# statements about all levels, proved from J to J + 1
BY_INDUCTION = [
    *("eq-9", "eq-10", "eq-14", "eq-16", "eq-17", "eq-18", "eq-19", "eq-20", "eq-21", "eq-23-a", "eq-23-X"),
    *("eq-26", "eq-27", "eq-28", "lemma-4.3", "theorem-4.5", "theorem-4.5-by-level", "theorem-4.5-carried"),
]


@pytest.mark.parametrize("name", ENTRIES)
def test_entry_passes(name: str) -> None:
    verdict = verify_entry(ENTRIES[name])
    assert verdict.outcome.holds, verdict.outcome.evidence
    for refutation in verdict.refutations:
        assert refutation.refuted, f"{refutation.description}: {refutation.evidence}"
    assert verdict.passed
    assert verdict.outcome.evidence


def test_every_statement_of_the_paper_is_there() -> None:
    assert set(ENTRIES) >= NEEDED


def test_every_entry_says_what_it_is() -> None:
    for entry in ENTRIES.values():
        assert entry.method in METHODS
        assert entry.statement
        assert entry.latex
        assert entry.source
        assert explanation(entry), entry.name
        assert entry.latex.count("{") == entry.latex.count("}"), entry.name
        assert "\\\\" not in entry.latex.replace(r"\\ ", "").replace("\\\\\\", ""), entry.name


def test_no_entry_without_a_wrong_variant() -> None:
    entry = ENTRIES["eq-6"]
    with pytest.raises(ValueError, match="no wrong variant"):
        replace(entry, variants={})
    with pytest.raises(ValueError, match="no method"):
        replace(entry, method="belief")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BY_INDUCTION)
def test_induction_mentions_no_number_of_levels(name: str) -> None:
    outcome = ENTRIES[name].check(ENTRIES[name].claim())
    for step in outcome.steps:
        assert not re.search(r"k = \d", step.operation), step.operation
        for node in step.result.atoms(sp.Indexed):
            index = node.indices[0]
            # t_1 and c_1 occur where the induction starts; everything else is at a symbolic level
            assert index.free_symbols or index == 1, f"{name}: {node} in {step.operation}"
    grown = [step for step in outcome.steps if isinstance(step.result, sp.Basic) and step.result.has(level)]
    assert grown, f"{name} has no step at a symbolic level"


def test_the_two_routes_are_compared_at_symbolic_levels_only() -> None:
    steps = ENTRIES["lemma-4.3"].check(ENTRIES["lemma-4.3"].claim()).steps
    growth = next(step.result for step in steps if "growth" in step.operation)
    assert growth.has(level)
    assert growth.has(levels)
    assert growth.has(sp.Sum)


# verification itself

x, y, z = sp.symbols("x y z", positive=True)


def entry_of(claim: object, *variants: object) -> Entry:
    def check(statement: sp.Expr) -> Outcome:
        return identities([("a square", statement, (x + 1) ** 2)])

    return Entry(
        "square",
        "a square",
        "(x+1)^2",
        "school",
        lambda: claim,
        check,
        {str(number): lambda form=form: form for number, form in enumerate(variants)},
    )


def test_to_pass_needs_truth_and_refutation() -> None:
    true, wrong = x**2 + 2 * x + 1, x**2 + x + 1
    assert verify_entry(entry_of(true, wrong)).result == "proved"
    assert verify_entry(entry_of(wrong, wrong)).result == "FAILED"
    assert verify_entry(entry_of(true, true)).result == "NOT REFUTED"
    assert not verify_entry(entry_of(true, wrong, true)).passed


def test_a_check_that_breaks_off_has_shown_nothing() -> None:
    true, broken = x**2 + 2 * x + 1, "no expression"
    assert verify_entry(entry_of(broken, x)).result == "FAILED"
    assert verify_entry(entry_of(true, broken)).result == "NOT REFUTED"


def test_selection_by_name_and_section() -> None:
    assert [entry.name for entry in select(["eq-16", "B", "eq-16"])] == ["eq-16", "B"]
    assert {entry.name for entry in select(["laws"])} == {
        name for name in ENTRIES if name.startswith(("law-", "special-"))
    }
    assert tuple(entry.name for entry in select()) == tuple(ENTRIES)
    assert not set(SECTIONS) & set(ENTRIES)


@pytest.mark.parametrize(
    ("name", "close"), [("eq-166", "eq-16"), ("lemma-43", "lemma-4.3"), ("a", "A"), ("LAWS", "laws")]
)
def test_unknown_names_are_refused_with_close_ones(name: str, close: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(close)):
        select([name])


def test_verdicts_come_in_order() -> None:
    assert [verdict.entry.name for verdict in verify_entries(select(["eq-7", "eq-6"]))] == ["eq-7", "eq-6"]


# algebra

rationals = st.fractions(min_value=-5, max_value=5, max_denominator=6)
forms = st.recursive(
    st.one_of(rationals.map(lambda q: sp.Rational(q.numerator, q.denominator)), st.sampled_from([x, y, z])),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: sp.Add(*pair)),
        st.tuples(inner, inner).map(lambda pair: sp.Mul(*pair)),
        st.tuples(inner, st.integers(-2, 3)).map(lambda pair: pair[0] ** pair[1] if pair[0] != 0 else pair[0]),
    ),
    max_leaves=10,
)


@given(forms, forms)
def test_flint_and_sympy_agree_on_what_is_zero(left: sp.Expr, right: sp.Expr) -> None:
    assume(not left.has(sp.zoo, sp.nan) and not right.has(sp.zoo, sp.nan))
    product = left * right + right
    assert vanishes(product - right * (left + 1))
    difference = left - right
    assert vanishes(difference) == (sp.cancel(sp.together(difference)) == 0)
    assert vanishes(difference) == checks.reduces_to_zero(difference)


@given(forms)
def test_a_rational_function_has_the_value_of_its_expression(form: sp.Expr) -> None:
    assume(not form.has(sp.zoo, sp.nan))
    places = {x: sp.Rational(3, 7), y: sp.Rational(11, 5), z: sp.Rational(2, 9)}
    exact = form.xreplace(places)
    assume(exact.is_Rational)
    assert vanishes(Constant(form, places) - exact)


def Constant(form: sp.Expr, places: dict[sp.Symbol, sp.Rational]) -> sp.Expr:
    """The value by python-flint, as a SymPy number."""
    atoms = Atoms.of(form)
    function = atoms.read(form)
    point = [fmpq(int(places[atom].p), int(places[atom].q)) for atom in atoms_of(form)] or [fmpq(0)]
    result = function.numerator(*point)
    for factor, power in function.denominator:
        result /= factor(*point) ** power
    return sp.Rational(int(result.p), int(result.q))


def test_products_beyond_the_limit_are_refused() -> None:
    form = (x + y + z + 1) ** 20 * (x - y + z - 1) ** 20
    with pytest.raises(TooLargeError):
        Atoms.of(form, limit=1000).read(form)


def test_positive_needs_all_coefficients() -> None:
    assert is_positive((x + y) / (1 + z) ** 2)
    assert not is_positive(x - y)
    assert not is_positive(x / (x - y))
    assert not is_positive(sp.S.Zero)


def test_everything_and_nothing() -> None:
    assert not identities([]).holds
    assert not everything().holds
    assert not everything(Outcome(True, "yes"), Outcome(False, "no")).holds
    assert everything(Outcome(True, "yes"), Outcome(False, "no")).evidence == "no"


# induction


def test_peeled_sums_keep_their_value() -> None:
    folded = total(lambda r: cost[r] * total(lambda s: boundary[s], r, levels, "s"), level, levels)
    split = peeled(folded, level + 2, level - 1)
    assert split != folded
    places = {level: 2, levels: 6}
    values = {cost[i]: sp.Integer(i**2 + 1) for i in range(8)} | {boundary[i]: sp.Integer(3 * i + 2) for i in range(8)}

    def number(expression: sp.Expr) -> sp.Expr:
        return expression.subs(places).doit().subs(values)

    assert number(split) == number(folded)
    grown = total(lambda r: cost[r], 1, level + 3)
    assert peeled(grown, level + 2, level - 1) == sp.Sum(
        cost[sp.Symbol("r", integer=True, positive=True)], (sp.Symbol("r", integer=True, positive=True), 1, level - 1)
    ) + sum(cost[level + i] for i in range(4))


# digits, enclosures, scores


def test_fifty_digits_are_those_of_the_numeric_layer() -> None:
    formulas = Gamma.formulas()
    numbers = dict(zip(formulas.parameters, (sp.Rational(7, 10), sp.Integer(240)), strict=True))
    law = ServiceLaw(
        formulas, {**numbers, slowdown_threshold: sp.Integer(500), slowdown_factor: sp.Rational(39, 100)}, value
    )
    queue = Queue(Gamma(0.7, 240.0), 0.001, slowdown_threshold=500.0, slowdown_factor=0.39)
    with mpmath.workdps(40):
        for size in (100, 700):
            service = float(law.service(sp.Integer(size)))
            found = [float(law.moment(order, sp.Integer(size), slowed=size > 500)) for order in range(3)]
            expected = [float(moment) for moment in queue.service_moments(service)[:3]]
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_allclose(float(law.mean()), queue.mean_service_time, rtol=1e-12)
        assert float(value(x**2, {x: mpmath.mpf(3)})) == 9.0


def test_agreement_counts_digits() -> None:
    with mpmath.workdps(60):
        third = mpmath.mpf(1) / 3
        assert agreement([("third", third, third)]).holds
        differs = agreement([("third", third, third + mpmath.mpf(10) ** -45)])
        assert not differs.holds
        left, right = differs.steps[0].operation.removeprefix("third: ").split(" and ")
        assert left != right
        assert not agreement([("nothing", mpmath.nan, third)]).holds
    assert not agreement([]).holds


def test_the_papers_setting_is_that_of_the_numeric_layer() -> None:
    size = LogNormal(5, 0.9)
    queue = Queue(size, 0.0036, slowdown_threshold=6 * size.mean, slowdown_factor=0.39, preemption_cost=0.1)
    law, terms = setting(arb(6)), two_level_terms()
    for multiple in (2.0, 9.0):
        at = multiple * size.mean
        expected = numeric_terms(queue, at)
        values = law.terms(terms, law.mean_size * arb(multiple), slowed=multiple > 6)
        np.testing.assert_allclose(float(ball(terms.A, values)), float(expected.A), rtol=1e-10)
        np.testing.assert_allclose(float(ball(terms.B, values)), float(expected.B), rtol=1e-10)
        np.testing.assert_allclose(float(values[terms.hazard]), float(expected.hazard), rtol=1e-10)


@given(st.floats(0.1, 5), st.floats(0, 0.5))
def test_a_ball_contains_the_values_in_its_box(middle: float, radius: float) -> None:
    form = sp.exp(-x) * sp.erfc(x) + sp.sqrt(x) / (1 + x**2) - sp.log(x)
    box = ball(form, {x: arb(middle, min(radius, middle / 2))})
    with mpmath.workdps(30):
        for place in (middle - min(radius, middle / 2), middle, middle + min(radius, middle / 2)):
            inside = (
                mpmath.exp(-place) * mpmath.erfc(place)
                + mpmath.sqrt(place) / (1 + mpmath.mpf(place) ** 2)
                - mpmath.log(place)
            )
            assert abs(arb(str(inside)) - box).lower() <= 1e-20


def test_what_cannot_be_enclosed_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be enclosed"):
        ball(sp.zeta(x), {x: arb(2)})


def test_bisection_says_no_where_it_cannot_say_yes() -> None:
    assert covered(lambda t: t * t + arb("0.01"), arb(-1), arb(1))[0]
    assert not covered(lambda t: t * t - arb("0.01"), arb(-1), arb(1))[0]
    assert not covered(lambda t: t * t, arb(-1), arb(1))[0]


def test_scores_refute_beyond_their_bound() -> None:
    assert scores([("mean", 1.0, 1.1, 0.1)], 1e-3).holds
    assert not scores([("mean", 1.0, 1.5, 0.1)], 1e-3).holds
    assert scores([("mean", 1.0, 1.5, 0.1)], 1e-3, freedom=2).holds
    assert not scores([("mean", 1.0, float("nan"), 0.1)], 1e-3).holds


# what is shown


def test_an_entry_is_shown_with_statement_derivation_and_variants() -> None:
    verdict = verify_entry(ENTRIES["eq-16"])
    text = "\n".join(shown(verdict))
    assert ENTRIES["eq-16"].statement in text
    assert ENTRIES["eq-16"].latex in text
    assert "growth from J + 1 down to J" in text
    assert r"\sum_{s=J + 2}^{k - 1}" in text
    assert "sum(F(t[s])*c[s], s = J + 2 .. k - 1)" in text
    assert text.count(": refuted.") == len(verdict.refutations)


def test_every_step_can_be_shown() -> None:
    for name in ("eq-9", "eq-13", "eq-30-digits", "lemma-4.1", "law-gamma", "eq-32", "kink-many-levels"):
        for step in ENTRIES[name].check(ENTRIES[name].claim()).steps:
            assert step.operation
            assert in_text(step.result)
            assert step.result is None or in_latex(step.result)


def test_text_uses_the_names_of_claims() -> None:
    assert in_text(UpperMoment(0, boundary[2]) * UpperMoment(1, 0) + mean(order=2)) == "F(t[2])*E[S] + E[S^2]"


def test_denominators_are_typeset_with_the_constant_first() -> None:
    assert in_latex(x / (y - 1)) == r"- \frac{x}{1 - y}"
    assert in_latex(-x / (y - 1) + z) == r"\frac{x}{1 - y} + z"
    assert in_latex((x - y * z) / (z - 2)) == r"\frac{y z - x}{2 - z}"
    assert in_latex(sp.Eq(x, x, evaluate=False)) == "x = x"


def test_typesetting_keeps_values() -> None:
    steps = [step.result for name in ("eq-16", "eq-29", "eq-30", "overhead-kink") for step in _steps(name)]
    forms = [x / (y - 1), -(x - y) * (z - 3) / (z - 2) ** 3, (1 - x) / (y - 2) - 1 / (x - 1) ** 2, sp.sqrt(x / (y - 1))]
    for form in steps + forms:
        assert as_number(readable(form)) == as_number(form)
    assert as_number(readable(x / (y - 1))) != as_number(x / (1 - y))


def _steps(name: str) -> tuple[Step, ...]:
    return ENTRIES[name].check(ENTRIES[name].claim()).steps


# the rule of thumb, which the numeric layer takes from the same expression


def test_rule_of_thumb_is_the_papers() -> None:
    values = {mean(): 2, mean(order=2): 9, arrival_rate: sp.Rational(1, 4), preemption_cost: sp.Rational(1, 2)}
    assert rule_of_thumb_quantum().subs(values) == 2 + 2 * sp.sqrt(sp.Rational(9, 2) / sp.Rational(1, 2))


def test_errata_names_entries_that_exist() -> None:
    page = (Path(__file__).parents[2] / "derivations" / "errata.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith(("| Where", "|--"))]
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`([^`]+)`", row.split(" | ")[-1])
        assert named or "Remark 1" in row
        assert set(named) <= set(ENTRIES), row


def test_sections_are_modules_of_functions_only() -> None:
    """The ledger keeps nothing but what `forget` empties: see the next test."""
    for modules in modules_below(sections.__name__, sections.__path__[0]).values():
        for module in modules:
            for name, member in vars(module).items():
                if member in CACHE:
                    continue
                assert not hasattr(member, "cache_clear"), f"{module.__name__}.{name}"
                assert not isinstance(member, partial), f"{module.__name__}.{name}"
                if inspect.isfunction(member) and member.__module__ == module.__name__:
                    assert member.__closure__ is None


def test_sections_are_the_modules_and_folders_of_their_folder() -> None:
    folder = Path(sections.__path__[0])
    inside = [*folder.iterdir(), *(folder / "beyond").iterdir()]
    names = {path.stem for path in inside if path.stem not in {"__init__", "__pycache__", "beyond"}}
    assert {name.replace("-", "_") for name in SECTIONS} == names
    assert set(sections.READING_ORDER) <= set(SECTIONS)
    assert all(section() for section in SECTIONS.values())


def test_nothing_that_was_derived_is_used_in_the_next_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = ENTRIES["eq-23-written-out"]
    assert verify_entry(entry).passed
    with monkeypatch.context() as patched:
        patched.setattr("mlptsym.symbolic.mean.waiting.service_before", lambda index: sp.S.Zero)
        assert verify_entry(entry).result == "FAILED"
    assert verify_entry(entry).passed
    forget()
