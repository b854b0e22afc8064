"""A matrix game of one person at the terminal, ``tomeval play``, kept in a folder step by step.

The person is told what models are told, and asked until the answer is legal.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from tomeval.core.coroutines import run_now
from tomeval.core.outcomes import COMPLETE, UNFINISHED, Decision
from tomeval.core.parts import CommandPart
from tomeval.core.printing import Console, QuitGame, tell
from tomeval.core.text import ascii_signs
from tomeval.extensions.people.person import ACT, Asked, Person
from tomeval.games.matrix.commands import Horizon
from tomeval.games.matrix.experiment import MatrixCell
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.play import play_episode_async
from tomeval.games.matrix.steps import Episode
from tomeval.games.matrix.subjects import Subject
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.folder import add_session, locked, make_folder
from tomeval.runs.writing import WritableStore

_WORDS = "history: all rounds so far; rules: the rules again; quit: stop (what was played is kept)"


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
    """Play one episode, or the rest of one that was left, into a run folder.

    Every finished step is on disk before the next one is asked. The same experiment can be played
    again and again: each time is an episode.

    Returns
    -------
    bool
        Whether the episode is complete.

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
            left = store.episodes(0, UNFINISHED)
            episode = min(left, default=len(store.episodes(0)))
            store.begin(experiment.identity(), episode + 1)
            add_session(store, 0)
            return _Match(cell, episode, console, store).play(bool(left))
        finally:
            store.close()


class _Match:
    """One person's episode: stored answers are played again, then the person is asked."""

    def __init__(
        self, cell: MatrixCell, episode: int, console: Console, store: WritableStore
    ) -> None:
        self.cell, self.episode, self.console, self.store = cell, episode, console, store
        names = ("own_action", "predicted_action", "act_attempts", "predict_attempts")
        self.given = list(store.read("steps", names, 0, episode))
        which = int(cell.setup.draw_partners(episode, 1)[0])
        self.played = Episode(cell.setup.game, episode, which)
        self.shown = -1  # how many rounds were told
        self.kept = False  # as unfinished

    def play(self, before: bool) -> bool:
        """Play to the end, or until the person leaves; return whether it is over."""
        self.kept = before
        self.console.say("Type ? for help at any time.")
        if before:
            self.console.say(f"You continue after round {len(self.given)} of {self.cell.length}.")
        status = UNFINISHED
        try:
            run_now(
                play_episode_async(
                    self.cell.setup,
                    self.episode,
                    on_step=self._stepped,
                    on_seated=self._sit,
                    kept=self.played,
                )
            )
            status = COMPLETE
        except (QuitGame, KeyboardInterrupt):
            self.console.say()
        if status == COMPLETE or not self.kept:
            self._keep(status)
        self.console.say(self._ending(status == COMPLETE))
        return status == COMPLETE

    def _sit(self, subject: Subject) -> None:
        assert isinstance(subject, Person), "not a cell played by people"
        self.person, subject.source = subject, self._answer

    def _stepped(self) -> None:
        if self.played.record.steps > len(self.given):
            self._keep(UNFINISHED)

    def _keep(self, status: str) -> None:
        self.played.record.status = status
        self.store.add(0, [self.played.record])
        self.kept = True

    def _ending(self, over: bool) -> str:
        length = self.cell.length
        if not over:  # perhaps before the person sat down
            rounds = max(self.played.record.steps, len(self.given))
            return (
                f"\nYou stopped after {rounds} of {length} rounds, which are kept: the same "
                "command continues the game."
            )
        person = self.person
        total = sum(joint.own_reward for joint in person.past)
        return (
            f"\n{person.history()[-1]}\n\nThe game is over. Your rewards add up to {total:g}; "
            f"{person.right} of your {length} predictions were right."
        )

    def _answer(self, asked: Asked) -> Decision:
        """Return the stored answer, or ask until a line names an option."""
        if asked.round <= len(self.given):
            act, predict, act_attempts, predict_attempts = self.given[asked.round - 1]
            if asked.form == ACT:
                return Decision(act, attempts=act_attempts)
            assert predict is not None, "its experiment asks for predictions"
            return Decision(predict, attempts=predict_attempts)
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

    Played again, it adds an episode; what was left is gone on with.
    """
    experiment = session(game, partner_set, name=name, horizon=horizon, labels=labels, seed=seed)
    folder = out or Path("runs") / folder_name(experiment)
    over = play_session(experiment, Console(sys.stdin, sys.stdout), folder)
    verb = "table" if over else "transcript"
    tell(f"{folder}: next: tomeval {verb} {folder}")


def _is_game(name: str) -> bool:
    return name.endswith(".toml") or name.lower() in map(str.lower, GAMES)


PLAY = CommandPart(play, _is_game, lambda: list(GAMES))
