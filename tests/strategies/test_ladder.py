"""The ladder of aids as strategies: their names, and what each rung is told."""

import re

import pytest
from known import Known, fixed, make_setup, play, prompts_in_log
from support import make_game

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.measures import episode_metrics
from tomeval.domains.matrix.optima import best_response
from tomeval.domains.matrix.partner_specs import get_partner
from tomeval.domains.matrix.planned import informed_best
from tomeval.domains.matrix.played import Played
from tomeval.domains.matrix.preview import prompts_of_round
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.strategies import Strategy, all_strategies, parse_strategy
from tomeval.strategies.asking import flatten
from tomeval.strategies.ladder import RUNGS, climbed
from tomeval.strategies.options import templates_of
from tomeval.strategies.parts import LADDER, advice_parts, forget
from tomeval.strategies.templates import load_prompts

RPS, IPD = get_game("RPS"), get_game("IPD")
TABLE = (
    "If the other player chooses J in round {t}, F earns you most in that round.\n"
    "If the other player chooses F in round {t}, B earns you most in that round.\n"
    "If the other player chooses B in round {t}, J earns you most in that round."
)


def asked(strategy, game=RPS, horizon=3, **options):
    """Play against a partner that names its first action, then the second one; return the log."""
    script = Known(game, game.label_set("neutral"), predict=lambda step, text: 1)
    setup = make_setup(game, fixed(game, [0, 1, 1]), strategy, horizon, "neutral", **options)
    steps = play(setup, script)
    assert steps.status == "complete"
    return steps, script.log


def test_names_are_read_back():
    every = all_strategies(aids=True)
    assert len(every) == len({s.name for s in every}) == 5 * (9 + len(LADDER)) * 4
    assert all(parse_strategy(s.name) == s for s in every)
    assert not any(s.part.aid for s in all_strategies())
    for text, point in {
        "replies+social": ("full", "replies_social", "qa"),
        "Replies + Social LM": ("full", "replies_social", "lm"),
        "S2A + Replies Oracle + CoT": ("s2a", "replies_oracle", "cot"),
        "best reply -history": ("-history", "best_reply", "qa"),
        "REPLIES": ("full", "replies", "qa"),
    }.items():
        assert parse_strategy(text) == Strategy(*point)
    with pytest.raises(TomevalError, match="two parts of one kind: Replies and Reflexion 2"):
        parse_strategy("Replies + Reflexion 2")


def test_a_ladder_stands_for_its_rungs():
    assert [s.advice for s in climbed("LADDER")] == [*RUNGS]
    assert {(s.context, s.answer) for s in climbed("s2a+ladder+cot")} == {("s2a", "cot")}
    assert climbed("QA") is climbed({"advice": "oracle"}) is None
    with pytest.raises(TomevalError, match="brings its own advice; leave out 'Oracle'"):
        climbed("Ladder + Oracle")
    data = {"games": "RPS", "partners": "tit_for_tat", "model": "scripted:first", "horizon": 2}
    data["subjects"] = [{"strategy": ["ladder + LM", "CoT"]}]
    cells = make_experiment(data, where="here").cells
    assert [cell.subject for cell in cells] == [*(s.name for s in climbed("ladder + LM")), "CoT"]
    data["subjects"] = [{"strategy": "laddr + LM"}]
    with pytest.raises(TomevalError, match="'laddr \\+ LM' cannot be read"):
        _ = make_experiment(data, where="here").cells
    data["subjects"] = [{"strategy": "ladder + Oracle"}]
    with pytest.raises(TomevalError, match=r"subjects\[0\]: .* leave out 'Oracle'"):
        _ = make_experiment(data, where="here").cells


def test_parts_that_ship_are_not_forgotten():
    forget("replies")
    assert "replies" in advice_parts()


@pytest.mark.parametrize("answer", ["LM", "QA", "CoT", "CoT + 3-Shot"])
def test_every_rung_adds_a_paragraph_and_changes_nothing_else(answer):
    _, ground = asked(answer)
    plain = {(p, t): text for p, t, text in ground}
    truth = "JFF"
    for rung in LADDER:
        strategy = Strategy(advice=rung, answer=parse_strategy(answer).answer)
        steps, log = asked(strategy)
        assert prompts_in_log(steps) == log
        assert steps.told.all() == steps.told.any() == (rung in ("replies_oracle", "best_reply"))
        order = [p for p, t, _ in log if t == 1]
        assert (order == ["predict", "act"]) == (rung == "replies_social")
        for purpose, t, text in log:
            if purpose == "predict":  # of all rungs: without aids; prediction first: no own action
                cut = slice(None) if rung != "replies_social" else slice(0, text.find("Which"))
                assert text[cut] == plain[purpose, t][cut]
                continue
            said = [TABLE.format(t=t)]
            if rung == "replies_social":
                said.append(f"You have predicted that the other player will choose F in round {t}.")
            if rung in ("replies_oracle", "best_reply"):
                said.append(
                    "You know for certain that the other player will choose "
                    f"{truth[t - 1]} in round {t}."
                )
            if rung == "best_reply":
                said.append(
                    f"You know for certain that {'FBB'[t - 1]} is best for you in round {t}: no "
                    "other action earns you more over this round and the rounds that are left."
                )
            paragraph = "\n\n".join(said) + "\n\n"
            assert text.count(paragraph) == 1
            assert text.replace(paragraph, "") == plain[purpose, t]


