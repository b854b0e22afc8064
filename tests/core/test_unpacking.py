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

SAID = "takes more than the {} MB of memory that one file may take unpacked"
ONES = {"own_action": "0", "partner_action": "0"}


def written(path, rows, **more):
    """Write a Parquet file of steps of one match, and of constant columns besides."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    zeros = pyarrow.array(np.zeros(rows, np.int8))
    constant = {"episode": "1", **ONES, **more}
    columns = {k: pyarrow.DictionaryArray.from_arrays(zeros, [v]) for k, v in constant.items()}
    table = pyarrow.table({**columns, "step": np.arange(1, rows + 1)})
    encoded = {"use_dictionary": list(constant), "column_encoding": {"step": "DELTA_BINARY_PACKED"}}
    parquet.write_table(table, path, compression="zstd", **encoded)
    return path


def scored(path, *before):
    return call_apart(
        *(*before, "import", path, "--game", "IPD", "--partner", "unknown"),
        seconds=60,
        memory=3 << 30,
    )


def test_a_packed_table_of_millions_of_steps_is_one_error(tmp_path):
    path = written(tmp_path / "rows.parquet", 5_000_000)
    assert path.stat().st_size < 200_000
    told = scored(path)
    assert told.is_one_error, told
    assert f"tomeval: {path}: {SAID.format('2,000')}; if it is meant to: tomeval --max-mb" in (
        told.errors.replace("\n  ", " ")
    )


def test_a_long_text_that_comes_in_every_row_is_read_in_pieces(tmp_path):
    path = written(tmp_path / "long.parquet", 10_000, note="x" * 1_000_000)
    assert path.stat().st_size < 100_000
    told = scored(path)  # which would be 10 GB
    assert told.is_one_error, told
    assert f"{path}, row 1,999: takes" in told.errors  # 1,000,603 bytes each


def test_one_page_that_unpacks_to_much_is_refused_before_it_is_read(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "page.parquet"
    texts = ["x" * 1_000_000 + str(i) for i in range(20)]
    table = {"episode": ["1"] * 20, "step": range(1, 21), "note": texts}
    table |= {name: ["0"] * 20 for name in ONES}
    parquet.write_table(pyarrow.table(table), path, compression="zstd", use_dictionary=False)
    with allowing(60), pytest.raises(TomevalError, match=r"page\.parquet: takes more than the 60"):
        tomeval.score(path, "IPD", "unknown")
    with allowing(100):
        assert tomeval.score(path, "IPD", "unknown")[0]["episodes"] == 1


def test_the_option_says_how_much_a_file_may_take(tmp_path):
    path = written(tmp_path / "log.parquet", 3_000)
    assert scored(path).code == 0
    assert scored(path, "--max-mb", "1").is_one_error
    assert scored(path, "--max-mb", "2").code == 0
    assert call("--max-mb", "0", "import", path).code == 2


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_tables_of_text_are_counted_too(suffix, tmp_path):
    rows = [{"episode": 1, "step": i, **ONES} for i in range(1, 3001)]
    path = tmp_path / f"log.{suffix}"
    lines = [",".join(map(str, row.values())) for row in rows]
    head = ",".join(rows[0])
    text = "\n".join([head, *lines]) if suffix == "csv" else "\n".join(map(json.dumps, rows))
    path.write_text(text)
    assert tomeval.score(path, "IPD", "unknown")[0]["episodes"] == 1
    with allowing(1), pytest.raises(TomevalError, match=rf"log\.{suffix}, line 1,6\d\d: takes"):
        tomeval.score(path, "IPD", "unknown")


def test_lists_in_a_packed_table_are_refused_unread(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "lists.parquet"
    parquet.write_table(pyarrow.table({"episode": [[1]], "step": [1]}), path)
    with pytest.raises(TomevalError, match=r"lists\.parquet: episode: must be text or a number"):
        tomeval.score(path, "IPD", "unknown")


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
    with allowing(100), pytest.raises(TomevalError, match="takes more than the 100 MB"):
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
    with allowing(1), pytest.raises(TomevalError, match=r"bomb\.vec\.gz: takes more than the 1 MB"):
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
