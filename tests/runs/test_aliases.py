"""Models by alias: the same games, another name, and no address of a server in what is said."""

import json
import sqlite3
from collections import Counter
from contextlib import closing

import pytest
from fake_server import FakeServer

import tomeval
from tomeval.models.served.limits import Budget, BudgetExceeded
from tomeval.report import ReportOptions, write_report
from tomeval.report.exporting import export, export_run
from tomeval.runs.experiment import make_experiment
from tomeval.runs.transcripts import transcript_lines

BASE = {"games": ["RPS"], "partners": "tit_for_tat", "horizon": 3, "episodes": 2}
ASKED = {"strategy": "QA", "max_tokens": 16}
ROUNDED = ("probs", "mass")


def served(address):
    return {**BASE, "subjects": [ASKED], "models": {"Llama 8B": f"openai:toy@{address}"}}


def everything(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def steps(run):
    columns, rows = run.store.iterate("SELECT * FROM step_records ORDER BY cell, episode, step")
    return [{k: v for k, v in zip(columns, row, strict=True) if k != "model"} for row in rows]


def test_an_alias_changes_names_and_nothing_else(tmp_path):
    plain = {**BASE, "games": ["RPS", "IPD"], "labels": "neutral", "model": "pocket"}
    plain["subjects"] = [{"strategy": "LM", "option_order": "shuffled"}]
    named = {k: v for k, v in plain.items() if k != "model"} | {"models": {"Small": "pocket"}}
    with tomeval.run(plain, tmp_path / "a") as a, tomeval.run(named, tmp_path / "b") as b:
        assert [row["model"] for row in a.rows()] == ["pocket", "pocket"]
        assert [row["model"] for row in b.rows()] == ["Small", "Small"]
        assert steps(a) == steps(b)
        assert b.revisions == {"Small": a.revisions["pocket"]}


def test_how_a_model_is_run_changes_no_draw(tmp_path):
    plain = {**BASE, "games": ["RPS"], "labels": "neutral", "horizon": 3}
    plain["subjects"] = [{"strategy": "LM", "option_order": "shuffled"}]
    how = {"name": "pocket", "device": "cpu", "batch_tokens": 999, "prefix_reuse": False}
    with (
        tomeval.run({**plain, "model": "pocket"}, tmp_path / "a") as a,
        tomeval.run({**plain, "model": how}, tmp_path / "b") as b,
    ):
        # Passes over other batches, or without caches, differ in the rounding of probabilities.
        one, other = (
            [{k: v for k, v in row.items() if not k.endswith(ROUNDED)} for row in steps(x)]
            for x in (a, b)
        )
        assert one == other


def test_all_aliases_are_the_models_unless_a_player_names_one():
    models = {"One": "pocket", "Two": {"name": "pocket-rational", "dtype": "float32"}}
    both = make_experiment({**BASE, "subjects": [{"strategy": "QA"}], "models": models})
    assert [cell.definition["model"] for cell in both.cells] == ["One", "Two"]
    one = make_experiment(
        {**BASE, "subjects": [{"strategy": "QA", "model": "Two"}]} | {"models": models}
    )
    [cell] = one.cells
    assert cell.models == {"subject": {**models["Two"], "alias": "Two"}}
    more = {"name": "Two", "dtype": "bfloat16"}
    own = make_experiment(
        {**BASE, "subjects": [{"strategy": "QA", "model": more}]} | {"models": models}
    )
    assert own.cells[0].models["subject"] == {**models["Two"], "alias": "Two"} | {
        "dtype": "bfloat16"
    }


@pytest.mark.parametrize(
    ("models", "model", "said"),
    [
        ({"Llama 8B": "opnai:toy@http://h/v1"}, "Llama 8B", "did you mean 'openai'"),
        ({"pocket": "pocket-rational"}, "pocket", "has the form of a model"),
        ({"Llama 8B": "pocket"}, "Lama 8B", "did you mean 'Llama 8B'"),
        ("pocket", "pocket", "models must be a table"),
    ],
)
def test_a_wrong_alias_is_one_error(models, model, said):
    with pytest.raises(tomeval.TomevalError) as error:
        make_experiment({**BASE, "subjects": ["random"], "models": models, "model": model})
    assert said in str(error.value)


def test_no_address_of_an_aliased_model_is_kept_and_its_server_may_move(tmp_path):
    folder = tmp_path / "run"
    with FakeServer() as server:
        server.reply = {"content": "Answer: Rock"}
        refused = {"status": 400, "body": f"no, says {server.url}"}
        server.faults.extend([*({} for _ in range(6)), refused])
        tomeval.run(served(server.url), folder).close()
        first = server.url
    with tomeval.Run(folder) as run:
        assert [row["failed"] for row in run.status()] == [1]
        [said] = run.store.query(
            "SELECT unpacked(record) FROM calls WHERE unpacked(record) LIKE '%no, says%'"
        )
        assert "no, says the server" in said[0]
    with FakeServer() as server:  # on another port
        server.reply = {"content": "Answer: Rock"}
        tomeval.run({**served(server.url), "episodes": 3}, folder).close()
        second = server.url
    with tomeval.Run(folder) as run:
        assert [(row["model"], row["episodes"]) for row in run.rows()] == [("Llama 8B", 3)]
    kept = everything(folder)
    assert b"Llama 8B" in kept
    for url in (first, second):
        port = url.split(":")[2].partition("/")[0]
        assert f"127.0.0.1:{port}".encode() not in kept


def test_replies_of_an_episode_that_was_broken_off_serve_it_after_its_server_moved(tmp_path):
    def asked(folder, budget=None):
        with FakeServer() as server:  # on another port each time
            server.reply = {"content": "Final answer: Rock"}
            made, one = served(server.url), {"concurrency": 1, "startup_test": False}
            try:
                tomeval.run(made, tmp_path / folder, budget=budget, **one).close()
            except BudgetExceeded:
                assert budget is not None
            bodies = [json.dumps(body) for _, body in server.requests]
        return Counter(body for body in bodies if "game" in body)

    whole = asked("whole")
    first = asked("moved", Budget(max_calls=8))
    assert 0 < first.total() < whole.total()
    assert first + asked("moved") == whole


def test_without_an_alias_the_address_stays_in_the_run_folder(tmp_path):
    with FakeServer() as server:
        experiment = {**BASE, "subjects": [ASKED], "model": f"openai:toy@{server.url}"}
        tomeval.run(experiment, tmp_path / "run").close()
        address = server.url.encode()
    assert address in everything(tmp_path / "run")
    out = tmp_path / "out"
    out.mkdir()
    with tomeval.Run(tmp_path / "run") as run:
        assert run.rows()[0]["model"] == "openai:toy"
        assert list(run.revisions) == ["openai:toy"]
        for what in ("steps", "episodes", "cells", "answers"):
            export_run(run, what, "csv", out / f"{what}.csv")
        write_report(run, out / "report.html", ReportOptions())
        (out / "transcript.txt").write_text("\n".join(transcript_lines(run, 0, 0)))
        export(run, "hub", out=out, settings={"repo": "someone/run"})
    assert b"openai:toy" in everything(out)
    assert address not in everything(out)


def test_two_servers_of_one_model_are_numbered(tmp_path):
    with FakeServer() as one, FakeServer() as two:
        models = [f"openai:toy@{server.url}" for server in (one, two)]
        experiment = {**BASE, "subjects": [ASKED], "model": models}
        with tomeval.run(experiment, tmp_path) as run:
            assert [row["model"] for row in run.rows()] == ["openai:toy", "openai:toy (2)"]
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as database:
        [kept] = database.execute("SELECT count(*) FROM cells WHERE definition LIKE '%http%'")
    assert kept == (2,)


def test_a_partner_s_model_is_called_without_its_address(tmp_path):
    """Its name is in every table, figure and export."""
    with FakeServer() as one, FakeServer() as two:
        one.reply = two.reply = {"content": "Final answer: Rock"}
        other = {**ASKED, "name": "it", "model": f"openai:toy@{two.url}"}
        experiment = {**BASE, "subjects": [ASKED], "partners": [other]}
        tomeval.run(experiment | {"model": f"openai:toy@{one.url}"}, tmp_path / "run").close()
        addresses = [server.url.encode() for server in (one, two)]
    staged = tmp_path / "staged"
    staged.mkdir()
    with tomeval.Run(tmp_path / "run") as run:
        assert [row["partners"] for row in run.rows()] == ["it (openai:toy)"]
        assert set(run.revisions) == {"openai:toy", "openai:toy (2)"}
        (tmp_path / "transcript.txt").write_text("\n".join(transcript_lines(run, 0, 0)))
        export(run, "hub", out=staged, settings={"repo": "someone/run"})
    for kept in (everything(staged), (tmp_path / "transcript.txt").read_bytes()):
        assert b"it (openai:toy)" in kept
        assert not any(address in kept for address in addresses)


def test_the_partner_s_seat_knows_aliases_and_keeps_no_address(tmp_path):
    def named(one, two):
        models = {"One": f"openai:toy@{one}", "Two": f"openai:toy@{two}"}
        subject, other = {**ASKED, "model": "One"}, {**ASKED, "model": "Two", "draws": 2}
        return {**BASE, "subjects": [subject], "partners": [other], "models": models}

    folder, addresses = tmp_path / "run", []
    for episodes in (2, 3):  # the servers move in between
        with FakeServer() as one, FakeServer() as two:
            one.reply = two.reply = {"content": "Final answer: Rock"}
            made = named(one.url, two.url) | {"episodes": episodes}
            tomeval.run(made, folder).close()
            addresses += [server.url.split("/")[2].encode() for server in (one, two)]
    with tomeval.Run(folder) as run:
        [row] = run.rows()
        assert (row["model"], row["episodes"]) == ("One", 3)
        assert row["partners"].endswith("(Two)")
    kept = everything(folder)
    assert not any(address in kept for address in addresses)
