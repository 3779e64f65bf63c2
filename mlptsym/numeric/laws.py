"""Size laws with numbers: density, tail, hazard, upper partial moments and samples.

Each class holds the parameters of the symbolic law of the same name in `mlptsym.symbolic.laws`; its numeric functions
are that law's expressions, compiled.  Sizes are in units of work, which is time at service rate one; scales, rates and
samples may be anything from 1e-30 to 1e30.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.numeric.arrays import floats, running_sum

if TYPE_CHECKING:
    from mlptsym.compile import CompiledFunction

__all__ = [
    "SIZE_LAWS",
    "Deterministic",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "HyperExponential",
    "LogNormal",
    "Lomax",
    "SizeLaw",
    "Uniform",
    "Weibull",
]

Floats = NDArray[np.float64]
HIGHEST_ORDER = 3
TINY = 1e-200
MOST_DRAWN = 2**30
MOST_PHASES = 100  # of a hyperexponential law: its formula is built phase by phase


@lru_cache(maxsize=64)
def moments_function(name: str, phases: tuple[int, ...], potential: bool) -> CompiledFunction:
    """E[L^n ; L > x], n = 0 … 3, of a law; with its potential in place of n ≥ 2 if asked for."""
    from mlptsym.compile import compile_expressions
    from mlptsym.symbolic.laws import LAWS, point

    law = LAWS[name](*phases)
    moments = [law.upper_moment(order) for order in range(HIGHEST_ORDER + 1)]
    if potential and law.potential is not None:
        moments[2:] = [law.potential(order) for order in range(2, HIGHEST_ORDER + 1)]
    return compile_expressions({**{str(p): p for p in law.parameters}, "x": point}, moments)


@lru_cache(maxsize=64)
def _compiled_density(name: str, phases: tuple[int, ...]) -> CompiledFunction:
    from mlptsym.compile import compile_expressions
    from mlptsym.symbolic.laws import LAWS, point

    law = LAWS[name](*phases)
    arguments = {**{str(p): p for p in law.parameters}, "x": point}
    return compile_expressions(arguments, [law.density_everywhere()])


class SizeLaw:
    """What every size law offers; its subclasses are frozen dataclasses of their parameters."""

    phases: ClassVar[tuple[int, ...]] = ()
    smooth: ClassVar[bool] = True
    has_potential: ClassVar[bool] = False

    @property
    def parameters(self) -> tuple[float, ...]:
        """Parameter values in the order of the symbolic law."""
        return tuple(getattr(self, item.name) for item in fields(self))  # type: ignore[arg-type]

    @property
    def moment_limit(self) -> float:
        """E[L^n] is finite exactly for n below this."""
        return math.inf

    @property
    def upper_end(self) -> float:
        """Upper end of the support."""
        return math.inf

    @cached_property
    def reach(self) -> float:
        """Size beyond which nothing is left of the law in double precision."""
        if math.isfinite(self.upper_end):
            return self.upper_end
        sizes: Floats = 2.0 ** np.arange(-1022.0, 1024.0)
        left = np.any([moment > 0 for moment in self._closed_moments(sizes, potential=False)], axis=0)
        return float(np.append(sizes[1:], math.inf)[np.flatnonzero(left).max(initial=0)])

    def density(self, x: ArrayLike) -> Floats:
        """Density f(x), shape of ``x``; zero outside the support (point masses: see the law)."""
        points = floats("x", x)
        # quotients of subnormal numbers would come out as zero: so small a size is zero
        inside = np.where(points < TINY, 0.0, points)
        density = _compiled_density(type(self).__name__, self.phases)(*self.parameters, inside)[0]
        # beyond its reach a power law goes on, and of any other there is nothing
        return density if math.isfinite(self.moment_limit) else np.where(points < self.reach, density, 0.0)

    def tail(self, x: ArrayLike) -> Floats:
        """Tail P(L > x), shape of ``x``."""
        return self.upper_moment(0, x)

    def hazard(self, x: ArrayLike) -> Floats:
        """Hazard f(x)/P(L > x), shape of ``x``; ``inf`` where nothing is left of the law."""
        points = floats("x", x)
        tail, density = self.tail(points), self.density(points)
        gone = tail <= 1e-290
        deep = gone & (points < self.upper_end)
        with np.errstate(over="ignore"):
            hazard: Floats = np.divide(density, tail, out=np.full(points.shape, math.inf), where=~gone)
            hazard[deep] = self._deep_hazard(points[deep])
        return hazard

    def _deep_hazard(self, points: Floats) -> Floats:
        """Hazard where the tail is too small for a float."""
        return np.full(points.shape, math.inf)

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

    def partial_moments(self, x: Floats, *, potential: bool = False) -> tuple[Floats, ...]:
        """E[L^n ; L > x] for n = 0 … 3 (unchecked: where a moment is infinite the numbers mean nothing).

        With ``potential``, the orders from 2 on are replaced, for laws that have one, by functions with the same
        derivative −x^n f(x) that stay finite: only their differences have a meaning.
        """
        beyond = x >= self.reach
        if not beyond.any():
            return self._closed_moments(x, potential=potential)
        inside = self._closed_moments(np.where(beyond, 0.0, x), potential=potential)
        return tuple(np.where(beyond, 0.0, moment) for moment in inside)

    def _closed_moments(self, x: Floats, *, potential: bool) -> tuple[Floats, ...]:
        """The closed forms as they are, which may overflow far out."""
        compiled = moments_function(type(self).__name__, self.phases, potential and self.has_potential)
        return compiled(*self.parameters, x)

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


def _set(law: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(law, name, value)


@dataclass(frozen=True)
class Exponential(SizeLaw):
    """Exponential law.

    Parameters
    ----------
    rate : float
        Rate, > 0; the mean is 1/rate.

    Examples
    --------
    >>> law = Exponential(rate=0.5)
    >>> law.mean, float(law.hazard(7.0))
    (2.0, 0.5)
    """

    rate: float

    def __post_init__(self) -> None:
        _set(self, rate=validation.magnitude("rate", self.rate))

    def _deep_hazard(self, points: Floats) -> Floats:
        return np.full(points.shape, self.rate)

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return generator.standard_exponential(count) / self.rate


@dataclass(frozen=True)
class LogNormal(SizeLaw):
    """Log-normal law: log L is normal.

    Parameters
    ----------
    mu : float
        Mean of log L, from −69 to 69.
    sigma : float
        Standard deviation of log L, from 1e-6 to 10.

    Examples
    --------
    >>> round(LogNormal(5, 0.9).mean, 4)
    222.5162
    """

    mu: float
    sigma: float

    def __post_init__(self) -> None:
        _set(
            self,
            mu=validation.number("mu", self.mu, at_least=-69, at_most=69),
            sigma=validation.number("sigma", self.sigma, at_least=1e-6, at_most=10),
        )

    def _deep_hazard(self, points: Floats) -> Floats:
        from scipy.special import erfcx

        depth = (np.log(np.maximum(points, 1e-300)) - self.mu) / (self.sigma * math.sqrt(2))
        with np.errstate(divide="ignore"):
            return math.sqrt(2 / math.pi) / (np.maximum(points, 1e-300) * self.sigma * erfcx(depth))

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return np.exp(self.mu + self.sigma * generator.standard_normal(count))


@dataclass(frozen=True)
class Weibull(SizeLaw):
    """Weibull law with tail exp(−(x/scale)^shape).

    Parameters
    ----------
    shape : float
        From 0.05 to 1e6; below one the hazard falls.
    scale : float
        > 0.
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _set(
            self,
            shape=validation.number("shape", self.shape, at_least=0.05, at_most=1e6),
            scale=validation.magnitude("scale", self.scale),
        )

    def _deep_hazard(self, points: Floats) -> Floats:
        return self.shape / self.scale * (points / self.scale) ** (self.shape - 1)

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return self.scale * generator.standard_exponential(count) ** (1 / self.shape)


