"""The command line: ``mlptsym COMMAND [OPTIONS]``.

A command loads what it needs when it runs, so that ``mlptsym --help`` is quick.  It ends with 0; with 1 if something
it ran failed; with 2 if an option was refused, which one line on standard error explains; with 3 if another
command has locked the output folder; with 130 if interrupted.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_group

from mlptsym.cli.batch import batch
from mlptsym.cli.errors import Command, one_line
from mlptsym.cli.figures import figures
from mlptsym.cli.fit import EXAMPLES as FIT_EXAMPLES
from mlptsym.cli.fit import fit
from mlptsym.cli.percentiles import EXAMPLES as PERCENTILES_EXAMPLES
from mlptsym.cli.percentiles import percentiles
from mlptsym.cli.simulation import simulate
from mlptsym.cli.site import site
from mlptsym.cli.theory import optimize, response
from mlptsym.cli.verify import EXAMPLES as VERIFY_EXAMPLES
from mlptsym.cli.verify import verify
from mlptsym.version import __version__

__all__ = ["app", "main"]

FAILED = 1
LONGEST = 200  # characters of a file's name that an error shows

RESPONSE_EXAMPLES = """\b
Examples:
  mlptsym response --size lognormal:5,0.9 --rate 0.0036 --threshold 6x --beta 0.39
  mlptsym response --size lognormal:5,0.9 --rate 0.0036 --threshold 6x --beta 0.39 \\
      --gamma 0.1 --levels inf --quantum 3x --by-level
  mlptsym response --size empirical:sizes.csv:tokens --rate 0.002 --quanta 300,500 --json
"""
OPTIMIZE_EXAMPLES = """\b
Examples:
  mlptsym optimize --size lognormal:5,0.9 --rate 0.0036 --threshold 6x --beta 0.39 \\
      --gamma 0.1 --levels 2
  mlptsym optimize --size weibull:0.5,100 --rate 0.004 --gamma 0.05 --levels inf --json
"""
SIMULATE_EXAMPLES = """\b
Examples:
  mlptsym simulate --size lognormal:5,0.9 --rate 0.0036 --threshold 6x --beta 0.39 \\
      --gamma 0.1 --levels 2 --quantum 674
  mlptsym simulate --size gamma:0.5,2 --rate 0.6 --policy mlpt-lazy --levels inf --quantum 1x \\
      --jobs 1000000 --seeds 4 --json
"""

app = typer.Typer(
    help="Mean response times of multi-level preemptive scheduling with dynamic memory.",
    epilog="Time is in units of service at rate one. 'mlptsym COMMAND --help' has the options and examples.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mlptsym {__version__}")
        raise typer.Exit


@app.callback()
def _options_of_all(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version, show_default=False),
    ] = False,
) -> None:
    pass


app.command(cls=Command, short_help="Mean response time, by the theory.", epilog=RESPONSE_EXAMPLES)(response)
app.command(cls=Command, short_help="Best quantum, and the rule of thumb for it.", epilog=OPTIMIZE_EXAMPLES)(optimize)
app.command(cls=Command, short_help="Percentiles of the response time, by the theory.", epilog=PERCENTILES_EXAMPLES)(
    percentiles
)
app.command(cls=Command, short_help="Mean response time, by simulation.", epilog=SIMULATE_EXAMPLES)(simulate)
app.command(cls=Command, short_help="Policy to use for a recorded trace.", epilog=FIT_EXAMPLES)(fit)
app.command(cls=Command, short_help="Draw the figures of the paper.")(figures)
app.command(cls=Command, short_help="Prove or refute the statements of the paper.", epilog=VERIFY_EXAMPLES)(verify)
app.command(cls=Command, short_help="Run many scenarios over the figure notebooks.")(batch)
app.command(cls=Command, short_help="Derivations and figures as HTML pages, to read offline.")(site)


@cache
def _command() -> TyperGroup:
    return get_group(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words behind ``mlptsym``; those of this process when left out.

    Returns
    -------
    int
        The exit status.
    """
    if sys.stdout is None:  # closed before the process began: what is printed would be lost without a word
        return _fail("standard output is closed: it must be open for the answer", FAILED)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character is no error
    try:
        status = _command().main(arguments, prog_name="mlptsym", standalone_mode=False)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context else ""
        return _fail(error.format_message() + hint, error.exit_code)
    except MemoryError:
        return _fail("there is not enough memory for this", FAILED)
    except OSError as error:
        return _fail(f"{str(error.filename or 'output')[:LONGEST]}: {error.strerror or error}", FAILED)
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int) -> int:
    typer.echo(f"Error: {one_line(message)}", err=True)
    return status
