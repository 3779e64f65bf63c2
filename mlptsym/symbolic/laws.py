"""Size laws: a density, and closed forms of the upper partial moments E[L^n ; L > x] that its derivative proves.

Each function below returns a `SizeLaw` in its own parameter symbols.  Closed forms are written so that they keep
their digits in double precision: sums of positive terms where there is a choice.  `moment_defects` is the proof
obligation of every law: the derivative of each closed form is −x^n f(x), its value at the lower end of the support is
E[L^n] (one for n = 0), and it vanishes at the upper end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp

from mlptsym.symbolic.moments import Indicator
from mlptsym.symbolic.remembered import remembered
from mlptsym.symbolic.special import GammaDensity, RegularizedUpperGamma, RelativeExponential

__all__ = ["LAWS", "MomentDefects", "SizeLaw", "moment_defects", "point", "potential_defect"]

point = sp.Symbol("x", nonnegative=True)


@dataclass(frozen=True)
class SizeLaw:
    """A law of the intrinsic size L.

    Attributes
    ----------
    name : str
        The law's name.
    parameters : tuple of Symbol
        Its parameters, named as the fields of the numeric class of the same name.
    density : Expr
        f(x) inside the support.
    closed_moment : callable
        n ↦ E[L^n ; L > x] inside the support.
    moment : callable
        n ↦ E[L^n], for those n where it is finite.
    support : pair of Expr
        The ends of the support.
    moment_limit : Expr
        E[L^n] is finite exactly for n below this (∞ for laws with all moments).
    potential : callable or None
        n ↦ a function with derivative −x^n f(x) that stays finite where E[L^n] is infinite; differences of it are
        partial moments over an interval.  ``None`` where `closed_moment` serves.
    conditions : tuple of (Symbol, Expr)
        Relations between parameters that the proofs may use.
    density_start : Expr or None
        The limit of the density at 0 where substitution does not give it.
    """

    name: str
    parameters: tuple[sp.Symbol, ...]
    density: sp.Expr
    closed_moment: Callable[[int], sp.Expr]
    moment: Callable[[int], sp.Expr]
    support: tuple[sp.Expr, sp.Expr] = (sp.S.Zero, sp.oo)
    moment_limit: sp.Expr = sp.oo
    potential: Callable[[int], sp.Expr] | None = None
    conditions: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()
    density_start: sp.Expr | None = None

    def density_everywhere(self) -> sp.Expr:
        """f(x) for every x ≥ 0, with its right limit at the lower end of the support."""
        low, high = self.support
        if high is not sp.oo:
            return sp.Piecewise((sp.S.Zero, point < low), (self.density, point < high), (sp.S.Zero, True))
        start = self.density.subs(point, 0) if self.density_start is None else self.density_start
        return sp.Piecewise((start, point <= 0), (self.density, True))

    def upper_moment(self, order: int) -> sp.Expr:
        """E[L^order ; L > x] for every x ≥ 0."""
        low, high = self.support
        inside = (self.closed_moment(order), True if high is sp.oo else point < high)
        outside = () if high is sp.oo else ((sp.S.Zero, True),)
        return sp.Piecewise((self.moment(order), point <= low), inside, *outside)


def exponential() -> SizeLaw:
    """Exponential law with density rate·exp(−rate·x)."""
    rate = sp.Symbol("rate", positive=True)

    def closed_moment(order: int) -> sp.Expr:
        # Γ(n+1, z) = n! e^{−z} Σ_{i≤n} z^i/i!
        scaled = rate * point
        series = sp.Add(*(scaled**i * sp.factorial(order) / sp.factorial(i) for i in range(order + 1)))
        return sp.exp(-scaled) * series / rate**order

    return SizeLaw(
        "Exponential",
        (rate,),
        rate * sp.exp(-rate * point),
        closed_moment,
        lambda order: sp.factorial(order) / rate**order,
    )


def lognormal() -> SizeLaw:
    """Log-normal law: log L is normal with mean mu and standard deviation sigma."""
    mu, sigma = sp.Symbol("mu", real=True), sp.Symbol("sigma", positive=True)

    def moment(order: int) -> sp.Expr:
        return sp.exp(order * mu + order**2 * sigma**2 / 2)

    return SizeLaw(
        "LogNormal",
        (mu, sigma),
        sp.exp(-((sp.log(point) - mu) ** 2) / (2 * sigma**2)) / (point * sigma * sp.sqrt(2 * sp.pi)),
        lambda order: moment(order) * sp.erfc((sp.log(point) - mu - order * sigma**2) / (sigma * sp.sqrt(2))) / 2,
        moment,
        density_start=sp.S.Zero,
    )


def weibull() -> SizeLaw:
    """Weibull law with tail exp(−(x/scale)^shape)."""
    shape, scale = sp.symbols("shape scale", positive=True)
    ratio = point / scale

    def moment(order: int) -> sp.Expr:
        return scale**order * sp.gamma(1 + order / shape)

    def closed_moment(order: int) -> sp.Expr:
        if order == 0:
            return sp.exp(-(ratio**shape))
        return moment(order) * RegularizedUpperGamma(1 + order / shape, ratio**shape)

    return SizeLaw(
        "Weibull",
        (shape, scale),
        shape / scale * ratio ** (shape - 1) * sp.exp(-(ratio**shape)),
        closed_moment,
        moment,
        density_start=_start_by_shape(shape, scale),
    )


def gamma() -> SizeLaw:
    """Gamma law with density proportional to x^(shape−1) exp(−x/scale)."""
    shape, scale = sp.symbols("shape scale", positive=True)

    def moment(order: int) -> sp.Expr:
        return sp.Mul(*(scale * shape + i * scale for i in range(order)))

    return SizeLaw(
        "Gamma",
        (shape, scale),
        GammaDensity(shape, point / scale) / scale,
        lambda order: moment(order) * RegularizedUpperGamma(shape + order, point / scale),
        moment,
        density_start=_start_by_shape(shape, scale),
    )


def erlang() -> SizeLaw:
    """Erlang law: the sum of ``stages`` exponential times of the same rate."""
    stages, rate = sp.Symbol("stages", integer=True, positive=True), sp.Symbol("rate", positive=True)
    shape, scale = gamma().parameters
    as_gamma = {shape: stages, scale: 1 / rate}
    return SizeLaw(
        "Erlang",
        (stages, rate),
        gamma().density.subs(as_gamma),
        lambda order: gamma().closed_moment(order).subs(as_gamma),
        lambda order: gamma().moment(order).subs(as_gamma),
        density_start=_start_by_shape(stages, 1 / rate),
    )


def _start_by_shape(shape: sp.Expr, scale: sp.Expr) -> sp.Expr:
    """Density at 0 of a law that behaves like x^(shape−1) there and is exponential for shape 1."""
    return sp.Piecewise((sp.oo, shape < 1), (1 / scale, sp.Eq(shape, 1)), (sp.S.Zero, True))


def hyperexponential(phases: int = 2) -> SizeLaw:
    """Mixture of ``phases`` exponential laws; every statement about it is the mixture of those about its phases."""
    probabilities = sp.symbols(f"probability_0:{phases}", positive=True)
    rates = sp.symbols(f"rate_0:{phases}", positive=True)
    *others, last = probabilities
    single = exponential()

    def mixture(of_phase: sp.Expr) -> sp.Expr:
        return sp.Add(
            *(
                probability * of_phase.subs(single.parameters[0], rate)
                for probability, rate in zip(probabilities, rates, strict=True)
            )
        )

    return SizeLaw(
        "HyperExponential",
        (*probabilities, *rates),
        mixture(single.density),
        lambda order: mixture(single.closed_moment(order)),
        lambda order: mixture(single.moment(order)),
        conditions=((last, 1 - sp.Add(*others)),),
    )


def lomax() -> SizeLaw:
    """Lomax (Pareto II) law with tail (1 + x/scale)^(−shape)."""
    shape, scale = sp.symbols("shape scale", positive=True)
    stretch = 1 + point / scale

    def powers_of_sum(fixed: sp.Expr, order: int, moment: Callable[[int], sp.Expr]) -> sp.Expr:
        # E[(fixed + X)^n] of an X with these moments
        variable = sp.Dummy("X")
        terms = sp.Poly((fixed + variable) ** order, variable).terms()
        return sp.Add(*(coefficient * moment(power) for (power,), coefficient in terms))

    def excess(order: int) -> sp.Expr:
        # E[(L − x)^n | L > x]: a Lomax law again, with scale x + scale
        return sp.factorial(order) * (point + scale) ** order / sp.Mul(*(shape - i for i in range(1, order + 1)))

    def closed_moment(order: int) -> sp.Expr:
        return stretch**-shape * powers_of_sum(point, order, excess)

    def potential(order: int) -> sp.Expr:
        # −E[L^n ; L ≤ x], with v = log(1 + x/scale) as variable of integration: finite for every shape
        length = sp.log(stretch)

        def integral(power: int) -> sp.Expr:
            return length * RelativeExponential((power - shape) * length)

        return -shape * scale**order * powers_of_sum(-sp.S.One, order, integral)

    return SizeLaw(
        "Lomax",
        (shape, scale),
        shape / scale * stretch ** (-shape - 1),
        closed_moment,
        lambda order: excess(order).subs(point, 0),
        moment_limit=shape,
        potential=potential,
    )


def uniform() -> SizeLaw:
    """Uniform law between low and high."""
    low, high = sp.Symbol("low", nonnegative=True), sp.Symbol("high", positive=True)

    def moment_from(order: int, start: sp.Expr) -> sp.Expr:
        # (high^{n+1} − start^{n+1})/(n+1) divided by the width, as a product and a sum of positive terms
        powers = sp.Add(*(high**i * start ** (order - i) for i in range(order + 1)))
        return (high - start) / (high - low) * powers / (order + 1)

    return SizeLaw(
        "Uniform",
        (low, high),
        1 / (high - low),
        lambda order: moment_from(order, point),
        lambda order: moment_from(order, low),
        support=(low, high),
    )


def deterministic() -> SizeLaw:
    """All sizes equal to one value: the moments step from value^n to zero there, and the density is a point mass."""
    value = sp.Symbol("value", positive=True)
    return SizeLaw(
        "Deterministic",
        (value,),
        sp.DiracDelta(point - value),
        lambda order: value**order * Indicator(value, point),
        lambda order: value**order,
    )


def empirical(samples: int = 3) -> SizeLaw:
    """The law that gives each of ``samples`` values the same probability: a mixture of deterministic laws."""
    values = sp.symbols(f"sample_0:{samples}", positive=True)
    single = deterministic()

    def mixture(of_sample: sp.Expr) -> sp.Expr:
        return sp.Add(*(of_sample.subs(single.parameters[0], value) for value in values)) / samples

    return SizeLaw(
        "Empirical",
        values,
        mixture(single.density),
        lambda order: mixture(single.closed_moment(order)),
        lambda order: mixture(single.moment(order)),
    )


LAWS: dict[str, Callable[..., SizeLaw]] = {
    "Exponential": exponential,
    "LogNormal": lognormal,
    "Weibull": weibull,
    "Gamma": gamma,
    "Erlang": erlang,
    "HyperExponential": hyperexponential,
    "Lomax": lomax,
    "Uniform": uniform,
    "Deterministic": deterministic,
    "Empirical": empirical,
}


@dataclass(frozen=True)
class MomentDefects:
    """What must be zero for a closed-form moment to be right: the defects of its derivative and end values."""

    derivative: sp.Expr
    start: sp.Expr
    end: sp.Expr


def moment_defects(law: SizeLaw, order: int) -> MomentDefects:
    """Defects of the closed form of E[L^order ; L > x]; the form is right if and only if all three are zero.

    ``derivative`` is d/dx of the closed form plus x^n f(x); ``start`` its value at the lower end of the support less
    the stated moment (and, for order 0, less one); ``end`` its limit at the upper end.  A law whose moments are
    finite for some parameters only (Lomax) is checked at shape = order + ε for a symbolic ε > 0.
    """
    low, high = law.support
    conditions = dict(law.conditions)
    if law.moment_limit is not sp.oo:
        conditions[law.moment_limit] = order + sp.Symbol("epsilon", positive=True)
    closed, density, stated = (
        expression.subs(conditions) for expression in (law.closed_moment(order), law.density, law.moment(order))
    )
    return MomentDefects(
        derivative=_proved_form(sp.diff(closed, point) + point**order * density),
        start=_proved_form(_limit(closed, low, law) - (1 if order == 0 else stated)),
        end=_proved_form(_limit(closed, high, law)),
    )


def potential_defect(law: SizeLaw, order: int) -> sp.Expr:
    """d/dx of the law's potential, plus x^n f(x); zero if and only if its differences are partial moments."""
    if law.potential is None:
        raise ValueError(f"{law.name} has no potential beside its closed moments")
    return _proved_form((sp.diff(law.potential(order), point) + point**order * law.density).doit())


