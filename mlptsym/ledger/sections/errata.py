"""What the paper leaves open or states inexactly, where no entry of another section decides it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import sympy as sp
from flint import arb, ctx, fmpq

from mlptsym.laws.exponential import Exponential
from mlptsym.laws.log_normal import LogNormal
from mlptsym.laws.lomax import Lomax
from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import Equations, everything, is_positive
from mlptsym.ledger.exact.enclosure import ball
from mlptsym.ledger.paper.notation import J, beta, gamma, lam, t, theta
from mlptsym.ledger.paper.setting import setting
from mlptsym.ledger.sections.policy import added_by_a_level
from mlptsym.ledger.sections.two_levels.corollary import response_time
from mlptsym.ledger.sections.two_levels.quantities import at_quantum
from mlptsym.ledger.sections.waiting.pieces import ends
from mlptsym.symbolic.algebra.cached import cached
from mlptsym.symbolic.algebra.symbols import restore_cost
from mlptsym.symbolic.mean.response import level_terms
from mlptsym.symbolic.mean.two_levels import two_level_terms
from mlptsym.symbolic.model.moments import UpperMoment, expectation, mean, tail
from mlptsym.symbolic.model.size_law import point
from mlptsym.symbolic.policies.algorithm import effective_load

# stability with preemption

Smaller = Callable[[str], bool]


half = sp.Rational(1, 2)
Orders = tuple[sp.Rational, sp.Rational]


@entry(
    "smaller-region",
    "MLPT has a smaller stability region than FCFS exactly if a cost c_r > 0 is paid with positive probability",
    r"\rho_k^{\mathrm{eff}} - \rho_0 = \lambda\sum_{r=1}^{k-1}c_r\bar F(t_r) > 0"
    r"\iff c_r\bar F(t_r)>0\ \text{for some } r",
    lambda case: case.startswith("c_r > 0"),
    ("whenever it preempts, as printed", lambda case: not case.startswith("F̄")),
    ("never", lambda case: False),
    source="section 3: 'any policy that preempts with positive probability has a smaller stability region'",
)
def check_smaller_region(claim: Smaller) -> Outcome:
    """ρ_k^eff − ρ_0 grows by λ c_J F̄(t_J) from each number of levels to the next; its sign, case by case."""
    growth = sp.expand(lam * expectation(added_by_a_level(), ends(J)))
    added = sp.expand(effective_load(2) - effective_load(1))
    due, reached = sp.symbols("c_J F_J", positive=True)
    steps, holds = [Step("ρ_{J+1}^eff − ρ_J^eff", growth)], True
    cases = {
        "c_r > 0, F̄(t_r) > 0": (due, reached),
        "γ = 0 or g(t_r) = 0: c_r = 0": (0, reached),
        "F̄(t_r) = 0": (due, 0),
    }
    for words, (paid, survivors) in cases.items():
        value = growth.subs({restore_cost(J): paid, tail(t(J)): survivors})
        smaller = bool(value != 0) and is_positive(value)
        holds = holds and smaller == claim(words) and (smaller or value == 0)
        steps.append(Step(f"{words}: {'smaller' if smaller else 'the same'}", value))
    return everything(
        [
            ("for every k", growth, lam * restore_cost(J) * tail(t(J))),
            ("two levels", added, lam * restore_cost(1) * tail(t(1))),
        ],
        Outcome(holds, "; ".join(step.operation for step in steps[1:]), tuple(steps)),
    )


# figure 2


@entry(
    "figure-2-means",
    "E[L] is 53 for Exp(1/53) and 51.68 for LogNorm(3.1, 1.3)",
    r"\mathbb E[L] = e^{\mu+\sigma^2/2} = e^{3.945} = 51.68",
    lambda: (53, fmpq(5168, 100)),
    ("53 for both", lambda: (53, fmpq(53))),
    source="figure 2, which states 53 for both",
    method="enclosure",
)
def check_figure_means(claim: tuple[int, Any]) -> Outcome:
    """The package's E[L] for Exp(1/53) and LogNorm(3.1, 1.3), in interval arithmetic."""
    first, second = claim
    with ctx.workprec(128):
        exponential_mean = ball(
            Exponential.formulas().moment(1), {Exponential.formulas().parameters[0]: arb(fmpq(1, 53))}
        )
        mu, sigma = LogNormal.formulas().parameters
        lognormal_mean = ball(LogNormal.formulas().moment(1), {mu: arb(fmpq(31, 10)), sigma: arb(fmpq(13, 10))})
        near = [
            bool(abs(found - value) < arb(fmpq(1, 200)))
            for found, value in ((exponential_mean, first), (lognormal_mean, arb(second)))
        ]
    found = f"E[L] = {exponential_mean.str(6, radius=False)} and {lognormal_mean.str(6, radius=False)}"
    return Outcome(all(near), found)


