"""The probability e that a demoted job is alone: its recursion, its cycle, its closed form against a Markov chain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp

from mlptsym.ledger.entry import Outcome, entry
from mlptsym.ledger.exact.checks import Equations, agreement
from mlptsym.ledger.exact.digits import value
from mlptsym.ledger.paper.notation import F, S, c, lam, t
from mlptsym.ledger.sections.beyond.lazy.chain import CHAIN, by_chain
from mlptsym.symbolic.mean import lazy
from mlptsym.symbolic.mean.lazy import CYCLE, quiet
from mlptsym.symbolic.mean.waiting import linear_root
from mlptsym.symbolic.model.moments import UpperMoment, mean
from mlptsym.symbolic.model.transforms import PartialTransform

e, theta, cost = lazy.alone, t(1), c(1)


@dataclass(frozen=True)
class Powers:
    """β_n = factor · base^(n + shift)."""

    factor: sp.Expr
    base: sp.Expr = quiet
    shift: int = 0


def demoted_at_once() -> sp.Expr:
    """F̄e^{−λθ}: a job is demoted, and nobody has arrived in the meantime."""
    return F(1) * sp.exp(-lam * theta)


def completed(z: sp.Expr) -> sp.Expr:
    """E[z^A ; S ≤ θ], A the arrivals in the meantime; it is α at z = α."""
    return quiet if z == quiet else PartialTransform(0, lam * (1 - z), 0, theta)


def kappa() -> sp.Expr:
    """κ = F̄e^{−λθ}/E[e^{−λS} ; S ≤ θ]."""
    return demoted_at_once() / completed(sp.S.Zero)


@entry(
    "lazy-alone-recursion",
    "from n jobs in level 1 the first demotion leaves nobody with probability κα^n, for every n ≥ 1",
    r"\beta_n = \kappa\alpha^n,\quad \kappa = \frac{\bar F e^{-\lambda\theta}}{\mathbb E[e^{-\lambda S};S\le\theta]},"
    r"\quad \alpha = \mathbb E[e^{-\lambda(1-\alpha)S};S\le\theta]",
    lambda: Powers(kappa()),
    ("κα^(n−1)", lambda: Powers(kappa(), shift=-1)),
    ("F̄e^{−λθ}α^(n−1)", lambda: Powers(demoted_at_once(), shift=-1)),
    ("P(S ≤ θ)^n in place of α^n", lambda: Powers(kappa(), base=1 - F(1))),
    source="beyond the paper; remark 1",
)
def check_alone_recursion(claim: Powers) -> Equations:
    """One step: a job of n ≥ 2 must complete and leaves n − 1 + A; a single one may be demoted at once, and alone.

    By it β_n is decided for every n: z = E[z^A ; S ≤ θ] has one root below one, whose powers are its bounded solutions.
    """
    z, first = claim.base, claim.factor * claim.base**claim.shift
    by_completing = first * (completed(z) - completed(sp.S.Zero))
    return [
        ("from n ≥ 2 jobs, over β_{n−1}", completed(z), z),
        ("from one job", demoted_at_once() + by_completing, first * z),
        ("β_1 of the package", lazy.first_alone().subs(lazy.arrivals_while_completing().quiet, quiet), first * z),
    ]


@dataclass(frozen=True)
class Cycle:
    """What follows a demotion, as stated; wrong variants change a part."""

    alone: sp.Expr = CYCLE.first  # β_n/α^{n−1}
    after_free: tuple[sp.Expr, sp.Expr] = (CYCLE.quiet_free, CYCLE.single_free)  # of S_2
    after_charged: tuple[sp.Expr, sp.Expr] = (CYCLE.quiet_charged, CYCLE.single_charged)  # of S_2 + c
    counted: int = 1


@entry(
    "lazy-cycle",
    "the mean number m of waived costs in a busy cycle solves two linear equations, and F̄e = m(1 − ρ′)",
    r"g_n = \beta_n(1+g^w) + (1-\alpha^n-\beta_n)g^s,\quad g^w = \mathbb E[g_A],\ g^s = \mathbb E[g_{A'}],\quad"
    r"\bar F e = m(1-\rho'),\ \rho' = \lambda(\mathbb E[S]+c\bar F(1-e))",
    Cycle,
    ("α for β", lambda: Cycle(alone=quiet)),
    ("a charged last piece after a waived cost", lambda: Cycle(after_free=Cycle().after_charged)),
    ("a free last piece after every demotion", lambda: Cycle(after_charged=Cycle().after_free)),
    ("the waived cost itself not counted", lambda: Cycle(counted=0)),
    source="beyond the paper; remark 1",
)
def check_cycle(claim: Cycle) -> Equations:
    """The equations as stated, solved by elimination, against the package's m; e from them against its balance."""
    free, charged, share = sp.symbols("g_w g_s share")

    def g(quiet_end: sp.Expr, single: sp.Expr) -> sp.Expr:
        no_other = claim.alone * single
        return no_other * (claim.counted + free) + (1 - quiet_end - no_other) * charged

    by_charged = linear_root(g(*claim.after_charged) - charged, charged)
    by_free = linear_root(g(*claim.after_free).subs(charged, by_charged) - free, free)
    m = g(1 - CYCLE.demoting, sp.S.One).subs(charged, by_charged).subs(free, by_free)
    busy = lam * (mean() + cost * F(1) * (1 - share))
    stated = linear_root(F(1) * share - m * (1 - busy), share)
    package = linear_root(lazy.alone_balance(lazy.waived_in_cycle()), e)
    return [("m", lazy.waived_in_cycle(), m), ("e", package, stated)]


