"""Log-normal law: 50-digit reference, and what is its own."""

import math

import mpmath as mp
import pytest
from reference import LawReference, Moment, digits, moment_of

from mlptsym import LogNormal, ParameterError


def moment(mu: float, sigma: float) -> Moment:
    mu, sigma = mp.mpf(mu), mp.mpf(sigma)

    def upper(n, x):
        whole = mp.exp(n * mu + n * n * sigma**2 / 2)
        return whole if x == 0 else whole * mp.ncdf(n * sigma - (mp.log(x) - mu) / sigma)

    return upper


def density(mu, sigma):
    return lambda x: mp.npdf((mp.log(x) - mu) / sigma) / (sigma * x)


REFERENCE = LawReference(
    moment, density, wide=True, furthest=lambda law, order: law.mu + law.sigma * (15 + order * law.sigma)
)
AT_ZERO = [(LogNormal(0, 1), 0.0)]


@pytest.mark.parametrize(("mu", "sigma"), [(math.inf, 1), (70, 1), (0, 0), (0, 50)])
def test_parameters_out_of_range(mu: float, sigma: float) -> None:
    with pytest.raises(ParameterError, match=f"mu = {mu}" if mu else f"sigma = {sigma}"):
        LogNormal(mu, sigma)


@pytest.mark.parametrize("sigma", [0.05, 0.1, 0.3, 1.0, 2.0, 3.0])
def test_narrow_and_wide_laws_at_every_depth(sigma: float) -> None:
    """Hazard and moments from a billionth of the mean to 1e18 means; the condition of a moment in log x is its hazard."""
    law = LogNormal(0.0, sigma)
    for depth in (1e-9, 0.5, 1.0, 2.0, 1e2, 1e6, 1e12, 1e18):
        x = law.mean * depth
        with digits():
            moments = [moment_of(law)(n, mp.mpf(x)) for n in range(4)]
            hazard = density(mp.mpf(0), mp.mpf(sigma))(mp.mpf(x)) / moments[0]
        amplified = 1e-15 * (10 + float(x * hazard) * (1 + abs(math.log(x))))
        if hazard > 1e-290:
            assert float(law.hazard(x)) == pytest.approx(float(hazard), rel=10 * amplified)
        for order, moment_here in enumerate(moments):
            if moment_here > 1e-290:
                assert float(law.upper_moment(order, x)) == pytest.approx(float(moment_here), rel=amplified)


def test_tail_far_out() -> None:
    """37 standard deviations: P(L > x) is of order 1e-300, and a rewriting of erfc(−z) would have left nothing."""
    law = LogNormal(5, 0.9)
    for deviations in (5, 20, 30, 37):
        x = math.exp(5 + 0.9 * deviations)
        with digits(30):
            exact = [moment_of(law)(n, mp.mpf(x)) for n in range(4)]
        for order in range(4):
            # the condition of the tail in z is about z² here
            assert abs(float(law.upper_moment(order, x)) / exact[order] - 1) < 1e-15 * (10 + deviations**2)
    x = math.exp(5 + 0.9 * 40)
    with digits(30):
        second, hazard = moment_of(law)(2, mp.mpf(x)), density(mp.mpf(5), mp.mpf(0.9))(x) / moment_of(law)(0, x)
    assert float(law.upper_moment(2, x)) == pytest.approx(float(second), rel=2e-12)
    assert float(law.hazard(x)) == pytest.approx(float(hazard), rel=1e-12)
