"""What a language model is told of a matrix game: rules, past rounds and questions in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.resources import shipped
from tomeval.games.matrix.games import Labels, MatrixGame
from tomeval.games.matrix.optima import dynamics
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.personas import FRAME, NONE, PERSONAS, persona_text
from tomeval.games.matrix.responses import best_responses, stationary_reward
from tomeval.games.matrix.rules import Joint
from tomeval.models.base import Message
from tomeval.strategies.compose import Strategy
from tomeval.strategies.options import templates_of
from tomeval.strategies.questions import Phrased, Question, Style
from tomeval.strategies.readers import MARKER
from tomeval.strategies.templates import CHOSEN, Prompts, load_prompts

INDEFINITE = "indefinite"
"""The folder of templates that take the place of those that state the number of rounds."""
_PART = shipped("prompts") / "parts" / "framing"
_IDENTITY = shipped("prompts") / "parts" / "identity"


def prompts_of(options: Mapping[str, Any], base: Path | None, indefinite: bool = False) -> Prompts:
    """Return the templates of a player of these options, those of its strategy too.

    Raises
    ------
    TomevalError
        The game is `indefinite`, and a template of one's own shows how many rounds it lasts.
    """
    more = templates_of(options.get("strategy", "QA"), "matrix")
    if any(options.get(name, NONE) != NONE for name in (*PERSONAS, FRAME)):
        more += (_PART,)
    if options.get("questions"):
        more += (_IDENTITY,)
    found = options.get("prompts", ""), base, more
    return _indefinite(*found) if indefinite else load_prompts("matrix", *found)


@lru_cache(maxsize=32)
def _indefinite(name: str, base: Path | None, more: tuple[Path, ...]) -> Prompts:
    """Return the templates of a game of which nobody knows how many rounds it lasts."""
    prompts = load_prompts("matrix", name, base, more, INDEFINITE)
    if path := prompts.naming("horizon"):
        twin = Path(name, INDEFINITE, "matrix", *path.parts[-2:])
        raise TomevalError(
            f"{path}: shows {{{{ horizon }}}}, which nobody knows in a game with a continuation; "
            f"write {twin}, which may show {{{{ goes_on }}}} and {{{{ ends }}}}, in percent"
        )
    return prompts


def framed(
    prompts: Prompts,
    options: Mapping[str, Any],
    values: Mapping[str, Any],
    story: str = "",
) -> str:
    """Return what stands before the rules: stories, then who plays; empty without any.

    `values` are those that the rules show; `story` is the game's own, which stands first.

    Raises
    ------
    TomevalError
        As `persona_text`; or there is no such frame.
    """
    parts = [story] if story else []
    if (frame := options[FRAME]) != NONE:
        known = [n.removeprefix(CHOSEN) for n in prompts.names() if n.startswith(CHOSEN)]
        if frame not in known:
            raise unknown(FRAME, frame, [NONE, *known])
        parts.append(prompts.render(f"{CHOSEN}{frame}", **values))
    told = {name: persona_text(name, options[name]) for name in PERSONAS}
    if any(told.values()):
        parts.append(prompts.render("context/persona", **told))
    return "\n\n".join(parts)


_VERBS = {
    "points": {"you": "win", "other": "wins", "past": "won"},
    "score": {"you": "receive", "other": "receives", "past": "received"},
}
"""What one does with an amount, by the game's wording."""


@dataclass(frozen=True)
class Order:
    """In which order the options are listed: indices of the own and of the partner's actions."""

    own: tuple[int, ...]
    partner: tuple[int, ...]


def option_order(kind: str, n: int, m: int, rng: np.random.Generator) -> Order:
    """Return the order of one episode: as indexed, reversed or drawn."""
    own, partner = list(range(n)), list(range(m))
    if kind == "reversed":
        own, partner = own[::-1], partner[::-1]
    elif kind == "shuffled":
        own, partner = rng.permutation(n).tolist(), rng.permutation(m).tolist()
    return Order(tuple(own), tuple(partner))


