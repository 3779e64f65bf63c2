"""MLPT′ with two levels: the recursion for every n, and the numeric forms against the derivation, for a law of atoms."""

import mpmath as mp
import sympy as sp
from by_value import differ

from mlptsym.symbolic.algebra.special import RelativeExponential
from mlptsym.symbolic.algebra.symbols import arrival_rate, attained, restore_cost
from mlptsym.symbolic.mean import lazy
from mlptsym.symbolic.mean.response import mean_response_time
from mlptsym.symbolic.model.moments import UpperMoment
from mlptsym.symbolic.model.transforms import PartialTransform

ATOMS = {sp.Rational(1, 2): sp.Rational(1, 4), sp.Rational(3, 2): sp.Rational(1, 2), sp.Integer(4): sp.Rational(1, 4)}
VALUES = {arrival_rate: sp.Rational(3, 10), attained(1): sp.Integer(2), restore_cost(1): sp.Rational(1, 5)}


def at_atoms(expression: sp.Expr, more: dict[sp.Expr, sp.Expr]) -> sp.Expr:
    """With moments and transforms of the atoms, at the fixed values."""

    def transform(n, s, low, high, _):
        return sum(m * x**n * sp.exp(-s * x) for x, m in ATOMS.items() if low < x <= high)

    def moment(n, low, _):
        return sum(m * x**n for x, m in ATOMS.items() if x > low)

    here = expression.subs({**VALUES, **more})
    return here.replace(PartialTransform, transform).replace(UpperMoment, moment)


def quiet() -> sp.Float:
    """α, the least root, by iteration from 0 at 40 digits."""
    balance = sp.lambdify(lazy.quiet, at_atoms(lazy.quiet_balance(), {}), "mpmath")
    alpha = mp.mpf(0)
    for _ in range(400):
        alpha -= balance(alpha)
    return sp.Float(alpha, 40)


def test_no_waived_cost_is_mlpt() -> None:
    assert not differ(lazy.lazy_response_time().subs(lazy.alone, 0), mean_response_time(2))


def test_one_step_from_any_number_of_jobs() -> None:
    """β_n = α^{n−1}β_1 for symbolic n ≥ 2: the first job must complete, and leaves n − 1 + A."""
    n, beta = sp.symbols("n beta", positive=True)
    step = lazy.arrivals_while_completing().quiet * lazy.quiet ** (n - 2) * beta
    balanced = sp.solve(lazy.quiet_balance(), lazy.arrivals_while_completing().quiet)[0]
    assert sp.simplify(step.subs(lazy.arrivals_while_completing().quiet, balanced) - lazy.quiet ** (n - 1) * beta) == 0


def test_numeric_forms_are_the_derivation() -> None:
    """e, 1 − e and E[T] of the formulas for code, with means over the pieces written out for the atoms."""
    with mp.workdps(40):
        alpha = quiet()
        formula = lazy.arrivals_formula()
        lam, theta = VALUES[arrival_rate], VALUES[attained(1)]

        def mean_of(name, low, high):
            length = formula.inputs["length"]
            unfolded = formula.outputs[name].replace(RelativeExponential, lambda z: (sp.exp(z) - 1) / z)
            beside = formula.inputs["beside"]
            value = unfolded.subs({arrival_rate: lam, lazy.CYCLE.demoting: 1 - alpha, beside: 1})
            return sum(m * value.subs(length, x - low) for x, m in ATOMS.items() if low < x <= high)

        left = at_atoms(UpperMoment(0, attained(1)), {})
        means = {
            "completing_single": mean_of("between", 0, theta),
            "last_busy": mean_of("busy", theta, sp.oo) / left,
            "last_single": mean_of("between", theta, sp.oo) / left,
            "last_none": 1 - mean_of("any", theta, sp.oo) / left,
        }
        code = lazy.alone_formula()
        given = {code.inputs[name]: value for name, value in means.items()} | {lazy.CYCLE.demoting: 1 - alpha}
        e = at_atoms(lazy.alone_probability(), {lazy.quiet: alpha}).evalf(40)
        found = {
            name: at_atoms(form.replace(RelativeExponential, lambda z: (sp.exp(z) - 1) / z), given).evalf(40)
            for name, form in code.outputs.items()
        }
        assert abs(found["alone"] - e) < 1e-35 and abs(found["charged"] + e - 1) < 1e-35
        mean = lazy.lazy_formula()
        share = {lazy.alone: e, mean.inputs["charged"]: 1 - e}
        expected = at_atoms(lazy.lazy_response_time(), share).evalf(40)
        gain = at_atoms(mean_response_time(2), {}) - expected
        assert abs(at_atoms(mean.outputs["response_time"], share).evalf(40) - expected) < 1e-35
        assert abs(at_atoms(mean.outputs["gain"], share).evalf(40) - gain) < 1e-35


def test_slopes_of_the_functions_to_be_averaged() -> None:
    """The forms without loss of digits are the derivatives of those with."""
    formula = lazy.arrivals_formula()
    length = formula.inputs["length"]
    for name in ("busy", "change", "between", "any"):
        plain, slope = (
            formula.outputs[key].replace(RelativeExponential, lambda z: (sp.exp(z) - 1) / z)
            for key in (name, f"{name}_slope")
        )
        assert not differ(sp.diff(plain, length), slope)
