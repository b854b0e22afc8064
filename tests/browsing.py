"""What tests in a real browser share: a page in which nothing may go wrong unseen."""

from __future__ import annotations


def watched(context, allowed: str, problems: list[str]):
    """Return a new page; what it logs, raises, asks or fetches from elsewhere goes to `problems`.

    `allowed` is how the addresses of all requests must begin.
    """
    page = context.new_page()
    page.on("console", lambda m: problems.append(f"console: {m.type} {m.text}"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
    page.on(
        "request",
        lambda r: r.url.startswith(allowed) or problems.append(f"request: {r.url[:200]}"),
    )
    return page
