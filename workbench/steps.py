"""What long work looks at between two small steps: whether it was asked to stop; and whom it tells how much text is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from workbench.errors import CancelledError

Cancelled = Callable[[], bool]


@dataclass
class ByText:
    """A progress callback ``(done, total, cached)`` that is told how much of the text is done too.

    Attributes
    ----------
    share
        Of the text that has to be judged, in [0, 1]: what the time left goes by, since samples differ in length; None until
        it can be told.
    """

    call: Callable[[int, int, int], None]
    share: float | None = None

    def __call__(self, done: int, total: int, cached: int = 0) -> None:
        """Pass it on."""
        self.call(done, total, cached)

    def left(self, seconds: float) -> float | None:
        """Seconds left after so many; None while it cannot be told."""
        return seconds * (1.0 - self.share) / self.share if self.share else None


@dataclass(frozen=True)
class _Watch:
    cancelled: Cancelled | None
    encoded: Callable[[int], None] | None


_WATCH: ContextVar[_Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(cancelled: Cancelled | None, encoded: Callable[[int], None] | None = None) -> Iterator[None]:
    """While this lasts, :func:`checkpoint` in the same thread asks ``cancelled()`` and tells ``encoded`` of characters."""
    token = _WATCH.set(_Watch(cancelled, encoded))
    try:
        yield
    finally:
        _WATCH.reset(token)


def checkpoint(characters: int = 0) -> None:
    """Called a few times a second by what takes long, with how many characters were encoded since.

    Raises ``CancelledError`` when the work was asked to stop.
    """
    watch = _WATCH.get()
    if watch is None:
        return
    if watch.cancelled is not None and watch.cancelled():
        raise CancelledError("cancelled; what was judged is kept and will not be judged again")
    if characters and watch.encoded is not None:
        watch.encoded(characters)
