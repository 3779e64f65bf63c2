"""What the figures show: their data against independent calculations, and the pictures drawn from them."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mlptsym import (
    FCFS,
    MLPT,
    Exponential,
    LinearMemory,
    LogNormal,
    Lomax,
    ParameterError,
    Queue,
    Uniform,
    mean_response_time,
    rule_of_thumb,
    simulate,
    solve,
    two_level_terms,
)
from mlptsym.figures import FigureData, line_style, paper_style, point_style
from mlptsym.figures.arrivals import draw_arrivals
from mlptsym.figures.crossings import draw_hazard_crossings
from mlptsym.figures.drawing import columns, draw_curve, draw_points, draw_threshold, empty_figure, typeset
from mlptsym.figures.quanta import draw_quanta
from mlptsym.figures.schematic import draw_schematic
from mlptsym.studies.arrivals import response_by_arrival_rate
from mlptsym.studies.crossings import crossings, hazard_crossings
from mlptsym.studies.one_job import job_on_server
from mlptsym.studies.quanta import CEILING, level_name, optima_by_quantum, simulation_by_quantum, theory_by_quantum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = LogNormal(5, 0.9)


def _queue(threshold: float = 6.0, factor: float = 0.39, cost: float = 0.1, rate: float = 0.0036) -> Queue:
    """The paper's queue, with ℓ_C in units of E[L]."""
    return Queue(SIZE, rate, threshold * SIZE.mean, factor, cost)


def _lines(axes: Axes) -> list[tuple[np.ndarray, np.ndarray]]:
    return [tuple(np.asarray(values, dtype=float) for values in line.get_data()) for line in axes.lines]  # type: ignore[misc]


