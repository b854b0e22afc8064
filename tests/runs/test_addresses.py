"""What models are called: no address of a server stands in what is said or leaves a run folder."""

import pytest
from fake_server import FakeServer
from support import calls_in

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.report.exporting import export
from tomeval.report.page import write_report
from tomeval.report.transcripts import transcript_lines

BASE = {"games": ["RPS"], "partners": "tit_for_tat", "horizon": 3, "episodes": 2}
ASKED = {"strategy": "QA", "max_tokens": 16}
ROUNDED = ("probs", "mass")


def everything(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def steps(run):
    rows = [row for cell in run.cells for row in cell.step_rows()]
    return [{name: value for name, value in row.items() if name != "model"} for row in rows]


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
    faster = {"name": "pocket", "device": "cpu", "batch_tokens": 99}
    with tomeval.run({**plain, "model": faster, "episodes": 7}, tmp_path / "b") as more:
        assert more.status()[0]["complete"] == 7
    with pytest.raises(TomevalError, match="another experiment"):
        tomeval.run({**plain, "model": "pocket-rational"}, tmp_path / "b")


def test_addresses_stay_in_the_run_folder(tmp_path):
    """Names of both models are in every table, figure and export."""
    with FakeServer() as one, FakeServer() as two:
        one.reply = two.reply = {"content": "Final answer: Rock"}
        one.faults.extend([*({} for _ in range(6)), {"status": 400, "body": one.url}])
        other = {**ASKED, "name": "it", "model": f"openai:toy@{two.url}"}
        experiment = {**BASE, "subjects": [ASKED], "partners": [other]}
        tomeval.run(experiment | {"model": f"openai:toy@{one.url}"}, tmp_path / "run").close()
        addresses = [server.url.encode() for server in (one, two)]
    assert all(address in everything(tmp_path / "run") for address in addresses)
    out = tmp_path / "out"
    out.mkdir()
    with tomeval.Run(tmp_path / "run") as run:
        assert [(row["model"], row["partners"]) for row in run.rows()] == [
            ("openai:toy", "it (openai:toy)")
        ]
        assert set(run.store.revisions()) == {"openai:toy", "openai:toy (2)"}
        said = [str(record) for *_, record in calls_in(run)]
        assert any("the server" in record for record in said)
        for what in ("steps", "episodes", "cells", "answers"):
            export(run, "csv", what, out / f"{what}.csv")
        write_report(run, out / "report.html")
        (out / "transcript.txt").write_text("\n".join(transcript_lines(run, 0, 0)))
        export(run, "hub", out=out)
    kept = everything(out) + "".join(said).encode()
    assert b"it (openai:toy)" in kept
    assert not any(address in kept for address in addresses)
