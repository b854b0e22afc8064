"""Twins of a game: other labels, order, payoffs and stories; the same strategies and optima."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.core.errors import TomevalError
from tomeval.core.resources import read_toml
from tomeval.extensions.fresh import MOST_SEED, Chance, Task
from tomeval.games.matrix.games import NEUTRAL, Disguise, Labels, MatrixGame, get_game
from tomeval.games.matrix.partner_specs import GameSets, Partners
from tomeval.games.matrix.partners import Change, Partner, PartnerSet
from tomeval.runs.experiment import axis

Kind = Literal["labels", "story", "payoffs", "order", "all"]
ALL = "all"
KINDS = tuple(kind for kind in get_args(Kind) if kind != ALL)
MOST_SCALE, MOST_SHIFT = 9, 20


class Twins(BaseModel):
    """Famous games, each beside twins of it.

    Attributes
    ----------
    of : list of str
        Games: built-in, or TOML files.
    seed : int
        Of what is drawn: orders, letters, scales and shifts, stories and languages.
    disguise : list of {"labels", "story", "payoffs", "order", "all"}
        What each twin has changed: drawn letters as labels; a story and its labels; each side's
        payoffs by a positive affine change; the order of the actions, whose labels go along.
    languages : list of {"en", "de", "fr", "es"}
        What labels of stories are drawn from.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    of: list[str]
    seed: int = Field(0, ge=0, le=MOST_SEED)
    disguise: list[Kind] = list(get_args(Kind))
    languages: list[Literal["en", "de", "fr", "es"]] = ["en"]

    _lists = field_validator("of", "disguise", "languages", mode="before")(axis)


@cache
def _stories() -> dict[str, Any]:
    """Return the shipped stories by name: a text before the rules, and labels by language."""
    return read_toml(Path(__file__).with_name("stories.toml"))


def said_kinds(kinds: Sequence[str]) -> str:
    """Return what was disguised, in words."""
    return ALL if tuple(kinds) == KINDS else " + ".join(kinds)


def twin(game: MatrixGame, disguise: str, twins: Twins) -> MatrixGame:
    """Return a twin of a game; what is drawn depends on seed, game and disguise alone.

    Payoffs are ``scale * original + shift`` of each side, action a is the original's ``own[a]``:
    see `MatrixGame.disguise`. What is not disguised stays as the game has it.
    """
    kinds = KINDS if disguise == ALL else (disguise,)
    chance = Chance("twin", game.name, disguise, seed=twins.seed, index=1)
    own, partner = list(range(game.n)), list(range(game.m))
    if "order" in kinds:
        while own == sorted(own) and partner == sorted(partner):
            own, partner = chance.shuffled(game.n), chance.shuffled(game.m)
    scale, shift = np.ones(2), np.zeros(2)
    if "payoffs" in kinds:
        scale = chance.below(MOST_SCALE - 1, 2) + 2.0
        shift = chance.below(MOST_SHIFT, 2) + 1.0
    labels, story = game.label_set(), ""
    labels = Labels(
        labels.name, tuple(labels.own[a] for a in own), tuple(labels.partner[b] for b in partner)
    )
    if "labels" in kinds:
        letters = [NEUTRAL[k] for k in chance.shuffled(len(NEUTRAL))]
        labels = Labels("letters", tuple(letters[: game.n]), tuple(letters[: game.m]))
    if "story" in kinds:
        name = [*_stories()][int(chance.below(len(_stories()))[0])]
        language = twins.languages[int(chance.below(len(twins.languages))[0])]
        labels, story = _story_labels(name, language, game), _stories()[name]["text"]
    pairs = [(float(pair[0]), float(pair[1])) for pair in (scale, shift)]
    return replace(
        game,
        name=f"{game.name}/{disguise}",
        title=f"{game.title}, disguised: {', '.join(kinds)}",
        payoffs=game.payoffs[np.ix_(own, partner)] * scale + shift,
        labels={labels.name: labels},
        source=f"twin of {game.name}, seed {twins.seed}",
        story=story,
        disguise=Disguise(game.name, kinds, tuple(own), tuple(partner), *pairs),
    )


def _story_labels(story: str, language: str, game: MatrixGame) -> Labels:
    names, size = _stories()[story]["labels"][language], max(game.n, game.m)
    if len(names) < size:
        raise TomevalError(
            f"twins: stories have labels for {len(names)} actions, {game.name} has {size}"
        )
    name = story if language == "en" else f"{story} {language}"
    return Labels(name, tuple(names[: game.n]), tuple(names[: game.m]))


def twin_partner(partner: Partner, disguise: Disguise) -> Partner:
    """Return a partner that plays a twin as the given one plays the original."""
    own, theirs = np.array(disguise.own), np.array(disguise.partner)
    change = partner.change
    return replace(
        partner,
        emissions=partner.emissions[:, theirs],
        next_state=partner.next_state[:, own][:, :, theirs],
        change=change
        and Change(
            change.step, twin_partner(change.first, disguise), twin_partner(change.second, disguise)
        ),
    )


def twin_partners(partners: PartnerSet, disguise: Disguise) -> PartnerSet:
    """Return a set of partners for a twin, under the same names."""
    each = tuple(twin_partner(one, disguise) for one in partners.partners)
    return replace(partners, partners=each)


def _tasks(twins: Twins, partners: Partners, base: Path | None) -> list[Task]:
    """Return the games of a table ``twins``, each followed by its twins."""
    tasks: list[Task] = []
    for name in twins.of:
        game = get_game(name, base)
        sets = []
        for one in partners(game):
            if not isinstance(one, PartnerSet):
                raise TomevalError(f"twins: {one.name!r} is a player; twins need partner tables")
            sets.append(one)
        tasks.append((game, sets))
        for disguise in twins.disguise:
            other = twin(game, disguise, twins)
            assert other.disguise is not None
            tasks.append((other, [twin_partners(one, other.disguise) for one in sets]))
    return tasks


TWINS = GameSets(Twins, _tasks)
"""The table ``twins``."""
