"""Tables, figures, exports and commands on a small run of language models with probes."""

from __future__ import annotations

import csv
import io

import pytest

from tomeval.games.decrypto.seats import ROLES
from tomeval.games.decrypto.tables import TABLES

TOML = """
domain = "decrypto"
name = "small"
episodes = 5
seed = [1, 2]
model = "scripted:decrypto"
[rules]
turns = 3
[probes]
eve = true
eve_reminded = true
bob = true
beliefs = true
beliefs_in_view = true
[players.script]
[players.minilm]
embedding = "minilm"
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A run with language-model seats and probes."""
    import tomeval

    folder = tmp_path_factory.mktemp("small")
    (folder / "small.toml").write_text(TOML)
    tomeval.run(folder / "small.toml", folder / "run").close()
    return folder / "run"


@pytest.mark.parametrize("what", TABLES)
@pytest.mark.parametrize("by", [(), ("encoder",), ("interceptor", "encoder")])
def test_tables(small, tomeval, what, by) -> None:
    args = ["table", small, "--what", what, "--format", "csv"]
    for role in by:
        args += ["--by", role]
    code, out, _ = tomeval(*args)
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    named = {tuple(row[role] for role in by or ROLES) for row in rows}
    if what == "turns":  # none where all games are void: this Bob cannot read that Alice
        assert len(rows) <= 3 * len(named)
    else:
        assert len(rows) == len(named) == 2 ** (len(by) or 3)
    assert "–" not in out
    assert tomeval(*args, "--format", "text")[0] == 0


def test_transcript(small, tomeval) -> None:
    _, out, _ = tomeval("transcript", small, "--cell", "0", "--episode", "1", "--no-calls")
    assert "== step 2: Alice (script), encode: " in out
    assert "[predicts keywords: one, two, three, four; true: " in out


def test_play(tmp_path, tomeval) -> None:
    games = tmp_path / "games.json"
    play = ("play", "decrypto", "--seed", "4", "--out", games, "--set", "rules.turns=2")
    code, out, _ = tomeval(*play, stdin="9\n123\n134\n")
    assert code == 0
    assert "Alice and Bob win" in out
    games.write_text("{}")
    assert "games.json: missing key 'format'" in tomeval(*play, stdin="123\n134\n")[2]
    assert games.read_text() == "{}"
