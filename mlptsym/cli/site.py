"""``mlptsym site``: the derivations and figures as one HTML site."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["site"]


def site(
    out: Annotated[str, typer.Option(metavar="DIR", help="Where the pages go.")] = "site",
) -> None:
    """Write the derivations and figure notebooks, as they are stored, as one linked HTML site that works offline."""
    from mlptsym.site import build_site

    first, *pages = build_site(out)
    typer.echo(f"{len(pages)} pages; start at {first}")
