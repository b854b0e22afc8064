"""A matrix game of one person at the terminal, ``tomeval play``, kept in a run folder.

The person is told what models are told, and asked until the answer is legal.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

import typer

from tomeval.core.coroutines import run_now
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision
from tomeval.core.parts import CommandPart
from tomeval.core.printing import Console, QuitGame, tell
from tomeval.core.text import ascii_signs
from tomeval.games.matrix.commands import Horizon
from tomeval.games.matrix.experiment import MatrixCell
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.observation import Joint, Observation, Words, option_order
from tomeval.games.matrix.play import play_episode_async
from tomeval.games.matrix.subjects.base import Answer, Seat, Subject
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.folder import add_session, locked, make_folder
from tomeval.runs.writing import WritableStore
from tomeval.strategies.templates import load_prompts

ACT, PREDICT = "act", "predict"

_TEMPLATES = {ACT: "answer/lm_act", PREDICT: "answer/lm_predict_partner_first"}
"""The questions as models read them where nothing is said of the form of the answer."""


class Asked(NamedTuple):
    """A question of one round: its words, and the options by action in the order shown."""

    form: str  # "act" or "predict"
    round: int
    text: str
    options: dict[int, str]


class Person(Subject):
    """A person, who plays with ``tomeval play``; ``tomeval run`` asks nobody.

    Rules, past rounds and questions are the templates' own words. Both questions of a round are
    answered before anything of the round is shown.
    """

    by_run: ClassVar[bool] = False
    reads_templates: ClassVar[bool] = True

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self.source: Callable[[Asked], Decision] | None = None
        self.past: list[Joint] = []
        self.right = 0
        self._prompts = load_prompts("matrix", "", seat.base)
        self._order = option_order("fixed", seat.game.n, seat.game.m, seat.rng)
        self._words = Words(seat.game, seat.labels, seat.horizon, self._order, goal="win")
        self._predicted: Decision | None = None

    def rules(self) -> str:
        """Return the rules in words."""
        payoffs = self._words.payoff_lines()
        return self._prompts.render("context/rules", payoffs=payoffs, **self._words.common)

    def history(self) -> list[str]:
        """Return the past rounds in words; a heading stands above the first one."""
        values = (self._words.round_values(n, joint) for n, joint in enumerate(self.past, 1))
        return [self._prompts.render("context/history", **one) for one in values]

    def asked(self, form: str, number: int) -> Asked:
        """Return a question of a round, from 1."""
        values = {**self._words.common, "round": number, "given": ""}
        labels = self.seat.labels.own if form == ACT else self.seat.labels.partner
        order = self._order.own if form == ACT else self._order.partner
        text = self._prompts.render(_TEMPLATES[form], **values)
        return Asked(form, number, text, {action: labels[action] for action in order})

    def act(self, observation: Observation) -> Answer:
        """Put both questions of the round; return the action."""
        if self.source is None:
            raise TomevalError("a person plays with tomeval play, not here")
        details = {"own_order": self._order.own, "partner_order": self._order.partner}
        chosen, self._predicted = (
            dataclasses.replace(self.source(self.asked(form, observation.round)), details=details)
            for form in (ACT, PREDICT)
        )
        return chosen

    def predict(self, observation: Observation, own_action: int | None) -> Answer | None:
        """Return the prediction of the round, which `act` has asked for."""
        return self._predicted

    def observe(self, joint: Joint) -> None:
        """Remember the round, and whether the prediction was right."""
        self.past.append(joint)
        assert self._predicted is not None
        self.right += self._predicted.action == joint.partner


_WORDS = "history: all rounds so far; rules: the rules again; quit: stop (the game is not kept)"


def session(
    game: str,
    partners: str,
    *,
    name: str = "person",
    horizon: int = 100,
    labels: str | None = None,
    seed: int = 0,
) -> Experiment:
    """Return what is played at the terminal as an experiment of one cell.

    Parameters
    ----------
    game, partners
        As an experiment names them.
    name : str
        What the person is called in tables.
    """
    data = {
        "name": "play",
        "games": [{"game": game} | ({"labels": labels} if labels else {})],
        "partners": [partners],
        "subjects": [{"kind": "person", "name": name}],
        "horizon": horizon,
        "seed": seed,
        "episodes": 1,
    }
    return make_experiment(data, base=Path(), where="play")


def folder_name(experiment: Experiment) -> str:
    """Return a name for the folder of what `session` describes, in characters of file names."""
    cell = experiment.cells[0]
    assert isinstance(cell, MatrixCell)
    words = ("play", cell.setup.game.name, cell.setup.partners.name, cell.subject)
    return re.sub(r"[^\w.-]+", "-", "_".join(words)).strip("-.")


def play_session(experiment: Experiment, console: Console, folder: Path) -> bool:
    """Play one episode into a run folder; tell whether it went to its end.

    A game that is left is not kept. The same experiment can be played again and again: each time
    is an episode.

    Raises
    ------
    TomevalError
        The folder holds another experiment or other files, is in use or cannot be written.
    """
    [cell] = experiment.cells
    assert isinstance(cell, MatrixCell)
    make_folder(folder)
    with locked(folder):
        store = WritableStore(folder, get_domain("matrix"))
        try:
            episode = len(store.episodes(0))
            store.begin(experiment.identity(), episode + 1)
            add_session(store, 0)
            match = _Match(console)
            console.say("Type ? for help at any time.")
            try:
                record = run_now(play_episode_async(cell.setup, episode, on_seated=match.sit))
            except (QuitGame, KeyboardInterrupt):
                console.say("\nThe game was not finished, and is not kept.")
                return False
            store.add(0, [record])
            match.end()
            return True
        finally:
            store.close()


class _Match:
    """One person's episode at the terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.shown = -1  # how many rounds were told

    def sit(self, subject: Subject) -> None:
        """Put the questions to a person."""
        assert isinstance(subject, Person), "not a cell played by people"
        self.person, subject.source = subject, self._answer

    def end(self) -> None:
        """Print how the game ended."""
        person = self.person
        total = sum(joint.own_reward for joint in person.past)
        self.console.say(
            f"\n{person.history()[-1]}\n\nThe game is over. Your rewards add up to {total:g}; "
            f"{person.right} of your {len(person.past)} predictions were right."
        )

    def _answer(self, asked: Asked) -> Decision:
        """Ask until a line names an option."""
        console, person = self.console, self.person
        lines = person.history()
        if self.shown < 0:
            console.say(f"\n{person.rules()}")
        if max(0, self.shown) < len(lines):
            console.say("\n" + "\n".join(lines[max(0, self.shown) :]))
        self.shown = len(lines)
        attempts = 0

        def parse(line: str) -> tuple[int] | str:
            nonlocal attempts
            attempts += 1
            return chosen(line, asked.options)

        listed = ", ".join(asked.options.values())
        help_ = f"  Type one of: {listed}; or its number in this list, from 1\n  {_WORDS}"
        history = "\n".join(f"  {line}" for line in lines) or "  nothing has happened yet"
        pages = {"?": help_, "help": help_, "history": history, "rules": person.rules()}
        labels = {label.casefold() for label in asked.options.values()}
        pages = {word: page for word, page in pages.items() if word not in labels}
        console.say(f"\n{asked.text}")
        (action,) = console.question("> ", parse, pages)
        return Decision(action, attempts=attempts)


