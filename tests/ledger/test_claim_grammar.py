"""The grammar and vocabulary of claims: what is read, what is refused and where, and that nothing takes long."""

import ast
import time
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import mlptsym.ledger
from mlptsym.ledger.claims import decision
from mlptsym.ledger.claims.decision import decide
from mlptsym.ledger.claims.expression import Reader
from mlptsym.ledger.claims.grammar import parse
from mlptsym.ledger.claims.queues import queues
from mlptsym.ledger.claims.tree import ClaimError, Literal, Power
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, quantum
from mlptsym.symbolic.model.moments import UpperMoment, mean

SECONDS = 20  # of processor time, for the largest claim


def read(text: str) -> sp.Expr:
    node, _ = parse(f"{text} == 0")
    return Reader(text).read(node)


# numbers and operations


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2*3", "7"),
        ("2*3^2", "18"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("2**3", "8"),
        ("2^-1", "1/2"),
        ("8/4/2", "1"),
        ("8/(4/2)", "4"),
        ("1 - 2 - 3", "-4"),
        ("1 - (2 - 3)", "2"),
        ("- - 3", "3"),
        ("0.1", "1/10"),
        (".5", "1/2"),
        ("2.", "2"),
        ("1e3", "1000"),
        ("2.5E-1", "1/4"),
        ("1/3 + 1/6", "1/2"),
        ("5^0", "1"),
    ],
)
def test_numbers_are_exact(text: str, value: str) -> None:
    assert read(text) == sp.Rational(value)


numbers = st.integers(0, 999).map(str)
expressions = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        st.tuples(inner, st.integers(0, 3)).map(lambda parts: f"({parts[0]})**{parts[1]}"),
        inner.map(lambda part: f"(-{part})"),
    ),
    max_leaves=12,
)


@given(expressions)
def test_arithmetic_is_that_of_python(text: str) -> None:
    try:
        found = read(text)
    except ClaimError as error:
        assert "exceed" in error.reason or "brackets" in error.reason
        return
    assert found == _arithmetic(ast.parse(text, mode="eval").body)


def _arithmetic(node: ast.AST) -> Fraction:
    match node:
        case ast.Constant(value=value):
            return Fraction(value)
        case ast.UnaryOp(operand=operand):
            return -_arithmetic(operand)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _arithmetic(left), _arithmetic(right)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case _:
                    return a**b
    raise AssertionError(node)


def test_an_exponent_is_a_literal() -> None:
    left, _ = parse("lambda^2 == 0")
    assert isinstance(left, Power)
    assert left.exponent == 2


def test_positions_are_those_of_the_text() -> None:
    left, right = parse("  12 == 7")
    assert isinstance(left, Literal)
    assert isinstance(right, Literal)
    assert (left.position, right.position) == (2, 8)


# names


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("lambda", arrival_rate),
        ("λ", arrival_rate),
        ("theta", quantum),
        ("θ", quantum),
        ("E[S]", mean()),
        ("E[S^2]", mean(order=2)),
        ("F(theta)", UpperMoment(0, quantum)),
        ("M(2, t[1])", UpperMoment(2, attained(1))),
        ("F(0)", sp.S.One),
        ("E[1]", sp.S.One),
        ("rho_0", arrival_rate * mean()),
        ("E[above(t[1])]", UpperMoment(0, attained(1))),
        ("p(1, 2)", 1 - UpperMoment(0, attained(1))),
    ],
)
def test_names(text: str, expression: sp.Expr) -> None:
    assert sp.expand(read(text) - expression) == 0


# refusals, each with its position (from 1) and a word of the reason