@dataclass(frozen=True)
class Gamma(SizeLaw):
    """Gamma law with density proportional to x^(shape−1) exp(−x/scale).

    Parameters
    ----------
    shape : float
        From 1e-3 to 1e6.
    scale : float
        > 0; the mean is shape·scale.
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _set(
            self,
            shape=validation.number("shape", self.shape, at_least=1e-3, at_most=1e6),
            scale=validation.magnitude("scale", self.scale),
        )

    def _deep_hazard(self, points: Floats) -> Floats:
        return _gamma_hazard(self.shape, points / self.scale) / self.scale

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return self.scale * generator.standard_gamma(self.shape, count)


def _gamma_hazard(shape: float, scaled: Floats, depth: int = 200) -> Floats:
    """z^(a−1) e^(−z)/Γ(a, z) for z far above a, by Legendre's continued fraction (NIST DLMF 8.9.2)."""
    scaled = np.minimum(scaled, 1e300)  # where it is infinite the quotient is 1 all the same
    fraction = scaled + 2 * depth + 1 - shape
    for step in range(depth, 0, -1):
        fraction = scaled + 2 * step - 1 - shape - step * (step - shape) / fraction
    return fraction / scaled


@dataclass(frozen=True)
class Erlang(SizeLaw):
    """Erlang law: the sum of exponential stages of one rate.

    Parameters
    ----------
    stages : int
        Number of stages, from 1 to a million.
    rate : float
        Rate of each stage, > 0; the mean is stages/rate.
    """

    stages: int
    rate: float

    def __post_init__(self) -> None:
        _set(
            self,
            stages=validation.integer("stages", self.stages, at_least=1, at_most=10**6),
            rate=validation.magnitude("rate", self.rate),
        )

    def _deep_hazard(self, points: Floats) -> Floats:
        return _gamma_hazard(self.stages, points * self.rate) * self.rate

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return generator.standard_gamma(self.stages, count) / self.rate