@entry(
    "figure-2-tails",
    "the log-normal law has the larger E[(L − ℓ_C)⁺], as printed and scaled to the mean 53 alike",
    r"\mathbb E[(L_{\mathrm{LogNorm}}-\ell_C)^+] > \mathbb E[(L_{\mathrm{Exp}}-\ell_C)^+],\quad \ell_C = 256/3.75",
    1,
    ("the smaller", lambda: -1),
    source="section 3, reading of figure 2",
    method="enclosure",
)
def check_figure_tails(claim: int) -> Outcome:
    """E[(L − ℓ_C)⁺] of both laws at ℓ_C = 256/3.75, and of the log-normal law scaled to the mean 53."""
    with ctx.workprec(128):
        threshold = arb(fmpq(25600, 375))
        nu = Exponential.formulas().parameters[0]
        mu, sigma = LogNormal.formulas().parameters
        excesses = [_excess(Exponential.formulas(), {nu: arb(fmpq(1, 53))}, threshold)]
        spread = {sigma: arb(fmpq(13, 10))}
        scaled = arb(53).log() - arb(fmpq(169, 200))
        excesses += [
            _excess(LogNormal.formulas(), {**spread, mu: location}, threshold)
            for location in (arb(fmpq(31, 10)), scaled)
        ]
        larger = all(bool(claim * (excess - excesses[0]) > 0) for excess in excesses[1:])
    return Outcome(larger, "E[(L − ℓ_C)⁺] = " + ", ".join(excess.str(5, radius=False) for excess in excesses))


def _excess(law: Any, parameters: dict[sp.Expr, arb], threshold: arb) -> arb:
    values = {**parameters, point: threshold}
    return ball(law.closed_moment(1) - point * law.closed_moment(0), values)


# (15) where it is a difference of infinities


@entry(
    "infinite-square",
    "k = ∞, P(S > t) = (1 + t)^(−7/2), linear cost: E[(S^eff)²] = ∞ and (15) is ∞ − ∞, yet Σ E[Y_r²] and d_J are"
    " finite",
    r"a_J\mathbb E[Y_{J+1}]\sim J^{-1/2},\quad \mathbb E[Y_{J+1}^2]\sim J^{-3/2}",
    lambda: ((-half, -3 * half), False, True),
    ("E[(S^eff)²] finite", lambda: ((-half, -3 * half), True, True)),
    ("both sums infinite", lambda: ((-half, -half), False, False)),
    source="eq. (15)",
    given=(sp.Rational(7, 2),),
)
def check_infinite_square(shape: sp.Rational, claim: tuple[Orders, bool, bool]) -> Outcome:
    """Lomax S with linear costs: how a_J E[Y_{J+1}] and E[Y_{J+1}²] fall with J, and whether their sums are finite.

    E[(S^eff)²] = Σ E[Y_r²] + 2 Σ a_{r−1} E[Y_r] needs both sums; d_1 of the piecewise route needs the first only.
    """
    orders, products_finite, squares_finite = claim
    law = Lomax.formulas()
    where = {law.parameters[0]: shape, law.parameters[1]: 1}
    x, n = sp.Symbol("x", positive=True), sp.Symbol("n", positive=True)
    moments = [law.closed_moment(order).subs(where).subs(point, x) for order in range(3)]
    terms = level_terms(J + 1)
    unit = sp.Rational(1, 10)
    before = n + unit * n * (n - 1) / 2  # a_J = Jθ + γθ J(J − 1)/2 with θ = 1
    found = []
    for term in (terms.piece_mean * before, terms.piece_square):
        placed = term
        for index, place in ((J, n), (J + 1, n + 1)):
            placed = placed.subs({UpperMoment(k, t(index)): moments[k].subs(x, place) for k in range(3)})
            placed = placed.subs({t(index): place, restore_cost(index): unit * place})
        found.append(placed)
    steps, holds = [], True
    for words, term, power, finite in zip(
        ("a_J E[Y_{J+1}]", "E[Y_{J+1}²]"), found, orders, (products_finite, squares_finite), strict=True
    ):
        scaled = sp.simplify(term * (1 + n) ** shape)  # a polynomial and powers of ratios that tend to one
        limit = sp.limit(scaled * n ** (-power - shape), n, sp.oo)
        right = bool(limit.is_finite) and bool(limit.is_positive) and finite == (power < -1)
        holds = holds and right
        steps.append(Step(f"{words} · J^({-power}) → {limit}", scaled))
    return Outcome(holds, "both orders of decay as stated" if holds else "another order of decay", tuple(steps))


