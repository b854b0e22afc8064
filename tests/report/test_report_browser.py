"""The report in a real browser: clicks, keys, what is shown, what must not happen."""

from __future__ import annotations

import pytest
from hostile import model_run
from support import ROOT

from tomeval.report import write_report
from tomeval.runs.results import Run

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CONTRAST = (ROOT / "tests" / "contrast.js").read_text(encoding="utf-8")
OPEN = "document.querySelectorAll('details').forEach(d => { d.open = true; })"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return (run, address) of the run whose every text is hostile."""
    place = tmp_path_factory.mktemp("hostile")
    folder = model_run(place / "run")
    with Run(folder) as run:
        yield run, write_report(run, place / "report.html").as_uri()


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


@pytest.fixture
def opened(chromium, hostile):
    """Return a function that opens the page; at the end nothing may have gone wrong in any."""
    contexts, problems = [], []

    def open_page(**options):
        context = chromium.new_context(**{"viewport": {"width": 1300, "height": 900}} | options)
        contexts.append(context)
        page = watched(context, "file:", problems)
        page.goto(hostile[1])
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            if "planted" in (page.evaluate("Object.keys(window).join()") or ""):
                problems.append("a planted script ran")
        context.close()
    assert problems == []


def test_everything_can_be_opened_and_no_planted_script_runs(opened) -> None:
    page = opened()
    page.evaluate(OPEN)
    assert page.evaluate("window.planted") is None
    foreign = "main img:not([src^='data:image/svg']), main b[onclick], main i"
    assert page.query_selector(foreign) is None


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_everything_can_be_read(opened, scheme, width) -> None:
    """Against its ground, in both schemes; a small screen needs no scrolling sideways."""
    page = opened(color_scheme=scheme, viewport={"width": width, "height": 700})
    page.evaluate(OPEN)
    result = page.evaluate(CONTRAST)
    assert result["poor"] == []
    assert result["checked"] > 300
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    grounds = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == grounds[scheme]
