"""Lomax (Pareto II) law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np

from mlptsym.laws.base import HIGHEST_ORDER, ORDERS, Floats, SizeLaw
from mlptsym.likelihood import HasLikelihood, log_likelihood
from mlptsym.parameters import Magnitude, Range

if TYPE_CHECKING:
    import sympy as sp

    from mlptsym.likelihood import Sample
    from mlptsym.symbolic.model.size_law import LawFormulas

__all__ = ["Lomax"]


SCALES = 60  # at which the likelihood is looked at, from 1e-4 to a thousand mean sizes


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

    shape: Annotated[float, Range(at_least=0.01, at_most=1e3)]
    scale: Magnitude
    examples = ((4.5, 10.0), (3.2, 0.5))

    @classmethod
    def formulas(cls, *_: int) -> LawFormulas:
        """The law in SymPy's terms."""
        import sympy as sp

        from mlptsym.symbolic.algebra.special import RelativeExponential
        from mlptsym.symbolic.model.size_law import LawFormulas, point

        shape, scale = cls.symbols()
        stretch = 1 + point / scale

        def powers_of_sum(fixed: sp.Expr, order: int, moment: Callable[[int], sp.Expr]) -> sp.Expr:
            # E[(fixed + X)^n] of an X with these moments
            variable = sp.Dummy("X")
            terms = sp.Poly((fixed + variable) ** order, variable).terms()
            return sp.Add(*(coefficient * moment(power) for (power,), coefficient in terms))

        def excess(order: int) -> sp.Expr:
            # E[(L − x)^n | L > x]: a Lomax law again, with scale x + scale
            return sp.factorial(order) * (point + scale) ** order / sp.Mul(*(shape - i for i in range(1, order + 1)))

        def closed_moment(order: int) -> sp.Expr:
            return stretch**-shape * powers_of_sum(point, order, excess)

        def antiderivative(order: int) -> sp.Expr:
            # −E[L^n ; L ≤ x], with v = log(1 + x/scale) as variable of integration: finite for every shape
            length = sp.log(stretch)

            def integral(power: int) -> sp.Expr:
                return length * RelativeExponential((power - shape) * length)

            return -shape * scale**order * powers_of_sum(-sp.S.One, order, integral)

        return LawFormulas(
            cls.__name__,
            (shape, scale),
            shape / scale * stretch ** (-shape - 1),
            closed_moment,
            lambda order: excess(order).subs(point, 0),
            moment_limit=shape,
            antiderivative=antiderivative,
            textbook=shape / scale * (1 + point / scale) ** (-shape - 1),
            latex=r"f(x) = \frac as\Bigl(1+\frac xs\Bigr)^{-a-1}",
        )

    @property
    def moment_limit(self) -> float:
        """The shape."""
        return self.shape

    @classmethod
    def most_likely(cls, sample: Sample) -> Self | None:
        """With scale s the best shape is (number known exactly)/Σ log(1 + x/s); also with a cap.

        None where the likelihood grows up to the largest shape: in the limit the law is exponential.
        """
        from scipy.optimize import minimize_scalar

        mean, most = sample.total(lambda x: x) / sample.observed, float(cls.ranges()["shape"].at_most or math.inf)

        def law(log_scale: float) -> Self | None:
            scale = mean * math.exp(log_scale)
            shape = sample.observed / sample.total(lambda x: np.log1p(x / scale))
            return cls(shape, scale) if shape < most else None

        def cost(log_scale: float) -> float:
            here: HasLikelihood | None = law(log_scale)
            return math.inf if here is None else -log_likelihood(sample, here)

        scales = np.linspace(math.log(1e-4), math.log(0.999 * most), SCALES)
        place = int(np.argmin([cost(float(scale)) for scale in scales]))
        if place == SCALES - 1:
            return None
        bounds = (scales[max(place - 1, 0)], scales[place + 1])
        return law(float(minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x))

    def _deep_hazard(self, points: Floats) -> Floats:
        return self.shape / (self.scale + points)

    @property
    def reach(self) -> float:
        """Size from which on every moment is one power of the size, in double precision."""
        return 1e40 * self.scale

    def partial_moments(self, x: Floats, *, antiderivative: bool = False) -> tuple[Floats, ...]:
        """As in `SizeLaw`, continued beyond `reach` by the power; antiderivatives are constant from there on."""
        moments = self.evaluate("antiderivatives" if antiderivative else "moments", np.minimum(x, self.reach), *ORDERS)
        further = np.maximum(x / self.reach, 1.0)
        powers = 2 if antiderivative else HIGHEST_ORDER + 1
        with np.errstate(over="ignore", invalid="ignore"):
            continued = (m * further ** (n - self.shape) if n < powers else m for n, m in enumerate(moments))
            return tuple(np.asarray(moment) for moment in continued)

    def _draw(self, generator: np.random.Generator, count: int) -> Floats:
        return self.scale * np.expm1(generator.standard_exponential(count) / self.shape)
