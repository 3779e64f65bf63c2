"""The scripts here run under a Python that has their packages, so that pytest does not import them for doctests."""

collect_ignore_glob = ["*.py"]
