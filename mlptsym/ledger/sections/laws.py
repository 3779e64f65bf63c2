"""The size laws: closed forms of E[L^n ; L > x], n = 0, 1, 2, proved by differentiating."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import mpmath
import sympy as sp

from mlptsym.laws import size_laws
from mlptsym.laws.base import SizeLaw
from mlptsym.ledger.entry import Entry, Outcome, Step
from mlptsym.ledger.exact.checks import agreement, everything
from mlptsym.ledger.exact.digits import DIGITS, value
from mlptsym.symbolic.algebra.special import GammaDensity, RegularizedUpperGamma, RelativeExponential
from mlptsym.symbolic.model.moments import Indicator
from mlptsym.symbolic.model.size_law import LawFormulas, antiderivative_defect, moment_defects, point

ORDERS = (1, 0, 2)
"""Orders of the moments that are proved, those first that find most errors."""
Definition = Callable[[mpmath.mpf, mpmath.mpf], mpmath.mpf]


def check_law(law: LawFormulas) -> Outcome:
    """d/dx of each closed moment is −x^n f(x); it is E[L^n] (one for n = 0) at the start and vanishes at the end."""
    parts = [_density(law)]
    for order in ORDERS:
        defects = moment_defects(law, order)
        found = {
            f"d/dx E[L^{order} ; L > x] + x^{order} f(x)": defects.derivative,
            f"E[L^{order} ; L > x] at the start, less E[L^{order}]": defects.start,
            f"E[L^{order} ; L > x] at the end": defects.end,
        }
        if law.antiderivative is not None:
            found[f"d/dx of the antiderivative of order {order} + x^{order} f(x)"] = antiderivative_defect(law, order)
        parts += [_zero(words, defect) for words, defect in found.items()]
        if not all(part.holds for part in parts):
            break
    count = len(parts) - 1
    if all(part.holds for part in parts):
        parts.append(_everywhere(law))
    outcome = everything(*parts)
    words = f"density as stated; {count} defects of {len(ORDERS)} moments: all 0; right at 0 and beyond the support"
    return replace(outcome, evidence=words) if outcome.holds else outcome


def _everywhere(law: LawFormulas) -> Outcome:
    """The forms for every x ≥ 0: their value at 0, inside and beyond the support, for some whole and broken parameters.

    At 0 the density is its limit from the right, E[L^n ; L > 0] the moment.
    """
    steps, holds = [], True
    for values in _parameter_sets(law):
        low, high = (sp.sympify(end, strict=True).subs(values) for end in law.support)
        inside = low + 1 if high is sp.oo else (low + high) / 2
        moments = [law.upper_moment(order).subs(values) for order in ORDERS]
        stated = [law.moment(order).subs(values) for order in ORDERS]
        closed = [law.closed_moment(order).subs(values) for order in ORDERS]
        pairs = [(moment.subs(point, 0), value) for moment, value in zip(moments, stated, strict=True)]
        pairs += [
            (moment.subs(point, inside), form.subs(point, inside)) for moment, form in zip(moments, closed, strict=True)
        ]
        if not law.density.has(sp.DiracDelta):
            density, everywhere = law.density.subs(values), law.density_everywhere().subs(values)
            approached = sp.Dummy("x", positive=True)
            start = sp.limit(density.doit().subs(point, approached), approached, 0, "+") if low.is_zero else sp.S.Zero
            pairs += [(everywhere.subs(point, 0), start), (everywhere.subs(point, inside), density.subs(point, inside))]
            if high is not sp.oo:
                pairs += [(form.subs(point, high + 1), sp.S.Zero) for form in (everywhere, *moments)]
        different = [
            pair for pair in pairs if sp.simplify((pair[0] - pair[1]).doit() if pair[0] != pair[1] else 0) != 0
        ]
        holds = holds and not different
        steps.append(
            Step(f"at {', '.join(f'{name} = {value}' for name, value in values.items())}: {len(pairs)} values")
        )
    return Outcome(holds, "every x ≥ 0" if holds else "a value at the ends of the support is wrong", tuple(steps))


def _parameter_sets(law: LawFormulas) -> list[dict[sp.Symbol, sp.Expr]]:
    """Exact parameters, which keep to the conditions; a shape by which the density starts below, at and above one."""
    plain = {symbol: sp.Rational(number + 3, 2) for number, symbol in enumerate(law.parameters)}
    if isinstance(law.moment_limit, sp.Symbol):
        return [{**plain, law.moment_limit: sp.Rational(7, 2)}]
    for symbol, stated in law.conditions:
        shares = {other: sp.Rational(1, 2) for other in stated.free_symbols}
        return [{**plain, **shares, symbol: stated.subs(shares)}]
    start = law.density_start if isinstance(law.density_start, sp.Piecewise) else sp.Piecewise((0, True))
    for shape in {symbol for _, condition in start.args for symbol in condition.free_symbols}:
        shapes = (1, 2) if shape.is_integer else (sp.Rational(1, 2), 1, 2)
        return [{**plain, shape: sp.sympify(value)} for value in shapes]
    return [plain]


def _zero(words: str, defect: sp.Expr) -> Outcome:
    holds = bool(defect == 0)
    return Outcome(holds, words if holds else f"{words} is {defect}, not 0", (Step(words, defect),))


def _density(law: LawFormulas) -> Outcome:
    """The density in the textbook's form."""
    inside = sp.Dummy("x", positive=True)
    if law.density.has(sp.DiracDelta):
        same = law.density.equals(law.textbook)
    else:
        quotient = (law.density.doit() / law.textbook).replace(sp.loggamma, lambda shape: sp.log(sp.gamma(shape)))
        quotient = sp.expand_log(sp.expand(sp.log(sp.simplify(quotient.subs(point, inside)))), force=True)
        same = sp.simplify(sp.expand(sp.expand_log(quotient, force=True))) == 0
    return Outcome(bool(same), "density as stated" if same else "another density", (Step("f(x)", law.density),))


