"""Long work beside a live notebook: one thread, told progress, asked to stop. The function that works stays plain."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_log = logging.getLogger(__name__)

#: Least seconds between two reports of progress.
PACE = 0.2


@dataclass(frozen=True)
class Progress:
    """How far work has come: samples ``done`` of ``total``, of which ``cached`` cost nothing; ``seconds`` so far."""

    done: int
    total: int
    cached: int
    seconds: float

    @property
    def rate(self) -> float:
        """Samples a second that were really worked on; 0 before the first."""
        return max(self.done - self.cached, 0) / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds left at this rate; None while it cannot be told."""
        return (self.total - self.done) / self.rate if self.rate else None


class Work:
    """Runs ``function(progress=…, cancelled=…)`` in a thread of its own.

    Parameters
    ----------
    on_progress, on_end
        Called from that thread with a :class:`Progress` until it ends or is cancelled, and at the end with
        ``(result, None)`` or ``(None, error)``.
    """

    def __init__(self, function: Callable[..., Any], on_progress: Callable[[Progress], None],
                 on_end: Callable[[Any, BaseException | None], None]) -> None:  # fmt: skip
        self._function, self._on_progress, self._on_end = function, on_progress, on_end
        self._stop, self._ended = threading.Event(), False
        self._started, self._told = time.monotonic(), 0.0
        self._thread = threading.Thread(target=self._run, name="scoring", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._started = time.monotonic()
        self._thread.start()

    def cancel(self) -> None:
        """Ask the work to stop after what it is at."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(timeout)

    @property
    def running(self) -> bool:
        """Whether the work goes on."""
        return self._thread.is_alive()

    def _run(self) -> None:
        result, failure = None, None
        try:
            result = self._function(progress=self._report, cancelled=self._stop.is_set)
        except Exception as error:  # noqa: BLE001 - handed to on_end, which shows or raises it
            _log.info("work ended early: %s", error, exc_info=True)
            failure = error
        self._ended = True
        self._on_end(result, failure)

    def _report(self, done: int, total: int, cached: int = 0) -> None:
        now = time.monotonic()
        # What the work made may go on reporting, for example an encoder that a picture uses later.
        if self._ended or self._stop.is_set() or (done < total and now - self._told < PACE):
            return
        self._told = now
        self._on_progress(Progress(done, total, cached, now - self._started))


class Newest:
    """The newest of several pieces of work: beginning one stops the one before, whose end is then told to nobody.

    Parameters
    ----------
    on_start
        Called before the thread begins, when no older work can report any more.
    on_progress, on_end
        As for :class:`Work`.
    """

    def __init__(self, on_start: Callable[[], None], on_progress: Callable[[Progress], None],
                 on_end: Callable[[Any, BaseException | None], None]) -> None:  # fmt: skip
        self._on_start, self._on_progress, self._on_end = on_start, on_progress, on_end
        self._work: Work | None = None

    def start(self, function: Callable[..., Any], patience: float = 0.0) -> None:
        """Begin ``function``; wait ``patience`` seconds for its end, then leave it to its thread."""
        self.cancel()
        work = Work(function, self._on_progress, lambda result, error: self._ended(work, result, error))
        self._work = work
        self._on_start()
        work.start()
        work.join(patience)

    def _ended(self, work: Work, result: Any, error: BaseException | None) -> None:
        if work is self._work:
            self._on_end(result, error)

    @property
    def running(self) -> bool:
        """Whether work goes on."""
        return self._work is not None and self._work.running

    def cancel(self) -> None:
        """Ask the work to stop after what it is at."""
        if self._work is not None:
            self._work.cancel()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end of the work, if there is any; interrupting the wait cancels the work too."""
        try:
            if self._work is not None:
                self._work.join(timeout)
        except KeyboardInterrupt:
            self.cancel()
            raise
