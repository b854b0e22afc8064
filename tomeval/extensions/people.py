"""A matrix game of one person at the terminal, ``tomeval play``, kept in a run folder.

The person is told what models are told, and asked until the answer is legal.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision, run_now
from tomeval.core.parts import CommandPart
from tomeval.core.printing import Console, QuitGame, tell
from tomeval.games.matrix.commands import Continuation, lasting
from tomeval.games.matrix.experiment import MatrixCell
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.play import play_episode_async
from tomeval.games.matrix.rules import Joint, Observation
from tomeval.games.matrix.scene import Words, option_order, prompts_of
from tomeval.games.matrix.subjects.base import Answer, Seat, Subject
from tomeval.games.people.session import label_typed, pages
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.folder import add_session, locked, make_folder
from tomeval.runs.writing import WritableStore


class Person(Subject):
    """A person, who plays with ``tomeval play``; ``tomeval run`` asks nobody.

    Rules, past rounds and questions are the templates' own words. Both questions of a round are
    answered before anything of the round is shown.
    """

    reads_templates: ClassVar[bool] = True
    console: ClassVar[Console | None] = None  # where it is asked, while a session is played

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self._history: list[str] = []
        self._prompts = prompts_of({}, seat.base, seat.horizon is None)
        self._order = option_order("fixed", seat.game.n, seat.game.m, seat.rng)
        lasting = seat.horizon, self._order, None, "win", seat.continuation
        self._words = Words(seat.game, seat.labels, *lasting)

    def act(self, observation: Observation) -> Answer:
        """Ask for the action; the rules are shown before the first one."""
        if not self._history:
            self._say(self._rules())
        labels, order = self.seat.labels.own, self._order.own
        return self._ask("answer/lm_act", observation.round, {labels[a]: a for a in order})

    def predict(self, observation: Observation, own_action: int | None) -> Answer | None:
        """Ask for the prediction."""
        labels, order = self.seat.labels.partner, self._order.partner
        form = "answer/lm_predict_partner_first"
        return self._ask(form, observation.round, {labels[a]: a for a in order})

    def observe(self, joint: Joint) -> None:
        """Show the round."""
        values = self._words.round_values(len(self._history) + 1, joint)
        self._history.append(self._prompts.render("context/history", **values))
        self._say(self._history[-1])

    def _say(self, text: str) -> None:
        if self.console is None:
            raise TomevalError("a person plays with tomeval play, not here")
        self.console.say(f"\n{text}")

    def _rules(self) -> str:
        words = self._words
        return self._prompts.render("context/rules", payoffs=words.payoff_lines(), **words.common)

    def _ask(self, form: str, number: int, options: dict[str, int]) -> Decision:
        """Ask until a line names an option, by its label or its place in the list."""
        places = {str(place): label for place, label in enumerate(options, 1)}
        listed = ", ".join(options)

        def parse(line: str) -> tuple[int] | str:
            label = label_typed(line, options) or places.get(line)
            return f"{line!r} is not one of: {listed}" if label is None else (options[label],)

        values = {**self._words.common, "round": number, "given": ""}
        self._say(self._prompts.render(form, **values))
        how = f"one of: {listed}; or its number in this list, from 1"
        assert self.console is not None
        told = pages(how, "\n".join(self._history), self._rules())
        (action,) = self.console.question("> ", parse, told)
        details = {"own_order": self._order.own, "partner_order": self._order.partner}
        return Decision(action, details=details)


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

            console.say("Type ? for help at any time.")
            try:
                Person.console = console
                record = run_now(play_episode_async(cell.setup, episode))
            except (QuitGame, KeyboardInterrupt):
                console.say("\nThe game was not finished, and is not kept.")
                return False
            store.add(0, [record])
            console.say("\nThe game is over.")
            return True
        finally:
            Person.console = None
            store.close()


def play(
    game: Annotated[str, typer.Argument(help="A matrix game, or a TOML file.")],
    partner_set: Annotated[str, typer.Argument(help="A partner or partner set.")],
    horizon: Annotated[
        int | None, typer.Option("--horizon", help="Steps per episode, T. Default: 20.")
    ] = None,
    continuation: Continuation = None,
    labels: Annotated[str | None, typer.Option("--labels", help="A label set.")] = None,
    name: Annotated[str, typer.Option("--name", help="Your name in tables.")] = "person",
    seed: Annotated[
        int, typer.Option("--seed", help="Decides which partner you meet, and what it draws.")
    ] = 0,
    out: Annotated[Path, typer.Option("--out", help="The run folder.")] = Path("runs/play"),
) -> None:
    """Play a matrix game yourself: choose and predict in every round; stored as a run.

    Played again, it adds an episode.
    """
    data = {"name": "play", "games": [game], "partners": [partner_set], "episodes": 1}
    data |= {"subjects": [{"kind": "person", "name": name}], "seed": seed}
    data |= lasting(horizon, continuation, 20)
    data |= {"labels": labels} if labels else {}
    experiment = make_experiment(data, base=Path(), where="play")
    if play_session(experiment, Console(sys.stdin, sys.stdout), out):
        tell(f"{out}: next: tomeval table {out}")


def _is_game(name: str) -> bool:
    return name.endswith(".toml") or name.lower() in map(str.lower, GAMES)


PLAY = CommandPart(play, _is_game, lambda: list(GAMES))
