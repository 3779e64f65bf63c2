"""The made traces of tests/data: how they were drawn.  ``python tests/fit_samples.py`` writes them again."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

DATA = Path(__file__).parent / "data"
START = datetime(2024, 3, 1, 9, 0, tzinfo=UTC)


def sizes(generator: random.Random, count: int, cap: int) -> list[int]:
    """Log-normal token counts with a cap."""
    return [min(cap, max(1, round(generator.lognormvariate(4.8, 1.0)))) for _ in range(count)]


def bursts(generator: random.Random, count: int) -> list[float]:
    """Arrival times in seconds: bursts of a geometric number of requests, a tenth of a second apart on average."""
    times, now = [], 0.0
    while len(times) < count:
        now += generator.expovariate(0.5)
        for _ in range(1 + int(generator.expovariate(0.25))):
            now += generator.expovariate(10.0)
            times.append(now)
    return times[:count]


def poisson(generator: random.Random, count: int) -> list[float]:
    """Arrival times in seconds, two a second."""
    times, now = [], 0.0
    for _ in range(count):
        now += generator.expovariate(2.0)
        times.append(now)
    return times


def azure() -> str:
    """Bursts, without a line end at the end, as in the Azure traces."""
    generator = random.Random(1)  # noqa: S311
    rows = zip(bursts(generator, 1200), sizes(generator, 1200, 1000), strict=True)
    lines = [
        f"{(START + timedelta(seconds=time)).strftime('%Y-%m-%d %H:%M:%S.%f')}0,{generator.randint(20, 4000)},{size}"
        for time, size in rows
    ]
    return "\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *lines])


def sharegpt() -> str:
    """Lengths without times."""
    generator = random.Random(2)  # noqa: S311
    lines = []
    for size in sizes(generator, 1000, 1024):
        prompt = generator.randint(4, 1000)
        lines.append(f"{prompt},{size},{prompt + size},{prompt / size!r}")
    return "\n".join(["num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio", *lines, ""])


def mooncake() -> str:
    """Poisson arrivals in whole milliseconds, one JSON object a line."""
    generator = random.Random(3)  # noqa: S311
    rows = zip(poisson(generator, 1000), sizes(generator, 1000, 2000), strict=True)
    lines = [
        json.dumps(
            {
                "timestamp": round(1000 * time),
                "input_length": generator.randint(100, 9000),
                "output_length": size,
                "hash_ids": [generator.randint(0, 99)],
            }
        )
        for time, size in rows
    ]
    return "\n".join([*lines, ""])


SAMPLES = {"azure_sample.csv": azure, "sharegpt_sample.csv": sharegpt, "mooncake_sample.jsonl": mooncake}


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    for name, make in SAMPLES.items():
        (DATA / name).write_bytes(make().encode())
