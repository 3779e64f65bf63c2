"""Sections 2 and 3: moments of a service time, memory, slowdown and stability without preemption, equations (1)–(7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy as sp

from mlptsym.ledger.entry import Outcome, Step, entry
from mlptsym.ledger.exact.checks import Equations, everything, is_positive
from mlptsym.ledger.paper.notation import L, S, beta, ell_C, gamma
from mlptsym.ledger.paper.printed import integral
from mlptsym.memory import memory_laws
from mlptsym.memory.linear import LinearMemory
from mlptsym.symbolic.algebra.symbols import age, arrival_rate
from mlptsym.symbolic.model import service as slowdown
from mlptsym.symbolic.model.memory import MemoryFormulas, restore_cost_at
from mlptsym.symbolic.model.moments import Density, Indicator, UpperMoment, expectation, mean, tail
from mlptsym.symbolic.policies.algorithm import effective_load

t, u, capacity, step = sp.symbols("t u C delta", positive=True)
Pieces = Sequence[tuple[sp.Expr, Sequence[tuple[Any, Any, Any]]]]
excess = sp.Symbol("E_excess", positive=True)

# moments


@entry(
    "upper-moments",
    "M_n(t) = E[S^n ; S > t]: dM_n/dt = −t^n f(t), M_0(0) = 1, M_n(∞) = 0",
    r"\frac{d}{dt}M_n(t) = -t^nf(t),\quad M_0(0)=1,\quad M_n(\infty)=0",
    lambda n: -(t**n) * Density(t),
    ("one power too many", lambda n: -(t ** (n + 1)) * Density(t)),
    ("rising", lambda n: t**n * Density(t)),
    source="definition; the moments every other statement is written in",
)
def check_upper_moments(claim: Callable[[int], sp.Expr]) -> Equations:
    """What the package knows of M_n: its derivative, M_0(0) and M_n(∞)."""
    equations = [(f"d/dt M_{n}(t)", UpperMoment(n, t).diff(t), claim(n)) for n in range(4)]
    chain = UpperMoment(1, t**2).diff(t)
    equations.append(("d/dt M_1(t²)", chain, 2 * t * claim(1).subs(t, t**2)))
    equations.append(("M_0(0)", tail(0), sp.S.One))
    equations += [(f"M_{n}(∞)", UpperMoment(n, sp.oo), sp.S.Zero) for n in range(3)]
    equations += [("d/dS 1{S > t}", Indicator(S, t).diff(S), sp.DiracDelta(S - t))]
    equations += [("d/dt 1{S > t}", Indicator(S, t).diff(t), -sp.DiracDelta(S - t))]
    equations += [("1{S > t}²", Indicator(S, t) ** 2, Indicator(S, t))]
    return equations


def piecewise() -> Pieces:
    """Functions of S with breakpoints t < u, and what each of them is between its breakpoints."""
    return (
        (sp.Min(S, t), [(0, t, S), (t, sp.oo, t)]),
        (sp.Min(S, t) ** 2, [(0, t, S**2), (t, sp.oo, t**2)]),
        (sp.Max(S, t), [(0, t, t), (t, sp.oo, S)]),
        (sp.Min(2 * S, 2 * t), [(0, t, 2 * S), (t, sp.oo, 2 * t)]),
        ((sp.Min(S, u) - t) ** 2 * Indicator(S, t), [(t, u, (S - t) ** 2), (u, sp.oo, (u - t) ** 2)]),
        (Indicator(S, t) * Indicator(S, u) * (2 * S - u), [(u, sp.oo, 2 * S - u)]),
        ((S + gamma * Indicator(S, t)) ** 2, [(0, t, S**2), (t, sp.oo, (S + gamma) ** 2)]),
    )


@entry(
    "expectation",
    "E of a function of S that is a polynomial between boundaries is the sum of ∫ p f over the intervals",
    r"\mathbb E[\varphi(S)] = \sum_i\int_{t_{i-1}}^{t_i}p_i(s)f(s)\,ds",
    piecewise,
    ("min(S, t) beyond t is S", lambda: ((sp.Min(S, t), [(0, sp.oo, S)]),)),
    ("1{S > t} squared counts twice", lambda: ((Indicator(S, t) ** 2, [(t, sp.oo, 2)]),)),
    ("1{S > t} is one below t", lambda: ((Indicator(S, t), [(0, t, 1)]),)),
    source="definition",
)
def check_expectation(claim: Pieces) -> Equations:
    """The operator against the integral over each interval, and job by job what 1{S > t} is at S = t."""
    return (
        (
            f"E[{function}]",
            expectation(function, [t, u]),
            sp.Add(
                *(
                    integral(sp.sympify(polynomial, strict=True), sp.sympify(a, strict=True), b)
                    for a, b, polynomial in parts
                )
            ),
        )
        for function, parts in claim
    )


# memory and slowdown


@entry(
    "eq-1",
    "M(t) = g(a): g(a) = αa grows to C at ℓ_C = C/α; every memory law is non-decreasing",
    r"M(t) = g(a_j(t)),\quad g(a)=\alpha a,\quad \ell_C = C/\alpha",
    lambda: (LinearMemory.formulas().parameters[0] * age, capacity / LinearMemory.formulas().parameters[0]),
    (
        "ℓ_C = αC",
        lambda: (LinearMemory.formulas().parameters[0] * age, capacity * LinearMemory.formulas().parameters[0]),
    ),
    ("g(a) = α", lambda: (LinearMemory.formulas().parameters[0], capacity / LinearMemory.formulas().parameters[0])),
)
def check_memory(claim: tuple[sp.Expr, sp.Expr]) -> Outcome:
    """The package's linear law, the age at which it reaches C; each of its laws rises, below a line that it touches."""
    growth, threshold = claim
    law = LinearMemory.formulas()
    (reached,) = sp.solve(law.growth - capacity, age)
    equations = [("g(a)", growth, law.growth), ("the age at which g(a) = C", threshold, reached)]
    steps, holds = [], True
    for name, memory in memory_laws().items():
        signs = sp.Tuple(*_rises_and_distances(memory.formulas()))
        holds = holds and all(sign.is_nonnegative for sign in signs)
        steps.append(Step(f"{name}: how g rises, its line less g, and far out its lag less that", signs))
    words = "every memory law rises below its line" if holds else "a memory law falls, or exceeds its line"
    return everything(equations, Outcome(holds, words, tuple(steps)))


