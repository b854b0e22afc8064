"""The extensions: their table says what their objects bring, and strangers may do the same."""

from __future__ import annotations

import sys
import textwrap

import pytest

from tomeval.core import parts
from tomeval.core.errors import TomevalError
from tomeval.core.parts import (
    ADDED,
    Analysis,
    CommandPart,
    NotInstalled,
    known,
    part,
    register,
    resolved,
    shipped,
)


@pytest.fixture
def clean(monkeypatch):
    """Forget what a test adds."""
    monkeypatch.setattr(parts, "_STATE", parts._Loaded())
    yield
    for name in set(sys.modules):
        if name.startswith("tomeval_plugin"):
            del sys.modules[name]


@pytest.mark.parametrize("kind", ADDED)
def test_what_the_table_says_is_there(kind) -> None:
    for name in known(kind):
        made = part(kind, name)
        if isinstance(made, Analysis):
            assert all(resolved(one) is not None for one in made[:3])
            assert all(one is None or callable(resolved(one)) for one in made[3:])
        elif kind in ("lists", "engines", "loggers", "commands", "exporters", "runs"):
            assert callable(made.run if isinstance(made, CommandPart) else made)
        elif kind == "comparisons":
            assert callable(made.table)


MINE = '''
"""What a test needs."""
from tomeval.core.parts import CommandPart, Compared, register

def greet(name: str) -> None:
    """Greet somebody."""
    print("hello", name)

def chess(game: str, clock: int = 5) -> None:
    """Play chess."""
    print("played", game, clock)

CHESS = CommandPart(chess, lambda name: name == "chess", lambda: ["chess"])

def words():
    """Return words of this test."""
    return [{"word": "quince"}]

def counted(runs, options):
    row = {"by": options["by"], "cells": len(runs[0].cells)}
    return [row], ["above it"], ["below it"]

def write(run, out):
    out.mkdir()
    (out / "mood.txt").write_text(str(len(run.cells)))
    return [out / "mood.txt"]

register("commands", "greet", greet)
register("commands", "play chess", CHESS)
register("lists", "words", words)
register("exporters", "mood", write)
register("comparisons", "counted", Compared(counted, ("--by",)))
'''


def test_a_stranger_brings_commands_lists_and_formats(clean, tmp_path, tomeval) -> None:
    from tomeval import run

    file = tmp_path / "mine.py"
    file.write_text(textwrap.dedent(MINE))

    def call(*arguments):
        return tomeval("--plugin", file, *arguments)

    assert call("greet", "you")[:2] == (0, "hello you\n")
    assert "Greet somebody." in call("--help")[1]
    assert call("play", "chess", "--clock", 3)[:2] == (0, "played chess 3\n")
    assert "Play chess." in call("play", "chess", "--help")[1]
    assert "quince" in call("list", "words")[1]
    assert "words of this test" in call("list")[1]
    assert "What a test needs." in call("list", "extensions")[1]
    folder = tmp_path / "run"
    run({"games": "RPS", "subjects": "random", "episodes": 1, "horizon": 2}, folder).close()
    out = tmp_path / "out"
    code, _, _ = call("export", folder, "--format", "mood", "--out", out)
    assert (code, (out / "mood.txt").read_text()) == (0, "1")
    code, _, errors = call("export", folder, "--format", "mod", "--out", out)
    assert code == 2
    assert "did you mean 'mood'" in errors
    code, shown, _ = call("compare", folder, "--what", "counted")
    assert code == 0
    assert shown.startswith("above it\n")
    assert "note: below it" in shown
    assert [line.split() for line in shown.splitlines() if line.startswith("strategy")] == [
        ["strategy", "1"]
    ]


def test_a_stranger_s_player_of_decrypto_takes_its_seats(clean, tmp_path) -> None:
    from tomeval import run
    from tomeval.games.decrypto.players import PlayerKind
    from tomeval.games.seats import ScriptedSeat

    kind = PlayerKind("draws, by its luck", {"luck": 1}, lambda *made: ScriptedSeat(made[-1]))
    register("players", "decrypto lucky", kind)
    data = {"domain": "decrypto", "episodes": 2, "players": {"a": {"kind": "lucky"}}}
    with run(data, tmp_path / "run") as opened:
        [cell] = opened.cells
        assert len(cell.episodes) == 2
        assert cell.definition["players"]["decoder"]["options"] == {"luck": 1}
    for table, words in (
        ({"kind": "lucky", "lock": 2}, "no option 'lock' .did you mean 'luck'"),
        ({"kind": "lucki"}, "unknown kind of player 'lucki' .did you mean 'lucky'"),
    ):
        with pytest.raises(TomevalError, match=words):
            run(data | {"players": {"a": table}}, tmp_path / "other")


def test_names_are_taken_once(clean) -> None:
    register("lists", "words", print)
    with pytest.raises(TomevalError, match=r"list 'words': the name is taken by builtins\.print"):
        register("lists", "words", len)
    with pytest.raises(TomevalError, match="taken by the extension 'regression'"):
        register("comparisons", "regression", print)
    with pytest.raises(TomevalError, match="cannot be shown"):
        register("lists", "\n", print)
    with pytest.raises(TomevalError, match=r"unknown kind of part 'list' .did you mean 'lists'"):
        register("list", "words", print)
    register("lists", "words", print)  # itself again
    assert part("lists", "words") is print


def test_one_that_is_not_here_is_one_line(clean, monkeypatch, tomeval) -> None:
    from tomeval.extensions import Extension

    gone = Extension("is gone", commands={"gone": "tomeval.extensions.gone.away:go"})
    monkeypatch.setitem(shipped(), "gone", gone)
    parts._shipped.cache_clear()
    try:
        with pytest.raises(NotInstalled, match="the extension 'gone' cannot be loaded"):
            part("commands", "gone")
        code, _, errors = tomeval("gone", "--fast")
        assert code == 2
        assert errors.startswith("tomeval: the extension 'gone' cannot be loaded")
        assert "is not here: is gone" in " ".join(tomeval("list", "extensions")[1].split())
    finally:
        parts._shipped.cache_clear()


@pytest.mark.parametrize("made", ["no.such.module:go", "json:no_such_object", "/a/path.toml"])
def test_a_stranger_s_part_that_is_not_there_is_one_line(clean, tmp_path, tomeval, made) -> None:
    path = tmp_path / "gone.py"
    path.write_text(f"from tomeval.core.parts import register\nregister('lists', 'x', '{made}')\n")
    code, _, errors = tomeval("--plugin", str(path), "list", "x")
    assert code == 2
    assert f"{made} cannot be loaded" in " ".join(errors.split())
