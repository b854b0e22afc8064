"""A server on this machine that remembers what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

Reply = tuple[int, dict[str, str], str]


class Asked(NamedTuple):
    """One request: method, path as it was written, headers, body."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


class Server:
    """A context manager; `respond` says what is replied to a request, or None to hang up.

    It also takes the requests that clients send to a proxy.
    """

    def respond(self, asked: Asked) -> Reply | None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size).decode("utf-8", "replace")
                asked = Asked(self.command, self.path, dict(self.headers), body)
                if (reply := outer.respond(asked)) is None:
                    return
                status, headers, text = reply
                data = text.encode("utf-8", "surrogatepass")
                with contextlib.suppress(ConnectionError):  # the client gave up, as tests want
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(data)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(data)

            do_GET = do_POST = do_CONNECT = do_PUT = _serve

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = False  # joined on close, so that no socket is left open
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class Listener(Server):
    """A server that replies what `answer` returns; `asked` keeps all requests."""

    def __init__(self, answer: Callable[[Asked], Reply]) -> None:
        self.asked: list[Asked] = []
        self.answer = answer

    def respond(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        return self.answer(asked)


def chat(text: str, **more: Any) -> Reply:
    """Return a reply of the chat API."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
    data = {"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage, **more}
    return 200, {"Content-Type": "application/json"}, json.dumps(data)
