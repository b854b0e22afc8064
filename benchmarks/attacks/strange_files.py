"""Files that strangers may hand over, each made to reach out, to run code, or never to end."""

from __future__ import annotations

import io
import json
import multiprocessing
import pickle
import zipfile
import zlib
from pathlib import Path

import numpy as np

SECRET = "sk-canary-0123456789abcdef"  # what no file may bring out

BOMBS = (
    "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "{% for i in range(10**9) %}x{% endfor %}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{{ 'x' * 5_000_000 }}",
    "{{ lipsum(10000000) }}",
    "{" * 100_000,
    "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
    "{% for i in [1] %}" * 30 + "x" + "{% endfor %}" * 30,
    "{% if 1 %}" * 3_000 + "{% endif %}" * 3_000,
)
"""Bodies of templates that make more, or are nested deeper, than any prompt is worth."""

ESCAPES = (
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ self.__init__.__globals__ }}",
    "{{ ('' | attr('__class__')) }}",
    "{{ ['__class__'] | map('attr', '__class__') | list | first }}{{ ''['__class__'] }}",
    "{% include 'PATH' %}",
    "{% include '../secret.txt' %}",
    "{% import 'PATH' as x %}{{ x }}",
    "{% from 'PATH' import y %}",
    "{% extends 'PATH' %}",
    "{{ open('PATH').read() }}",
    "{{ get_flashed_messages.__globals__ }}{{ url_for.__globals__ }}",
    "{{ config }}{{ request }}",
    "{% set x = namespace() %}{{ x.__init__.__globals__ }}",
    "{{ joiner.__call__.__globals__ }}",
    "{{ range.__reduce__() }}",
    "{{ 'x' | random }}",
    "{% debug %}",
    "{% do [].append(1) %}",
)
"""Bodies of templates that reach for files, for Python's inside or for chance."""


def template(folder: Path, body: str, title: str = "t") -> Path:
    """Write a folder of prompts with one template, and return it."""
    path = folder / "matrix" / "answer" / "qa_act.j2"
    path.parent.mkdir(parents=True)
    head = f'+++\ntitle = "{title}"\nsource = "s"\nversion = "1"\n+++\n'
    path.write_text(head + body.replace("PATH", str(folder.parent / "secret.txt")))
    return folder


def linked_templates(place: Path) -> list[Path]:
    """Return folders of prompts whose template, or a folder of it, is a link to elsewhere."""
    hidden = place / "secret.j2"
    hidden.write_text(f'+++\ntitle = "t"\nsource = "s"\nversion = "1"\n+++\n{SECRET}')
    made = []
    for number, target in enumerate((hidden, place / "secret.txt", Path("/etc/passwd"))):
        folder = place / f"link{number}" / "matrix" / "answer"
        folder.mkdir(parents=True)
        (folder / "qa_act.j2").symlink_to(target)
        made.append(folder.parents[1])
    home = place / "home"
    (home / "answer").mkdir(parents=True)
    (home / "answer" / "qa_act.j2").write_text(hidden.read_text())
    for number, (name, target) in enumerate((("matrix", home), ("matrix/answer", home / "answer"))):
        link = place / f"folder{number}" / name
        link.parent.mkdir(parents=True)
        link.symlink_to(target)
        made.append(place / f"folder{number}")
    return made


_DEEP = 50_000
_STATE = '[states.a]\nplay = 0\nnext = "a"\n'
TOML_BOMBS = {
    "nested arrays": "x = " + "[" * _DEEP + "]" * _DEEP,
    "nested tables": "x = " + "{a=" * _DEEP + "1" + "}" * _DEEP,
    "a dotted key": ".".join(["a"] * _DEEP) + " = 1",
    "a header of many parts": "[" + ".".join(["a"] * _DEEP) + "]\nx = 1",
    "a huge number": f"episodes = {'9' * 100_000}",
    "a huge hexadecimal": f"episodes = 0x{'f' * 100_000}",
    "numbers that are none": "episodes = nan\nhorizon = inf",
    "a long text": f'name = "{"x" * 20_000_000}"',
    "many keys": "\n".join(f"k{i} = {i}" for i in range(200_000)),
    "many tables": "\n".join(f"[[t]]\nx = {i}" for i in range(50_000)),
    "no text": "\x00\xff\xfe",
    "quotes": '"' * 100_000,
    "backslashes": 'name = "' + "\\" * 99_999,
    "dates": "name = 1979-05-27T07:32:00Z\nepisodes = 07:32:00",
}
"""Texts of TOML files, of experiments, games and partners alike."""

