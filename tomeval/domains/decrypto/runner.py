"""Run a Decrypto experiment into a folder: start, resume, extend."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, VALID
from tomeval.domains.decrypto.batch import Batch, simulate
from tomeval.domains.decrypto.engine import Job, best_of, play_jobs
from tomeval.domains.decrypto.experiment import Cell, Experiment
from tomeval.domains.decrypto.game import OUTCOMES, EncoderView
from tomeval.domains.decrypto.play import Best, PlayedGame, PlayedTurn
from tomeval.domains.decrypto.players import Player
from tomeval.domains.decrypto.scripts import play_decrypto
from tomeval.domains.decrypto.seats import ROLES, seat_stream
from tomeval.domains.decrypto.store import STORE, GameStore
from tomeval.models import open_model
from tomeval.models.base import LocalModel, Model
from tomeval.models.scripted import SCRIPTS
from tomeval.models.served.limits import Budget
from tomeval.runs.engine import run_loop
from tomeval.runs.folder import add_session, begin_or_resume, locked, make_folder

logger = logging.getLogger(__name__)

GAMES_PER_CHUNK = 1000
"""Games of embedding players that are played and stored together."""

Progress = Callable[[int, int], None]


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    concurrency: int = 32,
    budget: Budget | None = None,
    prefix_reuse: bool = True,
    progress: Progress | None = None,
) -> int:
    """Play what the folder does not hold yet and return the number of games played.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        The run folder; made when missing. A run of the same experiment is resumed, or extended
        where `games` has grown; rows on disk are never changed.
    concurrency : int
        Games with language models that are played at a time. The rows do not depend on it.
    budget : Budget, optional
        Caps on the calls and tokens of served models; refused where there is none.
    prefix_reuse : bool
        False makes local models encode every prompt whole.
    progress : callable, optional
        Called with (games done, games in all).

    Raises
    ------
    TomevalError
        The folder holds another experiment or other files, is in use or cannot be written.
    """
    if concurrency < 1:
        raise TomevalError(f"concurrency must be at least 1, is {concurrency}")
    specs = {spec for cell in experiment.cells for spec in _specs(cell)}
    if budget is not None and not any(_is_served(json.loads(spec)) for spec in specs):
        raise TomevalError("--max-calls and --max-tokens are for served models, here is none")
    identity = json.loads(json.dumps(experiment.identity()))
    make_folder(folder, STORE, "no run folder of Decrypto")
    with locked(folder):
        store = GameStore(folder, write=True)
        begin_or_resume(store, folder, identity, "games", experiment.games_per_cell)
        try:
            add_session(folder)
            filler = _Filler(store, experiment, progress)
            filler.play_in_batch()
            opening = {"base": experiment.base, "prefix_reuse": prefix_reuse}
            filler.play_one_by_one(concurrency, budget, opening)
            return filler.played
        finally:
            store.close()


class _Filler:
    """Plays all games that the store lacks."""

    def __init__(self, store: GameStore, experiment: Experiment, progress: Progress | None) -> None:
        self.store, self.experiment, self.progress = store, experiment, progress
        self.cells = experiment.cells
        games, done = experiment.games_per_cell, store.finished()
        self.missing = [
            [game for game in range(games) if game not in done.get(number, ())]
            for number in range(len(self.cells))
        ]
        self.total = games * len(self.cells)
        self.ready = self.total - sum(map(len, self.missing))
        self.played = 0
        self._report()

    def play_in_batch(self) -> None:
        """Play the pairings of embedding players, many games at once."""
        for number, cell in enumerate(self.cells):
            if plays_in_batch(cell):
                for first, count in _stretches(self.missing[number], GAMES_PER_CHUNK):
                    self.done(number, play_batch(cell, first, count))
                self.missing[number] = []

    def play_one_by_one(
        self, concurrency: int, budget: Budget | None, opening: dict[str, Any]
    ) -> None:
        """Play the other pairings, those of the same models together."""
        groups: dict[tuple[str, ...], list[Job]] = {}
        for number, cell in enumerate(self.cells):
            jobs = [(number, game) for game in self.missing[number]]
            groups.setdefault(_specs(cell), []).extend(jobs)
        SCRIPTS.setdefault("decrypto", play_decrypto)
        opened: dict[str, Model | LocalModel] = {}
        for specs, jobs in groups.items():
            if not jobs:
                continue
            for gone in opened.keys() - set(specs):
                del opened[gone]  # local models need the memory
            for spec in specs:
                if spec not in opened:
                    loaded = json.loads(spec)
                    caps = budget if _is_served(loaded) else None
                    opened[spec] = open_model(loaded, scores=False, budget=caps, **opening)
            run_loop(play_jobs(opened, self.cells, jobs, self.store, concurrency, self.done))
        lost = self.store.failed()
        if lost:
            logger.warning(
                "%d games failed because a model gave no reply: run the same command again to "
                "play them",
                lost,
            )

    def done(self, number: int, games: Sequence[PlayedGame]) -> None:
        """Store finished games."""
        self.store.add_games(number, games)
        self.played += len(games)
        self.ready += len(games)
        self._report()

    def _report(self) -> None:
        if self.progress:
            self.progress(self.ready, self.total)


def _stretches(numbers: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield (first, count) of consecutive numbers, at most `most` together."""
    start = 0
    for place in range(1, len(numbers) + 1):
        ends = place == len(numbers) or numbers[place] != numbers[place - 1] + 1
        if ends or place - start == most:
            yield numbers[start], place - start
            start = place


