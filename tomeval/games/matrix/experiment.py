"""The keys of matrix-game experiments, and the cells that they expand to."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from tomeval.core.errors import TomevalError
from tomeval.core.parts import known, part
from tomeval.games.matrix import batch
from tomeval.games.matrix.bounds import blind_sentences, experiment_bounds
from tomeval.games.matrix.games import MatrixGame, check_keys, get_game
from tomeval.games.matrix.identity import candidates_of
from tomeval.games.matrix.optima import BEYOND, MAX_CONTINUATION, REFERENCES
from tomeval.games.matrix.partner_specs import GameSets, get_partner_set
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.personas import NONE
from tomeval.games.matrix.play import Setup, play_episode_async
from tomeval.games.matrix.rules import PARTNER, SEAT
from tomeval.games.matrix.subject_specs import (
    LLM,
    PartnerPlayer,
    expand_player,
    expand_subject,
    is_player,
)
from tomeval.models.base import Model
from tomeval.runs.domain import Cell, Player, Rows
from tomeval.runs.experiment import Experiment, among, axis, combinations, located, read_table
from tomeval.runs.record import Record
from tomeval.strategies import parse_strategy
from tomeval.strategies.recording import Overheard

MAX_STEPS_PER_EPISODE = 100_000
_ENTRY = ("game", "labels", "partners")
_SETS = "game_sets"
_WithPartners = tuple[MatrixGame, Sequence[PartnerSet | PartnerPlayer]]


class MatrixExperiment(Experiment):
    """What to measure: a grid of cells and how many episodes each gets.

    Every list is an axis of the grid; so is every list among a subject's options.

    Parameters
    ----------
    games : list
        Names, paths of TOML files, `MatrixGame` objects, or tables ``{game, labels, partners}``
        whose labels or partners replace the experiment's for that game; in place of ``game``, the
        name of a kind of set of games that an extension brings, such as ``fresh``.
    subjects : list
        Kinds, or tables with ``kind``, an optional ``name`` and the kind's options.
    partners : list
        Partner sets, as `tomeval.get_partner_set` reads them, `PartnerSet` objects, or tables that
        describe a subject, which then sits in the partner's seat.
    model : str, dict or list
        Language models for subjects that name none; see `tomeval.models.open_model`.
    labels : list of str
        Label sets. Default: each game's first one.
    horizon : int or list of int
        Steps per episode, T.
    continuation : float or list of float
        In place of a horizon: with what probability the game goes on after every step, above 0, at
        most 0.999. How many steps an episode has is drawn.
    reference : {"horizon", "stationary"} or list
        What ΔFunctional is measured from.
    name, episodes, seed, on_invalid
        As for every domain, see `tomeval.runs.experiment.Experiment`.
    """

    games: list[str | dict[str, Any] | MatrixGame] = Field(min_length=1)
    subjects: list[str | dict[str, Any]] = Field(min_length=1)
    partners: list[str | dict[str, Any] | SkipJsonSchema[PartnerSet]] = Field(
        default=["single_action"], min_length=1
    )

    model: list[str | dict[str, Any]] = Field(default=[])
    labels: list[str] = Field(default=[])
    horizon: list[int] = Field(default=[100])
    continuation: list[float] = Field(default=[])
    reference: list[str] = Field(default=["horizon"])
    REFERENCES: ClassVar = REFERENCES

    @field_validator("games", "subjects", "partners", "model", "labels", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return value if isinstance(value, list | tuple) else [value]

    @field_validator("horizon", "continuation", "reference", mode="before")
    @classmethod
    def _grid_axis(cls, value: Any) -> Any:
        return axis(value)

    @field_validator("horizon")
    @classmethod
    def _positive(cls, value: list[int]) -> list[int]:
        for item in value:
            if not 1 <= item <= MAX_STEPS_PER_EPISODE:
                raise ValueError(f"must be from 1 to {MAX_STEPS_PER_EPISODE}, is {item}")
        return value

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        if self.continuation and "horizon" in self.model_fields_set:
            raise ValueError("horizon and continuation are both given: name one of them")
        for item in self.continuation:
            if not 0 < item <= MAX_CONTINUATION:
                raise ValueError(f"continuation {BEYOND.format(item)}")
        return self

    @field_validator("reference")
    @classmethod
    def _known_reference(cls, value: list[str]) -> list[str]:
        return among("reference", value, REFERENCES)

    def expand(self) -> list[MatrixCell]:
        """Return the cells of the grid: subjects within partners within labels within games."""
        cells: list[MatrixCell] = []
        subjects = self._subjects()
        lasting: list[tuple[int | None, float | None]] = [(None, c) for c in self.continuation]
        lasting = lasting or [(horizon, None) for horizon in self.horizon]
        shared = (lasting, self.seed, self.reference, self.on_invalid)
        tasks = self._tasks()
        for task, subject in itertools.product(tasks, subjects):
            for (horizon, on), seed, reference, on_invalid in itertools.product(*shared):
                game, labels, partners = task
                setup = Setup(
                    subject.kind,
                    subject.options,
                    base=self._base,
                    game=game,
                    labels=game.label_set(labels),
                    partners=partners,
                    horizon=horizon,
                    continuation=on,
                    seed=seed,
                    on_invalid=on_invalid,
                )
                met = [sets for other, _, sets in tasks if other.name == game.name]
                with located(f"{self._where}: subject {subject.name!r}"):
                    setup = replace(setup, candidates=candidates_of(setup, met))
                cells.append(MatrixCell(subject, setup, reference))
        self._check_options(cells)
        return cells

    def cannot_tell(self) -> list[str]:
        """Return what regret, predictions, their cost, or a plan cannot show in its tasks."""
        setups = [cell.setup for cell in self.cells if isinstance(cell, MatrixCell)]
        drawn = ["how long episodes last is drawn: steps, calls and cost are what is expected"]
        known = [setup for setup in setups if isinstance(setup.partners, PartnerSet)]
        return drawn * bool(self.continuation) + blind_sentences(
            (one.game, one.tables, one.horizon or 1, one.continuation) for one in known
        )

    def bounds(self) -> Rows:
        """Return what is attainable in each task."""
        return experiment_bounds([cell for cell in self.cells if isinstance(cell, MatrixCell)])

    def _subjects(self) -> list[Player]:
        where = f"{self._where}: subjects"
        return [
            player
            for index, spec in enumerate(self.subjects)
            for player in expand_subject(spec, self.model, f"{where}[{index}]")
        ]

    def _check_options(self, cells: list[MatrixCell]) -> None:
        """Seat every subject once, so that a bad option shows before anything is played."""
        seen = set()
        for cell in cells:
            setup = cell.setup
            key = (cell.subject, cell.spec.model_name, setup.game.name, setup.partners.name)
            if key not in seen:
                seen.add(key)
                with located(f"{self._where}: subject {cell.subject!r}"):
                    _check_seats(setup)

    def _tasks(self) -> list[tuple[MatrixGame, str, PartnerSet | PartnerPlayer]]:
        """Return every (game, label set, partner set)."""
        tasks = []
        for index, spec in enumerate(self.games):
            where = f"{self._where}: games[{index}]"
            entry = spec if isinstance(spec, dict) else {"game": spec}
            kind = next((key for key in entry if key not in _ENTRY and part(_SETS, key)), "game")
            more = known(_SETS) if kind == "game" else ()
            check_keys(where, entry, (kind, *_ENTRY[1:], *more), (kind,))
            with located(where):
                made: Sequence[_WithPartners]
                if kind == "game":
                    found = get_game(entry["game"], self._base)
                    made = [(found, self._partner_sets(entry, found))]
                else:
                    made = self._of_set(kind, entry)
                labels = entry.get("labels", self.labels if kind == "game" else [])
                labels = labels if isinstance(labels, list) else [labels]
                if "labels" in entry and not labels:
                    raise TomevalError("labels is an empty list")
                tasks += [
                    (game, game.label_set(name).name, one)
                    for game, partners in made
                    for name in labels or [None]
                    for one in partners
                ]
        return tasks

    def _of_set(self, kind: str, entry: dict[str, Any]) -> Sequence[_WithPartners]:
        """Return the games of a set with their partners."""
        sets: GameSets = part(_SETS, kind)
        if sets.brings_partners and "partners" in entry:
            raise TomevalError(f"partners cannot be combined with {kind}, which brings its own")
        if not isinstance(entry[kind], dict):
            known = ", ".join(sets.keys.model_fields)
            raise TomevalError(f"{kind} must be a table; its keys: {known}")
        keys = read_table(sets.keys, entry[kind], kind)
        return sets.build(keys, lambda game: self._partner_sets(entry, game), self._base)

    def _partner_sets(
        self, entry: dict[str, Any], game: MatrixGame
    ) -> list[PartnerSet | PartnerPlayer]:
        """Return the partners of a game: those of its entry, or else the experiment's."""
        specs = entry.get("partners", self.partners)
        specs = specs if isinstance(specs, list) else [specs]
        if not specs:
            raise TomevalError("partners is an empty list")
        sets: list[PartnerSet | PartnerPlayer] = []
        for s in specs:
            if is_player(s):
                sets += expand_player(s, self.model, "partners")
            elif isinstance(s, dict) and isinstance(s.get("tell"), list):
                each = (s | one for one, _ in combinations({"tell": s["tell"]}))
                sets += [get_partner_set(one, game, self._base) for one in each]
            else:
                sets.append(get_partner_set(s, game, self._base))
        return sets

    @classmethod
    def use_model(cls, data: dict[str, Any], model: str) -> None:
        """Put one model in place of all others."""
        data["model"] = model
        subjects = data.get("subjects")
        for subject in subjects if isinstance(subjects, list) else [subjects]:
            if isinstance(subject, dict) and "model" in subject:
                del subject["model"]
                subject.setdefault("kind", LLM)


