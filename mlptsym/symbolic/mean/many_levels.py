"""Restore costs when many levels are available: the overhead of a job, its mean, and the rule of thumb (eq. (31)).

Linear memory, c_r = γ r θ, throughout, as in the paper's section 4.3.
"""

from __future__ import annotations

import sympy as sp

from mlptsym.symbolic.algebra.formula import Formula
from mlptsym.symbolic.algebra.symbols import age, arrival_rate, preemption_cost, quantum, service
from mlptsym.symbolic.model.moments import expectation, mean


def demotions(service_time: sp.Expr = service, length: sp.Expr = quantum) -> sp.Expr:
    """Number of r ≥ 1 with ``service_time`` > r · ``length``: how often a job is demoted if k = ∞.

    A job that needs exactly r quanta completes at the end of the last, so this is ⌈S/θ⌉ − 1, not ⌊S/θ⌋.

    Examples
    --------
    >>> [demotions(sp.Rational(n, 2), 1) for n in (1, 2, 3, 4, 5)]
    [0, 0, 1, 1, 2]
    """
    return sp.ceiling(service_time / length) - 1


def overhead(count: sp.Expr) -> sp.Expr:
    """H, the restore costs of a job that is demoted ``count`` times, c_1 + … + c_count.

    Examples
    --------
    >>> sp.factor(overhead(sp.Symbol("N")))
    N*gamma*theta*(N + 1)/2
    """
    r = sp.Symbol("r", integer=True, positive=True)
    return sp.summation(preemption_cost * r * quantum, (r, 1, count))


def overhead_leading_term() -> sp.Expr:
    """E[H_∞] for small quanta: the sum over levels as an integral over ages, (γ/θ) E[∫_0^S a da].

    Examples
    --------
    >>> overhead_leading_term()
    gamma*UpperMoment(2, 0, S)/(2*theta)
    """
    area = sp.integrate(age, (age, 0, service))
    return preemption_cost / quantum * expectation(area, [])


def overhead_next_term() -> sp.Expr:
    """What Euler–Maclaurin adds to `overhead_leading_term` where the density is continuous: −γθ φ′(0) B_2/2!.

    φ(r) = r P(S > rθ) has φ(0) = 0 and φ′(0) = 1.  At a jump of the density, as S has at ℓ_C, there is a further term
    of the same order in θ.

    Examples
    --------
    >>> overhead_next_term()
    -gamma*theta/12
    """
    return -preemption_cost * quantum * sp.bernoulli(2) / 2


def square_root_quantum(penalty: sp.Expr) -> sp.Expr:
    """The quantum that balances the overhead, stretched by the spare capacity, against a linear penalty.

    Minimises E[H_∞]/(1 − ρ_0) + ``penalty`` · θ over θ > 0, with `overhead_leading_term` for the overhead.
    """
    balance = overhead_leading_term() / (1 - arrival_rate * mean()) + penalty * quantum
    inverse_square = sp.Dummy("z", positive=True)
    slope = sp.diff(balance, quantum).subs(quantum, 1 / sp.sqrt(inverse_square))
    ((root,),) = sp.linsolve([slope], [inverse_square])
    return sp.sqrt(sp.cancel(1 / root))


def rule_of_thumb_quantum() -> sp.Expr:
    """θ̂ of eq. (31): E[S] plus `square_root_quantum` for the penalty 1/8, the paper's factor 2."""
    return mean() + square_root_quantum(sp.Rational(1, 8))


def rule_of_thumb_formula() -> Formula:
    """θ̂ of eq. (31)."""
    inputs = {"mean": mean(), "second": mean(order=2), "arrival_rate": arrival_rate, "preemption_cost": preemption_cost}
    return Formula(inputs, {"quantum": rule_of_thumb_quantum()})
