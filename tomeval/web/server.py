"""A local server: whom it answers, what every answer forbids, and where it listens."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

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
    routes: Sequence[BaseRoute],
    hosts: Sequence[str] = (),
    policy: str = POLICY,
    token: str = "",
) -> Starlette:
    """Return an application that answers this machine and `hosts` only.

    Requests for any other host name are refused (a page elsewhere could otherwise reach the server
    under a name of its own), and so are those that a page elsewhere sends. Nothing is cached, and
    every answer carries `policy`. With a `token`, all addresses begin with it, as ``/TOKEN/``, and
    others learn nothing: who may use the machine may connect to any of its ports. Pages then name
    each other by relative addresses; a cookie would go to every port of the machine.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    known = [LOCALHOST, "localhost", *hosts]
    app = Starlette(
        routes=list(routes),
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=known, www_redirect=False),
            Middleware(_Door, hosts=hosts, token=token),
        ],
    )
    app.add_middleware(_Headers, policy=policy)
    return app


class _Door:
    """Refuses what a page elsewhere sends, and what does not begin with the token."""

    def __init__(self, app: Callable[..., object], hosts: Sequence[str], token: str) -> None:
        self._app, self._token = app, token
        self._names = set(hosts) - {LOCALHOST, "localhost"}  # of these the port has to be ours

    async def __call__(self, scope: dict[str, object], receive: object, send: object) -> None:
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse, RedirectResponse

        if scope["type"] == "http":
            headers, path = Headers(scope=scope), str(scope["path"])
            if not self._own(headers.get("origin"), headers.get("host", "")):
                answer = PlainTextResponse("a page elsewhere may send nothing here", 403)
                return await answer(scope, receive, send)  # type: ignore[arg-type]
            if self._token:
                given, slash, rest = path.removeprefix("/").partition("/")
                if not hmac.compare_digest(given.encode(), self._token.encode()):
                    said = "use the whole address that the command has printed"
                    return await PlainTextResponse(said, 403)(scope, receive, send)  # type: ignore[arg-type]
                if not slash:
                    return await RedirectResponse(f"/{self._token}/")(scope, receive, send)  # type: ignore[arg-type]
                scope = {**scope, "path": f"/{rest}", "raw_path": None}
        await self._app(scope, receive, send)  # type: ignore[misc]

    def _own(self, origin: str | None, host: str) -> bool:
        """Tell whether a request that names the page it comes from comes from one of ours."""
        if origin is None:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.netloc.lower() == host.lower() or parts.hostname in self._names


class _Headers:
    """Adds the headers that forbid to every answer."""

    def __init__(self, app: Callable[..., object], policy: str) -> None:
        self._app = app
        self._headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"same-origin"),  # with none, forms would be sent by "null"
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
