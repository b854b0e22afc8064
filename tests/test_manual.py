"""The manual: it builds strictly as a site, its commands can be typed, its code is what ships."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from support import ROOT

import tomeval
from tomeval.cli.app import app
from tomeval.cli.starting import kinds, write_example


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


PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> str:
    """Return all that ``tomeval init`` writes under default names, as one text."""
    into = tmp_path_factory.mktemp("init")
    paths = [path for kind in kinds() for path in write_example(kind, "", "matrix", into)]
    paths += write_example("game", "my_contest", "arena", into)
    return "\n".join(Path(path).read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0][:40])
def test_code_on_the_page_is_that_of_the_examples(written, block) -> None:
    assert block in written


def test_every_kind_has_its_place_on_the_page() -> None:
    for kind in kinds():
        assert re.search(rf"tomeval init [^|]*`?{kind}", PAGE), kind
    decorators = {name for name in tomeval.__all__ if name.startswith("register_")}
    assert len(decorators) == 4
    assert [name for name in decorators if name not in PAGE] == []


USAGE = typer.BadParameter.__base__  # typer does not give it a name
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(text: str) -> list[list[str]]:
    """Return the words of every command of tomeval in blocks of shell, without what follows it."""
    lines = "\n".join(re.findall(r"^```(?:sh|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    split = [shlex.split(line, comments=True) for line in lines.replace("\\\n", " ").splitlines()]
    ends = ("|", ">", ">>", "&", "2>")
    shown = [words for words in split if words[:1] == ["tomeval"] and "--plugin" not in words]
    return [words[1 : next((i for i, w in enumerate(words) if w in ends), None)] for words in shown]


def fault(words: list[str]) -> str:
    """Return what the command line says against a command, without running it; else nothing."""
    command, context = typer.main.get_command(app), None
    try:
        while True:
            context = command.make_context(command.name, list(words), parent=context)
            words = [*context._protected_args, *context.args]
            if not words or not hasattr(context.command, "resolve_command"):
                return ""
            _, command, words = context.command.resolve_command(context, words)
    except USAGE as error:
        return error.message


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_the_manual_can_be_typed(page) -> None:
    shown = commands(page.read_text(encoding="utf-8"))
    assert {" ".join(words): fault(words) for words in shown if fault(words)} == {}
