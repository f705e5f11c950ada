"""A coroutine in a thread and loop of its own, read as a plain iterator.

So a judge works in a script, in a notebook and inside a running loop alike, and nothing patches anybody's loop.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any, TypeVar

Item = TypeVar("Item")
Put = Callable[[Any], None]

_END = object()


def iterate(work: Callable[[Put], Coroutine[Any, Any, None]]) -> Iterator[Any]:
    """Yield what ``work(put)`` puts, as it comes; raise what it raises after everything that it had put.

    When the iterator is closed early the coroutine is cancelled and its thread joined.
    """
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()
    worker = _Worker(work, results)
    worker.start()
    try:
        while (item := results.get()) is not _END:
            yield item
    finally:
        worker.stop()
    if worker.error is not None:
        raise worker.error


class _Worker:
    """The thread; ``error`` is what the coroutine raised."""

    def __init__(self, work: Callable[[Put], Coroutine[Any, Any, None]], results: queue.SimpleQueue[Any]) -> None:
        self.error: BaseException | None = None
        self._work = work
        self._results = results
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="workbench-worker", daemon=True)

    def start(self) -> None:
        """Begin, and wait until the coroutine can be cancelled."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Cancel the coroutine if it still runs, and wait for its thread."""
        loop, task = self._loop, self._task
        if loop is not None and task is not None and self._thread.is_alive():
            with suppress(RuntimeError):  # the loop may close between the check and the call
                loop.call_soon_threadsafe(task.cancel)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except asyncio.CancelledError:
            self.error = None
        except Exception as error:  # noqa: BLE001 - handed to the thread that reads, which raises it
            self.error = error
        finally:
            self._ready.set()
            self._results.put(_END)

    async def _main(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._ready.set()
        await self._work(self._results.put)
