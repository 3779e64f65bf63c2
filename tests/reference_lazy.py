"""MLPT′ with three levels word for word: counts as sums of powers of n, where the package has three functions of n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mpmath as mp

Transform = Callable[[Any], Any]


class Powers(dict[Any, Any]):
    """A function of n as parts of powers b^n, by their bases."""

    def __add__(self, other: Powers) -> Powers:
        return Powers({b: self.get(b, 0) + other.get(b, 0) for b in {*self, *other}})

    def __sub__(self, other: Powers) -> Powers:
        return self + -1 * other

    def __rmul__(self, factor: Any) -> Powers:
        return Powers({b: factor * part for b, part in self.items()})

    def mean(self, of_power: Transform = lambda b: b) -> Any:
        """From the means of b^A; for one job unless given."""
        return mp.fsum(part * of_power(b) for b, part in self.items())


def least_root(step: Transform) -> Any:
    """The least root of x = step(x) for a convex, increasing function: secants from below."""
    before, x = mp.mpf(0), step(mp.mpf(0))
    gap = x
    for _ in range(200):
        now = step(x) - x
        if abs(x - before) <= 100 * mp.eps or now == gap:
            return x
        before, x, gap = x, x - now * (x - before) / (now - gap), now
    raise AssertionError("no root")


@dataclass(frozen=True)
class Three:
    """A queue by transforms over its pieces.

    ``short``, ``completing`` and ``last`` give E[e^{−zS} ; S ≤ t_1], E[e^{−z(S−t_1)} ; S ≤ t_2 | S > t_1] and
    E[e^{−z(S−t_2)} | S > t_2]; ``moment`` gives E[S^n ; S > t].
    """

    rate: Any
    ends: tuple[Any, Any]
    costs: tuple[Any, Any]
    short: Transform
    completing: Transform
    last: Transform
    moment: Callable[[int, Any], Any]

    @cached_property
    def tails(self) -> tuple[Any, Any]:
        return self.moment(0, self.ends[0]), self.moment(0, self.ends[1])

    def over(self, transform: Transform, cost: Any = 0) -> Transform:
        """E[b^A] of the arrivals during a piece and a cost before it, from the transform of the piece."""
        return lambda b: transform(self.rate * (1 - b)) * mp.exp(-self.rate * (1 - b) * cost)

    def full(self, z: Any) -> Any:
        """A second piece that ends in a demotion."""
        return self.tails[1] / self.tails[0] * mp.exp(-z * (self.ends[1] - self.ends[0]))

    def whole(self, z: Any) -> Any:
        """Any second piece."""
        return self.completing(z) + self.full(z)

    def demoted(self, z: Any) -> Any:
        """A first piece that ends in a demotion."""
        return self.tails[0] * mp.exp(-z * self.ends[0])

    @cached_property
    def alpha(self) -> Any:
        return least_root(self.over(self.short))

    @cached_property
    def phi(self) -> Any:
        z, gone = self.over(self.completing, self.costs[0]), self.over(self.demoted)
        return least_root(lambda f: self.over(self.short)(f) + z(f) * gone(f))

    @cached_property
    def counts(self) -> dict[str, tuple[Powers, tuple[Any, Any]]]:
        """Each count, and its means after a piece without and with its cost."""
        z = self.over(self.completing, self.costs[0])(self.phi)
        kappa = self.over(self.demoted)(0) / self.over(self.short)(0)
        one, quiet = Powers({1: mp.mpf(1)}), Powers({self.alpha: mp.mpf(1)})
        nobody = Powers({self.alpha: kappa, 0: -kappa})
        somebody = one - quiet - nobody
        emptying = Powers({self.phi: 1 / z, self.alpha: -1 / z}) - nobody
        whole, within, through = (
            (self.over(part), self.over(part, self.costs[0])) for part in (self.whole, self.completing, self.full)
        )
        third = (self.over(self.last), self.over(self.last, self.costs[1]))
        alone = renewed(through[0](0) * nobody + through[1](0) * emptying, nobody, emptying, within)
        kept = renewed(quiet, nobody, emptying, within)
        passed = tuple(end(1) - x for end, x in zip(within, kept[1], strict=True))
        return {
            "waived": renewed(nobody, nobody, somebody, whole),
            "emptied": renewed(somebody, nobody, somebody, whole),
            "alone": alone,
            "passed": (one - kept[0], passed),
            "cycle": renewed(alone[0], alone[0], one - kept[0] - alone[0], third),
        }

    def begun(self, name: str) -> tuple[Any, Any, Any]:
        """A count from one job, and from the arrivals in a third piece without and with its cost."""
        count = self.counts[name][0]
        return count.mean(), count.mean(self.over(self.last)), count.mean(self.over(self.last, self.costs[1]))

    @cached_property
    def spare(self) -> Any:
        """1 − ρ_3^eff."""
        return 1 - self.rate * (
            self.moment(1, mp.mpf(0)) + mp.fsum(c * F for c, F in zip(self.costs, self.tails, strict=True))
        )

    @cached_property
    def waived(self) -> tuple[Any, Any, Any]:
        """e_1 F_1, e_2 F_2 and the share of time without jobs."""
        one, free, charged = self.begun("waived")
        cycle, _, _ = self.begun("cycle")
        lam, (c_1, c_2), F_2 = self.rate, self.costs, self.tails[1]
        # F_1 e_1 = idle g_1 + F_2 (1 − e_2) charged + F_2 e_2 free;  F_2 e_2 = idle m;  idle = spare + λ Σ c e F
        system = mp.matrix([[1, charged - free, -one], [0, 1, -cycle], [-lam * c_1, -lam * c_2, 1]])
        return tuple(mp.lu_solve(system, mp.matrix([F_2 * charged, 0, self.spare])))

    @cached_property
    def emptied(self) -> Any:
        """Times that the last job of level 2 enters service with its cost, for each arrival."""
        one, free, charged = self.begun("emptied")
        _, of_2, idle = self.waived
        return idle * one + of_2 * free + (self.tails[1] - of_2) * charged

    @cached_property
    def after(self) -> tuple[Any, Any, Any]:
        """Costs waived after a demotion from level 2: of a free piece, of the last in level 2, of another."""
        count, (_, others) = self.counts["waived"]
        length = self.ends[1] - self.ends[0]
        free, last = (count.mean(self.over(lambda z: mp.exp(-z * length), cost)) for cost in (0, self.costs[0]))
        return free, last, others

    def answer(self) -> tuple[Any, ...]:
        """e_1, e_2, d_1, d_2, d_3, E[T]."""
        lam, (t_1, t_2), (F_1, F_2), (c_1, c_2) = self.rate, self.ends, self.tails, self.costs
        (e_1, e_2), last = (part / F for part, F in zip(self.waived, self.tails, strict=False)), self.emptied / F_1
        (mean, M, m), (square, M2, m2) = ([self.moment(n, t) for t in (mp.mpf(0), t_1, t_2)] for n in (1, 2))
        x_1, x_1_square = mean - M + t_1 * F_1, square - M2 + t_1**2 * F_1
        p_2 = M - m - t_1 * (F_1 - F_2) + (t_2 - t_1) * F_2
        p_2_square = M2 - m2 - 2 * t_1 * (M - m) + t_1**2 * (F_1 - F_2) + (t_2 - t_1) ** 2 * F_2
        p_3, p_3_square = m - t_2 * F_2, m2 - 2 * t_2 * m + t_2**2 * F_2
        y_2 = p_2_square + (1 - e_1) * (2 * c_1 * p_2 + c_1**2 * F_1)
        y_3 = p_3_square + (1 - e_2) * (2 * c_2 * p_3 + c_2**2 * F_2)
        d_1 = lam * (x_1_square + y_2 + y_3) / (2 * (1 - lam * x_1))
        x_2 = x_1 + p_2 + c_1 * F_1
        x_2_square = square - m2 + t_2**2 * F_2 + 2 * c_1 * (M - m + t_2 * F_2) + c_1**2 * F_1
        found = lam * (x_2_square - e_1 * (2 * c_1 * p_2 + c_1**2 * F_1) + y_3) / (2 * (1 - lam * x_2))
        d_2 = (found + lam * x_1 * t_1) / (1 - lam * x_1)
        free, of_last, others = self.after
        later = e_1 * free + last * of_last + (1 - e_1 - last) * others
        own = t_2 - t_1 + c_1 * (1 - e_1)
        left = lam * (t_1 + d_2) * (x_2 - x_1) + lam * x_2 * own
        work = p_3 / F_2 + c_2
        each = work + (lam * work * x_2 - c_1 * self.begun("waived")[2]) / (1 - lam * x_2)
        until = (t_1 + d_2 + own + (left - c_1 * later) / (1 - lam * x_2)) / (1 - lam * F_2 * each)
        d_3 = until - t_2 - c_1 * (1 - e_1)
        served = mean + c_1 * F_1 * (1 - e_1) + c_2 * F_2 * (1 - e_2)
        return e_1, e_2, d_1, d_2, d_3, served + (1 - F_1) * d_1 + (F_1 - F_2) * d_2 + F_2 * d_3


def renewed(base: Powers, free: Powers, charged: Powers, ends: tuple[Transform, ...]) -> tuple[Powers, tuple[Any, Any]]:
    """x_n = base + free·E[x_A] + charged·E[x_A′], and the two means."""
    rows = [[count.mean(end) for count in (base, free, charged)] for end in ends]
    left = mp.matrix([[1 - rows[0][1], -rows[0][2]], [-rows[1][1], 1 - rows[1][2]]])
    x = mp.lu_solve(left, mp.matrix([rows[0][0], rows[1][0]]))
    return base + x[0] * free + x[1] * charged, (x[0], x[1])
