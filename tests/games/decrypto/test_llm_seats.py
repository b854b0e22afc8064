from __future__ import annotations

import pytest
from decrypto_support import (
    ALL_PROBES,
    KEYS,
    Logged,
    everything,
    play,
    said,
    seat,
    table,
)

from tomeval.core.errors import TomevalError
from tomeval.games.decrypto.game import Rules
from tomeval.games.decrypto.scripts import play_decrypto
from tomeval.games.decrypto.seats import INTERCEPTOR_QUESTIONS, ROLES, Probes
from tomeval.lexicon.words import WordLists
from tomeval.models.base import BackendError

STRATEGIES = [
    {},
    {"strategy": "CoT"},
    {"strategy": "S2A + CoT"},
    {"strategy": "Reflexion 2"},
    {"strategy": {"encoder": "Social QA", "decoder": "S2A", "interceptor": "Reflexion 1 + CoT"}},
    {"strategy": {"encoder": "Oracle + CoT"}},
    {"memory": "conversation"},
    {"memory": "conversation", "strategy": {"encoder": "Oracle", "interceptor": "Reflexion 3"}},
    {"memory": "conversation", "strategy": {"encoder": "Social QA + CoT"}},
    {"strategy": "CoT + 3-Shot"},
    {"strategy": "S2A + Plans + Insights"},
    {"strategy": {"encoder": "Oracle + Max + CoT + 3-Shot"}},
    {"memory": "conversation", "strategy": "CoT + 3-Shot"},
    {"memory": "conversation", "strategy": "Plans + Insights + CoT"},
    {"memory": "conversation", "strategy": {"encoder": "Oracle + Max"}},
]


def logs(answer=everything):
    return {role: Logged(answer) for role in ROLES}


@pytest.mark.parametrize("options", STRATEGIES)
def test_probes_never_enter_the_players_transcript(options) -> None:
    # Probe answers that no other question could get: none may ever be read again.
    def marked(question):
        if "Remember that Eve" in question:
            return said("code", [4, 3, 2]) + "<think>SECRET</think>"
        if "you gave these hints" in question and "You have thought" not in question:
            return "SECRET " + said("code", [4, 3, 2])
        if '{"keywords"' in question:
            return "SECRET " + said("keywords", ["secretword"] * 3 + ["x"])
        return everything(question)

    with_probes, without = logs(marked), logs(marked)
    played = play(table(with_probes, probes=ALL_PROBES, every=options))
    plain = play(table(without, every=options))
    assert [(t.hints, t.bob, t.eve) for t in played.turns] == [
        (t.hints, t.bob, t.eve) for t in plain.turns
    ]
    for role in ROLES:
        asked = with_probes[role].requests
        plays = [r for r in asked if r.sampling.temperature > 0]
        probes = [r for r in asked if r.sampling.temperature == 0]
        assert plays == without[role].requests
        assert bool(probes) == (role != "decoder")
        # In a conversation nothing of a probe is left; Social's own predictions are no probes.
        for text in with_probes[role].texts():
            assert "SECRET" not in text
            assert "secretword" not in text


@pytest.mark.parametrize("options", STRATEGIES)
def test_eve_never_reads_keywords_or_the_code_before_its_time(options) -> None:
    found = logs()
    play(table(found, probes=ALL_PROBES, every=options))
    for text in found["interceptor"].texts():
        if "Now you are shown the four keywords" not in text:
            assert not any(word in text for word in KEYS)
    # Revealed keywords appear in prompts B and C alone, also turns later.
    shown = [t for t in found["interceptor"].texts() if any(word in t for word in KEYS)]
    assert shown
    assert all("Before you were shown" in t or "second interceptor" in t for t in shown)
    first = found["interceptor"].texts()[0]
    assert "2-4-1" not in first


@pytest.mark.parametrize("options", STRATEGIES)
def test_the_script_plays_as_it_is_known_to_under_every_strategy(options) -> None:
    played = play(table(dict.fromkeys(ROLES, play_decrypto), probes=ALL_PROBES, every=options))
    assert played.status == "complete"
    for turn in played.turns:
        assert turn.bob == turn.code
        assert turn.eve == (1, 2, 3)
        assert set(turn.attempts.values()) == {1}
        expected = {probe.question: probe.value for probe in turn.probes}
        assert expected["bob"] == expected["eve"] == expected["eve_reminded"] == turn.code


def test_bob_and_eve_do_not_read_the_code_of_the_turn() -> None:
    found = logs()
    play(table(found, rules=Rules(turns=1, miscommunications=9, interceptions=9)))
    for role in ("decoder", "interceptor"):
        (text,) = found[role].texts()
        assert "2-4-1" not in text
        assert "first: cat\nsecond: dog\nthird: owl" in text


def test_a_reply_that_cannot_be_read_is_not_remembered_and_its_turn_is_told() -> None:
    count = 0

    def answer(question):
        nonlocal count
        if "You are Bob" in question or "Alice gives" in question:
            count += 1
            return "what?" if count == 2 else everything(question)
        return everything(question)

    found = logs()
    found["decoder"] = Logged(answer)
    where = table(found, every={"memory": "conversation", "max_attempts": 1})
    where.on_invalid = "random"
    played = play(where)
    assert [turn.outcomes["decoder"] for turn in played.turns] == ["valid", "unparsable", "valid"]
    messages = found["decoder"].requests[-1].prompt.messages
    assert [message.role for message in messages] == ["user", "assistant", "user"]
    assert "Turn 1 is over" in messages[-1].content
    assert "Turn 2 is over" in messages[-1].content
    assert not any("what?" in message.content for message in messages)