REFUSALS = [
    ("", 1, "expected"),
    ("1", 2, "expected =="),
    ("1 == ", 6, "expected"),
    ("1 == 2 == 3", 8, "end"),
    ("1 = 1", 3, "no meaning"),
    ("lambda == 1 # comment", 13, "no meaning"),
    ("__import__('os') == 1", 1, "no meaning"),
    ("exec(1) == 1", 1, "no known name"),
    ("lambda: 1 == 1", 7, "no meaning"),
    ("S.__class__ == 1", 2, "no meaning"),
    ("E[S].free_symbols == 1", 5, "no meaning"),
    ("'a' == 1", 1, "no meaning"),
    ("{1} == 1", 1, "no meaning"),
    ("oo == 1", 1, "no known name"),
    ("Symbol(1) == 1", 1, "no known name"),
    ("lamda == 1", 1, "close: lambda"),
    ("2 theta == 1", 3, "expected =="),
    ("theta(2) == 1", 1, "no arguments"),
    ("S == 1", 1, "write E[...]"),
    ("F == 1", 1, "needs arguments"),
    ("F(lambda) == 1", 3, "expected theta, t[r] or 0"),
    ("F(2) == 1", 3, "expected theta, t[r] or 0"),
    ("M(4, theta) == 1", 3, "indices from 0 to 3"),
    ("M(theta) == 1", 1, "M(n, t)"),
    ("t[0] == 1", 3, "indices from 1"),
    ("t[4] == 1", 3, "indices from 1 to 3"),
    ("t[1/2] == 1", 3, "whole number"),
    ("T(9) == 1", 3, "indices from 1 to 4"),
    ("d(3, 2) == 1", 3, "indices from 1 to 2"),
    ("d(1) == 1", 1, "2 arguments"),
    ("v(1, 3) == 1", 3, "indices from 2"),
    ("min(1, 2) == 1", 1, "inside E[...]"),
    ("q(1) == 1", 1, "inside E[...]"),
    ("E[1/S] == 1", 5, "no division by a random"),
    ("E[S^-1] == 1", 4, "no division by a random"),
    ("E[min(theta, S)] == 1", 3, "expected min(S, t)"),
    ("E[min(S, lambda)] == 1", 10, "expected theta"),
    ("E[S*L] == 1", 1, "cannot stand in one expectation"),
    ("E[min(S, theta)*above(t[1])] == 1", 1, "order is not known"),
    ("E[T] == 1", 3, "cannot stand inside"),
    ("E[(S + theta + gamma + lambda + beta)^12] == 1", 1, "terms inside expectations"),
    ("lambda^31 == 1", 8, "at most 30"),
    ("lambda^1000000 == 1", 8, "at most 30"),
    ("lambda^theta == 1", 8, "whole number"),
    ("lambda^2.5 == 1", 8, "whole number"),
    ("lambda^2^3 == 1", 9, "needs brackets"),
    ("((lambda^20)^20) == 1", 14, "exceed"),
    ("1e999 == 1", 1, "digits"),
    ("1" * 50 + " == 1", 1, "digits"),
    ("(" * 60 + "1" + ")" * 60 + " == 1", 41, "inside each other"),
    ("-" * 60 + "1 == 1", 41, "inside each other"),
    ("1 == " + "1+" * 2000 + "1", 2001, "2000 characters"),
    ("1/0 == 1", 2, "division by zero"),
    ("1/(theta - theta) == 1", 2, "division by zero"),
    ("(lambda - lambda)^-1 == 1", 18, "division by zero"),
]


@pytest.mark.parametrize(("text", "position", "word"), REFUSALS, ids=[row[0][:24] or "empty" for row in REFUSALS])
def test_refused_with_its_position(text: str, position: int, word: str) -> None:
    with pytest.raises(ClaimError) as caught:
        decide(text)
    assert caught.value.position + 1 == position
    assert word in caught.value.reason


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text)
    except ClaimError as error:
        assert 0 <= error.position <= len(text)


@given(
    st.lists(
        st.sampled_from([*"()[],+-*/^", "==", "**", "E", "S", "t", "T", "theta", "lambda", "1", "2", "0.5"]),
        max_size=25,
    )
)
def test_any_sequence_of_pieces_is_decided_or_refused(pieces: list[str]) -> None:
    try:
        decide(" ".join(pieces))
    except ClaimError as error:
        assert error.reason


def test_no_text_is_ever_evaluated() -> None:
    """No eval, exec, compile, sympify of text or SymPy parser in the modules that read a claim."""
    folder = Path(str(mlptsym.ledger.__file__)).parent / "claims"
    forbidden = {"eval", "exec", "compile", "parse_expr", "sympify", "S", "__import__", "lambdify"}
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                assert called not in forbidden, f"{path.name}:{node.lineno} calls {called}"


# proved and refuted