def chosen(line: str, options: Mapping[int, str]) -> tuple[int] | str:
    """Return the action that a person named, or what is wrong with the line.

    An option is its label, or its place in the list; the case does not matter. A label goes first.

    Examples
    --------
    >>> options = {1: "Defect", 0: "Cooperate"}
    >>> chosen("defect", options), chosen("2", options)
    ((1,), (0,))
    >>> chosen("d", options)
    "'d' is not one of: Defect, Cooperate"
    """
    said = ascii_signs(line).casefold()
    for action, label in options.items():
        if said == ascii_signs(label).casefold():
            return (action,)
    places = [str(place) for place, _ in enumerate(options, 1)]
    if line in places:
        return ([*options][places.index(line)],)
    return f"{line!r} is not one of: {', '.join(options.values())}"


def play(
    game: Annotated[str, typer.Argument(help="A matrix game, or a TOML file.")],
    partner_set: Annotated[str, typer.Argument(help="A partner or partner set.")],
    horizon: Horizon = 20,
    labels: Annotated[str | None, typer.Option("--labels", help="A label set.")] = None,
    name: Annotated[str, typer.Option("--name", help="Your name in tables.")] = "person",
    seed: Annotated[
        int, typer.Option("--seed", help="Decides which partner you meet, and what it draws.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The run folder. Default: runs/play_GAME_PARTNER_NAME."),
    ] = None,
) -> None:
    """Play a matrix game yourself: choose and predict in every round; stored as a run.

    Played again, it adds an episode.
    """
    experiment = session(game, partner_set, name=name, horizon=horizon, labels=labels, seed=seed)
    folder = out or Path("runs") / folder_name(experiment)
    if play_session(experiment, Console(sys.stdin, sys.stdout), folder):
        tell(f"{folder}: next: tomeval table {folder}")


def _is_game(name: str) -> bool:
    return name.endswith(".toml") or name.lower() in map(str.lower, GAMES)


PLAY = CommandPart(play, _is_game, lambda: list(GAMES))
