"""How seconds become units of service: a `TimeScale`, and how busy a server is that nobody has measured."""

from __future__ import annotations

from dataclasses import dataclass

from mlptsym.validation import LARGEST, SMALLEST, magnitude, number, refuse

__all__ = ["DEFAULT_LOAD", "TimeScale", "time_scale"]

DEFAULT_LOAD = 0.8


@dataclass(frozen=True)
class TimeScale:
    """How the seconds of a trace become units of service time.

    Attributes
    ----------
    arrival_rate : float
        λ, arrivals per unit of service time.
    tokens_per_second : float or None
        Speed of the server: as given, or the one at which the trace's own times give λ; None if only λ is known.
    stretch : float or None
        How many times faster than recorded the requests arrive; None for a trace without times.
    assumed_load : float or None
        The base load, if it had to be assumed.
    """

    arrival_rate: float
    tokens_per_second: float | None
    stretch: float | None
    assumed_load: float | None = None

    def __post_init__(self) -> None:
        number("arrival_rate", self.arrival_rate, at_least=SMALLEST**2, at_most=LARGEST**2)
        for name in ("tokens_per_second", "stretch", "assumed_load"):
            if (value := getattr(self, name)) is not None:
                number(name, value, above=0)

    def seconds(self, units: float) -> float | None:
        """A time in seconds, if the speed is known."""
        time = number("units", units, at_least=0, infinite=True)
        return None if self.tokens_per_second is None else time / self.tokens_per_second


def time_scale(
    mean_service_time: float,
    recorded_rate: float | None,
    *,
    tokens_per_second: float | None = None,
    arrival_rate: float | None = None,
    load: float | None = None,
) -> TimeScale:
    """How seconds become units of service time.

    Parameters
    ----------
    mean_service_time : float
        E[S], in units of service time.
    recorded_rate : float or None
        Arrivals per second in the trace; None for a trace without times.
    tokens_per_second : float, optional
        Tokens that the server serves in a second at rate one.
    arrival_rate : float, optional
        Arrivals per second, or without ``tokens_per_second`` per unit of service time; in place of the trace's own.
    load : float, optional
        Base load ρ₀ from which the arrival rate follows; not together with ``arrival_rate``.

    Returns
    -------
    TimeScale
        Where a rate or load is given, the trace's times are stretched to it if the speed is given too; otherwise the
        speed follows from them.  Where neither the trace nor its reader says how busy the server is, a base load of 0.8
        is assumed.

    Raises
    ------
    ParameterError
        If a number is outside its range, or both rate and load are given.

    Examples
    --------
    >>> time_scale(200.0, 5.0, tokens_per_second=1250.0)
    TimeScale(arrival_rate=0.004, tokens_per_second=1250.0, stretch=1.0, assumed_load=None)
    >>> time_scale(200.0, 5.0, load=0.5)
    TimeScale(arrival_rate=0.0025, tokens_per_second=2000.0, stretch=1.0, assumed_load=None)
    >>> time_scale(200.0, 5.0, tokens_per_second=1250.0, load=0.5).stretch
    0.625
    """
    mean = magnitude("mean_service_time", mean_service_time)
    recorded = None if recorded_rate is None else magnitude("recorded_rate", recorded_rate)
    speed = None if tokens_per_second is None else magnitude("tokens_per_second", tokens_per_second)
    wanted = None if arrival_rate is None else number("arrival_rate", arrival_rate, above=0)
    busy = None if load is None else number("load", load, above=0, below=1)
    if wanted is not None and busy is not None:
        refuse("load", busy, "left out when a rate is given")
    assumed = None
    if wanted is None and busy is None and (speed is None or recorded_rate is None):
        assumed = busy = DEFAULT_LOAD
    if busy is not None:
        rate = busy / mean
    elif wanted is not None:
        rate = wanted / (speed or 1.0)
    else:
        rate = (recorded or 1.0) / (speed or 1.0)  # both are given
    if not SMALLEST**2 <= rate <= LARGEST**2:
        given = {"load": busy, "tokens_per_second": speed, "arrival_rate": wanted}
        name, value = next(item for item in given.items() if item[1] is not None)
        refuse(name, value, "such that between 1e-60 and 1e60 jobs arrive in a unit of service time")
    if recorded is None:
        return TimeScale(rate, speed, None, assumed)
    if speed is None:
        return TimeScale(rate, recorded / rate, 1.0, assumed)
    return TimeScale(rate, speed, rate * speed / recorded, assumed)
