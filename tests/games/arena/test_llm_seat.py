"""Language models at a table: what they are told, what others learn of them, what is refused."""

from __future__ import annotations

import asyncio
import math
import re

import pytest
from arena_table import Logged, play, said, seat

from tomeval.core.errors import TomevalError
from tomeval.games import blotto, ipd3, mafia
from tomeval.games.llm.options import ArenaOptions as LLMOptions
from tomeval.models.base import BackendError, Reply, Unlisted
from tomeval.models.scripted import ScriptedModel

STRATEGIES = [
    {"strategy": "QA"},
    {"strategy": "CoT"},
    {"strategy": "CoT + 3-Shot"},
    {"strategy": "S2A + CoT"},
    {"strategy": "Reflexion 2"},
    {"strategy": "Plans + Insights"},
    {"strategy": "S2A + Plans + Insights + CoT"},
    {"strategy": "Social QA"},
    {"strategy": "Social QA + CoT"},
    {"strategy": "Social LM"},
    {"strategy": "S2A + Social QA"},
    {"strategy": "QA", "memory": "conversation"},
    {"strategy": "CoT", "memory": "conversation"},
    {"strategy": "Reflexion 1 + CoT", "memory": "conversation"},
    {"strategy": "Plans + Insights", "memory": "conversation", "system": "Be brief."},
    {"strategy": "Social QA", "memory": "conversation"},
]
IDS = [" ".join(map(str, options.values())) for options in STRATEGIES]


def dilemma(**rules):
    """Return a game of two rounds, in which three seats talk in turn and then all move at once."""
    return ipd3.KIND.make(ipd3.KIND.rules(rounds=2, **rules))


def vote():
    """Return a game of Mafia before its first vote, what the doctor sees, and what is asked."""
    game = mafia.KIND.make(mafia.KIND.rules(players=4))
    state = game.dealt(("mafia", "doctor", "detective", "villager"))
    state = game.outcomes(state, {0: 3, 1: 0, 2: 0})[0][1]
    return game, game.view(state, 1), game.due(state)[1]


def everything(question, request, mark=""):
    """Answer every question legally; what is not the answer holds a mark."""
    if hasattr(request, "labels"):
        return [-0.1 - place for place in range(len(request.labels))]
    if "Final answer:" not in question:
        return f"Plans: {mark}1\nInsights: {mark}2" if "Plans:" in question else f"Text {mark}3."
    form = re.findall(r'\{"(\w+)": \[', question)[-1]
    notes = f"Plans: {mark}4\nInsights: {mark}5\n" if '"Plans:"' in question else ""
    if form == "message":
        return f"<think>{mark}6</think>{notes}I reason {mark}7.\n" + said(form, "Good day")
    moves = ["cooperate"] * (2 if form == "moves" else 1)
    return f"<think>{mark}8</think>{notes}So {mark}9.\n" + said(form, *moves)


def table(options, answer=everything, **more):
    """Return a game, its seats and their logs; `options` for every seat."""
    logs = {s: Logged(lambda q, r, s=s: answer(q, r, f"SECRET{s}")) for s in range(3)}
    seats = {s: seat(s, logs[s], **options, **more) for s in range(3)}
    return dilemma(), seats, logs


@pytest.mark.parametrize("options", STRATEGIES, ids=IDS)
def test_private_reasoning_reaches_no_other_seat(options):
    game, seats, logs = table(options)
    end, found = play(game, game.deal(None), seats, probes=True)
    assert all(answer.action is not None for *_, answer in found)
    for number, log in logs.items():
        assert log.texts()
        for text in log.texts():
            for other in {0, 1, 2} - {number}:
                assert f"SECRET{other}" not in text
    # No event holds anything of it: only what the game read from the marked answer was played.
    assert all("SECRET" not in str(event) for event in game.events(end))
    assert [e.data for e in game.events(end) if e.kind == "talk"] == ["Good day"] * 6


@pytest.mark.parametrize("options", STRATEGIES, ids=IDS)
def test_probes_change_no_later_prompt(options):
    def marked(question, request, mark):
        answer = everything(question, request, mark)
        probe = not hasattr(request, "labels") and request.sampling.temperature == 0
        return f"PROBED {answer}" if probe and "Final answer:" in question else answer

    game, seats, logs = table(options, answer=marked)
    play(game, game.deal(None), seats, probes=True)
    plain, others, silent = table(options, answer=marked)
    play(plain, plain.deal(None), others)
    for number in range(3):
        asked = [r for r in logs[number].requests if not is_probe(r)]
        assert asked == silent[number].requests
        assert all("PROBED" not in text for text in logs[number].texts())
        assert len(logs[number].requests) > len(silent[number].requests)


