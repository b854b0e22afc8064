"""Decrypto's reported facts beside a run: what each item is of, recounted from the stored turns."""

import json

import pytest
from asking import database

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.resources import shipped
from tomeval.runs.reported import beside_facts, read_facts

SHIPPED = "reported_decrypto"
CLAIMS = ("strongest_pair", "strongest_eve", "size", "one_embedding", "two_embeddings")
CLAIMS += ("weak_and_strong", "llama_beats_r1", "says_intercepted", "reminded")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    experiment = {
        "domain": "decrypto",
        "episodes": 8,
        "probes": {"eve": True},
        "rules": {"turns": 5},
        "players": {
            "m": {"model": "scripted:decrypto"},
            "near": {"embedding": "minilm", "k": 4},
            "far": {"embedding": "wordnet"},
        },
        "pairings": [
            {"encoder": "m", "decoder": "near", "interceptor": ["near", "far"]},
            {"encoder": ["near", "far"], "decoder": "near", "interceptor": "far"},
        ],
    }
    with tomeval.run(experiment, tmp_path_factory.mktemp("facts") / "run") as run:
        yield run


def of(rows, item):
    return {row["of"]: (row["ours"], row["reported"]) for row in rows if row["item"] == item}


def test_what_ships_says_what_the_source_does():
    facts = {fact.item: fact for fact in read_facts(shipped("experiments") / f"{SHIPPED}.csv",
                                                    "decrypto")}  # fmt: skip
    numbers = {"actual_eve_percent": 52, "hint_rank": 16, "hint_bank": 5000, "keyword_bank": 680}
    numbers |= {"most_turns": 8, "miscommunications_to_lose": 2, "interceptions_to_lose": 2}
    numbers |= {"games_per_seed": 32, "seeds": 3, "temperature": 0.6, "probe_temperature": 0}
    numbers |= {"chance_on_turn_1": 4.17}
    assert {item: fact.value for item, fact in facts.items() if fact.value == fact.value} == numbers
    assert {item for item, fact in facts.items() if fact.kind == "claim"} == set(CLAIMS)
    assert "both roles, Alice's and Bob's" in facts["size"].fact
    assert (facts["keyword_bank"].standing, facts["hint_bank"].standing) == (
        "stated",
        "project page",
    )


def test_every_fact_has_a_row_or_a_reason(run):
    rows, notes = beside_facts(run, SHIPPED)
    assert {row["item"] for row in rows} == {"actual_eve_percent"}
    told = " ".join(notes)
    for fact in read_facts(shipped("experiments") / f"{SHIPPED}.csv", "decrypto"):
        assert any(row["item"] == fact.item for row in rows) != (fact.fact in told), fact.item


def test_the_facts_stand_in_a_table_of_the_python_api(run):
    table = run.table(against=SHIPPED)
    rows, notes = beside_facts(run, SHIPPED)
    assert table["ours"].tolist() == [row["ours"] for row in rows]
    assert notes[0] in repr(table)
    with pytest.raises(TomevalError, match="decrypto has no published tables"):
        run.table(published=True)


def test_how_often_eve_is_right_is_of_the_turns_on_which_alice_was_asked(run):
    """Counted from the store's rows: cells, their names, Eve's guesses, and Alice's answers."""
    with database(run) as db:
        cells = {number: json.loads(text) for number, text in
                 db.execute("SELECT cell, definition FROM cells")}  # fmt: skip
        asked = set(db.execute("SELECT cell, episode, step FROM asked WHERE question = 'eve' "
                               "AND outcome = 'valid'"))  # fmt: skip
        counts = {}
        for cell, episode, step, code, eve in db.execute(
            "SELECT cell, episode, step, code, eve FROM step_records"
        ):
            if (cell, episode, step) in asked:
                names = cells[cell]["players"].values()
                counts.setdefault(", ".join(p["name"] for p in names), []).append(code == eve)
    rows, _ = beside_facts(run, SHIPPED)
    assert {name: value for name, (value, _) in of(rows, "actual_eve_percent").items()} == {
        name: pytest.approx(100 * sum(hits) / len(hits)) for name, hits in counts.items()
    }
    assert set(counts) == {"m, near, near", "m, near, far"}