TRUE = [
    "1 + 1 == 2",
    "rho == rho_1 + rho_2",
    "rho_1 == lambda*E[S1]",
    "rho_2 == lambda*F(theta)*E[S2]",
    "d_1 == lambda*(E[S1^2] + F(theta)*E[S2^2])/(2*(1 - rho_1))",
    "d_2 == (lambda*E[(S + gamma*theta*above(theta))^2]/(2*(1 - rho)) + lambda*theta*E[S1])/(1 - rho_1)",
    "T == E[S] + gamma*theta*F(theta) + d_1 + F(theta)*rho/(1 - rho)*(theta + d_1)",
    "T' == F(theta)*(A - B*h_L)",
    "ES(3) == E[S] + c[1]*F(t[1]) + c[2]*F(t[2])",
    "dJ(1, 3) == W(1, 3)",
    "dJ(2, 2) == lambda*ES2(2)/2/(1 - rho(2))",
    "v(2, 3) == (Y(2, 3) + Y(3, 3))/F(t[1])",
    "a(2) == t[2] + c[1]",
    "T(2) == ES(2) + p(1, 2)*d(1, 2) + p(2, 2)*d(2, 2)",
    "E[q(L)] == E[L] + (1/beta - 1)*(M_L(1, ell_C) - ell_C*F_L(ell_C))",
    "E[max(S, t[1])] + E[min(S, t[1])] == E[S] + t[1]",
    "E[S*q] == theta*E[S]",
]
# true because S = q(L) and θ = q(x): eqs. (3), (5), (7), (30), and products with what is no part of them
TIED = [
    "E[S] == E[q(L)]",
    "rho_0 == lambda*E[q(L)]",
    "E[S^2] == E[q(L)^2]",
    "E[S] == E[L] + (1/beta - 1)*(M_L(1, ell_C) - ell_C*F_L(ell_C))",
    "rho_0 == lambda*(E[L] + (1/beta - 1)*E[max(L, ell_C) - ell_C])",
    "f(theta)*dq == h_L*F(theta)",
    "T' == F(theta)*A - f(theta)*dq*B",
    "(dq - 1)*(dq*beta - 1) == 0",
    "T(3)*E[S] == E[q(L)]*T(3)",
    "(F(theta) - F(t[2]))*E[S] == (F(theta) - F(t[2]))*E[q(L)]",
]
FALSE = [
    "1 + 1 == 3",
    "rho == rho_1 - rho_2",
    "d_1 == lambda*(E[S1^2] + F(theta)*E[S2^2])/(1 - rho_1)",
    "T == E[S] + (1 - gamma)*theta*F(theta) + d_1 + F(theta)*rho/(1 - rho)*(theta + d_1)",
    "B == gamma*theta",
    "T' == F(theta)*(A + B*h_L)",
    "T(3) == T(2)",
    "d(2, 2) == dJ(2, 2)",
    "O(1, 3) == lambda*F(t[1])*t[1]*v(2, 3) + lambda*F(t[2])*(t[2] - t[1] + c[2])*v(3, 3)",
    "E[S2] == E[S^2]",
    "f(theta) == h_L*F(theta)",
    "E[S] == E[L]",
    "E[S^2] == E[q(L)]^2",
    "dq == 1",
    "dq == 1/beta",
    "(10*gamma - 1)*(10*gamma - 2)*(10*gamma - 3)*(10*gamma - 4) == 0",
]


@pytest.mark.parametrize("text", [*TRUE, *TIED])
def test_true_claims_are_proved(text: str) -> None:
    result = decide(text)
    assert result.verdict == "proved"
    assert result.counterexample is None


@pytest.mark.parametrize("text", FALSE)
def test_false_claims_are_refuted_at_a_queue(text: str) -> None:
    result = decide(text)
    assert result.verdict == "refuted"
    assert result.counterexample is not None
    assert result.counterexample.left != result.counterexample.right


SAME = [
    ("E[S]", "E[q(L)]"),
    ("E[S^2]", "E[q(L)^2]"),
    ("E[S^3]", "E[q(L)^3]"),
    ("dq*f(theta)", "h_L*F(theta)"),
    ("rho_0", "lambda*(E[L] + (1/beta - 1)*E[max(L, ell_C) - ell_C])"),
    ("E[L]", "E[min(L, ell_C)] + E[max(L, ell_C)] - ell_C"),
    ("rho_2", "lambda*F(theta)*E[S2]"),
    ("d(2, 2)", "(dJ(2, 2) + lambda*t[1]*E[min(S, t[1])])/(1 - lambda*E[min(S, t[1])])"),
    ("q", "θ"),
    ("beta", "β"),
    ("3/2", "1.5"),
]
Sides = tuple[str, str]


