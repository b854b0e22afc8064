"""What others wrote, made safe: by Unicode's own table, which the package does not use."""

from __future__ import annotations

import ast
import csv
import io
import sys
import unicodedata
from pathlib import Path

import pytest

import tomeval
from tomeval.core import printing
from tomeval.core.errors import TomevalError
from tomeval.core.printing import wrap
from tomeval.core.resources import read_toml
from tomeval.core.text import check_text, in_line, markdown, visible
from tomeval.strategies.templates import Prompts

# Signs of Arabic, Syriac, Kaithi and Egyptian writing that Unicode counts as format, and are seen.
SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
SEEN |= set(range(0x13430, 0x13456))


@pytest.mark.parametrize("safe", [visible, in_line, markdown])
def test_no_character_that_acts_or_hides_is_left(safe):
    left = [
        f"U+{code:04X}"
        for code in set(range(sys.maxunicode + 1)) - SEEN
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and chr(code) not in "\n\t"
        and chr(code) in safe(chr(code))
    ]
    assert left == []


def test_what_people_write_stays():
    text = "J, F; Δ ± – 左 Ωmega é e\u0301 🎲 \U0001f44d\ufe0f\n\ttab [red] %s \\x1b"
    assert visible(text) == text
    assert in_line("a\nb\tc") == "a\\nb\\tc"


def test_names_with_control_characters_are_refused_with_their_place():
    with pytest.raises(TomevalError, match=r"e.toml: labels.x.1: 'F\\x1b' .* U\+001B"):
        check_text({"labels": {"x": ["J", "F\x1b"]}}, "e.toml")
    with pytest.raises(TomevalError, match=r"e.toml: 'a\\u202eb' contains"):
        check_text({"a\u202eb": 1}, "e.toml")
    check_text({"system": "two\nlines\tand می‌خواهم"}, "e.toml")


PACKAGE = Path(tomeval.__file__).parent
WRITERS = ("sys.stdout.write", "sys.stderr.write")
DOOR = PACKAGE / "core" / "printing.py"


def _printing_calls(path: Path) -> list[str]:
    """Return the places where a module writes to a terminal by itself."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in ("print", "typer.echo", "typer.secho", "click.echo", "rich.print"):
                found.append(f"{path.name}:{node.lineno} {name}")
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            found += [f"{path.name}:{node.lineno} {name}"] * (name in WRITERS)
    return found


def test_nothing_is_printed_but_through_the_door():
    assert _printing_calls(DOOR)  # so the search finds what it is for
    others = [path for path in PACKAGE.rglob("*.py") if path != DOOR]
    assert [place for path in others for place in _printing_calls(path)] == []


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_data_is_exact_unless_a_person_looks(monkeypatch):
    text = "a,\x1b[31mb\u202e"
    for stream, shown in ((io.StringIO(), f"{text}\n"), (Screen(), "a,\\x1b[31mb\\u202e\n")):
        monkeypatch.setattr(sys, "stdout", stream)
        printing.show_data(text)
        with printing.data_stream() as file:
            csv.writer(file, lineterminator="\n").writerow(text.split(","))
        assert stream.getvalue() == shown * 2


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("", 5, [""]),
        ("tit_for_tat(seed=12345)", 13, ["tit_for_", "tat(seed=", "12345)"]),
        ("漢字漢字", 5, ["漢字", "漢字"]),
        ("  indented by two", 10, ["  indented", "    by two"]),
    ],
)
def test_lines_end_where_a_reader_expects(text, room, lines) -> None:
    assert wrap(text, room, " " * 4 if text.startswith(" ") else "") == lines


def test_numbers_that_python_does_not_print_are_refused(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text(f"[a]\nepisodes = 0x{'f' * 5000}\n")
    with pytest.raises(TomevalError, match=r"a\.episodes: an integer of 20,000 bits"):
        read_toml(path)
    front = f'+++\ntitle = "t"\nsource = "s"\nversion = {"9" * 5000}\n+++\nx'
    own = tmp_path / "own" / "matrix" / "answer" / "qa_act.j2"
    own.parent.mkdir(parents=True)
    for other in ("9" * 5000, "0x" + "f" * 5000, "[" * 9000 + "]" * 9000):
        text = front.replace("9" * 5000, other)
        own.write_text(text)
        with pytest.raises(TomevalError, match=r"qa_act\.j2"):
            Prompts("matrix", tmp_path / "own").get("answer/qa_act")
