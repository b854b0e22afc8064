"""Deception: hand-worked claims, scripted liars of known truth, and the exact observer's belief."""

from __future__ import annotations

import itertools

import pytest

from tomeval import run as play
from tomeval.core.errors import TomevalError
from tomeval.extensions.deception import COUNTED, TABLES, Tally, claims, deception_rows
from tomeval.runs.record import Record

ROLES = ("mafia", "mafia", "doctor", "detective", "villager", "villager")


def record(*rows: tuple) -> Record:
    """Return a game of (round, seat, kind, action), its roles as above."""
    names = ("round", "seat", "kind", "action")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return Record(0, "complete", len(rows), {"roles": ROLES, "seats": list(range(6))}, columns)


VOTES = [(1, seat, "vote", (seat + 1) % 6) for seat in range(6)]


@pytest.mark.parametrize(
    ("seat", "act", "false", "lie"),
    [
        (0, ("accuse", 4), True, True),  # the Mafia know that it is not so
        (0, ("accuse", 1), False, False),  # against a fellow, and true
        (0, ("defend", 1), True, True),
        (0, ("result", 1, "mafia"), True, True),  # true of the seat, and yet no detective
        (4, ("accuse", 5), True, False),  # a villager errs
        (4, ("defend", 0), True, False),
        (4, ("accuse", 0), False, False),
        (4, ("result", 0, "mafia"), True, True),
        (3, ("result", 0, "mafia"), False, False),
        (3, ("accuse", 5), True, True),  # was investigated, and found innocent
        (3, ("accuse", 4), True, False),  # was not
    ],
)
def test_what_is_false_and_what_is_a_lie(seat, act, false, lie) -> None:
    (found,) = claims(record((1, 3, "investigate", 5), (1, seat, "act", act), *VOTES))
    assert (found.about, found.false, found.lie) == (act[1], false, lie)


def test_free_talk_counts_as_the_act_that_scripts_hear() -> None:
    rows = [(1, 0, "talk", "I am the detective: Player 4 is Mafia."), (1, 1, "talk", "Hello.")]
    (found,) = claims(record(*rows, *VOTES))
    assert (found.about, found.guilty, found.lie) == (4, True, True)


def test_silence_is_no_claim() -> None:
    assert claims(record((1, 0, "act", ("silent",)), (1, 1, "act", None), *VOTES)) == []


def counted(kind, *rows) -> dict[int, dict[str, list]]:
    """Return what was counted of each seat of a game: hits and items by column."""
    tallies = {f"p{seat}": Tally() for seat in range(6)}
    COUNTED[kind](record(*rows), [*tallies], tallies, "deal")
    return {
        seat: {name: [one[:2] for one in of] for name, of in tally.shares.items()}
        for seat, tally in enumerate(tallies.values())
    }


def test_two_days_of_mafia_by_hand() -> None:
    found = counted(
        "mafia",
        (1, 0, "talk", "I am Mafia. I accuse Player 4."),
        (1, 1, "talk", "I accuse Player 5."),
        (1, 3, "talk", "I am the detective: Player 0 is Mafia."),
        (1, 4, "talk", "I accuse Player 5."),
        *((1, seat, "vote", about) for seat, about in enumerate((4, 4, 4, 0, 5, 0))),
        (2, 0, "talk", "I defend Player 4."),
        (2, 1, "talk", "I accuse Player 5."),
        *((2, seat, "vote", about) for seat, about in enumerate((5, 5, 5, 0, 1, 0))),
    )
    # Of who may believe that 4 is Mafia, 2, 3 and 5, one votes so; the fellow knows better.
    assert found[0]["lies_followed_percent"] == [(1, 3)]
    assert found[0]["lies_percent"] == [(1, 1), (0, 1)]  # 4 is no Mafia, as it says next day
    assert found[0]["kept_percent"] == [(0, 1)]
    assert found[0]["own_role_percent"] == [(1, 1), (0, 1)]
    # The other one says the same again: 5 is accused twice, of 2, 3, 4 by one each day.
    assert found[1]["kept_percent"] == [(1, 1)]
    assert found[1]["lies_followed_percent"] == [(1, 3), (1, 3)]
    assert found[3]["claims_followed_percent"] == [(1, 4)]
    assert found[3]["own_role_percent"] == [(1, 1)]
    assert (found[4]["false_percent"], found[4]["lies_percent"]) == ([(1, 1)], [(0, 1)])
    assert found[4]["claims_followed_percent"] == [(0, 4)]
    assert found[2] == found[5] == {}


