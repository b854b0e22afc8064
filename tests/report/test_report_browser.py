"""The report in a real browser: clicks, keys, what is shown, what must not happen."""

from __future__ import annotations

import itertools
import json
import math

import pytest
from browsing import watched
from hostile import NASTY, PLANTED, model_run
from support import ROOT, scripts

import tomeval
from tomeval.report import ReportOptions, write_report
from tomeval.runs.results import Run

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")


def seen(text: str) -> str:
    """Return a text as it is shown: the one character in it that reorders text is written out."""
    return text.replace("\u202e", "\\u202e")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return (run, address) of the run whose every text is hostile."""
    place = tmp_path_factory.mktemp("hostile")
    folder = model_run(place / "run")
    with Run(folder) as run:
        yield run, write_report(run, place / "report.html").as_uri()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return (run, address) of a run of 8 cells with 60 long episodes each."""
    place = tmp_path_factory.mktemp("plain")
    subjects = [
        {"kind": "simulated", "name": f"s{i:02}", "p": 0.5 + i / 8, "q": 0.9} for i in range(4)
    ]
    experiment = {"games": ["RPS", "IPD"], "partners": "tit_for_tat", "subjects": subjects}
    experiment |= {"horizon": 210, "episodes": 60}
    with tomeval.run(experiment, place / "run") as run:
        options = ReportOptions(figures=False)
        yield run, write_report(run, place / "report.html", options).as_uri()


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """Return (run, address) of a run of a domain that the report knows nothing about."""
    import toy_domain  # noqa: F401 (registers its domain)

    place = tmp_path_factory.mktemp("toy")
    experiment = {"domain": "toy", "name": NASTY, "guessers": ["next", "llm"], "size": [3, 12]}
    experiment |= {"model": "scripted:planted", "steps": 5, "episodes": 8, "on_invalid": "random"}
    with scripts(planted=lambda r: "2" if "none" in r.prompt.messages[0].content else PLANTED):
        tomeval.run(experiment, place / "run").close()
    with Run(place / "run") as run:
        options = ReportOptions(figures=False)
        yield run, write_report(run, place / "report.html", options).as_uri()


@pytest.fixture
def opened(chromium):
    """Return a function that opens a page; at the end nothing may have gone wrong in any."""
    contexts, problems = [], []

    def open_page(address, **options):
        context = chromium.new_context(
            **{"viewport": {"width": 1300, "height": 900}, "reduced_motion": "reduce"} | options
        )
        contexts.append(context)
        page = watched(context, "file:", problems)
        page.goto(address)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("#episode-rows tr")
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            if "planted" in (page.evaluate("Object.keys(window).join()") or ""):
                problems.append("a planted script ran")
        context.close()
    assert problems == []


def texts(page, selector):
    return [element.inner_text() for element in page.query_selector_all(selector)]


def test_everything_can_be_opened_and_no_planted_script_runs(opened, hostile) -> None:
    run, address = hostile
    page = opened(address)
    for number in range(len(run.cells)):
        page.select_option("#by-cell", str(number))
        for place in range(2):
            page.locator("#episode-rows a").nth(place).click()
            page.wait_for_selector(f"#episode-title:has-text('Episode {place}:')")
            page.evaluate(
                "document.querySelectorAll('#step-rows [aria-expanded]').forEach(b => b.click())"
            )
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.wait_for_timeout(50)
    assert page.evaluate("window.planted") is None
    assert (
        page.query_selector("main img:not([src^='data:image/svg']), main b[onclick], main i")
        is None
    )


