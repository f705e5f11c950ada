"""The command line in this process, as a shell would show it: exit code and what was written, at no new interpreter a call.

That the module itself can be started is shown where commands are killed and by ``tests/commands/test_score.py``.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import subprocess
from unittest.mock import patch

from workbench.cli import main


def workbench(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """``python -m workbench ARGUMENTS`` in an environment without a model's address and key but for those given."""
    out, err = io.StringIO(), io.StringIO()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    handlers, logging.root.handlers = logging.root.handlers, []
    try:
        with (
            patch.dict(os.environ, {**kept, **environment}, clear=True),
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
        ):  # fmt: skip
            try:
                code = main([*map(str, arguments)])
            except SystemExit as left:
                code = int(left.code or 0)
    finally:
        logging.root.handlers = handlers
    return subprocess.CompletedProcess([*map(str, arguments)], code, out.getvalue(), err.getvalue())
