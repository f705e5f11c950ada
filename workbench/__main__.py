"""``python -m workbench``: the same verbs as in Python, for the command line."""

from __future__ import annotations

import sys

from workbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
