"""Language models at a table: what they are told, what others learn of them, what is refused."""

from __future__ import annotations

import asyncio
import math
import re

import pytest
from arena_table import Logged, play, said, seat
from arena_toy import State, Toy, ToyPrompts

from tomeval.core.errors import TomevalError
from tomeval.games.llm.options import ArenaOptions as LLMOptions
from tomeval.models.base import BackendError, Reply, Unlisted

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


@pytest.fixture(scope="module")
def prompts(tmp_path_factory):
    return ToyPrompts(tmp_path_factory.mktemp("prompts"))


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
    labels = re.findall(r"in place of the dots: (.*)\.\n", question)[-1]
    first = labels.split(", ")[0].split(" or ")[0]
    return f"<think>{mark}8</think>{notes}So {mark}9.\n" + said(form, first)


def table(prompts, options, game=None, answer=everything, **more):
    """Return a toy game, its seats and their logs; `options` for every seat."""
    game = game or Toy()
    logs = {s: Logged(lambda q, r, s=s: answer(q, r, f"SECRET{s}")) for s in range(3)}
    seats = {s: seat(s, logs[s], prompts, **options, **more) for s in range(3)}
    return game, seats, logs


@pytest.mark.parametrize("options", STRATEGIES, ids=IDS)
def test_private_reasoning_and_what_is_hidden_reach_no_other_seat(prompts, options):
    game, seats, logs = table(prompts, options)
    end, found = play(game, State(1), seats, probes=True)
    assert all(answer.action is not None for *_, answer in found)
    for number, log in logs.items():
        assert log.texts()
        for text in log.texts():
            for other in {0, 1, 2} - {number}:
                assert f"SECRET{other}" not in text
        assert any("You are the fool" in text for text in log.texts()) == (number == 1)
        assert any("Player 1 is the fool" in text for text in log.texts()) == (number == 1)
    # No event holds anything of it: only what the game read from the marked answer was played.
    assert all("SECRET" not in str(event) for event in game.events(end))
    assert [e.data for e in game.events(end) if e.kind == "talk"] == ["Good day"] * 6


@pytest.mark.parametrize("options", STRATEGIES, ids=IDS)
def test_probes_change_no_later_prompt(prompts, options):
    def marked(question, request, mark):
        answer = everything(question, request, mark)
        probe = not hasattr(request, "labels") and request.sampling.temperature == 0
        return f"PROBED {answer}" if probe and "Final answer:" in question else answer

    game, seats, logs = table(prompts, options, answer=marked)
    play(game, State(1), seats, probes=True)
    plain, others, silent = table(prompts, options, answer=marked)
    play(plain, State(1), others)
    for number in range(3):
        asked = [r for r in logs[number].requests if not is_probe(r)]
        assert asked == silent[number].requests
        assert all("PROBED" not in text for text in logs[number].texts())
        assert len(logs[number].requests) > len(silent[number].requests)


def is_probe(request):
    return not hasattr(request, "labels") and request.sampling.temperature == 0


REPLIES = [
    ("Player 1", "unparsable", "format"),
    (said("vote", "Player 0"), "illegal", "target"),
    (said("vote", "Player 9"), "illegal", "target"),
    (said("vote", "..."), "unparsable", "format"),
    (said("vote", "Player 1", "Player 2"), "unparsable", "format"),
    (said("vote", 1), "unparsable", "format"),
    (Reply("I would rather", finish="length"), "truncated", "truncated"),
    (Reply("I cannot do that.", finish="refusal"), "refusal", "refusal"),
    ("<think>Player 1 or", "truncated", "truncated"),
]


@pytest.mark.parametrize(("reply", "outcome", "error"), REPLIES)
@pytest.mark.parametrize("attempts", [1, 3])
def test_refused_attempts_are_typed(prompts, reply, outcome, error, attempts):
    def answer(question, request, mark):
        return reply if '"vote"' in question else everything(question, request, mark)

    game, seats, _ = table(prompts, {}, answer=answer, attempts=attempts)
    _, found = play(game, State(0), seats)
    votes = [answer for _, seat, kind, answer in found if kind == "vote" and seat == 0]
    assert len(votes) == 2
    for vote in votes:
        assert (vote.action, vote.outcome, vote.attempts) == (None, outcome, attempts)
        assert [one.error for one in vote.tries] == [error] * attempts
        assert all(one.text for one in vote.tries)
        assert [call["outcome"] for call in vote.calls] == [outcome] * attempts


def test_a_backend_without_reply_is_an_error_of_the_backend(prompts):
    def answer(question, request, mark):
        if '"vote"' in question:
            if request.attempt == 2:
                raise BackendError("the server is gone")
            return "What?"
        return everything(question, request, mark)

    game, seats, _ = table(prompts, {}, answer=answer, attempts=5)
    _, found = play(game, State(0), seats)
    vote = next(answer for *_, kind, answer in found if kind == "vote")
    assert (vote.action, vote.outcome, vote.attempts) == (None, "backend_error", 2)
    assert [one.error for one in vote.tries] == ["format", "backend"]
    assert vote.tries[1].text == "the server is gone"


