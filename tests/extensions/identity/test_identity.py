"""Questions about what the partner is: players of known truth, brute force, nothing else moves."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from known import drawn, make_setup, play
from support import episodes_of, random_partner, scripts

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import run_now
from tomeval.extensions.identity import Asked, foreseen, posteriors, terms
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner, get_partner_set
from tomeval.games.matrix.play import play_episode_async
from tomeval.models.base import Capabilities
from tomeval.models.scripted import ScriptedModel
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.asking import flatten

IPD, RPS = get_game("IPD"), get_game("RPS")
FOUR = "tit_for_tat + always(0) + always(1) + grim_trigger"

# Players of known truth, who know the four policies by their sentences, and no table

POLICIES = {
    "always chooses J": lambda own: "J",
    "always chooses F": lambda own: "F",
    "chooses J in round 1, and then what you chose in the round before": lambda own: (
        own[-1] if own else "J"
    ),
    "chooses J until you choose F for the first time, and then F in every round": lambda own: (
        "F" if "F" in own else "J"
    ),
}
OTHER = {"J": "F", "F": "J"}


class Player:
    """Plays F, J, J, ...; three rounds tell the four apart. Answers rightly, or always wrongly."""

    def __init__(self, right: bool) -> None:
        self.right, self.asked = right, []

    def __call__(self, request):
        text = request.prompt.messages[-1].content
        past = re.findall(r"Round \d+: you chose (\w), the other player chose (\w)", text)
        own, theirs = [one for one, _ in past], [other for _, other in past]
        fits = [
            said
            for said, policy in POLICIES.items()
            if [policy(own[:t]) for t in range(len(own))] == theirs
        ]
        options = dict(re.findall(r"^([A-Z]): It (.*)\.$", text, re.MULTILINE))
        if options:
            assert set(options.values()) == set(POLICIES)
            self.asked.append([*options.values()])
            answers = [letter for letter, said in options.items() if (said in fits) == self.right]
            answer = answers[0]
        elif "do you choose in" in text.rpartition("\n\n")[2]:
            answer = "J" if own else "F"
        else:
            question = text.rpartition("\n\n")[2]
            own += re.findall(r"([JF]) in round \d", question.partition(". ")[0])
            answer = POLICIES[fits[0]](own) if len(fits) == 1 else "J"
            answer = answer if self.right else OTHER[answer]
        if hasattr(request, "labels"):
            return [0.0 if label == answer else -9.0 for label in request.labels]
        return f"Final answer: {answer}"


def run_of(folder, player, strategy="QA", partners=FOUR, **more):
    subject = {"strategy": strategy, "questions": {"at": [4, 6]}, "name": "it"} | more
    keys = {"partners": partners, "horizon": 7, "episodes": 12, "labels": "neutral", "seed": 3}
    with scripts(player=player):
        return tomeval.run(
            {"games": "IPD", "model": "scripted:player", "subjects": [subject], **keys}, folder
        )


def row_of(run):
    [row] = run.tables["identity"].rows(run, [])
    return row


@pytest.mark.parametrize("strategy", ["QA", "LM", "CoT"])
def test_who_knows_has_100(tmp_path, strategy):
    with run_of(tmp_path / "run", player := Player(True), strategy) as run:
        row = row_of(run)
        assert row["knows_which_percent"] == row["knows_ahead_percent"] == 100
        # Four questions in step 4, one less in step 6: an episode has 7 rounds.
        assert (row["asked"], row["invalid_percent"]) == (12 * 7, 0)
        # Twelve episodes alike are told from unseen ones at chance or below.
        assert row["knows_which_percent_ci95_low"] < 100 == row["knows_which_percent_ci95_high"]
    orders = {tuple(options) for options in player.asked}
    assert len(orders) > 6  # of 24 that are drawn


def test_who_is_always_wrong_is_below_chance(tmp_path):
    with run_of(tmp_path / "run", Player(False)) as run:
        row = row_of(run)
    # (0 - 1/4) / (1 - 1/4), and (0 - 1/2) / (1 - 1/2)
    assert row["knows_which_percent"] == pytest.approx(-100 / 3)
    assert row["knows_ahead_percent"] == -100


def test_forced_choice_compares_the_letters():
    setup = make_setup(
        IPD, get_partner_set(FOUR, IPD), "QA", questions={"at": [4]}, labels="neutral"
    )
    model = ScriptedModel(player := Player(True))
    model.capabilities = Capabilities(compares=True, concurrent=False)
    record = run_now(play_episode_async(setup, 0, model))
    [asked] = [row for row in record.answers if row[2] == "which"]
    assert asked[3] == "valid"
    assert asked[5]["answer"] == record.own["partner"]
    assert player.asked


def test_unreadable_answers_are_counted_and_left_out(tmp_path):
    def mute(request):
        asks = "One of these sentences" in request.prompt.messages[-1].content
        return "I do not know." if asks else knowing(request)

    knowing = Player(True)
    with run_of(tmp_path / "run", mute, max_attempts=1) as run:
        row, [*notes] = row_of(run), run.tables["identity"].notes(run)
    assert math.isnan(row["knows_which_percent"])
    assert row["knows_ahead_percent"] == 100
    assert row["invalid_percent"] == pytest.approx(100 * 2 / 7)
    assert [one for one in notes if "no answer could be read" in one]


# By hand and by brute force


def asked_of(partners, rows):
    return Asked(rows, [*partners], IPD.label_set("neutral"))


def test_which_by_hand():
    """After one round in which the player defected, tit for tat and a cooperator look alike."""
    three = [get_partner(name, IPD) for name in ("tit_for_tat", "always(0)", "always(1)")]
    played = episodes_of(
        IPD, [[1, 0]] * 3, [[0, 1], [0, 0], [1, 1]], partners=three, which=[0, 1, 2]
    )
    expected = [[1 / 3] * 3, [0.5, 0.5, 0], [1 / 3] * 3, [0.5, 0.5, 0], [1 / 3] * 3, [0, 0, 1]]
    assert posteriors(played, three) == pytest.approx(np.array(expected))

    def score(*answers):
        rows = [(2 * (i // (len(answers) // 3)) + 1, "which", "valid", {"answer": a, "order": []})
                for i, a in enumerate(answers)]  # fmt: skip
        return terms("which", played, asked_of(three, rows)).score

    # Chance 1/3 each; attainable 1/2 + 1/2 + 1. The observer names either of two alike.
    assert score(0, 0, 2) == score(1, 1, 2) == pytest.approx((2 - 1) / (2 - 1))
    assert score(0, 1, 2) == pytest.approx(2)  # knows a draw before it shows
    assert score(*(0, 1, 2) * 3) == pytest.approx(0)  # every answer equally often
    assert score(2, 2, 0) == pytest.approx(-1)  # always wrong
    first = terms("which", played, asked_of(three, [(0, "which", "valid", {"answer": 0})]))
    assert math.isnan(first.score)  # before the first round there is nothing to know


def test_ahead_by_hand():
    noisy, even = get_partner("noisy_tit_for_tat", IPD), get_partner("uniform_random", IPD)
    for partner, scores in ((noisy, (-1, 1)), (even, (math.nan, math.nan))):
        played = episodes_of(IPD, [[0, 0]], [[0, 0]], partners=[partner])
        for answer, score in enumerate(scores):  # it repeats the defection with 0.9
            rows = [(1, "ahead 2", "valid", {"answer": answer, "own": [1]})]
            found = terms("ahead", played, asked_of([], rows)).score
            assert found == pytest.approx(score, nan_ok=True)


@pytest.mark.parametrize("kind", ["deterministic", "stochastic", "mixed"])
def test_both_by_enumeration(kind):
    rng = np.random.default_rng(5)
    for _ in range(5):
        five = [random_partner(RPS, rng, 3, kind) for _ in range(5)]
        own, partner, state = rng.integers(3, size=6).tolist(), five[0], five[0].start
        theirs = []
        for a in own:
            theirs.append(int(rng.choice(3, p=partner.emissions[state])))
            state = int(partner.next_state[state, a, theirs[-1]])
        found = posteriors(episodes_of(RPS, own, theirs, partners=five[:1]), five)
        for t in range(6):
            ways = []
            for one in five:
                s, p = one.start, 1.0
                for a, b in zip(own[:t], theirs[:t], strict=True):
                    p *= one.emissions[s, b]
                    s = int(one.next_state[s, a, b])
                ways.append(p)
            assert found[t] == pytest.approx(np.array(ways) / sum(ways), abs=1e-12)
        told, plan = np.zeros(3), tuple(own[:3])
        for moves in itertools.product(range(3), repeat=4):
            s, p = partner.start, 1.0
            for a, b in zip((*plan, 0), moves, strict=True):
                p *= partner.emissions[s, b]
                s = int(partner.next_state[s, a, b])
            told[moves[-1]] += p
        assert foreseen(partner, partner.start, plan) == pytest.approx(told, abs=1e-12)


# Nothing else moves


def answering(request):
    if hasattr(request, "labels") and len(request.labels) != 2:
        return [0.0] * len(request.labels)  # ties, which are drawn
    if "One of these sentences" in flatten(request.prompt):
        return "Final answer: B"
    return drawn(request)


def aside(call):
    return call[2].startswith(("which", "ahead"))


@pytest.mark.parametrize(
    "strategy", ["QA", "LM", "CoT", "Social QA", "Social LM", "S2A", "Reflexion 1"]
)
@pytest.mark.parametrize("literal", [True, False])
def test_questions_change_nothing_else(strategy, literal):
    partners = get_partner_set(FOUR + " + mixture(0.6, 0.4)", IPD)
    how = {"decide": "sample", "option_order": "shuffled", "literal": literal, "max_attempts": 3}
    for episode in range(3):
        plain, more = (
            play(make_setup(IPD, partners, strategy, 6, questions=asked, **how), answering, episode)
            for asked in (None, {"at": [2, 5]})
        )
        assert (more.status, more.columns) == (plain.status, plain.columns)
        summaries = [call for call in more.calls if not aside(call)]
        if literal or strategy != "S2A":  # else a summary to predict by is written for them alone
            assert summaries == plain.calls
        if more.status == "complete":
            assert sum(map(aside, more.calls)) >= 4 + 3
    assert {row[2] for row in more.answers} <= {"which", "ahead 1", "ahead 2", "ahead 3"}


def test_a_local_model_plays_the_same(tmp_path):
    """To the last digit, where requests are not batched with those of other episodes."""
    stored = []
    for asked in (None, {"at": [2, 4]}):
        data = {"games": "IPD", "partners": FOUR, "horizon": 5, "episodes": 2, "model": "pocket"}
        data["subjects"] = [{"strategy": ["LM", "QA"], "questions": asked, "name": "it"}]
        with tomeval.run(data, tmp_path / str(len(stored)), concurrency=1) as run:
            records = [one for cell in run.cells for one in run.store.records(cell.number)]
            stored.append([(one.status, one.columns) for one in records])
    assert stored[0] == stored[1]


def test_what_is_drawn_where_nothing_else_is(tmp_path, request):
    """One episode per partner, so no interval; the order of the policies is still drawn."""
    data = {"games": "IPD", "partners": FOUR, "horizon": 3, "model": "pocket"}
    data["subjects"] = [{"strategy": "LM", "decide": "argmax", "questions": {"at": 2}}]
    tomeval.run(data, tmp_path / "run").close()
    told = request.getfixturevalue("tomeval")("table", tmp_path / "run", "--what", "identity")
    for said in ("another seed gives other scores", "each distinct episode is played once"):
        assert said in told[2]


WHICH = """One of these sentences says what the other player does, in all 4 rounds:
A: It {}.
B: It {}.
Round 2 comes next. Which sentence is it, A or B?
Reply with this one line and nothing else, with the letter in place of the dots:
Final answer: ..."""
AHEAD = """Suppose that you choose {} in round 2 and {} in round 3. Which action will the other \
player choose in round 4 of 4, J or F?
Reply with this one line and nothing else, with the name of the action in place of the dots:
Final answer: ..."""


def test_what_is_asked():
    asked = {"at": [2], "ahead": 9}
    partners = get_partner_set("tit_for_tat + always(1)", IPD)
    setup = make_setup(IPD, partners, "QA", labels="neutral", questions=asked, max_attempts=1)

    def says(request):
        asks = "One of these sentences" in request.prompt.messages[-1].content
        return "Final answer: B" if asks else "Final answer: J"

    record = play(setup, says)
    texts = {call[2]: call[3]["prompt_rest"] for call in record.calls if aside(call)}
    value = {row[2]: row[5] for row in record.answers}
    assert list(texts) == ["which", "ahead 1", "ahead 2", "ahead 3"]  # up to the last round
    said = ("chooses J in round 1, and then what you chose in the round before", "always chooses F")
    assert texts["which"].endswith(WHICH.format(*(said[i] for i in value["which"]["order"])))
    assert value["which"]["answer"] == value["which"]["order"][1]  # it says B
    own = ["JF"[a] for a in value["ahead 3"]["own"]]
    assert texts["ahead 3"].endswith(AHEAD.format(*own))
    assert value["ahead 2"]["own"] == value["ahead 3"]["own"][:1]
    assert value["ahead 1"]["own"] == []


# What cannot be asked

TOLD = {
    "unknown": ({"at": [1], "asks": []}, "unknown key 'asks'.*did you mean 'ask'"),
    "late": ({"at": [1, 9], "ask": ["ahead"]}, "questions.at has 9, but an episode has 5 rounds"),
    "lacks": (
        {"at": [1], "candidates": ["always(0)", "always(1)"]},
        "questions: candidates lack 'tit_for_tat', which",
    ),
    "few": ({"at": [1]}, "'which' needs 2 to 24 candidates that differ, has 1"),
    "alike": ({"at": [1], "candidates": ["tit_for_tat", "best_responder"]}, "differ, has 1"),
    "deep": (
        {"at": [1], "candidates": ["tit_for_tat", "hard_tit_for_tat"]},
        "questions: partner 'hard_tit_for_tat' remembers too much",
    ),
    "no table": (5, "questions must be a table such as"),
}


@pytest.mark.parametrize("name", TOLD)
def test_bad_questions_are_one_line(name):
    questions, fault = TOLD[name]
    game = "IBS" if name == "alike" else "IPD"
    subject = {"strategy": "QA", "model": "pocket", "questions": questions}
    data = {"games": game, "partners": "tit_for_tat", "horizon": 5, "subjects": [subject]}
    with pytest.raises(TomevalError, match=fault):
        make_experiment(data)


def test_a_player_in_the_partners_seat_has_no_table():
    asked = {"strategy": "QA", "model": "pocket", "questions": {"at": [1]}}
    plain = {"strategy": "QA", "model": "pocket"}
    for subject, partner in ((asked, plain), (plain, asked)):
        data = {"games": "IPD", "partners": [partner], "subjects": [subject]}
        with pytest.raises(TomevalError, match="a player sits there"):
            make_experiment(data)


def test_candidates_are_all_partners_of_the_game_by_default():
    subject = {"strategy": "QA", "model": "pocket", "questions": {"at": [1]}}
    sets = ["single_action", "tit_for_tat", "win_stay_lose_shift + ipd_pair_1"]
    cells = make_experiment({"games": "IPD", "partners": sets, "subjects": [subject]}).cells
    names = [one["name"] for one in cells[1].definition["candidates"]]
    assert names == ["always(0)", "always(1)", "tit_for_tat", "win_stay_lose_shift"]
    assert (
        "candidates"
        not in make_experiment(
            {"games": "IPD", "subjects": [{"strategy": "QA", "model": "pocket"}]}
        )
        .cells[0]
        .definition
    )