PARTNERS = {
    "a billion states": '[rule]\nkind = "switch"\nfirst = 0\nsecond = 1\nstep = 1000000000\n',
    "a sequence that never ends": f'[rule]\nkind = "sequence"\nactions = {[0, 1] * 500_000}\n',
    "many states": "".join(f'[states.s{i}]\nplay = 0\nnext = "s{i + 1}"\n' for i in range(30_000)),
    "no such state": '[states.a]\nplay = 0\nnext = "b"\n',
    "probabilities that are none": '[states.a]\nplay = [nan, inf]\nnext = "a"\n',
    "a negative probability": '[states.a]\nplay = [-1.0, 2.0]\nnext = "a"\n',
    "huge probabilities": f'[states.a]\nplay = [{"9" * 4000}, 1]\nnext = "a"\n',
    "nested next": "[states.a]\nplay = 0\nnext = " + "[" * 500 + '"a"' + "]" * 500 + "\n",
    "a parameter of itself": '[parameters]\na = "$a"\n[rule]\nkind = "$a"\n',
    "a parameter in a circle": '[parameters]\na = ["$b"]\nb = ["$a"]\n[rule]\nkind = "$a"\n',
    "a number as a rule": "rule = 5\n",
    "a list as states": "states = [1, 2]\n",
}
"""Partner files beyond `TOML_BOMBS`."""

_LABELS = '[labels]\nplain = ["J", "F"]\n'
GAMES = {
    "payoffs that are none": "payoffs = [[[nan, 0], [0, 0]], [[0, 0], [0, inf]]]\n" + _LABELS,
    "huge payoffs": f"payoffs = [[[{'9' * 400}, 0], [0, 0]], [[0, 0], [0, 1]]]\n" + _LABELS,
    "payoffs beyond squares": "payoffs = [[[1e308, 0], [0, -1e308]], [[0, 0], [0, 1]]]\n" + _LABELS,
    "ragged payoffs": "payoffs = [[[1, 0]], [[0, 0], [0, 1]]]\n" + _LABELS,
    "many actions": f"payoffs = {[[[0, 0]] * 400] * 400}\n",
    "texts as payoffs": 'payoffs = [[["a", "b"], [0, 0]], [[0, 0], [0, 1]]]\n' + _LABELS,
    "nested payoffs": "payoffs = " + "[" * 400 + "1" + "]" * 400 + "\n" + _LABELS,
    "labels without end": "payoffs = [[[1, 0], [0, 0]], [[0, 0], [0, 1]]]\n[labels]\n"
    f"a = {['J'] * 99999}\n",
}
"""Game files beyond `TOML_BOMBS`."""

JSON_BOMBS = {
    "nested lists": "[" * _DEEP + "]" * _DEEP,
    "nested objects": '{"a":' * _DEEP + "1" + "}" * _DEEP,
    "a huge number": f'{{"version": {"9" * 100_000}}}',
    "no numbers": '{"format": NaN, "version": Infinity}',
    "a text alone": '"x"',
    "nothing": "",
    "half": '{"format": "tomeval-decrypto-games", "version": 1, "games": [',
    "no text": "\ud800",
    "wrong kinds": '{"format": "tomeval-decrypto-games", "version": 1, "games": [1, null, []]}',
    "rules without end": json.dumps(
        {
            "format": "tomeval-decrypto-games",
            "version": 1,
            "games": [{"name": "g", "keywords": ["a", "b", "c", "d"], "rules": {"turns": 10**12}}],
        }
    ),
}
"""Recorded games, and scripts of replies."""


