"""Programs: what is read as a table, what tables are worth, and how they are asked for and kept."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from support import (
    ALL_GAMES,
    TWO_BY_THREE,
    brute_force_values,
    calls_in,
    column,
    dump,
    outcome,
    random_partner,
    scripts,
    setup_of,
    shipped,
    stored,
)

import tomeval
from tomeval.core.outcomes import run_now
from tomeval.extensions.program.tables import Form, following
from tomeval.extensions.program.written import machine, worth
from tomeval.games.matrix.games import Labels, get_game
from tomeval.games.matrix.optima import best_response
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.play import play_episode_async
from tomeval.games.matrix.rules import Joint
from tomeval.models.scripted import ScriptedModel
from tomeval.runs.columns import INVALID, REASK
from tomeval.runs.experiment import make_experiment
from tomeval.runs.tallies import rates_of
from tomeval.strategies import parse_strategy

IPD, RPS = get_game("IPD"), get_game("RPS")
JF = Form(Labels("neutral", ("J", "F"), ("J", "F")), ("J", "F"), 1)
LINES = ("first: J", "after J J: J", "after J F: F", "after F J: J", "after F F: F")
TFT = (0, 0, 1, 0, 1)
WHOLE = "\n".join(("Final answer:", *LINES))


def form_of(game, memory=1, partner=False) -> Form:
    labels = game.label_set()
    return Form(labels, labels.partner if partner else labels.own, memory)


# What is read


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        "I'd copy them, so after J F: F.\n\n" + WHOLE,
        "After J F: J was my first idea. It is wrong.\n" + WHOLE + "\n",
        "\n".join(LINES),
        "Final answer: " + "\n".join(reversed(LINES)),
        "```\n" + WHOLE + "\n```",
        "**Final answer:**\n\n```text\n" + "\n".join(LINES) + "\n```\nGood luck!",
        "### Final answer\n" + "\n".join(f"- **{line}**" for line in LINES),
        "Final answer:\n" + "\n".join(f"{i}. {line}" for i, line in enumerate(LINES, 1)),
        "Final answer:\nFirst move: **J**\n* After (J, J): J\n* After (J, F): F\n"
        "* After (F, J): J\n* After (F, F): F (defect)",
        "Final answer:\n| After | Action |\n|---|---|\n| first | J |\n| after J J | J |\n"
        "| after J F | F |\n| after F J | J |\n| after F F | F |",
        'Final answer:\n{\n  "first": "J",\n  "after J J": "J",\n  "after J F": "F",\n'
        '  "after F J": "J",\n  "after F F": "F"\n}',
        WHOLE.replace(": ", " → "),
        WHOLE.replace(": ", " -> ").replace("J F", "J, F").replace("F F", "F and F"),
        WHOLE.replace("after F F: F", "after F F: Option F, because they would not stop."),
        "<think>after J J: F\nfirst: F</think>" + WHOLE,
        WHOLE.replace("J", "j").upper(),
        "First, let me think: what do they do?\nAlways the same.\n" + WHOLE,
    ],
)
def test_voices_that_are_read(text):
    assert JF.read(text, "stop").value == TFT


def test_what_ends_in_the_lines_as_asked_for_is_exact():
    assert not JF.read("So I copy them.\n" + WHOLE, "stop").lenient
    loose = WHOLE + "\nGood luck!"
    assert JF.read(loose, "stop").lenient
    assert JF.read(loose, "stop", strict=True).outcome == "unparsable"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n".join(("Final answer:", *LINES[:3])), "no line begins with 'after F J', 'after F F'"),
        (WHOLE + "\nafter J J: J", "'after J J' stands there twice"),
        (WHOLE + "\nafter J J: F", "'after J J' stands there twice"),
        (WHOLE.replace("F F: F", "F F: X"), "'after F F': 'X' is not an option; choose J or F"),
        (WHOLE.replace("F F: F", "F F: J or F"), "'after F F': 'J or F' is not an option"),
        (WHOLE.replace("F F: F", "F F: J, because F loses"), "names another option: 'F'"),
        (WHOLE.replace("F F: F", "F F: ..."), "'after F F': '...' is not an option"),
        (WHOLE.replace("F F: F", "F F:"), "'after F F': '' is not an option"),
        (WHOLE.replace("F F", "F X"), "'after F X: F' is none of the lines"),
        (WHOLE + "\nalways: J", "'always: J' is none of the lines"),
        (WHOLE + "\nafter J J, J J: J", "is none of the lines"),
        (WHOLE + "\nWait, J after F F is better.", "names an action: 'J'"),
        ("\n".join(LINES) + "\nFinal answer: J", "no line begins with 'first'"),
        ("J", "no line begins with"),
        ('__import__("os").system("reboot")', "no line begins with"),
        (WHOLE.replace("F F: F", "F F: {{ 7 * 7 }}"), "'after F F': '{{ 7 * 7 }}' is not an"),
        (WHOLE.replace("F F: F", "F F: lambda: F"), "'after F F': 'lambda: F' is not an option"),
    ],
)
def test_what_is_no_table_and_why(text, said):
    read = JF.read(text, "stop")
    assert read.value is None
    assert said in read.fault


def test_other_outcomes_and_huge_texts():
    assert JF.read(WHOLE, "length").outcome == "truncated"
    assert JF.read("", "stop").outcome == "empty"
    assert JF.read(WHOLE, "refusal").outcome == "refusal"
    before = time.process_time()
    for text in (WHOLE + "\n" + "after J " * 10**5, "after J" + " " * 10**6, "first: " * 10**5):
        assert JF.read(text + "\n" + "x" * 10**6, "stop").value is None
    assert time.process_time() - before < 10


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
@pytest.mark.parametrize("memory", [0, 1, 2])
def test_every_table_is_read_back_with_every_label_set(game, memory):
    rng = np.random.default_rng(memory)
    for labels in game.labels.values():
        for answers in (labels.own, labels.partner):
            form = Form(labels, answers, memory)
            joint = game.n * game.m
            assert len(form.heads) == sum(joint**k for k in range(memory + 1)) == len({*form.heads})
            table = tuple(rng.integers(len(answers), size=len(form.heads)).tolist())
            text = "\n".join(("Final answer:", *rng.permutation(form.lines(table))))
            assert form.read(text, "stop") == ("valid", table, "", False)


def test_tables_in_one_line():
    said = {TFT: "first: J; after any J: J; after any F: F", (1, 1, 1, 1, 1): "always: F"}
    said[0, 0, 0, 1, 1] = "first: J; after J any: J; after F any: F"
    said[0, 0, 1, 1, 0] = "first: J; after J J: J; after J F: F; after F J: F; after F F: J"
    said[0, 1, 1, 1, 1] = "first: J; after any J: F; after any F: F"
    assert {table: JF.brief(table) for table in said} == said


# What tables are worth


def expected(game, partner, form, own, said, horizon):
    """Return the value and the hits of tables by the tree of all histories."""

    def walk(past, state):
        if len(past) == horizon:
            return 0.0, 0.0
        at = form.situation(past)
        a, value, hits = own[at], 0.0, 0.0
        for b, chance in enumerate(partner.emissions[state]):
            if chance > 0:
                after = walk((*past, Joint(a, b, 0, 0)), partner.next_state[state, a, b])
                value += chance * (game.own[a, b] + after[0])
                hits += chance * ((said[at] == b) + after[1])
        return value, hits

    return walk((), partner.start)


@pytest.mark.parametrize("game", [IPD, RPS, TWO_BY_THREE], ids=lambda game: game.name)
@pytest.mark.parametrize("memory", [0, 1, 2])
@pytest.mark.parametrize("kind", ["deterministic", "mixed", "stochastic"])
def test_worth_is_that_of_the_tree_of_histories(game, memory, kind):
    rng = np.random.default_rng([memory, game.n, game.m])
    form, horizon = form_of(game, memory), 5
    for _ in range(4):
        partner = random_partner(game, rng, 4, kind)
        own, said = (
            tuple(rng.integers(count, size=len(form.heads)).tolist()) for count in (game.n, game.m)
        )
        value, right = expected(game, partner, form, own, said, horizon)
        best = brute_force_values(game, partner, horizon)[1]
        regret, hits, _ = worth(game, partner, horizon, own, said)
        assert (regret, hits) == pytest.approx((best - value, right), abs=1e-9)


def test_tit_for_tat_against_every_shipped_partner_of_the_dilemma():
    """By hand, with 8, 0, 10 and 5 over 100 rounds: CC 8, CD 0, DC 10, DD 5."""
    by_hand = {
        "always": 100 * 8,
        "tit_for_tat": 100 * 8,
        "grim_trigger": 100 * 8,
        "tit_for_two_tats": 100 * 8,
        "hard_tit_for_tat": 100 * 8,
        "generous_tit_for_tat": 100 * 8,
        "win_stay_lose_shift": 100 * 8,
        "alternator": 8 + 49 * (0 + 10) + 0,  # CC, CD, DC, CD, ...
        "cycler": 8 + 49 * (0 + 10) + 0,
        "suspicious_tit_for_tat": 50 * (0 + 10),
        "defect_once": 0 + 10 + 98 * 8,
        "reverse_tit_for_tat": 25 * (0 + 5 + 10 + 8),  # CD, DD, DC, CC, again from the start
        "uniform_random": 4 + 99 * (4 + 7.5) / 2,
        "mixture(0.25, 0.75)": 2 + 99 * (0.25 * 2 + 0.75 * (2.5 + 3.75)),
    }
    found = {}
    for partner in shipped(IPD):
        plan = best_response(IPD, partner, 100)
        found[partner.name] = plan.value - worth(IPD, partner, 100, TFT)[0]
    assert {name: found[name] for name in by_hand} == pytest.approx(by_hand)


def test_a_written_partner_is_the_machine_that_it_describes():
    """Tit for tat and win-stay, lose-shift as tables: the same best replies, and all known."""
    for name, table in (("tit_for_tat", (0, 0, 0, 1, 1)), ("win_stay_lose_shift", (0, 0, 1, 1, 0))):
        partner = get_partner(name, IPD)
        written = machine(IPD, table)
        assert best_response(IPD, written, 30).rewards.tolist() == (
            best_response(IPD, partner, 30).rewards.tolist()
        )
        assert worth(IPD, partner, 30, TFT, table)[1] == 30


def test_situations_after_two_rounds():
    form = form_of(RPS, 2)
    rng = np.random.default_rng(0)
    after, state, past = following(9, len(form.heads)), 0, []
    names = RPS.label_set()
    for a, b in rng.integers(3, size=(50, 2)).tolist():
        state, past = int(after[state, 3 * a + b]), [*past, Joint(a, b, 0, 0)]
        said = [f"{names.own[j.own]} {names.partner[j.partner]}" for j in past[-2:]]
        assert form.heads[state] == f"after {', '.join(said)}"
        assert form.situation(past) == state


# How it is played


def writer(own, said, game=IPD, memory=1, spoil=lambda request, lines: lines):
    """Return a script that writes these tables."""

    def script(request):
        mine = "Write down how you play" in request.prompt.messages[-1].content or (
            len(request.prompt.messages) > 1
            and "Write down how you play" in request.prompt.messages[0].content
        )
        form = form_of(game, memory, not mine)
        lines = spoil(request, form.lines(own if mine else said))
        return "\n".join(("I think so.", "Final answer:", *lines))

    return script


def played(
    script, partner="tit_for_tat", game=IPD, horizon=8, episode=0, strategy="Program", **how
):
    more = {name: how.pop(name) for name in ("on_invalid",) if name in how}
    setup = setup_of("program", {"strategy": strategy, **how}, game, partner, horizon, **more)
    return run_now(play_episode_async(setup, episode, ScriptedModel(script)))


def test_the_table_acts_and_predicts_with_two_calls():
    record = played(writer(TFT, (1, 0, 0, 1, 1)), "suspicious_tit_for_tat")
    assert record.status == "complete"
    assert column(record, "own_action").tolist() == [0, 1] * 4
    assert column(record, "partner_action").tolist() == [1, 0] * 4
    assert column(record, "predicted_action").tolist() == [1, 0] * 4
    assert len(record.calls) == 2
    for form in ("act", "predict"):
        assert record.column(f"{form}_outcome") == ["valid"] + 7 * ["not_asked"]
        assert record.column(f"{form}_attempts") == [1] + 7 * [0]
    first, second, *_ = record.column("act_details")
    assert first["program"] == TFT
    assert "program" not in second
    assert second["line"] == "after Cooperate Defect"
    assert record.column("told") == [0] * 8


def once(fails):
    """Spoil the first so many replies to each question."""
    return lambda request, lines: lines[:-1] if request.attempt <= fails else lines


@pytest.mark.parametrize("temperature", [0, 1.0])
def test_one_repair_that_tells_what_was_wrong(temperature):
    asked = []

    def spoil(request, lines):
        asked.append(request)
        return once(1)(request, lines)

    record = played(writer(TFT, TFT, spoil=spoil), temperature=temperature)
    assert record.status == "complete"
    assert record.column("act_attempts")[0] == record.column("predict_attempts")[0] == 2
    roles = [[message.role for message in request.prompt.messages] for request in asked]
    assert roles == [["user"], ["user", "assistant", "user"]] * 2
    reply, said = (message.content for message in asked[1].prompt.messages[1:])
    assert reply.startswith("I think so.\nFinal answer:\nfirst: Cooperate")
    assert "cannot be read: no line begins with 'after Defect Defect'. Write all of it" in said


def test_what_cannot_be_repaired_is_unreadable_and_counts_once():
    record = played(writer(TFT, TFT, spoil=once(9)))
    assert (record.status, record.steps) == ("void", 1)
    assert record.column("act_outcome") == ["unparsable"]
    assert record.column("act_attempts") == [2]
    faults = [call["fault"] for *_, call in record.calls]
    assert faults == ["no line begins with 'after Defect Defect'"] * 4  # the partner's table too
    record = played(writer(TFT, TFT, spoil=once(9)), on_invalid="random")
    assert record.status == "complete"
    assert record.column("act_outcome") == ["unparsable"] + 7 * ["not_asked"]
    assert set(record.column("own_action")) == {0, 1}


def test_the_trial_is_shared_and_does_not_count():
    shown = {}

    def spy(name):
        def spoil(request, lines):
            text = request.prompt.messages[0].content
            shown.setdefault(name, re.findall(r"^Round \d+: .*$", text, re.MULTILINE))
            return lines

        return spoil

    for name, how in {
        "one": {},
        "two": {"memory": 2},
        "far": {"horizon": 30},
        "longer": {"after": 40},
        "none": {"after": 0},
        "unseen": {"strategy": "Program -History"},
        "other episode": {"episode": 1},
    }.items():
        own = (0,) * len(form_of(IPD, how.get("memory", 1)).heads)
        memory = how.get("memory", 1)
        record = played(
            writer(own, own, memory=memory, spoil=spy(name)), "noisy_tit_for_tat", **how
        )
        assert record.steps == how.get("horizon", 8)
    assert shown["one"] == shown["two"] == shown["far"] == shown["longer"][:20]
    assert len(shown["one"]) == 20
    assert len(shown["longer"]) == 40
    assert shown["none"] == shown["unseen"] == []
    assert shown["other episode"] != shown["one"]


def test_trial_moves_are_uniform_and_the_partners_its_own():
    moves = []

    def spoil(request, lines):
        text = request.prompt.messages[0].content
        moves.extend(re.findall(r": you chose (\w+), the other player chose (\w+);", text))
        return lines

    played(writer((0,) * 10, (0,) * 10, RPS, spoil=spoil), game=RPS, literal=False, after=3_000)
    own, theirs = zip(*moves, strict=True)
    assert all(900 < own.count(label) < 1_100 for label in RPS.label_set().own)
    partner, names = get_partner("tit_for_tat", RPS), RPS.label_set()
    state, told = partner.start, []
    for label in own:
        told.append(names.partner[int(partner.emissions[state].argmax())])
        state = int(partner.next_state[state, names.own.index(label), 0])
    assert told == list(theirs)


def test_oracle_tells_the_machine_before_the_own_table_only():
    texts = []

    def spoil(request, lines):
        texts.append(request.prompt.messages[0].content)
        return lines

    record = played(writer(TFT, TFT, spoil=spoil), "grim_trigger", strategy="Oracle + Program")
    assert record.column("told") == [1] + 7 * [0]
    mine, other = texts
    assert (
        "It is in one of 2 states, at first in state 1.\n- In state 1 it chooses Cooperate. Then "
        "it goes to state 1 if you chose Cooperate, to state 2 if you chose Defect.\n"
        "- In state 2 it chooses Defect. Then it goes to state 2."
    ) in mine
    assert "in state 1" not in other


def test_with_nothing_drawn_it_is_written_once_for_each_partner():
    sure = {"strategy": "Program", "model": "pocket", "temperature": 0, "after": 0}
    for more, count in (({}, 3), ({"after": 1}, 0), ({"temperature": 1.0}, 0)):
        setup = setup_of("program", sure | more, RPS, "single_action")
        assert setup.enumerated == count
    del sure["after"]  # there is a trial by itself
    assert setup_of("program", sure, RPS, "single_action").enumerated == 0


# A run


def test_a_run_with_a_table_of_programs(tmp_path):
    best = (0, 0, 1, 0, 1)  # cooperate with tit for tat: all but the end of the best response
    never = (1, 1, 1, 1, 1)
    theirs = (0, 0, 0, 1, 1)  # tit for tat, from here: it repeats the own action
    data = {
        "games": ["IPD"],
        "partners": ["tit_for_tat"],
        "subjects": [{"strategy": ["Program", "Oracle + Program -History"], "model": "scripted:w"}],
        "horizon": 20,
        "episodes": 6,
    }

    def script(request):
        first = request.seed % 2 == 0
        return writer(best if first else never, theirs, spoil=once(request.seed % 3 == 0))(request)

    with scripts(w=script):
        dumps = []
        for concurrency in (1, 8):
            folder = tmp_path / str(concurrency)
            with tomeval.run(data, folder, concurrency=concurrency) as run:
                dumps.append({k: v for k, v in dump(folder).items() if k != "meta"})
                rows = run.table_of("programs").rows(run, ())
                cell = run.cells[0]
                names = ("knows", "uses", "plays")
                exact = cell.estimate([f"{name}_written_percent" for name in names]).mean
                rates = rates_of(run.store, [0])
                calls = len(calls_in(run))
                assert stored(run, "episodes", "status") == [("complete",)] * 12
        assert dumps[0] == dumps[1]
    assert sum(row["episodes"] for row in rows) == 12
    top = 8 * 19 + 10  # cooperate, and defect in the last round
    random = (0.5 * (8 + 10) + 19 * 0.25 * (8 + 0 + 10 + 5)) * 1.0
    for row in rows:
        value = 160 if row["own_program"] != "always: Defect" else 10 + 19 * 5
        plays = 100 * (value - random) / (top - random)
        assert row["plays_written_percent"] == pytest.approx(plays)
        assert row["uses_written_percent"] == pytest.approx(plays)  # the partner is as written
        assert row["knows_written_percent"] == pytest.approx(100)
        assert row["regret_written_per_step"] == pytest.approx((top - value) / 20)
        after = "first: Cooperate; after Cooperate any: Cooperate; after Defect any: Defect"
        assert row["partner_program"] == after
    mine = [row for row in rows if row["subject"] == cell.player]
    mean = sum(row["episodes"] * row["plays_written_percent"] for row in mine) / 6
    assert exact == pytest.approx([100, mean, mean])
    assert rates[INVALID.name] == 0
    assert 0 < rates[REASK.name] < 1
    assert calls > 24


def test_many_episodes_come_to_the_exact_values(tmp_path):
    tables = (0, 1, 2, 1, 0, 2, 2, 1, 0, 1), (1, 0, 2, 2, 1, 1, 0, 0, 2, 1)
    partner = "noisy_tit_for_tat(0.3)"
    data = {"games": ["RPS"], "partners": [partner], "episodes": 400, "horizon": 10}
    data |= {"subjects": [{"strategy": "Program", "model": "scripted:w", "after": 2}]}
    with scripts(w=writer(*tables, game=RPS)), tomeval.run(data, tmp_path / "run") as run:
        [cell] = run.cells
        for name in ("plays", "knows"):
            found = cell.estimate([f"{name}_percent", f"{name}_written_percent"])
            sampled, exact = found.mean
            assert abs(sampled - exact) < 2 * found.half[0]


# What there is, and what there is not


def test_names_and_what_is_refused():
    assert parse_strategy("program+ORACLE -history").name == "Oracle + Program -History"
    assert parse_strategy({"answer": "program"}).name == "Program"

    def told(subject, **more):
        data = {"games": ["IPD"], "partners": ["tit_for_tat"], "subjects": [subject], **more}
        return outcome(lambda: make_experiment({"model": "pocket", **data}).cells)[1]

    assert told({"strategy": ["QA", "Program"]}) == ""
    assert "two parts of the same kind" in told({"strategy": "CoT + Program"})
    for other in ("Reflexion 1 + Program", "Social QA + Program", "Belief 50% (own) + Program"):
        assert "no advice but Oracle or Oracle + Max" in told({"strategy": other})
    assert "needs Program in its strategy" in told({"kind": "program", "strategy": "QA"})
    assert "memory must be a number from 0 to 2, is 3" in told({"strategy": "Program", "memory": 3})
    assert "'llm' has no option 'memory'" in told({"strategy": "QA", "memory": 1})
    assert "draws needs a player" in told({"strategy": "Program", "draws": 3})
    aside = {"strategy": "Program", "questions": {"at": [3], "ask": ["ahead"]}}
    assert "questions needs a player" in told(aside)
    assert "did you mean 'memory'" in told({"strategy": "Program", "memry": 1})
    other = {"strategy": "QA", "model": "pocket"}
    needs = "needs the partner's table, but a player sits in the partner's seat"
    assert needs in told({"strategy": "Program"}, partners=[other])
    assert told({"strategy": "Program", "after": 0}, partners=[other]) == ""
    arena = {"domain": "decrypto", "players": {"a": {"strategy": "Program", "model": "pocket"}}}
    assert "no templates for the domain 'decrypto'" in outcome(lambda: make_experiment(arena))[1]