def _specs(cell: Cell) -> tuple[str, ...]:
    """Return the specs of a pairing's models, each once."""
    players = [p for p in cell.players.values() if p is not None and p.kind == "llm"]
    return tuple(sorted({json.dumps(player.model, sort_keys=True) for player in players}))


def _is_served(spec: Any) -> bool:
    from tomeval.models import model_name

    return model_name(spec).startswith("openai:")


def plays_in_batch(cell: Cell) -> bool:
    """Tell whether a pairing is one of three embedding players in new games.

    Repeats are never given by embedding encoders, so the rule against them changes nothing.
    """
    players = cell.players.values()
    return not cell.experiment.records and all(p and p.kind == "embedding" for p in players)


def play_batch(cell: Cell, first: int, count: int) -> list[PlayedGame]:
    """Play consecutive games of three embedding players."""
    lists = cell.experiment.lists
    alice, bob, eve = (_seated(cell, role) for role in ROLES)
    batch = simulate(
        lists,
        (alice.encoder_spec(lists), bob.listener_spec(lists), eve.listener_spec(lists)),
        seat_stream(cell.seed, "encoder", alice.name),
        seed=cell.seed,
        first=first,
        count=count,
        rules=cell.rules,
    )
    best = best_of(cell)
    return [_from_batch(cell, batch, place, first + place, best) for place in range(count)]


def _from_batch(cell: Cell, batch: Batch, place: int, index: int, best: Best | None) -> PlayedGame:
    """Return one game of a batch as the turn loop would."""
    deal, _, rules = cell.deal(index)
    turns = batch.game(place)
    rows = [
        PlayedTurn(
            number,
            *turn,
            outcomes=dict.fromkeys(ROLES, VALID),
            attempts=dict.fromkeys(ROLES, 1),
            best=best(EncoderView(deal.keywords, turn.code, turns[: number - 1], rules))
            if best
            else None,
        )
        for number, turn in enumerate(turns, start=1)
    ]
    return PlayedGame(index, deal, COMPLETE, OUTCOMES[int(batch.outcomes[place])], rows)


def _seated(cell: Cell, role: str) -> Player:
    player = cell.players[role]
    if player is None:
        raise RuntimeError(f"the {role}'s seat is empty")
    return player
