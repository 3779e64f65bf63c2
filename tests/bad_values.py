"""Values that nobody meant: of every type and size, for functions and for commands, and what must come of them."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import law_tests

import mlptsym as mq
from mlptsym.laws import size_laws
from mlptsym.laws.base import SizeLaw
from mlptsym.memory import memory_laws
from mlptsym.parameters import Range
from mlptsym.validation import LARGEST, SMALLEST, ParameterError

MANY = int(os.environ.get("MLPTSYM_BAD_VALUES", "1"))
"""How many times as many examples are tried as in the usual run."""


def examples(count: int) -> settings:
    """So many examples, times `MANY`."""
    return settings(max_examples=count * MANY)


# Numbers and other things -------------------------------------------------------------------------------------------

HUGE = (5e-324, 1e-300, 1e-30, 1e-15, 1e15, 1e30, 1.7e308, math.inf)
NUMBERS = st.one_of(
    st.sampled_from([0, -0.0, 1, -1, 2, 3, 0.5, math.nan, *HUGE, *(-value for value in HUGE)]),
    st.integers(-5, 70),
    st.floats(),
    st.floats(0, 10),
    st.integers(-(10**400), 10**400),
    st.fractions(),
    st.builds(lambda digits: 10**digits, st.integers(0, 400)),
)
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "1", "inf", "nan", "1e400", "\ud800", "nul\0", "p99", "left", "0" * 5000, "mean"]),
)


def _array(values: list[float], kind: type) -> np.ndarray:
    with np.errstate(over="ignore"):  # of single precision
        return np.array(values, dtype=kind)


ARRAYS = st.builds(
    lambda values, kind, shape: _array(values, kind).reshape(shape),
    st.lists(st.sampled_from([0.0, 1.0, 2.5, -1.0, math.nan, math.inf, 1e-300, 1e300]), min_size=2, max_size=2),
    st.sampled_from([float, object, complex, str, np.float32, bytes]),
    st.sampled_from([(2,), (1, 2), (2, 1)]),
)


class Hostile:
    """An object whose every method fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __float__(self) -> float:
        raise RuntimeError("no float")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


def _counting() -> Iterable[float]:
    number = 0.0
    while True:
        yield (number := number + 1.0)


OTHERS = st.one_of(
    st.none(),
    st.booleans(),
    st.complex_numbers(),
    st.decimals(),
    st.binary(max_size=5),
    st.sampled_from(
        [
            np.float64(2.0),
            np.float32(0.5),
            np.int64(3),
            np.uint8(2),
            np.bool_(True),
            np.str_("2"),
            np.complex128(1),
            np.datetime64("2024-01-01"),
            np.timedelta64(3, "s"),
            np.array(2.5),
            np.array(None),
            np.array([]),
            np.empty((0, 2)),
            np.array([[1.0, 2.0], [3.0, 4.0]]),
            np.array([10**400, 1], dtype=object),
            np.ma.masked_array([1.0, 2.0], [True, False]),
            np.zeros(2, dtype=[("a", float)]),
            Fraction(5, 2),
            Decimal("2.5"),
            Decimal("NaN"),
            object(),
            Hostile(),
            Ellipsis,
            NotImplemented,
            float,
            math,
            len,
            range(3),
            range(10**9),
            {1.0, 2.0},
            {},
            {"mean": 1.0},
            b"2",
            bytearray(b"2"),
            slice(1, 2),
        ]
    ),
    st.builds(lambda: iter([1.0, 2.0])),
    st.builds(_counting),
    st.builds(
        lambda make: make(),
        st.sampled_from(
            [
                lambda: mq.Exponential(1.0),
                lambda: mq.Queue(mq.Exponential(1.0), 0.5),
                mq.FCFS,
                lambda: mq.MLPT(quantum=1.0, levels=2),
                lambda: mq.MLPT(quantum=1.0, levels=2, lazy=True),
                lambda: mq.MLPT(quantum=[1.0, 2.0], levels=2),
                lambda: mq.CappedGittins(1),
                mq.LinearMemory,
            ]
        ),
    ),
)
SCALARS = st.one_of(NUMBERS, TEXTS, OTHERS)
ANYTHING = st.one_of(
    NUMBERS,
    NUMBERS,
    SCALARS,
    ARRAYS,
    st.lists(SCALARS, max_size=3),
    st.lists(NUMBERS, max_size=3).map(tuple),
    st.dictionaries(st.text(max_size=4) | st.sampled_from(["mean", "p99"]), SCALARS, max_size=2),
    st.lists(st.lists(NUMBERS, max_size=2), max_size=2),
)


