"""Run the commands in processes in which a package cannot be imported, for the removal test.

``python tests/without_extension.py`` reads lines of JSON, ``[PACKAGE, NAME, FOLDER]``, where NAME
is an extension, a game, or empty. For each it forks a process that has loaded the libraries and
nothing of tomeval, and prints as a line of JSON what failed there, or an empty text.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path

LIBRARIES = ("numpy", "scipy.stats", "scipy.optimize", "scipy.special", "matplotlib.pyplot")
LIBRARIES += ("pandas", "typer", "pydantic", "rich.markdown", "jinja2", "asyncio")
LIBRARIES += ("multiprocessing", "PIL.Image", "matplotlib.backends.backend_svg")
SUBJECTS = '["random", { kind = "simulated", p = 0.5 }]'
EXPERIMENT = f"""
games = ["RPS"]
partners = ["tit_for_tat"]
subjects = {SUBJECTS}
horizon = 4
episodes = 3
"""


ARENA = ("ipd3", "blotto", "codenames", "mafia")
LINEUP = """
domain = "arena"
episodes = 1
values = false
[games.it]
game = "{game}"
[players.chance]
kind = "random"
[[lineups]]
game = "it"
subject = "chance"
others = "chance"
"""
PLAYERS = {
    "decrypto rsa": 'domain = "decrypto"\nepisodes = 1\n[players.a]\nkind = "rsa"\n',
}
"""Experiments that need a player of an extension."""


class Blocker(MetaPathFinder):
    """Makes a package one that is not there."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse the package and all in it."""
        if name == self.package or name.startswith(f"{self.package}."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def call(*arguments: object) -> tuple[int, str, str]:
    """Run one command in this process: exit code, output, errors."""
    from tomeval import cli

    out, errors = io.StringIO(), io.StringIO()
    sys.argv = ["tomeval", *map(str, arguments)]
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue(), errors.getvalue()


def main(package: str, name: str, folder: Path) -> None:
    """Call every command that is not of the extension; those of the extension are one line."""
    sys.meta_path.insert(0, Blocker(package))
    experiment, run = folder / "small.toml", folder / "run"
    experiment.write_text(EXPERIMENT)
    light = [
        ("--help",),
        ("plan", experiment),
        ("run", experiment, "--out", run),
        ("status", run),
        ("table", run, "--all"),
    ]
    whole = [
        ("plot", run, "--only", "forest", "--out", folder / "figures"),
        ("compare", run, "--by", "subject"),
        ("report", run, "-o", folder / "report.html", "--no-figures"),
        ("export", run, "--out", folder / "steps.csv"),
        ("export", run, "--what", "episodes", "--format", "jsonl", "--out", folder / "e.jsonl"),
        ("transcript", run, "--cell", "0", "--episode", "0"),
        ("play", "--help"),
        ("import", "--help"),
        ("list",),
        *(("list", what) for what in ("measures", "tables", "figures", "models", "extensions")),
    ]
    for arguments in light + ([("list",)] if name in ARENA else whole):
        code, out, errors = call(*arguments)
        assert code == 0, (arguments, out, errors)
        assert "Traceback" not in errors, errors
        if arguments == light[-1]:  # up to here no extension is loaded
            assert not [one for one in sys.modules if one.startswith("tomeval.extensions.")]
    if name in ARENA:
        for game in ARENA:
            file = folder / f"{game}.toml"
            file.write_text(LINEUP.format(game=game))
            code, _, errors = call("run", file, "--out", folder / game)
            assert code == (2 if game == name else 0), errors
            assert (f"the game {name!r} cannot be loaded" in errors) == (game == name), errors
    elif ".games." in package:
        (folder / "other.toml").write_text(f'domain = "{name}"\n')
        for command in (["run", folder / "other.toml"], ["prompt", "QA", "--domain", name]):
            code, _, errors = call(*command)
            assert code == 2, (command, errors)
            assert f"the domain {name!r} cannot be loaded" in errors, errors
    elif name:
        check_extension(name, experiment, out, folder)


def check_extension(name: str, experiment: Path, listed: str, folder: Path) -> None:
    """Check that the commands of an extension that is not there are one line."""
    from tomeval.core.parts import shipped

    assert "is not here" in listed
    brought = shipped()[name].parts
    named = [one for one in brought.get("commands", {}) if not one.startswith("import ")]
    asked = [_call_of(*one.split()) for one in named]
    asked += [["run", experiment, "--engine", one] for one in brought.get("engines", {})]
    asked += [["compare", folder / "run", "--what", one] for one in brought.get("comparisons", {})]
    for player in brought.get("players", {}):
        file = folder / f"{player}.toml"
        file.write_text(PLAYERS[player])
        asked.append(["run", file, "--out", folder / player])
    for command in asked:
        code, _, errors = call(*command)
        assert code == 2, (command, errors)
        assert f"the extension {name!r} cannot be loaded" in errors, errors


def _call_of(name: str, key: str = "") -> list[str]:
    """Return the command that asks for a part of it."""
    return [name, *({"matrix": ["IPD", "grim"]}.get(key, [key]) if key else [])]


def forked(package: str, name: str, folder: str) -> str:
    """Call the commands in a fork of this process; return the traceback of what failed."""
    failed = Path(folder, "failed.txt")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            main(package, name, Path(folder))
            code = 0
        finally:
            if code:
                failed.write_text(traceback.format_exc(), encoding="utf-8")
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if status == 0:
        return ""
    return failed.read_text(encoding="utf-8") if failed.exists() else f"wait status {status}"


def serve() -> None:
    """Fork a process for every line of the input."""
    import matplotlib as mpl

    mpl.use("Agg")
    for library in LIBRARIES:
        import_module(library)
    assert "tomeval" not in sys.modules
    for line in sys.stdin:
        print(json.dumps(forked(*json.loads(line))), flush=True)


if __name__ == "__main__":
    serve()