def _assert_in_order(figure: Figure) -> None:
    """Everything lies inside the figure, and the legend above the axes and their labels."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    drawn, (width, height) = figure.get_tightbbox(renderer), figure.get_size_inches()
    assert min(drawn.x0, drawn.y0, width - drawn.x1, height - drawn.y1) > -0.01
    for axes in figure.axes:
        assert not axes.get_legend()
        assert all(axes.get_tightbbox(renderer).y1 < legend.get_window_extent(renderer).y0 for legend in figure.legends)


# Drawing curves ------------------------------------------------------------------------------------------------------


def test_a_jump_is_drawn_as_two_ends_and_not_as_a_line() -> None:
    data = FigureData().with_curve("", "T", "theory", [1, 2, 2, 3], [5, 6, 8, 9])
    with paper_style():
        _, (axes,) = empty_figure("column", 2.0)
        draw_curve(axes, data.rows, line_style(1))
    (x, y), (ends_x, ends_y) = _lines(axes)
    np.testing.assert_array_equal(x, [1, 2, 2, 2, 3])
    np.testing.assert_array_equal(y, [5, 6, np.nan, 8, 9])
    assert sorted(zip(ends_x, ends_y, strict=True)) == [(2, 6), (2, 8)]
    assert axes.lines[1].get_linestyle() == "None"


def test_a_repeated_point_is_no_jump_and_an_infinite_value_no_point() -> None:
    data = FigureData().with_curve("", "T", "theory", [1, 2, 2, 3, 4], [5, 6, 6, math.inf, 7])
    with paper_style():
        _, (axes,) = empty_figure("column", 2.0)
        draw_curve(axes, data.rows, line_style(1))
    (_, y), (ends, _) = _lines(axes)
    np.testing.assert_array_equal(y, [5, 6, 6, np.nan, 7])
    assert not len(ends)


def test_error_bars_are_one_standard_error_long() -> None:
    data = FigureData().with_curve("", "T", "simulation", [1, 2], [5, 6], standard_error=[0.25, 0.5])
    with paper_style():
        _, (axes,) = empty_figure("column", 2.0)
        draw_points(axes, data.rows, point_style(1))
    (bars,) = axes.collections
    assert [tuple(segment[:, 1]) for segment in bars.get_segments()] == [(4.75, 5.25), (5.5, 6.5)]


@pytest.mark.parametrize(("threshold", "drawn"), [(2.0, 1), (0.0, 0), (5.0, 0), (math.inf, 0)])
def test_a_threshold_outside_the_axes_is_not_drawn(threshold: float, drawn: int) -> None:
    with paper_style():
        _, (axes,) = empty_figure("column", 2.0)
        axes.set_xlim(0, 4)
        draw_threshold(axes, threshold)
    assert len(axes.lines) == len(axes.texts) == drawn


def test_names_are_typeset_and_words_left_alone() -> None:
    assert typeset("MLPT′-(θ, ∞): θ̂ and θ*") == r"MLPT′-($\theta$, $\infty$): $\hat{\theta}$ and $\theta^*$"
    assert typeset("FCFS, C = 256, kink") == "FCFS, $C$ = 256, kink"


def test_drawing_involves_no_pyplot() -> None:
    program = (
        "import sys; from mlptsym.figures import crossings, drawing, quanta, schematic, arrivals\n"
        "assert 'matplotlib' not in sys.modules\n"
        "drawing.empty_figure('page', 2.0, 2)\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# Figure 1 ------------------------------------------------------------------------------------------------------------


def _model(**changes: float) -> Queue:
    return replace(Queue(SIZE, 0.0036, None, 0.39, 0.1, LinearMemory(2.0), 1000.0), **changes)


class TestJobOnServer:
    def test_memory_reaches_the_capacity_at_the_threshold(self) -> None:
        data = job_on_server(_model(), size=900.0, quantum=300.0)
        (row,) = data.select(curve="capacity")
        assert (row.x, row.y) == (500.0, 1000.0)
        (row,) = data.select(curve="preemption")
        assert (row.x, row.y) == (300.0, 600.0)

    def test_work_is_the_rate_integrated_over_the_time_on_the_server(self) -> None:
        rows = job_on_server(_model(), size=900.0, quantum=300.0).select(panel="rate")
        assert sum((b.x - a.x) * a.y for a, b in pairwise(rows)) == pytest.approx(900.0, rel=1e-12)
        assert [row.x for row in rows[1:3]] == [500.0, 500.0]
        assert [row.y for row in rows] == [1, 1, 0.39, 0.39]

    @pytest.mark.parametrize(
        ("queue", "size", "quantum", "message"),
        [
            (_model(), 500.0, 300.0, r"^size = 500.0"),
            (_model(), 900.0, 0.0, r"^quantum = 0.0"),
            (_model(), 900.0, 1600.0, r"^quantum = 1600.0"),
            (_model(slowdown_factor=1.0), 900.0, 300.0, r"^slowdown_threshold = 0.0"),
        ],
    )
    def test_refusals(self, queue: Queue, size: float, quantum: float, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            job_on_server(queue, size, quantum)

    def test_picture(self) -> None:
        _assert_in_order(draw_schematic(job_on_server(_model(), 900.0, 300.0)))


# Figure 2 ------------------------------------------------------------------------------------------------------------


class TestArrivals:
    queues = staticmethod(
        lambda: {
            "Exp(1/53)": Queue(Exponential(1 / 53), 0.01),
            "C = 256": Queue(Exponential(1 / 53), 0.01, None, 0.3, memory=LinearMemory(3.75), capacity=256.0),
        }
    )

    def test_exponential_sizes_give_one_over_mu_minus_lambda_up_to_the_limit(self) -> None:
        data = response_by_arrival_rate(self.queues())
        x, y, _ = columns(data.select(curve="Exp(1/53)", kind="theory"))
        np.testing.assert_allclose(y, 1 / (1 / 53 - x), rtol=1e-11)
        assert x[0] < 1e-7
        assert x[-1] == pytest.approx(0.999 / 53)

    def test_means_are_those_of_the_theory(self) -> None:
        size = LogNormal(3.1, 1.3)
        queue = Queue(size, 0.01, 2 * size.mean, 0.3)
        rows = response_by_arrival_rate({"q": queue}, points=5).select(kind="theory")
        expected = [mean_response_time(replace(queue, arrival_rate=row.x), FCFS()) for row in rows]
        np.testing.assert_allclose([row.y for row in rows], expected, rtol=1e-13)

    def test_limits_are_those_of_equation_5(self) -> None:
        data = response_by_arrival_rate(self.queues(), points=3)
        plain, limited = data.select(kind="marker")
        assert plain.x == pytest.approx(1 / 53, rel=1e-13)
        beyond = 53 * math.exp(-256 / 3.75 / 53)  # E[(L − ℓ_C)⁺] of an exponential law
        assert limited.x == pytest.approx(1 / (53 + (1 / 0.3 - 1) * beyond), rel=1e-12)
        assert plain.y == limited.y == math.inf

    def test_picture(self) -> None:
        data = response_by_arrival_rate(self.queues(), points=20)
        figure = draw_arrivals(data, highest=3000.0)
        _assert_in_order(figure)
        dashed = [line for line in figure.axes[0].lines if len(set(line.get_xdata())) == 1]
        assert [line.get_xdata()[0] for line in dashed] == [row.x for row in data.select(kind="marker")]
        assert figure.axes[0].get_ylim()[1] == 3000.0


# Figures 3 to 5 ------------------------------------------------------------------------------------------------------

CASES = [
    _queue(3.0),
    _queue(8.0),
    _queue(3.0, cost=0.4),  # unstable for some sizes, two minima
    _queue(8.0, cost=0.2),  # a minimum, a maximum and a jump minimum
    _queue(8.0, factor=0.3),
    _queue(3.0, factor=0.9),
    _queue(cost=0.0),
    replace(_queue(), slowdown_threshold=math.inf),
    replace(_queue(), size=Uniform(50.0, 400.0), slowdown_threshold=100.0),
    replace(_queue(), size=Exponential(1 / 222.5)),
]


class TestCrossings:
    @pytest.mark.parametrize("queue", CASES)
    def test_they_are_the_extrema_of_the_mean_response_time(self, queue: Queue) -> None:
        """E[T] itself, from theorem 4.5, at quanta q(x) on a grid of its own; neighbours tell its extrema."""
        longest = 12 * SIZE.mean if queue.size.upper_end == math.inf else 0.99 * queue.size.upper_end
        x = np.linspace(0.0, longest, 1802)[1:]
        times = mean_response_time(queue, MLPT(quantum=queue.service_time(x), levels=2))
        slope = (times[1:] > times[:-1]).astype(int) - (times[1:] < times[:-1])
        turns = np.flatnonzero((slope[:-1] * slope[1:] < 0) & np.isfinite(times[:-2]) & np.isfinite(times[2:]))
        expected = [("maximum" if slope[turn] > 0 else "minimum", x[turn + 1]) for turn in turns]
        found = crossings(queue, longest)
        assert [crossing.kind.removeprefix("jump ") for crossing in found] == [kind for kind, _ in expected]
        np.testing.assert_allclose([crossing.size for crossing in found], [x for _, x in expected], atol=x[1] - x[0])

    @pytest.mark.parametrize("queue", CASES)
    def test_a_smooth_one_is_a_zero_of_the_derivative_and_a_jump_is_at_the_threshold(self, queue: Queue) -> None:
        for crossing in crossings(queue, 2000.0):
            left, right = (two_level_terms(queue, crossing.size, side=side) for side in ("left", "right"))
            assert crossing.hazard == left.hazard
            if crossing.kind == "jump minimum":
                assert crossing.size == queue.slowdown_threshold
                assert left.ratio < left.hazard < right.ratio
            else:
                assert left.ratio == pytest.approx(crossing.hazard, rel=1e-9)

    def test_kinds_at_the_papers_parameters(self) -> None:
        def kinds(queue: Queue) -> list[str]:
            return [crossing.kind for crossing in crossings(queue, 12 * SIZE.mean)]

        assert kinds(_queue(3.0)) == ["maximum", "jump minimum"]
        assert kinds(_queue(8.0)) == ["maximum", "minimum"]
        assert kinds(_queue(8.0, cost=0.2)) == ["maximum", "minimum", "maximum", "jump minimum"]
        assert kinds(_queue(3.0, cost=0.4)) == ["jump minimum", "maximum", "minimum"]

    def test_an_unstable_queue_has_none(self) -> None:
        assert crossings(_queue(rate=0.01), 2000.0) == ()

    def test_longest_must_be_positive(self) -> None:
        with pytest.raises(ParameterError, match=r"^longest = 0"):
            crossings(_queue(), 0.0)


class TestHazardCrossings:
    panels = staticmethod(
        lambda: {
            f"ℓ_C = {multiple:g} E[L]": {f"γ = {cost:g}": _queue(multiple, cost=cost) for cost in (0.1, 0.4)}
            for multiple in (3.0, 8.0)
        }
    )

    @pytest.fixture(scope="class")
    @classmethod
    def data(cls) -> FigureData:
        return hazard_crossings(cls.panels(), 12 * SIZE.mean, points=60)

    @pytest.mark.parametrize("points", [7, 60, 150])
    @pytest.mark.parametrize("multiple", [3.0, 5.7, 8.0])
    def test_the_threshold_comes_twice_with_the_one_sided_values(self, multiple: float, points: int) -> None:
        data = hazard_crossings({"": {"A/B": _queue(multiple)}}, 12 * SIZE.mean, points)
        x, ratio, _ = columns(data.select(curve="A/B"))
        (left,) = np.flatnonzero(x[1:] == x[:-1])
        assert x[left] == multiple * SIZE.mean
        assert ratio[left + 1] / ratio[left] == pytest.approx(1 / 0.39, rel=1e-12)
        assert (np.diff(x) >= 0).all()
        assert x[-1] == pytest.approx(12 * SIZE.mean, rel=1e-15)

    def test_the_grid_is_as_fine_as_the_curves_are_bent(self) -> None:
        """Dense near zero and even beyond ℓ_C: between its points the curves are straight to half a per cent."""
        for queue, count in ((_queue(3.0), 301), (_queue(math.inf), 150)):
            x, ratio, _ = columns(hazard_crossings({"": {"A/B": queue}}, 12 * SIZE.mean).select(curve="A/B"))
            threshold = min(queue.slowdown_threshold, 12 * SIZE.mean)
            expected = threshold * (np.arange(1, 151) / 150) ** 2
            if count == 301:
                expected = np.append(expected, np.linspace(threshold, 12 * SIZE.mean, 151))
            np.testing.assert_allclose(x, expected, rtol=1e-14)
            middle, apart = (x[1:] + x[:-1]) / 2, np.diff(x) > 0
            straight = (ratio[1:] + ratio[:-1])[apart] / 2
            exact = two_level_terms(queue, middle[apart]).ratio
            assert np.abs(straight - exact).max() < 5e-3 * ratio.max()

    def test_values_are_those_of_the_two_level_terms(self, data: FigureData) -> None:
        for panel, queues in self.panels().items():
            for label, queue in queues.items():
                x, ratio, _ = columns(data.select(panel, label))
                terms = two_level_terms(queue, x)
                away = x != queue.slowdown_threshold
                np.testing.assert_array_equal(ratio[away], terms.ratio[away])
                np.testing.assert_array_equal(columns(data.select(panel, "h_L"))[1], terms.hazard)
                assert np.isinf(ratio[terms.load >= 1]).all()

    def test_markers_name_curve_and_kind(self, data: FigureData) -> None:
        names = [row.curve for row in data.select(panel="ℓ_C = 3 E[L]", kind="marker")]
        first, second = ["maximum", "jump minimum"], ["jump minimum", "maximum", "minimum"]
        assert names == [f"γ = 0.1: {kind}" for kind in first] + [f"γ = 0.4: {kind}" for kind in second]

    def test_picture(self, data: FigureData) -> None:
        thresholds = {panel: next(iter(queues.values())).slowdown_threshold for panel, queues in self.panels().items()}
        figure = draw_hazard_crossings(data, SIZE.mean, thresholds)
        _assert_in_order(figure)
        for axes, (panel, threshold) in zip(figure.axes, thresholds.items(), strict=True):
            drawn = _lines(axes)
            for row in data.select(panel=panel, kind="marker"):
                assert any(row.x in x and row.y in y for x, y in drawn)
            curves = [(x, y) for x, y in drawn if len(x) > 60]
            assert len(curves) == 3
            for x, y in curves[1:]:  # no segment leads from one side of the jump to the other
                assert np.isfinite(y[x == threshold]).tolist() == [True, False, True]

    def test_picture_of_an_unstable_queue(self) -> None:
        queue = _queue(rate=0.01)
        data = hazard_crossings({"": {"A/B": queue}}, 2000.0, points=10)
        assert np.isinf(columns(data.select(curve="A/B"))[1]).all()
        _assert_in_order(draw_hazard_crossings(data, SIZE.mean, {"": queue.slowdown_threshold}))


# Figures 6 to 8 ------------------------------------------------------------------------------------------------------

LEVELS = [2, 10, math.inf]
LONGEST = 12 * SIZE.mean
FEW = {"jobs": 2000, "warmup": 100, "seeds": 3}


class TestQuanta:
    @pytest.fixture(scope="class")
    @classmethod
    def theory(cls) -> FigureData:
        return theory_by_quantum(_queue(), LEVELS, LONGEST, points=60)

    def test_theory_is_that_of_each_policy(self, theory: FigureData) -> None:
        for k in LEVELS:
            x, y, _ = columns(theory.select(curve=level_name(k)))
            expected = solve(_queue(), MLPT(quantum=x, levels=k))
            stable = np.isfinite(y)
            assert (stable == expected.stable).all()
            # at the edge of stability a rounding of the load counts many times
            allowed = 1e-12 + 4e-15 / (1 - expected.effective_load[stable])
            assert (np.abs(y[stable] / expected.mean_response_time[stable] - 1) <= allowed).all()
            assert (np.diff(x) > 0).all()
            assert x[-1] == LONGEST
        assert [row.y for row in theory.select(curve="FCFS")] == [mean_response_time(_queue(), FCFS())] * 2

    def test_an_infinite_variance_is_no_instability(self) -> None:
        """With k = ∞ and free preemption E[T] is finite where that of FCFS and of any finite k is not."""
        queue = Queue(Lomax(1.8, 1.0), 0.3)
        quanta, times, _ = columns(
            theory_by_quantum(queue, [math.inf], 5.0, points=9).select(curve=level_name(math.inf))
        )
        assert np.isfinite(times).all()
        np.testing.assert_allclose(times, mean_response_time(queue, MLPT(quantum=quanta, levels=math.inf)), rtol=1e-12)

    def test_kinks_are_among_the_quanta(self, theory: FigureData) -> None:
        x = columns(theory.select(curve=level_name(10)))[0]
        assert all(6 * SIZE.mean / piece in x for piece in range(1, 10))

    def test_curves_lead_up_to_the_edges_of_stability(self, theory: FigureData) -> None:
        """Each end of a curve lies far above what is drawn, so that it leaves the picture at the top."""
        y = columns(theory.select(curve=level_name(10)))[1]
        ends = [place for place in range(len(y) - 1) if np.isfinite(y[place]) != np.isfinite(y[place + 1])]
        assert len(ends) == 2
        assert all(min(y[place], y[place + 1]) > 10 * CEILING * 1839 for place in ends)

    def test_few_levels_start_near_fcfs(self) -> None:
        rows = theory_by_quantum(_queue(), [2], 1e-3, points=2).select(curve=level_name(2))
        assert rows[0].y == pytest.approx(mean_response_time(_queue(), FCFS()), rel=1e-5)

    def test_simulation_is_that_of_each_policy_alone(self) -> None:
        quanta = [300.0, 700.0]
        data = simulation_by_quantum(_queue(), LEVELS, quanta, **FEW, root_seed=3)
        names = [row.curve for row in data.rows]
        assert names == ["FCFS", *(level_name(k) for k in LEVELS for _ in quanta), *["MLPT′-(θ, ∞)"] * 2]
        alone = simulate(_queue(), MLPT(quantum=700.0, levels=math.inf, lazy=True), **FEW, root_seed=3)
        assert (data.rows[-1].x, data.rows[-1].y, data.rows[-1].standard_error) == (
            700.0,
            alone.mean,
            alone.standard_error,
        )
        alone = simulate(_queue(), MLPT(quantum=300.0, levels=2), **FEW, root_seed=3)
        assert (data.rows[1].y, data.rows[1].standard_error) == (alone.mean, alone.standard_error)

    def test_only_what_is_drawn_is_simulated(self) -> None:
        data = simulation_by_quantum(_queue(), [2, math.inf], [50.0, 700.0], **FEW)
        assert [row.x for row in data.select(curve=level_name(2))] == [50.0, 700.0]
        assert [row.x for row in data.select(curve=level_name(math.inf))] == [700.0]  # unstable at 50
        assert [row.x for row in data.select(curve="MLPT′-(θ, ∞)")] == [700.0]
        assert simulation_by_quantum(_queue(rate=0.01), [2], [700.0], **FEW) == FigureData()

    def test_one_seed_gives_points_without_errors(self) -> None:
        data = simulation_by_quantum(_queue(), [2], [700.0], jobs=100, warmup=0, seeds=1)
        assert [row.standard_error for row in data.rows] == [None] * 3

    @pytest.mark.parametrize("quanta", [[0.0], [-1.0, 2.0], [], [math.nan]])
    def test_quanta_must_be_positive(self, quanta: list[float]) -> None:
        with pytest.raises(ParameterError, match=r"^quanta"):
            simulation_by_quantum(_queue(), [2], quanta, **FEW)

    def test_optima_are_below_every_point_of_the_curve(self, theory: FigureData) -> None:
        optima = optima_by_quantum(_queue(), [2, math.inf])
        for k in (2, math.inf):
            (star,), (rule,) = (optima.select(curve=f"{level_name(k)}: {mark}") for mark in ("θ*", "θ̂"))
            assert star.y == pytest.approx(mean_response_time(_queue(), MLPT(quantum=star.x, levels=k)), rel=1e-12)
            assert star.y <= columns(theory.select(curve=level_name(k)))[1].min() * (1 + 1e-12)
            assert rule.x == rule_of_thumb(_queue(), k)
            assert rule.y == mean_response_time(_queue(), MLPT(quantum=rule.x, levels=k))

    @pytest.mark.parametrize("multiple", [3.0, 7.0])
    def test_the_ends_of_the_range_of_equation_32_belong_to_it(self, multiple: float) -> None:
        (rule,) = optima_by_quantum(_queue(multiple), [2]).select(curve=f"{level_name(2)}: θ̂")
        assert rule.x == multiple * SIZE.mean

    def test_an_unstable_queue_has_no_optima(self) -> None:
        assert optima_by_quantum(_queue(rate=0.01), [2]) == FigureData()

    def test_picture(self, theory: FigureData) -> None:
        simulation = simulation_by_quantum(_queue(), LEVELS, [300.0, 700.0], **FEW)
        optima = optima_by_quantum(_queue(), [2])
        figure = draw_quanta(FigureData(theory.rows + simulation.rows + optima.rows), _queue())
        _assert_in_order(figure)
        axes = figure.axes[0]
        assert axes.get_ylim()[1] == pytest.approx(CEILING * mean_response_time(_queue(), FCFS()))
        drawn = _lines(axes)
        assert all(np.isfinite(y[~np.isnan(y)]).all() for _, y in drawn)
        for row in simulation.rows + optima.rows:
            assert any(row.x in x and row.y in y for x, y in drawn)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == [
            "FCFS",
            r"MLPT-($\theta$, 2)",
            r"MLPT-($\theta$, 10)",
            r"MLPT-($\theta$, $\infty$)",
            r"MLPT′-($\theta$, $\infty$)",
            r"$\theta^*$",
            r"$\hat{\theta}$",
        ]

    def test_picture_of_an_unstable_queue(self) -> None:
        queue = _queue(rate=0.01)
        figure = draw_quanta(theory_by_quantum(queue, [2], LONGEST, points=5), queue)
        _assert_in_order(figure)
        assert "unstable for every quantum" in [text.get_text() for text in figure.axes[0].texts]