# What comes of a call ------------------------------------------------------------------------------------------------


class Refused:
    """There is no answer, but a clear error."""


REFUSED = Refused()
NESTED = 6


def outcome(
    function: Callable[..., Any], words: Mapping[str, Any], seconds: float = 10.0, *, names: Iterable[str] = ()
) -> Any:
    """The answer of a call, without a NaN in it, or `REFUSED` if an error of one line names a parameter.

    Warnings are errors; what else is raised goes through, and fails the test.
    """
    begin = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            answer = function(**words)
    except ParameterError as error:
        check_refusal(error, {*words, *names})
        answer = REFUSED
    spent = time.process_time() - begin
    assert spent < seconds, f"{spent:.3g} s"
    if answer is not REFUSED:
        assert not holds_nan(answer), answer
    return answer


@dataclass(frozen=True)
class Later:
    """A good argument that takes computing: a test computes it, and no collecting of tests does."""

    make: Callable[[], Any]


@dataclass(frozen=True)
class Call:
    """A function with arguments that are good, of which some are replaced."""

    function: Callable[..., Any]
    good: Mapping[str, Any]
    tried: int = 12
    fixed: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    instead: Mapping[str, st.SearchStrategy[Any]] = field(default_factory=dict)


def check_call(call: Call) -> None:
    """The call as it is has an answer; with one or two arguments replaced by anything it has one or is refused."""
    good = {name: value.make() if isinstance(value, Later) else value for name, value in call.good.items()}
    places = st.lists(st.sampled_from(sorted(set(call.good) - set(call.fixed))), min_size=1, max_size=2, unique=True)
    replaced = places.flatmap(lambda names: st.fixed_dictionaries({n: call.instead.get(n, ANYTHING) for n in names}))

    @examples(call.tried)
    @given(replaced)
    def check(others: dict[str, Any]) -> None:
        outcome(call.function, {**good, **others}, names=call.names)

    assert outcome(call.function, good) is not REFUSED
    check()


def laid_out(draw: Callable[..., Any]) -> Callable[..., None]:
    """A drawing that is also laid out: that is where matplotlib would fail or warn."""

    @wraps(draw)
    def drawn(**words: Any) -> None:
        draw(**words).draw_without_rendering()

    return drawn


def check_refusal(error: ParameterError, names: Iterable[str]) -> None:
    """One line of bounded length that names a parameter, its value and what is allowed."""
    text = str(error)
    assert len(text.splitlines()) == 1, text
    assert len(text) < 700, text
    assert error.name.partition("[")[0] in set(names), text
    assert " is not allowed: it must be " in text
    assert error.allowed


def holds_nan(answer: object, depth: int = NESTED) -> bool:
    """Whether there is a NaN anywhere in an answer."""
    if isinstance(answer, (float, np.floating, complex)):
        return bool(np.isnan(answer))
    if isinstance(answer, np.ndarray):
        return answer.dtype.kind in "fc" and bool(np.isnan(answer).any())
    if depth == 0 or isinstance(answer, (str, bytes)):
        return False
    if isinstance(answer, Mapping):
        return any(holds_nan(item, depth - 1) for item in answer.values())
    if isinstance(answer, (list, tuple)):
        return any(holds_nan(item, depth - 1) for item in answer)
    if is_dataclass(answer) and not isinstance(answer, type):
        return any(holds_nan(getattr(answer, item.name), depth - 1) for item in fields(answer))
    return False


