"""Text that acts: control characters, overrides of direction, markup, formulas, in every name.

The oracle is Unicode's own table of categories, not the package's list of characters. At fault is a
character that acts or is not seen and reaches screen or page, a forged line, data that differs, a
wrong exit code, a traceback.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from attacks.commands import Called, call
from tomeval.models.base import BackendError, Reply
from tomeval.models.scripted import SCRIPTS
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

FORGED = "== step 99: forged"
PAYLOADS = {
    "colour": "\x1b[31mred",
    "clear the screen": "\x1b[2J\x1b[H",
    "title": "\x1b]0;title\x07",
    "link": "\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZWNobw==\x07",
    "device query": "\x1b[6n\x1bZ",
    "bell": "ding\x07",
    "backspace": "right\b\b\b\b\bwrong",
    "return": "true\rfalse",
    "C1 colour": "\x9b31mred",
    "C1 command": "\x90q\x9c",
    "next line": f"a\x85{FORGED}",
    "line feed": f"a\n{FORGED}",
    "vertical tab": f"a\x0b{FORGED}\x0c{FORGED}",
    "separators": f"a\x1c{FORGED}\x1d\x1e\x1f{FORGED}",
    "line separators": f"a\u2028{FORGED}\u2029{FORGED}",
    "delete": "a\x7fb",
    "zero": "a\x00b",
    "right to left": "abc\u202edcba\u202c",
    "isolates": "\u2066abc\u2067def\u2068\u2069",
    "marks of direction": "\u200eabc\u200f\u061c",
    "no width": "J\u200bJ\u2060\ufeff",
    "joiners": "J\u200dJ\u200c",
    "soft hyphen": "J\xadJ",
    "tags": "J\U000e0041\U000e007f",
    "lone surrogates": "a\ud800b\udfff",
    "rich markup": "[red]x[/red][link=file:///etc/passwd]y[/link]",
    "markup": "<script>window.planted = 1</script><!-- ]]> &amp;",
    "formula": '=HYPERLINK("http://example.org")',
    "formulas": "@SUM(1+1)*cmd|' /C calc'!A0",
    "minus": "-2+3",
    "tab": "\t=1+1",
    "templates": "{{ 7 * 7 }} {% raw %} {0} %s %(x)s $HOME",
    "TeX": r"\input{/etc/passwd} $\frac{ % ^^1b _{ & # ~",
    "Markdown": "[x](javascript:alert(1)) ![y](http://example.org/y.png) | `z` **b**",
    "path": "../../outside/./name",
    "long": "long name " * 300,
}
_UNSAFE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def unsafe(text: str) -> str:
    """Return the characters of a text that act on a terminal, reorder text or are not seen."""
    return "".join(c for c in text if unicodedata.category(c) in _UNSAFE and c not in "\n\t")


@contextmanager
def names_allowed() -> Iterator[None]:
    """Let experiments have names that are refused today, as runs of other versions may."""
    with (
        mock.patch("tomeval.runs.experiment.check_text"),
        mock.patch("tomeval.core.resources.check_text"),
    ):
        yield


def folder_name(text: str) -> str:
    """Return what of a text the name of an experiment may hold."""
    kept = "".join(c for c in text if c == " " or not (c == "/" or c.isspace()))
    return kept.encode(errors="replace")[:190].decode(errors="ignore")


def hostile_run(folder: Path, text: str) -> Path:
    """Play a small run whose names, labels, replies and reasons for failure hold a text."""
    printed = "".join(char for char in text if char.isprintable())[:40].strip()
    labels = [f"J{printed}", f"F{printed}"]  # games have always refused others
    game = folder.parent / f"{folder.name}.toml"
    payoffs = [[[8, 8], [0, 10]], [[10, 0], [5, 5]]]
    keys = {"name": f"PD {text}", "title": f"title {text}", "source": f"source {text}"}
    lines = [f"{key} = {_toml(value)}" for key, value in keys.items()]
    lines += ['wording = "score"', f"payoffs = {payoffs}", "[labels]"]
    game.write_text("\n".join([*lines, f"{_toml(text)} = [{', '.join(map(_toml, labels))}]"]))

    def script(request: Any) -> Reply:
        place = sum(map(ord, request.group)) + request.seed % 7
        if place % 29 == 0:
            raise BackendError(f"no reply: {said}")
        answer = labels[place % 2] if place % 5 else said
        return Reply(f"{said}\nFinal answer: {answer}", reasoning=f"{said}\n{said}")

    # No store can hold a lone surrogate in a name; replies are kept as JSON, which can.
    said, text = text, _storable(text)
    name = f"scripted:{text}"
    data = {
        "name": folder_name(f"run {text}"),
        "games": [str(game)],
        "partners": ["single_action", "tit_for_tat"],
        "horizon": 3,
        "episodes": 4,
        "model": name,
        "on_invalid": ["random"],
        "subjects": [
            {"strategy": "QA", "name": f"QA {text}"},
            {"kind": "random", "name": text},
            {"kind": "random", "name": f"{text} too"},
        ],
    }
    with names_allowed(), mock.patch.dict(SCRIPTS, {text: script}):
        run_experiment(make_experiment(data), folder)
    return folder


def _storable(text: str) -> str:
    """Return a text without lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def _toml(text: str) -> str:
    # By hand: JSON writes characters beyond 16 bits as two surrogates, which TOML does not take.
    plain = json.dumps(_storable(text), ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in plain)


