"""Bringing alerts to somebody: a callback or a webhook, in a thread of its own that never harms the service.

Nothing here waits for a receiver in the thread that serves requests and nothing raises into it. An address may hold a
secret in its path, query or user part, so messages name only its host.
"""

from __future__ import annotations

import json
import logging
import math
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from workbench.data.redact import Secret
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.diagnosis.alerts import Alert

_log = logging.getLogger(__name__)

#: Alerts that wait for a slow receiver; more are dropped and counted.
WAITING = 100


class Webhook:
    """POST each alert as JSON to an ``http`` or ``https`` address; redirects are not followed.

    Parameters
    ----------
    url
        Where to. It is not shown again, only its host is.
    timeout
        Seconds for one try.
    headers
        Additional headers, e.g. an ``Authorization``; they are not shown either.
    tries
        How often one alert is tried, from 1 on.

    Raises
    ------
    InputError
        For another scheme, an address without a host, or a time-out that is not positive.
    """

    def __init__(
        self, url: str, *, timeout: float = 5.0, headers: Mapping[str, str] | None = None, tries: int = 2
    ) -> None:
        self.place = _place(url)
        if not 0 < timeout < math.inf:
            raise InputError(f"webhook: timeout {timeout!r} is not a positive number of seconds")
        if tries < 1:
            raise InputError(f"webhook: tries {tries!r} is not a whole number from 1 on")
        self._url = Secret(url)
        self._headers = {name: Secret(value) for name, value in (headers or {}).items()}
        self._timeout, self._tries = timeout, tries
        self._opener = _opener()

    def __repr__(self) -> str:
        return f"Webhook({self.place!r})"

    def __call__(self, alert: Alert) -> None:
        """Send one alert; an ``OSError`` names the host and what went wrong, never the address."""
        body = json.dumps(alert.to_dict(), ensure_ascii=False).encode("utf-8")
        problem = ""
        for _ in range(self._tries):
            try:
                self._post(body)
            except urllib.error.HTTPError as error:
                problem = f"answered HTTP {error.code}"
                error.close()
                if error.code < 500 and error.code != 429:
                    break
            except (OSError, ValueError) as error:
                # The error's own text may hold the address: only its kind is told.
                reason = getattr(error, "reason", error)
                problem = f"{type(reason if isinstance(reason, Exception) else error).__name__}"
            else:
                return
        raise OSError(f"webhook at {self.place}: {problem}")

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json"} | {name: secret.value for name, secret in self._headers.items()}
        request = urllib.request.Request(self._url.value, data=body, headers=headers, method="POST")
        with self._opener.open(request, timeout=self._timeout) as reply:
            reply.read(1)


def _place(url: str) -> str:
    """Scheme and host, checked."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except (ValueError, AttributeError):
        raise InputError("webhook: the address cannot be read; give one like https://host/path") from None
    if parts.scheme not in ("http", "https") or not host or not url.isprintable() or " " in url:
        raise InputError("webhook: only http:// and https:// addresses with a host are allowed")
    if parts.username is not None or parts.password is not None:
        raise InputError("webhook: user and password in the address are not sent; use headers={'Authorization': …}")
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")


def _opener() -> urllib.request.OpenerDirector:
    """Only http and https, through the proxies of the environment, and no redirects."""
    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler,
                    urllib.request.HTTPDefaultErrorHandler, urllib.request.HTTPErrorProcessor):  # fmt: skip
        opener.add_handler(handler())
    return opener


class Dispatcher:
    """Calls receivers one after the other in a daemon thread; a full queue drops and counts.

    Attributes
    ----------
    sent, failed, dropped
        Deliveries that went well, that raised (logged without the address), that found the queue full.
    """

    def __init__(self, *receivers: Callable[[Alert], Any]) -> None:
        self.sent = self.failed = self.dropped = 0
        self._receivers = receivers
        self._queue: queue.Queue[Alert | None] = queue.Queue(WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, alert: Alert) -> None:
        """Hand over one alert; returns at once and never raises."""
        if not self._receivers:
            return
        try:
            self._queue.put_nowait(alert)
            self._start()
        except (queue.Full, RuntimeError) as error:
            self.dropped += 1
            _log.warning("an alert was not handed over (%s)", type(error).__name__)

    def close(self, timeout: float = 5.0) -> bool:
        """Wait at most ``timeout`` seconds for what is queued; whether all of it went out."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is None:
            return True
        try:
            self._queue.put(None, timeout=timeout)
        except queue.Full:
            return False
        thread.join(timeout)
        return not thread.is_alive()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while (alert := self._queue.get()) is not None:
            for receiver in self._receivers:
                self._deliver(receiver, alert)

    def _deliver(self, receiver: Callable[[Alert], Any], alert: Alert) -> None:
        try:
            receiver(alert)
        except Exception as error:  # noqa: BLE001
            # Whatever a receiver does, the next alert and the service go on.
            self.failed += 1
            known = isinstance(receiver, Webhook)
            _log.warning("an alert could not be delivered: %s", error if known else type(error).__name__)
        else:
            self.sent += 1