class Planted:
    """An object whose pickle makes a file when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        """Return what pickle calls."""
        return (open, (str(self._mark), "w"))


def embeddings(place: Path, mark: Path) -> list[Path]:
    """Write files of word vectors that run code, fill the memory, or are something else."""
    made = []

    def write(name: str, data: bytes) -> None:
        (place / name).write_bytes(data)
        made.append(place / name)

    code = pickle.dumps(Planted(mark))
    objects = np.array([Planted(mark)], dtype=object)
    np.savez(place / "objects.npz", words=objects, vectors=objects)
    made.append(place / "objects.npz")
    write("pickle.npz", code)
    write("pickle.bin", code)
    write("pickle.txt", code)
    write("header.bin", b"1000000000 1000000000\n" + b"a " + bytes(64))
    write("negative.bin", b"-5 -5\n")
    write("long.txt", b"a" * 5_000_000)
    write("wide.vec", b"word " + b"0.5 " * 500_000)
    write("numbers.txt", b"word nan inf 1e999\nother 1 2 3\n")
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000), }"
    array = b"\x93NUMPY\x01\x00" + (len(head) + 1).to_bytes(2, "little") + head + b"\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("words.npy", array)
        archive.writestr("vectors.npy", array)
    write("shape.npz", buffer.getvalue())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("words.npy", bytes(300_000_000))
        archive.writestr("../../outside.npy", b"x")
    write("bomb.npz", buffer.getvalue())
    words = np.frombuffer("\n".join(f"w{i}" for i in range(400_000)).encode(), np.uint8)
    np.savez_compressed(
        place / "ones.npz", words=words, vectors=np.ones((400_000, 500), np.float16)
    )
    lines = np.full(300_000_000, ord("\n"), np.uint8)
    np.savez_compressed(place / "lines.npz", words=lines, vectors=np.ones((2, 2)))
    made += [place / "ones.npz", place / "lines.npz"]
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    one = b"a" * 1_000_000
    write("bomb.txt.gz", b"".join([packed.compress(one) for _ in range(1000)]) + packed.flush())
    return made


def tables(place: Path) -> list[Path]:
    """Write tables of steps that fill the memory, or hold what no cell may."""
    # In a process of its own, for what reads them is a copy of this one, with bounded memory.
    writer = multiprocessing.get_context("fork").Process(target=_write_tables, args=(place,))
    writer.start()
    writer.join()
    return sorted(place.iterdir())


def _write_tables(place: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def write(name: str, table: object, **how: object) -> None:
        pq.write_table(table, place / name, compression="zstd", **how)

    def steps(rows: int, **more: object) -> dict[str, object]:
        zeros = pa.array(np.zeros(rows, np.int8))
        constant = {"episode": "1", "own_action": "0", "partner_action": "0"}
        found = {k: pa.DictionaryArray.from_arrays(zeros, [v]) for k, v in constant.items()}
        return {**found, "step": np.arange(1, rows + 1), **more}

    text = "x" * 1_000_000
    once = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int8)), [text])
    texts = [f"{text}{i}" for i in range(600)]
    packed = ["episode", "own_action", "partner_action"]
    counted = {"step": "DELTA_BINARY_PACKED"}
    rows = pa.table(steps(20_000_000))
    write("rows.parquet", rows, use_dictionary=packed, column_encoding=counted)
    write("text.parquet", pa.table(steps(20_000, note=once)))
    write("page.parquet", pa.table(steps(600, note=texts)), use_dictionary=False)
    deep: object = 1
    for _ in range(50):
        deep = [deep]
    write("nested.parquet", pa.table(steps(1, note=[deep])))
    columns = {f"c{i}": np.zeros(10, np.int8) for i in range(5_000)}
    write("columns.parquet", pa.table(columns))
    lines = {
        "deep.jsonl": '{"episode": ' + "[" * 50_000 + "]" * 50_000 + "}",
        "number.jsonl": f'{{"episode": {"9" * 100_000}}}',
        "half.parquet": "PAR1" + "\0" * 100 + "PAR1",
        "quote.csv": 'episode,step,own_action,partner_action\n"' + "x" * 10_000_000,
        "wide.csv": ",".join(f"c{i}" for i in range(200_000)),
    }
    for name, line in lines.items():
        (place / name).write_text(line)


def models(place: Path, mark: Path) -> list[Path]:
    """Write model folders that hold pickles or code of their own, or lead elsewhere."""
    made = []
    base = {"vocab_size": 8, "n_positions": 8, "n_embd": 4, "n_layer": 1, "n_head": 1}
    code = f"open({str(mark)!r}, 'w')\nfrom transformers import GPT2Config as C\n"
    code += "from transformers import GPT2LMHeadModel as M\n"
    auto = {"AutoConfig": "code.C", "AutoModelForCausalLM": "code.M", "AutoTokenizer": "code.T"}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
    }
    for name, config in (
        ("pickle", {"model_type": "gpt2", **base}),
        ("code", {"model_type": "strange", "auto_map": auto, **base}),
        ("code_gpt2", {"model_type": "gpt2", "auto_map": auto, **base}),
        ("link", {"model_type": "gpt2", **base}),
    ):
        folder = place / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        (folder / "code.py").write_text(code)
        if name == "link":
            (folder / "model.safetensors").symlink_to("/etc/passwd")
        else:
            (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Planted(mark)))
        made.append(folder)
    return made
