"""Start a server that is not ours, for the tests that measure against one."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running(
    command: list[str], environment: Mapping[str, str], log_path: Path, seconds: float
) -> Iterator[str]:
    """Run a command that takes ``--host`` and ``--port``; yield the base URL once it answers."""
    port = free_port()
    place = ["--host", "127.0.0.1", "--port", str(port)]
    with log_path.open("w") as log:
        process = subprocess.Popen([*command, *place], stdout=log, stderr=log, env=environment)
        try:
            limit = time.monotonic() + seconds
            while not _answers(f"http://127.0.0.1:{port}/health"):
                if process.poll() is not None or time.monotonic() > limit:
                    pytest.fail(f"the server did not start:\n{log_path.read_text()[-3000:]}")
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(60)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
