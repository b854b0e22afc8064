"""The manual as a site: it builds strictly, loads nothing from elsewhere, and can be searched."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

import tomeval


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
    assert "Does a player use what it knows?" in (site / "index.html").read_text(encoding="utf-8")


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


def test_questions_lead_to_sections(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    sections = {entry["location"] for entry in index["docs"]}
    page = (site / "how_do_i.html").read_text(encoding="utf-8")
    links = re.findall(r'<li><a href="([^"]+)">[^<]*\?</a>', page)
    assert len(links) > 20
    assert [link for link in links if link not in sections] == []


def test_llms_txt_has_a_line_for_every_page(site):
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert re.match(r"# tomeval\n\n> \S.*\n", text)
    links = re.findall(r"^- \[[^]]+\]\(([^)]+)\): \S.*$", text, re.MULTILINE)
    assert sorted(links) == sorted(path.relative_to(ROOT / "docs").as_posix() for path in manual())
    assert [link for link in links if not (site / link).is_file()] == []
