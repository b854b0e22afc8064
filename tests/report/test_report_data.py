"""What the report holds: blocks, episodes, table, notices, words, drawings, policy."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hostile import NASTY, PLANTED, model_run
from hypothesis import given
from hypothesis import strategies as st

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.report import ReportOptions, write_report
from tomeval.report.blocks import asset, pack, packed_calls, shortened, unpack
from tomeval.report.compared import compared_by, summary
from tomeval.report.episodes import Episodes
from tomeval.report.notices import invalid_rows, notices
from tomeval.report.table import main_table
from tomeval.runs import tallies
from tomeval.runs.checksums import signed
from tomeval.runs.results import Run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return model_run(tmp_path_factory.mktemp("hostile") / "run")


@pytest.fixture
def run(folder):
    with Run(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(folder, tmp_path_factory):
    with Run(folder) as opened:
        path = write_report(opened, tmp_path_factory.mktemp("page") / "report.html")
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a run of tabular subjects with a stochastic partner."""
    experiment = {
        "games": ["RPS", "IPD"],
        "partners": ["single_action", "noisy_tit_for_tat"],
        "subjects": ["random", "rmax", {"kind": "simulated", "name": "s", "p": 0.9, "q": 0.5}],
        "horizon": 12,
        "episodes": 5,
    }
    with tomeval.run(experiment, tmp_path_factory.mktemp("small") / "run") as opened:
        yield opened


MADE = r"cell=\d+$|episode-title$"  # what the script knows or makes


