"""The live page of a run folder: served to this machine while another process writes the run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tomeval import __version__
from tomeval.core.errors import TomevalError
from tomeval.report.blocks import asset
from tomeval.report.page import UNSEEN_SCRIPT
from tomeval.runs.database import NothingPlayed
from tomeval.runs.results import Run
from tomeval.web import view_parts
from tomeval.web.server import application
from tomeval.web.watched import Watched

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

_HERE = Path(__file__).parent

_REPORT = ("theme.js", "dom.js", "tables.js", "calling.js", "transcript.js", "browser.js")
_SCRIPTS = ("unseen.js", "theme.js", "dom.js", "live.js", *_REPORT[2:], "view.js")
"""In the order in which the page loads them; ``domain.js`` follows when there are episodes."""


def check(folder: Path) -> str:
    """Return a run's name, or that of its folder if nothing was played yet.

    Raises
    ------
    TomevalError
        There is no run folder, or it cannot be read.
    """
    if not folder.exists():
        raise TomevalError(f"{folder}: there is no such folder")
    try:
        with Run(folder) as run:
            return run.name
    except NothingPlayed:
        return folder.resolve().name


def view_app(folder: Path, name: str, token: str) -> Starlette:
    """Return the application that shows a run folder under ``/TOKEN/``; it answers GET only."""
    watched = Watched(folder, view_parts.parts(folder))

    def page(request: Request) -> Response:
        text = view_parts.templates().get_template("view.html.j2")
        parts = list(watched.versions())
        return _answer(
            text.render(name=name, version=__version__, scripts=_SCRIPTS, parts=parts), "text/html"
        )

    def state(request: Request) -> Response:
        """Say which version of each part there is; cheap, and empty if nothing changed."""
        said = {"parts": watched.versions(), "changed": watched.changed()}
        text = json.dumps(said | {"trouble": watched.trouble})
        etag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
        if request.headers.get("if-none-match") == etag:
            return _answer("", "application/json", 304, etag=etag)
        return _answer(text, "application/json", etag=etag)

    def part(request: Request) -> Response:
        wanted = request.path_params["name"]
        if wanted not in watched.versions():
            return _answer("there is no such part", "text/plain", 404)
        found = watched.part(wanted)
        text = json.dumps({"version": found.version, "text": found.text})
        return _answer(text, "application/json")

    def asset_of(request: Request) -> Response:
        wanted = request.path_params["name"]
        if wanted == "domain.js":
            return _read(watched, view_parts.script, "text/javascript")
        try:
            kind, text = _asset(wanted)
        except KeyError:
            return _answer("there is no such file", "text/plain", 404)
        return _answer(text, kind)

    def cell(request: Request) -> Response:
        return _read(watched, partial(view_parts.cell, request.path_params["cell"]))

    def episode(request: Request) -> Response:
        places = request.path_params
        return _read(watched, partial(view_parts.episode, places["cell"], places["episode"]))

    return application(
        [
            _get("/", page),
            _get("/state", state),
            _get("/parts/{name}", part),
            _get("/assets/{name}", asset_of),
            _get("/cells", lambda request: _read(watched, view_parts.cells)),
            _get("/cells/{cell:int}", cell),
            _get("/cells/{cell:int}/episodes/{episode:int}", episode),
        ],
        token=token,
    )


def _get(path: str, endpoint: Callable[[Request], Response]) -> Route:
    """Return a route that refuses every method but GET."""
    from starlette.routing import Route

    route = Route(path, endpoint)
    route.methods = {"GET"}
    return route


def _answer(text: str, kind: str, status: int = 200, etag: str = "") -> Response:
    from starlette.responses import Response

    return Response(text, status, {"etag": etag} if etag else None, kind)


def _read(watched: Watched, look: Callable[[Run], str], kind: str = "application/json") -> Response:
    """Answer with what `look` makes of the run, or say why there is nothing."""
    try:
        return _answer(watched.read(look), kind)
    except TomevalError as error:
        return _answer(str(error), "text/plain", 404)


def _asset(name: str) -> tuple[str, str]:
    """Return kind and text of a script or style sheet of the page.

    Raises
    ------
    KeyError
        The page has no such file.
    """
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    if name == "unseen.js":
        return kind, UNSEEN_SCRIPT
    if name in (*_REPORT, "report.css"):
        return kind, asset(name)
    if name in ("live.js", "view.js", "view.css"):
        return kind, (_HERE / "assets" / name).read_text(encoding="utf-8")
    raise KeyError(name)
