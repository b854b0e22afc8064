from __future__ import annotations

import pytest
from decrypto_support import Logged, everything, experiment

from tomeval.core.errors import TomevalError
from tomeval.models.scripted import SCRIPTS
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import load_experiment, make_experiment

SHIPPED = ("quickstart", "competitive", "cooperative", "tom")


def names(made):
    return [cell.names for cell in made.cells]


def test_default_is_everybody_in_every_seat() -> None:
    assert len(experiment().cells) == 2**3
    assert len(experiment(seed=[1, 2, 3]).cells) == 3 * 2**3


def test_slices() -> None:
    made = experiment(pairings=[{"encoder": "all", "decoder": "matched", "interceptor": "s"}])
    assert names(made) == [("s", "s", "s"), ("minilm", "minilm", "s")]
    twice = [{"encoder": "s", "decoder": "s", "interceptor": ["s", "minilm"]}] * 2
    assert names(experiment(pairings=twice)) == [("s", "s", "s"), ("s", "s", "minilm")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"pairings": [{"encoder": "t", "decoder": "s", "interceptor": "s"}]},
            "pairings[0]: unknown player 't'",
        ),
        (
            {"pairings": [{"encoder": "record", "decoder": "s", "interceptor": "s"}]},
            "pairings[0]: 'record' needs a file of games",
        ),
        ({"pairings": [{"encoder": [], "decoder": "s", "interceptor": "s"}]}, "must not be empty"),
        ({"players": {}}, "no players"),
        ({"players": {"all": {"kind": "random"}}}, "players: the name 'all' is taken"),
        ({"players": {"x": {"kind": "randm"}}}, "did you mean 'random'"),
        ({"players": {"x": {}}}, "players.x: needs a model"),
        ({"players": {"x": {"model": "gpt"}}}, "players.x: model 'gpt' cannot be read"),
        ({"players": {"x": {"model": "scripted:decrypto", "k": 3}}}, "has no option 'k'"),
        ({"players": {"x": {"embedding": "nothing"}}}, "no such file"),
        ({"memory": "conversation", "strategy": "S2A"}, "choose one"),
        ({"keywords": "nothing.txt"}, "no such file"),
    ],
)
def test_bad_experiments_name_the_place(change, message) -> None:
    with pytest.raises(TomevalError) as caught:
        experiment(**change)
    assert message in str(caught.value)
    assert str(caught.value).startswith("experiment: ")


def test_records_refuse_a_conversation(tmp_path) -> None:
    from tomeval.games.decrypto.game import Turn
    from tomeval.games.decrypto.replays import RecordedGame, write_games

    turn = Turn((1, 2, 3), ("x", "y", "z"), (1, 2, 3), (1, 2, 4))
    write_games(
        tmp_path / "games.json", [RecordedGame(keywords=("a", "b", "c", "d"), turns=(turn,))]
    )
    data = {
        "domain": "decrypto",
        "players": {"s": {"model": "scripted:decrypto", "memory": "conversation"}},
        "records": "games.json",
    }
    with pytest.raises(TomevalError, match='use memory = "restated"'):
        make_experiment(data, base=tmp_path)
    data["pairings"] = [{"encoder": "record", "decoder": "record", "interceptor": "record"}]
    with pytest.raises(TomevalError, match="at least one seat needs a player"):
        make_experiment(data, base=tmp_path)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_experiments_match_greedily(name) -> None:
    """As the source's Bob and Eve do, with its K."""
    made = load_experiment(f"decrypto_{name}")
    players = [player for player in made.by_name.values() if player.kind == "embedding"]
    assert players
    for player in players:
        assert (player.options["matching"], player.options["k"]) == ("greedy", 16)


def test_sampling_options_reach_every_request(tmp_path, monkeypatch) -> None:
    log = Logged(everything)
    monkeypatch.setitem(SCRIPTS, "logged", log)
    own = {"model": "scripted:logged", "top_p": 0.5, "top_k": 0}
    made = experiment(
        players={"l": {"model": "scripted:logged"}, "own": own},
        pairings=[{"encoder": ["l", "own"], "decoder": "matched", "interceptor": "l"}],
        **{"top_p": 0.9, "top_k": 40, "min_p": 0.05, "episodes": 1, "probes": {"eve": True}},
    )
    run_experiment(made, tmp_path / "run")
    found = {
        (one.sampling.temperature, one.sampling.top_p, one.sampling.top_k, one.sampling.min_p)
        for one in log.requests
    }
    assert found == {
        (0.6, 0.9, 40, 0.05),
        (0.0, 0.9, 40, 0.05),  # probes
        (0.6, 0.5, 0, 0.05),
        (0.0, 0.5, 0, 0.05),
    }