def _rises_and_distances(law: MemoryFormulas) -> Iterator[sp.Expr]:
    """What must not be negative, before the kink of a law and beyond it, or within any of its steps."""
    steps = sp.Symbol("n", integer=True, nonnegative=True)
    part = 1 / (1 + step)  # of a step, in (0, 1)
    beyond = law.linear_from + step if law.step.is_zero else law.step * (steps + part)
    for place in [beyond] if law.linear_from.is_zero else [law.linear_from / 2, beyond]:
        intercept, slope = law.line
        if law.step.is_zero:
            here = law.growth.subs(age, place)
            yield sp.diff(law.growth, age).subs(age, place)
        else:
            # ⌈n + part⌉ = n + 1 for a whole n
            here = law.growth.subs(age, place).replace(sp.ceiling, lambda inside: sp.simplify(inside - part) + 1)
            yield sp.expand(here.subs(steps, steps + 1) - here)
        distance = sp.factor(sp.expand(intercept + slope * place - here))
        yield distance
        if place == beyond:
            yield sp.factor(law.lag - distance)


@entry(
    "eq-2",
    "the service rate is 1 while M(t) < C and β from M(t) = C on",
    r"\mu(t) = \begin{cases}1 & M(t)<C\\ \beta & M(t)\ge C\end{cases}",
    lambda: sp.Piecewise((1, age < ell_C), (beta, True)),
    ("β only beyond C", lambda: sp.Piecewise((1, age <= ell_C), (beta, True))),
    ("rates exchanged", lambda: sp.Piecewise((beta, age < ell_C), (1, True))),
)
def check_rate(claim: sp.Expr) -> Equations:
    """The package's rate before, at and after ℓ_C."""
    places = {"a < ℓ_C": ell_C / 2, "a = ℓ_C": ell_C, "a > ℓ_C": 2 * ell_C}
    return (
        (words, claim.subs(age, place), slowdown.service_rate().subs(age, place)) for words, place in places.items()
    )