def transform_of(piece: sp.Expr, rate: sp.Expr) -> sp.Expr:
    """E[e^{−rate · piece} | S > θ] of a piece that is S or a constant plus a constant."""
    offset = piece.subs(S, 0)
    of_size = PartialTransform(0, rate, theta, sp.oo) / F(1) if piece.has(S) else sp.S.One
    return sp.exp(-rate * offset) * of_size


@dataclass(frozen=True)
class Alone:
    """e in closed form; wrong variants change a part."""

    last: sp.Expr = S - theta  # S_2
    alone: sp.Expr | None = None  # β_n/α^n, κ unless given
    cost: sp.Expr = cost  # in the last pieces
    deducted: int = 1  # whether waived costs shorten the cycles

    def waived(self) -> sp.Expr:
        """m."""
        none, quiet_end = (transform_of(self.last, rate) for rate in (lam, lam * (1 - quiet)))
        paid, share = sp.exp(-lam * quiet * self.cost), kappa() if self.alone is None else self.alone
        return share * (1 - (1 - quiet) * paid * none / quiet_end) / (1 + share * none * (1 - paid))

    def probability(self) -> sp.Expr:
        """e."""
        load = lam * (mean() + cost * F(1))
        return self.waived() * (1 - load) / (F(1) * (1 - self.deducted * lam * cost * self.waived()))


@entry(
    "lazy-alone",
    "e in closed form is what a Markov chain of the jobs at the ends of pieces gives, to 30 digits for sizes 1/2 and 3",
    r"e = \frac{m(1-\rho_2^{\mathrm{eff}})}{\bar F(1-\lambda cm)},\quad m = \kappa\,"
    r"\frac{1-(1-\alpha)e^{-\lambda\alpha c}p/a}{1+\kappa p(1-e^{-\lambda\alpha c})},\quad "
    r"p = \mathbb E[e^{-\lambda S_2}],\ a = \mathbb E[e^{-\lambda(1-\alpha)S_2}]",
    Alone,
    ("α for β", lambda: Alone(alone=sp.S.One)),
    ("θ in place of S_2", lambda: Alone(last=theta)),
    ("the cost left out of the last pieces", lambda: Alone(cost=sp.S.Zero)),
    ("the load not reduced by what is waived", lambda: Alone(deducted=0)),
    source="beyond the paper; remark 1",
    method="digits",
)
def check_alone(claim: Alone) -> Outcome:
    """The closed form and the package's e at the sizes of the chain, against its stationary law by elimination."""
    import mpmath

    digits = 30
    with mpmath.workdps(digits + 10):
        balance, alpha = at_chain(lazy.quiet_balance()), mpmath.mpf(0)
        for _ in range(60):  # contracts by the load of level 1, 0.08
            alpha -= value(balance, {quiet: alpha})
        exact = mpmath.mpf(by_chain(CHAIN).str(digits + 5, radius=False))
        values = (value(at_chain(form), {quiet: alpha}) for form in (claim.probability(), lazy.alone_probability()))
        words = ("the closed form and the chain", "the package's e and the chain")
        return agreement([(word, found, exact) for word, found in zip(words, values, strict=True)], digits)


def at_chain(expression: sp.Expr) -> sp.Expr:
    """At the rate, cost and quantum of the chain, with the moments and transforms of its two sizes."""
    atoms = dict(zip(CHAIN.sizes, (1 - CHAIN.longer, CHAIN.longer), strict=True))

    def sum_of(order: sp.Expr, rate: sp.Expr, low: sp.Expr, high: sp.Expr) -> sp.Expr:
        return sp.Add(*(p * x**order * sp.exp(-rate * x) for x, p in atoms.items() if low < x <= high))

    placed = expression.subs({lam: CHAIN.rate, cost: CHAIN.cost, theta: 1})
    placed = placed.replace(PartialTransform, lambda *arguments: sum_of(*arguments[:4]))
    return placed.replace(UpperMoment, lambda order, low, _: sum_of(order, sp.S.Zero, low, sp.oo))


@entry(
    "lazy-limits",
    "e is 0 at the edge of stability; for θ → 0 it is (1 − ρ_0)(1 + P(A = 1)/P(A = 0)), A the arrivals during S",
    r"\rho_2^{\mathrm{eff}}\to1:\ e\to0;\quad \theta\to0,\ c\to0:\ e\to(1-\rho_0)\Bigl(1+"
    r"\frac{\lambda\mathbb E[Se^{-\lambda S}]}{\mathbb E[e^{-\lambda S}]}\Bigr)",
    lambda none, single: (1 - lam * mean()) * (1 + single / none),
    ("1 − ρ_0: only who arrives at an idle server", lambda none, single: 1 - lam * mean()),
    ("1", lambda none, single: sp.S.One),
    source="beyond the paper; remark 1",
)
def check_limits(claim: Callable[[sp.Expr, sp.Expr], sp.Expr]) -> Equations:
    """e of the package at λ(E[S] + cF̄) = 1 (so for γ → ∞ as far as the queue is stable), and at θ = c = 0.

    There α = 0 and β_1 = F̄ = 1, and a last piece is all of S: E[α^A] = P(A = 0), E[α^{A−1} ; A ≥ 1] = P(A = 1).
    """
    package = linear_root(lazy.alone_balance(lazy.waived_in_cycle()), e)
    none, single = sp.symbols("P_0 P_1", positive=True)
    at_zero = {CYCLE.demoting: 1, CYCLE.first: 1, CYCLE.quiet_free: none, CYCLE.quiet_charged: none}
    at_zero |= {CYCLE.single_free: single, CYCLE.single_charged: single, cost: 0, F(1): 1}
    edge = (package.subs(mean(), 1 / lam - cost * F(1)), sp.S.Zero)
    return [("at the edge of stability", *edge), ("θ → 0", package.subs(at_zero), claim(none, single))]
