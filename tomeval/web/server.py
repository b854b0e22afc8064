"""A local server: which hosts it answers, what every answer forbids, and where it listens."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tomeval.core.errors import TomevalError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.routing import BaseRoute

LOCALHOST = "127.0.0.1"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content security policy of pages whose scripts and styles are files of their own."""


def application(
    routes: Sequence[BaseRoute], hosts: Sequence[str] = (), policy: str = POLICY
) -> Starlette:
    """Return an application that answers this machine and `hosts` only.

    Requests for any other host name are refused (a page elsewhere could otherwise reach the server
    under a name of its own), nothing is cached, and every answer carries `policy`.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    known = [LOCALHOST, "localhost", *hosts]
    app = Starlette(
        routes=list(routes),
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=known, www_redirect=False)],
    )
    app.add_middleware(_Headers, policy=policy)
    return app


class _Headers:
    """Adds the headers that forbid to every answer."""

    def __init__(self, app: Callable[..., object], policy: str) -> None:
        self._app = app
        self._headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, scope: dict[str, object], receive: object, send: object) -> None:
        async def sending(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))  # type: ignore[call-overload]
                taken = {name.lower() for name, _ in given}
                message["headers"] = given + [h for h in self._headers if h[0] not in taken]
            await send(message)  # type: ignore[operator]

        await self._app(scope, receive, sending)  # type: ignore[misc]


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any that is free.

    Raises
    ------
    TomevalError
        The address cannot be used, such as a port that is taken.
    """
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        raise TomevalError(f"--port {port} of {host} cannot be used: {error}") from None
    return listening


def serve(app: Starlette, listening: socket.socket) -> None:
    """Answer requests on a socket until interrupted."""
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
    uvicorn.Server(config).run(sockets=[listening])