def test_the_prediction_is_made_in_the_strategys_own_answer():
    for answer, purposes in {"LM": "lm", "QA": "qa", "CoT": "cot"}.items():
        steps, _ = asked(f"Replies + Social + {answer}")
        kinds = {call["kind"] for *_, call in steps.calls if call["purpose"] == "predict"}
        assert kinds == {purposes}
    assert steps.predicted_action[0].tolist() == [1, 1, 1]
    # Where the prediction cannot be read, the move is not asked for.
    setup = make_setup(RPS, fixed(RPS, [0]), "Replies + Social", 2, "neutral", max_attempts=1)
    broken = play(setup, lambda request: "no idea")
    assert broken.status == "void"
    assert [call["purpose"] for *_, call in broken.calls] == ["predict"]


def test_ties_are_all_named_in_the_order_of_the_options():
    game = make_game([[1, 0, 2], [1, 5, 2], [0, 5, 2]])
    labels = game.label_set()
    script = Known(game, labels)
    setup = make_setup(game, fixed(game, [2, 0]), "Best Reply", 2, option_order="reversed")
    play(setup, script)
    first = next(text for purpose, _, text in script.log if purpose == "act")
    a, b, c = labels.own
    x, y, z = labels.partner
    lines = re.findall(r"^If the other player chooses (\S+) in round 1, (.*) you most", first, re.M)
    assert lines == [
        (z, f"{c}, {b} and {a} earn"),
        (y, f"{c} and {b} earn"),
        (x, f"{b} and {a} earn"),
    ]
    assert f"You know for certain that {c}, {b} and {a} are best for you in round 1: no " in first


@pytest.mark.parametrize("name", ["tit_for_tat", "grim_trigger", "alternator", "always(0)"])
@pytest.mark.parametrize(
    "game", [IPD, get_game("IBS"), get_game("stag_hunt")], ids=lambda g: g.name
)
def test_who_obeys_has_no_regret(name, game):
    """The best reply is that of the rest of the game: in the dilemma it is no best response."""
    partner = get_partner(name, game)
    labels = game.label_set()

    def obey(step, text):
        best = re.search(r"certain that (.+?)(?: and .*)? (?:is|are) best for you", text)[1]
        return labels.own.index(best)

    steps = play(make_setup(game, partner, "Best Reply", 7), Known(game, labels, act=obey))
    own, theirs = steps.own_action[0], steps.partner_action[0]
    lengths, which = steps.partners * 0 + 7, steps.partners
    played = Played(game, [partner], which, lengths, own, theirs, None, game.own[own, theirs])
    assert episode_metrics(played)["delta_functional_per_step"].tolist() == [0.0]
    plan = best_response(game, partner, 7)
    for t, state in enumerate(steps.partner_state[0].tolist()):
        told = informed_best(game, partner, 7, t + 1, state, int(theirs[t]))
        assert told.tolist() == plan.optimal[t, state].tolist()


def test_the_best_reply_knows_what_a_partner_has_drawn():
    """Against a coin nothing follows from a move, so it is the best response to what came up."""
    coin = get_partner("uniform_random", RPS)
    for b in range(3):
        assert informed_best(RPS, coin, 5, 2, 0, b).tolist() == [a == (b + 1) % 3 for a in range(3)]
    # A sixth of the way to enumeration: the value of every action by hand, for two steps of IPD.
    noisy = get_partner("noisy_tit_for_tat(0.3)", IPD)
    for state in range(len(noisy.emissions)):
        for b in range(2):
            worth = []
            for a in range(2):
                after = noisy.emissions[noisy.next_state[state, a, b]]
                worth.append(IPD.own[a, b] + max(after @ IPD.own.T))
            found = informed_best(IPD, noisy, 2, 1, state, b)
            assert found.tolist() == [w == max(worth) for w in worth]


@pytest.mark.parametrize("rung", LADDER)
@pytest.mark.parametrize("rest", ["", " + LM", " + CoT -History", "S2A + "])
def test_a_preview_shows_what_is_asked(rung, rest):
    name = LADDER[rung].shown
    strategy = parse_strategy(rest + name if rest.endswith("+ ") else name + rest)
    script = Known(RPS, RPS.label_set("neutral"), predict=lambda step, text: 0)
    setup = make_setup(RPS, get_partner("tit_for_tat", RPS), strategy, 4, "neutral")
    play(setup, script)
    shown = [flatten(prompt) for _, prompt in prompts_of_round(setup, "act", 2)]
    assert len(shown) == strategy.calls_per_step
    if strategy.context != "s2a":
        wanted = [text for purpose, step, text in script.log if (purpose, step) == ("act", 2)]
        assert shown[-1:] == wanted


def test_a_folder_of_ones_own_words_all_rungs(tmp_path):
    path = tmp_path / "matrix" / "advice" / "replies.j2"
    path.parent.mkdir(parents=True)
    head = '+++\ntitle = "t"\nsource = "s"\nversion = "1"\n+++\n'
    path.write_text(head + "Best against {{ replies[0].partner }}: {{ replies[0].own[0] }}")
    for strategy in climbed("ladder"):
        _, log = asked(strategy, prompts=str(tmp_path))
        said = ["Best against J: F" in text for purpose, _, text in log if purpose == "act"]
        assert said == [strategy.advice != "none"] * 3
    path.rename(path.with_name("replys.j2"))
    load_prompts.cache_clear()
    with pytest.raises(TomevalError, match="did you mean 'advice/replies'"):
        asked("QA", prompts=str(tmp_path))


@pytest.mark.parametrize("domain", ["decrypto", "arena"])
def test_other_kinds_of_game_have_no_ladder(domain):
    for part in LADDER.values():
        with pytest.raises(TomevalError, match=f"no templates for the domain '{domain}'"):
            templates_of(part.shown, domain)


def test_a_ladder_is_no_single_prompt():
    with pytest.raises(TomevalError, match=r"stands for several; name one of LM, Replies \+ LM, "):
        get_domain("matrix").describe.example("ladder + LM", "", {})
