"""The command that shows a run in a browser while it is played."""

from __future__ import annotations

from contextlib import suppress
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

    The page is served to this machine only, and the run folder is only read. Ctrl-C ends it.
    """
    import threading
    import webbrowser

    from tomeval.web.server import LOCALHOST, listen, serve
    from tomeval.web.view import check, view_app

    app = view_app(folder, check(folder))
    with listen(LOCALHOST, port) as listening:
        address = f"http://{LOCALHOST}:{listening.getsockname()[1]}/"
        show(address)
        tell("Ctrl-C ends the page; the run goes on without it.")
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        with suppress(KeyboardInterrupt):  # how it ends
            serve(app, listening)
