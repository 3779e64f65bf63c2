"""LINE's foreground–background (LAS) queue with lognormal sizes: the analytic mean of MVA, and LDES's simulated one.

For laws other than the exponential, LINE's `qsys_mg1_fb` puts the mean size in place of the law's sizes.
"""

from __future__ import annotations

from job import given, given_law, report, timed
from line_solver import LDES, MVA, Exp, Lognormal, Network, OpenClass, Queue, SchedStrategy, Sink, Source

job, repeats = given()
law = given_law()
network = Network("M/G/1 FB")
source, queue, sink = Source(network, "source"), Queue(network, "queue", SchedStrategy.FB), Sink(network, "sink")
jobs = OpenClass(network, "jobs")
source.set_arrival(jobs, Exp(law.arrival_rate))
queue.set_service(jobs, Lognormal(law.mu, law.sigma))
network.link(Network.serial_routing(source, queue, sink))


def mean_response_time(solver: LDES | MVA) -> float:
    return float(solver.avg_table()["RespT"].iloc[1])


analytic, seconds = timed(repeats, lambda: mean_response_time(MVA(network, verbose=False)))
simulated = mean_response_time(LDES(network, samples=len(job.arrivals), seed=1, verbose="silent"))
report("line-solver", "MVA, analytic, foreground–background", analytic, seconds, simulated=simulated)
