"""Files from elsewhere that pack gigabytes into little: one error, and little memory."""

from __future__ import annotations

import gzip
import json
import tracemalloc

import every_domain
import numpy as np
import pytest
from attacks.commands import call, call_apart
from support import scripts

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.unpacking import allowing
from tomeval.lexicon.embedding_files import read_embedding_file, save_embedding
from tomeval.lexicon.embeddings import Embedding
from tomeval.runs import rows
from tomeval.runs.schema import pack, unpack

SAID = "takes more than the memory limit of {} MB for one imported file"


def test_the_steps_of_a_log_are_counted(tmp_path):
    lines = [f"1,{i},0,0" for i in range(1, 3001)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["episode,step,own_action,partner_action", *lines]))
    command = ("import", path, "--game", "IPD", "--partner", "unknown", "--out", tmp_path / "run")
    assert call("--max-mb", "0", *command).code == 2
    told = call("--max-mb", "1", *command)
    assert told.is_one_error
    # 604 to 607 bytes each
    assert f"line 1,651: {SAID.format(1)}" in told.errors.replace("\n  ", " ")
    assert call("--max-mb", "2", *command).code == 0


# --- word vectors ---------------------------------------------------------------------------------


def packed_vectors(path, words, dimensions):
    text = np.frombuffer("\n".join(f"w{i}" for i in range(words)).encode(), np.uint8)
    np.savez_compressed(path, words=text, vectors=np.ones((words, dimensions), np.float16))
    return path


def experiment_with(vectors, path):
    path.write_text(
        f'domain = "decrypto"\nepisodes = 1\nplayers = {{a = {{embedding = "{vectors}"}}}}\n'
        'pairings = [{encoder = "a", decoder = "a", interceptor = "a"}]\n'
    )
    return path


def test_packed_vectors_that_an_experiment_names_are_one_error(tmp_path):
    vectors = packed_vectors(tmp_path / "bomb.npz", 400_000, 300)
    assert vectors.stat().st_size < 2_000_000
    file = experiment_with(vectors, tmp_path / "e.toml")
    told = call_apart("--max-mb", "1500", "plan", file, seconds=60, memory=3 << 30)
    assert told.is_one_error, told
    assert f"bomb.npz: {SAID.format('1,500')}" in told.errors.replace("\n  ", " ")


@pytest.mark.parametrize(
    "text", [b"\n" * 3_000_000, b"ab\n" * 1_000_000], ids=["nothing", "two letters"]
)
def test_packed_words_without_end_are_refused_before_they_are_parted(text, tmp_path):
    path = tmp_path / "words.npz"
    np.savez_compressed(path, words=np.frombuffer(text, np.uint8), vectors=np.ones((2, 2)))
    tracemalloc.start()
    with (
        allowing(100),
        pytest.raises(TomevalError, match="more than the memory limit of 100 MB"),
    ):
        read_embedding_file(path, ())
    assert tracemalloc.get_traced_memory()[1] < 30e6
    tracemalloc.stop()


def test_vectors_take_as_much_memory_as_is_counted(tmp_path):
    """Peak of reading 20,000 words of 100 components, which 32 + 3 MB are counted for."""
    rng = np.random.default_rng(0)
    made = Embedding.of("e", [f"w{i}" for i in range(20_000)], rng.normal(size=(20_000, 100)))
    save_embedding(tmp_path / "e.npz", made)
    tracemalloc.start()
    with allowing(35):
        found = read_embedding_file(tmp_path / "e.npz", ())
    assert tracemalloc.get_traced_memory()[1] < 35e6
    tracemalloc.stop()
    np.testing.assert_allclose(found.vectors, made.vectors, atol=2e-3)
    with allowing(34), pytest.raises(TomevalError, match="takes more than"):
        read_embedding_file(tmp_path / "e.npz", ())


def test_a_packed_text_of_vectors_may_unpack_to_what_such_texts_hold(tmp_path):
    line = b"word " + b"0.5 " * 50 + b"\n"
    path = tmp_path / "bomb.vec.gz"
    path.write_bytes(gzip.compress(line * 20_000))
    with (
        allowing(1),
        pytest.raises(TomevalError, match=r"bomb\.vec\.gz: takes more than the"),
    ):
        read_embedding_file(path, ("word",))
    rng = np.random.default_rng(0)
    lines = [f"w{i} " + " ".join(f"{x:.4f}" for x in rng.normal(size=50)) for i in range(5_000)]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    with allowing(1):
        assert read_embedding_file(path, ("w7", "w4999")).words == ("w7", "w4999")


# --- stores of strangers --------------------------------------------------------------------------

DEEP = '{"purpose": "act", "prompt": ' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.fixture
def forged(tmp_path, monkeypatch):
    """A run whose records of model calls are nested too deeply to be read, checksums and all."""
    experiment = every_domain.experiment("matrix", "scripted:good", episodes=1)
    with monkeypatch.context() as patched, scripts(good=every_domain.good("matrix")):
        patched.setattr(rows, "pack_json", lambda _: pack(DEEP))
        tomeval.run(experiment, tmp_path / "run").close()
    return tmp_path / "run"


@pytest.mark.parametrize(
    "command",
    [
        ("table",),
        ("status",),
        ("transcript", "--cell", "0", "--episode", "0"),
        ("report", "--no-figures", "--out", "OUT"),
        ("export", "--format", "inspect", "--out", "OUT"),
        ("verify",),
    ],
    ids=lambda words: words[0],
)
def test_records_that_are_nested_deeply_are_at_most_one_error(forged, command, tmp_path):
    verb, *options = (str(tmp_path / "out") if word == "OUT" else word for word in command)
    told = call(verb, forged, *options)
    assert told.crash == ""
    assert told.code in (0, 1) or told.is_one_error
    if verb in ("transcript", "report"):
        assert "run.sqlite: damaged, " in " ".join(told.errors.split())


def test_records_that_hold_much_are_read():
    text = json.dumps({"top": [{"token": [i]} for i in range(5_000)], "said": "[{" * 5_000})
    assert unpack(pack(text)) == text
    assert unpack(pack("{}" * 5_000)) == "{}" * 5_000  # no JSON: for those who read it
