"""The paper's statements about how θ* moves with ℓ_C, β and γ, appendix B and figure 10."""

from __future__ import annotations

import math
from functools import partial

from mlptsym.ledger.paper.evidence import LEVELS, VARIED, Evidence, holding, level_name, monotone
from mlptsym.ledger.paper.verdicts import REPRODUCED, Finding, PaperClaim
from mlptsym.studies.best_quanta import plateaus
from mlptsym.studies.parameter_sweeps import ParameterSweep

AN_ARGMIN = "none: an argument of a minimum, around which simulated means differ by less than their error"
Ranges = tuple[tuple[float, float], ...]


def written(ranges: Ranges, symbol: str, limits: tuple[float, float]) -> str:
    """Where a claim holds, in words, of the range looked at."""
    where = f"the range {limits[0]:.6g} to {limits[1]:.6g} looked at"
    if covers(ranges, limits):
        return f"holds for {symbol} in all of {where}"
    spans = " and ".join(f"from {low:.6g} to {high:.6g}" for low, high in ranges)
    return f"holds for {symbol} {spans} of {where}" if ranges else f"holds nowhere in {where}"


def ordered(long: float, short: float, sign: int) -> bool:
    """Whether the first quantum is longer (1) or shorter (−1) than the second, by more than 10⁻⁶: they are minima."""
    return long > short * (1 + 1e-6) if sign > 0 else long < short * (1 - 1e-6)


def compared(evidence: Evidence, sweep: ParameterSweep, parameter: float) -> str:
    """θ*_∞ and θ*_2 at a value of the parameter."""
    short, long = (evidence.best(sweep.at(parameter), k).quantum / sweep.queue.size.mean for k in LEVELS)
    return f"θ*_∞ = {long:.4f} E[L], θ*_2 = {short:.4f} E[L]"


def about(value: float, limits: tuple[float, float]) -> tuple[float, float]:
    """Within a factor of two of the paper's value, inside the range looked at."""
    return max(value / 2, limits[0]), min(value * 2, limits[1])


def covers(ranges: Ranges, span: tuple[float, float]) -> bool:
    """Whether one of the ranges contains a span."""
    return any(low <= span[0] and span[1] <= high for low, high in ranges)


def decide_threshold_order(evidence: Evidence, stated: float) -> Finding:
    """Whether θ*_∞ > θ*_2 for every stable ℓ_C up to a bound, printed to one decimal; the exact one is computed."""
    sweep = evidence.thresholds

    def longer(multiple: float) -> bool:
        short, long = (evidence.best(sweep.at(multiple), k).quantum for k in LEVELS)
        return ordered(long, short, 1)

    step = (sweep.high - sweep.low) / 16
    ranges = holding(longer, [sweep.low + step * place for place in range(17)])
    end = next((high for low, high in ranges if low == sweep.low), math.nan)
    right = abs(end - stated) <= 0.05
    reason = written(ranges, "ℓ_C/E[L]", (sweep.low, sweep.high))
    reason += f", which begins where the queue becomes stable; just above, {compared(evidence, sweep, end + 1e-3)}"
    return Finding.of(f"up to {end:.6g} E[L]", AN_ARGMIN, right, reason)


def decide_pinned(evidence: Evidence, symbol: str, stated: tuple[float, float]) -> Finding:
    """Whether θ*_2 = ℓ_C at 3E[L] over a given part of the sweep at least, the paper's parameter in it."""
    share, number = stated
    limits = evidence.sweep(3, symbol)
    span = plateaus(evidence.curve(3, symbol, 2)).get(int(number), (math.nan, math.nan))
    ranges: Ranges = (span,) if span[0] <= span[1] else ()
    part = sum(high - low for low, high in ranges) / (limits.high - limits.low)
    right = covers(ranges, about(VARIED[symbol].value, (limits.low, limits.high))) and part > share
    reason = written(ranges, symbol, (limits.low, limits.high))
    theory = f"θ*_2 = ℓ_C over {100 * part:.1f} % of the range"
    return Finding.of(theory, AN_ARGMIN, right, reason)


def decide_trend(evidence: Evidence, multiple: float, symbol: str, levels: tuple[float, ...], stated: int) -> Finding:
    """Whether θ* falls (−1) or rises (1) with β or γ, plateaus allowed."""
    sweep = evidence.sweep(multiple, symbol)
    value = VARIED[symbol].value
    curves = {k: evidence.curve(multiple, symbol, k) for k in levels}
    ranges = {k: monotone(found, stated) for k, found in curves.items()}
    right = all(covers(one, about(value, (sweep.low, sweep.high))) for one in ranges.values())
    reason = "; ".join(
        f"k = {level_name(k)}: {written(one, symbol, (sweep.low, sweep.high))}" for k, one in ranges.items()
    )
    ends = {
        k: (found[0].best.quantum / sweep.queue.size.mean, found[-1].best.quantum / sweep.queue.size.mean)
        for k, found in curves.items()
    }
    theory = "; ".join(f"θ*_{level_name(k)} from {low:.4f} to {high:.4f} E[L]" for k, (low, high) in ends.items())
    return Finding.of(theory, AN_ARGMIN, right, reason)


