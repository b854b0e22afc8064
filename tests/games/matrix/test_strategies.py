"""What every strategy's prompts must and must not show.

Most tests play an episode twice, with one thing changed, and compare prompts: what a prompt must
not depend on cannot be in it, however it is worded. What all three parts of a strategy decide
together is tested for every strategy, the rest for strategies that hold every pair of parts.
"""

import re

import numpy as np
import pytest
from known import PAIRS, Known, fixed, make_setup, play, prompts_in_log, question, variant
from support import column

from tomeval.games.matrix.games import GAMES as BUILT_IN
from tomeval.games.matrix.games import Labels, MatrixGame, get_game
from tomeval.games.matrix.optima import best_response
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.partners import Partner
from tomeval.models.base import ScoreRequest
from tomeval.strategies import Strategy, all_strategies, parse_strategy
from tomeval.strategies.compose import ADVICE, ANSWERS, CONTEXTS

T = 4
RULED = {"decide": "argmax"}  # scored labels follow the script too
EVERY = all_strategies()
every_pair = pytest.mark.parametrize("strategy", PAIRS, ids=lambda strategy: strategy.name)

# Sides of different size and names, labels that hold one another, payoffs seen nowhere else.
ODD = MatrixGame(
    "odd",
    np.array([[[31, 47], [53, 61], [67, 71]], [[73, 79], [83, 89], [97, 43]]], float),
    {"odd": Labels("odd", ("go", "go on"), ("left, or so", "left", "U.S."))},
)
GAMES = [(get_game("RPS"), "neutral"), (get_game("IPD"), "canonical"), (ODD, "odd")]
# Every strategy meets one game, every pair of parts all of them.
SHOWN = [
    (Strategy(context, advice, answer), *GAMES[(i + j + k) % len(GAMES)])
    for i, context in enumerate(CONTEXTS)
    for j, advice in enumerate(ADVICE)
    for k, answer in enumerate(ANSWERS)
]

HISTORY = re.compile(
    r"^Round (\d+): you chose (.+), the other player chose (.+?)(?:; .+)?\.$", re.M
)
AMOUNT = re.compile(r"score of|\d points?\b|\b(?:31|47|53|61|67|71|73|79|83|89|97|43)\b")


def base(game, labels):
    return Known(game, game.label_set(labels))


def moves(game):
    """Return a partner's actions, all of them if there is time."""
    return [(2 * i + 1) % game.m for i in range(T)]


def body(text):
    """Return what the user says of a prompt, without the begun answer."""
    return text.partition("\n\n[assistant begins]\n")[0]


def prefill(text):
    return text.partition("\n\n[assistant begins]\n")[2]


def told(text):
    """Return a prompt without its worked examples."""
    head, _, rest = body(text).partition("\n\nThree examples of good reasoning")
    return f"{head}\n\n{rest.rpartition(chr(10) * 2)[2]}" if rest else head


def summarises(purpose):
    return purpose.startswith("summarise")


def of(log, purpose, step=None):
    return [text for p, s, text in log if p == purpose and step in (None, s)]


def played(strategy, game, labels, conditional=True, script=None, partner=None, **options):
    script = script or base(game, labels)
    partner = partner or fixed(game, moves(game))
    options = {**RULED, "conditional": conditional, **options}
    setup = make_setup(game, partner, strategy, T, labels, **options)
    steps = play(setup, script)
    assert steps.status == "complete"
    return steps, script.log


def parts(strategy):
    return strategy.context, strategy.advice, strategy.answer


