"""The live page of every kind of game: what is served, to whom, and what is said of a folder."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import arena_runs
import every_domain
import httpx2
import pytest
from hostile import NASTY, PLANTED, model_run
from support import scripts
from viewer_support import HANG, interrupt, viewing

import tomeval
from tomeval.extensions.live import viewing as live_viewing
from tomeval.extensions.live.viewing import check, view_app
from tomeval.report.blocks import unpack
from tomeval.report.episodes import Episodes
from tomeval.runs.folder import locked
from tomeval.runs.results import Run
from tomeval.web import server as web_server
from tomeval.web.server import POLICY

TOKEN = "t0ken"


def ask(folder, *addresses, host="127.0.0.1:1", method="GET", headers=None, token=f"/{TOKEN}"):
    """Return the answers of a page to some addresses, below its token."""
    app = view_app(folder, "a run", TOKEN)

    async def all_of_them():
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return [await client.request(method, token + a, headers=headers) for a in addresses]

    return asyncio.run(all_of_them())


def small(place) -> Path:
    """Play two short episodes into a folder of their own."""
    task = {"games": "RPS", "subjects": "random", "horizon": 3, "episodes": 2}
    tomeval.run(task, place / "run").close()
    return place / "run"


def had(address):
    """Return what a server that may be busy answers."""
    return httpx2.get(address, timeout=HANG)


def part(folder, name):
    return ask(folder, f"/parts/{name}")[0].json()["text"]


@pytest.fixture(scope="module", params=["matrix", "decrypto", "arena", "toy"])
def run(request, tmp_path_factory):
    """Return a small run of each kind of game."""
    folder = tmp_path_factory.mktemp(request.param) / "run"
    if request.param == "arena":
        with arena_runs.talking(folder, "hello"):
            pass
    else:
        experiment = every_domain.experiment(request.param, "scripted:good", episodes=2)
        with scripts(good=every_domain.good(request.param)):
            tomeval.run(experiment, folder).close()
    with Run(folder) as opened:
        yield opened


def test_every_part_of_every_kind_of_game_is_shown(run) -> None:
    progress = part(run.folder, "progress")
    [(complete,)] = run.store.query("SELECT COUNT(*) FROM episodes WHERE status = 'complete'")
    assert f"<b>{complete:,}</b> complete" in progress
    ended, whole = re.search(r"([\d,]+) of ([\d,]+) episodes have ended", progress).groups()
    [(all_ended,)] = run.store.query("SELECT COUNT(*) FROM episodes")
    assert (ended, whole) == (f"{all_ended:,}", f"{all_ended:,}")
    assert "The run is complete." in progress
    results = part(run.folder, "results")
    assert results.count("<tr>") >= len(run.cells)
    assert "image/svg+xml" in part(run.folder, "figures")
    assert 'id="episode-rows"' in part(run.folder, "episodes")


def test_cells_and_episodes_are_had_one_by_one(run) -> None:
    number = run.cells[-1].number
    cells, cell, script = ask(run.folder, "/cells", f"/cells/{number}", "/assets/transcript.js")
    assert [one["number"] for one in cells.json()] == [one.number for one in run.cells]
    found = cell.json()
    stored = run.store.query(
        "SELECT episode, status FROM episodes WHERE cell = ? ORDER BY episode", (number,)
    )
    assert list(zip(found["episode"], found["status"], strict=True)) == stored
    assert "const transcript = {" in script.text
    for one in run.cells:
        assert list(ask(run.folder, f"/cells/{one.number}")[0].json()["values"]) == [*run.headline]
    wanted = stored[-1][0]
    episode = ask(run.folder, f"/cells/{number}/episodes/{wanted}")[0].json()
    # As the file of a report has it, where all episodes of all cells are packed.
    blocks = {block.name: unpack(block) for block in Episodes(run).blocks()}
    entry = next(one for one in blocks["index"] if one["number"] == number)
    place = entry["episode"].index(wanted)
    packed = blocks[f"chunk-{entry['chunk'][place]}"][entry["place"][place]]
    assert {**episode, "calls": []} == {**packed, "calls": []}
    calls = list(run.store.calls(number, wanted))
    assert len(episode["calls"]) == len(calls)


def test_a_cell_without_a_measure_of_the_list_has_its_column(tmp_path) -> None:
    folder = model_run(tmp_path / "run", episodes=1)
    with Run(folder) as opened:
        empty = [c.number for c in opened.cells if not len(c.episodes)]
        wanted = list(opened.headline)
    assert empty, "every cell of one void episode has no value"
    for number in empty:
        found = ask(folder, f"/cells/{number}")[0].json()
        assert list(found["values"]) == wanted
        assert all(value is None for values in found["values"].values() for value in values)


def test_what_is_not_there_is_refused_in_a_sentence(run) -> None:
    answers = ask(
        run.folder, "/cells/999", "/cells/0/episodes/999", "/parts/x", "/assets/../run.sqlite",
        "/assets/x.js", "/run.sqlite",
    )  # fmt: skip
    assert [answer.status_code for answer in answers] == [404] * 6
    assert "has no cell 999" in answers[0].text
    assert "cell 0 has no finished episode 999" in answers[1].text


def test_other_hosts_and_other_methods_are_refused(run) -> None:
    pages = ("/", "/state", "/parts/progress", "/cells", "/assets/view.js")
    assert {a.status_code for a in ask(run.folder, *pages, host="evil.example")} == {400}
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"):
        assert {a.status_code for a in ask(run.folder, *pages, method=method)} == {405}, method
    for answer in ask(run.folder, *pages):
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"] == POLICY
        assert "unsafe" not in POLICY
        assert answer.headers["cache-control"] == "no-store"


def test_nobody_without_the_token_learns_anything(run) -> None:
    """Another user of the machine, who can connect to the port."""
    pages = ("/", "/state", "/parts/progress", "/cells", "/cells/0/episodes/0", "/assets/view.js")
    known = [answer.text for answer in ask(run.folder, *pages)]
    for token in ("", "/", f"/{TOKEN}x", f"/{TOKEN[:-1]}", f"/x/{TOKEN}", "/%00", "/\u2713"):
        for answer in ask(run.folder, *pages, token=token):
            assert answer.status_code == 403
            assert answer.text == "use the whole address that the command has printed"
            assert answer.text not in known
    (bare,) = ask(run.folder, "", token=f"/{TOKEN}")
    assert (bare.status_code, bare.headers["location"]) == (307, f"/{TOKEN}/")
    assert "set-cookie" not in bare.headers


def test_a_page_elsewhere_is_refused_even_with_the_token(run) -> None:
    own = {"origin": "http://127.0.0.1:1"}
    assert ask(run.folder, "/state", headers=own)[0].status_code == 200
    for origin in ("https://evil.example", "http://127.0.0.1:2", "http://127.0.0.1", "null", "[x"):
        assert ask(run.folder, "/state", headers={"origin": origin})[0].status_code == 403, origin


def test_the_page_has_no_script_and_no_style_of_its_own(run) -> None:
    page = ask(run.folder, "/")[0].text
    assert re.findall(r"<script[^>]*>([^<]+)</script>", page) == []
    assert "<style" not in page
    assert " style=" not in page
    assert not re.findall(r'(?:src|href)="/', page)
    for address in re.findall(r'(?:src|href)="(assets/[^"]*)"', page):
        assert ask(run.folder, f"/{address}")[0].status_code == 200, address


def test_a_change_of_the_folder_is_a_new_version_of_a_part(run) -> None:
    first = ask(run.folder, "/state")[0].json()
    assert ask(run.folder, "/state")[0].json() == first
    (run.folder / "sessions.json").touch()
    changed = ask(run.folder, "/state")[0].json()
    assert all(changed["parts"][name] != version for name, version in first["parts"].items())
    (run.folder / "live.json").touch()
    again = ask(run.folder, "/state")[0].json()["parts"]
    assert [name for name in again if again[name] != changed["parts"][name]] == ["progress"]


def test_what_the_process_that_plays_says_is_shown(tmp_path) -> None:
    folder = small(tmp_path)
    assert "left; episodes" not in part(folder, "progress")  # it is over
    state = json.loads((folder / "live.json").read_text())
    state |= {"over": "", "steps": 3, "left": 75.0, "note": ""}
    (folder / "live.json").write_text(json.dumps(state))
    assert "<li>50 %, 0:01:15 left; episodes: 2 complete" in part(folder, "progress")
    (folder / "live.json").write_text(json.dumps(state | {"experiment": "0"}))
    with pytest.raises(tomeval.TomevalError, match="is of another experiment"):
        check(folder)


def test_what_others_wrote_is_escaped(tmp_path) -> None:
    folder = model_run(tmp_path / "run")
    for name in ("progress", "results", "figures", "episodes"):
        text = part(folder, name)
        assert NASTY not in text
        assert PLANTED not in text
        assert "<script" not in text
    assert "&lt;b onclick=" in part(folder, "results")
    page = view_app(folder, check(folder), TOKEN)
    assert check(folder) == f"a run of {NASTY}"

    async def front():
        transport = httpx2.ASGITransport(app=page)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.get(f"/{TOKEN}/")).text

    assert NASTY not in asyncio.run(front())


def test_a_folder_that_is_just_being_made_is_waited_for(tmp_path) -> None:
    folder = tmp_path / "soon"
    with pytest.raises(tomeval.TomevalError, match="soon: there is no such folder"):
        check(folder)
    folder.mkdir()
    with pytest.raises(tomeval.TomevalError, match="not a run folder"):
        check(folder)
    (folder / "run.lock").touch()
    assert check(folder) == "soon"
    assert "Nothing was played yet." in part(folder, "progress")
    assert [part(folder, name) for name in ("results", "figures", "episodes")] == ["", "", ""]
    (folder / "run.sqlite").touch()  # the store at its very first moment
    assert "Nothing was played yet." in part(folder, "progress")


def test_who_writes_is_told_and_who_has_gone(tmp_path) -> None:
    import platform

    small(tmp_path)
    holder = tmp_path / "run" / "run.pid"
    with locked(tmp_path / "run"):
        assert f"Being written by process {os.getpid()} on" in part(tmp_path / "run", "progress")
    holder.write_text(f"process {2**22 + 1} on {platform.node()}", encoding="utf-8")
    assert "is gone" in part(tmp_path / "run", "progress")
    holder.write_text("<b>process</b> 1 on elsewhere", encoding="utf-8")
    assert "&lt;b&gt;process&lt;/b&gt; 1 on elsewhere" in part(tmp_path / "run", "progress")


@pytest.mark.skipif(os.name != "posix", reason="a script for a browser")
def test_what_a_browser_is_started_with_does_not_tell_the_token(tmp_path, monkeypatch) -> None:
    """Everybody on a machine can read the arguments of all processes."""
    small(tmp_path)
    script, started = tmp_path / "browser", tmp_path / "started"
    script.write_text(f'#!/bin/sh\necho "$@" > {started}.part\nmv {started}.part {started}\n')
    script.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{script} %s")
    with viewing(tmp_path / "run", "--browser") as (address, server):
        while not started.exists():
            assert server.poll() is None
            time.sleep(0.02)
        (given,) = started.read_text().split()
        file = Path(urlsplit(given).path)
        assert given.startswith("file:///")
        assert address in file.read_text()
        assert file.parent.stat().st_mode & 0o077 == 0
        assert had(f"{address}state").status_code == 200  # from here on Ctrl-C is the server's
        assert interrupt(server)[0] == 0
    assert not file.exists()
    assert address.rsplit("/", 2)[1] not in given


def test_a_browser_shows_something_before_the_run_is_read(tmp_path, monkeypatch) -> None:
    shown, before = [], set(threading.enumerate())

    def read(*given):
        for thread in set(threading.enumerate()) - before:
            thread.join(HANG)  # it opens the browser, if it was started

    monkeypatch.setattr(live_viewing, "check", lambda folder: folder.name)
    monkeypatch.setattr(live_viewing, "view_app", read)
    monkeypatch.setattr(web_server, "serve", lambda app, listening: None)
    opened = lambda page: shown.append(Path(urlsplit(page).path).read_text(encoding="utf-8"))  # noqa: E731
    monkeypatch.setattr("webbrowser.open", opened)
    (tmp_path / "a <run>").mkdir()
    live_viewing.view(tmp_path / "a <run>", 0, True)
    assert "<title>a &lt;run&gt;: tomeval, live</title>" in shown[0]
    assert "reading …" in shown[0]


def test_every_link_of_the_page_leads_to_a_part_that_says_that_it_is_read(tmp_path) -> None:
    tomeval.run({"games": "RPS", "subjects": "random", "horizon": 2, "episodes": 1}, tmp_path / "r")
    page = ask(tmp_path / "r", "/")[0].text
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert {"part-progress", "part-results", "part-figures", "part-episodes"} == links
    for link in links:
        assert re.search(rf'<div id="{link}" class="part">.*reading …', page)


def test_the_command_ends_quietly_by_ctrl_c(tmp_path) -> None:
    small(tmp_path)
    with viewing(tmp_path / "run") as (address, server):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", address)
        assert had(f"{address}state").json()["trouble"] == ""
        assert had(f"{address[:-45]}/state").status_code == 403
        code, errors = interrupt(server)
    assert code == 0
    assert errors.splitlines() == ["Ctrl-C ends the page; the run goes on without it."]
