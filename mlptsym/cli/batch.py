"""``mlptsym batch``: many parameter sets over the figure notebooks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlptsym.cli.errors import one_line
from mlptsym.validation import path, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlptsym.batch import Finished

__all__ = ["batch"]

FAILED = 1
REFUSED = 2
IN_USE = 3
INTERRUPTED = 130


def batch(
    scenarios: Annotated[
        str | None,
        typer.Argument(metavar="SCENARIOS.yaml", help="The scenario file.", show_default=False),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Where the results go; a folder with the name of the scenario file when left out.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Notebooks run at once; one a processor when left out.", show_default=False),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the file and list what would run.", show_default=False)
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Run also what has not changed.", show_default=False)] = False,
    check: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Hold every file of an earlier batch against its digest, and run nothing.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run many scenarios, each some notebooks with a set of parameters; skip what is done, resume what was interrupted.

    The command ends with 1 if a run failed or a digest is wrong, with 2 if the file or an option was refused, with 3 if
    another command writes to the folder, and with 130 if interrupted.
    """
    if check is not None:
        if scenarios is not None or out is not None or dask is not None or dry_run or force:
            refuse("check", check, "given alone")
        _check(path("check", check, "a folder with the results of a batch"))
        return
    if scenarios is None:
        refuse("scenarios", None, "a scenario file (or --check DIR)")
    source = path("scenarios", scenarios, "the name of a scenario file")
    target = path("out", source.stem if out is None else out, "the name of a folder")
    from mlptsym.batch import FolderInUseError, ScenarioFileError
    from mlptsym.sweeps import ClusterLostError

    try:
        if dry_run:
            _list(source, target, force=force)
        else:
            _run(source, target, jobs, dask, force=force)
    except ScenarioFileError as error:
        for message in error.messages:
            typer.echo(f"Error: {one_line(message)}", err=True)
        raise typer.Exit(REFUSED) from None
    except FolderInUseError as error:
        typer.echo(f"Error: {one_line(str(error))}", err=True)
        raise typer.Exit(IN_USE) from None
    except ClusterLostError as error:
        typer.echo(
            f"Error: {one_line(str(error))}: what is in the folder is whole; the same command goes on from here.",
            err=True,
        )
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted: what is in the folder is whole; the same command goes on from here.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _list(scenarios: Path, out: Path, *, force: bool) -> None:
    from mlptsym.batch import plan_batch

    plan = plan_batch(scenarios, out, force=force)
    for run, state in plan:
        typer.echo(f"{'skip' if state == 'unchanged' else 'run '}  {run.name}  ({state})")
    count = sum(state != "unchanged" for _, state in plan)
    typer.echo(f"{len(plan)} runs: {count} to run, {len(plan) - count} to skip")


def _run(scenarios: Path, out: Path, jobs: int | None, dask: str | None, *, force: bool) -> None:
    from mlptsym.batch import run_batch

    finished = run_batch(scenarios, out, jobs, dask=dask, force=force, progress=True)
    typer.echo(summary(finished))
    for run in finished:
        if run.state == "failed":
            where = f" (see {run.notebook})" if run.notebook else ""
            typer.echo(f"Error: {run.name} failed: {one_line(run.error or '')}{where}", err=True)
    if any(run.state == "failed" for run in finished):
        raise typer.Exit(FAILED)


def summary(finished: Sequence[Finished]) -> str:
    """How many runs ended how."""
    count = Counter(run.state for run in finished)
    return f"{len(finished)} runs: {count['done']} done, {count['skipped']} skipped, {count['failed']} failed"


def _check(folder: Path) -> None:
    from mlptsym.batch import check_folder

    good, problems = check_folder(folder)
    for problem in problems:
        typer.echo(f"Error: {one_line(problem)}", err=True)
    typer.echo(f"{good + len(problems)} files: {good} as they should be, {len(problems)} not")
    if problems:
        raise typer.Exit(FAILED)
