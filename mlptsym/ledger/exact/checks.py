"""How statements are decided: identities, induction over levels, signs, digits and z-scores."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyRing

from mlptsym.ledger.entry import Outcome, Step
from mlptsym.ledger.exact.algebra import Atoms, atoms_of, vanishes
from mlptsym.symbolic.algebra.induction import levels, peeled
from mlptsym.symbolic.algebra.symbols import level

Equation = tuple[str, sp.Expr, sp.Expr]
"""The operation that leads to two sides, and the sides, which should be equal."""
Equations = Iterable[Equation]
Claim = Callable[[Any, Any], sp.Expr]


def reduces_to_zero(expression: sp.Expr) -> bool:
    """Whether SymPy reduces a rational function of free symbols to zero, its numerator as a sparse polynomial."""
    numerator, _ = sp.fraction(sp.together(expression))
    atoms = atoms_of(numerator)
    return bool(PolyRing(atoms, sp.QQ, sp.grevlex).from_expr(numerator) == 0) if atoms else bool(numerator == 0)


def identities(equations: Equations) -> Outcome:
    """Decide equations between rational functions of free symbols, by SymPy and a second time by python-flint.

    They are looked at one after the other, up to the first that does not hold.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> identities([("square", (x + 1) ** 2, x**2 + 2 * x + 1)]).evidence
    '1 identity: reduced to 0 by SymPy and by flint'
    """
    steps = []
    for operation, left, right in equations:
        steps.append(Step(operation, sp.Eq(left, right, evaluate=False)))
        difference = sp.sympify(left, strict=True) - right
        by_sympy, by_flint = reduces_to_zero(difference), vanishes(difference)
        if not (by_sympy and by_flint):
            who = "SymPy and flint" if not (by_sympy or by_flint) else "flint alone" if by_sympy else "SymPy alone"
            return Outcome(False, f"{operation}: {who} find a difference, {_example(difference)}", tuple(steps))
    count = f"{len(steps)} identities" if len(steps) != 1 else "1 identity"
    return Outcome(bool(steps), f"{count}: reduced to 0 by SymPy and by flint", tuple(steps))


def _example(difference: sp.Expr) -> str:
    """The value of an expression where each atom is a fixed number derived from its name."""
    values = {atom: sp.Rational(zlib.crc32(str(atom).encode()) % 997 + 1, 1000) for atom in atoms_of(difference)}
    return f"e.g. {float(difference.xreplace(values)):.6g} at pseudo-random values of the symbols"


def upward(claim: Claim, words: str, *, start: sp.Expr, step: sp.Expr, last: sp.Expr | None = None) -> list[Equation]:
    """Induction from level 1 on: the claim (J, k) ↦ value at 1, and its growth from J to J + 1 for a symbolic J.

    ``start`` and ``step`` are what the package gives for the value at 1 and for the growth from J to J + 1 < k, ``last``
    for the growth from J to J + 1 = k, the level that runs to completion; ``words`` say what the value is.
    """
    equations = [
        (f"{words} at J = 1", claim(sp.S.One, levels), start),
        (f"{words}, growth from J to J + 1", folded(claim(level + 1, levels) - claim(level, levels)), step),
    ]
    if last is not None:
        growth = folded(claim(level + 1, level + 1) - claim(level, level + 1))
        equations.append((f"{words}, growth from J to J + 1 = k", growth, last))
    return equations


def downward(claim: Claim, words: str, *, last: sp.Expr, step: sp.Expr) -> list[Equation]:
    """Induction from the last level down: the claim at J = k − 1, and its growth from J + 1 to J for symbolic J, k.

    ``last`` and ``step`` are what the package gives for these.
    """
    growth = claim(level, levels) - claim(level + 1, levels)
    return [
        (f"{words} at J = k − 1", folded(claim(level, level + 1)), last),
        (f"{words}, growth from J + 1 down to J", folded(growth), step),
    ]


def written_out(claim: Claim, package: Claim, words: str, places: Iterable[tuple[int, int]]) -> Outcome:
    """A second look, beside induction: both sides as they read for given pairs of numbers j and k."""
    return identities((f"{words}, j = {j}, k = {k}", claim(j, k), package(j, k)) for j, k in places)


def folded(expression: sp.Expr) -> sp.Expr:
    """Sums from below brought to end at J − 1, sums from above to begin at J + 2."""
    return peeled(expression, level + 2, level - 1)


def is_positive(expression: sp.Expr) -> bool:
    """Whether a rational function of positive atoms is positive because all its coefficients are.

    Examples
    --------
    >>> x, y = sp.symbols("x y", positive=True)
    >>> is_positive(x / (x + y)), is_positive(x - y)
    (True, False)
    """
    function = Atoms.of(expression).read(sp.sympify(expression, strict=True))
    polynomials = [function.numerator, *(factor for factor, _ in function.denominator)]
    return not function.is_zero and all(
        coefficient > 0 for polynomial in polynomials for coefficient in polynomial.coeffs()
    )


def everything(*parts: Outcome | Equations) -> Outcome:
    """All outcomes together, those of equations among them: holds if each does."""
    outcomes = [part if isinstance(part, Outcome) else identities(part) for part in parts]
    steps = tuple(step for outcome in outcomes for step in outcome.steps)
    failed = [outcome.evidence for outcome in outcomes if not outcome.holds]
    shown = failed[:1] or [outcome.evidence for outcome in outcomes]
    return Outcome(bool(outcomes) and not failed, "; ".join(shown), steps)


def agreement(pairs: Sequence[tuple[str, Any, Any]], digits: int = 50) -> Outcome:
    """Whether pairs of mpmath numbers, computed with some more digits, agree to a number of significant digits."""
    import mpmath

    worst, where = mpmath.mpf(0), ""
    steps = []
    for words, left, right in pairs:
        error = abs(left - right) / max(abs(left), abs(right), mpmath.mpf(10) ** -digits)
        shown = 20 if error < mpmath.mpf(10) ** -digits else max(20, digits + 1)  # so many that the difference is seen
        steps.append(Step(f"{words}: {mpmath.nstr(left, shown)} and {mpmath.nstr(right, shown)}"))
        if not error <= worst:  # NaN counts as worst
            worst, where = error, words
    holds = bool(pairs) and bool(worst < mpmath.mpf(10) ** -digits)
    found = "all agree" if holds else f"relative difference {mpmath.nstr(worst, 3)} in {where}"
    return Outcome(holds, f"{len(pairs)} values to {digits} digits: {found}", tuple(steps))


def scores(found: Sequence[tuple[str, float, float, float]], false_alarm: float, freedom: int | None = None) -> Outcome:
    """Whether simulated values lie within the error of what a statement predicts.

    Of each: what is compared, the prediction, the simulated value and its standard error.  ``false_alarm`` is the
    probability that a true statement is refuted by any of the comparisons (Bonferroni), ``freedom`` the degrees of freedom
    of the standard errors, for Student's t; normal if left out.
    """
    from scipy.special import ndtri, stdtrit

    level = false_alarm / 2 / len(found)
    bound = -float(ndtri(level) if freedom is None else stdtrit(freedom, level))
    values = [(simulated - predicted) / error for _, predicted, simulated, error in found]
    steps = tuple(
        Step(f"{words}: predicted {predicted:.6g}, simulated {simulated:.6g} ± {error:.2g}, z = {value:.2f}")
        for (words, predicted, simulated, error), value in zip(found, values, strict=True)
    )
    worst = max(values, key=lambda value: math.inf if math.isnan(value) else abs(value))
    kind = "z" if freedom is None else f"t({freedom})"
    return Outcome(
        bool(abs(worst) <= bound),
        f"largest of {len(found)} scores {kind} = {worst:.2f}, bound {bound:.2f} (false-alarm rate {false_alarm:g})",
        steps,
    )