@pytest.mark.parametrize(("strategy", "game", "labels"), SHOWN, ids=[s.name for s, *_ in SHOWN])
def test_what_is_shown(strategy, game, labels):
    steps, log = played(strategy, game, labels)
    names = game.label_set(labels)
    own, theirs = steps.column("own_action"), steps.column("partner_action")
    assert own == [0, 1, 0, 1]
    assert theirs == moves(game)
    assert prompts_in_log(steps) == log  # the call log gives back exactly what was sent
    rounds = [(str(t + 1), names.own[own[t]], names.partner[theirs[t]]) for t in range(T)]
    raw = strategy.context != "s2a"
    for purpose, step, text in log:
        whole = raw or summarises(purpose) or purpose == "reflect"  # else the summary stands in
        shown = step if purpose == "reflect" else step - 1
        expected = rounds[:shown] if whole and strategy.context != "-history" else []
        assert HISTORY.findall(told(text)) == expected
        table = strategy.context not in ("-payoffs", "-rewards")
        rewards = bool(expected) and strategy.context != "-rewards"
        examples = strategy.answer == "cot_3_shot" and table and purpose == "act"
        assert bool(AMOUNT.search(told(text))) == (whole and (table or rewards))
        assert bool(AMOUNT.search(text)) == (whole and (table or rewards)) or examples
        assert text.count("- If you choose") == (game.n * game.m if whole and table else 0)
        assert ("It lasts 4 rounds" in text) == whole
        assert ("with the same player" in text) == whole
        assert ("Your aim is to" in text) == whole
        for use in ("", " for predict"):
            mine = (purpose in ("predict", "react")) == bool(use)
            asks = not summarises(purpose) and purpose != "reflect"
            assert (f"said-summarise{use}-{step}" in text) == (not raw and asks and mine)
        certain = "You know for certain" in text
        assert certain == (strategy.advice.startswith("oracle") and purpose == "act")
        if certain:
            assert (
                f"the other player will choose {names.partner[theirs[step - 1]]} in round {step}."
                in text
            )
            maximise = "Respond with the action that maximises your own reward." in text
            assert maximise == (strategy.advice == "oracle_max")
        predicted = "Given that you think" in text
        assert predicted == (strategy.advice.startswith("social") and purpose == "act")
        if predicted:
            said = names.partner[step % 2]
            given = (
                f"Given that you think the other player will choose {said} in round {step} of 4, "
            )
            assert f"{given}which action is best for you, " in text
        assert ("Example 3." in text) == (
            strategy.answer == "cot_3_shot"
            and purpose in ("act", "predict", "react")
            and not (purpose == "predict" and strategy.advice.startswith("social"))
        )


@every_pair
def test_calls(strategy):
    for conditional in (False, True):
        script = base(*GAMES[2])
        _, log = played(strategy, *GAMES[2], conditional=conditional, script=script)
        scored = any(isinstance(request, ScoreRequest) for request in script.requests)
        assert strategy.scores == scored
        supposed = [own for purpose, _, own in map(question, script.requests) if purpose == "react"]
        assert supposed == list(script.labels.own) * (T - 1) * conditional
        reflexion = strategy.advice.startswith("reflexion")
        plans = strategy.advice == "plans_insights" and strategy.answer == "lm"
        each = 2 + 2 * (strategy.context == "s2a") + plans + reflexion
        assert len(log) == T * each - reflexion + conditional * (T - 1) * ODD.n
        for step in range(1, T + 1):
            both = ("summarise", "summarise for predict")
            counts = {p: len(of(log, p, step)) for p in ("act", "predict", "plan", *both)}
            assert counts == {
                "act": 1,
                "predict": 1,
                **dict.fromkeys(both, int(strategy.context == "s2a")),
                "plan": int(plans),
            }
            assert len(of(log, "reflect", step)) == int(reflexion and step < T)
            assert len(of(log, "react", step)) == conditional * ODD.n * (step < T)
            order = [p for p, s, _ in log if s == step]
            social = strategy.advice.startswith("social")
            assert (order.index("predict") < order.index("act")) == social


@every_pair
def test_memory(strategy):
    _, log = played(strategy, *GAMES[1])
    for purpose, step, text in log:
        lessons = re.findall(r"^- (?:said-reflect-)(\d+)$", text, re.M)
        plans = re.findall(r"^Plans: said-(?:act|plan)-(\d+)$", text, re.M)
        if strategy.advice.startswith("reflexion") and not summarises(purpose):
            written = list(range(1, step))
            assert lessons == [str(r) for r in written[-strategy.part.memory :]]
        else:
            assert lessons == []
        if strategy.advice == "plans_insights" and not summarises(purpose):
            written_now = strategy.answer == "lm" and purpose != "plan"
            latest = step if written_now else step - 1
            assert plans == ([str(latest)] if latest else [])
        else:
            assert plans == []
        # Nothing else that was said comes back, in whatever prompt.
        said = {p for p, _ in re.findall(r"said-([\w ]+)-(\d+)", text)}
        allowed = {"reflect"} if strategy.advice.startswith("reflexion") else set()
        use = " for predict" if purpose in ("predict", "react") else ""
        allowed |= {f"summarise{use}"} if strategy.context == "s2a" else set()
        allowed |= {"act", "plan"} if strategy.advice == "plans_insights" else set()
        assert said <= allowed


@every_pair
def test_no_memory_across_episodes(strategy):
    game, labels = GAMES[0]
    one, two = base(game, labels), base(game, labels)
    asked = {**RULED, "conditional": True}
    setup = make_setup(game, fixed(game, moves(game)), strategy, T, labels, **asked)
    play(setup, variant(one, tag="ELSEWHERE"), 0)
    play(setup, one, 1)
    play(setup, two, 1)
    assert one.log == two.log
    assert all("ELSEWHERE" not in text for _, _, text in one.log)