def test_what_was_said_to_a_draft_is_not_remembered_as_the_answer() -> None:
    drafts = [["cat", "dog", "owl"], ["fox", "hen", "cow"]]

    def heard(question):
        return "what?" if "fox" in question and "turn 1 of" in question else everything(question)

    found = logs()
    found["encoder"] = Logged(lambda question: said("hints", drafts["You have" in question]))
    found["decoder"] = Logged(heard)
    options = {"memory": "conversation", "max_attempts": 1, "strategy": {"encoder": "Oracle"}}
    where = table(found, every=options)
    where.on_invalid = "random"
    played = play(where)
    assert [turn.outcomes["decoder"] for turn in played.turns] == ["unparsable", "valid", "valid"]
    second = found["decoder"].asked("turn 2 of at most")[0]
    assert "[assistant]" not in second
    assert "Turn 1 is over" in second


def test_random_hints_are_legal() -> None:
    found = logs()
    found["encoder"] = Logged(lambda question: "nothing")
    where = table(found, every={"max_attempts": 1})
    where.on_invalid = "random"
    where.game.lists = WordLists(KEYS, ("river", "rivers", "cat", "dog"))
    for turn in play(where).turns:
        assert turn.hints is not None
        assert set(turn.hints) <= {"cat", "dog"}


def test_a_probe_without_a_reply_ends_nothing() -> None:
    def broken(question):
        if '{"keywords"' in question:
            raise BackendError("no network")
        return everything(question)

    found = logs(broken)
    played = play(table(found, probes=ALL_PROBES))
    assert played.status == "complete"
    outcomes = {probed.outcome for turn in played.turns for probed in turn.probes}
    assert "backend_error" in outcomes
    assert len(outcomes) > 1  # others than those on the keywords are answered


def test_oracle_is_told_what_then_is_guessed() -> None:
    drafts = [["cat", "dog", "owl"], ["fox", "hen", "cow"]]
    found = logs()
    found["encoder"] = Logged(lambda question: said("hints", drafts["You have" in question]))

    def heard(question):
        return said("code", [1, 2, 3] if "fox" in question else [2, 4, 1])

    found["decoder"], found["interceptor"] = Logged(heard), Logged(heard)
    options = {"strategy": {"encoder": "Oracle"}}
    played = play(table(found, every=options, rules=Rules(turns=1)))
    assert played.turns[0].told
    assert "You know for certain that for these Bob will guess 2-4-1" in found["encoder"].texts()[1]
    assert (played.turns[0].hints, played.turns[0].bob) == (("fox", "hen", "cow"), (1, 2, 3))
    assert len(found["decoder"].requests) == 2  # the draft, then what was given


def test_beliefs_are_asked_from_turn_2_and_b_c_only_where_a_is_wrong() -> None:
    def answer(question):
        if '{"keywords"' in question and "In turn 3" in question:
            return said("keywords", ["River ", "VIOLIN", "bread", "winter"])
        return everything(question)

    found = logs(answer)
    played = play(table(found, probes=ALL_PROBES))
    probed = [[probed.question for probed in turn.probes] for turn in played.turns]
    asked = [[name for name in names if name in INTERCEPTOR_QUESTIONS] for names in probed]
    assert asked == [[], ["keywords", "own_belief", "other_belief"], ["keywords"]]


@pytest.mark.parametrize(
    ("probes", "expected"),
    [
        (Probes(beliefs=True), ["keywords", "own_belief", "other_belief"]),
        (Probes(beliefs_in_view=True), ["keywords", "own_belief_in_view", "other_belief_in_view"]),
        (Probes(beliefs=True, beliefs_in_view=True), list(INTERCEPTOR_QUESTIONS)),
    ],
)
def test_beliefs_with_and_without_the_earlier_answer_in_view(probes, expected) -> None:
    found = logs()
    played = play(table(found, rules=Rules(turns=2), probes=probes))
    assert [probed.question for probed in played.turns[1].probes] == expected
    quoted = 'you answered: 1 is "one", 2 is "two", 3 is "three", 4 is "four".'
    revealed = [t for t in found["interceptor"].texts() if "Now you are shown" in t]
    assert [quoted in t for t in revealed] == ["in_view" in name for name in expected[1:]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "QA -Payoffs"}, "cannot play Decrypto: '-payoffs' has no meaning here"),
        ({"strategy": "Reflexion 1 -History"}, "a lesson needs the turn that is over"),
        ({"strategy": "LM -History", "memory": "conversation"}, "-History leaves out the past"),
        ({"strategy": "Oracle"}, "only for the encoder"),
        ({"strategy": {"decodr": "QA"}}, "did you mean 'decoder'"),
        ({"max_attempts": 0}, "max_attempts must be a number from 1"),
    ],
)
def test_bad_options(options, message) -> None:
    with pytest.raises(TomevalError, match=message):
        seat("decoder", everything, **options)
