"""A matrix game of one person at the terminal, ``tomeval play``, kept in a run folder.

The person is told what models are told, and asked until the answer is legal.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision, run_now
from tomeval.core.parts import CommandPart
from tomeval.core.printing import Console, QuitGame, tell
from tomeval.core.text import ascii_signs
from tomeval.games.matrix.commands import Horizon
from tomeval.games.matrix.experiment import MatrixCell
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.play import play_episode_async
from tomeval.games.matrix.rules import Joint, Observation
from tomeval.games.matrix.scene import Words, option_order
from tomeval.games.matrix.subjects.base import Answer, Seat, Subject
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.folder import add_session, locked, make_folder
from tomeval.runs.writing import WritableStore
from tomeval.strategies.templates import load_prompts

_QUESTIONS = {"act": "answer/lm_act", "predict": "answer/lm_predict_partner_first"}
"""As models read them where nothing is said of the form of the answer."""

_WORDS = "history: all rounds so far; rules: the rules again; quit: stop (the game is not kept)"


class Person(Subject):
    """A person, who plays with ``tomeval play``; ``tomeval run`` asks nobody.

    Rules, past rounds and questions are the templates' own words. Both questions of a round are
    answered before anything of the round is shown.
    """

    reads_templates: ClassVar[bool] = True
    console: Console | None = None

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self._past: list[Joint] = []
        self._right, self._shown = 0, 0
        self._prompts = load_prompts("matrix", "", seat.base)
        self._order = option_order("fixed", seat.game.n, seat.game.m, seat.rng)
        self._words = Words(seat.game, seat.labels, seat.horizon, self._order, goal="win")
        self._predicted: Decision | None = None

    def act(self, observation: Observation) -> Answer:
        """Put both questions of the round; return the action."""
        chosen, self._predicted = (self._answer(form, observation.round) for form in _QUESTIONS)
        return chosen

    def predict(self, observation: Observation, own_action: int | None) -> Answer | None:
        """Return the prediction of the round, which `act` has asked for."""
        return self._predicted

    def observe(self, joint: Joint) -> None:
        """Remember the round, and whether the prediction was right."""
        self._past.append(joint)
        assert self._predicted is not None
        self._right += self._predicted.action == joint.partner

    def ending(self) -> str:
        """Return how the game ended, in words."""
        total = sum(joint.own_reward for joint in self._past)
        return (
            f"\n{self._history()[-1]}\n\nThe game is over. Your rewards add up to {total:g}; "
            f"{self._right} of your {len(self._past)} predictions were right."
        )

    def _history(self) -> list[str]:
        """Return the past rounds in words; a heading stands above the first one."""
        values = (self._words.round_values(n, joint) for n, joint in enumerate(self._past, 1))
        return [self._prompts.render("context/history", **one) for one in values]

    def _answer(self, form: str, number: int) -> Decision:
        """Tell what is new, and ask until a line names an option."""
        console, words, lines = self.console, self._words, self._history()
        if console is None:
            raise TomevalError("a person plays with tomeval play, not here")
        rules = self._prompts.render("context/rules", payoffs=words.payoff_lines(), **words.common)
        own = form == "act"
        if number == 1 and own:
            console.say(f"\n{rules}")
        if self._shown < len(lines):
            console.say("\n" + "\n".join(lines[self._shown :]))
        self._shown, attempts = len(lines), itertools.count(1)
        labels = self.seat.labels.own if own else self.seat.labels.partner
        order = self._order.own if own else self._order.partner
        options = {action: labels[action] for action in order}
        help_ = f"  Type one of: {', '.join(options.values())}; or its number in this list, from 1"
        pages = dict.fromkeys(("?", "help"), f"{help_}\n  {_WORDS}") | {"rules": rules}
        pages["history"] = "\n".join(f"  {line}" for line in lines) or "  nothing has happened yet"
        for label in labels:
            pages.pop(label.casefold(), None)
        values = {**words.common, "round": number, "given": ""}
        console.say(f"\n{self._prompts.render(_QUESTIONS[form], **values)}")
        action, asked = console.question(
            "> ", lambda line: chosen(line, options, next(attempts)), pages
        )
        details = {"own_order": self._order.own, "partner_order": self._order.partner}
        return Decision(action, attempts=asked, details=details)


def chosen(line: str, options: Mapping[int, str], attempt: int = 1) -> tuple[int, int] | str:
    """Return the action that a person named and the attempt, or what is wrong with the line.

    An option is its label, or its place in the list; the case does not matter. A label goes first.

    Examples
    --------
    >>> options = {1: "Defect", 0: "Cooperate"}
    >>> chosen("defect", options), chosen("2", options)
    ((1, 1), (0, 1))
    >>> chosen("d", options)
    "'d' is not one of: Defect, Cooperate"
    """
    said = ascii_signs(line).casefold()
    places = {str(place): action for place, action in enumerate(options, 1)}
    named = {ascii_signs(label).casefold(): action for action, label in options.items()}
    action = named.get(said, places.get(said))
    if action is None:
        return f"{line!r} is not one of: {', '.join(options.values())}"
    return action, attempt


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
            people: list[Person] = []

            def sit(subject: Subject) -> None:
                assert isinstance(subject, Person), "not a cell played by people"
                subject.console = console
                people.append(subject)

            console.say("Type ? for help at any time.")
            try:
                record = run_now(play_episode_async(cell.setup, episode, on_seated=sit))
            except (QuitGame, KeyboardInterrupt):
                console.say("\nThe game was not finished, and is not kept.")
                return False
            store.add(0, [record])
            console.say(people[0].ending())
            return True
        finally:
            store.close()


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
