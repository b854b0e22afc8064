"""Who plays, as experiments write it, in either seat; and whether anything is drawn then."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.games.matrix.personas import FRAME, PERSONAS
from tomeval.games.matrix.subjects import LLMSubject, subject_class
from tomeval.games.matrix.subjects.llm import SubjectOptions
from tomeval.models import is_served, model_name
from tomeval.models.naming import NO_MODEL, without_address
from tomeval.runs.domain import Player, Worded
from tomeval.runs.experiment import combinations, located
from tomeval.strategies import parse_strategy, recorded_strategy
from tomeval.strategies.options import SHARED, split_wording
from tomeval.strategies.parts import ANSWER_PARTS

if TYPE_CHECKING:
    from tomeval.games.matrix.play import Setup

LLM = "llm"
LABELS = "labels"
_OPTIONS = ("option_order", "goal", *PERSONAS, FRAME, "literal_order")
"""Options of subjects that change what the model reads, and neither the game nor the strategy."""
_WORDING = SHARED | {name: str(getattr(SubjectOptions, name)) for name in _OPTIONS}


def is_model(definition: Mapping[str, Any]) -> bool:
    """Return whether a cell's subject is a language model, given the cell's definition."""
    return bool(definition.get("model") and definition.get("templates"))


def worded(definition: Mapping[str, Any]) -> Worded | None:
    """Return how a cell's subject is asked, given the cell's definition; None: it is no model."""
    if not is_model(definition):
        return None
    player, said = split_wording(definition["options"], definition["strategy"], _WORDING)
    labels = {LABELS: str(definition["labels"]["name"])}
    return Worded(player, str(definition["model"]), labels | said, _WORDING)


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
    if issubclass(subject, LLMSubject) and "model" not in entry:
        if not models:
            asked = name or entry.get("strategy", LLM)
            raise TomevalError(f'{where}: {asked!r} {NO_MODEL}; "pocket" is the embedded one')
        entry["model"] = models
    with located(where):
        return [_one(kind, name, options, swept) for options, swept in combinations(entry)]


def _check_options(kind: str, given: Mapping[str, Any]) -> None:
    """Raise unless a kind of subject has all of the options."""
    options = subject_class(kind).options()
    for key in given:
        if key not in options:
            from tomeval.games.matrix.experiment import MatrixExperiment

            known = ["kind", "name", *options]
            then = f"{did_you_mean(key, known)}; known: {', '.join(known)}"
            if key in MatrixExperiment.model_fields:
                then = ": it is a key of the experiment, to write before its tables"
            raise TomevalError(f"subject {kind!r} has no option {key!r}{then}")


def _one(kind: str, name: str | None, options: dict[str, Any], swept: set[str]) -> Player:
    """Name one subject: by its given name and swept options, else by kind and all options."""
    shown = {key: value for key, value in options.items() if name is None or key in swept}
    model: Any = ""
    strategy = ""
    base, made = name or kind, subject_class(kind)
    if issubclass(made, LLMSubject):
        parsed = parse_strategy(options.get("strategy", made.OPTIONS.strategy))
        kind = parsed.answer if parsed.answer in ANSWER_PARTS else kind
        _check_options(kind, options)
        model, strategy = options["model"], parsed.name
        model_name(model)
        # One spelling, and no address of an alias: draws depend on the options.
        options = {**options, "model": model, "strategy": strategy}
        shown.pop("model", None)
        if "questions" not in swept:
            shown.pop("questions", None)  # they change nothing of what is played
        if name is None:
            base = strategy
            shown.pop("strategy", None)
        elif "strategy" in shown:
            shown["strategy"] = strategy
    else:
        _check_options(kind, options)
    inside = ", ".join(f"{key}={_plain(value)}" for key, value in shown.items())
    return Player(f"{base}({inside})" if inside else base, kind, options, model, strategy)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


_KEYS = ("kind", "model", "strategy")


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
    """Return whether an entry of ``partners`` describes a subject: it has a key of subjects."""
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
    players = []
    for player in expand_subject(spec, models, where):
        model = f" ({without_address(player.model_name)})" if player.model else ""
        players.append(PartnerPlayer(f"{player.name}{model}", player))
    return players


def nothing_drawn(setup: Setup) -> bool:
    """Return whether nothing but the partner is left to chance in an episode of a language model.

    Then a cell has one episode for each of its partners, in their order: a further one would be a
    copy. So it is if the partners are deterministic and equally likely, and the model is asked in a
    way that leaves nothing to chance: labels are scored and the most probable one is taken, the
    order of options is fixed, and what is written is written at temperature 0 by a model of this
    machine (served ones do not repeat themselves for certain, and a script may do anything). Where
    answers can be invalid, they must not become random actions.

    Equal up to the rounding of the backend, and but for ties of the most probable labels, which are
    drawn. Where a player sits in the partner's seat, this must hold for both.
    """
    if setup.horizon is None:  # lengths are drawn
        return False
    if isinstance(setup.partners, PartnerPlayer):
        return _by_rule(setup) and _by_rule(setup.other)
    weights = setup.partners.weights
    equal = max(weights) - min(weights) < 1e-9
    return (
        equal and all(one.is_deterministic for one in setup.partners.partners) and _by_rule(setup)
    )


def _by_rule(setup: Setup) -> bool:
    """Return whether a language model leaves nothing to chance; see `nothing_drawn`."""
    try:
        kind = subject_class(setup.kind)
    except TomevalError:  # in a run whose subject is of an extension that is not here
        return False
    if not issubclass(kind, LLMSubject) or _option(setup, "after"):  # a trial is drawn
        return False
    spec = _option(setup, "model")
    # Sets without a model are made in tests and examples only, and sit down with a script.
    scripted = not spec or model_name(spec).startswith("scripted:")
    if scripted or _option(setup, "option_order") == "shuffled":
        return False
    name, sure = _option(setup, "strategy"), _option(setup, "decide") == "argmax"
    strategy = recorded_strategy(name)
    if strategy is None:  # a plug-in's, in a run that is only read: by its name
        return "LM" in str(name).split() and sure
    served, greedy = is_served(spec), _option(setup, "temperature") == 0
    return not (
        strategy.part.belief is not None  # what is stated is drawn for every step
        or (strategy.scored and not sure)
        or (strategy.scores and _option(setup, "predict") != "argmax")
        or (setup.on_invalid == "random" and (strategy.writes or served))
        or (strategy.writes and (served or not greedy))
    )


def _option(setup: Setup, name: str) -> Any:
    return setup.options.get(name, subject_class(setup.kind).options().get(name))
