"""Many parameter sets over the figure notebooks: checked as a whole, run side by side, resumed where they ended."""

from __future__ import annotations

from mlptsym.batch.document import ScenarioFileError
from mlptsym.batch.lock import FolderInUseError
from mlptsym.batch.manifest import check_folder
from mlptsym.batch.running import Finished, plan_batch, run_batch
from mlptsym.batch.scenarios import BatchRun, read_scenarios

__all__ = [
    "BatchRun",
    "Finished",
    "FolderInUseError",
    "ScenarioFileError",
    "check_folder",
    "plan_batch",
    "read_scenarios",
    "run_batch",
]
