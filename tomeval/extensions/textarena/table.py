"""One environment of TextArena at work: fresh, with chance of its own, judged at every step."""

from __future__ import annotations

import contextlib
import io
import random
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.game import Event
from tomeval.domains.arena.games.ipd3.wording import decisions
from tomeval.extensions.textarena.library import Entry, python_words, textarena

_LOCK = threading.Lock()
"""TextArena draws from the process's generators, so one environment is at work at a time."""


class Taken(NamedTuple):
    """What a step came to.

    Attributes
    ----------
    fault : str or None
        Why the action is invalid; the table is then of no more use.
    silent : bool
        Whether the environment itself would have taken the invalid action for another.
    events : tuple of Event
        What happened, as seats learn of it.
    """

    fault: str | None
    silent: bool
    events: tuple[Event, ...]


class Table:
    """One game, from its deal on.

    Attributes
    ----------
    prompts : tuple of str
        What TextArena tells every seat before the game.
    opening : tuple of Event
        What happens before the first action.
    """

    def __init__(self, entry: Entry, players: int, seed: int) -> None:
        self._entry = entry
        self._faults: list[str] = []
        generator = random.Random(seed)
        legacy = np.random.RandomState(seed % 2**32)
        self._chance = (generator.getstate(), legacy.get_state())
        package = textarena()
        with self._at_work("cannot be set up"):
            self._env: Any = package.make(entry.id)
            self._inner = self._env
            while isinstance(self._inner, package.Wrapper):
                self._inner = self._inner.env
            self._env.reset(num_players=players, seed=seed)
            if self._state.num_players != players:
                raise ValueError(f"it seats {self._state.num_players} players, not {players}")
            self._watch()
        self.prompts, self.opening = self._begin(players)

    @property
    def _state(self) -> Any:
        return self._inner.state

    @contextlib.contextmanager
    def _at_work(self, what: str) -> Iterator[None]:
        """Lend the process's generators to the environment, and take them back as they were."""
        with _LOCK:
            kept = random.getstate(), np.random.get_state()  # noqa: NPY002 (see above)
            random.setstate(self._chance[0])
            np.random.set_state(self._chance[1])  # noqa: NPY002
            try:
                with contextlib.redirect_stdout(io.StringIO()):  # some print their boards
                    yield
            except Exception as error:
                raise TomevalError(
                    f"textarena:{self._entry.id} {what} "
                    f"({type(error).__name__}: {error}; {python_words()})"
                ) from error
            finally:
                self._chance = random.getstate(), np.random.get_state()  # noqa: NPY002
                random.setstate(kept[0])
                np.random.set_state(kept[1])  # noqa: NPY002

    def _watch(self) -> None:
        """Hear of every action that the environment calls invalid."""
        state = self._state
        original = state.set_invalid_move

        def heard(*args: Any, **kwargs: Any) -> Any:
            reason = kwargs.get("reason", args[0] if args else "")
            self._faults.append(" ".join(str(reason).split()).rstrip("."))
            return original(*args, **kwargs)

        state.set_invalid_move = heard

    def _begin(self, players: int) -> tuple[tuple[str, ...], tuple[Event, ...]]:
        """Return the prompts, and what else happened before the first action."""
        prompts = [""] * players
        events = []
        for event in self._news():
            if event.kind == "prompt" and event.to is not None:
                for seat in event.to:
                    prompts[seat] += ("\n" if prompts[seat] else "") + event.data
            else:
                events.append(event)
        return tuple(prompts), tuple(events)

    @property
    def seat(self) -> int | None:
        """Whose turn it is; None: the game is over."""
        return None if self._state.done else int(self._state.current_player_id)

    @property
    def rewards(self) -> dict[int, float]:
        """What every seat got, in a game that is over."""
        return {int(seat): float(reward) for seat, reward in (self._state.rewards or {}).items()}

    @property
    def roles(self) -> tuple[str, ...]:
        """The role of every seat, ``player`` where the environment has none."""
        info, found = self._state.game_info, []
        for seat in range(self._state.num_players):
            role = str(info[seat]["role"])
            plain = role == f"Player {seat}"
            found.append("player" if plain else "_".join(role.lower().split()))
        return tuple(found)

    @property
    def names(self) -> tuple[str, ...]:
        """What TextArena calls every seat."""
        names = self._state.role_mapping or {}
        return tuple(str(names.get(i, f"Player {i}")) for i in range(self._state.num_players))

    @property
    def teams(self) -> bool:
        """Whether several seats can win together."""
        return type(self._state).__name__ == "TeamMultiPlayerState"

    def take(self, text: str) -> Taken:
        """Give the environment an action of the seat whose turn it is."""
        silent = silent_fault(self._entry.environment, self._state, text)
        if silent is not None:
            return Taken(silent, True, ())
        self._faults.clear()
        with self._at_work(f"fails on {text!r}"):
            self._env.step(text)
        return Taken(self._faults[0] if self._faults else None, False, self._news())

    def _news(self) -> tuple[Event, ...]:
        """Return what seats have learnt since the last call, in the order of TextArena's log.

        Every seat has its own list of messages; those of one entry of the log are one event.
        """
        state = self._state
        with self._at_work("cannot tell what it shows"):
            seat, own = (None, []) if state.done else self._inner.get_observation()
        waiting = {i: list(state.observations[i]) for i in range(state.num_players)}
        if seat is not None:
            waiting[int(seat)] = list(own)
        for messages in state.observations.values():
            messages.clear()
        entries, state.logs = list(state.logs), []
        events = []
        for sender, message in entries:
            heads = [i for i, new in waiting.items() if new and new[0][:2] == (sender, message)]
            if heads:
                kinds = [waiting[i].pop(0)[2] for i in heads]
                events.append(_event(sender, message, kinds[0], tuple(heads), len(waiting)))
        for i, rest in waiting.items():  # what an environment shows without logging it
            events.extend(_event(s, text, kind, (i,), len(waiting)) for s, text, kind in rest)
        return tuple(events)


def _event(sender: int, message: str, kind: Any, to: tuple[int, ...], seats: int) -> Event:
    """Return a message as an event."""
    everybody = len(to) == seats and kind.name != "PROMPT"
    return Event(
        kind.name.lower(), None if sender < 0 else int(sender), message, None if everybody else to
    )


_WORDS = {
    "IteratedPrisonersDilemmaEnv": ("cooperate", "defect"),
    "IteratedStagHuntEnv": ("stag", "hare"),
    "SnakeEnv": ("up", "down", "left", "right", "w", "a", "s", "d"),
    "SurroundEnv": ("up", "down", "left", "right", "w", "a", "s", "d"),
}
"""Environments that take other actions for something else and never call them invalid.

Their decisions are one word in brackets; by name of the class the words.
"""


def silent_fault(environment: str, state: Any, text: str) -> str | None:
    """Return what is wrong with an action that the environment itself would not complain of.

    `environment` is the name of its class; what is returned is a sentence without a full stop.
    """
    phase = state.game_state.get("phase") if isinstance(state.game_state, dict) else None
    if phase == "conversation":
        return None
    if environment == "ThreePlayerIPDEnv":
        seat = state.current_player_id
        broken = decisions(text, tuple(i for i in range(state.num_players) if i != seat))[1]
        if broken is not None:
            return broken.text
    elif environment in _WORDS:
        words = _WORDS[environment]
        found = {word for word in words if f"[{word}]" in text.lower()}
        if len(found) != 1:
            said = " and ".join(sorted(found)) or "none"
            return f"it must have one of {', '.join(f'[{w}]' for w in words)}; it has {said}"
    return None