# special functions


def definitions() -> dict[type[sp.Function], Definition]:
    """The three special functions of shape a and point z, by integrals and series (NIST DLMF 8.2.2 and 4.2.19)."""
    return {
        RegularizedUpperGamma: lambda a, z: mpmath.quad(
            lambda u: u ** (a - 1) * mpmath.exp(-u) / mpmath.gamma(a), [z, 1, 10, mpmath.inf]
        ),
        GammaDensity: lambda a, z: mpmath.exp((a - 1) * mpmath.log(z) - z - mpmath.loggamma(a)),
        RelativeExponential: lambda _, z: mpmath.nsum(lambda n: z**n / mpmath.factorial(n + 1), [0, mpmath.inf]),
    }


def check_special_functions(claim: dict[type[sp.Function], Definition]) -> Outcome:
    """Value, unfolded form and derivative of each function against its definition."""
    z = sp.Symbol("z", positive=True)
    pairs = []
    with mpmath.workdps(DIGITS + 15):
        for function, definition in claim.items():
            for shape, at in ((sp.Rational(7, 10), sp.Rational(3, 2)), (sp.Rational(5, 2), sp.Rational(1, 8))):
                form = function(z) if function is RelativeExponential else function(shape, z)
                a, number = (mpmath.mpf(part.p) / part.q for part in (shape, at))
                stated = definition(a, number)
                words = f"{function.__name__} at {shape}, {at}"
                pairs.append((words, value(form, {z: at}), stated))
                with mpmath.workdps(2 * DIGITS):  # the unfolded form may cancel
                    pairs.append((f"{words}, unfolded", value(form.doit(), {z: at}), stated))
                    slope = value(form.diff(z), {z: at})
                pairs.append((f"{words}, derivative", slope, _slope(definition, a, number)))
    return agreement(pairs, DIGITS)


