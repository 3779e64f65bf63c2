"""Reference values with 50 digits: the paper's formulas as printed, evaluated literally with mpmath.

Nothing of the package is used here.  The upper partial moments of each size law come from its test module; every float
is taken as the exact number it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from math import comb
from typing import Any

import mpmath as mp

DIGITS = 50
Number = Any  # mpmath's numbers have no types
Moment = Callable[[int, Number], Number]


@contextmanager
def digits(count: int = DIGITS) -> Iterator[None]:
    """Work with a number of digits and eight guard digits."""
    with mp.workdps(count + 8):
        yield


def exact(values: Sequence[float]) -> list[Number]:
    """Floats as the exact numbers they are."""
    return [mp.mpf(value) for value in values]


# --- size laws: E[L^n ; L > x]


@dataclass(frozen=True)
class LawReference:
    """A size law by textbook formulas, in forms that differ from the package's.

    Attributes
    ----------
    moment : callable
        Of the law's parameters: (n, x) ↦ E[L^n ; L > x].
    density : callable or None
        Of the parameters as mpmath's numbers: x ↦ f(x); None for a law of atoms.
    wide : bool
        Whether quadratures go over log x, for laws of heavy tails or an infinite density at zero.
    furthest : callable or None
        Of the law and the order: log x beyond which nothing is left in such a quadrature, where it is not 9 above the mean.
    """

    moment: Callable[..., Moment]
    density: Callable[..., Callable[[Number], Number]] | None = None
    wide: bool = False
    furthest: Callable[[Any, int], Number] | None = None


def law_tests(home: str) -> Any:
    """The test module of the law that a module of the package holds."""
    return import_module(f"laws.test_{home.rpartition('.')[2]}")


def law_reference(law: Any) -> LawReference:
    """The reference of a law of the package."""
    return law_tests(type(law).__module__).REFERENCE


def arguments(law: Any) -> list[Any]:
    """What a law was made of."""
    return [getattr(law, item.name) for item in fields(law)]


def moment_of(law: Any) -> Moment:
    """E[L^n ; L > x], computed once for each order, place and precision: the formulas ask for most of them again."""
    moment = law_reference(law).moment(*arguments(law))
    at = cache(lambda n, x, precision: moment(n, x))
    return lambda n, x: at(n, x, mp.mp.prec)


def density_of(law: Any) -> Callable[[Number], Number] | None:
    """f(x) for mpmath's numbers; None for a law of atoms."""
    density = law_reference(law).density
    if density is None:
        return None
    return density(*(exact(value) if isinstance(value, tuple) else mp.mpf(value) for value in arguments(law)))


# --- memory: g(a)

Growth = Callable[[Number], Number]


def growth_of(memory: Any) -> Growth:
    """g of a memory law of the package."""
    home = type(memory).__module__.rpartition(".")[2]
    return import_module(f"memory.test_{home}").REFERENCE(*arguments(memory))


def linear(slope: float = 1.0) -> Callable[[Number], Number]:
    return lambda a: mp.mpf(slope) * a


def affine(base: float, slope: float = 1.0) -> Callable[[Number], Number]:
    return lambda a: mp.mpf(base) + mp.mpf(slope) * a


def saturating(slope: float, window: float, base: float = 0.0) -> Callable[[Number], Number]:
    return lambda a: mp.mpf(base) + mp.mpf(slope) * min(a, mp.mpf(window))


# --- the queue


@dataclass(frozen=True)
class ReferenceQueue:
    """The model of section 2, with g as a function of attained service and ℓ_C = ∞ for no slowdown."""

    size_moment: Moment
    arrival_rate: float
    growth: Callable[[Number], Number]
    slowdown_threshold: float = float("inf")
    slowdown_factor: float = 1.0
    preemption_cost: float = 0.0

    def service_time(self, x: Number) -> Number:
        """q(x), eq. (3)."""
        threshold, beta = exact([self.slowdown_threshold, self.slowdown_factor])
        return x + (1 / beta - 1) * max(x - threshold, 0)

    def size_at(self, t: Number) -> Number:
        """q⁻¹(t)."""
        threshold, beta = exact([self.slowdown_threshold, self.slowdown_factor])
        return t if t <= threshold else threshold + beta * (t - threshold)

    def moment(self, n: int, t: Number) -> Number:
        """E[S^n ; S > t] from eq. (3): the fast part up to ℓ_C, and (ℓ_C + (L − ℓ_C)/β)^n beyond it."""
        threshold, beta = exact([self.slowdown_threshold, self.slowdown_factor])
        x = self.size_at(t)
        if mp.isinf(threshold) or beta == 1:
            return self.size_moment(n, x)
        fast = self.size_moment(n, x) - self.size_moment(n, threshold) if x < threshold else mp.mpf(0)
        start, offset = max(x, threshold), threshold - threshold / beta
        slow = mp.fsum(comb(n, i) * offset ** (n - i) * self.size_moment(i, start) / beta**i for i in range(n + 1))
        return fast + slow

    def cost(self, a: Number) -> Number:
        """c(a), eqs. (4) and (8)."""
        return mp.mpf(self.preemption_cost) * self.growth(a)


