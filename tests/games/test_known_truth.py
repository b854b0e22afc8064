"""Players of known truth in the arena's games and in Decrypto: their scores, and what is said."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from recomputed import decrypto, scores
from recomputed.arena_games import Asked, Fact, Game
from recomputed.common import Row, episodes_of, number, table_of

import tomeval
from tomeval.games import answer as words
from tomeval.games.answer import answer, plain
from tomeval.games.arena.cells import ArenaCell
from tomeval.games.decrypto.best_turn import BestTurnSearch
from tomeval.games.decrypto.embedding_players import history_scores, history_sums, match
from tomeval.games.decrypto.experiment import DecryptoCell
from tomeval.games.decrypto.game import CODES
from tomeval.games.decrypto.stages import random_hints
from tomeval.games.seats import Answer, PlannerSeat, Seat
from tomeval.report.exporting import export

CLOSE = 1e-9
HIT = ("hit", "attainable")
EXACT = ["plays_percent", "plans_percent"]


@dataclass
class How:
    """How often what it says is what an exact observer says, at random else, and how it acts."""

    knows: float
    acts: str


PLAYERS = {
    "planner": How(1, "best"),
    "random": How(0, "random"),
    "knows_random": How(1, "random"),
    "guesses_replies": How(0, "reply"),
    "knows_replies": How(1, "reply"),
    "guesses_best": How(0, "best"),
}


class Known(PlannerSeat):
    """Says and acts as a known player."""

    def __init__(self, chair: Any, how: How) -> None:
        super().__init__(chair, None, guesses=True)
        self.how, self.said = how, dict[Any, Any]()

    def say(self, view: Any, probe: Any) -> Any:
        knows = self.values is not None and self.chair.rng.random() < self.how.knows
        said = self.values.guess(probe) if knows and self.values else None
        return view.game.guess(view, probe, self.chair.rng) if said is None else said

    async def answer(self, view: Any, ask: Any) -> Answer:
        self.said = {p: self.say(view, p) for p in view.game.probes(view._state, ask, None, {})}
        gone = view.game.consequences
        stated = {p: said for p, said in self.said.items() if p.name not in gone}
        if self.how.acts == "random":
            return Answer(view.game.random(view, ask, self.chair.rng))
        replies = self.how.acts == "reply" and stated and self.values is not None
        worths = self.values.worths(stated) if replies and self.values else {}
        return Answer(max(worths, key=worths.__getitem__) if worths else self.decide(view, ask))

    async def probe(self, view: Any, ask: Any, probe: Any) -> Answer:
        return Answer(self.said[probe] if probe in self.said else self.say(view, probe))


class Alice(Seat):
    """Gives random or the best hints, or those that succeed by what she says."""

    def __init__(self, how: How, search: BestTurnSearch, seed: int) -> None:
        self.how, self.search, self.rng = how, search, np.random.default_rng(seed)
        self.said: dict[Any, Any] = {}

    def say(self, view: Any, hints: Any) -> list[Any]:
        key = len(view.turns), hints
        if key not in self.said:
            true, drawn = self.guesses(view, hints), self.rng.integers(24, size=2).tolist()
            pairs = zip(true, drawn, strict=True)
            self.said[key] = [
                CODES[t if self.rng.random() < self.how.knows else g] for t, g in pairs
            ]
        return self.said[key]

    def guesses(self, view: Any, hints: Any) -> list[int]:
        bob, eve = self.search.bob.embedding, self.search.eve.embedding
        keywords = np.stack([bob.hint_vector(word) for word in view.keywords])
        first = np.stack([bob.hint_vector(hint) for hint in hints]) @ keywords.T
        heard = np.stack([eve.hint_vector(hint) for hint in hints])
        second = history_scores(heard[None], history_sums(eve, view.turns)[None])
        matchings = self.search.bob.matching, self.search.eve.matching
        return [int(match(x, m)[0]) for x, m in zip((first[None], second), matchings, strict=True)]

    async def answer(self, view: Any, ask: Any) -> Answer:
        drawn = [random_hints(view, self.search.lists.hints, self.rng) for _ in range(25)]
        best = self.search.search(view) or drawn[0]
        if self.how.acts != "reply":
            return Answer(best if self.how.acts == "best" else drawn[0])
        for hints in (*drawn, best):
            bob, eve = self.say(view, hints)
            if bob == view.code != eve:
                return Answer(hints)
        return Answer(drawn[0])

    async def probe(self, view: Any, ask: Any, probe: Any) -> Answer:
        bob, eve = self.say(view, probe.given)
        return Answer(bob if probe.name == "bob" else eve)


@pytest.fixture
def known(monkeypatch):
    """Put known players into the seat that is measured."""
    scripted, new_table = ArenaCell.scripted, DecryptoCell.new_table

    def seated(cell, slot, chair):
        return scripted(cell, slot, chair) if slot else Known(chair, PLAYERS[cell.names[0]])

    def tabled(cell, episode, *rest):
        table = new_table(cell, episode, *rest)
        table.players[0] = Alice(PLAYERS[cell.names[0]], table.solver, episode)
        return table

    monkeypatch.setattr(ArenaCell, "scripted", seated)
    monkeypatch.setattr(DecryptoCell, "new_table", tabled)


def game_of(rows: list[Row], row: Row) -> Game:
    """Return an exported game with what its rows say of hits, regrets and rewards."""
    facts = []
    for one in [one for one in rows if one["slot"] == "0"]:
        told = json.loads(one["probes"]).values()
        asked = [[np.nan if t[x] is None else t[x] for x in HIT] for t in told]
        regret = number(one["regret"])
        facts.append(Fact(regret, asked=tuple(Asked(*pair) for pair in asked)))
    ends = number(row["best_value"]), number(row["random_value"])
    paid = (number(row["reward"]),)
    return Game("", "", *ends, 0, {}, [], rows, [], rewards=paid, facts=tuple(facts))


def again(run, folder) -> dict[str, dict[str, float]]:
    """Return the scores of every cell by the program apart, from exports."""
    folder.mkdir()
    for what in ("steps", "episodes"):
        export(run, "csv", what, folder / f"{what}.csv")
    steps = episodes_of(table_of(folder / "steps.csv"))
    if run.domain.name == "decrypto":
        return {
            c: decrypto.scores([t for game in games for t in game]) for c, games in steps.items()
        }
    ends = {(row["cell"], row["episode"]): row for row in table_of(folder / "episodes.csv")}
    return {
        cell: scores.scores([game_of(rows, ends[cell, rows[0]["episode"]]) for rows in games])
        for cell, games in steps.items()
    }


def differences(run, folder) -> dict[str, float]:
    """Return the largest difference of each score to that of the program apart."""
    found: dict[str, float] = {}
    theirs = again(run, folder)
    for cell in run.cells:
        for name, value in theirs[str(cell.number)].items():
            shown = float(cell.estimate([name]).mean[0])
            assert np.isnan(shown) == np.isnan(value), (cell.name, name, shown, value)
            off = 0.0 if np.isnan(value) else abs(shown - value) / max(1.0, abs(value))
            found[name] = max(found.get(name, 0.0), off)
    return found


def played(folder, game, others, episodes, **players):
    kinds = {name: {"kind": "planner" if name == "planner" else "random"} for name in PLAYERS}
    data = {
        "domain": "arena",
        "episodes": episodes,
        "seed": 1,
        "games": {"game": game},
        "players": kinds | players,
        "lineups": [{"game": "game", "subject": list(PLAYERS), "others": others}],
    }
    return tomeval.run(data, folder)


TRUE = {
    "planner": {words.USES, words.WELL, words.UNDECIDED},
    "random": {words.IGNORANT, words.UNDECIDED},
    "knows_random": {words.HOARDS, words.BADLY, words.UNDECIDED},
    "guesses_replies": {words.MISLED, words.UNSAID, words.UNDECIDED},
    "knows_replies": {words.USES, words.WELL, words.CERTAIN, words.UNDECIDED},
    "guesses_best": {words.UNSAID, words.UNDECIDED},
}
SWITCH = {"switch": {"kind": "win_stay_lose_shift", "noise": 0.1}}
MIXER = {"kind": "mixture", "allocations": [[8, 8, 4], [4, 8, 8], [10, 10, 0], [7, 7, 6]]}
MIXER |= {"weights": [0.7, 0.1, 0.1, 0.1]}
GAMES = {
    "dilemma": ({"game": "ipd3", "talk": 0}, "switch", 18, SWITCH),
    "blotto": ({"game": "blotto", "reward": "rounds"}, "mixer", 10, {"mixer": MIXER}),
    "mafia": (
        {"game": "mafia", "preset": "acts", "players": 4},
        "believer",
        48,
        {"believer": {"kind": "believer", "accuses": True}},
    ),
}


@pytest.mark.parametrize("name", GAMES)
def test_arena(tmp_path, known, name) -> None:
    game, others, episodes, players = GAMES[name]
    with played(tmp_path / "run", game, others, episodes, **players) as run:
        said = {cell.player: plain(answer(cell)) for cell in run.cells}
        assert {player: text for player, text in said.items() if text not in TRUE[player]} == {}
        found = differences(run, tmp_path / "export")
        assert max(found.values()) < CLOSE, found
        assert len(set(said.values()) - {words.UNDECIDED}) >= 3
        by = {cell.player: cell.estimate(EXACT).mean for cell in run.cells}
        assert by["planner"][0] == pytest.approx(100)
        for player in ("knows_replies", "guesses_replies"):
            assert by[player][1] == pytest.approx(100)  # plans: it replies to what it says
    if name == "blotto":
        blotto(tmp_path / "export")


@pytest.mark.parametrize("policy", ["forfeit", "eliminate", "default", "random"])
def test_a_planner_who_breaks_the_rules_pays_for_it(tmp_path, policy) -> None:
    planners = {"clean": {"kind": "planner"}, "slips": {"kind": "planner", "error_rate": 0.4}}
    data = {
        "domain": "arena",
        "episodes": 12,
        "attempts": 1,
        "on_invalid": policy,
        "games": {"game": {"game": "ipd3", "rounds": 3, "talk": 0}},
        "players": planners | {"grim": {"kind": "tit_for_tat", "noise": 0.1}},
        "lineups": [{"game": "game", "subject": list(planners), "others": "grim"}],
    }
    with tomeval.run(data, tmp_path / "run") as run:
        assert max(differences(run, tmp_path / "export").values()) < CLOSE
        plays = {cell.player: cell.estimate(["plays_percent"]).mean[0] for cell in run.cells}
    assert plays["clean"] == pytest.approx(100)
    assert plays["slips"] < 90


def blotto(folder) -> None:
    """What options are worth if what was said is true: the result of the round, nothing else."""
    rows = table_of(folder / "steps.csv")
    for row in [row for row in rows if row["slot"] == "0"][:100]:
        [told] = json.loads(row["probes"]).values()
        action = json.loads(row["action"])
        every = [(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)]
        worths = [_result(one, told["said"]) for one in every]
        chosen = _result(action, told["said"])
        scale = float(row["step_said_best"]) or 1.0
        for kind in ("said", "step_said"):
            best, mine, mean = (float(row[f"{kind}_{e}"]) for e in ("best", "chosen", "mean"))
            assert (best - mine) / scale == pytest.approx(max(worths) - chosen)
            assert (best - mean) / scale == pytest.approx(max(worths) - np.mean(worths))
        assert list(json.loads(row["chances"]).values()) == [1 / 231]


def _result(own, other) -> int:
    lead = sum((a > b) - (a < b) for a, b in zip(own, other, strict=True))
    return (lead > 0) - (lead < 0)


def test_decrypto(tmp_path, known) -> None:
    greedy = {"embedding": "minilm", "matching": "greedy"}
    data = {
        "domain": "decrypto",
        "episodes": 6,
        "best_turn": True,
        "probes": {"eve": True, "bob": True},
        "players": dict.fromkeys([*PLAYERS, "minilm"], greedy),
        "pairings": [{"encoder": list(PLAYERS), "decoder": "minilm", "interceptor": "minilm"}],
    }
    with tomeval.run(data, tmp_path / "run") as run:
        said = {cell.columns["encoder"]: plain(answer(cell)) for cell in run.cells}
        found = differences(run, tmp_path / "export")
    assert {player: text for player, text in said.items() if text not in TRUE[player]} == {}
    assert max(found.values()) < CLOSE, found
