"""Codenames: two teams of spymaster and operative, and a board of words with hidden colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.text import ascii_signs
from tomeval.games.codenames.clues import (
    OWN,
    TEXTARENA,
    Bank,
    Scores,
    clue_fault,
    common_start,
    meant_words,
    overlap,
    probe_fault,
    taken_words,
)
from tomeval.games.codenames.state import (
    ASSASSIN,
    CLUE,
    COLOURS,
    ENDINGS,
    GUESS,
    PASS,
    SEATS,
    Board,
    CodenamesRules,
    CodenamesView,
    State,
    team,
)
from tomeval.games.game import (
    Action,
    ArenaGame,
    Ask,
    Broken,
    Event,
    Form,
    Probe,
    Said,
    Stage,
    What,
)
from tomeval.lexicon.words import read_lists

_DIGITS = 9
"""The most digits of a number that is read."""
_ASKS = tuple((Ask(seat, GUESS if seat % 2 else CLUE),) for seat in range(4))


class Codenames(ArenaGame[State]):
    """The game; see docs/arena/codenames.md for its rules."""

    name = "codenames"
    round_word = "turn"
    on_broken = ("forfeit", "default")
    views = CodenamesView
    role = tuple(name.split()[1] for name in SEATS)
    sides = ((0, 1), (2, 3))
    endings = ENDINGS
    seats = 4
    rotations = ((0, 1, 2, 3), (1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0))  # nobody changes the mate
    questions: ClassVar[Mapping[str, str]] = {
        "meant": "words that the {} meant",
        "takes": "words that the {} takes",
    }
    lines: ClassVar[Mapping[str, str]] = {
        "board": "The board: {what}",
        "key": "The key: {what}",
        CLUE: "The {who} gives the clue {data[0]} {data[1]}",
        GUESS: "The {who} uncovers {data[0]}: {data[1]}",
        PASS: "The {who} passes",
        "no_clue": "The {who} gives no clue",
        "forfeit": "The {who} loses by a broken rule",
    }

    def __init__(self, rules: CodenamesRules) -> None:
        self.parameters = rules
        self.counts = (rules.red, rules.blue, rules.neutral, rules.assassin)
        self.size = sum(self.counts)
        # TextArena compares before it counts the decision, so that one more is made.
        self.length = rules.turns + (rules.rules == TEXTARENA)
        # Scripted embedding players find about two words per clue.
        self.usual = max(1, round((rules.red + rules.blue) / 2))
        paths = (Path(path) if path else None for path in (rules.words, rules.bank))
        self.lists = read_lists(*paths)
        if (found := len(self.lists.keywords)) < self.size:
            where = rules.words or "the list"
            raise TomevalError(f"a board needs {self.size} words, but {where} has {found}")
        if any(word.casefold() == PASS for word in self.lists.keywords):
            raise TomevalError(f"{PASS!r} cannot be a board word: it is how an operative passes")
        self.bank = Bank(self.lists.hints, rules.rules)
        self._key = np.repeat(np.arange(len(COLOURS)), self.counts)
        self._scores: dict[str, Scores] = {}
        words = {name: Form(name, str, 0) for name in ("meant", "takes")}
        self.forms = {CLUE: Form(CLUE, str, 2), **words}

    def scores(self, embedding: str) -> Scores:
        """Return what scripted players compute with an embedding; made once per game."""
        if embedding not in self._scores:
            self._scores[embedding] = Scores(embedding, self.lists, self.bank)
        return self._scores[embedding]

    # Rules

    def deal(self, rng: np.random.Generator) -> State:
        """Draw the words and their colours."""
        places = rng.choice(len(self.lists.keywords), self.size, replace=False).tolist()
        key = rng.permutation(self._key).tolist()
        return self.begin(Board(tuple(self.lists.keywords[p] for p in places), tuple(key)))

    def begin(self, board: Board) -> State:
        """Return the first state on a board."""
        key = tuple(COLOURS[colour] for colour in board.key)
        log = (Event("board", None, board.words), Event("key", None, key, (0, 2)))
        return State(board, board.full, 0, None, 0, 0, 1, "", None, log)

    def due(self, state: State) -> tuple[Ask, ...]:
        """Return the one decision that is due."""
        return () if state.ending else _ASKS[state.seat]

    def then(self, state: State, actions: Mapping[int, Action]) -> State:
        """Return the one state that follows."""
        (action,) = actions.values()
        board, covered, seat = state.board, state.covered, state.seat
        side, used = team(seat), state.used + 1
        event, following = Event(PASS, seat, None), 2 - 2 * side
        clue, left, ending, winner = None, 0, "", None
        if seat % 2 == 0 and action is None:
            event = Event("no_clue", seat, None)
        elif seat % 2 == 0:
            clue, left, following = action[:2], action[1] + 1, seat + 1
            event = Event(CLUE, seat, clue)
        elif action is not None:
            place = board.place[action]
            colour = board.key[place]
            covered &= ~(1 << place)
            event = Event(GUESS, seat, (action, COLOURS[colour]))
            if colour == ASSASSIN:
                ending, winner = "assassin", 1 - side
            elif colour < 2 and not covered & board.masks[colour]:
                ending, winner = "found" if colour == side else "given_away", colour
            elif colour == side and state.left > 1:
                clue, left, following = state.clue, state.left - 1, seat
        if ending:
            clue, left, following = state.clue, state.left, seat
        elif used >= self.length:
            ending, winner = "limit", self._leader(board, covered)
        turn = state.round + (following == 2 - 2 * side and not ending)
        log = (*state.log, event)
        return State(board, covered, following, clue, left, used, turn, ending, winner, log)

    def _leader(self, board: Board, covered: int) -> int | None:
        """Return the team that has found more of its words; None: both as many."""
        red, blue = (self.counts[t] - (covered & board.masks[t]).bit_count() for t in (0, 1))
        return None if red == blue else int(blue > red)

    def options(self, view: CodenamesView, what: What) -> Sequence[Action]:
        """Return the covered words, and the pass; of clues and lists there are too many."""
        if what.kind == GUESS:
            return (*view.covered, None)
        return view.covered if what.kind == "assassin" else ()

    def fault(self, view: CodenamesView, ask: Ask, action: Action) -> Broken | None:
        """Judge a clue, a guess or a pass."""
        if ask.kind == CLUE:
            return self._clue_fault(view, action)
        if action is None or action in view.covered:
            return None
        known = _on_board(view, str(action)) in view.words
        text = f"{str(action)[:60]!r} is {'already uncovered' if known else 'not on the board'}"
        return Broken("target", text)

    def _clue_fault(self, view: CodenamesView, action: Action) -> Broken | None:
        if action is None:
            return Broken("rule", "a clue must be given")
        word, number, *meant = action
        least, most = (1, self.parameters.number) if self.parameters.rules == OWN else (0, None)
        if number < least or (most is not None and number > most):
            text = f"from {least} to {most}" if most is not None else "0 or more"
            return Broken("rule", f"the number of a clue must be {text}, is {number}")
        if gives_away := clue_fault(word, view.words, self.parameters.rules):
            return Broken(*gives_away)
        for name in meant:
            if name not in view.own:
                return Broken("target", f"{name[:60]!r} is not a covered word of one's own team")
        return None

    def default(self, view: CodenamesView, ask: Ask) -> Action:
        """Return what ends the team's turn: no clue, or a pass."""
        return None

    def random(self, view: CodenamesView, ask: Ask, rng: np.random.Generator) -> Action:
        """Draw a legal clue of the bank and a number, or a covered word or a pass."""
        if ask.kind != CLUE:
            return super().random(view, ask, rng)
        places = self.legal_clues(view.words)
        most = min(self.parameters.number, len(view.own))
        clue = self.bank.clues[places[rng.integers(len(places))]]
        return clue, int(rng.integers(1, most + 1))

    def legal_clues(self, words: tuple[str, ...]) -> Any:
        """Return the places of the bank's legal clues; a `TomevalError` if no clue is legal."""
        places = self.bank.legal(words)
        if not len(places):
            raise TomevalError(f"the bank has no legal clue for a board of {', '.join(words)}")
        return places

    def struck(self, state: State, ask: Ask, how: str) -> State:
        """Return the game that a team has lost by a broken rule."""
        return state._replace(
            ending="forfeit",
            winner=1 - team(ask.seat),
            log=(*state.log, Event("forfeit", ask.seat, None)),
        )

    # What it came to

    def rewards(self, state: State) -> tuple[float, ...]:
        """Return 1 for the winners and -1 for the losers, or 0 for all in a tie."""
        if state.winner is None:
            return (0.0,) * 4
        return tuple(1.0 if team(seat) == state.winner else -1.0 for seat in range(4))

    # What seats know

    def seat_name(self, seat: int) -> str:
        """Return team and role."""
        return SEATS[seat]

    # Questions and answers

    def meant(self, view: CodenamesView, what: What, items: Sequence[Any]) -> Action | Broken:
        """Read a clue, a word and a number in digits; a guess; or covered words, each once."""
        if isinstance(what, Probe):
            words = tuple(_on_board(view, item) for item in items)
            wrong = probe_fault(view, what, words)
            return wrong or (words[0] if what.name == "assassin" else words)
        if what.kind != CLUE:
            return super().meant(view, what, items)
        word, number = (str(item).strip() for item in items)
        if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS):
            return Broken("format", "a clue is one word and a number in digits")
        return word, int(number)

    def written(self, view: CodenamesView, what: What, action: Action) -> list[Any]:
        """Return the items of a clue, a guess or words; those that a clue means stay hidden."""
        if what.kind == CLUE:
            return [action[0], str(action[1])]
        return [PASS] if action is None else super().written(view, what, action)

    def probes(self, state: State, ask: Ask, done: Action, said: Said) -> tuple[Probe, ...]:
        """Ask a spymaster with a clue what the operative will take; an operative what was meant.

        The operative is asked before the first guess of a turn, also for the assassin.
        """
        if ask.kind == CLUE:
            made = done is not None
            return (Probe("takes", ask.seat + 1, done),) if made else ()
        if done is not None or self.view(state, ask.seat).guessed:
            return ()
        meant = (Probe("meant", ask.seat - 1),)
        return (*meant, Probe("assassin")) if self.parameters.assassin else meant

    def truth(
        self, probe: Probe, seat: int, trail: Sequence[Stage[State]], at: int, end: State
    ) -> Action:
        """Return what was taken or meant, or the assassin; see `probes`."""
        if probe.name == "takes":
            return taken_words(seat + 1, trail[at + 1 :], end)
        if probe.name == "meant":
            return meant_words(seat - 1, trail[:at])
        board = trail[at].state.board
        return board.words[board.key.index(ASSASSIN)]

    def guess(self, view: CodenamesView, probe: Probe, rng: np.random.Generator) -> Action:
        """Draw as many covered words as the clue says; what is taken ends with a wrong word."""
        if probe.name == "assassin":
            return super().guess(view, probe, rng)
        clue = probe.given or view.clue
        number = clue[1] if clue else 0
        words = rng.choice(view.covered, min(number, len(view.covered)), replace=False).tolist()
        key = view.key or {}
        wrong = [i for i, word in enumerate(words) if key.get(word, view.team) != view.team]
        return tuple(words[: wrong[0] + 1] if wrong else words)

    def hit(self, probe: Probe, said: Action, truth: Action) -> float:
        """Score the words taken by their common start, the words meant by their overlap."""
        if probe.name == "takes":
            return common_start(said, truth)
        if probe.name == "meant":
            return overlap(said, truth)
        return float(said == truth)


def _on_board(view: CodenamesView, text: str) -> str:
    """Return a word as the board has it, whatever the case; the text itself if it has not."""
    text = text.strip()
    said = ascii_signs(text).casefold()
    return next((word for word in view.words if ascii_signs(word).casefold() == said), text)
