"""The policy recommended for a trace, what the trace itself says to it, the report, and ``mlptsym fit``."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from fit_samples import DATA
from PIL import Image
from scipy import stats

import mlptsym as mq
from mlptsym import ParameterError
from mlptsym.cli import main
from mlptsym.files import write_whole
from mlptsym.fitting import recommend as recommending
from mlptsym.fitting.drawing import draw_sizes
from mlptsym.fitting.fit import TraceFit, fit_trace
from mlptsym.fitting.mapping import as_mapping, in_time, verdict
from mlptsym.fitting.report import _embedded, html_report, write_report
from mlptsym.fitting.scale import time_scale
from mlptsym.fitting.trace.reading import Dropped, RecordedTrace, read_trace
from mlptsym.fitting.words import columns_in_words, reading_notes
from mlptsym.simulation.control import jobs_needed
from mlptsym.simulation.traces import draw_trace

REAL = Path(__file__).parents[3] / "shared" / "traces"
BETA, GAMMA = 0.39, 0.1


def sample(name: str = "mooncake_sample.jsonl") -> RecordedTrace:
    return read_trace(DATA / name)


def fitted(trace: RecordedTrace, **options: object) -> TraceFit:
    usual = {
        "slowdown_threshold": 3 * float(trace.sizes.mean()),
        "slowdown_factor": BETA,
        "preemption_cost": GAMMA,
        "levels": (2,),
        "jobs": 200,
    }
    return fit_trace(trace, **usual | options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole() -> TraceFit:
    """A fit with everything computed as a user gets it, but for the number of levels and of simulated jobs."""
    return fitted(sample(), tokens_per_second=700.0, load=0.7, jobs=8000)


@pytest.mark.usefixtures("quick")
class TestUnitOfTime:
    """Tokens a million times as short, or seconds a million times as long, change numbers by their unit only."""

    @staticmethod
    def numbers(fit: TraceFit, unit: float) -> list[float | None]:
        found = [fit.arrivals.rate * fit.recommendation.queue.mean_service_time, fit.arrivals.gap_cv]
        for one in fit.recommendation.comparisons:
            found += [one.gain, one.trace_gain, one.effective_load]
            for outcome in (one.theory, one.poisson, one.trace, one.as_recorded):
                found += [] if outcome is None else [outcome.mean / unit, outcome.p99 / unit]
        return [*found, fit.recommendation.best.policy.quantum / unit]

    @pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
    @pytest.mark.parametrize("name", ["mooncake_sample.jsonl", "azure_sample.csv"])
    def test_of_the_arrivals(self, name: str, unit: float) -> None:
        trace = sample(name)
        slower = replace(trace, times=trace.times * unit)
        here = fitted(trace, tokens_per_second=2500.0)
        there = fitted(slower, tokens_per_second=2500.0 / unit)
        expected = self.numbers(here, 1.0)
        # the rate is per second, and all else in tokens
        assert there.arrivals.rate == pytest.approx(here.arrivals.rate / unit, rel=1e-12)
        assert self.numbers(there, 1.0)[1:] == pytest.approx(expected[1:], rel=1e-9)

    @pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
    def test_of_the_sizes(self, unit: float) -> None:
        trace = sample()
        longer = replace(trace, sizes=trace.sizes * unit)
        expected = self.numbers(fitted(trace, tokens_per_second=2500.0), 1.0)
        found = self.numbers(fitted(longer, tokens_per_second=2500.0 * unit), unit)
        assert found[0] == pytest.approx(expected[0] * unit, rel=1e-12)
        assert found[1:] == pytest.approx(expected[1:], rel=1e-9)


# Units ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [500.0, 2000.0])
def test_speed_alone_leaves_the_arrivals_as_they_are(speed: float) -> None:
    scale = time_scale(100.0, 4.0, tokens_per_second=speed)
    assert (scale.arrival_rate, scale.stretch, scale.assumed_load) == (4 / speed, 1.0, None)
    assert scale.seconds(speed) == 1.0


def test_a_load_without_a_speed_is_that_of_a_slower_server() -> None:
    scale = time_scale(100.0, 4.0, load=0.5)
    assert scale.arrival_rate * 100 == pytest.approx(0.5)
    assert scale.tokens_per_second == pytest.approx(4.0 * 100 / 0.5)
    assert scale.stretch == 1.0


def test_a_load_with_a_speed_stretches_the_arrivals() -> None:
    scale = time_scale(100.0, 4.0, load=0.5, tokens_per_second=1000.0)
    assert scale.arrival_rate * 100 == pytest.approx(0.5)
    assert scale.stretch == pytest.approx(5.0 / 4.0)  # 0.5 · 1000 / 100 = 5 requests a second


def test_a_rate_is_per_second_where_there_is_a_speed() -> None:
    assert time_scale(100.0, None, arrival_rate=3.0, tokens_per_second=1000.0).arrival_rate == 0.003
    assert time_scale(100.0, None, arrival_rate=0.003).arrival_rate == 0.003
    assert time_scale(100.0, None, arrival_rate=0.003).seconds(5.0) is None


def test_a_load_is_assumed_only_where_nothing_tells_it() -> None:
    for recorded, speed in ((4.0, None), (None, None), (None, 1000.0)):
        assert time_scale(100.0, recorded, tokens_per_second=speed).assumed_load == 0.8
    assert time_scale(100.0, 4.0, tokens_per_second=1000.0).assumed_load is None


@pytest.mark.parametrize(
    "given",
    [
        {"load": 0.0},
        {"load": 1.0},
        {"tokens_per_second": 0.0},
        {"arrival_rate": -1.0},
        {"load": 0.5, "arrival_rate": 1.0},
    ],
)
def test_numbers_that_make_no_sense_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        time_scale(100.0, 4.0, **given)


# Recommendation ------------------------------------------------------------------------------------------------------


class TestRecommendation:
    def test_queue_is_that_of_the_trace(self, whole: TraceFit) -> None:
        queue = whole.recommendation.queue
        assert queue.size == mq.Empirical(whole.trace.sizes)
        assert queue.base_load == pytest.approx(0.7)

    def test_optimum_is_the_best_of_all_steps(self, whole: TraceFit) -> None:
        """Against brute force: E[T] falls where a quantum ends with a size, so for k = 2 all sizes are tried, and the
        places between them."""
        queue = whole.recommendation.queue
        ends = queue.service_time(np.unique(whole.trace.sizes))
        everywhere = np.concatenate([ends, (ends[1:] + ends[:-1]) / 2, ends * (1 - 1e-9)])
        means = np.asarray(mq.mean_response_time(queue, mq.MLPT(quantum=everywhere, levels=2)))
        best = whole.recommendation.best
        assert best.theory.mean == pytest.approx(means.min(), rel=1e-12)
        assert best.policy.quantum == pytest.approx(everywhere[means.argmin()], rel=1e-9)  # type: ignore[union-attr]

    def test_gain_and_comparison_are_with_fcfs(self, whole: TraceFit) -> None:
        found = whole.recommendation
        assert found.fcfs.policy == mq.FCFS()
        assert found.fcfs.theory.mean == mq.mean_response_time(found.queue, mq.FCFS())
        assert found.best.gain == pytest.approx(1 - found.best.theory.mean / found.fcfs.theory.mean)
        assert found.best.gain > 0.1

    def test_theory_is_what_its_own_arrivals_give(self, whole: TraceFit) -> None:
        """Mean and P99 of 20 Poisson simulations: Student's t with 19 degrees of freedom, false alarm 10⁻³ each."""
        bound = float(stats.t(19).isf(5e-4))
        for comparison in whole.recommendation.comparisons:
            assert comparison.p99_source == "theory"
            theory, poisson = comparison.theory, comparison.poisson
            assert abs(poisson.mean - theory.mean) < bound * poisson.standard_error  # type: ignore[operator]
            assert abs(poisson.p99 - theory.p99) < bound * poisson.p99_standard_error  # type: ignore[operator]
            assert poisson.standard_error < 0.1 * theory.mean  # type: ignore[operator]

    @pytest.mark.parametrize("policy", [mq.FCFS(), mq.MLPT(quantum=500.0, levels=2)])
    def test_simulations_of_few_jobs_are_not_biased(self, whole: TraceFit, policy: mq.FCFS | mq.MLPT) -> None:
        """Mean and P99 of 500 jobs from each of 20 seeds, 100 times over, against theory; and their standard errors.

        Student's t with 99 degrees of freedom for the mean, false alarm 10⁻³.  A percentile of so few is biased; by less
        than half the error that is told, where a mean of the seeds' own percentiles is off by six times that.
        """
        queue = replace(whole.recommendation.queue, arrival_rate=0.8 / whole.recommendation.queue.mean_service_time)
        warmup, settled = recommending._warmup(queue, [policy], 500)
        assert settled
        found = [recommending._poisson(queue, policy, seed, 500, warmup) for seed in range(100)]
        means, p99s = np.array([[one.mean, one.p99] for one in found]).T
        errors = np.array([[one.standard_error, one.p99_standard_error] for one in found], dtype=float)
        told = np.sqrt(np.mean(errors**2, axis=0))
        np.testing.assert_allclose(told, [means.std(ddof=1), p99s.std(ddof=1)], rtol=0.3)
        assert abs(stats.ttest_1samp(means, mq.mean_response_time(queue, policy)).statistic) < stats.t(99).isf(5e-4)
        assert abs(p99s.mean() - mq.response_time_distribution(queue, policy).quantile(0.99)) < told[1] / 2

    @pytest.mark.usefixtures("quick")
    def test_as_many_jobs_are_simulated_as_asked_for(self) -> None:
        """Of each of twenty traces those after the first ``warmup``, while as many more arrive."""
        fit = fitted(sample(), load=0.6, jobs=300, seed=3)
        found, warmup = fit.recommendation, fit.recommendation.simulated.warmup
        assert (found.simulated.seeds, found.simulated.jobs, found.simulated.settled) == (20, 300, True)
        assert as_mapping(fit)["simulation"] == {"seeds": 20, "jobs": 300, "warmup": warmup, "settled": True}
        assert warmup == max(jobs_needed(found.queue, one.policy)[0] for one in found.comparisons)  # type: ignore[arg-type]
        for comparison in found.comparisons:
            responses = []
            for seed in range(20):
                trace = draw_trace(found.queue.size, found.queue.arrival_rate, 300 + 2 * warmup, seed=seed, root_seed=3)
                times = mq.response_times(found.queue, comparison.policy, trace.arrival_times, trace.sizes)
                responses.append(times[warmup:][:300])
            assert comparison.poisson.mean == pytest.approx(np.mean(responses), rel=1e-12)
            assert comparison.poisson.p99 == np.quantile(responses, 0.99)
            error = np.std(np.mean(responses, axis=1), ddof=1) / math.sqrt(20)
            assert comparison.poisson.standard_error == pytest.approx(error, rel=1e-12)

    @pytest.mark.usefixtures("quick")
    def test_a_queue_that_does_not_settle_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recommending, "MOST_WARMUP", 50)
        fit = fitted(sample(), load=0.8)
        assert fit.recommendation.simulated == recommending.Simulated(20, 200, 50, False)
        assert said(fit, "has not settled after 50 requests")
        fit = fitted(sample(), load=0.8, jobs=2000)
        assert fit.recommendation.simulated.warmup == 400
        assert recommending._warmup(fit.recommendation.queue, [mq.FCFS()], 10_000) == (2000, True)

    def test_many_different_sizes_are_grouped_for_the_percentiles(
        self, whole: TraceFit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Mean and load stay as they are, a part in 10⁵ aside; a few sizes are left alone."""
        queue = whole.recommendation.queue
        assert recommending._with_fewer_sizes(queue) is queue
        sizes = np.random.default_rng(1).lognormal(5, 0.9, 3000)
        many = replace(queue, size=mq.Empirical(np.append(sizes, [2 * sizes.max()] * 8)))
        monkeypatch.setattr("mlptsym.likelihood.MOST_VALUES", 1000)
        fewer = recommending._with_fewer_sizes(many)
        assert len(np.unique(fewer.size.samples)) == 1000 + 2 * 30 + 1  # type: ignore[attr-defined]
        assert fewer.size.samples.size == 3008  # type: ignore[attr-defined]
        assert fewer.size.mean == pytest.approx(many.size.mean, rel=1e-12)
        assert mq.mean_response_time(fewer, mq.FCFS()) == pytest.approx(
            mq.mean_response_time(many, mq.FCFS()), rel=1e-5
        )

    def test_tails_are_those_of_the_percentiles(self, whole: TraceFit) -> None:
        for comparison in whole.recommendation.comparisons:
            for outcome in (comparison.poisson, comparison.trace):
                assert outcome is not None and outcome.tail is not None
                at_p99 = np.interp(outcome.p99, outcome.tail.times, outcome.tail.probability)
                assert at_p99 == pytest.approx(0.01, rel=0.2)

    def test_trace_is_served_with_its_own_arrivals(self, whole: TraceFit) -> None:
        """FCFS by Lindley's recursion, in seconds, from the times in the file."""
        trace, found = whole.trace, whole.recommendation
        speed, stretch = 700.0, found.scale.stretch
        service = found.queue.service_time(trace.sizes) / speed
        waits = [0.0]
        for gap, work in zip(np.diff(trace.times) / stretch, service[:-1], strict=True):
            waits.append(max(0.0, waits[-1] + work - gap))
        responses = np.array(waits) + service
        assert found.fcfs.trace is not None
        assert found.scale.seconds(found.fcfs.trace.mean) == pytest.approx(responses.mean(), rel=1e-9)
        assert found.scale.seconds(found.fcfs.trace.p99) == pytest.approx(np.quantile(responses, 0.99), rel=1e-9)

    def test_hindsight_is_not_worse_than_what_was_recommended(self, whole: TraceFit) -> None:
        found = whole.recommendation
        assert found.best.policy.quantum in found.sweep.quanta  # type: ignore[union-attr]
        assert found.sweep.best_mean <= found.best.trace.mean  # type: ignore[operator, union-attr]
        assert found.sweep.best_mean == found.sweep.trace.min()  # type: ignore[union-attr]

    @pytest.mark.usefixtures("quick")
    def test_a_policy_as_good_with_fewer_levels_is_preferred(self) -> None:
        """With a threshold beyond all sizes and costly preemption, FCFS: uniform sizes leave nothing to gain."""
        trace = replace(sample(), sizes=np.linspace(90, 110, 1000).round())
        found = fitted(trace, slowdown_threshold=None, preemption_cost=1.0, levels=(2, math.inf)).recommendation
        assert found.best is found.fcfs
        assert found.best.p99_source == "simulation"
        assert found.best.theory.p99 == found.best.poisson.p99

    def test_a_quantum_that_falls_to_zero_becomes_a_token(self, whole: TraceFit) -> None:
        found = whole.recommendation
        limit = replace(found.optima[0], quantum=0.0, kind="limit", levels=math.inf)
        assert recommending._policy(found.queue, limit).quantum == 1.0
        assert recommending._policy(found.queue, found.optima[0]).quantum == found.optima[0].quantum

    @pytest.mark.usefixtures("quick")
    def test_an_overloaded_server_is_told(self) -> None:
        fit = fitted(sample(), tokens_per_second=200.0)
        assert not fit.recommendation.stable
        assert any(sentence.startswith("OVERLOADED") for sentence in fit.warnings)
        assert "no policy keeps up" in verdict(fit)
        assert as_mapping(fit)["recommended"]["gain"] is None


# Warnings ------------------------------------------------------------------------------------------------------------


def said(fit: TraceFit, words: str) -> bool:
    return any(words in sentence for sentence in fit.warnings)


def test_what_is_fine_is_not_warned_of(whole: TraceFit) -> None:
    """Poisson arrivals, independent sizes of a known law, a given load."""
    assert whole.arrivals is not None and whole.arrivals.departure == "none"
    for words in ("POISSON", "Poisson arrivals could not", "ASSUMED", "independent", "No parametric", "OVERLOADED"):
        assert not said(whole, words), words
    assert whole.laws[0].name == "LogNormal"


@pytest.mark.usefixtures("quick")
def test_what_is_not_fine_is_said(whole: TraceFit) -> None:
    fit = fitted(sample("azure_sample.csv"))
    assert said(fit, "The load is ASSUMED")
    assert said(fit, "The arrivals are NOT POISSON, by far")
    assert said(fit, "With the trace's own arrivals the mean response time is")
    assert said(whole, "requests arrive")  # stretched
    without = fitted(sample("sharegpt_sample.csv"))
    assert said(without, "no arrival times")
    assert without.recommendation.best.trace is None and without.recommendation.sweep.trace is None
    one = sample()
    odd = replace(one, sizes=np.append(np.sort(one.sizes)[:-1], 1e6), times=np.append(one.times[:-1], 1e5))  # type: ignore[index]
    fit = fitted(odd)
    assert said(fit, "of all work: a wrong size?")
    assert said(fit, "of the whole time: a wrong time")
    assert said(fit, "Successive sizes are not independent")


def test_notes_of_reading() -> None:
    trace = replace(sample(), dropped=(Dropped("size missing", 1, 7), Dropped("cells", 3, 9)), unsorted=2)
    assert reading_notes(trace)[:2] == (
        "1 row dropped: no size (first in line 7)",
        "3 rows dropped: a wrong number of cells (first in line 9)",
    )
    assert len(reading_notes(trace)) == 3 + (trace.duplicates > 0)


def test_all_requests_at_once_are_refused() -> None:
    with pytest.raises(ParameterError, match="time_column"):
        fit_trace(replace(sample(), times=np.zeros(1000)))


# Report --------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Checks that tags are closed, and collects ids, links and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link", "br"}:
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.loaded += [value for name, value in attrs if name in {"src", "href", "xlink:href"} and value]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open = [other for other in self.open if other != tag] if tag in self.open else self.open

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


HOSTILE = "<script>alert(1)</script>$\\frac{$\udcc3\udc9f\udcf6.csv"


@pytest.fixture(scope="module")
def hostile(whole: TraceFit) -> TraceFit:
    """Of a trace whose name means something to a browser and to whoever sets mathematics, and has a byte that is no text."""
    return replace(whole, trace=replace(whole.trace, path=HOSTILE))


@pytest.fixture(scope="module")
def text(hostile: TraceFit) -> str:
    return html_report(hostile)


class TestReport:
    def test_page_is_whole_and_loads_nothing(self, text: str) -> None:
        page = Page(text)
        assert len(page.ids) == len(set(page.ids)) > 100
        assert all(link.startswith("#") and link[1:] in page.ids for link in page.loaded)
        assert set(re.findall(r"url\((.)", text)) <= {"#"}
        assert text.count("<svg") == 3

    def test_page_says_what_was_found(self, whole: TraceFit, text: str) -> None:
        words = Page(text).words
        assert verdict(whole) in words
        for sentence in whole.warnings:
            assert sentence in words
        assert "MLPT, k = 2" in words and "1,000 requests" in words and "Mooncake" in words
        for _, column in columns_in_words(whole.trace):
            assert column in words

    def test_simulated_numbers_have_their_errors(self, whole: TraceFit, text: str) -> None:
        poisson = whole.recommendation.best.poisson
        assert poisson.p99_standard_error is not None
        shown = f"{in_time(whole, poisson.p99)} ± {poisson.p99_standard_error / poisson.p99:.1%}"
        assert in_time(whole, poisson.p99, poisson.p99_standard_error) == shown
        assert shown in Page(text).words
        assert f"20 traces of 8,000 requests, with {whole.recommendation.simulated.warmup:,} more" in Page(text).words

    def test_names_from_outside_are_escaped(self, text: str) -> None:
        assert "<script>" not in text and "&lt;script&gt;" in text

    def test_names_that_are_no_text_are_written_as_text(self, text: str, tmp_path: Path) -> None:
        """As people read them, under any locale, and their own bytes as escapes."""
        assert "ß\\xf6.csv" in text and text.encode().decode() == text
        assert write_whole(tmp_path / "ß.html", "θ \udcf6").read_bytes() == "θ \\udcf6".encode()

    def test_same_fit_same_bytes(self, hostile: TraceFit, text: str) -> None:
        again = _embedded(draw_sizes(hostile), "Histogram of the sizes with fitted laws, and their Q–Q plot")
        assert again in text

    def test_picture(self, hostile: TraceFit, tmp_path: Path) -> None:
        path = write_report(hostile, tmp_path / "new" / "report.png")
        picture = Image.open(io.BytesIO(path.read_bytes()))
        assert picture.width == 1400 and picture.height > 1500
        assert [path.name for path in path.parent.iterdir()] == ["report.png"]

    def test_places_where_nothing_can_be_written(
        self, whole: TraceFit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mlptsym.fitting.report.html_report", lambda fit: "")
        (tmp_path / "file").write_text("")
        for place in (tmp_path / "report.pdf", tmp_path / "report", tmp_path / "file" / "report.html"):
            with pytest.raises(ParameterError, match="out = "):
                write_report(whole, place)

    def test_mapping_is_plain(self, whole: TraceFit) -> None:
        answer = as_mapping(whole)
        assert json.loads(json.dumps(answer))["recommended"]["policy"] == "mlpt"
        assert answer["trace"]["jobs"] == 1000
        assert answer["arrivals"]["departure"] == "none"


# Command -------------------------------------------------------------------------------------------------------------


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["fit", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith("Error: ") and printed.err.count("\n") == 1
    return printed.err[len("Error: ") :]


@pytest.mark.usefixtures("quick")
class TestCommand:
    options = ("--threshold", "3x", "--beta", "0.39", "--gamma", "0.1", "--levels", "2", "--jobs", "200")

    def test_json_and_report(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mlptsym.fitting.report.html_report", verdict)
        path = tmp_path / "report.html"
        trace = str(DATA / "mooncake_sample.jsonl")
        assert main(["fit", trace, *self.options, "--load", "0.7", "--json", "--out", str(path)]) == 0
        printed = capsys.readouterr()
        answer = json.loads(printed.out)
        assert printed.err == "" and printed.out.count("\n") == 1
        sizes = read_trace(trace).sizes
        queue = mq.Queue(mq.Empirical(sizes), answer["arrival_rate"], 3 * sizes.mean(), BETA, GAMMA)
        assert queue.base_load == pytest.approx(0.7)
        best = mq.optimal_quantum(queue, 2)
        recommended = answer["recommended"]
        assert (recommended["quantum"], recommended["mean_response_time"]) == (best.quantum, best.mean_response_time)
        assert recommended["p99_source"] == "simulation"
        assert answer["report"] == str(path) and path.read_text(encoding="utf-8") == answer["verdict"]

    def test_words(self, capsys: pytest.CaptureFixture[str]) -> None:
        columns = ("--size-column", "ContextTokens", "--time-column", "TIMESTAMP", "--tokens-per-second", "9000")
        assert main(["fit", str(DATA / "azure_sample.csv"), *columns, *self.options]) == 0
        words = capsys.readouterr().out
        assert "NOT POISSON" in words and "ContextTokens" in words and words.count("WARNING: ") >= 2

    @pytest.mark.parametrize(
        ("arguments", "option"),
        [
            (("--load", "1.5"), "--load 1.5: must be a finite number > 0 and < 1"),
            (("--load", "0.5", "--rate", "1"), "--load 0.5: must be left out when a rate is given"),
            (("--tokens-per-second", "0"), "--tokens-per-second 0: "),
            (("--levels", "1"), "--levels 1: "),
            (("--levels", "2,x"), "--levels 2,x: "),
            (("--levels", ""), "--levels '': "),
            (("--threshold", "-1"), "--threshold -1: "),
            (("--size-column", "x"), "--size-column x: must be the name of one column of the trace (line 1 has:"),
            (("--time-unit", "h"), "--time-unit h: must be one of s, ms, us, ns"),
            (("--largest-size", "many"), "--largest-size many: "),
            (("--jobs", "3"), "--jobs 3: "),
            (("--seed", "-1"), "--seed -1: "),
            (("--out", "report.txt"), "--out report.txt: must be a file name that ends in .html or .png"),
        ],
    )
    def test_an_option_that_is_not_allowed(
        self, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], option: str
    ) -> None:
        assert refusal(capsys, str(DATA / "sharegpt_sample.csv"), *arguments).startswith(option)

    def test_a_trace_that_is_not_allowed(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        path = tmp_path / "damaged.csv"
        path.write_text("tokens\n" + "5\n" * 20 + "x\n" * 9)
        line = refusal(capsys, str(path), "--size-column", "tokens")
        assert line.startswith(f"trace {path}: must be a trace with at most 10% of its rows damaged, not 9 of 29")
        assert "the first in line 22" in line
        assert "--size-column is missing" in refusal(capsys, str(path))


# Real traces ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not REAL.is_dir(), reason="the real traces are not beside this checkout")
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("name", "policy", "poisson"),
    [
        ("azure-llm-2023-conv.csv", "fcfs", False),
        ("azure-llm-2023-code.csv", "mlpt", False),
        ("sharegpt-8k-lengths.csv", "fcfs", None),
    ],
)
def test_real_traces(name: str, policy: str, poisson: bool | None) -> None:
    """At six mean sizes of memory conversations gain nothing by preemption, code does; no arrivals are Poisson."""
    trace = read_trace(REAL / name)
    fit = fitted(trace, slowdown_threshold=6 * float(trace.sizes.mean()), load=0.8)
    answer = as_mapping(fit)
    assert answer["recommended"]["policy"] == policy
    assert said(fit, "NOT POISSON") == (poisson is False)
    if poisson is False:
        best = fit.recommendation.best
        assert best.trace is not None and best.trace.mean > 1.2 * best.theory.mean
