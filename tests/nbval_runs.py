"""Notebooks run again by nbval, on this interpreter whatever kernelspecs there are."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

from mlptsym.runtime.kernels import KERNEL, environment, scratch_folder

# nbval, with sockets in a folder of one's own: ports could be taken by a kernel of another test that starts just then.
_NBVAL = """\
import sys
from functools import partial
import nbval.kernel, pytest
nbval.kernel.KernelManager = partial(nbval.kernel.KernelManager, transport="ipc", connection_file=sys.argv[1])
raise SystemExit(pytest.main(sys.argv[2:]))
"""


def run_nbval(*notebooks: Path, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run notebooks of one folder again, one after the other, and compare their outputs with those that are stored."""
    with scratch_folder() as scratch:
        startup = scratch / "ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "collector.py").write_text(
            f"import gc; gc.set_threshold(*{gc.get_threshold()})"
        )  # as in this process
        fixed = ["--nbval", "--nbval-kernel-name", KERNEL, "-p", "no:xdist", "-p", "no:cacheprovider", "--color=no"]
        command = [sys.executable, "-c", _NBVAL, str(scratch / "k.json"), *fixed, *options]
        return subprocess.run(
            [*command, f"--rootdir={notebooks[0].parent}", *map(str, notebooks)],
            env={**environment(scratch), "IPYTHONDIR": str(scratch / "ipython")},
            capture_output=True,
            text=True,
            check=False,
        )