@pytest.mark.slow
def test_an_episode_of_any_domain_shows_its_lines(opened, toy) -> None:
    run, address = toy
    page = opened(f"{address}#episode=1/3")
    page.wait_for_selector("#step-rows tr")
    lines = list(run.domain.show.lines(run, run.cells[1], 3))
    above, below = page.query_selector_all("#episode pre")
    assert above.text_content() == "\n".join(text for step, text, *_ in lines if step == 0)
    assert below.text_content() == "\n".join(text for step, text, *_ in lines if step == -1)
    rows = page.query_selector_all("#step-rows tr")
    assert len(rows) == 5
    for step, row in enumerate(rows, 1):
        cells = row.query_selector_all("th, td")
        first, *others = [text for number, text, *_ in lines if number == step]
        assert cells[0].inner_text() == str(step)
        assert cells[1].inner_text() == first
        assert cells[2].inner_text().splitlines() == others
    page.get_by_role("button", name="Show all questions").click()
    replies = [call["reply"]["text"] for *_, call in run.store.calls(1, 3)]
    assert PLANTED in replies
    assert [pre.text_content() for pre in page.query_selector_all(".call pre.reply")] == [
        seen(reply) for reply in replies
    ]
    assert page.evaluate("window.planted") is None


@pytest.mark.slow
def test_episodes_of_any_domain_are_sorted_and_narrowed(opened, toy) -> None:
    run, address = toy
    page = opened(f"{address}#cell=3")
    playwright.expect(page.locator("#by-cell")).to_have_value("3")
    orders = page.eval_on_selector_all("#by-order option", "all => all.map(o => o.text)")
    assert orders == ["number", "largest loss/step", "lowest hit %", "most invalid answers"]
    page.select_option("#by-order", "loss_per_step")
    shown = [float(text) for text in texts(page, "#episode-rows td:nth-child(5)")]
    assert shown == pytest.approx(
        sorted(run.cells[3].metrics()["loss_per_step"], reverse=True), abs=0.0006
    )
    starts = [s for (s,) in run.store.query("SELECT start FROM episodes WHERE cell = 3")]
    page.select_option("#by-drawn", str(starts[0]))
    assert texts(page, "#episode-rows td:nth-child(2)") == [str(starts[0])] * starts.count(
        starts[0]
    )


@pytest.mark.slow
def test_prompts_and_replies_are_shown_letter_for_letter(opened, hostile) -> None:
    run, address = hostile
    page = opened(f"{address}#episode=2/0")
    page.wait_for_selector("#step-rows tr")
    page.get_by_role("button", name="Show all questions").click()
    page.evaluate("document.querySelectorAll('.call details').forEach(d => { d.open = true; })")
    page.wait_for_timeout(50)
    stored = run.store.query(
        "SELECT step, unpacked(record) FROM calls WHERE cell = 2 AND episode = 0 ORDER BY call"
    )
    records = [json.loads(record) for _, record in sorted(stored, key=lambda row: row[0])]
    shown = page.query_selector_all(".call")
    assert len(shown) == len(records) > 10
    prompts, planted = {}, 0
    for record, element in zip(records, shown, strict=True):
        purpose = record["purpose"]
        prompts[purpose] = prompts.get(purpose, "")[: record["prompt_same"]] + record["prompt_rest"]
        assert element.query_selector("details pre").text_content() == seen(prompts[purpose])
        assert element.query_selector("pre.reply").text_content() == seen(record["reply"]["text"])
        planted += seen(PLANTED) in element.text_content()
    assert planted > 0
    page.get_by_role("button", name="Hide all questions").click()
    assert page.query_selector(".call") is None


@pytest.mark.slow
def test_the_policy_stops_a_script_even_if_one_gets_in(opened, chromium, hostile) -> None:
    page = chromium.new_page()
    page.goto(hostile[1])
    page.evaluate(
        "() => { window.stopped = []; document.addEventListener('securitypolicyviolation',"
        " e => window.stopped.push(e.effectiveDirective)); }"
    )
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.planted = 9';"
        " document.body.append(s); const i = document.createElement('img');"
        " i.src = 'https://example.org/x.png'; document.body.append(i); }"
    )
    page.wait_for_timeout(300)
    assert page.evaluate("window.planted") is None
    assert {"script-src-elem", "img-src"} <= set(page.evaluate("window.stopped"))
    page.close()


