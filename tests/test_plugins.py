"""Parts from outside: one decorator each, by hand and through a package with an entry point."""

from __future__ import annotations

import asyncio
import re
import sys
import textwrap

import numpy as np
import pytest
from asking import query
from attacks.commands import call

import tomeval
from tomeval.core import parts
from tomeval.core.errors import TomevalError
from tomeval.core.parts import ADDED, load_plugins
from tomeval.models.base import Capabilities
from tomeval.models.scripted import ScriptedModel
from tomeval.runs.domain import get_domain
from tomeval.strategies import Strategy, all_strategies, parse_strategy
from tomeval.strategies.advice import Advice
from tomeval.strategies.parts import ADVICE, PARTS
from tomeval.strategies.questions import Told

MODULE = '''
"""Everything that a package can bring."""
import numpy as np
import tomeval
from pathlib import Path
from tomeval.models.scripted import ScriptedModel
from tomeval.strategies.advice import Advice
from tomeval.strategies.questions import Told

HERE = Path(__file__).parent

@tomeval.register_advice("Reminder", about="a reminder", templates=HERE / "prompts")
class Reminder(Advice):
    """Says again what counts."""
    async def before_act(self, desk, foresight):
        return Told(desk.render("advice/reminder", round=desk.scene.step))

@tomeval.register_subject("first")
class First(tomeval.Subject):
    """Always takes the first action."""
    def __init__(self, seat, guess: int = 0):
        super().__init__(seat)
        self.guess = guess
    def act(self, observation):
        return tomeval.Decision(0)
    def predict(self, observation, own_action):
        return tomeval.Decision(self.guess)

@tomeval.register_model("parrot", "parrot:WORD")
def parrot(name, options, opening):
    word = name.partition(":")[2]
    return ScriptedModel(lambda request: f"Final answer: {word}", name)

@tomeval.register_measure("matrix", "first_percent", heading="first %", unit="%", better=0,
    meaning="Share of steps with the first action.", source="this test")
def first(played, reference):
    hits = np.split(played.own == 0, np.cumsum(played.lengths)[:-1])
    return np.array([100.0 * part.mean() for part in hits])
'''
HEAD = '+++\ntitle = "A reminder"\nsource = "test"\nversion = "1"\n+++\n'
TEMPLATE = HEAD + "Round {{ round }} counts.\n"


@pytest.fixture
def clean(monkeypatch):
    """Forget what a test registers, and look for plugins anew."""
    modules = set(sys.modules)
    monkeypatch.setattr(parts, "_STATE", parts._Loaded())
    yield
    for key in set(PARTS) - set(ADVICE):
        del PARTS[key]
    for name in set(sys.modules) - modules:
        if "own_parts" in name or name.startswith("tomeval_plugin"):
            del sys.modules[name]


@pytest.fixture
def package(tmp_path, monkeypatch, clean):
    """Return a folder on the path with an installed-like package; tests may change its module."""
    site = tmp_path / "site"
    home = site / "own_parts"
    (home / "prompts" / "matrix" / "advice").mkdir(parents=True)
    (home / "__init__.py").write_text(MODULE)
    (home / "prompts" / "matrix" / "advice" / "reminder.j2").write_text(TEMPLATE)
    about = site / "own_parts-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own-parts\nVersion: 1.5\n")
    (about / "entry_points.txt").write_text("[tomeval.extensions]\nmine = own_parts\n")
    monkeypatch.syspath_prepend(str(site))
    return home


# --- an installed package -------------------------------------------------------------------------


def test_a_package_brings_every_kind_of_part(package, tmp_path) -> None:
    experiment = {
        "games": "RPS",
        "partners": "cycler",
        "horizon": 4,
        "episodes": 3,
        "subjects": [
            {"kind": "first", "guess": [0, 1]},
            {"strategy": ["S2A + Reminder + CoT", "Reminder"], "model": "parrot:Rock"},
        ],
    }
    careful = "S2A + Reminder + CoT"
    with tomeval.run(experiment, tmp_path / "run") as run:
        rows = {row["subject"]: row for row in run.rows()}
        assert set(rows) == {"first(guess=0)", "first(guess=1)", careful, "Reminder"}
        # Each of them plays the first action in every step; the cycler shows 0, 1, 2, 0.
        assert {row["first_percent"] for row in rows.values()} == {100.0}
        assert rows["first(guess=0)"]["tom_percent"] == pytest.approx(50.0)
        measure = run.measures["first_percent"]
        assert (measure.heading, measure.unit, measure.better) == ("first %", "%", 0)
        prompts = [
            message["content"]
            for (record,) in query(run, "SELECT record FROM calls WHERE cell = 3")
            for message in [{"content": str(record)}]
        ]
        assert any("Round 2 counts." in text for text in prompts)