@dataclass(frozen=True)
class Theorem:
    """The quantities of theorem 4.5; lists by level start with level 1."""

    mean_response_time: Number
    effective_load: Number
    p: list[Number]
    d: list[Number]
    d_J: list[Number]
    response: list[Number]


def theorem(queue: ReferenceQueue, boundaries: Sequence[Number]) -> Theorem:
    """Eqs. (8)–(28) as printed, with boundaries t_1 < … < t_{k−1} in place of rθ.

    Lists are padded so that an index is the paper's; sums over r are kept as running sums.
    """
    k, rate = len(boundaries) + 1, mp.mpf(queue.arrival_rate)
    t = [mp.mpf(0), *(mp.mpf(b) for b in boundaries)]
    c = [mp.mpf(0), *(queue.cost(a) for a in t[1:])]  # (8)
    tail, first = ([queue.moment(n, a) for a in t] for n in (0, 1))
    mean, second = first[0], queue.moment(2, mp.mpf(0))

    paid = _running(c)  # Σ_{r≤i} c_r
    paid_tail = _running([cost * above for cost, above in zip(c, tail, strict=True)])  # Σ_{r≤i} c_r P(S > t_r)
    to_come = [paid_tail[-1] - (paid_tail[i - 1] if i else 0) for i in range(k)]  # Σ_{r≥i} c_r P(S > t_r)

    effective_mean = mean + paid_tail[-1]  # (10)
    # the square of (9): 1{S > t_r} 1{S > t_s} = 1{S > t_max(r,s)}
    effective_second = second + mp.fsum(
        2 * c[r] * first[r] + (c[r] ** 2 + 2 * c[r] * paid[r - 1]) * tail[r] for r in range(1, k)
    )

    def served(j: int) -> Number:
        return mean if j == k else mean - first[j] + t[j] * tail[j]  # E[min(S, t_j)]

    def v_times_tail(i: int) -> Number:
        return first[i - 1] - t[i - 1] * tail[i - 1] + to_come[i - 1]  # (18) times P(S > t_{i−1})

    # λ Σ_{r>j} F̄(t_r)(t_r − t_{r−1} + c_{r−1}) v_{r+1}, the second sum of (16)
    lower = [mp.mpf(0)] * (k + 1)
    for r in range(k - 1, 0, -1):
        lower[r] = lower[r + 1] + (t[r] - t[r - 1] + c[r - 1]) * v_times_tail(r + 1)

    p, d, d_J, response = [], [], [], []
    for j in range(1, k + 1):
        here = tail[j - 1] - (tail[j] if j < k else 0)  # (13)
        b = served(j) + paid_tail[j - 1] if j < k else effective_mean  # (17)
        overtaken = mp.mpf(0) if j == k else rate * ((t[j] + paid[j - 1]) * v_times_tail(j + 1) + lower[j + 1])  # (16)
        d_J.append((rate * effective_second / 2 - overtaken) / (1 - rate * b))  # (15), (22)
        before = t[j - 1] + paid[j - 2] if j > 1 else mp.mpf(0)
        interrupting = served(j - 1) + paid_tail[j - 2] if j > 1 else mp.mpf(0)
        d.append((d_J[-1] + rate * before * interrupting) / (1 - rate * interrupting))  # (23)
        p.append(here)
        completed = first[j - 1] - (first[j] if j < k else 0)
        response.append(d[-1] + completed / here + paid[j - 1] if here else mp.nan)  # (14), (27)
    total = effective_mean + mp.fsum(a * b for a, b in zip(p, d, strict=True))  # (26), (28)
    return Theorem(total, rate * effective_mean, p, d, d_J, response)


def slope(queue: ReferenceQueue, boundaries: Sequence[float], direction: Sequence[float]) -> Number:
    """Slope of E[T] along a direction of the boundaries: central difference of the reference with 50 digits; the error is of the order of the squared step."""
    step = mp.mpf(10) ** -18
    start = exact(boundaries)

    def at(sign: int) -> mp.mpf:
        moved = [t + sign * step * towards for t, towards in zip(start, direction, strict=True)]
        return theorem(queue, moved).mean_response_time

    return (at(1) - at(-1)) / (2 * step)


def _running(values: Sequence[Number]) -> list[Number]:
    sums, total = [], mp.mpf(0)
    for value in values:
        total += value
        sums.append(total)
    return sums


def equal_boundaries(queue: ReferenceQueue, quantum: float, levels: float, negligible: float = 1e-18) -> list[Number]:
    """rθ for r < k; for k = ∞ as many as leave a negligible part of E[S³] beyond the last of them."""
    theta = mp.mpf(quantum)
    if levels == float("inf"):
        bound = negligible * queue.moment(3, mp.mpf(0))
        low, levels = 1, 2
        while queue.moment(3, levels * theta) > bound:
            low, levels = levels, 2 * levels
        while levels - low > 1:
            middle = (low + levels) // 2
            low, levels = (middle, levels) if queue.moment(3, middle * theta) > bound else (low, middle)
        levels += 1
    return [r * theta for r in range(1, int(levels))]