@pytest.mark.slow
def test_the_table_sorts_and_filters(opened, plain) -> None:
    run, address = plain
    page = opened(address)
    rows = run.rows()
    heading = page.locator("table[data-table=results] th", has_text="ToM %")
    button = heading.get_by_role("button")
    index = heading.evaluate("head => head.cellIndex")

    def column():
        selector = f"table[data-table=results] tbody tr:not([hidden]) > :nth-child({index + 1})"
        return page.eval_on_selector_all(selector, "all => all.map(e => Number(e.dataset.sort))")

    assert heading.get_attribute("aria-sort") == "none"
    button.click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(row["tom_percent"] for row in rows)
    button.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert column() == sorted((row["tom_percent"] for row in rows), reverse=True)
    assert "descending" in page.inner_text("#results-said")
    page.select_option("#results-controls select", "IPD")
    assert page.inner_text("#results-said") == "4 of 8 rows shown."
    assert column() == sorted(
        (row["tom_percent"] for row in rows if row["game"] == "IPD"), reverse=True
    )
    page.fill("#results-controls input", "S03 ipd")
    assert page.inner_text("#results-said") == "1 of 8 rows shown."
    page.click("#results-controls button[type=reset]")
    playwright.expect(page.locator("#results-said")).to_have_text("8 of 8 rows shown.")


@pytest.mark.slow
def test_episodes_are_listed_by_pages_and_orders(opened, plain) -> None:
    run, address = plain
    page = opened(address)
    page.click("table[data-table=results] tbody tr:nth-child(3) a")
    playwright.expect(page.locator("#by-cell")).to_have_value("2")
    assert page.inner_text("#episodes-said") == "Episodes 1 to 25 of 60."
    assert page.is_disabled("#earlier")
    page.click("#later")
    page.click("#later")
    assert page.inner_text("#episodes-said") == "Episodes 51 to 60 of 60."
    assert page.is_disabled("#later")
    page.select_option("#by-order", "delta_functional_per_step")
    regret = run.cells[2].metrics()["delta_functional_per_step"]
    shown = [float(text.replace("−", "-")) for text in texts(page, "#episode-rows td:nth-child(8)")]
    assert shown == pytest.approx(sorted(regret, reverse=True)[:25], abs=0.0006)


@pytest.mark.slow
def test_a_long_episode_is_shown_in_parts_and_neighbours_follow(opened, plain) -> None:
    page = opened(f"{plain[1]}#episode=1/3")
    page.wait_for_selector("#step-rows tr")
    assert len(page.query_selector_all("#step-rows tr")) == 200
    page.get_by_role("button", name="Steps 201 to 210").click()
    assert len(page.query_selector_all("#step-rows tr")) == 210
    page.get_by_role("button", name="Next").click()
    page.wait_for_selector("#episode-title:has-text('Episode 4: s01')")
    assert page.evaluate("document.activeElement.id") == "episode"
    page.get_by_role("button", name="Close").click()
    assert page.is_hidden("#episode")
    assert page.evaluate("document.activeElement.id") == "by-cell"


@pytest.mark.slow
def test_an_address_that_names_nothing_is_told(opened, plain) -> None:
    page = opened(f"{plain[1]}#episode=1/999")
    playwright.expect(page.locator("#episodes-said")).to_contain_text("no episode 999")


@pytest.mark.slow
def test_the_keyboard_reaches_everything(opened, hostile) -> None:
    page = opened(hostile[1])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "results"
    reached = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(
            "document.activeElement.id || document.activeElement.className ||"
            " document.activeElement.tagName"
        ))  # fmt: skip
    assert {"sort", "scroll", "by-cell", "by-order", "A"} <= reached
    link = page.locator("#episode-rows a").first
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#step-rows tr")
    assert page.evaluate("document.activeElement.id") == "episode"


