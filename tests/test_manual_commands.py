"""Commands that the pages of the manual show exist, with every option that they name."""

from __future__ import annotations

import re
import shlex

import pytest
import typer
from support import ROOT

from tomeval.cli.app import app

USAGE = typer.BadParameter.__base__  # typer does not give it a name
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(text: str) -> list[list[str]]:
    """Return the words of every command of tomeval in blocks of shell, without what follows it."""
    lines = "\n".join(re.findall(r"^```(?:sh|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    split = [shlex.split(line, comments=True) for line in lines.replace("\\\n", " ").splitlines()]
    ends = ("|", ">", ">>", "&", "2>")
    shown = [words for words in split if words[:1] == ["tomeval"] and "--plugin" not in words]
    return [words[1 : next((i for i, w in enumerate(words) if w in ends), None)] for words in shown]


def fault(words: list[str]) -> str:
    """Return what the command line says against a command, without running it; else nothing."""
    command, context = typer.main.get_command(app), None
    try:
        while True:
            context = command.make_context(command.name, list(words), parent=context)
            words = [*context._protected_args, *context.args]
            if not words or not hasattr(context.command, "resolve_command"):
                return ""
            _, command, words = context.command.resolve_command(context, words)
    except USAGE as error:
        return error.message


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_the_manual_can_be_typed(page) -> None:
    shown = commands(page.read_text(encoding="utf-8"))
    assert {" ".join(words): fault(words) for words in shown if fault(words)} == {}