def test_nothing_changes_for_those_who_do_not_use_a_part(package) -> None:
    from tomeval.strategies.options import ModelOptions

    before = ModelOptions(strategy="QA").templates("matrix", None).sha256()
    names = [strategy.name for strategy in all_strategies()]
    load_plugins()
    assert ModelOptions(strategy="QA").templates("matrix", None).sha256() == before
    assert ModelOptions(strategy="Reminder").templates("matrix", None).sha256() != before
    assert [s.name for s in all_strategies() if s.advice != "reminder"] == names
    for strategy in all_strategies():
        assert parse_strategy(strategy.name) == strategy
    with pytest.raises(TomevalError, match="no templates for the domain 'decrypto'"):
        ModelOptions(strategy="Reminder").templates("decrypto", None)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_module_x", "ModuleNotFoundError: No module named 'no_such_module_x'"),
        ("1 / 0", "ZeroDivisionError"),
        (
            "import tomeval\ntomeval.register_subject('rmax')(type('R', (tomeval.Subject,), {}))",
            "subject 'rmax': the name is taken by tomeval.games.matrix.subjects.learners.RMax",
        ),
    ],
)
def test_a_broken_plugin_is_one_error_that_names_its_package(package, source, message) -> None:
    (package / "__init__.py").write_text(source)
    for _ in range(2):  # it does not become silent after the first time
        with pytest.raises(TomevalError) as error:
            get_domain("matrix")
        assert "the plugin 'mine' of own-parts 1.5 cannot be loaded" in str(error.value)
        assert message in str(error.value)
        assert "uninstall" in str(error.value)


# --- a file for one command -----------------------------------------------------------------------


def test_a_file_is_a_plugin_for_one_command(clean, tmp_path, tomeval) -> None:
    (tmp_path / "mine.py").write_text(textwrap.dedent(MODULE))
    folder = tmp_path / "prompts" / "matrix" / "advice"
    folder.mkdir(parents=True)
    (folder / "reminder.j2").write_text(TEMPLATE)
    code, out, _ = tomeval("--plugin", tmp_path / "mine.py", "prompt", "Reminder")
    assert not code
    assert "Round 5 counts." in out
    code, _, errors = tomeval("--plugin", tmp_path / "mime.py", "prompt", "QA")
    assert code == 2
    assert "no such file (did you mean 'mine.py'?)" in errors
    code, _, errors = tomeval("--plugin", "no_such_module_x", "prompt", "QA")
    assert code == 2
    assert "name a file that ends in .py, or a package's folder" in errors


def test_help_stands_where_a_command_of_a_plugin_cannot_be_loaded(clean, tmp_path, tomeval) -> None:
    lines = "from tomeval.core.parts import register"
    (tmp_path / "own.py").write_text(f"{lines}\nregister('commands', 'lost', 'nowhere:thing')\n")
    code, out, errors = tomeval("--plugin", tmp_path / "own.py", "--help")
    assert (code, "lost" in out, "Make a run folder" in out) == (0, False, True)
    assert len(errors.splitlines()) == 1
    assert "nowhere" in errors


# --- decorators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "2 fast", "a+b", "a  b", "-History", "QA", "Cot3 Shot"])
def test_names_that_strategies_cannot_have(clean, name) -> None:
    before = [strategy.name for strategy in all_strategies()]
    with pytest.raises(TomevalError, match="strategy part"):
        tomeval.register_advice(name)(type("Mine", (Advice,), {}))
    assert [strategy.name for strategy in all_strategies()] == before


def test_the_grammar_extends(clean) -> None:
    @tomeval.register_advice("Team Talk")
    class Talk(Advice):
        """Talks to itself."""

    assert parse_strategy("s2a + team talk + cot") == Strategy("s2a", "team_talk", "cot")
    assert parse_strategy({"advice": "team_talk"}).name == "Team Talk"
    with pytest.raises(TomevalError, match="two parts of the same kind: Team Talk and Oracle"):
        parse_strategy("Team Talk + Oracle")
    with pytest.raises(TomevalError, match="did you mean 'Team Talk'"):
        parse_strategy("Team Tallk")


def test_a_part_does_only_what_it_declares(clean, tmp_path) -> None:
    def part(name, **methods):
        return tomeval.register_advice(name)(type(name, (Advice,), methods))

    async def writes(self, player, foresight):
        return Told(await player.write("think", "note", "Think.", 1))

    async def predicts(self, desk, foresight):
        await foresight.expected("qa")
        return Told()

    async def looks(self, desk, foresight):
        await foresight.truth()
        return Told()

    part("Writes", before_act=writes)
    part("Asks", ask_along=lambda self, player: "Say why.")
    part("Predicts", before_act=predicts)
    part("Looks", before_act=looks)

    @tomeval.register_model("rock")
    def rock(name, options, opening):
        return ScriptedModel(lambda request: "Final answer: Rock", name)

    for name, missing in (
        ("Writes", "must have writes = True"),
        ("Asks", "must have writes = True"),
        ("Predicts", "must have predicts_first = True"),
        ("Looks", "must have is_told = True"),
    ):
        subject = {"strategy": name, "model": "rock"}
        experiment = {"games": "RPS", "subjects": subject, "episodes": 1, "horizon": 2}
        with pytest.raises(TomevalError, match=missing):
            tomeval.run(experiment, tmp_path / name)