@dataclass(frozen=True, eq=False)
class MatrixCell(Cell):
    """One combination of subject and task."""

    spec: Player
    setup: Setup
    reference: str  # what ΔFunctional is measured from

    def wanted(self, planned: int) -> int:
        """Return how many episodes a run is to play; see `Setup`."""
        return self.setup.enumerated or planned

    async def play(
        self, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
    ) -> Record:
        """Play one episode."""
        mine, other = models.get(SEAT), models.get(PARTNER)
        return await play_episode_async(self.setup, episode, mine, on_step, other=other)

    @property
    def together(self) -> int:
        """How many episodes fit a batch; subjects without a batch form play one by one."""
        if isinstance(self.setup.partners, PartnerPlayer) or not batch.has_batch(self.setup.kind):
            return 0
        # Of some hundred drawn lengths the longest is about seven times the expected one.
        longest = self.setup.usual * (1 if self.setup.horizon else 7)
        return max(1, int(batch.STEPS_PER_CHUNK // longest))

    def play_many(self, first: int, count: int) -> list[Record]:
        """Play a batch."""
        return batch.simulate(self.setup, first, count)

    def questions(self, seat: str, note: str) -> list[list[Overheard]]:
        """Return what a seat is asked in an episode.

        Where lengths are drawn, in two, of one step and of nearly twice as many as are expected:
        they have the mean of drawn lengths and nearly that of their squares, as which tokens grow.
        """
        from tomeval.games.matrix.shown import asked

        setup = self.setup if seat == SEAT else self.setup.other
        lengths = (0,) if setup.horizon else (1, 2 * self.length - 1)
        return [asked(setup, note, length) for length in lengths]

    @property
    def seats(self) -> Mapping[str, Player]:
        """The subject, and the partner where it is a player and no table."""
        partners = self.setup.partners
        other = {PARTNER: partners.player} if isinstance(partners, PartnerPlayer) else {}
        return {SEAT: self.spec} | other

    @property
    def length(self) -> int:
        """The horizon, or how many steps are expected."""
        return round(self.setup.usual)

    @property
    def scores(self) -> bool:
        """Whether any strategy scores labels."""
        names = [player.strategy for player in self.seats.values() if player.strategy]
        return any(parse_strategy(name).scores for name in names)

    @property
    def subject(self) -> str:
        """The subject's name in tables."""
        return self.spec.name

    @property
    def key(self) -> tuple[str, ...]:
        """What tells this cell from the others of its experiment."""
        s = self.setup
        words = (self.subject, self.spec.model_name, s.game.name, s.labels.name, s.partners.name)
        return (*words, s.lasts, str(s.seed), self.reference, s.on_invalid)

    @cached_property
    def definition(self) -> dict[str, Any]:
        """Return the cell as JSON-ready data, complete with payoffs and partner tables."""
        s = self.setup
        partners = partners_data(s.partners)
        if isinstance(s.partners, PartnerPlayer):
            partners["player"] = _player_data(s.partners.player, s.other)
        return {
            **_player_data(self.spec, s),
            "game": game_data(s.game),
            "labels": asdict(s.labels),
            "partners": partners,
            **({"horizon": s.horizon} if s.horizon else {"continuation": s.continuation}),
            "seed": s.seed,
            "reference": self.reference,
            "on_invalid": s.on_invalid,
            **({"candidates": [*map(_table_data, s.candidates)]} if s.candidates else {}),
        }


def _player_data(player: Player, setup: Setup) -> dict[str, Any]:
    """Return who sits in a seat, complete enough to be played again."""
    return {
        "subject": player.name,
        "kind": player.kind,
        "model": player.model_name,
        "strategy": player.strategy,
        "templates": setup.templates(),
        "options": player.options,
    }


def _check_seats(setup: Setup) -> None:
    """Seat who plays once, so that what cannot be played shows before anything is."""
    rng = np.random.default_rng(0)
    if isinstance(setup.partners, PartnerSet):
        told, partners = setup.partners.told, setup.partners.partners
        both = {name for one in told.true for name in one} if told else set()
        for name in sorted(both):
            if setup.options.get(name, NONE) != NONE:
                raise TomevalError(
                    f"{name} is said by the subject and by the partners {setup.partners.name!r}: "
                    "leave out one of them"
                )
        for partner in partners if told else partners[:1]:
            setup.seat_subject(partner, rng)
        return
    for side, seat in ((setup, SEAT), (setup.other, PARTNER)):
        with located(f"in the {seat}'s seat"):
            subject = side.seat_subject(None, rng)
            if subject.needs_table:
                raise TomevalError(
                    f"{side.kind!r} needs the best response to the partner's table, but a player "
                    "in the partner's seat has no table"
                )
            if seat == PARTNER and subject.looks_ahead:
                raise TomevalError(
                    f"{side.kind!r} is told the other's move before its own, which can be done in "
                    "the subject's seat only"
                )


def game_data(game: MatrixGame) -> dict[str, Any]:
    """Return a game as definitions of cells have it, without labels."""
    names = ("name", "title", "wording", "source")
    told = {name: getattr(game, name) for name in names} | {"payoffs": game.payoffs.tolist()}
    disguise = {} if game.disguise is None else asdict(game.disguise)
    more = {"story": game.story, "disguise": disguise}
    return told | {name: said for name, said in more.items() if said}


def partners_data(partners: PartnerSet | PartnerPlayer) -> dict[str, Any]:
    """Return a partner set as definitions of cells have it, complete with tables."""
    if isinstance(partners, PartnerPlayer):
        return {"name": partners.name, "weights": [], "tables": []}
    tables = [_table_data(partner) for partner in partners.partners]
    told = {"told": asdict(partners.told), "chance": partners.chance} if partners.told else {}
    return {"name": partners.name, "weights": partners.weights, "tables": tables, **told}


def _table_data(partner: Partner) -> dict[str, Any]:
    """Return a partner's table; with the two policies and the step, if it is made of two."""
    told = {name: getattr(partner, name) for name in ("name", "title", "source", "start", "states")}
    told |= {name: getattr(partner, name).tolist() for name in ("emissions", "next_state")}
    told |= {"sha256": partner.fingerprint()}
    if change := partner.change:
        parts = {"first": _table_data(change.first), "second": _table_data(change.second)}
        told |= {"change": {"step": change.step, **parts}}
    return told
