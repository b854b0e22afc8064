"""A cell of a matrix-game run: its game, partners and played arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.core.once import held
from tomeval.games.matrix.bounds import (
    REGRETS,
    attainable_as_played,
    game_limits,
    regret_limits,
)
from tomeval.games.matrix.games import Disguise, Labels, MatrixGame
from tomeval.games.matrix.measures import curves, step_metrics
from tomeval.games.matrix.optima import known_best_response
from tomeval.games.matrix.partners import Change, Partner, PartnerSet
from tomeval.games.matrix.personas import Told
from tomeval.games.matrix.play import Setup
from tomeval.games.matrix.played import FloatArray, IntArray, Played
from tomeval.games.matrix.rules import PARTNER, SEAT
from tomeval.games.matrix.scores import scores
from tomeval.games.matrix.storing import RECORDED, has_told, read_played, step_rows
from tomeval.games.matrix.subject_specs import PartnerPlayer, is_model, worded
from tomeval.games.scores import ScoredCell, Scores, Terms
from tomeval.runs.analyses import readers
from tomeval.runs.cell import RunCell
from tomeval.runs.domain import Line, Player, Worded
from tomeval.runs.measures import is_score
from tomeval.runs.results import Run
from tomeval.runs.store import Store

TABULAR = "rmax"
"""The kind of subject that is drawn as the tabular baseline."""


class MatrixRunCell(ScoredCell):
    """One cell: a subject in a game against a set of partners."""

    certain = False

    def __init__(self, store: Store, number: int, definition: dict[str, Any]) -> None:
        super().__init__(store, number, definition)
        labels = definition["labels"]
        self.recorded = definition["kind"] == RECORDED
        # Who sits in the partner's seat, if that is a player and no table.
        self.partner_player: Mapping[str, Any] | None = definition["partners"].get("player")
        self.labels = Labels(labels["name"], tuple(labels["own"]), tuple(labels["partner"]))
        self.game = _game(json.dumps(definition["game"]), self.labels)
        tables = definition["partners"]["tables"]
        self.partners = [_partner(json.dumps(table)) for table in tables]
        # An unknown partner has no table, but a name.
        self.partner_names = [p.name for p in self.partners] or [definition["partners"]["name"]]

    @cached_property
    def told(self) -> Told | None:
        """What language models are told of the partners."""
        told = self.definition["partners"].get("told")
        return told and Told(tuple(told["true"]), told["tell"])

    def said(self, which: int) -> Mapping[str, str]:
        """Return what the subject was told of a partner; nothing if it is no language model."""
        return self.told.of(which) if self.told and is_model(self.definition) else {}

    @property
    def draws(self) -> tuple[Any, ...]:
        """The game, and the partners whatever is told of them."""
        game, partners = super().draws
        return game, self.definition["partners"].get("chance", partners)

    @property
    def scores(self) -> Scores:
        """What the scores are made of."""
        return scores(self.played)

    @property
    def people(self) -> NDArray[np.str_] | None:
        """The participants of recorded matches, if the log names them."""
        told = self.definition.get("participants")
        if told is None:
            return None
        return np.array([told[episode] for episode in self.episodes.tolist()], dtype=np.str_)

    @property
    def clusters(self) -> NDArray[Any]:
        """The participants of recorded matches, if they are several; else every match."""
        people = self.people
        return self.episodes if people is None or len(set(people.tolist())) < 2 else people

    @held
    def played(self) -> Played:
        """The complete episodes."""
        read = read_played(self.store, self.number)
        more = readers(self.store, self.number, self.definition)
        on = self.definition.get("continuation")
        played = Played(self.game, self.partners, **read, continuation=on, more=more)
        if (played.own_reward != self.game.own[played.own, played.partner]).any():
            raise self.store.damaged(f"cell {self.number}: a reward does not match its actions")
        return played

    @property
    def models(self) -> dict[str, str]:
        """Names of the language models, by seat where a player sits in the partner's."""
        other = self.partner_player
        if other is None:
            return {"": self.own_model} if self.own_model else {}
        names = {SEAT: str(self.columns["model"]), PARTNER: str(other["model"])}
        return {seat: name for seat, name in names.items() if name}

    @property
    def player(self) -> str:
        """The subject."""
        return str(self.columns["subject"])

    @property
    def is_baseline(self) -> bool:
        """Whether it is the tabular learner."""
        return bool(self.definition["kind"] == TABULAR)

    @property
    def which(self) -> IntArray:
        """Partner of each complete episode, shape (E,)."""
        return self.played.which

    @cached_property
    def each_once(self) -> bool:
        """Whether nothing is drawn, and it has one episode for each partner."""
        if self.recorded or not self.setup.enumerated:
            return False
        which = self.which.tolist()
        return 0 < len(which) == len(set(which))

    def wanted(self, planned: int) -> int:
        """Return how many episodes are to be played: one for each partner if nothing is drawn."""
        return planned if self.recorded else self.setup.enumerated or planned

    @cached_property
    def setup(self) -> Setup:
        """How the cell was played; paths among the options start from the working folder."""
        told = self.definition
        weights, name = told["partners"]["weights"], told["partners"]["name"]
        other = self.partner_player
        partners: PartnerSet | PartnerPlayer
        if other is None:
            chance = told["partners"].get("chance", name)
            partners = PartnerSet(name, tuple(self.partners), tuple(weights), self.told, chance)
        else:
            player = Player(other["subject"], other["kind"], other["options"])
            partners = PartnerPlayer(name, player)
        return Setup(
            told["kind"],
            told["options"],
            game=self.game,
            labels=self.labels,
            partners=partners,
            horizon=told.get("horizon"),
            continuation=told.get("continuation"),
            seed=told["seed"],
            on_invalid=told["on_invalid"],
        )

    @cached_property
    def attainable(self) -> dict[str, float]:
        """Means over the complete episodes of `attainable_as_played`, if a partner draws moves."""
        if all(partner.is_deterministic for partner in self.partners) or not self.which.size:
            return {}
        ceilings, played = attainable_as_played(self.played), self.played
        weights = None if played.continuation is None else played.lengths
        return {name: float(np.average(each, weights=weights)) for name, each in ceilings.items()}

    def limits(self, name: str, reference: str | None = None) -> tuple[float, float]:
        """Return between what a measure lies, whoever plays; regret has exact limits."""
        exact = game_limits(self.game).get(name)
        if name in REGRETS and self.partners:
            horizons = {self.definition.get("horizon", 1)}
            if self.recorded:  # of one length, or there are no limits
                horizons = set(self.played.lengths.tolist())
            if len(horizons) == 1:
                said = (*horizons, reference or self.reference, self.definition.get("continuation"))
                exact = regret_limits(self.game, tuple(self.partners), *said)[name]
        return exact or super().limits(name, reference)

    def part_limits(self, name: str, reference: str | None = None) -> tuple[float, float]:
        """Return between what parts lie; of scores of drawn lengths by what each episode allows."""
        terms = self.scores.find(name) if is_score(name) else None
        if self.played.continuation is None or not isinstance(terms, Terms):
            return super().part_limits(name, reference)
        share, there = terms.score, terms.there
        mean = terms.bottom[there].mean() if there.any() else np.nan
        low, high = (share + (end - share * terms.bottom) / mean for end in terms[2:4])
        return 100 * float(np.min(low, initial=share)), 100 * float(np.max(high, initial=share))

    @property
    def payoffs(self) -> tuple[float, float]:
        """The least and the largest of the game's own."""
        return float(self.game.own.min()), float(self.game.own.max())

    def shown_episode(self, episode: int, own: Sequence[Any]) -> dict[str, Any]:
        """Return the partner's name, and of a recorded match its own."""
        names = self.definition.get("matches")
        match = {"match": str(names[episode])} if names else {}
        said = dict(zip(("length",), filter(None, own[1:]), strict=False))
        if has_told(self.store):  # all cells of a run have the same columns
            told = self.said(own[0])
            said |= {f"told_{name}": told.get(name, "") for name in ("partner_persona", "frame")}
        return match | {"partner": self.partner_names[own[0]]} | said

    def judged(self) -> Mapping[str, Sequence[Any]]:
        """Return the steps' worth: `best_action` as the best response plays it.

        `regret` is the step's part of ΔFunctional/T, `tom_regret` of ΔToM/T (best response).
        `best_action` is that of the partner's state, the lowest of several, and missing where the
        partner is not known.
        """
        by_step = step_metrics(self.played, self.reference)
        return {
            "correct": (by_step["tom_percent"] / 100).tolist(),
            "regret": by_step["delta_functional_per_step"].tolist(),
            "best_action": self._best_actions(),
            "tom_regret": by_step["delta_tom_best_response_per_step"].tolist(),
        }

    def step_rows(self) -> Iterator[dict[str, Any]]:
        """Yield all of every step, by column."""
        return step_rows(self)

    def lines(self, episode: int) -> Iterator[Line]:
        """Yield what was chosen, predicted and earned in every step."""
        from tomeval.games.matrix.shown import episode_lines

        return episode_lines(self, episode)

    def _best_actions(self) -> Sequence[int | None]:
        played = self.played
        if not self.partners:
            return [None] * len(played.own)
        best = np.zeros(len(played.own), dtype=np.int64)
        for partner, length, _, steps in played.alike():
            policy = known_best_response(self.game, partner, length, played.continuation).policy
            best[steps] = policy[np.arange(length), played.states[steps]]
        actions: list[int] = best.tolist()
        return actions

    def has_curve(self, name: str) -> bool:
        """Return whether a measure can be shown by step; without a partner's table some cannot."""
        if self.partners and not self.recorded:
            return True
        even = len(set(self.played.lengths.tolist())) == 1
        return even and bool(np.isfinite(self.curves()[name]).all())

    def curves(self, reference: str | None = None) -> dict[str, FloatArray]:
        """Return every measure by episode and step, shape (E, T)."""
        return curves(self.played, reference or self.reference)

    def fixed(self, by: str) -> str:
        """Return the model, or the subject where models or label sets are compared."""
        subject, model = self.player, str(self.columns["model"])
        if self.recorded:
            return self._fixed_of_recorded(by)
        if by == "model":
            return subject if model else ""
        if by in ("labels", "run"):
            return ", ".join(filter(None, (subject, model)))
        return model

    def _fixed_of_recorded(self, by: str) -> str:
        """Return all that says who played and how, but what is compared."""
        compared = by if by == "run" or self.columns.get(by) else "subject"
        told = ["subject", "condition", "model", "strategy"]
        people = self.definition.get("participants")
        if people is not None and set(people) == {self.player}:
            told.remove("subject")  # one of the people that are compared as groups
        words = [str(self.columns.get(name, "")) for name in told if name != compared]
        return ", ".join(filter(None, words))

    @property
    def worded(self) -> Worded | None:
        """How the subject is asked."""
        return worded(self.definition)

    @property
    def content(self) -> dict[tuple[str, ...], str]:
        """Payoffs and partner tables by name."""
        game, partners = self.definition["game"], self.definition["partners"]
        tables = [table["sha256"] for table in partners["tables"]]
        said = [partners["weights"], tables]
        said += [partners[key] for key in ("player", "told") if key in partners]
        return {
            ("game", game["name"]): json.dumps(game["payoffs"]),
            ("partner set", game["name"], partners["name"]): json.dumps(said),
        }


