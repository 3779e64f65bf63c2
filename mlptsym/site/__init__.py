"""The derivations and the figure notebooks as one HTML site that needs no network and no script."""

from mlptsym.site.build import build_site

__all__ = ["build_site"]
