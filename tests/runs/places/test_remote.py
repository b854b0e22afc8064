"""Run folders at addresses: what is there at every moment, and who may write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import known_implementations
from support import dump

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.runs.experiment import make_experiment
from tomeval.runs.places import remote, working
from tomeval.runs.places.mirror import CHECKPOINT, NOTE, Mirror
from tomeval.runs.places.working import folder_of, working_on
from tomeval.runs.runner import run_experiment
from tomeval.runs.seal import read_seal
from tomeval.runs.verify import verified

SMALL = {
    "name": "small",
    "games": ["IPD"],
    "partners": ["tit_for_tat"],
    "subjects": ["rmax", "random"],
    "horizon": 10,
    "episodes": 10,
    "seed": 3,
}
MORE = SMALL | {"episodes": 12}


class Fake(MemoryFileSystem):
    """A memory whose operations fail on demand, and that remembers what was done."""

    protocol = "fake"
    store: dict = {}  # noqa: RUF012 (that of the class, as in the class above)
    pseudo_dirs = [""]  # noqa: RUF012
    failures: list[Exception] = []  # noqa: RUF012
    done: list[str] = []  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path):
        text = str(path).rpartition("://")[2].rpartition("@")[2].partition("?")[0].strip("/")
        return f"/{text}" if text else ""

    def put_file(self, lpath, rpath, **rest):
        self._act(f"put {rpath}")
        return super().put_file(lpath, rpath, **rest)

    def pipe_file(self, path, value, **rest):
        self._act(f"write {path}")
        return super().pipe_file(path, value, **rest)

    def _act(self, what: str) -> None:
        Fake.done.append(what)
        if Fake.failures:
            raise Fake.failures.pop(0)


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    fsspec.register_implementation("fake", Fake, clobber=True)
    Fake.store.clear()
    Fake.pseudo_dirs[:] = [""]
    Fake.failures, Fake.done = [], []
    monkeypatch.setenv("TOMEVAL_CACHE", str(tmp_path / "here"))
    monkeypatch.setattr(remote, "PAUSES", (0.0, 0.0))


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("local") / "run"
    run_experiment(make_experiment(SMALL), folder)
    return folder


def play(address: str, experiment=SMALL, **rest) -> list[str]:
    said: list[str] = []
    with working_on(address, said.append) as place:
        run_experiment(
            make_experiment(experiment),
            place.folder,
            progress=place.watching(None),
            **rest,
        )
    return said


def held() -> dict[str, bytes]:
    return {name: file.getvalue() for name, file in Fake.store.items()}


def elsewhere(monkeypatch, tmp_path, name: str) -> None:
    """Go on as another machine would."""
    monkeypatch.setenv("TOMEVAL_CACHE", str(tmp_path / name))


@pytest.mark.parametrize("scheme", ["fake://runs", "memory://runs", "file://{}"])
def test_a_run_at_an_address_is_read_and_extended_elsewhere(
    local, tmp_path, monkeypatch, scheme
) -> None:
    address = scheme.format(tmp_path) + f"/{tmp_path.name}/one"
    first = play(address)
    assert "worked on in" in first[0]
    assert first[-1] == f"{address}: copied there, checkpoint 1"
    elsewhere(monkeypatch, tmp_path, "b")
    with tomeval.Run(address) as run, tomeval.Run(local) as right:
        assert repr(run.rows()) == repr(right.rows())
        assert str(tmp_path / "b") in str(run.folder)
        assert read_seal(run.folder).fits(run.folder / "run.sqlite")
    assert verified(run.folder).sound
    assert dump(run.folder) == dump(local)
    second = play(address, MORE)
    assert second[-1].endswith("checkpoint 2")
    with tomeval.Run(address) as run:
        assert sum(row["complete"] for row in run.status()) == 24
        assert len(json.loads((run.folder / "sessions.json").read_text())) == 2
    elsewhere(monkeypatch, tmp_path, "here")  # whose copy is the older one
    with tomeval.Run(address) as run:
        assert sum(row["complete"] for row in run.status()) == 24


def test_the_file_that_names_a_checkpoint_is_written_last() -> None:
    play("fake://runs/one")
    steps = [step for step in Fake.done if "write-test" not in step]
    assert steps[-1] == "write /runs/one/checkpoint.json"
    assert {step.rpartition("/")[2] for step in steps[:-1]} == {
        *("run.sqlite", "run.seal", "experiment.json", "sessions.json", "checkpoint.json")
    }
    assert len({step.split("/")[3] for step in steps[:-1]}) == 1


def test_at_every_moment_a_reader_sees_one_whole_checkpoint(tmp_path, monkeypatch) -> None:
    """A reader on another machine after each operation of a writer: never half of one."""
    play("fake://runs/one")
    seen = []
    act, busy = Fake._act, []

    def look(self, what) -> None:
        act(self, what)
        if busy or "write-test" in what:
            return
        busy.append(1)
        with monkeypatch.context() as patch:
            patch.setenv("TOMEVAL_CACHE", str(tmp_path / f"reader-{len(seen)}"))
            with tomeval.Run("fake://runs/one") as run:
                seen.append(sum(row["complete"] for row in run.status()))
        busy.clear()

    monkeypatch.setattr(Fake, "_act", look)
    play("fake://runs/one", MORE)
    assert seen == [20] * 6  # four files, and twice the one that names them, before each is written
    with tomeval.Run("fake://runs/one") as run:
        assert sum(row["complete"] for row in run.status()) == 24


def test_copies_are_made_while_a_run_goes_on(monkeypatch) -> None:
    monkeypatch.setattr(working, "EVERY", 0.0)
    monkeypatch.setattr(working, "SHARE", 0.0)
    monkeypatch.setattr("tomeval.domains.matrix.domain.STEPS_PER_CHUNK", 20)
    with working_on("fake://runs/one", lambda text: None) as place:
        on_steps = place.watching(None)

        def slowly(done: int, total: int) -> None:
            on_steps(done, total)
            while place._copying is not None:
                time.sleep(0.001)

        run_experiment(make_experiment(SMALL), place.folder, progress=slowly)
        there = json.loads(Fake().cat_file("/runs/one/checkpoint.json"))
        assert there["generation"] > 3
        assert len({step.split("/")[3] for step in Fake.done if "put" in step}) > 3
    kept = [name for name in Fake().ls("/runs/one", detail=False) if "checkpoint" not in name]
    assert len(kept) == 2  # the last, and the one before it for readers that have begun


def test_what_somebody_else_wrote_is_not_overwritten(tmp_path, monkeypatch, local) -> None:
    play("fake://runs/one")
    before: dict[str, bytes] = {}

    def meanwhile(counts) -> None:
        if not before and counts.complete == 24:
            with monkeypatch.context() as patch:
                patch.setenv("TOMEVAL_CACHE", str(tmp_path / "other"))
                play("fake://runs/one", SMALL | {"episodes": 11})
            before.update(held())

    with pytest.raises(TomevalError, match="changed by somebody else") as caught:
        play("fake://runs/one", MORE, on_counts=meanwhile)
    folder = next((tmp_path / "here").rglob("run.sqlite")).parent
    assert held() == before
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    with tomeval.Run(folder) as run:  # nothing is lost here
        assert sum(row["complete"] for row in run.status()) == 24
    with pytest.raises(TomevalError, match="changed by somebody else"):
        play("fake://runs/one", MORE)
    with pytest.raises(TomevalError, match="changed by somebody else"):
        tomeval.Run("fake://runs/one")
    folder.rename(tmp_path / "aside")
    with tomeval.Run("fake://runs/one") as run:
        assert sum(row["complete"] for row in run.status()) == 22


def test_a_run_whose_address_moved_on_stops(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(working, "EVERY", 0.0)
    monkeypatch.setattr("tomeval.domains.matrix.domain.STEPS_PER_CHUNK", 20)
    seen: list[int] = []

    def intruded() -> None:
        with working_on("fake://runs/one", lambda text: None) as place:
            on_steps = place.watching(None)

            def intrude(done: int, total: int) -> None:
                if len(seen) == 2:
                    with monkeypatch.context() as patch:
                        patch.setenv("TOMEVAL_CACHE", str(tmp_path / "other"))
                        Mirror("fake://runs/one").bring()
                        other = Mirror("fake://runs/one")
                        (other.folder / "note.txt").write_text("of another machine")
                        assert other.send() is not None
                seen.append(done)
                on_steps(done, total)
                while place._copying is not None:
                    time.sleep(0.001)

            run_experiment(make_experiment(SMALL), place.folder, progress=intrude)

    with pytest.raises(TomevalError, match="changed by somebody else"):
        intruded()
    assert 2 < len(seen) < 12


@pytest.mark.parametrize("number", [1, 2])
def test_an_upload_that_fails_is_tried_again(number) -> None:
    Fake.failures = [OSError("connection reset")] * number
    assert play("fake://runs/one")[-1].endswith("checkpoint 1")


def test_an_address_that_cannot_be_written_is_told_before_anything_is_played(tmp_path) -> None:
    Fake.failures = [PermissionError("denied")]
    with pytest.raises(TomevalError, match="fake://runs/one: denied"):
        play("fake://runs/one")
    assert not (tmp_path / "here").exists()


def test_a_last_upload_that_fails_loses_nothing(local, tmp_path) -> None:
    def fill(counts) -> None:
        if counts.complete == 20:
            Fake.failures = [OSError("bucket is\nfull")] * 3

    with pytest.raises(TomevalError, match="nothing is lost") as caught:
        play("fake://runs/one", on_counts=fill)
    assert "fake://runs/one: bucket is full" in str(caught.value)
    folder = next((tmp_path / "here").rglob("run.sqlite")).parent
    assert dump(folder) == dump(local)
    Fake.failures = [OSError("down")] * 99
    with pytest.raises(TomevalError, match=r"fake://runs/one: down"):
        play("fake://runs/one")
    Fake.failures = []
    assert play("fake://runs/one")[-1].endswith("checkpoint 1")
    with tomeval.Run("fake://runs/one") as run:
        assert sum(row["complete"] for row in run.status()) == 20


def test_what_stops_a_run_is_told_even_if_the_copy_fails(caplog) -> None:
    def stop(counts) -> None:
        if counts.complete == 20:
            Fake.failures = [OSError("down")] * 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play("fake://runs/one", on_counts=stop)
    assert "nothing is lost" in caplog.text


def test_a_killed_upload_is_not_seen_and_cleared_away(tmp_path, monkeypatch) -> None:
    play("fake://runs/one")

    def die(self, what) -> None:
        if what.endswith("run.sqlite"):
            raise KeyboardInterrupt  # leaves at once, as a kill does

    with monkeypatch.context() as patch:
        patch.setattr(Fake, "_act", die)
        with pytest.raises(KeyboardInterrupt):
            play("fake://runs/one", MORE)
    elsewhere(monkeypatch, tmp_path, "b")
    with tomeval.Run("fake://runs/one") as run:
        assert sum(row["complete"] for row in run.status()) == 20
    elsewhere(monkeypatch, tmp_path, "here")
    assert play("fake://runs/one", MORE)[-1].endswith("checkpoint 2")
    folders = [name for name in Fake().ls("/runs/one", detail=False) if "checkpoint" not in name]
    assert len(folders) == 2


def test_a_kill_between_the_upload_and_the_note_of_it(monkeypatch) -> None:
    play("fake://runs/one")
    write = Mirror._write_note

    def die(self, base, **more) -> None:
        if base is not None and base.generation == 2 and not more:
            raise KeyboardInterrupt
        write(self, base, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Mirror, "_write_note", die)
        with pytest.raises(KeyboardInterrupt):
            play("fake://runs/one", MORE)
    assert play("fake://runs/one", SMALL | {"episodes": 13})[-1].endswith("checkpoint 3")


def test_damage_on_the_way_is_found() -> None:
    play("fake://runs/one")
    name = next(name for name in Fake.store if name.endswith("run.sqlite"))
    data = bytearray(Fake().cat_file(name))
    data[5000] ^= 1
    Fake().pipe_file(name, bytes(data))
    folder = folder_of("fake://runs/one")
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(TomevalError, match=r"its files are not those that checkpoint\.json names"):
        tomeval.Run("fake://runs/one")


def test_a_torn_checkpoint_file_is_read_from_its_folder(caplog) -> None:
    play("fake://runs/one")
    play("fake://runs/one", MORE)
    whole = Fake().cat_file("/runs/one/checkpoint.json")
    Fake().pipe_file("/runs/one/checkpoint.json", whole[:100])
    with tomeval.Run("fake://runs/one") as run:
        assert sum(row["complete"] for row in run.status()) == 24
    assert "checkpoint.json is damaged; 000002-" in caplog.text


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", ".bashrc", "a/b"])
def test_files_outside_of_the_folder_are_not_written(name) -> None:
    from tomeval.runs.checksums import signed

    play("fake://runs/one")
    there = json.loads(Fake().cat_file("/runs/one/checkpoint.json"))
    there["files"][name] = there["files"]["run.seal"]
    Fake().pipe_file("/runs/one/checkpoint.json", json.dumps(signed(there)).encode())
    with pytest.raises(TomevalError, match="names files outside of its folder"):
        tomeval.Run("fake://runs/one")


def test_other_files_and_other_experiments_are_left_alone() -> None:
    Fake().pipe_file("/runs/one/photo.jpg", b"x")
    with pytest.raises(TomevalError, match=r"holds other files \(such as 'photo.jpg'\)"):
        play("fake://runs/one")
    play("fake://runs/two")
    before = Fake().cat_file("/runs/two/checkpoint.json")
    with pytest.raises(TomevalError, match="holds another experiment"):
        play("fake://runs/two", SMALL | {"seed": 4})
    assert Fake().cat_file("/runs/two/checkpoint.json") == before


def test_a_copy_of_unknown_origin_is_not_overwritten() -> None:
    play("fake://runs/one")
    folder = folder_of("fake://runs/one")
    (folder.parent / NOTE).write_text("{")
    with pytest.raises(TomevalError, match="what it is a copy of is not known"):
        tomeval.Run("fake://runs/one")


def test_an_address_that_lost_its_run_is_told() -> None:
    play("fake://runs/one")
    Fake().rm("/runs/one", recursive=True)
    with pytest.raises(TomevalError, match="no longer holds the run"):
        play("fake://runs/one")


def test_what_cannot_be_an_address_is_one_line(tmp_path, monkeypatch) -> None:
    with pytest.raises(TomevalError, match=r"unknown protocol 'memry' \(did you mean 'memory'\?\)"):
        play("memry://runs/one")
    monkeypatch.setitem(
        known_implementations,
        "fancy",
        {"class": "no_such_fancyfs.Fancy", "err": "Install fancyfs to access Fancy"},
    )
    with pytest.raises(TomevalError, match=r"not installed \(fsspec says: Install fancyfs"):
        play("fancy://runs/one")
    with pytest.raises(TomevalError, match="there is no run"):
        tomeval.Run("fake://runs/none")
    with pytest.raises(TomevalError, match="this needs a folder, not an address"):
        run_experiment(make_experiment(SMALL), Path("s3://bucket/run"))


def test_credentials_are_neither_printed_nor_kept(tmp_path) -> None:
    class Telling(Fake):
        protocol = "telling"

        def ls(self, path, detail=True, **rest):
            raise OSError("401 for me:geheim@host, key=very-secret")

    fsspec.register_implementation("telling", Telling, clobber=True)
    with pytest.raises(TomevalError) as caught:
        play("telling://me:geheim@host/one?key=very-secret")
    assert str(caught.value) == "telling://me@host/one: 401 for me:***@host, ***"
    Telling.ls = Fake.ls
    said = play("telling://me:geheim@host/one?key=very-secret")
    kept = [path for path in (tmp_path / "here").rglob("*") if path.is_file()]
    assert len(kept) > 4
    held = b"".join(path.read_bytes() for path in kept) + "".join(map(str, [*said, *kept])).encode()
    held += b"".join(file.getvalue() for file in Fake.store.values())
    assert b"geheim" not in held
    assert b"very-secret" not in held


def test_the_command_line_stops_with_a_copy_and_goes_on(tmp_path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(
        'games = "IPD"\npartners = "tit_for_tat"\nsubjects = "rmax"\nhorizon = 5\n'
        "episodes = 3000\nname = 'long'\n"
    )
    address = f"file://{tmp_path}/there/run"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-m", "tomeval.cli"]
    running = subprocess.Popen(
        [*words, "run", str(file), "--out", address],
        stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    with running:
        deadline = time.monotonic() + 60
        while not list((tmp_path / "here").rglob("run.seal")):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        errors = running.stderr.read()
        assert running.wait(60) == 130
    assert f"{address}: copied there, checkpoint 1" in errors
    assert errors.strip().endswith("stopped; run the same command again to go on")
    found = json.loads((tmp_path / "there" / "run" / CHECKPOINT).read_text())
    assert found["files"].keys() >= {"run.sqlite", "run.seal", "experiment.json"}
    environment["TOMEVAL_CACHE"] = str(tmp_path / "b")
    done = subprocess.run(
        [*words, "status", address], capture_output=True, text=True, env=environment,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "checkpoint 1 of" in done.stderr
    assert "of 3,000" in done.stdout
