"""Shards: which episodes are whose, and runs that play one part only."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shard_support import KINDS, experiment, places, play
from support import dump

from tomeval.core.errors import TomevalError
from tomeval.extensions.shards.merging import merge
from tomeval.extensions.shards.sharding import Shard, parse_shard
from tomeval.runs.closing import closing
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import share_of
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment


@given(
    count=st.integers(1, 20),
    cell=st.integers(0, 50),
    episodes=st.integers(0, 60),
    more=st.integers(0, 40),
    together=st.integers(0, 12),
)
def test_every_episode_is_in_one_shard_whatever_follows(count, cell, episodes, more, together):
    numbers = range(1, count + 1)
    parts = [Shard(n, count).among(cell, range(episodes), together) for n in numbers]
    assert sorted(e for part in parts for e in part) == list(range(episodes))
    for number, part in zip(numbers, parts, strict=True):
        grown = Shard(number, count).among(cell, range(episodes + more), together)
        assert [e for e in grown if e < episodes] == part
        # those that are played at once stay together
        stretches = {e // max(1, together) for e in part}
        size = max(1, together)
        assert part == [e for e in range(episodes) if e // size in stretches]
    # no shard has more than one stretch more than another
    counts = [len({e // max(1, together) for e in part}) for part in parts]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("17/16", "out of range"),
        ("0/16", "out of range"),
        ("x", "write K/N, such as 3/16"),
        ("", "write K/N"),
        ("-1/4", "write K/N"),
        ("٣/١٦", "write K/N"),
        ("9" * 5000 + "/2", "write K/N"),
    ],
)
def test_what_is_no_shard(text, words) -> None:
    with pytest.raises(TomevalError, match="shard") as caught:
        parse_shard(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_shards_are_read_as_they_are_shown() -> None:
    assert parse_shard(" 03 / 16 ") == Shard(3, 16)
    assert parse_shard(str(Shard(5, 7))) == Shard(5, 7)


@pytest.mark.parametrize("kind", KINDS)
def test_a_shard_holds_its_share_of_the_rows(tmp_path, kind) -> None:
    whole = dump(play(kind, tmp_path / "whole"))
    cells, domain = experiment(kind).cells, get_domain(experiment(kind).domain)
    for number in (1, 2, 3):
        folder = play(kind, tmp_path / str(number), Shard(number, 3))
        rows = dump(folder)
        assert ("part", json.dumps(f"shard {number}/3")) in rows["meta"]

        def mine(row, number=number):
            chunk = domain.play.together(cells[row[0]]) or 1
            return (row[0] + row[1] // chunk) % 3 + 1 == number

        for table in ("episodes", "steps", "answers", "calls", "answered"):
            assert rows[table] == [row for row in whole[table] if mine(row)]
        wanted = [sum(mine((c, e)) for e in range(5)) for c in range(len(cells))]
        assert list(share_of(folder).wanted) == wanted
        with Run(folder) as run:
            said = closing(run)
            assert [row["wanted"] for row in run.status()] == wanted
        assert said.whole == all(
            any(row[0] == cell and row[2] == "complete" for row in rows["episodes"])
            for cell, count in enumerate(wanted)
            if count
        )
        if not any(wanted):
            assert said.lines[0].startswith(f"shard {number}/3 is empty")
            continue
        counted = "1 episode" if sum(wanted) == 1 else f"{sum(wanted)} episodes"
        assert said.lines[0].startswith(f"shard {number}/3: its share is {counted} in ")


def test_a_shard_resumes_and_grows(tmp_path) -> None:
    shard = Shard(2, 3)
    folder = play("simulated", tmp_path / "grown", shard, episodes=4)
    before = places(folder)
    play("simulated", folder, shard, episodes=4)
    assert places(folder) == before
    play("simulated", folder, shard, episodes=40)
    assert dump(folder) == dump(play("simulated", tmp_path / "at_once", shard, episodes=40))
    assert before < places(folder)
    share = share_of(folder)
    play("simulated", folder, shard, episodes=2)  # fewer: nothing is played, the share stays
    assert share_of(folder) == share
    assert sum(share.wanted) == len(places(folder))


def test_another_shard_is_refused(tmp_path) -> None:
    folder = play("simulated", tmp_path / "run", Shard(2, 3))
    before = dump(folder)
    for shard, words in (
        (Shard(1, 3), "holds shard 2/3 of this experiment, not shard 1/3"),
        (Shard(2, 4), "not shard 2/4"),
        (None, "not the whole"),
    ):
        with pytest.raises(TomevalError, match=words):
            play("simulated", folder, shard)
    whole = play("simulated", tmp_path / "whole")
    with pytest.raises(TomevalError, match="holds the whole of this experiment, not shard 1/3"):
        play("simulated", whole, Shard(1, 3))
    assert dump(folder) == before


def test_voids_in_a_row_are_those_of_the_shard(tmp_path) -> None:
    def bad(request):
        return "what?"

    for number in (1, 2):
        folder, shard = tmp_path / str(number), Shard(number, 2)
        play("toy", folder, shard, script=bad, episodes=20, stop_after_voids=3)
        # of the model's cell, number 0, every second episode is of this shard
        own = [episode for cell, episode in sorted(places(folder)) if cell == 0]
        assert own == ([0, 2, 4] if number == 1 else [1, 3, 5])
        with Run(folder) as run:
            assert run.store.stops() == {0: "3 void episodes in a row"}
    merge([tmp_path / "1", tmp_path / "2"], tmp_path / "merged")
    with Run(tmp_path / "merged") as run:
        assert run.store.stops() == {0: "3 void episodes in a row"}


def test_people_are_in_no_shard(tmp_path) -> None:
    made = make_experiment(
        {
            **{"games": ["RPS", "IPD"], "partners": "tit_for_tat", "horizon": 3, "episodes": 4},
            "subjects": [{"kind": "person", "name": "people"}, "random"],
        }
    )
    people = [n for n, cell in enumerate(made.cells) if not cell.wanted(1)]
    assert people
    for number in (1, 2):
        folder = tmp_path / str(number)
        run_experiment(made, folder, part=Shard(number, 2))
        assert not any(share_of(folder).wanted[cell] for cell in people)
        with Run(folder) as run:
            assert closing(run).whole
