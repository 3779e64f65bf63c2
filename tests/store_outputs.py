"""python tests/store_outputs.py NOTEBOOK ...: run notebooks where they are, and store in them what their cells show.

Everything else in the file stays as it is.  A figure's notebook writes its files into ``figures/``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from mlptsym.runtime.execution import merge_streams
from mlptsym.runtime.kernels import KERNEL, Kernel, kernel_session


def store_outputs(path: Path, kernel: Kernel) -> None:
    """Run a notebook and store its outputs and execution counts, and nothing that differs from run to run."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    notebook = nbformat.reads(json.dumps(stored), as_version=4)
    options = {"kernel_name": KERNEL, "record_timing": False, "on_cell_executed": merge_streams}
    NotebookClient(notebook, km=kernel.ready(path.absolute().parent), **options).execute()
    for cell, run in zip(stored["cells"], json.loads(nbformat.writes(notebook))["cells"], strict=True):
        if cell["cell_type"] == "code":
            cell |= {"outputs": run["outputs"], "execution_count": run["execution_count"]}
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with kernel_session() as session, Kernel(session) as one:
        for name in sys.argv[1:]:
            store_outputs(Path(name), one)
