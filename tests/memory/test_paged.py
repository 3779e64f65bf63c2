"""Memory in pages: 50-digit reference, pages that rounding must not add, and best quanta at the ends of pages."""

import math

import mpmath as mp
import numpy as np
import pytest
from reference import Growth

import mlptsym as mq
from mlptsym import PagedMemory, ParameterError


def growth(block: float) -> Growth:
    # boundaries are multiples of quanta that are floats: a float next to the end of a page is meant to be that end
    return lambda a: mp.mpf(block) * mp.ceil(a / mp.mpf(block) - mp.mpf(2) ** -50)


REFERENCE = growth
SIZE = mq.LogNormal(5, 0.9)


def queue(block: float, size: mq.LogNormal = SIZE) -> mq.Queue:
    return mq.Queue(size, 0.0036, 6 * SIZE.mean, 0.39, 0.1, PagedMemory(block))


def test_a_page_is_not_added_by_rounding() -> None:
    """3 · 0.1 is above 0.3 as a double, and holds three pages of 0.1."""
    assert 3 * 0.1 > 0.3
    assert PagedMemory(0.1).growth([3 * 0.1, 0.3, 0.3001]).round(12).tolist() == [0.3, 0.3, 0.4]
    quanta = np.arange(1.0, 200.0)
    assert (PagedMemory(0.7).growth(quanta * 0.7) / 0.7).round(6).tolist() == quanta.tolist()


def test_capacity_is_reached_behind_the_page_before() -> None:
    memory = PagedMemory(16.0)
    assert (memory.age_at(16.0), memory.age_at(17.0), memory.age_at(32.0)) == (0.0, 16.0, 16.0)
    assert memory.growth(np.nextafter(16.0, 17.0)) >= 17.0 or memory.growth(16.001) >= 17.0
    assert memory.age_at(math.inf) == math.inf


@pytest.mark.parametrize(
    ("block", "levels"), [(16.0, 2), (16.0, 3), (100.0, 2), (100.0, 10), (100.0, math.inf), (700.0, 3)]
)
def test_best_quantum_is_that_of_a_grid_with_every_end_of_a_page(block: float, levels: float) -> None:
    best = mq.optimal_quantum(queue(block), levels)
    pages = [block * np.arange(1.0, 3000.0 / block) / m for m in range(1, int(min(levels, 4)))]
    quanta = np.concatenate([np.linspace(0.5, 8.0, 500) * SIZE.mean, *pages])
    values = mq.mean_response_time(queue(block), mq.MLPT(quantum=quanta, levels=levels))
    assert best.mean_response_time <= values.min() * (1 + 1e-12)
    assert best.mean_response_time == mq.mean_response_time(queue(block), mq.MLPT(quantum=best.quantum, levels=levels))


def test_very_short_pages_are_hardly_pages() -> None:
    """As linear memory, and half a page more."""
    fine, plain = (
        mq.optimal_quantum(mq.Queue(SIZE, 0.0036, 6 * SIZE.mean, 0.39, 0.1, memory), 3)
        for memory in (PagedMemory(1e-3), mq.LinearMemory())
    )
    assert fine.mean_response_time == pytest.approx(plain.mean_response_time, rel=1e-6)


def test_best_quantum_and_certificate_at_the_end_of_a_page() -> None:
    """E[T] rises behind θ = 13 pages, which is before ℓ_C: the minimum is taken there, and proved."""
    best = mq.optimal_quantum(queue(100.0), 2, certify=True)
    assert (best.quantum, best.kind, best.open_quanta) == (1300.0, "kink", ())
    assert best.lower <= best.mean_response_time <= best.upper * (1 + 1e-12)
    behind = mq.mean_response_time(queue(100.0), mq.MLPT(quantum=1300.001, levels=2))
    assert behind > best.mean_response_time * 1.0001


def test_a_certificate_for_endless_jumps_says_that_nothing_is_proved() -> None:
    best = mq.optimal_quantum(queue(100.0), math.inf, certify=True)
    assert best.open_quanta == ((0.0, math.inf),)


def test_unequal_quanta_end_with_pages() -> None:
    best = mq.optimal_quanta(queue(100.0), 3)
    assert (np.array(best.boundaries) % 100.0).tolist() == [0.0, 0.0]
    grid = [(100.0 * i, 100.0 * j) for i in range(4, 14) for j in range(i + 1, 40)]
    values = [mq.mean_response_time(queue(100.0), mq.MLPT(quanta=[a, b - a])) for a, b in grid]
    assert best.mean_response_time <= min(values) * (1 + 1e-12)


@pytest.mark.parametrize(("shape", "levels"), [(3.6, 2**18), (5.0, 2**9)])
def test_power_laws_with_endless_levels(shape: float, levels: int) -> None:
    """Between the means of the lines below and above, and what many levels one by one leave out is what a line adds."""
    size = mq.Lomax(shape, 10.0)

    def at(memory: mq.LinearMemory, levels: float) -> float:
        here = mq.Queue(size, 0.7 / size.mean, preemption_cost=0.01, memory=memory)
        return mq.mean_response_time(here, mq.MLPT(quantum=2.0, levels=levels))

    found = at(PagedMemory(1.3), math.inf)
    assert at(mq.LinearMemory(1.0), math.inf) < found < at(mq.AffineMemory(1.3, 1.0), math.inf)
    # half a page more than needed, on average
    middle = mq.AffineMemory(0.65, 1.0)
    added = at(middle, math.inf) - at(middle, levels)
    assert abs(added) > 5e-7 * found
    assert found - at(PagedMemory(1.3), levels) == pytest.approx(added, rel=2e-3)


def test_a_tail_too_heavy_for_pages_is_refused() -> None:
    here = mq.Queue(mq.Lomax(3.05, 1.0), 1.0, preemption_cost=1e-4, memory=PagedMemory(1.0))
    with pytest.raises(ParameterError, match="memory = PagedMemory"):
        mq.mean_response_time(here, mq.MLPT(quantum=1e-3, levels=math.inf))


def test_capped_gittins_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"memory = PagedMemory.* linear"):
        mq.simulate(queue(100.0), mq.CappedGittins(2), jobs=100, warmup=10, seeds=1)
