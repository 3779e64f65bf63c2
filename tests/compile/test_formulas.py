"""Every formula that is compiled gives the numbers of its definition, and does not where one place of it is altered.

The ledger proves what the formulas are made of; that a name means what it says, at which end of a level, is seen here.
The definitions are expectations over exponential sizes with mean one, by quadrature with 30 digits, and derivatives of
them.  Alterations are those of `mutations`, one at a time, in every function whose name ends in ``_formula`` and in the
helpers it has for itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import mpmath as mp
import pytest
from mutations import Mutant, applied, functions, mutants
from reference_lazy import Three

import mlptsym as mq
from mlptsym import symbolic
from mlptsym.compile import compile_formula
from mlptsym.laws.exponential import Exponential
from mlptsym.laws.hyper_exponential import HyperExponential
from mlptsym.laws.lomax import Lomax
from mlptsym.memory.affine import AffineMemory
from mlptsym.memory.paged import PagedMemory
from mlptsym.memory.saturating import SaturatingMemory

Values = dict[str, Any]
Probe = tuple[tuple[Any, ...], Values, Values]
"""What a formula is chosen by, its inputs, and its outputs by definition."""

SURVIVORS = {
    "_step_to_the_right: 0 → 1 in gap >= 0": "no memory law has a Max, whose slope begins at its kink",
    "alone_formula: 1 → 2 in attained(1) @1": "the symbol of an input, which nothing else contains",
    "arrivals_formula: * → / in arrival_rate * beside": "what is added there is taken away again: only the form changes",
    "passing_formula: * → / in first_slope * sp.diff(value, first)": "the slope of a sum in one of its terms is one",
    "service_time_formula: / → * in 1 / slowdown_factor": "by what terms are collected: rounding alone",
    "service_time_formula: 1 → 2 in 1 / slowdown_factor": "by what terms are collected: rounding alone",
}
HELPERS = {
    "mlptsym.symbolic.model.memory._step_to_the_right": "memory_formula",
    "mlptsym.symbolic.distribution.moments._numbered": "response_moments_formula",
    "mlptsym.symbolic.model.size_law.logarithm": "law_formula",
    "mlptsym.symbolic.mean.lazy._unfolded": "arrivals_formula",
}

# a level from START to END, the one above it, and one below it that begins at END
RATE, ABOVE, START, END, FAR = map(mp.mpf, ("0.3", "0.4", "1.3", "2.1", "3.2"))
GAMMA, BASE = mp.mpf("0.2"), mp.mpf("0.1")


def cost(t: Any) -> Any:
    return BASE + GAMMA * t


def tail(t: Any) -> Any:
    return mp.exp(-t)


def mean(function: Callable[[Any], Any], *breaks: Any, upper: Any = mp.inf, lower: Any = 0) -> Any:
    """E[function(S) ; lower < S ≤ upper] for exponential S with mean one; it changes at the breaks."""
    points = [lower, *(point for point in breaks if lower < point < upper), upper]
    return mp.quad(lambda s: function(s) * mp.exp(-s), points)


def moment(n: int, t: Any) -> Any:
    return mean(lambda s: s**n, lower=t)


def piece(n: int, start: Any, end: Any, done: Any = 0) -> Any:
    """E[(done + Y)^n − done^n] of the piece Y of the level between two boundaries."""
    return mean(lambda s: (done + cost(start) + min(s, end) - start) ** n - mp.mpf(done) ** n, end, lower=start)


def wait(X_before: Any, X: Any, a: Any, Q: Any, Z: Any) -> Any:
    """(15) and (23), with E[X_j²] + Σ_{r>j} E[Y_r²] = Q + 2Z."""
    return (RATE * (Q + 2 * Z) / 2 / (1 - RATE * X) + RATE * a * X_before) / (1 - RATE * X_before)


SUMS = {"work_before": 0.4, "work": 0.7, "before": 1.1, "squares": 2.3, "crossings": 0.6}


def slope_along(function: Callable[..., Any], at: Any, direction: Any) -> Any:
    """Derivative of a function of several numbers along a direction."""
    return mp.diff(lambda step: function(*(x + step * d for x, d in zip(at, direction, strict=True))), 0)


def waiting() -> Iterator[Probe]:
    at = list(map(mp.mpf, SUMS.values()))
    weight = slope_along(wait, at, [0, 0, 0, 1, 0])
    inputs = {name: value for name, value in SUMS.items() if name != "squares"} | {"arrival_rate": RATE}
    yield (), inputs, {"weight": weight, "offset": wait(*at) - weight * at[3]}


def waiting_adjoints() -> Iterator[Probe]:
    at = list(map(mp.mpf, SUMS.values()))
    units = {name: [float(name == other) for other in SUMS] for name in SUMS if name != "squares"}
    yield (), SUMS | {"arrival_rate": RATE}, {name: slope_along(wait, at, unit) for name, unit in units.items()}


def waiting_slope() -> Iterator[Probe]:
    at, rates = list(map(mp.mpf, SUMS.values())), [0.1, -0.2, 0.3, 0.5, 0.7]
    inputs = SUMS | {"arrival_rate": RATE} | {f"{name}_slope": rate for name, rate in zip(SUMS, rates, strict=True)}
    yield (), inputs, {"waiting": wait(*at), "slope": slope_along(wait, at, rates)}


def pollaczek_khinchine() -> Iterator[Probe]:
    yield (), {"arrival_rate": RATE, "mean": 1, "second": 2}, {"response_time": 1 / (1 - RATE)}


def level() -> Iterator[Probe]:
    a, beyond = mp.mpf("1.4"), mean(lambda s: s - END, lower=END)
    before, after = mean(lambda s: s - START, lower=START), a + cost(START) + END - START
    squares = [mean(lambda s, end=end: min(s, end) ** 2, end) for end in (START, END)]
    step = piece(2, START, END) - squares[1] + squares[0] + 2 * (cost(END) - END) * beyond
    inputs = {
        "tail_start": tail(START), "tail_end": tail(END), "first_end": moment(1, END), "mean": 1, "start": START, "end": END, "cost_start": cost(START), "cost_end": cost(END), "before": a,
        "excess": beyond,
    }  # fmt: skip
    outputs = {
        "probability": tail(START) - tail(END),
        "served_mean": mean(lambda s: min(s, END), END),
        "crossing_step": a * piece(1, START, END) + after * beyond - a * before,
        "square_step": step - 2 * (cost(START) - START) * before,
        "crossing_end": -after * beyond,
    }
    yield ("restoring",), inputs, outputs


def level_with_unloading() -> Iterator[Probe]:
    """The same with what a job costs that goes on: u at the end of its piece."""
    ((_, inputs, outputs),) = level()
    out, beyond, a = mp.mpf("0.3"), inputs["excess"], inputs["before"]
    square = mean(lambda s: (cost(START) + min(s, END) - START + (out if s > END else 0)) ** 2, END, lower=START)
    outputs = outputs | {
        "crossing_step": outputs["crossing_step"] + a * out * tail(END) + out * beyond,
        "square_step": outputs["square_step"] + square - piece(2, START, END),
        "crossing_end": outputs["crossing_end"] - out * beyond,
    }
    yield ("unloading",), inputs | {"unload_start": mp.mpf("0.2"), "unload_end": out}, outputs


def levels() -> Iterator[Probe]:
    yield from level()
    yield from level_with_unloading()


def level_costs() -> Iterator[Probe]:
    inputs = {"tail_start": tail(START), "tail_end": tail(END), "cost_start": cost(START), "cost_end": cost(END)}
    head, out = cost(START), mp.mpf("0.3")
    yield ("restoring",), inputs, {"mean": head * tail(START), "ahead": head, "gone_on": head}
    outputs = {"mean": head * tail(START) + out * tail(END), "ahead": head, "gone_on": head + out}
    yield ("unloading",), inputs | {"unload_start": mp.mpf("0.2"), "unload_end": out}, outputs


def square_end() -> Iterator[Probe]:
    beyond = mean(lambda s: s - END, lower=END)
    inputs = {"tail_end": tail(END), "second_end": moment(2, END), "second": 2, "end": END, "cost_end": cost(END)}
    square = mean(lambda s: min(s, END) ** 2, END) - 2 * (cost(END) - END) * beyond
    yield (), inputs | {"excess": beyond}, {"square_end": square}


def completed() -> Iterator[Probe]:
    inputs = {"first_start": moment(1, START), "first_end": moment(1, END)}
    yield (), inputs, {"completed_service": mean(lambda s: s, lower=START, upper=END)}


def boundary() -> Iterator[Probe]:
    names = {"waiting": 1.7, "waiting_next": 2.9, "piece_adjoint": 1.3, "piece_adjoint_next": 1.9}
    names |= {"square_adjoint": 0.6, "before_adjoint": 0.8, "later_adjoint": 0.35}
    d, d_next, xi, xi_next, W, alpha, chi = map(mp.mpf, names.values())

    def passed_on(t: Any) -> Any:
        pieces = [piece(n, *ends) for n in (1, 2) for ends in ((START, t), (t, FAR))]
        probabilities = (tail(START) - tail(t)) * d + (tail(t) - tail(FAR)) * d_next
        later = (cost(START) + t - START) * (alpha + chi) + (cost(t) + FAR - t) * chi
        return probabilities + xi * pieces[0] + xi_next * pieces[1] + W * (pieces[2] + pieces[3]) + later

    inputs = {"start": START, "here": END, "cost_before": cost(START), "cost": cost(END), "cost_slope": GAMMA}
    inputs |= {"tail": tail(END), "density": tail(END), "piece_next": piece(1, END, FAR), **names}
    yield (), inputs, {"slope": mp.diff(passed_on, END)}


def level_slopes() -> Iterator[Probe]:
    rates = (mp.mpf(2), mp.mpf(3))
    for last in (False, True):
        end = mp.inf if last else END
        direction = (rates[0], 0) if last else rates
        inputs = {"start": START, "end": END, "start_slope": rates[0], "end_slope": rates[1], "cost": cost(START)}
        inputs |= {"cost_slope": GAMMA, "tail_start": tail(START), "tail_end": tail(END), "piece": piece(1, START, end)}
        inputs |= {"density_start": tail(START), "density_end": tail(END)}
        values = {
            "probability": lambda start, end: tail(start) - (0 if mp.isinf(end) else tail(end)),
            "piece_mean": lambda start, end: piece(1, start, end),
            "piece_square": lambda start, end: piece(2, start, end),
        }
        yield (last,), inputs, {name: slope_along(f, (START, end), direction) for name, f in values.items()}


def integrands() -> Iterator[Probe]:
    """Over the part v of level n; costs are a line, so that everything is a function of θ."""
    n, v, theta = map(mp.mpf, ("3", "0.4", "0.7"))

    def values(theta: Any) -> dict[str, Any]:
        start, here = (n - 1) * theta, (n - 1 + v) * theta
        head = cost(start)
        return {
            "probability": theta * tail(here),
            "piece_mean": theta * tail(here) + head * tail(start),
            "piece_square": 2 * (head + v * theta) * theta * tail(here) + head**2 * tail(start),
        }

    start, here = (n - 1) * theta, (n - 1 + v) * theta
    inputs = {"quantum": theta, "number": n, "fraction": v, "tail": tail(here), "density": tail(here)}
    inputs |= {"density_slope": -tail(here), "start_tail": tail(start), "start_density": tail(start)}
    outputs = values(theta)
    slopes = {f"{name}_slope": mp.diff(lambda t, name=name: values(t)[name], theta) for name in outputs}
    yield (), inputs | {"cost": cost(start), "cost_slope": GAMMA}, outputs | slopes


def served() -> Iterator[Probe]:
    inputs: Values = {f"{name}_{n}": moment(n, at) for name, at in (("start", START), ("end", END)) for n in range(4)}
    for last in (False, True):
        end = mp.inf if last else END
        outputs = {
            f"served_{n}": mean(lambda s, n=n, end=end: (min(s, end) - START) ** n, end, lower=START) for n in (1, 2, 3)
        }
        yield (last,), inputs | {"start": START, "end": END}, outputs


def pieces() -> Iterator[Probe]:
    a, head = mp.mpf("1.4"), cost(START)
    inputs = {f"served_{n}": mean(lambda s, n=n: (min(s, END) - START) ** n, END, lower=START) for n in range(4)}
    inputs |= {"passed": tail(END), "length": END - START, "before": a, "cost": head}
    outputs = {f"piece_{n}": piece(n, START, END) for n in (1, 2, 3)}
    outputs |= {f"work_{n}": piece(n, START, END, a) for n in (1, 2, 3)}
    outputs |= {f"end_{n}": mean(lambda s, n=n: (head + s - START) ** n, lower=START, upper=END) for n in (1, 2)}
    yield (), inputs, outputs


def response_moments() -> Iterator[Probe]:
    """One level: Takács."""
    moments = [moment(n, 0) for n in (1, 2, 3)]
    inputs: Values = {f"work_{n}": value for n, value in enumerate(moments, start=1)}
    inputs |= {f"end_{n}": value for n, value in enumerate(moments[:2], start=1)}
    inputs |= dict.fromkeys(("lower_1", "lower_2", "lower_3", "interrupting_1", "interrupting_2", "before"), 0.0)
    found = RATE * moments[1] / (2 * (1 - RATE))
    square = 2 * found**2 + RATE * moments[2] / (3 * (1 - RATE))
    outputs = {"first": 1 + found, "second": moments[1] + 2 * found + square}
    yield (), inputs | {"probability": 1, "arrival_rate": RATE}, outputs


def remainder() -> Iterator[Probe]:
    theta, work, squares, crossings, weight = map(mp.mpf, ("0.8", "0.9", "1.7", "0.4", "0.6"))

    def over(function: Callable[[Any], Any]) -> Any:
        return mp.quad(lambda u: function(u) * tail(u), [END, mp.inf])

    for growing in (True, False):
        line = cost if growing else lambda u: BASE
        more = over(lambda u: 1) + line(END) * tail(END) + over(lambda u, line=line: line(u + theta)) / theta
        more_squares = over(lambda u, line=line: (theta + line(u + theta)) ** 2) / theta
        more_squares += (theta + line(END)) ** 2 * tail(END)
        ahead = mean(lambda s, growing=growing: s + (BASE * s + growing * GAMMA * s**2 / 2) / theta, lower=END)
        spare = 1 - RATE * (work + more)
        late = RATE * (squares + more_squares + 2 * crossings) / 2 * tail(END)
        late = (late + RATE * ahead * (more + (work + more) * spare)) / spare**2
        inputs = {"arrival_rate": RATE, "quantum": theta, "end": END, "intercept": BASE, "slope": GAMMA, "work": work}
        inputs |= {"squares": squares, "crossings": crossings, "weight": weight}
        inputs |= {f"moment_{n}": moment(n, END) for n in range(4)}
        yield (growing,), inputs, {"work": more, "response_time": more + more_squares * weight + late}


def slowdown() -> Iterator[Probe]:
    delay = mp.mpf("1.6")
    inputs = {f"start_{name}": moment(n, START) for name, n in (("reciprocal", -1), ("tail", 0))}
    inputs |= {f"end_{name}": moment(n, END) for name, n in (("reciprocal", -1), ("tail", 0))}
    yield (), inputs | {"delay": delay}, {"slowdown": mean(lambda s: (delay + s) / s, lower=START, upper=END)}


def two_level() -> Iterator[Probe]:
    def response(x: Any) -> Any:
        """Corollary 4.6 for g(a) = a."""
        first = mean(lambda s: min(s, x), x)
        squares = mean(lambda s: min(s, x) ** 2, x) + mean(lambda s: (s - (1 - GAMMA) * x) ** 2, lower=x)
        load = RATE * (1 + GAMMA * x * tail(x))
        d_1 = RATE * squares / 2 / (1 - RATE * first)
        # those of level 2 wait for d_J = the merged wait of all levels, then for new arrivals
        d_merged = RATE * (squares + 2 * x * mean(lambda s: s - (1 - GAMMA) * x, lower=x)) / 2 / (1 - load)
        d_2 = (d_merged + RATE * x * first) / (1 - RATE * first)
        return load / RATE + (1 - tail(x)) * d_1 + tail(x) * d_2

    # a slope has no unit: time is counted in halves here, so that the hazard is not one
    x = END
    inputs = {"arrival_rate": RATE / 2, "mean": 2, "mean_square": 8, "service": 2 * x, "service_slope": 1}
    inputs |= {"restore": 2 * GAMMA * x, "restore_slope": GAMMA, "hazard": 0.5}
    inputs |= {"tail": tail(x), "first": 2 * moment(1, x), "second": 4 * moment(2, x)}
    yield (), inputs, {"derivative": mp.diff(response, x)}


KINDS = ("free", "charged")
OMEGA = mp.mpf("0.35")
"""1 − α, for MLPT′ with two levels."""


def single(work: Any, beside: Any = 1) -> Any:
    """E[(u^A − v^A)/(u − v)] of the Poisson arrivals A while work is done, u = α and v = 1 − ``beside``."""
    return (mp.exp(-RATE * OMEGA * work) - mp.exp(-RATE * beside * work)) / (beside - OMEGA)


def arrivals() -> Iterator[Probe]:
    y = mp.mpf("0.8")
    values = {
        "busy": lambda y, omega=OMEGA: 1 - mp.exp(-RATE * omega * y),
        "change": lambda y, omega=OMEGA: RATE * y * mp.exp(-RATE * omega * y),
        "between": lambda y: single(y, mp.mpf("0.6")),
        "any": lambda y: 1 - mp.exp(-RATE * y),
    }
    outputs = {name: value(y) for name, value in values.items()}
    slopes = {f"{name}_slope": mp.diff(value, y) for name, value in values.items()}
    inputs = {"arrival_rate": RATE, "demoting": OMEGA, "beside": 0.6, "length": y}
    yield (), inputs, outputs | slopes


def alone() -> Iterator[Probe]:
    """The two equations of the costs waived in a cycle, and the balance of waived costs; last pieces are exponential."""
    c, left = cost(END), tail(END)
    completing = mean(single, upper=END)
    a_w, none = 1 / (1 + RATE * OMEGA), 1 / (1 + RATE)
    a_s = a_w * mp.exp(-RATE * OMEGA * c)
    b_w, b_s = (a_w - none) / (1 - OMEGA), (a_s - none * mp.exp(-RATE * c)) / (1 - OMEGA)
    beta = left * mp.exp(-RATE * END) / (1 - completing)
    rows = [[beta * b_w - 1, 1 - a_w - beta * b_w], [beta * b_s, -a_s - beta * b_s]]
    g_w, g_s = mp.lu_solve(mp.matrix(rows), mp.matrix([-beta * b_w, -beta * b_s]))
    waived = beta * (1 + g_w) + (OMEGA - beta) * g_s
    e = waived * (1 - RATE * (1 + c * left)) / (left - waived * RATE * c * left)
    inputs = {"arrival_rate": RATE, "mean": 1, "tail": left, "end": END, "cost": c, "demoting": OMEGA}
    inputs |= {"completing_single": completing, "last_busy": 1 - a_w, "last_single": b_w, "last_none": none}
    yield (), inputs, {"alone": e, "charged": 1 - e}


def lazy() -> Iterator[Probe]:
    c, left = cost(END), tail(END)
    first = [mean(lambda s, n=n: min(s, END) ** n, END) for n in (1, 2)]
    paid, free = ([mean(lambda s, n=n, c=c: (c + s - END) ** n, lower=END) for n in (1, 2)] for c in (c, 0))
    whole = mean(lambda s: (s + c * (s > END)) ** 2, END)

    def values(e: Any) -> dict[str, Any]:
        d_1 = RATE * (first[1] + (1 - e) * paid[1] + e * free[1]) / 2 / (1 - RATE * first[0])
        found = RATE * (whole - e * (paid[1] - free[1])) / 2 / (1 - RATE * (1 + c * left))
        d_2 = (found + RATE * END * first[0]) / (1 - RATE * first[0])
        time = 1 + (1 - e) * c * left + (1 - left) * d_1 + left * d_2
        return {"first_wait": d_1, "last_wait": d_2, "response_time": time, "busy": RATE * (1 + (1 - e) * c * left)}

    e = mp.mpf("0.3")
    inputs = {"arrival_rate": RATE, "mean": 1, "second": 2, "tail": left, "first_moment": moment(1, END), "end": END}
    gain = values(0)["response_time"] - values(e)["response_time"]
    yield (), inputs | {"cost": c, "alone": e, "charged": 1 - e}, values(e) | {"gain": gain}


@cache
def three() -> Three:
    """Exponential sizes, t_1 = START and t_2 = END."""
    length = END - START
    return Three(
        RATE,
        (START, END),
        (cost(START), cost(END)),
        lambda z: (1 - mp.exp(-(1 + z) * START)) / (1 + z),
        lambda z: (1 - mp.exp(-(1 + z) * length)) / (1 + z),
        lambda z: 1 / (1 + z),
        moment,
    )


def of_three(*names: str) -> Values:
    """Inputs of the formulas for MLPT′ with three levels, by definition."""
    here = three()
    alpha, phi = here.alpha, here.phi

    def difference(transform: Any, other: Any) -> Any:
        return (here.over(transform)(other) - here.over(transform)(alpha)) / (other - alpha)

    values = {"arrival_rate": RATE, "first_end": START, "second_end": END, "first_cost": here.costs[0]}
    values |= {"second_cost": here.costs[1], "first_tail": here.tails[0], "second_tail": here.tails[1], "mean": 1}
    values |= {"first_moment": moment(1, START), "second_moment": moment(1, END), "second": 2}
    values |= {"first_square": moment(2, START), "second_square": moment(2, END)}
    values |= {"demoting": 1 - alpha, "passing": 1 - phi, "going_on": here.tails[1] / here.tails[0]}
    values |= {"first_single": difference(here.short, 0), "first_between": difference(here.short, phi)}
    for name, transform in (("second", here.completing), ("third", here.last)):
        values |= {
            f"{name}_busy": transform(0) - here.over(transform)(alpha),
            f"{name}_single": difference(transform, 0),
            f"{name}_between": difference(transform, phi),
            f"{name}_none": transform(RATE),
        }
    for name, (_, after) in here.counts.items():
        values |= {f"{name}_after_free": after[0], f"{name}_after_charged": after[1]}
    values |= dict(zip(("after_free", "after_last", "after_others"), here.after, strict=True))
    values |= {"in_third": here.begun("waived")[2], "last": here.emptied / here.tails[0], "emptied": here.emptied}
    values |= {"waived_first": here.waived[0], "waived_second": here.waived[1]}
    values |= {"first_alone": here.waived[0] / here.tails[0], "second_alone": here.waived[1] / here.tails[1]}
    values["load"] = 1 - here.spare - RATE * here.costs[0] * here.tails[1] * values["in_third"]
    found = here.answer()
    values |= dict(zip(("first_wait", "second_wait", "third_wait", "response_time"), found[2:], strict=True))
    return {name: values[name] for name in names}


def probe_of_three(name: str, outputs: tuple[str, ...]) -> Iterator[Probe]:
    formula = getattr(importlib.import_module(formulas()[name]), name)()
    yield (), of_three(*formula.inputs), of_three(*outputs)


def passing() -> Iterator[Probe]:
    """1 − E[φ^A ; S ≤ t_1] − F_1 φ^A E[φ^A′ ; S ≤ t_2 | S > t_1], at another φ than the root, and its slope in 1 − φ."""
    here, at = three(), mp.mpf("0.3")

    def value(psi: Any) -> Any:
        u = 1 - psi
        going = here.over(here.demoted)(u) * here.over(here.completing, here.costs[0])(u)
        return 1 - here.over(here.short)(u) - going

    def busy(transform: Any) -> Any:
        return lambda psi: transform(0) - here.over(transform)(1 - psi)

    inputs = of_three("arrival_rate", "first_end", "first_cost", "first_tail", "going_on") | {"passing": at}
    inputs |= {"first": busy(here.short)(at), "first_slope": mp.diff(busy(here.short), at)}
    inputs |= {"second": busy(here.completing)(at), "second_slope": mp.diff(busy(here.completing), at)}
    yield (), inputs, {"value": value(at), "slope": mp.diff(value, at)}


def loads_of_levels() -> Iterator[Probe]:
    names = ("arrival_rate", "first_end", "second_end", "first_cost", "second_cost", "mean")
    inputs = of_three(*names, "first_tail", "second_tail", "first_moment", "second_moment")
    two = RATE * (mean(lambda s: min(s, END), END) + cost(START) * tail(START))
    yield (), inputs, {"of_two": two, "of_three": 1 - three().spare}


def rule_of_thumb() -> Iterator[Probe]:
    quantum = 1 + 2 * mp.sqrt(GAMMA * 2 / (1 - RATE))
    yield (), {"mean": 1, "second": 2, "arrival_rate": RATE, "preemption_cost": GAMMA}, {"quantum": quantum}


def density() -> Iterator[Probe]:
    for x, rate in ((1.0, 1.0), (2.0, 0.4), (3.0, 0.4)):
        yield (), {"x": x, "threshold": 2.0, "factor": 0.4, "density": 0.7}, {"density": 0.7 * rate}


def service_time() -> Iterator[Probe]:
    for x, time in ((1.0, 1.0), (2.0, 2.0), (3.0, 4.5)):
        yield (), {"threshold": 2.0, "factor": 0.4, "size": x}, {"service_time": time}


def size() -> Iterator[Probe]:
    for time, x in ((1.0, 1.0), (2.0, 2.0), (4.5, 3.0)):
        yield (), {"threshold": 2.0, "factor": 0.4, "attained": time}, {"size": x}


def service_moments() -> Iterator[Probe]:
    threshold, factor = mp.mpf(2), mp.mpf("0.4")

    def time(x: Any) -> Any:
        return x + (1 / factor - 1) * max(x - threshold, 0)

    for x in (mp.mpf(1), threshold, mp.mpf(3)):
        inputs: Values = {"x": x, "threshold": threshold, "factor": factor}
        inputs |= {f"at_x_{n}": moment(n, x) for n in range(3)} | {
            f"at_threshold_{n}": moment(n, threshold) for n in range(3)
        }
        outputs = {f"moment_{n}": mean(lambda s, n=n: time(s) ** n, threshold, lower=x) for n in (1, 2)}
        yield (1, 2), inputs, outputs


def memory() -> Iterator[Probe]:
    window = {"slope": 2.0, "window": 4.0, "base": 1.0}
    for a, g, rate in ((1.0, 3.0, 2.0), (3.5, 8.0, 2.0), (4.0, 9.0, 0.0), (5.0, 9.0, 0.0)):
        yield (SaturatingMemory, "growth"), window | {"a": a}, {"growth": g, "slope": rate}
    yield (AffineMemory, "growth"), {"slope": 2.0, "base": 1.0, "a": 3.0}, {"growth": 7.0, "slope": 2.0}
    yield (PagedMemory, "growth"), {"block": 2.0, "a": 4.5}, {"growth": 6.0, "slope": 0.0}
    shape = {"intercept": 9.0, "slope": 0.0, "linear_from": 4.0, "lag": 0.0, "step": 0.0}
    yield (SaturatingMemory, "shape"), window, shape
    shape = {"intercept": 2.0, "slope": 1.0, "linear_from": 0.0, "lag": 2.0, "step": 2.0}
    yield (PagedMemory, "shape"), {"block": 2.0}, shape


def law() -> Iterator[Probe]:
    rate, x = mp.mpf(2), mp.mpf("0.7")
    f, above = rate * mp.exp(-rate * x), mp.exp(-rate * x)
    at = {"rate": rate, "x": x}
    first = above * (x + 1 / rate)
    yield (Exponential, (), "moments", 0, 1), at, {"moment_0": above, "moment_1": first}
    yield (Exponential, (), "density"), at, {"density": f}
    yield (Exponential, (), "hazard"), at, {"density": f, "tail": above, "first": first}
    yield (Exponential, (), "smooth"), at, {"tail": above, "density": f, "slope": -rate * f}
    shares, rates = [mp.mpf("0.3"), mp.mpf("0.7")], [mp.mpf(2), mp.mpf("0.5")]
    named = {"probability_0": shares[0], "probability_1": shares[1], "rate_0": rates[0], "rate_1": rates[1]}
    mixed = sum(p * r * mp.exp(-r * x) for p, r in zip(shares, rates, strict=True))
    yield (HyperExponential, (2, 2), "log_density"), named | {"x": x}, {"log_density": mp.log(mixed)}
    yield (
        (mq.Gamma, (), "log_density"),
        {"shape": 2.5, "scale": 2.0, "x": x},
        {"log_density": mp.log((x / 2) ** mp.mpf("1.5") * mp.exp(-x / 2) / mp.gamma(2.5) / 2)},
    )
    # E[L²] is infinite: an antiderivative of −x² f(x) that is 0 at 0
    pareto = {"shape": mp.mpf("1.5"), "scale": mp.mpf(2), "x": x}
    tails = (1 + x / 2) ** mp.mpf("-1.5")
    second = -mp.quad(lambda u: u**2 * mp.mpf("0.75") * (1 + u / 2) ** mp.mpf("-2.5"), [0, x])
    yield (
        (Lomax, (), "antiderivatives", 0, 1, 2),
        pareto,
        {"moment_0": tails, "moment_1": tails * (x + (x + 2) / mp.mpf("0.5")), "moment_2": second},
    )


def chord() -> Iterator[Probe]:
    inputs = {"age": START, "quantum": END - START, "tail_start": tail(START), "tail_end": tail(END)}
    inputs |= {"first_start": moment(1, START), "first_end": moment(1, END)}
    yield (
        (),
        inputs,
        {"completed": tail(START) - tail(END), "served": mean(lambda s: min(s, END) - START, END, lower=START)},
    )


PROBES: dict[str, Callable[[], Iterator[Probe]]] = {
    "waiting_formula": waiting,
    "waiting_adjoints_formula": waiting_adjoints,
    "waiting_slope_formula": waiting_slope,
    "pollaczek_khinchine_formula": pollaczek_khinchine,
    "level_formula": levels,
    "level_costs_formula": level_costs,
    "square_end_formula": square_end,
    "completed_formula": completed,
    "boundary_formula": boundary,
    "level_slopes_formula": level_slopes,
    "piece_formula": integrands,
    "served_formula": served,
    "piece_moments_formula": pieces,
    "response_moments_formula": response_moments,
    "remainder_formula": remainder,
    "slowdown_formula": slowdown,
    "two_level_formula": two_level,
    "arrivals_formula": arrivals,
    "alone_formula": alone,
    "lazy_formula": lazy,
    "passing_formula": passing,
    "loads_formula": loads_of_levels,
    "rule_of_thumb_formula": rule_of_thumb,
    "density_formula": density,
    "service_time_formula": service_time,
    "size_formula": size,
    "service_moments_formula": service_moments,
    "memory_formula": memory,
    "law_formula": law,
    "chord_formula": chord,
}

OF_THREE = {
    "second_formula": [f"{name}_after_{kind}" for name in ("waived", "emptied", "alone", "passed") for kind in KINDS],
    "third_formula": ["cycle_after_free", "cycle_after_charged"],
    "waived_formula": [
        "waived_first",
        "waived_second",
        "emptied",
        "load",
        "in_third",
        "after_free",
        "after_last",
        "after_others",
    ],
    "three_level_formula": ["first_wait", "second_wait", "third_wait", "response_time"],
}
PROBES |= {name: partial(probe_of_three, name, tuple(outputs)) for name, outputs in OF_THREE.items()}


@cache
def probed(name: str) -> tuple[Probe, ...]:
    with mp.workdps(30):
        return tuple(PROBES[name]())


@cache
def formulas() -> dict[str, str]:
    """The module of every function that gives a formula to compile."""
    found = {}
    for module in pkgutil.walk_packages(symbolic.__path__, "mlptsym.symbolic."):
        for name, *_ in functions(importlib.import_module(module.name)):
            if name.endswith("_formula"):
                found[name] = module.name
    return found


def agrees(name: str) -> bool:
    """Whether all numbers of a formula are those of its definition."""
    build = getattr(importlib.import_module(formulas()[name]), name)
    for choices, inputs, outputs in probed(name):
        found = compile_formula(build(*choices))(**{key: float(value) for key, value in inputs.items()})
        for key, value in outputs.items():
            if not abs(float(getattr(found, key)) - float(value)) <= 1e-11 * max(abs(float(value)), 0.1):
                return False
    return True


def altered() -> Iterator[tuple[str, Mutant]]:
    """Every alteration of a formula or of a helper it has for itself, with the formula whose numbers it changes."""
    modules = {*formulas().values(), *(helper.rpartition(".")[0] for helper in HELPERS)}
    for module in sorted(modules):
        for mutant in mutants(importlib.import_module(module)):
            function = mutant.description.partition(":")[0]
            name = HELPERS.get(f"{module}.{function}", function)
            if name in PROBES:
                yield name, mutant


ALTERED = list(altered())


def test_every_formula_has_a_definition() -> None:
    assert PROBES.keys() == formulas().keys()


@pytest.mark.parametrize("name", PROBES)
def test_a_formula_gives_the_numbers_of_its_definition(name: str) -> None:
    assert agrees(name)


def named(mutant: Mutant) -> set[str]:
    """What is altered, alone and with the number of the place, where a function has several such."""
    return {mutant.description, f"{mutant.description} @{mutant.position}"}


@pytest.mark.parametrize(("name", "mutant"), [pytest.param(*case, id=case[1].description) for case in ALTERED])
def test_an_altered_formula_gives_other_numbers(name: str, mutant: Mutant) -> None:
    probed(name)
    with applied(mutant):
        try:
            seen = not agrees(name)
        except Exception:  # it is refused, by the compiler or for want of an input
            seen = True
    assert seen != bool(named(mutant) & SURVIVORS.keys())


def test_survivors_are_alterations() -> None:
    assert SURVIVORS.keys() <= set().union(*(named(mutant) for _, mutant in ALTERED))