def is_probe(request):
    return not hasattr(request, "labels") and request.sampling.temperature == 0


def shown(call):
    """Return a call without what the log need not repeat, which hangs on what was asked before."""
    return {name: call[name] for name in call if name not in ("prompt_same", "prompt_rest")}


class Slow(ScriptedModel):
    """Replies after a while that differs from call to call, so that calls overlap."""

    async def generate(self, request):
        for _ in range(request.seed % 7):
            await asyncio.sleep(0)
        return await super().generate(request)

    def episode(self, answered):
        return self


@pytest.mark.parametrize("options", STRATEGIES, ids=IDS)
def test_a_decision_and_its_probes_may_be_asked_at_once(options):
    game = dilemma(talk=False)

    async def answers(at_once):
        log = Logged(everything)
        player, state, found = seat(0, Slow(log), **options), game.deal(None), []
        player.begin(game.view(state, 0))
        while due := game.due(state):
            view = game.view(state, 0)
            asked = [player.answer(view, due[0])]
            asked += [
                player.probe(view, due[0], one)
                for one in game.probes(view._state, due[0], None, {})
            ]
            found += await asyncio.gather(*asked) if at_once else [await one for one in asked]
            state = game.then(state, {ask.seat: ("cooperate", "defect") for ask in due})
            await player.observe(game.view(state, 0))
        return [(one.action, one.attempts, one.details, *map(shown, one.calls)) for one in found]

    assert asyncio.run(answers(True)) == asyncio.run(answers(False))


REPLIES = [
    ("cooperate, defect", "unparsable", "format"),
    (said("moves", "cooperate"), "unparsable", "format"),
    (said("moves", "cooperate", "defekt"), "illegal", "format"),
    (said("moves", "...", "..."), "unparsable", "format"),
    (said("moves", 1, 2), "unparsable", "format"),
    (Reply("I would rather", finish="length"), "truncated", "truncated"),
    (Reply("I cannot do that.", finish="refusal"), "refusal", "refusal"),
    ("<think>cooperate or", "truncated", "truncated"),
]


@pytest.mark.parametrize(("reply", "outcome", "error"), REPLIES)
@pytest.mark.parametrize("attempts", [1, 3])
def test_refused_attempts_are_typed(reply, outcome, error, attempts):
    def answer(question, request, mark):
        return reply if '"moves"' in question else everything(question, request, mark)

    game, seats, _ = table({}, answer=answer, attempts=attempts)
    _, found = play(game, game.deal(None), seats)
    votes = [answer for _, seat, kind, answer in found if kind == "moves" and seat == 0]
    assert len(votes) == 2
    for vote in votes:
        assert (vote.action, vote.outcome, vote.attempts) == (None, outcome, attempts)
        assert [one.error for one in vote.tries] == [error] * attempts
        assert all(one.text for one in vote.tries)
        assert [call["outcome"] for call in vote.calls] == [outcome] * attempts


def test_a_backend_without_reply_is_an_error_of_the_backend():
    def answer(question, request, mark):
        if '"moves"' in question:
            if request.attempt == 2:
                raise BackendError("the server is gone")
            return "What?"
        return everything(question, request, mark)

    game, seats, _ = table({}, answer=answer, attempts=5)
    _, found = play(game, game.deal(None), seats)
    vote = next(answer for *_, kind, answer in found if kind == "moves")
    assert (vote.action, vote.outcome, vote.attempts) == (None, "backend_error", 2)
    assert [one.error for one in vote.tries] == ["format", "backend"]
    assert vote.tries[1].text == "the server is gone"


@pytest.mark.parametrize(
    ("options", "purpose", "errors"),
    [
        ({"strategy": "Reflexion 1"}, "reflect", ["truncated"]),
        ({"strategy": "S2A"}, "summarise", ["truncated"]),
        ({"strategy": "Social QA", "max_attempts": 2}, "predict move_1", ["truncated"]),
    ],
)
def test_a_decision_after_failed_advice_is_never_asked(options, purpose, errors):
    def answer(question, request, mark):
        advice = "Final answer:" not in question or '"move"' in question
        return "<think>endless" if advice else everything(question, request, mark)

    game, seats, _ = table(options, answer=answer)
    _, found = play(game, game.deal(None), seats)
    last = [answer for _, seat, kind, answer in found if kind == "moves" and seat == 0][-1]
    assert (last.action, last.outcome, last.attempts) == (None, "truncated", 0)
    assert [one.error for one in last.tries] == errors
    assert {call["purpose"] for call in last.calls} == {purpose}
    attempts = options.get("max_attempts", 1)
    assert len(last.calls) == attempts  # advice is asked as often as the player's options say