class Elements(HTMLParser):
    """Collects every element with its attributes, and the content of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[tuple[dict[str, str | None], str]]] = defaultdict(list)
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._open = tag if tag in ("script", "style") else ""
        if self._open:
            self.raw[tag].append((dict(attrs), ""))

    def handle_data(self, data):
        if self._open:
            attributes, text = self.raw[self._open][-1]
            self.raw[self._open][-1] = (attributes, text + data)

    def handle_endtag(self, tag):
        self._open = ""


# --- blocks ---------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_a_block_keeps_its_data_and_cannot_end_its_element(data) -> None:
    block = pack("any", data)
    assert unpack(block) == data
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", block.text)


def test_a_block_refuses_what_json_cannot_hold() -> None:
    with pytest.raises(TomevalError, match="block any"):
        pack("any", [math.nan])


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_shortened_numbers_are_near(value) -> None:
    short = shortened(value)
    if not math.isfinite(value):
        assert short is None
    else:
        assert short == pytest.approx(value, rel=1e-5)


# --- episodes -------------------------------------------------------------------------------------


def unpacked(run, **options):
    """Return the index, and per (cell, place) the packed episode."""
    blocks = {block.name: unpack(block) for block in Episodes(run, **options).blocks()}
    index = blocks["index"]
    episodes = {
        (number, place): blocks[f"chunk-{cell['chunk'][place]}"][cell["place"][place]]
        for number, cell in enumerate(index)
        for place in range(len(cell["episode"]))
    }
    return index, episodes


def test_summaries_are_the_metrics_and_void_episodes_have_none(run) -> None:
    index, _ = unpacked(run)
    statuses = set()
    for cell, entry in zip(run.cells, index, strict=True):
        metrics = cell.metrics()
        for name, values in entry["values"].items():
            complete = [v for v, s in zip(values, entry["status"], strict=True) if s == "complete"]
            assert np.allclose(complete, metrics[name], rtol=1e-5)
        for status, value in zip(entry["status"], entry["values"]["tom_percent"], strict=True):
            statuses.add(status)
            assert (value is None) == (status != "complete")
    assert statuses == {"complete", "void"}


def test_prompts_and_replies_come_back_whole(run) -> None:
    index, episodes = unpacked(run)
    stored = defaultdict(list)
    for cell, episode, record in run.store.query(
        "SELECT cell, episode, unpacked(record) FROM calls ORDER BY cell, episode, call"
    ):
        stored[cell, episode].append(json.loads(record))
    checked = planted = 0
    for (cell, place), episode in episodes.items():
        records = stored[cell, index[cell]["episode"][place]]
        shown, kept = {}, {}
        assert len(episode.get("calls", [])) == len(records)
        for call, record in zip(episode.get("calls", []), records, strict=True):
            purpose = record["purpose"]
            before = shown.get(purpose, "")
            shown[purpose] = before[: record["prompt_same"]] + record["prompt_rest"]
            kept[purpose] = kept.get(purpose, "")[: call["m"]] + call["r"]
            assert kept[purpose] == shown[purpose]
            if "reply" in record:
                assert call["t"] == record["reply"]["text"]
                assert call.get("g") == record["reply"]["reasoning"]
                planted += PLANTED in call["t"]
            checked += 1
    assert checked > 100
    assert planted > 10


def test_an_episode_whose_first_prompt_is_not_whole_is_damage() -> None:
    record = {"purpose": "act", "prompt_same": 3, "prompt_rest": "x"}
    with pytest.raises(TomevalError, match="not whole"):
        packed_calls([(1, "subject", "act", record)], 0)


def test_a_label_that_cannot_be_said_is_null() -> None:
    scores = {"logprobs": [0.0, -math.inf], "mass": 1.0, "method": "m"}
    record = {"purpose": "act", "labels": ["a", "b"], "scores": scores}
    [call] = packed_calls([(1, "subject", "act", record)], 0)
    assert call["q"] == [0, None]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_transcripts_can_be_limited_and_the_page_says_so(run, count) -> None:
    found = Episodes(run, count)
    _, episodes = unpacked(run, transcripts=count)
    with_calls = [key for key, episode in episodes.items() if "calls" in episode]
    assert len(with_calls) == found.included == 6 * count
    assert all(place < count for _, place in with_calls)
    texts = [notice.text for notice in notices(run, found, "normal")]
    assert any(f"Prompts and replies of {6 * count} of 24 episodes" in text for text in texts)


def test_without_a_limit_the_cells_share_the_calls(run, monkeypatch) -> None:
    monkeypatch.setattr("tomeval.report.episodes.CALLS_BY_DEFAULT", 6 * 40)
    found = Episodes(run)
    assert 6 <= found.included < found.with_calls == 24


# --- the page -------------------------------------------------------------------------------------


def test_the_policy_allows_this_script_and_style_only(page) -> None:
    parsed = Elements(page)
    [policy] = [
        attributes["content"]
        for tag, attributes in parsed.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["base-uri"] == directives["form-action"] == "'none'"
    assert "unsafe" not in policy
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        [text] = [text for attributes, text in parsed.raw[tag] if "type" not in attributes]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert directives[name] == f"'sha256-{digest}'"
    # The policy holds for what follows it only.
    assert page.index("Content-Security-Policy") < page.index("<style")


def test_the_page_refers_to_itself_only_and_has_no_inline_handlers_or_styles(page) -> None:
    parsed = Elements(page)
    ids = [attributes["id"] for _, attributes in parsed.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in parsed.found:
        assert tag not in ("link", "iframe", "object", "embed", "base", "audio", "video")
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in ("style", "srcset", "action", "xlink:href"), (tag, name)
            if name == "src":
                assert tag == "img"
                assert value.startswith("data:image/svg+xml;base64,")
            if name == "href":
                assert value.startswith("#"), value
            if name in ("href", "aria-labelledby", "aria-describedby", "aria-controls"):
                for part in value.removeprefix("#").split():
                    assert part in ids or re.match(MADE, part), (tag, name, part)


def test_what_people_and_models_wrote_is_escaped(page) -> None:
    head = page[: page.index('<script type="text/plain"')]
    assert NASTY not in head
    assert "<i>PD</i>" not in head
    assert "window.planted = 5</script>" not in head
    assert "&lt;b onclick=" in head
    assert PLANTED not in page


def test_the_same_run_gives_the_same_file(run, tmp_path) -> None:
    options = ReportOptions(figures=False)
    first = write_report(run, tmp_path / "a.html", options).read_bytes()
    with Run(run.folder) as again:
        assert write_report(again, tmp_path / "b.html", options).read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_a_page_that_cannot_be_written_leaves_nothing(run, tmp_path) -> None:
    old = tmp_path / "old.html"
    old.write_text("old", encoding="utf-8")
    with pytest.raises(TomevalError, match="cannot be written"):
        write_report(run, old / "r.html", ReportOptions(figures=False))
    with pytest.raises(TomevalError, match="unknown strategy"):
        write_report(run, old, ReportOptions(baseline="nobody", figures=False))
    assert old.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["old.html"]


def test_a_run_without_a_complete_episode_has_a_page(tmp_path) -> None:
    folder = model_run(
        tmp_path / "run",
        script=lambda request: "never readable",
        subjects=[{"strategy": "QA", "max_attempts": 1}],
    )
    with Run(folder) as opened:
        text = write_report(opened, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "no complete episode" in text
    assert "nothing to compare" in text or "No comparison" in text


def test_assets_end_no_element() -> None:
    scripts = sorted(Path(tomeval.__file__).parent.rglob("*.js"))
    assert {"browser.js", "transcript.js"} <= {path.name for path in scripts}
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|\beval\(|document\.write|insertAdjacentHTML", text), path


def contrast(a: str, b: str) -> float:
    """Return the WCAG contrast of two colours."""

    def light(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((light(a), light(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_text_can_be_told_from_its_ground(theme) -> None:
    css = asset("report.css")
    colours = {
        name: (light, dark)[theme]
        for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", css)
    }
    grounds = ("ground", "raised", "accent-ground", "serious-ground")
    for ink in ("ink", "soft", "accent", "serious", "good", "bad"):
        for ground in grounds[: 4 if ink in ("ink", "serious") else 3]:
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    assert contrast(colours["ink"], colours["mark"]) >= 4.5


# --- table, notices, words ------------------------------------------------------------------------


def test_the_table_has_the_numbers_of_the_run(run) -> None:
    rows = run.rows()
    table = main_table(rows, run.measures)
    keys = [column.key for column in table.columns]
    assert keys[0] == "subject"
    valued = {n for n in run.metric_names if any(math.isfinite(row[n]) for row in rows)}
    assert valued <= set(keys)
    assert {"tom_percent", "delta_functional_per_step"} <= valued
    digits_seen = set()
    for row, shown in zip(rows, table.rows, strict=True):
        for key, value in zip(keys, shown, strict=True):
            if isinstance(row[key], float) and math.isfinite(row[key]):
                assert float(value.sort) == row[key]
            elif isinstance(row[key], float):
                assert value.sort == ""
        index = keys.index("tom_percent")
        digits = len(shown[index].text.partition(".")[2])
        digits_seen.add(digits)
        assert shown[index].text == f"{row['tom_percent']:.{digits}f}"
        half = row["tom_percent_ci95"]
        assert shown[index].small == ("" if math.isnan(half) else f"± {half:.{digits}f}")
    assert len(digits_seen) == 1  # of one column
    said = dict(table.shared)
    assert said["game"] == "<i>PD</i>"
    assert "game" not in keys


def test_what_is_wrong_comes_first(run) -> None:
    found = notices(run, Episodes(run), "normal")
    levels = [notice.level for notice in found]
    assert levels == sorted(levels, reverse=True)
    void = run.store.query("SELECT COUNT(*) FROM episodes WHERE status = 'void'")[0][0]
    assert f"{void} episodes of 40 are void" in found[0].text
    assert any("fewer than 30" in notice.text for notice in found)
    assert not any("fewer than 30" in n.text for n in notices(run, Episodes(run), "t"))
    rows = invalid_rows(run)
    rates = tallies.invalid_rates(run.store)
    assert [row["rate"] for row in rows] == sorted(100 * rates[row["cell"]] for row in rows)[::-1]


def test_replaced_answers_and_told_moves_are_named(tmp_path) -> None:
    folder = model_run(
        tmp_path / "run",
        on_invalid=["random"],
        subjects=[{"strategy": ["QA", "Oracle"], "max_attempts": 1}, "best_response", "random"],
        games=["IPD"],
        model="scripted:rule",
    )
    with Run(folder) as opened:
        texts = [notice.text for notice in notices(opened, Episodes(opened), "t")]
    assert any("replaced by random legal actions" in text for text in texts)
    # An Oracle's literal question is not told (docs/strategies.md); a player by rule predicts with
    # what it is shown.
    (models,) = [text for text in texts if text.startswith("Told the partner's true action")]
    assert ": Oracle(max_attempts=1). Their literal question does not show it" in models
    (rules,) = [text for text in texts if text.startswith("Shown more than the observation")]
    assert ": best_response. They also predict with it" in rules


def test_missing_files_and_episodes_are_named(tmp_path) -> None:
    folder = tmp_path / "run"
    tomeval.run({"games": "RPS", "subjects": "random", "episodes": 2}, folder).close()
    plan = json.loads((folder / "experiment.json").read_text())
    (folder / "experiment.json").write_text(json.dumps(signed(plan | {"episodes": 5})))
    with Run(folder) as opened:
        texts = [notice.text for notice in notices(opened, Episodes(opened), "t")]
        assert any("3 planned episodes in 1 cell not played" in text for text in texts)
        (folder / "experiment.json").write_text("{")
        (folder / "sessions.json").unlink()
        texts = [notice.text for notice in notices(opened, Episodes(opened), "t")]
        assert any("no readable experiment.json" in text for text in texts)
        assert any("No session was recorded" in text for text in texts)


def test_summaries_count_the_verdicts(small) -> None:
    from tomeval.comparing.comparison import compare

    by = compared_by(small)
    assert by == "subject"
    found = compare(small, by, "rmax", metrics=["delta_functional_per_step"])
    verdicts = [found.verdict(level, "delta_functional_per_step") for level in found.levels]
    [text] = summary(found)
    assert text.startswith("Of 2 subjects compared with rmax")
    for word in ("higher", "lower"):
        count = verdicts.count(word)
        assert (f"{count} have {word}" in text or f"{count} has {word}" in text) == (count > 0)
    undecided = verdicts.count("undecided") + verdicts.count("untested")
    assert (f"for {undecided} the difference in" in text) == (undecided > 0)


# --- the command line -----------------------------------------------------------------------------


def test_the_command_writes_the_page(folder, tmp_path, tomeval) -> None:
    out = tmp_path / "r.html"

    def call(*arguments):
        return tomeval("report", folder, *arguments)

    code, printed, _ = call("-o", str(out), "--no-figures", "--transcripts", "1", "--interval", "t")
    assert code == 0
    assert printed.strip() == str(out)
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    code, _, errors = call("-o", str(out), "--transcripts", "some")
    assert code == 2
    assert "--transcripts must be a number" in errors
    code, _, errors = call("-o", str(out), "--by", "colour", "--no-figures")
    assert code == 2
    assert "colour" in errors


@pytest.mark.slow
def test_a_run_of_three_hundred_thousand_steps_is_small(tmp_path) -> None:
    experiment = {
        "games": ["RPS", "IBS", "IPD"],
        "partners": ["single_action", "tit_for_tat"],
        "subjects": [
            *("rmax", "fictitious_play", "equilibrium", "random"),
            {"kind": "simulated", "name": "knows, does not use", "p": 1.0, "q": 0.0},
            {"kind": "simulated", "name": "knows 90 %, uses it", "p": 0.9, "q": 1.0},
        ],
        "horizon": 100,
        "episodes": 100,
    }
    with tomeval.run(experiment, tmp_path / "run") as opened:
        assert write_report(opened, tmp_path / "r.html").stat().st_size < 3_000_000


def test_block_names_are_as_the_page_asks(run) -> None:
    names = [block.name for block in Episodes(run).blocks()]
    assert names[-1:] == ["index"]
    assert names[:-1] == [f"chunk-{i}" for i in range(len(names) - 1)]
