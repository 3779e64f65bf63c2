"""``mlptsym figures``: run the figure notebooks."""

from __future__ import annotations

from typing import Annotated

import typer

from mlptsym.validation import path

__all__ = ["figures"]


def figures(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[fig06 ...]", help="Figures to draw; all when none is named.", show_default=False),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where the files go; ./figures when left out.", show_default=False),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            metavar="NAME=VALUE",
            help="Set a parameter of the notebooks; may be repeated.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Notebooks run at once; one a processor when left out.", show_default=False),
    ] = None,
) -> None:
    """Draw the paper's figures: run their notebooks and write figNN.svg, .pdf, .png, .csv and .ipynb."""
    from mlptsym.runtime.runner import run_figures

    try:
        target = None if out is None else path("out", out, "the name of a folder")
        runs = run_figures(names or (), target, parameter or (), jobs, progress=True)
    except KeyboardInterrupt:
        typer.echo("Interrupted: what is in the folder is whole, the rest was not written.", err=True)
        raise typer.Exit(130) from None
    for run in runs:
        if run.error is not None:
            where = f" (see {run.notebook})" if run.notebook else ""
            typer.echo(f"Error: {run.name} failed: {run.error}{where}", err=True)
    if any(run.state == "failed" for run in runs):
        raise typer.Exit(1)