def _both(parts: tuple[Sides, str, Sides]) -> Sides:
    first, sign, second = parts
    return f"({first[0]}) {sign} ({second[0]})", f"({first[1]}) {sign} ({second[1]})"


identities = st.recursive(
    st.sampled_from(SAME),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(_both),
        st.tuples(inner, st.integers(0, 2)).map(
            lambda pair: (f"({pair[0][0]})^{pair[1]}", f"({pair[0][1]})^{pair[1]}")
        ),
    ),
    max_leaves=4,
)


@given(identities, st.sampled_from(["F(theta)", "E[L]", "1/10^9", "c[1]*dq"]))
def test_no_true_claim_is_refuted_and_no_false_one_proved(sides: Sides, error: str) -> None:
    """Both sides from the same operations on equal quantities; then one of them with something added."""
    try:
        true, false = decide(" == ".join(sides)), decide(f"{sides[0]} == {sides[1]} + {error}")
    except ClaimError as refused:  # such as a division by a difference that is zero
        assert "divi" in refused.reason or "too large" in refused.reason
        return
    assert true.verdict == "proved"
    assert false.verdict == "refuted"


def test_a_claim_without_counterexample_is_never_called_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """γ is a tenth at the one queue that is left, and nowhere else."""
    first = next(queues())
    monkeypatch.setattr(decision, "queues", lambda *_: iter([first]))
    result = decide("gamma == 1/10")
    assert (result.verdict, result.counterexample) == ("undecided", None)


@pytest.mark.parametrize("text", ["1/(E[S] - E[q(L)]) == 2", "F(theta)/(E[L^2] - E[L^2]) == 1"])
def test_what_divides_by_zero_at_every_queue_means_nothing(text: str) -> None:
    with pytest.raises(ClaimError, match="divi"):
        decide(text)


def test_a_counterexample_is_a_stable_queue_with_the_moments_it_states() -> None:
    for queue in queues(0, 60):
        first, rate = queue.value(mean()), queue.symbols[arrival_rate]
        assert first is not None
        assert 0 < rate * first < 1
        assert queue.size.moment(0, Fraction(0)) == queue.service.moment(0, Fraction(0)) == 1
        assert queue.value(read("rho(4)")) < 1
        assert queue.value(read("rho")) < 1
        # E[S] of S = q(L), by the package's formula for the slowdown
        assert queue.value(read("E[q(L)]")) == first
        assert queue.value(read("E[q(L)^2]")) == queue.value(mean(order=2))
        assert queue.value(read("dq*f(theta)")) == queue.value(read("h_L*F(theta)"))


@pytest.mark.parametrize(
    "text",
    [
        "T(4)^30 == T(4)^29*T(3)",
        "(T(4) + d(3, 4))^2 == T(4)^2 + 2*T(4)*d(3, 4) + d(3, 4)^2",
        (
            "(lambda + gamma + theta + E[S] + F(theta))^30 * (c[1] + c[2] + c[3] + t[1])^30"
            " == (lambda + gamma + theta + E[S] + F(theta))^29 * (lambda + gamma + theta + E[S] + F(theta))"
            " * (c[1] + c[2] + c[3] + t[1])^30 + (1 - 1)"
        ),
        "((lambda + gamma)^2 - gamma^2)^30 == (lambda^2 + 2*lambda*gamma)^30",
        (
            "((lambda + gamma + theta + E[S] + c[1])^2)^30 == (lambda^2 + (gamma + theta + E[S] + c[1])^2"
            " + 2*lambda*(gamma + theta + E[S] + c[1]))^30"
        ),
        "E[(S + theta + gamma)^20] == 1",
        "+".join(["d(3, 4)"] * 200) + " == 200*d(3, 4)",
        "/".join(["T(3)"] * 100) + " == 1",
    ],
)
def test_bounded_in_time(text: str) -> None:
    start = time.process_time()
    try:
        decide(text)
    except ClaimError as error:
        assert "too large" in error.reason
    assert time.process_time() - start < SECONDS