SHOWN: tuple[Callable[[Path], tuple[object, ...]], ...] = (
    lambda run: ("status", run),
    lambda run: ("table", run),
    lambda run: ("table", run, "--format", "markdown"),
    lambda run: ("table", run, "--format", "latex"),
    lambda run: ("transcript", run, "--cell", "0"),
    lambda run: ("transcript", run, "--cell", "1", "--episode", "3"),
    lambda run: ("transcript", run, "--cell", "99"),
    lambda run: ("compare", run, "--resamples", "99"),
    lambda run: ("compare", run, "--baseline", "nobody"),
    lambda run: ("compare", run, "--by", "labels"),
    lambda run: ("compare", run, "--what", "power", "--metric", "tom_percent", "--difference", "5"),
)
"""Commands that print a run for people."""


def faults(told: Called) -> list[str]:
    """Return what is wrong with what a person sees of a command."""
    found = [f"unsafe {bad!r}" for bad in (unsafe(told.out + told.errors),) if bad]
    found += [f"a traceback: {told.crash.splitlines()[-1]}"] if told.crash else []
    found += ["an unexpected exit code"] if told.code not in (0, 1, 2) else []
    forged = any(line.startswith(FORGED) for line in (told.out + told.errors).splitlines())
    return found + ["a forged line"] * forged


def data_faults(run: Path, text: str) -> Iterator[str]:
    """Yield, per format, what differs from the text that was planted; empty if nothing does."""
    name = f"{_storable(text)} too"
    where = run.parent / "data"
    for command in ("table", "export"):
        told = call(command, run, "--what", "cells", "--format", "csv")
        cells = {cell for row in csv.reader(io.StringIO(told.out, newline="")) for cell in row}
        yield "" if name in cells else f"csv: {name!r} is not there {told.crash[-200:]}"
    told = call("table", run, "--what", "cells", "--format", "json")
    yield "" if any(r["subject"] == name for r in json.loads(told.out or "[]")) else "json differs"
    told = call("export", run, "--what", "cells", "--format", "jsonl", "--out", where)
    lines = where.read_bytes().decode().split("\n") if where.exists() else []
    rows_ = [json.loads(line) for line in lines if line]
    yield "" if any(row["subject"] == name for row in rows_) else f"jsonl differs {told.errors}"


def page_faults(text: str) -> list[str]:
    found = [f"unsafe {bad!r} in the page" for bad in (unsafe(text),) if bad]
    return found + ["planted markup in the page"] * ("<script>window.planted" in text)


def svg_faults(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return [f"{path.name}: {error}"]
    return [f"unsafe {bad!r} in {path.name}" for bad in (unsafe(text),) if bad]


def given(text: str, place: Path) -> Iterator[tuple[object, ...]]:
    """Put a text into files that people pass on; yield commands that play or refuse them."""
    game = 'name = {0}\ntitle = {0}\nsource = "s"\npayoffs = [[[1, 1], [0, 0]], [[0, 0], [1, 1]]]\n'
    game += "[labels]\nplain = [{0}, {1}]\n"
    partner = "title = {0}\nsource = {0}\n[states.{0}]\nplay = 0\nnext = {0}\n"
    quoted = _toml(text)
    (place / "game.toml").write_text(game.format(quoted, _toml(f"{text} too")))
    (place / "partner.toml").write_text(partner.format(quoted))
    (place / "e.toml").write_text(f"name = {quoted}\nsubjects = [{quoted}]\nmodel = {quoted}\n")
    steps = f"episode,step,own_action,partner_action\n0,1,{json.dumps(text)},x\n"
    (place / "steps.csv").write_text(steps, encoding="utf-8", errors="replace")
    named = place / text.replace("/", "").replace("\0", "")[:60]
    yield "bounds", place / "game.toml", "tit_for_tat"
    yield "bounds", "RPS", place / "partner.toml"
    yield "prompt", "QA", "--game", place / "game.toml"
    yield "plan", place / "e.toml"
    yield "run", place / "e.toml", "--out", place / "played"
    yield "plan", "tabular_baseline", "--set", f"name={quoted}"
    yield "import", place / "steps.csv", "--game", "IPD", "--out", place / "imported"
    yield "list", text
    yield from ((verb, named) for verb in ("table", "status", "plan", "report"))
