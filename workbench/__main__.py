"""``python -m workbench``: the same verbs as in Python, for the command line."""

from __future__ import annotations

import atexit
import os
import sys

from workbench.cli import INTERRUPTED, main

if __name__ == "__main__":
    code = main()
    if code == INTERRUPTED:
        # Whoever interrupts waits for the prompt, and to take the interpreter down takes seconds with PyTorch in it.
        atexit._run_exitfuncs()
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