@every_pair
def test_the_truth_is_told_to_oracles_alone(strategy):
    game, labels = GAMES[2]
    steps, log = played(strategy, game, labels)
    other = moves(game)
    other[-1] = (other[-1] + 1) % game.m
    steps_2, log_2 = played(strategy, game, labels, partner=fixed(game, other))
    oracle = strategy.advice.startswith("oracle")
    assert set(steps.column("told")) == {int(oracle)}
    assert set(steps_2.column("told")) == {int(oracle)}
    for (purpose, step, text), changed in zip(log, log_2, strict=True):
        assert ((purpose, step, text) != changed) == (oracle and purpose == "act" and step == T)


@every_pair
@pytest.mark.parametrize("order", ["agent_first", "partner_first"])
def test_the_own_action_of_a_round_is_shown_to_agent_first_probes_alone(strategy, order):
    game, labels = GAMES[1]
    script = base(game, labels)
    _, log = played(strategy, game, labels, script=script, literal_order=order)
    changed = variant(script, act=lambda step, text: 0)  # differs in the last round, T = 4
    changed.act = lambda step, text: [0, 1, 0, 0][step - 1]
    _, log_2 = played(strategy, game, labels, script=changed, literal_order=order)
    shown = strategy.answer == "lm" and not strategy.advice.startswith("social")
    shown &= order == "agent_first"
    for (purpose, step, text), (*_, text_2) in zip(log, log_2, strict=True):
        differs = text != text_2
        assert differs == (shown and purpose == "predict" and step == T)
        if purpose == "predict" and shown:
            own = game.label_set(labels).own[[0, 1, 0, 1][step - 1]]
            assert prefill(text) == f"I choose {own}. The other player will choose"
        elif purpose == "predict" and prefill(text):
            assert prefill(text) == "The other player will choose"


@every_pair
def test_probes_do_not_reach_the_player(strategy):
    game, labels = GAMES[1]
    script = base(game, labels)
    steps, log = played(strategy, game, labels, script=script)
    changed = variant(
        script,
        predict=lambda step, text: (step + 1) % 2,
        react=lambda step, own, text: (own + 1) % 2,
        tags={"predict": "OTHER", "react": "OTHER"},
    )
    steps_2, log_2 = played(strategy, game, labels, script=changed)
    assert (column(steps, "predicted_action") != column(steps_2, "predicted_action")).all()
    social = strategy.advice.startswith("social")
    for (purpose, step, text), changed_entry in zip(log, log_2, strict=True):
        assert "OTHER" not in changed_entry[2]
        assert ((purpose, step, text) != changed_entry) == (social and purpose == "act")
    asked = [entry for entry in log if entry[0] != "react"]
    assert played(strategy, game, labels, conditional=False)[1] == asked


@every_pair
def test_nothing_of_the_partner_but_its_moves(strategy):
    game = get_game("IPD")
    plain = get_partner("always(1)", game)
    # The same moves from a table of two states that says a lot about itself.
    table = Partner(
        "zebra_name",
        [[0.0, 1.0], [0.0, 1.0]],
        [[[1, 1], [1, 1]], [[0, 0], [0, 0]]],
        states=("zebra_a", "zebra_b"),
        title="zebra title",
        source="zebra source",
    )
    logs = [played(strategy, game, "neutral", partner=partner)[1] for partner in (plain, table)]
    assert logs[0] == logs[1]
    assert not any("zebra" in text for _, _, text in logs[1])


@pytest.mark.parametrize("name", ["LM", "QA", "CoT + 3-Shot -Payoffs", "Social LM", "S2A + CoT"])
@pytest.mark.parametrize("order", ["fixed", "reversed", "shuffled"])
def test_option_order(name, order):
    game = get_game("RPS")
    names = game.label_set("canonical")
    seen = set()
    for episode in range(12):
        script = base(game, "canonical")
        partner = fixed(game, moves(game))
        setup = make_setup(game, partner, name, 3, "canonical", option_order=order, **RULED)
        steps = play(setup, script, episode)
        rows = [row for name in ("act", "predict") for row in steps.column(f"{name}_details")]
        own, theirs = (rows[0][key] for key in ("own_order", "partner_order"))
        assert all((row["own_order"], row["partner_order"]) == (own, theirs) for row in rows)
        listed = [names.own[i] for i in own]
        listed_2 = [names.partner[i] for i in theirs]
        for purpose, _, text in script.log:
            if purpose == "act":
                assert f"{listed[0]}, {listed[1]} or {listed[2]}" in body(text)
            if purpose == "predict":
                question = body(text).rpartition("\n\n")[2]
                assert f"{listed_2[0]}, {listed_2[1]} or {listed_2[2]}" in question
            pairs = re.findall(r"- If you choose (\w+) and the other player chooses (\w+),", text)
            assert pairs in ([], [(a, b) for a in listed for b in listed_2])
        # The order moves words, never what is chosen.
        assert steps.column("own_action") == [0, 1, 0]
        assert steps.column("predicted_action") == [1, 0, 1]
        seen.add((own, theirs))
    if order == "fixed":
        assert seen == {((0, 1, 2), (0, 1, 2))}
    elif order == "reversed":
        assert seen == {((2, 1, 0), (2, 1, 0))}
    else:
        assert len(seen) > 5


