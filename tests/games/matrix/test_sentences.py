"""What partners do in words: sentences by hand, and a reader that plays by the sentence alone."""

import itertools
import re

import numpy as np
import pytest
from support import SPECS, random_partner, shipped

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.sentences import describe

IPD, RPS = get_game("IPD"), get_game("RPS")
LABELS = {name: get_game(name).label_set("neutral") for name in ("IPD", "IBS", "RPS")}
PAIRS = "J if the round before was (you J, it J) or (you F, it F), and F otherwise"
SURE = "J with probability 0.9 and F with probability 0.1"
SENTENCES = {
    "alternator": "chooses J and F in turn, over and over",
    "always": "always chooses J",
    "best_responder": "chooses J in round 1, and F in every later round",
    "cycler": "chooses J and F in turn, over and over",
    "defect_once": "chooses F in round 1, and J in every later round",
    "generous_tit_for_tat": "chooses J in round 1, and then J if you last chose J, and J with "
    "probability 0.3 and F with probability 0.7 if you last chose F",
    "grim_trigger": "chooses J until you choose F for the first time, and then F in every round",
    "ipd_pair_1": f"chooses J in round 1, and then {PAIRS}",
    "ipd_pair_2": f"chooses F in round 1, and then {PAIRS}",
    "mixture": "always chooses J with probability 0.25 and F with probability 0.75",
    "naive_prober": f"chooses J in round 1, and then {SURE} if you last chose J, and F if you last "
    "chose F",
    "noisy_tit_for_tat": f"chooses {SURE} in round 1, and then {SURE} if you last chose J, and J "
    "with probability 0.1 and F with probability 0.9 if you last chose F",
    "reverse_tit_for_tat": "chooses F in round 1, and then what you did not choose in the round "
    "before",
    "suspicious_tit_for_tat": "chooses F in round 1, and then what you chose in the round before",
    "switcher": "chooses J in rounds 1 to 50, and F in every later round",
    "tit_for_tat": "chooses J in round 1, and then what you chose in the round before",
    "tit_for_two_tats": "chooses J in round 1, J in round 2, and then F if your last two choices "
    "were (F, F), and J otherwise",
    "tom_order": "chooses J in round 1, and F in every later round",
    "uniform_random": "always chooses J or F with the same probability",
    "win_stay_lose_shift": f"chooses J in round 1, and then {PAIRS}",
}
"""Every shipped partner in the prisoner's dilemma, J to cooperate and F to defect."""


@pytest.mark.parametrize("name", sorted(SPECS))
def test_shipped_partners_by_hand(name):
    partner = get_partner(SPECS[name], IPD)
    if name in SENTENCES:
        assert describe(partner, LABELS["IPD"]) == SENTENCES[name]
    else:  # it remembers three rounds
        assert name == "hard_tit_for_tat"
        with pytest.raises(TomevalError, match="'hard_tit_for_tat' remembers too much"):
            describe(partner, LABELS["IPD"])


# A reader of the sentences, which knows no table

L = "(?:J|F|B)"
ROW = (
    rf"(?:{L}(?:(?:, | or ){L})+ with the same probability|{L} with probability [\d.]+"
    rf"(?:(?:, | and ){L} with probability [\d.]+)+|{L})"
)
ITEM = rf"(?:\([^)]*\)|{L}(?! if| with))"
CLAUSE = re.compile(
    rf"({ROW}) (?:if (?:you last chose|the round before was|your last two choices were) "
    rf"({ITEM}(?:(?:, | or ){ITEM})*)|(otherwise))"
)


def row(said):
    found = re.findall(rf"({L}) with probability ([\d.]+)", said)
    if found:
        return {label: float(p) for label, p in found}
    labels = re.findall(L, said)
    return dict.fromkeys(labels, 1 / len(labels))


def chosen(said, own, theirs):
    """Return the probabilities of the next action by a sentence, after these labels."""
    now, labels = len(own) + 1, re.findall
    if found := re.fullmatch(rf"always chooses ({ROW})", said):
        return row(found[1])
    for_ever = rf"chooses ({ROW}) until you choose (.*) for the .*, and then (.*) in every round"
    if found := re.fullmatch(for_ever, said):
        return row(found[3] if set(labels(L, found[2])) & set(own) else found[1])
    said, _, later = said.removeprefix("chooses ").partition(", and then ")
    if later:
        rounds = {int(n): one for one, n in re.findall(rf"({ROW}) in round (\d)", said)}
        if now in rounds:
            return row(rounds[now])
        if later.startswith("what you"):
            other = {"J": "F", "F": "J"}
            return {other[own[-1]] if "not" in later else own[-1]: 1.0}
        if found := re.fullmatch(rf"({ROW}) in every round", later):
            return row(found[1])
        last = {own[-1], f"(you {own[-1]}, it {theirs[-1]})", f"({', '.join(own[-2:])})"}
        rest = None
        for one, when, otherwise in CLAUSE.findall(later):
            if set(re.findall(rf"\([^)]*\)|{L}", when)) & last:
                return row(one)
            rest = one if otherwise else rest
        return row(rest)
    head, _, tail = said.rpartition(", and ")
    once = labels(L, head)
    if found := re.search(r"in rounds 1 to (\d+)", head):
        once = once * int(found[1]) if len(once) == 1 else once
    turn = labels(L, tail if head else said)
    return {(once + turn * now)[now - 1]: 1.0}


def follow(partner, labels, rng, rounds=60):
    """Play at random; check in every round what the sentence says against the table."""
    said, state, own, theirs = describe(partner, labels), partner.start, [], []
    for _ in range(rounds):
        wanted = partner.emissions[state]
        told = chosen(said, own, theirs)
        assert [told.get(label, 0) for label in labels.partner] == pytest.approx(
            wanted.tolist(), abs=1e-6
        ), (said, own, theirs)
        a, b = int(rng.integers(partner.n)), int(rng.choice(partner.m, p=wanted))
        state = int(partner.next_state[state, a, b])
        own.append(labels.own[a])
        theirs.append(labels.partner[b])


@pytest.mark.parametrize("name", LABELS)
def test_a_reader_of_the_sentence_plays_as_the_table(name):
    game, rng = get_game(name), np.random.default_rng(0)
    more = ("switcher(1, 0, 4)", "tom_order(2)", "tom_order(3)", "always(1)")
    for partner in [*shipped(game), *(get_partner(spec, game) for spec in more)]:
        if partner.name != "hard_tit_for_tat":
            for _ in range(3):
                follow(partner, LABELS[name], rng)


def test_machines_at_random():
    """Those that have a sentence do what it says; those with the same one do the same."""
    rng, told = np.random.default_rng(1), 0
    for game, size, kind in itertools.product((IPD, RPS), (2, 3), ("deterministic", "stochastic")):
        labels = LABELS[game.name]
        for _ in range(60):
            partner = random_partner(game, rng, size, kind)
            try:
                describe(partner, labels)
            except TomevalError:
                continue
            told += 1
            follow(partner, labels, rng, 12)
    assert told > 100


def test_states_that_do_the_same_change_nothing():
    """Tit for tat with every state twice has the sentence of tit for tat."""
    target = {0: (3, 4), 1: (3, 4), 2: (3, 4), 3: (1, 2), 4: (1, 2)}
    following = np.repeat([target[s] for s in range(5)], 2, axis=1).reshape(5, 2, 2)
    twice = Partner("twice", np.eye(2)[[0, 0, 1, 0, 1]], following)
    assert describe(twice, LABELS["IPD"]) == SENTENCES["tit_for_tat"]
