"""``make bench``: everything, in one run, written to results.json, results.md and results.svg beside this file.

``python tests/benchmarks/run.py [--peers PYTHON] [--only GROUP …]``: the other simulators are timed if PYTHON has them.
With ``--only`` nothing is written.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from unicodedata import normalize

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import mlptsym  # noqa: E402
from benchmarks import crosscheck_rows, figures, scaling, simulation, theory  # noqa: E402
from benchmarks.measure import Row  # noqa: E402


def main() -> int:
    """Measure, print, write; 0 if every ratio is reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, metavar="PYTHON")
    parser.add_argument("--only", nargs="*", metavar="GROUP", default=[])
    asked = parser.parse_args()
    groups: dict[str, Callable[[], Iterator[Row]]] = {
        "simulation": lambda: simulation.rows(asked.peers),
        "theory": theory.rows,
        "sharper": crosscheck_rows.rows,
        "figures": figures.rows,
        "scaling": scaling.rows,
    }
    for group in asked.only:
        if group not in groups:
            parser.error(f"--only {group}: must be one of {', '.join(groups)}")
    found: dict[str, list[Row]] = {}
    for group in asked.only or groups:
        found[group] = []
        for row in groups[group]():
            print(_line(row), flush=True)
            found[group].append(row)
    if not asked.only:
        _write(found)
    return 0 if all(row.met for rows in found.values() for row in rows) else 1


def _line(row: Row) -> str:
    target = "" if row.at_least is None else f" (at least {row.at_least:g}{'' if row.met else ', NOT MET'})"
    return f"{row.work} | {row.against} | {_number(row.ratio)}{target} | {row.note}"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _machine() -> dict[str, str | int]:
    model = next(
        (line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.processor()
    )
    names = ("numpy", "scipy", "sympy", "numba")
    versions = ", ".join([f"mlptsym {mlptsym.__version__}", *(f"{name} {version(name)}" for name in names)])
    return {
        "processor": model,
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
    }


def _cpuinfo() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _write(found: dict[str, list[Row]]) -> None:
    machine = _machine()
    content = {"machine": machine, "rows": {group: [_plain(row) for row in rows] for group, rows in found.items()}}
    (HERE / "results.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (HERE / "results.md").write_text(_table(found, machine), encoding="utf-8")
    _draw([row for rows in found.values() for row in rows if row.at_least is not None])


def _plain(row: Row) -> dict[str, object]:
    values = {**asdict(row), "met": row.met}
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in values.items()}


def _table(found: dict[str, list[Row]], machine: dict[str, str | int]) -> str:
    lines = ["# Speed, side by side", ""]
    lines += [
        "Written by `make bench`.  Each pair was timed in turns in one run; ratios are of medians.  A ratio above one",
        "means that the work is faster than what it is measured against.",
        "",
        "Machine: {processor}, {cores} cores, {system}, Python {python}, {versions}.".format(**machine),
    ]
    titles = {
        "simulation": "Simulation",
        "theory": "Theory",
        "sharper": "Statistical efficiency",
        "figures": "Figures",
        "scaling": "Growth of cost: exponents",
    }
    for group, rows in found.items():
        lines += [
            "",
            f"## {titles[group]}",
            "",
            "| work | against | ratio | at least | note |",
            "|---|---|---|---|---|",
        ]
        for row in rows:
            least = "" if row.at_least is None else f"{row.at_least:g}" + ("" if row.met else " – **not met**")
            lines.append(f"| {row.work} | {row.against} | {_number(row.ratio)} | {least} | {row.note} |")
    return "\n".join(lines) + "\n"


def _draw(rows: list[Row]) -> None:
    """Ratios in units of what is to be reached."""
    from matplotlib.figure import Figure

    from mlptsym.figures.style import figure_size, paper_style

    rows = [row for row in rows if math.isfinite(row.ratio)]
    with paper_style():
        figure = Figure(figsize=figure_size("page", 0.19 * len(rows) + 0.7))
        axes = figure.subplots()
        ratios = [row.ratio / row.at_least for row in rows if row.at_least is not None]
        places = range(len(rows))
        colours = ["#0072B2" if row.met else "#D55E00" for row in rows]
        hatches = ["" if row.met else "////" for row in rows]
        axes.barh(places, [ratio - 0.05 for ratio in ratios], left=0.05, color=colours, hatch=hatches, height=0.6)
        axes.set_yticks(places, [_label(row) for row in rows])
        axes.tick_params(axis="y", labelsize=5.5)
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        for place, (row, ratio) in enumerate(zip(rows, ratios, strict=True)):
            axes.text(ratio * 1.05, place, f"{_number(row.ratio)}", va="center", fontsize=5.5, bbox=behind)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set(xscale="log", xlabel="ratio, in units of the ratio to reach", ylim=(len(rows) - 0.4, -0.6))
        axes.set_xlim(0.1, 3 * max(ratios))
        axes.grid(axis="y", visible=False)
        figure.savefig(HERE / "results.svg", metadata={"Date": None, "Creator": None})
        figure.savefig(HERE / "results.png", metadata={"Software": None}, dpi=200)


def _label(row: Row) -> str:
    """Raised digits as mathematics: the font has few of them."""
    return re.sub(
        "10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda found: f"$10^{{{normalize('NFKC', found[1])}}}$", f"{row.work} / {row.against}"
    )


if __name__ == "__main__":
    sys.exit(main())
