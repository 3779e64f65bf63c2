"""``python -m mlptsym``: the same as the command ``mlptsym``."""

import sys

from mlptsym.cli import main

if __name__ == "__main__":
    sys.exit(main())
