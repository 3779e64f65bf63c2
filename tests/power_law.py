"""E[T] for k = ∞ and a power-law tail, where no sum over levels ends, with 18 digits.

The service time is Lomax with index α and scale s and there is no slowdown, so with b = s/θ the tail at rθ is
b^α (r + b)^−α, and every sum over levels from some level on is a combination of Hurwitz zeta functions, continued
analytically where its parts diverge and only the whole does not.  The outer sum over levels is taken by the formula of
Abel and Plana (NIST DLMF 2.10.2), on the imaginary axis, where these functions are as easily evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import mpmath as mp

DIGITS = 18
FIRST = 40  # levels that are added up one by one, at least


@dataclass(frozen=True)
class PowerLaw:
    """The queue; restore costs are c(a) = base + slope · min(a, window), γ included."""

    shape: float
    scale: float
    arrival_rate: float
    quantum: float
    base: float = 0.0
    slope: float = 0.0
    window: float = float("inf")

    @cached_property
    def numbers(self) -> dict[str, Any]:
        return {name: mp.mpf(getattr(self, name)) for name in self.__dataclass_fields__}

    @cached_property
    def near(self) -> int:
        """Levels up to here are added up; beyond the window every cost is the same."""
        return FIRST + (0 if mp.isinf(self.window) else int(self.window / self.quantum) + 1)

    @cached_property
    def line(self) -> tuple[Any, Any]:
        """c_r = line[0] + line[1] · r beyond the near levels."""
        n = self.numbers
        if mp.isinf(n["window"]):
            return n["base"], n["slope"] * n["quantum"]
        return n["base"] + n["slope"] * n["window"], mp.mpf(0)

    def cost(self, r: int) -> Any:
        n = self.numbers
        return n["base"] + n["slope"] * min(r * n["quantum"], n["window"]) if r else mp.mpf(0)

    def power(self, r: Any, exponent: int) -> Any:
        """b^α (r + b)^(exponent − α)."""
        n = self.numbers
        b = n["scale"] / n["quantum"]
        return b ** n["shape"] * (r + b) ** (exponent - n["shape"])

    def powers_from(self, r: Any, exponent: int) -> Any:
        """Σ of `power` over all levels from r on."""
        n = self.numbers
        return _scaled_zeta(n["shape"], n["scale"] / n["quantum"], r, exponent, mp.mp.prec)

    def tail(self, r: Any) -> Any:
        return self.power(r, 0)

    def excess(self, r: Any) -> Any:
        """D_r = E[(S − rθ)⁺]."""
        n = self.numbers
        return n["quantum"] * self.power(r, 1) / (n["shape"] - 1)

    def excess_integral(self, r: Any) -> Any:
        """An antiderivative of −D."""
        n = self.numbers
        return n["quantum"] ** 2 * self.power(r, 2) / ((n["shape"] - 1) * (n["shape"] - 2))

    def piece_mean(self, r: int) -> Any:
        return self.excess(r - 1) - self.excess(r) + self.cost(r - 1) * self.tail(r - 1)

    def piece_square(self, r: int) -> Any:
        theta, cost = self.numbers["quantum"], self.cost(r - 1)
        served = self.excess(r - 1) - self.excess(r)
        square = 2 * (self.excess_integral(r - 1) - self.excess_integral(r) - theta * self.excess(r))
        return square + 2 * cost * served + cost**2 * self.tail(r - 1)

    def polynomial_from(self, coefficients: list[Any], r: Any, exponent: int) -> Any:
        """Σ from r on of a polynomial in (level + b) times `power`."""
        return sum(c * self.powers_from(r, exponent + i) for i, c in enumerate(coefficients) if c)

    def line_in_shifted(self) -> list[Any]:
        """c_r as a polynomial in r + b."""
        n = self.numbers
        b = n["scale"] / n["quantum"]
        intercept, slope = self.line
        return [intercept - slope * b, slope]

    def squares(self) -> Any:
        """Σ E[Y_r²] over all levels."""
        n, near = self.numbers, self.near
        total = mp.fsum(self.piece_square(r) for r in range(1, near + 1))
        later = n["quantum"] * self.powers_from(near + 1, 1) / (n["shape"] - 1)  # Σ_{r>N} D_r
        total += 2 * (self.excess_integral(near) - n["quantum"] * later)
        # 2 Σ c_{r−1} (D_{r−1} − D_r) by parts
        _, slope = self.line
        total += 2 * (self.cost(near) * self.excess(near) + slope * later)
        first, second = self.line_in_shifted()
        return total + self.polynomial_from([first**2, 2 * first * second, second**2], near, 0)

    @cached_property
    def sums(self) -> tuple[Any, Any, Any, Any]:
        """E[X] and Σ a E[Y] through the near levels, c_1 + … + c_{N−1}, and E[S^eff]."""
        work, crossings, paid = mp.mpf(0), mp.mpf(0), mp.mpf(0)
        for r in range(1, self.near + 1):
            before = (r - 1) * self.numbers["quantum"] + paid
            work, crossings = work + self.piece_mean(r), crossings + before * self.piece_mean(r)
            paid += self.cost(r - 1) if r < self.near + 1 else 0
        return (
            work,
            crossings,
            paid,
            work + self.excess(self.near) + self.polynomial_from(self.line_in_shifted(), self.near, 0),
        )

    @cached_property
    def before_in_shifted(self) -> list[Any]:
        """a_{r−1} = (r − 1)θ + c_1 + … + c_{r−2} for r beyond the near levels, as a polynomial in r − 1 + b."""
        n, near = self.numbers, self.near
        b, (intercept, slope) = n["scale"] / n["quantum"], self.line
        _, _, paid, _ = self.sums
        # with m = r − 1: paid + Σ_{i=N}^{m−1} (intercept + slope i)
        constant = paid - intercept * near - slope * near * (near - 1) / 2
        linear, quadratic = n["quantum"] + intercept - slope / 2, slope / 2
        return [constant - linear * b + quadratic * b**2, linear - 2 * quadratic * b, quadratic]

    def before(self, j: Any) -> Any:
        b = self.numbers["scale"] / self.numbers["quantum"]
        return sum(c * (j - 1 + b) ** i for i, c in enumerate(self.before_in_shifted))

    def work(self, j: Any) -> Any:
        """E[X_j] for a level beyond the near ones, whole or not."""
        return self.sums[3] - self.excess(j) - self.polynomial_from(self.line_in_shifted(), j, 0)

    def crossings_from(self, r: Any) -> Any:
        """Σ a E[Y] over levels from r on, up to a constant."""
        n = self.numbers
        a = self.before_in_shifted
        cost = self.line_in_shifted()
        scale = n["quantum"] / (n["shape"] - 1)
        # in m = r − 1: a(m) (D_m − D_{m+1} + c_m F_m), and Σ a(m) D_{m+1} = Σ a(m′ − 1) D_{m′}
        shifted = [a[0] - a[1] + a[2], a[1] - 2 * a[2], a[2]]
        product = [sum(a[i] * cost[k - i] for i in range(3) if 0 <= k - i < 2) for k in range(4)]
        return scale * (self.polynomial_from(a, r - 1, 1) - self.polynomial_from(shifted, r, 1)) + self.polynomial_from(
            product, r - 1, 0
        )

    def mean_response_time(self) -> Any:
        """E[T]."""
        with mp.workdps(DIGITS):
            rate, theta, near = (*(self.numbers[name] for name in ("arrival_rate", "quantum")), self.near)
            squares, effective = self.squares(), self.sums[3]
            through = self.sums[1] + self.crossings_from(mp.mpf(near + 1))

            def wait(before: Any, work_before: Any, work: Any, crossings: Any) -> Any:
                merged = rate / 2 * (squares + 2 * crossings) / (1 - rate * work)
                return (merged + rate * before * work_before) / (1 - rate * work_before)

            total, work, crossings, paid = effective, mp.mpf(0), mp.mpf(0), mp.mpf(0)
            for j in range(1, near + 1):
                before, work_before = (j - 1) * theta + paid, work
                work, crossings = work + self.piece_mean(j), crossings + before * self.piece_mean(j)
                total += (self.tail(j - 1) - self.tail(j)) * wait(before, work_before, work, crossings)
                paid += self.cost(j - 1)

            def term(j: Any) -> Any:
                # neighbouring levels differ by a part 1/j, and twice so in the crossings
                with mp.workdps(DIGITS + 2 * int(mp.log10(abs(j)))):
                    probability = self.tail(j - 1) - self.tail(j)
                    crossings = through - self.crossings_from(j + 1)
                    return probability * wait(self.before(j), self.work(j - 1), self.work(j), crossings)

            return total + _abel_plana(term, near + 1, self.numbers["shape"] - (1 if self.line[1] else 0))


@lru_cache(maxsize=64)
def _scaled_zeta(shape: Any, b: Any, r: Any, exponent: int, precision: int) -> Any:
    """b^α ζ(α − exponent, r + b); one level asks for the same several times."""
    return b**shape * hurwitz_zeta(shape - exponent, r + b)


@cache
def _weight(k: int, precision: int) -> Any:
    """B_2k/(2k)!."""
    return mp.bernoulli(2 * k) / mp.factorial(2 * k)


def hurwitz_zeta(s: Any, a: Any) -> Any:
    """ζ(s, a) for |a| of some tens or more, by its asymptotic expansion (NIST DLMF 25.11.43)."""
    total, factor = a ** (1 - s) / (s - 1) + a**-s / 2, a ** (-s - 1) * s
    for k in range(1, 10):
        total += _weight(k, mp.mp.prec) * factor
        factor *= (s + 2 * k - 1) * (s + 2 * k) / a**2
    return total


def _abel_plana(term: Any, first: int, decay: Any) -> Any:
    """Σ of a term over all levels from ``first`` on; it falls like level^−decay or faster."""
    start = mp.mpf(first)
    last = mp.log(10) * DIGITS / (decay - 1)
    ends = [0, mp.mpf(1) / 2, 2, 6, *([18] if last > 18 else []), max(last, 12)]
    integral = mp.quad(lambda v: term(start * mp.exp(v)) * start * mp.exp(v), ends)
    imaginary = mp.quad(
        lambda y: -2 * mp.im(term(mp.mpc(start, y))) / mp.expm1(2 * mp.pi * y), [mp.mpf(10) ** -DIGITS, 1, 3, 10]
    )
    return integral + term(start) / 2 + imaginary
