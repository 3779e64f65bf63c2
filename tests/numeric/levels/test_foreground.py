"""Foreground–background scheduling against the textbook formula, integrated with 30 digits."""

from __future__ import annotations

import mpmath as mp
import pytest
from reference import density_of, moment_of

from mlptsym import LogNormal, Lomax, Queue, Uniform, Weibull
from mlptsym.laws.base import SizeLaw
from mlptsym.numeric.levels.foreground import foreground_background_time


def square_of_lomax(law: Lomax, x: mp.mpf) -> mp.mpf:
    """E[min(L, x)²] = 2∫ u P(L > u) du up to x, also where E[L²] is infinite."""
    shape, scale = mp.mpf(law.shape), mp.mpf(law.scale)
    stretch = 1 + x / scale
    return 2 * scale**2 * ((stretch ** (2 - shape) - 1) / (2 - shape) - (stretch ** (1 - shape) - 1) / (1 - shape))


def textbook(law: SizeLaw, rate: float) -> mp.mpf:
    """∫ f(x) (λ E[min(L, x)²]/(2(1 − ρ_x)²) + x/(1 − ρ_x)) dx, ρ_x = λ E[min(L, x)]: Kleinrock, Queueing Systems 2, 4.6."""
    density, moment, rate = density_of(law), moment_of(law), mp.mpf(rate)

    def response(x: mp.mpf) -> mp.mpf:
        tail = moment(0, x)
        mean = moment(1, mp.mpf(0)) - moment(1, x) + x * tail
        square = (
            square_of_lomax(law, x) if isinstance(law, Lomax) else moment(2, mp.mpf(0)) - moment(2, x) + x**2 * tail
        )
        return rate * square / (2 * (1 - rate * mean) ** 2) + x / (1 - rate * mean)

    if law.upper_end < mp.inf:
        return mp.quad(lambda x: density(x) * response(x), [law.lower_end, law.upper_end])
    ends = [law.mean * mp.mpf(10) ** power for power in (-30, -12, -6, -3, -1, 0, 1, 2, 4, 8, 16, 32)]
    return mp.quad(lambda v: mp.exp(v) * density(mp.exp(v)) * response(mp.exp(v)), [mp.log(end) for end in ends])


@pytest.mark.parametrize(
    "law", [Lomax(1.5, 2.0), Lomax(4.5, 10.0), LogNormal(1.0, 0.9), Uniform(1.0, 4.0), Weibull(0.6, 2.0)], ids=repr
)
def test_against_the_textbook(law: SizeLaw) -> None:
    """Also where E[S²], and E[T] of FCFS, is infinite."""
    rate = 0.8 / law.mean
    with mp.workdps(20):
        expected = textbook(law, rate)
    assert foreground_background_time(Queue(law, rate)) == pytest.approx(float(expected), rel=1e-9)
