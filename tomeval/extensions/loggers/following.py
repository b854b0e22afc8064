"""Follow a run folder and log what it holds: ``python -m`` this, with a client and a folder."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from tomeval import __version__
from tomeval.core.credentials import without_credentials
from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.core.outcomes import COMPLETE, VOID
from tomeval.core.text import excerpt
from tomeval.extensions.loggers.clients import CLIENTS
from tomeval.models.naming import renamed, said_without_address
from tomeval.report import exchange
from tomeval.runs import tallies
from tomeval.runs.database import NothingPlayed
from tomeval.runs.folder import read_json
from tomeval.runs.live import LONGEST, State, read_live
from tomeval.runs.results import Run
from tomeval.runs.store import EXPERIMENT

EVERY = 5.0
"""Seconds between two points."""

SOON = 0.3
"""Seconds between two looks for the first episode."""

SHARE = 20
"""A point that took t seconds to make is followed by `SHARE` times t of rest."""

HEADLINE = 2
"""How many of a run's headline measures have curves: functional, then literal."""


def curves(run: Run, state: State) -> tuple[int, dict[str, float]]:
    """Return how many episodes are over, complete or void, and the numbers at this point by name.

    ``PLAYER/TASK/MEASURE`` is the mean over the cell's complete episodes, as in ``tomeval table``;
    ``PLAYER/TASK/invalid`` in %; ``MODEL/calls``, ``MODEL/tokens`` and ``MODEL/cost`` are of all
    sessions. What has no value yet has no name.
    """
    values: dict[str, float] = {}
    by = tallies.episodes(run.store).values()
    over = {name: sum(counts.get(name, 0) for counts in by) for name in (COMPLETE, VOID)}
    names = exchange.task_names(run.cells)
    players = exchange.folder_names([cell.player for cell in run.cells])
    invalid = tallies.invalid_rates(run.store)
    for cell in run.cells:
        at = f"{players[cell.player]}/{names[cell.number]}"
        if len(cell.episodes):
            shown = [name for name in run.headline[:HEADLINE] if name in cell.names]
            means = cell.estimate(shown, "normal").mean.tolist()
            values |= {f"{at}/{name}": mean for name, mean in zip(shown, means, strict=True)}
        values[f"{at}/invalid"] = 100 * invalid.get(cell.number, math.nan)
    models = exchange.folder_names(list(state.models))
    for name, model in state.models.items():
        asked = model.asked
        values[f"{models[name]}/calls"] = asked.calls
        values[f"{models[name]}/tokens"] = asked.prompt + asked.completion
        values[f"{models[name]}/cost"] = math.nan if asked.cost is None else asked.cost
    values |= {f"episodes/{name}": float(count) for name, count in over.items()}
    known = {name: value for name, value in values.items() if math.isfinite(value)}
    return sum(over.values()), known


def configuration(run: Run) -> dict[str, Any]:
    """Return the resolved experiment, without addresses and credentials, and its hash."""
    said = json.dumps(renamed(read_json(run.folder / EXPERIMENT), run.public_names))
    return {
        "experiment": json.loads(without_credentials(said)),
        "experiment_sha256": str(run.store.meta()["sha256"]),
        "tomeval_version": __version__,
    }


class Follower:
    """Logs points of a folder's run; failures are shown once, and counted."""

    def __init__(self, name: str, folder: Path, stderr: TextIO) -> None:
        self.name, self.folder, self._stderr = name, folder, stderr
        self._client: Any = None
        self._open = False
        self.told: dict[str, Any] = {"points": 0, "missed": 0, "why": "", "where": ""}

    def look(self, state: State) -> None:
        """Log a point."""
        try:
            with Run(self.folder) as run:  # not for long, which would keep its log from ending
                step, values = curves(run, state)
                config = {} if self._open else configuration(run)
            client = self._client = self._client or CLIENTS[self.name]()
            if not self._open:
                self._begin(client, state.name, config)
            client.log(step, values)
            self.told["points"] += 1
        except NothingPlayed:
            pass
        except Exception as error:  # noqa: BLE001 - whatever a client raises, the run goes on
            self._missed(error)

    def _begin(self, client: Any, title: str, config: dict[str, Any]) -> None:
        """Open what is logged, that of an earlier session if there was one."""
        kept = self.folder / f"log-{self.name}.txt"
        before = kept.read_text(encoding="utf-8").strip() if kept.exists() else ""
        name, self.told["where"] = client.open(title, config, before)
        write_text(kept, name, own=True)
        self._open = True

    def end(self, over: str) -> None:
        """Close, saying how the run ended."""
        try:
            if self._open:
                self._client.close(over)
        except Exception as error:  # noqa: BLE001 - as above
            self._missed(error)

    def _missed(self, error: Exception) -> None:
        why = without_credentials(said_without_address(error) or type(error).__name__)
        why = f"{type(error).__name__}: {excerpt(why, LONGEST)}"
        if not self.told["missed"]:
            self._stderr.write(f"{self.name}: not logged ({why}); the run goes on\n")
        self.told["missed"] += 1
        self.told["why"] = why


def follow(name: str, folder: Path, began: float, over: threading.Event, stderr: TextIO) -> Any:
    """Log a run until it is over; return what became of it."""
    follower, rest = Follower(name, folder, stderr), 0.0
    while not over.wait(rest):
        before = time.monotonic()
        already = follower.told["points"] or follower.told["missed"]
        if (state := _state(folder, began)) is not None:
            follower.look(state)
        begun = follower.told["points"] or follower.told["missed"]
        made = time.monotonic() - before if already else 0.0  # not what opening took, once
        rest = max(EVERY if begun else SOON, SHARE * made)
    if (state := _state(folder, began)) is not None:
        follower.look(state)
        follower.end(state.over)
    return follower.told


def _state(folder: Path, began: float) -> State | None:
    """Return what the run that began after a moment says of itself, if it does already."""
    with suppress(TomevalError):
        state = read_live(folder, "")
        return state if state is not None and state.began >= began else None
    return None


def main(name: str, folder: str, began: float) -> None:
    """Follow until standard input ends; what clients print goes nowhere."""
    stdout, stderr = (os.fdopen(os.dup(number), "w", buffering=1) for number in (1, 2))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    json.dump(follow(name, Path(folder), began, over, stderr), stdout)
    stdout.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
