"""The report of a kind of game that it knows nothing about: lines of text, and what follows."""

from __future__ import annotations

import base64
import json
import math
import re

import pytest
from hostile import NASTY, PLANTED
from support import ROOT, scripts
from toy_domain import TOY

from tomeval.plots import plot_run
from tomeval.report import ReportOptions, facts, write_report
from tomeval.report.blocks import packed_calls, unpack
from tomeval.report.episodes import Episodes
from tomeval.report.notices import invalid_rows, notices
from tomeval.report.table import main_table
from tomeval.runs.capabilities import Facts
from tomeval.runs.experiment import load_experiment, make_experiment
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment


def guesses(request):
    """Guess 2 most often, else say something that is no number."""
    return "2" if request.seed % 4 else PLANTED


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    data = {"domain": "toy", "name": NASTY, "guessers": ["one", "next", "llm"], "size": [3, 5]}
    folder = tmp_path_factory.mktemp("toy") / "run"
    with scripts(rule=guesses):
        run_experiment(make_experiment(data | {"model": "scripted:rule", "episodes": 6}), folder)
    with Run(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def blocks(run):
    return {block.name: unpack(block) for block in Episodes(run).blocks()}


def test_every_line_of_every_episode_is_in_the_page(run, blocks) -> None:
    seen = 0
    for cell, entry in zip(run.cells, blocks["index"], strict=True):
        for place, episode in enumerate(entry["episode"]):
            shown = blocks[f"chunk-{entry['chunk'][place]}"][entry["place"][place]]
            by_step = [(0, text) for text in shown["head"]]
            by_step += [(int(n), text) for n, texts in shown["steps"].items() for text in texts]
            by_step += [(-1, text) for text in shown["tail"]]
            assert by_step == [line[:2] for line in TOY.show.lines(run, cell, episode)]
            seen += len(by_step)
    assert seen > 36 * 5


def test_the_list_has_the_headline_values_and_the_domain_s_column(run, blocks) -> None:
    starts = dict(run.store.query("SELECT cell || ' ' || episode, start FROM episodes"))
    voided = 0
    for cell, entry in zip(run.cells, blocks["index"], strict=True):
        assert entry["task"] == f"size {cell.columns['size']}"
        assert list(entry["values"]) == list(TOY.show.headline)
        for name, values in entry["values"].items():
            complete = [value for value in values if value is not None]
            assert complete == pytest.approx(cell.metrics()[name].tolist(), rel=1e-5)
        for episode, drawn in zip(entry["episode"], entry["drawn"], strict=True):
            assert drawn == str(starts[f"{cell.number} {episode}"])
        for status, invalid in zip(entry["status"], entry["invalid"], strict=True):
            assert invalid == (status == "void")
            voided += invalid
    assert voided > 0


def test_prompts_of_several_seats_are_kept_apart() -> None:
    """Each seat's prompts are told by their difference from its own last one."""

    def call(seat: str, same: int, rest: str):
        return 1, seat, "x", {"purpose": "guess", "prompt_same": same, "prompt_rest": rest}

    rows = [call("a", 0, "one two"), call("b", 0, "three"), call("a", 4, "six"), call("b", 2, "is")]
    told, last = [], {}
    for packed in packed_calls(rows, 7, seats=True):
        last[packed["p"]] = last.get(packed["p"], "")[: packed["m"]] + packed["r"]
        told.append((packed["p"], last[packed["p"]]))
    assert told == [
        ("a: guess", "one two"),
        ("b: guess", "three"),
        ("a: guess", "one six"),
        ("b: guess", "this"),
    ]


def test_the_page_escapes_what_was_written_and_names_what_was_run(run, tmp_path) -> None:
    options = ReportOptions(figures=False)
    text = write_report(run, tmp_path / "r.html", options).read_text(encoding="utf-8")
    assert NASTY not in text
    assert PLANTED not in text
    assert "tomeval report: guess a hidden number" in text
    for measure in TOY.measures.values():
        assert f"<dd>{measure.meaning}</dd>" in text
    assert dict(facts.settings(run))["guesser"] == "one; next; llm"
    assert [what for _, what in facts.sizes(run, 36, 140)][:3] == ["players", "tasks", "cells"]


def test_facts_and_notes_of_a_domain_are_shown(run, tmp_path, monkeypatch) -> None:
    rows = [{"who": "<i>hider</i>", "how": "in order"}]
    monkeypatch.setattr(TOY.show, "facts", lambda run: [Facts("Rules", [("Seats", rows)])])
    monkeypatch.setattr(TOY.show, "notes", lambda run: ["The hider is no player."])
    options = ReportOptions(figures=False)
    text = write_report(run, tmp_path / "r.html", options).read_text(encoding="utf-8")
    assert "<h3>Rules</h3>" in text
    assert "&lt;i&gt;hider&lt;/i&gt;" in text
    assert "The hider is no player." in text


def test_void_episodes_and_invalid_answers_are_named(run) -> None:
    [void] = run.store.query("SELECT COUNT(*) FROM episodes WHERE status = 'void'")
    texts = [notice.text for notice in notices(run, Episodes(run), "normal")]
    assert any(f"{void[0]} episodes of 36 are void" in text for text in texts)
    assert any("revision of a model was not recorded: scripted:rule" in text for text in texts)
    rows = invalid_rows(run)
    assert {row["player"] for row in rows} == {"llm"}
    assert {row["task"] for row in rows} == {"size 3", "size 5"}


def test_a_measure_without_any_value_has_no_column(run) -> None:
    rows = [row | {"hit_percent": math.nan} for row in run.rows()]
    keys = [column.key for column in main_table(rows, run.measures).columns]
    assert "loss_per_step" in keys
    assert "hit_percent" not in keys
    none = [row | {"loss_per_step": math.nan} for row in rows]
    keys = [column.key for column in main_table(none, run.measures).columns]
    assert {"loss_per_step", "hit_percent"} <= set(keys)


def test_calls_come_whole(run, blocks) -> None:
    checked = 0
    for number, entry in enumerate(blocks["index"]):
        for place, episode in enumerate(entry["episode"]):
            shown = blocks[f"chunk-{entry['chunk'][place]}"][entry["place"][place]]
            stored = run.store.query(
                "SELECT unpacked(record) FROM calls WHERE cell = ? AND episode = ? ORDER BY call",
                (number, episode),
            )
            replies = [json.loads(record)["reply"]["text"] for (record,) in stored]
            assert [call["t"] for call in shown.get("calls", [])] == replies
            checked += len(replies)
    assert checked > 12


def test_a_page_of_decrypto_has_boards_and_figures(tmp_path) -> None:
    quickstart = ROOT / "experiments/decrypto_quickstart.toml"
    run_experiment(load_experiment(quickstart, ["episodes=2"]), tmp_path / "run")
    with Run(tmp_path / "run") as run:
        text = write_report(run, tmp_path / "r.html", ReportOptions(all_figures=True)).read_text(
            encoding="utf-8"
        )
        [index] = [unpack(b) for b in Episodes(run).blocks() if b.name == "index"]
        [chunk] = [unpack(b) for b in Episodes(run).blocks() if b.name == "chunk-0"]
        outcomes = [row[0] for row in run.store.query("SELECT outcome FROM episodes")]
    assert [drawn for cell in index for drawn in cell["drawn"]] == outcomes
    for episode in chunk:
        assert all("hints" in texts[0] for texts in episode["steps"].values())
        assert any(line.startswith("  turn  hints") for line in episode["tail"])
    assert text.count("<figure") > 3
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', text)
    assert len(pictures) == text.count("<figure")
    drawn = [base64.b64decode(data).decode() for data in pictures]
    assert not any("<image" in one for one in drawn)


def test_a_figure_of_the_page_has_its_title_once(tmp_path) -> None:
    """It is the heading above it, and in a file of its own the picture's."""
    data = {"games": ["RPS", "IPD"], "subjects": ["rmax", "random"], "episodes": 6, "horizon": 4}
    run_experiment(make_experiment(data), tmp_path / "run")
    with Run(tmp_path / "run") as run:
        page = write_report(run, tmp_path / "r.html").read_text(encoding="utf-8")
        files = plot_run(run, tmp_path / "plots", formats=["svg"])
    heads = re.findall(r'<figure id="figure-\d+">\s*<h3>(.*?)</h3>', page)
    drawn = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    alone = [path.read_text(encoding="utf-8") for path in files if path.suffix == ".svg"]
    assert len(heads) == len(drawn) == len(alone) > 2
    for head, shown, own in zip(heads, drawn, alone, strict=True):
        # Matplotlib leaves the text of its shapes in comments; titles end in the horizon.
        assert head.endswith("T = 4")
        assert re.search("<!-- .*T = 4 -->", own)
        assert "T = 4 -->" not in base64.b64decode(shown).decode()
