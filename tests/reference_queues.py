"""The same queue twice: as the package has it, and as the 50-digit reference has it."""

import math

import reference

import mlptsym as mq
from mlptsym.laws import size_laws

LAWS = {name: law(*law.examples[0]) for name, law in size_laws().items()}
MEMORIES = (
    (mq.LinearMemory(1.0), reference.linear()),
    (mq.AffineMemory(2.0, 0.5), reference.affine(2.0, 0.5)),
    (mq.SaturatingMemory(2.0, 4.0, 1.0), reference.saturating(2.0, 4.0, 1.0)),
)


def queues(law_name: str, turn: int, arrival_rate: float) -> tuple[mq.Queue, reference.ReferenceQueue]:
    law = LAWS[law_name]
    memory, growth = MEMORIES[turn % 3]
    threshold, beta = (1.5 * law.mean, 0.4) if turn % 2 else (math.inf, 1.0)
    queue = mq.Queue(law, arrival_rate, threshold, beta, 0.05, memory)
    literal = reference.ReferenceQueue(reference.moment_of(law), queue.arrival_rate, growth, threshold, beta, 0.05)
    return queue, literal


def loaded(law_name: str, turn: int, load: float, policy: mq.MLPT) -> tuple[mq.Queue, reference.ReferenceQueue]:
    """The queue at an effective load: ρ^eff is proportional to the arrival rate."""
    unit, _ = queues(law_name, turn, 1e-3)
    return queues(law_name, turn, load * 1e-3 / mq.solve(unit, policy).effective_load)