@pytest.mark.slow
def test_every_control_and_table_has_a_name(opened, hostile) -> None:
    page = opened(f"{hostile[1]}#episode=2/0")
    page.wait_for_selector("#step-rows tr")
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('input, select, button, table, [role=region], img')]
        .filter(e => !(e.labels?.length || e.textContent.trim() || e.alt || e.ariaLabel || e.caption
          || e.getAttribute('aria-labelledby') || e.getAttribute('aria-hidden')))
        .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every(t => t.caption && t.caption.textContent)"
    )
    assert page.evaluate("[...document.querySelectorAll('th')].every(h => h.scope)")
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def ground(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.slow
def test_light_and_dark(opened, hostile) -> None:
    light = opened(hostile[1], color_scheme="light")
    dark = opened(hostile[1], color_scheme="dark")
    assert ground(light) == "rgb(255, 255, 255)"
    assert ground(dark) == "rgb(20, 23, 28)"
    light.select_option("#theme", "dark")
    assert ground(light) == ground(dark)
    dark.select_option("#theme", "light")
    assert ground(dark) == "rgb(255, 255, 255)"
    dark.emulate_media(media="print")
    assert ground(dark) == "rgb(255, 255, 255)"


CONTRAST = (ROOT / "tests" / "contrast.js").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "name", "episode"), [("light", "toy", "1/3"), ("dark", "hostile", "2/0")]
)
def test_everything_can_be_told_from_its_ground(opened, scheme, name, episode, request) -> None:
    address = request.getfixturevalue(name)[1]
    page = opened(f"{address}#episode={episode}", color_scheme=scheme)
    page.wait_for_selector("#step-rows tr")
    page.get_by_role("button", name="Show all questions").click()
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.locator("table[data-table=results] .sort").first.click()
    found = page.evaluate(CONTRAST)
    assert found["poor"] == []
    assert found["checked"] > 300


@pytest.mark.slow
def test_print_leaves_out_what_paper_cannot_do(opened, hostile) -> None:
    page = opened(hostile[1], color_scheme="dark")
    page.emulate_media(media="print")
    for selector in (".bar", "#results-controls", "#browser"):
        assert page.locator(selector).first.is_hidden()
    for selector in ("#first", "#results table", "#figures figure", "#what"):
        assert page.locator(selector).first.is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
    # Chromium repeats a head on every page of a table, but paints no button and nothing positioned
    # in the repeated ones.
    ways = page.evaluate(
        "[...document.querySelectorAll('thead *')].map(e => getComputedStyle(e))"
        ".map(style => style.position + ' ' + style.display)"
    )
    assert {way.split()[0] for way in ways} == {"static"}
    assert {way.split()[1] for way in ways} == {"table-row", "table-cell", "contents"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "name", "episode"), [(320, "toy", "1/3"), (420, "hostile", "2/0")]
)
def test_a_small_screen_needs_no_scrolling_sideways(opened, width, name, episode, request) -> None:
    address = request.getfixturevalue(name)[1]
    page = opened(f"{address}#episode={episode}", viewport={"width": width, "height": 700})
    page.wait_for_selector("#step-rows tr")
    page.get_by_role("button", name="Show all questions").click()
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Sentences above tables are as wide as what can be seen of their box.
    wider = page.evaluate(
        """[...document.querySelectorAll('caption span')].filter(e => e.checkVisibility()
        && e.getBoundingClientRect().width > e.closest('.scroll').clientWidth)
        .map(e => e.textContent.slice(0, 60))"""
    )
    assert wider == []
    # Figures have letters of 6.5 points and more; these are at least 9 pixels high at 420.
    scales = page.evaluate(
        "[...document.querySelectorAll('figure img')]"
        ".map(s => s.getBoundingClientRect().width / (s.naturalWidth * 0.75))"
    )
    assert all(6.5 * scale >= 9 for scale in scales if width == 420)


@pytest.mark.slow
def test_without_scripts_the_numbers_are_there(opened, hostile) -> None:
    run, address = hostile
    page = opened(address, java_script_enabled=False)
    shown = texts(page, "table[data-table=results] tbody tr")
    assert len(shown) == len(run.cells)
    for row, text in zip(run.rows(), shown, strict=True):
        if not math.isnan(row["tom_percent"]):  # its decimals follow the intervals
            assert any(f"{row['tom_percent']:.{n}f}" in text for n in range(3))
    assert page.locator("noscript").count() == 1
