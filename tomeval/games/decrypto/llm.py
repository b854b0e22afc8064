"""A language model in a seat of Decrypto: its strategy, what it is told, drafts and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import Invalid
from tomeval.core.resources import shipped
from tomeval.games.decrypto.game import (
    Code,
    Hints,
    Rules,
    Turn,
    View,
    hint_history,
)
from tomeval.games.decrypto.seats import ALICE, BOB, EVE, NAMES, ROLES
from tomeval.games.decrypto.stages import result_text
from tomeval.games.game import Ask, Form, Probe
from tomeval.games.llm.options import LLMOptions
from tomeval.games.llm.scene import SeatScene, written_form
from tomeval.games.llm.seat import LLMSeat, Others
from tomeval.strategies.compose import Strategy
from tomeval.strategies.options import templates_of
from tomeval.strategies.questions import join
from tomeval.strategies.readers import MARKER
from tomeval.strategies.templates import Prompts, load_prompts

_USE = "LM, QA, CoT or CoT + 3-Shot, with -History, S2A, Social QA, Social LM, Reflexion 1 to 3, "
_USE += "Plans + Insights, and for the encoder Oracle or Oracle + Max"

LISTENING = shipped("prompts") / "parts" / "listening"
"""Word forms of strategies that score codes, show no past turns, or let listeners predict."""


def spec_for(spec: Any, role: str) -> Any:
    """Return what names the strategy of one seat.

    `spec` is a name for all seats, such as ``"Reflexion 2 + CoT"``, or a table with names by role.

    Examples
    --------
    >>> spec_for({"encoder": "Social QA + CoT"}, "encoder"), spec_for({"encoder": "S2A"}, "decoder")
    ('Social QA + CoT', 'QA')
    """
    for key in spec if isinstance(spec, dict) else ():
        if key not in ROLES:
            raise unknown("role", key, ROLES, "strategy")
    return spec.get(role, "QA") if isinstance(spec, dict) else spec


def _spelled(turns: tuple[Turn, ...]) -> list[Turn]:
    """Return turns as templates show them: where nobody guessed, it says so."""
    nothing: Any = ("nothing",)
    return [turn._replace(bob=turn.bob or nothing, eve=turn.eve or nothing) for turn in turns]


class TableScene(SeatScene):
    """The table as one seat knows it; its steps are turns, whose past is told anew in each.

    Attributes
    ----------
    remembers : bool
        Whether past turns are told.
    """

    given_ahead = False
    remembers = True
    turns: tuple[Turn, ...] = ()
    rules: Rules

    @property
    def role(self) -> str:
        """Whose scene it is."""
        return ROLES[self.seat]

    @property
    def step(self) -> int:
        """The coming turn, from 1."""
        return len(self.turns) + 1

    @property
    def seen(self) -> int:
        """How many turns are over."""
        return len(self.turns)

    def see(self, view: View) -> None:
        """Note the past and, if the seat knows them, the keywords."""
        if self.rules_text and view.turns == self.turns:
            return
        self.turns, self.rules = view.turns, view.rules
        self._knows = view.keywords is not None
        self.rules_text = self.rules_text or self.render("context/rules", keywords=view.keywords)
        history = hint_history(self.turns)
        told: dict[str, Any] = {"turns": _spelled(self.turns), "history": history}
        self._events = self.render("context/history", **told) if self.remembers else ""
        self.lines = [result_text(turn) for turn in self.turns]

    @property
    def past(self) -> str:
        """The turns that are over, and hints by number."""
        return self._events

    def _about(self) -> dict[str, Any]:
        seat = {"player": NAMES[self.role], "knows": self._knows, "remembers": self.remembers}
        return {**seat, "number": self.step}

    def _history(self) -> str:
        return self._events

    def context(self) -> str:
        """Return rules and past turns, in a conversation only what it does not tell yet."""
        if not self.conversation:
            return join(self.rules_text, self._events)
        turns, revealed = self.turns[self._told :], ""
        if turns:
            values = {"turns": _spelled(turns), "history": hint_history(self.turns)}
            revealed = self.prompts.render("context/revealed", first=self._told + 1, **values)
        return join("" if self.began else self.rules_text, revealed)

    def render(self, template: str, view: View | None = None, **values: Any) -> str:
        """Render a template of the game; of probes with what they show."""
        probe, known = values.pop("probe", None), dict[str, Any]()
        if view is not None and view.code is not None:
            known["code"], known["hints"] = view.code, probe.given if probe else ()
            known["words"] = [view.keywords[digit - 1] for digit in view.code]
        elif view is not None:
            shown = (probe.given or ()) if probe else ()
            known = dict(zip(("keywords", "earlier"), shown, strict=False)) | {"hints": view.hints}
        if template.startswith("ask/"):
            plain = self.seat == ALICE or (self.remembers and not values["given"])
            template = f"ask/{self.role if plain else 'listener'}"
        elif self.seat != ALICE and template in ("probe/bob", "probe/eve"):
            known["other"], template = template[-3:].title(), "probe/listener"
        about = {**self._about(), "rules": self.rules, "draft": False}
        return self.prompts.render(template, **{**about, **known, **values})

    def examples(self, kind: str, view: View) -> str:
        """Return worked examples of what the seat decides."""
        return self.prompts.render(f"answer/examples_{self.role}", marker=MARKER)

    def written(self, form: Form, extra: str) -> dict[str, Any]:
        """Return how an answer is to be written."""
        how = {"marker": MARKER, "form": written_form(form), "kind": form.key, "extra": extra}
        return how | {"labels": form.labels}


class DecryptoSeat(LLMSeat):
    """A language model in any of the three seats."""

    asked_first = counts_lost = writes_free = True
    scenes = TableScene
    kind_of = "{}"

    def begin(self, view: View) -> None:
        """Sit down; a summary for predictions serves probes too."""
        super().begin(view)
        assert isinstance(self.scene, TableScene)
        self.scene.remembers = self.strategy.shows_history
        self.probed = self.player.context

    def foresight(self, view: View, ask: Ask) -> Others:
        """Return what the listeners will guess: for a draft, or what the other one does."""
        return (Draft if ask.seat == ALICE else Listener)(self, view, ask)

    async def _look(self, view: View) -> None:
        self.scene.see(view)

    async def observe(self, view: View) -> tuple[dict[str, Any], ...]:
        """Take a turn that is over into memory, and reflect if the strategy does; not the last."""
        if len(view.turns) < self.scene.step or self.game.over(view.turns, view.rules):
            return ()
        self.scene.advance(self.scene.seen)
        self.scene.see(view)
        await self.player.observe()
        return self.line.drain()


@dataclass(frozen=True, kw_only=True)
class DecryptoOptions(LLMOptions):
    """How language models play Decrypto; for `strategy` see `spec_for`.

    Codes are scored by a strategy that scores labels; hints and keywords are written all the same.
    """

    SEAT: ClassVar[type[LLMSeat]] = DecryptoSeat
    DOMAIN = "decrypto"

    max_tokens: int | dict[str, int] = 750  # the least that the paper allows

    def strategy_in(self, slot: str = "") -> Strategy:
        """Return the strategy of a role; a `TomevalError` if it has no meaning there.

        Bob and Eve guess at once, so neither can be told what the other one guesses; and of a turn
        that is not told there is no lesson.
        """
        unfit = ("-payoffs", "-rewards")
        strategy = self.fitting(spec_for(self.strategy, slot), "Decrypto", unfit, _USE)
        if strategy.part.is_told and slot != ROLES[ALICE]:
            raise TomevalError(
                f"strategy {strategy.name!r} is only for the encoder: write "
                f'strategy = {{ encoder = "{strategy.name}" }}; the other seats then play QA'
            )
        if strategy.reflects and not strategy.shows_history:
            raise TomevalError(
                f"strategy {strategy.name!r} cannot play Decrypto: a lesson needs the turn that is "
                "over, which -History leaves out; choose one"
            )
        return strategy

    def prompts_in(self, slot: str, base: Path | None) -> Prompts:
        """Return the templates that a role uses."""
        strategy, more = self.strategy_in(slot), templates_of(self.strategy, self.DOMAIN)
        predicts = strategy.part.predicts_first and slot != ROLES[ALICE]
        if strategy.scores or predicts or not strategy.shows_history:
            more += (LISTENING,)
        return load_prompts(self.DOMAIN, self.prompts, base, more)


class Draft(Others):
    """Alice's hints before she gives them, and what the listeners will guess for them."""

    drafting = "draft"

    async def expected(self, kind: str) -> dict[str, Any] | Invalid:
        """Ask for a draft, then what Bob and Eve will guess for it, all as the strategy answers.

        Social LM has the guesses scored.
        """
        draft = await self.draft()
        if isinstance(draft, Invalid):
            return draft
        kind = kind if kind == "lm" or self.seat.strategy.scored else ""
        guesses = []
        for name in ("bob", "eve"):
            guess = await self._predicted(Probe(name, None, draft.action), kind, draft=True)
            if isinstance(guess, Invalid):
                return guess
            guesses.append(guess.action)
        return self._found(draft.action, *guesses)

    async def truth(self) -> dict[str, Any] | Invalid:
        """Ask for a draft, and look up what is guessed for it."""
        draft = await self.draft()
        if isinstance(draft, Invalid):
            return draft
        told = await self.seat.chair.door(draft.action)
        return self._found(draft.action, told[BOB].action, told[EVE].action)

    def _found(self, hints: Hints, bob: Code | None, eve: Code | None) -> dict[str, Any]:
        self.details = {"draft": hints, "draft_bob": bob, "draft_eve": eve}
        return {"hints": hints, "bob": bob, "eve": eve}


class Listener(Others):
    """What the other listener guesses at the same time."""

    social = "advice/social_listener"

    async def expected(self, kind: str) -> dict[str, Any] | Invalid:
        """Ask what it is."""
        other = "eve" if self.ask.seat == BOB else "bob"
        guess = await self._predicted(Probe(other), kind)
        if isinstance(guess, Invalid):
            return guess
        self.details = {"expected": {other: guess.action}}
        return {"other": other.title(), "guess": guess.action}
