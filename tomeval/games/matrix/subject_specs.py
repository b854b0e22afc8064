"""Who plays, as experiments write it: subjects, and subjects in the partner's seat."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.plugins import load_plugins
from tomeval.games.matrix.games import check_keys
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.subjects import subject_class
from tomeval.games.matrix.subjects.llm import scores_predictions
from tomeval.models import model_name
from tomeval.models.naming import NO_MODEL, without_address
from tomeval.runs.domain import Player
from tomeval.runs.notes import first_names
from tomeval.strategies import parse_strategy

LLM = "llm"


def expand_subject(spec: str | dict[str, Any], models: list[Any], where: str) -> list[Player]:
    """Return one subject for every combination of a spec's listed options.

    Parameters
    ----------
    spec : str or dict
        A kind, or a table with ``kind``, an optional ``name`` and options. A table with ``model``
        or ``strategy`` needs no kind: it is a language model.
    models : list
        The experiment's own models, for language models that name none.
    where : str
        Put in front of error messages.

    Raises
    ------
    TomevalError
        Among others: a language model for which no model is named anywhere.
    """
    entry: dict[str, Any] = dict(spec) if isinstance(spec, dict) else {"kind": spec}
    if "kind" not in entry and ("model" in entry or "strategy" in entry):
        entry["kind"] = LLM
    if "kind" not in entry:
        raise TomevalError(f"{where}: missing key 'kind' (or 'strategy', for a language model)")
    kind, name = entry.pop("kind"), entry.pop("name", None)
    subject = subject_class(kind, where)
    if name is not None and not isinstance(name, str):
        raise TomevalError(f"{where}: name must be text, is {name!r}")
    if kind == LLM and "model" not in entry:
        if not models:
            asked = name or entry.get("strategy", LLM)
            raise TomevalError(f'{where}: {asked!r} {NO_MODEL}; "pocket" is the embedded one')
        entry["model"] = models
    options = subject.options()
    if not set(entry) <= set(options):
        load_plugins()  # one of them may bring it
        options = subject.options()
    for key in entry:
        if key not in options:
            known = ["kind", "name", *options]
            raise TomevalError(
                f"{where}: subject {kind!r} has no option {key!r}{did_you_mean(key, known)}; "
                f"known: {', '.join(known)}"
            )
    axes = {key: value if isinstance(value, list) else [value] for key, value in entry.items()}
    for key, values in axes.items():
        if not values:
            raise TomevalError(f"{where}: {key} is an empty list")
    swept = {key for key, values in axes.items() if len(values) > 1}
    result = []
    for combination in itertools.product(*axes.values()):
        chosen = dict(zip(axes, combination, strict=True))
        try:
            result.append(_one(kind, name, chosen, swept))
        except TomevalError as error:
            raise TomevalError(f"{where}: {error}") from None
    _check_draws(result, where)
    return result


def _check_draws(players: list[Player], where: str) -> None:
    """Refuse draws that no subject of a spec makes; of several strategies some may make none."""
    asked = [p for p in players if p.kind == LLM and p.options.get("draws")]
    if asked and all(scores_predictions(player.options) for player in asked):
        names = first_names([player.strategy for player in asked])
        raise TomevalError(
            f"{where}: draws have no effect for {names}: its scored predictions already have "
            "probabilities; leave draws out"
        )


def _one(kind: str, name: str | None, options: dict[str, Any], swept: set[str]) -> Player:
    """Name one subject: by its given name and swept options, else by kind and all options."""
    shown = {key: value for key, value in options.items() if name is None or key in swept}
    model: Any = ""
    strategy = ""
    base = name or kind
    if kind == LLM:
        model = options["model"]
        model_name(model)
        strategy = parse_strategy(options.get("strategy", "QA")).name
        # One spelling, and no address of an alias: draws depend on the options.
        options = {**options, "model": model, "strategy": strategy}
        shown.pop("model", None)
        if name is None:
            base = strategy
            shown.pop("strategy", None)
        elif "strategy" in shown:
            shown["strategy"] = strategy
    inside = ", ".join(f"{key}={_plain(value)}" for key, value in shown.items())
    return Player(f"{base}({inside})" if inside else base, kind, options, model, strategy)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


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


def is_player(spec: object) -> bool:
    """Tell whether an entry of ``partners`` describes a subject: it has a key of subjects."""
    return isinstance(spec, dict) and "partners" not in spec and any(key in spec for key in _KEYS)


def expand_player(spec: dict[str, Any], models: list[Any], where: str) -> list[PartnerPlayer]:
    """Return one player for every combination of a spec's listed options.

    Parameters are as for `tomeval.games.matrix.subject_specs.expand_subject`. A language model is
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
    players = []
    for player in expand_subject(entry, models, where):
        if not subject_class(player.kind).by_run:
            raise TomevalError(f"{where}: a person cannot sit in the partner's seat")
        model = f" ({without_address(player.model_name)})" if player.model else ""
        players.append(PartnerPlayer(f"{player.name}{model}", player))
    return players


def check_names(found: Sequence[PartnerSet | PartnerPlayer]) -> None:
    """Raise if a player has the name of another partner: tables could not tell them apart."""
    names = [one.name for one in found]
    for one in found:
        if isinstance(one, PartnerPlayer) and names.count(one.name) > 1:
            raise TomevalError(f"partners: {one.name!r} is listed twice; drop one or rename it")
