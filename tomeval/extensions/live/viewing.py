"""The command that shows a run in a browser while it is played, and the application behind it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tomeval.cli.options import RunFolder
from tomeval.core.printing import show, tell

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from tomeval.runs.results import Run

_ASSETS = Path(__file__).parent / "assets"
_OWN = ("live.js", "view.js", "view.css")
_LISTS = ("tables.js", "calling.js", "transcript.js", "browser.js")
_REPORT = ("theme.js", "dom.js", *_LISTS)
_SCRIPTS = ("unseen.js", "theme.js", "dom.js", "live.js", *_LISTS, "view.js")
"""In the order in which the page loads them."""


def view(
    folder: RunFolder,
    port: Annotated[
        int, typer.Option("--port", help="Port on this machine. Default: any that is free.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Show a run in a browser while it is played: progress, table, figures, episodes.

    The page is served to this machine only, to who has the address that is printed, and the run
    folder is only read. Ctrl-C ends it.
    """
    import threading
    import webbrowser

    from tomeval.web.server import LOCALHOST, listen, serve

    name = check(folder)
    token = secrets.token_urlsafe(32)
    with listen(LOCALHOST, port) as listening:
        address = f"http://{LOCALHOST}:{listening.getsockname()[1]}/{token}/"
        with _leading_to(address, folder.name) as page, suppress(KeyboardInterrupt):  # how it ends
            show(address)
            tell("Ctrl-C ends the page; the run goes on without it.")
            if browser:  # which shows that page until the run is read, and this one answers
                threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
            serve(view_app(folder, name, token), listening)


@contextmanager
def _leading_to(address: str, name: str) -> Iterator[str]:
    """Yield the address of a file that only this user can read and that leads to an address.

    What a browser is started with, everybody on the machine can read.
    """
    import tempfile
    from html import escape

    with tempfile.TemporaryDirectory(prefix="tomeval-") as folder:  # for this user alone
        path = Path(folder, "view.html")
        path.write_text(
            f'<!doctype html><meta charset="utf-8"><title>{escape(name)}: tomeval, live</title>'
            f'<meta http-equiv="refresh" content="0; url={address}">'
            f'<h1>{escape(name)}</h1><p>reading … <a href="{address}">the page</a></p>',
            encoding="utf-8",
            errors="replace",
        )
        yield path.as_uri()


def check(folder: Path) -> str:
    """Return a run's name, or that of its folder if nothing was played yet.

    Raises
    ------
    TomevalError
        There is no run folder, it cannot be read, or it holds files of two experiments.
    """
    from tomeval.extensions.live.changes import experiment_of
    from tomeval.runs.live import read_live
    from tomeval.runs.results import Run

    experiment = experiment_of(folder)
    read_live(folder, experiment)
    if not experiment:
        return folder.resolve().name
    with Run(folder) as run:
        return run.name


def view_app(folder: Path, name: str, token: str) -> Starlette:
    """Return the application that shows a run folder under ``/TOKEN/``; it answers GET only."""
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route

    from tomeval import __version__
    from tomeval.core.errors import TomevalError
    from tomeval.extensions.live import parts
    from tomeval.extensions.live.changes import Changes
    from tomeval.runs.results import Run
    from tomeval.web.server import application

    changes = Changes(folder, parts.parts(folder))

    def page(request: Request) -> Response:
        told = {"name": name, "version": __version__, "scripts": _SCRIPTS, "parts": changes.parts}
        return Response(parts.render("view.html.j2", **told), media_type="text/html")

    def state(request: Request) -> Response:
        return JSONResponse({"parts": changes.versions(), "trouble": changes.trouble})

    def part(request: Request) -> Response:
        if (wanted := request.path_params["name"]) not in changes.parts:
            return PlainTextResponse("there is no such part", 404)
        made = changes.part(wanted)
        return JSONResponse({"version": made.version, "text": made.text})

    def asset(request: Request) -> Response:
        wanted = request.path_params["name"]
        if (text := _asset(wanted)) is None:
            return PlainTextResponse("there is no such file", 404)
        kind = "text/css" if wanted.endswith(".css") else "text/javascript"
        return Response(text, media_type=kind)

    def read(look: Callable[[Run], str]) -> Response:
        """Answer with what `look` makes of the run, or say why there is nothing."""
        try:
            with Run(folder) as run:
                return Response(look(run), media_type="application/json")
        except TomevalError as error:
            return PlainTextResponse(str(error), 404)

    addresses: dict[str, Callable[[Request], Response]] = {
        "/": page,
        "/state": state,
        "/parts/{name}": part,
        "/assets/{name}": asset,
        "/cells": lambda request: read(parts.cells),
        "/cells/{cell:int}": lambda request: read(partial(parts.cell, **request.path_params)),
        "/cells/{cell:int}/episodes/{episode:int}": lambda request: read(
            partial(parts.episode, **request.path_params)
        ),
    }
    routes = [Route(path, answer) for path, answer in addresses.items()]
    for route in routes:
        route.methods = {"GET"}
    return application(routes, token=token)


def _asset(name: str) -> str | None:
    """Return a script or style sheet of the page; None: it has no such file."""
    from tomeval.report.blocks import asset
    from tomeval.report.page import UNSEEN_SCRIPT

    if name == "unseen.js":
        return UNSEEN_SCRIPT
    if name in (*_REPORT, "report.css"):
        return asset(name)
    return (_ASSETS / name).read_text(encoding="utf-8") if name in _OWN else None