def decide_plateau(evidence: Evidence, stated: int) -> Finding:
    """Whether θ*_∞ = ℓ_C/m over a part of either sweep at 3E[L], near the paper's parameters."""
    found = {}
    for symbol, varied in VARIED.items():
        low, high = about(varied.value, (varied.low, varied.high))
        span = plateaus(evidence.curve(3, symbol, math.inf)).get(stated, (math.nan, math.nan))
        found[symbol] = (span, max(span[0], low) < min(span[1], high))
    right = all(overlaps for _, overlaps in found.values())
    theory = "; ".join(f"{symbol} from {span[0]:.6g} to {span[1]:.6g}" for symbol, (span, _) in found.items())
    reason = "a kink of E[T] is the minimum there" if right else "no plateau near the paper's parameters"
    return Finding.of(f"plateau for {theory}", AN_ARGMIN, right, reason)


def decide_order(evidence: Evidence, symbol: str, stated: int) -> Finding:
    """Whether θ*_∞ − θ*_2 has a sign over a sweep at 8E[L]."""
    sweep = evidence.sweep(8, symbol)
    value = VARIED[symbol].value

    def holds(parameter: float) -> bool:
        short, long = (evidence.best(sweep.at(parameter), k).quantum for k in LEVELS)
        return ordered(long, short, stated)

    limits = (sweep.low, sweep.high)
    ranges = holding(holds, (one.parameter for one in evidence.curve(8, symbol, math.inf)))
    right = covers(ranges, about(value, limits))
    reason = written(ranges, symbol, limits)
    if not covers(ranges, limits):
        reason += f"; at {symbol} = {sweep.high:g} {compared(evidence, sweep, sweep.high)}"
    theory = f"{compared(evidence, sweep, value)} at {symbol} = {value:g}"
    return Finding.of(theory, AN_ARGMIN, right, reason)


def sweep_claims(evidence: Evidence) -> tuple[PaperClaim, ...]:
    """In the order of the paper."""
    many, both = (math.inf,), tuple(LEVELS)
    falls, rises = ("fall", "β", -1), ("rise", "γ", 1)
    trends = tuple(
        PaperClaim(
            f"claim-{'many' if levels == many else 'both'}-{verb}-{multiple}",
            f"{f'θ*_∞ {verb}s' if levels == many else f'θ*_2 and θ*_∞ {verb}'} with {symbol} at ℓ_C = {multiple}E[L]",
            r"\theta^*_\infty" + (r",\ \theta^*_2" if levels == both else "") + rf"\ \text{{{verb} with}}",
            "appendix B, figure 10",
            f"{verb} with {symbol}",
            sign,
            partial(decide_trend, evidence, multiple, symbol, levels),
            REPRODUCED,
            {"the other way": -sign},
        )
        for multiple, levels in ((3, many), (8, both))
        for verb, symbol, sign in (falls, rises)
    )
    orders = tuple(
        PaperClaim(
            f"claim-order-{name}-8",
            f"θ*_∞ is below θ*_2 at ℓ_C = 8E[L], as {symbol} varies",
            r"\theta^*_\infty < \theta^*_2",
            "appendix B, figure 10",
            "below",
            -1,
            partial(decide_order, evidence, symbol),
            REPRODUCED,
            {"above": 1},
        )
        for symbol, name in (("β", "beta"), ("γ", "gamma"))
    )
    return (
        PaperClaim(
            "claim-order-threshold",
            "θ*_∞ > θ*_2 for ℓ_C < 3.5E[L]",
            r"\theta^*_\infty > \theta^*_2,\quad \ell_C < 3.5\,\mathbb E[L]",
            "appendix B, figure 10a",
            "up to 3.5 E[L]",
            3.5,
            partial(decide_threshold_order, evidence),
            REPRODUCED,
            {"up to 4 E[L]": 4.0, "up to 3 E[L]": 3.0},
        ),
        PaperClaim(
            "claim-pinned-gamma-3",
            "θ*_2 = ℓ_C at ℓ_C = 3E[L] throughout the γ sweep",
            r"\theta^*_2 = \ell_C",
            "appendix B, figure 10c",
            "the whole sweep",
            (0.5, 1),
            partial(decide_pinned, evidence, "γ"),
            REPRODUCED,
            {"θ*_2 = ℓ_C/2": (0.5, 2)},
        ),
        PaperClaim(
            "claim-pinned-beta-3",
            "θ*_2 = ℓ_C at ℓ_C = 3E[L] over most of the β sweep",
            r"\theta^*_2 = \ell_C",
            "appendix B, figure 10b",
            "most of the sweep",
            (0.5, 1),
            partial(decide_pinned, evidence, "β"),
            REPRODUCED,
            {"nine tenths of it": (0.9, 1)},
        ),
        *trends[:2],
        PaperClaim(
            "claim-plateau-3",
            "θ*_∞ has a plateau at ℓ_C over part of each sweep at ℓ_C = 3E[L]",
            r"\theta^*_\infty = \ell_C",
            "appendix B, figures 10b and 10c",
            "a plateau at ℓ_C",
            1,
            partial(decide_plateau, evidence),
            REPRODUCED,
            {"a plateau at ℓ_C/2": 2},
        ),
        *trends[2:],
        *orders,
    )
