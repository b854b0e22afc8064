"""What a JSON schema says of experiments of matrix games, beyond the types of their keys."""

from __future__ import annotations

from typing import Any

from tomeval.core.extensions import parts, resolved
from tomeval.domains.matrix.game_sets import GameSets
from tomeval.domains.matrix.games import GAMES
from tomeval.domains.matrix.optima import REFERENCES
from tomeval.domains.matrix.partner_files import partner_names
from tomeval.domains.matrix.partner_specs import SETS
from tomeval.domains.matrix.subject_specs import LLM, SUBJECT
from tomeval.domains.matrix.subjects import LLMSubject, all_subjects, subject_class
from tomeval.domains.matrix.subjects.llm import SubjectOptions
from tomeval.domains.matrix.subjects.simulated import USES, Believer
from tomeval.runs.file_schema import (
    DEFINITIONS,
    MODEL,
    Json,
    described,
    meanings,
    of_default,
    one_or_many,
    ref,
    table,
)

_TEXTS = {"type": "array", "items": {"type": "string"}}
_NAME: Json = {"type": "string", "description": "What tables call it."}


def described_keys() -> dict[str, Json]:
    """Return the schema of the keys that hold names and tables."""
    return {
        "games": one_or_many(ref("game")),
        "subjects": one_or_many(ref("subject")),
        "partners": one_or_many(ref("partners")),
        "model": one_or_many(MODEL),
        "reference": one_or_many({"enum": list(REFERENCES)}),
        DEFINITIONS: {"game": _game(), "subject": _subject(), "partners": _partners()},
    }


def _game() -> Json:
    name: Json = {
        "type": "string",
        "description": "A built-in game, or the path of a TOML file, see docs/games.md.",
        "examples": list(GAMES),
    }
    keys: dict[str, Json] = {
        "game": name,
        "labels": {
            "description": "Label sets for this game, in place of the experiment's.",
            "anyOf": [{"type": "string"}, _TEXTS],
        },
        "partners": {
            "description": "Partner sets for this game, in place of the experiment's.",
            **one_or_many(ref("partners")),
        },
    }
    more = []
    for kind, made in sorted(parts("game_sets").items()):
        sets: GameSets = resolved(made)
        beside = ("labels",) if sets.brings_partners else ("labels", "partners")
        described(own := sets.keys.model_json_schema(), sets.keys)
        said = {kind: own, **{key: keys[key] for key in beside}}
        more.append(table(said, [kind]))
    return {"anyOf": [name, table(keys, ["game"]), *more]}


def _partners() -> Json:
    name: Json = {
        "type": "string",
        "description": "A partner, a set, or several joined by + with weights, such as "
        "0.3*always(0) + 0.7*tit_for_tat; or the path of a TOML file, see docs/partners.md.",
        "examples": [*SETS, *partner_names()],
    }
    weights = {"type": "array", "items": {"type": "number", "minimum": 0}}
    keys = {"partners": _TEXTS, "weights": weights, "name": _NAME}
    about = "A kind of subject with its default options, in the partner's seat."
    kinds = sorted(name for name, made in all_subjects().items() if made.by_run)
    kind = {"enum": kinds, "description": about}
    player = table({SUBJECT: kind, "name": _NAME}, [SUBJECT])
    more = [resolved(kind).schema(name) for _, kind in sorted(parts("partner_sets").items())]
    return {"anyOf": [name, table(keys, ["partners"]), *more, player, ref("subject")]}


def _subject() -> Json:
    kinds = sorted(all_subjects())  # whatever was loaded first
    name = {
        "enum": kinds,
        "description": "A kind of subject with its default options, see `tomeval list subjects`.",
    }
    return {"anyOf": [name, *map(_options, kinds)]}


def _options(kind: str) -> Json:
    """Return the schema of a subject's table."""
    subject = subject_class(kind)
    said = meanings(SubjectOptions if issubclass(subject, LLMSubject) else subject)
    keys: dict[str, Any] = {"kind": {"const": kind}, "name": _NAME}
    for option, default in subject.options().items():
        keys[option] = _option(option, default, said.get(option, ""))
    if issubclass(subject, Believer):  # a rate, or a rule by name
        rate: Json = {"anyOf": [{"type": "number"}, {"enum": list(USES)}]}
        keys["use"] = {**keys["use"], **one_or_many(rate)}
    about = (subject.__doc__ or "").partition("\n")[0]
    schema = table(keys, [] if kind == LLM else ["kind"], about)
    if kind == LLM:
        schema["anyOf"] = [{"required": [key]} for key in ("kind", "model", "strategy")]
    return schema


def _option(name: str, default: Any, meaning: str) -> Json:
    """Return the schema of one option; a list of values is an axis of the grid."""
    if name == "model":
        return {**one_or_many(MODEL), "description": "See docs/models.md."}
    if name in ("strategy", "max_tokens"):  # a name or a number, or a table by part or kind of call
        kind = "string" if name == "strategy" else "integer"
        either = {"anyOf": [{"type": kind}, {"type": "object"}]}
        return {**one_or_many(either), "default": default, "description": meaning}
    return of_default(default, meaning, axis=True)
