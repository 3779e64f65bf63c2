"""The quantities the paper defines for two levels, at the symbol θ and at θ = q(x)."""

from __future__ import annotations

from dataclasses import dataclass, fields

import sympy as sp

from mlptsym.ledger.exact.checks import Equation
from mlptsym.ledger.paper.notation import S, gamma, lam, theta
from mlptsym.symbolic.mean.two_levels import TwoLevelTerms
from mlptsym.symbolic.model.moments import Indicator, UpperMoment, expectation, mean, tail

spare, spare_1 = sp.symbols("sigma sigma_1", positive=True)


@dataclass(frozen=True)
class TwoLevels:
    """The quantities the paper defines for two levels: S_1 = min(S, θ), and S_2 = S − (1 − γ)θ given S > θ."""

    theta: sp.Expr
    tail: sp.Expr
    mean: sp.Expr
    mean_1: sp.Expr
    mean_2: sp.Expr
    rho_1: sp.Expr
    rho: sp.Expr
    d_1: sp.Expr

    @property
    def odds(self) -> sp.Expr:
        """ρ/(1 − ρ)."""
        return self.rho / (1 - self.rho)

    @property
    def first_factor(self) -> sp.Expr:
        """λ(1 + F̄ρ/(1 − ρ))/(1 − ρ_1), the first factor of A and of B."""
        return lam * (1 + self.tail * self.odds) / (1 - self.rho_1)

    @property
    def Q(self) -> sp.Expr:  # the paper's name
        """Q = d_1 + q − (1 − γ)E[S_2]."""
        return self.d_1 + self.theta - (1 - gamma) * self.mean_2


def at_quantum() -> TwoLevels:
    """The quantities at the symbol θ, as corollary 4.6 defines them."""
    point, survivors = [theta], tail(theta)
    second = (S - (1 - gamma) * theta) * Indicator(S, theta)
    mean_1 = expectation(sp.Min(S, theta), point)
    square_1 = expectation(sp.Min(S, theta) ** 2, point)
    mean_2, square_2 = expectation(second, point) / survivors, expectation(second**2, point) / survivors
    return TwoLevels(
        theta,
        survivors,
        mean(),
        mean_1,
        mean_2,
        rho_1=lam * mean_1,
        rho=lam * mean() + lam * gamma * theta * survivors,
        d_1=lam * (square_1 + survivors * square_2) / (2 * (1 - lam * mean_1)),
    )


def at_size(terms: TwoLevelTerms) -> TwoLevels:
    """The same at θ = q(x), in the symbols of the package's derivative."""
    here = at_quantum()
    known = {
        UpperMoment(1, theta): terms.first,
        UpperMoment(2, theta): terms.second,
        tail(theta): terms.tail,
        theta: terms.service,
    }
    moved = {field.name: getattr(here, field.name) for field in fields(here)}
    for old, new in known.items():
        moved = {name: expression.subs(old, new) for name, expression in moved.items()}
    return TwoLevels(**moved)


def linear_cost(terms: TwoLevelTerms) -> dict[sp.Symbol, sp.Expr]:
    """c = γq and dc/dθ = γ, the paper's g(a) = a."""
    return {terms.restore: gamma * terms.service, terms.restore_slope: gamma}


def with_spare_capacity(terms: TwoLevelTerms, *equations: Equation) -> list[Equation]:
    """The equations with E[S] and M_1(q) expressed by σ = 1 − ρ and σ_1 = 1 − ρ_1: every denominator is a monomial."""
    mean_there = (1 - spare) / lam - gamma * terms.service * terms.tail
    first = mean_there + terms.service * terms.tail - (1 - spare_1) / lam
    place = {terms.first: first, mean(): mean_there}

    def changed(expression: sp.Expr) -> sp.Expr:
        # 1/(1 − ρ) is found as a power of an expanded sum, which is then the symbol itself
        new = expression.subs(place)
        return new.replace(
            lambda node: node.is_Pow and node.exp.is_negative, lambda node: sp.expand(node.base) ** node.exp
        )

    return [(operation, changed(left), changed(right)) for operation, left, right in equations]
