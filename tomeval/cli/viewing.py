"""The command that shows a run in a browser while it is played."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated

import typer

from tomeval.cli.options import RunFolder
from tomeval.core.printing import show, tell


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
    from tomeval.web.view import check, view_app

    token = secrets.token_urlsafe(32)
    app = view_app(folder, check(folder), token)
    with listen(LOCALHOST, port) as listening:
        address = f"http://{LOCALHOST}:{listening.getsockname()[1]}/{token}/"
        with _leading_to(address) as page, suppress(KeyboardInterrupt):  # how it ends
            show(address)
            tell("Ctrl-C ends the page; the run goes on without it.")
            if browser:
                threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
            serve(app, listening)


@contextmanager
def _leading_to(address: str) -> Iterator[str]:
    """Yield the address of a file that only this user can read and that leads to an address.

    What a browser is started with, everybody on the machine can read.
    """
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="tomeval-") as folder:  # for this user alone
        path = Path(folder, "view.html")
        path.write_text(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">'
            f'<a href="{address}">the page</a>'
        )
        yield path.as_uri()