@entry(
    "eq-3",
    "S = L + (1/β − 1)(L − ℓ_C)⁺",
    r"S = L + \Bigl(\frac1\beta-1\Bigr)(L-\ell_C)^+",
    lambda: service_as_printed,
    ("1/β for 1/β − 1", lambda x: x + sp.Max(x - ell_C, 0) / beta),
    ("1 − β for 1/β − 1", lambda x: x + (1 - beta) * sp.Max(x - ell_C, 0)),
    ("(ℓ_C − L)⁺", lambda x: x + (1 / beta - 1) * sp.Max(ell_C - x, 0)),
)
def check_service_time(claim: Callable[[sp.Expr], sp.Expr]) -> Equations:
    """The package's q(L), its inverse, and its slope as the reciprocal of the rate (2), on both sides of ℓ_C."""
    # L and L + 1 both before or both after ℓ_C, without a Min or Max left
    sides = {
        "L < ℓ_C": ({ell_C: L + 1 + step}, slowdown.service_rate(sp.S.Zero)),
        "L > ℓ_C": ({L: ell_C + step}, slowdown.service_rate(ell_C + step)),
    }
    equations = []
    for words, (place, rate) in sides.items():
        equations += [
            (f"q(L), {words}", claim(L).subs(place), slowdown.service_time().subs(place)),
            (f"q⁻¹(q(L)), {words}", slowdown.service_time_inverse(claim(L)).subs(place), L.subs(place)),
            (f"q(L + 1) − q(L), {words}", (claim(L + 1) - claim(L)).subs(place), 1 / rate),
        ]
    return equations


def service_as_printed(work: sp.Expr) -> sp.Expr:
    """(3)."""
    return work + (1 / beta - 1) * sp.Max(work - ell_C, 0)


@entry(
    "eq-4",
    "c(a) = γ g(a)",
    r"c(a) = \gamma g(a)",
    lambda: gamma * LinearMemory.formulas().parameters[0] * age,
    ("(1 − γ) g(a)", lambda: (1 - gamma) * LinearMemory.formulas().parameters[0] * age),
    ("γ for γ g(a)", lambda: gamma),
)
def check_restore_cost(claim: sp.Expr) -> Equations:
    """The package's c(a) for the linear law."""
    return [("c(a)", claim, restore_cost_at(LinearMemory.formulas()))]


def mean_as_printed() -> sp.Expr:
    """(5)."""
    return mean(L) + (1 / beta - 1) * integral(L - ell_C, ell_C, variable=L)


@entry(
    "eq-5",
    "E[S] = E[L] + (1/β − 1) ∫_{ℓ_C}^∞ (ℓ − ℓ_C) f_L(ℓ) dℓ",
    r"\mathbb E[S] = \mathbb E[L] + \Bigl(\frac1\beta-1\Bigr)\int_{\ell_C}^\infty(\ell-\ell_C)f_L(\ell)\,d\ell",
    mean_as_printed,
    ("∫ ℓ f", lambda: mean(L) + (1 / beta - 1) * integral(L, ell_C, variable=L)),
    ("1/β for 1/β − 1", lambda: mean(L) + integral(L - ell_C, ell_C, variable=L) / beta),
)
def check_mean(claim: sp.Expr) -> Equations:
    """E[q(L)] of the package, integrated on both sides of ℓ_C."""
    return [
        ("E[S]", claim, slowdown.service_mean()),
        ("E[(L − ℓ_C)⁺]", integral(L - ell_C, ell_C, variable=L), slowdown.excess_mean()),
    ]