@entry(
    "infinite-overhead",
    "k = ∞, P(S > t) = (1 + t)^(−3/2), linear cost: E[S] is finite, E[S^eff] infinite for every θ",
    r"c_J\bar F(t_J)\sim J^{-1/2}",
    lambda: (3 * half, -half, False),
    ("finite", lambda: (3 * half, -half, True)),
    ("falls as J^(−3/2)", lambda: (3 * half, -3 * half, True)),
    source="section 4.2: optimising θ brings the stability region arbitrarily close to that of FCFS",
)
def check_infinite_overhead(claim: tuple[sp.Rational, sp.Rational, bool]) -> Outcome:
    """c_J F̄(t_J), what level J + 1 adds to E[S^eff], falls as J^(1 − shape) for Lomax S: summable if shape > 2."""
    shape, power, finite = claim
    law = Lomax.formulas()
    n = sp.Symbol("n", positive=True)
    survival = law.closed_moment(0).subs({law.parameters[0]: shape, law.parameters[1]: 1}).subs(point, n)
    added = expectation(added_by_a_level(), ends(J)).subs(tail(t(J)), survival).subs(restore_cost(J), gamma * n)
    limit = sp.limit(sp.simplify(added * (1 + n) ** shape) * n ** (-power - shape), n, sp.oo)
    holds = bool(limit.is_finite) and limit == gamma and finite == (power < -1)
    words = f"the term falls as J^({power}): the overhead is {'finite' if power < -1 else 'infinite'}"
    return Outcome(holds, words if holds else f"not so: limit {limit}", (Step("growth of E[S^eff]", added),))


# cost by tokens


@entry(
    "token-cost",
    "cost by tokens, c = γ q⁻¹(t): A = q′A_0 + γA_1, so A/B jumps by less than 1/β at ℓ_C",
    r"A(\ell_C^+) = \frac1\beta A_0 + \gamma A_1 \ne \frac1\beta A(\ell_C^-)",
    lambda jumping, constant: jumping / beta + constant,
    ("A jumps by 1/β", lambda jumping, constant: (jumping + constant) / beta),
    source="eqs. (4), (8): attained service is measured in S, memory in tokens",
)
def check_token_cost(claim: Callable[[sp.Expr, sp.Expr], sp.Expr]) -> Equations:
    """c = γ q⁻¹(t), the tokens made so far: dc/dθ = γ/q′, so a part of A is free of q′ and does not jump at ℓ_C."""
    terms = two_level_terms()
    slope = terms.service_slope
    by_tokens = terms.A.subs(terms.restore_slope, gamma / slope)
    jumping = terms.A.subs(terms.restore_slope, 0).subs(slope, 1)
    constant = gamma * sp.diff(terms.A, terms.restore_slope).subs(slope, 1)
    return [
        ("A with c by tokens", by_tokens, slope * jumping + constant),
        ("A at ℓ_C⁺", by_tokens.subs(slope, 1 / beta), claim(jumping, constant)),
    ]


