"""A scripted model behind a real HTTP server, and a judge that asks it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.evidence.llm.scripted import KEY, Model
from workbench.evidence.cache import Cache
from workbench.evidence.llm import LLMJudge


@pytest.fixture(scope="session")
def running_server() -> Iterator[HTTPServer]:
    with HTTPServer(host="127.0.0.1", port=0, threaded=True) as running:
        yield running


@pytest.fixture
def server(running_server: HTTPServer) -> HTTPServer:
    running_server.clear()
    return running_server


@pytest.fixture
def model(server: HTTPServer) -> Model:
    scripted = Model()
    server.expect_request("/v1/chat/completions", method="POST").respond_with_handler(scripted)
    return scripted


@pytest.fixture
def make_judge(server: HTTPServer, model: Model, tmp_path: Any) -> Callable[..., LLMJudge]:
    """``make_judge(**options)``: a judge at the server with a fast, private cache."""

    def make(**options: Any) -> LLMJudge:
        options.setdefault("cache", Cache(tmp_path / "cache"))
        options.setdefault("timeout", 5)
        options.setdefault("retries", 2)
        return LLMJudge("scripted", base_url=server.url_for("/v1"), api_key=KEY, **options)

    return make


@pytest.fixture
def closing_server() -> Iterator[str]:
    """The URL of a server that resets every connection after reading the request."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve() -> None:
        listener.settimeout(0.1)
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            connection.recv(65536)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    stop.set()
    thread.join()
    listener.close()