@remembered
def _proved_form(expression: sp.Expr) -> sp.Expr:
    """The expression with point masses evaluated, logarithms of positive quantities split, and simplified."""
    inside = sp.Dummy("x", positive=True)
    explicit = expression.subs(point, inside).doit()
    for mass in explicit.atoms(sp.DiracDelta):
        (location,) = sp.solve(mass.args[0], inside)
        explicit = explicit.subs(mass, 0) + explicit.expand().coeff(mass).subs(inside, location) * mass
    terms = sp.expand(sp.expand_log(sp.expand(explicit).rewrite(sp.exp), force=True))
    return sp.simplify(sp.together(terms))


@remembered
def _limit(expression: sp.Expr, end: sp.Expr, law: SizeLaw) -> sp.Expr:
    """One-sided limit at an end of the support, by substitution where the expression is continuous there."""
    value = expression.subs(point, end)
    if not value.has(sp.nan, sp.zoo, sp.oo, sp.log(0)):
        return value
    stretched = sp.Dummy("v", positive=True)
    if law.moment_limit is sp.oo:
        return sp.limit(expression.subs(point, stretched), stretched, end, "+" if end.is_zero else "-")
    # powers of one variable, each of which SymPy takes to its limit; in one piece it returns ∞ for x^(−ε)
    scale = law.parameters[-1]
    powers = sp.expand(sp.powsimp(sp.expand(expression.subs(point, scale * (stretched - 1))), force=True))
    return sp.Add(*(sp.limit(term, stretched, end) for term in sp.Add.make_args(powers)))
