"""How many requests run at once: as many as the endpoint bears, and no more a minute than was allowed.

Additive increase, multiplicative decrease (as TCP does, Chiu & Jain 1989): each success widens the limit a little, a
429, a time-out or a sudden slowness halves or trims it. ``Retry-After`` holds back every new request until then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

#: Seconds for which one decrease stands before another may follow: one burst of 429s is one event.
SETTLE_SECONDS = 1.0
#: A reply slower than this many times the usual, and than this many seconds, narrows the limit.
SLOW_FACTOR, SLOW_SECONDS = 3.0, 2.0
#: Seconds' worth of a per-minute allowance that may be spent at once.
BURST_SECONDS = 10.0
#: The client's own bound on ``Retry-After``; longer ones are not waited for here either.
LONGEST_PAUSE = 120.0


class Allowance:
    """A token bucket: ``per_minute`` units, refilled evenly, None for no bound."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = None if per_minute is None else per_minute / 60
        self._capacity = 0.0 if self._rate is None else max(self._rate * BURST_SECONDS, 1.0)
        self._level = self._capacity
        self._clock = clock
        self._at = clock()

    def wait(self, amount: float) -> float:
        """Seconds until ``amount`` may be taken; more than the capacity may be once the bucket is full."""
        if self._rate is None:
            return 0.0
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (min(amount, self._capacity) - self._level) / self._rate)

    def take(self, amount: float) -> None:
        """Take ``amount``; the level may become negative."""
        if self._rate is not None:
            self._level -= amount


class Pace:
    """Slots for requests. Used inside one event loop.

    Parameters
    ----------
    workers
        Most requests at once, ≥ 1.
    requests_per_minute, tokens_per_minute
        Allowances of the endpoint; None for no bound.
    """

    def __init__(
        self,
        workers: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.workers = max(1, workers)
        self.limit = float(self.workers)
        self.in_flight = 0
        self._clock = clock
        self._requests = Allowance(requests_per_minute, clock)
        self._tokens = Allowance(tokens_per_minute, clock)
        self._paused_until = 0.0
        self._settled_at = 0.0
        self._usual: float | None = None
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self, tokens: float = 0.0) -> AsyncIterator[None]:
        """Wait for a slot, hold it during the block."""
        await self._enter(tokens)
        try:
            yield
        finally:
            async with self._changed:
                self.in_flight -= 1
                self._changed.notify_all()

    async def _enter(self, tokens: float) -> None:
        async with self._changed:
            while self.in_flight >= int(self.limit) or (delay := self._delay(tokens)) > 0:
                full = self.in_flight >= int(self.limit)
                await self._sleep(None if full else delay)
            self.in_flight += 1
            self._requests.take(1)
            self._tokens.take(tokens)

    async def _sleep(self, delay: float | None) -> None:
        """Until something changed or ``delay`` seconds have passed."""
        try:
            async with asyncio.timeout(delay):
                await self._changed.wait()
        except TimeoutError:
            return

    def _delay(self, tokens: float) -> float:
        pause = self._paused_until - self._clock()
        return max(pause, self._requests.wait(1), self._tokens.wait(tokens))

    def succeeded(self, seconds: float) -> None:
        """A reply came after ``seconds``."""
        usual = seconds if self._usual is None else self._usual
        self._usual = 0.9 * usual + 0.1 * seconds
        if seconds > SLOW_SECONDS and seconds > SLOW_FACTOR * usual:
            self._decrease(0.8)
        else:
            self.limit = min(float(self.workers), self.limit + 1 / max(self.limit, 1.0))

    def pushed_back(self, retry_after: float | None = None) -> None:
        """The endpoint answered 429 or 503; ``retry_after`` in seconds when it said so."""
        self._decrease(0.5)
        if retry_after is not None and 0 < retry_after <= LONGEST_PAUSE:
            self._paused_until = max(self._paused_until, self._clock() + retry_after)

    def timed_out(self) -> None:
        """No reply came in time."""
        self._decrease(0.5)

    def _decrease(self, factor: float) -> None:
        now = self._clock()
        if now - self._settled_at >= SETTLE_SECONDS:
            self._settled_at = now
            self.limit = max(1.0, self.limit * factor)
