"""A subject in the partner's seat: what an experiment writes of it, and what it is called."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.extensions import player_kind
from tomeval.domains.matrix.games import check_keys
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.steps import Steps
from tomeval.domains.matrix.subject_specs import expand_subject
from tomeval.domains.matrix.subjects import subject_class
from tomeval.models.naming import without_address
from tomeval.runs.domain import Player

SUBJECT = "subject"
"""The key that names a kind of subject with its default options: ``{ subject = "rmax" }``."""

_KEYS = ("kind", "model", "strategy", SUBJECT)


@dataclass(frozen=True, eq=False)
class PartnerPlayer:
    """Who sits in the partner's seat, in place of a table.

    Attributes
    ----------
    name : str
        As tables write the partner.
    player : Player
    """

    name: str
    player: Player


class TwoPlayers(NamedTuple):
    """How two subjects play at one table, which an extension brings as ``matrix partner``.

    `play` is a coroutine: given a setup, an episode, models by seat, and what to call after each
    step, it returns the steps. `check` raises a `TomevalError` for a setup that cannot be played.
    """

    play: Callable[..., Coroutine[Any, Any, Steps]]
    check: Callable[..., None]


def two_players() -> TwoPlayers:
    """Return how two subjects play.

    Raises
    ------
    TomevalError
        The extension that brings it is not installed.
    """
    found: TwoPlayers = player_kind("matrix partner")
    return found


def is_player(spec: object) -> bool:
    """Tell whether an entry of ``partners`` describes a subject: it has a key of subjects."""
    return isinstance(spec, dict) and "partners" not in spec and any(key in spec for key in _KEYS)


def expand_player(spec: dict[str, Any], models: list[Any], where: str) -> list[PartnerPlayer]:
    """Return one player for every combination of a spec's listed options.

    Parameters are as for `tomeval.domains.matrix.subject_specs.expand_subject`. A language model is
    called by its strategy or name, and its model in brackets, without the address of a server.

    Examples
    --------
    >>> [player.name for player in expand_player({"strategy": "QA"}, ["pocket"], "here")]
    ['QA (pocket)']
    """
    entry = dict(spec)
    if SUBJECT in entry:
        check_keys(where, entry, (SUBJECT, "name"))
        entry["kind"] = entry.pop(SUBJECT)
    found = []
    for player in expand_subject(entry, models, where):
        if not subject_class(player.kind).by_run:
            raise TomevalError(f"{where}: a person cannot sit in the partner's seat")
        model = f" ({without_address(player.model_name)})" if player.model else ""
        found.append(PartnerPlayer(f"{player.name}{model}", player))
    return found


def check_names(found: Sequence[PartnerSet | PartnerPlayer]) -> None:
    """Raise if a player has the name of another partner: tables could not tell them apart."""
    names = [one.name for one in found]
    for one in found:
        if isinstance(one, PartnerPlayer) and names.count(one.name) > 1:
            raise TomevalError(
                f"partners: {one.name!r} is there twice; drop one, or give it a name of its own"
            )
