"""P(T ≤ t) with 30 digits: the transform of the response time written out with mpmath and inverted by mpmath.

Nothing of the package is used here.  ``python tests/reference_response_times.py`` writes
``data/response_times.json``; it inverts with two numbers of terms and refuses values in which they differ.  The
inversion is de Hoog's, which copes with kinks at a distance from t (Talbot's contour does not).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import mpmath as mp
from mpmath.calculus.quadrature import GaussLegendre

DIGITS = 30
FILE = Path(__file__).parent / "data" / "response_times.json"
Number = Any  # mpmath's numbers have no types
Partial = Callable[[Number, Number, Number], Number]
"""E[e^{−sS} ; a < S ≤ b] of a service time; b may be infinite."""


def exponential(rate: float, threshold: float = float("inf"), beta: float = 1.0) -> Partial:
    """S = q(L) for an exponential L: density rate e^{−rate x} up to ℓ_C, and rate β e^{−rate (ℓ_C + β (x − ℓ_C))}."""
    rate, threshold, beta = mp.mpf(rate), mp.mpf(threshold), mp.mpf(beta)

    def run(s: Number, low: Number, high: Number, start: Number, slope: Number) -> Number:
        end = mp.mpf(0) if mp.isinf(high) else mp.exp(-(s + slope) * high)
        return start * slope / (s + slope) * (mp.exp(-(s + slope) * low) - end)

    def partial(s: Number, low: Number, high: Number) -> Number:
        total = mp.mpf(0)
        if low < threshold:
            total += run(s, low, min(high, threshold), mp.mpf(1), rate)
        if high > threshold:
            total += run(s, max(low, threshold), high, mp.exp(-rate * (1 - beta) * threshold), rate * beta)
        return total

    return partial


def hyperexponential(probabilities: Sequence[float], rates: Sequence[float]) -> Partial:
    phases = [(mp.mpf(p), exponential(rate)) for p, rate in zip(probabilities, rates, strict=True)]
    return lambda s, low, high: mp.fsum(p * phase(s, low, high) for p, phase in phases)


def uniform(low: float, high: float) -> Partial:
    least, most = mp.mpf(low), mp.mpf(high)

    def partial(s: Number, low: Number, high: Number) -> Number:
        low, high = max(low, least), min(high, most)
        if not high > low:
            return mp.mpf(0)
        width = high - low if s == 0 else (mp.exp(-s * low) - mp.exp(-s * high)) / s
        return width / (most - least)

    return partial


def atoms(values: Sequence[float]) -> Partial:
    return lambda s, low, high: mp.fsum(mp.exp(-s * v) for v in values if low < v <= high) / len(values)


def lognormal(mu: float, sigma: float, threshold: float, beta: float, panel: float) -> Partial:
    """By Gauss–Legendre on panels of L, split at ℓ_C (the only boundary asked for) and no longer than ``panel``.

    ``panel`` times the highest frequency asked for must stay below twenty or so; beyond 8.2 standard deviations of the
    logarithm there is 1e-16, and 2e-13 of the mean.
    """
    mu, sigma, threshold, beta = (mp.mpf(value) for value in (mu, sigma, threshold, beta))
    rule = GaussLegendre(mp.mp).calc_nodes(4, int(mp.mp.prec * 1.2))
    ends = sorted({mp.exp(mu + sigma * mp.mpf(z) / 10) for z in range(-66, 83, 4)} | {mp.mpf(0), threshold})
    points = []
    for low, high in pairwise(ends):
        parts = int(mp.ceil((high - low) / panel))
        for part in range(parts):
            half = (high - low) / parts / 2
            for node, weight in rule:
                size = low + half * (2 * part + 1 + node)
                service = size if size <= threshold else threshold + (size - threshold) / beta
                points.append((service, weight * half * mp.npdf(mp.log(size), mu, sigma) / size))

    @lru_cache(maxsize=8)
    def partial(s: Number, low: Number, high: Number) -> Number:
        return mp.fsum(w * mp.exp(-s * x) for x, w in points if low < x <= high)

    return partial


@dataclass(frozen=True)
class Case:
    """A queue with boundaries t_1 < … < t_{k−1} and restore costs c_r at them."""

    partial: Partial
    arrival_rate: float
    boundaries: Sequence[float] = ()
    costs: Sequence[float] = ()

    def transform(self, s: Number) -> Number:
        """Laplace transform of P(T ≤ t)."""
        rate, k = mp.mpf(self.arrival_rate), len(self.boundaries) + 1
        t = [mp.mpf(0), *map(mp.mpf, self.boundaries), mp.inf]
        c = [mp.mpf(0), *map(mp.mpf, self.costs)]
        paid = list(accumulate(c))  # c_1 + … + c_r
        tail = [self.partial(mp.mpf(0), a, mp.inf) for a in t[:-1]] + [mp.mpf(0)]

        def level(z: Number, r: int) -> Number:
            return self.partial(z, t[r - 1], t[r])

        def work(z: Number, j: int) -> Number:  # X_j
            done = mp.fsum(mp.exp(-z * paid[r - 1]) * level(z, r) for r in range(1, j + 1))
            return done if j == k else done + mp.exp(-z * (t[j] + paid[j - 1])) * tail[j]

        def piece(z: Number, r: int) -> Number:  # Y_r, of jobs that reach level r
            done = mp.exp(-z * (c[r - 1] - t[r - 1])) * level(z, r)
            return done if r == k else done + mp.exp(-z * (c[r - 1] + t[r] - t[r - 1])) * tail[r]

        small = mp.mpf(10) ** (-mp.mp.dps // 3)
        mean = mp.fsum(tail[r] * c[r] for r in range(1, k)) - (
            self.partial(small, t[0], mp.inf) - self.partial(-small, t[0], mp.inf)
        ) / (2 * small)
        total = mp.mpf(0)
        for j in range(1, k + 1):
            stretched = s if j == 1 else _root(lambda z, j=j: s + rate * (1 - work(z, j - 1)), s + rate)
            lower = mp.fsum(rate * (tail[r - 1] - piece(stretched, r)) / stretched for r in range(j + 1, k + 1))
            found = (1 - rate * mean + lower) / (1 - rate * (1 - work(stretched, j)) / stretched)
            before = t[j - 1] + (paid[j - 2] if j > 1 else 0)
            total += found * mp.exp(-stretched * before - s * (c[j - 1] - t[j - 1])) * level(s, j)
        return total / s

    def cdf(self, t: float, degree: int) -> Number:
        return mp.invertlaplace(self.transform, t, method="dehoog", degree=degree)


def _root(image: Callable[[Number], Number], start: Number) -> Number:
    """Fixed point of a contraction, by Steffensen's method."""
    z = start
    for _ in range(60):
        first = image(z)
        second = image(first)
        bend = second - 2 * first + z
        if abs(first - z) < abs(z) * mp.mpf(10) ** (3 - mp.mp.dps) or bend == 0:
            return first
        z = z - (first - z) ** 2 / bend
    raise ArithmeticError(f"no root of the busy period equation from {start}")