@dataclass(frozen=True)
class HyperExponential(SizeLaw):
    """Mixture of exponential laws.

    Parameters
    ----------
    probabilities : sequence of float
        Probability of each phase, > 0, adding up to one; at most 100 phases.
    rates : sequence of float
        Rate of each phase, > 0, as many.

    Examples
    --------
    >>> HyperExponential([0.9, 0.1], [1.0, 0.05]).mean
    2.9
    """

    probabilities: tuple[float, ...]
    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        low, high = validation.SMALLEST, validation.LARGEST
        probabilities = validation.numbers(
            "probabilities", self.probabilities, above=0, at_most=1, maximum_length=MOST_PHASES
        )
        rates = validation.numbers("rates", self.rates, at_least=low, at_most=high, maximum_length=MOST_PHASES)
        if len(rates) != len(probabilities):
            validation.refuse("rates", rates, f"as many numbers as there are probabilities ({len(probabilities)})")
        if abs(math.fsum(probabilities) - 1) > 1e-9:
            validation.refuse("probabilities", probabilities, "numbers that add up to 1")
        total = math.fsum(probabilities)
        _set(self, probabilities=tuple(p / total for p in probabilities), rates=rates)

    @property
    def phases(self) -> tuple[int, ...]:  # type: ignore[override]
        """The number of phases, by which the symbolic law is built."""
        return (len(self.rates),)

    @property
    def parameters(self) -> tuple[float, ...]:
        """Probabilities, then rates."""
        return (*self.probabilities, *self.rates)

    def _deep_hazard(self, points: Floats) -> Floats:
        return np.full(points.shape, min(self.rates))

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        phase = np.searchsorted(np.cumsum(self.probabilities)[:-1], generator.random(count), side="right")
        sizes: Floats = generator.standard_exponential(count) / np.asarray(self.rates)[phase]
        return sizes


@dataclass(frozen=True)
class Lomax(SizeLaw):
    """Lomax (Pareto II) law with the power-law tail (1 + x/scale)^(−shape).

    Parameters
    ----------
    shape : float
        From 0.01 to 1000; E[L^n] is finite for n < shape only.
    scale : float
        > 0.
    """

    shape: float
    scale: float
    has_potential: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _set(
            self,
            shape=validation.number("shape", self.shape, at_least=0.01, at_most=1e3),
            scale=validation.magnitude("scale", self.scale),
        )

    @property
    def moment_limit(self) -> float:
        """The shape."""
        return self.shape

    def _deep_hazard(self, points: Floats) -> Floats:
        return self.shape / (self.scale + points)

    @property
    def reach(self) -> float:
        """Size from which on every moment is one power of the size, in double precision."""
        return 1e40 * self.scale

    def partial_moments(self, x: Floats, *, potential: bool = False) -> tuple[Floats, ...]:
        """As in `SizeLaw`, continued beyond `reach` by the power; potentials are constant from there on."""
        moments = self._closed_moments(np.minimum(x, self.reach), potential=potential)
        further = np.maximum(x / self.reach, 1.0)
        powers = 2 if potential else HIGHEST_ORDER + 1
        with np.errstate(over="ignore", invalid="ignore"):
            continued = (m * further ** (n - self.shape) if n < powers else m for n, m in enumerate(moments))
            return tuple(np.asarray(moment) for moment in continued)

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return self.scale * np.expm1(generator.standard_exponential(count) / self.shape)


