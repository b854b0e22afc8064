"""The manual as a site: it builds strictly, loads nothing from elsewhere, and can be searched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

import tomeval

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Build the site; with ``--strict`` a wrong link or a page that the menu lacks is an error."""
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    pytest.importorskip("material", reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_of_the_manual_is_there(site):
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in manual()]
    assert pages
    for page in (*pages, "index.html", "contributing.html", "notebooks/first_contact.html"):
        assert (site / page).is_file(), page
    assert "measures how well a player" in (site / "index.html").read_text(encoding="utf-8")


def manual() -> list[Path]:
    return list((ROOT / "docs").rglob("*.md"))


def test_every_public_name_is_in_the_reference(site):
    text = (site / "api.html").read_text(encoding="utf-8")
    for name in set(tomeval.__all__) - {"__version__"}:
        assert f'id="tomeval.{name}"' in text, name
    assert 'id="tomeval.Run.steps"' in text


def test_pages_load_nothing_from_elsewhere(site):
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        loads = re.findall(
            r'<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="(https?:[^"]*)"', text
        )
        assert not loads, path


def test_links_lead_to_files_of_the_site(site):
    for path in site.rglob("*.html"):
        if path.name == "404.html":  # is shown for any address, so its links begin at the root
            continue
        for link in re.findall(r'(?:src|href)="([^"#?]*)[^"]*"', path.read_text(encoding="utf-8")):
            if link and ":" not in link:
                assert (path.parent / link).exists(), (path, link)


def test_links_of_the_repository_lead_to_its_files():
    """The same pages are read where the site is not: in a clone."""
    fence = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
    for path in (*manual(), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))):
        text = fence.sub("", path.read_text(encoding="utf-8"))
        for link in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
            if ":" not in link:
                assert (path.parent / link).exists(), (path, link)


@pytest.mark.slow
def test_search_works_from_a_file_without_a_network(site):
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not Path(CHROMIUM).is_file():
        pytest.skip("needs Chromium: set CHROMIUM")
    asked: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM)
        page = browser.new_context(offline=True).new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.keyboard.press("s")
        page.locator("input.md-search__input:focus").wait_for()
        page.keyboard.type("misprediction", delay=10)
        found = page.locator(".md-search-result__list a")
        found.first.wait_for()
        links = [link.get_attribute("href") or "" for link in found.all()]
        browser.close()
    assert any("measures.html" in link for link in links)
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