@pytest.mark.parametrize(
    ("options", "purpose", "errors"),
    [
        ({"strategy": "Reflexion 1"}, "reflect", ["truncated"]),
        ({"strategy": "S2A"}, "summarise", ["truncated"]),
        ({"strategy": "Social QA", "max_attempts": 2}, "predict vote_1", ["truncated"]),
    ],
)
def test_a_decision_after_failed_advice_is_never_asked(prompts, options, purpose, errors):
    def answer(question, request, mark):
        advice = "Final answer:" not in question or "Whom will Player 1 vote" in question
        return "<think>endless" if advice else everything(question, request, mark)

    game, seats, _ = table(prompts, options, answer=answer)
    _, found = play(game, State(0), seats)
    last = [answer for _, seat, kind, answer in found if kind == "vote" and seat == 0][-1]
    assert (last.action, last.outcome, last.attempts) == (None, "truncated", 0)
    assert [one.error for one in last.tries] == errors
    assert {call["purpose"] for call in last.calls} == {purpose}
    attempts = options.get("max_attempts", 1)
    assert len(last.calls) == attempts  # advice is asked as often as the player's options say


def test_an_oracle_is_told_what_the_others_do_and_its_probes_are_not(prompts):
    game, seats, _ = table(prompts, {"strategy": "QA"})
    log = Logged(lambda q, r: everything(q, r))
    for strategy, ends in (("Oracle", ""), ("Oracle + Max", "Decide so that your result")):
        log.requests.clear()
        seats[0] = seat(0, log, prompts, strategy=strategy)
        _, found = play(game, State(2), seats, probes=True)
        vote = next(answer for _, s, kind, answer in found if kind == "vote" and s == 0)
        # The first legal vote of players 1 and 2 is player 0.
        told = {"vote_1": ["Player 0"], "vote_2": ["Player 0"], "fool": ["Player 2"]}
        assert vote.details == {"told": told}
        acts = [text for text in log.texts() if "Whom do you vote for?" in text]
        assert all("Who is the fool? The truth: Player 2." in text for text in acts)
        assert all(ends in text for text in acts)
        probes = [text for text in log.texts() if "Whom do you vote for?" not in text]
        assert probes
        assert all("The truth" not in text for text in probes)
        assert seats[0].chair.door.used


def test_labels_are_scored_and_free_probes_are_not_asked(prompts):
    class Silent(Toy):
        def form(self, view, what):
            form = super().form(view, what)
            return form._replace(labels=()) if what.kind == "fool" else form

    game = Silent()
    log = Logged(lambda q, r: [-2.0, -0.5])
    player = seat(0, log, prompts, strategy="LM")
    state = State(0, (("talk", 0, ""), ("talk", 1, ""), ("talk", 2, "")))
    view, ask = game.view(state, 0), game.due(state)[0]
    player.begin(view)
    answer = asyncio.run(player.answer(view, ask))
    assert answer.action == 2
    assert answer.probs == pytest.approx((1 / (1 + math.exp(1.5)), 1 / (1 + math.exp(-1.5))))
    assert log.requests[0].labels == ("Player 1", "Player 2")
    assert log.requests[0].prompt.prefill == "Final answer:"
    assert "Choose one of these: Player 1, Player 2." in log.texts()[0]
    asked = {
        p.question: asyncio.run(player.probe(view, ask, p)) for p in game.probes(view._state, ask)
    }
    assert asked["fool"] is None
    assert asked["vote_1"].action == 2


@pytest.mark.parametrize("drawn", ["decide", "predict"])
def test_decisions_and_predictions_are_drawn_apart(prompts, drawn):
    """Of two labels with chances of 0.4 and 0.6 the first comes in draws alone."""
    game, answers = Toy(), []
    state = State(0, (("talk", 0, ""), ("talk", 1, ""), ("talk", 2, "")))
    view, ask = game.view(state, 0), game.due(state)[0]
    script = Logged(lambda q, r: [math.log(0.4), math.log(0.6)])
    player = seat(0, script, prompts, strategy="LM", **{drawn: "sample"})
    player.begin(view)
    probe = next(p for p in game.probes(view._state, ask) if p.question == "vote_1")
    for _ in range(60):
        decided = asyncio.run(player.answer(view, ask)).action
        player.scene._decided += 1  # a probe's draw is its own at every decision
        answers.append((decided, asyncio.run(player.probe(view, ask, probe)).action))
    said = {name: {one[i] for one in answers} for i, name in enumerate(("decide", "predict"))}
    assert len(said.pop(drawn)) == 2
    assert set(map(len, said.values())) == {1}


def test_a_server_that_does_not_tell_a_label(prompts):
    def answer(question, request):
        raise Unlisted("'Player 1' is not among the 20 likeliest")

    game = Toy()
    state = State(0, (("talk", 0, ""), ("talk", 1, ""), ("talk", 2, "")))
    player = seat(0, Logged(answer), prompts, strategy="LM")
    player.begin(game.view(state, 0))
    found = asyncio.run(player.answer(game.view(state, 0), game.due(state)[0]))
    assert (found.action, found.outcome) == (None, "unlisted")
    assert [one.error for one in found.tries] == ["format"]


@pytest.mark.parametrize(
    ("strategy", "game", "message"),
    [
        ("LM", Toy(), "scores labels, but the answers to talk are free"),
        ("Reflexion 1 + LM", Toy(), "the answers to talk are free"),
        ("LM", Toy(free_votes=True), "the answers to talk, vote are free"),
        ("Oracle", Toy(), "only for the subject"),
        ("QA -History", Toy(), "'-history' has no meaning here"),
        ("Oracle + Max -Payoffs", Toy(), "'-payoffs' has no meaning here"),
        ("Belief 50% (own) + CoT", Toy(), "beliefs can be planted only in matrix games and"),
    ],
)
def test_strategies_that_a_seat_cannot_take(strategy, game, message):
    with pytest.raises(TomevalError, match=re.escape(message)):
        LLMOptions(strategy=strategy).check("toy", game, is_subject=False)
