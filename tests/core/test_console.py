"""Questions to a person: asked until they can be answered."""

from __future__ import annotations

import io

import pytest

from tomeval.core.printing import Console, QuitGame


def number(line):
    return int(line) if line.isdigit() else f"{line!r} is no number"


def ask(lines, **more):
    console = Console(io.StringIO("".join(f"{line}\n" for line in lines)), io.StringIO())
    pages = {"?": "  digits only", "history": "  nothing yet"}
    return console, lambda: console.question("> ", number, pages, **more)


def test_mistakes_are_told_in_one_line_and_asked_again():
    console, question = ask(["", "four", "?", "HISTORY", " 4 "])
    assert question() == 4
    assert console.sink.getvalue() == (
        "> > " + "  'four' is no number. Try again, or ? for help.\n"
        ">   digits only\n"
        ">   nothing yet\n"
        "> "
    )


@pytest.mark.parametrize("lines", [["quit"], ["Q"], ["exit"], ["x", "quit"], []])
def test_the_person_may_leave_at_any_time(lines):
    _, question = ask(lines)
    with pytest.raises(QuitGame):
        question()


def test_an_empty_line_may_be_an_answer():
    console, _ = ask([""])
    assert console.question("> ", lambda line: (line,), {}, may_be_empty=True) == ("",)
