"""What every size law offers: density, tail, hazard, upper partial moments and samples.

A law is a frozen dataclass of its parameters; its numeric functions are its formulas, compiled.  Sizes are in units of
work, which is time at service rate one; scales, rates and samples may be anything from 1e-30 to 1e30.
"""

from __future__ import annotations

import math
from dataclasses import fields
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.compile import compiled
from mlptsym.likelihood import improved
from mlptsym.parameters import Parametric
from mlptsym.validation import ParameterError

if TYPE_CHECKING:
    from mlptsym.likelihood import Sample
    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["HIGHEST_ORDER", "SizeLaw"]

Floats = NDArray[np.float64]

HIGHEST_ORDER = 3
"""The highest moment that the theory asks for: E[S³] bounds what is left out for infinitely many levels."""

ORDERS = range(HIGHEST_ORDER + 1)
"""Those of all moments."""

NO_POINTS: Floats = np.empty(0)
NO_POINTS.flags.writeable = False

DEEP = 1e-290
"""A tail or density below has too few digits to divide by, or none."""

ROUNDING = 1e-14
"""What sums of probabilities may be off by."""

FAR = 1e10
"""Stands for the distance of a law that cannot be computed."""

TINY = 1e-200
MOST_DRAWN = 2**30


class SizeLaw(Parametric):
    """What every size law offers; its subclasses are frozen dataclasses of their parameters."""

    examples: ClassVar[tuple[tuple[Any, ...], ...]] = ()
    """Ordinary parameters, with which everything is tried in the tests."""

    @classmethod
    def formulas(cls, *lengths: int) -> LawFormulas:
        """The law in SymPy's terms; ``lengths`` says how many numbers a parameter that is a sequence has."""
        raise NotImplementedError

    @cached_property
    def parameters(self) -> tuple[float, ...]:
        """Parameter values in the order of the symbols of `formulas`."""
        values = (getattr(self, item.name) for item in fields(self))  # type: ignore[arg-type]
        return tuple(chain.from_iterable(value if _is_sequence(value) else (value,) for value in values))

    @cached_property
    def kind(self) -> tuple[Any, tuple[int, ...]]:
        """What the formulas depend on beside the parameters: the class, and the ``lengths`` that `formulas` takes."""
        values = (getattr(self, item.name) for item in fields(self))  # type: ignore[arg-type]
        return type(self), tuple(len(value) for value in values if _is_sequence(value))[:1]

    def evaluate(self, wanted: str, x: Floats, *orders: int) -> Any:
        """A record of the law's formulas at sizes: see `mlptsym.symbolic.model.size_law.law_formula`."""
        function = compiled("mlptsym.symbolic.model.size_law:law_formula", *self.kind, wanted, *orders)
        return function(x=x, **dict(zip(function.inputs, self.parameters, strict=False)))

    # where the law is not smooth

    @property
    def moment_limit(self) -> float:
        """E[L^n] is finite exactly for n below this."""
        return math.inf

    @property
    def lower_end(self) -> float:
        """Lower end of the support."""
        return 0.0

    @property
    def upper_end(self) -> float:
        """Upper end of the support."""
        return math.inf

    @property
    def atoms(self) -> Floats:
        """Sizes with positive probability, increasing; empty for a law with a density, and otherwise all there are."""
        return NO_POINTS

    @property
    def masses(self) -> Floats:
        """Probability of each atom."""
        return -np.diff(self.tail(self.atoms), prepend=1.0)

    @property
    def density_jumps(self) -> tuple[float, ...]:
        """Sizes > 0 at which the density jumps, increasing."""
        return ()

    @property
    def smooth(self) -> bool:
        """Whether the law has a density without a jump on (0, ∞)."""
        return not len(self.atoms) and not self.density_jumps

    @cached_property
    def reach(self) -> float:
        """Size beyond which nothing is left of the law in double precision."""
        if math.isfinite(self.upper_end):
            return self.upper_end
        sizes: Floats = 2.0 ** np.arange(-1022.0, 1024.0)
        left = np.any([moment > 0 for moment in self.evaluate("moments", sizes, *ORDERS)], axis=0)
        return float(np.append(sizes[1:], math.inf)[np.flatnonzero(left).max(initial=0)])

    # numbers

    def density(self, x: ArrayLike) -> Floats:
        """Density f(x), shape of ``x``; zero outside the support (point masses: see the law)."""
        points = floats("x", x)
        # quotients of subnormal numbers would come out as zero: so small a size is zero
        (density,) = self.evaluate("density", np.where(points < TINY, 0.0, points))
        # beyond its reach a power law goes on, and of any other there is nothing
        return density if math.isfinite(self.moment_limit) else np.where(points < self.reach, density, 0.0)

    def tail(self, x: ArrayLike) -> Floats:
        """Tail P(L > x), shape of ``x``."""
        return self.upper_moment(0, x)

    def hazard(self, x: ArrayLike) -> Floats:
        """Hazard f(x)/P(L > x), shape of ``x``; ``inf`` where nothing is left of the law."""
        points = floats("x", x)
        tail, density = self.tail(points), self.density(points)
        gone = tail <= DEEP
        deep = gone & (points < self.upper_end)
        with np.errstate(over="ignore"):
            hazard: Floats = np.divide(density, tail, out=np.full(points.shape, math.inf), where=~gone)
            hazard[deep] = self._deep_hazard(points[deep])
        return hazard

    def _deep_hazard(self, points: Floats) -> Floats:
        """Hazard where the tail is too small for a float."""
        return np.full(points.shape, math.inf)

    def log_density(self, x: ArrayLike) -> Floats:
        """log f(x), shape of ``x``, also where f(x) is too small for a float."""
        points = floats("x", x)
        if len(self.atoms):
            with np.errstate(divide="ignore"):
                return np.log(self.density(points))
        start = points == 0  # where the formula has no value, but the density has
        inside = (points >= self.lower_end) & (points < self.upper_end) & ~start
        logs = np.full(points.shape, -math.inf)
        logs[inside] = self.evaluate("log_density", points[inside]).log_density
        if start.any():
            with np.errstate(divide="ignore"):
                logs[start] = np.log(self.density(0.0))
        return logs

    def log_tail(self, x: ArrayLike) -> Floats:
        """log P(L > x), shape of ``x``, also where P(L > x) is too small for a float."""
        points = floats("x", x)
        tail = self.tail(points)
        deep = (tail <= DEEP) & (points < self.upper_end)
        with np.errstate(divide="ignore", over="ignore"):
            logs: Floats = np.asarray(np.log(tail))
            logs[deep] = self.log_density(points[deep]) - np.log(self._deep_hazard(points[deep]))
        return logs

    def quantile(self, probability: ArrayLike) -> Floats:
        """Least size x with P(L ≤ x) at least the probability, shape of ``probability``.

        Examples
        --------
        >>> from mlptsym import Uniform
        >>> Uniform(2, 4).quantile([0, 0.25, 1]).round(12).tolist()
        [2.0, 2.5, 4.0]
        """
        from scipy.optimize import elementwise

        chances = floats("probability", probability)
        if (chances > 1).any():
            allowed = "a number >= 0 and <= 1, or an array of such"
            validation.refuse("probability", float(chances[chances > 1][0]), allowed)
        if len(self.atoms):
            return self.atoms[np.searchsorted(np.cumsum(self.masses)[:-1], chances * (1 - ROUNDING))]
        found = np.where(chances > 0, self.upper_end, self.lower_end)
        between = (chances > 0) & (chances < 1)
        logs = np.log1p(-chances[between])
        sizes: Floats = 2.0 ** np.arange(-1022.0, 1024.0)
        first = np.searchsorted(-self.log_tail(sizes), -logs).clip(1, len(sizes) - 1)
        solver: Any = elementwise.find_root  # its type allows no further arguments
        ends = (sizes[first - 1], sizes[first])
        found[between] = solver(lambda x, log: np.maximum(self.log_tail(x), -1e300) - log, ends, args=(logs,)).x
        return found

    # fitting

    @property
    def freedom(self) -> int:
        """How many parameters may be chosen independently."""
        return len(self.parameters)

    @classmethod
    def most_likely(cls, sample: Sample) -> Self | None:
        """The law under which a sample is most likely; None where there is none within the ranges of the parameters.

        By Nelder and Mead's method, first for the mean and the second moment, then for the likelihood.  Positive
        parameters are searched for by their logarithms.
        """
        from scipy.optimize import minimize

        ranges = list(cls.ranges().values())
        positive = [(allowed.at_least or allowed.above or 0) > 0 for allowed in ranges]
        moments = [sample.total(lambda x, n=n: x**n) / sample.size for n in (1, 2)]  # type: ignore[misc]

        def build(place: Floats) -> Any:
            return cls(*(math.exp(v) if log else float(v) for v, log in zip(place, positive, strict=True)))

        def distance(place: Floats) -> float:
            try:
                return math.fsum(abs(math.log(build(place).moment(n) / moments[n - 1])) for n in (1, 2))
            except (ParameterError, ArithmeticError, ValueError):
                return FAR

        starts = [[math.log(v) if log else v for v, log in zip(e, positive, strict=True)] for e in cls.examples]
        near = min((minimize(distance, start, method="Nelder-Mead") for start in starts), key=lambda found: found.fun)
        law: Self = improved(sample, build, near.x.tolist())
        ends = [end for allowed in ranges for end in (allowed.at_least, allowed.at_most) if end is not None]
        at_end = any(math.isclose(value, end, rel_tol=1e-6) for value in law.parameters for end in ends)
        return None if at_end else law

    def upper_moment(self, order: int, x: ArrayLike) -> Floats:
        """E[L^order ; L > x] for order 0 … 3, shape of ``x``; ``inf`` where the moment is infinite."""
        position = validation.integer("order", order, at_least=0, at_most=HIGHEST_ORDER)
        points = floats("x", x)
        if position >= self.moment_limit:
            return np.full(points.shape, math.inf)
        return self.partial_moments(points)[position]

    def moment(self, order: int) -> float:
        """E[L^order] for order 0 … 3."""
        return self._moments[validation.integer("order", order, at_least=0, at_most=HIGHEST_ORDER)]

    @cached_property
    def _moments(self) -> tuple[float, ...]:
        return tuple(float(self.upper_moment(order, 0.0)) for order in range(HIGHEST_ORDER + 1))

    @property
    def mean(self) -> float:
        """E[L]."""
        return self.moment(1)

    def partial_moments(self, x: Floats, *, antiderivative: bool = False) -> tuple[Floats, ...]:
        """E[L^n ; L > x] for n = 0 … 3 (unchecked: where a moment is infinite the numbers mean nothing).

        With ``antiderivative``, the orders from 2 on are replaced, for laws that have one, by functions with the same
        derivative −x^n f(x) that stay finite: only their differences have a meaning.
        """
        wanted = "antiderivatives" if antiderivative else "moments"
        beyond = x >= self.reach
        if not beyond.any():
            return tuple(self.evaluate(wanted, x, *ORDERS))
        inside = self.evaluate(wanted, np.where(beyond, 0.0, x), *ORDERS)
        return tuple(np.where(beyond, 0.0, moment) for moment in inside)

    def sample(self, generator: np.random.Generator, count: int) -> Floats:
        """Draw ``count`` independent sizes from a NumPy generator.

        Raises
        ------
        ParameterError
            If ``generator`` is none, or ``count`` no whole number from 0 to 2³⁰.
        """
        if not isinstance(generator, np.random.Generator):
            validation.refuse("generator", generator, "a numpy.random.Generator")
        return self._draw(generator, validation.integer("count", count, at_least=0, at_most=MOST_DRAWN))

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Sizes from checked arguments."""
        raise NotImplementedError


def _is_sequence(value: object) -> bool:
    return isinstance(value, (tuple, np.ndarray))