# Queues and policies whose numbers are allowed, and extreme ------------------------------------------------------------

FACTORS = st.sampled_from([1e-300, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 6.0, 1e3, 1e6, 1e12, 1e30, 1e300])
SCALES = st.sampled_from([1e-30, 1e-29, 1e-15, 1e-3, 1.0, 200.0, 1e6, 1e15, 1e29, 1e30]) | st.floats(1e-30, 1e30)


def _allowed(allowed: Range) -> st.SearchStrategy[Any]:
    """Numbers in a range: its ends, and some between them."""
    low, high = allowed.at_least, allowed.at_most
    if (low, high) == (SMALLEST, LARGEST):
        return SCALES
    between = np.geomspace(low, high, 9) if low > 0 else np.linspace(low, high, 9)  # type: ignore[operator,arg-type,type-var]
    return st.sampled_from([int(value) if allowed.whole else float(value) for value in [low, *between[1:-1], high]])


def _extreme(law: type[SizeLaw]) -> st.SearchStrategy[SizeLaw]:
    """A law with extreme parameters: of its test module, or from the ranges of the parameters."""
    own = getattr(law_tests(law.__module__), "EXTREME", None)
    return st.builds(law, *map(_allowed, law.ranges().values())) if own is None else own


LAWS = st.deferred(lambda: st.one_of(*map(_extreme, size_laws().values())))
LOADS = st.sampled_from(
    [1e-300, 1e-9, 0.1, 0.8, 0.8, 0.8, 0.99, 1 - 1e-6, 1 - 1e-12, 1 - 2**-53, 1.0, 1 + 1e-12, 2, 1e9]
)
MEMORIES = st.deferred(
    lambda: st.one_of(
        *(
            st.builds(
                law, *(SCALES if allowed.at_least else st.just(0.0) | SCALES for allowed in law.ranges().values())
            )
            for law in memory_laws().values()
        )
    )
)


@st.composite
def queues(draw: st.DrawFn, laws: st.SearchStrategy[Any] = LAWS) -> mq.Queue | None:
    """A queue at a load that is drawn, whatever its scale; None where one of its numbers would be refused."""
    law = draw(laws)
    mean = law.mean if math.isfinite(law.mean) else 1.0
    words: dict[str, Any] = {}
    if draw(st.booleans()):
        words["slowdown_threshold"] = draw(FACTORS) * mean
        words["slowdown_factor"] = draw(st.sampled_from([1e-30, 1e-6, 0.01, 0.39, 0.39, 1.0]))
    words["preemption_cost"] = draw(st.sampled_from([0.0, 0.0, 0.1, 0.1, 1e-30, 1e-6, 10.0, 1e30]))
    words["memory"] = draw(st.just(mq.LinearMemory()) | MEMORIES)
    try:
        served = mq.Queue(law, 1.0, **words).mean_service_time
        return mq.Queue(law, draw(LOADS) / (served if math.isfinite(served) else 1.0), **words)
    except ParameterError:
        return None


DEEP = [2**22] if MANY > 1 else [2**16]  # the most that is allowed takes seconds
LEVELS = st.sampled_from([1, 2, 2, 3, 10, 100, *DEEP, 2**22 + 1, 10**30, math.inf, math.inf])


@st.composite
def policies(draw: st.DrawFn, mean: float) -> Any:
    """A policy for the theory, its quanta in units of a mean."""
    scale = mean if math.isfinite(mean) else 1.0
    kind = draw(st.integers(0, 9))
    try:
        if kind == 0:
            return mq.FCFS()
        if kind <= 2:
            return mq.MLPT(quanta=[scale * factor for factor in draw(st.lists(FACTORS, min_size=1, max_size=4))])
        return mq.MLPT(quantum=scale * draw(FACTORS), levels=draw(LEVELS))
    except ParameterError:  # a quantum of zero or infinity
        return mq.FCFS()