EXAMPLE = re.compile(
    r"Example \d\. The game so far:\n((?:Round .*\n)+)Reasoning: (.*)\n\nFinal answer: (.+)"
)


@pytest.mark.parametrize("game_name", ["RPS", "IBS", "IPD", "stag_hunt", "chicken", "odd"])
@pytest.mark.parametrize("context", ["", " -Payoffs", " -Rewards", " -History"])
def test_worked_examples_fit_the_game(game_name, context):
    game = ODD if game_name == "odd" else get_game(game_name)
    for labels in game.labels:
        names = game.label_set(labels)
        strategy = parse_strategy(f"CoT + 3-Shot{context}")
        _, log = played(strategy, game, labels)
        for purpose, _step, text in log:
            shown = EXAMPLE.findall(body(text))
            assert len(shown) == 3
            for number, (rounds, reasoning, final) in enumerate(shown):
                past = [
                    (names.own.index(a), names.partner.index(b))
                    for _, a, b in HISTORY.findall(rounds)
                ]
                expected = re.search(r"So I expect (.+?) now\.", reasoning)[1]
                b = names.partner.index(expected)
                reacts = number == 2
                if reacts:  # the same own action has been answered the same way before
                    answers = {past[t][0]: past[t + 1][1] for t in range(len(past) - 1)}
                    assert answers[past[-1][0]] == b
                    assert set(answers) == set(range(game.n))
                else:  # alternates or stays, and does not copy
                    assert b == past[-2][1]
                    assert len({own for own, _ in past}) == 2
                if purpose != "act":
                    assert final == expected
                    continue
                if not reacts:
                    assert game.own[names.own.index(final), b] == game.own[:, b].max()
                if context in ("", " -History"):
                    for a, own in enumerate(names.own):
                        value = game.own[a, b]
                        sign = "+" if game.wording == "score" and value > 0 else ""
                        amount = rf"(?:a score of )?{re.escape(sign)}{value:g}\b[a-z ]*"
                        if not reacts:
                            assert re.search(rf"{amount} with {re.escape(own)}\b", reasoning)
                else:
                    assert not AMOUNT.search(reasoning)


@pytest.mark.parametrize("name", [*BUILT_IN, "odd"])
def test_the_reacting_example_is_what_the_exact_optimum_does(name):
    game = ODD if name == "odd" else get_game(name)
    reply = "tit_for_tat" if game.n == game.m else "best_responder"
    partner = get_partner(reply, game)
    labels = game.label_set(None)
    _, log = played(parse_strategy("CoT + 3-Shot"), game, labels.name)
    rounds, reasoning, final = EXAMPLE.findall(body(of(log, "act")[0]))[2]
    assert "reacts to what I did" in reasoning
    past = [(labels.own.index(a), labels.partner.index(b)) for _, a, b in HISTORY.findall(rounds)]
    state = partner.start
    for own, theirs in past:
        assert partner.emissions[state, theirs] == 1
        state = int(partner.next_state[state, own, theirs])
    plan = best_response(game, partner, 1000)
    # What is optimal in the middle of a long play; at its end it is the myopic reply.
    assert plan.optimal[0, state, labels.own.index(final)]


def test_a_system_message_stands_first_in_every_request():
    game = get_game("IPD")
    for strategy in ("S2A + CoT", "Social LM", "Reflexion 1", "Plans + Insights + LM"):
        script = base(game, "neutral")
        played(parse_strategy(strategy), game, "neutral", script=script, system="You are terse.")
        for request in script.requests:
            first, *others = request.prompt.messages
            assert first == ("system", "You are terse.")
            assert [message.role for message in others] == ["user"]


@pytest.mark.parametrize(
    ("value", "wording", "text"),
    [
        (1, "score", "a score of +1"),
        (-0.0, "score", "a score of 0"),
        (1, "points", "1 point"),
        (1234567.5, "points", "1234567.5 points"),
        (1e-7, "points", "0.0000001 points"),
        (1 / 3, "points", "0.3333333333333333 points"),
    ],
)
def test_amounts_are_never_rounded(value, wording, text):
    from tomeval.games.matrix.scene import Order, Words

    payoffs = np.zeros((2, 2, 2))
    payoffs[0, 0, 0] = value
    labels = Labels("l", ("a", "b"), ("a", "b"))
    game = MatrixGame("g", payoffs, {"l": labels}, wording=wording)
    words = Words(game, labels, 3, Order((0, 1), (0, 1)))
    assert words.amount(game.own[0, 0]) == text