@entry(
    "service-moments",
    "M_n of S = q(L) at q(x) in moments of L, on either side of ℓ_C, n = 0 … 3",
    r"\mathbb E[q(L)^n;L>x] = \int_x^{\ell_C}\ell^nf_L\,d\ell + \int_{\max(x,\ell_C)}^\infty"
    r"\Bigl(\ell_C+\frac{\ell-\ell_C}\beta\Bigr)^nf_L\,d\ell",
    lambda n, x, end: integral(L**n, x, end, variable=L),
    ("from 0 on", lambda n, x, end: integral(L**n, sp.S.Zero, end, variable=L)),
    ("slow from x on", lambda n, x, end: integral(L**n, x, end, variable=L) / beta**n),
    source="from eq. (3)",
)
def check_slow_moments(claim: Callable[[int, sp.Expr, sp.Expr], sp.Expr]) -> Equations:
    """The package's M_n of S = q(L) in moments of L, from each side of ℓ_C and for n = 0 … 3."""
    x = sp.Symbol("x", positive=True)
    equations = []
    for n in range(4):
        slow = (ell_C + (L - ell_C) / beta) ** n
        before = claim(n, x, ell_C) + integral(slow, ell_C, variable=L)
        equations += [
            (f"M_{n} at x ≤ ℓ_C", before, slowdown.service_upper_moment(n, x, slowed=False)),
            (f"M_{n} at x ≥ ℓ_C", integral(slow, x, variable=L), slowdown.service_upper_moment(n, x, slowed=True)),
            (f"E[S^{n}]", (before.subs(x, 0)), slowdown.service_mean(n)),
        ]
    return equations


@entry(
    "eq-6",
    "ρ_0 = λE[S]",
    r"\rho_0 = \lambda\mathbb E[S]",
    lambda: arrival_rate * mean(),
    ("E[S] for ρ_0", mean),
    ("λE[S²]", lambda: arrival_rate * mean(order=2)),
)
def check_base_load(claim: sp.Expr) -> Equations:
    """The package's load for one level, that is without preemption."""
    return [("ρ_1^eff", claim, effective_load(1))]


@entry(
    "eq-7",
    "ρ_0 = λ(E[L] + (1/β − 1) E[(L − ℓ_C)⁺])",
    r"\rho_0 = \lambda\Bigl(\mathbb E[L] + \Bigl(\frac1\beta-1\Bigr)\mathbb E[(L-\ell_C)^+]\Bigr)",
    lambda: arrival_rate * mean_as_printed(),
    ("no slowdown", lambda: arrival_rate * mean(L)),
    ("(1/β) E[(L − ℓ_C)⁺]", lambda: arrival_rate * (mean(L) + integral(L - ell_C, ell_C, variable=L) / beta)),
)
def check_split_load(claim: sp.Expr) -> Equations:
    """λE[q(L)]."""
    return [("ρ_0", claim, arrival_rate * slowdown.service_mean())]


@entry(
    "stability-grows",
    "∂E[S]/∂ℓ_C = −(1/β − 1) P(L > ℓ_C) and ∂E[S]/∂β = −E[(L − ℓ_C)⁺]/β²: more memory or a milder slowdown"
    " enlarges the stability region, if sizes exceed ℓ_C at all",
    r"\frac{\partial\mathbb E[S]}{\partial\ell_C} = -\Bigl(\frac1\beta-1\Bigr)\bar F_L(\ell_C),\quad"
    r"\frac{\partial\mathbb E[S]}{\partial\beta} = -\frac{\mathbb E[(L-\ell_C)^+]}{\beta^2}",
    lambda: (-(1 / beta - 1) * tail(ell_C, L), -excess / beta**2),
    ("rising in ℓ_C", lambda: ((1 / beta - 1) * tail(ell_C, L), -excess / beta**2)),
    ("1/β for 1/β²", lambda: (-(1 / beta - 1) * tail(ell_C, L), -excess / beta)),
    source="section 3, after lemma 3.1",
)
def check_monotone(claim: tuple[sp.Expr, sp.Expr]) -> Outcome:
    """Derivatives of the package's E[S] in ℓ_C and β, and their signs."""
    found = [sp.diff(slowdown.service_mean(), symbol) for symbol in (ell_C, beta)]
    equations = [
        ("∂E[S]/∂ℓ_C", claim[0], found[0]),
        ("∂E[S]/∂β", claim[1], found[1].subs(UpperMoment(1, ell_C, L), excess + ell_C * tail(ell_C, L))),
    ]
    below_one = {beta: 1 / (1 + step)}
    signs = [is_positive(-derivative.subs(below_one)) for derivative in claim]
    return everything(equations, Outcome(all(signs), "both negative where P(L > ℓ_C) > 0, else zero"))
