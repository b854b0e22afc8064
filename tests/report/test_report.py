"""What the report holds: numbers, games, notices, comparisons, figures; and that it is safe."""

from __future__ import annotations

import html
import json
import math
import re
from collections import defaultdict
from html.parser import HTMLParser

import numpy as np
import pytest
from asking import query
from hostile import NASTY, PLANTED, model_run

import tomeval
from tomeval.comparing.comparison import compare
from tomeval.core.errors import TomevalError
from tomeval.core.text import visible
from tomeval.report.comparisons import compared
from tomeval.report.facts import headline
from tomeval.report.page import write_report
from tomeval.report.transcripts import MOST, games, transcript_lines
from tomeval.runs.results import Run


def written(run, place, figures=False):
    return write_report(run, place / "r.html", figures=figures).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return model_run(tmp_path_factory.mktemp("hostile") / "run")


@pytest.fixture(scope="module")
def run(folder):
    with Run(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    return written(run, tmp_path_factory.mktemp("page"), figures=True)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two games of different range, RPS with 2 and IPD with 10; one player is in RPS alone."""
    simulated = [
        {"kind": "simulated", "name": name, "p": p, "q": 1.0}
        for name, p in (("sharp", 1.0), ("blunt", 0.4))
    ]
    grid = {"partners": "single_action", "horizon": 10, "episodes": 8}
    grid |= {"games": ["RPS", "IPD"], "subjects": [*simulated, "random"]}
    with tomeval.run(grid, tmp_path_factory.mktemp("two") / "run") as opened:
        yield opened.part([c for c in opened.cells if c.name[:11] != "random, IPD"])


class Elements(HTMLParser):
    """Collects every element with its attributes, and the content of some."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = defaultdict(list)
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._open = tag if tag in ("script", "style", "pre") else ""
        if self._open:
            self.raw[tag].append("")

    def handle_data(self, data):
        if self._open:
            self.raw[self._open][-1] += data

    def handle_endtag(self, tag):
        self._open = ""


# --- safe -----------------------------------------------------------------------------------------


def test_the_policy_comes_first_and_allows_no_script(page) -> None:
    [policy] = [
        attributes["content"]
        for tag, attributes in Elements(page).found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; style-src ")
    assert "script" not in policy
    assert page.index("Content-Security-Policy") < page.index("<style")


def test_the_page_refers_to_itself_only_and_has_no_inline_handlers_or_styles(page) -> None:
    parsed = Elements(page)
    ids = [attributes["id"] for _, attributes in parsed.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in parsed.found:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form"), tag
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in ("style", "srcset", "action", "xlink:href"), (tag, name)
            if name == "src":
                assert tag == "img"
                assert value.startswith("data:image/svg+xml;base64,")
            if name == "href":
                assert value[0] == "#"
                assert value[1:] in ids


def test_what_people_and_models_wrote_is_escaped(page) -> None:
    assert NASTY not in page
    assert "<i>PD</i>" not in page
    assert "window.planted = 5</script>" not in page
    assert "&lt;b onclick=" in page
    assert PLANTED not in page
    assert html.escape(visible(PLANTED))[:12] in page


def test_the_same_run_gives_the_same_file(run, tmp_path) -> None:
    first = write_report(run, tmp_path / "a.html", figures=False).read_bytes()
    with Run(run.folder) as again:
        assert write_report(again, tmp_path / "b.html", figures=False).read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


# --- games ----------------------------------------------------------------------------------------


def test_the_games_are_those_that_say_most(run) -> None:
    """Worked out from the store: first, worst reward, longest lenient reply."""
    regret = run.measures["delta_functional_per_step"]
    shown = games(run, [regret])
    assert len(shown) <= MOST
    whys = {game.command: game.why for game in shown}
    for cell in run.cells:
        first = f"tomeval transcript run --cell {cell.number} --episode 0"
        assert "the first" in whys[first]
        lost = cell.metrics()[regret.name]
        worst = cell.episodes[np.argmax(lost)]
        command = f"tomeval transcript run --cell {cell.number} --episode {worst}"
        if len(lost) > 1:
            assert f"the worst {regret.heading} here: {max(lost):.3f}" in whys[command]
    lengths = defaultdict(dict)
    for cell, episode, text in query(run, "SELECT cell, episode, record FROM calls"):
        record = json.loads(text)
        if record.get("lenient"):
            size = len(record["reply"]["text"])
            lengths[cell][episode] = max(size, lengths[cell].get(episode, 0))
    said = [why for why in whys.values() if "lenient" in why]
    assert len(said) == min(5, len(lengths))


def test_a_game_is_its_transcript_letter_for_letter(run, page) -> None:
    shown = Elements(page).raw["pre"]
    listed = games(run, [run.measures[name] for name in run.headline])
    assert len(shown) == len(listed) > 10
    for text, game in zip(shown, listed, strict=True):
        cell, episode = map(int, re.findall(r" (\d+)", game.command))
        lines = "\n".join(transcript_lines(run, cell, episode)).strip("\n")
        assert text == visible(lines)
    assert sum(visible(PLANTED)[:20] in text for text in shown) > 2


# --- numbers --------------------------------------------------------------------------------------


def test_the_table_has_the_numbers_of_the_run(run, page) -> None:
    table = page.split("<caption><span>every measure")[1].partition("</table>")[0]
    named = re.findall(r'<th scope="col"[^>]*>([^<]*)<', table)
    body = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in table.split("<tr>")[2:]]
    rows = run.rows()
    assert len(body) == len(rows)
    assert named[0] == "subject"
    assert "game" not in named  # all cells share it
    for row, cells in zip(rows, body, strict=True):
        shown = cells[named.index("ToM %")]
        digits = len(re.match(r"[\d.]+|–", shown)[0].partition(".")[2])
        value, half = row["tom_percent"], row["tom_percent_ci95"]
        told = "–" if math.isnan(value) else f"{value:.{digits}f}"
        assert shown.startswith(told)
        assert (" " in shown) == (not math.isnan(half))


def test_the_first_sentences_count_by_hand(two, tmp_path) -> None:
    first, *answers = headline(two)
    assert first == "3 players in 2 tasks; 40 complete episodes, 0 void, 0 failed."
    assert [line.split(":")[0] for line in answers] == ["sharp", "blunt", "random"]
    with Run(two.folder, ["game=RPS", "subject!=random"]) as part:
        text = written(part, tmp_path)
    assert "2 players in 1 task; 16 complete episodes" in text
    assert "IPD" not in text


# --- notices --------------------------------------------------------------------------------------


def test_a_run_without_a_complete_episode_has_a_page(tmp_path) -> None:
    folder = model_run(
        tmp_path / "run",
        script=lambda request: "never readable",
        subjects=[{"strategy": "QA", "max_attempts": 1}],
    )
    with Run(folder) as opened:
        text = written(opened, tmp_path, figures=True)
        assert headline(opened)[0].endswith("0 complete episodes, 8 void, 0 failed.")
    assert "No comparison" in text


# --- comparisons ----------------------------------------------------------------------------------


def test_the_comparison_is_that_of_the_command(two) -> None:
    metrics = ["delta_functional_per_step", "tom_percent"]
    shown = compared(two, None, metrics)
    found = compare(two, metrics=metrics)
    rows = [dict(zip(shown.table.heads, row, strict=True)) for row in shown.table.body]
    assert [row["scope"] == "all tasks" for row in rows] == [True, True, False, False, False]
    for row in rows:
        for measure in found.measures:
            at = found.scopes.index(row["scope"])
            one = found.at(row[found.by], measure.name, at)
            value, _, mark = row[measure.heading].partition(" ±")
            assert float(value) == pytest.approx(one["difference"], abs=0.51)
            assert mark.endswith("*") == (one["verdict"] in ("higher", "lower"))
    effects = [
        max(abs(found.at(row[found.by], m)["effect_size"]) for m in metrics) for row in rows[:2]
    ]
    assert effects == sorted(effects, reverse=True)
    assert any(note.startswith("untested") and "random in IPD" in note for note in shown.notes)
    assert any("payoff ranges differ" in note for note in shown.notes)
    assert "Holm's correction" in shown.caption
    assert "No comparison" in compared(two.part(two.cells[:1]), None, metrics).reason
    with pytest.raises(TomevalError, match="no player has a model"):
        compared(two, "model", metrics)


def test_parts_of_strategies_have_effects_of_their_own(tmp_path) -> None:
    subjects = [{"strategy": ["QA", "S2A + QA", "CoT", "S2A + CoT"]}]
    with Run(model_run(tmp_path / "run", subjects=subjects, on_invalid="random")) as run:
        table = compared(run, "strategy", run.scores).table
        found = compare(run, "context", metrics=run.scores).at("s2a", "plays_percent")
    rows = [dict(zip(table.heads, row, strict=True)) for row in table.body]
    alone = {row["scope"]: row for row in rows if "alone" in row["scope"]}
    assert {scope: row["strategy"] for scope, row in alone.items()} == {
        "context alone": "S2A - full",
        "answer alone": "CoT - QA",
    }
    told = float(alone["context alone"]["plays"].partition(" ±")[0])
    assert told == pytest.approx(found["difference"], abs=0.51)
