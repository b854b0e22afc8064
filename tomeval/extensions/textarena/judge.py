"""Actions that some of TextArena's environments take for something else and never call invalid."""

from __future__ import annotations

from typing import Any

from tomeval.domains.arena.games.ipd3.wording import decisions

_WORDS = {
    "IteratedPrisonersDilemmaEnv": ("cooperate", "defect"),
    "IteratedStagHuntEnv": ("stag", "hare"),
    "SnakeEnv": ("up", "down", "left", "right", "w", "a", "s", "d"),
    "SurroundEnv": ("up", "down", "left", "right", "w", "a", "s", "d"),
}
"""Environments whose decisions are one word in brackets, and the words."""


def silent_fault(environment: str, state: Any, text: str) -> str | None:
    """Return what is wrong with an action that the environment itself would not complain of.

    Parameters
    ----------
    environment : str
        Name of the class.
    state : textarena.State
    text : str

    Returns
    -------
    str or None
        A sentence without a full stop.
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
