"""The package's one family of exceptions.

Every message is one clear line that names what was read (file, row, field), what is wrong and the remedy.
"""

from __future__ import annotations


class WorkbenchError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(WorkbenchError, ValueError):
    """Data that cannot be used as given: a file, a row, a column, an option.

    ``str(error)`` is one line of at most 400 characters: where, what is wrong; what to do. ``key`` names the text
    ``errors.said.<key>`` that says the same in the reader's language, with ``values`` in it.
    """

    def __init__(self, message: str, *, key: str = "", **values: object) -> None:
        super().__init__(_one_line(message))
        self.key, self.values = key, values


class JudgeError(WorkbenchError):
    """A judge that cannot go on at all (bad key, quota, unreachable endpoint, unusable model)."""


class EncoderError(WorkbenchError):
    """An encoder that cannot be loaded or that returned vectors of the wrong shape."""


class CancelledError(WorkbenchError):
    """The user cancelled; whatever was finished before is kept."""


def _one_line(message: str, limit: int = 400) -> str:
    """Fold white space and control characters and cut to ``limit`` characters."""
    printable = "".join(c if c.isprintable() else " " for c in message)
    line = " ".join(printable.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
