"""Start a server that is not ours, for the tests that measure against one."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running(
    command: list[str],
    environment: Mapping[str, str],
    log_path: Path,
    seconds: float,
    healthy: str = "/health",
) -> Iterator[str]:
    """Run a command that takes ``--host`` and ``--port``; yield the base URL once it answers.

    `healthy` is the path that it answers then.
    """
    port = free_port()
    place = ["--host", "127.0.0.1", "--port", str(port)]
    with log_path.open("w") as log:
        process = subprocess.Popen([*command, *place], stdout=log, stderr=log, env=environment)
        try:
            limit = time.monotonic() + seconds
            while not _answers(f"http://127.0.0.1:{port}{healthy}"):
                if process.poll() is not None or time.monotonic() > limit:
                    pytest.fail(f"the server did not start:\n{log_path.read_text()[-3000:]}")
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(60)


class Between:
    """A proxy before a server, which counts what is answered; a context manager.

    `answered` counts requests by body. With `stop_at`, `on_stop` is called in place of passing on
    the request of a game that comes after so many others.
    """

    def __init__(self, url: str) -> None:
        self.answered: Counter[bytes] = Counter()
        self.stop_at: int | None = None
        self.on_stop: Callable[[], None] = lambda: None
        self._parts, self._lock = urlsplit(url), threading.Lock()

    def __enter__(self) -> Between:
        handler = type("Handler", (_Passing,), {"between": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def games(self) -> Counter[bytes]:
        """Return the questions of games that ran the model; others only count tokens."""
        return Counter({body: n for body, n in self.answered.items() if _of_game(body)})

    def stops(self, body: bytes) -> bool:
        with self._lock:
            due = self.stop_at is not None and self.games().total() >= self.stop_at
            if due and _of_game(body):
                self.stop_at = None
                self.on_stop()
                return True
        return False

    def ask(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        connection = HTTPConnection(self._parts.netloc, timeout=300)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()


def _of_game(body: bytes) -> bool:
    return b"game" in body and b"max_tokens" in body


class _Passing(BaseHTTPRequestHandler):
    between: Between
    protocol_version = "HTTP/1.0"  # a connection per request: none is left open

    def do_GET(self) -> None:
        self._send(*self.between.ask("GET", self.path, None))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.between.stops(body):
            return
        status, data = self.between.ask("POST", self.path, body)
        self.between.answered[body] += status == 200
        self._send(status, data)

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