def _slope(definition: Definition, a: mpmath.mpf, at: mpmath.mpf) -> mpmath.mpf:
    """Derivative by central differences with a step that leaves more than fifty digits."""
    with mpmath.workdps(2 * DIGITS):
        step = at * mpmath.mpf(10) ** -(DIGITS // 2 + 5)
        return (definition(a, at + step) - definition(a, at - step)) / (2 * step)


def altered(law: type[SizeLaw], change: Callable[[LawFormulas], LawFormulas]) -> LawFormulas:
    """The law with something changed."""
    return change(law.formulas())


def second_moment_shifted(law: LawFormulas) -> LawFormulas:
    """E[L² ; L > x] read for E[L ; L > x]."""
    return replace(law, closed_moment=lambda order: law.closed_moment(order if order != 1 else 2))


def one_power_more(law: LawFormulas) -> LawFormulas:
    """E[L ; L > x] divided by 1 + x/scale."""
    stretch = 1 + point / law.parameters[-1]
    return replace(law, closed_moment=lambda order: law.closed_moment(order) / (stretch if order == 1 else 1))


def mean_doubled(law: LawFormulas) -> LawFormulas:
    """E[L] twice as large."""
    return replace(law, moment=lambda order: law.moment(order) * (2 if order == 1 else 1))


def constant_added(law: LawFormulas) -> LawFormulas:
    """A closed first moment that does not vanish at the end: right derivative, wrong constant."""
    return replace(law, closed_moment=lambda order: law.closed_moment(order) + (1 if order == 1 else 0))


def strict_at_atom(law: LawFormulas) -> LawFormulas:
    """A closed moment without its step."""
    return replace(law, closed_moment=lambda order: law.closed_moment(order).replace(Indicator, lambda *_: sp.S.One))


def entries() -> tuple[Entry, ...]:
    """The special functions, then one entry for each law of the package."""
    found = [
        Entry(
            "special-functions",
            "Q(a, z) = ∫_z^∞ u^(a−1) e^(−u) du/Γ(a), the gamma density and (e^z − 1)/z: values and derivatives",
            r"Q(a,z) = \frac{1}{\Gamma(a)}\int_z^\infty u^{a-1}e^{-u}\,du,\quad \frac{e^z-1}{z} = \sum_{n\ge0}\frac{z^n}{(n+1)!}",
            "NIST DLMF 8.2.2, 8.2.4, 4.2.19",
            definitions,
            check_special_functions,
            {
                "e^z − 1": lambda: {RelativeExponential: lambda _, z: mpmath.expm1(z)},
                "gamma density with z^a": lambda: {GammaDensity: lambda a, z: z**a * mpmath.exp(-z) / mpmath.gamma(a)},
                "Q not divided by Γ(a)": lambda: {RegularizedUpperGamma: mpmath.gammainc},
            },
            method="digits",
        )
    ]
    found += [_entry(law) for law in size_laws().values()]
    return tuple(found)


def _entry(law: type[SizeLaw]) -> Entry:
    formulas = law.formulas()
    wrong_moment = ("E[L ; L > x] with x² f", second_moment_shifted)
    if formulas.moment_limit is not sp.oo:
        wrong_moment = ("E[L ; L > x] with another power", one_power_more)
    if formulas.density.has(sp.DiracDelta):
        wrong_moment = ("no step at the atoms", strict_at_atom)
    changes = (wrong_moment, ("twice the mean", mean_doubled), ("a constant added to E[L ; L > x]", constant_added))
    return Entry(
        f"law-{law.keyword()}",
        f"{law.__name__}: E[L^n ; L > x] in closed form, n = 0, 1, 2",
        formulas.latex,
        "size laws; Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions",
        law.formulas,
        check_law,
        {words: partial(altered, law, change) for words, change in changes},
    )
