"""Lines and files by room beside their budget: ``python benchmarks/size.py``.

With ``--rooms`` the table of rooms as Markdown, which CONTRIBUTING.md has without the numbers.
Lines are all lines of Python files, with comments, docstrings and blank ones.
"""

from __future__ import annotations

import ast
import json
import runpy
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent

ROOMS = (
    *("core", "statistics", "models", "lexicon", "strategies", "runs", "play", "comparing"),
    *("plots", "report", "api", "cli", "games", "games/matrix", "games/llm", "games/people"),
    *("games/decrypto", "games/arena", "games/blotto", "games/codenames", "games/ipd3"),
    *("games/mafia", "extensions"),
)
"""In the order of imports; extensions are one room."""


def room_row(name: str) -> str:
    """Return a room's line of a Markdown table: name, what lives there, lines, files.

    What lives there is the first sentence of the package's docstring.
    """
    folder = HOME / "tomeval" / name
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    about = (said or "").split("\n")[0].split(". ")[0].rstrip(".").replace("``", "`")
    lines = sum(text.count("\n") for text in texts)
    return f"| `{name}/` | {about} | {lines:,} | {len(texts)} |"


if __name__ == "__main__":
    if "--rooms" in sys.argv:
        print("| room | what lives there | lines | files |\n| --- | --- | --- | --- |")
        print(*map(room_row, ROOMS), sep="\n")
    else:
        budget = runpy.run_path(str(HOME / "tests" / "test_budget.py"))
        limits = json.loads(budget["LIMITS"].read_text(encoding="utf-8"))
        for room, (lines, files) in budget["counts"]().items():
            most = limits.get(room, ["", ""])
            print(f"{room:<32}{lines:>8,} of {most[0]:<8}{files:>5} of {most[1]}")