def cases() -> dict[str, tuple[Case, Sequence[float], int]]:
    """Cases with times and numbers of terms; the queues are those of ``test_distribution.py``."""
    mean = 222.51622048381583  # of LogNormal(5, 0.9), a float on purpose
    return {
        "fcfs": (Case(exponential(1.0, 1.5, 0.5), 0.4), (0.5, 3.0, 12.0), 70),
        "two levels": (Case(exponential(1.0), 0.7, [1.0], [0.05]), (0.6, 1.4, 2.7, 9.1), 130),
        "unequal quanta": (Case(exponential(1.0, 1.5, 0.5), 0.4, [0.5, 2.0], [0.05, 0.2]), (0.3, 1.4, 20.0), 170),
        "ten levels": (
            Case(exponential(1.0), 0.6, [0.75 * r for r in range(1, 10)], [0.03 * 0.75 * r for r in range(1, 10)]),
            (0.6, 15.0, 30.0),
            130,
        ),
        "two phases": (
            Case(hyperexponential([0.9, 0.1], [2.0, 0.2]), 0.7, [1.0, 2.0], [0.1, 0.2]),
            (0.7, 40.0),
            110,
        ),
        "uniform": (Case(uniform(0.5, 1.5), 0.7, [0.8], [0.04]), (0.65, 2.0), 160),
        "deterministic": (Case(atoms([3.0]), 0.2, [1.25], [0.1]), (3.6, 5.0, 40.0), 160),
        "three atoms": (Case(atoms([0.5, 1.0, 2.0]), 0.5, [0.75], [0.05]), (0.85, 1.3), 160),
        "lognormal": (
            Case(lognormal(5, 0.9, 6 * mean, 0.39, 700.0), 0.0036, [6 * mean], [0.1 * 6 * mean]),
            (3000.0, 8500.0),
            50,
        ),
    }


def main() -> None:
    values: dict[str, list[tuple[float, str]]] = {}
    with mp.workdps(DIGITS):
        for name, (case, times, degree) in cases().items():
            values[name] = []
            for time in times:
                few, many = (case.cdf(time, terms) for terms in (degree * 3 // 4, degree))
                print(name, time, mp.nstr(many, 20), mp.nstr(few - many, 3), flush=True)
                if abs(few - many) > 2e-9:
                    raise ArithmeticError(f"{name} at {time}: {few} and {many} differ")
                values[name].append((time, mp.nstr(many, 20)))
    FILE.write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
