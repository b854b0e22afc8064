"""A model server that misbehaves as it is told to, and otherwise plays a voice.

Replies depend on the request alone, so a run that gets through has the rows of an undisturbed one.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from voice_server import VoiceServer, asked_for

Fault = Callable[["Handler", dict[str, Any]], None]
"""What is done to one request in place of the reply, which it is given."""

SOMETIMES = 3
"""One request in so many is faulty, the first time that it is sent."""


class FaultServer:
    """One server; a context manager.

    Attributes
    ----------
    fault : Fault or None
    always_after : int or None
        Every request is faulty once so many have been answered; None: the first try of some.
    answered : Counter of bytes
        How often each request was answered as it should be.
    first_fault : threading.Event
        Set once a fault was met.
    used, largest : int
        Tokens of the requests that were answered; the most that one could have used.
    """

    def __init__(self) -> None:
        self._voice, self._lock = VoiceServer("terse"), threading.Lock()
        self._door = threading.RLock()
        self._http: _Server | None = None
        self._port = 0
        self.connections: set[socket.socket] = set()
        self.behave()

    def behave(self, fault: Fault | None = None, always_after: int | None = None) -> None:
        """Begin anew, with or without a fault."""
        self.fault, self.always_after = fault, always_after
        self.answered: Counter[bytes] = Counter()
        self.seen: Counter[bytes] = Counter()
        self.first_fault, self.over = threading.Event(), threading.Event()
        self.used = self.largest = 0

    def __enter__(self) -> FaultServer:
        self.open()
        self.root = f"http://127.0.0.1:{self._port}"
        self.model = f"openai:voice@{self.root}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.shut()

    def open(self) -> None:
        """Listen, always at the same port, if nobody does."""
        with self._door:
            if self._http is None:
                handler = type("Bound", (Handler,), {"server_of": self})
                self._http = _Server(("127.0.0.1", self._port), handler)
                self._port = self._http.server_address[1]
                self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
                self._thread.start()

    def shut(self) -> None:
        """End as a process does: nobody listens, and every connection is closed."""
        with self._door:
            if self._http is None:
                return
            self._http.shutdown()
            self._thread.join()
            self._http.server_close()
            self._http = None
            for connection in [*self.connections]:
                with suppress(OSError):  # closed already
                    connection.shutdown(socket.SHUT_RDWR)

    def fault_for(self, key: bytes) -> Fault | None:
        """Return what is to be done to a request, if anything; counts it."""
        with self._lock:
            self.seen[key] += 1
            first, done = self.seen[key] == 1, self.answered.total()
        if self.fault is None:
            return None
        chosen = first and zlib.crc32(key) % SOMETIMES == 0
        if chosen if self.always_after is None else done >= self.always_after:
            self.first_fault.set()
            return self.fault
        return None

    def reply(self, key: bytes, body: dict[str, Any]) -> dict[str, Any]:
        """Return the right reply."""
        answer = self.peek(body)
        with self._lock:
            self.answered[key] += 1
            self.used += sum(answer["usage"].values())
            read = sum(len(message["content"].encode()) for message in body["messages"])
            self.largest = max(self.largest, math.ceil(read / 3) + body["max_tokens"])
        return answer

    def peek(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the reply that a faulty one is made of: what it says hangs on all of the body."""
        answer = self._voice.chat(body)
        prompt = body["messages"][-1]["content"]
        asked = asked_for(prompt)
        if asked.options and not body.get("logprobs"):
            label = asked.options[zlib.crc32(f"{prompt}{body['seed']}".encode()) % 2]
            answer["choices"][0]["message"]["content"] = f"{asked.line} {label}"
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # some hang on purpose
    request_queue_size = 1024

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that give up are what is tested."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server_of: FaultServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        """Note the connection."""
        super().setup()
        self.server_of.connections.add(self.connection)

    def finish(self) -> None:
        """Forget the connection."""
        self.server_of.connections.discard(self.connection)
        super().finish()

    def do_GET(self) -> None:
        """List the model."""
        server = self.server_of
        if server.fault is not None and server.always_after == 0:
            server.first_fault.set()
            server.fault(self, {"data": [{"id": "voice"}]})
        elif self.path == "/v1/models":
            self.send(200, {"data": [{"id": "voice"}]})
        else:
            self.send(404, {"error": {"message": f"no route {self.path}"}})

    def do_POST(self) -> None:
        """Answer, or do what the fault says."""
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/chat/completions":
            self.send(404, {"error": {"message": f"no route {self.path}"}})
            return
        body = json.loads(raw)
        fault = self.server_of.fault_for(raw)
        if fault is None:
            reply = self.server_of.reply(raw, body)
            try:
                self.send(200, reply)
            except OSError:  # shut meanwhile
                self.server_of.answered[raw] -= 1
                raise
        else:
            fault(self, self.server_of.peek(body))

    def send(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        """Send a reply in JSON, or bytes as they are."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        told = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        self.send_response(status)
        for name, value in (told | dict(headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def reset(self) -> None:
        """Close the connection as a crash does."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def wait(self, seconds: float) -> bool:
        """Wait; return whether the server still runs."""
        return not self.server_of.over.wait(seconds)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