class Words:
    """The values that templates fill in, for one game, label set and order of options.

    A `strategy` may leave payoffs or rewards out.
    """

    def __init__(
        self,
        game: MatrixGame,
        labels: Labels,
        horizon: int | None,
        order: Order,
        strategy: Strategy | None = None,
        goal: str = "win",
        continuation: float | None = None,
    ) -> None:
        self.game, self.labels, self.order = game, labels, order
        own = [labels.own[i] for i in order.own]
        partner = [labels.partner[i] for i in order.partner]
        lasting: dict[str, Any] = {"horizon": horizon}
        if continuation is not None:  # in percent, as it was written
            chances = {"goes_on": continuation, "ends": 1 - continuation}
            lasting = {name: f"{100 * chance:.10g}" for name, chance in chances.items()}
        self.common: dict[str, Any] = {
            **lasting,
            "own_labels": own,
            "partner_labels": partner,
            "own_options": _either(own),
            "partner_options": _either(partner),
            "show_table": strategy is None or strategy.shows_table,
            "show_rewards": strategy is None or strategy.shows_rewards,
            "goal": goal,
            "verb": _VERBS[game.wording],
        }

    def amount(self, value: float) -> str:
        """Word a payoff, never rounded: ``a score of +1`` or ``8 points``."""
        score = self.game.wording == "score"
        signed = score and bool(value != 0)
        number = np.format_float_positional(value + 0.0, trim="-", sign=signed)
        if score:
            return f"a score of {number}"
        return f"{number} point{'' if value == 1 else 's'}"

    def payoff_lines(self) -> list[dict[str, str]]:
        """Return one entry per joint action, in the order of options."""
        return [
            {
                "own": self.labels.own[a],
                "partner": self.labels.partner[b],
                "own_amount": self.amount(self.game.own[a, b]),
                "partner_amount": self.amount(self.game.partner[a, b]),
            }
            for a in self.order.own
            for b in self.order.partner
        ]

    def round_values(self, number: int, joint: Joint) -> dict[str, Any]:
        """Return the values of one past round."""
        return {
            **self.common,
            "round": number,
            "own": self.labels.own[joint.own],
            "partner": self.labels.partner[joint.partner],
            "own_amount": self.amount(joint.own_reward),
            "partner_amount": self.amount(joint.partner_reward),
        }


