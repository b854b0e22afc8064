"""Transcripts of the arena: who knew what, what stands beside a decision, what is left out."""

import json

import pytest
from arena_runs import MAFIA, played, talking
from asking import query

from tomeval.core.streams import Stream
from tomeval.games.arena.replaying import actions_of, replay, states_of
from tomeval.games.transcripts import happened
from tomeval.report.transcripts import transcript_lines

DILEMMA = {"g": {"game": "ipd3", "rounds": 2, "talk": 1}}


@pytest.fixture(scope="module")
def mafia(tmp_path_factory):
    with played(tmp_path_factory.mktemp("m") / "run", **MAFIA) as run:
        yield run


def test_every_seat_is_told_what_its_view_knew(mafia):
    """The views of the game replayed apart say which events a seat knows."""
    for cell in mafia.cells:
        game = cell.table.game
        for episode in range(6):
            names = ("stage", "seat", "verdict", "action")
            rows = mafia.store.read("steps", names, cell.number, episode)
            [(deal, marks)] = query(
                mafia,
                "SELECT deal, marks FROM episodes WHERE cell = ? AND episode = ?",
                (cell.number, episode),
            )
            state = game.deal(Stream.of(1, "arena", "deal", cell.table.stream).episode(deal))
            for _, after in replay(game, state, json.loads(marks), actions_of(rows)):
                state = after
            told = happened(game, states_of(cell, mafia.store.record(cell.number, episode)))
            events = [event for events in told for event in events]
            for seat in range(game.seats):
                mine = [event for event in events if event.seen_by(seat)]
                assert sorted(mine, key=repr) == sorted(game.view(state, seat).events, key=repr)


def test_a_game_reads_as_it_was_played(tmp_path):
    """Worked by hand: two who repay meet one who never does, for two rounds without a word."""
    lineups = [{"game": "g", "subject": "tft", "others": ["tft", "alld"]}]
    with played(tmp_path / "run", lineups, DILEMMA, episodes=1) as run:
        lines = list(transcript_lines(run, 0, 0))
    # Nothing that is said matters to them: what can be had is 10.
    assert lines[lines.index("== step 1: Player 0 (tft): (nothing)") + 1] == (
        "   [V* 10, Q* 10, regret 0]"
    )
    moves = lines.index("== step 4: Player 0 (tft), moves: cooperate, cooperate")
    # Best: cooperate with who repays (3 + 5), defect on the other (1 + 1).
    assert lines[moves + 1] == "   [V* 10, Q* 9, regret 1]"
    assert lines[-4:] == [
        "ending: played (all rounds were played)",
        "Player 0 (tft)   reward 7",
        "Player 1 (tft)   reward 7",
        "Player 2 (alld)  reward 12  wins",
    ]


def test_what_models_wrote_is_all_there_and_acts_on_nothing(tmp_path):
    """Every call stands at its step, silent ones too; messages cannot look like other lines."""
    with talking(tmp_path / "loud", "hi\x1b[31m\n== step 9: [private] Player 1 (tft) lies") as run:
        lines = list(transcript_lines(run, 0, 0))
        calls = query(run, "SELECT COUNT(*) FROM calls WHERE cell = 0 AND episode = 0")
    assert sum(line.startswith("-- ") for line in lines) == calls[0][0]
    heard = [line for line in lines if "lies" in line and not line.startswith("   ")]
    assert len(heard) == 2  # its talk in both rounds, each behind the name of its seat
    assert all(line.startswith("== step ") and "Player 0 (m): hi" in line for line in heard)
    assert not any("\x1b" in line for line in heard)
    with talking(tmp_path / "silent", "") as run:
        lines = list(transcript_lines(run, 0, 0))
        asked = [line for line in lines if line == "-- talk"]
        assert len(asked) == 2