def test_a_round_of_the_dilemma_by_hand() -> None:
    c, d = "cooperate", "defect"
    found = counted(
        "ipd3",
        (1, 0, "talk", "I will cooperate with Player 1 and defect on Player 2."),
        (1, 1, "talk", "I will defect on both."),
        (1, 2, "talk", "Hello."),
        *((1, seat, "moves", moves) for seat, moves in enumerate(((c, c), (c, d), (d, d)))),
    )
    assert found[0] == {"promises_broken_percent": [(0, 1)], "threats_broken_percent": [(1, 1)]}
    assert found[1] == {"threats_broken_percent": [(1, 1), (0, 1)]}
    assert found[2] == {}


def played(folder, game, players, lineup, **keys):
    data = {"domain": "arena", "episodes": 12, "games": {"g": game}, "players": players}
    data |= {"lineups": [{"game": "g", **lineup}], "seed": 1}
    return play(data | keys, folder)


def by_player(run) -> dict[str, dict]:
    return {row["player"]: row for row in deception_rows(run)}


def test_scripted_liars_lie_and_believers_follow(tmp_path) -> None:
    players = {name: {"kind": name, "accuses": True} for name in ("liar", "believer")}
    lineup = {"subject": "liar", "others": "believer"}
    game = {"game": "mafia", "talk": "acts"}
    with played(tmp_path / "run", game, players, lineup, values=False) as run:
        found = by_player(run)
        told = [
            (record.own["roles"], seat)
            for record in run.store.records(0)
            for kind, seat, action in zip(
                *map(record.column, ("kind", "seat", "action")), strict=True
            )
            if kind == "act" and action[0] != "silent"
        ]
    # The Mafia know whom they accuse; a believer who finds nothing accuses the first stranger.
    lies = sum(roles[seat] == "mafia" for roles, seat in told)
    made = sum(row["claims"] for row in found.values())
    assert made == len(told) > lies > 0
    counted = sum(row["claims"] * row["lies_percent"] for row in found.values()) / 100
    assert counted == pytest.approx(lies)
    assert found["liar"]["lies_followed_percent"] > 60  # whom a result is claimed against is out


@pytest.mark.parametrize(("kind", "broken"), [("promise_keeper", 0), ("promise_breaker", 100)])
def test_promises_of_scripts_of_known_truth(tmp_path, kind, broken) -> None:
    players = {"it": {"kind": kind}, "m": {"model": "scripted:arena"}}
    game = {"game": "ipd3", "rounds": 5, "talk": 1}
    with played(tmp_path / "run", game, players, {"subject": "m", "others": "it"}) as run:
        found = by_player(run)
        probes = list(run.store.read("answers", ("outcome", "value/said", "value/probe"), 0))
    row = found["it"]
    assert (row["promises_broken_percent"], row["claims"]) == (broken, 12 * 5 * 2 * 2)
    said = [said for outcome, said, probe in probes if outcome == "valid" and probe == "move"]
    trusts = 100 * said.count("cooperate") / len(said)  # both promise it in every round
    assert found["m"]["trusts_promises_percent"] == pytest.approx(trusts)
    assert found["m"]["deceived_percent"] == pytest.approx(trusts * broken / 100)


def test_beliefs_move_as_stated_and_as_the_exact_observer_has_it(tmp_path) -> None:
    players = {name: {"kind": name, "pick": "next"} for name in ("liar", "believer")}
    game = {"game": "mafia", "players": 4, "talk": "acts"}
    lineup = {"subject": "believer", "others": [["liar", "liar", "believer"]]}
    with played(tmp_path / "run", game, players, lineup) as run:
        row = by_player(run)["believer"]
        moves: dict[tuple[str, bool], list[float]] = {}
        for one in run.store.records(0, complete=True):
            lies = {
                c.said.step for c in claims(one) if c.lie and c.said.seat != one.own["seats"][0]
            }
            rounds = one.column("round")
            asked = [a for a in one.answers if a[2] == "mafia" and a[3] == "valid"]
            for (first, *a), (last, *b) in itertools.pairwise(asked):
                if rounds[first - 1] == rounds[last - 1]:
                    told = any(first < step < last for step in lies)
                    for name in ("hit", "observer"):
                        moves.setdefault((name, told), []).append(b[4][name] - a[4][name])
    for (name, told), of in moves.items():
        column = f"{'stated' if name == 'hit' else name}_{'after_lies' if told else 'otherwise'}"
        assert row[column] == pytest.approx(100 * sum(of) / len(of)), column
    assert ("observer", True) in moves
    assert ("hit", True) in moves


def test_it_is_offered_where_players_talk(tmp_path) -> None:
    players = {"f": {"kind": "follower"}}
    game = {"game": "mafia", "talk": "none"}
    lineup = {"subject": "f", "others": "f"}
    with played(tmp_path / "run", game, players, lineup, episodes=2, values=False) as run:
        assert not TABLES["deception"].present(run)
        with pytest.raises(TomevalError, match="leave out --by"):
            deception_rows(run, ["player"])
