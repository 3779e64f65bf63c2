"""Ciw: levels are priority classes of one node, and an unfinished job is routed back to it in the next class.

Jobs reach a level, and are served in it, in the order of their arrival, so that the pieces of a level are a
`Sequential` distribution.

Ciw gives the freed server to the next waiting job before it puts the demoted one back into the queue.  With two levels
that changes nothing, as all who wait then go first; with three or more, a job of a lower level is served out of turn.
"""

from __future__ import annotations

import ciw
import numpy as np
from job import Job, given, report, timed


def network(job: Job, pieces: list[list[float]]) -> ciw.network.Network:
    """The model; its distributions and routes are used up by one run."""
    levels = max(map(len, pieces))
    names = [f"level {level:06d}" for level in range(levels)]
    gaps = [*np.diff(job.arrivals, prepend=0.0).tolist(), float("inf")]
    served = [[own[level] for own in pieces if len(own) > level] for level in range(levels)]
    return ciw.create_network(
        number_of_servers=[1],
        priority_classes={name: level for level, name in enumerate(names)},
        arrival_distributions={name: [None] for name in names} | {names[0]: [ciw.dists.Sequential(gaps)]},
        service_distributions={name: [ciw.dists.Sequential(own)] for name, own in zip(names, served, strict=True)},
        class_change_matrices=[
            {
                name: {other: float(other == following) for other in names}
                for name, following in zip(names, [*names[1:], names[-1]], strict=True)
            }
        ],
        routing={
            name: ciw.routing.ProcessBased(lambda ind, simulation: [1] * (len(pieces[ind.id_number - 1]) - 1))
            for name in names
        },
    )


def departures_of(simulation: ciw.Simulation, jobs: int) -> list[float]:
    """Departure times, the end of each job's last visit."""
    departures = [0.0] * jobs
    for record in simulation.get_all_records():
        departures[record.id_number - 1] = max(departures[record.id_number - 1], record.exit_date)
    return departures


job, repeats = given()
pieces = job.pieces()
simulations = iter([ciw.Simulation(network(job, pieces)) for _ in range(repeats)])


def simulate() -> ciw.Simulation:
    simulation = next(simulations)
    simulation.simulate_until_max_customers(len(job.arrivals), method="Finish")
    return simulation


simulation, seconds = timed(repeats, simulate)
mean = job.mean_response_time(departures_of(simulation, len(job.arrivals)))
report("ciw", "priority classes of one node, class change after service", mean, seconds)