def test_the_literal_question_shows_what_was_written_before_the_move(clean, tmp_path) -> None:
    @tomeval.register_advice("Noted")
    class Noted(Advice):
        """Writes a note before every move."""

        writes, note = True, ""

        async def before_act(self, player, foresight):
            self.note = await player.write("think", "plan", "Write a note.", player.scene.step)
            return Told()

        def memory(self, player):
            return self.note

    notes, shown = [], []

    class Served(ScriptedModel):
        """Answers while others are asked, as a server does."""

        def episode(self, answered):
            self.capabilities = Capabilities()
            return self

        async def generate(self, request):
            await asyncio.sleep(0)
            return await super().generate(request)

    @tomeval.register_model("noting")
    def noting(name, options, opening):
        def script(request):
            text = str(request.prompt)
            if "Write a note." in text:
                notes.append(f"Note {len(notes) + 1}.")
                return notes[-1]
            shown.append(notes[-1] in text)
            return "Final answer: Rock"

        return Served(script, name)

    subject = {"strategy": "Noted", "model": "noting"}
    experiment = {"games": "RPS", "subjects": subject, "episodes": 1, "horizon": 3}
    tomeval.run(experiment, tmp_path / "run").close()
    assert len(shown) == 2 * len(notes) > 0
    assert all(shown)


def test_measures_are_checked(clean, tmp_path) -> None:
    fields = {"heading": "x", "meaning": "X.", "unit": "points", "better": 1, "source": "test"}
    with pytest.raises(TomevalError, match="the name does not fit the unit 'points'"):
        tomeval.register_measure("matrix", "x_percent", **fields)(lambda played, reference: 0)
    get_domain("matrix")
    taken = {**fields, "unit": "%"}
    with pytest.raises(
        TomevalError, match="the domain 'matrix' already has a measure of this name"
    ):
        tomeval.register_measure("matrix", "tom_percent", **taken)(lambda played, reference: 0)
    assert "x_percent" not in get_domain("matrix").measures


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (
            lambda played: np.zeros((2, 2)),
            "one value per episode, here shape (2,), but gave shape (2, 2)",
        ),
        (lambda played: np.zeros(3), "one value per episode, here shape (2,), but gave shape (3,)"),
        (lambda played: played.nothing, "cannot be computed: AttributeError: "),
        (lambda played: "abc", "cannot be computed: ValueError: "),
    ],
)
def test_a_measure_that_fails_is_one_line(clean, tmp_path, of, why) -> None:
    fields = {"heading": "x", "meaning": "X.", "unit": "points", "better": 1, "source": "test"}
    experiment = {"games": ["RPS", "IPD"], "subjects": "random", "episodes": 2, "horizon": 2}
    tomeval.run(experiment, tmp_path / "run").close()
    tomeval.register_measure("matrix", "odd", **fields)(lambda played, reference: of(played))
    with tomeval.Run(tmp_path / "run") as run:
        with pytest.raises(TomevalError, match="^measure 'odd'.*" + re.escape(why)):
            run.rows()
        assert len(run.rows(names=["reward_per_step"])) == 2


def test_a_run_is_read_without_the_plugin_whose_strategy_played(package, tmp_path) -> None:
    experiment = {
        "games": "RPS",
        "partners": "cycler",
        "horizon": 4,
        "episodes": 3,
        "subjects": [{"strategy": ["Reminder + CoT", "QA"], "model": "parrot:Rock"}],
    }
    with tomeval.run(experiment, tmp_path / "run") as run:
        before = [dict(row) for row in run.rows()]
    for key in set(PARTS) - set(ADVICE):
        del PARTS[key]
    for kind in ADDED.keys() - {"models"}:
        brought = ADDED[kind].items()
        ADDED[kind] = {n: one for n, one in brought if one.extension != "own_parts"}
    (package.parent / "own_parts-1.5.dist-info" / "entry_points.txt").write_text("")
    with pytest.raises(TomevalError, match="install its package or name it with --plugin"):
        parse_strategy("Reminder + CoT")
    commands = (
        ("table", "--what", "cells", "--all"),
        ("status",),
        ("transcript",),
        ("export", "--what", "steps", "--format", "csv"),
        ("report", "-o", tmp_path / "r.html"),
        ("plot", "-o", tmp_path / "p", "--all"),
    )
    for command, *options in commands:
        told = call(command, tmp_path / "run", *options)
        assert told.crash == ""
        assert told.code == 0
    with tomeval.Run(tmp_path / "run") as run:
        after = run.rows()  # without the measure that the package brought
        parts_of = ("context", "advice", "answer_part")  # of a strategy that nobody knows
        kept = [key for key in after[0] if key not in parts_of]
        same = [[{key: row[key] for key in kept} for row in rows] for rows in (after, before)]
        assert repr(same[0]) == repr(same[1])
        assert "Reminder" in str(before[0]["strategy"])