# The cells of a run share most games and partners: what is equal is checked, and its optimum
# solved, once.


@lru_cache(maxsize=4096)
def _game(text: str, labels: Labels) -> MatrixGame:
    """Return the game of a cell's definition, given as JSON."""
    told = json.loads(text)
    if disguise := told.get("disguise"):
        lists = {name: tuple(value) for name, value in disguise.items() if name != "of"}
        told["disguise"] = Disguise(disguise["of"], **lists)
    return MatrixGame(labels={labels.name: labels}, **told)


@lru_cache(maxsize=4096)
def _partner(text: str) -> Partner:
    """Return a partner of a cell's definition, given as JSON."""
    return read_partner(json.loads(text))


def read_partner(told: Mapping[str, Any]) -> Partner:
    """Return a partner as definitions of cells have it."""
    change = None
    if "change" in told:
        parts = (read_partner(told["change"][name]) for name in ("first", "second"))
        change = Change(told["change"]["step"], *parts)
    names = ("name", "emissions", "next_state", "start", "states", "title", "source")
    table = {name: told[name] for name in names} | {"states": tuple(told["states"])}
    return Partner(**table, change=change)


def matrix_cells(run: Run) -> list[MatrixRunCell]:
    """Return the cells of a run of matrix games; raise `TomevalError` for another domain's."""
    cells = [cell for cell in run.cells if isinstance(cell, MatrixRunCell)]
    if len(cells) < len(run.cells):
        raise TomevalError(f"{run.folder}: is a run of {run.domain.title}, not of matrix games")
    return cells


def matrix_cell(cell: RunCell) -> MatrixRunCell:
    """Narrow the type of a cell of a run of matrix games."""
    assert isinstance(cell, MatrixRunCell)
    return cell
