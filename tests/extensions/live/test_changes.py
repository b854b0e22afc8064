"""When parts of a page are made anew: only after a change, and not too often."""

import shutil
from collections import Counter

import pytest
from hostile import model_run

import tomeval
from tomeval.extensions.live.changes import SHARE, Changes, Part


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    return model_run(tmp_path_factory.mktemp("watched") / "run", episodes=1)


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def watched(played, tmp_path):
    """Return a watched copy of a run, its clock, and how often its two parts were made."""
    folder = shutil.copytree(played, tmp_path / "run")
    clock, made = Clock(), Counter()

    def quick(run):
        made["quick"] += 1
        return run.name

    def slow(run):
        made["slow"] += 1
        clock.now += 3.0
        return f"{len(run.cells)} cells"

    parts = {"quick": Part(quick), "slow": Part(slow)}
    return Changes(folder, parts, clock), clock, made


def test_nothing_is_made_again_without_a_change(watched) -> None:
    page, clock, made = watched
    first = page.versions()
    for _ in range(5):
        for name in ("quick", "slow"):
            assert page.part(name).version == first[name] == page.version()
        clock.now += 1000
        assert page.versions() == first  # to read leaves no trace that counts as a change
    assert made == {"quick": 1, "slow": 1}


def test_a_change_is_taken_up_after_a_rest_in_proportion_to_the_work(watched) -> None:
    page, clock, made = watched
    for name in ("slow", "quick"):
        page.part(name)
    before = page.versions()
    (page.folder / "sessions.json").write_text("[]", encoding="utf-8")
    assert page.version() not in before.values()
    assert page.versions() == before  # both still rest
    clock.now += 1.1
    assert page.versions() == {"quick": page.version(), "slow": before["slow"]}
    page.part("quick")
    page.part("slow")
    assert made == {"quick": 2, "slow": 1}
    clock.now += SHARE * 3.0
    assert set(page.versions().values()) == {page.version()}
    page.part("slow")
    assert made["slow"] == 2


def test_every_commit_of_a_writer_is_a_change(tmp_path) -> None:
    experiment = {"games": "RPS", "subjects": "random", "horizon": 3, "episodes": 1}
    page = Changes(tmp_path / "run", {})
    seen = [page.version()]
    for episodes in (1, 2, 3):
        tomeval.run(experiment | {"episodes": episodes}, tmp_path / "run").close()
        seen.append(page.version())
    assert len(set(seen)) == 4


def test_a_part_that_cannot_be_made_stays_and_the_trouble_is_told(watched) -> None:
    page, clock, _ = watched
    text = page.part("quick").text
    (page.folder / "run.sqlite").write_bytes(b"no database at all" * 100)
    clock.now += 10
    assert page.part("quick").text == text
    assert "damaged" in page.trouble or "not a" in page.trouble
    shutil.rmtree(page.folder)
    clock.now += 10
    assert page.part("quick").text == text
    assert str(page.folder) in page.trouble


def test_before_anything_is_played_parts_are_made_without_a_run(tmp_path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.lock").touch()
    page = Changes(folder, {"one": Part(lambda run: "waiting" if run is None else run.name)})
    assert page.part("one").text == "waiting"
    assert page.trouble == ""


def test_reading_changes_nothing_in_the_store(watched) -> None:
    page, _, _ = watched
    before, version = (page.folder / "run.sqlite").read_bytes(), page.version()
    assert page.part("slow").text == "10 cells"
    assert (page.folder / "run.sqlite").read_bytes() == before
    assert page.version() == version