# several minima


@cached
def slope_signs() -> list[arb]:
    """T′(x)/F̄_L at multiples of E[L], k = 2 and ℓ_C = 7E[L], at the paper's parameters."""
    terms = two_level_terms()
    with ctx.workprec(160):
        law = setting(arb(7))
        found = []
        for place in (fmpq(1, 5), fmpq(2), fmpq(11, 2), fmpq(69, 10), fmpq(71, 10), fmpq(30)):
            x = law.mean_size * place
            values = law.terms(terms, x, slowed=bool(x > law.threshold))
            found.append(ball(terms.A - terms.B * terms.hazard, values))
    return found


@entry(
    "several-minima",
    "two levels, ℓ_C = 7E[L]: E[T] rises from θ = 0, falls, rises, falls and has a second local minimum at ℓ_C",
    r"\operatorname{sgn}T'(x) = +,-,+,-,+,+\quad\text{at } x/\mathbb E[L] = 0.2,\,2,\,5.5,\,6.9,\,7.1,\,30",
    lambda: (1, -1, 1, -1, 1, 1),
    ("one minimum, at ℓ_C", lambda: (1, -1, -1, -1, 1, 1)),
    ("one minimum, before ℓ_C", lambda: (1, -1, 1, 1, 1, 1)),
    source="section 4.3: 'E[T(θ)] is in general not convex'",
    method="enclosure",
)
def check_minima(claim: tuple[int, ...]) -> Outcome:
    """Signs of T′ at x = 0.2, 2, 5.5, 6.9, 7.1 and 30 times E[L], for ℓ_C = 7E[L], in interval arithmetic."""
    signs = slope_signs()
    holds = all(bool(sign * value > 0) for sign, value in zip(claim, signs, strict=True))
    shown = " ".join("+" if value > 0 else "−" if value < 0 else "?" for value in signs)
    return Outcome(holds, f"signs of T′: {shown}")


@cached
def responses() -> dict[str, arb]:
    """E[T] for two levels at ℓ_C = 7E[L]: at x = 4.52E[L], at ℓ_C, and FCFS."""
    time = response_time(at_quantum())
    with ctx.workprec(160):
        law = setting(arb(7))
        fixed = {**law.numbers, mean(): law.mean(), mean(order=2): law.mean(2)}
        found = {}
        for name, place in (("4.52E[L]", fmpq(452, 100)), ("7E[L] = ℓ_C", fmpq(7))):
            x = law.mean_size * place
            here = {UpperMoment(n, theta): law.moment(n, x, slowed=False) for n in range(3)}
            found[name] = ball(time, {**fixed, **here, theta: x})
        none = {UpperMoment(n, theta): arb(0) for n in range(3)}
        found["FCFS"] = ball(time, {**fixed, **none, theta: arb(0)})
    return found


@entry(
    "strict-but-not-best",
    "at ℓ_C = 7E[L] the jump makes ℓ_C a strict local minimum, but x = 4.52E[L] is better",
    r"\mathbb E[T(4.52\,\mathbb E[L])] < \mathbb E[T(\ell_C)] < \mathbb E[T_{\mathrm{FCFS}}],\quad \ell_C = 7\mathbb E[L]",
    ("4.52E[L]", "7E[L] = ℓ_C", "FCFS"),
    ("ℓ_C is best", ("7E[L] = ℓ_C", "4.52E[L]", "FCFS")),
    ("FCFS is best", ("FCFS", "4.52E[L]")),
    source="eq. (32) with b = 7",
    method="enclosure",
)
def check_order(claim: tuple[str, ...]) -> Outcome:
    """Enclosures of E[T] in the order stated."""
    values = responses()
    holds = all(bool(values[lower] < values[higher]) for lower, higher in itertools.pairwise(claim))
    return Outcome(holds, ", ".join(f"E[T] = {value.str(7, radius=False)} at {name}" for name, value in values.items()))
