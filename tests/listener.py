"""A server on this machine that remembers what it was asked, for tests of secrets."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Reply = tuple[int, dict[str, str], str]


class Asked(NamedTuple):
    """One request: method, path as it was written, headers, body."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


class Listener:
    """A context manager; `answer` says what is replied to a request, and `asked` keeps them all.

    It also takes the requests that clients send to a proxy.
    """

    def __init__(self, answer: Callable[[Asked], Reply]) -> None:
        self.asked: list[Asked] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size).decode("utf-8", "replace")
                asked = Asked(self.command, self.path, dict(self.headers), body)
                outer.asked.append(asked)
                status, headers, text = answer(asked)
                data = text.encode("utf-8", "surrogatepass")
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_CONNECT = do_PUT = _serve

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Listener:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


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
