"""The local server: whom it answers, and what every answer forbids."""

import socket

import httpx2
import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import tomeval
from tomeval.web.server import LOCALHOST, POLICY, application, listen


def asked(host):
    async def hello(request):
        return PlainTextResponse("hello")

    app = application([Route("/", hello)])

    async def ask():
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return await client.get("/")

    import asyncio

    return asyncio.run(ask())


def test_only_this_machine_is_answered_and_every_answer_forbids():
    good, bad = asked("127.0.0.1:8000"), asked("evil.example")
    assert (good.status_code, good.text) == (200, "hello")
    assert bad.status_code == 400
    for answer in (good, bad):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_port_that_is_taken_is_one_error():
    with listen(LOCALHOST, 0) as first:
        taken = first.getsockname()[1]
        with pytest.raises(tomeval.TomevalError, match=f"--port {taken} of 127.0.0.1"):
            listen(LOCALHOST, taken)
    assert isinstance(first, socket.socket)
