"""Mean response time of FCFS against the arrival rate, up to the limit of stability, figure 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mlptsym import validation
from mlptsym.compile import compiled
from mlptsym.numeric.mean.response import mean_response_time
from mlptsym.numeric.model.policies import FCFS
from mlptsym.numeric.model.queue import Queue
from mlptsym.studies.data import FigureData

__all__ = ["response_by_arrival_rate"]


def response_by_arrival_rate(queues: Mapping[str, Queue], points: int = 200) -> FigureData:
    """Pollaczek–Khinchine mean response time against λ, with the stability limit 1/E[S] of lemma 3.1.

    The queues are given by name of the curve; their own arrival rates are not used.  Along a curve 1 − ρ₀ falls from 1
    to 0.001 in equal ratios.  A marker stands at each limit, where the mean is ``inf``.
    """
    loads = 1 - np.geomspace(1, 1e-3, validation.points("points", points))
    loads[0] = 1e-6  # in place of zero, which is no arrival rate
    data = FigureData()
    for name, queue in validation.mapping("queues", queues, "a mapping of names to queues").items():
        validation.instance("queues", queue, Queue, "a mapping of names to queues")
        limit = 1 / queue.mean_service_time
        rates = limit * loads
        # in one call, after the theory had its say on whether it can be told at the highest rate
        mean_response_time(replace(queue, arrival_rate=float(rates[-1])), FCFS())
        (times,) = compiled("mlptsym.symbolic.mean.response:pollaczek_khinchine_formula")(
            arrival_rate=rates, mean=queue.mean_service_time, second=queue.service_moment(2)
        )
        data = data.with_curve("", name, "theory", rates, times).with_curve("", name, "marker", limit, np.inf)
    return data