def test_an_oracle_is_told_what_the_others_do_and_its_probes_are_not():
    game, seats, _ = table({"strategy": "QA"})
    log = Logged(lambda q, r: everything(q, r))
    for strategy, ends in (("Oracle", ""), ("Oracle + Max", "Decide so that your result")):
        log.requests.clear()
        seats[0] = seat(0, log, strategy=strategy)
        _, found = play(game, game.deal(None), seats, probes=True)
        vote = next(answer for _, s, kind, answer in found if kind == "moves" and s == 0)
        told = {key: ["cooperate"] for key in ("move_1", "other_1", "move_2", "other_2")}
        assert vote.details == {"told": told}
        acts = [text for text in log.texts() if "What are your two moves?" in text]
        assert all("The truth: cooperate." in text for text in acts)
        assert all(ends in text for text in acts)
        probes = [text for text in log.texts() if "in this round: cooperate or defect?\n" in text]
        assert probes
        assert all("The truth" not in text for text in probes if text not in acts)
        assert seats[0].chair.door.used


def test_labels_are_scored_and_free_probes_are_not_asked(monkeypatch):
    game, view, ask = vote()
    log = Logged(lambda q, r: [-2.0, -0.5])
    player = seat(1, log, strategy="LM", decide="argmax")
    player.begin(view)
    answer = asyncio.run(player.answer(view, ask))
    assert answer.action == 2
    assert answer.probs == pytest.approx((1 / (1 + math.exp(1.5)), 1 / (1 + math.exp(-1.5))))
    assert log.requests[0].labels == ("0", "2")
    assert log.requests[0].prompt.prefill == "Final answer:"
    assert "Choose one of these: 0, 2." in log.texts()[0]
    form, [probe] = type(game).form, game.probes(view._state, ask, None, {})
    monkeypatch.setattr(type(game), "form", lambda *of: form(*of)._replace(labels=()))
    assert asyncio.run(player.probe(view, ask, probe)) is None


@pytest.mark.parametrize("drawn", ["decide", "predict"])
def test_decisions_and_predictions_are_drawn_apart(drawn):
    """Of labels the likeliest comes alone, others in draws."""
    game, view, ask = vote()
    [probe] = game.probes(view._state, ask, None, {})
    how = {"decide": "argmax"} | {drawn: "sample"}
    chances = {2: (0.4, 0.6), 3: (0.3, 0.3, 0.4)}
    script = Logged(lambda q, r: [math.log(p) for p in chances[len(r.labels)]])
    player, found = seat(1, script, strategy="LM", **how), []
    player.begin(view)
    for _ in range(60):
        decided = asyncio.run(player.answer(view, ask)).action
        player.scene._decided += 1  # a probe's draw is its own at every decision
        found.append((decided, asyncio.run(player.probe(view, ask, probe)).action))
    said = {name: {one[i] for one in found} for i, name in enumerate(("decide", "predict"))}
    assert len(said.pop(drawn)) > 1
    assert set(map(len, said.values())) == {1}


def test_a_server_that_does_not_tell_a_label():
    def answer(question, request):
        raise Unlisted("'0' is not among the 20 likeliest")

    _, view, ask = vote()
    player = seat(1, Logged(answer), strategy="LM")
    player.begin(view)
    found = asyncio.run(player.answer(view, ask))
    assert (found.action, found.outcome) == (None, "unlisted")
    assert [one.error for one in found.tries] == ["format"]


BLOTTO = blotto.KIND.make(blotto.KIND.rules())


@pytest.mark.parametrize(
    ("strategy", "game", "message"),
    [
        ("LM", BLOTTO, "scores labels, but the answers to allocate are free"),
        ("Reflexion 1 + LM", dilemma(), "the answers to moves, talk are free"),
        ("Oracle", BLOTTO, "only for the subject"),
        ("QA -History", BLOTTO, "'-history' has no meaning here"),
        ("Oracle + Max -Payoffs", BLOTTO, "'-payoffs' has no meaning here"),
        ("Belief 50% (own) + CoT", BLOTTO, "beliefs can be planted only in matrix games"),
    ],
)
def test_strategies_that_a_seat_cannot_take(strategy, game, message):
    with pytest.raises(TomevalError, match=re.escape(message)):
        LLMOptions(strategy=strategy).check("x", game, is_subject=False)