@dataclass(frozen=True)
class Uniform(SizeLaw):
    """Uniform law.

    Parameters
    ----------
    low, high : float
        Ends of the support, 0 <= low < high.
    """

    low: float
    high: float
    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        low = validation.number("low", self.low, at_least=0)
        _set(self, low=low, high=validation.number("high", self.high, above=low, at_most=validation.LARGEST))

    @property
    def upper_end(self) -> float:
        """``high``."""
        return self.high

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        # (0, 1] rather than [0, 1): a size is never zero
        return self.high - (self.high - self.low) * generator.random(count)


@dataclass(frozen=True)
class Deterministic(SizeLaw):
    """All sizes equal; the density and hazard are ``inf`` at the value and 0 elsewhere below it.

    Parameters
    ----------
    value : float
        > 0.
    """

    value: float
    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _set(self, value=validation.magnitude("value", self.value))

    @property
    def upper_end(self) -> float:
        """The value."""
        return self.value

    def density(self, x: ArrayLike) -> Floats:
        """``inf`` at the value, 0 elsewhere."""
        return np.where(floats("x", x) == self.value, math.inf, 0.0)

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        del generator
        return np.full(count, self.value)


@dataclass(frozen=True, eq=False)
class Empirical(SizeLaw):
    """The law of a sample: each value with the same probability; moments are exact sums over the sample.

    Parameters
    ----------
    samples : array_like
        At least one size, each finite and > 0.

    Examples
    --------
    >>> law = Empirical([1.0, 2.0, 2.0, 7.0])
    >>> law.mean, law.tail([0, 2, 7]).tolist()
    (3.0, [1.0, 0.25, 0.0])
    """

    samples: Floats
    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        low, high = validation.SMALLEST, validation.LARGEST
        allowed = f"a one-dimensional sequence of at least one number, each >= {low:g} and <= {high:g}"
        values = np.sort(floats("samples", self.samples, above=0, finite=True), axis=None)
        if np.ndim(self.samples) != 1 or values.size == 0:
            validation.refuse("samples", self.samples, allowed)
        if not low <= values[0] <= values[-1] <= high:
            validation.refuse("samples", values[0] if values[0] < low else values[-1], allowed)
        values.flags.writeable = False
        suffix = np.zeros((values.size + 1, HIGHEST_ORDER + 1))
        suffix[:-1] = running_sum(values[::-1, None] ** np.arange(HIGHEST_ORDER + 1))[::-1] / values.size
        _set(self, samples=values, _suffix=suffix)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empirical) and np.array_equal(self.samples, other.samples)

    def __hash__(self) -> int:
        return hash(self.samples.tobytes())

    def __repr__(self) -> str:
        return f"Empirical({self.samples.size} samples, mean {self.mean:g})"

    @property
    def parameters(self) -> tuple[float, ...]:
        """The samples, in increasing order."""
        return tuple(self.samples.tolist())

    @property
    def upper_end(self) -> float:
        """The largest sample."""
        return float(self.samples[-1])

    def density(self, x: ArrayLike) -> Floats:
        """``inf`` at each sample, 0 elsewhere."""
        points = floats("x", x)
        position = np.minimum(np.searchsorted(self.samples, points), self.samples.size - 1)
        return np.where(self.samples[position] == points, math.inf, 0.0)

    def partial_moments(self, x: Floats, *, potential: bool = False) -> tuple[Floats, ...]:
        """Sums over the samples above ``x``, from suffix sums of the sorted sample."""
        del potential  # every moment of a sample is finite
        above = np.searchsorted(self.samples, x, side="right")
        suffix: Floats = self._suffix  # type: ignore[attr-defined]
        return tuple(np.asarray(suffix[above, order]) for order in range(HIGHEST_ORDER + 1))

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return generator.choice(self.samples, count)


SIZE_LAWS: dict[str, Callable[..., SizeLaw]] = {
    "exponential": Exponential,
    "lognormal": LogNormal,
    "weibull": Weibull,
    "gamma": Gamma,
    "erlang": Erlang,
    "hyperexponential": HyperExponential,
    "lomax": Lomax,
    "uniform": Uniform,
    "deterministic": Deterministic,
    "empirical": Empirical,
}


def law_parameters(law: Any) -> tuple[str, ...]:
    """Names of a law's parameters, in order."""
    return tuple(item.name for item in fields(law))
