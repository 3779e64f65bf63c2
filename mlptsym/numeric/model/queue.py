"""The M/G^g/1_Cβ queue: arrivals, sizes, slowdown, memory and restore cost (section 2 of the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlptsym import validation
from mlptsym.arrays import floats
from mlptsym.compile import compiled
from mlptsym.laws.base import HIGHEST_ORDER, SizeLaw
from mlptsym.memory.base import Memory
from mlptsym.memory.linear import LinearMemory

__all__ = ["Queue"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Queue:
    """A single server with memory-dependent slowdown and costly preemption.

    Parameters
    ----------
    size : SizeLaw
        Law of the intrinsic size L, in units of work (time at service rate one).
    arrival_rate : float
        λ, Poisson arrivals per unit of time, > 0.
    slowdown_threshold : float, optional
        ℓ_C, the attained work from which on service is slow, >= 0; ``inf`` (the default) for no slowdown.
    slowdown_factor : float
        β, the service rate beyond ℓ_C, in (0, 1].
    preemption_cost : float
        γ, restore time per unit of memory held, >= 0.
    memory : Memory
        Growth g(a) of the memory with attained service, `LinearMemory` with slope one unless given.
    capacity : float, optional
        C > 0; ℓ_C is then the age at which ``memory`` reaches it.  Give this or ``slowdown_threshold``, not both.
    unload_cost : float
        Time to move one unit of memory out when a job is demoted, at the end of its quantum, >= 0; not in the paper.
        Mean response times, tables and simulation of MLPT know it, and everything else refuses it.

    Raises
    ------
    ParameterError
        If a value is outside its range.

    Examples
    --------
    >>> from mlptsym import LogNormal
    >>> queue = Queue(LogNormal(5, 0.9), arrival_rate=0.0036, slowdown_threshold=1335.1, slowdown_factor=0.39)
    >>> round(queue.base_load, 4)
    0.8233
    """

    size: SizeLaw
    arrival_rate: float
    slowdown_threshold: float | None = None
    slowdown_factor: float = 1.0
    preemption_cost: float = 0.0
    memory: Memory = field(default_factory=LinearMemory)
    capacity: float | None = None
    unload_cost: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.size, SizeLaw):
            validation.refuse("size", self.size, "a size law such as LogNormal(5, 0.9)")
        if not isinstance(self.memory, Memory):
            validation.refuse("memory", self.memory, "a memory law such as LinearMemory(1.0)")
        threshold = (
            None
            if self.slowdown_threshold is None
            else validation.number("slowdown_threshold", self.slowdown_threshold, at_least=0, infinite=True)
        )
        if self.capacity is not None:
            capacity = validation.number("capacity", self.capacity, above=0)
            reached = self.memory.age_at(capacity)
            if threshold is not None and threshold != reached:
                validation.refuse(
                    "slowdown_threshold", self.slowdown_threshold, f"left out when capacity is given ({reached:g} here)"
                )
            object.__setattr__(self, "capacity", capacity)
            threshold = reached
        checked = {
            "arrival_rate": validation.number("arrival_rate", self.arrival_rate, above=0),
            "slowdown_threshold": math.inf if threshold is None else threshold,
            "slowdown_factor": validation.number(
                "slowdown_factor", self.slowdown_factor, at_least=validation.SMALLEST, at_most=1
            ),
            **{
                name: validation.number(name, getattr(self, name), at_least=0, at_most=validation.LARGEST)
                for name in ("preemption_cost", "unload_cost")
            },
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @cached_property
    def slowdown(self) -> tuple[float, float]:
        """(ℓ_C, β), with the finite pair (0, 1) where there is no slowdown."""
        threshold = math.inf if self.slowdown_threshold is None else self.slowdown_threshold
        if math.isinf(threshold) or threshold >= self.size.reach or self.slowdown_factor == 1.0:
            return 0.0, 1.0
        return threshold, self.slowdown_factor

    def service_time(self, sizes: ArrayLike) -> Floats:
        """Service time q(L), eq. (3), shape of ``sizes``."""
        times: Floats = compiled("mlptsym.symbolic.model.service:service_time_formula")(
            **self._slowdown, size=floats("sizes", sizes)
        ).service_time
        return times

    def size_at(self, attained: ArrayLike) -> Floats:
        """Intrinsic size q⁻¹(t) whose service time is ``attained``."""
        sizes: Floats = compiled("mlptsym.symbolic.model.service:size_formula")(
            **self._slowdown, attained=floats("attained", attained)
        ).size
        return sizes

    @cached_property
    def furthest(self) -> float:
        """An attained service that no job reaches in double precision: boundaries beyond it may be put there."""
        return 2 * float(self.service_time(self.size.reach))

    def restore_cost(self, ages: ArrayLike) -> Floats:
        """c(a) = γ g(a), eqs. (4) and (8), shape of ``ages``, in units of time."""
        return self.preemption_cost * self.memory.growth(ages)

    @property
    def discipline(self) -> str:
        """What the server does for a job in a level, by its name in `mlptsym.symbolic.policies.discipline`."""
        return "unloading" if self.unload_cost > 0 else "restoring"

    def costs(self, ages: Floats) -> dict[str, Floats]:
        """The discipline's costs by name, at attained service of which the first is zero and costs nothing."""
        factors = {"cost": self.preemption_cost, "unload": self.unload_cost}
        growth = self.memory.growth(ages)
        growth[0] = 0.0
        return {name: factor * growth for name, factor in factors.items() if name == "cost" or factor > 0}

    def cost_line(self, quantum: Any) -> tuple[Any, float]:
        """Intercept and slope, in the attained service, of a line above all that a job pays to go on from there.

        State that is moved out a quantum later is then still moved out below the line.
        """
        intercept, slope = self.memory.line
        both = self.preemption_cost + self.unload_cost
        return both * intercept + self.unload_cost * slope * quantum, both * slope

    def refuse_unloading(self, what: str) -> None:
        """The one place where what only the paper's discipline has is refused for another.

        Raises
        ------
        ParameterError
            If state is moved out at a cost.
        """
        if self.unload_cost > 0:
            validation.refuse("unload_cost", self.unload_cost, f"0 for {what}")

    def service_moments(self, attained: ArrayLike, *, antiderivative: bool = False) -> tuple[Floats, ...]:
        """Upper partial moments E[S^n ; S > t], n = 0 … 3, each of the shape of ``attained``.

        An infinite moment is ``inf``.  With ``antiderivative`` the orders from 2 on are replaced, for laws with
        infinite moments, by finite functions of which only differences have a meaning.
        """
        points = floats("attained", attained)
        antiderivative = validation.flag("antiderivative", antiderivative)
        threshold, factor = self.slowdown
        x = self.size_at(points)
        here = self.size.partial_moments(x, antiderivative=antiderivative)
        if (threshold, factor) != (0.0, 1.0):
            here = self._of_service(here, x, self.moments_at_threshold[antiderivative])
        if antiderivative:
            return here
        limit = self.size.moment_limit
        return tuple(value if order < limit else np.full(points.shape, math.inf) for order, value in enumerate(here))

    def _of_service(self, here: tuple[Floats, ...], x: Floats, at_threshold: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """M_n of S at q(x) from those of L at x and at ℓ_C."""
        moments = {f"at_x_{order}": moment for order, moment in enumerate(here)}
        moments |= {f"at_threshold_{order}": moment for order, moment in enumerate(at_threshold)}
        function = compiled("mlptsym.symbolic.model.service:service_moments_formula", *range(len(here)))
        return tuple(function(**moments, x=x, **self._slowdown))

    @cached_property
    def _slowdown(self) -> dict[str, float]:
        threshold, factor = self.slowdown
        return {"threshold": threshold, "factor": factor}

    @cached_property
    def moments_at_threshold(self) -> tuple[tuple[Floats, ...], ...]:
        """Partial moments of L at ℓ_C, without and with antiderivative: every evaluation of those of S needs them."""
        threshold = np.asarray(self.slowdown[0])
        return tuple(
            self.size.partial_moments(threshold, antiderivative=antiderivative) for antiderivative in (False, True)
        )

    @cached_property
    def total_moments(self) -> tuple[tuple[Floats, ...], ...]:
        """`service_moments` at 0, without and with antiderivative."""
        return tuple(self.service_moments(0.0, antiderivative=antiderivative) for antiderivative in (False, True))

    def service_moment(self, order: int) -> float:
        """E[S^order] for order 0 … 3."""
        position = validation.integer("order", order, at_least=0, at_most=HIGHEST_ORDER)
        return float(self.total_moments[False][position])

    @cached_property
    def mean_service_time(self) -> float:
        """E[S], eq. (5)."""
        return self.service_moment(1)

    @property
    def base_load(self) -> float:
        """ρ₀ = λ E[S]; the queue is stable without preemption if and only if it is below one (lemma 3.1)."""
        return self.arrival_rate * self.mean_service_time
