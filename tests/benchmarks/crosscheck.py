"""Theory against simulation with control variates, on the curves of figures 6 to 8.

``python tests/benchmarks/crosscheck.py`` takes every point that the figures show, and the best quantum of each curve
much more sharply; `run` gives the rows.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlptsym import LogNormal
from mlptsym.numeric.mean.response import mean_response_time
from mlptsym.numeric.model.policies import FCFS, MLPT, Policy
from mlptsym.numeric.model.queue import Queue
from mlptsym.simulation.control import jobs_needed
from mlptsym.simulation.simulate import simulate_many

FIGURES = Path(__file__).parents[2] / "figures"
THRESHOLDS = {"fig06": 6.0, "fig07": 3.0, "fig08": 8.0}  # l_C, in units of E[L]
LEVELS = {"MLPT-(θ, 2)": 2, "MLPT-(θ, 5)": 5, "MLPT-(θ, 10)": 10, "MLPT-(θ, ∞)": math.inf}
SIZE = LogNormal(5, 0.9)
FALSE_ALARM = 1e-4
"""Probability that a run with right formulas finds a disagreement, in any of its rows."""

POINT_WIDTH, CHOSEN_WIDTH = 0.01, 0.002
ORDINARY_JOBS, CHOSEN_JOBS = 150_000, 800_000


@dataclass(frozen=True)
class Row:
    """One point of a curve.

    Attributes
    ----------
    figure, curve : str
    quantum : float
        θ, in units of E[L].
    chosen : bool
        Whether it is the one point of its curve that is resolved most sharply.
    theory, simulated : float
        Mean response times.
    half_width : float
        Half of the 95 % confidence interval, relative to the theory.
    resolution : float
        What it has to be below.
    standard_error : float
    degrees_of_freedom : int
    variance_reduction : float
        By the control variates.
    jobs : int
        Measured jobs, all seeds together.
    """

    figure: str
    curve: str
    quantum: float
    chosen: bool
    theory: float
    simulated: float
    half_width: float
    resolution: float
    standard_error: float
    degrees_of_freedom: int
    variance_reduction: float
    jobs: int

    def p_value(self, error: float = 0.0) -> float:
        """Probability of so large a difference if the theory, times 1 + `error`, is right (two-sided, Student)."""
        from scipy.special import stdtr

        difference = abs(self.simulated - self.theory * (1 + error))
        return 2 * float(stdtr(self.degrees_of_freedom, -difference / self.standard_error))


def queue_of(figure: str) -> Queue:
    """The queue of a figure."""
    return Queue(SIZE, 0.0036, THRESHOLDS[figure] * SIZE.mean, slowdown_factor=0.39, preemption_cost=0.1)


def points(figure: str, *, chosen: bool) -> list[tuple[str, Policy]]:
    """The simulated points of a figure that have a theory; or, chosen, the best quantum of each of its curves."""
    kind = "marker" if chosen else "simulation"
    found: list[tuple[str, Policy]] = []
    with (FIGURES / f"{figure}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            curve, _, mark = row["curve"].partition(": ")
            if row["kind"] == kind and curve in LEVELS and mark == ("θ*" if chosen else ""):
                found.append((curve, MLPT(quantum=float(row["x"]), levels=LEVELS[curve])))
    return found if chosen else [*found, ("FCFS", FCFS())]


def check(
    figure: str,
    policies: Sequence[tuple[str, Policy]],
    jobs: int,
    seeds: int,
    *,
    chosen: bool,
    root_seed: int = 0,
    workers: int | None = None,
) -> list[Row]:
    """Simulate policies of one figure on common traces."""
    queue = queue_of(figure)
    needed = [jobs_needed(queue, policy) for _, policy in policies]
    warmup = max(5000, *(warmup for warmup, _ in needed))
    jobs = max(jobs, *(measured for _, measured in needed))
    chosen_policies = [policy for _, policy in policies]
    results = simulate_many(
        queue, chosen_policies, jobs, warmup, seeds, root_seed=root_seed, control=True, workers=workers
    )
    rows = []
    for (curve, policy), result in zip(policies, results, strict=True):
        theory = mean_response_time(queue, policy)
        rows.append(
            Row(
                figure=figure,
                curve=curve,
                quantum=getattr(policy, "quantum", math.nan) / SIZE.mean,
                chosen=chosen,
                theory=theory,
                simulated=result.mean,
                half_width=result.half_width() / theory,
                resolution=CHOSEN_WIDTH if chosen else POINT_WIDTH,
                standard_error=result.standard_error or math.nan,
                degrees_of_freedom=result.degrees_of_freedom or 1,
                variance_reduction=result.variance_reduction or math.nan,
                jobs=jobs * seeds,
            )
        )
    return rows


def run(*, workers: int | None = 2) -> list[Row]:
    """Every plotted point of figures 6 to 8, and the best quantum of each curve; within a minute on two processors."""
    rows = []
    for figure in THRESHOLDS:
        queue = queue_of(figure)
        policies = points(figure, chosen=False)
        ordinary = [item for item in policies if jobs_needed(queue, item[1])[1] <= ORDINARY_JOBS]
        busy = [item for item in policies if item not in ordinary]
        rows += check(figure, ordinary, ORDINARY_JOBS, 16, chosen=False, workers=workers)
        for item in busy:
            rows += check(figure, [item], ORDINARY_JOBS, 16, chosen=False, workers=workers)
        best = points(figure, chosen=True)
        rows += check(figure, best, CHOSEN_JOBS, 40, chosen=True, root_seed=1, workers=workers)
    return rows


def disagreements(rows: Iterable[Row], error: float = 0.0) -> list[Row]:
    """The rows in which simulation and the theory times 1 + `error` disagree (Bonferroni's correction for their number).

    Examples
    --------
    >>> row = Row("fig06", "FCFS", math.nan, False, 100.0, 100.1, 0.001, 0.01, 0.05, 39, 50.0, 10**6)
    >>> len(disagreements([row])), len(disagreements([row], error=0.005))
    (0, 1)
    """
    listed = list(rows)
    return [row for row in listed if row.p_value(error) < FALSE_ALARM / len(listed)]


def unresolved(rows: Iterable[Row]) -> list[Row]:
    """The rows whose confidence interval is too wide."""
    return [row for row in rows if not row.half_width <= row.resolution]


def main() -> int:
    """Print every row; 1 if any disagrees or is not resolved."""
    start = time.perf_counter()
    rows = run()
    print("figure  curve         θ/E[L]      theory   simulated  ±95 % (%)  p-value  variance ÷      jobs")
    for row in rows:
        print(
            f"{row.figure}   {row.curve:12}{row.quantum:8.3f}{'*' if row.chosen else ' '}{row.theory:12.3f}{row.simulated:12.3f}"
            f"{100 * row.half_width:11.3f}{row.p_value():9.4f}{row.variance_reduction:12.1f}{row.jobs:10}"
        )
    wrong, wide = disagreements(rows), unresolved(rows)
    print(f"{len(rows)} points, {len(wrong)} disagree, {len(wide)} not resolved, {time.perf_counter() - start:.0f} s")
    return 1 if wrong or wide else 0


if __name__ == "__main__":
    sys.exit(main())
