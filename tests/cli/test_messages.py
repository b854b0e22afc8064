"""Messages for what newcomers type: each names what is wrong and what was probably meant."""

from __future__ import annotations

import pytest
from fake_server import FakeServer

import tomeval as package

EXPERIMENT = 'name = "mine"\ngames = ["RPS"]\nsubjects = ["rmax"]\n'
FILES = [
    ("own.toml", 'game = ["RPS"]\nsubjects = ["rmax"]\n', "'game' (did you mean 'games'?)"),
    ("own.yaml", "# mine\ngames: [RPS]\n", "experiments are TOML"),
    ("own.toml", 'games = ["RPS"\n', "own.toml: not valid TOML"),
    ("own.csv", "episode,step\n1,1\n", "`tomeval import` makes a run"),
]


@pytest.mark.parametrize(("name", "text", "message"), FILES)
def test_what_is_no_experiment_is_named(tomeval, tmp_path, monkeypatch, name, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    code, _, errors = tomeval("run", name)
    assert code == 2
    assert message in errors
    assert len(errors.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


NO_MODEL = [
    ('subjects = [{ strategy = ["QA", "LM"] }, "rmax"]', "subjects[0]: ['QA', 'LM']"),
    ('subjects = [{ name = "me", strategy = "LM" }, "rmax"]', "subjects[0]: 'me'"),
    ('subjects = "llm"', "subjects[0]: 'llm'"),
    ('subjects = "rmax"\npartners = { strategy = "QA" }', "games[0]: partners: 'QA'"),
    ('domain = "decrypto"\nplayers.a.strategy = "QA"', "players.a:"),
    ('domain = "arena"\nplayers.a.strategy = "QA"', "players.a:"),
]
REST = {
    "matrix": 'games = "RPS"\n',
    "decrypto": '[[pairings]]\nencoder = "a"\ndecoder = "a"\ninterceptor = "a"\n',
    "arena": '[games.g]\ngame = "ipd3"\n[[lineups]]\ngame = "g"\nsubject = "a"\nothers = "a"\n',
}


@pytest.mark.parametrize(("text", "who"), NO_MODEL)
def test_a_strategy_without_a_model_is_refused(tomeval, tmp_path, monkeypatch, text, who):
    """No model is played that nobody named; a prompt, which asks none, is shown."""
    monkeypatch.chdir(tmp_path)
    kind = next((kind for kind in REST if f'"{kind}"' in text), "matrix")
    (tmp_path / "own.toml").write_text(f"{text}\n{REST[kind]}")
    for command in ("run", "plan"):
        code, _, errors = tomeval(command, "own.toml")
        assert code == 2
        assert errors.startswith(f"tomeval: own.toml: {who} needs a model")
        assert 'model = "NAME" beside it or in the experiment, or use --model NAME' in errors
        assert ('"pocket" is the embedded one' in errors) == (kind == "matrix")
        assert len(errors.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["own.toml"]
    known = "pocket" if kind == "matrix" else f"scripted:{kind}"
    assert tomeval("plan", "own.toml", "--model", known)[0] == 0
    code, named, _ = tomeval("prompt", "--experiment", "own.toml", "--model", known)
    assert code == 0
    assert tomeval("prompt", "--experiment", "own.toml")[:2] == (0, named)


NO_RUN = [
    ("nope", "nope: not a run folder (no such folder); `tomeval run EXPERIMENT` makes one"),
    ("mine.toml", "mine.toml: is a file, not a run folder; `tomeval run mine.toml` takes"),
    ("runs/mine/episodes.jsonl", "is a file, not a run folder; name its folder: runs/mine"),
    ("mine", "(no such folder); did you mean runs/mine?"),
    ("runs/minne", "did you mean runs/mine?"),
    ("log.csv", "log.csv: is a file, not a run folder; `tomeval import log.csv`"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with an experiment, a run of it, and a file that is neither."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "mine.toml").write_text(EXPERIMENT + "horizon = 3\nepisodes = 2\n")
    package.run(folder / "mine.toml", folder / "runs" / "mine").close()
    (folder / "log.csv").write_text("episode,step\n")
    return folder


@pytest.fixture
def played(home, monkeypatch):
    """Stand in that folder, in which nothing is made."""
    monkeypatch.chdir(home)
    before = sorted(home.rglob("*"))
    yield
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize(("name", "message"), NO_RUN)
def test_what_is_no_run_says_what_it_is_and_what_to_do(tomeval, played, name, message) -> None:
    code, _, errors = tomeval("table", name)
    assert (code, len(errors.splitlines())) == (2, 1)
    assert message in errors


MISTAKES = [
    ("table", "missing argument 'RUN...'; see `tomeval table --help`"),
    ("tabel runs/mine", "no such command 'tabel' (did you mean 'table'?)"),
    ("table runs/mine --metrc tom", "no such option: --metrc (did you mean --metric?)"),
    ("table runs/mine --format cvs", "(did you mean 'csv'?); see `tomeval table --help`"),
    ("table runs/mine --metric regrets", "unknown metric 'regrets' (did you mean 'regret'?)"),
    ("plot runs/mine", "missing option '--out'"),
    ("plot runs/mine --out p --only plan", "(did you mean 'plane'?)"),
    ("report runs/mine -o x.pdf", "-o x.pdf: a report is one HTML file: x.html"),
    ("compare runs/mine --what power --difference 0.1", "give one --metric and the --difference"),
    ("compare runs/mine --what powr", "unknown comparison 'powr' (did you mean 'power'?)"),
    ("compare runs/mine --margin tom_percent=x", "write METRIC=VALUE"),
    ("run mine.toml --episodes 3", "no such option: --episodes; write --set episodes=VALUE"),
    ("run mine.toml --set temperature=0", "'temperature' is an option of a player"),
    ("run mine.toml --set structured=auto", "'structured' is an option of a model"),
    ("run mine.toml --epsiodes 3", "no such option: --epsiodes; write --set episodes=VALUE"),
    ("run mine.toml --temperature 0", "--temperature; 'temperature' is an option of a player"),
    ("run quickstrat", "and no shipped experiment (did you mean 'quickstart'?)"),
    ("init game --domain arenna", "unknown domain 'arenna' (did you mean 'arena'?)"),
    ("table runs", "runs: not a run folder (no experiment.json in it); it holds the runs mine"),
    ("table runs/mine -o mine.xlsx", "-o mine.xlsx: the ending must be csv, json, md, tex, txt"),
    ("plot runs/mine --out p --only forest --all", "--only and --all cannot be combined"),
    (
        "plot runs/mine --out p --metric regret --only tom",
        "--metric delta_functional_per_step",
    ),
    ("run mine", "mine: no such file, and no shipped experiment (did you mean 'mine.toml'?)"),
    ("run runs/mine", "runs/mine: is a folder, not an experiment file"),
    ("run mine.toml --set horizon", "write key=value, for example episodes=10"),
    ("run mine.toml --set horizon=many", "horizon[0]: input should be a valid integer, is 'many'"),
    ("run mine.toml --model hf:", "'hf:' cannot be read: nothing stands after hf:; the forms"),
    ("run mine.toml --model hff:x", "cannot be read (did you mean 'hf'?); the forms"),
    ('run mine.toml --set subjects={kind="rmax",horizon=3}', "'horizon': it is a key of the exp"),
    ("run mine.toml --model pocket", "no player is a language model, so --model replaces nothing"),
    ("run known_players --set episodes=0", "episodes"),
    ("run known_players --workers 0", "workers must be at least 1"),
    ("run known_players --max-calls 9", "are for served models; none plays here"),
    ("prompt", "name a strategy"),
    ("prompt QA --cell 1", "need --experiment"),
    ("prompt QA --experiment quickstart", "leave out the strategy"),
    ("prompt --cell 99 --experiment quickstart", "no cell 99, there are"),
    ("bounds IPD tit_for_tats", "(did you mean 'tit_for_tat'?)"),
    ("prompt Oracle+Mx", "(did you mean 'Oracle + Max'?)"),
    ("prompt QAA", "strategy 'QAA' cannot be read (did you mean 'QA'?)"),
]


@pytest.mark.parametrize(("typed", "message"), MISTAKES, ids=[typed for typed, _ in MISTAKES])
def test_what_is_mistyped_is_one_line_that_helps(tomeval, played, typed, message) -> None:
    code, out, errors = tomeval(*typed.split())
    assert (code, out, len(errors.splitlines())) == (2, "", 1)
    assert message in errors


@pytest.mark.parametrize(
    ("model", "strategy", "message"),
    [
        ("toyy", "QA", "the server does not list the model toyy (did you mean 'toy'?)"),
        ("toy", "LM", "labels cannot be scored: leave LM and Social LM out, or ask a server"),
    ],
)
def test_what_a_server_cannot_is_said_before_play(
    tomeval, tmp_path, monkeypatch, caplog, model, strategy, message
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f'games = ["RPS"]\nsubjects = [{{ strategy = "{strategy}" }}]\nhorizon = 1\n'
    (tmp_path / "llm.toml").write_text(f"{text}episodes = 1\n")
    with FakeServer("plain") as server:
        code, _, errors = tomeval("run", "llm.toml", "--model", f"openai:{model}@{server.url}")
    assert code > 0
    assert message in errors + caplog.text