def _either(names: list[str]) -> str:
    """Join options: ``J or F``, ``J, F or B``."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


class MatrixScene:
    """Rules and history; the history grows by one line per round and is never rendered again.

    `words` decides whether payoffs and rewards are shown; `earlier` stands before every prompt and
    `before` before the rules.
    """

    def __init__(
        self,
        prompts: Prompts,
        words: Words,
        strategy: Strategy,
        earlier: tuple[Message, ...] = (),
        before: str = "",
    ) -> None:
        self.prompts, self.words, self.strategy = prompts, words, strategy
        self.earlier = earlier
        self._examples: list[dict[str, Any]] = []
        self.step = 1
        rules = prompts.render("context/rules", payoffs=words.payoff_lines(), **words.common)
        self._text = f"{before}\n\n{rules}" if before else rules

    def observe(self, joint: Joint) -> None:
        """Add a round."""
        if self.strategy.shows_history:
            values = self.words.round_values(self.step, joint)
            line = self.prompts.render("context/history", **values)
            self._text += ("\n\n" if self.step == 1 else "\n") + line
        self.step += 1

    def context(self) -> str:
        """Return rules and history."""
        return self._text

    def summary_request(self, use: str) -> str:
        """Return the request to summarise rules and history, to ``act`` or to ``predict``."""
        return self.note_request(f"context/s2a_{use}", self._text, "", self.step)

    def summarised(self, summary: str) -> str:
        """Return the summary, which stands for the rules too."""
        values = {**self.words.common, "round": self.step}
        return self.prompts.render("context/summary", summary=summary, **values)

    def note_request(self, template: str, context: str, memory: str, step: int) -> str:
        """Return a request whose template shows context and memory itself."""
        values = {**self.words.common, "context": context, "memory": memory, "round": step}
        return self.prompts.render(template, **values)

    def group(self, purpose: str) -> str:
        """Distinguish requests that show rules and history from questions that show a summary."""
        return " raw" if self.strategy.summarises else ""

    def phrase(self, question: Question[Any], style: Style, extra: str) -> Phrased:
        """Render a question from the template of its kind of answer.

        Scored predictions come in two forms: with the own action of the round before the label, or
        without.
        """
        name, values = question.template, question.values | self.words.common
        values["round"] = question.step
        if style.scored:
            if name == "predict":
                name += "_agent_first" if "own_action" in values else "_partner_first"
            name = f"answer/lm_{name}"
            asked = (self.prompts.render(name, **values),)
            prefill = self.prompts.prefill(name, **values)
            return Phrased(asked, prefill, self.prompts.instead(name, **values))
        values |= {"marker": MARKER, "extra": extra}
        text = self.prompts.render(f"answer/{style.kind}_{name}", **values)
        if not style.shots:
            return Phrased((text,))
        shown = "act" if question.form == "functional" else "predict"
        self._examples = self._examples or worked_examples(self.words)
        values["examples"] = self._examples
        return Phrased((self.prompts.render(f"answer/examples_{shown}", **values), text))


def worked_examples(words: Words) -> list[dict[str, Any]]:
    """Make three examples of ideal reasoning for the game at hand.

    The first partner repeats an action, the second alternates between two; the answer is the best
    response to the expected action. The third reacts to the subject's last action, as tit for tat
    does (as a best responder does where the two sides have different numbers of actions), and the
    answer is the first action of what pays most in the long run: to keep one action, or to respond
    to each expected action. Where neither reaches the best stationary reward, the third partner
    repeats an action too.
    """
    last = words.game.m - 1
    alternating = _unmoved(words, "alternating", (0, last, 0), last)
    examples = [_unmoved(words, "constant", (0, 0, 0), 0)]
    reacting = _reacting(words)
    if reacting is None:
        return [*examples, _unmoved(words, "constant", (last, last, last), last), alternating]
    return [*examples, alternating, reacting]


def _unmoved(words: Words, kind: str, seen: Sequence[int], following: int) -> dict[str, Any]:
    """Return an example with a partner that does not care what the subject does."""
    game = words.game
    top = game.n - 1
    own = (0, top, 0) if kind == "constant" else (0, 0, top)
    return {
        "kind": kind,
        "rounds": _rounds(words, own, seen),
        "next": words.labels.partner[following],
        "best": words.labels.own[_best_reply(game, following)],
        "worth": [_worth(words, a, following) for a in words.order.own],
    }


def _reacting(words: Words) -> dict[str, Any] | None:
    """Return an example with a partner that reacts; None if no simple plan is best against it."""
    game = words.game
    partner = get_partner("tit_for_tat" if game.n == game.m else "best_responder", game)
    # Both answer the last own action, whatever they played themselves.
    played = partner.emissions.argmax(axis=1)
    first, answers = int(played[partner.start]), played[partner.next_state[0, :, 0]].tolist()
    own = [*range(game.n), 0]
    kept = [float(game.own[a, answers[a]]) for a in range(game.n)]
    greedy = _greedy(game, answers, own[-1])
    keep = max(kept) >= greedy
    attained = max(*kept, greedy)
    rewards, transitions = dynamics(game, partner)
    optimum = stationary_reward(rewards, transitions, partner.start)
    if attained < optimum - 1e-9 * (1 + abs(optimum)):
        return None
    expected = answers[own[-1]]
    best = kept.index(attained) if keep else _best_reply(game, expected)
    labels = words.labels
    return {
        "kind": "reacting",
        "rounds": _rounds(words, own, [first, *(answers[a] for a in own[:-1])]),
        "answers": [
            {"own": labels.own[a], "partner": labels.partner[answers[a]]} for a in words.order.own
        ],
        "next": labels.partner[expected],
        "best": labels.own[best],
        "worth": [_worth(words, a, answers[a]) for a in words.order.own],
        "greedy": words.amount(greedy),
        "keep": keep,
    }


def _greedy(game: MatrixGame, answers: Sequence[int], last: int) -> float:
    """Return the long-run reward per round of always responding to the expected action."""
    rewards: list[float] = []
    seen: dict[int, int] = {}
    while last not in seen:
        seen[last] = len(rewards)
        expected = answers[last]
        last = _best_reply(game, expected)
        rewards.append(float(game.own[last, expected]))
    cycle = rewards[seen[last] :]
    return sum(cycle) / len(cycle)


def _best_reply(game: MatrixGame, partner_action: int) -> int:
    return int(best_responses(game)[:, partner_action].argmax())


def _rounds(words: Words, own: Sequence[int], partner: Sequence[int]) -> list[tuple[str, str]]:
    labels = words.labels
    return [(labels.own[a], labels.partner[b]) for a, b in zip(own, partner, strict=True)]


def _worth(words: Words, own: int, partner: int) -> dict[str, str]:
    """Return what an action pays against an action of the partner."""
    labels, amount = words.labels, words.amount(words.game.own[own, partner])
    return {"own": labels.own[own], "partner": labels.partner[partner], "amount": amount}
